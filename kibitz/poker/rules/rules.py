"""Poker by a .game file: any number of players, limit and no-limit, from Kuhn's three cards to hold'em.

Each seat is dealt its private cards; before a round of betting the board may get cards (`kibitz.poker.rules.acpc` has
the files, `kibitz.poker.rules.betting` the bets). At the showdown the ranking follows from the number of cards in a
hand: one is its rank; of two a pair is best, as in Leduc; three are ranked as in Rhode Island; of five to seven the
best five count. Each pot goes to the best hand among those who paid into it, and ties split it.

An infoset reads "AhKs Qd7c2s Th:rc/cc/r": the seat's cards, the board's round by round, each high to low, then what was
done: f for fold, c for check or call, r for bet or raise (without limit r300: all that the seat has put in), "/" where
a round ended.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, isinf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz import cards as playing
from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.games.plugins import plugin_of
from kibitz.games.protocol import CHANCE, TERMINAL, Action
from kibitz.poker.rules import acpc, betting
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets, BettingTree
from kibitz.poker.rules.cards import Cards, cards_of, text_of

if TYPE_CHECKING:
    from kibitz.games.leduc import Leduc
    from kibitz.games.machine import Machine
    from kibitz.poker.rules.counts import PokerSize


class PokerHistory(NamedTuple):
    """Where a hand stands. Cards are rank * 4 + suit, and those that came together lie high to low."""

    turn: int
    hole: tuple[Cards, ...]  # the seats' private cards, as far as dealt
    board: tuple[Cards, ...]  # by round, without the rounds that have none
    bets: Bets
    done: str


@dataclass(frozen=True)
class Poker:
    """Poker by a definition.

    spec   how to call it again; a definition that is in no file has none
    full   of an action abstraction: the definition that has all bets
    """

    definition: Definition
    spec: str = field(default="", compare=False)
    full: Definition | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        name = self.definition.name
        if not self.spec and name in acpc.shipped() and acpc.read(name) == self.definition:
            object.__setattr__(self, "spec", str(_spec_of({"file": name})))

    @property
    def players(self) -> int:
        return self.definition.players

    @property
    def plugin(self) -> str:
        """Forms, buckets and blueprints of poker (`kibitz.poker.plugin`)."""
        return "poker"

    @property
    def whole(self) -> Poker:
        """The game with every bet that its definition allows; itself where none was taken out."""
        if self.full is None and not self.definition.bets:
            return self
        return Poker(self.full or replace(self.definition, bets=()), self._without(FEWER))

    def fewer(self, said: str) -> Poker | None:
        """The action abstraction that a spec names, if all but its bets is this game; no file is opened for it."""
        try:
            spec = specs.parse(said)
        except SpecError:
            return None
        dropped = {key: value for key, value in spec.args.items() if key in FEWER}
        if not self.spec or not dropped or str(_spec_without(spec, FEWER)) != self.spec:
            return None
        return _fewer(self.definition, specs.call(_dropped, specs.Spec(spec.name, dropped)), str(spec))

    def _without(self, keys: tuple[str, ...]) -> str:
        return str(_spec_without(specs.parse(self.spec), keys)) if self.spec else ""

    @cached_property
    def betting(self) -> BettingTree:
        """All betting as a tree, without cards; refused where it is too large."""
        return betting.betting_tree(self.definition)

    @cached_property
    def least_histories(self) -> int:
        """Histories of the whole tree: all of them, or at least one a deal where the betting is too large to count."""
        left, hands, total = self.definition.ranks * self.definition.suits, 1, 0
        for _ in range(self.players):
            total += hands  # before a seat's cards come
            hands *= comb(left, self.definition.hole)
            left -= self.definition.hole
        deals = hands
        try:
            tree = self.betting
        except GameError:
            for cards in self.definition.board:
                deals *= comb(left, cards)
                left -= cards
            return deals
        for number, cards in enumerate(self.definition.board):
            here, waiting = tree.round == number, tree.turn == CHANCE
            if cards:
                total += int((here & waiting).sum()) * deals
                deals *= comb(left, cards)
                left -= cards
            total += int((here & ~waiting).sum()) * deals
        return total

    @cached_property
    def _start(self) -> Bets:
        return betting.start(self.definition)

    def root(self) -> PokerHistory:
        return PokerHistory(CHANCE, (), (), self._start, "")

    def turn(self, state: PokerHistory) -> int:
        return state.turn

    def actions(self, state: PokerHistory) -> tuple[str, ...]:
        return betting.actions(self.definition, state.bets)

    def _left(self, state: PokerHistory) -> list[int]:
        """The cards that are still in the deck."""
        gone = {card for cards in (*state.hole, *state.board) for card in cards}
        return [card for card in self.definition.deck if card not in gone]

    def _due(self, state: PokerHistory) -> int:
        """How many cards come next."""
        if len(state.hole) < self.players:
            return self.definition.hole
        return self.definition.board[state.bets.round]

    def chance(self, state: PokerHistory) -> list[tuple[Action, float]]:
        left, due = self._left(state), self._due(state)
        probability = 1 / comb(len(left), due)
        return [(text_of(cards), probability) for cards in combinations(left, due)]

    def sample(self, state: PokerHistory, rng: random.Random) -> Action:
        """An outcome by its chance, without a list of all of them."""
        return text_of(rng.sample(self._left(state), self._due(state)))

    def after(self, state: PokerHistory, action: Action) -> PokerHistory:
        _, hole, board, bets, done = state
        text = str(action)
        if state.turn != CHANCE:
            return self._dealt(hole, board, betting.act(self.definition, bets, text), done + betting.letters(text))
        if len(hole) < self.players:
            hole = (*hole, cards_of(text))
            return self._dealt(hole, board, bets, done)
        return self._dealt(hole, (*board, cards_of(text)), *self._next_round(bets, done))

    def _next_round(self, bets: Bets, done: str) -> tuple[Bets, str]:
        return betting.deal(self.definition, bets), done + ("/" if bets.round else "")

    def _dealt(self, hole: tuple[Cards, ...], board: tuple[Cards, ...], bets: Bets, done: str) -> PokerHistory:
        """The hand with whose turn it is; rounds that begin without cards begin at once."""
        if len(hole) < self.players:
            return PokerHistory(CHANCE, hole, board, bets, done)
        while bets.turn == CHANCE and not self.definition.board[bets.round]:
            bets, done = self._next_round(bets, done)
        return PokerHistory(bets.turn, hole, board, bets, done)

    def infoset(self, state: PokerHistory) -> str:
        return f"{' '.join(map(text_of, (state.hole[state.turn], *state.board)))}:{state.done}"

    def view(self, state: PokerHistory, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(the seat's cards, what was done by all, and the board, round by round); a showdown shows the cards."""
        own = state.hole[seat] if seat < len(state.hole) else ()
        board, public = iter(state.board), []
        for number, said in enumerate(state.done.split("/")):
            cards = next(board, ()) if self.definition.board[number] else ()
            public += [text_of(cards)] if cards else []
            public += betting.words(said)
        folded = state.bets.folded
        if state.turn == TERMINAL and sum(folded) < self.players - 1:
            shown = [each for each in range(self.players) if not folded[each]]
            public += [f"seat {each} shows {text_of(state.hole[each])}" for each in shown]
        return tuple(playing.NAMES[card] for card in own), tuple(public)

    @property
    def help(self) -> str:
        known, size = self.definition, self.definition.shown
        board = ", ".join(str(cards) for cards in known.board)
        best = {1: "The highest card wins.", 2: "A pair wins, else the highest card."}.get(size, "The best hand wins.")
        raises = (
            f"A raise adds {', '.join(map(str, known.raise_size))}, by round."
            if known.limit
            else "r300 is a raise to 300, counted from the beginning of the hand."
        )
        return (
            f"Each gets {known.hole} card{'s' * (known.hole > 1)}. There are {known.rounds} rounds of betting, before "
            f"which {board} cards come on the board.\nA call without a bet is a check. {raises}\n"
            f"{best} Ties split the pot."
        )

    def is_outcome(self, state: PokerHistory, outcome: Action) -> bool:
        """Whether these cards can come next."""
        text = str(outcome)
        names = [text[k : k + 2] for k in range(0, len(text), 2)]
        cards = [playing.NUMBERS.get(name, -1) for name in names]
        possible = len({*cards} & {*self._left(state)}) == len(cards) == self._due(state)
        return possible and text_of(cards) == text

    def hand(self, infoset: str) -> tuple[str, str, str]:
        """(private card, board card or "", betting) of an infoset: what card abstractions read."""
        if self.definition.hole > 1 or sum(self.definition.board) > 1:
            raise GameError(
                f"{self.spec or 'this poker game'} has hands of {self.definition.shown} cards: abstractions by "
                "private and board card are for one card of each, as in leduc"
            )
        cards, _, done = infoset.partition(":")
        private, _, board = cards.partition(" ")
        return private, board, done

    def private(self, infoset: str) -> tuple[str, int]:
        """(ranks that the seat holds, betting round) of an infoset; of two cards "AKs", "AKo" or "AA"."""
        cards, _, done = infoset.partition(":")
        own = cards.partition(" ")[0]
        ranks = own[::2]
        if len(ranks) == 2 and ranks[0] != ranks[1]:
            ranks += "s" if own[1] == own[3] else "o"
        return ranks, done.count("/") + 1

    def payoff(self, state: PokerHistory) -> list[float]:
        paid, folded = state.bets.paid, state.bets.folded
        board = [card for cards in state.board for card in cards]
        values = [0] * self.players
        if sum(folded) < self.players - 1:
            values = [_value((*cards, *board)) for cards in state.hole]
        won = winnings(paid, folded, values)
        return [took - gave for took, gave in zip(won, paid, strict=True)]

    def agents(self) -> Mapping[str, Any]:
        """Players that need a strategy to play from, by name."""
        return plugin_of(self).agents(self)

    def counts(self) -> PokerSize:
        """How large the game is, without laying it out."""
        from kibitz.poker.rules.counts import counts_of

        return counts_of(self.definition, lambda: self.betting)

    def machine(self) -> Machine:
        """The compiled rules, for walks and matches."""
        machine: Machine = plugin_of(self).machine(self)
        return machine

    def machine_by_rounds(self) -> Machine:
        """The same with betting by rounds, even where a tree would fit."""
        machine: Machine = plugin_of(self).machine(self, by_rounds=True)
        return machine


