"""Stitching: what it does not change, what it refuses, and what is saved of it."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
import stitch_naive
from stitched import KUHN, KUHN3, LEDUC, PLAIN, PREFIXES, from_dict, parts_of, random_profile, same

import kibitz
from kibitz.core.errors import GameError, KibitzError, SolverError
from kibitz.evaluate import nash_conv
from kibitz.forms.abstraction import abstraction
from kibitz.forms.profile import Profile
from kibitz.games.tree import tree_of
from kibitz.stitch import MaxInfosets, cohere, dynamic, experts, join, partition, rebuild_base, size_of_dynamic, static
from kibitz.stitch.columns import seed_of
from kibitz.stitch.experts import side_by_side

# What does not change


def test_joining_the_base_with_itself_gives_it_back():
    for game, source in ((LEDUC, PREFIXES), (KUHN, "private()"), (KUHN3, "prefix(p, b)")):
        tree, parts = tree_of(game), partition(game, source)
        base = random_profile(tree, np.random.default_rng(1))
        chosen = {(i, j): base for j in range(parts.parts + 1) for i in parts.seats_in(j)}
        joined = join(base, parts, chosen)
        assert same(joined, base) and same(join(base, parts, {}), base)
        other = random_profile(tree, np.random.default_rng(2))
        mixed = join(base, parts, {(i, j): other for i, j in chosen if (i, j) == (1, 1)})
        plain, ours, theirs = (naive.as_dict(p) for p in (mixed, base, other))
        numbers = parts_of(parts)
        assert plain == {k: theirs[k] if k[0] == 1 and numbers[k] == 1 else ours[k] for k in plain}
        assert mixed.meta["stitch"]["kind"] == "join" and mixed.meta["base"]["sha256"] == base.sha256


def test_a_part_that_holds_everything_is_the_plain_solve():
    """S=N and one part with all decisions: nothing is frozen."""
    for game in (KUHN, KUHN3, PLAIN):
        base = random_profile(tree_of(game), np.random.default_rng(3))
        stitched = static(game, base, lambda seat, infoset: 1, "all", iterations=30)
        assert same(stitched, kibitz.solve(game, "cfr+", iterations=30))
        coarse = static(game, base, lambda seat, infoset: 1, "all", inside="J.QK" if game != KUHN3 else "J.QKA",
                        iterations=30)  # fmt: skip
        name = "J.QK" if game != KUHN3 else "J.QKA"
        assert same(coarse, kibitz.solve(game, "cfr+", abstraction=name, iterations=30))


def everywhere(seat, infoset):
    """A bucket without the betting: it reaches from one part into the others."""
    cards, _, done = infoset.partition(":")
    last = done.replace("/", "")[-2:]
    return cards[:1], "/" in done, last


@pytest.mark.parametrize("source", ["null", "suits", "JQ.K", "JQ.K(recall=false)", "JQ.K(without=[raise])", everywhere])
def test_one_abstraction_in_all_parts_is_the_abstract_solve(source):
    if source is everywhere:
        offered = naive.offers(PLAIN)
        table = {key: (*everywhere(*key), tuple(actions)) for key, actions in offered.items()}
        source = from_dict(table)
    plain = kibitz.solve(PLAIN, "cfr+", abstraction=source, iterations=25)
    ready = abstraction(PLAIN, source)
    named = dict.fromkeys(("base", "r", "cr", "ccr", "cccr"), source)
    for given in ([source] * 5, [source, source], named, [ready] * 5, [ready, source]):
        stitched = dynamic(PLAIN, PREFIXES, given, iterations=25)
        assert stitched.sha256 == plain.sha256
        assert stitched.meta["abstraction"] == plain.meta["abstraction"] == ready.name
    size = len(naive.offers(stitch_naive.Derived(
        PLAIN, lambda key: ready.row[ready.infosets.find(*key)],
        dropped={(key, "raise") for key, a in naive.offers(PLAIN).items() if "without" in ready.name and "raise" in a},
    )))  # fmt: skip
    assert size_of_dynamic(PLAIN, PREFIXES, [source] * 5) == size


def test_experts_that_are_not_asked_for_keep_the_base():
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=20)
    parts = partition(PLAIN, "prefix(cr, ccr)")
    numbers, before = parts_of(parts), naive.as_dict(base)
    for seats, kept in (("each", {0, 1}), ("all", {0, 1}), ([1], {1}), ([[0, 1]], {0}), ([[1, 0]], {1}), ([[0]], {0})):
        after = naive.as_dict(static(PLAIN, base, parts, seats, iterations=20))
        for key, row in after.items():
            inside = numbers[key] > 0 and key[0] in kept
            assert inside or row == before[key]
        assert any(after[key] != before[key] for key in after if numbers[key] == 1)


# Errors


def test_bases_that_do_not_fit():
    base = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction="null")
    for call in (static, experts, rebuild_base):
        source = "prefix(r)"
        with pytest.raises(GameError, match="the base does not fit the game: it lacks infoset 'Jh:'"):
            call(LEDUC, base, source)
    same_names = kibitz.solve("leduc(ante=2)", "cfr+", iterations=1, abstraction="JQ.K")
    with pytest.raises(GameError, match="it was made for another game"):
        static(LEDUC, same_names, "prefix(r)", iterations=1)
    with pytest.raises(GameError, match="must be a profile"):
        static(KUHN, None, "prefix(p)", iterations=1)
    broken = base.replaced(np.where(np.arange(24) == base.infosets.first[2], np.nan, base.probabilities))
    with pytest.raises(GameError, match=f"no probability distribution at infoset '{base.infosets.labels[2]}'"):
        static(KUHN, broken, "prefix(p)", iterations=1)
    with pytest.raises(GameError, match="no probability distribution at infoset 'J:'"):
        static(KUHN, base.replaced(base.probabilities * 0.5), "prefix(p)", iterations=1)
    by_hand = Profile(tree_of(KUHN).infosets, base.probabilities.copy())  # says nothing of itself, but fits
    assert same(static(KUHN, by_hand, "prefix(p)", outside="null", iterations=3),
                static(KUHN, base, "prefix(p)", iterations=3))  # fmt: skip


@pytest.mark.parametrize(
    ("seats", "words"),
    [
        ("both", "use 'each'"), (5, "use 'each'"), (None, "use 'each'"), ([], "use 'each'"), ([[]], "use 'each'"),
        ([[0], []], "use 'each'"), ("", "use 'each'"), ([0, [1]], "mixes seats and lists of seats"),
        ([0, 0], "different numbers from 0 to 2"), ([3], "different numbers from 0 to 2"), ([-1], "different numbers"),
        ([0.5], "different numbers"), (["a"], "different numbers"), ([True], "different numbers"),
        ([[0, 3]], "different numbers"), ([[0, 1], [0, 2]], "builds the same seat's part twice"),
    ],
)  # fmt: skip
def test_seats_that_make_no_sense(seats, words):
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    with pytest.raises(SolverError, match=words):
        static(KUHN3, base, "prefix(p)", seats, iterations=1)


def test_seats_as_numpy_numbers(tmp_path):
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    stitched = static(KUHN3, base, "prefix(p)", np.array([0, 2]), iterations=1)
    assert same(stitched, static(KUHN3, base, "prefix(p)", [0, 2], iterations=1))
    stitched.save(tmp_path / "numbers.profile")


def test_a_seat_without_a_decision_there():
    base = kibitz.solve(KUHN3, "cfr+", iterations=1, abstraction="null")
    for seats in ([0], [[0, 1]]):
        with pytest.raises(GameError, match="seat 0 has no decisions in part 'b', so it cannot have an expert there"):
            static(KUHN3, base, "prefix(b)", seats, iterations=1)
    # Of several seats to keep some may decide nothing there: there is nothing to keep for them.
    assert [(e.seats, e.keeps) for e in experts(KUHN3, base, "prefix(b)", [0, 2])] == [((0, 2), (2,))]
    hybrid = experts(KUHN3, base, "prefix(b)", [[0, 1], [1, 2], [2, 0]])
    assert [(e.seats, e.keeps) for e in hybrid] == [((1, 2), (1,)), ((2, 0), (2,))]
    mixed = experts(KUHN3, base, "prefix(b, pb)", [[0, 1], [1, 2], [2, 0]])
    assert [(e.part, e.keeps) for e in mixed] == [(1, (1,)), (1, (2,)), (2, (0,)), (2, (2,))]
    with pytest.raises(GameError, match="seat 0 has no decisions in part 'b'"):
        experts(KUHN3, base, "prefix(pb, b)", [0])
    # S may hold a seat that decides nothing there [Gibson & Szafron 2011, Fig. 2b]: it is frozen throughout.
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", [[1, 0], [2, 0]])] == [(1,), (2,)]
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", "each")] == [(1,), (2,)]
    assert [e.keeps for e in experts(KUHN3, base, "prefix(b)", "all")] == [(1, 2)]
    parts = partition(KUHN3, "prefix(b)")
    with pytest.raises(GameError, match="seat 0 has no decisions in part 'b'"):
        join(base, parts, {(0, 1): base})
    with pytest.raises(GameError, match=r"there is no part 2: parts are 0 to 1 \(base, b\)"):
        join(base, parts, {(0, 2): base})
    other = kibitz.solve(KUHN, "cfr+", iterations=1)
    with pytest.raises(GameError, match="the expert was made for another game"):
        join(base, parts, {(1, 1): other})
    with pytest.raises(GameError, match="the partition was made for another game"):
        join(other, parts, {})


def test_a_base_that_does_not_say_its_abstraction():
    by_function = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction=lambda seat, infoset: infoset)
    by_table = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction={})

    def suits(seat, infoset):  # a function may have any name: it is not taken for the abstraction of that name
        return infoset[1:]

    misnamed = kibitz.solve(KUHN, "cfr+", iterations=2, abstraction=suits)
    for base in (by_function, by_table, misnamed):
        with pytest.raises(SolverError, match="give outside=NAME, the abstraction that free opponents play in"):
            static(KUHN, base, "prefix(p)", iterations=1)
        with pytest.raises(SolverError, match="give outside=NAME, the abstraction that part 0 is solved in"):
            rebuild_base(KUHN, base, "prefix(p)", iterations=1)
        static(KUHN, base, "prefix(p)", "all", iterations=1)  # no free opponents: nobody needs it
        static(KUHN, base, "prefix(p)", outside="null", iterations=1)


def test_dropped_actions_of_the_base_are_dropped_outside():
    base = kibitz.solve(PLAIN, "cfr+", iterations=2, abstraction=abstraction(PLAIN, "JQ.K", without=["raise"]))
    assert base.meta["abstraction"] == "JQ.K(without=[raise])"
    expert = experts(PLAIN, base, "prefix(cr)", [[0]], "null")[0]
    # Seat 1 is free; outside the part it never raises, so after a check nobody ever comes into it.
    assert expert.size == len(naive.offers(stitch_naive.Derived(
        PLAIN, stitch_like(base, "JQ.K"), {k: row for k, row in naive.as_dict(base).items() if k[0] == 0
                                           and not k[1].partition(":")[2].startswith("cr")},
        {(key, "raise") for key, a in naive.offers(PLAIN).items()
         if key[0] == 1 and "raise" in a and not key[1].partition(":")[2].startswith("cr")},
    )))  # fmt: skip


def stitch_like(base, name):
    rows = abstraction(tree_of(PLAIN), name)
    return lambda key: key if key[1].partition(":")[2].startswith("cr") else rows.row[rows.infosets.find(*key)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "3 parts need as many abstractions.*not 0"), (["null"], "not 1"), (["null"] * 4, "not 4"),
        ("null", "give a list with one for each of base, r, cr"), (None, "give a list"), (5, "give a list"),
        ({"x": "null"}, "there is no part 'x': parts are base, r, cr"),
        (["null", "null", 7], "a name, a function"), (["null", "nil"], "unknown abstraction 'nil'"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_abstractions(given, words):
    for call in (lambda: dynamic(LEDUC, "prefix(r, cr)", given, iterations=1),
                 lambda: size_of_dynamic(LEDUC, "prefix(r, cr)", given)):  # fmt: skip
        with pytest.raises(KibitzError, match=words):
            call()


def test_partitions_and_abstractions_of_another_game():
    base = kibitz.solve(KUHN, "cfr+", iterations=1, abstraction="null")
    foreign, coarse = partition(LEDUC, "prefix(r)"), abstraction(LEDUC, "JQ.K")
    for call in (
        lambda: static(KUHN, base, foreign, iterations=1), lambda: rebuild_base(KUHN, base, foreign, iterations=1),
        lambda: dynamic(KUHN, foreign, ["null", "null"], iterations=1), lambda: cohere(KUHN, base, foreign),
        lambda: static(KUHN, base, "prefix(p)", inside=coarse, iterations=1),
        lambda: static(KUHN, base, "prefix(p)", outside=coarse, iterations=1),
        lambda: static(KUHN, base, "prefix(p)", opponents=coarse, iterations=1),
        lambda: dynamic(KUHN, "prefix(p)", ["null", coarse], iterations=1),
    ):  # fmt: skip
        with pytest.raises(GameError, match="made for another game"):
            call()
    with pytest.raises(SolverError, match="jobs=0 must be 1 or more"):
        static(KUHN, base, "prefix(p)", iterations=1, jobs=0)


# Artefacts


def test_a_stitched_profile_is_saved_and_measured(tmp_path, jq_k):
    pyspiel = pytest.importorskip("pyspiel")
    tree = tree_of(LEDUC)
    stitched = static(LEDUC, jq_k, PREFIXES, "all", "suits", iterations=20, seed=4)
    said = stitched.meta["stitch"]
    assert said["kind"] == "static" and said["partition"] == PREFIXES and said["seats"] == "all"
    assert said["inside"] == "suits" and said["size"] == 186 and said["experts"] == 4 and said["seed"] == 4
    assert said["solver"] == "cfr+" and said["stop"] == {"iterations": 20} and said["start"] is None
    assert said["outside"] is None and said["opponents"] is None  # S=N: nobody is free
    assert stitched.meta["base"] == {"sha256": jq_k.sha256, "abstraction": "JQ.K"}
    assert stitched.game == "leduc" and stitched.meta["tree"] == tree.digest and stitched.meta["abstraction"] == "JQ.K"
    stitched.save(tmp_path / "stitched.profile")
    loaded = kibitz.load(tmp_path / "stitched.profile")
    assert loaded.sha256 == stitched.sha256
    assert loaded.meta["stitch"] == said and loaded.meta["base"] == stitched.meta["base"]
    assert nash_conv("leduc", loaded) == nash_conv(tree, stitched)
    policy = loaded.to_openspiel("leduc_poker")
    theirs = pyspiel.nash_conv(pyspiel.load_game("leduc_poker"), policy)
    assert theirs == pytest.approx(nash_conv(tree, loaded), abs=1e-9)
    # A loaded profile is a base like any other.
    again, plain = (static(LEDUC, p, "prefix(rr)", iterations=2) for p in (loaded, stitched))
    assert same(again, plain)
    assert rebuild_base("leduc", loaded, PREFIXES, iterations=2).meta["base"]["stitch"] == said
    for other in (dynamic(LEDUC, "prefix(r)", {"r": "suits", "base": "JQ.K"}, iterations=2),
                  join(stitched, partition(LEDUC, PREFIXES), {(0, 1): jq_k})):  # fmt: skip
        other.save(tmp_path / "other.profile")
        assert kibitz.load(tmp_path / "other.profile").meta == other.meta


@pytest.mark.parametrize("seats", ["each", [0], [[1], [0]]])
@pytest.mark.parametrize("given", [{}, {"opponents": "JQ.K", "until": 0.5, "start": "random", "seed": 3}])
def test_a_stitched_profile_says_how_to_build_it_again(jq_k, tmp_path, seats, given):
    static(LEDUC, jq_k, "prefix(r)", seats, "suits", **{"iterations": 6, **given}).save(tmp_path / "x.profile")
    stitched = kibitz.load(tmp_path / "x.profile")
    said = stitched.meta["stitch"]
    assert said["outside"] == "JQ.K" and said["opponents"] == given.get("opponents", "suits")
    again = static(
        stitched.game, jq_k, said["partition"], said["seats"], said["inside"], said["outside"], said["opponents"],
        solver=said["solver"], seed=said["seed"], start=said["start"], **said["stop"],
    )  # fmt: skip
    assert same(again, stitched) and again.meta == stitched.meta
    rebuilt = rebuild_base(LEDUC, stitched, "prefix(r)", iterations=4)
    said = rebuilt.meta["stitch"]
    assert said["outside"] == "JQ.K" and said["stop"] == {"iterations": 4} and said["solver"] == "cfr+"
    joint = dynamic(LEDUC, "prefix(r)", ["JQ.K", "suits"], until=1.0).meta["stitch"]
    assert joint["solver"] == "cfr+" and joint["stop"] == {"until": 1.0} and joint["start"] is None


def test_own_abstractions_are_named_as_such():
    base = kibitz.solve(KUHN, "cfr+", abstraction="null", iterations=2)

    def mine(seat, infoset):
        return infoset

    said = static(KUHN, base, "prefix(p)", "each", mine, iterations=2).meta["stitch"]
    assert (said["inside"], said["outside"], said["opponents"]) == ("own:mine", "null", "own:mine")


def test_seeds_of_experts_are_all_different():
    seeds = {seed_of(seed, number) for seed in (-1, 0, 1, 2, 3) for number in range(3000)}
    assert len(seeds) == 15_000 and all(0 <= seed < 1 << 63 for seed in seeds)
    base = kibitz.solve(KUHN, "cfr+", abstraction="null", iterations=1)
    for call in (static, rebuild_base):
        with pytest.raises(SolverError, match=r"seed=1\.5 must be a whole number"):
            call(KUHN, base, "prefix(p)", iterations=1, seed=1.5)


def test_what_has_not_begun_is_left_after_an_interrupt(monkeypatch):
    """Ctrl-C comes to the main thread while it waits: the experts that run end, the others never begin."""
    begun, over = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            over.set()  # those that run end once the others are left
            super().shutdown(wait=wait)

    def work(item):
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        over.wait()

    monkeypatch.setattr(sys.modules["kibitz.core.pools"], "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(100), jobs=2)
    assert len(begun) <= 3


def test_runs_repeat_themselves():
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=30)
    for options in ({}, {"start": "random"}, {"solver": "mccfr"}):
        shas = {
            static(PLAIN.spec, base, PREFIXES, iterations=20, seed=3, jobs=jobs, **options).sha256
            for jobs in (1, 2, 1, None)
        }
        assert len(shas) == 1
        if options:
            assert static(PLAIN, base, PREFIXES, iterations=20, seed=4, **options).sha256 not in shas
    one, two = (dynamic(PLAIN, PREFIXES, ["JQ.K", "null"], iterations=9, seed=s, start="random") for s in (1, 1))
    assert one.sha256 == two.sha256
    one, two = (cohere(PLAIN, base, "prefix(r)", 2, iterations=9) for _ in range(2))
    assert one.sha256 == two.sha256


def test_experts_start_apart():
    """start="random" draws a start of its own for each expert."""
    tree = tree_of(KUHN)
    base = random_profile(tree, np.random.default_rng(0))
    parts = partition(KUHN, lambda seat, infoset: {"J": 1, "Q": 2, "K": 3}[infoset[0]])
    stitched = naive.as_dict(static(KUHN, base, parts, "all", iterations=0, start="random", seed=6))
    assert len({tuple(row.values()) for row in stitched.values()}) == 12


def test_seven_arguments_are_those_of_experts(jq_k):
    told = []
    static(LEDUC, jq_k, "prefix(r, cr)", "each", "suits", "JQ.K", "suits", iterations=1, jobs=1,
           on_expert=lambda expert, profile: told.append((expert.name, expert.seats, expert.size)))  # fmt: skip
    built = experts(LEDUC, jq_k, "prefix(r, cr)", "each", "suits", "JQ.K", "suits")
    assert sorted(told) == sorted((e.name, e.seats, e.size) for e in built)


def test_a_base_without_an_abstraction_has_seen_the_whole_game():
    base = kibitz.solve(KUHN, "cfr", iterations=3)
    assert "abstraction" not in base.meta
    found = static(KUHN, base, "prefix(b)", iterations=5)
    assert found.meta["stitch"]["outside"] == "null"
    assert same(found, static(KUHN, base, "prefix(b)", outside="null", iterations=5))
    anew = [rebuild_base(KUHN, base, "prefix(b)", outside, iterations=5) for outside in (None, "null")]
    assert same(*anew)


def test_a_base_is_named_by_its_abstraction():
    """It is solved as the experts are, once they need it."""
    base = kibitz.solve(PLAIN, "cfr+", abstraction="JQ.K", iterations=9, seed=3)
    named, solved = (static(PLAIN, given, "prefix(r)", iterations=9, seed=3) for given in ("JQ.K", base))
    assert named.sha256 == solved.sha256 and named.meta["base"]["abstraction"] == "JQ.K"


def test_what_only_other_targets_know_is_refused(tmp_path):
    base = kibitz.solve(KUHN, "cfr+", iterations=1)
    with pytest.raises(SolverError, match="a base that is a blueprint"):
        static(KUHN, base, "prefix(p)", inside=MaxInfosets(100), iterations=1)
    with pytest.raises(SolverError, match="on samples"):
        static(KUHN, base, "prefix(p)", keep=tmp_path, iterations=1)
    with pytest.raises(TypeError, match="iteration"):
        static(KUHN, base, "prefix(p)", iteration=1)
