"""[Gibson & Szafron 2011, Table 2], two players: stitched strategies of limit Texas hold'em, matched and measured.

Departs from the paper: public chance sampling with linear weights instead of chance-sampled CFR; the strategy that is
to beat all has as many infosets as is quick to solve, not 797 million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kibitz.papers.claims import OURS, Claim
from kibitz.papers.experiment import Experiment, Page, Plan
from kibitz.papers.gibson2011_strategies import (
    ALL,
    BASE,
    DYNAMIC,
    EACH,
    EXPERTS,
    FILES,
    FINEST,
    NAMES,
    made,
    sizes_of,
    taught,
)
from kibitz.papers.holdem import Setting, arguments, said
from kibitz.papers.holdem_page import (
    SOLVING,
    WITHIN,
    Results,
    beats,
    earns,
    exact_sheet,
    gathered,
    how_measured,
    less_exploitable,
    matches_agree,
    measuring,
)
from kibitz.papers.runs import Answers, Run
from kibitz.poker.bucketed.device import best_device
from kibitz.report.figures import Heat, Sheet

TITLE = "Gibson & Szafron 2011, On Strategy Stitching in Large Extensive Form Multiplayer Games: limit hold'em for two"
SOURCE = "Gibson & Szafron 2011, Sec. 6"
GAME, LIMIT, LARGEST = "poker(file=holdem.limit.2p)", 24_000_000, 60_000_000
TINY, TINY_LIMIT, TINY_LARGEST = "poker(file=holdem.limit.2p, ranks=4)", 60_000, 150_000
ITERATIONS, DEALS = 8_000, 5_000_000
# Table 2: earnings, their 95% interval, exploitability; milli-big-blinds a hand.
PAPER = {
    BASE: (-10.47, 1.99, 310.04), DYNAMIC: (-4.43, 1.98, 307.76), EACH: (-13.13, 2.00, 301.00),
    ALL: (-4.57, 1.96, 288.82), FINEST: (32.59, 2.14, 135.43),
}  # fmt: skip


def setting_of(plan: Plan) -> Setting:
    folder = str(Path(plan.folder) / "holdem")
    if plan.quick:
        return Setting(TINY, (TINY_LIMIT, TINY_LARGEST), plan.iterations, 20_000, f"{folder}-quick")
    return Setting(GAME, (LIMIT, LARGEST), plan.iterations, DEALS, folder)


def runs(plan: Plan) -> list[Run]:
    """Strategies one after another, as experts need the base; then what they are worth."""
    setting = setting_of(plan)
    given, device = arguments(setting), best_device()
    sizes = sizes_of(setting.game, *setting.limits)
    within = {BASE: sizes.base} | ({FINEST: sizes.finest} if device == "gpu" or setting.game == TINY else {})
    return [
        Run(f"{SOLVING}: without experts", made, [(name, *given) for name in (BASE, DYNAMIC, FINEST)]),
        Run("experts", taught, [(name, k, *given) for name, count in EXPERTS.items() for k in range(count)],
            "cores"),
        Run(f"{SOLVING}: stitched", made, [(name, *given) for name in (EACH, ALL)]),
        *measuring(plan, setting, FILES, TINY, device, within),
    ]  # fmt: skip


def gather(plan: Plan, found: Answers) -> Results:
    return gathered(setting_of(plan), FILES, found)


def claims(r: Results) -> Iterator[Claim]:
    """What the paper says of Table 2, two players."""
    for x, y in ((DYNAMIC, BASE), (ALL, BASE), (ALL, EACH)):
        yield earns(f"{x} earns more than {y}", SOURCE, r, x, y)
    yield earns(f"{EACH} earns no more than {BASE}", SOURCE, r, EACH, BASE, "<=")
    yield from (beats(f"the finest strategy beats {name}", SOURCE, r, FINEST, name) for name in NAMES[:-1])
    if r.exact:
        yield matches_agree(r)
    yield from _of_exploitability(r)


def _of_exploitability(r: Results) -> Iterator[Claim]:
    """Of strategies whose best responses are known."""

    def least(text: str, x: str, others: Sequence[str]) -> Iterator[Claim]:
        if all(name in r.exploit for name in (x, *others)):
            mine, lowest = r.exploitability(x), min(r.exploitability(name) for name in others)
            yield less_exploitable(text, SOURCE, mine, lowest)

    for x in (DYNAMIC, EACH, ALL):
        yield from least(f"{x} is less exploitable than {BASE}", x, [BASE])
    yield from least(f"{ALL} is the least exploitable of those of one size", ALL, [BASE, DYNAMIC, EACH])
    yield from least("the finest strategy is the least exploitable", FINEST, NAMES[:-1])
    if BASE in r.exploit:
        ours, theirs = r.exploitability(BASE), PAPER[BASE][2]
        yield less_exploitable(f"{BASE} is no more exploitable than the paper's", OURS, ours, theirs, "<=")


def table(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = []
    every = all(r.earns_exactly(name) is not None for name in NAMES)
    for name in NAMES:
        earns, error = r.earns(name)
        rows.append((
            name, f"{earns:.2f} ± {error:.2f}", *(_number(r.earns_exactly(name)) if every else []),
            f"{PAPER[name][0]:.2f} ± {PAPER[name][1]:.2f}",
            f"{r.exploitability(name):.2f}" if name in r.exploit else "not measured", f"{PAPER[name][2]:.2f}",
        ))  # fmt: skip
    exactly = ["exactly"] if every else []
    return Sheet(
        "Table 2, two players: milli-big-blinds a hand",
        ("strategy", "earns", *exactly, "paper", "exploitability", "paper"), rows,
        f"Earnings: the mean over matches against each of the others, {r.setting.deals:,} duplicate deals each, with "
        f"the 95% interval{'; exactly: over all boards' if every else ''}. Exploitability: the mean of what best "
        "responses of both seats win in the whole game, exactly. The paper's last row has 797 million infosets, ours "
        f"{r.strategies[FINEST]['infosets']:,}.",
        table=2,
    )  # fmt: skip


def _number(x: float | None) -> list[str]:
    return [] if x is None else [f"{x:.2f}"]


def sizes(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        facts = r.strategies[name]
        rows.append((
            name, str(facts["buckets"]), f"{facts['infosets']:,}", f"{facts['largest']:,}" if facts["largest"] else "",
            f"{min(facts['iterations']):,}", f"{r.within[name]:.2f}" if name in r.within else "",
        ))  # fmt: skip
    return Sheet(
        "Sizes", ("strategy", "buckets", "infosets", "of the largest computation", "iterations of each", WITHIN), rows,
        "A stitched strategy has the infosets of its base and of all experts. Exploitability in the abstract "
        "game: the mean of what best responses of both seats win within the buckets, in milli-big-blinds a hand; it is "
        "known where there is one set of buckets that never forget.",
    )  # fmt: skip


def experts(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (f"{name}: {part}", ", ".join(map(str, seats)), str(buckets), f"{size:,}")
        for name in (EACH, ALL) for part, seats, buckets, size in r.strategies[name]["experts"]
    ]  # fmt: skip
    return Sheet("Experts", ("part", "seats", "buckets: of the base, and in the part", "infosets that move"), rows)


def page(plan: Plan, r: Results, claims: Sequence[Claim]) -> Page:
    means = [r.earns(name)[0] for name in NAMES]
    return Page(
        about=(
            f"{r.setting.game}, stitched from percentile E[HS^2] buckets with perfect recall. Every computation has at "
            f"most {r.setting.limits[0]:,} infosets, with buckets spread over the rounds as evenly as it goes, and "
            f"{r.setting.iterations:,} iterations of public chance sampling: one board, all hands of both seats. "
            f"Strategies that lie in the folder already are taken, and not in the time above. {how_measured(r)}"
        ),
        departs=(
            "The paper ran 720 million iterations of chance-sampled CFR, one deal each, for every computation.",
            "How the dynamic strategy divides its infosets between the base and the r-expert is not in the paper: here "
            "the rest of the game has one bucket a round less than Base, and the expert has what is left.",
        ),
        sheets=(table(r), *([exact_sheet(r)] if r.exact else []), sizes(r), experts(r)),
        pictures=(
            Heat("holdem", "What the row wins from the column, milli-big-blinds a hand", NAMES, r.matrix, "mbb/h",
                 (("earns", means),)),
        ),
        figures={
            "unit": "milli-big-blinds a hand",
            **r.data(),
            "paper": {name: list(row) for name, row in PAPER.items()},
        },
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, Plan(starts=1, iterations=ITERATIONS), Plan(starts=1, iterations=200, quick=True), runs,
    gather, claims, page, unit="run", tables=("2",), ignores=("until",), instead="--iterations",
    taken=lambda plan: said(setting_of(plan)),
)  # fmt: skip
