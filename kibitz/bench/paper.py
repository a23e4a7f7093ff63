"""A recomputed paper as Markdown, as a self-contained HTML page, and as JSON, with its pictures."""

from __future__ import annotations

import base64
import html as escape
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kibitz.bench.page import origin, page_text
from kibitz.bench.verdicts import HEAD, command_of, data_of, machine, text_of, tried
from kibitz.core import store
from kibitz.papers.claims import Claim
from kibitz.papers.experiment import PaperReport
from kibitz.report.figures import picture_of

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th { text-align: left; border-bottom: 2px solid #999; font-weight: 600; vertical-align: bottom; }
th, td { padding: .2rem .8rem .2rem 0; } td { border-bottom: 1px solid #eee; }
td.figure, th.figure { text-align: right; } td.figure { white-space: nowrap; }
.wide { overflow-x: auto; } img { max-width: 100%; margin: .5rem 0; } .note { color: #666; }
.yes { color: #00673e; } .no { color: #a63603; } .open { color: #8a6100; }
"""


def write(outcome: PaperReport, directory: Path) -> list[Path]:
    """report.md, report.html, report.json and the pictures, into a directory; returns what was written."""
    pictures = [directory / f"{picture.name}.png" for picture in outcome.pictures]
    from kibitz.report.heat import draw

    for picture, path in zip(outcome.pictures, pictures, strict=True):
        draw(picture, path)
    on = machine()
    data = page_data([outcome], on, {outcome.name: [path.name for path in pictures]})
    texts = {
        directory / "report.md": page_text(data),
        directory / "report.html": html(outcome, on, pictures),
        directory / "report.json": json.dumps({**outcome.data(), "machine": on}, indent=1, allow_nan=False) + "\n",
    }
    for path, text in texts.items():
        store.write_text(path, text)
    return [*texts, *pictures]


def write_page(outcomes: Sequence[PaperReport], path: Path) -> list[Path]:
    """All of them as one page, with its pictures and data in a directory beside it that is called like it."""
    from kibitz.report.heat import draw

    pictures: dict[str, list[str]] = {}
    written = [path]
    for outcome in outcomes:
        pictures[outcome.name] = []
        for picture in outcome.pictures:
            place = path.parent / path.stem / f"{outcome.name}-{picture.name}.png"
            draw(picture, place)
            written.append(place)
            pictures[outcome.name].append(f"{path.stem}/{place.name}")
    data = {"page": path.name, "command": command_of(sys.argv[1:]), **page_data(outcomes, machine(), pictures)}
    store.write_text(path, page_text(data))
    store.write_text(data_of(path), text_of(data))
    return [*written, data_of(path)]


def page_data(
    outcomes: Sequence[PaperReport], on: dict[str, str], pictures: dict[str, list[str]]
) -> dict[str, Any]:  # fmt: skip
    """All that a page is made from. pictures: where the files of each paper are, as the page sees them."""
    papers = []
    for outcome in outcomes:
        data = outcome.data()
        files = pictures.get(outcome.name, [])
        shown = [{"file": file, **each} for file, each in zip(files, data["pictures"], strict=False)]
        papers.append({**data, "pictures": shown})
    return {"machine": on, "papers": papers}


def redraw(folder: Path) -> list[Path]:
    """Draw all pictures again whose data are stored in `folder`/data.json; returns what was drawn."""
    from kibitz.report.heat import draw

    data, drawn = json.loads((folder / "data.json").read_text(encoding="utf-8")), []
    for picture in (each for paper in data["papers"] for each in paper.get("pictures", ())):
        if "kind" in picture:
            path = folder.parent / picture["file"]
            draw(picture_of({name: value for name, value in picture.items() if name != "file"}), path)
            drawn.append(path)
    return drawn


def html(outcome: PaperReport, on: dict[str, str], pictures: Sequence[Path]) -> str:
    """A page that needs no other file: pictures are in it."""

    def cell(tag: str, text: str, k: int) -> str:
        kind = " class='figure'" if k else ""
        return f"<{tag}{kind}>{escape.escape(text)}</{tag}>"

    def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        top = "".join(cell("th", text, k) for k, text in enumerate(head))
        body = "".join("<tr>" + "".join(cell("td", t, k) for k, t in enumerate(row)) + "</tr>" for row in rows)
        return f"<div class='wide'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"

    parts = [f"<h1>{escape.escape(outcome.title)}</h1>", f"<p>{escape.escape(outcome.about)}</p>"]
    parts += [f"<p>{escape.escape(text)}</p>" for text in outcome.notes]
    for sheet in outcome.sheets:
        parts += [f"<h2>{escape.escape(sheet.title)}</h2>", table(sheet.head, sheet.rows)]
        parts += [f"<p class='note'>{escape.escape(sheet.note)}</p>"] if sheet.note else []
    for picture, path in zip(outcome.pictures, pictures, strict=True):
        data = base64.b64encode(path.read_bytes()).decode()
        title = escape.escape(picture.title)
        parts.append(f"<h2>{title}</h2><img alt='{title}' src='data:image/png;base64,{data}'>")
        parts += [f"<p>{escape.escape(picture.text)}</p>"] if picture.text else []
    parts.append(f"<h2>{HEAD}</h2><p>{escape.escape(outcome.verdict)}</p>")
    heads, counts = tried(outcome.claims)
    rows = "".join(_claim_row(claim, cells) for claim, cells in zip(outcome.claims, counts, strict=True))
    starts = "".join(f"<th class='figure'>{head}</th>" for head in heads)
    parts.append(
        ""
        if not rows
        else f"<div class='wide'><table><thead><tr><th>claim</th>{starts}<th>verdict</th><th>source</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
    departs = "".join(f"<li>{escape.escape(text)}</li>" for text in outcome.departs)
    parts.append(f"<h2>{escape.escape(outcome.limits)}</h2><ul>{departs}")
    parts.append(f"</ul><p class='note'>{escape.escape(origin(page_data([outcome], on, {})))}</p>")
    title = escape.escape(outcome.title)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>{title}</title>"
        f"<style>{STYLE}</style>"
        f"</head><body>{''.join(parts)}</body></html>\n"
    )


def _claim_row(claim: Claim, cells: Sequence[str]) -> str:
    kind = "open" if claim.stands is None else "yes" if claim.stands else "no"
    counts = "".join(f"<td class='figure'>{text}</td>" for text in cells)
    return (
        f"<tr><td>{escape.escape(claim.text)}</td>{counts}"
        f"<td class='{kind}'>{escape.escape(claim.verdict_text)}</td><td>{escape.escape(claim.source)}</td></tr>"
    )


def kept(outcome: PaperReport, out: str | Path | None, markdown: str | Path | None) -> dict[str, Any]:
    """Write a report with a page of its own, where that is asked for; returns what the JSON file holds."""
    data = as_data([outcome])
    if out is not None:
        store.write_text(out, json.dumps(data, indent=1, allow_nan=False) + "\n")
    if markdown is not None:
        write_page([outcome], Path(markdown))
    return data


def as_data(outcomes: Sequence[PaperReport]) -> dict[str, Any]:
    """For --json: one object, whether one paper or all."""
    if len(outcomes) == 1:
        return {**outcomes[0].data(), "machine": machine()}
    return {"papers": [o.data() for o in outcomes], "machine": machine()}


if __name__ == "__main__":  # python -m kibitz.bench.paper docs/NAME ...: draw the pictures of pages again
    for name in sys.argv[1:]:
        for path in redraw(Path(name)):
            print(f"drew {path}")
