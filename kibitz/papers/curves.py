"""Figures over iterations as data: a mean and a standard deviation at each look, line by line and panel by panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
class Panel:
    title: str
    lines: tuple[Line, ...]
    levels: tuple[tuple[str, float], ...] = ()  # heights with a name


@dataclass(frozen=True)
class Curves:
    """Lines over iterations, in panels side by side with one scale."""

    name: str  # of the file
    title: str
    label: str
    panels: tuple[Panel, ...]
    log_x: bool = True
    log_y: bool = False
    palette: tuple[str, ...] = ()  # names in the order of colours, so that figures agree
    note: str = ""  # under the figure: what the kinds of lines are
    text: str = ""  # a paragraph beside it
    across: str = "iterations"  # what is counted to the right


def line(name: str, at: Sequence[int], values: NDArray[np.float64], dashed: bool = False, like: str = "") -> Line:
    """values: [repetitions, looks]"""
    sd = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return Line(name, tuple(at), tuple(values.mean(axis=0).tolist()), tuple(sd.tolist()), dashed, like)
