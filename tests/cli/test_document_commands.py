"""Commands in documents: each names a command and options that exist, and gives them values of the right kind.

Examples of --help and of the README are run (test_help_examples.py). Those of other documents may take hours, so they
are only parsed here.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kibitz.cli import app
from kibitz.core.pools import LocalPool

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "kibitz").glob("*/README.md"))]


def commands(text: str) -> list[str]:
    """What follows `kibitz` in indented lines, in inline code and after `$ `, without comments and redirections."""
    blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^    (?:\S*/)?kibitz ((?:.*\\\n)*.*)$", blocks, re.MULTILINE)
    lines += re.findall(r"`kibitz ([^`\n]+)`", blocks)
    lines += re.findall(r"^\$ kibitz ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    return list(dict.fromkeys(re.split(r"\s#| >| \|", line.replace("\\\n", " "))[0].strip() for line in lines))


def parse(words: list[str]) -> None:
    """Parse the words of a command as the program does, without running it."""
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0].startswith("-"):
            return
        if " ".join(words[:2]) in command.commands:  # a name of two words
            words = [" ".join(words[:2]), *words[2:]]
        assert words[0] in command.commands, f"kibitz has no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    if words and "--help" not in words:
        try:
            command.make_context(command.name, list(words))
        except Exception as error:  # the classes of errors are the parser's own
            raise AssertionError(getattr(error, "message", str(error))) from error


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_of_documents_parse(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kibitz.core.ray_pool.RayPool", lambda address: LocalPool())  # the addresses are examples
    for line in commands(path.read_text(encoding="utf-8")):
        words = shlex.split(line)
        bare = re.fullmatch(r"((poker|acpc) )?[\w-]+ --[\w-]+", line)
        if "..." in line or any(word.isupper() for word in words) or bare:
            words = [word for word in words[:1] if not word.isupper()]  # a pattern, such as kibitz info GAME
        try:
            parse(words)
        except AssertionError as error:
            raise AssertionError(f"kibitz {line}: {error}") from error


def test_commands_are_found() -> None:
    text = "    kibitz solve leduc   # a comment\n\n`kibitz show a.profile` and `kibitz match a b --json > c.json`\n"
    text += "```console\n$ kibitz games | head -3\n```\n"
    assert commands(text) == ["solve leduc", "show a.profile", "match a b --json", "games"]
    for words in (["solv"], ["solve", "leduc", "--no-such-option"], ["solve", "leduc", "--iterations", "some"]):
        with pytest.raises(AssertionError):
            parse(words)
