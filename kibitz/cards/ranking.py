"""Hands as numbers that compare as the hands do: of five to seven cards, and of three."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.cards.deck import flat_hands

CATEGORIES = (
    "high card", "pair", "two pairs", "three of a kind", "straight", "flush", "full house", "four of a kind",
    "straight flush",
)  # fmt: skip
# Three cards [Shi & Littman 2001]: straights and flushes change places with what is likelier.
CATEGORIES_OF_THREE = ("high card", "pair", "flush", "straight", "three of a kind", "straight flush")

Ints = NDArray[np.int64]


def evaluate(cards: ArrayLike) -> Ints:
    """Values of poker hands, of which larger is better. cards: integers [..., 5 to 7]; returns [...].

    Values compare across numbers of cards: a hand of seven is worth its best five.
    """
    kernels = _kernels()
    return _evaluated(cards, (5, 6, 7), kernels.value, kernels.values)


def evaluate_three(cards: ArrayLike) -> Ints:
    """Values of hands of three cards, as in Rhode Island hold'em. cards: integers [..., 3]; returns [...]."""
    kernels = _kernels()
    return _evaluated(cards, (3,), kernels.three_value, kernels.values_of_three)


@cache
def _kernels() -> Any:
    from kibitz.cards.kernels import ranking

    return ranking


def _evaluated(cards: ArrayLike, sizes: tuple[int, ...], one: Any, many: Any) -> Ints:
    single = cards.tolist() if isinstance(cards, np.ndarray) and cards.ndim == 1 else cards
    word = _word(single, sizes) if isinstance(single, list | tuple) else 0
    if word:
        return np.asarray(one(word), np.int64)
    hands = flat_hands(cards, sizes)
    values = np.empty(len(hands), np.uint32)
    many(hands, values)
    return values.astype(np.int64).reshape(np.shape(cards)[:-1])


def _word(cards: Sequence[Any], sizes: tuple[int, ...]) -> int:
    """One hand as kernels hold it, four masks of ranks; 0 if it is not simply that: someone else says what is wrong."""
    if len(cards) not in sizes:
        return 0
    word = 0
    for card in cards:
        if type(card) is not int or not 0 <= card < 52:
            return 0
        word |= 1 << (card >> 2) + ((card & 3) << 4)
    return word if word.bit_count() == len(cards) else 0


def category(value: int) -> str:
    """What kind of hand a value of `evaluate` is."""
    return CATEGORIES[int(value) >> 26]


def category_of_three(value: int) -> str:
    """What kind of hand a value of `evaluate_three` is."""
    return CATEGORIES_OF_THREE[int(value) >> 26]
