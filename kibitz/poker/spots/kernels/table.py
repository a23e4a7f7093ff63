"""A spot as kernels read it: its betting, its boards and hands, and what CFR keeps.

A *level* is a street of the spot, from 0. Betting nodes of a level are numbered *line* by line: a line is one way to
come to the street, and begins at its *entry*. Lines of a level are the same on all its boards. Children of a node
follow one another. Lines are dealt into *chunks*, whose vectors fit into a near cache together.

Boards are numbered level by level, and below one board they follow one another. On a board each seat has a list of the
hands that its range holds and the board leaves, and all vectors are over such a list: padded to whole vectors. On the
last level lists are in order of strength.

A *row* of regrets or averages is a vector over hands. Those of one seat on one board lie together, in the order of
nodes and actions: row `place` of node n begins at state_base[seat, board] + place[n] * size[seat, board].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FOLD, SHOWDOWN, EXIT = 2, 3, 4  # kinds of node beside the seats 0 and 1


class SpotTable(NamedTuple):
    """N nodes, B boards, E entries, C chunks; hands of both seats and all boards are numbered on."""

    # Betting
    level_entry: np.ndarray  # int64[L+1]
    level_chunk: np.ndarray  # int64[L+1]
    chunk_entry: np.ndarray  # int64[C+1]
    entry_node: np.ndarray  # int64[E+1]  first node of a line
    entry_exit: np.ndarray  # int64[E]  the node of the level before that leads there; -1 at the root
    turn: np.ndarray  # int64[N]
    first: np.ndarray  # int64[N]  first child
    width: np.ndarray  # int64[N]
    slot: np.ndarray  # int64[2, N]  where a seat's reach of the node is: at the node itself, or at one above it
    place: np.ndarray  # int64[N]
    pay: np.ndarray  # float64[2, N, 3]  to a seat if it wins, ties, loses
    show_first: np.ndarray  # int64[C+1]  showdowns of a chunk
    show_node: np.ndarray  # int64[S]
    show_fold: np.ndarray  # int64[2, S]  where the seat itself folds instead, or -1
    fold_first: np.ndarray  # int64[2, C+1]  folds that are no showdown's, by the seat that asks
    fold_node: np.ndarray  # int64[F]
    # Boards and hands
    level_board: np.ndarray  # int64[L+1]
    board_child: np.ndarray  # int64[B+1]  first board below
    weight: np.ndarray  # float64[B]  boards that this one stands for, over all that may come after the one above
    count: np.ndarray  # int64[2, B]  hands
    size: np.ndarray  # int64[2, B]  with padding
    state_base: np.ndarray  # int64[2, B]
    hand_first: np.ndarray  # int64[2, B]
    up: np.ndarray  # uint16[H]  the hand's place in the list of the board above
    card: np.ndarray  # uint16[2, H]  times LANES
    same: np.ndarray  # uint16[H]  its place in the other's list, or the size of that list
    alike: np.ndarray  # uint16[H]  the first of the hands that differ by names of suits alone
    merged: np.ndarray  # uint8[B]  whether any are
    tie_first: np.ndarray  # int64[B+1]  groups of hands of one strength, on the last level
    tie_stop: np.ndarray  # int64[2, T]  where a group ends in a list


class SpotRows(NamedTuple):
    """Rows of some nodes that are known before: vectors over hands, in the type of the work.

    Of a node with `width` actions there are width + 1 on a board, which begin at base[seat, board] + place[n] *
    size[seat, board]: probabilities of the actions, 0 for hands without any, and one more. For locks it is 1 for hands
    that are free; for a target it is how much the distance of a hand from it counts, 0 for hands without one.
    """

    place: np.ndarray  # int64[N]  -1: none
    base: np.ndarray  # int64[2, B]
    rows: np.ndarray
    apart: np.ndarray  # float64[B]  where a pass leaves the distance from a target


class SpotLearned(NamedTuple):
    """What CFR keeps: codes of 16 bits, or float32 or float64; what is locked; and a target to stay near."""

    regret: np.ndarray
    average: np.ndarray
    locks: SpotRows
    target: SpotRows


class SpotSpace(NamedTuple):
    """Vectors of one board: a row for each node of a chunk, and one of zeros and one for waste behind them."""

    reach: np.ndarray
    value: np.ndarray
    stride: int  # numbers from row to row
    rows: int  # nodes that fit


class SpotLanes(NamedTuple):
    """Where the ends of betting are worked out: vectors over LANES ends, hand after hand."""

    reach: np.ndarray
    value: np.ndarray
    fold: np.ndarray
    running: np.ndarray  # sums by card, of the hands so far
    total: np.ndarray  # and of all
    chips: np.ndarray  # five constants of each end
    rows: np.ndarray  # int64[3 * LANES]  where reach, value and value of a fold lie


class SpotJob(NamedTuple):
    """What a pass does."""

    seat: int  # whose values are computed
    learn: bool  # revise the seat's regrets
    keep: bool  # keep the other's average
    averaged: bool  # both play their averages
    best: bool  # the seat plays its best response
    grow: float  # what is left of regrets
    decay: float  # and of averages
    pull: float  # what a distance of 1 from the target costs, where the most that is paid counts as 1
    apart: bool  # add up the other's distance from the target


class SpotTask(NamedTuple):
    """What is asked for: iterations, or values of a seat."""

    done: int = 0
    count: int = 0  # iterations; 0: values
    alpha: float = 0.0  # of discounts: t^alpha / (t^alpha + 1)
    gamma: float = 0.0  # plans weigh as t^gamma
    seat: int = 0
    best: bool = False  # the seat plays its best response
    board: int = 0  # whose entries are asked for
    above: int = -1
    pull: tuple[float, float] = (0.0, 0.0)  # by seat, as of a pass
    apart: bool = False  # measure how far the other is from the target


class SpotCrew(NamedTuple):
    """A thread's part in a pass."""

    thread: int
    threads: int
    gate: np.ndarray
    first: SpotSpace  # of the first board, for all threads
    space: SpotSpace  # of a board between
    below: SpotSpace  # of a board of the last level
    lanes: SpotLanes
    out: np.ndarray  # [boards below the first, entries x stride]  their values, for all threads
    inner: np.ndarray  # [entries x stride]  values of a board of the last level
