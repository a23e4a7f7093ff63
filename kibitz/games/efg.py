"""Gambit's extensive game files (.efg, "EFG 2 R"): read_efg and write_efg.

The file is a prologue, EFG 2 R "title" { "player" ... } "comment", and the nodes in prefix order:

    c "name" event "event's name" { "outcome" probability ... } OUTCOME        chance
    p "name" player infoset "infoset's name" { "action" ... } OUTCOME          a player's decision
    t "name" OUTCOME                                                           the end
    OUTCOME = 0, or number "name" { payoff, ... }

Numbers are integers, decimals or fractions, and exact. An event, infoset or outcome is described where it
first appears; later its number is enough, and a description that is repeated must say the same. Names of
nodes, infosets and outcomes are for people: where they differ between mentions the first stands. A payoff at
a node that is not terminal counts for every path through it.

Both directions are loops, not recursion, so a tree may be of any depth; and a number in a file is only ever a
key or a value, never a size. Numbers have at most 1,000 characters and sums of them are bounded in size and in work, so
that a small file can ask neither for much memory nor for much time.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.core.errors import GameError
from kibitz.core.resources import free_memory
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game

_TOKEN = re.compile(r'\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([{},])|([^\s{}",]+))', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)", re.ASCII)
_INTEGER = re.compile(r"\d{1,18}", re.ASCII)
_MAX_DIGITS = 1000
_MAX_BITS = 20_000  # of a sum's denominator
_MAX_PLAYERS = 100  # as many as a tree may have
_MAX_WORK = (50_000, 2)  # of exact sums, and so much more for each character of a file: about a second for 100 kB
_BYTES_PER_CHARACTER = 40  # of a file: what its nodes take (measured: 6 to 30)


_NO_CHILDREN: list[int] = []  # of every end


class EfgChoice(NamedTuple):
    """What an infoset or a chance event offers."""

    key: str  # the infoset, as a player of our games knows it; "" for chance
    actions: tuple[Action, ...]
    odds: tuple[Fraction, ...]  # at chance


class EfgGame:
    """The game of an .efg file. A state is a node's number, in the order of the file."""

    spec: str  # the file's path; a game read from text has none

    def __init__(self, title: str, comment: str, names: Sequence[str]) -> None:
        self.title = title
        self.comment = comment
        self.names = tuple(names)
        self.players = len(names)
        self._turn: list[int] = []
        self._choice: list[EfgChoice | None] = []
        self._children: list[list[int]] = []
        self._payoff: list[tuple[float, ...]] = []
        self._places: dict[tuple[Action, ...], dict[Action, int]] = {}

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._turn)

    def root(self) -> int:
        return 0

    def turn(self, state: int) -> int:
        return self._turn[state]

    def _offer(self, state: int) -> EfgChoice:
        choice = self._choice[state]
        assert choice is not None, "a terminal node has no actions"
        return choice

    def actions(self, state: int) -> tuple[Action, ...]:
        return self._offer(state).actions

    def chance(self, state: int) -> list[tuple[Action, float]]:
        choice = self._offer(state)
        return [(action, float(p)) for action, p in zip(choice.actions, choice.odds, strict=True) if p]

    def after(self, state: int, action: Action) -> int:
        choice = self._offer(state)
        places = self._places.get(choice.actions)
        if places is None:
            places = self._places[choice.actions] = {a: place for place, a in enumerate(choice.actions)}
        return self._children[state][places[action]]

    def infoset(self, state: int) -> str:
        return self._offer(state).key

    def payoff(self, state: int) -> tuple[float, ...]:
        return self._payoff[state]


