"""BucketForm: what solvers see of a two-player poker game in perfect-recall buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.programme import constraints_of
from kibitz.forms.treeplex import Treeplex, treeplex_of_points
from kibitz.poker.bucketed import programme
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.bucketed.operator import BucketOperator
from kibitz.poker.bucketed.rows import BucketRows
from kibitz.poker.exact import parts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BucketForm(BucketOperator):
    """A two-player poker game in buckets: see `kibitz.forms.protocol` for what solvers ask."""

    # Why there is a form for buckets beside PokerForm with shared rows: milliseconds of processor time for an iteration
    # of dcfr+ on Rhode Island hold'em, one thread of an x86_64 Xeon at 2.5 GHz, shared rows / joint weights:
    # percentile(3) 61 / 3.2, percentile(8) 96 / 14, percentile(15) 105 / 52.

    look_every = 20  # an evaluation takes as long as several iterations
    best_cfr = "dcfr+"
    rehearsal = "kuhn"  # CFR has no compiled code here; other solvers have theirs

    def __repr__(self) -> str:
        return f"<BucketForm of {self.spec} within {self.abstraction}: {self.sequences:,} sequences>"

    @property
    def programme_size(self) -> tuple[int, int]:
        """Rows of the linear programme within the buckets, twice: the game's own are not counted here."""
        rows = 2 + sum((s + i) * int(n) for s, i, n in zip(*self.per_hand, self.rows, strict=True))
        return rows, rows

    @property
    def per_hand(self) -> tuple[list[int], list[int]]:
        """By round, for each bucket: sequences of one seat and infosets of the other, as linear programmes count."""
        rounds = range(self.definition.rounds)
        sequences = [sum(g.width[1] * g.lanes for g in self.groups if g.level == r) for r in rounds]
        return sequences, [
            sum(g.lanes for g in self.groups if g.level == r for node in g.nodes if node.seat == 0) for r in rounds
        ]

    def treeplex(self, seat: int) -> Treeplex:
        """The seat's points as plain arrays."""
        points = programme.points_of(self, seat)
        return treeplex_of_points(points, *self.seat_sequence[seat : seat + 2].tolist())

    # What solvers are made of.

    def cfr_state(self, rows: Any, start: Floats | None) -> BucketCfrState:
        """Where CFR keeps its numbers."""
        if rows is not None and not isinstance(rows, BucketRows):
            raise SolverError("a bucket form has no row maps: freeze its rows, or take other buckets")
        return BucketCfrState(self, start, rows=rows)

    def constraints(self, seat: int) -> tuple[Any, Floats]:
        """E and e of a seat in the linear programme."""
        points = programme.points_of(self, seat)
        return constraints_of(points, *self.seat_sequence[seat : seat + 2].tolist())

    def payoff_matrix(self) -> Any:
        """The payoffs to seat 0, own sequences by the other's: all that the form avoids, for small ones."""
        return programme.payoff_matrix(self)

    # Parts of it.

    def freeze(self, moves: NDArray[np.bool_], base: Floats) -> BucketRows:
        """The form with some infosets frozen at a base."""
        return BucketRows(self, moves, base)

    def parts_by_actions(self, lists: list[list[set[str]]]) -> Ints:
        """[I] part j + 1 where the players' actions begin with list j, each step of which is a set of actions."""
        return parts.by_actions(self, lists)

    def parts_by_private(self) -> tuple[list[str], Ints, Ints]:
        """(the buckets of the first round, [I] which of them, [I] betting round from 1)."""
        nodes, bucket = self.infosets.order()
        level = self.betting.round[nodes].astype(np.int64)
        for at in range(len(self.parents) - 1, 0, -1):
            bucket = np.where(level >= at, self.parents[at][np.minimum(bucket, len(self.parents[at]) - 1)], bucket)
        return [f"bucket {k}" for k in range(int(self.rows[0]))], bucket, level + 1

    def check_parts(self, name: str, names: tuple[str, ...], part: Ints) -> None:
        """Refuse parts of which one of a seat leads into another."""
        parts.check(self, [programme.points_of(self, seat) for seat in (0, 1)], name, names, part)

    # For a person.

    def facts(self) -> dict[str, Any]:
        """Sizes, as plain data."""
        return {
            "game": self.spec,
            "abstraction": self.abstraction,
            "players": self.players,
            "betting": len(self.betting),
            "buckets": self.rows.tolist(),
            "infosets": np.diff(self.infosets.seat_start).tolist(),
            "sequences": np.diff(self.seat_sequence).tolist(),
            "payoff": self.scale,
            "operations": 4 * self.products,
            "bytes": {"weights": self.weight_bytes, "solve": self.solve_bytes},
        }

    def describe(self) -> list[tuple[str, str]]:
        """The same as (name, sentence)."""
        data = self.facts()
        return [
            ("betting", f"{data['betting']:,} betting histories"),
            ("buckets", " / ".join(f"{count:,}" for count in data["buckets"]) + " by round"),
            ("infosets", f"{sum(data['infosets']):,} within the buckets"),
            ("sequences", f"{sum(data['sequences']):,}"),
            ("an iteration", f"{data['operations'] / 1e9:,.2f} billion floating-point operations"),
            ("memory", f"{data['bytes']['weights'] / 1e6:,.0f} MB of joint weights, "
                       f"{data['bytes']['solve'] / 1e6:,.0f} MB to solve by CFR"),
            ("payoffs", f"up to {data['payoff']:g} chips"),
        ]  # fmt: skip
