"""Automatic stitching: the computer chooses where experts go.

    found = stitch_auto("leduc", "JQ.K", Limits(infosets=200))
    found.profile                   # the stitched strategy
    found.rounds[0].plan            # what was predicted, and found.rounds[0].achieved what came

Both papers on stitching choose the parts of the game and the abstractions of experts by hand. Here a search does it:

    signals     where best responses win, by part: exact shares of NashConv (`signals.py`)
    cuts        parts by the first actions, by what a seat holds, by round (`cuts.py`)
    moves       static experts of these parts for any S, a rebuilt base, a dynamic base (`moves.py`, `setting.py`)
    plan        short runs of all moves, and the integer programme that chooses among them (`plan.py`, `programme.py`)
    judges      exact exploitability, or matches with a correction for many tries (`judges.py`)
    search      stitch, measure, cut again (`search.py`)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.forms.profile import Profile
from kibitz.games.plugins import plugin_of
from kibitz.games.tree import Tree
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto.judges import ExactJudge, Judge, Judgement, MatchJudge
from kibitz.stitch.auto.moves import Move, SearchSetting
from kibitz.stitch.auto.plan import Effort, Limits, Pilot, Plan
from kibitz.stitch.auto.search import Auto, Round, StitchSearch
from kibitz.stitch.auto.setting import Setting, setting_of
from kibitz.stitch.auto.signals import PartSignal, losses
from kibitz.stitch.columns import checked_base, rules_of

__all__ = [
    "Auto", "Effort", "ExactJudge", "Judge", "Judgement", "Limits", "MatchJudge", "Move", "PartSignal", "Pilot", "Plan",
    "Round", "SearchSetting", "Setting", "StitchSearch", "losses", "search_of", "setting_of",
    "stitch_auto",
]  # fmt: skip

BASE_ITERATIONS = 2000  # of a base that is solved here


def search_of(
    game: Any,
    base: Profile | Blueprint | str,
    limits: Limits | None = None,
    effort: Effort | None = None,
    judge: Callable[[Any], Judge] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[StitchSearch, Any]:
    """(a search that has not begun, its base: a profile, or a blueprint as it is played); arguments as of
    `stitch_auto`."""
    limits, effort = limits or Limits(), effort or Effort()
    place = None if folder is None else Path(folder)
    if isinstance(base, Blueprint):
        own = plugin_of(base.machine.rules).stitch_blueprint(base, limits, effort)
        if own is None:
            raise SolverError(f"a blueprint of {base.machine.spec} cannot be stitched automatically: give a profile, "
                              "or an abstraction")
        rows, chosen = own
        return StitchSearch(rows, limits, chosen, None if judge is None else judge(rows), seed, place, tell), base
    if effort.seconds is not None:
        raise SolverError("--seconds (seconds=) is for a base that is a blueprint: leave it out")
    rules = rules_of(game)
    subject = rules
    name = base if isinstance(base, str) else str(base.meta.get("abstraction", "null"))
    if name.startswith("own:"):
        raise SolverError("the base was solved in an abstraction that has no name: use one that has a name")
    large = None
    if not isinstance(rules, Tree):
        large = plugin_of(getattr(rules, "game", rules)).stitch_large(rules, base, effort)
    setting: Any
    if large is not None:
        setting, base, effort = large
    else:
        if effort.device != "cpu":
            raise SolverError("--device (device=) is for a base that is a blueprint, or a profile in buckets of a game "
                              "that is too large for all hands: leave it out")  # fmt: skip
        if isinstance(base, Profile):
            base, subject = checked_base(rules, base)
        setting = setting_of(subject, name, effort.solver)
    if isinstance(base, str):
        base = solve_through(setting.subject, effort.solver, abstraction=None if base == "null" else base,
                             iterations=BASE_ITERATIONS, seed=seed)  # fmt: skip
    if not effort.insides:
        effort = replace(effort, insides=tuple(setting.insides()))
    return StitchSearch(setting, limits, effort, None if judge is None else judge(setting), seed, place, tell), base


def stitch_auto(
    game: Any,
    base: Profile | Blueprint | str,
    limits: Limits | None = None,
    effort: Effort | None = None,
    judge: Callable[[Any], Judge] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
    on_round: Callable[[Round], None] | None = None,
) -> Auto:
    """Choose where experts go, train them and stitch them onto a base, until nothing helps or the budget is spent.

    game      a game, its name, its tree, or its form without one
    base      a profile, or the name of an abstraction that one is solved in; of limit poker also a blueprint
    limits    memory of one computation, time and rounds of the search (`Limits`)
    effort    abstractions and S of experts, iterations (`Effort`)
    judge     called with the `Setting`; default: exact exploitability (`ExactJudge`), of blueprints matches
    folder    answers of solvers are kept here, and the same call goes on where it was stopped
    tell      is called with a line about what goes on; on_round: with each `Round`
    """
    search, start = search_of(game, base, limits, effort, judge, seed, folder, tell)
    return search.run(search.setting.begin(start), on_round)
