"""Toepen in figures of time and memory, for `kibitz bench --only toepen`: nobody else has this game."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from kibitz.report.tables import section

SMALL = "toepen(suits=3, ranks=3, hand=3)"
UNTIL = 1e-3

_SMALL_RUN = """
import json, resource, sys, time
import kibitz
from kibitz.evaluate import measure
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
began = time.perf_counter()
tree = tree_of(kibitz.game(sys.argv[1]))
laid = time.perf_counter()
form = form_of(tree)
formed = time.perf_counter()
result = kibitz.solve(tree, "pcfr+", until=float(sys.argv[2]), threads=2)
done = time.perf_counter()
measure(form, result.probabilities)
again = time.perf_counter()
last = result.history[-1]
print(json.dumps({
    "game": sys.argv[1], "histories": tree.histories, "infosets": len(tree.infosets.labels),
    "layout_seconds": laid - began, "form_seconds": formed - laid, "solve_seconds": done - formed,
    "seconds": done - began, "iterations": last.iteration, "nash_conv": last.nash_conv, "value": last.value[0],
    "best_response_seconds": again - done,
    "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform != "darwin" else 1e9),
}))
"""


def toepen_figure(quick: bool = False) -> dict[str, Any]:
    """Solving three suits, ranks and cards; training the full game; solving its endgames."""
    game = "toepen(suits=3, ranks=3, hand=2)" if quick else SMALL
    child = subprocess.run(
        [sys.executable, "-c", _SMALL_RUN, game, str(UNTIL)], capture_output=True, text=True, check=True
    )
    seconds = 1.0 if quick else 10.0
    return {"small": json.loads(child.stdout), "training": _training(seconds), "endgame": _endgame(seconds / 5)}


def _training(seconds: float) -> dict[str, float]:
    """Decisions visited a second on the full game, on one thread and on two, taken in turns."""
    from kibitz.solvers.blueprint import Blueprint

    blueprint = Blueprint.empty("toepen", memory=1 << 30)
    blueprint.train(seconds=seconds)  # compiles, and fills the table
    best = [0.0, 0.0]
    for _ in range(2):
        for k in range(2):
            before, began = int(blueprint.counts[0]), time.perf_counter()
            blueprint.train(seconds=seconds / 2, threads=k + 1)
            best[k] = max(best[k], (int(blueprint.counts[0]) - before) / (time.perf_counter() - began))
    return {"one": best[0], "two": best[1], "ratio": best[1] / best[0]}


def _endgame(seconds: float) -> dict[str, Any]:
    """Iterations a second for the largest endgame of two tricks, on one thread and on two, and what a second gives."""
    import numpy as np

    from kibitz.toepen.endgame import ToepenEndgame

    gone = 0b11000000110000  # four low and middling clubs and diamonds
    endgame = ToepenEndgame((1 << 32) - 1 & ~gone, 2, 0)
    drawn = np.random.default_rng(0)
    ranges = drawn.random((2, len(endgame.hands)))
    endgame.solve(ranges[0], ranges[1], iterations=2)
    rates = [0.0, 0.0]
    for _ in range(2):
        for k in range(2):
            result = endgame.solve(ranges[0], ranges[1], seconds=seconds, threads=k + 1)
            rates[k] = max(rates[k], result.iterations / result.seconds)
    gaps = {f"{limit:g}": endgame.solve(ranges[0], ranges[1], seconds=limit).nash_conv for limit in (0.1, 0.3, 1.0)}
    return {"hands": len(endgame.hands), "one": rates[0], "two": rates[1], "ratio": rates[1] / rates[0], "gaps": gaps}


def toepen_markdown(figure: dict[str, Any]) -> list[str]:
    small, training, endgame = figure["small"], figure["training"], figure["endgame"]
    gaps = ", ".join(f"{gap:.2g} after {limit} s" for limit, gap in endgame["gaps"].items())
    return section(
        "Toepen",
        f"`{small['game']}`: {small['histories']:,} histories, {small['infosets']:,} infosets, laid out by its state "
        f"machine in {small['layout_seconds']:.1f} s, sequence form in {small['form_seconds']:.1f} s, "
        f"{small['iterations']} iterations of pcfr+ on two threads to nash_conv {small['nash_conv']:.2g} in "
        f"{small['seconds']:.0f} s in all; value {small['value']:.5f}; peak memory {small['peak_gb']:.2f} GB. An exact "
        f"best response of both seats takes {small['best_response_seconds']:.2f} s.",
        f"Training the full game by MCCFR: {training['one'] / 1e6:.2f} million decisions a second on one thread, "
        f"{training['two'] / 1e6:.2f} on two ({training['ratio']:.2f}x).",
        f"Its largest endgame of two tricks, {endgame['hands']} hands each: {endgame['one']:.0f} iterations a second "
        f"on one thread, {endgame['two']:.0f} on two ({endgame['ratio']:.2f}x); nash_conv for random ranges on one "
        f"thread {gaps}.",
    )
