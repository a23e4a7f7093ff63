"""Stitching: partitions, static and dynamic experts, against their definitions and the papers' theorem."""

from __future__ import annotations

import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
import stitch_naive
from random_games import Nested, RandomGame, choice, end

import kibitz
from kibitz.core.errors import GameError, KibitzError, SolverError, SpecError
from kibitz.evaluate import best_response, nash_conv, value
from kibitz.forms.abstraction import abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.tree import tree_of
from kibitz.stitch import Limit, cohere, dynamic, experts, join, partition, rebuild_base, size_of_dynamic, static
from kibitz.stitch.columns import seed_of
from kibitz.stitch.experts import side_by_side

KUHN, KUHN3 = kibitz.game("kuhn"), kibitz.game("kuhn(players=3)")
LEDUC, PLAIN = kibitz.game("leduc"), kibitz.game("leduc(suit_isomorphism=true)")
PREFIXES = "prefix(r,cr,ccr,cccr)"
PREFIXES3 = "prefix(r,cr,ccr,cccr,ccccr,cccccr)"


def keys_of(infosets):
    return [
        (seat, infosets.labels[i])
        for seat in range(infosets.seats)
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1])
    ]


def parts_of(found):
    """A Partition as {key: part}."""
    return dict(zip(keys_of(found.infosets), found.part.tolist(), strict=True))


def from_dict(plain):
    """{key: anything} as a function (seat, infoset), for `partition` and `abstraction`."""
    return lambda seat, infoset: plain[seat, infoset]


def random_profile(tree, rng, pure=0.0):
    """A random profile; a share of its rows plays one action only."""
    weights, first = rng.random(int(tree.infosets.first[-1])), tree.infosets.first
    for i in np.flatnonzero(rng.random(len(first) - 1) < pure):
        weights[first[i] : first[i + 1]] = np.eye(int(first[i + 1] - first[i]))[rng.integers(first[i + 1] - first[i])]
    return Profile(tree.infosets, normalise(weights, tree.infosets), {"tree": tree.digest, "abstraction": "null"})


def same(one, other):
    return one.probabilities.tobytes() == other.probabilities.tobytes()


def close(profile, plain, tolerance=1e-9):
    """A Profile against a naive one."""
    found = naive.as_dict(profile)
    assert found.keys() == plain.keys()
    worst = max((abs(found[key][a] - p) for key, row in plain.items() for a, p in row.items()), default=0.0)
    assert worst <= tolerance, worst


def kuhn_buckets(game, groups):
    """key -> bucket of Kuhn poker from the cards."""
    found, ranks = {}, "JQKA"
    for _, state in naive.walk(game):
        if game.turn(state) >= 0:
            rank = ranks[state.cards[game.turn(state)]]
            found[game.turn(state), game.infoset(state)] = (next(g for g in groups if rank in g), state.done)
    return found.__getitem__


@pytest.fixture(scope="module")
def tree3():
    return tree_of(kibitz.game("leduc(players=3)"))


@pytest.fixture(scope="module")
def jq_k():
    """The equilibrium of JQ.K in Leduc that the programme finds."""
    return kibitz.solve(LEDUC, "lp", abstraction="JQ.K")


# Sizes, before anything is solved


def test_sizes_for_two(jq_k):
    assert size_of_dynamic(LEDUC, PREFIXES, ["JQ.K", "suits"]) == 444
    each = experts(LEDUC, jq_k, PREFIXES, "each", "suits")
    assert max(e.size for e in each) == 226
    every = experts(LEDUC, jq_k, PREFIXES, "all", "suits")
    assert max(e.size for e in every) == 186
    assert [(e.name, e.seats, e.keeps) for e in every] == [(n, (0, 1), (0, 1)) for n in ("r", "cr", "ccr", "cccr")]
    assert [(e.part, e.seats, e.keeps) for e in each] == [(j, (i,), (i,)) for j in (1, 2, 3, 4) for i in (0, 1)]
    assert max(e.size for e in experts(LEDUC, jq_k, "prefix(r,cr)", "all", "suits")) == 186
    # The same by the definition.
    fine, coarse = stitch_naive.leduc_buckets(LEDUC, "suits"), stitch_naive.leduc_buckets(LEDUC, ("JQ", "K"))
    parts = stitch_naive.prefix_parts(LEDUC, [["call"] * k + ["raise"] for k in range(4)])
    base = naive.as_dict(jq_k)
    counted = naive.count(stitch_naive.dynamic_game(LEDUC, parts, [coarse, fine, fine, fine, fine]))
    assert counted["infosets"] == 444
    for expert in (each[0], each[5], every[1], every[3]):
        game = stitch_naive.expert_game(LEDUC, base, parts, expert.part, expert.seats, fine, coarse, fine)
        assert naive.count(game)["infosets"] == expert.size
        assert stitch_naive.written_tree(expert.game.tree) == stitch_naive.written(game)


@pytest.mark.slow
def test_sizes_for_three(tree3):
    parts = partition(tree3, PREFIXES3)
    assert abstraction(tree3, "J.QK").rows == 1890
    assert size_of_dynamic(tree3, parts, ["J.QK", "suits"]) == 6903
    base = kibitz.solve(tree3, "cfr+", abstraction="J.QK", iterations=1)
    assert base.meta["size"] == 1890
    assert max(e.size for e in experts(tree3, base, parts, "each", "suits")) == 3021
    assert max(e.size for e in experts(tree3, base, parts, "all", "suits")) == 2145
    # |S| = 2 lies between.
    assert 2145 < max(e.size for e in experts(tree3, base, parts, [[0, 1], [1, 2], [2, 0]], "suits")) < 3021


def test_an_opponent_in_the_base_abstraction_knows_no_more_than_that(jq_k):
    """[Waugh et al. 2009]: a graft for each card, against an opponent in the base abstraction. The opponent's buckets
    are not cut where the partition would cut them: it has the 66 rows of JQ.K, and the graft one card's 78 of suits."""
    for seats, built in itertools.groupby(
        experts(LEDUC, jq_k, "private(J,Q,K)", "each", "suits", opponents="JQ.K"), lambda e: e.seats
    ):
        for expert in built:
            counts = np.diff(expert.game.tree.infosets.seat_start)
            assert counts[seats[0]] == 78 and counts[1 - seats[0]] == 66
    fine, coarse = stitch_naive.leduc_buckets(LEDUC, "suits"), stitch_naive.leduc_buckets(LEDUC, ("JQ", "K"))
    parts = parts_of(partition(LEDUC, "private(J,Q,K)"))
    first = experts(LEDUC, jq_k, "private(J,Q,K)", [[0]], "suits", opponents="JQ.K")[0]
    game = stitch_naive.expert_game(LEDUC, naive.as_dict(jq_k), parts, 1, (0,), fine, coarse, coarse)
    assert stitch_naive.written_tree(first.game.tree) == stitch_naive.written(game)


