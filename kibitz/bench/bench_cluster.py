"""kibitz bench --only cluster: what pieces of work cost on a Ray cluster, compared with the pool of this machine.

The same work is done by `local:N` and by a Ray of N cores on this machine, in turns, and the answers are compared
before anything is reported. Other programs share the machine, so besides seconds the processor time is taken: that of
this process and all that it started, Ray's own processes included. `cluster_page.py` works out the rest from them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kibitz.bench.bench_base import shared_base
from kibitz.bench.bench_gpu_boards import made_up_buckets
from kibitz.bench.bench_gpu_whole import random_strategy
from kibitz.bench.verdicts import machine
from kibitz.cards import recipes, tables
from kibitz.core import store
from kibitz.core.errors import MissingExtra, SolverError
from kibitz.core.executor import executing, executor_of
from kibitz.core.pieces import Apart, Executor, OnPieces, Piece, size_of
from kibitz.core.resources import cores

GAME, WHOLE = "poker(file=holdem.limit.2p, ranks={ranks})", "poker(file=holdem.limit.2p)"
RANKS, WAYS = 5, 5  # of a shrunken hold'em: ranks of its deck, and buckets that each bucket is cut into
MATCH, PLAYERS = "holdem.limit.2p", ("uniform", "uniform")
DEALS = 24_000_000
WIDTHS = (8, 100, 1000, 4000)  # empty pieces that are under way at once
SENT = 64 << 20  # bytes that nodes fetch
NODES = (1, 2, 4)
UNSAVED = 1e9  # seconds: a part of a table is not saved
PROC = Path("/proc")


class Timed(NamedTuple):
    """What some work took: seconds, processor seconds of all processes and of this one, and its pieces on nodes."""

    wall: float
    processor: float
    driver: float
    pieces: int
    bytes_in: int
    bytes_out: int
    digest: str  # of the answer


@dataclass(frozen=True)
class ClusterWork:
    """Some work that is done in pieces. do(): returns what it answered, as bytes."""

    name: str
    about: str
    do: Callable[[], bytes]


class Metered:
    """An executor that counts pieces and bytes. It is `inner` in all else."""

    def __init__(self, inner: Executor) -> None:
        self.inner, self.name, self.elsewhere = inner, inner.name, inner.elsewhere
        self.jobs, self.beside = getattr(inner, "jobs", None), getattr(inner, "beside", False)
        self.pieces = self.bytes_in = self.bytes_out = 0

    def map(
        self, function: Callable[..., Any], pieces: Sequence[Piece], apart: Apart = "processes",
        on_progress: OnPieces | None = None, shared: tuple[Any, ...] = (),
    ) -> Iterator[tuple[int, Any]]:  # fmt: skip
        """(number, answer) of pieces as they are done."""
        for number, answer in self.inner.map(function, pieces, apart, on_progress, shared):
            self.pieces += 1
            self.bytes_in += size_of(pieces[number].arguments)
            self.bytes_out += size_of(answer)
            yield number, answer

    def artefact(self, path: str | os.PathLike[str]) -> Any:
        return self.inner.artefact(path)

    def close(self) -> None:
        self.inner.close()


def processor_seconds(without: Container[int] = (), proc: Path = PROC) -> float:
    """Processor time of this process and of all below it, those that have ended included, and some of them not."""
    spent = _processes_below(proc)
    return sum(ticks for pid, ticks in spent.items() if pid not in without) / os.sysconf("SC_CLK_TCK")


def _processes_below(proc: Path = PROC) -> dict[int, int]:
    """This process and all below it: their numbers, and clock ticks."""
    parents, spent = dict[int, int](), dict[int, int]()
    for path in proc.glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        parents[pid], spent[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    below, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below, grown = below | more, bool(more)
    return {pid: spent[pid] for pid in below if pid in spent}


def timed(executor: Executor, work: ClusterWork) -> Timed:
    """Do some work once. Where it is done here, processes that are there already are of a Ray that waits."""
    meter = Metered(executor)
    others = () if executor.elsewhere else set(_processes_below()) - {os.getpid()}
    began, all_before, mine_before = time.perf_counter(), processor_seconds(others), time.process_time()
    with executing(meter):
        answer = work.do()
    mine, everything = time.process_time() - mine_before, processor_seconds(others) - all_before
    return Timed(time.perf_counter() - began, everything, mine, meter.pieces, meter.bytes_in, meter.bytes_out,
                 hashlib.sha256(answer).hexdigest())  # fmt: skip


# The work


def works(quick: bool) -> list[ClusterWork]:
    """A sweep over all boards of a shrunken hold'em, a table of hand strength, and a match."""
    shrunken = GAME.format(ranks=4 if quick else RANKS)
    sweep = sweep_recipe(shrunken)
    table = table_recipe(quick)
    deals = DEALS // 240 if quick else DEALS

    def play() -> bytes:
        from kibitz.play.matches import match

        data = match(MATCH, *PLAYERS, deals=deals, seed=1).data()
        return json.dumps({key: value for key, value in data.items() if key != "seconds"}, sort_keys=True).encode()

    return [
        ClusterWork("sweep", f"best responses of both players on all boards of {shrunken}",
                    partial(_built, sweep, False)),
        ClusterWork("table", f"the table of hand strength `{table.name}`", partial(_built, table, True)),
        ClusterWork("match", f"{deals:,} deals of {MATCH}, {PLAYERS[0]} against {PLAYERS[1]}", play),
    ]  # fmt: skip


