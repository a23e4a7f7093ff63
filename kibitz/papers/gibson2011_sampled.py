"""[Gibson & Szafron 2011, Table 1] for two players by the paper's own method: what came of it, beside random starts.

The paper ran chance-sampled CFR for 100 million iterations. What it leaves open is tried in shorter runs (READINGS);
and experts with S=N are taken away one by one, to see what is owed to those to which the base hardly ever comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from kibitz.evaluate import exploitability
from kibitz.forms.abstraction import AbstractGame
from kibitz.forms.profile import Profile
from kibitz.games.tree import Tree
from kibitz.papers import gibson2011_runs as leduc
from kibitz.papers.claims import Claim
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.gibson2011_runs import ALL, BASE, BASES, PAPER_ROWS, READINGS, LeducLayout, LeducResults
from kibitz.papers.runs import Answers
from kibitz.papers.stitching import SampledBuilder, met
from kibitz.report.figures import Sheet, Spread
from kibitz.stitch.columns import columns_of
from kibitz.stitch.experts import experts
from kibitz.stitch.partition import Partition

SAMPLED, AS_THE_PAPER = leduc.SAMPLED, leduc.AS_THE_PAPER
SHOWN = "JQ-K"  # the base abstraction of the paper's half of the table
# A figure comes out if it is this near to the paper's, in milli-antes: five times what the paper says its solutions may
# be away from an equilibrium of their abstract game.
NEAR, TWICE = 5.0, 10.0
EARNS, EXPLOIT = "earns", "exploitability"
LESSONS, LESSON_SEEDS = (1, 3, 10, 30, 100, 300), 5  # iterations that come to the expert to which fewest do
Figures = dict[tuple[str, str], Spread]  # (strategy, EARNS or EXPLOIT) -> milli-antes
Published = Mapping[tuple[str, str], float]  # the same as the paper has them


@dataclass(frozen=True)
class SwappedExpert:
    """Static S=N All of SHOWN with the expert of one part replaced, in milli-antes; a value for each seed."""

    part: str
    comes: Spread  # how often a hand that the base plays comes there
    uniform: Figures  # the expert plays uniformly
    without: Figures  # there is no such expert: the base plays


@dataclass(frozen=True)
class TaughtExpert:
    """Static S=N All of SHOWN with an expert to which so many iterations came, about; a value for each seed."""

    lessons: int
    figures: Figures


@dataclass(frozen=True)
class SampledResults:
    """What came of the paper's own method. Results are over seeds."""

    iterations: int
    results: LeducResults
    shorter: int  # iterations of the readings
    readings: Mapping[str, LeducResults]
    swapped: tuple[SwappedExpert, ...]
    taught: tuple[TaughtExpert, ...]  # of the expert to which the base comes least often
    seconds: float  # that the iterations of `results` took, one game after another

    @property
    def seeds(self) -> int:
        return len(self.results.earns[SHOWN][BASE].values)


# Results


def gather_sampled(plan: PaperPlan, answers: Answers) -> SampledResults:
    layout, sizes = leduc.plain_layout(2), answers["sizes"][0]
    tree = layout.tree
    built = _by_seed(tree, answers[SAMPLED])
    pieces = {each: answers[f"{SAMPLED}, {each}"] for each in READINGS}
    readings = {each: _measured(tree, sizes, _by_seed(tree, of), of) for each, of in pieces.items()}
    swapped = _swaps(tree, layout.everywhere, built)
    return SampledResults(
        plan.sampled, _measured(tree, sizes, built, answers[SAMPLED]), leduc.shorter(plan), readings, tuple(swapped),
        tuple(_lessons(layout, built[0], swapped, plan)), sum(piece["seconds"] for piece in answers[SAMPLED]),
    )  # fmt: skip


Built = dict[str, dict[str, Profile]]  # by base abstraction and strategy


def _by_seed(tree: Tree, pieces: Sequence[Any]) -> list[Built]:
    """Pieces are seed by seed, a base after another."""

    def profiles(piece: Any) -> dict[str, Profile]:
        rows = piece["strategies"]
        return {name: Profile(tree.infosets, np.array(rows[name]), {"tree": tree.digest}) for name in PAPER_ROWS}

    bases = list(BASES)
    return [
        {base: profiles(piece) for base, piece in zip(bases, pieces[k : k + len(bases)], strict=True)}
        for k in range(0, len(pieces), len(bases))
    ]


