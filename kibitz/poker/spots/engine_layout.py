"""A spot laid out for kernels: where the rows of each board lie, and those that are known before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import deck_of
from kibitz.core.errors import GameError
from kibitz.poker.exact.operator import aligned
from kibitz.poker.spots.engine_boards import (
    SAME,
    HandLists,
    Renaming,
    all_boards,
    hand_lists,
    renamed,
    renamed_hands,
)
from kibitz.poker.spots.engine_rows import RowSource, kept_symmetries, nodes_of
from kibitz.poker.spots.engine_streets import Streets, streets_of
from kibitz.poker.spots.spot import Spot, SpotTree, live, meeting, met

Ints = NDArray[np.int64]


class SpotLayout:
    """A spot laid out for kernels."""

    def __init__(self, spot: Spot, tree: SpotTree, renamings: tuple[Renaming, ...] | None = None) -> None:
        """renamings: of suits, that change nothing; all that keep the board and both ranges if not said."""
        self.spot, self.tree = spot, tree
        self.levels = 3 - spot.street
        ranges = live(spot)
        self.ranges = ranges / ranges.max(axis=1, keepdims=True)
        deck = [int(card) for card in deck_of(*spot.deck)]
        self.renamings = kept_symmetries(spot, ()) if renamings is None else renamings
        self.boards, begins = all_boards(spot.board, self.renamings, deck)
        self.level_board = begins.tolist()
        above = np.array([board.above for board in self.boards])
        # Boards follow those above them in order, so the first below a board is where its number is first named.
        self.board_child = np.searchsorted(above, np.arange(len(self.boards) + 1)).tolist()
        self.lists: HandLists = hand_lists(self.boards, self.ranges, 5)
        # The most that an end pays is 1: whatever the chips are, numbers are in the range of codes.
        self.chips = float(np.abs(tree.pays).max())
        last = self.stride(self.levels - 1)
        self.streets: Streets = streets_of(tree.betting, tree.pays / self.chips, self.levels, last)
        self.level = np.repeat(np.arange(self.levels), np.diff(self.level_board))
        self.rows = self.streets.actions[:, self.level] * self.lists.size  # [2, B]  numbers of a seat on a board
        self.state_base = self._bases()

    @property
    def mark(self) -> NDArray[np.uint16]:
        """A fingerprint of where rows lie: files that have another one are refused."""
        content = hashlib.sha256(np.ascontiguousarray(self.state_base, np.int64).tobytes())
        content.update(np.array([board.cards for board in self.boards if len(board.cards) == 5], np.int64).tobytes())
        content.update(np.ascontiguousarray(self.lists.number, np.int64).tobytes())
        content.update(np.ascontiguousarray(self.streets.node, np.int64).tobytes())
        return np.frombuffer(content.digest(), np.uint16)

    def stride(self, level: int) -> int:
        """Numbers of a vector over hands, on any board of a level."""
        return int(self.lists.size[:, self.level_board[level] : self.level_board[level + 1]].max())

    @property
    def sequences(self) -> int:
        """Regrets, and as many averages."""
        return int(self.rows.sum())

    def _bases(self) -> Ints:
        """Where the rows of a board begin: boards in the order in which a pass comes to them."""
        base, at, stack = np.zeros_like(self.rows), 0, [0]
        while stack:
            board = stack.pop()
            for seat in (0, 1):
                base[seat, board] = at
                at += int(self.rows[seat, board])
            stack.extend(reversed(range(self.board_child[board], self.board_child[board + 1])))
        return base

    @cached_property
    def table(self) -> Any:
        from kibitz.poker.spots.kernels.table import SpotTable

        lists = self.lists
        return SpotTable(
            **self.streets.arrays, level_board=np.array(self.level_board), board_child=np.array(self.board_child),
            weight=np.array([board.weight for board in self.boards]), count=lists.count, size=lists.size,
            state_base=self.state_base, hand_first=lists.hand_first, up=lists.up, card=lists.card, same=lists.same,
            alike=lists.alike, merged=lists.merged, tie_first=lists.tie_first, tie_stop=lists.tie_stop,
        )  # fmt: skip

    def hands(self, seat: int, board: int) -> Ints:
        """The list of a seat on a board, as numbers of hands."""
        first = self.lists.hand_first[seat, board]
        return self.lists.number[first : first + self.lists.count[seat, board]]

    def find(self, cards: Sequence[int]) -> tuple[int, Ints]:
        """(the board that stands for one, the number there of each of the 1,326 hands). Cards after those of the spot
        are in the order in which they came."""
        number = 0
        change: Renaming = SAME
        if {*cards[: len(self.spot.board)]} != {*self.spot.board} or len(cards) > 5:
            raise GameError("the board does not continue the board of the spot")
        for card in cards[len(self.spot.board) :]:
            here = renamed(int(card), change)
            options = [(renamed(here, more), more) for more in self.boards[number].renamings]
            lowest, more = min(options)
            change = tuple(more[suit] for suit in change)
            below = range(self.board_child[number], self.board_child[number + 1])
            number = next((k for k in below if self.boards[k].cards[-1] == lowest), -1)
            if number < 0:
                raise GameError("the board does not continue the board of the spot")
        return number, renamed_hands(change)


def row_view(layout: SpotLayout, numbers: NDArray[Any], node: int, board: int) -> NDArray[Any]:
    """[actions, hands with padding]  regrets or averages of a node of the tree on a board that is solved."""
    arrays, here = layout.streets.arrays, int(layout.streets.number[node])
    seat, width = int(arrays["turn"][here]), int(arrays["width"][here])
    size = int(layout.lists.size[seat, board])
    at = int(layout.state_base[seat, board]) + int(arrays["place"][here]) * size
    return numbers[at : at + width * size].reshape(width, size)


class KnownRows:
    """Where the rows of some nodes lie."""

    def __init__(self, layout: SpotLayout, sources: Sequence[RowSource], work: type[Any]) -> None:
        self.layout, self.sources, arrays = layout, sources, layout.streets.arrays
        turn, width = np.asarray(arrays["turn"]), np.asarray(arrays["width"])
        self.place = np.full(len(turn), -1, np.int64)
        counts = np.zeros((2, layout.levels), np.int64)
        self.nodes = nodes_of(layout.tree, sources).tolist()
        for node in self.nodes:
            number, level = int(layout.streets.number[node]), int(layout.tree.betting.round[node])
            seat = int(turn[number])
            self.place[number] = counts[seat, level]
            counts[seat, level] += width[number] + 1
        sizes = counts[:, layout.level] * layout.lists.size
        self.base = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
        self.rows, self.apart = aligned(int(sizes.sum()), work), np.zeros(len(layout.boards))
        for node in self.nodes:
            self._write(node)

    @property
    def arrays(self) -> Any:
        from kibitz.poker.spots.kernels.table import SpotRows

        return SpotRows(self.place, self.base, self.rows, self.apart)

    def on(self, node: int, board: int) -> NDArray[Any]:
        """[actions + 1, hands with padding]  the rows of a node of the tree on a board that is solved: a view."""
        number = int(self.layout.streets.number[node])
        seat = int(self.layout.tree.betting.turn[node])
        size, width = int(self.layout.lists.size[seat, board]), len(self.layout.tree.actions(node))
        at = int(self.base[seat, board] + self.place[number] * size)
        return self.rows[at : at + (width + 1) * size].reshape(width + 1, size)

    def boards(self, node: int) -> range:
        """The boards that a node is met on."""
        level = int(self.layout.tree.betting.round[node])
        return range(self.layout.level_board[level], self.layout.level_board[level + 1])

    def _write(self, node: int) -> None:
        layout, seat = self.layout, int(self.layout.tree.betting.turn[node])
        for board in self.boards(node):
            hands, target = layout.hands(seat, board), self.on(node, board)
            covered = np.zeros(len(hands), np.bool_)
            for source in self.sources:
                rows = source.rows_on(node, layout.boards[board].cards, len(layout.spot.board))
                if rows is None or node not in source.nodes(layout.tree):
                    continue
                some = np.flatnonzero(rows[1][hands])
                target[:-1, some] = rows[0][:, hands[some]]
                covered[some] = True
            target[-1, : len(hands)] = self._last(node, board, covered)

    def _last(self, node: int, board: int, covered: NDArray[np.bool_]) -> NDArray[Any]:
        """[hands]  the last row: of locks, whether a hand is free."""
        return ~covered


class TargetRows(KnownRows):
    """Rows to stay near. A distance counts as often as the hand and the board come, were all actions of the player
    taken for sure, and those of the other as likely as one another."""

    def _last(self, node: int, board: int, covered: NDArray[np.bool_]) -> NDArray[Any]:
        seat = int(self.layout.tree.betting.turn[node])
        return np.asarray(covered * self._meets(seat, board) * self._ways[node])

    def _meets(self, seat: int, board: int) -> NDArray[Any]:
        """[hands]  the weight of the other's range that a hand meets on a board."""
        if (seat, board) not in self._met:
            ranges = np.where(met(self.layout.boards[board].cards), 0.0, self.layout.ranges[1 - seat])
            self._met[seat, board] = meeting(ranges)[self.layout.hands(seat, board)]
        return self._met[seat, board]

    @cached_property
    def _met(self) -> dict[tuple[int, int], NDArray[Any]]:
        return {}

    @cached_property
    def _ways(self) -> NDArray[Any]:
        """[betting nodes]  how likely the other's actions lead to a decision if it takes each alike."""
        tree, betting = self.layout.tree, self.layout.tree.betting
        ways = np.ones((2, len(tree)))
        for node in range(1, len(tree)):  # parents come first
            above = int(betting.parent[node])
            ways[:, node] = ways[:, above]
            if betting.turn[above] >= 0:
                ways[1 - int(betting.turn[above]), node] /= len(tree.actions(above))
        return np.asarray(np.where(betting.turn == 1, ways[1], ways[0]))
