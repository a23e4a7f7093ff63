"""[Le 2021, Tables 3.1 and 3.2, Figures 4.1 to 4.5]: Toepen with small decks."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import kibitz
from kibitz.bench.paper import write
from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.evaluate import measure
from kibitz.forms.abstraction import abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.games.tree import tree_of
from kibitz.papers import PaperPlan, le2021, le2021_runs, plan_of
from kibitz.papers.claims import FACT, REPETITION, Claim
from kibitz.papers.le2021_course import ABSTRACTIONS, BASELINE, THESIS, Course, worth
from kibitz.papers.le2021_runs import OTHER, REAL, ToepenSize, evaluations_at
from kibitz.papers.runs import Run, carry_out
from kibitz.report.plot import spaced
from kibitz.solvers import Task, make

# Infosets by enumeration in other programs: game -> (all, with the thesis' isomorphism, with the largest one), each for
# (thesis mode, real rules).
COUNTS = {
    "2/2/2, no betting": ((10, 10), (6, 6), (6, 6)),
    "2/2/2": ((496, 336), (330, 210), (252, 172)),
    "2/3/2, no betting": ((39, 39), (21, 21), (21, 21)),
    "2/3/2": ((3_552, 2_760), (2_130, 1_602), (1_782, 1_386)),
    "3/2/2, no betting": ((51, 51), (14, 14), (12, 12)),
    "3/2/2": ((3_576, 3_048), (954, 822), (616, 528)),
    "3/3/2, no betting": ((180, 180), (48, 48), (39, 39)),
    "3/3/2": ((22_338, 18_342), (5_586, 4_698), (3_807, 3_141)),
    "3/3/3, no betting": ((4_584, 4_584), (1_173, 1_173), (788, 788)),
    "3/3/3": ((1_366_338, 749_442), (376_958, 195_862), (228_065, 125_213)),
}
TINY = PaperPlan(starts=2, until=0.1, iterations=300, jobs=1, quick=True)


def measured(plan):
    return le2021_runs.gather(plan, carry_out(le2021_runs.runs(plan), plan.jobs))


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(le2021_runs, "LARGE", ToepenSize(2, 2, 2, True))
        return measured(TINY)


@pytest.fixture(scope="module")
def course():
    tree = tree_of(ToepenSize(2, 3, 2, True).rules())
    return Course(tree, abstraction(tree, BASELINE).row)


def lifted(course, strategy):
    """A strategy by columns of rows as a profile of the real game."""
    return Profile(course.form.infosets, strategy[course.solver.column], {"tree": course.tree.digest})


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_counts(results):
    found = results.counted
    for name, kinds in COUNTS.items():
        for kind, (thesis, real) in zip(("null", BASELINE, "maximal"), kinds, strict=True):
            counted = found[name][kind]
            assert sum(counted["no betting" in name]) == thesis and sum(counted[True]) == real, (name, kind)
    assert found["3/3/3"]["null"][False] == (472_554, 893_784) and found["3/3/3"][BASELINE][False] == (131_763, 245_195)
    sheets = list(le2021.count_sheets(found))
    assert [sheet.table for sheet in sheets] == ["3.1", "3.2"]
    assert all("10 of 10 of the thesis' counts are reproduced exactly" in sheet.note for sheet in sheets)


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_values(results):
    fractions = {str(game): fraction for game, (_, fraction) in results.values.items()}
    assert fractions == {
        "2/2/2, no betting": "2/3", "2/3/2, no betting": "17/45", "3/2/2, no betting": "13/30",
        "3/3/2, no betting": "95/252", "3/3/3, no betting": "33/140", "2/2/2": "2/3",
    }  # fmt: skip
    low, high = results.trained[True].value
    assert low <= 2 / 3 <= high and high - low <= 0.1


@pytest.mark.slow
def test_rows_are_read_as_the_real_game_plays_them(course):
    runs = [course.fresh(seed) for seed in (1, 2)]
    for run in runs:
        run.step(300)
    a, b = (course.average(run) for run in runs)
    profiles = [lifted(course, strategy) for strategy in (a, b)]
    for run, profile in zip(runs, profiles, strict=True):
        assert profile.probabilities == pytest.approx(run.probabilities(), abs=1e-12)
    exact = measure(course.form, profiles[0].probabilities)
    gap = course.gap(a)
    assert gap.gap == exact.nash_conv and gap.value == exact.value[0] and gap.best == tuple(exact.best)
    # The score of one against the other, from the definition: both seats in turn.
    first = course.form.infosets.first[course.form.infosets.seat_start[1]]
    mine, other = (profile.probabilities for profile in profiles)
    as_one = Profile(course.form.infosets, np.append(mine[:first], other[first:]), profiles[0].meta)
    as_two = Profile(course.form.infosets, np.append(other[:first], mine[first:]), profiles[0].meta)
    score = (kibitz.value(course.tree, as_one)[0] + kibitz.value(course.tree, as_two)[1]) / 2
    assert 0.5 * course.plan(a) @ worth(course.form, course.plan(b)) == pytest.approx(score, abs=1e-12)


def test_runs_share_a_layout_and_nothing_else(course):
    def run(seed):
        made = course.fresh(seed)
        made.step(200)
        return made.average

    alone = [run(seed) for seed in (5, 6, 5)]
    assert np.array_equal(alone[0], alone[2]) and not np.array_equal(alone[0], alone[1])
    together = carry_out([Run("x", run, [(5,), (6,), (5,)], "threads")], jobs=3)["x"]
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))
    # Regrets that begin at minus zero are as good as those that begin at zero.
    rows = row_map(course.form, course.row, by_position=True)
    plain = make("mccfr", Task(course.tree, course.form, rows, seed=5))
    plain.step(200)
    assert np.array_equal(plain.average, alone[0])
    with pytest.raises(SolverError, match="has not started"):
        plain.fresh(3)


@pytest.mark.parametrize("name", THESIS)
def test_regrouped_is_another_abstraction(course, name):
    row = abstraction(course.tree, name).row
    made = course.regrouped(row)
    other = Course(course.tree, row)
    runs = [each.fresh(3) for each in (made, other)]
    for run in runs:
        run.step(100)
    assert np.array_equal(runs[0].average, runs[1].average) and np.array_equal(runs[0].regret, runs[1].regret)
    assert made.rows == other.rows and np.array_equal(made.reads, other.reads)
    assert made.reached(runs[0]) == other.reached(runs[1]) <= made.rows
    assert len(course.average(course.fresh(0))) == len(course.solver.regret)  # the first is as it was


def test_rows_reached(course):
    """A row is reached if a walk visits it, be there something to regret or not."""
    run, untouched = course.fresh(0), course.fresh(0)
    assert course.reached(run) == 0
    row_of_column = [row for row, width in enumerate(course.width) for _ in range(width)]
    found = []
    for _ in range(4):
        run.step(50)
        # A visit leaves other bytes than those of a run that has not started.
        pairs = ((run.regret, untouched.regret), (run.average, untouched.average))
        changed = np.logical_or(*(now.view(np.uint64) != then.view(np.uint64) for now, then in pairs))
        found.append(course.reached(run))
        assert found[-1] == len({row_of_column[column] for column in np.flatnonzero(changed)})
    assert 0 < found[0] < found[1] < found[2] < found[3] < course.rows
    run.step(20_000)
    seen = np.logical_or.reduceat((run.average > 0) | (run.regret != 0), course.first)
    assert 0.9 * course.rows < seen.sum() <= course.reached(run) <= course.rows


def test_an_approximate_best_response_is_never_above_the_exact_one(course):
    answers = [Course(course.tree, course.row, seat) for seat in range(2)]
    run = course.fresh(7)
    for iterations in (5, 50, 500):
        run.step(iterations)
        strategy = course.average(run)
        exact = course.gap(strategy)
        short, long = ([c.answered(strategy, n, 1) for c in answers] for n in (20, 5_000))
        for seat in range(2):
            assert short[seat] <= exact.best[seat] + 1e-12 and long[seat] <= exact.best[seat] + 1e-12
            assert long[seat] > short[seat]
        assert sum(long) > 0.8 * exact.gap - 0.05
        assert [c.answered(strategy, 20, 1) for c in answers] == short


def test_looks():
    every = evaluations_at(100_000, 100)
    assert every[:4] == (100, 150, 200, 300) and every[-2:] == (90_000, 100_000)
    for iterations in (1, 7, 10, 300, 5_000):
        looks = evaluations_at(iterations, min(10, iterations))
        assert looks[-1] == iterations and list(looks) == sorted(set(looks)) and looks[0] >= 1


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_all_abstractions_are_trained(results):
    for mode in (True, False):
        trained = results.trained[mode]
        assert set(trained.sizes) == {BASELINE, *ABSTRACTIONS} == set(trained.score) == set(trained.gap)
        assert trained.sizes[BASELINE] == (210 if mode else 330) and trained.sizes["naive"] == 2
        assert np.abs(trained.score[BASELINE].values).max() < 1e-12
        for name, curve in trained.reached.items():
            assert (np.diff(curve.values) >= 0).all() and curve.values.max() <= trained.sizes[name]
        assert trained.approximate == ()  # left out of a quick run
        tree = tree_of(ToepenSize(2, 2, 2, True).rules(mode))
        course = Course(tree, abstraction(tree, BASELINE).row)
        assert course.gap(course.average(course.fresh(0))).gap == pytest.approx(trained.uniform, abs=1e-12)


@pytest.mark.slow
def test_best_responses_to_the_baseline():
    game = ToepenSize(2, 2, 2, True)
    bound = le2021_runs.solved(game, True, 100, 0.5)
    found = [le2021_runs.trained_from(game, True, 100, 200, 4, k < 2, k) for k in range(3)]
    trained = le2021_runs.trained(200, 4, bound, found)
    assert len(trained.approximate) == 2
    for k, answered in enumerate(trained.approximate):
        assert 0 < answered <= trained.gap[BASELINE].values[k, -1] + 1e-9
    assert trained.score[BASELINE].at[-1] == trained.gap[BASELINE].at[-1] == 200
    assert len(trained.score[BASELINE].at) == 3


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_the_same_seeds_give_the_same_figures(results, monkeypatch):
    monkeypatch.setattr(le2021_runs, "LARGE", ToepenSize(2, 2, 2, True))
    monkeypatch.setattr(le2021_runs, "counted", lambda game: {})
    monkeypatch.setattr(le2021_runs, "exact_value", lambda game: (0.0, ""))
    again = measured(replace(TINY, jobs=2))
    for mode in (True, False):
        one, other = results.trained[mode], again.trained[mode]
        for name in one.score:
            assert np.array_equal(one.score[name].values, other.score[name].values)
            assert np.array_equal(one.gap[name].values, other.gap[name].values)
        assert one.sizes == other.sizes and one.value == other.value
    for key, games in results.small.items():
        for deck, found in games.items():
            assert np.array_equal(found.real.values, again.small[key][deck].real.values)
            assert np.array_equal(found.approximate.values, again.small[key][deck].approximate.values)


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_small_games(results):
    assert [round(results.small[True, True][deck].uniform, 4) for deck in le2021.DECKS] == [2.5059, 2.2583, 2.2897]
    for games in results.small.values():
        for found in games.values():
            assert (found.seen.values <= found.real.values + 1e-9).all()
            assert (found.approximate.values <= found.real_then.values + 1e-9).all()
            assert found.real.at[-1] == found.approximate.at[-1] == TINY.iterations // 2
            assert (found.real.values[:, -1] < found.uniform + 0.5).all()


def test_verdicts():
    both = {REAL: (True, True, True, True), OTHER: (True, False, False, False)}
    found = Claim("a", "Fig. 4.1", both[REAL], both, unit=REPETITION, leading=True)
    assert found.verdict_text == "holds in all 4 repetitions; fails (thesis mode)"
    assert found.verdict == "holds" and found.verdicts == {REAL: "holds", OTHER: "fails"}
    assert found.stands is True and found.cell(both[OTHER]) == "1 of 4" and found.of_the_paper
    assert found.data()["variants"] == {mode: list(held) for mode, held in both.items()}
    exact = Claim("b", "Sec. 1", (False,), {REAL: (False,)}, detail="it is 5", unit=FACT, leading=True)
    assert exact.verdict_text == "fails (exact): it is 5"
    assert exact.cell((False,)) == "false" and exact.stands is False


@pytest.mark.slow  # the results take a minute, most of it to lay out 3/3/3
def test_the_report(results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    ready = replace(le2021.EXPERIMENT, runs=lambda plan: [], gather=lambda plan, found: results)
    monkeypatch.setattr(le2021, "EXPERIMENT", ready)
    with pytest.raises(SystemExit) as end:
        app(["reproduce", "le2021", "--quick", "--table", "3.1", "--markdown", "page.md"], prog_name="kibitz")
    out, err = capsys.readouterr()
    assert not end.value.code and "Table 3.1: infosets" in out
    assert err == "note: le2021: a quick run, with smaller games or less accurate solutions (--quick)\n"
    assert "Table 3.2: infosets" not in out and "376,958" not in out
    place = tmp_path / "runs/papers/le2021"
    figures = [f"figure-4.{k}.png" for k in range(1, 6)]
    assert {p.name for p in place.iterdir()} == {
        "report.md", "report.html", "report.json", "nash-conv.png", *figures
    }  # fmt: skip
    text = (place / "report.md").read_text()
    assert "This is a quick run" in text and "Claims and verdicts" in text
    for figure in figures:  # each with its paragraph
        after = text.partition(f"]({figure})")[2].strip()
        assert after.startswith("Conclusions of the thesis from Fig. 4.") and "real rules" in after.split("\n")[0]
    data = json.loads((place / "report.json").read_text())
    assert data["figures"]["counts"]["3/3/3"]["null"]["thesis mode"] == [472_554, 893_784]
    assert {"real rules", "thesis mode"} == data["figures"]["abstractions"].keys()
    assert all(claim["variants"].keys() <= {"real rules", "thesis mode"} for claim in data["claims"])
    page = (tmp_path / "page.md").read_text()
    assert "page/le2021-figure-4.1.png" in page and "Stitching" not in page
    html = (place / "report.html").read_text()
    assert html.count("<img") == 6 and html.count("Of the thesis&#x27; conclusions") == 5


def test_a_table_that_is_not_there(capsys):
    with pytest.raises(SystemExit) as end:
        app(["reproduce", "le2021", "--table", "4.1"], prog_name="kibitz")
    assert end.value.code == 2 and "le2021 has 3.1 and 3.2" in " ".join(capsys.readouterr().err.split())


def test_plans():
    assert plan_of("le2021").starts == 15 and plan_of("le2021").iterations == 100_000
    assert plan_of("le2021", quick=True).iterations < 10_000 and plan_of("gibson2011") == PaperPlan()


def test_names_at_lines_stand_apart():
    assert spaced([0.1, 0.5], 0.1) == pytest.approx([0.1, 0.5])
    assert spaced([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    found = spaced([0.1, 0.12, 0.3, 0.31, 0.9], 0.1)
    assert (np.diff(found) >= 0.1 - 1e-12).all() and found[-1] == pytest.approx(0.9)


@pytest.mark.slow
def test_the_large_game(tmp_path):
    """Sizes and values of 3/3/3 with betting, and what any run of a few hundred iterations shows."""
    plan = replace(le2021.QUICK, iterations=1_000, starts=2, until=0.05)
    results = measured(plan)
    for mode, sizes, value in (
        (True, (195_862, 4, 156, 116_863, 178_581, 94_160, 85_298), (0.308269, 0.308663)),
        (False, (376_958, 4, 166, 209_829, 333_449, 176_448, 155_586), (0.22304, 0.22520)),
    ):
        trained = results.trained[mode]
        assert tuple(trained.sizes[name] for name in (BASELINE, *THESIS)) == sizes
        assert trained.value[0] <= value[0] and value[1] <= trained.value[1]
        assert (trained.score["simple-hand"].values[:, 0] > 0).all()
        assert all((curve.values > 0.4).all() for curve in trained.gap.values())
    assert len(write(le2021.EXPERIMENT.outcome(plan, results, 0.0), tmp_path)) == 9
