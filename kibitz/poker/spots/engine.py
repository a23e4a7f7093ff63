"""What solves a spot: the seam between questions and answers above, and fast arithmetic below.

A `SpotEngine` runs CFR on a spot and measures its average strategy. What it leaves behind is a `SolvedRows`:
strategies and values by betting node, board and the number of a hand (`kibitz.cards.ranges`), whatever their layout in
memory. What ends of betting pay is in `SpotTree.pays`, in chips.

*Counterfactual* values here are sums over the other player's hands of its range, its reach and chips, without any
chance: divided by the weight of the hands that a hand meets there, it is chips. A hand that the board rules out has 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import HANDS
from kibitz.core.errors import ArtefactError, GameError
from kibitz.poker.endgames.subgame import NO_LIMIT_ON_BYTES, Endgame, Left
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.deal import deal_on
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.spots.engine_cpu import MergedEngine, MergedRows
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.spot import Spot, SpotTree, live

Floats = NDArray[np.float64]
ALPHA, GAMMA = 1.5, 4.0  # of dcfr+
MOST_CODE = 65535  # of a probability in 16 bits


class SolvedRows(Protocol):
    """Strategies and values by betting node (of the spot's tree) and board (all its cards so far, in any order after
    the spot's own)."""

    kind: str  # of its arrays, in files: another layout has another name

    def packed(self) -> dict[str, NDArray[np.uint16]]:
        """The strategy as arrays of 16 bits; `rows_of` makes the same of them and of the spot."""
        ...

    def rows(self, node: int, board: Sequence[int]) -> Floats:
        """[actions, 1326]  what the player to act does; columns add up to 1 for all hands that the board leaves."""
        ...

    def root_values(self, seat: int, node: int, board: Sequence[int], best: bool) -> Floats:
        """[1326]  counterfactual values of a player's hands where a street begins: the node is the first of the street,
        whatever its turn. best: at most; else by the player's own strategy."""
        ...


class SpotEngine(Protocol):
    """CFR on one spot."""

    def iterate(self, done: int, count: int) -> None:
        """So many iterations after those that are done."""
        ...

    def gains(self) -> Gains:
        """Of the average strategy."""
        ...

    def answer(self) -> SolvedRows:
        """The average strategy. The engine is not used after that."""
        ...


def rows_of(kind: str, spot: Spot, tree: SpotTree, arrays: dict[str, NDArray[Any]]) -> SolvedRows:
    """Rows from the arrays that `packed` gave, which are checked."""
    if kind == FormRows.kind:
        return FormRows.unpacked(spot, tree, arrays)
    if kind == MergedRows.kind:
        return MergedRows.unpacked(spot, tree, arrays)
    raise ArtefactError(f"it has rows of a kind {kind!r:.40} that is not known here")


def engine_of(spot: Spot, tree: SpotTree, threads: int | None = None, device: str = "cpu") -> SpotEngine:
    """The fastest engine that can solve a spot on a device."""
    if device == "gpu":
        from kibitz.poker.spots.engine_gpu import GpuEngine

        return GpuEngine(spot, tree)
    return MergedEngine(spot, tree, threads)


class SpotForm(Endgame):
    """A spot as a poker form with all hands, each of its own."""

    def __init__(self, spot: Spot, tree: SpotTree) -> None:
        left = tree.betting.definition
        self.root_node, self.first_round, self.spot, self.tree = 0, 0, spot, tree
        rules = Left(left, tree.betting, left.name)
        PokerForm.__init__(self, rules, cards=deal_on(left, spot.board), most_bytes=NO_LIMIT_ON_BYTES)  # type: ignore[arg-type]
        self.numbers = [numbers_of(here.hand) for here in self.cards.rounds]
        self.ranges = live(spot)[:, self.numbers[0]]


def numbers_of(hands: NDArray[np.uint8]) -> NDArray[np.int64]:
    """[n]  the numbers of hands of two cards, the lower first."""
    low, high = hands.astype(np.int64).T
    return np.asarray(high * (high - 1) // 2 + low)


class EndgameEngine:
    """dcfr+ with all hands that the board leaves, in single precision; measures in double precision."""

    def __init__(self, spot: Spot, tree: SpotTree, threads: int | None = None) -> None:
        from kibitz.core.resources import cores
        from kibitz.forms.kernels.cfr import Rule

        if spot.rake or spot.prizes:
            raise GameError("locks are for spots without rake and prizes: leave one of them out")
        self.form = SpotForm(spot, tree)
        self.state = PokerCfrState(self.form, None)
        self.rule = Rule(ALPHA, ALPHA, GAMMA, 0.0, 0.0, 0.0, True)
        self.threads = cores() if threads is None else threads

    def iterate(self, done: int, count: int) -> None:
        self.state.iterate(self.rule, done, count, self.threads)

    def gains(self) -> Gains:
        scale = self.form.tree.unit / self.form.mass
        measure = self.form.measure_weights(self.state.average)
        return Gains(measure.value * scale, measure.best * scale)

    def answer(self) -> SolvedRows:
        return FormRows(self.form, self.state.solution())


class FormRows:
    """Rows of a form with all hands: what they are by betting node and board."""

    kind = "all hands"

    def __init__(self, form: SpotForm, strategy: NDArray[Any]) -> None:
        self.form, self.strategy = form, strategy
        self._boards = [{tuple(sorted(board)): k for k, board in enumerate(here.boards.tolist())}
                        for here in form.cards.rounds]  # fmt: skip
        self._values: dict[tuple[int, bool], Floats] = {}

    def packed(self) -> dict[str, NDArray[np.uint16]]:
        """Probabilities in steps of 1/65535."""
        layout = np.frombuffer(self.form.table.base.tobytes(), np.uint16)
        return {"strategy": np.rint(self.strategy * MOST_CODE).astype(np.uint16), "layout": layout}

    @classmethod
    def unpacked(cls, spot: Spot, tree: SpotTree, arrays: dict[str, NDArray[Any]]) -> FormRows:
        form = SpotForm(spot, tree)
        codes, layout = arrays["strategy"], np.frombuffer(form.table.base.tobytes(), np.uint16)
        if codes.dtype != np.uint16 or codes.shape != (form.sequences,) or not np.array_equal(arrays["layout"], layout):
            raise ArtefactError("its strategy has another layout than the spot")
        return cls(form, codes.astype(np.float32) / np.float32(MOST_CODE))

    def _board(self, level: int, board: Sequence[int]) -> tuple[int, slice]:
        """(number, classes) of a board."""
        number = self._boards[level].get(tuple(sorted(int(card) for card in board)))
        if number is None:
            raise GameError("the board does not continue the board of the spot")
        begins = self.form.cards.rounds[level].board_class
        return number, slice(int(begins[number]), int(begins[number + 1]))

    def places(self, node: int, board: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """([actions, hands] sequences of a decision on a board, [hands] numbers of the hands)."""
        form = self.form
        segment, k = form._where[node]
        level, seat = int(form.levels[segment]), int(form.betting.turn[node])
        _, classes = self._board(level, board)
        first, table = form.first_node(segment), form.table
        children = first + table.children[first + k, : int(table.count[first + k])]
        group, lane = int(form.groups.group[segment]), int(form.groups.lane[segment])
        lanes, width = len(form.groups.lanes[group]), int(table.width[seat, group])
        size = classes.stop - classes.start
        at = width * classes.start + table.action[children].astype(np.int64)[:, None] * size + np.arange(size)
        return int(table.base[seat, group]) + at * lanes + lane, form.numbers[level][classes]

    def rows(self, node: int, board: Sequence[int]) -> Floats:
        sequences, numbers = self.places(node, board)
        rows = np.zeros((len(sequences), HANDS))
        rows[:, numbers] = self.strategy[sequences]
        total = rows.sum(axis=0)
        rows[:, total > 0.0] /= total[total > 0.0]
        return rows

    def root_values(self, seat: int, node: int, board: Sequence[int], best: bool) -> Floats:
        form = self.form
        segment, k = form._where[node]
        if k:
            raise GameError("the node does not begin a street")
        level = int(form.levels[segment])
        _, classes = self._board(level, board)
        if (seat, best) not in self._values:
            self._values[seat, best] = form.look(seat, self.strategy, not best)
        values = np.zeros(HANDS)
        here = self._values[seat, best][form.root_places(segment)[classes]]
        values[form.numbers[level][classes]] = here * (form.tree.unit / form.cards.chance[level])
        return values