def table_recipe(quick: bool) -> tables.Recipe:
    return recipes.recipe("preflop" if quick else "river")


def sweep_recipe(spec: str) -> tables.Recipe:
    """Best responses to random strategies by made-up buckets."""
    from kibitz.games import game
    from kibitz.poker.whole.walk import BEST, Sweep

    rules: Any = game(spec)
    buckets = made_up_buckets(rules.definition, (WAYS,) * rules.definition.rounds)
    one, two = (random_strategy(rules.betting, buckets, seed) for seed in (1, 2))
    return Sweep(rules, (one, two)).recipe((0, 1), BEST)


def _built(recipe: tables.Recipe, kept: bool) -> bytes:
    """The bytes of a table that is made anew. kept: it stays in the cache, as it is one that commands use. No parts are
    saved: on a machine with much else to do there would be more of them."""
    tables.build(recipe, tell=_silent, every=UNSAVED, anew=True)
    arrays = tables.whole(recipe)
    assert arrays is not None
    answer = b"".join(arrays[name].tobytes() for name in sorted(arrays))
    if not kept:
        shutil.rmtree(tables.home() / recipe.name)
    return answer


def _silent(*told: Any) -> None:
    """Progress that nobody asked for."""


def nothing(number: int) -> int:
    """An empty piece."""
    return number


def length(array: Any, number: int) -> int:
    """A piece that has to have an array."""
    return int(array[-1]) + number


# Measuring


