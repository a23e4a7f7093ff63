"""Tables for notebooks: what `_repr_html_` gives. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST_ROWS = 30  # that a table shows; the others are counted
TALL = 360  # pixels; longer tables scroll


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", left: int = 1, of: int = 0) -> str:
    """A small table that scrolls. left: so many columns are words, the others figures; of: rows there are in all."""
    of = max(of, len(rows))
    shown = rows if of == len(rows) and of <= MOST_ROWS else rows[:MOST_ROWS]

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ["left" if k < left else "right" for k in range(len(cells))]
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for side, cell in zip(sides, cells, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in shown)
    more = f"<div>... and {of - len(shown):,} more</div>" if of > len(shown) else ""
    return (
        f"<div>{escape(title)}</div>" * bool(title)
        + f'<div style="max-height:{TALL}px;overflow:auto;display:inline-block"><table><thead><tr>{line(head, "th")}'
        + f"</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )
