"""The round robin against its definition, and the commands `kibitz crosstable` and `kibitz stitch`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import naive
import numpy as np
import pytest
from random_games import RandomGame

import kibitz
from kibitz.core.errors import GameError
from kibitz.evaluate.crosstable import crosstable, mix, units
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import normalise
from kibitz.games.tree import tree_of

GAMES = [
    kibitz.game("kuhn"),
    kibitz.game("kuhn(players=3)"),
    kibitz.game("matrix(payoffs=[[0, -1, 1], [1, 0, -1], [-1, 1, 0]])"),
    RandomGame(1, players=2, payoffs="general"),
    RandomGame(2, players=3, payoffs="general"),
    RandomGame(3, players=3, payoffs="zero-sum"),
]


def random_profile(tree, seed):
    weights = np.random.default_rng(seed).random(int(tree.infosets.first[-1]))
    return Profile(tree.infosets, normalise(weights, tree.infosets), {"tree": tree.digest, "game": tree.spec})


def field(tree, count, seed=0):
    return {f"s{k}": random_profile(tree, 100 * seed + k) for k in range(count)}


def seated(by_seat):
    """{(seat, infoset): row} of a table at which each seat plays its own profile."""
    return {key: row for seat, p in enumerate(by_seat) for key, row in naive.as_dict(p).items() if key[0] == seat}


# The functions


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_mix_takes_each_seat_from_its_profile(game):
    tree = tree_of(game)
    by_seat = [random_profile(tree, k) for k in range(game.players)]
    mixed = mix(by_seat)
    assert naive.as_dict(mixed) == seated(by_seat)
    assert kibitz.value(tree, mixed) == pytest.approx(naive.value(game, seated(by_seat)), abs=1e-12)
    assert mix([by_seat[0]] * game.players).sha256 == by_seat[0].sha256


def test_mix_refuses_what_does_not_fit():
    kuhn, other = (tree_of(kibitz.game(name)) for name in ("kuhn", "kuhn(players=3)"))
    one = random_profile(kuhn, 1)
    with pytest.raises(GameError, match="mix needs a profile for each seat"):
        mix([])
    with pytest.raises(GameError, match="the game has 2 seats, so mix needs as many profiles, not 3"):
        mix([one] * 3)
    with pytest.raises(GameError, match=r"the profile for seat 1 was made for another game \(kuhn\(players=3\)\)"):
        mix([one, random_profile(other, 1)])


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_matrix_is_its_definition(game):
    tree, n = tree_of(game), game.players
    strategies = field(tree, 3)
    table = crosstable(tree, strategies)
    each = list(strategies.values())
    for a, b in itertools.product(range(3), repeat=2):
        gets = [naive.value(game, seated([each[a if s == seat else b] for s in range(n)]))[seat] for seat in range(n)]
        assert table.matrix[a, b] == pytest.approx(np.mean(gets), abs=1e-12)
        assert table.beats(a, b) == (table.matrix[a, b] > table.matrix[b, a] + 1e-9)
    for k, profile in enumerate(each):
        assert table.exploitability[k] == pytest.approx(kibitz.nash_conv(tree, profile) / n)
    assert table.names == ("s0", "s1", "s2") and table.seats == n


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_field_is_all_combinations_in_all_orders(game):
    tree, n = tree_of(game), game.players
    strategies = field(tree, 4)
    table = crosstable(tree, strategies)
    each = list(strategies.values())
    gets = {k: [] for k in range(4)}
    for group in itertools.combinations(range(4), n):
        for who in itertools.permutations(group):
            found = naive.value(game, seated([each[w] for w in who]))
            for seat, w in enumerate(who):
                gets[w].append(found[seat])
    assert table.field == pytest.approx([np.mean(gets[k]) for k in range(4)], abs=1e-12)
    assert table.bankroll == sorted(range(4), key=lambda k: -table.field[k])


@pytest.mark.parametrize("game", [g for g in GAMES if tree_of(g).zero_sum], ids=str)
def test_zero_sum_tables_add_up_to_nothing(game):
    table = crosstable(tree_of(game), field(tree_of(game), 4))
    assert table.field.sum() == pytest.approx(0.0, abs=1e-12)
    if game.players == 2:
        assert table.matrix == pytest.approx(-table.matrix.T, abs=1e-12)
        assert (table.wins + table.losses == 3).all() and table.wins.sum() == 6


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_run_off_drops_the_last_again_and_again(game):
    tree = tree_of(game)
    strategies = field(tree, 5, seed=7)
    order = [list(strategies)[k] for k in crosstable(tree, strategies).runoff]
    left, out = dict(strategies), []
    while left:
        table = crosstable(tree, left)
        last = table.names[table.bankroll[-1]]
        out.append(last)
        del left[last]
    assert order == out[::-1]


def test_a_run_off_need_not_follow_the_bankroll():
    """Scissors win the most because of paper; once paper is gone, rock wins."""
    game = kibitz.game("matrix(payoffs=[[0, -1, 1], [1, 0, -4], [-1, 4, 0]])")
    tree = tree_of(game)
    pure = {
        name: Profile(tree.infosets, np.tile(np.eye(3)[k], 2), {"tree": tree.digest})
        for k, name in enumerate(("rock", "paper", "scissors"))
    }
    table = crosstable(game, pure)
    assert [table.names[k] for k in table.bankroll] == ["scissors", "rock", "paper"]
    assert [table.names[k] for k in table.runoff] == ["rock", "scissors", "paper"]
    assert table.wins.tolist() == table.losses.tolist() == [1, 1, 1]


def test_few_strategies_and_many_seats():
    tree = tree_of(kibitz.game("kuhn(players=3)"))
    two = crosstable(tree, field(tree, 2))
    assert two.field == pytest.approx([two.matrix[0, 1], two.matrix[1, 0]])
    one = crosstable(tree, field(tree, 1))
    assert one.field.tolist() == [0.0] and one.runoff == one.bankroll == [0]
    with pytest.raises(GameError, match="at least one strategy"):
        crosstable(tree, {})
    with pytest.raises(GameError, match="another game"):
        crosstable("kuhn", field(tree, 2))


def test_units():
    assert units("leduc") == {"chips": 1.0, "milli-antes": 1000.0, "millibets": 500.0}
    assert units("leduc(ante=2, bets=[4, 8])") == {"chips": 1.0, "milli-antes": 500.0, "millibets": 250.0}
    assert units("kuhn") == {"chips": 1.0}


# The commands


@pytest.fixture
def bad(call):
    def run(*arguments):
        code, out, err = call(*arguments)
        assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (out, err)
        return err.removeprefix("error: ").strip()

    return run


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Three profiles of Leduc, of which one is uniform."""
    place = tmp_path_factory.mktemp("field")
    for name, iterations in (("uniform", 0), ("some", 20), ("more", 400)):
        kibitz.solve("leduc", "cfr+", iterations=iterations).save(place / f"{name}.profile")
    kibitz.solve("kuhn", "cfr+", iterations=5).save(place / "kuhn.profile")
    return place


