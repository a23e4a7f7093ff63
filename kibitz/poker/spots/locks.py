"""Locked strategies: what a player does at a node is fixed, and the rest is solved against it.

    check: bet 50 = AA, KQs:0.5; allin = QQ      with these hands; all others take the first action that is not named
    check, bet 50: fold = 40%                    every hand alike; the rest is the first action that is not named
    check, check, *: check = 100%                after any card
    IP = river.spot                              all that a player does in a saved solution of the same betting

A locked row is frozen: regret matching cannot move it, and a best response of its player follows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import HANDS, parse_range
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError, words_of
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.spots.engine import SolvedRows
from kibitz.poker.spots.engine_boards import Renaming, renamed, renamed_hands
from kibitz.poker.spots.lines import action_number, card_number
from kibitz.poker.spots.solution import SpotSolution
from kibitz.poker.spots.spot import PLAYERS, SpotTree

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ANY = -1  # card


@dataclass(frozen=True, eq=False)
class SpotLock:
    """One locked decision. cards: those that came before it since the beginning, ANY for any."""

    node: int
    cards: tuple[int, ...]
    rows: Floats  # [actions, 1326]  columns add up to 1
    hands: Bools  # [1326]  for which it is locked

    def nodes(self, tree: SpotTree) -> list[int]:
        return [self.node]

    def rows_on(self, node: int, board: Sequence[int], own: int) -> tuple[Floats, Bools] | None:
        fits = all(card in (ANY, other) for card, other in zip(self.cards, board[own:], strict=False))
        return (self.rows, self.hands) if node == self.node and fits else None

    def keeps(self, renaming: Renaming) -> bool:
        change = renamed_hands(renaming)
        same = np.array_equal(self.hands, self.hands[change]) and np.array_equal(
            self.rows[:, self.hands], self.rows[:, change][:, self.hands]
        )
        return same and all(card == ANY or renamed(card, renaming) == card for card in self.cards)


@dataclass(frozen=True, eq=False)
class PlayerLock:
    """All decisions of a player, from a solution whose betting tree is the same."""

    seat: int
    solved: SolvedRows

    def nodes(self, tree: SpotTree) -> list[int]:
        return [int(node) for node in np.flatnonzero(tree.betting.turn == self.seat)]

    def rows_on(self, node: int, board: Sequence[int], own: int) -> tuple[Floats, Bools] | None:
        return self.solved.rows(node, board), np.ones(HANDS, bool)

    def keeps(self, renaming: Renaming) -> bool:
        return renaming in self.solved.renamings


Lock = SpotLock | PlayerLock


def lock(tree: SpotTree, line: str, rows: Floats, hands: Bools | None = None) -> SpotLock:
    """Lock what a player does after a line. rows: [actions] for all hands, or [actions, 1326]; hands: only these."""
    node, cards = locked_node(tree, line)
    actions = tree.actions(node)
    table = np.asarray(rows, np.float64)
    table = np.repeat(table[:, None], HANDS, axis=1) if table.ndim == 1 else table
    every = np.ones(HANDS, bool) if hands is None else np.asarray(hands, bool)
    if table.shape != (len(actions), HANDS) or every.shape != (HANDS,):
        raise GameError(f"a lock after {line!r} needs a row for each of {', '.join(actions)}")
    if not np.isfinite(table).all() or table.min() < 0 or abs(table[:, every].sum(axis=0) - 1).max(initial=0) > 1e-6:
        raise GameError(f"a lock after {line!r} needs probabilities that add up to 1 for each hand")
    return SpotLock(node, cards, table / np.where(every, table.sum(axis=0), 1.0), every)


def lock_player(solution: SpotSolution, player: str, tree: SpotTree) -> PlayerLock:
    """Lock all that a player does in a solution."""
    if player.upper() not in PLAYERS:
        raise GameError(f"a player is OOP or IP, not {player!r:.40}")
    if len(solution.tree) != len(tree) or solution.tree.betting.actions != tree.betting.actions or not np.array_equal(
        solution.tree.betting.paid, tree.betting.paid
    ):
        raise GameError(f"the solution that {player} is locked at has another betting tree than the spot")
    return PlayerLock(PLAYERS.index(player.upper()), solution.solved)


def locked_node(tree: SpotTree, line: str) -> tuple[int, tuple[int, ...]]:
    """(the decision after a line, its cards)."""
    node, cards = tree.root, list[int]()
    for at, word in words_of(line) if line.strip() else []:
        turn = int(tree.betting.turn[node])
        try:
            if turn == TERMINAL:
                raise GameError("the hand is over here")
            if turn == CHANCE:
                cards.append(ANY if word == "*" else card_number(word))
            node = tree.children(node)[0 if turn == CHANCE else action_number(word, tree.actions(node))]
        except GameError as error:
            raise PointedError(str(error), line, at, at + len(word)) from None
    if tree.betting.turn[node] < 0:
        raise PointedError("nobody acts here: a lock is about a decision", line, len(line.rstrip()))
    return node, tuple(cards)


def read_lock(text: str, tree: SpotTree) -> Lock:
    """A lock as it is written."""
    if match := re.fullmatch(r"\s*(oop|ip)\s*=\s*(\S.*?)\s*", text, re.IGNORECASE):
        from kibitz.poker.spots.saved import load_spot

        return lock_player(load_spot(match[2]), match[1], tree)
    line, colon, said = text.partition(":")
    if not colon:
        raise PointedError("a lock reads LINE: ACTION = HANDS OR SHARE; or PLAYER = SAVED SOLUTION", text, len(text))
    try:
        node, cards = locked_node(tree, line)
    except PointedError as error:
        raise error.within("lock", text) from None
    actions = tree.actions(node)
    rows, named = np.zeros((len(actions), HANDS)), set[int]()
    for at, part in words_of(said, ";"):
        word, equals, what = part.partition("=")
        begin = len(line) + 1 + at
        if not part:
            continue
        if not equals:
            raise PointedError("lock: write ACTION = HANDS, or ACTION = SHARE such as 40%", text, begin,
                               begin + len(part))  # fmt: skip
        try:
            number = action_number(word.strip(), actions)
        except GameError as error:
            raise PointedError(f"lock: {error}", text, begin, begin + len(word.rstrip())) from None
        try:
            rows[number] = _shares(what)
        except PointedError as error:
            raise error.within("lock", text, begin + len(word) + 1) from None
        named.add(number)
    if not named:
        raise PointedError("lock: write ACTION = HANDS, or ACTION = SHARE such as 40%", text, len(text))
    total = rows.sum(axis=0)
    if total.max() > 1 + 1e-9:
        raise PointedError("lock: some hand does more than 100% in all", text, len(line) + 1, len(text))
    others = [k for k in range(len(actions)) if k not in named]
    if not others and total.min() < 1 - 1e-9:
        raise PointedError("lock: all actions are named, and some hand does less than 100% in all", text,
                           len(line) + 1, len(text))  # fmt: skip
    if others:
        rows[others[0]] = np.maximum(0.0, 1.0 - total)
    return SpotLock(node, cards, rows / rows.sum(axis=0), np.ones(HANDS, bool))


def _shares(what: str) -> Floats:
    """[1326]  a share of every hand, or the weights of a range."""
    if match := re.fullmatch(r"\s*(\d{1,3}(?:\.\d*)?)\s*%\s*", what):
        share = float(match[1]) / 100
        if share > 1:
            raise PointedError("a share is at most 100%", what, 0, len(what))
        return np.full(HANDS, share)
    try:
        return parse_range(what).weights
    except PointedError:
        raise
    except GameError as error:
        raise PointedError(str(error), what, 0, len(what)) from None
