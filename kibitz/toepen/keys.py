"""Abstractions of Toepen by name: the two lossless renamings of suits and the thesis' six lossy rules.

`key(rules, state)` of each gives the bucket of the seat to move; buckets of different seats are never the same. All
lossy rules stand on the thesis' renaming of suits, so cards in their keys have the names of `thesis_names`. With
hands and cards played as they are under that name, and `actions` the number of actions (two or more; a move without a
choice is no decision), the keys are exactly these. Sizes are those of suits=3, ranks=3, hand=3 with
follow_suit=false, and the thesis'.

    isomorphic         hand held, history                                                                       376,958
    naive              actions                                                                                        4
    simple-history     hand held, actions                                                                           166
    simple-hand        history, actions                                                                         209,829
    advanced-hand      figures of the hand held, history, actions                                               333,449
    advanced-history   hand held, cards played in order, ante, actions                                          176,448
    advanced-combined  figures of the hand held, cards played in order, ante, actions                           155,586
    maximal            maximal_key: hand held and history, with suits renamed as far as can be                  228,065

*History* is all words said and cards played by either, in order, checks without a choice too. *Hand held* is the set
of cards that the seat has not played yet. *Ante* is what is won as things stand: 1 and the calls so far, so a bet
that waits for its answer does not count. *Figures of the hand* are three numbers about the cards held: the sum of
their ranks, by position 0 to 7 in JQKA789T (the number of cards follows from the history, so this is their average);
how many have a rank above the average of the deck's ranks, (15 - ranks) / 2; and how many suits there are among them.
All are 0 for an empty hand.

The keys do not say whether a bet or a card is due. `advanced-history`, `advanced-combined`, `simple-history` and
`naive` thus let a choice of two cards read the same row as check and bet: that is how the thesis' numbers come about.
Columns of a row are matched by position, in the order of actions.

*How lossless.* With `isomorphic` and `maximal` the abstract game has the value of the game, and a strategy that treats
tied suits alike (the same signature: all that the seat knows of them is the same) loses nothing. But the two cards of
such suits are two columns, and an equilibrium of the abstract game may prefer one of them, the one that comes first in
the order c d h s. The abstract opponent cannot see that, a real one can: with suits=3, ranks=2, hand=2 the exact
abstract solution by lp is exploited for 0.13 in the game, and so is what MCCFR finds. CFR that starts uniform and
samples nothing keeps tied cards equal. Solving with `maximal` makes tied cards equally likely where the answer is
lifted to the game, which mends it; under `isomorphic` names of tied suits live on in later keys, and nothing does. A
game of perfect recall in which tied cards are one action is the one with symmetric=true (its strategies come back by
`kibitz.forms.quotient.unfold`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from kibitz.games.protocol import Buckets
from kibitz.toepen.arrays import Labels, keys_of_states, ties_of_states
from kibitz.toepen.states import ToepenRules, ToepenState, maximal_key, thesis_key, thesis_names

Key: TypeAlias = Callable[[ToepenRules, ToepenState], Hashable]


def buckets(rules: ToepenRules) -> Mapping[str, Buckets]:
    """The table of a game's method `buckets`."""

    def of(key: Key) -> Callable[[int, str], Hashable]:
        return lambda seat, infoset: key(rules, rules.read(seat, infoset))

    def at_once(name: str) -> Callable[[Sequence[str]], Any]:
        """The keys of all infosets by the compiled twin, [I]; None unless the state machine has laid the tree out."""
        return lambda labels: keys_of_states(rules, labels.examples, name) if isinstance(labels, Labels) else None

    table = {name: Buckets(of(key), about, True, at_once(name)) for name, (key, about) in KEYS.items()}
    table["maximal"] = table["maximal"]._replace(ties=partial(ties, rules), all_ties=partial(compiled_ties, rules))
    return table


def ties(rules: ToepenRules, seat: int, infoset: str) -> list[int]:
    """For each action the first one that is the same to the seat but for the name of a suit."""
    _, kinds = rules.kinds(seat, infoset)
    actions = list(rules.actions(rules.read(seat, infoset)))
    first = {action: actions.index(same[0]) for same in kinds.values() for action in same}
    return [first[action] for action in actions]


def compiled_ties(rules: ToepenRules, labels: Sequence[str]) -> Any:
    """The same for all infosets at once, [I, 4], if the state machine has laid the tree out."""
    return ties_of_states(rules, labels.examples) if isinstance(labels, Labels) else None


# What keys are made of


def _hand(rules: ToepenRules, state: ToepenState) -> str:
    return thesis_key(state, state.turn).partition(" |")[0]


def _history(rules: ToepenRules, state: ToepenState) -> str:
    return thesis_key(state, state.turn).partition(" |")[2]


def _played(rules: ToepenRules, state: ToepenState) -> tuple[str, int]:
    """(cards played in order, ante)."""
    called = thesis_names(state.dealt[state.turn])
    return " ".join(called[card] for card in state.plays), state.ante


def _figures(rules: ToepenRules, state: ToepenState) -> tuple[int, int, int]:
    """(sum of ranks, ranks above the deck's average, suits) of the hand held."""
    ranks = [card % 8 for card in state.held[state.turn]]
    suits = {card // 8 for card in state.held[state.turn]}
    return sum(ranks), sum(2 * rank > 15 - rules.ranks for rank in ranks), len(suits)


def _of(*parts: Key) -> Key:
    """The key that has some parts, and the number of actions."""
    return lambda rules, state: (*(part(rules, state) for part in parts), len(rules.actions(state)))


KEYS: dict[str, tuple[Key, str]] = {
    "isomorphic": (lambda _, state: thesis_key(state, state.turn), "lossless: suits renamed by the dealt hand"),
    "maximal": (
        lambda _, state: maximal_key(state, state.turn), "lossless: suits renamed by the dealt hand and the history",
    ),
    "naive": (_of(), "the number of actions alone"),
    "simple-history": (_of(_hand), "the hand without the history"),
    "simple-hand": (_of(_history), "the history without the hand"),
    "advanced-hand": (_of(_figures, _history), "figures of the hand, and the history"),
    "advanced-history": (_of(_hand, _played), "the hand, the cards played and the ante"),
    "advanced-combined": (_of(_figures, _played), "figures of the hand, the cards played and the ante"),
}  # fmt: skip
