"""Games that a file names: which may be called again, and that nothing is opened, run or laid out on a file's word."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kibitz
from kibitz.cli import app
from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.games import GAMES, game
from kibitz.games.trusted import WORDS_THERE, recalled
from kibitz.solvers import RunOptions

Fail = Callable[..., str]

EVIL = "from pathlib import Path\nPath({mark!r}).write_text('run')\nclass X: pass\n"
DEFINITIONS = Path(kibitz.__file__).parent / "poker" / "rules" / "definitions"
PLAIN = [
    "kuhn", " kuhn ", "kuhn(players=3)", "leduc(players=3, ranks=4, bets=[2, 4], suit_isomorphism=true)",
    "goofspiel(num_cards=3, points_order=descending)", 'goofspiel(points_order="random")', "liars_dice(dice_sides=3)",
    "matrix(payoffs=[[1, -1], [-1, 1]], names=[heads, tails])", "rhode_island(ranks=3, suits=2)",
    "poker(file=kuhn)", 'poker(file="leduc")', "toepen(suits=2, ranks=2, hand=2)",
    "openspiel:kuhn_poker", "openspiel:kuhn_poker(players=3)", "openspiel:liars_dice(numdice=1,dice_sides=3)",
    "openspiel:goofspiel(num_cards=3,points_order=descending,imp_info=true)", "openspiel:tiny_bridge_2p",
]  # fmt: skip


def tricks(file: str) -> list[str]:
    """Ways to name a file, or to make one reader see another thing than the next."""
    back = file.replace(".", "\\.")
    return [
        file, f" {file}", f"{file} ", f"./{file}", f"../{file}", f"/etc/passwd{file}", f"{file}\n",
        f"kuhn\n{file}",
        f"{file}:X", "evil.py:X", " evil.py:X", "evil.py:X()", "kuhn/../evil.py:X", "evil.py:X(players=2)",
        f"poker(file={file})", f'poker(file="{file}")', f'poker(file="{back}")', f"poker( file = {file} )",
        f'poker(file="./{file}")', f'poker(file="/tmp/{file}")', f'poker(file="..\\/{file}")',
        f"poker(file=[{file}])",
        'poker(file="\\e\\v\\i\\l\\.\\g\\a\\m\\e")', 'poker(file="evil.gam\\e")',
        "poker(file=evil)", "poker(file=../kuhn)",
        'poker(file="kuhn.game")', "poker(file=kuhn.game)", "poker(file=true)", "poker(file=1)",
        "poker(file=[kuhn])",
        'poker(file="")', "poker(file=kuhn\x00)", "poker(file=KUHN)", f"kuhn(players={file})",
        "kuhn(players=evil.py:X)",
        f"goofspiel(points_order={file})", "goofspiel(points_order=evil.py:X)", f"leduc(bets=[{file}])",
        f"openspiel:efg_game(filename={file})", f'openspiel:efg_game(filename="{file}")',
        f"openspiel:nfg_game(filename={file})", f" openspiel:efg_game(filename={file})",
        "openspiel:efg_game(filename=1)",
        f"openspiel: efg_game(filename={file})", f"openspiel:efg_game( filename = {file} )",
        f"openspiel:bargaining(instances_file={file})", f"openspiel:colored_trails(boards_file={file})",
        f"openspiel:crossword(word_list_file={file})", f"openspiel:crossword(puzzles_root={file})",
        f"openspiel:turn_based_simultaneous_game(game=efg_game(filename={file}))",
        "openspiel:turn_based_simultaneous_game(game=goofspiel(num_cards=3))",
        f"openspiel:repeated_game(stage_game=nfg_game(filename={file}),num_repetitions=2)",
        "openspiel:repeated_game(stage_game=matrix_pd(),num_repetitions=2)",
        f"openspiel:misere(game=efg_game(filename={file}))",
        f"openspiel:zerosum(game=efg_game(filename={file}))",
        f"openspiel:start_at(game=kuhn_poker(),history={file})",
        f"openspiel:add_noise(game=efg_game(filename={file}))",
        f"openspiel:universal_poker(gamedef={file})", f"openspiel:universal_poker(betting={file})",
        "openspiel:repeated_poker(universal_poker_game_string=universal_poker())",
        f"openspiel:goofspiel(points_order={file})", f"openspiel:kuhn_poker(players={file})",
        "openspiel:no_such_game",
        "openspiel:kuhn_poker(players=true)", "openspiel:kuhn_poker(players=[2])",
        "openspiel:kuhn_poker(players=2.5)",
        "openspiel:kuhn_poker(unheard_of=2)", "openspiel:goofspiel(num_cards=-1)",
        "openspiel:hex(board_size=100000)",
        "openspiel:connect_four(rows=99999999999999999999)", "openspiel:",
        "openspiel:kuhn_poker()x", "openspiel:openspiel:x",
        "OPENSPIEL:kuhn_poker", "openspiel:../kuhn_poker", "openspiel:kuhn_poker\x00", "ｋuhn",
        "kuhn(", "kuhn)", "x" * 200_000,
        f"kuhn(players=2){file}", "leduc(players=" + "9" * 39 + ")",
        "kuhn(players=" + "[" * 15 + "]" * 15 + ")" + file,
        f"matrix(payoffs=[[1]]){file}", "no_such_game", f"no_such_game(file={file})", "kuhn;leduc",
        "\\kuhn", '"kuhn"',
    ]  # fmt: skip


@pytest.fixture
def bait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with files that a trick may try to open, which is the current one; opening any of them fails."""
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(mark)))
    (tmp_path / "evil.game").write_text((DEFINITIONS / "kuhn.game").read_text())
    (tmp_path / "evil.efg").write_text('EFG 2 R "" { "" "" }\nt "" 1 "" { 0, 0 }\n')
    (tmp_path / "evil").write_text("")
    opened: list[str] = []
    names = ("evil", "passwd")
    _watchers.append(lambda path: opened.append(path) if any(name in path for name in names) else None)
    yield tmp_path
    _watchers.pop()
    assert not opened and not mark.exists()


