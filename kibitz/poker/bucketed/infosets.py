"""Infosets of a bucket form: a bucket and the betting. A file holds the definition and which bucket follows which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.protocol import ProfileInfosets
from kibitz.games import Game
from kibitz.poker.exact.infosets import PokerInfosets

if TYPE_CHECKING:
    from kibitz.poker.bucketed.layout import BucketLayout

Ints = NDArray[np.int64]


class BucketInfosets(PokerInfosets):
    """Infosets of a seat by segment, node and bucket."""

    _form: BucketLayout  # type: ignore[assignment]

    def __init__(self, form: BucketLayout) -> None:
        super().__init__(form)  # type: ignore[arg-type]

    @property
    def plain(self) -> bool:
        """A file can hold them: it says how buckets follow one another, and which they are by name and fingerprint."""
        return True

    def same(self, other: ProfileInfosets) -> bool:
        return isinstance(other, BucketInfosets) and self._form.tree_digest == other._form.tree_digest

    def of_game(self, game: Game | None) -> bool:
        """Buckets merge what the game tells apart."""
        return False

    def places(self, of_tree: Any) -> tuple[Ints, Ints, Ints]:
        raise GameError("infosets of buckets are not those of the game's tree")

    def order(self) -> tuple[Ints, Ints]:
        """(betting node, bucket) of every infoset in order."""
        form, rows = self._form, []
        for of_seat in self._nodes:
            for segment, nodes in enumerate(of_seat):
                rows.append(np.tile(np.arange(int(form.rows[form.levels[segment]])), len(nodes)))
        return self._spread(lambda node: node), np.concatenate(rows)

    def as_table(
        self, machine: Any, probabilities: NDArray[np.float64]
    ) -> tuple[str, NDArray[np.uint64], NDArray[np.float32]]:
        from kibitz.poker.exact.as_table import bucket_rows

        return bucket_rows(machine, self, probabilities)

    def stored_arrays(self) -> dict[str, NDArray[Any]]:
        return {f"bucket_parent_{level}": parent.astype(np.int32) for level, parent in enumerate(self._form.parents)}

    def stored_meta(self) -> dict[str, Any]:
        form = self._form
        return {"poker": self.definition, "actions": [], "buckets": form.abstraction,
                "buckets_digest": form.buckets_digest}  # fmt: skip