def bench_cluster(
    quick: bool = False, out: str | Path | None = None, say: Callable[[str], None] = print, rounds: int = 2
) -> dict[str, Any]:
    """Measure; returns what the JSON file holds."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("--only cluster needs Ray: pip install 'kibitz[ray]'") from None
    count, result = cores(), dict[str, Any]()
    result["machine"] = machine() | {"ray": ray.__version__}
    result |= {"cores": count, "rounds": rounds, "game": GAME.format(ranks=RANKS), "works": {}}

    def keep(text: str) -> None:
        say(text)
        if out is not None:
            store.write_text(Path(out), json.dumps(result, indent=1) + "\n")

    listed = works(quick)
    began = time.perf_counter()
    pool = executor_of("ray")
    try:
        list(pool.map(nothing, [Piece((0,))]))
        result["start"] = {"first": time.perf_counter() - began}
        list(pool.map(nothing, [Piece((k,)) for k in range(8 * count)]))
        result["start"]["all"] = time.perf_counter() - began
        keep(f"Ray is ready after {result['start']['all']:.1f} s")
        for work, small in zip(listed, works(True), strict=True):
            warm = work if work.name == "table" else small  # tables of other cards have code of their own
            for executor in (executor_of(f"local:{count}"), pool):
                timed(executor, warm)
            result["works"][work.name] = _in_turns(work, pool, count, 1 if quick else rounds, say)
            keep(f"{work.name}: done")
        result["works"]["table"] |= _sent_piece(table_recipe(quick))
        result["dispatch"] = [_dispatch(pool, width, quick) for width in (WIDTHS[:2] if quick else WIDTHS)]
        keep("empty pieces: done")
    finally:
        pool.close()
    result["broadcast"] = [_broadcast(nodes, SENT // (16 if quick else 1)) for nodes in (NODES[:1] if quick else NODES)]
    keep("arrays to nodes: done")
    result["shared_base"] = shared_base(6) if quick else shared_base()
    keep("experts with one base: done")
    if not quick:
        result["whole"] = _whole_piece()
        keep("a piece of limit hold'em: done")
    return result


def _in_turns(work: ClusterWork, pool: Executor, count: int, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """The same here and on Ray, one after the other, several times."""
    runs: dict[str, list[Timed]] = {"local": [], "ray": []}
    for _ in range(rounds):
        for name in runs:
            took = timed(executor_of(f"local:{count}") if name == "local" else pool, work)
            runs[name] += [took]
            say(f"{work.name}, {name}: {took.wall:.1f} s, {took.processor:.1f} s of cores")
    if len({each.digest for each in (*runs["local"], *runs["ray"])}) > 1:
        raise SolverError(f"{work.name}: the answers on Ray differ from those of this machine: nothing is reported")
    pieces = runs["ray"][-1]
    seconds = {name: {field: [getattr(each, field) for each in of] for field in ("wall", "processor", "driver")}
               for name, of in runs.items()}  # fmt: skip
    return {
        "about": work.about, "pieces": pieces.pieces, "bytes_in": pieces.bytes_in, "bytes_out": pieces.bytes_out,
        **seconds,
    }  # fmt: skip


def _sent_piece(recipe: tables.Recipe) -> dict[str, Any]:
    """A piece of a table that another machine answers: its bytes, and seconds of the command to put it in. Workers of
    this machine write theirs themselves."""
    far = recipe.far
    assert far is not None
    answer = far.work(*far.arguments(executor_of("local")), recipe.pieces // 2)
    arrays = {name: np.zeros(shape, dtype) for name, (dtype, shape) in recipe.arrays.items()}
    times = []
    for _ in range(3):
        began = time.process_time()
        far.add(arrays, answer)
        times.append(time.process_time() - began)
    return {"sent": size_of(answer), "put": statistics.median(times)}


def _dispatch(pool: Any, width: int, quick: bool) -> dict[str, Any]:
    """Empty pieces, a call each, so many under way: seconds of a piece, and of this process for it."""
    count = 500 if quick else max(1000, 2 * width)
    before, (pool.under_way, pool.bundle) = (pool.under_way, pool.bundle), (width, 0.0)
    began, mine = time.perf_counter(), time.process_time()
    answers = sum(1 for _ in pool.map(nothing, [Piece((k,)) for k in range(count)]))
    pool.under_way, pool.bundle = before
    return {"under_way": width, "pieces": answers, "wall": (time.perf_counter() - began) / count,
            "driver": (time.process_time() - mine) / count}  # fmt: skip


def _broadcast(nodes: int, size: int) -> dict[str, Any]:
    """An array from the first node to others, which are processes of this machine: seconds until all have it."""
    from ray.cluster_utils import Cluster

    store_size = {"object_store_memory": 2 * size + (100 << 20)}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **store_size})
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1, **store_size)
        with executing(cluster.address) as pool:
            list(pool.map(nothing, [Piece((k,)) for k in range(4 * nodes)]))  # workers are there
            array = np.ones(size, np.uint8)
            times = []
            for _ in range(3):
                began = time.perf_counter()
                list(pool.map(length, [Piece((k,)) for k in range(nodes)], shared=(array,)))
                times.append(time.perf_counter() - began)
    finally:
        cluster.shutdown()
    return {"nodes": nodes, "bytes": size, "seconds": statistics.median(times)}


def _whole_piece() -> dict[str, Any]:
    """A shard of limit hold'em over all boards: processor seconds on one core, for all shards by their boards."""
    from kibitz.games import game
    from kibitz.poker.whole.walk import BEST, Sweep

    rules: Any = game(WHOLE)
    buckets = made_up_buckets(rules.definition, (WAYS,) * rules.definition.rounds)
    one, two = (random_strategy(rules.betting, buckets, seed) for seed in (1, 2))
    sweep = Sweep(rules, (one, two))
    roots = [sweep.roots(seat)[-1] for seat in (0, 1)]
    boards = [shard[-1].stop - shard[-1].start for shard in sweep.shards]
    order = np.argsort(boards, kind="stable")
    smallest, middle = int(order[0]), int(order[len(order) // 2])
    sweep.shard(smallest, (0, 1), BEST, roots)  # compiled and laid out
    began = time.process_time()
    sweep.shard(middle, (0, 1), BEST, roots)
    seconds = time.process_time() - began
    return {"game": WHOLE, "pieces": len(boards), "boards": int(sum(boards)), "boards_timed": boards[middle],
            "seconds": seconds, "base": sum(seat.rows(n).nbytes for seat in (one,) for n in range(len(rules.betting))
                                            if rules.betting.turn[n] >= 0)}  # fmt: skip