# Partitions


def test_prefixes_by_the_definition():
    raises = [["call"] * k + ["raise"] for k in range(4)]
    expected = stitch_naive.prefix_parts(LEDUC, raises)
    for source in (PREFIXES, " prefix( r , cr,ccr, cccr ) ", "prefix(raise, call.raise, c.c.r, call.call.call.raise)"):
        found = partition(LEDUC, source)
        assert parts_of(found) == expected and found.parts == 4 and found.names[0] == "base"
    assert stitch_naive.is_grafting(LEDUC, expected)
    assert partition(LEDUC, PREFIXES).names == ("base", "r", "cr", "ccr", "cccr")
    assert parts_of(partition("leduc", "prefix(rrc)")) == stitch_naive.prefix_parts(LEDUC, [["raise", "raise", "call"]])
    assert parts_of(partition(KUHN3, "prefix(pb, pp)")) == stitch_naive.prefix_parts(
        KUHN3, [["pass", "bet"], ["pass", "pass"]]
    )
    for tree in (LEDUC, tree_of(LEDUC), "leduc"):
        assert partition(tree, "prefix(r)").seats_in(1) == [0, 1]
    assert partition(KUHN3, "prefix(b)").seats_in(1) == [1, 2] and partition(KUHN, "prefix(b)").seats_in(1) == [1]


def test_prefixes_of_bids():
    dice = kibitz.game("liars_dice(dice_sides=3)")
    lists = [["1-2"], ["1-1", "2-1"]]
    assert parts_of(partition(dice, "prefix(1-2, 1-1.2-1)")) == stitch_naive.prefix_parts(dice, lists)
    ones = stitch_naive.prefix_parts(dice, [["1-1"], ["1-2"], ["1-3"]])
    assert parts_of(partition(dice, "prefix(1)")) == {key: min(part, 1) for key, part in ones.items()}


def test_a_step_is_the_action_of_that_name_before_those_that_begin_with_it():
    below = [choice(1, name, end(1, -1), end(0, 0)) for name in ("one", "two", "three")]  # actions a and b

    def parts(source, *names):
        game = Nested(2, (0, "x", tuple(zip(names, below, strict=True))))
        return [parts_of(partition(game, source))[1, name] for _, name, _ in below]

    assert parts("prefix(r)", "r", "raise", "reraise") == [1, 0, 0]
    assert parts("prefix(raise, reraise)", "r", "raise", "reraise") == [0, 1, 2]
    assert parts("prefix(r)", "raise", "reraise", "call") == [1, 1, 0]
    assert parts("prefix(raise, r)", "raise", "r", "call") == [1, 2, 0]
    with pytest.raises(SpecError, match=r"'raise' and 'r' of .* overlap"):
        parts("prefix(raise, r)", "raise", "reraise", "call")


def test_private_parts():
    found = partition(LEDUC, "private(J, Q, K)")
    assert found.names == ("base", "J", "Q", "K")
    assert parts_of(found) == {key: "JQK".index(key[1][0]) + 1 for key in parts_of(found)}
    assert set(partition(LEDUC, "private()").names) == {"base", "J", "Q", "K"}
    flop = parts_of(partition(LEDUC, "private(K, round=2)"))
    assert flop == {key: int(key[1][0] == "K" and "/" in key[1]) for key in flop}
    assert partition("liars_dice(dice_sides=3)", "private(1, 3)").names == ("base", "1", "3")
    dice = parts_of(partition("liars_dice(dice_sides=3)", "private(1, 3)"))
    assert dice == {key: {"1": 1, "2": 0, "3": 2}[key[1][0]] for key in dice}
    for game, source in ((LEDUC, "private(J, Q, K)"), (LEDUC, "private(K, round=2)"), (KUHN3, "private()")):
        assert stitch_naive.is_grafting(game, parts_of(partition(game, source)))


def test_functions_and_empty_parts():
    found = partition(LEDUC, lambda seat, infoset: 2 * ("r" in infoset.partition(":")[2]))
    assert found.parts == 2 and found.seats_in(1) == [] and found.seats_in(2) == [0, 1]
    assert partition(LEDUC, lambda seat, infoset: np.int64(0)).parts == 0
    base = kibitz.solve(LEDUC, "cfr+", abstraction="JQ.K", iterations=2)
    assert {e.part for e in experts(LEDUC, base, found)} == {2}
    assert same(static(LEDUC, base, lambda seat, infoset: 0, iterations=2), base)


def test_condition_three_by_the_definition():
    """Random maps from infosets to parts are taken exactly if the definition takes them."""
    kinds = {True: 0, False: 0}
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        game = RandomGame(seed, 1 + seed % 3, depth=5, recall=("perfect", "past")[seed % 2], most=80)
        parts = {key: int(rng.integers(3)) * int(rng.random() < 0.6) for key in naive.offers(game)}
        good = stitch_naive.is_grafting(game, parts)
        kinds[good] += 1
        if good:
            assert parts_of(partition(game, from_dict(parts))) == parts
        else:
            with pytest.raises(GameError, match="condition 3"):
                partition(game, from_dict(parts))
    assert min(kinds.values()) > 10


def long_game():
    """One seat decides four times in a row."""
    return Nested(2, choice(0, "one", choice(0, "two", choice(0, "three", choice(0, "four", end(1, -1)), end(0, 0)))))


def test_condition_three_names_where_it_breaks():
    parts = {"one": 0, "two": 1, "three": 0, "four": 2}
    with pytest.raises(GameError, match=r"after infoset 'two' in part '1' .* 'four' in part '2' \(condition 3"):
        partition(long_game(), lambda seat, infoset: parts[infoset])
    partition(long_game(), lambda seat, infoset: {"one": 0, "two": 1, "three": 0, "four": 1}[infoset])
    with pytest.raises(GameError, match="after infoset 'J:' in part '1' play comes to 'J:pb' in part '2'"):
        partition(KUHN, lambda seat, infoset: 1 + ("b" in infoset) if infoset[0] == "J" else 0)


