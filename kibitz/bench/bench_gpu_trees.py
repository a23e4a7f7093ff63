"""A stage of `kibitz bench --only gpu`: CFR+ on game trees by a GPU, checked against the processor and then timed.

    python -m kibitz.bench.bench_gpu_trees --json trees.json     this stage alone

A check takes ten iterations of two variants on both devices: averages agree to 1e-7 of the largest (a game of three
players multiplies differences of rounding), values and best responses to 1e-9 of the largest payoff. Rates are of CFR+
alone, the median of some runs: the processor's with one thread and with all cores. OpenSpiel's C++ CFR+ is timed in
a process of its own where `pyspiel` can be imported; its universal_poker has the rules of Leduc with more cards.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import KibitzError, SolverError
from kibitz.core.resources import cores
from kibitz.report.tables import section

CHECKED = ("kuhn", "leduc", "liars_dice(dice_sides=5)", "kuhn(players=3)", "leduc(players=3)")
VARIANTS, FEW = ("cfr+", "dcfr+"), 10
AVERAGES, VALUES = 1e-7, 1e-9
MILLION, TEN_MILLION = "leduc(ranks=6, suits=4)", "leduc(ranks=13, suits=4)"
TIMED = (  # the most important first
    MILLION, TEN_MILLION, "leduc(players=3)", "leduc", "leduc(ranks=4)", "leduc(ranks=5)", "liars_dice(dice_sides=5)",
    "liars_dice(dice_sides=6)", "leduc(ranks=4, suits=4)", "leduc(ranks=6)", "kuhn",
)  # fmt: skip
GOALS = {MILLION: 10_000, TEN_MILLION: 50_000}  # times OpenSpiel's rate, on one H200
SOLVED = (MILLION, TEN_MILLION)
UNTIL = 1e-4
PATIENCE = 600.0  # seconds for OpenSpiel

Laid = Callable[[str], tuple[Any, int]]  # spec -> (form, histories)


def laid_out(spec: str) -> tuple[Any, int]:
    """The sequence form of a game, and how many histories it has."""
    from kibitz.forms.sequence import build
    from kibitz.games import game
    from kibitz.games.tree import tree_of

    tree = tree_of(game(spec))
    return build(tree), len(tree.parent)


def solver_on(form: Any, spec: str, device: str, threads: int = 1) -> Any:
    from kibitz.solvers import Task, make

    return make(spec, Task(None, form, threads=threads, device=device))


# Checks


def check_tree(form: Any) -> dict[str, Any]:
    """How far ten iterations on the GPU are from those of the processor, and whether the GPU gives the same again."""
    averages = values = 0.0
    again = True
    inner = form.column >= 0  # sums of empty sequences are not read
    for variant in VARIANTS:
        mine, gpu, other = (solver_on(form, variant, device) for device in ("cpu", "gpu", "gpu"))
        for each in (mine, gpu, other):
            each.step(FEW)
        here, there, more = (each.state["average"].copy() for each in (mine, gpu, other))
        averages = max(averages, float(np.abs(there - here)[inner].max(initial=0.0) / here.max()))
        for one, two in zip(mine.measure()[:2], gpu.measure()[:2], strict=True):
            values = max(values, float(np.abs(one - two).max()) / form.scale)
        again = again and bool(np.array_equal(there, more))
    return {"averages": averages, "values": values, "same_bytes": again,
            "right": averages <= AVERAGES and values <= VALUES and again}  # fmt: skip


# Rates


def rate_of(solver: Any, seconds: float) -> float:
    """Iterations a second: the median of some blocks that together take about `seconds`."""
    rates, count, spent = [], 1, 0.0
    solver.step(40)  # compiled, and the best shape of a launch found
    while spent < seconds:
        began = time.perf_counter()
        solver.step(count)
        taken = time.perf_counter() - began
        spent += taken
        if taken > seconds / 20:
            rates.append(count / taken)
        else:
            count = max(count + 1, min(8 * count, int(count * seconds / 10 / max(taken, 1e-6))))
    return float(np.median(rates)) if rates else count / max(taken, 1e-9)


def time_gpu(form: Any, histories: int, seconds: float) -> dict[str, Any]:
    """The rate of CFR+ on the GPU, and how large the game is."""
    gpu = solver_on(form, "cfr+", "gpu")
    rate, state = rate_of(gpu, seconds), gpu.cfr_state
    return {"histories": histories, "entries": form.entries, "infosets": len(form.infosets.labels),
            "players": form.seats, "bytes": state.layout.bytes, "gpu": rate, "shape": list(state.shape)}  # fmt: skip


def time_cores(form: Any, seconds: float) -> dict[str, float]:
    """The rates of the processor."""
    return {name: rate_of(solver_on(form, "cfr+", "cpu", threads), seconds)
            for name, threads in (("thread", 1), ("cores", cores()))}  # fmt: skip


def time_to(form: Any, seconds: float) -> dict[str, Any]:
    """Seconds on the GPU to a NashConv of 1e-4, evaluations included, by the variant that "auto" takes."""
    from kibitz.solvers.progress import RunState
    from kibitz.solvers.run import Stops, iterate

    solver, state = solver_on(form, form.best_cfr, "gpu"), RunState()
    iterate(solver, form, state, Stops(None, UNTIL, seconds))
    return {"solver": solver.spec, "until": UNTIL, "seconds": state.seconds, "iterations": solver.iteration,
            "nash_conv": state.history[-1].nash_conv}  # fmt: skip


# OpenSpiel


def spiel_name(spec: str) -> str | None:
    """A game as OpenSpiel names it; None where it has no such game."""
    from kibitz.core.spec import parse

    of = parse(spec)
    if of.name == "kuhn":
        return f"kuhn_poker(players={of.args.get('players', 2)})"
    if of.name == "liars_dice":
        return f"liars_dice(numdice=1,dice_sides={of.args.get('dice_sides', 6)})"
    if of.name == "leduc" and of.args.keys() <= {"ranks", "suits"}:
        ranks, suits = of.args.get("ranks", 3), of.args.get("suits", 2)
        return (
            f"universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
            f"maxRaises=2 2,numSuits={suits},numRanks={ranks},numHoleCards=1,numBoardCards=0 1)"
        )
    if of.name == "leduc" and of.args.keys() == {"players"}:
        return f"leduc_poker(players={of.args['players']})"
    return None


def spiel_rate(name: str, seconds: float) -> dict[str, float]:
    """Iterations a second of OpenSpiel's C++ CFR+ in this process: the best of at least three."""
    import pyspiel

    began = time.perf_counter()
    solver = pyspiel.CFRPlusSolver(pyspiel.load_game(name))
    ready, best, count, done = time.perf_counter() - began, 1e30, 1, 0
    while done < 3 or time.perf_counter() - began < seconds:
        starts = time.perf_counter()
        for _ in range(count):
            solver.evaluate_and_update_policy()
        taken = time.perf_counter() - starts
        best, done = min(best, taken / count), done + 1
        count = max(count, min(10 * count, int(count * seconds / 5 / max(taken, 1e-9))))
    return {"rate": 1.0 / best, "setup": ready}


