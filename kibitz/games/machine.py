"""A game for sampling and matches: fast rules, and the names of its rows.

A game may have a method `machine()` that gives one of these (`kibitz.toepen.machine`); any other game is walked
on its tree, or, where that does not fit, by its rules in plain Python (`kibitz.solvers.machines`). What kernels ask of
a game stands in `kibitz/games/kernels/machine.py`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.core.spec import unknown
from kibitz.games.protocol import Game

Words = NDArray[np.uint64]
WORD = (1 << 64) - 1
GOLDEN, LUCK = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03  # as in kibitz.solvers.kernels
ALIKE = 1e-15  # probabilities of chance that differ by less are alike, as in trees


@dataclass(frozen=True)
class RowKeys:
    """An abstraction: which row a decision reads."""

    name: str
    keys: Any  # what kernels take
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)  # what has to be saved beside the name


class Machine(ABC):
    """What every machine has. Sizes are upper bounds."""

    rules: Game  # the readable rules
    game: Any  # what kernels take
    words: int  # of a state; 0: states are objects of Python
    actions: int  # of a decision
    depth: int  # decisions of a history
    train: Callable[..., None]  # kibitz.solvers.kernels.walk.walk_all, compiled for this game
    duel: Callable[..., None]  # kibitz.solvers.kernels.players.play_deals, likewise
    abstractions: Mapping[str, str] = {"null": "nothing is merged"}  # name -> what is merged, in a line
    default = "null"  # the abstraction to train with
    parts: Sequence[str] = ()  # names of the parts of a grafting partition, by number
    advises = False  # whether the game has a rule of thumb
    by_rounds = False  # poker whose betting is kept by rounds, not as a tree: its states are numbered otherwise

    @property
    def changing(self) -> int:
        """Words of a state that change in the course of a hand; the others are those of the deal."""
        return self.words

    def dealt(self, keys: Any) -> Any:
        """An abstraction as walks on a GPU read it (`look_ahead` in games/kernels/machine.py)."""
        return keys

    @property
    def compiled(self) -> bool:
        return self.words > 0

    @property
    def spec(self) -> str:
        return getattr(self.rules, "spec", "") or type(self.rules).__name__

    @property
    def players(self) -> int:
        return int(self.rules.players)

    def hand(self, seed: int, number: int) -> Hand:
        """A deal as the readable rules play it, with the luck that compiled matches have."""
        return Hand(self.rules, seed, number)

    def silence(self, players: Sequence[Any], seed: int, deals: int) -> list[tuple[int, int] | None] | None:
        """(decisions, those without a row) of compiled players in the first deals of a match, where compiled code
        counts them; None where it does not."""
        return None

    def part_of(self, seat: int, infoset: str) -> int:
        """The part that a decision is in."""
        return 0

    def advice(self, seat: int, infoset: str, actions: Sequence[str]) -> int:
        """The action of the game's rule-based player."""
        raise SolverError(f"{self.spec} has no rule-based player")

    @abstractmethod
    def view(self, abstraction: Any = "null", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        """The abstraction of a name, or of arrays that were saved with one."""

    def arrays_from(self, abstraction: str, path: str | None) -> dict[str, NDArray[Any]] | None:
        """What an abstraction needs that is made from a trained strategy; path: where that is saved."""
        if path is not None:
            raise SolverError(f"--strength is for abstractions that need a trained blueprint; {self.spec} has none")
        return None

    @abstractmethod
    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        """The keys of the rows that a seat reads in some infosets of the rules, which have so many actions."""

    def keys_at(self, view: RowKeys, infosets: Any) -> Words:
        """The keys of all infosets of a tree or a profile."""
        labels, width = list(infosets.labels), infosets.width.tolist()
        spans = [slice(int(a), int(b)) for a, b in pairwise(infosets.seat_start)]
        return np.concatenate([self.keys_of(view, s, labels[span], width[span]) for s, span in enumerate(spans)])

    def parts_at(self, infosets: Any) -> NDArray[np.int64]:
        """The parts of all infosets of a tree or a profile."""
        seats = np.repeat(np.arange(self.players), np.diff(infosets.seat_start)).tolist()
        return np.array([self.part_of(s, text) for s, text in zip(seats, infosets.labels, strict=True)], np.int64)

    def profile_keys(self, profile: Any, name: str) -> tuple[RowKeys, Words]:
        """The view under which a profile's rows are read, and their keys."""
        said, known = profile.meta.get("game"), getattr(self.rules, "spec", "")  # a user's own class has none
        if said and known and said != known:
            raise GameError(f"{name} is a profile for {said}, not for {known}")
        view = self.view("null")
        return view, self.keys_at(view, profile.infosets)

    def known(self, abstraction: str) -> str:
        """An abstraction's name, if there is one of that name."""
        if abstraction not in self.abstractions:
            raise unknown(f"abstraction of {self.spec}", abstraction, self.abstractions)
        return abstraction

    def part(self, name: str | int) -> int:
        """The number of a part."""
        if not self.parts:
            raise SolverError(f"{self.spec} is not divided into parts, so no part can be trained by itself")
        if isinstance(name, int) and 0 <= name < len(self.parts):
            return name
        if str(name) not in self.parts:
            raise unknown(f"part of {self.spec}", str(name), self.parts)
        return list(self.parts).index(str(name))


class Hand:
    """One deal for the readable rules: where it begins, and what chance brings on the way.

    Chance has numbers of its own, so that however the players decide the same things come in the same order.
    """

    def __init__(self, rules: Game, seed: int, number: int) -> None:
        self.rules = rules
        self.luck = mix(mix(seed + GOLDEN & WORD) ^ mix(number * GOLDEN + 1 & WORD))
        self.state = self.begin()
        self.after = self.luck  # where the random numbers of decisions begin
        self.luck = mix(self.luck ^ LUCK)

    def begin(self) -> Any:
        """The state that the hand begins in; may use up some luck."""
        return self.rules.root()

    def start(self) -> Any:
        return self.state

    def word(self) -> int:
        """64 bits of luck."""
        self.luck = self.luck + GOLDEN & WORD
        return mix(self.luck)

    def draw(self, state: Any) -> Any:
        """The state after an outcome of chance."""
        return self.rules.after(state, drawn(self.rules, state, self.word()))


class ListedHand(Hand):
    """As trees draw: from the list of all outcomes."""

    def draw(self, state: Any) -> Any:
        return self.rules.after(state, picked(self.rules, state, self.word()))


def drawn(rules: Game, state: Any, bits: int) -> Any:
    """The outcome of chance that 64 bits pick, by the game's `sample` where it has one."""
    sample = getattr(rules, "sample", None)
    return picked(rules, state, bits) if sample is None else sample(state, Random(bits))


def picked(rules: Game, state: Any, bits: int) -> Any:
    """The outcome of chance that 64 bits pick from the list of all, as trees pick it."""
    listed = rules.chance(state)
    steps = [float(p) for _, p in listed]
    if max(steps) - min(steps) < ALIKE:
        return listed[(bits >> 32) * len(listed) >> 32][0]
    left, last = (bits >> 11) / 2**53, listed[0][0]
    for (outcome, _), step in zip(listed, steps, strict=True):
        if step > 0.0:
            last = outcome
            left -= step
            if left < 0.0:
                break
    return last


def mix(x: int) -> int:
    """The finaliser of splitmix64, as kibitz.core.random has it."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def row_key(*what: Hashable) -> int:
    """A word that stands for a row: 64 bits of a hash of what names it, never 0."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
