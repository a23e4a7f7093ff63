"""Locked strategies: what a player does at a node is fixed, and the rest is solved against it.

    check: bet 50 = AA, KQs:0.5; allin = QQ      with these hands; all others take the first action that is not named
    check, bet 50: fold = 40%                    every hand alike; the rest is the first action that is not named
    check, check, *: check = 100%                after any card
    IP = river.spot                              all that a player does in a saved solution of the same betting

A locked row is frozen: regret matching cannot move it, and a best response of its player follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import HANDS, parse_range
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError, words_of
from kibitz.core.resources import MARGIN, free_memory
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.exact.rows import PokerRows
from kibitz.poker.spots.engine import EndgameEngine, FormRows, SolvedRows, SpotForm
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.solution import SpotSolution, action_number, card_number
from kibitz.poker.spots.spot import PLAYERS, Spot, SpotTree, live

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ANY = -1  # card
BYTES_PER_SEQUENCE = 3 * 4 + 4 * 8 + 1  # of CFR; and of best responses to frozen rows, in double precision


@dataclass(frozen=True, eq=False)
class SpotLock:
    """One locked decision. cards: those that came before it since the beginning, ANY for any."""

    node: int
    cards: tuple[int, ...]
    rows: Floats  # [actions, 1326]  columns add up to 1
    hands: Bools  # [1326]  for which it is locked

    def fits(self, board: Sequence[int], first: int) -> bool:
        """Whether it holds on a board; first: cards of the spot's own."""
        return all(card in (ANY, other) for card, other in zip(self.cards, board[first:], strict=True))


@dataclass(frozen=True, eq=False)
class PlayerLock:
    """All decisions of a player, from a solution whose betting tree is the same."""

    seat: int
    solved: SolvedRows


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
    node, cards = 0, list[int]()
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


class LockedRows(PokerRows):
    """Locked rows of a spot's form, by sequence. S sequences."""

    def __init__(self, form: SpotForm, locks: Sequence[Lock]) -> None:
        self.form = form
        self.frozen, self.held = np.zeros(form.sequences, bool), np.ones(form.sequences)
        places = FormRows(form, np.zeros(0))
        for each in locks:
            for node, board in self._where(form, each):
                sequences, numbers = places.places(node, board)
                if isinstance(each, PlayerLock):
                    rows, which = each.solved.rows(node, board), np.ones(HANDS, bool)
                else:
                    rows, which = each.rows, each.hands
                here = which[numbers]
                self.frozen[sequences[:, here]] = True
                self.held[sequences[:, here]] = rows[:, numbers[here]]

    @staticmethod
    def _where(form: SpotForm, each: Lock) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(betting node, board) of all that is locked."""
        betting = form.betting
        nodes = [each.node] if isinstance(each, SpotLock) else np.flatnonzero(betting.turn == each.seat).tolist()
        own = len(form.spot.board)
        for node in nodes:
            for board in form.cards.rounds[int(betting.round[node])].boards.tolist():
                if not isinstance(each, SpotLock) or each.fits(board, own):
                    yield node, tuple(board)

    def _respond(self, seat: int, worth: Floats) -> float:
        """As of all games; but at its first decision a hand counts as often as the player's range has it."""
        tree, first, best = self._trees[seat], int(self.form.seat_sequence[seat]), 0.0
        ranges = live(self.form.spot)[seat]
        for segment, k in tree.nodes(up=True):
            after, before = tree.after(segment, k), tree.before(segment, k)
            here = worth[after]
            mean = (self.held[after] * here).sum(axis=0)
            most = np.where(self.frozen[after[0]], mean, here.max(axis=0))
            if before[0] == first:
                best += float(ranges[self.form.numbers[int(self.form.levels[segment])]] @ most)
            else:
                np.add.at(worth, before, most)
        return best + float(worth[first])


def check_locked_size(spot: Spot, tree: SpotTree) -> None:
    """Refuse a spot that does not fit into memory with all hands on all boards, which locks need."""
    betting, left, boards, sequences = tree.betting, spot.deck[0] * spot.deck[1] - len(spot.board), 1, 0
    for level in range(3 - spot.street):
        if level:
            boards, left = boards * left, left - 1
        widths = betting.widths[(betting.round == level) & (betting.turn >= 0)]
        sequences += boards * comb(left, 2) * int(widths.sum())
    needed, most = BYTES_PER_SEQUENCE * sequences, max(0, free_memory() - MARGIN)
    if needed > most:
        raise GameError(
            f"with locks the spot has {sequences:,} sequences, all hands on all boards, which take about "
            f"{needed / 1e6:,.0f} MB, and {most / 1e6:,.0f} MB are free: lock on a later street, or give fewer sizes"
        )


class LockedEngine(EndgameEngine):
    """dcfr+ in which locked rows act as chance."""

    def __init__(self, spot: Spot, tree: SpotTree, locks: Sequence[Lock], threads: int | None = None) -> None:
        check_locked_size(spot, tree)
        super().__init__(spot, tree, threads)
        self.frozen = LockedRows(self.form, locks)
        self.state = type(self.state)(self.form, None, rows=self.frozen)

    def gains(self) -> Gains:
        """A best response changes what is not locked."""
        measure = self.frozen.measure(self.state.average)
        scale = self.form.tree.unit / self.form.mass
        return Gains(measure.value * scale, measure.best * scale)

    def answer(self) -> SolvedRows:
        return FormRows(self.form, self.frozen.filled(self.state.average).astype(np.float32))
