"""Automatic stitching in buckets, in Rhode Island hold'em: strategies built and measured for one seed and one size.

As planned in docs/plans/auto_stitching.md. A size is the memory of a single abstraction, in infosets. The base of that
size is solved from a random initialisation; partitions by hand and the search (`kibitz.stitch.auto`) start from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kibitz.games import game
from kibitz.papers.auto_stitching_runs import search_data
from kibitz.papers.runs import shared
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact.form import poker_form
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching.bucket_setting import BucketSetting
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto import Effort, ExactJudge, Limits, StitchSearch
from kibitz.stitch.auto.moves import STATIC, Move
from kibitz.stitch.nodes import BYTES

GAME, SMALL_GAME = "rhode_island", "rhode_island(ranks=4)"
SOLVER = "dcfr+"
BASES = ("percentile(3)", "percentile(4)", "percentile(6)")  # a size each
QUICK_BASES = ("percentile(2)",)
LADDER = ("percentile(3)", "percentile([4, 3, 3])", "percentile(4)", "percentile([5, 5, 4])", "percentile(5)",
          "percentile(6)", "percentile(7)", "percentile(8)", "percentile(10)", "percentile(13)",
          "percentile([13, 16, 16])")  # fmt: skip
QUICK_LADDER = ("percentile(2)", "percentile(3)", "percentile(4)")
FIRST_ACTION, RAISES, ROUNDS = "First action", "Raised or not", "First round"
BY_HAND = {  # parts by the first actions
    FIRST_ACTION: ("prefix(c)", "prefix(r)"),
    RAISES: ("prefix(r)", "prefix(cr)", "prefix(cc)"),
    ROUNDS: ("prefix(cc)", "prefix(crc)", "prefix(crrc)", "prefix(crrrc)", "prefix(rc)", "prefix(rrc)", "prefix(rrrc)"),
}
ITERATIONS = {"base": 400, "expert": 200, "pilot": 20}
QUICK_ITERATIONS = {"base": 30, "expert": 20, "pilot": 4}
AUTO, AUTO_BEFORE, VERSION = "automatic", "automatic, version 1", 2  # of the search: 1 did not grow its plans
BOTH_VERSIONS = ("percentile(6)",)  # where version 1 lost
LINES = 2  # rounds of a search
CUTS = 8
shared_form = shared(lambda name: poker_form(game(name)))


def memory_of(name: str, source: str) -> tuple[int, int]:
    """(infosets, bytes) of a computation in a list of buckets."""
    rules: Any = game(name)
    layout = ViewForm(rules, [hand_buckets(rules.definition, source)])
    return layout.points, BYTES * layout.columns


def single(name: str, source: str, iterations: int, seed: int) -> dict[str, Any]:
    """A single abstraction: its memory, and its exploitability from a random initialisation."""
    form = shared_form(name)
    infosets, memory = memory_of(name, source)
    base = solve_through(form, SOLVER, abstraction=source, iterations=iterations, start="random", seed=seed)
    return {"infosets": infosets, "bytes": memory, "exploitability": ExactJudge(form).loss(base.probabilities),
            "abstract_gap": float(base.meta["abstract_nash_conv"])}  # fmt: skip


def one_size(name: str, source: str, quick: bool, seed: int) -> dict[str, Any]:
    """All figures of one seed at one size, in chips."""
    form, iterations = shared_form(name), ITERATIONS
    ladder: tuple[str, ...] = LADDER
    rounds, cuts = LINES, CUTS
    if quick:
        iterations, ladder, rounds, cuts = QUICK_ITERATIONS, QUICK_LADDER, 1, 3
    base = solve_through(form, SOLVER, abstraction=source, iterations=iterations["base"], start="random", seed=seed)
    setting, judge = BucketSetting(form, source, SOLVER), ExactJudge(form)
    limits = Limits(infosets=setting.base_rows, rounds=rounds)
    exploitability = {"single": judge.loss(base.probabilities)}
    experts = {}
    for title, parts in BY_HAND.items():
        moves = [hand_made(setting, part, ladder, limits) for part in parts]
        kept = [move for move in moves if move is not None]  # a part that no finer list fits stays as it is
        answers = [(move, setting.solve(move, base.probabilities, [iterations["expert"]], seed).answers[0])
                   for move in kept]  # fmt: skip
        exploitability[title] = judge.loss(setting.join(base.probabilities, answers))
        experts[title] = [move.name for move in kept]
    effort = Effort(insides=ladder, seats=("all",), solver=SOLVER, iterations=iterations["expert"],
                    pilot=iterations["pilot"], cuts=cuts)  # fmt: skip
    auto = StitchSearch(setting, limits, effort, judge, seed).run(base.probabilities)
    assert auto.loss is not None
    exploitability[AUTO] = auto.loss[1]
    if source in BOTH_VERSIONS:
        before = StitchSearch(setting, limits, replace(effort, grow=False), judge, seed).run(base.probabilities)
        assert before.loss is not None
        exploitability[AUTO_BEFORE] = before.loss[1]
    infosets, memory = memory_of(name, source)
    return {"infosets": infosets, "bytes": memory, "exploitability": exploitability, "experts": experts,
            "search": search_data(auto), "version": VERSION}  # fmt: skip


def hand_made(setting: BucketSetting, part: str, ladder: tuple[str, ...], limits: Limits) -> Move | None:
    """The expert of a part that was chosen by hand: S=N, in the finest list that is finer than the base and fits."""
    cut = next(each for each in setting.prefixes if each.name == part)
    own = setting.size(Move(STATIC, (cut,), "all", (setting.base,))).infosets
    moves = [Move(STATIC, (cut,), "all", (inside,)) for inside in ladder]
    sized = [(setting.size(move), move) for move in moves]
    fitting = [(size.infosets, move) for size, move in sized if limits.allow(size) and size.infosets > own]
    return max(fitting, key=lambda each: each[0])[1] if fitting else None