def paths(saved, *names):
    return [saved / f"{name}.profile" for name in names]


def test_crosstable_prints_both_units(call, saved):
    code, out, err = call("crosstable", *paths(saved, "uniform", "some", "more"))
    assert (code, err) == (0, "")
    table = crosstable("leduc", {n: Profile.load(saved / f"{n}.profile") for n in ("uniform", "some", "more")})
    assert "milli-antes" in out and "millibets" in out
    assert f"{1000 * table.matrix[2, 0]:.2f}" in out and f"{500 * table.exploitability[1]:.2f}" in out
    for title, order in (("bankroll", table.bankroll), ("run-off", table.runoff)):
        assert f"{title}: {', '.join(table.names[k] for k in order)}" in out
    code, out, _ = call("crosstable", *paths(saved, "uniform", "more"), "--unit", "millibets")
    assert code == 0 and f"{500 * table.matrix[2, 0]:.2f}" in out


def test_crosstable_as_data_and_as_a_picture(call, saved, tmp_path):
    code, out, err = call("crosstable", *paths(saved, "uniform", "more"), "--json", "--plot", "heat.png")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["names"] == ["uniform", "more"] and data["wins"] == [0, 1] and data["chip"]["millibets"] == 500.0
    assert np.array(data["matrix"]) == pytest.approx(-np.array(data["matrix"]).T)
    assert (tmp_path / "heat.png").read_bytes()[:4] == b"\x89PNG"


def test_crosstable_of_other_games(call, saved):
    code, out, _ = call("crosstable", saved / "kuhn.profile")
    assert code == 0 and "chips" in out and "milli" not in out


