"""Public chance sampling on a GPU: many boards at a time by one strategy, by kernels that are written for the betting
of the game (`cuda.py`).

A batch of boards is gone through for one seat, whose rows then learn; then for the other. Batches are small at first,
as early strategies change fast, and never more than a 64th of the boards so far. Regrets and averages are those of
`pcs.py`, in the same places, so either resumes what the other began. Threads add side by side, so a run is not
reproducible to the byte.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import aside
from kibitz.core.errors import SolverError
from kibitz.core.gpu import CudaKernels
from kibitz.poker.bucketed.device import Device
from kibitz.poker.sampled.cuda import ADD, C_NAMES, LEARN, LIFT, PAIRS, STEP, WARP, WIDE, LearningRound, filled
from kibitz.poker.sampled.drawn_boards import BatchHands, DrawnBoards, hands_above, rounds_without_cards
from kibitz.poker.sampled.pcs import Pcs
from kibitz.poker.sampled.writer import LearningShape, LearningWriter, learning_shapes
from kibitz.poker.whole.plan import EXIT
from kibitz.solvers import Task

MOST_BATCH = 256  # boards
GROWTH = 64  # a batch is at most this part of the boards so far: with 16 strategies learn too seldom
SHARE = 0.85  # of free memory that is taken at most
THREADS = 256
ROW_BLOCKS = 4096  # of threads that go through the rows of a node


@dataclass
class LearningTables:
    """The betting of a round on the GPU, for the seat that learns."""

    of: LearningRound
    stake: Any  # [G, N, WIDE]
    begin: tuple[Any, Any]  # int64[G]  by seat: where the rows of a group begin, in WIDE
    gain_begin: Any  # int64[G]  where its gains begin
    lanes: Any  # int32[G]  lanes in use
    exits: Any  # int32[G, N, WIDE]  the lane of the next round; -1: none
    kinds: list[tuple[LearningWriter, Any]]  # by shape: its code, int32[groups of the shape]
    module: Any
    functions: dict[str, Any] = field(default_factory=dict)


@dataclass
class LearningNodes:
    """The deciding nodes of a seat, and the kernel by which their rows learn."""

    all: tuple[Any, ...]  # where rows begin, where gains begin, rows, actions
    moving: tuple[Any, ...]  # the same of those that are not frozen
    most: int  # rows of a node
    module: Any
    functions: dict[str, Any] = field(default_factory=dict)


@dataclass
class BatchRoom:
    """Working space for so many boards. By round."""

    boards: int
    roots: list[list[Any]]  # reaches at the roots of groups: of the other, of the seat, of the seat by frozen rows
    after: list[Any]  # what hands are worth on the board before
    above: list[Any]  # int32[boards]  the board before


def betting_tables(
    betting: Any, of: LearningRound, seat: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32]]:
    """Of a round (`Betting` of `whole/kernels/boards.py`) for one seat: (stakes [G, N, WIDE]; by seat where the rows of
    a group begin, [2, G], in WIDE; exits [G, N, WIDE], the lane of the next round or -1)."""
    stake = np.zeros((of.groups, of.nodes, WIDE), betting.stake.dtype)
    begin = np.zeros((2, of.groups), np.int64)
    exits = np.full((of.groups, of.nodes, WIDE), -1, np.int32)
    for g in range(of.groups):
        nodes = slice(*betting.group_node[g : g + 2].tolist())
        stake[g, : nodes.stop - nodes.start] = betting.stake[seat, nodes]
        for who in (0, 1):
            led = betting.slot[who, nodes] == np.arange(nodes.stop - nodes.start)
            led[0] = False
            begin[who, g] = betting.sequence[who, nodes][led].min() if led.any() else 0
        for link in range(*betting.group_link[g : g + 2].tolist()):
            lane, lanes = int(betting.link_lane[link]), int(betting.link_count[link])
            first = int(betting.link_group[link]) * WIDE + int(betting.link_first[link])
            exits[g, betting.link_node[link], lane : lane + lanes] = np.arange(first, first + lanes)
    return stake, begin, exits


class GpuPcs(CudaKernels, Pcs):
    """`Pcs` on a GPU. What is learnt is copied back where it is asked for."""

    def __init__(
        self, task: Task, spec: str, linear: bool, dtype: Any = np.float32, device: Device | None = None,
        batch: int | None = None,
    ) -> None:  # fmt: skip
        """batch: boards at a time at most; by default so many as are worth it, and not more than the game has."""
        self.device = device or Device("gpu")
        self.xp = self.device.xp
        super().__init__(task, spec, linear, dtype)
        self.most = batch or min(MOST_BATCH, int(self._ends[-1]))
        self._frozen = self.form.frozen is not None
        self._ahead = False  # whether the GPU has learnt more than is known here
        self._check_room()
        self._values = self.xp.empty(0, self.dtype)
        self._room = BatchRoom(0, [], [], [])
        self._copied: Any = None

    # Memory

    def _check_room(self) -> None:
        """Refuse before the start what the GPU cannot hold; a batch has as many boards as there is room for."""
        size = self.dtype.itemsize
        fixed = size * WIDE * (3 * sum(self.sizes) + self._gains_size) + (1 << 28)
        free = int(SHARE * self.device.free())
        if fixed + self._board_bytes > free:
            raise SolverError(
                f"{self.form.spec or 'this game'} within {self.form.abstraction} ({self.form.points:,} infosets) takes "
                f"{(fixed + self._board_bytes) / 1e9:,.1f} GB of the GPU's memory, and {free / 1e9:,.1f} GB may be "
                "used: take fewer buckets, or leave out --device"
            )
        self.most = max(1, min(self.most, (free - fixed) // self._board_bytes))

    @cached_property
    def _board_bytes(self) -> int:
        """Of working space for one board, about."""
        room = most = 0
        for level in range(self.last + 1):
            groups, hands = len(self.lanes.of_round(level)), self.boards.hands(level, self.hole)
            places = min(STEP * hands, 2 * hands + 500) + STEP
            most = max(most, self._slots(level) * groups * places * WIDE * self.dtype.itemsize)
            room += (3 + self._frozen) * groups * (hands_above(self.boards, self.hole, level) + STEP) * WIDE * 4
            room += places * 40
        return int(most + room * self.dtype.itemsize // 4)

    def _slots(self, level: int) -> int:
        of = self._round(level)
        return max(LearningWriter(shape, seat, of, "", self._frozen).slots
                   for shape in self._shapes[level] for seat in (0, 1))  # fmt: skip

    @cached_property
    def _gains_size(self) -> int:
        """Of the seat that needs more, in WIDE."""
        counts = [sum(self.form.rows[node] for *_, node in self._seat_blocks(seat)) for seat in (0, 1)]
        return int(max(size + count for size, count in zip(self.sizes, counts, strict=True)))

    def _seat_blocks(self, seat: int) -> Any:
        """(level, group of the round, node of the group, node of the betting) where a seat decides."""
        for level in range(self.last + 1):
            for g, group in enumerate(self.lanes.of_round(level)):
                of = self.lanes.segments.node[self.lanes.groups.lanes[group][0]]
                for k, _, _ in self.lanes.deciding(seat, group):
                    yield level, g, k, int(of[k])

    # Betting

    def _round(self, level: int) -> LearningRound:
        betting, groups = self._rounds[level][0], len(self.lanes.of_round(level))
        return LearningRound(
            self.boards.hands(level, self.hole), hands_above(self.boards, self.hole, level), groups,
            int(np.diff(betting.group_node).max()), len(self.lanes.of_round(level + 1)) if level < self.last else 1,
            self.boards.live(level), self.hole == 2, len(self.form.buckets), self.dtype.itemsize,
        )  # fmt: skip

    @cached_property
    def _shapes(self) -> list[dict[LearningShape, list[int]]]:
        return [
            learning_shapes(betting, deciding, [each.counts[level] for each in self.form.buckets])
            for level, (betting, deciding) in enumerate(self._rounds)
        ]

    @cached_property
    def _gain_begins(self) -> list[list[NDArray[np.int64]]]:
        """By seat and round: where the gains of a group begin, in WIDE: behind those of all nodes before."""
        begins = []
        for seat in (0, 1):
            at, here = 0, [np.zeros(len(self.lanes.of_round(level)), np.int64) for level in range(self.last + 1)]
            seen = set()
            for level, g, k, node in self._seat_blocks(seat):
                if (level, g) not in seen:
                    here[level][g] = at
                    seen.add((level, g))
                at += int(self.form.rows[node]) * (int(self._rounds[level][1].count[self._node(level, g, k)]) + 1)
            begins.append(here)
        return begins

    def _node(self, level: int, g: int, k: int) -> int:
        return int(self._rounds[level][0].group_node[g]) + k

    @cached_property
    def _tables(self) -> list[list[LearningTables]]:
        """By seat and round. Compilers run side by side."""
        with ThreadPoolExecutor(min(8, max(1, self.task.threads))) as pool:
            keys = [(level, seat) for seat in (0, 1) for level in range(self.last, -1, -1)]
            tables = dict(zip(keys, pool.map(lambda key: self._made(*key), keys), strict=True))
        return [[tables[level, seat] for level in range(self.last + 1)] for seat in (0, 1)]

    def _made(self, level: int, seat: int) -> LearningTables:
        of, xp = self._round(level), self.xp
        stake, begin, exits = betting_tables(self._rounds[level][0], of, seat)
        kinds = [
            (LearningWriter(shape, seat, of, f"b{k}", self._frozen), xp.asarray(np.array(groups, np.int32)))
            for k, (shape, groups) in enumerate(self._shapes[level].items())
        ]
        lanes = np.array([len(self.lanes.groups.lanes[g]) for g in self.lanes.of_round(level)], np.int32)
        module = self._compile(of.prelude() + ADD + LIFT + "".join(writer.source() for writer, _ in kinds))
        if self.device.on_gpu:
            module.compile()  # now, by this thread
        return LearningTables(
            of, xp.asarray(stake), (xp.asarray(begin[0]), xp.asarray(begin[1])),
            xp.asarray(self._gain_begins[seat][level]), xp.asarray(lanes), xp.asarray(exits), kinds, module,
        )  # fmt: skip

    @cached_property
    def _nodes(self) -> list[LearningNodes]:
        """By seat."""
        module = self._compile(LEARN.format(real=C_NAMES[self.dtype.itemsize], wide=WIDE))
        nodes = []
        for seat in (0, 1):
            places, moves = [], []
            for level, g, k, node in self._seat_blocks(seat):
                betting, deciding = self._rounds[level]
                shape = next(shape for shape, groups in self._shapes[level].items() if g in groups)
                at, first = self._node(level, g, k), int(betting.group_node[g])
                begin = int(betting.sequence[seat, first + deciding.child[at, 0]])
                gain = int(self._gain_begins[seat][level][g]) + shape.gain[k]
                places.append((begin, gain, int(self.form.rows[node]), int(deciding.count[at])))
                moves.append(bool(deciding.moves[at]))
            both = []
            for wanted in (np.ones(len(moves), np.bool_), np.array(moves, np.bool_)):
                columns = np.array(places, np.int64).reshape(-1, 4)[wanted].T
                kinds = np.int64, np.int64, np.int32, np.int32
                both.append(tuple(self.xp.asarray(columns[k].astype(kind)) for k, kind in enumerate(kinds)))
            nodes.append(LearningNodes(both[0], both[1], max((each[2] for each in places), default=1), module))
        return nodes

    # What is learnt

    @cached_property
    def _learnt(self) -> tuple[list[Any], list[Any], list[Any], Any]:
        """On the GPU: regrets, averages and strategies by seat, and gains, which are 0 between batches."""
        regret, average = ([self.xp.asarray(each) for each in of] for of in (self.regret, self.average))
        if self.xp is np:
            regret, average = [each.copy() for each in regret], [each.copy() for each in average]
        strategy = [self.xp.zeros_like(each) for each in regret]
        gains = self.xp.zeros(self._gains_size * WIDE, self.dtype)
        learnt = regret, average, strategy, gains
        for seat in (0, 1):
            self._learn(seat, self._nodes[seat].all, learnt, True)
        return learnt

    def _learn(self, seat: int, nodes: tuple[Any, ...], learnt: Any, every: bool = False) -> None:
        """Add the gains of a seat's rows to what they have learnt, and work out their strategies: of rows that have
        gains, or of every row."""
        regret, average, strategy, gains = learnt
        of = self._nodes[seat]
        if not len(nodes[0]):
            return
        blocks = min(ROW_BLOCKS, -(-of.most * WIDE // THREADS))
        self._function(of, "learn")(
            (len(nodes[0]), blocks), (THREADS,),
            (*nodes, regret[seat], average[seat], strategy[seat], gains, np.int32(blocks * THREADS),
             np.int32(every)),
        )  # fmt: skip

    def _fetch(self) -> None:
        """What the GPU has learnt, to here."""
        if not self._ahead:
            return
        for mine, there in zip((self.regret, self.average), self._learnt[:2], strict=True):
            for seat in (0, 1):
                mine[seat][...] = self.device.to_host(there[seat])
        self._ahead = False

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        self._fetch()
        return super().state

    def restore(self) -> None:
        self.__dict__.pop("_learnt", None)
        self._ahead = False

    def probabilities(self) -> NDArray[np.float64]:
        self._fetch()
        return super().probabilities()

    # Boards

    @property
    def _same(self) -> int:
        """Rounds before the first cards, in which there is but one board."""
        return rounds_without_cards(self.boards)

    @cached_property
    def _drawn_boards(self) -> DrawnBoards:
        card_bytes = [self._round(level).card_bytes for level in range(self.last + 1)]
        return DrawnBoards(self.boards, self.hole, list(self.form.buckets), card_bytes, self.xp, self.task.threads,
                           self._chains)  # fmt: skip

    def _space_for(self, boards: int) -> BatchRoom:
        if boards <= self._room.boards:
            return self._room
        xp, boards = self.xp, min(self.most, 2 * boards)
        self._room = BatchRoom(0, [], [], [])  # let go before more is asked for
        kinds, roots, above = 2 + self._frozen, [], []
        after: list[Any] = []
        for level in range(self.last + 1):
            of = self._round(level)
            if level == 0:  # all hands come
                first = xp.ones((1, of.groups, of.above + 1, WIDE), self.dtype)
                first[:, :, of.above] = 0
                roots.append([first] * kinds)
                above.append(xp.zeros(boards, np.int32))
                after.append(None)
                continue
            shape = (boards, of.groups, of.above + 1, WIDE)
            roots.append([xp.zeros(shape, self.dtype) for _ in range(kinds)])
            above.append(xp.arange(boards, dtype=np.int32) if level > self._same else xp.zeros(boards, np.int32))
            after.append(xp.zeros((boards, of.groups, filled(of.above), WIDE), self.dtype))
        self._room = BatchRoom(boards, roots, after, above)
        return self._room

    # Iterations

    def _set_up(self) -> None:
        """Compile, and send what is learnt, before the clock runs."""
        with aside():
            for needed in ("_tables", "_learnt", "_drawn_boards"):
                getattr(self, needed)

    def close(self) -> None:
        """Let go of what is kept for more iterations; they may still be asked for."""
        if "_drawn_boards" in self.__dict__:
            self.__dict__.pop("_drawn_boards").close()
        self._values, self._room = self.xp.empty(0, self.dtype), BatchRoom(0, [], [], [])

    def step(self, count: int) -> None:
        self._set_up()
        end = self.iteration + count
        while self.iteration < end:
            most = min(self.most, 1 + self.iteration // GROWTH)
            left = end - self.iteration
            self._batch(-(-left // -(-left // most)))  # batches of a step are about as large as one another
        if self.device.on_gpu:
            self.xp.cuda.get_current_stream().synchronize()

    def _batch(self, count: int) -> None:
        """So many boards by one strategy of each seat."""
        xp, learnt = self.xp, self._learnt
        if self._copied is not None:
            self._copied.synchronize()  # boards that were sent may be let go once they have been put together
        rounds, kept = self._drawn_boards.batch(self.iteration, self.iteration + count)
        if self.device.on_gpu:
            self._copied = xp.cuda.get_current_stream().record()
        self._kept = kept
        first = self.iteration + 1
        weights = np.arange(first, first + count) if self.linear else np.ones(count)
        sent = xp.asarray(weights.astype(self.dtype)), xp.asarray(np.array([weights.sum()], self.dtype))
        room = self._space_for(count)
        for seat in (0, 1):
            if not len(self._nodes[seat].moving[0]):
                continue
            tables = self._tables[seat]
            for level in range(self.last):
                self._down(tables[level], rounds[level], seat, room, level)
            for level in range(self.last, -1, -1):
                self._up(tables[level], rounds[level], seat, room, level, sent)
            self._learn(seat, self._nodes[seat].moving, learnt)
        self.iteration += count
        self._ahead = True

    def _down(self, tables: LearningTables, on: BatchHands, seat: int, room: BatchRoom, level: int) -> None:
        """Reaches at the roots of the next round."""
        strategy, here, there = self._learnt[2], room.roots[level], room.roots[level + 1]
        for writer, groups in tables.kinds:
            if EXIT in writer.shape.turn:
                self._function(tables, f"{writer.name}_open")(
                    (-(-tables.of.hands * PAIRS // THREADS), len(groups), len(on.sizes)), (THREADS,),
                    (on.hands, on.extra, room.above[level], np.int32(on.hands.shape[1]), here[0], here[1], here[-1],
                     strategy[1 - seat], strategy[seat], tables.begin[1 - seat], tables.begin[seat], groups,
                     tables.exits, there[0], there[1], there[-1]),
                )  # fmt: skip

    def _up(
        self, tables: LearningTables, on: BatchHands, seat: int, room: BatchRoom, level: int, weights: tuple[Any, Any]
    ) -> None:
        """What hands of a seat are worth in a round, and what rows gain; then, what hands are worth before it.

        weights: of boards, and their sum, which is the weight of the one board before the first cards.
        """
        of, count, places, (_, _, strategy, gains) = tables.of, len(on.sizes), on.hands.shape[1], self._learnt
        slot = count * of.groups * places * WIDE
        slots = max(writer.slots for writer, _ in tables.kinds)
        if slots * slot > len(self._values):
            self._values = self.xp.empty(0, self.dtype)  # let go before more is asked for
            self._values = self.xp.empty(slots * slot, self.dtype)
        roots = room.roots[level]
        after = room.after[level + 1] if level < self.last else roots[0]  # the last boards ask for none
        for writer, groups in tables.kinds:
            for k, wave in enumerate(writer.waves):
                shared = writer.shared_bytes(k)
                self._function(tables, f"{writer.name}_wave{k}", shared)(
                    (count, -(-len(groups) * PAIRS // WARP), len(wave)), (WARP,),
                    (on.hands, on.extra, on.ends, on.sizes, room.above[level], roots[0], roots[1], roots[-1],
                     strategy[1 - seat], strategy[seat], tables.begin[1 - seat], tables.begin[seat], tables.stake,
                     groups, np.int32(len(groups)), np.int32(places), self._values, np.int64(slot), after,
                     tables.exits, weights[int(level < self._same)], tables.gain_begin, tables.lanes, gains),
                    shared_mem=shared,
                )  # fmt: skip
        if not level:
            return
        blocks, threads = -(-of.above * WIDE // THREADS), (THREADS,)
        where = (on.where, self._values, np.int32(places), np.int32(filled(of.above)),
                 self.dtype.type(self._times(level)))  # fmt: skip
        if level == self._same:
            self._function(tables, "lift_weighed")(
                (blocks, of.groups), threads, (*where, *weights, np.int32(count), room.after[level])
            )
        else:
            self._function(tables, "lift")((blocks, of.groups, count), threads, (*where, room.after[level]))
