"""What holds for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Ctrl-C does what it does at a terminal, here and in child processes, however pytest was started.

    A shell without job control starts its background jobs with SIGINT ignored, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
