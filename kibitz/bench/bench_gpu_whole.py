"""Sweeps over all boards of limit hold'em on a GPU: checks first, then boards a second."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.whole.strategy import NodeStrategy

GAME = "poker(file=holdem.limit.2p)"
WAYS = 8  # buckets that each bucket is cut into in the next round


def stand_in_buckets(definition: Any, seed: int = 0) -> HandBuckets:
    """Buckets that are made in seconds, for measurements: by ranks of the hand before the last round, in the last cut
    by strength. They have the sizes of percentile(8) and cost a sweep the same, and are no good for play."""
    from kibitz.cards.boards import boards_of, pairs

    boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
    rounds = []
    for level, here in enumerate(boards.rounds):
        count = WAYS ** (level + 1)
        parent = np.arange(count) // WAYS if level else np.zeros(count, np.int64)
        if level + 1 == len(boards.rounds):
            most = 2 * (boards.hands(level, 2) + 1)
            rounds.append(RoundBuckets(count, parent, None, np.tile(np.arange(WAYS) * most // WAYS, count // WAYS)))
            break
        table = np.empty((len(here.cards), boards.hands(level, 2)), np.uint16)
        hands = pairs(boards.live(level), 2)
        for board, cards in enumerate(here.cards):
            rank = np.setdiff1d(boards.deck, cards)[hands].astype(np.int64) >> 2
            mixed = (rank[:, 0] * 13 + rank[:, 1] + 191 * board + 7 * seed).astype(np.uint64) * np.uint64(2654435761)
            table[board] = (mixed >> np.uint64(16)) % np.uint64(count)
        rounds.append(RoundBuckets(count, parent, table))
    return HandBuckets(f"stand-in {seed}", boards, 2, tuple(rounds))


def random_strategy(betting: Any, buckets: HandBuckets, seed: int) -> NodeStrategy:
    """Random probabilities."""
    level = np.minimum(betting.round, betting.definition.rounds - 1)

    def rows(node: int) -> Any:
        width = len(betting.actions[int(betting.actions_of[node])])
        drawn = np.random.default_rng([seed, node]).random((buckets.counts[int(level[node])], width), np.float32)
        return drawn / drawn.sum(axis=1, keepdims=True)

    digest = hashlib.sha256(f"random {seed} {buckets.name}".encode()).hexdigest()
    return NodeStrategy((buckets,), np.zeros(len(betting), np.int64), rows, digest)
