"""Pictures: no text covers another, short axes have ticks, exact solvers are named in the text."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.text import Text

from kibitz.bench import peers, pictures
from kibitz.report.curves import curves_plot
from kibitz.report.figures import (
    Curves,
    Dot,
    Duration,
    FigurePanel,
    FigurePoints,
    Heat,
    Line,
    Scatter,
    Times,
    picture_data,
    picture_of,
)
from kibitz.report.heat import draw, heat_map, points_plot, size_plot
from kibitz.report.plot import convergence_plot, log_ticks, short, unit_of
from kibitz.report.times import times_plot
from kibitz.solvers.result import Evaluation

ROOT = Path(__file__).parents[2]


def covered(figure):
    """Pairs of texts of a figure that intersect."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = Text.get_window_extent(text, renderer)  # an annotation's own would have its arrow in it
            boxes.append((text, text.get_text(), box))
    unseen = beyond(figure)
    seen = [(said, box) for text, said, box in boxes if text not in unseen]
    return [(a, b) for (a, one), (b, two) in combinations(seen, 2) if _touch(one, two)]


def beyond(figure):
    """Labels of ticks beyond the ends of their axis, which are not drawn."""
    labels = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        unseen = (tick for tick in axis.majorTicks if not low <= tick.get_loc() <= high)
        labels |= {text for tick in unseen for text in (tick.label1, tick.label2)}
    return labels


def _touch(one, two):
    return one.x0 < two.x1 and two.x0 < one.x1 and one.y0 < two.y1 and two.y0 < one.y1


def labels(axis):
    """Labels of an axis that lie within its limits."""
    low, high = axis.get_view_interval()
    return [text for tick, text in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            if low <= tick <= high and text.get_text()]  # fmt: skip


SOLVERS = ("fp", "mccfr", "cfr", "lcfr", "pcfr+", "dcfr", "cfr+")
AWKWARD = {
    "all end together": [1e-3] * 7,
    "two pairs": [0.06, 0.015, 1.4e-3, 1.0e-3, 5e-7, 3.4e-6, 2.9e-6],
    "at the edge": [1e-6, 1.1e-6, 1.2e-6, 1.3e-6, 5.0, 5.1, 5.2],
    "spread": [10.0**-k for k in range(7)],
}


