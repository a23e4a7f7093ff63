"""[Gibson & Szafron 2011, Table 1] for two players by the paper's own method: what came of it, beside random starts.

The paper ran chance-sampled CFR for 100 million iterations. What it leaves open is tried in shorter runs (READINGS);
and experts with S=N are taken away one by one, to see what is owed to those to which the base hardly ever comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.evaluate import exploitability
from kibitz.forms.abstraction import AbstractGame
from kibitz.forms.profile import Profile
from kibitz.games.tree import Tree
from kibitz.papers.claims import Claim
from kibitz.papers.experiment import Plan
from kibitz.papers.gibson2011_runs import (
    ALL,
    AS_THE_PAPER,
    BASE,
    BASES,
    PAPER_ROWS,
    READINGS,
    SAMPLED,
    Layout,
    Results,
    earnings,
    measured,
    plain_layout,
    results,
    shorter,
)
from kibitz.papers.runs import Answers
from kibitz.papers.stitching import SampledBuilder
from kibitz.report.figures import Sheet, Spread
from kibitz.stitch.columns import columns_of
from kibitz.stitch.experts import experts
from kibitz.stitch.partition import Partition

SHOWN = "JQ-K"  # the base abstraction of the paper's half of the table
# A figure comes out if it is this near to the paper's, in milli-antes: five times what the paper says its solutions may
# be away from an equilibrium of their abstract game.
NEAR, TWICE = 5.0, 10.0
EARNS, EXPLOIT = "earns", "exploitability"
LESSONS, LESSON_SEEDS = (1, 3, 10, 30, 100, 300), 5  # iterations that come to the expert to which fewest do
Figures = dict[tuple[str, str], Spread]  # (strategy, EARNS or EXPLOIT) -> milli-antes


@dataclass(frozen=True)
class Swapped:
    """Static S=N All of SHOWN with the expert of one part replaced, in milli-antes; a value for each seed."""

    part: str
    comes: Spread  # how often a hand that the base plays comes there
    uniform: Figures  # the expert plays uniformly
    without: Figures  # there is no such expert: the base plays


@dataclass(frozen=True)
class Taught:
    """Static S=N All of SHOWN with an expert to which so many iterations came, about; a value for each seed."""

    lessons: int
    figures: Figures


@dataclass(frozen=True)
class Sampled:
    """What came of the paper's own method. Results are over seeds."""

    iterations: int
    results: Results
    shorter: int  # iterations of the readings
    readings: Mapping[str, Results]
    swapped: tuple[Swapped, ...]
    taught: tuple[Taught, ...]  # of the expert to which the base comes least often
    seconds: float  # that the iterations of `results` took, one game after another

    @property
    def seeds(self) -> int:
        return len(self.results.earns[SHOWN][BASE].values)


# Results


