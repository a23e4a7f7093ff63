"""[Gibson & Szafron 2011, Table 1]: size, earnings and exploitability of stitched strategies in Leduc.

Two halves: two players, base abstraction JQ-K; three players, base abstraction J-QK. Both are done here for all three
base abstractions, which the earnings need anyway, and with strategies that the paper leaves to future work.

Two players are solved by the paper's own method too, chance-sampled CFR (`gibson2011_sampled`). Departs from the paper:
all else is CFR+ from random initialisations; two players are solved to a gap, three for a stated number of iterations;
S={i} for three players takes 3021 infosets by our count, where the paper has 3017.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kibitz.papers import gibson2011_runs as leduc
from kibitz.papers import gibson2011_sampled as by_sampling
from kibitz.papers.claims import FUTURE, OURS, WEIGHT, Claim, across, compare
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_runs import LeducResults
from kibitz.papers.gibson2011_sampled import SampledResults
from kibitz.papers.runs import Answers
from kibitz.papers.stitching import QUICK, met, weighing, weight_sheet
from kibitz.report.figures import Dot, Heat, Scatter, Sheet, Spread, dot

BASE, DYNAMIC, EACH, ALL, PREFLOP = PAPER_ROWS = leduc.PAPER_ROWS
BEYOND_ROWS, BASES, COARSE = leduc.BEYOND_ROWS, leduc.BASES, leduc.COARSE
ALL_COLD, PREFLOP_COLD, HYBRID, EACH_REBUILT, ALL_REBUILT, PREFLOP_REBUILT, *_ = BEYOND_ROWS
COHERED, ON_DYNAMIC, OF_DYNAMIC = BEYOND_ROWS[-3:]
TITLE = "Gibson & Szafron 2011, On Strategy Stitching in Large Extensive Form Multiplayer Games: Leduc"
SOURCE, TABLE = "Gibson & Szafron 2011, Sec. 6", "Gibson & Szafron 2011, Table 1"
LATER = f"Gibson & Szafron 2011, Sec. 7 {FUTURE}"
TABLE_BASE = {2: "JQ-K", 3: "J-QK"}  # the base abstraction that Table 1 shows

# Table 1: size, earnings, exploitability; the last two in milli-antes per hand.
PAPER: dict[int, dict[str, tuple[int, float, float | None]]] = {
    2: {
        BASE: (132, 24.73, 496.31),
        DYNAMIC: (444, 45.75, 159.84),
        EACH: (226, 28.87, 167.61),
        ALL: (186, 29.20, 432.74),
        PREFLOP: (186, 37.77, 214.44),
    },
    3: {
        BASE: (1890, -68.46, None),
        DYNAMIC: (6903, 113.04, None),
        EACH: (3017, 96.14, None),
        ALL: (2145, 117.01, None),
        PREFLOP: (2145, 119.73, None),
    },
}


# Two players by the weight of the start, three players, and two players by the paper's own method.
AllResults = tuple[Mapping[float, LeducResults], LeducResults, SampledResults]


def gather(plan: PaperPlan, answers: Answers) -> AllResults:
    return (*leduc.gather(plan, answers), by_sampling.gather_sampled(plan, answers))


def claims(results: AllResults) -> Iterator[Claim]:
    """All claims; those on the paper's strategies for two players are tested at all weights."""
    two, three, _ = results
    tried = {weight: [*_of_table(r), *_of_other_base(r)] for weight, r in two.items()}
    at_one_weight = (two[WEIGHT], three)
    # What the paper says of Table 1, then the same of the other base, then what came of the paper's future work.
    every = [claim for about in (_of_table, _of_other_base) for r in at_one_weight for claim in about(r)]
    every += [claim for r in at_one_weight for base in COARSE for claim in _beyond_base(r, base)]
    return across(every, tried)


def _of_table(r: LeducResults) -> Iterator[Claim]:
    return _stitched(r, TABLE_BASE[r.players], SOURCE)


