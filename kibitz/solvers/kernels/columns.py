"""Rows at the place that their key names: regrets and averages of poker with buckets (`kibitz.poker.rules.rows`).

A key is a row's first column and one more. What a walk finds is added at once. Threads may share a store without locks:
a sum that is lost where two meet in one row changes a sample or two in millions.

The average is kept for some columns alone, those from `low` on. A store that is only played from has bytes: an action's
share of 255, which is off by at most 1/510.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.devices import add
from kibitz.core.jit import ONE, U64, kernel
from kibitz.games.kernels.dispatch import register
from kibitz.solvers.kernels.match import average_of, greedy_of, match_regrets
from kibitz.solvers.kernels.store import averaged as played


class ColumnStore(NamedTuple):
    """C columns."""

    regret: np.ndarray  # float32[C]
    average: np.ndarray  # float32[]  of columns low, low + 1, ...
    low: np.uint64


class ByteStore(NamedTuple):
    """C columns of a strategy that is played, not learned."""

    share: np.ndarray  # uint8[C]


def locate(store, key, evict, count):
    return key - ONE


def look(store, key):
    return key - ONE


def matched(store, at, width, probability):
    match_regrets(store.regret, at, width, probability)


def averaged(store, at, width, probability):
    kept = at - store.low  # unsigned: what lies below is far above
    if kept < U64(len(store.average)):
        average_of(store.average, kept, store.regret, at, width, probability)
    else:
        match_regrets(store.regret, at, width, probability)


def greedy(store, at, width, probability):
    greedy_of(store.regret, at, width, probability)


def regret_of(store, at, action):
    return store.regret[at + action]


def add_average(store, at, width, weight, probability):
    kept = at - store.low
    if kept < U64(len(store.average)):
        for a in range(width):
            add(store.average, kept + a, np.float32(weight * probability[a]))


def add_regret(store, at, key, width, weight, values, value, evict, count):
    for a in range(width):
        add(store.regret, at + a, np.float32(weight * (values[a] - value)))


register(ColumnStore, locate, look, matched, averaged, greedy, regret_of, add_average, add_regret)


def byte_shares(store, at, width, probability):
    total = 0.0
    for a in range(width):
        probability[a] = store.share[at + a]
        total += probability[a]
    for a in range(width):
        probability[a] = probability[a] / total if total > 0.0 else 1.0 / width


def byte_greedy(store, at, width, probability):
    greedy_of(store.share, at, width, probability)


register(ByteStore, locate, look, matched=byte_shares, averaged=byte_shares, greedy=byte_greedy)


@kernel
def scale(array, first, last, factor):
    """Multiply some columns."""
    for at in range(first, last):
        array[at] *= factor


@kernel
def read(store, keys, widths, out):
    """Average strategies by key. keys: uint64[n]; widths: int64[n]; out: float64[n, W]."""
    for i in range(len(keys)):
        played(store, keys[i] - ONE, U64(widths[i]), out[i])


@kernel
def to_bytes(node, span, buckets, column, store, most, probability, out):
    """The average strategy of all rows as shares of 255, which sum to 255; most: all on the largest regret instead.

    node: int32[N, 6] of a poker machine; span: int64[P, 2] nodes of a place; buckets: int64[P]; column:
    int64[P, seats]; out: uint8[C].
    """
    for place in range(len(span)):
        for k in range(span[place, 0], span[place, 1]):
            if node[k, 0] < 0 or column[place, node[k, 0]] < 0:
                continue
            width = U64(node[k, 2])
            for bucket in range(buckets[place]):
                at = U64(column[place, node[k, 0]] + bucket * node[k, 4] + node[k, 5])
                if most:
                    greedy_of(store.regret, at, width, probability)
                else:
                    played(store, at, width, probability)
                left = 255
                best = U64(0)
                for a in range(width):
                    share = int(probability[a] * 255.0)
                    out[at + a] = share
                    left -= share
                    if probability[a] > probability[best]:
                        best = a
                out[at + best] += left


@kernel
def copy_blocks(source, begin, onto, first, size, chosen):
    """Copy the columns of chosen places. begin, first, size: int64[P]; chosen: bool[P]."""
    for place in range(len(size)):
        if chosen[place]:
            for k in range(size[place]):
                onto[first[place] + k] = source[begin[place] + k]
