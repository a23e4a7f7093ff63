"""Spot: what a person who studies poker asks about; and its betting tree.

Both players have put half of the pot in when it begins, so that without rake one wins what the other loses: payoffs
are counted from there. Player 0 is out of position (OOP) and acts first on every street; player 1 is in position (IP).
Dead money and antes are in the pot. Of two stacks the smaller one counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import names
from kibitz.cards.ranges import HANDS, hand_cards
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules.acpc import NO_CAP, Definition
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.spots.prizes import prize_fault, prize_pays, stake_of, values_of
from kibitz.poker.spots.sizes import BetSize, SizeList, geometric

Floats = NDArray[np.float64]
PLAYERS = ("OOP", "IP")
STREETS = ("flop", "turn", "river")
MOST_NODES = 3_000_000  # of a betting tree
MOST_STATES = 200_000  # of its betting that differ
MOST_UNITS = 2**30  # half chips


@dataclass(frozen=True, eq=False)
class Spot:
    """A question: everything that a solution depends on."""

    board: tuple[int, ...]  # three to five cards, the flop first
    ranges: Floats  # [2, 1326]  weights 0 to 1 in the order of kibitz.cards.ranges, OOP first
    pot: float  # chips in the middle
    stacks: tuple[float, float]  # chips behind
    sizes: tuple[tuple[SizeList, SizeList], ...]  # by street (flop, turn, river) and player
    rake: float = 0.0  # share of the final pot, also of one that ends by a fold
    rake_cap: float = math.inf  # chips
    force_allin: float = 0.0  # a bet after whose call less than this share of the pot is behind is all in
    add_allin: float = 0.0  # all in is offered where it is at most so many pots
    merge: float = 0.0  # of two sizes so near the larger is kept; 0 keeps all that differ
    max_raises: tuple[int, int, int] = (NO_CAP,) * 3  # by street: bets and raises
    min_bet: float = 0.0  # chips; 0: the smallest chip
    chip: float = 1.0  # bets are whole numbers of the smallest chip
    deck: tuple[int, int] = (13, 4)  # ranks (the highest) and suits (the first): smaller decks are for tests
    texts: tuple[str, str] = field(default=("", ""))  # the ranges as they were written
    prizes: tuple[float, ...] = ()  # of the places left in a tournament, the first one first; none: play for chips
    others: tuple[float, ...] = ()  # stacks of the players of the tournament who are not in the hand

    def __post_init__(self) -> None:
        if why := _fault(self):
            raise GameError(why)

    @property
    def street(self) -> int:
        """0 flop, 1 turn, 2 river."""
        return len(self.board) - 3

    @property
    def stack(self) -> float:
        """What both can still put in."""
        return min(self.stacks)

    @property
    def base(self) -> Floats:
        """[2]  what payoffs are counted from: half of the pot, or the value of each stack with half of the pot."""
        if not self.prizes:
            return np.full(2, self.pot / 2)
        return np.asarray(values_of(np.array([self.stacks]) + self.pot / 2, self.others, self.prizes)[0])

    @property
    def stake(self) -> float:
        """What the pot is worth to the players, in the unit of payoffs: chips, or prizes."""
        return stake_of(self.pot, self.stacks, self.others, self.prizes) if self.prizes else self.pot


def _fault(spot: Spot) -> str | None:
    """What is wrong with a spot, if anything is."""
    deck = spot.deck[0] * spot.deck[1]
    board = spot.board
    if not 3 <= len(board) <= 5:
        return f"a board has three, four or five cards, not {len(board)}"
    if len(set(board)) < len(board):
        return f"the board {names(board)} has a card twice"
    if any(card // 4 < 13 - spot.deck[0] or card % 4 >= spot.deck[1] for card in board):
        return f"the board {names(board)} has a card that is not in the deck"
    if deck < 9:
        return "a deck needs nine cards at least: two hands and a board"
    if spot.ranges.shape != (2, HANDS) or not np.isfinite(spot.ranges).all() or not (spot.ranges >= 0.0).all():
        return f"a range has a weight, 0 or more, for each of {HANDS:,} hands, and there are two"
    for player, weights in zip(PLAYERS, spot.ranges, strict=True):
        if not weights[~met(board)].any():
            return f"the range of {player} holds no hand beside the board {names(board)}"
    if not _meet(spot):
        return "no hand of one range can meet a hand of the other: each shares a card with it"
    numbers = {"the pot": spot.pot, "a stack": spot.stack, "the smallest chip": spot.chip}
    for what, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            return f"{what} should be above 0 chips, not {number:g}"
    units = 2 * (spot.pot + max(spot.stacks)) / spot.chip
    if units > MOST_UNITS:
        return f"pot and stacks have more than {MOST_UNITS // 2:,} of the smallest chip: give a larger chip"
    for what, number in {"the pot": spot.pot, "the stack": spot.stack}.items():
        if abs(number / spot.chip - round(number / spot.chip)) > 1e-6:
            return f"{what}, {number:g}, is not a whole number of the smallest chip, {spot.chip:g}: give a smaller chip"
    if not 0.0 <= spot.rake < 1.0 or not spot.rake_cap >= 0.0:
        return "rake is a share of the pot, 0 to 1, and its cap a number of chips"
    for what, number in {"force_allin": spot.force_allin, "add_allin": spot.add_allin, "merge": spot.merge,
                         "min_bet": spot.min_bet}.items():  # fmt: skip
        if not 0.0 <= number <= MOST_UNITS:
            return f"{what} should be a number from 0 to {MOST_UNITS:,}, not {number:g}"
    if len(spot.sizes) != 3 or len(spot.max_raises) != 3:
        return "sizes and max_raises are given for each of three streets"
    if why := prize_fault(spot.prizes, spot.others, spot.rake):
        return why
    if any(not 0 <= count <= NO_CAP for count in spot.max_raises):
        return f"max_raises is 0 to {NO_CAP} on each street"
    return None


def met(board: tuple[int, ...]) -> NDArray[np.bool_]:
    """[1326]  whether a hand has a card of the board."""
    return np.asarray(np.isin(hand_cards(), np.array(board, np.int64)).any(axis=1))


def in_deck(deck: tuple[int, int]) -> NDArray[np.bool_]:
    """[1326]  whether both cards of a hand are in the deck."""
    cards = hand_cards()
    return np.asarray(((cards // 4 >= 13 - deck[0]) & (cards % 4 < deck[1])).all(axis=1))


def live(spot: Spot) -> Floats:
    """[2, 1326]  the ranges without hands that the board or the deck rules out."""
    return np.where(met(spot.board) | ~in_deck(spot.deck), 0.0, spot.ranges)


def meeting(weights: Floats) -> Floats:
    """[1326]  for each hand, the weight of all hands that share no card with it."""
    cards = hand_cards()
    by_card = np.bincount(cards.ravel(), np.repeat(weights, 2), 52)
    return np.asarray(weights.sum() - by_card[cards].sum(axis=1) + weights)  # the hand itself was taken off twice


def _meet(spot: Spot) -> bool:
    first, second = live(spot)
    return bool(((first > 0) & (meeting((second > 0).astype(np.float64)) > 0.5)).any())


# The betting tree


@dataclass(frozen=True, eq=False)
class SpotTree:
    """All betting of a spot: B nodes in preorder, the first street's first decision at the root.

    Actions are written for people: fold, check, call, bet 66, raise 250, allin 900, where a number is what the player
    has put in on the street after it. Chips of `betting` are units; `unit` is what one is in chips.
    """

    root: ClassVar[int] = 0
    betting: BettingTree
    unit: float
    pays: Floats  # [B, 2, 3]  chips that a player has won where betting ends: if it wins, ties, loses; else 0. After a
    #   fold all three are the same. Without rake a win is minus the other's loss, and a tie is 0. With prizes it is
    #   what the player's stack has won in prizes.

    def __len__(self) -> int:
        return len(self.betting)

    def actions(self, node: int) -> tuple[str, ...]:
        offer = int(self.betting.actions_of[node])
        return self.betting.actions[offer] if offer >= 0 else ()

    def children(self, node: int) -> list[int]:
        """The nodes after a node, in the order of its actions."""
        order, first = self._below
        return [int(child) for child in order[first[node] : first[node + 1]]]

    @cached_property
    def _below(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(all nodes but the root by their parent, where those of a parent begin)."""
        order = 1 + np.argsort(self.betting.parent[1:], kind="stable")
        counts = np.bincount(self.betting.parent[1:], minlength=len(self))
        return order, np.concatenate(([0], np.cumsum(counts)))

    def paid(self, node: int) -> Floats:
        """[2]  chips that each has put in, half of the pot with them."""
        return np.asarray(self.betting.paid[node] * self.unit)