FEWER = ("bets", "raises")  # parameters that take bets out


def poker(
    file: str,
    ranks: int = 0,
    suits: int = 0,
    stack: int = 0,
    bets: Sequence[float | str] = (),
    raises: int = 0,
) -> Poker:
    """The game of a .game file, or one that comes with kibitz: poker(file=holdem.limit.2p).

    ranks, suits   a smaller deck: the highest ranks, the first suits
    stack          the chips of every seat
    bets           without limit, the only sizes of bets, in pots: [0.5, 1, allin]
    raises         at most so many bets and raises in a round
    A strategy of such an action abstraction plays the game with all bets too (kibitz.poker.nolimit.translation).
    What is the same in the file is left out of the spec: two spellings of one game have one spec.
    """
    if not isinstance(file, str):
        raise SpecError(f"poker: file={specs.show(file)} should be a path that ends in .game, or a name")
    read = acpc.read(file)
    before = {"ranks": read.ranks, "suits": read.suits, "stack": _one_stack(read)}
    asked = {"ranks": ranks, "suits": suits, "stack": stack}
    changed = {key: value for key, value in asked.items() if value and value != before[key]}
    if changed:
        stacks = (stack,) * read.players if stack else read.stacks
        read = replace(read, ranks=ranks or read.ranks, suits=suits or read.suits, stacks=stacks)
    said = {"file": os.path.normpath(file) if file.endswith(".game") else file, **changed}
    dropped = _dropped(bets, raises)
    if dropped.get("raises", 0) >= max(read.max_raises):
        del dropped["raises"]
    if "bets" in dropped and acpc.sizes_of(dropped["bets"]) == read.bets:
        del dropped["bets"]
    if not dropped:
        return Poker(read, str(_spec_of(said)))
    return _fewer(read, dropped, str(_spec_of({**said, **dropped})))


