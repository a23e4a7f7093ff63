"""`make quick`: which tests a change touches, in what order, and that nothing is left out in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import quick

FILES = {
    "kibitz/__init__.py": '_HOME = {"solve": "kibitz.solvers.run"}\n',
    "kibitz/solvers/run.py": "def solve():\n    from kibitz.deep import inner\n",
    "kibitz/deep/__init__.py": "",
    "kibitz/deep/inner.py": "from . import beside\nfrom importlib import import_module\n"
    'import_module(f"{__package__}.hidden")\n',
    "kibitz/deep/beside.py": "import os\n",
    "kibitz/deep/hidden.py": "",
    "kibitz/games/__init__.py": 'GAMES = {"leduc": ("kibitz.games.leduc:Leduc", "a game")}\n',
    "kibitz/games/leduc.py": "",
    "kibitz/web/__init__.py": "",
    "kibitz/web/app.py": 'STATIC = "static"\n',
    "kibitz/web/static/look.js": "",
    "tests/naive.py": "from kibitz.deep.beside import (\n    one,\n    two,\n)\n",
    "tests/test_inner.py": "import kibitz.deep.inner\ndef test_here():\n    pass\n",
    "tests/test_front.py": "import kibitz\ndef test_it():\n    kibitz.solve\n",
    "tests/test_games.py": 'def test_it():\n    play("leduc(players=3)")\n',
    "tests/test_twin.py": "from naive import one\n",
    "tests/papers/test_page.py": "from kibitz.web import app\n",
    "tests/test_nothing.py": "import os\n",
    "docs/page.md": "words\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small kibitz of its own, under git."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, who in (("NAME", "somebody"), ("EMAIL", "somebody@example.org")):
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_{name}", who)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


def git(where: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=where, check=True, capture_output=True)


def touched(tree: Path, *paths: str) -> list[tuple[int, str]]:
    sources = quick.Sources(tree)
    found = sources.nearest(set().union(*map(sources.of, paths)))
    return [(steps, path.name) for steps, path in found]


def test_the_nearest_come_first(tree: Path) -> None:
    assert touched(tree, "kibitz/deep/inner.py") == [(1, "test_inner.py"), (2, "test_front.py")]
    assert touched(tree, "kibitz/solvers/run.py") == [(1, "test_front.py")]
    assert touched(tree, "tests/test_nothing.py") == [(0, "test_nothing.py")]


def test_imports_in_functions_beside_and_by_name_count(tree: Path) -> None:
    for inner in ("beside", "hidden"):
        expected = {"test_inner.py", "test_front.py", *(["test_twin.py"] if inner == "beside" else [])}
        assert {name for _, name in touched(tree, f"kibitz/deep/{inner}.py")} == expected
    assert touched(tree, "kibitz/games/leduc.py") == [(1, "test_games.py")]
    assert touched(tree, "tests/naive.py") == [(1, "test_twin.py")]


def test_a_file_that_is_not_python_belongs_to_who_names_it(tree: Path) -> None:
    assert touched(tree, "kibitz/web/static/look.js") == [(1, "test_page.py")]
    assert touched(tree, "docs/page.md") == []
    (tree / "tests/test_nothing.py").write_text('PAGE = "docs/page.md"\n')
    assert touched(tree, "docs/page.md") == [(0, "test_nothing.py")]


def test_what_changed(tree: Path) -> None:
    assert quick.changed(None, tree) == []
    (tree / "kibitz/solvers/run.py").write_text("")
    (tree / "new.py").write_text("")
    assert quick.changed(None, tree) == ["kibitz/solvers/run.py", "new.py"]
    git(tree, "checkout", "-q", "-b", "other")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "more")
    assert quick.changed(None, tree) == ["kibitz/solvers/run.py", "new.py"]  # what main does not have
    assert quick.changed("HEAD", tree) == []
    with pytest.raises(SystemExit, match="error: git diff"):
        quick.changed("nowhere", tree)


def test_what_does_not_fit_is_named(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tree / "kibitz/deep/inner.py").write_text("")
    assert quick.main(["--seconds=0"], tree) == 0
    told = capfd.readouterr().out
    assert "1 changed files touch 2 of 6 test files" in told
    assert "tests/test_inner.py (1 imports away)" in told and "tests/test_front.py (2 imports away)" in told


def test_no_test_begins_late(tree: Path) -> None:
    """Those left are counted by file; a child, since pytest does not run in itself."""
    code = (
        "import sys, pytest, quick\nlimit = quick.Limit(0.0)\n"
        "assert pytest.main(['-q', '-p', 'no:cacheprovider', sys.argv[1]], plugins=[limit]) == 0\n"
        "print(dict(limit.left))"
    )
    words = ["-c", code, str(tree / "tests/test_inner.py")]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True, cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{Path(quick.__file__).parent}:{tree}"},
    )  # fmt: skip
    assert "{'tests/test_inner.py': 1}" in done.stdout


def test_here_every_module_of_kibitz_is_read() -> None:
    """On the real tree: a test that imports a module is one step away from it, and most modules touch some test."""
    sources = quick.Sources()
    assert sources.table["leduc"] == "kibitz.games.leduc" and sources.table["cfr+"] == "kibitz.solvers.cfr"
    near = {path.name for steps, path in sources.nearest({"kibitz.poker.endgames.phases"}) if steps == 1}
    assert {"test_phases.py", "test_help_examples.py"} <= near
    some = [name for name in sources.path if name.startswith("kibitz.")][::20]
    alone = [name for name in some if not sources.nearest({name})]
    assert len(some) > 8 and len(alone) < 0.2 * len(some), alone
