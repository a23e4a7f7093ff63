"""Frozen rows on a poker form: which infosets are trainable, and what the others play (as `forms.rows` on trees).

A frozen row acts as chance. With perfect recall that needs no kernel of its own. What a seat's own frozen moves
contribute to the reach of an infoset is one number for all its histories, and neither regret matching nor a normalised
average looks at such a number; in the values of rows above it is there already. So a frozen row is one that regret
matching cannot move: its regrets are its probabilities times HUGE, beside which all that is learnt is nothing.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.protocol import Measure
from kibitz.poker.exact.decisions import Decisions
from kibitz.poker.exact.operator import PokerOperator

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

HUGE = 1e30  # far above any regret, far below the largest float32
RENEW = 16  # frozen regrets are renewed after so many iterations, as discounts and rounding wear them down


class MaskedRows:
    """Which infosets of a form are trainable; the others are frozen at a base. I infosets, K columns, S sequences."""

    mark = b"poker rows 1\0"  # before the fingerprint

    def __init__(self, form: Any, moves: Bools, base: Floats) -> None:
        if moves.shape != (form.points,) or base.shape != (form.columns,):
            raise SolverError(f"a mask has {form.points:,} infosets, and a base {form.columns:,} probabilities")
        self.form, self.moves, self.base = form, moves, base
        self.frozen = form.to_strategy(np.repeat(~moves, form.infosets.width).astype(np.float64)) > 0.5  # [S]
        self.frozen[form.seat_sequence[:-1]] = False
        self.held: Floats = form.to_strategy(base)  # [S]

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the mask, and of the base where it is read: checkpoints are compared with it."""
        content = hashlib.sha256(self.mark + self.moves.tobytes())
        content.update(np.where(self.frozen, self.held, 0.0).tobytes())
        return content.hexdigest()

    def columns_of(self, strategy: Floats) -> Floats:
        """A strategy by sequence -> by infoset column, with the base to the last bit."""
        return np.where(np.repeat(self.moves, self.form.infosets.width), self.form.by_column(strategy), self.base)


class PokerRows(MaskedRows):
    """Trainable infosets of a poker form."""

    def __init__(self, form: PokerOperator, moves: Bools, base: Floats) -> None:
        if form.buckets is not None:
            raise SolverError("rows of buckets are not frozen one by one: freeze those of the game itself")
        super().__init__(form, moves, base)

    def hold(self, regret: NDArray[Any], strategy: NDArray[Any]) -> None:
        """Make frozen rows what regret matching cannot move."""
        strategy[self.frozen] = self.held[self.frozen]
        regret[self.frozen] = self.held[self.frozen] * HUGE

    def filled(self, weights: NDArray[Any]) -> Floats:
        """Weights by sequence -> the strategy by sequence: the base where rows are frozen, else the weights' shares."""
        strategy = np.empty(self.form.sequences)
        self.form._normalise(weights, strategy)
        strategy[self.frozen] = self.held[self.frozen]
        return strategy

    def probabilities(self, weights: NDArray[Any]) -> Floats:
        """The same by infoset column."""
        return self.columns_of(self.filled(weights))

    @cached_property
    def _trees(self) -> tuple[Decisions, Decisions]:
        return Decisions(self.form, 0), Decisions(self.form, 1)

    def measure(self, weights: NDArray[Any]) -> Measure:
        """Values and best responses in the game in which frozen rows are chance: only trainable infosets respond."""
        form, strategy = self.form, self.filled(weights)
        plan = form.plan(strategy)
        value, best = np.zeros(2), np.zeros(2)
        for seat in (0, 1):
            lo, hi = form.seat_sequence[seat : seat + 2]
            worth = np.zeros(form.sequences)
            form._gradient(seat, plan, worth)
            value[seat] = plan[lo:hi] @ worth[lo:hi]
            best[seat] = self._respond(seat, worth)
        return Measure(value, best, max(0.0, float((best - value).sum())))

    def _respond(self, seat: int, worth: Floats) -> float:
        """The most that a seat gets with its trainable infosets. `worth`, a gradient, is written over."""
        tree = self._trees[seat]
        for segment, k in tree.nodes(up=True):
            after = tree.after(segment, k)
            here = worth[after]
            frozen = self.frozen[after[0]]
            most = np.where(frozen, (self.held[after] * here).sum(axis=0), here.max(axis=0))
            np.add.at(worth, tree.before(segment, k), most)
        return float(worth[self.form.seat_sequence[seat]])

    def reached(self) -> Bools:
        """[I] infosets that frozen moves let play come to; nothing is learnt of the others."""
        form = self.form
        reached = np.ones(form.points, bool)
        if (self.held[self.frozen] > 0.0).all():
            return reached
        plan = form.plan(np.where(self.frozen, self.held, 1.0)) > 0.0
        by_sequence = np.ones(form.sequences)
        for seat in (0, 1):
            own, other = self._trees[seat], self._trees[1 - seat]
            for segment, k in own.nodes():
                level = int(form.levels[segment])
                comes = plan[own.before(segment, k)] & _meets(form, level, plan[other.before(segment, k)])
                by_sequence[own.after(segment, k)] = comes
        first = form.infosets.first[:-1]
        reached[:] = form.by_column(by_sequence)[first] > 0.5
        return reached


def _meets(form: PokerOperator, level: int, classes: Bools) -> Bools:
    """[C] whether a hand of each class can meet one of some classes: on its board, with none of its own cards."""
    cards = form.cards.rounds[level]
    board = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
    wanted = classes[cards.hand_class].astype(np.int64)
    on_board = np.bincount(board, wanted, len(cards.boards)).astype(np.int64)
    with_card = np.zeros((len(cards.boards), 52), np.int64)
    for each in range(cards.hands.shape[1]):
        np.add.at(with_card, (board, cards.hands[:, each]), wanted)
    left = on_board[board] - with_card[board[:, None], cards.hands].sum(axis=1)
    if cards.hands.shape[1] == 2:
        left += wanted  # the very hand was taken off twice
    meets = np.zeros(cards.classes, bool)
    meets[cards.hand_class] = left > 0
    return meets
