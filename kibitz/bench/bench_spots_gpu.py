"""Post-flop spots on a GPU, for `kibitz bench --only spots-gpu`: compared with the CPU first, and then timed.

    python -m kibitz.bench.bench_spots_gpu --json spots_gpu.json     the same alone; --tune tries other shapes of blocks
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.bench.bench_spots import FEW, MANY, TARGET, BenchSpot, spot_of
from kibitz.bench.verdicts import machine
from kibitz.core import store
from kibitz.report.tables import section

DATA = Path(__file__).parents[2] / "docs" / "spots_gpu.json"
PAGE = DATA.with_suffix(".md")
CLOSE = 1e-9  # of values in double precision, beside the chips of the largest end
FLOP, ALL = "Td 9d 6h", ("random", "random")
CHECKED = (
    BenchSpot("river, narrow ranges", "Ks 8h 4d 3c 9s", (FEW, MANY), 60, 300, "33%, 75%, allin"),
    BenchSpot("turn, one suit", "Ks 8s 4s 3d", (FEW, MANY), 60, 120, "75%"),
    BenchSpot("flop, two suits", FLOP, (FEW, FEW), 100, 60, "allin"),
)
TIMED = (  # with the seconds that they should take
    (BenchSpot("turn, all hands", "Td 9d 6h Qc", ALL, 200, 900, "60%, allin"), None),
    (BenchSpot("flop, all hands", FLOP, ALL, 200, 900, "60%, allin"), 10.0),
    (BenchSpot("rich flop, 50%, 100%, allin", FLOP, ALL, 200, 900, "50%, 100%, allin"), 60.0),
    (BenchSpot("rich flop, 33%, 75%, allin", FLOP, ALL, 200, 900, "33%, 75%, allin"), 60.0),
)  # fmt: skip
COMPARED = 2  # of these are solved on the CPU too
STEPS = 10  # iterations that are timed
COPIED = 1 << 30  # bytes of the copy that says how fast the GPU's memory is
HEAD = """# Post-flop spots on a GPU

