"""One walk, two stores: dense and hashed rows hold the same numbers; three seats; kept code follows its file."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.evaluate.match import match, seatings_of
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent
from kibitz.solvers import Task, make
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import machine_of
from kibitz.toepen.rules import Toepen

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "game", ["kuhn", pytest.param("leduc(players=3)", marks=pytest.mark.slow), "goofspiel(num_cards=4)"]
)
def test_dense_and_hashed_rows_are_the_same(game):
    """MCCFR on the tree and a blueprint of the same seed: all regrets and averages, up to single precision."""
    tree = tree_of(kibitz.game(game))
    dense = make("mccfr", Task(tree, form_of(tree), seed=5))
    dense.step(400)
    hashed = Blueprint.empty(game, "null", 1 << 23, seed=5)
    hashed.train(iterations=400)
    from kibitz.games.kernels.dispatch import picked

    look, room = picked("look", hashed.table), hashed.machine.actions
    keys = hashed.machine.keys_at(hashed.view, tree.infosets)
    visited = 0
    with np.errstate(over="ignore"):
        for i, key in enumerate(keys):
            columns = dense.column[tree.infosets.first[i] : tree.infosets.first[i + 1]]
            row = hashed.table.value[int(look(hashed.table, key))]
            np.testing.assert_allclose(row[: len(columns)], dense.regret[columns], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(row[room : room + len(columns)], dense.average[columns], rtol=1e-4, atol=1e-4)
            visited += bool(row.any())
    assert visited > 0.3 * len(keys)


def test_averages_of_three_seats_are_kept_once_a_walk():
    """A seat's average grows on the walks of the seat before it alone: over all first decisions, one an iteration."""
    game = "leduc(players=3, ranks=2, cap=1)"
    made = Blueprint.empty(game, "null", 1 << 23, seed=2)
    made.train(iterations=300)
    tree = tree_of(kibitz.game(game))
    keys = made.machine.keys_at(made.view, tree.infosets)
    first = [i for i in range(tree.infosets.seat_start[1]) if tree.infosets.labels[i].endswith(":")]
    place = {int(key): at for at, key in enumerate(made.table.key)}
    room = made.machine.actions
    total = sum(made.table.value[place[int(keys[i])], room:].sum() for i in first if int(keys[i]) in place)
    assert total == pytest.approx(300.0, rel=1e-4)


def test_seatings():
    assert seatings_of(2).tolist() == [[0, 1], [1, 0]]
    assert len({tuple(row) for row in seatings_of(3).tolist()}) == 6
    four = seatings_of(4)
    assert len(four) == 4 and all(sorted(column) == [0, 1, 2, 3] for column in four.T.tolist())


@pytest.mark.slow
def test_three_players_win_what_the_tree_says():
    """A duplicate match against exact values, over all six seatings."""
    game = "leduc(players=3)"
    machine = machine_of(game)
    profile = kibitz.solve(game, "cfr+", iterations=30)
    players = [agent(profile, machine), agent("uniform", machine), agent("uniform", machine)]
    result = match(machine, *players, deals=4000, seed=3)
    tree = machine.tree
    uniform = form_of(tree).uniform()
    start = tree.infosets.first[tree.infosets.seat_start]
    exact = []
    for seat in range(3):
        mixed = uniform.copy()
        mixed[start[seat] : start[seat + 1]] = profile.probabilities[start[seat] : start[seat + 1]]
        exact.append(kibitz.value(tree, kibitz.Profile(tree.infosets, mixed, {"tree": tree.digest}))[seat])
    assert abs(result.mean - np.mean(exact)) < 4 * result.error
    for seat in range(3):
        assert abs(result.by_seat[seat].mean - exact[seat]) < 4.5 * result.by_seat[seat].error
    assert sum(score.mean for score in result.scores) == pytest.approx(0.0, abs=1e-9)


def test_machines_of_one_game_agree():
    """Compiled rules, the tree and plain Python play the same kind of game: values of uniform play."""
    game = Toepen(2, 3, 2)
    results = []
    for how, deals in (("compiled", 4000), ("tree", 4000), ("plain", 40)):
        machine = machine_of(game, how)
        results.append(match(machine, *[agent("uniform", machine)] * 2, deals=deals).by_seat[0])
    one, two, three = results
    assert abs(one.mean - two.mean) < 4 * (one.error + two.error)
    assert abs(one.mean - three.mean) < 4 * (one.error + three.error)


@pytest.mark.slow
def test_compiled_rules_in_a_file_are_kept_and_follow_the_file(tmp_path):
    """A second process loads what the first compiled; a change of the file is compiled anew."""
    shutil.copy(ROOT / "examples" / "tricks.py", tmp_path / "tricks.py")
    code = """
from kibitz.solvers.blueprint import Blueprint
made = Blueprint.empty("tricks.py:Tricks", memory=1 << 20)
made.train(iterations=50)
stats = made.machine.train.stats
print(made.sha256, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""

    def run():
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path,
            env={"KIBITZ_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        sha, hits, misses = done.stdout.split()
        return sha, int(hits), int(misses)

    first, again = run(), run()
    assert first[2] == 1 and again == (first[0], 1, 0)
    text = (tmp_path / "tricks.py").read_text()
    changed = text.replace("        worth = count >> U64(1)\n", "        worth = (count >> U64(1)) + U64(3)\n")
    assert changed != text
    (tmp_path / "tricks.py").write_text(changed)
    after = run()
    assert after[0] != first[0] and after[2] == 1
