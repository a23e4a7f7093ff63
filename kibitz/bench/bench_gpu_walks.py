"""Walks on a GPU, checked against those on the processor first, and only then timed: part of kibitz bench --only gpu.

A check trains a small game twice. *One thread* walks the first iterations as a processor does, so that all rows agree
up to single precision. *Many threads* train it for long; their strategy differs from a processor's by no more than two
runs of the processor with other seeds differ. Checks run side by side in processes of their own: most of their time is
compiling.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.bench.bench_gpu_exact import EXACT, exactly, killed
from kibitz.core.errors import SolverError
from kibitz.report.tables import section

EXAMPLE = "examples/tricks.py:Tricks(cards=20, hand=5)"
CLOSE, AGREE, APART = 1e-3, 0.98, 1.5  # of sums; least share of rows; most times as far as two runs of a processor
MANY = (4, 32)  # blocks and threads: in a small game many more would all walk by the same strategy
CPU_THREADS, CPU_SECONDS = 2, 4.0
BLOCK_SECONDS = 0.5  # of a launch that is timed
KILLED = "killed"  # the name of what is left of a training that was killed


class GpuBench:
    """What the stages of kibitz bench --only gpu share.

    seconds   of each rate
    compared  whether the processor is timed too
    wait      seconds after which a check that is not done counts as late
    """

    def __init__(
        self, seconds: float, compared: bool, wait: float, out: Path | None, say: Callable[[str], None]
    ) -> None:
        self.seconds, self.compared, self.wait, self.out, self._say = seconds, compared, wait, out, say
        self.result: dict[str, Any] = {}
        self._began = time.perf_counter()

    def keep(self, line: str) -> None:
        """Print a line, and save what is measured so far."""
        self._say(f"{time.perf_counter() - self._began:6.1f} s  {line}")
        if self.out is not None:
            self.out.write_text(json.dumps(self.result, indent=1) + "\n")


@dataclass(frozen=True)
class CheckedGame:
    """A small game. few: iterations of one thread; many: of many threads, 0 for none."""

    game: str
    few: int
    many: int = 0
    buckets: str = ""  # of rows by place

    def blueprint(self, seed: int) -> Any:
        from kibitz.solvers.blueprint import Blueprint
        from kibitz.solvers.machines import machine_of

        machine = machine_of(self.game)
        if not self.buckets:
            return Blueprint.empty(machine, None, 1 << 26, seed)
        from kibitz.poker.blueprints.placed_rows import placed_blueprint
        from kibitz.poker.rules.rows import RowPlan

        return placed_blueprint(machine, RowPlan((self.buckets,)), seed)


CHECKS = {
    "leduc": CheckedGame("leduc", 150, 400_000),
    "toepen": CheckedGame("toepen(suits=2, ranks=4, hand=2)", 80, 150_000),
    "example": CheckedGame(EXAMPLE, 60),
    "poker": CheckedGame("poker(file=holdem.limit.3p, ranks=4)", 20, buckets="percentile([4, 3, 2, 2], recall=false)"),
    "holdem": CheckedGame("holdem.limit.3p", 20, buckets="percentile([8, 3, 2, 2], recall=false)"),
}
TIMED: dict[str, tuple[str, dict[str, Any]]] = {  # name -> game, what its blueprint is made with
    "three": ("holdem.limit.3p", {"max_infosets": 162_000_000}),
    "toepen": ("toepen", {"memory": 8_000_000_000}),
    "example": (EXAMPLE, {"memory": 4_000_000_000}),
}
GOALS = {"three": 1500e6, "toepen": 300e6}  # decisions a second on one H200; the example: 50 times two cores


# Checks


def check(name: str) -> dict[str, Any]:
    """How a small game trained on the GPU compares with one that the processor trained."""
    from kibitz.solvers.gpu import GpuWalks

    of, began = CHECKS[name], time.perf_counter()
    one, two = of.blueprint(5), of.blueprint(5)
    with GpuWalks(one, shape=(1, 1)) as walks:
        walks.step(of.few)
    two.train(iterations=of.few)
    share, counts = agreement(one, two), bool(one.counts[0] == two.counts[0])
    answer: dict[str, Any] = {"game": of.game, "iterations": of.few, "rows": one.progress().rows, "agree": share,
                              "visited": counts, "right": counts and share >= AGREE}  # fmt: skip
    if of.many:
        trained = [of.blueprint(seed) for seed in (1, 2, 3)]
        with GpuWalks(trained[0], shape=MANY) as walks:
            while trained[0].iteration < of.many:
                walks.step(min(of.many, trained[0].next_halving) - trained[0].iteration)
        for blueprint in trained[1:]:
            blueprint.train(iterations=of.many)
        gpu, cpu, other = (_strategy(blueprint) for blueprint in trained)
        answer |= {"many": of.many, "apart": _distance(gpu, cpu), "cpu_apart": _distance(other, cpu)}
        answer["right"] = answer["right"] and answer["apart"] <= APART * answer["cpu_apart"]
    return answer | {"seconds": time.perf_counter() - began}


def agreement(one: Any, two: Any) -> float:
    """The share of the rows of `two`, or of its columns, that have the same numbers in `one`."""
    ours, theirs = one.arrays(), two.arrays()
    if "regret" in theirs:
        same = np.ones(0, np.bool_)
        for name in ("regret", "average"):
            used = (theirs[name] != 0) | (ours[name] != 0)
            same = np.append(same, np.isclose(ours[name][used], theirs[name][used], CLOSE, CLOSE))
        return float(same.mean())
    at = np.searchsorted(ours["key"], theirs["key"]).clip(max=len(ours["key"]) - 1)
    close = np.isclose(ours["value"][at], theirs["value"], CLOSE, CLOSE).all(axis=1)
    return float((close & (ours["key"][at] == theirs["key"])).mean())


def _strategy(blueprint: Any) -> tuple[Any, Any, Any]:
    """(keys, average strategy, its weight) of hashed rows."""
    arrays = blueprint.arrays()
    average = arrays["value"][:, blueprint.machine.actions :].astype(np.float64)
    total = average.sum(axis=1)
    return arrays["key"], average / np.maximum(total, 1e-30)[:, None], total / total.sum()


def _distance(one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]) -> float:
    """How far apart two strategies are in the rows that both have, by the weights of the second."""
    _, here, there = np.intersect1d(one[0], two[0], return_indices=True)
    return float((np.abs(one[1][here] - two[1][there]).sum(axis=1) * two[2][there]).sum())


# Speed


def timed_blueprint(name: str) -> Any:
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.new_blueprints import BlueprintRequest, new_blueprint

    game, options = TIMED[name]
    return new_blueprint(machine_of(game), BlueprintRequest(seed=1, **options))


def gpu_rate(blueprint: Any, seconds: float, walks: Any) -> dict[str, Any]:
    """Decisions a second of a GPU whose code is compiled, in launches of about half a second."""
    count, at, done, spent, warm = walks.first_block, 0, 0, 0.0, False
    while spent < seconds:
        began = time.perf_counter()
        visited = int(walks.walk(at, at + count)[0])
        taken = time.perf_counter() - began
        at += count
        if warm:
            done, spent = done + visited, spent + taken
        warm = warm or taken > BLOCK_SECONDS / 2  # the first launches are short
        count = max(1, min(2 * count, int(count * BLOCK_SECONDS / max(taken, 1e-9))))
    blueprint.iteration = at
    return {"decisions": done / spent, "iterations": at, "seconds": spent}


def cpu_rate(name: str) -> float:
    """Decisions a second of two cores."""
    blueprint = timed_blueprint(name)
    blueprint.warm_up()
    blueprint.train(seconds=CPU_SECONDS / 4, threads=CPU_THREADS)
    before, began = blueprint.progress().visited, time.perf_counter()
    blueprint.train(seconds=CPU_SECONDS, threads=CPU_THREADS)
    return float(blueprint.progress().visited - before) / (time.perf_counter() - began)


# The whole


def bench_walks(bench: GpuBench) -> None:
    """Check, measure exactly, then time."""
    from kibitz.solvers.gpu import GpuWalks

    result, keep, began = bench.result, bench.keep, time.perf_counter()
    result |= {"checks": {}, "exact": {}, "rates": {}}
    tasks = [("--check", name) for name in CHECKS] + [("--exact", name) for name in (*EXACT, KILLED)]
    tasks += [("--cpu", name) for name in TIMED if bench.compared]
    children = [_started(*task) for task in tasks]

    def collect(task: tuple[str, str], child: subprocess.Popen[str]) -> None:
        name, answer = task[1], _answer(child, max(1.0, bench.wait - (time.perf_counter() - began)))
        if task[0] != "--cpu":
            result["checks" if task[0] == "--check" else "exact"][name] = answer
            keep(f"{task[0][2:]} of {name}: {json.dumps(answer)}")
        elif "rate" in answer:
            result["rates"].setdefault(name, {})["cpu"] = answer["rate"]
            keep(f"{name}: {answer['rate'] / 1e6:,.1f} million decisions a second on {CPU_THREADS} cores")
        else:
            keep(f"{name} on {CPU_THREADS} cores: {answer}")

    try:
        ready = {}
        with ThreadPoolExecutor(len(tasks)) as pool:
            collecting = [pool.submit(collect, *each) for each in zip(tasks, children, strict=True)]
            for name in list(TIMED)[:1]:  # set up and compiled while the checks are
                ready[name] = _ready(timed_blueprint(name), GpuWalks)
                keep(f"{name}: compiled")
            for each in collecting:
                each.result()
        wrong = [name for answers in (result["checks"], result["exact"]) for name, answer in answers.items()
                 if answer.get("right") is False]  # fmt: skip
        if wrong or not any(answer.get("right") for answer in result["checks"].values()):
            raise SolverError(f"the GPU does not learn what the processor does ({', '.join(wrong)}): nothing was timed")
        for name in TIMED:
            blueprint, walks = ready.pop(name) if name in ready else _ready(timed_blueprint(name), GpuWalks)
            rate = gpu_rate(blueprint, bench.seconds, walks)
            of = result["rates"].setdefault(name, {})
            of |= {"game": blueprint.machine.spec, "rows": blueprint.capacity, "bytes": blueprint.nbytes, **rate}
            if "cpu" in of:
                of["ratio"] = of["decisions"] / of["cpu"]
            del blueprint, walks
            keep(f"{name}: {rate['decisions'] / 1e6:,.0f} million decisions a second  {json.dumps(of)}")
    finally:
        for child in children:
            child.kill()


def walks_markdown(result: dict[str, Any]) -> list[str]:
    if "rates" not in result:
        return []
    lines = ["| game | infosets, at most | GPU, million decisions per second | 2 CPU cores | GPU / 2 cores |"]
    lines.append("|---|---:|---:|---:|---:|")
    for of in sorted(result["rates"].values(), key=lambda of: -of["decisions"]):
        cpu, ratio = (f"{of['cpu'] / 1e6:,.1f}", f"{of['ratio']:,.0f}x") if "ratio" in of else ("-", "-")
        lines.append(f"| `{of['game']}` | {of['rows']:,} | {of['decisions'] / 1e6:,.0f} | {cpu} | {ratio} |")
    return section(
        "Monte Carlo CFR", "`kibitz train GAME --device gpu`: external sampling. Each thread of the GPU "
        "traverses deals of its own. All of them add to one table by atomic additions, in single precision. A run is "
        "not reproducible to the byte, because the order of additions varies. Before anything was timed, training of "
        f"{len(result['checks'])} games was compared with the same training on the CPU.", lines,
    )  # fmt: skip


def walks_checks(result: dict[str, Any]) -> list[str]:
    """What was checked before walks were timed."""
    if "checks" not in result:
        return []
    rows = []
    for of in result["checks"].values():
        if "agree" not in of:
            continue
        far = f"{of['apart']:.3f}, two CPU runs {of['cpu_apart']:.3f}" if "many" in of else "-"
        rows.append(f"| `{of['game']}` | {of['iterations']} | {100 * of['agree']:.0f}% | {far} |")
    return [
        "## Checks of Monte Carlo CFR", "",
        "*One thread* of the GPU walks the first iterations. The share of table entries that agree with the CPU (to a",
        f"thousandth) must be at least {100 * AGREE:.0f}%. *Many threads* then train for long. The distance between",
        f"the strategies of GPU and CPU must be at most {APART} times that between two CPU runs with different seeds.",
        "", "| game | iterations of one thread | entries that agree | distance after long training |",
        "|---|---:|---:|---:|", *rows, "", *_exact_section(result.get("exact", {})),
    ]  # fmt: skip


def _exact_section(exact: dict[str, Any]) -> list[str]:
    """What a GPU's training is worth."""
    if not exact:
        return []
    rows, left = [], exact.get(KILLED)
    for name, of in exact.items():
        if name == KILLED or "gpu" not in of:
            continue
        cpu = ", ".join(f"{each:.4f}" for each in of["cpu"]) + f" ({of['cpu_iterations']:,})"
        cfr = f"{of['cfr']:.4f} ({of['cfr_iterations']:,})" if "cfr" in of else "-"
        rows.append(f"| `{of['game']}` | {of['gpu']:.4f} ({of['gpu_iterations']:,}) | {cpu} | {cfr} |")
    lines = [
        "## Exact measures", "",
        "NashConv of the average strategy in the whole game, and iterations in brackets. In Leduc poker GPU and CPU",
        "run the same number of iterations, the CPU with three seeds. In Rhode Island hold'em GPU and two CPU cores",
        "run for the same time. CFR runs on the tree, on the CPU.", "",
        "| game | GPU | CPU | full CFR |", "|---|---:|---:|---:|", *rows, "",
    ]  # fmt: skip
    if left and "left" in left:
        lines += [f"A training of `{left['game']}` on the GPU was killed with SIGKILL. Its last checkpoint had",
                  f"{left['left']:,} iterations, and `--resume` continued it to {left['continued_to']:,}.", ""]
    return lines


def _ready(blueprint: Any, walks: Any) -> tuple[Any, Any]:
    return blueprint, walks(blueprint)


def _started(what: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kibitz.bench.bench_gpu_walks", what, name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _answer(child: subprocess.Popen[str], wait: float) -> dict[str, Any]:
    """What a process found; or that it is late; or how it failed, which is not right."""
    try:
        out, error = child.communicate(timeout=wait)
    except subprocess.TimeoutExpired:
        child.kill()
        return {"late": True}
    return {"right": False, "error": error[-1500:]} if child.returncode else dict(json.loads(out.splitlines()[-1]))


def main(arguments: Sequence[str] | None = None) -> None:
    """One check, one exact measure or one rate of the CPU, in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_gpu_walks")
    parser.add_argument("--check")
    parser.add_argument("--exact")
    parser.add_argument("--cpu")
    of = parser.parse_args(arguments)
    if of.check:
        answer = check(of.check)
    elif of.cpu:
        answer = {"rate": cpu_rate(of.cpu)}
    else:
        answer = killed() if of.exact == KILLED else exactly(of.exact)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
