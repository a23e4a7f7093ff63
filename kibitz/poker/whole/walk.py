"""Sweep: exact best responses, and values of strategies against each other, over all boards of a game."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, boards_of
from kibitz.cards.tables import Arrays, Fill, NodePieces, Recipe, Tell, looked_up, maker, state
from kibitz.core.errors import SolverError
from kibitz.core.pieces import Executor
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.weights import shards_of
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.betting_batch import BettingBatch
from kibitz.poker.sampled.hands import Source, hands_on, renamed
from kibitz.poker.whole.gpu import Shards
from kibitz.poker.whole.shared import SharedStrategy, opened_strategy, shared_strategy
from kibitz.poker.whole.strategy import NodeStrategy

Floats = NDArray[np.float64]

VERSION = 1
BEST, PLAYED = 0, 1  # as in kibitz.poker.whole.kernels.boards
HAND_BYTES = 48  # of a hand on a board of a shard: cards, order and strength, and copies while they are sorted
LANE_SECONDS = 2.4e-8  # of a core of Neoverse-N1: a hand on one of the last boards, for one seat and lane


def check(game: Any) -> None:
    """Refuse games that no sweep goes through."""
    if not isinstance(game, Poker):
        raise SolverError(
            f"a sweep is for two-player poker games, and {game.spec or 'this game'} is not one: leave --whole out"
        )
    if game.definition.players != 2:
        raise SolverError(f"{game.spec} has {game.definition.players} players; a sweep is for two players")
    if game.definition.board[0]:
        raise SolverError(f"{game.spec} has board cards before the first round: a sweep does not support that")


class Sweep:
    """Two seats' strategies in the whole game.

    What a shard gives is added up in whole numbers, so sums do not depend on the order in which shards come.
    """

    def __init__(
        self, game: Poker, strategies: tuple[NodeStrategy, NodeStrategy], dtype: Any = np.float32, device: str = "cpu"
    ) -> None:
        check(game)
        self.device = Device(device)
        definition = game.definition
        self.game, self.definition, self.dtype = game, definition, np.dtype(dtype)
        self.boards: Boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
        self.hole, self.last = definition.hole, definition.rounds - 1
        self.begin = next((level for level, cards in enumerate(definition.board) if cards), self.last + 1)
        self.seats = strategies
        self.sources: list[Source] = list(
            {id(source): source for seat in strategies for source in seat.sources}.values()
        )  # each once
        self.lanes = BettingBatch(game.betting, self._views())
        self._threads = threading.local()

    # Tables of strategies and betting

    def _views(self) -> NDArray[np.int64]:
        """[betting nodes]  which of `sources` numbers the rows of who decides there."""
        number = {id(source): k for k, source in enumerate(self.sources)}
        own = [np.array([number[id(source)] for source in seat.sources])[seat.of_node] for seat in self.seats]
        return np.asarray(np.where(self.game.betting.turn == 1, own[1], own[0]))

    @cached_property
    def _laid(self) -> tuple[list[Any], tuple[NDArray[Any], NDArray[Any]]]:
        """(betting by round, strategies by seat)."""
        return self._laid_out(None)

    @cached_property
    def _laid_head(self) -> tuple[list[Any], tuple[NDArray[Any], NDArray[Any]]]:
        """The same where only the rounds before the first cards of the board are asked for, which is quick."""
        return self._laid_out(min(self.begin, self.last + 1))

    def _laid_out(self, rounds: int | None) -> tuple[list[Any], tuple[NDArray[Any], NDArray[Any]]]:
        laid = [strategy.laid_out(self.lanes, seat, self.dtype, rounds) for seat, strategy in enumerate(self.seats)]
        tables = self.lanes.tables([each[0] for each in laid], [each[1] for each in laid], self.dtype)
        return tables, (laid[0][2], laid[1][2])

    sample = ""  # which of the boards are gone through; empty: all

    def release(self) -> None:
        """Forget what takes much memory; it is made anew where it is asked for."""
        for name in ("_laid", "gpu"):
            self.__dict__.pop(name, None)

    def groups(self, level: int) -> int:
        return len(self.lanes.of_round(level))

    def hands(self, level: int) -> int:
        return self.boards.hands(level, self.hole)

    @cached_property
    def shards(self) -> list[list[slice]]:
        """By shard and round: its boards. A game without board cards is its own shard."""
        return shards_of(self.boards) if self.begin <= self.last else []

    def room(self) -> Any:
        """Working space of this thread."""
        from kibitz.core.vectors import LANES
        from kibitz.poker.whole.kernels.boards import SweepWorkspace

        if not hasattr(self._threads, "room"):
            wide = int(LANES)
            depth, acted = (int(each.max(initial=0)) for each in self.lanes.ways[:2])
            vectors = [np.zeros((n, self.hands(0) * wide), self.dtype) for n in (acted + 1, acted + 1, depth + 2, 1)]
            self._threads.room = SweepWorkspace(
                vectors[0], vectors[1], vectors[2], np.zeros((acted + 1, 53 * wide), self.dtype),
                np.zeros(acted + 1, np.int8), np.zeros(acted + 1, np.int8), np.zeros(53 * wide, self.dtype),
                vectors[3][0],
            )  # fmt: skip
        return self._threads.room

    def vectors(self, level: int, dtype: Any) -> NDArray[Any]:
        """[groups of a round, hands before it, LANES]  zeros."""
        from kibitz.core.vectors import LANES

        return np.zeros((self.groups(level), self.hands(max(0, level - 1)), int(LANES)), dtype)

    # What comes before any board

    @cached_property
    def _head(self) -> list[Any]:
        """Hands of the rounds before the first cards of the board."""
        every = [slice(0, 1)] * min(self.begin, self.last + 1)
        return [hands_on(self.boards, self.hole, level, every, self.sources) for level in range(len(every))]

    def roots(self, seat: int) -> list[NDArray[Any]]:
        """By round up to the first that has board cards: the reach of the other of `seat` at the roots of groups."""
        from kibitz.poker.whole.kernels.boards import open_round

        betting, strategies = self._laid_head
        roots = [self.vectors(0, self.dtype)[:, :0]]
        for level in range(min(self.begin, self.last)):
            onto = self.vectors(level + 1, self.dtype)
            open_round(betting[level], self._head[level], 0, seat, strategies, flat(roots[-1]), onto, self.room())
            roots.append(onto)
        return roots

    def finished(self, seat: int, mode: int, total: Floats | None) -> float:
        """What a seat gets, from the sum over all shards of what it gets after the first cards of the board."""
        from kibitz.poker.whole.kernels.boards import close_round

        betting, strategies = self._laid_head
        roots, after = self.roots(seat), self.vectors(0, np.float64) if total is None else self._even(0, 0, total)
        above = after
        for level in range(min(self.begin, self.last + 1) - 1, -1, -1):
            above = self.vectors(level, np.float64)
            close_round(betting[level], self._head[level], 0, 1, seat, mode, strategies, flat(roots[level]), after,
                        self.room(), above)  # fmt: skip
            after = above
        return float(above[0, :, 0].sum()) / self.deals

    @property
    def deals(self) -> int:
        """Ways to deal both hands."""
        return self.hands(0) * math.comb(len(self.boards.deck) - self.hole, self.hole)

    # Shards

    def shard(self, number: int, seats: tuple[int, ...], mode: int, roots: list[NDArray[Any]]) -> list[Floats]:
        """What some seats get on all boards of a shard: by seat [groups of the round, hands before, LANES]."""
        if self.device.on_gpu:
            return self.gpu.shard(number, seats, mode, roots)
        shard = self.shards[number]
        hands = [
            None if level < self.begin else hands_on(self.boards, self.hole, level, shard, self.sources)
            for level in range(self.last + 1)
        ]
        values = []
        for seat, root in zip(seats, roots, strict=True):
            total = self.vectors(self.begin, np.float64)
            first = slice(0, shard[self.begin].stop - shard[self.begin].start)
            self._visit(shard, hands, self.begin, first, seat, mode, root, total)
            values.append(total)
        return values

    def piece_bytes(self) -> int:
        """Memory of the largest shard, at most, about: strategies as they are laid out, hands on its boards by round,
        and values of groups."""
        from kibitz.core.vectors import LANES

        wide, item = int(LANES), self.dtype.itemsize
        rows = (self.lanes.places(k, seat.counts(self.game.betting))[2] for k, seat in enumerate(self.seats))
        total = 3 * wide * item * sum(rows) + sum(map(_table_bytes, self.sources))
        for level in range(self.begin, self.last + 1):
            boards = max((shard[level].stop - shard[level].start for shard in self.shards), default=0)
            hands, live = self.hands(level), self.boards.live(level)
            total += boards * (hands * (HAND_BYTES + 8 * len(self.sources)) + 2 * live**2)
            total += self.groups(level) * self.hands(max(0, level - 1)) * wide * (item + 16)
        depth = max(int(each.max(initial=0)) for each in self.lanes.ways[:2]) + 2
        return int(total + 4 * self.hands(0) * wide * item * depth)

    @cached_property
    def gpu(self) -> Shards:
        """Shards on a GPU."""
        return Shards(self, self.device)

    def _visit(self, shard: list[slice], hands: list[Any], level: int, boards: slice, seat: int, mode: int,
               roots: NDArray[Any], above: Floats) -> None:  # fmt: skip
        """Add what a seat gets on boards of a round that continue one board. Boards are counted from the shard's."""
        from kibitz.poker.whole.kernels.boards import close_round, open_round

        betting, strategies = self._laid
        room = self.room()
        if level == self.last:
            close_round(betting[level], hands[level], boards.start, boards.stop, seat, mode, strategies, flat(roots),
                        above[:0], room, above)  # fmt: skip
            return
        below = self.boards.rounds[level + 1].below
        for board in range(boards.start, boards.stop):
            onto, total = self.vectors(level + 1, self.dtype), self.vectors(level + 1, np.float64)
            open_round(betting[level], hands[level], board, seat, strategies, flat(roots), onto, room)
            number, first = shard[level].start + board, shard[level + 1].start
            after = slice(int(below[number]) - first, int(below[number + 1]) - first)
            self._visit(shard, hands, level + 1, after, seat, mode, onto, total)
            close_round(betting[level], hands[level], board, board + 1, seat, mode, strategies, flat(roots),
                        self._even(level, number, total), room, above)  # fmt: skip

    def _even(self, level: int, board: int, total: Floats) -> Floats:
        """Values by hand on a board, the same for hands that a renaming which leaves the board alone makes the same."""
        from kibitz.poker.whole.kernels.boards import symmetrise

        names = renamed(self.boards, self.hole, level, board)
        if len(names) == 1:
            return total
        means = np.empty_like(total)
        symmetrise(total, names, means)
        return means

    # Everything

    def best(self, tell: Tell | None = None) -> Floats:
        """[2]  what a best response of each seat gets."""
        return self.swept((0, 1), BEST, tell)

    def known(self) -> str | None:
        """Who found the best responses, if they are in the cache."""
        return self._maker((0, 1), BEST)

    def known_value(self) -> str | None:
        """Who found the value, if it is in the cache."""
        return self._maker((0,), PLAYED)

    def _maker(self, seats: tuple[int, ...], mode: int) -> str | None:
        recipe = self.recipe(seats, mode)
        return maker(recipe) if self.shards and state(recipe) == "made" else None

    def value(self, tell: Tell | None = None) -> float:
        """What seat 0 gets when both play their strategies."""
        return float(self.swept((0,), PLAYED, tell)[0])

    def swept(self, seats: tuple[int, ...], mode: int, tell: Tell | None = None) -> Floats:
        """What some seats get."""
        if not self.shards:
            return np.array([self.finished(seat, mode, None) for seat in seats])
        sums = self.sums(seats, mode, tell)
        return np.array([self.finished(seat, mode, sums[k]) for k, seat in enumerate(seats)])

    def sums(self, seats: tuple[int, ...], mode: int, tell: Tell | None = None) -> Floats:
        """[seats, groups of the first round with board cards, hands before it, LANES]  what each hand gets from there
        on, by the reach of the other."""
        total: Floats = looked_up(self.recipe(seats, mode), tell)["total"] / self.unit
        return total

    @cached_property
    def unit(self) -> float:
        """Values are kept as whole numbers of 1 / unit."""
        scale = max(float(np.abs(betting.stake).max()) for betting in self._laid_head[0])
        most = scale * math.comb(len(self.boards.deck) - self.hole, self.hole)
        return float(2.0 ** (60 - math.ceil(math.log2(most))))

    def in_units(self, values: list[Floats]) -> NDArray[np.int64]:
        """Values of a shard as whole numbers."""
        return np.asarray(np.rint(np.stack(values) * self.unit).astype(np.int64))

    def recipe(self, seats: tuple[int, ...], mode: int) -> Recipe:
        """How the values after the first cards of the board are added up, shard by shard."""
        content = hashlib.sha256(f"sweep {VERSION} {seats} {mode} {self.dtype} {acpc.write(self.definition)}".encode())
        for seat in self.seats:
            content.update(seat.digest.encode())
        content.update(self.sample.encode())
        shape = len(seats), *self.vectors(self.begin, np.int8).shape
        lanes = sum(len(of) for of in self.lanes.groups.lanes[self.lanes.of_round(self.last).start :])
        boards = sum(shard[-1].stop - shard[-1].start for shard in self.shards)
        work = LANE_SECONDS * len(seats) * boards * self.hands(self.last) * lanes

        def make(arrays: Arrays, lock: threading.Lock) -> Fill:
            roots = [self.roots(seat)[-1] for seat in seats]
            if self.device.on_gpu:
                _ = self.gpu  # before threads ask for it, and before any work if the GPU has too little memory

            def fill(piece: int) -> Callable[[], None]:
                piece_sums = self.in_units(self.shard(piece, seats, mode, roots))

                def add() -> None:
                    arrays["total"] += piece_sums

                return add

            return fill

        about = f"what answers to a strategy win on all boards of {self.game.spec}"
        return Recipe(f"sweep-{content.hexdigest()[:20]}", about, VERSION, {"total": ("<i8", shape)}, len(self.shards),
                      make, work, sums=True, by=self.device.label, far=_on_nodes(self, seats, mode))  # fmt: skip


