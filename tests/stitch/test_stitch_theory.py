"""The theorems of grafting, with numbers, and stitching beyond poker."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from stitched import KUHN, KUHN3, LEDUC, PLAIN, PREFIXES, random_profile, same

import kibitz
from kibitz.evaluate import best_response, nash_conv, value
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.stitch import cohere, dynamic, experts, join, partition, rebuild_base, static

# Theory of grafting, with numbers


@pytest.mark.parametrize("solver", ["lp", "cfr+"])
@pytest.mark.parametrize(
    ("game", "source"),
    [
        (KUHN, "prefix(p, b)"), (KUHN, "private(J, Q, K)"), (PLAIN, PREFIXES), (PLAIN, "private(J, Q, K)"),
        (PLAIN, "private(J, Q, K, round=2)"), (LEDUC, "prefix(r, cr)"),
    ],
)  # fmt: skip
@pytest.mark.some(5)
def test_grafts_in_the_null_abstraction_keep_the_value(game, source, solver):
    """Each graft alone stays an equilibrium strategy; all together get the value against the base's other seat (the
    theorem says no more: several grafts together may be exploitable by others)."""
    tree, parts = tree_of(game), partition(game, source)
    base = kibitz.solve(tree, "lp", abstraction="suits")  # loses nothing
    worth = value(tree, base)
    stitched = static(tree, base, parts, "each", "suits", solver=solver, until=5e-5, iterations=20_000)
    assert value(tree, stitched) == pytest.approx(worth, abs=1e-4)
    for seat in (0, 1):
        mine = {(seat, j): stitched for j in range(1, parts.parts + 1) if seat in parts.seats_in(j)}
        assert value(tree, join(base, parts, mine)) == pytest.approx(worth, abs=1e-4)
        for key in mine:
            alone = join(base, parts, {key: stitched})
            assert best_response(tree, alone, 1 - seat).value == pytest.approx(worth[1 - seat], abs=1e-4)


def bases():
    tree = tree_of(PLAIN)
    uniform = Profile(tree.infosets, form_of(tree).uniform(), {"tree": tree.digest, "abstraction": "null"})
    found = {"uniform": uniform, "random": random_profile(tree, np.random.default_rng(11), pure=0.2)}
    return found | {name: kibitz.solve(tree, "lp", abstraction=name) for name in ("JQ.K", "J.QK", "J.Q.K")}


def seat_from(tree, one, other, seat):
    """`one` with a seat's strategy from `other`."""
    start, first = tree.infosets.seat_start, tree.infosets.first
    probabilities = one.probabilities.copy()
    where = slice(first[start[seat]], first[start[seat + 1]])
    probabilities[where] = other.probabilities[where]
    return Profile(tree.infosets, probabilities, {"tree": tree.digest})


@pytest.mark.parametrize("source", [PREFIXES, "prefix(rr, cc)", "private(J, Q, K)", "private(Q, K, round=2)"])
@pytest.mark.parametrize(("solver", "limit"), [("lp", 1), ("cfr+", 12)])
@pytest.mark.some(3)
def test_theorem_one(source, solver, limit):
    """[Waugh et al. 2009, Theorem 1]: against σ2, an ε-best response to the base σ1, the grafted strategy gains the sum
    of what each graft gains alone, and no less than -3pε. The opponent: in null; and (Corollary 1) in the base's
    abstraction, σ2 being the other half of its equilibrium."""
    tree, parts = tree_of(PLAIN), partition(PLAIN, source)
    for (name, base), seat in itertools.product(bases().items(), (0, 1)):
        answers = [("null", best_response(tree, base, 1 - seat).profile)]
        if name not in ("uniform", "random"):
            answers.append((name, base))
        for space, answer in answers:
            gaps = []
            stitched = static(
                tree, base, parts, [[seat]], "null", space, space, solver=solver, iterations=limit, jobs=1,
                on_expert=lambda expert, profile, gaps=gaps: gaps.append(nash_conv(expert.game.tree, profile)),
            )  # fmt: skip
            before = seat_from(tree, base, answer, 1 - seat)
            worth = value(tree, before)[seat]
            grafted = seat_from(tree, stitched, answer, 1 - seat)
            gain = value(tree, grafted)[seat] - worth
            grafts = [join(before, parts, {(seat, j): stitched}) for j in range(1, parts.parts + 1)]
            gains = [value(tree, graft)[seat] - worth for graft in grafts]
            assert gain == pytest.approx(sum(gains), abs=1e-12)
            assert len(gaps) == parts.parts
            assert gain >= -3 * parts.parts * max(gaps) - 1e-9, (name, seat, space)
            assert all(g >= -3 * gap - 1e-9 for g, gap in zip(gains, gaps, strict=True))
            if solver == "lp" and name in ("random", "uniform"):
                assert gain > 0.1  # a bad base is improved for certain
    # The same utilities by hand, for the last of them.
    for profile in (before, grafted, grafts[0]):
        np.testing.assert_allclose(value(tree, profile), naive.value(PLAIN, naive.as_dict(profile)), atol=1e-12)
    rows = [naive.as_dict(p) for p in (before, grafted, *grafts)]
    by_hand = [naive.value(PLAIN, row)[seat] for row in rows]
    assert by_hand[1] - by_hand[0] == pytest.approx(sum(x - by_hand[0] for x in by_hand[2:]), abs=1e-12)