def _of_other_base(r: LeducResults) -> Iterator[Claim]:
    return _stitched(r, next(base for base in COARSE if base != TABLE_BASE[r.players]), OURS)


def _stitched(r: LeducResults, base: str, source: str) -> Iterator[Claim]:
    earns, exploit, where = r.earns[base], r.exploit[base], f"{r.players} players, {base}"
    read = TABLE if source == SOURCE else source  # what the paper leaves to the reader of its table

    def more(x: str, y: str, source: str = source) -> Claim:
        return compare(f"{where}: {x} earns more than {y}", source, earns[x], earns[y])

    def safer(x: str, y: str, source: str = source) -> Claim:
        return compare(f"{where}: {x} is less exploitable than {y}", source, exploit[y], exploit[x])

    about_base = source if r.players == 2 else read
    yield from (more(x, BASE, about_base) for x in (DYNAMIC, EACH, ALL, PREFLOP))
    yield from (more(x, EACH) for x in (DYNAMIC, ALL, PREFLOP))
    yield more(PREFLOP, ALL, about_base)
    if r.players == 3:
        yield from (more(x, DYNAMIC) for x in (ALL, PREFLOP))
    else:
        yield from (safer(x, BASE, read) for x in (DYNAMIC, EACH, ALL, PREFLOP))
        yield from (safer(x, y) for x in (DYNAMIC, EACH) for y in (ALL, PREFLOP))
        yield safer(PREFLOP, ALL)


def _beyond_base(r: LeducResults, base: str) -> Iterator[Claim]:
    earns, exploit, where = r.earns[base], r.exploit[base], f"{r.players} players, {base}"
    if r.players == 3:
        for cold, warm in ((ALL_COLD, ALL), (PREFLOP_COLD, PREFLOP)):
            for x in (BASE, EACH, DYNAMIC, warm):
                yield compare(f"{where}: {cold}, earns more than {x}", OURS, earns[cold], earns[x])
        for x in (BASE, EACH, ALL):
            yield compare(f"{where}: {HYBRID} earns more than {x}", LATER, earns[HYBRID], earns[x])
    for rebuilt, kept in ((EACH_REBUILT, EACH), (ALL_REBUILT, ALL), (PREFLOP_REBUILT, PREFLOP)):
        yield compare(f"{where}: {kept} earns more with its base rebuilt", LATER, earns[rebuilt], earns[kept])
        if r.players == 2:
            text = f"{where}: {kept} is less exploitable with its base rebuilt"
            yield compare(text, LATER, exploit[kept], exploit[rebuilt])
    if r.players == 2:
        text = f"{where}: experts and base rebuilt in turn are less exploitable than {ALL}"
        yield compare(text, LATER, exploit[ALL], exploit[COHERED])
    yield compare(f"{where}: {ON_DYNAMIC} earns more than {ALL}", LATER, earns[ON_DYNAMIC], earns[ALL])
    text = f"{where}: {OF_DYNAMIC}, no larger than {BASE}, earns more than {BASE}"
    yield compare(text, LATER, earns[OF_DYNAMIC], earns[BASE])


def sheet(r: LeducResults, base: str) -> Sheet:
    """One half of Table 1, or the same for a base abstraction that the paper does not show."""
    paper = PAPER[r.players] if base == TABLE_BASE[r.players] else {}
    rows = [name for name in (*PAPER_ROWS, *BEYOND_ROWS) if name in r.size[base]]
    head = ["strategy", "size", "paper", "earns: mean ± sd [min, max]", "paper"]
    head += ["exploitability: mean ± sd [min, max]", "paper"] * (r.players == 2)
    head += ["exploitability: mean ± sd"] * (r.players == 3)
    lines = []
    for name in rows:
        size, earns, exploit = paper.get(name, (None, None, None))
        spread = r.exploit[base][name]
        lines.append([
            name if name in PAPER_ROWS else f"+ {name}", f"{r.size[base][name]}", "" if size is None else f"{size}",
            r.earns[base][name].text_with_range(), "" if earns is None else f"{earns:.2f}",
            *([spread.text_with_range(), "" if exploit is None else f"{exploit:.2f}"] if r.players == 2
              else [spread.text()]),
        ])  # fmt: skip
    shown = [k for k, title in enumerate(head) if paper or title != "paper"]
    which = "Table 1" if paper else "As Table 1"
    beyond = "Rows with + are not in the paper. " if any(name in BEYOND_ROWS for name in rows) else ""
    return Sheet(
        f"{which}: {r.players} players, base abstraction {base}, milli-antes per hand",
        tuple(head[k] for k in shown), [tuple(line[k] for k in shown) for line in lines],
        f"{beyond}Size: the largest number of infosets in one computation, in the game with suits.", table=1,
    )  # fmt: skip


