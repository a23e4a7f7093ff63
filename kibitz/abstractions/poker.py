"""Abstractions of poker games: buckets of hands on boards, for the poker form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz import spec as specs
from kibitz.errors import SolverError

if TYPE_CHECKING:
    from kibitz.abstractions.gameshrink import Shrunk
    from kibitz.form.poker import PokerForm
    from kibitz.form.poker_table import Buckets

Ints = NDArray[np.int64]


def poker_buckets(form: PokerForm, source: Any) -> tuple[str, Buckets | list[Ints]]:
    """(name, buckets) of an abstraction of a poker form.

    source  "gameshrink", "gameshrink(reading=win-count, threshold=[0, 50, 2])", a Shrunk, or buckets: for each round,
            class of hands -> bucket, for both seats or for each
    """
    from kibitz.abstractions.gameshrink import Shrunk, shrink
    from kibitz.abstractions.signals import Cards

    if isinstance(source, Shrunk):
        lossy = f", threshold={specs.show(source.threshold)}" if any(source.threshold) else ""
        return f"gameshrink(reading={source.reading}{lossy})", shrunk_buckets(form, source)
    if not isinstance(source, str):
        return "buckets", source
    spec = specs.parse(source)
    if spec.name != "gameshrink":
        raise specs.unknown("abstraction of a poker form", spec.name, ["gameshrink"])

    def gameshrink(reading: str = "strict", threshold: Any = None) -> Shrunk:
        return shrink(Cards.of(form.definition), reading, 0 if threshold is None else threshold)

    return str(spec), shrunk_buckets(form, specs.call(gameshrink, spec))


def shrunk_buckets(form: PokerForm, shrunk: Shrunk) -> list[Ints]:
    """The classes of GameShrink as buckets of a poker form: for each round, class of hands -> bucket.

    Classes that the form holds as one must be one here too.
    """
    found = []
    for level, cards in enumerate(form.cards.rounds):
        board = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
        every = shrunk.of(level, np.concatenate((cards.hands, cards.boards[board]), axis=1).astype(np.int64))
        bucket = np.empty(cards.classes, np.int64)
        bucket[cards.hand_class] = every
        if (bucket[cards.hand_class] != every).any():
            raise SolverError(f"in round {level} hands that the form holds as one are in different classes")
        found.append(np.unique(bucket, return_inverse=True)[1].astype(np.int64))
    return found
