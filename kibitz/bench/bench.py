"""kibitz bench: kibitz compared with other programs in one run, on one thread each.

Every figure is a ratio of two things measured within the same minutes on the same machine. A peer that is not
installed is named as skipped. `--peers-python` names another interpreter that has the peers (NoRegret needs 3.12).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from kibitz.bench import peers, results
from kibitz.bench.bench_cards import cards_figure
from kibitz.bench.bench_poker import (
    SAMPLED,
    endgames_figure,
    holdem_figure,
    jam_figure,
    poker_figure,
    stepping_on_boards,
    three_figure,
)
from kibitz.bench.bench_serve import serve_figure
from kibitz.bench.bench_threads import threads_figure
from kibitz.bench.peers import TimedWork
from kibitz.bench.results import PeerRow, number, times
from kibitz.bench.toepen import toepen_figure
from kibitz.bench.verdicts import machine
from kibitz.core import store
from kibitz.core.errors import KibitzError

# Our spec of each game that the peers are measured on.
SPECS = {
    "kuhn": "kuhn",
    "leduc": "leduc",
    "goofspiel5": "goofspiel(num_cards=5, imp_info=true, points_order=descending)",
    "liars_dice5": "liars_dice(dice_sides=5)",
    "liars_dice6": "liars_dice",
    "leduc3": "leduc(players=3, ranks=4, suit_isomorphism=true)",
}
ALONE = ("threads", *results.ALONE)  # figures without peers, or with peers of their own
FULL = "toepen-full"  # has a page of its own, and is measured only if it is asked for
NO_LIMIT = "nolimit"  # likewise
FLOPS = "flops"  # likewise: how wrong subsets of flops are
GPU = "gpu"  # likewise: it needs one
SPOTS = "spots"  # likewise: its peer is a program of its own
SPOTS_GPU = "spots-gpu"  # likewise: it needs a GPU
CLUSTER = "cluster"  # likewise: it needs Ray
SHARDS = "shards"  # likewise: training in shards
OWN_PAGE = (FULL, NO_LIMIT, FLOPS, GPU, SPOTS, SPOTS_GPU, CLUSTER, SHARDS)
OTHERS = ("kuhn", "leduc", "goofspiel5", "liars_dice6", "leduc3")
LARGE = "leduc(ranks=13, suits=4)"  # 9,984,833 histories
GAMES_OF = {
    "cfr+": tuple(SPECS),
    "nash_conv": OTHERS,
    "kept": OTHERS,
    "mccfr": ("kuhn", "leduc", "liars_dice6"),
    "target": ("leduc",),
    "regret": ("leduc", "goofspiel5"),
    "lp": ("leduc",),
}
THREADED = (  # figure, solver, games
    ("threads", "cfr+", ("leduc", "goofspiel5", "liars_dice5", "liars_dice6", "leduc3", LARGE)),
    ("sampling", "mccfr", ("leduc", "liars_dice6", "leduc3")),
    ("boards", "pcs", tuple(SAMPLED)),
)
# figure, game, peer -> the ratio that we set out to reach
GOALS: dict[tuple[str, str, str], float] = {
    **{("cfr+", g, "OpenSpiel"): 200 for g in ("leduc", "goofspiel5", "liars_dice5", "liars_dice6", "leduc3")},
    **{("cfr+", g, "LiteEFG"): 100 for g in ("leduc", "goofspiel5", "liars_dice6")},
    ("cfr+", "liars_dice6", "NoRegret"): 10,
    ("cfr+", "leduc", "NoRegret"): 50,
    **{("nash_conv", g, "OpenSpiel"): 2000 for g in ("leduc", "goofspiel5", "liars_dice6", "leduc3")},
    **{("nash_conv", g, "LiteEFG"): 20 for g in ("leduc", "goofspiel5", "liars_dice6", "leduc3")},
    ("mccfr", "leduc", "OpenSpiel"): 20,
    **{("target", "leduc", p): 100 for p in ("OpenSpiel", "LiteEFG", "NoRegret", "Gambit")},
    **{("regret", "leduc", p): 100 for p in ("OpenSpiel", "LiteEFG", "NoRegret")},
}


# Ours, as the same kind of TimedWork that the peers are measured by.


@cache
def _tree(game: str) -> Any:
    import kibitz
    from kibitz.games.tree import lay_out

    return lay_out(kibitz.game(SPECS.get(game, game)))


def _solver(spec: str, game: str, threads: int = 1) -> tuple[Any, Callable[[], float]]:
    from kibitz.evaluate import measure
    from kibitz.forms.sequence import form_of
    from kibitz.solvers import Task, make

    tree = _tree(game)
    form = form_of(tree)
    solver = make(spec, Task(tree, form, threads=threads))

    return solver, lambda: measure(form, solver.probabilities()).nash_conv


def stepping(spec: str, game: str, threads: int = 1) -> TimedWork:
    solver, nash_conv = _solver(spec, game, threads)
    return TimedWork(spec, solver.step, nash_conv)


def nash_conv_calls(game: str) -> TimedWork:
    """kibitz.nash_conv(game, profile) as a user calls it, on the uniform profile."""
    import kibitz

    rules = kibitz.game(SPECS[game])
    uniform = kibitz.solve(rules, "cfr+", iterations=0)
    return TimedWork("nash_conv", peers.repeat(lambda: kibitz.nash_conv(rules, uniform)), lambda: 0.0)


def exact(game: str) -> TimedWork:
    """The linear program from scratch at each step; building the game tree is not timed, as for the peers."""
    answers: list[float] = []

    def step(n: int) -> None:
        for _ in range(n):
            solver, nash_conv = _solver("lp", game)
            solver.step(1)
            answers.append(nash_conv())

    return TimedWork("lp", step, lambda: answers[-1], anew=True)


# Of our solvers, the fastest to 1e-4 on the game; `kibitz solve --until 1e-4` shows the others.
FASTEST = {"leduc": "cfr+(averaging=quadratic)", "goofspiel5": "pcfr+"}
OURS: dict[str, Callable[[str], TimedWork]] = {
    "cfr+": lambda game: stepping("cfr+", game),
    "nash_conv": nash_conv_calls,
    "kept": nash_conv_calls,
    "mccfr": lambda game: stepping("mccfr", game),
    "target": lambda game: stepping(FASTEST[game], game),
    "regret": lambda game: stepping(FASTEST[game], game),
    "lp": exact,
}


def ours(figure: str, game: str, seconds: float) -> tuple[float | None, str]:
    """(our figure, the solver); a race is run three times and the best time is used, as for a peer's exact solvers."""
    prepare = OURS[figure]
    if figure not in peers.TARGETS:
        work = prepare(game)
        value = peers.rate(work, seconds)["value"]
        return (1.0 / value if figure in ("nash_conv", "kept") else value), work.solver
    best: float | None = None
    for _ in range(3):
        work = prepare(game)
        work.step(1)  # compiled code is loaded off the clock
        work = prepare(game)
        taken = peers.race(work, peers.TARGETS[figure], 60.0, seconds)["value"]
        best = taken if best is None else min(best, taken or best)
    return best, work.solver


