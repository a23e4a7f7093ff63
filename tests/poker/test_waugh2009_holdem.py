"""Table 3 of Waugh et al. 2009: sizes, the page, and the whole on a deck of twelve cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kibitz.papers import table_alone
from kibitz.papers import waugh2009_holdem as holdem
from kibitz.papers.holdem import pairs
from kibitz.papers.holdem_page import EXACT, EXPLOITED, GAME, MATCHES, SOLVING, WITHIN
from kibitz.papers.runs import Shelf
from kibitz.papers.waugh2009_strategies import BASE, FOURTEEN, GRAFTED, LARGEST, NAMES, RATIO, SMALLER, TWELVE, sizes_of


def test_sizes_fill_the_limits():
    base, largest, fourteen, twelve = holdem.LIMITS
    found = sizes_of(GAME, *holdem.LIMITS)
    assert found.single[FOURTEEN] == "percentile(8)" and found.single[TWELVE] == "percentile(7)"
    assert all("recall=false" in found.single[name] for name in (BASE, SMALLER, LARGEST))
    assert list(found.grafts) == ["r", "cr", "ccr", "cccr"]
    limits = {GRAFTED: largest, BASE: base, SMALLER: base * 7 // 8, LARGEST: largest, FOURTEEN: fourteen,
              TWELVE: twelve}  # fmt: skip
    assert all(0.95 * limits[name] < found.infosets[name] <= limits[name] for name in NAMES)
    assert found.infosets[LARGEST] / found.infosets[BASE] == pytest.approx(RATIO, abs=0.01)


def answers(measured):
    """Runs as they might have come out: the earlier a strategy in the list the more it wins."""
    facts = {"file": "", "seconds": 1.0, "largest": 0, "iterations": [7, 9], "buckets": "b"}
    strategies = [
        {"name": name, "infosets": 100 + k, "experts": [["r", [0], "b", 60]] * 8 if name == GRAFTED else [], **facts}
        for k, name in enumerate(NAMES)
    ]
    matches = [{"one": x, "other": y, "mean": 1.0 * NAMES.index(y) - NAMES.index(x), "error": 2.5, "seconds": 1.0}
               for x, y in pairs(NAMES)]  # fmt: skip
    found = {f"{SOLVING}: without grafts": strategies[1:], f"{SOLVING}: grafted": strategies[:1],
             MATCHES: [matches], WITHIN: [{"name": TWELVE, "exploitability": 2.0, "device": "cpu"}]}  # fmt: skip
    if measured:
        found[EXPLOITED] = [{"name": name, "best": [1.0, 2.0], "exploitability": 300.0 + k, "by": "a GPU"}
                            for k, name in enumerate(NAMES)]  # fmt: skip
        found[EXACT] = [{**match, "mean": match["mean"] + 0.25} for match in matches]
    return holdem.gather(holdem.EXPERIMENT.plan, found)


@pytest.mark.parametrize("measured", [False, True])
def test_the_page_says_what_was_measured(measured):
    r = answers(measured)
    claims = list(holdem.claims(r))
    told = {claim.text: claim.verdict for claim in claims}
    exactly = "holds" if measured else "undecided"  # by less than the noise of matches, but exactly
    assert told[f"the grafted strategy beats {BASE}"] == exactly
    assert told[f"the grafted strategy beats even the largest single strategy, {LARGEST}"] == "holds"
    assert told[f"{SMALLER} beats {FOURTEEN}, which it superseded"] == exactly
    assert told["the grafted strategy wins most on average"] == exactly
    assert len([claim for claim in claims if claim.of_the_paper]) == len(NAMES)
    page = holdem.page(holdem.EXPERIMENT.plan, r, claims)
    assert ("on a GPU" in page.about) == measured and ("--exact" in page.about) != measured
    head, rows = page.sheets[0].head, {row[0]: row for row in page.sheets[0].rows}
    assert rows[GRAFTED][head.index(TWELVE)] == "5.00" and rows[TWELVE][head.index(GRAFTED)] == "-5.00"
    assert rows[GRAFTED][head.index("relative size")] == f"{(101 + 480) / 101:.2f}"
    assert rows[TWELVE][head.index("relative size")] == f"{105 / 101:.2f}"
    assert ("exploitability" in head) == measured
    assert [sheet.title for sheet in page.sheets].count("Exact winnings of each pair") == measured
    assert page.figures["relative_size"][BASE] == 1.0


def test_it_is_found():
    assert table_alone("waugh2009", "3") is holdem.EXPERIMENT
    assert table_alone("waugh2009", "2").tables == ("1", "2")


@pytest.mark.slow
def test_everything_on_a_small_deck(tmp_path, monkeypatch):
    monkeypatch.setattr(holdem.shared, "TINY", "poker(file=holdem.limit.2p, ranks=3)")
    plan = replace(holdem.EXPERIMENT.quick, iterations=10, folder=str(tmp_path))
    first = holdem.EXPERIMENT.recompute(plan, shelf=Shelf(tmp_path / "runs"))
    assert set(first.figures["exploitability"]) == set(NAMES)
    assert all(each["exploitability"] > 0 for each in first.figures["exploitability"].values())
    assert len(first.figures["matches"]) == len(first.figures["exact"]) == 15
    sizes = first.figures["relative_size"]
    assert sizes[SMALLER] < sizes[BASE] == 1.0 < sizes[LARGEST] < sizes[GRAFTED]
    assert len(first.figures["strategies"][GRAFTED]["experts"]) == 8
    shelf = Shelf(tmp_path / "runs")
    again = holdem.EXPERIMENT.recompute(plan, shelf=shelf)
    assert again.figures == first.figures and not shelf.done