def _spiel(name: str, seconds: float) -> subprocess.Popen[str]:
    order = [sys.executable, "-m", "kibitz.bench.bench_gpu_trees", "--openspiel", name, "--seconds", str(seconds)]
    return subprocess.Popen(order, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _answer(child: subprocess.Popen[str]) -> float | None:
    """OpenSpiel's rate; None where it is not there, or takes too long."""
    try:
        out, _ = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        return None
    return None if child.returncode else float(json.loads(out.splitlines()[-1])["rate"])


# The whole


def bench_trees(
    seconds: float = 2.0,
    say: Callable[[str], None] = print,
    *,
    laid: Laid = laid_out,
    checked: Iterable[str] = CHECKED,
    timed: Iterable[str] = TIMED,
    solved: Iterable[str] = SOLVED,
    compared: bool = True,
    into: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Check, then measure; returns what the JSON file has as "trees", which is filled on the way.

    compared: processor and OpenSpiel too.
    """
    result = {} if into is None else into
    result |= {"checks": {}, "rates": {}, "cores": cores()}
    for spec in checked:
        result["checks"][spec] = answer = check_tree(laid(spec)[0])
        say(f"check of CFR on {spec}: {json.dumps(answer)}")
    if wrong := [spec for spec, answer in result["checks"].items() if not answer["right"]]:
        raise SolverError(f"CFR on the GPU is not that of the processor ({', '.join(wrong)}): nothing was timed")
    for spec in timed:
        name = spiel_name(spec) if compared else None
        child = _spiel(name, seconds) if name else None  # while the GPU is timed, and ended before cores are
        form, histories = laid(spec)
        result["rates"][spec] = figures = time_gpu(form, histories, seconds)
        if spec in solved:
            figures["to"] = time_to(form, 60.0)
        if child is not None and (openspiel := _answer(child)) is not None:
            figures |= {"openspiel": openspiel, "times_openspiel": figures["gpu"] / openspiel}
        if compared:
            figures |= time_cores(form, seconds)
            figures["ratio"] = figures["gpu"] / max(figures["thread"], figures["cores"])
            result["crossover"] = crossover(result["rates"].values())
        say(f"CFR+ on {spec}: {json.dumps(figures)}")
    return result


def crossover(rates: Iterable[dict[str, Any]]) -> tuple[int, int | None]:
    """Payoff entries of the largest game for which the GPU is slower, and of the smallest above it."""
    compared = [(of["entries"], of["ratio"]) for of in rates if "ratio" in of]
    slower = max((entries for entries, ratio in compared if ratio < 1.0), default=0)
    return slower, min((entries for entries, _ in compared if entries > slower), default=None)


def trees_markdown(result: dict[str, Any]) -> list[str]:
    """The section of docs/gpu.md; nothing where this stage was not measured."""
    if not result.get("trees", {}).get("rates"):
        return []
    trees = result["trees"]
    names = ("game", "histories", "payoff entries", "GPU, iterations/s", "one thread", "all cores", "GPU / the faster",
             "OpenSpiel's C++, one thread", "GPU / OpenSpiel", "GPU, to NashConv 1e-4")  # fmt: skip
    lines = [f"| {' | '.join(names)} |", "|---|" + "---:|" * (len(names) - 1)]
    for spec, of in sorted(trees["rates"].items(), key=lambda each: int(each[1]["entries"])):

        def shown(name: str, text: str, of: dict[str, Any] = of) -> str:
            return text.format(of[name]) if name in of else "-"

        to = "-"
        if "to" in of:
            to = f"{of['to']['seconds']:.2f} s, {of['to']['iterations']:,} iterations of {of['to']['solver']}"
        lines.append(
            f"| `{spec}` | {of['histories']:,} | {of['entries']:,} | {of['gpu']:,.0f} | {shown('thread', '{:,.0f}')} | "
            f"{shown('cores', '{:,.0f}')} | {shown('ratio', '{:.2g}x')} | {shown('openspiel', '{:.3g}')} | "
            f"{shown('times_openspiel', '{:,.0f}x')} | {to} |"
        )
    checks = trees["checks"].values()
    worst = max((of["averages"] for of in checks), default=0.0), max((of["values"] for of in checks), default=0.0)
    low, high = trees.get("crossover", (0, None))
    between = f"between {low:,} and {high:,}" if high is not None else f"above {low:,}"
    return section(
        "CFR on game trees",
        "`kibitz solve GAME --solver cfr+ --device gpu`: iterations of CFR+ a second, in double precision. One launch "
        f"does thousands of iterations. Before anything was timed, {FEW} iterations of {' and '.join(VARIANTS)} on "
        f"{len(trees['checks'])} games were compared with the CPU: averages differ by at most {worst[0]:.0e}, values "
        f"by {worst[1]:.0e}, and a second run on the GPU gives the same bytes. All cores: {trees['cores']}. The GPU is "
        f"the faster device from some number of payoff entries {between} on; solver `auto` tries both devices.", lines,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_gpu_trees")
    parser.add_argument("--openspiel", help="OpenSpiel's rate of one game alone")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    of = parser.parse_args()
    if of.openspiel:
        print(json.dumps(spiel_rate(of.openspiel, of.seconds)))
        return
    try:
        result = bench_trees(of.seconds)
    except KibitzError as error:
        sys.exit(f"error: {error}")
    if of.json:
        Path(of.json).write_text(json.dumps({"trees": result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
