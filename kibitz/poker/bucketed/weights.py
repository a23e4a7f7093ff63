"""Joint weights of buckets: how often the seats hold each pair of them, and how often the one beats the other.

With perfect recall a bucket of the last round names its whole path, and what the cards do to a game is all in two
matrices over the buckets of the last round: how likely the seats hold a pair (folds), and how likely the first wins
less how likely it loses (showdowns). Matrices of earlier rounds are sums over them. It is the Kronecker structure of
[Gilpin, Hoda, Peña & Sandholm 2007]: B of each round, and W.

They are counted on all last boards up to suit isomorphism, flop by flop (`poker/buckets/kernels/joint.py`), and kept as
tables of `kibitz.cards.tables`: in pieces, so that building them can be resumed, with a checksum, once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, pairs
from kibitz.cards.tables import Arrays, Fill, NodePieces, Recipe, Tell, looked_up
from kibitz.core.artefacts import SharedArtefact, located, made_artefact
from kibitz.core.errors import SolverError
from kibitz.core.pieces import Executor
from kibitz.poker.bucketed.device import Device
from kibitz.poker.buckets.hand_buckets import HandBuckets

Ints = NDArray[np.int64]
Matrices = tuple[tuple[Any, ...], tuple[Any, ...]]  # by round

VERSION = 2
HAND_BYTES = 40  # of a hand on a board of a piece: its bucket, place and strength, and copies while they are sorted
FILL = 8  # cuBLAS has slow kernels alone for lines of odd lengths, such as 13^4
LOCKS = 16  # bands of rows that threads add to one at a time
# Of a core of Neoverse-N1: a hand on a board, and a pair of buckets that occur on it. A board of hold'em with n buckets
# has about hands * (1 - exp(-n / (SPREAD * hands))) different ones.
HAND_SECONDS, PAIR_SECONDS, SPREAD = 3.0e-7, 2.5e-9, 13.4


@dataclass(frozen=True, eq=False)
class JointWeights:
    """By round, for one's own bucket and the other's: probabilities. Both seats have the same buckets."""

    meets: tuple[Any, ...]  # [C, C]  that the seats hold this pair; symmetric, sums to 1
    wins: tuple[Any, ...]  # [C, C]  that one holds this pair and wins, less that one loses; antisymmetric
    _copies: dict[str, Matrices] = field(default_factory=dict, init=False, repr=False)

    def within(self, device: Device, dtype: Any) -> Matrices:
        """(meets, wins) in a precision, on a device. All forms of the same buckets share them: they are the largest
        arrays of a solver. On a GPU they are filled up with zeros to a multiple of FILL."""
        key = f"{device.name} {np.dtype(dtype).str}"
        if key not in self._copies:
            self._copies[key] = tuple(filled(of, device, dtype) for of in self.meets), tuple(
                filled(of, device, dtype) for of in self.wins
            )
        return self._copies[key]


def filled(matrix: Any, device: Device, dtype: Any) -> Any:
    """A matrix on a device; on a GPU with as many rows and columns as its products take quickly."""
    size = len(matrix)
    wide = -(-size // FILL) * FILL if device.on_gpu else size
    if wide == size:
        return device.xp.asarray(matrix, dtype)
    whole = matrix.base  # of a part of such a matrix
    if whole is not None and whole.shape == (wide, wide) and whole.dtype == dtype:
        return device.xp.asarray(whole)
    onto = device.xp.zeros((wide, wide), dtype)
    onto[:size, :size] = device.xp.asarray(matrix)
    return onto


def joint_weights(buckets: HandBuckets, tell: Tell | None = None, device: str = "cpu") -> JointWeights:
    """The weights of buckets with perfect recall; looked up, or counted now. A GPU counts them and keeps them there."""
    if not buckets.perfect_recall:
        raise SolverError(
            f"{buckets.name} has imperfect recall, and joint weights need perfect-recall buckets: use recall=true, "
            "or sample the game (kibitz train)"
        )
    recipe = recipe_of(buckets)
    if device == "gpu":
        return _by_round(buckets, *_on_gpu(buckets, recipe, tell), Device(device))
    counts = looked_up(recipe, tell)
    return _by_round(buckets, counts["meets"], counts["wins"], Device())


def recipe_of(buckets: HandBuckets) -> Recipe:
    """How the matrices of the last round are counted: lower halves, in whole numbers."""
    last = len(buckets.rounds) - 1
    count, boards = buckets.rounds[last].count, len(buckets.boards.rounds[last].cards)
    hands = buckets.boards.hands(last, buckets.hole)
    wide = hands * (1.0 - math.exp(-count / (SPREAD * hands)))  # different buckets on a board, about
    work = boards * (hands * HAND_SECONDS + wide**2 * PAIR_SECONDS)
    arrays = dict.fromkeys(("meets", "wins"), ("<i8", (count, count)))
    about = f"how often the seats hold each pair of buckets of {buckets.name}"
    pieces = len(shards_of(buckets.boards))
    far = NodePieces(counted_piece, lambda executor: (shared_buckets(executor, buckets),), _spread,
                     partial(_piece_bytes, buckets))  # fmt: skip
    return Recipe(f"weights-{buckets.digest[:20]}", about, VERSION, arrays, pieces, partial(_pieces, buckets), work,
                  far=far)  # fmt: skip


def shards_of(boards: Boards) -> list[list[slice]]:
    """By piece, by round: the boards that continue one flop."""
    rounds = boards.rounds
    begin = next((level for level, cards in enumerate(boards.board) if cards), 0)
    shards = []
    for flop in range(len(rounds[begin].cards)):
        low, high = flop, flop + 1
        shard = [slice(0, 1)] * begin + [slice(low, high)]
        for after in rounds[begin + 1 :]:
            low, high = int(after.below[low]), int(after.below[high])
            shard.append(slice(low, high))
        shards.append(shard)
    return shards


def _pieces(buckets: HandBuckets, arrays: Arrays, lock: threading.Lock) -> Fill:
    from kibitz.poker.buckets.kernels import joint as kernels

    shards, last = shards_of(buckets.boards), len(buckets.rounds) - 1
    size = buckets.rounds[last].count
    bands = [int(cut) for cut in np.linspace(0, size, min(LOCKS, size) + 1)]
    locks = [threading.Lock() for _ in bands[1:]]

    def fill(piece: int) -> None:
        bucket, order, tie = settled(buckets, shards[piece])
        number, used = np.zeros(size, np.uint32), np.zeros(size, np.int64)
        used = used[: int(kernels.gather(bucket, number, used))]
        wins, meets = _counted(buckets, shards[piece], bucket, order, tie, len(used))
        for band in np.roll(np.arange(len(locks)), -piece).tolist():  # threads begin at different bands
            low, high = np.searchsorted(used, bands[band : band + 2])
            with locks[band]:
                kernels.spread(wins, used, int(low), int(high), arrays["wins"])
                kernels.spread(meets, used, int(low), int(high), arrays["meets"])

    return fill


# Pieces on other machines


def shared_buckets(executor: Executor, buckets: HandBuckets) -> SharedArtefact:
    """The name of buckets in the arguments of pieces: nodes map them."""
    return executor.artefact(made_artefact(f"buckets-{buckets.digest[:20]}", buckets.save))


@lru_cache(4)
def opened_buckets(named: SharedArtefact) -> HandBuckets:
    """Buckets that a piece names."""
    return HandBuckets.load(located(named))


def _piece_bytes(buckets: HandBuckets) -> int:
    """Memory of the largest piece, at most, about: the buckets, those that occur, and counts of their pairs, twice
    while they are sent."""
    last = len(buckets.rounds) - 1
    count, hands = buckets.rounds[last].count, buckets.boards.hands(last, buckets.hole)
    boards = max(shard[last].stop - shard[last].start for shard in shards_of(buckets.boards))
    used = min(count, boards * hands)
    tables = sum(0 if of.table is None else of.table.nbytes for of in buckets.rounds)
    return int(tables + 4 * 8 * used**2 + boards * hands * HAND_BYTES + 12 * count)


def counted_piece(named: SharedArtefact, piece: int) -> tuple[Ints, NDArray[Any], NDArray[Any]]:
    """(buckets that occur in a shard, and of pairs of these wins and meetings)."""
    from kibitz.poker.buckets.kernels import joint as kernels

    buckets = opened_buckets(named)
    shard, size = shards_of(buckets.boards)[piece], buckets.rounds[-1].count
    bucket, order, tie = settled(buckets, shard)
    used = np.zeros(size, np.int64)
    used = used[: int(kernels.gather(bucket, np.zeros(size, np.uint32), used))]
    return used, *_counted(buckets, shard, bucket, order, tie, len(used))


def _spread(arrays: Arrays, answer: Any) -> None:
    from kibitz.poker.buckets.kernels import joint as kernels

    used, wins, meets = (np.array(each) for each in answer)  # what Ray maps is read-only, of another type to kernels
    kernels.spread(wins, used, 0, len(used), arrays["wins"])
    kernels.spread(meets, used, 0, len(used), arrays["meets"])


def _counted(
    buckets: HandBuckets, shard: list[slice], bucket: NDArray[Any], order: NDArray[Any], tie: NDArray[Any], size: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Wins and meetings of a shard's boards, whose buckets are numbered from 0 to size - 1."""
    from kibitz.poker.buckets.kernels import joint as kernels

    last = len(buckets.rounds) - 1
    hands, left = bucket.shape[1], buckets.boards.live(last)
    weight = buckets.boards.rounds[last].total[shard[last]]
    wide, largest = kernels.extent(bucket, np.full(size, -1, np.int32), np.zeros(size, np.int32))
    fits = largest <= kernels.MOST_SMALL and int(weight.sum()) * largest**2 < 2**31
    dtype = np.int32 if fits else np.int64
    scratch = kernels.scratch_of(hands, left, size, int(wide), dtype)
    wins, meets = np.zeros((size, size), dtype), np.zeros((size, size), dtype)
    kernels.add_boards(order, tie, pairs(left, buckets.hole), bucket, weight, scratch, wins, meets)
    return wins, meets