def published(figure: int) -> dict[str, float]:
    """The paper's figures for two players, 1 for earnings and 2 for exploitability."""
    rows = {f"{TABLE_BASE[2]} {name}": row[figure] for name, row in PAPER[2].items()}
    return {name: number for name, number in rows.items() if number is not None}


ByWeight = dict[float, dict[str, Spread]]  # weight of the start -> strategy -> figure


def weighed_rows(two: Mapping[float, LeducResults]) -> tuple[ByWeight, ByWeight]:
    """Earnings and exploitability of the paper's strategies for two players, at each weight."""

    def rows(what: Mapping[str, Mapping[str, Spread]]) -> dict[str, Spread]:
        return {f"{base} {name}": what[base][name] for base in COARSE for name in PAPER_ROWS}

    return {w: rows(r.earns) for w, r in two.items()}, {w: rows(r.exploit) for w, r in two.items()}


def reproduced(two: Mapping[float, LeducResults]) -> str:
    """How many of the paper's two-player figures lie in the range over random initialisations, for each weight."""
    earns, exploit = weighed_rows(two)
    counts = {w: met(earns[w], published(1)) + met(exploit[w], published(2)) for w in sorted(two)}
    figures = len(published(1)) + len(published(2))
    whole = [f"{w:g}" for w, count in counts.items() if count == figures]
    return (
        f"{'Weight ' + ' or '.join(whole) if whole else 'No weight'} reproduces all {figures} of the paper's figures "
        "for two players; in the range over random initialisations lie "
        f"{', '.join(f'{count} at {w:g}' for w, count in counts.items())}."
    )


def dots(r: LeducResults, what: dict[str, dict[str, Spread]], figure: int) -> tuple[Dot, ...]:
    """figure: which of the paper's figures goes with it, 1 for earnings and 2 for exploitability."""
    result = []
    for base in BASES:
        for name, spread in what[base].items():
            row = PAPER[r.players].get(name) if base == TABLE_BASE[r.players] else None
            number = None if row is None else row[figure]
            paper = None if number is None else float(number)
            result.append(dot(name, base, r.size[base][name], spread, paper, name in BEYOND_ROWS))
    return tuple(result)


def figures(r: LeducResults) -> dict[str, Any]:
    def row(base: str, name: str) -> dict[str, Any]:
        keys, in_paper = ("size", "earnings", "exploitability"), base == TABLE_BASE[r.players] and name in PAPER_ROWS
        figures = (r.size[base][name], r.earns[base][name].data(), r.exploit[base][name].data())
        paper = {"paper": dict(zip(keys, PAPER[r.players][name], strict=True))} if in_paper else {}
        return dict(zip(keys, figures, strict=True)) | paper

    return {base: {name: row(base, name) for name in r.earns[base]} for base in BASES}


