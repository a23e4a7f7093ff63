"""Threads that share one compiled call, and the best number of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

BLOCK = 0.03  # seconds of iterations between two looks at the clock
TRIAL = 0.003  # seconds of iterations that another number of threads is tried for
SETTLED = 8  # iterations of a block at least, unless something is tried
SHARE = 0.01  # of all time that trials may cost
OPENING = 0.002  # seconds of it that may be spent in advance


def together(work: Callable[[int], None], threads: int) -> None:
    """Call work(0) to work(threads - 1) side by side. The caller is the first, so one thread costs nothing.

    An error of the first reaches the caller; compiled work has no others.
    """
    helpers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, threads)]
    for helper in helpers:
        helper.start()
    try:
        work(0)
    finally:
        for helper in helpers:
            helper.join()


class Pace:
    """Shares iterations among at most so many threads, as long as these are faster than fewer.

    Threads meet several times in an iteration. In a small game, or where another process keeps one of the cores busy,
    waiting costs more than the second thread brings, and that changes while a solver runs. So iterations are done in
    blocks of some hundredths of a second; the number of threads that was fastest lately does the next one, and its
    neighbours (half, twice) are tried from time to time, for a share of the time that is fixed. Results do not depend
    on the number of threads, so this changes nothing but the time.
    """

    def __init__(self, threads: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.most = threads
        self._levels: list[int] = sorted({threads, *(2**k for k in range(threads.bit_length()) if 2**k <= threads)})
        self._rate: dict[int, float] = {}  # iterations a second of a level, when it was last used
        self._at = len(self._levels) - 1
        self._length = TRIAL
        self._credit = OPENING
        self._side = -1
        self._cold = True
        self._clock = clock

    def run(self, iterate: Callable[[int, int, int], None], done: int, count: int) -> None:
        """Have iterate(iterations done, how many more, threads) do `count` iterations after `done`."""
        if len(self._levels) == 1:
            iterate(done, count, self._levels[0])
            return
        end = done + count
        while done < end:
            level, n = self._next()
            n = min(n, end - done)
            began = self._clock()
            iterate(done, n, self._levels[level])
            self._note(level, n, self._clock() - began)
            done += n

    @property
    def threads(self) -> int:
        """The number of threads that the next block will have, unless another is tried."""
        return self._levels[self._at]

    def _next(self) -> tuple[int, int]:
        """(which level comes next, for how many iterations)."""
        rate = self._rate.get(self._at)
        if rate is None:
            return self._at, 1
        if self._credit > 0.0:
            other = self._at + self._side
            if not 0 <= other < len(self._levels):
                other = self._at - self._side
            self._side = -self._side
            return other, max(1, int(rate * TRIAL))
        # Ending a block costs something where an iteration is long: several of them, once all is settled.
        return self._at, max(SETTLED if self._length >= BLOCK else 1, int(rate * self._length))

    def _note(self, level: int, n: int, spent: float) -> None:
        """Keep what a block has shown. What it lost against another level is paid from the credit."""
        if self._cold:  # the first block compiles, and fills caches: it is a measure of nothing
            self._cold = False
            return
        self._rate[level] = n / max(spent, 1e-9)
        others = max((rate for k, rate in self._rate.items() if k != level), default=0.0)
        self._credit += SHARE * spent - (max(0.0, spent - n / others) if others else 0.0)
        best = max(self._rate, key=lambda k: self._rate[k])
        self._length = min(2.0 * self._length, BLOCK) if best == self._at else TRIAL
        self._at = best


class Crew:
    """Single calls of kernels, each on as many threads as were fastest lately for calls of its kind."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._paces: dict[Hashable, Pace] = {}
        self._clock = clock

    def call(self, kind: Hashable, most: int, work: Callable[[int, int, Any], None]) -> None:
        """Have work(thread, threads, gate) done once, by at most so many threads."""
        from kibitz.core.barrier import gate_of

        def share(done: int, count: int, threads: int) -> None:
            gate = gate_of(threads)
            together(lambda thread: work(thread, threads, gate), threads)

        pace = self._paces.get(kind)
        if pace is None or pace.most != most:
            pace = self._paces[kind] = Pace(most, self._clock)
        pace.run(share, 0, 1)
