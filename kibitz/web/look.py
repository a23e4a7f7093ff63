"""What the web interface shows of a strategy at one public history: rows, ranges, reach and values, as plain data.

A public history is a list of *steps*: the actions and cards that all seats see. `node` follows the steps. It returns
what the seat to move does with each of its holdings, how likely each seat has each holding (by Bayes' rule, from its
actions), and the next steps. A game without `view` does not say what its seats see. There the steps are the moves of
all seats, in order, and a holding is the last infoset in which the seat decided. Poker defined by an ACPC file is in
`kibitz.web.poker`, which handles all hands at once. Every other game is walked here by its rules, for all deals that
lead to the history, or for one deal if there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.core.errors import GameError
from kibitz.games.machine import Hand
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import View, view_of
from kibitz.web import nodes, poker
from kibitz.web.library import AT_ONCE, LibraryStrategy
from kibitz.web.nodes import MOST_STEPS, Experts, Floats, TooMany, Valued

MOST_WAYS = 20_000  # deals that are followed at once
PAGE = 40  # infosets on a page
UNSEEN = "has not acted yet"  # of a seat in a game without `view`


# Any game, by its rules


@dataclass
class Way:
    """One history that is consistent with the public one."""

    state: Any
    chance: float
    reach: list[float]  # by seat: how likely it does what it did
    public: tuple[str, ...]
    seen: tuple[str, ...] = ()  # by seat: the infoset that it last decided at, in a game without `view`

    @property
    def weight(self) -> float:
        return self.chance * math.prod(self.reach)


class Walker:
    """Follows all deals of a game, or one deal, along public steps."""

    def __init__(self, strategy: LibraryStrategy, deal: int | None, seed: int = 0) -> None:
        self.strategy, self.rules, self.deal = strategy, strategy.rules, deal
        self.players = int(self.rules.players)
        self.rows: dict[tuple[int, str], Floats] = {}
        self.hand: Hand | None = None
        self._drawn: tuple[Any, Any] | None = None
        state = self.rules.root()
        if deal is not None:
            machine = strategy.machine
            self.hand = Hand(self.rules, seed, deal) if machine is None else machine.hand(seed, deal)
            state = self.hand.start()
        self.has_view = hasattr(self.rules, "view")
        seen = () if self.has_view else (UNSEEN,) * self.players
        self.ways = self._spread([Way(state, 1.0, [1.0] * self.players, self._public(state), seen)])
        self.movers: list[int] = []  # of the steps so far
        self.words: list[str] = []  # the same as players say them

    def _public(self, state: Any, before: tuple[str, ...] = (), action: Any = None) -> tuple[str, ...]:
        """What all seats see. action: the last move of a seat; a game without `view` is followed by these."""
        if self.has_view:
            return view_of(self.rules, state, 0).public
        return before if action is None else (*before, str(action))

    def holding(self, way: Way, seat: int) -> str:
        """What a seat holds, as text."""
        private = " ".join(view_of(self.rules, way.state, seat).private)
        return private if self.has_view else private or way.seen[seat]

    def _after(self, way: Way) -> list[tuple[Way, int]]:
        """All continuations of a history: (the way, the seat that moved or CHANCE)."""
        turn = self.rules.turn(way.state)
        if turn == TERMINAL:
            return []
        if turn == CHANCE:
            if self.hand is not None:
                if self._drawn is None or self._drawn[0] is not way.state:  # luck is drawn once
                    self._drawn = way.state, self.hand.draw(way.state)
                nexts = [(self._drawn[1], 1.0)]
            else:
                try:
                    listed = self.rules.chance(way.state)
                except GameError as error:
                    raise TooMany(str(error)) from None
                if len(listed) > MOST_WAYS:
                    raise TooMany("the chance event has too many outcomes to list")
                nexts = [(self.rules.after(way.state, outcome), float(p)) for outcome, p in listed]
            drawn = [(s, p, self._public(s, way.public)) for s, p in nexts]
            return [(Way(s, way.chance * p, way.reach, public, way.seen), CHANCE) for s, p, public in drawn]
        view = view_of(self.rules, way.state, turn)
        row = self._row(turn, view)
        following = []
        for action, p in zip(view.choices, row.tolist(), strict=True):
            state = self.rules.after(way.state, action)
            reach = [*way.reach[:turn], way.reach[turn] * p, *way.reach[turn + 1 :]]
            public = self._public(state, way.public, action)
            seen = way.seen if self.has_view else (*way.seen[:turn], view.infoset, *way.seen[turn + 1 :])
            following.append((Way(state, way.chance, reach, public, seen), turn))
        return following

    def _row(self, seat: int, view: View) -> Floats:
        key = seat, view.infoset
        if key not in self.rows:
            if len(view.actions) > nodes.MOST_ACTIONS:
                raise GameError(f"this decision has {len(view.actions):,} actions: that is too many to show")
            self.rows[key] = nodes.rows_of(self.strategy, seat, [view.infoset], view.actions)[0]
        return self.rows[key]

    def _spread(self, ways: list[Way]) -> list[Way]:
        """Follow all moves that are not public, up to the next public one."""
        done: list[Way] = []
        todo = ways
        while todo:
            following: list[Way] = []
            for way in todo:
                nexts = self._after(way)
                if nexts and all(each.public == way.public for each, _ in nexts):
                    following += [each for each, _ in nexts]
                else:
                    done.append(way)
            if len(done) + len(following) > MOST_WAYS:
                raise TooMany("too many deals are consistent with these steps")
            todo = following
        return done

    def step(self, word: str) -> None:
        """Take a public step."""
        ways, mover = [], CHANCE
        calm = nodes.calm_words(self.ways[0].state, self.rules.turn(self.ways[0].state))
        for way in self.ways:
            for each, by in self._after(way):
                if len(each.public) > len(way.public) and each.public[len(way.public)] == word:
                    ways.append(each)
                    mover = by
        if not ways:
            raise GameError(f"{word:.40} is not possible after these steps")
        self.movers.append(mover)
        self.words.append(word if mover == CHANCE else calm.get(word, word))
        self.ways = self._spread(ways)


def walked(strategy: LibraryStrategy, steps: Sequence[str], deal: int | None) -> Walker:
    """All deals after some public steps; one deal if there are too many."""
    if len(steps) > MOST_STEPS:
        raise GameError(f"too many steps: the limit is {MOST_STEPS}")
    try:
        walker = Walker(strategy, deal)
        for word in steps:
            walker.step(word)
    except TooMany:
        if deal is not None:
            raise
        return walked(strategy, steps, 0)
    return walker


def node(
    strategy: LibraryStrategy, steps: Sequence[str], pool: ThreadPoolExecutor, deal: int | None = None
) -> dict[str, Any]:
    """What the page shows of a strategy after some public steps."""
    poker_strategy = poker.poker_strategy(strategy)
    if poker_strategy is not None and deal is None:
        return poker_strategy.node(steps, pool)
    walker = walked(strategy, steps, deal)
    rules, ways = walker.rules, walker.ways
    turns = {rules.turn(way.state) for way in ways}
    turn = turns.pop() if len(turns) == 1 else max(turns)  # histories that end beside some that go on
    ways = [way for way in ways if rules.turn(way.state) == turn]
    weight = np.array([way.weight for way in ways])
    chance = sum(way.chance for way in walker.ways)
    experts, acted = Experts(strategy), [w for w, m in zip(steps, walker.movers, strict=True) if m != CHANCE]
    shown = nodes.node_at(strategy, steps, walker.words, walker.movers, turn) | {
        "layout": "row", "board": [w for w, m in zip(steps, walker.movers, strict=True) if m == CHANCE],
        "deal": walker.deal, "facts": nodes.facts_of(ways[0].state), "expert": experts.after(acted),
        "reach": float(weight.sum() / chance) if chance > 0 else 0.0, "reach_all": float(weight.sum()),
        "ranges": [_range(walker, ways, weight, seat) for seat in range(walker.players)],
    }  # fmt: skip
    if turn == TERMINAL:
        shares = weight if weight.sum() > 0 else np.array([way.chance for way in ways])
        payoffs = np.array([[float(x) for x in rules.payoff(way.state)] for way in ways])
        shown["payoffs"] = (shares @ payoffs / shares.sum()).tolist()
        return shown
    if turn == CHANCE:
        done = len(ways[0].public)
        nexts = (each for way in walker.ways for each, _ in walker._after(way))
        words = {each.public[done] for each in nexts if len(each.public) > done}
        shown["choices"] = {"words": sorted(words, key=lambda word: nodes.order_of((word, None)))}
        return shown
    _decision(shown, walker, ways, weight, Valued(strategy, pool), experts, acted)
    return shown


def ranges(strategy: LibraryStrategy, steps: Sequence[str]) -> list[dict[str, Any]]:
    """The range of each seat after some public steps, by Bayes' rule. Raises TooMany if there are too many deals."""
    poker_strategy = poker.poker_strategy(strategy)
    if poker_strategy is not None:
        return poker_strategy.ranges(steps)
    if len(steps) > MOST_STEPS:
        raise TooMany(f"too many steps: the limit is {MOST_STEPS}")
    walker = Walker(strategy, None)
    for word in steps:
        walker.step(word)
    weight = np.array([way.weight for way in walker.ways])
    return [_range(walker, walker.ways, weight, seat) for seat in range(walker.players)]