def hidden_game():
    """Seat 1 does not see what seat 0 did."""
    blind = [choice(1, "blind", end(1, -1), end(0, 0)) for _ in range(2)]
    return Nested(2, choice(0, "x", *blind))


def test_condition_two_names_the_infoset_that_is_cut():
    with pytest.raises(GameError, match=r"infoset 'blind' is cut by 'prefix\(a\)'.*condition 2"):
        partition(hidden_game(), "prefix(a)")
    goofspiel = kibitz.game("goofspiel(num_cards=3, imp_info=true, points_order=descending)")
    assert -1 in stitch_naive.prefix_parts(goofspiel, [["1", "2"]]).values()
    with pytest.raises(GameError, match="condition 2"):
        partition(goofspiel, "prefix(12)")


@pytest.mark.parametrize(
    ("game", "source", "words"),
    [
        (LEDUC, "", "cannot read the partition ''"),
        (LEDUC, "prefix", "cannot read the partition 'prefix'"),
        (LEDUC, "prefix(r", "cannot read"),
        (LEDUC, "suffix(r)", "cannot read"),
        (LEDUC, "prefix()", "names no actions"),
        (LEDUC, "prefix(r, x)", "'x': no action begins with 'x'; the game has call, fold, raise"),
        (LEDUC, "prefix(call.)", "no action begins with ''"),
        (LEDUC, "prefix(.r)", "no action begins with ''"),
        (LEDUC, "prefix(callraise)", "no action begins with 'a'"),
        (LEDUC, "prefix(r, r)", "'r' and 'r' of .* overlap"),
        (LEDUC, "prefix(c, cr)", "'c' and 'cr' of .* overlap"),
        (LEDUC, "prefix(ccr, c)", "'ccr' and 'c' of .* overlap"),
        (LEDUC, "prefix(cr, call.raise)", "'cr' and 'call.raise' of .* overlap"),
        (LEDUC, "prefix(c, call.raise)", "'c' and 'call.raise' of .* overlap"),
        ("liars_dice(dice_sides=3)", "prefix(1, 1-2)", "'1' and '1-2' of .* overlap"),
        (LEDUC, "prefix(rf)", "there is no decision after 'rf'"),
        (LEDUC, "prefix(f)", "there is no decision after 'f'"),
        (LEDUC, "prefix(r, rrrr)", "overlap"),
        (LEDUC, "prefix(rrr)", "there is no decision after 'rrr'"),
        (LEDUC, "private(A)", "no seat ever holds 'A'; they hold J, K, Q"),
        (LEDUC, "private(J, J)", "a name is given twice"),
        (LEDUC, "private(J, round=x)", "the only option is round=NUMBER"),
        (LEDUC, "private(J, turn=2)", "the only option is round=NUMBER"),
        (LEDUC, "private(J, round=3)", "there is no decision in part 'J'"),
        ("goofspiel(num_cards=3)", "private()", r"games with a method private\(infoset\)"),
        (long_game(), "private(x)", r"use a function \(seat, infoset\) -> part"),
        (LEDUC, 5, r"a partition is prefix\(...\), private\(...\), or a function"),
        (LEDUC, None, "a partition is prefix"),
        (LEDUC, lambda seat, infoset: -1, "gives -1 for infoset 'Js:': use 0, 1, 2"),
        (LEDUC, lambda seat, infoset: "1", "gives '1' for infoset 'Js:'"),
        (LEDUC, lambda seat, infoset: None, "gives None for infoset 'Js:'"),
        (LEDUC, lambda seat, infoset: 0.5, "gives 0.5 for infoset 'Js:'"),
    ],
)
def test_partitions_that_make_no_sense(game, source, words):
    with pytest.raises(SpecError, match=words):
        partition(game, source)


# What does not change


def test_joining_the_base_with_itself_gives_it_back():
    for game, source in ((LEDUC, PREFIXES), (KUHN, "private()"), (KUHN3, "prefix(p, b)")):
        tree, parts = tree_of(game), partition(game, source)
        base = random_profile(tree, np.random.default_rng(1))
        chosen = {(i, j): base for j in range(parts.parts + 1) for i in parts.seats_in(j)}
        joined = join(base, parts, chosen)
        assert same(joined, base) and same(join(base, parts, {}), base)
        other = random_profile(tree, np.random.default_rng(2))
        mixed = join(base, parts, {(i, j): other for i, j in chosen if (i, j) == (1, 1)})
        plain, ours, theirs = (naive.as_dict(p) for p in (mixed, base, other))
        numbers = parts_of(parts)
        assert plain == {k: theirs[k] if k[0] == 1 and numbers[k] == 1 else ours[k] for k in plain}
        assert mixed.meta["stitch"]["kind"] == "join" and mixed.meta["base"]["sha256"] == base.sha256


def test_a_part_that_holds_everything_is_the_plain_solve():
    """S=N and one part with all decisions: nothing is frozen."""
    for game in (KUHN, KUHN3, PLAIN):
        base = random_profile(tree_of(game), np.random.default_rng(3))
        stitched = static(game, base, lambda seat, infoset: 1, "all", iterations=30)
        assert same(stitched, kibitz.solve(game, "cfr+", iterations=30))
        coarse = static(game, base, lambda seat, infoset: 1, "all", inside="J.QK" if game != KUHN3 else "J.QKA",
                        iterations=30)  # fmt: skip
        name = "J.QK" if game != KUHN3 else "J.QKA"
        assert same(coarse, kibitz.solve(game, "cfr+", abstraction=name, iterations=30))


def everywhere(seat, infoset):
    """A bucket that forgets the betting: it reaches from one part into the others."""
    cards, _, done = infoset.partition(":")
    last = done.replace("/", "")[-2:]
    return cards[:1], "/" in done, last


