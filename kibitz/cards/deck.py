"""Cards as numbers and as text: a card is rank * 4 + suit, deuces 0 to 3, aces 48 to 51; suits are c d h s."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError

RANKS = "23456789TJQKA"
SUITS = "cdhs"
NUMBERS = {rank + suit: 4 * r + s for r, rank in enumerate(RANKS) for s, suit in enumerate(SUITS)}
NAMES = tuple(NUMBERS)
FEW = 2_000  # hands that NumPy checks before compiled code would be loaded

Ints = NDArray[np.int64]


def card(text: str) -> int:
    """The number of a card: "Ah" is 50. Ranks may be small letters, and ten is T or 10."""
    plain = text.strip().replace("10", "T")
    plain = plain[:-1].upper() + plain[-1:].lower()
    if plain not in NUMBERS:
        raise GameError(f"{text!r} is not a card: a card is a rank of {RANKS} and a suit of {SUITS}, such as Ah")
    return NUMBERS[plain]


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


def flat_hands(cards: ArrayLike, sizes: tuple[int, ...]) -> NDArray[np.uint8]:
    """Hands as bytes, [n, k], after a look at each: different cards, 0 to 51, as many as allowed."""
    array = np.asarray(cards)
    if array.dtype.kind not in "iu" or array.ndim < 1:
        raise GameError("cards are whole numbers, 0 (2c) to 51 (As), with the cards of a hand along the last axis")
    if array.shape[-1] not in sizes:
        allowed = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        raise GameError(f"a hand here has {allowed} cards, not {array.shape[-1]}")
    if array.size and (array.min() < 0 or array.max() > 51):
        wrong = array[(array < 0) | (array > 51)].ravel()[0]
        raise GameError(f"{wrong} is not a card: cards are 0 (2c) to 51 (As)")
    hands = np.ascontiguousarray(array.reshape(-1, array.shape[-1]).astype(np.uint8))
    at = _fault(hands)
    if at >= 0:
        wrong_hand = hands[at].tolist()
        where = f"hand {at} holds" if len(hands) > 1 else "there is"
        twice = next(card for k, card in enumerate(wrong_hand) if card in wrong_hand[:k])
        raise GameError(f"{where} the card {name(twice)} twice: {names(wrong_hand)}")
    return hands


def _fault(hands: NDArray[np.uint8]) -> int:
    """The first hand that holds a card twice, or -1. A few hands are looked at without compiled code."""
    if len(hands) > FEW:
        from kibitz.cards.kernels.ranking import faults

        return int(faults(hands))
    ordered = np.sort(hands, axis=1)
    wrong = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    return int(wrong[0]) if len(wrong) else -1