def _one_stack(known: Definition) -> int:
    """The chips of every seat; 0 where seats have different ones, or chips without end."""
    return known.stacks[0] if known.stacks and len(set(known.stacks)) == 1 else 0


def _spec_of(said: dict[str, Any]) -> specs.Spec:
    """The spec of a poker game; Rhode Island hold'em with another deck has a name of its own."""
    rest = {key: value for key, value in said.items() if key != "file"}
    if said["file"] == "rhode_island" and rest.keys() <= {"ranks", "suits"}:
        return specs.Spec("rhode_island", rest)
    return specs.Spec("poker", said)


def _dropped(bets: Sequence[float | str] = (), raises: int = 0) -> dict[str, Any]:
    """The parameters of an action abstraction, in the one way of writing them."""
    try:
        sizes = acpc.sizes_of(bets)
    except ValueError as error:
        raise SpecError(f"poker: bets={specs.brief(bets)}: {error}") from None
    if not 0 <= raises <= acpc.NO_CAP:
        raise SpecError(f"poker: raises={raises} should be 1 to {acpc.NO_CAP}")
    words = [acpc.ALL_IN if isinf(size) else int(size) if size == int(size) else size for size in sizes]
    return {key: value for key, value in (("bets", words), ("raises", raises)) if value}


def _fewer(full: Definition, dropped: dict[str, Any], spec: str) -> Poker:
    """The game of a definition without some of its bets."""
    bets, raises = acpc.sizes_of(dropped.get("bets", ())) or full.bets, dropped.get("raises", acpc.NO_CAP)
    fewer = replace(full, bets=bets, max_raises=tuple(min(raises, most) for most in full.max_raises))
    return Poker(fewer, spec, full)


