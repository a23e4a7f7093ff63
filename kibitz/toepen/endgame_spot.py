"""Public situations in an endgame: what was said and played since it began, and where a strategy has the answer."""

from __future__ import annotations

import numpy as np

from kibitz.core.errors import GameError
from kibitz.toepen.endgame_layout import EndgameLayout
from kibitz.toepen.endgame_rows import ANSWER, BEFORE, PLAY, PLAY_RAISED
from kibitz.toepen.states import NAMES, NUMBERS


class Spot:
    """A public situation in an endgame; `take` goes on to the next."""

    def __init__(self, endgame: EndgameLayout) -> None:
        self.endgame = endgame
        self.history: list[str] = []
        self.seat = endgame.leader  # who is to move
        self.phase = BEFORE
        self.played: tuple[list[int], list[int]] = ([], [])  # lanes, by seat
        self.led = -1  # lane of the card to answer to
        self.over = False
        self._node, self._batch, self._member = 0, -1, 0
        self._last = -1  # the leader's last card
        self._raised = self._raised_last = 0
        if endgame.cards_each == 1:
            self._node, self._batch = -1, 0

    @property
    def may_bet(self) -> bool:
        """Whether the one about to play may bet."""
        if self._batch < 0:
            return bool(self.endgame._plan.node[self._node, 4])
        batch = self.endgame._plan.batch[self._batch]
        return bool(batch[2] if self._last < 0 else self._raised_last or batch[3])

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
        plan = endgame._plan
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
            node = plan.node[self._node]
            place = int(plan.kids[node[11 + raised] + lane])
            found = int(np.searchsorted(plan.node[:, 6], place))
            wins = self.led >= 0 and lane & 3 == self.led & 3 and lane > self.led
            if found < len(plan.node) and plan.node[found, 6] == place:
                self._node = found
            else:
                self._batch = int(np.searchsorted(plan.batch[:, 5], place, side="right")) - 1
                self._member = (place - int(plan.batch[self._batch, 5])) // endgame._deck.lanes
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
        held = sum(1 << lane for lane, card in enumerate(endgame._card) if card >= 0 and left >> card & 1)
        everything = self.played[0] + self.played[1]
        size = endgame.cards_each - len(mine)
        if left & ~endgame.unplayed or held.bit_count() != size or any(held >> lane & 1 for lane in everything):
            raise GameError(f"seat {self.seat} cannot hold {cards_text(left)} after {self._text()}")
        if self._batch >= 0:
            return self._last_columns(held, left)
        node = endgame._plan.node[self._node]
        index = held.bit_length() - 1 if size == 1 else int(np.flatnonzero(endgame._space(size) == held)[0])
        n = int(endgame._deck.size[size])
        if self.phase == ANSWER:
            return {"fold": int(node[8]) + index, "call": int(node[8]) + n + index}
        if self.phase == BEFORE and self.may_bet:
            return {"check": int(node[7]) + index, "bet": int(node[7]) + n + index}
        deck = endgame._deck
        legal = int(deck.legal[int(deck.start[size]) + index, self.led & 3 if self.led >= 0 else 4])
        first = int(node[9 + (self.phase == PLAY_RAISED)]) + index
        wide = int(deck.wide[size]) + index * size
        names = [NAMES[endgame._card[lane]] for lane in deck.cards[wide : wide + size].tolist()]
        result = {name: first + a * n for a, name in enumerate(names) if legal >> a & 1}
        return result if len(result) > 1 else dict.fromkeys(result, -1)

    def _last_columns(self, held: int, left: int) -> dict[str, int]:
        batch = self.endgame._plan.batch[self._batch].tolist()
        may, may_other, count, column = batch[2], batch[3], batch[4], batch[6]
        column += self.endgame._cut
        lanes = self.endgame._deck.lanes
        n = count * lanes
        lane = held.bit_length() - 1
        at = self._member * lanes
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


def cards_text(hand: int) -> str:
    """A hand as names of cards."""
    return " ".join(name for card, name in enumerate(NAMES) if hand >> card & 1) or "no cards"
