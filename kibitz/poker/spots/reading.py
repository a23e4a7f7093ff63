"""Spots as people write them: from arguments, and from TOML and JSON files.

    board = "Qs Jh 2h"
    ranges = ["22+, A2s+, KTo+", "TT+, AQs+, AKo:0.5"]      # out of position, in position
    pot = 100
    stacks = 400
    bets = "33%, 75%; river: 75%, allin; turn IP: 50%"
    raises = "60%, allin"

Sizes hold for all streets and both players; parts after a semicolon hold for a street, for a player (OOP or IP), or
for both of them, and replace what was said before for those. In a file they may be tables too:

    [bets]
    flop = "33%"
    river = { OOP = "75%, allin", IP = "100%" }
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import NUMBERS
from kibitz.cards.ranges import HANDS, Range, parse_range
from kibitz.core import store
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError
from kibitz.poker.rules.acpc import NO_CAP
from kibitz.poker.spots.sizes import BetSize, SizeList, sizes_of, text_of_sizes
from kibitz.poker.spots.spot import PLAYERS, STREETS, Spot, in_deck, met

Floats = NDArray[np.float64]
MOST_BYTES = 1_000_000  # of a file
BETS, RAISES = "50%, allin", "60%, allin"
SHARES = ("rake", "force_allin", "add_allin", "merge")  # numbers that may be percentages
CHIPS = ("rake_cap", "min_bet", "chip")
NEEDED = ("board", "ranges", "pot", "stacks")
OPTIONS = ("bets", "raises", "donks", *SHARES, *CHIPS, "dead", "max_raises", "deck", "prizes", "others")
SizePart = tuple[Sequence[int], Sequence[int], str, int, str]  # streets, players, sizes, their place, the whole text
_PREFIX = re.compile(r"\s*(?:(flop|turn|river)\b)?\s*(?:(oop|ip)\b)?\s*:", re.IGNORECASE)


def spot(
    board: str | Sequence[int], ranges: Sequence[str | Range | Floats], pot: float | str, stacks: Any,
    bets: Any = BETS, raises: Any = RAISES, **options: Any,
) -> Spot:  # fmt: skip
    """A spot from what a person writes.

    board     three to five cards, "Qs Jh 2h"
    ranges    out of position, in position: texts as of kibitz.cards.parse_range, or weights of the 1,326 hands
    stacks    chips behind: one number, or one for each player
    bets, raises, donks     sizes: the module says how they are written
    rake, rake_cap          share of the pot, and chips
    force_allin             a bet after whose call less than this share of the pot is behind is all in
    add_allin               all in is offered where it is at most so many pots
    merge                   of two sizes so near, in pots, the larger is kept
    max_raises              bets and raises on a street: a number, or one for each of three streets
    min_bet, chip           the smallest bet, and what bets are rounded to
    dead                    antes and dead money that the pot does not count yet
    prizes, others          of a tournament: prizes of the places left, "50, 30, 20", and stacks of the other players
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise GameError(f"a spot has no option {unknown[0]!r}{_near(unknown[0])}")
    cards = board_of(board)
    deck = tuple(options.get("deck", (13, 4)))
    if isinstance(ranges, str) or len(ranges) != 2:
        raise GameError("a spot has two ranges: out of position (OOP) first, then in position (IP)")
    weights = [range_of(source, player, cards) for source, player in zip(ranges, PLAYERS, strict=True)]
    chips = number_of("pot", pot) + number_of("dead", options.get("dead", 0.0))
    behind = stacks_of(stacks)
    numbers: dict[str, Any] = {name: share_of(name, options[name]) for name in SHARES if name in options}
    numbers |= {name: number_of(name, options[name]) for name in CHIPS if options.get(name) is not None}
    numbers.setdefault("chip", _chip(chips, min(behind)))
    if "max_raises" in options:
        numbers["max_raises"] = caps_of(options["max_raises"])
    numbers |= {name: list_of(name, options[name]) for name in ("prizes", "others") if name in options}
    gone = ~in_deck(deck)
    return Spot(
        cards, np.where(gone, 0.0, [each for each, _ in weights]), chips, behind,
        sizes_by_street(bets, raises, options.get("donks")), deck=deck, texts=(weights[0][1], weights[1][1]), **numbers,
    )  # fmt: skip


