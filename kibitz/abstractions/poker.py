"""Abstractions of poker games: buckets of hands on boards, for the poker form and for the tree; profiles of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz import spec as specs
from kibitz.errors import GameError, SolverError
from kibitz.form.kinds import is_poker, is_poker_infosets
from kibitz.games import game as make_game
from kibitz.profile import Profile

if TYPE_CHECKING:
    from kibitz.abstractions.gameshrink import Shrunk
    from kibitz.form.poker.form import PokerForm
    from kibitz.form.poker.table import Buckets
    from kibitz.games import Game
    from kibitz.games.poker.rules import Poker
    from kibitz.tree import Infosets, Tree

Ints = NDArray[np.int64]


def poker_buckets(form: PokerForm, source: Any) -> tuple[str, Buckets | list[Ints]]:
    """(name, buckets) of an abstraction of a poker form.

    source  "gameshrink", "gameshrink(reading=win-count, threshold=[0, 50, 2])", a Shrunk, or buckets: for each round,
            class of hands -> bucket, for both seats or for each
    """
    from kibitz.abstractions.gameshrink import Shrunk, shrink
    from kibitz.abstractions.signals import Cards

    if isinstance(source, Shrunk):
        lossy = f", threshold={specs.show(source.threshold)}" if any(source.threshold) else ""
        return f"gameshrink(reading={source.reading}{lossy})", shrunk_buckets(form, source)
    if not isinstance(source, str):
        return "buckets", source
    spec = specs.parse(source)
    if spec.name != "gameshrink":
        raise specs.unknown("abstraction of a poker form", spec.name, ["gameshrink"])

    def gameshrink(reading: str = "strict", threshold: Any = None) -> Shrunk:
        return shrink(Cards.of(form.definition), reading, 0 if threshold is None else threshold)

    return str(spec), shrunk_buckets(form, specs.call(gameshrink, spec))


def shrunk_buckets(form: PokerForm, shrunk: Shrunk) -> list[Ints]:
    """The classes of GameShrink as buckets of a poker form: for each round, class of hands -> bucket.

    Classes that the form holds as one must be one here too.
    """
    found = []
    for level, cards in enumerate(form.cards.rounds):
        board = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
        every = shrunk.of(level, np.concatenate((cards.hands, cards.boards[board]), axis=1).astype(np.int64))
        bucket = np.empty(cards.classes, np.int64)
        bucket[cards.hand_class] = every
        if (bucket[cards.hand_class] != every).any():
            raise SolverError(f"in round {level} hands that the form holds as one are in different classes")
        found.append(np.unique(bucket, return_inverse=True)[1].astype(np.int64))
    return found


# The tree of the same game


def tree_keys(rules: Poker, infosets: Infosets, source: str) -> Ints:
    """For each infoset of a poker game's tree what it shares a row by: "suits", or a name that the poker form knows."""
    from kibitz.form.poker.form import poker_form

    form = poker_form(rules)
    mine, node, number = form.infosets.places(infosets)
    if specs.parse(source).name == "suits":
        specs.call(lambda: None, specs.parse(source))
        return mine
    _, found = poker_buckets(form, source)
    by_seat = found if isinstance(found, tuple) else (found, found)
    level, seat = form.betting.round[node], form.betting.turn[node]
    bucket = np.empty(len(node), np.int64)
    for who, of_seat in enumerate(by_seat):
        for at, of in enumerate(of_seat):
            here = (level == at) & (seat == who)
            bucket[here] = of[number[here]]
    return node * (int(bucket.max(initial=0)) + 1) + bucket


def on_tree(tree: Tree, profile: Profile, rules: Game | None = None) -> Profile:
    """A profile of a poker form as one of the same game's tree; any other profile as it is.

    Hands that the form holds as one play alike, so nothing is lost: values and gaps are the same.
    rules: of the tree, needed only if it does not name its game.
    """
    if not is_poker_infosets(profile.infosets):
        return profile
    from kibitz.games.poker import acpc

    if rules is None and tree.spec:
        rules = make_game(tree.spec)
    if rules is None:
        raise GameError("the profile is one of a poker form, and the tree does not say its game: give the game itself")
    same = is_poker(rules) and acpc.write(rules.definition) == profile.infosets.definition
    if not same or not profile.infosets.plain:
        raise GameError(
            f"the profile was made for another game ({profile.game or 'without a name'}) than {tree.spec or 'this one'}"
        )
    mine = profile.infosets.places(tree.infosets)[0]
    of, row = tree.infosets, tree.infosets.row_of_column
    column = profile.infosets.first[mine][row] + np.arange(of.columns) - of.first[row]
    meta = {**profile.meta, "game": tree.spec, "tree": tree.digest}
    return Profile(of, profile.probabilities[column], meta)
