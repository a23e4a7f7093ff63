"""Spots in the files of other solvers, as arguments of `spot`.

    TexasSolver    set_pot 50, set_board Qs,Jh,2h, set_range_ip AA,KK:0.5, set_bet_sizes oop,flop,bet,50, ...
    PioVIEWER      #Board#Qs Jh 2h, #Range0#AA:1,KK:0.5, #FlopConfig.BetSize#33 75, ...: the text of a tree

What a file says and a spot here has no place for is listed in `notes`: nothing is left out in silence. Each mistake is
pointed at in its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.core import store
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError
from kibitz.poker.spots.spot import PLAYERS, STREETS

MOST_BYTES = 1_000_000
KINDS = {"bet": "bets", "raise": "raises", "donk": "donks"}
# Commands of TexasSolver that say how it computes, and not what.
ABOUT_RUNNING = ("build_tree", "set_thread_num", "set_max_iteration", "set_print_interval", "set_use_isomorphism",
                 "start_solve", "set_dump_rounds", "dump_result", "set_use_halffloats")  # fmt: skip
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{0,9})?|\.\d{1,9}")
_SIZE = re.compile(
    rf"(?P<plain>{_NUMBER.pattern})%?|(?:{_NUMBER.pattern})[xc]|[1-3]?e(?:(?:{_NUMBER.pattern})%?)?|a|ai|allin",
    re.IGNORECASE,
)


class ImportedSpot(NamedTuple):
    """What a file of another solver says."""

    arguments: dict[str, Any]  # of `spot`
    until: float | None  # the accuracy that it asks for, as a share of the pot
    notes: tuple[str, ...]  # what has no place here
    source: str  # the solver


class _Line(NamedTuple):
    """A value in a line of a file: where it stands, for what is said of mistakes."""

    number: int
    text: str  # of the whole line
    at: int  # where the value begins
    value: str

    def wrong(self, sentence: str, at: int = 0, end: int | None = None) -> PointedError:
        """About the characters from at to end of the value; all of it without an end."""
        stop = self.at + (len(self.value) if end is None else end)
        return PointedError(f"line {self.number}: {sentence}", self.text, self.at + at, stop)


def read_import(path: str | Path) -> ImportedSpot:
    """The spot in a file of TexasSolver or PioVIEWER."""
    data = store.read_bytes(path, MOST_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise GameError(f"{path} is not a text file") from None
    try:
        return imported(text)
    except PointedError as error:
        raise error.within(str(path)) from None
    except GameError as error:
        raise GameError(f"{path}: {error}") from None


def imported(text: str) -> ImportedSpot:
    """The spot in a text of TexasSolver or PioVIEWER."""
    lines = [(k, line.rstrip()) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and all(re.match(r"\s*#[\w. ]+#", line) for _, line in lines):
        return _from_pio(lines)
    if any(re.match(r"\s*set_(?:range_(?:ip|oop)|effective_stack|bet_sizes)\b", line) for _, line in lines):
        return _from_texas(lines)
    raise GameError("this is neither a file of TexasSolver (set_pot ..., set_range_ip ...) nor the text of a tree of "
                    "PioVIEWER (#Board#..., #Range0#...)")  # fmt: skip


def is_import(text: str) -> bool:
    """Whether a text is of another solver."""
    return bool(re.search(r"^\s*(?:set_(?:range_(?:ip|oop)|effective_stack|bet_sizes)\b|#Range0#)", text, re.MULTILINE))


# What both have


class _Tree:
    """Sizes by name, street and player while they are read."""

    def __init__(self) -> None:
        self.sizes: dict[str, dict[tuple[int, int], list[str]]] = {name: {} for name in KINDS.values()}

    def add(self, name: str, street: int, player: int, sizes: list[str]) -> None:
        here = self.sizes[name].setdefault((street, player), [])
        here += [size for size in sizes if size not in here]

    def arguments(self) -> dict[str, Any]:
        """bets, raises and donks as tables. A list that is not there is empty; donks are those of OOP."""
        tables: dict[str, Any] = {}
        for name in ("bets", "raises", "donks"):
            tables[name] = {
                STREETS[street]: {PLAYERS[player]: ", ".join(self.sizes[name].get((street, player), [])) or "none"
                                  for player in ((0,) if name == "donks" else (0, 1))}
                for street in range(3)
            }  # fmt: skip
        return tables


def _sizes(line: _Line, of_raises: bool) -> list[str]:
    """Sizes in a list with commas or blanks; numbers alone are percentages of the pot."""
    sizes = []
    for match in re.finditer(r"[^\s,]+", line.value):
        word = match[0]
        size = _SIZE.fullmatch(word)
        if size is None:
            raise line.wrong(f"{word!r:.40} is not a bet size: write a percentage of the pot such as 50, or a (all in)",
                             match.start(), match.end())  # fmt: skip
        if word.lower().endswith("x") and not of_raises:
            raise line.wrong(f"{word!r} is a multiple of a bet, and this is a list of bets", match.start(), match.end())
        if size["plain"] is not None and float(size["plain"]) <= 0:
            raise line.wrong(f"{word!r} is no bet", match.start(), match.end())
        sizes.append(f"{size['plain']}%" if size["plain"] is not None else
                     "allin" if word.lower() in ("a", "ai", "allin") else word.lower())  # fmt: skip
    return sizes


def _number(line: _Line) -> float:
    if not _NUMBER.fullmatch(line.value):
        raise line.wrong(f"{line.value!r:.40} is not a number" if line.value else "a number is missing here")
    return float(line.value)


def _range(line: _Line) -> str:
    """The text of a range, checked."""
    from kibitz.cards.ranges import parse_range

    try:
        parse_range(line.value)
    except PointedError as error:
        raise line.wrong(error.sentence, error.at, error.end) from None
    except GameError as error:
        raise line.wrong(str(error)) from None
    return line.value


def _board(line: _Line) -> str:
    from kibitz.poker.spots.reading import board_of

    try:
        board_of(line.value)
    except PointedError as error:
        raise line.wrong(error.sentence, error.at, error.end) from None
    return line.value


def _needed(arguments: dict[str, Any], names: dict[str, str]) -> None:
    for name, command in names.items():
        if name not in arguments:
            raise GameError(f"{name} is missing: there is no {command}")


# TexasSolver


def _from_texas(lines: list[tuple[int, str]]) -> ImportedSpot:
    arguments: dict[str, Any] = {}
    ranges: dict[str, str] = {}
    tree, notes, until = _Tree(), list[str](), None
    for number, text in lines:
        match = re.match(r"\s*(\S+)\s*", text)
        assert match is not None
        command, line = match[1], _Line(number, text, match.end(), text[match.end() :].strip())
        if command == "set_pot":
            arguments["pot"] = _number(line)
        elif command == "set_effective_stack":
            arguments["stacks"] = _number(line)
        elif command == "set_board":
            arguments["board"] = _board(line)
        elif command in ("set_range_ip", "set_range_oop"):
            ranges[command[len("set_range_") :].upper()] = _range(line)
        elif command == "set_bet_sizes":
            _texas_sizes(line, tree)
        elif command == "set_raise_limit":
            arguments["max_raises"] = int(_number(line)) + 1  # the bet before the raises counts here
        elif command == "set_accuracy":
            until = _number(line) / 100
        elif command == "set_allin_threshold":
            notes.append(f"line {number}: set_allin_threshold {line.value} is a share of the stack that is put in; "
                         "force_allin is a share of the pot. No bet was made all in")  # fmt: skip
        elif command not in ABOUT_RUNNING:
            raise PointedError(f"line {number}: {command!r:.40} is not a command of TexasSolver that can be read", text,
                               match.start(1), match.end(1))  # fmt: skip
    for player in PLAYERS:
        if player not in ranges:
            raise GameError(f"the range of {player} is missing: there is no set_range_{player.lower()}")
    arguments["ranges"] = [ranges["OOP"], ranges["IP"]]
    _needed(arguments, {"pot": "set_pot", "stacks": "set_effective_stack", "board": "set_board"})
    return ImportedSpot({**arguments, **tree.arguments()}, until, tuple(notes), "TexasSolver")


def _texas_sizes(line: _Line, tree: _Tree) -> None:
    """oop,flop,bet,50,100 or ip,turn,allin."""
    match = re.match(r"(\w*)\s*(?:,\s*(\w*))?\s*(?:,\s*(\w*))?\s*(?:,|$)", line.value)
    if match is None:
        raise line.wrong("write set_bet_sizes oop,flop,bet,50")
    for group, choices in enumerate((("oop", "ip"), STREETS, (*KINDS, "allin")), 1):
        if (match[group] or "").lower() not in choices:
            at = match.start(group) if match[group] else len(line.value)
            raise line.wrong(f"{match[group] or ''!r:.40} should be one of {', '.join(choices)}", at,
                             at + max(1, len(match[group] or "")))  # fmt: skip
    player, street, kind = PLAYERS.index(match[1].upper()), STREETS.index(match[2].lower()), match[3].lower()
    if kind == "allin":
        for name in ("bets", "raises", "donks"):
            if name != "donks" or player == 0:
                tree.add(name, street, player, ["allin"])
        return
    if kind == "donk" and player == 1:
        raise line.wrong("only OOP can make a donk bet", match.start(3), match.end(3))
    rest = _Line(line.number, line.text, line.at + match.end(), line.value[match.end() :])
    tree.add(KINDS[kind], street, player, _sizes(rest, kind == "raise"))


# PioVIEWER


def _from_pio(lines: list[tuple[int, str]]) -> ImportedSpot:
    fields: dict[str, _Line] = {}
    for number, text in lines:
        match = re.match(r"\s*#([\w. ]+)#\s*", text)
        assert match is not None
        fields[match[1].strip()] = _Line(number, text, match.end(), text[match.end() :].strip())
    arguments: dict[str, Any] = {}
    notes: list[str] = []
    plain: dict[str, tuple[str, Callable[[_Line], Any]]] = {
        "Board": ("board", _board), "Pot": ("pot", _number), "EffectiveStacks": ("stacks", _number),
    }  # fmt: skip
    for key, (name, read) in plain.items():
        if key in fields:
            arguments[name] = read(fields.pop(key))
    for seat, player in enumerate(PLAYERS):
        if f"Range{seat}" not in fields:
            raise GameError(f"the range of {player} is missing: there is no #Range{seat}#")
    arguments["ranges"] = [_range(fields.pop("Range0")), _range(fields.pop("Range1"))]
    tree = _pio_sizes(fields, arguments, notes)
    if _flag(fields, "MergeSimilarBets") and "MergeSimilarBetsThreshold" in fields:
        arguments["merge"] = _number(fields.pop("MergeSimilarBetsThreshold")) / 100
    if _flag(fields, "CapEnabled") and "CapPerStreet" in fields:
        arguments["max_raises"] = [int(number) for number in _numbers(fields.pop("CapPerStreet"), 3)]
    if _flag(fields, "Rake.Enabled") or ("Rake.Fraction" in fields and "Rake.Enabled" not in fields):
        arguments["rake"] = _number(fields.pop("Rake.Fraction"))
        if "Rake.Cap" in fields:
            arguments["rake_cap"] = _number(fields.pop("Rake.Cap"))
    if _flag(fields, "ICM.Enabled"):
        _pio_prizes(fields, arguments)
    for key, line in fields.items():
        if not re.match(r"Type|ICM\.|Rake\.|CapMode|CapPerStreet|MergeSimilar", key):
            notes.append(f"line {line.number}: {key} {line.value:.40} has no place here")
    _needed(arguments, {"pot": "#Pot#", "stacks": "#EffectiveStacks#", "board": "#Board#"})
    return ImportedSpot({**arguments, **tree.arguments()}, None, tuple(notes), "PioVIEWER")


def _pio_sizes(fields: dict[str, _Line], arguments: dict[str, Any], notes: list[str]) -> _Tree:
    tree, wanted, lists = _Tree(), list[bool](), list[tuple[int, int]]()
    keys = {"BetSize": "bets", "RaiseSize": "raises", "DonkBetSize": "donks"}
    for street, word in enumerate(("Flop", "Turn", "River")):
        for player, ending in enumerate(("", "IP")):
            for key, name in keys.items():
                line = fields.pop(f"{word}Config{ending}.{key}", None)
                if line is not None and (name != "donks" or player == 0):
                    tree.add(name, street, player, _sizes(line, name == "raises"))
            wanted.append(_flag(fields, f"{word}Config{ending}.AddAllin"))
            if wanted[-1]:
                lists.append((street, player))
    line = fields.pop("AddAllinOnlyIfLessThanThisTimesThePot", None)
    if line is not None and all(wanted):
        arguments["add_allin"] = _number(line) / 100
    else:
        for street, player in lists:
            for name in ("bets", "raises"):
                tree.add(name, street, player, ["allin"])
        if line is not None and lists:
            notes.append(f"line {line.number}: all in is offered on some streets and not on others; there it is "
                         "offered however large the stack is")  # fmt: skip
    return tree


def _pio_prizes(fields: dict[str, _Line], arguments: dict[str, Any]) -> None:
    """Prizes, and stacks of which the first two are those of OOP and IP."""
    for key in ("ICM.Payouts", "ICM.Stacks"):
        if key not in fields:
            raise GameError(f"ICM is on, and there is no #{key}#")
    prizes, stacks = _numbers(fields.pop("ICM.Payouts")), _numbers(fields.pop("ICM.Stacks"), None)
    arguments["prizes"] = [prize for prize in prizes if prize > 0][: len(stacks)]
    arguments["stacks"], arguments["others"] = stacks[:2], stacks[2:]


def _numbers(line: _Line, count: int | None = None) -> list[float]:
    r"""Numbers with \n, commas or blanks between them."""
    numbers = []
    for match in re.finditer(r"(?:\\n|[\s,])*((?:(?!\\n)[^\s,])+)", line.value):
        if not _NUMBER.fullmatch(match[1]):
            raise line.wrong(f"{match[1]!r:.40} is not a number", match.start(1), match.end(1))
        numbers.append(float(match[1]))
    if not numbers or count not in (None, len(numbers)):
        raise line.wrong(f"there should be {count or 'some'} numbers here, and there are {len(numbers)}")
    return numbers


def _flag(fields: dict[str, _Line], key: str) -> bool:
    line = fields.pop(key, None)
    if line is None:
        return False
    if line.value.lower() not in ("true", "false"):
        raise line.wrong(f"{line.value!r:.40} should be True or False")
    return line.value.lower() == "true"
