"""docs/endgames.md: its code runs and says what the text says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "endgames.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(code) == 3 and sum(block.count("assert") for block in code) == 6
    names: dict[str, object] = {}
    for block in code:
        exec(compile(block, str(PAGE), "exec"), names)
