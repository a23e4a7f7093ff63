"""The command `kibitz`: what each command prints and writes, and that a mistake is a sentence, never a traceback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from terminal import shown_until

import kibitz
from kibitz.bench import docs
from kibitz.cli import app
from kibitz.cli.watch import iteration_of, time_left
from kibitz.forms.profile import Profile
from kibitz.games import GAMES
from kibitz.report import text
from kibitz.solvers import SOLVERS
from kibitz.solvers.checkpoints import checkpoint_meta
from kibitz.solvers.result import Evaluation

COMMANDS = [
    "demo", "games", "solvers", "info", "check", "shrink", "abstract", "solve", "phases", "stitch", "train",
    "evaluate", "crosstable", "diff",
    "match", "dealer", "acpc-client", "play", "serve", "show", "export", "import", "icm", "pushfold", "tournament",
    "paper", "bench", "cards",
]  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

LOG = sys.modules["kibitz.cli.solve"]._Log
PATIENCE = 600  # seconds for what takes one on an idle machine

Call = Callable[..., tuple[int, str, str]]

FOX = """
from kibitz.games import TERMINAL

class Fox:
    players = 2
    def root(self): return ()
    def turn(self, state): return (0, 1, TERMINAL)[len(state)]
    def actions(self, state): return ["left", "right"]
    def chance(self, state): return []
    def after(self, state, action): return (*state, action)
    def infoset(self, state): return "hide" if not state else "seek"
    def payoff(self, state): return [1, -1] if state[0] != state[1] else [-1, 1]
"""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command in this process, in an empty directory: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return run


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved profile of Kuhn poker."""
    path = tmp_path_factory.mktemp("profiles") / "kuhn.profile"
    kibitz.solve("kuhn", "lp").save(path)
    return path


def good(call: Call, *arguments: str | Path) -> str:
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    return out


def data(call: Call, *arguments: str | Path) -> dict:
    """What a command prints with --json: one object and nothing else."""
    return json.loads(good(call, *arguments, "--json"))


def bad(call: Call, *arguments: str | Path) -> str:
    """The sentence that a command fails with."""
    before = sorted(Path().rglob("*"))
    code, out, err = call(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1, err
    assert sorted(Path().rglob("*")) == before, "nothing is written"
    return err.removeprefix("error: ").strip()


def child(*arguments: str | Path, cwd: Path | None = None) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "kibitz.cli", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)


# Help


@pytest.mark.parametrize("module", ["kibitz", "kibitz.cli"])
def test_it_runs_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"kibitz {kibitz.__version__}"


def test_help_names_every_command(call: Call) -> None:
    out = good(call, "--help")
    assert docs.commands(out) == COMMANDS
    code, out, err = call()
    assert code in (0, 2) and "Usage: kibitz" in out + err


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_teaches_by_example(call: Call, name: str) -> None:
    out = good(call, name, "--help")
    assert "Example" in out and f"kibitz {name}" in out.partition("Example")[2]


def test_version(call: Call) -> None:
    assert good(call, "--version") == f"kibitz {kibitz.__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom kibitz.cli import app\n"
        "try: app(['--help'], prog_name='kibitz')\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'numpy', 'scipy', 'matplotlib', 'rich', 'llvmlite'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


# Documents


def test_the_page_is_up_to_date() -> None:
    assert PAGE == docs.PAGE
    assert PAGE.read_text(encoding="utf-8") == docs.page(), "run python -m kibitz.bench.docs"


def test_the_api_page_is_up_to_date_and_has_every_public_name() -> None:
    page = docs.API.read_text(encoding="utf-8")
    assert page == docs.api.page(), "run python -m kibitz.bench.docs"
    shown = re.findall(r"^### kibitz\.([\w.]+)", page, re.MULTILINE)
    assert {*kibitz.__all__} - {"cards", "stitch"} <= {*shown} and len(shown) == len({*shown})
    assert " at 0x" not in page, "the same page on every machine"


