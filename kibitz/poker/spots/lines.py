"""Lines: actions and cards with commas between them, as people write them: "check, bet 66, call, Qc"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from kibitz.cards.deck import NUMBERS
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError, words_of

Node = TypeVar("Node")
SHORT = {"f": "fold", "x": "check", "k": "check", "c": "call", "a": "allin", "all-in": "allin", "all in": "allin"}


def followed(start: Node, line: str, after: Callable[[Node, str], Node]) -> Node:
    """Where a line leads. after: the node after a word at a node; it refuses a wrong word with a sentence."""
    node = start
    for at, word in words_of(line) if line.strip() else ():
        try:
            node = after(node, word)
        except GameError as error:
            raise PointedError(str(error), line, at, at + len(word)) from None
    return node


def action_number(word: str, actions: Sequence[str]) -> int:
    """Which action a word names: "bet 66", "b66", "allin", "x"."""
    plain = " ".join(word.lower().split())
    plain = SHORT.get(plain, plain)
    if match := re.fullmatch(r"(b|bet|r|raise|a|allin|all-in)\s*(?:to )?\s*([\d.]+)", plain):
        plain = f"{ {'b': 'bet', 'r': 'raise', 'a': 'allin'}[match[1][0]] } {match[2]}"
    names = list(actions)
    if plain in names:
        return names.index(plain)
    same = [k for k, action in enumerate(names) if " " in action and action.split()[0] == plain]
    if len(same) == 1:
        return same[0]
    raise GameError(f"{word!r:.40} is not an action here: choose {', '.join(names)}")


def card_number(word: str) -> int:
    plain = word.strip().upper().replace("10", "T")
    card = NUMBERS.get(plain[:1] + plain[1:].lower())
    if card is None:
        raise GameError(f"a card comes here, such as 2c, and {word!r:.40} is none")
    return card
