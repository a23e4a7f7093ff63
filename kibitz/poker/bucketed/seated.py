"""Profiles of a bucket form as rows of a table, so that compiled matches can seat them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.rules import acpc
from kibitz.poker.rules.machine import DIGEST, PokerMachine

Words = NDArray[np.uint64]


def seated_rows(
    machine: PokerMachine, infosets: Any, probabilities: NDArray[np.float64]
) -> tuple[Any, Words, NDArray[np.float32]]:
    """(abstraction or layout of views, keys, values) of a hash table (kernels.walk.hash) that plays a profile."""
    from kibitz.poker.rules.kernels.machine import join_buckets

    form = infosets.form
    if acpc.write(form.definition) != acpc.write(machine.definition):
        raise GameError(f"the profile is of {form.spec or 'another game'}, not of {machine.spec}")
    abstraction = form if hasattr(form, "of_node") else machine.view(form.abstraction).name
    if abstraction is not form and bytes(machine.view(form.abstraction).arrays.get(DIGEST, b"")).hex() != (
        form.buckets_digest
    ):
        raise GameError(
            f"the profile was solved within other buckets than {form.abstraction} makes now: solve it again"
        )
    node, bucket = (each.astype(np.uint64) for each in infosets.order())
    keys = np.empty(len(node), np.uint64)
    join_buckets(bucket, node, keys)
    del node, bucket
    # As probabilities are written for profiles of a poker form: as regrets and as averages.
    first, actions = infosets.first, machine.actions
    width = np.diff(first)
    values = np.zeros((len(keys), 2 * actions), np.float32)
    for action in range(int(width.max(initial=0))):
        has = np.flatnonzero(width > action)
        played = probabilities[first[has] + action]
        values[has, action] = played
        values[has, actions + action] = played
    return abstraction, keys, values
