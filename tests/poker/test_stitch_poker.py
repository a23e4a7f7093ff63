"""Stitching and crosstables of poker games without a tree, held against the tree of the same game."""

from __future__ import annotations

import json

import numpy as np
import pytest
from poker_games import GAMES, compare_strategies, pair, random_probabilities

import kibitz
from kibitz import evaluate
from kibitz.cli import app
from kibitz.core.errors import GameError, SolverError
from kibitz.evaluate.crosstable import crosstable, mix
from kibitz.forms.abstraction import abstract_game, abstraction
from kibitz.forms.problem import on_tree
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.exact.rows import PokerRows
from kibitz.poker.rules import acpc
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve, solve_through
from kibitz.stitch import cohere, dynamic, experts, join, partition, rebuild_base, static
from kibitz.stitch.columns import never_reached

NAMES = ["leduc", "rhode island of 3 by 2", "hands of two", "no limit", "short stacks", "board first"]


def profile(both, seed, zeros=0.2, tree=False):
    """A random profile of the poker form, or the same one of the tree."""
    p = random_probabilities(both.form, seed, zeros)
    if tree:
        return Profile(both.tree.infosets, both.lift(p), {"tree": both.tree.digest, "game": both.tree.spec})
    return Profile(both.form.infosets, p, {"tree": both.form.tree_digest, "game": both.form.spec})


def masks(both, seed):
    """Some rows of the form that may move, and the same of the tree."""
    moves = np.random.default_rng(seed).random(both.form.points) < 0.5
    return moves, moves[both.of]


# Frozen rows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solver", ["cfr+", "cfr(updates=simultaneous)", "pcfr+"])
def test_frozen_rows_are_those_of_the_tree(name, solver):
    both = pair(name)
    base = random_probabilities(both.form, 3, zeros=0.0)
    moves, slow_moves = masks(both, 7)
    rows = PokerRows(both.form, moves, base)
    slow_rows = row_map(both.slow, moves=slow_moves, base=both.lift(base))
    fast = make(solver, Task(None, both.form, rows))
    fast.cfr_state = PokerCfrState(both.form, None, np.float64, rows)
    slow = make(solver, Task(None, both.slow, slow_rows))
    for count in (1, 2, 30, 7):
        fast.step(count)
        slow.step(count)
    found, wanted = fast.probabilities(), slow.probabilities()
    compare_strategies(both.slow, both.lift(found), wanted, 1e-8)
    width = both.form.infosets.width
    assert (found == base)[np.repeat(~moves, width)].all()  # to the last bit
    assert (found != base)[np.repeat(moves & (width > 1), width)].any() or not moves.any()


@pytest.mark.parametrize("solver", ["cfr+", "dcfr", "lcfr", "pdcfr+"])
def test_frozen_rows_stay_and_runs_do_not_depend_on_how_they_are_cut(solver):
    both = pair("leduc")
    moves, _ = masks(both, 1)
    rows = PokerRows(both.form, moves, random_probabilities(both.form, 5))
    once, cut = (make(solver, Task(None, both.form, rows)) for _ in range(2))
    once.step(100)
    for count in (1, 3, 12, 33, 51):
        cut.step(count)
        np.testing.assert_allclose(cut.cfr_state.strategy[rows.frozen], rows.held[rows.frozen], rtol=0, atol=3e-6)
    assert all((once.state[key] == cut.state[key]).all() for key in once.state)
    assert once.measure().nash_conv < 0.5 * make(solver, Task(None, both.form, rows)).measure().nash_conv


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gap_with_frozen_rows_is_that_of_the_expert_game(name, seed):
    both = pair(name)
    base, played = random_probabilities(both.form, seed), random_probabilities(both.form, 10 + seed)
    moves, slow_moves = masks(both, seed)
    rows = PokerRows(both.form, moves, base)
    slow_base = Profile(both.tree.infosets, both.lift(base), {"tree": both.tree.digest})
    derived = abstract_game(both.tree, np.arange(len(slow_moves)), None, ~slow_moves, slow_base)
    found = rows.measure(both.form.to_strategy(played))
    mixed = np.where(slow_moves[both.tree.infosets.row_of_column], both.lift(played), both.lift(base))
    wanted = kibitz.forms.sequence.form_of(derived.tree).measure(derived.lower(mixed))
    np.testing.assert_allclose(found.value, wanted.value, rtol=0, atol=1e-10 * both.scale)
    np.testing.assert_allclose(found.best, wanted.best, rtol=0, atol=1e-10 * both.scale)
    never = np.zeros(len(slow_moves), bool)
    where = derived.column[both.tree.infosets.first[:-1]]
    inner = np.searchsorted(derived.tree.infosets.first, where, side="right") - 1
    never[slow_moves] = never_reached(derived.tree)[inner[slow_moves]]
    # Hands that are one class here are never reached together.
    by_class = np.ones(both.form.points, bool)
    by_class[both.of[slow_moves & ~never]] = False
    assert ((~rows.reached())[moves] == by_class[moves]).all()


