"""Strategies of two-player limit hold'em along their training: solved further and further, and measured on the way.

A course is a strategy of one seed with all computations that it is made of. They stay in memory, on the GPU if there is
one, so that a longer training goes on from a shorter one; `save_courses` writes checkpoints, from which another process
goes on. The step `train` keeps the strategy in the folder of checkpoints, where other processes find it: several may
train side by side, and another one plays their strategies. Figures are in thousandths of a big blind a hand.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core import store
from kibitz.core.errors import SpecError
from kibitz.core.gpu import cupy_module
from kibitz.core.jit import cache_home
from kibitz.core.resources import cores
from kibitz.forms.profile import Profile
from kibitz.papers.holdem import arguments, form_within, unit_of
from kibitz.papers.runs import LARGEST, Run, made_by, plain
from kibitz.poker.bucketed.device import ROUNDING, may_round
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching.experts import poker_of
from kibitz.poker.stitching.part_form import PartForm
from kibitz.poker.whole.drawn import BOARDS, DRAWS, won_on_drawn_boards
from kibitz.poker.whole.flops import SampledSweep, gains_by_opening
from kibitz.poker.whole.profiles import against, node_strategy
from kibitz.poker.whole.walk import Sweep
from kibitz.solvers import Task, make
from kibitz.solvers.checkpoints import SolverRun
from kibitz.solvers.progress import RunState
from kibitz.solvers.run import Stops, first_strategy, iterate, samples
from kibitz.stitch import Expert
from kibitz.stitch.columns import target_of
from kibitz.stitch.targets import Solving, Stitching


@dataclass(frozen=True)
class CourseSetting:
    """What is run. Plain data, so that a step's arguments can be written down."""

    paper: str  # whose strategies these are, as `strategies_of` knows them
    game: str
    limits: tuple[int, ...]  # infosets of computations, as the paper's strategies need them
    gap: float  # NashConv in the abstract game to which bases are solved, thousandths of a big blind
    every: int  # on a sample every so many flops are gone through
    deals: int  # of matches. There are none any more, but ledgers are keyed by it
    folder: str  # of checkpoints
    device: str

    @property
    def unit(self) -> float:
        """Figures to a chip."""
        return unit_of(self.game)


@dataclass(frozen=True)
class CourseRecipe:
    """How a strategy is made. One of: buckets for the whole game; parts with buckets for each, solved together; experts
    of parts on a base."""

    solver: str = "pcs"
    buckets: str = ""
    last: bool = False  # the last strategy of the solver instead of the average
    parts: str = ""
    seats: str = ""  # whom experts freeze outside of their part: each or all; empty: parts are solved together
    inside: Any = ""  # buckets of experts, by part
    opponents: str | None = None
    base: str = ""  # the strategy that experts stand on
    base_steps: int = 0  # how far that is solved
    only: int | None = None  # one expert alone, by its number
    conditional: bool = False  # gaps of experts are per hand that comes to their part


@lru_cache(4)
def rules_of(game: str) -> Poker:
    """One object for all strategies of a game, which keeps the form of its last buckets."""
    return poker_of(game)


class Computation:
    """A game that is being solved."""

    def __init__(self, form: Any, solver: str, seed: int, path: Path) -> None:
        self.form, self.seed = form, seed
        first = None if samples(solver) else first_strategy(form, "random", seed)
        self.solver = make(solver, Task(None, form, None, first, seed, cores()))
        self.state = RunState(message=lambda text: None)
        path.parent.mkdir(parents=True, exist_ok=True)
        resume = (path / "manifest.json").exists()
        self._keeper = SolverRun(self.solver, form, self.state).keeper(path, math.inf, resume, seed)
        self._saved = self.solver.iteration if resume else -1

    def train(self, steps: int, until: float | None = None) -> None:
        """To so many iterations in all, or to a NashConv."""
        if until is not None and self.gap is not None and self.gap <= until:
            return
        iterate(self.solver, self.form, self.state, Stops(steps, until))
        getattr(self.solver, "close", lambda: None)()  # of working space: others are to have it meanwhile
        if self.state.interrupted:
            raise KeyboardInterrupt

    @property
    def gap(self) -> float | None:
        """NashConv as it is now, if that is known."""
        history = self.state.history
        known = bool(history) and history[-1].iteration == self.solver.iteration
        return float(history[-1].nash_conv) if known else None

    def profile(self, last: bool = False) -> Profile:
        form, solver = self.form, self.solver
        cfr: Any = getattr(solver, "cfr_state", None)
        probabilities = cfr.probabilities(False) if last and cfr is not None else solver.probabilities()
        meta = {"game": form.spec, "tree": form.tree_digest, "solver": solver.spec, "iterations": solver.iteration,
                "seed": self.seed, "abstraction": form.abstraction, "size": form.points}  # fmt: skip
        return Profile(form.infosets, probabilities, meta)

    def save(self) -> None:
        """A checkpoint of what is not in one yet."""
        if self.solver.iteration > self._saved:
            self._keeper.save()
            self._saved = self.solver.iteration


