"""Public chance sampling on a GPU: one iteration against the same on the CPU first, and only then boards a second.

It is a part of `kibitz bench --only gpu`; python -m kibitz.bench.bench_gpu_boards --seconds 10 --json boards.json runs
it alone.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.report.tables import section

HOLDEM = "poker(file=holdem.limit.2p)"
CHECKS = {  # name -> game, buckets
    "leduc": ("poker(file=leduc)", "percentile(2)"),
    "hold'em of 12 cards": ("poker(file=holdem.limit.2p, ranks=4, suits=3)", "percentile(3)"),
}
TIMED = {"24 million": (8, 8, 8, 8), "200 million": (8, 8, 8, 64)}  # buckets that each is cut into, by round
GOALS = {"24 million": 3000.0, "200 million": 1000.0}  # boards a second on one H200
CLOSE = 1e-5  # of the largest number, after an iteration in single precision
LATE = 100_000  # iterations after which batches have their full size
CPU_THREADS, CPU_BOARDS = 2, 40


def _form(game: str, buckets: str) -> Any:
    from kibitz.games import game as make_game
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.sampled.form import ViewForm

    rules: Any = make_game(game)
    return ViewForm(rules, [hand_buckets(rules.definition, buckets)])


def made_up_buckets(definition: Any, children: Sequence[int], seed: int = 0) -> Any:
    """Buckets for measurements, made in seconds: by ranks and colours of a hand, in the last round cut by strength.

    They have the sizes of percentile buckets, spread the hands of a board over as many rows, and are no good for play.
    """
    from kibitz.cards.boards import boards_of, pairs
    from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets

    boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
    rounds, before = [], 1
    for level, (here, n) in enumerate(zip(boards.rounds, children, strict=True)):
        count, parent = before * n, np.repeat(np.arange(before), n)
        if level + 1 == len(children):
            most = 2 * boards.hands(level, definition.hole)  # twice the hands that are beaten
            rounds.append(RoundBuckets(count, parent, None, np.tile(np.arange(n) * most // n, before)))
            break
        table = np.empty((len(here.cards), boards.hands(level, definition.hole)), np.uint16)
        hands, size = pairs(boards.live(level), definition.hole), 1 << 12
        for at in range(0, len(table), size):
            cards = here.cards[at : at + size]
            free = (cards[:, :, None] != boards.deck).all(axis=1)  # [boards, deck]
            live = (np.broadcast_to(boards.deck, free.shape)[free] >> 1).astype(np.uint32).reshape(len(cards), -1)
            number = np.arange(at, at + len(cards))[:, None] + 7 * seed
            mixed = 26 * live[:, hands[:, 0]] + live[:, hands[:, -1]] + number * 191
            table[at : at + size] = (mixed.astype(np.uint32) * np.uint32(2654435761) >> np.uint32(12)) % count
        rounds.append(RoundBuckets(count, parent, table))
        before = count
    return HandBuckets(f"made-up {list(children)}, {seed}", boards, definition.hole, tuple(rounds))


def _start(form: Any) -> Any:
    """Random probabilities, so that all rows play something of their own."""
    from kibitz.forms.sequence import normalise

    draw = np.random.Generator(np.random.Philox(3))
    return normalise(draw.standard_exponential(form.columns), form.infosets)


def check(name: str, on_gpu: Callable[..., Any] | None = None) -> dict[str, Any]:
    """How what an iteration learns on the GPU compares with what it learns on the CPU. on_gpu: makes the solver."""
    from kibitz.poker.sampled.gpu import GpuPcs
    from kibitz.poker.sampled.pcs import Pcs
    from kibitz.solvers import Task

    game, buckets = CHECKS[name]
    form = _form(game, buckets)
    task = Task(None, form, None, _start(form), 1, CPU_THREADS)
    one, two = (on_gpu or GpuPcs)(task, "pcs", True), Pcs(task, "pcs", True)
    for solver in (one, two):
        solver.step(1)
    here, there = one.probabilities(), two.probabilities()
    apart = [float(np.abs(here - there).max())]
    for what, mine in one.state.items():
        if what.startswith("regret"):
            apart.append(float(np.abs(mine - two.state[what]).max() / np.abs(two.state[what]).max()))
    return {"game": game, "buckets": buckets, "apart": max(apart), "right": max(apart) <= CLOSE}


def timed_form(children: Sequence[int]) -> Any:
    """Limit hold'em in made-up buckets."""
    from kibitz.games import game
    from kibitz.poker.sampled.form import ViewForm

    rules: Any = game(HOLDEM)
    return ViewForm(rules, [made_up_buckets(rules.definition, children)])


