"""The betting of a sweep in blocks of 64 lanes, as a warp of a GPU reads it: 256 bytes side by side.

Cores have groups of 16 lanes (`poker/sampled/betting_batch.py`). A block is four groups of one shape; where a shape has
no four left, lanes stay empty, with stakes and strategies of zero.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.whole.cuda import WIDE
from kibitz.poker.whole.plan import Shape, blocks_of, shapes_of

NARROW = 16  # lanes of a group
GROUPS = WIDE // NARROW  # of a block


class WideBetting:
    """Blocks of a sweep, round by round. `Sweep` says the rest."""

    def __init__(self, sweep: Any) -> None:
        self.sweep = sweep
        self.groups_of = lru_cache(None)(self._groups_of)

    @property
    def _betting(self) -> list[Any]:
        betting: list[Any] = self.sweep._laid[0]
        return betting

    def row_counts(self, level: int) -> list[int]:
        """By source: rows of a round."""
        return [1 if source is None else source.counts[level] for source in self.sweep.sources]

    def _groups_of(self, level: int) -> tuple[dict[Shape, list[int]], list[list[int]]]:
        """(by shape: its blocks; by block: its groups)."""
        shapes: dict[Shape, list[int]] = {}
        blocks: list[list[int]] = []
        for shape, groups in shapes_of(self._betting[level], self.row_counts(level)).items():
            for at in range(0, len(groups), GROUPS):
                shapes.setdefault(shape, []).append(len(blocks))
                blocks.append(groups[at : at + GROUPS])
        return shapes, blocks

    def shapes(self, level: int) -> dict[Shape, list[int]]:
        """The shapes of a round, and the blocks that have each."""
        return self.groups_of(level)[0]

    def count(self, level: int) -> int:
        """Blocks of a round."""
        return len(self.groups_of(level)[1])

    def lane(self, level: int) -> NDArray[np.int64]:
        """[groups of a round]  where the lanes of a group begin."""
        blocks = self.groups_of(level)[1]
        lanes = np.zeros(sum(map(len, blocks)), np.int64)
        for block, groups in enumerate(blocks):
            lanes[groups] = block * WIDE + NARROW * np.arange(len(groups))
        return lanes

    def nodes(self, level: int) -> int:
        """Nodes of a group, at most."""
        return int(np.diff(self._betting[level].group_node).max())

    def stakes(self, level: int, seat: int) -> NDArray[Any]:
        """[blocks, nodes, WIDE]"""
        betting, lanes = self._betting[level], self.lane(level)
        stakes = np.zeros((self.count(level), self.nodes(level), WIDE), self.sweep.dtype)
        for g, lane in enumerate(lanes.tolist()):
            nodes = slice(*betting.group_node[g : g + 2].tolist())
            block, first = divmod(lane, WIDE)
            stakes[block, : nodes.stop - nodes.start, first : first + NARROW] = betting.stake[seat, nodes]
        return stakes

    def exits(self, level: int) -> NDArray[np.int32]:
        """[blocks, nodes, WIDE]  the lane of the next round; -1: none."""
        betting, lanes = self._betting[level], self.lane(level)
        exits = np.full((self.count(level), self.nodes(level), WIDE), -1, np.int32)
        onto = self.lane(level + 1) if level < self.sweep.last else lanes[:0]
        for g, here in enumerate(lanes.tolist()):
            block, begin = divmod(here, WIDE)
            for link in range(*betting.group_link[g : g + 2].tolist()):
                lane, count = begin + int(betting.link_lane[link]), int(betting.link_count[link])
                first = int(onto[betting.link_group[link]]) + int(betting.link_first[link])
                exits[block, betting.link_node[link], lane : lane + count] = np.arange(first, first + count)
        return exits

    # Strategies: of each block rows, in a row actions side by side, and lanes

    @cached_property
    def begins(self) -> list[list[NDArray[np.int64]]]:
        """By seat and round, [blocks]: where the rows of a block begin, in WIDE; and behind the last round, the end."""
        begins: list[list[NDArray[np.int64]]] = []
        for seat in (0, 1):
            at, by_round = 0, []
            for level, betting in enumerate(self._betting):
                rows, here = self.row_counts(level), []
                for groups in self.groups_of(level)[1]:
                    here.append(at)
                    actions = blocks_of(betting, groups[0], seat)
                    at += sum(rows[source] * len(of) for source, of in actions.items())
                by_round.append(np.array(here, np.int64))
            begins.append([*by_round, np.array([at], np.int64)])
        return begins

    def strategy(self, seat: int, xp: Any) -> Any:
        """That of a seat, on the device."""
        before = xp.asarray(self.sweep._laid[1][seat]).reshape(-1, NARROW)
        after = xp.zeros((int(self.begins[seat][-1][0]), WIDE), before.dtype)
        for level, betting in enumerate(self._betting):
            rows = self.row_counts(level)
            for block, groups in enumerate(self.groups_of(level)[1]):
                for k, g in enumerate(groups):
                    at = int(self.begins[seat][level][block])
                    for source, actions in blocks_of(betting, g, seat).items():
                        size, width = rows[source], len(actions)
                        there = after[at : at + size * width].reshape(size, width, WIDE)
                        for column, (begin, _) in enumerate(actions):
                            there[:, column, NARROW * k : NARROW * (k + 1)] = before[begin : begin + size]
                        at += size * width
        return after

    # Vectors of the first round with cards

    def widened(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """[groups, hands, NARROW] -> [blocks, hands, WIDE]"""
        wide = np.zeros((self.count(self.sweep.begin), vectors.shape[1], WIDE), vectors.dtype)
        for g, lane in enumerate(self.lane(self.sweep.begin).tolist()):
            wide[lane // WIDE, :, lane % WIDE : lane % WIDE + NARROW] = vectors[g]
        return wide

    def narrowed(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """And back."""
        lanes = self.lane(self.sweep.begin).tolist()
        return np.stack([vectors[lane // WIDE, :, lane % WIDE : lane % WIDE + NARROW] for lane in lanes])
