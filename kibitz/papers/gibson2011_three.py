"""The strategies of [Gibson & Szafron 2011, Sec. 6] for three-player limit Texas hold'em: sizes, training, matches.

Strategies are blueprints in a folder, each trained for a share of the hours of a plan. Training that was stopped is
resumed, and a plan with more hours resumes one with fewer. Figures are in thousandths of a big blind a hand.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from kibitz.core.resources import cores, free_memory
from kibitz.papers.holdem import score_in
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint, stitched
from kibitz.poker.blueprints.rows import PARTS, base_buckets, decisions_in, dynamic_buckets, dynamic_rows, hands_before
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.row_experts import begun, trained_expert
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import Machine, machine_of
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.training import continued
from kibitz.stitch import Expert, MaxInfosets, Solving, experts, static

BASE, DYNAMIC, EACH, PAIRS, ALL = "Base", "Dynamic", "Static.S={i}", "Static.|S|=2", "Static.S=N"
OLD, NEW = "like ACPC-09", "like ACPC-10"
NAMES = (BASE, DYNAMIC, EACH, PAIRS, ALL, OLD, NEW)
TABLES_OF_THREE = tuple(combinations(NAMES, 3))
FILES = {BASE: "base", DYNAMIC: "dynamic", EACH: "each", PAIRS: "pairs", ALL: "all", OLD: "acpc-09", NEW: "acpc-10"}
SEATS: Mapping[str, Any] = {EACH: "each", PAIRS: [[0, 1], [1, 2], [2, 0]], ALL: "all", NEW: "all"}
ONTO = {EACH: BASE, PAIRS: BASE, ALL: BASE, NEW: "the base of ACPC-10"}  # what experts are stitched onto
FORGETFUL = "percentile([{0}, {1}, {2}, {3}], recall=false)"
CLUSTERS = "potential([{0}, {1}, {2}, {3}], recall=false)"
NEW_COUNTS = (900, 100, 25)  # buckets of the base of the competition's winner after the flop
NEW_SHARES = (60_000, 180_000, 26_160)  # ... of its experts
SHARES = {BASE: 0.2, DYNAMIC: 0.16, ALL: 0.14, EACH: 0.14, PAIRS: 0.1, OLD: 0.1, ONTO[NEW]: 0.08, NEW: 0.08}
STAGES = (0.125, 0.25, 0.5, 1.0)  # shares of the training at which checkpoints of Base are saved
# Infosets of an expert, for each hour of the whole. Experts that are too fine for their training lose to their base
# (`by_training`): one with fewer than an iteration for each of its infosets does.
EXPERTS_AN_HOUR = 500_000
PREFIXES = f"prefix({', '.join(PARTS)})"
ROOM = 6 << 30  # bytes that are left free beside strategies that were read before; a training takes half of it
LOCAL_DEALS = 20_000  # of local best response, which takes some milliseconds a hand


@dataclass(frozen=True)
class ThreePlayerSetting:
    """What is run, as plain data."""

    game: str
    limit: int  # infosets of a computation
    experts: int  # ... of an expert
    seconds: float  # of training in all
    deals: int  # of each combination of three
    folder: str
    seed: int
    device: str = "cpu"
    winner: int = 0  # infosets of a computation of the strategy like ACPC-10; 0: as of the others
    checkpoints: bool = True  # whether those of Base are saved

    @property
    def machine(self) -> Machine:
        return _machine(self.game)

    def path(self, name: str) -> Path:
        return Path(self.folder) / f"{name}.blueprint"

    def spent(self, name: str) -> float:
        """Seconds of training of a strategy's one computation, or of each of its experts."""
        share = SHARES[name] if self.device == "cpu" else 1 / len(SHARES)  # on a GPU all have the same
        return self.seconds * share / (len(PARTS) * {EACH: 3, PAIRS: 3}.get(name, 1) if name in SEATS else 1)

    @property
    def keeps(self) -> bool:
        """Whether trainings are saved to be resumed. On a GPU one takes minutes, and all together more than a disk."""
        return self.device == "cpu"


def experts_limit(limit: int, hours: float) -> int:
    """Infosets of an expert, in powers of two, so that somewhat longer runs can continue with the same."""
    return min(limit, EXPERTS_AN_HOUR << max(0, round(math.log2(max(hours, 0.01)))))


@lru_cache(1)
def _machine(game: str) -> Machine:
    return machine_of(game, how="rounds")


def unit_of(machine: Any) -> float:
    return 1000.0 / float(max(machine.definition.blinds))


# Training


