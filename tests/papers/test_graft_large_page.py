"""Table 3 of limit hold'em with 52 cards: its page from made-up estimates."""

from __future__ import annotations

import json

import pytest

from kibitz.core.errors import ArtefactError
from kibitz.papers import PaperPlan, holdem_course, table_alone
from kibitz.papers import waugh2009_large as large
from kibitz.papers.waugh2009_strategies import BASE, FOURTEEN, GRAFTED, LARGEST, SMALLER, TWELVE

WON = {BASE: 9.0, SMALLER: 8.0, LARGEST: 1.0, FOURTEEN: -7.0, TWELVE: -5.0}  # by the grafted strategy


def drawn(one, other, steps, mean):
    return {"run": holdem_course.DRAWN, "arguments": ["waugh2009"], "seconds": 60.0, "when": "",
            "by": {"device": "a GPU"},
            "answer": {"one": one, "other": other, "seed": 0, "steps": steps, "draws": 2, "boards": 100, "mean": mean,
                       "error": 0.2, "by_draw": [[mean / 110] * 110] * 2}}  # fmt: skip


@pytest.fixture
def plan(tmp_path):
    every = [drawn(name, GRAFTED, [262144, n], less - won) for name, won in WON.items()
             for n, less in ((65536, 3.0), (131072, 1.2), (262144, 0.0))]  # fmt: skip
    every.append(drawn(SMALLER, FOURTEEN, [262144, 300], -4.0))
    (tmp_path / "some.json").write_text(json.dumps(every))
    return PaperPlan(starts=3, results=str(tmp_path))


def test_claims_count_what_the_last_doubling_changed(plan):
    said = {claim.text: (claim.verdict, claim.detail) for claim in large.claims(large.gather(plan, {}))}
    assert said[f"the grafted strategy beats {BASE}"][0] == "holds"
    assert said[f"the grafted strategy beats even the largest single strategy, {LARGEST}"][0] == "undecided"  # 1 by 1.2
    assert said[f"the grafted strategy beats {TWELVE}"][0] == "fails"
    assert said[f"the grafted strategy beats {TWELVE}"][1].startswith(f"{GRAFTED} loses 5.00 ± ")
    assert said["20x7 beats 14, which it superseded"][0] == "fails"


def test_six_claims_are_judged_together(tmp_path):
    """A result that a single claim would hold by is undecided: 1 by 0.8, where the 95% interval alone is 0.7."""
    pairs = [drawn(SMALLER, FOURTEEN, [262144, 300], -0.8)]
    pairs += [drawn(BASE, GRAFTED, [262144, n], -9.0) for n in (131072, 262144)]
    pairs[0]["answer"]["error"] = 0.7
    (tmp_path / "some.json").write_text(json.dumps(pairs))
    said = {claim.text: claim for claim in large.claims(large.gather(PaperPlan(results=str(tmp_path)), {}))}
    (case,) = said["20x7 beats 14, which it superseded"].cases
    assert case.error == pytest.approx(0.7 * 2.685 / 1.982, rel=1e-3) and case.true is None


def test_a_single_look_of_the_grafted_strategy_is_undecided(tmp_path):
    (tmp_path / "some.json").write_text(json.dumps([drawn(BASE, GRAFTED, [262144, 262144], -9.0)]))
    (claim,) = large.claims(large.gather(PaperPlan(results=str(tmp_path)), {}))
    assert claim.verdict == "undecided" and "it is unknown how much that still changes" in claim.detail


def test_a_session_that_ended_early_makes_a_page(plan, tmp_path):
    every = json.loads((tmp_path / "some.json").read_text())
    every = [each for each in every if each["answer"]["one"] != TWELVE or each["answer"]["steps"][1] < 262144]
    coarse = drawn(BASE, GRAFTED, [262144, 262144], -99.0)
    coarse["answer"]["boards"] = 50  # on fewer boards
    (tmp_path / "some.json").write_text(json.dumps([*every, coarse]))
    report = table_alone("waugh2009", "3 by stages").recompute(plan)
    grown = next(sheet for sheet in report.sheets if sheet.title.startswith("Winnings of the grafted strategy along"))
    last = dict(zip(grown.head, grown.rows[-1], strict=True))
    assert last[TWELVE] == "" and last[BASE] == "+9.00"


def test_the_page_shows_winnings_along_the_training_of_grafts(plan):
    report = table_alone("waugh2009", "3 by stages").recompute(plan)
    grown = next(sheet for sheet in report.sheets if sheet.title.startswith("Winnings of the grafted strategy along"))
    assert grown.head == ("boards of each graft", *WON)
    assert [row[:2] for row in grown.rows] == [("65,536", "+6.00"), ("131,072", "+7.80"), ("262,144", "+9.00")]
    assert "training" in [each.name for each in report.pictures] and "Not measured yet" not in " ".join(report.departs)
    assert report.figures["looks"][BASE] == {"65536": 6.0, "131072": 7.8, "262144": 9.0}


def test_a_pair_that_was_measured_after_another_training_is_told(plan, tmp_path):
    answer = {"one": GRAFTED, "other": BASE, "seed": 0, "steps": [262144, 262144], "mean": 9.876}
    exact = {**drawn(GRAFTED, BASE, [], 0.0), "run": holdem_course.PAIR, "answer": answer}
    exact["by"] = {"device": "a GPU", "sources": "others"}
    (tmp_path / "more.json").write_text(json.dumps([exact]))
    report = table_alone("waugh2009", "3 by stages").recompute(plan)
    (told,) = [text for text in report.departs if "several trainings" in text]
    assert f": {GRAFTED} wins 9.876 exactly, 9.00 ± 0.20 on 100 boards from {BASE}. " in told
    assert next(claim for claim in report.claims if claim.text.endswith(f"beats {BASE}")).detail.endswith("9.876")


def test_a_folder_without_results_says_what_to_run(tmp_path):
    with pytest.raises(ArtefactError, match="--stage graft-0"):
        large.gather(PaperPlan(results=str(tmp_path)), {})
