"""`make release`: build the wheel and the source archive, and check that what was built works.

    python tests/release.py [--out DIR]

It works on a copy of the files that git knows, so nothing else can get into the archives. The wheel is built from the
source archive. It is then installed into an empty environment, where three commands are run in an empty folder. Nothing
is downloaded: the packages that kibitz depends on are those of the environment that runs this script.
`tests/bench/test_release.py` runs the same steps.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = (("--version",), ("games",), ("demo",))


def output_of(command: list[str | Path], folder: Path, environment: dict[str, str] | None = None) -> str:
    """What a command prints on stdout. If it fails, the end of what it printed is the error."""
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        words = " ".join(map(str, command))
        raise SystemExit(f"error: {words}\n{(run.stdout + run.stderr)[-3000:]}")
    return run.stdout


def files(root: Path = ROOT) -> list[str]:
    """The files of the repository: those that git knows, and new ones in its folders that git does not ignore.

    Other new files, such as a strategy that somebody saved here, do not belong to it.
    """
    known = {*output_of(["git", "ls-files", "-z"], root).split("\0")}
    folders = {name.partition("/")[0] for name in known if "/" in name}
    new = output_of(["git", "ls-files", "-z", "--others", "--exclude-standard"], root).split("\0")
    listed = known | {name for name in new if "/" in name and name.partition("/")[0] in folders}
    return sorted(name for name in listed if name and (root / name).is_file())


def uncommitted(root: Path = ROOT) -> list[str]:
    """What differs from the last commit, a line of `git status` each."""
    return output_of(["git", "status", "--porcelain"], root).splitlines()


def version_of(root: Path = ROOT) -> str:
    """The version, which is written in kibitz/__init__.py alone; two other files must agree with it."""
    (version,) = re.findall(r'^__version__ = "(.+)"$', (root / "kibitz/__init__.py").read_text("utf-8"), re.MULTILINE)
    for name, line in (("CITATION.cff", f"version: {version}"), ("CHANGELOG.md", f"## {version}")):
        if line not in (root / name).read_text("utf-8").splitlines():
            raise SystemExit(f"error: kibitz/__init__.py says version {version}, but {name} has no line {line!r}")
    return version


def built(out: Path, work: Path, root: Path = ROOT) -> tuple[Path, Path]:
    """Build both archives from a copy of the files: the paths of the wheel and of the source archive."""
    copy = work / "source"
    for name in files(root):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy / name)
    output_of([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, "."], copy)
    version = version_of(root)
    return out / f"kibitz-{version}-py3-none-any.whl", out / f"kibitz-{version}.tar.gz"


def in_wheel(path: Path) -> set[str]:
    """The names of the files in a wheel, those of its own description left out."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.partition("/")[0].endswith(".dist-info")}


def in_source_archive(path: Path) -> set[str]:
    """The names of the files in a source archive, without the folder that they are in."""
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


def problems(wheel: Path, source: Path, root: Path = ROOT) -> list[str]:
    """What is missing in the archives, and what should not be there."""
    known = {name for name in files(root) if not name.startswith(".git") or name.startswith(".github/")}
    package = {name for name in known if name.startswith("kibitz/") and not name.endswith(".md")}
    made = {"PKG-INFO", "setup.cfg"}
    extra = {name for name in in_source_archive(source) - known - made if not name.startswith("kibitz.egg-info/")}
    return [
        *(f"the wheel has no {name}" for name in sorted(package - in_wheel(wheel))),
        *(f"the wheel has {name}" for name in sorted(in_wheel(wheel) - package)),
        *(f"the source archive has no {name}" for name in sorted(known - in_source_archive(source))),
        *(f"the source archive has {name}" for name in sorted(extra)),
    ]


def outside() -> dict[str, str]:
    """The variables of the system, without those that lead to this checkout or to this environment."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: text for name, text in os.environ.items() if name not in hidden}


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment, without the network: the path of its Python.

    The folders of this environment's packages are added after the installation. Links to checkouts in them (editable
    installations) are not followed there, so `import kibitz` finds the wheel and nothing else.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    output_of([*install, "--no-deps", "--no-index", wheel], folder, outside())
    (site,) = folder.glob("lib/python*/site-packages")
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "dependencies.pth").write_text("\n".join(packages) + "\n")
    return python


def tried(python: Path, folder: Path) -> dict[str, str]:
    """Run the commands in an empty folder, with the installed program: what each printed, by its first word."""
    folder.mkdir()
    home = output_of([python, "-c", "import kibitz; print(kibitz.__file__)"], folder, outside()).strip()
    if not Path(home).is_relative_to(python.parents[1]):
        raise SystemExit(f"error: the new environment imports kibitz from {home}, which is not the wheel")
    return {words[0]: output_of([python.with_name("kibitz"), *words], folder, outside()) for words in COMMANDS}


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheel and the source archive, and check them.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where they go; default: dist")
    out = parser.parse_args().out.resolve()
    version = version_of()
    if changes := uncommitted():
        raise SystemExit("error: commit these changes first, or put them aside:\n" + "\n".join(changes))
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        print(f"building kibitz {version} ...")
        wheel, source = built(work / "dist", work)
        if wrong := problems(wheel, source):
            raise SystemExit("error: " + "\n".join(wrong))
        print("installing the wheel into an empty environment, and trying it there ...")
        outputs = tried(installed(wheel, work / "environment"), work / "empty")
        if outputs["--version"] != f"kibitz {version}\n":
            raise SystemExit(f"error: the installed command says {outputs['--version']!r}")
        out.mkdir(parents=True, exist_ok=True)
        for path in (wheel, source):
            print(f"  {shutil.copy2(path, out)}  ({path.stat().st_size / 1e6:.1f} MB)")
    print(f'Both are in order. CONTRIBUTING.md, "Releasing", says what comes next for version {version}.')


if __name__ == "__main__":
    main()
