"""The engine of spots: discounted CFR+ over merged boards, hands of the ranges alone, and numbers of 16 bits.

It does less than a general engine of endgames: suits that board and ranges leave
alike are solved once (`engine_boards.py`), hands outside a range are in no vector, strategies are not kept, and the
ends of betting are worked out sixteen at a time (`kernels/ends.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import HANDS
from kibitz.core.errors import ArtefactError, GameError
from kibitz.core.resources import MARGIN, cores, free_memory
from kibitz.core.threads import Pace, together
from kibitz.poker.exact.operator import aligned
from kibitz.poker.spots.engine_boards import LANES, SAME, Renaming
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.engine_layout import KnownRows, SpotLayout, TargetRows, row_view
from kibitz.poker.spots.engine_rows import RowSource, kept_symmetries
from kibitz.poker.spots.spot import Spot, SpotTree, in_deck, live, meeting, met

Floats = NDArray[np.float64]
ALPHA, GAMMA = 1.5, 4.0  # of dcfr+
# Iterations after which what one of them adds is lost in the rounding of 16 bits: then numbers have 32, if there is
# memory. Half a percent of the pot takes fewer.
COARSE = 256
COPIED = 1 << 20  # numbers at a time
LEAST = 2.0**-32  # as in kernels/codes.py, which loads Numba


class SpotCfr:
    """The state of CFR on a spot."""

    def __init__(
        self, layout: SpotLayout, kind: type[Any] = np.uint16, work: type[Any] = np.float32,
        average: NDArray[Any] | None = None, locks: Sequence[RowSource] = (), near: Sequence[RowSource] = (),
    ) -> None:  # fmt: skip
        """kind: of regrets and averages, uint16 for codes or a float; work: of everything else. average: of a run that
        is over; it has no regrets. locks: what is locked; near: rows, and a player pays for its distance from them."""
        from kibitz.poker.spots.kernels.table import SpotLearned

        self.layout, self.work = layout, work
        self.locks, self.target = KnownRows(layout, locks, work), TargetRows(layout, near, work)
        self.pull = (0.0, 0.0)  # what a distance of 1 costs each player, in chips
        if average is not None:
            self.learned = SpotLearned(aligned(0, average.dtype), average, self.locks.arrays, self.target.arrays)
            return
        both = aligned(layout.sequences, kind), aligned(layout.sequences, kind)
        if kind is not np.uint16:  # whose code 0 it is
            for numbers in both:
                numbers[:] = LEAST
        self.learned = SpotLearned(*both, self.locks.arrays, self.target.arrays)

    @cached_property
    def _crews(self) -> dict[int, tuple[NDArray[Any], list[Any]]]:
        return {}

    def widen(self) -> None:
        """Go on in numbers of 32 bits."""
        self.learned = self.learned._replace(regret=_wide(self.learned.regret), average=_wide(self.learned.average))

    def settled(self) -> NDArray[Any]:
        """The average, and what is locked in its place: in numbers of 32 bits if anything is."""
        average = self.learned.average
        if not self.locks.nodes:
            return average
        average = _wide(average) if average.dtype == np.uint16 else average.copy()
        for node in self.locks.nodes:
            for board in self.locks.boards(node):
                known, rows = self.locks.on(node, board), row_view(self.layout, average, node, board)
                locked = known[-1] == 0.0
                locked[int(self.layout.lists.count[self.layout.tree.betting.turn[node], board]) :] = False
                rows[:, locked] = np.maximum(known[:-1, locked], LEAST)
        return average

    @property
    def nbytes(self) -> int:
        return self.learned.regret.nbytes + self.learned.average.nbytes

    def iterate(self, done: int, count: int, threads: int, rule: tuple[float, float] = (ALPHA, GAMMA)) -> None:
        pull = (self.pull[0] / self.layout.chips, self.pull[1] / self.layout.chips)
        self._run(threads, done=done, count=count, alpha=rule[0], gamma=rule[1], pull=pull)

    def _run(self, threads: int, **task: Any) -> Any:
        """Have something computed; returns what the first thread worked with."""
        from kibitz.poker.spots.kernels.passes import run
        from kibitz.poker.spots.kernels.table import SpotTask

        table, (ranges, crews), order = self.layout.table, self._crew(threads), SpotTask(**task)
        together(lambda k: run(table, ranges, self.learned, order, crews[k]), len(crews))
        return crews[0]

    def values(self, seat: int, best: bool, threads: int) -> Floats:
        """[hands of the seat]  what each is worth against the other's average, in chips times the other's range."""
        layout, crew = self.layout, self._run(threads, seat=seat, best=best)
        count = int(layout.lists.count[seat, 0])
        return np.asarray(crew.first.value[:count].astype(np.float64) * layout.chips)

    def apart(self) -> Floats:
        """[2]  how far both averages are from the target: the mean over hands, boards and ways of the sum over a
        player's decisions of half the squared difference."""
        layout, boards = self.layout, self.layout.boards
        chance, distance = np.ones(len(boards)), np.zeros(2)
        for number in range(1, len(boards)):
            chance[number] = chance[boards[number].above] * boards[number].weight
        mass = float(layout.ranges[0] @ meeting(layout.ranges[1]))
        for seat in (0, 1):
            self.target.apart[:] = 0.0
            self._run(1, seat=1 - seat, apart=True)
            distance[seat] = chance @ self.target.apart / mass
        return distance

    def values_on(self, seat: int, best: bool, board: int) -> Floats:
        """[entries, hands of the seat]  the same at all entries of a board that is not the first."""
        layout = self.layout
        level = int(layout.level[board])
        above = layout.boards[board].above if level == 2 else -1
        crew = self._run(1, seat=seat, best=best, board=board, above=above)
        out = crew.inner if level == 2 else crew.out[0]
        values = out.reshape(-1, layout.stride(level))[:, : int(layout.lists.count[seat, board])]
        return np.asarray(values.astype(np.float64) * layout.chips)

    def _crew(self, threads: int) -> tuple[NDArray[Any], list[Any]]:
        """(ranges by seat, what each thread works with)."""
        threads = 1 if self.layout.levels == 1 else threads
        if threads not in self._crews:
            self._crews[threads] = self._new_crew(threads)
        return self._crews[threads]

    def _new_crew(self, threads: int) -> tuple[NDArray[Any], list[Any]]:
        from kibitz.core.barrier import gate_of
        from kibitz.poker.spots.kernels.table import SpotCrew, SpotLanes, SpotSpace

        layout, work = self.layout, self.work
        widest, levels = layout.streets.widest, layout.levels
        entries = np.diff(np.asarray(layout.streets.arrays["level_entry"]))

        def space(level: int) -> Any:
            rows, stride = int(widest[level]), layout.stride(level)
            return SpotSpace(aligned((rows + 2) * stride, work), aligned((rows + 2) * stride, work), stride, rows)

        def lanes() -> Any:
            size, sums = (layout.stride(0) + 1) * LANES, 52 * LANES
            reach, value, fold = (aligned(size, work) for _ in range(3))
            running, total, chips = (aligned(n, work) for n in (sums, sums, 5 * LANES))
            return SpotLanes(reach, value, fold, running, total, chips, np.zeros(3 * LANES, np.int64))

        gate, first, none = gate_of(threads), space(0), np.zeros(0, work)
        below = 1 if levels > 1 else 0
        out = np.zeros((layout.level_board[2] - 1, entries[1] * layout.stride(1)) if below else (0, 0), work)
        empty = SpotSpace(none, none, 0, 0)
        crews = []
        for thread in range(threads):
            inner = aligned(entries[2] * layout.stride(2), work) if levels == 3 else none
            crews.append(SpotCrew(thread, threads, gate, first, space(1) if levels == 3 else empty,
                                  space(levels - 1) if levels > 1 else empty, lanes(), out, inner))  # fmt: skip
        ranges = aligned(2 * layout.stride(0), work).reshape(2, -1)
        for seat in (0, 1):
            hands = layout.hands(seat, 0)
            ranges[seat, : len(hands)] = layout.ranges[seat, hands]
        return ranges.ravel(), crews


