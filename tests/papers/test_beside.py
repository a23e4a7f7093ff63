"""Stages side by side."""

from __future__ import annotations

import pytest

from kibitz.papers import beside, stages
from kibitz.papers.ledger import entries_of


def test_two_processes(tmp_path):
    out = tmp_path / "out"
    code = stages.main(["--quick", "--beside", "two-trained-finest-0", "--beside", "champions-phases,why-leduc",
                        "--out", str(out), "--known", str(tmp_path), "--work", str(tmp_path / "work"),
                        "--seconds", "1"])  # fmt: skip
    assert code == 1  # the first step of each stage is done in any case
    assert len(entries_of(out / "two-trained-finest-0.json")) == 1
    assert 1 <= len(entries_of(out / "champions-phases.json")) < 6 and not (out / "why-leduc.json").exists()


class Process:
    """What ends with some codes, one after the other."""

    codes: list[int]
    commands: list[list[str]]

    def __init__(self, command):
        Process.commands.append(command)

    def poll(self):
        return Process.codes.pop(0)


@pytest.mark.parametrize(("codes", "done"), [([0], True), ([2, -9, 1, 0], True), ([2] * 4, False)])
def test_a_process_that_fails_is_started_again(monkeypatch, codes, done):
    monkeypatch.setattr(beside.subprocess, "Popen", Process)
    monkeypatch.setattr(beside, "PAUSE", 0.0)
    monkeypatch.setattr(beside, "TRIES", 4)
    Process.codes, Process.commands = list(codes), []
    told = []
    assert beside.side_by_side(["two-pilot,small-0"], ["--quick"], None, told.append) is done
    assert len(Process.commands) == len(codes) and len(told) == len(codes) - 1
    assert Process.commands[0][-5:] == ["--stage", "two-pilot", "--stage", "small-0", "--quick"]


def test_unknown_stages(tmp_path, capsys):
    assert stages.main(["--beside", "two-pilot,three-hundred", "--out", str(tmp_path)]) == 2
    assert "no stage 'three-hundred'" in capsys.readouterr().err
