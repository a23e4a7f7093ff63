"""PokerLayout: what lies where in a two-player poker game, without tree and payoff matrix.

It is the sequence form of the game up to the names of suits, factored: betting tree times cards.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.core.resources import MARGIN, free_memory
from kibitz.poker.exact.deal import Deal, deal, least_classes
from kibitz.poker.exact.table import MOST_LANES, Buckets, groups_of, segments_of, table_of
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import BettingTree

if TYPE_CHECKING:
    from kibitz.poker.rules.rules import Poker

Ints = NDArray[np.int64]

# Bytes by sequence that a solve by CFR takes: three arrays of float32; plans of both seats and the worth of one's
# sequences in float64, where a solver wants them; and in the end the profile.
BYTES_PER_HAND = 240  # hands on boards are kept one by one, and twice while they are enumerated
BYTES_PER_SEQUENCE = 3 * 4 + 8 + 4 + 8 + 8
MOST_CLASSES = 20_000_000  # that boards and hands are enumerated for


class PokerLayout:
    """Betting tree times cards. Sequences of seat 0 come first; each seat's empty one leads its own."""

    zero_sum = True
    seats = players = 2

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
                "solve its tree (kibitz.games.tree.tree_of) where that fits, or sample it"
            )
        self.game, self.definition, self.spec = game, definition, game.spec
        most_bytes = max(0, free_memory() - MARGIN) if most_bytes is None else most_bytes
        betting: BettingTree = game.betting
        self.betting, self.segments = betting, segments_of(betting, definition.rounds)
        self.levels = self.segments.levels
        if cards is None:
            self._refuse(least_classes(definition), most_bytes, "at least ")
            cards = deal(definition)
        self.cards = cards
        # [2, classes of the first round]  how likely each seat comes to the game at all with a hand: endgames have less
        self.ranges = np.ones((2, cards.rounds[0].classes))
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

    def _checked(self, buckets: Sequence[ArrayLike]) -> list[Ints]:
        """Buckets of a seat as arrays, if they are that."""
        if len(buckets) != len(self.cards.rounds):
            raise SolverError(f"buckets are given for each of the {len(self.cards.rounds)} rounds")
        arrays = [np.asarray(of) for of in buckets]
        for number, (round_, of) in enumerate(zip(self.cards.rounds, arrays, strict=True)):
            whole = of.dtype.kind in "iu" and of.shape == (round_.classes,)
            if not whole or of.min() < 0 or len(np.unique(of)) != of.max() + 1:
                raise SolverError(
                    f"round {number} has {round_.classes:,} classes of hands; each needs a bucket, numbered from 0 on "
                    "without gaps"
                )
        return [of.astype(np.int64) for of in arrays]

    @property
    def in_buckets(self) -> bool:
        """Whether classes of hands share rows."""
        return self.buckets is not None

    @property
    def rows_by_seat(self) -> Ints:
        """[seats, rounds]  classes of hands, or buckets."""
        return self.table.rows

    @cached_property
    def perfect_recall(self) -> bool:
        """Without buckets always; with them where a bucket tells the one before."""
        return self.buckets is None or self._row_up is not None

    @cached_property
    def _row_up(self) -> Ints | None:
        """[seats, rounds, most buckets]  the bucket before; None where classes of a bucket come from different ones."""
        assert self.buckets is not None
        row_up = np.zeros((2, self.definition.rounds, int(self.table.rows.max())), np.int64)
        for seat, of_seat in enumerate(self.buckets):
            for number in range(1, len(of_seat)):
                before = of_seat[number - 1][self.cards.rounds[number].up]
                row_up[seat, number][of_seat[number]] = before
                if (row_up[seat, number][of_seat[number]] != before).any():
                    return None
        return row_up

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

    def first_node(self, segment: int) -> int:
        """The first node of a segment's group in the table."""
        return int(self.table.group_node[self.groups.group[segment]])

    def sequences_at(self, seat: int, segment: int, k: int) -> Ints:
        """[actions, rows]  the sequences of a seat's actions at node k of a segment."""
        first, table = self.first_node(segment), self.table
        children = first + table.children[first + k, : int(table.count[first + k])]
        sequences: Ints = self.sequences_of(seat, segment)[table.action[children]]
        return sequences

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
        sequences: Ints = base + (width * before + action * size + np.arange(cards.classes) - before) * lanes + lane
        return sequences
