"""Tree: a game laid flat in arrays, once, so that nothing afterwards walks Python objects.

`lay_out` walks the rules depth first. Histories are numbered in preorder, so a parent comes before its children
and the histories that continue one stand right behind it. The walk checks the Game protocol as it goes and
says which history breaks it. A game may bring compiled rules of its own: a method `arrays(limit)` that gives the
same arrays at once, or None where it cannot.
"""

from __future__ import annotations

import contextlib
import operator
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game
from kibitz.machine import free_memory

MAX_DEPTH = 10_000
CHANCE_TOLERANCE = 1e-9
# Bytes per history that the tree and a solve of it take together, with room to spare (measured by `kibitz bench`).
BYTES_PER_HISTORY = 160
_PROGRESS_EVERY = 1 << 16
_CHECK_EVERY = 1 << 10
_LABELS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Infosets:
    """All infosets of a game, seat by seat. I infosets, K columns (one per infoset and action)."""

    seat_start: NDArray[np.int32]  # [seats + 1]  first infoset of each seat
    first: NDArray[np.int64]  # [I + 1]  first column of each infoset
    labels: Sequence[str]  # what the seat knows, for a person; unique within a seat
    actions: list[tuple[Action, ...]]  # the distinct lists of actions
    actions_of: NDArray[np.int32]  # [I]  infoset -> index into `actions`

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
        return [
            {self.labels[i]: i for i in range(starts[s], starts[s + 1])} for s in range(self.seats)
        ]

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

    def seat_of(self, infoset: int) -> int:
        return int(np.searchsorted(self.seat_start, infoset, side="right") - 1)


