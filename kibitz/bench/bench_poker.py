"""Rhode Island hold'em in figures of time and memory, for `kibitz bench --only poker`: nobody else solves it whole."""

from __future__ import annotations

import time
from typing import Any

from kibitz.report.page import section

GAME, SMALL = "rhode_island", "rhode_island(ranks=4, suits=2)"
SOLVER = "dcfr+"
# Bytes by sequence of the seat that moves: regrets and strategies read and written, and by one of the other: its
# strategy read, its average read and written; in float32, for each seat in turn.
BYTES = 4 * (4 + 3)


def poker_figure(quick: bool = False) -> dict[str, Any]:
    """Milliseconds an iteration on one thread and on two; seconds and memory to small gaps in the whole game."""
    from kibitz.games import game
    from kibitz.papers.sandholm_rhode_island import run_solver
    from kibitz.poker.exact.form import poker_form
    from kibitz.solvers import Task, make

    name, until = (SMALL, 1.0) if quick else (GAME, 1e-3)
    form = poker_form(game(name))
    solvers = [make(SOLVER, Task(None, form, threads=k)) for k in (1, 2)]
    rates = [float("inf")] * 2
    for _ in range(3):
        for k, solver in enumerate(solvers):
            solver.step(1)
            began = time.perf_counter()
            solver.step(4)
            rates[k] = min(rates[k], (time.perf_counter() - began) / 4)
    moved = BYTES * form.sequences
    run = run_solver(SOLVER, until, 600.0, name)
    reached = {f"{gap:g}": run.reached(gap) for gap in (1.0, 0.1, 0.01, 0.001)}
    return {
        "game": name, "histories": form.histories, "sequences": form.sequences, "solver": SOLVER,
        "one": rates[0], "two": rates[1], "ratio": rates[0] / rates[1],
        "bytes": moved, "bandwidth": [moved / rate for rate in rates], "copy": copying(),
        "reached": {gap: at for gap, at in reached.items() if at}, "gap": run.gap[-1],
        "interval": list(run.interval), "peak_gb": run.rss / 1e9,
    }  # fmt: skip


def copying() -> list[float]:
    """Bytes a second that one core and two move between arrays beyond the caches, each read and each written byte."""
    import numpy as np

    from kibitz.core.threads import together

    size = 1 << 25
    arrays = [(np.ones(size, np.float32), np.zeros(size, np.float32)) for _ in range(2)]
    rates = []
    for threads in (1, 2):
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            together(lambda i: np.copyto(arrays[i][1], arrays[i][0]), threads)
            best = min(best, time.perf_counter() - began)
        rates.append(threads * 2 * 4 * size / best)
    return rates


def poker_markdown(figure: dict[str, Any]) -> list[str]:
    reached = "; ".join(
        f"{gap} chips after {seconds:.1f} s ({iterations:,} iterations)"
        for gap, (iterations, seconds) in figure["reached"].items()
    )
    low, high = figure["interval"]
    one, two = (bandwidth / copy for bandwidth, copy in zip(figure["bandwidth"], figure["copy"], strict=True))
    return section(
        "Rhode Island hold'em",
        f"`{figure['game']}`, the whole game: {figure['histories']:,} histories, {figure['sequences']:,} sequences "
        f"up to the names of suits. An iteration of {figure['solver']}: {1e3 * figure['one']:.0f} ms on one thread, "
        f"{1e3 * figure['two']:.0f} ms on two ({figure['ratio']:.2f}x). It moves at least "
        f"{figure['bytes'] / 1e6:.0f} MB, {one:.0%} of what copying moves in that time on one core, {two:.0%} on two.",
        f"NashConv by exact best responses in the whole game, on two threads: {reached}. The value for the "
        f"first seat is {low:.5f} to {high:.5f} chips. Peak memory {figure['peak_gb']:.2f} GB.",
    )
