"""`kibitz reproduce auto-stitching --experiment holdem-two`: the page of the stages of `auto_stitching_holdem`.

The plan is docs/plans/auto_stitching.md, which was committed before the runs. The page is made from the ledgers of
stages (--results); with --quick the stages run here, on a deck of 12 cards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.papers import auto_stitching_holdem as holdem
from kibitz.papers import gibson2011_large as large
from kibitz.papers.auto_stitching_holdem import AUTO, CHOSEN, EARLY, PLANNED, SEARCH
from kibitz.papers.claims import OURS, START, Claim, Comparison
from kibitz.papers.course_results import CourseResults, results_of
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_strategies import ALL, BASE
from kibitz.papers.holdem_course import CourseSetting
from kibitz.papers.ledger import Ledger
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import Curves, FigurePanel, FigurePoints, Line, PointGroup, Sheet, Spread

QUICK_STAGES = "two-player hold'em, 12 cards"
STOPPED = f"{BASE}, stopped early"
ONE_ROUND = f"{AUTO}, one round"
NAMES = (BASE, ALL, large.CONDITIONAL, STOPPED, ONE_ROUND, AUTO)
ENOUGH = 0.8  # of a predicted gain
DEPARTS = (
    "Experts are static, for both players at once (S=N), and their parts begin before the flop.",
    "The search measures strategies on sampled flops, and takes more computation than the paper's S=N.",
)


@dataclass(frozen=True)
class AutoTwoResults:
    """Figures of all seeds that were run, in thousandths of a big blind a hand."""

    setting: CourseSetting
    exact: dict[str, dict[int, float]]  # by strategy and seed: exploitability over all boards
    sampled: dict[str, dict[int, float]]  # the same on the flops that searches use
    searches: dict[int, dict[str, Any]]  # by seed: the longest whose result was measured
    made_on: tuple[str, ...]
    seconds: float

    def both(self, name: str) -> list[tuple[float, float]]:
        """(automatic, another strategy), seed by seed, where both are known."""
        mine, theirs = self.exact[AUTO], self.exact[name]
        return [(mine[seed], theirs[seed]) for seed in sorted(mine) if seed in theirs]


def runs(plan: PaperPlan) -> list[Run]:
    """With --quick the stages; otherwise they are run by `kibitz.papers.stages`."""
    return [Run(QUICK_STAGES, holdem.quick_seed, [(seed,) for seed in plan.seeds])] if plan.quick else []


def gather(plan: PaperPlan, answers: Answers) -> AutoTwoResults:
    if not plan.quick:
        if not plan.results:
            raise ArtefactError("the page of two-player hold'em is made from results of stages: give --results "
                                "docs/large, or --quick for a deck of 12 cards")  # fmt: skip
        return of_courses(results_of(Path(plan.results), large.PAPER), plan.results, large.setting_of(False, "", "cpu"))
    with tempfile.TemporaryDirectory(prefix="kibitz-") as folder:
        for seed, entries in zip(plan.seeds, answers[QUICK_STAGES], strict=True):
            ledger = Ledger(Path(folder) / f"{seed}.json")
            ledger.entries = entries
            ledger.write()
        return of_courses(results_of(Path(folder), large.PAPER), folder, large.setting_of(True, "", "cpu"))


def of_courses(r: CourseResults, folder: str, setting: CourseSetting) -> AutoTwoResults:
    by_rounds = sorted(r.others.get(CHOSEN, []), key=lambda each: int(each["steps"]))
    chosen = {each["seed"]: each for each in by_rounds}  # of the longest search
    if not chosen:
        raise ArtefactError(f"{folder} has no result of automatic stitching: run its stages first (--stage auto-two-0)")
    exact: dict[str, dict[int, float]] = {name: {} for name in NAMES}
    exact[AUTO] = {seed: float(each["exploitability"]) for seed, each in chosen.items()}
    exact[ONE_ROUND] = {each["seed"]: float(each["exploitability"]) for each in by_rounds if int(each["steps"]) == 1}
    for each in r.others.get(EARLY, []):
        exact[STOPPED][each["seed"]] = float(each["exploitability"])
    for name in (BASE, ALL, large.CONDITIONAL):
        exact[name] = {seed: r.exploitability(name, seed) for seed in r.seeds(name)}
    searches = {each["seed"]: each for each in r.others.get(SEARCH, [])
                if each["seed"] in chosen and each["steps"] == chosen[each["seed"]]["steps"]}  # fmt: skip
    sampled: dict[str, dict[int, float]] = {name: {} for name in NAMES}
    looked = {name: (name, large.points(setting, name)[-1]) for name in (BASE, ALL, large.CONDITIONAL)}
    for name, (of, steps) in {**looked, STOPPED: (BASE, holdem.early_steps(setting))}.items():
        sampled[name] = {seed: float(each["exploitability"]) for (mine, seed), points in r.points.items() if mine == of
                         for each in points if each["steps"] == steps}  # fmt: skip
    sampled[AUTO] = {seed: float(search["sampled"][1]) for seed, search in searches.items()}
    mine = [each for run in (PLANNED, SEARCH, CHOSEN, EARLY) for each in r.others.get(run, [])]
    made_on = tuple(sorted({each["by"].get("device", "") for each in mine}))
    return AutoTwoResults(setting, exact, sampled, searches, made_on, sum(each["step_seconds"] for each in mine))


def claims(r: AutoTwoResults) -> Iterator[Claim]:
    for name in (BASE, large.CONDITIONAL, ALL, STOPPED):
        both = r.both(name)
        if name == STOPPED and not both:  # the control of the plan
            mine, theirs = r.sampled[AUTO], r.sampled[STOPPED]
            seeds = sorted(mine.keys() & theirs.keys())
            said = "; ".join(f"{mine[seed]:.2f} against {theirs[seed]:.2f}" for seed in seeds)
            yield Claim(f"{AUTO} is less exploitable than {name}", OURS, [None for _ in r.exact[AUTO]],
                        detail="not measured exactly" + f"; on sampled flops {said} mbb/h" * bool(said))  # fmt: skip
        if both:
            detail = "; ".join(f"{a:.2f} against {b:.2f}" for a, b in both)
            yield Claim(f"{AUTO} is less exploitable than {name}", OURS, [Comparison(a, "<", b) for a, b in both],
                        detail=f"{detail} mbb/h")  # fmt: skip
    first = [search["rounds"][0] for _, search in sorted(r.searches.items()) if search["rounds"]]
    if first:
        yield Claim(f"the first plan achieves at least {ENOUGH:.0%} of its predicted gain", OURS,
                    [Comparison(x["achieved"], ">=", ENOUGH * x["predicted"]) for x in first],
                    detail="; ".join(f"{x['achieved']:.2f} of {x['predicted']:.2f} mbb/h" for x in first))  # fmt: skip


def sheet(r: AutoTwoResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        if name == ONE_ROUND and r.exact[name] == r.exact[AUTO]:
            continue
        of, here = r.exact[name], r.sampled[name]
        seeds, some = (", ".join(f"{each[seed]:.2f}" for seed in sorted(each)) for each in (of, here))
        less = [b - a for a, b in r.both(name)]
        rows.append((name, "not measured" if not of else f"{Spread(tuple(of.values())).mean:.2f}", seeds,
                     "" if name == AUTO or not less else ", ".join(f"{x:.2f}" for x in less), some))  # fmt: skip
    early = holdem.early_steps(r.setting)
    every = next((search["every"] for search in r.searches.values()), 1)
    return Sheet("Exploitability, milli-big-blinds per hand",
                 ("strategy", "mean", "by seed", "automatic is less by", "on sampled flops"), rows,
                 "Mean and by seed: exact, over all boards of the unabstracted game. On sampled flops: on one in "
                 f"{every}, of all seeds that were trained; these are not exact. {STOPPED}: after "
                 f"{early} iterations. Conditional: experts are solved to a gap per hand that comes to their part, "
                 "instead of a gap over all hands.")  # fmt: skip


def stopped_early(r: AutoTwoResults) -> str:
    """What stopping the training of Base early does by itself."""
    said = [f"seed {seed}: Base {r.sampled[BASE][seed]:.2f}, stopped early {early:.2f}, automatic "
            f"{r.sampled[AUTO][seed]:.2f}"
            for seed, early in sorted(r.sampled[STOPPED].items())
            if seed in r.sampled[BASE] and seed in r.sampled[AUTO]]  # fmt: skip
    if not said:
        return ""
    return ("Training within an abstraction can raise exploitability in the game (docs/stitching_why.md). The search "
            "keeps an expert as it was after a pilot if that is less exploitable than the trained one. So compare it "
            "with a Base that was stopped early, too. On the sampled flops, in mbb/h: "
            f"{'; '.join(said)}.")  # fmt: skip


def search_sheet(r: AutoTwoResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for seed, search in sorted(r.searches.items()):
        for number, each in enumerate(search["rounds"], 1):
            kept = "; ".join(f"{name} ({answer})" for name, answer in zip(each["kept"], each["answers"], strict=True))
            rows.append((f"{seed}", f"{number}", f"{len(each['pilots'])}", f"{each['predicted']:.2f}",
                         f"{each['achieved']:.2f}", f"{each['sampled']:.2f}", kept or "nothing"))  # fmt: skip
    some = next(iter(r.searches.values()), {"every": 16, "quick": 64})
    return Sheet(
        "What the searches did",
        ("seed", "round", "experts tried", "predicted", "achieved", "exploitability after", "kept"), rows,
        "In mbb/h. A pilot is a short run of an expert. Predicted: what the pilots of all experts that were chosen "
        "gain together. Achieved: what the kept ones gain, as trained or, if that is better, as after a pilot; a pilot "
        f"that is kept achieves just what it predicted. Both are on one in {some['quick']} flops, the exploitability "
        f"after a round on one in {some['every']}; the exact figures are the check.",
    )  # fmt: skip


def pilot_sheet(r: AutoTwoResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for seed, search in sorted(r.searches.items()):
        for number, each in enumerate(search["rounds"], 1):
            trained = {name: gain for name, _, gain in each["moves"]}
            for name, short, long, infosets, _ in each["pilots"]:
                gain = f"{trained[name]:.2f}" if name in trained else ""
                rows.append((f"{seed}", f"{number}", name, f"{infosets:,}", f"{short:.2f}", f"{long:.2f}", gain))
    effort = holdem.effort_of(r.setting)
    heads = ("seed", "round", "expert", "infosets", f"gain after {effort.pilot} iterations",
             f"after {4 * effort.pilot}", f"after {effort.iterations}")  # fmt: skip
    return Sheet("Experts that were tried", heads, rows,
                 "How much each expert by itself lowers exploitability, in mbb/h, on the flops of pilots. Only experts "
                 "that were chosen have the long run.")  # fmt: skip


def parts_sheet(r: AutoTwoResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for seed, search in sorted(r.searches.items()):
        rows += [(f"{seed}", name, f"{loss:.2f}", f"{100 * reach:.3g}%")
                 for each in search["rounds"][:1] for name, loss, reach in each["parts"]]  # fmt: skip
    return Sheet("Where Base loses", ("seed", "part", "NashConv from this part", "hands that reach it"), rows,
                 "What best responses of both players gain by their decisions in a part, in mbb/h on the flops of "
                 "pilots. Parts overlap, so rows do not add up. Hands: of Base against itself.")  # fmt: skip


def points(r: AutoTwoResults) -> FigurePoints:
    plans = [x for _, search in sorted(r.searches.items()) for x in search["rounds"]]
    both = tuple((x["predicted"], x["achieved"]) for x in plans)
    alone = tuple((p, a) for x in plans for _, p, a in x["moves"])
    return FigurePoints("gains-holdem-two", "Predicted and achieved gains, two-player hold'em",
                        "predicted gain in exploitability, mbb/h", "achieved gain, mbb/h",
                        (PointGroup("plans", both), PointGroup("experts of plans, one by one", alone)))  # fmt: skip


def by_iterations(r: AutoTwoResults) -> Curves:
    """What experts of the first round gain after short and long runs: a panel for each seed."""
    effort, panels = holdem.effort_of(r.setting), []
    steps = float(effort.pilot), 4.0 * effort.pilot, float(effort.iterations)
    for seed, search in sorted(r.searches.items()):
        lines = []
        for each in search["rounds"][:1]:
            trained = {name: gain for name, _, gain in each["moves"]}
            for name, short, long, *_ in each["pilots"]:
                gains = (short, long, *([trained[name]] if name in trained else []))
                lines.append(Line(name, steps[: len(gains)], gains, (0.0,) * len(gains)))
        if lines:
            panels.append(FigurePanel(f"seed {seed}", tuple(lines)))
    return Curves("iterations-holdem-two", "What experts gain, by their training", "gain in exploitability, mbb/h",
                  tuple(panels), across="iterations", note="Each by itself, on the flops of pilots.")  # fmt: skip


def page(plan: PaperPlan, r: AutoTwoResults, claims: Sequence[Claim]) -> Page:
    game, limit = (large.TINY, large.TINY_LIMITS[0]) if plan.quick else (large.GAME, large.LIMITS[0])
    looks = Spread(tuple(float(search["measured"]) for search in r.searches.values()))
    return Page(
        starts=len(r.exact[AUTO]),
        about=f"A search chooses where experts go in {game}, with at most {limit:,} infosets in a computation. It is "
        "compared with its base and with the paper's S=N, from the same base, exactly, over all boards, as fixed in "
        f"docs/plans/auto_stitching.md. Random initialisations that were run: {len(r.exact[AUTO])}, on "
        f"{' and '.join(r.made_on) or 'no machine'}, {r.seconds / 60:.0f} minutes for searches and their measurements. "
        f"Rounds of searches: at most {', '.join(str(search['steps']) for _, search in sorted(r.searches.items()))}; "
        f"the plan has at most {holdem.ROUNDS}.",
        departs=DEPARTS, sheets=tuple(x for x in (sheet(r), search_sheet(r), pilot_sheet(r), parts_sheet(r)) if x.rows),
        notes=(f"A search measured strategies {looks.mean:.0f} times on samples of flops.",
               *([early] if (early := stopped_early(r)) else [])),
        pictures=(by_iterations(r), points(r)) if any(search["rounds"] for search in r.searches.values()) else (),
        figures={"unit": "milli-big-blinds per hand",
                 "exploitability": {name: {f"{seed}": x for seed, x in sorted(of.items())}
                                    for name, of in r.exact.items()},
                 "searches": [search for _, search in sorted(r.searches.items())]},
    )  # fmt: skip


PLAN, QUICK = PaperPlan(starts=3), PaperPlan(starts=1, quick=True)
PART = Experiment("holdem-two", "two-player hold'em", PLAN, QUICK, runs, gather, claims, page, START,
                  ignores=("until", "iterations"), instead="--results")  # fmt: skip