@pytest.mark.parametrize("source", ["null", "suits", "JQ.K", "JQ.K(recall=false)", "JQ.K(without=[raise])", everywhere])
def test_one_abstraction_in_all_parts_is_the_abstract_solve(source):
    if source is everywhere:
        offered = naive.offers(PLAIN)
        table = {key: (*everywhere(*key), tuple(actions)) for key, actions in offered.items()}
        source = from_dict(table)
    plain = kibitz.solve(PLAIN, "cfr+", abstraction=source, iterations=25)
    ready = abstraction(PLAIN, source)
    named = dict.fromkeys(("base", "r", "cr", "ccr", "cccr"), source)
    for given in ([source] * 5, [source, source], named, [ready] * 5, [ready, source]):
        stitched = dynamic(PLAIN, PREFIXES, given, iterations=25)
        assert stitched.sha256 == plain.sha256
        assert stitched.meta["abstraction"] == plain.meta["abstraction"] == ready.name
    size = len(naive.offers(stitch_naive.Derived(
        PLAIN, lambda key: ready.row[ready.infosets.find(*key)],
        dropped={(key, "raise") for key, a in naive.offers(PLAIN).items() if "without" in ready.name and "raise" in a},
    )))  # fmt: skip
    assert size_of_dynamic(PLAIN, PREFIXES, [source] * 5) == size


def test_experts_that_are_not_asked_for_keep_the_base():
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=20)
    parts = partition(PLAIN, "prefix(cr, ccr)")
    numbers, before = parts_of(parts), naive.as_dict(base)
    for seats, kept in (("each", {0, 1}), ("all", {0, 1}), ([1], {1}), ([[0, 1]], {0}), ([[1, 0]], {1}), ([[0]], {0})):
        after = naive.as_dict(static(PLAIN, base, parts, seats, iterations=20))
        for key, row in after.items():
            inside = numbers[key] > 0 and key[0] in kept
            assert inside or row == before[key]
        assert any(after[key] != before[key] for key in after if numbers[key] == 1)


# Against the definitions, on random stitched profiles


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


# Theory of grafting, with numbers


@pytest.mark.parametrize("solver", ["lp", "cfr+"])
@pytest.mark.parametrize(
    ("game", "source"),
    [
        (KUHN, "prefix(p, b)"), (KUHN, "private(J, Q, K)"), (PLAIN, PREFIXES), (PLAIN, "private(J, Q, K)"),
        (PLAIN, "private(J, Q, K, round=2)"), (LEDUC, "prefix(r, cr)"),
    ],
)  # fmt: skip
@pytest.mark.some(5)
def test_grafts_in_the_null_abstraction_keep_the_value(game, source, solver):
    """Each graft alone stays an equilibrium strategy; all together get the value against the base's other seat (the
    theorem says no more: several grafts together may be exploitable by others)."""
    tree, parts = tree_of(game), partition(game, source)
    base = kibitz.solve(tree, "lp", abstraction="suits")  # loses nothing
    worth = value(tree, base)
    stitched = static(tree, base, parts, "each", "suits", solver=solver, until=5e-5, iterations=20_000)
    assert value(tree, stitched) == pytest.approx(worth, abs=1e-4)
    for seat in (0, 1):
        mine = {(seat, j): stitched for j in range(1, parts.parts + 1) if seat in parts.seats_in(j)}
        assert value(tree, join(base, parts, mine)) == pytest.approx(worth, abs=1e-4)
        for key in mine:
            alone = join(base, parts, {key: stitched})
            assert best_response(tree, alone, 1 - seat).value == pytest.approx(worth[1 - seat], abs=1e-4)


def bases():
    tree = tree_of(PLAIN)
    uniform = Profile(tree.infosets, form_of(tree).uniform(), {"tree": tree.digest, "abstraction": "null"})
    found = {"uniform": uniform, "random": random_profile(tree, np.random.default_rng(11), pure=0.2)}
    return found | {name: kibitz.solve(tree, "lp", abstraction=name) for name in ("JQ.K", "J.QK", "J.Q.K")}


def seat_from(tree, one, other, seat):
    """`one` with a seat's strategy from `other`."""
    start, first = tree.infosets.seat_start, tree.infosets.first
    probabilities = one.probabilities.copy()
    where = slice(first[start[seat]], first[start[seat + 1]])
    probabilities[where] = other.probabilities[where]
    return Profile(tree.infosets, probabilities, {"tree": tree.digest})


@pytest.mark.parametrize("source", [PREFIXES, "prefix(rr, cc)", "private(J, Q, K)", "private(Q, K, round=2)"])
@pytest.mark.parametrize(("solver", "limit"), [("lp", 1), ("cfr+", 12)])
@pytest.mark.some(3)
def test_theorem_one(source, solver, limit):
    """[Waugh et al. 2009, Theorem 1]: against σ2, an ε-best response to the base σ1, the grafted strategy gains the sum
    of what each graft gains alone, and no less than -3pε. The opponent: in null; and (Corollary 1) in the base's
    abstraction, σ2 being the other half of its equilibrium."""
    tree, parts = tree_of(PLAIN), partition(PLAIN, source)
    for (name, base), seat in itertools.product(bases().items(), (0, 1)):
        answers = [("null", best_response(tree, base, 1 - seat).profile)]
        if name not in ("uniform", "random"):
            answers.append((name, base))
        for space, answer in answers:
            gaps = []
            stitched = static(
                tree, base, parts, [[seat]], "null", space, space, solver=solver, iterations=limit, jobs=1,
                on_expert=lambda expert, profile, gaps=gaps: gaps.append(nash_conv(expert.game.tree, profile)),
            )  # fmt: skip
            before = seat_from(tree, base, answer, 1 - seat)
            worth = value(tree, before)[seat]
            grafted = seat_from(tree, stitched, answer, 1 - seat)
            gain = value(tree, grafted)[seat] - worth
            grafts = [join(before, parts, {(seat, j): stitched}) for j in range(1, parts.parts + 1)]
            gains = [value(tree, graft)[seat] - worth for graft in grafts]
            assert gain == pytest.approx(sum(gains), abs=1e-12)
            assert len(gaps) == parts.parts
            assert gain >= -3 * parts.parts * max(gaps) - 1e-9, (name, seat, space)
            assert all(g >= -3 * gap - 1e-9 for g, gap in zip(gains, gaps, strict=True))
            if solver == "lp" and name in ("random", "uniform"):
                assert gain > 0.1  # a bad base is improved for certain
    # The same utilities by hand, for the last of them.
    for profile in (before, grafted, grafts[0]):
        np.testing.assert_allclose(value(tree, profile), naive.value(PLAIN, naive.as_dict(profile)), atol=1e-12)
    rows = [naive.as_dict(p) for p in (before, grafted, *grafts)]
    by_hand = [naive.value(PLAIN, row)[seat] for row in rows]
    assert by_hand[1] - by_hand[0] == pytest.approx(sum(x - by_hand[0] for x in by_hand[2:]), abs=1e-12)


