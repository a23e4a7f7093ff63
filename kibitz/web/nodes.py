"""What all views of strategies share: rows, values, experts, and the parts of a node as clients get it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, KibitzError
from kibitz.forms.protocol import InfosetValues
from kibitz.forms.strategy import Strategy
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import View
from kibitz.stitch.partition import fitting, read
from kibitz.web.library import LibraryStrategy

Floats = NDArray[np.float64]
Node = dict[str, Any]  # as JSON
MOST_ACTIONS = 60  # of a decision that is drawn
MOST_STEPS = 200
MOST_LISTED = 400  # holdings of a list


class TooMany(GameError):
    """More deals lead to a history than can be followed."""


# Asking a strategy for many rows


def rows_of(strategy: LibraryStrategy, seat: int, infosets: Sequence[str], actions: tuple[str, ...]) -> Floats:
    """[n, actions]  what a strategy does in some infosets of a seat."""
    if isinstance(strategy.agent, Strategy):
        return strategy.agent.rows(seat, infosets, actions)
    views = (View(seat, (), (), actions, infoset) for infoset in infosets)
    return np.array([list(strategy.agent.act(view)) for view in views]).reshape(len(infosets), len(actions))


class Valued:
    """Values of infosets, by their labels."""

    def __init__(self, strategy: LibraryStrategy, pool: ThreadPoolExecutor) -> None:
        self.found, self.why = strategy.values(pool)
        self.infosets = None if strategy.profile is None else strategy.profile.infosets

    def at(self, seat: int, label: str) -> list[float | None] | None:
        """The expected value of each action to the seat; None where nothing is known."""
        if self.found is None or self.infosets is None:
            return None
        return values_at(self.found, self.infosets, seat, label)


def values_at(values: InfosetValues, infosets: Any, seat: int, label: str) -> list[float | None] | None:
    number = infosets.number_of(seat, label)
    if number is None:
        return None
    first, last = (int(x) for x in infosets.first[number : number + 2])
    return [None if math.isnan(x) else x for x in values.values[first:last].tolist()]


def mean_value(p: Sequence[float], values: Sequence[float | None] | None) -> float | None:
    """The value of a row: the mean over its actions. Actions that are never taken need no value."""
    if values is None:
        return None
    total = 0.0
    for share, value in zip(p, values, strict=True):
        if share > 0.0 and value is None:
            return None
        total += share * (value or 0.0)
    return total


# Experts


class Experts:
    """Where the experts of a stitched strategy play."""

    def __init__(self, strategy: LibraryStrategy, known: Iterable[str] = ("fold", "call", "raise")) -> None:
        self.kind, self.words, self.rules = "", list[str](), strategy.rules
        try:
            if strategy.stitching:
                self.kind, words = read(strategy.stitching)
                self.words = [word for word in words if "=" not in word]
                self.begin = next((int(w.partition("=")[2]) for w in words if w.startswith("round")), 1)
        except (KibitzError, ValueError):
            self.kind = ""  # a partition by a function of its own: nothing is known of where it is
        profile = strategy.saved
        names = set(known)
        if profile is not None:
            names |= {str(action) for offer in profile.infosets.actions for action in offer}
        self.lists = [
            (word, [fitting(s, names) for s in ([word] if word in names else word.split(".") if "." in word else word)])
            for word in (self.words if self.kind == "prefix" else [])
        ]

    def after(self, actions: Sequence[str]) -> str | None:
        """The expert that plays after some actions of the players, if it is known by them."""
        for word, steps in self.lists:
            if len(actions) >= len(steps) and all(a in s for a, s in zip(actions, steps, strict=False)):
                return word
        return None

    def holding(self, infoset: str) -> str | None:
        """The expert that plays an infoset, if it is known by what the seat holds."""
        private = getattr(self.rules, "private", None)
        if self.kind != "private" or private is None:
            return None
        card, at = private(infoset)
        return card if at >= self.begin and (not self.words or card in self.words) else None


# Chips and cards


def facts_of(state: Any) -> list[dict[str, str]]:
    """What a state says of chips, where it says it as poker's do."""
    paid = paid_of(state)
    if paid is None:
        return []
    return [{"name": "pot", "text": str(sum(paid))}, {"name": "put in", "text": ", ".join(map(str, paid))}]


def paid_of(state: Any) -> list[int] | None:
    """Chips that each seat has put in, where the game is one of chips."""
    paid = getattr(getattr(state, "bets", state), "paid", None)
    return list(paid) if isinstance(paid, tuple) and all(isinstance(x, int) for x in paid) else None


def calm_words(state: Any, turn: int) -> dict[str, str]:
    """What call and raise are called by who faces no bet: check and bet."""
    paid = paid_of(state)
    return {"call": "check", "raise": "bet"} if paid is not None and turn >= 0 and paid[turn] == max(paid) else {}


RANKS = "23456789TJQKA"


def order_of(item: tuple[str, Any]) -> tuple[Any, ...]:
    """Cards high to low, and by suit; other words as they are."""
    return tuple((-RANKS.find(word[:1]), word) for word in item[0].split())


# A node


def node_at(
    strategy: LibraryStrategy, steps: Sequence[str], words: Sequence[str], movers: Sequence[int], turn: int
) -> Node:
    """What all games say of a node. words: what each step was called; movers: whose it was; turn: who is to move."""
    return {
        "game": strategy.spec, "strategy": strategy.entry.id, "name": strategy.entry.name, "path": list(steps),
        "steps": [{"word": word, "seat": mover} for word, mover in zip(words, movers, strict=True)],
        "players": int(strategy.rules.players), "seat": max(turn, -1), "deal": None,
        "kind": "end" if turn == TERMINAL else "chance" if turn == CHANCE else "decision",
        "actions": [], "cells": [], "value": None, "why": "", "choices": None,
    }  # fmt: skip


def finish(
    node: Node, cells: list[dict[str, Any]], names: list[str], why: str, experts: Experts,
    acted: Sequence[str], labels: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Put cells in place: shares of the range, how often each action is taken, what the seat expects."""
    whole = sum(cell["weight"] for cell in cells)
    if not whole > 0:
        counted = float(sum(cell["count"] for cell in cells)) or 1.0
        shares = [cell["count"] / counted for cell in cells]
    else:
        shares = [cell["weight"] / whole for cell in cells]
    for cell in cells:
        cell["weight"] = cell["weight"] / whole if whole > 0 else 0.0
    order = sorted(names, key=lambda name: {"fold": 0, "call": 1}.get(name, 2))  # the others as they come
    node["actions"] = [
        {
            "name": name, "label": (labels or {}).get(name, name), "expert": experts.after([*acted, name]),
            "share": sum(x * cell["p"].get(name, 0.0) for x, cell in zip(shares, cells, strict=True)),
        }
        for name in order
    ]  # fmt: skip
    for cell in cells:
        cell["p"] = [cell["p"].get(name) for name in order]
        if cell["values"] is not None:
            cell["values"] = [cell["values"].get(name) for name in order]
    worth = [(x, cell["value"]) for x, cell in zip(shares, cells, strict=True) if x > 0]
    known = bool(worth) and all(value is not None for _, value in worth)
    node["value"] = sum(x * value for x, value in worth) if known else None
    node["why"] = "" if known else why or "not computed: play never comes here"
    node["cells"] = cells
