"""A payoff table: every player chooses once, at the same time.

The payoffs are given in one of three ways:

    payoffs=[[0, -1, 1], [1, 0, -1], [-1, 1, 0]]      for two, zero-sum: what the row player wins and the column player
                                                      loses, payoffs[choice of seat 0][choice of seat 1]
    cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]]        as books print them: a cell for each pair of choices, in it a
                                                      number for each player, cells[choice of seat 0][...][seat]
    tables=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]]       a table for each player: tables[seat][choice of seat 0][...]

The last two are the same game, the prisoners' dilemma. More players make cells and tables nest deeper. `payoffs` may
hold tables as well, but not where their shape is that of cells too: nobody could tell which was meant.

Choices are the numbers 0, 1, ..., or `names`: one list that all players share, or a list for each player.

    matrix(payoffs=[[0, -1, 1], [1, 0, -1], [-1, 1, 0]], names=[rock, paper, scissors])
    matrix(cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]], names=[silent, betray])

The seats choose in order, and none knows what those before it chose. A state is the tuple of choices so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kibitz.core import spec as specs
from kibitz.core.errors import SpecError
from kibitz.games.protocol import TERMINAL, Action, BuiltIn

WAYS = (
    "payoffs=[[1, -1], [-1, 1]] is what the row player wins of the other, cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]] "
    "has a number for each player in each cell"
)


@dataclass(frozen=True)
class Matrix(BuiltIn):
    """A payoff table: matrix(payoffs=[[1, -1], [-1, 1]]), matrix(cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]])."""

    called = "matrix"
    payoffs: Sequence[Any] = ()
    names: Sequence[Any] = ()
    cells: Sequence[Any] = ()
    tables: Sequence[Any] = ()

    def __post_init__(self) -> None:
        for name in ("payoffs", "names", "cells", "tables"):
            object.__setattr__(self, name, _freeze(getattr(self, name)))
        for name in ("payoffs", "cells", "tables"):  # 1.0 and 1 are one payoff, and one spelling
            object.__setattr__(self, name, _whole(getattr(self, name)))
        ways = [name for name in ("payoffs", "cells", "tables") if getattr(self, name) != ()]
        if len(ways) != 1:
            there = " and ".join(ways) or "none"
            raise SpecError(f"matrix needs one of payoffs, cells and tables, not {there}: {WAYS}")
        table = getattr(self, ways[0])
        shape = _shape(table)
        _check(table, shape, ways[0])
        if len(shape) < (2 if ways[0] == "payoffs" else 3):
            raise SpecError(f"matrix: {ways[0]} should be a table (a list of rows) of numbers or cells: {WAYS}")
        players = len(shape) - 1
        if ways[0] == "payoffs" and players > 1 and shape[-1] == players:  # nobody could tell which was meant
            if shape[0] != players:
                raise SpecError(
                    f"matrix: payoffs has cells with {players} numbers each; write cells= instead of payoffs="
                )
            raise SpecError(
                f"matrix: payoffs could be {players} tables, one for each player, and could be cells with {players} "
                "numbers each; say which: write tables= or cells= instead of payoffs="
            )
        if ways[0] == "cells" and shape[-1] != players:
            raise SpecError(
                f"matrix: cells nests {players + 1} deep, as cells for {players} players do, "
                f"but a cell has {shape[-1]} numbers"
            )
        if ways[0] != "cells" and players > 1 and shape[0] != players:
            raise SpecError(
                f"matrix: {ways[0]} nests {players + 1} deep, as {players} tables for {players} players do, "
                f"but has {shape[0]} tables"
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

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """How many choices each player has."""
        return _shape(self.cells)[:-1] or _shape(self._tables[0])

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """One table for each player, or the row player's alone; none where there are cells."""
        tables = self.tables or self.payoffs
        return tuple(tables) if len(_shape(tables)) != 2 else (tables,)

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

    help = "All choose once, at the same time. The table of payoffs then says what each wins."

    def view(self, state: tuple[int, ...], seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(what the seat chose, nothing); at the end the choices of all are known."""
        chosen = tuple(str(self._actions[each][choice]) for each, choice in enumerate(state))
        public = tuple(f"seat {each} chose {choice}" for each, choice in enumerate(chosen))
        return chosen[seat : seat + 1], public if len(state) == self.players else ()

    def payoff(self, state: tuple[int, ...]) -> list[float]:
        if self.cells:
            return [float(value) for value in _entry(self.cells, state)]
        values = [float(_entry(table, state)) for table in self._tables]
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
        if not number or not -1e100 <= table <= 1e100:  # false for NaN as well
            raise SpecError(f"matrix: {where} is {specs.show(table)}, which is not a number that can be paid")
        return
    if not isinstance(table, tuple) or len(table) != shape[0]:
        raise SpecError(f"matrix: {where} should be a list of {shape[0]}, as long as the others beside it")
    for i, part in enumerate(table):
        _check(part, shape[1:], f"{where}[{i}]")


def _entry(table: Any, state: tuple[int, ...]) -> Any:
    for choice in state:
        table = table[choice]
    return table


def _whole(table: Any) -> Any:
    """The same with whole numbers written as such."""
    if isinstance(table, tuple):
        return tuple(map(_whole, table))
    return int(table) if isinstance(table, float) and table.is_integer() and abs(table) < 1e15 else table


def recalled(spec: specs.Spec) -> specs.Spec:
    """A spec from before `tables` and `cells`, as artefacts carry it: nested payoffs were tables."""
    if spec.name != "matrix" or len(_shape(_freeze(spec.args.get("payoffs")))) < 3:
        return spec
    return specs.Spec("matrix", {"tables" if key == "payoffs" else key: value for key, value in spec.args.items()})