def test_experts_earn_more_than_the_base():
    """Held in 24 of 24 starts: Dynamic and S={i} are less exploitable than Base, for JQ.K and J.QK."""
    tree = tree_of(LEDUC)
    for name in ("JQ.K", "J.QK"):
        base = kibitz.solve(tree, "cfr+", abstraction=name, until=1e-4)
        grafted = static(tree, base, PREFIXES, "each", "suits", until=1e-3)
        together = dynamic(tree, PREFIXES, [name, "suits"], until=1e-3)
        gaps = [nash_conv(tree, p) for p in (together, grafted, base)]
        assert max(gaps[:2]) < gaps[2]


# Beyond poker


def stitch_every_way(game, source, outside, seats, rounds=2):
    """All kinds of stitching on a game: the profiles, checked to be distributions and measured in the real game."""
    tree = tree_of(game)
    base = kibitz.solve(game, "cfr+", iterations=8, abstraction=outside)
    parts = partition(game, source)
    found = {"base": base}
    for how in seats:
        found[str(how)] = static(game, base, parts, how, outside=outside, iterations=8)
    found["dynamic"] = dynamic(game, parts, [outside, "null"] if parts.parts else [outside], iterations=8)
    found["rebuilt"] = rebuild_base(game, found[str(seats[0])], parts, outside, iterations=8)
    gaps = []
    found["coherent"] = cohere(game, base, parts, rounds, lambda number, gap: gaps.append(gap), seats=seats[0],
                               outside=outside, iterations=8)  # fmt: skip
    for name, profile in found.items():
        sums = np.bincount(tree.infosets.row_of_column, profile.probabilities)
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-9, err_msg=name)
        assert np.isfinite(nash_conv(tree, profile)) and profile.meta["tree"] == tree.digest
    assert 1 <= len(gaps) <= rounds
    assert nash_conv(tree, found["coherent"]) == pytest.approx(min(*gaps, nash_conv(tree, base)), abs=1e-12)
    # The experts leave part 0 alone, the rebuilt base leaves the experts alone.
    zero = (parts.part == 0)[tree.infosets.row_of_column]
    for how in seats:
        assert found[str(how)].probabilities[zero].tobytes() == base.probabilities[zero].tobytes()
    assert found["rebuilt"].probabilities[~zero].tobytes() == found[str(seats[0])].probabilities[~zero].tobytes()
    return found


THREE = ["each", "all", [0, 2], [[0, 1], [1, 2], [2, 0]]]


def own_first_card(seat, infoset):
    """Goofspiel: the seat's own first bid, from the second round on."""
    rounds = infoset.split()[1:-1]
    return int(rounds[0].partition(":")[2].split("-")[seat]) if rounds else 0


def pairs(seat, infoset):
    """Buckets for Liar's Dice: the two lower faces are alike."""
    dice, _, bids = infoset.partition(":")
    return min(dice, "2") if dice < "3" else dice, bids


def test_three_player_kuhn_by_prefix():
    found = stitch_every_way(KUHN3, "prefix(p)", "JQ.KA", THREE)
    tree = tree_of(KUHN3)
    assert len({found[str(how)].sha256 for how in THREE}) == 4
    plain = naive.as_dict(found["[0, 2]"])
    np.testing.assert_allclose(value(tree, found["[0, 2]"]), naive.value(KUHN3, plain), atol=1e-12)


