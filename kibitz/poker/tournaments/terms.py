"""What an action is worth in a hand of jam or fold, as sums of products of ranges.

A seat acts once, so what it gets by an action is a sum over how the others act: a product over them of the probability
to jam, v, or to fold, 1 - v. Multiplied out, every summand is a product of v's of no other, of one, or of two others,
together with who beats whom among those who are in. A *moment* is such a product, summed over the hands of the others
and all boards, by the hand of the seat itself. Moments depend on strategies alone; what an action is worth is a sum of
moments times what the outcomes of the hand pay:

    worth[node, action] = sum over terms of  sign * payoff[outcome, seat] * moment

For a seat that waits for nobody's fold this respects all cards: a hand that was folded cannot lie on the board either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from kibitz.poker.tournaments.hand import FOLD, JAM, JamFoldHand, weak_orders

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