def settled(
    buckets: HandBuckets, shard: list[slice]
) -> tuple[NDArray[np.uint32], NDArray[np.int16], NDArray[np.int16]]:
    """(bucket by board and hand, hands by strength, first of the same strength) of the last boards of a shard."""
    last = len(buckets.rounds) - 1
    order, tie, ahead = ordered(buckets.boards, buckets.hole, shard[last])
    return rows_on(buckets, last, shard, ahead), order, tie


def ordered(boards: Boards, hole: int, part: Any) -> tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]:
    """On some of the last boards: hands by strength, the first in order that is as strong; and, by hand, how far ahead
    it is."""
    from kibitz.poker.buckets.kernels import joint as kernels

    last = len(boards.rounds) - 1
    cards = np.ascontiguousarray(boards.rounds[last].cards[part])
    here = pairs(boards.live(last), hole)
    order, tie, ahead = (np.zeros((len(cards), len(here)), np.int16) for _ in range(3))
    scratch = kernels.scratch_of(len(here), boards.live(last), 1, 1)
    kernels.order_hands(cards, boards.deck.astype(np.int64), here, scratch, order, tie, ahead)
    return order, tie, ahead


def rows_on(
    buckets: HandBuckets, level: int, shard: list[slice], ahead: NDArray[np.int16] | None = None
) -> NDArray[np.uint32]:
    """[boards, hands]  the buckets on the boards of a round of a shard. ahead: of `ordered`, where it is known."""
    here, before = shard[level], shard[max(0, level - 1)]
    return rows_between(buckets, level, before, here, lambda: buckets.boards.rounds[level].above[here] - before.start,
                        ahead)  # fmt: skip


