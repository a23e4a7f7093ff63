"""Automatic stitching of two-player poker that is too large for a form with all hands, such as limit hold'em.

    setting = LargeBucketSetting(poker_of("poker(file=holdem.limit.2p)"), "percentile(8)", device="gpu")
    effort = Effort(insides=("percentile([10, 10, 10, 9])",), seats=("all",), solver="dcfr+", sparing=True)
    StitchSearch(setting, Limits(infosets=24_000_000), effort).run(setting.begin(base))

Strategies are profiles in buckets (`BucketedBase`), of which every node of the betting follows one list. Places are
nodes of the betting. An expert is solved in a `PartForm`, over all boards at once, with payoffs per hand that comes to
its part; so its part begins in the first round or where that ends. Strategies are judged on a sample of flops.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import SolverError
from kibitz.forms.choice import has_compact_form
from kibitz.forms.profile import SUM_TOLERANCE, Profile
from kibitz.poker.bucketed.device import Device
from kibitz.poker.buckets.buckets import hand_buckets, is_bucket_name, parse
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.layout import viewed
from kibitz.poker.stitching.bucket_setting import finest_of, ladder, opening_cuts
from kibitz.poker.stitching.experts import OVER_BOARDS, BucketedBase, ExpertRows, base_of, over_boards, placed
from kibitz.poker.stitching.flops_judge import FlopsJudge, forget
from kibitz.poker.stitching.part_form import PartForm
from kibitz.poker.whole.losses import NodeLosses, node_losses
from kibitz.solvers import RunOptions, Task, make
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.moves import PAIRS, REBUILT, STATIC, Move, MoveRun, Size
from kibitz.stitch.auto.plan import Effort
from kibitz.stitch.auto.signals import PartSignal
from kibitz.stitch.columns import seed_of
from kibitz.stitch.targets import seat_sets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
KIND = "stitching-rows"
BASE_ITERATIONS = 400  # of a base that is solved here
COARSER = 4  # flops of a quick look: every so many of those that strategies are kept by


def large_setting(game: Any, base: Profile | str, effort: Effort) -> tuple[LargeBucketSetting, Profile, Effort] | None:
    """(setting, base, effort with measurements that are few) of a base in buckets; None: there is a form with all
    hands, or the base is none in buckets."""
    if not isinstance(game, Poker) or game.definition.players != 2:
        return None
    if isinstance(base, Profile):
        if base.infosets.compact is None or viewed(base.infosets.compact.form) is None:
            return None
    elif not is_bucket_name(base) or has_compact_form(game):
        return None
    if not over_boards(effort.solver):
        raise SolverError(f"experts in buckets of a game of this size are solved over all boards: give --solver "
                          f"{' or '.join(OVER_BOARDS[:2])}, not {effort.solver}")  # fmt: skip
    Device(effort.device)  # refused at once where there is none
    if isinstance(base, str):
        run = RunOptions(progress=False, device=effort.device)
        base = solve_through(game, effort.solver, abstraction=base, iterations=BASE_ITERATIONS, run=run)
    layout = base_of(game, base).layout
    name = layout.views[int(layout.of_node[int(np.flatnonzero(layout.deciding)[0])])].name
    setting = LargeBucketSetting(game, name, effort.solver, effort.device, effort.flops, COARSER * effort.flops)
    return setting, base, replace(effort, sparing=True)


@dataclass(frozen=True, eq=False)
class MovedStrategy(BucketedBase):
    """A strategy after a move, with what the move has changed."""

    node: Bools  # [betting nodes]
    inside: str  # their list of buckets
    before: str  # digest of the strategy before


@dataclass(frozen=True, eq=False)
class LargeBucketSetting:
    """Two-player poker, to be stitched of lists of buckets. base: the name of the base's list.

    every: strategies are kept by every so many flops; quick: pilots are looked at on every so many.
    """

    rules: Poker
    base: str
    solver: str = "dcfr+"
    device: str = "cpu"
    every: int = 16
    quick: int = 64
    dtype: Any = np.float32  # of sweeps
    steps: ClassVar[str] = "iterations"
    players: ClassVar[int] = 2
    large: ClassVar[bool] = True
    divides: ClassVar[bool] = False
    _seen: dict[str, BucketedBase] = field(init=False, default_factory=dict)  # strategies by digest
    _lost: dict[str, NodeLosses] = field(init=False, default_factory=dict)

    @property
    def spec(self) -> str:
        return self.rules.spec

    @cached_property
    def digest(self) -> str:
        return acpc.write(self.rules.definition)

    @property
    def places(self) -> int:
        """Nodes of the betting."""
        return len(self.betting)

    @property
    def betting(self) -> Any:
        return self.rules.betting

    @property
    def deciding(self) -> Bools:
        return np.asarray(self.betting.turn >= 0)

    @cached_property
    def base_rows(self) -> int:
        return self._counted(self.deciding, np.zeros(self.places, bool), self.base)[0]

    def insides(self) -> list[str]:
        return ladder(self.base, self.rules.definition.rounds)

    def judge(self) -> FlopsJudge:
        return FlopsJudge(self.rules, self.device, self.every, self.quick, dtype=self.dtype)

    # Strategies

    def begin(self, base: Profile) -> BucketedBase:
        """A base as strategies are kept here."""
        onto = base_of(self.rules, base)
        for buckets in onto.buckets:
            if not buckets.perfect_recall:
                raise SolverError(f"the base has {buckets.name}, with imperfect recall: experts over all boards need "
                                  "buckets with perfect recall")  # fmt: skip
        return onto

    def content(self, strategy: BucketedBase) -> bytes:
        self._seen[strategy.digest] = strategy  # `load` puts answers onto it
        return strategy.digest.encode()

    def join(self, strategy: BucketedBase, answers: Sequence[tuple[Move, BucketedBase]]) -> BucketedBase:
        pieces = [ExpertRows(move.here & self.deciding, self._buckets(move.inside[0]), answer.played)
                  for move, answer in answers]  # fmt: skip
        return placed(self.rules, strategy, pieces, {}) if pieces else strategy

    def profile(self, strategy: BucketedBase, /, **meta: Any) -> Profile:
        whole = strategy.profile
        own = {**whole.meta, **meta, "abstraction": strategy.layout.abstraction}
        return Profile(whole.infosets, whole.probabilities, own)

    def save(self, path: Path, run: MoveRun, meta: dict[str, Any]) -> None:
        """Rows of the nodes that the move has changed; the strategy before is known by its digest."""
        answers = run.answers
        first = answers[0]
        rows = np.stack([self._rows_of(answer) for answer in answers])
        about = {"seconds": list(run.seconds), "inside": first.inside, "before": first.before, **meta}
        store.save(path, KIND, {"node": first.node.astype(np.uint8), "rows": rows}, about)

    def load(self, path: Path, lengths: int) -> tuple[MoveRun, dict[str, Any]]:
        saved = store.load(path, KIND)
        node, rows, meta = saved.arrays["node"], saved.arrays["rows"], saved.meta
        seconds = tuple(float(x) for x in meta["seconds"])
        if node.shape != (self.places,) or rows.ndim != 2 or len(rows) != lengths or len(seconds) != lengths:
            raise ValueError(f"{path} has answers of another search")
        here, before = node.astype(bool), self._seen[str(meta["before"])]
        buckets = self._buckets(str(meta["inside"]))
        kept, counts = np.flatnonzero(here & self.deciding), np.array(buckets.counts)
        sizes = counts[self.betting.round[kept]] * self.betting.widths[kept]
        if rows.dtype != np.float64 or rows.shape[1] != int(sizes.sum()):
            raise ValueError(f"{path} has answers in other buckets")
        ends = np.cumsum(sizes)
        begin = dict(zip(kept.tolist(), (ends - sizes).tolist(), strict=True))

        def rows_at(answer: Floats, at: int) -> Floats:
            width = int(self.betting.widths[at])
            first, count = begin[at], int(counts[self.betting.round[at]])
            return answer[first : first + count * width].reshape(count, width)

        answers = []
        for answer in rows:
            for at in kept.tolist():
                shares = rows_at(answer, at)
                if not (shares >= 0.0).all() or np.abs(shares.sum(axis=1) - 1.0).max() > SUM_TOLERANCE:
                    raise ValueError(f"{path} has rows that are no probabilities")
            pieces = [ExpertRows(here & self.deciding, buckets, partial(rows_at, answer))]
            answers.append(self._moved(before, pieces, here, str(meta["inside"])))
        return MoveRun(answers, seconds), meta

    def _rows_of(self, answer: MovedStrategy) -> Floats:
        nodes = np.flatnonzero(answer.node & self.deciding).tolist()
        return np.concatenate([answer.played(at).ravel() for at in nodes])

    def _moved(self, before: BucketedBase, pieces: Sequence[ExpertRows], here: Bools, inside: str) -> MovedStrategy:
        after = placed(self.rules, before, pieces, {})
        return MovedStrategy(after.profile, after.layout, after.buckets, here, inside, before.digest)

    # Measures

    def losses(self, strategy: BucketedBase) -> Floats:
        return self._node_losses(strategy).lost

    def _node_losses(self, strategy: BucketedBase) -> NodeLosses:
        """On the flops of quick looks. What is lost after the first cards of the board is at the first node there."""
        if strategy.digest not in self._lost:
            sweep = self.judge().sweep(strategy, self.quick)
            self._lost[strategy.digest] = node_losses(sweep)
            forget(sweep)
        return self._lost[strategy.digest]

    def signals(self, strategy: BucketedBase, among: Sequence[Cut]) -> list[PartSignal]:
        lost, reached = self._node_losses(strategy)
        result = []
        for cut in among:
            top = int(np.flatnonzero(cut.here & self.deciding)[0])  # play that comes to the part passes it
            size = self._counted(cut.here & self.deciding, cut.here, self.base)[0]
            result.append(PartSignal(cut.name, float(lost[cut.here].sum()), float(reached[top]), size))
        return result

    def tree_cuts(self, lost: Floats, most: int) -> list[Cut]:
        return sorted(self.prefixes, key=lambda cut: -float(lost[cut.here].sum()))[:most]

    # Moves

    @cached_property
    def prefixes(self) -> list[Cut]:
        return opening_cuts(self.betting)

    def cuts(self, lost: Floats, most: int, fits: Callable[[Cut], bool]) -> list[Cut]:
        """First actions as far as the first round goes: those after which most is lost."""
        return [cut for cut in self.tree_cuts(lost, len(self.prefixes)) if fits(cut)][:most]

    def experts(self, cut: Cut, effort: Effort) -> list[Move]:
        sets = [seats for seats in effort.seats if seats != PAIRS]
        return [Move(STATIC, (cut,), seats, (inside,)) for inside in effort.insides for seats in sets]

    def tried(self, moves: Sequence[tuple[Move, Size]]) -> list[tuple[Move, Size]]:
        """The finest list alone: joint weights of each list take as long as many iterations."""
        return finest_of(moves, 1)

    def rebuilt(self, changed: Bools) -> Move:
        return Move(REBUILT, (Cut("rest", ~changed),), "all", (self.base,))

    def dynamic_moves(self) -> bool:
        return False

    def size(self, move: Move) -> Size:
        """Percentile lists are counted as if no hands were equal, as before they are made; equal hands make fewer."""
        here, sizes = move.here & self.deciding, []
        for seats, keeps in self._seat_sets(move):
            free = (here | ~np.isin(self.betting.turn, seats)) & self.deciding
            if (here & np.isin(self.betting.turn, keeps)).any():
                sizes.append(self._counted(free, here, move.inside[0]))
        return Size(max((s for s, _ in sizes), default=0), max((c for _, c in sizes), default=0), len(sizes))

    def _seat_sets(self, move: Move) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        if move.seats == PAIRS:
            raise SolverError("seats=pairs is for three players: choose all or each")
        return list(seat_sets(move.seats, 2))

    def _counted(self, nodes: Bools, here: Bools, inside: str) -> tuple[int, int]:
        """(infosets, columns) of some nodes: in a list where `here` says so, else in the base's."""
        level = self.betting.round
        fine, coarse = self._counts(inside), self._counts(self.base)
        last = len(fine) - 1
        rows = np.where(here, fine[np.minimum(level, last)], coarse[np.minimum(level, last)])[nodes]
        return int(rows.sum()), int((rows * self.betting.widths[nodes]).sum())

    def _counts(self, name: str) -> Ints:
        """By round, the buckets of a list."""
        spec, rounds = parse(name), self.rules.definition.rounds
        counts: Any = spec.args.get("buckets")
        if spec.name != "percentile" or set(spec.args) != {"buckets"}:
            return np.array(self._buckets(name).counts, np.int64)
        each = [counts] * rounds if isinstance(counts, int) else list(counts)
        if len(each) != rounds:
            raise SolverError(f"{name} has {len(each)} numbers, and the game has {rounds} rounds")
        return np.cumprod(np.array(each, np.int64))

    def _buckets(self, name: str) -> Any:
        """A list by its name; lists are kept as long as the process lives."""
        return hand_buckets(self.rules.definition, name)

    def solve(self, move: Move, strategy: BucketedBase, lengths: Sequence[int], seed: int = 0) -> MoveRun:
        """One move at a time: a GPU, and what is kept of joint weights, are not for several threads."""
        began, spent = time.perf_counter(), [0.0] * len(lengths)
        here, buckets = move.here & self.deciding, self._buckets(move.inside[0])
        of_node = np.where(here, len(strategy.buckets), strategy.layout.of_node)
        pieces: list[list[ExpertRows]] = [[] for _ in lengths]
        for number, (seats, keeps) in enumerate(self._seat_sets(move)):
            kept = here & np.isin(self.betting.turn, keeps)
            if not kept.any():
                continue
            frozen = Frozen(~here & np.isin(self.betting.turn, seats), strategy.played, strategy.digest)
            views = ViewForm(self.rules, [*strategy.buckets, buckets], of_node, frozen, self.device)
            form = PartForm(views, self.device, conditional=True)
            solver: Any = make(self.solver, Task(None, form, None, None, seed_of(seed, number), 1))
            for k, length in enumerate(lengths):
                mark = time.perf_counter()
                solver.step(length - solver.iteration)
                answer = np.asarray(solver.probabilities(), np.float64)
                pieces[k].append(ExpertRows(kept, buckets, partial(views.at, answer)))
                spent[k] += time.perf_counter() - mark
            getattr(solver, "close", lambda: None)()  # of working space: others are to have it
            del solver, form
            if Device(self.device).on_gpu:
                gc.collect()  # a form and its passes refer to each other
        answers = [self._moved(strategy, each, move.here, move.inside[0]) for each in pieces]
        setup = time.perf_counter() - began - sum(spent)
        return MoveRun(answers, tuple(setup + sum(spent[: k + 1]) for k in range(len(lengths))))

    def order(self, move: Move) -> Any:
        raise SolverError("experts of a game of this size are solved on this machine alone: leave --on out")
