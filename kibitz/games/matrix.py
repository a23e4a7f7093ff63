"""A payoff table: every player chooses once, at the same time.

`payoffs` is one table for two players, what the row player wins and the column player loses, or a list with
one table for each player: payoffs[seat][choice of seat 0][choice of seat 1] and so on. Choices are the
numbers 0, 1, ..., or `names`: one list that all players share, or a list for each player.

    matrix(payoffs=[[0, -1, 1], [1, 0, -1], [-1, 1, 0]], names=[rock, paper, scissors])
    matrix(payoffs=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]], names=[silent, betray])     the prisoners' dilemma

The seats choose in order, and none knows what those before it chose. A state is the tuple of choices so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kibitz import spec as specs
from kibitz.errors import SpecError
from kibitz.games.protocol import TERMINAL, Action


@dataclass(frozen=True)
class Matrix:
    """A payoff table: matrix(payoffs=[[1, -1], [-1, 1]], names=[heads, tails])."""

    payoffs: Sequence[Any]
    names: Sequence[Any] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "payoffs", _freeze(self.payoffs))
        object.__setattr__(self, "names", _freeze(self.names))
        shape = _shape(self.payoffs)
        _check(self.payoffs, shape, "payoffs")
        depth = len(shape)
        if depth < 2:
            raise SpecError(
                "matrix: payoffs should be a table (a list of rows), or one table for each player"
            )
        if depth > 2 and len(self.payoffs) != depth - 1:
            raise SpecError(
                f"matrix: payoffs nests {depth} deep, as {depth - 1} tables for {depth - 1} players do, "
                f"but has {len(self.payoffs)} tables"
            )
        self._check_names()

    def _check_names(self) -> None:
        if not self.names:
            return
        shape = "names should be one list of words, or such a list for each player"
        if any(isinstance(n, tuple) for n in self.names) and len(self.names) != self.players:
            raise SpecError(f"matrix: {shape}; there are {self.players} players and {len(self.names)} lists")
        for seat, names in enumerate(self._actions):
            if not all(isinstance(n, str | int) for n in names):
                raise SpecError(f"matrix: {shape}")
            if len(names) != self._shape[seat] or len(set(map(str, names))) != len(names):
                raise SpecError(
                    f"matrix: player {seat} has {self._shape[seat]} choices and needs as many names, "
                    f"all different, not {specs.show(names)}"
                )

    @property
    def spec(self) -> str:
        return str(specs.of(self, "matrix"))

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """How many choices each player has."""
        return _shape(self._tables[0])

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """One table for each player, or the row player's alone."""
        return tuple(self.payoffs) if len(_shape(self.payoffs)) > 2 else (self.payoffs,)

    @cached_property
    def _actions(self) -> tuple[tuple[Action, ...], ...]:
        if not self.names:
            return tuple(tuple(range(size)) for size in self._shape)
        if all(isinstance(n, tuple) for n in self.names):
            return tuple(self.names)
        return (tuple(self.names),) * self.players

    @cached_property
    def players(self) -> int:
        return len(self._shape)

    def root(self) -> tuple[int, ...]:
        return ()

    def turn(self, state: tuple[int, ...]) -> int:
        return len(state) if len(state) < self.players else TERMINAL

    def actions(self, state: tuple[int, ...]) -> tuple[Action, ...]:
        return self._actions[len(state)]

    def chance(self, state: tuple[int, ...]) -> list[tuple[Action, float]]:
        return []  # no chance in this game

    def after(self, state: tuple[int, ...], action: Action) -> tuple[int, ...]:
        return (*state, self._actions[len(state)].index(action))

    def infoset(self, state: tuple[int, ...]) -> str:
        return f"P{len(state)}"

    def payoff(self, state: tuple[int, ...]) -> list[float]:
        values = [_entry(table, state) for table in self._tables]
        return values if len(values) > 1 else [values[0], 0.0 - values[0]]


def _freeze(value: Any) -> Any:
    """Lists, nested to any depth, as tuples."""
    if hasattr(value, "tolist"):  # a NumPy array or number
        value = value.tolist()
    return tuple(_freeze(v) for v in value) if isinstance(value, list | tuple) else value


def _shape(table: Any) -> tuple[int, ...]:
    """Lengths at each level, judged by the first entries."""
    return (len(table), *_shape(table[0])) if isinstance(table, tuple) and table else ()


def _check(table: Any, shape: tuple[int, ...], where: str) -> None:
    """Refuse a table that is ragged or holds what is not a finite number."""
    if not shape:
        number = isinstance(table, int | float) and not isinstance(table, bool)
        if not number or not -1e300 < table < 1e300:  # false for NaN as well
            raise SpecError(f"matrix: {where} is {specs.show(table)}, which is not a number that can be paid")
        return
    if not isinstance(table, tuple) or len(table) != shape[0]:
        raise SpecError(f"matrix: {where} should be a list of {shape[0]}, as long as the others beside it")
    for i, part in enumerate(table):
        _check(part, shape[1:], f"{where}[{i}]")


def _entry(table: Any, state: tuple[int, ...]) -> float:
    for choice in state:
        table = table[choice]
    return float(table)
