"""A game with its tree, or with its form, as a search for experts works on it: parts, abstractions, moves (`moves.py`).

Strategies are arrays of probabilities by infoset column.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import SolverError
from kibitz.evaluate.infosets import infoset_values
from kibitz.forms.abstraction import Abstraction, abstraction, offered
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import FreezableForm, GradientForm
from kibitz.forms.sequence import form_of
from kibitz.games import game as make_game
from kibitz.games.plugins import plugin_of
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers import Task, make
from kibitz.stitch.auto.cuts import Cut, cuts, prefixes
from kibitz.stitch.auto.judges import ExactJudge, Judge
from kibitz.stitch.auto.moves import DYNAMIC, PAIRS, REBUILT, STATIC, Move, MoveRun, Size
from kibitz.stitch.auto.signals import PartSignal, losses, part_reach
from kibitz.stitch.columns import ColumnTarget, column_target, mixed, seed_of
from kibitz.stitch.partition import Partition, TreeParts
from kibitz.stitch.targets import Expert, Solving, Stitching, seat_sets

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
KIND = "stitching-answer"
LARGE = 1_000_000  # columns of a game in which fewer pairs are measured


@dataclass(frozen=True, eq=False)
class Setting:
    """A game to be stitched. base: the name of the abstraction that the base was solved in."""

    rules: Any
    base: str
    solver: str = "cfr+"
    steps: ClassVar[str] = "iterations"
    own: Mapping[str, Abstraction] = field(default_factory=dict)  # abstractions that have no name elsewhere

    def __post_init__(self) -> None:
        rules, known = self.rules, dict(self.own)
        subject = rules if isinstance(rules, Tree | FreezableForm) else tree_of(rules)
        form: GradientForm = form_of(subject) if isinstance(subject, Tree) else subject
        if not form.perfect_recall:
            raise SolverError("automatic stitching measures best responses by part, which needs perfect recall")
        object.__setattr__(self, "subject", subject)
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "_views", known)
        infosets = form.infosets
        seat = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
        object.__setattr__(self, "seat", seat)

    subject: Any = field(init=False)  # the tree, or the form without one
    form: Any = field(init=False)
    seat: NDArray[np.int64] = field(init=False)  # [I]
    _views: dict[str, Abstraction] = field(init=False)
    _lost: list[Floats] = field(init=False, default_factory=list)  # a strategy, and what is lost by infoset

    @property
    def spec(self) -> str:
        return str(self.subject.spec)

    @property
    def has_tree(self) -> bool:
        return isinstance(self.subject, Tree)

    @property
    def players(self) -> int:
        return int(self.form.seats)

    @property
    def parts(self) -> Any:
        """What cuts ask (`kibitz.stitch.auto.cuts`)."""
        if not self.has_tree:
            return self.subject
        return TreeParts(self.subject, None if isinstance(self.rules, Tree) else self.rules, "auto")

    def view(self, name: str) -> Abstraction:
        """An abstraction by its name, made once."""
        if name not in self._views:
            self._views[name] = abstraction(self.rules, name)
        return self._views[name]

    @property
    def digest(self) -> str:
        return str(self.form.tree_digest)

    @property
    def places(self) -> int:
        """Infosets."""
        return len(self.seat)

    @property
    def large(self) -> bool:
        return bool(self.form.columns >= LARGE)

    @property
    def divides(self) -> bool:
        return False

    @property
    def base_rows(self) -> int:
        return self.view(self.base).rows if self.has_tree else len(self.form.infosets.labels)

    def insides(self) -> list[str]:
        """Abstractions of experts, where none are named: those that the game offers and that are finer."""
        if not self.has_tree:
            return []
        coarse, every = self.base_rows, offered(self.rules)
        return [each.name for each in every if each.rows > coarse] or [every[-1].name]

    def known(self) -> tuple[str, ...]:
        """Names of abstractions that a strategy may use. Pieces on other machines carry them."""
        return ()

    def learn(self, names: Sequence[str]) -> None:
        """Take over the names that `known` returned on another machine."""

    def judge(self) -> Judge:
        return ExactJudge(self.form)

    # Strategies

    def begin(self, base: Profile) -> Floats:
        return base.probabilities

    def content(self, strategy: Floats) -> bytes:
        return np.ascontiguousarray(strategy, np.float64).tobytes()

    def join(self, strategy: Floats, answers: Sequence[tuple[Move, Floats]]) -> Floats:
        result = strategy
        for move, answer in answers:
            if move.kind == DYNAMIC:
                result = answer
            else:
                result = np.where(move.here[self.form.infosets.row_of_column], answer, result)
        return result

    def save(self, path: Path, run: MoveRun, meta: dict[str, Any]) -> None:
        store.save(path, KIND, {"answers": np.asarray(run.answers)}, {"seconds": run.seconds, **meta})

    def load(self, path: Path, lengths: int) -> tuple[MoveRun, dict[str, Any]]:
        saved = store.load(path, KIND)
        answers = np.array(saved.arrays["answers"])
        seconds = tuple(float(x) for x in saved.meta["seconds"])
        if answers.shape != (lengths, self.form.columns) or len(seconds) != lengths:
            raise ValueError(f"{path} has answers of another search")
        return MoveRun(answers, seconds), saved.meta

    # Measures

    def losses(self, strategy: Floats) -> Floats:
        """Of the last strategy they are kept: a plan asks twice."""
        if not self._lost or not np.array_equal(self._lost[0], strategy):
            self._lost[:] = np.array(strategy), losses(self.form, strategy)
        return self._lost[1]

    def tree_cuts(self, lost: Floats, most: int) -> list[Cut]:
        return prefixes(self.parts, lost, most)

    def signals(self, probabilities: Floats, among: Sequence[Cut]) -> list[PartSignal]:
        """Loss, reach and size of some parts."""
        lost = self.losses(probabilities)
        reach = infoset_values(self.subject, self.profile(probabilities)).reach
        return [
            PartSignal(c.name, float(lost[c.here].sum()), part_reach(self.form, reach, c.here), c.size) for c in among
        ]

    def profile(self, probabilities: Floats, /, **meta: Any) -> Profile:
        digest = self.subject.digest if self.has_tree else self.subject.tree_digest
        return Profile(self.form.infosets, probabilities, {"game": self.spec, "tree": digest, **meta})

    # Moves

    def cuts(self, lost: Floats, most: int, fits: Callable[[Cut], bool]) -> list[Cut]:
        return cuts(self.parts, lost, most, fits)

    def experts(self, cut: Cut, effort: Any) -> list[Move]:
        """The experts that a part may have. effort: as of a plan."""
        sets = [s for s in effort.seats if s != PAIRS or self.players > 2]
        insides = list(effort.insides)
        if not self.has_tree:  # experts of a form see the game as it is, and nobody is free outside their part
            sets, insides = ["all"], ["null"]
        return [Move(STATIC, (cut,), seats, (inside,)) for inside in insides for seats in sets]

    def rebuilt(self, changed: Bools) -> Move | None:
        return Move(REBUILT, (Cut("rest", ~changed),), "all", (self.base,))

    def dynamic_moves(self) -> bool:
        return self.has_tree

    def tried(self, moves: Sequence[tuple[Move, Size]]) -> list[tuple[Move, Size]]:
        return list(moves)

    def seats(self, move: Move) -> Any:
        """S of a move as `kibitz.stitch.static` reads it."""
        if move.seats != PAIRS:
            return move.seats
        return [[i, (i + 1) % self.players] for i in range(self.players)]

    def size(self, move: Move) -> Size:
        infosets = self.form.infosets
        if not self.has_tree:
            return Size(move.cuts[0].size, int(infosets.width[move.here].sum()), 1)
        if move.kind == DYNAMIC:
            return self._counted([self.view(self.base), *map(self.view, move.inside)], self._choice(move), 1)
        sizes = []
        inside, outside = self.view(move.inside[0]), self.view(self.base)
        for group, keep in seat_sets(self.seats(move), self.players):
            mine = np.isin(self.seat, group)
            if not (move.here & np.isin(self.seat, keep)).any():
                continue
            choice = np.select([move.here, ~mine], [0, 1], 2)
            sizes.append(self._counted([inside, outside, inside], choice, 1, choice < 2))
        return Size(
            max((s.infosets for s in sizes), default=0), max((s.columns for s in sizes), default=0), len(sizes)
        )

    def _choice(self, move: Move) -> NDArray[np.int64]:
        part = np.zeros(len(self.seat), np.int64)
        for number, cut in enumerate(move.cuts, 1):
            part[cut.here] = number
        return part

    def _counted(
        self, views: Sequence[Abstraction], choice: NDArray[np.int64], computations: int, live: Bools | None = None
    ) -> Size:
        infosets = self.form.infosets
        row, closed = mixed(views, choice, infosets)
        among = np.arange(len(row)) if live is None else np.flatnonzero(live)
        _, first = np.unique(row[among], return_index=True)
        width = np.bincount(infosets.row_of_column, ~closed, minlength=len(row))
        return Size(len(first), int(width[among[first]].sum()), computations)

    def solve(self, move: Move, probabilities: Floats, lengths: Sequence[int], seed: int = 0) -> MoveRun:
        """Answers are those of `kibitz.stitch`, to the bit; nothing is measured on the way."""
        began = time.perf_counter()
        target = self.target(move, probabilities, seed)
        built = target.experts()
        setup, spent = time.perf_counter() - began, [0.0] * len(lengths)
        answers: list[list[Profile]] = [[] for _ in lengths]
        for number, expert in enumerate(built):
            steps = self._steps(target, expert, lengths, seed_of(seed, number) if move.kind != DYNAMIC else seed)
            for k in range(len(lengths)):
                mark = time.perf_counter()
                answers[k].append(next(steps))
                spent[k] += time.perf_counter() - mark
        joined = np.stack([target.join(built, each).probabilities for each in answers])
        return MoveRun(joined, tuple(setup + sum(spent[: k + 1]) for k in range(len(lengths))))

    def _steps(self, target: ColumnTarget, expert: Expert, lengths: Sequence[int], seed: int) -> Iterator[Profile]:
        """An expert's answer after each number of iterations."""
        game = expert.game
        if not self.has_tree:
            for length in lengths:
                yield target.answer(game, {"iterations": length, "seed": seed})
            return
        tree = game.tree
        if not tree.infosets.labels:
            yield from [Profile(tree.infosets, np.zeros(0), {"tree": tree.digest})] * len(lengths)
            return
        solver = make(self.solver, Task(tree, form_of(tree), None, None, seed, 1))
        for length in lengths:
            left = (1 if solver.exact else length) - solver.iteration
            if left > 0:
                solver.step(left)
            yield Profile(tree.infosets, solver.probabilities(), {"tree": tree.digest})

    def order(self, move: Move) -> MoveOrder:
        if not self.spec or self.own:
            raise SolverError("a game or an abstraction without a name cannot be sent to other machines: "
                              "leave --on out")  # fmt: skip
        here = np.stack([cut.here for cut in move.cuts])
        names = tuple(cut.name for cut in move.cuts)
        return MoveOrder(self.spec, self.base, self.solver, move.kind, names, here, move.seats, move.inside,
                         self.known())  # fmt: skip

    def target(self, move: Move, probabilities: Floats, seed: int) -> ColumnTarget:
        """What a move is to `kibitz.stitch`."""
        base = self.profile(probabilities)
        how = Solving(self.solver, iterations=1, seed=seed, jobs=1)
        views: list[Any] = [self.view(name) if self.has_tree else name for name in move.inside]
        if move.kind == DYNAMIC:
            infosets = self.form.infosets
            parts = Partition(move.name, infosets, self._choice(move), ("base", *(c.name for c in move.cuts)))
            plan = Stitching("dynamic", parts, inside=[self.view(self.base), *views])
        else:
            outside: Any = self.view(self.base) if self.has_tree else "null"
            parts = move.cuts[0].partition(self.form.infosets)
            plan = Stitching("static", parts, self.seats(move), views[0], outside)
        return column_target(self.rules, base, plan, how)