def test_three_player_leduc_by_prefix(tree3):
    base = kibitz.solve(tree3, "cfr+", abstraction="J.QK", iterations=2)
    for seats in ([0, 2], [[0, 1], [1, 2], [2, 0]]):
        stitched = static(tree3, base, "prefix(r, cr)", seats, "suits", iterations=2)
        assert np.isfinite(nash_conv(tree3, stitched))
        assert stitched.meta["stitch"]["seats"] == seats
        assert stitched.meta["stitch"]["experts"] == (2 if seats == [0, 2] else 6)


def test_liars_dice_by_bids():
    stitch_every_way(kibitz.game("liars_dice(dice_sides=3)"), "prefix(1-1, 1-2, 2)", pairs, ["each", "all", [0, 1]])
    stitch_every_way(kibitz.game("liars_dice(dice_sides=4)"), "prefix(1-1.1-2, 1-3)", pairs, ["each"], rounds=1)


def test_goofspiel_by_the_first_card():
    game = kibitz.game("goofspiel(num_cards=4, points_order=descending)")
    parts = partition(game, own_first_card)
    assert parts.parts == 4 and parts.part[0] == 0
    stitch_every_way(game, own_first_card, "null", ["each", "all"], rounds=1)
    three = kibitz.game("goofspiel(players=3, num_cards=3, points_order=descending)")
    stitch_every_way(three, own_first_card, "null", THREE, rounds=1)


def test_games_of_openspiel():
    pytest.importorskip("pyspiel")

    def low(seat, infoset):
        return infoset.replace("0", "1", 1) if infoset.startswith("0") else infoset

    theirs = kibitz.game("openspiel:kuhn_poker")
    found = stitch_every_way(theirs, "prefix(P)", low, ["each", "all"])
    # It is the same game: the same numbers come out of ours.
    ours = static(KUHN, kibitz.solve(KUHN, "cfr+", abstraction="JQ.K", iterations=8), "prefix(p)", iterations=8)
    assert nash_conv(theirs, found["each"]) == pytest.approx(nash_conv(KUHN, ours), abs=1e-9)
    assert value(theirs, found["each"]) == pytest.approx(value(KUHN, ours), abs=1e-9)


def test_leduc_of_openspiel():
    pytest.importorskip("pyspiel")
    theirs, ours = kibitz.game("openspiel:leduc_poker"), LEDUC
    tree = tree_of(theirs)
    base = kibitz.solve(theirs, "cfr+", iterations=5)
    assert [e.size for e in experts(theirs, base, "prefix(R, CR, CCR, CCCR)", "all")] == [
        e.size for e in experts(ours, kibitz.solve(ours, "cfr+", iterations=1), PREFIXES, "all")
    ]
    stitched = static(theirs, base, "prefix(Raise, Call.Raise)", "each", outside="null", iterations=5)
    same_here = static(ours, kibitz.solve(ours, "cfr+", iterations=5), "prefix(r, cr)", "each", outside="null",
                       iterations=5)  # fmt: skip
    np.testing.assert_allclose(value(tree, stitched), value(ours, same_here), rtol=0, atol=1e-9)
    assert nash_conv(tree, stitched) == pytest.approx(nash_conv(ours, same_here), abs=1e-9)


def test_dynamic_experts_as_a_base():
    """ "One possibility is to use a dynamic expert strategy as a base strategy of a static expert strategy"."""
    base = dynamic(PLAIN, "prefix(r)", ["JQ.K", "suits"], iterations=20)
    stitched = static(PLAIN, base, "prefix(r, cr)", iterations=20)
    assert stitched.meta["base"]["stitch"]["kind"] == "dynamic" and stitched.meta["abstraction"] == "JQ.K"
    again = static(PLAIN, stitched, "private(K)", iterations=5)
    assert again.meta["base"]["stitch"]["partition"] == "prefix(r, cr)"


def test_cohesion_does_no_harm():
    base = kibitz.solve(PLAIN, "lp")
    equilibrium = cohere(PLAIN, base, "prefix(r, cr)", rounds=2, outside="null", iterations=3)
    assert nash_conv(PLAIN, equilibrium) <= nash_conv(PLAIN, base) + 1e-15
    assert same(cohere(PLAIN, base, "prefix(r)", rounds=0), base)
    coarse = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", until=1e-3)
    gaps = []
    better = cohere(PLAIN, coarse, PREFIXES, 3, lambda number, gap: gaps.append((number, gap)), until=1e-3)
    assert [number for number, _ in gaps] == list(range(len(gaps)))
    assert nash_conv(PLAIN, better) == min(gap for _, gap in gaps) < nash_conv(PLAIN, coarse)
