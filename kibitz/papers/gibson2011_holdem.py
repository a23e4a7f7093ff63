"""[Gibson & Szafron 2011, Table 2], two players: stitched strategies of limit Texas hold'em, matched and measured.

Departs from the paper: public chance sampling with linear weights instead of chance-sampled CFR; the strategy that is
to beat all has as many infosets as is quick to solve, not 797 million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kibitz.papers import gibson2011_strategies as solving
from kibitz.papers import holdem_page as shared
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.holdem import HoldemSetting, arguments
from kibitz.papers.holdem_page import HoldemResults
from kibitz.papers.runs import Answers, Run
from kibitz.poker.bucketed.device import best_device
from kibitz.report.figures import Sheet

TITLE = "Gibson & Szafron 2011, On Strategy Stitching in Large Extensive Form Multiplayer Games: limit hold'em"
BASE, DYNAMIC, EACH, ALL, FINEST = NAMES = solving.NAMES
FILES = solving.FILES
SOURCE = "Gibson & Szafron 2011, Sec. 6"
LIMITS, TINY_LIMITS = (24_000_000, 60_000_000), (60_000, 150_000)  # infosets of all computations, and of the finest
ITERATIONS = 8_000
# Table 2: earnings, their 95% interval, exploitability; milli-big-blinds per hand.
PAPER = {
    BASE: (-10.47, 1.99, 310.04), DYNAMIC: (-4.43, 1.98, 307.76), EACH: (-13.13, 2.00, 301.00),
    ALL: (-4.57, 1.95, 288.82), FINEST: (32.59, 2.14, 135.43),
}  # fmt: skip


def setting_of(plan: PaperPlan) -> HoldemSetting:
    return shared.setting_for(plan, LIMITS, TINY_LIMITS)


def runs(plan: PaperPlan) -> list[Run]:
    """Strategies one after another, as experts need the base; then matches and measurements."""
    setting = setting_of(plan)
    of, device = arguments(setting), best_device()
    sizes = solving.sizes_of(setting.game, *setting.limits)
    within = {BASE: sizes.base} | ({FINEST: sizes.finest} if device == "gpu" or setting.game == shared.TINY else {})
    return [
        Run(f"{shared.SOLVING}: without experts", solving.strategy, [(name, *of) for name in (BASE, DYNAMIC, FINEST)]),
        Run("experts", solving.expert,
            [(name, k, *of) for name, count in solving.EXPERTS.items() for k in range(count)], "cores"),
        Run(f"{shared.SOLVING}: stitched", solving.strategy, [(name, *of) for name in (EACH, ALL)]),
        *shared.measuring(plan, setting, FILES, device, within),
    ]  # fmt: skip


def gather(plan: PaperPlan, answers: Answers) -> HoldemResults:
    return shared.gathered(setting_of(plan), FILES, answers)


def claims(r: HoldemResults) -> Iterator[Claim]:
    """What the paper says of Table 2, two players."""
    for x, y in ((DYNAMIC, BASE), (ALL, BASE), (ALL, EACH)):
        yield shared.earns(f"{x} earns more than {y}", SOURCE, r, x, y)
    yield shared.earns(f"{EACH} earns no more than {BASE}", SOURCE, r, EACH, BASE, "<=")
    yield from (shared.beats(f"the finest strategy beats {name}", SOURCE, r, FINEST, name) for name in NAMES[:-1])
    if r.exact:
        yield shared.matches_agree(r)
    yield from _of_exploitability(r)


def _of_exploitability(r: HoldemResults) -> Iterator[Claim]:
    """Of strategies whose best responses are known."""

    def least(text: str, x: str, others: Sequence[str]) -> Iterator[Claim]:
        if all(name in r.exploit for name in (x, *others)):
            mine, lowest = r.exploitability(x), min(r.exploitability(name) for name in others)
            yield shared.less_exploitable(text, SOURCE, mine, lowest)

    for x in (DYNAMIC, EACH, ALL):
        yield from least(f"{x} is less exploitable than {BASE}", x, [BASE])
    yield from least(f"{ALL} is the least exploitable of those of one size", ALL, [BASE, DYNAMIC, EACH])
    yield from least("the finest strategy is the least exploitable", FINEST, NAMES[:-1])
    if BASE in r.exploit:
        ours, theirs = r.exploitability(BASE), PAPER[BASE][2]
        yield shared.less_exploitable(f"{BASE} is no more exploitable than the paper's", OURS, ours, theirs, "<=")


def table(r: HoldemResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    every = all(r.earns_exactly(name) is not None for name in NAMES)
    for name in NAMES:
        mean, error = r.earns(name)
        rows.append((
            name, f"{mean:.2f} ± {error:.2f}", *([f"{r.earns_exactly(name):.2f}"] if every else []),
            f"{PAPER[name][0]:.2f} ± {PAPER[name][1]:.2f}", r.exploitability_text(name), f"{PAPER[name][2]:.2f}",
        ))  # fmt: skip
    exactly = ["exactly"] if every else []
    return Sheet(
        "Table 2, two players: milli-big-blinds per hand",
        ("strategy", "earns", *exactly, "paper", "exploitability", "paper"), rows,
        f"Earnings: the mean over matches against each of the others, {r.setting.deals:,} duplicate deals each, with "
        f"the 95% interval{'; exactly: over all boards' if every else ''}. Exploitability: the exact mean of what "
        "best responses "
        "of both players win in the unabstracted game. The paper's last row has 797 million infosets, ours "
        f"{r.strategies[FINEST]['infosets']:,}.",
        table=2,
    )  # fmt: skip


def sizes(r: HoldemResults) -> Sheet:
    largest = {name: facts["largest"] for name, facts in r.strategies.items()}
    return shared.sizes_sheet(
        r, "of the largest computation", lambda name: f"{largest[name]:,}" if largest[name] else "",
        "A stitched strategy has the infosets of its base and of all experts. Exploitability in "
        "the abstract game is the mean of what best responses of both players win there, "
        "in milli-big-blinds per hand; it is computed where one set of perfect-recall buckets is used.",
    )  # fmt: skip


def page(plan: PaperPlan, r: HoldemResults, claims: Sequence[Claim]) -> Page:
    return Page(
        about=f"{r.setting.game} is stitched from percentile E[HS²] buckets with "
        f"perfect recall. Every computation has at most {r.setting.limits[0]:,} infosets, with buckets distributed "
        "over the rounds as evenly as possible, and "
        f"{r.setting.iterations:,} iterations of public chance sampling (one board per iteration, all hands of both "
        "players). "
        f"Strategies that were in the folder already are reused; their time is not included. {shared.how_measured(r)}",
        departs=(
            "The paper ran 720 million iterations of chance-sampled CFR for every computation, one deal per iteration.",
            "The paper does not say how the dynamic strategy divides its infosets between the base and the r-expert. "
            "Here the "
            "rest of the game has one bucket per round less than Base, and the expert has the remaining infosets.",
        ),
        sheets=(table(r), *([shared.exact_sheet(r)] if r.exact else []), sizes(r),
                shared.experts_sheet(r, "Experts", "seats", (EACH, ALL))),
        pictures=(shared.heat(r, "Limit hold'em: winnings of the row against the column, mbb/h", "mbb/h",
                              "earns"),),
        figures={"unit": "milli-big-blinds per hand", **r.data(),
                 "paper": {name: list(row) for name, row in PAPER.items()}},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=1, iterations=ITERATIONS), shared.QUICK, runs, gather, claims, page,
    unit="run", tables=("2",), ignores=("until",), instead="--iterations", taken=lambda plan: str(setting_of(plan)),
)  # fmt: skip
