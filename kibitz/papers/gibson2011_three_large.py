"""[Gibson & Szafron 2011, Table 2], three players, on a GPU: stages of docs/plans/large_tables.md, section 2, and the
page of their results.

    python -m kibitz.papers.stages --stage three-0 --device gpu --seconds 560 --out results --work /tmp/work
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.papers import gibson2011_three as training
from kibitz.papers import gibson2011_three_page as shared
from kibitz.papers.claims import Claim
from kibitz.papers.course_results import over_seeds
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_three import (
    ALL,
    BASE,
    DYNAMIC,
    EACH,
    FILES,
    NAMES,
    NEW,
    OLD,
    ONTO,
    PAIRS,
    SEATS,
    ThreePlayerSetting,
)
from kibitz.papers.gibson2011_three_page import COUNT, PAPER, TITLE, ThreePlayerResults
from kibitz.papers.holdem import arguments, score_in
from kibitz.papers.ledger import RESULTS, Stage, entries_of, results_in
from kibitz.papers.runs import Answers, Run
from kibitz.poker.blueprints.placed_rows import stitched
from kibitz.poker.blueprints.rows import PARTS
from kibitz.poker.stitching.row_experts import trained_expert
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread
from kibitz.stitch import Solving

GAME, LIMIT, WINNER, DEALS = "poker(file=holdem.limit.3p)", 162_000_000, 270_000_000, 500_000
TINY, TINY_LIMIT, TINY_DEALS = "poker(file=holdem.limit.3p, ranks=4)", 25_000_000, 200
SECONDS, TINY_SECONDS = 45.0, 0.05  # of training of each strategy
SEEDS = (0, 1, 2)
COURSE_SECONDS, EXPERT_SECONDS = 480.0, (7.5, 15.0, 30.0, 60.0)  # of Base; of each expert of S=N
WHOLE, EXPERT, JOINED = "three: strategies", "three: experts", "three: stitched"
TABLE, COPIES, CHECKPOINT, BY_TIME = "three: tables", "three: copies", "three: checkpoints", "three: by time"
PAPERS_TABLES = tuple(each for each in training.TABLES_OF_THREE if PAIRS not in each)
# What is trained and matched one after another, if time is short: the paper's own strategies come first. The base of
# the last but one is clustered.
GROUPS = ((BASE, DYNAMIC, OLD, ALL, EACH), (NEW,), (PAIRS,))
FIRST_TABLES = tuple(each for each in PAPERS_TABLES if NEW not in each)
# Lower bounds: of the seed of one session, by a responder that is trained for so long and by local best response.
BOUND, BOUND_SEED, RESPONDER_SECONDS, LOCAL_DEALS = "three: bounds", 1, 20.0, 100_000
BOUNDED = (BASE, ALL), (DYNAMIC, OLD)  # before and after the last group
# Experts of |S|=2 that the first seed did not finish: iterations for one of the expert of S={i} with the same number.
OF_EACH = 0.7
CLAIMS = 8  # about this table, which are judged together
OVERHEAD, TABLE_SECONDS = 12.0, 2.0  # on one H200: of a training; of a table of three on its 16 cores


def setting_of(quick: bool, work: str, device: str, seed: int = 0) -> ThreePlayerSetting:
    count = len(training.SHARES)
    folder = str(Path(work) / f"three-{seed}")
    if quick:
        return ThreePlayerSetting(TINY, TINY_LIMIT, 200_000, TINY_SECONDS * count, TINY_DEALS, folder, seed, device,
                                  checkpoints=False)  # fmt: skip
    return ThreePlayerSetting(GAME, LIMIT, LIMIT, SECONDS * count, DEALS, folder, seed, device, WINNER, False)


# Steps: those of `gibson2011_three`, with the seed


def _of_seed(answer: dict[str, Any], fields: Sequence[Any]) -> dict[str, Any]:
    return {**answer, "seed": ThreePlayerSetting(*fields).seed}


def trained(name: str, file: str, *fields: Any) -> dict[str, Any]:
    return _of_seed(training.trained(name, file, *fields), fields)


def taught(name: str, number: int, *fields: Any) -> dict[str, Any]:
    return _of_seed(training.taught(name, number, *fields), fields)


def trained_as_first(name: str, file: str, iterations: int, *fields: Any) -> dict[str, Any]:
    """As many iterations as the first seed made, so that other processes on the GPU do not take any away."""
    return _of_seed(training.train_whole(name, file, ThreePlayerSetting(*fields), iterations), fields)


def taught_as_first(name: str, number: int, iterations: int, *fields: Any) -> dict[str, Any]:
    return _of_seed(training.train_expert(name, number, ThreePlayerSetting(*fields), iterations), fields)


@lru_cache(1)
def made_first(folder: str = RESULTS) -> dict[tuple[str, int], int]:
    """Iterations that the first seed made in its time, by strategy and number of the computation."""
    path, iterations = Path(folder) / f"three-{SEEDS[0]}.json", dict[tuple[str, int], int]()
    for each in entries_of(path) if path.exists() else ():
        if each["run"] in (WHOLE, EXPERT):
            name = each["answer"]["name"]
            iterations[name, sum(of == name for of, _ in iterations)] = int(each["answer"]["iterations"])
    estimated = {(PAIRS, k): int(OF_EACH * count) for (of, k), count in iterations.items() if of == EACH}
    return estimated | iterations


def joined(name: str, *fields: Any) -> dict[str, Any]:
    return _of_seed(training.joined(name, *fields), fields)


def won(files: tuple[str, str, str], number: int, *fields: Any) -> dict[str, Any]:
    return _of_seed(training.won(files, number, *fields), fields)


def by_time(seconds: float, number: int, *fields: Any) -> dict[str, Any]:
    """What S=N wins from two copies of Base, with experts that are trained for so long each."""
    setting = ThreePlayerSetting(*fields)
    base = training.played(FILES[BASE], setting)
    parts, visited = {}, 0
    for k, of in enumerate(training.experts_of(ALL, setting, base)):
        how = Solving(seconds=seconds, seed=setting.seed + k, device=setting.device)
        blueprint = trained_expert(base, of, how)
        visited += blueprint.progress().visited
        parts[of.name] = dict.fromkeys(of.keeps, blueprint.played())
    file = f"{FILES[ALL]}-{seconds:g}s"
    stitched(base, parts).save(setting.path(f"{file}-played"), lambda meta: True)
    two = FILES[BASE]
    return {**won((file, two, two), number, *fields), "expert_seconds": seconds, "decisions": visited}


def bounded(name: str, seconds: float, deals: int, *fields: Any) -> dict[str, Any]:
    """What a responder that is trained for so long, and local best response, win from two copies."""
    from kibitz.play.agents import blueprint_agent
    from kibitz.play.lower_bound import lower_bound
    from kibitz.poker.whole.local_response import local_bound

    setting = ThreePlayerSetting(*fields)
    unit = training.unit_of(setting.machine)
    target = blueprint_agent(training.played(FILES[name], setting), setting.machine, name)
    bound = lower_bound(target, training.rows_of(BASE, setting).buckets[0], seconds=seconds, deals=setting.deals,
                        seed=setting.seed + 400, device=setting.device)  # fmt: skip
    near = score_in(unit, local_bound(target, deals, setting.seed + 500).score)
    return _of_seed({"name": name, **score_in(unit, bound.result.scores[0]), "local": near["mean"],
                     "local_error": near["error"], "iterations": bound.iterations, "buckets": bound.abstraction,
                     "seconds": seconds}, fields)  # fmt: skip


# Stages


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    """In the order of the plan."""
    for seed in SEEDS:
        setting = setting_of(quick, work, device, seed)
        of = arguments(setting)
        runs: list[Run] = []
        known: tuple[str, ...] = ()
        for group in GROUPS:
            whole = [(name, FILES[name]) for name in group if name not in SEATS]
            if NEW in group:
                whole = [(ONTO[NEW], training.base_file(NEW))]
            some, known = [name for name in group if name in SEATS], (*known, *group)
            tables = [(k, each) for k, each in enumerate(training.TABLES_OF_THREE)
                      if set(each) <= set(known) and set(each) & set(group)]  # fmt: skip
            goals = {} if quick or seed == SEEDS[0] else made_first()
            runs += [*_trainings(whole, [(name, k) for name in some for k in range(COUNT[name])], of, goals),
                     Run(JOINED, joined, [(name, *of) for name in some]),
                     Run(TABLE, won, [(tuple(FILES[name] for name in each), k, *of) for k, each in tables]),
                     Run(COPIES, won, [((FILES[one], FILES[BASE], FILES[BASE]), 100 + k, *of)
                                       for k, one in enumerate(NAMES) if one != BASE and one in group])]  # fmt: skip
            if seed == BOUND_SEED and group in GROUPS[1:]:
                asked = (TINY_SECONDS, 2) if quick else (RESPONDER_SECONDS, LOCAL_DEALS)
                bounded_now = BOUNDED[GROUPS.index(group) - 1]
                runs.append(Run(BOUND, bounded, [(name, *asked, *of) for name in bounded_now]))
        yield Stage(
            f"three-{seed}", "all strategies of three players, and all tables", tuple(runs),
            lambda run, piece, setting=setting: seconds_of(run, piece, setting),  # type: ignore[misc]
        )  # fmt: skip
    first = setting_of(quick, work, device)
    length = (TINY_SECONDS if quick else COURSE_SECONDS) * len(training.SHARES)
    setting = replace(first, seconds=length, folder=str(Path(work) / "three-course"), checkpoints=True)
    of, last = arguments(setting), FILES[BASE]
    each = (TINY_SECONDS / 8, TINY_SECONDS / 4) if quick else EXPERT_SECONDS
    yield Stage(
        "three-course", "Base and S=N by training time",
        (Run(WHOLE, trained, [(BASE, last, *of)]),
         Run(CHECKPOINT, won, [((f"{last}-{k}", last, last), 200 + k, *of) for k in range(len(training.STAGES) - 1)]),
         Run(BY_TIME, by_time, [(seconds, 300 + k, *of) for k, seconds in enumerate(each)])),
        lambda run, piece: seconds_of(run, piece, setting),
    )  # fmt: skip


def _trainings(
    whole: Sequence[tuple[str, str]], experts: Sequence[tuple[str, int]], of: tuple[Any, ...],
    iterations: Mapping[tuple[str, int], int],
) -> Iterator[Run]:  # fmt: skip
    """Of strategies of one computation (and their files), and of experts (and their numbers): as many iterations as
    the first seed made where that is known, else so many seconds."""
    first = {each: iterations.get((each[0], 0)) for each in whole}, {each: iterations.get(each) for each in experts}
    for name, known, by_time, as_first in ((WHOLE, first[0], trained, trained_as_first),
                                           (EXPERT, first[1], taught, taught_as_first)):  # fmt: skip
        yield Run(name, as_first, [(*each, count, *of) for each, count in known.items() if count is not None])
        yield Run(name, by_time, [(*each, *of) for each, count in known.items() if count is None])


def seconds_of(run: Run, piece: int, setting: ThreePlayerSetting) -> float:
    """Of a step on one H200, about."""
    if run.name in (TABLE, COPIES, CHECKPOINT):
        return TABLE_SECONDS
    if run.name == BOUND:
        return RESPONDER_SECONDS + 100.0
    if run.name == BY_TIME:
        return float(4 * (run.pieces[piece][0] + OVERHEAD) + TABLE_SECONDS)
    return OVERHEAD + (0.0 if run.name == JOINED else setting.spent(run.pieces[piece][0]))


# The page


def gather(plan: PaperPlan, answers: Answers) -> list[ThreePlayerResults]:
    """By seed, of those that have the tables of the first group."""
    results, named = results_in(Path(plan.results)), {file: name for name, file in FILES.items()}
    every = []
    for seed in SEEDS:
        mine = {run: [each for each in of if each.get("seed") == seed] for run, of in results.items()}

        def by_name(run: str, mine: dict[str, list[dict[str, Any]]] = mine) -> dict[tuple[str, ...], dict[str, Any]]:
            return {tuple(named[file] for file in each["files"]): each for each in mine.get(run, [])}

        tables = by_name(TABLE)
        if not tables.keys() >= set(FIRST_TABLES):
            continue
        # Other stages train some of them again, for longer: those of the tables come first.
        whole = {each["name"]: each for each in (*mine.get(WHOLE, [])[::-1], *mine.get(JOINED, [])[::-1])}
        experts = {(each["name"], each["part"], *each["keeps"]): each for each in mine.get(EXPERT, [])[::-1]}
        course = [*mine.get(CHECKPOINT, []), *mine.get(BY_TIME, [])]
        played = [each for each in list(experts.values())[::-1] if each["name"] in whole]  # others were not finished
        every.append(ThreePlayerResults(setting_of(False, "", "gpu", seed), whole, played, tables,
                                        by_name(COPIES), course, mine.get(BOUND, []), []))  # fmt: skip
    if not every:
        raise ArtefactError(f"{plan.results} has no complete results of three players: run the stage three-0 first")
    return every


def claims(r: list[ThreePlayerResults]) -> Iterator[Claim]:
    """Those of the paper at tables of its own six strategies; ours at all of them."""
    own = [replace(each, tables={names: table for names, table in each.tables.items() if PAIRS not in names})
           for each in r]  # fmt: skip
    yield from over_seeds([list(shared.of_the_paper(each)) for each in own], CLAIMS)
    whole = [each for each in r if len(each.tables) == len(training.TABLES_OF_THREE)]
    yield from over_seeds([list(shared.of_our_own(each)) for each in whole], CLAIMS)


def table(r: list[ThreePlayerResults]) -> Sheet:
    common = set.intersection(*(set(each.tables) for each in r))
    alike = [replace(each, tables={names: each.tables[names] for names in common}) for each in r]
    longer = [each for each in r if len(each.tables) > len(common)]
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        earned = [each.earns(name) for each in alike if any(name in names for names in common)]
        at_all = [each.earns(name) for each in longer if any(name in names for names in each.tables)]
        if not earned and not at_all:
            continue
        alone = "" if name == BASE else ", ".join("{:.2f} ± {:.2f}".format(*each.alone(name, BASE))
                                                  for each in r if (name, BASE, BASE) in each.copies)  # fmt: skip
        rows.append((name, ", ".join(f"{mean:.2f}" for mean, _ in earned),
                     f"± {max(error for _, error in earned):.2f}" if earned else "",
                     f"{Spread(tuple(mean for mean, _ in earned)).mean:.2f}" if earned else "",
                     ", ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in at_all),
                     f"{PAPER[name]:.2f}" if name in PAPER else "-", alone))  # fmt: skip
    played = ", ".join(f"{len(each.tables)} in seed {each.setting.seed}" for each in longer)
    return Sheet(
        "Table 2, three players: milli-big-blinds per hand",
        ("strategy", "earns at tables of all seeds, by seed", "95% interval of a seed", "mean",
         "earns at all tables of its seed", "paper", "wins from two copies of Base"), rows,
        "Earnings: the mean over all tables at which a strategy sits with two different others, every deal in all six "
        f"seatings. All seeds have {len(common)} tables{f', and there are {played}' if longer else ''}. The paper's "
        f"are over {len(PAPERS_TABLES)} tables, with its strategy like ACPC-10. Its claims are judged at all tables "
        "of its own six strategies that a seed has, with "
        f"intervals that are wider than these, for {CLAIMS} claims together. Intervals cover the luck of the deals, "
        "not differences between trainings.",
        table=2,
    )  # fmt: skip


def course(r: list[ThreePlayerResults]) -> Curves | None:
    """What S=N wins from two copies of Base, by the training of its experts."""
    some = sorted((each for of in r for each in of.course if "expert_seconds" in each),
                  key=lambda each: float(each["expert_seconds"]))  # fmt: skip
    if not some:
        return None
    line = Line(ALL, tuple(len(PARTS) * each["expert_seconds"] for each in some),
                tuple(each["mean"][0] for each in some), tuple(each["error"][0] / 1.96 for each in some))  # fmt: skip
    return Curves("course3", f"Three-player limit hold'em: {ALL} against two copies of Base", "winnings, mbb/h",
                  (FigurePanel("", (line,), (("even", 0.0),)),), across="seconds of training of all experts",
                  note="Mean and standard error of a match.")  # fmt: skip


def page(plan: PaperPlan, r: list[ThreePlayerResults], claims: Sequence[Claim]) -> Page:
    first, picture = r[0], course(r)
    bound = 100_000_000 * 9_711_806 / 153_702_026  # decisions of an iteration without pruning, for each infoset of Base
    base = first.strategies[BASE]
    others = "" if len(r) == 1 else (
        f"Other seeds made as many iterations as seed {SEEDS[0]}. They shared the GPU, so that each took longer; the "
        "minutes of all are added up. "
    )
    base_of_new = first.strategies.get(ONTO[NEW], {}).get("infosets", WINNER)
    machines = sorted({each["by"].get("device", "") for of in r for each in of.strategies.values() if "by" in each})
    steps = [each for of in r for some in (of.strategies, of.tables, of.copies) for each in some.values()]
    spent = sum(each.get("step_seconds", 0.0) for each in (*steps, *(each for of in r for each in of.experts)))
    return Page(
        starts=len(r),
        about=f"{GAME}, as fixed in docs/plans/large_tables.md: at most {LIMIT:,} infosets for each computation, but "
        f"{base_of_new:,} for the base of the strategy like ACPC-10. Base, Dynamic and the strategy like ACPC-09 were "
        f"trained for {SECONDS:g} seconds each in seed {SEEDS[0]}, by external sampling. Experts of a static strategy "
        f"divide as much among them, and stand on a base that was trained before. {others}On "
        f"{' and '.join(machines)}; random initialisations: {len(r)}; {spent / 60:.0f} minutes in all.",
        departs=(
            f"Base had {base['decisions'] / base['infosets']:,.0f} decisions for each infoset, in "
            f"{base['iterations'] / 1e6:,.0f} million iterations that sample the opponents' actions. An iteration of "
            "the paper goes through all betting for one deal. The paper ran 100 million of these for bases: at most "
            f"{bound / 1e6:.1f} million decisions for each infoset, fewer with pruning. It ran 5 billion for experts.",
            "The experts of the strategy like ACPC-10 use imperfect-recall percentile buckets, where the competition's "
            "winner used clusters; its base uses clusters.",
            "The paper does not say how the dynamic strategy divides its infosets. Here half are for the rest of the "
            "game.",
        ),
        sheets=(table(r), shared.sizes(first),
                *(shared.bounds(each, f"{each.bounds[0]['seconds']:g} seconds, in seed {each.setting.seed}")
                  for each in r if each.bounds)),
        pictures=() if picture is None else (picture,),
        figures={"unit": "milli-big-blinds per hand", "paper": PAPER,
                 "seeds": [{"strategies": each.strategies, "experts": each.experts,
                            "tables": list(each.tables.values()), "copies": list(each.copies.values()),
                            "course": each.course} for each in r]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=3), PaperPlan(starts=3, quick=True), lambda plan: [], gather, claims, page,
    tables=("2",), ignores=("until", "iterations"), instead="--stage",
    settings={"seconds of training on a GPU for each strategy of three players": SECONDS},
)  # fmt: skip
