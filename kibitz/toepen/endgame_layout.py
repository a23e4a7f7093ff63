"""EndgameLayout: which hands an endgame has, where its tables lie, and how large they are."""

from __future__ import annotations

import math
import operator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.toepen.kernels.endgame_tree import BATCH_FIELDS, NODE_FIELDS, Deck, EndgameStart, PublicTree, lay_out
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import mask_of

Ints = NDArray[np.int64]
Bounds = tuple[int, int, int, int]  # on nodes, batches, entries of `kids` and of `member`

MOST_CARDS = 3  # a hand; more would need larger tables for sums over disjoint hands
MEMORY = 1 << 30  # bytes that an endgame may take by default


class EndgameLayout:
    """All deals of the unplayed cards, `cards_each` to a seat, from the start of a trick on.

    unplayed     the cards that nobody has played, as bits: in the hands and in the stock
    leader       the seat that leads the trick
    ante         what the winner gets as things stand; last_bettor: who bet last, -1 if nobody did
    rules        of the game: its deck, whether there is betting, whether suit is followed
    memory       bytes that tables may take; more is refused
    """

    def __init__(
        self,
        unplayed: int,
        cards_each: int,
        leader: int,
        ante: int = 1,
        last_bettor: int = -1,
        *,
        rules: Toepen | None = None,
        memory: int = MEMORY,
    ) -> None:
        rules = Toepen() if rules is None else rules
        self.unplayed, self.cards_each, self.leader = operator.index(unplayed), int(cards_each), int(leader)
        self.ante, self.last_bettor = operator.index(ante), int(last_bettor)
        if self.unplayed < 0 or self.unplayed & ~mask_of(rules.deck):
            raise GameError(
                f"there are unplayed cards that a deck of {rules.suits} suits and {rules.ranks} ranks does not have"
            )
        if not 1 <= self.cards_each <= MOST_CARDS:
            raise GameError(f"an endgame has 1 to {MOST_CARDS} cards a hand, not {cards_each}")
        if self.leader not in (0, 1) or self.last_bettor not in (-1, 0, 1):
            raise GameError(f"seats are 0 and 1 (last_bettor -1: nobody): leader={leader}, last_bettor={last_bettor}")
        if not 1 <= self.ante <= 32:
            raise GameError(f"ante={ante}: from 1 to 32")
        count = self.unplayed.bit_count()
        if count < 2 * self.cards_each:
            raise GameError(f"{count} unplayed cards do not make two hands of {self.cards_each}")
        self._card = lanes_of(self.unplayed)
        start = EndgameStart(self.cards_each, self.leader, self.ante, self.last_bettor, rules.betting)
        self.bytes, self._bounds = estimate(self._card, start)
        if self.bytes > memory:
            raise SolverError(
                f"an endgame with {self.cards_each} cards a hand and {count} unplayed needs about "
                f"{self.bytes / 2**30:,.1f} GiB and {memory / 2**30:,.1f} GiB are allowed (memory=): "
                "begin it a trick later"
            )
        self._deck = make_deck(self._card, self.cards_each, rules.follow_suit)
        # The cut: columns from there on are those of batches.
        self._tree, self._cut, self.columns, self._places = make_tree(start, self._deck, self._card, self._bounds)
        self._live = sum(1 << lane for lane, card in enumerate(self._card) if card >= 0)
        masks = self._masks(self._space(self.cards_each))
        self._order = np.flatnonzero(masks)
        #: The hands, as bits of cards; the same for both seats.
        self.hands: Ints = masks[self._order]

    def _space(self, j: int) -> Ints:
        """The hands of j cards, as bits of lanes."""
        first = int(self._deck.start[j])
        return self._deck.mask[first : first + int(self._deck.size[j])]

    def _masks(self, lanes: Ints) -> Ints:
        """Sets of lanes as sets of cards."""
        result = np.zeros_like(lanes)
        for lane, card in enumerate(self._card):
            if card >= 0:
                result |= (lanes >> lane & 1) << card
        return result


def lanes_of(unplayed: int) -> list[int]:
    """The card in each lane, -1 if none: lane 4 * i + suit has the suit's i-th unplayed card."""
    suits = [[card for card in range(8 * s, 8 * s + 8) if unplayed >> card & 1] for s in range(4)]
    height = max(len(cards) for cards in suits)
    return [cards[i] if i < len(cards) else -1 for i in range(height) for cards in suits]


