"""The tutorial notebook: run its cells, and store what they print and show.

    python tests/notebook.py     run docs/tutorial.ipynb and write its outputs into it

Cells run here as in a notebook, without Jupyter: the value of the last line is shown as HTML, a picture or text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def execute(cells: list[dict[str, Any]], names: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, in the format of notebooks. The names are those that the cells share."""
    outputs = []
    for number, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), 1):
        tree = ast.parse("".join(cell["source"]))
        if isinstance(last := tree.body[-1], ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], last.value)
        names["_"] = None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.fix_missing_locations(tree), f"cell {number}", "exec"), names)
        made: list[dict[str, Any]] = []
        if text := printed.getvalue():
            made.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
        if names["_"] is not None:
            data = shown(names["_"])
            made.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        outputs.append(made)
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """A value in the ways in which a notebook can show it."""
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
        data["text/html"] = html.splitlines(keepends=True)
    if hasattr(value, "savefig"):  # a figure of matplotlib
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=72, bbox_inches="tight", metadata={"Software": None})
        data["image/png"] = base64.b64encode(picture.getvalue()).decode()
    return data


def main() -> None:
    """Run the notebook and store its outputs."""
    import matplotlib

    matplotlib.use("Agg")
    page = json.loads(PAGE.read_text(encoding="utf-8"))
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        outputs = execute(page["cells"], {"__name__": "__main__"})
        os.chdir(home)
    code = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    for number, (cell, made) in enumerate(zip(code, outputs, strict=True), 1):
        cell |= {"outputs": made, "execution_count": number}
    PAGE.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{PAGE}: {PAGE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
