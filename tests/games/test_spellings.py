"""Two spellings of one game are one game: one spec, and what was saved under one is taken under the other."""

from __future__ import annotations

from pathlib import Path

import pytest

import kibitz
from kibitz.core import spec as specs
from kibitz.games.trusted import same_game
from kibitz.poker.rules import acpc
from kibitz.solvers import RunOptions
from kibitz.solvers.new_blueprints import BlueprintOptions

FOX = """
from kibitz.games import TERMINAL

class Fox:
    players = 2
    def __init__(self, win: int = 1, lose: int = 1): self.win, self.lose = win, lose
    def root(self): return ()
    def turn(self, state): return (0, 1, TERMINAL)[len(state)]
    def actions(self, state): return ["left", "right"]
    def chance(self, state): return []
    def after(self, state, action): return (*state, action)
    def infoset(self, state): return "hide" if not state else "seek"
    def payoff(self, state): return [self.win, -self.win] if state[0] != state[1] else [-self.lose, self.lose]
"""
# The first spelling of each game is the one that is saved.
SPELLINGS = [
    ["leduc", "leduc()", "leduc(players=2)", " leduc( players = 2 )", "leduc(cap=2, bets=[2,4])"],
    ["leduc(ranks=4, cap=1)", "leduc(cap=1, ranks=4)", "leduc(cap=1,ranks=4,suits=2)"],
    ["poker(file=leduc)", 'poker(file="leduc")', "poker(file=leduc, ranks=3)", "poker(suits=2, file=leduc, raises=2)"],
    ["poker(file=leduc, ranks=2)", "poker(ranks=2, file=leduc)"],
    ["poker(file=holdem.limit.2p)", "holdem.limit.2p", "poker(file=holdem.limit.2p, suits=4)"],
    ["rhode_island", "rhode_island(suits=4)", "poker(file=rhode_island)", "poker(ranks=13, file=rhode_island)"],
    ["rhode_island(ranks=3, suits=2)", "poker(file=rhode_island, suits=2, ranks=3)"],
    [
        "poker(file=holdem.nolimit.2p, bets=[1, allin])",
        "poker(bets=[1.0, allin], file=holdem.nolimit.2p, stack=20000)",
    ],
    ["kuhn", "kuhn(players=2)", "kuhn( )"],
    ["matrix(payoffs=[[1, -1], [-1, 1]])", "matrix(payoffs=[[1.0, -1],[-1,1.0]])"],
    ["fox.py:Fox", "./fox.py:Fox", "fox.py:Fox()", "fox.py:Fox(win=1)", "fox.py:Fox(lose=1, win=1)"],
    ["fox.py:Fox(win=2, lose=3)", "fox.py:Fox(lose=3, win=2)"],
    ["poker(file=my.game)", "my.game", "./my.game", 'poker(file="./my.game", ranks=3)'],
]
DIFFERENT = [
    ("leduc", "leduc(players=3)"), ("leduc", "kuhn"), ("leduc", "poker(file=leduc)"), ("fox.py:Fox", "fox.py:Other"),
    ("fox.py:Fox(win=2)", "fox.py:Fox"), ("fox.py:Fox", "deep/fox.py:Fox"), ("my.game", "other.game"),
    ("poker(file=my.game)", "poker(file=my.game, ranks=2)"), ("", "leduc"), ("nonsense((", "leduc"),
    ("nonsense((", "other(("), ("poker(file=leduc)", "poker(file=leduc, ranks=2)"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("fox.py").write_text(FOX)
    Path("my.game").write_text(acpc.write(acpc.read("leduc")))
    return tmp_path


@pytest.mark.parametrize("texts", SPELLINGS, ids=lambda texts: texts[0])
def test_two_spellings_have_one_spec(texts: list[str]) -> None:
    assert {kibitz.game(text).spec for text in texts} == {texts[0]}  # type: ignore[attr-defined]
    assert kibitz.game(texts[0]).spec == texts[0]  # type: ignore[attr-defined]  # and it is its own
    assert all(same_game(texts[0], kibitz.game(text).spec) for text in texts)  # type: ignore[attr-defined]


def test_paths_of_one_file_are_one_game(folder: Path) -> None:
    assert same_game("fox.py:Fox(win=2)", f"{folder}/fox.py:Fox(win=2)")
    assert same_game("poker(file=my.game)", f'poker(file="{folder}/my.game")') and same_game("my.game", "./my.game")


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_games_are_others(one: str, other: str) -> None:
    assert not same_game(one, other) and not same_game(other, one)


def test_specs_from_before_are_known() -> None:
    """Files that were saved before there was one spelling hold others."""
    assert same_game("poker(file=leduc, ranks=3)", "poker(file=leduc)")
    assert same_game("poker(file=rhode_island, ranks=3)", "rhode_island(ranks=3)")


@pytest.mark.parametrize("one, other", [("leduc(cap=1, ranks=2)", "leduc(ranks=2, suits=2, cap=1)"),
                                        ("poker(file=leduc, ranks=3)", 'poker(file="leduc")'),
                                        ("fox.py:Fox(lose=1)", "./fox.py:Fox"),
                                        ("my.game", "poker(file=./my.game)")])  # fmt: skip
def test_what_is_saved_under_one_spelling_is_taken_under_the_other(one: str, other: str, folder: Path) -> None:
    profile = kibitz.solve(one, "cfr", iterations=5)
    profile.save("p.profile")
    assert profile.game == kibitz.game(other).spec  # type: ignore[attr-defined]
    assert kibitz.nash_conv(other, kibitz.load("p.profile")) == kibitz.nash_conv(one, profile)
    blueprint = kibitz.train(one, iterations=20, options=BlueprintOptions("10MB"), run=RunOptions("b.blueprint"))
    held = kibitz.load("b.blueprint", game=other)
    assert held.sha256 == blueprint.sha256
    result = kibitz.match(other, "b.blueprint", profile, deals=5)
    assert result.deals == 5


def test_a_canonical_spec_has_parameters_in_order_and_no_defaults() -> None:
    def build(one: int, two: float = 2.0, three: tuple[int, ...] = (1, 2), four: bool = True) -> None: ...

    def spelled(text: str) -> str:
        return str(specs.canonical(build, specs.parse(text)))

    assert spelled("x(four=false, one=1)") == "x(one=1, four=false)"
    assert spelled("x(three=[1, 2], two=2, one=0, four=true)") == "x(one=0)"
    assert spelled("x(three=[1, 3], one=1)") == "x(one=1, three=[1, 3])"
    assert spelled("x(one=1, two=1)") == "x(one=1, two=1)"
