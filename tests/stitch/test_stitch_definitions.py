"""Static and dynamic experts against their definitions, on random stitched profiles."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import stitch_naive
from random_games import RandomGame
from stitched import KUHN, KUHN3, PLAIN, PREFIXES, close, from_dict, kuhn_buckets, parts_of, random_profile, same

import kibitz
from kibitz.core.errors import GameError
from kibitz.evaluate import nash_conv, value
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import normalise
from kibitz.games.tree import tree_of
from kibitz.stitch import dynamic, experts, join, partition, rebuild_base, static

GROUPS = {  # for two and three players: what kibitz is given, and the pairs (S, kept seats) that it stands for
    2: [
        ("each", [((0,), (0,)), ((1,), (1,))]), ("all", [((0, 1), (0, 1))]), ([1], [((1,), (1,))]),
        ([[1, 0], [0]], [((1, 0), (1,)), ((0,), (0,))]),
    ],
    3: [
        ("each", [((i,), (i,)) for i in range(3)]), ("all", [((0, 1, 2), (0, 1, 2))]), ([0, 2], [((0, 2), (0, 2))]),
        ([[0, 1], [1, 2], [2, 0]], [((0, 1), (0,)), ((1, 2), (1,)), ((2, 0), (2,))]),
    ],
}  # fmt: skip


def check_values(game, profile):
    plain = naive.as_dict(profile)
    tree = tree_of(game)
    np.testing.assert_allclose(value(tree, profile), naive.value(game, plain), rtol=0, atol=1e-12)
    assert nash_conv(tree, profile) == pytest.approx(naive.nash_conv(game, plain), abs=1e-10)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("game", [KUHN, KUHN3], ids=["kuhn", "kuhn for three"])
@pytest.mark.some(3)
def test_static_experts_of_kuhn_by_the_definition(game, number):
    given, groups = GROUPS[game.players][number]
    rng = np.random.default_rng(number)
    base = random_profile(tree_of(game), rng, pure=0.2)
    ranks = ("JQ", "KA")
    source = "private(J, A)" if game is KUHN3 else "prefix(p)"
    if game is KUHN3 and number % 2:
        source = "prefix(p)"
    name = "JQ.KA" if game is KUHN3 else "JQ.K"
    coarse = kuhn_buckets(game, ranks)
    parts = partition(game, source)
    for outside, opponents, theirs in (("null", None, (None, None)), (name, None, (coarse, None)),
                                       (name, name, (coarse, coarse))):  # fmt: skip
        built = static(game, base, parts, given, "null", outside, opponents, iterations=5)
        close(built, stitch_naive.static(game, naive.as_dict(base), parts_of(parts), groups, 5, None, *theirs))
    check_values(game, built)


def test_static_experts_of_random_games_by_the_definition():
    for seed in range(16):
        rng = np.random.default_rng([seed, 5])
        players = 2 + seed % 2
        game = RandomGame(seed, players, depth=5, payoffs="general", most=120)
        base = random_profile(tree_of(game), rng, pure=0.3)
        parts = stitch_naive.random_partition(game, rng, 3)
        given, groups = GROUPS[players][seed // 2 % 4]
        found = partition(game, from_dict(parts))
        buckets = [stitch_naive.random_buckets(game, rng) for _ in range(3)]
        ours = [lambda seat, infoset, b=b: b((seat, infoset)) for b in buckets]
        explicit = not isinstance(given, str)
        kept = {seat for _, keep in groups for seat in keep}
        if explicit and any(kept.isdisjoint(found.seats_in(j)) for j in range(1, found.parts + 1)):
            with pytest.raises(GameError, match="decides nothing in part"):
                static(game, base, found, given, *ours, iterations=9)
            continue
        built = static(game, base, found, given, *ours, iterations=9)
        close(built, stitch_naive.static(game, naive.as_dict(base), parts, groups, 9, *buckets))
        check_values(game, built)


def never_betting(game):
    """Random play that never bets first, so that nobody ever comes into the part after a bet."""
    base = random_profile(tree_of(game), np.random.default_rng(12))
    plain = naive.as_dict(base)
    weights = [
        0.0 if action == "bet" and not key[1].partition(":")[2].strip("p") else p
        for key, row in plain.items()
        for action, p in row.items()
    ]
    return base.replaced(normalise(np.array(weights), base.infosets))


@pytest.mark.parametrize("solver", ["cfr+", "lp", "mccfr"])
@pytest.mark.parametrize("inside", ["null", "JQ.K"])
def test_where_the_base_never_goes_the_expert_plays_as_it_does(solver, inside):
    base = never_betting(KUHN)
    options = {"solver": solver, "iterations": 7, "start": None if solver == "lp" else "random"}
    stitched = static(KUHN, base, "prefix(b, pb)", "all", inside, **options)
    plain, before = naive.as_dict(stitched), naive.as_dict(base)
    if inside == "null":
        assert same(stitched, base)
    for (seat, infoset), row in plain.items():
        rank, _, done = infoset.partition(":")
        alike = ("J", "Q") if rank in "JQ" and inside == "JQ.K" and "b" in done else (rank,)
        rows = [before[seat, f"{r}:{done}"] for r in alike]
        assert row == pytest.approx({a: sum(r[a] for r in rows) / len(rows) for a in row}, abs=1e-15)
    # One seat only is frozen: the other one may bet, and the expert has something to learn.
    free = static(KUHN, base, "prefix(b)", [[1]], outside="null", **options)
    assert not same(free, base)


def test_a_base_that_never_goes_there_is_given_back_to_the_last_bit():
    """Also where the expert's rows merge infosets in which the base plays alike."""
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=50)
    first = np.array([label.partition(":")[2].strip("c/") == "" for label in base.infosets.labels])
    names = np.array([str(a) for i in base.infosets.actions_of for a in base.infosets.actions[i]])
    raises = first[base.infosets.row_of_column] & (names == "raise")
    shy = base.replaced(normalise(np.where(raises, 0.0, base.probabilities + 0.01), base.infosets))
    for inside in ("null", "JQ.K", "J.Q.K"):
        assert same(static(PLAIN, shy, PREFIXES, "all", inside, iterations=5, start="random"), shy)
    # Dropped actions are not played: what is left of the base's play is spread anew.
    small = static(PLAIN, shy, PREFIXES, "all", "JQ.K(without=[raise])", iterations=5)
    sums = np.bincount(base.infosets.row_of_column, small.probabilities)
    np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-12)
    inner = (partition(PLAIN, PREFIXES).part > 0)[base.infosets.row_of_column]
    assert not small.probabilities[inner & (names == "raise")].any()