class MergedEngine:
    """dcfr+ on a spot."""

    def __init__(
        self, spot: Spot, tree: SpotTree, threads: int | None = None, locks: Sequence[RowSource] = (),
        kind: type[Any] = np.uint16, work: type[Any] = np.float32, near: Sequence[RowSource] = (),
    ) -> None:  # fmt: skip
        """locks: rows that stay; near: rows to be near; kind and work: the types of numbers, as in `SpotCfr`."""
        self.layout = SpotLayout(spot, tree, kept_symmetries(spot, (*locks, *near)))
        self.state = SpotCfr(self.layout, kind, work, locks=locks, near=near)
        self.threads = (cores() if threads is None else threads) if self.layout.levels > 1 else 1
        self.pace = Pace(self.threads)

    def iterate(self, done: int, count: int) -> None:
        narrow = min(count, max(0, COARSE - done))
        if narrow:
            self.pace.run(self.state.iterate, done, narrow)
        if count > narrow:
            wide = 4 * self.layout.sequences
            if self.state.learned.regret.dtype == np.uint16 and 2 * wide < free_memory() - MARGIN:
                self.state.widen()
            self.pace.run(self.state.iterate, done + narrow, count - narrow)

    def gains(self) -> Gains:
        layout, both = self.layout, np.zeros((2, 2))
        mass = float(layout.ranges[0] @ meeting(layout.ranges[1]))
        even = bool(np.allclose(layout.tree.pays[:, 0, ::-1], -layout.tree.pays[:, 1]))  # one wins what the other loses
        for seat in (0, 1):
            weights = layout.ranges[seat, layout.hands(seat, 0)]
            for best in (True, False):
                if best or seat == 0 or not even:
                    both[int(best), seat] = weights @ self.state.values(seat, best, self.pace.threads) / mass
        if even:
            both[0, 1] = -both[0, 0]
        return Gains(both[0], both[1])

    def answer(self) -> MergedRows:
        return MergedRows(self.layout, SpotCfr(self.layout, average=self.state.settled(), work=self.state.work))


