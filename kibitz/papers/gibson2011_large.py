"""[Gibson & Szafron 2011, Table 2], two players, on a GPU: stages of docs/plans/large_tables.md, sections 1 and 5.

    python -m kibitz.papers.stages --stage two-stitched-0 --seconds 560 --out results
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from kibitz.core.errors import SpecError
from kibitz.papers.gibson2011_strategies import (
    ALL,
    ALL_PARTS,
    BASE,
    DYNAMIC,
    DYNAMIC_PARTS,
    EACH,
    FINEST,
    NAMES,
    sizes_of,
    sizes_of_each,
)
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    DRAWN,
    OPENINGS,
    PAIR,
    POINT,
    TRAIN,
    WHOLE,
    CourseRecipe,
    CourseSetting,
    openings,
    pair,
    pairs_as_trained,
    point,
    strategies_of,
    train_without_tf32,
    trainings_of,
    whole,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run

PAPER = "gibson2011"
GAME, TINY = "poker(file=holdem.limit.2p)", "poker(file=holdem.limit.2p, ranks=4, suits=3)"
LIMITS, TINY_LIMITS = (24_000_000, 165_000_000), (40_000, 100_000)  # infosets of all computations, and of the finest
SMALL, SMALL_LIMITS = "poker(file=holdem.limit.2p, ranks=5)", (1_500_000, 4_000_000)  # for CPUs
SEEDS = (0, 1, 2)
SAMPLED = "Base.pcs"  # the control: Base on sampled boards
CONDITIONAL = f"{ALL}, conditional"  # gaps are per hand that comes to a part
COLOURED = (*NAMES, CONDITIONAL)  # in the order of colours, on all pictures
POINTS, SMALL_POINTS = (13, 15, 17, 18, 19), (12, 14, 16)  # boards of each computation, as powers of two
SMALL_OF_PAPER = (12, 14, 16, 17)  # the same, by the paper's own algorithm
# Iterations in the bucket form: of the base, the finest strategy, and parts with their own buckets.
LOOKS, FINEST_LOOKS, PART_LOOKS, EACH_LOOKS = (50, 400, 1600), (100, 400, 800), (50, 200, 800), (50, 200, 400)
SMALL_LOOKS = 200, 400, 800, 1600
# Trained further, to a smaller gap; names of runs begin so. The first look is early, so that the change of a
# computation that stops before the last one is that of a whole doubling too.
FURTHER, FURTHER_GAP = "further: ", 0.1
PRECISE = "without TF32: "  # likewise, of those whose products of matrices are not rounded to TF32
FURTHER_LOOKS, FURTHER_FINE = (400, 800, 1600), (200, 400, 800)  # of small strategies; of S={i} and Finest
# The paper's parts ccr and cccr begin within the second round, where parts have no bucket form: cc has both.
EACH_PARTS = "prefix(r, cr, cc)"
EACH_INSIDE = {"r": "percentile(9)", "cr": "percentile(9)", "cc": "percentile(11)"}
TINY_POINTS, TINY_LOOKS = (3, 4, 5), (5, 10, 20)
# Section 5: other ways to the base, single experts, and experts of other sizes.
SOLVERS = {"Base.cfr": "cfr", "Base.cfr+": "cfr+", "Base.lcfr": "lcfr", "Base.dcfr+": "dcfr+",
           "Base.pcs uniform": "pcs(weights=uniform)"}  # fmt: skip
# The paper's own algorithm, as near as it comes: chance is sampled, weights are uniform, and so is the first strategy.
BASE_SAMPLED, ALL_SAMPLED = "Base.pcs uniform", f"{ALL}.pcs uniform"
LASTS = {"Base.cfr+ last": "cfr+", "Base.dcfr+ last": "dcfr+"}
WAYS = (("Base, dcfr+", (BASE, "Base.dcfr+")),
        *((name, (name,)) for name in (*SOLVERS, SAMPLED) if name != "Base.dcfr+"))  # lines of a picture
ALONE = {f"{ALL}: {part} alone": k for k, part in enumerate(("r", "cr"))}
FINER = {f"{ALL} of {n}": n for n in (8, 9, 10)}  # percentile buckets of experts; of smaller games as many fewer:
FEWER, FEWEST = {GAME: 0, SMALL: 4}, 6
WHY_LOOKS, SMALL_WHY = (25, 50, 100, 200, 400, 800, 1600), (25, 100, 400)
EQUILIBRIA = tuple(range(8))  # seeds of many equilibria of the base
# Seconds on one H200: a board of a computation, an iteration of Base in the bucket form, and measurements.
BOARD, ITERATION, LOOK, EXACTLY, VALUE, ESTIMATED = 1 / 4800, 0.05, 20.0, 165.0, 190.0, 15.0
# Measured: 0.015 s an iteration of Base with TF32, 0.055 of Dynamic. Dynamic and S={i} are trained without it now.
TIMES = {FINEST: 6.0, ALL: 1.0, CONDITIONAL: 1.5, DYNAMIC: 3.0, EACH: 15.0} | dict.fromkeys((*FINER, *ALONE), 1.0)


def setting_of(quick: bool, folder: str, device: str) -> CourseSetting:
    if quick:
        return CourseSetting(PAPER, TINY, TINY_LIMITS, 1.0, 2, 2_000, folder, device)
    return CourseSetting(PAPER, GAME, LIMITS, 1.0, 16, 5_000_000, folder, device)


def further(setting: CourseSetting) -> CourseSetting:
    """The same, to a smaller gap, with checkpoints of its own."""
    return replace(setting, gap=FURTHER_GAP, folder=f"{setting.folder}/further")


def points(setting: CourseSetting, name: str) -> tuple[int, ...]:
    """Iterations of each computation at which a strategy is measured; the last is where claims are judged."""
    if setting.game == GAME and setting.gap == FURTHER_GAP:
        return FURTHER_FINE if name in (EACH, FINEST) else FURTHER_LOOKS
    if _sampled(name):
        few = SMALL_OF_PAPER if name in (BASE_SAMPLED, ALL_SAMPLED) else SMALL_POINTS
        return tuple(1 << power for power in {GAME: POINTS, SMALL: few}.get(setting.game, TINY_POINTS))
    if setting.game == SMALL:
        return SMALL_WHY if name in (*SOLVERS, *LASTS) else SMALL_LOOKS
    looks = {BASE: LOOKS, FINEST: FINEST_LOOKS, EACH: EACH_LOOKS} | dict.fromkeys((*SOLVERS, *LASTS), WHY_LOOKS)
    return looks.get(name, PART_LOOKS) if setting.game == GAME else TINY_LOOKS


def _sampled(name: str) -> bool:
    return name in (SAMPLED, ALL_SAMPLED) or SOLVERS.get(name, "").startswith("pcs")


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
        return CourseRecipe("dcfr+", parts=DYNAMIC_PARTS, inside=sizes.dynamic)
    if name == EACH:
        inside = EACH_INSIDE if setting.game == GAME else sizes_of_each(setting.game, EACH_PARTS, setting.limits[0])[0]
        return CourseRecipe("dcfr+", parts=EACH_PARTS, seats="each", inside=inside, base=BASE, base_steps=steps)
    if name == ALL_SAMPLED:
        return CourseRecipe(SOLVERS[BASE_SAMPLED], parts=ALL_PARTS, seats="all", inside=sizes.all, base=BASE_SAMPLED,
                            base_steps=points(setting, BASE_SAMPLED)[-1])  # fmt: skip
    if name in (ALL, CONDITIONAL) or name in ALONE:
        return CourseRecipe("dcfr+", parts=ALL_PARTS, seats="all", inside=sizes.all, only=ALONE.get(name), base=BASE,
                            base_steps=steps, conditional=name == CONDITIONAL)  # fmt: skip
    if name in FINER:
        buckets = FINER[name] - FEWER.get(setting.game, FEWEST)
        inside = dict.fromkeys(sizes.all, f"percentile({buckets})")
        return CourseRecipe("dcfr+", parts=ALL_PARTS, seats="all", inside=inside, base=BASE, base_steps=steps)
    raise SpecError(f"there is no strategy {name!r}")


strategies_of(PAPER, recipe_of)


# Stages


def stages(setting: CourseSetting) -> Iterator[Stage]:
    """In the order of the plan."""
    of, last = arguments(setting), {name: points(setting, name)[-1] for name in (*NAMES, SAMPLED)}

    def course(name: str, seed: int, among: tuple[int, ...] = ()) -> Run:
        return Run(POINT, point, [(name, seed, n, *of) for n in among or points(setting, name)])

    def exactly(*names: str, seed: int) -> Run:
        return Run(WHOLE, whole, [(name, seed, last[name], *of) for name in names])

    def gains(*names: str, seed: int) -> Run:
        return Run(OPENINGS, openings, [(name, seed, last[name], *of) for name in names])

    def pairs(*names: str, seed: int) -> Run:
        every = [(one, other) for one, other in combinations(names, 2)]
        return Run(PAIR, pair, [(a, b, seed, (last[a], last[b]), *of) for a, b in every])

    def trained(*names: str, seed: int = SEEDS[0]) -> Run:
        return trainings_of({name: [last[name]] for name in names}, seed, setting)

    def stage(name: str, about: str, *runs: Run) -> Stage:
        return Stage(name, about, runs, seconds_of)

    beyond = further(setting)
    far, end = arguments(beyond), {name: points(beyond, name)[-1] for name in (*NAMES, CONDITIONAL)}

    def trained_further(name: str, about: str, seed: int, *names: str, exact: bool = True) -> Stage:
        runs = [Run(FURTHER + POINT, point, [(of, seed, n, *far) for of in names for n in points(beyond, of)])]
        if exact:
            mine = [of for of in names if of != BASE]
            runs += [Run(FURTHER + WHOLE, whole, [(of, seed, end[of], *far) for of in names]),
                     Run(FURTHER + PAIR, pair, [(BASE, of, seed, (end[BASE], end[of]), *far) for of in mine])]
        return stage(name, f"{about}, to a gap of {FURTHER_GAP:g}", *runs)

    control = next(iter(FINER))
    first, others = SEEDS[0], SEEDS[1:]
    yield stage("two-all-0", "Base and S=N: curves, exact exploitability, exact winnings",
                course(BASE, first), course(ALL, first), exactly(BASE, ALL, seed=first), pairs(BASE, ALL, seed=first),
                gains(BASE, ALL, seed=first))  # fmt: skip
    for seed in others:
        yield stage(f"two-all-{seed}", "Base and S=N, the end of their training on sampled flops",
                    course(BASE, seed, (last[BASE],)), course(ALL, seed, (last[ALL],)))  # fmt: skip
    yield stage("why-control", "experts that are no finer than the base",
                *(Run(POINT, point, [(control, seed, last[ALL], *of)]) for seed in SEEDS))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"two-conditional-{seed}", "S=N with experts that are solved per hand that comes to their part",
                    trained(BASE, seed=seed),
                    Run(POINT, point, [(CONDITIONAL, seed, last[ALL], *of)]))  # fmt: skip
    last[CONDITIONAL] = last[ALL]
    yield stage("two-conditional-whole", "the same, exactly",
                trained(BASE, CONDITIONAL),
                Run(WHOLE, whole, [(CONDITIONAL, first, last[ALL], *of)]),
                Run(PAIR, pair, [(BASE, CONDITIONAL, first, (last[BASE], last[ALL]), *of)]))  # fmt: skip
    yield stage("two-dynamic-0", "Dynamic: curve, exact exploitability, exact winnings",
                course(DYNAMIC, first), exactly(DYNAMIC, seed=first), pairs(BASE, DYNAMIC, seed=first),
                gains(DYNAMIC, seed=first))  # fmt: skip
    for seed in others:
        yield stage(f"two-dynamic-{seed}", "Dynamic, the end of its training on sampled flops",
                    course(DYNAMIC, seed, (last[DYNAMIC],)))  # fmt: skip
    yield stage("two-each-0", "S={i}: curve, exact exploitability, exact winnings from Base",
                course(EACH, first), exactly(EACH, seed=first), pairs(BASE, EACH, seed=first),
                gains(EACH, seed=first))  # fmt: skip
    for seed in others:
        yield stage(f"two-each-{seed}", "S={i}, the end of its training on sampled flops",
                    trained(EACH, seed=seed), course(EACH, seed, (last[EACH],)))  # fmt: skip
    yield stage("two-finest-0", "Finest: curve, exact exploitability, exact winnings from Base",
                course(FINEST, first), exactly(FINEST, seed=first), pairs(BASE, FINEST, seed=first))  # fmt: skip
    for seed in others:
        yield stage(f"two-finest-{seed}", "Finest, the end of its training on sampled flops",
                    trained(FINEST, seed=seed), course(FINEST, seed, (last[FINEST],)))  # fmt: skip
    for seed in SEEDS:
        where = "" if seed == first else " on sampled flops"
        yield trained_further(f"two-further-{seed}", f"Base, S=N and S=N solved per hand{where}", seed, BASE, ALL,
                              CONDITIONAL, exact=seed == first)  # fmt: skip
    for file, name in (("dynamic", DYNAMIC), ("each", EACH), ("finest", FINEST)):
        yield trained_further(f"two-further-{file}", name, first, name)
    yield stage("two-pilot", "Base on sampled boards: how far from convergence is such a training?",
                course(SAMPLED, first), exactly(SAMPLED, seed=first))  # fmt: skip
    for seed in SEEDS:
        some_boards = points(setting, BASE_SAMPLED)[1:] if seed == first else points(setting, BASE_SAMPLED)[-2:]
        both = BASE_SAMPLED, ALL_SAMPLED
        whole_of = [(name, seed, some_boards[-1], *of) for name in both] if seed == first else []
        yield stage(f"two-sampled-{seed}", "Base and S=N by the paper's algorithm, on sampled boards",
                    *(course(name, seed, some_boards) for name in both), Run(WHOLE, whole, whole_of))  # fmt: skip

    yield stage("two-trained-0", "Base, Dynamic and both kinds of S=N: trained and kept for others",
                trained(BASE, ALL, DYNAMIC, CONDITIONAL))  # fmt: skip
    yield stage("two-trained-each-0", "the same of S={i}", trained(BASE, EACH))
    yield stage("two-trained-finest-0", "the same of Finest", trained(FINEST))
    by_time = BASE, ALL, DYNAMIC, CONDITIONAL, EACH, FINEST  # as the stages before have them ready
    for seed in SEEDS:
        playing = by_time if seed == first else (BASE, ALL, DYNAMIC, FINEST, EACH)  # the last takes longest
        yield stage(f"two-pairs-{seed}", "all strategies: all pairs on drawn boards",
                    *pairs_as_trained({name: [last[name]] for name in playing}, seed, setting))  # fmt: skip
    precise = replace(setting, folder=f"{setting.folder}/precise")
    in_turn = pairs_as_trained({name: [last[name]] for name in (BASE, DYNAMIC, ALL, FINEST, EACH)}, first, precise)
    yield stage("two-precise", "all pairs of strategies that are trained with CUPY_TF32=0",
                *(replace(run, name=PRECISE + run.name, work=train_without_tf32 if run.prepares else run.work)
                  for run in in_turn))  # fmt: skip
    yield stage("why-equilibria", "many equilibria of Base",
                Run(POINT, point, [(BASE, seed, last[BASE], *of) for seed in EQUILIBRIA]))  # fmt: skip
    for seed in SEEDS:
        yield stage(f"why-experts-{seed}", "experts of S=N alone, and experts of other sizes",
                    *(course(name, seed, (last[ALL],)) for name in (*ALONE, *FINER)),
                    Run(OPENINGS, openings, [(name, seed, last[ALL], *of) for name in FINER]))  # fmt: skip
    ways = (*SOLVERS, *LASTS)
    for number, some_of in enumerate((ways[:3], ways[3:])):
        yield stage(f"why-algorithms-{number}", f"Base by other algorithms: {', '.join(some_of)}",
                    *(course(name, 0) for name in some_of))  # fmt: skip


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    fixed = {WHOLE: EXACTLY, OPENINGS: LOOK, PAIR: VALUE, DRAWN: ESTIMATED}
    kind = run.name.removeprefix(FURTHER).removeprefix(PRECISE)
    if kind in fixed:
        return fixed[kind]
    name, steps = run.pieces[piece][0], run.pieces[piece][2]
    before = run.pieces[piece - 1][2] if piece and run.pieces[piece - 1][:2] == run.pieces[piece][:2] else 0
    measuring = 0.0 if kind == TRAIN else LOOK
    each = BOARD * (2 if name == ALL_SAMPLED else 1) if _sampled(name) else ITERATION * TIMES.get(name, 1.0)
    return float(measuring + (steps - before) * each)
