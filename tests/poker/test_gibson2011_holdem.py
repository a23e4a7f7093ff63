"""Table 2 of Gibson & Szafron 2011: sizes, the page, and the whole on a deck of sixteen cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kibitz.papers import gibson2011_holdem as holdem
from kibitz.papers import table_alone
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST, NAMES, sizes_of
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_page import EXPLOITED, GAME, MATCHES, SOLVING, TINY, WITHIN
from kibitz.papers.runs import Shelf


def test_sizes_fill_the_limit():
    found = sizes_of(GAME, *holdem.LIMITS)
    assert found.base == "percentile(8)" and found.finest == "percentile(10)"
    assert found.all == {"r": "percentile([10, 10, 10, 9])", "cr": "percentile([10, 10, 10, 9])"}
    assert list(found.each) == ["r", "cr", "ccr", "cccr"] and found.each["ccr"] == "percentile([14, 14, 14, 13])"
    assert all(0.9 * holdem.LIMITS[0] < found.infosets[name] <= holdem.LIMITS[0] for name in (BASE, DYNAMIC, EACH, ALL))


def answers(exploited):
    """Runs as they might have come out: the later a strategy in the list the more it wins."""
    plan = holdem.EXPERIMENT.plan
    facts = {"file": "", "seconds": 1.0, "infosets": 24, "largest": 20, "iterations": [7, 9], "buckets": "b",
             "experts": [["r", [0], "b", 20]], "gap": None}  # fmt: skip
    strategies = [{"name": name, **facts} for name in NAMES]
    pairs = [(x, y) for k, x in enumerate(NAMES) for y in NAMES[k + 1 :]]
    matches = [
        {"one": x, "other": y, "mean": NAMES.index(x) - 1.0 * NAMES.index(y), "error": 0.1, "seconds": 1.0}
        for x, y in pairs
    ]
    found = {f"{SOLVING}: without experts": strategies[:2], f"{SOLVING}: stitched": strategies[2:],
             MATCHES: [matches], WITHIN: [{"name": BASE, "exploitability": 2.0, "device": "cpu"}]}  # fmt: skip
    if exploited:
        found[EXPLOITED] = [
            {"name": name, "best": [1.0, 2.0], "exploitability": 300.0 - k, "by": "a GPU"}
            for k, name in enumerate(NAMES)
        ]
    return holdem.gather(plan, found)


@pytest.mark.parametrize("exploited", [False, True])
def test_the_page_says_what_was_measured(exploited):
    r = answers(exploited)
    assert r.earns(BASE)[0] == pytest.approx(-2.5) and r.earns(FINEST)[0] == pytest.approx(2.5)
    assert r.against(FINEST, BASE) == (4.0, 0.1)
    claims = {claim.text: all(claim.truths) for claim in holdem.claims(r)}
    assert claims["Dynamic earns more than Base"] and claims["the finest strategy beats Static.S=N"]
    assert not claims["Static.S={i} earns no more than Base"]
    assert ("Static.S=N is less exploitable than Base" in claims) == exploited
    page = holdem.page(holdem.EXPERIMENT.plan, r, list(holdem.claims(r)))
    assert ("by a GPU" in page.about) == exploited and ("--exact" in page.about) != exploited
    cells = {row[0]: row for row in page.sheets[0].rows}
    assert cells[BASE][1] == "-2.50 ± 0.05" and cells[BASE][4] == "310.04"
    assert cells[ALL][3] == ("297.00" if exploited else "not measured")


def test_a_table_of_its_own_is_found():
    assert table_alone("gibson2011", "2") is holdem.EXPERIMENT
    assert table_alone("gibson2011", "1").tables == ("1",) and table_alone("gibson2011", None).tables == ("1",)


@pytest.mark.slow
def test_everything_on_a_small_deck(tmp_path):
    plan = replace(holdem.EXPERIMENT.quick, iterations=20, folder=str(tmp_path))
    first = holdem.EXPERIMENT.recompute(plan, shelf=Shelf(tmp_path / "runs"))
    setting = holdem.setting_of(plan)
    assert setting.game == TINY and len(arguments(setting)) == 5
    exploit = first.figures["exploitability"]
    assert set(exploit) == set(NAMES) and all(each["exploitability"] > 0 for each in exploit.values())
    assert len(first.figures["matches"]) == 10
    again = holdem.EXPERIMENT.recompute(plan)  # strategies lie in the folder, all else is done anew
    assert again.figures["exploitability"][BASE]["best"] == exploit[BASE]["best"]
    assert again.figures["matches"] == first.figures["matches"]
