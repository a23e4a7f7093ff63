"""The hands on some boards, as kernels that go board by board read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, pairs
from kibitz.poker.bucketed.weights import ordered, rows_between
from kibitz.poker.buckets.hand_buckets import HandBuckets

Ints = NDArray[np.int64]
Source = HandBuckets | None  # of row numbers; None: all hands have row 0


def hands_on(boards: Boards, hole: int, level: int, shard: list[slice], sources: Sequence[Source]) -> Any:
    """The hands on some boards of a round (`Hands` of whole/kernels/boards.py). shard: by round, the boards that are
    asked for and those before them."""
    here, before = shard[level], shard[max(0, level - 1)]
    return hands_of(boards, hole, level, before, here, boards.rounds[level].above[here] - before.start, sources)


def hands_of(
    boards: Boards, hole: int, level: int, before: Any, here: Any, above: Ints, sources: Sequence[Source]
) -> Any:  # fmt: skip
    """The same of any boards. before, here: indices of boards of the round before and of this; above: which of
    `before` each of `here` continues."""
    from kibitz.poker.whole.kernels.boards import Hands, list_held

    size, live = len(above), boards.live(level)
    hands = pairs(live, hole)
    card = hands[:, [0, hole - 1]].astype(np.uint8)
    up = hands_between(boards, hole, level, before, here, above).astype(np.uint16)
    last = np.full((size, len(hands)), len(hands), np.uint16)

    def rows_of(source: Source, ahead: NDArray[Any] | None = None) -> NDArray[Any]:
        if source is None:
            return np.zeros((size, len(hands)), np.uint32)
        return rows_between(source, level, before, here, lambda: above, ahead)

    if level + 1 < len(boards.rounds):
        cards = np.repeat(card[None], size, axis=0)
        rows = np.stack([rows_of(source) for source in sources])
    else:
        order, first, ahead = ordered(boards, hole, here)
        cards = card[order]
        order = order.astype(np.int64)
        up = np.take_along_axis(up, order, axis=1)
        rows = np.stack([rows_of(source, ahead) for source in sources])
        rows = np.take_along_axis(rows, order[None], axis=2)
        last = _behind(first)
    copies = copies_of(boards, hole, level, here)
    cards = np.ascontiguousarray(cards)
    holding = np.zeros((size, live, live - 1 if hole == 2 else 1), np.uint16)
    list_held(cards, hole == 2, holding, np.zeros(live, np.int64))
    return Hands(
        cards, last, holding, np.ascontiguousarray(up),
        np.ascontiguousarray(rows, np.uint32), copies, np.array([hole], np.int64),
    )  # fmt: skip


def copies_of(boards: Boards, hole: int, level: int, here: Any) -> NDArray[np.float64]:
    """How much each board counts among those that continue the board before."""
    round_ = boards.rounds[level]
    ways = math.comb(len(boards.deck) - 2 * hole - sum(boards.board[:level]), boards.board[level])
    above = boards.rounds[level - 1].total[round_.above[here]] if level else 1
    return np.asarray(round_.total[here] / above / ways, np.float64)


def _behind(tie: NDArray[np.int16]) -> NDArray[np.uint16]:
    """Behind the last hand that is as strong, from the first one that is."""
    hands = tie.shape[1]
    ends = np.full(tie.shape, hands, np.int16)  # where a strength ends, at its last hand
    change = tie[:, 1:] != tie[:, :-1]
    at = np.broadcast_to(np.arange(1, hands, dtype=np.int16), change.shape)
    ends[:, :-1] = np.where(change, at, hands)
    behind: NDArray[np.int16] = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return np.ascontiguousarray(behind, np.uint16)


def hands_before(boards: Boards, hole: int, level: int, shard: list[slice]) -> Ints:
    """[boards, hands]  the hand on the board before."""
    here, before = shard[level], shard[max(0, level - 1)]
    return hands_between(boards, hole, level, before, here, boards.rounds[level].above[here] - before.start)


def hands_between(boards: Boards, hole: int, level: int, before: Any, here: Any, above: Ints) -> Ints:
    """The same of any boards. before, here: indices of boards of the round before and of this; above: which of
    `before` each of `here` continues."""
    from kibitz.cards.kernels.hands import lift

    hands = boards.hands(level, hole)
    cards = boards.rounds[level].cards[here]
    if not level or not boards.board[level]:
        return np.repeat(np.arange(hands)[None], len(cards), axis=0)
    upper, wide = boards.rounds[level - 1].cards[before], boards.hands(level - 1, hole)
    table = np.repeat(np.arange(wide, dtype=np.int64)[None], len(upper), axis=0)
    hands_above = np.empty((len(cards), hands), np.int64)
    lift(above, cards, table, np.ascontiguousarray(upper), boards.tables(hole), hands_above)
    return hands_above


@lru_cache(64)
def renamed(boards: Boards, hole: int, level: int, board: int) -> Ints:
    """[renamings that leave a board alone, hands]  what each makes of a hand."""
    names, _ = renamings_of(boards, hole, level, slice(board, board + 1))
    return names.astype(np.int64) if len(names) else np.arange(boards.hands(level, hole))[None]


def renamings_of(boards: Boards, hole: int, level: int, here: slice) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """([renamings that leave a board alone, hands] what each makes of a hand; [boards + 1] where those of a board
    begin). A board that only one leaves alone has none."""
    from kibitz.cards.kernels.hands import list_renamed

    of = boards.rounds[level]
    count = np.bitwise_count(of.group[here].astype(np.uint64)).astype(np.int64)
    begin = np.concatenate([[0], np.cumsum(np.where(count > 1, count, 0))])
    names = np.empty((int(begin[-1]), boards.hands(level, hole)), np.uint16)
    if len(names):
        list_renamed(np.ascontiguousarray(of.cards[here]), of.group[here], boards.tables(hole), names)
    return names, begin.astype(np.int32)