def _range(walker: Walker, ways: Sequence[Way], weight: Floats, seat: int) -> dict[str, Any]:
    """The range of one seat."""
    total: dict[str, float] = {}
    for way, share in zip(ways, weight.tolist(), strict=True):
        name = walker.holding(way, seat)
        total[name] = total.get(name, 0.0) + share
    whole = sum(total.values())
    ordered = sorted(total.items(), key=nodes.order_of)
    cells = [{"name": name, "weight": x / whole if whole > 0 else 0.0} for name, x in ordered]
    return {"seat": seat, "layout": "row", "cells": cells[:nodes.MOST_LISTED]}


def _decision(
    node: dict[str, Any], walker: Walker, ways: Sequence[Way], weight: Floats, valued: Valued, experts: Experts,
    acted: Sequence[str],
) -> None:  # fmt: skip
    """Add the strategy of the seat to move."""
    seat = int(node["seat"])
    cells: dict[str, dict[str, Any]] = {}
    order: dict[str, None] = {}
    for way, share in zip(ways, weight.tolist(), strict=True):
        view = view_of(walker.rules, way.state, seat)
        if view.infoset not in cells:
            p = walker._row(seat, view)
            values = valued.at(seat, view.infoset)
            cells[view.infoset] = {
                "name": " ".join(view.private) or view.infoset, "infoset": view.infoset, "weight": 0.0, "count": 1,
                "p": dict(zip(view.actions, p.tolist(), strict=True)), "expert": experts.holding(view.infoset),
                "values": None if values is None else dict(zip(view.actions, values, strict=True)),
                "value": nodes.mean_value(p.tolist(), values),
            }  # fmt: skip
            order.update(dict.fromkeys(view.actions))
        cells[view.infoset]["weight"] += share
    listed = sorted(cells.values(), key=lambda cell: nodes.order_of((cell["name"], None)))[:nodes.MOST_LISTED]
    nodes.finish(node, listed, list(order), valued.why, experts, acted, nodes.calm_words(ways[0].state, seat))


