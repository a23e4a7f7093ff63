"""Treeplexes of all forms, and dilated prox functions on them, against the programme's constraints and slow twins."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from poker_games import coarse, pair
from random_games import RandomGame

from kibitz.core.errors import SolverError
from kibitz.forms.choice import form_for
from kibitz.forms.sequence import form_of
from kibitz.games.protocol import TERMINAL
from kibitz.games.tree import lay_out
from kibitz.solvers import Task
from kibitz.solvers.prox import Prox
from tests import naive


def bucketed(name):
    return coarse(name).form


@cache
def forms():
    return list(_forms())


def _forms():
    for seed in range(8):
        yield form_of(lay_out(RandomGame(seed, 2, depth=6, most=120)))
    for name in ("kuhn", "no limit", "board first"):
        yield pair(name).form
    yield from (form for form in map(bucketed, ("kuhn", "leduc")) if form.perfect_recall)


def test_treeplexes_are_the_constraints():
    """Each point's row of the programme: minus one at its parent, and one at each action."""
    for form in forms():
        for seat in (0, 1):
            tree = form.treeplex(seat)
            matrix, side = form.constraints(seat)
            wanted = {tuple(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in _rows(matrix)}
            found = {((0, 1.0),)}
            for p in range(tree.points):
                actions = [int(tree.first[p]) + a * int(tree.stride[p]) for a in range(int(tree.width[p]))]
                found.add(tuple(sorted([(int(tree.parent[p]), -1.0), *((s, 1.0) for s in actions)])))
            assert found == wanted and tree.points + 1 == len(side) and tree.sequences == matrix.shape[1]


def _rows(matrix):
    matrix = matrix.tocsr()
    matrix.sort_indices()
    return [matrix[k] for k in range(matrix.shape[0])]


def test_levels_and_chunks_let_threads_add_to_parents():
    for form in (*forms(), form_for("leduc")):
        for seat in (0, 1):
            tree = form.treeplex(seat)
            level_of = np.full(tree.sequences, -1)
            chunk_of_parent = {}
            assert tree.chunk[0] == 0 and tree.chunk[-1] == tree.points and (np.diff(tree.chunk) > 0).all()
            assert tree.level[0] == 0 and tree.level[-1] == len(tree.chunk) - 1
            for level in range(len(tree.level) - 1):
                for chunk in range(tree.level[level], tree.level[level + 1]):
                    for p in range(tree.chunk[chunk], tree.chunk[chunk + 1]):
                        assert level_of[tree.parent[p]] == level - 1
                        assert chunk_of_parent.setdefault((level, int(tree.parent[p])), chunk) == chunk
                        level_of[tree.first[p] + np.arange(tree.width[p]) * tree.stride[p]] = level
            assert (level_of[1:] >= 0).all()


def test_a_forgetful_form_has_no_treeplex():
    game = RandomGame(3, 2, depth=6, recall="nothing")
    form = form_of(lay_out(game))
    assert game.turn(game.root()) != TERMINAL and not form.perfect_recall
    with pytest.raises(SolverError, match="perfect recall"):
        form.treeplex(0)


@pytest.mark.parametrize("weights", ["count", "share"])
@pytest.mark.parametrize("prox", ["entropy", "euclidean"])
def test_smoothed_responses_are_those_of_the_definition(prox, weights):
    for number, form in enumerate(forms() if weights == "count" else forms()[:9]):
        rng = np.random.default_rng(number)
        made = Prox(Task(None, form), prox, weights)
        for seat in (0, 1):
            tree = made.trees[seat]
            np.testing.assert_allclose(made.weights[seat], naive.weights_of(tree, made.own[seat]), rtol=1e-14)
            after = naive.points_after(tree, made.weights[seat])
            uniform = made.localise(seat, np.zeros(tree.sequences))
            drawn = made.localise(seat, rng.random(tree.sequences))
            for given, centre in ((np.zeros(0), uniform), (drawn, drawn)):
                for mu in (1e-4, 0.3):
                    worth = rng.normal(size=tree.sequences) * form.scale
                    before = worth.copy()
                    value, plan = made.respond(seat, mu, worth, given)
                    wanted, slow = naive.smoothed_response(after, worth, mu, prox, centre)
                    size = np.abs(worth).sum()
                    assert value == pytest.approx(wanted, rel=0, abs=1e-12 * size)
                    np.testing.assert_allclose(plan, [slow[s] for s in range(tree.sequences)], rtol=0, atol=1e-9)
                    far = made.distance(seat, plan, given)
                    assert far == pytest.approx(naive.prox_of(after, plan, prox, centre), rel=1e-10, abs=1e-10)
                    assert value == pytest.approx(worth @ plan - mu * far, rel=0, abs=1e-10 * size)
                    assert (worth == before).all()
                    other = made.respond(seat, mu, rng.normal(size=tree.sequences))[1]
                    assert worth @ other - mu * made.distance(seat, other, given) <= value + 1e-10 * size
            assert made.distance(seat, made.respond(seat, 1.0, np.zeros(tree.sequences))[1]) == pytest.approx(0.0)


@pytest.mark.parametrize("prox", ["entropy", "euclidean"])
def test_prox_functions_are_as_convex_as_they_say(prox):
    """d((x + y) / 2) lies below the mean of d(x) and d(y) by an eighth of the modulus times |x - y|^2."""
    for number, form in enumerate(forms()):
        rng = np.random.default_rng(number)
        for weights in ("count", "share"):
            made = Prox(Task(None, form), prox, weights)
            for seat in (0, 1):
                tree, sigma = made.trees[seat], made.modulus(seat)
                assert 0.0 < sigma <= 1.0
                share = np.zeros(tree.sequences)
                for p in range(tree.points):
                    share[tree.first[p] + np.arange(tree.width[p]) * tree.stride[p]] = made.own[seat][p]
                for sharp in (0.1, 1.0, 30.0):
                    x, y = (made.respond(seat, 1.0, sharp * rng.normal(size=tree.sequences))[1] for _ in range(2))
                    sag = (made.distance(seat, x) + made.distance(seat, y)) / 2 - made.distance(seat, (x + y) / 2)
                    assert sag >= sigma / 8 * (share @ (x - y) ** 2) - 1e-12


def test_bytes_do_not_depend_on_threads():
    form = form_for("goofspiel(num_cards=4)")
    worth = np.random.default_rng(0).normal(size=form.treeplex(1).sequences)
    for prox in ("entropy", "euclidean"):
        found = []
        for threads in (1, 2, 3):
            made = Prox(Task(None, form, threads=threads), prox, "count")
            made.threads = [threads, threads]
            found.append(made.respond(1, 1e-3, worth)[1].tobytes())
        assert found[0] == found[1] == found[2]
