"""A table for people: a person at the terminal against an agent, transcripts, and replays of them.

The person is an agent like any other: it learns of a hand by what an agent learns, and answers by asking. Texts go
through two functions, `ask` (a prompt in, a line out; EOFError at the end) and `tell`, so that tests can sit down too.

A transcript is a text with both hands and all that was said and played. `replayed` plays it again by the rules and
writes it anew: the same text, byte for byte, if it was one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from kibitz import spec as specs
from kibitz.errors import ArtefactError
from kibitz.evaluate.match import Agent, View, dealt, play
from kibitz.games.protocol import TERMINAL
from kibitz.games.toepen.rules import NAMES, NUMBERS, Cards, Toepen, deal_text, hand_text, takes
from kibitz.play.agents import Compiled, mask_of

SUIT_SIGNS = {"c": "\u2663", "d": "\u2666", "h": "\u2665", "s": "\u2660"}
TOP = 5  # hands of a belief that are shown
SELDOM = 0.005  # actions and hands less likely than this are not shown
VERBS = {"check": ("check", "checks"), "bet": ("bet", "bets"), "call": ("call", "calls"), "fold": ("fold", "folds")}
FIRST_LINE = "kibitz transcript 1"

HELP = """\
  {hand} card{s} each. Whoever takes the last trick wins what the hand is worth, 1 at first; the other tricks only
  decide who leads next. Ranks, low to high: J Q K A 7 8 9 10. Follow suit if you can; the higher card of the
  suit led takes the trick.
  Before you play a card you may bet, unless the last bet was yours. The other calls, and the hand is worth 1 more,
  or folds, and you win what it was worth before.
  Answer with the number of an action or with its name: 2, bet, b, 9d, 10h. ? is this text, q ends the game."""


class Leave(Exception):
    """The person has had enough."""


def card_text(card: int | str, signs: bool) -> str:
    """A card as a person reads it: 10♥, or 10h."""
    name = NAMES[card] if isinstance(card, int) else card
    rank = "10" if name[0] == "T" else name[0]
    return rank + (SUIT_SIGNS[name[1]] if signs else name[1])


def cards_text(cards: Sequence[int], signs: bool) -> str:
    return "  ".join(card_text(card, signs) for card in cards) or "none"


def understood(answer: str, actions: Sequence[str]) -> str | None:
    """The action that a line means: its number, its name, or what a name begins with if that is clear."""
    text = answer.strip().lower()
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(actions):
        return actions[int(text) - 1]
    for letter, sign in SUIT_SIGNS.items():
        text = text.replace(sign, letter).replace({"c": "♧", "d": "♢", "h": "♡", "s": "♤"}[letter], letter)
    if re.fullmatch(r"10[cdhs]?", text):
        text = "t" + text[2:]
    found = [action for action in actions if text and action.lower().startswith(text)]
    exact = [action for action in found if action.lower() == text]
    return exact[0] if exact else found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Event:
    """One word of a public history."""

    seat: int
    word: str
    taken: int = -1  # the seat that took a trick with it


def events(history: Sequence[str]) -> list[Event]:
    """Who said and played what."""
    result: list[Event] = []
    turn = leader = 0
    led = -1
    for word in history:
        if word in ("check", "bet", "call", "fold"):
            result.append(Event(turn, word))
            if word != "check":
                turn = 1 - turn
            continue
        card = NUMBERS[word]
        if led < 0:
            led = card
            result.append(Event(turn, word))
            turn = 1 - turn
        else:
            leader = turn if takes(led, card) else 1 - turn
            result.append(Event(turn, word, leader))
            led, turn = -1, leader
    return result


@dataclass
class Human:
    """The person, as an agent."""

    ask: Callable[[str], str]
    tell: Callable[[str], None]
    signs: bool = False
    name: str = "you"
    seat: int = 0
    cards: Cards = ()
    told: int = 0  # words of the history that the person knows of
    asked: set[int] = field(default_factory=set)  # places of own words that the person chose

    def begin(self, seat: int, cards: Cards) -> None:
        self.seat, self.cards, self.told, self.asked = seat, cards, 0, set()

    def act(self, view: View) -> list[float]:
        self._news(view.history)
        worth = 1 + view.history.count("call")
        self.tell(f"  you hold   {cards_text(view.held, self.signs)}    (the hand is worth {worth})")
        choices = [a if a in VERBS else card_text(a, self.signs) for a in view.actions]
        self.tell("  " + "    ".join(f"{k} {text}" for k, text in enumerate(choices, 1)))
        while True:
            try:
                answer = self.ask("> ").strip()
            except EOFError:
                raise Leave from None
            if answer == "?":
                size = len(self.cards)
                self.tell(HELP.format(hand=size, s="s" * (size != 1)))
            elif answer.lower() in ("q", "quit", "exit"):
                raise Leave
            elif (action := understood(answer, view.actions)) is not None:
                self.asked.add(len(view.history))
                return [float(a == action) for a in view.actions]
            else:
                self.tell(f"  that is none of {', '.join(choices)}; ? for help")

    def end(self, history: tuple[str, ...], payoff: float) -> None:
        self._news(history)

    def _news(self, history: Sequence[str]) -> None:
        """Tell what happened since the person was last told."""
        lines: list[tuple[int, list[str]]] = []
        for at, event in enumerate(events(history)):
            if at < self.told:
                continue
            mine = event.seat == self.seat
            if not (mine and at in self.asked):
                verb = VERBS.get(event.word, ("play", "plays"))[0 if mine else 1]
                said = verb if event.word in VERBS else f"{verb} {card_text(event.word, self.signs)}"
                if lines and lines[-1][0] == event.seat:
                    lines[-1][1].append(said)
                else:
                    lines.append((event.seat, [said]))
            if event.taken >= 0:
                lines.append((-1, ["You take" if event.taken == self.seat else "The opponent takes"]))
        for seat, parts in lines:
            who = "" if seat < 0 else "You " if seat == self.seat else "The opponent "
            self.tell(f"  {who}{', '.join(parts)}{' the trick.' if seat < 0 else '.'}")
        self.told = len(history)


class Noted:
    """An agent whose views and answers are written down, and the history at the end."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.notes: list[tuple[View, list[float]]] = []
        self.history: tuple[str, ...] = ()

    def begin(self, seat: int, cards: Cards) -> None:
        self.notes = []
        self.agent.begin(seat, cards)

    def act(self, view: View) -> list[float]:
        found = [float(p) for p in self.agent.act(view)]
        self.notes.append((view, found))
        return found

    def end(self, history: tuple[str, ...], payoff: float) -> None:
        self.history = history
        self.agent.end(history, payoff)


