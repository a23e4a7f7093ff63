"""Options that are numbers: each name has one range, the same in every command, and it is checked as it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from kibitz.core.errors import SolverError

EVERYWHERE = 1 << 53  # whole numbers up to here are the same as floating-point numbers, in files and in kernels


@dataclass(frozen=True)
class Range:
    """From `low` to `high`; without `low` itself if it is `above`."""

    low: float
    high: float
    above: bool = False

    def check(self, option: str, value: Any) -> None:
        """Refuse a number that is not inside, nan among them."""
        if value != value:
            raise SolverError(f"{option} nan should be a number")
        if value < self.low or (self.above and value == self.low):
            raise SolverError(f"{option} {shown(value)} should be {self._least}")
        if value > self.high:
            raise SolverError(f"{option} {shown(value)} should be {self._least}, and at most {shown(self.high)}")

    @property
    def _least(self) -> str:
        return f"above {shown(self.low)}" if self.above else f"{shown(self.low)} or more"


SECONDS = Range(0, 1e9, above=True)  # thirty years
RANGES: dict[str, Range] = {
    "--ante": Range(0, 1e9),
    "--begin": Range(2, 99),
    "--bins": Range(1, 1_000),
    "--checkpoint-every": SECONDS,
    "--deals": Range(1, EVERYWHERE),
    "--every": SECONDS,
    "--hands": Range(1, EVERYWHERE),
    "--hours": Range(0, 1e5, above=True),
    "--iterations": Range(0, EVERYWHERE),
    "--jobs": Range(1, 1_024),
    "--late": Range(0, 1_000_000),
    "--limit": Range(0, EVERYWHERE),
    "--local": Range(1, EVERYWHERE),
    "--memory": Range(1, EVERYWHERE),  # bytes; what the machine has is checked when it is asked for
    "--player": Range(0, 99),
    "--players": Range(2, 3),
    "--prune": Range(0, 1e15, above=True),
    "--port": Range(0, 65_535),
    "--rounds": Range(1, 99),
    "--sampled": Range(1, EVERYWHERE),
    "--sampled-seeds": Range(1, 1_000),
    "--samples": Range(1, EVERYWHERE),
    "--seat": Range(0, 99),
    "--seconds": SECONDS,
    "--seed": Range(0, (1 << 63) - 1),
    "--starts": Range(1, 1_000_000),
    "--threads": Range(1, 1_024),
    "--threshold": Range(0, (1 << 31) - 2),
    "--timeout": SECONDS,
    "--top": Range(0, 100_000_000),
    "--until": Range(0, 1e300),  # a gap; 0 is never reached by most solvers
    "--wait": SECONDS,
}


def number(option: str, **how: Any) -> Any:
    """A typer.Option that takes a number within the option's range."""
    inside = RANGES[option]

    def check(value: Any) -> Any:
        if value is not None:
            inside.check(option, value)
        return value

    return typer.Option(option, callback=check, **how)


def _device(value: str) -> str:
    if value not in DEVICES:
        raise SolverError(f"--device {value:.40}: choose {' or '.join(DEVICES)}")
    return value


DEVICES = ("cpu", "gpu")
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE",
        callback=_device,
        help="cpu, or gpu (needs kibitz[gpu]) for poker within buckets such as percentile(8).",
    ),
]


def checked(option: str, value: Any) -> Any:
    """A number that was read from an option's text (500MB; 0,50,2), if it is within the option's range."""
    RANGES[option].check(option, value)
    return value


def counted(text: str) -> int:
    """A number such as 24M or 1.5G."""
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kKmMgG]?)\s*", text)
    if found is None or float(found[1]) <= 0:
        raise SolverError(f"--limit {text} should be a number of infosets, as 24M")
    return int(float(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2].lower()])


def shown(value: float) -> str:
    """A number for a sentence: short, however long it is."""
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value}"
    try:
        return f"{float(value):.3g}"
    except OverflowError:
        return "of so many digits"
