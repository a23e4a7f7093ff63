"""Where pages come from: commands that a reader can type, plans that mean what they say, caches that are named."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kibitz
from kibitz.bench.page import page_text
from kibitz.bench.verdicts import command_of, outdated, portable, remarks
from kibitz.cards import tables
from kibitz.cli import app
from kibitz.papers import PAPERS, experiment, gibson2011_three_page, holdem_page, table_alone
from kibitz.papers import gibson2011_holdem as gibson
from kibitz.papers import sandholm_gs3 as gs3
from kibitz.papers import waugh2009_holdem as waugh
from kibitz.papers.experiment import PaperPlan
from kibitz.poker.buckets import buckets

DOCS = Path(kibitz.__file__).parents[1] / "docs"


# Commands


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["reproduce", "sandholm", "--out", "/tmp/gs3", "--markdown", "/root/out/page.md"],
         "kibitz reproduce sandholm --out gs3 --markdown page.md"),
        (["reproduce", "all", "--out", "runs/papers", "--markdown=docs/page.md"],
         "kibitz reproduce all --out runs/papers --markdown=docs/page.md"),
        (["reproduce", "all", "--out=/somewhere/else", "--markdown", "../page.md"],
         "kibitz reproduce all --out=else --markdown page.md"),
        (["solve", "poker(file=leduc)", "--until", "1e-4"], "kibitz solve 'poker(file=leduc)' --until 1e-4"),
    ],
)  # fmt: skip
def test_commands_can_be_typed_elsewhere(words, wanted):
    assert command_of(words) == wanted


def test_a_path_in_the_working_folder_is_seen_from_there(tmp_path):
    assert portable(str(tmp_path / "docs" / "x.md"), tmp_path) == "docs/x.md"
    assert portable(f"--out={tmp_path}/runs", tmp_path) == "--out=runs"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_commands_on_pages_name_no_folder_of_a_machine(page):
    said = re.findall(r"`(kibitz [^`\n]+)`", page.read_text(encoding="utf-8"))
    for command in said:
        words = [word.partition("=")[2] or word for word in shlex.split(command.replace("\\|", "|"), posix=True)]
        wrong = [word for word in words if word.startswith(("/", "~")) or ".." in Path(word).parts]
        assert not wrong, f"{page.name}: {command}"


# Plans


@pytest.mark.parametrize("of", [gibson, waugh])
def test_iterations_are_obeyed_and_choose_no_deck(of):
    """99 iterations are 99, of the game that the page is about; the deck of 16 cards is --quick's alone."""
    whole = of.setting_of(dataclasses.replace(of.EXPERIMENT.plan, iterations=99))
    assert (whole.game, whole.iterations) == (holdem_page.GAME, 99)
    quick = of.setting_of(dataclasses.replace(of.EXPERIMENT.quick, iterations=99))
    assert (quick.game, quick.iterations) == (holdem_page.TINY, 99)
    assert holdem_page.GAME in of.EXPERIMENT.says(of.EXPERIMENT.plan) and "99 iterations" in of.EXPERIMENT.says(
        dataclasses.replace(of.EXPERIMENT.plan, iterations=99)
    )


@pytest.mark.parametrize("name", PAPERS)
def test_nothing_but_quick_makes_a_quick_look(name):
    """Few iterations or a rough goal change numbers of the same runs, not which games they are about."""
    found = experiment(name)
    for of in (found, *found.parts.values(), *(table_alone(name, table) for table in found.alone)):
        assert of.quick.quick or of in found.parts.values()
        rough = dataclasses.replace(found.plan if of in found.parts.values() else of.plan, iterations=10, until=2.0)
        asked = [run.name for run in of.runs(dataclasses.replace(rough, part=""))]
        whole = [run.name for run in of.runs(dataclasses.replace(rough, iterations=5000, until=1e-3))]
        assert asked == whole


@pytest.mark.parametrize(
    "words",
    [
        ("sandholm", "--experiment", "gs2", "--iterations", "50"),
        ("sandholm", "--experiment", "gs3", "--until", "1"),
        ("sandholm", "--experiment", "rhode-island", "--iterations", "50"),
        ("waugh2009", "--table", "3", "--until", "1"),
    ],
)
def test_options_that_mean_nothing_are_refused(words):
    found = CliRunner().invoke(app, ["reproduce", *words])
    assert found.exit_code == 2 and "means nothing to" in found.output


