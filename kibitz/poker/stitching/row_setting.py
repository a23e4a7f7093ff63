"""Automatic stitching of limit poker by sampling: blueprints with rows by betting and bucket, for three players too.

    setting, effort = row_setting(base, Limits(infosets=162_000_000), Effort(seconds=45, device="gpu"))
    StitchSearch(setting, Limits(infosets=162_000_000), effort).run(setting.begin(base))

Strategies are blueprints in bytes. Parts are those after some betting of the first round. A move trains the static
experts of a part (`row_experts`), for S=N, S={i} or |S|=2, in the finest percentile buckets that fit the limit of
infosets, or in coarser ones. Lengths are iterations, or thousandths of a second of training. All moves of a plan divide
one length, and the experts of a move divide its share, as the papers' recipe divides its training time.

A stitched strategy can be stitched again. Seats outside of S then learn in the buckets of the base, wherever they are
not in the part.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import SolverError
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of, played_rows, stitched
from kibitz.poker.blueprints.rows import expert, hands_before, rounds_in
from kibitz.poker.buckets.buckets import hand_buckets, parse
from kibitz.poker.buckets.percentile import finest_after, percentile_spec
from kibitz.poker.rules.rounds import EXIT, Rounds
from kibitz.poker.rules.rows import data_of, parts_of, row_widths, rows_from
from kibitz.poker.stitching.row_experts import RowTarget, begun, row_target
from kibitz.poker.stitching.row_signals import HandSample, hand_sample, responder_to
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.training import continued
from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.judges import Judge
from kibitz.stitch.auto.moves import PAIRS, STATIC, Move, MoveRun, Size
from kibitz.stitch.auto.plan import Effort, Limits
from kibitz.stitch.auto.signals import PartSignal
from kibitz.stitch.targets import Solving, Stitching, seat_sets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
KIND = "stitching-answer"
INSIDES = ("finest", "finest/8", "finest/64")  # buckets of experts, where none are named
FINER = 2  # times as many infosets as the base has in a part: experts have so many at least
PILOTS = 1 / 3  # what all pilots have of the seconds of a plan
HANDS = 50_000  # that are sampled to see where a strategy loses
FEWER = 16  # times fewer infosets than the base: a responder has so many
ALIKE = 2 / 3  # of the loss of a part
ROOM = re.compile(r"finest(?:/([1-9]\d{0,5}))?")


def row_setting(base: Blueprint, limits: Limits, effort: Effort) -> tuple[RowSetting, Effort]:
    """The setting of a blueprint with rows by betting and bucket, and what it makes of an effort."""
    if not is_placed(base):
        raise SolverError("the base has hashed rows: train one of limit poker with --max-infosets 20M "
                          "(BlueprintOptions(max_infosets=20_000_000))")
    insides = effort.insides or INSIDES
    limit, size = limits.infosets, layout_of(base).size
    if limit is None and any(ROOM.fullmatch(name) for name in insides):
        raise SolverError("the buckets of experts follow from a limit: give infosets= (--max-infosets 162M), or lists "
                          "of buckets by insides= (--inside)")
    if limit is not None and size > limit:
        raise SolverError(f"the base has {size:,} infosets, more than the limit of {limit:,}: a larger limit, or a "
                          "smaller base")
    timed, effort = effort.seconds is not None, replace(effort, insides=insides)
    if effort.seconds is not None:
        whole = 1000.0 * effort.seconds
        effort = replace(effort, iterations=max(1, round(whole)), pilot=max(1, round(whole * PILOTS / 4)))
    return RowSetting(base.played(), limit, timed, effort.device, effort.pilot), effort


@dataclass(frozen=True, eq=False)
class RowSetting:
    """A blueprint to be stitched (`kibitz.stitch.auto.moves.SearchSetting`). Places are those of its betting."""

    start: Blueprint
    limit: int | None  # infosets of a computation
    timed: bool = False  # lengths are thousandths of a second, else iterations
    device: str = "cpu"
    responder: int = 1000  # the length of its training, which says where strategies lose
    threads: int | None = None  # default: all cores; only one gives the same bytes every time
    hands: int = HANDS
    seed: int = 0  # of the responder and of its hands
    _samples: dict[str, HandSample] = field(init=False, default_factory=dict)  # of the last strategy
    _widths: dict[str, Ints] = field(init=False, default_factory=dict)

    @property
    def machine(self) -> Any:
        return self.start.machine

    @property
    def rules(self) -> Any:
        return self.machine.rules

    @property
    def base(self) -> str:
        return self.start.abstraction

    @property
    def solver(self) -> str:
        return f"external sampling by {self.steps}, {self.device}"

    @property
    def steps(self) -> str:
        return "milliseconds" if self.timed else "iterations"

    @property
    def spec(self) -> str:
        return str(self.machine.spec)

    @property
    def digest(self) -> str:
        return self.start.strategy_digest

    @property
    def rounds(self) -> Rounds:
        return rounds_in(self.machine)

    @property
    def places(self) -> int:
        return self.rounds.places

    @property
    def players(self) -> int:
        return int(self.machine.players)

    @property
    def large(self) -> bool:
        return True

    @property
    def divides(self) -> bool:
        return True

    @property
    def base_rows(self) -> int:
        return layout_of(self.start).size

    def insides(self) -> list[str]:
        return list(INSIDES)

    def judge(self) -> Judge:
        from kibitz.play.judging import match_judge

        return match_judge()(self)

    # Strategies

    def begin(self, base: Blueprint) -> Blueprint:
        return base.played()

    def content(self, strategy: Blueprint) -> bytes:
        return strategy.strategy_digest.encode()

    def join(self, strategy: Blueprint, answers: Sequence[tuple[Move, Blueprint]]) -> Blueprint:
        if not answers:
            return strategy
        everybody = range(self.players)
        return stitched(strategy, {part_of(move.cuts[0]): dict.fromkeys(everybody, answer) for move, answer in answers})

    def save(self, path: Path, run: MoveRun, meta: dict[str, Any]) -> None:
        """The bytes of all answers, which have the same rows."""
        rows = data_of(layout_of(run.answers[0]).rows)
        shares = {f"share{k}": answer.store.arrays()["share"] for k, answer in enumerate(run.answers)}
        store.save(path, KIND, shares, {"seconds": list(run.seconds), "rows": rows, **meta})

    def load(self, path: Path, lengths: int) -> tuple[MoveRun, dict[str, Any]]:
        saved = store.load(path, KIND)
        rows = rows_from(saved.meta["rows"])
        seconds = tuple(float(x) for x in saved.meta["seconds"])
        if len(seconds) != lengths:
            raise ValueError(f"{path} has answers of another search")
        answers = [played_rows(self.machine, rows, np.array(saved.arrays[f"share{k}"]), self.start)
                   for k in range(lengths)]  # fmt: skip
        return MoveRun(answers, seconds), saved.meta

    def profile(self, strategy: Blueprint, /, **meta: Any) -> Blueprint:
        return strategy

    # Measures

    def sample(self, strategy: Blueprint) -> HandSample:
        """Hands of a strategy, and what a responder to it gains."""
        digest = strategy.strategy_digest
        if digest not in self._samples:
            how: dict[str, Any] = {"device": self.device, "threads": self.threads}
            how["seconds" if self.timed else "iterations"] = self.responder / 1000.0 if self.timed else self.responder
            against = responder_to(strategy, self.base_rows // FEWER, how, self.seed + 1)
            self._samples.clear()
            self._samples[digest] = hand_sample(strategy, against, self.hands, self.seed + 2)
        return self._samples[digest]

    def losses(self, strategy: Blueprint) -> Floats:
        return self.sample(strategy).by_place(self.places)

    def signals(self, strategy: Blueprint, among: Sequence[Cut]) -> list[PartSignal]:
        sample, result = self.sample(strategy), []
        for cut in among:
            loss, error = sample.loss(cut.here)
            by_seat = tuple(sample.loss(cut.here, seat)[0] for seat in range(self.players))
            own = self._infosets(self._inside(cut), layout_of(self.start).counts[0] or [])
            result.append(PartSignal(cut.name, loss, sample.reach(cut.here), int(own), error, by_seat))
        return result

    def tree_cuts(self, lost: Floats, most: int) -> list[Cut]:
        """Where most is lost, with all that lead there."""
        chosen: dict[tuple[str, ...], Cut] = {}
        by_actions = {cut.actions: cut for cut in self.prefixes}
        for cut in sorted(self.prefixes, key=lambda cut: -float(lost[cut.here].sum())):
            above = [cut.actions[:k] for k in range(1, len(cut.actions) + 1)]
            if len({*chosen, *above}) <= most:
                chosen.update((actions, by_actions[actions]) for actions in above)
        return list(chosen.values())

    # Moves

    @cached_property
    def prefixes(self) -> list[Cut]:
        """The parts that rows can have: after some betting of the first round, if the hand goes on."""
        rounds, result = self.rounds, list[Cut]()
        waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while waiting:
            node, before = waiting.pop(0)
            for k, action in enumerate(rounds.actions[int(rounds.actions_of[node])]):
                child, actions = int(rounds.child[rounds.first[node] + k]), (*before, action)
                if child < EXIT and rounds.turn[child] < 0:
                    continue
                text = "".join(each[:1] for each in actions)
                result.append(Cut(f"prefix({text})", parts_of(rounds, (text,)) > 0, actions))
                if child < EXIT:
                    waiting.append((child, actions))
        return result

    def cuts(self, lost: Floats, most: int, fits: Callable[[Cut], bool]) -> list[Cut]:
        """Where most is lost for each doubling of infosets that the limit leaves room for: small parts have the finest
        experts, and theirs learn fastest. Of parts within each other that lose about as much one is enough."""
        every = [cut for cut in self.prefixes if fits(cut)]
        loss = {cut.name: float(lost[cut.here].sum()) for cut in every}
        result: list[Cut] = []
        for cut in sorted(every, key=lambda cut: -loss[cut.name] * self._doublings(cut)):
            ratios = [loss[cut.name] / max(loss[x.name], 1e-12) for x in result if x.overlaps(cut)]
            if not any(ALIKE < ratio < 1 / ALIKE for ratio in ratios):
                result.append(cut)
        return result[:most]

    def _doublings(self, cut: Cut) -> float:
        """How often the base's infosets of a part can be doubled within the limit."""
        own = self._infosets(self._inside(cut), layout_of(self.start).counts[0] or [])
        return math.log2(max(2.0, (self.limit or own) / max(1, own)))

    def experts(self, cut: Cut, effort: Effort) -> list[Move]:
        """Those in buckets that are finer than the base's. Names of buckets are as they are; `finest/4` is for the
        finest that fit the limit with a quarter of their infosets."""
        sets = [seats for seats in effort.seats if seats != PAIRS or self.players > 2]
        moves = {}
        for seats in sets:
            for name in effort.insides:
                inside = self.buckets(cut, seats, name)
                if inside is not None:
                    moves[seats, inside] = Move(STATIC, (cut,), seats, (inside,))
        return list(moves.values())

    def buckets(self, cut: Cut, seats: str, name: str) -> str | None:
        """The list of buckets that a name stands for in a part; None if none fits that is finer than the base's."""
        match = ROOM.fullmatch(name)
        if match is None:
            return name
        assert self.limit is not None
        inside, first = self._inside(cut), hands_before(self.machine)
        decisions = inside.sum(axis=1)[:, 1].tolist()
        own = self._infosets(inside, layout_of(self.start).counts[0] or [])
        try:
            finest = finest_after(decisions, self.limit - self._outside(cut, seats), first)
            if match[1] is not None:
                room = self._infosets(inside, _counts(finest)) // int(match[1])
                finest = finest_after(decisions, room, first)
        except SolverError:  # not even one bucket fits
            return None
        if self._infosets(inside, _counts(finest)) < FINER * own:
            return None
        return percentile_spec(finest, forget=1)

    def rebuilt(self, changed: Bools) -> Move | None:
        return None

    def dynamic_moves(self) -> bool:
        return False

    def tried(self, moves: Sequence[tuple[Move, Size]]) -> list[tuple[Move, Size]]:
        return list(moves)

    def seats(self, move: Move) -> Any:
        """S of a move as `kibitz.stitch.static` reads it."""
        return _seats(move.seats, self.players)

    def size(self, move: Move) -> Size:
        cut = move.cuts[0]
        counts, inside = self._bucket_counts(move.inside[0]), self._inside(cut)
        outside = [self._width_outside(cut, seats) for seats, _ in seat_sets(self.seats(move), self.players)]
        own = layout_of(self.start).counts[0] or []
        infosets, columns = (
            self._infosets(inside, counts, which) + max(self._infosets(each, own, which) for each in outside)
            for which in (1, 0)
        )
        return Size(infosets, columns, len(outside))

    def solve(self, move: Move, strategy: Blueprint, lengths: Sequence[int], seed: int = 0) -> MoveRun:
        """The experts one after another, each with an equal share of a length; training that is timed stops at the
        same shares of the clock."""
        target = self.target(move, strategy, seed)
        built = target.experts()
        began, spent = time.perf_counter(), [0.0] * len(lengths)
        answers: list[list[Blueprint]] = [[] for _ in lengths]
        for of in built:
            seats = sum(1 << seat for seat in of.seats)
            mark = time.perf_counter()
            blueprint, saver = begun(None, of.game, seats, lambda of=of: expert(  # type: ignore[misc]
                strategy, of.name, of.buckets, of.seats, seed), strategy, self.machine, self.device)  # fmt: skip
            for k, length in enumerate(lengths):
                share = max(1, length // len(built))
                iterations, seconds = (None, share / 1000.0 - blueprint.seconds) if self.timed else (share, None)
                if (seconds is None or seconds > 0.0) and continued(
                    blueprint, saver, iterations, seconds, self.threads, device=self.device
                ):
                    raise KeyboardInterrupt
                answers[k].append(blueprint.played())
                spent[k] += time.perf_counter() - mark
                mark = time.perf_counter()
        setup = time.perf_counter() - began - sum(spent)
        joined = [target.join(built, each) for each in answers]
        return MoveRun(joined, tuple(setup + sum(spent[: k + 1]) for k in range(len(lengths))))

    def target(self, move: Move, strategy: Blueprint, seed: int = 0) -> RowTarget:
        """What a move is to `kibitz.stitch`."""
        plan = Stitching("static", move.cuts[0].name, self.seats(move), move.inside[0])
        target = row_target(strategy, plan, Solving(iterations=1, seed=seed, threads=self.threads))
        assert target is not None
        return target

    def order(self, move: Move) -> Any:
        raise SolverError("experts of a blueprint are trained on this machine: leave --on out")

    # Sizes

    @cached_property
    def _every(self) -> tuple[Ints, Ints]:
        """([places, seats, 2] columns and decisions for each bucket, [places] rounds)."""
        return row_widths(self.rounds), np.asarray(self.rounds.round_of_place, np.int64)

    def _width(self, here: Bools) -> Ints:
        """[rounds, seats, 2] columns and decisions for each bucket, in some places."""
        widths, level = self._every
        total = np.zeros((self.rounds.definition.rounds, *widths.shape[1:]), np.int64)
        np.add.at(total, level[here], widths[here])
        return total

    def _inside(self, cut: Cut) -> Ints:
        if cut.name not in self._widths:
            self._widths[cut.name] = self._width(cut.here)
        return self._widths[cut.name]

    @cached_property
    def _whole(self) -> Ints:
        return self._width(np.ones(self.places, bool))

    def _width_outside(self, cut: Cut, seats: Sequence[int]) -> Ints:
        """What the seats that are not in S learn outside of a part."""
        others = [seat for seat in range(self.players) if seat not in seats]
        return (self._whole - self._inside(cut))[:, others]

    def _outside(self, cut: Cut, seats: str) -> int:
        """Infosets, of the computation that has most."""
        own, sets = layout_of(self.start).counts[0] or [], seat_sets(_seats(seats, self.players), self.players)
        return max(self._infosets(self._width_outside(cut, group), own) for group, _ in sets)

    @staticmethod
    def _infosets(width: Ints, counts: Sequence[int], which: int = 1) -> int:
        return int((width.sum(axis=1)[:, which] * np.asarray(counts, np.int64)).sum())

    def _bucket_counts(self, name: str) -> list[int]:
        """Buckets by round, counted from the name where that says it."""
        spec = parse(name)
        each: Any = spec.args.get("buckets")
        if spec.name == "percentile" and isinstance(each, list | tuple) and spec.args.get("forget") == 1:
            return _counts([int(n) for n in each])
        return [int(n) for n in hand_buckets(self.rounds.definition, name).counts]


def _counts(budgets: Sequence[int]) -> list[int]:
    """Buckets by round of percentile([...], forget=1): later rounds do not remember the bucket of the first."""
    counts, now = [budgets[0]], 1
    for n in budgets[1:]:
        now *= n
        counts.append(now)
    return counts


def _seats(seats: str, players: int) -> Any:
    return [[i, (i + 1) % players] for i in range(players)] if seats == PAIRS else seats


def part_of(cut: Cut) -> str:
    """The betting that a part comes after, in the competition's letters."""
    return "".join(action[:1] for action in cut.actions)
