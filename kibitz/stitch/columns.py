"""Targets whose strategies are profiles of one game: on its tree, or on a form without one.

On a tree an expert's game is an abstract game in which frozen decisions are chance [Gibson & Szafron 2011, Def. 3.2].
On a form whose decisions can be frozen (`FreezableForm`) it is the form itself. Buckets of such a form are one list for
a whole round, so experts see the game as it is, up to suit isomorphism; others need the game's tree.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.abstraction import AbstractGame, Abstraction, abstract_game, abstraction
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.problem import on_tree
from kibitz.forms.profile import SUM_TOLERANCE, Profile
from kibitz.forms.protocol import Form, FreezableForm, FrozenRows
from kibitz.forms.sequence import normalise
from kibitz.games import game as make_game
from kibitz.games.plugins import plugin_of
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers.run import solve_through
from kibitz.stitch.partition import Partition
from kibitz.stitch.partition import partition as make_partition
from kibitz.stitch.targets import (
    Expert,
    MaxInfosets,
    Solving,
    Stitching,
    Target,
    by_part,
    from_base,
    seat_sets,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
AnyGame = Any  # a Game, its name, its Tree, or its form without a tree
WHOLE = ("null", "suits")  # names for the game as it is: a form without a tree does not tell suits apart
HINT = (
    "; without a tree experts see the whole game: leave --inside and --opponents out, and give --seats all or "
    "--outside null (in Python inside, opponents, seats, outside)"
)


def target_of(
    game: AnyGame, base: Any, plan: Stitching, how: Solving | None = None, lay_out: Callable[[Any], Tree] = tree_of
) -> Target:
    """What experts are stitched onto: a target of the game's plug-in, its form without a tree if base, partition and
    abstractions allow it, else its tree.

    base: a strategy, or the name of an abstraction that one has yet to be solved in; lay_out: makes the tree.
    """
    rules, how = rules_of(game), how or Solving()
    target: Target | None = plugin_of(rules).stitching(rules, base, plan, how)
    return target or column_target(rules, base, plan, how, lay_out)


def column_target(
    rules: Any, base: Any, plan: Stitching, how: Solving, lay_out: Callable[[Any], Tree] = tree_of
) -> ColumnTarget:
    """The target on a form or a tree."""
    if isinstance(plan.inside, MaxInfosets):
        raise SolverError("--max-infosets (inside=MaxInfosets(...)) is for a base that is a blueprint; see --inside")
    if how.keep is not None:
        raise SolverError("--work (keep=) keeps experts that are solved on samples, as with --solver pcs: leave it out")
    if how.device != "cpu":
        raise SolverError("--device (device=) is for experts that are solved on samples, as with --solver pcs: leave "
                          "it out")  # fmt: skip
    everybody = plan.kind != "static" or all(len(s) == rules.players for s, _ in seat_sets(plan.seats, rules.players))
    subject: Any = _freezable(rules, base, plan, everybody)
    kind: type[ColumnTarget] = FormTarget
    if subject is None:
        kind, subject = TreeTarget, _tree(rules, lay_out)
        rules = (_rules(rules) if lay_out is tree_of else None) or subject
    if isinstance(plan.partition, Partition):
        parts = plan.partition
        if not parts.infosets.same(subject.infosets):
            raise GameError(f"the partition {parts.name} was made for another game, or on another form of it")
    else:
        parts = make_partition(rules if kind is TreeTarget else subject, plan.partition)
    if plan.kind != "dynamic" and not isinstance(base, str):
        base = _checked(rules, subject, base)
    return kind(plan, how, base, subject.spec, subject.players, parts.names, rules, parts, everybody, subject=subject)


def rules_of(game: AnyGame) -> Any:
    """The game as an object: as long as it lives its tree is laid out once."""
    if isinstance(game, Tree):
        return game
    if not isinstance(game, Form):
        return make_game(game)
    if game.game is None:
        raise GameError("a sequence form does not contain its game tree: give the game itself, or its tree")
    if not isinstance(game, FreezableForm):
        raise GameError("this form does not support stitching: give the game itself, or its tree")
    return game


def _form_given(rules: Any) -> FreezableForm | None:
    return rules if isinstance(rules, FreezableForm) else None


def _rules(subject: Any) -> Any:
    """The rules of the game; None: only its tree was given."""
    form = _form_given(subject)
    return None if isinstance(subject, Tree) else subject if form is None else form.game


def _tree(rules: Any, lay_out: Callable[[Any], Tree]) -> Tree:
    if isinstance(rules, Tree):
        return rules
    try:
        return lay_out(_rules(rules))
    except GameError as error:
        if needs_tree(_rules(rules)):
            raise
        raise GameError(f"{error}{HINT}") from None


def _freezable(rules: Any, base: Any, plan: Stitching, everybody: bool) -> FreezableForm | None:
    """The form to stitch on; None if the tree is needed: by the game, the base, the partition or an abstraction."""
    of_tree = isinstance(plan.partition, Partition) and plan.partition.infosets.compact is None
    if of_tree or plan.kind == "dynamic":
        return None
    own = base.meta.get("abstraction", "null") if isinstance(base, Profile) else base
    outside = own if plan.outside is None else plan.outside
    views: tuple[Any, ...] = (plan.inside,) if plan.kind == "static" else (outside,)
    if not everybody:
        views = (plan.inside, plan.inside if plan.opponents is None else plan.opponents, outside)
    as_it_is = all(isinstance(view, str) and view.strip() in WHOLE for view in views)
    if (form := _form_given(rules)) is not None:
        if not as_it_is:
            raise SolverError(f"experts with abstractions {views} need the game's tree: give the game itself{HINT}")
        return form
    if needs_tree(rules) or not as_it_is:
        return None
    if isinstance(base, str):
        fits = base.strip() in WHOLE or plugin_of(rules).on_form(base)
    else:
        fits = isinstance(base, Profile) and base.infosets.compact is not None
    return _form_given(compact_form(rules)) if fits else None


def checked_base(game: AnyGame, base: Profile) -> tuple[Profile, Any]:
    """(the base as a profile of what is stitched on, the game or its form without a tree): the form, if the base was
    made on one that can be frozen."""
    rules = rules_of(game)
    form = _freezable(rules, base, Stitching("static", "", "all"), everybody=True)
    subject: Any = _tree(rules, tree_of) if form is None else form
    return _checked(rules, subject, base), rules if form is None else form


def _checked(rules: Any, subject: Any, base: Profile | Any) -> Profile:
    """The base as a profile of what is stitched on, if it is one of the game."""
    if not isinstance(base, Profile):
        raise GameError(
            f"the base must be a profile of the game, or a poker blueprint with buckets, not {base!r}: solve for one "
            "or load it"
        )
    if isinstance(subject, Tree):
        base = on_tree(subject, base, _rules(rules))
        if base.infosets is not subject.infosets and (
            base.meta.get("tree") != subject.digest or not base.infosets.same(subject.infosets)
        ):
            lacking = set(subject.infosets.labels) - set(base.infosets.labels)
            why = f"it lacks infoset {sorted(lacking)[0]!r}" if lacking else "it was made for another game"
            raise GameError(f"the base does not fit the game: {why}")
    elif not subject.infosets.same(base.infosets):
        raise GameError(
            f"the base does not fit the game: it was made for another game ({base.game or 'without a name'}) or on "
            f"another form of it than {subject.spec or 'this one'}"
        )
    infosets, p = base.infosets, base.probabilities
    sums = np.add.reduceat(np.where(p >= 0.0, p, np.nan), infosets.first[:-1]) if len(p) else np.zeros(0)
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= SUM_TOLERANCE))
    if len(wrong):
        raise GameError(f"the base has no probability distribution at infoset {infosets.labels[wrong[0]]!r}")
    return base


@dataclass(frozen=True, eq=False)
class ColumnTarget(Target):
    """A target whose strategies are probabilities by infoset column. Its subject is a Tree, or a FreezableForm."""

    game: Any  # as abstractions are asked of it: the rules, or the subject itself
    parts: Partition
    everybody: bool  # whether all seats are in S, so that nobody is free outside the part

    def solve_base(self, abstraction: str) -> Profile:
        as_it_is = not isinstance(self.subject, Tree) and abstraction.strip() in WHOLE
        options = {**self.how.stops, "seed": self.how.seed, "start": self.how.start}
        return solve_through(self.subject, self.how.solver, abstraction=None if as_it_is else abstraction, **options)

    def deciding(self, part: int) -> Sequence[int]:
        return self.parts.seats_in(part)

    def expert(self, part: int, seats: tuple[int, ...], keeps: tuple[int, ...]) -> Expert:
        infosets = self.subject.infosets
        seat = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
        game, size = self.frozen(self.parts.part == part, np.isin(seat, seats))
        return Expert(part, self.names[part], seats, keeps, game, size)

    @abstractmethod
    def frozen(self, here: Bools, mine: Bools) -> tuple[Any, int]:
        """(the game in which S decides in its part alone, its trainable infosets). Infosets of the part, and of S."""

    def solve(self, expert: Expert, number: int) -> Profile:
        seed = seed_of(self.how.seed, number) if self.plan.kind == "static" else self.how.seed
        return self.answer(expert.game, {**self.how.stops, "seed": seed, "start": self.how.start})

    @abstractmethod
    def answer(self, game: Any, options: dict[str, Any]) -> Profile:
        """The solution of an expert's game. One in which nobody decides anything has nothing to solve."""

    def join(self, experts: Sequence[Expert], answers: Sequence[Profile]) -> Profile:
        result = self.base.probabilities.copy()
        for expert, answer in zip(experts, answers, strict=True):
            where = columns_of(self.parts, expert.part, expert.keeps)
            result[where] = self.played(expert.game, answer.probabilities)[where]
        inside, opponents, outside = (*self.view_names, None, None)[:3]
        about: dict[str, Any] = {"outside": inside}
        if self.plan.kind == "static":
            seats = self.plan.seats
            if not isinstance(seats, str):
                seats = [[int(x) for x in s] if isinstance(s, list | tuple) else int(s) for s in seats]
            about = {"seats": seats, "inside": inside, "outside": outside, "opponents": opponents,
                     "experts": len(experts)}  # fmt: skip
        return self.profile(result, about, max((e.size for e in experts), default=0))

    @abstractmethod
    def played(self, game: Any, answer: Floats) -> Floats:
        """The answer of an expert's game as probabilities of the real game."""

    @property
    @abstractmethod
    def view_names(self) -> list[str]:
        """The names of the abstractions, as `TreeTarget.views` has them."""

    def profile(self, probabilities: Floats, about: Mapping[str, Any], size: int) -> Profile:
        """A profile of the real game that says what it was stitched from, and how, so that it can be done again."""
        how, base = self.how, {} if self.base is None else from_base(self.base)
        stop = {name: int(x) if name == "iterations" else float(x) for name, x in how.stops.items()}
        stitch = {"kind": self.plan.kind, "partition": self.parts.name, **about, "size": size, "solver": how.solver,
                  "stop": stop, "seed": how.seed, "start": how.start}  # fmt: skip
        digest = self.subject.digest if isinstance(self.subject, Tree) else self.subject.tree_digest
        meta = {"game": self.spec, "tree": digest, "solver": "stitch", "stitch": stitch}
        return Profile(self.subject.infosets, probabilities, {**meta, **base})


