"""What a page shows, as data: tables, crosstables, dots by size, lines over iterations. `kibitz.report` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Spread:
    """A figure over all random initialisations."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def sd(self) -> float:
        """The standard deviation as of a sample; 0 for one initialisation."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def data(self) -> dict[str, Any]:
        return {"mean": self.mean, "sd": self.sd, "min": self.low, "max": self.high, "starts": list(self.values)}

    def text(self, digits: int = 1) -> str:
        """44.2 ± 5.6"""
        return f"{self.mean:.{digits}f} ± {self.sd:.{digits}f}"

    def text_with_range(self, digits: int = 1) -> str:
        """44.2 ± 5.6 [35.0, 52.1]: with the least and the greatest."""
        return f"{self.text(digits)} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


@dataclass(frozen=True)
class Sheet:
    """A table to be read. The first column is text, the others are figures."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    table: int | str | None = None  # the number of the paper's table that it recomputes


@dataclass(frozen=True)
class Heat:
    """A crosstable to be drawn: rows against columns."""

    name: str  # of the file
    title: str
    names: tuple[str, ...]
    matrix: list[list[float]]
    unit: str
    side: tuple[tuple[str, list[float]], ...] = ()  # columns of figures beside it
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class Dot:
    """A strategy in a figure of sizes: its mean over starts, with the range."""

    name: str
    group: str
    size: int
    spread: Spread
    paper: tuple[int, float] | None = None  # the paper's size and figure
    beyond: bool = False  # a strategy that the paper does not have


@dataclass(frozen=True)
class Scatter:
    """A figure against the size of the largest computation, a dot for each strategy."""

    name: str
    title: str
    label: str
    dots: tuple[Dot, ...]
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class Line:
    """One line of a panel: the mean over repetitions, with a band of one standard deviation to either side."""

    name: str
    at: tuple[float, ...]  # iterations, or what the figure counts
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    dashed: bool = False
    like: str = ""  # it has the colour of this line, and no label of its own


@dataclass(frozen=True)
class FigurePanel:
    title: str
    lines: tuple[Line, ...]
    levels: tuple[tuple[str, float], ...] = ()  # heights with a name


@dataclass(frozen=True)
class Curves:
    """Lines over iterations, in panels side by side with one scale."""

    name: str  # of the file
    title: str
    label: str
    panels: tuple[FigurePanel, ...]
    log_x: bool = True
    log_y: bool = False
    palette: tuple[str, ...] = ()  # names in the order of colours, so that figures agree
    note: str = ""  # under the figure: what the kinds of lines are
    text: str = ""  # a paragraph beside it
    across: str = "iterations"  # what is counted to the right
    floor: float = 1e-5  # the lowest height on a scale of logarithms


Picture: TypeAlias = Heat | Scatter | Curves


def line(name: str, at: Sequence[int], values: NDArray[np.float64], dashed: bool = False, like: str = "") -> Line:
    """values: [repetitions, evaluations]"""
    sd = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return Line(name, tuple(at), tuple(values.mean(axis=0).tolist()), tuple(sd.tolist()), dashed, like)