def compare(
    figures: list[str], seconds: float, limit: float, python: str, say: Callable[[str], None]
) -> tuple[list[PeerRow], dict[str, str]]:
    """All rows, and the versions of the peers."""
    rows: list[PeerRow] = []
    versions: dict[str, str] = {}
    for figure in figures:
        for game in GAMES_OF[figure]:
            mine, solver = ours(figure, game, seconds)
            say(f"{figure:10} {game:12} kibitz {number(mine)} ({solver})")
            for peer in peers.PEERS.values():
                if not peer.measures(figure, game):
                    continue
                its = peers.measure(peer.name, figure, game, seconds, limit, python)
                if its.version or peer.name not in versions:  # one that failed at one figure did others
                    versions[peer.name] = its.version or "not installed"
                ratio = limit / mine if its.note.startswith(">") and mine else None  # at least
                if mine and its.value:
                    ratio = mine / its.value if figure in ("cfr+", "mccfr") else its.value / mine
                row = PeerRow(figure, game, mine, peer.name, its.value, ratio, GOALS.get((figure, game, peer.name)),
                              its.note, its.solver)  # fmt: skip
                rows.append(row)
                say(f"{'':10} {'':12} {peer.name} {number(its.value)} {its.note} -> {times(row)} {row.verdict}")
    return rows, versions


# What has no peer: threads, size, start-up.


_LARGE_RUN = """
import json, resource, sys, time
import kibitz
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
began = time.perf_counter()
tree = tree_of(kibitz.game(sys.argv[1]))
laid = time.perf_counter()
form = form_of(tree)
formed = time.perf_counter()
result = kibitz.solve(tree, "cfr+", iterations=int(sys.argv[2]))
done = time.perf_counter()
print(json.dumps({
    "game": sys.argv[1], "histories": tree.histories, "infosets": len(tree.infosets.labels),
    "layout_seconds": laid - began, "histories_per_second": tree.histories / (laid - began),
    "form_seconds": formed - laid, "solve_seconds": done - formed, "iterations": result.meta["iterations"],
    "nash_conv": result.nash_conv,
    "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform != "darwin" else 1e9),
}))
"""


