"""Named abstractions of card games: buckets of hands, beside the public betting.

A card game says what an infoset is about by a method `hand(infoset)` that gives (private card, board card or "",
betting): see `kibitz.games.leduc`. Cards are a rank and perhaps a suit, such as "Kh".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any

from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.games import Game
from kibitz.games.tree import Tree

Bucket = Callable[[int, str], Hashable]
MOST_GROUPED = 4  # ranks that are grouped in all ways


def card_buckets(spec: specs.Spec, tree: Tree, rules: Game | None = None) -> Bucket | None:
    """The bucket function that a name stands for; None for the null abstraction. rules: of the tree, if at hand."""
    if spec.name == "null":
        return specs.call(lambda: None, spec)
    read = getattr(rules, "hand", None)
    if not callable(read):
        raise SpecError(
            f"the abstraction {spec.name!r} is for card games with a method hand(infoset), such as leduc; "
            "for this game use null, a function (seat, infoset) -> bucket, or a table; or give it a method buckets(), "
            "as docs/own_game.md shows"
        )
    if spec.name == "suits":
        return specs.call(lambda: _suits(read), spec)
    groups = spec.name.replace("-", ".").split(".")
    ranks = _ranks(tree, read)
    if sorted("".join(groups)) != ranks:
        raise SpecError(
            f"unknown abstraction {spec.name!r}: use null, suits, or groups of the ranks {', '.join(ranks)} "
            f"such as {ranks[0]}.{''.join(ranks[1:])}"
        )
    group_of = {rank: group for group in groups for rank in group}
    return specs.call(lambda recall=True: _groups(read, group_of, recall), spec)


def rank_groups(tree: Tree, rules: Game | None) -> list[str]:
    """Names of groups of neighbouring ranks, such as JQ.K: all of up to four ranks, else groups of about one size."""
    read = getattr(rules, "hand", None)
    if not callable(read):
        return []
    try:
        ranks = list(dict.fromkeys(read(label)[0][0] for label in tree.infosets.labels))  # in the order of the deal
    except GameError:  # hands of several cards have no such groups
        return []
    n = len(ranks)
    if n <= MOST_GROUPED:
        bounds = [[k for k in range(1, n) if choice >> (k - 1) & 1] for choice in range(1, 1 << (n - 1))]
    else:
        bounds = [sorted({round(n * k / groups) for k in range(1, groups)}) for groups in range(2, n + 1)]
    names = [".".join("".join(ranks[a:b]) for a, b in pairwise([0, *cut, n])) for cut in bounds]
    return sorted(dict.fromkeys(names), key=lambda name: name.count("."))


def _ranks(tree: Tree, read: Callable[[str], tuple[str, str, str]]) -> list[str]:
    return sorted({read(label)[0][0] for label in tree.infosets.labels})


def _suits(read: Callable[[str], tuple[str, str, str]]) -> Bucket:
    """Ranks, and whether private and board card are of one suit: all that renaming suits leaves."""

    def bucket(seat: int, label: str) -> Hashable:
        private, board, betting = read(label)
        same = bool(board) and private[1:] == board[1:] and private[1:] != ""
        return private[0], board[:1], same, betting

    return bucket


def _groups(read: Callable[[str], tuple[str, str, str]], group_of: dict[str, str], recall: bool) -> Bucket:
    """The group of the private card; on the flop, whether the board pairs it (and the group, with recall)."""

    def bucket(seat: int, label: str) -> Hashable:
        private, board, betting = read(label)
        if not board:
            return group_of[private[0]], betting
        paired: Any = private[0] == board[0]
        return (group_of[private[0]] if recall else ""), paired, betting

    return bucket
