"""What the strategies that come with kibitz win, measured, and their page docs/opponents.md.

    python -m kibitz.bench.opponents_page --runs runs/opponents     # measures into docs/opponents.json; goes on there

Each measurement is written as soon as it is there, and the same command goes on with the next. Rivals are trained in
the folder of --runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kibitz.bench.opponents import BUCKETS, RECIPES
from kibitz.core import shipped, store
from kibitz.evaluate.score import Score

PAGE = Path(__file__).parents[2] / "docs" / "opponents.md"
DATA = PAGE.with_suffix(".json")
BIG_BLIND = 10  # chips
# rivals: the finest percentile buckets whose training for some minutes says something
RIVALS = {
    "holdem.limit.2p": "percentile(8)",
    "holdem.limit.3p": "percentile([169, 2, 1, 1], forget=1)",
}
COMPILED, PLAIN = 400_000, 8_000  # hands against players that are compiled, and against those that are not
LOCAL = 60_000  # hands of local best response
HEAD = """# Strategies that come with kibitz

Two strategies of limit hold'em are part of the package, one for two players and one for three. They need no download
and no tables, so the web interface and `kibitz play` begin at once:

    kibitz play holdem.limit.2p
    kibitz play holdem.limit.3p --against shipped
    kibitz match shipped uniform --game holdem.limit.2p
    kibitz evaluate shipped:holdem.limit.2p --seconds 60

`shipped` is the one of the game that is played; `shipped:NAME` is a path wherever kibitz asks for a saved strategy. A
match makes tables of hands once, which takes minutes.

