"""Which sources compiled code depends on."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from kibitz.core import closure
from kibitz.core.closure import ROOT, ModuleSource


def named(path: Path) -> str:
    return ".".join(("kibitz", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


KIBITZ = [ModuleSource(named(path), str(path)) for path in sorted(ROOT.rglob("*.py"))]


def parsed(text: str, package: str, indented: bool) -> set[str]:
    """The slow twin: by Python's own parser."""
    tree = ast.parse(text)
    names: set[str] = set()
    for node in ast.walk(tree) if indented else tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            above = parts[: len(parts) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names |= {source} | {f"{source}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("indented", [False, True])
def test_every_import_that_the_parser_sees_is_found(indented: bool) -> None:
    for source in KIBITZ:
        text = Path(source.file).read_text()
        found = set(closure.imported(text, source.package, indented))
        assert parsed(text, source.package, indented) <= found, source.name


@pytest.mark.parametrize(
    "text",
    [
        "import a", "import a, b.c as d", "import a; import b", "x = 1; from a import b",
        "from a import (b,\n  c as d, # e\n)",
        "from a import b, \\\n    c", "if 1:\n    import a", "try:\n\tfrom .a import b\nexcept ImportError: import c",
        "from . import a", "from .. import a", "from ..a.b import c", "def f():\n    import a.b", "from a import *",
        "from\ta  import   b", "import a\\\n, b",
    ],
)  # fmt: skip
def test_all_ways_to_import(text: str) -> None:
    assert parsed(text, "p.q", True) <= {*closure.imported(text, "p.q"), "a.*"}


def test_the_closure_of_a_kernel_is_what_it_imports() -> None:
    names = set(closure.closure(next(each for each in KIBITZ if each.name == "kibitz.poker.exact.kernels.cfr")))
    assert {"kibitz.poker.exact.kernels.cfr", "kibitz.poker.exact.kernels.ends", "kibitz.core.jit"} <= names
    assert not {name for name in names if "toepen" in name or "solvers" in name}


def test_kernels_import_at_the_margin_alone() -> None:
    """What a function imports is not seen in kibitz's own sources, and compiled code could not use it."""
    for source in KIBITZ:
        text = Path(source.file).read_text()
        if ".kernels" in source.name or source.name in ("kibitz.core.jit", "kibitz.core.vectors"):
            assert {name for name in parsed(text, source.package, True) if name.startswith("kibitz")} == {
                name for name in parsed(text, source.package, False) if name.startswith("kibitz")
            }, source.name


def test_neighbours_packages_and_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "main.py": "import numpy, json, one\nfrom pack import two\nfrom pack.deep.three import x\nimport nowhere",
        "one.py": "import main", "pack/__init__.py": "", "pack/two.py": "from . import four", "pack/four.py": "",
        "pack/deep/three.py": "from ..four import y\nfrom kibitz.core import jit",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    source = ModuleSource("__main__", str(tmp_path / "main.py"))
    names = closure.closure(source)
    assert [name for name in names if not name.startswith("kibitz")] == [
        "__main__", "main", "one", "pack", "pack.deep.three", "pack.four", "pack.two"]  # fmt: skip
    assert "kibitz.core.jit" in names
    before = closure.digest([source])
    (tmp_path / "pack" / "four.py").write_text("y = 1")
    assert closure.digest([source]) != before, "a file that was edited is read again"