class MergedRows:
    """The average strategy by betting node and board, and what hands are worth there."""

    kind = "merged"

    def __init__(
        self, layout: SpotLayout, state: SpotCfr, roots: dict[tuple[int, bool], Floats] | None = None
    ) -> None:
        """roots: what `SpotCfr.values` would say, by seat and best, where that is known."""
        self.layout, self.state, self._roots = layout, state, roots or {}
        self.renamings = layout.renamings
        self._values: dict[tuple[int, bool, int], Floats] = {}

    def packed(self) -> dict[str, NDArray[np.uint16]]:
        """The average as codes, a fingerprint of its layout, and the renamings of suits that it merges."""
        return {"average": coded(self.state.learned.average), "layout": self.layout.mark,
                "renamings": np.array(self.renamings, np.uint16)}  # fmt: skip

    @classmethod
    def unpacked(cls, spot: Spot, tree: SpotTree, arrays: dict[str, NDArray[Any]]) -> MergedRows:
        layout = SpotLayout(spot, tree, _renamings(spot, arrays["renamings"]))
        average, mark = arrays["average"], arrays["layout"]
        if average.dtype != np.uint16 or average.shape != (layout.sequences,) or not np.array_equal(mark, layout.mark):
            raise ArtefactError("its strategy has another layout than the spot")
        codes = aligned(layout.sequences, np.uint16)  # arrays of files may be read alone, and kernels know no others
        codes[:] = average
        return cls(layout, SpotCfr(layout, average=codes))

    def root_values(self, seat: int, node: int, board: Sequence[int], best: bool) -> Floats:
        layout, arrays = self.layout, self.layout.streets.arrays
        entries = np.asarray(arrays["entry_node"][:-1])
        entry = int(np.searchsorted(entries, layout.streets.number[node]))
        if entry == len(entries) or entries[entry] != layout.streets.number[node]:
            raise GameError("the node does not begin a street")
        number, hands = layout.find(board)
        level = int(layout.level[number])
        low, high = (int(arrays["level_entry"][level + k]) for k in (0, 1))
        if not low <= entry < high:
            raise GameError("the node and the board are not of one street")
        if (seat, best, number) not in self._values:
            here = self.state.values_on(seat, best, number) if level else self._root(seat, best)
            self._values = {key: kept for key, kept in self._values.items() if key[2] == number}  # for one board
            self._values[seat, best, number] = np.atleast_2d(here)
        there = np.zeros(HANDS)
        there[layout.hands(seat, number)] = self._values[seat, best, number][entry - low]
        return there[hands] * float(live(layout.spot)[1 - seat].max())

    def _root(self, seat: int, best: bool) -> Floats:
        return self._roots[seat, best] if (seat, best) in self._roots else self.state.values(seat, best, 1)

    def numbers(self, node: int, board: int) -> Floats:
        """[actions, hands]  weights of the actions at a node of the tree, on a board that is solved."""
        seat = int(self.layout.tree.betting.turn[node])
        count = int(self.layout.lists.count[seat, board])
        return decoded(row_view(self.layout, self.state.learned.average, node, board)[:, :count])

    def rows(self, node: int, board: Sequence[int]) -> Floats:
        number, hands = self.layout.find(board)
        seat = int(self.layout.tree.betting.turn[node])
        weights = self.numbers(node, number)
        there = np.full((len(weights), HANDS), 1.0 / len(weights))
        there[:, self.layout.hands(seat, number)] = weights / weights.sum(axis=0)
        rows = there[:, hands]
        rows[:, met(tuple(int(card) for card in board)) | ~in_deck(self.layout.spot.deck)] = 0.0
        return rows