def read_efg(source: str | Path) -> EfgGame:
    """Read a game from a path, or from the text of a file (which starts with EFG)."""
    if isinstance(source, str) and source.lstrip().startswith("EFG"):
        return _Reader(source, "efg text").game()
    path = Path(source)
    try:
        if path.exists() and not path.is_file():
            raise GameError(f"cannot read the game file {str(path)!r}: it is not a file")
        size, free = path.stat().st_size, free_memory()
        if size * _BYTES_PER_CHARACTER > free:
            raise GameError(
                f"cannot read the game file {str(path)!r}: its {size / 1e6:,.0f} MB take about "
                f"{size * _BYTES_PER_CHARACTER / 1e6:,.0f} MB of memory, and {free / 1e6:,.0f} MB are free"
            )
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise GameError(f"{path} is not a text file: byte {error.start} is not UTF-8") from None
    except GameError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GameError(f"cannot read the game file {str(path)!r}: {reason}") from None
    game = _Reader(text, str(path)).game()
    game.spec = str(path)
    return game


class _Reader:
    """A reader with one token of foresight: `kind` is "string", "word", one of { } , or "end"."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.next = 0
        self.events: dict[int, EfgChoice] = {}
        self.infosets: dict[tuple[int, int], EfgChoice] = {}
        self.outcomes: dict[int, tuple[Fraction, ...]] = {}
        self.numbers: dict[str, Fraction] = {}
        self.names: list[str] = []
        self.work, self.most_work = 0, _MAX_WORK[0] + _MAX_WORK[1] * len(text)  # done in sums so far, and at most
        self.advance()

    # Errors and tokens

    def fail(self, message: str, at: int | None = None) -> GameError:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return GameError(f"{self.name}, line {line}, column {column}: {message}")

    def expected(self, what: str) -> GameError:
        if self.kind == "end":
            token = "the end of the file"
        elif self.kind == "string":
            token = f'the text "{self.value[:40]}"'
        else:
            token = repr(self.value[:40])
        return self.fail(f"expected {what}, found {token}")

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.next)
        if match is None:
            rest = self.text[self.next :]
            self.at = self.next + len(rest) - len(rest.lstrip())
            if self.at < len(self.text):  # every other character starts a token
                raise self.fail("this quoted text has no closing quote")
            self.kind, self.value = "end", ""
            return
        group = match.lastindex or 0
        self.next = match.end()
        self.value = match.group(group)
        self.at = match.start(group) - (group == 1)
        self.kind = ("string", self.value, "word")[group - 1]

    def take(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self.advance()
        return True

    def string(self, what: str) -> str:
        if self.kind != "string":
            raise self.expected(f"{what} in quotes")
        value = self.value
        self.advance()
        return re.sub(r'\\(["\\])', r"\1", value) if "\\" in value else value

    def optional_string(self) -> str:
        return self.string("a name") if self.kind == "string" else ""

    def brace(self, char: str, what: str) -> None:
        if not self.take(char):
            raise self.expected(f"{char!r} {what}")

    def integer(self, what: str, least: int) -> int:
        if self.kind != "word" or not _INTEGER.fullmatch(self.value) or int(self.value) < least:
            raise self.expected(what)
        value = int(self.value)
        self.advance()
        return value

    def number(self, what: str) -> Fraction:
        known = self.numbers.get(self.value) if self.kind == "word" else None
        if known is not None:  # a file has few different numbers, and fractions are slow to make
            self.advance()
            return known
        if self.kind == "word" and len(self.value) > _MAX_DIGITS:  # before the pattern, which goes back and forth
            raise self.fail(f"a number of {len(self.value):,} digits is too long; the limit is {_MAX_DIGITS:,}")
        if self.kind != "word" or not _NUMBER.fullmatch(self.value):
            raise self.expected(what)
        try:
            value = self.numbers[self.value] = Fraction(self.value)
            float(value)
        except ZeroDivisionError:
            raise self.fail(f"{self.value} divides by zero") from None
        except OverflowError:
            raise self.fail(f"{self.value} is too large") from None
        self.advance()
        return value

    def sum(self, a: Fraction, b: Fraction) -> Fraction:
        """Exact; a long row of denominators with nothing in common would grow without bound."""
        # A sum needs products and a common divisor: the square of the length, for long ones.
        self.work += 1 + ((a.denominator.bit_length() + b.denominator.bit_length()) // 512) ** 2
        total = a + b
        if total.denominator.bit_length() > _MAX_BITS or self.work > self.most_work:
            raise self.fail("the numbers up to here have too many different denominators to be summed exactly")
        return total

    # The grammar

    def game(self) -> EfgGame:
        for word, what in (("EFG", "'EFG', with which the file must begin"), ("2", "the version '2'")):
            if self.kind != "word" or self.value != word:
                raise self.expected(what)
            self.advance()
        if self.kind != "word" or self.value not in ("R", "D"):  # D, for decimals, is obsolete
            raise self.expected("'R'")
        self.advance()
        title = self.string("the game's title")
        self.brace("{", "and the players' names")
        while self.kind == "string":
            self.names.append(self.string("a player's name"))
            if len(self.names) > _MAX_PLAYERS:
                raise self.fail(f"there are more than {_MAX_PLAYERS} players")
        if not self.names:
            raise self.expected("a player's name in quotes")
        self.brace("}", "or a player's name in quotes")
        game = EfgGame(title, self.optional_string(), self.names)

        # Nodes come in prefix order: each new one is the next child of the innermost node that lacks one.
        # waiting holds (node, how many children it has, the payoffs at it); `paid` is their sum along the path, from
        # which they are taken again on the way back: a sum for each node of a path would take the square of its length.
        waiting: list[tuple[int, int, tuple[Fraction, ...] | None]] = []
        nothing = (Fraction(0),) * len(self.names)
        paid = nothing
        known: dict[int, tuple[float, ...]] = {}  # by identity: outcomes are kept, and fractions are slow to compare
        while True:
            turn, choice, outcome = self.node()
            node = len(game)
            game._turn.append(turn)
            game._choice.append(choice)
            game._children.append([] if choice is not None else _NO_CHILDREN)
            if waiting:
                game._children[waiting[-1][0]].append(node)
            if choice is not None:
                if outcome is not None:
                    paid = tuple(map(self.sum, paid, outcome))
                waiting.append((node, len(choice.actions), outcome))
                game._payoff.append(())
            elif any(paid):
                game._payoff.append(self.floats(paid if outcome is None else tuple(map(self.sum, paid, outcome))))
            else:
                ended = nothing if outcome is None else outcome
                if id(ended) not in known:
                    known[id(ended)] = self.floats(ended)
                game._payoff.append(known[id(ended)])
            while waiting and len(game._children[waiting[-1][0]]) == waiting[-1][1]:
                _, _, outcome = waiting.pop()
                if outcome is not None:
                    paid = tuple(map(self.sum, paid, [-value for value in outcome])) if waiting else nothing
            if not waiting:
                break
        if self.kind != "end":
            raise self.expected("the end of the file, as the tree is complete")
        return game

    def node(self) -> tuple[int, EfgChoice | None, tuple[Fraction, ...] | None]:
        """One node: who moves, what is offered, and the payoffs of its outcome."""
        kind = self.value if self.kind == "word" else ""
        if kind not in ("c", "p", "t"):
            raise self.expected("a node: c, p or t")
        self.advance()
        self.string("the node's name")
        if kind == "t":
            return TERMINAL, None, self.outcome()
        if kind == "c":
            return CHANCE, self.event(), self.outcome()
        at = self.at
        seat = self.integer("the number of the player", 1) - 1
        if seat >= len(self.names):
            raise self.fail(f"there is no player {seat + 1}: the prologue names {len(self.names)}", at)
        return seat, self.infoset(seat), self.outcome()

    def event(self) -> EfgChoice:
        at = self.at
        number = self.integer("the number of the chance event, from 1 up", 1)
        self.optional_string()
        known = self.events.get(number)
        if self.kind != "{":
            if known is None:
                raise self.fail(f"chance event {number} has no list of outcomes, here or before", at)
            return known
        listed = self.at
        self.advance()
        names, odds = [], []
        while not self.take("}"):
            names.append(self.string("'}' or the name of a chance outcome"))
            where = self.at
            odds.append(self.number("the outcome's probability"))
            if odds[-1] < 0:
                raise self.fail("a probability is below 0", where)
        choice = EfgChoice("", self.labels(names, f"chance event {number}", listed), tuple(odds))
        total = reduce(self.sum, odds, Fraction(0))
        if total != 1:
            total_text = f"{float(total):.12g}, not to exactly 1 (write 1/3, not 0.333)"
            raise self.fail(f"the probabilities of chance event {number} sum to {total_text}", listed)
        if known is not None and known != choice:
            raise self.fail(f"chance event {number} was described differently before", listed)
        self.events[number] = choice
        return choice

    def infoset(self, seat: int) -> EfgChoice:
        at = self.at
        number = self.integer("the number of the infoset, from 1 up", 1)
        what = f"infoset {number} of player {seat + 1}"
        name = self.optional_string()
        known = self.infosets.get((seat, number))
        if self.kind != "{":
            if known is None:
                raise self.fail(f"{what} has no list of actions, here or before", at)
            return known
        listed = self.at
        self.advance()
        names = []
        while not self.take("}"):
            names.append(self.string("'}' or the name of an action"))
        actions = self.labels(names, what, listed)
        if known is None:
            known = EfgChoice(f"{seat + 1}.{number} {name}".rstrip(), actions, ())
            self.infosets[seat, number] = known
        elif known.actions != actions:
            before = f"before they were the {len(known.actions)} actions {_some(known.actions)}"
            raise self.fail(f"{what} has {len(actions)} actions {_some(actions)}, but {before}", listed)
        return known

    def labels(self, names: list[str], what: str, at: int) -> tuple[Action, ...]:
        """The actions' names; since actions must differ, numbers where a name is empty or stands twice."""
        if not names:
            raise self.fail(f"{what} offers nothing", at)
        usable = all(names) and len(set(names)) == len(names)
        return tuple(names) if usable else tuple(range(1, len(names) + 1))

    def outcome(self) -> tuple[Fraction, ...] | None:
        at = self.at
        number = self.integer("the number of an outcome, or 0 for none", 0)
        described = self.at
        self.optional_string()
        known = self.outcomes.get(number)
        if self.kind != "{":
            if number and known is None:
                raise self.fail(f"outcome {number} has no payoffs, here or before", at)
            return known
        if number == 0:
            raise self.fail("outcome 0 means none and has no payoffs", described)
        self.advance()
        payoffs = []
        for name in self.names:
            payoffs.append(self.number(f"the payoff of {name!r}, one for each of {len(self.names)} players"))
            self.take(",")
        self.brace("}", f"after {len(self.names)} payoffs")
        if known is not None and known != tuple(payoffs):
            raise self.fail(f"outcome {number} had other payoffs before", described)
        return self.outcomes.setdefault(number, tuple(payoffs))

    def floats(self, paid: tuple[Fraction, ...]) -> tuple[float, ...]:
        try:
            return tuple(map(float, paid))
        except OverflowError:
            raise self.fail("the payoffs along the path to this node sum to a number that is too large") from None