def _measured(tree: Tree, sizes: Any, built: Sequence[Built], pieces: Sequence[Any]) -> LeducResults:
    worst, games = max(piece["gap"] for piece in pieces), sum(piece["games"] for piece in pieces)
    figures = [leduc.measured(tree, each) | {"gap": worst, "games": 0} for each in built]
    figures[0]["games"] = games
    return leduc.results(2, sizes, figures)


def _swaps(tree: Tree, parts: Partition, built: Sequence[Built]) -> list[SwappedExpert]:
    uniform = 1.0 / tree.infosets.width[tree.infosets.row_of_column]
    result = []
    for part in range(1, parts.parts + 1):
        where = columns_of(parts, part, (0, 1))
        comes = [_comes(tree, each[SHOWN][BASE], parts, part) for each in built]
        both: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for of_base, each in product(both, built):
            rows = each[SHOWN]
            mixed = np.where(where, rows[BASE].probabilities if of_base else uniform, rows[ALL].probabilities)
            both[of_base].append(_figures_of(tree, each, Profile(tree.infosets, mixed, {"tree": tree.digest})))
        result.append(SwappedExpert(parts.names[part], Spread(tuple(comes)), *map(_spreads, both.values())))
    return result


def _spreads(seeds: Sequence[dict[str, float]]) -> Figures:
    """Figures of S=N over all seeds."""
    return {(ALL, what): Spread(tuple(figures[what] for figures in seeds)) for what in (EARNS, EXPLOIT)}


def _lessons(
    layout: LeducLayout, built: Built, swapped: Sequence[SwappedExpert], plan: PaperPlan
) -> list[TaughtExpert]:
    """The expert to which the base of the first seed comes least often, taught anew and less, from several seeds."""
    tree, parts, rows = layout.tree, layout.everywhere, built[SHOWN]
    part = 1 + min(range(len(swapped)), key=lambda k: swapped[k].comes.mean)
    often, where = swapped[part - 1].comes.values[0], columns_of(parts, part, (0, 1))
    every = experts(tree, rows[BASE], parts, "all", layout.expert, layout.bases[SHOWN])
    expert = next(each for each in every if each.part == part)
    assert isinstance(expert.game, AbstractGame)  # experts of a tree
    result = []
    for lessons in LESSONS:
        if lessons > often * plan.sampled:
            break  # more than it had
        seeds = []
        for seed in range(plan.seed, plan.seed + LESSON_SEEDS):
            maker = SampledBuilder(tree, seed, math.ceil(lessons / often))
            play = maker.solve(expert.game, rows[BASE]).probabilities
            seeds.append(_figures_of(tree, built, maker.profile(np.where(where, play, rows[ALL].probabilities))))
        result.append(TaughtExpert(lessons, _spreads(seeds)))
    return result


def _figures_of(tree: Tree, built: Built, strategy: Profile) -> dict[str, float]:
    rows = {**built, SHOWN: {**built[SHOWN], "swapped": strategy}}
    earned = leduc.earnings(tree, rows)[SHOWN]["swapped"]
    return {EARNS: 1000.0 * earned, EXPLOIT: 1000.0 * exploitability(tree, strategy)}


def _comes(tree: Tree, base: Profile, parts: Partition, part: int) -> float:
    """The probability that a hand which the base plays in both seats comes into a part."""
    reach, inside, total = np.ones(tree.histories), np.zeros(tree.histories, bool), 0.0
    for at in range(1, tree.histories):
        above = int(tree.parent[at])
        if tree.turn[above] >= 0:
            column = tree.infosets.first[tree.infoset[above]] + tree.action[at]
            reach[at] = reach[above] * base.probabilities[column]
        else:
            reach[at] = reach[above] * tree.chance[at]
        here = tree.turn[at] >= 0 and parts.part[tree.infoset[at]] == part
        if here and not inside[above]:
            total += reach[at]
        inside[at] = inside[above] or here
    return float(total)


# What the page says of it


def table(r: LeducResults) -> Figures:
    """The ten figures of the paper's half of the table."""
    both = ((EARNS, r.earns), (EXPLOIT, r.exploit))
    return {(name, what): spreads[SHOWN][name] for name in PAPER_ROWS for what, spreads in both}


