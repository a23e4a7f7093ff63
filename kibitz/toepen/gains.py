"""What the exploiting player wins more than search from an opponent whose strategy is known, with little noise.

It first learns from hands that its blueprint plays against the opponent. Then deals are played to the endgame by the
blueprint and the opponent, and in each endgame the values of what the player would do and of search, against what the
opponent does there, are exact over all hands by their ranges. Hands that end before count as 0: nothing differs then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kibitz.evaluate.match import match
from kibitz.evaluate.score import Score, scored
from kibitz.games.views import View
from kibitz.toepen.agents import ToepenPlayer
from kibitz.toepen.exploit import Exploit, cards_of
from kibitz.toepen.search import Spot, joined, spot_of, written
from kibitz.toepen.words import text_of


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
    from kibitz.toepen.kernels.play import MOST_WORDS, until_trick

    base, game = learner.base, learner.game
    match(base.machine, _Recorder(base, learner), foe, deals=max(1, hands // 2), seed=seed)
    words, space = np.zeros(MOST_WORDS, np.uint64), np.zeros(64, np.uint64)
    won = np.zeros((len(settings), 2 * deals))
    weights: list[list[float]] = [[] for _ in settings]
    for number in range(deals):
        for seat in range(2):
            players = (base.player, foe.player) if seat == 0 else (foe.player, base.player)
            count, _, _ = until_trick(base.rules, *players, seed + 1, number, learner.trick, words, space)
            if count < 0:
                continue
            spot, _ = spot_of(game, [text_of(int(word)) for word in words[:count]], learner.trick)
            for k, (gain, weight) in enumerate(_in_endgame(learner, foe, settings, spot, seat)):
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
    learner: Exploit, foe: ToepenPlayer, settings: Sequence[tuple[str, float]], spot: Spot, seat: int
) -> list[tuple[float, float]]:
    """(what a setting wins more than search, how far it leans) in one endgame, for each setting."""
    solved = learner.solve(spot)
    endgame, rows = solved.endgame, solved.endgame.rows()
    dealt = (endgame.hands | solved.spot.shown[1 - seat]).astype(np.uint64)
    theirs, mine = foe.likelihoods(1 - seat, solved.spot.history, dealt), solved.ranges[seat]
    both = np.stack([mine, theirs] if seat == 0 else [theirs, mine])
    played = written(foe, solved.spot, endgame, rows, both)

    def worth(strategy: np.ndarray) -> float:
        pair = joined(rows, strategy, played) if seat == 0 else joined(rows, played, strategy)
        value = float(endgame.evaluate(pair, both[0], both[1]).value)
        return value if seat == 0 else -value

    plain, found = worth(solved.solution.probabilities), []
    for over, bound in settings:
        learner.over, learner.bound = over, bound
        leaning = learner.lean(solved, seat)
        found.append((worth(leaning.strategy) - plain, leaning.weight))
    return found