_watchers: list[Any] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watchers and event == "open" and isinstance(args[0], str | bytes | Path):
        _watchers[-1](str(args[0]))


sys.addaudithook(_audit)  # sees what Python opens; OpenSpiel's own opening is not seen, so it is never called


@pytest.mark.parametrize("text", PLAIN)
def test_plain_games_are_called_again(text: str) -> None:
    again = recalled(text, "a file", "--game")
    made = game(again)
    assert recalled(again, "a file", "--game") == again, "it is its own canonical text"
    assert getattr(made, "spec", "") == getattr(game(text.strip()), "spec", "")


def test_every_built_in_game_is_called_again_by_its_own_name() -> None:
    for name in GAMES:
        assert recalled(name, "a file", "") == name


@pytest.mark.parametrize("ending", [".efg", ".game", ".py"])
def test_no_trick_names_a_file(bait: Path, ending: str) -> None:
    for text in tricks("evil" + ending):
        with pytest.raises(ArtefactError, match=r"add --game"):
            recalled(text, "a file", "--game")
        with pytest.raises(ArtefactError, match=r"only if you name it|does not say") as told:
            recalled(text, "a file", "--game")
        assert len(str(told.value)) < 700
    for value in (None, 3, [], {}, "", "  "):
        with pytest.raises(ArtefactError, match="does not say which game"):
            recalled(value, "a file", "--game")


