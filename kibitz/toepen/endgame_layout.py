"""EndgameLayout: which hands an endgame has, where its tables lie, and how large they are."""

from __future__ import annotations

import operator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.toepen.endgame_deck import MOST_CARDS, estimate, lanes_of, make_deck, make_plan

Ints = NDArray[np.int64]

MEMORY = 1 << 30  # bytes that an endgame may take unless told otherwise


class EndgameLayout:
    """All deals of the unplayed cards, `cards_each` to a seat, from the start of a trick on.

    unplayed     the cards that nobody has played, as bits: in the hands and in the stock
    leader       the seat that leads the trick
    ante         what the hand is worth now; last_bettor: who bet last, -1 if nobody did
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
        suits: int = 4,
        ranks: int = 8,
        betting: bool = True,
        follow_suit: bool = True,
        memory: int = MEMORY,
    ) -> None:
        self.unplayed, self.cards_each, self.leader = operator.index(unplayed), int(cards_each), int(leader)
        self.ante, self.last_bettor = operator.index(ante), int(last_bettor)
        self.betting, self.follow_suit = bool(betting), bool(follow_suit)
        deck = sum(1 << (8 * suit + rank) for suit in range(suits) for rank in range(8 - ranks, 8))
        if self.unplayed < 0 or self.unplayed & ~deck:
            raise GameError(f"there are unplayed cards that a deck of {suits} suits and {ranks} ranks does not have")
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
        last = 0 if self.last_bettor < 0 else 1 if self.last_bettor == self.leader else 2
        self.bytes, self._bounds = estimate(self._card, self.cards_each, last, self.betting)
        if self.bytes > memory:
            raise SolverError(
                f"an endgame with {self.cards_each} cards a hand and {count} unplayed needs about "
                f"{self.bytes / 2**30:,.1f} GiB and {memory / 2**30:,.1f} GiB are allowed (memory=): "
                "begin it a trick later"
            )
        k = self.cards_each
        self._deck = make_deck(self._card, k, self.follow_suit)
        # The cut: columns from there on are those of batches.
        self._plan, self._cut, self.columns, self._places = make_plan(
            self._deck, self._card, k, self.leader, self.ante, self.last_bettor, self.betting, self._bounds
        )
        first = int(self._deck.start[k])
        lanes = self._deck.mask[first : first + int(self._deck.size[k])]
        masks = self._masks(lanes)
        self._order = np.flatnonzero(masks)
        #: The hands, as bits of cards; the same for both seats.
        self.hands: Ints = masks[self._order]

    @cached_property
    def _live(self) -> int:
        return sum(1 << lane for lane, card in enumerate(self._card) if card >= 0)

    def _space(self, j: int) -> Ints:
        first = int(self._deck.start[j])
        return self._deck.mask[first : first + int(self._deck.size[j])]

    def _masks(self, lanes: Ints) -> Ints:
        """Sets of lanes as sets of cards."""
        result = np.zeros_like(lanes)
        for lane, card in enumerate(self._card):
            if card >= 0:
                result |= (lanes >> lane & 1) << card
        return result
