"""Every example of --help and of the README is run, with small stand-ins for files and for what would take long."""

from __future__ import annotations

import glob
import io
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import kibitz
import kibitz.core.jit
from kibitz.cards import tables
from kibitz.cli import app
from kibitz.games import GAMES as BUILT_IN
from kibitz.poker.endgames.phases import phase_one

ROOT = Path(__file__).parents[2]
RULES = re.search(r"```python\n(.*?)```", (ROOT / "docs/own_game.md").read_text(), re.S)

# What is not run as it is printed. All else is.
SMALLER = [
    (r"^(evaluate .*)--seconds \S+", r"\1--seconds=0.2"),
    (r"--seconds \S+", "--iterations 20"),
    (r"seconds=[\d.]+", "seconds=0.01"),  # of a player that searches
    (r"--iterations \d{4,}", "--iterations 100"),
    (r"^(stitch .*--solver pcs)$", r"\1 --iterations 20"),
    (r"^(poker pushfold .*)--deals \d+", r"\1--deals=1000"),
    (r"^poker pushfold (--stacks \d+,\d+,\d+ )", r"poker pushfold --deals=1000 \1"),
    (r"--deals \d+", "--deals 10"),
    (r"^poker tournament --algorithm", "poker tournament 'tournament(players=2, chips=1800)' --algorithm"),
    (r"chips=8000, unit=100", "chips=1000, unit=100"),
    (r"players=3, chips=4500", "players=2, chips=4500"),  # three need a table that takes long to make
    (r"--hands \d+", "--hands 2"),
    (r"--memory \S+", "--memory 50MB"),
    (r"\brhode_island\b", "'rhode_island(ranks=3, suits=2)'"),
    (r"--seeds \d+", "--seeds 2"),
    (r"^reproduce ([\w-]+)", r"reproduce \1 --quick"),
    (r"/tmp/", "tmp/"),
    (r"(?<!file=)holdem\.limit\.3p", "'poker(file=holdem.limit.3p, ranks=3)'"),
    (r"--max-infosets \d\d?\d?M", "--max-infosets 20M"),
    (r"holdem\.limit\.2p --max-infosets 20M", "'poker(file=holdem.limit.2p, ranks=4)' --max-infosets 20k"),
    (r"holdem\.limit\.2p --whole", "'poker(file=kuhn)' --whole"),
    (r"holdem\.limit\.2p --boards", "'poker(file=holdem.limit.2p, ranks=4, suits=3)' --boards"),
]
# Those who wait for a partner: tests/poker/test_acpc_dealer.py and tests/test_web_*.py play both sides.
PARTNER = r"acpc join|acpc serve .*--port|ui"
# With compiling, a minute.
SLOW = r"reproduce|bench|(stitch auto|train) 'poker\(file=holdem.limit.[23]p|"
SLOW += r"acpc serve rhode_island|\w+ holdem.limit.3p|evaluate always|"
SLOW += r"sweep .solve leduc --until|poker flops --pot 100 |match 'search|match three|play 'leduc\(players=3\)'|"
SLOW += r"poker preflop --stacks 20 |poker cards equity ([AKQJT][AKQJT]s?o? |'top)|poker cards show 'Ah Kd'$"
OUTPUTS = {"--out", "--plot", "--log", "--markdown", "--transcript", "--checkpoint", "--html", "--csv"}
GAMES = {
    "kuhn": "kuhn",
    "theirs": "kuhn",
    "leduc": "leduc",
    "three": "leduc(players=3)",
    "fox": "fox.py:FoxAndHen",
    "hen": "fox.py:FoxAndHen",
    "ri": "rhode_island(ranks=3, suits=2)",
    "nl": "poker(file=holdem.nolimit.2p, ranks=3, suits=3, stack=300, bets=[1])",
    "h3": "poker(file=holdem.limit.3p, ranks=3)",
}
FILE = re.compile(r"[\w./*-]+\.(?:profile|blueprint|checkpoint|py|txt|csv|json)(?![\w.])")


