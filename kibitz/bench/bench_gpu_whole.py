"""Sweeps over all boards of limit hold'em on a GPU (`kibitz evaluate --whole`): compared with cores, then timed.

A sweep of some of the flops is timed, each with all boards that continue it, and the time of all boards is worked out
from the number of boards. Buckets stand in for those of percentile(8), which take longer to make than all of this.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kibitz.bench.bench_gpu_boards import made_up_buckets
from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.whole.strategy import NodeStrategy
from kibitz.report.tables import section

GAME, SMALL_GAME = "poker(file=holdem.limit.2p)", "poker(file=holdem.limit.2p, ranks=5)"
WAYS = 8  # buckets that each bucket is cut into in the next round
CLOSE = 5e-6  # of the largest value: single precision, in another order of sums
FLOPS = 40  # every so-manieth is timed
ONE, FOUR, PAIR, READY = "one", "four", "pair", "ready"  # names of what is timed


def sweep_buckets(definition: Any, seed: int = 0) -> HandBuckets:
    """Buckets with the sizes of percentile(8)."""
    buckets: HandBuckets = made_up_buckets(definition, (WAYS,) * definition.rounds, seed)
    return buckets


def random_strategy(betting: Any, buckets: HandBuckets, seed: int) -> NodeStrategy:
    """Random probabilities."""
    level = np.minimum(betting.round, betting.definition.rounds - 1)

    def rows(node: int) -> Any:
        width = len(betting.actions[int(betting.actions_of[node])])
        drawn = np.random.default_rng([seed, node]).random((buckets.counts[int(level[node])], width), np.float32)
        return drawn / drawn.sum(axis=1, keepdims=True)

    digest = hashlib.sha256(f"random {seed} {buckets.name}".encode()).hexdigest()
    return NodeStrategy((buckets,), np.zeros(len(betting), np.int64), rows, digest)


def check_whole(device: str = "gpu", shards: int = 4) -> dict[str, Any]:
    """How far values on some boards of a small deck are from those of cores: best responses, and played."""
    from kibitz.games import game
    from kibitz.poker.whole.walk import BEST, PLAYED, Sweep

    rules: Any = game(SMALL_GAME)
    buckets = sweep_buckets(rules.definition)
    seats = random_strategy(rules.betting, buckets, 1), random_strategy(rules.betting, buckets, 2)
    here, there = Sweep(rules, seats), Sweep(rules, seats, device=device)
    roots, apart = [here.roots(seat)[-1] for seat in (0, 1)], 0.0
    for number in np.linspace(0, len(here.shards) - 1, shards).astype(int).tolist():
        for mode in (BEST, PLAYED):
            mine, other = (np.stack(each.shard(number, (0, 1), mode, roots)) for each in (here, there))
            apart = max(apart, float(np.abs(mine - other).max() / np.abs(mine).max()))
    return {"game": SMALL_GAME, "flops": shards, "apart": apart, "right": apart <= CLOSE}


def bench_whole(say: Callable[[str], None], flops: int = FLOPS) -> dict[str, Any]:
    """Check, then time one strategy, four in one pass, and a pair; what the JSON file holds of it."""
    from kibitz.games import game
    from kibitz.poker.whole.gpu import Shards, fitting, packer_of
    from kibitz.poker.whole.walk import BEST, PLAYED, Sweep

    result: dict[str, Any] = {"check": check_whole()}
    say(f"sweep: {result['check']}")
    if not result["check"]["right"]:
        raise SolverError("sweeps on the GPU differ from those on cores: nothing was timed")
    rules: Any = game(GAME)
    lists = [sweep_buckets(rules.definition, seed) for seed in (0, 1)]
    players = [random_strategy(rules.betting, lists[k // 2], k) for k in range(4)]
    say("sweep: four strategies of two lists of buckets")
    sweeps = [Sweep(rules, (player, player), device="gpu") for player in players]
    sweeps.append(Sweep(rules, (players[0], players[2]), device="gpu"))
    boards = len(sweeps[0].boards.rounds[-1].cards)
    numbers = range(0, len(sweeps[0].shards), flops)
    some = sum(sweeps[0].shards[n][-1].stop - sweeps[0].shards[n][-1].start for n in numbers)
    result |= {"game": GAME, "boards": boards, "flops": len(numbers), "boards_timed": some, "cores": cores()}
    kinds: dict[str, tuple[Sequence[Any], tuple[int, ...], int]] = {
        ONE: (sweeps[:1], (0, 1), BEST), FOUR: (sweeps[:4], (0, 1), BEST), PAIR: (sweeps[4:], (0,), PLAYED),
    }  # fmt: skip
    for name, (chosen, seats, mode) in kinds.items():
        packer = packer_of(chosen, chosen[0].device)
        shards = [Shards(sweep, sweep.device, packer) for sweep in chosen]
        if fitting(shards) < len(shards):
            raise SolverError(f"the GPU has no room for {len(shards)} strategies at once")
        roots = [[sweep.roots(seat)[-1] for seat in seats] for sweep in chosen]
        tasks = [(each, seats, mode, root) for each, root in zip(shards, roots, strict=True)]
        if name == ONE:
            result[READY] = _ready_seconds(packer, numbers) * boards / some
            say(f"sweep: boards are ready in {result[READY]:.1f} s for one list of buckets on {cores()} cores")
        compiled = _seconds(packer, tasks, numbers[:1])
        seconds = _seconds(packer, tasks, numbers)
        result[name] = {"strategies": len(chosen), "seconds": seconds * boards / some, "first": compiled,
                        "timed": seconds}  # fmt: skip
        say(f"sweep: {name}: {seconds:.2f} s for {some:,} boards, so {result[name]['seconds']:.0f} s for all; "
            f"compiled in {compiled:.1f} s")  # fmt: skip
        for sweep in chosen:
            sweep.release()
    return result


def _ready_seconds(packer: Any, numbers: Sequence[int]) -> float:
    """Seconds in which cores make shards ready, with nothing else to do."""

    def prepare(number: int) -> None:
        for level in packer.levels:
            packer.packed(number, level)

    prepare(numbers[0])
    began = time.perf_counter()
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(prepare, numbers))
    return time.perf_counter() - began


def _seconds(packer: Any, tasks: Sequence[Any], numbers: Sequence[int]) -> float:
    from kibitz.poker.whole.gpu import together

    began = time.perf_counter()
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda number: together(packer, number, tasks), numbers))
    return time.perf_counter() - began


def whole_markdown(result: dict[str, Any]) -> list[str]:
    """The section of docs/gpu.md; nothing where the data has none."""
    of = result.get("whole")
    if not of:
        return []
    what = {ONE: "best responses to one strategy, both players", FOUR: "best responses to four strategies in one pass",
            PAIR: "the value of one strategy against another, one seating"}  # fmt: skip
    lines = ["| what | seconds for all boards | strategies per minute |", "|---|---:|---:|"]
    for name, words in what.items():
        seconds = of[name]["seconds"]
        lines.append(f"| {words} | {seconds:,.0f} | {60 * of[name]['strategies'] / seconds:.2f} |")
    return section(
        "Exact evaluation of limit hold'em on a GPU", f"`kibitz evaluate A B C --whole --device gpu`. The boards that "
        f"continue {of['flops']} of the flops were timed, {of['boards_timed']:,} of {of['boards']:,}, and the rest "
        f"worked out from them; compiling takes another {of[ONE]['first']:.0f} s, once. {of['cores']} cores make "
        f"boards ready meanwhile, which would take {of[READY]:.0f} s alone. On a small deck all values were within "
        f"{of['check']['apart']:.0e} of those that cores find.", lines,
    )  # fmt: skip
