"""The classes of GameShrink as buckets of hands, so that whoever takes buckets takes one kind of thing."""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.cards.boards import boards_of
from kibitz.core import spec as specs
from kibitz.poker.buckets.cuts import number_type
from kibitz.poker.buckets.gameshrink import Shrunk, shrink
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.buckets.signals import Cards


def name_of(shrunk: Shrunk) -> str:
    """The spec that makes these classes again."""
    lossy = f", threshold={specs.show(shrunk.threshold)}" if any(shrunk.threshold) else ""
    return f"gameshrink(reading={shrunk.reading}{lossy})"


def shrunk_by_name(definition: Any, spec: specs.Spec) -> Shrunk:
    """The classes that gameshrink(reading=..., threshold=...) names."""

    def gameshrink(reading: str = "strict", threshold: Any = None) -> Shrunk:
        return shrink(Cards.of(definition), reading, 0 if threshold is None else threshold)

    return specs.call(gameshrink, spec)


def shrunk_hands(definition: Any, shrunk: Shrunk) -> HandBuckets:
    """The classes of GameShrink as buckets: those of a parent follow one another."""
    boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
    hole = definition.hole
    rounds: list[RoundBuckets] = []
    renamed = np.zeros(1, np.int64)  # class of the round before -> bucket
    for level, here in enumerate(boards.rounds):
        each = boards.hands(level, hole)
        held = np.stack([boards.hands_on(level, board, hole) for board in range(len(here.cards))])
        shown = np.broadcast_to(here.cards[:, None], (len(here.cards), each, here.cards.shape[1]))
        cards = np.concatenate((held, shown), axis=2).reshape(len(here.cards) * each, -1).astype(np.int64)
        parent = renamed[shrunk.parent[level]] if level else np.zeros(len(shrunk.parent[0]), np.int64)
        order = np.argsort(parent, kind="stable")
        renamed = np.empty(len(order), np.int64)
        renamed[order] = np.arange(len(order))
        table = renamed[shrunk.of(level, cards)].reshape(len(here.cards), each)
        rounds.append(RoundBuckets(len(order), parent[order], table.astype(number_type(len(order)))))
    return HandBuckets(name_of(shrunk), boards, hole, tuple(rounds), {"rounds": [{} for _ in rounds]})