def published(paper: Mapping[str, tuple[int, float, float | None]]) -> Published:
    """The same as the paper has them. paper: size, earnings and exploitability by strategy."""
    pairs = {name: zip((EARNS, EXPLOIT), paper[name][1:], strict=True) for name in PAPER_ROWS}
    return {(name, what): number for name, both in pairs.items() for what, number in both if number is not None}


def near(ours: Figures, paper: Published, by: float = NEAR) -> list[tuple[str, str]]:
    """The figures that come out: those whose mean is near the paper's."""
    return [key for key, figure in paper.items() if abs(ours[key].mean - figure) <= by]


def _cell(spread: Spread) -> str:
    return f"{spread.mean:.2f}" if len(spread.values) == 1 else spread.text(2)


def verdict(s: SampledResults, paper: Published, starts: Mapping[float, LeducResults]) -> str:
    """Whether the paper's figures come out, in plain words."""
    close, figures = near(table(s.results), paper), len(paper)
    named = f" ({', '.join(f'{name} {what}' for name, what in close)})" if 0 < len(close) < figures else ""
    come = "do not come out" if len(close) < figures / 2 else "come out in part"
    come = "all come out" if len(close) == figures else come
    best = {w: len(near(table(r), paper)) for w, r in sorted(starts.items())}
    of_starts = ", ".join(f"{count} at {w:g}" for w, count in best.items())
    seeds = "one seed" if s.seeds == 1 else f"{s.seeds} seeds"
    return (
        f"By the paper's own method its figures for two players {come}: {SAMPLED} for {s.iterations:,} iterations "
        f"from a uniform start ({seeds}) brings {len(close)} of {figures} within {NEAR:g} milli-antes of the "
        f"paper's{named}; the means of the random starts bring {of_starts}, by the weight of the start."
    )


def method_note(s: SampledResults) -> str:
    """What was done, and how near it came to solving its games."""
    half = s.results.gap / 2.0
    within = "as the paper has it" if half <= 1.0 else "where the paper has a milli-ante"
    return (
        "An iteration of the paper's method draws the private cards and the flop once, and walks all actions of both "
        "seats, which move at once; the average strategy weighs all iterations alike. What a base plays in the game of "
        "an expert is chance there and is drawn too; where an expert never came it plays uniformly. "
        f"{s.results.games} games took {s.seconds / 60.0:.0f} minutes, one after another: "
        f"{1e6 * s.seconds / (s.iterations * s.results.games):.2f} microseconds an iteration. All were left within "
        f"{half:.2f} milli-antes of an equilibrium of the abstract game ({within}; NashConv / 2)."
    )


def readings_note(s: SampledResults, paper: Published) -> str:
    """What the choices that the paper leaves open do to its figures."""
    counts = {each: len(near(table(r), paper)) for each, r in s.readings.items()}
    plain = table(s.readings[AS_THE_PAPER])
    parts = []
    for each, r in s.readings.items():
        if each == AS_THE_PAPER:
            continue
        moved = {key: spread.mean - plain[key].mean for key, spread in table(r).items()}
        most = max(moved, key=lambda key: abs(moved[key]))
        parts.append(
            f"{each}, {most[0]} {most[1]} by {moved[most]:+.1f} (exploitability {r.gap / 2.0:.1f}, {counts[each]} of "
            f"{len(paper)})"
        )
    noise = max(plain.values(), key=lambda spread: spread.sd).sd
    farthest = {key: abs(spread.mean - table(s.results)[key].mean) for key, spread in plain.items()}
    drift = max(farthest, key=lambda key: farthest[key])
    return (
        f"What the paper leaves open was tried in runs of {s.shorter:,} iterations over "
        f"{len(next(iter(plain.values())).values)} seeds. From one seed to another figures scatter there by up to "
        f"{noise:.1f} milli-antes (standard deviation). Against {AS_THE_PAPER} ({counts[AS_THE_PAPER]} of "
        f"{len(paper)} near the paper's) the figure that moves most is: {'; '.join(parts)}. From there to "
        f"{s.iterations:,} iterations {drift[0]} {drift[1]} moves most, by {farthest[drift]:.1f}."
    )


