"""kibitz diff: where two strategies differ most, against a count by the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from random_games import RandomGame

import kibitz
from kibitz.cli import app
from kibitz.core.errors import GameError
from kibitz.forms.problem import on_tree
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import tree_of
from kibitz.solvers import RunOptions
from kibitz.solvers.new_blueprints import BlueprintOptions


def by_definition(rules: Any, one: Any, other: Any) -> dict[tuple[int, str], tuple[float, float]]:
    """(reach, distance) of each infoset: every history is walked under either strategy."""
    reach: dict[tuple[int, str], float] = {}

    def walk(state: Any, profile: Any, p: float) -> None:
        turn = rules.turn(state)
        if turn == TERMINAL:
            return
        if turn == CHANCE:
            for outcome, share in rules.chance(state):
                walk(rules.after(state, outcome), profile, p * share)
            return
        key = turn, str(rules.infoset(state))
        reach[key] = reach.get(key, 0.0) + p / 2
        for action, share in profile[key].items():
            walk(rules.after(state, action), profile, p * share)

    walk(rules.root(), one, 1.0)
    walk(rules.root(), other, 1.0)
    return {key: (p, sum(abs(one[key][a] - other[key][a]) for a in one[key]) / 2) for key, p in reach.items()}


def games() -> list[Any]:
    return ["kuhn", "kuhn(players=3)", "leduc(ranks=2, cap=1)", *(RandomGame(seed, 2 + seed % 2) for seed in range(4))]


@pytest.mark.parametrize("game", games(), ids=str)
def test_weights_are_those_of_the_definition(game: Any) -> None:
    rules = kibitz.game(game)
    tree = tree_of(rules)
    one, other = (kibitz.solve(tree, "cfr", iterations=n, start="random", seed=n) for n in (2, 7))
    found = kibitz.diff(one, other, rules, top=0)
    wanted = by_definition(rules, one, other)
    named = {(row["seat"], row["infoset"]): row for row in found.table}
    assert set(named) == {key for key, (reach, distance) in wanted.items() if reach * distance > 0}
    for key, row in named.items():
        reach, distance = wanted[key]
        assert row["reach"] == pytest.approx(reach, abs=1e-12) and row["distance"] == pytest.approx(distance, abs=1e-12)
        assert row["weight"] == pytest.approx(reach * distance, abs=1e-12)
        assert row["reach"] == pytest.approx((row["reach_one"] + row["reach_other"]) / 2)
    weights = found.table["weight"].tolist()
    assert weights == sorted(weights, reverse=True)
    for seat, total in enumerate(found.total):
        mine = sum(reach * distance for (s, _), (reach, distance) in wanted.items() if s == seat)
        assert total == pytest.approx(mine, abs=1e-12)
    assert found.nash_conv == pytest.approx((kibitz.nash_conv(tree, one), kibitz.nash_conv(tree, other)))
    assert found.exploitability == pytest.approx([gap / rules.players for gap in found.nash_conv])
    first = kibitz.diff(one, other, rules, top=3, seat=1)
    assert first.table.records() == [row for row in found.table if row["seat"] == 1][:3]


def test_a_strategy_does_not_differ_from_itself() -> None:
    profile = kibitz.solve("kuhn", "lp")
    found = kibitz.diff(profile, profile)
    assert len(found.table) == 0 == found.infosets and found.total == [0.0, 0.0]
    assert found.nash_conv[0] == found.nash_conv[1] and "NashConv" in repr(found)


def test_profiles_of_the_poker_form_and_of_the_tree_are_compared() -> None:
    rules = kibitz.game("poker(file=kuhn)")
    one, other = kibitz.solve(rules, "cfr", iterations=3), kibitz.solve(rules, "cfr", iterations=9)
    twin = on_tree(tree_of(rules), other, rules)
    within, laid = kibitz.diff(one, other, rules, top=0), kibitz.diff(one, twin, rules, top=0)
    assert within.total == pytest.approx(laid.total, abs=1e-12)


def test_a_blueprint_is_compared_with_a_profile(tmp_path: Path) -> None:
    kibitz.train("kuhn", iterations=50, options=BlueprintOptions("10MB"), run=RunOptions(tmp_path / "k.blueprint"))
    kibitz.solve("kuhn", "lp").save(tmp_path / "k.profile")
    found = kibitz.diff(tmp_path / "k.blueprint", tmp_path / "k.profile")
    assert found.nash_conv[0] > found.nash_conv[1] and len(found.table) > 0


def test_other_games_are_refused() -> None:
    kuhn, leduc = kibitz.solve("kuhn", "lp"), kibitz.solve("leduc(ranks=2, cap=1)", "cfr", iterations=1)
    with pytest.raises(GameError, match=r"different games: kuhn and leduc\(ranks=2, cap=1\)"):
        kibitz.diff(kuhn, leduc)
    with pytest.raises(GameError, match="no seat 2"):
        kibitz.diff(kuhn, kuhn, seat=2)
    with pytest.raises(GameError, match="no saved strategy at nowhere"):
        kibitz.diff("nowhere", kuhn)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    one, other = kibitz.solve("kuhn", "cfr", iterations=2), kibitz.solve("kuhn", "lp")
    one.save("a.profile")
    other.save("b.profile")

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app(list(words), prog_name="kibitz")
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    code, out, err = call("diff", "a.profile", "b.profile", "--top", "2", "--json")
    assert code == 0, err
    data, found = json.loads(out), kibitz.diff(one, other, top=2)
    assert data["infosets"] == found.table.records() and data["total"] == found.total
    assert [each["nash_conv"] for each in data["strategies"]] == list(found.nash_conv)
    code, out, _ = call("diff", "a.profile", "b.profile", "--player", "1")
    assert code == 0 and "NashConv" in out and "exploitability" in out and "a.profile" in out
    assert found.table[0]["infoset"] in call("diff", "a.profile", "b.profile")[1]
    code, _, err = call("diff", "a.profile", "missing.profile")
    assert code == 2 and "no saved strategy at missing.profile" in err
    kibitz.solve("leduc(ranks=2, cap=1)", "cfr", iterations=1).save("c.profile")
    code, _, err = call("diff", "a.profile", "c.profile")
    assert code == 2 and "different games" in err
