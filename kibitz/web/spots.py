"""Spots in the web interface: what a form asks is solved in a thread, and its decisions are answered by line.

One spot is solved at a time; others wait. A person may stop a solve, and keeps what it has. Solved spots stay in memory
until newer ones need the place. Spots that are saved in the folder are opened when they are first asked for. A page
that follows a solve polls it. Hands against a solved spot are in `spot_hands.py`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import name
from kibitz.cards.ranges import hand_cards, parse_range
from kibitz.core.errors import GameError, KibitzError
from kibitz.poker.spots.estimates import SpotEstimate, check_size, estimate_of
from kibitz.poker.spots.reading import spot as spot_of
from kibitz.poker.spots.reading import written
from kibitz.poker.spots.saved import load_spot
from kibitz.poker.spots.solution import SpotNode, SpotSolution
from kibitz.poker.spots.solving import SpotProgress, solve_spot
from kibitz.poker.spots.spot import PLAYERS, Spot, betting_of
from kibitz.poker.spots.tables import action_means, grid_of_hands, hand_names
from kibitz.web.errors import Busy, Missing, Wrong
from kibitz.web.library import Entry, Library
from kibitz.web.spot_hands import SpotHand

Floats = NDArray[np.float64]
MOST_SPOTS = 12  # in memory
MOST_WAITING = 4  # that are being solved or wait for it
MOST_SECONDS = 3600.0
MOST_POINTS = 400  # of a curve
UNTIL, SECONDS = 0.005, 120.0
TEXTS = ("board", "bets", "raises", "donks", "prizes", "others", "max_raises")
NUMBERS = ("pot", "stacks", "rake", "rake_cap", "dead", "force_allin", "add_allin", "merge", "min_bet", "chip")
KINDS = ("high card", "pair", "two pairs", "three of a kind", "straight", "flush", "full house", "four of a kind",
         "straight flush")  # fmt: skip
FLUSH_DRAW = "flush draw"


@dataclass(eq=False)
class WebSpot:
    """A spot that a person asked for, and how far it is."""

    id: str
    spot: Spot
    until: float
    seconds: float
    estimate: dict[str, Any]
    state: str = "waiting"  # waiting, solving, solved, failed
    why: str = ""
    points: list[list[float]] = field(default_factory=list)  # iterations, seconds, exploitability
    solution: SpotSolution | None = None
    stop: threading.Event = field(default_factory=threading.Event)  # the person wants no more iterations
    changed: float = 0.0  # of a saved one: when its file was last written
    began: float = field(default_factory=time.time)
    nodes: OrderedDict[str, SpotNode] = field(default_factory=OrderedDict)  # those asked for last
    lock: threading.Lock = field(default_factory=threading.Lock)  # one request at a time
    play: SpotHand | None = None

    def title(self) -> str:
        spot = self.spot
        board = "".join(name(card) for card in spot.board)
        return f"{board}, pot {spot.pot:g}, {spot.stack:g} behind"

    def line(self) -> dict[str, Any]:
        """What a list of spots says of it."""
        return {"id": self.id, "title": self.title(), "board": [name(card) for card in self.spot.board],
                "state": self.state, "exploitability": self.points[-1][2] if self.points else None}  # fmt: skip

    def data(self) -> dict[str, Any]:
        """All but its decisions."""
        points = self.points if len(self.points) <= MOST_POINTS else self.points[:: -(-len(self.points) // MOST_POINTS)]
        data = {**self.line(), "why": self.why, "until": self.until, "seconds": self.seconds, "points": points,
                "estimate": self.estimate, "spot": written(self.spot), "texts": list(self.spot.texts),
                "stopped": self.state == "solved" and self.stop.is_set()}  # fmt: skip
        if self.solution is not None:
            data["values"] = self.solution.values.tolist()
        return data

    def solved(self) -> SpotSolution:
        if self.solution is None:
            raise GameError(f"this spot is not solved: {self.why}" if self.why else "this spot is still being solved")
        return self.solution

    def at(self, line: str) -> SpotNode:
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
            lines.append({"id": entry.id, "name": entry.name, "board": board[:40]})
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
        solution = load_spot(entry.path)
        size = estimate_of(solution.spot, solution.tree)
        opened = WebSpot(entry.id, solution.spot, UNTIL, SECONDS, _size(size), "solved", solution=solution,
                         changed=entry.changed)  # fmt: skip
        opened.points.append([float(solution.iterations), solution.seconds, solution.exploitability])
        self._keep(opened)
        return opened

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
        spot = spot_asked(message)
        until = number_asked(message, "until", UNTIL, 1e-6, 1.0)
        seconds = number_asked(message, "seconds", SECONDS, 1.0, MOST_SECONDS)
        size = check_size(spot, betting_of(spot))
        asked = WebSpot(secrets.token_urlsafe(9), spot, until, seconds, _size(size))
        self._keep(asked)
        threading.Thread(target=self._solve, args=(asked,), daemon=True, name="spot").start()
        return asked

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

    def _solve(self, asked: WebSpot) -> None:
        def on_progress(now: SpotProgress) -> None:
            asked.points.append([float(now.iterations), now.seconds, now.exploitability])

        with self._turn:
            if asked.stop.is_set():
                asked.state, asked.why = "failed", "it was stopped before it began"
                return
            asked.state = "solving"
            try:
                done = solve_spot(asked.spot, until=asked.until, seconds=asked.seconds, on_progress=on_progress,
                                  stop=asked.stop.is_set)  # fmt: skip
                asked.solution = done
                asked.points.append([float(done.iterations), done.seconds, done.exploitability])
                asked.state = "solved"
            except (KibitzError, MemoryError) as error:
                asked.state, asked.why = "failed", str(error) or "there is not enough memory"
            except BaseException:
                asked.state, asked.why = "failed", "the server failed; the terminal where it runs shows the error"
                raise


def _size(size: SpotEstimate) -> dict[str, Any]:
    return {"nodes": size.nodes, "sequences": size.sequences, "bytes": size.bytes, "seconds": size.seconds}


# What a form asks


def spot_asked(message: dict[str, Any]) -> Spot:
    """A spot from the fields of a request. Their types are checked here; what they say, where texts are read."""
    ranges: Any = message.get("ranges")
    if not isinstance(ranges, list) or len(ranges) != 2 or not all(isinstance(each, str) for each in ranges):
        raise Wrong("ranges must be two texts: out of position first, then in position")
    fields: dict[str, Any] = {}
    for key, value in message.items():
        if key in ("ranges", "until", "seconds") or value is None or value == "":
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (isinstance(value, str) and key in (*TEXTS, *NUMBERS)) and not (is_number and key in NUMBERS):
            raise Wrong(f"{key[:40]!r} is not a field of a spot, or has a value of the wrong type")
        fields[key] = value
    if missing := [each for each in ("board", "pot", "stacks") if each not in fields]:
        raise Wrong(f"{missing[0]} is missing")
    return spot_of(ranges=ranges, **fields)


def number_asked(message: dict[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = message.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Wrong(f"{key} must be a number from {least:g} to {most:,g}")
    return float(value)


def range_data(text: str) -> dict[str, Any]:
    """A range as weights of the 169 classes of hands, for the editor."""
    weights = parse_range(text).weights if text.strip() else np.zeros(1326)
    cell, texts = grid_of_hands()
    count = np.bincount(cell, minlength=169)
    mean = np.bincount(cell, weights, 169) / count
    low, high = np.full(169, np.inf), np.full(169, -np.inf)
    np.minimum.at(low, cell, weights)
    np.maximum.at(high, cell, weights)
    return {"weights": dict(zip(texts, mean.round(4).tolist(), strict=True)),
            "mixed": [texts[k] for k in np.flatnonzero(high - low > 1e-9)],  # classes whose hands differ
            "hands": float(weights.sum()), "share": float(weights.sum() / 1326)}  # fmt: skip


# Answers


def node_data(node: SpotNode) -> dict[str, Any]:
    """A decision as the page shows it: both players' hands by name, and what the player to act does with each."""
    means = zip(node.actions, node.frequencies, action_means(node), strict=True)
    actions = [{"name": action, "share": float(share), "value": _plain(value)} for action, share, value in means]
    kind = "end" if node.is_over else "chance" if node.player is None else "decision"
    return {
        "line": node.line, "steps": _steps(node), "kind": kind, "seat": node.turn if node.player else None,
        "player": node.player, "board": [name(card) for card in node.board], "pot": node.pot,
        "paid": node.paid.tolist(), "reach": node.reach, "values": _rounded(node.mean_values),
        "equities": _rounded(node.mean_equities), "gains": _rounded(node.gains), "actions": actions,
        "cards": [name(card) for card in node.cards], "players": [_hands(node, seat) for seat in (0, 1)],
    }  # fmt: skip


