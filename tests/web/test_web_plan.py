"""The plan of an automatically stitched strategy: what is saved, what the server says of it, and what it refuses."""

from __future__ import annotations

import copy
import json

import pytest

import kibitz
from kibitz.stitch.auto import Effort, Limits
from kibitz.stitch.auto.setting import Setting
from kibitz.stitch.auto.signals import losses
from kibitz.web.errors import Missing
from kibitz.web.library import Entry
from kibitz.web.plans import plan_of

LEDUC = "leduc(suit_isomorphism=true)"
EFFORT = Effort(insides=("null",), seats=("all",), iterations=20, pilot=5, cuts=6)


@pytest.fixture(scope="module")
def base():
    return kibitz.solve(LEDUC, "cfr+", abstraction="JQ.K", iterations=50)


@pytest.fixture(scope="module")
def result(base):
    return kibitz.stitch_auto(LEDUC, base, Limits(infosets=154, rounds=1), EFFORT)


@pytest.fixture(scope="module")
def entry(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "auto.profile"
    result.profile.save(path)
    return Entry("1", "auto", "profile", LEDUC, path, meta=dict(kibitz.Profile.load(path).meta))


def test_boxes_are_the_parts_of_the_game(entry, base, result):
    data = plan_of(entry)
    lost = losses(Setting(kibitz.game(LEDUC), "JQ.K").form, base.probabilities)
    for part in data["parts"]:
        here = kibitz.partition(LEDUC, part["name"]).part == 1
        assert part["infosets"] == here.sum() and part["loss"] == pytest.approx(lost[here].sum())
        assert part["width"] == pytest.approx(here.mean())
        above = [b for b in data["parts"] if b["level"] == part["level"] - 1 and b["left"] <= part["left"] + 1e-9
                 and part["left"] + part["width"] <= b["left"] + b["width"] + 1e-9]  # fmt: skip
        assert len(above) == 1 or part["level"] == 0
    planned = {cut.name for pilot in result.rounds[0].plan.moves for cut in pilot.move.cuts}
    assert {part["name"] for part in (*data["parts"], *data["others"]) if part["expert"]} == planned
    assert data["kept"] == list(result.rounds[0].kept) and entry.data()["planned"]
    json.dumps(data)


@pytest.mark.parametrize(("field", "value"), [("loss", "much"), ("width", 3.0), ("level", -1), ("reach", float("nan"))])
def test_damaged_plans_are_refused(entry, field, value):
    meta = copy.deepcopy(entry.meta)
    meta["stitch"]["picture"]["parts"][0][field] = value
    with pytest.raises(Missing, match="cannot be read"):
        plan_of(Entry("1", "auto", "profile", LEDUC, meta=meta))


def test_a_strategy_without_a_plan(entry):
    plain = Entry("2", "plain", "profile", LEDUC, meta={"stitch": {"kind": "static"}})
    assert not plain.data()["planned"]
    with pytest.raises(Missing, match="has no plan"):
        plan_of(plain)
