"""Documents: their code runs, their links lead somewhere, and what is generated is up to date."""

import re
from pathlib import Path

import pytest

import kibitz

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks(ROOT / "README.md"):
        exec(compile(block, "README.md", "exec"), names)
    assert kibitz.nash_conv(names["game"], names["profile"]) <= 1e-3
    assert set(names["profile"][0, "Kh:"]) == {"call", "raise"}


def test_the_example_game_is_solved(tmp_path, monkeypatch):
    """docs/own_game.md, as a newcomer follows it: save the first block as fox.py, run the second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    rules, use, *_ = blocks(ROOT / "docs/own_game.md")
    (tmp_path / "fox.py").write_text(rules)
    names: dict = {}
    exec(compile(use, "own_game.md", "exec"), names)
    game = kibitz.game(f"{tmp_path}/fox.py:FoxAndHen(noise=0.2)")
    exact = kibitz.solve(game, "lp")
    assert kibitz.nash_conv(game, exact) < 1e-9
    assert kibitz.value(game, names["solution"])[0] == pytest.approx(kibitz.value(game, exact)[0], abs=1e-3)
    assert len(rules.splitlines()) <= 60


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_solver_and_game_has_a_line_and_a_test():
    from kibitz.games import GAMES
    from kibitz.solvers import SOLVERS

    documents = "\n".join(p.read_text() for p in DOCUMENTS)
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    for name in [*GAMES, *SOLVERS]:
        assert name in documents, f"{name} is in no document"
        assert re.search(rf"\b{re.escape(name)}", tests), f"{name} is in no test"


def test_the_readme_leads_to_every_document():
    readme = (ROOT / "README.md").read_text()
    linked = set(re.findall(r"\]\(([^)#:]+)\)", readme))
    wanted = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    wanted |= {"LICENSE", "CHANGELOG.md", "CITATION.cff"}
    assert wanted <= linked, wanted - linked
    assert readme.count("![") == 1, "one picture"


def test_version_and_licence_are_the_same_everywhere():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = dict(line.split(": ", 1) for line in (ROOT / "CITATION.cff").read_text().splitlines() if ": " in line)
    assert project["version"] == kibitz.__version__ == citation["version"]
    assert f"\n## {kibitz.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert project["license"] == citation["license"] == "MIT" and "MIT" in (ROOT / "LICENSE").read_text()
    (author,) = project["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text() and author["name"] in (ROOT / "CITATION.cff").read_text()
