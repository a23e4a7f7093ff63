"""docs/results/index.md: one row for each claim of the four source documents, from the data of all pages."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kibitz.bench.openings import opening_of
from kibitz.bench.page import table
from kibitz.bench.verdicts import judged_again
from kibitz.papers.claims import FACT, RUN, VERDICTS, Claim, claim_of, counts

Data = Mapping[str, Any]
SOURCES = {
    "gibson2011": "Gibson & Szafron 2011, *On Strategy Stitching in Large Extensive Form Multiplayer Games*",
    "waugh2009": "Waugh, Bard & Bowling 2009, *Strategy Grafting in Extensive Games*",
    "le2021": "Le 2021, *A Game-theoretic Approach to the Card Game Toepen* (master's thesis, University of Amsterdam)",
    "sandholm": "Sandholm, *Sequential imperfect-information games* (slides)",
}
HEAD = """# Results: every claim of the source papers

kibitz recomputes four documents. Each claim that they make is tested, and gets a verdict by one rule, which was fixed
before the runs: a claim **holds** if it is true in at least 75% of the cases, **fails** if it is false in at least 75%,
and is **undecided** otherwise. A case is a random initialisation, a repetition, or a comparison of two figures. A
difference inside its 95% interval counts as neither true nor false. A claim that is tested in several variants (such as
weights of the initial strategy) must pass in each of them. For Le 2021 the real rules decide.

- *n* is the number of independent runs behind a verdict; *exact* means that nothing is random.
- *Why* is our explanation. It begins with "Likely" where we have not measured it.
- *Weight* is the weight of the random initial strategy in the averages: 0 means that it is not counted. "Like
  ACPC-10" is a strategy made after the recipe of that competition's entry. Winnings and exploitability
  in limit hold'em are in thousandths of a big blind a hand (mbb/h).
- Claims of our own (the full game of Toepen, GS3's abstraction) are on their pages only.
- The command recomputes the row. Several take hours: see the page for the time and the machine.

This page is generated from the data of the runs by `python -m kibitz.bench.docs`. Speed is on another page:
[benchmarks](../results.md).
"""


def pages(folder: Path) -> Iterator[tuple[Path, str]]:
    """The page and its place."""
    yield folder / "results" / "index.md", index(folder)


def index(folder: Path) -> str:
    """The whole page."""
    data = [judged_again(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*/data.json"))]
    parts = [(name, [(page, paper) for page in data for paper in page["papers"] if paper["paper"] == name])
             for name in SOURCES]  # fmt: skip
    lines = [HEAD, "## Pages", "", *table(("page", "source", "claims", *VERDICTS), _overview(data), right=False), ""]
    for name, its in parts:
        lines += [f"## {SOURCES[name].replace('*', '')}", ""]
        rows = [_row(page, paper, claim) for page, paper in its for claim in _claims(paper) if claim.of_the_paper]
        head = ("paper", "claim", "measured", "verdict", "n", "why", "command")
        lines += [*table(head, rows, right=False), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _claims(paper: Data) -> list[Claim]:
    return [claim_of(each) for each in paper["claims"]]


def _overview(data: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Each page with the number of claims that hold, fail and are undecided; our own, where it has no others."""
    rows = []
    for page in data:
        link = f"[{opening_of(page).heading}](../{page['page']})"
        for paper in page["papers"]:
            every = _claims(paper)
            claims = [claim for claim in every if claim.of_the_paper]
            source = SOURCES[paper["paper"]].partition(", *")[0] if paper["paper"] in SOURCES else "not in the papers"
            source += "" if claims or paper["paper"] not in SOURCES else " (our own claims)"
            claims = claims or every
            rows.append((link, source, str(len(claims)), *map(str, counts(claims).values())))
    return rows


def _row(page: Data, paper: Data, claim: Claim) -> tuple[str, ...]:
    opening = opening_of(page)
    text = f"{opening.game}: {claim.text}" if opening.game else claim.text
    n = "exact" if claim.unit == FACT else "1" if claim.unit == RUN else str(claim.n)
    whole = claim.source[:1].isupper() and ("20" in claim.source or "slides" in claim.source)  # names its paper itself
    source = claim.source if whole else f"{_short(paper)}, {claim.source}"
    cells = (text, claim.measured_text, claim.verdict, n, opening.why(claim), f"`{command(page, paper)}`")
    return (f"[{source}](../{page['page']})", *cells)


def _short(paper: Data) -> str:
    return SOURCES[paper["paper"]].partition(", *")[0]


def command(page: Data, paper: Data) -> str:
    """What recomputes the figures of a paper on a page: its command, without where files go."""
    words = shlex.split(page["command"])
    kept = [word for k, word in enumerate(words) if not {word, words[k - 1]} & {"--out", "--markdown"}]
    if "all" in kept:
        kept[kept.index("all")] = paper["paper"]
    return shlex.join(kept)