def _renamings(spot: Spot, codes: NDArray[Any]) -> tuple[Renaming, ...]:
    """The renamings of a file: some of those that change nothing, and all that follow from them."""
    some = {tuple(int(suit) for suit in each) for each in codes.reshape(-1, 4)[:24]}
    if SAME not in some or {tuple(a[suit] for suit in b) for a in some for b in some} != some:
        raise ArtefactError("its renamings of suits do not belong together")
    kept = tuple(each for each in kept_symmetries(spot, ()) if each in some)
    if len(kept) != len(some):
        raise ArtefactError("its renamings of suits change the spot")
    return kept


def _wide(numbers: NDArray[Any]) -> NDArray[Any]:
    """Codes as numbers of 32 bits."""
    wide = aligned(len(numbers), np.float32)
    for begin in range(0, len(numbers), COPIED):
        wide[begin : begin + COPIED] = decoded(numbers[begin : begin + COPIED])
    return wide


def decoded(numbers: NDArray[Any]) -> Floats:
    """What codes stand for (`kernels/codes.py`); floats stay what they are."""
    if numbers.dtype != np.uint16:
        return numbers.astype(np.float64)
    return ((numbers.astype(np.uint32) << 13) + np.uint32(95 << 23)).view(np.float32).astype(np.float64)


def coded(numbers: NDArray[Any]) -> NDArray[np.uint16]:
    """The nearest codes."""
    if numbers.dtype == np.uint16:
        return numbers
    bits = np.maximum(numbers, LEAST).astype(np.float32).view(np.uint32)
    return np.asarray((bits - np.uint32(95 << 23) + np.uint32(1 << 12)) >> 13, np.uint16)
