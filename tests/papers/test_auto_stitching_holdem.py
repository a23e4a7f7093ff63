"""Automatic stitching in two-player hold'em: its stage on a small deck, stopped and resumed, and its page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bucketed import FOUR_ROUNDS
from typer.testing import CliRunner

from kibitz.cli import app
from kibitz.core.errors import ArtefactError, SpecError
from kibitz.forms.profile import Profile
from kibitz.papers import PaperPlan, holdem_course, stages
from kibitz.papers import auto_stitching_holdem as holdem
from kibitz.papers import auto_stitching_holdem_page as pages
from kibitz.papers import gibson2011_large as two
from kibitz.papers.auto_stitching import EXPERIMENT
from kibitz.papers.gibson2011_strategies import ALL, BASE


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Few bets and ten cards: a sweep takes a moment."""
    path = tmp_path / "small.game"
    path.write_text(next(iter(FOUR_ROUNDS.values())))
    monkeypatch.setattr(two, "TINY", f"poker(file={path})")
    monkeypatch.setattr(two, "TINY_LIMITS", (2_000, 6_000))
    monkeypatch.setattr(two, "TINY_LOOKS", (5, 20))
    forget()
    yield tmp_path
    forget()


def forget():
    holdem_course.forget_courses()
    holdem.forget_searches()


def done(folder, **how):
    entries = []
    for name in ("auto-two-0", "auto-two-0-more"):
        whole = stages.run_stage(name, folder / "out", folder / "work", quick=True, tell=lambda text: None,
                                 known=folder / "out", **how)  # fmt: skip
        entries += json.loads((folder / "out" / f"{name}.json").read_text())
        if not whole:
            break
    return whole, entries


def by_run(entries):
    return {e["run"]: e["answer"] for e in entries}


def test_a_stage_and_its_page(small, monkeypatch):
    whole, entries = done(small)
    every = stages.all_stages(True, str(small / "work"), "cpu")
    both = (every["auto-two-0"], every["auto-two-0-more"])
    steps = {(run.name, piece[:3]) for stage in both for run, piece, _ in stage.steps()}
    assert whole and len(entries) == len(steps)
    search, chosen = by_run(entries)[holdem.SEARCH], by_run(entries)[holdem.CHOSEN]
    first = search["rounds"][0]
    assert first["kept"] and len(first["answers"]) == len(first["kept"]) and search["measured"] > 4
    assert chosen["exploitability"] == pytest.approx(sum(chosen["best"]) / 2) and search["infosets"] <= 2_000
    exact = {e["answer"]["name"]: e["answer"]["exploitability"] for e in entries if e["run"] == holdem_course.WHOLE}
    assert set(exact) == {BASE, ALL, two.CONDITIONAL} and chosen["exploitability"] < exact[BASE]
    setting = two.setting_of(True, "", "cpu")
    r = pages.of_courses(pages.results_of(small / "out"), "", setting)
    assert r.both(BASE) == [(chosen["exploitability"], exact[BASE])] and r.both(pages.STOPPED)
    early = by_run(entries)[holdem_course.POINT]
    assert r.sampled[pages.STOPPED] == {0: early["exploitability"]} and not r.sampled[BASE]  # Base has no second look
    heads = pages.pilot_sheet(r).head
    assert heads[4:] == ("gain after 5 iterations", "after 20", "after 40")
    control = next(c for c in pages.claims(replace(r, exact={**r.exact, pages.STOPPED: {}})) if "early" in c.text)
    assert control.verdict == "undecided" and "not measured exactly" in control.detail
    report = EXPERIMENT.parts["holdem-two"].recompute(PaperPlan(starts=3, results=str(small / "out")))
    assert [claim.text for claim in report.claims] == [
        *(f"Automatic is less exploitable than {name}" for name in (BASE, two.CONDITIONAL, ALL, pages.STOPPED)),
        "the first plan achieves at least 80% of its predicted gain",
    ]
    assert report.claims[0].verdict_text.startswith("holds") and len(report.sheets) == 4
    cells = {row[0]: row for row in report.sheets[0].rows}
    assert cells["Automatic"][1] == f"{chosen['exploitability']:.2f}" and cells[BASE][2] == f"{exact[BASE]:.2f}"
    monkeypatch.chdir(small)
    line = ["reproduce", "auto-stitching", "--experiment", "holdem-two", "--results", "out", "--out", "page"]
    answer = CliRunner().invoke(app, line)
    assert answer.exit_code == 0 and "Automatic is less exploitable than Base" in (small / "page/report.md").read_text()


def test_a_stopped_stage_goes_on_to_the_same_bytes(small, monkeypatch):
    once = holdem.search(0, 1, *holdem.arguments(two.setting_of(True, str(small / "once"), "cpu")))
    wanted = Profile.load(small / "once" / "automatic-0-1.profile").sha256
    solved = []
    original = holdem.LargeBucketSetting.solve

    def counted(self, move, strategy, lengths, seed):
        solved.append((move.name, strategy.digest, tuple(lengths)))
        return original(self, move, strategy, lengths, seed)

    monkeypatch.setattr(holdem.LargeBucketSetting, "solve", counted)
    monkeypatch.setattr(holdem, "TINY_ROUNDS", 2)
    again = {}
    while again.get(holdem.CHOSEN, {}).get("steps") != 2:  # each command does one step, in a process of its own
        forget()
        whole, entries = done(small, seconds=0.0)
        again = by_run(entries)
        assert not whole and len(entries) < 13
    assert len(solved) == len({*solved}) > 3  # nothing is solved twice
    longer, first = again[holdem.SEARCH], once["rounds"][0]
    same = {"seconds": 0, "pilots": []}  # with seconds, too
    assert longer["steps"] == 2 and {**longer["rounds"][0], **same} == {**first, **same}
    assert [p[:4] for p in longer["rounds"][0]["pilots"]] == [p[:4] for p in first["pilots"]]
    assert Profile.load(small / "work" / "automatic-0-1.profile").sha256 == wanted
    assert Profile.load(small / "work" / "automatic-0-2.profile").sha256 == again[holdem.CHOSEN]["sha256"]


def test_what_is_missing_is_said(small):
    part = EXPERIMENT.parts["holdem-two"]
    with pytest.raises(ArtefactError, match="--results"):
        part.recompute(PaperPlan())
    with pytest.raises(ArtefactError, match="auto-two-0"):
        part.recompute(PaperPlan(results=str(small)))
    with pytest.raises(SpecError, match="seeds 0 to 2"):
        holdem.quick_seed(3)
    assert not any(run.name == pages.QUICK_STAGES for run in EXPERIMENT.runs(EXPERIMENT.quick))


@pytest.mark.slow
def test_the_quick_page(small):
    report = EXPERIMENT.parts["holdem-two"].recompute(pages.QUICK)
    assert report.claims[0].verdict_text.startswith("holds") and report.pictures
