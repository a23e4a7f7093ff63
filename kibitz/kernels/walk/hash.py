"""A hash table of rows in memory that is set aside once: regrets and averages by key, for games without a tree.

A key's home follows from its upper bits; it lies there or in one of the WINDOW places behind. Keys are never removed,
only replaced, so a search may stop at the first empty place. When a window is full, a new row takes the place of the
row in it with the least average weight, that is, of the one that was visited least (evict), or is not kept (refuse).

Threads may share a table without locks: a place is claimed by an atomic exchange, and a lost sum of two that meet in
one row changes a sample or two in millions. With one thread the same seed gives the same bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from kibitz.kernels.barrier import _address
from kibitz.kernels.jit import U64, kernel, maker, part
from kibitz.kernels.walk.sampling import NONE

WINDOW = U64(16)
WIDE = U64(4)  # actions in a row, at most
HALF = U64(32)
BYTES_PER_ROW = 8 + 4 * 8
KEPT, ADDED, EVICTED, REFUSED = 0, 1, 2, 3  # places in a count of what happened


class Table(NamedTuple):
    """R places, of which the last WINDOW are only overflow, and one more row that stands for all that have none."""

    key: np.ndarray  # uint64[R]  0: empty
    value: np.ndarray  # float32[R + 1, 8]  regrets of the actions, then their weights in the average; the last stays 0


@intrinsic
def _claim(typingctx, array, index, new):
    """Atomically: if array[index] is 0, make it `new`; returns what was there."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        zero = context.get_constant(types.uint64, 0)
        return builder.extract_value(builder.cmpxchg(place, zero, args[2], "monotonic", "monotonic"), 0)

    return types.uint64(array, types.uint64, types.uint64), codegen


@part
def home(key, places):
    return ((key >> HALF) * (places - WINDOW)) >> HALF


@part
def find(table, key):
    """The place of a key, or the last row if it is not there."""
    places = U64(len(table.key))
    first = home(key, places)
    for at in range(first, first + WINDOW):
        here = table.key[at]
        if here == key:
            return at
        if here == NONE:
            break
    return places


@part
def find_or_add(table, key, evict, count):
    """The place of a key, made if it was not there; R, which nobody writes to, if there is no room. count: int64[4]."""
    places = U64(len(table.key))
    first = home(key, places)
    for at in range(first, first + WINDOW):
        here = table.key[at]
        if here == key:
            return at
        if here == NONE:
            here = _claim(table.key, at, key)
            if here == NONE:
                count[ADDED] += 1
                return at
            if here == key:
                return at
    if not evict:
        count[REFUSED] += 1
        return places
    least = first
    lowest = np.float32(np.inf)
    for at in range(first, first + WINDOW):
        weight = np.float32(0.0)
        for a in range(WIDE):
            weight += table.value[at, WIDE + a]
        if weight < lowest:
            lowest = weight
            least = at
    count[EVICTED] += 1
    table.key[least] = key
    for a in range(WIDE + WIDE):
        table.value[least, a] = 0.0
    return least


@part
def matched(table, at, width, probability):
    """probability[0:width] by regret matching."""
    total = 0.0
    for a in range(width):
        regret = max(float(table.value[at, a]), 0.0)
        probability[a] = regret
        total += regret
    for a in range(width):
        probability[a] = probability[a] / total if total > 0.0 else 1.0 / width


@part
def averaged(table, at, width, probability):
    """probability[0:width] of the average strategy; by regrets where it was never played."""
    total = 0.0
    for a in range(width):
        probability[a] = table.value[at, WIDE + a]
        total += probability[a]
    if total <= 0.0:
        matched(table, at, width, probability)
        return
    for a in range(width):
        probability[a] /= total


@kernel
def scale(table, first, last, factor):
    """Multiply regrets and averages of some places: the discount of linear CFR."""
    for at in range(first, last):
        for a in range(8):
            table.value[at, a] *= factor


@kernel
def filled(table):
    """Rows in use."""
    rows = 0
    for at in range(len(table.key)):
        rows += table.key[at] != NONE
    return rows


@kernel
def look_up(table, keys, widths, out):
    """Average strategies by key. keys: uint64[n]; widths: int64[n]; out: float64[n, 4]."""
    for i in range(len(keys)):
        averaged(table, find(table, keys[i]), U64(widths[i]), out[i])


@maker
def fill(table, keys, values):
    """Put rows into an empty table; False if one does not find a place."""
    return fill_in(table, keys, values, np.zeros(4, np.int64))


@part
def fill_in(table, keys, values, count):
    places = U64(len(table.key))
    for i in range(len(keys)):
        at = find_or_add(table, keys[i], False, count)
        if at == places:
            return False
        for a in range(WIDE + WIDE):
            table.value[at, a] = values[i, a]
    return True
