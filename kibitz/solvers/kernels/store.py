"""Stores of rows: one interface, whether they are dense (`dense.py`) or hashed (`hash.py`).

A row is found by its key and then known by its place.
"""

from __future__ import annotations

from kibitz.games.kernels.dispatch import optional, stub


@stub
def locate(store, key, evict, count):
    """The place of a row, which is made if it is not there. evict: whether a full store drops another for it."""


@stub
def look(store, key):
    """The place of a row that is only read."""


@stub
def matched(store, at, width, probability):
    """probability[0:width] by regret matching."""


@stub
def averaged(store, at, width, probability):
    """probability[0:width] of the average strategy."""


@stub
def greedy(store, at, width, probability):
    """All on the action that is regretted most."""


@optional
def silent(store, at, width):
    """Whether a row has nothing to say: it is not there, or nothing was added to it."""
    return False


@optional
def is_open(store, at, action):
    """Whether an action may be played at all."""
    return True


@optional
def regret_of(store, at, action):
    """The regret of an action, where actions may be passed over; a store that does not say it passes over none."""
    return 0.0


@stub
def add_average(store, at, width, weight, probability):
    """Add a strategy to the average."""


@stub
def add_regret(store, at, key, width, weight, values, value, evict, count):
    """Add weight * (values - value) to the regrets."""


@optional
def crowded(store):
    """Whether the store should grow before more is learned; one that has all its places has no need."""
    return False


@optional
def settle(store):
    """The end of a walk."""
    return None
