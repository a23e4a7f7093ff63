"""Profiles of a poker form as rows of a table, so that compiled matches can seat them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.exact.deal import Round
from kibitz.poker.rules import acpc
from kibitz.poker.rules.machine import PokerMachine

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
VIEW = "isomorphic"  # the abstraction that the rows are of


def seated_rows(
    machine: PokerMachine, infosets: Any, probabilities: NDArray[np.float64]
) -> tuple[Words, NDArray[np.float32]]:
    """(keys, values) of a hash table (kernels.walk.hash) that plays a profile of a poker form, up to names of suits.

    An infoset of the form may stand for hands of one strength that differ by more than names of suits: then each has
    a row. Probabilities are written as regrets and as averages, so that players of every kind find them.
    """
    from kibitz.poker.rules.kernels.machine import join

    form = infosets.form
    if form.buckets is not None:
        raise GameError("a profile within buckets cannot be seated: lift it to the game first")
    if acpc.write(form.definition) != acpc.write(machine.definition):  # whatever each is called
        raise GameError(f"the profile is of {form.spec or 'another game'}, not of {machine.spec}")
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
    rows, width = np.concatenate(row), np.diff(infosets.first)
    keys = np.zeros(len(rows), np.uint64)
    join(np.concatenate(seen), node[rows].astype(np.uint64), keys)
    values = np.zeros((len(rows), 2 * machine.actions), np.float32)
    for action in range(int(width.max(initial=0))):
        has = np.flatnonzero(width[rows] > action)
        played = probabilities[infosets.first[rows[has]] + action]
        values[has, action] = played
        values[has, machine.actions + action] = played
    return keys, values


def _sights(machine: PokerMachine, number: int, cards: Round) -> tuple[Words, Ints]:
    """(what a seat may see of the cards in a round, class by class; where each class begins)."""
    from kibitz.poker.rules.kernels.machine import sights

    boards = np.repeat(cards.boards, np.diff(cards.board_hand), axis=0)
    found = np.zeros(len(cards.hands), np.uint64)
    sights(machine.game, machine.view(VIEW).keys, machine.states(boards, cards.hands), number, found)
    order = np.lexsort((found, cards.hand_class))
    found, of_class = found[order], cards.hand_class[order]
    new = np.ones(len(found), bool)
    new[1:] = (found[1:] != found[:-1]) | (of_class[1:] != of_class[:-1])
    return found[new], np.searchsorted(of_class[new], np.arange(cards.classes + 1))
