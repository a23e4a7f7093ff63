"""GS2 of Sandholm's slides, recomputed: a quick look, and each kind of run on a small deck."""

from __future__ import annotations

import pytest

from kibitz.form.choice import compact_form
from kibitz.papers import sandholm
from kibitz.papers.experiment import Plan
from kibitz.papers.runs import carry_out
from kibitz.papers.sandholm_gs2 import (
    BEFORE,
    PART,
    PLAIN,
    SAFE,
    Results,
    claims,
    first_phases,
    full_size,
    gather,
    met,
    page,
    runs,
)
from kibitz.poker.experts import poker_of
from kibitz.poker.refined import with_all_hands

DECK = "poker(file=holdem.limit.2p, ranks=4)"


def test_a_quick_look(tmp_path):
    plan = Plan(starts=1, quick=True, folder=str(tmp_path))
    found = gather(plan, carry_out(runs(plan), 1))
    assert [each["way"] for each in found.exactly] == ["no phases", "1 rollout", "1 learned"] and not found.matches
    # What is played before endgames loses what its profile does, with all hands.
    form = compact_form(poker_of("poker(file=leduc)"))
    for way, profile in first_phases("poker(file=leduc)", "percentile(2)", 0.3).items():
        whole = with_all_hands("poker(file=leduc)", profile)
        (said,) = [each[BEFORE] for each in found.exactly if each["way"] == way]
        assert said == pytest.approx(form.measure(whole.probabilities).nash_conv / 2)
    assert all(each[SAFE] < each[BEFORE] for each in found.exactly)
    given = list(claims(found))
    assert [len(claim.held) for claim in given] == [3, 3, 1] and given[1].held == (True, True, True)
    made = page(plan, found, given)
    assert [len(sheet.rows) for sheet in made.sheets] == [3] and sandholm.PARTS["gs2"] is PART


@pytest.mark.slow
def test_matches_and_the_river_at_the_table(tmp_path):
    matches = met(DECK, "percentile(2)", 2.0, 6, 5)
    assert [each["how"] for each in matches] == [PLAIN, *[BEFORE, PLAIN] * 4]
    assert [each["begin"] for each in matches] == [3, *[3] * 4, *[4] * 4]
    full = full_size(DECK, "percentile(2)", 3, 6, 30, str(tmp_path))
    assert full["endgames"] > 0 and full["hands"] == 30 and (tmp_path / "gs2-3.profile").is_dir()
    exactly = [{"name": "a", "game": "a", "buckets": "b", "way": "no phases", "begin": 2, BEFORE: 1.0, PLAIN: 2.0,
                SAFE: 0.5}]  # fmt: skip
    made = Results(exactly, matches, full)
    given = list(claims(made))
    assert [claim.held for claim in given[:2]] == [(False,), (True,)]
    sheets = page(Plan(starts=1), made, given).sheets
    assert [len(sheet.rows) for sheet in sheets] == [1, 9, 2]
