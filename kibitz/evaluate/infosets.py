"""Infoset by infoset: how likely play comes there, and what each action is worth. Exact, in the real game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.frame import Frame
from kibitz.evaluate import Strategy
from kibitz.evaluate.blueprints import laid_out
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.problem import probabilities_of
from kibitz.forms.protocol import CompactForm, Form, InfosetValues, ProfileInfosets, over
from kibitz.forms.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.protocol import TERMINAL
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers.blueprint import Blueprint

Floats = NDArray[np.float64]


class NamedValues(InfosetValues):
    """Figures of a profile with the names of its infosets and actions; `table` has them side by side."""

    infosets: ProfileInfosets
    probabilities: Floats

    @classmethod
    def of(cls, figures: InfosetValues, infosets: ProfileInfosets, probabilities: Floats) -> NamedValues:
        named = cls(*figures)
        named.infosets, named.probabilities = infosets, probabilities
        return named

    @property
    def table(self) -> Frame:
        """A row for each infoset and action: seat, infoset, reach, action, probability, value."""
        infosets = self.infosets
        row = np.asarray(infosets.row_of_column)
        seats = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
        labels = np.array(list(infosets.labels), object)
        names = [np.array([str(action) for action in actions], object) for actions in infosets.actions]
        actions = [names[at] for at in np.asarray(infosets.actions_of).tolist()]
        return Frame({
            "seat": seats[row], "infoset": labels[row], "reach": self.reach[row],
            "action": np.concatenate(actions) if actions else np.zeros(0, object),
            "probability": self.probabilities, "value": self.values,
        })  # fmt: skip

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def infoset_values(game: Game | Tree | Form | str, profile: Strategy) -> NamedValues:
    """The probability of coming to each infoset, and the expected value of each action there.

    Values are given that the infoset is reached. Where only the seat's own play avoids it they are those of the seat
    that comes there against its habit. What comes back has arrays `reach` and `values`, in the order of the profile,
    and `table`, where each row has its names:

        kibitz.infoset_values("leduc", profile).table.sorted("reach", descending=True)[:10]
    """
    if isinstance(profile, Blueprint):
        form, profile = laid_out(profile, game)
        game = game if form.game is None else form
    if not isinstance(game, str | Tree) and isinstance(game, Form):
        if not isinstance(game, CompactForm):
            raise GameError("a form does not know its tree: give the game itself")
        probabilities = probabilities_of(game, profile)
        return NamedValues.of(game.infoset_values(probabilities), game.infosets, probabilities)
    if not isinstance(game, Tree):
        rules = make_game(game)
        if profile.infosets.compact is not None and not needs_tree(rules):
            return infoset_values(compact_form(rules), profile)
        game = tree_of(rules)
    probabilities = probabilities_of(form_of(game), profile)
    return NamedValues.of(_of_tree(game, probabilities), game.infosets, probabilities)


# On a tree


def _of_tree(tree: Tree, probabilities: Floats) -> InfosetValues:
    infosets, levels = tree.infosets, tree.levels
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
    return InfosetValues(reach, over(worth, weight[infosets.row_of_column]))
