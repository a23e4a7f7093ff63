"""Cards that are dealt together, as infosets write them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kibitz import cards as playing

Cards = tuple[int, ...]  # rank * 4 + suit, high to low


def text_of(cards: Sequence[int]) -> str:
    """Cards that came together, high to low: "AhKd"."""
    return "".join(playing.NAMES[card] for card in sorted(cards, reverse=True))


@lru_cache(maxsize=1 << 16)
def cards_of(text: str) -> Cards:
    """The other way."""
    return tuple(playing.NUMBERS[text[k : k + 2]] for k in range(0, len(text), 2))