def gather_sampled(plan: Plan, found: Answers) -> Sampled:
    tree, sizes = plain_layout(2).tree, found["sizes"][0]
    built = _by_seed(tree, found[SAMPLED])
    readings = {
        each: _measured(tree, sizes, _by_seed(tree, found[f"{SAMPLED}, {each}"]), found[f"{SAMPLED}, {each}"])
        for each in READINGS
    }
    swapped = _swaps(tree, plain_layout(2).everywhere, built)
    return Sampled(
        plan.sampled, _measured(tree, sizes, built, found[SAMPLED]), shorter(plan), readings, tuple(swapped),
        tuple(_lessons(plain_layout(2), built[0], swapped, plan)), sum(piece["seconds"] for piece in found[SAMPLED]),
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


def _measured(tree: Tree, sizes: Any, built: Sequence[Built], pieces: Sequence[Any]) -> Results:
    worst, games = max(piece["gap"] for piece in pieces), sum(piece["games"] for piece in pieces)
    found = [measured(tree, each) | {"gap": worst, "games": 0} for each in built]
    found[0]["games"] = games
    return results(2, sizes, found)


def _swaps(tree: Tree, parts: Partition, built: Sequence[Built]) -> list[Swapped]:
    uniform = 1.0 / tree.infosets.width[tree.infosets.row_of_column]
    result = []
    for part in range(1, parts.parts + 1):
        where = columns_of(parts, part, (0, 1))
        comes = [_comes(tree, each[SHOWN][BASE], parts, part) for each in built]
        made = []
        for of_base in (False, True):
            found = []
            for each in built:
                rows = each[SHOWN]
                other = rows[BASE].probabilities if of_base else uniform
                mixed = np.where(where, other, rows[ALL].probabilities)
                found.append(_figures_of(tree, each, Profile(tree.infosets, mixed, {"tree": tree.digest})))
            made.append({(ALL, what): Spread(tuple(f[what] for f in found)) for what in (EARNS, EXPLOIT)})
        result.append(Swapped(parts.names[part], Spread(tuple(comes)), made[0], made[1]))
    return result


def _lessons(given: Layout, built: Built, swapped: Sequence[Swapped], plan: Plan) -> list[Taught]:
    """The expert to which the base of the first seed comes least often, taught anew and less, from several seeds."""
    tree, parts, rows = given.tree, given.everywhere, built[SHOWN]
    part = 1 + min(range(len(swapped)), key=lambda k: swapped[k].comes.mean)
    often, where = swapped[part - 1].comes.values[0], columns_of(parts, part, (0, 1))
    expert = next(
        e for e in experts(tree, rows[BASE], parts, "all", given.expert, given.bases[SHOWN]) if e.part == part
    )
    assert isinstance(expert.game, AbstractGame)  # experts of a tree
    result = []
    for lessons in LESSONS:
        if lessons > often * plan.sampled:
            break  # more than it had
        found = []
        for seed in range(plan.seed, plan.seed + LESSON_SEEDS):
            maker = SampledBuilder(tree, seed, math.ceil(lessons / often))
            play = maker.solve(expert.game, rows[BASE]).probabilities
            found.append(_figures_of(tree, built, maker.profile(np.where(where, play, rows[ALL].probabilities))))
        figures = {(ALL, what): Spread(tuple(f[what] for f in found)) for what in (EARNS, EXPLOIT)}
        result.append(Taught(lessons, figures))
    return result


def _figures_of(tree: Tree, built: Built, strategy: Profile) -> dict[str, float]:
    rows = {**built, SHOWN: {**built[SHOWN], "swapped": strategy}}
    return {
        EARNS: 1000.0 * earnings(tree, rows)[SHOWN]["swapped"],
        EXPLOIT: 1000.0 * exploitability(tree, strategy),
    }


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


def table(r: Results) -> Figures:
    """The ten figures of the paper's half of the table."""
    return {
        (name, what): spreads[SHOWN][name]
        for name in PAPER_ROWS
        for what, spreads in ((EARNS, r.earns), (EXPLOIT, r.exploit))
    }


def published(paper: Mapping[str, tuple[int, float, float | None]]) -> dict[tuple[str, str], float]:
    """The same as the paper has them. paper: size, earnings and exploitability by strategy."""
    return {
        (name, what): number
        for name in PAPER_ROWS
        for what, number in zip((EARNS, EXPLOIT), paper[name][1:], strict=True)
        if number is not None
    }


def near(found: Figures, paper: Mapping[tuple[str, str], float], by: float = NEAR) -> list[tuple[str, str]]:
    """The figures that come out: those whose mean is near the paper's."""
    return [key for key, figure in paper.items() if abs(found[key].mean - figure) <= by]


def between(found: Figures, paper: Mapping[tuple[str, str], float]) -> int:
    """How many of the paper's figures lie between the least and the greatest."""
    return sum(found[key].low <= figure <= found[key].high for key, figure in paper.items())


def _cell(spread: Spread) -> str:
    return f"{spread.mean:.2f}" if len(spread.values) == 1 else spread.text(2)


def verdict(s: Sampled, paper: Mapping[tuple[str, str], float], starts: Mapping[float, Results]) -> str:
    """Whether the paper's figures come out, in plain words."""
    found, figures = near(table(s.results), paper), len(paper)
    named = f" ({', '.join(f'{name} {what}' for name, what in found)})" if 0 < len(found) < figures else ""
    come = (
        "all come out"
        if len(found) == figures
        else "do not come out"
        if len(found) < figures / 2
        else "come out in part"
    )
    best = {w: len(near(table(r), paper)) for w, r in sorted(starts.items())}
    of_starts = ", ".join(f"{count} at {w:g}" for w, count in best.items())
    seeds = "one seed" if s.seeds == 1 else f"{s.seeds} seeds"
    return (
        f"By the paper's own method its figures for two players {come}: {SAMPLED} for {s.iterations:,} iterations "
        f"from a uniform start ({seeds}) brings {len(found)} of {figures} within {NEAR:g} milli-antes of the "
        f"paper's{named}; the means of the random starts bring {of_starts}, by the weight of the start."
    )


def method_note(s: Sampled) -> str:
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


def readings_note(s: Sampled, paper: Mapping[tuple[str, str], float]) -> str:
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


def swaps_note(s: Sampled, paper: Mapping[tuple[str, str], float]) -> str:
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


def _lessons_told(s: Sampled, paper: Mapping[tuple[str, str], float]) -> str:
    if not s.taught:
        return ""
    told = ", ".join(f"{each.figures[ALL, EXPLOIT].mean:.0f} after {each.lessons}" for each in s.taught)
    fits = {
        what: [e.lessons for e in s.taught if e.figures[ALL, what].low <= paper[ALL, what] <= e.figures[ALL, what].high]
        for what in (EXPLOIT, EARNS)
    }
    says = [f"its {what} after {' or '.join(map(str, of)) if of else 'none of these'}" for what, of in fits.items()]
    both = "the two come out together" if set(fits[EXPLOIT]) & set(fits[EARNS]) else "the two never come out together"
    return (
        f" Were fewer iterations to come there, it would be {told} of them, in the mean of {LESSON_SEEDS} seeds. What "
        f"the paper has lies between the least and the greatest of these seeds for {' and '.join(says)}: {both}."
    )


def sheets(
    s: Sampled,
    paper: Mapping[tuple[str, str], float],
    starts: Mapping[float, Results],
    claims: Callable[[Results], Any],
) -> tuple[Sheet, ...]:
    """claims: what the paper says of its table, tried on some results."""
    lessons = (_lessons_sheet(s, paper),) if s.taught else ()
    return _side_by_side(s, paper, starts), _readings(s, paper), _tried(s, claims), _swaps_sheet(s, paper), *lessons


def _side_by_side(s: Sampled, paper: Mapping[tuple[str, str], float], starts: Mapping[float, Results]) -> Sheet:
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
                 f"{between(own, paper)} of {of}" if s.seeds > 1 else "", "",
                 *(f"{between(others[w], paper)} of {of}" for w in weights)))  # fmt: skip
    seeds = "one seed" if s.seeds == 1 else f"mean ± sd over {s.seeds} seeds"
    return Sheet(
        f"Table 1 by the paper's own method: 2 players, base abstraction {SHOWN}, milli-antes per hand",
        ("figure", "paper", f"chance-sampled CFR, {s.iterations:,} iterations", "off by",
         *(f"CFR+, random starts of weight {w:g}" for w in weights)),
        rows,
        f"Chance-sampled CFR: {seeds}; random starts: mean ± sd over starts.",
        table=1,
    )  # fmt: skip


