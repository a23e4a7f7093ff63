"""Sandholm's slides: sizes as published, which reading of GameShrink is lossless, and the whole game solved."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import kibitz
from kibitz.bench.paper import write
from kibitz.papers import sandholm, sandholm_abstraction, sandholm_egt, sandholm_gameshrink, sandholm_rhode_island
from kibitz.papers.experiment import PaperPlan
from kibitz.poker.buckets.gameshrink import shrink
from kibitz.poker.buckets.names import shrunk_buckets
from kibitz.poker.buckets.signals import Cards
from kibitz.poker.exact.form import poker_form

LEDUC = "poker(file=leduc)"
SMALL = "rhode_island(ranks=3, suits=2)"


@pytest.fixture(scope="module")
def whole():
    return poker_form(kibitz.game("rhode_island"))


def test_sizes_of_the_programme_are_the_published_ones(whole):
    sequences, infosets = whole.per_hand
    assert (sequences, infosets) == ([10, 70, 490], [4, 28, 196])
    shrunk = shrink(Cards.of(whole.definition), "win-count")
    assert shrunk.classes == [13, 205, 1_774]
    assert shrunk.lp_size(sequences, infosets) == sandholm_gameshrink.SHRUNK_ROWS == 1_237_238
    assert whole.programme_size[0] == sandholm_gameshrink.ROWS == 91_224_226
    assert whole.histories == 6_705_372_545  # a plain count of all histories; the slides' 3.1 billion count otherwise
    buckets = shrunk_buckets(whole, shrunk)
    assert [int(b.max()) + 1 for b in buckets] == [13, 205, 1_774]


def test_entries_of_the_programme(whole):
    """Counted without writing the matrix as with it; and the slides' fifty million for win-count classes."""
    small = poker_form(kibitz.game(SMALL))
    for reading in ("win-count", "strict"):
        shrunk = shrink(Cards.of(small.definition), reading)
        form = sandholm_gameshrink.within(small, shrunk)
        constraints = sum(form.constraints(seat)[0].nnz for seat in (0, 1))
        assert sandholm_gameshrink.entries(small, shrunk) == form.payoff_matrix().nnz + constraints
    found = sandholm_gameshrink.entries(whole, shrink(Cards.of(whole.definition), "win-count"))
    assert found == 50_428_638 and round(found, -6) == sandholm_gameshrink.NON_ZEROS


def test_strict_classes_are_what_the_form_holds_apart(whole):
    """Boards by names of suits, and hands that are alike in the last round: together that is the strict reading."""
    shrunk = shrink(Cards.of(whole.definition), "strict")
    assert shrunk.classes == [13, 325, 7_969] == [cards.classes for cards in whole.cards.rounds]
    for bucket in shrunk_buckets(whole, shrunk):
        assert len(np.unique(bucket)) == len(bucket)


@pytest.mark.slow
def test_leduc_decides_exactly_which_reading_is_lossless():
    lossy = sandholm_gameshrink.solve_exactly(LEDUC, "win-count")
    strict = sandholm_gameshrink.solve_exactly(LEDUC, "strict")
    assert lossy.classes == (3, 7) and strict.classes == (3, 9)
    assert lossy.inside[0] < 1e-9 and lossy.outside[0] > 0.7
    assert lossy.value == pytest.approx(-0.0687, abs=5e-5) and lossy.true == pytest.approx(-0.085606424078, abs=1e-9)
    assert strict.inside[0] < 1e-9 and strict.outside[0] < 1e-9 and strict.value == pytest.approx(strict.true, abs=1e-9)


@pytest.mark.slow
def test_one_seat_within_classes_cannot_secure_the_value():
    """Whichever equilibrium is found: an upper bound on what a seat secures lies below the value of the game."""
    shrunk = shrink(Cards.of(kibitz.game(LEDUC).definition), "win-count")
    value = -0.085606424078
    for seat, known in ((0, -0.1260), (1, 0.0427)):
        true = value if seat == 0 else -value
        found = sandholm_gameshrink.one_seat(LEDUC, shrunk, seat, 3_000, (true, true))
        assert found.least <= known + 1e-3 and found.most >= known - 1e-3
        assert found.most - found.least < 0.01 and found.most < true - 0.03


@pytest.mark.slow
def test_strict_classes_cost_a_seat_nothing():
    shrunk = shrink(Cards.of(kibitz.game(LEDUC).definition), "strict")
    found = sandholm_gameshrink.one_seat(LEDUC, shrunk, 0, 3_000, (0.0, 0.0))
    assert found.least <= -0.085606 <= found.most and found.most - found.least < 0.002


