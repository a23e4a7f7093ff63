"""The strategies of [Gibson & Szafron 2011, Sec. 6] for limit Texas hold'em for two: sizes, solved, matched, measured.

Each computation has as many percentile buckets as a limit on its infosets allows. Strategies are kept as profiles in a
folder, where they are made once: a profile that is there with enough iterations is taken, and one that was stopped goes
on.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.abstractions.buckets import hand_buckets
from kibitz.abstractions.limits import decisions_of, finest, infosets_of, percentile_spec
from kibitz.errors import SolverError
from kibitz.form.views.form import ViewForm
from kibitz.poker.experts import betting_parts, dynamic_form, poker_of, solved, static_views, view_experts
from kibitz.profile import Profile

BASE, DYNAMIC, EACH, ALL, FINEST = "Base", "Dynamic", "Static.S={i}", "Static.S=N", "Finest"
NAMES = (BASE, DYNAMIC, EACH, ALL, FINEST)
FILES = {BASE: "base", DYNAMIC: "dynamic", EACH: "each", ALL: "all", FINEST: "finest"}
EXPERTS = {EACH: 8, ALL: 2}  # computations: a part for each seat, or for both
EACH_PARTS, ALL_PARTS, DYNAMIC_PARTS = "prefix(r, cr, ccr, cccr)", "prefix(r, cr)", "prefix(r)"


@dataclass(frozen=True)
class Setting:
    """What is run. Plain data, so that a run's arguments can be written down."""

    game: str
    limit: int  # infosets of a computation
    finest: int  # the same of the strategy that is to beat all
    iterations: int  # of every computation
    deals: int  # of every match
    folder: str  # where strategies are kept


@dataclass(frozen=True)
class Sizes:
    """Which buckets each computation has."""

    base: str
    finest: str
    dynamic: tuple[str, str]  # outside, in the part
    each: dict[str, str]  # by part
    all: dict[str, str]
    infosets: dict[str, int]  # by strategy, of its largest computation, as counted before buckets are made


@lru_cache(8)
def sizes_of(game: str, limit: int, largest: int) -> Sizes:
    """The most buckets that the limit allows, spread over the rounds as evenly as it goes."""
    betting = poker_of(game).betting
    every = decisions_of(betting)
    base = finest(every, limit)
    counted = {BASE: infosets_of(every, base)}
    top = finest(every, largest)
    counted[FINEST] = infosets_of(every, top)

    parts = betting_parts(poker_of(game), DYNAMIC_PARTS).part
    outside, inside = decisions_of(betting, parts == 0), decisions_of(betting, parts == 1)
    coarse = [max(1, n - 1) for n in base]
    left = limit - infosets_of(outside, coarse)
    fine = finest(inside, left)
    counted[DYNAMIC] = infosets_of(outside, coarse) + infosets_of(inside, fine)

    each, counted[EACH] = {}, 0
    parts_of_each = betting_parts(poker_of(game), EACH_PARTS)
    for j, name in enumerate(parts_of_each.names[1:], 1):
        here = parts_of_each.part == j
        free = max(infosets_of(decisions_of(betting, ~here & (betting.turn == seat)), base) for seat in (0, 1))
        budgets = finest(decisions_of(betting, here), limit - free)
        each[name] = percentile_spec(budgets)
        counted[EACH] = max(counted[EACH], free + infosets_of(decisions_of(betting, here), budgets))

    every_part, counted[ALL] = {}, 0
    parts_of_all = betting_parts(poker_of(game), ALL_PARTS)
    for j, name in enumerate(parts_of_all.names[1:], 1):
        mine = decisions_of(betting, parts_of_all.part == j)
        every_part[name] = percentile_spec(finest(mine, limit))
        counted[ALL] = max(counted[ALL], infosets_of(mine, finest(mine, limit)))
    return Sizes(percentile_spec(base), percentile_spec(top), (percentile_spec(coarse), percentile_spec(fine)), each,
                 every_part, counted)  # fmt: skip


def made(name: str, *given: Any) -> dict[str, Any]:
    """Make a strategy, or find it made: (seconds that it took, infosets, iterations, buckets)."""
    setting = Setting(*given)
    folder = Path(setting.folder)
    path = folder / f"{FILES[name]}.profile"
    began = time.perf_counter()
    profile = _strategy(name, setting, folder)
    if "steps" not in profile.meta:  # kept in bytes, and played, frozen and measured so
        profile = profile.rounded()
        profile.save(path)
    compact = profile.infosets.compact
    assert compact is not None
    form: Any = compact.form
    how = profile.meta.get("stitch", {})
    return {
        "name": name, "file": str(path), "seconds": time.perf_counter() - began,
        "infosets": int(form.points) if isinstance(form, ViewForm) else int(np.diff(profile.infosets.seat_start).sum()),
        "largest": int(how.get("size", profile.meta.get("size", 0))),
        "iterations": how.get("iterations", [int(profile.meta.get("iterations", 0))]),
        "buckets": profile.meta.get("abstraction", ""), "experts": how.get("experts", []),
    }  # fmt: skip


