"""The tutorial notebook runs from top to bottom, and says what it shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import kibitz

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def cells(kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(PAGE.read_text())["cells"] if cell["cell_type"] == kind]


def test_it_is_a_notebook_without_outputs():
    page = json.loads(PAGE.read_text())
    assert (page["nbformat"], page["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in page["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in page["cells"]:
        wanted = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            wanted |= {"outputs", "execution_count"}
            assert cell["outputs"] == [] and cell["execution_count"] is None
        assert set(cell) == wanted


def test_the_cells_run_in_order(capsys, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    shown = []
    for number, source in enumerate(cells("code")):
        tree = ast.parse(source)
        if isinstance(last := tree.body[-1], ast.Expr):  # a notebook shows it below the cell
            tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], last.value)
        names["_"] = None
        exec(compile(ast.fix_missing_locations(tree), f"cell {number}", "exec"), names)
        if (value := names["_"]) is not None:
            pages = [getattr(value, name, lambda: None)() for name in ("_repr_html_", "_repr_png_", "__repr__")]
            assert any(pages)
            shown.append(value)
    pyplot.close("all")
    game = names["game"]
    assert kibitz.nash_conv(game, names["profile"]) <= 1e-3 and names["again"] == names["profile"]
    # What the text says of the figures.
    assert names["base"].meta["abstract_nash_conv"] <= 1e-3 < 100e-3 < kibitz.nash_conv(game, names["base"])
    gaps = [kibitz.nash_conv(game, names[name]) for name in ("base", "stitched", "dynamic")]
    assert gaps[0] > gaps[1] > 0 and gaps[0] > gaps[2] > 0
    out = capsys.readouterr().out
    assert "exploitability" in out and len(shown) >= 7 and not list(tmp_path.iterdir())