def rows_of(name: str, setting: ThreePlayerSetting) -> RowPlan:
    """Which rows a strategy has that is trained in one computation."""
    if name == DYNAMIC:
        return dynamic_rows(*dynamic_buckets(setting.machine, PARTS, setting.limit), PARTS)
    if name == BASE:
        return RowPlan((base_buckets(setting.machine, setting.limit),))
    first = hands_before(setting.machine)
    _, flop, turn, river = decisions_in(setting.machine, ())[0]
    if name == OLD:  # the same number in each round
        most = max(1, (setting.limit - first) // (flop + turn + river))
        return RowPlan((FORGETFUL.format(first, most, most, most),))
    limit = setting.winner or setting.limit
    share = min(1.0, limit / 2 / (NEW_COUNTS[0] * flop + NEW_COUNTS[1] * turn))  # of a small limit half
    after, last = [max(1, int(share * n)) for n in NEW_COUNTS[:2]], NEW_COUNTS[2]
    left = limit - after[0] * flop - after[1] * turn
    return RowPlan((CLUSTERS.format(first, *after, max(1, min(last, left // river))),))


def trained(name: str, file: str, *setting_fields: Any) -> dict[str, Any]:
    """A strategy of one computation: trained, or loaded if it was trained for long enough. Checkpoints of Base are
    saved."""
    return train_whole(name, file, ThreePlayerSetting(*setting_fields))


def train_whole(
    name: str, file: str, setting: ThreePlayerSetting, iterations: int | None = None
) -> dict[str, Any]:  # fmt: skip
    """The same. iterations: so many instead of the seconds of the setting, from the beginning."""
    path, wanted = setting.path(file), setting.spent(name)
    rows = rows_of(name, setting)
    blueprint, saver = begun(path if setting.keeps else None, rows, -1,
                             lambda: placed_blueprint(setting.machine, rows, setting.seed), game=setting.machine,
                             device=setting.device)  # fmt: skip
    if iterations is not None:
        if continued(blueprint, saver, iterations, None, device=setting.device):
            raise KeyboardInterrupt
        wanted = blueprint.seconds
    for stage, share in enumerate(STAGES if name == BASE and setting.checkpoints else STAGES[-1:]):
        moved = blueprint.seconds < share * wanted
        if moved and continued(blueprint, saver, None, share * wanted - blueprint.seconds, device=setting.device):
            raise KeyboardInterrupt
        aside = setting.path(f"{file}-{stage}")
        if name == BASE and share < 1 and (moved or not (aside / "manifest.json").exists()):
            blueprint.played().save(aside, lambda meta: True)
    blueprint.played().save(setting.path(f"{file}-played"), lambda meta: True)
    return facts(name, blueprint)


def facts(name: str, blueprint: Blueprint) -> dict[str, Any]:
    now, layout = blueprint.progress(), layout_of(blueprint)
    return {
        "name": name, "buckets": blueprint.abstraction, "infosets": layout.size, "columns": layout.columns,
        "bytes": blueprint.nbytes, "iterations": now.iteration, "decisions": now.visited, "seconds": now.seconds,
    }  # fmt: skip


def experts_of(name: str, setting: ThreePlayerSetting, base: Blueprint) -> list[Expert]:
    if name != NEW:
        return experts(base.machine.rules, base, PREFIXES, SEATS[name], MaxInfosets(setting.limit, setting.experts))
    inside = {}
    for part in PARTS:  # as the competition's winner divides them
        decisions = decisions_in(base.machine, (part,))[1][1:]
        whole = sum(count * n for count, n in zip(decisions, NEW_SHARES, strict=True))
        share = min(1.0, (setting.winner or setting.experts) / whole)
        counts = [max(1, int(share * n)) for n in NEW_SHARES]
        inside[part] = FORGETFUL.format(hands_before(base.machine), *counts)
    return experts(base.machine.rules, base, PREFIXES, SEATS[name], inside)


def base_file(name: str) -> str:
    return "acpc-10-base" if name == NEW else FILES[BASE]


def taught(name: str, number: int, *setting_fields: Any) -> dict[str, Any]:
    """One expert of a strategy: trained, or found trained for long enough."""
    return train_expert(name, number, ThreePlayerSetting(*setting_fields))


def train_expert(
    name: str, number: int, setting: ThreePlayerSetting, iterations: int | None = None
) -> dict[str, Any]:  # fmt: skip
    """The same. iterations: so many instead of the seconds of the setting."""
    base = played(base_file(name), setting)
    of = experts_of(name, setting, base)[number]
    folder = Path(setting.folder) / FILES[name]
    seconds = setting.spent(name) if iterations is None else None
    blueprint = trained_expert(base, of, Solving(keep=folder if setting.keeps else None, seconds=seconds,
                                                 iterations=iterations, seed=setting.seed + number,
                                                 device=setting.device))  # fmt: skip
    small = folder / f"{of.file}-played.blueprint"
    blueprint.played().save(small, lambda meta: True)
    return {**facts(name, blueprint), "part": of.name, "seats": list(of.seats), "keeps": list(of.keeps),
            "buckets": of.buckets, "small": small.name}  # fmt: skip


def played(file: str, setting: ThreePlayerSetting) -> Blueprint:
    """A strategy in bytes."""
    name = file if file.rpartition("-")[2].isdecimal() and file.startswith(FILES[BASE] + "-") else f"{file}-played"
    path = setting.path(name)
    written = (path / "manifest.json").stat().st_mtime_ns
    known = _READ.get(path)
    if known is None or known[0] != written:
        if free_memory() < ROOM:
            _READ.clear()
        known = _READ[path] = (written, load_blueprint(path, compact=True, game=setting.machine))
    return known[1]


# Strategies that tables share, and when they were written: reading one, with its buckets and all checksums, takes as
# long as a table's match.
_READ: dict[Path, tuple[int, Blueprint]] = {}


def joined(name: str, *setting_fields: Any) -> dict[str, Any]:
    """A base with its experts, in bytes."""
    setting = ThreePlayerSetting(*setting_fields)
    base = played(base_file(name), setting)
    parts: dict[str, dict[int, Blueprint]] = {part: {} for part in PARTS}
    for of in experts_of(name, setting, base):
        path = Path(setting.folder) / FILES[name] / f"{of.file}-played.blueprint"
        expert = load_blueprint(path, compact=True, game=setting.machine)
        parts[of.name].update(dict.fromkeys(of.keeps, expert))
    whole = stitched(base, parts)
    whole.save(setting.path(f"{FILES[name]}-played"), lambda meta: True)
    if not setting.keeps:  # a disk does not hold those of several seeds
        shutil.rmtree(Path(setting.folder) / FILES[name])
    return {"name": name, "infosets": whole.capacity, "columns": layout_of(whole).columns, "buckets": whole.abstraction}


# Matches


def won(files: tuple[str, str, str], number: int, *setting_fields: Any) -> dict[str, Any]:
    """What three strategies win at one table: every deal in all six seatings."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent

    setting = ThreePlayerSetting(*setting_fields)
    machine, unit = setting.machine, unit_of(setting.machine)
    players = {file: blueprint_agent(played(file, setting), machine, file) for file in dict.fromkeys(files)}
    began = time.perf_counter()
    result = match(machine, *(players[file] for file in files), deals=setting.deals, seed=setting.seed + number)
    return {
        "files": list(files), "mean": [unit * score.mean for score in result.scores],
        "error": [unit * (score.interval[1] - score.mean) for score in result.scores],
        "seats": [[unit * score.mean for score in seats] for seats in result.seats],
        "hands": result.deals * result.seatings, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def by_training(iterations: int, base_buckets: str, buckets: str, deals: int, game: str, seed: int) -> dict[str, Any]:
    """What S=N wins from two copies of Base, all of them trained for so many iterations: for a small deck."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent

    machine = machine_of(game, how="rounds")
    base = placed_blueprint(machine, RowPlan((base_buckets,)), seed)
    base.warm_up()
    base.train(iterations, None, cores())
    whole = static(machine.rules, base.played(), PREFIXES, "all", buckets, iterations=iterations, seed=seed)
    one, other = blueprint_agent(whole, machine, ALL), blueprint_agent(base, machine, BASE)
    score = match(machine, one, other, other, deals=deals, seed=seed).scores[0]
    unit, inside = unit_of(machine), layout_of(whole).infosets[1:]
    return {"iterations": iterations, "base": base_buckets, "buckets": buckets, "infosets": int(inside.sum()),
            **score_in(unit, score)}  # fmt: skip


def bounded(name: str, *setting_fields: Any) -> dict[str, Any]:
    """What a trained responder wins from two copies of a strategy: at most what a best response does."""
    from kibitz.play.agents import blueprint_agent
    from kibitz.play.lower_bound import lower_bound
    from kibitz.poker.whole.local_response import local_bound

    setting = ThreePlayerSetting(*setting_fields)
    unit = unit_of(setting.machine)
    target = blueprint_agent(played(FILES[name], setting), setting.machine, name)
    seconds = max(1.0, setting.spent(BASE) / 10)
    bound = lower_bound(target, rows_of(BASE, setting).buckets[0], seconds=seconds, deals=setting.deals,
                        seed=setting.seed + 300)  # fmt: skip
    score = bound.result.scores[0]
    near = score_in(unit, local_bound(target, min(setting.deals, LOCAL_DEALS), setting.seed + 400).score)
    return {
        "name": name, **score_in(unit, score), "local": near["mean"], "local_error": near["error"],
        "iterations": bound.iterations, "buckets": bound.abstraction, "seconds": seconds,
    }  # fmt: skip
