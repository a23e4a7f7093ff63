"""The betting of a poker game: its rules, and all of it as a tree of arrays that knows nothing of cards.

The rules are those of the competition's reference dealer. A seat may fold when it faces a bet, call (which is also to
check), and raise while the round has raises left and somebody else can still answer. A limit raise is of the round's
size; one without limit is named by all that the seat has put in after it, "r300", and adds at least the big blind and
the last raise of the round. Whoever has too few chips may put in all of them. A seat that is all in does not act; if
no two seats can act after a round, the rest of the board is turned and there is a showdown.

A definition may allow a few sizes of bets alone (`Definition.bets`, in pots, as the pot is after a call): an action
abstraction. A size is rounded to whole chips, half up, and is brought to the nearest raise that is legal there; sizes
that come to the same are one action. So somebody who may raise at all has a raise, and all in is what a size comes to
that the stack does not last for.

Departs from that dealer in two things: there blinds that put everybody all in never end, and a round has at most 64
actions. Limit games whose stacks are too small for every raise, where that dealer may lower bets, are no definitions
(`acpc._short_stacks`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, isinf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.size import estimated_histories
from kibitz.poker.rules.acpc import Definition

MOST_SIZES = 1_000_000  # of a raise without limit: a file may name stacks of two thousand million


class Bets(NamedTuple):
    """The state of the betting."""

    turn: int  # a seat; CHANCE: cards of the board come before the round; TERMINAL
    round: int
    paid: tuple[int, ...]  # chips put in, by seat
    folded: tuple[bool, ...]
    raises: int  # bets and raises of this round
    waiting: int  # seats that must still act before the round is over, from `turn` on
    least: int  # without limit: what a raise must come to, for a seat with the chips; with limit 0


def start(game: Definition) -> Bets:
    """The betting before anybody has acted; at CHANCE if the board has cards before the first round."""
    least = 0 if game.limit else 2 * max(game.blinds) or 1
    bets = Bets(CHANCE, 0, game.blinds, (False,) * game.players, 0, 0, least)
    return bets if game.board[0] else deal(game, bets)


def deal(game: Definition, bets: Bets) -> Bets:
    """After the cards that come before a round: the round begins, or is passed over where nobody can bet."""
    able = _able(game, bets.paid, bets.folded)
    # Before the first round a single seat is asked even so, as the reference dealer does: blinds may be unequal.
    if sum(able) > (1 if bets.round else 0):
        first = _next(able, game.first_player[bets.round] - 1)
        return bets._replace(turn=first, raises=0, waiting=sum(able))
    return _over(game, bets)


def actions(game: Definition, bets: Bets) -> tuple[str, ...]:
    """What the seat to act may do: fold, call, raise or r... in this order."""
    low, high = raises(game, bets)
    may = ("fold", "call") if bets.paid[bets.turn] < max(bets.paid) else ("call",)
    if game.limit:
        return (*may, "raise") if high else may
    if not game.bets and high - low >= MOST_SIZES:
        raise GameError(
            f"a raise in {game.name or 'this poker game'} has {high + 1 - low:,} sizes, more than the {MOST_SIZES:,} "
            "that can be listed: divide the stacks and blinds of the definition by a common unit"
        )
    return (*may, *[f"r{total}" for total in totals(game, bets)])


def totals(game: Definition, bets: Bets) -> Sequence[int]:
    """What a seat may have put in after a raise, from low to high; of a limit raise its one total."""
    low, high = raises(game, bets)
    if not game.bets or low > high:
        return range(low, high + 1)
    return sorted({total_of(game, bets, size) for size in game.bets})


def total_of(game: Definition, bets: Bets, size: float) -> int:
    """What a seat has put in after a raise of so many pots, or the nearest legal one; only where it may raise."""
    low, high = raises(game, bets)
    if isinf(size):
        return high
    top, pot = pot_of(bets)
    return min(max(top + floor(size * pot + 0.5), low), high)


def size_of(bets: Bets, total: int) -> float:
    """How many pots a raise to so many chips is."""
    top, pot = pot_of(bets)
    return (total - top) / pot


def pot_of(bets: Bets) -> tuple[int, int]:
    """(what a seat must have put in to call, the pot after the call; a pot without a chip counts as one)."""
    top = max(bets.paid)
    return top, sum(bets.paid) + top - bets.paid[bets.turn] or 1


def raises(game: Definition, bets: Bets) -> tuple[int, int]:
    """The least and the most that a seat may have put in after a raise; (1, 0) where it may not raise."""
    top = max(bets.paid)
    stack = game.stacks[bets.turn] if game.stacks else None
    if (
        bets.raises >= game.max_raises[bets.round]
        or (stack is not None and stack <= top)
        or sum(_able(game, bets.paid, bets.folded)) < 2
    ):
        return 1, 0
    if game.limit:
        total = top + game.raise_size[bets.round]
        total = total if stack is None else min(total, stack)
        return total, total
    assert stack is not None
    return min(bets.least, stack), stack


def act(game: Definition, bets: Bets, action: str) -> Bets:
    """The betting after a legal action of the seat to act."""
    turn, number, paid, folded, count, waiting, least = bets
    top = max(paid)
    waiting -= 1
    if action == "fold":
        folded = (*folded[:turn], True, *folded[turn + 1 :])
        if sum(folded) == game.players - 1:
            return Bets(TERMINAL, number, paid, folded, count, 0, least)
    elif action == "call":
        total = top if game.stacks is None else min(top, game.stacks[turn])
        paid = (*paid[:turn], total, *paid[turn + 1 :])
    else:
        total = raises(game, bets)[1] if game.limit else int(action[1:])
        paid = (*paid[:turn], total, *paid[turn + 1 :])
        least = 0 if game.limit else max(least, 2 * total - top)
        count += 1
        able = _able(game, paid, folded)
        waiting = sum(able) - able[turn]
    after = Bets(turn, number, paid, folded, count, waiting, least)
    if waiting:
        return after._replace(turn=_next(_able(game, paid, folded), turn))
    return _over(game, after)


def letters(action: str) -> str:
    """An action in the competition's letters: f, c, r, or r and a number."""
    return action[0] if action in ("fold", "call", "raise") else action


