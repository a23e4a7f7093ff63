"""How large a tree will be, estimated while it is being laid out, so that one without end is stopped in time.

`estimated_histories` walks down a few samples of the tree. `SizeGuard` compares the estimate, the memory taken for each
history so far and the speed with what there is, after about the first second and from time to time after that.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN, free_memory, held_memory
from kibitz.games.protocol import CHANCE, Game

MOST_HISTORIES = "KIBITZ_MOST_HISTORIES"  # in the environment: lay out so many, whatever the estimate says
MOST_SECONDS = 120.0  # of a processor, for the layout alone: one that will take longer is not carried on
# Bytes for each history that the sequence form and a solve take beside the laid out tree; see kibitz/games/README.md.
BYTES_TO_SOLVE = 220
BYTES_LAID_OUT = 40  # by history, at the least: what a tree's arrays take
FIRST_SECONDS = 0.5  # until the first estimate
FIRST_HISTORIES = 1 << 16  # the same, of a game that is fast
_MEASURE_EVERY = 1 << 14
_WARM, _WARM_SECONDS = 1 << 10, 5.0  # histories, or seconds, after which speed and memory are measured
_GROUPS, _SAMPLES = 5, 60  # estimates in groups: the middle one of the groups' means counts
_CHILDREN = 12  # of a history that one estimate follows
_DEEP = 1_000  # moves of a history that make one wonder
_STEPS = 4_000  # states that one estimate makes
_ESTIMATE_SECONDS = 0.3
_BEYOND = 1.5  # of what fits or may take its time, before a game is refused by an estimate


def estimated_histories(game: Game, enough: float, seed: int = 0, late: Callable[[], bool] = lambda: False) -> float:
    """An estimate of a game's histories that is right on average; beyond `enough`, or when it is late, it is cut off.

    A level of the tree is held as one history for each kind (who moves, among how many actions) and the number of
    histories that it stands for; of all children of a kind one stays, drawn by what they stand for, and so the
    expected count of each level is right [Chen 1992, heterogeneous sampling].
    """
    rng = random.Random(seed)
    total, steps = 0.0, 0
    level = {0: (1.0, game.root())}
    while level and total <= enough and steps < _STEPS:
        following: dict[Any, tuple[float, Any]] = {}
        for weight, state in level.values():
            total += weight
            moves = _moves(game, state)
            if not moves or late():
                continue
            wide = len(moves) > _CHILDREN
            chosen = [moves[at] for at in rng.sample(range(len(moves)), _CHILDREN)] if wide else moves
            share = weight * len(moves) / len(chosen)
            for move in chosen:
                child = game.after(state, move)
                steps += 1
                turn = game.turn(child)
                kind = turn, len(_moves(game, child))
                before = following.get(kind, (0.0, None))
                together = before[0] + share
                drawn = rng.random() * together < share
                following[kind] = together, child if drawn else before[1]
        level = following
    return total


def _moves(game: Game, state: Any) -> Sequence[Any]:
    turn = game.turn(state)
    if turn == CHANCE:
        return [outcome for outcome, _ in game.chance(state)]
    moves = game.actions(state) if turn >= 0 else ()
    return moves if isinstance(moves, Sequence) else list(moves)


class SizeGuard:
    """Watches a layout: `check` raises where it is going to take more memory or time than there is.

    `limit` is the most histories to accept, by the caller's own word: then there is no estimate, and only memory that
    really runs out ends the walk.
    """

    def __init__(
        self,
        game: Game,
        limit: int | None = None,
        clock: Callable[[], float] = time.thread_time,
        memory: Callable[[], int] = held_memory,
        free: Callable[[], int] = free_memory,
    ) -> None:
        self.game, self.clock, self.memory, self.free = game, clock, memory, free
        self.limit = limit if limit is not None else _asked()
        self.name = str(getattr(game, "spec", "") or "the game")
        self.began = clock()
        self.available = max(0, free() - MARGIN)
        self.estimate_at, self.estimate_after = FIRST_HISTORIES, FIRST_SECONDS
        self.measure_at = _MEASURE_EVERY
        self.mark: tuple[int, int] | None = None  # histories and bytes held, once rules have warmed up

    @property
    def most(self) -> int:
        """Histories that can be had at all: asked for, or as many as fit at the least that they take."""
        return self.limit or max(1, self.available // (BYTES_LAID_OUT + BYTES_TO_SOLVE))

    def check(self, histories: int, depth: int = 0) -> None:
        """Called from time to time, with the length of the history that the walk is at."""
        if self.limit and histories > self.limit:
            raise GameError(f"{self.name} has more than {self.limit:,} histories, which is the limit; {_ADVICE}")
        if self.mark is None and histories >= _WARM:
            self.mark = histories, self.memory()
        if histories >= self.measure_at:
            self.measure_at = histories + _MEASURE_EVERY
            self._measure(histories, depth)
        spent = self.clock() - self.began
        if not self.limit and (histories >= self.estimate_at or spent >= self.estimate_after):
            self.estimate_at, self.estimate_after = 4 * max(histories, FIRST_HISTORIES), 4 * max(spent, FIRST_SECONDS)
            self._estimate(histories, depth)

    def _each(self, histories: int) -> float:
        """Bytes that a history takes, laid out and solved. What rules take once, as they begin, does not count."""
        grown = 0.0
        if self.mark is not None and histories >= 2 * self.mark[0]:
            grown = (self.memory() - self.mark[1]) / (histories - self.mark[0])
        return max(BYTES_LAID_OUT, grown) + BYTES_TO_SOLVE

    def _rate(self, histories: int, spent: float) -> float:
        """Histories a second; without end as long as it is not known: the first ones may have to compile something."""
        return histories / max(spent, 1e-9) if histories >= _WARM or spent > _WARM_SECONDS else float("inf")

    def _measure(self, histories: int, depth: int) -> None:
        """Stop where what is still free does not hold a solve of the histories that are there already."""
        free = self.free() - MARGIN
        if histories * BYTES_TO_SOLVE > free:
            each = self._each(histories)
            raise GameError(
                f"{self.name} has more than {histories:,} histories, and no more fit into memory at about {each:,.0f} "
                f"bytes each to lay out and solve: {max(0, free) / 1e6:,.0f} MB are left; {_ADVICE}{_cycle(depth)}"
            )

    def _samples(self, enough: float) -> float:
        """The middle one of means of estimates: a few that are far too high, or too low, do not count."""
        began = self.clock()

        def late() -> bool:
            return self.clock() - began > _ESTIMATE_SECONDS

        groups: list[list[float]] = [[] for _ in range(_GROUPS)]
        for seed in range(_SAMPLES):
            groups[seed % _GROUPS].append(estimated_histories(self.game, 100 * enough, seed, late))
            far = seed + 1 == _GROUPS and max(map(max, groups)) < enough / 20  # from what matters
            if far or late():
                break
        means = sorted(sum(group) / len(group) for group in groups if group)
        return means[len(means) // 2]

    def _estimate(self, histories: int, depth: int) -> None:
        each, rate = self._each(histories), self._rate(histories, self.clock() - self.began)
        fit = self.available / each
        enough = _BEYOND * min(fit, rate * MOST_SECONDS)
        total = max(float(histories), self._samples(enough))
        if total <= enough:
            return
        if total > _BEYOND * fit:  # estimates are cut off far beyond it: "or more"
            why = f"take about {total * each / 1e9:,.0f} GB ({each:,.0f} bytes each, as measured so far), and " \
                  f"{self.available / 1e9:,.1f} GB are free"  # fmt: skip
        else:
            why = f"take about {total / rate / 60:,.0f} minutes ({rate:,.0f} a second so far)"
        raise GameError(
            f"{self.name} has some {total:.2g} histories or more, by an estimate from samples; to lay them out and "
            f"solve them would {why}. {_ADVICE[0].upper()}{_ADVICE[1:]}, or set {MOST_HISTORIES}=N in the environment "
            f"to lay out up to N histories all the same{_cycle(depth)}"
        )


_ADVICE = "choose smaller parameters, or a smaller game"


def _cycle(depth: int) -> str:
    return f". A history is {depth:,} moves long already: the rules seem to have a cycle" if depth > _DEEP else ""


def _asked() -> int | None:
    text = os.environ.get(MOST_HISTORIES, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise GameError(f"{MOST_HISTORIES}={text[:40]!r} in the environment should be a whole number above 0")
    return int(text)


MOST_LAID = 3_000_000  # histories that are laid out to be walked
_FIT_SAMPLES = 5


def fits(game: Game, most: int) -> bool:
    """Whether a game has at most about so many histories, by what it says of itself or by an estimate."""
    if getattr(game, "least_histories", 0) > most:
        return False
    try:
        estimates = sorted(estimated_histories(game, 8.0 * most, seed) for seed in range(_FIT_SAMPLES))
    except GameError:  # too many outcomes to list
        return False
    return estimates[_FIT_SAMPLES // 2] <= most
