"""Tournaments as stochastic games over stacks [Ganzfried & Sandholm 2008].

A state is the stacks of those who still play, in the order of acting, in units of chips. A hand of jam or fold leads to
another state, or puts players out. With fewer players the tournament is a smaller one, which does not depend on how it
was come to: a *level* is all states of so many players, and levels are solved from two players up.

    tournament(players=3, chips=13500, blinds=300/600, unit=300, prizes=50/30/20)     946 states of three players
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.spec import parse, show
from kibitz.poker.tournaments.chip_model import checked_prizes, icm
from kibitz.poker.tournaments.hand import JamFoldHand, next_seats, placed, survivors

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_PLAYERS = 4  # of a tournament
MOST_STATES = 2_000_000


@dataclass(frozen=True)
class Tournament:
    """The rules. Chips are in units; `unit` is only how many chips one is."""

    players: int
    units: int  # chips in all
    small: int
    big: int
    ante: int
    prizes: tuple[float, ...]  # as many as players
    unit: int = 1

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """With two players, three, ..."""
        levels = []
        first = 0
        for players in range(2, self.players + 1):
            levels.append(Level(self, players, first))
            first += levels[-1].count * players
        return tuple(levels)

    @property
    def states(self) -> list[int]:
        """How many there are at each level."""
        return [comb(self.units - 1, players - 1) for players in range(2, self.players + 1)]

    @property
    def size(self) -> int:
        """Values: of each state, one for each seat."""
        return sum(count * players for count, players in zip(self.states, range(2, self.players + 1), strict=True))

    @cached_property
    def icm(self) -> Floats:
        """[values]  by the Independent Chip Model."""
        return np.concatenate([icm(level.stacks, self.prizes[: level.players]).ravel() for level in self.levels])

    def __str__(self) -> str:
        paid = "/".join(f"{prize:g}" for prize in self.prizes)
        ante = f", ante={self.ante * self.unit}" if self.ante else ""
        return (f"tournament(players={self.players}, chips={self.units * self.unit}, blinds={self.small * self.unit}/"
                f"{self.big * self.unit}, unit={self.unit}, prizes={paid}{ante})")  # fmt: skip


class Level:
    """All states of so many players, and where hands lead."""

    def __init__(self, rules: Tournament, players: int, first: int) -> None:
        self.rules, self.players, self.first = rules, players, first
        self.hand = JamFoldHand(players)
        self.count = comb(rules.units - 1, players - 1)

    @cached_property
    def stacks(self) -> Ints:
        """[states, seats]  in units."""
        cuts = np.array(list(combinations(range(1, self.rules.units), self.players - 1)), np.int64)
        cuts = cuts.reshape(-1, self.players - 1)
        edge = np.zeros((len(cuts), 1), np.int64)
        return np.asarray(np.diff(np.hstack((edge, cuts, edge + self.rules.units)), axis=1), np.int64)

    @cached_property
    def _number(self) -> Ints:
        """By all stacks but the last: the number of a state."""
        numbers = np.full((self.rules.units,) * (self.players - 1), -1, np.int64)
        numbers[tuple(self.stacks[:, :-1].T)] = np.arange(self.count)
        return numbers

    def number(self, stacks: Ints | Sequence[int]) -> Ints:
        """The numbers of states, [..., seats] -> [...]."""
        chips = np.asarray(stacks, np.int64)
        if chips.shape[-1] != self.players or (chips < 1).any() or (chips.sum(axis=-1) != self.rules.units).any():
            raise GameError(f"stacks {chips.tolist()} are no state of {self.rules} for {self.players} players")
        return np.asarray(self._number[tuple(np.moveaxis(chips[..., :-1], -1, 0))])

    @property
    def values(self) -> slice:
        """Where the values of this level lie."""
        return slice(self.first, self.first + self.count * self.players)

    @cached_property
    def posted(self) -> Ints:
        rules = self.rules
        return self.hand.posted(self.stacks, rules.small, rules.big, rules.ante)

    @cached_property
    def forced(self) -> NDArray[np.bool_]:
        """[states, nodes]"""
        return self.hand.forced(self.stacks, self.posted)

    @cached_property
    def _leads(self) -> tuple[Ints, Floats]:
        """[states, outcomes, seats]  (the value that a seat goes on with, or -1; the prize that it gets instead)."""
        shape = self.count, len(self.hand.outcomes), self.players
        ends = self.hand.after(self.stacks, self.posted)
        link = np.full(shape, -1, np.int64)
        prize = placed(self.stacks[:, None], ends, self.rules.prizes[: self.players])
        for (states, outcomes), alive in survivors(ends):
            if len(alive) == 1:
                prize[states, outcomes, alive[0]] = self.rules.prizes[0]
                continue
            level = self.rules.levels[len(alive) - 2]
            order = next_seats([int(seat in alive) for seat in range(self.players)])
            state = level.number(ends[states, outcomes][:, order])
            for seat, was in enumerate(order):
                link[states, outcomes, was] = level.first + state * level.players + seat
        return link, prize

    @property
    def link(self) -> Ints:
        return self._leads[0]

    def payoffs(self, worth: Floats) -> Floats:
        """[states, outcomes, seats]  the values of the ends of a hand, by those of all states."""
        link, prize = self._leads
        return np.where(link >= 0, worth[link], prize)


def tournament(text: str | Tournament = "tournament", **named: Any) -> Tournament:
    """The rules of "tournament(players=3, chips=13500, blinds=300/600, unit=300, prizes=50/30/20, ante=0)"; what is
    left out is as in this example, for two players with prizes 1/0. Arguments by name come before those of the text."""
    if isinstance(text, Tournament):
        return text
    spec = parse(text)
    if spec.name != "tournament":
        raise GameError(f"{text!r} should begin with tournament")
    args: Mapping[str, Any] = {**spec.args, **named}
    known = ("players", "chips", "blinds", "unit", "prizes", "ante")
    for key in args:
        if key not in known:
            raise GameError(f"tournament has no parameter {key!r}: it has {', '.join(known)}")
    players = _whole("players", args.get("players", 3), 2, MOST_PLAYERS)
    unit = _whole("unit", args.get("unit", 300), 1)
    chips = _whole("chips", args.get("chips", 13500), 1)
    blinds = numbers("blinds", args.get("blinds", "300/600"))
    ante = _whole("ante", args.get("ante", 0), 0)
    prizes = checked_prizes(numbers("prizes", args.get("prizes", "50/30/20" if players > 2 else "1/0")))
    if len(blinds) != 2 or blinds[0] < 0 or blinds[1] <= 0 or blinds[0] > blinds[1]:
        raise GameError(f"blinds {show(args.get('blinds'))} should be two numbers, small/big, such as 300/600")
    if len(prizes) > players:
        raise GameError(f"there are {len(prizes)} prizes for {players} players")
    prizes = (*prizes, *(0.0,) * (players - len(prizes)))
    amounts = {"chips": chips, "the small blind": blinds[0], "the big blind": blinds[1], "ante": ante}
    for name, amount in amounts.items():
        if amount % unit:
            raise GameError(f"{name}, {amount:g}, should be a multiple of the unit, {unit}")
    units = chips // unit
    if units < players:
        raise GameError(f"{chips} chips are less than a unit of {unit} for each of {players} players")
    rules = Tournament(players, units, int(blinds[0]) // unit, int(blinds[1]) // unit, ante // unit, prizes, unit)
    if max(rules.states) > MOST_STATES:
        raise GameError(f"{rules} has {max(rules.states):,} states: take a larger unit")
    return rules


def numbers(name: str, source: Any) -> tuple[float, ...]:
    """Numbers of "50/30/20", "50,30,20", or a list."""
    items = source.replace("/", ",").split(",") if isinstance(source, str) else source
    items = items if isinstance(items, list | tuple) else [items]
    try:
        return tuple(float(item) for item in items)
    except (TypeError, ValueError):
        raise GameError(f"{name} {source!r} should be numbers, such as 50/30/20") from None


def _whole(name: str, number: Any, low: int, high: int | None = None) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < low or (high is not None and number > high):
        top = "" if high is None else f" to {high}"
        raise GameError(f"{name}={show(number)} should be a whole number, {low}{top or ' or more'}")
    return number