class _BetState(NamedTuple):
    """The state of the betting. Chips in units."""

    round: int  # from 0, the spot's first street; where cards come, the one that begins
    turn: int  # a player, CHANCE or TERMINAL
    paid: tuple[int, int]
    start: int  # what each had put in when the street began
    last: int  # the last bet or raise of the street: a raise adds at least as much
    bets: int  # and raises of the street
    checked: bool  # the other has checked
    donk: bool  # OOP would bet into the player who bet on the street before
    folded: tuple[bool, bool] = (False, False)


class _Part(NamedTuple):
    """A betting tree below a place; parents count from its root."""

    parent: NDArray[np.int32]
    turn: NDArray[np.int8]
    round: NDArray[np.int32]
    action: NDArray[np.int32]
    offer: NDArray[np.int32]
    paid: NDArray[np.int64]
    folded: NDArray[np.bool_]


def betting_of(spot: Spot) -> SpotTree:
    """The betting tree of a spot, and what its ends pay. A tree with too many nodes is refused."""
    writer = _Writer(spot)
    root = _BetState(0, 0, (writer.half, writer.half), writer.half, 0, 0, False, False)
    writer.count(root)
    part = writer.part(root)
    betting = BettingTree(definition_of(spot), part.parent, part.turn, part.round, part.action, list(writer.offers),
                          part.offer, part.paid, part.folded)  # fmt: skip
    return SpotTree(betting, spot.chip / 2, _pays(spot, betting))