def _table_bytes(source: Any) -> int:
    """Memory of the buckets of hands."""
    return 0 if source is None else sum(0 if of.table is None else int(of.table.nbytes) for of in source.rounds)


def flat(vectors: NDArray[Any]) -> NDArray[Any]:
    """[groups, hands x LANES]"""
    return vectors.reshape(len(vectors), vectors.shape[1] * vectors.shape[2])


# Shards on other machines


def _on_nodes(sweep: Sweep, seats: tuple[int, ...], mode: int) -> NodePieces:
    def arguments(executor: Executor) -> tuple[Any, ...]:
        strategies = tuple(shared_strategy(executor, strategy, sweep.game.betting) for strategy in sweep.seats)
        return acpc.write(sweep.definition), strategies, sweep.dtype.str, sweep.device.name, seats, mode

    return NodePieces(shard_sums, arguments, _add, sweep.piece_bytes, int(sweep.device.on_gpu))


@lru_cache(1)
def _sweep(
    definition: str, strategies: tuple[SharedStrategy, ...], dtype: str, device: str, seats: tuple[int, ...]
) -> tuple[Sweep, list[NDArray[Any]]]:
    """The sweep of this process and its roots; the next pieces are mostly of the same one."""
    opened = {shared: opened_strategy(shared) for shared in strategies}  # one in both seats is laid out as one
    first, second = (opened[shared] for shared in strategies)
    sweep = Sweep(Poker(acpc.parse(definition)), (first, second), np.dtype(dtype), device)
    return sweep, [sweep.roots(seat)[-1] for seat in seats]


def shard_sums(
    definition: str, strategies: tuple[SharedStrategy, ...], dtype: str, device: str, seats: tuple[int, ...], mode: int,
    number: int,
) -> NDArray[np.int64]:  # fmt: skip
    """What some seats get on the boards of a shard, in whole numbers."""
    sweep, roots = _sweep(definition, strategies, dtype, device, seats)
    return np.asarray(np.rint(np.stack(sweep.shard(number, seats, mode, roots)) * sweep.unit).astype(np.int64))


def _add(arrays: Arrays, sums: Any) -> None:
    arrays["total"] += sums