def rate(form: Any, seconds: float) -> dict[str, Any]:
    """Boards a second on the GPU, in batches of full size."""
    from kibitz.poker.sampled.gpu import GpuPcs
    from kibitz.solvers import Task

    solver = GpuPcs(Task(None, form, None, None, 1, cores()), "pcs", True)
    solver.iteration = LATE
    solver.step(4 * solver.most)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        solver.step(4 * solver.most)
        done += 4 * solver.most
    boards = done / (time.perf_counter() - began)
    solver.close()
    return {"game": HOLDEM, "infosets": form.points, "batch": solver.most, "boards": boards}


def cpu_rate(form: Any) -> float:
    """Boards a second of two cores."""
    from kibitz.poker.sampled.pcs import Pcs
    from kibitz.solvers import Task

    solver = Pcs(Task(None, form, None, None, 1, CPU_THREADS), "pcs", True)
    solver.step(4)
    began = time.perf_counter()
    solver.step(CPU_BOARDS)
    return CPU_BOARDS / (time.perf_counter() - began)


def bench_boards(seconds: float, say: Callable[[str], None] = print, compared: bool = True) -> dict[str, Any]:
    """Check, then measure. compared: whether two cores are timed too, with the smaller strategy."""
    result: dict[str, Any] = {"checks": {}, "rates": {}}
    for name in CHECKS:
        result["checks"][name] = answer = check(name)
        say(f"boards, check of {name}: {json.dumps(answer)}")
    wrong = [name for name, answer in result["checks"].items() if not answer["right"]]
    if wrong:
        raise SolverError(f"boards on the GPU teach other strategies than on the CPU ({', '.join(wrong)}): nothing was "
                          "timed")  # fmt: skip
    for number, (name, children) in enumerate(TIMED.items()):
        form = timed_form(children)
        result["rates"][name] = of = {"buckets": form.views[0].counts, **rate(form, seconds)}
        if compared and not number:
            of["cpu"] = cpu_rate(form)
        say(f"boards, {name} infosets: {of['boards']:,.0f} a second  {json.dumps(of)}")
    return result


def boards_markdown(result: dict[str, Any]) -> list[str]:
    lines = ["| infosets | buckets by round | GPU, boards per second | 2 CPU cores | GPU / 2 cores |"]
    lines.append("|---:|---|---:|---:|---:|")
    for of in result["rates"].values():
        cpu, ratio = (f"{of['cpu']:,.1f}", f"{of['boards'] / of['cpu']:,.0f}x") if "cpu" in of else ("-", "-")
        by_round = ", ".join(f"{count:,}" for count in of["buckets"])
        lines.append(f"| {of['infosets']:,} | {by_round} | {of['boards']:,.0f} | {cpu} | {ratio} |")
    batch = next(iter(result["rates"].values()))["batch"]
    return section(
        "Public chance sampling on a GPU", "`kibitz solve holdem.limit.2p --solver pcs --device gpu`, in synthetic "
        "buckets with the sizes of percentile buckets. All hands of both players are computed on each board, "
        f"{batch} boards for each update of the strategy. Before anything was timed, an iteration on "
        f"{len(result['checks'])} small games was compared with the same iteration on the CPU.", lines,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_gpu_boards")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json")
    parser.add_argument("--alone", action="store_true", help="do not time the processor")
    of = parser.parse_args()
    result = bench_boards(of.seconds, lambda line: print(line, flush=True), not of.alone)
    if of.json:
        Path(of.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