# What the code has no longer


def test_settings_that_have_changed_are_said():
    now = gibson2011_three_page.EXPERIMENT.settings
    name = "the share of --hours for training"
    assert outdated(now, now) == "" == outdated({}, now)
    said = outdated({**now, name: 0.8}, now)
    assert said == f"The present code does not reproduce this page: {name} was 0.8 and is now {now[name]}."
    assert "is now gone" in outdated({"a knob": 1}, now)


def test_a_page_of_other_settings_says_so():
    """From the data beside it; a page whose settings the code still has says nothing."""
    page = DOCS / "stitching_three.md"
    data = json.loads((DOCS / "stitching_three" / "data.json").read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    (said,) = [line for line in text.splitlines() if line.startswith("The present code does not reproduce this page")]
    assert said == " ".join(remarks(data)) and "was 0.8" in said and data["commit"] in said
    assert page_text(data) == text
    (paper,) = data["papers"]
    now = {**data, "papers": [{**paper, "settings": dict(gibson2011_three_page.EXPERIMENT.settings)}], "commit": ""}
    assert "does not reproduce" not in page_text(now)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*/data.json")), ids=lambda page: page.parent.name)
def test_pages_say_what_their_data_do_of_where_they_come_from(page):
    data = json.loads(page.read_text(encoding="utf-8"))
    text = (DOCS / data["page"]).read_text(encoding="utf-8")
    assert f"Made by `{data['command']}`." in text and all(remark in text for remark in remarks(data))
    assert all(word == portable(word) for word in shlex.split(data["command"]))


def test_an_outcome_records_its_settings():
    plan, page = PaperPlan(starts=1), gibson2011_three_page
    made = dataclasses.replace(page.EXPERIMENT, claims=lambda r: [], page=lambda plan, r, given: _blank())
    assert json.loads(json.dumps(made.outcome(plan, None, 0.0).data()))["settings"] == dict(page.EXPERIMENT.settings)


def _blank():
    from kibitz.papers.experiment import Page

    return Page(about="", departs=(), sheets=(), pictures=(), figures={})


# Caches


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    monkeypatch.setattr(buckets, "KEPT", 0)
    monkeypatch.setattr(buckets, "_held", {})
    monkeypatch.setattr(tables, "QUICK", 0.0)
    monkeypatch.setattr(tables, "_open", {})


def test_what_came_from_a_cache_says_how_long_it_had_taken(cache):
    def solved():
        buckets._held.clear()
        return gs3.solved("rhode_island(ranks=3)", "percentile(2)", "cpu", 0.5, 60.0)

    first, again = solved(), solved()
    assert not first.buckets_cached and not first.weights_cached
    assert again.buckets_cached and again.weights_cached
    assert first.bucket_seconds == again.bucket_seconds > 0.0 and again.weight_seconds > 0.0
    cells = gs3._sizes([first, again]).rows
    assert cells[1][-2:] == (f"{first.bucket_seconds:,.0f} s", f"{first.weight_seconds:,.0f} s")
    assert cells[2][-2:] == tuple(f"{s:,.0f} s, cached" for s in (again.bucket_seconds, again.weight_seconds))
    unknown = dataclasses.replace(again, bucket_seconds=None, weight_seconds=None)
    assert gs3._sizes([unknown]).rows[1][-2:] == ("cached", "cached")


def test_a_table_that_was_stopped_adds_its_times_up(cache, monkeypatch):
    made = tables.Recipe("parts", "a test", 1, {"sum": ("<i8", (1,))}, 3, lambda arrays, lock: _counting(arrays))
    monkeypatch.setattr(tables, "_begun", lambda recipe, common=None: (
        {"sum": tables.np.zeros(1, "<i8")}, tables.np.zeros(3, bool), 100.0))  # fmt: skip
    assert tables.build(made, threads=1, tell=lambda *_: None)
    assert 100.0 < tables.made_in(made) < 160.0


def _counting(arrays):
    def fill(piece):
        arrays["sum"] += 1

    return fill
