"""Pages of the large tables from made-up results: every verdict, and what is missing."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations

import numpy as np
import pytest
from scipy.special import stdtrit
from typer.testing import CliRunner

from kibitz.bench.openings import OPENINGS as openings
from kibitz.cli import app
from kibitz.core.errors import ArtefactError
from kibitz.papers import PaperPlan, table_alone
from kibitz.papers import gibson2011_avoided as avoided
from kibitz.papers import gibson2011_large as large
from kibitz.papers import gibson2011_large_page as page
from kibitz.papers import gibson2011_why as why
from kibitz.papers import holdem_course as courses
from kibitz.papers.course_results import CourseResults, crosstable_sheet, last_looks, results_of, wins
from kibitz.papers.earnings import Winnings, earnings, freedom_of, widened
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST, NAMES
from kibitz.poker.whole.drawn import interval

HEIGHT = {BASE: 310.0, DYNAMIC: 307.0, EACH: 301.0, ALL: 289.0, FINEST: 135.0}


def entry(run, **answer):
    return {"run": run, "arguments": ["gibson2011"], "answer": answer, "seconds": 60.0, "when": "",
            "by": {"device": "a GPU", "sources": ""}}  # fmt: skip


def made(folder, heights=HEIGHT, moved=0.1, seeds=(0, 1, 2), matches=True, tilt=5.0):
    """moved: change of exploitability over the last doubling; tilt: by how much a later strategy beats an earlier."""
    entries = []
    for name, height in heights.items():
        sampled = name not in (BASE, FINEST)
        for seed in seeds:
            for steps, below in ((100, 4 * moved), (200, moved), (400, 0.0)):
                entries.append(entry(
                    courses.POINT, name=name, seed=seed, steps=steps, done=[steps], seconds=1.0,
                    exploitability=height - below + seed, value=0.5, best=[1.0, 2.0], gap=None if sampled else 0.7,
                    solver="pcs" if sampled else "dcfr+", infosets=7, largest=6, buckets="b",
                ))  # fmt: skip
            entries.append(entry(courses.WHOLE, name=name, seed=seed, steps=400, exploitability=height + seed,
                                 best=[1.0, 2.0]))  # fmt: skip
            entries.append(entry(courses.OPENINGS, name=name, seed=seed, steps=400,
                                 gains=[["cc", 0, 0.4, 10.0], ["rc", 1, 0.1, 3.0]]))  # fmt: skip
            if name != BASE:
                entries.append(entry(courses.PAIR, one=BASE, other=name, seed=seed, steps=[400, 400], mean=-tilt))
    for one, other in combinations(NAMES, 2) if matches else ():
        strata = [[-tilt / 4 + 0.2, -tilt / 4] * 2, [-tilt / 4, -tilt / 4 - 0.2] * 2]
        entries.append(entry(courses.DRAWN, one=one, other=other, seed=0, steps=[400, 400], draws=2, boards=100,
                             mean=-tilt, error=1.0, by_draw=strata))  # fmt: skip
    (folder / "some.json").write_text(json.dumps(entries))
    return PaperPlan(starts=3, results=str(folder))


def verdicts(plan):
    return {claim.text: claim.verdict for claim in page.claims(page.gather(plan, {}))}


def test_claims_hold(tmp_path):
    found = verdicts(made(tmp_path))
    assert found[f"{ALL} is less exploitable than {BASE}"] == "holds"
    assert found[f"{ALL} is the least exploitable of those of one size"] == "holds"
    assert found["the finest strategy is the least exploitable"] == "holds"
    assert found[f"{DYNAMIC} earns more than {BASE}"] == "holds" and found[f"{ALL} wins from {BASE}"] == "holds"
    assert found[f"{EACH} earns no more than {BASE}"] == "fails"
    assert sum(claim.of_the_paper for claim in page.claims(page.gather(made(tmp_path), {}))) == page.CLAIMS


def test_earnings_are_judged_in_each_seed(tmp_path):
    plan, path = made(tmp_path), tmp_path / "some.json"
    every = json.loads(path.read_text())
    drawn = [each for each in every if each["run"] == courses.DRAWN]

    def judged(*more):
        """(factor, seed, pairs)"""
        others = [{**each, "answer": {**each["answer"], "seed": seed, "mean": factor * each["answer"]["mean"],
                                      "by_draw": (factor * np.array(each["answer"]["by_draw"])).tolist()}}
                  for factor, seed, pairs in more for each in drawn[:pairs]]  # fmt: skip
        path.write_text(json.dumps([*every, *others]))
        (said,) = [text for text in page.EXPERIMENT.recompute(plan).departs if "are all measured: " in text]
        claims = {claim.text: claim for claim in page.claims(page.gather(plan, {}))}
        claim = claims[f"{DYNAMIC} earns more than {BASE}"]
        return claim.verdict, len(claim.cases), said.partition("measured: ")[2].partition(". ")[0]

    assert judged() == ("holds", 1, "0")
    assert judged((1, 1, 10), (1, 2, 10)) == ("holds", 3, "0, 1, 2")
    assert judged((1, 1, 10), (-1, 2, 10)) == ("undecided", 3, "0, 1, 2")
    assert judged((-1, 1, 9)) == ("holds", 1, "0")  # a pair is missing


def test_claims_fail(tmp_path):
    found = verdicts(made(tmp_path, {**HEIGHT, ALL: 320.0}, tilt=-5.0))
    assert found[f"{ALL} is less exploitable than {BASE}"] == "fails"
    assert found[f"{ALL} is the least exploitable of those of one size"] == "fails"
    assert found[f"{DYNAMIC} earns more than {BASE}"] == "fails" and found[f"{ALL} wins from {BASE}"] == "fails"


def test_what_still_changes_decides_nothing(tmp_path):
    plan = made(tmp_path, moved=6.0, tilt=0.1)
    found = verdicts(plan)
    assert found[f"{DYNAMIC} is less exploitable than {BASE}"] == "undecided"  # 3 apart, and both moved by 6
    assert found[f"{ALL} is less exploitable than {BASE}"] == "holds"  # 21 apart
    assert found[f"{DYNAMIC} earns more than {BASE}"] == "undecided"
    report = page.EXPERIMENT.recompute(plan)
    (margins,) = [sheet.rows for sheet in report.sheets if "margins" in sheet.title]
    assert margins[0] == (f"{DYNAMIC} is less exploitable than {BASE}", "-3.00; -3.00; -3.00", "12.00; 12.00; 12.00")
    assert f"{DYNAMIC} (seed 0)" in report.about and f"{BASE} (seed 0)" not in report.about


def test_the_page(tmp_path):
    report = table_alone("gibson2011", "2 by stages").recompute(made(tmp_path))
    sheets = {sheet.title: sheet for sheet in report.sheets}
    row = next(row for row in sheets["Table 2, two players: milli-big-blinds per hand"].rows if row[0] == ALL)
    assert row[3:] == ("290.00", "289.00, 290.00, 291.00", "288.82")
    assert "a GPU" in report.about and "Not converged" not in report.about
    rows = sheets["Gains of best responses by the betting before the flop"].rows
    assert [row[:2] for row in rows[-3:]] == [("all of these", "13.00"),
                                              ("by betting otherwise before the flop", "607.00"),
                                              ("twice the exploitability", "620.00")]  # fmt: skip
    assert [panel.title for panel in report.pictures[0].panels] == ["trained over all boards"]
    assert json.dumps(report.data())


def test_claims_are_judged_once_more_with_further_training(tmp_path):
    plan = made(tmp_path, {**HEIGHT, ALL: 320.0}, matches=False)
    first = json.loads((tmp_path / "some.json").read_text())
    made(tmp_path, {BASE: 312.0, ALL: 300.0}, seeds=(0,), matches=False)
    later = [{**each, "run": large.FURTHER + each["run"]} for each in json.loads((tmp_path / "some.json").read_text())]
    for each in later:  # the last look of the plan
        each["answer"]["steps"] = 4 * each["answer"]["steps"] if each["run"].endswith(courses.POINT) else 1600
    begun = {**later[0], "answer": {**later[0]["answer"], "name": large.CONDITIONAL}}  # not trained to the end
    (tmp_path / "some.json").write_text(json.dumps([*first, *later, begun]))
    found = verdicts(plan)
    assert found[f"{ALL} is less exploitable than {BASE}"] == "fails"
    assert found[f"trained to a gap of 0.1, {ALL} is less exploitable than {BASE}"] == "holds"
    assert f"trained to a gap of 0.1, {DYNAMIC} is less exploitable than {BASE}" not in found
    report = page.EXPERIMENT.recompute(plan)
    assert not any(claim.of_the_paper for claim in report.claims if claim.text.startswith("trained"))
    rows = {sheet.title: sheet.rows for sheet in report.sheets}
    assert [row[0] for row in rows["Convergence, trained to a gap of 0.1"]] == [f"{BASE}, seed 0", f"{ALL}, seed 0"]
    assert rows["Exact winnings, trained to a gap of 0.1"] == [(f"{ALL} from {BASE}, seed 0", "5.000")]
    reasons = [each for each in openings["stitching_large"].reasons if not each.pattern.startswith("^trained to")]
    assert not [each.pattern for each in reasons for claim in report.claims if claim.text.startswith("trained") and
                re.search(each.pattern, claim.text)]  # fmt: skip
    assert {each["exploitability"] for each in report.figures["exact"] if each["name"] == ALL} == {320.0, 321.0, 322.0}


def test_figures_of_another_paper_are_left_out(tmp_path):
    plan = made(tmp_path)
    seconds = page.gather(plan, {}).seconds
    other = {**entry(courses.PAIR, one="20x8 grafted", other="20x8", seed=0, mean=9.9), "arguments": ["waugh2009"]}
    (tmp_path / "graft-0.json").write_text(json.dumps([other]))
    r = page.gather(plan, {})
    assert r.seconds == seconds and all(BASE in key for key in r.pairs)
    assert ("20x8 grafted", "20x8", 0) in results_of(tmp_path).pairs


def test_what_is_missing(tmp_path):
    plan = made(tmp_path, {BASE: 310.0, ALL: 289.0}, seeds=(0,), matches=False)
    report = page.EXPERIMENT.recompute(plan)
    cells = {row[0]: row for row in report.sheets[0].rows}
    assert cells[ALL][1] == "not measured" and cells[EACH][3] == "not measured"
    texts = [claim.text for claim in report.claims]
    assert f"{ALL} is less exploitable than {BASE}" in texts and f"{EACH} is less exploitable than {BASE}" not in texts
    assert "in one run" in report.claims[0].verdict_text
    (tmp_path / "none").mkdir()
    with pytest.raises(ArtefactError, match="no results"):
        page.gather(PaperPlan(results=str(tmp_path / "none")), {})
    assert results_of(tmp_path).converged(BASE, 0)


def test_winnings_are_exact_where_they_are_known_so():
    exact = {"one": "a", "other": "b", "seed": 0, "mean": 3.0}
    match = {"one": "b", "other": "a", "seed": 0, "mean": 5.0, "error": 1.0, "boards": 70}
    later = {"one": "b", "other": "a", "seed": 1, "mean": 0.9, "error": 0.5, "boards": 3000}
    r = CourseResults({}, {}, {}, {("a", "b", 0): exact}, {("b", "a", 0): match, ("b", "a", 1): later}, 0.0, ())
    assert r.won("a", "b") == [Winnings(0, 3.0, None), Winnings(1, -0.9, 0.5)]
    assert r.won("b", "a") == [Winnings(0, -3.0, None), Winnings(1, 0.9, 0.5)]
    assert r.won_in(0, "b", "a") == Winnings(0, -3.0, None) and r.won_in(0, "a", "c") is None and r.won("a", "c") == []
    claim = wins("b wins", "paper", r, "b", "a", 13)
    first, second = claim.cases
    assert (first.left, first.error, first.true) == (-3.0, None, False)
    assert second.left == 0.9 and second.error == widened(0.5, 13) > 0.7 and second.true is True
    assert "b wins -3.000, 0.90 ± " in claim.detail and wins("c wins", "paper", r, "c", "a") is None
    only = CourseResults({}, {}, {}, {}, {("b", "a", 1): later}, 0.0, ())
    assert wins("a wins", "paper", only, "a", "b").detail == "a loses 0.90 ± 0.50"
    cells = {row[0]: row[1:] for row in crosstable_sheet(only, ("a", "b", "c"), "mbb/h", 1).rows}
    assert cells == {"a": ("", "-0.90 ± 0.50", ""), "b": ("0.90 ± 0.50", "", "")}
    note = crosstable_sheet(only, ("a", "b"), "mbb/h", 4).note
    assert "seed 1" in note and "on 3,000 drawn boards. " in note and "95% for 4 comparisons" in note
    finer = {("c", other, 0): {**later, "one": "c", "other": other} for other in "de"}
    more = CourseResults({}, {}, {}, r.pairs, {**r.drawn, **finer, ("c", "b", 0): {**match, "one": "c"}}, 0.0, ())
    note = crosstable_sheet(more, ("a", "b"), "mbb/h", 4).note
    assert "on 3,000 drawn boards; c and a on 70. " in note and "b and a" not in note  # known exactly


def test_an_estimate_that_another_contradicts_is_told_and_not_judged_by(tmp_path):
    plan = made(tmp_path)
    every = json.loads((tmp_path / "some.json").read_text())
    aside = entry(courses.ASIDE, one=BASE, other=DYNAMIC, seed=0, steps=[400, 400], draws=2, boards=900, mean=9.0,
                  error=0.5, by_draw=[[4.5, 4.5]] * 2)  # fmt: skip
    (tmp_path / "some.json").write_text(json.dumps([*every, aside]))
    assert (BASE, DYNAMIC, 0) in page.gather(plan, {}).pairs
    assert page.gather(plan, {}).drawn[BASE, DYNAMIC, 0]["mean"] == -5.0
    (told,) = [text for text in page.EXPERIMENT.recompute(plan).departs if "set aside" in text]
    error = widened(0.5, page.CLAIMS, freedom_of(aside["answer"].get("by_draw")))
    assert f"session {DYNAMIC} won -9.00 ± {error:.2f} from {BASE} instead of 5.00 ± " in told
    precise = {**aside, "run": large.PRECISE + courses.DRAWN, "answer": {**aside["answer"], "mean": 8.5}}
    (tmp_path / "some.json").write_text(json.dumps([*every, aside, precise]))
    (told,) = page.set_aside(page.gather(plan, {}))
    assert f"gave -9.00 ± {error:.2f} and -8.50 ± {error:.2f}; one in which both were rounded gave 5.00 ± " in told
    assert "and it wins 5.000 in seed 1 and 5.000 in seed 2. So rounding of Dynamic alone is not" in told  # exactly
    drawn = [each for each in every if each["run"] == courses.DRAWN]
    later = [{**each, "run": large.PRECISE + each["run"], "answer": {**each["answer"], "mean": -4.0, "by_draw": (
        0.8 * np.array(each["answer"]["by_draw"])).tolist()}} for each in drawn]  # fmt: skip
    finer = {**drawn[-1], "answer": {**drawn[-1]["answer"], "boards": 900, "mean": -4.5}}  # not rounded
    for some, mean in ((later[:9], -5.0), (later, -4.0)):  # all pairs count once all are known
        (tmp_path / "some.json").write_text(json.dumps([*every, aside, finer, *some]))
        r = page.gather(plan, {})
        assert {each["mean"] for each in r.drawn.values()} == {mean, -4.5} and len(r.drawn) == 10
        assert page._earned(r)[0].of(FINEST).mean == pytest.approx(-mean)
    (told,) = page.set_aside(r)
    assert f"{DYNAMIC} wins 4.00 ± " in told and "With rounding it won 5.00 ± " in told
    few = [each for each in every if each["run"] != courses.PAIR]
    (tmp_path / "some.json").write_text(json.dumps([*few, aside, precise]))
    assert "So rounding is the likely cause." in next(page.set_aside(page.gather(plan, {})))
    point = next(each for each in every if each["run"] == courses.POINT and each["answer"]["name"] == EACH)
    rounded = {**point, "run": courses.POINTS_ASIDE, "answer": {**point["answer"], "exploitability": 291.0}}
    (tmp_path / "some.json").write_text(json.dumps([*every, rounded]))
    (rule,) = page.set_aside(page.gather(plan, {}))
    assert f"{EACH} in seed 0 291.00 instead of " in rule
    assert page.gather(plan, {}).points == page.gather(made(tmp_path), {}).points
    assert not any("set aside" in text for text in page.EXPERIMENT.recompute(made(tmp_path)).departs)


def test_strategies_that_were_trained_anew_for_pairs_are_named(tmp_path):
    plan = made(tmp_path)
    every = json.loads((tmp_path / "some.json").read_text())
    assert not any("trained anew for pairs" in text for text in page.EXPERIMENT.recompute(plan).departs)
    for each in every:
        if each["run"] == courses.DRAWN and BASE in each["answer"].values():
            ends = {each["answer"]["one"]: [400], each["answer"]["other"]: [400]} | {BASE: [539]}
            each["answer"]["done"] = [ends[each["answer"]["one"]], ends[each["answer"]["other"]]]
    (tmp_path / "some.json").write_text(json.dumps(every))
    (told,) = [text for text in page.EXPERIMENT.recompute(plan).departs if "trained anew for pairs" in text]
    assert told.endswith(f"they were: 539 of {BASE} in seed 0.")


def test_what_winnings_still_changed_is_added_to_their_interval():
    looks = [{"one": "a", "other": "g", "seed": 0, "steps": [400, n], "mean": mean, "error": 0.5, "boards": 70}
             for n, mean in ((400, -2.0), (100, 9.0), (200, -3.5))]  # fmt: skip
    rough = {**looks[0], "mean": -9.0, "boards": 50}  # on fewer boards
    last = last_looks([*looks, rough])["a", "g", 0]
    assert last["steps"] == [400, 400] and last["moved"] == 1.5
    r = CourseResults({}, {}, {}, {}, last_looks(looks), 0.0, ())
    (won,) = r.won("g", "a")
    assert (won.mean, won.error_of(1)) == (2.0, 2.0) and won.text() == "2.00 ± 2.00"
    assert wins("g wins", "paper", r, "g", "a").verdict == "undecided"
    alone = last_looks([looks[0], looks[1]])["a", "g", 0]  # a quarter is no half
    assert alone["steps"] == [400, 400] and "moved" not in alone


def test_intervals_of_few_strata_are_widened_by_students_t():
    strata = np.random.default_rng(2).normal(size=(2, 5))
    assert freedom_of(strata) == 5 and freedom_of(None) == math.inf
    half = interval(strata)[1]
    assert widened(half, 13, 5) == pytest.approx(half / stdtrit(5, 0.975) * stdtrit(5, 1 - 0.025 / 13))
    assert widened(half, 13, 5) > 1.3 * widened(half, 13)
    one = {"one": "a", "other": "b", "seed": 0, "mean": 1.0, "error": 0.5, "boards": 70, "by_draw": strata.tolist()}
    (won,) = CourseResults({}, {}, {}, {}, {("a", "b", 0): one}, 0.0, ()).won("a", "b")
    assert won.error_of(13) == widened(0.5, 13, 5)


def test_of_two_estimates_of_a_pair_the_one_on_most_boards_counts():
    """However the pair is named."""
    few = {"one": "a", "other": "b", "seed": 0, "steps": [1, 1], "mean": 1.0, "error": 0.1, "boards": 10}
    many = {"one": "b", "other": "a", "seed": 0, "steps": [1, 1], "mean": 2.0, "error": 0.1, "boards": 1000}
    for every in ([few, many], [many, few]):
        r = CourseResults({}, {}, {}, {}, last_looks(every), 0.0, ())
        assert r.won("a", "b")[0].mean == -2.0 and r.won("b", "a")[0].mean == 2.0


def test_pairs_that_were_measured_after_two_trainings_are_told(tmp_path):
    plan = made(tmp_path)
    every = json.loads((tmp_path / "some.json").read_text())
    again = entry(courses.DRAWN, one=EACH, other=FINEST, seed=0, steps=[400, 400], draws=2, boards=900, mean=-4.5,
                  error=0.5, by_draw=[[-2.25, -2.25]] * 2)  # fmt: skip
    exact = entry(courses.PAIR, one=FINEST, other=EACH, seed=0, steps=[400, 400], mean=4.25)
    for sources in ("", "others"):  # by the same version strategies are those that were kept
        again["by"]["sources"] = exact["by"]["sources"] = sources
        (tmp_path / "some.json").write_text(json.dumps([*every, again, exact]))
        told = [text for text in page.EXPERIMENT.recompute(plan).departs if "several trainings" in text]
        assert len(told) == bool(sources)
    said = "4.250 exactly, 5.00 ± 1.00 on 100 boards, 4.50 ± 0.50 on 900 boards"
    assert f": {FINEST} wins {said} from {EACH}." in told[0]


def test_earnings_are_of_the_same_boards():
    """As by writing down what each strategy earns in each draw of each stratum."""
    random, names = np.random.default_rng(1), ("a", "b", "c")
    boards = random.normal(size=(2, 30))  # luck that all pairs share
    drawn = [{"one": a, "other": b, "seed": 0, "boards": 9, "draws": 2,
              "by_draw": (0.1 * k + boards + 0.1 * random.normal(size=(2, 30))).tolist()}
             for k, (a, b) in enumerate([("a", "b"), ("c", "a"), ("b", "c")])]  # fmt: skip
    others = {**drawn[0], "boards": 99, "by_draw": [[0.0], [0.0]]}, {**drawn[1], "seed": 1}

    def of(every):
        return earnings(every, names, 4)

    earned = of([*drawn, *others])
    ab, ca, bc = (np.array(each["by_draw"]) for each in drawn)
    by_name = {"a": (ab - ca) / 2, "b": (bc - ab) / 2, "c": (ca - bc) / 2}
    for name, earns in by_name.items():
        mean, error = interval(earns)
        assert earned.of(name) == pytest.approx((0, mean, widened(error, 4, 30), 0.0, math.inf))
    mean, error = interval(by_name["a"] - by_name["b"])
    assert earned.more("a", "b") == pytest.approx((0, mean, widened(error, 4, 30), 0.0, math.inf))
    assert earned.of("a").error < 0.5 * widened(interval(ab)[1], 4, 30)  # what pairs share is not counted
    assert of([drawn[0], drawn[2], *others]) is None
    finer = [{**each, "boards": 99, "by_draw": (2 * np.array(each["by_draw"])).tolist()} for each in drawn]
    for every in ([*drawn, *finer], [*finer, *drawn]):  # on most boards
        assert of(every).of("a").mean == pytest.approx(2 * earned.of("a").mean)


def test_further_training_without_exact_figures_takes_the_sampling_error_of_less_training(tmp_path):
    def point(run, name, steps, exploitability):
        figures = {"exploitability": exploitability, "value": 0.5, "best": [1.0, 2.0], "gap": 0.05, "seconds": 1.0}
        return entry(run, name=name, seed=0, steps=steps, done=[steps], solver="dcfr+", infosets=7, largest=6,
                     buckets="b", **figures)  # fmt: skip

    entries = [point(courses.POINT, name, steps, height) for name, height in ((BASE, 310.0), (ALL, 300.0))
               for steps in (400, 800)]  # fmt: skip
    entries += [entry(courses.WHOLE, name=name, seed=0, steps=800, exploitability=height, best=[1.0, 2.0])
                for name, height in ((BASE, 309.0), (ALL, 302.0))]  # off by 3
    for fall, verdict in ((3.5, "holds"), (2.5, "undecided")):
        more = [point(large.FURTHER + courses.POINT, name, steps, height)
                for name, height in ((BASE, 310.0), (ALL, 310.0 - fall)) for steps in (800, 1600)]  # fmt: skip
        (tmp_path / "some.json").write_text(json.dumps([*entries, *more]))
        texts = verdicts(PaperPlan(starts=3, results=str(tmp_path)))
        assert texts[f"trained to a gap of 0.1, {ALL} is less exploitable than {BASE}"] == verdict


def test_intervals_of_many_claims():
    assert widened(1.0, 1) == pytest.approx(1.0)
    assert widened(1.0, 12) == pytest.approx(2.865 / 1.960, rel=1e-3)


def test_the_explanation(tmp_path):
    """A cause is named if the difference goes away without it in three seeds."""
    control = next(iter(large.FINER))
    heights = {BASE: 300.0, ALL: 320.0, control: 301.0, f"{ALL}: r alone": 319.0, f"{ALL}: cr alone": 300.5,
               large.SAMPLED: 300.1, "Base.cfr": 290.0}  # fmt: skip
    plan = made(tmp_path, heights, matches=False)
    report = table_alone("gibson2011", "why by stages").recompute(plan)
    found = {each["name"]: each["verdict"] for each in report.figures["causes"]}
    assert found == {"finer experts": "a cause", "r-expert": "a cause", "cr-expert": "not explained by it",
                     "a part that the base avoids": "not measured"}  # fmt: skip
    assert [picture.name for picture in report.pictures] == ["differences"]  # one gap makes no line
    assert all(not line.joined for line in report.pictures[0].panels[0].lines)
    assert report.figures["differences"] == {"0": 20.0, "1": 20.0, "2": 20.0}
    held = {claim.text: claim.verdict for claim in report.claims}
    assert held[f"equilibria of one abstraction differ by more than {ALL} and {BASE} do"] == "fails"
    assert held[f"more training makes {BASE} more exploitable"] == "holds"
    titles = [sheet.title for sheet in report.sheets]
    assert titles[:4] == ["Causes", "Experts", "How often Base comes to a flop", "Base by random initialisation"]
    assert json.dumps(report.data())
    by_paper = f"by the paper's algorithm {ALL} is less exploitable than {BASE}"
    assert by_paper not in held
    made(tmp_path, {large.BASE_SAMPLED: 290.0, large.ALL_SAMPLED: 280.0}, matches=False)
    (tmp_path / "some.json").rename(tmp_path / "other.json")
    made(tmp_path, heights, matches=False)
    verdicts_of_why = {claim.text: claim.verdict for claim in why.EXPERIMENT.recompute(plan).claims}
    assert verdicts_of_why[by_paper] == "holds" and verdicts_of_why.items() >= held.items()
    (tmp_path / "other.json").unlink()
    few = why.EXPERIMENT.recompute(made(tmp_path, heights, seeds=(0,), matches=False))
    assert few.figures["causes"][0]["verdict"].startswith("undecided: measured in 1 of 3")
    (tmp_path / "some.json").write_text("[]")
    with pytest.raises(ArtefactError, match="two-all-0"):
        why.gather(plan, {})


def test_from_the_command_line(tmp_path):
    made(tmp_path)
    out = ["--out", str(tmp_path / "report"), "--json"]

    def run(*words):
        return CliRunner().invoke(app, ["reproduce", *words, *out])

    for words in (("--table", "2"), ("--table", "why")):
        answer = run("gibson2011", *words, "--results", str(tmp_path))
        assert answer.exit_code == 0, answer.output
    assert "two-pilot" in run("gibson2011", "--stage", "list").output
    for words, said in (
        (("gibson2011", "--table", "1", "--results", str(tmp_path)), "--results is for"),
        (("gibson2011", "--table", "2", "--results", str(tmp_path), "--reuse", str(tmp_path)), "leave one of them out"),
        (("gibson2011", "--table", "2", "--results", str(tmp_path), "--seeds", "2"), "leave --seeds, --seed"),
        (("gibson2011", "--quick", "--reuse", str(tmp_path / "none")), "not a folder of runs"),
        (("gibson2011", "--device", "gpu"), "give --stage too"),
        (("gibson2011", "--stage", "none"), "there is no stage"),
    ):
        answer = run(*words)
        assert answer.exit_code != 0 and said in str(answer.output) + str(answer.exception)


def test_seeds_without_exact_figures_are_compared_on_sampled_flops(tmp_path):
    """With a margin for the sample, as it is off where both are known; without any such figure there is no claim."""
    plan = made(tmp_path, {BASE: 310.0, ALL: 305.0, large.CONDITIONAL: 309.0}, matches=False)
    path = tmp_path / "some.json"
    entries = json.loads(path.read_text())

    def keeps(each, *names):
        answer = each["answer"]
        return each["run"] != courses.WHOLE or (answer["seed"] == 0 and answer["name"] in names)

    for each in entries:
        if each["run"] == courses.POINT and each["answer"]["name"] == ALL and each["answer"]["seed"] == 0:
            each["answer"]["exploitability"] += 2.0  # so much is the sample off
    path.write_text(json.dumps([each for each in entries if keeps(each, BASE, ALL)]))
    r = page.gather(plan, {})
    compared = {seed: (mine, theirs, margin) for seed, mine, theirs, margin in r.compared(ALL, BASE)}
    assert compared[0][:2] == (305.0, 310.0) and compared[1][:2] == (306.0, 311.0)
    assert compared[1][2] == pytest.approx(compared[0][2] + 2.0)
    assert verdicts(plan)[f"{ALL} is less exploitable than {BASE}"] == "holds"
    # Not exact in any seed: the margin is that of other strategies, and a difference of 1 is within it.
    assert verdicts(plan)[f"{large.CONDITIONAL}, is less exploitable than {BASE}"] == "undecided"
    path.write_text(json.dumps([each for each in entries if keeps(each)]))
    assert f"{ALL} is less exploitable than {BASE}" not in verdicts(plan)


def test_experts_of_a_part_that_the_base_avoids(tmp_path):
    """Exactly, in Leduc: to a gap over all hands such an expert is not solved at all."""
    often, rare, solved = (avoided.avoided(0, *how) for how in ((1.0, True), (1e-6, False), (1e-6, True)))
    assert rare["base"] == solved["base"] and rare["entered"][0] < 1e-5 < 0.1 < often["entered"][0]
    assert rare["iterations"][0] < solved["iterations"][0]
    found = {claim.text: claim for claim in avoided.claims([often, rare, solved])}
    rises, falls = found.values()
    change = [each["stitched"] - each["base"] for each in (often, rare, solved)]
    assert rises.verdict == ("holds" if change[2] > change[0] else "fails")
    assert falls.verdict == ("holds" if change[1] > change[2] else "fails")
    assert not list(avoided.claims([often]))
    cells = avoided.sheet([often, rare, solved]).rows
    assert [row[0] for row in cells] == ["1", "1e-06"]
