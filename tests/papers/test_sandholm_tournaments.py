"""Tournaments of Sandholm's slides, recomputed: a quick look over a sample of deals."""

from __future__ import annotations

import pytest

from kibitz.papers import sandholm
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import carry_out
from kibitz.papers.sandholm_tournaments import PART, claims, gather, page, runs


@pytest.mark.slow
def test_a_quick_look(tmp_path):
    plan = PaperPlan(starts=1, quick=True, folder=str(tmp_path))
    answers = carry_out(runs(plan), 1)
    found = gather(plan, answers)
    assert {each["algorithm"]: each["states"] for each in found.solved} == {"vi-fp": 10, "pi-fp": 10}
    assert [each["algorithm"] for each in found.small] == ["vi-fp", "pi-fp", "fp-pi", "fp-vi"]
    assert max(each["epsilon"] for each in (*found.solved, *found.small)) < 0.5 and found.apart < 1.0
    assert all(sum(each["values"]) == pytest.approx(1000, abs=0.1) for each in (*found.solved, *found.small))
    given = list(claims(found))
    published = [claim for claim in given if claim.text.startswith("two players")]
    assert len(published) == 5 and all(all(claim.truths) for claim in published)
    assert len(given) == 4 + 1 + 1 + 1 + 5 + 1
    made = page(plan, found, given)
    assert len(made.sheets) == 4 and [len(sheet.rows) for sheet in made.sheets[:2]] == [3, 4] and made.pictures
    assert sandholm.PARTS["tournaments"] is PART
    # What is there is not solved again.
    again = carry_out(runs(plan), 1)
    assert again["tournaments"][0]["iterations"] == answers["tournaments"][0]["iterations"]