def test_the_page_has_every_command_game_and_solver() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## kibitz ([\w-]+)$", page, re.MULTILINE) == COMMANDS
    for name in [*GAMES, *SOLVERS]:
        assert re.search(rf"^{re.escape(name)} +\S", page, re.MULTILINE), f"{name} has no line"


def test_docs_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(docs, "page", lambda: "the page")
    monkeypatch.setattr(docs, "PAGE", tmp_path / "docs" / "cli.md")
    monkeypatch.setattr(docs, "API", tmp_path / "docs" / "api.md")
    assert docs.main(["--check"]) == 1
    assert docs.main([]) == 0 and (tmp_path / "docs" / "cli.md").read_text() == "the page"
    assert docs.main(["--check"]) == 0
    monkeypatch.setattr(docs, "page", lambda: "another page")
    assert docs.main(["--check"]) == 1
    monkeypatch.setattr(docs, "page", lambda: "the page")
    (tmp_path / "docs" / "api.md").write_text("stale")
    assert docs.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().out
    assert docs.main(["--chekc"]) == 2


# Lists


def test_games(call: Call) -> None:
    out = good(call, "games")
    for name in GAMES:
        assert re.search(rf"^{name} ", out, re.MULTILINE)
    assert "bets=[2, 4]" in out and "suit_isomorphism=false" in out
    assert "openspiel:" in out and ".efg" in out and "my_game.py:" in out
    listed = {row["name"]: row for row in data(call, "games")["games"]}
    assert list(listed) == list(GAMES)
    assert listed["kuhn"]["parameters"] == {"players": 2}
    assert listed["poker"]["needed"] == ["file"] and "cells=[[[3, 3], [0, 5]]" in listed["matrix"]["about"]


def test_solvers(call: Call) -> None:
    out = good(call, "solvers")
    for name in SOLVERS:
        assert re.search(rf"^{re.escape(name)} ", out, re.MULTILINE)
    assert "alpha=1.5" in out
    assert [row["name"] for row in data(call, "solvers")["solvers"]] == list(SOLVERS)


def test_info(call: Call) -> None:
    out = good(call, "info", "kuhn")
    assert "perfect recall" in out and "58: 24 decisions, 4 chance, 30 terminal" in out
    found = data(call, "info", "leduc")
    assert found["players"] == 2 and found["zero_sum"] and found["perfect_recall"]
    assert found["histories"] == {"total": 9457, "decision": 3780, "chance": 157, "terminal": 5520}
    assert found["infosets"] == [468, 468] and found["sequences"] == [1093, 1093]
    assert found["payoff"] == {"least": [-13, -13], "most": [13, 13]}
    assert found["bytes"]["solve"] == sum(found["bytes"][part] for part in ("tree", "form", "cfr"))
    assert found["layout"]["histories_per_second"] > 0


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
    """interrupt_after(evaluations): the next run gets a Ctrl-C at its so-manieth evaluation."""

    def wanted(evaluations: int) -> None:
        left = [evaluations]

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


# Profiles


def test_evaluate(call: Call, kuhn: Path) -> None:
    out = good(call, "evaluate", kuhn)
    assert "best response" in out and "exploitability" in out and "-0.055556" in out
    found = data(call, "evaluate", kuhn)
    assert found["value"] == pytest.approx([-1 / 18, 1 / 18]) and found["nash_conv"] == pytest.approx(0, abs=1e-12)
    assert found["game"] == "kuhn" and len(found["best_response"]) == 2
    assert "another game" in bad(call, "evaluate", kuhn, "--game", "leduc")