def read_spot(path: str | Path) -> Spot:
    """The spot in a .toml or .json file. For files of other solvers: `importing.py`."""
    return spot(**arguments_of(path))


def arguments_of(path: str | Path, needed: Sequence[str] = NEEDED) -> dict[str, Any]:
    """The arguments of `spot` in a file, with their names checked. needed: those that must be there."""
    path = Path(path)
    if path.suffix.lower() not in (".toml", ".json"):
        raise GameError(f"{path}: a spot is read from a .toml or .json file")
    data = store.read_bytes(path, MOST_BYTES)
    try:
        text = data.decode()
        fields = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise GameError(f"{path}: {error}") from None
    if not isinstance(fields, dict):
        raise GameError(f"{path}: a spot is a table of names and values")
    for name in fields:
        if name not in NEEDED and name not in OPTIONS:
            raise GameError(f"{path}: a spot has no {name!r}{_near(name)}")
    if missing := [name for name in needed if name not in fields]:
        raise GameError(f"{path}: {missing[0]} is missing")
    return fields


def written(question: Spot) -> dict[str, Any]:
    """A spot as plain data, from which `spot` makes the same one. Ranges without a text are left to the caller."""
    defaults = {"rake": 0.0, "rake_cap": math.inf, "force_allin": 0.0, "add_allin": 0.0, "merge": 0.0, "min_bet": 0.0}
    data: dict[str, Any] = {
        "board": " ".join(_names(question.board)), "ranges": list(question.texts), "pot": question.pot,
        "stacks": list(question.stacks),
    }  # fmt: skip
    for name in ("bets", "raises", "donks"):
        table: dict[str, dict[str, str]] = {}
        for street, pair in zip(STREETS, question.sizes, strict=True):
            for player, lists in zip(PLAYERS, pair, strict=True):
                if getattr(lists, name) is not None:
                    table.setdefault(street, {})[player] = text_of_sizes(getattr(lists, name))
        if table:
            data[name] = table
    data |= {name: getattr(question, name) for name, usual in defaults.items() if getattr(question, name) != usual}
    data["chip"] = question.chip
    if question.max_raises != (NO_CAP,) * 3:
        data["max_raises"] = list(question.max_raises)
    data |= {name: list(getattr(question, name)) for name in ("prizes", "others") if getattr(question, name)}
    if question.deck != (13, 4):
        data["deck"] = list(question.deck)
    return data


# Its parts


def board_of(source: str | Sequence[int]) -> tuple[int, ...]:
    """The cards of a board: "Qs Jh 2h", "QsJh2h", or their numbers."""
    if not isinstance(source, str):
        return tuple(int(card) for card in source)
    cards: list[int] = []
    for match in re.finditer(r"10.|[^\s,].?", source):
        word = match[0].strip(" ,")
        plain = word.upper().replace("10", "T")
        card = NUMBERS.get(plain[:1] + plain[1:].lower())
        if card is None:
            rank = plain[:1] not in "23456789TJQKA"
            what = f"{word[:1]!r} is not a rank: ranks are 2 to 9, T, J, Q, K and A" if rank else (
                f"{plain[1:].lower()!r} is not a suit: suits are c, d, h and s" if plain[1:] else
                f"{word!r} has no suit: write {plain}c, {plain}d, {plain}h or {plain}s")  # fmt: skip
            at = match.start() if rank or not plain[1:] else match.end() - 1
            raise PointedError(f"board: {what}", source, at)
        if card in cards:
            raise PointedError(f"board: {word} is there twice", source, match.start(), match.end())
        if len(cards) == 5:
            raise PointedError("board: there are five cards at most", source, match.start(), len(source.rstrip()))
        cards.append(card)
    if not cards:
        raise PointedError("board: there is no card; play before the flop is for `kibitz poker preflop` "
                           "(kibitz.preflop)", source, 0)  # fmt: skip
    if len(cards) < 3:
        raise PointedError(f"board: a flop has three cards, and {len(cards)} {'is' if len(cards) == 1 else 'are'} here",
                           source, len(source.rstrip()))  # fmt: skip
    return tuple(cards)


