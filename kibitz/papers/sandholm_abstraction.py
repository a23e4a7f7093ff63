"""Expectation-based against potential-aware buckets on Rhode Island hold'em: what they win from each other, exactly.

EB clusters hands by their probability to win, EB² by its square, PA by what hands turn into. Each abstract game is
solved from random starts; the profiles then play each other in the whole game, and exact best responses there say how
far each can be exploited, which the slides do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate.crosstable import crosstable
from kibitz.games import game
from kibitz.papers.claims import FACT, HOLDS, OURS, RUN, Claim, Comparison, compare, counts
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.papers.sandholm_rhode_island import SLIDES, SMALL_BET
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.gameshrink import shrink
from kibitz.poker.buckets.names import shrunk_buckets
from kibitz.poker.buckets.signals import Cards
from kibitz.poker.exact.form import poker_form
from kibitz.report.figures import Curves, FigurePanel, Line, Picture, Sheet, Spread
from kibitz.solvers.run import solve_through

GAME, SOLVER = "rhode_island", "dcfr+"
EB, EB2, PA = "EB", "EB²", "PA"
METHODS = {
    EB: "expectation({budgets}, metric=ehs)", EB2: "expectation({budgets}, metric=ehs2)",
    PA: "potential({budgets}, seed={seed})",
}
# Buckets by round, from coarse to fine.
GRANULARITIES = ((13, 25, 125), (13, 50, 250), (13, 75, 500), (13, 100, 750), (13, 205, 1774))
PAIRS = ((EB, EB2), (EB, PA), (EB2, PA))
# What the slides' table says of these pairs, from coarse to fine; it does not say in which unit.
PAYOFFS = ((0.1490, 16.6223, 17.0938), (-0.1272, -1.0627, -0.5200), (0.2340, -6.9880, -7.1448),
           (0.1813, -5.5707, -5.6879), (0.0000, -0.0877, -0.0877))  # fmt: skip
STARTS, QUICK_STARTS = 8, 2
UNTIL, QUICK_UNTIL = 0.01, 0.2  # chips: NashConv of every abstract game
ITERATIONS = 5_000  # at most
BEYOND = {
    "win-count": "GameShrink, win-count", "short": "one bucket short of lossless, in the last round alone",
    "lossless": "as many buckets as there are lossless classes",
}
WINS = " wins from "
MILLIBETS = 1000.0 / SMALL_BET  # in a chip
LOSSLESS = 1.01  # nothing is lost if NashConv in the whole game is at most so many times that in the abstract game

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BucketSolution:
    """A solution of the abstract game of some buckets, and its NashConv in the whole game. Chips."""

    method: str
    buckets: Sequence[int]
    build: float  # seconds
    iterations: int
    inside: float  # NashConv in the abstract game
    outside: float  # NashConv in the whole game
    value: float  # of the abstract game, for the first seat

    @property
    def exploitability(self) -> float:
        return self.outside / 2

    @property
    def lossless(self) -> bool:
        return self.loses("<=").true is True

    def loses(self, relation: str) -> Comparison:
        """Its NashConv in the whole game, and the NashConv up to which nothing is lost."""
        return Comparison(self.outside, relation, LOSSLESS * self.inside + 1e-6)


@dataclass(frozen=True)
class BucketStart:
    """One random initialisation of one granularity: all methods, and what rows win from columns."""

    solved: dict[str, BucketSolution]
    payoffs: dict[str, dict[str, float]]


def named(method: str, budgets: Sequence[int], seed: int) -> str:
    return METHODS[method].format(budgets=list(budgets), seed=seed)


def _solved(
    form: Any, method: str, source: str, seed: int, until: float, threads: int | None
) -> tuple[Any, BucketSolution]:
    buckets = hand_buckets(form.definition, source)
    stops: dict[str, Any] = {"until": until, "iterations": ITERATIONS}
    profile = solve_through(form, SOLVER, abstraction=source, start="random", seed=seed, threads=threads, **stops)
    meta = profile.meta
    outside = form.measure(profile.probabilities).nash_conv
    return profile, BucketSolution(method, buckets.counts, float(buckets.meta.get("seconds", 0.0)), meta["iterations"],
                                   meta["abstract_nash_conv"], float(outside),
                                   float(meta["abstract_value"][0]))  # fmt: skip


def one_start(name: str, budgets: Sequence[int], seed: int, until: float) -> BucketStart:
    """Solve the game within the buckets of each method, and let the solutions play each other in the whole game."""
    form = poker_form(game(name))
    pairs = {method: _solved(form, method, named(method, budgets, seed), seed, until, 1) for method in METHODS}
    table = crosstable(form, {method: profile for method, (profile, _) in pairs.items()})
    payoffs = {row: dict(zip(table.names, table.matrix[k].tolist(), strict=True)) for k, row in enumerate(table.names)}
    return BucketStart({method: solved for method, (_, solved) in pairs.items()}, payoffs)


def beyond(name: str, kind: str, seed: int, until: float) -> BucketSolution:
    """The same for classes that the methods are compared with."""
    form = poker_form(game(name))
    *before, last = _lossless(form)
    source = named(PA, [*before, last - (kind == "short")], seed)
    if kind == "win-count":
        source = "gameshrink(reading=win-count)"
    return _solved(form, kind, source, seed, until, None)[1]


# What methods can tell apart at best


@dataclass(frozen=True)
class Ceiling:
    """The finest buckets of a method: those of budgets that are one short of lossless in all rounds but the first."""

    method: str
    buckets: Sequence[int]
    classes: Sequence[int]  # lossless ones, by round
    win_count: Sequence[int]  # classes of GameShrink's win-count reading
    against: Sequence[str]  # by round: how the buckets lie to those of win-count
    full: bool  # with budgets of all lossless classes the buckets are these classes


def _lossless(form: Any) -> list[int]:
    return [int(cards.classes) for cards in form.cards.rounds]


def ceiling(name: str, method: str) -> Ceiling:
    form = poker_form(game(name))
    classes = _lossless(form)
    budgets = [classes[0], *(count - 1 for count in classes[1:])]
    buckets = hand_buckets(form.definition, named(method, budgets, 0))
    whole = hand_buckets(form.definition, named(method, classes, 0)).classes(form.cards)
    shrunk = shrunk_buckets(form, shrink(Cards.of(form.definition), "win-count"))
    against = [lies(a, b) for a, b in zip(buckets.classes(form.cards), shrunk, strict=True)]
    full = all(len(np.unique(of)) == count for of, count in zip(whole, classes, strict=True))
    return Ceiling(method, buckets.counts, classes, [int(of.max()) + 1 for of in shrunk], against, full)


def lies(one: Ints, other: Ints) -> str:
    """How a partition lies to another."""
    both = len(np.unique(np.stack((one, other)), axis=1).T)
    finer, coarser = both == len(np.unique(one)), both == len(np.unique(other))
    return "the same" if finer and coarser else "finer" if finer else "coarser" if coarser else "across"


# Runs


def _granularities(plan: PaperPlan) -> list[int]:
    every = list(range(len(GRANULARITIES)))
    return every[::2] if plan.quick else every


def _seeds(plan: PaperPlan) -> range:
    """Of the paper's parts this one has several starts, also where the plan has one."""
    least = QUICK_STARTS if plan.quick else STARTS
    return range(plan.seed, plan.seed + (plan.starts if plan.starts > 1 else least))


