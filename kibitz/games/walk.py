"""A walk of the rules, depth first, that holds them to the Game protocol: what `kibitz.games.tree` makes a tree of.

Histories are numbered in preorder. An error says which history breaks the protocol; a walk that has no
end is stopped by its depth (`MAX_DEPTH`) or by the guard of `kibitz.games.size`.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kibitz.core.errors import GameError
from kibitz.games.checks import MOST_ACTIONS, Recheck, action_list, changed, outcome_list, real_numbers, unsteady
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game
from kibitz.games.size import SizeGuard

MAX_DEPTH = 10_000
CHANCE_TOLERANCE = 1e-9
_PROGRESS_EVERY = 1 << 16
_CHECK_EVERY = 1 << 10
# The first histories are all asked a second time what they are, later ones now and then: rules that change states in
# place do so in most of them.
FIRST_STATES, STATES_EVERY = 1 << 8, 1 << 6
FIRST_ENDS, ENDS_EVERY = 1 << 6, 1 << 9


@dataclass
class Walk:
    """Growing arrays of a walk; `array` holds machine numbers, a tenth of what a list of objects takes."""

    parent: array[int] = field(default_factory=lambda: array("i"))
    turn: array[int] = field(default_factory=lambda: array("b"))
    action: array[int] = field(default_factory=lambda: array("i"))
    infoset: array[int] = field(default_factory=lambda: array("i"))
    chance: array[float] = field(default_factory=lambda: array("d"))
    payoff: array[float] = field(default_factory=lambda: array("d"))
    keys: list[dict[Any, int]] = field(default_factory=list)  # per seat: infoset key -> number
    lists: list[tuple[Action, ...]] = field(default_factory=list)  # the distinct lists of actions
    lists_of: list[array[int]] = field(default_factory=list)  # per seat: which list each infoset has


def walk(game: Game, guard: SizeGuard, progress: Callable[[int], None] | None, infosets: int | None = None) -> Walk:
    """`infosets`: refuse a game that turns out to have more."""
    players, out, again = game.players, Walk(), Recheck(game)
    keys: list[dict[Any, int]] = [{} for _ in range(players)]  # per seat: infoset key -> number
    lists: dict[tuple[Action, ...], int] = {}  # distinct lists of actions
    lists_of: list[array[int]] = [array("i") for _ in range(players)]
    turn_of, actions_of, after, infoset_of, payoff_of = game.turn, game.actions, game.after, game.infoset, game.payoff
    add_parent, add_action, add_chance = out.parent.append, out.action.append, out.chance.append
    add_infoset, add_turn, add_payoff = out.infoset.append, out.turn.append, out.payoff.extend
    # The stack is the whole recursion: (a history with children still to come, which of them). Of a history there are
    # state, turn, actions or outcomes, infoset and number; states of children are made when their turn has come.
    stack: list[tuple[tuple[Any, int, Sequence[Any], Any, int], int]] = []
    push = stack.append
    state, parent, index, probability = game.root(), -1, 0, 1.0
    node = ends = 0
    due = 1  # when the guard is asked next
    moves: Any
    above: tuple[Any, int, Sequence[Any], Any, int]
    while True:
        turn = turn_of(state)
        if turn.__class__ is not int:
            turn = _whole(turn)
        add_parent(parent)
        add_action(index)
        add_chance(probability)
        if turn >= 0:
            if turn >= players:
                raise GameError(f"turn() gives seat {turn}, but seats are 0 to {players - 1}")
            moves = actions_of(state)
            if moves.__class__ is not tuple:
                moves = action_list(moves, _Place("actions", game, out, node))
            key = infoset_of(state)
            seat_keys = keys[turn]
            try:
                number = lists.get(moves)
                infoset = seat_keys.get(key)
            except TypeError as error:
                raise GameError(
                    f"infoset {key!r} of seat {turn} with actions {list(moves)}: {error}; an infoset must be "
                    "hashable, and actions must be strings or integers"
                ) from error
            if number is None:
                number = lists[moves] = _new_actions(moves, len(lists), key)
            if infoset is None:
                infoset = seat_keys[key] = len(seat_keys)
                lists_of[turn].append(number)
                if infosets is not None and sum(map(len, keys)) > infosets:
                    raise GameError(f"{guard.name} has more than {infosets:,} infosets, and the file has no more")
            elif lists_of[turn][infoset] != number:
                known = list(lists)[lists_of[turn][infoset]]
                raise GameError(
                    f"infoset {key!r} of seat {turn} has actions {list(known)} in one history and {list(moves)} "
                    f"in another ({path_of(game, out, node)}); a seat cannot tell them apart, so they must agree"
                )
            add_infoset(infoset)
            above = (state, turn, moves, key, node)
            for i in range(len(moves) - 1, -1, -1):
                push((above, i))
        elif turn == CHANCE:
            add_infoset(-1)
            moves = outcome_list(game.chance(state), _Place("chance", game, out, node))
            _check_chance(game, moves, out, node)
            above = (state, turn, moves, None, node)
            for i in range(len(moves) - 1, -1, -1):
                push((above, i))
        elif turn == TERMINAL:
            add_infoset(-1)
            payoff = payoff_of(state)
            ends += 1
            closely = (ends <= FIRST_ENDS or ends % ENDS_EVERY == 0) and again.affordable(node)
            if closely or (payoff.__class__ is not list and payoff.__class__ is not tuple):
                payoff = real_numbers(payoff, _Place("payoff", game, out, node))
            if len(payoff) != players:
                raise GameError(f"{_Place('payoff', game, out, node)} has {len(payoff)} numbers for {players} seats")
            try:
                add_payoff(payoff)
            except (TypeError, OverflowError):
                real_numbers(payoff, _Place("payoff", game, out, node))
                raise
            if closely:
                _play_again(again, out, node)
        else:
            raise GameError(f"turn() gives {turn!r}: it must be a seat, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})")
        add_turn(turn)
        node += 1
        if node >= due:
            due = min(2 * node, node + _CHECK_EVERY)
            if progress is not None and node % _PROGRESS_EVERY == 0:
                progress(node)
            guard.check(node, _check_depth(game, out, node - 1))
        if not stack:
            break
        (before, turn, moves, key, parent), index = stack.pop()
        if turn == CHANCE:
            action, probability = moves[index]
        else:
            action, probability = moves[index], 1.0
        state = after(before, action)
        if state is before:
            raise _same(game, out, parent, action)
        if (node < FIRST_STATES or node % STATES_EVERY == 0) and again.affordable(node):
            what = again.state(before, turn, moves, key, action)
            if what:
                raise changed(path_of(game, out, parent), what)
    guard.check(node)
    out.keys, out.lists, out.lists_of = keys, list(lists), lists_of
    return out


def _check_chance(game: Game, outcomes: Sequence[tuple[Action, float]], out: Walk, node: int) -> None:
    total = 0.0
    for outcome, p in outcomes:
        if not p >= 0.0:
            raise GameError(f"chance outcome {outcome!r} after {path_of(game, out, node)} has probability {p}")
        total += p
    if not abs(total - 1.0) <= CHANCE_TOLERANCE:
        raise GameError(f"chance probabilities after {path_of(game, out, node)} sum to {total:.12g}, not to 1")


def _play_again(again: Recheck, out: Walk, node: int) -> None:
    """Play a terminal history from the root a second time; its own turn is not yet among the turns."""
    steps: list[int] = []
    turns: list[int] = []
    at = node
    while at > 0:
        steps.append(out.action[at])
        at = out.parent[at]
        turns.append(out.turn[at])
    what = again.history(steps[::-1], turns[::-1], out.payoff[-again.game.players :])
    if what:
        raise unsteady(what)


def _same(game: Game, out: Walk, node: int, action: Action) -> GameError:
    return GameError(
        f"after {path_of(game, out, node)} the action {action!r} gives back the very state that it was given: either "
        "the rules seem to have a cycle, or `after` changes its state in place; it must return a new state"
    )


def _whole(turn: Any) -> int:
    """A turn that is not a plain int: NumPy's are fine."""
    try:
        return operator.index(turn)
    except TypeError:
        raise GameError(
            f"turn() gives {turn!r}: it must be a seat, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        ) from None


def _new_actions(actions: tuple[Action, ...], number: int, key: object) -> int:
    if len(actions) > MOST_ACTIONS:
        raise GameError(f"infoset {key!r} has {len(actions):,} actions; at most {MOST_ACTIONS:,} are laid out")
    if not actions:
        raise GameError(f"infoset {key!r} has no actions; a history where nobody can move must be TERMINAL")
    if not all(isinstance(a, str | int) for a in actions):
        raise GameError(f"infoset {key!r} has actions {list(actions)}: actions must be strings or integers")
    if len(set(map(str, actions))) != len(actions):
        raise GameError(f"infoset {key!r} lists an action twice: {list(actions)}")
    return number


class _Place:
    """ "payoff after the history ...": put into words only where an error is raised."""

    def __init__(self, what: str, game: Game, out: Walk, node: int) -> None:
        self.what, self.of = what, (game, out, node)

    def __str__(self) -> str:
        return f"{self.what} after {path_of(*self.of)}"


def path_of(game: Game, out: Walk, node: int) -> str:
    """The history of a node in words, by replaying the game; used in errors only."""
    steps: list[int] = []
    at = node
    while len(out.parent) > at > 0:
        steps.append(out.action[at])
        at = out.parent[at]
    words: list[str] = []
    try:
        state = game.root()
        for index in reversed(steps):
            turn = game.turn(state)
            step = list(game.chance(state))[index][0] if turn == CHANCE else list(game.actions(state))[index]
            words.append(str(step))
            state = game.after(state, step)
    except Exception:  # rules that do not give the same twice
        return f"history {node} of the walk, whose moves are numbers {' '.join(map(str, steps[:-21:-1]))}"
    if len(words) > 24:
        words = [*words[:20], "...", words[-1]]
    return "the history " + " ".join(words) if words else "the root"


def _check_depth(game: Game, out: Walk, node: int) -> int:
    """How long a history is; refuse a walk that has gone deeper than MAX_DEPTH: rules with a cycle never end."""
    depth, at = 0, node
    while at > 0:
        at = out.parent[at]
        depth += 1
    if depth > MAX_DEPTH:
        raise GameError(
            f"a history is longer than {MAX_DEPTH:,} moves, so the rules seem to have a cycle: "
            f"{path_of(game, out, node)}; every history of a finite game must end"
        )
    return depth
