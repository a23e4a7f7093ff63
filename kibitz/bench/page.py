"""A page of results, made from its data alone: docs/NAME.md from docs/NAME/data.json.

A page opens with a heading, a summary and a short table of its main claims (`openings.py`). All claims with their
verdicts come next, then how the figures were measured, then pictures. Tables of raw figures and claims that are not in
the paper are appendices.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kibitz.bench.opening import Opening
from kibitz.bench.openings import opening_of
from kibitz.bench.verdicts import HEAD, claims_table, judged_again, remarks, text_of
from kibitz.papers.claims import Claim, claim_of, summary

Data = Mapping[str, Any]
LIMITS = "Differences from the paper"  # the heading of what was done in another way
NAMES = {
    "gibson2011": "Gibson & Szafron 2011", "waugh2009": "Waugh, Bard & Bowling 2009", "le2021": "Le 2021",
    "sandholm": "Sandholm (slides)", "toepen": "Toepen",
    "nolimit": "No-limit hold'em",
}  # fmt: skip


def pages(folder: Path) -> Iterator[tuple[Path, str]]:
    """All pages that have data, and the data, as they should be."""
    for path in sorted(folder.glob("*/data.json")):
        data = judged_again(json.loads(path.read_text(encoding="utf-8")))
        yield folder / data["page"], page_text(data)
        yield path, text_of(data)


def page_text(data: Data) -> str:
    """The whole page as Markdown."""
    papers = data["papers"]
    opening = opening_of(data)
    claims = [claim_of(each) for paper in papers for each in paper["claims"]]
    lines = [f"# {opening.heading}", ""]
    lines += [line for text in (opening.summary_of(claims),) if text for line in (text, "")]
    lines += _main_claims(opening, claims)
    lines += [line for text in opening.below(claims) for line in (text, "")]
    lines += [origin(data), ""]
    lines += [line for text in (" ".join(remarks(data)),) if text for line in (text, "")]
    several = len(papers) > 1
    for paper in papers:
        lines += _paper(paper, f": {NAMES.get(paper['paper'], paper['paper'])}" if several else "")
    return "\n".join(lines).rstrip("\n") + "\n"


def _main_claims(opening: Opening, claims: Sequence[Claim]) -> list[str]:
    """The short table that a page opens with."""
    rows = [row for reason in opening.reasons if (row := reason.row(claims)) is not None]
    if not rows:
        return []
    return [*table(("claim", "measured", "verdict", "why", "limits"), rows, right=False), ""]


def origin(data: Data) -> str:
    """The command, the machine, versions, seeds and time."""
    on, first = data["machine"], data["papers"][0]
    seeds, unit = first["seeds"], first.get("unit", "run")
    many = f"{len(seeds)} {unit}{'s' * (len(seeds) != 1)}"
    took = data.get("time") or ", ".join(f"{each['paper']} {each['seconds']:.0f} s" for each in data["papers"])
    stored = any(each.get("stored") for each in data["papers"])  # the page alone was made here
    source = f"Made by `{data['command']}`. " if data.get("command") else ""
    named = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    return (
        f"{source}{many}, {named}. {'The page was made from stored results: ' * stored}{on['date']}, "
        f"{on['processor']}, {on['cores']} cores, {on['system']}; kibitz {on['kibitz']}, Python {on['python']}, "
        f"NumPy {on['numpy']}, Numba {on['numba']}.{'' if stored else f' Time: {took}.'}"
    )


def _paper(paper: Data, label: str) -> list[str]:
    """A paper's part of a page. label: which paper, where a page has several."""
    claims = [claim_of(each) for each in paper["claims"]]
    its, ours = ([claim for claim in claims if claim.of_the_paper is one] for one in (True, False))
    lines = claims_part(claims, its or ours, label, paper.get("summary", ""), paper.get("provenance", ""))
    lines += [f"## How it was measured{label}", "", paper["about"], ""]
    if paper["departs"]:
        lines += [f"{paper.get('limits', LIMITS)}:", "", *(f"- {text}" for text in paper["departs"]), ""]
    lines += [line for text in paper.get("notes", ()) for line in (text, "")]
    if pictures := paper.get("pictures", ()):
        lines += [f"## Pictures{label}", ""]
        for picture in pictures:
            lines += [f"![{picture['title']}]({picture['file']})", ""]
            lines += [picture["text"], ""] if picture.get("text") else []
    if its and ours:
        lines += [f"## Appendix: claims that are not in the paper{label}", "", *claims_table(ours), ""]
    if sheets := paper.get("sheets", ()):
        lines += [f"## Appendix: tables{label}", ""]
        for sheet in sheets:
            lines += [f"### {sheet['title']}", "", *table(sheet["head"], sheet["rows"]), ""]
            lines += [sheet["note"], ""] if sheet.get("note") else []
    return lines


def claims_part(claims: Sequence[Claim], listed: Sequence[Claim], label: str, *about: str) -> list[str]:
    """All claims, counted by verdict; those of the paper listed. about: the end of the summary, and its source."""
    more, *others = about
    lines = [f"## {HEAD}{label}", ""]
    lines += [line for text in (summary(claims, more), *others) if text for line in (text, "")]
    return [*lines, *claims_table(listed), ""] if listed else lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: bool = True) -> list[str]:
    """A table of Markdown. right: all columns but the first are figures."""

    def cells(row: Sequence[str]) -> str:
        return "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |"

    rule = "|---|" + ("---:|" if right else "---|") * (len(head) - 1)
    return [cells(head), rule, *map(cells, rows)]