@pytest.mark.parametrize("ends", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.some(2)
def test_names_at_the_ends_of_lines_stand_apart(ends):
    lines = tuple(Line(name, (1.0, 50.0 + k), (6.0, ends[k]), (0, 0)) for k, name in enumerate(SOLVERS))
    panels = (FigurePanel("one", lines, (("target", 2e-4),)), FigurePanel("two", lines[:3]))
    assert covered(curves_plot(Curves("x", "A title", "gap, chips", panels, log_y=True, note="A note."))) == []


RUNS = {
    "one point": [(1, 0.01, 4.1)],
    "short": [(k, 0.01 * k, 4.0 / k) for k in range(1, 21)],
    "resumed": [(1000 + 10 * k, 10 + 0.1 * k, 1e-3 - 1e-5 * k) for k in range(10)],
    "flat": [(10**k, 10.0**k, 0.5) for k in range(1, 6)],
    "long": [(2**k, 1e-4 * 2**k, 4.0 / 2**k) for k in range(30)],
}


@pytest.mark.parametrize("points", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("until", [None, 3.9, 1e-4])
@pytest.mark.some(6)
def test_a_run_of_any_length_has_ticks_and_units(points, until):
    figure = convergence_plot([Evaluation(*point, [0.0, 0.0]) for point in points], "leduc", "cfr+", until)
    assert covered(figure) == []
    axes = figure.axes[0]
    assert len(labels(axes.xaxis)) >= 2 and len(labels(axes.yaxis)) >= 2
    assert axes.get_ylabel() == "NashConv, chips" and axes.get_xlabel() == "iterations"
    assert any(text.get_text() == "time" for text in figure.findobj(Text))


def test_an_exact_solver_is_told_in_words():
    looks = [Evaluation(0, 0.0, 4.7, [0.0, 0.0]), Evaluation(1, 0.2, 1.1e-15, [-0.0856, 0.0856])]
    figure = convergence_plot(looks, "matrix(payoffs=[[1, 0]])", "lp", one_step=True)
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "in one step" in said and "1.10e-15 payoff units" in said and covered(figure) == []


def test_names_of_a_heat_map_stand_apart():
    names = [f"a rather long name of a strategy {k}" for k in range(3)]
    matrix = [[0.0 if i == j else 1000.0 * (i - j) for j in range(3)] for i in range(3)]
    side = (("average", [1.0, 2.0, 3.0]), ("exploitability", [1000.0, 20.0, 3.0]))
    assert covered(heat_map(Heat("x", "A title", names, matrix, "milli-antes", side))) == []


def test_a_cell_that_is_not_known_is_empty():
    heat = Heat("x", "A title", ("a", "b", "c"), [[None, 9.9, None], [-9.9, None, None], [None] * 3], "mb/h")
    assert picture_of(json.loads(json.dumps(picture_data(heat), allow_nan=False))) == heat
    axes = heat_map(heat).axes[0]
    assert [text.get_text() for text in axes.texts if "9.9" in text.get_text()] == ["9.9", "-9.9"]
    assert axes.images[0].get_array().mask.tolist() == [[True, False, True], [False, True, True], [True] * 3]
    assert not [text for text in axes.texts if "nan" in text.get_text()]


def test_ticks_and_their_numbers():
    assert log_ticks(0.8, 1200) == [1, 10, 100, 1000]
    assert log_ticks(0.9, 30) == [1, 2, 5, 10, 20]
    assert len(log_ticks(1000, 1090)) >= 2 and len(log_ticks(3.1, 3.2)) >= 2
    assert len(log_ticks(1e-15, 1.0)) <= 10
    assert [short(x) for x in (1e-5, 1e-4, 0.05, 1, 1000, 1050, 2e6)] == [
        "1e-5", "0.0001", "0.05", "1", "1k", "1.05k", "2M",
    ]  # fmt: skip
    assert unit_of("leduc(players=3)") == "chips" and unit_of("goofspiel") == "payoff units"


LINES = tuple(Line(name, (1.0, 10.0, 100.0), (3.0, 2.0, 1.0), (0.1, 0.1, 0.1)) for name in SOLVERS)
DOTS = tuple(Dot(f"strategy {k}", group, 100 * k, 10.0 * k, 10.0 * k - 5, 10.0 * k + 5, 12.0 if k == 1 else None,
                 k == 3)
             for group in ("null", "JQ-K") for k in range(1, 4))  # fmt: skip
KINDS = {
    "four panels": Curves("x", "A title", "NashConv, chips", tuple(FigurePanel(f"game {k}", LINES) for k in range(4)),
                          log_y=True, note="A note."),
    "few values": Curves("x", "A title", "NashConv, chips", (FigurePanel("", LINES[:2], (("even", 1.5),)),),
                         log_x=False, ticks=(1.0, 10.0, 100.0)),
    "strategies": Scatter("x", "A title", "milli-antes per hand", DOTS),
    "falling": Curves("x", "A title", "times as long", (FigurePanel("one", LINES, marks=(("exact", 2.0), ("b", 9.0))),
                                                        FigurePanel("two", LINES)), log_y=True, falling=True),
    "times": Times("x", "A title", "time", (Duration("a program", "goal 1", 2.0, "2 s"),
                                            Duration("a program", "goal 2", 3.0, "3 s"),
                                            Duration("another", "goal 1", 1.6e7, "6 months"))),
    "crosstable": Heat("x", "A title", ("a", "b"), [[0.0, 1.0], [-1.0, 0.0]], "mb/h", (("average", [1.0, -1.0]),)),
}  # fmt: skip


@pytest.mark.parametrize("picture", KINDS.values(), ids=KINDS)
def test_a_picture_is_drawn_again_from_its_data(picture, tmp_path):
    """Data are plain, no text covers another, and a page of 700 pixels shrinks it to half at most."""
    assert picture_of(json.loads(json.dumps(picture_data(picture)))) == picture
    draw(picture, tmp_path / "x.png")
    plot = {Curves: curves_plot, Scatter: size_plot, Heat: heat_map, Times: times_plot}[type(picture)]
    figure = plot(picture)
    assert covered(figure) == [] and figure.get_figwidth() * figure.get_dpi() <= 1400
    said = [text.get_text() for text in figure.findobj(Text)]
    assert "A title" in said


def test_panels_stand_two_and_two():
    places = [axes.get_position() for axes in curves_plot(KINDS["four panels"]).axes]
    assert len({round(place.x0, 3) for place in places}) == len({round(place.y0, 3) for place in places}) == 2
    ticks = curves_plot(KINDS["few values"]).axes[0].get_xticks()
    assert list(ticks) == [1.0, 10.0, 100.0], "an axis that counts has no fractions"


# The README's picture, and those of pages


def test_the_picture_of_the_readme_is_drawn_from_its_data(tmp_path):
    """It has kibitz and two peers, one thread each, evaluated alike; its text says on what machine and with what."""
    data = json.loads((ROOT / "docs/leduc.json").read_text())
    figure = curves_plot(pictures.picture(data))
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    assert covered(figure) == []
    assert {each["program"] for each in data["curves"]} == {"kibitz", "OpenSpiel", "LiteEFG"} == set(data["versions"])
    for name, version in data["versions"].items():
        assert f"{name} {version}" in said.replace("\n", " ")
    assert data["machine"]["architecture"] in said and "seconds" in said and "NashConv, chips" in said
    for each in data["curves"]:
        units, wall, cpu, gaps = zip(*each["points"], strict=True)
        assert list(units) == sorted(units) and list(cpu) == sorted(cpu) and min(gaps) >= -1e-9
        assert cpu[-1] <= 1.1 * wall[-1], "one thread"
        assert each["exact"] == (len(units) == 1)
    (tmp_path / "x.json").write_text(json.dumps(data))
    pictures.main([str(tmp_path / "x.png"), "--draw"])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_is_evaluated_at_the_same_units_in_each_run():
    def work(anew=False):
        done = []
        return peers.TimedWork("x", done.append, lambda: 1 / sum(done), anew)

    first, second = (peers.curve(work(), 10.0, 1e-3) for _ in range(2))
    assert [point[0] for point in first] == [point[0] for point in second] and first[-1][3] <= 1e-3
    assert len(peers.curve(work(anew=True), 10.0, 0.0)) == 1
    best = pictures.fastest([[(1, 0.2, 0.1, 2.0), (2, 0.3, 0.3, 1.0)], [(1, 0.1, 0.1, 2.0)]])
    assert best == [(1, 0.1, 0.1, 2.0)]


def test_our_part_of_the_picture_is_measured():
    measured = pictures.own("cfr+", 0.01)
    assert measured["curve"][-1][0] > measured["curve"][0][0] == 1 and measured["curve"][-1][3] < 5
    assert len(pictures.own("lp", 0.01)["curve"]) == 1


PAGES = sorted((ROOT / "docs").glob("*/data.json"))


def test_pictures_of_tables_say_what_the_tables_say():
    """Some pictures are made from a table of their page: they are those of the table that is stored now."""
    from kibitz.papers import sandholm_egt, sandholm_gs3, sandholm_rhode_island, sandholm_tournaments

    def stored(name, start, at=0):
        paper = json.loads((ROOT / "docs" / name / "data.json").read_text())["papers"][0]
        sheets = [sheet for sheet in paper["sheets"] if sheet["title"].startswith(start)]
        picture = {key: value for key, value in paper["pictures"][at].items() if key != "file"}
        return picture_of(picture), sheets

    picture, (sheet,) = stored("sandholm_egt", "Time to a target")
    assert picture == sandholm_egt.times_picture(sheet["rows"])
    picture, (sheet,) = stored("sandholm", "Iterations to a target", at=1)
    assert picture == sandholm_rhode_island.targets_picture(sheet["rows"])
    for name in ("sandholm_gs3", "sandholm_gs3_cores"):
        picture, (sheet,) = stored(name, "Time to a target")
        assert picture == sandholm_gs3.times_picture(sheet["rows"])
    picture, sheets = stored("sandholm_tournaments", "tournament(")
    assert picture == sandholm_tournaments.epsilon_picture([(each["title"], each["rows"]) for each in sheets[::-1]])
    picture, (sheet,) = stored("toepen_full", "Points per hand")
    rows = {row[0]: row for row in sheet["rows"]}
    cells = (*rows["outlook: the blueprint"][2:4], rows["rule of thumb"][3])
    assert [float(cell.split()[0]) for cell in cells] == [*picture.matrix[0][1:], picture.matrix[1][2]]


def committed() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.png"))


def test_each_picture_of_the_documents_is_shown_and_not_too_wide():
    """A page shows a picture 700 pixels wide: one of more than 1,600 pixels has text that nobody can read there."""
    assert len(committed()) > 20
    shown = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]:
        targets = re.findall(r"\]\(([^)#:\s]+\.png)\)", page.read_text(encoding="utf-8"))
        shown |= {(page.parent / target).resolve() for target in targets}
    for path in committed():
        width = int.from_bytes(path.read_bytes()[16:20], "big")  # of the header of a PNG
        assert width <= 1600, f"{path} is {width} pixels wide"
        assert path.resolve() in shown, f"{path} is on no page"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.parent.name)
def test_stored_pictures_can_be_drawn(page):
    """Those that have their data: no text covers another."""
    plots = {Curves: curves_plot, Scatter: size_plot, Heat: heat_map, Times: times_plot, FigurePoints: points_plot}
    for paper in json.loads(page.read_text())["papers"]:
        for data in paper.get("pictures", ()):
            if "kind" in data:
                picture = picture_of({key: value for key, value in data.items() if key != "file"})
                assert covered(plots[type(picture)](picture)) == [], data["file"]