class FormTarget(ColumnTarget):
    """A form without a tree. Experts are solved one after another, each on all cores, as their arrays are large."""

    def frozen(self, here: Bools, mine: Bools) -> tuple[FrozenRows, int]:
        rows = self.subject.freeze(here | ~mine, self.base.probabilities)
        return rows, int(rows.moves.sum())

    def answer(self, game: FrozenRows, options: dict[str, Any]) -> Profile:
        if not game.moves.any():
            return Profile(game.form.infosets, game.base.copy(), {"tree": game.form.tree_digest})
        return solve_through(game.form, self.how.solver, rows=game, **options)

    def played(self, game: FrozenRows, answer: Floats) -> Floats:
        """As the base where frozen moves never let play come, as nothing is learnt there."""
        reached = game.reached()
        return answer if reached.all() else np.where(np.repeat(reached, game.form.infosets.width), answer, game.base)

    @property
    def view_names(self) -> list[str]:
        return ["null"] * (1 if self.everybody else 3)


class TreeTarget(ColumnTarget):
    """A game's tree. Experts are solved side by side, each on one core."""

    jobs = None

    @cached_property
    def views(self) -> list[Abstraction]:
        """That of S in the part, and of free seats in it and outside; of a dynamic strategy that of each part."""
        plan = self.plan
        if plan.kind == "dynamic":
            return [abstraction(self.game, source) for source in by_part(self.names, plan.inside)]
        if plan.kind == "rebuilt base":
            return [self._outside("that part 0 is solved in")]
        inside = abstraction(self.game, plan.inside)
        opponents = inside if plan.opponents is None else abstraction(self.game, plan.opponents)
        if self.everybody:  # nobody is free, and the base's abstraction may be unknown
            return [inside]
        return [inside, opponents, self._outside("that free opponents play in")]

    def _outside(self, whose: str) -> Abstraction:
        if self.plan.outside is not None:
            return abstraction(self.game, self.plan.outside)
        # A base that was solved without an abstraction has seen the whole game.
        name = self.onto if isinstance(self.onto, str) else self.base.meta.get("abstraction", "null")
        if not isinstance(name, str) or name.startswith("own:"):
            raise SolverError(
                f"the base was solved in an abstraction that has no name: give outside=NAME, the abstraction {whose}"
            )
        return abstraction(self.game, name)

    @property
    def view_names(self) -> list[str]:
        return [view.name for view in self.views]

    def together(self) -> tuple[AbstractGame, int]:
        game = dynamic_game(self.subject, self.parts, self.views)
        return game, len(game.tree.infosets.labels)

    def frozen(self, here: Bools, mine: Bools) -> tuple[AbstractGame, int]:
        choice = np.select([mine & here, ~mine & here, ~mine], [0, 1, 2], 3)  # 3: frozen
        views = self.views if len(self.views) > 1 else self.views * 3
        row, closed = mixed([*views, views[0]], choice, self.subject.infosets)
        game = abstract_game(self.subject, row, closed, choice == 3, self.base)
        return game, len(game.tree.infosets.labels)

    def answer(self, game: AbstractGame, options: dict[str, Any]) -> Profile:
        if not game.tree.infosets.labels:
            return Profile(game.tree.infosets, np.zeros(0), {"tree": game.tree.digest})
        return solve_through(game.tree, self.how.solver, threads=1, **options)

    def played(self, game: AbstractGame, answer: Floats) -> Floats:
        return lifted(game, answer, self.base)

    def join(self, experts: Sequence[Expert], answers: Sequence[Profile]) -> Profile:
        if self.plan.kind != "dynamic":
            return super().join(experts, answers)
        (expert,), (answer,) = experts, answers
        about = {"abstractions": self.view_names}
        result = self.profile(expert.game.lift(answer.probabilities), about, expert.size)
        return result.replaced(
            result.probabilities, abstraction=self.views[0].name, nash_conv_abstract=answer.meta.get("nash_conv")
        )


