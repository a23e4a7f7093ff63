"""Little memory: commands that need more than there is end with a sentence, not with a traceback.

In processes of their own, whose address space is limited once all is imported and compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.core import store

CHILD = """
import json, resource, sys
import kibitz
from kibitz.cli import app
from kibitz.cli.common import console
kibitz.solve("kuhn", "cfr", iterations=2)
words = json.loads(sys.argv[2])
try:
    app(["info", "kuhn", "--json"], prog_name="kibitz")
except SystemExit:
    pass
print("----", flush=True)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
app(words, prog_name="kibitz")
"""


def sentence(beyond: int, *words: str | Path) -> str:
    """What a command says that may take `beyond` bytes more than it has when it begins."""
    arguments = [sys.executable, "-c", CHILD, str(beyond), json.dumps([str(word) for word in words])]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    told = done.stderr.strip()
    assert done.returncode == 2 and told.startswith("error: ") and "\n" not in told, (done.returncode, told[-2000:])
    return told


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile that says, with all checksums right but one, that it has two gigabytes of probabilities."""
    path = tmp_path_factory.mktemp("large") / "large.profile"
    kibitz.solve("kuhn", "cfr", iterations=2).save(path)
    manifest = json.loads((path / "manifest.json").read_text())
    entry = manifest["arrays"]["probabilities"]
    sha = hashlib.sha256(b"").hexdigest()
    size = 2 << 30
    entry |= {"sha256": sha, "file": f"probabilities-{sha[:16]}.bin", "bytes": size, "shape": [size // 8]}
    (path / entry["file"]).touch()
    os.truncate(path / entry["file"], size)  # a hole: it takes no room on the disk
    manifest["digest"] = store._digest(manifest["arrays"], manifest["meta"])
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


@pytest.mark.parametrize("command", ["show", "evaluate"])
@pytest.mark.some(1)
def test_a_file_that_does_not_fit(large: Path, command: str) -> None:
    told = sentence(1 << 30, command, large)
    assert "cannot load" in told and "2.00 GiB" in told


@pytest.mark.parametrize("words", [("info", "leduc(ranks=5)"), ("solve", "leduc(ranks=5)", "--iterations", "2")])
@pytest.mark.some(1)
def test_a_game_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    assert "memory" in sentence(2 << 20, *words)


def test_a_table_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of the process is seen, and the sentence says how much would fit."""
    monkeypatch.chdir(tmp_path)
    words = ("train", "toepen", "--memory", "1GB", "--iterations", "1", "--out", "a")
    assert "1.0 GB of memory are requested" in (told := sentence(1 << 28, *words)) and "give at most" in told


def test_numpys_own_error_is_a_memory_error() -> None:
    with pytest.raises(MemoryError, match="Unable to allocate"):
        np.empty(1 << 50)
