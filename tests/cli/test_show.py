"""Reach and values of actions infoset by infoset, and strategies as text at every width."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from poker_games import GAMES, random_probabilities
from random_games import Nested, RandomGame, choice, end

import kibitz
from kibitz.cli import app
from kibitz.core.errors import GameError
from kibitz.evaluate.infosets import infoset_values
from kibitz.forms.problem import on_tree
from kibitz.forms.profile import Profile
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import lay_out, tree_of
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules.rules import Poker
from kibitz.report.strategy import reach_text, value_text


def some_profile(tree, seed, zeros=0.4):
    """A random profile that leaves many actions out."""
    rng = np.random.default_rng(seed)
    row = tree.infosets.row_of_column
    weight = rng.random(tree.infosets.columns) * (rng.random(tree.infosets.columns) > zeros)
    total = np.bincount(row, weight, len(tree.infosets.labels))
    p = np.where(total[row] > 0, weight / np.where(total[row] > 0, total[row], 1), 1 / tree.infosets.width[row])
    return Profile(tree.infosets, p, {"tree": tree.digest})


def by_definition(game, profile):
    """(reach, values by infoset) by walking the rules: {(seat, label): ...}."""
    visits, reach = {}, {}

    def worth(state):
        turn = game.turn(state)
        if turn == TERMINAL:
            return np.array(game.payoff(state), float)
        if turn == CHANCE:
            return sum(p * worth(game.after(state, a)) for a, p in game.chance(state))
        return sum(p * worth(game.after(state, a)) for a, p in profile[turn, str(game.infoset(state))].items())

    def walk(state, own, chance):
        turn = game.turn(state)
        if turn == CHANCE:
            for a, p in game.chance(state):
                walk(game.after(state, a), own, chance * p)
        elif turn != TERMINAL:
            key = turn, str(game.infoset(state))
            others = chance * math.prod(own[:turn] + own[turn + 1 :])
            visits.setdefault(key, []).append((state, own[turn], others))
            reach[key] = reach.get(key, 0.0) + own[turn] * others
            for a, p in profile[key].items():
                walk(game.after(state, a), [*own[:turn], own[turn] * p, *own[turn + 1 :]], chance)

    walk(game.root(), [1.0] * game.players, 1.0)
    values = {}
    for (seat, label), seen in visits.items():
        come = any(own > 0 for _, own, _ in seen)
        weight = [(state, others * (own if come else 1.0)) for state, own, others in seen]
        total = sum(w for _, w in weight)
        for a in profile[seat, label]:
            got = sum(w * worth(game.after(state, a))[seat] for state, w in weight)
            values[seat, label, a] = got / total if total > 0 else None
    return reach, values


@pytest.mark.parametrize("seed", range(8))
def test_reach_and_values_are_those_of_the_definition(seed):
    recall = ("perfect", "past")[seed % 2]
    game = RandomGame(seed, 2 + seed % 3 // 2, recall=recall, payoffs="general")
    profile = some_profile(tree_of(game), seed)
    found, (reach, values) = infoset_values(game, profile), by_definition(game, profile)
    for seat in range(game.players):
        for i in range(*profile.infosets.seat_start[seat : seat + 2]):
            label = profile.infosets.labels[i]
            assert found.reach[i] == pytest.approx(reach[seat, label], abs=1e-12)
            assert (found.reach[i] == 0) == (reach[seat, label] == 0)
            for k, action in enumerate(profile.at(i)):
                x, wanted = found.values[profile.infosets.first[i] + k], values[seat, label, action]
                assert math.isnan(x) if wanted is None else x == pytest.approx(wanted, abs=1e-9)


def test_values_add_up_to_the_value_of_the_game():
    profile = kibitz.solve("leduc", "cfr+", iterations=5)
    found = kibitz.infoset_values("leduc", profile)
    row = profile.infosets.row_of_column
    at = np.bincount(row, profile.probabilities * np.nan_to_num(found.values), len(found.reach))
    first = [i for i in range(profile.infosets.seat_start[1]) if profile.infosets.labels[i].endswith(":")]
    assert found.reach[first] @ at[first] == pytest.approx(kibitz.value("leduc", profile)[0], abs=1e-12)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.startswith("hands") else name for name in GAMES]
)
@pytest.mark.some(6)
def test_poker_forms_give_what_their_trees_give(name):
    game = Poker(GAMES[name])
    form, tree = PokerForm(game), lay_out(game)
    never = 0
    for zeros in (0.0, 0.7):
        meta = {"tree": form.tree_digest}
        profile = Profile(form.infosets, random_probabilities(form, 1, zeros), meta)
        twin = on_tree(tree, profile, game)
        found, wanted = infoset_values(form, profile), infoset_values(tree, twin)
        here = profile.infosets.places(twin.infosets)[0]
        reach = np.bincount(here, wanted.reach, len(found.reach))
        assert reach == pytest.approx(found.reach, abs=1e-12) and np.array_equal(reach == 0, found.reach == 0)
        columns = np.repeat(profile.infosets.first[here] - twin.infosets.first[:-1], twin.infosets.width)
        values = found.values[columns + np.arange(twin.infosets.columns)]
        assert np.array_equal(np.isnan(values), np.isnan(wanted.values))
        assert values == pytest.approx(wanted.values, abs=1e-9, nan_ok=True)
        never += int(np.isnan(values).sum())
    assert never or name not in ("leduc", "hands of two", "no limit")


def test_forms_that_cannot_say():
    form = kibitz.solve("poker(file=leduc)", "cfr+", iterations=1).infosets._form
    small = form.bucketed([np.zeros(r.classes, np.int64) for r in form.cards.rounds])
    with pytest.raises(GameError, match="lift the profile"):
        infoset_values(small, kibitz.solve(small, "cfr", iterations=1))
    with pytest.raises(GameError, match="another game"):
        infoset_values("kuhn", kibitz.solve("leduc(ranks=2)", "cfr", iterations=1))


# As text

LONG = "the seat holds a card, sees a board, and remembers a long story of betting before it"


def wide_game(actions=5, label=LONG):
    """One seat, five actions with names as poker has them."""
    names = ["fold", "call", "raise 250", "raise 1000", "all in"][:actions]
    moves = tuple((name, end(100.0 * k, -100.0 * k)) for k, name in enumerate(names))
    return Nested(2, (0, "first", (("go", (1, label, moves)), ("stay", choice(1, "short", end(0, 0), end(1, -1))))))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "wide.profile"
    game = wide_game()
    tree = tree_of(game)
    p = {"first": [1 / 3, 2 / 3], LONG: [0.123, 0.234, 0.345, 0.198, 0.1], "short": [1, 0]}
    found = np.concatenate([p[label] for label in tree.infosets.labels])
    Profile(tree.infosets, found, {"game": "none.py:Wide", "tree": tree.digest}).save(path)
    return path


@pytest.fixture
def shown(capsys, monkeypatch):
    """What `kibitz show` writes to a file, at a width."""

    def show(path, columns, *words):
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as done:
            app(["show", str(path), *words], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert (done.value.code or 0, err) == (0, "")
        return out

    return show


@pytest.mark.parametrize("columns", [60, 80, 120, 160])
def test_nothing_is_cut_at_any_width(wide, shown, columns, tmp_path):
    (tmp_path / "own.py").write_text(
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "import test_show\n\nclass Wide:\n    def __new__(cls): return test_show.wide_game()\n"
    )
    out = shown(wide, columns, "--game", f"{tmp_path}/own.py:Wide")
    assert "…" not in out and LONG in out
    numbers = ("12.3%", "23.4%", "34.5%", "19.8%", "10.0%", "33.3%", "66.7%", "-100.0000", "-200.0000", "-400.0000")
    for piece in ("raise 250", "raise 1000", "all in", "fold", "call", *numbers):
        assert piece in out, f"{piece} is missing at {columns}"
    names = [line for line in out.splitlines() if LONG not in line]
    assert max(map(len, names)) <= columns
    assert "never" not in out.partition("reach:")[0]


def test_what_is_not_known_is_said(wide, shown):
    out = shown(wide, 80)
    plain = " ".join(out.split())
    assert "Reach and expected values are not shown: " in plain and "--game none.py:Wide" in plain
    found = json.loads(shown(wide, 80, "--json"))
    assert "add --game" in found["note"] and "reach" not in found["strategy"][0]
    assert "not shown" not in shown(wide, 80, "--no-values")


def test_never_reached_is_marked(tmp_path, shown):
    kibitz.solve("kuhn", "lp").save(tmp_path / "p")
    found = {(r["seat"], r["infoset"]): r for r in json.loads(shown(tmp_path / "p", 80, "--json"))["strategy"]}
    assert found[1, "K:b"]["reach"] == 0.0 and found[1, "K:b"]["values"] == {"pass": None, "bet": None}
    assert found[0, "J:pb"]["values"]["pass"] == -1.0 and found[0, "K:"]["reach"] == pytest.approx(1 / 3)
    out = shown(tmp_path / "p", 80, "--player", "1")
    assert re.search(r"K:b +never", out) and "3 never reached" in out


def test_numbers_as_text():
    assert [reach_text(x) for x in (0.0, 1e-5, 0.0011, 0.5, 1.0)] == ["never", "1.0e-05", "0.1%", "50.0%", "100%"]
    assert [value_text(x) for x in (None, 0.0, -1e-9, 1.5, -12345.678)] == ["-", "+0.0000", "+0.0000", "+1.5000",
                                                                           "-12345.7"]  # fmt: skip