def test_experts_earn_more_than_the_base():
    """Held in 24 of 24 starts: Dynamic and S={i} are less exploitable than Base, for JQ.K and J.QK."""
    tree = tree_of(LEDUC)
    for name in ("JQ.K", "J.QK"):
        base = kibitz.solve(tree, "cfr+", abstraction=name, until=1e-4)
        grafted = static(tree, base, PREFIXES, "each", "suits", until=1e-3)
        together = dynamic(tree, PREFIXES, [name, "suits"], until=1e-3)
        gaps = [nash_conv(tree, p) for p in (together, grafted, base)]
        assert max(gaps[:2]) < gaps[2]


# Beyond poker


def stitch_every_way(game, source, outside, seats, rounds=2):
    """All kinds of stitching on a game: the profiles, checked to be distributions and measured in the real game."""
    tree = tree_of(game)
    base = kibitz.solve(game, "cfr+", iterations=8, abstraction=outside)
    parts = partition(game, source)
    found = {"base": base}
    for how in seats:
        found[str(how)] = static(game, base, parts, how, outside=outside, iterations=8)
    found["dynamic"] = dynamic(game, parts, [outside, "null"] if parts.parts else [outside], iterations=8)
    found["rebuilt"] = rebuild_base(game, found[str(seats[0])], parts, outside, iterations=8)
    gaps = []
    found["coherent"] = cohere(game, base, parts, rounds, lambda number, gap: gaps.append(gap), seats=seats[0],
                               outside=outside, iterations=8)  # fmt: skip
    for name, profile in found.items():
        sums = np.bincount(tree.infosets.row_of_column, profile.probabilities)
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-9, err_msg=name)
        assert np.isfinite(nash_conv(tree, profile)) and profile.meta["tree"] == tree.digest
    assert 1 <= len(gaps) <= rounds
    assert nash_conv(tree, found["coherent"]) == pytest.approx(min(*gaps, nash_conv(tree, base)), abs=1e-12)
    # The experts leave part 0 alone, the rebuilt base leaves the experts alone.
    zero = (parts.part == 0)[tree.infosets.row_of_column]
    for how in seats:
        assert found[str(how)].probabilities[zero].tobytes() == base.probabilities[zero].tobytes()
    assert found["rebuilt"].probabilities[~zero].tobytes() == found[str(seats[0])].probabilities[~zero].tobytes()
    return found


THREE = ["each", "all", [0, 2], [[0, 1], [1, 2], [2, 0]]]


def own_first_card(seat, infoset):
    """Goofspiel: the seat's own first bid, from the second round on."""
    rounds = infoset.split()[1:-1]
    return int(rounds[0].partition(":")[2].split("-")[seat]) if rounds else 0


def pairs(seat, infoset):
    """Buckets for Liar's Dice: the two lower faces are alike."""
    dice, _, bids = infoset.partition(":")
    return min(dice, "2") if dice < "3" else dice, bids


def test_three_player_kuhn_by_prefix():
    found = stitch_every_way(KUHN3, "prefix(p)", "JQ.KA", THREE)
    tree = tree_of(KUHN3)
    assert len({found[str(how)].sha256 for how in THREE}) == 4
    plain = naive.as_dict(found["[0, 2]"])
    np.testing.assert_allclose(value(tree, found["[0, 2]"]), naive.value(KUHN3, plain), atol=1e-12)


def test_three_player_leduc_by_prefix(tree3):
    base = kibitz.solve(tree3, "cfr+", abstraction="J.QK", iterations=2)
    for seats in ([0, 2], [[0, 1], [1, 2], [2, 0]]):
        stitched = static(tree3, base, "prefix(r, cr)", seats, "suits", iterations=2)
        assert np.isfinite(nash_conv(tree3, stitched))
        assert stitched.meta["stitch"]["seats"] == seats
        assert stitched.meta["stitch"]["experts"] == (2 if seats == [0, 2] else 6)


def test_liars_dice_by_bids():
    stitch_every_way(kibitz.game("liars_dice(dice_sides=3)"), "prefix(1-1, 1-2, 2)", pairs, ["each", "all", [0, 1]])
    stitch_every_way(kibitz.game("liars_dice(dice_sides=4)"), "prefix(1-1.1-2, 1-3)", pairs, ["each"], rounds=1)


def test_goofspiel_by_the_first_card():
    game = kibitz.game("goofspiel(num_cards=4, points_order=descending)")
    parts = partition(game, own_first_card)
    assert parts.parts == 4 and parts.part[0] == 0
    stitch_every_way(game, own_first_card, "null", ["each", "all"], rounds=1)
    three = kibitz.game("goofspiel(players=3, num_cards=3, points_order=descending)")
    stitch_every_way(three, own_first_card, "null", THREE, rounds=1)


def test_games_of_openspiel():
    pytest.importorskip("pyspiel")

    def low(seat, infoset):
        return infoset.replace("0", "1", 1) if infoset.startswith("0") else infoset

    theirs = kibitz.game("openspiel:kuhn_poker")
    found = stitch_every_way(theirs, "prefix(P)", low, ["each", "all"])
    # It is the same game: the same numbers come out of ours.
    ours = static(KUHN, kibitz.solve(KUHN, "cfr+", abstraction="JQ.K", iterations=8), "prefix(p)", iterations=8)
    assert nash_conv(theirs, found["each"]) == pytest.approx(nash_conv(KUHN, ours), abs=1e-9)
    assert value(theirs, found["each"]) == pytest.approx(value(KUHN, ours), abs=1e-9)


