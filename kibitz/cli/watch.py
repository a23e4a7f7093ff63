"""The line of progress: what goes on, since when, and of a run its NashConv and the time left."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from kibitz.core.compiling import announced_by, compiling

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from kibitz.solvers.progress import RunState
    from kibitz.solvers.result import Evaluation

PATIENCE = 1.0  # seconds of work before the line appears
FIRST, LONGEST = 5.0, 600.0  # seconds before the first plain line, and at most between two
BAR, SHORTEST_BAR = 20, 8  # characters of the bar, and of the least that is drawn
LABEL = 12  # characters that are left of the name of the work before figures go
FITTED = 8  # NashConv is extrapolated from the progress of the last so many-fold growth in iterations
LEAST_EVALUATIONS = 6
SLOWEST = -0.05  # NashConv that falls more slowly than iterations to this power will not get there


def say(line: str) -> None:
    """A line on stderr; one that is closed or full ends nothing."""
    import typer

    with suppress(OSError):
        typer.echo(line, err=True)


class Watch:
    """Shows progress on stderr once work takes longer than a moment.

    At a terminal that is one line that changes. Elsewhere (a file, a pipe) it is a plain line now and then: the first
    after some seconds, the next ones at growing distances. KIBITZ_PROGRESS=SECONDS in the environment says when the
    first comes; 0 is never. While code is compiled the line says so, and nobody else does.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.shown = wanted and sys.stderr is not None
        self._at_terminal = self.shown and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._began = time.perf_counter()
        self._phase = self._text = ""
        self._run: tuple[RunState, float, float] | None = None  # with the time and seconds used at its start
        self._first: tuple[int, float] | None = None  # iteration and time at which the run was first seen
        self._silence = announced_by(lambda line: None)

    def __enter__(self) -> Watch:
        self._silence.__enter__()
        if self.shown:
            self._thread = threading.Thread(target=self._appear if self._at_terminal else self._tell, daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # memory for one more thread is missing: the work goes on without progress
                self._thread = None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._silence.__exit__(kind, error, at)
        with self._lock:
            self.shown = False
            if self._live is not None:
                self._live.stop()

    def _appear(self) -> None:
        if self._ended.wait(PATIENCE):
            return
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        with self._lock:
            if self.shown:
                self._spinner, self._page = Spinner("dots"), Console(stderr=True)
                self._live = Live(console=self._page, get_renderable=self._line, refresh_per_second=5, transient=True)
                self._live.start()

    def _tell(self) -> None:
        """Plain lines, until the work ends."""
        from kibitz.report.text import plain

        for wait in waits():
            if self._ended.wait(wait):
                return
            with self._lock:
                if self.shown:
                    say(plain(self.line()))

    # What is told to it

    def phase(self, text: str) -> None:
        """Name what begins now."""
        self._phase = self._text = text
        self._run = None

    def histories(self, count: int) -> None:
        """Histories laid out so far."""
        self._text = f"{self._phase}: {count:,} histories"

    def solving(self, text: str, state: RunState) -> None:
        """A run begins; iterations and NashConv are read from its state."""
        self._text, self._run, self._first = text, (state, time.perf_counter(), state.seconds), None

    # What it shows

    def line(self) -> str:
        """What is going on, and since when."""
        from kibitz.report.text import duration

        said, _ = self._state()
        return said if self._run is not None else f"after {duration(time.perf_counter() - self._began)}: {said}"

    def _line(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        from kibitz.report.text import plain

        said, part = self._state()
        room = self._page.width - 2  # beside the spinner
        said = fitted(plain(said), room)
        line = Table.grid(padding=(0, 1))
        line.add_column(width=1)
        line.add_column(no_wrap=True, overflow="crop")
        cells: list[RenderableType] = [self._spinner, Text(said, no_wrap=True, overflow="crop")]
        bar = min(BAR, room - len(said) - 1)
        if part is not None and bar >= SHORTEST_BAR:
            line.add_column(width=bar)
            cells.append(ProgressBar(total=1.0, completed=part, width=bar))
        line.add_row(*cells)
        return line

    def _state(self) -> tuple[str, float | None]:
        """(what to say, share of the time that is over if that can be told)."""
        if compiling():
            return f"compiling, at the first use only: {self._phase or self._text}", None
        return self._work()

    def _work(self) -> tuple[str, float | None]:
        from kibitz.report.text import duration
        from kibitz.report.text import gap as gap_text

        run = self._run
        if run is None:
            return self._text, None
        state, began, before = run
        used = time.perf_counter() - began
        solver = state.solver
        if solver is None or solver.exact:
            return f"{self._text}: {duration(used)} used", None
        iteration = solver.iteration
        if self._first is None:
            self._first = iteration, used
        since, then = self._first
        rate = (iteration - since) / (used - then) if used > then else 0.0
        left = time_left(state.stop, state.history, iteration, rate, state.seconds)
        said = [f"{self._text}: iteration {iteration:,}"]
        said.append(f"{duration(max(state.seconds, before + used))} used")
        if state.history:
            said.append(f"NashConv {gap_text(state.history[-1].nash_conv)}")
        if left is not None:
            said.append(f"about {duration(left)} left")
        return ", ".join(said), None if left is None else used / (used + left + 1e-9)


def waits() -> Iterator[float]:
    """Seconds to wait before each plain line: twice as long each time."""
    try:
        wait = min(float(os.environ.get("KIBITZ_PROGRESS", FIRST)), threading.TIMEOUT_MAX)
    except ValueError:
        wait = FIRST
    while wait > 0:
        yield wait
        wait = min(2 * wait, LONGEST)


def fitted(text: str, width: int) -> str:
    """A line of progress such as "solving leduc: iteration 5, NashConv 0.1, about 3 s left", cut to a width.

    The name of the work is shortened first, then figures go from the left, so the last one stays to the end: the time
    left.
    """
    if len(text) <= width:
        return text
    label, _, rest = text.rpartition(": ")
    figures = rest.split(", ")
    if not label or not all(any(c.isdigit() for c in figure) for figure in figures):
        return text[: max(0, width - 1)] + "…"  # words: the beginning says most
    while True:
        tail = ", ".join(figures)
        room = width - len(tail) - 2
        if room >= len(label):
            return f"{label}: {tail}"
        if room >= LABEL:
            return f"{label[: room - 1]}…: {tail}"
        if len(figures) == 1:
            return tail[-width:]
        del figures[0]


def time_left(
    stop: dict[str, float], history: list[Evaluation], iteration: int, rate: float, used: float
) -> float | None:
    """Seconds until the first stop of a run is reached, at `rate` iterations a second; None if that is not known."""
    left: list[float] = []
    if "seconds" in stop:
        left.append(stop["seconds"] - used)
    if rate > 0:
        if "iterations" in stop:
            left.append((stop["iterations"] - iteration) / rate)
        if "until" in stop:
            reached = iteration_of(stop["until"], history)
            if reached is not None:
                left.append((reached - iteration) / rate)
    return max(0.0, min(left)) if left else None


def iteration_of(until: float, history: list[Evaluation]) -> float | None:
    """The iteration at which NashConv will be `until`: by a line through log NashConv against log iteration."""
    known = [each for each in history if each.iteration > 0 and each.nash_conv > 0]
    if until <= 0 or not known:
        return None
    recent = [each for each in known if each.iteration * FITTED >= known[-1].iteration]
    if len(recent) < LEAST_EVALUATIONS:
        return None
    x = [math.log(each.iteration) for each in recent]
    y = [math.log(each.nash_conv) for each in recent]
    middle, height = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
    if slope > SLOWEST:
        return None
    return math.exp(min(700.0, middle + (math.log(until) - height) / slope))
