"""An agent that plays a blueprint of hold'em at once: buckets of hands are computed as they come up.

For a person's table. A blueprint that was saved with the thresholds of its buckets (`kibitz.bench.opponents`) needs no
tables of hands, which take minutes to make. Matches, which see millions of boards, are played from tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.store import Artefact
from kibitz.evaluate.match import Agent
from kibitz.games.views import View
from kibitz.poker.buckets.on_demand import FIRST, OnDemand
from kibitz.poker.rules.cards import cards_of
from kibitz.poker.rules.machine import columns_of
from kibitz.poker.rules.rounds import HALF, Rounds, fits, rounds_of
from kibitz.poker.rules.rows import RowLayout, rows_from

Ints = NDArray[np.int64]


class AtOnce(Agent):
    """A strategy (`kibitz.forms.strategy`) of limit hold'em, from shares in bytes and thresholds of buckets."""

    def __init__(self, game: Any, layout: RowLayout, share: NDArray[np.uint8], buckets: OnDemand, name: str) -> None:
        self.game, self.layout, self.share, self.buckets, self.name = game, layout, share, buckets, name
        self.stride, self.offset = columns_of(layout.rounds)

    def act(self, view: View) -> list[float]:
        row: list[float] = self.rows(view.seat, [view.infoset], view.actions)[0].tolist()
        return row

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[str]) -> NDArray[np.float64]:
        """[infosets, actions]  probabilities."""
        rows = np.zeros((len(infosets), len(actions)))
        groups: dict[tuple[str, str], list[int]] = {}  # hands that see the same board after the same betting
        for number, text in enumerate(infosets):
            cards, _, done = str(text).partition(":")
            groups.setdefault((cards.partition(" ")[2], done), []).append(number)
        for (board, done), numbers in groups.items():
            hands = [str(infosets[k]).partition(":")[0].partition(" ")[0] for k in numbers]
            rows[numbers] = self._shares(player, hands, board, done, len(actions))
        return rows

    def _shares(self, seat: int, hands: list[str], board: str, done: str, width: int) -> NDArray[np.float64]:
        rounds, text = self.layout.rounds, f"{hands[0]} {board}:{done}"
        try:
            word = rounds.word(done)
            shown = tuple(card for group in board.split() for card in cards_of(group))
            private = np.array([cards_of(hand) for hand in hands], np.int64)
        except (KeyError, ValueError):
            raise GameError(f"{text!r} is not an infoset of {self.game.spec}") from None
        node, level = word & ((1 << HALF) - 1), int(rounds.round[word & ((1 << HALF) - 1)])
        dealt = sum(rounds.definition.board[: level + 1])
        if rounds.turn[node] != seat or len(set(shown)) != dealt or private.shape != (len(hands), 2) or \
                np.isin(private, shown).any() or (private[:, 0] == private[:, 1]).any():  # fmt: skip
            raise GameError(f"{text!r} is not an infoset of seat {seat} in {self.game.spec}")
        bucket = self.buckets.of(level, private, shown)
        first = int(self.layout.column[rounds.place(word), seat]) + int(self.offset[node])
        at = first + bucket * int(self.stride[node])
        share = self.share[at[:, None] + np.arange(width)].astype(np.float64)
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0, share / np.maximum(total, 1.0), 1.0 / width)


def at_once(artefact: Artefact, game: Any, name: str) -> AtOnce | None:
    """The agent of a saved blueprint; None if it was saved without the thresholds of its buckets."""
    arrays = artefact.arrays
    if FIRST not in arrays or "share" not in arrays or not fits(game.definition):
        return None
    buckets, plan = OnDemand(arrays), rows_from(artefact.meta["rows"])
    rounds: Rounds = rounds_of(game.definition)
    layout = RowLayout(rounds, plan, [buckets.counts] * len(plan.buckets))
    share = arrays["share"]
    if len(set(plan.buckets)) != 1 or share.shape != (layout.columns,) or share.dtype != np.uint8:
        raise ValueError("its numbers do not fit")
    return AtOnce(game, layout, share, buckets, name)
