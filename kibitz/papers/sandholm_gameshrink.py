"""GameShrink on Rhode Island hold'em, Leduc hold'em and smaller decks, and which of its readings is lossless.

An equilibrium within the classes is found, exactly by the linear programme where that is small, else by CFR; it is then
played in the whole game, where best responses see every card. If the classes are lossless, NashConv is the same in
both games.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import comb
from typing import Any

import numpy as np

from kibitz.games import game
from kibitz.papers.claims import FACT, OURS, RUN, Claim, Comparison, fact
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.poker.buckets.gameshrink import Shrunk, lp_size, shrink
from kibitz.poker.buckets.names import shrunk_buckets
from kibitz.poker.buckets.signals import Cards
from kibitz.poker.exact.deal import deal
from kibitz.poker.exact.form import PokerForm, poker_form
from kibitz.poker.exact.programme import payoff_entries
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve

SLIDES = "slides"  # where a claim comes from
GAME = "rhode_island"
ROWS, SHRUNK_ROWS, NON_ZEROS = 91_224_226, 1_237_238, 50_000_000  # of linear programmes, in the slides
# Games that are solved exactly within each reading's classes; the first is Leduc.
EXACT = ("poker(file=leduc)", "rhode_island(ranks=3, suits=2)")
LOSSY = "rhode_island(ranks=5, suits=3)"
THRESHOLDS = (0, 1, 2, 4, 8)
SOLVER = "dcfr+"
READINGS = ("win-count", "strict")
SHORT = {"poker(file=leduc)": "leduc", "rhode_island(ranks=3, suits=2)": "3 ranks, 2 suits", GAME: "whole deck"}


@dataclass(frozen=True)
class ClassSolution:
    """A solution of the abstract game of some classes, and its NashConv in the whole game."""

    game: str
    reading: str
    classes: tuple[int, ...]
    iterations: tuple[int, ...]  # of evaluations; (1,) where the programme was solved exactly
    inside: tuple[float, ...]  # NashConv in the abstract game
    outside: tuple[float, ...]  # NashConv in the whole game
    value: float  # within the classes, for the first seat
    true: float | None  # of the whole game, exactly or as well as it is known


@cache
def shrunk_of(name: str, reading: str) -> Shrunk:
    return shrink(_cards(name), reading)


def _cards(name: str) -> Cards:
    return Cards.of(poker_form(game(name)).definition)


def within(form: PokerForm, shrunk: Shrunk) -> PokerForm:
    """The game in which seats see classes only."""
    return form.bucketed(shrunk_buckets(form, shrunk))


def solve_exactly(name: str, reading: str) -> ClassSolution:
    """The linear programme within the classes and that of the whole game."""
    form = poker_form(game(name))
    shrunk = shrunk_of(name, reading)
    small = within(form, shrunk)
    solver = make("lp", Task(None, small))
    solver.step(1)
    weights = small.to_strategy(solver.probabilities())
    inside, outside = small.measure_weights(weights), form.measure_weights(form.lift(small, weights))
    true = solve(form, "lp")
    return ClassSolution(name, reading, tuple(shrunk.classes), (1,), (inside.nash_conv,), (outside.nash_conv,),
                         float(inside.value[0]), float(true.meta["value"][0]))  # fmt: skip


def solve_in(
    name: str, shrunk: Shrunk, iterations: int, true: float | None = None, evaluations: int = 12
) -> ClassSolution:  # fmt: skip
    """CFR in the abstract game of the classes, with evaluations of both NashConvs on the way."""
    form = poker_form(game(name))
    small = within(form, shrunk)
    solver: Any = make(SOLVER, Task(None, small, threads=2))
    at = sorted({max(1, round(iterations ** (k / evaluations))) for k in range(1, evaluations + 1)})
    inside, outside, value = [], [], 0.0
    for iteration in at:
        solver.step(iteration - solver.iteration)
        here = solver.measure()
        there = form.measure_weights(form.lift(small, solver.cfr_state.average))
        inside.append(here.nash_conv)
        outside.append(there.nash_conv)
        value = float(here.value[0])
    return ClassSolution(name, shrunk.reading, tuple(shrunk.classes), tuple(at), tuple(inside), tuple(outside), value,
                         true)  # fmt: skip


@dataclass(frozen=True)
class SeatAlone:
    """What one seat can secure if it alone sees classes only."""

    game: str
    seat: int
    least: float  # what the strategy found secures, against an opponent who sees all
    most: float  # what no strategy that sees classes only can exceed
    true: tuple[float, float]  # between which the value of the game for the seat lies


def one_seat(name: str, shrunk: Shrunk, seat: int, iterations: int, true: tuple[float, float]) -> SeatAlone:
    """Hold one seat to classes, let the other see all, and bound the value of that game by best responses in it."""
    form = poker_form(game(name))
    every = [np.arange(cards.classes) for cards in form.cards.rounds]
    classes = shrunk_buckets(form, shrunk)
    small = form.bucketed((classes, every) if seat == 0 else (every, classes))
    solver: Any = make(SOLVER, Task(None, small, threads=2))
    solver.step(iterations)
    best = solver.measure().best
    return SeatAlone(name, seat, float(-best[1 - seat]), float(best[seat]), true)


# Runs


@dataclass(frozen=True)
class DealSizes:
    """The game without abstraction: hands that differ by round, and its betting."""

    deals: tuple[int, ...]
    suits: tuple[int, ...]  # up to the names of suits
    per_hand: tuple[list[int], ...]  # sequences and infosets of a hand, by round
    signals: int  # nodes of the signal tree


def sizes(name: str) -> DealSizes:
    form = poker_form(game(name))
    whole, deals = [], form.cards.hands
    cards_left = form.definition.ranks * form.definition.suits - form.definition.hole
    for dealt in form.definition.board:
        deals *= comb(cards_left, dealt)
        cards_left -= dealt
        whole.append(deals)
    suits = tuple(cards.classes for cards in deal(form.definition, alike=False).rounds)
    return DealSizes(tuple(whole), suits, tuple(form.per_hand), Cards.of(form.definition).signal_nodes)


@dataclass(frozen=True)
class ShrunkSizes:
    """The sizes of the game under a reading, and how long GameShrink takes."""

    classes: tuple[int, ...]
    rows: int
    non_zeros: int
    seconds: float


def shrink_whole(name: str, reading: str) -> ShrunkSizes:
    form = poker_form(game(name))
    shrink(_cards(EXACT[0]), reading)  # compiles
    began = time.perf_counter()
    shrunk = shrink(Cards.of(form.definition), reading)
    spent = time.perf_counter() - began
    return ShrunkSizes(tuple(shrunk.classes), shrunk.lp_size(*form.per_hand), entries(form, shrunk), spent)


def by_cfr(name: str, reading: str, iterations: int) -> ClassSolution:
    return solve_in(name, shrunk_of(name, reading), iterations)


def both_alone(name: str, iterations: int) -> list[SeatAlone]:
    """Each seat by itself in the abstract game of win-count classes."""
    solver: Any = make(SOLVER, Task(None, poker_form(game(name)), threads=2))
    solver.step(iterations)
    best = solver.measure().best.tolist()  # against a solution of the whole game: bounds of its value
    bounds = (-best[1], best[0]), (-best[0], best[1])
    shrunk = shrunk_of(name, "win-count")
    return [one_seat(name, shrunk, seat, iterations, bounds[seat]) for seat in (0, 1)]


def lossy(name: str, thresholds: Sequence[int], iterations: int) -> list[ClassSolution]:
    """The win-count reading with thresholds; those that give the same classes once."""
    true = solve(name, SOLVER, iterations=2 * iterations).meta["value"][0]
    solutions, seen = [], set()
    for threshold in thresholds:
        shrunk = shrink(_cards(name), "win-count", threshold)
        if tuple(shrunk.classes) in seen:
            continue
        seen.add(tuple(shrunk.classes))
        solutions.append(replace(solve_in(name, shrunk, iterations, true, 1), game=f"threshold {threshold}"))
    return solutions


def programme(name: str, iterations: int) -> dict[str, Any]:
    """The linear programme of a shrunken deck against first-order solvers."""
    form = poker_form(game(name))
    solvers = {}
    for solver in ("lp", "cfr+", "dcfr", "dcfr+", "pcfr+"):
        began = time.perf_counter()
        meta = solve(form, solver, iterations=None if solver == "lp" else iterations).meta
        solvers[solver] = {"value": meta["value"][0], "gap": meta["nash_conv"], "iterations": meta["iterations"],
                           "seconds": time.perf_counter() - began}  # fmt: skip
    return {"game": name, "rows": form.programme_size[1], "solvers": solvers}


def runs(plan: PaperPlan) -> list[Run]:
    """All take every core, or are timed: so one after another."""
    quick = plan.quick
    names = EXACT[:1] if quick else EXACT
    alone = [(EXACT[0], 10 * plan.iterations), (GAME, plan.iterations)]
    return [
        Run("gameshrink: sizes", sizes, [(GAME,)], reads=DealSizes),
        Run("gameshrink", shrink_whole, [(GAME, reading) for reading in READINGS], reads=ShrunkSizes),
        Run("linear programmes within classes", solve_exactly,
            [(name, reading) for name in names for reading in READINGS], reads=ClassSolution),
        Run("cfr within classes of rhode island", by_cfr, [(GAME, reading, plan.iterations) for reading in READINGS],
            reads=ClassSolution),
        Run("one seat alone within classes", both_alone, alone[: 1 if quick else 2], reads=SeatAlone),
        Run("lossy classes", lossy, [(LOSSY, THRESHOLDS, max(50, plan.iterations))], reads=ClassSolution),
        Run("linear programme and first-order solvers", programme,
            [("rhode_island(ranks=2, suits=2)" if quick else EXACT[1], 10 * plan.iterations)]),
    ]  # fmt: skip


@dataclass(frozen=True)
class GameShrinkResults:
    whole: DealSizes
    shrunk: dict[str, ShrunkSizes]  # by reading
    exact: list[ClassSolution]
    curves: list[ClassSolution]
    alone: list[SeatAlone]
    lossy: list[ClassSolution]
    programme: dict[str, Any]


def gather(plan: PaperPlan, answers: Answers) -> GameShrinkResults:
    return GameShrinkResults(
        answers["gameshrink: sizes"][0], dict(zip(READINGS, answers["gameshrink"], strict=True)),
        answers["linear programmes within classes"], answers["cfr within classes of rhode island"],
        [seat for both in answers["one seat alone within classes"] for seat in both], answers["lossy classes"][0],
        answers["linear programme and first-order solvers"][0],
    )  # fmt: skip


# The page


def page(plan: PaperPlan, r: GameShrinkResults, claims: Sequence[Claim]) -> Page:
    solvers = r.programme["solvers"]
    return Page(
        about="GameShrink merges signals that lead to the same ends. Two readings of its definition are run on the "
        "signal tree of Rhode Island hold'em, which knows nothing of suits: by the numbers of wins and losses against "
        "all opponents' cards (win-count), and by those against each class of the opponent's cards (strict). An "
        "equilibrium within the classes is then measured in the whole game by exact best responses.",
        departs=(
            "The signals of a round are one step of the tree, not a level for each card. Strict classes are the "
            "coarsest that agree with the opponent's own classes; the proof that they lose nothing is in "
            "`kibitz/poker/buckets/gameshrink.py`.",
        ),
        sheets=(_classes_sheet(r), _lossless_sheet([*r.exact, *r.curves]), _alone_sheet(r.alone),
                _lossy_sheet(r.lossy), _programme_sheet(r.programme)),
        pictures=(_picture(r.curves),),
        figures={
            **{what: {reading: getattr(sizes, what) for reading, sizes in r.shrunk.items()}
               for what in ("classes", "rows", "non_zeros", "seconds")},
            "solutions": [asdict(each) for each in (*r.exact, *r.curves)], "alone": [asdict(each) for each in r.alone],
            "lossy": [asdict(each) for each in r.lossy],
            "programme": {
                "game": r.programme["game"], "rows": r.programme["rows"], "lp": solvers["lp"]["value"],
                **{solver: {key: each[key] for key in ("value", "gap")}
                   for solver, each in solvers.items() if solver != "lp"},
            },
        },
        summary=_summary(r),
    )  # fmt: skip


def _alone_sheet(seats: list[SeatAlone]) -> Sheet:
    return Sheet(
        "One seat sees win-count classes only, the other every card: what the first can secure",
        ("game, seat", "at least", "at most", "value of the game", "proved lossy"),
        [(f"{SHORT[each.game]}, seat {each.seat}", f"{each.least:.4f}", f"{each.most:.4f}",
          f"{each.true[0]:.4f} to {each.true[1]:.4f}", "yes" if each.most < each.true[0] else "no") for each in seats],
        "At least: what the strategy found secures. At most: what a best response within the classes gets, so no "
        "strategy that sees classes only secures more. Where that is below the value of the game, none of them is "
        "optimal, and no equilibrium within the classes can be one of the game. All by exact best responses.",
    )  # fmt: skip


def _by_round(classes: Any) -> str:
    return " / ".join(f"{count:,}" for count in classes)


def entries(form: PokerForm, shrunk: Shrunk) -> int:
    """Entries of the linear programme within classes that are not zero: payoffs, and both seats' constraints.

    A constraint has one for the sequence before it and one for each of its own; the empty sequence has one alone.
    """
    small = within(form, shrunk)
    return payoff_entries(small) + small.sequences + small.points


def _classes_sheet(r: GameShrinkResults) -> Sheet:
    whole, suits, per_hand = r.whole.deals, r.whole.suits, r.whole.per_hand
    rows: list[tuple[str, ...]] = [
        ("all hands and boards", _by_round(whole), f"{lp_size(whole, *per_hand):,}", "", "", f"{ROWS:,} rows"),
        ("up to the names of suits", _by_round(suits), f"{lp_size(suits, *per_hand):,}", "", "", ""),
    ]
    paper = {"win-count": f"{SHRUNK_ROWS:,} rows, {NON_ZEROS:,} non-zeros, one second", "strict": ""}
    rows += [(f"GameShrink, {reading}", _by_round(sizes.classes), f"{sizes.rows:,}", f"{sizes.non_zeros:,}",
              f"{sizes.seconds:.1f}", paper[reading]) for reading, sizes in r.shrunk.items()]  # fmt: skip
    return Sheet(
        "Rhode Island hold'em: classes of hands by round, and the linear programme within them",
        ("hands told apart", "by round", "rows", "non-zeros", "seconds", "slides"), rows,
        f"The signal tree has {r.whole.signals:,} nodes. The slides print sizes of programmes, not classes: that the "
        "published classes are those of the win-count reading is inferred from the sizes.",
    )


def _lossless_sheet(solutions: list[ClassSolution]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in solutions:
        how = "exactly" if each.iterations == (1,) else f"{each.iterations[-1]:,}"
        true = "" if each.true is None else f"{each.true:.5f}"
        rows.append((f"{SHORT[each.game]}, {each.reading}", _by_round(each.classes), how, f"{each.value:.5f}", true,
                     f"{each.inside[-1]:.5f}", f"{each.outside[-1]:.5f}"))  # fmt: skip
    return Sheet(
        "An equilibrium within the classes, played in the whole game",
        ("game, reading", "classes", "iterations", "value within", "true value", "gap within", "gap in the game"),
        rows,
        "Gaps are nash_conv in chips, by best responses that see classes only (within) and that see every card (in the "
        f"whole game). Exactly: by the linear programme, HiGHS. Otherwise by {SOLVER}. If classes lose nothing the two "
        "gaps agree. That they agree for one solution is evidence, not a proof; a value within them that is not "
        "the true value disproves it at once.",
    )


def _lossy_sheet(solutions: list[ClassSolution]) -> Sheet:
    return Sheet(
        f"Lossy: {LOSSY}, the win-count reading with a threshold",
        ("", "classes", "value within", "gap within", "gap in the game"),
        [(each.game, _by_round(each.classes), f"{each.value:.4f}", f"{each.inside[-1]:.4f}", f"{each.outside[-1]:.4f}")
         for each in solutions],
        f"Nodes are merged that match up to so many deals. The true value is {solutions[0].true:.4f}; "
        f"{solutions[0].iterations[-1]:,} iterations of {SOLVER} each.",
    )  # fmt: skip


def _programme_sheet(solved: dict[str, Any]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for solver, each in solved["solvers"].items():
        label = "lp (HiGHS)" if solver == "lp" else f"{solver}, {each['iterations']:,} iterations"
        rows.append((label, f"{each['value']:.6f}", f"{each['gap']:.1e}", f"{each['seconds']:.1f}"))
    return Sheet(
        f"{solved['game']}: the linear programme ({solved['rows']:,} rows) and first-order solvers",
        ("solver", "value", "gap", "seconds"), rows, "A value is within its gap of the exact one.",
    )


def _picture(curves: list[ClassSolution]) -> Curves:
    lines = []
    for each in curves:
        at, none = tuple(map(float, each.iterations)), (0.0,) * len(each.iterations)
        lines.append(Line(f"{each.reading}, in the whole game", at, each.outside, none))
        lines.append(Line(f"{each.reading}, within", at, each.inside, none, dashed=True))
    return Curves(
        "gameshrink", "Rhode Island hold'em within the classes of GameShrink", "gap (chips)",
        (FigurePanel("", tuple(lines)),), log_y=True,
        note="Dashed: the gap within the classes. Full: the gap of the same strategies in the whole game.",
    )  # fmt: skip


def _agree(each: ClassSolution) -> Comparison:
    """That NashConv in the whole game is that in the abstract game."""
    return Comparison(abs(each.outside[-1] - each.inside[-1]), "<=", 1e-6 + 1e-3 * each.inside[-1])


def claims(r: GameShrinkResults) -> list[Claim]:
    everything = [*r.exact, *r.curves]

    def lossless(reading: str) -> list[tuple[Comparison, ...]]:
        return [tuple(_agree(each) for each in everything if each.reading == reading)]

    rows, seconds = r.shrunk["win-count"].rows, r.shrunk["win-count"].seconds
    fine, hands = r.shrunk["strict"].classes[-1], r.whole.suits[-1]
    return [
        fact(f"after GameShrink the programme has {SHRUNK_ROWS:,} rows and columns (win-count)", SLIDES, rows,
             SHRUNK_ROWS, f"it has {rows:,}"),
        Claim("GameShrink runs in one second (win-count)", SLIDES, [Comparison(seconds, "<=", 1.5)], unit=RUN,
              detail=f"{seconds:.2f} s"),
        Claim("an equilibrium within the classes is one of the whole game (win-count, which has the published size)",
              SLIDES, lossless("win-count"), unit=FACT),
        Claim("a seat that sees win-count classes only cannot secure the value of the game", OURS,
              [Comparison(each.most, "<", each.true[0]) for each in r.alone], unit=FACT),
        Claim("an equilibrium within strict classes is one of the whole game", OURS, lossless("strict"), unit=FACT),
        fact("strict classes are fewer than hands up to the names of suits", OURS, fine, hands,
             f"{fine:,} and {hands:,}", "<"),
    ]  # fmt: skip


def _summary(r: GameShrinkResults) -> str:
    leduc = next(each for each in r.exact if each.game == EXACT[0] and each.reading == "win-count")
    whole, strict = (next(each for each in r.curves if each.reading == reading) for reading in READINGS)
    non_zeros, proof = r.shrunk["win-count"].non_zeros, [each for each in r.alone if each.most < each.true[0]]
    proved = ""
    if proof:
        each = proof[-1]
        proved = (
            f"Whatever equilibrium is found: seat {each.seat} of {each.game}, if it sees these classes only, secures "
            f"at most {each.most:.4f} chips against one that sees all, and the value of the game for it is at least "
            f"{each.true[0]:.4f}. "
        )
    return (
        f"Win-count classes give a programme of exactly the published {SHRUNK_ROWS:,} rows, with {non_zeros:,} entries "
        f"that are not zero (the slides: {NON_ZEROS:,}). That the published classes are these is inferred from the "
        "sizes; the slides do not print classes. They are not lossless. An equilibrium within them leaves a gap of "
        f"{whole.outside[-1]:.2f} chips in Rhode Island hold'em ({whole.inside[-1]:.4f} within); in Leduc hold'em, "
        f"exactly, {leduc.outside[-1]:.4f} chips, with a value of {leduc.value:.4f} instead of {leduc.true:.4f}. "
        f"{proved}Strict classes lose nothing (proved in gameshrink.py); measured, the gap is {strict.outside[-1]:.4f} "
        "within and without."
    )


PART = Experiment("gameshrink", "GameShrink", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page)
