"""What players of Toepen gain in endgames, measured with little noise.

Deals are played to the start of an endgame. There the values of strategies are exact over all hands by their ranges, so
the luck of the last tricks does not count. Hands that end before count as 0: nothing differs then.

    endgame_bound    what best responses in endgames alone win from a strategy: a lower bound on its exploitability
    exploit_gains    what the exploiting player wins more than search, from an opponent whose strategy is known
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate.match import match
from kibitz.evaluate.score import Score, scored
from kibitz.games.views import View
from kibitz.toepen.agents import ToepenPlayer
from kibitz.toepen.endgame_root import EndgameRoot
from kibitz.toepen.exploit import Exploit, cards_of
from kibitz.toepen.search import ToepenSearch, dealt, joined, root_met, written

Floats = NDArray[np.float64]


# Best responses


def endgame_bound(
    target: ToepenPlayer,
    deals: int = 100,
    seed: int = 0,
    threads: int = 1,
    on_deal: Callable[[int], None] | None = None,
) -> Score:
    """What one wins per hand, over both seats, who plays like a strategy until the endgame and then a best response."""
    search = ToepenSearch(target, iterations=1, threads=threads)
    won = np.zeros(deals)
    for number in range(deals):
        root = root_met(search, (target, target), seed, number)
        if root is not None:
            endgame = root.endgame(search.game)
            ranges = np.stack([search.ranges(root, endgame, seat) for seat in range(2)])
            plain = written(target, root, endgame, endgame.rows(), ranges, threads=threads)
            for seat in range(2):
                mass = ranges[seat] * endgame.compatible(ranges[1 - seat])
                best = endgame.respond(plain, seat, ranges[1 - seat]).by_hand
                won[number] += 0.5 * float(mass @ best / mass.sum())  # values of both seats cancel
        if on_deal is not None:
            on_deal(number + 1)
    return scored(deals, float(won.sum()), float((won * won).sum()))


# Exploitation


@dataclass(frozen=True)
class Leaned:
    """What a bound allows."""

    over: str  # as of Exploit
    bound: float
    gain: Score  # over search, per hand
    weight: float  # mean over endgames: how much of the answer to the model is played
    deals: int


class _Recorder:
    """Plays like a blueprint, and lets another learn from the hands."""

    def __init__(self, base: ToepenPlayer, learner: Exploit) -> None:
        self.name, self._base, self._learner = base.name, base, learner

    def begin(self, seat: int) -> None:
        pass

    def act(self, view: View) -> list[float]:
        return self._base.act(view)

    def end(self, view: View, payoff: float) -> None:
        self._learner.learn(view.seat, cards_of(view), view.public)


def exploit_gains(
    learner: Exploit,
    foe: ToepenPlayer,
    settings: Sequence[tuple[str, float]],
    hands: int = 2000,
    deals: int = 50,
    seed: int = 0,
    on_deal: Callable[[int], None] | None = None,
) -> list[Leaned]:
    """Learn from `hands`, then measure each of some settings (over, bound) on both seats of `deals`."""
    base = learner.blueprint
    match(base.machine, _Recorder(base, learner), foe, deals=max(1, hands // 2), seed=seed)
    won = np.zeros((len(settings), 2 * deals))
    weights: list[list[float]] = [[] for _ in settings]
    for number in range(deals):
        for seat in range(2):
            root = root_met(learner, (base, foe) if seat == 0 else (foe, base), seed + 1, number)
            if root is None:
                continue
            for k, (gain, weight) in enumerate(_in_endgame(learner, foe, settings, root, seat)):
                won[k, 2 * number + seat] = gain
                weights[k].append(weight)
        if on_deal is not None:
            on_deal(number + 1)
    result = []
    for (over, bound), gains, leaned in zip(settings, won, weights, strict=True):
        score = scored(len(gains), float(gains.sum()), float((gains * gains).sum()))
        result.append(Leaned(over, bound, score, float(np.mean(leaned)) if leaned else 0.0, deals))
    return result


def _in_endgame(
    learner: Exploit, foe: ToepenPlayer, settings: Sequence[tuple[str, float]], root: EndgameRoot, seat: int
) -> list[tuple[float, float]]:
    """(what a setting wins more than search, how far it leans) in one endgame, for each setting."""
    solved = learner.solved_at(root)
    endgame, rows = solved.endgame, solved.endgame.rows()
    theirs = foe.likelihoods(1 - seat, root.history, dealt(root, endgame, 1 - seat))
    both = np.stack([solved.ranges[0], theirs] if seat == 0 else [theirs, solved.ranges[1]])
    played = written(foe, root, endgame, rows, both)

    def value(strategy: Floats) -> float:
        pair = joined(rows, strategy, played) if seat == 0 else joined(rows, played, strategy)
        to_first = float(endgame.evaluate(pair, both[0], both[1]).value)
        return to_first if seat == 0 else -to_first

    plain, gains = value(solved.solution.probabilities), []
    for over, bound in settings:
        learner.over, learner.bound = over, bound
        leaning = learner.lean(solved, seat)
        gains.append((value(leaning.strategy) - plain, leaning.weight))
    return gains
