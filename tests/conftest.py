"""What holds for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Most of the time of a first run is compiling. Tests of one family of kernels go to one worker of pytest-xdist
# (--dist loadgroup), so that each is compiled once.
FAMILIES = {
    "poker": ("test_poker_", "test_cli_poker", "test_stitch_poker", "test_sandholm"),
    "toepen": (
        "test_toepen", "test_le2021", "test_endgame", "test_blueprint", "test_search", "test_exploit", "test_strength.",
        "test_lower_bound", "test_play.", "test_match", "test_cli_train",
    ),
    "cards": ("test_cards", "test_cli_cards", "test_strength_tables", "test_bench_cards"),
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for family, names in FAMILIES.items():
            if item.path.name.startswith(names):
                item.add_marker(pytest.mark.xdist_group(family))


@pytest.fixture(scope="session", autouse=True)
def _no_lines_of_progress() -> Iterator[None]:
    """A slow machine prints no lines of progress into what tests compare, here and in child processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KIBITZ_PROGRESS", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Ctrl-C does what it does at a terminal, here and in child processes, however pytest was started.

    A shell without job control starts its background jobs with SIGINT ignored, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
