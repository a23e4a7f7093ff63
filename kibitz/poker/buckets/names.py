"""Abstractions of compact forms: buckets of hands on boards, for the form and for the tree of the same game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import spec as specs
from kibitz.forms.choice import compact_form
from kibitz.poker.buckets.buckets import NAMES, hand_buckets, is_bucket_name
from kibitz.poker.buckets.hand_buckets import HandBuckets, form_buckets

if TYPE_CHECKING:
    from kibitz.games.tree import Infosets
    from kibitz.poker.buckets.gameshrink import Shrunk

Ints = NDArray[np.int64]


def poker_buckets(form: Any, source: Any) -> tuple[str, Any]:
    """(name, buckets) of an abstraction of a poker form.

    source  "gameshrink", "gameshrink(reading=win-count, threshold=[0, 50, 2])", a Shrunk; "percentile(8)" or another
            name of `kibitz.poker.buckets.buckets`, the folder where such buckets were saved, HandBuckets; or buckets:
            for each round, class of hands -> bucket, for both seats or for each
    """
    from kibitz.poker.buckets.gameshrink import Shrunk, name_of, shrunk_by_name

    if is_bucket_name(source):
        buckets = hand_buckets(form.definition, source)
        return buckets.name, buckets.classes(form.cards)
    if isinstance(source, Shrunk):
        return name_of(source), shrunk_buckets(form, source)
    if not isinstance(source, str):
        return "buckets", source
    spec = specs.parse(source)
    if spec.name != "gameshrink":
        raise specs.unknown("abstraction of a poker form", spec.name, ["gameshrink", *NAMES])
    return str(spec), shrunk_buckets(form, shrunk_by_name(form.definition, spec))


def shrunk_buckets(form: Any, shrunk: Shrunk) -> list[Ints]:
    """The classes of GameShrink as buckets of a poker form. Classes that the form holds as one must be one here too."""
    return form_buckets(form.cards, shrunk.of)


# The tree of the same game


def reads_form(source: Any) -> bool:
    """Whether an abstraction is one of a poker form: GameShrink's, or buckets of hands."""
    return is_bucket_name(source) or (isinstance(source, str) and source.strip().startswith("gameshrink"))


def tree_keys(rules: Any, infosets: Infosets, spec: specs.Spec | HandBuckets) -> Ints | None:
    """For each infoset of a poker game's tree what it shares a row by: "suits", or a name that the poker form knows.

    None for other names, and for suits of one card in the hand and one on the board, which `cards.py` reads.
    """
    several = rules.definition.hole > 1 or sum(rules.definition.board) > 1
    if not reads_form(spec if isinstance(spec, HandBuckets) else str(spec)) and not (spec.name == "suits" and several):
        return None
    form: Any = compact_form(rules)
    mine: Ints
    mine, node, number = form.infosets.places(infosets)
    if isinstance(spec, specs.Spec) and spec.name == "suits":
        specs.call(lambda: None, spec)
        return mine
    _, buckets = poker_buckets(form, spec if isinstance(spec, HandBuckets) else str(spec))
    by_seat = buckets if isinstance(buckets, tuple) else (buckets, buckets)
    level, seat = form.betting.round[node], form.betting.turn[node]
    bucket = np.empty(len(node), np.int64)
    for who, of_seat in enumerate(by_seat):
        for at, of in enumerate(of_seat):
            here = (level == at) & (seat == who)
            bucket[here] = of[number[here]]
    return np.asarray(node * (int(bucket.max(initial=0)) + 1) + bucket)
