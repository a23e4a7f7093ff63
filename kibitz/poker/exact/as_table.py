"""Profiles of poker forms as a table: keys and values of a hash table (kernels.walk.hash), which compiled matches read.

Probabilities are written as regrets and as averages, so that players of every kind find them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.exact.deal import DealRound
from kibitz.poker.rules import acpc
from kibitz.poker.rules.machine import DIGEST, PokerMachine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
VIEW = "isomorphic"  # the abstraction that rows of the whole game are of


def hand_rows(machine: PokerMachine, infosets: Any, probabilities: Floats) -> tuple[Words, NDArray[np.float32]]:
    """(keys, values) of a profile of the whole game, up to the names of suits.

    An infoset of the form may stand for hands of one strength that differ by more than names of suits: then each has
    a row.
    """
    from kibitz.poker.rules.kernels.machine import join

    form = infosets.form
    if form.buckets is not None:
        raise GameError("a profile of buckets cannot be seated: lift it to the game first")
    _check_game(machine, form)
    node, of_class = infosets.order()
    level = form.betting.round[node]
    seen, row = [], []
    for number, cards in enumerate(form.cards.rounds):
        here = np.flatnonzero(level == number)
        sights, first = _sights(machine, number, cards)
        start = first[of_class[here]]
        counts = first[of_class[here] + 1] - start
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        seen.append(sights[np.repeat(start, counts) + within])
        row.append(np.repeat(here, counts))
    rows = np.concatenate(row)
    keys = np.zeros(len(rows), np.uint64)
    join(np.concatenate(seen), node[rows].astype(np.uint64), keys)
    return keys, _values(infosets, rows, probabilities, machine.actions)


def bucket_rows(machine: PokerMachine, infosets: Any, probabilities: Floats) -> tuple[Any, Words, NDArray[np.float32]]:
    """(abstraction or layout of views, keys, values) of a profile of buckets."""
    from kibitz.poker.rules.kernels.machine import join_buckets

    form = infosets.form
    _check_game(machine, form)
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
    return abstraction, keys, _values(infosets, np.arange(len(keys)), probabilities, machine.actions)


def _check_game(machine: PokerMachine, form: Any) -> None:
    if acpc.write(form.definition) != acpc.write(machine.definition):  # whatever each is called
        raise GameError(f"the profile is of {form.spec or 'another game'}, not of {machine.spec}")


def _values(infosets: Any, rows: Ints, probabilities: Floats, actions: int) -> NDArray[np.float32]:
    """[rows, 2 x actions]  the probabilities of some infosets, twice."""
    first = infosets.first
    width = np.diff(first)[rows]
    values = np.zeros((len(rows), 2 * actions), np.float32)
    for action in range(int(width.max(initial=0))):
        has = np.flatnonzero(width > action)
        played = probabilities[first[rows[has]] + action]
        values[has, action] = played
        values[has, actions + action] = played
    return values


def _sights(machine: PokerMachine, number: int, cards: DealRound) -> tuple[Words, Ints]:
    """(what a seat may see of the cards in a round, class by class; where each class begins)."""
    from kibitz.poker.rules.kernels.machine import sights

    boards = np.repeat(cards.boards, np.diff(cards.board_hand), axis=0)
    keys = np.zeros(len(cards.hands), np.uint64)
    sights(machine.game, machine.view(VIEW).keys, machine.states(boards, cards.hands), number, keys)
    order = np.lexsort((keys, cards.hand_class))
    keys, of_class = keys[order], cards.hand_class[order]
    new = np.ones(len(keys), bool)
    new[1:] = (keys[1:] != keys[:-1]) | (of_class[1:] != of_class[:-1])
    return keys[new], np.searchsorted(of_class[new], np.arange(cards.classes + 1))
