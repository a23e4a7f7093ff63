"""Toepen for two: four cards each, tricks without trumps, only the last trick counts, and bets on who takes it.

The deck is `suits` times the top `ranks` of J Q K A 7 8 9 T, low to high. Each seat is dealt `hand` cards, unseen by
the other, and the rest stay hidden. Seat 0 leads the first trick. The leader plays any card; the other follows suit
if able, else plays anything, and takes the trick only with a higher card of the suit led. Whoever takes a trick leads
the next; whoever takes the last wins the ante, 1 at first. With `betting` the seat about to play a card, leading or
not, first checks or bets, unless the last bet of the hand was its own: then it checks. A bet is called, which adds 1
to the ante, or folded, which gives the bettor the ante as it was; then the bettor plays the card. [Le, A
Game-theoretic Approach to the Card Game Toepen, 2021, whose tables come from rules in which nobody has to follow
suit: follow_suit=false, here.]

A move without a choice is made at once and never asked for: every decision has two actions or more. It is part of the
public history all the same. An infoset reads "8c 9d | check 9h bet call Th check": the cards that the seat holds, by
suit and rank ("-" if none is left), then what was said and played by either, in order. Who played a card follows from
the rules, so the text also tells the hand that was dealt. Without betting there are only cards.

*Action order.* Check before bet, call before fold. Cards: by suits, and within a suit the lowest first. Suits are in
order of the ranks that the seat still holds of them (tuples, lowest rank first: 8 before 8T before 9), then of their
signatures, then c d h s. What stands at one position is then the same kind of card in all infosets that differ by
names of suits.

*Signature* of a suit for a seat: a pair of tuples, the ranks dealt to the seat in that suit, ascending (as positions
0 to 7 in JQKA789T), and for each card played so far by either 0 if it is of another suit, else its rank's position +
1. Two infosets of a seat are the same but for the names of suits exactly if the betting is the same and the
signatures of all suits of the deck are, as a multiset: `maximal_key`. `thesis_key` renames suits by the dealt hand
alone and so tells more apart.

*symmetric=true* is the quotient of the game by the names of suits: one deal for each class of deals, as likely as the
class; infosets are maximal keys, in which suits are called w x y z; and of cards that such a renaming maps to each
other (same rank, suits with the same signature) only the first is an action. Which of them is played is then up to
chance: each is as likely as the others, as in a strategy that does not look at the names of suits, for the other seat
may well tell them apart. Recall stays perfect and the value is that of the game itself. Its infosets are a few less
than the maximal keys of the game, which count every infoset where two cards may be played, be they tied: with three
suits, ranks and cards 124,883 of 125,213 leave a choice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from kibitz.core.errors import GameError, SpecError
from kibitz.games.machine import Machine
from kibitz.games.plugins import plugin_of
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Buckets, BuiltIn
from kibitz.toepen.states import (
    MOST_DEALS,
    NAMES,
    NUMBERS,
    Cards,
    ToepenState,
    deal_text,
    hand_text,
    in_order,
    maximal_key,
    maximal_names,
    ranks_in,
    signature,
    takes,
    to_play,
)


@dataclass(frozen=True)
class Toepen(BuiltIn):
    """Toepen: toepen(suits=4, ranks=8, hand=4, betting=true, follow_suit=true, symmetric=false)."""

    called, plugin = "toepen", "toepen"  # its agents and its renderer are in `kibitz.toepen.plugin`
    players = 2
    suits: int = 4
    ranks: int = 8
    hand: int = 4
    betting: bool = True
    follow_suit: bool = True
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.suits <= 4:
            raise SpecError(f"toepen's deck has 1 to 4 suits, not suits={self.suits}")
        if not 1 <= self.ranks <= 8:
            raise SpecError(f"toepen's deck has 1 to 8 ranks, the top ones of J Q K A 7 8 9 T, not ranks={self.ranks}")
        if self.hand < 1:
            raise SpecError(f"toepen deals each seat a hand of 1 card or more, not hand={self.hand}")
        if 2 * self.hand > self.suits * self.ranks:
            raise SpecError(
                f"toepen(hand={self.hand}) needs {2 * self.hand} cards, but suits={self.suits} and "
                f"ranks={self.ranks} make {self.suits * self.ranks}"
            )

    @cached_property
    def deck(self) -> Cards:
        return tuple(8 * suit + rank for suit in range(self.suits) for rank in range(8 - self.ranks, 8))

    @property
    def deals(self) -> int:
        """The number of ways to deal both hands."""
        return math.comb(len(self.deck), self.hand) * math.comb(len(self.deck) - self.hand, self.hand)

    def root(self) -> ToepenState:
        return ToepenState(CHANCE, "deal")

    # Chance

    def chance(self, state: ToepenState) -> list[tuple[Action, float]]:
        if state.due == "suit":
            return self._picks(state)
        if self.deals > MOST_DEALS:
            raise GameError(
                f"{self.spec} has {self.deals:,} deals, too many to list; shrink suits, ranks or hand, or sample deals"
            )
        if self.symmetric:
            return [(deal_text(*hands), copies / self.deals) for hands, copies in self._classes()]
        return [
            (deal_text(one, other), 1 / self.deals)
            for one in combinations(self.deck, self.hand)
            for other in combinations([card for card in self.deck if card not in one], self.hand)
        ]

    def sample(self, state: ToepenState, rng: random.Random) -> Action:
        """An outcome by its chance, without a list of all of them."""
        if state.due == "suit":
            picks = self._picks(state)
            return rng.choices([name for name, _ in picks], [p for _, p in picks])[0]
        cards = rng.sample(self.deck, 2 * self.hand)
        hands = tuple(sorted(cards[: self.hand])), tuple(sorted(cards[self.hand :]))
        return deal_text(*(self._representative(hands) if self.symmetric else hands))

    def is_outcome(self, state: ToepenState, outcome: Action) -> bool:
        """Whether chance can bring this, without a list of all outcomes."""
        if state.due == "suit":
            return outcome in [name for name, _ in self._picks(state)]
        hands = tuple(tuple(NUMBERS.get(name, -1) for name in part.split()) for part in str(outcome).split("|"))
        cards = [card for hand in hands for card in hand]
        if [len(hand) for hand in hands] != [self.hand] * 2 or len({*cards} & {*self.deck}) < 2 * self.hand:
            return False
        hands = tuple(tuple(sorted(hand)) for hand in hands)
        return outcome == deal_text(*(self._representative(hands) if self.symmetric else hands))

    def _representative(self, hands: tuple[Cards, ...]) -> tuple[Cards, ...]:
        """The deal that stands for all that differ from this one by names of suits."""
        shares = sorted((tuple(ranks_in(cards, suit) for cards in hands) for suit in range(self.suits)), reverse=True)
        return tuple(
            tuple(8 * suit + rank for suit, share in enumerate(shares) for rank in share[seat]) for seat in range(2)
        )

    def _classes(self) -> Iterator[tuple[tuple[Cards, ...], int]]:
        """One deal for each class of deals that differ by names of suits only, and the size of the class."""
        ranks = range(8 - self.ranks, 8)
        shares = sorted(
            (
                (one, other)
                for m in range(self.hand + 1)
                for one in combinations(ranks, m)
                for n in range(self.hand + 1)
                for other in combinations([rank for rank in ranks if rank not in one], n)
            ),
            reverse=True,
        )

        def fill(taken: list[int], at: int, left: tuple[int, int]) -> Iterator[list[int]]:
            """Shares for the suits that are left, none before `at`: so each multiset comes once."""
            if len(taken) == self.suits:
                if left == (0, 0):
                    yield taken
                return
            for k in range(at, len(shares)):
                rest = left[0] - len(shares[k][0]), left[1] - len(shares[k][1])
                if min(rest) >= 0:
                    yield from fill([*taken, k], k, rest)

        for taken in fill([], 0, (self.hand, self.hand)):
            same = math.prod(math.factorial(taken.count(k)) for k in set(taken))
            yield (
                tuple(
                    tuple(8 * suit + rank for suit, k in enumerate(taken) for rank in shares[k][seat])
                    for seat in range(2)
                ),
                math.factorial(self.suits) // same,
            )

    def _picks(self, state: ToepenState) -> list[tuple[Action, float]]:
        """Which of the tied cards is played: one outcome for all whose suits are tied for the other seat too."""
        kinds: dict[object, list[int]] = {}
        for card in state.tied:
            kind = [signature(state.dealt[seat], state.plays, card // 8) for seat in range(2)]
            kinds.setdefault(tuple(kind), []).append(card)
        return [(NAMES[cards[0]], len(cards) / len(state.tied)) for cards in kinds.values()]

    # Moves

    def actions(self, state: ToepenState) -> tuple[str, ...]:
        if state.due == "answer":
            return ("call", "fold")
        if state.due == "bet":
            return ("check", "bet") if state.bettor != state.turn else ("check",)
        if self.symmetric:
            return tuple(self._kinds(state))
        return tuple(NAMES[card] for card in self._legal(state))

    def _legal(self, state: ToepenState) -> Cards:
        """The cards that may be played, in the order of actions."""
        seat, plays = state.turn, state.plays
        cards = in_order(state.dealt[seat], plays)
        if self.follow_suit and len(plays) % 2:
            suit = plays[-1] // 8
            return tuple(card for card in cards if card // 8 == suit) or cards
        return cards

    def _kinds(self, state: ToepenState) -> dict[str, Cards]:
        """The cards that may be played by what the seat's infoset calls them; tied ones are one action."""
        dealt = state.dealt[state.turn]
        kinds: dict[str, Cards] = {}
        called = maximal_names(dealt, state.plays)
        first_called: dict[object, str] = {}
        for card in self._legal(state):
            kind = card % 8, signature(dealt, state.plays, card // 8)
            name = first_called.setdefault(kind, called[card])
            kinds[name] = (*kinds.get(name, ()), card)
        return kinds

    def after(self, state: ToepenState, action: Action) -> ToepenState:
        if state.due == "deal":
            hands = tuple(tuple(NUMBERS[name] for name in part.split()) for part in str(action).split("|"))
            state = ToepenState(0, "bet" if self.betting else "card", hands, hands)
        elif state.due == "suit":
            state = self._play(state._replace(turn=to_play(state), tied=()), NUMBERS[str(action)])
        else:
            state = self._move(state, str(action))
        while state.turn >= 0 and state.due != "answer" and len(actions := self.actions(state)) == 1:
            state = self._move(state, actions[0])
        return state

    def _move(self, state: ToepenState, action: str) -> ToepenState:
        """The state after one move, before moves without a choice."""
        if state.due == "card":
            if not self.symmetric:
                return self._play(state, NUMBERS[action])
            tied = self._kinds(state)[action]
            waiting = state._replace(turn=CHANCE, due="suit", tied=tied)
            return waiting if len(self._picks(waiting)) > 1 else self._play(state, tied[0])
        done = f"{state.done} {action}" if state.done else action
        other = 1 - state.turn
        if action == "check":
            return state._replace(due="card", done=done)
        if action == "bet":
            return state._replace(turn=other, due="answer", done=done, bettor=state.turn)
        if action == "call":
            return state._replace(turn=other, due="card", done=done, ante=state.ante + 1)
        return state._replace(turn=TERMINAL, due="nothing", done=done, leader=other)

    def _play(self, state: ToepenState, card: int) -> ToepenState:
        turn, _, dealt, hands, done, plays, leader, ante, bettor, _ = state
        hand = tuple(c for c in hands[turn] if c != card)
        hands = (hand, hands[1]) if turn == 0 else (hands[0], hand)
        done = f"{done} {NAMES[card]}" if done else NAMES[card]
        if len(plays) % 2:  # the trick is complete
            leader = turn if takes(plays[-1], card) else leader
            turn = leader if len(plays) + 1 < 2 * self.hand else TERMINAL
        else:
            turn = 1 - turn
        due = "nothing" if turn == TERMINAL else "bet" if self.betting else "card"
        return ToepenState(turn, due, dealt, hands, done, (*plays, card), leader, ante, bettor)

    def view(self, state: ToepenState, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(the cards that a seat was dealt, what was said and played by either)."""
        return tuple(NAMES[card] for card in state.dealt[seat]), tuple(state.done.split())

    def infoset(self, state: ToepenState) -> str:
        if self.symmetric:
            return maximal_key(state, state.turn)
        return f"{hand_text(state.held[state.turn])} | {state.done}".rstrip()

    def read(self, seat: int, infoset: str) -> ToepenState:
        """The state as a seat knows it in an infoset of its own: the hand of the other is empty."""
        if self.symmetric:
            raise GameError(f"{self.spec} has infosets without the real names of suits: they cannot be read back")
        hand, _, history = infoset.partition(" |")
        left = tuple(NUMBERS[name] for name in hand.split() if name != "-")
        state, played = ToepenState(0, "bet" if self.betting else "card"), []
        for word in history.split():
            if word in NUMBERS and state.turn == seat:
                played.append(NUMBERS[word])
            state = self._move(state, word)
        dealt = tuple(sorted((*left, *played)))
        hands = [(dealt, ()), ((), dealt)][seat], [(left, ()), ((), left)][seat]
        return state._replace(dealt=hands[0], held=hands[1])

    def kinds(self, seat: int, infoset: str) -> tuple[str, Mapping[str, tuple[str, ...]]]:
        """The symmetric game's infoset for one of this game, and for each action there the actions it stands for."""
        state = self.read(seat, infoset)
        if state.due != "card":
            return maximal_key(state, seat), {action: (action,) for action in self.actions(state)}
        kinds = {name: tuple(NAMES[card] for card in cards) for name, cards in self._kinds(state).items()}
        return maximal_key(state, seat), kinds

    def arrays(self, limit: int) -> dict[str, Any] | None:
        """The game laid out by its compiled state machine, for `kibitz.games.tree`; None where that cannot be."""
        from kibitz.toepen.arrays import arrays_of

        return arrays_of(self, limit)

    def machine(self) -> Machine | None:
        """The compiled rules, for walks and matches: of hands of up to four cards, and not symmetric."""
        from kibitz.toepen.machine import MOST_CARDS, ToepenMachine

        return None if self.hand > MOST_CARDS or self.symmetric else ToepenMachine(self)

    def agents(self) -> Mapping[str, Any]:
        """Players that need a strategy to play from, by name."""
        return plugin_of(self).agents(self)

    def renderer(self) -> Any:
        """How a table of Toepen is shown to a person."""
        return plugin_of(self).renderer(self)

    def transcript_1(self, text: str) -> Iterator[str]:
        """A transcript of version 1, played again."""
        from kibitz.toepen.old_transcripts import replayed

        return replayed(self, text)

    def buckets(self) -> Mapping[str, Buckets]:
        """Abstractions by name: see kibitz.toepen.keys. A symmetric game has none: its infosets are merged."""
        from kibitz.toepen.keys import buckets

        return {} if self.symmetric else buckets(self)

    def payoff(self, state: ToepenState) -> list[float]:
        ante = float(state.ante)
        return [ante, -ante] if state.leader == 0 else [-ante, ante]
