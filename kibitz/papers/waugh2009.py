"""[Waugh, Bard & Bowling 2009, Tables 1 and 2]: the Leduc tournament of bases and grafted strategies.

Nine strategies: equilibria of three abstractions (J.Q.K, JQ.K, J.QK), and each with preflop grafts and with flop
grafts. A graft is for one private card and one player, and sees its part of the game unabstracted; its opponent plays
the whole game in the base abstraction.

Departs from the paper: CFR+ from random initialisations, to a gap, instead of a billion iterations of chance-sampled
CFR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate.crosstable import crosstable
from kibitz.forms.abstraction import AbstractGame, Abstraction, abstract_game, abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.papers.claims import OURS, WEIGHT, Claim, Comparison, across, compare
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run, shared
from kibitz.papers.stitching import QUICK, Builder, by_weight, over_starts, weighing, weight_sheet
from kibitz.report.figures import Heat, Scatter, Sheet, Spread, dot
from kibitz.stitch.experts import experts
from kibitz.stitch.partition import Partition, partition

TITLE = "Waugh, Bard & Bowling 2009, Strategy Grafting in Extensive Games: the Leduc tournament"
SOURCE = "Waugh et al. 2009, Sec. 4.1"
BASES = ("J.Q.K", "JQ.K", "J.QK")
PREFLOP, FLOP = "preflop grafts", "flop grafts"
PARTITIONS = {PREFLOP: "private(J, Q, K)", FLOP: "private(J, Q, K, round=2)"}
NAMES = tuple(f"{base} {kind}".strip() for base in BASES for kind in (PREFLOP, FLOP, ""))
MILLIBETS = 500.0  # to a chip: a millibet is a thousandth of the small bet of two chips
ALWAYS_FOLD = 500.0  # what always folding loses to a best response, in millibets: the ante

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraftLayout:
    """The game, its abstractions and partitions: everything that does not depend on the random initialisation."""

    tree: Tree
    fine: Abstraction  # what grafts see
    coarse: dict[str, Abstraction]
    parts: dict[str, Partition]
    games: dict[str, AbstractGame]

    def sizes(self) -> dict[str, int]:
        """The largest number of infosets in one computation, for each strategy."""
        frozen = Profile(self.tree.infosets, form_of(self.tree).uniform(), {"tree": self.tree.digest})
        sizes = {}
        for base, coarse in self.coarse.items():
            sizes[base] = coarse.rows
            for kind, parts in self.parts.items():
                built = experts(self.tree, frozen, parts, "each", self.fine, coarse, coarse)
                sizes[f"{base} {kind}"] = max(coarse.rows, *(expert.size for expert in built))
        return {name: sizes[name] for name in NAMES}


def layout(suits: bool = False) -> GraftLayout:
    """Leduc; without suits nine flop classes are left of fifteen, and every payoff is the same."""
    tree = tree_of(make_game("leduc" if suits else "leduc(suit_isomorphism=true)"))
    coarse = {base: abstraction(tree, base) for base in BASES}
    games = {base: abstract_game(tree, a.row, a.closed) for base, a in coarse.items()}
    for each in (tree, *(game.tree for game in games.values())):
        form_of(each)
    parts = {kind: partition(tree, text) for kind, text in PARTITIONS.items()}
    return GraftLayout(tree, abstraction(tree, "suits" if suits else "null"), coarse, parts, games)


def build(layout: GraftLayout, maker: Builder) -> dict[str, Profile]:
    """The nine strategies of one start. Grafts are solved for each player by itself, and only its part is kept."""
    built = {}
    for base, coarse in layout.coarse.items():
        built[base] = maker.solve(layout.games[base])
        for kind, parts in layout.parts.items():
            built[f"{base} {kind}"] = maker.static(built[base], parts, "each", layout.fine, coarse, opponents=coarse)
    return {name: built[name] for name in NAMES}


plain_layout = shared(layout)  # what all starts of a process share


def one_start(until: float, iterations: int, weight: float, seed: int) -> dict[str, Any]:
    """The tournament from one start: winnings in chips, and the place of each strategy in the run-off."""
    shared_layout = plain_layout()
    maker = Builder(shared_layout.tree, PaperPlan(until=until, iterations=iterations), seed, weight)
    table = crosstable(maker.tree, build(shared_layout, maker))
    return {
        "matrix": table.matrix, "average": table.field, "exploit": table.exploitability, "wins": table.wins,
        "losses": table.losses, "runoff": 1 + np.argsort(table.runoff), "gap": maker.gap, "games": maker.games,
    }  # fmt: skip


def sizes() -> dict[str, int]:
    """Sizes of all computations, on the game with suits."""
    return layout(suits=True).sizes()


def runs(plan: PaperPlan) -> list[Run]:
    return [Run("sizes", sizes), over_starts("tournament", one_start, plan)]


@dataclass(frozen=True, eq=False)
class GraftResults:
    """The tournament over all random initialisations of one weight, in millibets. m strategies, k initialisations."""

    size: dict[str, int]
    matrix: Floats  # [k, m, m]
    average: dict[str, Spread]
    exploit: dict[str, Spread]
    wins: dict[str, Spread]
    losses: dict[str, Spread]
    runoff: dict[str, Spread]  # the place in the run-off, 1 for the winner
    gap: float  # the largest nash_conv that was left in a solved game, in chips
    games: int


def gather(plan: PaperPlan, answers: Answers) -> dict[float, GraftResults]:
    """The tournament from every start, by the weight of the initialisation."""
    (size,) = answers["sizes"]
    return {w: results(size, starts) for w, starts in by_weight(plan, answers["tournament"]).items()}


def results(size: dict[str, int], starts: Sequence[dict[str, Any]]) -> GraftResults:
    """The figures of all starts, put together."""

    def spread(what: str, unit: float = 1.0) -> dict[str, Spread]:
        return {name: Spread(tuple(unit * float(each[what][k]) for each in starts)) for k, name in enumerate(NAMES)}

    return GraftResults(
        size, np.stack([MILLIBETS * np.array(each["matrix"]) for each in starts]), spread("average", MILLIBETS),
        spread("exploit", MILLIBETS), spread("wins"), spread("losses"), spread("runoff"),
        max(each["gap"] for each in starts), sum(each["games"] for each in starts),
    )  # fmt: skip


def claims(weighed: Mapping[float, GraftResults]) -> Iterator[Claim]:
    """All claims, at all weights."""
    return across(claims_at(weighed[WEIGHT]), {weight: claims_at(r) for weight, r in weighed.items()})


def claims_at(r: GraftResults) -> Iterator[Claim]:
    """Everything the paper says of its two tables, and three of our own, start by start."""
    number = {name: k for k, name in enumerate(NAMES)}
    earns, exploit, wins = r.average, r.exploit, r.wins
    grafts = [(base, f"{base} {kind}") for base in BASES for kind in (PREFLOP, FLOP)]

    def by_start(what: dict[str, Spread], names: Sequence[str]) -> Iterator[tuple[float, ...]]:
        return zip(*(what[name].values for name in names), strict=True)

    def ordered(what: dict[str, Spread], kind: str) -> list[tuple[Comparison, ...]]:
        names = [f"{base} {kind}".strip() for base in BASES]
        return [tuple(Comparison(a, ">=", b) for a, b in pairwise(row)) for row in by_start(what, names)]

    def each(figures: Iterable[float], relation: str, than: float) -> list[Comparison]:
        return [Comparison(float(x), relation, than) for x in figures]

    for base, graft in grafts:
        against = r.matrix[:, number[graft], number[base]]
        yield Claim(f"{graft} beat {base} head to head", SOURCE, each(against.tolist(), ">", 0.0))
    for base, graft in grafts:
        yield compare(f"{graft} win more on average than {base}", SOURCE, earns[graft], earns[base])
    yield Claim("bases by average winnings: J.Q.K, JQ.K, J.QK", SOURCE, ordered(earns, ""))
    for kind in (PREFLOP, FLOP):
        for what, words in ((earns, "average winnings"), (wins, "number of wins")):
            yield Claim(f"{kind} by {words} are in the order of their bases", SOURCE, ordered(what, kind))
    before, after = f"JQ.K {PREFLOP}", f"JQ.K {FLOP}"
    yield compare(f"{after} have more wins than {before}", SOURCE, wins[after], wins[before])
    for base in BASES:
        before, after = f"{base} {PREFLOP}", f"{base} {FLOP}"
        yield compare(f"{before} win more on average than {after}", SOURCE, earns[before], earns[after])
    for base, graft in grafts:
        yield compare(f"{graft} are more exploitable than {base}", SOURCE, exploit[graft], exploit[base])
    worst = each(map(max, by_start(exploit, [graft for _, graft in grafts])), ">", ALWAYS_FOLD)
    yield Claim("some grafted strategy is more exploitable than always folding (500 mb/h)", SOURCE, worst)
    others = map(min, by_start(earns, [name for name in NAMES if name != "J.QK"]))
    yield compare("J.QK is last on average", OURS, list(others), earns["J.QK"])
    best = f"J.Q.K {PREFLOP}"
    yield Claim(f"{best} are undefeated", OURS, each(r.losses[best].values, "=", 0.0))
    yield Claim(f"{best} win the run-off", OURS, each(r.runoff[best].values, "=", 1.0))


def sheets(weighed: Mapping[float, GraftResults]) -> tuple[Sheet, ...]:
    r = weighed[WEIGHT]
    mean, sd = r.matrix.mean(axis=0), r.matrix.std(axis=0, ddof=1 if len(r.matrix) > 1 else 0)
    cells = [["" if a == b else f"{mean[a, b]:.1f}" for b in range(len(NAMES))] for a in range(len(NAMES))]
    worst = max(float(sd.max()), max(s.sd for s in r.average.values()))
    first = Sheet(
        "Table 1: winnings of the row against the column, mb/h, mean over random initialisations",
        ("strategy", *(str(k) for k in range(1, len(NAMES) + 1)), "average ± sd"),
        [(f"{k + 1} {name}", *cells[k], r.average[name].text()) for k, name in enumerate(NAMES)],
        f"The standard deviation of an entry over random initialisations is {float(np.median(sd)):.1f} (median), at "
        f"most {worst:.1f}.",
        table=1,
    )
    second = Sheet(
        "Table 2: wins, losses and exploitability in Leduc without abstraction, mb/h",
        ("strategy", "size", "wins", "losses", "exploitability: mean ± sd [min, max]", "place in the run-off"),
        [(name, f"{r.size[name]}", _count(r.wins[name]), _count(r.losses[name]), r.exploit[name].text_with_range(),
          _count(r.runoff[name])) for name in NAMES],
        "Wins, losses and places are means over random initialisations, with the range where they vary. Size: the "
        "largest number of infosets in one computation, in the game with suits.",
        table=2,
    )  # fmt: skip
    return (
        first, second,
        weight_sheet("average winnings, mb/h", {w: each.average for w, each in weighed.items()}, 1),
        weight_sheet("exploitability, mb/h", {w: each.exploit for w, each in weighed.items()}, 2),
    )  # fmt: skip


def _count(spread: Spread) -> str:
    low, high = f"{spread.low:.0f}", f"{spread.high:.0f}"
    return low if spread.low == spread.high else f"{spread.mean:.1f} [{low}, {high}]"


def page(plan: PaperPlan, weighed: Mapping[float, GraftResults], claims: Sequence[Claim]) -> Page:
    """Tables 1 and 2."""
    r, games = weighed[WEIGHT], sum(each.games for each in weighed.values())
    mean = r.matrix.mean(axis=0)
    dots = tuple(
        dot(name.removeprefix(base).strip() or "base", base, r.size[name], r.exploit[name])
        for base in BASES
        for name in (f"{base} {PREFLOP}", f"{base} {FLOP}", base)
    )
    return Page(
        about="Nine strategies for Leduc are compared: equilibria of three abstractions, and each of them "
        "with three preflop grafts or three flop grafts per player, one for each private "
        f"card. Every pair of strategies plays in both seats; winnings are exact expected values. {games:,} games "
        "were solved, each until its NashConv (both players together) was "
        f"at most {plan.until:g} chips.",
        departs=(
            "CFR+ from random initialisations with several weights, instead of a billion iterations of "
            "chance-sampled CFR.",
            "Our copy of the paper lacks the figures of its "
            "tables; each sentence about them is a claim here.",
        ),
        notes=(weighing(plan),), sheets=sheets(weighed),
        pictures=(
            Heat("crosstable", "Leduc: winnings of the row against the column, mb/h", NAMES, mean.tolist(), "mb/h",
                 (("average", [r.average[n].mean for n in NAMES]),
                  ("exploitability", [r.exploit[n].mean for n in NAMES]))),
            Scatter("exploitability", "Leduc: exploitability of grafted strategies",
                    "exploitability, mb/h", dots),
        ),
        figures={
            "names": list(NAMES), "size": r.size, "matrix": {"mean": mean.tolist(), "starts": r.matrix.tolist()},
            **_spreads(r, "average", "exploit", "wins", "losses", "runoff"),
            "by_weight": {
                f"{w:g}": {"matrix": each.matrix.mean(axis=0).tolist(), **_spreads(each, "average", "exploit")}
                for w, each in weighed.items()
            },
            "largest_nash_conv_chips": max(each.gap for each in weighed.values()), "games_solved": games,
        },
    )  # fmt: skip


def _spreads(r: GraftResults, *figures: str) -> dict[str, Any]:
    return {what: {name: spread.data() for name, spread in getattr(r, what).items()} for what in figures}


EXPERIMENT = Experiment(
    "waugh2009", TITLE, PaperPlan(), QUICK, runs, gather, claims, page, tables=("1", "2"),
    alone={"3": "waugh2009_holdem", "3 by stages": "waugh2009_large", "small": "waugh2009_small",
           "small by stages": "waugh2009_small"},
)  # fmt: skip
