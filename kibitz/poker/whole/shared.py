"""Strategies of a sweep on other machines: artefacts that nodes map.

What a shard needs of a strategy are its rows by node of the betting, and the buckets that number them. They are saved
once, in the cache, and named in the arguments of pieces; so a node has one copy of each, whatever they were made from.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.artefacts import SharedArtefact, located, made_artefact
from kibitz.core.pieces import Executor
from kibitz.poker.bucketed.weights import opened_buckets, shared_buckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.whole.strategy import NodeStrategy

KIND = "node-strategy"
SharedStrategy = tuple[SharedArtefact, tuple[SharedArtefact | None, ...]]  # rows, and buckets by source


def shared_strategy(executor: Executor, strategy: NodeStrategy, betting: BettingTree) -> SharedStrategy:
    """The name of a strategy in the arguments of pieces."""
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


def opened_strategy(shared: SharedStrategy) -> NodeStrategy:
    """A strategy that a piece names; its rows are mapped."""
    artefact = store.load(located(shared[0]), KIND, mmap=True)
    shape, values = artefact.arrays["shape"], artefact.arrays["values"]
    begin = np.concatenate([[0], np.cumsum(shape.prod(axis=1))])

    def rows(node: int) -> NDArray[Any]:
        return np.asarray(values[begin[node] : begin[node + 1]].reshape(shape[node]))

    sources = tuple(None if each is None else opened_buckets(each) for each in shared[1])
    return NodeStrategy(sources, artefact.arrays["of_node"], rows, str(artefact.meta["digest"]))
