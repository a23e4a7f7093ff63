"""Three hands before the flop, up to names of suits: in which order they end, counted over all boards.

    from kibitz.cards.triples import orders, triples_of_hands
    orders("AA", "KK", "QQ")        # {(0, 1, 2): ..., (0, 0, 1): ..., ...}: 13 orders, exactly

Counts are over all hands of three classes that share no card, and all boards that go with them. A *rank* is 0 for the
best hand; hands that tie have the same. All tie is what the other twelve orders leave of all boards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.holdem import classes, pairs_of_classes
from kibitz.cards.ranges import hand_cards
from kibitz.cards.recipes import class_of, triples_recipe
from kibitz.cards.tables import Tell, opened
from kibitz.core.errors import GameError

Ints = NDArray[np.int64]
BOARDS = math.comb(46, 5)  # when three hands are known
DEALS = math.comb(52, 2) * math.comb(50, 2) * math.comb(48, 2)  # of three hands in order


class Triples(NamedTuple):
    """[169, 169, 169] each, by class."""

    strict: Ints  # of the best, the middle, the worst hand
    top: Ints  # of two that tie, and the one below them
    bottom: Ints  # of two that tie, and the one above them
    tie: Ints  # of three that tie


def triples_of_hands() -> Ints:
    """[169, 169, 169]  in how many ways three classes can be dealt together.

    With a hand of the first class gone, the others are pairs of the hands that are left.
    """
    number = class_of().astype(np.int64)
    ways = np.empty((169, 169, 169), np.int64)
    for first in range(169):
        hands = hand_cards()[number == first]
        ways[first] = pairs_of_classes(hands[0]) * len(hands)
    return ways


def triples(tell: Tell | None = None) -> Triples:
    """All counts; the table is made first if there is none, in some twenty minutes of a core."""
    table = opened(triples_recipe(), tell)
    strict = np.asarray(table["strict"], np.int64)
    low, high = np.tril_indices(169)[::-1]
    tied = []
    for name in ("top", "bottom"):
        whole = np.empty((169, 169, 169), np.int64)
        whole[low, high] = whole[high, low] = table[name]
        whole[range(169), range(169)] *= 2  # two hands of one class are dealt in two ways
        tied.append(whole)
    top, bottom = tied
    tie = triples_of_hands() * BOARDS
    for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        tie -= strict.transpose(np.argsort((a, b, c)))
    for axes in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):  # the two that tie, and the other
        tie -= top.transpose(np.argsort(axes)) + bottom.transpose(np.argsort(axes))
    return Triples(strict, top, bottom, tie)


def orders(one: str, two: str, three: str) -> dict[tuple[int, int, int], int]:
    """How often three hands by name, such as AKs, end in each of the 13 orders."""
    names = classes().names
    for name in (one, two, three):
        if name not in names:
            raise GameError(f"{name!r} is no hand before the flop: write AKs, AKo or QQ")
    a, b, c = (names.index(name) for name in (one, two, three))
    counts = triples()
    return {
        (0, 1, 2): int(counts.strict[a, b, c]), (0, 2, 1): int(counts.strict[a, c, b]),
        (1, 0, 2): int(counts.strict[b, a, c]), (2, 0, 1): int(counts.strict[b, c, a]),
        (1, 2, 0): int(counts.strict[c, a, b]), (2, 1, 0): int(counts.strict[c, b, a]),
        (0, 0, 1): int(counts.top[a, b, c]), (0, 1, 0): int(counts.top[a, c, b]), (1, 0, 0): int(counts.top[b, c, a]),
        (0, 1, 1): int(counts.bottom[b, c, a]), (1, 0, 1): int(counts.bottom[a, c, b]),
        (1, 1, 0): int(counts.bottom[a, b, c]), (0, 0, 0): int(counts.tie[a, b, c]),
    }  # fmt: skip
