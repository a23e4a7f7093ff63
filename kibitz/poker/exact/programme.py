"""The matrices of the linear programme of a poker form, written out from the definitions of fold and showdown.

Nothing here uses the compiled operator, so the two can be held against each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.poker.exact.layout import PokerLayout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_ENTRIES = 200_000_000


class _Last:
    """The last sequence of a seat at the root of each segment, by class of the round."""

    def __init__(self, form: PokerLayout, seat: int) -> None:
        self.form, self.seat = form, seat
        self.known: dict[int, Ints] = {}
        segments = form.segments
        empty = int(form.seat_sequence[seat])
        self.root: list[Ints] = [np.zeros(0, np.int64)] * len(segments.node)
        self.root[0] = np.full(form.cards.rounds[0].classes, empty)
        for segment in range(len(segments.node)):
            level = int(form.levels[segment])
            if level + 1 == form.definition.rounds:
                continue
            following = form.cards.rounds[level + 1]
            for k, node in enumerate(segments.node[segment].tolist()):
                if node in segments.exit:
                    here = np.concatenate([self.at(segment, board, k) for board in range(_boards(form, level))])
                    self.root[segments.exit[node]] = here[following.up]

    def at(self, segment: int, board: int, k: int) -> Ints:
        """The sequences that lead the seat to node k of a block, by class."""
        form, level = self.form, int(self.form.levels[segment])
        cards, node = form.cards.rounds[level], form.first_node(segment)
        classes = slice(int(cards.board_class[board]), int(cards.board_class[board + 1]))
        slot = int(form.table.slot[self.seat, node + k])
        if slot == 0:  # none since the root of the segment
            return self.root[segment][classes]
        if segment not in self.known:
            self.known[segment] = form.sequences_of(self.seat, segment)
        found: Ints = self.known[segment][int(form.table.action[node + slot])]
        return found[classes] if form.buckets is None else found[form.buckets[self.seat][level][classes]]


def _boards(form: PokerLayout, level: int) -> int:
    return len(form.cards.rounds[level].boards)


def _meetings(form: PokerLayout, level: int, board: int) -> tuple[Floats, Floats]:
    """[classes, classes]  pairs of hands of two classes that can meet on a board, and wins less losses of the first."""
    cards = form.cards.rounds[level]
    lo, hi = int(cards.board_hand[board]), int(cards.board_hand[board + 1])
    first, last = int(cards.board_class[board]), int(cards.board_class[board + 1])
    hands, of = cards.hands[lo:hi], cards.hand_class[lo:hi] - first
    apart = ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
    order = cards.hand_low[lo:hi]
    sign = np.sign(order[:, None] - order[None, :]) * apart
    member = np.zeros((hi - lo, last - first))
    member[np.arange(hi - lo), of] = 1.0
    return member.T @ apart @ member, member.T @ sign @ member


def payoff_entries(form: PokerLayout) -> int:
    """How many entries of the payoff matrix are not zero, without writing it.

    At an end of betting the matrix is that of the cards: which classes (or buckets) can meet, or beat each other more
    often than they are beaten, times the stake. So it is counted once for each round and kind of end.
    """
    from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

    table, found = form.table, 0
    for level, cards in enumerate(form.cards.rounds):
        shape = int(table.rows[0, level]), int(table.rows[1, level])
        meets, wins = np.zeros(shape), np.zeros(shape)
        for board in range(len(cards.boards)):
            first, last = int(cards.board_class[board]), int(cards.board_class[board + 1])
            own, other = (form.buckets[seat][level] if form.buckets else np.arange(cards.classes) for seat in (0, 1))
            place = np.ix_(own[first:last], other[first:last])
            copies = float(cards.share[first] / cards.size[first])
            for matrix, part in zip((meets, wins), _meetings(form, level, board), strict=True):
                np.add.at(matrix, place, np.round(copies * part * form.cards.hands))
        groups = slice(*form.groups.round_group[level : level + 2].tolist())
        lanes, nodes = np.diff(table.group_lane)[groups], np.diff(table.group_node)[groups]
        start = int(table.group_node[groups.start])
        kinds = np.repeat(table.turn[start : start + int(nodes.sum())], np.repeat(lanes, nodes))
        found += int((kinds == FOLD).sum()) * int(np.count_nonzero(meets))
        found += int((kinds == SHOWDOWN).sum()) * int(np.count_nonzero(wins))
    return found


def payoff_matrix(form: PokerLayout) -> Any:
    """Payoffs to seat 0 by the sequences of both seats, as a sparse matrix."""
    from scipy.sparse import csc_matrix

    from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

    table, deal = form.table, form.cards
    lasts = (_Last(form, 0), _Last(form, 1))
    shape = int(form.seat_sequence[1]), int(form.seat_sequence[2] - form.seat_sequence[1])
    rows, columns, entries, total = [], [], [], 0
    matrix = csc_matrix(shape)
    for level, cards in enumerate(deal.rounds):
        for board in range(len(cards.boards)):
            meet, win = _meetings(form, level, board)
            first = int(cards.board_class[board])
            # Boards that this one stands for, over all hands: the share of a class is that times its hands.
            copies = float(cards.share[first] / cards.size[first])
            for segment in range(*form.segments.round_segment[level : level + 2].tolist()):
                node, lane = form.first_node(segment), int(form.groups.lane[segment])
                for k in range(len(form.segments.node[segment])):
                    if table.turn[node + k] not in (FOLD, SHOWDOWN):
                        continue
                    stake = table.stake[0, table.node_lane[node + k] + lane]
                    worth = (meet if table.turn[node + k] == FOLD else win) * (stake * copies)
                    i, j = np.nonzero(worth)
                    rows.append(lasts[0].at(segment, board, k)[i])
                    columns.append(lasts[1].at(segment, board, k)[j] - shape[0])
                    entries.append(worth[i, j])
                    total += len(i)
            if total > MOST_ENTRIES:
                raise SolverError(
                    f"the payoff matrix of {form.spec or 'this game'} has more than {MOST_ENTRIES:,} entries: use cfr+ "
                    "or pcfr+, which never write it"
                )
            if sum(map(len, entries)) > 20_000_000:
                matrix, rows, columns, entries = _add(matrix, rows, columns, entries, shape), [], [], []
    matrix = _add(matrix, rows, columns, entries, shape)
    matrix.eliminate_zeros()
    return matrix


def _add(matrix: Any, rows: list[Ints], columns: list[Ints], entries: list[Floats], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csc_matrix

    if not entries:
        return matrix
    where = np.concatenate(rows), np.concatenate(columns)
    return matrix + csc_matrix((np.concatenate(entries), where), shape=shape)


def constraints(form: PokerLayout, seat: int) -> tuple[Any, Floats]:
    """E and e of a seat: the empty sequence has plan 1, and the actions of a row add up to the sequence before it."""
    from scipy.sparse import csc_matrix

    table = form.table
    last = _Last(form, seat)
    base, size = int(form.seat_sequence[seat]), int(form.seat_sequence[seat + 1] - form.seat_sequence[seat])
    rows, columns, entries = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], [np.ones(1)]
    points = 0
    for segment, nodes in enumerate(form.segments.node):
        level = int(form.levels[segment])
        node = form.first_node(segment)
        for k in range(len(nodes)):
            if table.turn[node + k] != seat:
                continue
            children = table.children[node + k, : int(table.count[node + k])].tolist()
            boards = range(_boards(form, level))
            before = np.concatenate([last.at(segment, board, k) for board in boards])
            after = [np.concatenate([last.at(segment, board, child) for board in boards]) for child in children]
            # With buckets many classes are one row.
            _, one = np.unique(after[0], return_index=True)
            number = points + 1 + np.arange(len(one))
            points += len(one)
            for columns_of, sign in ((before, -1.0), *((child, 1.0) for child in after)):
                rows.append(number)
                columns.append(columns_of[one] - base)
                entries.append(np.full(len(one), sign))
    side = np.zeros(points + 1)
    side[0] = 1.0
    where = np.concatenate(rows), np.concatenate(columns)
    return csc_matrix((np.concatenate(entries), where), shape=(points + 1, size)), side
