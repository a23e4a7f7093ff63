"""From buckets of hands to a form: what it will cost, the joint weights, and the form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.tables import QUICK, Tell, state
from kibitz.core.errors import GameError, SolverError
from kibitz.core.resources import cores
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.infosets import BucketInfosets
from kibitz.poker.bucketed.layout import BucketLayout
from kibitz.poker.bucketed.weights import joint_weights, recipe_of
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker

RATE = {"cpu": 3.5e10, "gpu": 4.5e13}  # operations a second: of a core of Neoverse-N1, and of an H200


def layout_of(game: Poker, buckets: HandBuckets) -> BucketLayout:
    """What lies where in a game within buckets."""
    if not buckets.perfect_recall:
        raise SolverError(
            f"{buckets.name} forgets buckets of earlier rounds; a bucket form needs buckets that name their path: take "
            "recall=true, or sample the game (kibitz train)"
        )
    return BucketLayout(game, buckets.name, buckets.digest, [of.parent for of in buckets.rounds])


def cost(layout: BucketLayout, buckets: HandBuckets, device: str = "cpu") -> dict[str, Any]:
    """What solving takes, before it is begun: bytes, operations, and seconds, roughly."""
    recipe = recipe_of(buckets)
    known = "quick" if recipe.work < QUICK else state(recipe)
    rate = RATE[device] * (cores() if device == "cpu" else 1)
    return {
        "weights": {"bytes": recipe.bytes, "state": known, "seconds": recipe.work / cores(), "pieces": recipe.pieces},
        "operations": 4 * layout.products,
        "iteration_seconds": 4 * layout.products / rate + 1e-8 * layout.sequences / (1 if device == "cpu" else 100),
        "bytes": {"weights": layout.weight_bytes, "solve": layout.solve_bytes},
    }


def bucket_form(game: Poker, buckets: HandBuckets, device: str = "cpu", tell: Tell | None = None) -> BucketForm:
    """The form of a game within buckets. Refused before the start where memory is too small."""
    forms: dict[Any, BucketForm] = game.__dict__.setdefault("_bucket_forms", {})
    key = (buckets.digest, device)
    if key not in forms:
        layout = layout_of(game, buckets)
        check_memory(layout, Device(device))
        weights = joint_weights(buckets, tell, device)
        forms.clear()  # one at a time: they are large
        forms[key] = BucketForm(game, buckets.name, buckets.digest, list(layout.parents), weights, device)
    return forms[key]


def check_memory(layout: BucketLayout, device: Device) -> None:
    """Refuse a form that does not fit, with what would make it fit."""
    needed, free = layout.weight_bytes + layout.solve_bytes, device.free()
    if needed > free:
        counts = " / ".join(f"{count:,}" for count in layout.rows.tolist())
        raise SolverError(
            f"{layout.spec} within {layout.abstraction} ({counts} buckets) takes about {needed / 1e9:,.1f} GB to "
            f"solve, and {free / 1e9:,.1f} GB are free {'on the GPU' if device.on_gpu else 'here'}: take fewer buckets "
            "in the last round"
        )


def infosets_of(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], columns: int) -> BucketInfosets:
    """The infosets that a file holds; what is theirs is taken out of `meta`. columns: it has probabilities for so many.

    What is wrong with them is a ValueError, KeyError or TypeError.
    """
    definition, name, digest = (str(meta.pop(key)) for key in ("poker", "buckets", "buckets_digest"))
    parsed = acpc.parse(definition, "the profile's definition")
    parents = []
    for level in range(parsed.rounds):
        parent = arrays[f"bucket_parent_{level}"]
        if parent.ndim != 1 or parent.dtype.kind not in "iu" or not 0 < len(parent) <= columns:
            raise ValueError("its buckets are damaged")
        parents.append(parent.astype(np.int64))
    game = Poker(parsed, str(meta.get("game", "")))
    try:
        layout = BucketLayout(game, name, digest, parents)
    except GameError as error:
        raise ValueError(str(error)) from None
    if layout.columns != columns:
        raise ValueError(f"its buckets have {layout.columns:,} columns, and it holds {columns:,}")
    return BucketInfosets(layout)
