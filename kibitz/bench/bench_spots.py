"""Post-flop spots beside postflop-solver, for `kibitz bench --only spots`.

The same games in the same run, alternately, on two cores. The other program is tests/peers/postflop_peer.rs, built with
that crate; $KIBITZ_POSTFLOP_SOLVER is its path. Without it kibitz is measured alone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kibitz.bench.bench_threads import on_two_cores
from kibitz.bench.verdicts import machine
from kibitz.core import store
from kibitz.core.errors import KibitzError
from kibitz.core.threads import together
from kibitz.report.tables import section

PROGRAM = "KIBITZ_POSTFLOP_SOLVER"
DATA = Path(__file__).parents[2] / "docs" / "spots.json"
PAGE = DATA.with_suffix(".md")
TARGET = 0.005  # of the pot
GOAL, GOAL_THREADS = 2.0, 1.7
ROUNDS = 3  # of which the median counts
STEPS, LONG = 10, 2  # iterations that are timed, and in spots that take minutes
PAIRS, SLICE = 7, 1.0  # times that one thread and two are timed in turns, and seconds of each
TWO, PEER = "kibitz, 2 threads", "postflop-solver, 2 threads"
MANY = "22+, A2s+, K5s+, Q8s+, J8s+, T7s+, 96s+, 85s+, 75s+, 64s+, 54s, A5o+, K9o+, QTo+, JTo"
FEW = "77+, A9s+, KTs+, QTs+, JTs, T9s, 98s, ATo+, KQo"
HEAD = """# Post-flop spots beside postflop-solver

