"""kibitz.match: players by name, by path, or as objects."""

from __future__ import annotations

from typing import Any

from kibitz.evaluate.match import MatchResult, meeting
from kibitz.evaluate.match import match as play
from kibitz.play.agents import agent
from kibitz.play.blocks import blocks_of
from kibitz.solvers.machines import playable

THINKING_DEALS, COMPILED_DEALS = 100, 100_000  # unless told otherwise


def match(game: Any, *players: Any, deals: int | None = None, seed: int = 0, **options: Any) -> MatchResult:
    """Play a duplicate match: what each player wins per hand, with 95% intervals.

    game     a name, a game, or your own file
    players  one for each seat: a Profile, a Blueprint, the path of a saved one, "uniform", "rule", "search(PATH)", or
             any object with begin(seat), act(view) and end(view, payoff)
    deals    each is played in all seatings; default: 100,000, or 100 if a player searches or the rules are not compiled
    options  threads, until, on_progress: see kibitz.evaluate.match.match

        kibitz.match("leduc", kibitz.solve("leduc"), "uniform")
    """
    machine = playable(game)
    agents = [agent(player, machine) for player in players]
    return play(machine, *agents, deals=deals_of(machine, agents) if deals is None else deals, seed=seed,
                blocks=blocks_of(machine, players), **options)  # fmt: skip


def deals_of(machine: Any, agents: list[Any]) -> int:
    """The default number of deals of a match."""
    table, players = meeting(machine, agents)
    thinks = players is None or not table.compiled
    return THINKING_DEALS if thinks else COMPILED_DEALS
