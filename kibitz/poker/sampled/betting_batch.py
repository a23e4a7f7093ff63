"""The betting of a game as kernels that go board by board read it: groups of LANES lanes, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.exact.table import Groups, groups_of, nodes_of, segments_of
from kibitz.poker.rules.betting import BettingTree

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BettingBatch:
    """A betting tree cut into groups of lanes. Adjacent nodes have the same view, and are all trained or all frozen."""

    betting: BettingTree
    view: NDArray[Any] | None = None  # [betting nodes]  None: one for all
    wanted: NDArray[np.bool_] | None = None  # [segments]  the others are left out; None: all are wanted
    moves: NDArray[np.bool_] | None = None  # [betting nodes]  where something is learnt; None: all are alike

    @cached_property
    def segments(self) -> Any:
        return segments_of(self.betting, self.betting.definition.rounds)

    @cached_property
    def groups(self) -> Groups:
        from kibitz.core.vectors import LANES

        kind = np.zeros(len(self.betting), np.int64) if self.view is None else 2 * np.asarray(self.view, np.int64)
        if self.moves is not None:
            kind += self.moves
        return groups_of(self.betting, self.segments, int(LANES), kind, self.wanted)

    @cached_property
    def nodes(self) -> dict[str, Any]:
        """As of `kibitz.poker.exact.table`."""
        return nodes_of(self.betting, self.segments, self.groups, np.ones(self.betting.definition.rounds))

    @property
    def width(self) -> Ints:
        """[2, groups]  actions of a seat."""
        width: Ints = self.nodes["width"]
        return width

    def of_round(self, level: int) -> range:
        """The groups of a round."""
        return range(*self.groups.round_group[level : level + 2].tolist())

    def deciding(self, seat: int, group: int) -> list[tuple[int, int, int]]:
        """(node of the group, first action, actions) of all nodes of a group where a seat decides."""
        first, last = self.nodes["group_node"][group : group + 2].tolist()
        deciding = []
        for node in range(first, last):
            if self.nodes["turn"][node] == seat:
                child = first + int(self.nodes["children"][node, 0])
                deciding.append((node - first, int(self.nodes["action"][child]), int(self.nodes["count"][node])))
        return deciding

    def places(self, seat: int, rows: NDArray[Any]) -> tuple[list[Ints], list[Ints], int]:
        """Where the rows of a seat's actions lie: (by group, for each action where they begin; and the view that
        numbers them; how many there are). rows: [betting nodes]."""
        begins, views, at = [], [], 0
        for group, lanes in enumerate(self.groups.lanes):
            nodes = self.segments.node[lanes[0]]
            here, seen = (np.zeros(int(self.width[seat, group]), np.int64) for _ in range(2))
            for k, first, count in self.deciding(seat, group):
                size = int(rows[nodes[k]])
                here[first : first + count] = at + size * np.arange(count)
                seen[first : first + count] = 0 if self.view is None else self.view[nodes[k]]
                at += size * count
            begins.append(here)
            views.append(seen)
        return begins, views, at

    def tables(self, sequence: list[list[Ints]], source: list[list[Ints]], dtype: Any) -> list[Any]:
        """By round what kernels read. sequence, source: by seat and group, for each action of the seat there, where its
        rows begin in the seat's strategy (in LANES) and which row numbers they have."""
        from kibitz.core.vectors import LANES
        from kibitz.poker.whole.kernels.boards import Betting

        nodes, tables = self.nodes, []
        depth, acted, first_child, last_child = self.ways
        for level in range(self.betting.definition.rounds):
            mine = self.of_round(level)
            low, high = (int(nodes["group_node"][g]) for g in (mine.start, mine.stop))
            stake = np.zeros((2, high - low, int(LANES)), dtype)
            begins, by = np.zeros((2, high - low), np.int64), np.zeros((2, high - low), np.int32)
            for g in mine:
                first, last = nodes["group_node"][g : g + 2].tolist()
                lanes = len(self.groups.lanes[g])
                for node in range(first, last):
                    at = int(nodes["node_lane"][node])
                    stake[:, node - low, :lanes] = nodes["stake"][:, at : at + lanes]
                    for seat in (0, 1):
                        if node > first and nodes["slot"][seat, node] == node - first:
                            action = int(nodes["action"][node])
                            begins[seat, node - low] = sequence[seat][g][action]
                            by[seat, node - low] = source[seat][g][action]
            links = slice(*(int(nodes["group_link"][g]) for g in (mine.start, mine.stop)))
            tables.append(Betting(
                nodes["group_node"][mine.start : mine.stop + 1] - low, nodes["turn"][low:high],
                nodes["parent"][low:high], depth[low:high], first_child[low:high], last_child[low:high],
                np.ascontiguousarray(acted[:, low:high]), np.ascontiguousarray(nodes["slot"][:, low:high]), begins, by,
                stake,
                nodes["group_link"][mine.start : mine.stop + 1] - links.start, nodes["link_node"][links],
                nodes["link_lane"][links], nodes["link_count"][links],
                nodes["link_group"][links] - np.int32(mine.stop), nodes["link_first"][links],
            ))  # fmt: skip
        return tables

    @cached_property
    def ways(self) -> tuple[NDArray[Any], ...]:
        """By node, within its group: (nodes above, [2] actions of each seat on the way, whether it is its parent's
        first child, and whether the last)."""
        turn, parent = self.nodes["turn"], self.nodes["parent"]
        depth, acted = np.zeros(len(turn), np.int32), np.zeros((2, len(turn)), np.int32)
        first, last = np.zeros(len(turn), np.bool_), np.zeros(len(turn), np.bool_)
        begins = self.nodes["group_node"].tolist()
        for group, begin in enumerate(begins[:-1]):
            for node in range(begin + 1, begins[group + 1]):
                above = begin + int(parent[node])
                depth[node] = depth[above] + 1
                acted[:, node] = acted[:, above]
                acted[turn[above], node] += 1
                order = self.nodes["children"][above, : int(self.nodes["count"][above])] + begin
                first[node], last[node] = node == order.min(), node == order.max()
        return depth, acted, first, last