def test_show(call: Call, kuhn: Path) -> None:
    out = good(call, "show", kuhn)
    assert "seat 0: 6 infosets" in out and "seat 1: 6 infosets" in out
    assert "pass" in out and "100%" in out and "█" in out
    assert out.index("J:") < out.index("Q:") < out.index("K:")
    one = good(call, "show", kuhn, "--seat", "1", "--filter", "K", "--limit", "1")
    assert "seat 0" not in one and "K:p" in one and "K:b" not in one and "and 1 more" in one
    whole = data(call, "show", kuhn)
    assert len(whole["strategy"]) == 12 and whole["seats"] == 2
    row = data(call, "show", kuhn, "--infoset", "J:b")["strategy"]
    assert row == [
        {"seat": 1, "infoset": "J:b", "actions": {"pass": 1.0, "bet": 0.0}, "reach": 0.0,
         "values": {"pass": None, "bet": None}}
    ]  # fmt: skip
    assert len(data(call, "show", kuhn, "--limit", "2")["strategy"]) == 4
    assert "no seat 2" in bad(call, "show", kuhn, "--seat", "2")
    assert "near ones" in bad(call, "show", kuhn, "--infoset", "J:bb")
    assert "contains 'Z'" in bad(call, "show", kuhn, "--filter", "Z")
    assert "--limit" in bad(call, "show", kuhn, "--limit", "-1")


def test_show_without_bars_and_with_many_actions(call: Call, kuhn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert "█" not in good(call, "show", kuhn)
    kibitz.solve("liars_dice(dice_sides=4)", "cfr+", iterations=30).save("dice.profile")
    out = good(call, "show", "dice.profile", "--limit", "3")
    assert "others below 0.1%" in out


def test_what_a_profile_says_does_not_steer_the_terminal(call: Call, kuhn: Path) -> None:
    profile = kibitz.load(str(kuhn))
    labels = ["\x1b[2J[red]J:", *profile.infosets.labels[1:]]
    actions = [("pass\x07", "bet\n")]
    infosets = replace(profile.infosets, labels=labels, actions=actions)
    Profile(infosets, np.array(profile.probabilities), {"game": "\x1b]0;x\x07", "solver": "[bold]"}).save("p.profile")
    out = good(call, "show", "p.profile")
    assert "\x1b" not in out and "\x07" not in out and "\\x1b[2J[red]J:" in out and "[bold]" in out
    _, _, err = call("evaluate", "p.profile")
    assert "\x1b" not in err


def test_export(call: Call, kuhn: Path) -> None:
    assert "58 histories" in good(call, "export", "kuhn", "kuhn.efg")
    assert data(call, "solve", "kuhn.efg")["value"][0] == pytest.approx(-1 / 18)
    good(call, "export", kuhn, "kuhn.csv")
    lines = Path("kuhn.csv").read_text().splitlines()
    assert lines[0] == "seat,infoset,action,probability" and len(lines) == 25
    good(call, "export", kuhn, "sub/kuhn.json")
    assert json.loads(Path("sub/kuhn.json").read_text()) == data(call, "show", kuhn, "--no-values")
    assert ".efg" in bad(call, "export", "kuhn", "kuhn.txt")
    assert ".csv or .json" in bad(call, "export", kuhn, "kuhn2.efg")


def test_demo(call: Call) -> None:
    out = good(call, "demo")
    assert "-0.085606" in out and "compiles" in out and "Try next" in out and "raise" in out
    assert Path("runs/demo/leduc.png").read_bytes().startswith(b"\x89PNG")
    assert kibitz.load("runs/demo/leduc.profile").meta["nash_conv"] <= 1e-4


def test_bench_hands_its_options_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr("kibitz.bench.bench.bench", lambda **options: given.update(options))
    good(call, "bench", "--quick", "--seconds", "3", "--json", "b.json", "--only", "lp")
    assert callable(given.pop("show"))
    assert given == {
        "seconds": 3.0, "quick": True, "json_path": Path("b.json"), "markdown_path": None, "only": "lp",
        "peers_python": None,
    }  # fmt: skip
    assert "--seconds" in bad(call, "bench", "--seconds", "0")
    assert ".md" in bad(call, "bench", "--markdown", "b.txt")


# What is wrong is a sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("solve", "khun"), "did you mean 'kuhn'"),
        (("info", "kuhn(player=3)"), "did you mean 'players'"),
        (("info", "kuhn(players=two)"), "a whole number"),
        (("info", "kuhn(players=1)"), "2 to 10 players"),
        (("info", "kuhn(players=3"), "column"),
        (("info", "nothing.efg"), "cannot read the game file"),
        (("info", "nothing.py:Game"), "there is no file"),
        (("solve",), "name a GAME"),
        (("solve", "kuhn", "--solver", "crf"), "unknown solver"),
        (("solve", "kuhn", "--solver", "dcfr(alpha=big)"), "a number"),
        (("solve", "kuhn(players=3)", "--solver", "lp"), "two-player"),
        (("solve", "kuhn", "--iterations", "-1"), "0 or more"),
        (("solve", "kuhn", "--until", "-1"), "0 or more"),
        (("solve", "kuhn", "--seconds", "0"), "above 0"),
        (("solve", "kuhn", "--threads", "0"), "--threads"),
        (("solve", "kuhn", "--every", "0"), "--every"),
        (("solve", "kuhn", "--plot", "k.jpeg"), ".png or .svg or .pdf"),
        (("solve", "kuhn", "--plot", "file/k.png"), "not a directory"),
        (("solve", "kuhn", "--plot", "folder.png"), "is a directory"),
        (("solve", "kuhn", "--log", "k.txt"), ".jsonl"),
        (("solve", "kuhn", "--out", "file"), "not a directory"),
        (("solve", "kuhn", "--out", "file/k.profile"), "not a directory"),
        (("solve", "kuhn", "--out", "folder"), "something else"),
        (("solve", "kuhn", "--checkpoint", "folder"), "something else"),
        (("solve", "--resume", "nothing"), "no saved checkpoint at 'nothing'"),
        (("evaluate", "nothing"), "no saved profile at 'nothing'"),
        (("show", "folder"), "no saved profile at 'folder'"),
        (("demo", "--out", "file"), "not a directory"),
        (("export", "khun", "k.efg"), "did you mean 'kuhn'"),
    ],
)  # fmt: skip
def test_bad_input(call: Call, arguments: tuple[str, ...], words: str) -> None:
    Path("file").write_text("in the way")
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("mine")
    Path("folder.png").mkdir()
    assert words in bad(call, *arguments)