def test_words_of_openspiel_are_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list has no parameter that OpenSpiel does not have, and none by the name of a file."""
    pyspiel = pytest.importorskip("pyspiel")
    known = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
    for (name, key), words in WORDS_THERE.items():
        assert isinstance(known[name][key], str) and (known[name][key] or words[0]) in words
        assert not any(part in key.lower() for part in ("file", "path", "root", "def", "game_string"))


def forged(path: Path, said: str, kind: str = "profile") -> Path:
    """A small artefact of Kuhn poker that says it is of another game."""
    if path.exists():
        shutil.rmtree(path)
    if kind == "profile":
        kibitz.solve("kuhn", iterations=1).save(path)
    else:
        kibitz.solve("kuhn", "cfr", iterations=1, run=RunOptions(path))
    held = store.load(path)
    store.save(path, held.kind, held.arrays, {**held.meta, "game": said})
    return path


@pytest.fixture
def failure(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The sentence that a command ends with."""

    def run(*arguments: str | Path) -> str:
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        told = capsys.readouterr().err.strip()
        assert end.value.code == 2 and told.startswith("error: ") and "\n" not in told, told
        return told

    return run


COMMANDS = [("evaluate", "profile"), ("crosstable", "profile"), ("solve", "checkpoint")]


@pytest.mark.parametrize(("command", "kind"), COMMANDS)
def test_commands_do_not_open_what_a_file_names(bait: Path, failure: Fail, command: str, kind: str) -> None:
    for k, said in enumerate(("evil.py:X", 'poker(file="evil.gam\\e")', "openspiel:efg_game(filename=evil.efg)")):
        path = forged(bait / f"{k}.{kind}", said, kind)
        words = [command, "--resume", path] if kind == "checkpoint" else [command, path]
        assert "only if you name it" in failure(*words)


HUGE = ["leduc(ranks=13, suits=4, players=3)", "liars_dice(dice_sides=9)", "goofspiel(num_cards=7)", "toepen",
        "toepen(suits=4, ranks=3, hand=3)",
        "rhode_island", "poker(file=holdem.limit.2p)", "kuhn(players=10)", "openspiel:chess", "openspiel:hex",
        "openspiel:leduc_poker(players=10)", "openspiel:dark_chess"]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "kind"), [COMMANDS[0], *(pytest.param(*each, marks=pytest.mark.slow) for each in COMMANDS[1:])]
)
def test_a_small_file_does_not_make_a_huge_game(tmp_path: Path, failure: Fail, command: str, kind: str) -> None:
    path = tmp_path / f"forged.{kind}"
    words = [command, "--resume", path] if kind == "checkpoint" else [command, path]
    for said in HUGE:
        forged(path, said, kind)
        began = time.process_time()
        told = failure(*words)
        assert told and time.process_time() - began < 30, (said, told)  # not the minutes of a layout


def test_a_poker_profile_says_no_more_than_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "poker.profile"
    kibitz.solve("poker(file=kuhn)", "cfr", iterations=1).save(path)
    held = store.load(path)
    for name in ("holdem.limit.2p", "rhode_island", "holdem.nolimit.2p"):
        text = (DEFINITIONS / f"{name}.game").read_text()
        store.save(path, held.kind, held.arrays, {**held.meta, "poker": text})
        began = time.process_time()
        with pytest.raises(KibitzError):
            kibitz.Profile.load(path)
        assert time.process_time() - began < 30, name


def test_a_checkpoint_with_a_seed_that_no_run_has(tmp_path: Path, failure: Fail) -> None:
    path = tmp_path / "a.checkpoint"
    kibitz.solve("kuhn", "mccfr", iterations=1, run=RunOptions(path))
    held = store.load(path)
    for seed in (10**30, -1, 1 << 63):
        store.save(path, held.kind, held.arrays, {**held.meta, "seed": seed})
        assert "--seed" in failure("solve", "--resume", path, "--iterations", "3")


def test_a_transcript_runs_no_code(bait: Path, failure: Fail) -> None:
    for version, players in ((1, "opponent rule"), (2, "player 0 you\nplayer 1 rule")):
        (bait / "talk.txt").write_text(f"kibitz transcript {version}\ngame evil.py:X\nseed 1\n{players}\n")
        assert "opened only if you name it" in failure("play", "--replay", bait / "talk.txt")
    (bait / "talk.txt").write_text("kibitz transcript 1\ngame kuhn\nseed 1\nopponent rule\n")
    assert "kuhn never had transcripts of that version" in failure("play", "--replay", bait / "talk.txt")
