"""Where a strategy loses, by node of the betting: before the first cards of the board decision by decision, and from
there on by the betting that led to them.

What a best response gains over the strategy is a sum over its decisions (`kibitz.stitch.auto.signals`). The terms of
decisions before the board are worked out here from what a sweep says each hand gets afterwards; those of later ones
are together what a best response gains from the first board on, if it plays like the strategy before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import pairs
from kibitz.cards.tables import Tell
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.whole.flops import met
from kibitz.poker.whole.walk import BEST, PLAYED, Sweep

Floats = NDArray[np.float64]


class NodeLosses(NamedTuple):
    """By node of the betting; zero behind the first node after the first cards of the board."""

    lost: Floats  # [B]  chips a hand that best responses of both seats gain there; their sum is NashConv
    reached: Floats  # [B]  how often play comes there


def node_losses(sweep: Sweep, tell: Tell | None = None) -> NodeLosses:
    """Of a strategy that both seats play. On a sample of boards, by its estimates."""
    betting = sweep.game.betting
    lost, reached = np.zeros(len(betting)), np.zeros(len(betting))
    deals = sweep.hands(0) * math.comb(len(sweep.boards.deck) - sweep.hole, sweep.hole)
    best, played = (sweep.sums((0, 1), mode, tell) for mode in (BEST, PLAYED))
    entries = _entries(sweep)
    children: list[list[int]] = [[] for _ in range(len(betting))]
    for node in range(1, len(betting)):
        children[int(betting.parent[node])].append(node)

    for seat in (0, 1):
        even = [sweep._even(0, 0, total[seat]) for total in (best, played)]

        def value(node: int, reach: list[Floats], seat: int = seat, even: list[Any] = even) -> Floats:
            """[hands]  what a best response gets from a node on, by the reach of the other. reach: of both seats."""
            mine, other = reach[seat], reach[1 - seat]
            if seat == 0:
                reached[node] = met(mine, other, sweep) / deals
            if node in entries:
                group, lane = entries[node]
                after, as_played = (each[group, :, lane] for each in even)
                lost[node] += float(mine @ (after - as_played)) / deals
                return np.asarray(after)
            turn = int(betting.turn[node])
            if turn == TERMINAL:
                won = betting.paid[node, 1 - seat] if betting.folded[node, 1 - seat] else -betting.paid[node, seat]
                return float(won) * _opposed(other, sweep)
            if turn == CHANCE:
                return value(children[node][0], reach)
            shares = _shares(sweep, node)
            below = []
            for action, child in enumerate(children[node]):
                onward = [each * shares[:, action] if k == turn else each for k, each in enumerate(reach)]
                below.append(value(child, onward))
            values = np.stack(below, axis=1)
            if turn != seat:
                return np.asarray(values.sum(axis=1))
            top = values.max(axis=1)
            lost[node] += float(mine @ (top - (shares * values).sum(axis=1))) / deals
            return np.asarray(top)

        value(0, [np.ones(sweep.hands(0)), np.ones(sweep.hands(0))])
    return NodeLosses(lost, reached)


def _entries(sweep: Sweep) -> dict[int, tuple[int, int]]:
    """By the first node after the first cards of the board: (group of that round, lane)."""
    lanes = sweep.lanes
    return {
        int(lanes.segments.node[segment][0]): (g, lane)
        for g, group in enumerate(lanes.of_round(sweep.begin))
        for lane, segment in enumerate(lanes.groups.lanes[group])
    }


def _shares(sweep: Sweep, node: int) -> Floats:
    """[hands, actions]  what the seat that decides plays before the first board."""
    strategy = sweep.seats[int(sweep.game.betting.turn[node])]
    rows, source = np.asarray(strategy.rows(node), np.float64), strategy.sources[int(strategy.of_node[node])]
    if source is None:
        return np.repeat(rows, sweep.hands(0), axis=0)
    table = source.rounds[int(sweep.game.betting.round[node])].table
    assert table is not None
    return np.asarray(rows[table[0].astype(np.int64)])


def _opposed(reach: Floats, sweep: Sweep) -> Floats:
    """[hands]  the sum of a reach over the hands that have no card in common with each."""
    cards, hole = len(sweep.boards.deck), sweep.hole
    hands = pairs(cards, hole)
    by_card = np.sum([np.bincount(hands[:, k], reach, cards) for k in range(hole)], axis=0)
    shared = sum(by_card[hands[:, k]] for k in range(hole))
    return np.asarray(reach.sum() - shared + (reach if hole == 2 else 0.0))
