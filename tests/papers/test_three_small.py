"""Three players with a deck of 24 cards: strategies, a run on a small game, and verdicts on made-up results."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from kibitz.core.errors import ArtefactError
from kibitz.papers import PaperPlan, ledger, stages, table_alone
from kibitz.papers import gibson2011_three_small as small
from kibitz.papers.gibson2011_three import ALL, BASE, DYNAMIC, OLD
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint
from tests.papers.test_three_stages import SMALL


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    path = tmp_path / "small.game"
    path.write_text(SMALL)
    for name, value in (("TINY", f"poker(file={path})"), ("TINY_LIMIT", 60_000), ("TINY_DEALS", 20),
                        ("TINY_ITERATIONS", (10, 20))):  # fmt: skip
        monkeypatch.setattr(small, name, value)
    return tmp_path


def test_strategies_differ_in_one_thing(tiny):
    setting = small.setting_of(True)
    plans = small._plans(setting)
    base, forgetful = (placed_blueprint(setting.machine, plans[name]) for name in (BASE, small.FORGETTING))
    assert layout_of(base).size == layout_of(forgetful).size  # as many buckets in each round
    assert "recall=false" in plans[small.FORGETTING].buckets[0] and "recall=false" not in plans[BASE].buckets[0]
    every = small._experts(setting, base.played())
    assert {each.buckets for each in every[small.SAME]} == {plans[DYNAMIC].buckets[1]}
    assert [each.name for each in every[ALL]] == [each.name for each in every[small.SAME]]


def test_a_run_and_its_page(tiny):
    assert stages.run_stage("three-small-1", tiny / "out", tiny / "work", quick=True, tell=lambda text: None)
    entries = ledger.entries_of(tiny / "out" / "three-small-1.json")
    assert [each["answer"]["iterations"] for each in entries] == [10, 20, 20]
    last, equal = (each["answer"] for each in entries[1:])
    assert len(last["trainings"]) == 4 + 2 * 4 and {each["iterations"] for each in last["trainings"]} == {20}
    assert all(abs(sum(each["mean"])) < 1e-6 for each in last["tables"])  # what one wins others lose
    visits = {each["part"]: each["decisions"] / each["infosets"] for each in equal["trainings"]
              if each["name"] in (BASE, ALL)}  # fmt: skip
    assert len(visits) == 1 + 4 and all(0.5 * visits[""] < each < 2 * visits[""] for each in visits.values())
    report = small.EXPERIMENT.recompute(PaperPlan(starts=1, quick=True, results=str(tiny / "out")))
    assert report.plan.starts == 1 and len(report.pictures) == 1 and json.dumps(report.data())


def made(folder, gains, error=0.1, early=0.0):
    """What a strategy wins follows from its gain; that of Dynamic was higher by `early` before."""

    def answer(iterations, seed, more=0.0):
        def table(names):
            own = [gains[name] + more * (name == ALL) + early * (name == DYNAMIC and iterations < 30) for name in names]
            return {"names": list(names), "mean": [each - sum(own) / 3 for each in own], "error": [error] * 3}

        trained = {"name": BASE, "part": "", "buckets": "some", "infosets": 10, "iterations": iterations,
                   "decisions": 100, "seconds": 1.0}  # fmt: skip
        tables = [*combinations(small.SEATED, 3), *((name, BASE, BASE) for name in small.OTHERS),
                  *((name, DYNAMIC, DYNAMIC) for name in (ALL, small.SAME))]  # fmt: skip
        return {"iterations": iterations, "seed": seed, "trainings": [trained], "tables": list(map(table, tables))}

    entries = [{"run": small.LOOKED, "arguments": [], "answer": answer(iterations, seed), "seconds": 1.0, "by": {}}
               for iterations in (10, 20, 30) for seed in (0, 1, 2)]  # fmt: skip
    del entries[-1]  # the last seed is not done
    entries += [{**entries[0], "run": small.EQUAL, "answer": answer(30, seed, 50.0)} for seed in (0, 1, 2)]
    (folder / "some.json").write_text(json.dumps(entries))
    return table_alone("gibson2011", "small for three by stages").recompute(PaperPlan(results=str(folder)))


def test_verdicts(tmp_path):
    gains = {BASE: 0.0, DYNAMIC: 30.0, ALL: 5.0, OLD: 40.0, small.SAME: 10.0, small.FORGETTING: 3.0}
    verdicts = {claim.text: claim.verdict for claim in made(tmp_path, gains, early=20.0).claims}
    assert len(verdicts) == small.CLAIMS
    assert verdicts[f"{ALL} earns more than {BASE}"] == "holds"
    assert verdicts[f"{ALL} earns more than {DYNAMIC}"] == verdicts[f"{BASE} earns more than {OLD}"] == "fails"
    causes = [verdicts[text] for text in verdicts if ": " in text]
    assert causes == ["holds"] * 4
    (longer,) = (text for text in verdicts if text.startswith("with as many decisions"))
    assert verdicts[longer] == "holds"
    gains |= {small.SAME: 2.0, small.FORGETTING: 35.0}
    report = made(tmp_path, gains, early=-20.0)
    causes = [claim.verdict for claim in report.claims if ": " in claim.text]
    assert causes == ["fails", "fails", "holds", "fails"] and {claim.n for claim in report.claims} == {2}
    assert {claim.verdict for claim in made(tmp_path, gains, error=1000.0).claims} == {"undecided"}


def test_matches_are_on_other_deals_than_the_training(tiny, monkeypatch):
    seeds = []
    monkeypatch.setattr("kibitz.evaluate.match.match", lambda *players, deals, seed: seeds.append(seed) or 1 / 0)
    base = placed_blueprint(small.setting_of(True).machine, small._plans(small.setting_of(True))[BASE]).played()
    for seed in (0, 1, 2):
        for number in range(12):
            with pytest.raises(ZeroDivisionError):
                small._won([base] * 3, number, small.setting_of(True, seed))
    assert len(set(seeds)) == 36 and min(seeds) > 1000 * 3


def test_without_results(tmp_path):
    with pytest.raises(ArtefactError, match="three-small-0"):
        small.gather(PaperPlan(results=str(tmp_path)), {})
