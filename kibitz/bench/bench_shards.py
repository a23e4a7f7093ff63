"""kibitz bench --only shards: what it costs to train one strategy in shards, and what travels in a merge.

Shards walk as many iterations together as plain training does, so the difference is what their stale rows cost. All of
it is done on one core: results do not depend on the number of workers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from kibitz.bench.verdicts import machine
from kibitz.core import store
from kibitz.core.executor import executing
from kibitz.core.pools import LocalPool
from kibitz.evaluate.blueprints import laid_out
from kibitz.games import game as make_game
from kibitz.poker.blueprints.exact import in_buckets
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.report.tables import section
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.merging import Arrays, Merge, merged
from kibitz.solvers.shards import SHARE, MergedRound, Sharding, rounds

PAGE = Path(__file__).parents[2] / "docs" / "shards.md"
DATA = PAGE.with_suffix(".json")
SEEDS, SHARDS, MERGES = 3, (2, 4, 8), (50, 200)
NAIVE = 8  # shards of the control, where differences are averaged
MEMORY = 1 << 30  # of a table, which grows to what is needed
NETWORK, OVERHEAD = 1e9 / 8, 0.1  # bytes a second; the share of the time that merges may take
HEAD = """# Training in shards

`kibitz train --shards W` trains one strategy on several cores or nodes. In a round each of W shards does iterations of
its own, from the same rows; then what they have learned is added up: a merge. Rows are stale within a round: a shard
does not know what the others learn. This page measures what that costs and what travels, and works out when it pays.
See [how to use it](howto/shards.md).

