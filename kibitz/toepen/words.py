"""What is said and played at a table of Toepen, as kernels read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kibitz.toepen.states import NAMES, NUMBERS

SAID = {"check": 32, "bet": 33, "call": 34, "fold": 35}  # as kibitz.toepen.kernels.play; cards are their numbers


def words_of(history: Sequence[str]) -> NDArray[np.uint64]:
    """A public history as kernels read it."""
    return np.array([SAID[word] if word in SAID else NUMBERS[word] for word in history], np.uint64)


def text_of(word: int) -> str:
    """A word of a public history, from its number."""
    return NAMES[word] if word < 32 else ("check", "bet", "call", "fold")[word - 32]


def mask_of(cards: Iterable[int]) -> int:
    """Cards as bits."""
    return sum(1 << card for card in cards)
