"""Numbers, tables and strategies as text that a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kibitz.games.protocol import Action
    from kibitz.profile import Profile

MOST_COLUMNS = 6  # a seat with more distinct actions than this gets one column that lists them
SELDOM = 0.0005  # actions taken more seldom than this are not listed
BAR = 8  # characters of a bar of 100%
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def plain(text: str) -> str:
    """Text without control characters: what a file says must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def duration(seconds: float) -> str:
    """7 ms, 0.4 s, 12 s, 3:05, 2:10:00."""
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def size(count: float) -> str:
    """Bytes in a unit that leaves few digits: 512 B, 3.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def signed(number: float) -> str:
    """A value with its sign: +0.085606."""
    return f"{number:+.6f}"


def gap(number: float) -> str:
    """A gap, small or not: 0, 9.98e-05, 4.747."""
    return f"{number:.2e}" if 0.0 < number < 1e-3 else f"{number:.4g}"


def percent(p: float) -> str:
    """A probability: 0%, <0.1%, 43.2%, >99.9%, 100%. Only what is certain prints as 0% or 100%."""
    if p <= 0.0 or p >= 1.0:
        return "0%" if p <= 0.0 else "100%"
    if p < SELDOM:
        return "<0.1%"
    return ">99.9%" if p > 1.0 - SELDOM else f"{100 * p:.1f}%"


def bar(p: float, width: int = BAR) -> str:
    """A probability as a bar of block characters, padded to `width`."""
    eighths = round(max(0.0, min(1.0, p)) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and what they are, without lines."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, what in rows:
        table.add_row(name, Text(what))
    return table


def head(profile: Profile) -> str:
    """One line on where a profile comes from: game, solver, iterations, gap."""
    meta = profile.meta
    parts = [profile.game or "a game without a name"]
    if isinstance(meta.get("solver"), str):
        parts.append(f"by {meta['solver']}")
    if isinstance(meta.get("iterations"), int):
        parts.append(f"{meta['iterations']:,} iteration{'s' * (meta['iterations'] != 1)}")
    if isinstance(meta.get("nash_conv"), float):
        parts.append(f"gap {gap(meta['nash_conv'])}")
    return plain(", ".join(parts))


def strategy(rows: Sequence[tuple[str, Mapping[Action, float]]], wide: bool) -> Table:
    """Infosets and their action probabilities, with bars where the page is `wide`.

    Few actions get a column each, blank where an action is not legal; many are listed in one column, and those
    that are hardly ever taken are counted.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # The longest lists first: where fold is not legal, it still comes before call.
    columns = list(dict.fromkeys(action for _, p in sorted(rows, key=lambda row: -len(row[1])) for action in p))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("infoset", overflow="fold")
    if len(columns) > MOST_COLUMNS:
        table.add_column("actions", overflow="fold")
        for label, p in rows:
            table.add_row(Text(plain(label)), _listed(p))
        return table
    for action in columns:
        table.add_column(Text(plain(str(action))), justify="left" if wide else "right", no_wrap=True)
    for label, p in rows:
        cells = [_cell(p[action], wide) if action in p else Text("") for action in columns]
        table.add_row(Text(plain(label)), *cells)
    return table


def _cell(p: float, wide: bool) -> Text:
    from rich.text import Text

    style = "dim" if p == 0.0 else "bold" if p > 1.0 - SELDOM else ""
    if not wide:
        return Text(percent(p), style)
    return Text.assemble((bar(p), "cyan"), " ", (percent(p).rjust(6), style))


def _listed(p: Mapping[Action, float]) -> Text:
    from rich.text import Text

    taken = [f"{plain(str(action))}\u00a0{percent(share)}" for action, share in p.items() if share >= SELDOM]
    others = len(p) - len(taken)
    return Text.assemble("  ".join(taken), (f"  ({others} others below 0.1%)" if others else "", "dim"))
