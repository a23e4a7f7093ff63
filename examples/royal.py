"""Royal: Kuhn's big sister, in one file and in plain Python.

Two players, a deck of J Q K A in two suits. Two cards are dealt to each and one is turned; a bet of 1, one raise of 2.
A pair with the turned card wins, else the higher cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from kibitz.games import CHANCE, TERMINAL

RANKS = "JQKA"
CARDS = tuple(rank + suit for rank in RANKS for suit in "hs")


@dataclass(frozen=True)
class State:
    hands: tuple[tuple[str, ...], ...] = ()
    turned: str = ""
    done: tuple[str, ...] = ()


@dataclass(frozen=True)
class Royal:
    """royal.py:Royal(ante=1)"""

    ante: int = 1
    players = 2
    help = "Two cards each and one on the table. A pair with it wins, else the higher hand. Bet 1, raise 2, or fold."

    def root(self):
        return State()

    def turn(self, state):
        if len(state.hands) < 2 or not state.turned:
            return CHANCE
        if self._over(state.done):
            return TERMINAL
        return len(state.done) % 2

    def _over(self, done):
        return done[-1:] in (("fold",), ("call",)) or done[-2:] == ("check", "check")

    def chance(self, state):
        left = [card for card in CARDS if all(card not in hand for hand in state.hands)]
        outcomes = left if len(state.hands) == 2 else [" ".join(pair) for pair in combinations(left, 2)]
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    def actions(self, state):
        last = state.done[-1] if state.done else "check"
        return {"check": ("check", "bet"), "bet": ("fold", "call", "raise"), "raise": ("fold", "call")}[last]

    def after(self, state, action):
        if len(state.hands) < 2:
            return State((*state.hands, tuple(action.split())))
        if not state.turned:
            return State(state.hands, action)
        return State(state.hands, state.turned, (*state.done, action))

    def infoset(self, state):
        return f"{' '.join(state.hands[self.turn(state)])} on {state.turned}: {' '.join(state.done)}"

    def view(self, state, seat):
        hand = state.hands[seat] if seat < len(state.hands) else ()
        return hand, ((state.turned,) if state.turned else ()) + state.done

    def buckets(self):
        from kibitz.games import Buckets

        def ranks(seat, infoset):
            return "".join(letter for letter in infoset.split(" on ")[0] if letter in RANKS), infoset.split(" on ")[1]

        return {"ranks": Buckets(ranks, "the suits of the two cards in hand")}

    def payoff(self, state):
        done = state.done
        stake = self.ante + (1 if ("bet" in done and done[-1] != "fold") or "raise" in done else 0)
        if "raise" in done and done[-1] == "call":
            stake += 2
        if done[-1] == "fold":
            folder = (len(done) - 1) % 2
            won = -stake if folder == 0 else stake
        else:
            mine, yours = (self._strength(hand, state.turned) for hand in state.hands)
            won = stake * ((mine > yours) - (mine < yours))
        return [float(won), float(-won)]

    def _strength(self, hand, turned):
        ranks = sorted((RANKS.index(card[0]) for card in hand), reverse=True)
        return (turned[0] in (card[0] for card in hand), ranks)