def _strategy(name: str, setting: Setting, folder: Path) -> Profile:
    rules = poker_of(setting.game)
    sizes = sizes_of(setting.game, setting.limit, setting.finest)

    def whole(form: ViewForm, file: str) -> Profile:
        found = solved(form, "pcs", folder / file, iterations=setting.iterations)
        if found is None:
            raise SolverError(f"another run is at work on {folder}: wait for it, or choose another folder")
        return found

    if name in (BASE, FINEST):
        spec = sizes.base if name == BASE else sizes.finest
        return whole(ViewForm(rules, [hand_buckets(rules.definition, spec)]), FILES[name])
    if name == DYNAMIC:
        return whole(dynamic_form(rules, DYNAMIC_PARTS, *sizes.dynamic), FILES[name])
    base = Profile.load(folder / f"{FILES[BASE]}.profile")
    parts, seats, inside = _stitching(name, sizes)
    return static_views(rules, base, parts, seats, inside, iterations=setting.iterations, keep=folder / FILES[name])


def taught(name: str, number: int, *given: Any) -> dict[str, Any]:
    """Solve one expert of a strategy, or find it solved."""
    setting = Setting(*given)
    folder, sizes = Path(setting.folder), sizes_of(setting.game, setting.limit, setting.finest)
    base = Profile.load(folder / f"{FILES[BASE]}.profile")
    parts, seats, inside = _stitching(name, sizes)
    expert = view_experts(setting.game, base, parts, seats, inside)[number]
    began = time.perf_counter()
    found = solved(expert.form, "pcs", folder / FILES[name] / expert.file, iterations=setting.iterations, seed=number)
    if found is None:
        raise SolverError(f"another run is at work on {folder}: wait for it, or choose another folder")
    return {"name": name, "part": expert.name, "seats": list(expert.keeps), "infosets": expert.size,
            "seconds": time.perf_counter() - began}  # fmt: skip


def _stitching(name: str, sizes: Sizes) -> tuple[str, str, dict[str, str]]:
    """(parts, seats, buckets by part) of a static strategy."""
    return (EACH_PARTS, "each", sizes.each) if name == EACH else (ALL_PARTS, "all", sizes.all)


def matched(*given: Any) -> list[dict[str, Any]]:
    """All pairs of strategies: what the first wins, in milli-big-blinds a hand, with the 95% interval."""
    from kibitz.evaluate.match import match
    from kibitz.machine import machine_of
    from kibitz.play.agents import agent

    setting = Setting(*given)
    machine = machine_of(setting.game)
    unit = 1000.0 / max(poker_of(setting.game).definition.blinds)
    files = {name: str(Path(setting.folder) / f"{FILES[name]}.profile") for name in NAMES}
    found = []
    for number, (one, other) in enumerate(pairs()):  # each has deals of its own, so that they are independent
        began = time.perf_counter()
        played = match(machine, agent(files[one], machine), agent(files[other], machine), deals=setting.deals,
                       seed=number)  # fmt: skip
        found.append({"one": one, "other": other, "mean": played.mean * unit,
                      "error": (played.interval[1] - played.mean) * unit,
                      "seconds": time.perf_counter() - began})  # fmt: skip
    return found


def earned(one: str, other: str, device: str, *given: Any) -> dict[str, Any]:
    """What one strategy wins from another over all boards, the mean of both seats; milli-big-blinds a hand."""
    from kibitz.sweep.profiles import against

    setting = Setting(*given)
    rules = poker_of(setting.game)
    began = time.perf_counter()
    first, second = (Profile.load(Path(setting.folder) / f"{FILES[name]}.profile") for name in (one, other))
    seats = against(rules, first, second, device=device)
    return {"one": one, "other": other, "mean": 500.0 / max(rules.definition.blinds) * sum(seats), "device": device,
            "seconds": time.perf_counter() - began}  # fmt: skip


def gap_within(name: str, device: str, *given: Any) -> dict[str, Any]:
    """What best responses within its buckets win from a strategy of one view, the mean of both seats;
    milli-big-blinds a hand."""
    from kibitz.form.bucket.build import bucket_form

    setting = Setting(*given)
    rules = poker_of(setting.game)
    sizes = sizes_of(setting.game, setting.limit, setting.finest)
    buckets = hand_buckets(rules.definition, {BASE: sizes.base, FINEST: sizes.finest}[name])
    profile = Profile.load(Path(setting.folder) / f"{FILES[name]}.profile")
    measured = bucket_form(rules, buckets, device).measure(profile.probabilities)
    return {"name": name, "gap": 500.0 / max(rules.definition.blinds) * float(measured.nash_conv), "device": device}


def _sweep(name: str, device: str, setting: Setting) -> Any:
    from kibitz.sweep.profiles import seats_of
    from kibitz.sweep.walk import Sweep

    rules = poker_of(setting.game)
    profile = Profile.load(Path(setting.folder) / f"{FILES[name]}.profile")
    return Sweep(rules, seats_of(rules, profile), device=device)


def is_exploited(name: str, setting: Setting) -> bool:
    """Whether best responses to a strategy are in the cache, wherever they were found."""
    there = (Path(setting.folder) / f"{FILES[name]}.profile" / "manifest.json").exists()
    return there and _sweep(name, "cpu", setting).known() is not None


def exploited(name: str, device: str, *given: Any) -> dict[str, Any]:
    """Best responses to a strategy in the whole game, exactly; milli-big-blinds a hand."""
    setting = Setting(*given)
    unit = 1000.0 / max(poker_of(setting.game).definition.blinds)
    sweep = _sweep(name, device, setting)
    best = sweep.best()
    return {"name": name, "best": [float(x) * unit for x in best], "exploitability": float(best.mean()) * unit,
            "by": sweep.known() or sweep.device.label}  # fmt: skip


def pairs() -> list[tuple[str, str]]:
    return list(combinations(NAMES, 2))


def arguments(setting: Setting) -> tuple[Any, ...]:
    return tuple(asdict(setting).values())
