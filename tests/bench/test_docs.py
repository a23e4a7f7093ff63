"""Documents: their code runs, their links lead somewhere, and what is generated is up to date."""

import re
from pathlib import Path

import pytest

import kibitz

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for folder in ("docs", "docs/explanation", "docs/howto", "docs/results")
    for path in sorted((ROOT / folder).glob("*.md"))
]
DOCUMENTS = [ROOT / "README.md", *PAGES]


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
    for target in links(path):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)#:]+)\)", path.read_text())


def test_links_are_found():
    """There are some to follow, pictures among them."""
    assert len(links(ROOT / "README.md")) > 3
    assert "results/index.md" in links(ROOT / "docs/papers.md")
    assert any(target.endswith(".png") for target in links(ROOT / "docs/stitching.md"))


def test_every_solver_and_game_has_a_line_and_a_test():
    from kibitz.games import GAMES
    from kibitz.solvers import SOLVERS

    documents = "\n".join(p.read_text() for p in DOCUMENTS)
    others = [p for p in (ROOT / "tests").rglob("test_*.py") if p.name != Path(__file__).name]  # here are examples
    tests = "\n".join(p.read_text() for p in others)
    for name in [*GAMES, *SOLVERS]:
        assert in_code(name, documents), f"{name} is in no document"
        assert in_quotes(name, tests), f"{name} is in no test"


def in_code(name: str, text: str) -> bool:
    """Whether a document has the name as a word of code: between backticks, or in a block."""
    blocks = re.findall(r"```.*?```", text, re.S)
    words = re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.S))
    return any(re.search(rf"(?<![\w+]){re.escape(name)}(?![\w+])", code) for code in (*blocks, *words))


def in_quotes(name: str, text: str) -> bool:
    """Whether a test has the name as a text of its own, or with parameters."""
    return re.search(rf"[\"']{re.escape(name)}[\"'(]", text) is not None


def test_names_are_found_as_words():
    assert in_code("br", "`kibitz solve leduc --solver br`") and in_code("cfr", "```\ncfr  plain\n```")
    for text in ("`break`", "br", "`abr`", "```\nbreak\n``` br"):
        assert not in_code("br", text), text
    assert not in_code("cfr", "`cfr+` and `pcfr`") and not in_code("cfr+", "`pcfr+`")
    assert in_quotes("br", "solve(game, 'br')") and in_quotes("lp", '"lp(x=1)"')
    assert not in_quotes("br", "break 'abr' br") and not in_quotes("cfr", '"cfr+"')


def test_the_readme_and_the_index_lead_to_every_document():
    """Every page is reached by links from the README or from the first page of the site."""
    reached: set[Path] = set()
    ahead = [ROOT / "README.md", ROOT / "docs/index.md"]
    while ahead:
        path = ahead.pop()
        if path not in reached and path.is_file():
            reached.add(path)
            ahead += [(path.parent / target).resolve() for target in links(path)] if path.suffix == ".md" else []
    wanted = {*DOCUMENTS, *(ROOT / name for name in ("LICENSE", "CHANGELOG.md", "CITATION.cff"))}
    assert wanted <= reached, wanted - reached
    assert (ROOT / "README.md").read_text().count("![") == 1, "one picture"


def test_version_and_licence_are_the_same_everywhere():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = dict(line.split(": ", 1) for line in (ROOT / "CITATION.cff").read_text().splitlines() if ": " in line)
    assert project["dynamic"] == ["version"], "it is read from kibitz/__init__.py (tests/bench/test_release.py)"
    assert kibitz.__version__ == citation["version"]
    assert f"\n## {kibitz.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert project["license"] == citation["license"] == "MIT" and "MIT" in (ROOT / "LICENSE").read_text()
    (author,) = project["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text() and author["name"] in (ROOT / "CITATION.cff").read_text()
