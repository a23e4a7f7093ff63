"""Hands of jam or fold: pots chip by chip, values against the definition, published figures, symmetry."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import finished

from examples import examples
from kibitz.cards.holdem import classes
from kibitz.cards.triples import Triples
from kibitz.core.errors import GameError
from kibitz.poker.tournaments import icm, pushfold
from kibitz.poker.tournaments.chip_model import checked_prizes
from kibitz.poker.tournaments.exact import ExactHand, HandTables, hold_em
from kibitz.poker.tournaments.fictitious import JamFoldPlay, gains_of
from kibitz.poker.tournaments.hand import JamFoldHand, next_seats, placed, weak_orders
from kibitz.poker.tournaments.ranges import grid, written
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.tournaments.single import hand_payoffs

# Pots


def chip_by_chip(hand, stacks, posted, outcome):
    """From the rules: the k-th chips of all who paid so many are won by the best of those who did and are in."""
    paid = [stacks[seat] if seat in outcome.inside else posted[seat] for seat in range(hand.players)]
    left = [stacks[seat] - paid[seat] for seat in range(hand.players)]
    rank = dict(zip(outcome.inside, outcome.ranks, strict=True))
    most = max(paid[seat] for seat in outcome.inside)
    pots = {}
    for k in range(max(paid)):
        able = tuple(seat for seat in outcome.inside if paid[seat] > min(k, most - 1))
        pots[able] = pots.get(able, 0) + sum(each > k for each in paid)
    for able, pot in pots.items():
        best = min(rank[seat] for seat in able)
        winners = [seat for seat in hand.after_button if seat in able and rank[seat] == best]
        for number, seat in enumerate(winners):
            left[seat] += pot // len(winners) + (number < pot % len(winners))
    return left


@pytest.mark.parametrize("players", [2, 3, 4])
def test_pots_chip_by_chip(players):
    hand, drawn = JamFoldHand(players), np.random.default_rng(players)
    stacks = drawn.integers(1, 12, (10, players))
    posted = hand.posted(stacks, 1, 2, 1)
    after = hand.after(stacks, posted)
    for i, (held, paid) in enumerate(zip(stacks.tolist(), posted.tolist(), strict=True)):
        for k, outcome in enumerate(hand.outcomes):
            assert after[i, k].tolist() == chip_by_chip(hand, held, paid, outcome)


@given(st.integers(2, 5), st.integers(0, 3), st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
@settings(max_examples=examples(60), deadline=None)
def test_chips_are_conserved(players, small, big, ante, drawn):
    hand = JamFoldHand(players)
    stacks = np.array([[drawn.randint(1, 40) for _ in range(players)]])
    after = hand.after(stacks, hand.posted(stacks, min(small, big), big, ante))
    assert (after.sum(axis=-1) == stacks.sum()).all() and after.min() >= 0


def test_orders_and_outcomes():
    assert [len(weak_orders(n)) for n in range(1, 7)] == [1, 3, 13, 75, 541, 4683]
    assert [len(JamFoldHand(n).nodes) for n in (2, 3, 6)] == [2, 6, 62]
    assert len(JamFoldHand(3).outcomes) == 3 + 3 * 3 + 13
    assert JamFoldHand(3).names == ("BTN", "SB", "BB") and JamFoldHand(2).names == ("SB", "BB")
    with pytest.raises(GameError, match="2 to 6"):
        JamFoldHand(7)


def test_who_is_forced_to_stay_in():
    hand = JamFoldHand(3)
    stacks = np.array([[10, 1, 10], [10, 5, 1], [1, 9, 9], [10, 10, 10]])
    forced = hand.forced(stacks, hand.posted(stacks, 1, 2, 0))
    number = hand.node_number
    assert forced[0, [number[1, ()], number[1, (0,)], number[2, (1,)]]].tolist() == [True, True, True]
    assert forced[1, [number[1, ()], number[1, (0,)], number[2, (0,)]]].tolist() == [True, False, True]
    assert forced[2, [number[0, ()], number[1, (0,)], number[2, (0,)]]].tolist() == [False, False, True]
    assert not forced[3].any()


def test_who_is_placed_where():
    assert finished([5, 3, 3], [11, 0, 0], [50, 30, 20]) == [None, 25.0, 25.0]
    assert finished([5, 4, 3], [0, 12, 0], [50, 30, 20]) == [30, None, 20]
    drawn = np.random.default_rng(0)
    before, after = drawn.integers(1, 4, (200, 4)), drawn.integers(0, 3, (200, 4))
    paid = placed(before, after, [50, 30, 20, 5])
    for k in range(200):
        if after[k].any():
            expected = finished(before[k].tolist(), after[k].tolist(), [50, 30, 20, 5])
            assert paid[k].tolist() == [prize or 0.0 for prize in expected]
    assert next_seats([3, 3, 3]) == (1, 2, 0) and next_seats([0, 4, 5]) == (2, 1) and next_seats([4, 5, 0]) == (1, 0)


# The Independent Chip Model


def by_orders(stacks, prizes):
    """From the definition: over all orders in which players can come in."""
    worth = [0.0] * len(stacks)
    for order in permutations(range(len(stacks))):
        chance, left = 1.0, float(sum(stacks))
        for seat in order:
            chance *= stacks[seat] / left
            left -= stacks[seat]
        for place, seat in enumerate(order):
            worth[seat] += chance * (prizes[place] if place < len(prizes) else 0.0)
    return worth


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=6), st.lists(st.floats(0.0, 100), min_size=1, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_icm_is_the_mean_over_all_orders(stacks, prizes):
    prizes = [1.0 + prize for prize in sorted(prizes, reverse=True)]
    found = icm(stacks, prizes)
    np.testing.assert_allclose(found, by_orders(stacks, prizes), rtol=1e-9)
    assert found.sum() == pytest.approx(sum(prizes[: len(stacks)]))


def test_icm_says_what_is_wrong():
    for stacks, prizes, match in (
        ([1, 0], [1], "above zero"), ([1, 2], [1, 2], "go up"), ([1], [-1], "zero or more"), ([], [1], "each player"),
        ([1.0] * 21, [1], "at most 20"), ([1, float("nan")], [1], "above zero"), ([1, 2], [0.0], "above zero"),
    ):  # fmt: skip
        with pytest.raises(GameError, match=match):
            icm(stacks, prizes)
    with pytest.raises(GameError, match="numbers"):
        checked_prizes("x")


# Values


@pytest.fixture(scope="module")
def made_up():
    """Tables of hands that never were, of which those of two and of one are the sums."""
    drawn = np.random.default_rng(0)

    def three(*same):
        found = drawn.integers(1, 1000, (169, 169, 169))
        return sum(found.transpose(order) for order in same)

    swap, every = ((0, 1, 2), (1, 0, 2)), tuple(permutations(range(3)))
    strict, top, bottom, tie = three((0, 1, 2)), three(*swap), three(*swap), three(*every)
    whole = {ranks: pattern(Triples(strict, top, bottom, tie), ranks) for ranks in weak_orders(3)}
    total = int(sum(array.sum() for array in whole.values()))
    patterns = {ranks: np.ascontiguousarray(array / total) for ranks, array in whole.items()}
    pairs = {}
    for two in weak_orders(2):
        pairs[two] = sum(a.sum(axis=2) for r, a in patterns.items() if dense(r[:2]) == two)
    pairs[()] = sum(pairs.values())
    counts = Triples(strict, top, bottom, tie)
    return HandTables(pairs[()].sum(axis=1), pairs, lambda: counts, total), patterns


def pattern(counts, ranks):
    """[hands by seat]  how often three seats end so."""
    strict, top, bottom, tie = counts
    if len(set(ranks)) == 3:
        return strict.transpose(np.argsort(np.argsort(ranks).tolist()))
    if len(set(ranks)) == 1:
        return tie
    alone = next(seat for seat in range(3) if ranks.count(ranks[seat]) == 1)
    others = [seat for seat in range(3) if seat != alone]
    table = top if ranks[alone] == 1 else bottom
    return table.transpose(np.argsort([*others, alone]))


def dense(ranks):
    places = {rank: k for k, rank in enumerate(sorted(set(ranks)))}
    return tuple(places[rank] for rank in ranks)


def ends(hand, jams, patterns):
    """From the definition, for all ways to play: (outcome, who jams, its chance, and by seat the chance by its hand
    that the others play so)."""
    for does in product((0, 1), repeat=3):
        inside, chance = (), []
        for seat in range(3):
            if seat == 2 and not inside:
                chance.append(np.ones(169))
                continue
            jam = jams[hand.node_number[seat, inside]]
            chance.append(jam if does[seat] else 1 - jam)
            inside = (*inside, seat) if does[seat] else inside
        if does == (0, 0, 1):
            continue
        for ranks, array in patterns.items():
            mine = dense([ranks[seat] for seat in inside])
            outcome = hand.outcome_number[inside, mine] if len(inside) > 1 else hand.first_of(inside)
            first, last = np.tensordot(array, chance[2], 1), np.tensordot(chance[0], array, 1)
            others = [first @ chance[1], chance[0] @ first, chance[1] @ last]
            yield outcome, does, float(chance[0] @ others[0]), others


def test_moments_against_the_definition(made_up):
    """Chances of all ends, and what actions are worth, over all hands of three seats."""
    tables, patterns = made_up
    engine, drawn = ExactHand(3, tables), np.random.default_rng(1)
    hand = engine.hand
    jams = (drawn.random((2, 6, 169)) * (drawn.random((2, 6, 169)) < 0.5)).astype(np.float32)
    payoffs = drawn.normal(size=(2, 25, 3))
    moments = engine.moments(jams, 2)
    np.testing.assert_array_equal(moments, engine.moments(jams, 1))
    worth, chance = engine.worth(moments, payoffs), engine.outcomes(moments, jams)
    chances, values = np.zeros(25), np.zeros((6, 2, 169))
    for outcome, does, chance_of, others in ends(hand, jams[1], patterns):
        chances[outcome] += chance_of
        for seat in range(3):
            node = hand.node_number.get((seat, tuple(s for s in range(seat) if does[s])))
            if node is not None:
                values[node, does[seat]] += others[seat] * payoffs[1, outcome, seat]
    for seat in range(3):
        np.testing.assert_allclose(chance[1, seat], chances, atol=2e-6)
    np.testing.assert_allclose(worth[1], values, atol=2e-6)


def test_sums_over_two_ranges_against_einsum():
    from kibitz.poker.tournaments.kernels.contract import LISTED, PANELS, WIDE, contract

    drawn = np.random.default_rng(3)
    table = drawn.random((169, 169, 169)).astype(np.float32)
    wide = np.zeros((169, 169, WIDE), np.float32)
    wide[:, :, :169] = table
    panels = np.ascontiguousarray(wide.reshape(169, 169, int(PANELS), -1).transpose(0, 2, 1, 3)).ravel()
    one, two = ((drawn.random((5, 169)) * (drawn.random((5, 169)) < 0.3)).astype(np.float32) for _ in range(2))
    one[0], two[1] = 0.0, 0.0
    out = np.full(5 * WIDE, np.nan, np.float32)
    contract(panels, one, two, 0, 5, np.zeros((5, LISTED), np.uint64), np.zeros((5, LISTED), np.float32), out)
    expected = np.einsum("sp,sq,pqt->st", one.astype(float), two.astype(float), table.astype(float))
    np.testing.assert_allclose(out.reshape(5, WIDE)[:, :169], expected, rtol=1e-5)
    assert not out.reshape(5, WIDE)[:, 169:].any()


def test_a_sample_agrees_with_all_cards_for_two():
    drawn = np.random.default_rng(5)
    exact, sampled = ExactHand(2), SampledHand(2, 60_000)
    jams = drawn.random((1, 2, 169)).astype(np.float32)
    payoffs = drawn.random((1, len(exact.hand.outcomes), 2))
    moments = exact.moments(jams)
    a, b = exact.worth(moments, payoffs), sampled.worth(sampled.moments(jams), payoffs)
    np.testing.assert_allclose(a.sum(axis=-1), b.sum(axis=-1), atol=0.01)
    np.testing.assert_allclose(exact.outcomes(moments, jams), sampled.outcomes(jams, jams), atol=0.01)


def test_a_sample_against_its_deals_one_by_one():
    """Four players: every deal by itself, from the definition."""
    engine, drawn = SampledHand(4, 40, seed=3), np.random.default_rng(1)
    hand, tables = engine.hand, hold_em().pairs
    jams = drawn.random((1, len(hand.nodes), 169))
    payoffs = drawn.random((1, len(hand.outcomes), 4))
    expected = np.zeros((len(hand.nodes), 2, 169))
    chances = np.zeros(len(hand.outcomes))
    for held, order in zip(engine.classes.tolist(), engine.orders.tolist(), strict=True):
        for does in product((0, 1), repeat=4):
            inside, chance, at = (), [], []
            for seat in range(4):
                node = hand.node_number.get((seat, inside))
                at.append(node)
                jam = jams[0, node, held[seat]] if node is not None else 0.0
                chance.append(jam if does[seat] else 1 - jam)
                inside = (*inside, seat) if does[seat] else inside
            if does == (0, 0, 0, 1):
                continue
            if len(inside) == 2:
                one, two = (held[seat] for seat in inside)
                first = hand.first_of(inside)
                share = [(first + k, tables[r][one, two] / tables[()][one, two]) for k, r in enumerate(weak_orders(2))]
            else:
                share = [(order[int("".join(map(str, does)), 2)], 1.0)]
            for outcome, p in share:
                chances[outcome] += p * np.prod(chance) / 40
                for seat in range(4):
                    if at[seat] is not None:
                        others = np.prod([c for s, c in enumerate(chance) if s != seat])
                        expected[at[seat], does[seat], held[seat]] += p * others * payoffs[0, outcome, seat] / 40
    np.testing.assert_allclose(engine.worth(jams, payoffs)[0], expected, atol=1e-12)
    for seat in range(4):
        np.testing.assert_allclose(engine.outcomes(jams, jams)[0, seat], chances, atol=1e-12)


# Charts


@pytest.mark.parametrize(
    ("blinds", "jams", "calls", "value"),
    [(3, 77.7, 92.8, 0.052), (5, 71.4, 62.1, 0.056), (10, 58.3, 37.5, -0.045), (15, 45.7, 28.2, -0.127),
     (20, 40.2, 21.7, -0.183)],
)  # fmt: skip
def test_two_players_as_published(blinds, jams, calls, value):
    """Percentages to half a point, values to 0.002 big blinds."""
    found = pushfold([2 * blinds] * 2, (1, 2), rounds=400)
    assert found.deals == 0 and found.epsilon < 1e-4
    assert abs(100 * found.charts[0].share - jams) <= 0.55 and abs(100 * found.charts[1].share - calls) <= 0.55
    assert found.values[0] == pytest.approx(value, abs=0.002) and sum(found.values) == pytest.approx(0, abs=1e-6)


def test_payoffs_of_prizes_share_them_all():
    hand = JamFoldHand(3)
    chips = np.array([[600, 600, 300], [120, 60, 180]])
    posted = hand.posted(chips, 60, 120, 0)
    found = hand_payoffs(hand, chips, posted, (50.0, 30.0, 20.0), 120)
    np.testing.assert_allclose(found.sum(axis=-1), 100.0)
    after = hand.after(chips, posted)
    for state, k in product(range(2), range(len(hand.outcomes))):
        alive = [seat for seat in range(3) if after[state, k, seat] > 0]
        out = finished(chips[state].tolist(), after[state, k].tolist(), (50.0, 30.0, 20.0))
        worth = dict(zip(alive, icm(after[state, k, alive], (50.0, 30.0, 20.0)[: len(alive)]), strict=True))
        expected = [worth[seat] if seat in worth else out[seat] for seat in range(3)]
        np.testing.assert_allclose(found[state, k], expected)


def test_a_chart_for_four_by_a_sample():
    found = pushfold([12, 8, 20, 9], (1, 2), [50, 30, 20], 0.2, deals=5_000, rounds=15)
    assert found.deals == 5_000 and len(found.charts) == 14
    assert sum(found.values) == pytest.approx(100) and sum(found.before) == pytest.approx(100)
    again = pushfold([12, 8, 20, 9], (1, 2), [50, 30, 20], 0.2, deals=5_000, rounds=15, threads=1)
    assert all((a.jams == b.jams).all() for a, b in zip(found.charts, again.charts, strict=True))
    first = found.charts[0]
    assert 0.1 < first.share < 0.6 and "AA" not in first.range.partition("+")[0], "aces are in a run of pairs"


def test_nobody_gains_by_what_is_best():
    engine = ExactHand(2)
    stacks = np.array([[10, 14]])
    posted = engine.hand.posted(stacks, 1, 2, 0)
    forced = engine.hand.forced(stacks, posted)
    payoffs = hand_payoffs(engine.hand, stacks, posted, None, 2)
    play = JamFoldPlay(engine, forced)
    gains = [float(play.run(payoffs, rounds).gains.max()) for rounds in (0, 10, 100)]
    assert gains[0] > gains[1] > gains[2] >= 0
    worth = engine.worth(play.moments, payoffs)
    assert (gains_of(engine.hand, worth, play.jams, forced) >= -1e-9).all()


def test_ranges_as_people_write_them():
    names = classes().names
    jams = np.zeros(169)
    for name in ("AA", "KK", "QQ", "AKs", "AQs", "K9s", "K8s", "72o"):
        jams[names.index(name)] = 1.0
    jams[names.index("AKo")] = 0.25
    assert written(jams) == "QQ+, AQs+, K9s-K8s, 72o, AKo:0.25"
    assert written(np.zeros(169)) == "nothing"
    cells = grid()
    assert [names[cells[0][k]] for k in range(3)] == ["AA", "AKs", "AQs"] and names[cells[1][0]] == "AKo"
    assert sorted(number for row in cells for number in row) == list(range(169))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"stacks": [1]}, "2 to 6"), ({"stacks": [1, 0]}, "above zero"), ({"stacks": ["x", 2]}, "should be a number"),
        ({"stacks": [1, 2], "blinds": (2, 1)}, "small/big"), ({"stacks": [1, 2], "blinds": (-1, 1)}, "zero or more"),
        ({"stacks": [1, 2], "prizes": [1, 2]}, "go up"), ({"stacks": [1, 2], "ante": -1}, "zero or more"),
        ({"stacks": [1, 2, 3], "deals": 10}, "too few"), ({"stacks": [1, 2, 3, 4], "exact": True}, "two and three"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(given, match):
    with pytest.raises(GameError, match=match):
        pushfold(**given)
