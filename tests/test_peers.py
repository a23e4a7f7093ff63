"""The peers are measured in the right units, and a peer that is missing or fails is reported, not raised."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.report import peers
from kibitz.report.peers import FIGURES, GAMES, PEERS, Measurement, Work, measure, race, rate

MODULES = {"OpenSpiel": "pyspiel", "LiteEFG": "LiteEFG", "NoRegret": "noregret", "Gambit": "pygambit"}


@pytest.mark.parametrize("peer", ["OpenSpiel", "LiteEFG", "NoRegret"])
def test_nash_conv_is_the_sum_of_gains(peer: str) -> None:
    """The uniform profile of Kuhn has NashConv 11/12: no peer's halves or single gains slip through."""
    pytest.importorskip(MODULES[peer])
    found = measure(peer, "nash_conv", "kuhn", seconds=0.05)
    assert found.note == ""
    assert found.nash_conv == pytest.approx(11 / 12)
    assert found.value is not None and 0 < found.value < 1


@pytest.mark.parametrize("peer", ["OpenSpiel", "LiteEFG", "NoRegret"])
def test_regret_minimisers_reach_the_target(peer: str) -> None:
    pytest.importorskip(MODULES[peer])
    found = measure(peer, "regret", "kuhn", limit=20)
    assert found.note == ""
    assert found.nash_conv is not None and found.nash_conv < 1e-4
    assert found.units > 10


@pytest.mark.parametrize(("peer", "needs"), [("OpenSpiel", "cvxpy"), ("NoRegret", "gurobipy"), ("Gambit", "pyspiel")])
def test_linear_programs_are_exact(peer: str, needs: str) -> None:
    pytest.importorskip(MODULES[peer])
    pytest.importorskip(needs)
    found = measure(peer, "lp", "kuhn", seconds=0.1, limit=20)
    assert found.note == ""
    assert found.nash_conv == pytest.approx(0, abs=1e-9)


def test_a_missing_peer_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    absent = {name: peers.Peer(name, "no-such-package", peer.figures) for name, peer in PEERS.items()}
    assert absent["OpenSpiel"].version() is None
    # A Python without any peer: no site-packages at all.
    source = Path(peers.__file__)
    child = subprocess.run(
        [sys.executable, "-I", "-S", str(source), "LiteEFG", "cfr+", "leduc"], capture_output=True, text=True
    )
    assert '"note": "skipped: not installed"' in child.stdout
    assert child.returncode == 0
