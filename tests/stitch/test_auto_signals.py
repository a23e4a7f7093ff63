"""Where a strategy loses: shares of NashConv by infoset and part, against the definition; cuts; the programme."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from random_games import RandomGame

import kibitz
from kibitz.evaluate.infosets import infoset_values
from kibitz.forms.sequence import form_of
from kibitz.games.leduc import Leduc
from kibitz.games.tree import tree_of
from kibitz.poker.buckets.expectation import allocate
from kibitz.stitch.auto.cuts import Cut, cuts, prefix_name
from kibitz.stitch.auto.programme import best_set
from kibitz.stitch.auto.signals import by_part, losses, part_reach
from kibitz.stitch.partition import TreeParts, partition

GAMES = ["kuhn", "leduc(suit_isomorphism=true)", "liars_dice(dice_sides=3)", "toepen(suits=2, ranks=2, hand=2)"]


def losses_by_definition(tree, probabilities):
    """u(b) - u(s), infoset by infoset, from the tree alone: best responses by walking all histories."""
    infosets, lost = tree.infosets, np.zeros(len(tree.infosets.labels))
    children = [[] for _ in range(tree.histories)]
    for h in range(1, tree.histories):
        children[tree.parent[h]].append(h)
    ends = {int(h): k for k, h in enumerate(np.flatnonzero(tree.turn == -2))}

    def step(h):  # the probability of the move that leads to h
        up = tree.parent[h]
        return tree.chance[h] if tree.turn[up] < 0 else probabilities[infosets.first[tree.infoset[up]] + tree.action[h]]

    for seat in range(tree.players):
        own, others = np.ones(tree.histories), np.ones(tree.histories)
        for h in range(1, tree.histories):
            up = tree.parent[h]
            own[h] = own[up] * (step(h) if tree.turn[up] == seat else 1.0)
            others[h] = others[up] * (1.0 if tree.turn[up] == seat else step(h))
        depth = np.zeros(tree.histories, int)
        for h in range(1, tree.histories):  # own decisions before
            depth[h] = depth[tree.parent[h]] + (tree.turn[tree.parent[h]] == seat)
        mine = [i for i in range(len(lost)) if infosets.seat_of(i) == seat]
        members = {i: np.flatnonzero((tree.turn == seat) & (tree.infoset == i)) for i in mine}
        best: dict[int, int] = {}

        def value(h, best=best, seat=seat):
            if h in ends:
                return tree.payoff[ends[h], seat]
            if tree.turn[h] == seat:
                return value(children[h][best[int(tree.infoset[h])]])
            return sum(step(c) * value(c) for c in children[h] if step(c) > 0.0)

        # With perfect recall a seat has decided as often before in all histories of an infoset.
        for i in sorted(mine, key=lambda i: -depth[members[i][0]]):
            worth = [
                sum(others[h] * value(children[h][a]) for h in members[i] if others[h] > 0.0)
                for a in range(int(infosets.width[i]))
            ]
            best[i] = int(np.argmax(worth))
            played = probabilities[infosets.first[i] : infosets.first[i + 1]]
            lost[i] = own[members[i][0]] * (max(worth) - float(played @ np.array(worth)))
    return lost


def drawn(tree, seed):
    from kibitz.forms.sequence import normalise

    weights = np.random.default_rng(seed).standard_exponential(int(tree.infosets.first[-1]))
    return normalise(np.where(weights < 0.3, 0.0, weights), tree.infosets)


@pytest.mark.parametrize("seed", range(6))
def test_losses_are_those_of_the_definition(seed):
    tree = tree_of(RandomGame(seed, players=2 + seed % 2, recall="perfect"))
    probabilities = drawn(tree, seed)
    lost = losses(form_of(tree), probabilities)
    assert lost == pytest.approx(losses_by_definition(tree, probabilities), abs=1e-12)
    assert lost.sum() == pytest.approx(form_of(tree).measure(probabilities).nash_conv, abs=1e-12)


@pytest.mark.parametrize("spec", [*GAMES, "leduc(players=3, ranks=3, suits=2, cap=1, suit_isomorphism=true)"])
def test_losses_of_parts_sum_to_the_whole(spec):
    tree = tree_of(kibitz.game(spec))
    form = form_of(tree)
    for seed in range(2):
        probabilities = drawn(tree, seed)
        lost, whole = losses(form, probabilities), form.measure(probabilities).nash_conv
        assert (lost >= 0.0).all() and lost.sum() == pytest.approx(whole, rel=1e-9)
        part = np.random.default_rng(seed).integers(0, 5, len(lost))
        parts = by_part(lost, part, 7)
        assert len(parts) == 7 and parts.sum() == pytest.approx(whole, rel=1e-9) and (parts[5:] == 0.0).all()


def test_nothing_is_lost_at_an_equilibrium_but_beside_it():
    game = kibitz.game("kuhn")
    profile = kibitz.solve(game, "lp")
    form = form_of(tree_of(game))
    assert losses(form, profile.probabilities).sum() == pytest.approx(0.0, abs=1e-9)
    worse = profile.probabilities.copy()
    at = profile.infosets.find(1, "K:p")  # after a pass, with the best card
    worse[profile.infosets.first[at] : profile.infosets.first[at + 1]] = [1.0, 0.0]  # passes too
    lost = losses(form, worse)
    assert lost[at] > 0.01 and lost.sum() == pytest.approx(form.measure(worse).nash_conv)


def test_reach_of_a_part_is_the_share_of_plays_that_enter_it():
    tree = tree_of(kibitz.game("leduc(suit_isomorphism=true)"))
    form, probabilities = form_of(tree), drawn(tree, 1)
    profile = kibitz.Profile(tree.infosets, probabilities, {"game": tree.spec, "tree": tree.digest})
    reach = infoset_values(tree, profile).reach
    raised = partition(tree, "prefix(r)").part == 1
    weight = np.ones(tree.histories)  # of histories, by walking; then those that first enter the part
    for h in range(1, tree.histories):
        up = tree.parent[h]
        column = tree.infosets.first[tree.infoset[up]] + tree.action[h]
        weight[h] = weight[up] * (tree.chance[h] if tree.turn[up] < 0 else probabilities[column])
    inside = (tree.turn >= 0) & raised[np.maximum(tree.infoset, 0)]
    entered = np.zeros(tree.histories, bool)
    total = 0.0
    for h in range(tree.histories):
        before = h > 0 and entered[tree.parent[h]]
        total += weight[h] if inside[h] and not before else 0.0
        entered[h] = before or inside[h]
    assert part_reach(form, reach, raised) == pytest.approx(total)
    assert part_reach(form, reach, np.ones(len(reach), bool)) == pytest.approx(1.0)
    assert part_reach(form, reach, np.zeros(len(reach), bool)) == 0.0


# Cuts


@pytest.mark.parametrize("spec", GAMES)
def test_cuts_are_parts_that_their_names_say(spec):
    game = kibitz.game(spec)
    tree = tree_of(game)
    lost = losses(form_of(tree), drawn(tree, 3))
    every = cuts(TreeParts(tree, game, ""), lost, 12)
    assert every and len({cut.here.tobytes() for cut in every}) == len(every) <= 12
    lost_there = [lost[cut.here].sum() for cut in every]
    assert lost_there == sorted(lost_there, reverse=True)
    for cut in every:
        assert ((partition(game, cut.name).part == 1) == cut.here).all(), cut.name


def test_cuts_that_do_not_fit_are_cut_again():
    game = kibitz.game("leduc(suit_isomorphism=true)")
    tree = tree_of(game)
    lost = losses(form_of(tree), drawn(tree, 3))
    small = cuts(TreeParts(tree, game, ""), lost, 8, lambda cut: cut.size <= 60)
    assert len(small) == 8 and max(cut.size for cut in small) <= 60


def test_names_of_prefixes():
    assert prefix_name(("call", "raise"), {"fold", "call", "raise"}) == "prefix(cr)"
    assert prefix_name(("1-2", "2-1"), {"1-1", "1-2", "2-1"}) == "prefix(1-2.2-1)"
    assert prefix_name(("a", "b"), {"a", "b", "ab"}) == "prefix(a.b)"


def test_rounds_are_parts():
    game = kibitz.game("leduc(suit_isomorphism=true)")
    part = partition(game, "round(2)").part
    assert part.sum() == sum("/" in label for label in tree_of(game).infosets.labels)
    with pytest.raises(kibitz.KibitzError, match="condition 3"):
        partition(game, "round(1, 2)")
    for wrong in ("round()", "round(3)", "round(1, 1)"):
        with pytest.raises(kibitz.KibitzError, match="different rounds of 1, 2"):
            partition(game, wrong)
    with pytest.raises(kibitz.KibitzError, match="method private"):
        partition("goofspiel(num_cards=3)", "round(1)")


# The programme


def by_trying_all(gain, conflicts, extra, costs):
    best, most = [], 0.0
    for choice in itertools.product((0, 1), repeat=len(gain)):
        x = np.array(choice)
        if any(x[a] and x[b] for a, b in conflicts) or any(np.dot(c, x) > limit + 1e-9 for c, limit in costs):
            continue
        value = float(np.dot(gain, x)) + sum(e for (a, b), e in extra.items() if x[a] and x[b])
        if value > most + 1e-9:
            best, most = list(np.flatnonzero(x)), value
    return best, most


@pytest.mark.parametrize("seed", range(12))
def test_the_programme_finds_what_trying_all_finds(seed):
    rng = np.random.default_rng(seed)
    n = 8
    gain = rng.uniform(-0.1, 0.4, n).tolist()
    pairs = list(itertools.combinations(range(n), 2))
    conflicts = [pair for pair in pairs if rng.random() < 0.2]
    extra = {pair: float(rng.uniform(-0.2, 0.1)) for pair in pairs if pair not in conflicts}
    costs = [(rng.uniform(1, 9, n).tolist(), 15.0), ([1.0] * n, 4.0)]
    _, most = by_trying_all(gain, conflicts, extra, costs)
    chosen = best_set(gain, conflicts, extra, costs)
    value = sum(gain[k] for k in chosen) + sum(e for (a, b), e in extra.items() if a in chosen and b in chosen)
    assert value == pytest.approx(most, abs=1e-6) and not any(a in chosen and b in chosen for a, b in conflicts)
    assert all(sum(cost[k] for k in chosen) <= limit + 1e-9 for cost, limit in costs)


@pytest.mark.parametrize("seed", range(4))
def test_with_one_resource_it_is_the_allocation_of_gs2(seed):
    """Each parent has 1, 2, ... children: candidates (parent, children), one a parent, within a budget of buckets."""
    rng = np.random.default_rng(seed)
    errors = [np.sort(rng.uniform(0.0, 1.0, 4))[::-1].copy() for _ in range(4)]
    children = allocate(errors, 9)
    least = sum(float(errors[p][k - 1]) for p, k in enumerate(children))
    candidates = [(p, k) for p in range(4) for k in range(2, 5)]
    gain = [float(errors[p][0] - errors[p][k - 1]) for p, k in candidates]
    conflicts = [(a, b) for a, b in itertools.combinations(range(12), 2) if candidates[a][0] == candidates[b][0]]
    chosen = best_set(gain, conflicts, None, [([k - 1.0 for _, k in candidates], 9.0 - 4.0)])
    assert sum(float(e[0]) for e in errors) - sum(gain[k] for k in chosen) == pytest.approx(least)


def test_the_programme_leaves_out_what_gains_nothing():
    assert best_set([]) == [] and best_set([-1.0, 0.0]) == [] and best_set([1.0, 2.0], [(0, 1)]) == [1]
    assert best_set([1.0, 1.0], [], {(0, 1): -0.5}) == [0, 1] and len(best_set([1.0, 1.0], [], {(0, 1): -1.5})) == 1


def test_cut_sizes():
    assert Cut("a", np.array([True, False, True])).size == 2
    assert not Cut("a", np.array([True, False])).overlaps(Cut("b", np.array([False, True])))


class NamedParts(Leduc):
    """Leduc hold'em that names two parts of its own: a pair with the board, and a high card without one."""

    def part(self, infoset):
        holding, at = self.private(infoset)
        if at < 2:
            return ""
        return "paired" if infoset.count(holding) > 1 else "high card" if holding == "K" else ""


def test_a_games_own_parts_are_cuts():
    game = NamedParts(suit_isomorphism=True)
    tree = tree_of(game)
    names = [game.part(label) for label in tree.infosets.labels]
    assert set(names) == {"", "paired", "high card"}
    both = partition(game, "own()")
    assert both.names == ("base", "high card", "paired")
    lost = np.random.default_rng(0).random(len(names))
    every = cuts(TreeParts(tree, game, "auto"), lost, 99)
    for name in ("paired", "high card"):
        here = np.array([each == name for each in names])
        assert ((partition(game, f"own({name})").part == 1) == here).all()
        assert any((cut.here == here).all() and cut.name == f"own({name})" for cut in every)
    with pytest.raises(kibitz.KibitzError, match="should name different parts of"):
        partition(game, "own(middle)")
    with pytest.raises(kibitz.KibitzError, match=r"method part\(infoset\)"):
        partition("kuhn", "own()")
