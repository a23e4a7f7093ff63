"""BucketLayout: the memory layout of a two-player poker game in buckets: betting tree times buckets, no cards.

The betting of a round after one way of coming to it is a *segment*; segments with the same shape of betting are the
*lanes* of a group (`kibitz.poker.exact.table`). What is known of a seat in a group is [actions, lanes, buckets].
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.exact.factored import FactoredForm
from kibitz.poker.exact.table import Groups, groups_of, nodes_of, segments_of
from kibitz.poker.rules import acpc

if TYPE_CHECKING:
    from kibitz.poker.rules.rules import Poker

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EVERY_LANE = 1 << 30


@dataclass(frozen=True)
class Node:
    """A node of a group's betting where a seat acts."""

    k: int  # its place in the group
    seat: int
    first: int  # its first action among the seat's actions of the group
    count: int
    before: int  # the seat's last action in the group, -1 if it has not acted yet
    other: int  # the same of the other seat


@dataclass(frozen=True)
class BettingEnd:
    """A way in which a group's betting ends."""

    k: int
    before: tuple[int, int]  # by seat, its last action in the group; -1 if it has not acted
    stake: NDArray[np.float64]  # [2, lanes]  chips: after a fold won or lost, at a showdown to be won


@dataclass(frozen=True)
class Link:
    """Adjacent lanes that continue as adjacent lanes in the next round."""

    before: tuple[int, int]
    lanes: slice
    group: int
    onto: slice


@dataclass(frozen=True)
class Group:
    """Segments of one shape."""

    level: int  # betting round
    table: int  # of the layout's `parents`, and of matrices of joint weights: which buckets its lanes have
    lanes: int
    width: tuple[int, int]  # actions of each seat
    nodes: tuple[Node, ...]  # in preorder
    folds: tuple[BettingEnd, ...]
    showdowns: tuple[BettingEnd, ...]
    links: tuple[Link, ...]


