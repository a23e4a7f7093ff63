"""Three players on a river, exactly: all hands that they can hold are counted.

What a seat wins at an end, summed over the hands of the others, is linear in the plan of each of them. So the values of
all actions, and best responses, follow from one pass over all triples of hands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import hand_cards
from kibitz.poker.multiway.question import Dealt, raked
from kibitz.poker.preflop.measuring import response
from kibitz.poker.preflop.nodes import FirstNodes, reaches
from kibitz.poker.rules.rules import strength, winnings

Floats = NDArray[np.float64]
MOST_WORK = 6e9  # triples of hands times ends: a minute


@dataclass
class RiverMeasure:
    """What strategies win on a river, exactly. Units of the betting tree, from the root on."""

    values: Floats  # [3]
    gains: Floats  # [3]  what a best response against the two others wins more
    actions: list[Floats]  # of each node [actions, 1326]: what the seat to act wins
    met: list[Floats]  # of each node [1326]: the weight of deals with which the seat to act has a hand here
    reach: Floats  # [P]


def is_countable(dealt: Dealt, nodes: FirstNodes) -> bool:
    """Whether all triples of hands can be counted."""
    if len(dealt.live) != 3 or len(dealt.board) != 5:
        return False
    hands = [float(len(dealt.hands(seat))) for seat in range(3)]
    return hands[0] * hands[1] * hands[2] * len(nodes) <= MOST_WORK


def river_measure(dealt: Dealt, nodes: FirstNodes, strategy: list[Floats]) -> RiverMeasure:
    reach = reaches(nodes, strategy)
    sums, total = _sums(dealt, reach[nodes.ends], _pays(nodes))
    met, _ = _sums(dealt, reach, np.ones((len(nodes), 27, 3)))
    values, gains = np.zeros(3), np.zeros(3)
    actions: list[Floats] = [np.empty((0, 1326))] * len(nodes)
    for seat in range(3):
        own = _backed(nodes, seat, sums[seat], strategy)
        best = _backed(nodes, seat, sums[seat], response(nodes, seat, sums[seat], strategy))
        values[seat] = own[0].sum() / total
        gains[seat] = (best[0].sum() - own[0].sum()) / total
        for node in nodes.decisions:
            if nodes.turn[node] == seat:
                below = np.stack([own[child] for child in nodes.children[node]])
                here = met[seat, node]
                actions[node] = np.divide(below, here, out=np.full_like(below, np.nan), where=here > 0)
    # the weight of all deals with which all three reach a node
    often = np.array([float((met[0, node] * reach[node, 0]).sum()) / total for node in range(len(nodes))])
    mets = [met[nodes.turn[node], node] if nodes.turn[node] >= 0 else np.empty(0) for node in range(len(nodes))]
    return RiverMeasure(values, gains, actions, mets, often)


def _sums(dealt: Dealt, reach: Floats, pays: Floats) -> tuple[Floats, float]:
    """([3, E, 1326] what seats win at ends with a hand, over the hands of the others, times the weights of all; the
    weight of all deals)."""
    from kibitz.poker.multiway.kernels.rivers import RiverHands, add_ends

    hands = []
    for seat in range(3):
        own = dealt.hands(seat)
        cards = hand_cards()[own]
        every = np.concatenate([cards, np.repeat([dealt.board], len(own), axis=0)], axis=1).astype(np.uint8)
        mask = (np.uint64(1) << cards[:, 0].astype(np.uint64)) | (np.uint64(1) << cards[:, 1].astype(np.uint64))
        hands.append(RiverHands(own, dealt.live[seat][own], mask, np.asarray(strength(every), np.int64)))
    sums = np.zeros((3, len(pays), 1326))
    by_seat = tuple(np.ascontiguousarray(reach[:, seat]) for seat in range(3))
    total = add_ends(tuple(hands), by_seat, pays, sums)
    return sums, float(total)


def _pays(nodes: FirstNodes) -> Floats:
    """[ends, 27, 3]  what seats win by how their hands compare: 9 a + 3 b + c, where a is the first with the second, b
    the first with the third, c the second with the third; 0 below, 1 equal, 2 above."""
    question: Any = nodes.question
    pays = np.zeros((len(nodes.ends), 27, 3))
    orders = {}
    for values in product(range(3), repeat=3):
        pairs = ((9, 0, 1), (3, 0, 2), (1, 1, 2))
        code = sum(scale * (int(np.sign(values[i] - values[j])) + 1) for scale, i, j in pairs)
        orders[code] = values
    for k, end in enumerate(nodes.ends):
        paid, folded = nodes.paid[end].tolist(), nodes.folded[end].tolist()
        for code, values in orders.items():
            won = raked(paid, winnings(paid, folded, values), question.rake, question.rake_cap / question.unit)
            pays[k, code] = np.array(won) - paid
    return pays


def _backed(nodes: FirstNodes, seat: int, sums: Floats, strategy: list[Floats]) -> list[Floats]:
    """Of each node [1326]: the sums of the ends below it, by the seat's own strategy."""
    values: list[Floats] = [np.empty(0)] * len(nodes)
    for k, end in enumerate(nodes.ends):
        values[end] = sums[k]
    for node in reversed(nodes.decisions):
        below = np.stack([values[child] for child in nodes.children[node]])
        values[node] = below.sum(axis=0) if nodes.turn[node] != seat else (strategy[node] * below).sum(axis=0)
    return values
