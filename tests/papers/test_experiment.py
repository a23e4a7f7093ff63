"""The shape of an experiment: verdicts by the rule, runs that are done once, and pages that come of them."""

from __future__ import annotations

import ast
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz import papers
from kibitz.cli import app
from kibitz.core.errors import SolverError, SpecError
from kibitz.papers import PAPERS, PaperPlan, experiment, plan_of, reproduce, waugh2009
from kibitz.papers.claims import OURS, WEIGHT, Claim, Comparison, across
from kibitz.papers.experiment import Experiment, Page, PaperReport
from kibitz.papers.runs import PRINTING, Run, Shelf, Stopped, carry_out, go_on, plain, shared
from kibitz.papers.stitching import by_weight, over_starts
from kibitz.report.figures import Sheet, Spread

FEW = (0.0, WEIGHT)


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_has_the_shape(name):
    """Pieces are functions of modules over plain arguments: so they can be sent, written down and found again."""
    found = experiment(name)
    assert found.name == name and found.title and plan_of(name, quick=True) == found.quick != found.plan
    for plan in (found.plan, found.quick):
        runs = found.runs(plan)
        assert runs and len({run.name for run in runs}) == len(runs)
        for run in runs:
            assert getattr(import_module(run.work.__module__), run.work.__qualname__) is run.work
            assert run.pieces and len({json.dumps(plain(piece)) for piece in run.pieces}) == len(run.pieces)
    assert f"kibitz reproduce {name}" in (Path(kibitz.__file__).parent.parent / "docs" / "papers.md").read_text()


def test_files_of_papers_make_no_circle():
    home = Path(papers.__file__).parent
    graph = {path.stem: set() for path in home.glob("*.py")}
    for path in home.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kibitz.papers"):
                names = [node.module.rpartition(".")[2], *(alias.name for alias in node.names)]
                graph[path.stem] |= {name for name in names if name in graph}
    assert {"le2021_claims", "le2021_runs"} <= graph["le2021"] and "sandholm_gameshrink" in graph["sandholm"]
    list(TopologicalSorter(graph).static_order())  # a circle is an error


# Claims


def tried(*counts, of=4):
    return Claim("x", "y", (True,), {f"{w}": (True,) * n + (False,) * (of - n) for w, n in enumerate(counts)}, "weight")


def test_claims_are_put_together_by_their_text():
    one, two, alone = (Claim(text, "y", (True, False)) for text in ("one", "two", "alone"))
    other = [Claim("two", "y", (False, False)), Claim("one", "y", (True, True))]
    found = list(across([one, two, alone], {WEIGHT: [one, two], 0.0: other}))
    assert [claim.text for claim in found] == ["one", "two", "alone"]
    assert [claim.tried for claim in found] == [
        {"0": (True, True), "0.1": (True, False)}, {"0": (False, False), "0.1": (True, False)},
        {"0.1": (True, False)},
    ]  # fmt: skip
    assert list(found[0].tried) == ["0", "0.1"] and found[0].truths == (True, False)
    assert found[0].data()["variants"] == {"0": [True, True], "0.1": [True, False]}


def test_the_verdict_on_a_paper_counts_claims():
    ours = Claim("x", OURS, (True,))

    def told(*claims, summary=""):
        page = {"about": "", "departs": (), "sheets": (), "pictures": (), "figures": {}, "summary": summary}
        outcome = PaperReport(name="x", title="x", plan=PaperPlan(), claims=(*claims, ours), **page)
        assert outcome.data()["verdicts"]["ours"] == {"holds": 1, "fails": 0, "undecided": 0}
        return outcome.verdict

    assert told(tried(4, 4), tried(4, 4), tried(0, 4)) == (
        "Of the paper's 3 claims, 2 hold, 0 fail and 1 is undecided. "
        "Of our own 1 claim, 1 holds, 0 fail and 0 are undecided."
    )
    assert told(Claim("x", "y", (False,)), summary="More.").endswith("undecided. More.")


# Runs


def squares(*numbers):
    calls.append(numbers)
    return {"of": numbers, "sum": np.square(numbers).sum(), "all": np.square(numbers)}


calls = []