def dynamic_game(tree: Tree, parts: Partition, abstractions: Any) -> AbstractGame:
    """The game Γ' of Def. 3.3: part j abstracted by abstractions[j]."""
    of = [abstraction(tree, source) for source in by_part(parts.names, abstractions)]
    row, closed = mixed(of, parts.part, tree.infosets)
    return abstract_game(tree, row, closed)


def mixed(of: Sequence[Abstraction], choice: Ints, infosets: Any) -> tuple[Ints, Bools]:
    """Rows and closed actions where infoset i is abstracted by of[choice[i]]; different abstractions share no rows.

    Equal ones do, however they were given: a bucket that reaches from one part into another stays one row.
    """
    span = max((a.rows for a in of), default=0) + 1
    keys = [(a.row.tobytes(), a.closed.tobytes()) for a in of]
    tag = np.array([keys.index(key) for key in keys], np.int64)
    row = np.stack([a.row for a in of])[choice, np.arange(len(choice))] + tag[choice] * span
    closed = np.stack([a.closed for a in of])[choice[infosets.row_of_column], np.arange(int(infosets.first[-1]))]
    return row, closed


def seed_of(seed: int, number: int) -> int:
    """The seed of an expert: experts of one run, and of runs with other seeds, start apart, however many they are."""
    key = np.random.SeedSequence(2 * abs(seed) + (seed < 0), spawn_key=(number,))
    return int(key.generate_state(1, np.uint64)[0] >> np.uint64(1))  # 63 bits, which fit everywhere


