"""Three players: stages on a small game, and the page from made-up results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kibitz.core.errors import ArtefactError
from kibitz.papers import PaperPlan, ledger, stages, table_alone
from kibitz.papers import gibson2011_three_large as large
from kibitz.papers.gibson2011_three import (
    ALL,
    BASE,
    DYNAMIC,
    EACH,
    FILES,
    NAMES,
    NEW,
    ONTO,
    PAIRS,
    SEATS,
    TABLES_OF_THREE,
    ThreePlayerSetting,
    rows_of,
)
from kibitz.papers.holdem import arguments

DOCS = Path(__file__).parents[2] / "docs"
SMALL = """GAMEDEF
limit
numPlayers = 3
numRounds = 4
blind = 5 10 0
raiseSize = 10 10 20 20
firstPlayer = 3 1 1 1
maxRaises = 2 1 1 1
numSuits = 3
numRanks = 4
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""


def test_sizes_of_the_plan():
    setting = large.setting_of(False, "work", "gpu", 1)
    assert setting.spent(BASE) == setting.spent(ONTO[NEW]) == large.SECONDS
    assert setting.spent(ALL) * 4 == setting.spent(EACH) * 12 == setting.spent(PAIRS) * 12 == large.SECONDS
    assert rows_of(ONTO[NEW], setting).buckets == ("potential([169, 900, 100, 25], recall=false)",)
    assert not setting.keeps and ThreePlayerSetting(*[0] * 7).keeps


def test_stages_on_a_small_game(tmp_path, monkeypatch):
    path = tmp_path / "small.game"
    path.write_text(SMALL)
    for name, value in (("TINY", f"poker(file={path})"), ("TINY_LIMIT", 60_000), ("TINY_SECONDS", 0.02),
                        ("TINY_DEALS", 20)):  # fmt: skip
        monkeypatch.setattr(large, name, value)
    out, how = tmp_path / "out", {"quick": True, "tell": lambda text: None}
    assert not stages.run_stage("three-0", out, tmp_path / "work", seconds=3.0, **how)
    some = len(ledger.entries_of(out / "three-0.json"))
    assert 0 < some < 81
    for name in ("three-0", "three-1", "three-course"):
        assert stages.run_stage(name, out, tmp_path / "work", **how)
    assert len(ledger.entries_of(out / "three-0.json")) == 81
    assert len(ledger.entries_of(out / "three-1.json")) == 81 + 4  # bounds
    report = large.EXPERIMENT.recompute(PaperPlan(starts=3, results=str(out)))
    assert len(report.figures["seeds"]) == 2 and len(report.figures["seeds"][0]["tables"]) == 35
    assert len(report.figures["seeds"][0]["experts"]) == 32
    assert len(report.pictures) == 1 and report.sheets[-1].title == "Lower bounds on exploitability"


