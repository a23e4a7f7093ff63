"""The poker form held against its slow twin, the tree of the same rules: values, labels, sizes and refusals."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poker_games import (
    GAMES,
    LARGER,
    QUIET,
    VARIANTS,
    Pair,
    coarse,
    compare_cfr_until_tied,
    compare_matrices,
    compare_values,
    definitions,
    limit,
    pair,
    random_probabilities,
)

import kibitz
from examples import examples
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import form_for, needs_tree
from kibitz.forms.protocol import CfrForm, CompactForm, Form, GradientForm, SampledForm
from kibitz.poker.exact.form import PokerForm, poker_form
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker, poker, rhode_island
from kibitz.solvers.run import solve


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(8)
def test_values_are_those_of_the_tree(name):
    both = pair(name)
    compare_values(both, both.form.uniform())
    for seed in range(2):
        compare_values(both, random_probabilities(both.form, seed))


def test_weights_become_probabilities():
    both = pair("leduc")
    form, slow = both.form, both.slow
    np.testing.assert_array_equal(both.lift(form.uniform()), slow.uniform())
    np.testing.assert_array_equal(form.to_probabilities(np.zeros(form.sequences)), form.uniform())
    mine = random_probabilities(form, 4)
    np.testing.assert_allclose(form.to_probabilities(form.to_strategy(mine)), mine, rtol=1e-15)
    weights = form.to_strategy(mine)
    for scale in (1e-30, 7.0, 1e30):
        np.testing.assert_allclose(form.to_probabilities(scale * weights), mine, rtol=1e-14)
        assert form.measure_weights(scale * weights).nash_conv == pytest.approx(form.measure(mine).nash_conv, rel=1e-12)
    single = form.measure_weights(weights.astype(np.float32))
    assert single.nash_conv == pytest.approx(form.measure(mine).nash_conv, rel=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_a_look_is_what_plans_and_gradients_say(name):
    """Down and up in one go, against a way of three: plans, what sequences are worth, and the best of them."""
    form = pair(name).form
    weights = np.random.default_rng(8).random(form.sequences) ** 4
    weights[::7] = 0.0
    one, other = form.measure_weights(weights), form.measure_weights(weights, np.zeros(form.sequences))
    np.testing.assert_allclose(one.value, other.value, atol=1e-12 * form.scale)
    np.testing.assert_allclose(one.best, other.best, atol=1e-12 * form.scale)
    assert one.nash_conv == pytest.approx(other.nash_conv, abs=1e-11 * form.scale)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_values_of_larger_games(name):
    both = pair(name)
    for seed in range(2):
        compare_values(both, random_probabilities(both.form, seed))


@settings(QUIET, max_examples=15)
@given(definitions(4_000), st.integers(0, 2**32))
def test_values_of_random_games(definition, seed):
    both = Pair(definition)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


@pytest.mark.slow
@settings(QUIET, max_examples=examples(60))
@given(definitions(20_000), st.integers(0, 2**32))
def test_values_of_more_random_games(definition, seed):
    both = Pair(definition)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


# Infosets and their labels


def other_names(definition, label):
    """The label with suits renamed, by every renaming."""
    names = "cdhs"[: definition.suits]
    cards, _, betting = label.partition(":")
    for order in permutations(names):
        table = dict(zip(names, order, strict=True))
        # Ranks in labels are digits and capitals, suits are small letters.
        yield "".join(table.get(letter, letter) for letter in cards) + ":" + betting


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(8)
def test_labels_find_their_infosets(name):
    form = pair(name).form
    infosets, n = form.infosets, form.points
    assert isinstance(infosets, PokerInfosets)
    assert len(infosets.labels) == n == infosets.seat_start[-1] == len(infosets.actions_of) == len(infosets.first) - 1
    assert infosets.columns == form.columns == infosets.first[-1] == form.sequences - 2
    widths = [len(infosets.actions[k]) for k in infosets.actions_of]
    assert infosets.first.tolist() == [0, *np.cumsum(widths).tolist()]
    assert infosets.width.tolist() == widths
    counted = np.diff(form.seat_sequence) - 1
    assert [sum(widths[a:b]) for a, b in (infosets.seat_start[:2], infosets.seat_start[1:])] == counted.tolist()
    seen = set()
    for i in range(n):
        seat, label = infosets.seat_of(i), infosets.labels[i]
        assert (seat, label) not in seen
        seen.add((seat, label))
        assert infosets.find(seat, label) == i
    for i in range(0, n, max(1, n // 60)):
        with pytest.raises(GameError):
            infosets.find(1 - infosets.seat_of(i), infosets.labels[i])
        for label in other_names(form.definition, infosets.labels[i]):
            assert infosets.find(infosets.seat_of(i), label) == i


@pytest.mark.parametrize("name", GAMES)
def test_every_infoset_of_the_tree_is_of_a_class_and_no_class_is_empty(name):
    both = pair(name)
    fast, slow = both.form.infosets, both.tree.infosets
    assert np.unique(both.of).tolist() == list(range(both.form.points))
    assert set(fast.labels) <= set(slow.labels)  # a class is called by one of its own
    # Infosets of one class differ by names of suits alone, and all of those are of it.
    for i in range(0, len(both.of), max(1, len(both.of) // 40)):
        mine = set(other_names(both.game.definition, slow.labels[i]))
        seat = slow.seat_of(i)
        lo, hi = slow.seat_start[seat : seat + 2]
        group = {slow.labels[k] for k in range(lo, hi) if both.of[k] == both.of[i]}
        renamed = {sorted_label(label) for label in mine}
        last = slow.labels[i].count("/") == both.game.definition.rounds - 1 and both.game.definition.hole == 1
        # In the last round hands of one card are one class also where they are worth the same.
        assert group >= renamed if last else group == renamed


def sorted_label(label):
    """Cards that came together high to low, as labels have them."""
    from kibitz.poker.rules.rules import cards_of, text_of

    cards, _, betting = label.partition(":")
    return " ".join(text_of(cards_of(word)) for word in cards.split()) + ":" + betting


def test_labels_are_a_sequence():
    labels = pair("leduc").form.infosets.labels
    every = list(labels)
    assert len(every) == len(labels) and labels[-1] == every[-1] and labels[-len(every)] == every[0]
    assert labels[3:9:2] == every[3:9:2]
    for wrong in (len(every), -len(every) - 1):
        with pytest.raises(IndexError):
            labels[wrong]


@pytest.mark.parametrize(
    ("seat", "wrong"),
    [
        (0, ""), (0, ":"), (0, "Ad:c"), (1, "Ad:"), (0, "Ad:zz"), (0, "Ad:cc/"), (0, "Ad Kd:"), (0, "2c:"), (0, "Ah:"),
        (0, "Ad Ad:cc/"), (0, "AdKd:"), (0, "Ad:f"), (0, "Ad Kd:cc"), (0, "Xx:"), (0, "A:"), (0, "bucket 1:"),
        (2, "Ad:"), (-1, "Ad:"),
    ],
)  # fmt: skip
def test_wrong_labels_are_refused(seat, wrong):
    infosets = pair("leduc").form.infosets
    with pytest.raises(GameError) as caught:
        infosets.find(seat, wrong)
    assert re.search(r"label reads|they read|seats are", str(caught.value))


# Sizes


@pytest.mark.parametrize("name", GAMES)
def test_sizes_are_those_of_the_tree(name):
    both = pair(name)
    assert both.form.histories == both.tree.histories
    slow, (own, _), (other, _) = both.slow, both.form.constraints(0), both.form.constraints(1)
    plain = 1 + slow.seat_point[1] + slow.seat_sequence[2] - slow.seat_sequence[1]
    assert both.form.programme_size == (plain, own.shape[0] + other.shape[1])
    assert both.form.zero_sum and both.slow.zero_sum and both.form.seats == 2 and both.form.perfect_recall
    if both.game.definition.ranks > 1:  # else all hands are tied
        assert both.form.scale == pytest.approx(slow.scale)


def test_rhode_island_has_the_size_of_the_paper():
    assert PokerForm(rhode_island()).programme_size[0] == 91_224_226  # [Gilpin & Sandholm 2007]


# Refusals


def test_only_two_players():
    three = replace(acpc.read("kuhn"), players=3, blinds=(1, 1, 1), ranks=4, name="")
    with pytest.raises(GameError, match=r"3 players.*tree"):
        PokerForm(Poker(three))
    assert needs_tree(Poker(three))
    assert not isinstance(form_for(Poker(three)), PokerForm)
    assert needs_tree(kibitz.game("leduc"))


def test_asking_whether_a_game_is_poker_for_two_is_quick():
    began = time.process_time()
    assert needs_tree(poker("holdem.limit.3p"))  # whose betting has 24 million nodes
    assert time.process_time() - began < 20.0


def test_hands_of_three_cards_are_refused():
    with pytest.raises(GameError, match="hands of 3 cards"):
        PokerForm(Poker(limit(2, 5, 3, (0,))))


def test_what_does_not_fit_is_refused_before_it_is_made():
    game = poker("holdem.limit.2p")
    game.betting  # noqa: B018
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(GameError) as caught:
        poker_form(game)
    taken, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 3.0 and peak < 30_000_000
    found = re.search(r"at least ([\d,]+) sequences.* ([\d,.]+) MB to solve", str(caught.value))
    sequences, size = (float(word.replace(",", "")) for word in found.groups())
    assert sequences > 1e12 and size > 1e7
    with pytest.raises(GameError, match="MB to solve"):
        solve("poker(file=holdem.limit.2p)", "cfr+", iterations=1)


def test_memory_has_a_bound():
    game = Poker(GAMES["leduc"])
    form = PokerForm(game)
    for refused in (100, 20 * form.sequences):
        with pytest.raises(GameError, match="sequences up to the names of suits"):
            PokerForm(game, most_bytes=refused)
    assert PokerForm(game, most_bytes=100 * form.sequences).sequences == form.sequences
    with pytest.raises(GameError, match=r"rhode_island has .* 3\d\d MB to solve"):
        PokerForm(rhode_island(), most_bytes=10_000_000)


def test_rhode_island_is_what_it_should_be():
    """The whole deck, without a tree: sizes, and a value that CFR comes near to."""
    form = PokerForm(rhode_island(ranks=5))
    uniform = form.measure(form.uniform())
    assert uniform.value.sum() == pytest.approx(0.0, abs=1e-10) and (uniform.best > uniform.value).all()
    profile = solve(form, "pcfr+", iterations=60)
    assert profile.meta["nash_conv"] < 0.05 * uniform.nash_conv


def test_row_maps_are_for_trees():
    from kibitz.forms.rows import row_map

    both = pair("leduc")
    with pytest.raises(SolverError, match="row maps"):
        both.form.cfr_state(row_map(both.slow), None)


def test_digests_tell_games_apart():
    form = pair("leduc").form
    named = replace(GAMES["leduc"], name="something else")
    assert PokerForm(Poker(named)).tree_digest == form.tree_digest
    digests = [pair(name).form.tree_digest for name in GAMES]
    digests += [coarse("leduc", seed).form.tree_digest for seed in (1, 2)]
    assert len(set(digests)) == len(digests)


def test_memory_of_the_cards_is_counted_before_they_are_dealt(monkeypatch):
    """Four cards of a whole deck's board: twelve million hands on boards, which took 2.8 GB."""
    definition = acpc.Definition(True, 2, 2, None, (1, 1), (1, 1), (0, 0), (0, 0), 4, 13, 2, (0, 4))
    monkeypatch.setattr("kibitz.poker.exact.layout.deal", lambda definition: pytest.fail("cards were dealt"))
    monkeypatch.setattr("kibitz.poker.exact.layout.free_memory", lambda: 2 << 30)
    with pytest.raises(GameError, match=r"which take about 4,072 MB to solve; 1,938 MB are free here"):
        PokerForm(Poker(definition))


def test_forms_and_infosets_are_what_the_protocols_say():
    """Both forms have all that solvers ask, and only the one without a tree is compact."""
    rules = kibitz.game("poker(file=kuhn)")
    on_tree, without = form_for(rules, of_tree=True), form_for(rules)
    for form in (on_tree, without):
        assert isinstance(form, Form)
        assert isinstance(form, CfrForm) and isinstance(form, GradientForm) and not isinstance(form, SampledForm)
    assert not isinstance(on_tree, CompactForm) and on_tree.game is None and on_tree.infosets.compact is None
    assert isinstance(without, CompactForm) and without.game is rules and without.infosets.compact is without.infosets
    assert not on_tree.infosets.same(without.infosets) and not without.infosets.same(on_tree.infosets)
    assert without.infosets.of_game(rules) and not without.infosets.of_game(kibitz.game("kuhn"))
    lacking = [name for name in dir(CompactForm) if not name.startswith("_") and not hasattr(without, name)]
    assert lacking == []


def test_a_game_that_names_no_plugin_there_is_is_refused():
    class Named(type(kibitz.game("kuhn"))):
        plugin = "cube"

    with pytest.raises(GameError, match="no plug-in 'cube'; plug-ins are poker and toepen"):
        form_for(Named())
