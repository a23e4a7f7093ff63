"""Strategies of two-player limit Texas hold'em, as papers compare them: solved on sampled boards, matched, measured.

A paper names its strategies and gives each a file. They are kept as profiles in a folder, where they are made once: a
profile that is there with enough iterations is taken, and one that was stopped is resumed. Figures are in thousandths
of a big blind a hand, which is the small bet too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.forms.profile import Profile
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching.experts import poker_of
from kibitz.stitch import Expert
from kibitz.stitch.folder import solved

Files = Mapping[str, str]  # name of a strategy -> name of its file, without an ending


@dataclass(frozen=True)
class HoldemSetting:
    """What is run. Plain data, so that a run's arguments can be written down."""

    game: str
    limits: tuple[int, ...]  # infosets of computations, as the paper's strategies need them
    iterations: int  # of every computation
    deals: int  # of every match
    folder: str  # where strategies are kept

    def path(self, file: str) -> Path:
        return Path(self.folder) / f"{file}.profile"

    def profile(self, file: str) -> Profile:
        return Profile.load(self.path(file))

    def __str__(self) -> str:
        return f"{self.game}, {self.iterations:,} iterations of every computation, {self.deals:,} deals of every match"


def arguments(setting: Any) -> tuple[Any, ...]:
    """The fields of a setting, from which it is made again."""
    return tuple(getattr(setting, each.name) for each in fields(setting))


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    return list(combinations(names, 2))


def unit_of(game: str) -> float:
    """Figures to a chip."""
    return 1000.0 / max(poker_of(game).definition.blinds)


def score_in(unit: float, score: Any) -> dict[str, float]:
    """The mean of a match in a unit, and half of its 95% interval."""
    return {"mean": unit * score.mean, "error": unit * (score.interval[1] - score.mean)}


# Solving


def solved_whole(form: ViewForm, file: str, setting: HoldemSetting) -> Profile:
    """A strategy of one computation, from its file or solved now."""
    return _at_work(solved(form, "pcs", Path(setting.folder) / file, iterations=setting.iterations), setting)


def solved_within(buckets: str, file: str, setting: HoldemSetting) -> Profile:
    """The same, with one set of buckets for all decisions."""
    rules = poker_of(setting.game)
    return solved_whole(ViewForm(rules, [hand_buckets(rules.definition, buckets)]), file, setting)


def solved_expert(name: str, file: str, expert: Expert, number: int, setting: HoldemSetting) -> dict[str, Any]:
    """One expert of a strategy, solved or found solved; `static` takes it from the same folder."""
    began = time.perf_counter()
    keep = Path(setting.folder) / file / expert.file
    _at_work(solved(expert.game, "pcs", keep, iterations=setting.iterations, seed=number), setting)
    return {"name": name, "part": expert.name, "seats": list(expert.keeps), "infosets": expert.size,
            "seconds": time.perf_counter() - began}  # fmt: skip


def _at_work(profile: Profile | None, setting: HoldemSetting) -> Profile:
    if profile is None:
        raise SolverError(f"another run is at work on {setting.folder}: wait for it, or choose another folder")
    return profile


def kept(name: str, file: str, setting: HoldemSetting, make: Callable[[], Profile]) -> dict[str, Any]:
    """Make a strategy, or find it made: (seconds that it took, infosets, iterations, buckets)."""
    began = time.perf_counter()
    profile, path = make(), setting.path(file)
    if "steps" not in profile.meta:  # kept in bytes, and played, frozen and measured so
        profile = profile.rounded()
        profile.save(path)
    compact = profile.infosets.compact
    assert compact is not None
    form: Any = compact.form
    how = profile.meta.get("stitch", {})
    return {
        "name": name, "file": path.name, "seconds": time.perf_counter() - began,
        "infosets": int(form.points) if isinstance(form, ViewForm) else int(np.diff(profile.infosets.seat_start).sum()),
        "largest": int(how.get("size", profile.meta.get("size", 0))),
        "iterations": how.get("iterations", [int(profile.meta.get("iterations", 0))]),
        "buckets": profile.meta.get("abstraction", ""), "experts": how.get("experts", []),
    }  # fmt: skip


# Measuring


def matched(files: Files, *setting_fields: Any) -> list[dict[str, Any]]:
    """All pairs of strategies: what the first wins, with the 95% interval."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import agent
    from kibitz.solvers.machines import machine_of

    setting = HoldemSetting(*setting_fields)
    machine = machine_of(setting.game)
    players = {name: str(setting.path(file)) for name, file in files.items()}
    rows = []
    for number, (one, other) in enumerate(pairs(files)):  # each has deals of its own, so that they are independent
        began = time.perf_counter()
        played = match(machine, agent(players[one], machine), agent(players[other], machine), deals=setting.deals,
                       seed=number)  # fmt: skip
        rows.append({"one": one, "other": other, **score_in(unit_of(setting.game), played),
                     "seconds": time.perf_counter() - began})  # fmt: skip
    return rows


def earned(one: str, other: str, files: Files, device: str, *setting_fields: Any) -> dict[str, Any]:
    """What one strategy wins from another over all boards, the mean of both seats."""
    from kibitz.poker.whole.profiles import against

    setting = HoldemSetting(*setting_fields)
    began = time.perf_counter()
    first, second = (setting.profile(files[name]) for name in (one, other))
    seats = against(poker_of(setting.game), first, second, device=device)
    return {"one": one, "other": other, "mean": unit_of(setting.game) * sum(seats) / 2, "device": device,
            "seconds": time.perf_counter() - began}  # fmt: skip


def is_earned(one: str, other: str, files: Files, setting: HoldemSetting) -> bool:
    """Whether what one strategy wins from another over all boards is in the cache, wherever it was found."""
    from kibitz.poker.whole.profiles import sweeps_of

    if not all((setting.path(files[name]) / "manifest.json").exists() for name in (one, other)):
        return False
    first, second = (setting.profile(files[name]) for name in (one, other))
    return all(sweep.known_value() is not None for sweep in sweeps_of(poker_of(setting.game), first, second))


def exploited_within(name: str, file: str, buckets: str, device: str, *setting_fields: Any) -> dict[str, Any]:
    """The exploitability of a strategy in its abstract game (NashConv / 2): of one view that never forgets."""
    from kibitz.poker.bucketed.build import bucket_form

    setting = HoldemSetting(*setting_fields)
    rules = poker_of(setting.game)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets), device)
    measured = form.measure(setting.profile(file).probabilities)
    return {"name": name, "exploitability": unit_of(setting.game) * float(measured.nash_conv) / 2, "device": device}


def _sweep(file: str, device: str, setting: HoldemSetting) -> Any:
    from kibitz.poker.whole.profiles import node_strategy
    from kibitz.poker.whole.walk import Sweep

    rules = poker_of(setting.game)
    return Sweep(rules, (node_strategy(rules, setting.profile(file)),) * 2, device=device)


def is_exploited(file: str, setting: HoldemSetting) -> bool:
    """Whether best responses to a strategy are in the cache, wherever they were found."""
    there = (setting.path(file) / "manifest.json").exists()
    return there and _sweep(file, "cpu", setting).known() is not None


def exploited(name: str, file: str, device: str, *setting_fields: Any) -> dict[str, Any]:
    """Best responses to a strategy in the whole game, exactly."""
    setting = HoldemSetting(*setting_fields)
    unit = unit_of(setting.game)
    sweep = _sweep(file, device, setting)
    best = sweep.best()
    return {"name": name, "best": [float(x) * unit for x in best], "exploitability": float(best.mean()) * unit,
            "by": sweep.known() or sweep.device.label}  # fmt: skip