def test_a_base_under_experts_that_never_let_play_come_stays():
    """Seat 0 never bets in its part, so what comes after a bet is not rebuilt."""
    stitched = never_betting(KUHN3)
    rebuilt = rebuild_base(KUHN3, stitched, lambda seat, infoset: int("b" not in infoset), "null", iterations=9)
    assert same(rebuilt, stitched)


def test_values_inside_expert_games_by_hand():
    """Random profiles of an expert's game: value and best responses there, by recursion with frozen nodes as chance."""
    for seed in range(12):
        rng = np.random.default_rng([seed, 6])
        other = RandomGame(40 + seed, 2 + seed % 2, depth=5, payoffs="general", most=120)
        game = {0: KUHN, 1: KUHN3}.get(seed % 6, other)
        base = random_profile(tree_of(game), rng)
        numbers = stitch_naive.random_partition(game, rng, 2)
        for expert in experts(game, base, from_dict(numbers), ("each", "all")[seed // 6], "null", "null"):
            twin = stitch_naive.expert_game(
                game, naive.as_dict(base), numbers, expert.part, expert.seats, None, None, None
            )
            profile = random_profile(expert.game.tree, rng)
            plain = {(seat, twin.bucket((seat, label))): p for (seat, label), p in naive.as_dict(profile).items()}
            expected = naive.value(twin, plain)
            np.testing.assert_allclose(value(expert.game.tree, profile), expected, rtol=0, atol=1e-12)
            assert nash_conv(expert.game.tree, profile) == pytest.approx(naive.nash_conv(twin, plain), abs=1e-10)
            lifted = Profile(tree_of(game).infosets, expert.game.lift(profile.probabilities))
            np.testing.assert_allclose(value(game, lifted), expected, rtol=0, atol=1e-12)


def test_random_joins_by_hand():
    for seed in range(12):
        rng = np.random.default_rng([seed, 8])
        game = (KUHN, KUHN3, RandomGame(seed, 3, depth=5, payoffs="general", most=120))[seed % 3]
        tree = tree_of(game)
        parts = partition(game, from_dict(stitch_naive.random_partition(game, rng, 2)))
        chosen = {(i, j): random_profile(tree, rng) for j in range(parts.parts + 1) for i in parts.seats_in(j)}
        joined = join(random_profile(tree, rng), parts, chosen)
        numbers = parts_of(parts)
        expected = {key: naive.as_dict(chosen[key[0], part])[key] for key, part in numbers.items()}
        assert naive.as_dict(joined) == expected
        check_values(game, joined)


def test_dynamic_experts_by_the_definition():
    coarse, fine = kuhn_buckets(KUHN3, ("JQ", "KA")), kuhn_buckets(KUHN3, ("J", "Q", "KA"))
    parts = stitch_naive.prefix_parts(KUHN3, [["bet"], ["pass", "bet"]])
    built = dynamic(KUHN3, "prefix(b, pb)", ["JQ.KA", "null", "J.Q.KA"], iterations=12)
    close(built, stitch_naive.dynamic(KUHN3, parts, [coarse, None, fine], 12))
    twin = stitch_naive.dynamic_game(KUHN3, parts, [coarse, None, fine])
    assert built.meta["stitch"]["size"] == len(naive.offers(twin))
    by_name = dynamic(KUHN3, "prefix(b, pb)", {"pb": "J.Q.KA", "base": "JQ.KA"}, iterations=12)
    assert same(by_name, built) and by_name.meta["abstraction"] == built.meta["abstraction"] == "JQ.KA"
    assert by_name.meta["stitch"]["abstractions"] == ["JQ.KA", "null", "J.Q.KA"]
    for seed in range(10):
        rng = np.random.default_rng([seed, 9])
        game = RandomGame(seed, 2 + seed % 2, depth=5, payoffs="general", most=120)
        numbers = stitch_naive.random_partition(game, rng, 2)
        found = partition(game, from_dict(numbers))
        buckets = [stitch_naive.random_buckets(game, rng) for _ in range(found.parts + 1)]
        ours = [lambda seat, infoset, b=b: b((seat, infoset)) for b in buckets]
        built = dynamic(game, found, ours, iterations=9)
        close(built, stitch_naive.dynamic(game, numbers, buckets, 9))
        check_values(game, built)


def test_rebuilding_the_base_by_the_definition():
    for game, source, name, ranks in (
        (KUHN, "prefix(b)", "JQ.K", ("JQ", "K")), (KUHN3, "prefix(pp)", "JQ.KA", ("JQ", "KA")),
    ):  # fmt: skip
        stitched = random_profile(tree_of(game), np.random.default_rng(4))
        parts = partition(game, source)
        plain = naive.as_dict(stitched)
        for given, bucket in ((name, kuhn_buckets(game, ranks)), (None, None)):  # None: the profile's own, null
            built = rebuild_base(game, stitched, source, given, iterations=12)
            close(built, stitch_naive.rebuilt(game, plain, parts_of(parts), bucket, 12))
        assert built.meta["stitch"]["kind"] == "rebuilt base" and built.meta["base"]["sha256"] == stitched.sha256
    whole = rebuild_base(KUHN, stitched := random_profile(tree_of(KUHN), np.random.default_rng(5)), "private()", "JQ.K")
    assert same(whole, stitched)  # there is no part 0
    plain = rebuild_base(KUHN, stitched, lambda seat, infoset: 0, iterations=20)
    assert same(plain, kibitz.solve(KUHN, "cfr+", iterations=20))  # there is nothing else
