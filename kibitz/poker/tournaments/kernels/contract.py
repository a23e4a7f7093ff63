"""Sums over the hands of two others, for many states at once.

    out[s, t] = sum over p, q of  one[s, p] * two[s, q] * table[p, q, t]

Ranges are sparse: few hands jam after two others did. So the hands of a range that are played are listed first. A table
lies in panels of LANES hands t, [p, panel, q, LANES], so that all rows of a panel fit the first cache while all states
go over them.
"""

from __future__ import annotations

from kibitz.core.jit import ONE, TWO, U64, kernel, part
from kibitz.core.vectors import LANES, add, constant, load, multiply_add, store

CLASSES = U64(169)
PANELS = U64(11)
WIDE = int(PANELS * LANES)  # classes, filled up to whole panels
LISTED = 171  # classes, one to make their number even, and the number


@kernel
def contract(table, one, two, first, last, hands, weight, out):
    """States first to last of out, float32[states x WIDE]. table: float32, flat; one, two: float32[states, 169];
    held: uint64[states, LISTED], weight: float32[states, LISTED]: to work in."""
    begin, end = U64(first), U64(last)
    for s in range(begin, end):
        list_hands(two[s], hands[s], weight[s])
        for t in range(s * U64(WIDE), (s + ONE) * U64(WIDE)):
            out[t] = 0
    for p in range(CLASSES):
        for panel in range(PANELS):
            base = (p * PANELS + panel) * CLASSES * LANES
            for s in range(begin, end):
                if one[s, p] != 0:
                    add_rows(table, base, one[s, p], hands[s], weight[s], out, s * U64(WIDE) + panel * LANES)


@part
def list_hands(two, hands, weight):
    """The hands of a range, an even number; the last entry says how many."""
    many = U64(0)
    for q in range(CLASSES):
        if two[q] != 0:
            hands[many] = q * LANES
            weight[many] = two[q]
            many += ONE
    if many % TWO:
        hands[many] = U64(0)
        weight[many] = 0
        many += ONE
    hands[LISTED - 1] = many


@part
def add_rows(table, base, share, hands, weight, out, at):
    even = constant(out, 0.0)
    odd = constant(out, 0.0)
    for k in range(U64(0), hands[LISTED - 1], TWO):
        even = multiply_add(constant(out, weight[k]), load(table, base + hands[k]), even)
        odd = multiply_add(constant(out, weight[k + ONE]), load(table, base + hands[k + ONE]), odd)
    store(out, at, multiply_add(constant(out, share), add(even, odd), load(out, at)))
