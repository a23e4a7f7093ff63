"""How large a spot is, how much memory it takes and how long, before it is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import deck_of
from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN, cores, free_memory
from kibitz.games.protocol import CHANCE
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.spots.engine_boards import all_boards, hands_on
from kibitz.poker.spots.engine_rows import RowSource, kept_symmetries, nodes_of
from kibitz.poker.spots.spot import Spot, SpotTree, live

# Of an iteration on one core, on x86: a turn spot with 4.6 million sequences in about 14 ms.
SECONDS_PER_SEQUENCE = 3e-9
# On an H200, and what comes before the first iteration.
GPU_SECONDS_PER_SEQUENCE, GPU_SECONDS = 4e-11, 2.0
ITERATIONS = 90  # to half a percent of the pot, more or less; they grow with the inverse of its root or so
BYTES_PER_SEQUENCE = 2 + 2  # regret and average
BYTES_PER_KNOWN, WIDE_BYTES = 4, 4  # of what is locked; and of the average that it is written into
BYTES_PER_HAND = 100  # on a board, while lists are written
GPU_BYTES_PER_HAND = 2 + 2 + 4 + 8  # tables of a hand on a board: up, same, card, ranked
GPU_SHARE = 0.9  # of its free memory that is taken at most


@dataclass(frozen=True)
class SpotEstimate:
    """The size of a spot."""

    nodes: int  # of the betting tree
    boards: int  # of all streets
    sequences: int  # numbers that are learnt: an action of a hand on a board
    bytes: int
    seconds: float  # to half a percent of the pot on all cores, without compiling


def estimate_of(
    spot: Spot, tree: SpotTree, locks: Sequence[RowSource] = (), device: str = "cpu"
) -> SpotEstimate:
    """The size of a spot, from its betting tree and what is locked. Bytes and seconds are those of a device."""
    betting = tree.betting
    deck = [int(card) for card in deck_of(*spot.deck)]
    ranges = live(spot)
    boards, begins = all_boards(spot.board, kept_symmetries(spot, locks), deck)
    sizes = hands_on(boards, ranges)
    sequences, known, locked = 0, 0, np.isin(np.arange(len(tree)), nodes_of(tree, locks))
    for level, (low, high) in enumerate(pairwise(begins)):
        for seat in (0, 1):
            own, hands = (betting.round == level) & (betting.turn == seat), int(sizes[seat, low:high].sum())
            sequences += int(betting.widths[own].sum()) * hands
            known += int((betting.widths[own & locked] + 1).sum()) * hands
    seconds = SECONDS_PER_SEQUENCE * ITERATIONS * sequences / max(1.0, 0.8 * cores())
    needed = BYTES_PER_SEQUENCE * sequences + BYTES_PER_HAND * int(sizes.sum())
    if known:
        needed += BYTES_PER_KNOWN * known + WIDE_BYTES * sequences
    if device == "gpu":
        seconds = GPU_SECONDS + GPU_SECONDS_PER_SEQUENCE * ITERATIONS * sequences
        needed = BYTES_PER_SEQUENCE * sequences + GPU_BYTES_PER_HAND * int(sizes.sum())
        by_card = 64 * (len(deck) - len(spot.board))  # of a seat on a board: hands by card, and places on boards below
        needed += 2 * 2 * len(boards) * (by_card + int(sizes.max())) + 4 * _vectors(betting, sizes, begins.tolist())
    return SpotEstimate(len(tree), len(boards), sequences, needed, seconds)


def _vectors(betting: BettingTree, sizes: NDArray[np.int64], begins: list[int]) -> int:
    """Numbers of the vectors that a GPU keeps: values where each street begins, and of all streets but the last the
    slots, one or less for each node, and the exits."""
    total, last = 0, len(begins) - 2
    lines = [1, *(int(((betting.turn == CHANCE) & (betting.round == level)).sum()) for level in range(1, last + 1))]
    for level, (low, high) in enumerate(pairwise(begins)):
        rows = lines[level]
        if level < last:
            rows += int((betting.round == level).sum()) + lines[level + 1]
        total += (high - low) * int(sizes[:, low:high].max()) * rows
    return total


def free_on_gpu() -> int:
    from kibitz.poker.bucketed.device import Device

    return Device("gpu").free()


def check_size(
    spot: Spot, tree: SpotTree, most_bytes: int | None = None, locks: Sequence[RowSource] = (), device: str = "cpu"
) -> SpotEstimate:
    """Refuse a spot that does not fit into the memory of a device, with the options that make it smaller."""
    estimate = estimate_of(spot, tree, locks, device)
    if most_bytes is not None:
        most = most_bytes
    elif device == "gpu":
        most = int(GPU_SHARE * free_on_gpu())
    else:
        most = max(0, free_memory() - MARGIN)
    if estimate.bytes > most:
        where = " on the GPU" if device == "gpu" else ""
        raise GameError(
            f"the spot has {estimate.sequences:,} sequences, which take about {estimate.bytes / 1e6:,.0f} MB{where}, "
            f"and {most / 1e6:,.0f} MB are free: {_knob(spot, tree)}"
        )
    return estimate


def _knob(spot: Spot, tree: SpotTree) -> str:
    """What makes a spot smaller, by where its sequences are."""
    betting = tree.betting
    widths = np.bincount(betting.round[betting.turn >= 0], betting.widths[betting.turn >= 0], minlength=3 - spot.street)
    street = ("flop", "turn", "river")[spot.street + int(widths.argmax())]
    most = max(len(sizes.bets) + len(sizes.raises) for pair in spot.sizes for sizes in pair)
    if most > 2:
        return (f"give fewer bet sizes on the {street}, where most of it is (bets, raises), a lower max_raises, or a "
                "larger force_allin")  # fmt: skip
    return "give a lower max_raises, a larger force_allin, smaller stacks, or begin on a later street"