def _steps(node: SpotNode) -> list[dict[str, Any]]:
    """The line, step by step, with who acted."""
    steps, here = [], node.solution.at()
    for word in node.line.split(", ") if node.line else ():
        seat = here.turn if here.player else -1
        here = here.after(word)
        steps.append({"word": word, "seat": seat, "line": here.line})
    return steps


def _hands(node: SpotNode, seat: int) -> dict[str, Any]:
    """A player's hands here, as columns: name, kind, how likely, equity, value, and what they do."""
    weights = node.weights[seat]
    here = np.flatnonzero(weights > 0)[::-1]
    texts, cell = hand_names(), grid_of_hands()
    columns: dict[str, Any] = {
        "player": PLAYERS[seat], "hands": [texts[hand] for hand in here],
        "classes": [cell[1][cell[0][hand]] for hand in here], "kinds": kinds_of(node.board)[here].tolist(),
        "shares": _rounded(weights[here] / max(float(weights.sum()), 1e-300), 7),
        "equities": _rounded(node.equities[seat][here]), "values": _rounded(node.values[seat][here]),
    }  # fmt: skip
    if node.turn == seat:
        columns["strategy"] = [_rounded(row[here]) for row in node.strategy]
        columns["action_values"] = [_rounded(row[here]) for row in node.action_values]
    return columns


