"""Threads that share one compiled call."""

from __future__ import annotations

import threading
from collections.abc import Callable


def together(work: Callable[[int], None], threads: int) -> None:
    """Call work(0) to work(threads - 1) side by side. The caller is the first, so one thread costs nothing.

    An error of the first reaches the caller; compiled work has no others.
    """
    helpers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, threads)]
    for helper in helpers:
        helper.start()
    work(0)
    for helper in helpers:
        helper.join()
