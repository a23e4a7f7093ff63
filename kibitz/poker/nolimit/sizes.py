"""Which bet size to add next to an action abstraction, by measured loss.

    result = next_size("nl.blueprint", candidates=[0.33, 0.75, 1.5, 3], deals=2000)
    result.best                                        a size in pots, or None

For each candidate a local best response that may bet the strategy's own sizes and the candidate plays the deals that
one without it plays too. The difference is what the strategy loses because it reads the candidate as another size.
Differences of the same deals have less variance than results of different ones.

With `seconds`, each candidate is also tried from the other side: a blueprint of the abstraction with the candidate and
one without are trained for so long, and meet in a duplicate match at the table.

There are many tries, so intervals are simultaneous: with K of them each has confidence 1 - 0.05 / K (Bonferroni), and
all hold together with probability 95%. A size is named only if its interval is above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import clock
from kibitz.core.errors import GameError
from kibitz.evaluate.match import in_order
from kibitz.evaluate.score import LEVEL, Score, score_of
from kibitz.poker.nolimit.response import BOARDS, CHUNK, SeatedStrategy, check, shown, sizes_of
from kibitz.poker.rules import acpc

CANDIDATES: tuple[float | str, ...] = (0.33, 0.5, 0.75, 1, 1.5, 2, 3)
MATCH_DEALS = 100_000
Message = Callable[[str], None]


@dataclass(frozen=True)
class Candidate:
    """A size that may be added. Scores are chips per hand, with simultaneous intervals."""

    size: float  # in pots
    loss: Score  # what the strategy loses more to a response that may bet it
    match: Score | None = None  # what a blueprint with it wins from one without it


@dataclass(frozen=True)
class NextSize:
    """Candidates, those with the largest loss first."""

    game: str
    name: str
    sizes: tuple[float, ...]  # that the strategy has
    base: Score  # what a response wins that bets these alone; 95%
    candidates: tuple[Candidate, ...]
    deals: int
    big_blind: int
    seconds: float

    @property
    def best(self) -> float | None:
        """The size with the largest loss among those whose loss is above 0 beyond doubt; None if there is none."""
        sure = [each for each in self.candidates if each.loss.interval[0] > 0.0]
        return sure[0].size if sure else None

    @property
    def best_match(self) -> float | None:
        """The size whose blueprint wins most, if it wins beyond doubt."""
        sure = [each for each in self.candidates if each.match is not None and each.match.interval[0] > 0.0]
        return max(sure, key=_match_mean).size if sure else None

    def data(self) -> dict[str, Any]:
        """As plain values."""
        candidates = [
            {"size": shown(each.size), "loss": each.loss.data(), "match": each.match.data() if each.match else None}
            for each in self.candidates
        ]
        best, match = (None if size is None else shown(size) for size in (self.best, self.best_match))
        return {
            "game": self.game, "strategy": self.name, "sizes": [shown(size) for size in self.sizes],
            "base": self.base.data(), "candidates": candidates, "best": best, "best_match": match,
            "deals": self.deals, "big_blind": self.big_blind, "seconds": self.seconds,
        }  # fmt: skip


def _match_mean(candidate: Candidate) -> float:
    return -np.inf if candidate.match is None else candidate.match.mean


def next_size(
    strategy: Any,
    game: Any = None,
    *,
    candidates: Sequence[float | str] = CANDIDATES,
    deals: int = 1000,
    boards: int = BOARDS,
    seed: int = 0,
    threads: int | None = None,
    seconds: float | None = None,
    tell: Message | None = None,
) -> NextSize:
    """Say which bet size an action abstraction lacks most.

    strategy    a saved strategy, a Profile or a Blueprint of an action abstraction
    game        the table; default: the strategy's game with all bets
    candidates  sizes in pots, or "allin"; those that the strategy has are left out
    deals       of each response; each is played from both seats
    seconds     also train a blueprint with each candidate for so long, and play it against one without
    tell        is called with a line about what goes on
    """
    target, began = SeatedStrategy(strategy, game), clock()
    check(deals, boards, seed)
    if not target.bets:
        raise GameError(f"{target.name} has every bet size already: it is no strategy of an action abstraction")
    tried = tuple(sorted(size for size in set(sizes_of(candidates)) if size not in target.bets))
    if not tried:
        raise GameError("the strategy has all candidates already: name others")
    say = tell or (lambda line: None)
    level = LEVEL / (len(tried) * (1 if seconds is None else 2))  # all tries together err in one run of twenty

    def won(sizes: tuple[float, ...], what: str) -> NDArray[np.float64]:
        response = target.response(sizes, boards)
        mean = np.zeros(deals)
        for first, some in in_order(lambda at, count: target.won(response, seed, at, count), deals, CHUNK, threads):
            mean[first : first + len(some)] = some.mean(axis=1)
            say(f"{what}: deal {first + len(some):,} of {deals:,}")
        return mean

    base = won(target.bets, "without a candidate")
    loss = {}
    for size in tried:
        with_it = won(tuple(sorted((*target.bets, size))), f"with {acpc.size_text(size)}")
        loss[size] = score_of(with_it - base, level)
    match = {} if seconds is None else _matches(target, tried, seconds, seed, threads, level, say)
    listed = sorted(tried, key=lambda size: -loss[size].mean)
    return NextSize(
        target.spec, target.name, target.bets, score_of(base),
        tuple(Candidate(size, loss[size], match.get(size)) for size in listed), deals,
        max(1, *target.definition.blinds), clock() - began,
    )  # fmt: skip


def _matches(
    target: SeatedStrategy, tried: Sequence[float], seconds: float, seed: int, threads: int | None, level: float,
    say: Message,
) -> dict[float, Score]:  # fmt: skip
    """What blueprints with a candidate win from one without, all trained for as long."""
    from kibitz.evaluate.match import match
    from kibitz.games import game as make_game
    from kibitz.play.agents import agent
    from kibitz.poker.nolimit.table import NoLimitMachine
    from kibitz.solvers.training import train

    base: Any = getattr(target.agent, "base", None)
    view = getattr(getattr(base, "table", None), "view", None)
    if base is None or view is None or not target.spec:
        raise GameError(f"--seconds trains blueprints beside {target.name}, which should be one of an action "
                        "abstraction of a game with a name")  # fmt: skip
    machine = NoLimitMachine(target.rules)

    def trained(sizes: Sequence[float]) -> Any:
        few = make_game(_with_bets(base.game.spec, sizes))
        say(f"training with {', '.join(map(acpc.size_text, sizes))}")
        blueprint = train(few, abstraction=view.name, seconds=seconds, seed=seed, threads=threads)
        return agent(blueprint, machine)

    without = trained(target.bets)
    scores = {}
    for size in tried:
        result = match(machine, trained(sorted((*target.bets, size))), without, deals=MATCH_DEALS, seed=seed,
                       threads=threads)  # fmt: skip
        scores[size] = _at_level(result.scores[0], result.deals, level)
    return scores


def _at_level(score: Score, deals: int, level: float) -> Score:
    """The same mean with an interval of another confidence."""
    from scipy.special import stdtrit

    half = score.error * float(stdtrit(deals - 1, 1.0 - level / 2))
    return Score(score.mean, score.error, (score.mean - half, score.mean + half))


def _with_bets(spec: str, sizes: Sequence[float]) -> str:
    """The spec of an abstraction, with other sizes."""
    from kibitz.core import spec as specs

    parsed = specs.parse(spec)
    return str(specs.Spec(parsed.name, {**parsed.args, "bets": [shown(size) for size in sizes]}))
