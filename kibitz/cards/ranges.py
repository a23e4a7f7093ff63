"""Ranges of Texas hold'em: the hands that a player may hold, each with a weight, in the notation of poker tools.

    from kibitz import cards
    cards.parse_range("TT+, AQs+, KTs-K7s, AhKh, 76s:0.5")      # Range: weights of the 1,326 hands
    cards.parse_range("random"), cards.parse_range("top 15%")

A range is a list of items with commas, semicolons or blanks between them:

    AA  AKs  AKo  AK         a pair; an ace and a king of one suit; of two suits; of any suits
    TT+                      this pair and all higher ones
    A2s+  KTo+  QT+          the higher card stays, the lower one goes up to just below it: A2s to AKs
    22-66                    pairs from one to the other, in any order
    KTs-K7s                  the higher card stays, the lower one goes from one to the other
    JTs-76s                  both cards move together
    AhKh  'Ah Kh'            two cards
    random                   all 1,326 hands; `any` is the same
    top 15%                  the hands with the highest equity against a random hand: whole classes such as AKs, best
                             first, until 15% of the 1,326 hands are reached; `15%` is the same

and each item may end in a weight from 0 to 1, as `:0.5` or `@50%`. A hand that several items name has the weight of the
last: `AA,AhAd:0` is aces without that hand. Letters may be small or capital, and ten is T or 10. Blocks such as
`[50]AA,AKs[/50]` and lists of 1,326 weights, as other programs write them, are read too (`range_texts.py`).

Weights are relative: the chance of a hand is its weight over the sum of the weights of all hands that can be held
beside the cards that are known. They lie in the order of the kernels: the hand of cards a < b is b * (b - 1) / 2 + a.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HANDS = 1326
SUCH_AS = "AA, AKs, AKo, TT+, A2s+, KTs-K7s, AhKh, random or top 15%"
MOST_SHOWN = 40  # characters of a text that is quoted in a sentence

_RANK, _SUIT = "(?:10|[2-9TJQKA])", "[cdhs]"
_KIND = f"{_RANK}{_RANK}[so]?"
_ITEM = re.compile(
    rf"""(?: (?P<all>random|any)
        | (?:top\s*)? (?P<top>\d+(?:\.\d*)?|\.\d+) \s*%
        | (?P<cards>{_RANK}{_SUIT}\s*{_RANK}{_SUIT})
        | (?P<low>{_KIND}) (?: (?P<up>\+) | \s*-\s*(?P<high>{_KIND}) )?
        ) (?: \s*[:@]\s* (?P<weight>\d+(?:\.\d*)?|\.\d+) (?P<percent>\s*%)? )?
        (?= [\s,;] | $ )""",
    re.IGNORECASE | re.VERBOSE,
)
_BETWEEN = re.compile(r"[\s,;]*")


@dataclass(frozen=True)
class Item:
    """One item of a text: hands by number, or a share of the best ones; and their weight."""

    hands: tuple[int, ...]
    top: float | None  # 0 to 1
    weight: float


@dataclass(frozen=True, eq=False)
class Range:
    """Hands that a player may hold. `name` is what was written; two cards alone are written as cards."""

    name: str
    weights: Floats  # [1326]  0 to 1

    @property
    def numbers(self) -> Ints:
        """Numbers of the hands that have a weight."""
        return np.flatnonzero(self.weights)

    @property
    def hands(self) -> Ints:
        """[n, 2]  those hands as cards."""
        return hand_cards()[self.numbers]

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.weights))

    @property
    def is_flat(self) -> bool:
        """Whether all hands that have a weight have the same."""
        weights = self.weights[self.numbers]
        return bool((weights == weights[:1]).all())

    def without(self, cards: ArrayLike) -> Range:
        """The range of a player who is known to hold none of some cards."""
        gone = np.isin(hand_cards(), np.asarray(cards, np.int64)).any(axis=1)
        return Range(self.name, np.where(gone, 0.0, self.weights))


@lru_cache(1)
def hand_cards() -> Ints:
    """[1326, 2]  the cards of each hand, the lower one first."""
    cards = np.array([(a, b) for b in range(52) for a in range(b)], np.int64)
    cards.setflags(write=False)
    return cards


def parse_range(text: str) -> Range:
    """Read a range; the module says how they are written. `top 15%` looks up a table, which is made on first use."""
    from kibitz.cards.deck import names, parse
    from kibitz.cards.range_texts import has_weights, weights_of

    if has_weights(text):
        return Range("1,326 weights", weights_of(text))
    weights = np.zeros(HANDS)
    items = _in_blocks(text) if "[" in text or "]" in text else parse_items(text)
    for item in items:
        hands = np.array(item.hands, np.int64) if item.top is None else best(item.top)
        weights[hands] = item.weight
    if not weights.any():
        raise GameError(f"the range {_quoted(text)!r} holds no hand: all of its weights are 0")
    if len(items) == 1 and len(items[0].hands) == 1:
        return Range(names(parse(re.split("[:@]", text)[0])), weights)
    return Range(" ".join(text.split()), weights)


def parse_items(text: str) -> list[Item]:
    """The items of a range, checked, without reading any table."""
    items: list[Item] = []
    at = _skipped(text, 0)
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            _refuse(text, at)
        try:
            items.append(_item(match))
        except GameError as error:
            raise PointedError(str(error), text, match.start(), match.end()) from None
        at = _skipped(text, match.end())
    if not items:
        raise GameError(f"a hand or range is empty: write one such as {SUCH_AS}")
    return items


def _in_blocks(text: str) -> list[Item]:
    """The items of a range with tags such as [50] and [/50]."""
    from kibitz.cards.range_texts import blocks_of

    items: list[Item] = []
    for at, end, weight in blocks_of(text):
        try:
            here = parse_items(text[at:end])
        except PointedError as error:
            raise PointedError(error.sentence, text, at + error.at, at + error.end) from None
        items += [Item(item.hands, item.top, item.weight * weight) for item in here]
    if not items:
        raise GameError(f"a hand or range is empty: write one such as {SUCH_AS}")
    return items


def needs_table(text: str) -> bool:
    """Whether a range names a share of the best hands, so that they have to be in order."""
    return any(item.top is not None for item in parse_items(text))


def best(share: float) -> Ints:
    """The hands of the strongest classes before the flop that together are a share of all hands, or a little more."""
    from kibitz.cards.recipes import class_of

    classes = class_of().astype(np.int64)
    sizes = np.bincount(classes)
    order = ranking()
    reached = np.cumsum(sizes[order])
    count = int(np.searchsorted(reached, share * HANDS - 1e-9)) + 1 if share > 0 else 0
    return np.flatnonzero(np.isin(classes, order[:count]))


def ranking() -> Ints:
    """[169]  classes of hands before the flop, by equity against a random hand, the best first."""
    from kibitz.cards import tables
    from kibitz.cards.recipes import class_of, recipe

    table = tables.opened(recipe("preflop"))
    twice = (2 * table["wins"] + table["ties"]) / np.bincount(class_of().astype(np.int64))
    return np.argsort(-twice, kind="stable")


# Items


def _item(match: re.Match[str]) -> Item:
    weight = 1.0
    if match["weight"] is not None:
        weight = float(match["weight"]) / (100 if match["percent"] else 1)
        if weight > 1.0:
            raise GameError(f"the weight of {match[0]!r} should be from 0 to 1, or a percentage such as 50%")
    if match["all"]:
        return Item(tuple(range(HANDS)), None, weight)
    if match["top"]:
        share = float(match["top"]) / 100
        if not 0.0 < share <= 1.0:
            raise GameError(f"{match[0]!r} should be above 0% and at most 100% of all hands")
        return Item((), share, weight)
    if match["cards"]:
        return Item((_of_cards(match["cards"]),), None, weight)
    kinds = _kinds(match)
    return Item(tuple(hand for kind in kinds for hand in _of_kind(*kind)), None, weight)


def _of_cards(text: str) -> int:
    from kibitz.cards.deck import parse

    a, b = sorted(int(card) for card in parse(text))
    if a == b:
        raise GameError(f"the hand {text!r} holds the same card twice")
    return b * (b - 1) // 2 + a


def _kinds(match: re.Match[str]) -> list[tuple[int, int, str]]:
    """(higher rank, lower rank, s, o or nothing) of all kinds that TT+, A2s+, KTs-K7s or plain AKs stand for."""
    high, low, suits = _kind(match["low"])
    if match["up"]:
        if high == low:
            return [(rank, rank, suits) for rank in range(high, 13)]
        return [(high, rank, suits) for rank in range(low, high)]
    if not match["high"]:
        return [(high, low, suits)]
    high_2, low_2, suits_2 = _kind(match["high"])
    if suits != suits_2:
        raise GameError(f"the ends of {match[0]!r} should both be suited (s), both offsuit (o), or neither")
    first, last = sorted((low, low_2))
    if high - low == high_2 - low_2:  # pairs too
        return [(rank + high - low, rank, suits) for rank in range(first, last + 1)]
    if high == high_2 and high not in (low, low_2):
        return [(high, rank, suits) for rank in range(first, last + 1)]
    raise GameError(
        f"the ends of {match[0]!r} should share their higher card, as KTs-K7s, or be as far apart, as JTs-76s and 22-66"
    )


def _kind(text: str) -> tuple[int, int, str]:
    from kibitz.cards.deck import RANKS

    plain = text.upper().replace("10", "T")
    low, high = sorted((RANKS.index(plain[0]), RANKS.index(plain[1])))
    suits = plain[2:].lower()
    if low == high and suits:
        raise GameError(f"{text!r} is a pair, which is neither suited nor offsuit: write {plain[:2]}")
    return high, low, suits


def _of_kind(high: int, low: int, suits: str) -> list[int]:
    """Numbers of the hands of a kind."""
    hands = []
    for s in range(4):
        for t in range(4):
            if (high == low and s <= t) or (suits == "s" and s != t) or (suits == "o" and s == t):
                continue
            b, a = 4 * high + s, 4 * low + t
            hands.append(b * (b - 1) // 2 + a)
    return hands


# Mistakes


def _skipped(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _refuse(text: str, at: int) -> NoReturn:
    """Say what is wrong with the item that begins here."""
    word = re.split(r"[\s,;]", text[at:], maxsplit=1)[0]
    sentence, place = _fault(word)
    if place is None:
        raise PointedError(sentence, text, at, at + len(word))
    raise PointedError(sentence, text, at + place)


def _fault(word: str) -> tuple[str, int | None]:
    """What is wrong with an item, and at which of its characters if one is to blame."""
    plain = word.upper().replace("10", "T")
    shown = repr(_quoted(word))
    cards = re.fullmatch(f"(?:{_RANK}{_SUIT})+", word, re.IGNORECASE)
    if cards:
        return f"a hand has two cards, and {shown} has {len(plain) // 2}: write AhKd, or 'Ah Kd' in quotes", None
    if re.match(r"[0-9A-Z]{2}", plain) and len(plain) <= 5 and "%" not in plain:
        ranks = plain[0] + (plain[2:3] if plain[1] in "CDHS" else plain[1])
        for rank in ranks:
            if rank not in "23456789TJQKA":
                place = word.upper().find(rank)
                return f"{rank!r} in {shown} is not a rank: ranks are 2 to 9, T, J, Q, K and A", max(0, place)
        if re.fullmatch("[CDHS].[A-Z]", plain[1:4]):
            place = len(word) - len(plain) + 3
            return f"{plain[3].lower()!r} in {shown} is not a suit: suits are c, d, h and s", place
    return f"{shown} is not a hand or range: write one such as {SUCH_AS}", None


def _quoted(text: str) -> str:
    """A text on one line, cut where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_SHOWN else f"{flat[: MOST_SHOWN - 3]}..."