def rows_between(
    buckets: HandBuckets, level: int, before: Any, here: Any, above: Callable[[], Ints],
    ahead: NDArray[np.int16] | None = None,
) -> NDArray[np.uint32]:  # fmt: skip
    """The same of any boards. before, here: indices of boards of the round before and of this; above: which of
    `before` each of `here` continues."""
    from kibitz.poker.buckets.kernels import joint as kernels

    boards, of = buckets.boards, buckets.rounds[level]
    if of.table is not None:
        return np.array(of.table[here], np.uint32)
    assert of.least is not None
    if ahead is None:
        ahead = ordered(boards, buckets.hole, here)[2]
    cards = np.ascontiguousarray(boards.rounds[level].cards[here])
    bucket = np.zeros(ahead.shape, np.uint32)
    if level == 0 or len(of.first) == 2:
        upper, parents = np.zeros((1, 0), np.uint8), np.zeros((1, 1), np.uint16)  # nothing is above
        number = np.zeros(len(cards), np.int64)
    else:
        table_before = buckets.rounds[level - 1].table
        assert table_before is not None
        upper, parents = boards.rounds[level - 1].cards[before], table_before[before]
        number = above()
    table = kernels.ParentBuckets(number, np.ascontiguousarray(upper), np.ascontiguousarray(parents))
    kernels.cut_hands(
        cards, table, boards.deck.astype(np.int64), pairs(boards.live(level), buckets.hole), of.first, of.least,
        np.zeros(53, np.int64), ahead, bucket,
    )  # fmt: skip
    return bucket


