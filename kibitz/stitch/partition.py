"""Grafting partitions: which part of the game a decision belongs to [Gibson & Szafron 2011, Def. 3.1].

G = {G_0, ..., G_p} is a grafting partition for a seat if (1) it is a partition of the seat's decisions, (2) no infoset
is cut, and (3) once play has been in a part j >= 1 the seat's later decisions are in part j or in part 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import html
from kibitz.core.errors import GameError, SpecError
from kibitz.forms.protocol import Form, FreezableForm
from kibitz.forms.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Infosets, Tree, tree_of

Ints = NDArray[np.int64]
_CALL = re.compile(r"\s*(prefix|private|round|own)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Parts 0..p of every seat's infosets."""

    name: str
    infosets: Infosets
    part: Ints  # [I]
    names: tuple[str, ...]  # of the parts; names[0] is "base"

    def __repr__(self) -> str:
        return f"<Partition {self.name}: {self.parts} parts of {len(self.part):,} infosets>"

    def _repr_html_(self) -> str:
        start, seats = self.infosets.seat_start, range(self.infosets.seats)
        counts = [np.bincount(self.part[start[s] : start[s + 1]], minlength=len(self.names)) for s in seats]
        rows = [(str(j), name, *(f"{of[j]:,}" for of in counts)) for j, name in enumerate(self.names)]
        return html.table(("part", "name", *(f"infosets of seat {s}" for s in seats)), rows, repr(self), 2)

    @property
    def parts(self) -> int:
        """The number of parts beside part 0."""
        return len(self.names) - 1

    def seats_in(self, part: int) -> list[int]:
        """The seats that decide something in a part."""
        start = self.infosets.seat_start
        return [s for s in range(self.infosets.seats) if (self.part[start[s] : start[s + 1]] == part).any()]


def partition(game: Game | Tree | Form | str, source: str | Callable[[int, str], int]) -> Partition:
    """A grafting partition of a game, of the infosets of its tree or of its form without one.

    "prefix(r, cr, ccr)"      part j: the players' actions, chance left out, begin with the j-th list. Letters that
                              begin the names of actions ("cr"), or whole names ("raise", "call.raise").
    "private(J, Q, K)"        part j: the seat's private information is the j-th (its card, its dice); private() has a
                              part for each; private(J, Q, K, round=2) only from the second round on.
    "round(2)"                part j: the decisions of the j-th round that is named. One round leads into the next, so a
                              partition has one of them.
    "own(opening, endgame)"   part j: the game's own name of the part, for games with a method part(infoset) -> name;
                              own() has a part for each name. Infosets with the name "" are in no part.
    a function                (seat, infoset) -> number of the part
    """
    of: FreezableForm | TreeParts
    if not isinstance(game, Tree | str) and isinstance(game, FreezableForm):
        of = game
    elif isinstance(game, Tree):
        of = TreeParts(game, None, source)
    else:
        of = TreeParts(tree_of(rules := make_game(game)), rules, source)
    if isinstance(source, str):
        kind, words = read(source)
        reads = {"prefix": _by_prefix, "private": _by_private, "round": _by_round, "own": _by_own}
        part, names = reads[kind](of, words, source)
    elif callable(source):
        part = _by_function(of.infosets, source)
        names = [str(j) for j in range(1, int(part.max(initial=0)) + 1)]
    else:
        raise SpecError("a partition is prefix(...), private(...), round(...), or a function (seat, infoset) -> part")
    name = source if isinstance(source, str) else getattr(source, "__name__", "function")
    result = Partition(name, of.infosets, part, ("base", *names))
    of.check_parts(result.name, result.names, part)
    return result


def read(source: str) -> tuple[str, list[str]]:
    match = _CALL.fullmatch(source)
    if not match:
        raise SpecError(f"cannot read the partition {source!r}: write prefix(r, cr), private(J, Q, K), "
                        "round(2) or own()")
    return match[1], [w.strip() for w in match[2].split(",") if w.strip()]


def _by_function(infosets: Infosets, source: Callable[[int, str], int]) -> Ints:
    part = np.zeros(len(infosets.labels), np.int64)
    for seat in range(infosets.seats):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            number = source(seat, infosets.labels[i])
            if not isinstance(number, int | np.integer) or number < 0:
                raise SpecError(f"the partition gives {number!r} for infoset {infosets.labels[i]!r}: use 0, 1, 2, ...")
            part[i] = number
    return part