def swaps_note(s: SampledResults, paper: Published) -> str:
    """Whether the figures of S=N rest on what experts do where the base hardly ever comes."""
    rare = min(s.swapped, key=lambda each: each.comes.mean)
    uniform, without = rare.uniform[ALL, EXPLOIT].mean, rare.without[ALL, EXPLOIT].mean
    return (
        f"A hand that the base {SHOWN} plays comes to its {rare.part} expert with a probability of "
        f"{rare.comes.mean:.1e}: about {s.iterations * rare.comes.mean:,.0f} of {s.iterations:,} iterations teach that "
        f"expert anything. {ALL} is exploitable by {table(s.results)[ALL, EXPLOIT].mean:.0f} milli-antes with what it "
        f"learnt, by {uniform:.0f} if it is made uniform and by {without:.0f} if it is left out; the paper has "
        f"{paper[ALL, EXPLOIT]:.2f}.{_lessons_told(s, paper)}"
    )


def _lessons_told(s: SampledResults, paper: Published) -> str:
    if not s.taught:
        return ""
    after = ", ".join(f"{each.figures[ALL, EXPLOIT].mean:.0f} after {each.lessons}" for each in s.taught)
    fits = {
        what: [e.lessons for e in s.taught if e.figures[ALL, what].low <= paper[ALL, what] <= e.figures[ALL, what].high]
        for what in (EXPLOIT, EARNS)
    }
    says = [f"its {what} after {' or '.join(map(str, of)) if of else 'none of these'}" for what, of in fits.items()]
    both = "the two come out together" if set(fits[EXPLOIT]) & set(fits[EARNS]) else "the two never come out together"
    return (
        f" Were fewer iterations to come there, it would be {after} of them, in the mean of {LESSON_SEEDS} seeds. What "
        f"the paper has lies between the least and the greatest of these seeds for {' and '.join(says)}: {both}."
    )


def sheets(
    s: SampledResults, paper: Published, starts: Mapping[float, LeducResults], claims: Callable[[LeducResults], Any]
) -> tuple[Sheet, ...]:
    """claims: what the paper says of its table, tried on some results."""
    lessons = (_lessons_sheet(s, paper),) if s.taught else ()
    return _side_by_side(s, paper, starts), _readings(s, paper), _tried(s, claims), _swaps_sheet(s, paper), *lessons


def _side_by_side(s: SampledResults, paper: Published, starts: Mapping[float, LeducResults]) -> Sheet:
    own, weights = table(s.results), sorted(starts)
    others = {w: table(starts[w]) for w in weights}
    rows = [
        (f"{name} {what}", f"{figure:.2f}", _cell(own[name, what]), f"{own[name, what].mean - figure:+.2f}",
         *(others[w][name, what].text(2) for w in weights))
        for (name, what), figure in paper.items()
    ]  # fmt: skip
    of = len(paper)
    for by in (NEAR, TWICE):
        counts = [f"{len(near(each, paper, by))} of {of}" for each in (own, *others.values())]
        rows.append((f"mean within {by:g}", "", counts[0], "", *counts[1:]))
    rows.append(("the paper's between least and greatest", "",
                 f"{met(own, paper)} of {of}" if s.seeds > 1 else "", "",
                 *(f"{met(others[w], paper)} of {of}" for w in weights)))  # fmt: skip
    seeds = "one seed" if s.seeds == 1 else f"mean ± sd over {s.seeds} seeds"
    return Sheet(
        f"Table 1 by the paper's own method: 2 players, base abstraction {SHOWN}, milli-antes per hand",
        ("figure", "paper", f"chance-sampled CFR, {s.iterations:,} iterations", "off by",
         *(f"CFR+, random starts of weight {w:g}" for w in weights)),
        rows, f"Chance-sampled CFR: {seeds}; random starts: mean ± sd over starts.", table=1,
    )  # fmt: skip


