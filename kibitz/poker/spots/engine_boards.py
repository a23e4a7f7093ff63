"""Boards and hands of a spot, with suits merged that the board and both ranges leave alike.

A renaming of suits that keeps the board and gives both ranges back also gives back the whole game. So of the cards
that may come next, those that such renamings lead to one another are solved once: the lowest of them stands for all,
with their number as its weight, and the renamings that keep it too go on to the street below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import HANDS, hand_cards

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.uint16]
Renaming = tuple[int, ...]  # the new suit of each suit
SAME: Renaming = (0, 1, 2, 3)


class SpotBoard(NamedTuple):
    """One board that is solved."""

    cards: tuple[int, ...]
    above: int  # the board that it continues
    weight: float  # the boards that it stands for, over all that may come there
    renamings: tuple[Renaming, ...]  # those that keep it; the first changes nothing


def renamed(card: int, renaming: Renaming) -> int:
    return card // 4 * 4 + renaming[card % 4]


@lru_cache(24)
def renamed_hands(renaming: Renaming) -> Ints:
    """[1326]  the number of each hand after a renaming."""
    cards = hand_cards().astype(np.int64)
    low, high = np.sort(cards // 4 * 4 + np.array(renaming)[cards % 4], axis=1).T
    return np.asarray(high * (high - 1) // 2 + low)


def symmetries(board: Sequence[int], ranges: Floats, suits: int) -> tuple[Renaming, ...]:
    """The renamings of suits that keep the board and both ranges."""
    some = []
    for order in permutations(range(suits)):
        renaming = (*order, *range(suits, 4))
        if {renamed(card, renaming) for card in board} != {*board}:
            continue
        if renaming == SAME or np.array_equal(ranges[:, renamed_hands(renaming)], ranges):
            some.append(renaming)
    return tuple(some)


def boards_below(board: SpotBoard, number: int, deck: Sequence[int]) -> list[SpotBoard]:
    """The boards with one more card, a class of cards each."""
    left = [card for card in deck if card not in board.cards]
    below = []
    for card in left:
        images = {renamed(card, renaming) for renaming in board.renamings}
        if card == min(images):
            keep = tuple(renaming for renaming in board.renamings if renamed(card, renaming) == card)
            weight = len(images) / (len(left) - 4)
            below.append(SpotBoard((*board.cards, card), number, weight, keep))
    return below


def all_boards(
    board: Sequence[int], renamings: tuple[Renaming, ...], deck: Sequence[int]
) -> tuple[list[SpotBoard], Ints]:
    """(the boards of all streets that are left, street by street; where each street begins). renamings: those that
    change nothing of the spot, which the first board keeps."""
    boards, begins = [SpotBoard(tuple(board), -1, 1.0, renamings)], [0, 1]
    for _ in range(5 - len(board)):
        for number in range(*begins[-2:]):
            boards += boards_below(boards[number], number, deck)
        begins.append(len(boards))
    return boards, np.array(begins)


def hands_on(boards: list[SpotBoard], ranges: Floats) -> Ints:
    """[2, boards]  hands of each range that a board leaves, padded."""
    cards, counts = hand_cards(), np.zeros((2, len(boards)), np.int64)
    for seat, weights in enumerate(ranges):
        live = np.zeros((52, 52), np.int64)
        live[cards[:, 0], cards[:, 1]] = live[cards[:, 1], cards[:, 0]] = weights > 0
        for number, board in enumerate(boards):
            some = list(board.cards)
            counts[seat, number] = _padded((live.sum() - 2 * live[some].sum() + live[np.ix_(some, some)].sum()) // 2)
    return counts


@dataclass(frozen=True)
class HandLists:
    """Hands of both seats on all boards, as in `SpotTable`."""

    count: Ints
    size: Ints
    hand_first: Ints
    number: Ints  # [H]  as in kibitz.cards.ranges; -1 where a list is padded
    up: Places
    card: Places
    same: Places
    alike: Places
    merged: NDArray[np.uint8]
    tie_first: Ints
    tie_stop: Ints


LANES = 16
APART = 4 * HANDS


def hand_lists(boards: list[SpotBoard], ranges: Floats, last: int) -> HandLists:
    """The lists of all boards; last: cards of a board of the last level."""
    writer = _ListWriter(boards, ranges, last)
    for number in range(len(boards)):
        writer.add(number)
    return writer.lists()


class _ListWriter:
    def __init__(self, boards: list[SpotBoard], ranges: Floats, last: int) -> None:
        self.boards, self.last = boards, last
        self.cards = hand_cards().astype(np.int64)
        self.live = [np.flatnonzero(weights) for weights in ranges]
        self.equal = np.array_equal(self.live[0], self.live[1])  # both seats have the same lists
        self.either = np.flatnonzero(ranges.any(axis=0))
        low, high = self.cards.T
        # Of hands that tie, neighbours share no card if that can be: sums by card then wait less for each other.
        self.apart = (high - low) % 4 * HANDS + np.arange(HANDS)  # below APART
        self.numbers: list[tuple[Ints, Ints]] = []
        self.parts: dict[str, list[Ints]] = {name: [] for name in ("number", "up", "same", "alike", "stop")}
        self.count, self.size, self.first = (np.zeros((2, len(boards)), np.int64) for _ in range(3))
        self.merged = np.zeros(len(boards), np.uint8)
        self.tie_first = np.zeros(len(boards) + 1, np.int64)
        self.at = 0

    def add(self, number: int) -> None:
        board = self.boards[number]
        dead = np.zeros(52, np.bool_)
        dead[list(board.cards)] = True
        clash: NDArray[np.bool_] = np.asarray(dead[self.cards].any(axis=1))
        strength = np.zeros(0, np.int64)
        if len(board.cards) == self.last:
            strength = self.strengths(board.cards, self.either[~clash[self.either]])
        first = self.sorted(self.live[0][~clash[self.live[0]]], strength)
        hands = first, first if self.equal else self.sorted(self.live[1][~clash[self.live[1]]], strength)
        self.numbers.append(hands)
        for seat in (0, 1):
            self.write(number, seat, hands[seat], hands[1 - seat])
        self.merged[number] = len(board.renamings) > 1
        if len(strength):
            stops = self.stops([strength[some] for some in hands])
            self.parts["stop"].append(stops)
            self.tie_first[number + 1] = self.tie_first[number] + stops.shape[1]
        else:
            self.tie_first[number + 1] = self.tie_first[number]

    def sorted(self, hands: Ints, strength: Ints) -> Ints:
        """Hands in order of strength; as they are on boards before the last."""
        return hands[np.argsort(strength[hands] * APART + self.apart[hands])] if len(strength) else hands

    def stops(self, strengths: list[Ints]) -> Ints:
        """[2, groups]  where each group of hands of one strength ends in both lists."""
        if self.equal:
            ends = 1 + np.flatnonzero(np.append(np.diff(strengths[0]) > 0, True))
            return np.stack([ends, ends])
        levels = np.unique(np.concatenate(strengths))
        return np.stack([np.searchsorted(some, levels, side="right") for some in strengths])

    def strengths(self, board: tuple[int, ...], hands: Ints) -> Ints:
        """[1326]  values of hands; 0 for others."""
        from kibitz.cards.kernels.ranking import values

        cards = np.empty((len(hands), len(board) + 2), np.uint8)
        cards[:, :2], cards[:, 2:] = self.cards[hands], board
        out = np.zeros(len(hands), np.uint32)
        values(cards, out)
        strength = np.zeros(HANDS, np.int64)
        strength[hands] = out
        return strength

    def write(self, number: int, seat: int, hands: Ints, others: Ints) -> None:
        board = self.boards[number]
        n, size, others_size = len(hands), _padded(len(hands)), _padded(len(others))
        self.count[seat, number], self.size[seat, number], self.first[seat, number] = n, size, self.at
        self.at += size
        place = np.full(HANDS, others_size)
        place[others] = np.arange(len(others))
        up = np.zeros(n, np.int64)
        if board.above >= 0:
            above = self.numbers[board.above][seat]
            at = np.zeros(HANDS, np.int64)
            at[above] = np.arange(len(above))
            up = at[hands]
        own = np.zeros(HANDS, np.int64)
        own[hands] = np.arange(n)
        alike = np.arange(n)
        for renaming in board.renamings[1:]:
            alike = np.minimum(alike, own[renamed_hands(renaming)[hands]])
        for name, part in (("number", hands), ("up", up), ("same", place[hands]), ("alike", alike)):
            self.parts[name].append(np.concatenate([part, np.full(size - n, -1 if name == "number" else 0)]))

    def lists(self) -> HandLists:
        number, up, same, alike = (np.concatenate(self.parts[name]) for name in ("number", "up", "same", "alike"))
        places = [part.astype(np.uint16) for part in (up, same, alike)]
        card = np.ascontiguousarray(self.cards[number].T * LANES).astype(np.uint16)
        stop = np.concatenate([np.zeros((2, 0), np.int64), *self.parts["stop"]], axis=1)
        return HandLists(
            self.count, self.size, self.first, number, places[0], card, places[1], places[2], self.merged,
            self.tie_first, np.ascontiguousarray(stop),
        )  # fmt: skip


def _padded(count: int) -> int:
    """Hands with padding: whole vectors."""
    return -(-max(count, 1) // LANES) * LANES
