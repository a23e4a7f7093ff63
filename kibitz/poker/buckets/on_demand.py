"""Percentile buckets of hold'em without tables: the strength of hands is computed for the boards that are asked for.

The tables of `kibitz.poker.buckets.buckets` take minutes to make and hundreds of megabytes. A strategy that plays one
hand at a time needs the buckets of a few boards: all hands on a flop take 1,176 showdowns, a twentieth of a second. The
thresholds of the buckets say the rest: a hand is in the last bucket whose threshold its E[HS²] reaches; on the river,
how far ahead it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import HOLD_EM, strengths_of
from kibitz.core.errors import GameError
from kibitz.poker.buckets.buckets import hand_buckets, parse
from kibitz.poker.rules.rules import strength

Ints = NDArray[np.int64]
FIRST = "first"  # [1326]  the bucket of two cards low < high, in the order of combinations
CUT = "cut{}"  # of each later round: the thresholds of its buckets, ascending
BOARD = 5
KEPT = 64  # boards
MOST = 1 << 16  # buckets of a round


def thresholds(definition: Any, name: str) -> dict[str, NDArray[Any]]:
    """What `OnDemand` needs of buckets by name: percentiles with imperfect recall, by E[HS²], of hold'em."""
    spec, game = parse(name), (definition.ranks, definition.suits, tuple(definition.board), definition.hole)
    buckets = hand_buckets(definition, name)
    forgets = all((of.parent < 0).all() for of in buckets.rounds[1:])
    if game != HOLD_EM or spec.name != "percentile" or spec.args.get("metric", "ehs2") != "ehs2" or not forgets:
        raise GameError(f"{name}: only percentile([...], recall=false) of Texas hold'em has thresholds")
    table = buckets.rounds[0].table
    assert table is not None
    arrays: dict[str, NDArray[Any]] = {FIRST: table[0].astype(np.uint16)}
    hands = strengths_of(*game, strength)
    for level, of in enumerate(buckets.rounds):
        if of.least is not None:
            arrays[CUT.format(level)] = of.least.astype(np.uint64)
        elif level:
            assert of.table is not None
            least = np.full(of.count, np.iinfo(np.uint64).max, np.uint64)
            metric = hands.metric(level, "ehs2")
            for at in range(0, len(metric), 512):
                np.minimum.at(least, of.table[at : at + 512].ravel(), metric[at : at + 512].ravel().astype(np.uint64))
            least[0] = 0
            arrays[CUT.format(level)] = least
    return arrays


class OnDemand:
    """Buckets from their thresholds."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        first, cuts = arrays[FIRST], [arrays[CUT.format(level)] for level in (1, 2, 3)]
        if first.shape != (52 * 51 // 2,) or first.dtype != np.uint16:
            raise ValueError("its buckets before the flop do not fit")
        for cut in cuts:
            if cut.ndim != 1 or cut.dtype != np.uint64 or not 1 <= len(cut) <= MOST or not (cut[1:] > cut[:-1]).all():
                raise ValueError("its thresholds do not ascend")
        self.first, self.cuts = np.array(first, np.int64), [np.array(cut) for cut in cuts]
        self.counts = [int(self.first.max()) + 1, *map(len, self.cuts)]
        self._boards: OrderedDict[tuple[int, ...], Ints] = OrderedDict()

    def of(self, level: int, hands: Ints, board: tuple[int, ...]) -> Ints:
        """[n]  the buckets of hands [n, 2] on a board; cards are rank * 4 + suit."""
        low, high = hands.min(axis=1), hands.max(axis=1)
        if level == 0:
            return np.asarray(self.first[low * (103 - low) // 2 + high - low - 1])
        key = tuple(sorted(board))
        if key not in self._boards:
            self._boards[key] = np.searchsorted(self.cuts[level - 1], figures(key), "right") - 1
            while len(self._boards) > KEPT:
                self._boards.popitem(last=False)
        self._boards.move_to_end(key)
        return np.asarray(self._boards[key][low, high])


def figures(board: tuple[int, ...]) -> NDArray[np.uint64]:
    """[52, 52]  of hands low < high on a board of three to five cards, what thresholds are compared with: the sum of
    squares of `ahead` over all ways to complete the board; on the river `ahead` itself. 0 for cards on the board."""
    from kibitz.cards.kernels.hands import ahead_of_pairs
    from kibitz.cards.kernels.strength import workspace

    rest = [card for card in range(52) if card not in board]
    boards = np.array([(*board, *more) for more in combinations(rest, BOARD - len(board))], np.uint8)
    live = np.ones((len(boards), 52), np.bool_)
    np.put_along_axis(live, boards.astype(np.int64), False, axis=1)
    cards = np.nonzero(live)[1].reshape(len(boards), 52 - BOARD)
    low, high = np.array(list(combinations(range(52 - BOARD), 2))).T
    ahead = np.empty((len(boards), len(low)), np.uint16)
    ahead_of_pairs(boards, np.uint64(0), ahead, workspace())
    power = 1 if len(board) == BOARD else 2
    figure = ahead.astype(np.float64) ** power  # sums are whole numbers below 2^53
    place = cards[:, low] * 52 + cards[:, high]
    return np.bincount(place.ravel(), figure.ravel(), 52 * 52).astype(np.uint64).reshape(52, 52)