def beliefs(agent: Agent, view: View, game: Toepen) -> list[tuple[Cards, float]]:
    """What an agent believes that the other holds now, the likeliest first.

    A hand weighs as much as the probability that one who plays like the agent would have made the moves seen. Where
    that is nothing for all hands, and for agents without a strategy that can be asked, all hands allowed are alike.
    """
    seat, shown = 1 - view.seat, 0
    for event in events(view.history):
        if event.seat == seat and event.word in NUMBERS:
            shown |= 1 << NUMBERS[event.word]
    played = mask_of(view.plays)
    unseen = [card for card in game.deck if not (played | mask_of(view.dealt)) >> card & 1]
    left = game.hand - shown.bit_count()
    hands = list(combinations(unseen, left))
    now = np.array([mask_of(hand) for hand in hands], np.uint64)
    weigh: Any = getattr(agent, "weigh", None)
    weights = np.zeros(len(hands))
    if weigh is not None:
        weights = weigh(seat, view.history, now, shown)
    elif isinstance(agent, Compiled):
        weights = agent.likelihoods(seat, view.history, now | np.uint64(shown))
    if not weights.sum() > 0:
        from kibitz.kernels.toepen.walk import UNIFORM
        from kibitz.solvers.blueprint import player

        anyone = Compiled(game, player(UNIFORM), "uniform")
        weights = (anyone.likelihoods(seat, view.history, now | np.uint64(shown)) > 0).astype(float)
    weights = weights / weights.sum()
    order = np.argsort(-weights, kind="stable")
    return [(hands[i], float(weights[i])) for i in order if weights[i] > 0]


