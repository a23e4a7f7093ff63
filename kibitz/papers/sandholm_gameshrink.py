"""GameShrink on Rhode Island hold'em, Leduc hold'em and smaller decks, and which of its readings is lossless.

An equilibrium within the classes is found, exactly by the linear programme where that is small, else by CFR; it is then
played in the whole game, where best responses see every card. If the classes are lossless the two gaps agree.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np

from kibitz.abstractions.gameshrink import Shrunk, lp_size, shrink
from kibitz.abstractions.poker import shrunk_buckets
from kibitz.abstractions.signals import Cards
from kibitz.form.poker.deal import deal
from kibitz.form.poker.form import PokerForm, poker_form
from kibitz.form.poker.programme import payoff_entries
from kibitz.games import game
from kibitz.papers.common import OURS, Claim, OnStart, Plan, Sheet
from kibitz.papers.curves import Curves, Line, Panel
from kibitz.papers.sandholm_common import SLIDES, Part
from kibitz.run import solve
from kibitz.solvers import Task, make

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
class Inside:
    """A solution within some classes, and what it is worth in the whole game."""

    name: str
    reading: str
    classes: tuple[int, ...]
    iterations: tuple[int, ...]  # of looks; (1,) where the programme was solved exactly
    inside: tuple[float, ...]  # gap within the classes
    outside: tuple[float, ...]  # gap in the whole game
    value: float  # within the classes, for the first seat
    true: float  # of the whole game, exactly or as well as it is known


def _cards(name: str) -> Cards:
    return Cards.of(poker_form(game(name)).definition)


def within(form: PokerForm, shrunk: Shrunk) -> PokerForm:
    """The game in which seats see classes only."""
    return form.bucketed(shrunk_buckets(form, shrunk))


def solve_exactly(name: str, reading: str) -> Inside:
    """The linear programme within the classes and that of the whole game."""
    form = poker_form(game(name))
    shrunk = shrink(Cards.of(form.definition), reading)
    small = within(form, shrunk)
    solver = make("lp", Task(None, small))
    solver.step(1)
    weights = small.to_strategy(solver.probabilities())
    inside, outside = small.measure_weights(weights), form.measure_weights(form.lift(small, weights))
    true = solve(form, "lp")
    return Inside(name, reading, tuple(shrunk.classes), (1,), (inside.nash_conv,), (outside.nash_conv,),
                  float(inside.value[0]), float(true.meta["value"][0]))  # fmt: skip


def solve_in(name: str, shrunk: Shrunk, iterations: int, true: float = np.nan, looks: int = 12) -> Inside:
    """CFR within the classes, with looks at both gaps on the way."""
    form = poker_form(game(name))
    small = within(form, shrunk)
    solver: Any = make(SOLVER, Task(None, small, threads=2))
    at = sorted({max(1, round(iterations ** (k / looks))) for k in range(1, looks + 1)})
    inside, outside, value = [], [], 0.0
    for look in at:
        solver.step(look - solver.iteration)
        here = solver.measure()
        there = form.measure_weights(form.lift(small, solver.space.average))
        inside.append(here.nash_conv)
        outside.append(there.nash_conv)
        value = float(here.value[0])
    return Inside(name, shrunk.reading, tuple(shrunk.classes), tuple(at), tuple(inside), tuple(outside), value, true)


@dataclass(frozen=True)
class Alone:
    """What one seat can secure if it alone sees classes only."""

    game: str
    seat: int
    least: float  # what the strategy found secures, against an opponent who sees all
    most: float  # what no strategy that sees classes only can exceed
    true: tuple[float, float]  # between which the value of the game for the seat lies


def one_seat(name: str, shrunk: Shrunk, seat: int, iterations: int, true: tuple[float, float]) -> Alone:
    """Hold one seat to classes, let the other see all, and bound the value of that game by best responses in it."""
    form = poker_form(game(name))
    every = [np.arange(cards.classes) for cards in form.cards.rounds]
    classes = shrunk_buckets(form, shrunk)
    small = form.bucketed((classes, every) if seat == 0 else (every, classes))
    solver: Any = make(SOLVER, Task(None, small, threads=2))
    solver.step(iterations)
    best = solver.measure().best
    return Alone(name, seat, float(-best[1 - seat]), float(best[seat]), true)


def recompute(plan: Plan, told: OnStart) -> Part:
    form = poker_form(game(GAME))
    told("gameshrink: compiling", 0, 1)
    for reading in READINGS:
        shrink(_cards(EXACT[0]), reading)
    shrunk: dict[str, Shrunk] = {}
    seconds: dict[str, float] = {}
    for reading in READINGS:
        told(f"gameshrink, {reading}", 0, 1)
        began = time.perf_counter()
        shrunk[reading] = shrink(Cards.of(form.definition), reading)
        seconds[reading] = time.perf_counter() - began
    exact = []
    quick = plan.iterations < 100
    names = EXACT[:1] if quick else EXACT
    for k, name in enumerate(names):
        told("linear programmes within classes", k, len(names))
        exact += [solve_exactly(name, reading) for reading in READINGS]
    curves = []
    for k, reading in enumerate(READINGS):
        told("cfr within classes of rhode island", k, len(READINGS))
        curves.append(solve_in(GAME, shrunk[reading], plan.iterations))
    alone: list[Alone] = []
    for name, iterations in ((EXACT[0], 10 * plan.iterations), (GAME, plan.iterations))[: 1 if quick else 2]:
        told("one seat alone within classes", len(alone), 4)
        best = _value(name, iterations)
        found = shrunk["win-count"] if name == GAME else shrink(_cards(name), "win-count")
        for seat in (0, 1):
            true = (-best[1], best[0]) if seat == 0 else (-best[0], best[1])
            alone.append(one_seat(name, found, seat, iterations, true))
    told("lossy classes", 0, 1)
    lossy = _lossy(max(50, plan.iterations))
    programme = _programme("rhode_island(ranks=2, suits=2)" if quick else EXACT[1], plan)
    sequences, infosets = form.per_hand
    suits = [cards.classes for cards in deal(form.definition, alike=False).rounds]
    non_zeros = {reading: entries(form, found) for reading, found in shrunk.items()}
    return Part(
        about=(
            "GameShrink merges signals that lead to the same ends. Two readings of its definition are run on the "
            "signal tree of Rhode Island hold'em, which knows nothing of suits: by the numbers of wins and losses "
            "against all opponents' cards (win-count), and by those against each class of the opponent's cards "
            "(strict). An equilibrium within the classes is then measured in the whole game by exact best responses."
        ),
        departs=(
            "The signals of a round are one step of the tree, not a level for each card. Strict classes are the "
            "coarsest that agree with the opponent's own classes; the proof that they lose nothing is in "
            "`kibitz/abstractions/gameshrink.py`.",
        ),
        sheets=(
            _classes_sheet(form, shrunk, seconds, non_zeros, suits),
            _lossless_sheet([*exact, *curves]),
            _alone_sheet(alone),
            _lossy_sheet(lossy),
            programme[0],
        ),
        claims=tuple(_claims(form, shrunk, seconds, exact, curves, alone, suits)),
        pictures=(_picture(curves),),
        figures={
            "classes": {reading: found.classes for reading, found in shrunk.items()},
            "rows": {reading: found.lp_size(sequences, infosets) for reading, found in shrunk.items()},
            "non_zeros": non_zeros,
            "seconds": seconds,
            "solutions": [_data(each) for each in (*exact, *curves)],
            "alone": [asdict(each) for each in alone],
            "lossy": [_data(each) for each in lossy],
            "programme": programme[1],
        },
        summary=_summary(exact, curves, alone, non_zeros["win-count"]),
    )  # fmt: skip


def _value(name: str, iterations: int) -> list[float]:
    """What best responses get against a solution of the whole game: bounds of its value."""
    solver: Any = make(SOLVER, Task(None, poker_form(game(name)), threads=2))
    solver.step(iterations)
    best: list[float] = solver.measure().best.tolist()
    return best


def _alone_sheet(found: list[Alone]) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (f"{SHORT[each.game]}, seat {each.seat}", f"{each.least:.4f}", f"{each.most:.4f}",
         f"{each.true[0]:.4f} to {each.true[1]:.4f}", "yes" if each.most < each.true[0] else "no")
        for each in found
    ]  # fmt: skip
    return Sheet(
        "One seat sees win-count classes only, the other every card: what the first can secure",
        ("game, seat", "at least", "at most", "value of the game", "proved lossy"),
        rows,
        "At least: what the strategy found secures. At most: what a best response within the classes gets, so no "
        "strategy that sees classes only secures more. Where that is below the value of the game, none of them is "
        "optimal, and no equilibrium within the classes can be one of the game. All by exact best responses.",
    )


def _by_round(classes: Any) -> str:
    return " / ".join(f"{count:,}" for count in classes)


def entries(form: PokerForm, shrunk: Shrunk) -> int:
    """Entries of the linear programme within classes that are not zero: payoffs, and both seats' constraints.

    A constraint has one for the sequence before it and one for each of its own; the empty sequence has one alone.
    """
    small = within(form, shrunk)
    return payoff_entries(small) + small.sequences + small.points


def _classes_sheet(
    form: PokerForm, shrunk: dict[str, Shrunk], seconds: dict[str, float], non_zeros: dict[str, int], suits: list[int]
) -> Sheet:
    whole, deals = [], form.cards.hands
    cards_left = form.definition.ranks * form.definition.suits - form.definition.hole
    for dealt in form.definition.board:
        deals *= comb(cards_left, dealt)
        cards_left -= dealt
        whole.append(deals)
    rows: list[tuple[str, ...]] = [
        ("all hands and boards", _by_round(whole), f"{lp_size(whole, *form.per_hand):,}", "", "", f"{ROWS:,} rows"),
        ("up to the names of suits", _by_round(suits), f"{lp_size(suits, *form.per_hand):,}", "", "", ""),
    ]
    paper = {"win-count": f"{SHRUNK_ROWS:,} rows, {NON_ZEROS:,} non-zeros, one second", "strict": ""}
    for reading, found in shrunk.items():
        rows.append((f"GameShrink, {reading}", _by_round(found.classes), f"{found.lp_size(*form.per_hand):,}",
                     f"{non_zeros[reading]:,}", f"{seconds[reading]:.1f}", paper[reading]))  # fmt: skip
    return Sheet(
        "Rhode Island hold'em: classes of hands by round, and the linear programme within them",
        ("hands told apart", "by round", "rows", "non-zeros", "seconds", "slides"),
        rows,
        f"The signal tree has {Cards.of(form.definition).signal_nodes:,} nodes. The slides print sizes of "
        "programmes, not classes: that the published classes are those of the win-count reading is inferred from "
        "the sizes.",
    )


def _lossless_sheet(found: list[Inside]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in found:
        how = "exactly" if each.iterations == (1,) else f"{each.iterations[-1]:,}"
        true = "" if np.isnan(each.true) else f"{each.true:.5f}"
        rows.append((f"{SHORT[each.name]}, {each.reading}", _by_round(each.classes), how, f"{each.value:.5f}", true,
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


def _lossy(iterations: int) -> list[Inside]:
    true = solve(LOSSY, SOLVER, iterations=2 * iterations).meta["value"][0]
    found, seen = [], set()
    for threshold in THRESHOLDS:
        shrunk = shrink(_cards(LOSSY), "win-count", threshold)
        if tuple(shrunk.classes) in seen:
            continue
        seen.add(tuple(shrunk.classes))
        each = solve_in(LOSSY, shrunk, iterations, true, looks=1)
        found.append(Inside(f"threshold {threshold}", each.reading, *_rest(each)))
    return found


def _rest(each: Inside) -> tuple[Any, ...]:
    return each.classes, each.iterations, each.inside, each.outside, each.value, each.true


def _lossy_sheet(found: list[Inside]) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (each.name, _by_round(each.classes), f"{each.value:.4f}", f"{each.inside[-1]:.4f}", f"{each.outside[-1]:.4f}")
        for each in found
    ]
    return Sheet(
        f"Lossy: {LOSSY}, the win-count reading with a threshold",
        ("", "classes", "value within", "gap within", "gap in the game"),
        rows,
        f"Nodes are merged that match up to so many deals. The true value is {found[0].true:.4f}; "
        f"{found[0].iterations[-1]:,} iterations of {SOLVER} each.",
    )


def _programme(name: str, plan: Plan) -> tuple[Sheet, dict[str, Any]]:
    """The linear programme of a shrunken deck against first-order solvers."""
    form = poker_form(game(name))
    began = time.perf_counter()
    exact = solve(form, "lp").meta
    spent = time.perf_counter() - began
    first = ("lp (HiGHS)", f"{exact['value'][0]:.6f}", f"{exact['nash_conv']:.1e}", f"{spent:.1f}")
    rows: list[tuple[str, ...]] = [first]
    data: dict[str, Any] = {"game": name, "rows": form.programme_size[1], "lp": exact["value"][0]}
    for solver in ("cfr+", "dcfr", "dcfr+", "pcfr+"):
        began = time.perf_counter()
        found = solve(form, solver, iterations=10 * plan.iterations).meta
        spent = time.perf_counter() - began
        rows.append((f"{solver}, {found['iterations']:,} iterations", f"{found['value'][0]:.6f}",
                     f"{found['nash_conv']:.1e}", f"{spent:.1f}"))  # fmt: skip
        data[solver] = {"value": found["value"][0], "gap": found["nash_conv"]}
    sheet = Sheet(
        f"{name}: the linear programme ({form.programme_size[1]:,} rows) and first-order solvers",
        ("solver", "value", "gap", "seconds"),
        rows,
        "A value is within its gap of the exact one.",
    )
    return sheet, data


def _picture(curves: list[Inside]) -> Curves:
    lines = []
    for each in curves:
        at, none = tuple(map(float, each.iterations)), (0.0,) * len(each.iterations)
        lines.append(Line(f"{each.reading}, in the whole game", at, each.outside, none))
        lines.append(Line(f"{each.reading}, within", at, each.inside, none, dashed=True))
    return Curves(
        "gameshrink", "Rhode Island hold'em within the classes of GameShrink", "gap (chips)",
        (Panel("", tuple(lines)),), log_y=True,
        note="Dashed: the gap within the classes. Full: the gap of the same strategies in the whole game.",
    )  # fmt: skip


def _agree(each: Inside) -> bool:
    """Whether the gap in the whole game is that within the classes."""
    return abs(each.outside[-1] - each.inside[-1]) <= 1e-6 + 1e-3 * each.inside[-1]


def _claims(
    form: PokerForm, shrunk: dict[str, Shrunk], seconds: dict[str, float], exact: list[Inside], curves: list[Inside],
    alone: list[Alone], suits: list[int],
) -> list[Claim]:  # fmt: skip
    size = shrunk["win-count"].lp_size(*form.per_hand)
    everything = [*exact, *curves]

    def lossless(reading: str) -> bool:
        return all(_agree(each) for each in everything if each.reading == reading)

    return [
        Claim(f"after GameShrink the programme has {SHRUNK_ROWS:,} rows and columns (win-count)", SLIDES,
              (size == SHRUNK_ROWS,)),
        Claim("GameShrink runs in one second (win-count)", SLIDES, (seconds["win-count"] <= 1.5,)),
        Claim("an equilibrium within the classes is one of the whole game (win-count, which has the published size)",
              SLIDES, (lossless("win-count"),)),
        Claim("a seat that sees win-count classes only cannot secure the value of the game", OURS,
              tuple(each.most < each.true[0] for each in alone)),
        Claim("an equilibrium within strict classes is one of the whole game", OURS, (lossless("strict"),)),
        Claim("strict classes are fewer than hands up to the names of suits", OURS,
              (shrunk["strict"].classes[-1] < suits[-1],)),
    ]  # fmt: skip


def _summary(exact: list[Inside], curves: list[Inside], alone: list[Alone], non_zeros: int) -> str:
    by = {(each.name, each.reading): each for each in (*exact, *curves)}
    leduc, whole, strict = by[EXACT[0], "win-count"], by[GAME, "win-count"], by[GAME, "strict"]
    proof = [each for each in alone if each.most < each.true[0]]
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
        "sizes; the slides do not print classes. They are not lossless. An equilibrium "
        f"within them leaves a gap of {whole.outside[-1]:.2f} chips in Rhode Island hold'em ({whole.inside[-1]:.4f} "
        f"within); in Leduc hold'em, exactly, {leduc.outside[-1]:.4f} chips, with a value of {leduc.value:.4f} instead "
        f"of {leduc.true:.4f}. {proved}"
        f"Strict classes lose nothing (proved in gameshrink.py); measured, the gap is {strict.outside[-1]:.4f} within "
        "and without."
    )


def _data(each: Inside) -> dict[str, Any]:
    return {
        "game": each.name, "reading": each.reading, "classes": list(each.classes), "iterations": list(each.iterations),
        "inside": list(each.inside), "outside": list(each.outside), "value": each.value,
        "true": None if np.isnan(each.true) else each.true,
    }  # fmt: skip
