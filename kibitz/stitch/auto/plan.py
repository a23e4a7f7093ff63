"""Plans: which experts to train, from pilots and the integer programme.

A pilot is a move solved for a few iterations, twice: what it gains after the shorter and after the longer run says
whether its rows still learn, and the two times say how long a whole run takes. Two pilots are also joined and measured
together where their parts do not overlap: what they lose to each other is in the programme (`best_set`). Pairs do not
say all, and a large game has time for few of them; so where measures are exact, the programme's plan is grown: by each
pilot with which all of them together gain more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.judges import Judge
from kibitz.stitch.auto.moves import DYNAMIC, PAIRS, Move, MoveRun, SearchSetting, Size, Strategy
from kibitz.stitch.auto.programme import best_set
from kibitz.stitch.auto.signals import PartSignal

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MOST_PAIRED, FEW_PAIRED = 24, 6  # pilots that are measured in pairs: those that gain most


@dataclass(frozen=True)
class Limits:
    """What a search may use.

    infosets  of one computation, the base's too, as papers count memory; memory: bytes of one computation
    seconds   of the whole search; rounds: of plans that are carried out, one after another
    """

    infosets: int | None = None
    memory: int | None = None
    seconds: float | None = None
    rounds: int = 8

    def __post_init__(self) -> None:
        for name in ("infosets", "memory", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SolverError(f"{name}={value} must be above 0")
        if self.rounds < 1:
            raise SolverError(f"rounds={self.rounds} must be 1 or more")

    def allow(self, size: Size) -> bool:
        return size.infosets <= (self.infosets or math.inf) and size.memory <= (self.memory or math.inf)

    def data(self) -> dict[str, Any]:
        return {"infosets": self.infosets, "memory": self.memory, "seconds": self.seconds, "rounds": self.rounds}


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    insides     abstractions of experts; none: those that the game offers and that are finer than the base's
    seats       S of experts: all, each, pairs; none: all of these
    solver      see `kibitz solvers`; iterations: of an expert that is trained
    pilot       iterations of the shorter pilot; the longer has four times as many
    seconds     of training of all experts of a plan together, instead of iterations, where the base is a blueprint;
                pilots have a third of it more
    device      that trains experts of a blueprint, or in buckets: cpu or gpu
    cuts        parts that are tried in a round
    sparing     a measurement takes longer than a pilot, so fewer are made: pairs of pilots that gain, and experts of a
                plan one at a time from the better of all pilots and all answers. A pilot may then be the shorter one
    flops       of poker that is too large for other forms: strategies are kept by every so many flops
    """

    insides: tuple[str, ...] = ()
    seats: tuple[str, ...] = ("all", "each", PAIRS)
    solver: str = "cfr+"
    iterations: int = 1000
    pilot: int = 25
    cuts: int = 12
    together: int = 8  # moves of a plan, at most
    paired: int = 0  # pilots that are measured in pairs, those that gain most; 0: few in a large game, many in another
    grow: bool = True  # a plan takes further pilots with which it gains more; False: the programme's plan stays
    sparing: bool = False
    flops: int = 16
    seconds: float | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not self.seats or set(self.seats) - {"all", "each", PAIRS}:
            raise SolverError(f"seats={list(self.seats)}: choose among all, each and {PAIRS}")
        for name, least in (("iterations", 1), ("pilot", 1), ("cuts", 1), ("together", 1), ("flops", 1), ("paired", 0)):
            if getattr(self, name) < least:
                raise SolverError(f"{name}={getattr(self, name)} must be {least} or more")
        if self.seconds is not None and not self.seconds > 0:
            raise SolverError(f"seconds={self.seconds:g} must be above 0")
        if self.device not in ("cpu", "gpu"):
            raise SolverError(f"device={self.device}: choose cpu or gpu")

    def data(self) -> dict[str, Any]:
        trained = {} if self.seconds is None else {"seconds": self.seconds, "device": self.device}
        return {"insides": list(self.insides), "seats": list(self.seats), "solver": self.solver,
                "iterations": self.iterations, "pilot": self.pilot, "cuts": self.cuts,
                "together": self.together, "paired": self.paired, "grow": self.grow, **trained,
                **({"flops": self.flops} if self.sparing else {})}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pilot:
    """A move that was tried for a short time."""

    move: Move
    size: Size
    gains: tuple[float, float]  # after the shorter run and after the longer
    seconds: float  # that a whole run is predicted to take
    answer: Strategy = field(repr=False)  # of the longer; or of the better, if measurements are few
    whole: float | None = None  # the gain that a whole run is predicted to have, where that is extrapolated
    shorter: bool = False  # the answer is that of the shorter run

    @property
    def gain(self) -> float:
        return self.gains[0 if self.shorter else 1] if self.whole is None else self.whole

    @property
    def length(self) -> str:
        """Which run the answer is of."""
        return "shorter pilot" if self.shorter else "longer pilot"

    @property
    def learns(self) -> bool:
        """Whether its rows gained a tenth more in the longer run: then they need long."""
        return self.gains[1] > self.gains[0] + 0.1 * abs(self.gains[0])

    def data(self) -> dict[str, Any]:
        return {**self.move.data(), "name": self.move.name, "infosets": self.size.infosets,
                "memory": self.size.memory, "gain": self.gain, "gain_shorter": self.gains[0],
                "learns": self.learns, "seconds": self.seconds}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """Moves to carry out, with what they are predicted to gain and to cost."""

    signals: tuple[PartSignal, ...]  # of the parts that were looked at
    pilots: tuple[Pilot, ...]
    chosen: tuple[int, ...]  # of the pilots
    predicted: float  # what the chosen pilots gain together
    summed: float  # ... and one by one: more where returns diminish
    unit: str
    divided: bool = False  # its moves divide the training of one

    @property
    def moves(self) -> list[Pilot]:
        return [self.pilots[k] for k in self.chosen]

    @property
    def seconds(self) -> float:
        each = [pilot.seconds for pilot in self.moves]
        return max(each, default=0.0) if self.divided else sum(each)

    @property
    def infosets(self) -> int:
        return max((pilot.size.infosets for pilot in self.moves), default=0)

    @property
    def memory(self) -> int:
        return max((pilot.size.memory for pilot in self.moves), default=0)

    def data(self) -> dict[str, Any]:
        return {
            "unit": self.unit, "predicted": self.predicted, "summed": self.summed, "seconds": self.seconds,
            "infosets": self.infosets, "memory": self.memory, "moves": [pilot.data() for pilot in self.moves],
            "tried": [pilot.data() for pilot in self.pilots], "parts": [signal.data() for signal in self.signals],
        }  # fmt: skip