def setting_of(rules: Any, base: str, solver: str = "cfr+") -> Any:
    """A game to be stitched, as a `SearchSetting`: as its plug-in says, else on its tree or its form."""
    own: Any = None
    if not isinstance(rules, Tree):
        own = plugin_of(getattr(rules, "game", rules)).stitch_setting(rules, base, solver)
    return own or Setting(rules, base, solver)


class MoveOrder(NamedTuple):
    """A move as plain values, for a process or a machine that does not have its parts."""

    game: str
    base: str
    solver: str
    kind: str
    names: tuple[str, ...]
    here: NDArray[np.bool_]  # [parts, I]
    seats: str
    inside: tuple[str, ...]
    known: tuple[str, ...] = ()


@lru_cache(2)
def _setting(game: str, base: str, solver: str) -> Any:
    return setting_of(make_game(game), base, solver)


def solve_order(order: MoveOrder, probabilities: Floats, lengths: Sequence[int], seed: int) -> MoveRun:
    """`Setting.solve` where only plain values arrive."""
    cuts = tuple(Cut(name, here) for name, here in zip(order.names, np.asarray(order.here), strict=True))
    move = Move(order.kind, cuts, order.seats, tuple(order.inside))
    setting: Setting = _setting(order.game, order.base, order.solver)
    setting.learn(tuple(order.known))
    return setting.solve(move, np.array(probabilities), lengths, seed)