def test_runs_of_another_version_are_used_if_asked_for(tmp_path, monkeypatch):
    calls.clear()
    runs = [Run("a", squares, [(1, 2), (3, 4)])]
    with monkeypatch.context() as patch:
        patch.setattr(kibitz.papers.runs, "made_by", lambda: "another version")
        first = carry_out(runs, shelf=Shelf(tmp_path / "others"))
    shelf = Shelf(tmp_path / "mine", others=tmp_path / "others")
    assert carry_out([Run("a", squares, [(1, 2), (5,)])], shelf=shelf)["a"][0] == first["a"][0] and len(calls) == 3
    assert (shelf.read, shelf.elsewhere, shelf.done) == (1, 1, 1)
    carry_out(runs, shelf=Shelf(tmp_path / "others"))  # without being asked
    assert len(calls) == 5
    for path in (tmp_path / "others").iterdir():  # what is damaged is not used
        path.write_text(path.read_text().replace('"sum": 5', '"sum": 6'))
    shelf = Shelf(tmp_path / "new", others=tmp_path / "others")
    assert carry_out(runs, shelf=shelf) == first and (shelf.read, shelf.elsewhere, len(calls)) == (1, 0, 6)


@pytest.mark.parametrize("seconds", ["1e999", "NaN", "-1.0", "1" + 400 * "0", '"soon"'])
def test_runs_that_took_no_possible_time_are_not_used(tmp_path, seconds):
    runs = [Run("a", squares, [(1, 2)])]
    carry_out(runs, shelf=Shelf(tmp_path))
    (path,) = tmp_path.iterdir()
    saved = json.loads(path.read_text())
    saved["seconds"] = json.loads(seconds)
    head = {name: saved[name] for name in ("work", "arguments", "made_by")}
    with contextlib.suppress(OverflowError, ValueError):
        saved["seal"] = kibitz.papers.runs._seal(head, saved["answer"], float(saved["seconds"]))
    path.write_text(json.dumps(saved))
    shelf = Shelf(tmp_path / "mine", others=tmp_path)
    carry_out(runs, shelf=shelf)
    assert (shelf.read, shelf.done) == (0, 1)


def test_what_was_done_is_not_done_again(tmp_path):
    calls.clear()
    told = []
    runs = [Run("a", squares, [(1, 2), (3, 4)]), Run("b", squares, [(5,)])]
    shelf = Shelf(tmp_path / "runs")
    first = carry_out(runs, on_progress=lambda *now: told.append(now), shelf=shelf)
    assert first == {
        "a": [{"of": [1, 2], "sum": 5, "all": [1, 4]}, {"of": [3, 4], "sum": 25, "all": [9, 16]}],
        "b": [{"of": [5], "sum": 25, "all": [25]}],
    }
    assert told == [("a", 0, 2), ("a", 1, 2), ("a", 2, 2), ("b", 0, 1), ("b", 1, 1)]
    assert (shelf.read, shelf.done, shelf.seconds, len(calls)) == (0, 3, 0.0, 3)
    more, shelf = [Run("a", squares, [(3, 4), (6,), (1, 2)])], Shelf(tmp_path / "runs")
    found = carry_out(more, shelf=shelf)["a"]
    assert calls[3:] == [(6,)] and (shelf.read, shelf.done) == (2, 1) and shelf.seconds > 0
    assert [each["sum"] for each in found] == [25, 36, 5] and found[0] == first["a"][1]
    assert carry_out(runs, shelf=Shelf(tmp_path / "runs", again=True)) == first and len(calls) == 7
    assert carry_out(runs) == first and len(calls) == 10  # without a shelf


def test_a_piece_of_another_program_or_a_damaged_one_is_done_again(tmp_path, monkeypatch):
    calls.clear()
    runs = [Run("a", squares, [(7,)])]
    carry_out(runs, shelf=Shelf(tmp_path))
    (path,) = tmp_path.iterdir()
    whole = path.read_text()
    for text in (
        whole[:-20],
        whole.replace('"sum": 49', '"sum": 50'),
        "[]",
        "null",
        "{}",
        whole.replace("seal", "sea"),
    ):
        assert text != whole
        path.write_text(text)
        assert carry_out(runs, shelf=Shelf(tmp_path))["a"][0]["sum"] == 49
        assert path.read_text() != text
    assert len(calls) == 7
    carry_out(runs, shelf=Shelf(tmp_path))
    assert len(calls) == 7
    monkeypatch.setattr("kibitz.papers.runs.made_by", lambda: "another")
    carry_out(runs, shelf=Shelf(tmp_path))
    assert len(calls) == 8