def _by_prefix(of: FreezableForm | TreeParts, words: list[str], source: str) -> tuple[Ints, list[str]]:
    """Part j holds the decisions after the j-th list of players' actions [Gibson & Szafron 2011, Sec. 6: b-experts]."""
    known = {str(action) for actions in of.infosets.actions for action in actions}
    part = of.parts_by_actions(steps_of(words, known, source))
    empty = [w for j, w in enumerate(words, 1) if not (part == j).any()]
    if empty:
        raise SpecError(f"there is no decision after {empty[0]!r}, so its expert would have no decisions")
    return part, words


def _by_private(of: FreezableForm | TreeParts, words: list[str], source: str) -> tuple[Ints, list[str]]:
    from_round = _from_round(words, source)
    holdings, which, at = of.parts_by_private()
    for word in words:
        if word not in holdings:
            raise SpecError(f"no player can hold {word!r}; possible are {', '.join(holdings)}")
    if len(set(words)) < len(words):
        raise SpecError(f"parts of {source!r} overlap: a name is given twice")
    names = words or holdings
    number = np.array([names.index(h) + 1 if h in names else 0 for h in holdings], np.int64)
    part = np.where(at >= from_round, number[which], 0)
    empty = [name for j, name in enumerate(names, 1) if not (part == j).any()]
    if empty:
        raise SpecError(f"there is no decision in part {empty[0]!r} of {source!r}: the game has fewer rounds")
    return part, names


def _by_round(of: FreezableForm | TreeParts, words: list[str], source: str) -> tuple[Ints, list[str]]:
    _, _, at = of.parts_by_private()
    rounds = {str(r): r for r in sorted(set(at.tolist()))}
    if not words or len(set(words)) < len(words) or any(word not in rounds for word in words):
        raise SpecError(f"{source!r} should name different rounds of {', '.join(rounds)}: round(2), for example")
    part = np.zeros(len(at), np.int64)
    for j, word in enumerate(words, 1):
        part[at == rounds[word]] = j
    return part, words


def _by_own(of: FreezableForm | TreeParts, words: list[str], source: str) -> tuple[Ints, list[str]]:
    offered, which = parts_by_own(of)
    names = words or offered
    unknown = [word for word in names if word not in offered]
    if unknown or len(set(names)) < len(names):
        raise SpecError(f"{source!r} should name different parts of {', '.join(offered)}")
    part = np.zeros(len(which), np.int64)
    for j, name in enumerate(names, 1):
        part[which == offered.index(name)] = j
    return part, names


def parts_by_own(of: FreezableForm | TreeParts) -> tuple[list[str], Ints]:
    """(the game's own names of parts, [I] which an infoset is in; -1: none)."""
    own = getattr(of.rules, "part", None) if isinstance(of, TreeParts) else None
    if own is None:
        raise SpecError("own(...) is for games with a tree and a method part(infoset) -> name of a part of the game")
    seen = [str(own(label)) for label in of.infosets.labels]
    names = sorted({name for name in seen if name})
    wrong = next((name for name in names if set(name) & set("(),=")), None)
    if wrong is not None:
        raise GameError(f"part {wrong!r} of the game has a name that cannot be written: leave out ( ) , and =")
    number = {name: k for k, name in enumerate(names)}
    return names, np.array([number.get(name, -1) for name in seen], np.int64)


def _from_round(words: list[str], source: str) -> int:
    """The round that private(...) begins with; it is taken out of the words."""
    from_round = 1
    for word in list(words):
        if "=" in word:
            key, _, number = word.partition("=")
            if key.strip() != "round" or not number.strip().isdigit():
                raise SpecError(f"cannot read {word!r} in {source!r}: the only option is round=NUMBER")
            from_round = int(number)
            words.remove(word)
    return from_round


def steps_of(words: list[str], known: set[str], source: str) -> list[list[set[str]]]:
    """The lists of steps that words stand for, a step being the actions that fit it; none begins with another."""
    if not words:
        raise SpecError(f"{source!r} names no actions: write prefix(r, cr), for example")
    lists: list[list[set[str]]] = []
    for word in words:
        steps = [word] if word in known else word.split(".") if "." in word else list(word)
        lists.append([fitting(step, known) for step in steps])
        if set() in lists[-1]:
            step = steps[lists[-1].index(set())]
            raise SpecError(f"{word!r}: no action begins with {step!r}; the game has {', '.join(sorted(known))}")
    for a in range(len(lists)):
        for b in range(a):
            if all(x & y for x, y in zip(lists[a], lists[b], strict=False)):
                raise SpecError(f"parts {words[b]!r} and {words[a]!r} of {source!r} overlap: one begins with the other")
    return lists