def words(said: str) -> list[str]:
    """The actions of a round, from the competition's letters."""
    named = {"f": "fold", "c": "call", "r": "raise"}
    return [named.get(word, word) for word in re.findall(r"[a-z]\d*", said)]


def _over(game: Definition, bets: Bets) -> Bets:
    """The end of a round: the next one's cards, or the showdown."""
    if bets.round + 1 == game.rounds:
        return bets._replace(turn=TERMINAL, waiting=0)
    # What happened within the round is forgotten, so that all ways to one pot lead to equal values.
    least = 0 if game.limit else max(bets.paid) + max(1, *game.blinds)
    return Bets(CHANCE, bets.round + 1, bets.paid, bets.folded, 0, 0, least)


def _able(game: Definition, paid: tuple[int, ...], folded: tuple[bool, ...]) -> list[bool]:
    """By seat: still in, and with chips left."""
    if game.stacks is None:
        return [not gone for gone in folded]
    return [not gone and spent < stack for gone, spent, stack in zip(folded, paid, game.stacks, strict=True)]


def _next(able: list[bool], seat: int) -> int:
    """The next seat, clockwise, that can act."""
    seat = (seat + 1) % len(able)
    while not able[seat]:
        seat = (seat + 1) % len(able)
    return seat


@dataclass(frozen=True, eq=False)
class BettingTree:
    """All betting of a game, B nodes in preorder. Private cards are dealt before the root.

    At a CHANCE node the board cards of a round are turned, perhaps none: there is one before each round but the
    first, and at the root if the first round has cards too.
    """

    definition: Definition
    parent: NDArray[np.int32]  # [B], -1 at the root
    turn: NDArray[np.int8]  # [B]: seat, CHANCE or TERMINAL
    round: NDArray[np.int32]  # [B]: from 0; at CHANCE the round that begins
    action: NDArray[np.int32]  # [B]: which child of its parent; 0 at the root
    actions: list[tuple[str, ...]]  # the different lists of actions
    actions_of: NDArray[np.int32]  # [B]: which of them; -1 where nobody acts
    paid: NDArray[np.int64]  # [B, players]: chips that each has put in
    folded: NDArray[np.bool_]  # [B, players]

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """[B]  how many actions are offered; 0 where nobody acts."""
        return np.array([*map(len, self.actions), 0], np.int64)[self.actions_of]

    @cached_property
    def text(self) -> list[str]:
        """The betting so far, in the competition's letters: "crc/r", "r300c/"; "/" where a round's cards came."""
        spelled = [[letters(action) for action in offer] for offer in self.actions]
        offers = self.actions_of.tolist()
        texts = [""]
        later = (self.round > 0).tolist()
        for parent, action in zip(self.parent.tolist()[1:], self.action.tolist()[1:], strict=True):
            offer = offers[parent]  # none: the parent is CHANCE
            texts.append(texts[parent] + (spelled[offer][action] if offer >= 0 else "/" * later[parent]))
        return texts