def examples() -> list[str]:
    """The examples of all commands and groups, and the commands of the README, each once."""
    found: list[str] = []

    def read(command: Any) -> None:
        for line in re.sub(r" \\\n +", " ", command.help or "").splitlines():
            if line.strip().startswith("kibitz ") and line.startswith("  "):
                found.append(re.split(r" {3,}", line.strip())[0].removeprefix("kibitz "))
        for each in getattr(command, "commands", {}).values():
            read(each)

    read(get_command(app))
    found += re.findall(r"^    kibitz (.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    return list(dict.fromkeys(found))


def marked(line: str) -> Any:
    return pytest.param(line, marks=[pytest.mark.slow] if re.match(SLOW, line) else [], id=line)


def test_there_are_examples_of_every_command() -> None:
    lines = examples()
    named = {line.split()[0] for line in lines} | {" ".join(line.split()[:2]) for line in lines}
    assert named >= set(get_command(app).commands)  # type: ignore[attr-defined]
    assert len(lines) > 50


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], None]:
    """Makes a small file or directory of the kind that a path's name tells, for a game; the same one is made once."""
    shelf = tmp_path_factory.mktemp("shelf")
    made: dict[tuple[str, str], Path] = {}

    def run(*words: str | Path) -> None:
        with pytest.raises(SystemExit) as end:
            app([str(word) for word in words], prog_name="kibitz")
        assert not end.value.code, words

    def make(path: Path, game: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = path.suffix
        if kind == ".py":
            assert RULES is not None
            path.write_text(RULES[1] + "\n\nMyGame = FoxAndHen\n")
            return
        if (kind, game) not in made:
            place = shelf / f"{len(made)}{kind}"
            if kind == ".profile":
                kibitz.solve(game, "cfr", iterations=10).save(place)
            elif kind == ".checkpoint":
                run("solve", game, "--solver", "cfr+", "--iterations", "5", "--checkpoint", place, "--quiet")
            elif kind in (".csv", ".json"):
                kibitz.solve(game, "cfr", iterations=10).save(shelf / "out.profile")
                run("export", shelf / "out.profile", place)
                shutil.rmtree(shelf / "out.profile")
            elif kind == ".blueprint":
                few = "5k" if "raises" in game else "20M"
                rows = ["--max-infosets", few] if "holdem" in game else ["--memory", "20MB"]
                run("train", game, "--iterations", "20", *rows, "--threads", "1", "--out", place)
            else:
                run("play", game, "--hands", "1", "--seed", "1", "--transcript", place)
            made[kind, game] = place
        (shutil.copytree if made[kind, game].is_dir() else shutil.copyfile)(made[kind, game], path)

    return make


@pytest.mark.parametrize("line", [marked(line) for line in examples()])
def test_example(
    line: str,
    stand_in: Callable[[Path, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if re.match(PARTNER, line):
        pytest.skip("it waits for somebody to play with")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n" * 9))
    if line.startswith("poker cards build"):  # tables of a gigabyte: names and options are read, nothing is made
        monkeypatch.setattr(tables, "build", lambda *given, **options: True)
    for pattern, smaller in SMALLER:
        line = re.sub(pattern, smaller, line)
    words = shlex.split(line)
    if "--leaves" in words:  # a profile of the abstract game
        phase_one(words[2], "percentile(4)", 2, iterations=2).save(words[words.index("--leaves") + 1])
    prepare(words, stand_in)
    words = [each for word in words for each in (sorted(glob.glob(word)) if "*" in word else [word])]
    with pytest.raises(SystemExit) as end:
        app(words, prog_name="kibitz")
    told = capsys.readouterr()
    assert not end.value.code, told.err
    assert told.out and "error:" not in told.err


def prepare(words: list[str], stand_in: Callable[[Path, str], None]) -> None:
    """Make the files that a command line reads."""
    games = [word for word in words[1:3] if word.partition("(")[0] in BUILT_IN or ".py:" in word]
    default = games[0] if games else "toepen" if words[0] in ("train", "match", "play") else "leduc"
    for before, word in zip(["", *words], words, strict=False):
        made = before in OUTPUTS or (words[0] == "import" and word == words[2])
        for name in [] if made else sorted(FILE.findall(word), key=lambda name: not name.endswith(".py")):
            for each in [name.replace("*", letter) for letter in "ab"] if "*" in name else [name]:
                path = Path(each)
                game = GAMES.get(path.stem, default)
                if ".py:" in game:
                    stand_in(Path("fox.py"), "")
                if not path.exists():
                    stand_in(path, game)
