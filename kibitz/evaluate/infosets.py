"""Infoset by infoset: how likely play comes there, and what each action is worth. Exact, in the real game."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.evaluate import probabilities_of
from kibitz.form.kinds import is_form, is_poker, is_poker_form, is_poker_infosets
from kibitz.form.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.protocol import TERMINAL
from kibitz.profile import Profile
from kibitz.tree import Tree, tree_of

if TYPE_CHECKING:
    from kibitz.form import Form, PokerForm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# In poker the cards that both cannot hold are taken off a sum: what is left of the chance of a hand, as a share of
# it, is rounding below this.
ROUNDING = 1e-13


class InfosetValues(NamedTuple):
    """Figures of a profile, in the order of its infosets and of its probabilities."""

    reach: Floats  # [infosets]  probability that play comes there, all seats and chance; where a seat forgets and may
    #   come there twice in one play, how often it does on average
    values: Floats  # [columns]  what the seat to move gets on average if it takes the action there and then goes on as
    #   the profile does; NaN where the others and chance never let play come there


def infoset_values(game: Game | Tree | Form | str, profile: Profile) -> InfosetValues:
    """The probability of coming to each infoset, and the expected value of each action there.

    Values are given that the infoset is reached. Where only the seat's own play avoids it they are those of the seat
    that comes there against its habit.
    """
    if is_poker_form(game):
        return _of_poker(game, probabilities_of(game, profile))
    if is_form(game):
        raise GameError("a form does not know its tree: give the game itself")
    if not isinstance(game, Tree):
        rules = make_game(game)
        if is_poker_infosets(profile.infosets) and is_poker(rules):
            from kibitz.form.poker.form import poker_form

            return infoset_values(poker_form(rules), profile)
        game = tree_of(rules)
    return _of_tree(game, probabilities_of(form_of(game), profile))


# On a tree


def _levels(tree: Tree) -> list[NDArray[np.int32]]:
    """Histories by depth, without the root."""
    start, child = tree.children
    found: list[NDArray[np.int32]] = []
    level = np.zeros(1, np.int32)
    while len(level):
        counts = (start[level + 1] - start[level]).astype(np.int64)
        before = np.cumsum(counts) - counts
        level = child[np.repeat(start[level] - before, counts) + np.arange(int(counts.sum()))]
        found.append(level)
    return found[:-1]


def _of_tree(tree: Tree, probabilities: Floats) -> InfosetValues:
    infosets, levels = tree.infosets, _levels(tree)
    parent = np.maximum(tree.parent, 0)
    mover = tree.turn[parent]
    mover[0] = TERMINAL  # nobody moves to the root
    moved = mover >= 0
    column = np.full(tree.histories, -1, np.int64)
    column[moved] = infosets.first[tree.infoset[parent[moved]]] + tree.action[moved]
    step = tree.chance.copy()
    step[moved] = probabilities[column[moved]]
    reach, weight = np.zeros(len(infosets.labels)), np.zeros(len(infosets.labels))
    worth = np.zeros(infosets.columns)
    leaves = np.flatnonzero(tree.turn == TERMINAL)
    for seat in range(tree.players):
        mine = mover == seat
        own, others, value = np.ones(tree.histories), np.ones(tree.histories), np.zeros(tree.histories)
        value[leaves] = tree.payoff[:, seat]
        for level in levels:
            up, here = parent[level], mine[level]
            own[level] = own[up] * np.where(here, step[level], 1.0)
            others[level] = others[up] * np.where(here, 1.0, step[level])
        for level in reversed(levels):
            np.add.at(value, parent[level], step[level] * value[level])
        deciding = np.flatnonzero(tree.turn == seat)
        at = tree.infoset[deciding]
        reach += np.bincount(at, own[deciding] * others[deciding], len(reach))
        # A seat that forgets comes to the histories of an infoset by different play of its own; one that does not, by
        # the same, which falls out: so its values are there though it never comes.
        most = np.zeros(len(reach))
        np.maximum.at(most, at, own[deciding])
        share = np.where(most[at] > 0.0, own[deciding] / np.where(most[at] > 0.0, most[at], 1.0), 1.0)
        others[deciding] *= share
        weight += np.bincount(at, others[deciding], len(weight))
        after = np.flatnonzero(mine)
        worth += np.bincount(column[after], others[parent[after]] * value[after], len(worth))
    return InfosetValues(reach, _over(worth, weight[infosets.row_of_column]))


def _over(worth: Floats, weight: Floats) -> Floats:
    """worth / weight; NaN where there is no weight."""
    found = np.full(len(worth), np.nan)
    np.divide(worth, weight, out=found, where=weight > 0.0)
    return found


# On a poker form


def _of_poker(form: PokerForm, probabilities: Floats) -> InfosetValues:
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
    columns = form._columns(reach), form._columns(worth), form._columns(weight)
    return InfosetValues(columns[0][form.infosets.first[:-1]], _over(columns[1], columns[2]))


def _paying_one(form: PokerForm) -> PokerForm:
    """The same game with a payoff of 1 wherever it ends: what a sequence earns in it is how likely it is to end there.

    A showdown pays by who has the better hand; a fold pays the same to all hands, so all ends are folds.
    """
    from kibitz.kernels.poker.passes import FOLD, SHOWDOWN

    table, other = form.table, copy.copy(form)
    turn = np.where(table.turn == SHOWDOWN, FOLD, table.turn).astype(table.turn.dtype)
    lanes, nodes = np.diff(table.group_lane), np.diff(table.group_node)
    level = np.repeat(np.arange(form.definition.rounds), np.diff(form.groups.round_group))
    chance = np.repeat(form.cards.chance[level], lanes * nodes)
    ends = np.repeat(turn == FOLD, np.repeat(lanes, nodes))
    stake = np.ascontiguousarray(np.broadcast_to(np.where(ends, chance, 0.0), table.stake.shape))
    other.table = table._replace(turn=turn, stake=stake)
    return other


def _rows(form: PokerForm, seat: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    """A seat's decisions, from the first on, for all hands at once: (the sequences before [hands], the sequences that
    follow [actions, hands], the chance of a hand [hands] that is rounding)."""
    table, segments = form.table, form.segments
    root = {0: np.full(form.cards.rounds[0].classes, int(form.seat_sequence[seat]), np.int64)}
    for segment, nodes in enumerate(segments.node):
        level, node = int(form.levels[segment]), form.first_node(segment)
        sequences, share = form.sequences_of(seat, segment), form.cards.rounds[level].share
        for k, number in enumerate(nodes.tolist()):
            slot = int(table.slot[seat, node + k])
            before = sequences[int(table.action[node + slot])] if slot else root[segment]
            if table.turn[node + k] == seat:
                first = int(table.action[node + int(table.children[node + k, 0])])
                after = sequences[first : first + int(table.count[node + k])]
                yield before, after, ROUNDING / share.sum() * share
            elif number in segments.exit:
                root[segments.exit[number]] = before[form.cards.rounds[level + 1].up]