Offer = Callable[[Definition, Bets], tuple[str, ...]]  # the actions of the seat to act


class _Level(NamedTuple):
    """The different `Bets` at one distance from the root, and their children in the next level."""

    bets: list[Bets]
    offers: list[int]  # which list of actions; -1 where nobody acts
    children: NDArray[np.int64]  # the children of all, one after another: their places in the next level
    first: NDArray[np.int64]  # [len(bets) + 1]: where each one's children begin


def betting_tree(definition: Definition, limit: int = 2_000_000, few: Offer | None = None) -> BettingTree:
    """All betting of a game. More than `limit` nodes are refused, with their number or as many as were counted.

    few: what a seat may do, where that is not all that the definition allows; of legal actions alone.

    Equal values of `Bets` have equal trees below them. So the rules are asked once for each value and distance from
    the root, and the tree is spread out from these levels by array operations.
    """
    levels, offers = _levels(definition, min(limit, 2**31 - 1), few)  # nodes are numbered by int32
    sizes = _sizes(levels)
    total = int(sizes[0][0])
    parent = np.full(total, -1, np.int32)
    action = np.zeros(total, np.int32)
    turn = np.empty(total, np.int8)
    number = np.empty(total, np.int32)
    offer = np.empty(total, np.int32)
    paid = np.empty((total, definition.players), np.int64)
    folded = np.empty((total, definition.players), np.bool_)
    nodes = np.zeros(1, np.int64)  # the tree's nodes in a level, and which value of the level each has
    kinds = np.zeros(1, np.int64)
    for depth, level in enumerate(levels):
        turn[nodes] = np.array([bets.turn for bets in level.bets], np.int8)[kinds]
        number[nodes] = np.array([bets.round for bets in level.bets], np.int32)[kinds]
        offer[nodes] = np.array(level.offers, np.int32)[kinds]
        paid[nodes] = np.array([bets.paid for bets in level.bets], np.int64)[kinds]
        folded[nodes] = np.array([bets.folded for bets in level.bets], np.bool_)[kinds]
        if depth + 1 == len(levels):
            break
        counts = np.diff(level.first)[kinds]
        which = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        entries = np.repeat(level.first[kinds], counts) + which
        # Preorder: a child comes after its parent and the whole trees of the children before it.
        until = np.concatenate([[0], np.cumsum(sizes[depth + 1][level.children])])
        before = until[entries] - np.repeat(until[level.first[kinds]], counts)
        above = np.repeat(nodes, counts)
        nodes = above + 1 + before
        kinds = level.children[entries]
        parent[nodes] = above
        action[nodes] = which
    return BettingTree(definition, parent, turn, number, action, offers, offer, paid, folded)


