"""The server as a process: start, refused arguments, and several people at once."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import kibitz
from kibitz.bench.bench_serve import load, serve_markdown
from kibitz.bench.screens import served
from kibitz.core.errors import SpecError


def test_several_tables_at_once(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        assert "127.0.0.1" in address and "token=" in address
        found = load(address, 12, 1.0, thought=0.05)
    assert found["errors"] == 0, found["first_error"]
    assert found["asked"]["sit down"]["count"] == 12 and found["asked"]["act"]["count"] >= 12
    assert "0 errors" in "\n".join(serve_markdown(found))


def serve(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kibitz.cli", "ui", "--no-open", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_what_is_refused(tmp_path: Path) -> None:
    assert "this machine alone" in serve(str(tmp_path), "--host", "0.0.0.0").stderr
    assert "is not a directory" in serve(str(tmp_path / "nothing")).stderr
    for host in ("0.0.0.0", "", "192.168.0.1", "example.org"):  # from Python too
        with pytest.raises(SpecError, match="for this machine only"):
            kibitz.ui(tmp_path, host=host, show=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = serve(str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2 and "choose another with --port" in done.stderr
