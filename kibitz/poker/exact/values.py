"""The probability that play comes to each infoset of a poker form, and the value of each action there."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.protocol import InfosetValues, over
from kibitz.poker.exact.decisions import Decisions
from kibitz.poker.exact.operator import PokerOperator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# The cards that both cannot hold are taken off a sum: what is left of the chance of a hand, as a share of it, is
# rounding below this.
ROUNDING = 1e-13


def infoset_values(form: PokerOperator, first: Ints, probabilities: Floats) -> InfosetValues:
    if form.buckets is not None:
        raise GameError("infoset values are those of the real game: lift the profile from its buckets first")
    strategy = form.to_strategy(probabilities)
    plan = form.plan(strategy)
    paying = _paying_one(form)
    reach, worth, weight = (np.zeros(form.sequences) for _ in range(3))
    for seat in (0, 1):
        mine = slice(*form.seat_sequence[seat : seat + 2].tolist())
        worth[mine], weight[mine] = form.gradient(seat, plan), paying.gradient(seat, plan)
        for before, after, least in reversed(list(_rows(form, seat))):
            # After one action as likely as after another, as far as the others and chance decide.
            there = weight[after[0]]
            there[there < least] = 0.0
            reach[after] = plan[before] * there
            np.add.at(weight, before, there)
            np.add.at(worth, before, (strategy[after] * worth[after]).sum(axis=0))
            weight[after] = there
    columns = form.by_column(reach), form.by_column(worth), form.by_column(weight)
    return InfosetValues(columns[0][first[:-1]], over(columns[1], columns[2]))


def _paying_one(form: PokerOperator) -> PokerOperator:
    """The same game with a payoff of 1 wherever it ends: what a sequence earns in it is how likely it is to end there.

    A showdown pays by who has the better hand; a fold pays the same to all hands, so all ends are folds.
    """
    from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

    table, other = form.table, copy.copy(form)
    turn = np.where(table.turn == SHOWDOWN, FOLD, table.turn).astype(table.turn.dtype)
    lanes, nodes = np.diff(table.group_lane), np.diff(table.group_node)
    level = np.repeat(np.arange(form.definition.rounds), np.diff(form.groups.round_group))
    chance = np.repeat(form.cards.chance[level], lanes * nodes)
    ends = np.repeat(turn == FOLD, np.repeat(lanes, nodes))
    stake = np.ascontiguousarray(np.broadcast_to(np.where(ends, chance, 0.0), table.stake.shape))
    other.table = table._replace(turn=turn, stake=stake)
    return other


def _rows(form: PokerOperator, seat: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    """A seat's decisions, from the first on, for all hands at once: (the sequences before [hands], the sequences that
    follow [actions, hands], the chance of a hand [hands] that is rounding)."""
    tree = Decisions(form, seat)
    for segment, k in tree.nodes():
        share = form.cards.rounds[int(form.levels[segment])].share
        yield tree.before(segment, k), tree.after(segment, k), ROUNDING / share.sum() * share
