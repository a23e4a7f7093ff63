"""Where figures come from: the command, the machine, versions, and whether the present code would find them again."""

from __future__ import annotations

import os
import platform
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from kibitz import __version__

# The line of a page that says how it was made, and paragraphs after it, up to the first head.
BLOCK = re.compile(r"^Made by `(?P<command>[^`]+)`\.(?P<rest>.*)\n(?:(?!#).*\n)*?(?=\n## )", re.MULTILINE)


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    names = ("numpy", "numba", "scipy")
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "kibitz": __version__,  # also where it is not installed
        **{name: metadata.version(name) for name in names},
        "date": time.strftime("%Y-%m-%d"),
    }


def command_of(arguments: Sequence[str], here: Path | None = None) -> str:
    """The command with these arguments, as any reader can type it: without folders of the machine it was run on."""
    return shlex.join(["kibitz", *(portable(each, here) for each in arguments)])


def portable(text: str, here: Path | None = None) -> str:
    """A path in the working folder as seen from there, one elsewhere by its name alone; all else as it is."""
    option, equals, value = text.partition("=") if text.startswith("--") else ("", "", text)
    path, here = Path(value), here or Path.cwd()
    if path.is_absolute():
        value = str(path.relative_to(here)) if path.is_relative_to(here) else path.name
    elif ".." in path.parts:
        value = path.name
    return f"{option}{equals}{value}"


def outdated(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """A sentence if figures were made by settings of the code that it no longer has; else nothing."""
    changed = [f"{name} was {recorded[name]} and is now {present.get(name, 'gone')}"
               for name in recorded if recorded[name] != present.get(name)]  # fmt: skip
    return f"The present code does not reproduce this page: {'; '.join(changed)}." if changed else ""


def remarks(data: Mapping[str, Any]) -> list[str]:
    """What a reader of a page must know of how it was made: from its data (`kibitz.bench.verdicts`)."""
    from kibitz.papers import settings

    recorded = {name: value for paper in data["papers"] for name, value in paper.get("settings", {}).items()}
    sentences = [outdated(recorded, settings())]
    if data.get("commit"):
        sentences.append(f"It was made at commit {data['commit']}.")
    return [text for text in (*sentences, *data.get("remarks", ())) if text]


def renewed(text: str, data: Mapping[str, Any]) -> str:
    """A page whose paragraphs on where it comes from say what its data and the present code do."""
    if not (block := BLOCK.search(text)):
        return text
    said = " ".join(remarks(data))
    source = f"Made by `{data['command']}`.{block['rest']}\n" + (f"\n{said}\n" if said else "")
    return text[: block.start()] + source + text[block.end() :]