def columns_of(parts: Partition, part: int, seats: Sequence[int]) -> Bools:
    """[K] the infoset columns of some seats in a part."""
    infosets = parts.infosets
    seat = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
    where: Bools = ((parts.part == part) & np.isin(seat, list(seats)))[infosets.row_of_column]
    return where


def lifted(game: AbstractGame, answer: Floats, base: Profile) -> Floats:
    """An expert's answer as probabilities of the real game.

    In rows to which frozen moves of probability zero are the only way nothing is learnt, so the base's own play is kept
    there: its mean over the infosets of the row, without the actions that the expert's abstraction drops.
    """
    never = never_reached(game.tree)
    if not never.any():
        return game.lift(answer)
    infosets = game.tree.infosets
    own = game.lower(base.probabilities)
    sums = np.bincount(infosets.row_of_column, own, minlength=len(infosets.labels))
    short = np.abs(sums - 1.0) > SUM_TOLERANCE  # the others stay what they are to the last bit
    own = np.where(short[infosets.row_of_column], normalise(own, infosets), own)
    return game.lift(np.where(never[infosets.row_of_column], own, answer))


def never_reached(tree: Tree) -> Bools:
    """[I] infosets all of whose histories have a move of chance of probability zero on the way."""
    from kibitz.forms.kernels.layout import drop_below

    never = np.zeros(len(tree.infosets.labels), bool)
    barred = (tree.parent >= 0) & (tree.turn[np.maximum(tree.parent, 0)] == CHANCE) & (tree.chance == 0.0)
    if barred.any():
        drop_below(tree.parent, barred)
        never[:] = True
        never[tree.infoset[(tree.turn >= 0) & ~barred]] = False
    return never
