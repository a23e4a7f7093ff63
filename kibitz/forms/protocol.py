"""What solvers need from a form, and what a profile needs from its infosets.

A *form* is what solvers see of a game: sequences, and the payoff operator between them. It offers what it can:

    Form            identity and sizes: profiles, checkpoints and messages ask no more
    CfrForm         can be solved by CFR
    GpuForm         can be solved by CFR on a GPU too
    GradientForm    has plans, gradients and best responses: lp, egt, smoothing, fp, and exact measures
    SampledForm     is solved by sampling its chance alone, because a sum over all of it takes too long
    CompactForm     was made from the rules, without a tree, and describes itself

`SequenceForm` is made from a game's tree. Nobody asks which game a form is of: `form.game` is None for the form of a
tree, which does not keep its rules. `kibitz.forms.choice` says which form a game is solved on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.treeplex import Treeplex
from kibitz.games.protocol import Action, Game
from kibitz.games.tree import Infosets

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Measure(NamedTuple):
    """Values and best responses of a profile, all seats at once."""

    value: Floats  # [seats]  expected utility
    best: Floats  # [seats]  expected utility of a best response to the others
    nash_conv: float


class InfosetValues(NamedTuple):
    """Figures of a profile, in the order of its infosets and of its probabilities."""

    reach: Floats  # [infosets]  probability that play comes there, all seats and chance; where a seat forgets and may
    #   come there twice in one play, how often it does on average
    values: Floats  # [columns]  what the seat to move gets on average if it takes the action there and then goes on as
    #   the profile does; NaN where the others and chance never let play come there


def over(sums: Floats, weight: Floats) -> Floats:
    """sums / weight; NaN where there is no weight."""
    ratio: Floats = np.divide(sums, weight, out=np.full(len(sums), np.nan), where=weight > 0.0)
    return ratio


# Infosets


class ProfileInfosets(Protocol):
    """What a profile needs from its infosets: I infosets, K columns (one per infoset and action), seat by seat."""

    @property
    def seat_start(self) -> NDArray[np.int32]: ...  # [seats + 1]  first infoset of each seat
    @property
    def first(self) -> Ints: ...  # [I + 1]  first column of each infoset
    @property
    def labels(self) -> Sequence[str]: ...  # what the seat knows, for a person
    @property
    def actions(self) -> list[tuple[Action, ...]]: ...  # the distinct lists of actions
    @property
    def actions_of(self) -> NDArray[np.int32]: ...  # [I]  infoset -> index into `actions`
    @property
    def seats(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def width(self) -> NDArray[np.int32]: ...  # [I]  number of actions
    @property
    def row_of_column(self) -> Ints: ...  # [K]
    @property
    def plain(self) -> bool: ...  # whether a file can hold them: it cannot hold buckets
    @property
    def compact(self) -> CompactInfosets | None: ...  # themselves, if they are those of a compact form

    def number_of(self, seat: int, label: str) -> int | None:
        """The infoset of a seat with a label, if there is one."""

    def find(self, seat: int, label: str) -> int:
        """The same; an error that helps where there is none."""

    def seat_of(self, infoset: int) -> int: ...

    def same(self, other: ProfileInfosets) -> bool:
        """Are these the infosets of one game, in one form?"""

    def same_shape(self, other: ProfileInfosets) -> bool:
        """Whether probabilities for one fit the other. Asked after the digests of both games were found equal."""

    def stored_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by which a file says what infosets it is for: see `kibitz.forms.choice.stored_infosets`."""

    def stored_meta(self) -> dict[str, Any]:
        """The same for its meta."""


class CompactInfosets(ProfileInfosets, Protocol):
    """Infosets of a compact form: several infosets of the game's tree may be one of them."""

    @property
    def form(self) -> CompactForm: ...

    def as_table(self, machine: Any, probabilities: Floats) -> tuple[str, NDArray[np.uint64], NDArray[np.float32]]:
        """A profile as rows of a table: (the abstraction they are of, keys, values)."""

    def of_game(self, game: Game | None) -> bool:
        """Are these the infosets of a game, with nothing merged that the game distinguishes?"""

    def places(self, of_tree: Infosets) -> tuple[Ints, Ints, Ints]:
        """(infoset here, node of the public tree, class) of each infoset of the same game's tree."""


# What solvers are made of


class CfrState(Protocol):
    """Regrets, strategies and averages of a run of CFR on a form."""

    @property
    def state(self) -> dict[str, NDArray[Any]]: ...
    def restore(self) -> None: ...
    def iterate(self, rule: Rule, done: int, count: int, threads: int) -> None: ...
    def probabilities(self, begun: bool) -> Floats: ...
    def measure(self, begun: bool) -> Measure: ...


