"""The state of a run, and the progress bar of `RunOptions(progress=True)`.

The bar is Rich's in a terminal; in a notebook it is HTML below the cell. Rich's own bars in notebooks want ipywidgets,
which not everybody has; a display that is updated needs IPython alone.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.core.errors import RunWarning
from kibitz.solvers.result import History

if TYPE_CHECKING:
    from kibitz.solvers import Solver

PAUSE = 0.2  # seconds between updates


def warn(message: str) -> None:
    """A message about a run as a Python warning."""
    warnings.warn(message, RunWarning, stacklevel=4)


@dataclass
class RunState:
    """A run while it goes on: what the lines and bars of progress read, and what the result is made of."""

    history: History = field(default_factory=History)  # with what was evaluated before a resume
    seconds: float = 0.0  # likewise
    evaluation_seconds: float = 0.0  # the share of them that evaluations took, since a resume
    interrupted: bool = False
    checkpoint: Path | None = None  # the checkpoint that holds the run as it is
    stop: dict[str, float] = field(default_factory=dict)  # iterations, until, seconds, as asked for
    solver: Solver | None = None
    message: Callable[[str], None] = warn  # is called with what should be known of the run

    @property
    def exact(self) -> bool:
        return self.solver is not None and self.solver.exact


def in_notebook() -> bool:
    """Whether IPython runs this as a kernel, as in Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def shown(wanted: bool | None, title: str, run: RunState) -> Iterator[Callable[[], None]]:
    """Show how far a run is; what is yielded has to be called several times a second. None: in notebooks only."""
    if not (in_notebook() if wanted is None else wanted):
        yield lambda: None
        return
    show = _in_notebook(title) if in_notebook() else _in_terminal(title)
    began, then = time.perf_counter(), 0.0

    def update(last: bool = False) -> None:
        nonlocal then
        now = time.perf_counter()
        if last or now - then >= PAUSE:
            then = now
            share, text = state(run, run.seconds if last else now - began)
            show(1.0 if last and not run.interrupted else share, text, last)

    try:
        update()
        yield update
        update(True)
    except BaseException:
        show(0.0, "stopped", True)
        raise


def state(run: RunState, seconds: float) -> tuple[float, str]:
    """(the share of a run that is done, a line about it)."""
    iteration = 0 if run.solver is None else run.solver.iteration
    words, shares, stop = [f"iteration {iteration:,}"], [0.0], run.stop
    if stop.get("iterations"):
        shares.append(iteration / stop["iterations"])
    if stop.get("seconds"):
        shares.append(seconds / stop["seconds"])
    if run.history:
        now, first = run.history[-1].nash_conv, run.history[0].nash_conv
        words.append(f"NashConv {now:.3g}")
        if 0.0 < stop.get("until", 0.0) < first and now > 0.0:  # NashConv falls like a power of the iterations
            shares.append(math.log(first / now) / math.log(first / stop["until"]))
    return min(1.0, max(shares)), ", ".join([*words, f"{seconds:.1f} s"])


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