def _until(plan: PaperPlan) -> float:
    return QUICK_UNTIL if plan.quick else max(plan.until, UNTIL)


def runs(plan: PaperPlan) -> list[Run]:
    until = _until(plan)
    pieces = [(GAME, list(GRANULARITIES[g]), seed, until) for g in _granularities(plan) for seed in _seeds(plan)]
    return [
        Run("abstraction: what methods tell apart", ceiling, [(GAME, method) for method in METHODS], reads=Ceiling),
        Run("abstraction: solving and playing", one_start, pieces, "cores"),
        Run("abstraction: finer classes", beyond, [(GAME, kind, plan.seed, until) for kind in BEYOND],
            reads=BucketSolution),
    ]  # fmt: skip


@dataclass(frozen=True)
class BucketResults:
    until: float
    granularities: list[int]  # which of GRANULARITIES
    starts: list[list[BucketStart]]  # by granularity
    ceilings: list[Ceiling]
    beyond: list[BucketSolution]
    most: float  # chips that a hand can cost

    def payoff(self, at: int, row: str, column: str) -> Spread:
        return Spread(tuple(start.payoffs[row][column] for start in self.starts[at]))

    def exploitability(self, at: int, method: str) -> Spread:
        return Spread(tuple(start.solved[method].exploitability for start in self.starts[at]))

    def solved(self, at: int, method: str) -> list[BucketSolution]:
        return [start.solved[method] for start in self.starts[at]]


