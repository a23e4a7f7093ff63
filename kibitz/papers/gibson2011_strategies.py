"""The strategies of [Gibson & Szafron 2011, Sec. 6] for two-player limit Texas hold'em: sizes, and how each is solved.

Each computation has as many percentile buckets as a limit on its infosets allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kibitz.forms.profile import Profile
from kibitz.papers.holdem import HoldemSetting, kept, solved_expert, solved_within
from kibitz.poker.buckets.percentile import decisions_of, finest, infosets_of, percentile_spec
from kibitz.poker.stitching.experts import betting_parts, poker_of
from kibitz.stitch import dynamic, experts, static

BASE, DYNAMIC, EACH, ALL, FINEST = "Base", "Dynamic", "Static.S={i}", "Static.S=N", "Finest"
NAMES = (BASE, DYNAMIC, EACH, ALL, FINEST)
FILES = {BASE: "base", DYNAMIC: "dynamic", EACH: "each", ALL: "all", FINEST: "finest"}
EXPERTS = {EACH: 8, ALL: 2}  # computations: a part for each seat, or for both
EACH_PARTS, ALL_PARTS, DYNAMIC_PARTS = "prefix(r, cr, ccr, cccr)", "prefix(r, cr)", "prefix(r)"


@dataclass(frozen=True)
class ExpertBuckets:
    """Which buckets each computation has."""

    base: str
    finest: str
    dynamic: tuple[str, str]  # outside, in the part
    each: dict[str, str]  # by part
    all: dict[str, str]
    infosets: dict[str, int]  # by strategy, of its largest computation, as counted before buckets are made


@lru_cache(8)
def sizes_of(game: str, limit: int, largest: int) -> ExpertBuckets:
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

    each, counted[EACH] = sizes_of_each(game, EACH_PARTS, limit)

    parts_of_all = betting_parts(poker_of(game), ALL_PARTS)
    mine = {name: decisions_of(betting, parts_of_all.part == j) for j, name in enumerate(parts_of_all.names) if j}
    budgets_of_all = {name: finest(decisions, limit) for name, decisions in mine.items()}
    counted[ALL] = max(infosets_of(mine[name], budgets) for name, budgets in budgets_of_all.items())
    every_part = {name: percentile_spec(budgets) for name, budgets in budgets_of_all.items()}
    return ExpertBuckets(percentile_spec(base), percentile_spec(top), (percentile_spec(coarse), percentile_spec(fine)),
                         each, every_part, counted)  # fmt: skip


@lru_cache(8)
def sizes_of_each(game: str, parts: str, limit: int) -> tuple[dict[str, str], int]:
    """The most buckets of experts for S={i}, by part, and the infosets of the largest. The other player's decisions
    outside of the part are free too, in the buckets of the base."""
    betting, of = poker_of(game).betting, betting_parts(poker_of(game), parts)
    base, each, most = finest(decisions_of(betting), limit), {}, 0
    for j, name in enumerate(of.names[1:], 1):
        here = of.part == j
        free = max(infosets_of(decisions_of(betting, ~here & (betting.turn == seat)), base) for seat in (0, 1))
        budgets = finest(decisions_of(betting, here), limit - free)
        each[name] = percentile_spec(budgets)
        most = max(most, free + infosets_of(decisions_of(betting, here), budgets))
    return each, most


def strategy(name: str, *setting_fields: Any) -> dict[str, Any]:
    """Make a strategy, or find it made."""
    setting = HoldemSetting(*setting_fields)
    return kept(name, FILES[name], setting, lambda: _strategy(name, setting))


def _strategy(name: str, setting: HoldemSetting) -> Profile:
    sizes, how = sizes_of(setting.game, *setting.limits), {"solver": "pcs", "iterations": setting.iterations}
    if name in (BASE, FINEST):
        return solved_within(sizes.base if name == BASE else sizes.finest, FILES[name], setting)
    if name == DYNAMIC:
        return dynamic(setting.game, DYNAMIC_PARTS, sizes.dynamic, keep=setting.folder, **how)
    parts, seats, inside = _stitching(name, sizes)
    folder = Path(setting.folder) / FILES[name]
    profile: Profile = static(setting.game, setting.profile(FILES[BASE]), parts, seats, inside, keep=folder, **how)
    return profile


def expert(name: str, number: int, *setting_fields: Any) -> dict[str, Any]:
    """Solve one expert of a strategy, or find it solved."""
    setting = HoldemSetting(*setting_fields)
    parts, seats, inside = _stitching(name, sizes_of(setting.game, *setting.limits))
    expert = experts(setting.game, setting.profile(FILES[BASE]), parts, seats, inside, solver="pcs")[number]
    return solved_expert(name, FILES[name], expert, number, setting)


def _stitching(name: str, sizes: ExpertBuckets) -> tuple[str, str, dict[str, str]]:
    """(parts, seats, buckets by part) of a static strategy."""
    return (EACH_PARTS, "each", sizes.each) if name == EACH else (ALL_PARTS, "all", sizes.all)