This page is generated from docs/shards.json, which `kibitz bench --only shards --out docs/shards.json` writes.
"""


class ShardedGame(NamedTuple):
    """A game that is small enough for an exact measure, and how long it is trained."""

    label: str
    spec: str
    abstraction: str | None  # buckets: exploitability is that in the abstract game
    iterations: int


GAMES = {
    "leduc": ShardedGame("Leduc", "leduc", None, 64_000),
    "holdem": ShardedGame(
        "limit hold'em with 9 cards", "poker(file=holdem.limit.2p, ranks=3, suits=3)", "percentile(2)", 64_000
    ),
    "rhode_island": ShardedGame("Rhode Island hold'em", "rhode_island", "percentile(4)", 64_000),
}


def exploitability_of(game: ShardedGame) -> Callable[[Blueprint], float]:
    """The measure of a game: exploitability, within its buckets if it has some."""
    if game.abstraction is None:

        def whole(blueprint: Blueprint) -> float:
            form, profile = laid_out(blueprint)
            return form.measure(profile.probabilities).nash_conv / blueprint.machine.players

        return whole
    rules: Any = make_game(game.spec)
    form = bucket_form(rules, hand_buckets(rules.definition, game.abstraction))
    return lambda blueprint: form.measure(in_buckets(blueprint, form).probabilities).nash_conv / 2


def averaged(before: Arrays, answers: Sequence[Arrays]) -> Arrays:
    """The control: the mean of what shards have learned instead of the sum."""
    after, keys = merged(before, answers), before["key"]
    old = np.zeros_like(after["value"], np.float64)
    if len(keys):
        at = np.minimum(np.searchsorted(keys, after["key"]), len(keys) - 1)
        known = keys[at] == after["key"]
        old[known] = before["value"][at[known]]
    return {"key": after["key"], "value": (old + (after["value"] - old) / len(answers)).astype(np.float32)}


def in_shards(game: ShardedGame, seed: int, sharding: Sharding, merge: Merge) -> tuple[Blueprint, list[MergedRound]]:
    """A blueprint that was trained in shards, one after the other on this core."""
    blueprint = Blueprint.empty(game.spec, game.abstraction, MEMORY, seed)
    with executing(LocalPool(1)):
        return blueprint, list(rounds(blueprint, sharding, game.iterations, merge=merge))


def plain_runs(game: ShardedGame, measure: Callable[[Blueprint], float], seeds: int) -> dict[str, Any]:
    """Plain training: exploitability at T / 8, T / 4, T / 2 and T iterations for each seed, and its speed."""
    stops = [game.iterations // of for of in (*reversed(SHARDS), 1)]
    figures: dict[int, list[float]] = {stop: [] for stop in stops}
    used = 0.0
    for seed in range(seeds):
        blueprint = Blueprint.empty(game.spec, game.abstraction, MEMORY, seed)
        blueprint.warm_up()
        for stop in stops:
            began = time.process_time()
            blueprint.train(iterations=stop)
            used += time.process_time() - began
            figures[stop].append(measure(blueprint))
    return {
        "exploitability": {str(stop): values for stop, values in figures.items()},
        "iteration_seconds": used / seeds / game.iterations, "rows": blueprint.store.used,
    }  # fmt: skip


def sharded_runs(
    game: ShardedGame, measure: Callable[[Blueprint], float], seeds: int, shards: int, merges: int | None, naive: bool
) -> dict[str, Any]:
    """Training in shards. merges: in all, at equal distances; None: when they are made by default."""
    every = None if merges is None else max(1, game.iterations // (shards * merges))
    figures, done = [], list[MergedRound]()
    for seed in range(seeds):
        blueprint, done = in_shards(game, seed, Sharding(shards, every), averaged if naive else merged)
        figures.append(measure(blueprint))
    late = done[len(done) // 2 :]  # when the table has most of its rows
    return {
        "shards": shards, "merge_every": every, "merges": len(done), "naive": naive, "exploitability": figures,
        "sent": fmean(each.sent for each in late), "received": fmean(each.received for each in late) / shards,
        "merge_seconds": median(each.merge_seconds for each in late),
    }  # fmt: skip


def bench_shards(
    quick: bool = False, out: str | Path | None = None, say: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Measure; returns what the JSON file holds. quick: a seed, an eighth of the iterations, and fewer merges."""
    say, began = say or partial(print, flush=True), time.process_time()
    seeds, merges = (1, (20,)) if quick else (SEEDS, MERGES)
    result: dict[str, Any] = {"machine": machine(), "seeds": seeds, "games": {}}
    for name, chosen in GAMES.items():
        game = chosen._replace(iterations=chosen.iterations // 8) if quick else chosen
        measure = exploitability_of(game)
        plain = plain_runs(game, measure, seeds)
        say(f"{game.label}: plain {fmean(plain['exploitability'][str(game.iterations)]):.4g}")
        runs = []
        plans = [(shards, count, False) for shards in SHARDS for count in (*merges, None)]
        for shards, count, naive in (*plans, *((NAIVE, count, True) for count in merges)):
            run = sharded_runs(game, measure, seeds, shards, count, naive)
            runs.append(run)
            say(f"{game.label}: {shards} shards, {run['merges']} merges{', averaged' * naive}: "
                f"{multiple(game.iterations, plain, run):.2f} times plain")  # fmt: skip
        result["games"][name] = {**game._asdict(), "plain": plain, "runs": runs}
    result["seconds"] = time.process_time() - began
    if out is not None:
        store.write_text(out, json.dumps(result, indent=1) + "\n")
    return result


def multiple(iterations: int, plain: dict[str, Any], run: dict[str, Any]) -> float:
    """Exploitability as a multiple of that of plain training with as many iterations: a mean over seeds."""
    base: list[float] = plain["exploitability"][str(iterations)]
    return fmean(x / y for x, y in zip(run["exploitability"], base, strict=True))


# The page


def shards_markdown(result: dict[str, Any]) -> list[str]:
    """The tables."""
    games = list(result["games"].values())
    return [*_costs(games), *_control(games), *_traffic(games)]


def _ratio(game: dict[str, Any], run: dict[str, Any]) -> float:
    return multiple(game["iterations"], game["plain"], run)


def _name(game: dict[str, Any]) -> str:
    return f"{game['label']}, `{game['abstraction']}`" if game["abstraction"] else str(game["label"])


def _run(game: dict[str, Any], shards: int, nth: int, naive: bool = False) -> dict[str, Any]:
    """The nth run of so many shards; the last one has merges by default."""
    return dict([run for run in game["runs"] if run["shards"] == shards and run["naive"] is naive][nth])


def _costs(games: list[dict[str, Any]]) -> list[str]:
    lines = ["| game | iterations | shards | " + " | ".join(_periods(games[0])) + " | plain, one core in the same time |",
             "|---|---:|---:|" + "---:|" * (len(_periods(games[0])) + 1)]  # fmt: skip
    for game in games:
        base = game["plain"]["exploitability"]
        for shards in sorted({run["shards"] for run in game["runs"]}):
            runs = [run for run in game["runs"] if run["shards"] == shards and not run["naive"]]
            alone = base[str(game["iterations"] // shards)]
            behind = fmean(x / y for x, y in zip(alone, base[str(game["iterations"])], strict=True))
            cells = [f"{_ratio(game, run):.2f}" + f" ({run['merges']})" * (run["merge_every"] is None) for run in runs]
            lines.append(f"| {_name(game)} | {game['iterations']:,} | {shards} | {' | '.join(cells)} | {behind:.2f} |")
    return section(
        "What stale rows cost",
        "Exploitability after the same number of iterations in all, as a multiple of that of plain training; a mean "
        "over seeds. Games with buckets are measured in the abstract game. Merges are at equal distances, or as they "
        f"are without `--merge-every`: after {100 * SHARE:g}% more iterations each (their number in brackets). The last "
        "column is what W shards compete with: plain training on one core, which does one W-th of the iterations in "
        "the time that W cores take. Shards pay where their figure is below it.",
        lines,
    )


def _periods(game: dict[str, Any]) -> list[str]:
    first = game["runs"][0]["shards"]
    runs = [run for run in game["runs"] if run["shards"] == first and not run["naive"]]
    return [f"{run['merges']} merges" if run["merge_every"] else "default" for run in runs]


def _control(games: list[dict[str, Any]]) -> list[str]:
    lines = ["| game | merges | sum of differences | mean of differences |", "|---|---:|---:|---:|"]
    for game in games:
        naive = [run for run in game["runs"] if run["naive"]]
        for nth, run in enumerate(naive):
            same = _run(game, run["shards"], nth)
            lines.append(f"| {_name(game)} | {run['merges']} | {_ratio(game, same):.2f} | {_ratio(game, run):.2f} |")
    return section(
        "Why the sum and not the mean",
        f"The same with {NAIVE} shards, where a merge adds the mean of what shards have learned instead of the sum, as "
        "parallel gradient descent often does: multiples of plain training as above. Regrets and averages are sums "
        "over iterations, so the mean counts each iteration as one W-th.",
        lines,
    )


def _traffic(games: list[dict[str, Any]]) -> list[str]:
    lines = ["| game | rows | shards | merges | to each node | from each shard | seconds to merge | iterations a shard "
             "and second | iterations between merges, at least |", "|---|" + "---:|" * 8]  # fmt: skip
    for game in games:
        pace = game["plain"]["iteration_seconds"]
        for shards in sorted({run["shards"] for run in game["runs"]}):
            for run in (run for run in game["runs"] if run["shards"] == shards and run["merge_every"]):
                if run["naive"]:
                    continue
                lines.append(
                    f"| {_name(game)} | {game['plain']['rows']:,} | {shards} | {run['merges']} | "
                    f"{run['sent'] / 1e3:,.0f} kB | {run['received'] / 1e3:,.0f} kB | {run['merge_seconds']:.3f} | "
                    f"{1 / pace:,.0f} | {_least(run, pace):,.0f} |"
                )
    return section(
        "What travels, and when it pays",
        "A node gets all rows once in a round, and a shard answers with the rows that it changed. The last column is "
        f"arithmetic: how many iterations a shard should do between two merges so that merges take {100 * OVERHEAD:g}% "
        f"of the time, if everything passes one link of {8 * NETWORK / 1e9:g} Gbit/s, a node a shard: W times the rows, W "
        "answers, and the time to merge. With fewer iterations the network is what training waits for; the table at "
        "the top says what more of them cost. The number of rows is fixed while training lasts, so in a longer "
        f"training merges can be further apart at the same relative distance ({100 * SHARE:g}% is the default), and "
        "their share of the time goes to zero: shards pay for long trainings, and for games whose iterations are slow "
        "next to the size of their tables.",
        lines,
    )


def _least(run: dict[str, Any], pace: float) -> float:
    """Iterations of a shard in a round whose merge takes OVERHEAD of the time."""
    away = run["shards"] * (run["sent"] + run["received"]) / NETWORK + run["merge_seconds"]
    return away * (1 - OVERHEAD) / OVERHEAD / pace


def page() -> str:
    """docs/shards.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    on = result["machine"]
    return "\n".join([
        HEAD, f"{result['seeds']} seeds. {on['date']}, {on['processor']}, one of {on['cores']} cores, {on['system']}; kibitz "
        f"{on['kibitz']}, Python {on['python']}, NumPy {on['numpy']}, Numba {on['numba']}. Processor time: "
        f"{result['seconds']:.0f} s.", "", *shards_markdown(result),
    ])  # fmt: skip