@pytest.mark.parametrize("arguments", [("slove",), ("solve", "kuhn", "--iteration"), ("solve", "kuhn", "--seed", "x")])
def test_usage_errors(call: Call, arguments: tuple[str, ...]) -> None:
    code, out, err = call(*arguments)
    assert code == 2 and out == "" and "Usage: kibitz" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(call: Call) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "permission" in bad(call, "solve", "kuhn", "--out", "locked/k.profile")


def test_an_out_that_cannot_be_written_after_all(call: Call) -> None:
    """/proc passes for a directory until something is written there."""
    if not Path("/proc/self").is_dir():
        pytest.skip("needs /proc")
    for option, name in (("--out", "k.profile"), ("--plot", "k.png"), ("--log", "k.jsonl")):
        assert f"/proc/{name}" in bad(call, "solve", "kuhn", option, f"/proc/{name}")


def test_damaged_artefacts(call: Call, kuhn: Path) -> None:
    import shutil

    shutil.copytree(kuhn, "p.profile")
    target = next(Path("p.profile").glob("probabilities-*.bin"))
    content = bytearray(target.read_bytes())
    content[3] ^= 1
    target.write_bytes(content)
    assert "damaged" in bad(call, "show", "p.profile")
    assert "damaged" in bad(call, "evaluate", "p.profile")
    assert "not a checkpoint" in bad(call, "solve", "--resume", kuhn)
    assert "is a profile, not a checkpoint" in bad(call, "solve", "kuhn", "--checkpoint", kuhn)


