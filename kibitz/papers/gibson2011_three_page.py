"""[Gibson & Szafron 2011, Table 2], three players: the results of the strategies of `gibson2011_three`.

Departs from the paper: external sampling with linear weights, for hours of one machine in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.papers import gibson2011_three as training
from kibitz.papers.claims import OURS, RUN, Claim, Comparison, measured
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_three import FILES, ONTO, SEATS, STAGES, ThreePlayerSetting
from kibitz.papers.holdem import arguments
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet

BASE, DYNAMIC, EACH, PAIRS, ALL, OLD, NEW = NAMES = training.NAMES
TITLE = "Gibson & Szafron 2011, On Strategy Stitching in Large Extensive Form Multiplayer Games: three-player hold'em"
SOURCE = "Gibson & Szafron 2011, Sec. 6"
GAME, LIMIT, HOURS, DEALS = "poker(file=holdem.limit.3p)", 162_000_000, 2.0, 500_000
TINY, TINY_LIMIT, TINY_HOURS, TINY_DEALS = "poker(file=holdem.limit.3p, ranks=4)", 25_000_000, 0.01, 2_000
TRAINING = 0.6  # share of the hours; the rest is for buckets and matches, and for reading and writing
PAPER = {BASE: -6.09, DYNAMIC: -4.91, EACH: -5.20, ALL: 3.06, OLD: -14.15, NEW: 27.29}
PAPER_ERROR = 0.71
COUNT = {EACH: 12, PAIRS: 12, ALL: 4, NEW: 4}  # experts
STRATEGIES, EXPERTS, STITCHED = "strategies without experts", "experts", "stitched"
TABLES, COPIES, COURSE, BOUNDS = "tables of three", "against two copies", "Base by training time", "lower bounds"
# On a small deck: how fine experts may be for their training. Buckets of the base, of experts, iterations, deals.
FINENESS, SMALL_BASE = "experts by training", "percentile([16, 2, 1, 1], forget=1)"
SMALL_EXPERTS = tuple(f"percentile([16, {n}], forget=1)" for n in ("3, 2, 2", "6, 5, 4", "12, 8, 4"))
SMALL_ITERATIONS, SMALL_DEALS = (20_000, 80_000, 320_000), 200_000


@dataclass(frozen=True)
class ThreePlayerResults:
    """All figures; thousandths of a big blind a hand."""

    setting: ThreePlayerSetting
    strategies: dict[str, dict[str, Any]]
    experts: list[dict[str, Any]]
    tables: dict[tuple[str, ...], dict[str, Any]]
    copies: dict[tuple[str, ...], dict[str, Any]]
    course: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    fineness: list[dict[str, Any]]

    def earns(self, name: str) -> tuple[float, float]:
        """The mean over all tables that it sits at, and its 95% interval; tables have deals of their own."""
        tables = [(each, list(names).index(name)) for names, each in self.tables.items() if name in names]
        mean = sum(each["mean"][k] for each, k in tables) / len(tables)
        return mean, sum(each["error"][k] ** 2 for each, k in tables) ** 0.5 / len(tables)

    def alone(self, name: str, other: str) -> tuple[float, float]:
        """What one wins from two copies of another."""
        each = self.copies[name, other, other]
        return each["mean"][0], each["error"][0]


def setting_of(plan: PaperPlan) -> ThreePlayerSetting:
    folder = Path(plan.folder) / "holdem3"
    if plan.quick:
        seconds = 3600 * TRAINING * TINY_HOURS
        return ThreePlayerSetting(TINY, TINY_LIMIT, 200_000, seconds, TINY_DEALS, f"{folder}-quick", plan.seed)
    hours, limit = plan.hours or HOURS, plan.limit or LIMIT
    experts = training.experts_limit(limit, hours)
    return ThreePlayerSetting(GAME, limit, experts, 3600 * TRAINING * hours, DEALS, str(folder), plan.seed)


def runs(plan: PaperPlan) -> list[Run]:
    """What has to be there before others comes first. Training takes all cores."""
    setting = setting_of(plan)
    of = arguments(setting)
    whole = [(name, FILES[name]) for name in (BASE, DYNAMIC, OLD)] + [(ONTO[NEW], training.base_file(NEW))]
    pairs = [(name, BASE) for name in NAMES if name != BASE] + [(BASE, ALL)]
    last = FILES[BASE]
    small = [(SMALL_ITERATIONS[0] // 10, SMALL_EXPERTS[0], TINY_DEALS)] if plan.quick else [
        (count, buckets, SMALL_DEALS) for count in SMALL_ITERATIONS for buckets in SMALL_EXPERTS
    ]  # fmt: skip
    return [
        Run(STRATEGIES, training.trained, [(*each, *of) for each in whole]),
        Run(EXPERTS, training.taught, [(name, k, *of) for name, count in COUNT.items() for k in range(count)]),
        Run(STITCHED, training.joined, [(name, *of) for name in SEATS]),
        Run(TABLES, training.won, [(tuple(FILES[name] for name in each), k, *of)
                          for k, each in enumerate(training.TABLES_OF_THREE)]),
        Run(COPIES, training.won, [((FILES[one], FILES[two], FILES[two]), 100 + k, *of)
                          for k, (one, two) in enumerate(pairs)]),
        Run(COURSE, training.won, [((f"{last}-{stage}", last, last), 200 + stage, *of)
                                   for stage in range(len(STAGES) - 1)]),
        Run(BOUNDS, training.bounded, [(name, *of) for name in (BASE, ALL)]),
        Run(FINENESS, training.by_training, [(count, SMALL_BASE, buckets, deals, TINY, plan.seed)
                                    for count, buckets, deals in small]),
    ]  # fmt: skip


def gather(plan: PaperPlan, answers: Answers) -> ThreePlayerResults:
    named = {file: name for name, file in FILES.items()}

    def by_name(run: str) -> dict[tuple[str, ...], dict[str, Any]]:
        return {tuple(named[file] for file in each["files"]): each for each in answers[run]}

    whole = {each["name"]: each for each in (*answers[STRATEGIES], *answers[STITCHED])}
    return ThreePlayerResults(setting_of(plan), whole, answers[EXPERTS], by_name(TABLES), by_name(COPIES),
                              answers[COURSE], answers[BOUNDS], answers[FINENESS])  # fmt: skip


def more(r: ThreePlayerResults, one: str, other: str, source: str) -> Claim:
    """That one earns more than another. Strategies sit at tables together, so that their earnings are not independent:
    the interval of a difference is at most the sum of both."""
    (a, ea), (b, eb) = r.earns(one), r.earns(other)
    return Claim(f"{one} earns more than {other}", source, [Comparison(a, ">", b, ea + eb)], unit=RUN,
                 detail=f"{a:.2f} ± {ea:.2f} against {b:.2f} ± {eb:.2f}")  # fmt: skip


def of_the_paper(r: ThreePlayerResults) -> Iterator[Claim]:
    """What the paper says of Table 2, three players."""
    yield from (more(r, ALL, other, SOURCE) for other in (BASE, DYNAMIC, EACH))
    yield measured(f"{ALL} wins money", SOURCE, r.earns(ALL))
    poor = {name: r.earns(name) for name in (BASE, DYNAMIC, EACH)}
    yield Claim(f"{BASE}, {DYNAMIC} and {EACH} do not win money", SOURCE,
                [tuple(Comparison(mean, "<=", 0.0, error) for mean, error in poor.values())], unit=RUN,
                detail=", ".join(f"{name} {mean:.2f} ± {error:.2f}" for name, (mean, error) in poor.items()),
                )  # fmt: skip
    if any(NEW in names for names in r.tables):
        yield from (more(r, NEW, other, SOURCE) for other in (ALL, OLD))
    yield more(r, BASE, OLD, SOURCE)


def of_our_own(r: ThreePlayerResults) -> Iterator[Claim]:
    yield measured(f"{ALL} wins from two copies of {BASE}", OURS, r.alone(ALL, BASE))
    yield more(r, ALL, PAIRS, OURS)
    yield more(r, PAIRS, EACH, OURS)


def claims(r: ThreePlayerResults) -> Iterator[Claim]:
    yield from of_the_paper(r)
    yield from of_our_own(r)


def table(r: ThreePlayerResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        mean, error = r.earns(name)
        alone = "" if name == BASE else "{:.2f} ± {:.2f}".format(*r.alone(name, BASE))
        paper = f"{PAPER[name]:.2f}" if name in PAPER else "-"
        rows.append((name, f"{mean:.2f} ± {error:.2f}", paper, alone))
    hands = sum(each["hands"] for each in r.tables.values())
    seconds = sum(each["seconds"] for each in r.tables.values())
    return Sheet(
        "Table 2, three players: milli-big-blinds per hand", ("strategy", "earns", "paper", "from two copies of Base"),
        rows,
        f"Earnings: the mean over all {len(r.tables)} tables of three different strategies, {r.setting.deals:,} deals "
        f"each, every deal in all six seatings, with the 95% interval; the paper's are ± {PAPER_ERROR} or so, over its "
        f"own six strategies. {hands / max(seconds, 1e-9) * 60:,.0f} hands a minute.",
        table=2,
    )  # fmt: skip


def sizes(r: ThreePlayerResults) -> Sheet:
    alone = [name for name in (BASE, DYNAMIC, OLD, ONTO[NEW]) if name in r.strategies]
    rows = [_training(name, r.strategies[name]) for name in alone]
    for name in SEATS:
        every = [each for each in r.experts if each["name"] == name]
        for part in dict.fromkeys(each["part"] for each in every):
            same = [each for each in every if each["part"] == part]
            rows.append(_training(f"{name}: {part}" + f" ({len(same)} experts)" * (len(same) > 1), same[0]))
    whole = [*(r.strategies[name] for name in alone), *r.experts]
    rate = sum(each["decisions"] for each in whole) / sum(each["seconds"] for each in whole)
    return Sheet(
        "Training",
        ("what", "buckets", "infosets", "bytes", "iterations", "decisions for each infoset", "seconds"), rows,
        f"{rate / 1e6:.1f} million decisions per second. Bytes: for regrets and average strategies. Decisions of "
        "static experts are those of their walks: what the base plays outside of the part is counted too.",
    )  # fmt: skip


def _training(name: str, each: dict[str, Any]) -> tuple[str, ...]:
    return (name, str(each["buckets"]), f"{each['infosets']:,}", f"{each['bytes']:,}", f"{each['iterations']:,}",
            f"{each['decisions'] / each['infosets']:.1f}", f"{each['seconds']:.0f}")  # fmt: skip


def course(r: ThreePlayerResults) -> Sheet:
    return Sheet(
        "Base after more training, against its final strategy", ("share of training", "wins from two copies of Base"),
        [(f"{share:g}", f"{each['mean'][0]:.2f} ± {each['error'][0]:.2f}")
         for share, each in zip(STAGES, r.course, strict=False)],
        "Earlier checkpoints play against the final strategy; this shows the value of longer training.",
    )  # fmt: skip


def bounds(r: ThreePlayerResults, training: str = "a tenth of Base's training") -> Sheet:
    return Sheet(
        "Lower bounds on exploitability",
        ("strategy", "a trained responder wins from two copies", "local best response wins",
         "iterations of the responder",
         "its buckets"),
        [(each["name"], f"{each['mean']:.1f} ± {each['error']:.1f}", f"{each['local']:.0f} ± {each['local_error']:.0f}",
          f"{each['iterations']:,}", each["buckets"]) for each in r.bounds],
        f"The responder is trained against two frozen copies for {training}. Local best response "
        "knows their strategy and looks one action ahead. An exact best response wins at least as much.",
    )  # fmt: skip


def fineness(r: ThreePlayerResults) -> Sheet:
    counts = list(dict.fromkeys(each["iterations"] for each in r.fineness))
    by_size: dict[tuple[str, int], dict[int, str]] = {}
    for each in r.fineness:
        cell = f"{each['mean']:.1f} ± {each['error']:.1f}"
        by_size.setdefault((each["buckets"], each["infosets"]), {})[each["iterations"]] = cell
    return Sheet(
        f"Size of the experts: winnings of {ALL} against two copies of Base, 16 cards, by iterations",
        ("buckets of experts", "infosets of all experts", *(f"{count:,}" for count in counts)),
        [(buckets, f"{infosets:,}", *(cells.get(count, "") for count in counts))
         for (buckets, infosets), cells in by_size.items()],
        f"Base uses {r.fineness[0]['base']}; Base and each expert had the number of iterations in the head of the "
        "column. Finer experts need more iterations before they beat their base; before that they are hardly "
        "trained in parts of the game.",
    )  # fmt: skip


def verdict(r: ThreePlayerResults) -> str:
    """Whether S=N beats Base, and if not, why."""
    mean, error = r.alone(ALL, BASE)
    measured = f"{ALL} against two copies of {BASE}: {mean:.2f} ± {error:.2f}"
    if mean > error:
        return f"{measured}: it wins."
    least = min(float(each["iterations"] / each["infosets"]) for each in r.experts if each["name"] == ALL)
    had = f"its experts had at least {least:.2g} iterations for each of their infosets"
    return (
        f"{measured}: it {'loses' if mean < -error else 'wins less than the 95% interval'}, though {had}. "
        "On a small deck the same code wins once its experts have enough iterations for their number of buckets "
        "(below). The same command with more --hours resumes from here."
    )


def page(plan: PaperPlan, r: ThreePlayerResults, claims: Sequence[Claim]) -> Page:
    setting, base = r.setting, r.strategies[BASE]
    shares = STAGES[: len(r.course)]
    spent = sum(each.get("seconds", 0) for each in (*r.strategies.values(), *r.experts))
    line = Line(
        "Base", tuple(shares), tuple(each["mean"][0] for each in r.course),
        tuple(each["error"][0] / 1.96 for each in r.course),
    )  # fmt: skip
    return Page(
        about=f"{setting.game} with percentile E[HS²] buckets. Before the flop all hands are distinct up to suit "
        "isomorphism; later rounds do not remember them (imperfect recall), and have perfect recall from the flop "
        f"on. Base and Dynamic have at most {setting.limit:,} infosets, the experts {setting.experts:,}, in "
        f"{', '.join(dict.fromkeys(e['part'] for e in r.experts))}. All training took {spent:,.0f} seconds; the same "
        f"command with more --hours resumes from here. {verdict(r)}",
        departs=(
            f"Base had {base['iterations']:,} iterations of external-sampling MCCFR, "
            f"{base['decisions'] / base['infosets']:.0f} visits per infoset. The paper ran a form of chance-sampled "
            "CFR, 100 million iterations for bases and 5 billion for experts. Short training hurts the slowest "
            f"learners most: S={{i}} and |S|=2, whose experts must also learn how the other players act in the whole "
            "game.",
            "ACPC-09 and ACPC-10 follow the paper's description. The experts of ACPC-10 use "
            "imperfect-recall percentile buckets, where the competition's winner used clusters; its base uses "
            "clusters.",
            "The paper does not say how the dynamic strategy divides its infosets. Here half are for the rest of the "
            "game.",
        ),
        sheets=(table(r), sizes(r), course(r), bounds(r), fineness(r)),
        pictures=(
            Curves("holdem3", "Three-player limit hold'em: checkpoints of Base against its final strategy",
                   "winnings, mbb/h", (FigurePanel("", (line,), (("even", 0.0),)),), log_x=True,
                   across="share of Base's training", ticks=tuple(shares),
                   note="Mean and standard error of a match against two copies of the final strategy."),
        ),
        figures={
            "unit": "milli-big-blinds per hand",
            "strategies": r.strategies, "experts": r.experts, "tables": list(r.tables.values()),
            "copies": list(r.copies.values()), "course": r.course, "bounds": r.bounds, "fineness": r.fineness,
            "earnings": {name: r.earns(name) for name in NAMES}, "paper": PAPER,
        },
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=1), PaperPlan(starts=1, quick=True), runs, gather, claims, page, unit="run",
    tables=("2",), ignores=("until", "iterations"), instead="--hours",
    settings={"the share of --hours for training": TRAINING,
              "infosets of an expert for each hour": training.EXPERTS_AN_HOUR},
)  # fmt: skip
