"""[Waugh, Bard & Bowling 2009, Tables 1 and 2, Theorem 1]: the Leduc tournament."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import kibitz
from kibitz.cli import app
from kibitz.evaluate.crosstable import mix
from kibitz.papers import PaperPlan, recompute, waugh2009
from kibitz.papers.claims import WEIGHT
from kibitz.papers.runs import carry_out
from kibitz.papers.stitching import Builder
from kibitz.papers.waugh2009 import BASES, FLOP, NAMES, PREFLOP


@pytest.fixture(scope="module")
def weighed():
    plan = PaperPlan(starts=3, weights=(0.0, WEIGHT))
    return waugh2009.gather(plan, carry_out(waugh2009.runs(plan), jobs=1))


@pytest.fixture(scope="module")
def tournament(weighed):
    return weighed[WEIGHT]


@pytest.fixture(scope="module")
def rough():
    """The same at one weight, to a larger gap."""
    plan = PaperPlan(starts=3, weights=(WEIGHT,), until=1e-3)
    return waugh2009.gather(plan, carry_out(waugh2009.runs(plan), jobs=1))[WEIGHT]


def assert_robust(claims):
    """What held from every start that anybody tried."""
    for base in BASES:
        for kind in (PREFLOP, FLOP):
            assert all(claims[f"{base} {kind} beat {base} head to head"].truths)
    assert all(claims["bases by average winnings: J.Q.K, JQ.K, J.QK"].truths)
    assert all(claims["preflop grafts by average winnings are in the order of their bases"].truths)
    assert all(claims["J.QK is last on average"].truths)
    for graft, base in (("JQ.K preflop grafts", "JQ.K"), ("JQ.K flop grafts", "JQ.K"), ("J.QK preflop grafts", "J.QK")):
        assert all(claims[f"{graft} are more exploitable than {base}"].truths)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, WEIGHT])
def test_claims_that_hold_from_every_start(weighed, weight):
    found = list(waugh2009.claims_at(weighed[weight]))
    assert len({claim.text for claim in found}) == len(found) == 31
    assert_robust({claim.text: claim for claim in found})


@pytest.mark.slow
def test_the_crosstable_is_one(tournament):
    k, m = 3, len(NAMES)
    assert tournament.matrix.shape == (k, m, m)
    assert tournament.matrix == pytest.approx(-tournament.matrix.transpose(0, 2, 1), abs=1e-9)
    for number, name in enumerate(NAMES):
        row = np.delete(tournament.matrix[:, number], number, axis=1)
        assert tournament.average[name].values == pytest.approx(row.mean(axis=1))
        assert tournament.wins[name].values == pytest.approx((row > 0).sum(axis=1))
        assert tournament.losses[name].values == pytest.approx((row < 0).sum(axis=1))
    places = np.array([tournament.runoff[name].values for name in NAMES])
    assert (np.sort(places, axis=0) == np.arange(1, m + 1)[:, None]).all()


def test_figures_are_near_those_of_other_programs(rough):
    """Averages over 16 starts of a prototype, in mb/h: ours are means over few, so the margins are wide."""
    near = {"J.Q.K preflop grafts": 33, "J.Q.K flop grafts": 26, "J.Q.K": 5, "JQ.K": -8, "J.QK": -57}
    for name, figure in near.items():
        assert rough.average[name].mean == pytest.approx(figure, abs=12)
    near = {"J.Q.K": 316, "JQ.K": 257, "J.QK": 374}
    for name, figure in near.items():
        assert rough.exploit[name].mean == pytest.approx(figure, abs=20)


def test_sizes(rough):
    """Bases: 6 preflop and 30 flop decisions, with 3 or 2 buckets before the flop and twice as many on it. A graft for
    one card adds its 3 + 15 * 5 decisions of one player; its opponent keeps half of the base's infosets."""
    size = rough.size
    assert [size[base] for base in BASES] == [6 * 3 + 30 * 6, 6 * 2 + 30 * 4, 6 * 2 + 30 * 4]
    assert size["JQ.K preflop grafts"] == 132 // 2 + 3 + 15 * 5
    assert size["JQ.K flop grafts"] == 132 // 2 + 15 * 5


def test_theorem_one():
    """Against σ2, an ε-best response to the base σ1 in its abstraction, the grafted strategy gains exactly the sum of
    what its p grafts gain one by one, and that is at least -3pε."""
    given = waugh2009.layout()
    for base in BASES:
        maker = Builder(given.tree, PaperPlan(until=1e-4), 3)
        solved, coarse = maker.solve(given.games[base]), given.coarse[base]
        for parts in given.parts.values():
            grafted = maker.static(solved, parts, "each", given.fine, coarse, opponents=coarse)

            def worth(mine, against=solved):
                return kibitz.value(given.tree, mix([mine, against]))[0]

            gains = []
            for part in range(1, parts.parts + 1):
                here = (parts.part == part)[given.tree.infosets.row_of_column]
                one = np.where(here, grafted.probabilities, solved.probabilities)
                gains.append(worth(maker.profile(one)) - worth(solved))
            total = worth(grafted) - worth(solved)
            assert total == pytest.approx(sum(gains), abs=1e-12)
            assert total >= -3 * parts.parts * maker.gap


@pytest.mark.slow
def test_the_report(tmp_path, monkeypatch, capsys, weighed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    ready = replace(waugh2009.EXPERIMENT, runs=lambda plan: [], gather=lambda plan, found: weighed)
    monkeypatch.setattr(waugh2009, "EXPERIMENT", ready)
    for number, there, absent in (("1", "Table 1:", "Table 2:"), ("2", "Table 2:", "Table 1:")):
        with pytest.raises(SystemExit) as end:
            app(["paper", "waugh2009", "--table", number, "--starts", "3"], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert not end.value.code and err == "" and there in out and absent not in out
        assert "J.QK preflop grafts" in out and "3 of 3" in out
    place = tmp_path / "runs/papers/waugh2009"
    assert {p.name for p in place.iterdir()} == {
        "report.md", "report.html", "report.json", "crosstable.png", "exploitability.png"
    }  # fmt: skip
    data = json.loads((place / "report.json").read_text())
    assert np.shape(data["figures"]["matrix"]["starts"]) == (3, 9, 9) and data["seeds"] == [0, 1, 2]
    assert data["claims"][0]["variants"].keys() == data["figures"]["by_weight"].keys() == {"0", "0.1"}
    assert len(data["claims"]) == 31 and {"python", "numba", "processor"} <= data["machine"].keys()


@pytest.mark.slow
def test_the_whole_tournament():
    outcome = recompute("waugh2009", PaperPlan(starts=16))
    claims = {claim.text: claim for claim in outcome.claims}
    assert_robust(claims)
    assert claims["J.Q.K preflop grafts are undefeated"].count >= 14