def _on_gpu(buckets: HandBuckets, recipe: Recipe, tell: Tell | None) -> tuple[Any, Any]:
    """The matrices of the last round, counted on the GPU."""
    from kibitz.poker.bucketed.count_gpu import counted
    from kibitz.poker.buckets.kernels import joint as kernels

    shards, last = shards_of(buckets.boards), len(buckets.rounds) - 1
    size, left = buckets.rounds[last].count, buckets.boards.live(last)
    cards = pairs(left, buckets.hole).astype(np.uint8)
    if buckets.hole == 1:
        cards = np.repeat(cards, 2, axis=1)

    def settle(piece: int) -> Any:
        bucket, order, tie = settled(buckets, shards[piece])
        _, largest = kernels.extent(bucket, np.full(size, -1, np.int32), np.zeros(size, np.int32))
        return buckets.boards.rounds[last].total[shards[piece][last]], bucket, order, tie, int(largest)

    def told(done: int) -> None:
        if tell is not None:
            tell(recipe, done, recipe.pieces)

    return counted(settle, len(shards), size, cards, buckets.hole, Device("gpu"), told)


def _by_round(buckets: HandBuckets, meets: Any, wins: Any, device: Device) -> JointWeights:
    """Lower halves of the last round, counted -> matrices of all rounds, as probabilities, where they were counted."""
    xp = device.xp
    both = meets.astype(np.float64)
    both += xp.tril(both, -1).T
    won = wins.astype(np.float64)
    won -= xp.tril(won, -1).T
    deals = both.sum()
    both /= deals
    won /= deals
    by_round = [(both, won)]
    for after in buckets.rounds[:0:-1]:
        first = xp.asarray(after.first)
        by_round.append((_merged(device, by_round[-1][0], first), _merged(device, by_round[-1][1], first)))
    meets, wins = (tuple(filled(of, device, np.float64)[: len(of), : len(of)] for of in each)
                   for each in zip(*reversed(by_round), strict=True))  # fmt: skip
    return JointWeights(meets, wins)


def _merged(device: Device, matrix: Any, first: Any) -> Any:
    """Rows and columns of a parent's buckets summed."""
    return device.sum_children(device.sum_children(matrix, first).T, first).T
