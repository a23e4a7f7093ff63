"""[Gibson & Szafron 2011, Table 2] for three players, with a deck of 24 cards: what do earnings depend on?

    kibitz reproduce gibson2011 --table small --players 3
    kibitz reproduce gibson2011 --table small --players 3 --results docs/large    # of what stages have measured

The large table has another order of strategies than the paper. Here each strategy is trained for longer and longer, on
CPUs, beside two that differ from one of the paper's in one thing each. As fixed in docs/plans/large_tables.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations
from operator import mul
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.core.resources import cores
from kibitz.papers import gibson2011_three as training
from kibitz.papers.claims import OURS, START, Claim, Comparison, measured
from kibitz.papers.course_results import over_seeds
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_three import ALL, BASE, DYNAMIC, FORGETFUL, OLD, PREFIXES, ThreePlayerSetting
from kibitz.papers.gibson2011_three_page import SOURCE, ThreePlayerResults, more
from kibitz.papers.holdem import arguments
from kibitz.papers.ledger import Stage, results_in
from kibitz.papers.runs import Answers, Run
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint, stitched
from kibitz.poker.blueprints.rows import PARTS, decisions_in, dynamic_buckets, hands_before
from kibitz.poker.buckets.percentile import finest_after
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.row_experts import trained_expert
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread
from kibitz.solvers.blueprint import Blueprint
from kibitz.stitch import Expert, MaxInfosets, Solving, experts

TITLE = "Strategy stitching in three-player limit hold'em with a small deck"
GAME, LIMIT, DEALS = "poker(file=holdem.limit.3p, ranks=6, raises=2)", 1_000_000, 500_000
TINY, TINY_LIMIT, TINY_DEALS = "poker(file=holdem.limit.3p, ranks=4, raises=2)", 150_000, 200
SEEDS = (0, 1, 2)
ITERATIONS, TINY_ITERATIONS = (1 << 15, 1 << 17, 1 << 19, 1 << 21), (100, 400)
EARLY = 1  # the look with which the last one is compared
SAME, FORGETTING = f"{ALL}, Dynamic's buckets", f"{BASE}, forgetful"
SEATED = (BASE, DYNAMIC, ALL, OLD)  # at tables of three
OTHERS = (DYNAMIC, ALL, SAME, OLD, FORGETTING)  # against two copies of Base
MATCHES = 1 << 32  # seeds of matches begin here
LOOKED, EQUAL = "three: small", "three: small, equal visits"
EARNED = (
    f"Earnings: the mean over the three tables of three among {', '.join(SEATED)} at which a strategy sits; every deal "
    "in all six seatings. Intervals cover the luck of the deals, not differences between trainings."
)
CLAIMS = 11  # of this page, which are judged together


def setting_of(quick: bool, seed: int = 0) -> ThreePlayerSetting:
    game, limit, deals = (TINY, TINY_LIMIT, TINY_DEALS) if quick else (GAME, LIMIT, DEALS)
    return ThreePlayerSetting(game, limit, limit, 0.0, deals, "", seed)


def looks(quick: bool) -> tuple[int, ...]:
    return TINY_ITERATIONS if quick else ITERATIONS


# A step: all strategies of a seed after so many iterations of each computation


def look(iterations: int, *fields: Any) -> dict[str, Any]:
    """Train all strategies anew, and match them."""
    against = [*((name, BASE) for name in OTHERS), *((name, DYNAMIC) for name in (ALL, SAME))]
    return _look(ThreePlayerSetting(*fields), iterations, (*SEATED, SAME, FORGETTING), against)


def look_equal(iterations: int, *fields: Any) -> dict[str, Any]:
    """The same of those at tables of three; experts are trained until their walks have as many decisions for each
    infoset as Base's."""
    return _look(ThreePlayerSetting(*fields), iterations, SEATED, [(ALL, BASE), (ALL, DYNAMIC)], True)


