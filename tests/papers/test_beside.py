"""Stages side by side."""

from __future__ import annotations

import signal

import pytest

from kibitz.core.errors import SpecError
from kibitz.papers import beside, stages
from kibitz.papers.ledger import entries_of


def test_two_processes(tmp_path):
    out = tmp_path / "out"
    code = stages.main(["--quick", "--beside", "two-trained-finest-0", "--beside", "two-trained-0,two-conditional-0",
                        "--out", str(out), "--known", str(tmp_path), "--work", str(tmp_path / "work")])  # fmt: skip
    assert code == 0
    counts = {path.stem: len(entries_of(path)) for path in out.glob("*.json")}
    every = stages.all_stages(True, str(tmp_path), "cpu")
    named = ("two-trained-finest-0", "two-trained-0", "two-conditional-0")
    assert counts == {name: len(list(every[name].steps())) for name in named}


class Process:
    """What ends with some codes, one after the other."""

    codes: list[int]
    commands: list[list[str]]

    def __init__(self, command, start_new_session):
        assert start_new_session  # Ctrl-C in a terminal would come twice
        Process.commands.append(command)

    def poll(self):
        return Process.codes.pop(0)


@pytest.mark.parametrize(("codes", "done"), [([0], True), ([2, -9, 1, 0], True), ([2] * 4, False), ([3], False),
                                             ([beside.MISSING], False)])  # fmt: skip
def test_a_process_that_fails_is_started_again(monkeypatch, codes, done):
    monkeypatch.setattr(beside.subprocess, "Popen", Process)
    monkeypatch.setattr(beside, "PAUSE", 0.0)
    monkeypatch.setattr(beside, "TRIES", 4)
    Process.codes, Process.commands = list(codes), []
    told = []
    assert beside.side_by_side(["two-pilot,small-0"], ["--quick"], None, told.append) is done
    assert len(Process.commands) == len(codes) and len(told) == len(codes) - 1
    assert Process.commands[0][-5:] == ["--stage", "two-pilot", "--stage", "small-0", "--quick"]


def test_a_missing_package_is_said_once(monkeypatch, tmp_path, capsys):
    def run_stages(*arguments):
        raise ModuleNotFoundError("No module named 'numpy.f2py'")

    monkeypatch.setattr(stages, "run_stages", run_stages)
    assert stages.main(["--stage", "two-pilot", "--out", str(tmp_path)]) == beside.MISSING
    assert "install it, then run the same command again" in capsys.readouterr().err


def test_ctrl_c_comes_once_and_nothing_is_left(monkeypatch):
    sent = []

    class Running(Process):
        def poll(self):
            raise KeyboardInterrupt

        def send_signal(self, number):
            sent.append(number)

        def wait(self, seconds):
            return 0

    monkeypatch.setattr(beside.subprocess, "Popen", Running)
    Process.commands, handler = [], signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        beside.side_by_side(["two-pilot", "small-0"], [], None)
    assert sent == [signal.SIGINT] * 2 and signal.getsignal(signal.SIGTERM) == handler


def test_a_stage_is_in_one_list():
    with pytest.raises(SpecError, match="two-pilot is in two lists"):
        beside.side_by_side(["two-pilot,small-0", "two-pilot"], [], None)


def test_unknown_stages(tmp_path, capsys):
    assert stages.main(["--beside", "two-pilot,three-hundred", "--out", str(tmp_path)]) == 2
    assert "no stage 'three-hundred'" in capsys.readouterr().err
