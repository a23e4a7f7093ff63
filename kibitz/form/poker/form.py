"""PokerForm: what solvers see of a two-player poker game, without tree and payoff matrix.

It is the sequence form of the game up to the names of suits, factored: betting tree times cards. A gradient costs a
few operations per class of hands and end of betting, where a payoff matrix would have one entry per pair of hands.
Renaming suits changes nothing in the game, so a profile that does not look at their names loses nothing, and its best
responses need not look either: gaps and values here are those of the whole game.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.errors import GameError, SolverError
from kibitz.form.kinds import is_poker
from kibitz.form.poker.deal import Deal, deal, least_classes
from kibitz.form.poker.infosets import PokerInfosets
from kibitz.form.poker.rows import PokerRows
from kibitz.form.poker.space import PokerSpace
from kibitz.form.poker.table import MOST_LANES, Buckets, groups_of, segments_of, table_of
from kibitz.form.sequence import Measure
from kibitz.games.poker import acpc
from kibitz.games.poker.betting import BettingTree
from kibitz.machine import MARGIN, cores, free_memory
from kibitz.threads import together

if TYPE_CHECKING:
    from kibitz.games.poker.rules import Poker

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bytes by sequence that a solve by CFR takes: three arrays of float32; for a look at the gap plans of both seats and
# the worth of one's sequences in float64; and in the end the profile.
BYTES_PER_HAND = 240  # hands on boards are kept one by one, and twice while they are enumerated
BYTES_PER_SEQUENCE = 3 * 4 + 8 + 4 + 8 + 8
MOST_CLASSES = 20_000_000  # that boards and hands are enumerated for


class PokerForm:
    """A two-player poker game for solvers. Sequences of seat 0 come first; each seat's empty one leads its own."""

    zero_sum = True
    seats = players = 2
    look_every = 20  # a look takes as long as several iterations

    def __init__(
        self,
        game: Poker,
        *,
        buckets: Buckets | list[Ints] | None = None,
        cards: Deal | None = None,
        most_bytes: int | None = None,
        most_lanes: int = MOST_LANES,
    ) -> None:
        """buckets: for each round, class -> bucket; classes of a bucket share rows. A pair of lists: one a seat.

        most_lanes: how many segments a vector may run over; results do not depend on it.
        """
        definition = game.definition
        if definition.players != 2:
            raise GameError(
                f"{game.spec or 'this game'} has {definition.players} players, and the poker form is for two: "
                "solve its tree (kibitz.tree.tree_of) where that fits, or sample it"
            )
        self.game, self.definition, self.spec = game, definition, game.spec
        most_bytes = max(0, free_memory() - MARGIN) if most_bytes is None else most_bytes
        betting: BettingTree = game.betting
        self.betting, self.segments = betting, segments_of(betting, definition.rounds)
        if cards is None:
            self._refuse(least_classes(definition), most_bytes, "at least ")
            cards = deal(definition)
        self.cards = cards
        self.buckets: Buckets | None = None
        if buckets is None:
            self._refuse([r.classes for r in cards.rounds], most_bytes, "")
        else:
            first, second = buckets if isinstance(buckets, tuple) else (buckets, buckets)
            self.buckets = self._checked(first), self._checked(second)
        self.groups = groups_of(betting, self.segments, most_lanes)
        self.table, sizes = table_of(betting, self.segments, self.groups, cards, self.buckets)
        self._longest = sizes.wide, sizes.rows
        self.sequences, self.roots = sizes.sequences, sizes.roots
        self.seat_sequence = np.array([0, sizes.second, sizes.sequences], np.int64)
        ends = self.table.stake[0] != 0.0
        level = np.repeat(np.arange(definition.rounds), np.diff(self.groups.round_group))
        lanes, nodes = np.diff(self.table.group_lane), np.diff(self.table.group_node)
        chance = np.repeat(cards.chance[level], lanes * nodes)
        self.scale = float(np.abs(self.table.stake[0][ends] / chance[ends]).max(initial=1.0))

    def __repr__(self) -> str:
        return f"<PokerForm of {self.spec or 'a game without a name'}: {self.sequences:,} sequences>"

    def _refuse(self, classes: list[int], most_bytes: int, word: str) -> None:
        """A game that does not fit is refused before anything of its size is made."""
        actions = np.zeros(self.definition.rounds, np.int64)
        np.add.at(actions, self.betting.round[self.betting.turn >= 0], self._widths[self.betting.turn >= 0])
        sequences = sum(int(a) * c for a, c in zip(actions, classes, strict=True))
        needed = BYTES_PER_SEQUENCE * sequences
        needed += BYTES_PER_HAND * sum(classes)
        if needed > most_bytes or max(classes) > MOST_CLASSES:
            raise GameError(
                f"{self.spec or 'this game'} has {word}{sequences:,} sequences up to the names of suits, which take "
                f"about {needed / 1e6:,.0f} MB to solve; {most_bytes / 1e6:,.0f} MB are free here, and at most "
                f"{MOST_CLASSES:,} hands on boards are enumerated: take a smaller deck (numRanks, numSuits), fewer "
                "rounds, or an abstraction"
            )

    @cached_property
    def _widths(self) -> Ints:
        widths = np.array([len(names) for names in self.betting.actions] + [0], np.int64)
        return widths[self.betting.actions_of]

    @cached_property
    def levels(self) -> Ints:
        """The round of each segment."""
        return np.repeat(np.arange(self.definition.rounds), np.diff(self.segments.round_segment))

    def _checked(self, buckets: Sequence[ArrayLike]) -> list[Ints]:
        """Buckets of a seat as arrays, if they are that."""
        if len(buckets) != len(self.cards.rounds):
            raise SolverError(f"buckets are given for each of the {len(self.cards.rounds)} rounds")
        found = [np.asarray(of) for of in buckets]
        for number, (round_, of) in enumerate(zip(self.cards.rounds, found, strict=True)):
            whole = of.dtype.kind in "iu" and of.shape == (round_.classes,)
            if not whole or of.min() < 0 or len(np.unique(of)) != of.max() + 1:
                raise SolverError(
                    f"round {number} has {round_.classes:,} classes of hands; each needs a bucket, numbered from 0 on "
                    "without gaps"
                )
        return [of.astype(np.int64) for of in found]

    # What every form has.

    @cached_property
    def perfect_recall(self) -> bool:
        """Without buckets always; with them where a bucket tells the one before."""
        return self.buckets is None or self._row_up is not None

    @cached_property
    def _row_up(self) -> Ints | None:
        """[seats, rounds, most buckets]  the bucket before; None where classes of a bucket come from different ones."""
        assert self.buckets is not None
        found = np.zeros((2, self.definition.rounds, int(self.table.rows.max())), np.int64)
        for seat, of_seat in enumerate(self.buckets):
            for number in range(1, len(of_seat)):
                before = of_seat[number - 1][self.cards.rounds[number].up]
                found[seat, number][of_seat[number]] = before
                if (found[seat, number][of_seat[number]] != before).any():
                    return None
        return found

    @cached_property
    def infosets(self) -> PokerInfosets:
        return PokerInfosets(self)

    @property
    def points(self) -> int:
        return int(self.infosets.seat_start[-1])

    @property
    def columns(self) -> int:
        """Infoset columns: one for each infoset and action."""
        return self.sequences - 2

    @property
    def entries(self) -> int:
        """Work of an iteration, in the measure of SequenceForm: more or less three per sequence."""
        return 3 * self.sequences

    @property
    def histories(self) -> int:
        """Histories of the whole tree, were it laid out."""
        return self.game.least_histories

    @cached_property
    def per_hand(self) -> tuple[list[int], list[int]]:
        """By round, for each hand: sequences of one seat and infosets of the other, as linear programmes count them."""
        turn, level = self.betting.turn, self.betting.round
        rounds = range(self.definition.rounds)
        sequences = [int(self._widths[(level == r) & (turn == 1)].sum()) for r in rounds]
        return sequences, [int(((level == r) & (turn == 0)).sum()) for r in rounds]

    @cached_property
    def programme_size(self) -> tuple[int, int]:
        """Rows (and as many columns) of the linear programme: of the game as it is, and within the form's classes.

        One for the empty sequence and one for each sequence and infoset of the other seat, for both seats together
        (rows: infosets of one seat and sequences of the other) [Gilpin & Sandholm 2007].
        """
        d, left = self.definition, self.definition.ranks * self.definition.suits
        deals = math.comb(left, d.hole)
        left -= d.hole
        plain = renamed = 2
        for level, cards in enumerate(d.board):
            deals *= math.comb(left, cards)
            left -= cards
            rows = self.per_hand[0][level] + self.per_hand[1][level]
            plain += rows * deals
            renamed += rows * self.cards.rounds[level].classes
        return plain, renamed

    @cached_property
    def tree_digest(self) -> str:
        """A fingerprint of the rules, and of buckets."""
        plain = acpc.write(self.definition).encode()
        content = hashlib.sha256(b"poker form 1\0" + plain)
        for bucket in [bucket for of_seat in self.buckets or () for bucket in of_seat]:
            content.update(np.ascontiguousarray(bucket, np.int64).tobytes())
        return content.hexdigest()

    def uniform(self) -> Floats:
        """Uniform probabilities by infoset column."""
        strategy = np.ones(self.sequences)
        self._normalise(strategy, strategy)
        return self._columns(strategy)

    def to_strategy(self, probabilities: Floats) -> Floats:
        """Probabilities by infoset column -> by sequence; empty sequences get 1."""
        from kibitz.kernels.poker.plan import to_sequences

        strategy = np.ones(self.sequences)
        for seat in (0, 1):
            self._share(to_sequences, seat, probabilities, strategy)
        return strategy

    def to_probabilities(self, weights: NDArray[Any]) -> Floats:
        """Nonnegative weights by sequence -> probabilities by infoset column; uniform where there is no weight."""
        strategy = np.empty(self.sequences)
        self._normalise(weights, strategy)
        return self._columns(strategy)

    def _columns(self, strategy: Floats) -> Floats:
        from kibitz.kernels.poker.plan import to_columns

        found = np.empty(self.sequences - 2)
        for seat in (0, 1):
            self._share(to_columns, seat, strategy, found)
        return found

    def _normalise(self, weights: NDArray[Any], strategy: NDArray[Any]) -> None:
        from kibitz.kernels.poker.plan import normalise

        for seat in (0, 1):
            self._share(normalise, seat, weights, strategy)

    def _share(self, kernel: Any, *arguments: Any) -> None:
        """Call a kernel on all cores, each thread with room to work in; they share a gate."""
        from kibitz.kernels.barrier import gate_of

        threads = cores()
        gate = gate_of(threads)
        together(lambda thread: kernel(self.table, *arguments, self.room(), thread, threads, gate), threads)

    # Buckets.

    def bucketed(self, buckets: Buckets | list[Ints]) -> PokerForm:
        """The same game where classes of a bucket share rows: for each round, class -> bucket."""
        return PokerForm(self.game, buckets=buckets, cards=self.cards)

    def lift(self, small: PokerForm, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights by sequence of a form with buckets -> of this one: each class reads its bucket's row."""
        assert self.buckets is None and small.buckets is not None
        found = np.ones(self.sequences, weights.dtype)
        for segment, level in enumerate(self.levels.tolist()):
            for seat in (0, 1):
                of_class = small.buckets[seat][level]
                found[self.sequences_of(seat, segment)] = weights[small.sequences_of(seat, segment)][:, of_class]
        return found

    def first_node(self, segment: int) -> int:
        """The first node of a segment's group in the table."""
        return int(self.table.group_node[self.groups.group[segment]])

    def sequences_of(self, seat: int, segment: int) -> Ints:
        """[actions, rows]  the sequences of a seat in a segment, by class of its round or by bucket."""
        group, lane, level = int(self.groups.group[segment]), int(self.groups.lane[segment]), self.levels[segment]
        lanes, width = len(self.groups.lanes[group]), int(self.table.width[seat, group])
        action, base = np.arange(width)[:, None], int(self.table.base[seat, group])
        if self.buckets is not None:
            rows = int(self.table.rows[seat, level])
            return base + (action * rows + np.arange(rows)) * lanes + lane
        cards = self.cards.rounds[level]
        size = np.diff(cards.board_class)[cards.board_of_class]
        before = cards.board_class[cards.board_of_class]
        found: Ints = base + (width * before + action * size + np.arange(cards.classes) - before) * lanes + lane
        return found

    # The payoff operator. Plans by row exist only if a row says what came before it.

    def _remember(self) -> None:
        if not self.perfect_recall:
            raise SolverError("buckets that forget the bucket before have no plans, values and best responses by row")

    def vectors(self, dtype: Any = np.float64) -> tuple[NDArray[Any], NDArray[Any]]:
        """Room at the roots of segments: (reach, 1 at the first segment; values)."""
        roots = np.zeros(self.roots, dtype)
        roots[: self.cards.rounds[0].classes] = 1.0
        return roots, np.zeros(self.roots, dtype)

    def room(self, dtype: Any = np.float64) -> Any:
        """Working space for one thread."""
        from kibitz.kernels.poker.passes import Room

        table = self.table
        shape, lanes = (int(np.diff(table.group_node).max()), self._longest[0]), int(np.diff(table.group_lane).max())
        buckets = (int(table.width.max()), self._longest[1]) if self.buckets is not None else (0, 0)
        wide = shape if dtype == np.float64 else (0, 0)
        return Room(
            np.zeros(shape, dtype), np.zeros(shape, dtype), np.zeros(wide, dtype),
            np.zeros(shape[1] + 54 * lanes, dtype), np.zeros(buckets, dtype),
            np.zeros((1, table.children.shape[1]), np.int32),
        )  # fmt: skip

    def plan(self, strategy: Floats) -> Floats:
        """The plans of both seats that a strategy by sequence makes."""
        return self._plan(strategy, np.ones(self.sequences))

    def _plan(self, strategy: Floats, plan: Floats) -> Floats:
        from kibitz.kernels.poker.plan import plan_of

        self._remember()
        roots, _ = self.vectors()
        plan[self.seat_sequence[:-1]] = 1.0
        for seat in (0, 1):
            self._share(plan_of, seat, strategy, plan, roots)
        return plan

    def gradient(self, seat: int, plan: Floats) -> Floats:
        """What each sequence of a seat is worth where play ends after it, when the other plays its plan."""
        worth = np.zeros(self.sequences)
        self._gradient(seat, plan, worth)
        return worth[self.seat_sequence[seat] : self.seat_sequence[seat + 1]]

    def _gradient(self, seat: int, plan: Floats, worth: Floats) -> None:
        from kibitz.kernels.poker.plan import gradient

        self._remember()
        roots, values = self.vectors()
        self._share(gradient, seat, plan, worth, roots, values)
        first = self.cards.rounds[0]
        worth[self.seat_sequence[seat]] = float(first.share @ values[: first.classes])

    def _respond(self, seat: int, worth: Floats, pure: Floats) -> float:
        """The value of a best response, from a gradient in `worth` (all sequences), which is written over.

        pure: by sequence, filled with the response's choices if it has room.
        """
        from kibitz.kernels.poker.plan import best

        self._remember()
        above = self._row_up if self.buckets is not None else None
        row_up = np.zeros((1, 1), np.int64) if above is None else above[seat]
        values = np.zeros(self.roots)
        self._share(best, seat, row_up, worth, pure, values)
        return float(worth[self.seat_sequence[seat]] + values[: int(self.table.rows[seat, 0])].sum())

    def measure(self, probabilities: Floats) -> Measure:
        """Values and best responses, from probabilities by infoset column."""
        return self.measure_weights(self.to_strategy(probabilities))

    def measure_weights(self, weights: NDArray[Any], pure: Floats | None = None) -> Measure:
        """The same from weights by sequence, of any scale in each row; `pure` is filled with the best responses."""
        plan = np.empty(self.sequences)
        strategy = plan if self.buckets is None else np.empty(self.sequences)
        self._normalise(weights, strategy)
        self._plan(strategy, plan)
        value, best = np.zeros(2), np.zeros(2)
        none = np.zeros(0)
        for seat in (0, 1):
            lo, hi = self.seat_sequence[seat : seat + 2]
            worth = np.zeros(int(hi))
            self._gradient(seat, plan, worth)
            value[seat] = plan[lo:hi] @ worth[lo:hi]
            best[seat] = self._respond(seat, worth, none if pure is None else pure)
        return Measure(value, best, max(0.0, float((best - value).sum())))

    def value(self, probabilities: Floats) -> Floats:
        """Expected utility of each seat."""
        plan = self.plan(self.to_strategy(probabilities))
        lo, hi = self.seat_sequence[:2]
        first = float(plan[lo:hi] @ self.gradient(0, plan))
        return np.array([first, -first])

    def best_response(self, seat: int, probabilities: Floats) -> tuple[float, Floats]:
        """(what a seat's best response gets, the probabilities with that response in its place)."""
        strategy = self.to_strategy(probabilities)
        pure = np.ones(self.sequences)
        found = self.measure_weights(strategy, pure)
        lo, hi = self.seat_sequence[seat : seat + 2]
        strategy[lo:hi] = pure[lo:hi]
        return float(found.best[seat]), self._columns(strategy)

    def best_plans(self, plan: Floats, done: int, count: int, step: float) -> None:
        """plan += step * (best responses - plan), `count` times; a step of 0 stands for 1/(t + 1)."""
        for t in range(done + 1, done + count + 1):
            pure = np.ones(self.sequences)
            for seat in (0, 1):
                worth = np.zeros(self.sequences)
                self._gradient(seat, plan, worth)
                self._respond(seat, worth, pure)
            answer = self.plan(pure)
            answer -= plan
            answer *= step or 1.0 / (t + 1)
            plan += answer

    # What solvers are made of.

    def space(self, rows: Any, start: Floats | None) -> PokerSpace:
        """Where CFR keeps its numbers."""
        if rows is not None and not isinstance(rows, PokerRows):
            raise SolverError("a poker form has no row maps: give it buckets, or solve the game's tree")
        return PokerSpace(self, start, rows=rows)

    def constraints(self, seat: int) -> tuple[Any, Floats]:
        """E and e of a seat in the linear programme."""
        from kibitz.form.poker.programme import constraints

        return constraints(self, seat)

    def payoff_matrix(self) -> Any:
        """The payoffs to seat 0, own sequences by the other's: all that the form avoids, for small games."""
        from kibitz.form.poker.programme import payoff_matrix

        return payoff_matrix(self)


def poker_form(game: Any) -> PokerForm:
    """The poker form of a game, kept as long as the game lives."""
    if not is_poker(game):
        raise GameError(f"{getattr(game, 'spec', '') or 'this game'} has no poker form: it is not poker for two")
    held: PokerForm | None = game.__dict__.get("_poker_form")
    if held is None:
        held = PokerForm(game)
        game.__dict__["_poker_form"] = held
    return held