def _look(
    setting: ThreePlayerSetting, iterations: int, names: Sequence[str], against: Sequence[tuple[str, str]],
    equal: bool = False,
) -> dict[str, Any]:  # fmt: skip
    trained = {name: _whole(rows, iterations, setting) for name, rows in _plans(setting).items() if name in names}
    facts = [{**training.facts(name, blueprint), "part": ""} for name, blueprint in trained.items()]
    played = {name: blueprint.played() for name, blueprint in trained.items()}
    for name, every in _experts(setting, played[BASE]).items():
        if name not in names:
            continue
        parts = {}
        for k, each in enumerate(every):
            answer = trained_expert(played[BASE], each, Solving(iterations=iterations, seed=1000 * setting.seed + k))
            if equal:
                more_often = _visits(trained[BASE]) / _visits(answer)
                answer.train(int(iterations * more_often), None, cores())
            facts.append({**training.facts(name, answer), "buckets": each.buckets, "part": each.name})
            parts[each.name] = dict.fromkeys(each.keeps, answer.played())
        played[name] = stitched(played[BASE], parts)
    tables = [*combinations(SEATED, 3), *((one, other, other) for one, other in against)]
    return {"iterations": iterations, "seed": setting.seed, "trainings": facts,
            "tables": [{"names": list(players), **_won([played[name] for name in players], k, setting)}
                       for k, players in enumerate(tables)]}  # fmt: skip


def _visits(blueprint: Blueprint) -> float:
    """Decisions of its walks for each infoset; of an expert also those that the base plays outside of the part."""
    return blueprint.progress().visited / layout_of(blueprint).size


def _plans(setting: ThreePlayerSetting) -> dict[str, RowPlan]:
    """Of strategies that are trained in one computation."""
    machine, plans = setting.machine, {name: training.rows_of(name, setting) for name in (BASE, DYNAMIC, OLD)}
    first, *each = finest_after(decisions_in(machine, ())[0], setting.limit, hands_before(machine))  # those of Base
    later = accumulate(each, mul)  # buckets of a round in all, which forget those before
    return plans | {FORGETTING: RowPlan((FORGETFUL.format(first, *later),))}


def _whole(rows: RowPlan, iterations: int, setting: ThreePlayerSetting) -> Blueprint:
    blueprint = placed_blueprint(setting.machine, rows, setting.seed)
    blueprint.warm_up()
    blueprint.train(iterations, None, cores())
    return blueprint


def _experts(setting: ThreePlayerSetting, base: Blueprint) -> dict[str, list[Expert]]:
    """With S=N: as fine as fits, and as fine as those of Dynamic."""
    inside = {ALL: MaxInfosets(setting.limit, setting.experts),
              SAME: dynamic_buckets(setting.machine, PARTS, setting.limit)[1]}  # fmt: skip
    return {name: experts(base.machine.rules, base, PREFIXES, "all", buckets) for name, buckets in inside.items()}


def _won(players: Sequence[Blueprint], number: int, setting: ThreePlayerSetting) -> dict[str, Any]:
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent

    machine, unit = setting.machine, training.unit_of(setting.machine)
    agents = {id(each): blueprint_agent(each, machine, str(k)) for k, each in enumerate(players)}
    seed = MATCHES + 1000 * setting.seed + number  # of deals that nobody was trained on
    result = match(machine, *(agents[id(each)] for each in players), deals=setting.deals, seed=seed)
    return {"mean": [unit * score.mean for score in result.scores],
            "error": [unit * (score.interval[1] - score.mean) for score in result.scores]}  # fmt: skip


def _runs(quick: bool, seeds: Sequence[int]) -> list[Run]:
    of = {seed: arguments(setting_of(quick, seed)) for seed in seeds}
    return [Run(LOOKED, look, [(count, *of[seed]) for seed in seeds for count in looks(quick)]),
            Run(EQUAL, look_equal, [(looks(quick)[-1], *of[seed]) for seed in seeds])]  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    return [] if plan.results else _runs(plan.quick, plan.seeds)


def stages(quick: bool) -> Iterator[Stage]:
    """For cores."""
    for seed in SEEDS:
        yield Stage(f"three-small-{seed}", "three players with a deck of 24 cards: earnings along the training",
                    tuple(_runs(quick, [seed])))  # fmt: skip


