"""Automatic stitching in buckets: experts of two-player poker with lists of buckets of their own, over all boards.

    setting = BucketSetting(poker_form(game("rhode_island")), "percentile(4)")
    StitchSearch(setting, Limits(infosets=25_624), Effort(insides=("percentile(8)", "percentile(13)"), solver="dcfr+"))

Strategies are probabilities by column of the game with all hands, so they are judged exactly. At each node of the
betting they follow one list of buckets, which is read off them: classes of hands that share a bucket play alike there.
An expert is solved in a `PartForm`, so its part begins in the first round or where that ends.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.evaluate.infosets import infoset_values
from kibitz.poker.buckets.buckets import hand_buckets, parse
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.exact.factored import nodes_by_actions
from kibitz.poker.exact.form import poker_form
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.stitching.part_form import PartForm
from kibitz.solvers import Task, make
from kibitz.stitch.auto.cuts import Cut, prefix_name
from kibitz.stitch.auto.moves import PAIRS, STATIC, Move, MoveRun, Size
from kibitz.stitch.auto.plan import Effort
from kibitz.stitch.auto.setting import Setting
from kibitz.stitch.auto.signals import PartSignal
from kibitz.stitch.columns import seed_of
from kibitz.stitch.targets import seat_sets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
FINER = (1.0, 1.5, 2.0, 3.0, 4.0)  # of the buckets of a base: lists of experts, where none are named
FINEST = 2  # lists of buckets that are tried for a part: the finest that fit


@dataclass(frozen=True, eq=False)
class ClassBuckets:
    """A list of buckets, by classes of hands up to suit isomorphism."""

    buckets: HandBuckets
    of_class: tuple[Ints, ...]  # by round: [classes] the bucket
    first: tuple[Ints, ...]  # by round: [buckets] one of its classes


def bucket_setting(game: Any, base: str, solver: str) -> BucketSetting | None:
    """The setting of a poker game, or of its form; None for games that have no form with all hands."""
    if hasattr(game, "cards"):
        return BucketSetting(game, base, solver)
    if game.players != 2 or game.definition.hole > 2 or game.definition.rounds < 2:
        return None
    return BucketSetting(poker_form(game), base, solver)


def ladder(base: str, rounds: int) -> list[str]:
    """Lists of buckets of the same kind that are finer: of a base in percentiles, with a number for each round."""
    spec = parse(base)
    counts: Any = spec.args.get("buckets")
    if spec.name != "percentile" or set(spec.args) != {"buckets"}:
        raise SolverError(f"experts of a base in {base} have no buckets by default: name lists of buckets, such as "
                          "insides=percentile(8)")  # fmt: skip
    each = [counts] * rounds if isinstance(counts, int) else list(counts)
    steps = [[max(n + 1, math.ceil(factor * n)) for n in each] for factor in FINER]
    return list(dict.fromkeys(f"percentile({s[0] if len(set(s)) == 1 else s})" for s in steps))


def finest_of(moves: Sequence[tuple[Move, Size]], most: int) -> list[tuple[Move, Size]]:
    """Of the lists that fit a part, for each S the finest."""
    kept: list[tuple[Move, Size]] = []
    groups: dict[tuple[str, str, str], list[tuple[Move, Size]]] = {}
    for move, size in moves:
        groups.setdefault((move.kind, move.cuts[0].name, move.seats), []).append((move, size))
    for group in groups.values():
        kept += sorted(group, key=lambda each: -each[1].infosets)[:most]
    return kept


def opening_cuts(betting: Any) -> list[Cut]:
    """Parts by the first actions, as far as the first round goes, where somebody decides. here: [betting nodes]"""
    known = {str(action) for actions in betting.actions for action in actions}
    result: list[Cut] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        before = waiting.pop(0)
        for action in sorted(known):
            actions = (*before, action)
            here = nodes_by_actions(betting, [[{step} for step in actions]]) == 1
            deciding = here & (betting.turn >= 0)
            if deciding.any():
                result.append(Cut(prefix_name(actions, known), here, actions))
                if betting.round[np.flatnonzero(deciding)[0]] == 0:
                    waiting.append(actions)
    return result


@dataclass(frozen=True, eq=False)
class BucketSetting(Setting):
    """Two-player poker with all hands, to be stitched of lists of buckets. base: the name of the base's list."""

    lists: dict[str, ClassBuckets] = field(init=False, default_factory=dict)
    _sizes: dict[tuple[Any, ...], Size] = field(init=False, default_factory=dict)
    _digested: list[Any] = field(init=False, default_factory=list)  # a strategy and its digest

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_tree or not hasattr(self.form, "cards"):
            raise SolverError("experts in buckets need the form of a two-player poker game with all hands")

    # What the search asks

    @property
    def base_rows(self) -> int:
        return self._view_form([self.buckets_of(self.base)], np.zeros(len(self.betting), np.int64)).size

    def insides(self) -> list[str]:
        return ladder(self.base, self.form.definition.rounds)

    def known(self) -> tuple[str, ...]:
        return tuple(self.lists)

    def learn(self, names: Sequence[str]) -> None:
        for name in names:
            self.buckets_of(name)

    def experts(self, cut: Cut, effort: Effort) -> list[Move]:
        sets = [seats for seats in effort.seats if seats != PAIRS]
        return [Move(STATIC, (cut,), seats, (inside,)) for inside in effort.insides for seats in sets]

    def tried(self, moves: Sequence[tuple[Move, Size]]) -> list[tuple[Move, Size]]:
        return finest_of(moves, FINEST)

    def cuts(self, lost: Floats, most: int, fits: Callable[[Cut], bool]) -> list[Cut]:
        """First actions as far as the first round goes: those after which most is lost."""
        every = [cut for cut in self.prefixes if fits(cut)]
        return sorted(every, key=lambda cut: -float(lost[cut.here].sum()))[:most]

    def signals(self, probabilities: Floats, among: Sequence[Cut]) -> list[PartSignal]:
        lost = self.losses(probabilities)
        reach = infoset_values(self.subject, self.profile(probabilities)).reach
        result = []
        for cut in among:
            top = np.flatnonzero(self.nodes_of(cut) & (self.betting.turn >= 0))[0]  # play that comes there passes it
            inside = float(reach[self._infoset_at(int(top))].sum())
            result.append(PartSignal(cut.name, float(lost[cut.here].sum()), inside, cut.size))
        return result

    def size(self, move: Move) -> Size:
        key = move.cuts[0].actions, move.seats, move.inside
        if not key[0]:  # not a part by its first actions: the infosets that no expert has
            return self._size(move)
        if key not in self._sizes:  # a search asks in every round, and it does not depend on the strategy
            self._sizes[key] = self._size(move)
        return self._sizes[key]

    def _size(self, move: Move) -> Size:
        sizes = []
        for seats, keeps in seat_sets(self.seats(move), 2):
            here = self.nodes_of(move.cuts[0])
            if (here & np.isin(self.betting.turn, keeps)).any():
                form = self._expert(move, here, seats, np.zeros(len(self.betting), np.int64), None)
                sizes.append((form.size, int((form.rows * form.count)[form.moving].sum())))
        return Size(max((s for s, _ in sizes), default=0), max((c for _, c in sizes), default=0), len(sizes))

    def solve(self, move: Move, probabilities: Floats, lengths: Sequence[int], seed: int = 0) -> MoveRun:
        began = time.perf_counter()
        here, of_node = self.nodes_of(move.cuts[0]), self.views_of(probabilities)
        sets = [each for each in seat_sets(self.seats(move), 2) if (here & np.isin(self.betting.turn, each[1])).any()]
        answers = np.stack([probabilities] * len(lengths))
        spent = [0.0] * len(lengths)
        for number, (seats, keeps) in enumerate(sets):
            form = PartForm(self._expert(move, here, seats, of_node, probabilities), conditional=True)
            solver = make(self.solver, Task(None, form, None, None, seed_of(seed, number), 1))
            kept = here & np.isin(self.betting.turn, keeps)
            for k, length in enumerate(lengths):
                mark = time.perf_counter()
                solver.step(length - solver.iteration)
                self._put(answers[k], form.views, solver.probabilities(), kept, move.inside[0])
                spent[k] += time.perf_counter() - mark
        setup = time.perf_counter() - began - sum(spent)
        return MoveRun(answers, tuple(setup + sum(spent[: k + 1]) for k in range(len(lengths))))

    # Lists of buckets, by class

    def buckets_of(self, name: str) -> ClassBuckets:
        """A list by its name, made once."""
        if name not in self.lists:
            buckets = hand_buckets(self.form.definition, name)
            of_class = tuple(np.asarray(each, np.int64) for each in buckets.classes(self.form.cards))
            first = []
            for level, each in enumerate(of_class):
                number, at = np.unique(each, return_index=True)
                assert len(number) == buckets.rounds[level].count
                first.append(np.asarray(at, np.int64))
            self.lists[name] = ClassBuckets(buckets, of_class, tuple(first))
        return self.lists[name]

    def lists_used(self, move: Move | None = None) -> list[str]:
        names = [self.base, *self.lists, *(move.inside if move is not None else ())]
        return list(dict.fromkeys(names))

    def views_of(self, probabilities: Floats) -> Ints:
        """[betting nodes] which list a strategy follows there, as a number of `lists_used`: the first that fits.

        All nodes after one way through the first round follow one list: an expert has all of them or none.
        """
        names, of_node = self.lists_used(), np.zeros(len(self.betting), np.int64)
        for nodes in self._grouped:
            number = next((k for k, name in enumerate(names) if self._follows(probabilities, nodes, name)), None)
            if number is None:
                raise SolverError(f"hands of a bucket play differently: the strategy follows none of {names}")
            of_node[nodes] = number
        return of_node

    def _follows(self, probabilities: Floats, nodes: Sequence[int], name: str) -> bool:
        each = self.buckets_of(name)
        for node in nodes:
            played, level = probabilities[self.columns_at(node)], int(self.betting.round[node])
            if not (played[each.first[level]][each.of_class[level]] == played).all():
                return False
        return True

    @cached_property
    def _grouped(self) -> list[list[int]]:
        """Decisions that follow one list: each of the first round, and all after one way through it."""
        betting, groups = self.betting, dict[int, list[int]]()
        top = np.arange(len(betting))
        for node in range(1, len(betting)):
            above = int(betting.parent[node])
            if betting.round[above] > 0:
                top[node] = top[above]
        for node in np.flatnonzero(betting.turn >= 0).tolist():
            groups.setdefault(int(top[node]), []).append(node)
        return list(groups.values())

    # Nodes of the betting, and the columns of their infosets

    @property
    def betting(self) -> Any:
        return self.form.betting

    @cached_property
    def _by_node(self) -> tuple[Ints, Ints]:
        """([I] infosets by node and class, [nodes + 1] where each node's begin)."""
        nodes, classes = self.form.infosets.order()
        order = np.lexsort((classes, nodes))
        return order, np.searchsorted(nodes[order], np.arange(len(self.betting) + 1))

    def _infoset_at(self, node: int) -> Ints:
        order, start = self._by_node
        return order[start[node] : start[node + 1]]

    def columns_at(self, node: int) -> Ints:
        """[classes, actions] the columns of a node's infosets."""
        first = self.form.infosets.first[self._infoset_at(node)]
        return np.asarray(first[:, None] + np.arange(int(self.betting.widths[node])), np.int64)

    def nodes_of(self, cut: Cut) -> Bools:
        """[betting nodes] those with infosets of a part: parts are whole nodes here."""
        nodes, _ = self._nodes_of_infosets
        here = np.zeros(len(self.betting), bool)
        here[nodes[cut.here]] = True
        return here

    @cached_property
    def _nodes_of_infosets(self) -> tuple[Ints, Ints]:
        nodes, classes = self.form.infosets.order()
        return nodes, classes

    @cached_property
    def prefixes(self) -> list[Cut]:
        nodes = self._nodes_of_infosets[0]
        return [Cut(cut.name, cut.here[nodes], cut.actions) for cut in opening_cuts(self.betting)]

    # Experts

    def _view_form(self, lists: Sequence[ClassBuckets], of_node: Ints, frozen: Frozen | None = None) -> ViewForm:
        return ViewForm(self.form.game, [each.buckets for each in lists], of_node, frozen)

    def _expert(
        self, move: Move, here: Bools, seats: Sequence[int], of_node: Ints, probabilities: Floats | None
    ) -> ViewForm:
        """The game of an expert; probabilities None: only to be counted."""
        names = self.lists_used(move)
        lists, mine = [self.buckets_of(name) for name in names], np.isin(self.betting.turn, seats)
        view = np.where(here, names.index(move.inside[0]), of_node)
        digest = "" if probabilities is None else self._digest_of(probabilities)

        def played(node: int) -> Floats:
            assert probabilities is not None
            first = lists[int(of_node[node])].first[int(self.betting.round[node])]
            return np.asarray(probabilities[self.columns_at(node)[first]], np.float64)

        return self._view_form(lists, view, Frozen(~here & mine, played, digest))

    def _digest_of(self, probabilities: Floats) -> str:
        """Of the last strategy it is kept: all pilots of a round begin from one. Comparing is faster than hashing."""
        if not self._digested or not np.array_equal(self._digested[0], probabilities):
            content = np.ascontiguousarray(probabilities, np.float64)
            self._digested[:] = np.array(probabilities), hashlib.sha256(content.data).hexdigest()
        return str(self._digested[1])

    def _put(self, onto: Floats, form: ViewForm, answer: Floats, kept: Bools, inside: str) -> None:
        """An answer in place of what is played at some nodes."""
        of_class = self.buckets_of(inside).of_class
        for node in np.flatnonzero(kept).tolist():
            onto[self.columns_at(node)] = form.at(answer, node)[of_class[int(self.betting.round[node])]]