@dataclass
class Session:
    """A person and an agent at a table."""

    game: Toepen
    agent: Agent
    human: Human
    seed: int = 0
    reveal: bool = False
    write: Callable[[str], None] | None = None  # gets the transcript, piece by piece
    score: float = 0.0
    hands: int = 0

    def play(self, most: int | None = None) -> None:
        """Play hands until the person leaves or `most` are played."""
        tell = self.human.tell
        opponent = Noted(self.agent)
        if self.write is not None:
            self.write(heading(self.game, self.seed, self.agent.name))
        tell(f"You play {self.game.spec} against {self.agent.name}. ? for help, q to leave.")
        try:
            while most is None or self.hands < most:
                self._hand(opponent)
        except (Leave, KeyboardInterrupt):
            tell("")
        tell(self.goodbye())

    def _hand(self, opponent: Noted) -> None:
        seat = self.hands % 2
        hands, after = dealt(self.game, self.seed, self.hands)
        tell, signs = self.human.tell, self.human.signs
        tell(f"\nHand {self.hands + 1}. {'You lead' if seat == 0 else 'The opponent leads'} the first trick.")
        person = Noted(self.human)
        agents: tuple[Agent, Agent] = (person, opponent) if seat == 0 else (opponent, person)
        payoff = play(self.game, agents, hands, after) * (1 if seat == 0 else -1)
        self.hands += 1
        self.score += payoff
        won = f"You {'win' if payoff > 0 else 'lose'} {abs(payoff):g}."
        tell(f"  {won} Score after {counted(self.hands)}: {self.score:+g}.")
        if self.reveal:
            self._reveal(opponent, hands[1 - seat], signs)
        if self.write is not None:
            self.write(hand_block(self.hands, seat, hands, person.history, payoff, self.score))

    def _reveal(self, opponent: Noted, cards: Cards, signs: bool) -> None:
        tell = self.human.tell
        tell(f"  The opponent held {cards_text(cards, signs)}.")
        for view, probabilities in opponent.notes:
            past = " ".join(w if w in VERBS else card_text(w, signs) for w in view.history) or "the deal"
            does = [
                f"{a if a in VERBS else card_text(a, signs)} {100 * p:.0f}%"
                for a, p in zip(view.actions, probabilities, strict=True)
                if p >= SELDOM
            ]
            tell(f"    after {past}: {', '.join(does)}")
            tell(f"      it thought you held {belief_text(beliefs(self.agent, view, self.game), signs)}")

    def goodbye(self) -> str:
        if self.hands == 0:
            return "No hand was finished."
        return f"{counted(self.hands)} played, score {self.score:+g}."


def belief_text(believed: Sequence[tuple[Cards, float]], signs: bool) -> str:
    """The likeliest hands, or that all are alike."""
    if len(believed) > 1 and believed[0][1] - believed[-1][1] < 1e-9:
        return f"any of {len(believed):,} hands, all alike"
    shown = [
        f"{cards_text(hand, signs)} ({f'{100 * p:.{1 if p < 0.1 else 0}f}' if p >= 0.001 else '<0.1'}%)"
        for hand, p in believed[:TOP]
    ]
    return ", ".join(shown) + (f", or one of {len(believed) - TOP:,} others" if len(believed) > TOP else "")


def counted(hands: int) -> str:
    return f"{hands} hand{'s' * (hands != 1)}"


# Transcripts


def heading(game: Toepen, seed: int, opponent: str) -> str:
    """The first lines."""
    return f"{FIRST_LINE}\ngame {game.spec}\nseed {seed}\nopponent {' '.join(opponent.split())}\n"


