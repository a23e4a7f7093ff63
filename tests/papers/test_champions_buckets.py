"""GS3's kind of buckets and their shape, with a deck of 20 cards: claims and tables from made-up results."""

from __future__ import annotations

from itertools import combinations

import pytest

from kibitz.papers import champions_buckets as buckets
from kibitz.papers.course_results import results_among
from kibitz.papers.holdem_course import PAIR, POINT
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.stitching.experts import poker_of

STRENGTH = {"Base": 10.0, buckets.LIKE: 0.0, buckets.SHAPE: 6.0, buckets.KIND: 3.0}


def results(strength, seeds=(0, 1), known=4):
    def entry(**answer):
        return {**answer, "step_seconds": 1.0, "by": {"device": "cores"}}

    names = buckets.NAMES[:known]
    pairs = [entry(one=one, other=other, seed=seed, mean=strength[one] - strength[other], steps=[400, 400])
             for one, other in combinations(names, 2) for seed in seeds]  # fmt: skip
    points = [entry(name=name, seed=seed, steps=400, exploitability=500.0, gap=2.5, infosets=7, seconds=1.0, value=0.0,
                    solver="dcfr+", done=[400]) for name in names for seed in seeds]  # fmt: skip
    answers = {buckets.BEGINS + PAIR: pairs, buckets.BEGINS + POINT: points}
    return results_among({run: of for run, of in answers.items() if of})


def test_claims_compare_one_thing_at_a_time():
    claims = {claim.text: claim for claim in buckets.claims(results(STRENGTH))}
    assert [claim.verdict for claim in claims.values()] == ["holds"] * 3
    assert {claim.n for claim in claims.values()} == {2}
    assert "Base wins 10.00, 10.00 from like GS3" in next(iter(claims.values())).detail
    # Now potential-aware buckets are better, and the even shape still is.
    other = STRENGTH | {buckets.LIKE: 7.0, buckets.KIND: 12.0}
    verdicts = [claim.verdict for claim in buckets.claims(results(other))]
    assert verdicts == ["holds", "fails", "holds"]


def test_what_is_not_measured_is_not_judged():
    assert not list(buckets.claims(results(STRENGTH, seeds=()))) and not list(buckets.sheets(results(STRENGTH, ())))
    assert [claim.text for claim in buckets.claims(results(STRENGTH, known=2))] == [
        "with 20 cards, the strategy like GS3 loses to Base"
    ]
    (sheet,) = buckets.sheets(results(STRENGTH))
    assert [row[0] for row in sheet.rows] == list(buckets.NAMES) and sheet.rows[0][3] == "+10.00, +10.00"


@pytest.mark.slow
def test_shapes_are_alike():
    rules = poker_of(buckets.SMALL)
    counts = {name: hand_buckets(rules.definition, spec).counts for name, spec in buckets.BUCKETS.items()}
    assert list(counts["Base"]) == list(counts[buckets.KIND])
    assert counts[buckets.LIKE][-1] == pytest.approx(counts[buckets.SHAPE][-1], rel=0.01)
