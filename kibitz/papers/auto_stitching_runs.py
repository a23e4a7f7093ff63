"""Automatic stitching against the partitions of the papers, in Leduc: strategies built and measured from one seed.

As planned in docs/plans/auto_stitching.md. Hand-made strategies are those of `gibson2011_runs` and `waugh2009`; the
search (`kibitz.stitch.auto`) starts from the same base and gets the size of a hand-made strategy as its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from kibitz.evaluate import exploitability
from kibitz.evaluate.crosstable import Seatings
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.papers import gibson2011_runs as leduc
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.gibson2011_runs import ALL, BASE, BASES, DYNAMIC, EACH, HYBRID, PREFLOP, LeducLayout
from kibitz.papers.runs import shared
from kibitz.papers.stitching import Builder
from kibitz.stitch.auto import Auto, Effort, Limits, Setting, StitchSearch
from kibitz.stitch.experts import experts

FIRST_SEED = 1000  # searches on lower ones were seen while the search was written
OF_BASE = {2: "JQ-K", 3: "J-QK"}
GRAFTS = {"Preflop grafts": "private(J, Q, K)", "Flop grafts": "private(J, Q, K, round=2)"}
HAND = {2: (DYNAMIC, EACH, ALL, PREFLOP, *GRAFTS), 3: (DYNAMIC, EACH, ALL, PREFLOP, HYBRID)}
RIVALS = {2: (BASE, DYNAMIC, EACH, ALL, PREFLOP), 3: (BASE, DYNAMIC, ALL)}  # of each of the other bases
EFFORT = {
    2: Effort(insides=("J.Q.K", "null"), seats=("all", "each"), iterations=1000, pilot=25, cuts=10),
    3: Effort(insides=("null",), seats=("all", "each", "pairs"), iterations=400, pilot=25, cuts=5),
}
ROUNDS = {2: 4, 3: 2}
plain_layout = shared(leduc.layout)  # what all seeds of a process share


def sizes(players: int) -> dict[str, int]:
    """The memory of the base and of each hand-made strategy: infosets of its largest computation."""
    game, base = plain_layout(players), OF_BASE[players]
    counted = {name: size for name, size in game.sizes(base).items() if name in (BASE, *HAND[players])}
    uniform = Profile(game.tree.infosets, form_of(game.tree).uniform(), {"tree": game.tree.digest})
    coarse = game.bases[base]
    for name in (each for each in GRAFTS if each in HAND[players]):
        built = experts(game.tree, uniform, GRAFTS[name], "each", game.expert, coarse, coarse)
        counted[name] = max(coarse.rows, *(expert.size for expert in built))
    return counted


def rows_of(game: LeducLayout, base_name: str, maker: Builder, names: tuple[str, ...]) -> dict[str, Profile]:
    """Strategies of one base abstraction from one seed."""
    from kibitz.stitch.partition import partition

    coarse, fine, parts = game.bases[base_name], game.expert, game.everywhere
    rows = {BASE: maker.solve(game.game(base_name))}
    base = rows[BASE]
    if DYNAMIC in names:
        rows[DYNAMIC] = maker.solve(game.game(base_name, parts))
    if EACH in names:
        rows[EACH] = maker.static(base, parts, "each", fine, coarse)
    if ALL in names:
        rows[ALL] = maker.static(base, parts, "all", fine, coarse)
    if PREFLOP in names:
        rows[PREFLOP] = leduc.before_flop(base, rows[ALL], parts)
    if HYBRID in names:
        rows[HYBRID] = maker.static(base, parts, leduc.SEAT_PAIRS, fine, coarse)
    for name in (each for each in GRAFTS if each in names):
        grafts = partition(game.tree, GRAFTS[name])
        rows[name] = maker.static(base, grafts, "each", fine, coarse, opponents=coarse)
    return rows


def searched(players: int, base: Profile, limit: int, seed: int, effort: Effort, rounds: int) -> Auto:
    """A search with so much memory, from a base."""
    game = plain_layout(players)
    setting = Setting(game.tree, BASES[OF_BASE[players]])
    search = StitchSearch(setting, Limits(infosets=limit, rounds=rounds), effort, seed=seed)
    return search.run(base.probabilities)


def one_seed(players: int, until: float, iterations: int, quick: bool, seed: int) -> dict[str, Any]:
    """All figures of one seed, in chips: hand-made strategies, and a search for each of their sizes."""
    game, base_name = plain_layout(players), OF_BASE[players]
    memory = sizes(players)
    maker = Builder(game.tree, PaperPlan(until=until, iterations=iterations), seed)
    built = rows_of(game, base_name, maker, HAND[players])
    rivals = {base: rows_of(game, base, maker, RIVALS[players]) for base in BASES if base != base_name}
    effort, rounds = EFFORT[players], ROUNDS[players]
    if quick:
        effort, rounds = Effort(("null",), ("all",), iterations=30, pilot=5, cuts=3), 1
    searches = {
        limit: searched(players, built[BASE], limit, seed, effort, rounds)
        for limit in sorted({memory[name] for name in HAND[players]})
    }
    strategies = {**built, **{f"auto {limit}": auto.profile for limit, auto in searches.items()}}
    return {
        "exploitability": {name: exploitability(game.tree, profile) for name, profile in strategies.items()},
        "earnings": earnings(game, strategies, rivals),
        "searches": {f"{limit}": search_data(auto) for limit, auto in searches.items()},
        "gap": maker.gap, "games": maker.games,
    }  # fmt: skip


def earnings(
    game: LeducLayout, strategies: Mapping[str, Profile], rivals: Mapping[str, Mapping[str, Profile]]
) -> dict[str, float]:
    """What each strategy gets on average from rivals of the other bases: for two players from each of all of them, for
    three from each pair of one base and the other, in all orders."""
    others = [list(rows.values()) for rows in rivals.values()]
    flat = [profile for rows in others for profile in rows]
    plays = Seatings(form_of(game.tree), [*strategies.values(), *flat])
    first, groups = len(strategies), []
    for rows in others:
        groups.append(list(range(first, first + len(rows))))
        first += len(rows)
    against: list[tuple[int, ...]] = [(k,) for group in groups for k in group]
    if game.tree.players > 2:
        against = list(product(*groups))
    return {
        name: float(np.mean([plays.earns(k, group) for group in against])) for k, name in enumerate(strategies)
    }  # fmt: skip


def search_data(auto: Auto) -> dict[str, Any]:
    """What the page says of a search."""
    assert auto.loss is not None
    return {
        "infosets": auto.infosets, "seconds": auto.seconds, "lines": auto.facts["lines"],
        "rounds": [
            {"line": r.line, "predicted": r.plan.predicted, "summed": r.plan.summed, "achieved": r.achieved,
             "kept": list(r.kept), "taken_back": list(r.taken_back), "pilots": len(r.plan.pilots),
             "moves": [[name, predicted, achieved] for name, predicted, achieved in r.one_by_one]}
            for r in auto.rounds
        ],
    }  # fmt: skip