@pytest.mark.slow
def test_the_part_gameshrink(monkeypatch, tmp_path):
    monkeypatch.setattr(sandholm_gameshrink, "GAME", SMALL)
    monkeypatch.setattr(sandholm_gameshrink, "LOSSY", "rhode_island(ranks=3, suits=3)")
    monkeypatch.setattr(sandholm_gameshrink, "THRESHOLDS", (0, 4))
    told = []
    plan = PaperPlan(starts=1, iterations=60, quick=True, part="gameshrink")
    outcome = sandholm.EXPERIMENT.recompute(plan, lambda what, done, of: told.append(what))
    assert told and set(outcome.figures) == {"gameshrink"}
    figures = outcome.figures["gameshrink"]
    by = {(each["game"], each["reading"]): each for each in figures["solutions"]}
    strict = by[SMALL, "strict"]
    assert strict["inside"] == pytest.approx(strict["outside"], rel=1e-6)  # at every look, not at the end alone
    lossy = by[SMALL, "win-count"]
    assert lossy["outside"][-1] > 2 * lossy["inside"][-1]
    assert figures["lossy"][0]["classes"] > figures["lossy"][-1]["classes"]
    claims = {claim.text: claim.count for claim in outcome.claims}
    text = "an equilibrium within the classes is one of the whole game (win-count, which has the published size)"
    assert claims[text] == 0
    assert claims["an equilibrium within strict classes is one of the whole game"] == 1
    files = write(outcome, tmp_path)
    assert {path.name for path in files} >= {"report.md", "report.html", "report.json", "gameshrink.png"}
    assert "not lossless" in outcome.summary


@pytest.mark.slow
def test_the_part_rhode_island(monkeypatch, tmp_path):
    monkeypatch.setattr(sandholm_rhode_island, "GAME", SMALL)
    monkeypatch.setattr(sandholm_rhode_island, "OTHERS", ("cfr+",))
    outcome = sandholm.EXPERIMENT.recompute(PaperPlan(starts=1, iterations=10, until=0.1, part="rhode-island"))
    runs = outcome.figures["rhode-island"]["runs"]
    assert [run["solver"] for run in runs] == ["dcfr+", "cfr+"]
    assert all(run["gap"][-1] <= 0.1 and run["rss"] > 5e7 for run in runs)
    low, high = outcome.figures["rhode-island"]["value"]
    assert low <= -0.415782 <= high and high - low <= 0.1  # the value by the linear programme
    assert {path.name for path in write(outcome, tmp_path)} >= {"report.md", "rhode-island.png"}


@pytest.mark.slow
def test_the_part_egt(monkeypatch, tmp_path):
    monkeypatch.setattr(sandholm_egt, "GAMES", (("Kuhn", "kuhn", 0.2, ""),))
    monkeypatch.setattr(sandholm_egt, "METHODS", ("egt", "egt(prox=euclidean)", "cfr+"))
    monkeypatch.setattr(sandholm_egt, "SWITCHED", "kuhn")
    monkeypatch.setattr(sandholm_egt, "SWITCHES", sandholm_egt.SWITCHES[::4])
    monkeypatch.setattr(sandholm_egt, "QUICK_SECONDS", 0.2)
    monkeypatch.setattr(sandholm_egt, "INSTANCES", sandholm_egt.INSTANCES[:1])
    monkeypatch.setattr(sandholm_egt, "_wide", lambda plan: (SMALL, 1))
    outcome = sandholm.EXPERIMENT.recompute(PaperPlan(starts=1, quick=True, part="egt"))
    figures = outcome.figures["egt"]
    assert [each["solver"] for each in figures["curves"]] == ["egt", "egt(prox=euclidean)", "cfr+"]
    assert all(each["gap"][-1] < 0.1 for each in (*figures["curves"], *figures["heuristics"]))
    (small,) = figures["memory"]
    assert small["rows"] == 8_850 and small["highs"] > 0 and small["matrix"] == 12 * 6_800
    assert {path.name for path in write(outcome, tmp_path)} >= {"report.md", "first-order.png"}


@pytest.mark.slow
def test_the_part_abstraction(monkeypatch, tmp_path):
    monkeypatch.setattr(sandholm_abstraction, "GAME", SMALL)
    monkeypatch.setattr(sandholm_abstraction, "GRANULARITIES", ((2, 4, 8), (3, 6, 12), (3, 14, 59)))
    outcome = sandholm.EXPERIMENT.recompute(PaperPlan(starts=2, quick=True, part="abstraction"))
    figures = outcome.figures["abstraction"]
    coarse, fine = figures["granularities"]
    for each in (coarse, fine):
        for start in each["solved"]:
            assert all(found["inside"] <= 0.2 and found["outside"] >= found["inside"] for found in start.values())
    assert fine["exploitability"]["PA"]["mean"] < coarse["exploitability"]["PA"]["mean"]
    assert coarse["payoffs"]["EB against PA"]["starts"][0] != coarse["payoffs"]["EB against PA"]["starts"][1]
    for each in figures["ceilings"]:
        assert each["classes"] == (3, 15, 60) and each["full"] and each["buckets"][-1] < 60
    whole = {each["method"]: each for each in figures["beyond"]}
    assert whole["lossless"]["outside"] == pytest.approx(whole["lossless"]["inside"], rel=1e-6)
    assert whole["win-count"]["outside"] > 2 * whole["win-count"]["inside"]
    claims = {claim.text: claim for claim in outcome.claims}
    assert claims["PA is lossless at 3 / 14 / 59"].count == 0
    assert claims["with a budget of all lossless classes nothing is lost"].count == 1
    files = {path.name for path in write(outcome, tmp_path)}
    assert files >= {"report.md", "abstraction-exploitability.png", "abstraction-payoffs.png"}