def test_other_seeds_make_as_many_iterations_as_the_first(tmp_path, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    large.made_first.cache_clear()
    every = {stage.name: stage for stage in large.stages(False, "work", "gpu")}
    first = {(run.name, piece[:2]) for run, piece, _ in every["three-0"].steps() if run.name == large.WHOLE}
    later = {(run.name, piece[:2]): piece[2] for run, piece, _ in every["three-1"].steps()
             if run.work in (large.trained_as_first, large.taught_as_first)}  # fmt: skip
    assert first <= later.keys() and len(later) >= 4 + 4 + 12 + 4
    known = {(each["run"], each["answer"]["name"], each["answer"].get("part"), str(each["answer"].get("keeps"))):
             each["answer"]["iterations"] for each in ledger.entries_of(DOCS / "large" / "three-0.json")
             if "iterations" in each["answer"]}  # fmt: skip
    wanted = [count for (_, name, *_), count in known.items() if name != PAIRS]
    assert sorted(count for (_, (name, *_)), count in later.items() if name != PAIRS) == sorted(wanted)
    for k in range(12):  # the first seed finished four of |S|=2
        each, pairs = later[large.EXPERT, (EACH, k)], later[large.EXPERT, (PAIRS, k)]
        assert pairs == (list(known.values())[-4 + k] if k < 4 else int(large.OF_EACH * each))
    assert later[large.WHOLE, (BASE, FILES[BASE])] == known[large.WHOLE, BASE, None, "None"]
    assert later[large.EXPERT, (ALL, 1)] == known[large.EXPERT, ALL, "rf", "[0, 1, 2]"]
    path = tmp_path / "small.game"
    path.write_text(SMALL)
    monkeypatch.setattr(large, "TINY", f"poker(file={path})")
    monkeypatch.setattr(large, "TINY_LIMIT", 60_000)
    of = arguments(large.setting_of(True, str(tmp_path), "cpu", 1))
    whole = large.trained_as_first(BASE, FILES[BASE], 60, *of)
    assert (whole["iterations"], whole["seed"]) == (60, 1)
    assert large.taught_as_first(ALL, 0, 40, *of)["iterations"] == 40


def entry(run, **answer):
    return {"run": run, "arguments": [], "answer": answer, "seconds": 60.0, "when": "", "by": {"device": "a GPU"}}


def made(folder, better, seeds=(0, 1, 2), error=1.0, pairs=True):
    facts = {"buckets": "some", "infosets": 10, "columns": 20, "bytes": 160, "iterations": 5, "decisions": 100,
             "seconds": 2.0}  # fmt: skip
    entries = []

    def table(files):
        mean = [6.0 if file == FILES[better] else -3.0 for file in files]
        return {"files": list(files), "mean": mean, "error": [error] * 3, "seats": [[0.0] * 3] * 3, "hands": 60,
                "seconds": 1.0}  # fmt: skip

    for seed in seeds:
        alone = [name for name in (*NAMES, ONTO[NEW]) if name not in SEATS]
        entries += [entry(large.WHOLE, name=name, seed=seed, **facts) for name in alone]
        entries += [entry(large.EXPERT, name=name, seed=seed, part="f", seats=[0], keeps=[0], **facts)
                    for name in SEATS]  # fmt: skip
        for each in TABLES_OF_THREE:
            if pairs or PAIRS not in each:
                entries.append(entry(large.TABLE, seed=seed, **table([FILES[name] for name in each])))
        for name in NAMES:
            if name != BASE and (pairs or name != PAIRS):
                entries.append(entry(large.COPIES, seed=seed, **table([FILES[name], FILES[BASE], FILES[BASE]])))
    (folder / "some.json").write_text(json.dumps(entries))
    return PaperPlan(starts=3, results=str(folder))


@pytest.mark.parametrize(("better", "verdict"), [(ALL, "holds"), (BASE, "fails")])
def test_verdicts(better, verdict, tmp_path):
    report = table_alone("gibson2011", "2 for three by stages").recompute(made(tmp_path, better))
    found = {claim.text: claim for claim in report.claims}
    assert found[f"{ALL} earns more than {BASE}"].verdict == verdict
    assert found[f"{ALL} wins from two copies of {BASE}"].verdict == verdict
    assert found[f"{ALL} earns more than {BASE}"].n == 3
    assert sum(claim.of_the_paper for claim in report.claims) == large.CLAIMS
    assert json.dumps(report.data())


def test_what_is_wide_or_missing(tmp_path):
    report = large.EXPERIMENT.recompute(made(tmp_path, ALL, seeds=(1,), error=100.0, pairs=False))
    assert {claim.verdict for claim in report.claims} == {"undecided"}
    names = [row[0] for row in report.sheets[0].rows]
    assert PAIRS not in names and DYNAMIC in names
    (tmp_path / "some.json").write_text("[]")
    with pytest.raises(ArtefactError, match="three-0"):
        large.gather(PaperPlan(results=str(tmp_path)), {})
