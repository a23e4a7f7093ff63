"""Epsilon over sampled deals is measured on deals that strategies were not fitted to; ranges that users bring."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from kibitz.cards.holdem import classes
from kibitz.cli import app
from kibitz.core.errors import GameError
from kibitz.poker.tournaments import check, pushfold, solve, tournament
from kibitz.poker.tournaments.fictitious import best, gains_of
from kibitz.poker.tournaments.hand import JamFoldHand
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.tournaments.single import _chips, hand_payoffs

STACKS, BLINDS, PRIZES = [12, 8, 20, 9], (1, 2), [50, 30, 20]


def responder_gain(found, deals):
    """By hand: a responder of each seat on one sample, valued on another; and on the first itself."""
    held, posts, dead = _chips(STACKS, BLINDS, 0)
    hand, chips = JamFoldHand(4), np.array([held])
    posted = hand.posted(chips, *posts, dead)
    payoffs = hand_payoffs(hand, chips, posted, tuple(map(float, PRIZES)), posts[1])
    forced = hand.forced(chips, posted)
    jams = np.array([[chart.jams for chart in found.charts]])
    one, two = (SampledHand(4, deals, seed).worth(jams, payoffs) for seed in (71, 72))
    policy = best(one, forced)
    more = ((policy - jams) * (two[:, :, 1] - two[:, :, 0])).sum(axis=-1)[0]
    gains = [sum(more[k] for k, (seat, _) in enumerate(hand.nodes) if seat == each) for each in range(4)]
    return max(gains), float(gains_of(hand, one, jams, forced).max())


def test_epsilon_is_that_of_fresh_deals():
    """Charts that were fitted to few deals: on these nobody seems to gain, and on others there is much to gain."""
    found = pushfold(STACKS, BLINDS, PRIZES, deals=2_000, rounds=40)
    gain, above = responder_gain(found, 200_000)
    m = found.measured
    assert m.fitted < 0.3 * gain, "the deals that charts were fitted to say too little"
    assert found.epsilon == m.gain == pytest.approx(gain, rel=0.5) and m.low < m.gain < m.high
    assert m.above > m.gain and m.above == pytest.approx(above, rel=0.5) and m.deals == 2_000


def test_all_cards_need_no_fresh_deals():
    m = pushfold([10, 10]).measured
    assert m.gain == m.low == m.high == m.above == m.fitted < 1e-4 and m.deals == m.fresh == 0


def test_a_tournament_is_checked_on_fresh_deals():
    """The same at every state: what is gained on the deals of the strategies is not what is reported."""
    from kibitz.poker.tournaments import equilibrium

    rules = tournament("tournament(players=3, chips=1200)")
    found = solve(rules, "vi-fp", 0.02, deals=1_000)
    fresh = check(rules, found.jams, 1_000)
    engines = [equilibrium.engine_of(level.players, 1_000) for level in rules.levels]
    _, _, gains, _ = equilibrium._valued(rules, found.jams, engines, None)
    assert float(gains[-1].max()) < 0.5 * fresh.highest
    low, high = fresh.interval
    assert low < fresh.epsilon < high and fresh.epsilon < fresh.highest
    assert not fresh.errors[0].any(), "two players are counted with all cards"


# At the command line


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "100"})


def test_stacks_are_in_big_blinds():
    """Ten big blinds, as published: 58.3% and 37.5%."""
    data = json.loads(run("pushfold", "--stacks", "10,10", "--json").output)
    assert data["blinds"] == [0.5, 1.0]
    assert [100 * each["share"] for each in data["decisions"]] == pytest.approx([58.3, 37.5], abs=0.55)


def test_what_is_sampled_says_so(tmp_path):
    page = tmp_path / "charts.html"
    done = run("pushfold", "--stacks", "10,7,13", "--deals", "2000", "--plot", page)
    assert done.exit_code == 0 and "SAMPLED, 2,000 deals" in done.output and "fresh deals" in done.output
    assert "SAMPLED, 2,000 deals" in page.read_text()
    exact = run("pushfold", "--stacks", "10,10", "--values")
    assert "all cards counted" in exact.output and "SAMPLED" not in exact.output
    assert "What jamming gains over folding" in exact.output


def test_a_range_of_ones_own():
    """The chart itself costs nothing; aces that fold cost what they bring."""
    data = json.loads(run("pushfold", "--stacks", "10,10", "--json").output)
    first, call = data["decisions"]
    at = data["hands"].index("AA")
    done = run("pushfold", "--stacks", "10,10", "--compare", first["range"], "--json")
    assert json.loads(done.output)["compare"]["cost"] == pytest.approx(0, abs=1e-4)
    without = "random,AA:0"
    done = json.loads(run("pushfold", "--stacks", "10,10", "--compare", without, "--decision",
                          "BB after SB jammed", "--json").output)["compare"]  # fmt: skip
    costs = {each["hand"]: each for each in done["hands"]}
    assert costs["AA"]["cost"] == pytest.approx(call["gain"][at]) and costs["AA"]["yours"] == 0
    assert call["jam_value"][at] - call["fold_value"][at] == pytest.approx(call["gain"][at])
    assert done["cost"] > 0 and {"72o", "32o"} <= set(costs) and "KK" not in costs
    text = run("pushfold", "--stacks", "10,10", "--compare", without)
    assert "Your range for SB, first to jam" in text.output
    assert run("pushfold", "--stacks", "10,10", "--compare", "XX").exit_code == 2
    assert run("pushfold", "--stacks", "10,10", "--compare", "AA", "--decision", "CO").exit_code == 2
    assert run("pushfold", "--stacks", "10,10", "--decision", "SB, first to jam").exit_code == 2
    with pytest.raises(GameError, match="choose of"):
        from kibitz.poker.tournaments.single import compared

        compared(pushfold([10, 10]), "AA", "nobody")
    assert classes().names[at] == "AA"
