"""The rows of an endgame: who knows what, where it may choose, and which columns of a strategy are its actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.toepen.endgame_deck import MOST_CARDS
from kibitz.toepen.endgame_layout import EndgameLayout

Ints = NDArray[np.int64]

# Phases of a row: about to check or bet, facing a bet, about to play after a check, and after bet and call.
BEFORE, ANSWER, PLAY, PLAY_RAISED = 0, 1, 2, 3
PHASES = ("before", "answer", "play", "play raised")
ALONE, WINNING, LOSING = 0, 1, 2


class Rows(NamedTuple):
    """The rows of an endgame, all arrays of one length; rows with one legal action are left out.

    Action a of a row is column `column + a * stride`. The actions are (check, bet) in phase BEFORE, (fold, call) in
    phase ANSWER, and else the cards in `cards`, some of which may be illegal (`legal` has a bit for each).
    `history` has six bits for each card played since the endgame began, the first one lowest: card * 2, + 1 if a bet
    was called right before it. In the last trick, once the leader's card lies on the table, all cards of the other that
    win are one row, and so are all that lose; `hand` is then the lowest such card, and `members` has all of them.
    """

    seat: NDArray[np.int8]
    phase: NDArray[np.int8]
    plays: NDArray[np.int8]  # cards played since the endgame began
    history: Ints
    hand: Ints  # cards still held
    members: Ints  # the cards that share the row (as bits) if merged, else 0
    merged: NDArray[np.int8]  # ALONE, WINNING or LOSING
    column: Ints
    stride: Ints
    actions: NDArray[np.int8]
    cards: NDArray[np.int8]  # [rows, 3]; -1 where there is none
    legal: NDArray[np.int8]


class RowList:
    """Rows gathered piece by piece."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def add(
        self, seat: int, phase: int, plays: int, history: int | Ints, hand: Ints, column: Ints, stride: int,
        actions: int, *, members: Ints | int = 0, merged: int = ALONE, cards: NDArray[Any] | None = None,
        legal: int | Ints = 3,
    ) -> None:  # fmt: skip
        n = len(hand)
        held = np.full((n, MOST_CARDS), -1, np.int8)
        if cards is not None:
            held[:, : cards.shape[1]] = cards
        given = (seat, phase, plays, history, hand, members, merged, column, stride, actions)
        self.parts.append((*(np.broadcast_to(np.asarray(x), n) for x in given), held, np.broadcast_to(legal, n)))

    def table(self) -> Rows:
        types = (np.int8, np.int8, np.int8, np.int64, np.int64, np.int64, np.int8, np.int64, np.int64, np.int8, np.int8)
        joined = [np.concatenate(x) for x in zip(*self.parts, strict=True)] if self.parts else []
        if not joined:
            joined = [np.zeros((0, MOST_CARDS) if i == 10 else 0, np.int64) for i in range(12)]
        return Rows(*(x.astype(t, copy=False) for x, t in zip(joined, (*types, np.int8), strict=True)))


def rows_of(endgame: EndgameLayout) -> Rows:
    """A description of every row with a choice; see `Rows`."""
    deck, k = endgame._deck, endgame.cards_each
    out = RowList()
    for node in endgame._plan.node.tolist():
        actor, role, j, _, may, led, _, bet, call, play0, play1 = node[:11]
        played, history = node[13], node[14]
        plays = 2 * (k - j) + role
        mine, theirs = endgame._space(j), endgame._space(j - role)
        free, other_free = mine & played == 0, (theirs & played == 0) & (theirs & endgame._live == theirs)
        hands, other_hands = np.flatnonzero(free), np.flatnonzero(other_free)
        if may:
            out.add(actor, BEFORE, plays, history, endgame._masks(mine[hands]), bet + hands, len(mine), 2)
            masks = endgame._masks(theirs[other_hands])
            out.add(1 - actor, ANSWER, plays, history, masks, call + other_hands, len(theirs), 2)
        first = int(deck.start[j])
        legal = deck.legal[first : first + len(mine), led & 3 if led >= 0 else 4][hands].astype(np.int64)
        choice = (legal & (legal - 1)) > 0
        hands, legal = hands[choice], legal[choice]
        wide = int(deck.wide[j])
        lanes = deck.cards[wide : wide + j * len(mine)].reshape(-1, j)[hands]
        cards = np.array(endgame._card)[lanes]
        for path in range(1 + may):
            column = (play0, play1)[path] + hands
            masks = endgame._masks(mine[hands])
            out.add(actor, PLAY + path, plays, history, masks, column, len(mine), j, cards=cards, legal=legal)
    for batch in endgame._plan.batch.tolist():
        add_batch(endgame, batch, out)
    return out.table()


def add_batch(endgame: EndgameLayout, batch: list[int], out: RowList) -> None:
    """The rows of a batch of last tricks."""
    leader, _, may, may_other, count, _, column, parent, path, begin = batch
    column += endgame._cut
    lanes, node = endgame._deck.lanes, endgame._plan.node
    member = endgame._plan.member[begin : begin + count].astype(np.int64)
    codes = np.array(endgame._card, np.int64)
    n, plays = count * lanes, 2 * endgame.cards_each - 2
    if parent >= 0:
        played = node[parent, 13] | np.left_shift(1, member)
        history = node[parent, 14] + ((codes[member] * 2 + path) << (6 * (plays - 1)))
    else:
        played, history = np.zeros(1, np.int64), np.zeros(1, np.int64)
    free = (endgame._live & ~played)[:, None] >> np.arange(lanes) & 1  # [count, lanes]
    b, lane = np.nonzero(free)
    at = b * lanes + lane
    held = np.left_shift(1, codes[lane])
    if may:
        out.add(leader, BEFORE, plays, history[b], held, column + at, n, 2)
        out.add(1 - leader, ANSWER, plays, history[b], held, column + 2 * n + at, n, 2)
        column += 4 * n
    rest = endgame._live & ~played[b] & ~np.left_shift(1, lane)
    above = np.array([sum(1 << x for x in range(y + 4, lanes, 4)) for y in range(lanes)], np.int64)
    for raised in range(1 + may):
        if not (raised or may_other):
            continue
        after = history[b] + ((codes[lane] * 2 + raised) << (6 * plays))
        for merged, lower in ((WINNING, rest & above[lane]), (LOSING, rest & ~above[lane])):
            some = lower > 0
            members = endgame._masks(lower[some])
            where = column + (merged - WINNING) * 2 * n + at[some]
            out.add(
                1 - leader, BEFORE, plays + 1, after[some], members & -members, where, n, 2,
                members=members, merged=merged,
            )  # fmt: skip
        out.add(leader, ANSWER, plays + 1, after, np.zeros(len(at), np.int64), column + 4 * n + at, n, 2)
        column += 6 * n
