"""Multiway: a flop, turn or river with two to six players, from what a person writes; and its betting tree.

Players act in the order of their ranges on every street. Each has put an equal share of the pot in when it begins;
payoffs are counted from there. Stacks may differ: whoever is all in for less plays for the pots that it has paid into.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import names
from kibitz.cards.ranges import HANDS, Range, hand_cards
from kibitz.core.errors import GameError
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets, BettingTree, betting_tree
from kibitz.poker.spots.offers import SizeRule, raises_to
from kibitz.poker.spots.reading import BETS, RAISES, board_of, caps_of, number_of, range_of, share_of, size_table
from kibitz.poker.spots.sizes import BetSize, text_of_sizes
from kibitz.poker.spots.spot import STREETS, in_deck, meeting, met

Floats = NDArray[np.float64]
NAMES = {2: ("OOP", "IP"), 3: ("OOP", "MID", "IP")}
MOST_PLAYERS = 6
MOST_NODES = 2_000_000
LEAST_ACCEPTED = 1e-4  # of random hands of the ranges, those that share no card: drawing others takes for ever
TRIALS = 20_000
OPTIONS = ("max_raises", "force_allin", "chip", "deck", "dead", "rake", "rake_cap")


class Dealt(Protocol):
    """A board, and the hands that players may hold there."""

    @property
    def board(self) -> tuple[int, ...]: ...
    @property
    def live(self) -> Floats: ...
    def hands(self, seat: int) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Multiway:
    """A question: everything that a solution depends on."""

    board: tuple[int, ...]
    ranges: Floats  # [players, 1326]  weights 0 to 1, the first to act first
    pot: float
    stacks: tuple[float, ...]  # chips behind
    bets: tuple[tuple[BetSize, ...], ...]  # by street: flop, turn, river
    raises: tuple[tuple[BetSize, ...], ...]
    max_raises: tuple[int, int, int] = (2, 2, 2)  # bets and raises on a street
    force_allin: float = 0.0
    chip: float = 1.0
    deck: tuple[int, int] = (13, 4)
    texts: tuple[str, ...] = ()
    rake: float = 0.0  # share of the pot
    rake_cap: float = math.inf  # chips

    def __post_init__(self) -> None:
        if why := _fault(self):
            raise GameError(why)

    @property
    def players(self) -> int:
        return len(self.ranges)

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES.get(self.players, tuple(f"P{k + 1}" for k in range(self.players)))

    @property
    def street(self) -> int:
        """0 flop, 1 turn, 2 river."""
        return len(self.board) - 3

    @property
    def unit(self) -> float:
        """Chips in a unit of the betting tree: the pot and the smallest chip can be divided among the players."""
        return self.chip / self.players

    @property
    def live(self) -> Floats:
        """[players, 1326]  the ranges without hands that the board or the deck rules out."""
        return np.where(met(self.board) | ~in_deck(self.deck), 0.0, self.ranges)

    @property
    def share(self) -> int:
        """Units that each has put in before."""
        return round(self.pot / self.chip)

    @cached_property
    def definition(self) -> Definition:
        game = self._rules
        assert game.stacks is not None
        return replace(game, stacks=tuple(stack + self.share for stack in game.stacks),
                       blinds=(self.share,) * self.players)  # fmt: skip

    @cached_property
    def _rules(self) -> Definition:
        """The rules of the betting that is still to come."""
        rounds = 3 - self.street
        return Definition(
            limit=False, players=self.players, rounds=rounds,
            stacks=tuple(self.players * round(stack / self.chip) for stack in self.stacks),
            blinds=(0,) * self.players, raise_size=(), first_player=(0,) * rounds,
            max_raises=self.max_raises[self.street :], suits=self.deck[1], ranks=self.deck[0], hole=2,
            board=(len(self.board), *(1,) * (rounds - 1)), name=f"the spot {names(self.board)}",
        )  # fmt: skip

    @cached_property
    def betting(self) -> BettingTree:
        rule = SizeRule(self.share * self.players, self.players, self.players, self.force_allin)

        def offer(game: Definition, bets: Bets) -> tuple[str, ...]:
            sizes = (self.raises if bets.raises else self.bets)[self.street + bets.round]
            facing = bets.paid[bets.turn] < max(bets.paid)
            return (*(("fold",) if facing else ()), "call",
                    *(f"r{total}" for total in raises_to(game, bets, sizes, rule)))  # fmt: skip

        try:
            tree = betting_tree(self._rules, MOST_NODES, offer)
        except GameError:
            raise GameError(f"the betting has more than {MOST_NODES:,} nodes: give fewer sizes (bets, raises), a lower "
                            "max_raises, or a larger force_allin") from None  # fmt: skip
        return replace(tree, definition=self.definition, paid=tree.paid + self.share)

    def hands(self, seat: int) -> NDArray[np.int64]:
        """Numbers of the hands of a range."""
        return np.flatnonzero(self.live[seat])


def multiway(
    board: str | Sequence[int], ranges: Sequence[str | Range | Floats], pot: Any, stacks: Any, bets: Any = BETS,
    raises: Any = RAISES, **options: Any,
) -> Multiway:  # fmt: skip
    """A spot with several players from what a person writes.

    board     three to five cards, "Qs Jh 2h"
    ranges    of each player, the first to act first: texts as of kibitz.cards.parse_range, or 1,326 weights
    stacks    chips behind: one number, or one for each player; side pots follow from them
    bets, raises, max_raises, force_allin, chip, dead   as of kibitz.spot, the same for all players
    rake, rake_cap   share of all pots together, and chips; who takes a part of the pots pays that part of the rake
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise GameError(f"a spot with several players has no option {unknown[0]!r}: there are {', '.join(OPTIONS)}")
    if isinstance(ranges, str) or not 2 <= len(ranges) <= MOST_PLAYERS:
        raise GameError(f"give ranges of 2 to {MOST_PLAYERS} players, the first to act first")
    cards = board_of(board)
    labels = NAMES.get(len(ranges), tuple(f"P{k + 1}" for k in range(len(ranges))))
    weights = [range_of(source, player, cards) for source, player in zip(ranges, labels, strict=True)]
    chips = number_of("pot", pot) + number_of("dead", options.get("dead", 0.0))
    behind = _stacks(stacks, len(ranges))
    whole = all(number == int(number) for number in (chips, *behind))
    chip = number_of("chip", options["chip"]) if options.get("chip") else 1.0 if whole else 0.01
    deck = tuple(options.get("deck", (13, 4)))
    return Multiway(
        cards, np.where(~in_deck((deck[0], deck[1])), 0.0, [each for each, _ in weights]), chips, behind,
        _sizes("bets", bets), _sizes("raises", raises), caps_of(options.get("max_raises", 2)),
        share_of("force_allin", options.get("force_allin", 0.0)), chip, (deck[0], deck[1]),
        tuple(text for _, text in weights), share_of("rake", options.get("rake", 0.0)),
        number_of("rake_cap", options.get("rake_cap", math.inf)),
    )  # fmt: skip


