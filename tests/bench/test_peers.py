"""The peers are measured in the right units; one that is missing, fails or hangs is reported, not raised."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.bench import peers
from kibitz.bench.peers import FIGURES, GAMES, PEERS, TARGETS, Measurement, TimedWork, measure, race, rate

SOLVERS = ["OpenSpiel", "LiteEFG", "NoRegret"]


def measured(peer: str, figure: str, game: str, **options: float) -> Measurement:
    if PEERS[peer].version() is None:
        pytest.skip(f"{peer} is not installed")
    return measure(peer, figure, game, **options)


@pytest.mark.parametrize("peer", SOLVERS)
def test_nash_conv_is_the_sum_of_gains(peer: str) -> None:
    """The uniform profile of Kuhn has NashConv 11/12: no peer's half or single gain slips through."""
    found = measured(peer, "nash_conv", "kuhn", seconds=0.05)
    assert found.note == ""
    assert found.nash_conv == pytest.approx(11 / 12)
    assert found.value is not None and 0 < found.value < 1


@pytest.mark.parametrize("peer", SOLVERS)
def test_regret_minimisers_reach_the_target(peer: str) -> None:
    found = measured(peer, "regret", "kuhn", limit=20)
    assert found.note == ""
    assert found.nash_conv is not None and found.nash_conv < TARGETS["regret"]
    assert found.value == found.seconds > 0
    assert found.units > 10


NEEDS = {"OpenSpiel": "cvxpy", "NoRegret": "gurobipy", "Gambit": "pyspiel"}


@pytest.mark.parametrize(("peer", "needs"), NEEDS.items())
def test_linear_programs_are_exact(peer: str, needs: str) -> None:
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{peer}'s linear program needs {needs}")
    found = measured(peer, "lp", "kuhn", seconds=0.1, limit=20)
    assert found.note == ""
    assert found.nash_conv == pytest.approx(0, abs=1e-9)


def test_a_hanging_peer_is_ended() -> None:
    """Gambit's linear program of Leduc runs for minutes in C++, where no Python timer reaches."""
    if importlib.util.find_spec("pyspiel") is None:
        pytest.skip("the game comes from OpenSpiel")
    found = measured("Gambit", "lp", "leduc", limit=0.5)
    assert (found.value, found.note) == (None, "> 0.5 s")
    assert found.solver


def test_a_missing_peer_is_reported(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    for peer in PEERS:
        found = measure(peer, "cfr+", "leduc", python=bare)
        assert (found.value, found.version, found.note) == (None, None, "skipped: not installed")


def test_a_failure_is_reported(tmp_path: Path) -> None:
    assert measure("OpenSpiel", "cfr+", "kuhn", python=str(tmp_path / "python")).note.startswith("failed: ")
    assert measure("OpenSpiel", "cfr+", "whist").note.startswith("failed: ")


def test_no_peer_is_imported_before_it_is_measured() -> None:
    code = (
        "import sys, kibitz.bench.peers; "
        "print(*{'pyspiel', 'open_spiel', 'LiteEFG', 'noregret', 'pygambit', 'numpy'} & set(sys.modules))"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == ""


def test_the_table_names_figures_and_games() -> None:
    for peer in PEERS.values():
        for figure, (_, games) in peer.figures.items():
            assert figure in FIGURES
            assert set(games) <= set(GAMES)
            assert all(peer.measures(figure, game) for game in games)
        assert not peer.measures("cfr+", "whist")


class Clock:
    """Time that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now / 4


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(peers, "time", clock)
    return clock


def test_a_rate_is_units_per_second(time: Clock) -> None:
    found = rate(TimedWork("sleep", lambda n: time.sleep(n / 1000), lambda: 0.0), seconds=0.2)
    assert found["value"] == pytest.approx(1000)
    assert found["cpu_share"] == pytest.approx(0.25)


def test_a_race_counts_steps_and_not_checks(time: Clock) -> None:
    """Ten units of 2 ms are needed; each check takes 1 ms."""
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        time.sleep(n / 500)

    def nash_conv() -> float:
        time.sleep(0.001)
        return 1 / done

    found = race(TimedWork("sleep", step, nash_conv), target=0.1000001, limit=5)
    assert done == found["units"] >= 10
    assert found["value"] == pytest.approx(done / 500)
    assert race(TimedWork("sleep", step, lambda: 1.0), target=0.1, limit=0.01)["note"] == "> 0.01 s"
