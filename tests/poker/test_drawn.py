"""Winnings on drawn boards (kibitz/poker/whole/drawn.py) against sweeps over all boards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import chisquare

import kibitz
from kibitz.cards.boards import boards_of
from kibitz.core.errors import SolverError
from kibitz.forms.profile import Profile
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching.experts import poker_of
from kibitz.poker.whole import drawn
from kibitz.poker.whole.profiles import against, node_strategy

GAME = "poker(file=holdem.limit.2p, ranks=4, suits=3)"


def random_profile(rules: Poker, buckets: str, seed: int) -> Profile:
    """Probabilities that are anything but even."""
    form = ViewForm(rules, [hand_buckets(rules.definition, buckets)])
    random, probabilities = np.random.default_rng(seed), form.uniform()
    for node in form.order.tolist():
        here = form.at(probabilities, node)
        here[:] = random.dirichlet(np.full(here.shape[1], 0.5), len(here))
    meta = {"game": form.spec, "tree": form.tree_digest, "solver": "pcs", "iterations": 1, "seed": 0,
            "abstraction": form.abstraction, "size": form.points}  # fmt: skip
    return Profile(form.infosets, probabilities, meta)


@pytest.fixture(scope="module")
def pair() -> tuple[Poker, Profile, Profile]:
    rules = poker_of(kibitz.game(GAME))
    return rules, random_profile(rules, "percentile(2)", 1), random_profile(rules, "percentile(3, recall=false)", 2)


def on_boards(rules: Poker, strategies: tuple, chosen: drawn.ChosenBoards, name: str) -> drawn.DrawnSweep:
    """A sweep over the boards that are given."""
    sweep = drawn.DrawnSweep(rules, strategies)
    sweep.drawn, sweep.boards, sweep.draws, sweep.sample = chosen, chosen.boards, 1, name
    sweep.sources = [drawn.buckets_on(each.sources[0], chosen) for each in strategies]
    sweep.seats = tuple(replace(each, sources=(source,))
                        for each, source in zip(strategies, sweep.sources, strict=True))  # fmt: skip
    sweep.__dict__["stratum"] = 1
    return sweep


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_all_draws_together_are_all_boards(pair: tuple[Poker, Profile, Profile], count: int) -> None:
    """Each last board of a first board, by its share: what a draw is expected to be."""
    rules, one, other = pair
    strategies = node_strategy(rules, one), node_strategy(rules, other)
    whole = drawn.Sweep(rules, strategies)
    every, begin, total = whole.boards, whole.begin, 0.0
    starts, weight = drawn._below(every, begin), every.rounds[-1].total
    for k in range(int(np.diff(starts).max())):
        last = np.minimum(starts[:-1] + k, starts[1:] - 1)
        share = weight[last] / np.add.reduceat(weight, starts[:-1])
        share[starts[:-1] + k >= starts[1:]] = 0.0
        chosen = drawn.boards_with(every, begin, np.repeat(last[None, :, None], count, axis=2))
        sweep = on_boards(rules, strategies, chosen, f" all {k} {count}")
        values = sweep.by_draw()
        assert values.shape == (1, len(starts) - 1)
        total += float(values[0] @ share)
    assert total + sweep.before() == pytest.approx(against(rules, one, other)[0], abs=2e-6)


def test_boards_are_drawn_by_how_many_they_stand_for() -> None:
    boards = boards_of(4, 3, (0, 3, 1, 1))
    chosen = drawn.drawn_boards(boards, 1, 400, 5, 1)
    starts, last = drawn._below(boards, 1), chosen.picked[3].reshape(400, -1, 5)
    assert ((starts[:-1, None] <= last) & (last < starts[1:, None])).all()
    for flop in (0, len(starts) // 2):
        here = slice(starts[flop], starts[flop + 1])
        share = boards.rounds[3].total[here] / boards.rounds[3].total[here].sum()
        seen = np.bincount(last[:, flop].ravel() - here.start, minlength=len(share))
        assert chisquare(seen, share * 2000).pvalue > 1e-4
    for level in (1, 2, 3):  # each is what it was, and continues what it continued
        of, there = boards.rounds[level], chosen.boards.rounds[level]
        assert (of.cards[chosen.picked[level]] == there.cards).all()
        assert (of.above[chosen.picked[level]] == chosen.picked[level - 1][there.above]).all()


def test_intervals_cover(pair: tuple[Poker, Profile, Profile]) -> None:
    rules, one, other = pair
    exact = sum(against(rules, one, other)) / 2
    every = [drawn.won_on_drawn_boards(rules, one, other, count=4, seed=seed) for seed in range(12)]
    means, errors = (np.array([getattr(each, name) for each in every]) for name in ("mean", "error"))
    assert (abs(means - exact) < errors).mean() >= 0.8
    assert abs(means.mean() - exact) < 3 * means.std() / 12**0.5 + 1e-6
    assert 1.3 < errors.mean() / means.std() < 3.0  # 1.96, about


def test_more_draws_say_more(pair: tuple[Poker, Profile, Profile]) -> None:
    rules, one, other = pair
    few, many, wide = (drawn.won_on_drawn_boards(rules, one, other, *how) for how in ((2, 2), (8, 2), (2, 16)))
    assert many.error < 0.75 * few.error and wide.error < 0.6 * few.error
    assert many.boards == 4 * few.boards and wide.boards == 8 * few.boards


@pytest.mark.parametrize("freedom", [64, 110, 1000])
def test_students_t(freedom: int) -> None:
    assert drawn._student(freedom) == pytest.approx(stdtrit(freedom, 0.975), rel=2e-5)


def test_what_is_won_is_lost(pair: tuple[Poker, Profile, Profile]) -> None:
    rules, one, other = pair
    mine, his = (drawn.won_on_drawn_boards(rules, *pair, count=4) for pair in ((one, other), (other, one)))
    assert mine.mean == pytest.approx(-his.mean, abs=1e-6) and mine.error == pytest.approx(his.error, rel=1e-3)


def test_refused() -> None:
    holdem = poker_of(kibitz.game(GAME))
    profile = random_profile(holdem, "percentile(2)", 1)
    with pytest.raises(SolverError, match="draws is 1"):
        drawn.won_on_drawn_boards(holdem, profile, profile, draws=1)
    with pytest.raises(SolverError, match="sweep it whole"):
        drawn.drawn_boards(drawn.Sweep(holdem, (node_strategy(holdem, profile),) * 2).boards, 3, 2, 4, 0)
