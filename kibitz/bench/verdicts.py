"""The verdicts of pages, from the data beside them, and where their figures come from: docs/NAME.md has
docs/NAME/data.json.

The figures of a page take hours to compute; its verdicts follow from them by a rule. So a page's data hold the figures
that each claim is judged by (`kibitz.papers.claims`), and `python -m kibitz.bench.docs` applies the present rule to
them again. `page.py` makes the page from the data.
"""

from __future__ import annotations

import json
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
from kibitz.papers import settings
from kibitz.papers.claims import Claim, claim_of, verdicts_of

HEAD = "Claims and verdicts"
INNERMOST = re.compile(r"[\[{]\n[^\[\]{}]*[\]}]")  # a newline is never in a string of JSON


def data_of(page: Path) -> Path:
    """Where the data of a page are."""
    return page.parent / page.stem / "data.json"


def text_of(data: dict[str, Any]) -> str:
    """A page's data as they are written: what has nothing nested in it, such as a comparison, is one line."""
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    return INNERMOST.sub(lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text)


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """Claims with the number of cases in which each is true, as lines of Markdown."""
    heads, counts = tried(claims)
    lines = [f"| claim | {' | '.join(heads)} | verdict | source |", f"|---|{'---:|' * len(heads)}---|---|"]
    for claim, cells in zip(claims, counts, strict=True):
        text, verdict = (each.replace("|", "\\|") for each in (claim.text, claim.verdict_text))
        lines.append(f"| {text} | {' | '.join(cells)} | {verdict} | {claim.source} |")
    return lines


def tried(claims: Sequence[Claim]) -> tuple[list[str], list[list[str]]]:
    """In how many cases each claim is true: heads and cells of a column for each variant in which any was tried."""
    heads = {name: f"{claim.across} {name}".strip() for claim in claims for name in claim.variants}
    some = [claim for claim in claims if claim.variants]
    if not some or (len(some) < len(claims) and not all(claim.leading for claim in some)):
        return ["true in"], [["; ".join(map(claim.cell, claim.tried.values()))] for claim in claims]
    first = next(iter(heads))  # where claims belong that have one way to be tested
    every = [claim.tried if claim.variants else {first: claim.truths} for claim in claims]
    return list(heads.values()), [[claim.cell(truths.get(name, ())) for name in heads]
                                  for claim, truths in zip(claims, every, strict=True)]  # fmt: skip


def judged_again(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a page, with all claims judged by the present rule."""
    papers = []
    for paper in data["papers"]:
        claims = [claim_of(each) for each in paper["claims"]]
        papers.append({**paper, "claims": [claim.data() for claim in claims], "verdicts": verdicts_of(claims)})
    return {**data, "papers": papers}


# Where figures come from: the command, the machine, versions, and whether the present code would find them again


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
        **{name: _version(name) for name in names},
        "date": time.strftime("%Y-%m-%d"),
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # it lies on the path, and was never installed
        return "not installed"


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
    recorded = {name: value for paper in data["papers"] for name, value in paper.get("settings", {}).items()}
    sentences = [outdated(recorded, settings())]
    if data.get("commit"):
        sentences.append(f"It was made at commit {data['commit']}.")
    return [text for text in (*sentences, *data.get("remarks", ())) if text]