def hand_block(
    number: int, seat: int, hands: Sequence[Cards], history: Sequence[str], payoff: float, score: float
) -> str:  # fmt: skip
    """One hand: the person was in `seat`."""
    mine, theirs = hand_text(hands[seat]), hand_text(hands[1 - seat])
    return (
        f"\nhand {number}, you in seat {seat}\n  you      {mine}\n  opponent {theirs}\n"
        f"  play     {' '.join(history)}\n  you {'win' if payoff > 0 else 'lose'} {abs(payoff):g}, score {score:+g}\n"
    )


BLOCK = re.compile(
    r"\nhand (\d+), you in seat ([01])\n  you      ([^\n]*)\n  opponent ([^\n]*)\n  play     ([^\n]*)\n"
    r"  you (win|lose) (\S+), score (\S+)\n"
)


def replayed(text: str) -> Iterator[str]:
    """A transcript once more, piece by piece, all hands played again by the rules."""
    from kibitz.solvers.blueprint import toepen_of

    lines = text.splitlines()
    found = re.match(re.escape(FIRST_LINE) + r"\ngame ([^\n]*)\nseed (\d{1,19})\nopponent ([^\n]*)\n", text)
    if not found:
        said = lines[0][:40] if lines else "nothing"
        raise ArtefactError(f"this is not a transcript of kibitz: it begins with {said!r}, not with {FIRST_LINE!r}")
    spec = specs.parse(found[1])
    if spec.name != "toepen":  # a path would be opened, and its code run
        raise ArtefactError(f"the transcript is of {found[1]:.80}, and there are transcripts of toepen alone")
    game = toepen_of(str(spec))
    yield heading(game, int(found[2]), found[3])
    at, number, score = found.end(), 0, 0.0
    while at < len(text):
        block = BLOCK.match(text, at)
        number += 1
        if not block:
            line = text.count("\n", 0, at) + 2
            raise ArtefactError(f"hand {number} of the transcript cannot be read (line {line})")
        seat = int(block[2])
        hands = _cards(block[3], number), _cards(block[4], number)
        by_seat = hands if seat == 0 else (hands[1], hands[0])
        payoff = _again(game, by_seat, block[5].split(), number) * (1 if seat == 0 else -1)
        score += payoff
        piece = hand_block(number, seat, by_seat, block[5].split(), payoff, score)
        if piece != block[0]:
            raise ArtefactError(f"hand {number} of the transcript does not add up: by the rules it is {piece.split()}")
        yield piece
        at = block.end()


def _cards(text: str, number: int) -> Cards:
    cards = tuple(NUMBERS.get(name, -1) for name in text.split())
    if -1 in cards or len(set(cards)) < len(cards):
        raise ArtefactError(f"hand {number} of the transcript has cards that do not exist, or twice: {text}")
    return tuple(sorted(cards))


def _again(game: Toepen, hands: tuple[Cards, Cards], history: Sequence[str], number: int) -> float:
    """Seat 0's payoff of a hand, if it was played by the rules."""
    cards = {*hands[0], *hands[1]}
    if [len(hand) for hand in hands] != [game.hand] * 2 or len(cards) < 2 * game.hand or not cards <= set(game.deck):
        raise ArtefactError(f"hand {number} of the transcript is no deal of {game.spec}")
    state = game.after(game.root(), deal_text(*hands))
    while state.turn != TERMINAL:
        done = state.done.split()
        here = f"hand {number} of the transcript, after {state.done or 'the deal'}"
        if list(history[: len(done)]) != done or len(history) <= len(done):
            raise ArtefactError(f"{here}: it breaks off or goes against the rules")
        word = history[len(done)]
        if word not in game.actions(state):
            raise ArtefactError(f"{here}: {word} is not possible")
        state = game.after(state, word)
    if list(history) != state.done.split():
        raise ArtefactError(f"hand {number} of the transcript goes on after its end")
    return float(game.payoff(state)[0])
