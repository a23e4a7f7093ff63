"""Matches on other machines: deals in blocks. A deal draws its own random numbers, so blocks can be played anywhere."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.artefacts import SharedArtefact, located, saved_for_nodes
from kibitz.core.errors import GameError
from kibitz.core.executor import current
from kibitz.core.pieces import Executor, Piece
from kibitz.evaluate.match import CHUNK, Blocks, cut_at_checks, meeting, seatings_of, won_on
from kibitz.evaluate.score import DealSums
from kibitz.forms.profile import Profile
from kibitz.games.machine import Machine
from kibitz.play.agents import agent, parsed
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import playable

BLOCK = 25 * CHUNK  # deals of a piece: some tenths of a second
Named = str | SharedArtefact  # a player by its name, or the saved strategy that it plays


def blocks_of(machine: Machine, players: Sequence[Any]) -> Blocks | None:
    """What plays a match of named or saved players on the executor in force; None: that is this machine, or somebody
    is known to this process alone."""
    executor = current()
    if not executor.elsewhere or not machine.spec or not machine.compiled:
        return None
    named = tuple(_named(player, executor) for player in players)
    if any(each is None for each in named):
        return None
    spec = machine.spec

    def blocks(deals: int, seed: int) -> Generator[list[DealSums], None, None]:
        pieces = [
            Piece((spec, named, seed, first, min(BLOCK, deals - first)), cost=deals - first)  # the first ones first
            for first in range(0, deals, BLOCK)
        ]
        answers = executor.map(won_in_block, pieces)
        early: dict[int, list[DealSums]] = {}
        try:
            for due in range(len(pieces)):
                while due not in early:
                    number, sums = next(answers)
                    early[number] = [DealSums(*each) for each in sums]
                yield early.pop(due)
        finally:
            close = getattr(answers, "close", None)
            if close is not None:
                close()

    return blocks


def _named(player: Any, executor: Executor) -> Named | None:
    if isinstance(player, Profile | Blueprint):
        return executor.artefact(saved_for_nodes(player))
    if not isinstance(player, str | Path):
        return None
    name, path, _ = parsed(str(player))
    if name == "path" and path is not None:
        return executor.artefact(path)
    return str(player) if path is None else None


@lru_cache(2)
def _met(spec: str, players: tuple[Named, ...]) -> tuple[Machine, tuple[Any, ...]]:
    machine = playable(spec)
    agents = [agent(str(located(each)) if isinstance(each, SharedArtefact) else each, machine) for each in players]
    machine, alike = meeting(machine, agents)
    if alike is None:
        raise GameError(f"{spec}: these players do not meet in compiled code on this node")
    return machine, alike


def won_in_block(
    spec: str, players: tuple[Named, ...], seed: int, first: int, count: int
) -> list[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
    """Sums over some deals of what players win in all seatings, chunk by chunk as on one machine."""
    machine, alike = _met(spec, players)
    seatings, sums = seatings_of(len(players)), list[tuple[int, NDArray[np.float64], NDArray[np.float64]]]()
    for begin in range(first, first + count, CHUNK):
        won = won_on(machine, alike, seatings, seed, begin, min(CHUNK, first + count - begin))
        sums += [tuple(each) for each in cut_at_checks(seatings, begin, won)]
    return sums
