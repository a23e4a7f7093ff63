"""Abstractions of compact forms: buckets of hands on boards, for the form and for the tree of the same game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz import spec as specs
from kibitz.errors import SolverError
from kibitz.form.choice import compact_form
from kibitz.form.protocol import CompactForm

if TYPE_CHECKING:
    from kibitz.abstractions.gameshrink import Shrunk
    from kibitz.tree import Infosets

Ints = NDArray[np.int64]


def poker_buckets(form: CompactForm, source: Any) -> tuple[str, Any]:
    """(name, buckets) of an abstraction of a poker form.

    source  "gameshrink", "gameshrink(reading=win-count, threshold=[0, 50, 2])", a Shrunk, or buckets: for each round,
            class of hands -> bucket, for both seats or for each
    """
    from kibitz.abstractions.gameshrink import Shrunk, shrink
    from kibitz.abstractions.signals import Cards

    if isinstance(source, Shrunk):
        lossy = f", threshold={specs.show(source.threshold)}" if any(source.threshold) else ""
        return f"gameshrink(reading={source.reading}{lossy})", shrunk_buckets(form, source)
    if not isinstance(source, str):
        return "buckets", source
    spec = specs.parse(source)
    if spec.name != "gameshrink":
        raise specs.unknown("abstraction of a poker form", spec.name, ["gameshrink"])

    def gameshrink(reading: str = "strict", threshold: Any = None) -> Shrunk:
        return shrink(Cards.of(form.definition), reading, 0 if threshold is None else threshold)

    return str(spec), shrunk_buckets(form, specs.call(gameshrink, spec))


def shrunk_buckets(form: CompactForm, shrunk: Shrunk) -> list[Ints]:
    """The classes of GameShrink as buckets of a poker form: for each round, class of hands -> bucket.

    Classes that the form holds as one must be one here too.
    """
    found = []
    for level, cards in enumerate(form.cards.rounds):
        board = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
        every = shrunk.of(level, np.concatenate((cards.hands, cards.boards[board]), axis=1).astype(np.int64))
        bucket = np.empty(cards.classes, np.int64)
        bucket[cards.hand_class] = every
        if (bucket[cards.hand_class] != every).any():
            raise SolverError(f"in round {level} hands that the form holds as one are in different classes")
        found.append(np.unique(bucket, return_inverse=True)[1].astype(np.int64))
    return found


# The tree of the same game


def tree_keys(rules: Any, infosets: Infosets, spec: specs.Spec) -> Ints | None:
    """For each infoset of a poker game's tree what it shares a row by: "suits", or a name that the poker form knows.

    None for other names, and for suits of one card in the hand and one on the board, which `cards.py` reads.
    """
    several = rules.definition.hole > 1 or sum(rules.definition.board) > 1
    if spec.name != "gameshrink" and not (spec.name == "suits" and several):
        return None
    form = compact_form(rules)
    compact = form.infosets.compact
    mine: Ints
    mine, node, number = compact.places(infosets)
    if spec.name == "suits":
        specs.call(lambda: None, spec)
        return mine
    _, found = poker_buckets(form, str(spec))
    by_seat = found if isinstance(found, tuple) else (found, found)
    level, seat = form.betting.round[node], form.betting.turn[node]
    bucket = np.empty(len(node), np.int64)
    for who, of_seat in enumerate(by_seat):
        for at, of in enumerate(of_seat):
            here = (level == at) & (seat == who)
            bucket[here] = of[number[here]]
    keys: Ints = node * (int(bucket.max(initial=0)) + 1) + bucket
    return keys