def gather(plan: PaperPlan, answers: Answers) -> BucketResults:
    each = [
        BucketStart({method: BucketSolution(**each) for method, each in answer["solved"].items()}, answer["payoffs"])
        for answer in answers["abstraction: solving and playing"]
    ]
    kept, seeds = _granularities(plan), len(_seeds(plan))
    return BucketResults(
        _until(plan), kept, [each[k * seeds : (k + 1) * seeds] for k in range(len(kept))],
        answers["abstraction: what methods tell apart"], answers["abstraction: finer classes"],
        float(poker_form(game(GAME)).scale),
    )  # fmt: skip


# The page


def label(buckets: Sequence[int]) -> str:
    return " / ".join(f"{count:,}" for count in buckets)


def page(plan: PaperPlan, r: BucketResults, claims: Sequence[Claim]) -> Page:
    return Page(
        about="Buckets by expectation (EB: probability of winning; EB²: its square) and potential-aware ones (PA) at "
        f"{len(r.starts)} granularities: each abstract game of Rhode Island hold'em is solved from {len(r.starts[0])} "
        "random starts, and the solutions play each other in the whole game, in both seatings, exactly. Exploitability "
        "is by exact best responses in the whole game: what a seat gains in the mean.",
        departs=(
            "The slides' column of granularities is lost. Ours have 13 buckets in the first round, which tell all "
            "ranks apart, and end with 13 / 205 / 1,774, the classes that are published as lossless: more buckets than "
            "any of the methods can use. The rows of the slides' table are put beside them in order.",
            "EB² is the mean of the square of a hand's strength when all cards are out (E[HS²]). In the slides EB and "
            "EB² are even at the finest granularity, as they would be if theirs is the square of the mean.",
            f"Abstract games are solved by {SOLVER} to a gap of {r.until:g} chips, not exactly.",
            "PA clusters histograms by their L2 distance, with a new seed at each start; EB and EB² find the best "
            "clusters on a line, so that their starts differ in where the solver begins alone.",
        ),
        sheets=(_payoff_sheet(r), _exploitability_sheet(r), _ceiling_sheet(r), _bucket_sheet(r)),
        pictures=_pictures(r),
        figures={
            "until": r.until,
            "granularities": [
                {
                    "budgets": list(GRANULARITIES[g]),
                    "payoffs": {f"{a} against {b}": r.payoff(at, a, b).data() for a, b in PAIRS},
                    "exploitability": {method: r.exploitability(at, method).data() for method in METHODS},
                    "solved": [{method: asdict(each) for method, each in start.solved.items()}
                               for start in r.starts[at]],
                }
                for at, g in enumerate(r.granularities)
            ],
            "ceilings": [asdict(each) for each in r.ceilings], "beyond": [asdict(each) for each in r.beyond],
        },
        summary=_summary(r, claims),
    )  # fmt: skip