# Many moves are solved at once: (moves, strategy, lengths in iterations)
SolveAll = Callable[[Sequence[Move], Strategy, Sequence[int]], list[MoveRun]]


def candidates(
    setting: SearchSetting, lost: Floats, changed: Bools, limits: Limits, effort: Effort
) -> tuple[list[Cut], list[tuple[Move, Size]]]:
    """(the parts that are looked at, the moves that fit the limits). changed: [places] those that experts have."""
    def fits(cut: Cut) -> bool:
        return any(limits.allow(setting.size(move)) for move in setting.experts(cut, effort))

    parts = setting.cuts(lost, effort.cuts, fits)
    moves = [move for cut in parts for move in setting.experts(cut, effort)]
    if changed.any() and not changed.all() and (rebuilt := setting.rebuilt(changed)) is not None:
        moves.append(rebuilt)
    sized = [(move, setting.size(move)) for move in moves]
    return parts, setting.tried([(move, size) for move, size in sized if size.infosets and limits.allow(size)])


def share_of(setting: SearchSetting, length: int, moves: int) -> int:
    """What each of some moves gets of a length."""
    return max(1, length // max(1, moves)) if setting.divides else length


def pilots_of(
    setting: SearchSetting, judge: Judge, moves: Sequence[tuple[Move, Size]], strategy: Strategy, effort: Effort,
    solve: SolveAll,
) -> list[Pilot]:  # fmt: skip
    """Both pilots of all moves."""
    shorter = share_of(setting, effort.pilot, len(moves))
    longer = 4 * shorter
    runs = solve([move for move, _ in moves], strategy, (shorter, longer))
    result = []
    for (move, size), ((early, late), (quick, slow)) in zip(moves, runs, strict=True):
        gains = judge.gain(early, strategy), judge.gain(late, strategy)
        rate = max(0.0, slow - quick) / (longer - shorter)
        whole, first = None, effort.sparing and gains[0] > gains[1]
        if setting.divides:  # short runs of samples are far from their end
            whole = extrapolated(gains, shorter, share_of(setting, effort.iterations, effort.together))
        seconds = max(slow, slow + rate * (effort.iterations - longer))
        result.append(Pilot(move, size, gains, seconds, early if first else late, whole, first))
    return result


def extrapolated(gains: tuple[float, float], shorter: int, length: int) -> float:
    """The gain after a length, from those after `shorter` and four times that, if what is missing falls as one over
    the root of the length: as sampling errors do, and as bounds on MCCFR do [Lanctot et al. 2009]."""
    early, late = gains
    if length <= 4 * shorter:
        return late
    return late + (late - early) * (1.0 - 2.0 * math.sqrt(shorter / length))


def plan_of(
    setting: SearchSetting, judge: Judge, strategy: Strategy, changed: Bools, limits: Limits, effort: Effort,
    solve: SolveAll, seconds: float = math.inf,
) -> Plan:  # fmt: skip
    """The plan that gains most within the limits. seconds: that training its moves may take together."""
    lost = setting.losses(strategy)
    parts, moves = candidates(setting, lost, changed, limits, effort)
    pilots = pilots_of(setting, judge, moves, strategy, effort, solve)
    order = sorted(range(len(pilots)), key=lambda k: -pilots[k].gain)
    tried = order[: effort.paired or (FEW_PAIRED if setting.large else MOST_PAIRED)]
    if not judge.exact or effort.sparing:  # matches are too rough for differences, and sweeps over boards too dear
        tried = [k for k in tried if pilots[k].gain > 0.0]
    among = [pilots[k] for k in tried]
    conflicts, extra = _pairs(setting, judge, strategy, among)
    costs = [([1.0] * len(among), float(effort.together))]
    if not setting.divides:  # else all plans take as long
        costs.append(([p.seconds for p in among], seconds))
    sets = [best_set([p.gain for p in among], conflicts, extra, costs)]
    if judge.exact:  # pairs do not say all: the best expert and the best pair are measured against the programme's plan
        affordable = [k for k, p in enumerate(among) if p.seconds <= seconds]
        sets += [[k] for k in affordable[:1]]
        pairs = {pair: among[pair[0]].gain + among[pair[1]].gain + x for pair, x in extra.items()}
        cheap = [pair for pair in pairs if sum(among[k].seconds for k in pair) <= seconds]
        if cheap:
            first, second = max(cheap, key=pairs.__getitem__)
            sets.append([first, second])

    def gain_of(plan: Sequence[int]) -> float:
        return _together_gain(setting, judge, strategy, [pilots[k] for k in plan])

    plans = [[tried[k] for k in each] for each in sets]
    chosen = max(plans, key=gain_of)
    if judge.exact and effort.grow and not effort.sparing:
        chosen = grown(chosen, pilots, gain_of, effort.together, seconds)
    predicted = gain_of(chosen)
    if not predicted > 0.0:
        chosen, predicted = [], 0.0
    summed = sum(pilots[k].gain for k in chosen)
    signals = setting.signals(strategy, parts)
    return Plan(tuple(signals), tuple(pilots), tuple(chosen), predicted, summed, judge.unit, setting.divides)


def grown(
    plan: Sequence[int], pilots: Sequence[Pilot], gain_of: Callable[[Sequence[int]], float], most: int,
    seconds: float = math.inf,
) -> list[int]:  # fmt: skip
    """A plan that no single step improves: a pilot more, in place of those that it overlaps, or a pilot less.

    gain_of: what the pilots of a plan gain together. most, seconds: of a plan's pilots.
    """
    order = sorted(range(len(pilots)), key=lambda k: -pilots[k].gain)
    best, known = list(plan), dict[frozenset[int], float]()

    def gain(trial: Sequence[int]) -> float:
        if (key := frozenset(trial)) not in known:
            known[key] = gain_of(trial)
        return known[key]

    improved = True
    while improved:
        improved = False
        for k in order:
            here = pilots[k].move.here
            trial = [j for j in best if j != k and (k in best or not (pilots[j].move.here & here).any())]
            trial += [] if k in best else [k]
            if len(trial) > most or sum(pilots[j].seconds for j in trial) > seconds:
                continue
            if gain(trial) > gain(best) + 1e-12:
                best, improved = trial, True
    return best


def _pairs(
    setting: SearchSetting, judge: Judge, strategy: Strategy, among: Sequence[Pilot]
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], float]]:
    """(pairs that overlap, what other pairs gain beyond the sum of both). One may help only beside another."""
    conflicts, extra = [], {}
    for b, two in enumerate(among):
        for a, one in enumerate(among[:b]):
            if (one.move.here & two.move.here).any():
                conflicts.append((a, b))
            elif judge.exact:
                extra[a, b] = _together_gain(setting, judge, strategy, [one, two]) - one.gain - two.gain
    return conflicts, extra


