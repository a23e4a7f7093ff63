"""Preflop: a question about play before the flop, from what a person writes; and its betting tree.

    question = preflop(stacks=20, opens="2.5bb, allin", threebets="3x, allin")

Seats are in the order in which they act before the flop, as in push/fold hands: with two players the small blind, who
has the button, and the big blind; with three the button, the small and the big blind. After the flop there are a few
bet sizes and buckets of hands (postflop="buckets"); or there is no betting at all, and hands that are not folded are
shown down (postflop="none").
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets, BettingTree, betting_tree
from kibitz.poker.spots.offers import SizeRule, raises_to
from kibitz.poker.spots.reading import caps_of, number_of, share_of, size_table
from kibitz.poker.spots.sizes import BetSize, sizes_of
from kibitz.poker.tournaments.hand import JamFoldHand

CHIPS = 100  # of a big blind: amounts are rounded to hundredths
MOST_PLAYERS = 6
MOST_NODES = 2_000_000  # of a betting tree
OPENS, THREEBETS, FOURBETS = "2.5bb, allin", "3x, allin", "2.3x, allin"
BETS, RAISES, MAX_RAISES, FORCE_ALLIN = "50%, allin", "60%, allin", 2, 0.15
BUCKETS = "percentile([169, 20, 20, 20], recall=false)"
POSTFLOP = ("buckets", "none")
OPTIONS: dict[str, Any] = {
    "blinds": "0.5/1", "ante": 0, "limps": True, "bets": BETS, "raises": RAISES, "max_raises": MAX_RAISES,
    "force_allin": FORCE_ALLIN, "abstraction": BUCKETS, "deck": (13, 4),
}  # fmt: skip
Streets = tuple[tuple[tuple[BetSize, ...], tuple[BetSize, ...]], ...]  # flop, turn, river: out of position, in position


@dataclass(frozen=True)
class Preflop:
    """A question: everything that a solution depends on. Amounts are in the unit of the blinds."""

    stacks: tuple[float, ...]
    blinds: tuple[float, float] = (0.5, 1.0)
    ante: float = 0.0  # of each player
    opens: tuple[tuple[BetSize, ...], ...] = ()  # the first raise, the second (3-bet), the third; later ones are all in
    limps: bool = True
    postflop: str = "buckets"
    bets: Streets = ()
    raises: Streets = ()
    max_raises: tuple[int, int, int] = (MAX_RAISES,) * 3  # bets and raises on flop, turn and river
    force_allin: float = 0.0  # a bet after whose call less than this share of the pot is behind is all in
    abstraction: str = BUCKETS
    deck: tuple[int, int] = (13, 4)  # ranks (the highest) and suits (the first): smaller decks are for tests

    def __post_init__(self) -> None:
        if why := _fault(self):
            raise GameError(why)

    @property
    def players(self) -> int:
        return len(self.stacks)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the seats."""
        return JamFoldHand(self.players).names

    @property
    def unit(self) -> float:
        """What one chip of the betting tree is."""
        return self.blinds[1] / CHIPS

    def chips(self, amount: float) -> int:
        return round(amount / self.unit)

    @property
    def is_exact(self) -> bool:
        """Whether all cards are counted: two players, no betting after the flop."""
        return self.players == 2 and self.postflop == "none"

    @cached_property
    def definition(self) -> Definition:
        """The rules with all that players have put in, antes too."""
        ante = self.chips(self.ante)
        game = _rules(self)
        assert game.stacks is not None
        return replace(game, stacks=tuple(stack + ante for stack in game.stacks),
                       blinds=tuple(blind + ante for blind in game.blinds))  # fmt: skip

    @cached_property
    def betting(self) -> BettingTree:
        """All betting. Without betting after the flop it ends with the first round."""
        game = _rules(self)
        if self.postflop == "none":
            game = replace(game, rounds=1, first_player=game.first_player[:1], max_raises=game.max_raises[:1],
                           board=(0,))  # fmt: skip
        try:
            tree = betting_tree(game, MOST_NODES, _Offers(self))
        except GameError:
            raise GameError(f"the betting has more than {MOST_NODES:,} nodes: give fewer sizes (opens, threebets, "
                            "fourbets; bets, raises), a lower max_raises, a larger force_allin or smaller "
                            "stacks") from None  # fmt: skip
        ante = self.chips(self.ante)
        return replace(tree, definition=self.definition, paid=tree.paid + ante)


