"""[Waugh, Bard & Bowling 2009, Table 3]: a grafted strategy of limit Texas hold'em against five single strategies.

The figures of the table are not in the text that we have; what the paper says of them is. Departs from the paper:
public chance sampling with linear weights instead of chance-sampled CFR, and percentile buckets of sizes that are quick
to solve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kibitz.papers import holdem_page as shared
from kibitz.papers import waugh2009_strategies as solving
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.holdem import HoldemSetting, arguments
from kibitz.papers.holdem_page import HoldemResults
from kibitz.papers.runs import Answers, Run
from kibitz.poker.bucketed.device import best_device
from kibitz.report.figures import Sheet

TITLE = "Waugh, Bard & Bowling 2009, Strategy Grafting in Extensive Games: limit hold'em"
GRAFTED, BASE, SMALLER, LARGEST, FOURTEEN, TWELVE = NAMES = solving.NAMES
FILES = solving.FILES
SOURCE = "Waugh et al. 2009, Sec. 4.2"
# Infosets of the base, of the largest and each graft, and of the two with perfect recall.
LIMITS, TINY_LIMITS = (2_000_000, 5_060_000, 24_000_000, 14_000_000), (60_000, 151_800, 150_000, 100_000)
ITERATIONS = 4_000


def setting_of(plan: PaperPlan) -> HoldemSetting:
    return shared.setting_for(plan, LIMITS, TINY_LIMITS)


def runs(plan: PaperPlan) -> list[Run]:
    """Grafts come after the base, which they need; then matches and measurements."""
    setting = setting_of(plan)
    of, device = arguments(setting), best_device()
    single = solving.sizes_of(setting.game, *setting.limits).single
    return [
        Run(f"{shared.SOLVING}: without grafts", solving.strategy, [(name, *of) for name in NAMES if name != GRAFTED],
            "cores"),
        Run("grafts", solving.graft, [(k, *of) for k in range(solving.GRAFTS)], "cores"),
        Run(f"{shared.SOLVING}: grafted", solving.strategy, [(GRAFTED, *of)]),
        *shared.measuring(plan, setting, FILES, device, {name: single[name] for name in (FOURTEEN, TWELVE)}),
    ]


def gather(plan: PaperPlan, answers: Answers) -> HoldemResults:
    return shared.gathered(setting_of(plan), FILES, answers)


def claims(r: HoldemResults) -> Iterator[Claim]:
    """What the paper says of Table 3."""
    for name in NAMES[1:]:
        even = "even the largest single strategy, " * (name == LARGEST)
        yield shared.beats(f"the grafted strategy beats {even}{name}", SOURCE, r, GRAFTED, name)
    yield shared.beats(f"{SMALLER} beats {FOURTEEN}, which it superseded", SOURCE, r, SMALLER, FOURTEEN)
    known = {name: r.earns_exactly(name) for name in NAMES}
    best = max(NAMES[1:], key=lambda name: (known[name] or 0.0) if None not in known.values() else r.earns(name)[0])
    most = shared.earns("the grafted strategy wins most on average", OURS, r, GRAFTED, best)
    yield replace(most, detail=f"{most.detail}, of {best}, the best of the others")
    if r.exact:
        yield shared.matches_agree(r)
    if GRAFTED in r.exploit and BASE in r.exploit:
        yield shared.less_exploitable("the grafted strategy is less exploitable than its base", OURS,
                               r.exploitability(GRAFTED), r.exploitability(BASE))  # fmt: skip


def relative_size(r: HoldemResults, name: str) -> float:
    """Infosets of all that was solved for a strategy, by those of the base."""
    base, facts = r.strategies[BASE]["infosets"], r.strategies[name]
    solved = base + sum(size for *_, size in facts["experts"]) if facts["experts"] else facts["infosets"]
    return float(solved / base)


def table(r: HoldemResults) -> Sheet:
    errors = [error for _, error in r.won.values()]
    known = bool(r.exploit)
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        mean, error = r.earns(name)
        rows.append((
            name, *("" if other == name else f"{r.against(name, other)[0]:.2f}" for other in NAMES),
            f"{mean:.2f} ± {error:.2f}", f"{relative_size(r, name):.2f}",
            *([r.exploitability_text(name)] if known else []),
        ))  # fmt: skip
    best = " Exploitability: the exact mean of what best responses of both players win, without abstraction." * known
    return Sheet(
        "Table 3: winnings of the row against the column, mb/h",
        ("strategy", *NAMES, "average", "relative size", *(["exploitability"] if known else [])), rows,
        f"Matches of {r.setting.deals:,} duplicate deals each; half of the 95% interval lies between "
        f"{min(errors):.2f} and {max(errors):.2f}. Relative size: infosets of everything that was solved for the "
        f"row, relative to the base.{best}",
        table=3,
    )  # fmt: skip


def sizes(r: HoldemResults) -> Sheet:
    return shared.sizes_sheet(
        r, "relative size", lambda name: f"{relative_size(r, name):.2f}",
        "Infosets are those that the strategy uses. Exploitability in the abstract game is the mean of "
        "what best responses of both players win there, in mb/h; it is computed for perfect-recall buckets.",
        hidden=GRAFTED,  # buckets of grafts have a table of their own
    )  # fmt: skip


def page(plan: PaperPlan, r: HoldemResults, claims: Sequence[Claim]) -> Page:
    base, largest, *_ = r.setting.limits
    buckets = {name: r.strategies[name]["buckets"] for name in (FOURTEEN, TWELVE)}
    return Page(
        about=f"{r.setting.game} with percentile E[HS²] buckets: the base, {BASE}, has as many imperfect-recall "
              "buckets "
        f"as {base:,} infosets allow, {SMALLER} seven eighths of that, and {LARGEST} as many as {largest:,}. There "
        "is a graft for each player and each of the betting "
        f"parts r, cr, ccr and cccr, in computations of up to {largest:,} "
        "infosets; the opponent plays the whole game with the base's buckets. Every computation has "
        f"{r.setting.iterations:,} iterations of public chance sampling (one board per iteration, all hands of both "
        "players). A millibet (mb) is a thousandth of the "
        f"small bet, which equals the big blind. {shared.how_measured(r)}",
        departs=(
            "Our copy of the paper lacks the figures of its table; each "
            "sentence about them is a claim here. We read \"superseded\" as \"beats\".",
            "The buckets of the paper's strategies are described in another paper, and the parts "
            "of its grafts in neither. Names are the paper's, for strategies with the same role.",
            f"{FOURTEEN} and {TWELVE} have fewer buckets per round than the paper's: {buckets[FOURTEEN]} and "
            f"{buckets[TWELVE]}.",
            f"{LARGEST} is {solving.RATIO} times as large as the base in the paper, and "
            f"{relative_size(r, LARGEST):.2f} times here. Limits count the buckets requested. There are fewer in use "
            "where hands are "
            "equally strong, which is common on the river: such hands are never separated.",
        ),
        sheets=(table(r), *([shared.exact_sheet(r)] if r.exact else []), sizes(r),
                shared.experts_sheet(r, "Grafts", "seat", (GRAFTED,))),
        pictures=(shared.heat(r, "Limit hold'em: winnings of the row against the column, mb/h", "mb/h", "average"),),
        figures={"unit": "mb/h", **r.data(),
                 "relative_size": {name: relative_size(r, name) for name in NAMES}},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "waugh2009", TITLE, PaperPlan(starts=1, iterations=ITERATIONS), shared.QUICK, runs, gather, claims, page,
    unit="run", tables=("3",), ignores=("until",), instead="--iterations", taken=lambda plan: str(setting_of(plan)),
)  # fmt: skip
