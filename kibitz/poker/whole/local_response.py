"""Local best response in poker: a player that knows its opponents' strategy and looks one action ahead.

At each decision it knows how likely each hand of an opponent is, by Bayes from the strategy and what was done (a
*range*). It weighs fold, call and raise as if afterwards everybody checked and called to the end; to a raise the others
fold as often as their strategy does there [Lisy & Bowling 2017]. Whatever it does, what it wins against a strategy is a
lower bound on what a best response wins.

With several opponents ranges are taken as independent, and an opponent's folds as answered before the others act:
both only make the response weaker than it might be.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent
from kibitz.games.views import View
from kibitz.poker.endgames.hand_rows import HandRows
from kibitz.poker.rules import betting
from kibitz.poker.rules.betting import Bets
from kibitz.poker.rules.cards import cards_of
from kibitz.poker.rules.rules import strength

Floats = NDArray[np.float64]
BOARDS = 24  # ways the board may go on that an equity is taken over


class LocalResponse(Agent):
    """An agent. target: a compiled agent that plays all other seats, with rows of its own."""

    name = "local best response"

    def __init__(self, target: Any, boards: int = BOARDS, seed: int = 0) -> None:
        self.hand_rows, machine = HandRows(target), target.machine
        if not machine.definition.limit:
            raise GameError("local best response is only for limit poker: in other games raises have many sizes")
        self.target, self.machine, self.definition, self.boards = target, machine, machine.definition, boards
        deck = self.definition.deck
        self.hands = np.array(list(combinations(deck, self.definition.hole)), np.uint8)  # [N, private cards]
        self._masks = np.bitwise_or.reduce(np.uint64(1) << self.hands.astype(np.uint64), axis=1)
        self._draw = np.random.default_rng(seed)
        self._known: dict[tuple[Any, ...], Floats] = {}

    def begin(self, seat: int) -> None:
        self._known.clear()

    # What opponents may hold

    def _clear(self, gone: tuple[int, ...]) -> NDArray[np.bool_]:
        """Hands without some cards."""
        mask = np.uint64(sum({1 << int(card) for card in gone}))
        return np.asarray((self._masks & mask) == 0)

    def _ranges(
        self, seat: int, done: str, board: list[tuple[int, ...]], gone: tuple[int, ...]
    ) -> tuple[dict[int, Floats], Bets]:
        """(by seat that is still in, but for one's own: what each hand weighs; where betting stands)."""
        definition = self.definition
        bets = betting.start(definition)
        said, weights = "", {s: self._clear(gone).astype(float) for s in range(definition.players) if s != seat}
        for number, part in enumerate(done.split("/")):
            if number:
                said += "/"
            shown = tuple(card for cards in board[:number] for card in cards)
            for action in betting.words(part):
                while bets.turn < 0:
                    bets = betting.deal(definition, bets)
                who = bets.turn
                if who != seat:
                    key = (who, said, shown)
                    if key not in self._known:
                        self._known[key] = self.hand_rows.on_board(who, said, shown, self.hands)
                    offered = betting.actions(definition, bets)
                    weights[who] = weights[who] * self._known[key][:, offered.index(action)]
                bets = betting.act(definition, bets, action)
                said += betting.letters(action)
        while bets.turn < 0:
            bets = betting.deal(definition, bets)
        return {s: weight for s, weight in weights.items() if not bets.folded[s]}, bets

    # The value of its own hand

    def _wins(self, mine: tuple[int, ...], board: tuple[int, ...], ranges: dict[int, Floats]) -> float:
        """How likely one's hand beats all ranges if the board goes on at random; ties count half."""
        missing = sum(self.definition.board) - len(board)
        left = [card for card in self.definition.deck if card not in (*mine, *board)]
        count = self.boards if missing else 1
        rests = [self._draw.choice(left, missing, replace=False).tolist() if missing else () for _ in range(count)]
        boards = [(*board, *rest) for rest in rests]
        clear = [self._clear((*mine, *whole)) for whole in boards]
        # All hands on all boards in one call: a call costs more than what it ranks.
        sizes = [int(free.sum()) for free in clear]
        hands = np.concatenate([self.hands[free] for free in clear])
        shown = np.repeat(np.array(boards, np.uint8).reshape(count, -1), sizes, axis=0)
        values = np.split(strength(np.concatenate([hands, shown], axis=1)), np.cumsum(sizes)[:-1])
        total = 0.0
        for whole, free, ranked in zip(boards, clear, values, strict=True):
            own = int(strength(np.array((*mine, *whole))))
            beaten = np.where(ranked < own, 1.0, np.where(ranked == own, 0.5, 0.0))
            chance = 1.0
            for weight in ranges.values():
                possible = weight[free]
                mass = possible.sum()
                chance *= float(possible @ beaten / mass) if mass > 0 else 0.5
            total += chance
        return total / count

    def act(self, view: View) -> list[float]:
        cards, _, done = view.infoset.partition(":")
        groups = [cards_of(word) for word in cards.split(" ")]
        mine = groups[0]
        after = iter(groups[1:])
        level = done.count("/")
        board = [next(after, ()) if self.definition.board[r] else () for r in range(level + 1)]
        shown = tuple(card for each in board for card in each)
        ranges, bets = self._ranges(view.seat, done, board[1:], (*mine, *shown))
        pot, top = sum(bets.paid), max(bets.paid)
        asked = top - bets.paid[view.seat]
        wins = self._wins(mine, shown, ranges)
        value = {"fold": 0.0, "call": wins * pot - (1 - wins) * asked}
        if "raise" in view.actions:
            value["raise"] = self._raised(view.seat, done, mine, shown, ranges, bets, pot, asked)
        best = max(view.actions, key=lambda action: value[action])
        return [float(action == best) for action in view.actions]

    def _raised(self, seat: int, done: str, mine: tuple[int, ...], shown: tuple[int, ...], ranges: dict[int, Floats],
                bets: Bets, pot: int, asked: int) -> float:  # fmt: skip
        """The value of a raise: those who fold leave the pot, those who call pay it."""
        size = self.definition.raise_size[bets.round]
        after, said = betting.act(self.definition, bets, "raise"), done + "r"
        stay: dict[int, Floats] = {}
        leave, now, text = 1.0, after, said
        while now.turn >= 0 and now.turn != seat and now.round == bets.round:
            who = now.turn
            offered = betting.actions(self.definition, now)
            played = self.hand_rows.on_board(who, text, shown, self.hands)
            folds = played[:, offered.index("fold")] if "fold" in offered else np.zeros(len(played))
            mass = ranges[who].sum()
            leave *= float(ranges[who] @ folds / mass) if mass > 0 else 0.0
            stay[who] = ranges[who] * (1 - folds)
            now, text = betting.act(self.definition, now, "call"), text + "c"
        wins = self._wins(mine, shown, {who: stay.get(who, weight) for who, weight in ranges.items()})
        more = sum(max(after.paid) - after.paid[who] for who in ranges)
        met = wins * (pot + more) - (1 - wins) * (asked + size)
        return float(leave * pot + (1 - leave) * met)


def local_bound(target: Any, deals: int = 1000, seed: int = 1, boards: int = BOARDS) -> Any:
    """What local best response wins in duplicate deals, with the target in all other seats: the first score of the
    match is a lower bound on what a best response wins, up to its interval."""
    from kibitz.evaluate.match import match

    response = LocalResponse(target, boards, seed)
    return match(target.machine, response, *[target] * (target.machine.players - 1), deals=deals, seed=seed)
