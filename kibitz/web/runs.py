"""Runs as the web interface shows them: convergence of NashConv, results of matches, convergence of tournaments, saved
strategies, and work in pieces that runs on this machine or is sent from it.

Of checkpoints and tournaments only the manifest is read. Logs of evaluations (`kibitz solve --log`) and results
(`kibitz crosstable --json`, `kibitz match --json`, `kibitz acpc serve --log`) are read as text, after a check of their
size. The files are not trusted: entries that are not numbers are ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, KibitzError
from kibitz.core.progress import running
from kibitz.evaluate.score import scored
from kibitz.web.library import FILES, STRATEGIES, Entry, Library

MOST_BYTES = 20_000_000  # of a file
MOST_POINTS = 600  # of a curve
MOST_NAMES = 40  # of a crosstable
DEALER = "# kibitz acpc serve"


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        finite = float(value)
    except OverflowError:  # a whole number that no float holds
        return None
    return finite if math.isfinite(finite) else None


def listed(library: Library) -> list[dict[str, Any]]:
    """One line for each run, the latest first. Files that kibitz did not write are ignored."""
    lines = []
    earlier, library.read = library.read, {}
    for entry in [*library.runs(), *(each for each in library.strategies() if each.kind in STRATEGIES)]:
        key = _state(entry)
        before = earlier.get(entry.id)
        if before is None or before[0] != key:  # clients ask every other second: what has not changed is not read
            try:
                before = key, run(entry)
            except KibitzError:
                before = key, None
        library.read[entry.id] = before
        read = before[1]
        if read is None:
            continue
        lines.append({key: read[key] for key in ("id", "name", "kind", "game", "about", "last", "changed")})
    return sorted([*lines, *map(_running, running())], key=lambda each: -each["changed"])


def _running(said: dict[str, Any]) -> dict[str, Any]:
    """A line for work in pieces that runs now: how far it is, where, and the time left."""
    done, of, left = (number(said.get(name)) or 0 for name in ("done", "of", "left"))
    parts = [f"{int(done):,} of {int(of):,} pieces", f"on {str(said.get('on', ''))[:80]}"]
    parts += [f"about {_duration(left)} left"] if left else []
    return {
        "id": f"running-{said['id']}", "name": str(said.get("command", ""))[:200], "kind": "pieces", "game": "",
        "about": ", ".join(parts), "last": None, "changed": said["changed"],
    }  # fmt: skip


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _state(entry: Entry) -> tuple[Any, ...]:
    """A value that changes when the run's file changes."""
    if entry.kind not in FILES or entry.path is None:
        return (entry.changed, id(entry.meta))
    try:
        at = entry.path.stat()
    except OSError:
        return ()
    return (at.st_mtime_ns, at.st_size)


def run(entry: Entry) -> dict[str, Any]:
    """One run, with its points or its table."""
    head = {"id": entry.id, "name": entry.name, "game": entry.game, "changed": entry.changed, "about": "", "last": None}
    artefacts = {"checkpoint": _checkpoint, "tournament": _tournament, **dict.fromkeys(STRATEGIES, _strategy)}
    if entry.kind in artefacts:
        return head | artefacts[entry.kind](entry)
    assert entry.path is not None
    text = store.read_bytes(entry.path, MOST_BYTES).decode("utf-8", "replace")
    return head | {".jsonl": _log, ".log": _dealt}.get(entry.kind, _result)(text)


# Curves


def thinned(points: list[list[float]]) -> list[list[float]]:
    """At most MOST_POINTS points of a curve, with the first and the last."""
    if len(points) <= MOST_POINTS:
        return points
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(k * step)] for k in range(MOST_POINTS)]


def _curve(rows: Iterable[tuple[Any, Any, Any]], until: Any = None, what: str = "NashConv") -> dict[str, Any]:
    """A curve of (iteration, seconds, NashConv or another distance). Rows that are not numbers are ignored."""
    numbers = (list(map(number, row)) for row in rows)
    points = [[x for x in row if x is not None] for row in numbers if None not in row]
    points = [row for row in points if what != "NashConv" or row[2] >= 0.0]
    last = points[-1] if points else None
    return {
        "kind": "curve", "points": thinned(points), "goal": number(until), "axes": ["iterations", "seconds", what],
        "last": None if last is None else {"iteration": last[0], "seconds": last[1], "gap": last[2]},
    }  # fmt: skip


def _checkpoint(entry: Entry) -> dict[str, Any]:
    meta = entry.meta
    looks = meta.get("looks")
    stop = meta.get("stop")
    rows = (
        [(*look[:3],) for look in looks if isinstance(look, list) and len(look) >= 3] if isinstance(looks, list) else []
    )
    return {
        "about": str(meta.get("solver", ""))[:200],
        **_curve(rows, stop.get("until") if isinstance(stop, dict) else None),
    }


def _strategy(entry: Entry) -> dict[str, Any]:
    """A saved strategy: its solver, its iterations and its NashConv, if known."""
    meta = entry.meta
    iterations, gap = number(meta.get("iterations")), number(meta.get("nash_conv"))
    how = str(meta.get("solver") or meta.get("abstraction") or "")[:200]
    parts = [entry.kind, how, "" if iterations is None else f"{int(iterations):,} iterations"]
    return {
        "kind": "strategy", "about": ", ".join(part for part in parts if part),
        "last": None if gap is None else {"iteration": iterations, "seconds": None, "gap": gap},
    }  # fmt: skip


