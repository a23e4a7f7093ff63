"""Toepen's cards, states and keys of infosets, which its rules (`rules.py`) are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

RANKS = "JQKA789T"  # low to high
SUITS = "cdhs"
CALLED = "wxyz"  # what keys call suits, so that nobody takes them for the real ones
MOST_DEALS = 5_000_000  # more than this are not listed

# A card is the number suit * 8 + rank; hands are tuples of cards in ascending order.
Cards: TypeAlias = tuple[int, ...]
ToepenRules: TypeAlias = Any  # kibitz.toepen.rules.Toepen, for files that it imports
NAMES = tuple(rank + suit for suit in SUITS for rank in RANKS)
NUMBERS = {name: card for card, name in enumerate(NAMES)}


class ToepenState(NamedTuple):
    """Where a hand stands."""

    turn: int
    due: str  # deal, bet (or check), answer (call or fold), card, suit (chance picks one of `tied`), nothing
    dealt: tuple[Cards, ...] = ((), ())  # by seat
    held: tuple[Cards, ...] = ((), ())
    done: str = ""  # the public history in words
    plays: Cards = ()  # the cards in it
    leader: int = 0  # of this trick, and at the end who won
    ante: int = 1
    bettor: int = -1  # who bet last
    tied: Cards = ()


def to_play(state: ToepenState) -> int:
    """The seat that plays the next card."""
    return state.leader if len(state.plays) % 2 == 0 else 1 - state.leader


def takes(led: int, card: int) -> bool:
    """Does a card take the trick from the card led?"""
    return card // 8 == led // 8 and card > led


def ranks_in(cards: Cards, suit: int) -> tuple[int, ...]:
    """The ranks that some cards have in a suit, in their order."""
    return tuple(card % 8 for card in cards if card // 8 == suit)


@lru_cache(1 << 16)
def hand_text(cards: Cards) -> str:
    return " ".join(NAMES[card] for card in cards) or "-"


def deal_text(one: Cards, other: Cards) -> str:
    return f"{hand_text(one)}|{hand_text(other)}"


# Suits by another name


def signature(dealt: Cards, plays: Cards, suit: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All that a seat knows of a suit: the ranks it was dealt, and for each card played its rank + 1, or 0."""
    return ranks_in(dealt, suit), tuple(card % 8 + 1 if card // 8 == suit else 0 for card in plays)


@lru_cache(1 << 16)
def in_order(dealt: Cards, plays: Cards) -> Cards:
    """The cards that a seat still holds, in the order of actions."""
    left = tuple(card for card in dealt if card not in plays)
    suits = sorted(
        {card // 8 for card in left}, key=lambda suit: (ranks_in(left, suit), signature(dealt, plays, suit), suit)
    )
    return tuple(card for suit in suits for card in left if card // 8 == suit)


@lru_cache(1 << 16)
def thesis_names(dealt: Cards) -> tuple[str, ...]:
    """What the thesis' key calls each card: suits in order of their lowest card dealt, then of their names."""
    lowest = {suit: min(ranks_in(dealt, suit), default=8) for suit in range(4)}
    return _called(sorted(range(4), key=lambda suit: (lowest[suit], suit)))


@lru_cache(1 << 16)
def maximal_names(dealt: Cards, plays: Cards) -> tuple[str, ...]:
    """What the maximal key calls each card: suits in order of the ranks dealt (none last); of those with the same the
    one played first comes first. Suits that are still tied have the same signature: their order shows nowhere."""

    def place(suit: int) -> object:
        dealt_ranks, played = signature(dealt, plays, suit)
        return not dealt_ranks, dealt_ranks, tuple(-rank for rank in played), suit

    return _called(sorted(range(4), key=place))  # type: ignore[arg-type]


def _called(order: list[int]) -> tuple[str, ...]:
    """Names of all cards, if the suits in this order are called w x y z."""
    letter = {suit: CALLED[place] for place, suit in enumerate(order)}
    return tuple(RANKS[card % 8] + letter[card // 8] for card in range(len(NAMES)))


def thesis_key(state: ToepenState, seat: int) -> str:
    """What a seat knows, with suits renamed by its dealt hand alone: w is that of the lowest card dealt, x that of the
    next one, and so on; cards of one rank and suits of which it has none are in the order c d h s."""
    return renamed(state.held[seat], state.done, thesis_names(state.dealt[seat]))


def maximal_key(state: ToepenState, seat: int) -> str:
    """What a seat knows, the same for all infosets that differ by names of suits only."""
    return renamed(state.held[seat], state.done, maximal_names(state.dealt[seat], state.plays))


def renamed(cards: Cards, done: str, called: tuple[str, ...]) -> str:
    """The text of an infoset with other names of cards."""
    hand = " ".join(sorted((called[card] for card in cards), key=lambda name: (name[1], RANKS.index(name[0])))) or "-"
    words = " ".join(called[NUMBERS[word]] if word in NUMBERS else word for word in done.split())
    return f"{hand} | {words}".rstrip()


# Public histories

# Words of a public history as kernels read them: cards are their numbers.
SAID = {"check": 32, "bet": 33, "call": 34, "fold": 35}


def words_of(history: Sequence[str]) -> NDArray[np.uint64]:
    """A public history as kernels read it."""
    return np.array([SAID[word] if word in SAID else NUMBERS[word] for word in history], np.uint64)


def text_of(word: int) -> str:
    """A word of a public history, from its number."""
    return NAMES[word] if word < 32 else ("check", "bet", "call", "fold")[word - 32]


def mask_of(cards: Iterable[int]) -> int:
    """Cards as bits."""
    return sum(1 << card for card in cards)


@dataclass(frozen=True)
class Event:
    """One word of a public history."""

    seat: int
    word: str
    taken: int = -1  # the seat that took a trick with it


def events(history: Sequence[str]) -> list[Event]:
    """Who said and played what."""
    result: list[Event] = []
    turn = leader = 0
    led = -1
    for word in history:
        if word in SAID:
            result.append(Event(turn, word))
            if word != "check":
                turn = 1 - turn
            continue
        card = NUMBERS[word]
        if led < 0:
            led = card
            result.append(Event(turn, word))
            turn = 1 - turn
        else:
            leader = turn if takes(led, card) else 1 - turn
            result.append(Event(turn, word, leader))
            led, turn = -1, leader
    return result
