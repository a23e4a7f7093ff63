"""All boards of a game up to suit isomorphism, round by round, and the hands on each.

    from kibitz.cards.boards import boards_of
    boards = boards_of(13, 4, (0, 3, 1, 1))       # Texas hold'em
    [len(r.cards) for r in boards.rounds]         # [1, 1755, 63193, 2554656]

A board of a round continues a board of the round before, card for card, so what is known of hands there is found
again: hands are numbered by their cards among those that are not on the board, i < j, in order (`hands`). A kind of
board stands for all that a renaming of suits makes of it; hands that a renaming which leaves the board alone turns into
one another are told apart here, and whoever keeps something of each must keep the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

MOST_BOARDS = 20_000_000  # of a round, up to suit isomorphism
SUITS = 4  # numbers of cards are rank * 4 + suit, whatever the deck


def deck_of(ranks: int, suits: int) -> Bytes:
    """The cards of a deck: the top ranks, the first suits."""
    return (SUITS * np.arange(13 - ranks, 13)[:, None] + np.arange(suits)).ravel().astype(np.uint8)


def renamings(suits: int) -> Bytes:
    """[renamings, 52]  what each renaming of the suits makes of a card."""
    names = np.array(list(permutations(range(suits))), np.uint8)
    rename = np.repeat(np.arange(52, dtype=np.uint8)[None], len(names), axis=0)
    suit = np.arange(52) % SUITS
    inside = suit < suits
    rename[:, inside] = (np.arange(52, dtype=np.uint8) & 0xFC)[inside] + names[:, suit[inside]]
    return rename


@dataclass(frozen=True, eq=False)
class BoardRound:
    """The boards of one round. B boards of k cards."""

    cards: Bytes  # [B, k]  those of a round in order
    above: Ints  # [B]  the board of the round before that it continues; in order
    total: Ints  # [B]  how many boards it stands for, over all rounds so far
    group: Ints  # [B]  bits of the renamings that leave it alone

    @cached_property
    def below(self) -> Ints:
        """[boards of the round before + 1]  the first board that continues each."""
        return np.searchsorted(self.above, np.arange(int(self.above[-1]) + 2)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Boards:
    """All rounds of a game's boards."""

    ranks: int
    suits: int
    board: tuple[int, ...]  # cards that come before each round
    rounds: tuple[BoardRound, ...]

    @cached_property
    def deck(self) -> Bytes:
        return deck_of(self.ranks, self.suits)

    @cached_property
    def place(self) -> NDArray[np.int8]:
        """[52]  where a card stands in the deck; -1 if it does not."""
        place = np.full(52, -1, np.int8)
        place[self.deck] = np.arange(len(self.deck))
        return place

    def live(self, level: int) -> int:
        """Cards that are not on a board of a round."""
        return len(self.deck) - sum(self.board[: level + 1])

    def hands(self, level: int, hole: int) -> int:
        """How many hands there are on a board of a round."""
        return math.comb(self.live(level), hole)

    def hands_on(self, level: int, board: int, hole: int) -> Bytes:
        """[hands, hole]  the hands on a board, in order."""
        left = np.setdiff1d(self.deck, self.rounds[level].cards[board])
        return left[pairs(len(left), hole)]

    def tables(self, hole: int) -> Any:
        """The cards and the renamings for kernels, with a workspace of one thread."""
        from kibitz.cards.kernels.hands import DeckTables

        return DeckTables(*self._cards, hole, np.zeros((5, 64), np.int64), np.zeros(1326, np.int64))

    @cached_property
    def _cards(self) -> tuple[Ints, Ints, Ints]:
        rename = renamings(self.suits).astype(np.int64)
        return self.deck.astype(np.int64), self.place.astype(np.int64), rename

    def find(self, level: int, cards: NDArray[np.integer], hole: int) -> tuple[Ints, Ints]:
        """(board, hand on it) of hands on boards by whatever names of suits: cards [n, hole + board so far]."""
        from kibitz.cards.kernels.boards import BoardKeys, find

        hands = np.ascontiguousarray(cards, np.uint8)
        place = np.empty((2, len(hands)), np.int64)
        starts = [0, *np.cumsum(self.board[: level + 1]).tolist()]
        upper = [round_.cards for round_ in self.rounds[: level + 1]]
        below = [round_.below for round_ in self.rounds[: level + 1]]
        keys = tuple(_keys(cards[:, start:]) for start, cards in zip(starts, upper, strict=False))
        rounds = BoardKeys(np.array(starts, np.int64), keys, tuple(below))
        find(hands, rounds, self.tables(hole), place[0], place[1])
        return place[0], place[1]


@lru_cache(8)
def pairs(cards: int, hole: int) -> Ints:
    """[hands, hole]  places of the cards of each hand, in the order of hands."""
    return np.array(list(combinations(range(cards), hole)), np.int64)


def _keys(cards: Bytes) -> Ints:
    """The cards of a round as one number that compares as they do."""
    key = np.zeros(len(cards), np.int64)
    for column in cards.T:
        key = key * 64 + column
    return key


def _check_number(number: int, ways: int, names: int) -> None:
    """Refuse too many boards. ways: boards of a round, of which as many as there are names of suits may be one."""
    if ways // names > MOST_BOARDS:
        raise GameError(
            f"before round {number} {ways:,} boards would have to be gone through; {MOST_BOARDS:,} up to names of "
            "suits are the most: take fewer board cards or a smaller deck"
        )


@lru_cache(8)
def boards_of(ranks: int, suits: int, board: tuple[int, ...]) -> Boards:
    """Enumerate the boards of a game up to suit isomorphism; two seconds for Texas hold'em."""
    from kibitz.cards.kernels.boards import MOST_NEW, NewBoards, continue_boards

    if max(board) > MOST_NEW or sum(board) >= ranks * suits:
        raise GameError(
            f"boards of {board} cards by round: a deck of {ranks * suits} is too small, or over {MOST_NEW} come at once"
        )
    deck, rename = deck_of(ranks, suits).astype(np.int64), renamings(suits).astype(np.int64)
    last = BoardRound(np.zeros((1, 0), np.uint8), np.zeros(1, np.int64), np.ones(1, np.int64),
                      np.array([(1 << len(rename)) - 1], np.int64))  # fmt: skip
    rounds: list[BoardRound] = []
    least = 1  # a lower bound on the boards: too many are refused before any is listed
    for number, new in enumerate(board):
        least *= math.comb(len(deck) - sum(board[:number]), new)
        _check_number(number, least // len(rename), len(rename))
    for number, new in enumerate(board):
        ways = len(last.cards) * math.comb(len(deck) - last.cards.shape[1], new)
        _check_number(number, ways, len(rename))
        if new:
            size = 0
            for fits in (False, True):  # first how many there are
                after = NewBoards(np.zeros((size, last.cards.shape[1] + new), np.uint8), *np.zeros((3, size), np.int64))
                size = int(continue_boards(last.cards, last.group, rename, deck, np.zeros((4, 64), np.int64), after))
                if fits:
                    last = BoardRound(after.cards, after.above, last.total[after.above] * after.copies, after.group)
        elif number:
            last = BoardRound(last.cards, np.arange(len(last.cards)), last.total, last.group)
        rounds.append(last)
    return Boards(ranks, suits, board, tuple(rounds))
