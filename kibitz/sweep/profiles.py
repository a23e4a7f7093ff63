"""What profiles are worth in the whole game: sweeps of profiles within buckets, and of plain strategies by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.abstractions.buckets import hand_buckets
from kibitz.cards.tables import Tell
from kibitz.errors import GameError
from kibitz.form.bucket.layout import BucketLayout
from kibitz.form.protocol import Measure
from kibitz.games.poker import acpc
from kibitz.games.poker.rules import Poker
from kibitz.profile import Profile
from kibitz.sweep.betting import Lanes
from kibitz.sweep.strategy import Always, SeatStrategy, within_buckets
from kibitz.sweep.walk import Sweep, check

# Strategies without cards, by name: the first of these actions that is offered.
PLAIN = {"always-call": ("call",), "always-fold": ("fold", "call"), "always-raise": ("raise", "call")}


def seats_of(game: Poker, player: Profile | str) -> tuple[SeatStrategy, SeatStrategy]:
    """What a player does in each seat."""
    check(game)
    if isinstance(player, str):
        if player not in PLAIN:
            raise GameError(f"{player} is no plain strategy: choose {', '.join(PLAIN)}, or a profile within buckets")
        always = Always(Lanes(game.betting), PLAIN[player])
        return always.seat(0), always.seat(1)
    compact = player.infosets.compact
    layout: Any = None if compact is None else compact.form
    if not isinstance(layout, BucketLayout):
        raise GameError("a sweep measures profiles within buckets; this one was made without them: kibitz evaluate")
    if acpc.write(layout.definition) != acpc.write(game.definition):
        raise GameError(f"the profile was made for another game ({player.game or 'without a name'})")
    buckets = hand_buckets(game.definition, layout.abstraction)
    strategy = layout.to_strategy(player.probabilities).astype(np.float32)
    first, second = (within_buckets(layout, buckets, seat, strategy, f"{player.sha256} {seat}") for seat in (0, 1))
    return first, second


def measured(game: Poker, player: Profile | str, tell: Tell | None = None, device: str = "cpu") -> Measure:
    """Value and best responses of a player against itself, over all boards of the game. device: cpu or gpu."""
    sweep = Sweep(game, seats_of(game, player), device=device)
    value, best = sweep.value(tell), sweep.best(tell)
    worth = np.array([value, -value])
    return Measure(worth, best, max(0.0, float((best - worth).sum())))


def against(
    game: Poker, one: Profile | str, other: Profile | str, tell: Tell | None = None, device: str = "cpu"
) -> tuple[float, float]:
    """What `one` wins from `other` in seat 0 and in seat 1. device: cpu or gpu."""
    mine, his = seats_of(game, one), seats_of(game, other)
    first = Sweep(game, (mine[0], his[1]), device=device).value(tell)
    return first, -Sweep(game, (his[0], mine[1]), device=device).value(tell)
