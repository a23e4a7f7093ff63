"""Abstraction, frozen rows and closed actions against their definitions."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from random_games import Nested, RandomGame, Without, choice, edge_cases, end
from test_solvers import compare, definition, rows_of

import kibitz
from kibitz import evaluate
from kibitz.core.errors import SolverError
from kibitz.forms import bundles, sequence
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.tree import lay_out
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve, solve_through

SPECS = ("cfr", "cfr+", "dcfr(beta=-1)", "pcfr+(updates=simultaneous)", "lcfr(delay=2, updates=simultaneous)")


def keys_of(infosets):
    return [
        (seat, infosets.labels[i])
        for seat in range(infosets.seats)
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1])
    ]


def random_base(infosets, rng, pure=0.2):
    base = normalise(rng.random(int(infosets.first[-1])), infosets)
    for i, width in enumerate(infosets.width):
        if rng.random() < pure:
            base[infosets.first[i] : infosets.first[i + 1]] = np.eye(width)[rng.integers(width)]
    return base


def random_rows(infosets, rng, share, only=None):
    """A random abstraction: infosets of one seat with the same actions go to few rows (of the seat `only`)."""
    row, names = np.zeros(len(infosets.labels), np.int64), {}
    for i in range(len(row)):
        shared = share and only in (None, infosets.seat_of(i))
        kind = (infosets.seat_of(i), int(infosets.actions_of[i]), int(rng.integers(share)) if shared else i + share)
        row[i] = names.setdefault(kind, len(names))
    return row


def random_task(game, rng, share=3, freeze=0.3, close=0.0, only=None):
    """(tree, form, RowMap, arguments of the naive twin) of a random abstraction with frozen rows and closed actions."""
    tree = lay_out(game)
    form, infosets = form_of(tree), tree.infosets
    row = random_rows(infosets, rng, share, only)
    rows = int(row.max(initial=-1)) + 1
    moves = rng.random(rows) >= freeze
    closed = np.zeros(int(infosets.first[-1]), bool)
    pattern = {}
    for i, width in enumerate(infosets.width):
        if row[i] not in pattern:
            shut = rng.random(width) < close
            shut[rng.integers(width)] = False
            may = moves[row[i]] and only in (None, infosets.seat_of(i))
            pattern[row[i]] = shut if may else np.zeros(width, bool)
        closed[infosets.first[i] : infosets.first[i + 1]] = pattern[row[i]]
    base = random_base(infosets, rng)
    mapped = row_map(form, row, moves, base, closed)
    keys = keys_of(infosets)
    plain = naive.as_dict(Profile(infosets, base.copy()))
    actions = [a for i in range(len(row)) for a in infosets.actions[infosets.actions_of[i]]]
    twin = {
        "row": {key: int(row[i]) for i, key in enumerate(keys)},
        "frozen": {key: plain[key] for i, key in enumerate(keys) if not moves[row[i]]},
        "closed": {(keys[infosets.row_of_column[c]], actions[c]) for c in np.flatnonzero(closed)},
    }
    return tree, form, mapped, twin


def compare_rows(spec, game, task, stops=(1, 2, 7, 20), tolerance=1e-9):
    tree, form, mapped, twin = task
    solver = make(spec, Task(tree, form, rows=mapped))
    slow = definition(spec, game, **twin)
    for stop in stops:
        solver.step(stop - solver.iteration)
        slow.step(stop - slow.t)
        worst = np.abs(solver.probabilities() - rows_of(tree.infosets, slow.profile())).max(initial=0.0)
        assert worst <= tolerance, f"{spec} after {stop} iterations on {game}: off by {worst}"


@pytest.mark.parametrize("kind", ["share", "freeze", "close", "all"])
@pytest.mark.some(2)
def test_random_games(kind):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        recall = ("perfect", "perfect", "past", "nothing")[seed % 4]
        game = RandomGame(seed, 2 + seed % 3, depth=5, recall=recall, payoffs="general", most=100)
        task = random_task(
            game, rng, share=2 if kind in ("share", "all") else 0, freeze=0.4 if kind in ("freeze", "all") else 0.0,
            close=0.4 if kind in ("close", "all") else 0.0,
        )  # fmt: skip
        compare_rows(SPECS[seed % len(SPECS)], game, task)


@pytest.mark.parametrize("work", [1, 8, 40])
def test_forms_of_small_chunks(monkeypatch, work):
    monkeypatch.setattr(sequence, "CHUNK_WORK", work)
    monkeypatch.setattr(bundles, "CHUNK_WORK", work)
    for seed in range(8):
        game = RandomGame(seed, 2 + seed % 2, depth=5, payoffs="general", most=150)
        task = random_task(game, np.random.default_rng(seed), close=0.2)
        compare_rows(SPECS[seed % len(SPECS)], game, task, stops=(1, 6))


@pytest.mark.parametrize("spec", SPECS)
def test_kuhn(spec):
    for text in ("kuhn", "kuhn(players=3)"):
        game = kibitz.game(text)
        for seed in range(2):
            compare_rows(spec, game, random_task(game, np.random.default_rng(seed), 4, 0.3, 0.2), stops=(1, 12))


def leduc_rows(infosets, merged):
    """Leduc's infosets with some ranks taken for one, as the stitching papers do: "JQ" for JQ.K."""
    row, names = np.zeros(len(infosets.labels), np.int64), {}
    for i, label in enumerate(infosets.labels):
        name = "".join(merged[0] if letter in merged else letter for letter in label)
        row[i] = names.setdefault((infosets.seat_of(i), name), len(names))
    return row


