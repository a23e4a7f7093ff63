"""The log of a match, in the competition's format, and its way back: a match that was killed goes on from its log.

    # kibitz dealer 1                          comments first: what the match is, and the rules of forfeits
    # game poker(file=leduc)
    # hands 3000
    # seed 5
    # players alice bob
    # seating duplicate
    # rule an invalid or late answer counts as a call ...
    STATE:0:rc/cc:Ac|Qd/Qc:-3|3:alice|bob      a line a hand, names by seat
    # late 1 bob no answer within 10 seconds   faults, before the line of their hand
    STATE:1:cc/rf:Qd|Ac/Qc:1|-1:bob|alice
    SCORE:-4|4:alice|bob                       when the match is over

Whatever follows the last whole line of a hand belongs to a hand that was not finished: it is cut off, and that hand is
played again.

Whoever writes a log holds a lock on it (flock), from before its first hand is read until it is closed: a second dealer
is refused. The lock goes with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from kibitz.evaluate.match import seatings_of
from kibitz.play.transcript import line_of as printable
from kibitz.poker.acpc.seats import RULES
from kibitz.poker.acpc.states import MOST_LINE, LoggedHand, ProtocolError, line_of, parse_played, parse_score
from kibitz.poker.acpc.states import written_played as hand_line
from kibitz.poker.acpc.states import written_score as score_line
from kibitz.poker.rules.rules import Poker

FIRST = "# kibitz dealer 1"
MOST_HANDS = 10_000_000  # of a match


@dataclass(frozen=True)
class MatchPlan:
    """What a match is."""

    game: str  # spec
    hands: int
    seed: int
    players: tuple[str, ...]
    duplicate: bool = False

    def __post_init__(self) -> None:
        seatings = len(seatings_of(len(self.players)))
        if not 1 <= self.hands <= MOST_HANDS:
            raise ProtocolError(f"a match has 1 to {MOST_HANDS:,} hands, not {self.hands}")
        if not 0 <= self.seed < 1 << 63:
            raise ProtocolError(f"the seed {self.seed} must be a whole number from 0")
        if self.duplicate and self.hands % seatings:
            raise ProtocolError(
                f"{self.hands} hands are no whole number of duplicate deals, of which each has {seatings}: "
                f"choose {self.hands + -self.hands % seatings}"
            )

    def place(self, hand: int) -> tuple[int, list[int]]:
        """(number of the deal, the player in each seat) of a hand.

        In a duplicate match each deal is played in all seatings, one after another, as in kibitz's own matches; else
        players move on by a seat after each hand.
        """
        count = len(self.players)
        if self.duplicate:
            seatings = seatings_of(count)
            return hand // len(seatings), [int(player) for player in seatings[hand % len(seatings)]]
        return hand, [(seat - hand) % count for seat in range(count)]

    def heading(self) -> list[str]:
        kind = "duplicate" if self.duplicate else "rotating"
        game = printable(self.game).encode("ascii", "backslashreplace").decode()  # perhaps a path
        return [
            FIRST, f"# game {game}", f"# hands {self.hands}", f"# seed {self.seed}",
            f"# players {' '.join(self.players)}", f"# seating {kind}", *(f"# rule {rule}" for rule in RULES),
        ]  # fmt: skip


@dataclass
class Record:
    """What a log says of a match so far."""

    hands: int = 0
    totals: list[float] = field(default_factory=list)  # by player
    late: dict[str, int] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)  # who gave up its seat, and why
    score: bool = False  # whether the match is over


class Log:
    """A file that grows by a line a hand; without a path nothing is written."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def line(self, text: str) -> None:
        """Write a line, so that it is there even if this process is killed the next moment."""
        if self._file is not None:
            self._file.write(text.encode("ascii", "backslashreplace") + b"\n")
            self._file.flush()

    def fault(self, kind: str, hand: int, name: str, why: str) -> None:
        self.line(f"# {kind} {hand} {name} {' '.join(why.split())[:300]}")

    def hand(self, played: LoggedHand) -> None:
        self.line(hand_line(played))

    def score(self, totals: Sequence[float], names: Sequence[str]) -> None:
        self.line(score_line(totals, names))

    def close(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)  # closing is not enough if a forked child holds it open
            self._file.close()
            self._file = None


def check_new(path: Path | None) -> None:
    if path is not None and os.path.lexists(path):
        raise ProtocolError(f"{path} is there already: go on with it by --resume, or choose another --log")


def begun(path: Path | None, plan: MatchPlan) -> Log:
    """A new log. A file that is there already is left alone."""
    check_new(path)
    if path is None:
        return Log(None)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = open(path, "xb")  # noqa: SIM115
    except FileExistsError:  # another dealer was quicker
        check_new(path)
        raise
    _lock(file, path)
    log = Log(file)
    log.line("\n".join(plan.heading()))
    return log