def _some(actions: Sequence[Action]) -> str:
    shown = ", ".join(repr(action)[:40] for action in actions[:6])
    return f"[{shown}{', ...' if len(actions) > 6 else ''}]"


def write_efg(game: Game, path: str | Path, title: str = "") -> None:
    """Write any game as an .efg file that Gambit reads; the file appears whole or not at all.

    Names are brought to what Gambit allows: printable ASCII without double spaces.
    """
    path = Path(path)
    partial: str | None = None
    try:
        # A name that nobody can foresee, opened only if it is new: a link put there is not followed.
        number, partial = tempfile.mkstemp(".part", f".{path.name[:100]}.", path.absolute().parent)
        with open(number, "w", encoding="ascii", newline="\n") as file:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(number, 0o666 & ~mask)
            _write(game, file, title or str(getattr(game, "spec", type(game).__name__)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        partial = None
    except OSError as error:
        raise GameError(f"cannot write the game file {str(path)!r}: {error.strerror}") from None
    finally:
        if partial is not None:
            Path(partial).unlink(missing_ok=True)


def _write(game: Game, file: Any, title: str) -> None:
    players = " ".join(_quoted(f"Player {seat + 1}") for seat in range(game.players))
    file.write(f"EFG 2 R {_quoted(title)} {{ {players} }}\n\n")
    events = 0
    infosets: dict[tuple[int, Hashable], tuple[tuple[Action, ...], str]] = {}
    counts = [0] * game.players
    used: set[tuple[int, str]] = set()
    outcomes: dict[tuple[str, ...], int] = {}
    stack = [game.root()]
    while stack:
        state = stack.pop()
        turn = game.turn(state)
        if turn == TERMINAL:
            payoffs = tuple(map(_payoff, game.payoff(state)))
            number = outcomes.setdefault(payoffs, len(outcomes) + 1)
            file.write(f't "" {number} "" {{ {", ".join(payoffs)} }}\n')
            continue
        actions: tuple[Action, ...]
        if turn == CHANCE:
            events += 1
            listed = game.chance(state)
            actions = tuple(outcome for outcome, _ in listed)
            odds = _exact([p for _, p in listed])
            pairs = " ".join(f"{_quoted(n)} {p}" for n, p in zip(_distinct(actions), odds, strict=True))
            file.write(f'c "" {events} "" {{ {pairs} }} 0\n')
        else:
            infoset = game.infoset(state)
            actions = tuple(game.actions(state))
            if (turn, infoset) not in infosets:
                counts[turn] += 1
                name = _plain(infoset)
                if (turn, name) in used:  # two that differ only in what Gambit does not allow
                    name = f"{name} #{counts[turn]}"
                used.add((turn, name))
                names = " ".join(map(_quoted, _distinct(actions)))
                infosets[turn, infoset] = actions, f"{turn + 1} {counts[turn]} {_quoted(name)} {{ {names} }}"
            first, described = infosets[turn, infoset]
            if first != actions:
                raise GameError(f"infoset {infoset!r} of seat {turn} has actions {first} and {actions}")
            file.write(f'p "" {described} 0\n')
        stack.extend(game.after(state, action) for action in reversed(actions))


def _plain(value: Any) -> str:
    """A name as Gambit allows it. Its reader garbles backslashes, so there are none."""
    text = " ".join(str(value).replace("\\", "/").split())
    text = text.encode("ascii", "xmlcharrefreplace").decode()
    return "".join(char if char.isprintable() else "?" for char in text)


def _quoted(value: Any) -> str:
    return '"' + _plain(value).replace('"', '\\"') + '"'


def _distinct(actions: Sequence[Action]) -> list[str]:
    """The actions' names, told apart by their numbers where Gambit's alphabet would make two the same."""
    names = [_plain(action) for action in actions]
    if all(names) and len(set(names)) == len(names):
        return names
    return [f"{i}: {name}".strip() for i, name in enumerate(names, 1)]


def _exact(odds: Sequence[float]) -> list[Fraction]:
    """Fractions that sum to exactly one: simple ones (1/3) where they fit, else the floats over their sum."""
    if not odds or not all(0 < p <= 1 for p in odds) or abs(sum(odds) - 1) > 1e-6:
        raise GameError(f"chance probabilities {list(odds)} are not above 0 with sum 1")
    simple = [Fraction(p).limit_denominator(1_000_000) for p in odds]
    if sum(simple) == 1 and all(abs(s - Fraction(p)) <= 1e-12 * p for s, p in zip(simple, odds, strict=True)):
        return simple
    values = [Fraction(p) for p in odds]
    return [value / sum(values) for value in values]


def _payoff(value: float) -> str:
    """A payoff such that the same float is read back: an integer, a simple fraction, or a decimal."""
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError):
        raise GameError(f"a payoff of {value} cannot be written") from None
    simple = exact.limit_denominator(1_000)
    return str(simple) if float(simple) == value else format(Decimal(repr(float(value))), "f")