class HoldemCourse:
    """A strategy of one seed, as far as it was trained."""

    def __init__(
        self, name: str, recipe: CourseRecipe, seed: int, setting: CourseSetting, base: Profile | None
    ) -> None:
        self.name, self.recipe, self.seed, self.setting, self.base = name, recipe, seed, setting, base
        self.rules = rules_of(setting.game)
        self._profile: tuple[int, Profile] | None = None
        self.building = 0.0  # seconds in which forms were made

    @cached_property
    def target(self) -> Any:
        """What experts are stitched onto, or parts are solved in."""
        recipe = self.recipe
        plan = Stitching("static", recipe.parts, recipe.seats, recipe.inside, None, recipe.opponents)
        if not recipe.seats:
            plan = Stitching("dynamic", recipe.parts, inside=recipe.inside)
        # Experts are made as games on sampled boards; `computations` solves them in the bucket form where they can be.
        return target_of(self.rules, self.base, plan, Solving(solver="pcs", iterations=1,
                                                              device=self.setting.device))  # fmt: skip

    @cached_property
    def every(self) -> list[Expert]:
        """All experts of the parts; parts that are solved together are one."""
        experts: list[Expert] = self.target.experts()
        return experts

    @property
    def experts(self) -> list[Expert]:
        """Those that are solved."""
        return self.every if self.recipe.only is None else [self.every[self.recipe.only]]

    @property
    def folder(self) -> Path:
        """Of checkpoints."""
        return Path(self.setting.folder) / f"{self.name.replace('/', '-')}-{self.seed}"

    @cached_property
    def computations(self) -> list[Computation]:
        began = time.perf_counter()
        try:
            return self._computations()
        finally:
            self.building += time.perf_counter() - began

    def _computations(self) -> list[Computation]:
        recipe, setting, folder = self.recipe, self.setting, self.folder
        if recipe.parts:
            forms = {k: self._form_of(expert) for k, expert in enumerate(self.every) if recipe.only in (None, k)}
            if not self.samples:  # the gap of a strategy is known if that of each expert is
                known = all(each.perfect_recall for each in forms.values())
                for each in forms.values():
                    each.watched = known
            return [Computation(each, recipe.solver, self.seed * len(self.every) + k,
                                folder / f"{self.every[k].file}.checkpoint") for k, each in forms.items()]  # fmt: skip
        form: Any
        if samples(recipe.solver):
            form = ViewForm(self.rules, [hand_buckets(self.rules.definition, recipe.buckets)], device=setting.device)
        else:
            form = form_within(self.rules, recipe.buckets, setting.device)
            form.watched = not recipe.last
        return [Computation(form, recipe.solver, self.seed, folder / "whole.checkpoint")]

    def _form_of(self, expert: Expert) -> Any:
        """On sampled boards, or over all boards at once."""
        return (
            expert.game
            if self.samples
            else PartForm(expert.game, self.setting.device, conditional=self.recipe.conditional)
        )

    @property
    def samples(self) -> bool:
        return samples(self.recipe.solver)

    def advance(self, steps: int) -> None:
        """Solve each computation to so many iterations; the bucket form stops at the gap of the setting. What was
        solved further begins anew."""
        if any(each.solver.iteration > steps for each in self.computations):
            del self.computations
            shutil.rmtree(self.folder, ignore_errors=True)
        until = self.setting.gap / self.setting.unit
        for each in self.computations:
            exact = not self.samples and each.form.perfect_recall  # otherwise the gap is unknown, or a lower bound
            with self._turn():
                each.train(steps, until if exact else None)

    def train(self, steps: int) -> Profile:
        """The strategy after so many iterations of each computation."""
        if self._profile is None or self._profile[0] != steps:
            self.advance(steps)
            answers = [each.profile(self.recipe.last) for each in self.computations]
            whole = answers[0] if not self.recipe.parts else self.target.join(self.experts, answers)
            self._profile = steps, whole
        return self._profile[1]

    def kept(self, steps: int) -> Path | None:
        """Where the strategy after so many iterations is kept; None if it is not."""
        path = self._place(steps, "profile")
        return path if (path / "manifest.json").exists() else None

    def _turn(self) -> contextlib.AbstractContextManager[None]:
        """Products of matrices fill a GPU: two processes at once would only hinder each other."""
        if self.setting.device != "gpu" or self.samples:
            return contextlib.nullcontext()
        cache_home().mkdir(parents=True, exist_ok=True)
        return store.locked(cache_home() / "gpu.lock")

    @contextlib.contextmanager
    def _alone(self, steps: int) -> Iterator[None]:
        """A strategy that another process trains, to keep it, is waited for."""
        path = self._place(steps, "lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.locked(path):
            yield

    def _place(self, steps: int, kind: str) -> Path:
        """Of what other processes find, if they are of the same version: another may train and measure otherwise."""
        setting = self.setting
        rounding = os.environ.get(ROUNDING, "")
        what = hashlib.sha256(f"{setting.game} {setting.limits} {setting.gap} {rounding}".encode()).hexdigest()[:6]
        return self.folder.with_name(f"{self.folder.name}-{steps}-{_version()}{what}.{kind}")

    def kept_training(self, steps: int) -> dict[str, Any]:
        """Figures of the training of the strategy that is kept, which is trained now if it is not; its probabilities
        are not read, because that takes long."""
        said = store.said_at(self.keep(steps))
        assert said is not None
        return dict(said[1]["training"])

    def played(self, steps: int) -> Profile:
        """The strategy as it was kept, by this process or by another; else it is trained now."""
        if self._profile is None or self._profile[0] != steps:
            with self._alone(steps):
                kept = self.kept(steps)
            if kept is not None:
                self._profile = steps, Profile.load(kept)
        return self.train(steps)

    def figures(self, profile: Profile) -> dict[str, Any]:
        """Of the training of the strategy that is held now, wherever it was trained."""
        known = profile.meta.get("training")
        return dict(known) if known else {
            "seconds": self.seconds, "done": [each.solver.iteration for each in self.computations],
            "gap": self.gap(profile), "infosets": points_of(profile), "largest": self.largest,
            "building": self.building,
        }  # fmt: skip

    def keep(self, steps: int) -> Path:
        """Where the strategy after so many iterations is kept. Unless it was, it is trained and written down with the
        figures of its training; the bucket form and its joint weights are let go: memory of a GPU is short."""
        place = self._place(steps, "profile")
        with self._alone(steps):
            if self.kept(steps) is not None:
                return place
            profile = self.train(steps)
            profile.replaced(profile.probabilities, training=self.figures(profile)).save(place)
        self._profile = None  # it holds its form
        if self.samples:  # it is small, and may be trained further
            return place
        self.__dict__.pop("computations", None)
        for weights in ("_parts", "_bucket_forms"):
            self.rules.__dict__.pop(weights, None)
        _let_go(self.setting.device)
        return place

    def save(self) -> None:
        """Checkpoints of its computations."""
        for each in self.__dict__.get("computations", ()):
            each.save()

    def looked(self, steps: int, look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a look after so many iterations shows: looked now, or by a process that was stopped later."""
        path = self._place(steps, "json")
        if not path.exists():
            store.write_text(path, json.dumps(plain(look())) + "\n")
            self.save()
        return dict(json.loads(store.read_bytes(path, LARGEST)))

    @property
    def seconds(self) -> float:
        """Of training, in all computations."""
        return sum(each.state.seconds for each in self.computations)

    @property
    def largest(self) -> int:
        """Trainable infosets of the largest computation."""
        return max(int(getattr(each.form, "size", each.form.points)) for each in self.computations)

    def gap(self, profile: Profile) -> float | None:
        """NashConv in the abstract game, the largest of all computations; None where it is unknown."""
        if self.recipe.last:
            return None
        if self.recipe.parts:
            gaps = [each.gap for each in self.computations if not self.samples and each.form.perfect_recall]
            if len(gaps) < len(self.computations) or any(gap is None for gap in gaps):
                return None
            return max(float(gap) for gap in gaps if gap is not None) * self.setting.unit
        only = self.computations[0]
        if not self.samples:
            return None if only.gap is None else only.gap * self.setting.unit
        if not only.form.perfect_recall:
            return None
        form = form_within(self.rules, self.recipe.buckets, self.setting.device)
        return float(form.measure(profile.probabilities).nash_conv) * self.setting.unit


POINT, TRAIN, WHOLE = "points", "training", "all boards"  # names of runs
OPENINGS, PAIR, DRAWN = "gains by opening", "exact pairs", "pairs on drawn boards"
# What another result contradicts, or the plan does not allow; pages say so and do not judge by it.
ASIDE, POINTS_ASIDE = f"{DRAWN}, set aside", f"{POINT}, set aside"
Recipes = Callable[[str, CourseSetting], CourseRecipe]
_recipes: dict[str, Recipes] = {}
_courses: dict[tuple[str, int, CourseSetting], HoldemCourse] = {}


def strategies_of(paper: str, recipes: Recipes) -> None:
    """Say how the strategies of a paper are made."""
    _recipes[paper] = recipes


def course(name: str, seed: int, setting: CourseSetting) -> HoldemCourse:
    """A strategy of a seed, with its base: the one that this process has, or a new one."""
    key = name, seed, setting
    if key not in _courses:
        recipe = _recipes[setting.paper](name, setting)
        base = course(recipe.base, seed, setting).played(recipe.base_steps) if recipe.base else None
        _courses[key] = HoldemCourse(name, recipe, seed, setting, base)
    return _courses[key]


def save_courses() -> None:
    """Checkpoints of all that was trained in this process."""
    for each in _courses.values():
        each.save()


def _let_go(device: str) -> None:
    """Leave memory of a GPU to others."""
    gc.collect()
    if device == "gpu":
        cupy_module().get_default_memory_pool().free_all_blocks()


def _version() -> str:
    """In names of what is kept."""
    return made_by()[:16]


def forget_kept(folder: Path) -> None:
    """Remove strategies and looks that this version keeps in a folder, so that they are made again."""
    for path in list(folder.glob(f"*/*-{_version()}*.*")) + list(folder.glob(f"*-{_version()}*.*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def forget_courses(but: tuple[str, int] | None = None) -> None:
    """but: the name and the seed of one that stays."""
    for key in [key for key in _courses if key[:2] != but]:
        del _courses[key]


# Steps: plain functions over plain arguments, of which the last are the fields of a CourseSetting


def train(name: str, seed: int, steps: int, *fields: Any) -> dict[str, Any]:
    """Go on to so many iterations of each computation and keep the strategy, or find it kept; nothing is measured."""
    of = course(name, seed, CourseSetting(*fields))
    return {"name": of.name, "seed": of.seed, "steps": steps, **of.kept_training(steps)}


def train_without_tf32(name: str, seed: int, steps: int, *fields: Any) -> dict[str, Any]:
    """The same, where products of matrices keep all digits of single precision."""
    if CourseSetting(*fields).device == "gpu" and may_round(True):
        raise SpecError(f"this stage needs {ROUNDING}=0 in the environment, and so a command of its own")
    return train(name, seed, steps, *fields)


def sweep_of(profile: Profile, setting: CourseSetting, every: int = 1) -> Sweep:
    rules = rules_of(setting.game)
    both = (node_strategy(rules, profile),) * 2
    return SampledSweep(rules, both, every, device=setting.device)


def point(name: str, seed: int, steps: int, *fields: Any) -> dict[str, Any]:
    """A strategy after so many iterations: how it does on the sample of flops, and in its abstract game."""
    of = course(name, seed, CourseSetting(*fields))
    profile, setting, began = of.played(steps), of.setting, time.perf_counter()
    sweep = sweep_of(profile, setting, setting.every)
    best = sweep.best() * setting.unit
    return {
        "name": of.name, "seed": of.seed, "steps": steps, "solver": of.recipe.solver,
        "best": best.tolist(), "exploitability": float(best.mean()), "value": sweep.value() * setting.unit,
        "every": setting.every, "buckets": str(profile.meta.get("abstraction", "")),
        "measuring": time.perf_counter() - began, **of.figures(profile),
        "experts": [[e.name, list(e.keeps), e.buckets, e.size] for e in of.experts] if of.recipe.seats else [],
    }  # fmt: skip


def points_of(profile: Profile) -> int:
    compact = profile.infosets.compact
    assert compact is not None
    form: Any = compact.form
    return int(form.points) if hasattr(form, "points") else int(profile.infosets.seat_start[-1])


def whole(name: str, seed: int, steps: int, *fields: Any) -> dict[str, Any]:
    """The exact exploitability of a strategy."""
    of = course(name, seed, CourseSetting(*fields))
    sweep = sweep_of(of.played(steps), of.setting)
    best = sweep.best() * of.setting.unit
    return {"name": of.name, "seed": of.seed, "steps": steps, "best": best.tolist(),
            "exploitability": float(best.mean()), "on": sweep.known() or sweep.device.label}  # fmt: skip


def openings(name: str, seed: int, steps: int, *fields: Any) -> dict[str, Any]:
    """What best responses gain after each way of betting before the flop, on the sample of flops."""
    of = course(name, seed, CourseSetting(*fields))
    gains = gains_by_opening(sweep_of(of.played(steps), of.setting, of.setting.every))
    rows = [[each.opening, each.seat, each.reached, each.gain * of.setting.unit] for each in gains]
    return {"name": of.name, "seed": of.seed, "steps": steps, "gains": rows}


def pair(one: str, other: str, seed: int, steps: Sequence[int], *fields: Any) -> dict[str, Any]:
    """What one strategy wins from another over all boards, the mean of both seats."""
    setting = CourseSetting(*fields)
    (first, second), done = _both(one, other, seed, steps, setting)
    won = against(rules_of(setting.game), first, second, device=setting.device)
    return {"one": one, "other": other, "seed": seed, "steps": list(steps), "done": done,
            "mean": setting.unit * sum(won) / 2}  # fmt: skip


def _both(
    one: str, other: str, seed: int, steps: Sequence[int], setting: CourseSetting
) -> tuple[list[Profile], list[list[int]]]:
    """(two strategies, the iterations of their computations)."""
    every = [(course(name, seed, setting), to) for name, to in zip((one, other), steps, strict=True)]
    played = [each.played(to) for each, to in every]
    return played, [list(each.figures(profile)["done"]) for (each, _), profile in zip(every, played, strict=True)]


def estimate(
    one: str, other: str, seed: int, steps: Sequence[int], draws: int, count: int, *fields: Any
) -> dict[str, Any]:  # fmt: skip
    """The same on boards that are drawn, with its 95% interval. All pairs of a seed have the same boards."""
    setting = CourseSetting(*fields)
    (first, second), done = _both(one, other, seed, steps, setting)
    began = time.perf_counter()
    won = won_on_drawn_boards(rules_of(setting.game), first, second, draws, count, seed, setting.device)
    _let_go(setting.device)  # other processes train meanwhile
    return {"one": one, "other": other, "seed": seed, "steps": list(steps), "done": done, "draws": draws,
            "count": count, "boards": won.boards, "mean": setting.unit * won.mean,
            "error": setting.unit * won.error, "by_draw": np.round(setting.unit * won.by_draw, 6).tolist(),
            "measuring": time.perf_counter() - began}  # fmt: skip


def trainings_of(steps: Mapping[str, Sequence[int]], seed: int, setting: CourseSetting) -> Run:
    """A run that trains strategies and keeps them, each after so many iterations."""
    every = [(name, n) for name, looks in steps.items() for n in looks]
    return Run(TRAIN, train, [(name, seed, n, *arguments(setting)) for name, n in every], prepares=True)


def pairs_as_trained(steps: Mapping[str, Sequence[int]], seed: int, setting: CourseSetting) -> list[Run]:
    """Strategy by strategy: it is trained, or waited for while another process trains it; then what those before it, as
    they are at their ends, win from it is estimated."""
    runs, last = [], {name: looks[-1] for name, looks in steps.items()}
    for k, (name, looks) in enumerate(steps.items()):
        for n in looks:
            runs.append(trainings_of({name: [n]}, seed, setting))
            if k:
                before = [(other, name) for other in list(steps)[:k]]
                runs.append(estimates_of(before, seed, last | {name: n}, setting))
    return runs


def estimates_of(
    pairs: Iterable[tuple[str, str]], seed: int, last: Mapping[str, int], setting: CourseSetting
) -> Run:  # fmt: skip
    """A run that estimates what strategies win from each other after so many iterations."""
    return Run(DRAWN, estimate, [(one, other, seed, (last[one], last[other]), DRAWS, BOARDS, *arguments(setting))
                                 for one, other in pairs])  # fmt: skip
