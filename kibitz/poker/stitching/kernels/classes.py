"""Buckets by class of hands (`poker/stitching/classes.py`)."""

from __future__ import annotations

from kibitz.core.jit import kernel


@kernel
def renumber(table, classes, moved, out):
    """Numbers of buckets [boards, hands], each moved by what its class says."""
    for b in range(table.shape[0]):
        for h in range(table.shape[1]):
            out[b, h] = table[b, h] + moved[classes[b, h]]