class _Offers:
    """What players may do, for `betting_tree`."""

    def __init__(self, question: Preflop) -> None:
        self.question = question
        self.rule = SizeRule(question.chips(question.ante) * question.players, 1, CHIPS, question.force_allin)

    def __call__(self, game: Definition, bets: Bets) -> tuple[str, ...]:
        raised = [f"r{total}" for total in raises_to(game, bets, self.sizes(bets), self.rule)]
        facing = bets.paid[bets.turn] < max(bets.paid)
        limp = facing and bets.round == 0 and bets.raises == 0
        passive = [] if limp and raised and not self.question.limps else ["call"]
        return (*(["fold"] if facing else []), *passive, *raised)

    def sizes(self, bets: Bets) -> Sequence[BetSize]:
        question = self.question
        if bets.round == 0:
            lists = question.opens
            return lists[bets.raises] if bets.raises < len(lists) else (BetSize("allin"),)
        table = (question.raises if bets.raises else question.bets)[bets.round - 1]
        return table[0 if question.players > 2 or bets.turn == 1 else 1]  # of two the big blind is out of position


def preflop(
    stacks: Any, opens: str = OPENS, threebets: str = THREEBETS, fourbets: str = FOURBETS, postflop: str = "buckets",
    **options: Any,
) -> Preflop:  # fmt: skip
    """A question about play before the flop, from what a person writes.

    stacks      in big blinds: one number for two players, or one for each in the order of acting, "100, 100, 100"
    opens, threebets, fourbets   sizes of the first, second and third raise: 2.5bb, 3x of the bet before, 75% of the
                pot, allin; "none" leaves them out. Later raises are all in
    postflop    "buckets": betting with `bets` and `raises` and hands in buckets of `abstraction`, trained by sampling;
                "none": no more betting. With two players all cards are then counted
    blinds      small and big, if stacks are not in big blinds: "50/100"
    ante        of each player
    limps       whether a player may call before anybody has raised
    bets, raises, max_raises, force_allin   after the flop, as of kibitz.spot
    abstraction percentile buckets with 169 classes before the flop
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        near = difflib.get_close_matches(unknown[0], OPTIONS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(OPTIONS)}"
        raise GameError(f"play before the flop has no option {unknown[0]!r}{hint}")
    chosen = {**OPTIONS, **options}
    amounts = _stacks(stacks)
    lists = [_preflop_sizes(name, text) for name, text in
             (("opens", opens), ("threebets", threebets), ("fourbets", fourbets))]  # fmt: skip
    bets, raises = (_streets(name, chosen[name], len(amounts)) for name in ("bets", "raises"))
    deck = chosen["deck"]
    return Preflop(
        amounts, _pair(chosen["blinds"]), number_of("ante", chosen["ante"]), tuple(lists), bool(chosen["limps"]),
        postflop, bets, raises, caps_of(chosen["max_raises"]), share_of("force_allin", chosen["force_allin"]),
        str(chosen["abstraction"]), (int(deck[0]), int(deck[1])),
    )  # fmt: skip


def question_of(data: dict[str, Any]) -> Preflop:
    """From plain data, as `data_of` writes it."""
    return preflop(**data)


def data_of(question: Preflop) -> dict[str, Any]:
    """Plain data from which `preflop` makes the same question."""
    from kibitz.poker.spots.sizes import text_of_sizes
    from kibitz.poker.spots.spot import STREETS

    def table(streets: Streets) -> dict[str, dict[str, str]]:
        return {street: {player: text_of_sizes(sizes) for player, sizes in zip(("OOP", "IP"), pair, strict=True)}
                for street, pair in zip(STREETS, streets, strict=True)}  # fmt: skip

    opens, threebets, fourbets = map(text_of_sizes, question.opens)
    return {
        "stacks": list(question.stacks), "blinds": list(question.blinds), "ante": question.ante, "opens": opens,
        "threebets": threebets, "fourbets": fourbets, "limps": question.limps, "postflop": question.postflop,
        "bets": table(question.bets), "raises": table(question.raises), "max_raises": list(question.max_raises),
        "force_allin": question.force_allin, "abstraction": question.abstraction, "deck": list(question.deck),
    }  # fmt: skip


# Its parts


def _rules(question: Preflop) -> Definition:
    """The rules of the betting, without antes."""
    players, ante = question.players, question.chips(question.ante)
    blinds = [0] * players
    blinds[-2:] = (question.chips(blind) for blind in question.blinds)
    after = 1 if players == 2 else players - 2  # who is first after the flop
    return Definition(
        limit=False, players=players, rounds=4, stacks=tuple(question.chips(stack) - ante for stack in question.stacks),
        blinds=tuple(blinds), raise_size=(), first_player=(0, after, after, after),
        max_raises=(len(question.opens) + 1, *question.max_raises), suits=question.deck[1], ranks=question.deck[0],
        hole=2, board=(0, 3, 1, 1), name=f"play before the flop with {players} players",
    )  # fmt: skip


def _fault(question: Preflop) -> str | None:
    players, (small, big) = question.players, question.blinds
    if not 2 <= players <= MOST_PLAYERS:
        return f"stacks: give those of 2 to {MOST_PLAYERS} players, not of {players}"
    if question.postflop not in POSTFLOP:
        return f"postflop is {' or '.join(POSTFLOP)}, not {question.postflop!r:.40}"
    if not 0 < big < math.inf or not 0 <= small <= big:
        return "blinds are small/big, such as 0.5/1, and the big blind is above 0"
    if not 0 <= question.ante <= big:
        return f"an ante is 0 to one big blind, not {question.ante:g}"
    for stack in question.stacks:
        if not 1 <= (stack - question.ante) / big <= 10_000:
            return f"a stack is 1 to 10,000 big blinds and the ante, not {stack:g}"
    for amount in (*question.stacks, small, question.ante):
        if abs(amount / question.unit - question.chips(amount)) > 1e-6:
            return f"{amount:g} is not a whole number of hundredths of a big blind"
    if not 0.0 <= question.force_allin <= 1e6:
        return f"force_allin should be a share of the pot, 0 or more, not {question.force_allin:g}"
    if 2 * players + 5 > question.deck[0] * question.deck[1]:
        return "the deck has too few cards for these players and a board"
    return None


def _pair(source: Any) -> tuple[float, float]:
    words = re.split(r"[\s,/]+", source.strip()) if isinstance(source, str) else list(source)
    if len(words) != 2:
        raise GameError(f"blinds are two numbers, small/big, such as 0.5/1, not {source!r:.40}")
    return number_of("blinds", words[0]), number_of("blinds", words[1])


def _stacks(source: Any) -> tuple[float, ...]:
    if isinstance(source, str):
        amounts = []
        for match in re.finditer(r"[^\s,/]+", source):
            try:
                amounts.append(number_of("stacks", match[0]))
            except GameError:
                raise PointedError(f"stacks: {match[0][:40]!r} is not a number of big blinds", source, match.start(),
                                   match.end()) from None  # fmt: skip
    else:
        amounts = [number_of("stacks", each) for each in (source if isinstance(source, list | tuple) else [source])]
    return (amounts[0],) * 2 if len(amounts) == 1 else tuple(amounts)


def _preflop_sizes(name: str, text: str) -> tuple[BetSize, ...]:
    if not isinstance(text, str):
        raise GameError(f"{name}: write sizes such as '2.5bb, allin', not {text!r:.40}")
    try:
        return sizes_of(text, of_raises=True, preflop=True)
    except PointedError as error:
        raise error.within(name) from None


def _streets(name: str, source: Any, players: int) -> Streets:
    """Sizes by street, of who is out of position and who is in position."""
    streets = []
    for first, second in size_table(name, source, of_raises=True):
        if players > 2 and first != second:
            raise GameError(f"{name}: OOP and IP are players of a pot for two; here there are {players} players")
        if any(size.kind == "times" for size in (*(first or ()), *(second or ()))):
            raise GameError(f"{name}: after the flop write shares of the pot, such as 60%, not multiples of a bet")
        streets.append((first or (), second or ()))
    return tuple(streets)


def rows_by_round(question: Preflop, counts: Sequence[int]) -> list[int]:
    """Rows of the abstract game, by round: decisions times buckets."""
    tree = question.betting
    decides = np.bincount(tree.round[tree.turn >= 0], minlength=len(counts))
    return [int(nodes) * count for nodes, count in zip(decides, counts, strict=True)]
