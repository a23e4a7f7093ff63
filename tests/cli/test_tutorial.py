"""The tutorial notebook runs from top to bottom, and says what it shows."""

from __future__ import annotations

import json
import re

import notebook
import pytest

import kibitz

CELLS = json.loads(notebook.PAGE.read_text(encoding="utf-8"))["cells"]


def test_it_is_a_notebook_with_outputs():
    """What a reader sees without running it: an output of each code cell, without paths of a machine."""
    text = notebook.PAGE.read_text(encoding="utf-8")
    page = json.loads(text)
    assert (page["nbformat"], page["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in page["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in page["cells"]:
        wanted = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            wanted |= {"outputs", "execution_count"}
            assert cell["outputs"] and cell["execution_count"]
        assert set(cell) == wanted
    assert len(text) < 200_000 and not re.search(r"/tmp|/home|/work|/Users", text)


def words(outputs: list[dict]) -> list[str]:
    """The words of outputs, without figures and pictures."""
    texts = [each.get("text") or each["data"].get("text/html") or each["data"]["text/plain"] for each in outputs]
    return re.findall(r"[A-Za-z]{3,}", "".join("".join(text) for text in texts))


def test_the_cells_run_in_order(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    outputs = notebook.execute(CELLS, names)
    pyplot.close("all")
    game = names["game"]
    assert kibitz.nash_conv(game, names["profile"]) <= 1e-3 and names["again"] == names["profile"]
    # What the text says of the figures.
    assert names["base"].meta["abstract_nash_conv"] <= 1e-3 < 100e-3 < kibitz.nash_conv(game, names["base"])
    gaps = [kibitz.nash_conv(game, names[name]) for name in ("base", "stitched", "dynamic")]
    assert gaps[0] > gaps[1] > 0 and gaps[0] > gaps[2] > 0
    assert not list(tmp_path.iterdir())
    stored = [cell["outputs"] for cell in CELLS if cell["cell_type"] == "code"]
    for now, before in zip(outputs, stored, strict=True):
        assert words(now) == words(before), "`python tests/notebook.py` stores what the cells show now"
        assert [each["output_type"] for each in now] == [each["output_type"] for each in before]
    assert sum("image/png" in each.get("data", {}) for made in stored for each in made) == 2
