"""A strategy of a game with an action abstraction, at a table where every bet may be made.

What all have done is read as a history of the abstract game, action by action; the strategy is asked there, and its
answer is turned into an action that is legal at the table.

What others do:

- fold and call are fold and call;
- a bet or raise of x pots (what it adds beyond a call, by the pot after that call) becomes one of the sizes that the
  strategy's game has at that point, measured in the same way. Between two of them, A below x and B above it, it is A
  with probability f(x) = (B - x)(1 + A) / ((B - A)(1 + x)) and else B: the randomised pseudo-harmonic mapping
  [Ganzfried & Sandholm 2013, "Action Translation in Extensive-Form Games with Large Action Spaces"]. Below the
  smallest size it is the smallest, above the largest the largest;
- a raise where the strategy's game has none is a call there.

What it does itself:

- fold and call are fold and call, but it never folds where a check is free;
- a raise is as many pots at the table as in the strategy's game, in whole chips, or the nearest raise that is legal;
  all in is all in; where no raise is legal it calls.

It *checks or calls* (the fallback) where the strategy's game has come to its end before the hand has, where it is in
another round, or where another seat is to act in it (as when a bet was read as all in, or a raise as a call), and where
the strategy has no row (`silent`). Once a later round begins in both at once it is asked again.

No random number is drawn here. In place of one meaning of what others did there are all of them, each with its
probability given what it did itself, and the answer is the mean over these (Bayes' rule): exactly how one would play
who draws a meaning of each bet when it is made and keeps to it. So an answer depends on the seat's infoset alone, and
the match draws from it with the numbers of the hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kibitz.core.errors import GameError
from kibitz.games.machine import Machine
from kibitz.games.protocol import CHANCE
from kibitz.games.views import View
from kibitz.poker.rules import betting
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets
from kibitz.poker.rules.rules import Poker

MOST_MEANINGS = 128  # of a history: the likeliest are kept
CALL, FOLD = "call", "fold"


class AbstractGameAgent(Protocol):
    """The agent that plays the game with the action abstraction."""

    @property
    def name(self) -> str: ...
    def answer(self, seat: int, infoset: str, actions: tuple[str, ...]) -> list[float] | None: ...  # None: no row


class Meaning(NamedTuple):
    """What has happened, as a history of the strategy's game."""

    weight: float
    bets: Bets | None  # None: no history of that game goes with it any more
    done: str  # the betting in the competition's letters


