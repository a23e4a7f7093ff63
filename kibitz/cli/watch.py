"""The line that shows how long work goes on: laying out, compiling, solving, with gap and time left."""

from __future__ import annotations

import math
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from kibitz.run import Look, Report

PATIENCE = 1.0  # seconds of work before the line appears
FITTED = 8  # the gap is extrapolated from the looks of the last so many-fold growth in iterations
LEAST_LOOKS = 6
SLOWEST = -0.05  # a gap that falls more slowly than iterations to this power will not get there


class Watch:
    """Shows what is going on, on stderr, if that is a terminal and the work takes longer than a moment."""

    def __init__(self, wanted: bool = True) -> None:
        self.shown = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._timer: threading.Timer | None = None
        self._phase = self._text = ""
        self._run: tuple[Report, float, float] | None = None  # with the time and seconds used at its start
        self._first: tuple[int, float] | None = None  # iteration and time at which the run was first seen

    def __enter__(self) -> Watch:
        if self.shown:
            self._timer = threading.Timer(PATIENCE, self._appear)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self.shown = False
            if self._live is not None:
                self._live.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        with self._lock:
            if self.shown:
                self._spinner = Spinner("dots")
                self._live = Live(
                    console=Console(stderr=True), get_renderable=self._line, refresh_per_second=5, transient=True
                )
                self._live.start()

    # What is told to it

    def phase(self, text: str) -> None:
        """Name what begins now."""
        self._phase = self._text = text
        self._run = None

    def histories(self, count: int) -> None:
        """Histories laid out so far."""
        self._text = f"{self._phase}: {count:,} histories"

    def solving(self, text: str, report: Report) -> None:
        """A run begins; iterations and gap are read from its report."""
        self._text, self._run, self._first = text, (report, time.perf_counter(), report.seconds), None

    # What it shows

    def _line(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        from kibitz.report.text import plain

        said, part = self._state()
        line = Table.grid(padding=(0, 1))
        line.add_column(width=1)
        line.add_column(no_wrap=True, overflow="ellipsis")
        cells: list[RenderableType] = [self._spinner, Text(plain(said), no_wrap=True, overflow="ellipsis")]
        if part is not None:
            line.add_column(width=20)
            cells.append(ProgressBar(total=1.0, completed=part, width=20))
        line.add_row(*cells)
        return line

    def _state(self) -> tuple[str, float | None]:
        """(what to say, share of the time that is over if that can be told)."""
        from kibitz.report.text import duration
        from kibitz.report.text import gap as gap_text

        run = self._run
        if run is None:
            return self._text, None
        report, began, before = run
        used = time.perf_counter() - began
        solver = report.solver
        if solver is None or solver.exact:
            return f"{self._text}: {duration(used)} used", None
        iteration = solver.iteration
        if self._first is None:
            self._first = iteration, used
        since, then = self._first
        rate = (iteration - since) / (used - then) if used > then else 0.0
        left = time_left(report.stop, report.looks, iteration, rate, report.seconds)
        said = [f"{self._text}: iteration {iteration:,}"]
        if report.looks:
            said.append(f"gap {gap_text(report.looks[-1].gap)}")
        said.append(f"{duration(max(report.seconds, before + used))} used")
        if left is not None:
            said.append(f"about {duration(left)} left")
        return ", ".join(said), None if left is None else used / (used + left + 1e-9)


def time_left(stop: dict[str, float], looks: list[Look], iteration: int, rate: float, used: float) -> float | None:
    """Seconds until the first stop of a run is reached, at `rate` iterations a second; None if that is not known."""
    left: list[float] = []
    if "seconds" in stop:
        left.append(stop["seconds"] - used)
    if rate > 0:
        if "iterations" in stop:
            left.append((stop["iterations"] - iteration) / rate)
        if "until" in stop:
            reached = iteration_of_gap(looks, stop["until"])
            if reached is not None:
                left.append((reached - iteration) / rate)
    return max(0.0, min(left)) if left else None


def iteration_of_gap(looks: list[Look], until: float) -> float | None:
    """The iteration at which the gap will come down to `until`: a line through log gap against log iteration."""
    known = [look for look in looks if look.iteration > 0 and look.gap > 0]
    if until <= 0 or not known:
        return None
    recent = [look for look in known if look.iteration * FITTED >= known[-1].iteration]
    if len(recent) < LEAST_LOOKS:
        return None
    x = [math.log(look.iteration) for look in recent]
    y = [math.log(look.gap) for look in recent]
    middle, height = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
    if slope > SLOWEST:
        return None
    return math.exp(min(700.0, middle + (math.log(until) - height) / slope))
