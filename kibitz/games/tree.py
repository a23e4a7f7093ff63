"""Tree: a game laid flat in arrays, once, so that nothing afterwards walks Python objects.

`lay_out` walks the rules depth first. Histories are numbered in preorder, so a parent comes before its children
and the histories that continue one stand right behind it. The walk checks the Game protocol as it goes and
says which history breaks it. A game may bring compiled rules of its own: a method `arrays(limit)` that gives the
same arrays at once, or None where it cannot.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import html, store
from kibitz.core.errors import GameError
from kibitz.games.checks import LEAST_PAYOFF, MOST_PAYOFF
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game
from kibitz.games.size import SizeGuard
from kibitz.games.walk import Walk, path_of, walk

ZERO_SUM = 1e-9  # what the payoffs of an outcome may sum to, as a share of the largest of them
_LABELS_AT_ONCE = 1 << 16
_STORED = {"seat_start": np.int32, "first": np.int64, "actions_of": np.int32}  # types of arrays in a file


@dataclass(frozen=True, eq=False, repr=False)
class Infosets:
    """All infosets of a game, seat by seat. I infosets, K columns (one per infoset and action)."""

    seat_start: NDArray[np.int32]  # [seats + 1]  first infoset of each seat
    first: NDArray[np.int64]  # [I + 1]  first column of each infoset
    labels: Sequence[str]  # what the seat knows, for a person; unique within a seat
    actions: list[tuple[Action, ...]]  # the distinct lists of actions
    actions_of: NDArray[np.int32]  # [I]  infoset -> index into `actions`

    def __repr__(self) -> str:
        return f"<{len(self.labels):,} infosets of {self.seats} seats>"

    @property
    def seats(self) -> int:
        return len(self.seat_start) - 1

    @property
    def columns(self) -> int:
        return int(self.first[-1])

    @cached_property
    def width(self) -> NDArray[np.int32]:
        """Number of actions of each infoset."""
        return np.diff(self.first).astype(np.int32)

    @cached_property
    def row_of_column(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.labels)), self.width)

    @cached_property
    def number(self) -> list[dict[str, int]]:
        """For each seat: label -> infoset."""
        starts = self.seat_start
        return [{self.labels[i]: i for i in range(starts[s], starts[s + 1])} for s in range(self.seats)]

    def number_of(self, seat: int, label: str) -> int | None:
        """The infoset of a seat with a label, if there is one."""
        return self.number[seat].get(label)

    def find(self, seat: int, label: str) -> int:
        """The infoset of a seat with a label; the error names near ones."""
        import difflib

        if not 0 <= seat < self.seats:
            raise GameError(f"there is no seat {seat}: seats are 0 to {self.seats - 1}")
        if label not in self.number[seat]:
            near = difflib.get_close_matches(label, list(self.number[seat])[:20_000], n=3, cutoff=0.3)
            hint = f"; near ones are {', '.join(map(repr, near))}" if near else ""
            raise GameError(f"seat {seat} has no infoset {label!r}{hint}")
        return self.number[seat][label]

    def same(self, other: Any) -> bool:
        """Whether these are the same infosets with the same actions, in the same order."""
        if self is other:
            return True
        if type(self) is not type(other) or not np.array_equal(self.seat_start, other.seat_start):
            return False
        if not np.array_equal(self.first, other.first) or self.labels != other.labels:
            return False
        if self.actions == other.actions and np.array_equal(self.actions_of, other.actions_of):
            return True
        pairs = set(zip(self.actions_of.tolist(), other.actions_of.tolist(), strict=True))
        return all(self.actions[mine] == other.actions[yours] for mine, yours in pairs)

    def seat_of(self, infoset: int) -> int:
        return int(np.searchsorted(self.seat_start, infoset, side="right") - 1)

    # What a profile asks (`kibitz.forms.protocol`)

    @property
    def plain(self) -> bool:
        """Whether a file can hold them: always."""
        return True

    @property
    def compact(self) -> Any:
        """None: these are the infosets of a tree, not of a form without one."""
        return None

    def same_shape(self, other: Any) -> bool:
        """Do probabilities of the one fit the other?"""
        return np.array_equal(self.first, other.first)

    def stored_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by which a file says what infosets it is for."""
        text, offsets = store.pack_strings(self.labels)
        return {
            "seat_start": self.seat_start, "first": self.first, "actions_of": self.actions_of, "labels": text,
            "label_offsets": offsets,
        }  # fmt: skip

    def stored_meta(self) -> dict[str, Any]:
        """The same for its meta."""
        return {"actions": [list(a) for a in self.actions]}

    @staticmethod
    def from_stored(arrays: Mapping[str, NDArray[Any]], lists: Any) -> Infosets:
        """The infosets that a file holds; what is wrong with them is a KeyError, TypeError or ValueError."""
        if not (isinstance(lists, list) and all(isinstance(a, list) for a in lists)):
            raise ValueError("its actions are not lists")
        actions = [tuple(a) for a in lists]
        if not all(a and all(isinstance(x, str | int) for x in a) and len(set(map(str, a))) == len(a) for a in actions):
            raise ValueError("its lists of actions are not different names")
        for name, dtype in _STORED.items():
            if arrays[name].dtype != dtype:
                raise ValueError(f"its array {name!r} is of another type")
        labels = store.unpack_strings(arrays["labels"], arrays["label_offsets"])
        start, first, of = arrays["seat_start"], arrays["first"], arrays["actions_of"]
        count = len(labels)
        shapes = start.ndim == 1 and len(start) >= 2 and first.shape == (count + 1,) and of.shape == (count,)
        if not shapes or start[0] != 0 or start[-1] != count or (np.diff(start) < 0).any() or first[0] != 0:
            raise ValueError("its tables do not fit together")
        infosets = Infosets(start, first, labels, actions, of)
        if sum(map(len, infosets.number)) != count:
            raise ValueError("two infosets of a seat have the same label")
        if count and (of.min() < 0 or of.max() >= len(actions)):
            raise ValueError("an infoset has no actions")
        widths = np.array([len(a) for a in actions], np.int64)
        if (np.diff(first) != (widths[of] if count else widths[:0])).any():
            raise ValueError("infosets and actions do not fit together")
        return infosets


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A game laid flat. N histories in preorder, L of them terminal, n seats."""

    players: int
    parent: NDArray[np.int32]  # [N]  -1 for the root
    turn: NDArray[np.int8]  # [N]  seat, CHANCE or TERMINAL
    action: NDArray[np.int32]  # [N]  which child of its parent a history is
    infoset: NDArray[np.int32]  # [N]  number in `infosets`, -1 where no seat moves
    chance: NDArray[np.float64]  # [N]  probability of the step from the parent if chance made it, else 1
    payoff: NDArray[np.float64]  # [L, n]  of the terminal histories, in their order
    infosets: Infosets
    spec: str = ""  # how to call the game again, if it has a name

    def __repr__(self) -> str:
        sizes = f"{self.histories:,} histories, {len(self.infosets.labels):,} infosets, {self.players} seats"
        return f"<Tree of {self.spec or 'a game without a name'}: {sizes}>"

    def _repr_html_(self) -> str:
        start, count = self.infosets.seat_start, self.counts()
        rows = [(name, f"{number:,}") for name, number in (("histories", self.histories), *count.items())]
        rows += [(f"infosets of seat {s}", f"{start[s + 1] - start[s]:,}") for s in range(self.players)]
        return html.table(("", "number"), rows, repr(self))

    @property
    def histories(self) -> int:
        return len(self.parent)

    @cached_property
    def children(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(start [N + 1], child [N - 1]): the children of h are child[start[h]:start[h + 1]], in order."""
        order = np.argsort(self.parent[1:], kind="stable").astype(np.int32) + np.int32(1)
        counts = np.bincount(self.parent[1:], minlength=self.histories)
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int32), order

    @property
    def levels(self) -> list[NDArray[np.int32]]:
        """Histories by depth, without the root."""
        start, child = self.children
        levels: list[NDArray[np.int32]] = []
        level = np.zeros(1, np.int32)
        while len(level):
            counts = (start[level + 1] - start[level]).astype(np.int64)
            before = np.cumsum(counts) - counts
            level = child[np.repeat(start[level] - before, counts) + np.arange(int(counts.sum()))]
            levels.append(level)
        return levels[:-1]

    @cached_property
    def zero_sum(self) -> bool:
        """Whether the payoffs of each outcome sum to zero, compared with that outcome's own payoffs.

        Units do not matter, nor what is paid elsewhere; but sums that should be zero may be off by what the game's
        largest payoffs are rounded by.
        """
        sizes = np.abs(self.payoff).max(axis=1, initial=0.0)
        rounding = 4 * np.finfo(np.float64).eps * sizes.max(initial=0.0)
        return bool((np.abs(self.payoff.sum(axis=1)) <= np.maximum(ZERO_SUM * sizes, rounding)).all())

    @cached_property
    def digest(self) -> str:
        """A fingerprint of shape, chance, payoffs, labels and actions: saved strategies are compared with it."""
        import hashlib

        content = hashlib.sha256()
        for part in (self.parent, self.turn, self.infoset, self.chance, self.payoff, self.infosets.first):
            content.update(str(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        labels = list(self.infosets.labels)
        for k in range(0, len(labels), _LABELS_AT_ONCE):
            text = "\0".join([*labels[k : k + _LABELS_AT_ONCE], ""])
            content.update(text.encode(errors="surrogatepass"))
        names = [[str(a) for a in actions] for actions in self.infosets.actions]
        content.update(np.ascontiguousarray(self.infosets.actions_of).tobytes() + ascii(names).encode())
        return content.hexdigest()

    def counts(self) -> dict[str, int]:
        """Histories by kind: decision, chance, terminal."""
        return {
            "decision": int((self.turn >= 0).sum()),
            "chance": int((self.turn == CHANCE).sum()),
            "terminal": int((self.turn == TERMINAL).sum()),
        }


_trees: weakref.WeakKeyDictionary[Any, Tree] = weakref.WeakKeyDictionary()


def tree_of(game: Game, progress: Callable[[int], None] | None = None, infosets: int | None = None) -> Tree:
    """The tree of a game, laid out on first use and kept as long as the game object lives."""
    try:
        tree = _trees.get(game)
    except TypeError:  # an unhashable game of a user's own
        return lay_out(game, progress, infosets=infosets)
    # Of games that are equal the first is the key, and its tree goes with it: the others hold on to what they got.
    own = getattr(game, "__dict__", {})
    owner, kept = own.get("_tree", (0, None))
    if tree is None and owner == id(game):  # not that of a game which this one was copied from
        tree = kept
    if tree is None:
        tree = lay_out(game, progress, infosets=infosets)
    with contextlib.suppress(TypeError):  # a class that cannot be weakly referenced
        _trees.setdefault(game, tree)
    if isinstance(own, dict):
        own["_tree"] = id(game), tree
    return tree


def lay_out(
    game: Game, progress: Callable[[int], None] | None = None, limit: int | None = None, infosets: int | None = None
) -> Tree:
    """Walk the rules and lay them out; `progress` is called with the number of histories from time to time.

    `limit` is the most histories to accept. By default a game is refused, after about a second, if by an estimate it
    does not fit into memory or takes too long (see kibitz.games.size). `infosets` is the most infosets: a file that
    holds a strategy for so many is not for a game with more.
    """
    players = game.players
    if isinstance(players, bool) or not isinstance(players, int) or not 1 <= players <= 100:
        raise GameError(f"a game has 1 to 100 players, not {players!r}")
    guard = SizeGuard(game, limit)
    least = getattr(game, "least_histories", 0)  # a game may know how large it is at least
    if least > guard.most:
        raise GameError(
            f"{guard.name} has at least {least:,} histories, and {guard.most:,} fit into memory; "
            "shrink its parameters, or abstract it"
        )
    compiled = getattr(game, "arrays", None)
    arrays = None if compiled is None else compiled(min(guard.most, 1_000 * infosets if infosets else guard.most))
    if arrays is not None:
        guard.check(len(arrays["parent"]))
        return _from_arrays(game, arrays)
    try:
        return _finish(game, walk(game, guard, progress, infosets))
    except MemoryError:
        raise GameError(f"{guard.name} does not fit into memory; choose smaller parameters") from None


def _from_arrays(game: Game, arrays: dict[str, Any]) -> Tree:
    """The tree of a game from the fields of Tree and Infosets, be they from a walk or from its own compiled rules."""
    actions, actions_of = arrays["actions"], arrays["actions_of"]
    widths = np.array([len(a) for a in actions], np.int64)[actions_of] if actions else np.zeros(0, np.int64)
    first = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    infosets = Infosets(arrays["seat_start"], first, arrays["labels"], actions, actions_of)
    fields = {name: arrays[name] for name in ("parent", "turn", "action", "infoset", "chance", "payoff")}
    return Tree(game.players, **fields, infosets=infosets, spec=str(getattr(game, "spec", "") or ""))


def _finish(game: Game, out: Walk) -> Tree:
    turn = np.frombuffer(out.turn, np.int8)
    infoset = np.array(out.infoset, np.int32)
    seat_start = np.concatenate(([0], np.cumsum([len(k) for k in out.keys]))).astype(np.int32)
    deciding = turn >= 0
    infoset[deciding] += seat_start[turn[deciding]]
    payoff = np.array(out.payoff, np.float64).reshape(-1, game.players)
    _check_payoffs(game, out, payoff)
    arrays = {
        "parent": np.frombuffer(out.parent, np.int32), "turn": turn, "action": np.frombuffer(out.action, np.int32),
        "infoset": infoset, "chance": np.frombuffer(out.chance, np.float64), "payoff": payoff, "actions": out.lists,
        "actions_of": np.concatenate([np.array(a, np.int32) for a in out.lists_of]), "seat_start": seat_start,
        "labels": [label for seat, keys in enumerate(out.keys) for label in _labels(seat, list(keys))],
    }  # fmt: skip
    return _from_arrays(game, arrays)


def _check_payoffs(game: Game, out: Walk, payoff: NDArray[np.float64]) -> None:
    """Refuse what cannot be computed with."""
    largest = np.abs(payoff).max(axis=1, initial=0.0)  # NaN where one is
    wrong = np.flatnonzero(~(largest <= MOST_PAYOFF))
    if len(wrong):
        node = int(np.flatnonzero(np.frombuffer(out.turn, np.int8) == TERMINAL)[wrong[0]])
        raise GameError(
            f"payoff after {path_of(game, out, node)} is {payoff[wrong[0]].tolist()}: payoffs must be finite, "
            f"and not above {MOST_PAYOFF:g} in size"
        )
    if 0.0 < largest.max(initial=0.0) < LEAST_PAYOFF:
        raise GameError(
            f"the largest payoff of the game is {largest.max():g} in size, and below {LEAST_PAYOFF:g} products with "
            "probabilities underflow: multiply all payoffs by a larger unit"
        )


def _labels(seat: int, keys: Sequence[Any]) -> list[str]:
    """Infoset keys as text; keys that are different but print alike fall back to repr."""
    labels = [key if isinstance(key, str) else str(key) for key in keys]
    if len(set(labels)) < len(labels):
        labels = [repr(key) for key in keys]
    if len(set(labels)) < len(labels):
        raise GameError(f"two infosets of seat {seat} print as the same text; give infoset() a readable unique string")
    return labels
