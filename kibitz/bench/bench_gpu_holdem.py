"""Limit hold'em trained on a GPU by public chance sampling, and best responses to it over all boards: part of
kibitz bench --only gpu.

In percentile(8) buckets, as the base strategy of Gibson & Szafron 2011, whose exploitability is 310.04 milli-big-blinds
a hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.report.tables import section

GAME, BUCKETS = "poker(file=holdem.limit.2p)", "percentile(8)"
UNIT = 100.0  # milli-big-blinds of a chip: a big blind is 10
LEAST, MOST = 250.0, 400.0  # what every strategy of these buckets that was trained for long has
PAPER = 310.04


def bench_holdem(seconds: float, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Train for some seconds, then measure what best responses of both players win."""
    from kibitz.games import game
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.sampled.form import ViewForm
    from kibitz.poker.sampled.gpu import GpuPcs
    from kibitz.poker.whole.strategy import within_views
    from kibitz.poker.whole.walk import Sweep
    from kibitz.solvers import Task

    rules: Any = game(GAME)
    form = ViewForm(rules, [hand_buckets(rules.definition, BUCKETS)])
    solver = GpuPcs(Task(None, form, None, None, 0, cores()), "pcs", True)
    solver.step(1)  # compiled
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        solver.step(4 * solver.most)
    result: dict[str, Any] = {
        "game": GAME, "buckets": BUCKETS, "infosets": form.points, "boards": solver.iteration,
        "training_seconds": time.perf_counter() - began,
    }  # fmt: skip
    say(f"hold'em: {solver.iteration:,} boards in {result['training_seconds']:.0f} s")
    played = within_views(form, form.buckets, solver.probabilities(), f"pcs on a GPU, {solver.iteration} boards")
    solver.close()
    began = time.perf_counter()
    best = UNIT * Sweep(rules, (played, played), device="gpu").best()
    result |= {"best": best.tolist(), "exploitability": float(best.mean()), "seconds": time.perf_counter() - began}
    say(f"hold'em: best responses win {best[0]:.2f} and {best[1]:.2f} mbb/h, the mean is {best.mean():.2f}; "
        f"{result['seconds']:.0f} s")  # fmt: skip
    if not LEAST < result["exploitability"] < MOST:
        raise SolverError(f"exploitability {result['exploitability']:.2f} mbb/h, but strategies of {BUCKETS} have "
                          f"{LEAST:.0f} to {MOST:.0f}")  # fmt: skip
    return result


def holdem_markdown(result: dict[str, Any] | None) -> list[str]:
    if not result:
        return []
    columns = {
        "infosets": f"{result['infosets']:,}", "boards": f"{result['boards']:,}",
        "training, s": f"{result['training_seconds']:.0f}", "best response of player 1": f"{result['best'][0]:.2f}",
        "best response of player 2": f"{result['best'][1]:.2f}",
        "exploitability, mbb/h": f"{result['exploitability']:.2f}",
        "Gibson & Szafron 2011, Base, as many infosets": f"{PAPER}",
        "both best responses, s": f"{result['seconds']:.0f}",
    }  # fmt: skip
    lines = [f"| {' | '.join(each)} |" for each in (columns, ["---:"] * len(columns), columns.values())]
    return section(
        "Limit hold'em, trained and measured", f"Two-player limit hold'em in {result['buckets']} buckets, trained by "
        "public chance sampling. Winnings of best responses are exact, over all boards of the whole game, in mbb/h. "
        "The strategy was trained for a short time and is not converged.", lines,
    )  # fmt: skip
