"""Where a game can be cut: parts by the first actions, by what a seat holds, by round, or by the game's own names.

A `Cut` is one part with a name. Each can have an expert of its own; one part alone is always a grafting partition, as
condition 3 speaks of ways from one part into another.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SpecError
from kibitz.stitch.partition import Partition, fitting, parts_by_own

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LONGEST = 24  # actions of a prefix


@dataclass(frozen=True, eq=False)
class Cut:
    """A part of a game: some infosets, with a name that `partition` reads where one was written for it."""

    name: str
    here: Bools  # [I]
    actions: tuple[str, ...] = ()  # of a prefix

    @property
    def size(self) -> int:
        return int(self.here.sum())

    def overlaps(self, other: Cut) -> bool:
        return bool((self.here & other.here).any())

    def partition(self, infosets: Any) -> Partition:
        return Partition(self.name, infosets, self.here.astype(np.int64), ("base", self.name))


def cuts(of: Any, lost: Floats, most: int = 16, fits: Callable[[Cut], bool] = lambda cut: True) -> list[Cut]:
    """The cuts of a game where most is lost, and not two of the same infosets. lost: [I].

    of: what partitions ask (`TreeParts`, or a form without a tree). fits: whether some expert of a part fits the
    memory. Prefixes are lengthened where most is lost.
    """
    others = [*_by_private(of), *_by_own(of)]
    every = [*prefixes(of, lost, most, fits), *(cut for cut in others if fits(cut))]
    every.sort(key=lambda cut: -float(lost[cut.here].sum()))
    kept: dict[bytes, Cut] = {}
    for cut in every:
        if 0 < cut.size < len(lost):
            kept.setdefault(np.packbits(cut.here).tobytes(), cut)
    return list(kept.values())[:most]


def prefix_name(actions: tuple[str, ...], known: set[str]) -> str:
    """The shortest name that `partition` reads as these actions: letters where they say all, else whole names."""
    letters = "".join(action[:1] for action in actions)
    clear = all(fitting(action[:1], known) == {action} for action in actions) and (
        letters not in known or len(actions) == 1
    )
    return f"prefix({letters if clear else '.'.join(actions)})"


def prefixes(of: Any, lost: Floats, most: int, fits: Callable[[Cut], bool] = lambda cut: True) -> list[Cut]:
    """Best first: the prefix after which most is lost is the next to be lengthened."""
    known = {str(action) for actions in of.infosets.actions for action in actions}
    waiting: list[tuple[float, tuple[str, ...], Bools]] = []
    result: list[Cut] = []

    def lengthen(actions: tuple[str, ...]) -> None:
        names = sorted(known)
        part = of.parts_by_actions([[{step} for step in (*actions, name)] for name in names])
        for number, name in enumerate(names, 1):
            here = part == number
            if here.any():
                heapq.heappush(waiting, (-float(lost[here].sum()), (*actions, name), here))

    try:
        lengthen(())
        while waiting and len(result) < most:
            _, actions, here = heapq.heappop(waiting)
            cut = Cut(prefix_name(actions, known), here, actions)
            result += [cut] if fits(cut) else []
            if len(actions) < LONGEST:
                lengthen(actions)
    except GameError:  # players do not see all actions: an infoset has histories with different ones
        return result
    return result


def _by_own(of: Any) -> list[Cut]:
    """The parts that a game names itself; nothing where it names none."""
    try:
        names, which = parts_by_own(of)
    except SpecError:
        return []
    return [Cut(f"own({name})", which == number) for number, name in enumerate(names)]


def _by_private(of: Any) -> list[Cut]:
    """What a seat holds, from each round on; and each round by itself. Nothing where the game does not say."""
    try:
        holdings, which, at = of.parts_by_private()
    except SpecError:
        return []
    rounds = sorted(set(at.tolist()))
    result = [Cut(f"round({r})", at == r) for r in rounds] if len(rounds) > 1 else []
    for number, holding in enumerate(holdings):
        for r in rounds:
            since = "" if r == rounds[0] else f", round={r}"
            result.append(Cut(f"private({holding}{since})", (which == number) & (at >= r)))
    return result
