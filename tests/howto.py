"""The how-to pages (docs/howto): run what they contain, from top to bottom, in an empty directory.

    python tests/howto.py [PAGE ...]     run pages, such as solve, and write the outputs of their commands into them

A page has blocks of three kinds that run. A block of Python is executed; all blocks of a page share their names. The
block `game` is a file, whose name is the last one in the text before it. A block `console` has commands after `$ `,
each followed by what it prints; `| head -3` and `| tail -3` cut that. Commands in indented lines may take hours, and
are only parsed (tests/cli/test_document_commands.py).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "howto"
PAGES = sorted(FOLDER.glob("*.md"))
_BLOCK = re.compile(r"^```(python|game|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: Path) -> str:
    """Run a page in the current directory. The result is its text, with what the commands print now."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    parts, done = [], 0
    for block in _BLOCK.finditer(text):
        kind, body = block[1], block[2]
        if kind == "python":
            line = text.count("\n", 0, block.start(2))
            exec(compile("\n" * line + body, str(page), "exec"), names)
        elif kind == "game":
            Path(re.findall(r"`([\w.]+\.game)`", text[: block.start()])[-1]).write_text(body, encoding="utf-8")
        else:
            body = "\n".join(f"$ {command}\n{output(command)}" for command in commands(body))
        parts += [text[done : block.start(2)], body]
        done = block.end(2)
    return "".join([*parts, text[done:]])


def commands(body: str) -> list[str]:
    """The commands of a block, each of one line or continued by backslashes."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*)$", body, re.MULTILINE)


def output(command: str) -> str:
    """What a command prints in a terminal of 80 columns, without its progress."""
    from kibitz.cli import app

    line, _, cut = command.replace("\\\n", " ").partition(" | ")
    program_after, _, count = cut.partition(" -")
    assert program_after in ("", "head", "tail"), f"only head and tail follow: {command}"
    program, *words = shlex.split(line)
    assert program == "kibitz", f"only kibitz runs here: {command}"
    printed, errors = io.StringIO(), io.StringIO()
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            app(words, prog_name="kibitz")
    except SystemExit as end:
        assert not end.code, f"{command}: {errors.getvalue()}"
    finally:
        os.environ.pop("COLUMNS")
        os.environ |= {} if width is None else {"COLUMNS": width}
    lines = [line.rstrip() for line in printed.getvalue().strip("\n").splitlines()]
    part = slice(None) if not cut else slice(int(count)) if program_after == "head" else slice(-int(count), None)
    return "".join(f"{line}\n" for line in lines[part])


def words(text: str) -> list[str]:
    """A text without its figures: they depend on the machine and on the time, and words do not."""
    return re.findall(r"[A-Za-z]{3,}", text)


def main(names: list[str]) -> None:
    """Run pages and write the outputs into them."""
    home = Path.cwd()
    for page in PAGES:
        if not names or page.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                text = run(page)
                os.chdir(home)
            page.write_text(text, encoding="utf-8")
            print(page.stem)


if __name__ == "__main__":
    main(sys.argv[1:])
