"""A measured figure lives in one generated place: docs/results.md, or the page of the run that measured it.

Documents that people write link there. What looks like a measured figure in them is refused, unless it is listed here
with the reason why it is none.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kibitz
from kibitz.bench import readme, results
from kibitz.papers.sandholm_egt import TARGETS, FirstOrderResults, _first_sheet, _method_sheet
from kibitz.papers.sandholm_rhode_island import BEST, RhodeIslandSizes, SolverTimes, _slides_sheet, _solver_sheet

HOME = Path(kibitz.__file__).parents[1]
WRITTEN = ["README.md", "CHANGELOG.md",
           *(f"docs/{name}.md" for name in ("architecture", "glossary", "own_game", "papers", "howto/endgames",
                                            "howto/tournaments", "howto/ui")),
           *(f"kibitz/{name}/README.md" for name in ("core", "forms", "games", "poker", "solvers", "web"))]  # fmt: skip
UNITS = r"(ms|s|seconds?|milliseconds?|minutes?|hours?|kB|MB|GB|TB|x|times (as fast|faster|as long|the speed)|a second)"
FIGURE = re.compile(rf"(?<![\w=\[.])\d[\d.,]*( |-|\u00a0)?(million |billion )?{UNITS}\b(?! \d)|\bp(50|95|99)\b")
# (document, words of the line): why it is not a measurement
KNOWN = {
    ("kibitz/poker/README.md", "some 4 GB a part and flop"): "follows from the shape of the betting",
    ("kibitz/solvers/README.md", "some 220 MB, and does about 150 operations"): "counted: sequences times bytes",
    ("kibitz/solvers/README.md", "On Leduc (104 kB of payoffs"): "counted: the size of an array",
}


def prose(text: str) -> list[str]:
    """The lines of a document that are written and no block of code; inline code and links' targets are cut."""
    text = readme.BLOCK.sub("", text)
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith("    ")]
    return [re.sub(r"`[^`]*`|\]\([^)]*\)", "", line) for line in lines]


def figures_in(name: str, text: str) -> list[str]:
    return [line for line in prose(text) if FIGURE.search(line)
            and not any(page == name and words in line for page, words in KNOWN)]  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_written_documents_hold_no_measured_figure(name):
    assert not figures_in(name, (HOME / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", [
    "| act | takes 157 ms |", "| request | p50 | p95 |", "rows (0.15 s a flop)",
    "solved in 43 s on two cores", "it is 12.5 times faster", "in 0.44 GB", "3 minutes",
    "more than 200x as fast", "5.5 million a second", "about 2 hours",
])  # fmt: skip
def test_figures_are_recognised(line):
    assert figures_in("README.md", line) == [line]


@pytest.mark.parametrize("line", [
    "six months on four processors", "`--seconds 60`", "a deck of 52 cards", "a chart of 13 x 13 hands", "    43 s",
    "24 million infosets", "see [speed](results.md)",
])  # fmt: skip
def test_what_is_none_is_left_alone(line):
    assert figures_in("README.md", line) == []


def test_what_is_known_is_there():
    for name, words in KNOWN:
        assert words in (HOME / name).read_text(encoding="utf-8")


def test_results_are_what_their_data_say():
    """docs/results.md is made from docs/results.json, and from nothing else."""
    held = results.read(HOME / "docs" / "results.json")
    assert (HOME / "docs" / "results.md").read_text(encoding="utf-8") == results.markdown(held)


def test_the_table_of_the_readme_is_what_the_data_say():
    """Its figures are those of docs/results.json, the small ones too."""
    assert readme.PAGE.read_text(encoding="utf-8") == readme.page(), "run python -m kibitz.bench.docs"
    (block,) = readme.BLOCK.findall(readme.PAGE.read_text(encoding="utf-8"))
    assert all(f"[{name}]" in block for name in ("OpenSpiel", "LiteEFG", "Gambit", "TexasSolver", "HRC"))
    held = results.read(HOME / "docs" / "results.json")
    rows = [row for run in held.values() for row in run["rows"] if row["peer"] == "OpenSpiel" and row["ratio"]]
    assert any(f"**{row['ratio']:,.0f}x**" in block for row in rows if row["figure"] == "target")
    slower = [row for row in rows if row["figure"] == "regret" and row["theirs"] is not None]
    assert any(f"{row['ours']:.2f} s against {row['theirs']:.0f} s" in block for row in slower)


# Pages of papers compare solvers with one another; seconds of a solver alone are in results.md.


def some_runs() -> list[SolverTimes]:
    return [SolverTimes(solver, (10, 20), (1.25 * k, 7.75 * k), (0.5, 0.005), 0.0, (-1.0, 1.0), 437_000_000)
            for k, solver in enumerate((BEST, "cfr+"), start=1)]  # fmt: skip


def test_times_of_rhode_island_are_ratios():
    runs = some_runs()
    sheets = [_solver_sheet(runs), _slides_sheet(RhodeIslandSizes(1, (1, 1), (1, 1, 1)), runs[0])]
    told = " ".join(text for sheet in sheets for row in sheet.rows for text in row)
    assert not re.search(r"7\.7|7\.8|15\.5|0\.44", told) and "(2.00)" in told
    assert all("results.md" in sheet.note for sheet in sheets)


def test_times_of_first_order_methods_are_ratios():
    found = FirstOrderResults([], {"Leduc": some_runs()}, [], [])
    rows = _first_sheet(found).rows
    assert [row[1 + TARGETS.index(1.0)] for row in rows] == ["1", "2"]
    assert all(len(row) == 3 for row in _method_sheet(found).rows)
