"""Segments of one shape as the lanes of a group: nothing depends on how many go together, to the byte."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from poker_games import GAMES, LARGER, limit, no_limit

from kibitz.core.errors import ArtefactError
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import RunOptions, Task, make
from kibitz.solvers.run import solve

MANY = {
    "two cards, many lanes": limit(2, 4, 2, (0, 2, 1), raises=2),
    "two cards, lanes of several shapes": limit(2, 4, 2, (0, 0, 1), raises=3, stacks=(7, 7)),
    "no limit": no_limit(2, 3, 1, (0, 1, 1), stacks=(6, 6)),
    "rhode island": LARGER["rhode island of 3 by 2, whole"],
    "leduc": GAMES["leduc"],
}


def forms(name, buckets=None):
    return {
        most: PokerForm(Poker(MANY[name]), buckets=buckets, most_lanes=most) for most in (1, 2, 5, 64)
    }  # fmt: skip


def test_lanes_are_segments_of_one_shape():
    for name, definition in MANY.items():
        form = PokerForm(Poker(definition))
        groups, betting = form.groups, form.betting
        assert sorted(segment for of_group in groups.lanes for segment in of_group) == list(range(len(form.levels)))
        for number, of_group in enumerate(groups.lanes):
            assert groups.group[of_group].tolist() == [number] * len(of_group)
            assert groups.lane[of_group].tolist() == list(range(len(of_group)))
            assert len({form.levels[segment] for segment in of_group}) == 1
            turns = {tuple(betting.turn[form.segments.node[segment]]) for segment in of_group}
            names = {
                tuple(betting.actions_of[node] for node in form.segments.node[segment] if betting.turn[node] >= 0)
                for segment in of_group
            }
            assert len(turns) == 1 and (len(names) == 1 or name == "no limit")
        # In limit games without stacks all segments of a round are alike.
        if definition.stacks is None:
            assert np.diff(groups.round_group).tolist() == [1] * definition.rounds
        else:
            assert max(map(len, groups.lanes)) > 1 and np.diff(groups.round_group).max() > 1


def test_tables_of_all_games_have_one_type():
    """Kernels are compiled for types: a table in another order of memory would have them compiled again."""
    kinds = {}
    for name, definition in {**GAMES, **MANY}.items():
        plain = PokerForm(Poker(definition))
        for form in (plain, PokerForm(Poker(definition), buckets=buckets_of(plain, 1, 3))):
            for field, array in form.table._asdict().items():
                kinds.setdefault(field, {}).setdefault(str(numba.typeof(array)), name)
    assert {field: found for field, found in kinds.items() if len(found) > 1} == {}


def buckets_of(form, seed, most):
    random = np.random.default_rng(seed)
    return [np.unique(random.integers(0, most, r.classes), return_inverse=True)[1] for r in form.cards.rounds]


@pytest.mark.parametrize("bucketed", [False, True])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "many" in name else name for name in MANY]
)
@pytest.mark.some(3)
def test_bytes_do_not_depend_on_lanes(name, bucketed):
    plain = PokerForm(Poker(MANY[name]))
    buckets = buckets_of(plain, 7, 6) if bucketed else None
    found, gaps = [], []
    random = np.random.default_rng(1)
    start = random.random(PokerForm(Poker(MANY[name]), buckets=buckets).columns)
    for form in forms(name, buckets).values():
        assert form.infosets.labels[5] == forms(name, buckets)[1].infosets.labels[5]
        for spec in ("dcfr+", "pcfr+(updates=simultaneous)"):
            solver = make(spec, Task(None, form, threads=2))
            solver.step(25)
            found.append((spec, solver.probabilities().tobytes()))
            if not bucketed:
                gaps.append((spec, solver.measure().nash_conv))
        # A figure of one's own for each column, there and back.
        assert (form.by_column(form.to_strategy(start)) == start).all()
        if not bucketed:
            weights = form.to_probabilities(form.to_strategy(start))
            value, best = form.measure(weights).value, form.measure(weights).best
            gaps.append(("random", float(value[0])))
            gaps.append(("best", float(best.sum())))
            gaps.append(("response", float(form.best_response(1, weights)[0])))
    assert len(set(found)) == 2
    for what in {what for what, _ in gaps}:
        figures = [gap for other, gap in gaps if other == what]
        assert figures == pytest.approx([figures[0]] * len(figures), rel=1e-12, abs=1e-12)


def test_fictitious_play_and_matrices_do_not_depend_on_lanes():
    for name in ("leduc", "two cards, lanes of several shapes"):
        one, many = forms(name)[1], forms(name)[64]
        second = int(one.seat_sequence[1])
        assert second == int(many.seat_sequence[1])
        random = np.random.default_rng(3)
        strategy = random.random(one.columns)
        plans = [form.plan(form.to_strategy(form.to_probabilities(form.to_strategy(strategy)))) for form in (one, many)]
        payoffs = [
            float(plan[:second] @ (form.payoff_matrix() @ plan[second:]))
            for form, plan in zip((one, many), plans, strict=True)
        ]
        assert payoffs[0] == pytest.approx(payoffs[1], rel=1e-12)
        assert payoffs[0] == pytest.approx(float(one.value(one.to_probabilities(one.to_strategy(strategy)))[0]))
        for form, plan in zip((one, many), plans, strict=True):
            form.best_plans(plan, 0, 3, 0.0)
        back = [form.to_probabilities(plan) for form, plan in zip((one, many), plans, strict=True)]
        np.testing.assert_allclose(back[0], back[1], atol=1e-12)


def test_a_state_in_another_order_is_refused(tmp_path):
    form = PokerForm(Poker(MANY["rhode island"]))
    space = PokerCfrState(form, None)
    assert space.state["lanes"].tolist() == [1, 7, 49]
    space.restore()
    space.state["lanes"][1] = 6
    with pytest.raises(ArtefactError, match="another order"):
        space.restore()
    # A run is resumed by the form it was begun with.
    game = Poker(GAMES["leduc"])
    solve(game, "cfr+", iterations=3, run=RunOptions(tmp_path / "run"))
    again = solve(game, "cfr+", iterations=6, run=RunOptions(tmp_path / "run", resume=True))
    assert again.probabilities.tobytes() == solve(game, "cfr+", iterations=6).probabilities.tobytes()
