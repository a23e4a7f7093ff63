"""A small table of named columns, as functions give it back: shown in a notebook, sorted, turned into pandas."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core import html

SHOWN = 20  # rows that a text shows; of a longer table the first and the last


class Frame:
    """Columns of one length by name: frame["reach"] is a column, frame[3] a row as a dict, frame[:5] some rows."""

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        self._columns: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            words = isinstance(values, list | tuple) and any(isinstance(value, str) for value in values)
            self._columns[name] = np.array(values, object) if words else np.asarray(values)
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("the columns of a frame have one length")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, key: str | int | slice | NDArray[Any]) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(f"there is no column {key!r}: columns are {', '.join(self.columns)}")
            return self._columns[key]
        if isinstance(key, slice | np.ndarray):
            return Frame({name: column[key] for name, column in self._columns.items()})
        return {name: _plain(column[key]) for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts of plain Python values."""
        return list(self)

    def sorted(self, by: str, descending: bool = False) -> Frame:
        """The rows in the order of a column; rows that are alike stay in their order."""
        values = self[by]
        frame: Frame = self[np.argsort(-values if descending else values, kind="stable")]
        return frame

    def to_pandas(self) -> Any:
        """A pandas DataFrame; pandas is not needed for anything else."""
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install pandas, or use records()") from None
        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        count = len(self)
        every = range(count)
        shown = list(every) if count <= SHOWN else [*every[: SHOWN // 2], *every[-SHOWN // 2 :]]
        cells = [list(self.columns), *([_cell(each) for each in self[row].values()] for row in shown)]
        figures = [all(isinstance(self[row][name], int | float) for row in shown) for name in self.columns]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(f"{c:>{w}}" if f else f"{c:<{w}}" for c, w, f in zip(row, widths, figures, strict=True)).rstrip()
            for row in cells
        ]
        if count > len(shown):
            lines.insert(1 + SHOWN // 2, "...")
        return "\n".join([*lines, f"[{count:,} rows, {len(self.columns)} columns]"])

    def _repr_html_(self) -> str:
        rows = [[_cell(each) for each in self[row].values()] for row in range(min(len(self), html.MOST_ROWS))]
        words = next((k for k, name in enumerate(self.columns) if self[name].dtype.kind == "f"), len(self.columns))
        return html.table(list(self.columns), rows, left=words, of=len(self))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.6g}"
