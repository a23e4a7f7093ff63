"""How large a spot is, how much memory it takes and how long, before it is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kibitz.cards.boards import deck_of
from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN, cores, free_memory
from kibitz.poker.spots.engine_boards import all_boards, hands_on
from kibitz.poker.spots.engine_rows import RowSource, kept_symmetries, nodes_of
from kibitz.poker.spots.spot import Spot, SpotTree, live

# Of an iteration on one core, on x86: a turn spot with 4.6 million sequences in about 14 ms.
SECONDS_PER_SEQUENCE = 3e-9
ITERATIONS = 90  # to half a percent of the pot, more or less; they grow with the inverse of its root or so
BYTES_PER_SEQUENCE = 2 + 2  # regret and average
BYTES_PER_KNOWN, WIDE_BYTES = 4, 4  # of what is locked; and of the average that it is written into
BYTES_PER_HAND = 100  # on a board, while lists are written


@dataclass(frozen=True)
class SpotEstimate:
    """The size of a spot."""

    nodes: int  # of the betting tree
    boards: int  # of all streets
    sequences: int  # numbers that are learnt: an action of a hand on a board
    bytes: int
    seconds: float  # to half a percent of the pot on all cores, without compiling


def estimate_of(spot: Spot, tree: SpotTree, locks: Sequence[RowSource] = ()) -> SpotEstimate:
    """The size of a spot, from its betting tree and what is locked."""
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
    return SpotEstimate(len(tree), len(boards), sequences, needed, seconds)


def check_size(
    spot: Spot, tree: SpotTree, most_bytes: int | None = None, locks: Sequence[RowSource] = ()
) -> SpotEstimate:
    """Refuse a spot that does not fit into memory, with the options that make it smaller."""
    estimate = estimate_of(spot, tree, locks)
    most = max(0, free_memory() - MARGIN) if most_bytes is None else most_bytes
    if estimate.bytes > most:
        raise GameError(
            f"the spot has {estimate.sequences:,} sequences, which take about {estimate.bytes / 1e6:,.0f} MB, and "
            f"{most / 1e6:,.0f} MB are free: {_knob(spot, tree)}"
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