This page is generated from docs/spots_gpu.json, which `kibitz bench --only spots-gpu --out docs/spots_gpu.json` writes
on a machine with an NVIDIA GPU. `kibitz poker spot --device gpu` solves a spot there. All spots are those of
[the CPU's page](spots.md) or larger: 200 chips in the pot, 900 behind, all hands in both ranges.
"""


def layout_of(of: BenchSpot) -> Any:
    from kibitz.poker.spots.engine_layout import SpotLayout
    from kibitz.poker.spots.spot import betting_of

    spot = spot_of(of)
    return SpotLayout(spot, betting_of(spot))


def checked(of: BenchSpot) -> dict[str, Any]:
    """How far one iteration in double precision is from that of the CPU, and evaluations from its evaluations. Regrets
    and averages before it are random, and far from 0."""
    from kibitz.poker.spots.engine_cpu import SpotCfr
    from kibitz.poker.spots.engine_gpu import GpuSpotCfr

    layout, random = layout_of(of), np.random.default_rng(3)
    here, there = SpotCfr(layout, np.float64, np.float64), GpuSpotCfr(layout, np.float64)
    for mine, theirs in ((here.learned.regret, there.regret), (here.learned.average, there.average)):
        mine[:] = random.random(len(mine)) + 0.1
        there.queue.assign(theirs, slice(None), there.queue.array(mine))
    here.iterate(5, 1, 4)
    there.iterate(5, 1)
    host = there.queue.host
    apart = [float(np.abs(host(there.regret) - here.learned.regret).max()),
             float(np.abs(host(there.average) - here.learned.average).max())]  # fmt: skip
    for seat in (0, 1):
        for best in (False, True):
            mine, theirs = here.values(seat, best, 4), there.values(seat, best)
            apart.append(float(np.abs(mine - theirs).max() / layout.chips))
    return {"spot": of._asdict(), "sequences": layout.sequences, "apart": max(apart), "right": max(apart) <= CLOSE}


def gpu_name() -> str:
    from kibitz.poker.bucketed.device import Device

    return Device("gpu").label


def bandwidth() -> float:
    """Bytes that the GPU's memory reads and writes in a second, by a copy."""
    from kibitz.core.gpu import cupy_module

    xp = cupy_module()
    one, other = xp.zeros(COPIED, xp.uint8), xp.zeros(COPIED, xp.uint8)
    times = []
    for _ in range(6):
        xp.cuda.Device().synchronize()
        began = time.perf_counter()
        other[...] = one
        xp.cuda.Device().synchronize()
        times.append(time.perf_counter() - began)
    return 2 * COPIED / min(times)


def moved(state: Any) -> int:
    """Bytes of an iteration that go to and from the GPU's memory: of each regret two readings and a writing, of each
    average one of both; and vectors between streets, once each way for each seat."""
    vectors = sum(array.nbytes for array in (*state.out, *state.exits)) + 2 * sum(each.nbytes for each in state.reach)
    return int(5 * state.kind.itemsize * state.layout.sequences + 2 * 2 * vectors)


def kernel_times(state: Any, done: int) -> dict[str, float]:
    """Seconds of an iteration by kernel; those of the last street by the slots of their lines. Each is waited for."""
    times: dict[str, float] = defaultdict(float)
    queue = state.queue
    launch = queue.launch

    def timed(source: str, name: str, grid: Any, threads: int, args: Any, shared: int = 0) -> None:
        queue.wait()
        began = time.perf_counter()
        launch(source, name, grid, threads, args, shared)
        queue.wait()
        key = f"{name} {shared // 1024} kB x {threads}" if name == "last" else name
        times[key] += time.perf_counter() - began

    queue.launch = timed
    try:
        state.iterate(done, 1)
    finally:
        del queue.launch
    return dict(times)


def figures(of: BenchSpot, fast: float) -> dict[str, Any]:
    """Times of the parts of a solve, of an iteration, and of a whole solve to the target."""
    from kibitz.poker.spots.engine_gpu import GpuEngine
    from kibitz.poker.spots.solving import solve_spot
    from kibitz.poker.spots.spot import betting_of

    spot, clock = spot_of(of), time.perf_counter
    began = clock()
    tree = betting_of(spot)
    betting = clock() - began
    began = clock()
    engine = GpuEngine(spot, tree)
    built = clock() - began
    state = engine.state
    engine.iterate(0, 2)  # compiles
    began = clock()
    engine.iterate(2, STEPS)
    iteration = (clock() - began) / STEPS
    began = clock()
    engine.gains()
    gains = clock() - began
    by_kernel = kernel_times(state, 2 + STEPS)
    began = clock()
    engine.answer()
    answer = clock() - began
    bytes_moved, kept = moved(state), state.nbytes
    sequences = engine.layout.sequences
    del engine, state
    solution = solve_spot(spot, until=TARGET, device="gpu")
    return {"spot": of._asdict(), "sequences": sequences, "bytes": kept, "betting": betting, "built": built,
            "iteration": iteration, "gains": gains, "answer": answer, "kernels": by_kernel, "moved": bytes_moved,
            "share": bytes_moved / iteration / fast, **_solved(solution, of)}  # fmt: skip


def _solved(solution: Any, of: BenchSpot) -> dict[str, Any]:
    return {"seconds": solution.seconds, "iterations": solution.iterations, "exploitability": solution.exploitability,
            "value": float(solution.gains.value[0]) + of.pot / 2,
            "gap": 2 * solution.exploitability * of.pot}  # fmt: skip


def on_cpu(of: BenchSpot) -> dict[str, Any]:
    """The same spot on all cores."""
    from kibitz.core.resources import cores
    from kibitz.poker.spots.solving import solve_spot

    solve_spot(spot_of(of), iterations=1)  # compiles
    return {"cores": cores(), **_solved(solve_spot(spot_of(of), until=TARGET), of)}


def tuned(of: BenchSpot, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Seconds of an iteration with other shapes of blocks."""
    from kibitz.poker.spots.engine_gpu import GpuShape, GpuSpotCfr

    layout, rows = layout_of(of), []
    for pair in (2, 1, 4):
        for block, blocks in ((576, 2), (320, 3), (1024, 1), (288, 5), (384, 2)):
            state = GpuSpotCfr(layout, shape=GpuShape(pair=pair, block=block, blocks=blocks))
            state.iterate(0, 2)
            began = time.perf_counter()
            state.iterate(2, STEPS)
            each = (time.perf_counter() - began) / STEPS
            rows.append({"pair": pair, "block": block, "blocks": blocks, "iteration": each,
                         "threads": [some.threads for some in state.classes]})  # fmt: skip
            say(f"tune: {rows[-1]}")
            del state
    return rows


def bench_spots_gpu(
    quick: bool, out: str | Path | None, say: Callable[[str], None], tune: bool = False, most: float = 1e9
) -> dict[str, Any]:
    """Compare and measure; returns what the JSON file holds. A part that fails leaves its traceback there, and the
    others go on. most: seconds after which no part begins."""
    began = time.perf_counter()
    result: dict[str, Any] = {"machine": machine(), "gpu": gpu_name(), "target": TARGET, "checked": [],
                              "timed": [], "cpu": [], "failed": []}  # fmt: skip

    def part(name: str, work: Callable[[], Any]) -> None:
        if time.perf_counter() - began > most:
            say(f"{name}: left out, there is no time")
            return
        try:
            say(f"{name}: {json.dumps(work())}")
        except Exception:
            result["failed"].append({"part": name, "error": traceback.format_exc()})
            say(f"{name} failed: {traceback.format_exc()}")
        if out is not None:
            store.write_text(out, json.dumps(result, indent=1) + "\n")

    def keep(name: str, row: Any) -> Any:
        if isinstance(result.get(name), list):
            result[name].append(row)
        else:
            result[name] = row
        return row

    for of in CHECKED[:1] if quick else CHECKED:
        part(f"check, {of.name}", lambda of=of: keep("checked", checked(of)))  # type: ignore[misc]
    part("bandwidth", lambda: keep("bandwidth", bandwidth()))
    for of, goal in TIMED[:1] if quick else TIMED:
        part(of.name, lambda of=of, goal=goal: keep(  # type: ignore[misc]
            "timed", {"goal": goal, **figures(of, result.get("bandwidth", 4e12))}))  # fmt: skip
    for of, _ in TIMED[:1] if quick else TIMED[:COMPARED]:
        part(f"{of.name} on the CPU", lambda of=of: keep("cpu", {"name": of.name, **on_cpu(of)}))  # type: ignore[misc]
    if tune:
        part("tune", lambda: keep("tuned", tuned(TIMED[1][0], say)))
    return result


def spots_gpu_markdown(result: dict[str, Any]) -> list[str]:
    """The tables."""
    times, parts = [], []
    cpu = {each["name"]: each for each in result["cpu"]}
    for row in result["timed"]:
        name, beside, goal = row["spot"]["name"], cpu.get(row["spot"]["name"]), row["goal"]
        times.append("| " + " | ".join([
            name, f"{row['sequences'] / 1e6:,.0f}", f"{row['seconds']:.1f}",
            "-" if goal is None else f"{goal:g}: {'yes' if row['seconds'] <= goal else 'no'}", str(row["iterations"]),
            f"{row['value']:.2f} ({100 * row['exploitability']:.2f}%)", f"{beside['seconds']:.1f}" if beside else "-",
            f"{beside['value']:.2f} ({100 * beside['exploitability']:.2f}%)" if beside else "-",
        ]) + " |")  # fmt: skip
        parts.append("| " + " | ".join([
            name, f"{row['bytes'] / 1e9:.2f}", f"{row['betting'] + row['built']:.2f}", f"{1e3 * row['iteration']:.2f}",
            f"{1e3 * row['gains']:.1f}", f"{row['answer']:.2f}", f"{row['moved'] / 1e9:.1f}",
            f"{100 * row['share']:.0f}%",
        ]) + " |")  # fmt: skip
    checks = [f"| {row['spot']['name']} | {row['sequences']:,} | {row['apart']:.1e} | "
              f"{'yes' if row['right'] else 'no'} |" for row in result["checked"]]  # fmt: skip
    cores = f"{result['cpu'][0]['cores']} cores" if result["cpu"] else "the CPU"
    return [
        *section(
            "Time", f"Seconds to an exploitability of {100 * result['target']:g}% of the pot, from the question to the "
            f"averages in memory, on one GPU and on {cores} of the same machine. Value is that of the first player in "
            "chips, with the exploitability that it is known to.",
            ["| spot | million sequences | GPU, s | goal, s | iterations | value | CPU, s | CPU, value |",
             "|---|---:|---:|---|---:|---:|---:|---:|", *times]),
        *section(
            "Parts", "Regrets and averages in GB; seconds to lay the spot out, and to bring averages back with the "
            "values of all hands; milliseconds of an iteration and of a measure; GB that an iteration moves to and "
            "from the GPU's memory, and how fast that is beside a plain copy "
            f"({result.get('bandwidth', 0.0) / 1e12:.2f} TB/s).",
            ["| spot | GB | laid out, s | iteration, ms | measure, ms | answer, s | GB an iteration | of a copy |",
             "|---|---:|---:|---:|---:|---:|---:|---:|", *parts]),
        *section(
            "Compared with the CPU", "One iteration in double precision from the same regrets and averages, and the "
            "evaluations after it: the largest difference of any number, beside the chips of the largest end.",
            ["| spot | sequences | apart | right |", "|---|---:|---:|---|", *checks]),
    ]  # fmt: skip


def page() -> str:
    """docs/spots_gpu.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    of = result["machine"]
    place = f"GPU: {result['gpu']}. CPU: {of['processor']} ({of['architecture']}), {of['cores']} cores, {of['system']}"
    return "\n".join([HEAD, f"{place}; kibitz {of['kibitz']}; {of['date']}.", "", *spots_gpu_markdown(result)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_spots_gpu")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="one spot of each kind")
    parser.add_argument("--tune", action="store_true", help="try other shapes of blocks too")
    parser.add_argument("--most", type=float, default=1e9, help="seconds after which no part begins")
    of, began = parser.parse_args(arguments), time.perf_counter()
    bench_spots_gpu(of.quick, of.json, lambda line: print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True),
                    of.tune, of.most)  # fmt: skip


if __name__ == "__main__":
    main()
