"""The cards of an endgame and its public tree, as the tables that kernels read (`toepen/kernels/endgame_plan.py`)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kibitz.toepen.kernels.endgame_plan import Deck, Plan

Ints = NDArray[np.int64]
Bounds = tuple[int, int, int, int]  # on nodes, batches, entries of `kids` and of `member`

MOST_CARDS = 3  # a hand; more would need larger tables for sums over disjoint hands


def lanes_of(unplayed: int) -> list[int]:
    """The card in each lane, -1 if none: lane 4 * i + suit has the suit's i-th unplayed card."""
    suits = [[card for card in range(8 * s, 8 * s + 8) if unplayed >> card & 1] for s in range(4)]
    height = max(len(cards) for cards in suits)
    return [cards[i] if i < len(cards) else -1 for i in range(height) for cards in suits]


def estimate(card: list[int], cards_each: int, last_bettor: int, betting: bool) -> tuple[int, Bounds]:
    """Bytes, and bounds on nodes, batches, entries of `kids` and of `member`.

    last_bettor: 0 nobody, 1 the leader, 2 the other.
    """
    lanes, n = len(card), sum(c >= 0 for c in card)
    size = [1, lanes, *(math.comb(n, j) for j in range(2, MOST_CARDS + 1))]

    def trick(k: int, live: int, last: int) -> list[int]:
        """nodes, batches, kids, members, columns, places below a trick; last: 0 nobody, 1 leader, 2 other."""
        if k == 1:
            may = betting and last != 1
            return [0, 0, 0, 0, lanes * (6 * (betting and last != 2) + 10 * may), lanes]
        total = [0] * 6
        may = betting and last != 1
        add(total, [1, 0, lanes * (1 + may), 0, size[k] * (4 * may + k * (1 + may)), size[k]], 1)
        for raised in range(1 + may):
            add(total, reply(k, live - 1, 1 if raised else last), live)
        return total

    def reply(k: int, live: int, last: int) -> list[int]:
        may = betting and last != 2
        columns = (2 * size[k] + 2 * size[k - 1]) * may + size[k] * k * (1 + may)
        total = [1, 0, lanes * (1 + may), 0, columns, max(size[k], size[k - 1])]
        for raised in range(1 + may):
            now = 2 if raised else last
            either = [trick(k - 1, live - 1, x) for x in {now, (0, 2, 1)[now]}]
            add(total, [max(x) for x in zip(*either, strict=True)], live)
            if k == 2:
                add(total, [0, 2, 0, live, 0, 0], 1)
        return total

    def add(total: list[int], more: list[int], times: int) -> None:
        for i, x in enumerate(more):
            total[i] += times * x

    if cards_each == 1:
        nodes, batches, kids, members, columns, places = [0, 1, 0, 1, *trick(1, n, last_bettor)[4:]]
    else:
        nodes, batches, kids, members, columns, places = trick(cards_each, n, last_bettor)
    tables = 8 * (16 * nodes + 10 * batches) + 4 * (kids + members) + 100 * sum(size)
    # regret, strategy and average while it is solved (most columns in single precision), the average and the answer
    total = tables + columns * (3 * 4 + 3 * 8) + places * 2 * 8
    return total, (nodes, batches, kids, members)


def make_deck(card: list[int], k: int, follow_suit: bool) -> Deck:
    """All hands of 1 to k cards."""
    from kibitz.toepen.kernels.endgame_plan import Deck

    lanes = len(card)
    live = np.array([c >= 0 for c in card])
    real = np.flatnonzero(live)
    size, start, wide = (np.zeros(5, np.int64) for _ in range(3))
    holds_start, holds_count = np.zeros(5, np.int64), np.zeros(5, np.int64)
    cards: list[Ints] = []
    drops: list[Ints] = []
    masks: list[Ints] = []
    holds: list[NDArray[np.int32]] = []
    index: dict[int, NDArray[np.int32]] = {}
    for j in range(1, k + 1):
        if j == 1:
            hands = np.arange(lanes, dtype=np.int64)[:, None]
            drop = np.zeros((lanes, 1), np.int64)
        else:
            hands = np.array(list(combinations(real.tolist(), j)), np.int64)
            rest = [np.delete(hands, i, axis=1) for i in range(j)]
            drop = np.stack([index[j - 1][_key(x, lanes)] for x in rest], axis=1)
        numbers = np.full(lanes**j, -1, np.int32)
        numbers[_key(hands, lanes)] = np.arange(len(hands))
        index[j] = numbers
        size[j], start[j] = len(hands), sum(len(m) for m in masks)
        wide[j] = sum(c.size for c in cards)
        mask = np.bitwise_or.reduce(np.left_shift(1, hands), axis=1)
        holds_count[j] = 1 if j == 1 else math.comb(len(real) - 1, j - 1)
        holds_start[j] = sum(int(h.size) for h in holds)
        held = np.zeros((lanes, holds_count[j]), np.int32)
        for lane in real:
            held[lane] = np.flatnonzero(mask >> lane & 1)
        cards.append(hands)
        drops.append(drop)
        masks.append(mask)
        holds.append(held)
    legal = []
    for j, hands in enumerate(cards, start=1):
        table = np.full((len(hands), 5), (1 << j) - 1, np.uint8)
        if follow_suit:
            for suit in range(4):
                bits = ((hands & 3 == suit) << np.arange(j)).sum(axis=1)
                table[:, suit] = np.where(bits > 0, bits, (1 << j) - 1)
        legal.append(table)

    def flat(arrays: list[Any], dtype: Any) -> Any:
        return np.concatenate([a.reshape(-1) for a in arrays]).astype(dtype)

    return Deck(
        lanes, size, start, wide, flat(cards, np.int32), flat(drops, np.int32), flat(masks, np.int64),
        np.concatenate(legal), flat(holds, np.int32), holds_start, holds_count, live,
    )  # fmt: skip


def make_plan(
    deck: Deck, card: list[int], k: int, leader: int, ante: int, last_bettor: int, betting: bool, bounds: Bounds
) -> tuple[Plan, int, int, int]:
    """The public tree, how many columns its nodes have and how many there are in all, and places for vectors."""
    from kibitz.toepen.kernels.endgame_plan import BATCH_FIELDS, NODE_FIELDS, Plan, lay_out

    most_nodes, most_batches, most_kids, most_members = bounds
    node = np.full((max(most_nodes, 1), NODE_FIELDS), -1, np.int64)
    batch = np.zeros((most_batches, BATCH_FIELDS), np.int64)
    kids, member = np.empty(most_kids, np.int32), np.empty(most_members, np.int32)
    chunk = np.zeros((len(card) + 1, 2), np.int64)
    codes = np.array(card, np.int64)
    nodes, batches, kid, members, cut, lower, places, chunks = lay_out(
        k, leader, ante, last_bettor, betting, deck, codes, node, batch, kids, member, chunk
    )
    plan = Plan(node[:nodes], batch[:batches], kids[:kid], member[:members], chunk[: chunks + 1])
    return plan, int(cut), int(cut + lower), int(places)


def _key(hands: Ints, lanes: int) -> Ints:
    """Hands as numbers: lanes are digits."""
    digits: Ints = hands @ lanes ** np.arange(hands.shape[1] - 1, -1, -1)
    return digits