def test_answers_do_not_depend_on_sources_that_only_print():
    """What is left out of the digest is there, and runs are done without it."""
    home = Path(kibitz.__file__).parent
    assert all((home / each).exists() for each in PRINTING)
    pages = [f"kibitz.{each.removesuffix('.py').rstrip('/').replace('/', '.')}" for each in PRINTING]
    code = f"import sys, kibitz.papers.gibson2011_runs; print([each for each in {pages} if each in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_shelf_that_cannot_be_written_ends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    shelf = Shelf(tmp_path / "file")
    assert carry_out([Run("a", squares, [(1,), (2,)])], shelf=shelf)["a"][1]["sum"] == 4
    assert "cannot be saved" in shelf.trouble


def test_a_run_that_was_stopped_goes_on(tmp_path):
    """Whatever ends it: the pieces that were done are there."""

    def told(what, done, of):
        if done == 2:
            raise KeyboardInterrupt

    calls.clear()
    runs = [Run("a", squares, [(1,), (2,), (3,)])]
    with pytest.raises(KeyboardInterrupt):
        carry_out(runs, on_progress=told, shelf=Shelf(tmp_path))
    assert calls == [(1,), (2,)]
    assert [each["sum"] for each in carry_out(runs, shelf=Shelf(tmp_path))["a"]] == [1, 4, 9]
    assert calls == [(1,), (2,), (3,)]


def test_threads_end_when_one_of_them_fails():
    ended = []

    def work(k):
        if k == 0:
            raise ValueError("the first")
        try:
            while True:
                go_on()
                time.sleep(0.001)
        except Stopped:
            ended.append(k)
            raise

    with pytest.raises(ValueError, match="the first"):
        carry_out([Run("a", work, [(1,), (0,)], "threads")], jobs=2)
    assert ended == [1]
    go_on()  # outside of a run it does nothing


