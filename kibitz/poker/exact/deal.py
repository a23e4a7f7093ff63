"""The cards of a two-player poker game: boards up to suit isomorphism, and the hands on each.

Betting does not look at suits, so renaming them changes nothing: of all boards that differ by a renaming one is
kept, with their number, and on it the hands that a renaming which leaves the board alone turns into one another are
one *class* (in the last round some more are: see `_alike`). Chance deals hands and boards uniformly, so all that a
class needs is how many deals it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import deck_of as cards_of_deck
from kibitz.cards.boards import renamings
from kibitz.core.errors import GameError
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.cards import cards_of, text_of
from kibitz.poker.rules.rules import strength as poker_strength

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Strength = Callable[[Any], Ints]

MOST_BOARDS = 1_000_000  # gone through one by one, at some ten thousand a second
MOST_HANDS = 50_000_000  # on boards of one round, at some 60 bytes each
BOARDS_AT_ONCE = 256  # whose hands are ranked at a time


@dataclass(frozen=True)
class DealRound:
    """The boards of one betting round and the classes of hands on them. B boards, C classes, H hands on boards."""

    boards: NDArray[np.uint8]  # [B, cards so far]  one of each kind
    above: Ints  # [B]  the board of the round before that it continues
    copies: Floats  # [B]  how many boards that continue that one are of this kind
    board_class: Ints  # [B + 1]  first class of a board
    size: Floats  # [C]  hands of a class, on its board
    share: Floats  # [C]  deals (a hand and boards) that a class stands for, over the number of all hands
    up: Ints  # [C]  the class before the last cards came
    hand: NDArray[np.uint8]  # [C, hole]  a hand of the class
    low: Ints  # [C]  in the last round: classes of its board that it beats; else 0
    high: Ints  # [C]  likewise: those that do not beat it; between are the ties, itself among them
    board_hand: Ints  # [B + 1]  first hand of a board
    hands: NDArray[np.uint8]  # [H, hole]  all hands, in the last round by strength
    hand_class: Ints  # [H]  their classes
    hand_low: Ints  # [H]  as `low` and `high`, in hands of the board
    hand_high: Ints  # [H]

    @property
    def classes(self) -> int:
        return len(self.size)

    @cached_property
    def board_of_class(self) -> Ints:
        return np.repeat(np.arange(len(self.boards)), np.diff(self.board_class))


@dataclass(frozen=True)
class Deal:
    """All rounds of a game's cards."""

    definition: Definition
    rounds: tuple[DealRound, ...]
    chance: Floats  # [rounds]  probability of the opponent's hand and of the boards so far, for one's own hand

    @property
    def hands(self) -> int:
        """Hands that a seat can be dealt."""
        return math.comb(self.definition.ranks * self.definition.suits, self.definition.hole)

    def text(self, level: int, board: int, hand: NDArray[np.uint8]) -> str:
        """A hand and a board as labels have them: cards that came together high to low."""
        groups, at = [hand.tolist()], 0
        for cards in self.definition.board[: level + 1]:
            if cards:
                groups.append(self.rounds[level].boards[board][at : at + cards].tolist())
            at += cards
        return " ".join(text_of(group) for group in groups)

    def find(self, level: int, text: str) -> int:
        """The class of a hand and boards, under any renaming of suits."""
        try:
            groups = [sorted(cards_of(word)) for word in text.split()]
        except KeyError:  # not cards at all
            groups = []
        sizes = [self.definition.hole, *(cards for cards in self.definition.board[: level + 1] if cards)]
        deck = deck_of(self.definition)
        named = [card for group in groups for card in group]
        if [len(group) for group in groups] != sizes or len(set(named)) < len(named) or not np.isin(named, deck).all():
            example = self.text(level, 0, self.rounds[level].hand[0])
            raise GameError(f"{text!r} is not a hand and board of this round; they read {example!r}")
        wanted = np.array([card for group in groups[1:] for card in group], np.uint8)
        rename = renamings(self.definition.suits)
        cuts = np.cumsum(sizes[1:])[:-1]
        here = self.rounds[level]
        for names in rename:
            moved = np.concatenate([np.sort(part) for part in np.split(names[wanted], cuts)]) if len(wanted) else wanted
            boards = np.flatnonzero((here.boards == moved).all(axis=1))
            if len(boards):
                lo, hi = here.board_hand[boards[0]], here.board_hand[boards[0] + 1]
                hand = np.sort(names[groups[0]])
                return int(here.hand_class[lo + np.flatnonzero((here.hands[lo:hi] == hand).all(axis=1))[0]])
        raise AssertionError("every board is isomorphic to one that is stored")