@pytest.mark.slow
def test_payoffs_of_a_start_are_those_of_the_profiles():
    """Against the definition: both seatings of two solutions, valued one by one."""
    found = sandholm_abstraction.one_start(SMALL, [2, 4, 8], 1, 0.2)
    form = poker_form(kibitz.game(SMALL))
    by = {
        method: kibitz.solve(form, "dcfr+", abstraction=sandholm_abstraction.named(method, [2, 4, 8], 1), until=0.2,
                             start="random", seed=1, threads=1).probabilities
        for method in ("EB", "PA")
    }  # fmt: skip
    cut = int(form.infosets.first[form.infosets.seat_start[1]])
    first = form.value(np.concatenate((by["EB"][:cut], by["PA"][cut:])))[0]
    second = form.value(np.concatenate((by["PA"][:cut], by["EB"][cut:])))[1]
    assert found.payoffs["EB"]["PA"] == pytest.approx((first + second) / 2, abs=1e-9)
    assert found.payoffs["PA"]["EB"] == pytest.approx(-found.payoffs["EB"]["PA"], abs=1e-9)


def test_how_partitions_lie():
    halves, quarters = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    across = np.array([0, 1, 0, 1])
    lies = sandholm_abstraction.lies
    assert [lies(quarters, halves), lies(halves, quarters), lies(halves, 1 - halves), lies(halves, across)] == [
        "finer", "coarser", "the same", "across",
    ]  # fmt: skip


def test_a_part_that_is_not_there_is_refused():
    from typer.testing import CliRunner

    from kibitz.cli import app

    found = CliRunner().invoke(app, ["paper", "sandholm", "--part", "bridge"])
    assert found.exit_code == 2 and "rhode-island and" in found.output and "and tournaments" in found.output


def test_a_model_within_buckets_is_solved_and_told() -> None:
    """The part gs3 on a small deck: what it says follows from the looks of the run."""
    from kibitz.papers import sandholm_gs3 as gs3

    model = gs3.solved("rhode_island(ranks=4)", "percentile(3)", "cpu", 0.02, 60.0)
    assert model.buckets[0] == 3 and model.gap[-1] <= 0.02 < max(model.gap)
    iteration, seconds = model.reached(0.02) or (0, 0.0)
    assert iteration == model.iteration[-1] and seconds == model.seconds[-1]
    assert model.reached(0.0) is None
    assert 0 < model.per_iteration <= model.seconds[-1] / model.iteration[-1]
    page = gs3.page(PaperPlan(), [model], gs3.claims([model]))
    assert "percentile(buckets=3)" in page.summary and len(page.sheets) == 2
    gs3_sized = dataclasses.replace(model, buckets=(20, 800, 4800, 28800), gap=(0.5, 0.02), iteration=(10, 20),
                                    seconds=(1.0, 700.0))  # fmt: skip
    (late,) = gs3.claims([gs3_sized])
    (soon,) = gs3.claims([dataclasses.replace(gs3_sized, seconds=(1.0, 500.0))])
    assert late.truths == (False,) and soon.truths == (True,)


def test_phases_are_tried_in_all_ways(tmp_path) -> None:
    outcome = sandholm.EXPERIMENT.recompute(PaperPlan(starts=1, quick=True, part="phases"))
    (model,) = outcome.figures["phases"]["models"]
    assert model["whole"] < 0.21 < min(way["gap"] for way in model["ways"])
    assert {(way["rounds"], way["begin"]) for way in model["ways"]} == {(1, 2), (2, 2), (2, 3)}
    by = {(way["rounds"], way["begin"], way["leaves"]): way["gap"] for way in model["ways"]}
    assert len(by) == 9 and by[2, 2, "rollout"] < by[2, 3, "rollout"] < by[1, 2, "rollout"]
    claims = {claim.text: claim for claim in outcome.claims}
    assert len(claims["phases that overlap are better than phases that do not"].truths) == 3
    assert {path.name for path in write(outcome, tmp_path)} >= {"report.md", "phases.png"}
