"""Automatic stitching in two-player limit hold'em, at the size of [Gibson & Szafron 2011, Table 2]: stages on a GPU.

As planned in docs/plans/auto_stitching.md. Bases and hand-made strategies are those of `gibson2011_large`; the search
starts from the same base. Figures are in thousandths of a big blind a hand.

    python -m kibitz.papers.stages --stage auto-two-0 --device gpu --seconds 560 --out results --work /tmp/work
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError, SpecError
from kibitz.forms.profile import Profile
from kibitz.papers import gibson2011_large as large
from kibitz.papers.gibson2011_strategies import ALL, BASE, sizes_of
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    POINT,
    TRAIN,
    WHOLE,
    CourseSetting,
    course,
    forget_courses,
    point,
    rules_of,
    train,
    whole,
)
from kibitz.papers.ledger import Ledger, Stage, go_through
from kibitz.papers.runs import Run
from kibitz.poker.stitching.experts import BucketedBase
from kibitz.poker.stitching.flops_judge import FlopsJudge, forget
from kibitz.poker.stitching.large_setting import COARSER, LargeBucketSetting
from kibitz.stitch.auto import Auto, Effort, Limits, Plan, StitchSearch

PLANNED, SEARCH, CHOSEN = (f"automatic stitching{step}" for step in (", pilots", "", ", all boards"))  # names of runs
EARLY = "all boards, stopped early"
AUTO = "Automatic"
SOLVER = "dcfr+"
LADDER = ("percentile([10, 10, 10, 9])", "percentile(11)")
ROUNDS, TINY_ROUNDS = 2, 1
_profiles: dict[tuple[int, int, CourseSetting], Profile] = {}  # of this process
_begun: dict[tuple[int, CourseSetting], BegunSearch] = {}
# Seconds on one H200, about: Base, and pilots with the tables of two lists; training a plan; another round.
PILOTS, FIRST_ROUND, NEXT_ROUND, STITCHED = 350.0, 130.0, 240.0, 170.0


def is_tiny(setting: CourseSetting) -> bool:
    return setting.game != large.GAME


def effort_of(setting: CourseSetting) -> Effort:
    if is_tiny(setting):
        inside = tuple(dict.fromkeys(sizes_of(setting.game, *setting.limits).all.values()))
        return Effort(inside, ("all",), SOLVER, iterations=40, pilot=5, cuts=2, sparing=True, flops=setting.every,
                      device=setting.device)  # fmt: skip
    return Effort(LADDER, ("all",), SOLVER, iterations=400, pilot=50, cuts=3, sparing=True, flops=setting.every,
                  device=setting.device)  # fmt: skip


def early_steps(setting: CourseSetting) -> int:
    """Iterations of the control: Base stopped early."""
    return large.points(setting, BASE)[0]


# Steps: plain functions over plain arguments, of which the last are the fields of a CourseSetting


@dataclass
class BegunSearch:
    """What the steps of one seed share in a process."""

    setting: LargeBucketSetting
    judge: FlopsJudge
    base: BucketedBase
    plan: Plan | None = None  # of the first round


def begun(seed: int, setting: CourseSetting) -> BegunSearch:
    key = seed, setting
    if key not in _begun:
        steps = large.points(setting, BASE)[-1]
        train(BASE, seed, steps, *arguments(setting))  # kept answers are of no use without the base that they stand on
        base = course(BASE, seed, setting).played(steps)
        rules, sizes = rules_of(setting.game), sizes_of(setting.game, *setting.limits)
        of = LargeBucketSetting(rules, sizes.base, SOLVER, setting.device, setting.every, COARSER * setting.every)
        judge = FlopsJudge(rules, of.device, of.every, of.quick, reports="")
        _begun[key] = BegunSearch(of, judge, of.begin(base))
    return _begun[key]


def _search(seed: int, rounds: int, setting: CourseSetting) -> StitchSearch:
    of, limits = begun(seed, setting), Limits(infosets=setting.limits[0], rounds=rounds)
    return StitchSearch(of.setting, limits, effort_of(setting), of.judge, seed,
                        Path(setting.folder) / f"automatic-{seed}",
                        lambda text: print(f"seed {seed}: {text}", file=sys.stderr, flush=True))  # fmt: skip


def pilots(seed: int, *fields: Any) -> dict[str, Any]:
    """The plan of the first round; nothing is trained yet. A step of its own, because one command is short."""
    setting = CourseSetting(*fields)
    of = begun(seed, setting)
    of.plan = _search(seed, 1, setting).plan(of.base)
    return {"name": AUTO, "seed": seed, "predicted": setting.unit * of.plan.predicted,
            "moves": [pilot.move.name for pilot in of.plan.moves], "measured": of.judge.measured}  # fmt: skip


def search(seed: int, rounds: int, *fields: Any) -> dict[str, Any]:
    """A search of so many rounds at most from Base; answers of solvers are kept, so that a longer one goes on."""
    setting = CourseSetting(*fields)
    of = begun(seed, setting)
    auto = _search(seed, rounds, setting).run(of.base, first=of.plan)
    auto.profile.save(_path(seed, rounds, setting))
    _profiles[seed, rounds, setting] = auto.profile
    return {"name": AUTO, "seed": seed, "steps": rounds, **search_data(auto, setting.unit)}


def search_data(auto: Auto, unit: float) -> dict[str, Any]:
    """What the page says of a search."""
    assert auto.loss is not None
    rounds = []
    for each in auto.rounds:
        plan = each.plan
        rounds.append({
            "predicted": unit * plan.predicted, "summed": unit * plan.summed, "achieved": unit * each.achieved,
            "kept": list(each.kept), "answers": list(each.answers), "taken_back": list(each.taken_back),
            "sampled": None if each.loss is None else unit * each.loss, "seconds": each.seconds,
            "pilots": [[p.move.name, unit * p.gains[0], unit * p.gains[1], p.size.infosets, p.seconds]
                       for p in plan.pilots],
            "moves": [[name, unit * p, unit * a] for name, p, a in each.one_by_one],
            "parts": [[s.name, unit * s.loss, s.reach] for s in plan.signals],
        })  # fmt: skip
    return {
        "sampled": [unit * loss for loss in auto.loss], "every": auto.facts["every"], "quick": auto.facts["quick"],
        "measured": auto.facts["measured"], "infosets": auto.infosets, "seconds": auto.seconds,
        "solving": auto.facts["solving"], "buckets": str(auto.profile.meta.get("abstraction", "")), "rounds": rounds,
    }  # fmt: skip


def _path(seed: int, rounds: int, setting: CourseSetting) -> Path:
    return Path(setting.folder) / f"automatic-{seed}-{rounds}.profile"


def chosen(seed: int, rounds: int, *fields: Any) -> dict[str, Any]:
    """The exact exploitability of what a search has found."""
    setting = CourseSetting(*fields)
    key = seed, rounds, setting
    if key not in _profiles:
        try:
            _profiles[key] = Profile.load(_path(seed, rounds, setting))
        except ArtefactError:
            search(seed, rounds, *fields)
    rules = rules_of(setting.game)
    onto = LargeBucketSetting(rules, "", SOLVER, setting.device).begin(_profiles[key])
    sweep = FlopsJudge(rules, setting.device).sweep(onto, 1)
    best = sweep.best() * setting.unit
    forget(sweep)
    return {"name": AUTO, "seed": seed, "steps": rounds, "best": best.tolist(), "exploitability": float(best.mean()),
            "sha256": onto.digest}  # fmt: skip


# Stages


def stages(setting: CourseSetting) -> Iterator[Stage]:
    """Two for each seed: the result of one round beside what it is compared with; then that of further rounds, which
    goes on with what the first has kept."""
    of, rounds = arguments(setting), TINY_ROUNDS if is_tiny(setting) else ROUNDS
    last = {name: large.points(setting, name)[-1] for name in (BASE, ALL, large.CONDITIONAL)}

    def searched(seed: int, k: int) -> tuple[Run, Run]:
        return Run(SEARCH, search, [(seed, k, *of)]), Run(CHOSEN, chosen, [(seed, k, *of)])

    def exactly(name: str, seed: int) -> Run:
        return Run(WHOLE, whole, [(name, seed, last[name], *of)])

    for seed in large.SEEDS:
        further = [run for k in range(2, rounds + 1) for run in searched(seed, k)]
        yield Stage(
            f"auto-two-{seed}", "automatic stitching from Base: exact exploitability beside Base and S=N",
            (
                Run(POINT, point, [(BASE, seed, early_steps(setting), *of)]),
                Run(TRAIN, train, [(BASE, seed, last[BASE], *of)]),
                Run(PLANNED, pilots, [(seed, *of)]), *searched(seed, 1),
                Run(TRAIN, train, [(large.CONDITIONAL, seed, last[large.CONDITIONAL], *of)]),
                exactly(large.CONDITIONAL, seed), exactly(BASE, seed),
            ),
            seconds_of,
        )  # fmt: skip
        yield Stage(
            f"auto-two-{seed}-more", "the same with further rounds, beside S=N and a Base that was stopped early",
            (Run(PLANNED, pilots, [(seed, *of)]), *further, exactly(ALL, seed),
             Run(EARLY, whole, [(BASE, seed, early_steps(setting), *of)])), seconds_of,
        )  # fmt: skip


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    if run.name == SEARCH:
        return FIRST_ROUND if run.pieces[piece][1] == 1 else NEXT_ROUND
    if run.name == PLANNED:
        return PILOTS
    if run.name in (CHOSEN, EARLY):
        return STITCHED
    if run.name == TRAIN:
        return 85.0 if run.pieces[piece][0] == BASE else 50.0  # with tables of buckets that are not there yet
    return large.seconds_of(run, piece)


def forget_searches() -> None:
    _profiles.clear()
    _begun.clear()


def quick_seed(seed: int) -> list[dict[str, Any]]:
    """The entries of a ledger: the stage of a seed on a small deck."""
    if seed not in large.SEEDS:
        raise SpecError(f"the plan has seeds {large.SEEDS[0]} to {large.SEEDS[-1]}, not {seed}: give fewer --seeds")
    forget_courses()
    forget_searches()
    with tempfile.TemporaryDirectory(prefix="kibitz-") as folder:
        setting = large.setting_of(True, str(Path(folder) / "work"), "cpu")
        ledger = Ledger(Path(folder) / "stage.json", {"device": "cpu"}, (), setting.folder)
        for stage in stages(setting):
            if stage.name.startswith(f"auto-two-{seed}"):
                go_through(stage, ledger)
        forget_courses()
        forget_searches()
        return ledger.entries
