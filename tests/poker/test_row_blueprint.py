"""Rows by betting and bucket: against hashed rows, against the definition of static experts, saved and stitched."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from poker_games import COARSE, FINE, THREE
from poker_games import three_base as base
from poker_games import three_machine as machine

from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.evaluate.match import match
from kibitz.games.kernels.dispatch import interpreted
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent
from kibitz.poker.blueprints import placed_rows
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint, stitched
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.blueprint import Blueprint, blueprint_profile, walked
from kibitz.solvers.kernels.walk import walk_all, workspace
from kibitz.solvers.machines import machine_of
from kibitz.solvers.saved_blueprints import load_blueprint


@cache
def tree():
    return tree_of(Poker(THREE))


def expert(part, seats, iterations=400):
    """A static expert of a part, S = seats."""
    others = 7 & ~sum(1 << seat for seat in seats)
    rows = RowPlan((COARSE if others else "", FINE), (part,), outside=others, inside=7)
    made = placed_blueprint(machine(), rows, seed=1, base=base(), seats=seats)
    made.train(iterations=iterations)
    return made


def test_hashed_rows_are_the_same():
    """The same walks into a hash table under the same buckets: the same strategy, to the bit."""
    hashed = Blueprint.empty(machine(), FINE, 1 << 20, seed=2)
    rows = placed_blueprint(machine(), RowPlan((FINE,)), seed=2)
    for made in (hashed, rows):
        made.train(iterations=1500)  # beyond a halving
    one, two = (blueprint_profile(made, tree()) for made in (hashed, rows))
    np.testing.assert_array_equal(one.probabilities, two.probabilities)
    assert rows.progress().visited == hashed.progress().visited


def test_walks_have_a_slow_twin():
    fast, slow = (placed_blueprint(machine(), RowPlan((FINE,)), seed=5) for _ in range(2))
    fast.train(iterations=3)
    with np.errstate(over="ignore"):
        interpreted(walk_all)(
            slow.walked_game, slow.keys, slow.table, slow.mask(), slow.base_player(), slow.order(), 0, 3,
            workspace(machine().depth, 0, machine().actions),
        )  # fmt: skip
    np.testing.assert_array_equal(fast.table.regret, slow.table.regret)
    np.testing.assert_array_equal(fast.table.average, slow.table.average)
    assert fast.table.regret.any()


def test_every_row_has_a_place_of_its_own():
    """Infosets in the same bucket after the same betting share a row, and no others do; all columns are used."""
    made = placed_blueprint(machine(), RowPlan(("", FINE), ("r",), outside=0))
    buckets, infosets = hand_buckets(THREE, FINE), tree().infosets
    seen, used = {}, np.zeros(layout_of(made).columns, bool)
    for seat in range(3):
        for at in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            cards, _, done = infosets.labels[at].partition(":")
            if not done.startswith("r"):
                continue
            key = int(machine().keys_of(made.view, seat, [infosets.labels[at]], [2])[0])
            level = done.count("/")
            numbers = np.array([["23456789TJQKA".index(card[0]) * 4 for card in cards.split(" ")]])
            named = seat, done, int(buckets.of(level, numbers)[0])
            assert seen.setdefault(key, named) == named
            used[key - 1 : key - 1 + infosets.width[at]] = True
    assert len(set(seen.values())) == len(seen) == layout_of(made).size and used.all()


# Static experts


def exact_regrets(made, seats, part):
    """Regrets of one iteration from a uniform start, by the definition: outside of the part the base plays the seats of
    S, and counts as chance for everybody [Gibson & Szafron 2011, Def. 3.2]."""
    rules, infosets = Poker(THREE), tree().infosets
    index = {
        (seat, infosets.labels[at]): at
        for seat in range(3) for at in range(infosets.seat_start[seat], infosets.seat_start[seat + 1])
    }  # fmt: skip
    base_profile = blueprint_profile(base().played(), tree())
    first = infosets.first
    found = {}

    def visit(state, reach, chance):
        """Values of the seats below a state; reach: by seat, of moves that are not frozen."""
        turn = rules.turn(state)
        if turn == -2:
            return np.array(rules.payoff(state))
        if turn == -1:
            return sum(p * visit(rules.after(state, outcome), reach, chance * p) for outcome, p in rules.chance(state))
        text, actions = rules.infoset(state), rules.actions(state)
        inside = text.partition(":")[2].startswith(part)
        frozen = not inside and turn in seats
        at = index[turn, text]
        played = base_profile.probabilities[first[at] : first[at] + len(actions)] if frozen else None
        values = []
        for a, action in enumerate(actions):
            p = 1 / len(actions) if played is None else played[a]
            after = reach if frozen else [x * p if seat == turn else x for seat, x in enumerate(reach)]
            values.append(visit(rules.after(state, action), after, chance * p if frozen else chance))
        mean = np.mean(values, axis=0) if played is None else played @ np.array(values)
        if not frozen:
            others = chance * np.prod([reach[seat] for seat in range(3) if seat != turn])
            key = int(machine().keys_of(made.view, turn, [text], [len(actions)])[0])
            regret = found.setdefault(key, np.zeros(len(actions)))
            regret += others * np.array([value[turn] - mean[turn] for value in values])
        return mean

    visit(rules.root(), [1.0] * 3, 1.0)
    return found


@pytest.mark.parametrize("seats", [(0, 1, 2), (1,), (0, 2)])
@pytest.mark.some(2)
def test_static_experts_learn_what_they_should(seats):
    """The mean of sampled regrets over many iterations, each from a uniform start."""
    made = expert("r", seats, iterations=0)
    expected = exact_regrets(made, seats, "r")
    count, total, square = 4000, np.zeros(layout_of(made).columns), np.zeros(layout_of(made).columns)
    for t in range(count):
        made.table.regret[:] = 0
        walked(made, made.mask(), made.base_player(), t, t + 1, 1, None)
        total += made.table.regret
        square += made.table.regret.astype(float) ** 2
    mean = total / count
    error = np.sqrt(np.maximum(square / count - mean**2, 1e-12) / count)
    exact = np.zeros_like(mean)
    for key, regret in expected.items():
        exact[key - 1 : key - 1 + len(regret)] = regret
    assert len(expected) == layout_of(made).size
    assert (np.abs(mean - exact) < 6 * error + 1e-3).all()
    assert np.abs(exact).max() > 10 * error.max()  # else nothing was seen


def test_averages_of_three_seats_are_those_of_cfr():
    """What an iteration adds to the average of a row, in the mean: its strategy, by chance and the seat's own moves
    alone, whatever the others do [Zinkevich et al. 2007]. Everything is played now and then: what a third seat never
    does no sample knows of."""
    made = placed_blueprint(machine(), RowPlan((FINE,)), seed=1)
    regrets = np.random.default_rng(5).uniform(0.2, 1.0, layout_of(made).columns).astype(np.float32)
    made.table.regret[:] = regrets
    rules, expected = Poker(THREE), np.zeros(layout_of(made).columns)
    held = {}

    def visit(state, chance, reach):
        turn = rules.turn(state)
        if turn == -2:
            return
        if turn == -1:
            for outcome, p in rules.chance(state):
                visit(rules.after(state, outcome), chance * p, reach)
            return
        text, actions = rules.infoset(state), rules.actions(state)
        if (turn, text) not in held:
            at = int(machine().keys_of(made.view, turn, [text], [len(actions)])[0]) - 1
            positive = np.maximum(regrets[at : at + len(actions)].astype(float), 0)
            played = positive / positive.sum() if positive.sum() > 0 else np.full(len(actions), 1 / len(actions))
            held[turn, text] = at, played
        at, played = held[turn, text]
        expected[at : at + len(actions)] += chance * reach[turn] * played
        for a, action in enumerate(actions):
            after = [x * played[a] if seat == turn else x for seat, x in enumerate(reach)]
            visit(rules.after(state, action), chance, after)

    visit(rules.root(), 1.0, [1.0] * 3)
    count, total, square = 3000, np.zeros(len(expected)), np.zeros(len(expected))
    for t in range(count):
        made.table.regret[:], made.table.average[:] = regrets, 0
        walked(made, made.mask(), made.base_player(), t, t + 1, 1, None)
        total += made.table.average
        square += made.table.average.astype(float) ** 2
    mean = total / count
    error = np.sqrt(np.maximum(square / count - mean**2, 0) / count)
    assert (np.abs(mean - expected) < 6 * error + 1e-3).all()
    without = walked_simply(made, regrets, count)
    assert np.abs(without - expected).max() > 0.02  # else the weights of third seats would not be seen


def walked_simply(made, regrets, count):
    """The mean of what is added where third seats are in the weights."""
    order = made.order()._replace(exact=False)
    total, work = np.zeros(len(regrets)), workspace(machine().depth, machine().words, machine().actions)
    for t in range(count):
        made.table.regret[:], made.table.average[:] = regrets, 0
        machine().train(made.walked_game, made.keys, made.table, made.mask(), made.base_player(), order, t, t + 1, work)
        total += made.table.average
    return total / count


def test_a_stitched_strategy_is_its_pieces():
    whole, parts = blueprint_profile(base().played(), tree()), {}
    for part, seats in (("r", (0, 1, 2)), ("cr", (0,)), ("ccr", (1, 2))):
        by_seat = {}
        for seat in range(3):
            other = tuple((seat + k) % 3 for k in range(len(seats)))
            by_seat[seat] = by_seat[0] if len(seats) == 3 and seat else expert(part, other)
        parts[part] = by_seat
    made = stitched(base(), parts)
    found, infosets = blueprint_profile(made, tree()), tree().infosets
    assert not made.store.trainable and layout_of(made).rows.parts == ("r", "cr", "ccr")
    for seat in range(3):
        for at in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            done = infosets.labels[at].partition(":")[2]
            part = next((part for part in ("ccr", "cr", "r") if done.startswith(part)), None)
            columns = slice(infosets.first[at], infosets.first[at] + infosets.width[at])
            if part is None:
                np.testing.assert_array_equal(found.probabilities[columns], whole.probabilities[columns])
                continue
            source = parts[part][seat].played()
            key = machine().keys_of(source.view, seat, [infosets.labels[at]], [2])
            share = source.table.share[int(key[0]) - 1 :][: infosets.width[at]]
            np.testing.assert_allclose(found.probabilities[columns], share / share.sum())


def test_only_needed_averages_are_kept():
    made = expert("r", (1,), iterations=0)
    layout = layout_of(made)
    first, last = layout.seat_start[1:3]
    assert len(made.table.average) == last - first < layout.columns and int(made.table.low) == first
    assert layout.columns_by_seat[1] < layout.columns_by_seat[0]  # outside of the part it learns nothing


# Files


def test_training_goes_on_as_if_never_stopped(tmp_path):
    once, twice = (placed_blueprint(machine(), RowPlan((COARSE,)), seed=3) for _ in range(2))
    once.train(iterations=1200)
    twice.train(iterations=700)
    twice.save(tmp_path / "b")
    again = load_blueprint(tmp_path / "b", game=machine())
    again.train(iterations=1200)
    assert again.sha256 == once.sha256
    onto = expert("r", (0, 1, 2), 50)
    onto.save(tmp_path / "e")
    back = load_blueprint(tmp_path / "e", game=machine())
    with pytest.raises(SolverError, match="not the base"):
        back.rebased(once)
    back = back.rebased(base())
    back.train(iterations=400)
    assert back.sha256 == expert("r", (0, 1, 2), 400).sha256


def test_bytes_are_near(tmp_path):
    made = base()
    exact, rounded = (blueprint_profile(each, tree()).probabilities for each in (made, made.played()))
    assert 0 < np.abs(exact - rounded).max() <= 2 / 255
    made.played().save(tmp_path / "p")
    held = load_blueprint(tmp_path / "p", game=machine())
    assert held.sha256 == made.played().sha256
    with pytest.raises(SolverError, match="cannot be trained"):
        held.train(iterations=10_000)


@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_write_the_same_bytes(monkeypatch, threads):
    """Whatever each of them takes: no row is left out, and none is written by two."""
    whole = placed_blueprint(machine(), RowPlan((FINE,)), seed=3)
    whole.train(iterations=400)
    every = whole, expert("r", (1,))
    alone = [made.store.shares() for made in every]
    monkeypatch.setattr(placed_rows, "PIECE", 1)
    monkeypatch.setattr(placed_rows, "cores", lambda: threads)
    for made, bytes_of_one in zip(every, alone, strict=True):
        assert made.store.trainable and bytes_of_one.any()
        np.testing.assert_array_equal(made.store.shares(), bytes_of_one)


def test_threads_clear_all_columns(monkeypatch):
    monkeypatch.setattr(placed_rows, "PIECE", 1)
    monkeypatch.setattr(placed_rows, "cores", lambda: 7)
    made = placed_blueprint(machine(), RowPlan((FINE,)))
    for array in (made.table.regret, made.table.average):
        array.fill(np.nan)
    made.store.warm_up(False)
    assert not made.table.regret.any() and not made.table.average.any()


@pytest.mark.parametrize("harm", ["short", "nan", "negative", "buckets", "parts", "counts"])
def test_damaged_files_are_refused(tmp_path, harm):
    from kibitz.core import store

    base().save(tmp_path / "b")
    held = store.load(tmp_path / "b", "blueprint")
    arrays, meta = {name: np.array(x) for name, x in held.arrays.items()}, dict(held.meta)
    if harm == "short":
        arrays["regret"] = arrays["regret"][:-1]
    elif harm == "nan":
        arrays["regret"][0] = np.nan
    elif harm == "negative":
        arrays["average"][0] = -1
    elif harm == "buckets":
        arrays["buckets_digest"] = arrays["buckets_digest"][::-1]
    elif harm == "parts":
        meta["rows"] = {**meta["rows"], "parts": ["rx"], "buckets": [COARSE, COARSE]}
    else:
        arrays["counts"] = arrays["counts"][:2]
    store.save(tmp_path / "c", "blueprint", arrays, meta)
    with pytest.raises(ArtefactError, match="not a complete blueprint"):
        load_blueprint(tmp_path / "c", game=machine())


def test_what_cannot_be(monkeypatch):
    with pytest.raises(GameError, match="by rounds"):
        placed_blueprint(machine_of("poker(file=leduc)"), RowPlan((COARSE,)))
    with pytest.raises(GameError, match="is not limit poker"):
        placed_blueprint(machine_of("kuhn"), RowPlan((COARSE,)))
    with pytest.raises(SolverError, match="infosets take"), monkeypatch.context() as patch:
        patch.setattr("kibitz.poker.blueprints.placed_rows.free_memory", lambda: 10)
        placed_blueprint(machine(), RowPlan((COARSE,)))


# Matches


def test_matches_agree_with_exact_values():
    """Six seatings of three players against the values on the tree."""
    from kibitz.evaluate import value

    made = stitched(base(), {"r": dict.fromkeys(range(3), expert("r", (0, 1, 2)))})
    players = [base().played(), made, "uniform"]
    found = match(machine(), *(agent(each, machine()) for each in players), deals=40_000, seed=4)
    profiles = [blueprint_profile(each, tree()) for each in players[:2]]
    infosets, start = tree().infosets, tree().infosets.seat_start
    widths = np.asarray(infosets.width)
    every = [profile.probabilities for profile in profiles] + [np.repeat(1 / widths, widths)]
    column = [int(infosets.first[at]) if at < len(widths) else len(every[0]) for at in start]
    from itertools import permutations

    won = np.zeros(3)
    for seating in permutations(range(3)):
        mixed = np.concatenate([every[who][column[s] : column[s + 1]] for s, who in enumerate(seating)])
        worth = value(tree(), replace_probabilities(profiles[0], mixed))
        won[list(seating)] += np.array(worth) / 6
    for who in range(3):
        low, high = found.scores[who].interval
        assert low - (high - low) < won[who] < high + (high - low)
    assert sum(score.mean for score in found.scores) == pytest.approx(0, abs=1e-9)


def replace_probabilities(profile, probabilities):
    from kibitz.forms.profile import Profile

    return Profile(profile.infosets, probabilities, profile.meta)


def test_nobody_wins_from_copies_of_himself():
    one = agent(base().played(), machine())
    found = match(machine(), one, agent(base().played(), machine()), agent(base().played(), machine()), deals=300)
    assert [score.mean for score in found.scores] == [0.0] * 3