class BucketLayout(FactoredForm):
    """Betting tree times buckets. Sequences of seat 0 come first; each seat's empty one leads its own."""

    perfect_recall = in_buckets = True
    watched = True  # whether somebody looks at NashConv of what is solved

    def __init__(self, game: Poker, name: str, digest: str, parents: Sequence[Ints]) -> None:
        """name, digest: of the buckets; parents: by round, the bucket before each, those of a parent together."""
        if game.definition.players != 2:
            raise GameError(
                f"{game.spec or 'this game'} has {game.definition.players} players; a bucket form is for two players"
            )
        self.game, self.definition, self.spec = game, game.definition, game.spec
        self.abstraction, self.buckets_digest = name, digest
        self.parents = tuple(np.asarray(parent, np.int64) for parent in parents)
        self._check_parents()
        self.betting = game.betting
        self.segments = segments_of(self.betting, self.definition.rounds)
        self.levels = self.segments.levels
        self._lay_out(groups_of(self.betting, self.segments, EVERY_LANE), self.levels)

    def _lay_out(self, lanes_of: Groups, tables: Ints) -> None:
        """Number the sequences. tables: [segments] which of `parents` says how many buckets a segment has."""
        self.rows = np.array([len(parent) for parent in self.parents], np.int64)
        self.lanes_of = lanes_of
        nodes = nodes_of(self.betting, self.segments, lanes_of, np.ones(self.definition.rounds))
        self.groups = self._groups(nodes, tables)
        sizes = np.array(
            [[g.width[seat] * g.lanes * int(self.rows[g.table]) for g in self.groups] for seat in (0, 1)], np.int64
        )
        self.base = 1 + np.cumsum(sizes, axis=1) - sizes  # [seats, groups]  first sequence of a group
        second = 1 + int(sizes[0].sum())
        self.base[1] += second
        self.sequences = second + 1 + int(sizes[1].sum())
        self.seat_sequence = np.array([0, second, self.sequences], np.int64)
        stakes = [np.abs(end.stake).max() for g in self.groups for end in (*g.folds, *g.showdowns)]
        self.scale = float(max([1.0, *stakes]))

    def _check_parents(self) -> None:
        if len(self.parents) != self.definition.rounds:
            raise GameError(f"give buckets for each of the {self.definition.rounds} rounds")
        for level, parent in enumerate(self.parents):
            before = len(self.parents[level - 1]) if level else 1
            steps = np.diff(parent)
            if not len(parent) or parent[0] != 0 or parent[-1] != before - 1 or ((steps != 0) & (steps != 1)).any():
                raise GameError(
                    f"the buckets of round {level} do not have perfect recall: each bucket of the previous round "
                    "needs its own, consecutively numbered buckets"
                )

    @property
    def table_before(self) -> tuple[int, ...]:
        """By table: that of the round before; -1 in the first round."""
        return tuple(range(-1, len(self.parents) - 1))

    def _groups(self, table: dict[str, Any], tables: Ints) -> tuple[Group, ...]:
        from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

        groups = []
        level = np.repeat(np.arange(self.definition.rounds), np.diff(self.lanes_of.round_group))
        for g in range(len(self.lanes_of.lanes)):
            start, stop = table["group_node"][g : g + 2].tolist()
            lanes = len(self.lanes_of.lanes[g])
            turn, action = table["turn"][start:stop], table["action"][start:stop]
            slot, children = table["slot"][:, start:stop], table["children"][start:stop]

            def before(k: int, slot: Any = slot, action: Any = action) -> tuple[int, int]:
                here = [int(action[slot[seat, k]]) if slot[seat, k] else -1 for seat in (0, 1)]
                return here[0], here[1]

            def ends(kind: int, turn: Any = turn, start: int = start, lanes: int = lanes, at: Any = before) -> Any:
                places = table["node_lane"][start:]
                return tuple(
                    BettingEnd(k, at(k), table["stake"][:, places[k] : places[k] + lanes].copy())
                    for k in np.flatnonzero(turn == kind).tolist()
                )

            nodes = tuple(
                Node(
                    k,
                    int(turn[k]),
                    int(action[children[k, 0]]),
                    int(table["count"][start + k]),
                    before(k)[turn[k]],
                    before(k)[1 - turn[k]],
                )
                for k in np.flatnonzero(turn < 2).tolist()
            )
            links = tuple(
                Link(before(int(table["link_node"][i])),
                     slice(int(table["link_lane"][i]), int(table["link_lane"][i] + table["link_count"][i])),
                     int(table["link_group"][i]),
                     slice(int(table["link_first"][i]), int(table["link_first"][i] + table["link_count"][i])))
                for i in range(*table["group_link"][g : g + 2].tolist())
            )  # fmt: skip
            width = int(table["width"][0, g]), int(table["width"][1, g])
            buckets = int(tables[self.lanes_of.lanes[g][0]])
            groups.append(Group(int(level[g]), buckets, lanes, width, nodes, ends(FOLD), ends(SHOWDOWN), links))
        return tuple(groups)

    @property
    def rows_by_seat(self) -> Ints:
        """[seats, rounds]  buckets."""
        return np.stack((self.rows, self.rows))

    def view(self, array: Any, seat: int, group: int) -> Any:
        """[actions, lanes, buckets]  of what is known by sequence."""
        g = self.groups[group]
        rows, start = int(self.rows[g.table]), int(self.base[seat, group])
        return array[start : start + g.width[seat] * g.lanes * rows].reshape(g.width[seat], g.lanes, rows)

    @cached_property
    def firsts(self) -> tuple[Ints, ...]:
        """By round: [buckets of the round before + 1] the first bucket of each."""
        return tuple(np.searchsorted(of, np.arange(int(of[-1]) + 2)).astype(np.int64) for of in self.parents)

    def sequences_of(self, seat: int, segment: int) -> Ints:
        """[actions, buckets]  the sequences of a seat in a segment."""
        group, lane = int(self.lanes_of.group[segment]), int(self.lanes_of.lane[segment])
        g = self.groups[group]
        rows = int(self.rows[g.table])
        action = np.arange(g.width[seat])[:, None]
        sequences: Ints = int(self.base[seat, group]) + (action * g.lanes + lane) * rows + np.arange(rows)
        return sequences

    # Sequences and infoset columns.

    def _blocks(self) -> Any:
        """(seat, group, lane, node, first column) of all infosets, in their order."""
        at = 0
        for seat in (0, 1):
            for segment in range(len(self.segments.node)):
                g, lane = int(self.lanes_of.group[segment]), int(self.lanes_of.lane[segment])
                rows = int(self.rows[self.groups[g].table])
                for node in self.groups[g].nodes:
                    if node.seat == seat:
                        yield seat, g, lane, node, at
                        at += rows * node.count

    def to_strategy(self, probabilities: Floats) -> Floats:
        """Probabilities by infoset column -> by sequence; empty sequences get 1."""
        strategy = np.ones(self.sequences)
        for seat, g, lane, node, at in self._blocks():
            view = self.view(strategy, seat, g)
            rows = view.shape[2]
            here = probabilities[at : at + rows * node.count].reshape(rows, node.count)
            view[node.first : node.first + node.count, lane] = here.T
        return strategy

    def by_column(self, strategy: NDArray[Any]) -> Floats:
        """By sequence -> by infoset column."""
        columns = np.empty(self.columns)
        for seat, g, lane, node, at in self._blocks():
            here = self.view(strategy, seat, g)[node.first : node.first + node.count, lane]
            columns[at : at + here.size] = here.T.ravel()
        return columns

    # The payoff operator, in double precision.

    @cached_property
    def products(self) -> int:
        """Multiply-adds of one gradient."""
        return sum(int(self.rows[g.table]) ** 2 * g.lanes * (len(g.folds) + len(g.showdowns)) for g in self.groups)

    @property
    def weight_bytes(self) -> int:
        """Joint weights, in single and in double precision."""
        return 2 * (4 + 8) * int((self.rows**2).sum())

    @property
    def solve_bytes(self) -> int:
        """What CFR takes beside them: five arrays in single precision; for an evaluation of NashConv three in double
        and a seat's products; and in the end the profile."""
        columns = max(g.lanes * max(len(g.folds), len(g.showdowns)) * int(self.rows[g.table]) for g in self.groups)
        return self.sequences * (5 * 4 + 3 * 8) + 2 * 8 * columns

    @cached_property
    def tree_digest(self) -> str:
        """A fingerprint of the rules and the buckets."""
        plain = acpc.write(self.definition)
        return hashlib.sha256(f"bucket form 1\0{plain}\0{self.buckets_digest}".encode()).hexdigest()
