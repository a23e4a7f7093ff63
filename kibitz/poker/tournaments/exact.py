"""Hands of jam or fold for two and three players, with all cards: no sampling, for many states at once.

Moments with one other hand are products of the tables of two hands. Those with two others are sums over tables of three
hands (`poker/tournaments/kernels/contract.py`), 13 for all orders, three where only two of the hands are compared.

A seat acts once, so what it gets by an action is a sum over how the others act: a product over them of the probability
to jam, v, or to fold, 1 - v. Multiplied out, every summand is a product of v's of no other, of one, or of two others,
together with who beats whom among those who are in. A *moment* is such a product, summed over the hands of the others
and all boards, by the hand of the seat itself. Moments depend on strategies alone; what an action is worth is a sum of
moments times what the outcomes of the hand pay:

    worth[node, action] = sum over terms of  sign * payoff[outcome, seat] * moment

For a seat that waits for nobody's fold this respects all cards: a hand that was folded cannot lie on the board either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.holdem import classes
from kibitz.cards.strengths import each
from kibitz.cards.triples import BOARDS, DEALS, Triples, triples
from kibitz.poker.tournaments.hand import FOLD, JAM, JamFoldHand, weak_orders

Floats = NDArray[np.float32]
CLASSES = 169
# A table of three hands, by the ranks of the seat and two others, in that order; "" is who is not compared. The others
# change places for patterns that are not here.
PATTERNS: dict[tuple[Any, Any, Any], str] = {
    (0, 1, 2): "best", (1, 0, 2): "middle", (2, 0, 1): "worst", (0, 0, 1): "tops", (1, 0, 0): "last",
    (0, 1, 1): "first", (1, 0, 1): "bottoms", (0, 0, 0): "all", (0, 1, ""): "beats", (1, 0, ""): "loses",
    (0, 0, ""): "ties", ("", 0, 1): "others", ("", 0, 0): "others tie",
}  # fmt: skip


@dataclass(eq=False)
class HandTables:
    """How likely two and three hands are, and in which order they end. Classes of hands in the order of `classes`."""

    prior: NDArray[np.float64]  # [169]
    pairs: dict[tuple[int, ...], NDArray[np.float64]]  # [hand, other] by the ranks of both; () for all
    counts: Callable[[], Triples]
    total: int  # deals of three hands and a board

    @cached_property
    def triples(self) -> dict[str, Floats]:
        """How likely three hands are, by the pattern in which they end, in panels as kernels read them."""
        from kibitz.poker.tournaments.kernels.contract import PANELS, WIDE

        lanes = WIDE // int(PANELS)

        def panels(array: NDArray[np.int64]) -> Floats:
            wide = np.zeros((CLASSES, CLASSES, WIDE), np.float32)
            np.divide(array, self.total, out=wide[:, :, :CLASSES], casting="same_kind")
            return np.ascontiguousarray(wide.reshape(CLASSES, CLASSES, -1, lanes).transpose(0, 2, 1, 3)).ravel()

        return {name: panels(array) for name, array in _arrays(self.counts()).items()}

    @cached_property
    def strength(self) -> NDArray[np.float64]:
        """[169]  the equity of hands against a random one."""
        return np.asarray((self.pairs[0, 1] + self.pairs[0, 0] / 2).sum(axis=1) / self.prior)


@lru_cache(1)
def hold_em() -> HandTables:
    counts = classes()
    whole = 1326 * 1225 * 1_712_304
    pairs: dict[tuple[int, ...], NDArray[np.float64]] = {
        (0, 1): counts.wins / whole, (1, 0): counts.losses / whole, (0, 0): counts.ties / whole,
    }  # fmt: skip
    pairs[()] = sum(pairs.values(), np.zeros((CLASSES, CLASSES)))
    return HandTables(counts.hands / 1326, pairs, triples, DEALS * BOARDS)


def _arrays(counts: Triples) -> dict[str, NDArray[np.int64]]:
    """[one other, another, the seat's hand] by pattern."""
    strict, top, bottom, tie = counts
    best, middle, worst = strict.transpose(1, 2, 0), strict.transpose(0, 2, 1), strict
    tops, last = top.transpose(1, 2, 0), top
    first, bottoms = bottom, bottom.transpose(2, 1, 0)

    def swapped(array: NDArray[np.int64]) -> NDArray[np.int64]:
        return array.transpose(1, 0, 2)

    beats = best + swapped(best) + swapped(middle) + swapped(tops) + first
    ties = tops + swapped(bottoms) + tie
    loses = middle + worst + swapped(worst) + last + bottoms
    others = best + middle + worst + tops + bottoms
    others_tie = last + first + tie
    return {
        "best": best, "middle": middle, "worst": worst, "tops": tops, "last": last, "first": first,
        "bottoms": bottoms, "all": tie, "beats": beats, "loses": loses, "ties": ties, "others": others,
        "others tie": others_tie,
    }  # fmt: skip


Factor = tuple[int, int]  # seat, and its node: the probability with which it jams there


@dataclass(frozen=True)
class Moment:
    """A sum over the hands of others, by the hand of a seat."""

    seat: int
    factors: tuple[Factor, ...]  # in order of seats
    inside: tuple[int, ...]  # who is compared
    ranks: tuple[int, ...]  # and how they end; none if nobody is


@dataclass(frozen=True)
class PayoffTerm:
    row: int  # 2 * node + action
    outcome: int
    moment: int
    sign: int


class Terms(NamedTuple):
    """All terms of a hand, and the moments that they need."""

    hand: JamFoldHand
    terms: tuple[PayoffTerm, ...]
    moments: tuple[Moment, ...]


@lru_cache(8)
def terms_of(players: int) -> Terms:
    hand = JamFoldHand(players)
    moments: dict[Moment, int] = {}
    terms = []
    for k, (seat, jammed) in enumerate(hand.nodes):
        for action in (FOLD, JAM):
            for inside, decided in _ends(hand, seat, jammed, action):
                for sign, factors in _expanded(decided):
                    for outcome, moment in _compared(hand, seat, inside, factors):
                        number = moments.setdefault(moment, len(moments))
                        terms.append(PayoffTerm(2 * k + action, outcome, number, sign))
    return Terms(hand, tuple(terms), tuple(moments))


def _ends(
    hand: JamFoldHand, seat: int, jammed: tuple[int, ...], action: int
) -> Iterator[tuple[tuple[int, ...], list[tuple[Factor, int]]]]:
    """(who is in at the end, what each of the others did where): for all that the later seats can do."""
    last, number = hand.players - 1, hand.node_number
    before = []
    for other in range(seat):
        known = tuple(each for each in jammed if each < other)
        before.append(((other, number[other, known]), int(other in jammed)))
    for later in product((FOLD, JAM), repeat=last - seat):
        inside = (*jammed, *((seat,) if action else ()))
        decided = list(before)
        for other, does in zip(range(seat + 1, last + 1), later, strict=True):
            if other == last and not inside:
                if does:  # the big blind has won and decides nothing: counted once, below
                    break
                continue
            decided.append(((other, number[other, inside]), does))
            inside = (*inside, other) if does else inside
        else:
            yield inside, decided


def _compared(
    hand: JamFoldHand, seat: int, inside: tuple[int, ...], factors: tuple[Factor, ...]
) -> Iterator[tuple[int, Moment]]:
    first = hand.first_of(inside)
    if len(inside) < 2:
        yield first, Moment(seat, factors, (), ())
        return
    for k, ranks in enumerate(weak_orders(len(inside))):
        yield first + k, Moment(seat, factors, inside, ranks)


def _expanded(decided: list[tuple[Factor, int]]) -> Iterator[tuple[int, tuple[Factor, ...]]]:
    """A product of v and 1 - v, multiplied out: (sign, factors)."""
    folds = [factor for factor, does in decided if not does]
    jams = [factor for factor, does in decided if does]
    for chosen in product((False, True), repeat=len(folds)):
        taken = [factor for factor, take in zip(folds, chosen, strict=True) if take]
        yield (-1) ** len(taken), tuple(sorted([*jams, *taken]))


@dataclass(frozen=True)
class RangeSum:
    """A sum of two ranges over a table."""

    table: str = ""
    one: int = 0  # node of the range over the table's first hand
    two: int = 0


class ExactHand:
    """Moments and values for two or three players."""

    def __init__(self, players: int, tables: HandTables | None = None) -> None:
        self.players, self.tables = players, tables or hold_em()
        self.terms: Terms = terms_of(players)
        self.hand = self.terms.hand

    @cached_property
    def _plan(self) -> tuple[list[RangeSum], list[tuple[int, ...]]]:
        """(columns to be summed over tables, and of which columns each moment of two others is the sum)."""
        wanted: dict[Any, set[tuple[int, ...]]] = {}
        for moment in self.terms.moments:
            if len(moment.factors) == 2:
                wanted.setdefault((moment.seat, moment.factors), set()).add(moment.inside)
        sources: list[RangeSum] = []
        column: dict[Any, int] = {}
        for (seat, factors), compared in wanted.items():
            most = max(compared, key=len)
            several = len({inside for inside in compared if inside}) > 1
            inside = tuple(range(3)) if several or len(most) == 3 else most
            for ranks in weak_orders(len(inside)):
                column[seat, factors, inside, ranks] = len(sources)
                sources.append(_source(seat, factors, inside, ranks))
        sums = []
        for moment in self.terms.moments:
            fits = [
                k for (seat, factors, inside, ranks), k in column.items()
                if (seat, factors) == (moment.seat, moment.factors) and _agree(inside, ranks, moment)
            ]  # fmt: skip
            sums.append(tuple(fits))
        return sources, sums

    def moments(self, jams: Floats, threads: int | None = None) -> Floats:
        """[states, moments, 169]  of the strategies [states, nodes, 169]."""
        moments = np.zeros((len(jams), len(self.terms.moments), CLASSES), np.float32)
        sources, sums = self._plan if self.players == 3 else ([], [()] * len(self.terms.moments))
        columns = self._contracted(jams, sources, threads) if sources else []
        for k, moment in enumerate(self.terms.moments):
            if not moment.factors:
                moments[:, k] = self.tables.prior
            elif len(moment.factors) == 1:
                ((_, node),) = moment.factors
                moments[:, k] = jams[:, node] @ self._pairs(moment).astype(np.float32).T
            else:
                for c in sums[k]:
                    moments[:, k] += columns[c]
        return moments

    def _pairs(self, moment: Moment) -> NDArray[np.float64]:
        ranks = moment.ranks if not moment.inside or moment.inside[0] == moment.seat else moment.ranks[::-1]
        return self.tables.pairs[ranks]

    def _contracted(self, jams: Floats, sources: list[RangeSum], threads: int | None) -> list[Floats]:
        from kibitz.poker.tournaments.kernels.contract import LISTED, WIDE, contract

        tables, states = self.tables.triples, len(jams)
        ranges = [np.ascontiguousarray(jams[:, node]) for node in range(jams.shape[1])]

        def work(k: int) -> Floats:
            source, out = sources[k], np.empty(states * WIDE, np.float32)
            room = np.zeros((states, LISTED), np.uint64), np.zeros((states, LISTED), np.float32)
            contract(tables[source.table], ranges[source.one], ranges[source.two], 0, states, *room, out)
            return out.reshape(states, WIDE)[:, :CLASSES]

        return each(work, len(sources), threads=threads)

    # Values of actions

    @cached_property
    def _index(self) -> tuple[Any, ...]:
        """Of the terms: (row, moment, outcome, seat, sign); and the sums by row and moment, by seat and outcome."""
        from scipy.sparse import csr_matrix

        terms, moments, ends = self.terms.terms, len(self.terms.moments), len(self.hand.outcomes)
        row, moment, outcome, sign = (
            np.array([getattr(each, name) for each in terms]) for name in ("row", "moment", "outcome", "sign")
        )
        seat = np.array([self.hand.nodes[k // 2][0] for k in row])
        term, ones = np.arange(len(terms)), np.ones(len(terms))
        into_rows = csr_matrix((ones, (row * moments + moment, term)), (2 * len(self.hand.nodes) * moments, len(terms)))
        into_ends = csr_matrix((ones, (seat * ends + outcome, term)), (self.players * ends, len(terms)))
        return row, moment, outcome, seat, sign, into_rows, into_ends

    def worth(self, moments: Floats, payoffs: NDArray[Any]) -> NDArray[np.float64]:
        """[states, nodes, 2, 169]  what folding and jamming bring to the seat of a node, by its hand: times the
        probability of the hand, and that the others let it come to that. payoffs: [states, outcomes, seats]."""
        _, _, outcome, seat, sign, into_rows, _ = self._index
        factor = (into_rows @ (sign * payoffs[:, outcome, seat]).T).T.astype(np.float32)
        values = np.matmul(factor.reshape(len(moments), -1, moments.shape[1]), moments)
        return np.asarray(values.reshape(len(moments), len(self.hand.nodes), 2, CLASSES), np.float64)

    def outcomes(self, moments: Floats, jams: NDArray[Any]) -> NDArray[np.float64]:
        """[states, seats, outcomes]  how likely the ends of a hand are if a seat plays by `jams` and the others by
        what moments were made of."""
        row, moment, _, _, sign, _, into_ends = self._index
        own = np.stack((1 - jams, jams), axis=2).reshape(len(jams), -1, CLASSES).astype(np.float32)
        chance = np.matmul(own, moments.transpose(0, 2, 1)).astype(np.float64)  # [states, rows, moments]
        chances = (into_ends @ (sign * chance[:, row, moment]).T).T.reshape(len(jams), self.players, -1)
        # The big blind does not act if nobody jams.
        chances[:, -1, 0] = 0.0
        chances[:, -1, 0] = 1.0 - chances[:, -1].sum(axis=-1)
        return np.asarray(chances)


def _source(seat: int, factors: tuple[Factor, ...], inside: tuple[int, ...], ranks: tuple[int, ...]) -> RangeSum:
    (one, node_one), (two, node_two) = factors
    rank: Callable[[int], Any] = lambda who: ranks[inside.index(who)] if who in inside else ""  # noqa: E731
    pattern = rank(seat), rank(one), rank(two)
    if pattern in PATTERNS:
        return RangeSum(PATTERNS[pattern], node_one, node_two)
    return RangeSum(PATTERNS[pattern[0], pattern[2], pattern[1]], node_two, node_one)


def _agree(inside: tuple[int, ...], ranks: tuple[int, ...], moment: Moment) -> bool:
    """Whether an order of some seats is one of those that a moment sums up."""
    if not moment.inside:
        return True
    order = [ranks[inside.index(seat)] for seat in moment.inside]
    places = {rank: k for k, rank in enumerate(sorted(set(order)))}
    return tuple(places[rank] for rank in order) == moment.ranks
