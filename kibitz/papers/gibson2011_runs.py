"""The strategies of [Gibson & Szafron 2011, Sec. 6] for Leduc with two or three players: built, played and counted.

Sizes are counted on the game with suits, as the paper counts them. Strategies are solved and measured on the same game
with cards of a rank made equal: suits never change a payoff, so nothing is lost, and trees are a fifth as large.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from kibitz.evaluate import exploitability
from kibitz.evaluate.crosstable import crosstable
from kibitz.evaluate.seatings import Seatings
from kibitz.forms.abstraction import AbstractGame, Abstraction, abstract_game, abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.papers.claims import WEIGHT
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import Answers, Run, shared
from kibitz.papers.stitching import Builder, SampledBuilder, by_weight, over_starts
from kibitz.report.figures import Spread
from kibitz.stitch.columns import dynamic_game, mixed, seed_of
from kibitz.stitch.experts import experts, join, size_of_dynamic
from kibitz.stitch.partition import Partition, partition

BASES = {"null": "null", "JQ-K": "JQ.K", "J-QK": "J.QK"}  # the paper's names -> ours
COARSE = ("JQ-K", "J-QK")
BASE, DYNAMIC, EACH, ALL, PREFLOP = "Base", "Dynamic", "Static S={i}", "Static S=N All", "Static S=N Pre-flop"
PAPER_ROWS = (BASE, DYNAMIC, EACH, ALL, PREFLOP)
HYBRID = "Static |S|=2"
ALL_COLD, PREFLOP_COLD = f"{ALL}, no initial regret", f"{PREFLOP}, no initial regret"
EACH_REBUILT, ALL_REBUILT, PREFLOP_REBUILT = f"{EACH}, base rebuilt", f"{ALL}, base rebuilt", f"{PREFLOP}, base rebuilt"
COHERED = f"{ALL}, rebuilt in turn"
ON_DYNAMIC, OF_DYNAMIC = "Static S=N on a dynamic base", "Static S=N of dynamic experts"
BEYOND_ROWS = (
    ALL_COLD, PREFLOP_COLD, HYBRID, EACH_REBUILT, ALL_REBUILT, PREFLOP_REBUILT, COHERED, ON_DYNAMIC, OF_DYNAMIC,
)  # fmt: skip
# What the paper leaves open in "the chance-sampled variant of CFR": name -> how it is done instead. The first is the
# letter of the two papers: both seats move at once, all iterations count alike, and what a base plays is chance.
SAMPLED, AS_THE_PAPER = "chance-sampled CFR", "simultaneous updates"
READINGS: dict[str, dict[str, bool]] = {
    AS_THE_PAPER: {},
    "alternating updates": {"alternating": True},
    "base enumerated, not sampled": {"sample": False},
    "linear average": {"linear": True},
}
SHORTER, SHORTER_SEEDS = 50, 3  # readings are compared after this part of the iterations, over so many seeds
SEAT_PAIRS = ((0, 1), (1, 2), (2, 0))  # S of the hybrid: each seat with the next
ROUNDS = 4  # of experts and rebuilt base in turn, at most


class LeducLayout:
    """One form of the game, its abstractions and its partitions: everything that does not depend on the random
    initialisation.

    fine: the abstraction that experts see.
    """

    def __init__(self, tree: Tree, fine: str) -> None:
        self.tree, players = tree, tree.players
        # r, cr, ccr, ...: the first raise, before the flop and on it [Gibson & Szafron 2011, Sec. 6].
        self.letters = ["c" * k + "r" for k in range(2 * players)]
        self.everywhere = self.parts(self.letters)
        self.before_flop, self.on_flop = self.parts(self.letters[:players]), self.parts(self.letters[players:])
        self.expert = abstraction(tree, fine)
        self.bases = {name: self.expert if name == "null" else abstraction(tree, ours) for name, ours in BASES.items()}
        self.games: dict[tuple[str, str | None], AbstractGame] = {}

    def parts(self, letters: Sequence[str]) -> Partition:
        return partition(self.tree, f"prefix({', '.join(letters)})")

    def game(self, base: str, parts: Partition | None = None) -> AbstractGame:
        """The abstract game of a base, or of dynamic experts in some parts; each is laid out once."""
        key = base, None if parts is None else parts.name
        if key not in self.games:
            coarse, tree = self.bases[base], self.tree
            if parts is None:
                self.games[key] = abstract_game(tree, coarse.row, coarse.closed)
            else:
                self.games[key] = dynamic_game(tree, parts, [coarse, self.expert])
        return self.games[key]

    @cached_property
    def two_level(self) -> Abstraction:
        """What an expert sees that is itself dynamic: J.Q.K until somebody raises again, everything after that."""
        again = self.parts([letters + "r" for letters in self.letters])
        levels = [abstraction(self.tree, "J.Q.K"), *[self.expert] * again.parts]
        row, closed = mixed(levels, again.part, self.tree.infosets)
        numbered = np.unique(row, return_inverse=True)[1]
        return Abstraction("J.Q.K until raised again", self.tree.infosets, numbered, closed)

    def sizes(self, base: str) -> dict[str, int]:
        """The largest number of infosets in one computation, for each strategy: nothing is solved."""
        coarse, fine = self.bases[base], self.expert
        frozen = Profile(self.tree.infosets, form_of(self.tree).uniform(), {"tree": self.tree.digest})

        def largest(parts: Partition, seats: Any, inside: Abstraction = fine, floor: int = coarse.rows) -> int:
            built = experts(self.tree, frozen, parts, seats, inside, outside=coarse)
            return max(floor, *(expert.size for expert in built))

        every = largest(self.everywhere, "all")
        each = largest(self.everywhere, "each")
        half = size_of_dynamic(self.tree, self.before_flop, [coarse, fine])
        result = {
            BASE: coarse.rows,
            DYNAMIC: size_of_dynamic(self.tree, self.everywhere, [coarse, fine]),
            EACH: each, ALL: every, PREFLOP: largest(self.before_flop, "all"),
        }  # fmt: skip
        if base in COARSE:
            result |= {EACH_REBUILT: each, ALL_REBUILT: every, PREFLOP_REBUILT: result[PREFLOP]}
            result[ON_DYNAMIC] = largest(self.on_flop, "all", floor=half)
            result[OF_DYNAMIC] = largest(self.everywhere, "all", self.two_level)
            if self.tree.players == 2:
                result[COHERED] = every
            else:
                result |= {ALL_COLD: every, PREFLOP_COLD: result[PREFLOP]}
                result[HYBRID] = largest(self.everywhere, SEAT_PAIRS)
        return result


def layout(players: int, suits: bool = False) -> LeducLayout:
    """Leduc for so many players; without suits nine flop classes are left of fifteen, and every payoff is the same."""
    spec = f"leduc(players={players})" if suits else f"leduc(players={players}, suit_isomorphism=true)"
    return LeducLayout(tree_of(make_game(spec)), "suits" if suits else "null")


def build(leduc: LeducLayout, base_name: str, maker: Builder) -> dict[str, Profile]:
    """The paper's strategies of one base abstraction from one start."""
    coarse, fine, parts = leduc.bases[base_name], leduc.expert, leduc.everywhere
    base = maker.solve(leduc.game(base_name))
    every = maker.static(base, parts, "all", fine, coarse)
    return {
        BASE: base,
        DYNAMIC: maker.solve(leduc.game(base_name, parts)),
        EACH: maker.static(base, parts, "each", fine, coarse),
        ALL: every,
        PREFLOP: before_flop(base, every, parts),
    }


