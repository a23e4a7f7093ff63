"""Table 2 of limit hold'em with a small deck: its page from made-up answers, and a small run of its steps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kibitz.core.errors import ArtefactError
from kibitz.papers import gibson2011_large as large
from kibitz.papers import gibson2011_small as small
from kibitz.papers import table_alone
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST, NAMES
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import course, forget_courses, rules_of
from kibitz.papers.ledger import Ledger
from kibitz.poker.whole.profiles import exploited

HEIGHT = {BASE: 310.0, DYNAMIC: 307.0, EACH: 311.0, ALL: 320.0, large.CONDITIONAL: 311.0, FINEST: 135.0}
HEIGHT |= {large.ALL_SAMPLED: 305.0}
HEIGHT |= dict.fromkeys(large.ALONE, 312.0) | dict.fromkeys(large.FINER, 309.0)


def answers_of(name, seed):
    names = [name]
    points = [{"name": name, "seed": seed, "steps": steps, "done": [steps], "seconds": 1.0, "solver": "dcfr+",
               "exploitability": HEIGHT.get(name, 310.0) + (seed if name == BASE else 0) - below, "value": 0.5,
               "best": [300.0, 320.0], "gap": 0.7, "every": 1, "infosets": 7, "largest": 6, "buckets": "b"}
              for name in names for steps, below in ((200, 0.1), (400, 0.0))]  # fmt: skip
    base = large.BASE_SAMPLED if name == large.ALL_SAMPLED else BASE
    pairs = [{"one": name, "other": base, "seed": seed, "mean": 310.0 - HEIGHT[name]} for name in names
             if name in HEIGHT and name != BASE]  # fmt: skip
    return {"points": points, "pairs": pairs}


def answer_to(run, piece):
    """What a step answers: a pair, or a strategy of which trainings say less."""
    if run.name == small.PAIRS:
        one, other, seed = piece[:3]
        return {"one": one, "other": other, "seed": seed, "mean": HEIGHT[other] - HEIGHT[one]}
    return answers_of(*piece[:2])


def all_answers(plan):
    answers = {}
    for run in small.runs(plan):
        answers.setdefault(run.name, []).extend(answer_to(run, piece) for piece in run.pieces)
    return answers


def test_the_page_judges_every_claim():
    plan = small.EXPERIMENT.plan
    answers = all_answers(plan)
    of_pairs = 6 * (len(NAMES) + math.comb(len(NAMES) - 1, 2))
    assert sum(len(each) for each in answers.values()) == 6 * (len(small.MAIN) + 1) + len(small.OTHERS) + of_pairs
    r = small.gather(plan, answers)
    verdicts = {claim.text: claim.verdict for claim in small.claims(r)}
    assert verdicts[f"{ALL} is less exploitable than {BASE}"] == "fails"
    assert verdicts[f"{DYNAMIC} is less exploitable than {BASE}"] == verdicts["the finest strategy is the least "
                                                                              "exploitable"] == "holds"  # fmt: skip
    assert verdicts[f"{DYNAMIC} wins from {BASE}"] == "holds" and verdicts[f"{EACH} wins from {BASE}"] == "fails"
    for text, whole in ((f"{ALL} is less exploitable than {BASE}", "fails"), (f"{ALL} wins from {BASE}", "fails")):
        assert verdicts[text] == whole and verdicts[f"by the paper's algorithm {text}"] == "holds"
    assert verdicts[f"{DYNAMIC} earns more than {BASE}"] == "holds"
    assert verdicts[f"{ALL} earns more than {EACH}"] == "fails" == verdicts[f"{ALL} earns more than {BASE}"]
    assert verdicts[f"the finest strategy beats {EACH}"] == "holds"
    row = next(row for row in small.page(plan, r, ()).sheets[0].rows if row[0] == DYNAMIC)
    assert row[-2:] == ("+3.00", ", ".join(["+3.00"] * 6))  # from Base alone
    (played,) = [sheet for sheet in small.page(plan, r, ()).sheets if sheet.title.startswith("Winnings")]
    of_others = [HEIGHT[other] - HEIGHT[DYNAMIC] for other in NAMES if other != DYNAMIC]
    assert played.rows[1][:3] == (DYNAMIC, f"{310 - HEIGHT[DYNAMIC]:+.2f}", "")
    assert played.rows[1][-2:] == (f"{sum(of_others) / 4:+.2f}", ", ".join([f"{sum(of_others) / 4:+.2f}"] * 6))
    halves = f"experts that are solved per hand that enters their part halve what {ALL} has above {BASE}"
    assert verdicts[halves] == "holds"  # 10 - seed to 1 - seed
    page = small.page(plan, r, tuple(small.claims(r)))
    assert page.departs[0] == "A deck of 20 cards: 5 ranks in 4 suits."
    text = "\n".join(" ".join(row) for sheet in page.sheets for row in sheet.rows)
    assert "310.00, 311.00, 312.00, 313.00, 314.00, 315.00" in text and "sampled flops" not in text
    assert any(sheet.title == "Causes" for sheet in page.sheets)
    assert not any("rule for the end" in text for text in page.departs)  # there are no earlier results


def test_claims_are_judged_as_first_planned_too():
    """After 400 iterations S=N was above Base; it is below at the end, where both have stopped."""

    def look(name, seed, steps, made, height):
        return {**answers_of(name, seed)["points"][0], "steps": steps, "done": [made], "exploitability": height}

    def course(looks, **heights):
        return [{"points": [look(name, seed, steps, min(steps, 600), height) for steps, height in
                            zip(looks, of, strict=True)], "pairs": []}
                for name, of in ((BASE, heights["base"]), (ALL, heights["stitched"])) for seed in range(6)]  # fmt: skip

    second = course((200, 400, 800, 1600), base=(300.0, 301.0, 320.0, 320.0), stitched=(310.0, 311.0, 290.0, 290.0))
    first = course((200, 400), base=(300.0, 301.0), stitched=(310.0, 311.0))
    r = small.gather(small.EXPERIMENT.plan, {small.STRATEGIES: second, small.FIRST: first})
    share = math.log2(1.5)  # from 200 to 300 iterations, half of those that were made, of the way to 400
    assert r.change(BASE, 0) == pytest.approx(20.0 - share) and r.change(ALL, 3) == pytest.approx(-20.0 - share)
    claim = next(each for each in small.claims(r) if each.text == f"{ALL} is less exploitable than {BASE}")
    assert list(claim.verdicts.values()) == ["undecided", "fails"] and claim.verdict == "undecided"  # 30 < 20 + 20
    assert claim.verdict_text.endswith("; fails (after 400 iterations, as first planned)")
    said = next(text for text in small.page(small.EXPERIMENT.plan, r, ()).departs if "rule for the end" in text)
    assert "after 400 iterations, as first planned: less exploitable in 0 of 6 seeds, by -10.0 in the mean" in said
    flat = course((200, 400, 600), base=(330.0,) * 3, stitched=(300.0,) * 3)
    r = small.gather(small.EXPERIMENT.plan, {small.STRATEGIES: flat, small.SECOND: second, small.FIRST: first})
    claim = next(each for each in small.claims(r) if each.text == f"{ALL} is less exploitable than {BASE}")
    assert list(claim.variants)[1] == "at a gap of 1, as planned second"
    assert list(claim.verdicts.values()) == ["holds", "undecided", "fails"] and claim.verdict == "holds"


def test_earlier_results_count_in_the_same_seeds():
    """What was measured by an earlier plan in another seed is not shown beside this one."""
    plan, keep = small.EXPERIMENT.plan, (BASE, ALL)
    later, earlier = ([answers_of(name, seed) for name in keep for seed in of] for of in (range(5), range(1, 6)))
    r = small.gather(plan, {small.STRATEGIES: later, small.FIRST: earlier})
    claims = {claim.text: claim for claim in small.claims(r)}
    first, before = claims[f"{ALL} is less exploitable than {BASE}"].tried.values()
    assert (len(first), len(before)) == (5, 4)
    assert not claims[f"{ALL} wins from {BASE}"].variants  # judged at the end alone


def test_a_page_of_stages_is_that_of_one_command(tmp_path):
    plan = small.EXPERIMENT.plan
    for stage in small.stages(False, "work", "cpu"):
        kept = Ledger(tmp_path / f"{stage.name}.json")
        for run, piece, _ in stage.steps():
            kept.keep(run, piece, answer_to(run, piece), 1.0)
    r = small.gather(replace(plan, results=str(tmp_path)), {})
    answers = all_answers(plan)
    assert small.runs(replace(plan, results=str(tmp_path))) == []
    assert r.points.keys() == small.gather(plan, answers).points.keys()
    assert {(c.text, c.verdict) for c in small.claims(r)} == {
        (c.text, c.verdict) for c in small.claims(small.gather(plan, answers))}  # fmt: skip
    twice = Ledger(tmp_path / "again.json")  # on another machine
    for run, piece, _ in next(small.stages(False, "work", "gpu")).steps():
        twice.keep(run, piece, answers_of(*piece[:2]), 1.0)
    again = small.gather(replace(plan, results=str(tmp_path)), {})
    assert again.points == r.points and again.change(BASE, 0) == pytest.approx(0.1)
    with pytest.raises(ArtefactError, match="--stage small-0"):
        small.gather(replace(plan, results=str(tmp_path / "none")), {})


def test_strategies_are_as_many_buckets_fewer_as_the_base():
    setting = small.setting_of(False, "")
    base = large.recipe_of(BASE, setting).buckets
    control, *finer = (large.recipe_of(name, setting).inside for name in large.FINER)
    assert base == "percentile(4)" and set(control.values()) == {base}
    assert [set(each.values()) for each in finer] == [{"percentile(5)"}, {"percentile(6)"}]


def test_earnings_of_a_seed_need_all_its_pairs():
    answers = all_answers(small.EXPERIMENT.plan)
    answers[small.PAIRS] = [each for each in answers[small.PAIRS] if each["seed"] > 3 or each["one"] != EACH]
    r = small.gather(small.EXPERIMENT.plan, answers)
    claim = next(each for each in small.claims(r) if each.text == f"{DYNAMIC} earns more than {BASE}")
    assert len(claim.cases) == 2
    assert len(next(each for each in small.claims(r) if each.text == f"the finest strategy beats {DYNAMIC}").cases) == 6
    answers[small.PAIRS] = []
    r = small.gather(small.EXPERIMENT.plan, answers)
    assert not any("earns" in each.text for each in small.claims(r))
    assert not any(sheet.title.startswith("Winnings") for sheet in small.page(small.EXPERIMENT.plan, r, ()).sheets)


@pytest.mark.slow
def test_a_step_measures_exactly(tmp_path):
    setting = small.setting_of(True, str(tmp_path))
    answer, stitched = (small.strategy(name, 0, *arguments(setting)) for name in (BASE, ALL))
    base = course(BASE, 0, setting).train(large.TINY_LOOKS[-1])
    exact = exploited(rules_of(setting.game), base).mean() * setting.unit
    assert answer["points"][2]["exploitability"] == pytest.approx(exact, rel=1e-9)
    assert stitched["pairs"][0]["one"] == ALL and not answer["pairs"]
    forget_courses()


def test_the_table_is_known_by_name():
    assert table_alone("gibson2011", "small") is small.EXPERIMENT
