"""The command `kibitz`: what each command prints and writes, and that a mistake is a sentence, never a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import FOX, PATIENCE, Call, bad, child, data, good
from terminal import shown_until
from typer.main import get_command

import kibitz
from kibitz.bench import docs
from kibitz.cli import app
from kibitz.cli.watch import iteration_of, time_left
from kibitz.games import GAMES
from kibitz.report import text
from kibitz.solvers import SOLVERS
from kibitz.solvers.result import Evaluation

SECTIONS = {
    "Solve": ["demo", "games", "solvers", "info", "check", "abstract", "solve", "train", "stitch", "stitch auto"],
    "Evaluate": ["show", "evaluate", "diff", "crosstable", "match", "export", "import"],
    "Play": ["play", "ui", "acpc serve", "acpc join"],
    "Poker": [
        "poker spot", "poker preflop", "poker flops", "poker respond", "poker sizes", "poker icm", "poker pushfold",
        "poker tournament", "poker phases", "poker cards",
    ],
    "Research": ["sweep", "reproduce", "bench"],
}  # fmt: skip
COMMANDS = [name for names in SECTIONS.values() for name in names]
ALL = [" ".join(words) for words in docs.commands()]  # with groups, and commands inside of them
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


# Help


@pytest.mark.parametrize("module", ["kibitz", "kibitz.cli"])
def test_it_runs_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"kibitz {kibitz.__version__}"


def test_help_names_every_command(call: Call) -> None:
    out = good(call, "--help")
    parts = re.split(r"^(\w+):\n", out, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    listed = {name: re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", sections[name], re.MULTILINE) for name in SECTIONS}
    assert listed == SECTIONS and [*SECTIONS] == [name for name in sections if name != "Options"]
    code, out, err = call()
    assert code in (0, 2) and "Usage: kibitz" in out + err


@pytest.mark.parametrize("name", ALL)
def test_each_command_teaches_by_example(call: Call, name: str) -> None:
    out = good(call, *name.split(), "--help")
    assert "Example" in out and f"kibitz {name}" in out.partition("Example")[2]


@pytest.mark.parametrize("name", ["", *ALL])
def test_help_is_whole_sentences_of_at_most_80_columns(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("COLUMNS")
    out = good(call, *name.split(), "--help")
    assert max(map(len, out.splitlines())) <= 80, max(out.splitlines(), key=len)
    assert not re.search(r"\w\.\.\.$", out, re.MULTILINE), "a sentence is cut"
    command: Any = get_command(app)
    for word in [name] if name in command.commands else name.split():
        command = command.commands[word]
    assert re.fullmatch(r"[A-Z][^.]*\.", command.help.partition("\n\n")[0].replace("\n", " ")), "one sentence first"
    for param in command.params:
        help = getattr(param, "help", None)
        assert help and help.endswith((".", "...", ")")), param.name


def test_an_option_means_one_thing() -> None:
    """The same option has the same kind of value in every command."""
    kinds: dict[str, set[str]] = {}
    for words in docs.commands():
        command: Any = get_command(app)
        for word in words:
            command = command.commands[word]
        for param in command.params:
            if param.param_type_name == "option":
                flag = getattr(param, "is_flag", False)
                kinds.setdefault(param.opts[0], set()).add("" if flag else param.metavar)
    several = {name: found for name, found in kinds.items() if len(found) > 1}
    assert several == {"--compare": {"DIR", "RANGE"}, "--out": {"DIR", "FILE"}, "--resume": {"DIR", "LOG"}}


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
    assert re.findall(r"^\$ kibitz ([a-z ]+) --help$", page, re.MULTILINE) == ALL
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


def test_info_of_a_game_that_is_too_large(call: Call) -> None:
    facts = data(call, "info", "toepen")
    assert (facts["game"], facts["players"], facts["deals"]) == ("toepen", 2, 736_281_000)
    assert "train" in facts["commands"] and "too many to list" in facts["too_large"]
    out = good(call, "info", "toepen")
    assert re.search(r"deals +736,281,000\n", out) and "kibitz train" in out


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
        (("solve", "kuhn", "--checkpoint-every", "0"), "--checkpoint-every"),
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
