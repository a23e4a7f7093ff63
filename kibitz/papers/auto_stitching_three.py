"""Automatic stitching against the recipe of [Gibson & Szafron 2011, Sec. 6], in three-player limit hold'em by sampling:
strategies trained and matched from one seed, as planned in docs/plans/auto_stitching.md.

Strategies are blueprints in a folder. Figures are in thousandths of a big blind a hand. On a GPU the same steps are
stages:

    python -m kibitz.papers.stages --stage auto-three-0 --device gpu --seconds 590 --out results --work /tmp/work
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from kibitz.papers.gibson2011_three import facts, unit_of
from kibitz.papers.holdem import arguments
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint
from kibitz.poker.blueprints.rows import PARTS, base_buckets
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.row_experts import trained_expert
from kibitz.poker.stitching.row_setting import PILOTS, RowSetting, part_of
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import Machine, machine_of
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.stitch import MaxInfosets, Solving, experts
from kibitz.stitch.auto import Effort, Limits, StitchSearch
from kibitz.stitch.auto.moves import STATIC, Move
from kibitz.stitch.auto.plan import share_of

BASE, ALL, EACH, AUTO, LONGER = "Base", "S=N", "S={i}", "automatic", "automatic, pilots not counted"
HAND = {ALL: "all", EACH: "each"}
FILES = {BASE: "base", ALL: "all", EACH: "each", AUTO: "auto", LONGER: "auto-longer"}
GAME, LIMIT = "poker(file=holdem.limit.3p)", 162_000_000
SMALL, SMALL_LIMIT = "poker(file=holdem.limit.3p, ranks=6, raises=2)", 130_000
TINY, TINY_LIMIT = "poker(file=holdem.limit.3p, ranks=4, raises=2)", 130_000
SEEDS = (0, 1, 2)
INSIDES = ("finest", "finest/8", "finest/64")
TOGETHER = 4  # experts of a plan, at most: as many parts as the recipe has
CHOOSING = 1_000_000  # seeds of matches by which strategies are chosen are so far from those of tables
TRAINED, EXPERT, JOINED = "auto three: base", "auto three: experts", "auto three: stitched"
SEARCHED, AGAIN, TABLE, COPIES = "auto three: search", "auto three: longer", "auto three: tables", "auto three: copies"
OVERHEAD, MATCH = 12.0, 3.6  # seconds on one H200, about: of a training at the paper's size; of a table


@dataclass(frozen=True)
class AutoThreeSetting:
    """What is run, as plain data. Lengths are iterations, or thousandths of a second of training."""

    game: str
    limit: int  # infosets of a computation
    base: int  # the length of Base's training
    length: int  # of each other strategy's, all experts and pilots together
    timed: bool
    cuts: int  # parts that are tried
    deals: int  # of a table
    judged: int  # ... of a judgement of the search
    folder: str
    seed: int
    device: str = "cpu"

    @property
    def machine(self) -> Machine:
        return _machine(self.game)

    def path(self, name: str) -> Path:
        return Path(self.folder) / f"{name}.blueprint"

    def solving(self, length: int, seed: int) -> Solving:
        stop: dict[str, Any] = {"seconds": length / 1000.0} if self.timed else {"iterations": length}
        return Solving(seed=seed, device=self.device, **stop)


@lru_cache(1)
def _machine(game: str) -> Machine:
    return machine_of(game, how="rounds")


def small_setting(quick: bool, folder: str, seed: int) -> AutoThreeSetting:
    """The size of CPUs."""
    place = str(Path(folder) / f"holdem3-{seed}")
    if quick:
        return AutoThreeSetting(TINY, TINY_LIMIT, 2_000, 6_000, False, 2, 500, 400, f"{place}-quick", seed)
    return AutoThreeSetting(SMALL, SMALL_LIMIT, 400_000, 800_000, False, 4, 200_000, 100_000, place, seed)


def large_setting(quick: bool, work: str, device: str, seed: int) -> AutoThreeSetting:
    """The paper's size."""
    place = str(Path(work) / f"auto-three-{seed}")
    if quick:
        return AutoThreeSetting(TINY, TINY_LIMIT, 100, 300, True, 2, 200, 200, place, seed, device)
    return AutoThreeSetting(GAME, LIMIT, 45_000, 45_000, True, 3, 200_000, 200_000, place, seed, device)


# Steps


def trained(*fields: Any) -> dict[str, Any]:
    """Base."""
    setting = AutoThreeSetting(*fields)
    machine = setting.machine
    blueprint = placed_blueprint(machine, RowPlan((base_buckets(machine, setting.limit),)), setting.seed)
    blueprint.warm_up(setting.device)
    how = setting.solving(setting.base, setting.seed)
    blueprint.train(how.iterations, how.seconds, _threads(), device=setting.device)
    return {**kept(blueprint.played(), BASE, setting), **facts(BASE, blueprint), "seed": setting.seed}


