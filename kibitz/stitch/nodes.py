"""Experts of a stitched strategy on other machines.

A piece is one expert. A node gets the base as a saved artefact and maps it: all experts there share one copy. It builds
the expert's game itself, from names, and answers with probabilities; the base and the experts are joined by the caller.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.artefacts import SharedArtefact, files_of, located, saved_for_nodes
from kibitz.core.errors import SolverError
from kibitz.core.pieces import Executor, Piece
from kibitz.forms.profile import Profile
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.stitch.columns import target_of
from kibitz.stitch.partition import Partition
from kibitz.stitch.targets import Expert, MaxInfosets, Solving, Stitching, Target

BYTES = 64  # of a column of an expert's game: regrets, averages and what kernels work in
Frozen = tuple[Any, ...]  # a plan or an abstraction as plain values that can be compared


class ExpertOrder(NamedTuple):
    """What a node needs to build a target again, as plain values."""

    game: str
    base: SharedArtefact | None  # None: a dynamic strategy has none
    trained: bool  # the base is a blueprint, and so are its experts
    plan: Frozen
    how: Frozen


def can_spread(target: Target) -> bool:
    """Whether the experts of a target can be solved elsewhere: those of a game with a name."""
    if not target.spec or target.plan.kind == "rebuilt base":
        return False
    return target.plan.kind == "dynamic" or isinstance(target.base, Profile | Blueprint)


def solved_on_nodes(
    target: Target, built: Sequence[Expert], left: Sequence[int], executor: Executor
) -> dict[int, Any]:
    """Answers by expert, of those that are left; one that another run is at has none."""
    how = target.how
    base = None if target.plan.kind == "dynamic" else executor.artefact(saved_for_nodes(target.base))
    order = ExpertOrder(target.spec, base, isinstance(target.base, Blueprint), _plan(target.plan), _how(how))
    pieces = [
        Piece((order, built[k].part, built[k].seats, built[k].keeps, k), cost=max(1, built[k].size),
              cores=how.threads or 1, memory=_bytes(target, built[k]), gpus=float(how.device == "gpu"))
        for k in left
    ]  # fmt: skip

    def told(done: int, of: int, seconds: float | None) -> None:
        if how.on_start is not None and done < of:
            how.on_start(built[left[done]], left[done], len(built))

    told(0, len(pieces), None)
    answers: dict[int, Any] = {}
    for number, answer in executor.map(expert_on_node, pieces, on_progress=told):
        if answer is not None:
            k = left[number]
            answers[k] = _received(target, built[k], answer)
            if how.on_expert is not None:
                how.on_expert(built[k], answers[k])
    return answers


def _bytes(target: Target, expert: Expert) -> int:
    """Memory of an expert's computation, about; that of the base is shared."""
    if isinstance(target.base, Blueprint):
        return 2 * target.base.nbytes
    return BYTES * int(_infosets(expert).columns)


def _received(target: Target, expert: Expert, answer: tuple[Any, dict[str, Any]]) -> Any:
    """What a node answered, as this machine would have it."""
    content, meta = answer
    if not isinstance(target.base, Blueprint):
        return Profile(_infosets(expert), np.array(content), meta)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in content.items():
            np.asarray(data).tofile(Path(folder) / Path(name).name)
        return load_blueprint(folder, game=target.base.machine)


def _infosets(expert: Expert) -> Any:
    """Those of the game that is solved: an abstract game has a tree, frozen rows have a form."""
    game = expert.game
    return getattr(game, "tree", getattr(game, "form", game)).infosets


def _plan(plan: Stitching) -> Frozen:
    partition = plan.partition.name if isinstance(plan.partition, Partition) else plan.partition
    parts = (partition, plan.seats, plan.inside, plan.outside, plan.opponents)
    return plan.kind, *(_frozen(part) for part in parts)


def _how(how: Solving) -> Frozen:
    keep = None if how.keep is None else str(how.keep)
    return how.solver, how.iterations, how.until, how.seconds, how.seed, how.start, how.threads, keep, how.device


def _frozen(value: Any) -> Any:
    """Texts, numbers, and lists and dicts of them, as tuples; nothing else has a name that a node knows."""
    if isinstance(value, MaxInfosets):
        return "most", (value.infosets, value.inside)
    if isinstance(value, Mapping):
        return "dict", tuple((key, _frozen(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return "list", tuple(_frozen(each) for each in value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise SolverError(
        f"experts on other machines are built from names: {type(value).__name__} has none; give partitions and "
        "abstractions as texts, or leave --on out"
    )


def _thawed(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    kind, parts = value
    if kind == "most":
        return MaxInfosets(*parts)
    return {key: _thawed(each) for key, each in parts} if kind == "dict" else [_thawed(each) for each in parts]


@lru_cache(1)
def _target(order: ExpertOrder) -> Target:
    """The target of this process; the next pieces are mostly of the same one."""
    kind, *parts = order.plan
    solver, iterations, until, seconds, seed, start, threads, keep, device = order.how
    how = Solving(solver, iterations, until, seconds, seed, start, threads=threads, keep=keep, device=device)
    base: Any = None
    if order.base is not None:
        where = located(order.base)
        base = load_blueprint(where, game=order.game) if order.trained else Profile.load(where, mmap=True)
    return target_of(order.game, base, Stitching(kind, *(_thawed(part) for part in parts)), how)


def expert_on_node(
    order: ExpertOrder, part: int, seats: tuple[int, ...], keeps: tuple[int, ...], number: int
) -> tuple[Any, dict[str, Any]] | None:
    """The probabilities of an expert, and what its solver says of them; of a blueprint its files."""
    target = _target(order)
    dynamic = target.plan.kind == "dynamic"
    answer = target.solve(target.experts()[number] if dynamic else target.expert(part, seats, keeps), number)
    if not order.trained:
        return None if answer is None else (answer.probabilities, dict(answer.meta))
    with tempfile.TemporaryDirectory() as folder:
        answer.save(Path(folder) / "expert")
        return {name: np.array(data) for name, data in files_of(Path(folder) / "expert").items()}, {}