def _readings(s: Sampled, paper: Mapping[tuple[str, str], float]) -> Sheet:
    found = {each: table(r) for each, r in s.readings.items()}
    rows = [
        (f"{name} {what}", f"{figure:.2f}", *(_cell(found[each][name, what]) for each in found))
        for (name, what), figure in paper.items()
    ]
    rows.append((f"mean within {NEAR:g}", "", *(f"{len(near(found[each], paper))} of {len(paper)}" for each in found)))
    rows.append(("largest exploitability of a solved game", "", *(f"{r.gap / 2.0:.2f}" for r in s.readings.values())))
    return Sheet(
        f"What the paper leaves open: chance-sampled CFR for {s.shorter:,} iterations, base abstraction {SHOWN}",
        ("figure", "paper", *found),
        rows,
        "Milli-antes per hand, mean ± sd over seeds. Each column but the first changes one choice: seats move one "
        "after the other on the same deal; moves of the base in the game of an expert are walked in the proportion of "
        "their probabilities and not drawn; iteration t counts t times in the average.",
        table=1,
    )


def _tried(s: Sampled, claims: Callable[[Results], Any]) -> Sheet:
    own: list[Claim] = list(claims(s.results))
    shorter = {each: {claim.text: claim for claim in claims(r)} for each, r in s.readings.items()}
    rows = [
        (claim.text, claim.cell(claim.held), *(of[claim.text].cell(of[claim.text].held) for of in shorter.values()))
        for claim in own
    ]
    every = [own, *(list(of.values()) for of in shorter.values())]
    total = [sum(claim.count == len(claim.held) for claim in of) for of in every]
    rows.append(("hold for every seed", *(f"{count} of {len(own)}" for count in total)))
    return Sheet(
        "The paper's claims for two players by its own method: seeds for which they hold",
        ("claim", f"{s.iterations:,} iterations", *(f"{each}, {s.shorter:,}" for each in shorter)),
        rows,
        table=1,
    )