def _together_gain(setting: SearchSetting, judge: Judge, strategy: Strategy, pilots: Sequence[Pilot]) -> float:
    """What pilots gain together: measured if that is exact, else the sum."""
    if len(pilots) < 2 or not judge.exact:
        return sum(pilot.gain for pilot in pilots)
    return judge.gain(setting.join(strategy, [(pilot.move, pilot.answer) for pilot in pilots]), strategy)


def dynamic_move(
    setting: SearchSetting, strategy: Strategy, limits: Limits, effort: Effort, inside: str
) -> tuple[Move, Size] | None:
    """Finer abstractions for the parts of the base that lose most, as many as fit: a new base; None if none fits.

    The programme weighs what a part loses against the rows that it takes. What comes of it is tried by a pilot.
    """
    lost = setting.losses(strategy)

    def fits_alone(cut: Cut) -> bool:
        return limits.allow(setting.size(Move(DYNAMIC, (cut,), "all", (inside,))))

    parts = setting.cuts(lost, effort.cuts, fits_alone)
    alone = [setting.size(Move(DYNAMIC, (cut,), "all", (inside,))) for cut in parts]
    coarse = setting.base_rows
    fits = [k for k in range(len(parts)) if alone[k].infosets > coarse]
    overlaps = [(a, b) for b in range(len(fits)) for a in range(b) if parts[fits[a]].overlaps(parts[fits[b]])]
    rows = [float(alone[k].infosets - coarse) for k in fits]
    room = math.inf if limits.infosets is None else float(limits.infosets - coarse)
    picked = best_set([float(lost[parts[k].here].sum()) for k in fits], overlaps, None, [(rows, room)])
    if not picked:
        return None
    chosen = tuple(parts[fits[k]] for k in picked)
    move = Move(DYNAMIC, chosen, "all", (inside,) * len(chosen))
    size = setting.size(move)
    return (move, size) if limits.allow(size) else None
