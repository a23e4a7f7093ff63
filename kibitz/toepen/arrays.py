"""Toepen laid out by its compiled state machine: the arrays that `games/tree.py` would get from a walk of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kibitz.toepen.states import MOST_DEALS, NAMES, ToepenRules, hand_text

Words = NDArray[np.uint64]
MOST_PENDING = 512  # states that wait while one deal is walked: far above what four cards a hand can need


class Labels(Sequence[str]):
    """The texts of infosets, written when somebody reads one: most solves never do."""

    def __init__(self, examples: Words, betting: bool) -> None:
        self.examples, self._betting = examples, betting
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def texts(self) -> list[str]:
        if self._texts is None:
            self._texts = list(label_texts(self.examples, self._betting))
        return self._texts

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self.texts[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        return isinstance(other, Sequence) and self.texts == list(other)

    __hash__ = None  # type: ignore[assignment]


def rules_of(game: ToepenRules) -> Any:
    """The parameters as kernels take them."""
    from kibitz.toepen.kernels.rules import Rules

    deck = sum(1 << card for card in game.deck)
    return Rules(np.uint64(deck), np.uint64(game.hand), np.uint64(game.betting), np.uint64(game.follow_suit))


def deals_of(game: ToepenRules) -> Words:
    """[D, 2]  all deals as masks, in the order of the rules."""
    masks = np.array(list(combinations(game.deck, game.hand)), np.uint64)
    hands = np.bitwise_or.reduce(np.uint64(1) << masks, axis=1)
    one, other = np.nonzero((hands[:, None] & hands[None, :]) == 0)
    return np.stack([hands[one], hands[other]], axis=1)


def arrays_of(game: ToepenRules, limit: int = 1 << 31) -> dict[str, Any] | None:
    """The fields of Tree and Infosets; None for what the state machine does not play, or for over `limit` histories.

    In the second case the walk of the rules says so: it stops at the limit too.
    """
    from kibitz.toepen.kernels.keys import RAW, plain
    from kibitz.toepen.kernels.lay import EMPTY, InfosetTable, LaidTree, count_histories, lay
    from kibitz.toepen.kernels.rules import MOST_CARDS

    if game.symmetric or game.hand > MOST_CARDS or game.deals > MOST_DEALS:
        return None
    rules, deals = rules_of(game), deals_of(game)
    stack = np.zeros((MOST_PENDING, 7), np.uint64)
    histories, ends = count_histories(deals, rules, stack, limit)
    if histories >= min(limit, (1 << 31) - 1):
        return None
    decisions = histories - ends
    size = 1 << max(4, int(2 * decisions).bit_length())
    parent, action, infoset = (np.empty(histories + 1, np.int32) for _ in range(3))
    tree = LaidTree(parent, np.empty(histories + 1, np.int8), action, infoset, np.empty(ends))
    table = InfosetTable(
        np.zeros(size, np.uint64), np.full(size, EMPTY, np.int32), np.zeros((2, decisions, 5), np.uint64),
        np.zeros((2, decisions), np.uint64), np.zeros(2, np.int64),
    )  # fmt: skip
    lay(deals, rules, plain(RAW), stack, tree, table)
    turn, leaf, count = tree.turn, tree.leaf, table.count
    infoset[turn == 1] += count[0]
    known = np.concatenate([table.offered[seat, : count[seat]] for seat in range(2)])
    lists, actions_of = _lists(known, infoset, turn)
    chance = np.ones(histories + 1)
    chance[parent == 0] = 1.0 / len(deals)
    states = np.concatenate([table.example[seat, : count[seat]] for seat in range(2)])
    return {
        "parent": parent, "turn": turn, "action": action, "infoset": infoset, "chance": chance,
        "payoff": np.stack([leaf, -leaf], axis=1), "labels": Labels(states, game.betting), "actions": lists,
        "actions_of": actions_of, "seat_start": np.array([0, count[0], count.sum()], np.int32),
    }  # fmt: skip


def keys_of_states(game: ToepenRules, states: Words, name: str, bucket: NDArray[np.uint8] | None = None) -> Words:
    """The keys of rows that some decisions [n, 5] read under an abstraction."""
    from kibitz.toepen.kernels.keys import NAMES as KINDS
    from kibitz.toepen.kernels.keys import Keys, plain
    from kibitz.toepen.kernels.lay import keys_at

    keys = plain(KINDS[name]) if bucket is None else Keys(np.int64(KINDS[name]), bucket)
    row_keys = np.empty(len(states), np.uint64)
    keys_at(np.ascontiguousarray(states), rules_of(game), keys, row_keys)
    return row_keys


def ties_of_states(game: ToepenRules, states: Words) -> NDArray[np.int64]:
    """[n, 4]  for each action of some decisions the first one that is the same to the seat."""
    from kibitz.toepen.kernels.lay import ties_at

    ties = np.empty((len(states), 4), np.int64)
    ties_at(np.ascontiguousarray(states), rules_of(game), ties)
    return ties


def _lists(offered: Words, infoset: NDArray[np.int32], turn: NDArray[np.int8]) -> tuple[list[Any], NDArray[np.int32]]:
    """The distinct lists of actions in order of their first appearance in the tree, and which each infoset has."""
    kinds, number = np.unique(offered, return_inverse=True)
    at = np.flatnonzero(turn >= 0)
    _, first = np.unique(number[infoset[at]], return_index=True)
    order = np.argsort(first)
    place = np.empty(len(kinds), np.int32)
    place[order] = np.arange(len(kinds))
    return [_names(int(kinds[k])) for k in order], place[number]


def _names(offered: int) -> tuple[str, ...]:
    if offered < 2:
        return (("check", "bet"), ("call", "fold"))[offered]
    cards = [offered >> (8 * k) & 255 for k in range(8)]
    return tuple(NAMES[card] for card in cards if card != 255)


def label_texts(states: Words, betting: bool) -> Iterator[str]:
    """What the player to move knows at each of some states [n, 5], as the rules write it."""
    histories: dict[tuple[int, int, int], str] = {}
    played: dict[tuple[int, int], list[str]] = {}
    hands: dict[int, str] = {}
    for start, hand, low, high, meta in states.tolist():
        del start
        seat = meta >> 6 & 1
        cards_left = hand >> (32 * seat) & 0xFFFFFFFF
        if cards_left not in hands:
            hands[cards_left] = hand_text(tuple(card for card in range(32) if cards_left >> card & 1))
        past = (low, high, meta & 0xFF0003F)  # play, phase, calls
        if past not in histories:
            cards = played.get((low, high))
            if cards is None:
                cards = played[low, high] = [NAMES[card] for card in cards_played(low, high)]
            histories[past] = _history(cards, meta, betting)
        yield f"{hands[cards_left]} | {histories[past]}".rstrip()


def cards_played(low: int, high: int) -> list[int]:
    """The cards on the table in order, from the two words of a state that hold them."""
    cards = []
    for play in range(8):
        for suit, half in enumerate((low, low >> 32, high, high >> 32)):
            digit = half >> (28 - 4 * play) & 15
            if digit:
                cards.append(8 * suit + digit - 1)
    return cards


def _history(cards: list[str], meta: int, betting: bool) -> str:
    """The words of what was said and played."""
    called, phase = meta >> 20 & 255, meta >> 4 & 3
    words = []
    for play in range(len(cards) + 1):
        if betting and (play < len(cards) or phase == 2):
            words.append("bet call" if called >> play & 1 else "check")
        if play < len(cards):
            words.append(cards[play])
    return " ".join([*words, "bet"] if phase == 1 else words)