def _swaps_sheet(s: Sampled, paper: Mapping[tuple[str, str], float]) -> Sheet:
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
        rows,
        f"Milli-antes per hand. As it is: {note}.",
        table=1,
    )  # fmt: skip


def _lessons_sheet(s: Sampled, paper: Mapping[tuple[str, str], float]) -> Sheet:
    rare = min(s.swapped, key=lambda each: each.comes.mean)
    rows = [
        (f"about {each.lessons}", *(each.figures[ALL, what].text_with_range(2) for what in (EXPLOIT, EARNS)))
        for each in s.taught
    ]
    rows.append(("the paper's", *(f"{paper[ALL, what]:.2f}" for what in (EXPLOIT, EARNS))))
    return Sheet(
        f"{ALL} by the number of iterations that come to its {rare.part} expert: base abstraction {SHOWN}",
        (
            "iterations that come there",
            "exploitability: mean ± sd [least, greatest]",
            "earns: mean ± sd [least, greatest]",
        ),
        rows,
        f"Milli-antes per hand. All else is of the first seed; the expert is taught anew from {LESSON_SEEDS} seeds.",
        table=1,
    )


def data(s: Sampled, figures: Callable[[Results], Any]) -> dict[str, Any]:
    """All numbers. figures: of results, as the page has them."""
    return {
        "iterations": s.iterations, "seconds": s.seconds, "largest_nash_conv": s.results.gap,
        "two_players": figures(s.results),
        "readings": {
            each: {"iterations": s.shorter, "largest_nash_conv": r.gap, "two_players": figures(r)}
            for each, r in s.readings.items()
        },
        "swapped": {
            each.part: {
                "comes": each.comes.data(),
                "uniform": {what: each.uniform[ALL, what].data() for what in (EARNS, EXPLOIT)},
                "without": {what: each.without[ALL, what].data() for what in (EARNS, EXPLOIT)},
            }
            for each in s.swapped
        },
        "taught": {
            f"{each.lessons}": {what: each.figures[ALL, what].data() for what in (EARNS, EXPLOIT)} for each in s.taught
        },
    }  # fmt: skip
