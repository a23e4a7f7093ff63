"""docs/own_game.md: the example runs, is a game, and is the game its text tells of."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import naive
import pytest

import kibitz
from kibitz.cli import app
from kibitz.core.errors import SpecError
from kibitz.games import CHANCE, TERMINAL, Game, game

PAGE = Path(__file__).parents[2] / "docs" / "own_game.md"


def code_blocks():
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def fox(tmp_path):
    path = tmp_path / "fox.py"
    path.write_text(code_blocks()[0], encoding="utf-8")
    return path


def test_the_example_is_short(fox):
    assert len(fox.read_text().splitlines()) < 50


def test_the_example_is_a_game(fox):
    rules = game(f"{fox}:FoxAndHen(noise=0.2)")
    assert isinstance(rules, Game) and rules.noise == 0.2
    offers = {}
    for _, state in naive.walk(rules):
        turn = rules.turn(state)
        if turn == TERMINAL:
            assert len(rules.payoff(state)) == 2 and sum(rules.payoff(state)) == 0
        elif turn == CHANCE:
            assert sum(p for _, p in rules.chance(state)) == pytest.approx(1)
        else:
            offer = turn, list(rules.actions(state))
            assert offers.setdefault(rules.infoset(state), offer) == offer
    assert naive.count(rules) == {
        "histories": 1 + 3 + 9 + 27, "decision": 1 + 9, "chance": 3, "terminal": 27, "infosets": 1 + 3
    }  # fmt: skip
    assert not naive.forgets(rules)


def test_the_example_says_what_the_text_says(fox):
    rules = game(f"{fox}:FoxAndHen")
    hidden = rules.after(rules.root(), "barn")
    assert dict(rules.chance(hidden)) == pytest.approx({"ditch": 0.2, "hedge": 0.2, "barn": 0.6})
    heard = rules.after(hidden, "hedge")
    assert rules.infoset(heard) == "fox heard hedge"  # and nothing of the barn
    assert rules.payoff(rules.after(heard, "hedge")) == [3, -3]
    assert rules.payoff(rules.after(heard, "barn")) == [-1, 1]


def test_a_file_may_postpone_its_annotations(tmp_path):
    """Dataclasses with `from __future__ import annotations` look their module up by name."""
    path = tmp_path / "later.py"
    path.write_text("from __future__ import annotations\n" + code_blocks()[0], encoding="utf-8")
    assert game(f"{path}:FoxAndHen").players == 2


def test_the_page_names_all_of_the_protocol():
    table = re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert table == ["players", "root", "turn", "actions", "chance", "after", "infoset", "payoff"]


def test_a_profile_remembers_its_game(fox, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rules = game("fox.py:FoxAndHen( noise = 0.2 )")
    assert rules.spec == "fox.py:FoxAndHen(noise=0.2)" and rules == type(rules)(noise=0.2)
    kibitz.solve(rules).save("fox.profile")
    for command in ("evaluate", "crosstable"):
        with pytest.raises(SystemExit) as end:
            app([command, "fox.profile"], prog_name="kibitz")
        told = capsys.readouterr().err
        assert end.value.code == 2 and "add --game 'fox.py:FoxAndHen(noise=0.2)'" in told
    with pytest.raises(SystemExit) as end:
        app(["evaluate", "fox.profile", "--game", "fox.py:FoxAndHen(noise=0.2)"], prog_name="kibitz")
    assert not end.value.code and "fox.py:FoxAndHen(noise=0.2)" in capsys.readouterr().out


def test_neighbours_are_imported_and_do_not_meet(tmp_path, monkeypatch):
    rules = code_blocks()[0]
    for folder in ("one", "two"):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep" / "__init__.py").write_text(f"from words import PREFIX\nWORD = PREFIX + {folder!r}")
        (tmp_path / folder / "words.py").write_text("PREFIX = 'hen of '\n")
        (tmp_path / folder / "fox.py").write_text(
            "from deep import WORD\n" + rules.replace('return "hen"', "return WORD"), encoding="utf-8"
        )
    before, path = set(sys.modules), list(sys.path)
    one, two = (game(f"{tmp_path / folder / 'fox.py'}:FoxAndHen") for folder in ("one", "two"))
    assert [each.infoset(()) for each in (one, two)] == ["hen of one", "hen of two"]
    assert type(one) is not type(two) and sys.path == path
    assert not {"deep", "words"} & set(sys.modules) and len(set(sys.modules) - before) == 2
    monkeypatch.syspath_prepend(str(tmp_path / "one"))
    import words  # a neighbour that the program itself has imported stays what it was

    (tmp_path / "two" / "words.py").write_text("PREFIX = 'chick of '\n")
    assert game(f"{tmp_path / 'two' / 'fox.py'}:FoxAndHen").infoset(()) == "chick of two"
    assert sys.modules.pop("words") is words and words.PREFIX == "hen of "


def test_a_file_without_a_class_is_told_which_it_has(fox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fox.write_text(
        fox.read_text() + "\nprint('run')\nclass Egg: pass\ndef small() -> FoxAndHen: return FoxAndHen(0.1)\n"
        "def _mine() -> FoxAndHen: ...\ndef twice(x=1): return 2 * x\n"
    )
    for text in ("fox.py", " fox.py ", "fox.py:", "fox.py(noise=0.1)", "fox.py:Fox"):
        with pytest.raises(SpecError, match=r"name a class, as in fox\.py:FoxAndHen or fox\.py:small$"):
            game(text)
    assert game("fox.py:small").noise == 0.1
    fox.write_text("class Egg: pass\n")
    with pytest.raises(SpecError, match=r"nor any class with the methods root, turn, .*docs/own_game\.md"):
        game("fox.py:Fox")
    (tmp_path / "some").mkdir()
    for text, words in (("some", "is a directory, not a game"), ("fox.py/x", "cannot read"), ("./some", "directory")):
        with pytest.raises(SpecError, match=words):
            game(text)


def test_abstractions_of_the_page(fox, tmp_path, monkeypatch, capsys):
    """Blocks three and four: a function, and names that the command line knows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    _, use, function, names = code_blocks()
    known: dict = {}
    exec(compile(use + function, "own_game.md", "exec"), known)
    sys.modules.pop("fox")
    fox.write_text(fox.read_text() + names, encoding="utf-8")
    rules = game("fox.py:Listening(noise=0.2)")
    assert kibitz.abstraction(rules, "deaf").rows == 2 and kibitz.abstraction(rules, "barn").rows == 3
    named = kibitz.solve(rules, "lp", abstraction="deaf")
    assert named.probabilities.tolist() == pytest.approx(known["coarse"].probabilities.tolist(), abs=1e-9)
    (line,) = re.findall(r"^    kibitz (solve .*--abstraction.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    import shlex

    with pytest.raises(SystemExit) as end:
        app(shlex.split(line), prog_name="kibitz")
    assert not end.value.code and "NashConv in the game" in capsys.readouterr().out


def test_the_commands_of_the_page_run(fox, monkeypatch, capsys):
    """What a game in a file gets: check, train, match, show, evaluate and a seat at the table."""
    import io
    import shlex

    monkeypatch.chdir(fox.parent)
    section = PAGE.read_text(encoding="utf-8").split("## Train, match, play and check it")[1].split("\n## ")[0]
    lines = re.findall(r"^    kibitz (.*)$", section, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["check", "train", "match", "show", "evaluate", "play"]
    for line in lines:
        monkeypatch.setattr(sys, "stdin", io.StringIO("q\n" * 9))
        with pytest.raises(SystemExit) as end:
            app(shlex.split(line), prog_name="kibitz")
        told = capsys.readouterr()
        assert not end.value.code, (line, told.err)
        assert told.out
