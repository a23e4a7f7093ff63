"""Generated documents: docs/cli.md from the help of the commands, docs/api.md from docstrings (`api.py`), pages of
results from the data beside them (`page.py`), docs/results/index.md from the data of all (`index.py`), and the README's
table from docs/results.json (`readme.py`).

    python -m kibitz.bench.docs            write the pages
    python -m kibitz.bench.docs --check    exit with 1 if a page is not what would be written

Each text of cli.md is taken from the command itself, in another process (whose environment is set before anything is
imported) and at a fixed width.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kibitz.bench import (
    api,
    bench_gpu,
    bench_shards,
    bench_spots,
    bench_spots_gpu,
    cluster_page,
    index,
    opponents_page,
    readme,
)
from kibitz.bench import page as results_page

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
API = PAGE.with_name("api.md")
WIDTH = 80
# Runs the commands that stdin has as JSON, and prints what they print.
_CHILD = """
import contextlib, io, json, sys
from typer.main import get_command
from kibitz.cli import app
command = get_command(app)
texts = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        try:
            command(words, prog_name="kibitz")
        except SystemExit as end:
            assert not end.code, words
    texts.append(text.getvalue())
json.dump(texts, sys.stdout)
"""
# Prints the words of all commands as JSON.
_NAMES = """
import json
from typer.main import get_command
from kibitz.cli import SECTIONS, app
def below(group, words):
    for name, command in group.commands.items():
        yield (*words, name)
        if hasattr(command, "commands"):
            yield from below(command, (*words, name))
top = get_command(app)
order = {name: SECTIONS.index(command.rich_help_panel) for name, command in top.commands.items()}
print(json.dumps(sorted(below(top, ()), key=lambda words: order[words[0]])))
"""
HEAD = """# The command line

This page is generated from `kibitz --help` by `python -m kibitz.bench.docs`. Tests compare it with the program and run
its examples.

- *Specs* name games and solvers, with parameters: `leduc`, `'leduc(players=3)'`, `'dcfr(alpha=1.5)'`.
- `--json` prints one JSON object on stdout and nothing else.
- Long runs print their progress and the remaining time on stderr. In a file or a pipe this is a plain line after 5
  seconds, and then further lines at growing intervals. `KIBITZ_PROGRESS=SECONDS` sets the time of the first line; 0
  turns progress off, as do `--json` and `--quiet`.
- kibitz uses all cores that the process may use. `KIBITZ_CORES=N` limits it to N cores.
- Tables are as wide as the terminal, or as `COLUMNS` says; 80 characters in a file. Wider tables are split.
- Exit codes: 0 for success; 2 for an error that you can correct, with one sentence on stderr; 130 after Ctrl-C; 70 for
  an internal error (`KIBITZ_DEBUG=1 kibitz ...` prints the traceback).
- `kibitz --install-completion` sets up Tab completion of commands, options, and the names of games, solvers and
  abstractions, in bash, zsh, fish and PowerShell. It takes effect in a new terminal.
"""


def said(calls: Iterable[tuple[str, ...]]) -> list[str]:
    """What `kibitz` prints for each of some lists of arguments, all in one process."""
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
    kept = {name: text for name, text in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    run = subprocess.run(
        [sys.executable, "-c", _CHILD], input=json.dumps(list(calls)), env={**kept, **plain}, stdout=subprocess.PIPE,
        encoding="utf-8", check=True,
    )  # fmt: skip
    texts: list[str] = json.loads(run.stdout)
    return ["\n".join(line.rstrip() for line in text.strip("\n").splitlines()) for text in texts]


@cache
def commands() -> tuple[tuple[str, ...], ...]:
    """The words of all commands and groups, in the order of the help: ("acpc",), ("acpc", "serve") ..."""
    run = subprocess.run([sys.executable, "-c", _NAMES], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return tuple(map(tuple, json.loads(run.stdout)))


def page() -> str:
    """The whole page: a heading for each command of `kibitz`, with what it says and what commands below it say."""
    calls = [(*words, "--help") for words in ((), *commands())] + [("games",), ("solvers",)]
    texts = dict(zip(calls, said(calls), strict=True))
    parts = [HEAD, _block("kibitz --help", texts["--help",])]
    for words in commands():
        heading = f"## kibitz {words[0]}\n\n" if len(words) == 1 else ""
        parts.append(heading + _block(f"kibitz {' '.join(words)} --help", texts[*words, "--help"]))
        if words in texts:
            parts.append(_block(f"kibitz {words[0]}", texts[words]))
    return "\n".join(parts)


def _block(command: str, text: str) -> str:
    return f"```console\n$ {command}\n{text}\n```\n"


def main(arguments: list[str]) -> int:
    """Write or check the pages; returns the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m kibitz.bench.docs [--check]", file=sys.stderr)
        return 2
    code = 0
    own = (bench_gpu, bench_shards, bench_spots, bench_spots_gpu, cluster_page, opponents_page)
    measured = ((each.PAGE, each.page()) for each in own)
    written = ((PAGE, page()), (API, api.page()), (readme.PAGE, readme.page()), *measured)
    for path, text in (*written, *results_page.pages(PAGE.parent), *index.pages(PAGE.parent)):
        if arguments:
            same = path.is_file() and path.read_text(encoding="utf-8") == text
            print(f"{path} is up to date" if same else f"{path} is stale: run python -m kibitz.bench.docs")
            code = code if same else 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
