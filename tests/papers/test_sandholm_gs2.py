"""GS2 of Sandholm's slides, recomputed: a quick look, and each kind of run on a small deck."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kibitz
from kibitz.forms.choice import compact_form
from kibitz.papers import sandholm
from kibitz.papers.claims import FAILS, HOLDS, UNDECIDED
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import carry_out
from kibitz.papers.sandholm_gs2 import (
    BEFORE,
    PART,
    PLAIN,
    SAFE,
    EndgameResults,
    claims,
    first_phases,
    full_size,
    gather,
    met,
    page,
    runs,
)
from kibitz.poker.endgames.refined import with_all_hands
from kibitz.poker.stitching.experts import poker_of

DOCS = Path(kibitz.__file__).parents[1] / "docs"
DECK = "poker(file=holdem.limit.2p, ranks=4)"


def test_a_quick_look(tmp_path):
    plan = PaperPlan(starts=1, quick=True, folder=str(tmp_path))
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
    assert [len(claim.truths) for claim in given] == [3, 3, 1]
    assert given[0].tried["safe endgames"] == (True, True, True)
    made = page(plan, found, given)
    assert [len(sheet.rows) for sheet in made.sheets] == [3] and sandholm.PARTS["gs2"] is PART


def test_claims_are_judged_for_plain_and_safe_endgames_apart():
    """From the figures of docs/sandholm_gs2.md, where the two kinds do not agree."""
    data = json.loads((DOCS / "sandholm_gs2" / "data.json").read_text(encoding="utf-8"))
    (paper,) = data["papers"]
    figures = paper["figures"]["gs2"]
    results = EndgameResults(figures["exactly"], figures["matches"], figures["full"])
    by = {claim.text: claim for claim in claims(results)}
    earlier = by["endgames that begin a round earlier are better"]
    assert earlier.verdicts == {"plain endgames": HOLDS, "safe endgames": FAILS} and earlier.verdict == UNDECIDED
    harder = by["solved at the table, endgames make a strategy harder to exploit"]
    assert [sum(held) for held in harder.tried.values()] == [8, 16] and harder.verdicts["safe endgames"] == HOLDS
    small = by["on small decks plain endgames make a strategy easier to exploit"]
    assert [sum(held) for held in small.tried.values()] == [3, 5] and small.verdict == UNDECIDED
    assert [claim.data() for claim in by.values()] == paper["claims"]
    text = (DOCS / "sandholm_gs2.md").read_text(encoding="utf-8")
    assert all(claim.verdict_text in text for claim in by.values())
    # docs/papers.md says the same in words.
    (row,) = [line for line in (DOCS / "papers.md").read_text("utf-8").splitlines() if "(sandholm_gs2.md)" in line]
    for words in ("Safe endgames make every strategy harder to exploit", "plain ones none of Leduc, some of",
                  "is better for plain endgames and worse for safe ones"):  # fmt: skip
        assert words in row


@pytest.mark.slow
def test_matches_and_the_river_at_the_table(tmp_path):
    matches = met(DECK, "percentile(2)", 2.0, 6, 5)
    assert [each["how"] for each in matches] == [PLAIN, *[BEFORE, PLAIN] * 4]
    assert [each["begin"] for each in matches] == [3, *[3] * 4, *[4] * 4]
    full = full_size(DECK, "percentile(2)", 3, 6, 30, str(tmp_path))
    assert full["endgames"] > 0 and full["hands"] == 30 and (tmp_path / "gs2-3.profile").is_dir()
    exactly = [{"name": "Leduc", "game": "a", "buckets": "b", "way": "no phases", "begin": 2, BEFORE: 1.0, PLAIN: 2.0,
                SAFE: 0.5}]  # fmt: skip
    made = EndgameResults(exactly, matches, full)
    given = list(claims(made))
    assert given[0].tried == {"plain endgames": (False,), "safe endgames": (True,)}
    sheets = page(PaperPlan(starts=1), made, given).sheets
    assert [len(sheet.rows) for sheet in sheets] == [1, 9, 2]
