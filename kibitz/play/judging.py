"""Matches as judges of automatic stitching: a strategy meets the one before it, in the real game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.evaluate.score import Score
from kibitz.play.matches import match
from kibitz.solvers.machines import playable
from kibitz.stitch.auto.judges import MatchJudge


def match_judge(deals: int = 20_000, seed: int = 0) -> Callable[[Any], MatchJudge]:
    """For `stitch_auto(judge=...)`: one player has the strategy that is judged, all others the strategy before it.

    deals: of a judgement, each in all seatings; a pilot has a quarter of them. seed: of all deals of the search.
    """
    if deals < 2:
        raise SolverError(f"deals={deals} must be 2 or more: one deal says nothing about luck")

    def judge(setting: Any) -> MatchJudge:
        own = getattr(setting, "machine", None)  # of blueprints, with their betting by rounds
        machine = playable(getattr(setting.rules, "game", setting.rules)) if own is None else own

        def play(one: Any, other: Any, deals: int, seed: int) -> Score:
            before = setting.profile(other)
            players = [setting.profile(one), *[before] * (setting.players - 1)]
            return match(machine, *players, deals=deals, seed=seed).scores[0]

        return MatchJudge(play, deals, seed)

    return judge
