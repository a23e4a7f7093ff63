"""Two dealers never write one log, and a dealer that was killed blocks nobody."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from acpc_tables import LEDUC, table

from kibitz.poker.acpc import log as logs
from kibitz.poker.acpc.dealer import Dealer
from kibitz.poker.acpc.log import Log
from kibitz.poker.acpc.states import LoggedHand, ProtocolError

BOTH = {"a": "uniform", "b": "uniform"}


def dealer(log: Path, resume: bool = False, hands: int = 12) -> Dealer:
    return table(LEDUC, hands, 5, "a,b", BOTH, log=log, resume=resume)


class Stop(Exception):
    pass


def test_a_second_dealer_is_refused_while_the_first_plays(tmp_path: Path) -> None:
    log = tmp_path / "match.log"
    first, refused = dealer(log), 0

    def between(hands: int, totals: object) -> None:
        nonlocal refused
        before = log.read_bytes()
        with pytest.raises(ProtocolError, match="is written by another dealer, which still runs: wait"):
            dealer(log, resume=True)
        with pytest.raises(ProtocolError, match="is there already: go on with it by --resume"):
            dealer(log)
        assert log.read_bytes() == before
        refused += 1

    outcome = first.play(between)
    assert refused == 12 and outcome.hands == 12
    again = dealer(log, resume=True).play()  # nobody holds it any more
    assert again.totals == outcome.totals and again.resumed == 12


def test_two_that_resume_refuse_each_other(tmp_path: Path) -> None:
    log = tmp_path / "match.log"

    def stop(hands: int, totals: object) -> None:
        if hands == 5:
            raise Stop

    with pytest.raises(Stop):
        dealer(log).play(stop)
    one = dealer(log, resume=True)
    with pytest.raises(ProtocolError, match="another dealer"):
        dealer(log, resume=True)
    one.close()
    two = dealer(log, resume=True)
    wanted = dealer(tmp_path / "whole.log").play()
    assert two.play().totals == wanted.totals
    assert log.read_bytes() == (tmp_path / "whole.log").read_bytes()


def test_two_that_begin_one_log(tmp_path: Path) -> None:
    log = tmp_path / "match.log"
    one, two = dealer(log), dealer(log)  # neither has written yet
    wanted = one.play()
    with pytest.raises(ProtocolError, match="is there already"):
        two.play()
    assert dealer(log, resume=True).play().totals == wanted.totals


def test_a_log_that_is_refused_is_given_back(tmp_path: Path) -> None:
    log = tmp_path / "match.log"
    dealer(log).play()
    with pytest.raises(ProtocolError, match="of another match") as kept:
        dealer(log, resume=True, hands=14)
    assert dealer(log, resume=True).play().hands == 12, kept  # though the error, and its frames, are still there


def test_a_killed_dealer_blocks_nobody(tmp_path: Path) -> None:
    """kill -9 while it holds the lock, in a process of its own."""
    log = tmp_path / "match.log"
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest's may run here
        try:
            written = Log.hand

            def write(self: Log, over: LoggedHand) -> None:
                if over.hand == 4:
                    os.write(tell, b"x")
                    signal.pause()
                written(self, over)

            Log.hand = write  # type: ignore[method-assign]
            dealer(log).play()
        finally:
            os._exit(1)
    os.close(tell)
    assert os.read(ready, 1) == b"x"
    with pytest.raises(ProtocolError, match="another dealer, which still runs"):
        dealer(log, resume=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    outcome = dealer(log, resume=True).play()
    assert outcome.resumed == 4 and outcome.hands == 12
    wanted = dealer(tmp_path / "whole.log").play()
    assert outcome.totals == wanted.totals and log.read_bytes() == (tmp_path / "whole.log").read_bytes()


def test_where_files_cannot_be_locked_matches_are_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(file: object, how: int) -> None:
        raise OSError("Operation not supported")

    monkeypatch.setattr(logs.fcntl, "flock", cannot)
    assert dealer(tmp_path / "match.log").play().hands == 12
