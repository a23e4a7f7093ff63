"""One hand in which everybody jams or folds: who jams with what, and the value of every stack.

    solved = pushfold([10, 7, 13], blinds=(1, 2), prizes=[50, 30, 20])
    solved.charts[0].range                  # "22+, A2s+, ..."
    solved.values                           # what every seat gets on average

Stacks are in the order of acting: with three players the button, the small blind, the big blind. With prizes the
value of a stack after the hand comes from the Independent Chip Model; without, chips count, in big blinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.holdem import classes
from kibitz.cards.ranges import parse_range
from kibitz.cards.recipes import class_of
from kibitz.core.errors import GameError
from kibitz.poker.tournaments.chip_model import checked_prizes, icm
from kibitz.poker.tournaments.exact import ExactHand, hold_em
from kibitz.poker.tournaments.fictitious import Engine, JamFoldPlay
from kibitz.poker.tournaments.fresh import Epsilon, epsilon_of
from kibitz.poker.tournaments.hand import FOLD, JAM, MOST, JamFoldHand, placed, survivors
from kibitz.poker.tournaments.ranges import written
from kibitz.poker.tournaments.sampled import DEALS, SampledHand, check_deals

Floats = NDArray[np.float64]
SPLITS = 60  # a chip is cut into so many parts, so that two to six can share it
ROUNDS = 60
TOLERANCE = 2e-5  # of the first prize, or of a big blind
DIFFERENT = 0.005  # of how often a hand jams, where a range differs from a chart
CLEAR = 1e-3  # the same: a hand that loses so much by one of its actions plays the other


@dataclass(frozen=True, eq=False)
class Chart:
    """What a seat does after others have jammed."""

    seat: int
    jammed: tuple[int, ...]
    jams: Floats  # [169]  the probability of jamming, by class of hands
    gain: Floats  # [169]  what jamming brings more than folding, if it comes to this
    fold: Floats  # [169]  what folding brings, if it comes to this
    chance: Floats  # [169]  how likely the seat has each hand, if it comes to this
    reach: float  # how likely it comes to this
    forced: bool  # the seat has no choice

    @property
    def share(self) -> float:
        """Of all hands."""
        return float(classes().hands @ self.jams / 1326)

    @property
    def range(self) -> str:
        """As people write it."""
        return written(self.jams)


@dataclass(frozen=True, eq=False)
class PushFold:
    """A solved hand."""

    hand: JamFoldHand
    stacks: tuple[float, ...]
    blinds: tuple[float, float]
    ante: float
    prizes: tuple[float, ...] | None
    charts: tuple[Chart, ...]
    values: tuple[float, ...]  # what each seat gets: of the prizes, or in big blinds won
    before: tuple[float, ...]  # by the Independent Chip Model before the hand; or nothing
    measured: Epsilon  # what a seat could win more
    rounds: int

    @property
    def epsilon(self) -> float:
        """What a seat could win more; over a sample, what a responder gains on deals that it was not chosen on."""
        return self.measured.gain

    @property
    def deals(self) -> int:
        """That were sampled; 0 if all were counted."""
        return self.measured.deals

    @property
    def unit(self) -> str:
        return "big blinds" if self.prizes is None else "of the prizes"


def pushfold(
    stacks: Sequence[Any], blinds: Sequence[Any] = ("0.5", 1), prizes: Sequence[Any] | None = None, ante: Any = 0, *,
    deals: int | None = None, exact: bool = False, seed: int = 0, rounds: int = ROUNDS, threads: int | None = None,
) -> PushFold:  # fmt: skip
    """Solve one hand. Two and three players are counted with all cards, unless `deals` asks for a sample; three need
    the table of three hands, which is made on first use (some minutes, once). More go by a sample."""
    whole, posts, dead = _chips(stacks, blinds, ante)
    hand = JamFoldHand(len(whole))
    paid = None if prizes is None else checked_prizes(prizes)
    engine = engine_for(hand.players, deals, exact, seed)
    chips = np.array([whole], np.int64)
    posted = hand.posted(chips, posts[0], posts[1], dead)
    forced = hand.forced(chips, posted)
    payoffs = hand_payoffs(hand, chips, posted, paid, posts[1])
    play = JamFoldPlay(engine, forced, threads=threads)
    scale = 1.0 if paid is None else paid[0]
    played = play.run(payoffs, rounds, TOLERANCE * scale)
    rounds = int(played.rounds.max())
    play.tidy(payoffs, TOLERANCE * scale)
    played = play.settle(payoffs, TOLERANCE * scale, CLEAR * scale)
    big = float(Fraction(str(blinds[1])))
    scaled = big / posts[1]
    before = (0.0,) * hand.players if paid is None else tuple(icm(np.array(whole), paid[: hand.players]).tolist())
    return PushFold(
        hand, tuple(float(chip * scaled) for chip in whole), (float(posts[0] * scaled), big), float(dead * scaled),
        paid, charts_of(play, payoffs), tuple(played.values[0].tolist()), before,
        epsilon_of(engine, play.jams, payoffs, forced), rounds,
    )  # fmt: skip


def engine_for(players: int, deals: int | None = None, exact: bool = False, seed: int = 0) -> Engine:
    """All cards where they can be counted, or a sample."""
    if deals is not None:
        check_deals(deals)
    if exact and (players > 3 or deals is not None):
        raise GameError("all cards are counted for two and three players, without --deals")
    if deals is None and players <= 3:
        return ExactHand(players)
    return SampledHand(players, deals or DEALS, seed)


def hand_payoffs(
    hand: JamFoldHand, chips: NDArray[np.int64], posted: NDArray[np.int64], prizes: tuple[float, ...] | None, big: int
) -> Floats:
    """[states, outcomes, seats]  prizes by the Independent Chip Model, or big blinds won."""
    after = hand.after(chips, posted)
    if prizes is None:
        return np.asarray((after - chips[:, None, :]) / big)
    paid = np.array([*prizes, *[0.0] * hand.players][: hand.players])
    payoffs = placed(chips[:, None], after, paid.tolist())
    for here, seats in survivors(after):
        payoffs[(*(axis[:, None] for axis in here), np.array(seats))] = icm(after[here][:, seats], paid)
    return payoffs


def charts_of(play: JamFoldPlay, payoffs: Floats) -> tuple[Chart, ...]:
    """The charts of a single state."""
    worth = play.engine.worth(play.moments, payoffs)[0]
    # With a payoff of one everywhere the value of an action is the probability that it comes to it.
    met = play.engine.worth(play.moments, np.ones_like(payoffs))[0, :, JAM]
    charts = []
    for k, (seat, jammed) in enumerate(play.engine.hand.nodes):
        here = np.maximum(met[k], 1e-12)
        gain, fold = (worth[k, JAM] - worth[k, FOLD]) / here, worth[k, FOLD] / here
        jams = play.jams[0, k].astype(np.float64)
        reach = float(met[k].sum())
        chance = met[k] / reach if reach > 0 else hold_em().prior
        charts.append(Chart(seat, jammed, jams, gain, fold, chance, reach, bool(play.forced[0, k])))
    return tuple(charts)


def _chips(stacks: Sequence[Any], blinds: Sequence[Any], ante: Any) -> tuple[list[int], tuple[int, int], int]:
    """Whole numbers that are in the same proportions, and can be shared."""
    amounts = [_amount("a stack", each) for each in stacks]
    if not 2 <= len(amounts) <= MOST:
        raise GameError(f"{len(amounts)} stacks: a hand of jam or fold is for 2 to {MOST} players")
    if min(amounts) <= 0:
        raise GameError("a stack should be above zero: leave players without chips out")
    if len(blinds) != 2:
        raise GameError("blinds are two numbers, small/big, such as 1/2")
    small, big = (_amount("a blind", each) for each in blinds)
    dead = _amount("the ante", ante)
    if small < 0 or big <= 0 or small > big or dead < 0:
        raise GameError("blinds are small/big, zero or more, such as 1/2, and the ante is zero or more")
    scale = SPLITS * lcm(*(each.denominator for each in (*amounts, small, big, dead)))
    if max(*amounts, big) * scale > 10**15:
        raise GameError("stacks and blinds have too many digits")
    whole = [int(each * scale) for each in (*amounts, small, big, dead)]
    return whole[: len(amounts)], (whole[-3], whole[-2]), whole[-1]


def _amount(what: str, source: Any) -> Fraction:
    try:
        number = Fraction(str(source).strip())
    except (ValueError, ZeroDivisionError):
        raise GameError(f"{what} should be a number, not {source!r}") from None
    if abs(number) > 10**9 or number.denominator > 10**6:
        raise GameError(f"{what}, {source}, is too large or has too many digits")
    return number


# A range of a user's beside a chart


@dataclass(frozen=True)
class Compared:
    name: str  # of the decision
    hands: tuple[tuple[str, float, float, float], ...]  # name, how often the chart and the user jam, the cost
    cost: float  # of all differences, by how likely the hands are

    def data(self) -> dict[str, Any]:
        keys = ("hand", "jams", "yours", "cost")
        return {"decision": self.name, "cost": self.cost,
                "hands": [dict(zip(keys, each, strict=True)) for each in self.hands]}  # fmt: skip


def compared(solved: PushFold, text: str, decision: str | None = None) -> Compared:
    """A range as people write it beside the chart of a decision, the dearest difference first. A cost below zero is
    possible where the chart itself mixes: by less than epsilon, each time it comes to this."""
    charts = {solved.hand.decision(chart.seat, chart.jammed): chart for chart in solved.charts if not chart.forced}
    if not charts:
        raise GameError("there is no decision in this hand: every seat is all in by its blind")
    name = decision or next(iter(charts))
    if name not in charts:
        raise GameError(f"there is no decision {name!r}: choose of {', '.join(charts)}")
    chart, number = charts[name], class_of().astype(np.int64)
    weight = np.bincount(number, parse_range(text).weights, 169) / np.bincount(number, minlength=169)
    cost = (chart.jams - weight) * chart.gain
    differ = np.flatnonzero(np.abs(chart.jams - weight) > DIFFERENT)
    order = differ[np.argsort(-cost[differ], kind="stable")]
    names = classes().names
    hands = tuple((names[k], float(chart.jams[k]), float(weight[k]), float(cost[k])) for k in order)
    return Compared(name, hands, float(chart.chance[differ] @ cost[differ]))