# The page

@dataclass(frozen=True)
class SmallResults:
    """Of seeds that were trained to the end."""

    looks: dict[tuple[int, int], ThreePlayerResults]  # by iterations and seed
    equal: dict[int, ThreePlayerResults]  # by seed: experts with as many decisions for each infoset as Base

    @property
    def counts(self) -> list[int]:
        """Iterations of each computation."""
        return sorted({iterations for iterations, _ in self.looks})

    def at(self, iterations: int) -> list[ThreePlayerResults]:
        """All seeds after so many."""
        return [each for (count, _), each in self.looks.items() if count == iterations]

    @property
    def last(self) -> list[ThreePlayerResults]:
        return self.at(self.counts[-1])


def gather(plan: PaperPlan, answers: Answers) -> SmallResults:
    if plan.results:
        answers = results_in(Path(plan.results), lambda entry: entry["run"] in (LOOKED, EQUAL))
        if not answers.get(LOOKED):
            raise ArtefactError(f"{plan.results} has no results of this table: run its stages first (--stage "
                                "three-small-0)")  # fmt: skip
    every = {(each["iterations"], each["seed"]): _results(each, plan.quick) for each in answers[LOOKED]}
    most = max(seen for seen, _ in every)
    whole = {seed for seen, seed in every if seen == most}
    equal = {each["seed"]: _results(each, plan.quick) for each in answers.get(EQUAL, [])}
    return SmallResults({key: each for key, each in sorted(every.items()) if key[1] in whole},
                        {seed: each for seed, each in sorted(equal.items()) if seed in whole})  # fmt: skip


def _results(answer: Mapping[str, Any], quick: bool) -> ThreePlayerResults:
    matches = {tuple(each["names"]): each for each in answer["tables"]}
    tables = {names: each for names, each in matches.items() if len(set(names)) == 3}
    copies = {names: each for names, each in matches.items() if len(set(names)) < 3}
    return ThreePlayerResults(setting_of(quick, answer["seed"]), {}, answer["trainings"], tables, copies, [], [], [])


def of_the_paper(r: ThreePlayerResults) -> Iterator[Claim]:
    yield from (more(r, ALL, other, SOURCE) for other in (BASE, DYNAMIC))
    for name, relation in ((ALL, ">"), (BASE, "<="), (DYNAMIC, "<=")):
        words = "wins money" if relation == ">" else "does not win money"
        yield measured(f"{name} {words}", SOURCE, r.earns(name), relation=relation)
    yield more(r, BASE, OLD, SOURCE)


def _compared(text: str, left: tuple[float, float], relation: str, right: tuple[float, float]) -> Claim:
    (a, ea), (b, eb) = left, right
    return Claim(text, OURS, [Comparison(a, relation, b, ea + eb)], unit=START,
                 detail=f"{a:.2f} ± {ea:.2f} against {b:.2f} ± {eb:.2f}")  # fmt: skip


def of_our_own(before: ThreePlayerResults, r: ThreePlayerResults, early: int) -> Iterator[Claim]:
    """Possible causes. Earnings of two strategies at one table are not independent: intervals are added."""

    def lead(of: ThreePlayerResults) -> tuple[float, float]:
        (one, error), (other, other_error) = of.earns(DYNAMIC), of.earns(ALL)
        return one - other, error + other_error

    def won(name: str, times: float = 1.0) -> tuple[float, float]:
        mean, error = r.alone(name, BASE)
        return times * mean, times * error

    yield _compared(f"training: {DYNAMIC} leads {ALL} by less than after {early:,} iterations", lead(r), "<",
                    lead(before))  # fmt: skip
    yield _compared(f"fineness: {ALL} wins more from {BASE} with {DYNAMIC}'s buckets", won(SAME), ">",
                    won(ALL))  # fmt: skip
    yield _compared(f"dynamic training: {DYNAMIC} wins more from {BASE} than {ALL} with its buckets",
                    won(DYNAMIC), ">", won(SAME))  # fmt: skip
    yield _compared(f"buckets of the first rounds: {OLD} wins more than twice as much from {BASE} as a {BASE} that "
                    "forgets", won(OLD), ">", won(FORGETTING, 2.0))  # fmt: skip