def fitting(step: str, names: set[str]) -> set[str]:
    """The actions that a step stands for: the one of that name, or else all whose names begin with it."""
    return {step} if step in names else {name for name in names if step and name.startswith(step)}


@dataclass(frozen=True)
class TreeParts:
    """What a partition asks of a game's tree; a form without one is asked the same (`FreezableForm`)."""

    tree: Tree
    rules: Game | None
    source: Any  # as it was given, for errors

    @property
    def infosets(self) -> Infosets:
        return self.tree.infosets

    def parts_by_actions(self, lists: list[list[set[str]]]) -> Ints:
        """How far each history has followed which list, a level of the tree at a time."""
        from kibitz.forms.kernels.layout import follow

        tree, infosets = self.tree, self.infosets
        # Column names, to compare an edge's action with a step.
        names = [str(a) for i in range(len(infosets.labels)) for a in infosets.actions[infosets.actions_of[i]]]
        code_of = {name: k for k, name in enumerate(sorted(set(names)))}
        code = np.array([code_of[n] for n in names], np.int64) if names else np.zeros(0, np.int64)
        fits = np.zeros((len(lists), max(map(len, lists)), max(1, len(code_of))), bool)
        for j, steps in enumerate(lists):
            for k, step in enumerate(steps):
                fits[j, k, [code_of[name] for name in step]] = True
        lengths = np.array([len(s) for s in lists], np.int64)
        of_node = follow(tree.parent, tree.turn, tree.infoset, tree.action, infosets.first, code, fits, lengths)
        part = np.full(len(infosets.labels), -1, np.int64)
        deciding = np.flatnonzero(tree.turn >= 0)
        infoset = tree.infoset[deciding]
        part[infoset[::-1]] = of_node[deciding[::-1]]
        cut = np.flatnonzero(part[infoset] != of_node[deciding])
        if len(cut):
            raise GameError(
                f"infoset {infosets.labels[infoset[cut[0]]]!r} is divided by {self.source!r}: it has histories in two "
                "parts (condition 2 of a grafting partition)"
            )
        return part

    def parts_by_private(self) -> tuple[list[str], Ints, Ints]:
        rules = make_game(self.tree.spec) if self.rules is None and self.tree.spec else self.rules
        private = getattr(rules, "private", None)
        if private is None:
            raise SpecError(
                "private(...) and round(...) are for games with a method private(infoset) -> (what the seat holds, "
                "round); otherwise use a function (seat, infoset) -> part"
            )
        seen = [private(label) for label in self.infosets.labels]
        holdings = sorted({holding for holding, _ in seen})
        number = {holding: k for k, holding in enumerate(holdings)}
        return holdings, np.array([number[h] for h, _ in seen], np.int64), np.array([at for _, at in seen], np.int64)

    def check_parts(self, name: str, names: tuple[str, ...], part: Ints) -> None:
        """Condition 3: no way from one part j >= 1 of a seat into another."""
        form, labels = form_of(self.tree), self.infosets.labels
        entered = np.zeros(form.points, np.int64)  # the part j >= 1 that play was in last, up to and with the point
        through = np.zeros(form.points, np.int64)  # the point where that was
        above = form.point_of[form.parent]
        mine = part[form.infoset]
        for p in np.argsort(_depths(above), kind="stable"):
            before = entered[above[p]] if above[p] >= 0 else 0
            if mine[p] and before and mine[p] != before:
                label, earlier = labels[form.infoset[p]], labels[form.infoset[through[above[p]]]]
                raise GameError(
                    f"{name} is not a grafting partition: after infoset {earlier!r} in part {names[before]!r} play "
                    f"reaches {label!r} in part {names[mine[p]]!r} (condition 3: play must stay in a part or go to "
                    "the base)"
                )
            entered[p] = mine[p] or before
            through[p] = p if mine[p] or not before else through[above[p]]


def _depths(above: NDArray[np.int32]) -> Ints:
    depth = np.zeros(len(above), np.int64)
    up = above.astype(np.int64)
    while (up >= 0).any():
        depth += up >= 0
        up = np.where(up >= 0, above[np.maximum(up, 0)], -1)
    return depth