def beyond(leduc: LeducLayout, base_name: str, rows: Mapping[str, Profile], maker: Builder) -> dict[str, Profile]:
    """The strategies that the paper does not have, made of those that it has."""
    coarse, fine, parts, base = leduc.bases[base_name], leduc.expert, leduc.everywhere, rows[BASE]
    result = {}
    if leduc.tree.players > 2:
        result[ALL_COLD] = maker.static(base, parts, "all", fine, coarse, weight=0.0)
        result[PREFLOP_COLD] = before_flop(base, result[ALL_COLD], parts)
        result[HYBRID] = maker.static(base, parts, SEAT_PAIRS, fine, coarse)
    for name, rebuilt, where in (
        (EACH, EACH_REBUILT, parts), (ALL, ALL_REBUILT, parts), (PREFLOP, PREFLOP_REBUILT, leduc.before_flop),
    ):  # fmt: skip
        result[rebuilt] = maker.rebuild(rows[name], where, coarse)
    if leduc.tree.players == 2:
        result[COHERED] = in_turn(rows[ALL], result[ALL_REBUILT], leduc, coarse, maker)
    half = maker.solve(leduc.game(base_name, leduc.before_flop))
    result[ON_DYNAMIC] = maker.static(half, leduc.on_flop, "all", fine, coarse)
    result[OF_DYNAMIC] = maker.static(base, parts, "all", leduc.two_level, coarse)
    return result


def before_flop(base: Profile, every: Profile, parts: Partition) -> Profile:
    """The same experts without those of the flop: as many parts as seats, since each seat may be the first to raise."""
    early = range(1, base.seats + 1)
    return join(base, parts, {(s, j): every for j in early for s in parts.seats_in(j)})


def in_turn(stitched: Profile, rebuilt: Profile, leduc: LeducLayout, coarse: Abstraction, maker: Builder) -> Profile:
    """Experts and base in turn until exploitability in the real game stops falling, as `kibitz.stitch.cohere` does."""
    best, least = stitched, exploitability(leduc.tree, stitched)
    for _ in range(ROUNDS):
        stitched = maker.static(rebuilt, leduc.everywhere, "all", leduc.expert, coarse)
        loss = exploitability(leduc.tree, stitched)
        if loss >= least:
            break
        best, least = stitched, loss
        rebuilt = maker.rebuild(stitched, leduc.everywhere, coarse)
    return best