def test_frozen_rows_are_checked():
    form = pair("leduc").form
    with pytest.raises(SolverError, match="a mask has"):
        PokerRows(form, np.ones(3, bool), form.uniform())
    with pytest.raises(SolverError, match="frozen rows use"):
        solve_through(form, "lp", rows=PokerRows(form, np.ones(form.points, bool), form.uniform()))
    with pytest.raises(SolverError, match="another game"):
        solve_through(pair("kuhn").form, "cfr+", rows=PokerRows(form, np.ones(form.points, bool), form.uniform()))


# Partitions


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", ["prefix(r)", "prefix(cr, r)", "private()", "private(round=2)"])
def test_partitions_are_those_of_the_tree(name, source):
    both = pair(name)
    try:
        wanted = partition(both.game, source)
    except kibitz.core.errors.KibitzError as error:
        with pytest.raises(type(error)) as found:
            partition(both.form, source)
        assert str(found.value) == str(error)
        return
    found = partition(both.form, source)
    assert found.names == wanted.names and (found.part[both.of] == wanted.part).all()
    assert [found.seats_in(j) for j in range(found.parts + 1)] == [wanted.seats_in(j) for j in range(wanted.parts + 1)]


def test_bad_partitions_are_refused_alike():
    both = pair("leduc")
    wrong = ("prefix()", "prefix(x)", "prefix(c, cr)", "private(X)", "private(K, K)", "private(colour=2)", "odd(r)")
    for source in wrong:
        with pytest.raises(kibitz.core.errors.SpecError) as slow:
            partition(both.game, source)
        with pytest.raises(kibitz.core.errors.SpecError) as fast:
            partition(both.form, source)
        assert str(fast.value) == str(slow.value)
    with pytest.raises(GameError, match="condition 3"):
        partition(both.form, lambda seat, label: 1 + label.count("/"))


# Experts


@pytest.mark.parametrize("name", ["leduc", "rhode island of 3 by 2", "hands of two"])
@pytest.mark.parametrize("seats", ["each", "all", [[0, 1], [1]]], ids=str)
@pytest.mark.parametrize("source", ["prefix(r)", "private(round=2)"])
@pytest.mark.some(7)
def test_static_experts_are_those_of_the_tree(name, seats, source):
    both = pair(name)
    base, slow_base = profile(both, 2), profile(both, 2, tree=True)
    options = {"iterations": 400, "until": 1e-3 * both.scale}
    fast = static(both.game, base, source, seats, "null", "null", "null", **options)
    slow = static(both.game, slow_base, source, seats, "null", "null", "null", **options)
    assert isinstance(fast.infosets, PokerInfosets) and not isinstance(slow.infosets, PokerInfosets)
    assert fast.meta["stitch"]["experts"] == slow.meta["stitch"]["experts"]
    assert fast.meta["base"]["sha256"] == base.sha256
    sizes = [e.size for e in experts(both.game, base, source, seats, "null", "null", "null")]
    assert len(sizes) == fast.meta["stitch"]["experts"] and max(sizes) == fast.meta["stitch"]["size"]
    # The very same figures by form and by tree.
    here, there = evaluate.report(both.form, fast), evaluate.report(both.tree, on_tree(both.tree, fast, both.game))
    for key in ("value", "best_response", "nash_conv"):
        np.testing.assert_allclose(here[key], there[key], rtol=0, atol=1e-9)
    # Two runs of an expert end at different equilibria of its game, of one value.
    other = evaluate.report(both.tree, slow)
    if seats == "all":
        np.testing.assert_allclose(here["value"], other["value"], rtol=0, atol=4e-3 * both.scale * len(sizes))
    kept = partition(both.form, source).part > 0
    changed = fast.probabilities != base.probabilities
    assert changed.any() and not changed[np.repeat(~kept, both.form.infosets.width)].any()