def definition_of(spot: Spot) -> Definition:
    """The rules of the rest of the hand as a game without limit."""
    rounds = 3 - spot.street
    half, stack = round(spot.pot / spot.chip), 2 * round(spot.stack / spot.chip)
    return Definition(
        limit=False, players=2, rounds=rounds, stacks=(half + stack,) * 2, blinds=(half, half), raise_size=(),
        first_player=(0,) * rounds, max_raises=spot.max_raises[spot.street :], suits=spot.deck[1], ranks=spot.deck[0],
        hole=2, board=(len(spot.board), *(1,) * (rounds - 1)), name=f"the spot {names(spot.board)}",
    )  # fmt: skip


def _pays(spot: Spot, betting: BettingTree) -> Floats:
    pays = np.zeros((len(betting), 2, 3))
    ended = betting.turn == TERMINAL
    matched = betting.paid.min(axis=1) * (spot.chip / 2)  # what one paid above the other comes back
    toll = np.minimum(2.0 * matched * spot.rake, spot.rake_cap)
    shown = ended & ~betting.folded.any(axis=1)
    for seat in (0, 1):
        pays[shown, seat] = np.stack([matched - toll, -toll / 2, -matched], axis=1)[shown]
        pays[ended & betting.folded[:, seat], seat] = -matched[ended & betting.folded[:, seat], None]
        won = ended & betting.folded[:, 1 - seat]
        pays[won, seat] = (matched - toll)[won, None]
    return prize_pays(pays, ended, spot.pot, spot.stacks, spot.others, spot.prizes) if spot.prizes else pays