This page is generated from docs/opponents.json, which `python -m kibitz.bench.opponents_page` writes, and from the
files themselves. `python -m kibitz.bench.opponents` trains them again.
"""


def measured(runs: Path, seconds: float, data: Path = DATA) -> dict[str, Any]:
    """All measurements: those of the file, and the others made now."""
    results: dict[str, Any] = json.loads(data.read_text(encoding="utf-8")) if data.is_file() else {}
    results["machine"] = {"processor": platform.machine(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")}
    results["seconds"] = seconds
    for game in RECIPES:
        digest = store.digest(store.load(f"shipped:{game}").arrays, {})
        if results.get(game, {}).get("sha256") != digest:  # of another strategy: all anew
            results[game] = {"sha256": digest}
    steps = [(name, game) for name in LINES for game in RECIPES if name in measurements(game, runs, seconds)]
    for name, game in steps:
        if name not in results[game]:
            results[game][name] = measurements(game, runs, seconds)[name]()
            print(f"{game}, {name}: {results[game][name]}", flush=True)
            store.write_text(data, json.dumps(results, indent=1, sort_keys=True) + "\n")
    return results


def measurements(game: str, runs: Path, seconds: float) -> dict[str, Callable[[], dict[str, Any]]]:
    """What is measured of a game's strategy, by name."""
    from kibitz.evaluate.match import match, seatings_of
    from kibitz.play.agents import agent
    from kibitz.solvers.machines import machine_of

    def won(opponent: str, hands: int) -> Callable[[], dict[str, Any]]:
        def play() -> dict[str, Any]:
            machine = machine_of(game)
            deals = hands // len(seatings_of(machine.players))
            name = str(trained_rival(game, runs, seconds)) if opponent == "rival" else opponent
            others = [agent(name, machine)] * (machine.players - 1)
            won = match(machine, agent("shipped", machine), *others, deals=deals, seed=1)
            return _score(won.scores[0], won.deals)

        return play

    def responder() -> dict[str, Any]:
        from kibitz.play.lower_bound import lower_bound

        target: Any = agent("shipped", machine_of(game))
        won = lower_bound(target, BUCKETS, seconds=seconds).result
        return _score(won.scores[0], won.deals)

    def local() -> dict[str, Any]:
        from kibitz.poker.whole.local_response import local_bound

        machine = machine_of(game)
        won = local_bound(agent("shipped", machine), deals=LOCAL // machine.players)
        return _score(won.score, won.deals)

    wins: dict[str, Callable[[], dict[str, Any]]] = {
        "uniform": won("uniform", COMPILED), "always-call": won("always-call", PLAIN),
        "always-raise": won("always-raise", PLAIN), "local": local,
    }  # fmt: skip
    if RECIPES[game].rows.betting == "all":  # for three a responder has a billion rows in these buckets
        wins["responder"] = responder
    return wins | {"rival": won("rival", COMPILED)}


def _score(score: Score, deals: int) -> dict[str, Any]:
    """A score in thousandths of a big blind per hand."""
    figures = [1000 * x / BIG_BLIND for x in (score.mean, *score.interval)]
    return {"mbb": round(figures[0], 2), "interval": [round(x, 2) for x in figures[1:]], "deals": deals}


def trained_rival(game: str, runs: Path, seconds: float) -> Path:
    """A blueprint of much finer buckets, or with all betting remembered, trained for some time."""
    from kibitz.poker.blueprints.placed_rows import placed_blueprint
    from kibitz.poker.rules.rows import RowPlan
    from kibitz.solvers.machines import by_rounds, machine_of

    path = runs / f"{game}.rival"
    if not path.is_dir():
        blueprint = placed_blueprint(by_rounds(machine_of(game)), RowPlan((RIVALS[game],)), seed=1)
        blueprint.warm_up()
        blueprint.train(seconds=seconds, threads=os.cpu_count() or 1)
        runs.mkdir(parents=True, exist_ok=True)
        store.save(path, "blueprint", blueprint.played().arrays(), blueprint.played().meta)
    return path


# The page

LINES = {
    "uniform": "wins from uniform random play",
    "always-call": "wins from always-call",
    "always-raise": "wins from always-raise",
    "local": "local best response wins from it",
    "responder": "a trained responder wins from it",
    "rival": "wins from a finer blueprint with little training",
}


def page(data: Path = DATA) -> str:
    """docs/opponents.md."""
    results = json.loads(data.read_text(encoding="utf-8"))
    machine = "Machine: {cores} cores of {processor}; {date}.".format(**results["machine"])
    return "\n".join([HEAD, *_sizes(), "", *_figures(results), "", *_notes(results), "", machine, ""])


def _sizes() -> list[str]:
    lines = ["## How they were made", "", "| | " + " | ".join(RECIPES) + " |", "|---|" + "---:|" * len(RECIPES)]
    rows: dict[str, list[str]] = {}
    for game, recipe in RECIPES.items():
        saved = store.load(f"shipped:{game}")
        record = saved.meta["made"]
        size = sum(path.stat().st_size for path in (shipped.HOME / game).iterdir())
        remembered = "all" if recipe.rows.betting == "all" else "who is in, and the chips that each has put in"
        for name, text in {
            "buckets": f"`{saved.meta['abstraction']}`", "betting of earlier rounds that is remembered": remembered,
            "training": f"external sampling, {saved.meta['iteration']:,} iterations, seed {saved.meta['seed']}, "
                        f"{record['threads']} thread",
            "decisions visited": f"{record['decisions']:,}", "bytes": f"{size:,}",
            "versions": f"kibitz {record['kibitz']}, Python {record['python']}, NumPy {record['numpy']}, Numba "
                        f"{record['numba']}, {record['machine']}",
            "sha256 of the shares": f"`{store.digest({'share': saved.arrays['share']}, {})[:16]}...`",
        }.items():  # fmt: skip
            rows.setdefault(name, []).append(text)
    return lines + [f"| {name} | {' | '.join(texts)} |" for name, texts in rows.items()]


def _figures(results: dict[str, Any]) -> list[str]:
    lines = ["## What they win", "", "| thousandths of a big blind per hand (mbb/h) | " + " | ".join(RECIPES) + " |",
             "|---|" + "---:|" * len(RECIPES)]  # fmt: skip
    for name, label in LINES.items():
        cells = []
        for game in RECIPES:
            of = results[game].get(name)
            cells.append("not measured" if of is None else
                         f"{of['mbb']:,.0f} ({of['interval'][0]:,.0f} to {of['interval'][1]:,.0f}), {of['deals']:,}")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def _notes(results: dict[str, Any]) -> list[str]:
    notes = (
        "Means with 95% intervals and the number of deals, each played in all seatings. With three players all "
        "opponents are of the same kind, and what is won is the winner's own. What the responder and local best "
        "response win are lower bounds on what a best response wins, up to their intervals. The responder is trained "
        "against the strategy in the same buckets, and is greedy; local best response knows the strategy and looks one "
        "action ahead. "
        "Rivals are " + ", ".join(f"`{name}` ({game})" for game, name in RIVALS.items()) + f", trained for "
        f"{results['seconds']:g} s."
    )
    exact = (
        "Exact exploitability of the one for two players takes a night on two cores, or three minutes on a GPU: "
        "`kibitz evaluate shipped:holdem.limit.2p --whole --device gpu`. It was not measured."
    )
    return [notes, "", *_losses(results), exact]


def _losses(results: dict[str, Any]) -> list[str]:
    """Simple players that win from a strategy, and why."""
    from kibitz.games import game as make_game

    lines = []
    for game in RECIPES:
        blinds: Any = make_game(game)
        folds = 1000 * sum(blinds.definition.blinds) / BIG_BLIND / blinds.players
        for name in ("uniform", "always-call", "always-raise"):
            won = results[game].get(name, {"mbb": 0.0})["mbb"]
            if won < 0:
                more = f", and more than the {folds:.0f} mbb/h of one who always folds" if won < -folds else ""
                lines += [
                    f"{game} loses to {blinds.players - 1} players of the kind {name}{more}. Likely two "
                    "things add up: a strategy for three promises nothing against two who play worse than it expects, "
                    "and its training seldom came to pots in which "
                    "everybody raises.", "",
                ]  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of rivals")
    parser.add_argument("--seconds", type=float, default=300.0, help="of training of a rival, and of a responder")
    options = parser.parse_args()
    measured(options.runs, options.seconds)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
