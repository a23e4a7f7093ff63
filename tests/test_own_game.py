"""docs/own_game.md: the example runs, is a game, and is the game its text tells of."""

from __future__ import annotations

import re
from pathlib import Path

import naive
import pytest

from kibitz.games import CHANCE, TERMINAL, Game, game

PAGE = Path(__file__).parent.parent / "docs" / "own_game.md"


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
