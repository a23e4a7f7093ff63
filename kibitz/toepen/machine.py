"""Toepen as a machine: its compiled rules, and its abstractions as hashes of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.games.machine import Hand, Machine, RowKeys, Words
from kibitz.toepen.arrays import rules_of
from kibitz.toepen.states import NAMES, NUMBERS, ToepenRules, mask_of, words_of

MOST_CARDS = 4  # in a hand, as kibitz.toepen.kernels.rules
DEPTH = 40  # decisions of a seat on one history
ABOUT = {
    "outlook": "what a card player looks at: how many unseen cards beat each of mine; merges most",
    "maximal": "names of suits, wherever they do not matter",
    "isomorphic": "names of suits, by the hand that was dealt",
    "null": "nothing is merged",
    "naive": "all but the number of actions",
    "simple-history": "all but the hand",
    "simple-hand": "all but what was played and bet",
    "advanced-hand": "hands by sum of ranks, high cards and suits; with the history",
    "advanced-history": "the history but for who bet when",
    "advanced-combined": "both of these",
    "strength": "hands by their value under a trained blueprint",
    "strength-history": "likewise, and the history but for who bet when",
}


class ToepenMachine(Machine):
    """Hands of up to four cards, and not symmetric."""

    words, actions, depth = 7, 4, DEPTH
    default = "outlook"
    advises = True
    abstractions = ABOUT

    def __init__(self, rules: ToepenRules) -> None:
        from kibitz.toepen.kernels.machine import duel, train

        self.rules: Any = rules
        self.game = rules_of(rules)
        self.train, self.duel = train, duel
        self.parts = [f"trick {k}" for k in range(1, rules.hand + 1)]

    def view(self, abstraction: Any = "outlook", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        from kibitz.toepen.kernels.keys import HANDS, NAMES, STRENGTH, STRENGTH_HISTORY, Keys, plain

        name = self.known(str(abstraction))
        in_buckets = NAMES[name] in (STRENGTH, STRENGTH_HISTORY)
        if arrays is not None and "bucket" not in arrays:
            raise SolverError("the buckets of hands are missing")
        bucket = None if arrays is None else arrays["bucket"]
        if bucket is None:
            if in_buckets:
                raise SolverError(f"the abstraction {name} needs buckets of hands, made from a trained blueprint")
            keys = plain(NAMES[name])
        elif bucket.shape != (2, 2, HANDS if in_buckets else 1) or bucket.dtype != np.uint8:
            raise SolverError("buckets of hands are bytes by seat, role and hand, for abstractions by strength alone")
        else:
            keys = Keys(np.int64(NAMES[name]), np.ascontiguousarray(bucket))
        return RowKeys(name, keys, {"bucket": keys.bucket})

    def arrays_from(self, abstraction: str, path: str | None) -> dict[str, NDArray[Any]] | None:
        wanted = abstraction.startswith("strength")
        if wanted and path is None:
            raise SolverError(
                f"--abstraction {abstraction} needs a trained strategy that gives values to hands: train one, such "
                "as `kibitz train toepen --seconds 120 --out solved`, and name it with --strength solved"
            )
        if path is None:
            return None
        if not wanted:
            raise SolverError(
                f"--strength goes with --abstraction strength or strength-history, not with {abstraction}"
            )
        from kibitz.solvers.saved_blueprints import load_blueprint
        from kibitz.toepen.strength import strength_buckets

        return {"bucket": strength_buckets(load_blueprint(path, compact=True, game=self))}

    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        from kibitz.toepen.kernels.play import key_after

        known = (self._known(seat, str(text)) for text in infosets)
        return np.array([key_after(self.game, view.keys, seat, *each) for each in known], np.uint64)

    def _known(self, seat: int, infoset: str) -> tuple[Words, np.uint64]:
        """(the public history, the cards that the seat was dealt) of an infoset, as kernels take them."""
        state = self.rules.read(seat, infoset)
        return words_of(state.done.split()), np.uint64(mask_of(state.dealt[seat]))

    def agent_class(self) -> Any:
        from kibitz.toepen.agents import ToepenPlayer

        return ToepenPlayer

    def hand(self, seed: int, number: int) -> Hand:
        return ToepenHand(self.rules, seed, number)

    def part_of(self, seat: int, infosets: str) -> int:
        return sum(word in NUMBERS for word in infosets.partition("|")[2].split()) // 2

    def advice(self, seat: int, infoset: str, actions: Sequence[str]) -> int:
        from kibitz.toepen.kernels.play import advised

        return int(advised(self.game, seat, *self._known(seat, infoset)))

    def keys_at(self, view: RowKeys, infosets: Any) -> Words:
        from kibitz.toepen.arrays import arrays_of
        from kibitz.toepen.kernels.lay import keys_at

        arrays = arrays_of(self.rules)
        if arrays is None or not np.array_equal(arrays["seat_start"], infosets.seat_start):
            raise SolverError(f"the infosets are not those of {self.spec}")
        states = arrays["labels"].examples  # in the order of the tree
        row_keys = np.zeros(len(states), np.uint64)
        keys_at(states, self.game, view.keys, row_keys)
        return row_keys


class ToepenHand(Hand):
    """A deal: both hands, shuffled as the compiled rules shuffle."""

    def begin(self) -> Any:
        rules: Any = self.rules
        cards = list(rules.deck)
        for k in range(2 * rules.hand):
            at = k + ((self.word() >> 32) * (len(cards) - k) >> 32)
            cards[k], cards[at] = cards[at], cards[k]
        hands = tuple(sorted(cards[: rules.hand])), tuple(sorted(cards[rules.hand : 2 * rules.hand]))
        return rules.after(rules.root(), "|".join(" ".join(NAMES[card] for card in hand) for hand in hands))
