"""Limit hold'em for three by sampling, for `kibitz bench --only three`: training and matches, by number of threads."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

GAME, LIMIT = "poker(file=holdem.limit.3p)", 162_000_000
SMALL, FEW = "poker(file=holdem.limit.3p, ranks=4)", 12_000_000
DEALS = 20_000
FIRST, BLOCK = 20_000, 2_000  # iterations before it is timed, and of each piece


def three_figure(seconds: float, quick: bool) -> dict[str, Any]:
    """Decisions a second of external sampling, with all memory touched first and without the halvings of the first
    minutes, and hands a minute of a match."""
    import numpy as np

    from kibitz.core.resources import cores
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent
    from kibitz.solvers.blueprint import walked
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.new_blueprints import BlueprintRequest, new_blueprint

    machine = machine_of(SMALL if quick else GAME)
    made: Any = new_blueprint(machine, BlueprintRequest(limit=FEW if quick else LIMIT))
    made.warm_up()
    made.table.regret[:] = np.float32(0.0)
    made.table.average[:] = np.float32(0.0)
    made.train(iterations=2_000 if quick else FIRST, threads=cores())
    rates = {}
    for threads in sorted({1, 2, cores()}):
        with ThreadPoolExecutor(threads) as pool:
            done, began = 0, time.perf_counter()
            while time.perf_counter() - began < 4 * seconds:
                at = made.iteration
                done += int(walked(made, made.mask(), made.base_player(), at, at + BLOCK, threads, pool)[0])
                made.iteration = at + BLOCK
            rates[threads] = done / (time.perf_counter() - began)
    agent = blueprint_agent(made, machine, "base")
    match(machine, agent, agent, agent, deals=10)
    deals = DEALS // 20 if quick else DEALS
    began = time.perf_counter()
    found = match(machine, agent, agent, agent, deals=deals)
    minute = 60 * found.deals * found.seatings / (time.perf_counter() - began)
    return {
        "game": machine.spec, "buckets": made.abstraction, "infosets": made.capacity,
        "columns": len(made.table.regret), "bytes": made.nbytes, "rates": {str(k): rate for k, rate in rates.items()},
        "hands_a_minute": minute,
    }  # fmt: skip


def three_markdown(figure: dict[str, Any]) -> list[str]:
    rates = {int(k): rate for k, rate in figure["rates"].items()}
    said = "; ".join(
        f"{rate / 1e6:.2f} million on {threads} thread{'s' * (threads > 1)}"
        + f" ({rate / rates[1]:.2f}x)" * (threads > 1)
        for threads, rate in rates.items()
    )
    return [
        "## Limit hold'em for three",
        "",
        f"`{figure['game']}` within {figure['buckets']}: {figure['infosets']:,} infosets, {figure['columns']:,} "
        f"columns, {figure['bytes'] / 1e9:.1f} GB of regrets and averages. Decisions a second of external sampling: "
        f"{said}. A match of three, six seatings a deal: {figure['hands_a_minute'] / 1e6:.1f} million hands a minute.",
        "",
    ]
