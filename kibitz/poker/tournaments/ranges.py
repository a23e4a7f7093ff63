"""Ranges of hands as people write them: 22+, A2s+, KTo+, and what is played sometimes with its share."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import RANKS
from kibitz.cards.holdem import classes

OFTEN, SELDOM = 0.995, 0.005


def grid() -> list[list[int]]:
    """[13][13]  classes as charts have them: aces first, suited hands above the pairs, offsuit ones below."""
    number = {name: k for k, name in enumerate(classes().names)}
    rows = []
    for row in reversed(range(13)):
        cells = []
        for column in reversed(range(13)):
            high, low = RANKS[max(row, column)], RANKS[min(row, column)]
            kind = "" if row == column else "s" if row > column else "o"
            cells.append(number[f"{high}{low}{kind}"])
        rows.append(cells)
    return rows


def written(jams: NDArray[Any]) -> str:
    """A range as text: hands that are always played, in runs; then those that are played sometimes."""
    number = {name: k for k, name in enumerate(classes().names)}

    def played(name: str) -> bool:
        return bool(jams[number[name]] >= OFTEN)

    parts = _runs([f"{r}{r}" for r in reversed(RANKS)], played)
    for kind in ("s", "o"):
        for high in range(12, 0, -1):
            row = [f"{RANKS[high]}{RANKS[low]}{kind}" for low in range(high - 1, -1, -1)]
            parts += _runs(row, played)
    order = np.argsort(-jams, kind="stable")
    parts += [
        f"{classes().names[k]}:{jams[k]:.2f}" for k in order if SELDOM < jams[k] < OFTEN
    ]  # fmt: skip
    return ", ".join(parts) or "nothing"


def _runs(names: list[str], played: Any) -> list[str]:
    """Runs of hands, from the best down: AA, TT+ or K9s-K6s."""
    runs = []
    at = 0
    for yes, run in groupby(names, played):
        here = list(run)
        if yes:
            if len(here) == 1:
                runs.append(here[0])
            elif at == 0:
                runs.append(f"{here[-1]}+")
            else:
                runs.append(f"{here[0]}-{here[-1]}")
        at += len(here)
    return runs