def _readings(s: SampledResults, paper: Published) -> Sheet:
    tables = {each: table(r) for each, r in s.readings.items()}
    rows = [
        (f"{name} {what}", f"{figure:.2f}", *(_cell(figures[name, what]) for figures in tables.values()))
        for (name, what), figure in paper.items()
    ]
    close = (len(near(figures, paper)) for figures in tables.values())
    rows.append((f"mean within {NEAR:g}", "", *(f"{count} of {len(paper)}" for count in close)))
    rows.append(("largest exploitability of a solved game", "", *(f"{r.gap / 2.0:.2f}" for r in s.readings.values())))
    return Sheet(
        f"What the paper leaves open: chance-sampled CFR for {s.shorter:,} iterations, base abstraction {SHOWN}",
        ("figure", "paper", *tables), rows,
        "Milli-antes per hand, mean ± sd over seeds. Each column but the first changes one choice: seats move one "
        "after the other on the same deal; moves of the base in the game of an expert are walked in the proportion of "
        "their probabilities and not drawn; iteration t counts t times in the average.",
        table=1,
    )


def _tried(s: SampledResults, claims: Callable[[LeducResults], Any]) -> Sheet:
    own: list[Claim] = list(claims(s.results))
    shorter = {each: {claim.text: claim for claim in claims(r)} for each, r in s.readings.items()}
    rows = [
        (claim.text, claim.cell(claim.truths), *(of[claim.text].cell(of[claim.text].truths) for of in shorter.values()))
        for claim in own
    ]
    every = [own, *(list(of.values()) for of in shorter.values())]
    total = [sum(claim.count == len(claim.truths) for claim in of) for of in every]
    rows.append(("hold for every seed", *(f"{count} of {len(own)}" for count in total)))
    return Sheet(
        "The paper's claims for two players by its own method: seeds for which they hold",
        ("claim", f"{s.iterations:,} iterations", *(f"{each}, {s.shorter:,}" for each in shorter)), rows, table=1,
    )


def _swaps_sheet(s: SampledResults, paper: Published) -> Sheet:
    own = table(s.results)
    rows = [
        (each.part, f"{each.comes.mean:.1e}", f"{s.iterations * each.comes.mean:,.0f}",
         *(_cell(figures[ALL, what]) for what in (EXPLOIT, EARNS) for figures in (each.uniform, each.without)))
        for each in s.swapped
    ]  # fmt: skip
    note = ", ".join(f"{what} {_cell(own[ALL, what])} (paper {paper[ALL, what]:.2f})" for what in (EXPLOIT, EARNS))
    return Sheet(
        f"What {ALL} owes to each of its experts: base abstraction {SHOWN}, {s.iterations:,} iterations",
        ("expert", "the base comes there", "iterations that do", "exploitability if it is uniform", "if it is left out",
         "earns if it is uniform", "if it is left out"),
        rows, f"Milli-antes per hand. As it is: {note}.", table=1,
    )  # fmt: skip


def _lessons_sheet(s: SampledResults, paper: Published) -> Sheet:
    rare = min(s.swapped, key=lambda each: each.comes.mean)
    rows = [
        (f"about {each.lessons}", *(each.figures[ALL, what].text_with_range(2) for what in (EXPLOIT, EARNS)))
        for each in s.taught
    ]
    rows.append(("the paper's", *(f"{paper[ALL, what]:.2f}" for what in (EXPLOIT, EARNS))))
    return Sheet(
        f"{ALL} by the number of iterations that come to its {rare.part} expert: base abstraction {SHOWN}",
        ("iterations that come there", "exploitability: mean ± sd [least, greatest]",
         "earns: mean ± sd [least, greatest]"), rows,
        f"Milli-antes per hand. All else is of the first seed; the expert is taught anew from {LESSON_SEEDS} seeds.",
        table=1,
    )  # fmt: skip


def data(s: SampledResults, figures: Callable[[LeducResults], Any]) -> dict[str, Any]:
    """All numbers. figures: of results, as the page has them."""
    return {
        "iterations": s.iterations, "seconds": s.seconds, "largest_nash_conv": s.results.gap,
        "two_players": figures(s.results),
        "readings": {
            each: {"iterations": s.shorter, "largest_nash_conv": r.gap, "two_players": figures(r)}
            for each, r in s.readings.items()
        },
        "swapped": {
            each.part: {"comes": each.comes.data(), "uniform": _data(each.uniform), "without": _data(each.without)}
            for each in s.swapped
        },
        "taught": {f"{each.lessons}": _data(each.figures) for each in s.taught},
    }  # fmt: skip


def _data(figures: Figures) -> dict[str, Any]:
    return {what: figures[ALL, what].data() for what in (EARNS, EXPLOIT)}
