"""A strategy as text that a person reads: infoset by infoset, at any width of the terminal, with nothing cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kibitz.report.text import SELDOM, bar, percent, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kibitz.games.protocol import Action

MOST_COLUMNS = 6  # more distinct actions than this are not put into columns
LEGEND = (
    "reach: the probability that play gets to the infoset; never: not under this profile. After the probability of an "
    "action: its expected value to the seat, given that play is there; -: none, as the others never let it get there."
)


@dataclass(frozen=True)
class InfosetRow:
    """An infoset: probabilities, and if they are known its reach and the values of its actions (None: no value)."""

    label: str
    actions: Mapping[Action, float]
    reach: float | None = None
    values: Mapping[Action, float | None] | None = None


def print_strategy(page: Console, rows: Sequence[InfosetRow], bars: bool) -> None:
    """Print rows as the first of these that fits the page: a table with bars, one without, a list.

    The list has an infoset to a line and its actions below, as many to a line as there is room for.
    """
    # The longest lists first: where fold is not legal, it still comes before call.
    actions = list(dict.fromkeys(a for row in sorted(rows, key=lambda row: -len(row.actions)) for a in row.actions))
    if len(actions) <= MOST_COLUMNS:
        for wide in (True, False) if bars else (False,):
            table = _table(rows, actions, wide)
            if _natural(page, table) <= page.width:
                page.print(table)
                return
    _print_list(page, rows)


def reach_text(reach: float) -> str:
    """never, 3.2%, 4.1e-05."""
    if reach <= 0.0:
        return "never"
    return f"{reach:.1e}" if reach < SELDOM * 2 else percent(reach)


def value_text(value: float | None) -> str:
    """An expected value with its sign; - if there is none."""
    if value is None:
        return "-"
    return f"{round(value, 4) + 0.0:+.4f}" if abs(value) < 1000 else f"{value:+.6g}"


def _natural(page: Console, table: Table) -> int:
    """How wide a table is if nothing in it is wrapped."""
    from rich.measure import Measurement

    return Measurement.get(page, page.options.update(width=100_000, max_width=100_000), table).maximum


def _table(rows: Sequence[InfosetRow], actions: Sequence[Action], wide: bool) -> Table:
    """An infoset to a line, a column for each action, blank where it is not legal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    with_reach = any(row.reach is not None for row in rows)
    longest = max((len(value_text(x)) for row in rows for x in (row.values or {}).values()), default=0)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("infoset", no_wrap=True)
    if with_reach:
        table.add_column("reach", justify="right", no_wrap=True)
    for action in actions:
        table.add_column(Text(plain(str(action))), justify="left", no_wrap=True)
    for row in rows:
        cells = [Text(plain(row.label))]
        if with_reach:
            cells.append(Text("" if row.reach is None else reach_text(row.reach), "dim" if row.reach == 0.0 else ""))
        table.add_row(*cells, *(_cell(row, a, wide, longest) if a in row.actions else Text("") for a in actions))
    return table


def _cell(row: InfosetRow, action: Action, wide: bool, longest: int) -> Text:
    """The probability of an action, as a bar too if there is room, and its value."""
    from rich.text import Text

    p = row.actions[action]
    style = "dim" if p == 0.0 else "bold" if p > 1.0 - SELDOM else ""
    text = Text.assemble((bar(p), "cyan"), " ") if wide else Text()
    text.append(percent(p).rjust(6), style)
    if row.values is not None:
        text.append(f" {value_text(row.values[action]).rjust(longest)}", "dim" if p == 0.0 else "")
    return text


def _print_list(page: Console, rows: Sequence[InfosetRow]) -> None:
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    for row in rows:
        line = Text(plain(row.label), "bold")
        if row.reach is not None:
            line.append("  never reached" if row.reach == 0.0 else f"  reach {reach_text(row.reach)}", "dim")
        page.print(line, soft_wrap=True)  # a name stays in one piece
        listed = [a for a, p in row.actions.items() if len(row.actions) <= MOST_COLUMNS or p >= SELDOM]
        longest = max((cell_len(plain(str(a))) for a in listed), default=0)
        digits = max((len(value_text(x)) for x in (row.values or {}).values()), default=0)
        cells = [(set_cell_size(plain(str(a)), longest), _cell(row, a, False, digits)) for a in listed]
        width = longest + 1 + max((len(cell) for _, cell in cells), default=0)
        across = max(1, (page.width - 2 + 3) // (width + 3))
        for k in range(0, len(cells), across):
            text = Text("  ")
            for name, cell in cells[k : k + across]:
                text.append(f"{name} ").append_text(cell).append("   ")
            text.rstrip()
            page.print(text, soft_wrap=True)
        if len(listed) < len(row.actions):
            page.print(Text(f"  ({len(row.actions) - len(listed)} others below 0.1%)", "dim"))