@lru_cache(64)
def kinds_of(board: tuple[int, ...]) -> NDArray[np.str_]:
    """[1326]  what each hand makes with the board: the category of its best five cards, or a flush draw."""
    from kibitz.cards.ranking import category, evaluate

    cards = hand_cards()
    open_hands = ~np.isin(cards, board).any(axis=1)
    kinds = np.full(len(cards), "", dtype="<U16")
    whole = np.concatenate([cards[open_hands], np.tile(board, (int(open_hands.sum()), 1))], axis=1)
    ranks = np.asarray(evaluate(whole))
    kinds[open_hands] = [category(int(rank)) for rank in ranks]
    if len(board) < 5:
        suits = np.asarray([card % 4 for card in board])
        for suit in range(4):
            own = (cards % 4 == suit).sum(axis=1)
            draw = open_hands & (own > 0) & (own + int((suits == suit).sum()) == 4)
            kinds[draw & np.isin(kinds, KINDS[:2])] = FLUSH_DRAW
    return kinds


def runouts(node: SpotNode) -> list[dict[str, Any]]:
    """What each card brings, where one comes: the mean values, equities and first actions after it."""
    cells = []
    for card in node.cards:
        after = node.after(name(card))
        if after.weights[0].sum() <= 0:
            continue
        cells.append({"card": name(card), "values": _rounded(after.first_values), "equities":
                      _rounded(after.mean_equities), "player": after.player,
                      "actions": list(after.actions), "shares": _rounded(after.frequencies)})  # fmt: skip
    return cells


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _rounded(numbers: Floats | Sequence[float], digits: int = 5) -> list[float | None]:
    return [round(float(each), digits) if np.isfinite(each) else None for each in numbers]
