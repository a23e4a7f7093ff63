"""The machine: what a game brings so that it can be walked and played, compiled or not.

`game` is a NamedTuple of numbers and arrays, `state` a NamedTuple of uint64 words; or both are objects of plain
Python (`kibitz.solvers.machines.plain`). A game registers its functions for its class (`games/kernels/dispatch.py`):

    register(MyGame, deal, turn, width, after, key, payoff)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kibitz.core.devices import overloaded
from kibitz.core.jit import U64
from kibitz.games.kernels.dispatch import optional, stub

CHANCE, END = -1, -2  # of `turn`


@stub
def deal(game, random):
    """The state that a hand begins in. random: uint64 words, of which the first is the generator's state."""


@stub
def turn(game, state):
    """The seat that moves, or CHANCE, or END."""


@optional
def draw(game, state, random):
    """At CHANCE: the state after an outcome, by its probability."""
    return state


@stub
def width(game, state):
    """At a seat's turn: how many actions there are."""


@stub
def after(game, state, action):
    """The state after an action, by its number."""


@stub
def key(game, view, state):
    """Which row the seat to move reads, under the abstraction `view`: a word that is not 0."""


@stub
def payoff(game, state, seat):
    """At END: what a seat wins."""


@optional
def prepare(game, view, state, random):
    """After the deal of a walk: the same state, with what is looked up many times worked out ahead; most games leave it
    out. random: scratch, from its second word on."""
    return state


# On a GPU a kernel of its own deals the cards of many walks, and looks up ahead what keys will ask for.


@optional
def look_ahead(view, game, state, seen):
    """Write down what keys look up in a deal; seen: uint32[Machine.looked_up]. A view that looks nothing up leaves it
    out."""
    return None


@optional
def dealt_view(view, seen):
    """The view of one deal, which reads what was looked up."""
    return view


@optional
def level(game, view, state, values):
    """Give the same value to actions that are the same to the seat (ties); a game without ties leaves it out."""
    return None


@optional
def part(game, state):
    """Which part of a grafting partition a decision is in; a game without parts leaves it out."""
    return 0


@optional
def advise(game, state):
    """The number of the action that the rule-based player takes; optional."""
    return U64(0)


# States that wait


def keep(states, at, state):
    """Put a state into a row of `states`."""
    states[at] = state if isinstance(states, list) else state[: states.shape[1]]


def kept(states, at, like):
    """The state of a row; `like` is any state of the same deal."""
    return states[at] if isinstance(states, list) else type(like)(*states[at], *like[states.shape[1] :])


def _keep(states, at, state):
    count = _changing(state)

    def words(states, at, state):
        for k in range(count):
            states[at, k] = state[k]

    return words


def _kept(states, at, like):
    kind = like.instance_class
    if _changing(like) < len(like):  # poker: only the betting changes
        return lambda states, at, like: kind(*((states[at, 0],) + like[1:]))  # noqa: RUF005  Numba knows sums
    return _BUILD[len(like)](kind)


def _changing(state):
    """How many words of a state change in the course of a hand: all, or the first (`CHANGING = 1` in its class)."""
    return getattr(state.instance_class, "CHANGING", len(state))


def keep_whole(states, at, state):
    """Put all words of a state into a row of `states`."""
    states[at] = state


def kept_whole(states, at, like):
    """The state of a row; `like` is any state of the game."""
    return type(like)(*states[at])


def _keep_whole(states, at, state):
    count = len(state)

    def words(states, at, state):
        for k in range(count):
            states[at, k] = state[k]

    return words


overloaded(keep, _keep)
overloaded(kept, _kept)
overloaded(keep_whole, _keep_whole)
overloaded(kept_whole, lambda states, at, like: _BUILD[len(like)](like.instance_class))


# One function for each number of words: Numba does not build a NamedTuple from a loop.
_BUILD: dict[int, Callable[[Any], Callable[..., Any]]] = {
    1: lambda kind: lambda states, at, like: kind(states[at, 0]),
    2: lambda kind: lambda states, at, like: kind(states[at, 0], states[at, 1]),
    3: lambda kind: lambda states, at, like: kind(states[at, 0], states[at, 1], states[at, 2]),
    4: lambda kind: lambda states, at, like: kind(states[at, 0], states[at, 1], states[at, 2], states[at, 3]),
    5: lambda kind: lambda states, at, like: kind(
        states[at, 0], states[at, 1], states[at, 2], states[at, 3], states[at, 4]
    ),
    6: lambda kind: lambda states, at, like: kind(
        states[at, 0], states[at, 1], states[at, 2], states[at, 3], states[at, 4], states[at, 5]
    ),
    7: lambda kind: lambda states, at, like: kind(
        states[at, 0], states[at, 1], states[at, 2], states[at, 3], states[at, 4], states[at, 5], states[at, 6]
    ),
    8: lambda kind: lambda states, at, like: kind(
        states[at, 0], states[at, 1], states[at, 2], states[at, 3], states[at, 4], states[at, 5], states[at, 6],
        states[at, 7],
    ),
}  # fmt: skip
MOST_WORDS = max(_BUILD)