def test_what_pieces_share_is_made_once():
    made = []

    @shared
    def layout(*arguments):
        made.append(arguments)
        time.sleep(0.01)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(layout(1, 2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [(1, 2)] and len(found) == 4 and len(set(map(id, found))) == 1
    layout(3)
    layout(1, 2)
    assert made == [(1, 2), (3,), (1, 2)]  # the last alone is held


def test_starts_are_sorted_by_weight():
    plan = PaperPlan(starts=2, seed=5, weights=FEW)
    run = over_starts("x", squares, plan, 2)
    assert list(run.pieces) == [(2, 1e-4, 1000, w, seed) for seed in (5, 6) for w in FEW]
    assert by_weight(plan, "abcd") == {0.0: ["a", "c"], WEIGHT: ["b", "d"]}


@pytest.mark.slow
def test_results_do_not_depend_on_processes():
    plan, told = PaperPlan(starts=2, until=1e-2, weights=FEW), []
    run = over_starts("x", waugh2009.one_start, plan)
    apart = carry_out([run], 2, lambda *now: told.append(now))["x"]
    assert told == [("x", done, 4) for done in range(5)]
    assert apart == carry_out([run], 1)["x"]
    assert len({json.dumps(each["matrix"]) for each in apart}) == 4


def test_what_goes_wrong_in_a_process_is_told():
    with pytest.raises(TypeError):
        carry_out([Run("x", os.getenv, [(None,)] * 2, "processes")], 2)
    with pytest.raises(SolverError, match="a worker process ended early"):
        carry_out([Run("x", os._exit, [(0,), (1,)], "processes")], 2)
    assert not multiprocessing.active_children()


def test_pieces_on_cores_have_one_thread_of_blas(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    asked = [("OPENBLAS_NUM_THREADS",), ("OMP_NUM_THREADS",)]
    assert carry_out([Run("x", os.getenv, asked, "cores")], 1)["x"] == ["1", "1"]
    monkeypatch.setenv("KIBITZ_CORES", "6")
    monkeypatch.setattr("kibitz.core.pools.cores", lambda: 6)
    assert carry_out([Run("x", os.getenv, [("KIBITZ_CORES",)] * 2, "cores")], 2)["x"] == ["3", "3"]
    assert os.environ["KIBITZ_CORES"] == "6"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2" and "OMP_NUM_THREADS" not in os.environ


ORPHANS = """
import os, time
from kibitz.papers.runs import Run, carry_out
def work(seed):
    with open(f"new{seed}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"new{seed}", f"pid{seed}")
    time.sleep(600)
if __name__ == "__main__":
    carry_out([Run("x", work, [(0,), (1,)], "processes")], 2)
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def within(seconds, true):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_processes_end_with_their_parent(tmp_path):
    (tmp_path / "orphans.py").write_text(ORPHANS)
    files = [tmp_path / f"pid{seed}" for seed in (0, 1)]
    with subprocess.Popen([sys.executable, "orphans.py"], cwd=tmp_path) as parent:
        within(600, lambda: all(file.exists() for file in files))
        pids = [int(file.read_text()) for file in files]
        assert all(map(alive, pids))
        parent.kill()
    within(600, lambda: not any(map(alive, pids)))


def test_plans_are_checked():
    for wrong in ({"starts": 0}, {"until": 0.0}, {"iterations": 0}, {"seed": -1}, {"jobs": 0}, {"weights": (0.0,)},
                  {"weights": (WEIGHT, WEIGHT)}, {"weights": (WEIGHT, -1.0)}):  # fmt: skip
        with pytest.raises(SpecError):
            PaperPlan(**wrong)
    with pytest.raises(SpecError, match="there is no paper 'x'"):
        reproduce("x")
    assert Spread((1.0,)).sd == 0.0 and Spread((1.0, 3.0)).mean == 2.0


# A whole experiment


def doubled(seed):
    return {"seed": seed, "twice": 2 * seed}


def test_an_experiment_goes_from_plan_to_outcome(tmp_path):
    def claims(results):
        yield Claim("twice is more", "the paper", [Comparison(each["twice"], ">", each["seed"]) for each in results])

    def page(plan, results, claims):
        rows = [(str(each["seed"]), str(each["twice"])) for each in results]
        return Page(
            about=f"{len(claims)} claim",
            departs=(),
            sheets=(Sheet("t", ("seed", "twice"), rows),),
            pictures=(),
            figures={"twice": [each["twice"] for each in results]},
        )

    made = Experiment(
        "x", "X", PaperPlan(starts=3), PaperPlan(starts=1),
        lambda plan: [Run("doubling", doubled, [(s,) for s in plan.seeds])],
        lambda plan, found: found["doubling"], claims, page,
    )  # fmt: skip
    shelf = Shelf(tmp_path)
    outcome = made.recompute(shelf=shelf)
    assert outcome.sheets[0].rows == [("0", "0"), ("1", "2"), ("2", "4")] and outcome.about == "1 claim"
    assert outcome.verdict == "Of the paper's 1 claim, 0 hold, 0 fail and 1 is undecided."
    assert outcome.data()["figures"] == {"twice": [0, 2, 4]} and outcome.data()["seeds"] == [0, 1, 2]
    again = made.recompute(PaperPlan(starts=2, seed=1), shelf=Shelf(tmp_path))
    assert again.claims[0].truths == (True, True) and again.seconds > 0
    assert shelf.done == 3 and len(list(tmp_path.iterdir())) == 3


def test_the_command_reads_runs_that_were_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    calls.clear()

    def gather(plan, found):
        return [each["sum"] for each in found["x"]]

    def page(plan, results, claims):
        return Page(about="", departs=(), sheets=(), pictures=(), figures={"sums": results}, summary=str(results))

    def runs(plan):
        return [Run("x", squares, [(seed,) for seed in plan.seeds])]

    made = Experiment("waugh2009", "X", PaperPlan(starts=2), PaperPlan(), runs, gather, lambda results: [], page)
    monkeypatch.setattr(waugh2009, "EXPERIMENT", made)
    for words, done, said in (((), 2, ""), (("--seeds", "3"), 3, "2 of 3 runs"), (("--rerun",), 5, "")):
        with pytest.raises(SystemExit) as end:
            app(["reproduce", "waugh2009", *words], prog_name="kibitz")
        out = capsys.readouterr().out
        assert not end.value.code and len(calls) == done and said in out and bool(said) == ("done before" in out)
    assert len(list((tmp_path / "runs/papers/waugh2009/runs").iterdir())) == 3