def _log(text: str) -> dict[str, Any]:
    looks = []
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line that is being written
        if isinstance(said, dict) and {"iteration", "seconds"} <= said.keys():
            gap = said.get("nash_conv", said.get("gap"))  # version 0.1.0 wrote "gap"
            looks += [(said["iteration"], said["seconds"], gap)] if gap is not None else []
    if not looks:
        raise ArtefactError("this file is not the log of a run")
    return {"about": "log", **_curve(looks)}


def _tournament(entry: Entry) -> dict[str, Any]:
    """The change of the values in each iteration."""
    meta = entry.meta
    steps = meta.get("steps")
    listed = [step for step in steps if isinstance(step, list) and len(step) == 5] if isinstance(steps, list) else []
    known = [(step[4], step[2]) for step in listed if number(step[4]) is not None and number(step[2]) is not None]
    return {
        "about": str(meta.get("algorithm", ""))[:200], "game": str(meta.get("tournament", ""))[:200],
        **_curve([(k, *row) for k, row in enumerate(known, 1)], meta.get("tolerance"), "change"),
    }  # fmt: skip


# Tables


def _result(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise ArtefactError("this file is not a result of `kibitz crosstable` or `kibitz match`") from None
    if isinstance(said, dict) and isinstance(said.get("matrix"), list) and isinstance(said.get("names"), list):
        return _crosstable(said)
    if isinstance(said, dict) and isinstance(said.get("players"), list) and number(said.get("deals")) is not None:
        return _match(said)
    raise ArtefactError("this file is not a result of `kibitz crosstable` or `kibitz match`")


def _crosstable(said: dict[str, Any]) -> dict[str, Any]:
    names = [str(name)[:80] for name in said["names"][:MOST_NAMES]]
    matrix = [[number(x) for x in row[: len(names)]] for row in said["matrix"][: len(names)] if isinstance(row, list)]
    if len(matrix) != len(names) or any(len(row) != len(names) for row in matrix):
        raise ArtefactError("this crosstable is damaged: the number of rows, columns and names differs")

    def column(name: str) -> list[float | None]:
        figures = said.get(name)
        return [number(x) for x in figures[: len(names)]] if isinstance(figures, list) else [None] * len(names)

    return {
        "kind": "crosstable", "about": f"crosstable of {len(names)} strategies",
        "game": str(said.get("game", ""))[:200],
        "names": names, "matrix": matrix, "average": column("average"), "exploitability": column("exploitability"),
        "unit": str(said.get("unit", "chips"))[:40], "last": None,
    }  # fmt: skip


def _match(said: dict[str, Any]) -> dict[str, Any]:
    rows = []
    for player in said["players"][:MOST_NAMES]:
        if isinstance(player, dict):
            interval = player.get("interval")
            rows.append({
                "name": str(player.get("name", ""))[:80], "mean": number(player.get("mean")),
                "interval": [number(x) for x in interval[:2]] if isinstance(interval, list) else [None, None],
            })  # fmt: skip
    deals = int(number(said.get("deals")) or 0)
    return {"kind": "match", "about": f"match of {deals:,} deals", "rows": rows, "deals": deals, "last": None}


def _dealt(text: str) -> dict[str, Any]:
    """The log of a dealer: the mean result of each player."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(DEALER):
        raise ArtefactError("this file is not the log of a dealer")
    sums: dict[str, list[float]] = {}
    hands, game = 0, ""
    for line in lines:
        if line.startswith("# game "):
            game = line.removeprefix("# game ")[:200]
        parts = line.split(":")
        if len(parts) < 6 or parts[0] != "STATE":
            continue
        won, names = parts[-2].split("|"), parts[-1].split("|")
        try:
            values = [float(x) for x in won]
        except ValueError:
            continue
        if len(values) != len(names) or not all(map(math.isfinite, values)):
            continue
        hands += 1
        for name, x in zip(names, values, strict=True):
            tally = sums.setdefault(name[:80], [0.0, 0.0, 0.0])
            tally[0], tally[1], tally[2] = tally[0] + 1, tally[1] + x, tally[2] + x * x
    rows = []
    for name, (count, total, squares) in list(sums.items())[:MOST_NAMES]:
        score = scored(int(count), total, squares).data()
        rows.append({"name": name, "mean": score["mean"], "interval": score["interval"]})
    return {
        "kind": "match", "about": f"match of {hands:,} hands", "rows": rows, "deals": hands, "last": None,
        "game": game,
    }


# Crosstables of what is saved


def crosstable(library: Library, ids: list[str]) -> dict[str, Any]:
    """An exact crosstable of some saved profiles of one game."""
    from kibitz.evaluate.crosstable import crosstable as play

    if not 2 <= len(ids) <= 8 or len(set(ids)) < len(ids):
        raise GameError("choose two to eight different strategies")
    strategies = [library.strategy(id) for id in ids]
    if len({each.spec for each in strategies}) > 1:
        raise GameError("the strategies play different games")
    profiles = [each.profile for each in strategies]
    if any(profile is None or profile.infosets.columns > 2_000_000 for profile in profiles):
        raise GameError("not computed: one of the strategies is too large for an exact crosstable; use `kibitz match`")
    names = [f"{k + 1}. {each.entry.name}" for k, each in enumerate(strategies)]
    table = play(strategies[0].rules, {name: p for name, p in zip(names, profiles, strict=True) if p is not None})
    return {"id": "", "name": "crosstable", "changed": 0.0, **_crosstable({**table.data(), "unit": "chips"})}