def earnings(tree: Tree, built: Mapping[str, Mapping[str, Profile]]) -> dict[str, dict[str, float]]:
    """What each strategy gets against all combinations and orders of the paper's strategies of other bases."""
    keys = [(base, name) for base, rows in built.items() for name in rows]
    plays = Seatings(form_of(tree), [built[base][name] for base, name in keys])
    number = {key: k for k, key in enumerate(keys)}
    result: dict[str, dict[str, float]] = {base: {} for base in built}
    for base, name in keys:
        others = [[number[b, row] for row in PAPER_ROWS] for b in built if b != base]
        pairs: list[tuple[int, ...]] = [(k,) for group in others for k in group]
        against = pairs if tree.players == 2 else list(product(*others))
        result[base][name] = float(np.mean([plays.earns(number[base, name], group) for group in against]))
    return result


plain_layout = shared(layout)  # what all starts of a process share


def one_start(players: int, until: float, iterations: int, weight: float, seed: int) -> dict[str, Any]:
    """All figures of one start at one weight, in chips; what is beyond the paper at WEIGHT alone."""
    leduc = plain_layout(players)
    maker = Builder(leduc.tree, PaperPlan(until=until, iterations=iterations), seed, weight)
    built = {base: build(leduc, base, maker) for base in BASES}
    if weight == WEIGHT:
        built |= {base: built[base] | beyond(leduc, base, built[base], maker) for base in COARSE}
    return measured(leduc.tree, built) | {"gap": maker.gap, "games": maker.games}


def one_sampled(base: str, iterations: int, reading: str, seed: int) -> dict[str, Any]:
    """The paper's strategies of one base abstraction by its own method, as probabilities: figures take all bases."""
    leduc, began = plain_layout(2), time.perf_counter()
    maker = SampledBuilder(leduc.tree, seed_of(seed, list(BASES).index(base)), iterations, **READINGS[reading])
    rows = build(leduc, base, maker)
    return {
        "strategies": {name: rows[name].probabilities for name in PAPER_ROWS},
        "gap": maker.gap, "games": maker.games, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def sizes(players: int) -> dict[str, dict[str, int]]:
    """Sizes of all computations, on the game with suits."""
    counted = layout(players, suits=True)
    return {base: counted.sizes(base) for base in BASES}


def measured(tree: Tree, built: Mapping[str, Mapping[str, Profile]]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "earnings": earnings(tree, built),
        "exploitability": {b: {n: exploitability(tree, p) for n, p in rows.items()} for b, rows in built.items()},
    }
    if tree.players == 2:
        table = {f"{base} {name}": built[base][name] for base in BASES for name in PAPER_ROWS}
        figures["matrix"] = crosstable(tree, table).matrix
    return figures


@dataclass(frozen=True)
class LeducResults:
    """Figures of one number of players at one weight, in milli-antes: by base abstraction and strategy."""

    players: int
    size: dict[str, dict[str, int]]
    earns: dict[str, dict[str, Spread]]
    exploit: dict[str, dict[str, Spread]]
    gap: float  # the largest nash_conv that was left in a solved game, in milli-antes
    games: int  # solved in all
    matrix: Any = None  # [15, 15] mean over random initialisations, two players only


def runs(plan: PaperPlan) -> list[Run]:
    """Both halves of the table; three players would take too long at every weight."""
    return [
        Run("sizes", sizes, [(2,), (3,)]),
        over_starts("2 players", one_start, plan, 2),
        over_starts("3 players", one_start, plan, 3, weights=(WEIGHT,)),
        _sampled(SAMPLED, plan, plan.sampled, AS_THE_PAPER, plan.sampled_seeds),
        *(_sampled(f"{SAMPLED}, {each}", plan, shorter(plan), each, SHORTER_SEEDS) for each in READINGS),
    ]


def shorter(plan: PaperPlan) -> int:
    """Iterations after which readings are compared."""
    return max(1, plan.sampled // SHORTER)


def _sampled(name: str, plan: PaperPlan, iterations: int, reading: str, seeds: int) -> Run:
    """A piece is a seed and a base, seed by seed."""
    pieces = [(base, iterations, reading, seed) for seed in range(plan.seed, plan.seed + seeds) for base in BASES]
    return Run(name, one_sampled, pieces, "processes")


def gather(plan: PaperPlan, answers: Answers) -> tuple[dict[float, LeducResults], LeducResults]:
    """Two players by the weight of the start, and three players."""
    two, three = answers["sizes"]
    weighed = {w: results(2, two, starts) for w, starts in by_weight(plan, answers["2 players"]).items()}
    return weighed, results(3, three, answers["3 players"])


def results(players: int, size: dict[str, dict[str, int]], starts: Sequence[dict[str, Any]]) -> LeducResults:
    """The figures of all starts, put together."""

    def spreads(what: str) -> dict[str, dict[str, Spread]]:
        built = {base: [name for name in size[base] if name in starts[0][what][base]] for base in BASES}
        return {
            base: {name: Spread(tuple(1000.0 * start[what][base][name] for start in starts)) for name in names}
            for base, names in built.items()
        }

    matrix = 1000.0 * np.mean([start["matrix"] for start in starts], axis=0) if players == 2 else None
    return LeducResults(
        players, size, spreads("earnings"), spreads("exploitability"), max(start["gap"] for start in starts) * 1000.0,
        sum(start["games"] for start in starts), matrix,
    )  # fmt: skip
