"""Where two strategies differ most: infosets by how likely play comes there and how far apart the two are.

The weight of an infoset I is reach(I) times distance(I):

    reach(I)     the probability that play comes to I, chance and all seats, the mean of that under either strategy
    distance(I)  the total-variation distance of the two distributions, half the sum of absolute differences

The sum over the infosets of a seat is how many of its decisions in a hand differ, on average.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.frame import Frame
from kibitz.core.store import kind_at
from kibitz.evaluate import report
from kibitz.evaluate.infosets import infoset_values
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.problem import on_tree
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import CompactForm
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.games.trusted import recalled, same_game
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.solvers.saved_blueprints import load_blueprint

Floats = NDArray[np.float64]
Strategy = Profile | Blueprint | str | os.PathLike[str]
TOP = 20  # infosets in the table unless more are asked for


@dataclass(frozen=True, repr=False)
class Difference:
    """What two strategies are worth, and where they differ most."""

    game: str
    value: tuple[list[float], list[float]]  # of each strategy, by seat
    nash_conv: tuple[float, float]
    exploitability: tuple[float, float]  # NashConv over seats
    total: list[float]  # by seat: the sum of weights
    infosets: int  # that differ at all
    table: Frame  # those of the largest weight: seat, infoset, reach, reach_one, reach_other, distance, weight, ...

    def __repr__(self) -> str:
        gaps = ", ".join(
            f"{name}: NashConv {gap:.6g}, exploitability {each:.6g}"
            for name, gap, each in zip(("one", "other"), self.nash_conv, self.exploitability, strict=True)
        )
        return f"{self.game}\n{gaps}\n{self.infosets:,} infosets differ\n{self.table!r}"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def diff(
    one: Strategy, other: Strategy, game: Game | Tree | str | None = None, *, top: int = TOP, seat: int | None = None
) -> Difference:
    """Where two strategies of one game differ most, weighted by reach, with NashConv of both.

    one, other  profiles, blueprints of games that can be laid out, or the paths of saved ones
    game        the game; default: the built-in one that the first strategy names
    top         so many infosets; 0 for all that differ
    seat        only infosets of this seat

        kibitz.diff(kibitz.load("a.profile"), kibitz.load("b.profile")).table
    """
    if top < 0:
        raise GameError(f"top={top} should be 0 or more")
    strategies = [_loaded(each, game) for each in (one, other)]
    names = [_game_of(each) for each in strategies]
    if all(names) and not same_game(*names):
        raise GameError(f"the strategies play different games: {names[0]} and {names[1]}")
    subject, profiles = _on_one(recalled(names[0], "the strategy", "game=...") if game is None else game, strategies)
    infosets = profiles[0].infosets
    if seat is not None and not 0 <= seat < infosets.seats:
        raise GameError(f"there is no seat {seat}: seats are 0 to {infosets.seats - 1}")
    figures = [report(subject, profile) for profile in profiles]
    reach = np.array([infoset_values(subject, profile).reach for profile in profiles])
    moved = profiles[1].probabilities - profiles[0].probabilities
    distance = 0.5 * np.bincount(np.asarray(infosets.row_of_column), np.abs(moved), reach.shape[1])
    weight = reach.mean(axis=0) * distance
    seats = np.searchsorted(infosets.seat_start, np.arange(len(weight)), side="right") - 1
    chosen = np.flatnonzero((weight > 0.0) & ((seats == seat) | (seat is None)))
    order = chosen[np.argsort(-weight[chosen], kind="stable")]
    shown = order[:top] if top else order
    return Difference(
        subject.spec, (figures[0]["value"], figures[1]["value"]), (figures[0]["nash_conv"], figures[1]["nash_conv"]),
        (figures[0]["exploitability"], figures[1]["exploitability"]),
        np.bincount(seats, weight, infosets.seats).tolist(), len(chosen),
        Frame({
            "seat": seats[shown], "infoset": [infosets.labels[i] for i in shown.tolist()],
            "reach": reach.mean(axis=0)[shown], "reach_one": reach[0][shown], "reach_other": reach[1][shown],
            "distance": distance[shown], "weight": weight[shown],
            "one": [_said(profiles[0], i) for i in shown.tolist()],
            "other": [_said(profiles[1], i) for i in shown.tolist()],
        }),
    )  # fmt: skip


def _loaded(source: Strategy, game: Any) -> Profile | Blueprint:
    if isinstance(source, Profile | Blueprint):
        return source
    if not Path(source).is_dir():
        raise GameError(f"no saved strategy at {source}: `kibitz solve` and `kibitz train` write them")
    if kind_at(source) == "blueprint":
        return load_blueprint(source, game=game if isinstance(game, str) else None)
    return Profile.load(source)


def _game_of(strategy: Profile | Blueprint) -> str:
    return strategy.game if isinstance(strategy, Profile) else str(strategy.machine.spec)


def _on_one(game: Game | Tree | str, strategies: list[Profile | Blueprint]) -> tuple[Tree | CompactForm, list[Profile]]:
    """(the tree of a game, or the form that needs none, and the strategies on it)."""
    rules: Any = None if isinstance(game, Tree) else make_game(game)
    compact = [each for each in strategies if isinstance(each, Profile) and each.infosets.compact is not None]
    if rules is not None and not needs_tree(rules) and len(compact) == len(strategies):
        return compact_form(rules), compact
    tree = game if isinstance(game, Tree) else tree_of(rules)
    laid = [blueprint_profile(each, tree) if isinstance(each, Blueprint) else each for each in strategies]
    return tree, [on_tree(tree, each, rules) for each in laid]


def _said(profile: Profile, infoset: int) -> str:
    """What a strategy does in an infoset, in a line."""
    return ", ".join(f"{action} {100 * p:.1f}%" for action, p in profile.at(infoset).items())
