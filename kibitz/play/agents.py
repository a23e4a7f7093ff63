"""Agents by name.

    uniform                              every legal action is as likely as the others
    rule                                 a rule of thumb that counts what can beat each card and never bluffs
    runs/toepen.blueprint                the average strategy of a blueprint, by its path
    search(PATH, seconds=1, from=3)      that blueprint, and from the third trick on a solution of what is left
    exploit(PATH, bound=0.1)             search that leans towards the best answer to what it has seen of its opponent

What an agent is (`Agent`) and what it gets to see (`View`) is told in kibitz.evaluate.match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import spec as specs
from kibitz.errors import ArtefactError, GameError, SpecError
from kibitz.evaluate.match import SAID, Agent, View
from kibitz.games.toepen.arrays import rules_of
from kibitz.games.toepen.rules import NUMBERS, Cards, Toepen
from kibitz.solvers.blueprint import Blueprint, player, toepen_of

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
NO_COUNTS = np.zeros((1, 4))

# name -> one line of help
AGENTS: dict[str, str] = {
    "uniform": "every legal action is as likely as the others",
    "rule": "a rule of thumb: counts what can beat each card, never bluffs",
    "PATH": "a blueprint, by the directory that it was saved in",
    "search(PATH, seconds=1, from=3)": "the blueprint, and from a trick on a solution of what is left",
    "exploit(PATH, bound=0.1)": "search that leans towards the best answer to what it has seen",
}


def words_of(history: Sequence[str]) -> Words:
    """A public history as kernels read it."""
    return np.array([SAID[word] if word in SAID else NUMBERS[word] for word in history], np.uint64)


def mask_of(cards: Cards) -> int:
    """Cards as bits."""
    return sum(1 << card for card in cards)


class Compiled:
    """An agent whose strategy is compiled: uniform, rule, or the average of a blueprint."""

    def __init__(self, game: Toepen, player: Any, name: str) -> None:
        self.game, self.player, self.name = game, player, name
        self.rules = rules_of(game)

    def begin(self, seat: int, cards: Cards) -> None:
        pass

    def act(self, view: View) -> list[float]:
        found, _ = self.answers(view.seat, view.history, np.array([mask_of(view.dealt)], np.uint64))
        result: list[float] = found[0, : len(view.actions)].tolist()
        return result

    def end(self, history: tuple[str, ...], payoff: float) -> None:
        pass

    def answers(
        self, seat: int, history: Sequence[str], hands: Words, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> tuple[Floats, Words]:
        """What it does in a seat after a public history, for each of some hands as they were dealt: [n, 4], and the
        cards of each hand's actions, a byte each. With counts: as a model bent by them."""
        from kibitz.kernels.toepen.play import answers

        result, actions = np.zeros((len(hands), 4)), np.zeros(len(hands), np.uint64)
        answers(self.rules, self.player, counts, prior, seat, words_of(history), hands, result, actions)
        return result, actions

    def likelihoods(
        self, seat: int, history: Sequence[str], hands: Words, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> Floats:
        """The probability that it makes the moves of a seat in a public history, by the hand dealt to the seat."""
        from kibitz.kernels.toepen.play import likelihoods

        result = np.zeros(len(hands))
        likelihoods(self.rules, self.player, counts, prior, seat, words_of(history), hands, result)
        return result


def agent(text: str, game: str | Toepen) -> Agent:
    """The agent of a name; see the top of the file."""
    rules = toepen_of(game)
    name, path, options = parsed(text)
    if name in ("uniform", "rule") and path is None:
        from kibitz.kernels.toepen.walk import RULE, UNIFORM

        specs.call(lambda: None, specs.Spec(name, options))
        return Compiled(rules, player(RULE if name == "rule" else UNIFORM), name)
    if name in ("search", "exploit"):
        if path is None:
            raise SpecError(f"{name} needs a blueprint to play from: {name}(PATH, ...)")
        base = blueprint_agent(path, rules)
        build = _search if name == "search" else _exploit
        return build(base, options, text.strip())
    if name != "path" or path is None:
        raise SpecError(f"unknown player {text.strip()!r}: choose {', '.join(AGENTS)}")
    return blueprint_agent(path, rules)


def parsed(text: str) -> tuple[str, str | None, dict[str, Any]]:
    """(name, path of a blueprint, options) of a text; a text that is no name is a path."""
    text = text.strip()
    found = re.fullmatch(r"(uniform|rule|search|exploit)\s*(\((.*)\))?", text, re.S)
    if not found:
        return "path", text, {}
    name, inside = found[1], (found[3] or "").strip()
    path = None
    first = re.match(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,="]+))\s*(?:,|$)', inside)
    if first and name in ("search", "exploit"):
        path = re.sub(r"\\(.)", r"\1", first[1]) if first[1] is not None else first[2].strip()
        inside = inside[first.end() :]
    options = dict(specs.parse(f"{name}({inside})").args)
    return name, str(options.pop("blueprint", path)) if path or "blueprint" in options else None, options


def blueprint_agent(path: str, rules: Toepen) -> Compiled:
    """The agent that plays a saved blueprint, if it is one of this game."""
    if not Path(path).is_dir():
        raise ArtefactError(
            f"there is no blueprint at {path}: players are {', '.join(AGENTS)}, where PATH is a directory that "
            "`kibitz train toepen --out PATH` wrote"
        )
    held = _loaded(str(Path(path).resolve()))
    if held.game != rules:
        raise GameError(f"{path} is a blueprint of {held.game.spec}, not of {rules.spec}")
    return Compiled(rules, held.player(), path)


@lru_cache(8)
def _loaded(path: str) -> Blueprint:
    return Blueprint.load(path, compact=True)


def _search(base: Compiled, options: dict[str, Any], name: str) -> Agent:
    from kibitz.play.search import Search

    return _built(Search, base, options, name)


def _exploit(base: Compiled, options: dict[str, Any], name: str) -> Agent:
    from kibitz.play.exploit import Exploit

    return _built(Exploit, base, options, name)


def _built(build: Callable[..., Agent], base: Compiled, options: dict[str, Any], name: str) -> Agent:
    """Call with options by name; `from` is a word of Python, so it is called from_trick there."""
    import inspect

    if "from" in options:
        options["from_trick"] = options.pop("from")
    known = inspect.signature(build).parameters
    spec = specs.Spec(name.partition("(")[0], {"base": base, "name": name, **options})
    for key in options:
        if key not in known or key in ("base", "name"):
            shown = ["from" if k == "from_trick" else k for k in known if k not in ("base", "name")]
            raise specs.unknown(f"option of {spec.name}:", key, shown)
    return specs.call(build, spec)
