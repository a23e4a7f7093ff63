"""Tables, progress and lists at 60, 80 and 120 columns, and in a file: nothing is lost."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rich.console import Console
from terminal import shown_until

import kibitz
from kibitz.cli import app
from kibitz.cli.watch import fitted, waits
from kibitz.report.tables import print_markdown, tables

WIDTHS = (60, 80, 120)
LONG = "a_strategy_with_a_name_that_goes_on_and_on_{}"


@pytest.fixture
def page(capsys, monkeypatch):
    """What a command prints on a page of a width; no line is wider, and nothing is cut."""

    def run(width, *words):
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as end:
            app([str(word) for word in words], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert (end.value.code or 0, err) == (0, "")
        assert "…" not in out and not re.search(r" +\n", out)
        return out

    return run


def squeezed(text):
    """Text without the places where a line was broken."""
    return re.sub(r"\s+", "", text)


def wider(out, width):
    return [line for line in out.splitlines() if len(line) > width]


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """Eight profiles of Leduc with long names."""
    place = tmp_path_factory.mktemp("field")
    for k in range(8):
        kibitz.solve("leduc", "cfr+", iterations=3 * k).save(place / f"{LONG.format(k)}.profile")
    return sorted(place.iterdir())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.some(2)
def test_a_crosstable_keeps_names_and_figures(page, field, width):
    from kibitz.evaluate.crosstable import crosstable
    from kibitz.forms.profile import Profile

    out = page(width, "crosstable", *field)
    made = crosstable("leduc", {path.stem: Profile.load(path) for path in field})
    assert wider(out, width) == []
    for name in made.names:
        assert out.count(name) >= 3  # what a number stands for, and both rankings
    for value in (*(1000 * made.matrix[0, 1:]), *(500 * made.exploitability)):
        assert f"{value:.2f}" in out
    short = page(width, "crosstable", *field[:2])
    assert wider(short, width) == [] and "millibets" in short


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "words",
    [
        ("games",),
        ("solvers",),
        pytest.param(("info", "leduc(players=3)"), marks=pytest.mark.slow),
        ("stitch", "leduc", "--base", "JQ.K", "--partition", "prefix(r, cr, cccr)", "--inside", "suits", "--dry-run"),
    ],
)  # fmt: skip
def test_lists_say_the_same_at_each_width(page, words, width):
    out, wide = page(width, *words), page(400, *words)
    assert wider(out, width) == []

    def said(text):  # sorted words, without rules and times, which differ from run to run
        return sorted(word for word in re.sub(r"built in.*(\n +.*)*|─", "", text).split())

    assert said(out) == said(wide)


def test_a_table_in_pieces_repeats_the_first_column():
    head = ["name", *(f"title of {k}" for k in range(9))]
    rows = [[f"row {k}", *(f"{k}{j}.25 ± 0.5" for j in range(9))] for k in range(3)]
    for width in (30, *WIDTHS):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        made = tables(head, rows, width)
        for each in made:
            console.print(each)
        out = console.export_text()
        assert out.count("row 1") == len(made) and wider(out, width) == []
        assert all(cell in out for row in rows for cell in row)
    assert len(made) == 2 and len(tables(head, rows, 130)) == 1


def test_markdown_as_a_page():
    lines = ["## Head", "", "Some `words`.", "", "More.", "", "| what | n | |", "|---|---|---|",
             "| a long name of a thing | 1,234,567 | not met |", ""]  # fmt: skip
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_markdown(console, lines)
    out = console.export_text()
    assert "Head\nSome words." in out and "1,234,567  not met" in out and "|" not in out and "\n\nMore.\n" in out


# Progress


LINE = "solving leduc(players=3, ranks=4) by cfr+: iteration 12,345, 10 s used, NashConv 0.0012, about 3:05 left"


@pytest.mark.parametrize("width", (15, 25, 40, *WIDTHS))
def test_the_time_left_is_the_last_to_go(width):
    line = fitted(LINE, width)
    assert len(line) <= width and line.endswith("about 3:05 left")
    assert (line == LINE) == (width >= len(LINE))
    assert "NashConv 0.0012" in line or width < 60


def test_words_are_cut_at_their_end():
    assert (
        fitted("compiling: the first use takes a while, the next ones do not", 30) == "compiling: the first use take…"
    )
    assert fitted("kuhn: 1 of 2", 12) == "kuhn: 1 of 2"


def test_waits_grow(monkeypatch):
    def first(n):
        return [wait for wait, _ in zip(waits(), range(n), strict=False)]

    monkeypatch.delenv("KIBITZ_PROGRESS", raising=False)
    assert first(9) == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    for text, found in (("0", []), ("0.5", [0.5, 1]), ("soon", [5, 10])):
        monkeypatch.setenv("KIBITZ_PROGRESS", text)
        assert first(2) == found


@pytest.mark.parametrize("width", (60, pytest.param(120, marks=pytest.mark.slow)))
def test_a_terminal_of_any_width_shows_the_time_left(tmp_path, width):
    words = ["solve", "leduc", "--solver", "cfr", "--iterations", "1000000000"]
    line = r"NashConv [\d.e-]+, about [\d.:]+ (m?s )?left"
    code, _, shown = shown_until(line, words, tmp_path, width)
    assert code == 130 and re.search(line, shown), shown


PROGRESS = ["solve", "leduc", "--solver", "cfr", "--iterations", "2000"]


def test_lines_of_progress_go_to_a_pipe(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_PROGRESS", "0.01")
    words = [sys.executable, "-m", "kibitz.cli", *PROGRESS]
    run = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0
    lines = run.stderr.splitlines()
    assert lines and all(line.startswith(("after ", "solving leduc")) for line in lines), lines
    assert "\x1b" not in run.stderr and run.stdout.startswith("leduc by cfr")


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_no_lines_of_progress_where_none_are_wanted(page, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIBITZ_PROGRESS", "0.01")
    page(80, *PROGRESS, option)  # nothing on stderr