def range_of(source: str | Range | Floats, player: str, board: tuple[int, ...]) -> tuple[Floats, str]:
    """(weights, text) of a range."""
    if isinstance(source, str):
        try:
            weights, text = parse_range(source).weights, " ".join(source.split())
        except PointedError as error:
            raise error.within(f"the range of {player}") from None
        except GameError as error:
            raise GameError(f"the range of {player}: {error}") from None
        if not weights[~met(board)].any():
            raise PointedError(f"the range of {player} holds no hand beside the board {' '.join(_names(board))}",
                               source, 0, len(source))  # fmt: skip
        return weights, text
    if isinstance(source, Range):
        return source.weights, source.name
    weights = np.asarray(source, np.float64)
    if weights.shape != (HANDS,) or not np.isfinite(weights).all() or weights.min() < 0 or weights.max() > 1:
        raise GameError(f"the range of {player}: give a text, or a weight from 0 to 1 for each of {HANDS:,} hands")
    return weights, ""


def sizes_by_street(bets: Any, raises: Any, donks: Any = None) -> tuple[tuple[SizeList, SizeList], ...]:
    """Sizes by street and player."""
    of_bets, of_raises = size_table("bets", bets, False), size_table("raises", raises, True)
    of_donks = size_table("donks", donks, False) if donks is not None else [[None, None] for _ in STREETS]
    tables = []
    for k in range(3):
        first, second = (SizeList(of_bets[k][seat] or (), of_raises[k][seat] or ()) for seat in (0, 1))
        tables.append((first._replace(donks=of_donks[k][0] if k else None), second))
    return tuple(tables)


def size_table(name: str, source: Any, of_raises: bool) -> list[list[tuple[BetSize, ...] | None]]:
    """[3 streets][2 players]  sizes; None where nothing was said."""
    table: list[list[tuple[BetSize, ...] | None]] = [[None, None] for _ in STREETS]
    for streets, players, text, before, whole in _size_parts(name, source):
        try:
            sizes = sizes_of(text, of_raises)
        except PointedError as error:
            raise error.within(name, whole, before) from None
        for street in streets:
            for player in players:
                table[street][player] = sizes
    return table


def _size_parts(name: str, source: Any) -> list[SizePart]:
    """(streets, players, sizes, where they begin, the text that they are in)."""
    everywhere, both = range(3), range(2)
    if isinstance(source, str):
        return _text_parts(name, source)
    if isinstance(source, list | tuple):
        return [(everywhere, both, ", ".join(map(str, source)), 0, ", ".join(map(str, source)))]
    if not isinstance(source, Mapping):
        raise GameError(f"{name}: write sizes such as '33%, 75%, allin', not {source!r:.40}")
    parts: list[SizePart] = []
    for key, inside in source.items():
        words = str(key).lower()
        if words in STREETS and isinstance(inside, Mapping):
            for player, text in inside.items():
                parts.append(((STREETS.index(words),), (_player(name, player),), str(text), 0, str(text)))
        elif words in STREETS:
            parts.append(((STREETS.index(words),), both, str(inside), 0, str(inside)))
        else:
            parts.append((everywhere, (_player(name, key),), str(inside), 0, str(inside)))
    return parts


