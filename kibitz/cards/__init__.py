"""Playing cards: names, hands as numbers that compare as the hands do, and hands up to the names of suits.

    from kibitz import cards
    cards.evaluate(cards.parse("Ah Kh Qh Jh Th 2c 2d"))      # larger is better
    cards.Indexer([2, 3]).size                               # 1,286,792 hands and flops
    cards.strength("Ah Kd", "Qs 7c 2d")                      # against a random hand: exact, see holdem.py
    cards.equity("Ah Kd", "Qs Qc")                           # against another
    cards.equities(["AhKd", "TT+, AQs+", "random"])          # hands and ranges, two seats or more: see showdowns.py

A card is an integer, rank * 4 + suit: deuces are 0 to 3, aces 48 to 51; suits are c d h s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.cards.holdem import (
    Classes,
    Counts,
    Equity,
    Strength,
    class_equity,
    class_hands,
    class_names,
    classes,
    counts,
    equity,
    histogram,
    strength,
)
from kibitz.cards.isomorphism import Indexer
from kibitz.cards.ranges import Range, parse_range
from kibitz.cards.showdowns import Equities, Seat, equities
from kibitz.errors import GameError

__all__ = ["CATEGORIES", "CATEGORIES_OF_THREE", "RANKS", "SUITS", "Classes", "Counts", "Equities", "Equity", "Indexer",
           "Range", "Seat", "Strength", "card", "category", "category_of_three", "class_equity", "class_hands",
           "class_names", "classes", "counts", "equities", "equity", "evaluate", "evaluate_three", "histogram", "name",
           "names", "parse", "parse_range", "strength"]  # fmt: skip

RANKS = "23456789TJQKA"
SUITS = "cdhs"
CATEGORIES = (
    "high card", "pair", "two pairs", "three of a kind", "straight", "flush", "full house", "four of a kind",
    "straight flush",
)  # fmt: skip
# Three cards [Shi & Littman 2001]: straights and flushes change places with what is likelier.
CATEGORIES_OF_THREE = ("high card", "pair", "flush", "straight", "three of a kind", "straight flush")
NUMBERS = {rank + suit: 4 * r + s for r, rank in enumerate(RANKS) for s, suit in enumerate(SUITS)}
NAMES = tuple(NUMBERS)
FEW = 2_000  # hands that NumPy checks before compiled code would be loaded

Ints = NDArray[np.int64]


def card(text: str) -> int:
    """The number of a card: "Ah" is 50. Ranks may be small letters, and ten is T or 10."""
    found = text.strip().replace("10", "T")
    found = found[:-1].upper() + found[-1:].lower()
    if found not in NUMBERS:
        raise GameError(f"{text!r} is not a card: a card is a rank of {RANKS} and a suit of {SUITS}, such as Ah")
    return NUMBERS[found]


def name(number: int) -> str:
    """The text of a card: 50 is "Ah"."""
    if not 0 <= int(number) < 52:
        raise GameError(f"{number} is not a card: cards are 0 (2c) to 51 (As)")
    return NAMES[int(number)]


def parse(text: str) -> Ints:
    """Cards in a row: "Ah Kd", "AhKd", "ah,kd"."""
    plain = text.replace(",", " ").replace("10", "T")
    words = [word[k : k + 2] for word in plain.split() for k in range(0, len(word), 2)]
    return np.array([card(word) for word in words], np.int64)


def names(numbers: ArrayLike) -> str:
    """The other way: "Ah Kd"."""
    return " ".join(name(number) for number in np.asarray(numbers).ravel())


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
    from kibitz.kernels.cards import ranking

    return ranking


def _evaluated(cards: ArrayLike, sizes: tuple[int, ...], one: Any, many: Any) -> Ints:
    single = cards.tolist() if isinstance(cards, np.ndarray) and cards.ndim == 1 else cards
    word = _word(single, sizes) if isinstance(single, list | tuple) else 0
    if word:
        return np.asarray(one(word), np.int64)
    hands = flat_hands(cards, sizes)
    found = np.empty(len(hands), np.uint32)
    many(hands, found)
    return found.astype(np.int64).reshape(np.shape(cards)[:-1])


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


def flat_hands(cards: ArrayLike, sizes: tuple[int, ...]) -> NDArray[np.uint8]:
    """Hands as bytes, [n, k], after a look at each: different cards, 0 to 51, as many as allowed."""
    given = np.asarray(cards)
    if given.dtype.kind not in "iu" or given.ndim < 1:
        raise GameError("cards are whole numbers, 0 (2c) to 51 (As), with the cards of a hand along the last axis")
    if given.shape[-1] not in sizes:
        allowed = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        raise GameError(f"a hand here has {allowed} cards, not {given.shape[-1]}")
    if given.size and (given.min() < 0 or given.max() > 51):
        wrong = given[(given < 0) | (given > 51)].ravel()[0]
        raise GameError(f"{wrong} is not a card: cards are 0 (2c) to 51 (As)")
    hands = np.ascontiguousarray(given.reshape(-1, given.shape[-1]).astype(np.uint8))
    at = _fault(hands)
    if at >= 0:
        held = hands[at].tolist()
        where = f"hand {at} holds" if len(hands) > 1 else "there is"
        twice = next(card for k, card in enumerate(held) if card in held[:k])
        raise GameError(f"{where} the card {name(twice)} twice: {names(held)}")
    return hands


def _fault(hands: NDArray[np.uint8]) -> int:
    """The first hand that holds a card twice, or -1. A few hands are looked at without compiled code."""
    if len(hands) > FEW:
        from kibitz.kernels.cards.ranking import faults

        return int(faults(hands))
    ordered = np.sort(hands, axis=1)
    wrong = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    return int(wrong[0]) if len(wrong) else -1


def category(value: int) -> str:
    """What kind of hand a value of `evaluate` is."""
    return CATEGORIES[int(value) >> 26]


def category_of_three(value: int) -> str:
    """What kind of hand a value of `evaluate_three` is."""
    return CATEGORIES_OF_THREE[int(value) >> 26]
