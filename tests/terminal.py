"""A command at a pseudo-terminal, watched until it shows something and then stopped by Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path


def shown_until(pattern: str, words: list[str], cwd: Path, columns: int) -> tuple[int, str, str]:
    """(exit code, stdout, what stood on the terminal) of a command that is stopped once the terminal shows a pattern.

    It waits as long as the command runs: a busy machine takes longer, and shows the same.
    """
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-m", "kibitz.cli", *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": slave}
    process = subprocess.Popen(command, **pipes, env=env, cwd=cwd)
    os.close(slave)
    shown, stopped = "", False
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part.decode(errors="replace")
        if not stopped and (re.search(pattern, shown) or "Traceback" in shown):
            process.send_signal(signal.SIGINT)
            stopped = True
    os.close(master)
    out, _ = process.communicate()
    return process.returncode, out.decode(), shown
