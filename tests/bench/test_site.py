"""The site: its pages' examples run, links out of docs/ are led on, and Sphinx builds it without a warning."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", DOCS / "file_formats.md", *sorted((DOCS / "explanation").glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, path.name, "exec"), names)


@pytest.fixture(scope="module")
def conf():
    """docs/conf.py, which needs nothing of Sphinx to be imported."""
    spec = importlib.util.spec_from_file_location("site_conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_out_of_docs_lead_to_pages_and_downloads(conf):
    page = DOCS / "architecture.md"
    for text, expected in [
        ("[forms](../kibitz/forms/README.md)", "[forms](packages/forms.md)"),
        ("[start](../README.md#python)", "[start](index.md)"),
        ("[words](glossary.md#seat)", "[words](glossary.md#seat)"),
        ("[licence](../LICENSE)", "[licence](path:../LICENSE)"),
        ("[games](../examples/)", "games"),
        ("[gone](../gone.md)", "[gone](../gone.md)"),
        ("![picture](leduc.png)", "![picture](leduc.png)"),
        ("[away](https://example.org)", "[away](https://example.org)"),
        ("```\n[licence](../LICENSE)\n```", "```\n[licence](../LICENSE)\n```"),
    ]:
        assert conf.relinked(text, page, DOCS) == expected
    included = conf.relinked("[it](docs/howto/solve.md)", ROOT / "CHANGELOG.md", DOCS / "packages")
    assert included == "[it](../howto/solve.md)"


def test_every_readme_of_a_package_has_a_page(conf):
    assert {*ROOT.glob("kibitz/*/README.md")} <= set(conf.pages())


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(package)
    folders = ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "site")]
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", *folders],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    site = tmp_path / "site"
    front = (site / "index.html").read_text()
    for part in ("tutorials", "howto", "reference", "explanation"):
        assert f'href="{part}.html"' in front
    assert "search.html" in front
    assert "treeplex" in (site / "searchindex.js").read_text(), "search knows the words of pages"
    assert "theme-toggle" in front, "light and dark"
    for page in site.rglob("*.html"):
        fetched = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//[^>]*>", page.read_text())
        assert not fetched, f"{page.name} needs the network: {fetched[:3]}"