def _spec_without(spec: specs.Spec, keys: Sequence[str]) -> specs.Spec:
    left = {key: value for key, value in spec.args.items() if key not in keys}
    return _spec_of(left) if spec.name == "poker" and "file" in left else specs.Spec(spec.name, left)


def rhode_island(ranks: int = 13, suits: int = 4) -> Poker:
    """Rhode Island hold'em, perhaps with a smaller deck: the highest ranks, the first suits."""
    whole = acpc.read("rhode_island")
    changed = {key: value for key, value in [("ranks", ranks), ("suits", suits)] if value != getattr(whole, key)}
    return Poker(replace(whole, ranks=ranks, suits=suits), str(specs.Spec("rhode_island", changed)))


def strength(cards: ArrayLike) -> NDArray[np.int64]:
    """What hands are worth at the showdown: cards [..., 1, 2, 3 or 5 to 7] -> integers [...], larger is better."""
    hands = np.asarray(cards)
    size = hands.shape[-1] if hands.ndim else 0
    if size not in acpc.RANKED:
        raise GameError(f"hands of {size} cards cannot be ranked; hands of 1, 2, 3, 5, 6 and 7 cards can")
    if size > 2:
        return playing.evaluate_three(hands) if size == 3 else playing.evaluate(hands)
    ranks = hands.astype(np.int64) >> 2
    if size == 1:
        return np.asarray(ranks[..., 0])
    high, low = ranks.max(-1), ranks.min(-1)
    # A pair is above all others. Of two cards without one the higher counts first, which on a shared board is to say
    # that the private card decides.
    return np.asarray(np.where(high == low, 13 * 13 + high, 13 * high + low))


@lru_cache(maxsize=1 << 16)
def _value(cards: Cards) -> int:
    return int(strength(cards))


def winnings(paid: Sequence[int], folded: Sequence[bool], values: Sequence[int]) -> list[float]:
    """What each seat takes out of the pots. values: larger is better; those of folded seats do not count.

    A pot is what all who paid as much put in beyond the pot before; who paid less has no part in it. The highest is
    perhaps of one seat alone: what nobody called goes back.
    """
    won = [0.0] * len(paid)
    below = 0
    for level in sorted(set(paid) - {0}):
        seats = [seat for seat, chips in enumerate(paid) if chips >= level]
        pot = (level - below) * len(seats)
        best = max(values[seat] for seat in seats if not folded[seat])
        winners = [seat for seat in seats if not folded[seat] and values[seat] == best]
        for seat in winners:
            won[seat] += pot / len(winners)
        below = level
    return won


def leduc_as_poker(leduc: Leduc) -> Poker:
    """Leduc hold'em by the general rules of poker, for the tools of poker; two players."""
    if leduc.players != 2:
        raise GameError(f"{leduc.spec} has {leduc.players} players, and tools of poker are for two")
    twice = (leduc.ante, leduc.ante), leduc.bets, (0, 0), (leduc.cap, leduc.cap)
    return Poker(Definition(True, 2, 2, None, *twice, leduc.suits, leduc.ranks, 1, (0, 1)), leduc.spec)