def test_leduc_of_openspiel():
    pytest.importorskip("pyspiel")
    theirs, ours = kibitz.game("openspiel:leduc_poker"), LEDUC
    tree = tree_of(theirs)
    base = kibitz.solve(theirs, "cfr+", iterations=5)
    assert [e.size for e in experts(theirs, base, "prefix(R, CR, CCR, CCCR)", "all")] == [
        e.size for e in experts(ours, kibitz.solve(ours, "cfr+", iterations=1), PREFIXES, "all")
    ]
    stitched = static(theirs, base, "prefix(Raise, Call.Raise)", "each", outside="null", iterations=5)
    same_here = static(ours, kibitz.solve(ours, "cfr+", iterations=5), "prefix(r, cr)", "each", outside="null",
                       iterations=5)  # fmt: skip
    np.testing.assert_allclose(value(tree, stitched), value(ours, same_here), rtol=0, atol=1e-9)
    assert nash_conv(tree, stitched) == pytest.approx(nash_conv(ours, same_here), abs=1e-9)


def test_dynamic_experts_as_a_base():
    """ "One possibility is to use a dynamic expert strategy as a base strategy of a static expert strategy"."""
    base = dynamic(PLAIN, "prefix(r)", ["JQ.K", "suits"], iterations=20)
    stitched = static(PLAIN, base, "prefix(r, cr)", iterations=20)
    assert stitched.meta["base"]["stitch"]["kind"] == "dynamic" and stitched.meta["abstraction"] == "JQ.K"
    again = static(PLAIN, stitched, "private(K)", iterations=5)
    assert again.meta["base"]["stitch"]["partition"] == "prefix(r, cr)"


def test_cohesion_does_no_harm():
    base = kibitz.solve(PLAIN, "lp")
    equilibrium = cohere(PLAIN, base, "prefix(r, cr)", rounds=2, outside="null", iterations=3)
    assert nash_conv(PLAIN, equilibrium) <= nash_conv(PLAIN, base) + 1e-15
    assert same(cohere(PLAIN, base, "prefix(r)", rounds=0), base)
    coarse = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", until=1e-3)
    gaps = []
    better = cohere(PLAIN, coarse, PREFIXES, 3, lambda number, gap: gaps.append((number, gap)), until=1e-3)
    assert [number for number, _ in gaps] == list(range(len(gaps)))
    assert nash_conv(PLAIN, better) == min(gap for _, gap in gaps) < nash_conv(PLAIN, coarse)


# Errors


def test_bases_that_do_not_fit():
    base = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction="null")
    for call in (static, experts, rebuild_base):
        source = "prefix(r)"
        with pytest.raises(GameError, match="the base does not fit the game: it lacks infoset 'Jh:'"):
            call(LEDUC, base, source)
    same_names = kibitz.solve("leduc(ante=2)", "cfr+", iterations=1, abstraction="JQ.K")
    with pytest.raises(GameError, match="it was made for another game"):
        static(LEDUC, same_names, "prefix(r)", iterations=1)
    with pytest.raises(GameError, match="must be a profile"):
        static(KUHN, None, "prefix(p)", iterations=1)
    broken = base.replaced(np.where(np.arange(24) == base.infosets.first[2], np.nan, base.probabilities))
    with pytest.raises(GameError, match=f"no probability distribution at infoset '{base.infosets.labels[2]}'"):
        static(KUHN, broken, "prefix(p)", iterations=1)
    with pytest.raises(GameError, match="no probability distribution at infoset 'J:'"):
        static(KUHN, base.replaced(base.probabilities * 0.5), "prefix(p)", iterations=1)
    by_hand = Profile(tree_of(KUHN).infosets, base.probabilities.copy())  # says nothing of itself, but fits
    assert same(static(KUHN, by_hand, "prefix(p)", outside="null", iterations=3),
                static(KUHN, base, "prefix(p)", iterations=3))  # fmt: skip


@pytest.mark.parametrize(
    ("seats", "words"),
    [
        ("both", "use 'each'"), (5, "use 'each'"), (None, "use 'each'"), ([], "use 'each'"), ([[]], "use 'each'"),
        ([[0], []], "use 'each'"), ("", "use 'each'"), ([0, [1]], "mixes seats and lists of seats"),
        ([0, 0], "different numbers from 0 to 2"), ([3], "different numbers from 0 to 2"), ([-1], "different numbers"),
        ([0.5], "different numbers"), (["a"], "different numbers"), ([True], "different numbers"),
        ([[0, 3]], "different numbers"), ([[0, 1], [0, 2]], "builds the same seat's part twice"),
    ],
)  # fmt: skip
def test_seats_that_make_no_sense(seats, words):
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    with pytest.raises(SolverError, match=words):
        static(KUHN3, base, "prefix(p)", seats, iterations=1)


def test_seats_as_numpy_numbers(tmp_path):
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    stitched = static(KUHN3, base, "prefix(p)", np.array([0, 2]), iterations=1)
    assert same(stitched, static(KUHN3, base, "prefix(p)", [0, 2], iterations=1))
    stitched.save(tmp_path / "numbers.profile")


def test_a_seat_without_a_decision_there():
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    for seats in ([0], [[0, 1]]):
        with pytest.raises(GameError, match="seat 0 decides nothing in part 'b': no expert can be built for it"):
            static(KUHN3, base, "prefix(b)", seats, iterations=1)
    # Of several seats to keep some may decide nothing there: there is nothing to keep for them.
    assert [(e.seats, e.keeps) for e in experts(KUHN3, base, "prefix(b)", [0, 2])] == [((0, 2), (2,))]
    hybrid = experts(KUHN3, base, "prefix(b)", [[0, 1], [1, 2], [2, 0]])
    assert [(e.seats, e.keeps) for e in hybrid] == [((1, 2), (1,)), ((2, 0), (2,))]
    mixed = experts(KUHN3, base, "prefix(b, pb)", [[0, 1], [1, 2], [2, 0]])
    assert [(e.part, e.keeps) for e in mixed] == [(1, (1,)), (1, (2,)), (2, (0,)), (2, (2,))]
    with pytest.raises(GameError, match="seat 0 decides nothing in part 'b'"):
        experts(KUHN3, base, "prefix(pb, b)", [0])
    # S may hold a seat that decides nothing there [Gibson & Szafron 2011, Fig. 2b]: it is frozen throughout.
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", [[1, 0], [2, 0]])] == [(1,), (2,)]
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", "each")] == [(1,), (2,)]
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", "all")] == [(1, 2)]
    parts = partition(KUHN3, "prefix(b)")
    with pytest.raises(GameError, match="seat 0 decides nothing in part 'b'"):
        join(base, parts, {(0, 1): base})
    with pytest.raises(GameError, match=r"there is no part 2: parts are 0 to 1 \(base, b\)"):
        join(base, parts, {(0, 2): base})
    other = kibitz.solve(KUHN, "cfr+", iterations=1)
    with pytest.raises(GameError, match="the expert was made for another game"):
        join(base, parts, {(1, 1): other})
    with pytest.raises(GameError, match="the partition was made for another game"):
        join(other, parts, {})


