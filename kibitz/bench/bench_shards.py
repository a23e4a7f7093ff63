"""kibitz bench --only shards: what it costs to train one strategy in shards, and what travels in a merge.

Shards walk as many iterations together as plain training does, so the difference is what their stale rows cost. All of
it is done on one core: results do not depend on the number of workers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

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
from kibitz.solvers.shards import SHARE, MergedRound, Sharding, rounds

PAGE = Path(__file__).parents[2] / "docs" / "shards.md"
DATA = PAGE.with_suffix(".json")
SEEDS, SHARDS, MERGES = 3, (2, 4, 8), (10, 40)
MOST = SHARDS[-1]  # shards of the control
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
    "leduc": ShardedGame("Leduc", "leduc", None, 32_000),
    "holdem": ShardedGame(
        "hold'em with 9 cards", "poker(file=holdem.limit.2p, ranks=3, suits=3)", "percentile([2, 1, 1, 1])", 32_000
    ),
    "rhode_island": ShardedGame("Rhode Island hold'em", "rhode_island", "percentile(3)", 32_000),
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


def in_shards(game: ShardedGame, seed: int, sharding: Sharding) -> tuple[Blueprint, list[MergedRound]]:
    """A blueprint that was trained in shards, one after the other on this core."""
    blueprint = Blueprint.empty(game.spec, game.abstraction, MEMORY, seed)
    with executing(LocalPool(1)):
        return blueprint, list(rounds(blueprint, sharding, game.iterations))


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
    game: ShardedGame, measure: Callable[[Blueprint], float], seeds: int, merges: int, sharding: Sharding
) -> dict[str, Any]:
    """Training in shards, with so many merges in all, at equal distances."""
    every = max(1, game.iterations // (sharding.shards * merges))
    figures, done = [], list[MergedRound]()
    for seed in range(seeds):
        blueprint, done = in_shards(game, seed, replace(sharding, merge_every=every))
        figures.append(measure(blueprint))
    late = done[len(done) // 2 :]  # when the table has most of its rows
    return {
        "shards": sharding.shards, "merge_every": every, "merges": merges, "alone": sharding.alone,
        "exploitability": figures, "sent": fmean(each.sent for each in late),
        "received": fmean(each.received for each in late) / sharding.shards,
        "merge_seconds": median(each.merge_seconds for each in late),
    }  # fmt: skip


def bench_shards(
    quick: bool = False, out: str | Path | None = None, say: Callable[[str], None] | None = None,
    *, games: Sequence[str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Measure; returns what the JSON file holds, which is written after each game.

    quick: a seed, an eighth of the iterations, and fewer merges. games: of GAMES; default: all.
    """
    say = say or partial(print, flush=True)
    seeds, merges = (1, MERGES[:1]) if quick else (SEEDS, MERGES)
    result: dict[str, Any] = {"machine": machine(), "seeds": seeds, "games": {}}
    for name in games or GAMES:
        chosen, began = GAMES[name], time.process_time()
        game = chosen._replace(iterations=chosen.iterations // 8) if quick else chosen
        measure = exploitability_of(game)
        plain = plain_runs(game, measure, seeds)
        say(f"{game.label}: plain {fmean(plain['exploitability'][str(game.iterations)]):.4g}")
        runs = []
        for sharding in (*map(Sharding, SHARDS), Sharding(MOST, alone=True)):
            for count in merges:
                run = sharded_runs(game, measure, seeds, count, sharding)
                runs.append(run)
                say(f"{game.label}: {sharding.shards} shards, {count} merges{', each for itself' * sharding.alone}: "
                    f"{multiple(game.iterations, plain, run):.2f} times plain")  # fmt: skip
        result["games"][name] = {**game._asdict(), "seconds": time.process_time() - began, "plain": plain, "runs": runs}
        if out is not None:
            store.write_text(out, json.dumps(result, indent=1) + "\n")
    return result


def multiple(iterations: int, plain: dict[str, Any], run: dict[str, Any]) -> float:
    """Exploitability as a multiple of that of plain training with as many iterations: a mean over seeds."""
    return ratio(run["exploitability"], plain["exploitability"][str(iterations)])


def ratio(figures: Sequence[float], base: Sequence[float]) -> float:
    """The mean over seeds of one by the other."""
    return fmean(x / y for x, y in zip(figures, base, strict=True))


# The page


def summary(result: dict[str, Any]) -> str:
    """The main figures in a sentence: over all games, with the most merges."""
    parts = []
    games = list(result["games"].values())
    for shards in _counts(games):
        figures = [float(_cells(game, shards).split(" | ")[-1]) for game in games]
        parts.append(f"{min(figures):.2f} to {max(figures):.2f} with {shards} shards")
    return (
        f"In short: with {_heads(games)[-1]} in a training, exploitability after as many iterations is, as a "
        f"multiple of that of plain training, {', '.join(parts)}."
    )


def shards_markdown(result: dict[str, Any]) -> list[str]:
    """The tables."""
    games = list(result["games"].values())
    return [*_costs(games), *_control(games), *_traffic(games)]


def _name(game: dict[str, Any]) -> str:
    return f"{game['label']}, `{game['abstraction']}`" if game["abstraction"] else str(game["label"])


def _cells(game: dict[str, Any], shards: int, alone: bool = False) -> str:
    """Multiples of plain training, by the number of merges."""
    runs = [run for run in game["runs"] if (run["shards"], run["alone"]) == (shards, alone)]
    return " | ".join(f"{multiple(game['iterations'], game['plain'], run):.2f}" for run in runs)


def _counts(games: list[dict[str, Any]]) -> list[int]:
    """Shards that were measured."""
    return sorted({run["shards"] for run in games[0]["runs"]})


def _heads(games: list[dict[str, Any]]) -> list[str]:
    return [f"{merges} merges" for merges in sorted({run["merges"] for run in games[0]["runs"]})]


def _costs(games: list[dict[str, Any]]) -> list[str]:
    heads = _heads(games)
    lines = [f"| game | iterations | shards | {' | '.join(heads)} | one core, same time |",
             "|---|---:|---:|" + "---:|" * (len(heads) + 1)]  # fmt: skip
    for game in games:
        base, iterations = game["plain"]["exploitability"], game["iterations"]
        for shards in _counts(games):
            behind = ratio(base[str(iterations // shards)], base[str(iterations)])
            lines.append(f"| {_name(game)} | {iterations:,} | {shards} | {_cells(game, shards)} | {behind:.2f} |")
    return section(
        "What stale rows cost",
        "Exploitability after the same number of iterations in all, as a multiple of that of plain training; a mean "
        "over seeds. Games with buckets are measured in the abstract game. Merges are at equal distances, and "
        "there is one more whenever regrets are halved (at 1,000, 2,000, 4,000 iterations and so on). The last column "
        "is what W shards compete with: plain training on one core, which does one W-th of the iterations in "
        "the time that W cores take. Shards pay where their figure is below it.",
        lines,
    )


def _control(games: list[dict[str, Any]]) -> list[str]:
    heads = [f"{head}, {how}" for how in ("default", "each for itself") for head in _heads(games)]
    lines = [f"| game | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    lines += [f"| {_name(game)} | {_cells(game, MOST)} | {_cells(game, MOST, alone=True)} |" for game in games]
    return section(
        "Why shards count for one another",
        f"The same multiples for {MOST} shards. Shards that begin with the same rows make the same corrections, and "
        "their sum goes too far. So each of W shards begins with regrets divided by W, which changes no strategy, and "
        "what it learns weighs as much as if the others learned the same; a merge adds to the undivided regrets what "
        "all have learned. With undivided regrets (each for itself) the merge is the same sum. The mean of what shards "
        "learn from undivided regrets, instead of the sum, gives the same strategies as the default if training is in "
        "shards from its first iteration; but it counts an iteration as one W-th of one before, in plain training.",
        lines,
    )


def _traffic(games: list[dict[str, Any]]) -> list[str]:
    lines = ["| game | rows | shards | merges | to each node | from each shard | core s to merge | "
             "iterations a second | iterations between merges, at least |", "|---|" + "---:|" * 8]  # fmt: skip
    for game in games:
        pace = game["plain"]["iteration_seconds"]
        for run in game["runs"]:
            if not run["alone"]:
                lines.append(
                    f"| {_name(game)} | {game['plain']['rows']:,} | {run['shards']} | {run['merges']} | "
                    f"{run['sent'] / 1e3:,.0f} kB | {run['received'] / 1e3:,.0f} kB | {run['merge_seconds']:.3f} | "
                    f"{1 / pace:,.0f} | {_least(run, pace):,.0f} |"
                )
    return section(
        "What travels, and when it pays",
        "A node gets all rows once in a round, and a shard answers with the rows that it changed. Iterations a second "
        "are those of plain training on one core. The last column is arithmetic: how many iterations a shard should do "
        f"between two merges so that merges take {100 * OVERHEAD:g}% of the time, if everything passes one link of "
        f"{8 * NETWORK / 1e9:g} Gbit/s, a node a shard: W times the rows, W answers, and the time to merge, "
        "which is processor time of one core. The time in which a shard lays out its rows comes on top. With "
        "fewer iterations training waits for the network; the first table says what more of them cost.",
        "A game has only so many rows, so what travels in a merge does not grow with the length of training. Without "
        f"`--merge-every` a round has {100 * SHARE:g}% of the iterations before it: rounds get longer, and merges take "
        "a share of the time that goes to zero. So shards pay for long trainings, and sooner where iterations are slow "
        "next to the size of the table.",
        lines,
    )


def _least(run: dict[str, Any], pace: float) -> float:
    """Iterations of a shard in a round whose merge takes OVERHEAD of the time."""
    away: float = run["shards"] * (run["sent"] + run["received"]) / NETWORK + run["merge_seconds"]
    return away * (1 - OVERHEAD) / OVERHEAD / pace


def page() -> str:
    """docs/shards.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    on = result["machine"]
    return "\n".join([
        HEAD, summary(result), "",
        f"{result['seeds']} seeds. {on['date']}, {on['processor']}, one of {on['cores']} cores, {on['system']}; "
        f"kibitz {on['kibitz']}, Python {on['python']}, NumPy {on['numpy']}, Numba {on['numba']}. Processor time: "
        f"{sum(game['seconds'] for game in result['games'].values()):.0f} s.", "", *shards_markdown(result),
    ])  # fmt: skip
