"""Pictures: no text covers another, short axes have ticks, exact solvers are told in words."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.text import Text

from kibitz.bench.pictures import race_plot
from kibitz.report.curves import curves_plot
from kibitz.report.figures import Curves, FigurePanel, Heat, Line
from kibitz.report.heat import heat_map
from kibitz.report.plot import convergence_plot, log_ticks, short, unit_of
from kibitz.solvers.result import Evaluation


def covered(figure):
    """Pairs of texts of a figure that intersect."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = Text.get_window_extent(text, renderer)  # an annotation's own would have its arrow in it
            boxes.append((text.get_text(), box))
    return [(a, b) for (a, one), (b, two) in combinations(boxes, 2) if _touch(one, two)]


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
    curves = {name: [(2e-4, 6.0), (2.0, end)] for name, end in zip(SOLVERS, ends, strict=True)}
    figure = race_plot(curves, 0.2, "Leduc hold'em: NashConv over time", "chips")
    assert covered(figure) == []
    assert "seconds" in figure.axes[0].get_xlabel() and "chips" in figure.axes[0].get_ylabel()
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


def test_ticks_and_their_numbers():
    assert log_ticks(0.8, 1200) == [1, 10, 100, 1000]
    assert log_ticks(0.9, 30) == [1, 2, 5, 10, 20]
    assert len(log_ticks(1000, 1090)) >= 2 and len(log_ticks(3.1, 3.2)) >= 2
    assert len(log_ticks(1e-15, 1.0)) <= 10
    assert [short(x) for x in (1e-5, 1e-4, 0.05, 1, 1000, 1050, 2e6)] == [
        "1e-5", "0.0001", "0.05", "1", "1k", "1.05k", "2M",
    ]  # fmt: skip
    assert unit_of("leduc(players=3)") == "chips" and unit_of("goofspiel") == "payoff units"