def test_a_base_that_does_not_say_its_abstraction():
    by_function = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction=lambda seat, infoset: infoset)
    by_table = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction={})

    def suits(seat, infoset):  # a function may have any name: it is not taken for the abstraction of that name
        return infoset[1:]

    misnamed = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction=suits)
    for base in (by_function, by_table, misnamed):
        with pytest.raises(SolverError, match="give outside=NAME, the abstraction that free opponents play in"):
            static(KUHN, base, "prefix(p)", iterations=1)
        with pytest.raises(SolverError, match="give outside=NAME, the abstraction that part 0 is solved in"):
            rebuild_base(KUHN, base, "prefix(p)", iterations=1)
        static(KUHN, base, "prefix(p)", "all", iterations=1)  # no free opponents: nobody needs it
        static(KUHN, base, "prefix(p)", outside="null", iterations=1)


def test_dropped_actions_of_the_base_are_dropped_outside():
    base = kibitz.solve(PLAIN, "cfr+", iterations=2, abstraction=abstraction(PLAIN, "JQ.K", without=["raise"]))
    assert base.meta["abstraction"] == "JQ.K(without=[raise])"
    expert = experts(PLAIN, base, "prefix(cr)", [[0]], "null")[0]
    # Seat 1 is free; outside the part it never raises, so after a check nobody ever comes into it.
    assert expert.size == len(naive.offers(stitch_naive.Derived(
        PLAIN, stitch_like(base, "JQ.K"), {k: row for k, row in naive.as_dict(base).items() if k[0] == 0
                                           and not k[1].partition(":")[2].startswith("cr")},
        {(key, "raise") for key, a in naive.offers(PLAIN).items()
         if key[0] == 1 and "raise" in a and not key[1].partition(":")[2].startswith("cr")},
    )))  # fmt: skip


