"""GS1 and GS2 among the champions: the first rounds solved in advance, the last rounds at the table. The stage
champions-phases of docs/plans/large_tables.md, on CPUs and with a small deck.

    python -m kibitz.papers.stages --stage champions-phases --out results --work /tmp/work

GS1 groups hands by GameShrink, and hands are rolled out behind its phase I. GS2 has as many clusters of E[HS] that an
integer programme divides among parents, and values learned from an equilibrium behind its phase I. Base solves all
rounds at once within percentile buckets, and plays without endgames.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from kibitz.forms.profile import Profile
from kibitz.papers.claims import Claim, measured
from kibitz.papers.course_results import CourseResults
from kibitz.papers.gibson2011_large import TINY
from kibitz.papers.gibson2011_strategies import BASE
from kibitz.papers.holdem import form_within, score_in, unit_of
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run
from kibitz.papers.sandholm_gs2 import AT_TABLE, LEARNED, SLIDES
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.endgames.phases import ROLLOUT, phase_one
from kibitz.poker.stitching.experts import poker_of
from kibitz.poker.whole.profiles import exploited
from kibitz.report.figures import Sheet
from kibitz.solvers.run import solve_through

GS1, GS2 = "GS1", "GS2"
PHASED, MET = "strategies in phases", "matches in phases"  # names of runs
OF_SLIDES = 31.0  # GS2 from GS1 with 52 cards, thousandths of a small bet
UNTIL = 0.02  # NashConv in abstract games, chips
DEALS, QUICK_DEALS = 20_000, 200


class PhasedRecipe(NamedTuple):
    """How one of them is made."""

    buckets: str
    rounds: int = 0  # of phase I; 0: all rounds are solved at once, and played as they are
    leaves: str = ""  # what is behind phase I


RECIPES = {
    GS1: PhasedRecipe("gameshrink(reading=win-count)", 2, ROLLOUT),
    GS2: PhasedRecipe("expectation([10, 133, 443, 1239])", 3, LEARNED),
    BASE: PhasedRecipe("percentile(4)"),
}
NAMES = tuple(RECIPES)


@lru_cache(3)
def strategy(game: str, recipe: PhasedRecipe, until: float) -> Profile:
    """What is played before endgames, bucket by bucket."""
    rules, buckets = poker_of(game), recipe.buckets
    if recipe.leaves == ROLLOUT:
        return phase_one(rules, buckets, recipe.rounds, until=until)
    whole: Profile = solve_through(form_within(rules, buckets), "dcfr+", until=until)
    return phase_one(rules, buckets, recipe.rounds, whole, until=until) if recipe.rounds else whole


def solved(name: str, game: str, recipe: tuple[Any, ...], until: float) -> dict[str, Any]:
    """A strategy: what best responses win from it, if its endgames are not solved."""
    of = PhasedRecipe(*recipe)
    rules, profile = poker_of(game), strategy(game, of, until)
    loses = float(exploited(rules, profile).mean())
    return {"name": name, "game": game, **of._asdict(), "counts": hand_buckets(rules.definition, of.buckets).counts,
            "exploitability": unit_of(game) * loses}  # fmt: skip


def met(
    one: str, other: str, game: str, recipes: tuple[tuple[Any, ...], tuple[Any, ...]], until: float, deals: int,
    iterations: int, seed: int,
) -> dict[str, Any]:  # fmt: skip
    """A duplicate match of two of them, who solve their endgames at the table."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import profile_agent
    from kibitz.poker.endgames.agents import PokerSearch
    from kibitz.solvers.machines import machine_of

    machine, players = machine_of(game), []
    for name, of in zip((one, other), (PhasedRecipe(*recipe) for recipe in recipes), strict=True):
        agent = profile_agent(strategy(game, of, until), machine, name)
        begin = of.rounds + 1
        players.append(PokerSearch(agent, from_round=begin, iterations=iterations) if of.rounds else agent)
    score = match(machine, *players, deals=deals, seed=seed).scores[0]
    return {"one": one, "other": other, "game": game, "deals": deals, **score_in(unit_of(game), score)}


def stages(quick: bool, game: str = TINY) -> Iterator[Stage]:
    deals = QUICK_DEALS if quick else DEALS
    points = [(name, game, tuple(recipe), UNTIL) for name, recipe in RECIPES.items()]
    pairs = [(one, other, game, (tuple(RECIPES[one]), tuple(RECIPES[other])), UNTIL, deals, AT_TABLE, number)
             for number, (one, other) in enumerate(combinations((GS2, GS1, BASE), 2), 1)]  # fmt: skip
    yield Stage("champions-phases", "GS1 and GS2 with a small deck, on CPUs: matches with endgames at the table",
                (Run(PHASED, solved, points), Run(MET, met, pairs)))  # fmt: skip


# On the page of champions


def claims(r: CourseResults) -> Iterator[Claim]:
    for each in r.others.get(MET, []):
        if (each["one"], each["other"]) == (GS2, GS1):
            yield measured(f"{GS2} beats {GS1}, with a deck of 12 cards", f"Sandholm, {SLIDES}",
                           (each["mean"], each["error"]))  # fmt: skip


def shown(name: str) -> str:
    """Base of the whole game is another strategy."""
    return RECIPES[BASE].buckets if name == BASE else name


def sheets(r: CourseResults) -> Iterator[Sheet]:
    points, pairs = r.others.get(PHASED, []), r.others.get(MET, [])
    if not points:
        return
    won = {(each["one"], each["other"]): each for each in pairs}
    rows: list[tuple[str, ...]] = []
    for each in points:
        cells = []
        for other in NAMES:
            mine, theirs = won.get((each["name"], other)), won.get((other, each["name"]))
            figures = (mine["mean"], mine["error"]) if mine else (-theirs["mean"], theirs["error"]) if theirs else None
            cells.append(f"{figures[0]:.1f} ± {figures[1]:.1f}" if figures else "")
        phase = f"rounds 1 to {each['rounds']}, {'roll-outs' if each['leaves'] == ROLLOUT else 'learned values'}"
        rows.append((shown(each["name"]), ", ".join(f"{n:,}" for n in each["counts"]),
                     phase if each["rounds"] else "all rounds at once", f"{each['exploitability']:.1f}",
                     *cells))  # fmt: skip
    deals = f"{pairs[0]['deals']:,} duplicate deals each" if pairs else "no matches yet"
    yield Sheet(
        "GS1 and GS2: winnings of the row against the column", ("strategy", "buckets by round", "phase I",
        "exploitability without endgames", *map(shown, NAMES)), rows,
        f"{points[0]['game']}. Thousandths of a big blind per hand: {deals}, with 95% intervals. After phase I "
        f"endgames are solved during play with all hands, {AT_TABLE} iterations. Exploitability is exact; it is that "
        "of the strategies without endgame solving. The slides report that GS2 won "
        f"{OF_SLIDES:g} thousandths of a small bet from GS1 in the whole game.",
    )  # fmt: skip
