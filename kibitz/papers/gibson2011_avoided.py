"""Parts that a base avoids, in Leduc hold'em, where all figures are exact: a measurement for section 5 of
docs/plans/large_tables.md.

A base is solved in coarse buckets; then its probability of entering one part is multiplied by a share, from 1 down to a
millionth. Experts with S=N are solved on this base, to a gap counted over all hands, or per hand that enters their
part. What they change is the exploitability of the stitched strategy less that of the base that they stand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from kibitz.forms.profile import Profile
from kibitz.papers.claims import OURS, START, Claim, Comparison
from kibitz.papers.course_results import pairs_text
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.layout import viewed
from kibitz.poker.stitching.experts import betting_parts, poker_of
from kibitz.poker.stitching.part_form import PartForm
from kibitz.poker.whole.profiles import exploited
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread
from kibitz.solvers import Task, make
from kibitz.solvers.progress import RunState
from kibitz.solvers.run import Stops, first_strategy, iterate
from kibitz.stitch.columns import target_of
from kibitz.stitch.targets import Solving, Stitching

AVOIDED = "avoided parts of Leduc"  # the name of the run
GAME, PARTS, AVOIDS = "poker(file=leduc)", "prefix(r, cr)", 1  # the part r
COARSE, FINE = "percentile(2)", "percentile(6)"
SHARES = (1.0, 1e-1, 1e-2, 1e-3, 1e-6)
SEEDS = tuple(range(8))
BASE_GAP, GAP, MOST = 1e-3, 1e-3, 2_000  # chips a hand: of the base, and of experts, with at most so many iterations
MILLI = 1000.0  # figures to a chip, which is the ante


def solved(form: Any, until: float, seed: int, most: int = MOST) -> tuple[Any, int]:
    """(probabilities, iterations) of dcfr+ from a random strategy, to a gap."""
    solver = make("dcfr+", Task(None, form, None, first_strategy(form, "random", seed), seed, 1))
    iterate(solver, form, RunState(message=lambda text: None), Stops(most, until))
    return solver.probabilities(), solver.iteration


@lru_cache(2)
def plain_base(seed: int) -> Any:
    """Probabilities of a base in coarse buckets."""
    rules = poker_of(GAME)
    return solved(bucket_form(rules, hand_buckets(rules.definition, COARSE)), BASE_GAP, seed)[0]


def base_that_avoids(rules: Poker, share: float, seed: int) -> Profile:
    """A base whose probability of entering a part is multiplied by a share."""
    form = bucket_form(rules, hand_buckets(rules.definition, COARSE))
    probabilities = plain_base(seed).copy()
    layout, part, above = viewed(form), betting_parts(rules, PARTS).part, rules.betting.parent
    assert layout is not None
    for node in np.flatnonzero((part == AVOIDS) & (rules.betting.turn >= 0)).tolist():
        before = int(above[node])
        if part[before] != AVOIDS:
            rows = layout.at(probabilities, before)
            rows[:, int(rules.betting.action[node])] *= share
            rows /= rows.sum(axis=1, keepdims=True)
    return Profile(form.infosets, probabilities, {"game": rules.spec, "tree": form.tree_digest,
                                                  "abstraction": form.abstraction})  # fmt: skip


def avoided(seed: int, share: float, conditional: bool) -> dict[str, Any]:
    """Exploitability of the base and of what experts make of it, thousandths of an ante a hand."""
    rules = poker_of(GAME)
    base = base_that_avoids(rules, share, seed)
    target = target_of(rules, base, Stitching("static", PARTS, "all", FINE), Solving("pcs", iterations=1))
    answers, iterations, entered = [], [], []
    experts = target.experts()
    for number, expert in enumerate(experts):
        form = PartForm(expert.game, conditional=conditional)
        probabilities, done = solved(form, GAP, seed * len(experts) + number)
        answers.append(Profile(form.infosets, probabilities, {"game": form.spec, "tree": form.tree_digest}))
        iterations.append(done)
        entered.append(PartForm(expert.game, conditional=True).entered)
    before, after = (float(np.mean(exploited(rules, each))) * MILLI for each in (base, target.join(experts, answers)))
    return {"seed": seed, "share": share, "conditional": conditional, "base": before, "stitched": after,
            "iterations": iterations, "entered": entered}  # fmt: skip


def stages() -> Iterator[Stage]:
    pieces = [(seed, share, conditional) for seed in SEEDS for share in SHARES for conditional in (False, True)]
    yield Stage("why-leduc", "Leduc: experts of a part that the base avoids", (Run(AVOIDED, avoided, pieces),),
                lambda run, piece: 5.0)  # fmt: skip


def claims(answers: Sequence[dict[str, Any]]) -> Iterator[Claim]:
    """What the plan expected if avoidance is a cause."""
    change = {(each["seed"], each["share"], each["conditional"]): each["stitched"] - each["base"] for each in answers}
    least = min((share for _, share, _ in change), default=1.0)
    seeds = [seed for seed in sorted({seed for seed, *_ in change})
             if {(seed, 1.0, True), (seed, least, True), (seed, least, False)} <= change.keys()]  # fmt: skip
    if seeds and least < 1.0:
        pairs = [(change[seed, least, True], change[seed, 1.0, True]) for seed in seeds]
        yield _compared("Leduc: experts that are solved raise exploitability more if the base avoids their part", pairs)
        pairs = [(change[seed, least, False], change[seed, least, True]) for seed in seeds]
        yield _compared("Leduc: in such a part, experts raise it less if they are solved per hand that enters", pairs)


def _compared(text: str, pairs: Sequence[tuple[float, float]]) -> Claim:
    return Claim(text, OURS, [Comparison(one, ">", other) for one, other in pairs], unit=START,
                 detail=f"{pairs_text(pairs, digits=1)}, thousandths of an ante")  # fmt: skip


def picture(answers: Sequence[dict[str, Any]]) -> Curves:
    """What experts change, against how often the base enters their part."""
    lines = []
    for conditional, name in ((False, "training ends by the gap over all hands"),
                              (True, "training ends by the gap per hand that enters")):  # fmt: skip
        shares = sorted({each["share"] for each in answers if each["conditional"] == conditional})
        spreads = [_changes(answers, share, conditional) for share in shares]
        at = tuple(_entered(answers, share) for share in shares)
        lines.append(Line(name, at, tuple(s.mean for s in spreads), tuple(s.sd for s in spreads)))
    seeds = len({each["seed"] for each in answers})
    return Curves("leduc", "Leduc hold'em: what experts change, by how often the base enters their part",
                  "change of exploitability, milli-antes", (FigurePanel("", tuple(lines)),), falling=True,
                  across="share of hands that enter the part r",
                  note=f"Exact. Means of {seeds} random initialisations, and one standard deviation to either "
                  "side.")  # fmt: skip


def _entered(answers: Sequence[dict[str, Any]], share: float) -> float:
    """The share of hands that enter the part, in the mean."""
    return Spread(tuple(each["entered"][0] for each in answers if each["share"] == share)).mean


def _changes(answers: Sequence[dict[str, Any]], share: float, conditional: bool) -> Spread:
    some = [each for each in answers if (each["share"], each["conditional"]) == (share, conditional)]
    return Spread(tuple(each["stitched"] - each["base"] for each in some))


def sheet(answers: Sequence[dict[str, Any]]) -> Sheet:
    """What experts change, by how seldom the base enters their part."""
    rows: list[tuple[str, ...]] = []
    for share in sorted({each["share"] for each in answers}, reverse=True):
        here = [each for each in answers if each["share"] == share]
        cells = [f"{_entered(answers, share):.2g}"]
        for conditional in (False, True):
            some = [each for each in here if each["conditional"] == conditional]
            if not some:
                cells += ["", ""]
                continue
            iterations = Spread(tuple(each["iterations"][0] for each in some)).mean
            cells += [_changes(answers, share, conditional).text(), f"{iterations:.0f}"]
        rows.append((f"{share:g}", *cells))
    seeds = len({each["seed"] for each in answers})
    return Sheet(
        "Leduc hold'em: experts of a part that the base avoids",
        ("factor", "hands that enter", "change, if training ends by the gap over all hands",
         "iterations of the r-expert",
         "change, if it ends by the gap per hand that enters", "iterations of the r-expert"), rows,
        "The base is changed: where an action leads into the part r, its probability is multiplied by the factor, and "
        "the probabilities of each bucket are scaled to 1 again. Experts of r and of cr stand on the base that was "
        "changed. Change: the exploitability of the stitched strategy less that of this base, mean "
        f"± sd over {seeds} random initialisations, exact, thousandths of an ante per hand. The base has the buckets "
        f"{COARSE}, experts have {FINE}. All are solved by dcfr+, experts to a gap of {GAP * MILLI:g}.",
    )  # fmt: skip
