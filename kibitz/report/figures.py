"""What a page shows, as data: tables, crosstables, dots by size, lines over iterations, times.

`kibitz.report` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
    matrix: Sequence[Sequence[float | None]]  # None: not known
    unit: str
    side: tuple[tuple[str, list[float]], ...] = ()  # columns of figures beside it
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class Dot:
    """A strategy in a figure of strategies: its mean over random initialisations, with the range."""

    name: str
    group: str
    size: int
    mean: float
    low: float
    high: float
    paper: float | None = None  # the paper's figure
    beyond: bool = False  # a strategy that the paper does not have


@dataclass(frozen=True)
class Scatter:
    """A figure of each strategy, a dot each, in a panel for each group."""

    name: str
    title: str
    label: str
    dots: tuple[Dot, ...]
    text: str = ""  # a paragraph beside it
    heading: str = "base abstraction "  # of a panel, before its group
    beyond: str = "not in the paper"  # what hollow dots are


@dataclass(frozen=True)
class Line:
    """One line of a panel: the mean over repetitions, with a band of one standard deviation to either side."""

    name: str
    at: tuple[float, ...]  # iterations, or what the figure counts
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    dashed: bool = False
    like: str = ""  # it has the colour of this line, and no label of its own
    joined: bool = True  # otherwise points alone


@dataclass(frozen=True)
class FigurePanel:
    title: str
    lines: tuple[Line, ...]
    levels: tuple[tuple[str, float], ...] = ()  # heights with a name
    marks: tuple[tuple[str, float], ...] = ()  # places on the axis across with a name


@dataclass(frozen=True)
class Curves:
    """Lines over iterations, in panels with one scale, two of them side by side."""

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
    ticks: tuple[float, ...] = ()  # of an axis that counts a few things: these values are marked, and no others
    falling: bool = False  # values across fall from left to right


@dataclass(frozen=True)
class Duration:
    """How long something took until one of the goals of a picture."""

    name: str  # of what took so long
    goal: str
    seconds: float
    text: str  # the time in words


@dataclass(frozen=True)
class Times:
    """Times on one scale of logarithms, from seconds to years: a row for each name, a dot for each goal."""

    name: str  # of the file
    title: str
    label: str
    durations: tuple[Duration, ...]
    note: str = ""  # under the figure
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class PointGroup:
    """FigurePoints of one colour."""

    name: str
    points: tuple[tuple[float, float], ...]  # (across, up)


@dataclass(frozen=True)
class FigurePoints:
    """Two figures of the same things against each other, with the line on which both are equal."""

    name: str  # of the file
    title: str
    across: str
    label: str
    groups: tuple[PointGroup, ...]
    text: str = ""  # a paragraph beside it


Picture: TypeAlias = Heat | Scatter | Curves | Times | FigurePoints


def picture_data(picture: Picture) -> dict[str, Any]:
    """A picture as plain data, from which `picture_of` makes it again."""
    return {"kind": type(picture).__name__, **asdict(picture)}


def picture_of(data: Mapping[str, Any]) -> Picture:
    """The picture that `picture_data` wrote down."""
    fields = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == "Heat":
        side = tuple((title, list(values)) for title, values in fields["side"])
        return Heat(**{**fields, "names": tuple(fields["names"]), "side": side})
    if data["kind"] == "Scatter":
        return Scatter(**{**fields, "dots": tuple(Dot(**dot) for dot in fields["dots"])})
    if data["kind"] == "FigurePoints":
        groups = (PointGroup(each["name"], tuple((x, y) for x, y in each["points"])) for each in fields["groups"])
        return FigurePoints(**{**fields, "groups": tuple(groups)})
    if data["kind"] == "Times":
        return Times(**{**fields, "durations": tuple(Duration(**each) for each in fields["durations"])})
    panels = tuple(
        FigurePanel(
            panel["title"],
            tuple(Line(**{**each, **{key: tuple(each[key]) for key in ("at", "mean",
                                                                       "sd")}}) for each in panel["lines"]),
            tuple((name, height) for name, height in panel["levels"]),
            tuple((name, place) for name, place in panel.get("marks", ())),
        )
        for panel in fields["panels"]
    )
    lists = {key: tuple(fields[key]) for key in ("palette", "ticks")}
    return Curves(**{**fields, **lists, "panels": panels})


def line(name: str, at: Sequence[int], values: NDArray[np.float64], dashed: bool = False, like: str = "") -> Line:
    """values: [repetitions, evaluations]"""
    sd = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return Line(name, tuple(at), tuple(values.mean(axis=0).tolist()), tuple(sd.tolist()), dashed, like)


def dot(
    name: str, group: str, size: int, spread: Spread, paper: float | None = None, beyond: bool = False
) -> Dot:  # fmt: skip
    """A strategy with the spread of its figure."""
    return Dot(name, group, size, spread.mean, spread.low, spread.high, paper, beyond)
