"""How large a spot is, how much memory it takes and how long, before it is solved."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kibitz.cards.boards import deck_of
from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN, cores, free_memory
from kibitz.poker.spots.engine_boards import all_boards, hands_on
from kibitz.poker.spots.spot import Spot, SpotTree, live

# Of an iteration on one core, on x86: a turn spot with 4.6 million sequences in about 14 ms.
SECONDS_PER_SEQUENCE = 3e-9
ITERATIONS = 90  # to half a percent of the pot, more or less; they grow with the inverse of its root or so
BYTES_PER_SEQUENCE = 2 + 2  # regret and average
BYTES_PER_HAND = 100  # on a board, while lists are written


@dataclass(frozen=True)
class SpotEstimate:
    """The size of a spot."""

    nodes: int  # of the betting tree
    boards: int  # of all streets
    sequences: int  # numbers that are learnt: an action of a hand on a board
    bytes: int
    seconds: float  # to half a percent of the pot on all cores, without compiling


def estimate_of(spot: Spot, tree: SpotTree) -> SpotEstimate:
    """The size of a spot, from its betting tree."""
    betting = tree.betting
    deck = [int(card) for card in deck_of(*spot.deck)]
    ranges = live(spot)
    boards, begins = all_boards(spot.board, ranges, deck, spot.deck[1])
    sizes = hands_on(boards, ranges)
    sequences = 0
    for level, (low, high) in enumerate(pairwise(begins)):
        for seat in (0, 1):
            own = betting.widths[(betting.round == level) & (betting.turn == seat)].sum()
            sequences += int(own) * int(sizes[seat, low:high].sum())
    seconds = SECONDS_PER_SEQUENCE * ITERATIONS * sequences / max(1.0, 0.8 * cores())
    needed = BYTES_PER_SEQUENCE * sequences + BYTES_PER_HAND * int(sizes.sum())
    return SpotEstimate(len(tree), len(boards), sequences, needed, seconds)


def check_size(spot: Spot, tree: SpotTree, most_bytes: int | None = None) -> SpotEstimate:
    """Refuse a spot that does not fit into memory, with the options that make it smaller."""
    estimate = estimate_of(spot, tree)
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