def estimate(card: list[int], start: EndgameStart) -> tuple[int, Bounds]:
    """Bytes, and bounds on nodes, batches, entries of `kids` and of `member`."""
    lanes, n, betting = len(card), sum(c >= 0 for c in card), start.betting
    size = [1, lanes, *(math.comb(n, j) for j in range(2, MOST_CARDS + 1))]

    def trick(k: int, live: int, last: int) -> list[int]:
        """nodes, batches, kids, members, columns, places below a trick; last: 0 nobody, 1 leader, 2 other."""
        may = betting and last != 1
        if k == 1:
            return [0, 0, 0, 0, lanes * (6 * (betting and last != 2) + 10 * may), lanes]
        total = [1, 0, lanes * (1 + may), 0, size[k] * (4 * may + k * (1 + may)), size[k]]
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

    last = 0 if start.last_bettor < 0 else 1 if start.last_bettor == start.leader else 2
    nodes, batches, kids, members, columns, places = trick(start.cards, n, last)
    if start.cards == 1:
        batches = members = 1
    tables = 8 * (16 * nodes + 10 * batches) + 4 * (kids + members) + 100 * sum(size)
    # regret, strategy and average while it is solved (most columns in single precision), the average and the answer
    total = tables + columns * (3 * 4 + 3 * 8) + places * 2 * 8
    return total, (nodes, batches, kids, members)


def make_deck(card: list[int], k: int, follow_suit: bool) -> Deck:
    """All hands of 1 to k cards."""
    lanes = len(card)
    live = np.array([c >= 0 for c in card])
    real = np.flatnonzero(live)
    size, start, wide, holds_start, holds_count = np.zeros((5, 5), np.int64)
    cards: list[Ints] = []
    drops: list[Ints] = []
    masks: list[Ints] = []
    holds: list[NDArray[np.int32]] = []
    legal: list[NDArray[np.uint8]] = []
    numbers = np.zeros(0, np.int32)  # of the hands of one card fewer, by `_key`
    for j in range(1, k + 1):
        if j == 1:
            hands = np.arange(lanes, dtype=np.int64)[:, None]
            drop = np.zeros((lanes, 1), np.int64)
        else:
            hands = np.array(list(combinations(real.tolist(), j)), np.int64)
            drop = np.stack([numbers[_key(np.delete(hands, i, axis=1), lanes)] for i in range(j)], axis=1)
        numbers = np.full(lanes**j, -1, np.int32)
        numbers[_key(hands, lanes)] = np.arange(len(hands))
        size[j], start[j] = len(hands), sum(len(m) for m in masks)
        wide[j] = sum(c.size for c in cards)
        mask = np.bitwise_or.reduce(np.left_shift(1, hands), axis=1)
        holds_count[j] = 1 if j == 1 else math.comb(len(real) - 1, j - 1)
        holds_start[j] = sum(int(h.size) for h in holds)
        with_lane = np.zeros((lanes, holds_count[j]), np.int32)
        for lane in real:
            with_lane[lane] = np.flatnonzero(mask >> lane & 1)
        table = np.full((len(hands), 5), (1 << j) - 1, np.uint8)
        for suit in range(4 * follow_suit):
            bits = ((hands & 3 == suit) << np.arange(j)).sum(axis=1)
            table[:, suit] = np.where(bits > 0, bits, (1 << j) - 1)
        cards.append(hands)
        drops.append(drop)
        masks.append(mask)
        holds.append(with_lane)
        legal.append(table)

    def flat(arrays: list[Any], dtype: Any) -> Any:
        return np.concatenate([a.reshape(-1) for a in arrays]).astype(dtype)

    return Deck(
        lanes, size, start, wide, flat(cards, np.int32), flat(drops, np.int32), flat(masks, np.int64),
        np.concatenate(legal), flat(holds, np.int32), holds_start, holds_count, live,
    )  # fmt: skip


def make_tree(start: EndgameStart, deck: Deck, card: list[int], bounds: Bounds) -> tuple[PublicTree, int, int, int]:
    """The public tree, how many columns its nodes have and how many there are in all, and places for vectors."""
    nodes, batches, kids, members = bounds
    most = PublicTree(
        np.full((max(nodes, 1), NODE_FIELDS), -1, np.int64), np.zeros((batches, BATCH_FIELDS), np.int64),
        np.empty(kids, np.int32), np.empty(members, np.int32), np.zeros((len(card) + 1, 2), np.int64),
    )  # fmt: skip
    nodes, batches, kids, members, cut, lower, places, chunks = lay_out(start, deck, np.array(card, np.int64), most)
    sizes = (nodes, batches, kids, members, chunks + 1)
    tree = PublicTree(*(table[:size] for table, size in zip(most, sizes, strict=True)))
    return tree, int(cut), int(cut + lower), int(places)


def _key(hands: Ints, lanes: int) -> Ints:
    """Hands as numbers: lanes are digits."""
    digits: Ints = hands @ lanes ** np.arange(hands.shape[1] - 1, -1, -1)
    return digits