def _player(name: str, word: object) -> int:
    if str(word).upper() not in PLAYERS:
        raise GameError(f"{name}: {str(word)!r:.40} is neither a street (flop, turn, river) nor a player (OOP, IP)")
    return PLAYERS.index(str(word).upper())


def _text_parts(name: str, text: str) -> list[SizePart]:
    parts: list[SizePart] = []
    at = 0
    for piece in text.split(";"):
        begin, streets, players = 0, range(3), range(2)
        if ":" in piece:
            match = _PREFIX.match(piece)
            if match is None or not (match[1] or match[2]):
                blank = len(piece) - len(piece.lstrip())
                raise PointedError(f"{name}: before a colon is a street (flop, turn, river), a player (OOP, IP), or "
                                   "both, as 'turn IP: 50%'", text, at + blank, at + piece.index(":"))  # fmt: skip
            begin = match.end()
            if match[1]:
                street = STREETS.index(match[1].lower())
                streets = range(street, street + 1)
            if match[2]:
                player = PLAYERS.index(match[2].upper())
                players = range(player, player + 1)
        elif at and not piece.strip():
            at += len(piece) + 1
            continue
        parts.append((streets, players, piece[begin:], at + begin, text))
        at += len(piece) + 1
    return parts


def stacks_of(source: Any) -> tuple[float, float]:
    """One number for both, or two: "400", "400, 300", [400, 300]."""
    if isinstance(source, str):
        source = [word for word in re.split(r"[\s,/]+", source.strip()) if word] or [""]
    if not isinstance(source, list | tuple):
        source = [source]
    chips = [number_of("stacks", each) for each in source]
    if len(chips) not in (1, 2):
        raise GameError(f"stacks: give one number, or one for each of two players, not {len(chips)}")
    return chips[0], chips[-1]


def list_of(name: str, source: Any) -> tuple[float, ...]:
    """Numbers: "50, 30, 20", or [50, 30, 20]; nothing is none."""
    if isinstance(source, str):
        source = [word for word in re.split(r"[\s,/]+", source.strip()) if word]
    values = source if isinstance(source, list | tuple) else [] if source is None else [source]
    return tuple(number_of(name, each) for each in values)


def caps_of(source: Any) -> tuple[int, int, int]:
    """Bets and raises on a street: a number, or three."""
    if isinstance(source, str):
        source = [word for word in re.split(r"[\s,/]+", source.strip()) if word]
    values = list(source) if isinstance(source, list | tuple) else [source]
    caps = [number_of("max_raises", each) for each in values]
    if len(caps) not in (1, 3) or any(cap != int(cap) or not 0 <= cap <= NO_CAP for cap in caps):
        raise GameError(f"max_raises: give a whole number from 0 to {NO_CAP}, or one for each of three streets")
    whole = [int(cap) for cap in caps] * (3 // len(caps))
    return whole[0], whole[1], whole[2]


def number_of(name: str, value: Any) -> float:
    """A number that is 0 or more."""
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise GameError(f"{name}: {str(value)[:40]!r} is not a number") from None
    if not number >= 0.0 or (math.isinf(number) and name != "rake_cap"):
        raise GameError(f"{name} should be a number, 0 or more, not {number:g}")
    return number


def share_of(name: str, value: Any) -> float:
    """A share: 0.05, or a text such as 5%."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return number_of(name, value.strip()[:-1]) / 100
    return number_of(name, value)


def _chip(pot: float, stack: float) -> float:
    """What bets are rounded to: whole chips where pot and stack are that, else hundredths."""
    return 1.0 if pot == int(pot) and stack == int(stack) else 0.01


def _near(word: str) -> str:
    near = difflib.get_close_matches(word, [*NEEDED, *OPTIONS], n=1)
    return f"; did you mean {near[0]!r}?" if near else f": there are {', '.join([*NEEDED, *OPTIONS])}"


def _names(cards: Sequence[int]) -> list[str]:
    from kibitz.cards.deck import name

    return [name(card) for card in cards]
