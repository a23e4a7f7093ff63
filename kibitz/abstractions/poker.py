"""Abstractions of poker games: buckets of hands on boards, for the poker form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import SolverError

if TYPE_CHECKING:
    from kibitz.abstractions.gameshrink import Shrunk
    from kibitz.form.poker import PokerForm

Ints = NDArray[np.int64]


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
