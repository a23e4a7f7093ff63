"""Random numbers of walks and matches: splitmix64, a counter that is hashed.

Where a generator stands is one word, so a walk or a deal begins with a word that follows from the seed and its number
alone. In arrays called `random` the first word is that state; the others are scratch for the rules of a game.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.devices import by_device
from kibitz.core.jit import ONE, U64, small_part

NONE = U64(0)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11, SHIFT_32, SHIFT_40 = (U64(k) for k in (30, 27, 31, 11, 32, 40))
MIX_1, MIX_2 = U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)
GOLDEN = U64(0x9E3779B97F4A7C15)
TO_UNIT, TO_UNIT_SINGLY = 1.0 / (1 << 53), np.float32(1.0 / (1 << 24))
SCRATCH = 96  # words of an array `random`


@small_part
def mix(x):
    """The finaliser of splitmix64: a good hash of 64 bits."""
    x = (x ^ (x >> SHIFT_30)) * MIX_1
    x = (x ^ (x >> SHIFT_27)) * MIX_2
    return x ^ (x >> SHIFT_31)


@small_part
def seed_of(seed, number):
    """Where the random numbers of a deal begin."""
    return mix(mix(U64(seed) + GOLDEN) ^ mix(U64(number) * GOLDEN + ONE))


@small_part
def next_word(random):
    """64 random bits."""
    random[0] += GOLDEN
    return mix(random[0])


def _to_unit(word):
    """A word as a number in [0, 1)."""
    return (word >> SHIFT_11) * TO_UNIT


def _to_unit_singly(word):
    return np.float32(word >> SHIFT_40) * TO_UNIT_SINGLY


to_unit = by_device(_to_unit, _to_unit_singly)


@small_part
def next_unit(random):
    """A number in [0, 1)."""
    random[0] += GOLDEN
    return to_unit(mix(random[0]))


@small_part
def next_below(random, count):
    """A whole number below `count`, which is below 2^32."""
    random[0] += GOLDEN
    return ((mix(random[0]) >> SHIFT_32) * count) >> SHIFT_32


@small_part
def choose(probability, width, draw):
    """The action that a number in [0, 1) picks; rounding never picks one of probability 0."""
    last = NONE
    for a in range(width):
        if probability[a] > 0.0:
            last = a
            draw -= probability[a]
            if draw < 0.0:
                break
    return last
