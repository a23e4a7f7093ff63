"""Flops up to suit isomorphism, their chances and equities, and subsets that stand for all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kibitz.cards import evaluate, parse
from kibitz.cards.boards import deck_of
from kibitz.cards.ranges import hand_cards, parse_range
from kibitz.core.errors import GameError
from kibitz.poker.spots.engine_boards import renamed
from kibitz.poker.spots.flop_report import _number, _renamings
from kibitz.poker.spots.flop_subsets import FlopSubset, choose, errors_of, points_of
from kibitz.poker.spots.flops import EDGES, chances, check_suits, equities_of, equities_on, flops_of, texture_of

SMALL = (4, 3)  # twelve cards


def ranges_of(*texts):
    return np.stack([parse_range(text).weights for text in texts])


def test_there_are_1755_flops():
    flops = flops_of()
    assert len(flops) == 1755 and sum(flop.ways for flop in flops) == 22_100
    counts = {}
    for flop in flops:
        texture = texture_of(flop)
        counts[texture.suits] = counts.get(texture.suits, 0) + flop.ways
        counts[texture.ranks] = counts.get(texture.ranks, 0) + flop.ways
    # by counting: 4 * C(13, 3) of one suit, 13 * 4 * 4 * 3 ... of all suits
    assert counts == {"rainbow": 8788, "two-tone": 12168, "monotone": 1144, "unpaired": 18304, "paired": 3744,
                      "trips": 52}  # fmt: skip


@pytest.mark.parametrize("deck", [SMALL, (5, 4), (6, 2)])
def test_every_flop_is_one_of_them_under_a_renaming(deck):
    flops = flops_of(deck)
    cards = [int(card) for card in deck_of(*deck)]
    counts = np.zeros(len(flops), int)
    for three in combinations(cards, 3):
        images = {frozenset(renamed(card, change) for card in three) for change in _renamings(deck[1])}
        same = [k for k, flop in enumerate(flops) if frozenset(flop.cards) in images]
        assert len(same) == 1
        counts[same[0]] += 1
    assert counts.tolist() == [flop.ways for flop in flops]


def test_textures_and_names():
    texture = {"As7d2c": ("rainbow", "unpaired", "A"), "7h7d2h": ("two-tone", "paired", "7"),
               "KhQhJh": ("monotone", "unpaired", "K"), "2c2d2h": ("rainbow", "trips", "2")}  # fmt: skip
    flops = flops_of()
    for name, classes in texture.items():
        flop = flops[_number(name, flops, (13, 4))]
        assert tuple(texture_of(flop)) == classes
        assert sorted(card // 4 for card in flop.cards) == sorted(int(card) // 4 for card in parse(name))
    with pytest.raises(GameError, match="three cards"):
        _number("AsKd2c3c", flops, (13, 4))


def test_chances_are_those_of_the_deal():
    """By listing: two hands that share no card, and a flop of the rest."""
    ranges = ranges_of("AA, KK:0.5, AKs", "QQ, AQo:0.3, JJ")
    flops = flops_of(SMALL)
    within = np.isin(hand_cards(), deck_of(*SMALL)).all(axis=1)
    ranges = np.where(within, ranges, 0.0)
    counts = {flop.name: 0.0 for flop in flops}
    cards = hand_cards()
    for a in np.flatnonzero(ranges[0]):
        for b in np.flatnonzero(ranges[1]):
            taken = {*cards[a].tolist(), *cards[b].tolist()}
            if len(taken) < 4:
                continue
            left = [int(card) for card in deck_of(*SMALL) if card not in taken]
            for three in combinations(left, 3):
                flop = flops[_number("".join(parse_name(card) for card in three), flops, SMALL)]
                counts[flop.name] += ranges[0, a] * ranges[1, b]
    total = sum(counts.values())
    assert np.allclose(chances(flops, ranges), [counts[flop.name] / total for flop in flops])


def parse_name(card):
    from kibitz.cards import name

    return name(card)


def test_ranges_with_single_suits_are_refused():
    check_suits(ranges_of("AA, AKs, 76o", "random"))
    with pytest.raises(GameError, match=r"OOP .* some suits"):
        check_suits(ranges_of("AA, AhKh", "random"))
    with pytest.raises(GameError, match=r"IP .* some suits"):
        check_suits(ranges_of("AA", "AA, KsKh:0.5"))


def test_equities_are_those_of_all_run_outs():
    ranges = ranges_of("AA, JTs:0.5", "KK, AQs")
    board = tuple(int(card) for card in parse("As Jd Tc"))
    deck = [int(card) for card in deck_of(5, 4)]
    cards = hand_cards()
    each, weights = [{}, {}], [{}, {}]
    for a in np.flatnonzero(ranges[0]):
        for b in np.flatnonzero(ranges[1]):
            taken = {*cards[a].tolist(), *cards[b].tolist(), *board}
            if len(taken) < 7:
                continue
            wins = count = 0
            for two in combinations([card for card in deck if card not in taken], 2):
                mine, theirs = (int(evaluate([*cards[h].tolist(), *board, *two])) for h in (a, b))
                wins, count = wins + (mine > theirs) + (mine == theirs) / 2, count + 1
            share = ranges[0, a] * ranges[1, b]
            for seat, hand, value in ((0, a, wins / count), (1, b, 1 - wins / count)):
                other = share / ranges[seat, hand]
                each[seat][hand] = each[seat].get(hand, 0.0) + other * value
                weights[seat][hand] = weights[seat].get(hand, 0.0) + other
    result = equities_on(board, ranges, (5, 4))
    total = sum(ranges[0, a] * weight for a, weight in weights[0].items())
    assert result.equity == pytest.approx(sum(ranges[0, a] * value for a, value in each[0].items()) / total)
    for seat in (0, 1):
        equity = {hand: each[seat][hand] / weights[seat][hand] for hand in each[seat]}
        chance = {hand: ranges[seat, hand] * weights[seat][hand] / total for hand in each[seat]}
        for edge, share in zip(EDGES, result.shares[seat], strict=True):
            if min(abs(value - edge) for value in equity.values()) > 1e-9:
                assert share == pytest.approx(sum(chance[hand] for hand in equity if equity[hand] <= edge))
    (row,) = equities_of([board], *ranges, (5, 4))
    assert row[0] == result.equity and np.array_equal(row[1:], result.shares.ravel())


# Subsets


def points_and_chances(count=60, seed=0):
    random = np.random.default_rng(seed)
    flops = flops_of()[:: 1755 // count][:count]
    chance = random.random(count)
    chance /= chance.sum()
    columns = random.random((count, 4))
    return points_of(flops, columns, chance), chance, columns


def cost(points, chance, numbers):
    far = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return float(chance @ far[:, numbers].min(axis=1))


def test_a_subset_is_no_worse_than_what_changing_one_flop_gives_from_its_clusters():
    """Medoids from the definition: no flop of a cluster is nearer to the others of it."""
    points, chance, _ = points_and_chances()
    subset = choose(points, chance, 7)
    assert len(set(subset.numbers.tolist())) == 7 and subset.weights.sum() == pytest.approx(1.0)
    assert (subset.weights >= 0).all()
    far = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    nearest = far[:, subset.numbers].argmin(axis=1)
    for k, medoid in enumerate(subset.numbers):
        members = np.flatnonzero(nearest == k)
        costs = [float(chance[members] @ far[members, member]) for member in members]
        assert members[int(np.argmin(costs))] == medoid
    random = np.random.default_rng(1)
    others = [cost(points, chance, random.choice(60, 7, replace=False)) for _ in range(200)]
    assert cost(points, chance, subset.numbers) < min(others)


def test_weights_keep_the_means_of_points():
    points, chance, _ = points_and_chances()
    subset = choose(points, chance, 12)
    far = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    shares = np.bincount(far[:, subset.numbers].argmin(axis=1), chance, 12)
    plain, calibrated = (np.linalg.norm(weights @ points[subset.numbers]) for weights in (shares, subset.weights))
    assert calibrated < 0.3 * plain


def test_all_flops_are_a_subset():
    points, chance, columns = points_and_chances()
    subset = choose(points, chance, 60)
    assert np.array_equal(subset.weights, chance)
    (error,) = errors_of(subset, chance, {"first": columns[:, 0]})
    assert error.error == pytest.approx(0.0, abs=1e-12) and error.random > 0
    for size in (0, 61):
        with pytest.raises(GameError, match="choose 1 to 60"):
            choose(points, chance, size)


def test_errors_are_those_of_the_definition():
    chance = np.array([0.5, 0.25, 0.25])
    subset = FlopSubset(np.array([0, 2]), np.array([0.6, 0.4]))
    (error,) = errors_of(subset, chance, {"x": np.array([1.0, 2.0, 4.0])})
    assert (error.mean, error.estimate) == (2.0, pytest.approx(2.2)) and error.error == pytest.approx(0.2)
    assert error.spread == pytest.approx(np.sqrt(0.5 * 1 + 0.25 * 0 + 0.25 * 4))
    assert error.random == pytest.approx(error.spread / np.sqrt(2), rel=0.2)
