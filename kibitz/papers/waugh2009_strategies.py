"""The strategies of [Waugh, Bard & Bowling 2009, Sec. 4.2] for limit Texas hold'em: sizes, and how each is solved.

They have the paper's names for the parts that they play in its table. Those of the form 20x8 have imperfect-recall
buckets, so many in each round; the others have perfect recall. A graft is for one part of the game and one seat: that
seat sees the part through finer buckets and does elsewhere what the base does, and its opponent plays the whole game
within the base's buckets.
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
from kibitz.stitch import experts, static

GRAFTED, BASE, SMALLER, LARGEST, FOURTEEN, TWELVE = "20x8 grafted", "20x8", "20x7", "20x32", "14", "12"
NAMES = (GRAFTED, BASE, SMALLER, LARGEST, FOURTEEN, TWELVE)
FILES = {name: name.replace(" ", "-") for name in NAMES}
PARTS, GRAFTS = "prefix(r, cr, ccr, cccr)", 8  # a part for each seat
RATIO = 2.53  # of the largest strategy to the base, by their infosets


@dataclass(frozen=True)
class GraftBuckets:
    """Which buckets each computation has."""

    single: dict[str, str]  # by strategy
    grafts: dict[str, str]  # by part
    infosets: dict[str, int]  # by strategy, of its largest computation, as counted before buckets are made


@lru_cache(8)
def sizes_of(game: str, base: int, largest: int, fourteen: int, twelve: int) -> GraftBuckets:
    """The most buckets that limits on infosets allow, spread over the rounds as evenly as it goes. The limits: of the
    base, of the largest strategy and of each graft, and of the two with perfect recall."""
    betting = poker_of(game).betting
    every = decisions_of(betting)
    limits = {BASE: (base, False), SMALLER: (base * 7 // 8, False), LARGEST: (largest, False),
              FOURTEEN: (fourteen, True), TWELVE: (twelve, True)}  # fmt: skip
    budgets = {name: finest(every, limit, recall) for name, (limit, recall) in limits.items()}
    counted = {name: infosets_of(every, budgets[name], recall) for name, (_, recall) in limits.items()}
    single = {name: percentile_spec(budgets[name], recall) for name, (_, recall) in limits.items()}

    grafts, counted[GRAFTED] = {}, 0
    parts, seats = betting_parts(poker_of(game), PARTS), [betting.turn == seat for seat in (0, 1)]
    opponent = max(infosets_of(decisions_of(betting, seat), budgets[BASE], recall=False) for seat in seats)
    for j, name in enumerate(parts.names[1:], 1):
        of_seats = [decisions_of(betting, (parts.part == j) & seat) for seat in seats]
        mine = [max(counts) for counts in zip(*of_seats, strict=True)]
        fine = finest(mine, largest - opponent, recall=False)
        grafts[name] = percentile_spec(fine, recall=False)
        counted[GRAFTED] = max(counted[GRAFTED], opponent + infosets_of(mine, fine, recall=False))
    return GraftBuckets(single, grafts, counted)


def strategy(name: str, *setting_fields: Any) -> dict[str, Any]:
    """Make a strategy, or find it made."""
    setting = HoldemSetting(*setting_fields)
    return kept(name, FILES[name], setting, lambda: _strategy(name, setting))


def _strategy(name: str, setting: HoldemSetting) -> Profile:
    sizes = sizes_of(setting.game, *setting.limits)
    if name != GRAFTED:
        return solved_within(sizes.single[name], FILES[name], setting)
    profile: Profile = static(setting.game, setting.profile(FILES[BASE]), PARTS, "each", sizes.grafts, opponents="base",
                              solver="pcs", iterations=setting.iterations,
                              keep=Path(setting.folder) / FILES[name])  # fmt: skip
    return profile


def graft(number: int, *setting_fields: Any) -> dict[str, Any]:
    """Solve one graft, or find it solved."""
    setting = HoldemSetting(*setting_fields)
    sizes = sizes_of(setting.game, *setting.limits)
    grafts = experts(setting.game, setting.profile(FILES[BASE]), PARTS, "each", sizes.grafts, opponents="base",
                     solver="pcs")  # fmt: skip
    return solved_expert(GRAFTED, FILES[GRAFTED], grafts[number], number, setting)
