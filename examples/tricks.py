"""Tricks: a small trick game with compiled rules, in one file.

A deck of `cards` cards, 0 the lowest; each of two seats is dealt `hand` of them, and the rest stay hidden. The leader
plays a card, the other answers; the higher card takes the trick and leads the next. The k-th trick is worth k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kibitz.games import CHANCE, TERMINAL
from kibitz.solvers.compiled import (
    END,
    U64,
    Hand,
    Machine,
    RowKeys,
    kernel,
    mix,
    next_below,
    part,
    play_deals,
    register,
    walk_all,
)

# The rules, as a person reads them


class Seen(NamedTuple):
    """Where a game stands."""

    dealt: tuple[tuple[int, ...], ...] = ()
    plays: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tricks:
    """tricks.py:Tricks(cards=6, hand=2)"""

    cards: int = 6
    hand: int = 2
    players = 2
    help = "The higher card takes the trick and leads the next; the k-th trick is worth k."

    def root(self):
        return Seen()

    def sample(self, state, rng):
        drawn = rng.sample(range(self.cards), 2 * self.hand)
        return self._text(drawn)

    def _text(self, drawn):
        return "|".join(" ".join(map(str, sorted(drawn[k : k + self.hand]))) for k in (0, self.hand))

    def chance(self, state):
        from itertools import combinations

        deals = [
            self._text([*one, *two])
            for one in combinations(range(self.cards), self.hand)
            for two in combinations([c for c in range(self.cards) if c not in one], self.hand)
        ]
        return [(deal, 1 / len(deals)) for deal in deals]

    def _leader(self, plays):
        """(who leads the next trick, what seat 0 has won) after some plays."""
        leader, won = 0, 0
        for k in range(len(plays) // 2):
            taker = leader if plays[2 * k] > plays[2 * k + 1] else 1 - leader
            won += (k + 1) * (1 if taker == 0 else -1)
            leader = taker
        return leader, won

    def turn(self, state):
        if not state.dealt:
            return CHANCE
        if len(state.plays) == 2 * self.hand:
            return TERMINAL
        leader, _ = self._leader(state.plays)
        return leader if len(state.plays) % 2 == 0 else 1 - leader

    def actions(self, state):
        return tuple(str(card) for card in state.dealt[self.turn(state)] if card not in state.plays)

    def after(self, state, action):
        if not state.dealt:
            return Seen(tuple(tuple(map(int, hand.split())) for hand in action.split("|")))
        return Seen(state.dealt, (*state.plays, int(action)))

    def infoset(self, state):
        return f"{' '.join(map(str, state.dealt[self.turn(state)]))} | {' '.join(map(str, state.plays))}"

    def view(self, state, seat):
        return tuple(map(str, state.dealt[seat] if state.dealt else ())), tuple(map(str, state.plays))

    def payoff(self, state):
        won = float(self._leader(state.plays)[1])
        return [won, -won]

    def machine(self):
        return TricksMachine(self)


# The same, compiled: hands are bits, and so is what was played; plays stand in order in a word, 6 bits each


class Deck(NamedTuple):
    cards: np.uint64
    hand: np.uint64


class Table(NamedTuple):
    one: np.uint64  # cards dealt to seat 0
    two: np.uint64
    gone: np.uint64  # cards played
    plays: np.uint64  # the plays in order
    count: np.uint64
    leader: np.uint64
    won: np.uint64  # 100 and what seat 0 has won


class Exact(NamedTuple):
    """The one abstraction: nothing is merged."""

    salt: np.uint64


@part
def mover(state):
    return state.leader ^ (state.count & U64(1))


@part
def held(state):
    return (state.two if mover(state) else state.one) & ~state.gone


def deal(game, random):
    hands = U64(0)
    one = U64(0)
    k = U64(0)
    while k < game.hand + game.hand:
        card = U64(1) << next_below(random, game.cards)
        if not hands & card:
            hands |= card
            k += U64(1)
            if k == game.hand:
                one = hands
    return Table(one, hands & ~one, U64(0), U64(0), U64(0), U64(0), U64(100))


def turn(game, state):
    return END if state.count == game.hand + game.hand else np.int64(mover(state))


def width(game, state):
    cards = held(state)
    count = U64(0)
    while cards:
        cards &= cards - U64(1)
        count += U64(1)
    return count


def after(game, state, action):
    cards = held(state)
    for _ in range(action):
        cards &= cards - U64(1)
    number = U64(0)
    while not (cards >> number) & U64(1):
        number += U64(1)
    plays = (state.plays << U64(6)) | number
    gone, count = state.gone | (U64(1) << number), state.count + U64(1)
    leader, won = state.leader, state.won
    if not count & U64(1):
        led = (plays >> U64(6)) & U64(63)
        if number > led:
            leader = U64(1) - leader
        worth = count >> U64(1)
        won = won - worth if leader else won + worth
    return Table(state.one, state.two, gone, plays, count, leader, won)


def key(game, view, state):
    seat = mover(state)
    dealt = state.two if seat else state.one
    return mix(mix(mix(dealt + view.salt) ^ state.plays) + (state.count << U64(1)) + seat) | U64(1)


def payoff(game, state, seat):
    won = float(np.int64(state.won) - 100)
    return -won if seat else won


def part_of(game, state):
    return np.int64(state.count >> U64(1))


register(Deck, deal, turn, width, after, key, payoff, part=part_of)


@kernel
def train(game, view, store, mask, base, order, first, last, work):
    walk_all(game, view, store, mask, base, order, first, last, work)


@kernel
def duel(game, players, seatings, seed, first, result, random, luck, probability):
    play_deals(game, players, seatings, seed, first, result, random, luck, probability)


@kernel
def key_at(game, view, state):
    return key_of(game, view, state)


key_of = part(key)


class TricksMachine(Machine):
    words, train, duel = 7, staticmethod(train), staticmethod(duel)

    def __init__(self, rules: Tricks) -> None:
        self.rules, self.game = rules, Deck(np.uint64(rules.cards), np.uint64(rules.hand))
        self.actions, self.depth = rules.hand, 2 * rules.hand
        self.parts = [f"trick {k}" for k in range(1, rules.hand + 1)]

    def view(self, abstraction: Any = "null", arrays: Any = None) -> RowKeys:
        return RowKeys(self.known(str(abstraction)), Exact(np.uint64(12345)))

    def hand(self, seed: int, number: int) -> Hand:
        return TricksHand(self.rules, seed, number)

    def part_of(self, seat, infoset):
        return len(infoset.partition("|")[2].split()) // 2

    def keys_of(self, view, seat, infosets, widths):
        found = []
        for text in infosets:
            dealt, _, plays = text.partition("|")
            cards = np.uint64(sum(1 << int(card) for card in dealt.split()))
            word, gone = 0, 0
            played = [int(card) for card in plays.split()]
            for card in played:
                word, gone = word << 6 | card, gone | 1 << card
            leader, _ = self.rules._leader(played)
            hands = (cards, np.uint64(0)) if seat == 0 else (np.uint64(0), cards)
            rest = (gone, word, len(played), leader, 100)
            found.append(key_at(self.game, view.keys, Table(*hands, *map(np.uint64, rest))))
        return np.array(found, np.uint64)


class TricksHand(Hand):
    """A deal as the compiled rules draw it."""

    def begin(self):
        rules, drawn = self.rules, []
        while len(drawn) < 2 * rules.hand:
            card = (self.word() >> 32) * rules.cards >> 32
            if card not in drawn:
                drawn.append(card)
        return rules.after(rules.root(), rules._text(drawn))
