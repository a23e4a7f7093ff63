"""Numbers, tables and strategies as readable text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from kibitz.forms.profile import Profile

SELDOM = 0.0005  # a probability below this prints as <0.1%
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
    """NashConv or another distance from an equilibrium, small or not: 0, 9.98e-05, 4.747."""
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


def by_round(counts: Iterable[int]) -> str:
    """Counts of the rounds of poker: 13 / 205 / 1,774."""
    return " / ".join(f"{count:,}" for count in counts)


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
    """One line on where a profile comes from: game, solver, iterations, NashConv."""
    meta = profile.meta
    parts = [profile.game or "a game without a name"]
    if isinstance(meta.get("solver"), str):
        parts.append(f"by {meta['solver']}")
    if isinstance(meta.get("iterations"), int):
        parts.append(f"{meta['iterations']:,} iteration{'s' * (meta['iterations'] != 1)}")
    if isinstance(meta.get("nash_conv"), float):
        parts.append(f"NashConv {gap(meta['nash_conv'])}")
    return plain(", ".join(parts))
