"""Monte Carlo CFR on the tree: an iteration walks a sample of the game, once for each seat."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import SolverError, SpecError
from kibitz.form.rows import RowMap
from kibitz.form.sequence import normalise
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.solvers import Task
from kibitz.threads import together
from kibitz.tree import Tree

Floats = NDArray[np.float64]
MODES = {"external": 0, "outcome": 1, "chance": 2}  # as in kibitz.kernels.walk.sampling


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


def _own(walk: Any) -> Any:
    """The same tree with working space of its own."""
    names = ("slot", "slot_mine", "slot_weight", "edge", "edge_scale", "stack", "stack_reach")
    return walk._replace(**{name: getattr(walk, name).copy() for name in names})


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
            held = frozen[infosets.row_of_column]
            # A frozen row is a row whose regrets are its base probabilities and are never updated.
            self.regret[self.column[held]] = rows.base[held]
            self.regret[self.column[~held & (rows.free < 0)]] = -np.inf
            self._fixed = np.where(held, rows.base, np.nan)
        if task.start is not None:
            moving = ~frozen[infosets.row_of_column] & np.isfinite(self.regret[self.column])
            # Regrets this small give the start's strategy and are forgotten with the first real ones.
            self.regret[self.column[moving]] = 1e-9 * task.form.scale * task.start[moving]
        self._walk = self._lay(self.row_first[row].astype(np.int32), frozen)
        widest = int(max(infosets.width.max(initial=1), np.diff(self.tree.children[0]).max(initial=1)))
        self._space = np.zeros((2, widest))

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

    def _lay(self, column: NDArray[np.int32], frozen: NDArray[np.bool_]) -> Any:
        """The tree as walks read it: four numbers a history, side by side."""
        from kibitz.kernels.walk.sampling import AT_CHANCE, AT_END, AT_FROZEN, Walk

        tree = self.tree
        start, child = tree.children
        node = np.zeros((tree.histories, 4), np.int32)
        node[:, 0] = tree.turn
        node[:, 1] = np.diff(start)
        node[:, 3] = start[:-1]
        deciding = tree.turn >= 0
        node[deciding, 2] = column[tree.infoset[deciding]]
        node[np.flatnonzero(deciding)[frozen[tree.infoset[deciding]]], 0] = AT_FROZEN
        ends = tree.turn == TERMINAL
        node[ends, 0] = AT_END
        node[ends, 2] = np.arange(int(ends.sum()))
        chance = np.flatnonzero(tree.turn == CHANCE)
        node[chance, 0] = AT_CHANCE
        inner = start[:-1][node[:, 1] > 0]  # children of histories that have some, back to back
        spread = np.zeros(tree.histories)
        steps = tree.chance[child]
        if len(inner):
            spread[node[:, 1] > 0] = np.maximum.reduceat(steps, inner) - np.minimum.reduceat(steps, inner)
        node[chance, 2] = spread[chance] < 1e-15  # all outcomes alike: sampling is then one multiplication
        slots, edges = self._room()
        return Walk(
            node, child.astype(np.uint32), tree.chance, tree.payoff,
            np.zeros((slots, 4), np.uint64), np.zeros(slots, bool), np.zeros(slots),
            np.zeros((edges, 2)), np.ones(edges), np.zeros((edges, 2), np.uint64), np.zeros((edges, 2)),
        )  # fmt: skip

    def _room(self) -> tuple[int, int]:
        """Slots and edges that a walk can need at most: it opens some of the decisions of a tree without chance."""
        from kibitz.kernels.sequence.layout import most_opened

        tree = self.tree
        slots, edges = most_opened(tree.parent, tree.turn, tree.players if self.mode == MODES["chance"] else 1)
        return int(slots) + 2, int(edges) + 2

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
        made, walk = copy(self), self._walk
        made.task = replace(self.task, seed=seed)
        made.regret, made.average, made._space = self.regret.copy(), self.average.copy(), self._space.copy()
        made._walk = _own(walk)
        return made

    def regrouped(self, row: NDArray[np.int64]) -> Mccfr:
        """The same with other rows, all of which may move, from a uniform start; it shares the rest of the tree.

        row: infoset -> row. The caller vouches for rows that `kibitz.form.rows.check_rows` lets pass.
        """
        made, tree = self.fresh(self.task.seed), self.tree
        made.task = replace(self.task, rows=None, start=None)
        made._number(row)
        made._fixed = None
        node, deciding = self._walk.node.copy(), tree.turn >= 0
        node[deciding, 0] = tree.turn[deciding]
        node[deciding, 2] = made.row_first[row][tree.infoset[deciding]]
        made._walk = made._walk._replace(node=node)
        return made

    def step(self, count: int) -> None:
        from kibitz.kernels.barrier import gate_of
        from kibitz.kernels.walk.sampling import sample

        threads = self.task.threads
        gate, visited = gate_of(threads), np.zeros(threads, np.int64)
        spaces = [(self._walk, self._space), *((_own(self._walk), self._space.copy()) for _ in range(1, threads))]

        def work(thread: int) -> None:
            walk, space = spaces[thread]
            visited[thread] = sample(
                walk, self.mode, self.explore, self.linear, self.regret, self.average, self.task.seed % 2**63,
                self.iteration, count, space[0], space[1], thread, threads, gate,
            )  # fmt: skip

        together(work, threads)
        self.visited += int(visited.sum())
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
