"""Partitions of a game, and the sizes of experts before anything is solved."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
import stitch_naive
from random_games import Nested, RandomGame, choice, end
from stitched import KUHN, KUHN3, LEDUC, PREFIXES, PREFIXES3, from_dict, parts_of, same

import kibitz
from kibitz.core.errors import GameError, SpecError
from kibitz.forms.abstraction import abstraction
from kibitz.games.tree import tree_of
from kibitz.stitch import experts, partition, size_of_dynamic, static

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
    with pytest.raises(GameError, match="after infoset 'J:' in part '1' play reaches 'J:pb' in part '2'"):
        partition(KUHN, lambda seat, infoset: 1 + ("b" in infoset) if infoset[0] == "J" else 0)


def hidden_game():
    """Seat 1 does not see what seat 0 did."""
    blind = [choice(1, "blind", end(1, -1), end(0, 0)) for _ in range(2)]
    return Nested(2, choice(0, "x", *blind))


def test_condition_two_names_the_infoset_that_is_cut():
    with pytest.raises(GameError, match=r"infoset 'blind' is divided by 'prefix\(a\)'.*condition 2"):
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
        (LEDUC, "private(A)", "no player can hold 'A'; possible are J, K, Q"),
        (LEDUC, "private(J, J)", "a name is given twice"),
        (LEDUC, "private(J, round=x)", "the only option is round=NUMBER"),
        (LEDUC, "private(J, turn=2)", "the only option is round=NUMBER"),
        (LEDUC, "private(J, round=3)", "there is no decision in part 'J'"),
        ("goofspiel(num_cards=3)", "private()", r"games with a method private\(infoset\)"),
        (long_game(), "private(x)", r"use a function \(seat, infoset\) -> part"),
        (LEDUC, 5, r"a partition is prefix\(...\), private\(...\), round\(...\), or a function"),
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
