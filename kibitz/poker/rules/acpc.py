"""The .game files of the Annual Computer Poker Competition: what a poker game's deck, blinds and bets are.

    GAMEDEF
    limit                        # or nolimit
    numPlayers = 2
    numRounds = 4
    blind = 10 5                 # by seat; an ante is the same blind for everybody
    raiseSize = 10 10 20 20      # by round, in limit games
    firstPlayer = 2 1 1 1        # by round, from 1; left out: 1
    maxRaises = 3 4 4 4          # bets and raises in a round, without the blinds; left out: 255
    stack = 1000 1000            # by seat; left out in limit games: without end
    numSuits = 4
    numRanks = 13
    numHoleCards = 2
    numBoardCards = 0 3 1 1      # cards turned before each round
    betSizes = 0.5 1 allin       # ours, without limit: the only bets there are, in pots; left out: every size
    END GAMEDEF

A line has a key and its numbers, with or without "="; small and capital letters are alike, and "#" begins a comment.
`read` takes a file's path or the name of a game that comes with kibitz. Where the competition's own reader passes over
what it does not know and numbers too many, this one says what is wrong and in which line.

A deck of fewer cards has the highest ranks and the first of the suits c d h s.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kibitz.core.errors import GameError

FOLDER = Path(__file__).parent / "definitions"
NO_CAP = 255  # raises in a round where the file names no cap
RANKED = (1, 2, 3, 5, 6, 7)  # numbers of cards that have a ranking: see kibitz.poker.rules.rules.strength
MOST_CHIPS = 2**31 - 1
MOST_CHARACTERS = 100_000
ALL_IN = "allin"  # of sizes of bets; as a number without end
MOST_SIZES_NAMED, LEAST_SIZE, MOST_SIZE = 20, 0.01, 1000.0  # of a list of bets, in pots
# What the numbers of a definition are from and to, where they are not sizes of bets.
_RANGES = {"players": (2, 10), "rounds": (1, 4), "suits": (1, 4), "ranks": (1, 13), "hole": (1, 7)}


class _Wrong(GameError):
    """A definition that cannot be: which field, and why."""

    def __init__(self, name: str, field: str, why: str) -> None:
        super().__init__(f"the poker game {name or 'without a name'}: {why}")
        self.field = field
        self.why = why


@dataclass(frozen=True)
class Definition:
    """What a .game file says. Seats are counted from 0 here; in files from 1."""

    limit: bool
    players: int
    rounds: int
    stacks: tuple[int, ...] | None  # by seat; None is without end, in limit games alone
    blinds: tuple[int, ...]  # by seat
    raise_size: tuple[int, ...]  # by round; empty without limit
    first_player: tuple[int, ...]  # by round
    max_raises: tuple[int, ...]  # by round
    suits: int
    ranks: int
    hole: int
    board: tuple[int, ...]  # cards turned before each round
    name: str = ""
    bets: tuple[float, ...] = ()  # without limit: the only sizes of bets, in pots; infinite is all in; empty: every one

    def __post_init__(self) -> None:
        for field in ("blinds", "raise_size", "first_player", "max_raises", "board", "bets"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if self.stacks is not None:
            object.__setattr__(self, "stacks", tuple(self.stacks))
        if wrong := _fault(self):
            raise _Wrong(self.name, *wrong)

    @property
    def deck(self) -> tuple[int, ...]:
        """The numbers of its cards, as in kibitz.cards: rank * 4 + suit."""
        return tuple(4 * rank + suit for rank in range(13 - self.ranks, 13) for suit in range(self.suits))

    @property
    def shown(self) -> int:
        """How many cards make a hand at the showdown."""
        return self.hole + sum(self.board)


# Key in a file -> (field, what its numbers are counted by).
_KEYS = {
    "numplayers": ("players", "one"),
    "numrounds": ("rounds", "one"),
    "stack": ("stacks", "seat"),
    "blind": ("blinds", "seat"),
    "raisesize": ("raise_size", "round"),
    "firstplayer": ("first_player", "round"),
    "maxraises": ("max_raises", "round"),
    "numsuits": ("suits", "one"),
    "numranks": ("ranks", "one"),
    "numholecards": ("hole", "one"),
    "numboardcards": ("board", "round"),
    "betsizes": ("bets", "size"),
}
_SPELLED = ("numPlayers", "numRounds", "stack", "blind", "raiseSize", "firstPlayer", "maxRaises", "numSuits",
            "numRanks", "numHoleCards", "numBoardCards", "betSizes")  # fmt: skip
_SPELLING = {key.lower(): key for key in _SPELLED}
_KEY_OF = {field: key for key, (field, _) in _KEYS.items()}


def shipped() -> list[str]:
    """The names of the games that come with kibitz."""
    return sorted(path.name.removesuffix(".game") for path in FOLDER.glob("*.game"))


def read(source: str | Path) -> Definition:
    """The definition in a file, or of a game that comes with kibitz: read("leduc"), read("my/own.game")."""
    text = str(source)
    path = Path(text)
    if not text.endswith(".game"):
        names = shipped()
        if text not in names:
            near = difflib.get_close_matches(text, names, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise GameError(
                f"there is no poker game {text!r}: {hint}known are {', '.join(names)}; a file's path ends in .game"
            )
        path = FOLDER / f"{text}.game"
    try:
        with path.open("rb") as file:
            data = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise GameError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_CHARACTERS:
        raise GameError(f"{path} is longer than {MOST_CHARACTERS:,} bytes: it is not a .game file")
    try:
        return parse(data.decode(), path)
    except UnicodeDecodeError as error:
        raise GameError(f"{path} is not text: byte {error.start} is not UTF-8; is it a .game file?") from error


def parse(text: str, where: str | Path = "") -> Definition:
    """The definition in a text. where: the file it is from, for the name and for what is said of mistakes."""
    place = str(where) or "a .game text"
    betting: bool | None = None
    fields: dict[str, tuple[int, ...]] = {}
    bets: tuple[float, ...] = ()
    line_of: dict[str, int] = {}
    begun = ended = False

    def fail(number: int, why: str) -> GameError:
        return GameError(f"{place}, line {number}: {why}")

    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].replace("=", " ").split()
        if not words:
            continue
        key = words[0].lower()
        if ended:
            raise fail(number, f"there is {line.strip()!r} after END GAMEDEF; a file holds one game")
        if [word.lower() for word in words] == ["gamedef"]:
            if begun:
                raise fail(number, "GAMEDEF is given twice")
            begun = True
        elif not begun:
            raise fail(number, f"a .game file begins with GAMEDEF, not with {line.strip()!r}")
        elif [word.lower() for word in words] == ["end", "gamedef"]:
            ended = True
        elif key in ("limit", "nolimit"):
            if len(words) > 1:
                raise fail(number, f"{key} stands alone on its line, without {' '.join(words[1:])!r}")
            if betting is not None:
                raise fail(number, "limit or nolimit is given twice")
            betting = key == "limit"
        elif key not in _KEYS:
            near = difflib.get_close_matches(key, [*_KEYS, "limit", "nolimit"], n=1)
            hint = f"; did you mean {_SPELLING.get(near[0], near[0])}?" if near else ""
            raise fail(number, f"unknown key {words[0]!r}{hint}")
        else:
            if key in line_of:
                raise fail(number, f"{_SPELLING[key]} is given twice, first in line {line_of[key]}")
            line_of[key] = number
            if key == "betsizes":
                try:
                    bets = sizes_of(words[1:])
                except ValueError as error:
                    raise fail(number, f"betSizes: {error}") from None
                if not bets:
                    raise fail(number, "betSizes names no size: leave it out for bets of every size")
                continue
            for word in words[1:]:
                if not (word.isascii() and word.isdigit() and len(word) <= 10 and int(word) <= MOST_CHIPS):
                    raise fail(number, f"{_SPELLING[key]}: {word[:40]!r} is not a number from 0 to {MOST_CHIPS:,}")
            fields[_KEYS[key][0]] = tuple(int(word) for word in words[1:])
    if not begun or not ended:
        raise fail(max(number, 1), f"the text ends without {'END GAMEDEF' if begun else 'GAMEDEF'}")
    if betting is None:
        raise fail(number, "neither limit nor nolimit is given")

    lines = {_KEYS[key][0]: line for key, line in line_of.items()}
    needed = ["players", "rounds", "blinds", "suits", "ranks", "hole", "board", "raise_size" if betting else "stacks"]
    for field in needed:
        if field not in fields:
            why = f"{_SPELLING[_KEY_OF[field]]} is missing"
            raise fail(number, why + (": without limit, bets end with the stacks" if field == "stacks" else ""))
    single: dict[str, int] = {}
    for field in ("players", "rounds", "suits", "ranks", "hole"):
        if len(fields[field]) != 1:
            raise fail(lines[field], f"{_SPELLING[_KEY_OF[field]]} is one number, not {len(fields[field])}")
        single[field] = fields.pop(field)[0]
        low, high = _RANGES[field]
        if not low <= single[field] <= high:  # before anything is made of that many parts
            raise fail(lines[field], f"{_SPELLING[_KEY_OF[field]]} should be {low} to {high}, not {single[field]}")
    rounds = single["rounds"]
    first = fields.get("first_player", (1,) * rounds)
    if 0 in first:
        raise fail(lines["first_player"], "firstPlayer counts players from 1, so 0 is not a player")
    try:
        return Definition(
            betting, single["players"], rounds, fields.get("stacks"), fields["blinds"], fields.get("raise_size", ()),
            tuple(seat - 1 for seat in first), fields.get("max_raises", (NO_CAP,) * rounds),
            single["suits"], single["ranks"], single["hole"], fields["board"],
            Path(where).name.removesuffix(".game") if where else "", bets,
        )  # fmt: skip
    except _Wrong as wrong:
        raise fail(lines.get(wrong.field, number), wrong.why) from None


def sizes_of(words: Sequence[object]) -> tuple[float, ...]:
    """Sizes of bets, in pots: numbers, or their texts, and allin. A ValueError says what is wrong."""
    sizes: list[float] = []
    for word in words:
        text = word if isinstance(word, str) else repr(word)
        if text == ALL_IN or (isinstance(word, float) and math.isinf(word)):
            sizes.append(math.inf)
        elif not isinstance(word, bool) and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{0,6})?|\.[0-9]{1,6}", text):
            sizes.append(float(text))
        else:
            raise ValueError(f"{text[:40]!r} is no size of a bet, which is a number of pots, as 0.5, or {ALL_IN}")
    return tuple(sizes)


def size_text(size: float) -> str:
    """A size of bets as it is written."""
    return ALL_IN if math.isinf(size) else f"{size:.6f}".rstrip("0").rstrip(".")


def _fault(game: Definition) -> tuple[str, str] | None:
    """(field, what is wrong with it) of a definition; None if nothing is."""

    def outside(field: str, low: int, high: int) -> tuple[str, str] | None:
        key = _SPELLING[_KEY_OF[field]]
        value = getattr(game, field)
        values: Sequence[int] = (value,) if isinstance(value, int) else value
        for each in values:
            if not low <= each <= high:
                return field, f"{key} should be {low} to {high:,}, not {each}"
        return None

    for field, (low, high) in _RANGES.items():
        if wrong := outside(field, low, high):
            return wrong
    counted = [("blinds", game.players, "player"), ("first_player", game.rounds, "round")]
    counted += [("max_raises", game.rounds, "round"), ("board", game.rounds, "round")]
    if game.stacks is not None:
        counted.append(("stacks", game.players, "player"))
    elif not game.limit:
        return "stacks", "stack is missing: without limit, bets end with the stacks"
    if game.limit:
        counted.append(("raise_size", game.rounds, "round"))
    elif game.raise_size:
        return "raise_size", "raiseSize is for limit games: without limit a raise has any size"
    if game.bets and (wrong := _wrong_sizes(game)):
        return wrong
    for field, count, per in counted:
        if len(getattr(game, field)) != count:
            key, there = _SPELLING[_KEY_OF[field]], len(getattr(game, field))
            return field, f"{key} needs a number for each {per}, {count} in all; there {_are(there)}"
    for seat in game.first_player:
        if not 0 <= seat < game.players:
            return "first_player", f"firstPlayer is one of 1 to {game.players}, not {seat + 1}"
    for field, low, high in [("blinds", 0, MOST_CHIPS), ("raise_size", 1, MOST_CHIPS), ("max_raises", 0, NO_CAP)]:
        if wrong := outside(field, low, high):
            return wrong
    if game.stacks is not None:
        if wrong := outside("stacks", 1, MOST_CHIPS):
            return wrong
        for seat, (blind, stack) in enumerate(zip(game.blinds, game.stacks, strict=True)):
            if blind > stack:
                return "blinds", f"the blind of player {seat + 1}, {blind}, is more than the stack of {stack}"
        if game.limit and (wrong := _short_stacks(game, game.stacks)):
            return wrong
    if wrong := outside("board", 0, 52):
        return wrong
    needed, there = game.players * game.hole + sum(game.board), game.suits * game.ranks
    if needed > there:
        return "board", f"{needed} cards are dealt, but numSuits and numRanks make a deck of {there}"
    if game.shown not in RANKED:
        return "board", (
            f"a hand at the showdown has {game.shown} cards, of which there is no ranking: "
            "numHoleCards and numBoardCards should come to 1, 2, 3, 5, 6 or 7"
        )
    return None


def _short_stacks(game: Definition, stacks: tuple[int, ...]) -> tuple[str, str] | None:
    """Limit games in which somebody may have to answer a bet with fewer chips than it, while another can still bet.

    The competition's dealer asks only whether raises are left, and takes the raise of such a seat for a new bet of all
    its chips: less than the bet, of which the others need no longer pay the rest. No poker is played so, and the limit
    games of the competition are without stacks, so there is no saying what such a file means. Two with the same stack
    are never in that place, nor are stacks that last for every raise.
    """
    most = max(game.blinds) + sum(size * count for size, count in zip(game.raise_size, game.max_raises, strict=True))
    if min(stacks) >= most or (game.players == 2 and stacks[0] == stacks[1]):
        return None
    return "stacks", (
        f"a stack of {min(stacks)} is too small for every raise, after which a player may have put in {most:,}: the "
        "competition's dealer then lowers bets of limit games; leave stack out, give larger ones or fewer maxRaises"
    )


def _wrong_sizes(game: Definition) -> tuple[str, str] | None:
    """What is wrong with a list of bets."""
    if game.limit:
        return "bets", "betSizes is for games without limit: with one a raise has the round's size"
    if len(game.bets) > MOST_SIZES_NAMED:
        return "bets", f"betSizes has at most {MOST_SIZES_NAMED} sizes, not {len(game.bets)}"
    for size in game.bets:
        if not (LEAST_SIZE <= size <= MOST_SIZE or size == math.inf):
            return "bets", f"betSizes should be {LEAST_SIZE:g} to {MOST_SIZE:,.0f} pots or {ALL_IN}, not {size:g}"
    if sorted(set(game.bets)) != list(game.bets):
        return "bets", f"betSizes go up, each once, with {ALL_IN} last: not {' '.join(map(size_text, game.bets))}"
    return None


def _are(count: int) -> str:
    return f"is {count}" if count == 1 else f"are {count}"


def write(definition: Definition) -> str:
    """The text of a .game file. What has its default is left out, as the competition's own writer does."""
    game = definition
    lines = ["GAMEDEF", "limit" if game.limit else "nolimit"]

    def line(field: str, values: Sequence[int]) -> None:
        lines.append(f"{_SPELLING[_KEY_OF[field]]} = {' '.join(map(str, values))}")

    line("players", [game.players])
    line("rounds", [game.rounds])
    if game.stacks is not None:
        line("stacks", game.stacks)
    line("blinds", game.blinds)
    if game.limit:
        line("raise_size", game.raise_size)
    if any(game.first_player):
        line("first_player", [seat + 1 for seat in game.first_player])
    if any(most != NO_CAP for most in game.max_raises):
        line("max_raises", game.max_raises)
    line("suits", [game.suits])
    line("ranks", [game.ranks])
    line("hole", [game.hole])
    line("board", game.board)
    if game.bets:
        lines.append(f"{_SPELLING[_KEY_OF['bets']]} = {' '.join(map(size_text, game.bets))}")
    return "\n".join([*lines, "END GAMEDEF", ""])
