"""Spots in the web interface: what a form asks is solved in a thread, and its decisions are answered by line.

One spot is solved at a time; others wait. A person may stop a solve, and keeps what it has. Solved spots stay in memory
until newer ones need the place. Spots that are saved in the folder are opened when they are first asked for. A page
that follows a solve polls it. Kinds of spots are in `spot_kinds.py`, their decisions in `spot_nodes.py`, and hands
against a solved spot in `spot_hands.py`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from kibitz.core.errors import GameError, KibitzError
from kibitz.poker.spots.solution import SpotSolution
from kibitz.web.errors import Busy, Missing
from kibitz.web.library import Entry, Library
from kibitz.web.spot_hands import SpotHand
from kibitz.web.spot_kinds import MOST_SECONDS, SpotKind, WebProgress, WebWork, asked, number_asked, opened

MOST_SPOTS = 12  # in memory
MOST_WAITING = 4  # that are being solved or wait for it
MOST_POINTS = 400  # of a curve
UNTIL, SECONDS = 0.005, 120.0


@dataclass(eq=False)
class WebSpot:
    """A spot that a person asked for, and how far it is."""

    id: str
    question: SpotKind
    until: float
    seconds: float
    estimate: dict[str, Any]
    state: str = "waiting"  # waiting, solving, solved, failed
    why: str = ""
    phase: str = ""
    points: list[list[float | None]] = field(default_factory=list)  # iterations, seconds, exploitability
    solution: Any = None
    stop: threading.Event = field(default_factory=threading.Event)  # the person wants no more iterations
    changed: float = 0.0  # of a saved one: when its file was last written
    began: float = field(default_factory=time.time)
    nodes: OrderedDict[str, Any] = field(default_factory=OrderedDict)  # those asked for last
    lock: threading.Lock = field(default_factory=threading.Lock)  # one request at a time
    play: SpotHand | None = None

    def line(self) -> dict[str, Any]:
        """What a list of spots says of it."""
        return {"id": self.id, "kind": self.question.kind, "title": self.question.title(),
                "board": self.question.board(), "state": self.state,
                "exploitability": self.points[-1][2] if self.points else None}  # fmt: skip

    def data(self) -> dict[str, Any]:
        """All but its decisions."""
        points = self.points if len(self.points) <= MOST_POINTS else self.points[:: -(-len(self.points) // MOST_POINTS)]
        said = self.question.written()
        data = {**self.line(), "why": self.why, "until": self.until, "seconds": self.seconds, "points": points,
                "phase": self.phase, "target": self.question.target, "players": self.question.players(),
                "estimate": self.estimate, "spot": said, "texts": said.get("ranges", []),
                "stopped": self.state == "solved" and self.stop.is_set()}  # fmt: skip
        if self.solution is not None:
            data |= self.question.known(self.solution)
        return data

    def solved(self) -> Any:
        if self.solution is None:
            raise GameError(f"this spot is not solved: {self.why}" if self.why else "this spot is still being solved")
        return self.solution

    def playable(self) -> SpotSolution:
        """The solution, to play hands against it."""
        if self.question.kind != "two":
            raise GameError("hands are played against spots of two players")
        return self.solved()  # type: ignore[no-any-return]

    def at(self, line: str) -> Any:
        """A decision, or where cards come or the hand is over."""
        key = " ".join(line.split())
        if key not in self.nodes:
            self.nodes[key] = self.solved().at(line)
            while len(self.nodes) > 24:
                self.nodes.popitem(last=False)
        self.nodes.move_to_end(key)
        return self.nodes[key]


class WebSpots:
    """The spots of a server."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._spots: OrderedDict[str, WebSpot] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # who holds it is solved

    def lines(self) -> list[dict[str, Any]]:
        with self._lock:
            return [spot.line() for spot in reversed(self._spots.values()) if not spot.changed]

    def saved(self) -> list[dict[str, Any]]:
        """What the folder has. Files are not trusted: what they say of themselves is shortened."""
        lines = []
        for entry in self.library.spots():
            said = entry.meta.get("spot")
            board = str(said.get("board", "")) if isinstance(said, dict) else ""
            lines.append({"id": entry.id, "name": entry.name, "kind": entry.kind, "board": board[:40]})
        return lines

    def spot(self, id: str) -> WebSpot:
        entry = next((entry for entry in self.library.spots() if entry.id == id), None)
        with self._lock:
            known = self._spots.get(id)
        if entry is not None and (known is None or known.changed != entry.changed):
            known = self._opened(entry)
        if known is None:
            raise Missing("there is no such spot; the server forgets those that are not saved when it stops")
        return known

    def _opened(self, entry: Entry) -> WebSpot:
        assert entry.path is not None
        question, solution = opened(entry.kind, entry.path)
        spot = WebSpot(entry.id, question, UNTIL, SECONDS, {}, "solved", solution=solution, changed=entry.changed)
        spot.points.append([float(solution.iterations), solution.seconds, question.known(solution)["exploitability"]])
        self._keep(spot)
        return spot

    def _keep(self, spot: WebSpot) -> None:
        """Put a spot into memory, in place of older ones."""
        with self._lock:
            under_way = [each for each in self._spots.values() if each.state in ("waiting", "solving")]
            if spot.solution is None and len(under_way) >= MOST_WAITING:
                raise Busy(f"{len(under_way)} spots are being solved: stop one of them, or wait")
            for each in list(self._spots.values()):
                if len(self._spots) >= MOST_SPOTS and each not in under_way:
                    del self._spots[each.id]
            self._spots[spot.id] = spot

    def open(self, message: dict[str, Any]) -> WebSpot:
        """Read what a form asks, and begin to solve it."""
        question = asked(message)
        until = number_asked(message, "until", UNTIL, 1e-6, 1.0)
        seconds = number_asked(message, "seconds", SECONDS, 1.0, MOST_SECONDS)
        spot = WebSpot(secrets.token_urlsafe(9), question, until, seconds, question.size())
        self._keep(spot)
        threading.Thread(target=self._solve, args=(spot,), daemon=True, name="spot").start()
        return spot

    def stop(self, id: str) -> WebSpot:
        """End a solve, and keep what it has."""
        spot = self.spot(id)
        if spot.state in ("waiting", "solving"):
            spot.stop.set()
        return spot

    def close(self, id: str) -> None:
        """Stop a solve and forget the spot."""
        self.spot(id).stop.set()
        with self._lock:
            self._spots.pop(id, None)

    def _solve(self, spot: WebSpot) -> None:
        with self._turn:
            if spot.stop.is_set():
                spot.state, spot.why = "failed", "it was stopped before it began"
                return
            spot.state, began = "solving", time.perf_counter()

            def say(now: WebProgress) -> bool:
                spot.phase = now.phase
                spot.points.append([float(now.iterations), time.perf_counter() - began, now.exploitability])
                return spot.stop.is_set()

            try:
                done = spot.question.solve(WebWork(spot.until, spot.seconds, say, spot.stop.is_set))
                known = spot.question.known(done)["exploitability"]
                spot.solution = done
                spot.points.append([float(done.iterations), done.seconds, known])
                spot.state = "solved"
            except (KibitzError, MemoryError) as error:
                spot.state, spot.why = "failed", str(error) or "there is not enough memory"
            except BaseException:
                spot.state, spot.why = "failed", "the server failed; the terminal where it runs shows the error"
                raise
