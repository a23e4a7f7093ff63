"""EndgamePasses: the compiled passes over an endgame, strategies and ranges by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.core.threads import together
from kibitz.toepen.endgame_layout import EndgameLayout
from kibitz.toepen.endgame_rows import Rows, rows_of
from kibitz.toepen.endgame_spot import Spot

if TYPE_CHECKING:
    from kibitz.toepen.kernels.endgame_plan import Lower, Upper

Floats = NDArray[np.float64]

TINY = 1e-30  # regrets below it do not tell actions apart


class EndgamePasses(EndgameLayout):
    """What solving and measuring an endgame are made of."""

    def rows(self) -> Rows:
        """A description of every row with a choice; see `Rows`."""
        return rows_of(self)

    def locate(self, public: Sequence[str | int]) -> Spot:
        """Where play stands after what was said and played since the endgame began.

        Words are check, bet, call, fold; cards are names ("9h") or numbers (suit * 8 + rank). A check that is forced
        may be left out.
        """
        spot = Spot(self)
        for action in public:
            spot.take(action)
        return spot

    def _upper(
        self, ranges: Floats, strategy: Floats, average: Floats | None = None, gadget: Floats | None = None,
        solving: bool = False, threads: int = 1,
    ) -> Upper:  # fmt: skip
        """Tables of nodes; `ranges` and `gadget` are by hand."""
        from kibitz.toepen.kernels.endgame_plan import TEMPORARIES, Upper

        columns = len(strategy) if solving else 0
        width = int(self._deck.size.sum()) + 16
        return Upper(
            np.zeros(columns), strategy, np.zeros(columns) if average is None else average,
            np.zeros(2 * self._places + threads * TEMPORARIES * width), self._places, 2 * self._places, width,
            self._inside(ranges), np.zeros((0, 0)) if gadget is None else self._inside(gadget),
        )  # fmt: skip

    def _lower(
        self, strategy: NDArray[Any], average: NDArray[Any] | None = None, solving: bool = False, threads: int = 1
    ) -> Lower:  # fmt: skip
        """Tables of batches, of the strategy's type."""
        from kibitz.toepen.kernels.endgame_plan import TEMPORARIES, Lower

        dtype, columns = strategy.dtype, len(strategy) if solving else 0
        width = int(self._plan.batch[:, 4].max()) * self._deck.lanes + 16
        number = np.arange(64).astype(dtype)
        number[63] = TINY
        return Lower(
            np.zeros(columns, dtype), strategy, np.zeros(columns, dtype) if average is None else average,
            np.zeros(threads * TEMPORARIES * width, dtype), width, number,
        )  # fmt: skip

    def _passes(
        self, upper: Upper, lower: Lower, weights: Floats, own: int, other: int, seats: int = 3, scale: float = 0.0,
        declines: int = -1, threads: int = 1,
    ) -> Floats:  # fmt: skip
        """Run the kernel; returns the counterfactual values of the last pass by hand."""
        from kibitz.core.barrier import gate_of
        from kibitz.toepen.kernels.endgame import passes
        from kibitz.toepen.kernels.endgame_plan import UPDATE

        gate = gate_of(threads)
        none = self._lower(np.zeros(0, np.float64 if own == UPDATE else np.float32))
        fast, exact = (lower, none) if own == UPDATE else (none, lower)

        def work(thread: int) -> None:
            passes(
                weights, own, other, seats, scale, declines, self._deck, self._plan, upper, fast, exact,
                thread, threads, gate,
            )  # fmt: skip

        together(work, threads)
        found: Floats = upper.x[self._places :][self._order]
        return found

    def _measure(
        self, ranges: Floats, strategy: Floats, seat: int, own: int, other: int = 0, weight: float = 0.0,
        average: Floats | None = None,
    ) -> Floats:  # fmt: skip
        """One exact pass for a seat; the strategy and the average are changed in place."""
        cut = self._cut
        parts = (None, None) if average is None else (average[:cut], average[cut:])
        upper, lower = self._upper(ranges, strategy[:cut], parts[0]), self._lower(strategy[cut:], parts[1])
        return self._passes(upper, lower, np.array([weight]), own, other, 1 << seat)

    def _inside(self, values: ArrayLike) -> Floats:
        """Vectors over `hands` as vectors over the first space."""
        given = np.asarray(values, np.float64)
        result = np.zeros((*given.shape[:-1], int(self._deck.size[self.cards_each])))
        result[..., self._order] = given
        return result

    def _vector(self, values: ArrayLike, what: str) -> Floats:
        result = np.asarray(values, np.float64)
        if result.shape != self.hands.shape:
            raise SolverError(f"{what} has {len(self.hands):,} entries, one for each hand; got {result.shape}")
        if not np.isfinite(result).all():
            raise SolverError(f"{what} has entries that are not finite numbers")
        return result

    def compatible(self, weights: ArrayLike) -> Floats:
        """For each hand the sum of the other seat's weights over the hands that share no card with it."""
        weights = np.asarray(weights, np.float64)
        result = np.full(len(self.hands), weights.sum())
        cards = [card for card in self._card if card >= 0]
        holds = np.stack([self.hands >> card & 1 for card in cards]).astype(np.float64)
        single = holds @ weights
        result -= single @ holds
        if self.cards_each > 1:
            pairs = (holds * weights) @ holds.T
            np.fill_diagonal(pairs, 0.0)
            result += np.einsum("ch,cd,dh->h", holds, pairs, holds, optimize=True) / 2
        if self.cards_each > 2:
            result -= weights
        clipped: Floats = np.maximum(result, 0.0)
        return clipped

    def ranges(
        self,
        range0: ArrayLike,
        range1: ArrayLike,
        floor: float = 0.0,
        possible: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    ) -> Floats:
        """Both ranges as they are used: [2, hands], each summing to 1.

        A hand of weight 0 is impossible, unless `possible` (true for each hand that a seat may hold) says otherwise.
        `floor` is the share of each range that is spread evenly over the possible hands. Where all weights of a seat
        are 0, or no two hands of both ranges go together, ranges are even over possible hands, or else over all.
        """
        if not 0.0 <= floor <= 1.0:
            raise SolverError(f"floor={floor}: a share from 0 to 1")
        found = [self._vector(x, f"range{seat}") for seat, x in enumerate((range0, range1))]
        if any((x < 0).any() for x in found):
            raise SolverError("weights of a range are 0 or more")
        can = []
        for seat, x in enumerate(found):
            given = possible[seat]
            mask = x > 0 if given is None else np.asarray(given, bool) | (x > 0)
            can.append(mask if mask.any() else np.ones(len(x), bool))
        even = np.stack([mask / mask.sum() for mask in can])
        result = np.stack([x / x.sum() if x.sum() > 0 else even[seat] for seat, x in enumerate(found)])
        result = (1.0 - floor) * result + floor * even
        for candidate in (result, even, np.full_like(even, 1.0 / len(self.hands))):
            if candidate[0] @ self.compatible(candidate[1]) > 1e-12:
                return candidate
        raise GameError("no two hands go together")  # cannot be: there are cards for two hands

    def uniform(self) -> Floats:
        """The strategy that is even over legal actions, but bets with the card that wins the last trick."""
        from kibitz.toepen.kernels.endgame_plan import uniform

        strategy = np.empty(self.columns)
        uniform(self._deck, self._plan, strategy[: self._cut], strategy[self._cut :])
        return strategy

    def _strategy(self, strategy: ArrayLike) -> Floats:
        result = np.asarray(strategy, np.float64)
        if result.shape != (self.columns,):
            raise SolverError(f"a strategy of this endgame has {self.columns:,} columns; got {result.shape}")
        return result

    def _values(self, strategy: Floats, ranges: Floats, own: int, seats: int) -> list[Floats]:
        """Counterfactual values by hand, for each seat that `seats` has the bit of."""
        return [self._measure(ranges, strategy, seat, own) for seat in range(2) if seats >> seat & 1]
