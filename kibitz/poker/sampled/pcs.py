"""Public chance sampling: CFR in which an iteration samples the board and visits all hands of both seats."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, boards_of
from kibitz.core.errors import SolverError
from kibitz.core.resources import MARGIN, free_memory
from kibitz.core.threads import Pace, together
from kibitz.poker.sampled.betting_batch import BettingBatch
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.sampled.hands import hands_of
from kibitz.solvers import Task

Floats = NDArray[np.float64]
BATCH = 16  # boards that are made ready at a time
ROUNDS = 4  # most rounds of a game
DRAWN = 1024  # boards that are drawn at a time


def _form(task: Task) -> ViewForm:
    if not isinstance(task.form, ViewForm):
        raise SolverError(
            "pcs is for two-player poker with buckets of hands: give them, such as --abstraction 'percentile(8)'; "
            "for other games use mccfr"
        )
    return task.form


class Pcs:
    """Regrets and averages of all rows, in single precision, by seat, group of the betting, action, row and lane.

    The same seed gives the same bytes for any number of threads. An iteration goes over one board for each seat in
    turn. With linear weights iteration t counts t times, in regrets and averages [Brown & Sandholm 2019, LCFR].
    """

    exact = False
    measured = False  # no gap is known: a sum over all boards takes hours

    def __init__(self, task: Task, spec: str, linear: bool, dtype: Any = np.float32) -> None:
        self.task, self.spec, self.linear, self.iteration, self.dtype = task, spec, linear, 0, np.dtype(dtype)
        self.form = _form(task)
        definition = self.form.definition
        self.boards: Boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
        self.hole, self.last = definition.hole, definition.rounds - 1
        self.lanes = BettingBatch(self.form.betting, self.form.of_node)
        if self.form.frozen is not None:
            self.lanes = BettingBatch(self.form.betting, self.form.of_node, self.form.wanted, self.form.moving)
        self.begins, self.views, self.sizes = zip(
            *(self.lanes.places(seat, self.form.rows) for seat in (0, 1)), strict=True
        )
        self._check_memory()
        wide = self._wide
        self.regret = [np.zeros(size * wide, self.dtype) for size in self.sizes]
        self.average = [np.zeros(size * wide, self.dtype) for size in self.sizes]
        if task.start is not None:  # regrets this small are forgotten with the first real ones
            first = task.start
            self._fill(lambda node: self.form.at(first, node), 1e-6, self.form.deciding)
        if self.form.frozen is not None:
            self._fill(self.form.frozen.played, 1.0, self.form.frozen.node)

    @property
    def _wide(self) -> int:
        from kibitz.core.vectors import LANES

        return int(LANES)

    def _check_memory(self) -> None:
        needed = 2 * self.dtype.itemsize * self._wide * sum(self.sizes) + 2 * 8 * self.form.columns
        free = max(0, free_memory() - MARGIN)
        if needed > free:
            raise SolverError(
                f"{self.form.spec} within {self.form.abstraction} ({self.form.points:,} infosets) takes about "
                f"{needed / 1e9:,.1f} GB to solve, and {free / 1e9:,.1f} GB are free: take fewer buckets"
            )

    def _fill(self, played: Callable[[int], NDArray[Any]], scale: float, nodes: NDArray[np.bool_]) -> None:
        """Set regrets to probabilities, which regret matching gives back."""
        for seat, at, node, lane in self._blocks():
            if nodes[node]:
                here = played(node)
                self.regret[seat].reshape(-1, self._wide)[at : at + here.size, lane] = scale * here.ravel()

    def _blocks(self) -> Any:
        """(seat, where its rows begin, node of the betting, lane) of all deciding nodes."""
        for seat in (0, 1):
            for group, of_group in enumerate(self.lanes.groups.lanes):
                for k, first, _ in self.lanes.deciding(seat, group):
                    for lane, segment in enumerate(of_group):
                        node = int(self.lanes.segments.node[segment][k])
                        yield seat, int(self.begins[seat][group][first]), node, lane

    # What kernels read

    @cached_property
    def _rounds(self) -> list[Any]:
        """By round: (Betting, Deciding)."""
        from kibitz.poker.sampled.kernels import Deciding

        tables = self.lanes.tables(list(self.begins), list(self.views), self.dtype)
        nodes, moving, rounds = self.lanes.nodes, self.form.moving, []
        for level, betting in enumerate(tables):
            mine = self.lanes.of_round(level)
            low, high = (int(nodes["group_node"][g]) for g in (mine.start, mine.stop))
            moves, action = np.zeros(high - low, np.bool_), np.zeros(high - low, np.int32)
            for g in mine:
                first, last = nodes["group_node"][g : g + 2].tolist()
                of = self.lanes.segments.node[self.lanes.groups.lanes[g][0]]
                moves[first - low : last - low] = moving[of]
                action[first - low : last - low] = self.form.betting.action[of]
            child = np.ascontiguousarray(nodes["children"][low:high], np.int32)
            rounds.append((betting, Deciding(nodes["count"][low:high].astype(np.int32), child, moves, action)))
        return rounds

    def _vectors(self, level: int) -> NDArray[Any]:
        """[groups of a round, hands before it, LANES]"""
        hands = self.boards.hands(max(0, level - 1), self.hole)
        return np.zeros((len(self.lanes.of_round(level)), hands, self._wide), self.dtype)

    @cached_property
    def _game(self) -> tuple[Any, ...]:
        """What kernels need of each round, as many as ROUNDS: they are compiled once for all games."""
        from kibitz.poker.sampled.kernels import Roots, RoundOfGame

        levels = range(self.last + 1)
        values, every = [self._vectors(level) for level in levels], list[Any]()
        roots = [Roots(*(self._vectors(level) for _ in range(3))) for level in levels]
        for level, (betting, deciding) in enumerate(self._rounds):
            own = Roots(*(each.reshape(len(each), -1)[:, : None if level else 0] for each in roots[level]))
            onto = roots[min(level + 1, self.last)]
            after = values[level + 1] if level < self.last else values[level][:0]
            every.append(RoundOfGame(betting, deciding, own, onto, values[level], after))
        return _filled_up(every)

    def _space(self) -> Any:
        """Working space of a thread."""
        from kibitz.poker.sampled.kernels import SampledWorkspace

        depth, acted = (int(each.max(initial=0)) for each in self.lanes.ways[:2])
        most = max(deciding.child.shape[1] for _, deciding in self._rounds)
        hands, wide = self.boards.hands(0, self.hole), self._wide
        sizes = [(acted + 1, 1)] * 3 + [(depth + 2, 1)] + [(depth + 2, most)] * 2
        vectors = [np.zeros((n, times * hands * wide), self.dtype) for n, times in sizes]
        sums, known = np.zeros((acted + 1, 53 * wide), self.dtype), np.zeros(acted + 1, np.int8)
        reach, own, fixed, value, played, worth = vectors
        return SampledWorkspace(reach, own, fixed, value, played, worth, sums, known, np.zeros(53 * wide, self.dtype),
                     np.zeros(hands * wide, self.dtype))  # fmt: skip

    @cached_property
    def _spaces(self) -> list[Any]:
        return [self._space() for _ in range(self.task.threads)]

    @cached_property
    def _pace(self) -> Pace:
        return Pace(self.task.threads)

    # Boards

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.boards.rounds[-1].total)

    def _drawn(self, iteration: int) -> int:
        """The last board of an iteration; boards are as likely as they are dealt."""
        chunk, place = divmod(iteration, DRAWN)
        if getattr(self, "_chunk", (-1, None))[0] != chunk:
            draw = np.random.Generator(np.random.Philox([abs(self.task.seed), chunk]))
            picks = draw.integers(0, int(self._ends[-1]), DRAWN)
            self._chunk = chunk, np.searchsorted(self._ends, picks, side="right")
        return int(self._chunk[1][place])

    def _chains(self, first: int, count: int) -> list[NDArray[np.int64]]:
        """By round the boards of some iterations."""
        chains = [np.array([self._drawn(first + k) for k in range(count)], np.int64)]
        for level in range(self.last, 0, -1):
            chains.insert(0, np.asarray(self.boards.rounds[level].above[chains[0]], np.int64))
        return chains

    def _ready(self, chain: list[NDArray[np.int64]]) -> tuple[Any, ...]:
        """By round what kernels need of the boards of some iterations."""
        from kibitz.poker.sampled.kernels import Drawn, SeenRows, gather

        ready, each = [], np.arange(len(chain[0]))
        number = np.full(max(int(each) for view in self.form.views for each in view.counts), -1, np.int32)
        for level, here in enumerate(chain):
            before = chain[max(0, level - 1)]
            hands = hands_of(self.boards, self.hole, level, before, here, each, self.form.buckets)
            row = np.ascontiguousarray(hands.row.transpose(1, 0, 2))  # [boards, sources, hands]
            seen = SeenRows(np.zeros_like(row), np.zeros(row.shape[:2], np.int64))
            gather(row[:, :, None], number, *seen)
            hands = hands._replace(copies=np.full(len(here), self._times(level)), two=np.full(len(here), self.hole))
            ready.append(Drawn(hands._make(of[:, None] for of in hands._replace(row=row))._replace(row=row[:, :, None]),
                               seen))  # fmt: skip
        return _filled_up(ready)

    def _times(self, level: int) -> float:
        """One of the boards that may come stands for all: as many as there are, for those that leave a pair of hands
        alone."""
        left, new = len(self.boards.deck) - sum(self.boards.board[:level]), self.boards.board[level]
        return math.comb(left, new) / math.comb(left - 2 * self.hole, new)

    # Iterations

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {f"{what}{seat}": array for what, of in (("regret", self.regret), ("average", self.average))
                for seat, array in enumerate(of)}  # fmt: skip

    def restore(self) -> None:
        """Nothing follows from the state: the next boards come from the number of the iteration."""

    def step(self, count: int) -> None:
        from kibitz.core.barrier import gate_of
        from kibitz.poker.sampled.kernels import LearnedRows, iterate

        table = LearnedRows((self.regret[0], self.regret[1]), (self.average[0], self.average[1]))
        frozen, begun, end = self.form.frozen is not None, self.iteration, self.iteration + count
        game, spaces = self._game, self._spaces
        while begun < end:
            number = min(BATCH, end - begun)
            drawn = self._ready(self._chains(begun, number))

            def share(done: int, more: int, threads: int, drawn: Any = drawn, begun: int = begun) -> None:
                gate = gate_of(threads)

                def work(thread: int) -> None:
                    iterate(game, drawn, self.last, done, more, begun, self.linear, frozen, table, spaces[thread],
                            gate, thread, threads)  # fmt: skip

                together(work, threads)
                self.iteration = begun + done + more

            self._pace.run(share, 0, number)
            begun = self.iteration

    def probabilities(self) -> Floats:
        """The average strategy by infoset column; a row never visited is uniform, before the first iteration the start.

        Frozen rows are what they are frozen at.
        """
        probabilities = self.form.uniform()  # of what is left out
        source = self.average if self.iteration else self.regret
        frozen = np.zeros(0, np.bool_) if self.form.frozen is None else self.form.frozen.node
        for seat, at, node, lane in self._blocks():
            here = self.form.at(probabilities, node)
            weights = source[seat].reshape(-1, self._wide)[at : at + here.size, lane].astype(np.float64)
            here[:] = _shares(weights.reshape(here.shape))
        for node in np.flatnonzero(frozen & self.form.deciding if len(frozen) else frozen).tolist():
            assert self.form.frozen is not None
            self.form.at(probabilities, node)[:] = self.form.frozen.played(node)
        return probabilities


def _filled_up(rounds: list[Any]) -> tuple[Any, ...]:
    """As many as ROUNDS, the last again and again."""
    return tuple(rounds + rounds[-1:] * (ROUNDS - len(rounds)))


def _shares(weights: Floats) -> Floats:
    """Rows as probabilities; where there is nothing, uniform."""
    whole = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[1])
    shares: Floats = np.divide(weights, whole, out=even, where=whole > 0.0)
    return shares
