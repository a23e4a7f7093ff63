"""What the page shows of strategies: against exact values, beliefs and the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from web_client import client

import kibitz
from kibitz.evaluate.infosets import infoset_values
from kibitz.poker.endgames.phases import beliefs, phase_one
from kibitz.poker.rules.rules import Poker
from kibitz.stitch.experts import static
from kibitz.web import look
from kibitz.web.library import Library


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("strategies")
    game = kibitz.game("leduc")
    base = kibitz.solve(game, "cfr+", iterations=30, abstraction="J.QK")
    base.save(made / "base.profile")
    kibitz.solve(game, "cfr+", iterations=100).save(made / "leduc.profile")
    static(game, base, "prefix(r, cr)", inside="null", iterations=20).save(made / "stitched.profile")
    static(game, base, "private(K)", inside="null", iterations=20).save(made / "private.profile")
    kibitz.solve("poker(file=leduc)", "cfr+", iterations=50).save(made / "form.profile")
    phase_one("poker(file=leduc)", "percentile(2)", 1, iterations=20).save(made / "buckets.profile")
    kibitz.solve("kuhn(players=3)", "cfr+", iterations=50).save(made / "three.profile")
    return made


@pytest.fixture(scope="module")
def library(folder):
    made = Library(folder)
    yield made
    made.pool.shutdown()


def named(library, name):
    return library.strategy(next(entry.id for entry in library.strategies() if entry.name == name))


def test_leduc_is_what_the_profile_says(library):
    held = named(library, "leduc")
    steps = ["raise", "call", "Qs"]
    node = look.node(held, steps, library.pool)
    profile, values = held.profile, infoset_values("leduc", held.profile)
    assert node["kind"] == "decision" and node["seat"] == 0 and node["board"] == ["Qs"]
    assert [step["word"] for step in node["steps"]] == ["bet", "call", "Qs"]
    assert [action["label"] for action in node["actions"]] == ["check", "bet"]
    reach = 0.0
    for cell in node["cells"]:
        number = profile.infosets.find(0, cell["infoset"])
        assert cell["p"] == pytest.approx(list(profile.at(number).values()))
        first = int(profile.infosets.first[number])
        assert cell["values"] == pytest.approx(values.values[first : first + 2].tolist())
        reach += values.reach[number]
    assert node["reach_all"] == pytest.approx(reach)
    assert sum(cell["weight"] for cell in node["cells"]) == pytest.approx(1)
    shares = [sum(c["weight"] * c["p"][k] for c in node["cells"]) for k in range(2)]
    assert shares == pytest.approx([action["share"] for action in node["actions"]])
    assert node["value"] == pytest.approx(sum(c["weight"] * c["value"] for c in node["cells"]))


def test_the_same_game_both_ways(library):
    """Leduc by its rules and by a definition: the tellers share nothing, and agree on uniform play."""
    rules = look.node(library.strategy("uniform-leduc"), ["raise", "call", "Qs", "call"], library.pool)
    form = named(library, "form")
    told = look.node(form, ["raise", "call", "Qc", "call"], library.pool)
    assert told["kind"] == rules["kind"] == "decision" and told["seat"] == rules["seat"] == 1
    assert len({cell["name"] for cell in told["cells"]}) == 5 and told["layout"] == "row"
    values = infoset_values(form.rules, form.profile)
    for cell in told["cells"]:
        number = form.profile.infosets.find(1, cell["infoset"])
        assert cell["p"] == pytest.approx(list(form.profile.at(number).values()), abs=1e-6)
        first = int(form.profile.infosets.first[number])
        assert cell["values"] == pytest.approx(values.values[first : first + 2].tolist())


def slow_weights(reach, hands):
    """From the definition: all ways to deal hands that do not meet."""
    found = np.zeros_like(reach)
    for deal in itertools.product(range(len(hands)), repeat=len(reach)):
        cards = [card for k in deal for card in hands[k]]
        if len(set(cards)) == len(cards):
            for seat, k in enumerate(deal):
                found[seat, k] += np.prod([reach[s, d] for s, d in enumerate(deal)])
    return found


@pytest.mark.parametrize(
    ("spec", "players"),
    [
        ("poker(file=holdem.limit.2p, ranks=3, suits=3)", 2),
        ("poker(file=holdem.limit.3p, ranks=4, suits=3)", 3),
        ("poker(file=leduc)", 2),
    ],
)
def test_ranges_are_bayes(library, spec, players):
    from kibitz.web.library import Entry, LibraryStrategy
    from kibitz.web.poker import PokerStrategy

    rules = kibitz.game(spec)
    assert isinstance(rules, Poker)
    teller = PokerStrategy(LibraryStrategy(Entry("x", "x", "made"), rules, None, None), rules)
    drawn = np.random.default_rng(1)
    keep = drawn.permutation(len(teller.hands))[:12] if players == 3 else np.arange(len(teller.hands))
    reach = np.zeros((players, len(teller.hands)))
    reach[:, keep] = drawn.random((players, len(keep)))
    small = slow_weights(reach[:, keep], teller.hands[keep].tolist())
    np.testing.assert_allclose(teller.weights(reach)[:, keep], small, rtol=1e-5, atol=1e-7)


def test_reach_within_buckets_is_that_of_beliefs(library):
    held = named(library, "buckets")
    from kibitz.web.poker import poker_strategy

    teller = poker_strategy(held)
    place = teller.place(["raise", "call", "Qc"])
    hands, reach = beliefs(held.rules, held.profile, "rc/", [card for group in place.board for card in group])
    mine = teller.reach(place)
    alive = [teller.texts.index("".join(kibitz.cards.NAMES[c] for c in hand)) for hand in hands.tolist()]
    np.testing.assert_allclose(mine[:, alive], reach, atol=1e-6)
    node = look.node(held, ["raise", "call", "Qc"], library.pool)
    assert node["value"] is None and node["why"].startswith("not computed")


def test_experts_are_marked(library):
    held = named(library, "stitched")
    first = look.node(held, [], library.pool)
    assert first["expert"] is None
    assert {a["name"]: a["expert"] for a in first["actions"]} == {"call": None, "raise": "r"}
    assert look.node(held, ["call"], library.pool)["actions"][-1]["expert"] == "cr"
    assert look.node(held, ["raise"], library.pool)["expert"] == "r"
    marked = look.node(named(library, "private"), [], library.pool)
    assert {c["name"]: c["expert"] for c in marked["cells"]} == {
        "Kh": "K", "Ks": "K", "Qh": None, "Qs": None, "Jh": None, "Js": None
    }  # fmt: skip


def test_differences(library):
    one, other = (look.node(named(library, name), [], library.pool) for name in ("leduc", "base"))
    found = look.difference(one, other)
    for cell in found["cells"]:
        a, b = (next(c for c in node["cells"] if c["name"] == cell["name"])["p"] for node in (one, other))
        assert cell["distance"] == pytest.approx(sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2)
    with pytest.raises(kibitz.KibitzError, match="plays"):
        look.difference(one, look.node(named(library, "three"), [], library.pool))


def test_ends_and_other_games(library):
    end = look.node(named(library, "leduc"), ["raise", "fold"], library.pool)
    assert end["kind"] == "end" and end["payoffs"] == pytest.approx([1, -1])
    three = look.node(named(library, "three"), ["bet", "pass"], library.pool)
    assert three["seat"] == 2 and len(three["ranges"]) == 3 and three["value"] is not None
    with pytest.raises(kibitz.KibitzError, match="cannot follow"):
        look.node(named(library, "leduc"), ["jump"], library.pool)


@pytest.mark.parametrize("steps", [["raise"] * 300, ["Zz"], ["fold", "call"], ["call", "call", "Qs", "Qs"]])
def test_steps_that_lead_nowhere(library, steps):
    for id in ("uniform-limit-2", "uniform-leduc"):
        with pytest.raises(kibitz.KibitzError):
            look.node(library.strategy(id), steps, library.pool)


def test_holdem_node_by_node(library):
    held = library.strategy("uniform-limit-2")
    node = look.node(held, ["call", "call", "AhKd2c", "raise"], library.pool)
    assert node["layout"] == "grid" and node["facts"][0]["text"] == "flop" and node["seat"] == 1
    assert sum(cell["count"] for cell in node["cells"]) == 49 * 48 // 2
    assert node["reach"] == pytest.approx(1 / 3 * 1 / 2 * 1 / 2)
    chance = look.node(held, ["call", "call"], library.pool)
    assert chance["choices"]["due"] == 3 and len(chance["choices"]["deck"]) == 52
    three = look.node(library.strategy("uniform-limit-3"), ["call"], library.pool)
    assert three["seat"] == 0 and three["reach"] == pytest.approx(1 / 3, rel=1e-5)


def test_the_addresses_say_the_same(folder):
    with client(folder) as made:
        shelf = made.get("/api/library").data
        assert {"leduc", "stitched"} <= {each["name"] for each in shelf["strategies"]}
        assert all(str(folder) not in str(each) for each in shelf["strategies"])
        id = next(each["id"] for each in shelf["strategies"] if each["name"] == "leduc")
        other = next(each["id"] for each in shelf["strategies"] if each["name"] == "base")
        held = made.library.strategy(id)
        assert made.get(f"/api/look/{id}", step=["raise", "call"]).data == look.node(
            held, ["raise", "call"], made.library.pool
        )
        both = made.get(f"/api/look/{id}", with_=other).data
        assert both["other"]["strategy"] == other and both["difference"]["mean"] > 0
        assert made.get(f"/api/look/{id}", step=["jump"]).status == 400
        assert made.get("/api/look/nothing").status == 404
        rows = made.get(f"/api/infosets/{id}", seat=1, text="Kh").data["rows"]
        assert rows and all("Kh" in row["infoset"] for row in rows)
        assert rows[0]["p"] == pytest.approx(list(held.profile[1, rows[0]["infoset"]].values()))
        assert made.get(f"/api/infosets/{id}", seat=9).status == 400
        assert made.get(f"/api/infosets/{id}", page="x").status == 400


def test_where_two_strategies_differ_most(tmp_path):
    one, other = kibitz.solve("kuhn", "cfr", iterations=2), kibitz.solve("kuhn", "lp")
    one.save(tmp_path / "one.profile")
    other.save(tmp_path / "other.profile")
    kibitz.solve("leduc(ranks=2, cap=1)", "cfr", iterations=1).save(tmp_path / "leduc.profile")
    with client(tmp_path) as made:
        ids = {each["name"]: each["id"] for each in made.get("/api/library").data["strategies"]}
        found = made.get(f"/api/diff/{ids['one']}", with_=ids["other"]).data
        wanted = kibitz.diff(one, other)
        assert found["rows"] == wanted.table.records() and found["nash_conv"] == list(wanted.nash_conv)
        assert found["names"] == ["one", "other"] and found["exploitability"] == list(wanted.exploitability)
        refused = made.get(f"/api/diff/{ids['one']}", with_=ids["leduc"])
        assert refused.status == 400 and "different games" in refused.data["error"]
        assert made.get(f"/api/diff/{ids['one']}", with_="nothing").status == 404
