"""Tables for a terminal of any width: names wrap, figures are never cut, and what is too wide comes in pieces.

Also Markdown: sections of reports, and how they are printed in a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BETWEEN = 2  # spaces between columns
NAME = 24  # characters of the first column that are kept before the table is broken into pieces
_FIGURE = re.compile(r"[-+<>~]? ?[\d.,]+(e-?\d+)?(x| m?s|%)?|-|")
TITLE = 16  # a title of figures that is longer is broken even where there is room


def tables(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, wrapped: Sequence[int] = (0,), least: int = NAME
) -> list[Table]:
    """A table as one or several of at most `width` characters.

    The columns in `wrapped` hold text: they are wrapped where they must be, down to `least` characters. All others
    hold figures. Where a table is too wide even so, its columns are shared out to several tables, which all repeat
    the first column. A line break in a title stands; spaces and hyphens are places where it may be broken.
    """
    from rich.cells import cell_len

    cells = [max([1, *(cell_len(line) for row in rows for line in row[k].split("\n"))]) for k in range(len(head))]
    words = [max([1, *map(cell_len, _words(title))]) for title in head]
    titles = [max(map(cell_len, title.split("\n"))) for title in head]
    lowest = [max(words[k], min(cells[k], least) if k in wrapped else cells[k]) for k in range(len(head))]
    wished = [max(low, cells[k], titles[k] if titles[k] <= TITLE else 0) for k, low in enumerate(lowest)]
    widths = (_widened({k: lowest[k] for k in part}, wished, wrapped, width) for part in _shared(lowest, width))
    return [_table(head, rows, wide, wrapped) for wide in widths]


def _words(title: str) -> list[str]:
    """The parts of a title that stay whole."""
    return [word for word in re.split(r"(?<=-)(?=\w)|\s+", title) if word]


def _shared(wide: Sequence[int], width: int) -> list[list[int]]:
    """Columns of each table: the first always, and of the others as many as fit, at least one."""
    parts: list[list[int]] = []
    for k in range(1, len(wide)):
        if parts and sum(wide[j] + BETWEEN for j in parts[-1]) + wide[k] <= width:
            parts[-1].append(k)
        else:
            parts.append([0, k])
    if len(parts) <= 1:
        return parts or [[0]]
    # As many tables as that, but of about the same number of columns.
    most = -(-(len(wide) - 1) // len(parts))
    even = [[0, *range(k, min(k + most, len(wide)))] for k in range(1, len(wide), most)]
    fits = all(sum(wide[k] + BETWEEN for k in part) - BETWEEN <= width for part in even)
    return even if fits else parts


def _widened(lowest: dict[int, int], wished: Sequence[int], wrapped: Sequence[int], width: int) -> dict[int, int]:
    """Widths by column: what is left of the page goes to text, the first column last, then to titles."""
    wide = dict(lowest)
    left = width - sum(wide.values()) - BETWEEN * (len(wide) - 1)
    for k in sorted(wide, key=lambda k: (k == 0, k)):
        if k in wrapped:
            more = max(0, min(wished[k] - wide[k], left))
            wide[k] += more
            left -= more
    if sum(wished[k] - wide[k] for k in wide if k not in wrapped) <= left:
        wide = {k: now if k in wrapped else wished[k] for k, now in wide.items()}
    if left < 0:  # a page narrower than a name and a figure: the name gives way
        wide[0] = max(4, wide[0] + left)
    return wide


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], wide: dict[int, int], wrapped: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, BETWEEN - 1, 0, 0))
    for column, width in wide.items():
        text = column in wrapped
        title = Text(_broken(head[column], width))
        table.add_column(title, justify="left" if text else "right", overflow="fold", width=width, no_wrap=not text)
    for row in rows:
        table.add_row(*(Text(row[column]) for column in wide))
    return table


def _broken(title: str, wide: int) -> str:
    """A title in lines no longer than `wide`, with its own line breaks."""
    lines = []
    for line in title.split("\n"):
        lines.append("")
        for word in _words(line):
            joint = "" if not lines[-1] or lines[-1].endswith("-") else " "
            if lines[-1] and len(lines[-1]) + len(joint) + len(word) > wide:
                lines.append(word)
            else:
                lines[-1] += joint + word
    return "\n".join(lines)


# Markdown


def section(title: str, *blocks: str | Sequence[str]) -> list[str]:
    """Lines of Markdown: a head, and paragraphs or tables (as their lines) with an empty line after each."""
    lines = ([each, ""] if isinstance(each, str) else [*each, ""] for each in blocks)
    return [f"## {title}", "", *(line for block in lines for line in block)]


def print_markdown(out: Console, lines: Sequence[str]) -> None:
    """Print what the reports of kibitz are made of: heads, paragraphs and tables."""
    for kind, group in groupby(_blocks(lines), key=lambda line: line[0]):
        texts = [text for _, text in group]
        if kind == "head":
            out.print("\n".join(texts), style="bold", markup=False)
        elif kind == "table":
            cells = ([cell.strip() for cell in re.split(r"(?<!\\)\|", text)[1:-1]] for text in texts)
            head, _, *rows = [[cell.replace("\\|", "|") for cell in row] for row in cells]
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
