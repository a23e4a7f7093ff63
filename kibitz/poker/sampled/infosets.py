"""Infosets of a layout of views: a bucket and the betting. A file holds the definition, the views by name and
fingerprint, and which node of the betting sees through which."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.protocol import ProfileInfosets
from kibitz.poker.bucketed.infosets import BucketInfosets
from kibitz.poker.exact.infosets import _Labels
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.layout import HandView, ViewLayout

Ints = NDArray[np.int64]


class ViewInfosets(BucketInfosets):
    """Infosets of a seat by segment, node and bucket of the node's view."""

    _form: ViewLayout  # type: ignore[assignment]

    def __init__(self, form: ViewLayout) -> None:
        rows = form.rows[form.order]
        first = int((form.betting.turn[form.order] == 0).sum())
        start = np.concatenate(([0], np.cumsum(rows)))
        # Written past the frozen class, as in PokerInfosets; `_start` is by node here.
        self.__dict__.update(
            _form=form, _start=start, labels=_Labels(self), actions=list(form.betting.actions),
            seat_start=start[[0, first, -1]].astype(np.int32),
        )  # fmt: skip

    def same(self, other: ProfileInfosets) -> bool:
        return isinstance(other, ViewInfosets) and self._form.tree_digest == other._form.tree_digest

    def order(self) -> tuple[Ints, Ints]:
        """(betting node, bucket) of every infoset in order."""
        rows = self._form.rows[self._form.order]
        starts = np.repeat(self._start[:-1], rows)
        return np.repeat(self._form.order, rows), np.arange(int(self._start[-1])) - starts

    def _spread(self, of_node: Any) -> Ints:
        form = self._form
        return np.repeat(np.array([of_node(node) for node in form.order.tolist()], np.int64), form.rows[form.order])

    def label(self, infoset: int) -> str:
        at = int(np.searchsorted(self._start, infoset, side="right")) - 1
        return f"bucket {infoset - int(self._start[at])}:{self._form.betting.text[int(self._form.order[at])]}"

    def find(self, seat: int, label: str) -> int:
        """The infoset of a seat with a label such as "bucket 3:cr"."""
        form = self._form
        cards, _, betting = label.partition(":")
        node = self._by_text.get(betting.strip(), -1)
        if node < 0 or form.betting.turn[node] != seat:
            raise GameError(f"seat {seat} has no infoset {label!r}: it is not its turn after {betting!r}")
        number, rows = re.fullmatch(r"bucket (\d{1,9})", cards), int(form.rows[node])
        if number is None or int(number[1]) >= rows:
            raise GameError(f"{cards!r} is not a bucket there: they are 'bucket 0' to 'bucket {rows - 1}'")
        return int(self._start[int(np.flatnonzero(form.order == node)[0])]) + int(number[1])

    def stored_arrays(self) -> dict[str, NDArray[Any]]:
        return {"view_of_node": self._form.of_node.astype(np.int32)}

    def stored_meta(self) -> dict[str, Any]:
        views = [[view.name, view.digest, list(view.counts)] for view in self._form.views]
        return {"poker": self.definition, "actions": [], "views": views}


def infosets_of(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], columns: int) -> ViewInfosets:
    """The infosets that a file holds; what is theirs is taken out of `meta`. columns: it has probabilities for so many.

    What is wrong with them is a ValueError, KeyError or TypeError.
    """
    parsed = acpc.parse(str(meta.pop("poker")), "the profile's definition")
    listed, of_node = meta.pop("views"), arrays["view_of_node"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= len(of_node) or of_node.dtype.kind not in "iu":
        raise ValueError("its views are damaged")
    views = []
    for name, digest, counts in listed:
        if not all(isinstance(n, int) and 1 <= n <= columns for n in counts):
            raise ValueError("its views are damaged")
        views.append(HandView(str(name), str(digest), tuple(counts)))
    try:
        layout = ViewLayout(Poker(parsed, str(meta.get("game", ""))), views, of_node)
    except GameError as error:
        raise ValueError(str(error)) from None
    if layout.columns != columns or len(layout.views) != len(views):
        raise ValueError(f"its views have {layout.columns:,} columns, and it holds {columns:,}")
    return ViewInfosets(layout)