def seed_of(path: Path) -> int:
    """The seed that a log names."""
    with _opened(path) as file:
        for _ in range(20):
            key, _, said = (_line(file, path, 0) or "").partition(" ")[2].partition(" ")
            if key == "seed" and said.isdecimal() and len(said) < 20:
                return int(said)
    raise ProtocolError(f"{path} is no log of a match by kibitz: it names no seed")


def resumed(path: Path, plan: MatchPlan, rules: Poker, heard: Callable[[LoggedHand], None]) -> tuple[Log, Record]:
    """A log that is resumed, and what it says. heard: a callback with each hand, which raises if one is wrong."""
    file = _opened(path, "r+b")
    try:
        _lock(file, path)
        record, end = _record(file, path, plan, rules, heard)
        file.truncate(end)
        file.seek(end)
    except BaseException:
        file.close()
        raise
    return Log(file), record


def _record(
    file: BinaryIO, path: Path, plan: MatchPlan, rules: Poker, heard: Callable[[LoggedHand], None]
) -> tuple[Record, int]:
    """(what a log says, where its last whole hand ends)."""
    record = Record(totals=[0.0] * len(plan.players))
    for number, wanted in enumerate(plan.heading(), 1):
        heading = _line(file, path, number) or ""
        if heading != wanted:
            raise ProtocolError(
                f"{path}, line {number}, is of another match: there it reads {heading[:80]!a}, for this one "
                f"it would be {wanted[:80]!r}; repeat the options that it was begun with"
            )
    end = file.tell()
    faults: list[list[str]] = []
    while (text := _line(file, path, number := number + 1)) is not None:
        try:
            if text.startswith("# "):
                faults.append(text.split(" ", 4)[1:])
            elif text.startswith("SCORE:"):
                _ended(text, plan, record)
                record.score, end = True, file.tell()
            elif record.score:
                raise ProtocolError("there is more after the score")
            else:
                _again(parse_played(rules, text), plan, record, heard)
                _count(faults, record)
                faults, end = [], file.tell()
        except ProtocolError as error:
            raise ProtocolError(f"{path}, line {number}: {error}") from None
    return record, end


def _lock(file: BinaryIO, path: Path) -> None:
    """Refuse a log that another dealer writes. Where files cannot be locked, two dealers are the user's to avoid."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ProtocolError(
            f"{path} is written by another dealer, which still runs: wait until it has ended, or choose another --log"
        ) from None
    except OSError:
        pass


def _again(played: LoggedHand, plan: MatchPlan, record: Record, heard: Callable[[LoggedHand], None]) -> None:
    """A hand that was read, if it is the next of this match."""
    if record.hands >= plan.hands:
        raise ProtocolError(f"there are more than {plan.hands:,} hands")
    _, seating = plan.place(record.hands)
    names = tuple(plan.players[player] for player in seating)
    if played.hand != record.hands or played.names != names:
        raise ProtocolError(f"hand {record.hands} of {'|'.join(names)} should come here")
    heard(played)
    for player, value in zip(seating, played.values, strict=True):
        record.totals[player] += value
    record.hands += 1


def _count(faults: list[list[str]], record: Record) -> None:
    for kind, _, name, *why in (fault for fault in faults if len(fault) > 2):
        if kind == "late":
            record.late[name] = record.late.get(name, 0) + 1
        elif kind == "forfeit":
            record.gone[name] = " ".join(why) or "forfeited"


def _ended(text: str, plan: MatchPlan, record: Record) -> None:
    parse_score(text, len(plan.players))
    wanted = score_line(record.totals, plan.players)
    if record.hands != plan.hands or text != wanted:
        raise ProtocolError(f"the score after {record.hands:,} hands should be {wanted!r}")


def _opened(path: Path, mode: Literal["rb", "r+b"] = "rb") -> BinaryIO:
    if not path.is_file():
        raise ProtocolError(f"{path} is no log: leave out --resume to begin a match")
    return open(path, mode)


def _line(file: BinaryIO, path: Path, number: int) -> str | None:
    """The next whole line; None at the end, or where the last line has no end."""
    data = file.readline(MOST_LINE + 1)
    if not data.endswith(b"\n"):
        if len(data) > MOST_LINE:
            raise ProtocolError(f"{path}, line {number}, has more than {MOST_LINE:,} characters")
        return None
    try:
        return line_of(data)
    except ProtocolError as error:
        raise ProtocolError(f"{path}, line {number}: {error}") from None