def test_an_efg_file_with_a_mistake(call: Call) -> None:
    Path("g.efg").write_text('EFG 2 R "g" { "a" "b" }\np "" 1 1 "x" { "l" "r" 0\n')
    assert "g.efg" in bad(call, "info", "g.efg")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("TERMINAL\n", "TERMINAL\nclass:\n"), "fox.py, line 3: SyntaxError"),
        (("class", "import nonsuch\nclass"), "fox.py, line 4, in <module>: ModuleNotFoundError"),
        (("class", "raise SystemExit(0)\nclass"), "fox.py, line 4, in <module>: SystemExit"),
        (("return [1, -1]", "return [1 / 0, -1]"), "fox.py, line 12, in payoff: ZeroDivisionError"),
        (('["left", "right"]', "[]"), "no actions"),
        (("[1, -1]", "['one', -1]"), "must be a real number"),
        (("players = 2", "players = []"), "players"),
        (("[len(state)]", "[0]"), "cycle"),
        (("def after", "def afterwards"), "it lacks after"),
    ],
)
def test_a_game_of_ones_own_with_a_bug(
    call: Call, change: tuple[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert change[0] in FOX
    Path("fox.py").write_text(FOX.replace(*change))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert words in bad(call, "info", "fox.py:Fox")


def test_a_reader_who_leaves_early_is_not_told_off(kuhn: Path) -> None:
    process = child("show", kuhn, "--json")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=PATIENCE)


# Text and time


def test_numbers_as_text() -> None:
    assert [text.duration(s) for s in (0.007, 0.44, 12.3, 59.9, 185, 7800)] == [
        "7 ms", "0.4 s", "12 s", "60 s", "3:05", "2:10:00"
    ]  # fmt: skip
    assert [text.size(n) for n in (512, 3_400_000, 2.5e12)] == ["512 B", "3.4 MB", "2.5 TB"]
    assert [text.percent(p) for p in (0, 1e-5, 0.432, 0.99999, 1)] == ["0%", "<0.1%", "43.2%", ">99.9%", "100%"]
    assert text.gap(0.0) == "0" and text.gap(9.98e-5) == "9.98e-05" and text.gap(4.7472) == "4.747"
    assert text.bar(0.5) == "████    " and text.bar(0) == " " * 8 and text.bar(1) == "█" * 8


def test_time_left() -> None:
    looks = [Evaluation(i, i / 100, 3.0 / i, [0.0]) for i in (1, 10, 20, 40, 50, 60, 70, 80, 90, 100)]
    assert iteration_of(3e-3, looks) == pytest.approx(1000)
    assert iteration_of(3e-3, looks[:3]) is None, "too little is known"
    assert iteration_of(3e-3, [replace(look, nash_conv=1.0) for look in looks]) is None, "it does not fall"
    assert time_left({"iterations": 600.0}, looks, 100, 50.0, 2.0) == pytest.approx(10)
    assert time_left({"until": 3e-3}, looks, 100, 100.0, 1.0) == pytest.approx(9)
    assert time_left({"seconds": 5.0, "until": 3e-3}, looks, 100, 100.0, 1.0) == pytest.approx(4)
    assert time_left({"iterations": 600.0}, looks, 100, 0.0, 0.0) is None
    assert time_left({"iterations": 50.0}, looks, 100, 1.0, 0.0) == 0


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    """A long run at a terminal shows iterations, gap and time left, on stderr alone."""
    line = r"solving leduc by cfr: iteration [\d,]+, [\d.:]+ (m?s )?used, NashConv [\d.e-]+, about [\d.:]+ (m?s )?left"
    words = ["solve", "leduc", "--solver", "cfr", "--iterations", "1000000000"]
    code, out, _ = shown_until(line, words, tmp_path, 150)
    assert code == 130 and out.startswith("leduc by cfr:") and "\x1b" not in out


def test_stitching_speaks_of_options(call: Call) -> None:
    good(call, "solve", "kuhn", "--out", "base.profile")
    good(call, "stitch", "kuhn", "--base", "base.profile", "--partition", "prefix(b)", "--iterations", "5")
    told = bad(call, "stitch", "kuhn", "--base", "base.profile", "--partition", "prefix(b)", "--seats", "0,5")
    assert told.startswith("--seats [0, 5]: ")
    nameless = kibitz.solve("kuhn", "cfr", iterations=3, abstraction=lambda seat, infoset: infoset)
    nameless.save("own.profile")
    told = bad(call, "stitch", "kuhn", "--base", "own.profile", "--partition", "prefix(b)")
    assert "give --outside NAME" in told
