"""Three hands on a river, counted one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import kernel, part


class RiverHands(NamedTuple):
    """The hands of one seat that its range holds, h of them."""

    number: np.ndarray  # int64[h]  of 1,326
    weight: np.ndarray  # float64[h]
    mask: np.ndarray  # uint64[h]  its two cards as bits
    strength: np.ndarray  # int64[h]


@part
def compared(one, other):
    """0 below, 1 equal, 2 above."""
    return (one > other) - (one < other) + 1


@kernel
def add_ends(hands, reach, pays, sums):
    """Add to sums[s][e, hand] what seat s wins at end e, times how likely the others hold theirs and reach it.

    hands: RiverHands of three seats; reach: of each seat float64[E, 1326]; pays: float64[E, 27, 3] by how the hands
    compare. Returns the weight of all deals.
    """
    one, two, three = hands
    first, second, third = reach
    total = 0.0
    for i in range(len(one.number)):
        a = one.number[i]
        for j in range(len(two.number)):
            if one.mask[i] & two.mask[j]:
                continue
            b = two.number[j]
            both = one.mask[i] | two.mask[j]
            here = 9 * compared(one.strength[i], two.strength[j])
            for k in range(len(three.number)):
                if both & three.mask[k]:
                    continue
                c = three.number[k]
                order = here + 3 * compared(one.strength[i], three.strength[k])
                order += compared(two.strength[j], three.strength[k])
                x, y, z = one.weight[i], two.weight[j], three.weight[k]
                total += x * y * z
                for e in range(len(pays)):
                    r, s, t = first[e, a], second[e, b], third[e, c]
                    sums[0, e, a] += x * y * z * s * t * pays[e, order, 0]
                    sums[1, e, b] += x * y * z * r * t * pays[e, order, 1]
                    sums[2, e, c] += x * y * z * r * s * pays[e, order, 2]
    return total
