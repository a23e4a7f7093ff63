"""The rows of an endgame: who knows what, where it may choose, and which columns of a strategy are its actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.toepen.endgame_layout import MOST_CARDS, EndgameLayout
from kibitz.toepen.kernels import endgame_tree as fields
from kibitz.toepen.states import NAMES, NUMBERS

# Phases of a row: about to check or bet, facing a bet, about to play after a check, and after bet and call.
BEFORE, ANSWER, PLAY, PLAY_RAISED = 0, 1, 2, 3
NO_CARDS = np.full(MOST_CARDS, -1, np.int8)


class EndgameRows(NamedTuple):
    """The rows of an endgame, all arrays of one length; rows with one legal action are left out.

    Action a of a row is column `column + a * stride`. The actions are (check, bet) in phase BEFORE, (fold, call) in
    phase ANSWER, and else the cards in `cards`, some of which may be illegal (`legal` has a bit for each).
    `history` has six bits for each card played since the endgame began, the first one lowest: card * 2, + 1 if a bet
    was called right before it. In the last trick, once the leader's card lies on the table, all cards of the other that
    win are one row, and so are all that lose; `hand` is then the lowest such card, and `members` has all of them.
    """

    seat: Any  # int8
    phase: Any  # int8
    plays: Any  # int8  cards played since the endgame began
    history: Any  # int64
    hand: Any  # int64  cards still in the hand
    column: Any  # int64
    stride: Any  # int64
    actions: Any = 2  # int8
    legal: Any = 3  # int8
    cards: Any = NO_CARDS  # int8[rows, 3]; -1 where there is none
    members: Any = 0  # int64  the cards that share the row (as bits), 0 where none do


def rows_of(endgame: EndgameLayout) -> EndgameRows:
    """A description of every row with a choice; see `EndgameRows`."""
    deck, k = endgame._deck, endgame.cards_each
    parts: list[EndgameRows] = []
    for node in endgame._tree.node.tolist():
        actor, role, j, _, may, led, _, bet, call, play0, play1 = node[:11]
        played, history = node[fields.PLAYED], node[fields.HISTORY]
        plays = 2 * (k - j) + role
        mine, theirs = endgame._space(j), endgame._space(j - role)
        hands = np.flatnonzero(mine & played == 0)
        others = np.flatnonzero((theirs & played == 0) & (theirs & endgame._live == theirs))
        masks = endgame._masks(mine[hands])
        if may:
            parts.append(EndgameRows(actor, BEFORE, plays, history, masks, bet + hands, len(mine)))
            others_masks = endgame._masks(theirs[others])
            parts.append(EndgameRows(1 - actor, ANSWER, plays, history, others_masks, call + others, len(theirs)))
        first = int(deck.start[j])
        legal = deck.legal[first : first + len(mine), led & 3 if led >= 0 else 4][hands].astype(np.int64)
        choice = (legal & (legal - 1)) > 0
        hands, legal, masks = hands[choice], legal[choice], masks[choice]
        wide = int(deck.wide[j])
        cards = np.tile(NO_CARDS, (len(hands), 1))
        cards[:, :j] = np.array(endgame._card)[deck.cards[wide : wide + j * len(mine)].reshape(-1, j)[hands]]
        for path in range(1 + may):
            column = (play0, play1)[path] + hands
            parts.append(EndgameRows(actor, PLAY + path, plays, history, masks, column, len(mine), j, legal, cards))
    for batch in endgame._tree.batch.tolist():
        parts += batch_rows(endgame, batch)
    return joined_rows(parts)


def batch_rows(endgame: EndgameLayout, batch: list[int]) -> list[EndgameRows]:
    """The rows of a batch of last tricks."""
    leader, _, may, may_other, count, _, column, parent, path, begin = batch
    column += endgame._cut
    lanes, node = endgame._deck.lanes, endgame._tree.node
    member = endgame._tree.member[begin : begin + count].astype(np.int64)
    codes = np.array(endgame._card, np.int64)
    n, plays = count * lanes, 2 * endgame.cards_each - 2
    if parent >= 0:
        played = node[parent, fields.PLAYED] | np.left_shift(1, member)
        history = node[parent, fields.HISTORY] + ((codes[member] * 2 + path) << (6 * (plays - 1)))
    else:
        played, history = np.zeros(1, np.int64), np.zeros(1, np.int64)
    free = (endgame._live & ~played)[:, None] >> np.arange(lanes) & 1  # [count, lanes]
    b, lane = np.nonzero(free)
    at = b * lanes + lane
    hand = np.left_shift(1, codes[lane])
    parts: list[EndgameRows] = []
    if may:
        parts.append(EndgameRows(leader, BEFORE, plays, history[b], hand, column + at, n))
        parts.append(EndgameRows(1 - leader, ANSWER, plays, history[b], hand, column + 2 * n + at, n))
        column += 4 * n
    rest = endgame._live & ~played[b] & ~np.left_shift(1, lane)
    above = np.array([sum(1 << x for x in range(y + 4, lanes, 4)) for y in range(lanes)], np.int64)
    for raised in range(1 + may):
        if not (raised or may_other):
            continue
        after = history[b] + ((codes[lane] * 2 + raised) << (6 * plays))
        for first, cards in ((column, rest & above[lane]), (column + 2 * n, rest & ~above[lane])):  # win, then lose
            some = cards > 0
            members = endgame._masks(cards[some])
            row = EndgameRows(1 - leader, BEFORE, plays + 1, after[some], members & -members, first + at[some], n)
            parts.append(row._replace(members=members))
        parts.append(EndgameRows(leader, ANSWER, plays + 1, after, np.zeros_like(at), column + 4 * n + at, n))
        column += 6 * n
    return parts


def joined_rows(parts: list[EndgameRows]) -> EndgameRows:
    """The rows of all parts, in which one number may stand for all rows of the part."""

    def joined(name: str) -> NDArray[Any]:
        dtype = np.int64 if name in ("history", "hand", "column", "stride", "members") else np.int8
        shape = (MOST_CARDS,) if name == "cards" else ()
        arrays = [np.broadcast_to(getattr(part, name), (len(part.hand), *shape)) for part in parts]
        return np.concatenate([np.zeros((0, *shape), dtype), *arrays]).astype(dtype, copy=False)

    return EndgameRows(*map(joined, EndgameRows._fields))


class PublicState:
    """A public state of an endgame: what was said and played since it began. `take` goes on to the next."""

    def __init__(self, endgame: EndgameLayout) -> None:
        self.endgame = endgame
        self.history: list[str] = []
        self.seat = endgame.leader  # whose turn it is
        self.phase = BEFORE
        self.played: tuple[list[int], list[int]] = ([], [])  # lanes, by seat
        self.led = -1  # lane of the card to answer to
        self.over = False
        self._node, self._batch, self._member = 0, -1, 0
        self._last = -1  # the leader's last card
        self._raised_last = 0
        if endgame.cards_each == 1:
            self._node, self._batch = -1, 0

    @property
    def may_bet(self) -> bool:
        """Whether the one about to play may bet."""
        if self._batch < 0:
            return bool(self.endgame._tree.node[self._node, fields.MAY])
        batch = self.endgame._tree.batch[self._batch]
        return bool(batch[fields.MAY_LEADER] if self._last < 0 else self._raised_last or batch[fields.MAY_OTHER])

    def take(self, action: str | int) -> None:
        """One public action."""
        name = action if isinstance(action, str) else NAMES[action] if 0 <= action < 32 else str(action)
        if self.over:
            raise GameError(f"{name!r} after {self._text()}: the hand is over")
        if name == "check" and self.phase == BEFORE:
            self.phase = PLAY
        elif name == "bet" and self.phase == BEFORE and self.may_bet:
            self.phase, self.seat = ANSWER, 1 - self.seat
        elif name == "call" and self.phase == ANSWER:
            self.phase, self.seat = PLAY_RAISED, 1 - self.seat
        elif name == "fold" and self.phase == ANSWER:
            self.over = True
        elif name in NUMBERS and (self.phase >= PLAY or (self.phase == BEFORE and not self.may_bet)):
            self._play(name)
        else:
            raise GameError(f"{name!r} is no action after {self._text()}")
        self.history.append(name)

    def _text(self) -> str:
        return " ".join(self.history) or "nothing"

    def _play(self, name: str) -> None:
        card = NUMBERS[name]
        endgame = self.endgame
        tree = endgame._tree
        if card not in endgame._card or endgame._card.index(card) in self.played[0] + self.played[1]:
            raise GameError(f"{name!r} cannot be played after {self._text()}: it is not among the unplayed cards")
        lane, raised = endgame._card.index(card), int(self.phase == PLAY_RAISED)
        self.played[self.seat].append(lane)
        if self._batch >= 0:
            if self._last >= 0:
                self.over = True
                return
            self._last, self._raised_last = lane, raised
            self.seat = 1 - self.seat
        else:
            node = tree.node[self._node]
            place = int(tree.kids[node[fields.KIDS0 + raised] + lane])
            child = int(np.searchsorted(tree.node[:, fields.AT], place))
            wins = self.led >= 0 and lane & 3 == self.led & 3 and lane > self.led
            if child < len(tree.node) and tree.node[child, fields.AT] == place:
                self._node = child
            else:
                self._batch = int(np.searchsorted(tree.batch[:, fields.PLACE], place, side="right")) - 1
                self._member = (place - int(tree.batch[self._batch, fields.PLACE])) // endgame._deck.lanes
            if self.led < 0:
                self.led, self.seat = lane, 1 - self.seat
            else:
                self.led, self.seat = -1, self.seat if wins else 1 - self.seat
        self.phase = BEFORE

    def columns(self, hand: int) -> dict[str, int]:
        """Legal actions of the seat to move with the cards it holds (now, or as the endgame began): their columns.

        An action without a choice has column -1. Card names are in the order of the hand's lanes.
        """
        if self.over:
            raise GameError(f"the hand is over after {self._text()}")
        endgame = self.endgame
        mine = self.played[self.seat]
        left = hand & ~sum(1 << endgame._card[lane] for lane in mine)
        lanes = sum(1 << lane for lane, card in enumerate(endgame._card) if card >= 0 and left >> card & 1)
        everything = self.played[0] + self.played[1]
        size = endgame.cards_each - len(mine)
        if left & ~endgame.unplayed or lanes.bit_count() != size or any(lanes >> lane & 1 for lane in everything):
            cards = " ".join(name for card, name in enumerate(NAMES) if left >> card & 1) or "no cards"
            raise GameError(f"seat {self.seat} cannot hold {cards} after {self._text()}")
        if self._batch >= 0:
            return self._last_columns(lanes.bit_length() - 1, left)
        node = endgame._tree.node[self._node]
        index = lanes.bit_length() - 1 if size == 1 else int(np.flatnonzero(endgame._space(size) == lanes)[0])
        n = int(endgame._deck.size[size])
        if self.phase == ANSWER:
            return {"fold": int(node[fields.CALL]) + index, "call": int(node[fields.CALL]) + n + index}
        if self.phase == BEFORE and self.may_bet:
            return {"check": int(node[fields.BET]) + index, "bet": int(node[fields.BET]) + n + index}
        deck = endgame._deck
        legal = int(deck.legal[int(deck.start[size]) + index, self.led & 3 if self.led >= 0 else 4])
        first = int(node[fields.PLAY0 + (self.phase == PLAY_RAISED)]) + index
        wide = int(deck.wide[size]) + index * size
        names = [NAMES[endgame._card[lane]] for lane in deck.cards[wide : wide + size].tolist()]
        result = {name: first + a * n for a, name in enumerate(names) if legal >> a & 1}
        return result if len(result) > 1 else dict.fromkeys(result, -1)

    def _last_columns(self, lane: int, left: int) -> dict[str, int]:
        """The same in the last trick, with a card in a lane left."""
        _, _, may, may_other, count, _, column, *_ = self.endgame._tree.batch[self._batch].tolist()
        column += self.endgame._cut
        n = count * self.endgame._deck.lanes
        at = self._member * self.endgame._deck.lanes
        if self._last < 0:
            if self.phase == ANSWER:
                return {"fold": column + 2 * n + at + lane, "call": column + 3 * n + at + lane}
            if self.phase == BEFORE and may:
                return {"check": column + at + lane, "bet": column + n + at + lane}
        else:
            column += 4 * n * may + 6 * n * may_other * self._raised_last + at + self._last
            if self.phase == ANSWER:
                return {"fold": column + 4 * n, "call": column + 5 * n}
            if self.phase == BEFORE and self.may_bet:
                wins = lane & 3 == self._last & 3 and lane > self._last
                return {"check": column + 2 * n * (not wins), "bet": column + 2 * n * (not wins) + n}
        return {NAMES[left.bit_length() - 1]: -1}
