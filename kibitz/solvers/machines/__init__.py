"""Every game as a machine: compiled rules if it has them, its tree if that fits, its Python rules otherwise.

machine_of("toepen")          compiled rules
machine_of("leduc")           the tree's arrays
machine_of("my_game.py:Big")  the rules as they are written: slowly
machine_of("rhode_island", how="rounds")  limit poker, its betting by rounds: what rows that are not hashed ask for
"""

from __future__ import annotations

from typing import Any

from kibitz.core.errors import GameError
from kibitz.games import game as make_game
from kibitz.games.machine import Machine, RowKeys, row_key
from kibitz.games.plugins import plugin_of
from kibitz.games.size import MOST_LAID, fits

__all__ = ["Machine", "RowKeys", "by_rounds", "machine_of", "playable", "row_key"]

HOW = ("auto", "compiled", "rounds", "tree", "plain")


def by_rounds(machine: Machine) -> Machine:
    """The machine of the same game that has its betting by rounds."""
    return machine if machine.by_rounds else machine_of(machine.rules, how="rounds")


def playable(game: Any) -> Machine:
    """A machine to play on: that of `machine_of`, or where none holds all betting (poker without limit) the plug-in's
    table, or the rules themselves; nothing can be trained there."""
    if isinstance(game, Machine):
        return game
    rules = make_game(game)
    try:
        return machine_of(rules)
    except GameError:
        if not hasattr(rules, "machine"):
            raise
        table: Machine | None = plugin_of(rules).table(rules)
        return machine_of(rules, how="plain") if table is None else table


def machine_of(game: Any, how: str = "auto") -> Machine:
    """A game as walks and matches take it. how: compiled, rounds, tree or plain, to insist on one."""
    if isinstance(game, Machine):
        return game
    if how not in HOW:
        raise GameError(f"how={how!r}: choose {', '.join(HOW)}")
    rules = make_game(game)
    name = getattr(rules, "spec", type(rules).__name__)
    if how == "rounds":
        rounds: Machine | None = rules.machine_by_rounds() if hasattr(rules, "machine_by_rounds") else None
        if rounds is None:
            raise GameError(f"{name} is not poker: its betting has no rounds")
        return rounds
    machine: Machine | None = rules.machine() if how in ("auto", "compiled") and hasattr(rules, "machine") else None
    if machine is not None:
        return machine
    if how == "compiled":
        raise GameError(f"{name} has no compiled rules (a method `machine`)")
    if how == "tree" or (how == "auto" and fits(rules, MOST_LAID)):
        from kibitz.games.tree import tree_of
        from kibitz.solvers.machines.trees import TreeMachine

        return TreeMachine(rules, tree_of(rules))
    from kibitz.solvers.machines.plain import PlainMachine

    return PlainMachine(rules)
