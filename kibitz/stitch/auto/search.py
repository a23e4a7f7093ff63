"""The search: stitch, measure, cut again, until the budget is spent.

A round makes a plan (`plan.py`), trains its experts on the strategy of the moment, and keeps those that help together;
the others are taken back. The next round cuts the stitched strategy again. If finer abstractions of whole parts fit
the memory, a second line starts from such a dynamic base. The better line is the answer.

Answers of solvers can be kept in a folder, under a digest of all that they depend on. The search itself has nothing
random in it, so the same call goes on where it was stopped: it reads what was solved, and what that took.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.core.executor import current
from kibitz.core.pieces import Piece
from kibitz.stitch.auto.judges import Judge
from kibitz.stitch.auto.moves import Move, MoveRun, SearchSetting, Strategy
from kibitz.stitch.auto.picture import plan_picture
from kibitz.stitch.auto.plan import (
    Effort,
    Limits,
    Pilot,
    Plan,
    dynamic_move,
    pilots_of,
    plan_of,
    share_of,
)
from kibitz.stitch.auto.setting import solve_order

__all__ = ["Auto", "Round", "StitchSearch"]

Bools = NDArray[np.bool_]
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Round:
    """A plan that was carried out."""

    line: str  # what the line started from: base, or the dynamic move
    plan: Plan
    kept: tuple[str, ...]
    taken_back: tuple[str, ...]
    achieved: float  # what the strategy gained in this round
    one_by_one: tuple[tuple[str, float, float], ...]  # (move, predicted gain, achieved gain) of each by itself
    loss: float | None  # exploitability after the round, where it is exact
    seconds: float
    answers: tuple[str, ...] = ()  # of each move that was kept: trained, or which pilot

    def data(self) -> dict[str, Any]:
        return {
            "line": self.line, "plan": self.plan.data(), "kept": list(self.kept),
            "answers": list(self.answers), "taken_back": list(self.taken_back),
            "predicted": self.plan.predicted, "achieved": self.achieved, "loss": self.loss, "seconds": self.seconds,
            "moves": [{"name": n, "predicted": p, "achieved": a} for n, p, a in self.one_by_one],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Auto:
    """What a search has come to."""

    profile: Any  # as it is saved and played: a profile, or a blueprint
    rounds: tuple[Round, ...]
    loss: tuple[float, float] | None  # exploitability of the base and of the result, where it is exact
    infosets: int  # of the largest computation that the result needed
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        return {
            "base_loss": None if self.loss is None else self.loss[0],
            "loss": None if self.loss is None else self.loss[1], "infosets": self.infosets, "seconds": self.seconds,
            "rounds": [each.data() for each in self.rounds], **self.facts,
        }  # fmt: skip


class StitchSearch:
    """A search on one setting. folder: where answers are kept; tell: is called with a line about what goes on."""

    def __init__(
        self, setting: SearchSetting, limits: Limits, effort: Effort, judge: Judge | None = None, seed: int = 0,
        folder: Path | None = None, tell: Tell | None = None,
    ) -> None:  # fmt: skip
        self.setting, self.limits, self.effort, self.seed = setting, limits, effort, seed
        self.judge: Judge = judge or setting.judge()
        self.folder, self.tell = folder, tell or (lambda text: None)
        self.spent = 0.0  # seconds of the clock in solvers, with those that answers which were read once took

    # Solving

    def solve(self, moves: Sequence[Move], strategy: Strategy, lengths: Sequence[int]) -> list[MoveRun]:
        """The runs of all moves, side by side where there are cores."""
        keys = [self._key(move, strategy, lengths) for move in moves]
        runs: dict[int, MoveRun] = {}
        for number, key in enumerate(keys):
            if (known := self._read(key, len(lengths))) is not None:
                runs[number], share = known
                self.spent += share
        left = [number for number in range(len(moves)) if number not in runs]
        executor = current()
        if executor.elsewhere:
            work: Callable[..., MoveRun] = solve_order
            pieces = [Piece((self.setting.order(moves[k]), strategy, tuple(lengths), self.seed)) for k in left]
        else:
            work = _solved
            # Moves that need a GPU, or all cores, are solved one after another, in this thread.
            alone = float(self.setting.divides or self.effort.sparing)
            pieces = [Piece((self.setting, moves[k], strategy, lengths, self.seed), gpus=alone) for k in left]
        mark = time.perf_counter()
        for done, (number, (answers, seconds)) in enumerate(executor.map(work, pieces, "threads"), 1):
            k, now = left[number], time.perf_counter()
            runs[k] = MoveRun(answers, tuple(seconds))
            self._keep(keys[k], runs[k], now - mark)  # of what they took together, each has its share
            self.spent, mark = self.spent + now - mark, now
            self.tell(f"{done} of {len(left)} moves solved for {max(lengths):,} {self.setting.steps}")
        return [runs[number] for number in range(len(moves))]

    def _key(self, move: Move, strategy: Strategy, lengths: Sequence[int]) -> str:
        setting, content = self.setting, hashlib.sha256()
        about = [setting.spec, setting.digest, setting.base, setting.solver, move.data(), list(lengths)]
        content.update(json.dumps([*about, self.seed], sort_keys=True).encode())
        for cut in move.cuts:
            content.update(np.packbits(cut.here).tobytes())
        content.update(setting.content(strategy))
        return content.hexdigest()[:32]

    def _read(self, key: str, lengths: int) -> tuple[MoveRun, float] | None:
        if self.folder is None or not (self.folder / key / "manifest.json").exists():
            return None
        try:
            run, meta = self.setting.load(self.folder / key, lengths)
            return run, float(meta["share"])
        except (ArtefactError, KeyError, TypeError, ValueError):
            return None  # solved again

    def _keep(self, key: str, run: MoveRun, share: float) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.setting.save(self.folder / key, run, {"share": share})

    @property
    def left(self) -> float:
        return math.inf if self.limits.seconds is None else self.limits.seconds - self.spent

    # Plans and rounds

    def plan(self, strategy: Strategy, changed: Bools | None = None) -> Plan:
        """The next plan, with pilots but without training."""
        changed = np.zeros(self.setting.places, bool) if changed is None else changed
        return plan_of(self.setting, self.judge, strategy, changed, self.limits, self.effort, self.solve, self.left)

    def dynamic_base(self, strategy: Strategy) -> Pilot | None:
        """The dynamic base that gains most in a pilot, if one fits the memory and gains anything."""
        if not self.setting.dynamic_moves():
            return None
        moves = []
        for inside in self.effort.insides:
            move = dynamic_move(self.setting, strategy, self.limits, self.effort, inside)
            if move is not None:
                moves.append(move)
        pilots = pilots_of(self.setting, self.judge, moves, strategy, self.effort, self.solve)
        best = max(pilots, key=lambda pilot: pilot.gain, default=None)
        return best if best is not None and best.gain > 0.0 else None

    def run(
        self, base: Strategy, on_round: Callable[[Round], None] | None = None, first: Plan | None = None
    ) -> Auto:
        """The best strategy that was found from a base. first: the plan of the first round, if it is known already."""
        began = time.perf_counter()
        lines = [("base", base, self.setting.base_rows)]
        rounds: list[Round] = []
        start = self.dynamic_base(base)
        if start is not None and self.left > 0.0:
            self.tell(f"solving {start.move.name}")
            answer = self.solve([start.move], base, [self.effort.iterations])[0].answers[0]
            if self.judge.judge(answer, base).better:
                lines.append((start.move.name, answer, start.size.infosets))
        outcomes = []
        for name, strategy, size in lines:
            outcomes.append(self._line(name, strategy, size, rounds, on_round, first if name == "base" else None))
        best, size = outcomes[0]
        for other, other_size in outcomes[1:]:
            if self.judge.judge(other, best).better:
                best, size = other, other_size
        before, after = self.judge.loss(base), self.judge.loss(best)
        loss = None if before is None or after is None else (before, after)
        kept = [name for each in rounds for name in each.kept]
        about = {"kind": "auto", "limits": self.limits.data(), "effort": self.effort.data(), "seed": self.seed,
                 "kept": kept, "judge": self.judge.data()}  # fmt: skip
        if rounds:
            about["picture"] = plan_picture(self.setting, base, rounds[0].plan)
        profile = self.setting.profile(best, solver="stitch", stitch=about, abstraction=self.setting.base)
        facts = {"lines": [name for name, _, _ in lines], "solving": self.spent, **self.judge.data()}
        if (reported := self.judge.report(best, base)) is not None:
            facts["reported"] = reported
        return Auto(profile, tuple(rounds), loss, size, time.perf_counter() - began, facts)

    def _line(
        self, name: str, strategy: Strategy, size: int, rounds: list[Round], on_round: Callable[[Round], None] | None,
        first: Plan | None,
    ) -> tuple[Strategy, int]:
        changed = np.zeros(self.setting.places, bool)
        for number in range(self.limits.rounds):
            if self.left <= 0.0:
                break
            self.tell(f"{name}, round {number + 1}: pilots")
            began = time.perf_counter()
            plan = self.plan(strategy, changed) if first is None or number else first
            if not plan.moves or self.left <= 0.0:
                break
            after, touched, record = self._carried_out(name, plan, strategy, began)
            rounds.append(record)
            if on_round is not None:
                on_round(record)
            if not record.kept:
                break
            strategy, changed, size = after, changed | touched, max(size, plan.infosets)
        return strategy, size

    def _carried_out(self, name: str, plan: Plan, strategy: Strategy, began: float) -> tuple[Strategy, Bools, Round]:
        """Train the experts of a plan, and keep those that help together."""
        moves = [pilot.move for pilot in plan.moves]
        self.tell(f"{name}: training {len(moves)} experts")
        length = share_of(self.setting, self.effort.iterations, len(moves))
        answers = [run.answers[0] for run in self.solve(moves, strategy, [length])]
        after, choice = self._together(strategy, plan.moves, answers)
        kept = [k for k, c in enumerate(choice) if c]
        touched = np.zeros(self.setting.places, bool)
        for k in kept:
            touched |= moves[k].here
        alone = tuple(
            (m.name, p.gain, self.judge.gain(self.setting.join(strategy, [(m, a)]), strategy))
            for m, p, a in zip(moves, plan.moves, answers, strict=True)
        )
        record = Round(
            name, plan, tuple(moves[k].name for k in kept),
            tuple(m.name for k, m in enumerate(moves) if k not in kept),
            self.judge.gain(after, strategy) if kept else 0.0, alone, self.judge.loss(after),
            time.perf_counter() - began,
            tuple("trained" if choice[k] == 1 else plan.moves[k].length for k in kept),
        )  # fmt: skip
        return after, touched, record

    def _together(
        self, strategy: Strategy, pilots: Sequence[Pilot], answers: Sequence[Strategy]
    ) -> tuple[Strategy, list[int]]:
        """(the strategy with the moves that help together; of each move 0: it is left out, 1: trained, 2: its pilot).

        Exact judges compare all answers and pilots of a move with leaving it out, one move at a time, until nothing
        improves, from all moves and from none. Matches take the moves in order, each a try of its own.
        """
        setting, judge = self.setting, self.judge
        choices = [(None, answer, pilot.answer) for pilot, answer in zip(pilots, answers, strict=True)]

        def combined(choice: Sequence[int]) -> Strategy:
            taken = [(p.move, options[c]) for p, options, c in zip(pilots, choices, choice, strict=True) if c]
            return setting.join(strategy, [(move, answer) for move, answer in taken if answer is not None])

        if not judge.exact:
            chosen = [0] * len(pilots)
            for k in range(len(pilots)):
                trial = [*chosen[:k], 1, *chosen[k + 1 :]]
                if judge.judge(combined(trial), combined(chosen)).better:
                    chosen = trial
            return combined(chosen), chosen
        known: dict[tuple[int, ...], float] = {}

        def gain_of(choice: Sequence[int]) -> float:
            if (key := tuple(choice)) not in known:
                known[key] = judge.gain(combined(choice), strategy)
            return known[key]

        best, most = [0] * len(pilots), 0.0
        starts = [[1] * len(pilots), [0] * len(pilots)]
        if self.effort.sparing:  # one pass, from all answers or from all pilots
            starts = [max([1] * len(pilots), [2] * len(pilots), key=gain_of)]
        for start in starts:
            choice, gain = list(start), gain_of(start)
            improved = True
            while improved:
                improved = False
                for k in range(len(choice)):
                    for option in range(3):
                        trial = [*choice[:k], option, *choice[k + 1 :]]
                        trial_gain = gain_of(trial)
                        if trial_gain > gain + 1e-12:
                            choice, gain, improved = trial, trial_gain, not self.effort.sparing
            if gain > most:
                best, most = choice, gain
        if not judge.judge(combined(best), strategy).better:
            return strategy, [0] * len(pilots)
        return combined(best), best


def _solved(setting: SearchSetting, move: Move, strategy: Strategy, lengths: Sequence[int], seed: int) -> MoveRun:
    return setting.solve(move, strategy, lengths, seed)