class _Writer:
    """Writes the tree. Equal places have equal trees below them, so each is written once and copied."""

    def __init__(self, spot: Spot) -> None:
        self.spot, self.rounds = spot, 3 - spot.street
        self.half = round(spot.pot / spot.chip)
        self.top = self.half + 2 * round(spot.stack / spot.chip)
        self.least = 2 * max(1, math.ceil(spot.min_bet / spot.chip - 1e-9))
        self.offers: dict[tuple[str, ...], int] = {}
        self._parts: dict[_BetState, _Part] = {}
        self._counts: dict[_BetState, int] = {}

    def count(self, place: _BetState) -> int:
        """Nodes of the tree below a place: too many are refused before they are written."""
        if place not in self._counts:
            total = 1 + sum(self.count(after) for _, after in self.options(place))
            if total > MOST_NODES or len(self._counts) > MOST_STATES:
                raise GameError(f"the betting has more than {MOST_NODES:,} nodes: give fewer sizes, a lower "
                                "max_raises, or a larger force_allin")  # fmt: skip
            self._counts[place] = total
        return self._counts[place]

    def part(self, place: _BetState) -> _Part:
        """The tree below a place."""
        if place not in self._parts:
            options = self.options(place)
            offer = -1
            if place.turn >= 0:
                offer = self.offers.setdefault(tuple(name for name, _ in options), len(self.offers))
            self._parts[place] = _joined(place, offer, [self.part(after) for _, after in options])
        return self._parts[place]

    def options(self, place: _BetState) -> list[tuple[str, _BetState]]:
        """(action, what follows) of all that a player may do; of the cards that come, or of nothing."""
        if place.turn == TERMINAL:
            return []
        if place.turn == CHANCE:
            if place.paid[0] < self.top:
                return [("", place._replace(turn=0))]
            return [("", self.street_after(place))]  # all are in
        facing = place.paid[place.turn] < place.paid[1 - place.turn]
        options = [("fold", place._replace(turn=TERMINAL, folded=(place.turn == 0, place.turn == 1)))] if facing else []
        options.append(("call" if facing else "check", self.passed(place, facing)))
        return options + [(self.name(place, total), self.raised(place, total)) for total in self.totals(place)]

    def name(self, place: _BetState, total: int) -> str:
        put = (total - place.start) // 2 * self.spot.chip
        word = "allin" if total == self.top else "raise" if place.bets else "bet"
        return f"{word} {round(put, 6):.10g}"

    def passed(self, place: _BetState, facing: bool) -> _BetState:
        """After a check or a call."""
        if not facing and not place.checked:
            return place._replace(turn=1 - place.turn, checked=True)
        level = max(place.paid)
        return self.street_after(place._replace(paid=(level, level), donk=facing and place.turn == 0))

    def street_after(self, place: _BetState) -> _BetState:
        """What follows when a street is over: cards, or the showdown."""
        if place.round + 1 == self.rounds:
            return _BetState(place.round, TERMINAL, place.paid, 0, 0, 0, False, False)
        return _BetState(place.round + 1, CHANCE, place.paid, place.paid[0], 0, 0, False, place.donk)

    def raised(self, place: _BetState, total: int) -> _BetState:
        paid = (total, place.paid[1]) if place.turn == 0 else (place.paid[0], total)
        return place._replace(turn=1 - place.turn, paid=paid, last=total - max(place.paid), bets=place.bets + 1,
                              checked=False)  # fmt: skip

    def sizes(self, place: _BetState) -> tuple[BetSize, ...]:
        sizes = self.spot.sizes[self.spot.street + place.round][place.turn]
        if place.bets:
            return sizes.raises
        return sizes.donks if place.donk and place.turn == 0 and sizes.donks is not None else sizes.bets

    def totals(self, place: _BetState) -> list[int]:
        """What a player may have put in after a bet or raise, in units, from low to high."""
        spot, top, level = self.spot, self.top, max(place.paid)
        if level == top or place.bets >= spot.max_raises[spot.street + place.round]:
            return []
        pot = 2 * level  # after a call
        low = min(level + max(place.last, self.least), top)
        totals = set()
        for size in self.sizes(place):
            total = min(max(self.total(place, size, pot), low), top)
            behind = _whole((pot + 2 * (total - level)) * spot.force_allin)
            totals.add(top if top - total <= behind else total)
        if spot.add_allin and top - level <= _whole(pot * spot.add_allin):
            totals.add(top)
        return self.merged(sorted(totals), level, pot)

    def total(self, place: _BetState, size: BetSize, pot: int) -> int:
        level = max(place.paid)
        if size.kind == "allin":
            return self.top
        if size.kind == "pot":
            return level + _whole(size.number * pot)
        if size.kind == "chips":
            return level + _whole(size.number / self.spot.chip * 2)
        if size.kind == "times":
            return place.start + _whole((level - place.start) * size.number)
        streets = int(size.number) or max(1, self.rounds - place.round - max(0, place.bets - 1))
        return level + _whole(pot * min(geometric((self.top - level) / pot, streets), size.most))

    def merged(self, totals: list[int], level: int, pot: int) -> list[int]:
        """Of sizes that are near each other the largest."""
        if self.spot.merge <= 0.0:
            return totals
        kept: list[int] = []
        for total in reversed(totals):
            least = ((kept[-1] - level) / pot - self.spot.merge) / (1.0 + self.spot.merge) if kept else math.inf
            if (total - level) / pot < least:
                kept.append(total)
        return kept[::-1]


def _whole(units: float) -> int:
    """Half chips, rounded to whole chips, half up."""
    return 2 * math.floor(units / 2 + 0.5)


def _joined(place: _BetState, offer: int, below: list[_Part]) -> _Part:
    """A node and the trees below it."""
    parents, actions, at = [np.full(1, -1, np.int32)], [np.zeros(1, np.int32)], 1
    for k, part in enumerate(below):
        parent, action = part.parent + np.int32(at), part.action.copy()
        parent[0], action[0] = 0, k
        parents.append(parent)
        actions.append(action)
        at += len(parent)
    root = [np.array([place.turn], np.int8), np.array([place.round], np.int32), np.array([offer], np.int32),
            np.array([place.paid], np.int64), np.array([place.folded], bool)]  # fmt: skip
    fields = ("turn", "round", "offer", "paid", "folded")
    rest = [np.concatenate([first, *(getattr(part, name) for part in below)])
            for name, first in zip(fields, root, strict=True)]  # fmt: skip
    return _Part(np.concatenate(parents), rest[0], rest[1], np.concatenate(actions), rest[2], rest[3], rest[4])
