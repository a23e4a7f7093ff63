"""Lines of Markdown printed for a terminal: heads in bold, tables as wide as the page, paragraphs wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_FIGURE = re.compile(r"[-+<>~]? ?[\d.,]+(e-?\d+)?(x| m?s|%)?|-|")


def section(title: str, *blocks: str | Sequence[str]) -> list[str]:
    """Lines of Markdown: a head, and paragraphs or tables (as their lines) with an empty line after each."""
    lines = ([each, ""] if isinstance(each, str) else [*each, ""] for each in blocks)
    return [f"## {title}", "", *(line for block in lines for line in block)]


def print_markdown(out: Console, lines: Sequence[str]) -> None:
    """Print what the reports of kibitz are made of: heads, paragraphs and tables."""
    from kibitz.report.tables import tables

    for kind, group in groupby(_blocks(lines), key=lambda line: line[0]):
        texts = [text for _, text in group]
        if kind == "head":
            out.print("\n".join(texts), style="bold", markup=False)
        elif kind == "table":
            head, _, *rows = [_cells(text) for text in texts]
            wrapped = [k for k in range(len(head)) if k == 0 or not all(_FIGURE.fullmatch(row[k]) for row in rows)]
            for table in tables(head, rows, out.width, wrapped, 12):
                out.print(table)
                out.print()
        elif kind == "text":
            out.print(" ".join(texts).replace("`", "") + "\n", markup=False, overflow="fold")


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each line with its kind."""
    for line in "\n".join(lines).split("\n"):
        if line.startswith("#"):
            yield "head", line.lstrip("# ")
        elif line.startswith("|"):
            yield "table", line
        else:
            yield "text" if line else "end", line


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
