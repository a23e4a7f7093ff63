"""The strength of all hands on all boards of a poker game, as integers (in the order of `Boards`).

*Ahead* is what a hand on a board of the last round has against a random hand: twice the hands that it beats plus those
that it ties. E[HS] and E[HS²] of a round are sums of it, and of its square, over all boards that can still come. Being
whole numbers they are the same, to the bit, for hands that differ by a renaming of suits. For Texas hold'em they come
from the tables of `recipes.py`; any other game is gone through board by board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, boards_of, pairs
from kibitz.cards.isomorphism import Indexer
from kibitz.cards.recipes import class_of, recipe
from kibitz.cards.tables import Arrays, opened
from kibitz.core.errors import GameError
from kibitz.core.executor import current
from kibitz.core.pieces import Piece
from kibitz.core.resources import cores

Ints = NDArray[np.int64]
Table = NDArray[Any]
Values = Callable[[NDArray[np.uint8]], Ints]  # hands with their boards [n, cards] -> their values
Heard = Callable[[int, int], None]  # a callback: pieces done, of how many
Tell = Callable[[str, int, int], None]  # the same, and what the pieces are of

HANDS_AT_ONCE = 1 << 21  # hands of the last round in one piece of work
HOLD_EM = (13, 4, (0, 3, 1, 1), 2)
METRICS = {"ehs": 1, "ehs2": 2}  # the power of strength whose mean is taken


@dataclass(frozen=True, eq=False)
class HandStrengths:
    """All hands on the boards of a game. B boards of a round, H hands on each."""

    boards: Boards
    hole: int
    values: Values  # for games whose hands have not five to seven cards, two of them private

    def __post_init__(self) -> None:
        if self.hole not in (1, 2):
            raise GameError(f"hands of {self.hole} private cards are not supported: only 1 or 2")

    @property
    def last(self) -> int:
        return len(self.boards.rounds) - 1

    @cached_property
    def met(self) -> int:
        """Hands that a hand meets at the showdown."""
        return math.comb(self.boards.live(self.last) - self.hole, self.hole)

    @property
    def top(self) -> int:
        """How far ahead a hand is that beats all."""
        return 2 * self.met

    def shape(self, level: int) -> tuple[int, int]:
        return len(self.boards.rounds[level].cards), self.boards.hands(level, self.hole)

    def run_outs(self, level: int) -> int:
        """Ways to complete the board, for a hand in a round."""
        left, ways = self.boards.live(level) - self.hole, 1
        for new in self.boards.board[level + 1 :]:
            ways *= math.comb(left, new)
            left -= new
        return ways

    @cached_property
    def gone(self) -> np.uint64:
        """Cards that are not in the deck, as masks of ranks."""
        return np.uint64(sum(1 << (card // 4 + card % 4 * 16) for card in range(52) if self.boards.place[card] < 0))

    # Strength

    def ahead(self, part: slice | Ints) -> NDArray[np.uint16]:
        """[boards, H]  how far ahead hands are, on some boards of the last round."""
        from kibitz.cards.kernels.hands import ahead_of_pairs, ahead_of_values
        from kibitz.cards.kernels.strength import workspace

        cards = np.ascontiguousarray(self.boards.rounds[-1].cards[part])
        hands = self.boards.hands(self.last, self.hole)
        ahead = np.empty((len(cards), hands), np.uint16)
        if self.hole == 2 and 3 <= sum(self.boards.board) <= 5:
            ahead_of_pairs(cards, self.gone, ahead, workspace())
            return ahead
        places = pairs(self.boards.live(self.last), self.hole)
        for n, board in enumerate(cards):
            private = np.setdiff1d(self.boards.deck, board)[places]
            whole = np.concatenate((private, np.broadcast_to(board, (hands, len(board)))), axis=1)
            ahead_of_values(self.values(whole)[None], places, ahead[n : n + 1])
        return ahead

    def pieces(self, level: int) -> list[slice]:
        """Boards of a round cut so that what continues each cut, in the round after, is a piece of work."""
        count, after = len(self.boards.rounds[level].cards), level + 1
        if after > self.last:
            step = max(1, HANDS_AT_ONCE // self.shape(level)[1])
            return [slice(at, min(at + step, count)) for at in range(0, count, step)]
        below, hands = self.boards.rounds[after].below, self.shape(after)[1]
        most = max(1, HANDS_AT_ONCE // hands)
        cuts = [0]
        while cuts[-1] < count:
            end = int(np.searchsorted(below, below[cuts[-1]] + most, "right")) - 1
            cuts.append(min(count, max(cuts[-1] + 1, end)))
        return [slice(a, b) for a, b in pairwise(cuts)]

    def children(self, level: int, part: slice) -> slice:
        """The boards of the next round that continue some boards."""
        below = self.boards.rounds[level + 1].below
        return slice(int(below[part.start]), int(below[part.stop]))

    def family(self, level: int, part: slice) -> Any:
        """Some boards of a round, and those of the next that continue them."""
        from kibitz.cards.kernels.hands import BoardFamily

        upper, lower = self.boards.rounds[level], self.boards.rounds[level + 1]
        inside = self.children(level, part)
        return BoardFamily(upper.cards[part], upper.group[part], lower.below[part.start : part.stop + 1],
                           lower.cards[inside], inside.start)  # fmt: skip

    # Means over the boards that can still come

    def metric(self, level: int, name: str = "ehs2", heard: Heard | None = None) -> Table:
        """[B, H]  the sum over all boards that can still come of `ahead`, or of its square: uint32 or uint64."""
        power = METRICS[name]
        if self._in_tables(level):
            return self._looked_up(level, power)
        return self._summed(level, power, heard)

    def scale(self, level: int, name: str) -> float:
        """What a metric is divided by to be a mean of strengths from 0 to 1."""
        ways = self.run_outs(level)
        if self._in_tables(level):  # where the order of the cards to come does not count
            ways = math.comb(self.boards.live(level) - self.hole, sum(self.boards.board[level + 1 :]))
        return float(self.top) ** METRICS[name] * ways

    def _in_tables(self, level: int) -> bool:
        game = self.boards.ranks, self.boards.suits, self.boards.board, self.hole
        return game == HOLD_EM and level < self.last

    def _looked_up(self, level: int, power: int) -> Table:
        from kibitz.cards.kernels.hands import look_up
        from kibitz.cards.kernels.strength import workspace

        shape = self.shape(level)
        if level == 0:
            number = class_of().astype(np.int64)  # of hands a < b at b (b - 1) / 2 + a
            sizes = np.bincount(number, minlength=169).astype(np.uint64)
            low, high = pairs(52, 2).T
            classes: Table = _figures(opened(recipe("preflop")), power).astype(np.uint64) // sizes
            return np.asarray(classes[number[high * (high - 1) // 2 + low]][None])
        figures = _figures(opened(recipe("flop" if level == 1 else "turn")), power)
        plan = Indexer([2, sum(self.boards.board[: level + 1])])._plan
        out = np.empty(shape, np.uint32)
        cards = self.boards.rounds[level].cards

        def fill(part: slice) -> None:
            look_up(cards[part], self.gone, plan, figures, out[part], workspace())

        run(fill, [slice(at, at + 256) for at in range(0, shape[0], 256)])
        return out

    def _summed(self, level: int, power: int, heard: Heard | None) -> Table:
        from kibitz.cards.kernels.hands import add_values

        if level == self.last:
            whole = np.empty(self.shape(level), np.uint32)

            def copy(part: slice) -> None:
                whole[part] = self.ahead(part).astype(np.uint32) ** power

            run(copy, self.pieces(level), heard)
            return whole
        values: Table | None = None
        for at in range(self.last - 1, level - 1, -1):
            out, below = np.zeros(self.shape(at), np.uint64), values

            def add(part: slice, at: int = at, out: Table = out, below: Table | None = below) -> None:
                inside = self.children(at, part)
                here = self.ahead(inside).astype(np.uint64) ** np.uint64(power) if below is None else below[inside]
                add_values(self.family(at, part), here, self.boards.tables(self.hole), out[part])

            run(add, self.pieces(at), heard)
            values = out
        assert values is not None
        return values

    # Between rounds

    def lifted(self, level: int, table: Table, part: slice | None = None) -> Table:
        """[boards, H]  what a table of the round before says of hands on boards of a round."""
        from kibitz.cards.kernels.hands import lift

        here, upper = self.boards.rounds[level], self.boards.rounds[level - 1].cards
        whole = slice(0, len(here.cards)) if part is None else part
        out = np.empty((whole.stop - whole.start, self.shape(level)[1]), table.dtype)

        def fill(piece: slice) -> None:
            at = slice(whole.start + piece.start, whole.start + piece.stop)
            lift(here.above[at], here.cards[at], table, upper, self.boards.tables(self.hole), out[piece])

        run(fill, [slice(a, min(a + 512, len(out))) for a in range(0, len(out), 512)])
        return out

    def histogram(self, context: Table, contexts: int, heard: Heard | None = None) -> Ints:
        """[contexts, top + 1]  how many deals of each context of hands, in the round before the last, come how far
        ahead in the last; in a game of one round, of all."""
        from kibitz.cards.kernels.hands import add_histogram

        level = self.last - 1
        here = self.boards.rounds[-1]
        counts = np.zeros((contexts, self.top + 1), np.int64)
        if level < 0:
            for part in self.pieces(0):
                np.add.at(counts[0], self.ahead(part), here.total[part][:, None])
            return counts
        upper = self.boards.rounds[level].cards
        pieces = self.pieces(level)
        step = max(1, len(pieces) // 128)  # several with one histogram, which may be larger than they are

        def count(some: slice) -> Ints:
            mine, tables = np.zeros_like(counts), self.boards.tables(self.hole)
            for part in pieces[some]:
                inside = self.children(level, part)
                lower = here.above[inside], here.total[inside], here.cards[inside]
                add_histogram(*lower, self.ahead(inside), context, upper, tables, mine)
            return mine

        for some in over(count, [slice(at, at + step) for at in range(0, len(pieces), step)], heard):
            counts += some
        return counts

    def classes(self, level: int) -> tuple[int, Table]:
        """(how many, [B, H] their numbers) the lossless classes: hands that a renaming which leaves the board alone
        turns into one another; in the last round, with hands of one card, also those that were one before and are as
        strong (as in `poker/exact/deal.py`)."""
        from kibitz.cards.kernels.hands import number_classes

        here = self.boards.rounds[level]
        number = np.empty(self.shape(level), np.uint32)
        count = int(number_classes(here.cards, here.group, self.boards.tables(self.hole), number))
        if self.hole == 1 and level == self.last:
            # Before the first round all hands were one.
            before = self.lifted(level, self.classes(level - 1)[1]).astype(np.int64) if level else np.zeros(1, np.int64)
            ahead = self.ahead(slice(0, len(number))).astype(np.int64)
            board = np.arange(len(number))[:, None]
            key = (board * (int(before.max()) + 1) + before) * (self.top + 1) + ahead
            kinds, merged = np.unique(key, return_inverse=True)
            return len(kinds), merged.reshape(number.shape).astype(np.uint32)
        return count, number


def heard_as(tell: Tell | None, what: str) -> Heard | None:
    """The callback for the pieces of one thing."""
    return None if tell is None else lambda done, of: tell(what, done, of)


def strengths_of(ranks: int, suits: int, board: tuple[int, ...], hole: int, values: Values) -> HandStrengths:
    return HandStrengths(boards_of(ranks, suits, board), hole, values)


def _figures(table: Arrays, power: int) -> Table:
    """A table of strengths by number as sums of `ahead` or of its square."""
    if power == 2:
        return np.ascontiguousarray(table["squares"])
    wide = np.int64 if table["wins"].dtype.itemsize > 4 else np.uint32
    return np.asarray(2 * table["wins"].astype(wide) + table["ties"].astype(wide))


def run(
    work: Callable[[slice], Any], parts: list[slice], heard: Heard | None = None, threads: int | None = None
) -> None:
    """Work on parts that share nothing, on all cores."""
    for _ in over(work, parts, heard, threads):
        pass


def each(work: Callable[[int], Any], count: int, heard: Heard | None = None, threads: int | None = None) -> list[Any]:
    """The results of work on 0, 1, ... below `count`, on all cores."""
    return list(over(lambda part: work(part.start), [slice(k, k + 1) for k in range(count)], heard, threads))


def each_call(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], heard: Heard | None = None) -> list[Any]:
    """function(*arguments) of each call, in their order: on all cores, or on the nodes of the executor in force."""
    executor = current()
    if not executor.elsewhere:
        return each(lambda k: function(*calls[k]), len(calls), heard)
    told = None if heard is None else lambda done, of, seconds: heard(done, of)
    answers = dict(executor.map(function, [Piece(arguments) for arguments in calls], on_progress=told))
    return [answers[number] for number in range(len(calls))]


def over(
    work: Callable[[slice], Any], parts: list[slice], heard: Heard | None = None, threads: int | None = None
) -> Iterator[Any]:
    """The results of work on parts, in order; not more of them wait than there are threads, by default all cores."""
    threads = min(threads or cores(), len(parts))
    if threads < 2:
        for done, part in enumerate(parts):
            yield work(part)
            if heard is not None:
                heard(done + 1, len(parts))
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Any] = []
        try:
            for done, part in enumerate(parts):
                waiting.append(pool.submit(work, part))
                if len(waiting) > 2 * threads:
                    yield waiting.pop(0).result()
                if heard is not None:
                    heard(max(0, done + 1 - len(waiting)), len(parts))
            for later in waiting:
                yield later.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    if heard is not None:
        heard(len(parts), len(parts))
