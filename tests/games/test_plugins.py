"""A package of games that brings a form of its own, in one folder: nothing else is changed for it.

The game has two streets and a deck with suits that never matter. Its plug-in solves it without them: the form is that
of the game in which cards are ranks, and profiles of it are played, measured, saved and read as those of any form.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError
from kibitz.forms.problem import on_tree
from kibitz.games.plugins import GENERAL, all_plugins, plugin_of
from kibitz.games.tree import tree_of

RULES = '''
"""Each player antes 1 and gets a card; a bet is 2 on the first street and 4 on the second, after a public card."""
from kibitz.games import CHANCE, TERMINAL
from streets.plugin import PLUGIN

class Streets:
    players, plugin = 2, PLUGIN

    def __init__(self, ranks=3, suits=2):
        self.ranks, self.suits = ranks, suits
        self.spec = f"streets/rules.py:Streets(ranks={ranks}, suits={suits})"

    def root(self):
        return ((), "", ())  # cards: two private ones and the public one; what was done; what each has paid

    def turn(self, state):
        cards, done, paid = state
        if len(cards) < 2 or (len(cards) == 2 and done.endswith("/")):
            return CHANCE
        if done.endswith("f") or done.count("/") == 2:
            return TERMINAL
        return 1 if done[-1:] in ("k", "b") else 0

    def actions(self, state):
        return ["fold", "call"] if state[1].endswith("b") else ["check", "bet"]

    def chance(self, state):
        deck = [(rank, suit) for rank in range(self.ranks) for suit in range(self.suits)]
        left = [card for card in deck if card not in state[0]]
        return [(self.name(card), 1 / len(left)) for card in left]

    def name(self, card):
        return "JQKA"[card[0]] + "shdc"[card[1]]

    def after(self, state, action):
        cards, done, paid = state
        if self.turn(state) == CHANCE:
            card = ("JQKA".index(action[0]), "shdc".index(action[1]))
            return ((*cards, card), done, paid or (1, 1))
        size = 2 if "/" not in done else 4
        letter = {"check": "k", "bet": "b", "fold": "f", "call": "c"}[action]
        seat = self.turn(state)
        if letter in "bc":
            paid = tuple(chips + size * (who == seat) for who, chips in enumerate(paid))
        ends = letter == "c" or (letter == "k" and done.endswith("k"))
        return (cards, done + letter + "/" * ends, paid)

    def infoset(self, state):
        cards, done, _ = state
        mine = self.name(cards[self.turn(state)])
        return f"{mine} {self.name(cards[2]) if len(cards) > 2 else ''}:{done}"

    def payoff(self, state):
        cards, done, paid = state
        if done.endswith("f"):
            loser = 1 if len(done.split("/")[-1]) % 2 == 0 else 0
            return [paid[1] if loser else -paid[0], -paid[1] if loser else paid[0]]
        worth = [(cards[seat][0] == cards[2][0], cards[seat][0]) for seat in (0, 1)]
        if worth[0] == worth[1]:
            return [0, 0]
        return [paid[1], -paid[1]] if worth[0] > worth[1] else [-paid[0], paid[0]]
'''
PLUGIN = '''
"""The form of games of two streets: cards are ranks, with chances that follow from how many suits are left."""
import re
import numpy as np
from kibitz.forms.sequence import form_of
from kibitz.games.plugins import FormPlugin
from kibitz.games.tree import Infosets, tree_of

def by_rank(game):
    """The same game in which chance deals ranks."""
    class Ranks(type(game)):
        plugin = ""
        def chance(self, state):
            found = {}
            for name, p in super().chance(state):
                found[name[0] + "s"] = found.get(name[0] + "s", 0.0) + p
            return list(found.items())
        def after(self, state, action):
            if self.turn(state) >= 0:
                return super().after(state, action)
            cards, done, paid = state  # the next suit of that rank: names of suits are what does not matter
            rank = "JQKA".index(action[0])
            return ((*cards, (rank, sum(card[0] == rank for card in cards))), done, paid or (1, 1))
        def infoset(self, state):
            cards, done, _ = state
            return f"{'JQKA'[cards[self.turn(state)][0]]} {'JQKA'[cards[2][0]] if len(cards) > 2 else ''}:{done}"
    return Ranks(game.ranks, game.suits)

class StreetInfosets(Infosets):
    @property
    def compact(self):
        return self
    def of_game(self, game):
        return (game.ranks, game.suits) == (self.form.game.ranks, self.form.game.suits)
    def places(self, of_tree):
        labels = [re.sub("(?<=[JQKA])[shdc]", "", label) for label in of_tree.labels]
        seats = np.repeat(np.arange(2), np.diff(of_tree.seat_start))
        mine = np.array([self.find(int(seat), label) for seat, label in zip(seats, labels)])
        return mine, mine, mine
    def stored_arrays(self):
        return {}
    def stored_meta(self):
        return {"streets": [self.form.game.ranks, self.form.game.suits], "actions": []}

class StreetForm:
    """The sequence form of the game by ranks, as a form of the game itself."""
    abstraction, rehearsal = "", "kuhn"
    def __init__(self, game):
        self.game, self.inner = game, form_of(tree_of(by_rank(game)))
        of = self.inner.infosets
        self.infosets = StreetInfosets(of.seat_start, of.first, of.labels, of.actions, of.actions_of)
        object.__setattr__(self.infosets, "form", self)
        self.spec, self.players = game.spec, 2
        self.tree_digest = "streets " + self.inner.tree_digest
    def __getattr__(self, name):
        return getattr(self.inner, name)

class StreetPlugin(FormPlugin):
    name, forms = "streets", {}
    def has_form(self, game):
        return True
    def form(self, game, columns=None):
        key = game.ranks, game.suits
        if key not in self.forms:
            self.forms[key] = StreetForm(game)
        return self.forms[key]
    def infosets(self, arrays, meta, columns):
        from streets.rules import Streets
        return self.form(Streets(*meta.pop("streets"))).infosets

PLUGIN = StreetPlugin()
'''


@pytest.fixture
def streets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "streets"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "rules.py").write_text(RULES)
    (folder / "plugin.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    from streets.rules import Streets  # type: ignore[import-not-found]

    yield Streets
    for name in [name for name in sys.modules if name.split(".")[0] == "streets"]:
        del sys.modules[name]
    from kibitz.games import plugins as registry

    registry._known.pop("streets", None)


def test_the_form_is_the_plugin_s_and_has_the_value_of_the_tree(streets: Any) -> None:
    game = streets(3, 3)
    profile = kibitz.solve(game, "lp")
    tree = tree_of(game)
    assert len(profile.infosets.labels) < len(tree.infosets.labels) / 3
    exact = kibitz.solve(tree, "lp")
    assert kibitz.value(game, profile) == pytest.approx(kibitz.value(tree, exact), abs=1e-9)
    assert kibitz.nash_conv(game, profile) == pytest.approx(0.0, abs=1e-9)
    spread = on_tree(tree, profile, game)
    assert kibitz.nash_conv(tree, spread) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("solver", ["cfr+", "dcfr+", "egt", "fp"])
def test_every_solver_takes_it(streets: Any, solver: str) -> None:
    profile = kibitz.solve(streets(), solver, iterations=50)
    assert "streets" in profile.infosets.stored_meta() and np.isfinite(kibitz.nash_conv(streets(), profile))
    assert kibitz.nash_conv(streets(), profile) < 1.0


def test_profiles_are_saved_and_read(streets: Any, tmp_path: Path) -> None:
    profile = kibitz.solve(streets(), "cfr+", iterations=20)
    profile.save(tmp_path / "p")
    again = kibitz.load(tmp_path / "p")
    assert isinstance(again, kibitz.Profile) and again == profile
    assert kibitz.nash_conv(streets(), again) == kibitz.nash_conv(streets(), profile)
    with pytest.raises(GameError, match="another game"):
        kibitz.nash_conv("kuhn", again)


def test_an_abstraction_that_the_form_does_not_read_takes_the_tree(streets: Any) -> None:
    found = kibitz.solve(streets(), "cfr+", abstraction=lambda seat, infoset: infoset.partition(":")[2], iterations=5)
    of = found.infosets
    rows = {(of.seat_of(i), label.partition(":")[2]) for i, label in enumerate(of.labels)}
    assert of.compact is None and found.meta["size"] == len(rows) < len(of.labels) / 10


def test_it_is_known_once_a_game_of_it_was_made(streets: Any) -> None:
    assert "streets" not in [each.name for each in all_plugins()]
    assert plugin_of(streets()).name == "streets" and "streets" in [each.name for each in all_plugins()]
    assert plugin_of(kibitz.game("kuhn")) is GENERAL and plugin_of(kibitz.game("rhode_island")).name == "poker"


def test_commands_take_it_as_any_game(streets: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from kibitz.cli import app

    for words in (["solve", "streets/rules.py:Streets", "--solver", "cfr+", "--iterations", "50", "--out", "s.profile"],
                  ["evaluate", "s.profile", "--game", "streets/rules.py:Streets"],
                  ["stitch", "streets/rules.py:Streets", "--base", "null", "--partition", "prefix(b)", "--inside",
                   "null", "--iterations", "20"]):  # fmt: skip
        with pytest.raises(SystemExit) as end:
            app(words, prog_name="kibitz")
        out, err = capsys.readouterr()
        assert not end.value.code, (words, out, err)
