"""`kibitz reproduce auto-stitching --experiment holdem-three`: automatic stitching of three-player limit hold'em.

The plan is docs/plans/auto_stitching.md, which was committed before the runs; they are in `auto_stitching_three`. With
--results the page is of the paper's size, from the ledgers of the stages auto-three-0 to auto-three-2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.papers import auto_stitching_three as three
from kibitz.papers.auto_stitching_three import ALL, AUTO, BASE, EACH, LONGER
from kibitz.papers.claims import OURS, RUN, START, Claim, Comparison, measured
from kibitz.papers.course_results import over_seeds
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.ledger import results_in
from kibitz.papers.runs import Answers, Run
from kibitz.poker.blueprints.rows import PARTS
from kibitz.report.figures import FigurePoints, PointGroup, Sheet, Spread

ENOUGH = 0.8  # of a predicted gain
CLAIMS, LONG_CLAIMS = 9, 4  # that are judged together
TIMES, LATER = 8, ", eight times as long"  # the second length of training, and what its runs are called
LONG_SEEDS = 2
NAMES = (BASE, ALL, EACH, AUTO, LONGER)
LIMITS = "Limits of the comparison"
SMALL = (
    "This is a small size: 24 cards and at most two raises a round. The stages auto-three-0 to auto-three-2 have the "
    "paper's size, and need a GPU.",
    "Training was short: see the second table for more of it, and the decisions for each infoset below.",
    "Training is counted in iterations. An iteration of an expert is quick where its part is seldom reached, so equal "
    "iterations are not equal seconds; the table of training has the decisions for each infoset.",
)
PLAN = PaperPlan(starts=3)
QUICK = PaperPlan(starts=1, quick=True)


@dataclass(frozen=True)
class SeedResults:
    """All figures of one seed; thousandths of a big blind a hand."""

    setting: three.AutoThreeSetting
    strategies: dict[str, dict[str, Any]]
    experts: list[dict[str, Any]]
    search: dict[str, Any]
    tables: dict[tuple[str, ...], dict[str, Any]]
    copies: dict[tuple[str, ...], dict[str, Any]]

    def earns(self, name: str, automatic: str = AUTO) -> tuple[float, float]:
        """The mean over the tables of the four strategies with one of the automatic ones, and its 95% interval."""
        others = {BASE, ALL, EACH, automatic}
        tables = [(each, names.index(name)) for names, each in self.tables.items()
                  if name in names and set(names) <= others]  # fmt: skip
        mean = sum(each["mean"][k] for each, k in tables) / len(tables)
        return mean, sum(each["error"][k] ** 2 for each, k in tables) ** 0.5 / len(tables)

    def alone(self, name: str, other: str) -> tuple[float, float]:
        """What one wins from two copies of another."""
        each = self.copies[name, other, other]
        return each["mean"][0], each["error"][0]


def longer_setting(plan: PaperPlan, seed: int) -> three.AutoThreeSetting:
    """The same with eight times the training of experts."""
    setting = three.small_setting(plan.quick, plan.folder, seed)
    return replace(setting, length=TIMES * setting.length, folder=f"{setting.folder}-longer")


def runs(plan: PaperPlan) -> list[Run]:
    """Those of all seeds, step by step; with the longer training one seed after another."""
    if plan.results:
        return []  # stages are run by `kibitz.papers.stages`
    by_seed = [three.runs_of(three.small_setting(plan.quick, plan.folder, seed)) for seed in plan.seeds]
    first = [Run(same[0].name, same[0].work, [piece for run in same for piece in run.pieces])
             for same in zip(*by_seed, strict=True)]  # fmt: skip
    second = [replace(run, name=f"{run.name}{LATER} {seed}") for seed in plan.seeds[:LONG_SEEDS]
              for run in three.runs_of(longer_setting(plan, seed)) if not run.name.endswith(EACH)]  # fmt: skip
    return [*first, *second]


def gather(plan: PaperPlan, answers: Answers) -> tuple[list[SeedResults], list[SeedResults]]:
    """(with the training of the plan, with eight times as much)"""
    if plan.results:
        answers = results_in(Path(plan.results))

    def results(setting: three.AutoThreeSetting, later: bool) -> SeedResults:
        def of(*kinds: str) -> list[dict[str, Any]]:
            return [each for run, every in answers.items() if run.startswith(kinds) and (LATER in run) == later
                    for each in every if each.get("seed") == setting.seed]  # fmt: skip

        whole = {each["name"]: each for each in of(three.TRAINED, three.JOINED, three.SEARCHED, three.AGAIN)}
        return SeedResults(
            setting, whole, of(three.EXPERT), whole[AUTO], {tuple(each["names"]): each for each in of(three.TABLE)},
            {tuple(each["names"]): each for each in of(three.COPIES)},
        )  # fmt: skip

    if plan.results:
        whole = [three.large_setting(plan.quick, "", "gpu", seed) for seed in three.SEEDS]
        large = [setting for setting in whole if _complete(setting, answers)]
        if not large:
            raise ArtefactError(f"{plan.results} has no complete results of this: run the stage auto-three-0 first")
        return [results(setting, False) for setting in large], []
    first = [results(three.small_setting(plan.quick, plan.folder, seed), False) for seed in plan.seeds]
    return first, [results(longer_setting(plan, seed), True) for seed in plan.seeds[:LONG_SEEDS]]


def _complete(setting: three.AutoThreeSetting, answers: Answers) -> bool:
    """Whether all steps of a stage have answers."""
    for run in three.runs_of(setting):
        mine = [each for each in answers.get(run.name, []) if each.get("seed") == setting.seed]
        names = {tuple(each["names"]) for each in mine} if run.work is three.won else mine
        if len(names) < len(run.pieces):
            return False
    return True


def of_seed(r: SeedResults) -> Iterator[Claim]:
    for name in (AUTO, LONGER):
        for other in (ALL, EACH, BASE):
            (a, ea), (b, eb) = r.earns(name, name), r.earns(other, name)
            yield Claim(f"{name} earns more than {other}", OURS, [Comparison(a, ">", b, ea + eb)], unit=RUN,
                        detail=f"{a:.1f} ± {ea:.1f} against {b:.1f} ± {eb:.1f}")  # fmt: skip
        yield measured(f"{name} wins from two copies of {ALL}", OURS, r.alone(name, ALL), digits=1)
    mean, error = r.alone(AUTO, BASE)
    wanted = ENOUGH * float(r.search["predicted"])
    yield Claim(f"the plan wins at least {ENOUGH:.0%} of what it predicted, from two copies of {BASE}", OURS,
                [Comparison(mean, ">=", wanted, error)], unit=RUN,
                detail=f"{mean:.1f} ± {error:.1f}, predicted {r.search['predicted']:.1f}")  # fmt: skip


def of_longer(r: SeedResults) -> Iterator[Claim]:
    for name in (AUTO, LONGER):
        table = r.tables[BASE, ALL, name]
        (_, b, a), (_, eb, ea) = table["mean"], table["error"]
        yield Claim(f"with eight times the training: {name} earns more than {ALL}", OURS,
                    [Comparison(a, ">", b, ea + eb)], unit=RUN,
                    detail=f"{a:.1f} ± {ea:.1f} against {b:.1f} ± {eb:.1f}")  # fmt: skip
        yield measured(f"with eight times the training: {name} wins from two copies of {ALL}", OURS,
                       r.alone(name, ALL), digits=1)  # fmt: skip


def claims(both: tuple[list[SeedResults], list[SeedResults]]) -> Iterator[Claim]:
    first, second = both
    yield from over_seeds([list(of_seed(each)) for each in first], CLAIMS)
    yield from over_seeds([list(of_longer(each)) for each in second], LONG_CLAIMS)


def longer_table(r: list[SeedResults]) -> Sheet:
    rows = []
    for name in (BASE, ALL, AUTO, LONGER):
        own = LONGER if name == LONGER else AUTO
        at = [(each.tables[BASE, ALL, own], (BASE, ALL, own).index(name)) for each in r]
        earned = [(table["mean"][k], table["error"][k]) for table, k in at]
        alone = [] if name == BASE else [each.alone(name, BASE) for each in r]
        above = [each.alone(name, ALL) for each in r] if name in (AUTO, LONGER) else []
        rows.append((name, *map(_listed, (earned, alone, above))))
    few = [each["decisions"] / each["infosets"] for of in r for each in of.experts]
    return Sheet(
        f"With eight times the training of experts: milli-big-blinds per hand, {len(r)} seeds",
        ("strategy", "earns at the table of the three", f"from two copies of {BASE}", f"from two copies of {ALL}"),
        rows,
        f"Base has the same training as above. The experts of {ALL} had {min(few):.0f} to {max(few):.0f} decisions for "
        "each infoset. Those of Base and S=N are at the table with 'automatic'. 95% intervals.",
    )  # fmt: skip


def table(r: list[SeedResults]) -> Sheet:
    rows = []
    for name in NAMES:
        earned = [each.earns(name, LONGER if name == LONGER else AUTO) for each in r]
        alone = [] if name == BASE else [each.alone(name, BASE) for each in r]
        above = [each.alone(name, ALL) for each in r] if name in (AUTO, LONGER) else []
        whole = Spread(tuple(mean for mean, _ in earned)).mean
        rows.append((name, f"{whole:.1f}", *map(_listed, (earned, alone, above))))
    return Sheet(
        "Three-player limit hold'em: milli-big-blinds per hand",
        ("strategy", "earns", "by seed", f"from two copies of {BASE}", f"from two copies of {ALL}"), rows,
        f"A strategy earns the mean of its winnings over all tables of three that can be formed from {ALL}, {EACH}, "
        f"{BASE} and one automatic strategy. A table plays {r[0].setting.deals:,} deals, each in all six seatings. The "
        f"rows of {ALL}, {EACH} and {BASE} are from tables with '{AUTO}'. 95% intervals.",
    )  # fmt: skip


def _listed(figures: Sequence[tuple[float, float]]) -> str:
    return "; ".join(f"{mean:.1f} ± {error:.1f}" for mean, error in figures)


def sizes(r: list[SeedResults]) -> Sheet:
    """What was trained, of the first seed."""
    first = r[0]
    whole = first.strategies[BASE]
    rows = [(BASE, whole["buckets"], f"{whole['infosets']:,}", f"{whole['iterations']:,}",
             f"{whole['decisions'] / whole['infosets']:.0f}")]  # fmt: skip
    for name in (ALL, EACH):
        for part in PARTS:
            same = [each for each in first.experts if each["name"] == name and each["part"] == part]
            rows.append((f"{name}: {part}" + f" ({len(same)} experts)" * (len(same) > 1), same[0]["buckets"],
                         f"{same[0]['infosets']:,}", f"{same[0]['iterations']:,}",
                         f"{same[0]['decisions'] / same[0]['infosets']:.0f}"))  # fmt: skip
    return Sheet("Training of the first seed",
                 ("what", "buckets", "infosets", "iterations", "decisions for each infoset"), rows)  # fmt: skip


def searches(r: list[SeedResults]) -> Sheet:
    rows = []
    for each in r:
        for k, done in enumerate(each.search["search"]["rounds"]):
            tried = len(done["plan"]["tried"])
            names = [_short(name) for name in done["kept"]]
            rows.append((f"{each.setting.seed}", _training(each.setting), f"{tried}", "; ".join(names) or "nothing",
                         "; ".join(map(_short, done["taken_back"])) or "nothing",
                         f"{each.search['predicted']:.1f}" if not k else "",
                         f"{each.search['unit'] * done['achieved']:.1f}", f"{each.search['seconds']:.0f}"))  # fmt: skip
        if not each.search["search"]["rounds"]:
            rows.append((f"{each.setting.seed}", _training(each.setting), "", "no expert was predicted to gain",
                         "", "", "", f"{each.search['seconds']:.0f}"))  # fmt: skip
    share = r[0].search["pilots"] / r[0].search["training"]
    return Sheet(
        "What the searches did",
        ("seed", "training", "experts tried", "kept", "taken back", "predicted", "achieved while choosing",
         "seconds"), rows,
        f"All experts are for S=N. The responder and the short runs had {share:.0%} of the training. Seconds: of the "
        "whole search with its matches.",
    )  # fmt: skip


def _training(setting: three.AutoThreeSetting) -> str:
    """Of a strategy, in words."""
    return f"{setting.length / 1000:g} s" if setting.timed else f"{setting.length:,} iterations"


def _short(name: str) -> str:
    return name.removeprefix("static ").removesuffix(", S=N").replace("percentile(", "").replace(", forget=1)", "")


def losses(r: list[SeedResults]) -> Sheet:
    """The parts of the first seed, as the responder saw them."""
    rows: list[tuple[str, ...]] = []
    unit = r[0].search["unit"]
    for done in r[0].search["search"]["rounds"][:1]:
        rows += [(each["name"], f"{unit * each['loss']:.0f} ± {1.96 * unit * each['error']:.0f}",
                  " / ".join(f"{unit * x:.0f}" for x in each["by_seat"]), f"{each['reach']:.1%}",
                  f"{each['infosets']:,}") for each in done["plan"]["parts"]]  # fmt: skip
    return Sheet(
        "Where Base loses, first seed: what a responder wins by part, milli-big-blinds per hand",
        ("part", "lost in all seats", "by seat", "reached", "infosets of Base"), rows,
        "Only parts that were tried. 95% intervals of sampling; a responder that was trained for a short time wins "
        "less than a best response does.",
    )  # fmt: skip


def points(r: list[SeedResults]) -> FigurePoints:
    plans = tuple((float(each.search["predicted"]), each.alone(AUTO, BASE)[0]) for each in r)
    alone = tuple((each.search["unit"] * move["predicted"], each.search["unit"] * move["achieved"])
                  for each in r for done in each.search["search"]["rounds"] for move in done["moves"])  # fmt: skip
    return FigurePoints("gains-holdem-three", "Predicted and achieved gains, three-player hold'em",
                        "predicted winnings from two copies of Base, mbb/h", "achieved winnings, mbb/h",
                        (PointGroup("plans, on other deals", plans), PointGroup("experts of plans, one by one", alone)),
                        )  # fmt: skip


def why(r: list[SeedResults]) -> str:
    """In a sentence: what S=N and the searches differ in."""
    recipe = [each["infosets"] for each in r[0].experts if each["name"] == ALL]
    lists = [move["infosets"] for each in r for done in each.search["search"]["rounds"]
             for move in done["plan"]["moves"] if move["name"] in done["kept"]]  # fmt: skip
    if not lists:
        return "No search kept an expert: Base itself is then the automatic strategy."
    return (f"The recipe has {len(recipe)} experts of {min(recipe):,} to {max(recipe):,} infosets, with the same "
            f"training each. The searches kept {len(lists) / len(r):.1f} experts on average, of {min(lists):,} to "
            f"{max(lists):,} infosets. Fewer experts have more training each, and small ones learn sooner."
            )  # fmt: skip


def page(plan: PaperPlan, both: tuple[list[SeedResults], list[SeedResults]], claims: Sequence[Claim]) -> Page:
    r, later = both
    setting = r[0].setting
    return Page(
        starts=len(r),
        about="A search chooses where experts go in three-player limit hold'em, and their buckets. Hands are sampled: "
        "a trained responder shows where the base loses, short runs of experts are extrapolated, and matches judge. It "
        "is compared with the recipe of Gibson & Szafron (2011): parts f, rf, rrf and rcf in the finest buckets that "
        f"fit. The game is {setting.game}, with at most {setting.limit:,} infosets for each computation and "
        f"{_training(setting)} of training for each strategy, from the same base. Random initialisations: {len(r)}, as "
        "fixed in docs/plans/auto_stitching.md.",
        departs=(
            *(() if setting.timed else SMALL),
            f"'{AUTO}' counts the training of its responder and its short runs, a third of the whole; '{LONGER}' gives "
            "the same experts all of the training. Matches of the search are counted in neither.",
            "Experts are for S=N, in one round. All figures are winnings in matches: exploitability of three players "
            "is not known here.",
        ),
        limits=LIMITS,
        sheets=(table(r), *([longer_table(later)] if later else []), searches([*r, *later]), sizes(r), losses(r)),
        pictures=(points([*r, *later]),), notes=(why(r),),
        figures={
            "unit": "milli-big-blinds per hand",
            "seeds": [{"seed": each.setting.seed, "strategies": each.strategies, "experts": each.experts,
                       "training": _training(each.setting), "tables": list(each.tables.values()),
                       "copies": list(each.copies.values())} for each in (*r, *later)],
        },
    )  # fmt: skip


PART = Experiment("holdem-three", "three-player limit hold'em", PLAN, QUICK, runs, gather, claims, page, START)
