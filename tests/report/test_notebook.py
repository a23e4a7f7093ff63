"""What a person meets at a prompt or in a notebook: names, short reprs, tables, pictures, the progress bar."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from random_games import Nested, choice, end

import kibitz
from kibitz.core.errors import GameError
from kibitz.evaluate.crosstable import crosstable
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.solvers import RunOptions
from kibitz.solvers.progress import RunState, state
from kibitz.solvers.result import Evaluation
from kibitz.solvers.run import solve


@pytest.fixture(scope="module")
def kuhn():
    return solve("kuhn", "cfr+", iterations=30)


def test_dir_has_the_public_names():
    code = "import kibitz, sys; print(*dir(kibitz)); assert 'numba' not in sys.modules and 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    names = done.stdout.split()
    assert set(kibitz.__all__) <= set(names) and "__version__" in names
    assert not [name for name in names if name not in kibitz.__all__ and not name.startswith("__")]


def test_reprs_are_short(kuhn):
    history = solve("kuhn", "cfr", iterations=5).history
    tree = tree_of(kibitz.game("leduc"))
    poker = solve("poker(file=kuhn)", "cfr", iterations=1)
    things = [
        kuhn, kuhn.infosets, tree, form_of(tree), history, history[-1], poker, poker.infosets,
        kibitz.abstraction("leduc", "JQ.K"), kibitz.partition("leduc", "prefix(r, cr)"),
        crosstable("kuhn", {"a": kuhn, "b": kuhn}), kibitz.best_response("kuhn", kuhn, 0),
        kibitz.stitch.experts("leduc", solve("leduc", "cfr", abstraction="JQ.K", iterations=1), "prefix(r)"),
    ]  # fmt: skip
    for thing in things:
        assert len(repr(thing)) < 300 and repr(thing).count("\n") <= 1, repr(thing)[:300]
    assert repr(kuhn).startswith("<Profile of kuhn: 12 infosets, by cfr+, 30 iterations, NashConv 0.")
    assert repr(tree) == "<Tree of leduc: 9,457 histories, 936 infosets, 2 seats>"
    assert repr(history).startswith("<6 evaluations: iteration 5, NashConv ")
    assert "infosets" in repr(kuhn.replaced(kuhn.probabilities.copy())) and "NashConv" not in repr(
        kuhn.replaced(kuhn.probabilities.copy())
    )


class Cells(HTMLParser):
    """The text of the cells of a table, and the tags in it."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_tables_for_notebooks(kuhn):
    found = Cells(kuhn._repr_html_())
    assert found.tags == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.cells[:4] == ["seat", "infoset", "pass", "bet"] and "Q:pb" in found.cells
    assert f"{100 * kuhn[0, 'Q:pb']['bet']:.1f}%" in found.cells
    large = solve("leduc", "cfr", iterations=1)._repr_html_()
    assert large.count("<tr>") == 31 and "and 906 more" in large and "overflow:auto" in large
    many = solve("liars_dice(dice_sides=4)", "cfr", iterations=1)._repr_html_()
    assert Cells(many).cells[2] == "actions"
    for thing in (
        tree_of(kibitz.game("kuhn")), kibitz.abstraction("leduc", "JQ.K"), kibitz.partition("leduc", "prefix(r, cr)"),
        crosstable("kuhn", {"one": kuhn, "two": kuhn}),
    ):  # fmt: skip
        assert len(Cells(thing._repr_html_()).cells) > 4


def test_names_are_escaped():
    tree = tree_of(Nested(2, choice(0, "<script>alert(1)</script>", end(1, -1), end(0, 0))))
    infosets = replace(tree.infosets, actions=[("<b>", "&amp;")])
    page = Profile(infosets, np.array([0.5, 0.5]), {"game": "<i>", "solver": "<u>"})._repr_html_()
    assert Cells(page).tags == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<script>alert(1)</script>" in Cells(page).cells and "&amp;" in Cells(page).cells


