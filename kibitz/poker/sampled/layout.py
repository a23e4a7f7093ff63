"""ViewLayout: what lies where in a two-player poker game whose decisions see hands through buckets, node by node.

A *view* is a list of buckets of hands for each round; every node of the betting has one. So the base of a stitched
strategy sees its hands through coarse buckets and its experts through fine ones, and buckets may forget. Infosets are
in the order of a `BucketLayout`, which is the case of one view for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.bucketed.layout import BucketLayout
from kibitz.poker.exact.table import segments_of
from kibitz.poker.rules import acpc

if TYPE_CHECKING:
    from kibitz.poker.buckets.hand_buckets import HandBuckets
    from kibitz.poker.rules.rules import Poker

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class HandView(NamedTuple):
    """What is known of buckets without making them."""

    name: str  # the spec that makes them again
    digest: str  # of what is in which bucket
    counts: tuple[int, ...]  # by round


def view_of(buckets: HandBuckets) -> HandView:
    return HandView(buckets.name, buckets.digest, tuple(buckets.counts))


def viewed(layout: Any) -> ViewLayout | None:
    """A layout of buckets as one of views: their infosets lie the same. None for other layouts."""
    if isinstance(layout, ViewLayout):
        return layout
    if not isinstance(layout, BucketLayout):
        return None
    view = HandView(layout.abstraction, layout.buckets_digest, tuple(layout.rows.tolist()))
    return ViewLayout(layout.game, [view], np.zeros(len(layout.betting), np.int64))


class ViewLayout:
    """Betting tree times views."""

    zero_sum = in_buckets = True
    seats = players = 2

    def __init__(self, game: Poker, views: Sequence[HandView], of_node: NDArray[Any]) -> None:
        """of_node: [betting nodes] the view through which the seat that decides there sees its hand."""
        if game.definition.players != 2:
            raise GameError(f"{game.spec or 'this game'} has {game.definition.players} players; views are for two")
        self.game, self.definition, self.spec, self.betting = game, game.definition, game.spec, game.betting
        rounds = self.definition.rounds
        self.deciding = self.betting.turn >= 0
        named = np.asarray(of_node, np.int64)
        if named.shape != self.deciding.shape or not ((named >= 0) & (named < len(views)))[self.deciding].all():
            raise GameError("each node of the betting names one of the views")
        digests = [view.digest for view in views]
        same = np.array([digests.index(digest) for digest in digests])
        used, number = np.unique(same[named[self.deciding]], return_inverse=True)
        self.views = tuple(views[k] for k in used.tolist())  # those that are used, each once
        self.of_node = np.zeros(len(self.deciding), np.int64)
        self.of_node[self.deciding] = number
        if any(len(view.counts) != rounds or min(view.counts) < 1 for view in self.views):
            raise GameError(f"a view has buckets for each of the {rounds} rounds")
        self.segments = segments_of(self.betting, rounds)
        self.levels = self.segments.levels
        counts = np.array([view.counts for view in self.views], np.int64)
        self.rows = np.where(self.deciding, counts[self.of_node, np.minimum(self.betting.round, rounds - 1)], 0)
        offers = np.array([len(names) for names in self.betting.actions], np.int64)
        self.count = np.where(self.deciding, offers[self.betting.actions_of], 0)  # [B]  actions
        self.order = np.concatenate(  # deciding nodes as their infosets lie: by seat and segment
            [nodes[self.betting.turn[nodes] == seat] for seat in (0, 1) for nodes in self.segments.node]
        )
        sizes = (self.rows * self.count)[self.order]
        self.column = np.zeros(len(self.deciding), np.int64)  # [B]  first column of a node's infosets
        self.column[self.order] = np.cumsum(sizes) - sizes
        self.columns = int(sizes.sum())
        self.points = int(self.rows.sum())

    @property
    def abstraction(self) -> str:
        return " + ".join(view.name for view in self.views)

    def at(self, probabilities: NDArray[Any], node: int) -> NDArray[Any]:
        """[buckets, actions]  what is known by column, at a node: a view of it."""
        rows, count, first = int(self.rows[node]), int(self.count[node]), int(self.column[node])
        return probabilities[first : first + rows * count].reshape(rows, count)

    @cached_property
    def tree_digest(self) -> str:
        """A fingerprint of the rules, the views and where they are."""
        content = hashlib.sha256(f"views 1\0{acpc.write(self.definition)}\0".encode())
        content.update("\0".join(view.digest for view in self.views).encode())
        content.update(self.of_node.astype("<i4").tobytes())
        return content.hexdigest()
