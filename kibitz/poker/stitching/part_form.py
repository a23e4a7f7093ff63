"""PartForm: parts of a two-player poker game with buckets of their own, over all boards at once.

A game of views (`kibitz.poker.sampled.form.ViewForm`) is solved on sampled boards. Where parts begin in the first round
and all views have perfect recall, as stitched strategies do, it can also be solved as a bucket form: with joint weights
of buckets instead of boards, so that an iteration is exact and NashConv in the abstract game is known.

Views divide the hands of the first round differently, so reach probabilities go by classes of hands that all views have
in common, and later by buckets of classes (`classes.py`). Several of these are one infoset: they share a row, and what
an action is worth there is the sum over them. Frozen decisions count as chance: a class that the frozen strategy of a
player seldom brings to an infoset counts little there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.tables import Tell
from kibitz.core.errors import SolverError
from kibitz.poker.bucketed.build import check_memory
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.gpu import bucket_kernels
from kibitz.poker.bucketed.layout import EVERY_LANE, Group, Node
from kibitz.poker.bucketed.passes import Passes
from kibitz.poker.bucketed.weights import JointWeights, Matrices, joint_weights
from kibitz.poker.exact.table import groups_of
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching.classes import RefinedBuckets, common_classes, refined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
KEPT = 4  # joint weights of so many lists of buckets stay in memory for the next expert


class SharedRows:
    """Buckets by class that are one infoset."""

    def __init__(self, row: Ints, xp: Any) -> None:
        self.row = row
        rows, size = int(row.max()) + 1, np.bincount(row)
        order = np.argsort(row, kind="stable")
        start = np.cumsum(size) - size
        self.first = order[start]  # [rows] one of its buckets
        self.most = int(size.max())
        place = np.minimum(np.arange(self.most)[:, None], size - 1)
        members = order[start + place]  # [most, rows]
        self.members = xp.asarray(np.ascontiguousarray(members[:, row]))  # [most, buckets]
        counts = (np.arange(self.most)[:, None] < size)[:, row]
        self.counts = xp.asarray(np.ascontiguousarray(counts, np.float32))
        self._xp = xp
        assert len(size) == rows and (size > 0).all()

    def summed(self, values: Any, own: Any = None) -> Any:
        """[actions, lanes, buckets] -> for each the sum over those of its infoset. own: weights [lanes, buckets]."""
        if self.most == 1:
            return values
        if self._xp is not np:
            return bucket_kernels(self._xp, values.dtype.str).pooled(values, own, self.members, self.counts)
        if own is not None:
            values = values * own.astype(values.dtype)
        total = values[..., self.members[0]]
        for k in range(1, self.most):
            total += values[..., self.members[k]] * self.counts[k].astype(values.dtype)
        return total


@dataclass(frozen=True, eq=False)
class PartWeights(JointWeights):
    """The weights of several views, whose first round is the same."""

    views: tuple[JointWeights, ...]

    def within(self, device: Device, dtype: Any) -> Matrices:
        """As each view has them: forms with some of the same views share those."""
        return joined([view.within(device, dtype) for view in self.views])


def part_weights(views: list[JointWeights]) -> PartWeights:
    return PartWeights(*joined([(view.meets, view.wins) for view in views]), tuple(views))


def joined(views: list[Matrices]) -> Matrices:
    """The first round once, then the later rounds of each view."""
    meets, wins = ((views[0][kind][0], *(each for of in views for each in of[kind][1:])) for kind in (0, 1))
    return meets, wins


class PartPasses(Passes):
    """Passes over a PartForm."""

    layout: PartForm

    def normalise(self, seat: int, weights: Any, strategy: Any) -> None:
        """Weights by sequence -> probabilities, the same for all buckets of an infoset; frozen rows are as they are."""
        layout = self.layout
        for g, group in enumerate(layout.groups):
            sums, shares = layout.view(weights, seat, g), layout.view(strategy, seat, g)
            for node in group.nodes:
                if node.seat == seat:
                    actions = slice(node.first, node.first + node.count)
                    if layout.trainable(g, node):
                        self._shares(layout.shared(g, node).summed(sums[actions]), shares[actions])
                    else:
                        shares[actions] = layout.view(layout.frozen_strategy, seat, g)[actions]


class PartForm(BucketForm):
    """The form of a game of views."""

    def __init__(
        self, views: ViewForm, device: str = "cpu", tell: Tell | None = None, conditional: bool = False
    ) -> None:
        """conditional: payoffs are counted per hand in which the frozen strategies of both players come to a free
        decision. A part that the base hardly ever enters is then solved as far as any other; otherwise it adds next to
        nothing to NashConv, and a run that stops there leaves it unsolved."""
        self.views, self.device = views, Device(device)
        self.game, self.definition, self.spec = views.game, views.definition, views.spec
        self.betting, self.segments, self.levels = views.betting, views.segments, views.levels
        self.abstraction = views.abstraction
        for each in views.buckets:
            if not each.perfect_recall:
                raise SolverError(f"{each.name} has imperfect recall: solve these parts on sampled boards, by pcs")
        self._view_of_segment = self._views_by_segment()
        later = views.wanted & (self.levels > 0)
        self._used = np.unique(self._view_of_segment[later]).tolist()  # views of later rounds
        self.classes, self._bucket_of = common_classes(views.buckets)
        self._refined = {view: self._refine(view) for view in self._used}
        rounds = self.definition.rounds
        counts = self._bucket_of.shape[1]
        self.parents = (np.zeros(counts, np.int64),)
        for view in self._used:
            self.parents += tuple(of.parent for of in self._refined[view].buckets.rounds[1:])
        place = np.zeros(len(views.buckets), np.int64)
        place[self._used] = np.arange(len(self._used))
        tables = np.where(self.levels == 0, 0, self.levels + place[self._view_of_segment] * (rounds - 1))
        frozen = np.zeros(len(self.betting), bool) if views.frozen is None else views.frozen.node & views.deciding
        self._frozen = frozen
        kind = 2 * views.of_node + frozen
        self._lay_out(groups_of(self.betting, self.segments, EVERY_LANE, kind, views.wanted), tables)
        check_memory(self, self.device)
        self.weights = part_weights([self._weights(view, tell) for view in self._used])
        self._rows: dict[tuple[int, int], SharedRows] = {}
        self._own: dict[tuple[int, int, int], Any] = {}
        self.entered = 1.0  # how likely a hand comes to a free decision, where that is counted
        if conditional:
            self.entered = self._entered() or 1.0
            self.groups = tuple(self._scaled(group) for group in self.groups)

    def _entered(self) -> float:
        """How likely the frozen strategies come to a free decision of the first round."""
        moving, above, total = self.views.moving, self.betting.parent, 0.0
        meets = self.device.to_host(self.weights.meets[0])
        entered = np.zeros(len(moving), bool)  # a free decision is there or above
        for node in self.segments.node[0].tolist():
            entered[node] = moving[node] or (above[node] >= 0 and entered[above[node]])
            if moving[node] and not (above[node] >= 0 and entered[above[node]]):
                first, second = self._frozen_reach[:, node]
                total += float(first @ meets @ second)
        return total

    def _scaled(self, group: Group) -> Group:
        """Payoffs per hand that enters. `scale` stays as it is: regrets become larger, and what counts as rounding does
        not."""
        folds, showdowns = (
            tuple(replace(end, stake=end.stake / self.entered) for end in ends)
            for ends in (group.folds, group.showdowns)
        )
        return replace(group, folds=folds, showdowns=showdowns)

    def __repr__(self) -> str:
        return f"<PartForm of {self.spec} within {self.abstraction}: {self.sequences:,} sequences>"

    # Views, classes and weights

    def _views_by_segment(self) -> Ints:
        """The view of each segment; refused where decisions of one round have several after the first round."""
        views, of = self.views, np.zeros(len(self.levels), np.int64)
        for segment, nodes in enumerate(self.segments.node):
            deciding = nodes[views.deciding[nodes]]
            here = np.unique(views.of_node[deciding])
            if self.levels[segment] == 0:
                continue
            if len(here) > 1:
                raise SolverError(
                    "a part begins after the first round, or players have different buckets in one: "
                    "solve these parts on sampled boards, by pcs"
                )
            if len(here):
                of[segment] = here[0]
        for node, segment in self.segments.exit.items():
            before = self._segment_of[node]
            if not views.deciding[self.segments.node[segment]].any():
                of[segment] = of[before]
            elif self.levels[before] > 0 and of[before] != of[segment] and views.wanted[segment]:
                raise SolverError("a part begins after the first round: solve it on sampled boards, by pcs")
        return of

    @cached_property
    def _segment_of(self) -> Ints:
        """[betting nodes]"""
        of = np.full(len(self.betting), -1, np.int64)
        for segment, nodes in enumerate(self.segments.node):
            of[nodes] = segment
        return of

    def _refine(self, view: int) -> RefinedBuckets:
        buckets, bucket_of = self.views.buckets[view], self._bucket_of[view]
        key = "refined", buckets.digest, self.classes.tobytes()
        kept: RefinedBuckets = self._kept(key, lambda: refined(buckets, self.classes, bucket_of))
        return kept

    def _weights(self, view: int, tell: Tell | None) -> JointWeights:
        buckets = self._refined[view].buckets
        key = "weights", buckets.digest, self.device.name
        kept: JointWeights = self._kept(key, lambda: joint_weights(buckets, tell, self.device.name))
        return kept

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What was made for an earlier form of this game, or is made now."""
        kept: dict[Any, Any] = self.game.__dict__.setdefault("_parts", {})
        if key not in kept:
            same = [each for each in kept if each[0] == key[0]]
            for each in same[: len(same) - KEPT + 1]:
                del kept[each]
            kept[key] = make()
        return kept[key]

    @property
    def table_before(self) -> tuple[int, ...]:
        later = self.definition.rounds - 1
        return -1, *(0 if k % later == 0 else k for k in range(len(self._used) * later))

    # Rows

    def _node_of(self, g: int, node: Node, lane: int) -> int:
        """A node of the betting."""
        return int(self.segments.node[self.lanes_of.lanes[g][lane]][node.k])

    def trainable(self, g: int, node: Node) -> bool:
        return not self._frozen[self._node_of(g, node, 0)]

    def shared(self, g: int, node: Node) -> SharedRows:
        """Which buckets are one infoset at a node."""
        level, view = self.groups[g].level, int(self.views.of_node[self._node_of(g, node, 0)])
        if (level, view) not in self._rows:
            row = self._bucket_of[view] if level == 0 else self._refined[view].row[level]
            self._rows[level, view] = SharedRows(row, self.device.xp)
        return self._rows[level, view]

    def pooled(self, g: int, node: Node, lanes: slice, values: Any) -> Any:
        """Counterfactual values [actions, lanes, buckets] -> what they come to in an infoset."""
        shared = self.shared(g, node)
        if shared.most == 1:
            return values
        own = self._own_reach(g, node)
        return shared.summed(values, None if own is None else own[lanes])

    def _own_reach(self, g: int, node: Node) -> Any:
        """[lanes, buckets]  how likely a player's frozen decisions bring a bucket here, to the likeliest of its
        infoset; None if it has no frozen decisions before."""
        level = self.groups[g].level
        key = g, node.k if level == 0 else -1, node.seat
        if key not in self._own:
            here = [self._node_of(g, node, lane) for lane in range(self.groups[g].lanes)]
            reach = np.stack([self._frozen_reach[node.seat][at if level == 0 else self._begin_of(at)] for at in here])
            view = int(self.views.of_node[here[0]])
            bucket = self._bucket_of[view]
            top = np.stack([reach[:, bucket == each].max(axis=1) for each in bucket], axis=1)
            share = np.where(top > 0.0, reach / np.where(top > 0.0, top, 1.0), 1.0)
            if level:
                share = share[:, self._refined[view].of_class[level]]
            self._own[key] = None
            if not (share == 1.0).all():
                self._own[key] = self.device.xp.asarray(np.ascontiguousarray(share, np.float32))
        return self._own[key]

    def _begin_of(self, node: int) -> int:
        """The last node of the first round on the way to a node."""
        above = self.betting.parent
        while self._segment_of[node] != 0:
            node = int(above[node])
        return node

    @cached_property
    def _frozen_reach(self) -> Floats:
        """[seats, betting nodes of the first round, classes]  the product of a seat's frozen probabilities before."""
        nodes = self.segments.node[0]
        reach = np.ones((2, int(nodes.max()) + 1, self._bucket_of.shape[1]))
        above, frozen = self.betting.parent, self.views.frozen
        for node in nodes[1:].tolist():
            parent = int(above[node])
            reach[:, node] = reach[:, parent]
            if frozen is not None and self._frozen[parent]:
                played = np.asarray(frozen.played(parent), np.float64)[self._bucket_of[self.views.of_node[parent]]]
                reach[int(self.betting.turn[parent]), node] *= played[:, int(self.betting.action[node])]
        return reach

    @cached_property
    def perfect_recall(self) -> bool:  # type: ignore[override]
        """Whether no player forgets what it decided by: free decisions after free decisions have the same view.
        Otherwise NashConv is only a lower bound."""
        betting, views = self.betting, self.views
        for node in np.flatnonzero(views.moving).tolist():
            above = int(betting.parent[node])
            while above >= 0:
                if views.moving[above] and betting.turn[above] == betting.turn[node]:
                    if views.of_node[above] != views.of_node[node]:
                        return False
                    break
                above = int(betting.parent[above])
        return True

    # Infosets

    @cached_property
    def infosets(self) -> Any:
        return self.views.infosets

    @property
    def columns(self) -> int:
        return self.views.columns

    @property
    def points(self) -> int:
        return self.views.points

    @property
    def size(self) -> int:
        """Trainable infosets."""
        return self.views.size

    @cached_property
    def tree_digest(self) -> str:
        return hashlib.sha256(f"parts 1 {self.views.tree_digest} {self.entered!r}".encode()).hexdigest()

    def uniform(self) -> Floats:
        return self.views.uniform()

    def _played(self, probabilities: Floats, node: int) -> NDArray[Any]:
        """[buckets of the view, actions]  at a node of the betting."""
        frozen = self.views.frozen
        if frozen is not None and self._frozen[node]:
            return frozen.played(node)
        return self.views.at(probabilities, node)

    def to_strategy(self, probabilities: Floats) -> Floats:
        strategy = np.ones(self.sequences)
        for g, group in enumerate(self.groups):
            for node in group.nodes:
                row, here = self.shared(g, node).row, self.view(strategy, node.seat, g)
                for lane in range(group.lanes):
                    played = self._played(probabilities, self._node_of(g, node, lane))
                    here[node.first : node.first + node.count, lane] = played[row].T
        return strategy

    def by_column(self, strategy: NDArray[Any]) -> Floats:
        """By sequence -> by infoset column; frozen rows as they are frozen."""
        columns = np.empty(self.columns)
        for node in self.views.order.tolist():
            if self._frozen[node]:
                assert self.views.frozen is not None
                self.views.at(columns, node)[:] = self.views.frozen.played(node)
        for g, group in enumerate(self.groups):
            for node in group.nodes:
                if self.trainable(g, node):
                    one, here = self.shared(g, node).first, self.view(strategy, node.seat, g)
                    for lane in range(group.lanes):
                        at = self.views.at(columns, self._node_of(g, node, lane))
                        at[:] = here[node.first : node.first + node.count, lane][:, one].T
        return columns

    @cached_property
    def frozen_strategy(self) -> Any:
        """The frozen rows by sequence, where the form's arrays are."""
        return self.device.xp.asarray(self.to_strategy(self.uniform()))

    @cached_property
    def passes(self) -> PartPasses:
        return PartPasses(self, self.weights, self.device, np.float64)

    def _most(self, pure: Any, seat: int) -> Any:
        """The best action of each infoset; frozen decisions are played."""
        xp = self.device.xp

        def choose(g: int, node: Node, values: Any) -> Any:
            actions = slice(node.first, node.first + node.count)
            if not self.trainable(g, node):
                played = self.view(self.frozen_strategy, seat, g)[actions]
                if pure is not None:
                    self.view(pure, seat, g)[actions] = played
                return self.passes.mean(played, values)
            pooled = self.pooled(g, node, slice(None), values)
            most, best, first = pooled[0], values[0], xp.zeros(values.shape[1:], np.int8)
            for a in range(1, node.count):
                more = pooled[a] > most
                most, best = xp.where(more, pooled[a], most), xp.where(more, values[a], best)
                first[more] = a
            if pure is not None:
                here = self.view(pure, seat, g)
                for a in range(node.count):
                    here[node.first + a] = first == a
            return best

        return choose

    def payoff_matrix(self) -> Any:
        raise SolverError("parts with their own buckets have no payoff matrix here: use dcfr+")

    def points_of(self, seat: int) -> Any:
        raise SolverError("parts with their own buckets have no linear program here: use dcfr+")