def _payoff_sheet(r: BucketResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for at, g in enumerate(r.granularities):
        cells: list[str] = []
        for (a, b), theirs in zip(PAIRS, PAYOFFS[g], strict=True):
            ours = Spread(tuple(MILLIBETS * x for x in r.payoff(at, a, b).values))
            cells += [ours.text_with_range(2), f"{theirs:.4f}"]
        rows.append((label(GRANULARITIES[g]), *cells))
    head = [text for a, b in PAIRS for text in (f"{a} against {b}", "slides")]
    return Sheet(
        "Payoffs in the whole game, in thousandths of a small bet a hand", ("buckets", *head), rows,
        f"Mean, standard deviation and range over starts, of both seatings; a chip is {MILLIBETS:g} of these. What one "
        "wins the other loses. The slides do not say the unit of their table; it cannot be the small bets of their "
        f"figure, as nobody can lose more than {r.most:g} chips in a hand, {r.most / SMALL_BET:g} small bets. Games "
        f"are solved to a gap of {MILLIBETS * r.until:g}: a smaller payoff may come of where the solver stopped.",
    )


def _exploitability_sheet(r: BucketResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for at, g in enumerate(r.granularities):
        cells = [r.exploitability(at, method).text_with_range(3) for method in METHODS]
        inside = max(each.inside for method in METHODS for each in r.solved(at, method))
        rows.append((label(GRANULARITIES[g]), *cells, f"{inside / 2:.4f}"))
    rows += [(f"{BEYOND[each.method]}: {label(each.buckets)}", "", "", f"{each.exploitability:.3f}",
              f"{each.inside / 2:.4f}") for each in r.beyond]  # fmt: skip
    return Sheet(
        "Exploitability in the whole game, in chips", ("buckets", *METHODS, "within, at most"), rows,
        "Mean, standard deviation and range over starts; a small bet is 10 chips. Within: of best responses that see "
        "buckets only; where nothing is lost the two agree. The last rows are one start each; those of buckets are the "
        "same for all three methods.",
    )


def _ceiling_sheet(r: BucketResults) -> Sheet:
    first = r.ceilings[0]
    rows = [(each.method, label(each.buckets), ", ".join(each.against), "yes" if each.full else "no")
            for each in r.ceilings]  # fmt: skip
    return Sheet(
        "What each method tells apart at best",
        ("method", "buckets by round", "beside win-count classes", "lossless with a full budget"), rows,
        f"Budgets are one short of the {label(first.classes)} lossless classes in the second and third round. Hands of "
        "one parent with the same probability of winning are one point on the line, and no budget parts them; likewise "
        f"hands with the same histogram. Win-count classes are {label(first.win_count)}: they tell wins from ties, "
        "which a probability of winning adds up. Full budget: as many buckets as there are lossless classes in a "
        "round; then every method takes these classes, and nothing is clustered.",
    )


def _bucket_sheet(r: BucketResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for (at, g), method in product(enumerate(r.granularities), METHODS):
        each = r.solved(at, method)
        used = sorted({tuple(one.buckets) for one in each})
        build, iterations = (np.median([getattr(one, what) for one in each]) for what in ("build", "iterations"))
        rows.append((f"{label(GRANULARITIES[g])}, {method}", "; ".join(label(one) for one in used), f"{build:.2f}",
                     f"{iterations:,.0f}", Spread(tuple(one.value for one in each)).text(4)))  # fmt: skip
    return Sheet(
        "Buckets by round, and what they take",
        ("budgets, method", "buckets", "seconds to build", "iterations", "value within"), rows,
        "Medians over starts. Value: of the abstract game, for the first seat, in chips.",
    )


def _pictures(r: BucketResults) -> tuple[Picture, ...]:
    at = tuple(float(GRANULARITIES[g][-1]) for g in r.granularities)

    def line(name: str, spreads: Sequence[Spread], scale: float = 1.0) -> Line:
        return Line(name, at, tuple(scale * x.mean for x in spreads), tuple(scale * x.sd for x in spreads))

    count = range(len(at))
    exploited = tuple(line(method, [r.exploitability(k, method) for k in count]) for method in METHODS)
    pairs = tuple(line(f"{a} from {b}", [r.payoff(k, a, b) for k in count], MILLIBETS) for a, b in PAIRS)
    note = "Mean and one standard deviation over starts, exact in the whole game."
    across = "buckets in the last round"
    return (
        Curves("abstraction-exploitability", "Buckets of Rhode Island hold'em: exploitability",
               "exploitability (chips)", (FigurePanel("", exploited),), log_y=True, across=across, note=note),
        Curves("abstraction-payoffs", "Buckets of Rhode Island hold'em: payoffs of pairs",
               "thousandths of a small bet a hand", (FigurePanel("", pairs, (("even", 0.0),)),), across=across,
               note=note),
    )  # fmt: skip


# Claims


def claims(r: BucketResults) -> list[Claim]:
    result: list[Claim] = []
    for at, g in enumerate(r.granularities):
        for (a, b), theirs in zip(PAIRS, PAYOFFS[g], strict=True):
            ours = r.payoff(at, a, b).values
            where = f"at {label(GRANULARITIES[g])}"
            # A payoff below NashConv may come of where the solver stopped.
            gaps = [max(start.solved[a].inside, start.solved[b].inside) for start in r.starts[at]]
            if theirs == 0:
                even = [Comparison(abs(x), "<=", gap) for x, gap in zip(ours, gaps, strict=True)]
                result.append(Claim(f"{a} and {b} are even {where}, to within the gap", SLIDES, even))
            else:
                win, lose, sign = (a, b, 1.0) if theirs > 0 else (b, a, -1.0)
                won = [Comparison(sign * x, ">", 0.0, gap) for x, gap in zip(ours, gaps, strict=True)]
                result.append(Claim(f"{win}{WINS}{lose} {where}", SLIDES, won))
    last = len(r.starts) - 1
    finest = label(GRANULARITIES[r.granularities[-1]])
    result.append(Claim(f"PA is lossless at {finest}", SLIDES, [each.loses("<=") for each in r.solved(last, PA)]))
    for method in (EB, EB2):
        lost = [each.loses(">") for each in r.solved(last, method)]
        result.append(Claim(f"{method} is not lossless at {finest}", SLIDES, lost))
    for each in r.ceilings:
        best = f"{label(each.buckets)} of {label(each.classes)} lossless classes"
        source = SLIDES if each.method != PA else OURS
        short = Comparison(each.buckets[-1], "<", each.classes[-1])
        result.append(Claim(f"clusters of {each.method} are never lossless", source, [short], unit=FACT, detail=best))
    for at, g in enumerate(r.granularities):
        less, more = (EB, PA) if PAYOFFS[g][1] > 0 else (PA, EB)
        text = f"{less} is less exploitable than {more} at {label(GRANULARITIES[g])}"
        result.append(compare(text, OURS, r.exploitability(at, more), r.exploitability(at, less)))
    whole = next(each for each in r.beyond if each.method == "lossless")
    result.append(Claim("with a budget of all lossless classes nothing is lost", OURS, [whole.loses("<=")], unit=RUN))
    return result


def _summary(r: BucketResults, claims: Sequence[Claim]) -> str:
    signs = [claim for claim in claims if WINS in claim.text]
    stand = counts(signs)[HOLDS]
    last = len(r.starts) - 1
    figures = ", ".join(f"{method} {r.exploitability(last, method).mean:.3f}" for method in METHODS)
    finest = label(GRANULARITIES[r.granularities[-1]])
    kept = " and ".join(method for method in METHODS if all(each.lossless for each in r.solved(last, method)))
    best = "; ".join(f"{each.method} {label(each.buckets)}" for each in r.ceilings)
    return (
        f"Of the {len(signs)} signs of payoffs in the slides' table {stand} hold. Exploitability "
        f"at {finest} is {figures} chips: {kept or 'no method'} is lossless there. Clusters tell apart at best: "
        f"{best}, of {label(r.ceilings[0].classes)} lossless classes."
    )


PART = Experiment(
    "abstraction", "Expectation-based and potential-aware buckets", PaperPlan(starts=STARTS),
    PaperPlan(starts=QUICK_STARTS), runs, gather, claims, page, ignores=("iterations", "until"), instead="--quick",
)  # fmt: skip
