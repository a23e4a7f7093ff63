"""Hands of a person against a solved spot, and what each decision lost.

Both hands are dealt as likely as the ranges have them. The solution plays the other seat. A decision is scored by what
it loses against the best action at that point: the values of actions if both go on by the solution, for the person's
own hand against the range of the other there. The other's cards stay on the server until the hand is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kibitz.cards.deck import name
from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE
from kibitz.poker.spots.solution import SpotNode, SpotSolution
from kibitz.poker.spots.spot import PLAYERS, live
from kibitz.poker.spots.tables import hand_names
from kibitz.web.errors import Stale


@dataclass
class SpotScore:
    """Over all hands of a person against one spot."""

    hands: int = 0
    decisions: int = 0
    best: int = 0  # decisions that lost nothing to speak of
    lost: float = 0.0  # chips, over all decisions
    won: float = 0.0  # chips, with luck


@dataclass(eq=False)
class SpotHand:
    """One hand. Random numbers stay on the server."""

    solution: SpotSolution
    seat: int
    holdings: tuple[int, int]
    draw: np.random.Generator
    score: SpotScore
    root: SpotNode  # it remembers what was computed for the hands before
    node: SpotNode
    choices: list[dict[str, Any]] = field(default_factory=list)
    payoff: float | None = None

    @classmethod
    def dealt(cls, solution: SpotSolution, seat: int, before: SpotHand | None = None,
              seed: int | None = None) -> SpotHand:  # fmt: skip
        """Deal a hand; before: the last one of the same person, whose score goes on."""
        draw = before.draw if before is not None and seed is None else np.random.default_rng(seed)
        ranges, cards = live(solution.spot), hand_cards()
        while True:  # pairs of hands that share no card, as likely as both weights say
            both = [int(draw.choice(len(cards), p=weights / weights.sum())) for weights in ranges]
            if not set(cards[both[0]].tolist()) & set(cards[both[1]].tolist()):
                break
        score = SpotScore() if before is None else before.score
        root = solution.at() if before is None else before.root
        hand = cls(solution, seat, (both[0], both[1]), draw, score, root, root)
        hand._go_on()
        return hand

    def act(self, hand: int, decision: int, action: str) -> None:
        """Choose an action."""
        if hand != self.score.hands or decision != len(self.choices) or self.payoff is not None:
            raise Stale("this decision was made already")
        if action not in self.node.actions:
            raise GameError(f"{action[:40]!r} is not an action here: choose {', '.join(self.node.actions)}")
        at, mine = self.node.actions.index(action), self.holdings[self.seat]
        values = np.nan_to_num(self.node.action_values[:, mine])
        lost = float(values.max() - values[at])
        self.choices.append({"line": self.node.line, "board": [name(card) for card in self.node.board],
                             "actions": list(self.node.actions), "chosen": at, "lost": lost, "pot": self.node.pot,
                             "shares": self.node.strategy[:, mine].tolist(), "values": values.tolist()})  # fmt: skip
        self.score.decisions += 1
        self.score.lost += lost
        self.score.best += lost <= 0.002 * self.node.pot
        self.node = self.node.below[at]
        self._go_on()

    def _go_on(self) -> None:
        """Play on to the person's next decision, or to the end."""
        cards = {card for hand in self.holdings for card in hand_cards()[hand].tolist()}
        while not self.node.is_over:
            if self.node.turn == CHANCE:
                left = [card for card in self.node.cards if card not in cards]
                self.node = self.node.after(name(int(self.draw.choice(left))))
            elif self.node.turn == self.seat:
                return
            else:
                shares = self.node.strategy[:, self.holdings[1 - self.seat]]
                shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1 / len(shares))
                self.node = self.node.below[int(self.draw.choice(len(shares), p=shares))]
        self.payoff = self._payoff()
        self.score.hands += 1
        self.score.won += self.payoff

    def _payoff(self) -> float:
        """What the person wins, in chips, counted like the values of the spot: without its half of the first pot."""
        from kibitz.cards.ranking import evaluate

        tree, node = self.solution.tree, self.node
        win, tie, lose = (float(chips) for chips in tree.pays[node.node, self.seat])
        base = float(self.solution.spot.base[self.seat])
        if tree.betting.folded[node.node].any():
            return win + base
        cards = hand_cards()
        own, other = (
            int(evaluate([*cards[hand].tolist(), *node.board])) for hand in
            (self.holdings[self.seat], self.holdings[1 - self.seat])
        )  # fmt: skip
        return base + (win if own > other else tie if own == other else lose)

    def data(self) -> dict[str, Any]:
        """What the person may see."""
        node, texts, over = self.node, hand_names(), self.payoff is not None
        data = {
            "hand": self.score.hands - over, "decision": len(self.choices), "seat": self.seat,
            "player": PLAYERS[self.seat], "cards": texts[self.holdings[self.seat]], "line": node.line,
            "board": [name(card) for card in node.board], "pot": node.pot, "over": over,
            "stacks": (np.asarray(self.solution.spot.stacks) - (node.paid - self.solution.spot.pot / 2)).tolist(),
            "actions": [] if over else list(node.actions), "choices": self.choices if over else [],
            "score": {"hands": self.score.hands, "decisions": self.score.decisions, "best": self.score.best,
                      "lost": self.score.lost, "won": self.score.won},
        }  # fmt: skip
        if over:
            folded = bool(self.solution.tree.betting.folded[node.node].any())
            data |= {"payoff": self.payoff, "folded": folded, "other": texts[self.holdings[1 - self.seat]]}
        return data
