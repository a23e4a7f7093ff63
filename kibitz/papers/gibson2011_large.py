"""[Gibson & Szafron 2011, Table 2], two players, on a GPU: stages of docs/plans/large_tables.md, sections 1 and 5.

    python -m kibitz.papers.stages --stage two-stitched-0 --seconds 560 --out results
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from kibitz.core.errors import SpecError
from kibitz.papers.gibson2011_strategies import (
    ALL,
    ALL_PARTS,
    BASE,
    DYNAMIC,
    DYNAMIC_PARTS,
    EACH,
    EACH_PARTS,
    FINEST,
    NAMES,
    sizes_of,
)
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    MATCH,
    OPENINGS,
    PAIR,
    POINT,
    TRAIN,
    WHOLE,
    CourseRecipe,
    CourseSetting,
    matched,
    openings,
    pair,
    point,
    strategies_of,
    train,
    whole,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run

PAPER = "gibson2011"
GAME, TINY = "poker(file=holdem.limit.2p)", "poker(file=holdem.limit.2p, ranks=4, suits=3)"
LIMITS, TINY_LIMITS = (24_000_000, 165_000_000), (40_000, 100_000)  # infosets of all computations, and of the finest
SEEDS = (0, 1, 2)
SAMPLED = "Base.pcs"  # the control: Base on sampled boards
POINTS, EACH_POINTS = (13, 15, 17, 18, 19), (15, 17, 18, 19)  # boards of each computation, as powers of two
LOOKS, FINEST_LOOKS = (25, 100, 400, 1600), (100, 400, 800)  # iterations in the bucket form
TINY_POINTS, TINY_LOOKS = (3, 4, 5), (5, 10, 20)
# Section 5: other ways to the base, single experts, and experts of other sizes.
SOLVERS = {"Base.cfr": "cfr", "Base.cfr+": "cfr+", "Base.lcfr": "lcfr", "Base.dcfr+": "dcfr+",
           "Base.pcs uniform": "pcs(weights=uniform)"}  # fmt: skip
LASTS = {"Base.cfr+ last": "cfr+", "Base.dcfr+ last": "dcfr+"}
ALONE = {f"{ALL}: {part} alone": k for k, part in enumerate(("r", "cr"))}
FINER = {f"{ALL} of {n}": n for n in (8, 9, 10)}  # percentile buckets of experts
WHY_LOOKS = (25, 50, 100, 200, 400, 800, 1600)
EQUILIBRIA = tuple(range(8))  # seeds of many equilibria of the base
# Seconds on one H200: a board of a computation, an iteration of Base in the bucket form, and measurements.
BOARD, ITERATION, LOOK, EXACTLY, VALUE, PLAYED = 1 / 4800, 0.05, 30.0, 190.0, 110.0, 45.0


def setting_of(quick: bool, folder: str, device: str) -> CourseSetting:
    if quick:
        return CourseSetting(PAPER, TINY, TINY_LIMITS, 1.0, 2, 2_000, folder, device)
    return CourseSetting(PAPER, GAME, LIMITS, 1.0, 16, 5_000_000, folder, device)


def points(setting: CourseSetting, name: str) -> tuple[int, ...]:
    """Iterations of each computation at which a strategy is measured; the last is where claims are judged."""
    tiny, sampled = setting.game != GAME, _sampled(name)
    if not sampled:
        looks = LOOKS if name == BASE else FINEST_LOOKS if name == FINEST else WHY_LOOKS
        return TINY_LOOKS if tiny else looks
    powers = TINY_POINTS if tiny else EACH_POINTS if name == EACH else POINTS
    return tuple(1 << power for power in powers)


def _sampled(name: str) -> bool:
    return name not in (BASE, FINEST, *LASTS) and not (name in SOLVERS and not SOLVERS[name].startswith("pcs"))


def recipe_of(name: str, setting: CourseSetting) -> CourseRecipe:
    """How a strategy of the paper, or one of section 5, is made."""
    sizes = sizes_of(setting.game, *setting.limits)
    steps = points(setting, BASE)[-1]  # of the base that experts stand on
    if name == BASE:
        return CourseRecipe("dcfr+", sizes.base)
    if name == FINEST:
        return CourseRecipe("dcfr+", sizes.finest)
    if name == SAMPLED:
        return CourseRecipe("pcs", sizes.base)
    if name in SOLVERS or name in LASTS:
        return CourseRecipe((SOLVERS | LASTS)[name], sizes.base, last=name in LASTS)
    if name == DYNAMIC:
        return CourseRecipe(parts=DYNAMIC_PARTS, inside=sizes.dynamic)
    if name == EACH:
        return CourseRecipe(parts=EACH_PARTS, seats="each", inside=sizes.each, base=BASE, base_steps=steps)
    if name == ALL or name in ALONE:
        return CourseRecipe(parts=ALL_PARTS, seats="all", inside=sizes.all, only=ALONE.get(name), base=BASE,
                            base_steps=steps)  # fmt: skip
    if name in FINER:
        inside = dict.fromkeys(sizes.all, f"percentile({FINER[name]})")
        return CourseRecipe(parts=ALL_PARTS, seats="all", inside=inside, base=BASE, base_steps=steps)
    raise SpecError(f"there is no strategy {name!r}")


strategies_of(PAPER, recipe_of)


# Stages


def stages(setting: CourseSetting) -> Iterator[Stage]:
    """In the order of the plan."""
    of, last = arguments(setting), {name: points(setting, name)[-1] for name in (*NAMES, SAMPLED)}

    def course(name: str, seed: int, among: tuple[int, ...] = ()) -> Run:
        return Run(POINT, point, [(name, seed, n, *of) for n in among or points(setting, name)])

    def course_of_each(seed: int) -> tuple[Run, ...]:
        """Its eight computations take too long for one step between the last two points."""
        *early, late = points(setting, EACH)
        between = Run(TRAIN, train, [(EACH, seed, (early[-1] + late) // 2, *of)])
        return course(EACH, seed, tuple(early)), between, Run(POINT, point, [(EACH, seed, late, *of)])

    def exactly(*names: str, seed: int) -> Run:
        return Run(WHOLE, whole, [(name, seed, last[name], *of) for name in names])

    def gains(*names: str, seed: int) -> Run:
        return Run(OPENINGS, openings, [(name, seed, last[name], *of) for name in names])

    def pairs(*names: str, seed: int) -> Run:
        every = [(one, other) for one, other in combinations(names, 2)]
        return Run(PAIR, pair, [(a, b, seed, (last[a], last[b]), *of) for a, b in every])

    def stage(name: str, about: str, *runs: Run) -> Stage:
        return Stage(name, about, runs, seconds_of)

    yield stage("two-pilot", "Base by dcfr+ and on sampled boards: how far from convergence is a training?",
                course(BASE, 0), course(SAMPLED, 0), exactly(BASE, SAMPLED, seed=0), gains(BASE, seed=0))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"two-stitched-{seed}", "Base, Dynamic and S=N: curves, exact exploitability, exact pairs",
                    course(BASE, seed, (last[BASE],)), course(ALL, seed), exactly(ALL, seed=seed),
                    course(DYNAMIC, seed), exactly(BASE, DYNAMIC, seed=seed), pairs(BASE, ALL, seed=seed),
                    gains(ALL, seed=seed))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"two-each-{seed}", "S={i}: curve, exact exploitability, exact winnings from Base",
                    *course_of_each(seed), exactly(EACH, seed=seed), gains(EACH, seed=seed),
                    pairs(BASE, EACH, seed=seed))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"two-finest-{seed}", "Finest: curve, exact exploitability, exact winnings from Base",
                    course(FINEST, seed), exactly(FINEST, seed=seed), pairs(BASE, FINEST, seed=seed))  # fmt: skip
    half = {name: steps if name == BASE else steps // 2 for name, steps in last.items()}
    ready = [(name, 0, half[name], *of) for name in (BASE, DYNAMIC, ALL, FINEST)]
    ready += [(EACH, 0, share, *of) for share in (half[EACH] // 2, half[EACH])]
    some = [(a, b, 0, (half[a], half[b]), k, *of) for k, (a, b) in enumerate(combinations(NAMES, 2))]
    yield stage("two-pairs-0", "all five strategies, half as long on sampled boards: matches of all pairs",
                Run(TRAIN, train, ready), Run(MATCH, matched, some))  # fmt: skip
    yield stage("why-equilibria", "many equilibria of Base",
                Run(POINT, point, [(BASE, seed, last[BASE], *of) for seed in EQUILIBRIA]))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"why-experts-{seed}", "experts of S=N alone, and experts of other sizes",
                    *(course(name, seed, (last[ALL],)) for name in (*ALONE, *FINER, SAMPLED)),
                    Run(OPENINGS, openings, [(name, seed, last[ALL], *of) for name in FINER]))  # fmt: skip
    others = (*SOLVERS, *LASTS)
    for number, some_of in enumerate((others[:3], others[3:])):
        yield stage(f"why-algorithms-{number}", f"Base by other algorithms: {', '.join(some_of)}",
                    *(course(name, 0) for name in some_of))  # fmt: skip


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    fixed = {WHOLE: EXACTLY, OPENINGS: LOOK, PAIR: VALUE, MATCH: PLAYED}
    if run.name in fixed:
        return fixed[run.name]
    name, steps = run.pieces[piece][0], run.pieces[piece][2]
    before = run.pieces[piece - 1][2] if piece and run.pieces[piece - 1][:2] == run.pieces[piece][:2] else 0
    if name == EACH and len(run.pieces) == 1:  # of `course_of_each`
        before = steps * 2 // 3 if run.name == TRAIN else steps * 3 // 4
    measuring = 0.0 if run.name == TRAIN else LOOK
    if not _sampled(name):
        return float(measuring + (steps - before) * ITERATION * (13 if name == FINEST else 1))
    experts = {EACH: 8, ALL: 2} | dict.fromkeys(FINER, 2)
    return float(measuring + experts.get(name, 1) * (steps - before) * BOARD)