class Translated:
    """An agent that plays a strategy of an abstract game in `machine`, which has all bets; see above."""

    def __init__(self, base: AbstractGameAgent, fewer: Poker, machine: Machine) -> None:
        rules: Any = machine.rules
        self.base, self.name, self.machine, self.game = base, base.name, machine, rules
        self.few, self.all = fewer.definition, rules.definition
        self.asked = self.unanswered = 0  # decisions, and those where it fell back with all its weight
        self._known: dict[tuple[int, str], list[float] | None] = {}
        if self.few.limit != self.all.limit or self.few.players != self.all.players:
            raise GameError(f"{self.name} is a strategy of another game than {machine.spec}")

    def begin(self, seat: int) -> None:
        self._known.clear()

    def end(self, view: View, payoff: float) -> None:
        pass

    def act(self, view: View) -> list[float]:
        """A probability for each action: a mean over all meanings."""
        cards, _, done = view.infoset.partition(":")
        table, meanings = self.meanings(view.seat, cards, done)
        weights: dict[str, float] = {}
        fallen = total = 0.0
        for meaning in meanings:
            total += meaning.weight
            plan = self._plan(view.seat, cards, table, meaning)
            if plan is None:
                fallen += meaning.weight
                weights[CALL] = weights.get(CALL, 0.0) + meaning.weight
                continue
            for action, _, p in plan:
                weights[action] = weights.get(action, 0.0) + meaning.weight * p
        self.asked += 1
        self.unanswered += fallen >= total
        answer = [0.0] * len(view.actions)
        for action, p in weights.items():
            answer[_place(view.actions, action)] += p / total
        return answer

    def meanings(self, seat: int, cards: str, done: str) -> tuple[Bets, list[Meaning]]:
        """(the bets at the table, all meanings of what led there) for a seat that has seen some cards."""
        table = _dealt(self.all, betting.start(self.all), "")[0]
        meanings = [Meaning(1.0, *_dealt(self.few, betting.start(self.few), ""))]
        for said in done.split("/"):
            for action in betting.words(said):
                after: list[Meaning] = []
                if table.turn == seat:
                    after = [new for old in meanings for new in self._own(seat, cards, table, old, action)]
                if not any(new.weight > 0.0 for new in after):  # another's, or nothing that the strategy would do
                    after = [new for old in meanings for new in self._others(table, old, action)]
                after = [new for new in after if new.weight > 0.0]
                if len(after) > MOST_MEANINGS:
                    after = sorted(after, key=lambda new: -new.weight)[:MOST_MEANINGS]
                total = sum(new.weight for new in after)
                meanings = [new._replace(weight=new.weight / total) for new in after]
                table = _dealt(self.all, betting.act(self.all, table, action), "")[0]
        return table, meanings

    def _followed(self, old: Meaning, action: str, p: float) -> Meaning:
        assert old.bets is not None
        bets = betting.act(self.few, old.bets, action)
        return Meaning(old.weight * p, *_dealt(self.few, bets, old.done + betting.letters(action)))

    def _own(self, seat: int, cards: str, table: Bets, old: Meaning, action: str) -> Iterator[Meaning]:
        """After an action of its own: what it may have meant by it."""
        plan = self._plan(seat, cards, table, old)
        if plan is None:
            if action == CALL:
                yield self._fell(table, old)
            return
        for table_action, meant, p in plan:
            if table_action == action and p > 0.0:
                yield self._followed(old, meant, p)

    def _fell(self, table: Bets, old: Meaning) -> Meaning:
        """After a fallback: a check or call in the strategy's game as well, if it is its turn there."""
        if _together(table, old.bets):
            return self._followed(old, CALL, 1.0)
        return old if _ahead(table, old.bets) else old._replace(bets=None)

    def _others(self, table: Bets, old: Meaning, action: str) -> Iterator[Meaning]:
        """After an action of another seat."""
        if not _together(table, old.bets):
            yield old if _ahead(table, old.bets) else old._replace(bets=None)
            return
        assert old.bets is not None
        offered = betting.actions(self.few, old.bets)
        if action in (FOLD, CALL):
            yield self._followed(old, action, 1.0) if action in offered else old._replace(bets=None)
            return
        raises = [each for each in offered if each not in (FOLD, CALL)]
        if not raises:
            yield self._followed(old, CALL, 1.0)
        elif self.few.limit:
            yield self._followed(old, raises[0], 1.0)
        else:
            sizes = [betting.size_of(old.bets, int(each[1:])) for each in raises]
            for at, p in mapped(betting.size_of(table, int(action[1:])), sizes):
                yield self._followed(old, raises[at], p)

    def _plan(self, seat: int, cards: str, table: Bets, meaning: Meaning) -> list[tuple[str, str, float]] | None:
        """(action at the table, action of the strategy's game, probability) where a seat acts; None: fall back."""
        bets = meaning.bets
        if bets is None or not _together(table, bets):
            return None
        offered = betting.actions(self.few, bets)
        answer = self._answer(seat, f"{self._seen(cards, bets.round)}:{meaning.done}", offered)
        if answer is None:
            return None
        return [(*self._turned(table, bets, action), p) for action, p in zip(offered, answer, strict=True) if p > 0.0]

    def _answer(self, seat: int, infoset: str, offered: tuple[str, ...]) -> list[float] | None:
        if (seat, infoset) not in self._known:
            self._known[seat, infoset] = self.base.answer(seat, infoset, offered)
        return self._known[seat, infoset]

    def _seen(self, cards: str, number: int) -> str:
        """The cards of an infoset as they were in a round."""
        return " ".join(cards.split(" ")[: 1 + sum(map(bool, self.all.board[: number + 1]))])

    def _turned(self, table: Bets, bets: Bets, action: str) -> tuple[str, str]:
        """(what an action of the strategy's game is at the table, what it is followed by there)."""
        if action == FOLD and table.paid[table.turn] < max(table.paid):
            return FOLD, FOLD
        offered = betting.totals(self.all, table) if action not in (FOLD, CALL) else ()
        if not offered:
            return CALL, CALL
        if self.all.limit:
            return "raise", action
        total = int(action[1:])
        assert self.few.stacks is not None
        if total >= self.few.stacks[bets.turn]:
            return f"r{offered[-1]}", action
        wanted = betting.total_of(self.all, table, betting.size_of(bets, total))
        if self.all.bets:  # the table may have a list of bets too
            wanted = min(offered, key=lambda each: (abs(each - wanted), each))
        return f"r{wanted}", action


def mapped(x: float, sizes: Sequence[float]) -> list[tuple[int, float]]:
    """(which of some sizes, with what probability) a bet of x pots is read as; sizes go up."""
    if x <= sizes[0]:
        return [(0, 1.0)]
    if x >= sizes[-1]:
        return [(len(sizes) - 1, 1.0)]
    above = next(k for k, size in enumerate(sizes) if size >= x)
    low, high = sizes[above - 1], sizes[above]
    p = (high - x) * (1.0 + low) / ((high - low) * (1.0 + x))
    return [(above - 1, p), (above, 1.0 - p)]


def _together(table: Bets, bets: Bets | None) -> bool:
    """Whether the same seat is to act in the same round."""
    return bets is not None and (bets.turn, bets.round) == (table.turn, table.round)


def _ahead(table: Bets, bets: Bets | None) -> bool:
    """Whether the strategy's game waits in a later round for the table to come there."""
    return bets is not None and bets.turn >= 0 and bets.round > table.round


def _dealt(game: Definition, bets: Bets, done: str) -> tuple[Bets, str]:
    """With the cards of the board dealt, as far as nobody acts before them."""
    while bets.turn == CHANCE:
        done += "/" if bets.round else ""
        bets = betting.deal(game, bets)
    return bets, done


def _place(actions: Sequence[str], action: str) -> int:
    """Which of the actions it is. Raises are listed one chip after another, as far as every size is there."""
    if action.startswith("r") and action != "raise":
        first = next(k for k, each in enumerate(actions) if each not in (FOLD, CALL))
        at = first + int(action[1:]) - int(actions[first][1:])
        if at < len(actions) and actions[at] == action:
            return at
    return actions.index(action)
