"""How a run goes: looks, the report, and the progress bar of `kibitz.solve(progress=True)`.

The bar is Rich's in a terminal; in a notebook it is HTML below the cell. Rich's own bars in notebooks want ipywidgets,
which not everybody has; a display that is updated needs IPython alone.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.core import html

if TYPE_CHECKING:
    from kibitz.solvers import Solver

PAUSE = 0.2  # seconds between updates


@dataclass(frozen=True)
class Look:
    """The state of a run at one moment, as logs and progress bars see it."""

    iteration: int
    seconds: float
    gap: float  # NashConv of the profile so far: the sum of what best responses gain
    value: list[float]
    best: list[float] = field(default_factory=list)  # what best responses get: with two seats and zero sum the game's
    #   value for seat 0 lies between -best[1] and best[0]

    @property
    def nash_conv(self) -> float:
        """The sum over seats of what a best response gains, as `kibitz.nash_conv` counts it."""
        return self.gap

    def data(self) -> dict[str, Any]:
        """One line of a log, as plain data."""
        return {"iteration": self.iteration, "seconds": self.seconds, "nash_conv": self.gap, "value": self.value,
                "best": self.best}  # fmt: skip


@dataclass
class Report:
    """How a run went."""

    looks: list[Look] = field(default_factory=list)  # with those from before a resume
    seconds: float = 0.0  # likewise
    looking: float = 0.0  # seconds of them that looks took, since a resume
    interrupted: bool = False
    saved: Path | None = None  # the checkpoint that holds the run as it is
    tell: Callable[[str], None] | None = None  # hears what should be known of the run; None: Python's warnings
    stop: dict[str, float] = field(default_factory=dict)  # iterations, until, seconds, as asked for
    solver: Solver | None = None  # as the run left it
    beat: Callable[[], None] | None = None  # called after each step, several times a second unless a step is long

    def __repr__(self) -> str:
        if not self.looks:
            return f"<run: {self.seconds:.3g} s, no looks>"
        last = self.looks[-1]
        stopped = ", interrupted" if self.interrupted else ""
        return f"<run: {last.iteration:,} iterations, NashConv {last.gap:.3g}, {self.seconds:.3g} s{stopped}>"

    def _repr_html_(self) -> str:
        rows = [(f"{x.iteration:,}", f"{x.seconds:.3g}", f"{x.gap:.4g}", f"{x.value[0]:+.6f}") for x in self.looks]
        return html.table(("iteration", "seconds", "NashConv", "value of seat 0"), rows, repr(self))


def in_notebook() -> bool:
    """Whether IPython runs this as a kernel, as in Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def shown(wanted: bool | None, title: str, report: Report) -> Iterator[None]:
    """Show how far a run is while it goes on; it is read from its report. None: in notebooks only."""
    if not (in_notebook() if wanted is None else wanted):
        yield
        return
    show = _in_notebook(title) if in_notebook() else _in_terminal(title)
    began, then = time.perf_counter(), 0.0

    def beat(last: bool = False) -> None:
        nonlocal then
        now = time.perf_counter()
        if last or now - then >= PAUSE:
            then = now
            share, text = state(report, report.seconds if last else now - began)
            show(1.0 if last and not report.interrupted else share, text, last)

    before, report.beat = report.beat, beat
    try:
        beat()
        yield
        beat(True)
    except BaseException:
        show(0.0, "stopped", True)
        raise
    finally:
        report.beat = before


def state(report: Report, seconds: float) -> tuple[float, str]:
    """(share of a run that is done, what there is to say of it)."""
    iteration = 0 if report.solver is None else report.solver.iteration
    said, shares = [f"iteration {iteration:,}"], [0.0]
    stop = report.stop
    if stop.get("iterations"):
        shares.append(iteration / stop["iterations"])
    if stop.get("seconds"):
        shares.append(seconds / stop["seconds"])
    if report.looks:
        gap, first = report.looks[-1].gap, report.looks[0].gap
        said.append(f"NashConv {gap:.3g}")
        if 0.0 < stop.get("until", 0.0) < first and gap > 0.0:  # a gap falls like a power of the iterations
            shares.append(math.log(first / gap) / math.log(first / stop["until"]))
    return min(1.0, max(shares)), ", ".join([*said, f"{seconds:.1f} s"])


def _in_terminal(title: str) -> Callable[[float, str, bool], None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20)
    bar = Progress(*columns, TextColumn("{task.fields[said]}", markup=False), console=Console(stderr=True))
    task = bar.add_task(title, total=1.0, said="")
    bar.start()

    def show(share: float, text: str, last: bool) -> None:
        bar.update(task, completed=share, said=text)
        if last:
            bar.stop()

    return show


def _in_notebook(title: str) -> Callable[[float, str, bool], None]:
    display: Any = importlib.import_module("IPython.display")
    handle: Any = None

    def show(share: float, text: str, last: bool) -> None:
        nonlocal handle
        page = display.HTML(f'{escape(title)} <progress value="{share:.4f}" max="1"></progress> {escape(text)}')
        if handle is None:
            handle = display.display(page, display_id=True)
        else:
            handle.update(page)

    return show
