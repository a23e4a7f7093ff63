"""A hash table of rows: regrets and averages by key, for games without a tree.

A key's home follows from its upper bits; it lies there or in one of the `window` places behind. Keys are never removed,
only replaced, so a search may stop at the first empty place. When a window is full, a new row takes the place of the
row in it with the least average weight, that is, of the one that was visited least (evict), or is not kept (refuse).

A table that has its full size has windows of WINDOW places. One that may still grow has homes in its first half and
windows as long as that: no row is lost in it while less than half of its places are taken, and walks stop at a quarter
(`crowded`), so that the caller can lay the rows out in a larger one.

Threads may share a table without locks: a place is claimed by an atomic exchange, and a lost sum of two that meet in
one row changes a sample or two in millions. With one thread the same seed gives the same bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from kibitz.core import devices
from kibitz.core.barrier import _address, _fetch_add
from kibitz.core.devices import add, by_device
from kibitz.core.jit import ONE, U64, kernel, maker, part
from kibitz.core.random import NONE
from kibitz.games.kernels.dispatch import register
from kibitz.solvers.kernels.match import average_of, greedy_of, match_regrets

WINDOW = U64(16)
HALF = U64(32)
VISITED, ADDED, EVICTED, REFUSED = 0, 1, 2, 3  # places in a count of what happened
NEVER = 1 << 62  # rows at which a table grows that has its full size


class HashStore(NamedTuple):
    """R places, of which those from `span` on are only overflow, and one more row that stands for all that have none.

    A row has room for W actions.
    """

    key: np.ndarray  # uint64[R]  0: empty
    value: np.ndarray  # float32[R + 1, 2 W]  regrets, then weights in the average; the last row stays 0
    span: np.uint64  # homes
    window: np.uint64  # places from its home on in which a key may lie; span + window <= R
    limit: np.int64  # rows at which it is crowded
    used: np.ndarray  # int64[1]  rows


@intrinsic
def _claim(typingctx, array, index, new):
    """Atomically: if array[index] is 0, make it `new`; returns what was there."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        zero = context.get_constant(types.uint64, 0)
        return builder.extract_value(builder.cmpxchg(place, zero, args[2], "monotonic", "monotonic"), 0)

    return types.uint64(array, types.uint64, types.uint64), codegen


def _claim_slowly(array, index, new):
    """What `_claim` does, for one thread."""
    here = array[index]
    if here == 0:
        array[index] = new
    return here


def _claim_place(array, index, new):
    """If array[index] is 0, make it `new`, before any other thread does; returns what was there."""
    return _claim(array, index, new)


def _claim_place_on_gpu(array, index, new):
    return devices.cuda.atomic.cas(array, index, NONE, new)


def _count_row(used):
    """Count a row that was added."""
    return _fetch_add(used, 0, 1)


def _count_row_slowly(used):
    used[0] += 1


def _count_row_on_gpu(used):
    return devices.cuda.atomic.add(used, 0, 1)


claim_place = by_device(_claim_place, _claim_place_on_gpu, _claim_slowly)
count_row = by_device(_count_row, _count_row_on_gpu, _count_row_slowly)


@part
def wide(store):
    """Actions that a row has room for."""
    return U64(store.value.shape[1]) >> ONE


@part
def home(key, span):
    return ((key >> HALF) * span) >> HALF


@part
def find(store, key):
    """The place of a key, or the last row if it is not there."""
    places = U64(len(store.key))
    first = home(key, store.span)
    for at in range(first, first + store.window):
        here = store.key[at]
        if here == key:
            return at
        if here == NONE:
            break
    return places


@part
def find_or_add(store, key, evict, count):
    """The place of a key, made if it was not there; R, which nobody writes to, if there is no room. count: int64[4]."""
    places = U64(len(store.key))
    first = home(key, store.span)
    for at in range(first, first + store.window):
        here = store.key[at]
        if here == key:
            return at
        if here == NONE:
            here = claim_place(store.key, at, key)
            if here == NONE:
                count[ADDED] += 1
                count_row(store.used)
                return at
            if here == key:
                return at
    if not evict or store.limit < NEVER:
        count[REFUSED] += 1
        return places
    room = wide(store)
    least = first
    lowest = np.float32(np.inf)
    for at in range(first, first + store.window):
        weight = np.float32(0.0)
        for a in range(room):
            weight += store.value[at, room + a]
        if weight < lowest:
            lowest = weight
            least = at
    count[EVICTED] += 1
    store.key[least] = key
    for a in range(room + room):
        store.value[least, a] = 0.0
    return least


@kernel
def scale(store, first, last, factor):
    """Multiply regrets and averages of some places: the discount of linear CFR."""
    for at in range(first, last):
        for a in range(store.value.shape[1]):
            store.value[at, a] *= factor


@kernel
def look_up(store, keys, widths, out):
    """Average strategies by key. keys: uint64[n]; widths: int64[n]; out: float64[n, W]."""
    room = wide(store)
    for i in range(len(keys)):
        row = store.value[find(store, keys[i])]
        average_of(row, room, row, NONE, U64(widths[i]), out[i])


@maker
def fill(store, keys, values):
    """Put rows into an empty table; False if one does not find a place."""
    count = np.zeros(4, np.int64)
    fill_in(store, keys, values, False, count)
    return count[REFUSED] == 0


@kernel
def move_in(store, keys, values, evict, count):
    """Put rows into an empty table; what finds no place is lost or drives another out, as in training."""
    fill_in(store, keys, values, evict, count)


@part
def fill_in(store, keys, values, evict, count):
    places = U64(len(store.key))
    for i in range(len(keys)):
        at = find_or_add(store, keys[i], evict, count)
        if at < places:
            for a in range(store.value.shape[1]):
                store.value[at, a] = values[i, a]


# The interface of stores


def locate(store, key, evict, count):
    return find_or_add(store, key, evict, count)


def look(store, key):
    return find(store, key)


def matched(store, at, width, probability):
    match_regrets(store.value[at], NONE, width, probability)


def averaged(store, at, width, probability):
    average_of(store.value[at], wide(store), store.value[at], NONE, width, probability)


def greedy(store, at, width, probability):
    greedy_of(store.value[at], NONE, width, probability)


def silent(store, at, width):
    room, most = wide(store), np.float32(0.0)
    for a in range(width):
        most = max(most, store.value[at, a], store.value[at, room + a])
    return most <= 0.0


def add_average(store, at, width, weight, probability):
    if at < U64(len(store.key)):
        room = wide(store)
        for a in range(width):
            add(store.value, (at, room + a), np.float32(weight * probability[a]))


def add_regret(store, at, key, width, weight, values, value, evict, count):
    places = U64(len(store.key))
    if at == places or store.key[at] != key:  # another row may have taken its place since
        at = find_or_add(store, key, evict, count)
    if at < places:
        for a in range(width):
            add(store.value, (at, a), np.float32(weight * (values[a] - value)))


def crowded(store):
    return store.used[0] >= store.limit


register(HashStore, locate, look, matched, averaged, greedy, silent, add_average, add_regret, crowded)


def hash_store(rows: int, actions: int, grows: bool = False) -> HashStore:
    """An empty table. grows: whether it is to be laid out anew, in a larger one, when it is crowded."""
    span, window, limit = (rows // 2, rows // 2, rows // 4) if grows else (rows - int(WINDOW), int(WINDOW), NEVER)
    return HashStore(
        np.zeros(rows, np.uint64), np.zeros((rows + 1, 2 * actions), np.float32), np.uint64(span), np.uint64(window),
        np.int64(limit), np.zeros(1, np.int64),
    )  # fmt: skip
