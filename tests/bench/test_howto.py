"""docs/howto: the code of each page runs and says what the text says, and its commands print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import howto
import pytest

SLOW = {"holdem", "stitch"}  # pages of more than ten seconds
WITHOUT_CODE = {"ui"}


def marked(page: Path) -> object:
    return pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else [])


@pytest.mark.parametrize("page", [marked(page) for page in howto.PAGES if page.stem not in WITHOUT_CODE])
def test_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "```python" in text and text.count("assert ") >= 2
    if "import_game" in page.stem:
        pytest.importorskip("pyspiel")
    now = howto.run(page)
    assert howto.words(now) == howto.words(text), f"`python tests/howto.py {page.stem}` writes what it prints now"


@pytest.mark.parametrize("page", howto.PAGES, ids=lambda page: page.stem)
def test_pages_are_short_and_listed(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120 and text.startswith("# ")
    index = (howto.FOLDER.parent / "howto.md").read_text(encoding="utf-8")
    assert f"(howto/{page.name})" in index and re.search(rf"^howto/{page.stem}$", index, re.MULTILINE)


def test_a_page_is_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "Save it as `some.game`:\n\n```game\nGAMEDEF\n```\n\n```python\nx = 1\n```\n\n```python\n"
        "assert x and open('some.game').read() == 'GAMEDEF\\n'\n```\n\n"
        "```console\n$ kibitz solvers | head -1\nold\n$ kibitz games | head -1\n```\n\nEnd.\n"
    )
    now = howto.run(page)
    assert now.count("name ") == 2 and "old" not in now and now.endswith("End.\n") and now.count("```") == 8
    assert howto.words("in 0.1 s: 3.5e-04 of 12") == []
    page.write_text("```console\n$ kibitz solve no_such_game\n```\n")
    with pytest.raises(AssertionError, match="no_such_game"):
        howto.run(page)
