"""Abstractions: names, functions, tables and dropped actions; the abstract game against its definition."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import stitch_naive
from random_games import Nested, RandomGame, choice, end

import kibitz
from kibitz.core.errors import GameError, KibitzError, SolverError, SpecError
from kibitz.evaluate import exploitability, nash_conv, value
from kibitz.forms.abstraction import Abstraction, abstract_game, abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers.run import solve_through

LEDUC = kibitz.game("leduc")
KUHN = kibitz.game("kuhn")
# name -> the groups of the naive twin, and the rows that the papers count
NAMED = {
    "JQ.K": (("JQ", "K"), 132), "J.QK": (("J", "QK"), 132), "J.Q.K": (("J", "Q", "K"), 198), "suits": ("suits", 468),
}  # fmt: skip
# name -> value of the abstract game for seat 0, and the least exploitability of its equilibria, in milli-antes
FACTS = {"JQ.K": (-0.10743, 489.76), "J.QK": (-0.10735, 738.92), "J.Q.K": (-0.11012, 639.5)}


def made(tree, *source, **more):
    """The abstract game of an abstraction."""
    chosen = abstraction(tree, *source, **more)
    return abstract_game(tree, chosen.row, chosen.closed)


def keys_of(infosets):
    return [
        (seat, infosets.labels[i])
        for seat in range(infosets.seats)
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1])
    ]


def same_rows(one, other):
    return one.row.tolist() == other.row.tolist() and one.closed.tolist() == other.closed.tolist()


def random_profile(tree, rng):
    return Profile(tree.infosets, normalise(rng.random(int(tree.infosets.first[-1])), tree.infosets))


# Sizes


@pytest.mark.parametrize("name", NAMED)
def test_sizes_of_the_papers(name):
    groups, rows = NAMED[name]
    found = abstraction(LEDUC, name)
    assert found.rows == rows == found.rows_of(0) + found.rows_of(1)
    twin = stitch_naive.Derived(LEDUC, stitch_naive.leduc_buckets(LEDUC, groups))
    assert naive.count(twin)["infosets"] == rows
    assert len(made(tree_of(LEDUC), name).tree.infosets.labels) == rows
    assert str(found) == f"{name} ({rows} rows for 936 infosets)"


def test_the_null_abstraction_is_the_game():
    tree = tree_of(LEDUC)
    null = abstraction(LEDUC)
    assert null.name == "null" and null.row.tolist() == list(range(936)) and not null.closed.any()
    derived = made(tree).tree
    for field in ("parent", "turn", "action", "infoset", "chance", "payoff"):
        assert np.array_equal(getattr(derived, field), getattr(tree, field)), field
    assert derived.digest == tree.digest


# The abstract game is the one of the definition


@pytest.mark.parametrize("name", [*NAMED, "JQ.K(recall=false)", "J.QK(recall=false)"])
def test_the_abstract_tree_of_leduc_by_the_definition(name):
    plain = name.partition("(")[0]
    buckets = stitch_naive.leduc_buckets(LEDUC, NAMED[plain][0], recall=name == plain)
    twin = stitch_naive.written(stitch_naive.Derived(LEDUC, buckets))
    assert stitch_naive.written_tree(made(tree_of(LEDUC), name).tree) == twin


def random_derived(game, rng, merge=True, freeze=0.3, close=0.3, recall=True):
    """(tree, row, closed, frozen, base, the naive twin) of a random abstraction with frozen decisions."""
    tree = lay_out(game)
    infosets, keys, offered = tree.infosets, keys_of(tree.infosets), naive.offers(game)
    base = random_profile(tree, rng)
    plain = naive.as_dict(base)
    frozen = {key: plain[key] for key in keys if rng.random() < freeze}
    if not merge:
        buckets = {key: key for key in keys}
    elif recall:
        buckets = dict(zip(keys, map(stitch_naive.random_buckets(game, rng, frozen), keys), strict=True))
    else:
        buckets = {key: (len(offered[key]), int(rng.integers(2))) for key in keys}
    numbers, shut = {}, {}
    for key in keys:
        numbers.setdefault((key[0], buckets[key]), len(numbers))
        pattern = shut.setdefault((key[0], buckets[key]), rng.random(len(offered[key])) < close)
        pattern[rng.integers(len(pattern))] = False
    row = np.array([numbers[key[0], buckets[key]] for key in keys], np.int64)
    closed = np.concatenate([shut[key[0], buckets[key]] for key in keys] or [np.zeros(0, bool)])
    dropped = {
        (key, action)
        for key in keys if key not in frozen
        for action, gone in zip(offered[key], shut[key[0], buckets[key]], strict=True) if gone
    }  # fmt: skip
    mask = np.array([key in frozen for key in keys], bool)
    twin = stitch_naive.Derived(game, buckets.__getitem__, frozen, dropped)
    assert len(infosets.labels) == len(keys)
    return tree, row, closed, mask, base, twin


GAMES = [
    *(RandomGame(seed, 2 + seed % 2, depth=5, payoffs="general", most=120) for seed in range(24)),
    KUHN, kibitz.game("kuhn(players=3)"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["merge", "freeze", "close", "all", "all, without recall"])
def test_random_derived_games_by_the_definition(kind):
    more = "all" in kind
    for seed, game in enumerate(GAMES):
        rng = np.random.default_rng([seed, 1])
        tree, row, closed, frozen, base, twin = random_derived(
            game, rng, more or kind == "merge", 0.3 * (more or kind == "freeze"), 0.3 * (more or kind == "close"),
            "without" not in kind,
        )  # fmt: skip
        derived = abstract_game(tree, row, closed, frozen, base)
        assert stitch_naive.written_tree(derived.tree) == stitch_naive.written(twin), seed
        # Rows that no history reads any more are not counted: infosets of the abstract game are those that occur.
        assert len(derived.tree.infosets.labels) == len(naive.offers(twin)), seed
        if "without" not in kind:
            assert form_of(derived.tree).perfect_recall, seed
        # Values: the abstract profile there, its lift in the real game, and both by hand.
        profile = random_profile(derived.tree, rng)
        lifted = Profile(tree.infosets, derived.lift(profile.probabilities))
        expected = naive.value(game, naive.as_dict(lifted))
        np.testing.assert_allclose(value(derived.tree, profile), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(value(tree, lifted), expected, rtol=0, atol=1e-12)
        sums = np.bincount(tree.infosets.row_of_column, lifted.probabilities)
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-12)
        assert not lifted.probabilities[closed & ~frozen[tree.infosets.row_of_column]].any()
        held = frozen[tree.infosets.row_of_column]
        assert lifted.probabilities[held].tobytes() == base.probabilities[held].tobytes()
        np.testing.assert_allclose(derived.lower(lifted.probabilities), profile.probabilities, rtol=0, atol=1e-12)


def test_best_responses_in_the_abstract_game_by_hand():
    for seed, game in enumerate(GAMES):
        rng = np.random.default_rng([seed, 2])
        tree, row, closed, frozen, base, twin = random_derived(game, rng)
        derived = abstract_game(tree, row, closed, frozen, base)
        profile = random_profile(derived.tree, rng)
        # The twin calls an abstract infoset by its bucket; the tree calls it by the first real infoset in it.
        plain = {(seat, twin.bucket((seat, label))): p for (seat, label), p in naive.as_dict(profile).items()}
        assert nash_conv(derived.tree, profile) == pytest.approx(naive.nash_conv(twin, plain), abs=1e-10), seed


def test_an_abstract_player_has_less_to_gain():
    """Deviations inside the abstraction are some of those in the real game."""
    rng = np.random.default_rng(3)
    tree = tree_of(LEDUC)
    for name in NAMED:
        derived = made(tree, name)
        profile = random_profile(derived.tree, rng)
        lifted = Profile(tree.infosets, derived.lift(profile.probabilities))
        np.testing.assert_allclose(value(derived.tree, profile), value(tree, lifted), rtol=0, atol=1e-12)
        gap, real = nash_conv(derived.tree, profile), nash_conv(tree, lifted)
        assert gap == pytest.approx(real, abs=1e-10) if name == "suits" else gap < real


def test_the_lift_of_a_profile_reads_the_row_of_its_infoset():
    tree = tree_of(LEDUC)
    derived = made(tree, "JQ.K")
    profile = random_profile(derived.tree, np.random.default_rng(0))
    plain = naive.as_dict(profile)
    buckets = stitch_naive.leduc_buckets(LEDUC, ("JQ", "K"))
    by_bucket = {(key[0], buckets(key)): row for key, row in plain.items()}
    assert len(by_bucket) == 132
    for key, row in naive.as_dict(Profile(tree.infosets, derived.lift(profile.probabilities))).items():
        assert row == by_bucket[key[0], buckets(key)]


# Solving the abstract tree is solving the full form with a map to rows


@pytest.mark.parametrize("spec", ["cfr", "cfr+", "dcfr(beta=-1)", "pcfr+(updates=simultaneous)"])
def test_rows_on_the_full_form_are_the_abstract_tree(spec):
    """For abstraction, frozen rows and closed actions, alone and together (with perfect recall: else averages weigh
    real points and abstract points differently)."""
    for seed, game in enumerate(GAMES):
        rng = np.random.default_rng([seed, 4])
        tree, row, closed, frozen, base, _ = random_derived(
            game, rng, seed % 4 in (0, 3), 0.4 * (seed % 4 in (1, 3)), 0.3 * (seed % 4 in (2, 3))
        )
        if frozen.all():
            continue
        # A row is frozen as a whole in a row map: number the frozen ones apart.
        apart = np.where(frozen, int(row.max()) + 1 + np.arange(len(row)), row)
        moves = np.ones(int(apart.max()) + 1, bool)
        moves[apart[frozen]] = False
        shut = closed & ~frozen[tree.infosets.row_of_column]
        mapped = row_map(form_of(tree), apart, moves, base.probabilities, shut)
        full = solve_through(tree, spec, rows=mapped, iterations=17)
        derived = abstract_game(tree, row, closed, frozen, base)
        small = kibitz.solve(derived.tree, spec, iterations=17)
        np.testing.assert_allclose(derived.lift(small.probabilities), full.probabilities, rtol=0, atol=1e-9)


def test_rows_on_the_full_form_of_leduc():
    tree = tree_of(LEDUC)
    chosen = abstraction(tree, "JQ.K")
    full = solve_through(tree, "cfr+", rows=row_map(form_of(tree), chosen.row), iterations=30)
    small = kibitz.solve(tree, "cfr+", abstraction="JQ.K", iterations=30)
    np.testing.assert_allclose(small.probabilities, full.probabilities, rtol=0, atol=1e-9)


# Values of the abstract games


@pytest.mark.parametrize("name", FACTS)
def test_values_of_the_abstract_games(name):
    tree = tree_of(LEDUC)
    worth, least = FACTS[name]
    derived = made(tree, name)
    assert kibitz.solve(derived.tree, "lp").meta["value"][0] == pytest.approx(worth, abs=6e-6)
    assert value(derived.tree, kibitz.solve(derived.tree, "cfr+", until=2e-4))[0] == pytest.approx(worth, abs=2e-4)
    for start in (None, "random"):
        profile = kibitz.solve(tree, "cfr+", until=5e-5, abstraction=name, start=start, seed=3)
        assert profile.meta["abstraction"] == name and profile.meta["abstract_nash_conv"] <= 5e-5
        assert profile.meta["abstract_value"][0] == pytest.approx(worth, abs=6e-5)
        # The least over exact equilibria: one that is off by 5e-5 in the abstract game is a little below at most.
        assert 1000 * exploitability(tree, profile) >= least - 1.0


def test_suits_lose_nothing():
    tree = tree_of(LEDUC)
    profile = kibitz.solve(tree, "lp", abstraction="suits")
    assert nash_conv(tree, profile) < 1e-9
    assert value(tree, profile)[0] == pytest.approx(-0.0856, abs=5e-5)


def test_imperfect_recall():
    tree = tree_of(LEDUC)
    chosen = abstraction(tree, "JQ.K(recall=false)")
    assert chosen.rows == 2 * 6 + 2 * 30 and chosen.name == "JQ.K(recall=false)"
    derived = abstract_game(tree, chosen.row)
    assert not form_of(derived.tree).perfect_recall
    with pytest.raises(SolverError, match="perfect recall"):
        kibitz.solve(tree, "lp", abstraction="JQ.K(recall=false)")
    profile = kibitz.solve(tree, "cfr+", abstraction="JQ.K(recall=false)", iterations=20)
    assert profile[0, "JsQs:cc/"] == profile[0, "KhQs:cc/"] != profile[0, "QsQh:cc/"]
    assert profile[0, "Js:"] == profile[0, "Qh:"] != profile[0, "Ks:"]
    # The definition: CFR+ on the abstract game, averages weighed by each own past.
    iso = kibitz.game("leduc(suit_isomorphism=true)")
    merged = {key: (key[1][0] if key[1][1] == ":" else key[1][0] == key[1][1], key[1][1:].partition(":")[2])
              for key in naive.offers(iso)}  # fmt: skip
    fast = kibitz.solve(iso, "cfr+", abstraction={key: repr(b) for key, b in merged.items()}, iterations=4)
    twin = stitch_naive.Derived(iso, merged.__getitem__)
    slow = twin.lift(stitch_naive.solved(twin, 4))
    for key, row in naive.as_dict(fast).items():
        assert row == pytest.approx(slow[key], abs=1e-9)


# Ways to give one


def jq_k(seat, label):
    cards, _, betting = label.partition(":")
    rank, board = cards[0], cards[2:]
    return ("K" if rank == "K" else "JQ", board and rank == board[0], betting)


def test_a_name_a_function_and_a_table_are_the_same():
    tree = tree_of(LEDUC)
    named = abstraction(tree, "JQ.K")
    by_function = abstraction(LEDUC, jq_k)
    table = {key: jq_k(*key) for key in keys_of(tree.infosets)}
    by_table = abstraction("leduc", table)
    by_label = abstraction(tree, {label: jq_k(0, label) for label in tree.infosets.labels})
    for other in (by_function, by_table, by_label, abstraction(tree, "JQ-K"), abstraction(tree, "QJ.K")):
        assert same_rows(named, other)
    assert abstraction(tree, named) is named
    one = kibitz.solve(tree, "cfr+", abstraction="JQ.K", iterations=20)
    for source in (jq_k, table, named):
        assert kibitz.solve(tree, "cfr+", abstraction=source, iterations=20).sha256 == one.sha256


def test_a_table_leaves_the_rest_alone():
    found = abstraction(KUHN, {(0, "J:"): 7, (0, "K:"): 7, "Q:p": "own", "Q:b": "own"})
    keys = keys_of(found.infosets)
    groups = {}
    for key, r in zip(keys, found.row.tolist(), strict=True):
        groups.setdefault(r, []).append(key)
    assert sorted(map(sorted, groups.values())) == sorted(
        [[(0, "J:"), (0, "K:")], [(1, "Q:b"), (1, "Q:p")]]
        + [[key] for key in keys if key not in [(0, "J:"), (0, "K:"), (1, "Q:p"), (1, "Q:b")]]
    )
    # A bucket named like an infoset is not that infoset.
    clash = abstraction(KUHN, {"J:": "K:"})
    assert clash.rows == 12


def test_buckets_never_merge_seats():
    found = abstraction(KUHN, lambda seat, label: 0)
    assert found.rows == 2 and found.row.tolist() == [0] * 6 + [1] * 6


def test_a_game_of_ones_own_has_named_abstractions_by_its_method_hand():
    class Mine(type(KUHN)):
        spec = ""

    assert abstraction(Mine(), "JQ.K").rows == 8
    with pytest.raises(SpecError, match="method hand"):
        abstraction(lay_out(Mine()), "JQ.K")


def test_kuhn_by_ranks():
    for name, rows in (("JQ.K", 8), ("J.Q.K", 12), ("JQK", 4), ("suits", 12)):
        assert abstraction(KUHN, name).rows == rows
    assert abstraction("kuhn(players=3)", "JQ.KA").rows == 3 * 4 * 2
    assert abstraction("leduc(ranks=4)", "J.QK.A").rows == 6 * 3 + 30 * 6


# Dropped actions


def test_dropped_actions():
    tree = tree_of(LEDUC)
    for chosen in (
        abstraction(LEDUC, "null", without=["raise"]),
        abstraction(LEDUC, "null(without=[raise])"),
        abstraction(LEDUC, "null(without=raise)"),
        abstraction(LEDUC, "null", without="raise"),
        abstraction(LEDUC, "null", without=lambda seat, infoset, actions: [a for a in actions if a == "raise"]),
    ):
        names = [a for i in range(936) for a in tree.infosets.actions[tree.infosets.actions_of[i]]]
        assert chosen.closed.tolist() == [name == "raise" for name in names]
    derived = made(tree, "null", without=["raise"])
    assert len(derived.tree.infosets.labels) == 2 * (6 + 30)  # a check each, in both rounds
    assert kibitz.solve(derived.tree, "lp").meta["value"][0] == pytest.approx(0.0, abs=1e-12)
    twin = stitch_naive.Derived(
        LEDUC, dropped={(key, "raise") for key, actions in naive.offers(LEDUC).items() if "raise" in actions}
    )
    assert stitch_naive.written_tree(derived.tree) == stitch_naive.written(twin)
    profile = kibitz.solve(tree, "lp", abstraction="null(without=[raise])")
    assert profile[0, "Ks:"] == {"call": 1.0, "raise": 0.0}
    assert profile[0, "KsJh:rrc/"] == {"call": 1.0, "raise": 0.0}  # where the abstract game never comes: what is open
    assert profile[1, "Ks:r"] == {"fold": 0.5, "call": 0.5, "raise": 0.0}


def test_actions_are_dropped_only_where_another_is_left():
    chosen = abstraction(LEDUC, "JQ.K", without=["raise", "call"])
    dropped = dict(zip(keys_of(chosen.infosets), np.split(chosen.closed, chosen.infosets.first[1:-1]), strict=True))
    assert dropped[0, "Js:"].tolist() == [False, False]  # call, raise: nothing would be left
    assert dropped[1, "Js:r"].tolist() == [False, True, True]  # fold, call, raise
    assert dropped[0, "Js:rr"].tolist() == [False, True]  # fold, call


def test_an_abstraction_and_dropped_actions_together():
    """Against the naive game: JQ.K in which nobody raises a raise."""
    tree = tree_of(LEDUC)
    raises = {(key, "raise") for key, actions in naive.offers(LEDUC).items() if {"fold", "raise"} <= set(actions)}
    chosen = abstraction(tree, "JQ.K", lambda seat, infoset, actions: ["raise"] if len(actions) == 3 else [])
    twin = stitch_naive.Derived(LEDUC, stitch_naive.leduc_buckets(LEDUC, ("JQ", "K")), dropped=raises)
    derived = abstract_game(tree, chosen.row, chosen.closed)
    assert stitch_naive.written_tree(derived.tree) == stitch_naive.written(twin)
    assert len(derived.tree.infosets.labels) == naive.count(twin)["infosets"] < 132
    exact = kibitz.solve(derived.tree, "lp")
    assert nash_conv(derived.tree, exact) < 1e-9


def test_names_say_what_was_used():
    assert abstraction(LEDUC, "JQ.K").name == "JQ.K"
    assert abstraction(LEDUC, "JQ.K", without=["raise"]).name == "JQ.K(without=[raise])"
    assert abstraction(LEDUC, "JQ.K(recall=false, without=[raise])").name == "JQ.K(recall=false, without=[raise])"
    assert abstraction(LEDUC, jq_k).name == "own:jq_k"
    assert abstraction(LEDUC, {}).name == "own:table"
    assert abstraction(LEDUC, "null", without=lambda *_: ()).name == "own:null"
    for name in ("JQ.K(without=[raise])", "suits", "null"):
        assert same_rows(abstraction(LEDUC, name), abstraction(LEDUC, abstraction(LEDUC, name).name))


# Errors


def own_game():
    left, right = choice(0, "two", end(1, -1), end(0, 0)), choice(0, "three", end(1, -1), end(0, 0), end(2, -2))
    return Nested(2, ("chance", (("1", 0.5, left), ("2", 0.5, right))))


@pytest.mark.parametrize(
    ("game", "source", "more", "error", "words"),
    [
        (LEDUC, "JQK.A", {}, SpecError, "unknown abstraction 'JQK.A': use null, suits, or groups of the ranks"),
        (LEDUC, "JQ", {}, SpecError, "unknown abstraction 'JQ'"),
        (LEDUC, "J.JQ.K", {}, SpecError, "unknown abstraction 'J.JQ.K'"),
        (LEDUC, "suit", {}, SpecError, "unknown abstraction 'suit'"),
        (LEDUC, "", {}, SpecError, "expected a name"),
        (LEDUC, "JQ.K(recal=false)", {}, SpecError, "did you mean 'recall'"),
        (LEDUC, "JQ.K(recall=3)", {}, SpecError, "should be true or false"),
        (LEDUC, "null(recall=false)", {}, SpecError, "takes no parameters"),
        (LEDUC, "suits(recall=false)", {}, SpecError, "takes no parameters"),
        ("liars_dice(dice_sides=3)", "JQ.K", {}, SpecError, "'JQ.K' is for card games with a method hand"),
        ("goofspiel(num_cards=3)", "suits", {}, SpecError, "'suits' is for card games with a method hand"),
        (own_game(), "suits", {}, SpecError, r"use null, a function \(seat, infoset\) -> bucket, or a table"),
        (LEDUC, 5, {}, SpecError, "a name, a function .* or a table"),
        (LEDUC, None, {}, SpecError, "a name, a function .* or a table"),
        (KUHN, {"X:": 1}, {}, GameError, "the table names infoset 'X:', which the game does not have"),
        (KUHN, {(1, "J:"): 1}, {}, GameError, r"the table names infoset \(1, 'J:'\)"),
        (KUHN, {(2, "J:"): 1}, {}, GameError, r"the table names infoset \(2, 'J:'\)"),
        (KUHN, {(0, "J:", 2): 1}, {}, GameError, "the table names infoset"),
        (KUHN, {("0", "J:"): 1}, {}, GameError, "the table names infoset"),
        (KUHN, {5: 1}, {}, GameError, "the table names infoset 5"),
        (KUHN, {"J:": [1]}, {}, SpecError, "infoset 'J:' has the bucket .* must be hashable"),
        (KUHN, lambda seat, label: [label], {}, SpecError, "infoset 'J:' has the bucket .* must be hashable"),
        (own_game(), lambda seat, label: 0, {}, SolverError, "'two' and 'three' cannot share a row: they have"),
        (own_game(), {"two": 1, "three": 1}, {}, SolverError, "'two' and 'three' cannot share a row"),
        (LEDUC, lambda seat, label: 0, {}, SolverError, "'.*' and '.*' cannot share a row: they have different"),
        (LEDUC, "null", {"without": ["shove"]}, SpecError, "no action 'shove'; it has call, fold, raise"),
        (LEDUC, "null(without=[shove])", {}, SpecError, "no action 'shove'"),
        (LEDUC, "null", {"without": lambda *_: ["shove"]}, SpecError, "'shove' at infoset 'Js:', which has call"),
        (LEDUC, "null", {"without": lambda s, i, a: a}, SolverError, "all actions of infoset 'Js:' are closed"),
        (LEDUC, "null(without=[raise])", {"without": ["call"]}, SpecError, "given twice"),
        (LEDUC, "JQ.K", {"without": lambda s, i, a: ["raise"] if i == "Js:" else ()}, SolverError,
         "'Js:' and 'Jh:' cannot share a row: they have different actions"),
    ],
)  # fmt: skip
def test_abstractions_that_make_no_sense(game, source, more, error, words):
    with pytest.raises(error, match=words) as raised:
        abstraction(game, source, **more)
    assert isinstance(raised.value, KibitzError)


def test_the_abstraction_of_another_game():
    other = abstraction("leduc(ante=2)", "JQ.K")  # the same infosets: another game, but the map is as good
    assert abstraction(LEDUC, other) is other
    for wrong in (abstraction(KUHN, "null"), abstraction("leduc(suit_isomorphism=true)", "null")):
        with pytest.raises(GameError, match="made for another game"):
            abstraction(LEDUC, wrong)
        with pytest.raises(GameError, match="made for another game"):
            kibitz.solve(LEDUC, "cfr+", abstraction=wrong, iterations=1)
    with pytest.raises(SpecError, match="without= when you make it"):
        abstraction(LEDUC, abstraction(LEDUC, "JQ.K"), without=["raise"])
    assert isinstance(other, Abstraction)


def test_an_abstraction_with_rows_or_a_start_profile():
    base = kibitz.solve(KUHN, "cfr+", iterations=2)
    with pytest.raises(SolverError, match="cannot be combined with rows"):
        kibitz.solve(KUHN, "cfr+", abstraction="JQ.K", start=base)


# What does not change


def test_freezing_everything_changes_nothing():
    for seed, game in enumerate(GAMES):
        tree = lay_out(game)
        base = random_profile(tree, np.random.default_rng(seed))
        everything = np.ones(len(tree.infosets.labels), bool)
        derived = abstract_game(tree, np.arange(len(everything)), None, everything, base)
        assert not derived.tree.infosets.labels
        assert derived.lift(np.zeros(0)).tobytes() == base.probabilities.tobytes()
        if derived.tree.histories:
            empty = Profile(derived.tree.infosets, np.zeros(0), {"tree": derived.tree.digest})
            np.testing.assert_allclose(value(derived.tree, empty), value(tree, base), rtol=0, atol=1e-12)


@pytest.mark.parametrize("spec", ["cfr+", "dcfr", "mccfr", "fp"])
def test_freezing_nothing_is_the_plain_solve(spec):
    for game in (KUHN, kibitz.game("kuhn(players=3)"), GAMES[3], GAMES[8]):
        tree = lay_out(game)
        plain = kibitz.solve(tree, spec, iterations=40, seed=5)
        nothing = np.zeros(len(tree.infosets.labels), bool)
        derived = abstract_game(tree, np.arange(len(nothing)), None, nothing, plain)
        again = kibitz.solve(derived.tree, spec, iterations=40, seed=5)
        assert derived.lift(again.probabilities).tobytes() == plain.probabilities.tobytes()
        by_name = kibitz.solve(tree, spec, abstraction="null", iterations=40, seed=5)
        assert by_name.sha256 == plain.sha256