def _levels(game: Definition, limit: int, few: Offer | None) -> tuple[list[_Level], list[tuple[str, ...]]]:
    """Level by level, the different values of `Bets` with their children; and the different lists of actions."""
    levels: list[_Level] = []
    offers: dict[tuple[str, ...], int] = {}
    level = {start(game): 1}  # a value -> how many nodes of the tree have it
    nodes, rules_asked, estimated = 0, 0, False
    while level:
        nodes += sum(level.values())
        widths = [_width(game, bets, few) for bets in level]
        rules_asked += sum(widths)
        below = sum(width * ways for width, ways in zip(widths, level.values(), strict=True))
        if nodes + below > limit and rules_asked > (_ASKED if game.limit else _ASKED_NO_LIMIT):
            raise _too_large(game, f"{nodes + below:,} nodes in its first {len(levels) + 1} steps alone", limit)
        if not (game.limit or few or estimated) and rules_asked > _ASKED_NO_LIMIT:
            estimated = True
            about = float(np.median([estimated_histories(_Steps(game), 8.0 * limit, seed) for seed in range(9)]))
            if about > 1.1 * limit:
                raise _too_large(game, f"some {about:.2g} nodes, by an estimate from samples", limit)
        following: dict[Bets, int] = {}
        place: dict[Bets, int] = {}
        children: list[int] = []
        offered: list[int] = []
        for bets, ways in level.items():
            if bets.turn == TERMINAL:
                after = []
                offered.append(-1)
            elif bets.turn == CHANCE:
                after = [deal(game, bets)]
                offered.append(-1)
            else:
                offer = (few or actions)(game, bets)
                after = [act(game, bets, action) for action in offer]
                offered.append(offers.setdefault(offer, len(offers)))
            for child in after:
                children.append(place.setdefault(child, len(place)))
                following[child] = following.get(child, 0) + ways
        first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        levels.append(_Level(list(level), offered, np.array(children, np.int64), first))
        level = following
    if nodes > limit:
        raise _too_large(game, f"{nodes:,} nodes", limit)
    return levels, list(offers)


# Children made before a tree that is too large is no longer counted to its end; without limit it has no end in sight.
_ASKED, _ASKED_NO_LIMIT = 200_000, 30_000


class _Steps:
    """The betting alone as a game, as far as an estimate of its size needs one."""

    def __init__(self, definition: Definition) -> None:
        self.definition, self.players = definition, definition.players

    def root(self) -> Bets:
        return start(self.definition)

    def turn(self, state: Bets) -> int:
        return state.turn

    def actions(self, state: Bets) -> Sequence[int | str]:
        may = ("fold", "call") if state.paid[state.turn] < max(state.paid) else ("call",)
        return _AllActions(may, totals(self.definition, state))

    def chance(self, state: Bets) -> list[tuple[int | str, float]]:
        return [(0, 1.0)]

    def after(self, state: Bets, action: int | str) -> Bets:
        if state.turn == CHANCE:
            return deal(self.definition, state)
        return act(self.definition, state, action if isinstance(action, str) else f"r{action}")

    def infoset(self, state: Bets) -> Bets:
        return state

    def payoff(self, state: Bets) -> Sequence[float]:
        return ()


class _AllActions(Sequence[int | str]):
    """What may be done, without a list of all sizes of a raise."""

    def __init__(self, may: tuple[str, ...], sizes: Sequence[int]) -> None:
        self.may, self.sizes = may, sizes

    def __len__(self) -> int:
        return len(self.may) + len(self.sizes)

    def __getitem__(self, at: Any) -> Any:
        return self.may[at] if at < len(self.may) else self.sizes[at - len(self.may)]


def _width(game: Definition, bets: Bets, few: Offer | None = None) -> int:
    """How many children there are."""
    if bets.turn < 0:
        return int(bets.turn == CHANCE)
    if few is not None:
        return len(few(game, bets))
    return 1 + (bets.paid[bets.turn] < max(bets.paid)) + len(totals(game, bets))


def _too_large(game: Definition, size: str, limit: int) -> GameError:
    return GameError(
        f"the betting of {game.name or 'this poker game'} has {size}, and the limit is {limit:,}: give a larger limit= "
        "if there is memory for it, or a definition with fewer raises (maxRaises), smaller stacks or larger blinds"
        + ("" if game.limit or game.bets else "; or an action abstraction, as poker(file=..., bets=[0.5, 1, allin])")
    )


def _sizes(levels: list[_Level]) -> list[NDArray[np.int64]]:
    """For each value of each level, the number of nodes in its tree."""
    sizes = [np.ones(len(levels[-1].bets), np.int64)]
    for level in reversed(levels[:-1]):
        until = np.concatenate([[0], np.cumsum(sizes[-1][level.children])])
        sizes.append(1 + until[level.first[1:]] - until[level.first[:-1]])
    return sizes[::-1]
