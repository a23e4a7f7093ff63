"""Bet sizes as poker players write them, and what they come to in chips.

    33%  75%  1.5x  40c  e  2e  2e150%  allin

    33%         of the pot, as it is after a call
    2.5x        a raise to 2.5 times the bet that it answers
    40c         a bet of 40 chips, or a raise by 40 more than a call
    e  2e       geometric: the share of the pot that puts all chips in when it is bet once on each street that is left,
                or on two streets; a share may limit it, as 2e150%
    allin       all chips; `a` is the same
    2.5bb       before the flop: a raise to 2.5 big blinds

A list has commas between its sizes. `none`, or an empty list, is a player who does not bet (or raise) there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kibitz.core.pointing import PointedError, words_of

Kind = Literal["pot", "times", "chips", "geometric", "allin", "to"]
SUCH_AS = "33%, 2.5x (of a raise), 40c (chips), e or 2e (geometric), or allin"
UNITS = {"times": "x", "chips": "c", "to": "bb"}
MOST_SIZES = 12  # of one list
_NUMBER = r"\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}"
_SIZE = re.compile(
    rf"(?P<pot>{_NUMBER})\s*% | (?P<times>{_NUMBER})\s*x | (?P<chips>{_NUMBER})\s*c"
    rf"| (?P<to>{_NUMBER})\s*bb | (?P<streets>[1-3]?)\s*e\s*(?:(?P<most>{_NUMBER})\s*%)? | (?P<allin>all-?\s?in|a)",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class BetSize:
    """One size of a list."""

    kind: Kind
    number: float = 0.0  # share of the pot, multiple of the bet, chips, blinds, or streets (0: as many as are left)
    most: float = math.inf  # of a geometric size: share of the pot

    def __str__(self) -> str:
        if self.kind == "pot":
            return f"{_plain(100 * self.number)}%"
        if self.kind == "geometric":
            limit = "" if math.isinf(self.most) else f"{_plain(100 * self.most)}%"
            return f"{_plain(self.number) if self.number else ''}e{limit}"
        return "allin" if self.kind == "allin" else _plain(self.number) + UNITS[self.kind]


class SizeList(NamedTuple):
    """The sizes of one player on one street. donks: None where they are those of `bets`."""

    bets: tuple[BetSize, ...] = ()
    raises: tuple[BetSize, ...] = ()
    donks: tuple[BetSize, ...] | None = None  # of the player out of position who only called on the street before


def sizes_of(text: str, of_raises: bool = False, preflop: bool = False) -> tuple[BetSize, ...]:
    """A list of sizes. preflop: of raises before the flop, which may be in big blinds."""
    if text.strip().lower() in ("", "none"):
        return ()
    sizes: list[BetSize] = []
    for at, word in words_of(text):
        match = _SIZE.fullmatch(word)
        if match is None:
            raise _wrong(text, at, word, preflop)
        size, end = _size(match), at + len(word)
        if size.kind == "times" and not of_raises:
            raise PointedError(f"{word!r} is a multiple of the bet that a raise answers, and this is a list of bets: "
                               "write a share of the pot, such as 50%", text, at, end)  # fmt: skip
        if size.kind == "times" and size.number <= 1.0:
            raise PointedError(f"a raise to {word!r} of a bet is no raise: write more than 1x", text, at, end)
        if size.kind == "to" and not preflop:
            raise PointedError(f"{word!r} is a raise before the flop: write a share of the pot, such as 50%, or 40c "
                               "for chips", text, at, end)  # fmt: skip
        if size.kind in ("pot", "chips", "to") and size.number <= 0.0:
            raise PointedError(f"{word!r} is no bet; leave it out, as a check or a call is always there", text, at, end)
        if len(sizes) == MOST_SIZES:
            raise PointedError(f"a list has {MOST_SIZES} sizes at most", text, at, end)
        if size not in sizes:
            sizes.append(size)
    return tuple(sizes)


def text_of_sizes(sizes: tuple[BetSize, ...]) -> str:
    """A list as it is written."""
    return ", ".join(map(str, sizes)) or "none"


def geometric(stack_to_pot: float, streets: int) -> float:
    """The share of the pot that, bet and called once on each of so many streets, puts all chips in."""
    return float(((1.0 + 2.0 * stack_to_pot) ** (1.0 / streets) - 1.0) / 2.0)


def _size(match: re.Match[str]) -> BetSize:
    if match["allin"]:
        return BetSize("allin")
    if match["pot"]:
        return BetSize("pot", float(match["pot"]) / 100)
    if match["times"]:
        return BetSize("times", float(match["times"]))
    if match["to"]:
        return BetSize("to", float(match["to"]))
    if match["chips"]:
        return BetSize("chips", float(match["chips"]))
    most = float(match["most"]) / 100 if match["most"] else math.inf
    return BetSize("geometric", float(match["streets"] or 0), most)


def _wrong(text: str, at: int, word: str, preflop: bool) -> PointedError:
    end = at + len(word)
    if not word:
        return PointedError("there is no size between two commas here", text, at)
    if preflop and re.fullmatch(_NUMBER, word):
        return PointedError(f"{word!r} has no unit: write {word}bb, {word}x of the bet before, or {word}% of the pot",
                            text, at, end)  # fmt: skip
    if re.fullmatch(_NUMBER, word):
        return PointedError(f"{word!r} has no unit: write {word}% of the pot, or {word}c for chips", text, at, end)
    match = re.match(rf"(?:{_NUMBER})?", word)
    past = 0 if match is None or match.end() == len(word) else match.end()
    return PointedError(f"{word[:40]!r} is not a bet size: write one such as {SUCH_AS}", text, at + past, end)


def _plain(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")
