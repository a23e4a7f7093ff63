"""How a poker machine finds rows: kinds of views, and buckets of hands as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import renamings
from kibitz.poker.buckets.hand_buckets import HandBuckets

if TYPE_CHECKING:
    from kibitz.poker.rules.kernels.buckets import PokerView

Words = NDArray[np.uint64]
RIVER_CARDS = 7  # of hold'em, two of them private


def plain_view(kind: int) -> PokerView:
    """A view without buckets. All views have one type, so that kernels are compiled once."""
    from kibitz.poker.rules.kernels.buckets import PokerView

    return PokerView(
        np.int64(kind), np.zeros(1, np.uint64), np.zeros(1, np.uint16), np.zeros(1, np.uint32), _read_only(),
        np.zeros(1, np.uint64), np.zeros(1, np.uint64), np.zeros((1, 1), np.int64),
    )  # fmt: skip


def bucket_view(buckets: HandBuckets) -> PokerView:
    """A view in which a row is a betting node and a bucket."""
    from kibitz.poker.rules.kernels import buckets as at

    boards, hole, rounds = buckets.boards, buckets.hole, buckets.rounds
    shown = np.cumsum(boards.board).tolist()
    head = np.zeros(at.HEAD, np.uint64)
    pieces, size = [head], at.HEAD
    narrow: list[NDArray[Any]] = [np.zeros(0, np.uint16)]
    wide: list[NDArray[Any]] = [np.zeros(0, np.uint32)]
    river, memo = _read_only(), 0

    def add(array: NDArray[Any]) -> int:
        """The place of an array in `words`."""
        nonlocal size
        pieces.append(array.astype(np.uint64))
        size += len(array)
        return size - len(array)

    bits = max(1, (max(buckets.counts) - 1).bit_length())
    last = rounds[-1]
    names = renamings(boards.suits)[:, :4].astype(np.uint64)  # of the deuces
    head[[at.HOLE, at.RENAMINGS, at.BITS]] = hole, len(names), bits
    head[at.RECALL] = len(rounds) > 1 and bool((last.parent >= 0).all())
    head[int(at.RENAME) : int(at.RENAME) + len(names)] = (names << np.array([0, 2, 4, 6], np.uint64)).sum(axis=1)
    head[int(at.PLACE) :] = np.where(boards.place < 0, at.NOWHERE, boards.place.astype(np.uint64))
    for level, of in enumerate(rounds):
        row, board, before = int(at.ROUNDS) + 8 * level, boards.rounds[level], shown[level - 1] if level else 0
        facts: dict[Any, Any] = {}
        if shown[level] > before:
            facts[at.KEYS], facts[at.BELOW] = add(_sets(board.cards[:, before:])), add(board.below)
        if of.table is not None:
            facts[at.KIND] = at.WIDE if of.table.dtype.itemsize > 2 else at.NARROW
            table = wide if facts[at.KIND] == at.WIDE else narrow
            facts[at.TABLE] = sum(map(len, table))
            table.append(np.asarray(of.table, table[0].dtype).ravel())
        elif hole + shown[level] == RIVER_CARDS and len(boards.deck) == 52:
            from kibitz.cards.recipes import recipe
            from kibitz.cards.tables import opened

            facts[at.KIND], river, head[at.PLAN] = at.RIVER, opened(recipe("river"))["ahead"], add(_river_plan())
        else:
            facts[at.KIND] = at.COUNTED
        facts[at.SHOWN], facts[at.HANDS] = shown[level], boards.hands(level, hole)
        facts[at.LIVE], facts[at.MEMO] = boards.live(level), at.NOWHERE
        if 6 * (hole + shown[level]) + bits <= 64:
            facts[at.MEMO], memo = memo, memo + (1 << at.SLOT_BITS)
        for place, value in facts.items():
            head[row + int(place)] = value
    if last.least is not None:
        head[at.FIRST], head[at.LEAST] = add(last.first), add(last.least)
    return at.PokerView(
        np.int64(at.BUCKETS), np.concatenate(pieces), np.concatenate(narrow), np.concatenate(wide), river,
        np.full(max(1, memo), at.NOWHERE), np.zeros(1, np.uint64), np.zeros((1, 1), np.int64),
    )  # fmt: skip


def mixed_view(
    every: Sequence[HandBuckets], of_place: NDArray[Any], column: NDArray[np.int64] | None = None
) -> PokerView:
    """A view in which each place of the betting has buckets of its own. of_place: [places] which; column: [places,
    seats] where their rows begin, if they are not hashed."""
    from kibitz.poker.rules.kernels import buckets as at

    views = [bucket_view(buckets) for buckets in every]
    begins, sizes = np.zeros(len(views), np.uint64), np.zeros(3, np.uint64)
    for k, view in enumerate(views):
        begins[k] = sum(len(before.words) for before in views[:k])
        for level in range(len(every[k].rounds)):
            row = int(at.ROUNDS) + 8 * level
            kind = view.words[row + int(at.KIND)]
            if kind in (at.NARROW, at.WIDE):
                view.words[row + int(at.TABLE)] += sizes[int(kind == at.WIDE)]
            if view.words[row + int(at.MEMO)] != at.NOWHERE:
                view.words[row + int(at.MEMO)] += sizes[2]
        sizes += np.array([len(view.narrow), len(view.wide), len(view.memo)], np.uint64)
    words, narrow, wide, memo = (
        np.concatenate([getattr(view, what) for view in views]) for what in ("words", "narrow", "wide", "memo")
    )
    river = max((view.river for view in views), key=len)
    column = np.zeros((1, 1), np.int64) if column is None else column
    start = begins[np.asarray(of_place, np.int64)] if len(views) > 1 else np.zeros(1, np.uint64)
    return at.PokerView(np.int64(at.BUCKETS), words, narrow, wide, river, memo, start, column)


def dealt_view(view: PokerView, game: Any) -> Any:
    """A view of buckets for walks on a GPU, which look up all buckets of a deal at once; another view as it is."""
    from kibitz.poker.rules.kernels import buckets as at
    from kibitz.poker.rules.kernels.machine import BEGIN, ROUND, TURN

    if view.kind < at.BUCKETS:
        return view
    seats, first = int(game.seats), len(game.node) if len(game.instance) == 1 else int(game.early)
    nodes = np.concatenate([np.arange(first), game.instance[1:, BEGIN]])  # by place: one at which somebody acts
    rounds = np.where(game.node[nodes, TURN] < 0, 0, game.node[nodes, ROUND]).astype(np.uint64)
    start = view.start if len(view.start) > 1 else np.broadcast_to(view.start, len(rounds))
    kinds, number = np.unique(np.stack([start, rounds], axis=1), axis=0, return_inverse=True)
    place = (number.reshape(-1, 1) * seats).astype(np.int64)
    if len(view.column) > 1:
        place = np.concatenate([view.column, place], axis=1)
    return at.DealtView(view, kinds, np.ascontiguousarray(place), np.zeros(len(kinds) * seats, np.uint32))


def seen_cards(cards: NDArray[np.integer]) -> Words:
    """[n]  private and board cards [n, cards] as kernels take them."""
    words = np.zeros(len(cards), np.uint64)
    for k, column in enumerate(cards.T):
        words |= column.astype(np.uint64) << np.uint64(6 * k)
    return words


def _sets(cards: NDArray[np.uint8]) -> Words:
    """Sets of cards as words that compare as their cards in order do."""
    bits = np.uint64(1 << 63) >> cards.astype(np.uint64)
    return np.asarray(~np.bitwise_or.reduce(bits, axis=1))


def _river_plan() -> Words:
    """How many configurations of suits there are on the river; numbers of the patterns; keys; first numbers."""
    from kibitz.cards.isomorphism import Indexer

    plan = Indexer([2, RIVER_CARDS - 2])._plan
    return np.concatenate(([len(plan.key)], plan.size, plan.key, plan.first)).astype(np.uint64)


def _read_only() -> NDArray[np.uint16]:
    """A stand-in for a table that is mapped from disk."""
    table = np.zeros(1, np.uint16)
    table.flags.writeable = False
    return table
