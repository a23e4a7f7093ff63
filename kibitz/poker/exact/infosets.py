"""Infosets of a poker form, whose labels are written when they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.protocol import ProfileInfosets
from kibitz.games import Game
from kibitz.games.tree import Infosets
from kibitz.poker.exact.layout import PokerLayout
from kibitz.poker.rules import acpc

Ints = NDArray[np.int64]


class PokerInfosets(Infosets):
    """Infosets of a seat in the order of the form: by segment, board (without buckets), node and class of hands."""

    _form: PokerLayout
    _nodes: list[list[list[int]]]  # seat, segment -> the seat's nodes of the betting tree
    _start: Ints  # [2 * segments + 1]  first infoset of a seat's segment

    def __init__(self, form: PokerLayout) -> None:
        nodes = [[_deciding(form, segment, seat) for segment in range(len(form.segments.node))] for seat in (0, 1)]
        counts = np.array([[len(deciding) for deciding in of_seat] for of_seat in nodes], np.int64)
        sizes = (counts * form.rows_by_seat[:, form.levels]).ravel()
        start = np.concatenate(([0], np.cumsum(sizes)))
        # Written past the frozen class; `first` and `actions_of` are large and made only if they are asked for.
        self.__dict__.update(
            _form=form, _nodes=nodes, _start=start, labels=_Labels(self), actions=list(form.betting.actions),
            seat_start=start[[0, counts.shape[1], -1]].astype(np.int32),
        )  # fmt: skip

    @property
    def plain(self) -> bool:
        """Whether the definition says all: without buckets."""
        return not self._form.in_buckets

    @property
    def definition(self) -> str:
        """The .game file of the game: with it an artefact can make these infosets again."""
        return acpc.write(self._form.definition)

    @property
    def compact(self) -> PokerInfosets:
        return self

    @property
    def form(self) -> Any:
        """The form that they are infosets of."""
        return self._form

    def as_table(
        self, machine: Any, probabilities: NDArray[np.float64]
    ) -> tuple[str, NDArray[np.uint64], NDArray[np.float32]]:
        """A profile as a table: (the abstraction that its rows are of, keys, values)."""
        from kibitz.poker.exact.as_table import VIEW, hand_rows

        return VIEW, *hand_rows(machine, self, probabilities)

    def same(self, other: ProfileInfosets) -> bool:
        """Are these the infosets of one game, in one form?"""
        if not isinstance(other, PokerInfosets):
            return False
        return self is other or self._form.tree_digest == other._form.tree_digest

    def same_shape(self, other: ProfileInfosets) -> bool:
        """Do probabilities of the one fit the other? The digest says all of a shape but how many there are."""
        return self.columns == other.columns

    def of_game(self, game: Game | None) -> bool:
        """Are these the infosets of a game, with nothing merged that the game tells apart?"""
        definition = getattr(game, "definition", None)
        return self.plain and isinstance(definition, acpc.Definition) and acpc.write(definition) == self.definition

    def stored_arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def stored_meta(self) -> dict[str, Any]:
        """The definition says all."""
        return {"poker": self.definition, "actions": []}

    @property
    def columns(self) -> int:
        return self._form.columns

    def _spread(self, of_node: Any) -> Ints:
        """of_node(betting node), for every infoset in order."""
        form, parts = self._form, []
        orders: dict[tuple[int, int, int], Ints] = {}
        for seat in (0, 1):
            for segment, nodes in enumerate(self._nodes[seat]):
                level = int(form.levels[segment])
                key = (seat, level, len(nodes))
                if key not in orders:
                    blocks = [np.repeat(np.arange(len(nodes)), n) for n in self._block_rows(seat, level)]
                    orders[key] = np.concatenate([np.zeros(0, np.int64), *blocks])
                parts.append(np.array([of_node(node) for node in nodes], np.int64)[orders[key]])
        return np.concatenate(parts)

    def _block_rows(self, seat: int, level: int) -> list[int]:
        """Rows of each block of a segment."""
        if self._form.in_buckets:
            return [int(self._form.rows_by_seat[seat, level])]
        sizes: list[int] = np.diff(self._form.cards.rounds[level].board_class).tolist()
        return sizes

    def order(self) -> tuple[Ints, Ints]:
        """(betting node, class of hands) of every infoset in order; without buckets."""
        form, classes = self._form, []
        for of_seat in self._nodes:
            for segment, nodes in enumerate(of_seat):
                starts = form.cards.rounds[int(form.levels[segment])].board_class
                blocks = [np.tile(np.arange(a, b), len(nodes)) for a, b in pairwise(starts.tolist())]
                classes.append(np.concatenate([np.zeros(0, np.int64), *blocks]))
        return self._spread(lambda node: node), np.concatenate(classes)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        widths = self._spread(lambda node: len(self.actions[self.actions_list[node]]))
        return np.concatenate(([0], np.cumsum(widths)))

    @cached_property
    def actions_of(self) -> NDArray[np.int32]:
        return self._spread(lambda node: self.actions_list[node]).astype(np.int32)

    @cached_property
    def actions_list(self) -> list[int]:
        listed: list[int] = self._form.betting.actions_of.tolist()
        return listed

    @cached_property
    def number(self) -> list[dict[str, int]]:
        raise GameError("infosets of a poker form are found by find(seat, label)")

    def label(self, infoset: int) -> str:
        """What the seat knows: its hand and the board (one of those that differ by names of suits), and the betting."""
        form = self._form
        at = int(np.searchsorted(self._start, infoset, side="right")) - 1
        seat, segment = divmod(at, len(form.segments.node))
        level, nodes, offset = int(form.levels[segment]), self._nodes[seat][segment], infoset - int(self._start[at])
        if form.in_buckets:
            node, row = divmod(offset, int(form.rows_by_seat[seat, level]))
            return f"bucket {row}:{form.betting.text[nodes[node]]}"
        cards = form.cards.rounds[level]
        board = int(np.searchsorted(cards.board_class * len(nodes), offset, side="right")) - 1
        size = int(cards.board_class[board + 1] - cards.board_class[board])
        node, row = divmod(offset - int(cards.board_class[board]) * len(nodes), size)
        hand = cards.hand[int(cards.board_class[board]) + row]
        return f"{form.cards.text(level, board, hand)}:{form.betting.text[nodes[node]]}"

    def number_of(self, seat: int, label: str) -> int | None:
        try:
            return self.find(seat, label)
        except GameError:
            return None

    def find(self, seat: int, label: str) -> int:
        """The infoset of a seat with a label, by whatever names of suits."""
        form = self._form
        if not 0 <= seat < 2:
            raise GameError(f"there is no seat {seat}: seats are 0 and 1")
        cards, _, betting = label.partition(":")
        node = self._by_text.get(betting.strip(), -1)
        segment = next((k for k, nodes in enumerate(self._nodes[seat]) if node in nodes), -1)
        if segment < 0:
            raise GameError(
                f"seat {seat} has no infoset {label!r}: it is not its turn after {betting!r}; a label reads "
                f"{self.labels[int(self.seat_start[seat])]!r}"
            )
        level, nodes = int(form.levels[segment]), self._nodes[seat][segment]
        start = int(self._start[seat * len(form.segments.node) + segment])
        place = nodes.index(node)
        if form.in_buckets:
            rows = int(form.rows_by_seat[seat, level])
            number = re.fullmatch(r"bucket (\d{1,9})", cards)
            if number is None or int(number[1]) >= rows:
                raise GameError(f"{cards!r} is not a bucket of this round: they are 'bucket 0' to 'bucket {rows - 1}'")
            return start + place * rows + int(number[1])
        return self._of_class(seat, segment, place, form.cards.find(level, cards))

    def _of_class(self, seat: int, segment: int, place: int, number: int) -> int:
        """The infoset of a class of hands at a seat's node of a segment; without buckets."""
        cards, nodes = self._form.cards.rounds[int(self._form.levels[segment])], self._nodes[seat][segment]
        board = int(np.searchsorted(cards.board_class, number, side="right")) - 1
        before, behind = (int(each) for each in cards.board_class[board : board + 2])
        start = int(self._start[seat * len(self._form.segments.node) + segment])
        return start + before * len(nodes) + place * (behind - before) + number - before

    def places(self, of_tree: Infosets) -> tuple[Ints, Ints, Ints]:
        """(infoset here, betting node, class of hands) of each infoset of the same game's tree.

        Infosets that differ by the names of suits, or by hands that are alike in the last round, are one here.
        """
        form = self._form
        if form.in_buckets:
            raise GameError("infosets of buckets are not those of the game's tree: lift the profile first")
        at: dict[tuple[int, str], tuple[int, int, int]] = {}  # (seat, betting) -> node, segment, place among its nodes
        for seat in (0, 1):
            for segment, nodes in enumerate(self._nodes[seat]):
                for place, node in enumerate(nodes):
                    at[seat, form.betting.text[node]] = node, segment, place
        classes: dict[tuple[int, str], int] = {}
        place_of = np.empty((3, len(of_tree.labels)), np.int64)
        for seat in range(of_tree.seats):
            for i in range(int(of_tree.seat_start[seat]), int(of_tree.seat_start[seat + 1])):
                cards, _, betting = of_tree.labels[i].partition(":")
                if (seat, betting) not in at:
                    raise GameError(f"the poker form of the game has no infoset {of_tree.labels[i]!r} of seat {seat}")
                node, segment, place = at[seat, betting]
                level = int(form.levels[segment])
                if (level, cards) not in classes:
                    classes[level, cards] = form.cards.find(level, cards)
                number = classes[level, cards]
                place_of[:, i] = self._of_class(seat, segment, place, number), node, number
        return place_of[0], place_of[1], place_of[2]

    @cached_property
    def _by_text(self) -> dict[str, int]:
        deciding = np.flatnonzero(self._form.betting.turn >= 0)
        return {self._form.betting.text[node]: int(node) for node in deciding}


def _deciding(form: PokerLayout, segment: int, seat: int) -> list[int]:
    return [int(node) for node in form.segments.node[segment] if form.betting.turn[node] == seat]


class _Labels(Sequence[str]):
    """Labels of all infosets, one at a time."""

    def __init__(self, infosets: PokerInfosets) -> None:
        self._infosets = infosets

    def __len__(self) -> int:
        return int(self._infosets.seat_start[-1])

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self._infosets.label(i) for i in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self._infosets.label(int(at) % len(self))
