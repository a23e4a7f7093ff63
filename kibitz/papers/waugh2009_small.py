"""[Waugh, Bard & Bowling 2009, Table 3] with a deck of 16 cards: every figure is exact, on CPUs.

    kibitz reproduce waugh2009 --table small
    kibitz reproduce waugh2009 --table small --results docs/large    # the page of what stages have measured

The strategies of `waugh2009_large`, as fixed in docs/plans/large_tables.md. An hour of a core for each seed, so it is
also divided into stages: graft-small-0 to -3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kibitz.papers import waugh2009_large as large
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import CourseSetting, course, pair, point
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run
from kibitz.papers.waugh2009_strategies import BASE, FOURTEEN, GRAFTED, LARGEST, SMALLER, TWELVE

STRATEGY = "small: "  # names of runs begin so
ORDER = (BASE, SMALLER, LARGEST, FOURTEEN, TWELVE, GRAFTED)
GAP = 0.1  # NashConv in the abstract game, mb/h, at which 14 and 12 stop
SEEDS = range(4)


def setting_of(quick: bool, folder: str, device: str = "cpu") -> CourseSetting:
    game, limits = (large.TINY, large.TINY_LIMITS) if quick else (large.SMALL, large.SMALL_LIMITS)
    return CourseSetting(large.PAPER, game, limits, GAP, 1, 0, folder, device)


def strategy(name: str, seed: int, *fields: Any) -> dict[str, Any]:
    """A strategy along its training, and what it wins at each look from those before it, which are trained to the
    end."""
    setting = CourseSetting(*fields)
    points, pairs = [], []
    for steps in large.points(setting, name):
        points.append(point(name, seed, steps, *fields))
        pairs += [pair(name, other, seed, (steps, large.points(setting, other)[-1]), *fields)
                  for other in ORDER[: ORDER.index(name)]]  # fmt: skip
    course(name, seed, setting).keep(large.points(setting, name)[-1])
    return {"points": points, "pairs": pairs}


def _runs(setting: CourseSetting, seeds: Sequence[int]) -> list[Run]:
    """One after another, because each plays those before it."""
    return [Run(f"{STRATEGY}{name}", strategy, [(name, seed, *arguments(setting)) for seed in seeds], "cores")
            for name in ORDER]  # fmt: skip


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    """For cores."""
    setting = setting_of(quick, str(Path(work) / "graft-small"), device)
    for seed in SEEDS:
        yield Stage(f"graft-small-{seed}", "a deck of 16 cards: all strategies of Table 3, exactly",
                    tuple(_runs(setting, [seed])))  # fmt: skip
