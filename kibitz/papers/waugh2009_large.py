"""[Waugh, Bard & Bowling 2009, Table 3] on a GPU: stages of docs/plans/large_tables.md, section 3, and their page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from kibitz.core.errors import ArtefactError, SpecError
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.course_results import (
    CourseResults,
    convergence,
    crosstable_sheet,
    curves,
    results_of,
    sizes_sheet,
    winnings,
    wins,
    without_draws,
)
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large import BOARD, ESTIMATED, ITERATION, LOOK, VALUE
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    DRAWN,
    PAIR,
    POINT,
    TRAIN,
    CourseRecipe,
    CourseSetting,
    pair,
    pairs_as_trained,
    point,
    strategies_of,
    trainings_of,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Answers, Run
from kibitz.papers.waugh2009_holdem import SOURCE, TITLE
from kibitz.papers.waugh2009_strategies import (
    BASE,
    FOURTEEN,
    GRAFTED,
    LARGEST,
    NAMES,
    PARTS,
    RATIO,
    SMALLER,
    TWELVE,
    sizes_of,
)
from kibitz.report.figures import Curves, FigurePanel, Heat, Line, Sheet, Spread

PAPER = "waugh2009"
GAME, TINY = "poker(file=holdem.limit.2p)", "poker(file=holdem.limit.2p, ranks=4, suits=3)"
SMALL, SMALL_LIMITS = "poker(file=holdem.limit.2p, ranks=4)", (60_000, 151_800, 150_000, 100_000)  # for CPUs
# Infosets of the base, of the largest and each graft, and of percentile(14) and percentile(12).
LIMITS, TINY_LIMITS = (2_000_000, 5_060_000, 219_561_272, 118_671_936), (30_000, 75_900, 100_000, 60_000)
SEEDS = (0, 1, 2)
CLAIMS = 6  # of the paper about this table, which are judged together
SINGLE = (BASE, SMALLER, LARGEST)  # with imperfect recall
POINTS, LOOKS = (17, 18), {FOURTEEN: (75, 300), TWELVE: (100, 400)}  # powers of two of boards; iterations
SMALL_POINTS, SMALL_LOOKS = (10, 12, 14, 15, 16), (200, 400, 800, 1600)
TINY_POINTS, TINY_LOOKS = (3, 4), (5, 10)
PAIR_POINTS = 16, 17, 18  # powers of two of boards after which the grafted strategy plays the others
TOGETHER = {"": (BASE, GRAFTED), "-single": (SMALLER, LARGEST), "-recall": (TWELVE, FOURTEEN)}  # trained side by side
TIMES = {FOURTEEN: 6, TWELVE: 3}  # an iteration, by one of percentile(8)


def setting_of(quick: bool, folder: str, device: str) -> CourseSetting:
    if quick:
        return CourseSetting(PAPER, TINY, TINY_LIMITS, 1.0, 2, 2_000, folder, device)
    return CourseSetting(PAPER, GAME, LIMITS, 1.0, 16, 5_000_000, folder, device)


def points(setting: CourseSetting, name: str) -> tuple[int, ...]:
    """Iterations of each computation at which a strategy is measured."""
    if name in LOOKS:
        return {GAME: LOOKS[name], SMALL: SMALL_LOOKS}.get(setting.game, TINY_LOOKS)
    return tuple(1 << power for power in {GAME: POINTS, SMALL: SMALL_POINTS}.get(setting.game, TINY_POINTS))


def pair_points(setting: CourseSetting, name: str) -> tuple[int, ...]:
    """Iterations of each computation after which a strategy plays those before it, as they are at their ends."""
    if name == GRAFTED and setting.game == GAME:
        return tuple(1 << power for power in PAIR_POINTS)
    return points(setting, name)[-1:]


def recipe_of(name: str, setting: CourseSetting) -> CourseRecipe:
    sizes = sizes_of(setting.game, *setting.limits)
    if name == GRAFTED:
        return CourseRecipe(parts=PARTS, seats="each", inside=sizes.grafts, opponents="base", base=BASE,
                            base_steps=points(setting, BASE)[-1])  # fmt: skip
    if name not in sizes.single:
        raise SpecError(f"there is no strategy {name!r}")
    return CourseRecipe("dcfr+" if name in LOOKS else "pcs", sizes.single[name])


strategies_of(PAPER, recipe_of)


def stages(setting: CourseSetting) -> Iterator[Stage]:
    of, last = arguments(setting), {name: points(setting, name)[-1] for name in NAMES}

    def course(name: str, seed: int) -> Run:
        return Run(POINT, point, [(name, seed, n, *of) for n in points(setting, name)])

    def pairs(seed: int, every: Sequence[tuple[str, str]]) -> Run:
        return Run(PAIR, pair, [(a, b, seed, (last[a], last[b]), *of) for a, b in every])

    def ready(seed: int, *names: str) -> Run:
        return trainings_of({name: [last[name]] for name in names}, seed, setting)

    looks = {name: pair_points(setting, name) for name in (*SINGLE, TWELVE, FOURTEEN, GRAFTED)}  # as they are ready

    for seed in SEEDS:
        yield Stage(f"graft-{seed}", "imperfect recall: the grafted strategy against 20x8, 20x7 and 20x32, exactly",
                    (*(course(name, seed) for name in (*SINGLE, GRAFTED)),
                     pairs(seed, [(GRAFTED, name) for name in SINGLE])), seconds_of)  # fmt: skip
        yield Stage(f"graft-{seed}-single", "20x8, 20x7 and 20x32 against each other, exactly",
                    (ready(seed, *SINGLE), pairs(seed, list(combinations(SINGLE, 2)))), seconds_of)  # fmt: skip
    for seed in SEEDS:
        for file, names in TOGETHER.items():
            ends = [Run(POINT, point, [(name, seed, last[name], *of) for name in names if name in LOOKS])]
            yield Stage(f"graft-trained{file}-{seed}", f"{', '.join(names)}: trained and kept for others",
                        (trainings_of({name: looks[name] for name in names}, seed, setting),
                         *(run for run in ends if run.pieces)), seconds_of)  # fmt: skip
        yield Stage(f"graft-pairs-{seed}", "all strategies: all pairs on drawn boards",
                    tuple(pairs_as_trained(looks, seed, setting)), seconds_of)  # fmt: skip
    yield Stage("graft-recall", "12 and 14, exactly against the grafted strategy",
                (course(TWELVE, 0), course(FOURTEEN, 0), ready(0, BASE, GRAFTED),
                 pairs(0, [(GRAFTED, TWELVE), (GRAFTED, FOURTEEN)])), seconds_of)  # fmt: skip
    yield Stage("graft-recall-single", "14 against 20x7, exactly",
                (ready(0, SMALLER, FOURTEEN), pairs(0, [(SMALLER, FOURTEEN)])), seconds_of)  # fmt: skip


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    if run.name in (PAIR, DRAWN):
        return VALUE if run.name == PAIR else ESTIMATED
    name, _, steps, *_ = run.pieces[piece]
    before = run.pieces[piece - 1][2] if piece and run.pieces[piece - 1][0] == name else 0
    measuring = 0.0 if run.name == TRAIN else LOOK
    if name in TIMES:
        return measuring + float((steps - before) * ITERATION * TIMES[name])
    return float(measuring + (8 if name == GRAFTED else 1) * (steps - before) * BOARD)


# The page


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    r = results_of(Path(plan.results), PAPER)
    for key, each in r.drawn.items():
        if GRAFTED in key:
            each.setdefault("moved", math.inf)  # a single look says nothing about convergence
    if not any(GRAFTED in key for key in (*r.pairs, *r.drawn)):
        raise ArtefactError(f"{plan.results} has no results of this table: run its stages first (--stage graft-0)")
    return r


def matches() -> list[tuple[str, str, str]]:
    """(claim, who, from whom): what the paper says of Table 3."""
    even = {LARGEST: "even the largest single strategy, "}
    said = [(f"the grafted strategy beats {even.get(name, '')}{name}", GRAFTED, name) for name in NAMES[1:]]
    return [*said, (f"{SMALLER} beats {FOURTEEN}, which it superseded", SMALLER, FOURTEEN)]


def claims(r: CourseResults) -> Iterator[Claim]:
    """What the paper says of Table 3; claims that nothing was measured for are left out."""
    tested = [wins(text, SOURCE, r, one, other, CLAIMS) for text, one, other in matches()]
    tested.append(wins(f"{LARGEST} beats {BASE}", OURS, r, LARGEST, BASE, CLAIMS))
    yield from (claim for claim in tested if claim is not None)


def known(r: CourseResults) -> list[str]:
    """The strategies of which something was measured."""
    return [name for name in NAMES if any(of == name for of, _ in r.points) or any(name in key for key in r.drawn)]


def table(r: CourseResults) -> Sheet:
    sheet = crosstable_sheet(r, known(r), "mb/h", CLAIMS)
    return replace(sheet, title="Table 3: winnings of the row against the column", table=3)


Courses = Mapping[str, Sequence[Mapping[int, float]]]  # by opponent and seed: winnings by boards of each graft


def courses_of(r: CourseResults) -> Courses:
    """What the grafted strategy wins along its training on drawn boards, of the first seed; of estimates after the same
    training the one on most boards counts."""
    every: dict[str, dict[int, float]] = {}
    for each in sorted(r.estimates, key=lambda each: int(each["boards"])):
        if each["other"] == GRAFTED and each["seed"] == SEEDS[0]:
            every.setdefault(each["one"], {})[int(each["steps"][1])] = -float(each["mean"])
    return {name: [of] for name, of in every.items() if len(of) > 1}


def grown(courses: Courses, note: str) -> Sheet:
    """What grafts win along their training."""
    looks = sorted({boards for of in courses.values() for boards in of[0]})
    rows = [(f"{boards:,}", *(f"{Spread(tuple(each[boards] for each in of)).mean:+.2f}" if boards in of[0] else ""
                              for of in courses.values())) for boards in looks]  # fmt: skip
    return Sheet("Winnings of the grafted strategy along its training", ("boards of each graft", *courses), rows,
                 f"mb/h, {note} Its opponents are trained to the end.")  # fmt: skip


def learning(courses: Courses, title: str, note: str) -> Curves:
    """The same as a picture."""
    lines = []
    for other, of in courses.items():
        spreads = [Spread(tuple(each[boards] for each in of)) for boards in of[0]]
        lines.append(Line(f"from {other}", tuple(of[0]), tuple(s.mean for s in spreads), tuple(s.sd for s in spreads)))
    return Curves("training", title, "winnings, mb/h", (FigurePanel("", tuple(lines), (("", 0.0),)),) if lines else (),
                  across="boards of each graft", note=note)  # fmt: skip


def _ratio(r: CourseResults) -> str:
    """How much larger the largest single strategy is here, if that is known."""
    largest, base = ([int(points[-1]["infosets"]) for (of, _), points in sorted(r.points.items()) if of == name][:1]
                     for name in (LARGEST, BASE))  # fmt: skip
    return f", and {largest[0] / base[0]:.2f} times here" if largest and base else ""


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    names = known(r)
    cells = [[r.won_in(r.first, one, other) for other in names] for one in names]
    matrix = [[None if cell is None else cell.mean for cell in row] for row in cells]
    pairs = sum(cell is not None for row in matrix for cell in row) // 2
    missing = [f"{one} against {other}" for _, one, other in matches() if not r.won(one, other)]
    heat = Heat("holdem", "Limit hold'em: winnings of the row against the column, mb/h", tuple(names), matrix, "mb/h")
    picture = curves(r, "grafts", "Limit hold'em: exploitability against training",
                     (("trained on sampled boards", (*SINGLE, GRAFTED)),
                      ("trained over all boards", (TWELVE, FOURTEEN))), unit="mb/h")  # fmt: skip
    recall = ("12 and 14 have the paper's number of buckets in each round and perfect recall, and were solved by dcfr+ "
              "over all boards. ") if {TWELVE, FOURTEEN} & set(names) else ""  # fmt: skip
    exact = "" if r.drawn else "Winnings are exact. "
    sizes = sizes_sheet(r, names, "Of the grafted strategy: the buckets of its base, of the grafts of r and cr, and of "
                        "those of ccr and cccr. The numbers are limits: there are 169 kinds of hands before the flop, "
                        "and hands of equal strength share a bucket.")  # fmt: skip
    along, on_drawn = courses_of(r), "on drawn boards, one seed."
    learnt = learning(along, "Limit hold'em: winnings of the grafted strategy along its training",
                      on_drawn.capitalize())  # fmt: skip
    return Page(
        starts=len({seed for *pair, seed in (*r.pairs, *r.drawn) if GRAFTED in pair}),
        summary=f"The paper makes {len(matches())} claims about this table; {len(missing)} were not measured yet."
        if missing else "",
        about=f"{GAME} with percentile E[HS²] buckets, as fixed in docs/plans/large_tables.md. There is a graft for "
        "each player and each of the parts r, cr, ccr and cccr. While a graft is solved, its player is frozen to the "
        "base outside of the part, and the opponent is free everywhere, with the base's buckets. A computation with "
        f"imperfect recall has at most {LIMITS[1]:,} infosets, counted by the number of buckets that were asked for. "
        f"{recall}"
        f"{'All others' if recall else 'All strategies'} were solved by public chance sampling: one board per "
        f"iteration, all hands of both players. {exact}Exploitability is measured on every 16th flop. "
        "A millibet (mb) is a thousandth of the small bet, which equals the big blind. "
        f"On {' and '.join(r.made_on)}, {r.seconds / 60:.0f} minutes in all, measurements included, summed over stages "
        "that ran side by side.",
        departs=(
            "Our copy of the paper lacks the figures of its table; each sentence about them is a claim here. The paper "
            "says of 14 that \"it was ultimately superseded by the smaller 20x7\"; we test whether 20x7 beats 14.",
            f"The buckets of {', '.join(SINGLE)} are described in another paper. Ours are one-dimensional percentiles. "
            f"{LARGEST} is {RATIO} times as large as the base in the paper{_ratio(r)}.",
            *r.again(),
            *([f"Claims without a figure are left out. Not measured yet: {'; '.join(missing)}."] if missing else []),
        ),
        sheets=(*([table(r)] if pairs > 2 else []), *([grown(along, on_drawn)] if along else []), winnings(r, "mb/h"),
                sizes, convergence(r, names)),
        pictures=(*([heat] if pairs > 2 else []), *(each for each in (learnt, picture) if each.panels)),
        figures={"unit": "mb/h", "pairs": [*r.pairs.values(), *map(without_draws, r.drawn.values())],
                 "looks": {name: {str(boards): won for boards, won in of[0].items()} for name, of in along.items()},
                 "points": [p for some in r.points.values() for p in some]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "waugh2009", TITLE, PaperPlan(starts=3), PaperPlan(starts=3, quick=True), lambda plan: [], gather, claims, page,
    tables=("3",), ignores=("until", "iterations"), instead="--stage",
)  # fmt: skip