# Two strategies


def difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """How far two strategies are from each other at a node, by holding: half the sum of absolute differences."""
    if one["game"] != other["game"]:
        games = f"{one['name']} {one['game']}, {other['name']} {other['game']}"
        raise GameError(f"the strategies play different games: {games}")
    theirs = {cell["name"]: cell for cell in other["cells"]}
    cells = []
    for cell in one["cells"]:
        match = theirs.get(cell["name"])
        if match is not None:
            moved = [(b or 0.0) - (a or 0.0) for a, b in zip(cell["p"], match["p"], strict=True)]
            cells.append({"name": cell["name"], "moved": moved, "distance": sum(map(abs, moved)) / 2,
                          "weight": (cell["weight"] + match["weight"]) / 2})  # fmt: skip
    weight = sum(cell["weight"] for cell in cells)
    mean = sum(cell["weight"] * cell["distance"] for cell in cells) / weight if weight > 0 else None
    return {"cells": cells, "mean": mean}


def most_different(one: LibraryStrategy, other: LibraryStrategy) -> dict[str, Any]:
    """The infosets where two strategies differ most, and NashConv of both; exactly, for games of a moderate size."""
    from kibitz.evaluate.difference import diff

    mine, theirs = one.profile, other.profile
    if mine is None or theirs is None or max(mine.infosets.columns, theirs.infosets.columns) > AT_ONCE:
        raise GameError("not computed: one of the strategies is too large for an exact comparison; use `kibitz diff`")
    comparison = diff(mine, theirs, one.rules)
    return {
        "game": comparison.game, "names": [one.entry.name, other.entry.name], "nash_conv": comparison.nash_conv,
        "exploitability": comparison.exploitability, "total": comparison.total, "differ": comparison.infosets,
        "rows": comparison.table.records(),
    }  # fmt: skip


# Infosets as a list


def infosets(strategy: LibraryStrategy, pool: ThreadPoolExecutor, seat: int, text: str, page: int) -> dict[str, Any]:
    """One page of the infosets of a seat whose labels contain a text."""
    profile = strategy.profile
    if profile is None:
        raise GameError("this strategy is too large to list its infosets; use the tree")
    if not 0 <= seat < profile.seats:
        raise GameError(f"there is no player {seat}: the players are 0 to {profile.seats - 1}")
    every, valued = profile.infosets, Valued(strategy, pool)
    begin, end = (int(x) for x in every.seat_start[seat : seat + 2])
    numbers: list[int] = []
    for number in range(begin, min(end, begin + 200_000)):
        if not text or text in every.labels[number]:
            numbers.append(number)
            if len(numbers) > (page + 1) * PAGE:
                break
    some = numbers[page * PAGE : (page + 1) * PAGE]
    rows = []
    for number in some:
        label, p = every.labels[number], profile.at(number)
        values = valued.at(seat, label)
        rows.append({"infoset": label, "actions": list(map(str, p)), "p": list(p.values()), "values": values,
                     "reach": None if valued.found is None else float(valued.found.reach[number])})  # fmt: skip
    return {"seat": seat, "seats": profile.seats, "rows": rows, "page": page, "more": len(numbers) > (page + 1) * PAGE}
