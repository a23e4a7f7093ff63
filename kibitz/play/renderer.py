"""What a person at a table reads and types: a renderer turns views into text, and typed lines into actions.

`Renderer` does this for every game, from what a `View` says: the private words, the public words that are new, and the
actions with numbers. A game may bring one of its own by a method `renderer()` (kibitz.games.protocol), with what its
players are used to read.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kibitz.evaluate.match import Agent
from kibitz.games.protocol import CHANCE, Game
from kibitz.games.views import View

WIDTH = 80  # columns of a terminal
SELDOM = 0.005  # actions less likely than this are not shown
MOST_LISTED = 40  # actions that are listed one by one
GAP = "    "
ANSWERS = "Answer with an action's number, its name, or its first letters. ? is this text, q ends the game."
NAMED = "Answer with an action's name. ? is this text, q ends the game."


@dataclass
class Heard:
    """What a person has read of a hand."""

    seat: int
    players: int = 2
    read: int = 0  # public words that the person knows of
    chosen: set[int] = field(default_factory=set)  # places of the words that the person may have chosen
    movers: dict[int, int] = field(default_factory=dict)  # place of a word -> who moved with it, where that is clear


@dataclass(frozen=True)
class Opponent:
    """One of the others, after a hand: what it knew, and what it was going to do."""

    agent: Agent
    seat: int
    end: View  # what it knew at the end
    notes: Sequence[tuple[View, Sequence[float]]]  # at each of its decisions
    who: str = "The opponent"


class Renderer:
    """The renderer for any game."""

    def __init__(self, rules: Game, signs: bool = False) -> None:
        self.rules: Any = rules
        self.signs = signs  # whether the terminal has signs of suits

    def opening(self, seat: int, names: Sequence[str]) -> str:
        """The beginning of a hand. names: who sits where, by seat."""
        others = [f"{name} in seat {at}" for at, name in enumerate(names) if at != seat]
        if len(others) == 1:
            return f"You are in seat {seat}."
        return f"You are in seat {seat}, {', '.join(others)}."

    def news(self, heard: Heard, public: Sequence[str]) -> list[str]:
        """What happened since the last news: all words but those of moves that the person chose."""
        lines: list[tuple[str, list[str]]] = []
        for at in range(heard.read, len(public)):
            mover = heard.movers.get(at)
            if mover == heard.seat:
                continue
            who = "" if mover is None else "Chance" if mover == CHANCE else who_of(mover, heard.players)
            if lines and lines[-1][0] == who:
                lines[-1][1].append(self.action(public[at]))
            else:
                lines.append((who, [self.action(public[at])]))
        return [f"  {who + ': ' if who else ''}{', '.join(words)}" for who, words in lines]

    def position(self, view: View) -> list[str]:
        """What the person has, when it is to move."""
        if not view.private:
            return []
        label = "you hold" if hasattr(self.rules, "view") else "you know"
        return [f"  {label}   {line}" for line in self.private_text(view).splitlines()]

    def private_text(self, view: View) -> str:
        return "  ".join(view.private)

    def action(self, name: str) -> str:
        """An action, or a public word, as a person reads it."""
        return name

    def listed(self, actions: Sequence[str]) -> list[str]:
        """All actions with the numbers that stand for them; those that are numbers themselves stand for themselves."""
        shown = [self.action(name) for name in actions]
        texts = shown if named_alone(actions) else [f"{k} {text}" for k, text in enumerate(shown, 1)]
        if len(texts) > MOST_LISTED:
            texts = [*texts[: MOST_LISTED // 4], "...", texts[-1]]
        return in_columns(texts)

    def understood(self, answer: str, actions: Sequence[str]) -> str | None:
        """The action that a line means: its name, its number, or what a name begins with if that is clear."""
        text = " ".join(answer.lower().split())
        for same in (lambda name: name == answer.strip(), lambda name: " ".join(name.lower().split()) == text):
            exact = [name for name in actions if same(name)]
            if exact:
                return exact[0]
        numbered = text.isascii() and text.isdigit() and len(text) < 6 and not named_alone(actions)
        if numbered and 1 <= int(text) <= len(actions):
            return actions[int(text) - 1]
        begin_so = [name for name in actions if text and name.lower().startswith(text)]
        return begin_so[0] if len(begin_so) == 1 else None

    def help(self, view: View) -> str:
        """The rules in a few lines, and how to answer."""
        rules = getattr(self.rules, "help", None)
        if not isinstance(rules, str):  # a game of the user's own: what its class says of itself
            own = not type(self.rules).__module__.startswith("kibitz.")
            rules = (inspect.getdoc(type(self.rules)) or "").partition("\n\n")[0] if own else ""
        answers = NAMED if named_alone(view.actions) else ANSWERS
        return "\n".join(indented([*rules.strip().splitlines(), answers]))

    # What an opponent held and thought

    def reveal(self, opponent: Opponent) -> list[str]:
        """After a hand: what one of the others held, and what it was going to do."""
        cards = self.private_text(opponent.end)
        lines = [f"  {opponent.who} held {cards}."] if cards else []
        if not lines:
            lines = [f"  {opponent.who} ({opponent.agent.name}):"] if opponent.notes else []
        for view, probabilities in opponent.notes:
            lines.append(f"    {self.past(view)} {self.likely(view, probabilities)}")
            lines += [f"      {text}" for text in self.thoughts(opponent.agent, view)]
        return lines

    def past(self, view: View) -> str:
        """Where a decision was taken."""
        return f"at {' '.join(view.infoset.split())} "

    def likely(self, view: View, probabilities: Sequence[float]) -> str:
        """How likely each action was, the seldom ones left out."""
        pairs = list(zip(view.actions, probabilities, strict=True))
        if len(pairs) > MOST_LISTED:
            pairs = sorted(pairs, key=lambda pair: -pair[1])[: MOST_LISTED // 4]
        shown = [f"{self.action(name)} {100 * p:.0f}%" for name, p in pairs if p >= SELDOM]
        return ", ".join(shown) or f"any of {len(view.actions):,} actions, each seldom"

    def thoughts(self, agent: Agent, view: View) -> list[str]:
        """What an opponent believed at a decision, where its agent can be asked; nothing in general."""
        return []


def renderer_of(rules: Game, signs: bool = False) -> Renderer:
    """The game's own renderer, or the one for any game."""
    own = getattr(rules, "renderer", None)
    renderer: Renderer = own() if own is not None else Renderer(rules)
    renderer.signs = signs
    return renderer


def who_of(seat: int, players: int) -> str:
    """One of the others, at the beginning of a sentence."""
    return "The opponent" if players == 2 else f"Seat {seat}"


def named_alone(actions: Sequence[str]) -> bool:
    """Whether some actions are numbers themselves, so that numbers cannot stand for others."""
    return any(name.isdigit() for name in actions)


def in_columns(texts: Iterable[str], indent: str = "  ") -> list[str]:
    """Texts side by side, on as many lines as they take."""
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + len(GAP) + len(text) <= WIDTH:
            lines[-1] += GAP + text
        else:
            lines.append(indent + text)
    return lines


def indented(paragraphs: Iterable[str], indent: str = "  ") -> list[str]:
    """Paragraphs as lines that fit, a step to the right."""
    return [line for text in paragraphs for line in wrapped(indent + text.strip(), "")]


def wrapped(line: str, more: str = "  ") -> list[str]:
    """A line as lines that fit where it has a place to be broken; those that follow stand `more` to the right."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent + more, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