def test_experts_help_and_a_rebuilt_base_fits_them():
    both = pair("leduc")
    game = kibitz.game("poker(file=leduc)")
    base = solve(game, "cfr+", iterations=3)
    assert isinstance(base.infosets, PokerInfosets)
    gap = kibitz.nash_conv(game, base)
    expert = static(game, base, "prefix(r, cr, ccr, cccr)", "all", iterations=300)
    again = rebuild_base(game, expert, "prefix(r, cr, ccr, cccr)", iterations=300)
    best = cohere(game, base, "prefix(r, cr)", rounds=3, iterations=200)
    assert all(isinstance(each.infosets, PokerInfosets) for each in (expert, again, best))
    assert kibitz.nash_conv(game, best) < gap
    held = np.repeat(partition(both.form, "prefix(r, cr, ccr, cccr)").part > 0, both.form.infosets.width)
    assert (again.probabilities == expert.probabilities)[held].all()
    assert (again.probabilities != expert.probabilities)[~held].any()
    assert again.meta["stitch"]["kind"] == "rebuilt base" and again.meta["base"]["stitch"]["kind"] == "static"
    parts = partition(both.form, "prefix(r, cr)")
    joined = join(base, parts, {(0, 1): expert, (1, 1): expert})
    where = np.repeat(parts.part == 1, both.form.infosets.width)
    assert (joined.probabilities == np.where(where, expert.probabilities, base.probabilities)).all()


def test_other_abstractions_take_the_tree():
    """Experts that see buckets, and dynamic ones: of small games, as on any game's tree."""
    game = pair("rhode island of 3 by 2").game
    base = solve(game, abstraction="gameshrink(threshold=20)", iterations=20)
    assert isinstance(base.infosets, PokerInfosets)
    expert = static(game, base, "prefix(r)", inside="suits", iterations=30)
    assert not isinstance(expert.infosets, PokerInfosets)
    assert expert.meta["stitch"]["outside"] == "gameshrink(threshold=20)"
    parts = partition(game, "prefix(r)")
    outside = np.repeat(parts.part == 0, kibitz.games.tree.tree_of(game).infosets.width)
    laid = on_tree(kibitz.games.tree.tree_of(game), base, game)
    assert (expert.probabilities == laid.probabilities)[outside].all()
    assert kibitz.nash_conv(game, laid) == pytest.approx(kibitz.nash_conv(game, base), abs=1e-9)
    both = dynamic(game, "prefix(r)", ["gameshrink(threshold=20)", "suits"], iterations=30)
    assert 0.0 < kibitz.nash_conv(game, both) < 10.0 * kibitz.nash_conv(game, base)


@pytest.mark.parametrize("name", ["rhode island of 3 by 2", "hands of two", "no limit"])
def test_suits_and_gameshrink_name_rows_of_the_tree(name):
    both = pair(name)
    rows = abstraction(both.game, "suits")
    _, first = np.unique(both.of, return_inverse=True)
    assert rows.rows == both.form.points  # the same cut: infosets of a class, and no others, share a row
    assert len(np.unique(np.stack((rows.row, first)), axis=1).T) == rows.rows
    derived = abstract_game(both.tree, rows.row)
    assert kibitz.nash_conv(both.tree, _lifted(both, derived)) < 0.05 * both.scale
    if both.form.definition.hole == 1:
        assert abstraction(both.game, "gameshrink").rows <= rows.rows
    with pytest.raises(kibitz.core.errors.SpecError):
        abstraction(both.game, "suits(x=1)")


def _lifted(both, derived):
    answer = solve(derived.tree, "cfr+", iterations=300)
    return Profile(both.tree.infosets, derived.lift(answer.probabilities), {"tree": both.tree.digest})


def test_what_needs_a_tree_that_does_not_fit_is_refused_with_what_does(monkeypatch):
    game = kibitz.game("rhode_island(ranks=2, suits=3)")
    base = solve(game, "cfr+", iterations=5)
    monkeypatch.setenv("KIBITZ_MOST_HISTORIES", "1000")
    assert static(game, base, "prefix(r)", "all", iterations=2).meta["stitch"]["experts"] == 1
    with pytest.raises(GameError, match=r"histories, and 1,000 fit .* --seats all or --outside null"):
        static(game, base, "prefix(r)", inside="gameshrink", iterations=2)
    with pytest.raises(GameError, match="--outside null"):
        dynamic(game, "prefix(r)", ["gameshrink", "null"], iterations=2)
    form = kibitz.poker.exact.form.poker_form(game)
    with pytest.raises(SolverError, match="need the game's tree"):
        static(form, base, "prefix(r)", inside="gameshrink", iterations=2)