def large_figure(game: str, iterations: int) -> dict[str, Any]:
    """Lay out, form and solve a large game in a process of its own: times and peak memory."""
    child = subprocess.run(
        [sys.executable, "-c", _LARGE_RUN, game, str(iterations)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(child.stdout))


def start_figure() -> dict[str, float]:
    """Seconds of `kibitz --help`, and of CFR+ on Leduc with an empty and with a filled cache of compiled code."""
    solve = ["-c", "import kibitz; kibitz.solve(kibitz.game('leduc'), 'cfr+', iterations=100)"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"KIBITZ_CACHE": cache}

        def timed(*arguments: str) -> float:
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
            return time.perf_counter() - began

        first = timed(*solve)
        later = min(timed(*solve) for _ in range(3))
        helped = min(timed("-m", "kibitz.cli", "--help") for _ in range(5))
    return {"first_use": first, "later_use": later, "help": helped}


# Reports


def _own_page(
    only: str, quick: bool, seconds: float, out: str | Path | None, say: Callable[[str], None]
) -> tuple[dict[str, Any], list[str]]:
    """What is measured for a page of its own, and that page."""
    from kibitz.bench import bench_cluster, bench_gpu, bench_shards, bench_spots, bench_spots_gpu, cluster_page

    if only == GPU:
        measured = bench_gpu.bench_gpu(2.0 if quick else 10 * seconds, out, say)
        return measured, bench_gpu.gpu_markdown(measured)
    if only == CLUSTER:
        measured = bench_cluster.bench_cluster(quick, out, say)
        return measured, cluster_page.cluster_markdown(measured)
    if only == SHARDS:
        measured = bench_shards.bench_shards(quick, out, say)
        return measured, bench_shards.shards_markdown(measured)
    if only == SPOTS_GPU:
        measured = bench_spots_gpu.bench_spots_gpu(quick, out, say)
        return measured, bench_spots_gpu.spots_gpu_markdown(measured)
    measured = bench_spots.bench_spots(quick, out, say)
    return measured, bench_spots.spots_markdown(measured)


def bench(
    seconds: float = 2.0, quick: bool = False, out: str | Path | None = None,
    markdown: str | Path | None = None, only: str | None = None, peers_python: str | None = None,
    say: Callable[[str], None] | None = None, show: Callable[[list[str]], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run the benchmark; returns what the JSON file holds.

    say: prints a line. show: prints lines of Markdown; as they are unless given.
    """
    say = say or partial(print, flush=True)
    show = show or (lambda lines: say("\n".join(lines)))
    figures = [f for f in peers.FIGURES if only is None or only == f]
    if only is not None and only not in (*peers.FIGURES, *ALONE, *OWN_PAGE):
        raise KibitzError(f"--only {only}: choose one of {', '.join((*peers.FIGURES, *ALONE, *OWN_PAGE))}")
    if only in (FULL, NO_LIMIT, FLOPS):
        from kibitz.bench.flops import bench_flops
        from kibitz.bench.nolimit import bench_nolimit
        from kibitz.bench.toepen_full import bench_full

        message, own_page = say, {FULL: bench_full, NO_LIMIT: bench_nolimit, FLOPS: bench_flops}[only]
        return own_page(quick, out, markdown, lambda what, done, of: message(f"{what} {done}/{of}"))
    if only in OWN_PAGE:
        measured, lines = _own_page(only, quick, seconds, out, say)
        show(lines)
        return measured
    seconds = 0.3 if quick else seconds
    python = peers_python or os.environ.get("KIBITZ_PEERS_PYTHON") or sys.executable
    result: dict[str, Any] = {"machine": machine(), "seconds_per_figure": seconds}
    rows, versions = compare(figures, seconds, 5.0 if quick else 60.0, python, say)
    result["peers"] = versions
    result["rows"] = [asdict(row) | {"verdict": row.verdict} for row in rows]
    measures: dict[str, Callable[[], Any]] = {
        "start": start_figure,
        "large": lambda: large_figure("leduc(ranks=6, suits=3)" if quick else LARGE, 20 if quick else 200),
        **{figure: partial(_threaded, solver, games[-3:-1] if quick else games, max(4 * seconds, 2.0))
           for figure, solver, games in THREADED},
        "toepen": lambda: toepen_figure(quick),
        "cards": lambda: cards_figure(seconds, quick, python),
        "poker": lambda: poker_figure(quick),
        "pcs": lambda: holdem_figure(seconds, quick, python),
        "three": lambda: three_figure(seconds, quick),
        "jam": lambda: jam_figure(seconds, quick),
        "serve": lambda: serve_figure(quick),
        "endgames": lambda: endgames_figure(quick),
    }  # fmt: skip
    for figure, measure in measures.items():
        if only in (None, "threads" if figure in results.THREADED else figure):
            result[figure] = measure()
            show(results.section_of(figure, result[figure]))
    every = results.joined(results.read(out) if out else {}, result, only)
    if out is not None:
        results.write(out, every)
    if only is None:
        show(results.goals(result))
    if markdown is not None:
        store.write_text(markdown, results.markdown(every))
    return every[results.section(result)]


def _threaded(solver: str, games: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    work = stepping_on_boards if solver == "pcs" else stepping
    return [threads_figure(partial(work, solver, game), game, seconds) for game in games]
