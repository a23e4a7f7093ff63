"""Rules in plain Python as a machine: walked by the same code as compiled ones, interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.games.machine import Machine, RowKeys, Words, drawn, row_key
from kibitz.games.protocol import CHANCE, TERMINAL, Buckets, Game

DEPTH = 1000
PROBES = 200  # games played at random, to see how many actions there are


class PlainRules:
    """What walks ask of a game, answered by the rules."""

    def __init__(self, rules: Game) -> None:
        self.rules = rules

    def deal(self, random: Words) -> Any:
        return self.rules.root()

    def turn(self, state: Any) -> int:
        return int(self.rules.turn(state))

    def draw(self, state: Any, random: Words) -> Any:
        from kibitz.core.random import next_word
        from kibitz.games.kernels.dispatch import interpreted

        bits = int(interpreted(next_word)(random))
        return self.rules.after(state, drawn(self.rules, state, bits))

    def width(self, state: Any) -> int:
        return len(self.rules.actions(state))

    def after(self, state: Any, action: int) -> Any:
        return self.rules.after(state, self.rules.actions(state)[int(action)])

    def key(self, view: PlainView, state: Any) -> np.uint64:
        return np.uint64(view.key(int(self.rules.turn(state)), self.rules.infoset(state), self.width(state)))

    def payoff(self, state: Any, seat: int) -> float:
        return float(self.rules.payoff(state)[int(seat)])


class PlainView:
    """Which row an infoset reads: one of its own, or that of its bucket."""

    def __init__(self, bucket: Buckets | None) -> None:
        self.bucket = bucket
        self.key = lru_cache(1 << 16)(self._key)

    def _key(self, seat: int, infoset: Any, width: int) -> int:
        text = str(infoset)
        return row_key(seat, text) if self.bucket is None else row_key(seat, self.bucket.of(seat, text), width)


class PlainMachine(Machine):
    """A game too large for a tree, without compiled rules."""

    words, depth = 0, DEPTH

    def __init__(self, rules: Game) -> None:
        from kibitz.games.kernels.dispatch import interpreted
        from kibitz.solvers.kernels.players import play_deals
        from kibitz.solvers.kernels.walk import walk_all

        self.rules, self.game = rules, PlainRules(rules)
        self.train, self.duel = _quietly(interpreted(walk_all)), _quietly(interpreted(play_deals))
        own = getattr(rules, "buckets", None)
        self._buckets: dict[str, Buckets] = dict(own()) if own is not None else {}
        self.abstractions = {**Machine.abstractions, **{name: bucket.about for name, bucket in self._buckets.items()}}
        self.actions = self._probed()

    def _probed(self) -> int:
        """The most actions of a decision: what the game says (`most_actions`), or what random play meets, doubled."""
        said = getattr(self.rules, "most_actions", None)
        if said is not None:
            return int(said)
        most, rng = 1, Random(0)
        for _ in range(PROBES):
            state, random = self.rules.root(), np.array([rng.getrandbits(63)], np.uint64)
            while (turn := self.rules.turn(state)) != TERMINAL:
                if turn == CHANCE:
                    with np.errstate(over="ignore"):
                        state = self.game.draw(state, random)
                    continue
                actions = self.rules.actions(state)
                most = max(most, len(actions))
                state = self.rules.after(state, actions[rng.randrange(len(actions))])
        return 2 * most

    def view(self, abstraction: Any = "null", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        if not isinstance(abstraction, str):
            raise SolverError("a game without a tree takes abstractions by name: write them as its method `buckets`")
        name = self.known(abstraction)
        return RowKeys(name, PlainView(self._buckets.get(name)))

    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        keys = [view.keys.key(seat, str(text), width) for text, width in zip(infosets, widths, strict=True)]
        return np.array(keys, np.uint64)


def _quietly(function: Any) -> Any:
    """Words of 64 bits are meant to overflow: NumPy need not say so each time."""

    def called(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return called
