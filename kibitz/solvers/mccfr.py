"""Monte Carlo CFR on the tree: an iteration walks a sample of the game, once for each seat."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError, SpecError
from kibitz.forms.rows import RowMap
from kibitz.forms.sequence import normalise
from kibitz.games.tree import Tree
from kibitz.solvers import Task
from kibitz.solvers.machines.trees import most_decisions, tree_game

Floats = NDArray[np.float64]
MODES = {"external": 0, "outcome": 1, "chance": 2}  # as in kibitz.solvers.kernels.walk
LEAST = 128  # iterations of a piece of work
PIECES = 8  # of a block for each thread: one whose core has a busy neighbour does fewer


def mccfr(sampling: str = "external", averaging: str = "uniform", explore: float = 0.6) -> Callable[[Task, str], Mccfr]:
    if sampling not in MODES:
        raise SpecError(f"sampling={sampling}: choose external, outcome or chance")
    if averaging not in ("uniform", "linear"):
        raise SpecError(f"averaging={averaging}: choose uniform or linear")
    if not 0.0 < explore <= 1.0:
        raise SpecError(f"explore={explore} must be above 0 and at most 1")
    return lambda task, spec: Mccfr(task, spec, MODES[sampling], averaging == "linear", float(explore))


def _walked(task: Task) -> Tree:
    if task.tree is None:
        raise SolverError("mccfr walks a tree, and a poker form has none: solve the game by its name or its tree")
    return task.tree


class Mccfr:
    """Sampled regrets, average strategy.

    One thread gives the same bytes for the same seed, however the iterations are divided. Several threads make the
    same walks, with the same random numbers, but share regrets and averages without locks: the order of additions
    differs, so two runs end in slightly different profiles.

    External sampling adds the next seat's strategy to its average wherever a walk passes (in two-player games its
    expectation is the own reach, as the definition wants); outcome and chance sampling weigh own histories by own
    reach, divided by what sampling of the players' moves did to it.
    """

    exact = False

    def __init__(self, task: Task, spec: str, mode: int, linear: bool, explore: float) -> None:
        self.task, self.spec, self.iteration, self.visited = task, spec, 0, 0
        self.tree = _walked(task)
        if self.tree.players == 1:  # external sampling keeps its average on the walks of another seat
            mode = MODES["chance"] if mode == MODES["external"] else mode
        self.mode, self.linear, self.explore = mode, linear, explore
        infosets, rows = task.form.infosets, task.rows
        assert rows is None or isinstance(rows, RowMap)  # a form with a tree has no others
        width = infosets.width
        row = np.arange(len(width)) if rows is None else rows.row
        self._number(row)
        self._fixed: Floats | None = None
        frozen = np.zeros(len(width), bool)
        if rows is not None:
            frozen = ~rows.moves[row]
            fixed = frozen[infosets.row_of_column]
            # A frozen row is a row whose regrets are its base probabilities and are never updated.
            self.regret[self.column[fixed]] = rows.base[fixed]
            self.regret[self.column[~fixed & (rows.free < 0)]] = -np.inf
            self._fixed = np.where(fixed, rows.base, np.nan)
        if task.start is not None:
            moving = ~frozen[infosets.row_of_column] & np.isfinite(self.regret[self.column])
            # Regrets this small give the start's strategy and are forgotten with the first real ones.
            self.regret[self.column[moving]] = 1e-9 * task.form.scale * task.start[moving]
        self._game = self._marked(tree_game(self.tree), frozen)
        self._first = self.row_first[row].astype(np.uint64)  # the key of an infoset: the first column of its row
        self._frozen = bool(frozen.any())

    def _number(self, row: NDArray[np.int64]) -> None:
        """Columns of rows, all zero. row: infoset -> row."""
        infosets = self.task.form.infosets
        row_width = np.zeros(int(row.max(initial=-1)) + 1, np.int64)
        row_width[row] = infosets.width
        first = np.cumsum(row_width) - row_width
        self.row_first = np.append(first, row_width.sum())  # [rows + 1]  first column of a row
        # Infoset column -> column of its row; all actions have one here, closed ones too.
        offset = np.arange(len(infosets.row_of_column)) - infosets.first[:-1][infosets.row_of_column]
        self.column = first[row][infosets.row_of_column] + offset
        self.regret = np.zeros(int(row_width.sum()))
        self.average = np.zeros(int(row_width.sum()))

    def _marked(self, game: Any, frozen: NDArray[np.bool_]) -> Any:
        """The tree with a mark at the decisions that may move, which are part 1; the base plays the others."""
        from kibitz.solvers.kernels.tree import MOVES

        if frozen.any():
            deciding = np.flatnonzero(self.tree.turn >= 0)
            game.node[deciding[~frozen[self.tree.infoset[deciding]]], 1] |= MOVES
        return game

    @cached_property
    def _space(self) -> tuple[int, int, int]:
        """(decisions on a history, actions, entries of a log): a walk opens some of the decisions of a tree."""
        from kibitz.forms.kernels.layout import most_opened

        tree = self.tree
        _, edges = most_opened(tree.parent, tree.turn, tree.players if self.mode == MODES["chance"] else 1)
        # A walk that meets no row twice need not wait with what it found.
        once = self.mode != MODES["chance"] and self.task.form.perfect_recall and len(self._first) == self._rows
        return most_decisions(tree), int(self.task.form.infosets.width.max(initial=1)), 0 if once else int(edges) + 2

    @property
    def _rows(self) -> int:
        return len(self.row_first) - 1

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {"regret": self.regret, "average": self.average}

    def restore(self) -> None:
        """Nothing follows from the state: the next iteration's random numbers come from its number."""

    def fresh(self, seed: int) -> Mccfr:
        """Another run of a solver that has not made a step: from a seed of its own, on the tree as this one laid it.

        The two may run in threads side by side: what they share is only read.
        """
        if self.iteration:
            raise SolverError(f"fresh is for a solver that has not begun, not after {self.iteration:,} iterations")
        other = copy(self)
        other.task = replace(self.task, seed=seed)
        other.regret, other.average = self.regret.copy(), self.average.copy()
        return other

    def regrouped(self, row: NDArray[np.int64]) -> Mccfr:
        """The same with other rows, all of which may move, from a uniform start; it shares the rest of the tree.

        row: infoset -> row. The caller vouches for rows that `kibitz.forms.rows.check_rows` lets pass.
        """
        other = self.fresh(self.task.seed)
        other.task = replace(self.task, rows=None, start=None)
        other._number(row)
        other._fixed = None
        other._first, other._frozen = other.row_first[row].astype(np.uint64), False
        return other

    def step(self, count: int) -> None:
        from kibitz.solvers.kernels.dense import dense_store
        from kibitz.solvers.kernels.players import ALL_PARTS, FREE, GRAFT, MATCHED, Mask, Player
        from kibitz.solvers.kernels.tree import TreeView, train
        from kibitz.solvers.kernels.walk import WalkOrder, workspace

        threads, players = self.task.threads, self.tree.players
        depth, actions, log = self._space
        every = np.uint64((1 << players) - 1)
        view, mask = TreeView(self._first), Mask(np.int64(GRAFT if self._frozen else FREE), every, np.int64(1))
        order = WalkOrder(
            np.int64(self.mode), self.explore, self.linear, False, np.int64(self.task.seed % 2**63),
            np.uint64(players), every,
        )  # fmt: skip
        pieces = 1 if threads == 1 else max(1, min(PIECES * threads, count // LEAST))
        bounds = np.linspace(0, count, pieces + 1).astype(np.int64) + self.iteration

        def work(k: int) -> int:
            rows, space = dense_store(self.regret, self.average, log), workspace(depth, 1, actions)
            base = Player(np.int64(MATCHED), view, rows, np.int64(ALL_PARTS), view, rows)
            train(self._game, view, rows, mask, base, order, bounds[k], bounds[k + 1], space)
            return int(space.count[0])

        if threads == 1:
            self.visited += work(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                self.visited += sum(pool.map(work, range(len(bounds) - 1)))
        self.iteration += count

    def probabilities(self) -> Floats:
        """The average strategy by infoset column; a row never visited is uniform over its open actions.

        Before the first iteration it is the start, which the regrets hold.
        """
        infosets = self.task.form.infosets
        fallback = np.isfinite(self.regret[self.column]).astype(np.float64)
        weights = self.average if self.iteration else np.maximum(self.regret, 0.0)
        result = normalise(weights[self.column], infosets, normalise(fallback, infosets))
        return result if self._fixed is None else np.where(np.isnan(self._fixed), result, self._fixed)
