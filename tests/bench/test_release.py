"""A release can be cut: both archives are built, the wheel is installed into an empty environment and works there.

Nothing is downloaded. The steps are those of `make release` (tests/release.py).
"""

from __future__ import annotations

import re
import shutil
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
import release

import kibitz

ROOT = release.ROOT
BY_HAND = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]


def major(package: str) -> int:
    """The first number of a package's version; 0 if it is not here."""
    try:
        return int(metadata.version(package).split(".")[0])
    except metadata.PackageNotFoundError:
        return 0


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive of this checkout."""
    if major("build") < 1 or major("setuptools") < 77:
        pytest.skip("`make lint` adds build and setuptools 77 to the environment")
    if not (ROOT / ".git").exists():
        pytest.skip("git says which files belong to a release, and this is no checkout")
    work = tmp_path_factory.mktemp("release")
    return release.built(work / "dist", work)


def test_archives_are_complete(archives: tuple[Path, Path]) -> None:
    assert release.problems(*archives) == []
    names, sources = release.in_wheel(archives[0]), release.in_source_archive(archives[1])
    for name in ("py.typed", "web/static/index.html", "web/static/app.js", "poker/rules/definitions/leduc.game"):
        assert f"kibitz/{name}" in names
    assert {"Makefile", "CHANGELOG.md", "tests/naive.py", "docs/results.json"} <= sources
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


def test_a_missing_file_is_noticed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, source = archives
    without = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(without, "w") as cut:
        for name in whole.namelist():
            if not name.endswith("index.html"):
                cut.writestr(name, whole.read(name))
        cut.writestr("tests/naive.py", "")
    found = ["the wheel has no kibitz/web/static/index.html", "the wheel has tests/naive.py"]
    assert release.problems(without, source) == found


def test_the_wheel_describes_itself(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[0]) as wheel:
        (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
        about = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
        assert "kibitz = kibitz.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    assert (about["Name"], about["Version"]) == ("kibitz", kibitz.__version__)
    assert (about["License-Expression"], about["Requires-Python"]) == ("MIT", ">=3.11")


def test_the_installed_wheel_works(archives: tuple[Path, Path], tmp_path: Path) -> None:
    python = release.installed(archives[0], tmp_path / "environment")
    outputs = release.tried(python, tmp_path / "empty")
    assert outputs["--version"] == f"kibitz {kibitz.__version__}\n"
    assert "leduc" in outputs["games"] and "rhode_island" in outputs["games"]
    assert "NashConv" in outputs["demo"]
    saved = {path.name for path in (tmp_path / "empty" / "runs" / "demo").iterdir()}
    assert {"leduc.png", "leduc.profile"} <= saved


def test_versions_must_agree(tmp_path: Path) -> None:
    assert release.version_of() == kibitz.__version__
    (tmp_path / "kibitz").mkdir()
    for name in ("kibitz/__init__.py", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    citation = tmp_path / "CITATION.cff"
    citation.write_text(citation.read_text().replace(kibitz.__version__, "0.0.9"))
    with pytest.raises(SystemExit, match=r"but CITATION\.cff has no line"):
        release.version_of(tmp_path)


def test_a_failed_command_shows_its_output(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"(?s)error: ls nowhere.*nowhere"):
        release.output_of(["ls", "nowhere"], tmp_path)


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile, without the folder of programs."""
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return [line.strip().removeprefix("$(BIN)/") for line in lines.splitlines()]


def test_hooks_run_what_lint_runs() -> None:
    """As local hooks: nothing is fetched from anywhere."""
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"entry: \.venv/bin/(.+)", text) == recipe("lint")
    assert re.findall(r"repo: (.+)", text) == ["local"] and "://" not in text


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.name)
def test_links_and_files_are_there(path: Path) -> None:
    text = path.read_text()
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", text):
        assert (ROOT / target).exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", (ROOT / target).read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}, anchor
    if path.name != "CHANGELOG.md":
        for name in re.findall(r"`((?:tests|kibitz|docs)/[\w/.]+)`", text):
            assert (ROOT / name.replace("NAME", "stitching")).exists(), name


def test_targets_of_make_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    targets = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert {"quick", "test", "release"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target


def test_forms_for_reports_can_be_read() -> None:
    yaml = pytest.importorskip("yaml")
    for name in ("bug_report", "feature_request"):
        form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
        assert form["name"] and form["description"] and len(form["body"]) <= 4
        for field in form["body"]:
            assert field["type"] in ("textarea", "input") and field["attributes"]["label"]
        assert any(field.get("validations", {}).get("required") for field in form["body"])
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["id"] for hook in hooks] == ["ruff", "mypy"]
