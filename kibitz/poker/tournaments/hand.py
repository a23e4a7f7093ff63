"""A hand of jam or fold: who decides what after whom, how it can end, and who has how many chips then.

Seats are in the order in which they act before the flop; the last two are the small and the big blind, and with two
players the first is the small blind, who has the button. Each seat decides once, knowing who jammed before: a *node* is
a seat and the set of those. If nobody jams the big blind has won. A seat whose blind or ante took all its chips, or who
has nothing to pay, stays in: there it is *forced*.

All who are in at the end show down. A pot is won by the best of those who paid all of it; hands that tie share it in
whole chips, and odd ones go to whoever sits first after the button.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError

Ints = NDArray[np.int64]
MOST = 6  # players
FOLD, JAM = 0, 1


@lru_cache(16)
def weak_orders(hands: int) -> tuple[tuple[int, ...], ...]:
    """All orders of some hands, ties allowed: the rank of each, 0 the best, without gaps. 1, 3, 13, 75, 541, ..."""
    orders = [order for order in product(range(hands), repeat=hands) if set(order) == set(range(max(order) + 1))]
    return tuple(sorted(orders))


@dataclass(frozen=True)
class JamFoldOutcome:
    """How a hand can end: who is in, and their ranks."""

    inside: tuple[int, ...]  # seats, at least one
    ranks: tuple[int, ...]  # of each, 0 the best


@dataclass(frozen=True)
class JamFoldHand:
    """The decisions and ends of a hand for some players."""

    players: int

    def __post_init__(self) -> None:
        if not 2 <= self.players <= MOST:
            raise GameError(f"{self.players} players: a hand of jam or fold is for 2 to {MOST}")

    @cached_property
    def nodes(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(seat, seats that jammed before it)."""
        last = self.players - 1
        decisions = []
        for seat in range(self.players):
            for bits in range(1 << seat):
                # What the first seats did counts most, so that nodes of a seat come in the order of their histories.
                jammed = tuple(other for other in range(seat) if bits >> (seat - 1 - other) & 1)
                if jammed or seat < last:
                    decisions.append((seat, jammed))
        return tuple(decisions)

    @cached_property
    def node_number(self) -> dict[tuple[int, tuple[int, ...]], int]:
        return {node: k for k, node in enumerate(self.nodes)}

    @cached_property
    def outcomes(self) -> tuple[JamFoldOutcome, ...]:
        """Nobody jammed, one did, or some show down in one of their orders."""
        endings = [JamFoldOutcome((self.players - 1,), (0,))]
        for bits in range(1, 1 << self.players):
            inside = tuple(seat for seat in range(self.players) if bits >> (self.players - 1 - seat) & 1)
            if len(inside) > 1:
                endings += [JamFoldOutcome(inside, ranks) for ranks in weak_orders(len(inside))]
            elif inside[0] < self.players - 1:
                endings.append(JamFoldOutcome(inside, (0,)))
        return tuple(endings)

    @cached_property
    def outcome_number(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
        return {(outcome.inside, outcome.ranks): k for k, outcome in enumerate(self.outcomes)}

    def first_of(self, inside: tuple[int, ...]) -> int:
        """The first outcome in which these are in; of several its orders follow."""
        inside = inside or (self.players - 1,)
        return self.outcome_number[inside, weak_orders(len(inside))[0]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What players call the seats."""
        if self.players == 2:
            return ("SB", "BB")
        early = ("UTG", "MP", "CO")[3 - (self.players - 3) :] if self.players > 3 else ()
        return (*early, "BTN", "SB", "BB")

    def decision(self, seat: int, jammed: Sequence[int]) -> str:
        """What players call a node: "SB after BTN jammed"."""
        after = " and ".join(self.names[other] for other in jammed)
        return f"{self.names[seat]} after {after} jammed" if after else f"{self.names[seat]}, first to jam"

    @property
    def after_button(self) -> tuple[int, ...]:
        """Seats in the order in which odd chips go."""
        if self.players == 2:
            return (1, 0)
        last = self.players - 1
        return (last - 1, last, *range(last - 1))

    # Chips. stacks: [..., players]

    def posted(self, stacks: Ints, small: int, big: int, ante: int) -> Ints:
        """What each pays before the cards: an ante, and the blinds."""
        chips = np.asarray(stacks, np.int64)
        blinds = np.zeros(self.players, np.int64)
        blinds[-2:] = small, big
        paid = np.minimum(chips, ante)
        return np.asarray(paid + np.minimum(chips - paid, blinds))

    def forced(self, stacks: Ints, posted: Ints) -> NDArray[np.bool_]:
        """[..., nodes]  where a seat stays in without a decision: it has nothing left, or nothing to pay."""
        chips = np.asarray(stacks, np.int64)
        stays = np.zeros((*chips.shape[:-1], len(self.nodes)), bool)
        for k, (seat, jammed) in enumerate(self.nodes):
            asked = posted[..., seat + 1 :].max(axis=-1, initial=0)  # of those who are yet to act
            for other in jammed:
                asked = np.maximum(asked, chips[..., other])
            stays[..., k] = (posted[..., seat] == chips[..., seat]) | (asked <= posted[..., seat])
        return stays

    @cached_property
    def _ends(self) -> tuple[NDArray[np.bool_], Ints]:
        """[outcomes, seats]  (who is in, and their ranks)."""
        inside = np.zeros((len(self.outcomes), self.players), bool)
        rank = np.full((len(self.outcomes), self.players), self.players, np.int64)
        for k, outcome in enumerate(self.outcomes):
            inside[k, list(outcome.inside)] = True
            rank[k, list(outcome.inside)] = outcome.ranks
        return inside, rank

    def after(self, stacks: Ints, posted: Ints) -> Ints:
        """[..., outcomes, seats]  stacks after a hand, by how it ends."""
        chips, posted = np.asarray(stacks, np.int64)[..., None, :], posted[..., None, :]
        inside, rank = self._ends
        paid = np.where(inside, chips, posted)
        left, floor = chips - paid, np.zeros(paid.shape[:-1], np.int64)
        # Pots from the lowest on: each goes up to what the next of those who are in has paid; the last takes the rest.
        levels = np.sort(np.where(inside, paid, -1), axis=-1)
        top = paid.max(axis=-1)
        for k in range(self.players):
            level = np.where(levels[..., k] == levels[..., -1], top, np.maximum(levels[..., k], 0))
            pot = (np.clip(paid, floor[..., None], np.maximum(level, floor)[..., None]) - floor[..., None]).sum(axis=-1)
            able = inside & (paid >= levels[..., k][..., None])
            best = np.where(able, rank, self.players).min(axis=-1)
            wins = able & (rank == best[..., None])
            many = wins.sum(axis=-1)
            left = left + np.where(wins, (pot // many)[..., None], 0)
            odd = pot % many
            for seat in self.after_button:
                takes = wins[..., seat] & (odd > 0)
                left[..., seat] += takes
                odd = odd - takes
            floor = np.maximum(floor, level)
        return left


def placed(before: Ints, after: Ints, prizes: Sequence[float]) -> NDArray[np.float64]:
    """[..., players]  the prizes of those who have no chips left, 0 for the others. Who began the hand with more chips
    is placed higher; equals share. before, after: [..., players]; prizes: for as many places as there are players."""
    chips = np.asarray(after)
    began = np.broadcast_to(before, chips.shape)
    sums = np.concatenate(([0.0], np.cumsum(prizes)))
    gone, won = chips <= 0, np.zeros(chips.shape)
    for seat in range(chips.shape[-1]):
        mine = began[..., seat : seat + 1]
        place = (~gone).sum(axis=-1) + (gone & (began > mine)).sum(axis=-1)
        equal = (gone & (began == mine)).sum(axis=-1)
        out = gone[..., seat]
        won[..., seat][out] = (sums[(place + equal)[out]] - sums[place[out]]) / equal[out]
    return won


def survivors(after: Ints) -> Iterator[tuple[tuple[Ints, ...], list[int]]]:
    """(where, which seats) still have chips, for each set of seats. after: [..., players]."""
    code = (after > 0) @ (1 << np.arange(after.shape[-1]))
    for pattern in np.unique(code).tolist():
        yield np.nonzero(code == pattern), [seat for seat in range(after.shape[-1]) if pattern >> seat & 1]


def next_seats(after: Sequence[int]) -> tuple[int, ...]:
    """Who sits where in the next hand, in the order of acting: the big blind goes on to the next who has chips."""
    alive = [seat for seat, chips in enumerate(after) if chips > 0]
    return (*alive[1:], alive[0])
