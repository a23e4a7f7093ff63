"""kibitz.match: players by name, by path, or as they are, at one table."""

from __future__ import annotations

from typing import Any

from kibitz.evaluate.match import MatchResult
from kibitz.evaluate.match import match as play
from kibitz.play.agents import agent
from kibitz.solvers.machines import playable


def match(game: Any, *players: Any, deals: int = 10_000, seed: int = 0, **options: Any) -> MatchResult:
    """Play a duplicate match: what each player wins per hand, with 95% intervals.

    game     a name, a game, or a file of yours
    players  one for each seat: a Profile, a Blueprint, the path of a saved one, "uniform", "rule", "search(PATH)", or
             any object with begin(seat), act(view) and end(view, payoff)
    options  threads, until, on_progress: see kibitz.evaluate.match.match

        kibitz.match("leduc", kibitz.solve("leduc"), "uniform")
    """
    machine = playable(game)
    return play(machine, *(agent(player, machine) for player in players), deals=deals, seed=seed, **options)
