"""A crosstable on other machines: what seatings give, and how much strategies can be exploited, in pieces.

A node builds the form from the game's name and the saved strategies, as this machine did, so figures are the same to
the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.artefacts import SharedArtefact, located, saved_for_nodes
from kibitz.core.pieces import Executor, Piece
from kibitz.evaluate import measure
from kibitz.evaluate.seatings import Seatings, form_of_all
from kibitz.forms.profile import Profile

Floats = NDArray[np.float64]
PIECES = 64  # of seatings, at most: a node builds the form once for each process
RESPONSES = 4  # a measurement takes about as long as so many seatings


def asked_for(strategies: int, seats: int) -> list[tuple[int, ...]]:
    """Who plays which seat, in all entries of a crosstable and its field."""
    every = range(strategies)
    wanted = {(*[b] * s, a, *[b] * (seats - 1 - s)) for a in every for b in every for s in range(seats)}
    if seats > 2:
        wanted |= {who for group in combinations(every, seats) for who in permutations(group)}
    return sorted(wanted)


def worked_out(plays: Seatings, executor: Executor) -> Floats:
    """Work out all seatings on nodes, so that `plays` knows them; returns NashConv by strategy."""
    spec, count = plays.form.spec, len(plays.strategies)
    named = tuple(executor.artefact(saved_for_nodes(each)) for each in plays.strategies)
    wanted = asked_for(count, plays.form.seats)
    groups = [wanted[k::PIECES] for k in range(min(PIECES, len(wanted)))]
    pieces = [Piece((spec, named, tuple(group), -1), cost=len(group)) for group in groups]
    pieces += [Piece((spec, named, (), k), cost=RESPONSES) for k in range(count)]
    gaps = np.zeros(count)
    for number, (values, gap) in executor.map(seated_on_node, pieces):
        if number < len(groups):
            plays.learn(zip(groups[number], values, strict=True))
        else:
            gaps[number - len(groups)] = gap
    return gaps


@lru_cache(1)
def _plays(spec: str, named: tuple[SharedArtefact, ...]) -> Seatings:
    """The seatings of this process; the next pieces are mostly of the same ones."""
    profiles: list[Any] = [Profile.load(located(each), mmap=True) for each in named]
    return Seatings(*form_of_all(spec, profiles))


def seated_on_node(
    spec: str, named: tuple[SharedArtefact, ...], seatings: Iterable[Sequence[int]], measured: int
) -> tuple[list[Floats], float]:
    """(what each seat gets in some seatings, NashConv of a strategy if it is asked for)."""
    plays = _plays(spec, named)
    gap = measure(plays.form, plays.probabilities[measured]).nash_conv if measured >= 0 else 0.0
    return [plays[tuple(who)] for who in seatings], float(gap)