def deck_of(definition: Definition) -> NDArray[np.uint8]:
    """The cards of a deck: the top ranks, the first suits."""
    return cards_of_deck(definition.ranks, definition.suits)


def least_classes(definition: Definition) -> list[int]:
    """For each round a number that the classes of hands reach or exceed: deals over renamings of suits."""
    left, counts = definition.ranks * definition.suits, []
    deals = math.comb(left, definition.hole)
    left -= definition.hole
    for cards in definition.board:
        deals *= math.comb(left, cards)
        left -= cards
        counts.append(max(1, deals // math.factorial(definition.suits)))
    if definition.hole == 1:  # on a board of the last round hands of one strength may be one class
        before = counts[-2] if len(counts) > 1 else 1
        counts[-1] = max(before, counts[-1] // math.comb(definition.ranks * definition.suits, 1))
    return counts


def deal(definition: Definition, alike: bool = True) -> Deal:
    """Enumerate the boards and hands of a game, up to suit isomorphism.

    alike: whether hands that are alike in the last round are one class too (`_alike`).
    """
    if definition.hole not in (1, 2):
        raise GameError(f"hands of {definition.hole} cards are not supported: only 1 or 2")
    deck = deck_of(definition)
    rename = renamings(definition.suits)
    rounds: list[DealRound] = []
    # Of each board so far: its cards, the renamings that leave it alone, and how many boards it stands for.
    boards: list[tuple[tuple[int, ...], Ints, int, int]] = [((), np.arange(len(rename)), 0, 1)]
    total = [1]  # of each board: how many boards it stands for, over all rounds
    for number, cards in enumerate(definition.board):
        _check_work(definition, number, len(boards))
        if cards:
            boards = [
                (board + new, keeps, at, copies)
                for at, (board, group, _, _) in enumerate(boards)
                for new, keeps, copies in _next(deck, board, group, rename, cards)
            ]
            total = [total[at] * copies for _, _, at, copies in boards]
        elif number:
            boards = [(board, group, at, 1) for at, (board, group, _, _) in enumerate(boards)]
        last = number == definition.rounds - 1
        rounds.append(_round(deck, boards, total, rename, definition, rounds[-1] if rounds else None,
                             poker_strength if last else None, alike))  # fmt: skip
    return Deal(definition, tuple(rounds), _chances(definition, len(deck), definition.board[0]))


def deal_on(definition: Definition, board: Sequence[int]) -> Deal:
    """The same when the first round's board lies there. Suits have their names, and each hand is a class of its own."""
    deck = deck_of(definition)
    boards, above = np.array([[int(card) for card in board]], np.uint8), np.zeros(1, np.int64)
    rounds: list[DealRound] = []
    for number, cards in enumerate(definition.board):
        if number and cards:
            left = ~_lies_on(boards)[:, deck]  # as many on each board
            rest = np.broadcast_to(deck, left.shape)[left].reshape(len(boards), -1)
            new = rest[:, list(combinations(range(rest.shape[1]), cards))]  # [B, ways, cards]
            above = np.repeat(np.arange(len(boards)), new.shape[1])
            boards = np.concatenate((boards[above], new.reshape(-1, cards)), axis=1)
        elif number:
            above = np.arange(len(boards))
        strength = poker_strength if number == definition.rounds - 1 else None
        rounds.append(_round_on(deck, boards, above, definition, rounds[-1] if rounds else None, strength, len(board)))
    return Deal(definition, tuple(rounds), _chances(definition, len(deck) - len(board), 0))


def _lies_on(boards: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """[B, 52]  whether a card is on a board."""
    lies = np.zeros((len(boards), 52), bool)
    np.put_along_axis(lies, boards.astype(np.int64), True, axis=1)
    return lies


def _round_on(
    deck: NDArray[np.uint8], boards: NDArray[np.uint8], above: Ints, definition: Definition, before: DealRound | None,
    strength: Strength | None, known: int,
) -> DealRound:  # fmt: skip
    """As `_round` where suits have their names: all boards at once, as all have the same number of hands."""
    hole = definition.hole
    every = np.array(list(combinations(deck.tolist(), hole)), np.uint8)
    number = np.full((52,) * hole, -1, np.int64)
    number[tuple(every.T)] = np.arange(len(every))
    lies = _lies_on(boards)
    free = ~lies[:, every[:, 0]]
    if hole == 2:
        free &= ~lies[:, every[:, 1]]
    hands = np.nonzero(free)[1].reshape(len(boards), -1)
    count = hands.shape[1]
    low = high = np.zeros(hands.size, np.int64)
    if strength is not None:
        worth = np.empty(hands.shape, np.int64)
        for first in range(0, len(boards), BOARDS_AT_ONCE):
            part = slice(first, first + BOARDS_AT_ONCE)
            on = np.broadcast_to(boards[part, None], (*hands[part].shape, boards.shape[1]))
            worth[part] = strength(np.concatenate((every[hands[part]], on), axis=2))
        order = np.argsort(worth, axis=1, kind="stable")
        hands, worth = np.take_along_axis(hands, order, axis=1), np.take_along_axis(worth, order, axis=1)
        fresh = np.ones((len(boards), count + 1), bool)  # a strength begins, or the board is over
        fresh[:, 1:-1] = worth[:, 1:] != worth[:, :-1]
        place = np.broadcast_to(np.arange(count + 1), fresh.shape)
        low = np.maximum.accumulate(np.where(fresh, place, 0), axis=1)[:, :-1].ravel()
        high = np.minimum.accumulate(np.where(fresh, place, count)[:, :0:-1], axis=1)[:, ::-1].ravel()
    up = np.zeros(hands.size, np.int64)
    if before is not None:
        up = _class_table(before, len(every), number)[above[:, None], hands].ravel()
    cards = every[hands.ravel()]
    begins = np.arange(len(boards) + 1) * count
    return DealRound(
        boards=boards, above=above, copies=np.ones(len(boards)), board_class=begins, size=np.ones(hands.size),
        share=np.full(hands.size, 1.0 / math.comb(len(deck) - known, hole)), up=up, hand=cards, low=low, high=high,
        board_hand=begins, hands=cards, hand_class=np.arange(hands.size), hand_low=low, hand_high=high,
    )  # fmt: skip


def _chances(definition: Definition, left: int, first: int) -> Floats:
    """[rounds]  probability of the other's hand and of the boards so far, for one's own hand. first: cards of the
    first round that are not known yet."""
    left -= definition.hole
    chances = [1.0 / math.comb(left, definition.hole)]
    left -= definition.hole
    for number, cards in enumerate([first, *definition.board[1:]]):
        step = 1.0 / math.comb(left, cards)
        left -= cards
        if number:
            chances.append(chances[-1] * step)
        else:
            chances[0] *= step
    return np.array(chances)


def _check_work(definition: Definition, number: int, boards: int) -> None:
    """Refuse a round with too many boards to enumerate."""
    left = definition.ranks * definition.suits - sum(definition.board[:number])
    ways = boards * math.comb(left, definition.board[number])
    hands = ways * math.comb(left - definition.board[number], definition.hole) // math.factorial(definition.suits)
    if ways > MOST_BOARDS or hands > MOST_HANDS:
        raise GameError(
            f"before round {number} {ways:,} boards would have to be enumerated, with at least {hands:,} hands on "
            f"those that differ; {MOST_BOARDS:,} and {MOST_HANDS:,} are the limits. Use fewer board cards or a "
            "smaller deck"
        )


def _next(
    deck: NDArray[np.uint8], board: tuple[int, ...], group: Ints, rename: NDArray[np.uint8], cards: int
) -> list[tuple[tuple[int, ...], Ints, int]]:
    """The cards that can come next, up to the renamings that leave the board alone: (cards, renamings, copies)."""
    left = [int(card) for card in deck if card not in board]
    copies: dict[tuple[int, ...], int] = {}
    keeps: dict[tuple[int, ...], Ints] = {}
    for new in combinations(left, cards):
        images = np.sort(rename[group][:, list(new)], axis=1)
        order = np.lexsort(images.T[::-1])
        first = tuple(int(card) for card in images[order[0]])
        copies[first] = copies.get(first, 0) + 1
        if new == first:
            keeps[first] = group[(images == np.array(first)).all(axis=1)]
    return [(first, keeps[first], copies[first]) for first in sorted(copies)]


def _round(
    deck: NDArray[np.uint8], boards: list[tuple[tuple[int, ...], Ints, int, int]], total: list[int],
    rename: NDArray[np.uint8], definition: Definition, before: DealRound | None, strength: Strength | None, alike: bool,
    known: int = 0,
) -> DealRound:  # fmt: skip
    """Hands on each board, their classes, and in the last round which beat which. known: cards that nobody can hold."""
    hole = definition.hole
    board_class, board_hand = [0], [0]
    size, share, up, reps, low, high = [], [], [], [], [], []
    all_hands, all_class, hand_low, hand_high = [], [], [], []
    everyone = math.comb(len(deck) - known, hole)
    # All hands of the deck as numbers, and what each renaming makes of them.
    every = np.array(list(combinations(deck.tolist(), hole)), np.uint8)
    number = np.full((52,) * hole, -1, np.int64)
    number[tuple(every.T)] = np.arange(len(every))
    image = np.sort(rename[:, every], axis=2)  # [renamings, hands, hole]
    image = number[tuple(np.moveaxis(image, 2, 0))]
    earlier = _class_table(before, len(every), number) if before is not None else None
    for at, (board, group, above, _) in enumerate(boards):
        free = ~np.isin(every, np.array(board, np.uint8)).any(axis=1) if board else np.ones(len(every), bool)
        hands = np.flatnonzero(free)
        first = image[group][:, hands].min(axis=0)  # the first of a class stands for it
        kinds, of = np.unique(first, return_inverse=True)
        if strength is not None:
            cards = np.concatenate(
                (every[hands], np.broadcast_to(np.array(board, np.uint8), (len(hands), len(board)))), axis=1
            )
            worth = strength(cards)
            worth_of_kind = np.empty(len(kinds), np.int64)
            worth_of_kind[of] = worth
            if hole == 1 and alike:
                kinds, of, worth_of_kind = _alike(kinds, of, worth_of_kind, earlier, above)
            order = np.argsort(worth_of_kind, kind="stable")
            kinds, worth_of_kind = kinds[order], worth_of_kind[order]
            back = np.empty(len(order), np.int64)
            back[order] = np.arange(len(order))
            of = back[of]
            low.append(np.searchsorted(worth_of_kind, worth_of_kind, "left"))
            high.append(np.searchsorted(worth_of_kind, worth_of_kind, "right"))
            by = np.argsort(worth, kind="stable")
            hands, of, worth = hands[by], of[by], worth[by]
            hand_low.append(np.searchsorted(worth, worth, "left"))
            hand_high.append(np.searchsorted(worth, worth, "right"))
        else:
            low.append(np.zeros(len(kinds), np.int64))
            high.append(np.zeros(len(kinds), np.int64))
            hand_low.append(np.zeros(len(hands), np.int64))
            hand_high.append(np.zeros(len(hands), np.int64))
        members = np.bincount(of, minlength=len(kinds)).astype(np.float64)
        size.append(members)
        share.append(members * total[at] / everyone)
        up.append(np.zeros(len(kinds), np.int64) if earlier is None else earlier[above][kinds])
        reps.append(every[kinds])
        all_hands.append(every[hands])
        all_class.append(of + board_class[-1])
        board_class.append(board_class[-1] + len(kinds))
        board_hand.append(board_hand[-1] + len(hands))
    length = len(boards[0][0])
    return DealRound(
        boards=np.array([board for board, *_ in boards], np.uint8).reshape(len(boards), length),
        above=np.array([above for *_, above, _ in boards], np.int64),
        copies=np.array([copies for *_, copies in boards], np.float64),
        board_class=np.array(board_class, np.int64), size=np.concatenate(size), share=np.concatenate(share),
        up=np.concatenate(up).astype(np.int64), hand=np.concatenate(reps), low=np.concatenate(low),
        high=np.concatenate(high), board_hand=np.array(board_hand, np.int64), hands=np.concatenate(all_hands),
        hand_class=np.concatenate(all_class).astype(np.int64), hand_low=np.concatenate(hand_low),
        hand_high=np.concatenate(hand_high),
    )  # fmt: skip


def _alike(kinds: Ints, of: Ints, worth: Ints, earlier: Ints | None, above: int) -> tuple[Ints, Ints, Ints]:
    """In the last round, with hands of one card: classes that were one before and are of one strength stay one.

    Of two such hands each meets all that the other meets, and the other itself: a hand of the same class, and a tie. So
    nothing is lost, whatever the suits; it is what GameShrink's strict reading finds (`poker/buckets/gameshrink.py`).
    """
    before = np.zeros(len(kinds), np.int64) if earlier is None else earlier[above][kinds]
    _, first, same = np.unique(np.stack((before, worth)), axis=1, return_index=True, return_inverse=True)
    return kinds[first], same.ravel()[of], worth[first]


def _class_table(before: DealRound, hands: int, number: Ints) -> Ints:
    """[B, hands of the deck] -> class, for the boards of a round; -1 where a card is on the board."""
    table = np.full((len(before.boards), hands), -1, np.int64)
    board = np.repeat(np.arange(len(before.boards)), np.diff(before.board_hand))
    table[board, number[tuple(before.hands.T)]] = before.hand_class
    return table
