"""Public chance sampling: what it learns on all boards is what the definition says, and where it goes is where full
CFR goes."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from bucketed import HOLDEM, lifted, random_buckets, random_probabilities, rules, two_views

import kibitz
from kibitz.core.errors import KibitzError, SolverError
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.hands import hands_of, hands_on
from kibitz.poker.sampled.pcs import Pcs
from kibitz.solvers import RunOptions, Task, make


def own_reach(form, whole, lift, seat, counted):
    """(infoset -> the seat's own reach, of actions at nodes that are counted)."""
    probabilities, nodes, held, _ = lift
    at = {(n, c): i for i, (n, c) in enumerate(zip(nodes.tolist(), held.tolist(), strict=True))}
    betting = form.betting

    def reach(node, cls):
        """Of the way to a node, with a class of hands on the board of its round."""
        above = int(betting.parent[node])
        if above < 0:
            return 1.0
        before = cls
        if betting.turn[above] < 0:  # cards came
            before = int(whole.cards.rounds[int(betting.round[node])].up[cls]) if betting.round[above] else cls
            return reach(above, before)
        found = reach(above, before)
        if betting.turn[above] == seat and counted[above]:
            i = at[above, before]
            found *= probabilities[whole.infosets.first[i] + betting.action[node]]
        return found

    return reach


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode island of 4 ranks", "flop hold'em of 12 cards"])
@pytest.mark.some(4)
def test_what_is_learnt_on_all_boards(name, seat):
    """Summed over boards as likely as they are dealt, regrets are those of the definition, with frozen rows as chance:
    for each hand of a row the others' reach times its own frozen one, times what the action is worth more."""
    form, classes, whole = two_views(name)
    probabilities = random_probabilities(form, 5)
    draw = np.random.default_rng(9)
    fixed = (form.betting.turn != seat) | (draw.random(len(form.betting)) < 0.3)
    poker = form.game
    frozen = Frozen(fixed, lambda node: form.at(probabilities, node), "some")
    game = ViewForm(poker, form.buckets, form.of_node, frozen)
    solver = Pcs(Task(None, game, None, probabilities, 0, 1), "pcs", False, np.float64)
    before = [each.copy() for each in solver.regret]
    learnt, kept = np.zeros_like(before[seat]), np.zeros_like(before[seat])
    ends = solver._ends
    weights = np.diff(np.concatenate(([0], ends))) / ends[-1]
    for board, weight in enumerate(weights.tolist()):
        solver.regret[seat][:], solver.average[seat][:], solver.iteration = before[seat], 0.0, 0
        solver._chunk = (0, np.array([board]))
        solver.step(1)
        learnt += weight * (solver.regret[seat] - before[seat])
        kept += weight * solver.average[seat]
        assert (solver.regret[1 - seat] == before[1 - seat]).all()
    # From the definition
    lift = lifted(form, classes, whole, probabilities)
    found = whole.infoset_values(lift[0])
    own, free = (own_reach(form, whole, lift, seat, c) for c in (fixed | True, ~fixed))
    deals = solver.boards.hands(0, solver.hole) * comb(len(solver.boards.deck) - solver.hole, solver.hole)
    regret, average = np.zeros(form.columns), np.zeros(form.columns)
    for i, (node, cls, row) in enumerate(zip(*(each.tolist() for each in lift[1:]), strict=True)):
        if form.betting.turn[node] != seat or fixed[node]:
            continue
        a, b = whole.infosets.first[i : i + 2]
        mine, played = found.values[a:b], lift[0][a:b]
        of_all = own(node, cls)
        others, frozen_own = found.reach[i] / of_all, of_all / free(node, cls)
        level = int(form.betting.round[node])
        # Pairs of hands that a board leaves alone, of all: one factor for a round, which no strategy depends on.
        board = sum(solver.boards.board[: level + 1])
        alone = _pairs(len(solver.boards.deck) - board, solver.hole) / _pairs(len(solver.boards.deck), solver.hole)
        form.at(regret, node)[row] += others * frozen_own * (mine - played @ mine) * deals * alone
        shares = whole.cards.rounds[level].share
        hands = solver.boards.hands(level, solver.hole) * float(shares[cls] / shares.sum())
        form.at(average, node)[row] += free(node, cls) * played * hands
    given = [np.zeros(form.columns) for _ in range(2)]
    for of, at, node, lane in solver._blocks():
        if of == seat and not fixed[node]:
            for target, source in zip(given, (learnt, kept), strict=True):
                here = form.at(target, node)
                here[:] = source.reshape(-1, solver._wide)[at : at + here.size, lane].reshape(here.shape)
    np.testing.assert_allclose(given[0], regret, rtol=1e-9, atol=1e-9 * np.abs(regret).max())
    np.testing.assert_allclose(given[1], average, rtol=1e-9, atol=1e-9 * np.abs(average).max())
    assert np.abs(regret).max() > 0


def _pairs(cards, hole):
    """Ways to deal two hands of so many cards."""
    return comb(cards, hole) * comb(cards - hole, hole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
def test_it_goes_where_full_cfr_goes(name):
    poker = rules(name)
    buckets, _ = random_buckets(poker, 3, 1)
    solver = make("pcs", Task(None, ViewForm(poker, [buckets]), None, None, 0, 2))
    full = bucket_form(poker, buckets)
    gaps = []
    for count in (50, 1950):
        solver.step(count)
        gaps.append(full.measure(solver.probabilities()).nash_conv)
    assert gaps[1] < 0.25 * gaps[0] and gaps[1] < 0.01 * full.scale


@pytest.mark.parametrize("weights", ["linear", "uniform"])
def test_threads_and_blocks_change_nothing(weights):
    form = two_views("turn hold'em of 10 cards")[0]
    found = []
    for threads, steps in ((1, [20]), (2, [20]), (2, [3, 17])):
        solver = make(f"pcs(weights={weights})", Task(None, form, None, None, 3, threads))
        for count in steps:
            solver.step(count)
        found.append(solver.probabilities())
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    other = make(f"pcs(weights={weights})", Task(None, form, None, None, 4, 1))
    other.step(20)
    assert (other.probabilities() != found[0]).any()


@pytest.mark.parametrize("name", ["kuhn", "leduc", "turn hold'em of 10 cards", "river hold'em of 10 cards"])
def test_hands_of_any_boards_are_those_of_each(name):
    """Boards of a batch, some of them twice, against the same boards one by one."""
    form = two_views(name)[0]
    solver = Pcs(Task(None, form, None, None, 0, 1), "pcs", False)
    boards, hole, sources = solver.boards, solver.hole, form.buckets
    last = np.random.default_rng(3).integers(0, len(boards.rounds[-1].total), 9)
    chain = [np.append(last, last[:2])]
    for level in range(solver.last, 0, -1):
        chain.insert(0, boards.rounds[level].above[chain[0]])
    for level, here in enumerate(chain):
        every = hands_of(boards, hole, level, chain[max(0, level - 1)], here, np.arange(len(here)), sources)
        for k in range(len(here)):
            shard = [slice(int(of[k]), int(of[k]) + 1) for of in chain]
            one = hands_on(boards, hole, level, shard, sources)
            for what in ("card", "last", "held", "up", "copies"):
                np.testing.assert_array_equal(getattr(every, what)[k], getattr(one, what)[0])
            np.testing.assert_array_equal(every.row[:, k], one.row[:, 0])


CARDS_FIRST = HOLDEM.format(rounds=2, bets="2 4", ones="1", suits=3, ranks=4, board="3 1")


def test_cards_may_come_before_the_first_bet(tmp_path):
    """Nothing is before the first round: a hand there is the same hand."""
    path = tmp_path / "first.game"
    path.write_text(CARDS_FIRST)
    rules = kibitz.game(f"poker(file={path})")
    form = ViewForm(rules, [random_buckets(rules, 3, 1)[0]])
    solver = Pcs(Task(None, form, None, None, 0, 1), "pcs", False)
    boards, here = solver.boards, solver._chains(0, 8)[0]
    hands = hands_of(boards, solver.hole, 0, here, here, np.arange(8), form.buckets)
    assert (hands.up == np.arange(boards.hands(0, solver.hole))).all()
    solver.step(20)
    assert np.isfinite(solver.probabilities()).all()


def test_a_run_that_was_stopped_goes_on(tmp_path):
    form = two_views("leduc")[0]
    straight = kibitz.solve(form, "pcs", iterations=30, seed=2)
    kibitz.solve(form, "pcs", iterations=12, seed=2, run=RunOptions(tmp_path / "a.checkpoint"))
    on = kibitz.solve(form, "pcs", iterations=30, seed=2, run=RunOptions(tmp_path / "a.checkpoint", resume=True))
    assert (straight.probabilities == on.probabilities).all()
    straight.save(tmp_path / "a.profile")
    again = kibitz.Profile.load(tmp_path / "a.profile")
    assert again.infosets.same(straight.infosets) and (again.probabilities == straight.probabilities).all()
    assert again.infosets.labels[5] == straight.infosets.labels[5]
    assert again.infosets.find(0, straight.infosets.labels[5]) == 5


def test_a_start_and_frozen_nodes_are_kept():
    form = two_views("leduc")[0]
    first = random_probabilities(form, 7)
    solver = make("pcs", Task(None, form, None, first, 0, 1))
    np.testing.assert_allclose(solver.probabilities(), first, rtol=1e-6)
    frozen = Frozen(form.betting.turn == 1, lambda node: form.at(first, node), "some")
    half = ViewForm(form.game, form.buckets, form.of_node, frozen)
    solver = make("pcs", Task(None, half, None, None, 0, 1))
    solver.step(10)
    found = solver.probabilities()
    for node in form.order.tolist():
        same = (form.at(found, node) == form.at(first, node)).all()
        assert same == (form.betting.turn[node] == 1)


def test_only_what_leads_to_something_learnt_is_gone_through():
    """An expert with S=N for the betting after a first raise: other segments are left out, and nothing changes."""
    form = two_views("leduc")[0]
    first = random_probabilities(form, 7)
    inside = np.array([text[:1] == "r" for text in form.betting.text])
    frozen = Frozen(~inside, lambda node: form.at(first, node), "some")
    part = ViewForm(form.game, form.buckets, form.of_node, frozen)
    assert not part.wanted.all() and part.size == int(form.rows[inside & form.deciding].sum())
    solver = make("pcs", Task(None, part, None, None, 0, 1))
    solver.step(25)
    everything = make("pcs", Task(None, ViewForm(form.game, form.buckets, form.of_node, frozen), None, None, 0, 1))
    everything.form.__dict__["wanted"] = np.ones_like(part.wanted)
    everything = Pcs(everything.task, "pcs", True)
    everything.step(25)
    assert len(everything.lanes.groups.lanes) >= len(solver.lanes.groups.lanes)
    np.testing.assert_allclose(solver.probabilities(), everything.probabilities(), rtol=1e-6, atol=1e-7)


def test_mistakes_are_sentences(monkeypatch):
    with pytest.raises(SolverError, match="does not compute NashConv"):
        kibitz.solve("poker(file=leduc)", "pcs", abstraction="percentile(2)", until=0.1)
    with pytest.raises(SolverError, match="is for two-player poker with buckets"):
        kibitz.solve("leduc", "pcs")
    with pytest.raises(KibitzError, match="weights="):
        kibitz.solve("poker(file=leduc)", "pcs(weights=other)", abstraction="percentile(2)")
    form = two_views("leduc")[0]
    with pytest.raises(SolverError, match="by sampling boards"):
        kibitz.solve(form, "cfr+")
    monkeypatch.setattr("kibitz.poker.sampled.pcs.free_memory", lambda: 1000)
    with pytest.raises(SolverError, match=r"takes about .* take fewer buckets"):
        kibitz.solve(form, "pcs")