def test_crosstable_mistakes_are_sentences(bad, saved):
    uniform, more, kuhn = paths(saved, "uniform", "more", "kuhn")
    assert "was made for another game (kuhn) than leduc" in bad("crosstable", uniform, kuhn)
    assert "is given twice" in bad("crosstable", uniform, uniform)
    assert bad("crosstable", uniform, more, "--unit", "dollars") == (
        "leduc has no dollars: choose chips or milli-antes or millibets"
    )
    assert "no saved profile" in bad("crosstable", uniform, "nothing.profile")
    assert "should end in" in bad("crosstable", uniform, "--plot", "heat.txt")


STITCH = ("stitch", "leduc", "--base", "JQ.K", "--partition", "prefix(r, cr, ccr, cccr)", "--inside", "suits")


@pytest.mark.parametrize(("kind", "size"), [(("--seats", "each"), 226), (("--seats", "all"), 186),
                                            (("--kind", "dynamic"), 444)])  # fmt: skip
def test_stitch_says_how_large_it_is(call, kind, size, tmp_path):
    """[Gibson & Szafron 2011, Table 1]"""
    code, out, err = call(*STITCH, *kind, "--dry-run", "--out", "x.profile")
    assert (code, err) == (0, "") and f"{size} infosets in the largest computation" in out
    assert not (tmp_path / "x.profile").exists()
    data = json.loads(call(*STITCH, *kind, "--dry-run", "--json")[1])
    assert data["size"] == size and data["base_size"] == 132 and data["out"] is None and "stitched" not in data


def test_stitch_saves_what_static_makes(call, tmp_path):
    code, out, err = call(*STITCH, "--seats", "all", "--iterations", "50", "--out", "all.profile")
    assert (code, err) == (0, "") and "stitched: NashConv" in out and "kibitz crosstable all.profile" in out
    base = kibitz.solve("leduc", "cfr+", abstraction="JQ.K", iterations=50, threads=1)
    made = kibitz.stitch.static("leduc", base, "prefix(r, cr, ccr, cccr)", "all", "suits", iterations=50)
    assert Profile.load(tmp_path / "all.profile").sha256 == made.sha256
    code, out, _ = call("stitch", "leduc", "--base", "all.profile", "--partition", "prefix(r)", "--iterations", "5",
                        "--json")  # fmt: skip
    assert code == 0 and json.loads(out)["base"]["nash_conv"] == pytest.approx(kibitz.nash_conv("leduc", made))


def test_stitch_dynamic_and_hybrid(call):
    code, out, err = call(*STITCH, "--kind", "dynamic", "--iterations", "5", "--json")
    assert (code, err) == (0, "") and json.loads(out)["stitched"]["nash_conv"] > 0
    small = "leduc(players=3, ranks=2, suit_isomorphism=true)"
    words = ("stitch", small, "--base", "null", "--partition", "prefix(r)", "--iterations", "5", "--json")
    code, out, err = call(*words, "--seats", "0,1; 1,2; 2,0", "--random", "--seed", "3")
    assert (code, err) == (0, ""), err
    assert [e["seats"] for e in json.loads(out)["experts"]] == [[0, 1], [1, 2], [2, 0]]


def test_stitch_mistakes_are_sentences(bad, saved):
    short = ("stitch", "leduc", "--partition", "prefix(r)", "--base")
    assert "seats are different numbers from 0 to 1" in bad(*short, "JQ.K", "--seats", "0,5")
    assert "--seats x should be" in bad(*short, "JQ.K", "--seats", "x")
    assert "unknown abstraction" in bad(*short, "QQ")
    assert "no saved profile" in bad(*short, "nothing.profile")
    assert "should be static or dynamic" in bad(*short, "JQ.K", "--kind", "both")
    assert "--base must be an abstraction" in bad(*short, str(saved / "some.profile"), "--kind", "dynamic")
    assert "does not fit the game" in bad(*short, str(saved / "kuhn.profile"))
    assert "--iterations -1" in bad(*short, "JQ.K", "--iterations", "-1")
    assert "--until nan" in bad(*short, "JQ.K", "--until", "nan")
    assert "no action begins with 'x'" in bad("stitch", "leduc", "--base", "JQ.K", "--partition", "prefix(x)")
    Path("file").write_text("x")
    assert "is not a directory" in bad(*short, "JQ.K", "--out", "file")
    assert "a saved profile is a directory" in bad(*short, "file")