def test_equality(kuhn, tmp_path):
    kuhn.save(tmp_path / "p")
    back = Profile.load(tmp_path / "p")
    assert back == kuhn and hash(back) == hash(kuhn)
    again = Profile(kuhn.infosets, np.array(kuhn.probabilities), {"solver": "else"})
    assert again == kuhn and len({again, kuhn, back}) == 1
    minus = Profile(kuhn.infosets, np.where(kuhn.probabilities == 0.0, -0.0, kuhn.probabilities))
    assert minus == kuhn and hash(minus) == hash(kuhn)
    changed = np.array(kuhn.probabilities)
    changed[:2] = 0.25, 0.75
    assert kuhn.replaced(changed) != kuhn
    renamed = replace(kuhn.infosets, labels=["x", *kuhn.infosets.labels[1:]])
    assert Profile(renamed, np.array(kuhn.probabilities)) != kuhn
    others = replace(kuhn.infosets, actions=[("p", "b")])
    assert Profile(others, np.array(kuhn.probabilities)) != kuhn
    twice = replace(kuhn.infosets, actions=kuhn.infosets.actions * 2, actions_of=1 - kuhn.infosets.actions_of)
    assert Profile(twice, np.array(kuhn.probabilities)) == kuhn
    poker = solve("poker(file=kuhn)", "cfr", iterations=1)
    for other in (None, 3, "kuhn", poker, solve("leduc", "cfr", iterations=1), kuhn.probabilities[0]):
        assert (kuhn == other) is False and (kuhn != other) is True
    assert poker == solve("poker(file=kuhn)", "cfr", iterations=1)


def test_plots(kuhn, tmp_path):
    figure = kuhn.plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["seat 0", "seat 1"]
    bars = [patch.get_width() for patch in figure.axes[0].patches if patch.get_width() == patch.get_width()]
    assert sum(bars) == pytest.approx(6)  # six infosets whose probabilities sum to one
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [label for label, _ in kuhn.items(0)]
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(kuhn.plot(seat=1, filter="K").axes) == 1
    bids = solve("liars_dice(dice_sides=4)", "cfr", iterations=1)
    heat = bids.plot(seat=0)
    image = heat.axes[0].get_images()[0].get_array()
    assert image.shape == (bids.infosets.seat_start[1], 9) and np.allclose(image.sum(axis=1), 1)
    heat.savefig(tmp_path / "heat.png")
    for words in ({"seat": 2}, {"filter": "Z"}):
        with pytest.raises(GameError, match="seat"):
            kuhn.plot(**words)


# Progress


def test_no_bar_in_scripts_and_one_if_asked(capfd):
    solve("kuhn", "cfr", iterations=50)
    assert capfd.readouterr() == ("", "")
    whole = solve("kuhn", "cfr", iterations=50, run=RunOptions(progress=True))
    out, err = capfd.readouterr()
    assert out == "" and "kuhn by cfr" in err and "iteration 50" in err and "NashConv" in err
    assert whole.sha256 == solve("kuhn", "cfr", iterations=50).sha256


class Page:
    """As much of IPython as a bar needs."""

    def __init__(self, monkeypatch, kernel=True):
        self.pages = []
        ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        shell = types.SimpleNamespace(kernel=object()) if kernel else types.SimpleNamespace()
        ipython.get_ipython = lambda: shell
        display.HTML = lambda text: text
        display.display = lambda page, display_id: (
            self.pages.append(page) or types.SimpleNamespace(update=self.pages.append)
        )
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)


def test_a_bar_in_notebooks(monkeypatch, capfd):
    page = Page(monkeypatch)
    solve("kuhn", "cfr", iterations=50)
    assert len(page.pages) >= 2 and 'value="1.0000"' in page.pages[-1] and "iteration 50" in page.pages[-1]
    shown = len(page.pages)
    solve("kuhn", "cfr", iterations=50, run=RunOptions(progress=False))
    base = solve("leduc", "cfr", abstraction="JQ.K", iterations=1, run=RunOptions(progress=False))
    kibitz.stitch.static("leduc", base, "prefix(r)", iterations=2)
    assert len(page.pages) == shown

    def stop(look):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(kibitz.Interrupted):
        solve("leduc", "cfr", abstraction="JQ.K", iterations=500, run=RunOptions(progress=stop))
    assert 'value="1.0000"' not in page.pages[-1]
    Page(monkeypatch, kernel=False)
    solve("kuhn", "cfr", iterations=5)
    assert capfd.readouterr() == ("", "")


def test_how_far_a_run_is():
    solver = types.SimpleNamespace(iteration=25)
    assert state(RunState(stop={"iterations": 100}, solver=solver), 1.0) == (0.25, "iteration 25, 1.0 s")
    history = [Evaluation(1, 0.0, 1.0, [0.0]), Evaluation(25, 1.0, 0.1, [0.0])]
    assert state(RunState(stop={"until": 0.01}, solver=solver, history=history), 1.0)[0] == pytest.approx(0.5)
    assert state(RunState(stop={"seconds": 4.0, "until": 0.0}, solver=solver, history=history), 3.0)[0] == 0.75
    assert state(RunState(), 0.0) == (0.0, "iteration 0, 0.0 s")
