"""Ordered games and their signal trees: what chance reveals, to whom, and how hands compare [Gilpin & Sandholm 2007].

In an ordered game players act in the open; all that is hidden are signals. Each is revealed in some round, to one seat
or to all, and at the showdown what a seat has seen ranks it among the others. An `OrderedGame` says so in plain
Python:

    players          number of seats
    order            for each signal, in the order in which they are revealed: (round, seat), or (round, PUBLIC)
    signals(seen)    what can come after the signals seen so far: pairs (signal, weight), weights whole and above 0
    outcome(seen)    when all are out: one number per seat, of which only the order counts, larger is better

A seat's *node* is what it has seen by the end of a round's signals: its own and the public ones. A `SignalTree` has the
nodes of all rounds, and for each node of the last round what others may hold against it and who wins then. That is far
smaller than the game tree: betting is not in it. `Cards` are the signals of two-player poker, laid out by compiled
code; `Walked` does any ordered game, slowly.

    Cards(deck=range(52), hole=1, board=(0, 1, 1))       # Rhode Island hold'em
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError

Ints = NDArray[np.int64]
Signal = Hashable
Seen = tuple[Signal, ...]

PUBLIC = -1
MOST_ROWS = 1 << 25  # pairs of hands that are laid out at most: about 17 bytes each while they are sorted


class OrderedGame(Protocol):
    """What is revealed, and who wins; see the module's text for what each name means."""

    @property
    def players(self) -> int: ...
    @property
    def order(self) -> Sequence[tuple[int, int]]: ...
    def signals(self, seen: Seen) -> Sequence[tuple[Signal, int]]: ...
    def outcome(self, seen: Seen) -> Sequence[int]: ...


@dataclass(frozen=True, eq=False)
class SignalTree:
    """The nodes of seats by round, and the deals that end in each. N nodes of a round, M rows."""

    parent: tuple[Ints, ...]  # by round: [N]  node -> node of the round before, ascending; in the first round its root
    roots: int  # one for each seat, or a single one that seats share where the signals do not tell them apart
    first: Ints  # [N + 1]  first row of a node of the last round; each has one or more
    other: NDArray[np.int32]  # [M, players - 1]  the nodes of the others, beginning with the next seat
    outcome: NDArray[np.int8]  # [M]  a number for each order of the hands, one's own first; two seats: 0 lost, 1 tied,
    #                                 2 won
    weight: Ints  # [M]  relative chance of a row, or empty where all are alike

    @property
    def rounds(self) -> int:
        return len(self.parent)

    @property
    def sizes(self) -> list[int]:
        """Nodes of each round."""
        return [len(parent) for parent in self.parent]

    @cached_property
    def weights(self) -> tuple[Ints, ...]:
        """By round: [N] the relative chance of a node."""
        lengths = np.diff(self.first)
        levels = [np.add.reduceat(self.weight, self.first[:-1]) if len(self.weight) else lengths]
        for parent, size in zip(reversed(self.parent[1:]), reversed(self.sizes[:-1]), strict=True):
            above = np.zeros(size, np.int64)
            np.add.at(above, parent, levels[-1])
            levels.append(above)
        return tuple(reversed(levels))

    def children(self, round: int) -> Ints:
        """[N + 1]  first node of the next round under each node of a round; of round -1, under each root."""
        size = self.roots if round < 0 else len(self.parent[round])
        return np.searchsorted(self.parent[round + 1], np.arange(size + 1)).astype(np.int64)


class Signals(Protocol):
    """A signal tree, and the way from what a seat sees to its node."""

    @property
    def tree(self) -> SignalTree: ...
    def nodes(self, round: int, seen: Any) -> Ints: ...


def signals_of(source: Signals | OrderedGame) -> Signals:
    """A signal tree from what has one, or from the rules of an ordered game."""
    return cast(Signals, source) if hasattr(source, "nodes") else Walked(source)


