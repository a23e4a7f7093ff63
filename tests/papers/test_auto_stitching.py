"""`kibitz reproduce auto-stitching`: sizes, claims, the sign test and the page, from figures that are made up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import kibitz
from kibitz.papers import auto_stitching as page
from kibitz.papers import auto_stitching_rhode as rhode
from kibitz.papers import auto_stitching_rhode_page as rhode_page
from kibitz.papers import auto_stitching_runs as runs
from kibitz.papers import auto_stitching_why as why
from kibitz.papers import auto_stitching_why_page as why_page
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import carry_out
from kibitz.report.figures import picture_data, picture_of
from kibitz.report.heat import points_plot
from kibitz.stitch.auto import Effort, Limits, search_of


def one(shift: float, size: dict[str, int]) -> dict:
    """A seed in which automatic stitching is better by `shift` chips, by both measures."""
    limits = sorted({size[name] for name in runs.HAND[2]})
    rows = dict.fromkeys((runs.BASE, *runs.HAND[2]), 0.2)
    gain = 0.1 if shift > 0 else 0.05
    plan = {"line": "base", "predicted": 0.1, "summed": 0.2, "achieved": gain, "kept": ["an expert"],
            "taken_back": [], "pilots": 30, "moves": [["an expert", 0.1, 0.05]]}  # fmt: skip
    search = {"infosets": 100, "seconds": 1.0, "lines": ["base"], "rounds": [plan]}
    return {
        "exploitability": {**rows, **{f"auto {k}": 0.2 - shift for k in limits}},
        "earnings": {**rows, **{f"auto {k}": 0.2 + shift for k in limits}},
        "searches": {str(k): search for k in limits}, "gap": 0.0, "games": 1,
    }  # fmt: skip


def test_sizes_are_those_of_the_papers_without_suits():
    size = runs.sizes(2)
    assert size == {"Base": 132, "Dynamic": 276, "Static S={i}": 154, "Static S=N All": 132,
                    "Static S=N Pre-flop": 132, "Preflop grafts": 132, "Flop grafts": 132}  # fmt: skip


def test_the_sign_test():
    assert page.sign_test([1.0] * 10) == pytest.approx(2 / 2**10)
    assert page.sign_test([1.0, -1.0, 0.0]) == 1.0 and page.sign_test([0.0]) == 1.0
    assert page.sign_test([-1.0] * 10) == page.sign_test([1.0] * 10)


CASES = [((0.1,) * 4, "holds"), ((-0.1,) * 4, "fails"), ((0.1, -0.1), "undecided")]


@pytest.mark.parametrize(("shifts", "verdict"), CASES)
def test_claims_follow_the_figures(shifts, verdict):
    size = runs.sizes(2)
    results = page.results(2, size, [one(shift, size) for shift in shifts])
    every = list(page.claims(results))
    assert len(every) == 13 and {claim.verdict for claim in every} == {verdict}
    assert {claim.n for claim in every} == {len(shifts)}
    made = page.page(PaperPlan(starts=len(shifts)), results, every)
    losing = next(sheet for sheet in made.sheets if "loses" in sheet.title)
    worse = sum(shift < 0 for shift in shifts)
    assert {row[1] for row in losing.rows} == {row[2] for row in losing.rows} == {f"{worse} of {len(shifts)}"}
    json.dumps(made.figures)


def test_pictures_are_drawn_from_their_data():
    size = runs.sizes(2)
    picture = page.points(page.results(2, size, [one(0.1, size)]))
    again = picture_of(json.loads(json.dumps(picture_data(picture))))
    assert again == picture and len(picture.groups) == 2
    assert points_plot(again).axes[0].get_xscale() == "symlog"


@pytest.mark.slow
def test_a_quick_run():
    plan = PaperPlan(starts=1, until=1e-1, iterations=5, quick=True, part="two-players")
    answers = carry_out(page.EXPERIMENT.runs(plan), 1)
    results = page.EXPERIMENT.gather(plan, answers)
    every = list(page.EXPERIMENT.claims(results))
    assert len(every) == 13
    figures = results["two-players"]
    assert all(figures.exploit[f"auto {k}"].mean <= figures.exploit["Base"].mean + 1e-9 for k in (132, 154, 276))


def rhode_seed(auto: float, gain: float = 0.1) -> dict:
    """A seed at one size: a single abstraction and parts by hand lose 2 chips."""
    plan = {"line": "base", "predicted": 0.1, "summed": 0.2, "achieved": gain, "kept": ["an expert"],
            "taken_back": [], "pilots": 30, "moves": [["an expert", 0.1, 0.05]]}  # fmt: skip
    search = {"infosets": 100, "seconds": 1.0, "lines": ["base"], "rounds": [plan]}
    lost = {**dict.fromkeys(("single", *rhode.BY_HAND), 2.0), "automatic": auto}
    return {"infosets": 100, "bytes": 16_000, "exploitability": lost, "search": search, "version": 2,
            "experts": {name: ["an expert"] * k for k, name in enumerate(rhode.BY_HAND, 2)}}  # fmt: skip


def change_of(loss: float, plan: int, losses: tuple[float, ...] = ()) -> dict:
    """A search after a change: experts by hand lose 1 chip; its first plan has so many experts."""
    names = [f"static prefix({'c' * k}) in percentile(3), S=N" for k in range(1, plan + 1)]
    rounds = [{"line": "base", "predicted": 0.1 * plan, "summed": 0.1, "achieved": 0.1 * plan, "kept": names,
               "taken_back": [], "pilots": 6, "moves": []} for _ in losses or (loss,)]  # fmt: skip
    return {"by_hand": 1.0, "base": 3.0, "automatic": loss, "losses": list(losses or (loss,)), "experts": names,
            "in_plans": [names] * len(rounds), "best_pilots": [[[name, 0.1] for name in names * 3]] * len(rounds),
            "search": {"infosets": 100, "seconds": 1.0, "lines": ["base"], "rounds": rounds}}  # fmt: skip


def why_seed(growth: float = 0.9, pairs: float = 1.2) -> dict:
    return {why.GROWTH: change_of(growth, 7), why.CHOICE: change_of(0.8, 7), why.PAIRS: change_of(pairs, 3),
            why.ROUNDS: change_of(0.9, 2, (1.5, 1.3, 0.9))}  # fmt: skip


def test_a_cause_is_what_decides_all_seeds():
    seeds = [why_seed(), why_seed(pairs=0.7), why_seed(growth=1.5)]
    table = {row[0]: row for row in why_page.change_sheet(seeds).rows}
    assert table[why.WAS][2:7] == ("1.300 ± 0.000", "1.000 ± 0.000", "0 of 3", "2.0 ± 0.0", "4.0 ± 0.0")
    verdicts = {name: row[-1] for name, row in table.items()}
    assert verdicts == {why.WAS: "", why.ROUNDS: "a cause", why.CHOICE: "a cause", why.GROWTH: "undecided",
                        why.PAIRS: "undecided"}  # fmt: skip
    (text,) = why_page.notes(seeds)
    assert "in 3 of 3 seeds" in text and "gain 0.700 ± 0.000 chips" in text and "for 2.0 ± 0.0 different parts" in text
    rows = dict(why_page.expert_sheet(seeds).rows)
    assert rows["version 1 keeps"].startswith("c in percentile(3); cc in percentile(3); c in")
    assert len(rows["version 2 keeps"].split("; ")) == 7
    some = [why_seed(), {name: each for name, each in why_seed().items() if name != why.PAIRS}]
    few = {row[0]: row for row in why_page.change_sheet(some).rows}
    assert few[why.PAIRS][4] == "0 of 1" and few[why.GROWTH][4] == "2 of 2"
    assert {row[-1] for name, row in few.items() if name != why.WAS} == {"too few seeds"}


def test_changes_are_put_together_by_seed():
    plan = replace(rhode_page.PART.plan, starts=4)
    answers = {run.name: [piece[3:] for piece in run.pieces] for run in rhode_page.runs(plan)}
    r = rhode_page.gather(plan, answers)
    assert len(r.why) == why.SEEDS
    for seed, each in enumerate(r.why):
        assert each == {change: (runs.FIRST_SEED + seed, change) for change in why.CHANGES}


def test_a_search_ends_once_it_loses_less():
    base = kibitz.solve("leduc(suit_isomorphism=true)", "cfr+", abstraction="JQ.K", iterations=100)
    effort = Effort(iterations=40, pilot=10, cuts=8, insides=("null",), seats=("all",))
    search, start = search_of("leduc(suit_isomorphism=true)", base, Limits(infosets=140, rounds=3), effort)
    whole = why.run_until(search, start.probabilities, None, None)
    early = why.run_until(search, start.probabilities, whole.rounds[0].loss + 1e-9, None)
    assert len(early.rounds) == 1 < len(whole.rounds) and early.loss == (whole.loss[0], whole.rounds[0].loss)
    assert runs.search_data(early)["rounds"] == runs.search_data(whole)["rounds"][:1]
    never = why.run_until(search, start.probabilities, 0.0, None)
    assert never.loss == whole.loss and early.infosets <= 140


@pytest.mark.slow
def test_the_changes_of_a_quick_run():
    answer = {change: why.one_change(rhode.SMALL_GAME, rhode.QUICK_BASES[0], True, runs.FIRST_SEED, change)
              for change in why.CHANGES}  # fmt: skip
    for each in answer.values():
        assert each["automatic"] < each["base"] and each["by_hand"] < each["base"]
        assert each["losses"][-1] == pytest.approx(each["automatic"])
    hand = answer[why.CHOICE]
    assert hand["in_plans"][0] == hand["experts"] == answer[why.GROWTH]["experts"]
    assert len(answer[why.ROUNDS]["losses"]) <= why.MORE_ROUNDS
    assert json.loads(json.dumps(why_page.notes([answer])))


RHODE_CASES = [((1.0,) * 4, "holds"), ((3.0,) * 4, "fails"), ((1.0, 3.0), "undecided")]


@pytest.mark.parametrize(("values", "verdict"), RHODE_CASES)
def test_claims_of_rhode_island_follow_the_figures(values, verdict):
    singles = [{"infosets": 10**k, "bytes": 10 ** (k + 3), "exploitability": 4.0 - k, "abstract_gap": 0.01}
               for k in (3, 2, 1)]  # fmt: skip
    seeds = [rhode_seed(auto, 0.1 if auto < 2.0 else 0.05) for auto in values]
    results = rhode_page.RhodeResults(singles, ("c", "b", "a"), ("a",), {"a": seeds}, [why_seed()])
    every = list(rhode_page.claims(results))
    assert len(every) == 5 and {claim.verdict for claim in every} == {verdict}
    assert results.as_good("a") == ("1.0" if max(values) < 2.0 else "0.0" if min(values) > 2.0 else "0.1")
    made = rhode_page.page(PaperPlan(starts=len(values)), results, every)
    json.dumps(made.figures)
    losing = next(sheet for sheet in made.sheets if "loses" in sheet.title)
    worse = sum(auto > 2.0 for auto in values)
    assert {row[2] for row in losing.rows} == {f"{worse} of {len(values)}"}
    assert [row[3:5] for row in losing.rows] == [(f"{k} ± 0", "1 ± 0") for k in (2, 3, 4)]
    assert "made for 0.0 MB by version 2 of the search" in rhode_page.sheet(results).note
    memory, sizes, gains = (picture_of(picture_data(picture)) for picture in made.pictures)
    assert [line.name for line in memory.panels[0].lines][-1] == "automatic"
    assert {dot.name for dot in sizes.dots if dot.beyond} == {"automatic"} and len(sizes.dots) == 5
    assert points_plot(gains).axes[0].get_xscale() == "linear"  # gains below one chip


@pytest.mark.slow
def test_a_quick_run_of_rhode_island():
    plan = PaperPlan(starts=1, quick=True, part="rhode-island", jobs=1)
    results = page.EXPERIMENT.gather(plan, carry_out(page.EXPERIMENT.runs(plan), 1))["rhode-island"]
    (seed,) = results.seeds[rhode.QUICK_BASES[0]]
    assert seed["exploitability"]["automatic"] < seed["exploitability"]["single"]
    assert seed["infosets"] == results.singles[-1]["infosets"]
    assert seed["search"]["infosets"] <= seed["infosets"]