def page(plan: PaperPlan, results: AllResults, claims: Sequence[Claim]) -> Page:
    """Table 1, both halves."""
    weighed, three, sampled = results
    ten = by_sampling.published(PAPER[2])
    two, (earns, exploit) = weighed[WEIGHT], weighed_rows(weighed)
    names = tuple(f"{base} {name}" for base in BASES for name in PAPER_ROWS)
    return Page(
        about="Strategies for two-player and three-player Leduc are stitched from three base abstractions. "
        "The earnings of a strategy are its exact mean payoff against "
        f"all combinations and orders of the paper's strategies from other base abstractions. For two players "
        f"{sum(r.games for r in weighed.values()):,} games were solved, each until its "
        f"NashConv (both players together) was at most {1000 * plan.until:g} milli-antes; for three players "
        f"{three.games:,} games by {plan.iterations:,} iterations of CFR+ each, which leaves a NashConv of at most "
        f"{three.gap:.0f} milli-antes (all players together). {by_sampling.verdict(sampled, ten, weighed)}",
        departs=(
            "CFR+ from random initialisations with several weights; for "
            f"two players also the paper's chance-sampled CFR: {sampled.iterations:,} iterations per game; the paper "
            "ran 100 million.",
            "For three players the largest game of S={i} has 3021 infosets by our count, and 3017 in the paper.",
            "The paper has no exploitability for three players; ours is NashConv / 3.",
        ),
        notes=(
            f"{weighing(plan)} {reproduced(weighed)}",
            "The base can reach a part with a probability of 1e-9 or less, as JQ-K does after ccr. "
            "An expert with S=N and an initialisation of weight 0 learns even from such a reach. With any "
            f"other weight it keeps playing its initialisation there, because the regret from such a reach never "
            f"outweighs it. So the figures of {ALL} depend on the initialisation more than any others, "
            "and jump between weight 0 and the next weight. Three-player games would take too long at every "
            f"weight, so their claims are tested only at weight {WEIGHT:g}. Rows with \"no initial regret\" use "
            "the same bases and experts "
            "of weight 0: they show how much S=N experts depend on the weight.",
            by_sampling.method_note(sampled),
            by_sampling.readings_note(sampled, ten),
            by_sampling.swaps_note(sampled, ten),
            "A rebuilt base is solved against frozen experts, which can make it easier to exploit.",
        ),
        sheets=(
            sheet(two, "JQ-K"), sheet(three, "J-QK"),
            *by_sampling.sheets(sampled, ten, weighed, _of_table),
            weight_sheet("earnings, two players, milli-antes per hand", earns, 1, published(1)),
            weight_sheet("exploitability, two players, milli-antes per hand", exploit, 1, published(2)),
            sheet(two, "J-QK"), sheet(two, "null"), sheet(three, "JQ-K"), sheet(three, "null"),
        ),
        pictures=(
            Scatter("exploitability", "Leduc, two players: exploitability of stitched strategies",
                    "exploitability, milli-antes per hand", dots(two, two.exploit, 2)),
            Scatter("earnings", "Leduc, three players: earnings of stitched strategies",
                    "earnings, milli-antes per hand", dots(three, three.earns, 1)),
            Heat("crosstable", "Leduc, two players: winnings of the row against the column, milli-antes", names,
                 two.matrix.tolist(), "milli-antes",
                 (("exploitability", [two.exploit[b][n].mean for b in BASES for n in PAPER_ROWS]),)),
        ),
        figures={
            "unit": "milli-antes",
            "two_players": figures(two),
            "two_players_by_weight": {f"{weight:g}": figures(r) for weight, r in weighed.items()},
            "three_players": figures(three),
            "chance_sampled": by_sampling.data(sampled, figures),
            "crosstable": {"names": list(names), "mean": two.matrix.tolist()},
            "largest_nash_conv": {"two_players": max(r.gap for r in weighed.values()), "three_players": three.gap},
            "games_solved": {"two_players": sum(r.games for r in weighed.values()), "three_players": three.games},
        },
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(), QUICK, leduc.runs, gather, claims, page, tables=("1",),
    alone={"2": "gibson2011_holdem", "2 for three": "gibson2011_three_page", "2 by stages": "gibson2011_large_page",
           "2 for three by stages": "gibson2011_three_large", "why by stages": "gibson2011_why",
           "champions by stages": "champions", "small": "gibson2011_small",
           "small by stages": "gibson2011_small", "small for three": "gibson2011_three_small",
           "small for three by stages": "gibson2011_three_small"},
)  # fmt: skip