This page is generated from docs/spots.json, which `kibitz bench --only spots --out docs/spots.json` writes.
postflop-solver (Rust) is the fastest open solver of such spots that we know of; TexasSolver was not measured. Its
program for this benchmark is tests/peers/postflop_peer.rs: put that file into a new crate that depends on
`postflop-solver` (its default features, or `rayon` alone), build it with `cargo build --release` and `RUSTFLAGS="-C
target-cpu=native"`, and give its path as KIBITZ_POSTFLOP_SOLVER.
"""


class BenchSpot(NamedTuple):
    """A spot of the benchmark. Bets and raises have the same sizes on all streets."""

    name: str
    board: str
    ranges: tuple[str, str]
    pot: int
    stack: int
    sizes: str
    rounds: int = ROUNDS  # how often it is measured


SPOTS = (
    BenchSpot("river, all hands", "Td 9d 6h Qc 2c", ("random", "random"), 200, 900, "60%, allin"),
    BenchSpot("river, all hands, three sizes", "Td 9d 6h Qc 2c", ("random", "random"), 200, 900, "50%, 100%, allin"),
    BenchSpot("river, narrow ranges", "Ks 8h 4d 3c 9s", (FEW, MANY), 60, 300, "33%, 75%, allin"),
    BenchSpot("river, small pot", "Ks 8h 4d 3c 9s", (MANY, MANY), 20, 500, "50%, 100%"),
    BenchSpot("turn, all hands", "Td 9d 6h Qc", ("random", "random"), 200, 900, "60%, allin"),
    BenchSpot("turn, narrow ranges", "Ks 8h 4d 3c", (FEW, MANY), 60, 300, "50%, allin"),
    BenchSpot("turn, one suit", "Ks 8s 4s 3d", (MANY, MANY), 60, 300, "75%"),
    BenchSpot("flop, narrow ranges", "Ks 8h 4d", (FEW, FEW), 60, 120, "75%"),
    BenchSpot("flop, two suits", "Td 9d 6h", (FEW, MANY), 100, 150, "60%"),
    BenchSpot("flop, all hands", "Td 9d 6h", ("random", "random"), 200, 900, "60%, allin", 1),
)  # fmt: skip
QUICK, TURN = (SPOTS[2],), (SPOTS[6],)


def spot_of(of: BenchSpot) -> Any:
    """The spot as kibitz solves it."""
    from kibitz.cards import parse, parse_range
    from kibitz.poker.spots.sizes import SizeList, sizes_of
    from kibitz.poker.spots.spot import Spot

    sizes = SizeList(sizes_of(of.sizes), sizes_of(of.sizes, True))
    ranges = np.stack([parse_range(text).weights for text in of.ranges])
    return Spot(tuple(parse(of.board).tolist()), ranges, of.pot, (of.stack, of.stack), ((sizes, sizes),) * 3)


def ours(of: BenchSpot, threads: int, steps: int, whole: bool = True) -> dict[str, Any]:
    """Seconds to the target with all that comes before, and of an iteration; or of that alone."""
    from kibitz.poker.spots.engine import engine_of
    from kibitz.poker.spots.solving import solve_spot
    from kibitz.poker.spots.spot import betting_of

    spot = spot_of(of)
    tree = betting_of(spot)
    began = time.perf_counter()
    engine: Any = engine_of(spot, tree, threads)
    built = time.perf_counter() - began
    engine.iterate(0, 1)
    began = time.perf_counter()
    engine.iterate(1, steps)
    result = {"iteration": (time.perf_counter() - began) / steps, "bytes": engine.state.nbytes, "built": built}
    del engine
    if whole:
        answer = solve_spot(spot, until=TARGET, threads=threads)
        result |= {"seconds": answer.seconds, "iterations": answer.iterations,
                   "exploitability": answer.exploitability, "value": float(answer.gains.value[0]) + of.pot / 2,
                   "gap": 2 * answer.exploitability * of.pot}  # fmt: skip
    return result


def theirs(program: str, of: BenchSpot, threads: int, steps: int) -> dict[str, Any]:
    """The same of postflop-solver."""
    with tempfile.TemporaryDirectory() as folder:
        spot = spot_of(of)
        # Its hands are in order of the lower card, then of the higher one.
        order = [high * (high - 1) // 2 + low for low in range(52) for high in range(low + 1, 52)]
        for name, weights in zip(("oop", "ip"), spot.ranges, strict=True):
            Path(folder, name).write_text(" ".join(map(str, weights[order])))
        sizes = of.sizes.replace("allin", "a").replace(" ", "")
        words = [program, f"board={of.board.replace(' ', '')}", f"oop={folder}/oop", f"ip={folder}/ip", f"pot={of.pot}",
                 f"stack={of.stack}", f"bets={sizes}", f"raises={sizes}", f"target={TARGET}"]  # fmt: skip
        timed = _asked([*words, f"iterations={steps}", "fixed=1"], threads)
        result = {"iteration": timed["seconds"] / steps, "bytes": timed["bytes"], "built": timed["build_seconds"]}
        whole = _asked(words, threads)
        return result | {"seconds": whole["seconds"] + whole["build_seconds"], "iterations": whole["iterations"],
                         "exploitability": whole["exploitability"], "value": whole["ev"],
                         "gap": 2 * whole["exploitability"] * of.pot}  # fmt: skip


def two_threads(of: BenchSpot, pairs: int) -> dict[str, list[float]]:
    """How many times as fast two threads are, in slices of a second that alternate: `together` on one spot; `apart` as
    two solvers that share nothing, which is what the machine's two cores allow at that moment."""
    from kibitz.poker.spots.engine import engine_of
    from kibitz.poker.spots.spot import betting_of

    spot = spot_of(of)
    tree = betting_of(spot)
    one, other, both = (engine_of(spot, tree, threads).state for threads in (1, 1, 2))  # type: ignore[attr-defined]
    for state, threads in ((one, 1), (other, 1), (both, 2)):
        state.iterate(0, 1, threads)
    steps = max(1, int(SLICE / _timed(lambda: one.iterate(1, 1, 1))))
    ratios: dict[str, list[float]] = {"together": [], "apart": []}
    for _ in range(pairs):
        alone = _timed(lambda: one.iterate(1, steps, 1))
        ratios["together"].append(alone / _timed(lambda: both.iterate(1, steps, 2)))
        apart = _timed(lambda: together(lambda k: (one, other)[k].iterate(1, steps, 1), 2))
        ratios["apart"].append(2 * alone / apart)
    return ratios


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _asked(words: list[str], threads: int) -> Any:
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "RAYON_NUM_THREADS": str(threads)})
    if done.returncode:
        raise KibitzError(f"{PROGRAM}: {words[0]} failed: {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout)


def bench_spots(quick: bool, out: str | Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure all spots; returns what the JSON file holds. Rows of an earlier run on such a machine stay in the file
    until they are measured again, so that a run which is stopped loses nothing."""
    program = os.environ.get(PROGRAM)
    # Runs alternate, but a neighbour that takes a core from one of two threads slows both down.
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    result: dict[str, Any] = {"machine": machine(), "load": load, "target": TARGET, "rows": []}
    rows = {} if quick else _earlier(out, result["machine"])
    result["rows"] = _in_order(rows)
    with on_two_cores():
        result["threads"] = {}
        for of in TURN if quick else SPOTS:
            if len(of.board.split()) < 5:  # a river takes milliseconds, and one thread
                result["threads"][of.name] = two_threads(of, 1 if quick else PAIRS)
                say(f"{of.name}: two threads {_spread(result['threads'][of.name]['together'])} times as fast")
        if not quick:
            result["first_use"] = first_use()
            say(f"first use: {result['first_use']}")
        _write(out, result)
        for of in QUICK if quick else sorted(SPOTS, key=lambda of: of.name in rows):  # what is missing comes first
            long = of.rounds < ROUNDS
            steps = LONG if long else STEPS
            ways: dict[str, Callable[[], dict[str, Any]]] = {TWO: partial(ours, of, 2, steps)}
            if program:
                ways[PEER] = partial(theirs, program, of, 2, steps)
            ours(of, 2, 1, not long)  # compiles, and fills caches
            runs: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
            for _ in range(1 if quick else of.rounds):
                for name, measure in ways.items():
                    runs[name].append(measure())
            middle = {name: _middle(each) for name, each in runs.items()}
            rows[of.name] = {"spot": of._asdict(), "measured": middle, "when": time.strftime("%Y-%m-%d %H:%M")}
            result["rows"] = _in_order(rows)
            say(f"{of.name}: {_line(rows[of.name])}")
            _write(out, result)
    return result


def _in_order(rows: dict[str, Any]) -> list[Any]:
    return [rows[each.name] for each in SPOTS if each.name in rows]


def _write(out: str | Path | None, result: dict[str, Any]) -> None:
    if out is not None:
        store.write_text(out, json.dumps(result, indent=1, allow_nan=False) + "\n")


FIRST = {  # questions of a new user
    "river": ["--board", "Qs Jh 2h 5c 5d", "--pot", "100", "--stacks", "200", "--ranges", "AA, QJs, T9s, 65s",
              "KK, AQ, AJs:0.5", "--bets", "50%, allin"],
    "flop": ["--board", "Td 9d 6h", "--pot", "100", "--stacks", "150", "--ranges", FEW, MANY, "--bets", "60%"],
}  # fmt: skip


def first_use() -> dict[str, dict[str, float]]:
    """Seconds of `kibitz poker spot` with nothing compiled before, and again with it."""
    answers = {}
    for name, words in FIRST.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"KIBITZ_CACHE": cache}
            times = []
            for _ in range(2):
                began = time.perf_counter()
                subprocess.run([sys.executable, "-m", "kibitz", "poker", "spot", *words], check=True,
                               capture_output=True, env=environment)  # fmt: skip
                times.append(time.perf_counter() - began)
        answers[name] = {"first": times[0], "again": times[1]}
    return answers


def _earlier(out: str | Path | None, place: dict[str, str]) -> dict[str, Any]:
    """By name, the rows of a file that such a machine wrote with the same versions."""
    if out is None or not Path(out).exists():
        return {}
    known = json.loads(Path(out).read_text(encoding="utf-8"))
    same = all(known["machine"].get(name) == value for name, value in place.items() if name not in ("date", "system"))
    return {row["spot"]["name"]: row for row in known["rows"]} if same else {}


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The last run, with the median time of each kind."""
    return runs[-1] | {name: statistics.median(run[name] for run in runs) for name in ("iteration", "built", "seconds")
                       if name in runs[-1]}  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    each = row["measured"]
    return "; ".join(f"{name} {1e3 * of['iteration']:.2f} ms an iteration" + (
        f", {of['seconds']:.3f} s" if "seconds" in of else "") for name, of in each.items())  # fmt: skip


def spots_markdown(result: dict[str, Any]) -> list[str]:
    """The tables."""
    times, sizes, faster = [], [], []
    medians = [statistics.median(each["together"]) for each in result.get("threads", {}).values()]
    threads = [f"| {name} | {_spread(each['together'])} | {_spread(each['apart'])} |"
               for name, each in result.get("threads", {}).items()]  # fmt: skip
    for row in result["rows"]:
        name, each = row["spot"]["name"], row["measured"]
        two, peer = each[TWO], each.get(PEER)
        ratio = peer["seconds"] / two["seconds"] if peer and "seconds" in two else None
        faster += [] if ratio is None else [ratio]
        times.append("| " + " | ".join([
            name, _seconds(two), _seconds(peer), _ratio(ratio), f"{1e3 * _iteration(row, two):.2f}",
            f"{1e3 * _iteration(row, peer):.2f}" if peer else "-",
            _ratio(_iteration(row, peer) / _iteration(row, two) if peer else None),
        ]) + " |")  # fmt: skip
        sizes.append("| " + " | ".join([
            name, f"{two['bytes'] / 1e6:,.1f}", f"{peer['bytes'] / 1e6:,.1f}" if peer else "-", _value(two),
            _value(peer), _agree(two, peer),
        ]) + " |")  # fmt: skip
    spots = [f"| {of['name']} | {of['board']} | {of['ranges'][0]} | {of['ranges'][1]} | {of['pot']} | {of['stack']} | "
             f"{of['sizes']} |" for of in (row["spot"] for row in result["rows"])]  # fmt: skip
    return [
        *section(
            "Time", f"To an exploitability of {100 * result['target']:g}% of the pot on two threads, with the building "
            "of the game, and of an iteration. \"times\" is postflop-solver's time over ours. Runs alternate; of each "
            f"the median of {ROUNDS} counts; \"flop, all hands\" was solved once, and its time of an iteration is the "
            f"mean of that run. Goal: {GOAL:g} times; {_reached(faster, GOAL)}.",
            ["| spot | kibitz, s | postflop-solver, s | times | kibitz, ms/iteration | postflop-solver, ms | times |",
             "|---|---:|---:|---:|---:|---:|---:|", *times]),
        *section(
            "Two threads", "How many times as fast two threads are as one: the median, and the least and the most, of "
            "comparisons of a second each, in turns. \"two solvers\" is the same of two solvers that share "
            "nothing but the machine: what its two cores allow. Rivers take milliseconds, and one thread. "
            f"Goal: {GOAL_THREADS:g}; {_reached(medians, GOAL_THREADS)}.",
            ["| spot | two threads | two solvers |", "|---|---:|---:|", *threads]),
        *section(
            "Memory and values",
            "Memory is that of regrets and average strategies, in MB. kibitz stores numbers of 16 bits; postflop-"
            "solver was run with numbers of 32 bits, and its mode with 16 needs about half. Value is that of the "
            "first player, in chips, with the exploitability that it is known to. Two values agree if they differ"
            " by no more than what both players can still gain in the one and in the other.",
            ["| spot | kibitz, MB | postflop-solver, MB | kibitz, value | postflop-solver, value | agree |",
             "|---|---:|---:|---:|---:|---|", *sizes]),
        *_first_section(result.get("first_use")),
        *section("Spots", "Bets and raises have the same sizes on all streets.",
                 ["| spot | board | first player | second player | pot | stack | sizes |",
                  "|---|---|---|---|---:|---:|---|", *spots]),
    ]  # fmt: skip


def _first_section(first: dict[str, dict[str, float]] | None) -> list[str]:
    if not first:
        return []
    rows = [f"| {name} | {each['first']:.0f} | {each['again']:.1f} |" for name, each in first.items()]
    return section("First use", "Seconds of the command `kibitz poker spot` from its start to its answer: with nothing "
                   "compiled before, and again. The river is the one of [the how-to](howto/spot.md), the flop is "
                   "\"flop, two suits\" with one bet size.",
                   ["| question | first use, s | again, s |", "|---|---:|---:|", *rows])  # fmt: skip


def _iteration(row: dict[str, Any], of: dict[str, Any]) -> float:
    """Seconds; of a spot that was solved once the mean, since the first iterations of a large one are slow."""
    once = row["spot"].get("rounds", ROUNDS) < ROUNDS
    return float(of["seconds"] / of["iterations"] if once else of["iteration"])


def _seconds(of: dict[str, Any] | None) -> str:
    return f"{of['seconds']:.3f} ({of['iterations']} iterations)" if of and "seconds" in of else "-"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _reached(ratios: list[float], goal: float) -> str:
    return f"{sum(ratio >= goal for ratio in ratios)} of {len(ratios)} spots reach it"


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _value(of: dict[str, Any] | None) -> str:
    return f"{of['value']:.3f} ({100 * of['exploitability']:.2f}%)" if of and "value" in of else "-"


def _agree(two: dict[str, Any], peer: dict[str, Any] | None) -> str:
    return "-" if peer is None or "value" not in two else "yes" if agree(two, peer) else "no"


def agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two values are as near as they must be: a value is off by what both players can gain, at most."""
    return bool(abs(one["value"] - other["value"]) <= one["gap"] + other["gap"])


def page() -> str:
    """docs/spots.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    of, load = result["machine"], result.get("load")
    busy = ("The load of the machine was not recorded." if load is None
            else f"The load average at the start of the run was {load:.1f} on {of['cores']} cores.")  # fmt: skip
    place = f"Machine: {of['processor']} ({of['architecture']}), {of['cores']} cores, {of['system']}"
    versions = f"kibitz {of['kibitz']}, Numba {of['numba']}; {of['date']}"
    times = sorted({row["when"] for row in result["rows"] if "when" in row})
    busy += f" Rows were measured from {times[0]} to {times[-1]}." if times else ""
    return "\n".join([HEAD, f"{place}; {versions}. {busy}", "", *spots_markdown(result)])
