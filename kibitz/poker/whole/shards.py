"""Shards of a sweep on other machines: strategies as artefacts that nodes map, and a shard as a piece of work.

What a shard needs of a strategy are its rows by node of the betting, and the buckets that number them. They are saved
once, in the cache, and named in the arguments of pieces; so a node has one copy of each, whatever they were made from.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.tables import Arrays, NodePieces
from kibitz.core import store
from kibitz.core.artefacts import SharedArtefact, located, made_artefact
from kibitz.core.pieces import Executor
from kibitz.poker.bucketed.weights import opened_buckets, shared_buckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.rules.rules import Poker
from kibitz.poker.whole.strategy import NodeStrategy

if TYPE_CHECKING:
    from kibitz.poker.whole.walk import Sweep

KIND = "node-strategy"
SharedStrategy = tuple[SharedArtefact, tuple[SharedArtefact | None, ...]]  # rows, and buckets by source


def on_nodes(sweep: Sweep, seats: tuple[int, ...], mode: int) -> NodePieces:
    """How the shards of a sweep are worked out on nodes."""

    def arguments(executor: Executor) -> tuple[Any, ...]:
        strategies = tuple(_shared(executor, strategy, sweep.game.betting) for strategy in sweep.seats)
        return acpc.write(sweep.definition), strategies, sweep.dtype.str, sweep.device.name, seats, mode

    return NodePieces(shard_sums, arguments, _add, gpus=int(sweep.device.on_gpu))


def _shared(executor: Executor, strategy: NodeStrategy, betting: BettingTree) -> SharedStrategy:
    content = hashlib.sha256(f"{strategy.digest} {acpc.write(betting.definition)}".encode()).hexdigest()
    path = made_artefact(f"rows-{content[:20]}", lambda path: _save(strategy, betting, path))
    buckets = (None if source is None else shared_buckets(executor, source) for source in strategy.sources)
    return executor.artefact(path), tuple(buckets)


def _save(strategy: NodeStrategy, betting: BettingTree, path: str | os.PathLike[str]) -> None:
    """Rows of all nodes where somebody decides, one after another."""
    rows = [strategy.rows(node) if betting.turn[node] >= 0 else np.zeros((0, 0)) for node in range(len(betting))]
    shape = np.array([each.shape for each in rows], np.int64)
    values = np.concatenate([np.asarray(each, np.float64).ravel() for each in rows])
    of_node = np.asarray(strategy.of_node, np.int64)
    store.save(path, KIND, {"of_node": of_node, "shape": shape, "values": values}, {"digest": strategy.digest})


def _opened(shared: SharedStrategy) -> NodeStrategy:
    artefact = store.load(located(shared[0]), KIND, mmap=True)
    shape, values = artefact.arrays["shape"], artefact.arrays["values"]
    begin = np.concatenate([[0], np.cumsum(shape.prod(axis=1))])

    def rows(node: int) -> NDArray[Any]:
        return np.asarray(values[begin[node] : begin[node + 1]].reshape(shape[node]))

    sources = tuple(None if each is None else opened_buckets(each) for each in shared[1])
    return NodeStrategy(sources, artefact.arrays["of_node"], rows, str(artefact.meta["digest"]))


@lru_cache(1)
def _sweep(definition: str, strategies: tuple[SharedStrategy, ...], dtype: str, device: str) -> Sweep:
    """The sweep of this process; the next pieces are mostly of the same one."""
    from kibitz.poker.whole.walk import Sweep

    opened = {shared: _opened(shared) for shared in strategies}  # a strategy in both seats is laid out as one
    first, second = (opened[shared] for shared in strategies)
    return Sweep(Poker(acpc.parse(definition)), (first, second), np.dtype(dtype), device)


@lru_cache(4)
def _roots(
    definition: str, strategies: tuple[SharedStrategy, ...], dtype: str, device: str, seats: tuple[int, ...]
) -> list[NDArray[Any]]:
    sweep = _sweep(definition, strategies, dtype, device)
    return [sweep.roots(seat)[-1] for seat in seats]


def shard_sums(
    definition: str, strategies: tuple[SharedStrategy, ...], dtype: str, device: str, seats: tuple[int, ...], mode: int,
    number: int,
) -> NDArray[np.int64]:  # fmt: skip
    """What some seats get on the boards of a shard, in whole numbers."""
    sweep = _sweep(definition, strategies, dtype, device)
    values = sweep.shard(number, seats, mode, _roots(definition, strategies, dtype, device, seats))
    return np.asarray(np.rint(np.stack(values) * sweep.unit).astype(np.int64))


def _add(arrays: Arrays, sums: Any) -> None:
    arrays["total"] += sums