class MovingRows(Protocol):
    """Which infosets of a form are trainable; the others are frozen, or share rows in an abstraction."""

    @property
    def form(self) -> Any: ...
    @property
    def digest(self) -> str: ...  # checkpoints are compared with it


@runtime_checkable
class Form(Protocol):
    """A game as solvers see it: what it is, and how large. Probabilities are by infoset column."""

    @property
    def spec(self) -> str: ...
    @property
    def game(self) -> Any: ...  # the rules; None for the form of a tree
    @property
    def abstraction(self) -> str: ...  # of a form that is an abstract game and knows no other; else empty
    @property
    def tree_digest(self) -> str: ...  # a fingerprint of the game, in this form
    @property
    def seats(self) -> int: ...
    @property
    def zero_sum(self) -> bool: ...
    @property
    def perfect_recall(self) -> bool: ...
    @property
    def infosets(self) -> Infosets: ...
    @property
    def sequences(self) -> int: ...
    @property
    def seat_sequence(self) -> NDArray[Any]: ...  # [seats + 1]  first sequence of a seat: its empty one
    @property
    def points(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def entries(self) -> int: ...  # the work of an iteration
    @property
    def scale(self) -> float: ...  # the largest payoff
    @property
    def look_every(self) -> int: ...  # iterations that should lie between two evaluations of NashConv
    @property
    def best_cfr(self) -> str: ...  # the variant of CFR that "auto" takes

    def uniform(self) -> Floats: ...


@runtime_checkable
class CfrForm(Form, Protocol):
    """A form on which CFR runs."""

    def cfr_state(self, rows: Any, start: Floats | None) -> CfrState: ...


@runtime_checkable
class GpuForm(CfrForm, Protocol):
    """A form on which CFR runs on a GPU as well."""

    def gpu_cfr_state(self, rows: Any, start: Floats | None) -> CfrState: ...


@runtime_checkable
class GradientForm(Form, Protocol):
    """A form with its payoff operator. Strategies and plans are by sequence."""

    def to_strategy(self, probabilities: Floats) -> Floats: ...
    def to_probabilities(self, weights: Floats) -> Floats: ...
    def plan(self, strategy: Floats) -> Floats: ...
    def gradient(self, seat: int, plan: Floats) -> Floats: ...
    def treeplex(self, seat: int) -> Treeplex: ...  # a seat's points; perfect recall only
    def measure(self, probabilities: Floats) -> Measure: ...
    def value(self, probabilities: Floats) -> Floats: ...
    def best_response(self, seat: int, probabilities: Floats) -> tuple[float, Floats]: ...
    def best_plans(self, plan: Floats, done: int, count: int, step: float) -> None: ...
    def constraints(self, seat: int) -> tuple[Any, Floats]: ...
    def payoff_matrix(self) -> Any: ...


@runtime_checkable
class SampledForm(Form, Protocol):
    """A form that only a sampling solver, its `best_cfr`, can solve."""

    @property
    def sampled(self) -> str: ...  # what an iteration samples, for messages
    @property
    def rehearsal(self) -> str: ...


# Forms without a tree


class FrozenRows(MovingRows, Protocol):
    """Infosets of a compact form, some of them frozen at a base."""

    @property
    def moves(self) -> Bools: ...  # [I]
    @property
    def base(self) -> Floats: ...  # [K]

    def reached(self) -> Bools:
        """[I] infosets that frozen moves let play come to; nothing is learnt of the others."""


@runtime_checkable
class CompactForm(CfrForm, GradientForm, Protocol):
    """What a form without a tree also provides, instead of the tree."""

    @property
    def players(self) -> int: ...
    @property
    def rehearsal(self) -> str: ...  # a tiny game that the same compiled code solves

    def infoset_values(self, probabilities: Floats) -> InfosetValues:
        """The probability that play reaches each infoset, and the value of each action there."""

    def facts(self) -> dict[str, Any]:
        """Sizes, as plain data."""

    def describe(self) -> list[tuple[str, str]]:
        """The same as (name, sentence)."""


@runtime_checkable
class FreezableForm(CompactForm, Protocol):
    """A form without a tree on which experts can be stitched. Stitching takes the tree of a game that has none."""

    def freeze(self, moves: Bools, base: Floats) -> FrozenRows:
        """The form with some infosets frozen at a base."""

    def parts_by_actions(self, lists: list[list[set[str]]]) -> Ints:
        """[I] part j + 1 where the players' actions begin with list j, each step of which is a set of actions."""

    def parts_by_private(self) -> tuple[list[str], Ints, Ints]:
        """(what seats can hold, [I] which of it, [I] betting round from 1)."""

    def check_parts(self, name: str, names: tuple[str, ...], part: Ints) -> None:
        """Refuse parts of which one of a seat leads into another."""
