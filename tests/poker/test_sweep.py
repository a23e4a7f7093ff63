"""Sweeps over all boards against the poker form of the whole game, which holds every hand on every board."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bucketed import FOUR_ROUNDS, SMALL, lifted, random_buckets, random_probabilities, rules, two_views
from typer.testing import CliRunner

import kibitz
from kibitz.cli import app
from kibitz.poker.bucketed.layout import BucketLayout
from kibitz.poker.exact import layout
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.sampled.layout import viewed
from kibitz.poker.whole.strategy import always, within_views
from kibitz.poker.whole.walk import Sweep

GAMES = (*SMALL, *FOUR_ROUNDS)


def random_profile(name, seed):
    """(strategy by sequence of the bucket layout, seats for a sweep, the same in the poker form of the whole game)."""
    poker = rules(name)
    buckets, classes = random_buckets(poker, 3, seed)
    layout = BucketLayout(poker, buckets.name, buckets.digest, [of.parent for of in buckets.rounds])
    draw = np.random.default_rng(seed)
    weights = draw.random(layout.sequences) ** 2 + 1e-3
    strategy = np.ones(layout.sequences)
    for seat in (0, 1):
        for g, group in enumerate(layout.groups):
            for node in group.nodes:
                if node.seat == seat:
                    actions = slice(node.first, node.first + node.count)
                    here = layout.view(weights, seat, g)[actions]
                    layout.view(strategy, seat, g)[actions] = here / here.sum(axis=0)
    seats = (within_views(viewed(layout), [buckets], layout.by_column(strategy), f"random {seed}"),) * 2
    whole = PokerForm(poker)
    lifted = whole.to_probabilities(whole.lift(layout, strategy, (classes, classes)))
    return seats, whole, lifted


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(3)
def test_it_equals_the_poker_form(name):
    seats, whole, lifted = random_profile(name, 1)
    found = whole.measure(lifted)
    sweep = Sweep(rules(name), seats, np.float64)
    np.testing.assert_allclose(sweep.best(), found.best, rtol=1e-9, atol=1e-9)
    assert sweep.value() == pytest.approx(found.value[0], abs=1e-9)


@pytest.mark.parametrize("name", ["leduc", "rhode island of 4 ranks", "turn hold'em of 10 cards"])
@pytest.mark.some(2)
def test_hands_seen_through_several_views(name):
    """As a stitched strategy sees them: each node of the betting has buckets of its own."""
    form, classes, whole = two_views(name)
    probabilities = random_probabilities(form, 3)
    found = whole.measure(lifted(form, classes, whole, probabilities)[0])
    seat = within_views(form, form.buckets, probabilities, "some")
    sweep = Sweep(rules(name), (seat, seat), np.float64)
    np.testing.assert_allclose(sweep.best(), found.best, rtol=1e-9, atol=1e-9)
    assert sweep.value() == pytest.approx(found.value[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_single_precision(name):
    seats, whole, lifted = random_profile(name, 3)
    np.testing.assert_allclose(Sweep(rules(name), seats).best(), whole.measure(lifted).best, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["leduc", "flop hold'em of 12 cards"])
def test_one_strategy_against_another(name):
    first, whole, mine = random_profile(name, 1)
    second, _, other = random_profile(name, 2)
    mixed = mine.copy()
    columns = int(whole.infosets.first[whole.infosets.seat_start[1]])
    mixed[columns:] = other[columns:]
    sweep = Sweep(rules(name), (first[0], second[1]), np.float64)
    assert sweep.value() == pytest.approx(whole.value(mixed)[0], abs=1e-9)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "flop hold'em of 12 cards"])
def test_always_the_same_action(name):
    poker = rules(name)
    whole = PokerForm(poker)
    for taken in (("call",), ("fold", "call")):
        played = always(poker.betting, taken)
        best = Sweep(poker, (played, played), np.float64).best()
        plain = np.zeros(whole.columns)
        for infoset in range(whole.points):
            offered = whole.infosets.actions[int(whole.infosets.actions_of[infoset])]
            chosen = next(each for each in taken if each in offered)
            plain[int(whole.infosets.first[infoset]) + offered.index(chosen)] = 1.0
        np.testing.assert_allclose(best, whole.measure(plain).best, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_evaluate_whole(tmp_path, monkeypatch):
    game, path = "rhode_island(ranks=4)", tmp_path / "a.profile"
    with monkeypatch.context() as patch:
        patch.setattr(layout, "MOST_CLASSES", 1)  # as if no game had a poker form
        kibitz.solve(game, "dcfr+", abstraction="percentile(3)", iterations=20).save(path)
    lifted = kibitz.solve(game, "dcfr+", abstraction="percentile(3)", iterations=20)
    assert "value" not in call("evaluate", str(path), "--whole", "--json")
    found = call("evaluate", str(path), "--whole", "--value", "--json")
    assert found["nash_conv"] == pytest.approx(kibitz.nash_conv(game, lifted), rel=1e-4)
    assert found["value"][0] == pytest.approx(kibitz.value(game, lifted)[0], abs=1e-4)
    assert found["exploitability_mbb"] == pytest.approx(100 * found["nash_conv"])  # an ante of 5
    told = CliRunner().invoke(app, ["evaluate", "always-call", "--game", game, "--whole"])
    assert told.exit_code == 0 and "mbb/h: exact" in told.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["always-call"], "name one"),
        (["always-call", "--game", "leduc"], "is none"),
        (["always-call", "--game", "poker(file=holdem.limit.3p)"], "a sweep is for two"),
        (["plain.profile"], "this one was made without them"),
    ],
)
def test_mistakes_are_sentences(tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    kibitz.solve("poker(file=kuhn)", iterations=2).save("plain.profile")
    told = CliRunner().invoke(app, ["evaluate", *words, "--whole"])
    assert told.exit_code == 2 and sentence in " ".join(told.output.split())


def call(*words):
    told = CliRunner().invoke(app, list(words))
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)
