"""Plans, gradients and values over betting tree times buckets: matrix products and a few operations on whole arrays.

    plan       strategy -> probability that a seat plays each sequence, from the root down
    gradient   the other's plan -> what each sequence is worth where play ends after it: all folds of a round are one
               product with its `meets`, all showdowns one with its `wins`
    ascend     worth of sequences -> values of all actions, from the ends up

Arrays are by sequence, as `BucketLayout` numbers them, of NumPy or CuPy, in single or double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kibitz.poker.bucketed.device import Device, may_round, over_actions
from kibitz.poker.bucketed.gpu import BucketKernels, bucket_kernels
from kibitz.poker.bucketed.layout import BettingEnd, BucketLayout, Group, Node
from kibitz.poker.bucketed.weights import JointWeights

LEAST_ROWS, LEAST_LINES = 256, 384  # a product with fewer buckets or lines is done at once

Choose = Callable[[int, Node, Any], Any]  # (group, node, values of all its seat's actions there) -> values of the node


class Passes:
    """The passes over a layout, on one device and in one precision."""

    def __init__(self, layout: BucketLayout, weights: JointWeights, device: Device, dtype: Any) -> None:
        self.layout, self.device, self.dtype = layout, device, np.dtype(dtype)
        xp = device.xp
        self.xp = xp
        self.tf32 = may_round(layout.perfect_recall and layout.watched)
        self._filled = weights.within(device, dtype)
        self.meets, self.wins = (tuple(of[: int(n), : int(n)] for of, n in zip(each, layout.rows, strict=True))
                                 for each in self._filled)  # fmt: skip
        self.up = [xp.asarray(of) for of in layout.parents]
        self.first = [xp.asarray(of) for of in layout.firsts]
        self._stakes: dict[tuple[int, str], Any] = {}
        self.hands = [self._of_first(table) for table in range(len(self.up))]

    def _of_first(self, table: int) -> Any:
        """[buckets, buckets of the first round]  1 where a bucket comes of one of the first round."""
        layout = self.layout
        above, at = np.arange(int(layout.rows[table])), table
        while layout.table_before[at] >= 0:
            above, at = layout.parents[at][above], layout.table_before[at]
        return (above[:, None] == np.arange(int(layout.rows[0]))).astype(self.dtype)

    @property
    def kernels(self) -> BucketKernels | None:
        """On a GPU: those that do several operations at once."""
        return bucket_kernels(self.xp, self.dtype.str) if self.device.on_gpu else None

    def mean(self, strategy: Any, values: Any) -> Any:
        """[lanes, buckets]  what a node is worth where a strategy is played, from the values of its actions."""
        kernels = self.kernels
        return (strategy * values).sum(axis=0) if kernels is None else kernels.mean(strategy, values)

    def zeros(self) -> Any:
        """An array by sequence."""
        return self.xp.zeros(self.layout.sequences, self.dtype)

    def _rows(self, group: Group) -> int:
        return int(self.layout.rows[group.table])

    def _handed_on(self, g: int, seat: int, here: Any, roots: list[Any]) -> None:
        """The reach of a seat at the ends of a round's betting, at the roots of the next round."""
        layout = self.layout
        for link in layout.groups[g].links:
            after = layout.groups[link.group]
            if roots[link.group] is None:
                roots[link.group] = self.xp.empty((after.lanes, self._rows(after)), self.dtype)
            before = link.before[seat]
            source = (roots[g] if before < 0 else here[before])[link.lanes]
            roots[link.group][link.onto] = self.xp.take(source, self.up[after.table], axis=1)

    def _first_root(self) -> list[Any]:
        first = self.layout.groups[0]
        return [self.xp.ones((first.lanes, self._rows(first)), self.dtype)] + [None] * (len(self.layout.groups) - 1)

    def plan(self, seat: int, strategy: Any, out: Any) -> list[Any]:
        """Fill a seat's part of `out` with the plan that a strategy makes; returns its reach at the roots of groups."""
        layout = self.layout
        roots = self._first_root()
        out[int(layout.seat_sequence[seat])] = 1.0
        for g, group in enumerate(layout.groups):
            chosen, plan, root = layout.view(strategy, seat, g), layout.view(out, seat, g), roots[g]

            def work(
                lanes: slice, group: Group = group, chosen: Any = chosen, own: Any = plan, root: Any = root
            ) -> None:
                for node in group.nodes:
                    if node.seat == seat:
                        before = root[lanes] if node.before < 0 else own[node.before, lanes]
                        for a in range(node.first, node.first + node.count):
                            self.xp.multiply(chosen[a, lanes], before, out=own[a, lanes])

            self.device.in_pieces(work, group.lanes, self._rows(group))
            self._handed_on(g, seat, plan, roots)
        return roots

    def roots(self, seat: int, plan: Any) -> list[Any]:
        """The reach of a seat at the roots of groups, from its plan."""
        roots = self._first_root()
        for g in range(len(self.layout.groups)):
            self._handed_on(g, seat, self.layout.view(plan, seat, g), roots)
        return roots

    def before(self, g: int, node: Node, plan: Any, roots: list[list[Any]]) -> tuple[Any, Any]:
        """[lanes, buckets]  the reach at a node, of the seat that acts there and of the other."""
        seat, other = node.seat, 1 - node.seat
        mine = roots[seat][g] if node.before < 0 else self.layout.view(plan, seat, g)[node.before]
        his = roots[other][g] if node.other < 0 else self.layout.view(plan, other, g)[node.other]
        return mine, his

    def gradient(self, seat: int, plan: Any, roots: list[Any], out: Any) -> None:
        """Fill a seat's part of `out` with what its sequences are worth. plan, roots: of the other seat."""
        layout, xp = self.layout, self.xp
        other = 1 - seat
        at_root: list[Any] = [None] * len(layout.groups)
        for g in range(len(layout.groups) - 1, -1, -1):
            group = layout.groups[g]
            own, reach = layout.view(out, seat, g), layout.view(plan, other, g)
            own[...] = 0.0
            root = at_root[g] = xp.zeros((group.lanes, self._rows(group)), self.dtype)
            for kind, ends, matrix in zip(("fold", "show"), (group.folds, group.showdowns), self._filled, strict=True):
                if ends:
                    worth = self._product(ends, other, reach, roots[g], matrix[group.table], group.table)
                    self._add_ends(g, kind, ends, seat, worth, own, root)
            self._passed_up(g, seat, at_root, own, root)
        out[int(layout.seat_sequence[seat])] = at_root[0].sum(dtype=np.float64)

    def _product(self, ends: tuple[BettingEnd, ...], other: int, reach: Any, root: Any, matrix: Any, table: int) -> Any:
        """[ends, lanes, buckets]  the matrix times the other's reach at each end. On a GPU lines are as long as those
        of the matrix, which are filled up."""
        (lanes, rows), wide = root.shape, len(matrix)
        columns = self.xp.empty((len(ends), lanes, wide), self.dtype)
        for i, end in enumerate(ends):
            columns[i, :, :rows] = root if end.before[other] < 0 else reach[end.before[other]]
        columns[:, :, rows:] = 0.0
        lines = columns.reshape(-1, wide)
        # matrix[own, other], so a line is multiplied by its transpose.
        if self.device.on_gpu or rows < LEAST_ROWS or len(lines) < LEAST_LINES:
            return self.device.product(lines, matrix.T, self.tf32).reshape(columns.shape)
        return self._where_reached(lines, matrix, self.hands[table]).reshape(columns.shape)

    def _where_reached(self, lines: Any, matrix: Any, hands: Any) -> Any:
        """lines @ matrix.T, where what is zero is left out: many hands never take a way of betting.

        Lines are sorted by the buckets of the first round that come there at all, and multiplied some hundred at a
        time with the columns of these. hands: [buckets, buckets of the first round] 1 where the one comes of the other.
        """
        comes = lines @ hands > 0.0
        order = np.lexsort(comes.T)
        starts = np.searchsorted(hands.argmax(axis=1), np.arange(hands.shape[1] + 1))
        sorted_lines, turned = lines[order], matrix.T
        product = np.empty_like(sorted_lines)
        for at in range(0, len(lines), LEAST_LINES):
            here = slice(at, at + LEAST_LINES)
            some = np.concatenate(([False], comes[order[here]].any(axis=0), [False]))
            edges = starts[np.flatnonzero(np.diff(some)).reshape(-1, 2)]  # runs of buckets side by side
            if not len(edges):
                product[here] = 0.0
            for k, (low, high) in enumerate(edges.tolist()):
                if k == 0:
                    np.matmul(sorted_lines[here, low:high], turned[low:high], out=product[here])
                else:
                    product[here] += sorted_lines[here, low:high] @ turned[low:high]
        sorted_lines[order] = product  # as lines were, in the same memory
        return sorted_lines

    def _add_ends(
        self, g: int, kind: str, ends: tuple[BettingEnd, ...], seat: int, worth: Any, own: Any, root: Any
    ) -> None:
        if (g, kind) not in self._stakes:
            self._stakes[g, kind] = self.xp.asarray(np.stack([end.stake for end in ends]), self.dtype)
        stakes, kernels = self._stakes[g, kind], self.kernels
        if kernels is not None:
            for i, end in enumerate(ends):
                onto = root if end.before[seat] < 0 else own[end.before[seat]]
                kernels.add_end(stakes[i, seat], worth[i], onto)
            return

        def work(lanes: slice) -> None:
            for i, end in enumerate(ends):
                onto = root if end.before[seat] < 0 else own[end.before[seat]]
                onto[lanes] += stakes[i, seat, lanes, None] * worth[i, lanes]

        self.device.in_pieces(work, *root.shape)

    def _passed_up(self, g: int, seat: int, at_root: list[Any], own: Any, root: Any) -> None:
        """Add what the roots of the next round are worth, where a seat comes there."""
        for link in self.layout.groups[g].links:
            table = self.layout.groups[link.group].table
            worth = self.device.sum_children(at_root[link.group][link.onto], self.first[table])
            onto = root if link.before[seat] < 0 else own[link.before[seat]]
            onto[link.lanes] += worth

    def ascend(self, seat: int, values: Any, choose: Choose) -> float:
        """From the worth of sequences to the values of actions, in place; returns the value at the root.

        choose(group, node, values of the seat's actions there) gives the value of a node [lanes, buckets].
        """
        layout = self.layout
        at_root: list[Any] = [None] * len(layout.groups)
        for g in range(len(layout.groups) - 1, -1, -1):
            group = layout.groups[g]
            own = layout.view(values, seat, g)
            root = at_root[g] = self.xp.zeros((group.lanes, self._rows(group)), self.dtype)
            self._passed_up(g, seat, at_root, own, root)
            for node in reversed(group.nodes):
                if node.seat == seat:
                    onto = root if node.before < 0 else own[node.before]
                    onto += choose(g, node, own[node.first : node.first + node.count])
        empty = int(layout.seat_sequence[seat])
        return float(at_root[0].sum(dtype=np.float64)) + float(values[empty])

    def normalise(self, seat: int, weights: Any, strategy: Any) -> None:
        """Weights by sequence -> probabilities; rows without weight are uniform."""
        layout = self.layout
        for g, group in enumerate(layout.groups):
            sums, shares = layout.view(weights, seat, g), layout.view(strategy, seat, g)
            for node in group.nodes:
                if node.seat == seat:
                    actions = slice(node.first, node.first + node.count)
                    self._shares(sums[actions], shares[actions])

    def _shares(self, sums: Any, shares: Any) -> None:
        xp = self.xp

        def work(lanes: slice) -> None:
            here = sums[:, lanes].astype(self.dtype)
            total = over_actions(here)
            none = total <= 0.0
            total[none] = 1.0
            here /= total
            shares[:, lanes] = xp.where(none, 1.0 / len(sums), here)

        self.device.in_pieces(work, *sums.shape[1:])
