"""docs/poker.md: the file is a game, and its code runs and says what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "poker.md"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("river.game").write_text(blocks("game")[0])
    names: dict[str, object] = {}
    code = blocks("python")
    assert len(code) == 10 and sum(block.count("assert") for block in code) >= 6
    for block in code:
        exec(compile(block, str(PAGE), "exec"), names)
