"""Hands up to the names of suits: numbers without gaps, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.cards.deck import flat_hands
from kibitz.core.errors import GameError

MOST_CARDS = 13  # in all rounds together


class Indexer:
    """Numbers 0 to size - 1 for hands that come in rounds, up to the names of suits.

    Indexer([2, 3, 1, 1]) is Texas hold'em on the river: two private cards, a flop of three, turn and river. Within a
    round the order of cards does not count; between rounds it does.
    """

    def __init__(self, rounds: Sequence[int]) -> None:
        self.rounds = tuple(int(cards) for cards in rounds)
        if not self.rounds or min(self.rounds) < 1 or sum(self.rounds) > MOST_CARDS:
            raise GameError(
                f"rounds {list(rounds)} should be numbers of cards, 1 or more each and {MOST_CARDS} at most together"
            )
        self.cards = sum(self.rounds)
        self._plan = _plan(self.rounds)
        self.size = int(self._plan.first[-1])

    def index(self, cards: ArrayLike) -> NDArray[np.int64]:
        """Numbers of hands: cards [..., all rounds] -> [...]."""
        from kibitz.cards.kernels.isomorphism import numbers

        hands = flat_hands(cards, (self.cards,))
        index = np.empty(len(hands), np.uint64)
        numbers(hands, self._plan, np.zeros((2, 4), np.uint64), index)
        return index.astype(np.int64).reshape(np.shape(cards)[:-1])

    def unindex(self, numbers: ArrayLike) -> NDArray[np.int64]:
        """A hand of each number, [...] -> [..., all rounds]: of all that differ by names of suits, one."""
        from kibitz.cards.kernels.isomorphism import hands

        index = np.asarray(numbers)
        if index.dtype.kind not in "iu":
            raise GameError("numbers of hands are whole numbers")
        if index.size and (index.min() < 0 or index.max() >= self.size):
            raise GameError(f"numbers of hands are 0 to {self.size - 1:,} here, not {index.min()} to {index.max()}")
        cards = np.empty((index.size, self.cards), np.uint8)
        hands(index.ravel().astype(np.uint64), self._plan, np.zeros((3, 4), np.uint64), cards)
        return cards.astype(np.int64).reshape(*index.shape, self.cards)


@lru_cache(32)
def _plan(rounds: tuple[int, ...]) -> Any:
    """The configurations of suits and how many hands each has."""
    from kibitz.cards.kernels.isomorphism import SuitPatterns

    step = [math.prod(cards + 1 for cards in rounds[r + 1 :]) for r in range(len(rounds))]
    patterns = list(product(*(range(cards + 1) for cards in rounds)))
    sizes = [_sets(pattern) for pattern in patterns]
    base = len(patterns)
    configurations = []
    for codes in combinations_with_replacement(range(base - 1, -1, -1), 4):
        cards_of_round = [sum(cards) for cards in zip(*(patterns[code] for code in codes), strict=True)]
        if cards_of_round == list(rounds) and all(sizes[code] for code in codes):
            hands = math.prod(math.comb(sizes[c] + codes.count(c) - 1, codes.count(c)) for c in set(codes))
            key = ((codes[0] * base + codes[1]) * base + codes[2]) * base + codes[3]
            configurations.append((key, hands))
    configurations.sort()
    first = np.concatenate(([0], np.cumsum([hands for _, hands in configurations], dtype=np.int64)))
    return SuitPatterns(
        np.array(rounds, np.uint64), np.array(step, np.uint64), np.array(patterns, np.uint64).reshape(base, -1),
        np.array(sizes, np.uint64), np.array([key for key, _ in configurations], np.uint64),
        first.astype(np.uint64),
    )  # fmt: skip


def _sets(pattern: Sequence[int]) -> int:
    """In how many ways a suit can hold so many ranks in each round."""
    left, ways = 13, 1
    for cards in pattern:
        ways *= math.comb(left, cards)
        left = max(0, left - cards)
    return ways
