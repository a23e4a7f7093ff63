"""Flops: all that differ by more than a renaming of suits, how likely each is, what it looks like, and its equities.

    flops = flops_of()                       # 1,755 of them
    flops[0].name, flops[0].ways             # cards, and how many flops it stands for
    texture_of(flops[0])                     # FlopTexture(suits="rainbow", ranks="trips", high="2")
    chances(flops, ranges)                   # of each, for two players who hold hands of their ranges

Both ranges have to be the same under every renaming of suits: a range with AsKh and without AhKs is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import RANKS, name
from kibitz.cards.ranges import HANDS
from kibitz.core.errors import GameError
from kibitz.poker.spots.spot import PLAYERS, in_deck, meeting, met

Floats = NDArray[np.float64]
SUIT_CLASSES = {3: "rainbow", 2: "two-tone", 1: "monotone"}
RANK_CLASSES = {3: "unpaired", 2: "paired", 1: "trips"}
EDGES = np.linspace(0.05, 0.95, 19)  # of the distribution of equities over hands


class Flop(NamedTuple):
    """A flop, and the flops that it stands for."""

    cards: tuple[int, int, int]  # the highest first
    ways: int

    @property
    def name(self) -> str:
        return "".join(name(card) for card in self.cards)


class FlopTexture(NamedTuple):
    """The classes of a flop."""

    suits: str  # rainbow, two-tone, monotone
    ranks: str  # unpaired, paired, trips
    high: str  # the rank of the highest card


class FlopEquities(NamedTuple):
    """What both ranges are worth on a flop if nobody bets."""

    equity: float  # of OOP: its share of the pot
    shares: Floats  # [2, 19]  how much of each range has at most an equity of EDGES


def flops_of(deck: tuple[int, int] = (13, 4)) -> list[Flop]:
    """All flops of a deck up to suit isomorphism: of 52 cards 1,755."""
    from kibitz.cards.boards import boards_of

    (boards,) = boards_of(*deck, (3,)).rounds
    flops = []
    for cards, ways in zip(boards.cards.tolist(), boards.total.tolist(), strict=True):
        high, middle, low = sorted((int(card) for card in cards), reverse=True)
        flops.append(Flop((high, middle, low), int(ways)))
    return flops


def texture_of(flop: Flop) -> FlopTexture:
    suits, ranks = ({card % 4 for card in flop.cards}, {card // 4 for card in flop.cards})
    return FlopTexture(SUIT_CLASSES[len(suits)], RANK_CLASSES[len(ranks)], RANKS[max(ranks)])


def check_suits(ranges: Floats, deck: tuple[int, int] = (13, 4)) -> None:
    """Refuse ranges that name single suits: flops that differ by suits alone would differ."""
    from kibitz.poker.spots.engine_boards import symmetries

    within = np.where(in_deck(deck), ranges, 0.0)
    whole = len(symmetries((), np.zeros_like(within), deck[1]))
    for player, weights in zip(PLAYERS, within, strict=True):
        if len(symmetries((), np.stack([weights, weights]), deck[1])) < whole:
            raise GameError(f"the range of {player} has hands of some suits and not of others: over all flops write "
                            "whole classes, such as AKs instead of AhKh")  # fmt: skip


def chances(flops: Sequence[Flop], ranges: Floats) -> Floats:
    """[flops]  how likely each is, with all that it stands for, when two hands of the ranges have been dealt."""
    weights = np.zeros(len(flops))
    for k, flop in enumerate(flops):
        first, second = np.where(met(flop.cards), 0.0, ranges)
        weights[k] = flop.ways * float(first @ meeting(second))
    if not weights.any():
        raise GameError("no hand of one range can meet a hand of the other: each shares a card with it")
    return np.asarray(weights / weights.sum())


def equities_on(flop: Sequence[int], ranges: Floats, deck: tuple[int, int] = (13, 4)) -> FlopEquities:
    """Exact equities of both ranges on a flop, over all turn and river cards."""
    from kibitz.poker.spots.solution import showdowns

    board = tuple(int(card) for card in flop)
    here = np.where(met(board) | ~in_deck(deck), 0.0, ranges)
    shares, equity = np.zeros((2, len(EDGES))), 0.0
    for seat in (0, 1):
        wins, ties, meets = showdowns(board, here[1 - seat], deck)
        weights = here[seat] * meeting(here[1 - seat])
        hands = np.flatnonzero((weights > 0) & (meets > 0))
        each = (wins[hands] + ties[hands] / 2) / meets[hands]
        chance = weights[hands] / weights[hands].sum()
        shares[seat] = (chance[:, None] * (each[:, None] <= EDGES + 1e-12)).sum(axis=0)
        if seat == 0:
            equity = float(chance @ each)
    return FlopEquities(equity, shares)


def equities_of(flops: Sequence[Sequence[int]], first: Floats, second: Floats, deck: tuple[int, int]) -> list[Floats]:
    """[1 + 2 * 19] numbers of each flop: the equity of OOP, and the shares. One piece of work of an executor."""
    ranges = np.stack([first, second])
    assert ranges.shape == (2, HANDS)
    rows = []
    for flop in flops:
        equity, shares = equities_on(flop, ranges, deck)
        rows.append(np.concatenate([[equity], shares.ravel()]))
    return rows
