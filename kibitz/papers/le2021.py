"""[Le 2021]: A Game-theoretic Approach to the Card Game Toepen, Tables 3.1 and 3.2, Figures 4.1 to 4.5.

Everything about games with betting is done twice: in the real rules, and in thesis mode (follow_suit=false), the rules
that the thesis' counts come from. Its own curves cannot be targets: its code had a wrong sign in a payoff, weighted
sampled regrets once too often and measured NashConv, which it calls exploitability, by a search that finds too little.
So its conclusions are compared with MCCFR as defined, measured exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.papers import le2021_claims as claims_about
from kibitz.papers.claims import Claim
from kibitz.papers.experiment import Experiment, Page, Plan
from kibitz.papers.le2021_claims import DECKS, TABLES
from kibitz.papers.le2021_course import ABSTRACTIONS, BASELINE, BY_STRENGTH, THESIS
from kibitz.papers.le2021_runs import (
    GAMES,
    LARGE,
    MODE_NAMES,
    MODES,
    PLAN,
    QUICK,
    Converged,
    Results,
    Trained,
    gather,
    is_quick,
    iterations_of,
    runs,
)
from kibitz.report.figures import Curves, Panel, Sheet, Spread, line

TITLE = "A Game-theoretic Approach to the Card Game Toepen (Le 2021)"
# The sizes of its abstractions that the thesis names or shows; the others follow from its rules.
SHOWN = {"naive": "4", "simple-history": "166", "simple-hand": "about 200,000", BASELINE: "376,958"}
NAMES = (BASELINE, *ABSTRACTIONS)


def count_sheets(found: Mapping[str, Mapping[str, Mapping[bool, tuple[int, int]]]]) -> Iterator[Sheet]:
    def both(pair: tuple[int, int]) -> str:
        return f"{sum(pair):,} ({pair[0]:,} + {pair[1]:,})"

    for table, kind, what in (("3.1", "null", "infosets"), ("3.2", BASELINE, "infosets after card isomorphism")):
        rows, same = [], 0
        for game, thesis in zip(GAMES, TABLES[table], strict=True):
            pairs = found[str(game)][kind]
            ours = pairs[not game.betting]  # with betting the thesis did not make anybody follow suit
            same += sum(ours) == thesis
            cells = [f"{thesis:,}", both(ours), both(pairs[True])]
            if table == "3.2":
                maximal = found[str(game)]["maximal"]
                cells += [f"{sum(maximal[not game.betting]):,}", f"{sum(maximal[True]):,}"]
            rows.append((str(game), *cells))
        head = ("suits/ranks/hand", "thesis", "as the thesis counted", "real rules")
        more = ("largest isomorphism: as the thesis", "largest isomorphism: real rules") if table == "3.2" else ()
        yield Sheet(
            f"Table {table}: {what}, both players (player 1 + player 2)",
            (*head, *more),
            rows,
            f"{same} of {len(rows)} of the thesis' counts are met exactly. With betting they come from rules in which "
            "nobody has to follow suit; without betting from the real ones."
            + (" The largest isomorphism also resolves ties by the history." if table == "3.2" else ""),
            table=table,
        )


def size_sheet(trained: Mapping[bool, Trained]) -> Sheet:
    names = (BASELINE, *ABSTRACTIONS)
    rows = [(name, SHOWN.get(name, ""), *(f"{trained[m].sizes[name]:,}" for m in MODES)) for name in names]
    return Sheet(
        "Rows of abstractions of 3/3/3 with betting",
        ("abstraction", "thesis", *(MODE_NAMES[m] for m in MODES)),
        rows,
        "The two by strength are ours: hands in 8 buckets by what they are worth under a solved strategy, with the "
        "whole history (strength) or with the cards played and the ante (strength-history).",
    )


def value_sheet(results: Results) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for game, (value, fraction) in results.values.items():
        rows.append((str(game), MODE_NAMES[True], f"{value:.6f}" + f" = {fraction}" * bool(fraction)))
    for mode in MODES:
        low, high = results.trained[mode].value
        rows.append((str(LARGE), MODE_NAMES[mode], f"between {low:.4f} and {high:.4f}"))
    return Sheet(
        "What the hand is worth to player 1, who leads",
        ("suits/ranks/hand", "rules", "value"),
        rows,
        f"By the linear programme; for {LARGE} with betting what best responses leave open after pcfr+.",
    )


def end_sheet(small: Mapping[tuple[bool, bool], Mapping[str, Converged]]) -> Sheet:
    """NashConv in the end, by all who measure it."""
    rows = []
    for (betting, mode), games in small.items():
        for deck, found in games.items():
            name = f"{deck}, {'betting' if betting else 'no betting'}" + (", thesis mode" if not mode else "")
            last = [found.real, found.even, found.seen, found.approximate]
            cells = [Spread(tuple(curve.values[:, -1].tolist())).text_with_range(4) for curve in last]
            rows.append((name, f"{found.uniform:.3f}", *cells))
    return Sheet(
        "NashConv after the last iteration (Table 4.1's games): mean ± sd [least, greatest]",
        (
            "game",
            "uniform play",
            "exact",
            "tied cards evened out",
            "for an opponent with the thesis' names of suits",
            "the thesis' best response",
        ),
        rows,
        "NashConv is what best responses of both players gain together; exploitability is half of it, and what the "
        "thesis calls exploitability is NashConv. Evened out: cards that are the same to a player but "
        "for names of suits are played equally often. The thesis' best response is a run of MCCFR for one player "
        "against the other's fixed strategy, so it is a lower bound and can be below zero.",
    )


def abstraction_sheet(trained: Mapping[bool, Trained]) -> Sheet:
    rows = []
    for mode in MODES:
        t = trained[mode]
        for name in (BASELINE, *ABSTRACTIONS):
            cells = [
                _spread(t.score[name].values[:, -1], 4) if name != BASELINE else "0 by definition",
                f"{t.reached[name].values[:, -1].mean():,.0f}",
                f"{t.sizes[name]:,}",
                _spread(t.gap[name].values[:, -1], 3),
                _spread(np.array(t.even[name]), 3),
            ]
            rows.append((f"{name}, {MODE_NAMES[mode]}", *cells))
    return Sheet(
        "Abstractions of 3/3/3 with betting after the last iteration: mean ± sd",
        ("abstraction", "score", "rows reached", "of", "NashConv", "NashConv, tied cards evened out"),
        rows,
        "Score: mean payoff against the non-abstracted strategy of the same repetition, as either player, exactly. "
        "NashConv: of the strategy as the real game plays it, exactly, both players together; the thesis could not "
        "compute it.",
    )


def _spread(values: NDArray[np.float64], digits: int) -> str:
    return Spread(tuple(values.tolist())).text(digits)


# Pictures


def nash_conv_curves(name: str, figure: str, found: Mapping[str, Mapping[str, Converged]], text: str) -> Curves:
    panels = tuple(
        Panel(
            title,
            tuple(
                made
                for deck in DECKS
                for made in (
                    line(deck, games[deck].real.looks, games[deck].real.values),
                    line("", games[deck].approximate.looks, games[deck].approximate.values, True, deck),
                )
            ),
        )
        for title, games in found.items()
    )
    return Curves(
        name,
        f"Figure {figure}: NashConv of MCCFR, hand size 2",
        "NashConv, chips",
        panels,
        log_y=True,
        palette=DECKS,
        note="Lines: exact, mean and standard deviation. Dashes: the thesis' approximate best response, where "
        "it is above zero.",
        text=text,
    )


def score_curves(name: str, figure: str, trained: Mapping[bool, Trained], names: Sequence[str], text: str) -> Curves:
    panels = tuple(
        Panel(
            MODE_NAMES[mode],
            tuple(line(each, trained[mode].score[each].looks, trained[mode].score[each].values) for each in names),
            (("the non-abstracted strategy", 0.0),),
        )
        for mode in MODES
    )
    return Curves(
        name,
        f"Figure {figure}: score against the non-abstracted strategy of the same age",
        "mean payoff a hand, chips",
        panels,
        palette=NAMES,
        text=text,
    )


def other_curves(
    name: str,
    title: str,
    label: str,
    trained: Mapping[bool, Trained],
    what: str,
    names: Sequence[str],
    text: str,
    levels: bool = False,
    log_x: bool = True,
    log_y: bool = False,
) -> Curves:
    panels = []
    for mode in MODES:
        curves = getattr(trained[mode], what)
        lines = tuple(line(each, curves[each].looks, curves[each].values) for each in names)
        top = ((f"all {trained[mode].sizes[BASELINE]:,} of {BASELINE}", float(trained[mode].sizes[BASELINE])),)
        panels.append(Panel(MODE_NAMES[mode], lines, top if levels else ()))
    return Curves(name, title, label, tuple(panels), log_x, log_y, NAMES, text=text)


# All of it


def page(plan: Plan, results: Results, claims: Sequence[Claim]) -> Page:
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
        sheets=(
            *count_sheets(results.counted),
            size_sheet(trained),
            value_sheet(results),
            end_sheet(small),
            abstraction_sheet(trained),
        ),
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
    )


def about(plan: Plan) -> str:
    half, evaluation = iterations_of(plan)
    hurried = (
        f" This is a quick look: {plan.starts} repetitions of {half:,} and {plan.iterations:,} iterations, where the "
        "thesis has 15 of 50,000 and 100,000; most conclusions are about longer runs."
    )
    return (
        f"Toepen with small decks, trained by MCCFR from the seeds {plan.seeds[0]} to {plan.seeds[-1]}: the six games "
        f"of Table 4.1 for {half:,} iterations, and 3 suits, 3 ranks, hand size 3 with betting for "
        f"{plan.iterations:,} under the thesis' renaming of suits (non-abstracted), its six abstractions and two of "
        f"ours. The thesis' best responses take {evaluation:,} iterations for the small games. Games with betting are "
        "played by the real rules and in thesis "
        "mode, in which nobody has to follow suit." + hurried * is_quick(plan)
    )


def pictures(results: Results, found: Sequence[Claim]) -> tuple[Curves, ...]:
    def text(figure: str) -> str:
        return claims_about.paragraph(figure, results, found)

    small, trained = results.small, results.trained
    simple, advanced = THESIS[:3], THESIS[3:]
    return (
        nash_conv_curves("figure-4.1", "4.1", {"no betting": small[False, True]}, text("Fig. 4.1")),
        nash_conv_curves(
            "figure-4.2", "4.2", {f"betting, {MODE_NAMES[m]}": small[True, m] for m in MODES}, text("Fig. 4.2")
        ),
        score_curves("figure-4.3", "4.3", trained, simple, text("Fig. 4.3")),
        score_curves("figure-4.4", "4.4", trained, (*advanced, *BY_STRENGTH), text("Fig. 4.4")),
        other_curves(
            "figure-4.5",
            "Figure 4.5: rows reached in training",
            "rows",
            trained,
            "reached",
            (BASELINE, "simple-hand", *advanced, *BY_STRENGTH),
            text("Fig. 4.5"),
            levels=True,
            log_x=False,
        ),
        other_curves(
            "nash-conv",
            "NashConv of all abstractions in the real game (not in the thesis)",
            "NashConv, chips",
            trained,
            "gap",
            (BASELINE, *ABSTRACTIONS),
            text("nash_conv"),
            log_y=True,
        ),
    )


def converged_data(c: Converged) -> dict[str, Any]:
    return {
        "uniform": c.uniform,
        "exact": {"at": list(c.real.looks), "runs": c.real.values.tolist()},
        "tied_cards_evened_out": {"at": list(c.even.looks), "runs": c.even.values.tolist()},
        "thesis_names_of_suits": {"at": list(c.seen.looks), "runs": c.seen.values.tolist()},
        "thesis_best_response": {"at": list(c.approximate.looks), "runs": c.approximate.values.tolist()},
    }


def trained_data(t: Trained) -> dict[str, Any]:
    curves = {"score": t.score, "reached": t.reached, "nash_conv": t.gap}
    return {
        "rows": dict(t.sizes),
        "value_between": list(t.value),
        "uniform": t.uniform,
        "thesis_best_response": list(t.approximate),
        "tied_cards_evened_out": {name: list(values) for name, values in t.even.items()},
        **{
            what: {name: {"at": list(c.looks), "runs": c.values.tolist()} for name, c in of.items()}
            for what, of in curves.items()
        },
    }


EXPERIMENT = Experiment(
    "le2021", TITLE, PLAN, QUICK, runs, gather, claims_about.claims, page, "repetition", tables=("3.1", "3.2")
)
