"""What holds for all tests."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer.main
from commands import call
from hypothesis import HealthCheck, settings

from examples import examples

os.environ.setdefault("CUPY_TF32", "0")  # a GPU is compared with cores in single precision

__all__ = ["call"]  # a fixture: the command, run in this process



def pages_of(*names: str) -> Iterator[str]:
    """Tests of how-to pages, by the names of the pages."""
    return (f"test_howto.py::test_the_page_runs[{name}" for name in names)


# Most of the time of a first run is compiling. Tests of one family of kernels go to one worker of pytest-xdist, so that
# each is compiled once; those of other files file by file. The families that take longest stand first and are begun
# first, so that no worker is left with a long one while the others have nothing to do.
FAMILIES = {
    "poker": ("test_poker_", "test_endgames", "test_seated", "test_cli_poker", "test_stitch_poker",
              "test_sandholm.", "test_sandholm_gs2", "test_bucket_form",
              "test_bucket_runs", "test_bucket_gpu", "test_help_examples.py::test_example[abstract leduc",
              "test_conformance.py::test_conformance[poker(file=leduc)-compiled", *pages_of("acpc", "buckets",
              "define_poker", "endgames", "nolimit", "phases")),
    "toepen": (
        "test_toepen", "test_le2021", "test_endgame", "test_blueprint", "test_search", "test_exploit", "test_strength.",
        "test_lower_bound", "test_play.", "test_match", "test_cli_train",
        "test_conformance.py::test_conformance[toepen", "test_help_examples.py::test_example[train",
        "test_help_examples.py::test_example[match", "test_help_examples.py::test_example[play", *pages_of("train"),
    ),
    "cache": ("test_cache",),
    "web": ("test_web_",),
    "cards": (
        "test_cards", "test_cli_cards", "test_strength_tables", "test_bench_cards", "test_ranges", "test_hand_buckets",
        "test_bucket_views", "test_clusters", "test_boards", "test_help_examples.py::test_example[poker cards",
        *pages_of("equities"),
    ),
    "tournaments": ("test_tournament", "test_triples", "test_sandholm_tournaments",
                    "test_help_examples.py::test_example[poker pushfold",
                    "test_help_examples.py::test_example[poker tournament",
                    *pages_of("tournaments")),
    "walks": ("test_mccfr", "test_walk", "test_deals", "test_training", "test_conformance"),
    "boards": ("test_sweep", "test_pcs", "test_stitch_views", "test_gibson2011_holdem", "test_waugh2009_holdem",
               "test_graft_small_page",
               "test_help_examples.py::test_example[solve rhode_island --abstraction 'percentile(6, recall",
               "test_help_examples.py::test_example[solve holdem", "test_help_examples.py::test_example[stitch rhode",
               *pages_of("holdem")),
    "rows": ("test_rounds", "test_row_blueprint", "test_row_experts", "test_gibson2011_three", *pages_of("stitch")),
    "prox": ("test_prox", "test_egt"),
}  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Options of all commands are read once, not at each call: 0.1 s, where a command often takes less."""
    typer.main.get_command = cache(typer.main.get_command)
    # No test depends on the clock: a busy machine is no reason to fail.
    slow = [HealthCheck.too_slow]
    settings.register_profile("kibitz", max_examples=examples(100), deadline=None, suppress_health_check=slow)
    settings.load_profile("kibitz")


def family(nodeid: str) -> str:
    """The family of a test, or its file."""
    file, _, test = nodeid.partition("::")
    named = f"{file.rpartition('/')[2]}::{test}"
    return next((family for family, names in FAMILIES.items() if named.startswith(names)), file)


def some_of(items: list[pytest.Item]) -> None:
    """Of a test with many cases `@pytest.mark.some(n)` leaves n, evenly spread, to `make test`; the others are slow."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for group in cases.values():
        mark = group[0].get_closest_marker("some")
        assert mark is not None
        (number,) = mark.args
        kept = {round(k * (len(group) - 1) / max(number - 1, 1)) for k in range(number)}
        for k, item in enumerate(group):
            if k not in kept:
                item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)  # before -m takes slow ones out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    some_of(items)
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist: the scheduler keeps the order
        order = [*FAMILIES]
        items.sort(key=lambda item: order.index(name) if (name := family(item.nodeid)) in FAMILIES else len(order))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class ByFamily(LoadFileScheduling):
        """Tests of a family go to one worker, one after another; those of other files file by file."""

        def _split_scope(self, nodeid: str) -> str:
            return family(nodeid)

    config.option.loadscopereorder = False  # the order of collection, not of the number of tests
    return ByFamily(config, log)


# What tests want that were skipped, by words of the reason, and how to get it.
WANTED = {
    "browser|playwright": "a browser (apt-get install chromium)",
    "GPU": "a GPU (pip install cupy-cuda12x)",
    "'ray'": "Ray (pip install -e '.[ray]')",
    "pygambit|highspy|is not installed|needs cvxpy": "other solvers (pip install -e '.[peers,pdlp]')",
    "KIBITZ_ACPC_SERVER": "the ACPC server (tests/poker/test_acpc_reference.py)",
    "table of three hands": "the table of three hands (kibitz poker cards build)",
}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line of what was skipped and how to get it."""
    reasons = [str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", [])]
    found = Counter(next((how for words, how in WANTED.items() if re.search(words, why)), "") for why in reasons)
    others = found.pop("", 0)
    said = [f"{number} want {how}" for how, number in found.most_common()]
    said += [f"{others} do not fit here (pytest -rs says why)"] if others else []
    if said:
        terminalreporter.write_line(f"{len(reasons)} tests were skipped: {'; '.join(said)}.")


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
