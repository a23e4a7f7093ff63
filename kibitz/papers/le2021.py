"""[Le 2021]: A Game-theoretic Approach to the Card Game Toepen, Tables 3.1 and 3.2, Figures 4.1 to 4.5.

Everything about games with betting is done twice: in the real rules, and in thesis mode (follow_suit=false), the rules
that the thesis' counts come from. Its own curves cannot be targets: its code had a wrong sign in a payoff, weighted
sampled regrets once too often and measured NashConv, which it calls exploitability, by a search that finds too little.
So its conclusions are compared with MCCFR as defined, measured exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.papers import le2021_claims as claims_about
from kibitz.papers import le2021_runs
from kibitz.papers.claims import Claim
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.le2021_claims import DECKS, TABLES
from kibitz.papers.le2021_course import ABSTRACTIONS, BASELINE, BY_STRENGTH, THESIS
from kibitz.papers.le2021_runs import (
    GAMES,
    LARGE,
    MODE_NAMES,
    MODES,
    AbstractionCurves,
    ConvergenceCurves,
    Curve,
    ThesisResults,
)
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread, line

TITLE = "A Game-theoretic Approach to the Card Game Toepen (Le 2021)"
# The sizes of its abstractions that the thesis names or shows; the others follow from its rules.
SHOWN = {"naive": "4", "simple-history": "166", "simple-hand": "about 200,000", BASELINE: "376,958"}
NAMES = (BASELINE, *ABSTRACTIONS)


def count_sheets(counted: Mapping[str, Mapping[str, Mapping[bool, tuple[int, int]]]]) -> Iterator[Sheet]:
    def both(pair: tuple[int, int]) -> str:
        return f"{sum(pair):,} ({pair[0]:,} + {pair[1]:,})"

    for table, kind, what in (("3.1", "null", "infosets"), ("3.2", BASELINE, "infosets after card isomorphism")):
        rows, same = [], 0
        for game, thesis in zip(GAMES, TABLES[table], strict=True):
            pairs = counted[str(game)][kind]
            ours = pairs[not game.betting]  # with betting the thesis did not make anybody follow suit
            same += sum(ours) == thesis
            cells = [f"{thesis:,}", both(ours), both(pairs[True])]
            if table == "3.2":
                maximal = counted[str(game)]["maximal"]
                cells += [f"{sum(maximal[not game.betting]):,}", f"{sum(maximal[True]):,}"]
            rows.append((str(game), *cells))
        head = ("suits/ranks/hand", "thesis", "as the thesis counted", "real rules")
        more = ("largest isomorphism: as the thesis", "largest isomorphism: real rules") if table == "3.2" else ()
        yield Sheet(
            f"Table {table}: {what}, both players (player 1 + player 2)", (*head, *more), rows,
            f"{same} of {len(rows)} of the thesis' counts are met exactly. With betting they come from rules in which "
            "nobody has to follow suit; without betting from the real ones."
            + (" The largest isomorphism also resolves ties by the history." if table == "3.2" else ""),
            table=table,
        )  # fmt: skip


def size_sheet(trained: Mapping[bool, AbstractionCurves]) -> Sheet:
    rows = [(name, SHOWN.get(name, ""), *(f"{trained[m].sizes[name]:,}" for m in MODES)) for name in NAMES]
    return Sheet(
        "Rows of abstractions of 3/3/3 with betting", ("abstraction", "thesis", *(MODE_NAMES[m] for m in MODES)), rows,
        "The two by strength are ours: hands in 8 buckets by what they are worth under a solved strategy, with the "
        "whole history (strength) or with the cards played and the ante (strength-history).",
    )  # fmt: skip


def value_sheet(results: ThesisResults) -> Sheet:
    rows = [(str(game), MODE_NAMES[True], f"{value:.6f}" + f" = {fraction}" * bool(fraction))
            for game, (value, fraction) in results.values.items()]  # fmt: skip
    bounds = [(mode, *results.trained[mode].value) for mode in MODES]
    rows += [(str(LARGE), MODE_NAMES[mode], f"between {low:.4f} and {high:.4f}") for mode, low, high in bounds]
    return Sheet(
        "What the hand is worth to player 1, who leads", ("suits/ranks/hand", "rules", "value"), rows,
        f"By the linear programme; for {LARGE} with betting what best responses leave open after pcfr+.",
    )  # fmt: skip


def end_sheet(small: Mapping[tuple[bool, bool], Mapping[str, ConvergenceCurves]]) -> Sheet:
    """NashConv in the end, by all who measure it."""
    rows = []
    for (betting, mode), games in small.items():
        for deck, c in games.items():
            name = f"{deck}, {'betting' if betting else 'no betting'}" + (", thesis mode" if not mode else "")
            last = [Spread(tuple(each.values[:, -1].tolist())) for each in (c.real, c.even, c.seen, c.approximate)]
            rows.append((name, f"{c.uniform:.3f}", *(spread.text_with_range(4) for spread in last)))
    return Sheet(
        "NashConv after the last iteration (Table 4.1's games): mean ± sd [least, greatest]",
        ("game", "uniform play", "exact", "tied cards evened out", "for an opponent with the thesis' names of suits",
         "the thesis' best response"), rows,
        "NashConv is what best responses of both players gain together; exploitability is half of it, and what the "
        "thesis calls exploitability is NashConv. Evened out: cards that are the same to a player but "
        "for names of suits are played equally often. The thesis' best response is a run of MCCFR for one player "
        "against the other's fixed strategy, so it is a lower bound and can be below zero.",
    )  # fmt: skip


def abstraction_sheet(trained: Mapping[bool, AbstractionCurves]) -> Sheet:
    rows = []
    for mode in MODES:
        t = trained[mode]
        for name in NAMES:
            score = "0 by definition" if name == BASELINE else _spread(t.score[name].values[:, -1], 4)
            reached = t.reached[name].values[:, -1].mean()
            rows.append((f"{name}, {MODE_NAMES[mode]}", score, f"{reached:,.0f}", f"{t.sizes[name]:,}",
                         _spread(t.gap[name].values[:, -1], 3), _spread(np.array(t.even[name]), 3)))  # fmt: skip
    return Sheet(
        "Abstractions of 3/3/3 with betting after the last iteration: mean ± sd",
        ("abstraction", "score", "rows reached", "of", "NashConv", "NashConv, tied cards evened out"), rows,
        "Score: mean payoff against the non-abstracted strategy of the same repetition, as either player, exactly. "
        "NashConv: of the strategy as the real game plays it, exactly, both players together; the thesis could not "
        "compute it.",
    )  # fmt: skip


def _spread(values: NDArray[np.float64], digits: int) -> str:
    return Spread(tuple(values.tolist())).text(digits)


# Pictures


def line_of(name: str, curve: Curve, dashed: bool = False, like: str = "") -> Line:
    return line(name, curve.at, curve.values, dashed, like)


def nash_conv_curves(figure: str, games: Mapping[str, Mapping[str, ConvergenceCurves]], text: str) -> Curves:
    panels = []
    for title, decks in games.items():
        pairs = ((line_of(deck, decks[deck].real), line_of("", decks[deck].approximate, True, deck)) for deck in DECKS)
        panels.append(FigurePanel(title, tuple(each for pair in pairs for each in pair)))
    return Curves(
        f"figure-{figure}", f"Figure {figure}: NashConv of MCCFR, hand size 2", "NashConv, chips", tuple(panels),
        log_y=True, palette=DECKS, text=text,
        note="Lines: exact, mean and standard deviation. Dashes: the thesis' approximate best response, where "
        "it is above zero.",
    )  # fmt: skip


class AbstractionFigure(NamedTuple):
    """A figure of curves of abstractions, a panel for each mode."""

    name: str  # of the file
    title: str
    label: str
    curves: str  # the field of AbstractionCurves that is drawn
    names: Sequence[str]  # of abstractions
    level: Callable[[AbstractionCurves], tuple[str, float]] | None = None  # a height with its name
    log_x: bool = True
    log_y: bool = False


def abstraction_curves(figure: AbstractionFigure, trained: Mapping[bool, AbstractionCurves], text: str) -> Curves:
    panels = []
    for mode in MODES:
        curves = getattr(trained[mode], figure.curves)
        lines = tuple(line_of(name, curves[name]) for name in figure.names)
        levels = () if figure.level is None else (figure.level(trained[mode]),)
        panels.append(FigurePanel(MODE_NAMES[mode], lines, levels))
    return Curves(figure.name, figure.title, figure.label, tuple(panels), figure.log_x, figure.log_y, NAMES, text=text)


def score_figure(number: str, names: Sequence[str]) -> AbstractionFigure:
    return AbstractionFigure(
        f"figure-{number}", f"Figure {number}: score against the non-abstracted strategy of the same age",
        "mean payoff a hand, chips", "score", names, lambda trained: ("the non-abstracted strategy", 0.0),
    )  # fmt: skip


REACHED = AbstractionFigure(
    "figure-4.5", "Figure 4.5: rows reached in training", "rows", "reached",
    (BASELINE, "simple-hand", *THESIS[3:], *BY_STRENGTH),
    lambda trained: (f"all {trained.sizes[BASELINE]:,} of {BASELINE}", float(trained.sizes[BASELINE])), log_x=False,
)  # fmt: skip
NASH_CONV = AbstractionFigure("nash-conv", "NashConv of all abstractions in the real game (not in the thesis)",
                              "NashConv, chips", "gap", NAMES, log_y=True)  # fmt: skip


# All of it


def page(plan: PaperPlan, results: ThesisResults, claims: Sequence[Claim]) -> Page:
    """Both tables and all figures."""
    trained, small = results.trained, results.small
    return Page(
        about=about(plan),
        departs=(
            "MCCFR with external sampling as defined: regrets of a sampled walk are not weighted by the opponent's "
            "reach again, and opponents play their current strategy, not their average.",
            "NashConv, which the thesis calls exploitability, is exact, in the real game; the thesis' approximation is "
            "drawn beside it in dashes.",
            "Scores are exact expectations, where the thesis played 20,000 hands.",
            "Looks are at some iterations only, closely at first; the thesis looked at 500 or 1,000 intervals.",
            "Figures 4.2 to 4.5 and the NashConv 0.914 of the thesis come from a game with another payoff and "
            "without following suit, and from other updates: they are no targets, and are not drawn.",
        ),
        notes=(claims_about.tied_suits(results),),
        sheets=(*count_sheets(results.counted), size_sheet(trained), value_sheet(results), end_sheet(small),
                abstraction_sheet(trained)),
        pictures=pictures(results, claims),
        figures={
            "unit": "chips",
            "counts": {
                game: {kind: {MODE_NAMES[s]: list(pair) for s, pair in of.items()} for kind, of in kinds.items()}
                for game, kinds in results.counted.items()
            },
            "thesis": {table: dict(zip(map(str, GAMES), numbers, strict=True)) for table, numbers in TABLES.items()},
            "values": {str(game): value for game, (value, _) in results.values.items()},
            "nash_conv": {
                f"{deck}, {'betting' if betting else 'no betting'}, {MODE_NAMES[mode]}": converged_data(c)
                for (betting, mode), games in small.items()
                for deck, c in games.items()
            },
            "abstractions": {MODE_NAMES[mode]: trained_data(t) for mode, t in trained.items()},
        },
        summary=claims_about.summary(claims),
    )  # fmt: skip


def about(plan: PaperPlan) -> str:
    half, evaluation = le2021_runs.iterations_of(plan)
    hurried = (
        f" This is a quick look: {plan.starts} repetitions of {half:,} and {plan.iterations:,} iterations, where the "
        "thesis has 15 of 50,000 and 100,000; most conclusions are about longer runs."
    )
    return (
        f"Toepen with small decks, trained by MCCFR from the seeds {plan.seeds[0]} to {plan.seeds[-1]}: the six games "
        f"of Table 4.1 for {half:,} iterations, and 3 suits, 3 ranks, hand size 3 with betting for "
        f"{plan.iterations:,} under the thesis' renaming of suits (non-abstracted), its six abstractions and two of "
        f"ours. The thesis' best responses take {evaluation:,} iterations for the small games. Games with betting are "
        "played by the real rules and in thesis mode, in which nobody has to follow suit." + hurried * plan.quick
    )


def pictures(results: ThesisResults, claims: Sequence[Claim]) -> tuple[Curves, ...]:
    def text(figure: str) -> str:
        return claims_about.paragraph(figure, results, claims)

    small, trained = results.small, results.trained
    betting = {f"betting, {MODE_NAMES[m]}": small[True, m] for m in MODES}
    return (
        nash_conv_curves("4.1", {"no betting": small[False, True]}, text("Fig. 4.1")),
        nash_conv_curves("4.2", betting, text("Fig. 4.2")),
        abstraction_curves(score_figure("4.3", THESIS[:3]), trained, text("Fig. 4.3")),
        abstraction_curves(score_figure("4.4", (*THESIS[3:], *BY_STRENGTH)), trained, text("Fig. 4.4")),
        abstraction_curves(REACHED, trained, text("Fig. 4.5")),
        abstraction_curves(NASH_CONV, trained, text("nash_conv")),
    )


def converged_data(c: ConvergenceCurves) -> dict[str, Any]:
    return {"uniform": c.uniform, "exact": c.real.data(), "tied_cards_evened_out": c.even.data(),
            "thesis_names_of_suits": c.seen.data(), "thesis_best_response": c.approximate.data()}  # fmt: skip


def trained_data(t: AbstractionCurves) -> dict[str, Any]:
    curves = {"score": t.score, "reached": t.reached, "nash_conv": t.gap}
    return {
        "rows": dict(t.sizes), "value_between": list(t.value), "uniform": t.uniform,
        "thesis_best_response": list(t.approximate),
        "tied_cards_evened_out": {name: list(values) for name, values in t.even.items()},
        **{what: {name: curve.data() for name, curve in of.items()} for what, of in curves.items()},
    }  # fmt: skip


EXPERIMENT = Experiment(
    "le2021", TITLE, le2021_runs.PLAN, le2021_runs.QUICK, le2021_runs.runs, le2021_runs.gather, claims_about.claims,
    page, "repetition", tables=("3.1", "3.2"),
)  # fmt: skip