def written(question: Multiway) -> dict[str, Any]:
    """Plain data from which `multiway` makes the same question. Ranges without a text are left to the caller."""
    data: dict[str, Any] = {
        "board": names(question.board), "ranges": list(question.texts), "pot": question.pot,
        "stacks": list(question.stacks), "max_raises": list(question.max_raises), "force_allin": question.force_allin,
        "chip": question.chip, "rake": question.rake,
    }  # fmt: skip
    for name in ("bets", "raises"):
        data[name] = {street: text_of_sizes(sizes)
                      for street, sizes in zip(STREETS, getattr(question, name), strict=True)}  # fmt: skip
    if question.rake_cap < math.inf:
        data["rake_cap"] = question.rake_cap
    if question.deck != (13, 4):
        data["deck"] = list(question.deck)
    return data


def _sizes(name: str, source: Any) -> tuple[tuple[BetSize, ...], ...]:
    streets = []
    for first, second in size_table(name, source, of_raises=True):
        if first != second:
            raise GameError(f"{name}: with several players sizes are the same for all of them; leave OOP and IP out")
        if any(size.kind == "times" for size in first or ()):
            raise GameError(f"{name}: with several players write shares of the pot, such as 60%, not multiples of bets")
        streets.append(first or ())
    return tuple(streets)