def test_leduc_with_jacks_and_queens_alike():
    game = kibitz.game("leduc(suit_isomorphism=true)")
    tree = lay_out(game)
    form = form_of(tree)
    row = leduc_rows(tree.infosets, "JQ")
    assert len(set(row.tolist())) < len(row)
    twin = {"row": {key: int(row[i]) for i, key in enumerate(keys_of(tree.infosets))}}
    compare_rows("cfr+", game, (tree, form, row_map(form, row), twin), stops=(1, 8))


def test_leduc_with_a_frozen_half():
    game = kibitz.game("leduc(suit_isomorphism=true)")
    compare_rows("dcfr", game, random_task(game, np.random.default_rng(5), share=0, freeze=0.5), stops=(6,))
    compare_rows("cfr+", game, random_task(game, np.random.default_rng(6), share=6, freeze=0.3), stops=(6,))


# What does not change


@pytest.mark.parametrize("spec", SPECS)
def test_each_infoset_in_a_row_of_its_own_is_the_plain_solve(spec):
    named = [kibitz.game("kuhn(players=3)"), kibitz.game("leduc(suit_isomorphism=true)")]
    for game in (*named, RandomGame(4, 2, depth=5)):
        tree = lay_out(game)
        form = form_of(tree)
        plain, mapped = make(spec, Task(tree, form)), make(spec, Task(tree, form, rows=row_map(form)))
        shuffled = np.random.default_rng(0).permutation(len(tree.infosets.labels)) + 3
        other = make(spec, Task(tree, form, rows=row_map(form, shuffled)))
        for solver in (plain, mapped, other):
            solver.step(25)
        np.testing.assert_allclose(mapped.probabilities(), plain.probabilities(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.probabilities(), plain.probabilities(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("spec", [*SPECS, "mccfr", "mccfr(sampling=outcome)"])
def test_rows_of_a_game_in_which_nobody_moves(spec):
    for name in ("one terminal", "only chance"):
        tree = lay_out(edge_cases()[name])
        profile = solve_through(tree, spec, rows=row_map(form_of(tree)), iterations=3)
        assert len(profile.probabilities) == 0 and evaluate.nash_conv(tree, profile) == 0


def test_freezing_everything_gives_the_base_back():
    for spec in (*SPECS, "mccfr", "mccfr(sampling=outcome)", "mccfr(sampling=chance)"):
        for seed in range(4):
            game = RandomGame(seed, 2 + seed % 2, depth=4, payoffs="general")
            tree = lay_out(game)
            form = form_of(tree)
            base = random_base(tree.infosets, np.random.default_rng(seed))
            mapped = row_map(form, moves=np.zeros(len(tree.infosets.labels), bool), base=base)
            profile = solve_through(tree, spec, rows=mapped, iterations=9)
            assert profile.probabilities.tobytes() == base.tobytes()


def test_the_other_seat_answers_a_frozen_equilibrium():
    """With seat 0 frozen at an equilibrium the game's value is the best that seat 1 can get, and it gets it."""
    for text in ("kuhn", "leduc(suit_isomorphism=true)"):
        game = kibitz.game(text)
        tree = lay_out(game)
        form = form_of(tree)
        exact = solve(tree, "lp")
        for frozen_seat in (0, 1):
            moves = np.array([key[0] != frozen_seat for key in keys_of(tree.infosets)])
            mapped = row_map(form, moves=moves, base=exact.probabilities)
            profile = solve_through(tree, "cfr+", rows=mapped, iterations=2000)
            other = 1 - frozen_seat
            value = evaluate.value(tree, exact)[other]
            assert evaluate.value(tree, profile)[other] == pytest.approx(value, abs=1e-4)
            assert evaluate.best_response(tree, profile, other).value == pytest.approx(value, abs=1e-7)
            mine = [key for key in naive.as_dict(profile) if key[0] == frozen_seat]
            assert all(naive.as_dict(profile)[key] == naive.as_dict(exact)[key] for key in mine)


def test_a_best_response_by_freezing_the_others():
    """Freeze all seats but one at a random base: CFR+ finds the best response's value."""
    for seed in range(10):
        game = RandomGame(seed, 3, depth=4, payoffs="general")
        tree = lay_out(game)
        form = form_of(tree)
        base = random_base(tree.infosets, np.random.default_rng(seed))
        seat = seed % 3
        moves = np.array([key[0] == seat for key in keys_of(tree.infosets)], bool)
        mapped = row_map(form, moves=moves, base=base)
        profile = solve_through(tree, "cfr+(averaging=quadratic)", rows=mapped, iterations=400)
        best = naive.best_response(game, naive.as_dict(Profile(tree.infosets, base.copy())), seat)
        assert evaluate.value(tree, profile)[seat] == pytest.approx(best, abs=2e-2)


# Closed actions


def test_a_closed_action_does_not_exist():
    """Solving with closed actions of a seat that shares rows is solving the game in which they are left out."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        game = RandomGame(seed, 2 + seed % 2, depth=5, payoffs="general", most=150)
        seat = seed // 2 % game.players
        tree, form, mapped, twin = random_task(game, rng, share=2, freeze=0.0, close=0.4, only=seat)
        small = Without(game, twin["closed"])
        left = naive.offers(small)
        if not twin["closed"]:
            continue
        found += 1
        spec = SPECS[seed % len(SPECS)]
        solver = make(spec, Task(tree, form, rows=mapped))
        solver.step(8)
        plain = naive.as_dict(Profile(tree.infosets, solver.probabilities()))
        slow = definition(spec, small, row={key: twin["row"][key] for key in left})
        slow.tiny = 1e-14 * form.scale
        slow.step(8)
        expected = slow.profile()
        for key, actions in left.items():
            for action in actions:
                assert plain[key][action] == pytest.approx(expected[key][action], abs=1e-9), (seed, spec, key)
        for key, action in twin["closed"]:
            assert plain[key][action] == 0.0
    assert found > 20


@pytest.mark.parametrize("sampling", ["external", "outcome", "chance"])
def test_closed_actions_are_never_played_by_sampling_either(sampling):
    for seed in range(6):
        game = RandomGame(seed, 2, depth=4, payoffs="general")
        tree, _form, mapped, twin = random_task(game, np.random.default_rng(seed), share=2, freeze=0.2, close=0.4)
        profile = solve_through(tree, f"mccfr(sampling={sampling})", rows=mapped, iterations=300)
        plain = naive.as_dict(profile)
        assert twin["closed"]
        assert all(plain[key][action] == 0.0 for key, action in twin["closed"])
        assert all(sum(row.values()) == pytest.approx(1) for row in plain.values())


def test_a_frozen_row_must_not_play_a_closed_action():
    game = Nested(2, choice(0, "x", end(1, -1), end(2, -2)))
    form = form_of(lay_out(game))
    closed = np.array([True, False])
    with pytest.raises(SolverError, match="'x'"):
        row_map(form, moves=np.array([False]), base=np.array([0.5, 0.5]), closed=closed)
    mapped = row_map(form, moves=np.array([False]), base=np.array([0.0, 1.0]), closed=closed)
    assert solve_through(lay_out(game), "cfr+", rows=mapped, iterations=2).probabilities.tolist() == [0.0, 1.0]


# Errors


def mixed():
    first = choice(0, "left", choice(1, "right", end(1, -1), end(0, 0)), end(2, -2))
    return Nested(2, ("chance", (("1", 0.5, first), ("2", 0.5, choice(0, "wide", *(end(i, -i) for i in range(3)))))))


def test_infosets_of_a_row_must_agree():
    tree = lay_out(mixed())
    form = form_of(tree)
    labels = tree.infosets.labels
    assert labels == ["left", "wide", "right"]
    with pytest.raises(SolverError, match="'left' and 'right' cannot share a row: they have different seats"):
        row_map(form, np.array([0, 1, 0]))
    with pytest.raises(SolverError, match="'left' and 'wide' cannot share a row: they have different actions"):
        row_map(form, np.array([0, 0, 1]))
    one, two = choice(0, "one", end(1, -1), end(0, 0)), choice(0, "two", end(3, -3), end(0, 0))
    same = lay_out(Nested(2, ("chance", (("1", 0.5, one), ("2", 0.5, two)))))
    with pytest.raises(SolverError, match="'one' and 'two' cannot share a row: they have different actions"):
        row_map(form_of(same), np.array([0, 0]), closed=np.array([True, False, False, False]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"row": [0, 1]}, "each of the 3 infosets"),
        ({"row": [0, 1, -1]}, "from 0 on"),
        ({"moves": [True]}, "1 entries for 3 rows"),
        ({"moves": [True, False, True]}, "need a base strategy"),
        ({"closed": [True, True, False, False, False, False, False]}, "all actions of infoset 'left' are closed"),
        ({"closed": [True]}, "have 7 entries"),
        ({"moves": [True, False, True], "base": [0.5, 0.5]}, "have 7 entries"),
        ({"moves": [True, False, True], "base": [0.5, 0.5, 0.2, 0.2, 0.2, 0.5, 0.5]}, "'wide'"),
        ({"moves": [True, False, True], "base": [0.5, 0.5, 1.2, -0.2, 0.0, 0.5, 0.5]}, "'wide'"),
        ({"moves": [True, False, True], "base": [0.5, 0.5, np.nan, 0.5, 0.5, 0.5, 0.5]}, "'wide'"),
    ],
)
def test_row_maps_that_make_no_sense(arguments, words):
    form = form_of(lay_out(mixed()))
    with pytest.raises(SolverError, match=words):
        row_map(form, **{key: np.array(x) for key, x in arguments.items()})


def test_a_base_is_read_only_where_rows_are_frozen():
    form = form_of(lay_out(mixed()))
    base = np.array([np.nan, np.nan, 0.2, 0.2, 0.6, 7.0, 7.0])
    mapped = row_map(form, moves=np.array([True, False, True]), base=base)
    found = solve_through(lay_out(mixed()), "cfr+", rows=mapped, iterations=5).probabilities
    assert found[2:5].tolist() == [0.2, 0.2, 0.6] and np.isfinite(found).all()


@pytest.mark.parametrize("spec", ["lp", "fp", "br"])
def test_solvers_of_the_whole_game_refuse_rows(spec):
    tree = lay_out(kibitz.game("kuhn"))
    with pytest.raises(SolverError, match="with an abstraction or frozen rows use cfr"):
        solve_through(tree, spec, rows=row_map(form_of(tree)))
    assert solve_through(tree, "auto", rows=row_map(form_of(tree)), iterations=3).meta["solver"] == "dcfr+"


def test_the_row_map_of_another_game_is_refused():
    kuhn, leduc = lay_out(kibitz.game("kuhn")), lay_out(kibitz.game("leduc(suit_isomorphism=true)"))
    for spec in ("cfr+", "mccfr"):
        with pytest.raises(SolverError, match="another game"):
            solve_through(leduc, spec, rows=row_map(form_of(kuhn)), iterations=2)


def test_random_games_without_rows_agree_too():
    """The twin itself: identity rows, nothing frozen, nothing closed."""
    game = RandomGame(3, 2, depth=4)
    compare("cfr+", game, row={key: key for key in naive.offers(game)}, stops=(5,))


def test_leaves_are_merged_alike_where_their_sequences_do_not_fit_into_a_number() -> None:
    rng = np.random.default_rng(5)
    where = rng.integers(0, 4, (300, 3)).astype(np.int32)
    worth = rng.integers(-3, 4, (300, 3)).astype(float)
    small, large = np.array([4, 4, 4], np.int32), np.array([2**30] * 3, np.int32)
    for one, other in zip(sequence._merge(where, worth, small), sequence._merge(where, worth, large), strict=True):
        np.testing.assert_array_equal(one, other)