def claims(r: SmallResults) -> Iterator[Claim]:
    yield from over_seeds([list(of_the_paper(each)) for each in r.last], CLAIMS)
    early, last = r.counts[min(EARLY, len(r.counts) - 1)], r.counts[-1]
    pairs = [(r.looks[early, seed], each) for (count, seed), each in r.looks.items()
             if count == last and (early, seed) in r.looks]  # fmt: skip
    yield from over_seeds([list(of_our_own(before, each, early)) for before, each in pairs], CLAIMS)
    text = f"with as many decisions of walks for each infoset as {BASE}, {ALL} earns more than {DYNAMIC}"
    yield from over_seeds([[replace(more(each, ALL, DYNAMIC, OURS), text=text)] for each in r.equal.values()], CLAIMS)


def earned(r: SmallResults, name: str) -> Line:
    """What a strategy earns at the tables along its training."""
    return _line(r, name, lambda each: each.earns(name)[0])


def _line(r: SmallResults, name: str, figure: Callable[[ThreePlayerResults], float]) -> Line:
    spreads = [Spread(tuple(figure(each) for each in r.at(count))) for count in r.counts]
    return Line(name, tuple(map(float, r.counts)), tuple(each.mean for each in spreads),
                tuple(each.sd for each in spreads))  # fmt: skip


def from_base(r: SmallResults, name: str) -> Line:
    """What a strategy wins from two copies of Base along its training."""
    return _line(r, name, lambda each: each.alone(name, BASE)[0])


def table(r: SmallResults) -> Sheet:
    return _winnings("Three players, small deck: milli-big-blinds per hand", (*SEATED, SAME, FORGETTING), r.last,
                     f"After {r.counts[-1]:,} iterations of each computation.")  # fmt: skip


def equal_table(r: SmallResults) -> Sheet:
    return _winnings(
        "The same, with experts that are trained for longer", SEATED, list(r.equal.values()),
        f"Experts of {ALL} are trained until their walks have as many decisions for each infoset as those of {BASE}. "
        f"Decisions that {BASE} plays outside of the part are counted: within it experts have fewer. Seeds: "
        f"{', '.join(map(str, r.equal))}.",
    )  # fmt: skip


def _winnings(title: str, names: Sequence[str], every: Sequence[ThreePlayerResults], note: str) -> Sheet:
    """What strategies earn, and win from two copies of others, as far as it was measured."""
    kinds = "earns", "wins from two copies of Base", "wins from two copies of Dynamic"
    rows = [(name, *_cells([each.earns(name) for each in every] if name in SEATED else []),
             *(cell for other in (BASE, DYNAMIC) for cell in
               _cells([each.alone(name, other) for each in every if (name, other, other) in each.copies])))
            for name in names]  # fmt: skip
    return Sheet(title, ("strategy", *(head for kind in kinds for head in (kind, "by seed", "95% interval of a seed"))),
                 rows, f"{note} {EARNED}")  # fmt: skip


def _cells(figures: Sequence[tuple[float, float]]) -> tuple[str, str, str]:
    """The mean of seeds, each of them, and the widest interval."""
    means = [mean for mean, _ in figures]
    return (f"{Spread(tuple(means)).mean:.2f}", ", ".join(f"{mean:.2f}" for mean in means),
            f"± {max(error for _, error in figures):.2f}") if figures else ("", "", "")  # fmt: skip


def along(r: SmallResults) -> Sheet:
    lines = [("earns", earned(r, name)) for name in SEATED]
    lines += [("from two copies of Base", from_base(r, name)) for name in OTHERS]
    return Sheet("Along the training: means of all seeds", ("strategy", "figure", *(f"{n:,}" for n in r.counts)),
                 [(line.name, kind, *(f"{mean:.2f}" for mean in line.mean)) for kind, line in lines],
                 "By iterations of each computation.")  # fmt: skip