def stitch_like(base, name):
    rows = abstraction(tree_of(PLAIN), name)
    return lambda key: key if key[1].partition(":")[2].startswith("cr") else rows.row[rows.infosets.find(*key)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "3 parts need as many abstractions.*not 0"), (["null"], "not 1"), (["null"] * 4, "not 4"),
        ("null", "give a list with one for each of base, r, cr"), (None, "give a list"), (5, "give a list"),
        ({"x": "null"}, "there is no part 'x': parts are base, r, cr"),
        (["null", "null", 7], "a name, a function"), (["null", "nil"], "unknown abstraction 'nil'"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_abstractions(given, words):
    for call in (lambda: dynamic(LEDUC, "prefix(r, cr)", given, iterations=1),
                 lambda: size_of_dynamic(LEDUC, "prefix(r, cr)", given)):  # fmt: skip
        with pytest.raises(KibitzError, match=words):
            call()


def test_partitions_and_abstractions_of_another_game():
    base = kibitz.solve(KUHN, "cfr+", iterations=1, abstraction="null")
    foreign, coarse = partition(LEDUC, "prefix(r)"), abstraction(LEDUC, "JQ.K")
    for call in (
        lambda: static(KUHN, base, foreign, iterations=1), lambda: rebuild_base(KUHN, base, foreign, iterations=1),
        lambda: dynamic(KUHN, foreign, ["null", "null"], iterations=1), lambda: cohere(KUHN, base, foreign),
        lambda: static(KUHN, base, "prefix(p)", inside=coarse, iterations=1),
        lambda: static(KUHN, base, "prefix(p)", outside=coarse, iterations=1),
        lambda: static(KUHN, base, "prefix(p)", opponents=coarse, iterations=1),
        lambda: dynamic(KUHN, "prefix(p)", ["null", coarse], iterations=1),
    ):  # fmt: skip
        with pytest.raises(GameError, match="made for another game"):
            call()
    with pytest.raises(SolverError, match="jobs=0 must be 1 or more"):
        static(KUHN, base, "prefix(p)", iterations=1, jobs=0)


# Artefacts


def test_a_stitched_profile_is_saved_and_measured(tmp_path, jq_k):
    pyspiel = pytest.importorskip("pyspiel")
    tree = tree_of(LEDUC)
    stitched = static(LEDUC, jq_k, PREFIXES, "all", "suits", iterations=20, seed=4)
    said = stitched.meta["stitch"]
    assert said["kind"] == "static" and said["partition"] == PREFIXES and said["seats"] == "all"
    assert said["inside"] == "suits" and said["size"] == 186 and said["experts"] == 4 and said["seed"] == 4
    assert said["solver"] == "cfr+" and said["stop"] == {"iterations": 20} and said["start"] is None
    assert said["outside"] is None and said["opponents"] is None  # S=N: nobody is free
    assert stitched.meta["base"] == {"sha256": jq_k.sha256, "abstraction": "JQ.K"}
    assert stitched.game == "leduc" and stitched.meta["tree"] == tree.digest and stitched.meta["abstraction"] == "JQ.K"
    stitched.save(tmp_path / "stitched.profile")
    loaded = kibitz.load(tmp_path / "stitched.profile")
    assert loaded.sha256 == stitched.sha256
    assert loaded.meta["stitch"] == said and loaded.meta["base"] == stitched.meta["base"]
    assert nash_conv("leduc", loaded) == nash_conv(tree, stitched)
    policy = loaded.to_openspiel("leduc_poker")
    theirs = pyspiel.nash_conv(pyspiel.load_game("leduc_poker"), policy)
    assert theirs == pytest.approx(nash_conv(tree, loaded), abs=1e-9)
    # A loaded profile is a base like any other.
    again, plain = (static(LEDUC, p, "prefix(rr)", iterations=2) for p in (loaded, stitched))
    assert same(again, plain)
    assert rebuild_base("leduc", loaded, PREFIXES, iterations=2).meta["base"]["stitch"] == said
    for other in (dynamic(LEDUC, "prefix(r)", {"r": "suits", "base": "JQ.K"}, iterations=2),
                  join(stitched, partition(LEDUC, PREFIXES), {(0, 1): jq_k})):  # fmt: skip
        other.save(tmp_path / "other.profile")
        assert kibitz.load(tmp_path / "other.profile").meta == other.meta


@pytest.mark.parametrize("seats", ["each", [0], [[1], [0]]])
@pytest.mark.parametrize("given", [{}, {"opponents": "JQ.K", "until": 0.5, "start": "random", "seed": 3}])
def test_a_stitched_profile_says_how_to_build_it_again(jq_k, tmp_path, seats, given):
    static(LEDUC, jq_k, "prefix(r)", seats, "suits", **{"iterations": 6, **given}).save(tmp_path / "x.profile")
    stitched = kibitz.load(tmp_path / "x.profile")
    said = stitched.meta["stitch"]
    assert said["outside"] == "JQ.K" and said["opponents"] == given.get("opponents", "suits")
    again = static(
        stitched.game, jq_k, said["partition"], said["seats"], said["inside"], said["outside"], said["opponents"],
        solver=said["solver"], seed=said["seed"], start=said["start"], **said["stop"],
    )  # fmt: skip
    assert same(again, stitched) and again.meta == stitched.meta
    rebuilt = rebuild_base(LEDUC, stitched, "prefix(r)", iterations=4)
    said = rebuilt.meta["stitch"]
    assert said["outside"] == "JQ.K" and said["stop"] == {"iterations": 4} and said["solver"] == "cfr+"
    joint = dynamic(LEDUC, "prefix(r)", ["JQ.K", "suits"], until=1.0).meta["stitch"]
    assert joint["solver"] == "cfr+" and joint["stop"] == {"until": 1.0} and joint["start"] is None


def test_own_abstractions_are_named_as_such():
    base = kibitz.solve(KUHN, "cfr+", abstraction="null", iterations=2)

    def mine(seat, infoset):
        return infoset

    said = static(KUHN, base, "prefix(p)", "each", mine, iterations=2).meta["stitch"]
    assert (said["inside"], said["outside"], said["opponents"]) == ("own:mine", "null", "own:mine")


def test_seeds_of_experts_are_all_different():
    seeds = {seed_of(seed, number) for seed in (-1, 0, 1, 2, 3) for number in range(3000)}
    assert len(seeds) == 15_000 and all(0 <= seed < 1 << 63 for seed in seeds)
    base = kibitz.solve(KUHN, "cfr+", abstraction="null", iterations=1)
    for call in (static, rebuild_base):
        with pytest.raises(SolverError, match=r"seed=1\.5 must be a whole number"):
            call(KUHN, base, "prefix(p)", iterations=1, seed=1.5)


def test_what_has_not_begun_is_left_after_an_interrupt(monkeypatch):
    """Ctrl-C comes to the main thread while it waits: the experts that run end, the others never begin."""
    begun, over = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            over.set()  # those that run end once the others are left
            super().shutdown(wait=wait)

    def work(item):
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        over.wait()

    monkeypatch.setattr(sys.modules["kibitz.stitch.experts"], "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(100), jobs=2)
    assert len(begun) <= 3


def test_runs_repeat_themselves():
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=30)
    for options in ({}, {"start": "random"}, {"solver": "mccfr"}):
        shas = {
            static(PLAIN.spec, base, PREFIXES, iterations=20, seed=3, jobs=jobs, **options).sha256
            for jobs in (1, 2, 1, None)
        }
        assert len(shas) == 1
        if options:
            assert static(PLAIN, base, PREFIXES, iterations=20, seed=4, **options).sha256 not in shas
    one, two = (dynamic(PLAIN, PREFIXES, ["JQ.K", "null"], iterations=9, seed=s, start="random") for s in (1, 1))
    assert one.sha256 == two.sha256
    one, two = (cohere(PLAIN, base, "prefix(r)", 2, iterations=9) for _ in range(2))
    assert one.sha256 == two.sha256


def test_experts_start_apart():
    """start="random" draws a start of its own for each expert."""
    tree = tree_of(KUHN)
    base = random_profile(tree, np.random.default_rng(0))
    parts = partition(KUHN, lambda seat, infoset: {"J": 1, "Q": 2, "K": 3}[infoset[0]])
    stitched = naive.as_dict(static(KUHN, base, parts, "all", iterations=0, start="random", seed=6))
    assert len({tuple(row.values()) for row in stitched.values()}) == 12


def test_seven_arguments_are_those_of_experts(jq_k):
    told = []
    static(LEDUC, jq_k, "prefix(r, cr)", "each", "suits", "JQ.K", "suits", iterations=1, jobs=1,
           on_expert=lambda expert, profile: told.append((expert.name, expert.seats, expert.size)))  # fmt: skip
    built = experts(LEDUC, jq_k, "prefix(r, cr)", "each", "suits", "JQ.K", "suits")
    assert sorted(told) == sorted((e.name, e.seats, e.size) for e in built)


def test_a_base_without_an_abstraction_has_seen_the_whole_game():
    base = kibitz.solve(KUHN, "cfr", iterations=3)
    assert "abstraction" not in base.meta
    found = static(KUHN, base, "prefix(b)", iterations=5)
    assert found.meta["stitch"]["outside"] == "null"
    assert same(found, static(KUHN, base, "prefix(b)", outside="null", iterations=5))
    anew = [rebuild_base(KUHN, base, "prefix(b)", outside, iterations=5) for outside in (None, "null")]
    assert same(*anew)


def test_a_base_is_named_by_its_abstraction():
    """It is solved as the experts are, once they need it."""
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=9, seed=3)
    named, solved = (static(PLAIN, given, "prefix(r)", iterations=9, seed=3) for given in ("JQ.K", base))
    assert named.sha256 == solved.sha256 and named.meta["base"]["abstraction"] == "JQ.K"


def test_what_only_other_targets_know_is_refused(tmp_path):
    base = kibitz.solve(KUHN, "cfr+", iterations=1)
    with pytest.raises(SolverError, match="a base that is a blueprint"):
        static(KUHN, base, "prefix(p)", inside=Limit(100), iterations=1)
    with pytest.raises(SolverError, match="on samples"):
        static(KUHN, base, "prefix(p)", keep=tmp_path, iterations=1)
    with pytest.raises(TypeError, match="iteration"):
        static(KUHN, base, "prefix(p)", iteration=1)
