"""Rows of a tree, side by side in memory: the key of a row is its first column.

What a walk found waits in a log until the walk is over: so a row that the walk meets twice, as rows of an abstraction
with imperfect recall may be, plays the same strategy both times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import U64
from kibitz.core.random import NONE
from kibitz.games.kernels.dispatch import register
from kibitz.solvers.kernels.match import CLOSED, average_of, greedy_of, match_quickly


class DenseStore(NamedTuple):
    """K columns."""

    regret: np.ndarray  # float64[K]; -inf: the action is closed
    average: np.ndarray  # float64[K]
    log_at: np.ndarray  # uint64[L]  columns that the walk will add to
    log_value: np.ndarray  # float64[L]
    logged: np.ndarray  # uint64[1]  entries of the log


def locate(store, key, evict, count):
    return key


def look(store, key):
    return key


def matched(store, at, width, probability):
    match_quickly(store.regret, at, width, probability)


def averaged(store, at, width, probability):
    average_of(store.average, at, store.regret, at, width, probability)


def greedy(store, at, width, probability):
    greedy_of(store.regret, at, width, probability)


def is_open(store, at, action):
    return store.regret[at + action] > CLOSED


def add_average(store, at, width, weight, probability):
    for a in range(width):
        store.average[at + a] += weight * probability[a]


def add_regret(store, at, key, width, weight, values, value, evict, count):
    begin = store.logged[0]
    if begin + width > U64(len(store.log_at)):  # no room to wait in
        for a in range(width):
            store.regret[at + a] += weight * (values[a] - value)
        return
    for a in range(width):
        store.log_at[begin + a] = at + a
        store.log_value[begin + a] = weight * (values[a] - value)
    store.logged[0] = begin + width


def settle(store):
    for i in range(store.logged[0]):
        store.regret[store.log_at[i]] += store.log_value[i]
    store.logged[0] = NONE


register(DenseStore, locate, look, matched, averaged, greedy, is_open, add_average, add_regret, settle)


def dense_store(regret: np.ndarray, average: np.ndarray, log: int) -> DenseStore:
    """A store with a log of its own."""
    return DenseStore(regret, average, np.zeros(log, np.uint64), np.zeros(log), np.zeros(1, np.uint64))