@dataclass(frozen=True)
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

    @property
    def histories(self) -> int:
        return len(self.parent)

    @cached_property
    def children(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(start [N + 1], child [N - 1]): the children of h are child[start[h]:start[h + 1]], in order."""
        order = np.argsort(self.parent[1:], kind="stable").astype(np.int32) + np.int32(1)
        counts = np.bincount(self.parent[1:], minlength=self.histories)
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int32), order

    @cached_property
    def zero_sum(self) -> bool:
        scale = max(1.0, float(np.abs(self.payoff).max(initial=0.0)))
        return bool(np.abs(self.payoff.sum(axis=1)).max(initial=0.0) <= 1e-9 * scale)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of shape, chance, payoffs, labels and actions: saved strategies are held against it."""
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
    if tree is None:
        tree = lay_out(game, progress, infosets=infosets)
        with contextlib.suppress(TypeError):  # a class that cannot be weakly referenced
            _trees[game] = tree
    return tree


@dataclass
class _Layout:
    """Growing arrays of a walk; `array` holds machine numbers, a tenth of what a list of objects takes."""

    parent: array[int] = field(default_factory=lambda: array("i"))
    turn: array[int] = field(default_factory=lambda: array("b"))
    action: array[int] = field(default_factory=lambda: array("i"))
    infoset: array[int] = field(default_factory=lambda: array("i"))
    chance: array[float] = field(default_factory=lambda: array("d"))
    payoff: array[float] = field(default_factory=lambda: array("d"))


def lay_out(
    game: Game, progress: Callable[[int], None] | None = None, limit: int | None = None, infosets: int | None = None
) -> Tree:
    """Walk the rules and lay them out; `progress` is told the number of histories from time to time.

    `limit` is the most histories to accept; by default what fits into this machine's free memory. `infosets` is the
    most infosets: a file that holds a strategy for so many is not for a game with more.
    """
    players = game.players
    if not isinstance(players, int) or not 1 <= players <= 100:
        raise GameError(f"a game has 1 to 100 players, not {players!r}")
    limit = limit or _room()
    least = getattr(game, "least_histories", 0)  # a game may know how large it is at least
    if least > limit:
        raise GameError(
            f"{getattr(game, 'spec', '') or 'the game'} has at least {least:,} histories, and {limit:,} fit into "
            f"memory at about {BYTES_PER_HISTORY} bytes each; shrink its parameters, or abstract it"
        )
    compiled = getattr(game, "arrays", None)
    arrays = None if compiled is None else compiled(min(limit, limit if infosets is None else 1_000 * infosets))
    if arrays is not None:
        _check_size(len(arrays["parent"]), limit)
        return _from_arrays(game, arrays)
    out = _Layout()
    keys: list[dict[Any, int]] = [{} for _ in range(players)]  # per seat: infoset key -> number
    lists: dict[tuple[Action, ...], int] = {}  # distinct lists of actions
    lists_of: list[array[int]] = [array("i") for _ in range(players)]
    turn_of, actions_of, after, infoset_of = game.turn, game.actions, game.after, game.infoset
    # A frame is (state, parent, action index, chance probability); a stack of them is the whole recursion.
    stack: list[tuple[Any, int, int, float]] = [(game.root(), -1, 0, 1.0)]
    node = 0
    while stack:
        state, parent, index, probability = stack.pop()
        turn = turn_of(state)
        if turn.__class__ is not int:
            turn = _whole(turn)
        out.parent.append(parent)
        out.action.append(index)
        out.chance.append(probability)
        if turn >= 0:
            if turn >= players:
                raise GameError(f"turn() gives seat {turn}, but seats are 0 to {players - 1}")
            actions = tuple(actions_of(state))
            key = infoset_of(state)
            seat_keys = keys[turn]
            try:
                number = lists.get(actions)
                infoset = seat_keys.get(key)
            except TypeError as error:
                raise GameError(
                    f"infoset {key!r} of seat {turn} with actions {list(actions)}: {error}; an infoset must be "
                    "hashable, and actions must be strings or integers"
                ) from error
            if number is None:
                number = lists[actions] = _new_actions(actions, len(lists), key)
            if infoset is None:
                infoset = seat_keys[key] = len(seat_keys)
                lists_of[turn].append(number)
                if infosets is not None and sum(map(len, keys)) > infosets:
                    name = getattr(game, "spec", "") or "the game"
                    raise GameError(f"{name} has more than {infosets:,} infosets, and the file has no more")
            elif lists_of[turn][infoset] != number:
                known = list(lists)[lists_of[turn][infoset]]
                raise GameError(
                    f"infoset {key!r} of seat {turn} has actions {list(known)} in one history and {list(actions)} "
                    f"in another ({_path(game, out, node)}); a seat cannot tell them apart, so they must agree"
                )
            out.infoset.append(infoset)
            for i in range(len(actions) - 1, -1, -1):
                stack.append((after(state, actions[i]), node, i, 1.0))
        elif turn == CHANCE:
            out.infoset.append(-1)
            outcomes = _outcomes(game, state, out, node)
            total = 0.0
            for i in range(len(outcomes) - 1, -1, -1):
                outcome, p = outcomes[i]
                if not p >= 0.0:
                    raise GameError(f"chance outcome {outcome!r} after {_path(game, out, node)} has probability {p}")
                total += p
                stack.append((after(state, outcome), node, i, p))
            if not abs(total - 1.0) <= CHANCE_TOLERANCE:
                raise GameError(
                    f"chance probabilities after {_path(game, out, node)} sum to {total:.12g}, not to 1"
                )
        elif turn == TERMINAL:
            out.infoset.append(-1)
            payoff = game.payoff(state)
            try:
                if len(payoff) != players:
                    raise GameError(
                        f"payoff after {_path(game, out, node)} has {len(payoff)} numbers for {players} seats"
                    )
                out.payoff.extend(payoff)
            except TypeError:
                raise GameError(
                    f"payoff after {_path(game, out, node)} is {payoff!r}: it must be a number for each seat"
                ) from None
        else:
            raise GameError(f"turn() gives {turn!r}: it must be a seat, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})")
        out.turn.append(turn)
        node += 1
        if node % _CHECK_EVERY == 0:
            if progress is not None and node % _PROGRESS_EVERY == 0:
                progress(node)
            _check_size(node, limit)
            _check_depth(game, out, node - 1)
    _check_size(node, limit)
    return _finish(game, out, keys, list(lists), lists_of)


def _from_arrays(game: Game, arrays: dict[str, Any]) -> Tree:
    """The tree of a game whose own compiled rules have laid it out: fields as of Tree and Infosets."""
    actions, actions_of = arrays["actions"], arrays["actions_of"]
    widths = np.array([len(a) for a in actions], np.int64)[actions_of]
    first = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    infosets = Infosets(arrays["seat_start"], first, arrays["labels"], actions, actions_of)
    fields = {name: arrays[name] for name in ("parent", "turn", "action", "infoset", "chance", "payoff")}
    return Tree(game.players, **fields, infosets=infosets, spec=str(getattr(game, "spec", "") or ""))


def _whole(turn: Any) -> int:
    """A turn that is not a plain int: NumPy's are fine."""
    try:
        return operator.index(turn)
    except TypeError:
        raise GameError(
            f"turn() gives {turn!r}: it must be a seat, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        ) from None


def _outcomes(game: Game, state: Any, out: _Layout, node: int) -> list[tuple[Action, float]]:
    outcomes = game.chance(state)
    try:
        return [(outcome, float(p)) for outcome, p in outcomes]
    except (TypeError, ValueError) as error:
        raise GameError(
            f"chance after {_path(game, out, node)} is {outcomes!r}: it must be pairs (outcome, probability) ({error})"
        ) from None


def _new_actions(actions: tuple[Action, ...], number: int, key: object) -> int:
    if not actions:
        raise GameError(f"infoset {key!r} has no actions; a history where nobody can move must be TERMINAL")
    if not all(isinstance(a, str | int) for a in actions):
        raise GameError(f"infoset {key!r} has actions {list(actions)}: actions must be strings or integers")
    if len(set(map(str, actions))) != len(actions):
        raise GameError(f"infoset {key!r} lists an action twice: {list(actions)}")
    return number


def _room() -> int:
    return max(1 << 20, free_memory() // BYTES_PER_HISTORY)


def _path(game: Game, out: _Layout, node: int) -> str:
    """The history of a node in words, by replaying the game; used in errors only."""
    steps: list[int] = []
    at = node
    while len(out.parent) > at > 0:
        steps.append(out.action[at])
        at = out.parent[at]
    state, words = game.root(), []
    for index in reversed(steps):
        turn = game.turn(state)
        step = game.chance(state)[index][0] if turn == CHANCE else game.actions(state)[index]
        words.append(str(step))
        state = game.after(state, step)
    if len(words) > 24:
        words = [*words[:20], "...", words[-1]]
    return "the history " + " ".join(words) if words else "the root"


def _check_size(histories: int, limit: int) -> None:
    if histories > limit:
        raise GameError(
            f"the game has more than {limit:,} histories, which is what fits into memory at about "
            f"{BYTES_PER_HISTORY} bytes each; shrink its parameters, or abstract it"
        )


def _check_depth(game: Game, out: _Layout, node: int) -> None:
    """Refuse a walk that has gone deeper than MAX_DEPTH: rules with a cycle never end."""
    depth, at = 0, node
    while at > 0:
        at = out.parent[at]
        depth += 1
    if depth > MAX_DEPTH:
        raise GameError(
            f"a history is longer than {MAX_DEPTH:,} moves, so the rules seem to have a cycle: "
            f"{_path(game, out, node)}; every history of a finite game must end"
        )


def _finish(
    game: Game,
    out: _Layout,
    keys: list[dict[Any, int]],
    lists: list[tuple[Action, ...]],
    lists_of: list[array[int]],
) -> Tree:
    players = game.players
    turn = np.frombuffer(out.turn, np.int8)
    infoset = np.array(out.infoset, np.int32)
    seat_start = np.concatenate(([0], np.cumsum([len(k) for k in keys]))).astype(np.int32)
    deciding = turn >= 0
    infoset[deciding] += seat_start[turn[deciding]]
    actions_of = np.concatenate([np.array(a, np.int32) for a in lists_of]) if keys else np.zeros(0, np.int32)
    widths = np.array([len(a) for a in lists], np.int64)[actions_of] if lists else np.zeros(0, np.int64)
    payoff = np.array(out.payoff, np.float64).reshape(-1, players)
    if not np.isfinite(payoff).all():
        leaf = int(np.flatnonzero(~np.isfinite(payoff).all(axis=1))[0])
        node = int(np.flatnonzero(turn == TERMINAL)[leaf])
        raise GameError(f"payoff after {_path(game, out, node)} is {payoff[leaf].tolist()}: payoffs must be finite")
    labels: list[str] = []
    for seat, seat_keys in enumerate(keys):
        labels.extend(_labels(seat, list(seat_keys)))
    return Tree(
        players=players,
        parent=np.frombuffer(out.parent, np.int32),
        turn=turn,
        action=np.frombuffer(out.action, np.int32),
        infoset=infoset,
        chance=np.frombuffer(out.chance, np.float64),
        payoff=payoff,
        infosets=Infosets(
            seat_start, np.concatenate(([0], np.cumsum(widths))).astype(np.int64), labels, lists, actions_of
        ),
        spec=str(getattr(game, "spec", "") or ""),
    )


def _labels(seat: int, keys: Sequence[Any]) -> list[str]:
    """Infoset keys as text; keys that are different but print alike fall back to repr."""
    labels = [key if isinstance(key, str) else str(key) for key in keys]
    if len(set(labels)) < len(labels):
        labels = [repr(key) for key in keys]
    if len(set(labels)) < len(labels):
        raise GameError(f"two infosets of seat {seat} print as the same text; give infoset() a readable unique string")
    return labels
