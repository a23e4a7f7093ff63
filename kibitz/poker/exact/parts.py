"""Parts of a poker form's infosets: by betting, by private cards, and the conditions of a grafting partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.treeplex import Points
from kibitz.poker.exact.operator import PokerOperator
from kibitz.poker.rules.betting import BettingTree

Ints = NDArray[np.int64]


def by_actions(form: Any, lists: list[list[set[str]]]) -> Ints:
    """[I] as `nodes_by_actions`. form: of poker, with the betting tree and infosets that know their betting nodes."""
    nodes, _ = form.infosets.order()
    parts: Ints = nodes_by_actions(form.betting, lists)[nodes]
    return parts


def nodes_by_actions(betting: BettingTree, lists: list[list[set[str]]]) -> Ints:
    """[betting nodes] part j + 1 where the players' actions begin with list j, each step of which is a set of actions;
    else 0."""
    part = np.zeros(len(betting), np.int64)
    done: list[list[int]] = [[0] * len(lists)]  # by node: steps of each list so far, -1: not on it
    for node in range(1, len(betting)):
        up = int(betting.parent[node])
        part[node], steps = part[up], list(done[up])
        if betting.turn[up] >= 0 and not part[up]:
            action = betting.actions[betting.actions_of[up]][betting.action[node]]
            for j, wanted in enumerate(lists):
                if steps[j] >= 0:
                    steps[j] = steps[j] + 1 if action in wanted[steps[j]] else -1
                    if steps[j] == len(wanted):
                        part[node] = j + 1
        done.append(steps)
    return part


def by_private(form: PokerOperator) -> tuple[list[str], Ints, Ints]:
    """(what seats can hold, [I] which of it, [I] betting round from 1)."""
    nodes, classes = form.infosets.order()
    level = form.betting.round[nodes].astype(np.int64)
    texts = [form.cards.text(0, int(form.cards.rounds[0].board_of_class[c]), hand)
            for c, hand in enumerate(form.cards.rounds[0].hand)]  # fmt: skip
    names, of_first = np.unique([form.game.private(f"{cards}:")[0] for cards in texts], return_inverse=True)
    of_class = [of_first.astype(np.int64)]
    for cards in form.cards.rounds[1:]:
        of_class.append(of_class[-1][cards.up])
    what = np.empty(len(nodes), np.int64)
    for at, of in enumerate(of_class):
        what[level == at] = of[classes[level == at]]
    return [str(name) for name in names], what, level + 1


def check(form: Any, points: Sequence[Points], name: str, names: tuple[str, ...], part: Ints) -> None:
    """Condition 3: no way from one part j >= 1 of a seat into another. points: by seat, its decisions from the root."""
    here = form.to_strategy(np.repeat(part, form.infosets.width).astype(np.float64)).astype(np.int64)
    here[form.seat_sequence[:-1]] = 0
    entered = np.zeros(form.sequences, np.int64)
    for seat, of_seat in enumerate(points):
        for before_all, after in of_seat:
            mine, before = here[after[0]], entered[before_all]
            wrong = np.flatnonzero((mine > 0) & (before > 0) & (mine != before))
            if len(wrong):
                at = np.arange(form.sequences) == after[0, wrong[0]]
                column = int(form.by_column(at.astype(np.float64)).argmax())
                label = form.infosets.labels[int(np.searchsorted(form.infosets.first, column, side="right")) - 1]
                raise GameError(
                    f"{name} is not a grafting partition: seat {seat} comes from part {names[before[wrong[0]]]!r} into "
                    f"part {names[mine[wrong[0]]]!r} at {label!r} (condition 3: stay, or go to the base)"
                )
            entered[after] = np.where(mine > 0, mine, before)