def _stacks(source: Any, players: int) -> tuple[float, ...]:
    if isinstance(source, str):
        source = [word for word in re.split(r"[\s,/]+", source.strip()) if word] or [""]
    amounts = [number_of("stacks", each) for each in (source if isinstance(source, list | tuple) else [source])]
    if len(amounts) not in (1, players):
        raise GameError(f"stacks: give one number, or one for each of {players} players, not {len(amounts)}")
    return tuple(amounts * (players // len(amounts)))


def _fault(question: Multiway) -> str | None:
    board = question.board
    if not 3 <= len(board) <= 5 or len(set(board)) < len(board):
        return f"a board has three, four or five cards, each once, not {names(board)}"
    if any(card // 4 < 13 - question.deck[0] or card % 4 >= question.deck[1] for card in board):
        return f"the board {names(board)} has a card that is not in the deck"
    if question.deck[0] * question.deck[1] < 5 + 2 * question.players:
        return "the deck has too few cards for these players and a board"
    if question.ranges.shape[1:] != (HANDS,) or not np.isfinite(question.ranges).all() or (question.ranges < 0).any():
        return f"a range has a weight, 0 or more, for each of {HANDS:,} hands"
    for player, weights in zip(question.names, question.live, strict=True):
        if not weights.any():
            return f"the range of {player} holds no hand beside the board {names(board)}"
    numbers = {"the pot": question.pot, "the smallest chip": question.chip}
    numbers |= {"a stack": min(question.stacks)}
    for what, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            return f"{what} should be above 0 chips, not {number:g}"
    for number in (question.pot, *question.stacks):
        if not number / question.chip < 2**26 or abs(number / question.chip - round(number / question.chip)) > 1e-6:
            return f"{number:g} is not a whole number of the smallest chip, {question.chip:g}, or too many of them"
    if not 0.0 <= question.force_allin <= 1e6:
        return f"force_allin should be a share of the pot, 0 or more, not {question.force_allin:g}"
    if not 0.0 <= question.rake < 1.0 or not question.rake_cap >= 0.0:
        return "rake is a share of the pot, 0 to 1, and its cap a number of chips"
    if accepted(question.live) < LEAST_ACCEPTED:
        return "the ranges hold hardly any hands that share no card: give wider ones"
    return None


# Hands that can be dealt together


def accepted(ranges: Floats, seed: int = 0) -> float:
    """Of hands drawn from ranges [players, 1326], the share that have no card in common: an estimate."""
    draw = np.random.default_rng(seed)
    cards = []
    for weights in ranges:
        numbers = np.flatnonzero(weights)
        chosen = draw.choice(numbers, TRIALS, p=weights[numbers] / weights[numbers].sum())
        cards.append(hand_cards()[chosen])
    every = np.sort(np.concatenate(cards, axis=1), axis=1)
    apart = np.all([every[:, a] != every[:, b] for a, b in pairwise(range(every.shape[1]))], axis=0)
    return float(apart.mean())


def weight_of_deals(ranges: Floats) -> float:
    """The weights of all deals from ranges, summed: exact for two and three players, an estimate for more."""
    if not ranges.any(axis=1).all():
        return 0.0
    if len(ranges) > 3:
        return float(ranges.sum(axis=1).prod()) * accepted(ranges)
    if len(ranges) == 2:
        return float(ranges[0] @ meeting(ranges[1]))
    total = 0.0
    cards, third = hand_cards(), ranges[2]
    for hand in np.flatnonzero(ranges[0]).tolist():
        gone = met(tuple(cards[hand].tolist()))
        left = meeting(np.where(gone, 0.0, third))
        total += float(ranges[0, hand] * (np.where(gone, 0.0, ranges[1]) @ left))
    return total


# Rake


def raked(paid: Sequence[int], won: Sequence[float], rake: float, cap: float) -> list[float]:
    """What seats take out of the pots after rake. won: before it.

    Rake is a share of the chips that were called, at most `cap`. A bet that nobody called is returned without rake.
    Each winner pays in proportion to what it wins.
    """
    second, top = sorted(paid)[-2:]
    pot = sum(paid) - (top - second)
    keep = 1.0 - min(rake * pot, cap) / pot
    back = [top - second if chips == top else 0 for chips in paid]
    return [keep * (chips - own) + own for chips, own in zip(won, back, strict=True)]
