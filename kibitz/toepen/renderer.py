"""A table of Toepen as its players read it: who plays and says what, tricks, signs of suits, what opponents believe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from kibitz.evaluate.match import Agent
from kibitz.games.views import View
from kibitz.play.renderer import Heard, Renderer, in_columns, indented
from kibitz.solvers.machines import machine_of
from kibitz.toepen.agents import ToepenPlayer, anyone
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NAMES, NUMBERS, Cards, events, mask_of

SUIT_SIGNS = {"c": "\u2663", "d": "\u2666", "h": "\u2665", "s": "\u2660"}
OPEN_SIGNS = {"c": "\u2667", "d": "\u2662", "h": "\u2661", "s": "\u2664"}
TOP = 5  # hands of a belief that are shown
VERBS = {"check": ("check", "checks"), "bet": ("bet", "bets"), "call": ("call", "calls"), "fold": ("fold", "folds")}
HELP = """\
{hand} card{s} each. Whoever takes the last trick wins what the hand is worth, 1 at first; the other tricks only \
decide who leads next. Ranks, low to high: J Q K A 7 8 9 10. {suit}The higher card of the suit led takes the trick.
{bets}Answer with the number of an action or with its name: 2, bet, b, 9d, 10h. ? is this text, q ends the game."""
BETS = """\
Before you play a card you may bet, unless the last bet was yours. The other calls, and the hand is worth 1 more, or \
folds, and you win what it was worth before.
"""


def card_text(card: int | str, signs: bool) -> str:
    """A card as a person reads it: 10\u2665, or 10h."""
    name = NAMES[card] if isinstance(card, int) else card
    rank = "10" if name[0] == "T" else name[0]
    return rank + (SUIT_SIGNS[name[1]] if signs else name[1])


def cards_text(cards: Sequence[int | str], signs: bool) -> str:
    return "  ".join(card_text(card, signs) for card in cards) or "none"


class ToepenRenderer(Renderer):
    """Shows a table of Toepen to a person."""

    rules: Toepen

    def opening(self, seat: int, names: Sequence[str]) -> str:
        return f"{'You lead' if seat == 0 else 'The opponent leads'} the first trick."

    def news(self, heard: Heard, public: Sequence[str]) -> list[str]:
        lines: list[tuple[int, list[str]]] = []
        for at, event in enumerate(events(public)):
            if at < heard.read:
                continue
            mine = event.seat == heard.seat
            if not (mine and at in heard.chosen):
                verb = VERBS.get(event.word, ("play", "plays"))[0 if mine else 1]
                said = verb if event.word in VERBS else f"{verb} {self.action(event.word)}"
                if lines and lines[-1][0] == event.seat:
                    lines[-1][1].append(said)
                else:
                    lines.append((event.seat, [said]))
            if event.taken >= 0:
                lines.append((-1, ["You take" if event.taken == heard.seat else "The opponent takes"]))
        texts = []
        for seat, parts in lines:
            who = "" if seat < 0 else "You " if seat == heard.seat else "The opponent "
            texts.append(f"  {who}{', '.join(parts)}{' the trick.' if seat < 0 else '.'}")
        return texts

    def position(self, view: View) -> list[str]:
        left = [name for name in view.private if name not in view.public]
        worth = 1 + view.public.count("call")
        return [f"  you hold   {cards_text(left, self.signs)}    (the hand is worth {worth})"]

    def private_text(self, view: View) -> str:
        return cards_text(view.private, self.signs)

    def action(self, name: str) -> str:
        return name if name in VERBS else card_text(name, self.signs)

    def listed(self, actions: Sequence[str]) -> list[str]:
        return in_columns(f"{k} {self.action(name)}" for k, name in enumerate(actions, 1))

    def understood(self, answer: str, actions: Sequence[str]) -> str | None:
        """The action that a line means: its number, its name, or what a name begins with if that is clear."""
        text = answer.strip().lower()
        if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(actions):
            return actions[int(text) - 1]
        for letter, sign in SUIT_SIGNS.items():
            text = text.replace(sign, letter).replace(OPEN_SIGNS[letter], letter)
        if re.fullmatch(r"10[cdhs]?", text):
            text = "t" + text[2:]
        matches = [action for action in actions if text and action.lower().startswith(text)]
        exact = [action for action in matches if action.lower() == text]
        return exact[0] if exact else matches[0] if len(matches) == 1 else None

    def help(self, view: View) -> str:
        rules = self.rules
        suit = "Follow suit if you can. " if rules.follow_suit else "You need not follow suit. "
        bets = BETS if rules.betting else ""
        text = HELP.format(hand=rules.hand, s="s" * (rules.hand != 1), suit=suit, bets=bets)
        return "\n".join(indented(text.splitlines()))

    def past(self, view: View) -> str:
        return f"after {' '.join(self.action(word) for word in view.public) or 'the deal'}:"

    def thoughts(self, agent: Agent, view: View) -> list[str]:
        if self.rules.machine() is None:
            return []
        return [f"it thought you held {belief_text(beliefs(agent, view, self.rules), self.signs)}"]


class SymmetricRenderer(Renderer):
    """Without the real names of suits, as actions are named there."""

    def position(self, view: View) -> list[str]:
        return [f"  you know   {view.infoset}"]


def beliefs(agent: Agent, view: View, game: Toepen) -> list[tuple[Cards, float]]:
    """What an agent believes that the other holds now, the likeliest first.

    A hand weighs as much as the probability that one who plays like the agent would have made the moves seen. Where
    that is nothing for all hands, and for agents without a strategy that can be asked, all hands allowed are alike.
    """
    seat, shown = 1 - view.seat, 0
    for event in events(view.public):
        if event.seat == seat and event.word in NUMBERS:
            shown |= 1 << NUMBERS[event.word]
    known = {*view.public, *view.private}
    unseen = [card for card in game.deck if NAMES[card] not in known]
    hands = list(combinations(unseen, game.hand - shown.bit_count()))
    now = np.array([mask_of(hand) for hand in hands], np.uint64)
    weigh = getattr(agent, "weigh", None)
    weights = np.zeros(len(hands))
    if weigh is not None:
        weights = weigh(seat, view.public, now, shown)
    elif isinstance(agent, ToepenPlayer):
        weights = agent.likelihoods(seat, view.public, now | np.uint64(shown))
    if not weights.sum() > 0:
        possible = anyone(machine_of(game)).likelihoods(seat, view.public, now | np.uint64(shown))
        weights = (possible > 0).astype(float)
    weights = weights / weights.sum()
    order = np.argsort(-weights, kind="stable")
    return [(hands[i], float(weights[i])) for i in order if weights[i] > 0]


def belief_text(believed: Sequence[tuple[Cards, float]], signs: bool) -> str:
    """The likeliest hands, or that all are alike."""
    if len(believed) > 1 and believed[0][1] - believed[-1][1] < 1e-9:
        return f"any of {len(believed):,} hands, all alike"
    shown = [
        f"{cards_text(hand, signs)} ({f'{100 * p:.{1 if p < 0.1 else 0}f}' if p >= 0.001 else '<0.1'}%)"
        for hand, p in believed[:TOP]
    ]
    return ", ".join(shown) + (f", or one of {len(believed) - TOP:,} others" if len(believed) > TOP else "")