def deals(game: OrderedGame) -> Iterator[tuple[Seen, Fraction]]:
    """All complete deals with their chances, depth first: a signal's is its weight over the sum of its siblings'."""
    count = len(game.order)
    stack: list[tuple[Seen, Fraction]] = [((), Fraction(1))]
    while stack:
        seen, weight = stack.pop()
        if len(seen) == count:
            yield seen, weight
            continue
        follow = list(game.signals(seen))
        if not follow:
            raise GameError(f"after the signals {seen!r} no other can come, but {count} are to be revealed")
        for signal, times in follow:
            if times != int(times) or times < 1:
                raise GameError(f"signal {signal!r} after {seen!r} has weight {times}: weights are whole and above 0")
        total = sum(int(times) for _, times in follow)
        for signal, times in reversed(follow):
            stack.append(((*seen, signal), weight * Fraction(int(times), total)))


def _whole(chances: list[tuple[Seen, Fraction]]) -> list[tuple[Seen, int]]:
    """Deals with their chances as whole numbers, without a common divisor."""
    scale = math.lcm(*(chance.denominator for _, chance in chances))
    weights = [int(chance * scale) for _, chance in chances]
    common = math.gcd(*weights)
    if sum(weights) // common > np.iinfo(np.int64).max:
        raise GameError("the chances of this game's deals have no common denominator of 63 bits; simplify its weights")
    return [(deal, weight // common) for (deal, _), weight in zip(chances, weights, strict=True)]


@dataclass(frozen=True, eq=False)
class Walked:
    """The signal tree of any ordered game, by a walk through all its deals. Each seat has a root of its own."""

    game: OrderedGame

    def view(self, seat: int, round: int, deal: Seen) -> Seen:
        """What a seat has seen of a deal by a round."""
        rounds_and_seats = zip(deal, self.game.order, strict=True)
        return tuple(signal for signal, (when, who) in rounds_and_seats if when <= round and who in (PUBLIC, seat))

    @property
    def tree(self) -> SignalTree:
        return self._laid[0]

    @cached_property
    def _laid(self) -> tuple[SignalTree, list[dict[tuple[int, Seen], int]]]:
        """The tree, and by round the numbers of what seats can have seen."""
        players, order = self.game.players, list(self.game.order)
        rounds = 1 + max((when for when, _ in order), default=0)
        if players < 2 or any(not (PUBLIC <= who < players and when >= 0) for when, who in order):
            raise GameError(
                "an ordered game has 2 seats or more and signals (round, seat) with rounds from 0 and seats from 0, or "
                f"PUBLIC; this one has players={players} and order={order}"
            )
        every = _whole(list(deals(self.game)))
        seen: list[list[list[Seen]]] = [
            [[self.view(seat, k, deal) for deal, _ in every] for seat in range(players)] for k in range(rounds)
        ]
        parents: list[Ints] = []
        numbers: list[dict[tuple[int, Seen], int]] = []
        for k in range(rounds):
            parent: dict[tuple[int, Seen], int] = {}
            for seat in range(players):
                for d in range(len(every)):
                    parent[seat, seen[k][seat][d]] = numbers[-1][seat, seen[k - 1][seat][d]] if k else seat
            ranked = sorted(parent, key=lambda key: parent[key])
            numbers.append({key: number for number, key in enumerate(ranked)})
            parents.append(np.array([parent[key] for key in ranked], np.int64))
        orders: dict[tuple[int, ...], int] = {(0, 1): 0, (0, 0): 1, (1, 0): 2} if players == 2 else {}
        rows: list[tuple[int, list[int], int, int]] = []
        for d, (deal, weight) in enumerate(every):
            values = list(self.game.outcome(deal))
            if len(values) != players:
                raise GameError(f"the outcome of {deal!r} has {len(values)} numbers for {players} seats")
            places = [sorted(set(values)).index(value) for value in values]
            nodes = [numbers[-1][seat, seen[-1][seat][d]] for seat in range(players)]
            for seat in range(players):
                turned = tuple(places[seat:] + places[:seat])
                outcome = orders.setdefault(turned, len(orders))
                rows.append((nodes[seat], nodes[seat + 1 :] + nodes[:seat], outcome, weight))
        rows.sort(key=lambda row: row[0])
        if len(orders) > 127:
            raise GameError(f"this game has {len(orders)} orders of hands at the showdown; 127 are the most")
        weights = np.array([row[3] for row in rows], np.int64)
        tree = SignalTree(
            tuple(parents), players, np.searchsorted([row[0] for row in rows], np.arange(len(numbers[-1]) + 1)),
            np.array([row[1] for row in rows], np.int32).reshape(len(rows), players - 1),
            np.array([row[2] for row in rows], np.int8),
            weights if len(set(weights.tolist())) > 1 else np.empty(0, np.int64),
        )  # fmt: skip
        return tree, numbers

    def nodes(self, round: int, seen: Sequence[tuple[int, Seen]]) -> Ints:
        """Nodes of pairs (seat, the signals that it has seen by this round, in the order of the game)."""
        _check_round(round, self.tree.rounds)
        numbers = self._laid[1][round]
        for seat, view in seen:
            if (seat, tuple(view)) not in numbers:
                raise GameError(f"seat {seat} can not have seen {tuple(view)!r} by round {round} of this game")
        return np.array([numbers[seat, tuple(view)] for seat, view in seen], np.int64)


def poker_strength(cards: ArrayLike) -> Ints:
    """The values of hands of 1, 2, 3 or 5 to 7 cards in poker; larger is better."""
    from kibitz.poker.rules.rules import strength

    return strength(cards)


@dataclass(frozen=True)
class Cards:
    """The signals of two-player poker: private cards for each seat, and cards of the board before each round.

    Seats see the same kinds of things, so they share one tree: what is said of a node holds for both. Hands are given
    as cards of the deck, private ones first, then the board by round.
    """

    deck: Sequence[int]  # numbers of cards, as `strength` reads them
    hole: int  # private cards of a seat
    board: Sequence[int]  # cards turned before each round
    strength: Callable[[Ints], Ints] = poker_strength  # hands [n, all cards] -> [n], larger is better

    def __post_init__(self) -> None:
        object.__setattr__(self, "deck", tuple(int(card) for card in self.deck))
        object.__setattr__(self, "board", tuple(int(cards) for cards in self.board))
        if self.hole < 1 or not self.board or min(self.board) < 0:
            raise GameError(
                f"hole={self.hole} and board={list(self.board)} should be 1 or more private cards, and for each round "
                "how many cards are turned before it, such as board=(0, 1, 1)"
            )
        if len(set(self.deck)) < len(self.deck) or min(self.deck, default=0) < 0 or len(self.deck) > 255:
            raise GameError("a deck is at most 255 different cards, whole numbers from 0")
        if 2 * self.hole + sum(self.board) > len(self.deck):
            raise GameError(
                f"a deck of {len(self.deck)} cards is too small for two seats with {self.hole} private cards each and "
                f"a board of {sum(self.board)}"
            )

    @classmethod
    def of(cls, definition: Any) -> Cards:
        """The signals of a poker game (kibitz.poker.rules.acpc.Definition): what has a deck, hole and board."""
        if definition.players != 2:
            raise GameError(f"these are the signals of two-player games; this one has {definition.players} players")
        return cls(definition.deck, definition.hole, definition.board)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """By round: the sizes of the groups of cards that a seat has seen."""
        return tuple((self.hole, *(c for c in self.board[: k + 1] if c)) for k in range(len(self.board)))

    @property
    def signal_nodes(self) -> int:
        """The nodes of the whole signal tree, one signal a level: the root, one seat's cards, the other's, boards."""
        left, level, count = len(self.deck), 1, 1
        for size in (self.hole, self.hole, *(cards for cards in self.board if cards)):
            level *= math.comb(left, size)
            left -= size
            count += level
        return count

    @cached_property
    def _choose(self) -> Ints:
        most = max(self.hole, *self.board)
        return np.array([[math.comb(n, k) for k in range(most + 1)] for n in range(len(self.deck) + 1)], np.int64)

    @cached_property
    def _laid(self) -> tuple[SignalTree, tuple[NDArray[np.int32], ...]]:
        """The tree, and by round a table from places of hands to nodes, -1 where there is none."""
        from kibitz.poker.buckets.kernels import gameshrink as kernels

        n, width = len(self.deck), self.hole + sum(self.board)
        ways = math.comb(n - width, self.hole)
        sizes = self.groups[-1]
        nodes = math.prod(math.comb(n - sum(sizes[:k]), size) for k, size in enumerate(sizes))
        slots = math.prod(math.comb(n, size) for size in sizes)
        if max(nodes * ways, slots) > MOST_ROWS:
            raise GameError(
                f"{nodes:,} hands on the last round with {ways:,} against each are too many to lay out (at most "
                f"{MOST_ROWS:,} pairs): take a smaller deck, or fewer rounds"
            )
        hands, parents, tables = np.empty((1, 0), np.uint8), [], []
        place = np.zeros(1, np.int64)
        for k, groups in enumerate(self.groups):
            before = len(hands) if k else 1
            for size in (self.hole, self.board[0]) if k == 0 else (self.board[k],):
                if size:
                    more = math.comb(n - hands.shape[1], size)
                    longer = np.empty((len(hands) * more, hands.shape[1] + size), np.uint8)
                    kernels.extend(hands, n, size, longer)
                    hands = longer
            parents.append(np.arange(len(hands)) // (len(hands) // before))
            place = np.empty(len(hands), np.int64)
            kernels.places(hands, np.array(groups, np.int64), self._choose, place)
            table = np.full(math.prod(math.comb(n, size) for size in groups), -1, np.int32)
            table[place] = np.arange(len(hands), dtype=np.int32)
            tables.append(table)
        value = np.asarray(self.strength(np.array(self.deck, np.int64)[hands]), np.int64)
        other, outcome = np.empty(nodes * ways, np.int32), np.empty(nodes * ways, np.int8)
        kernels.opponents(hands, self.hole, n, value, place, tables[-1], self._choose, other, outcome)
        first = np.arange(0, nodes * ways + 1, ways)
        tree = SignalTree(tuple(parents), 1, first, other[:, None], outcome, np.empty(0, np.int64))
        return tree, tuple(tables)

    @property
    def tree(self) -> SignalTree:
        return self._laid[0]

    def nodes(self, round: int, seen: ArrayLike) -> Ints:
        """Nodes of hands: cards [n, private and board so far] -> [n]. The order within a group does not count."""
        from kibitz.poker.buckets.kernels import gameshrink as kernels

        _check_round(round, len(self.board))
        groups, hands = self.groups[round], np.asarray(seen)
        if hands.ndim != 2 or hands.shape[1] != sum(groups) or hands.dtype.kind not in "iu":
            raise GameError(
                f"hands of round {round} are whole numbers [n, {sum(groups)}]: {self.hole} private cards, then the "
                f"board; these have the shape {list(hands.shape)}"
            )
        deck = np.array(self.deck, np.int64)
        ascending = np.argsort(deck)
        at = ascending[np.minimum(np.searchsorted(deck, hands, sorter=ascending), len(deck) - 1)]
        if (deck[at] != hands).any():
            raise GameError(f"card {hands[deck[at] != hands][0]} is not in this deck of {len(deck)}")
        ordered = np.sort(at, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            twice = int(np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))[0])
            raise GameError(f"hand {twice} holds a card twice: {hands[twice].tolist()}")
        place = np.empty(len(hands), np.int64)
        kernels.places(at.astype(np.uint8), np.array(groups, np.int64), self._choose, place)
        return self._laid[1][round][place].astype(np.int64)


def _check_round(round: int, rounds: int) -> None:
    if not 0 <= round < rounds:
        raise GameError(f"rounds are 0 to {rounds - 1} here, not {round}")