def sizes(r: SmallResults) -> Sheet:
    first = r.last[0].setting.seed
    trainings = list(r.last[0].experts)
    if first in r.equal:
        trainings += [{**each, "name": f"{ALL}, for longer"} for each in r.equal[first].experts if each["name"] == ALL]
    rows = [(f"{each['name']}: {each['part']}" if each["part"] else each["name"], str(each["buckets"]),
             f"{each['infosets']:,}", f"{each['iterations']:,}", f"{each['decisions'] / each['infosets']:.1f}",
             f"{each['seconds']:.0f}") for each in trainings]  # fmt: skip
    return Sheet("Training", ("what", "buckets", "infosets", "iterations", "decisions for each infoset", "seconds"),
                 rows, f"Of seed {first}, at the end. Decisions of experts are those of their walks: what the base "
                 "plays outside of the part is counted too. With forget=1 the numbers of percentile count buckets "
                 "within each bucket of the round before, and the first round is forgotten after it; with recall=false "
                 "they count all buckets of a round.")  # fmt: skip


def page(plan: PaperPlan, r: SmallResults, claims: Sequence[Claim]) -> Page:
    seeds, setting = len(r.last), setting_of(plan.quick)
    panels = (FigurePanel("earnings at tables of three", tuple(earned(r, name) for name in SEATED), (("even", 0.0),)),
              FigurePanel("against two copies of Base", tuple(from_base(r, name) for name in OTHERS),
                          (("even", 0.0),)))  # fmt: skip
    return Page(
        starts=seeds,
        about=f"{setting.game}: a deck of {16 if plan.quick else 24} cards, at most two bets in a round. At most "
        f"{setting.limit:,} infosets for each computation. All computations make the same number of iterations of "
        f"external sampling: {', '.join(f'{n:,}' for n in r.counts)}, each time from the beginning; experts stand on "
        "the Base that was trained for as many. In one more run experts of S=N are trained for longer. "
        f"{setting.deals:,} deals in all six seatings for each match. {seeds} random initialisations.",
        departs=(
            "A smaller deck and at most two bets in a round, so that all strategies can be trained for long on CPUs. "
            "The paper's names are for strategies with the same role.",
            f"*{SAME}*: static experts with as many buckets as those of Dynamic; *{FORGETTING}*: as many buckets in "
            "each round as Base, with imperfect recall. The paper has neither.",
            f"With {DYNAMIC}'s buckets, *{ALL}* has the same buckets in the parts; elsewhere it plays {BASE}, which is "
            f"finer there than {DYNAMIC}.",
            "In the stored results the deals of matches were used in training too: one training walk in twelve, at the "
            "end, was on such a deal. Some matches were repeated on other deals, where it was one in three: no figure "
            "moved by more than its interval (docs/plans/large_tables.md). The code takes other deals now.",
            f"Each ± is the 95% interval of one figure. Verdicts go by wider ones, which are 95% for all {CLAIMS} "
            "claims together, and add those of both figures.",
        ),
        sheets=(table(r), *([equal_table(r)] if r.equal else []), along(r), sizes(r)),
        pictures=(Curves("earnings", "Three-player limit hold'em with a small deck: winnings against training",
                         "winnings, mbb/h", panels, palette=(*SEATED, SAME, FORGETTING),
                         note="Means of all seeds, and one standard deviation to either side.",
                         across="iterations of each computation"),),
        figures={"unit": "milli-big-blinds per hand",
                 "looks": [{"iterations": iterations, "seed": seed,
                            "tables": [*each.tables.values(), *each.copies.values()]}
                           for (iterations, seed), each in r.looks.items()],
                 "trainings": r.last[0].experts,
                 "equal": [{"seed": seed, "trainings": each.experts,
                            "tables": [*each.tables.values(), *each.copies.values()]}
                           for seed, each in r.equal.items()]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=len(SEEDS)), PaperPlan(starts=1, quick=True), runs, gather, claims, page,
    tables=("small",), ignores=("until", "iterations"), instead="--quick",
    settings={"iterations of strategies of three players with a deck of 24 cards": ITERATIONS[-1]},
)  # fmt: skip
