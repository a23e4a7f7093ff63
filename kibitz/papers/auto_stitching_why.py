"""Why automatic stitching loses to parts by hand in Rhode Island hold'em: one setting of the search changed at a time.

As planned in docs/plans/auto_stitching.md. Version 1 of the search carried out the plan of the integer programme;
version 2 grows it (`kibitz.stitch.auto.plan.grown`). Changes are made to version 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.papers import auto_stitching_rhode as rhode
from kibitz.papers.auto_stitching_runs import search_data
from kibitz.papers.runs import shared
from kibitz.poker.stitching.bucket_setting import BucketSetting
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto import Auto, Effort, ExactJudge, Limits, Pilot, Plan, Round, StitchSearch
from kibitz.stitch.auto.moves import Move
from kibitz.stitch.auto.plan import pilots_of

SIZE = "percentile(6)"  # where the search loses
AGAINST = rhode.ROUNDS
WAS, ROUNDS, PAIRS, GROWTH, CHOICE = "as it was", "rounds", "pairs", "growth", "choice"
CHANGES = (GROWTH, CHOICE, ROUNDS, PAIRS)
ABOUT = {
    WAS: "version 1 of the search", ROUNDS: "at most 5 rounds instead of 2",
    PAIRS: "all pilots in the programme instead of 6",
    GROWTH: "the plan is grown (version 2)", CHOICE: "the experts by hand are the first plan",
}  # fmt: skip
SEEDS = 3
MORE_ROUNDS, EVERY_PAIR = 5, 1000
shared_judge = shared(lambda name: ExactJudge(rhode.shared_form(name)))


def solved_base(name: str, source: str, iterations: int, seed: int) -> NDArray[np.float64]:
    base = solve_through(rhode.shared_form(name), rhode.SOLVER, abstraction=source, iterations=iterations,
                         start="random", seed=seed)  # fmt: skip
    return base.probabilities


shared_base = shared(solved_base)


def one_change(name: str, source: str, quick: bool, seed: int, change: str) -> dict[str, Any]:
    """A search with one change, against the experts by hand of the same seed; in chips."""
    iterations, cuts = rhode.ITERATIONS, rhode.CUTS
    ladder: tuple[str, ...] = rhode.LADDER
    if quick:
        iterations, ladder, cuts = rhode.QUICK_ITERATIONS, rhode.QUICK_LADDER, 3
    base, judge = shared_base(name, source, iterations["base"], seed), shared_judge(name)
    setting = BucketSetting(rhode.shared_form(name), source, rhode.SOLVER)
    effort = Effort(insides=ladder, seats=("all",), solver=rhode.SOLVER, iterations=iterations["expert"],
                    pilot=iterations["pilot"], cuts=cuts, grow=change == GROWTH)  # fmt: skip
    limits = Limits(infosets=setting.base_rows, rounds=MORE_ROUNDS if change == ROUNDS else rhode.LINES)
    if change == PAIRS:
        effort = replace(effort, paired=EVERY_PAIR)
    search = StitchSearch(setting, limits, effort, judge, seed)
    moves = [rhode.hand_made(setting, part, ladder, limits) for part in rhode.BY_HAND[AGAINST]]
    kept = [move for move in moves if move is not None]
    runs = search.solve(kept, base, [effort.iterations])
    by_hand = judge.loss(setting.join(base, [(move, run.answers[0]) for move, run in zip(kept, runs, strict=True)]))
    first = plan_by_hand(search, kept, base) if change == CHOICE else None
    auto = run_until(search, base, by_hand if change == ROUNDS else None, first)
    assert auto.loss is not None
    return {
        "by_hand": by_hand, "base": auto.loss[0], "automatic": auto.loss[1],
        "losses": [each.loss for each in auto.rounds], "experts": [move.name for move in kept],
        "in_plans": [[pilot.move.name for pilot in each.plan.moves] for each in auto.rounds],
        "best_pilots": [best_pilots(each.plan.pilots) for each in auto.rounds], "search": search_data(auto),
    }  # fmt: skip


class _Below(Exception):
    """A search need not go on."""


def run_until(search: StitchSearch, base: NDArray[np.float64], below: float | None, first: Plan | None) -> Auto:
    """A search that ends early once it loses less than `below`: a round keeps only what helps, so more of them would
    not change on which side of it the search ends."""
    rounds: list[Round] = []
    began = time.perf_counter()

    def seen(each: Round) -> None:
        rounds.append(each)
        if below is not None and each.loss is not None and each.loss < below:
            raise _Below

    try:
        return search.run(base, seen, first)
    except _Below:
        last = rounds[-1].loss
        assert last is not None
        loss = float(search.judge.loss(base) or 0.0), last
        infosets = max(search.setting.base_rows, *(each.plan.infosets for each in rounds))
        return Auto(None, tuple(rounds), loss, infosets, time.perf_counter() - began, {"lines": ["base"]})


def plan_by_hand(search: StitchSearch, moves: Sequence[Move], base: NDArray[np.float64]) -> Plan:
    """Experts that were chosen by hand as a plan of a search, with pilots as of its own."""
    setting, judge = search.setting, search.judge
    sized = [(move, setting.size(move)) for move in moves]
    pilots = pilots_of(setting, judge, sized, base, search.effort, search.solve)
    together = judge.gain(setting.join(base, [(pilot.move, pilot.answer) for pilot in pilots]), base)
    summed = sum(pilot.gain for pilot in pilots)
    return Plan((), tuple(pilots), tuple(range(len(pilots))), together, summed, judge.unit)


def best_pilots(pilots: Sequence[Pilot]) -> list[tuple[str, float]]:
    """(name, gain) of the pilots, from the one that gains most: the first six are in the programme of version 1."""
    return [(each.move.name, each.gain) for each in sorted(pilots, key=lambda pilot: -pilot.gain)]