def test_bases_of_other_games_are_refused():
    both = pair("leduc")
    game = kibitz.game("poker(file=leduc)")
    other = solve("rhode_island(ranks=2, suits=2)", iterations=1)
    for base in (other, solve("poker(file=kuhn)", iterations=1)):
        with pytest.raises(GameError, match="another game"):
            static(game, base, "prefix(r)", "all", iterations=1)
        with pytest.raises(GameError, match="another game"):
            static(both.tree, base, "prefix(r)", "all", iterations=1)
        with pytest.raises(GameError, match="another game"):
            static(game, base, "prefix(r)", "all", "J.QK", iterations=1)
    with pytest.raises(GameError, match="no probability distribution"):
        wrong = Profile(both.form.infosets, np.ones(both.form.columns), {"tree": both.form.tree_digest})
        static(both.form, wrong, "prefix(r)", "all", iterations=1)


# Crosstables


@pytest.mark.parametrize("name", NAMES)
def test_crosstables_are_those_of_the_tree(name):
    both = pair(name)
    fast = {f"s{k}": profile(both, k) for k in range(3)}
    slow = {f"s{k}": profile(both, k, tree=True) for k in range(3)}
    here, there = crosstable(both.game, fast), crosstable(both.tree, slow)
    for field in ("matrix", "field", "exploitability"):
        np.testing.assert_allclose(getattr(here, field), getattr(there, field), rtol=0, atol=1e-11 * both.scale)
    mixed = crosstable(both.game, {**fast, **{f"t{k}": p for k, p in slow.items()}})
    np.testing.assert_allclose(mixed.matrix[:3, 3:], there.matrix, rtol=0, atol=1e-11 * both.scale)
    assert (crosstable(both.form, fast).matrix == here.matrix).all()
    one = mix([fast["s0"], fast["s1"]])
    assert evaluate.value(both.form, one) == pytest.approx(evaluate.value(both.tree, mix([slow["s0"], slow["s1"]])))
    with pytest.raises(GameError, match="another game"):
        mix([fast["s0"], slow["s1"]])


def test_crosstables_that_need_a_tree_say_so(monkeypatch):
    game, other = kibitz.game("rhode_island(ranks=2, suits=3)"), pair("leduc")
    base = solve(game, "cfr+", iterations=2)
    monkeypatch.setenv("KIBITZ_MOST_HISTORIES", "1000")
    with pytest.raises(GameError, match=r"some profiles .* tree is needed: .*1,000 fit .* solve the game again"):
        crosstable(game, {"a": base, "b": profile(other, 1, tree=True)})
    assert crosstable(game, {"a": base}).names == ("a",)


# Commands


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return run


@pytest.fixture
def ok(call):
    def run(*arguments):
        code, out, err = call(*arguments)
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def bad(call):
    def run(*arguments):
        code, out, err = call(*arguments)
        assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (out, err)
        return err

    return run


@pytest.mark.slow
def test_commands_on_poker(tmp_path, ok, bad):
    small = "rhode_island(ranks=2, suits=2)"
    file = tmp_path / "own.game"
    file.write_text(acpc.write(GAMES["hands of two"]))
    for game in (small, str(file)):
        one, two, three = (tmp_path / name for name in ("one.profile", "two.profile", "three.profile"))
        for path, solver in ((one, "cfr+"), (two, "cfr")):
            ok("solve", game, "--solver", solver, "--iterations", "20", "--out", path, "--quiet")
        extra = () if game == small else ("--game", game)
        table = json.loads(ok("crosstable", one, two, *extra, "--json"))
        assert table["matrix"][0][1] == pytest.approx(-table["matrix"][1][0]) != 0
        sizes = json.loads(ok("stitch", game, "--base", one, "--partition", "prefix(r)", "--dry-run", "--json"))
        done = json.loads(ok("stitch", game, "--base", one, "--partition", "prefix(r)", "--iterations", "20", "--out",
                             three, "--json"))  # fmt: skip
        assert done["size"] == sizes["size"] and [e["part"] for e in sizes["experts"]] == ["r", "r"]
        found = json.loads(ok("evaluate", three, *extra, "--json"))
        assert found["nash_conv"] == done["stitched"]["nash_conv"]
        assert "another game" in bad("crosstable", one, two, "--game", "kuhn")
        if game == small:
            slow = tmp_path / "slow.profile"
            ok("stitch", game, "--base", "gameshrink(threshold=20)", "--partition", "private(A)", "--inside", "suits",
               "--iterations", "5", "--out", slow)  # fmt: skip
            assert json.loads(ok("crosstable", one, three, slow, "--json"))["names"] == ["one", "three", "slow"]
            for base, how in (("null", "--seats=all"), ("gameshrink", "--seats=all"), ("gameshrink", "--kind=dynamic")):
                ok("stitch", game, "--base", base, "--partition", "prefix(r)", how, "--iterations", "3")
