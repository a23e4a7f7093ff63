"""kibitz solve: what it prints and saves, Ctrl-C, and going on from a checkpoint."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import FOX, PATIENCE, Call, bad, child, data, good

import kibitz
from kibitz.forms.profile import Profile
from kibitz.solvers.checkpoints import checkpoint_meta
from kibitz.solvers.result import Evaluation

LOG = sys.modules["kibitz.cli.solve"]._Log


# Solving


def test_solve_prints_value_gap_and_how_to_save(call: Call) -> None:
    out = good(call, "solve", "kuhn")
    assert "-0.055556 for seat 0" in out and "NashConv" in out and "--out" in out
    assert not list(Path().iterdir())


def test_solve_writes_all_it_is_asked_for(call: Call) -> None:
    options = ("--solver", "cfr+", "--until", "1e-3", "--seed", "3", "--threads", "1")
    paths = (
        "--out",
        "deep/k.profile",
        "--plot",
        "deep/k.png",
        "--log",
        "deep/k.jsonl",
        "--checkpoint",
        "deep/k.checkpoint",
    )
    found = data(call, "solve", "kuhn", *options, *paths)
    assert found["nash_conv"] <= 1e-3 and found["solver"] == "cfr+" and found["seed"] == 3
    assert found["exploitability"] == found["nash_conv"] / 2 and not found["interrupted"]
    profile = kibitz.load("deep/k.profile")
    assert profile.sha256 == found["sha256"] and profile.meta["iterations"] == found["iterations"]
    assert kibitz.nash_conv(kibitz.game("kuhn"), profile) == pytest.approx(found["nash_conv"])
    assert Path("deep/k.png").read_bytes().startswith(b"\x89PNG")
    looks = [json.loads(line) for line in Path("deep/k.jsonl").read_text().splitlines()]
    assert looks[0]["iteration"] == 0 and looks[-1]["iteration"] == found["iterations"]
    assert looks[-1]["nash_conv"] == found["nash_conv"]
    assert checkpoint_meta("deep/k.checkpoint")["stop"] == {"until": 1e-3}


@pytest.mark.parametrize("solver", ["lp", "cfr+"])
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plots(call: Call, solver: str, ending: str) -> None:
    good(call, "solve", "matrix(payoffs=[[1, -1], [-1, 1]])", "--solver", solver, "--plot", f"p.{ending}")
    assert Path(f"p.{ending}").stat().st_size > 5_000


def test_quiet_is_quiet(call: Call) -> None:
    assert good(call, "solve", "kuhn", "--quiet", "--out", "k.profile") == ""
    assert Profile.load("k.profile").seats == 2


def test_solve_says_what_it_cannot_promise(call: Call) -> None:
    out = good(call, "solve", "kuhn(players=3)", "--iterations", "20")
    assert "3 players" in out and "+" in out
    out = good(call, "solve", "matrix(tables=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]])", "--iterations", "20")
    assert "do not sum to zero" in out


def test_a_game_of_ones_own(call: Call) -> None:
    Path("fox.py").write_text(FOX)
    found = data(call, "solve", "fox.py:Fox", "--out", "fox.profile")
    assert found["game"] == "fox.py:Fox" and found["value"] == pytest.approx([0, 0])
    assert "seek" in good(call, "show", "fox.profile")
    # The profile names the file, but a file is run only if the user names it.
    sentence = bad(call, "evaluate", "fox.profile")
    assert "--game fox.py:Fox" in sentence
    assert data(call, "evaluate", "fox.profile", "--game", "fox.py:Fox")["nash_conv"] == pytest.approx(0)


def test_openspiel(call: Call) -> None:
    pytest.importorskip("pyspiel")
    assert data(call, "solve", "openspiel:kuhn_poker", "--out", "k.profile")["value"][0] == pytest.approx(-1 / 18)
    assert data(call, "evaluate", "k.profile")["game"] == "openspiel:kuhn_poker"


# Ctrl-C, and going on


@pytest.fixture
def interrupt_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """interrupt_after(looks): the next run gets a Ctrl-C at its so-manieth look at the gap."""

    def wanted(looks: int) -> None:
        left = [looks]

        def add(self: Any, now: Evaluation) -> None:
            real(self, now)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(LOG, "add", add)

    real = LOG.add
    return wanted


def test_ctrl_c_and_resume_give_the_same_profile(tmp_path: Path) -> None:
    """A process of its own is interrupted, and goes on with nothing but its checkpoint."""
    options = (
        "--solver",
        "cfr+",
        "--iterations",
        "1000000000",
        "--checkpoint",
        "c",
        "--every",
        "0.1",
        "--out",
        "p.profile",
    )
    first = child("solve", "leduc", *options, cwd=tmp_path)
    while not (tmp_path / "c" / "manifest.json").exists() and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=PATIENCE)
    assert (first.returncode, err) == (130, "")
    assert "kibitz solve --resume c --out p.profile" in out
    at = checkpoint_meta(tmp_path / "c")["iteration"]
    assert at > 0
    second = child("solve", "--resume", "c", "--out", "p.profile", "--iterations", str(at + 99), "--json", cwd=tmp_path)
    out, err = second.communicate(timeout=PATIENCE)
    assert (second.returncode, err) == (0, "")
    found = json.loads(out)
    assert found["iterations"] == at + 99 and found["game"] == "leduc"
    whole = kibitz.solve("leduc", "cfr+", iterations=at + 99)
    assert found["sha256"] == whole.sha256 == kibitz.load(str(tmp_path / "p.profile")).sha256


def test_until_stops_in_the_same_place_after_a_resume(call: Call, interrupt_after: Callable[[int], None]) -> None:
    interrupt_after(70)
    paths = ("--checkpoint", "c", "--log", "l.jsonl")
    code, out, err = call("solve", "leduc", "--solver", "cfr+", "--until", "1e-5", *paths, "--json")
    assert (code, err) == (130, "")
    found = json.loads(out)
    assert found["interrupted"] and found["continue"] == "kibitz solve --resume c --log l.jsonl"
    resumed = data(call, *found["continue"].split()[1:])
    whole = kibitz.solve("leduc", "cfr+", until=1e-5)
    assert resumed["sha256"] == whole.sha256 and resumed["iterations"] > found["iterations"]
    looks = [json.loads(line) for line in Path("l.jsonl").read_text().splitlines()]
    assert [look["iteration"] for look in looks] == sorted({look["iteration"] for look in looks})
    assert looks[0]["iteration"] == 0 and looks[-1]["seconds"] == pytest.approx(resumed["seconds"], abs=0.1)
    assert [look["seconds"] for look in looks] == sorted(look["seconds"] for look in looks)


def test_a_run_is_saved_without_being_asked(call: Call, interrupt_after: Callable[[int], None]) -> None:
    Path("runs/kuhn_players_3.checkpoint").mkdir(parents=True)  # in the way
    interrupt_after(40)
    code, out, err = call("solve", "kuhn(players=3)", "--solver", "cfr", "--seconds", "60", "--log", "l.jsonl")
    assert (code, err) == (130, "")
    command = out.splitlines()[-1].strip()
    assert command == "kibitz solve --resume runs/kuhn_players_3-2.checkpoint --log l.jsonl"
    meta = checkpoint_meta("runs/kuhn_players_3-2.checkpoint")
    assert meta["game"] == "kuhn(players=3)" and meta["stop"]["seconds"] == 60
    on = good(call, "solve", "--resume", "runs/kuhn_players_3-2.checkpoint", "--iterations", str(meta["iteration"]))
    assert "there already" in on


def test_each_interrupted_run_in_a_folder_is_kept(call: Call, interrupt_after: Callable[[int], None]) -> None:
    """However short it was, and whatever stands in its way."""
    for number, name in enumerate(("kuhn", "kuhn-2", "kuhn-3"), 1):
        log = Path(f"l{number}.jsonl")
        interrupt_after(30)
        code, out, err = call("solve", "kuhn", "--solver", "cfr", "--seconds", "600", "--log", log)
        assert (code, err) == (130, "")
        assert out.splitlines()[-1].strip() == f"kibitz solve --resume runs/{name}.checkpoint --log {log}"
    for name in ("kuhn", "kuhn-2", "kuhn-3"):
        at = checkpoint_meta(f"runs/{name}.checkpoint")["iteration"]
        on = data(call, "solve", "--resume", f"runs/{name}.checkpoint", "--iterations", str(at + 10))
        assert on["iterations"] == at + 10 and on["checkpoint"] == f"runs/{name}.checkpoint"


def test_an_interrupted_run_within_an_abstraction_goes_on(call: Call, interrupt_after: Callable[[int], None]) -> None:
    interrupt_after(30)
    order = ("solve", "leduc", "--solver", "cfr", "--abstraction", "JQ.K")
    code, out, err = call(*order, "--seconds", "600", "--log", "l.jsonl", "--json")
    assert (code, err) == (130, "")
    command = json.loads(out)["continue"]
    assert command == "kibitz solve leduc --resume runs/leduc.checkpoint --abstraction JQ.K --log l.jsonl"
    at = json.loads(out)["iterations"]
    on = data(call, *command.split()[1:], "--iterations", str(at + 10))
    assert on["sha256"] == data(call, *order, "--iterations", str(at + 10))["sha256"]


def test_resume_takes_stop_seed_and_solver_from_the_checkpoint(call: Call) -> None:
    options = ("--solver", "mccfr(sampling=outcome)", "--seed", "5", "--iterations", "500", "--checkpoint", "c")
    whole = data(call, "solve", "kuhn", *options, "--threads", "1")
    again = data(call, "solve", "--resume", "c")
    assert again["sha256"] == whole["sha256"] and again["seed"] == 5 and again["iterations"] == 500
    more = data(call, "solve", "--resume", "c", "--iterations", "700")
    assert more["sha256"] == kibitz.solve("kuhn", "mccfr(sampling=outcome)", seed=5, iterations=700).sha256
    assert data(call, "solve", "--resume", "c")["iterations"] == 700  # the new stop is remembered
    timed = data(call, "solve", "kuhn", "--solver", "cfr", "--seconds", "0.2", "--checkpoint", "t")
    assert data(call, "solve", "--resume", "t")["iterations"] == timed["iterations"]  # its time is over
    assert data(call, "solve", "--resume", "t", "--seconds", "0.2")["iterations"] > timed["iterations"]


def test_resume_of_another_run_is_refused(call: Call) -> None:
    good(call, "solve", "kuhn", "--solver", "cfr", "--iterations", "5", "--checkpoint", "c")
    assert "solver" in bad(call, "solve", "--resume", "c", "--solver", "cfr+")
    assert "seed" in bad(call, "solve", "--resume", "c", "--seed", "1")
    assert "another run" in bad(call, "solve", "leduc", "--resume", "c")
    assert "--checkpoint" in bad(call, "solve", "--resume", "c", "--checkpoint", "d")
    assert "kibitz solve --resume c" in bad(call, "solve", "kuhn", "--checkpoint", "c")
    Path("fox.py").write_text(FOX)
    good(call, "solve", "fox.py:Fox", "--solver", "cfr", "--iterations", "5", "--checkpoint", "f")
    assert "fox.py:Fox" in bad(call, "solve", "--resume", "f")
    assert data(call, "solve", "fox.py:Fox", "--resume", "f", "--iterations", "9")["iterations"] == 9


def test_no_file_is_run_on_the_word_of_an_artefact(call: Call, kuhn: Path) -> None:
    profile = kibitz.load(str(kuhn))
    quoted = Path('kuhn(x="')  # a directory whose name makes the spec below a path
    quoted.mkdir()
    for place in (Path("evil.py"), quoted / "evil.py"):
        place.write_text("open('ran', 'w')\n" + FOX)
    for spec in (
        "evil.py:Fox",
        " evil.py:Fox",
        f"{Path('evil.py').absolute()}:Fox",
        'kuhn(x="/evil.py:Fox")',
        "evil.efg",
    ):
        replace(profile, meta={**profile.meta, "game": spec}).save("p.profile")
        assert "only if you name it" in bad(call, "evaluate", "p.profile")
    replace(profile, meta={"tree": "x"}).save("p.profile")
    assert "--game" in bad(call, "evaluate", "p.profile")
    assert not Path("ran").exists()
