"""The matrices of the linear programme of a poker form, written out from the definitions of fold and showdown.

Nothing here uses the compiled operator, so the two can be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.poker.exact.decisions import Decisions
from kibitz.poker.exact.layout import PokerLayout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_ENTRIES = 200_000_000


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

    table, entries = form.table, 0
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
        entries += int((kinds == FOLD).sum()) * int(np.count_nonzero(meets))
        entries += int((kinds == SHOWDOWN).sum()) * int(np.count_nonzero(wins))
    return entries


def payoff_matrix(form: PokerLayout) -> Any:
    """Payoffs to seat 0 by the sequences of both seats, as a sparse matrix."""
    from scipy.sparse import csc_matrix

    from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

    table, deal = form.table, form.cards
    seats = Decisions(form, 0), Decisions(form, 1)
    shape = int(form.seat_sequence[1]), int(form.seat_sequence[2] - form.seat_sequence[1])
    rows, columns, entries, total = [], [], [], 0
    matrix = csc_matrix(shape)
    for level, cards in enumerate(deal.rounds):
        for board in range(len(cards.boards)):
            meet, win = _meetings(form, level, board)
            first, last = cards.board_class[board : board + 2].tolist()
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
                    own, other = (seat.before(segment, k)[first:last] for seat in seats)
                    rows.append(own[i])
                    columns.append(other[j] - shape[0])
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
