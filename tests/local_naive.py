"""Local best response by its definition, hand by hand and board by board: the slow twin of
`kibitz.poker.whole.kernels.local`. The board goes on in all possible ways."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kibitz.games.machine import GOLDEN, WORD, mix
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules import betting
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import strength
from kibitz.poker.whole.kernels.local import ACTS


class NaiveResponse:
    """target: a compiled agent that plays all other seats."""

    def __init__(self, target):
        self.target, self.rules, self.definition = target, target.machine.rules, target.machine.definition
        self.hands = list(combinations(self.definition.deck, self.definition.hole))

    def rows(self, seat, hands, board, done, actions):
        """What the target does with some hands."""
        groups = "".join(f" {text_of(cards)}" for cards in board if cards)
        return self.target.rows(seat, [f"{text_of(hand)}{groups}:{done}" for hand in hands], actions)

    def ranges(self, seat, mine, board, done):
        """(what each hand of each other seat weighs that is still in; where betting stands). board: by round."""
        definition, bets, said = self.definition, betting.start(self.definition), ""
        gone = {*mine, *(card for cards in board for card in cards)}
        weights = {s: {hand: 1.0 for hand in self.hands if not gone & {*hand}}
                   for s in range(definition.players) if s != seat}  # fmt: skip
        for number, part in enumerate(done.split("/")):
            said += "/" * (number > 0)
            for action in betting.words(part):
                while bets.turn < 0:
                    bets = betting.deal(definition, bets)
                who, offered = bets.turn, betting.actions(definition, bets)
                if who != seat:
                    hands = list(weights[who])
                    rows = self.rows(who, hands, board[: number + 1], said, offered)
                    for hand, row in zip(hands, rows, strict=True):
                        weights[who][hand] *= row[offered.index(action)]
                bets = betting.act(definition, bets, action)
                said += betting.letters(action)
        while bets.turn < 0:
            bets = betting.deal(definition, bets)
        return {s: weight for s, weight in weights.items() if not bets.folded[s]}, bets

    def wins(self, mine, board, ranges):
        """How likely one's hand beats all ranges if the board goes on at random; ties count half."""
        shown = [card for cards in board for card in cards]
        left = [card for card in self.definition.deck if card not in (*mine, *shown)]
        chances = []
        for rest in combinations(left, sum(self.definition.board) - len(shown)):
            whole, chance = (*shown, *rest), 1.0
            own = int(strength(np.array((*mine, *whole), np.uint8)))
            for weights in ranges.values():
                hands = {hand: w for hand, w in weights.items() if not {*whole} & {*hand}}
                theirs = {hand: int(strength(np.array((*hand, *whole), np.uint8))) for hand in hands}
                beaten = sum(w * ((theirs[hand] < own) + (theirs[hand] == own) / 2) for hand, w in hands.items())
                chance *= beaten / sum(hands.values()) if sum(hands.values()) > 0 else 0.5
            chances.append(chance)
        return sum(chances) / len(chances)

    def values(self, seat, mine, board, done):
        """What each action is worth, by name."""
        ranges, bets = self.ranges(seat, mine, board, done)
        pot, asked = sum(bets.paid), max(bets.paid) - bets.paid[seat]
        wins = self.wins(mine, board, ranges)
        value = {"fold": 0.0, "call": wins * pot - (1 - wins) * asked}
        offered = betting.actions(self.definition, bets)
        if "raise" in offered:
            size, after, text = self.definition.raise_size[bets.round], betting.act(self.definition, bets, "raise"), "r"
            stay, leave, now = dict(ranges), 1.0, after
            while now.turn >= 0 and now.turn != seat and now.round == bets.round:
                who, may = now.turn, betting.actions(self.definition, now)
                hands = list(ranges[who])
                folds = self.rows(who, hands, board, done + text, may)[:, may.index("fold")]
                weights = np.array(list(ranges[who].values()))
                leave *= float(weights @ folds / weights.sum()) if weights.sum() > 0 else 0.0
                stay[who] = dict(zip(hands, weights * (1 - folds), strict=True))
                now, text = betting.act(self.definition, now, "call"), text + "c"
            met = self.wins(mine, board, stay)
            more = sum(max(after.paid) - after.paid[who] for who in ranges)
            value["raise"] = leave * pot + (1 - leave) * (met * (pot + more) - (1 - met) * (asked + size))
        return {action: value[action] for action in offered}

    def play(self, seat, seed, number):
        """(what actions are worth at each decision of the response, what it wins) in a seat of one deal."""
        every, hand, decision = [], self.target.machine.hand(seed, number), 0
        state, cards, shared = hand.start(), hand.cards, sum(self.definition.board)
        word = hand.after
        while (turn := self.rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = hand.draw(state)
                continue
            decision += 1
            done = self.rules.infoset(state).partition(":")[2]
            starts = np.cumsum([0, *self.definition.board])
            board = [tuple(cards[starts[k] : starts[k + 1]]) for k in range(done.count("/") + 1)]
            first = shared + turn * self.definition.hole
            own = tuple(cards[first : first + self.definition.hole])
            if turn == seat:
                values = self.values(seat, own, board, done)
                every.append(values)
                action = max(values, key=values.get)
            else:
                offered = tuple(self.rules.actions(state))
                row = self.rows(turn, [own], board, done, offered)[0]
                draw = (mix((word ^ int(ACTS)) + GOLDEN * decision & WORD) >> 11) / 2**53
                action = offered[min(int(np.searchsorted(np.cumsum(row), draw, side="right")), len(row) - 1)]
            state = self.rules.after(state, action)
        return every, float(self.rules.payoff(state)[seat])