def taught(name: str, number: int, *fields: Any) -> dict[str, Any]:
    """One expert of the recipe, with an equal share of the training."""
    setting = AutoThreeSetting(*fields)
    base = played(BASE, setting)
    every = experts(base.machine.rules, base, f"prefix({', '.join(PARTS)})", HAND[name], MaxInfosets(setting.limit))
    of = every[number]
    blueprint = trained_expert(base, of, setting.solving(setting.length // len(every), setting.seed + number))
    blueprint.played().save(setting.path(f"{FILES[name]}-{number}"), lambda meta: True)
    return {**facts(name, blueprint), "part": of.name, "seats": list(of.seats), "keeps": list(of.keeps),
            "buckets": of.buckets, "seed": setting.seed}  # fmt: skip


def joined(name: str, *fields: Any) -> dict[str, Any]:
    """Base with the experts of the recipe."""
    from kibitz.poker.blueprints.placed_rows import stitched

    setting = AutoThreeSetting(*fields)
    base = played(BASE, setting)
    parts: dict[str, dict[int, Blueprint]] = {part: {} for part in PARTS}
    every = experts(base.machine.rules, base, f"prefix({', '.join(PARTS)})", HAND[name], MaxInfosets(setting.limit))
    for number, of in enumerate(every):
        answer = load_blueprint(setting.path(f"{FILES[name]}-{number}"), compact=True, game=setting.machine)
        parts[of.name].update(dict.fromkeys(of.keeps, answer))
    return {**kept(stitched(base, parts), name, setting), "seed": setting.seed}


def rows_setting(setting: AutoThreeSetting) -> RowSetting:
    responder = max(1, round(setting.length * PILOTS / 4))  # as long as all shorter pilots
    return RowSetting(played(BASE, setting), setting.limit, setting.timed, setting.device, responder, seed=setting.seed)


def searched(*fields: Any) -> dict[str, Any]:
    """The search, with a third of the training for its responder and pilots."""
    from kibitz.play.judging import match_judge

    setting = AutoThreeSetting(*fields)
    rows, began = rows_setting(setting), time.perf_counter()
    pilots = round(setting.length * PILOTS) - rows.responder  # of all longer ones together
    left = setting.length - round(setting.length * PILOTS)
    effort = Effort(INSIDES, ("all",), rows.solver, left, max(1, pilots // 4), setting.cuts, TOGETHER)
    judge = match_judge(setting.judged, setting.seed + CHOOSING)(rows)
    search = StitchSearch(rows, Limits(infosets=setting.limit, rounds=1), effort, judge, setting.seed)
    auto = search.run(rows.start)
    plan, unit = auto.rounds[0].plan if auto.rounds else None, unit_of(setting.machine)
    chosen = [] if plan is None else [pilot.move for pilot in plan.moves if pilot.move.name in auto.rounds[0].kept]
    return {
        **kept(auto.profile, AUTO, setting), "seed": setting.seed, "unit": unit, "search": auto.data(),
        "moves": [[part_of(move.cuts[0]), move.inside[0]] for move in chosen],
        "predicted": 0.0 if plan is None else unit * plan.predicted, "training": setting.length,
        "pilots": round(setting.length * PILOTS), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def longer(*fields: Any) -> dict[str, Any]:
    """The experts that the search kept, with all of the training; its strategy says which they were."""
    setting = AutoThreeSetting(*fields)
    rows, auto = rows_setting(setting), played(AUTO, setting)
    plan, began = layout_of(auto).rows, time.perf_counter()
    cuts = {part_of(cut): cut for cut in rows.prefixes}
    moves = [Move(STATIC, (cuts[part],), "all", (inside,))
             for part, inside in zip(plan.parts, plan.buckets[1:], strict=True)]  # fmt: skip
    share = share_of(rows, setting.length, len(moves))
    answers = [(move, rows.solve(move, rows.start, [share], setting.seed).answers[0]) for move in moves]
    return {**kept(rows.join(rows.start, answers), LONGER, setting), "seed": setting.seed,
            "seconds": time.perf_counter() - began}  # fmt: skip


def won(files: tuple[str, str, str], number: int, *fields: Any) -> dict[str, Any]:
    """What three strategies win at one table: every deal in all six seatings."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent

    setting = AutoThreeSetting(*fields)
    machine, unit, began = setting.machine, unit_of(setting.machine), time.perf_counter()
    agents = {name: blueprint_agent(played(name, setting), machine, name) for name in dict.fromkeys(files)}
    result = match(machine, *(agents[name] for name in files), deals=setting.deals, seed=100 * setting.seed + number)
    return {
        "names": list(files), "mean": [unit * score.mean for score in result.scores],
        "error": [unit * (score.interval[1] - score.mean) for score in result.scores],
        "hands": result.deals * result.seatings, "seed": setting.seed, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def kept(strategy: Blueprint, name: str, setting: AutoThreeSetting) -> dict[str, Any]:
    """Save a strategy in bytes; what it is."""
    strategy.save(setting.path(FILES[name]), lambda meta: True)
    _READ.pop(str(setting.path(FILES[name])), None)
    rows = layout_of(strategy).rows
    return {"name": name, "infosets": strategy.capacity, "parts": list(rows.parts), "lists": list(rows.buckets)}


_READ: dict[str, tuple[int, Blueprint]] = {}  # strategies that tables share, and when they were written


def played(name: str, setting: AutoThreeSetting) -> Blueprint:
    path = setting.path(FILES[name])
    written = (path / "manifest.json").stat().st_mtime_ns
    known = _READ.get(str(path))
    if known is None or known[0] != written:
        if len(_READ) >= len(FILES):
            _READ.clear()
        known = _READ[str(path)] = (written, load_blueprint(path, compact=True, game=setting.machine))
    return known[1]


def _threads() -> int:
    from kibitz.core.resources import cores

    return cores()


# Runs and stages


def tables_of(names: tuple[str, ...], new: str) -> list[tuple[str, ...]]:
    """Tables of three different strategies that one of them sits at; both automatic ones never do."""
    return [each for each in combinations(names, 3) if new in each and not {AUTO, LONGER} <= set(each)]


def runs_of(setting: AutoThreeSetting) -> list[Run]:
    """The steps of one seed. What is compared with S=N comes first, if time is short."""
    of = arguments(setting)
    first = (BASE, ALL, AUTO, LONGER)
    tables = [*tables_of(first, ALL), *tables_of((*first, EACH), EACH)]
    copies: list[tuple[str, ...]] = [(AUTO, ALL, ALL), (LONGER, ALL, ALL)]
    copies += [(name, BASE, BASE) for name in (ALL, AUTO, LONGER, EACH)]
    numbers = {each: number for number, each in enumerate([*tables, *copies])}

    def among(some: Sequence[tuple[str, ...]], later: bool) -> list[tuple[Any, ...]]:
        return [(each, numbers[each], *of) for each in some if (EACH in each) == later]

    late = f" with {EACH}"
    return [
        Run(TRAINED, trained, [of]), Run(EXPERT, taught, [(ALL, k, *of) for k in range(len(PARTS))]),
        Run(JOINED, joined, [(ALL, *of)]), Run(SEARCHED, searched, [of]), Run(AGAIN, longer, [of]),
        Run(TABLE, won, among(tables, False)), Run(COPIES, won, among(copies, False)),
        Run(EXPERT + late, taught, [(EACH, k, *of) for k in range(3 * len(PARTS))]),
        Run(JOINED + late, joined, [(EACH, *of)]), Run(TABLE + late, won, among(tables, True)),
        Run(COPIES + late, won, among(copies, True)),
    ]  # fmt: skip


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    for seed in SEEDS:
        setting = large_setting(quick, work, device, seed)
        yield Stage(
            f"auto-three-{seed}", "automatic stitching of three players, and the paper's recipe",
            tuple(runs_of(setting)),
            lambda run, piece, setting=setting: seconds_of(run, piece, setting),  # type: ignore[misc]
        )  # fmt: skip


def seconds_of(run: Run, piece: int, setting: AutoThreeSetting) -> float:
    """Of a step on one H200, about."""
    whole = setting.length / 1000.0
    if run.name.startswith((TABLE, COPIES)):
        return MATCH
    if run.name == TRAINED:
        return OVERHEAD + setting.base / 1000.0
    if run.name.startswith(EXPERT):
        return OVERHEAD + whole / (len(PARTS) * (3 if run.pieces[piece][0] == EACH else 1))
    if run.name == SEARCHED:  # a responder, pilots with two short matches each, experts with two matches each
        tried = setting.cuts * len(INSIDES)
        return whole + (1 + tried + TOGETHER - 1) * OVERHEAD + 0.5 * MATCH * tried + 2.0 * MATCH * TOGETHER
    return OVERHEAD + (whole + (TOGETHER - 2) * OVERHEAD if run.name == AGAIN else 0.0)
