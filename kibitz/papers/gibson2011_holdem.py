"""[Gibson & Szafron 2011, Table 2], two players: stitched strategies of limit Texas hold'em, matched and measured.

Departs from the paper: public chance sampling with linear weights instead of chance-sampled CFR; the strategy that is
to beat all has as many infosets as is quick to solve, not 797 million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.form.bucket.device import best_device
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.experiment import Experiment, Page, Plan
from kibitz.papers.figures import Heat, Sheet
from kibitz.papers.gibson2011_strategies import (
    ALL,
    BASE,
    DYNAMIC,
    EACH,
    EXPERTS,
    FILES,
    FINEST,
    NAMES,
    Setting,
    arguments,
    earned,
    exploited,
    gap_within,
    is_exploited,
    made,
    matched,
    pairs,
    sizes_of,
    taught,
)
from kibitz.papers.runs import Answers, Run

TITLE = "Gibson & Szafron 2011, On Strategy Stitching in Large Extensive Form Multiplayer Games: limit hold'em for two"
SOURCE = "Gibson & Szafron 2011, Sec. 6"
GAME, LIMIT, LARGEST = "poker(file=holdem.limit.2p)", 24_000_000, 60_000_000
TINY, TINY_LIMIT, TINY_LARGEST = "poker(file=holdem.limit.2p, ranks=4)", 60_000, 150_000
ITERATIONS, DEALS = 20_000, 5_000_000
# Table 2: earnings, their 95% interval, exploitability; milli-big-blinds a hand.
PAPER = {
    BASE: (-10.47, 1.99, 310.04), DYNAMIC: (-4.43, 1.98, 307.76), EACH: (-13.13, 2.00, 301.00),
    ALL: (-4.57, 1.96, 288.82), FINEST: (32.59, 2.14, 135.43),
}  # fmt: skip
SOLVING, MATCHES, GAPS, EXPLOITED = "strategies of hold'em", "matches", "gaps", "exploitability"
EXACT = "exact earnings"


@dataclass(frozen=True)
class Results:
    """All that was found, milli-big-blinds a hand."""

    setting: Setting
    strategies: dict[str, dict[str, Any]]
    gaps: dict[str, float]  # within their buckets, of those that are known
    won: dict[tuple[str, str], tuple[float, float]]  # (one, other) -> what the one wins, and the 95% interval
    exploit: dict[str, dict[str, Any]]  # of those that are known
    exact: dict[tuple[str, str], float]  # (one, other) -> what the one wins over all boards, if it is known

    def earns(self, name: str) -> tuple[float, float]:
        """The mean over all others, and its 95% interval; matches are independent."""
        found = [self.against(name, other) for other in NAMES if other != name]
        return sum(m for m, _ in found) / len(found), sum(e * e for _, e in found) ** 0.5 / len(found)

    def earns_exactly(self, name: str) -> float:
        return sum(x * ((name == a) - (name == b)) for (a, b), x in self.exact.items()) / (len(NAMES) - 1)

    def against(self, one: str, other: str) -> tuple[float, float]:
        if (one, other) in self.won:
            return self.won[one, other]
        mean, error = self.won[other, one]
        return -mean, error


def setting_of(plan: Plan) -> Setting:
    folder = str(Path(plan.folder) / "holdem")
    if plan.iterations < 100:  # a quick look: a deck of 16 cards
        return Setting(TINY, TINY_LIMIT, TINY_LARGEST, 10 * plan.iterations, 20_000, f"{folder}-quick")
    return Setting(GAME, LIMIT, LARGEST, plan.iterations, DEALS, folder)


def runs(plan: Plan) -> list[Run]:
    """Strategies one after another, as experts need the base; then matches; and best responses where they are quick, or
    were asked for."""
    setting = setting_of(plan)
    given = arguments(setting)
    found = [
        Run(f"{SOLVING}: without experts", made, [(name, *given) for name in (BASE, DYNAMIC, FINEST)]),
        Run("experts", taught, [(name, k, *given) for name, count in EXPERTS.items() for k in range(count)],
            "cores"),
        Run(f"{SOLVING}: stitched", made, [(name, *given) for name in (EACH, ALL)]),
        Run(MATCHES, matched, [given]),
    ]  # fmt: skip
    device = best_device()
    measurable = (BASE, FINEST) if device == "gpu" or setting.game == TINY else (BASE,)
    found.append(Run(GAPS, gap_within, [(name, device, *given) for name in measurable]))
    asked = device == "gpu" or plan.exact or setting.game == TINY
    measured = [name for name in NAMES if asked or is_exploited(name, setting)]
    found.append(Run(EXPLOITED, exploited, [(name, device, *given) for name in measured]))
    if plan.exact or setting.game == TINY:
        found.append(Run(EXACT, earned, [(one, other, device, *given) for one, other in pairs()]))
    return found


def gather(plan: Plan, found: Answers) -> Results:
    won = {(each["one"], each["other"]): (each["mean"], each["error"]) for each in found[MATCHES][0]}
    exploit = {each["name"]: each for each in found.get(EXPLOITED, [])}
    strategies = [each for run, answers in found.items() if run.startswith(SOLVING) for each in answers]
    gaps = {each["name"]: float(each["gap"]) for each in found[GAPS]}
    exact = {(each["one"], each["other"]): float(each["mean"]) for each in found.get(EXACT, [])}
    return Results(setting_of(plan), {each["name"]: each for each in strategies}, gaps, won, exploit, exact)


def claims(r: Results) -> Iterator[Claim]:
    """What the paper says of Table 2, two players. A claim about earnings holds if the difference is above the noise
    of the matches."""

    def earning(text: str, x: str, y: str, more: bool) -> Claim:
        (a, ea), (b, eb) = r.earns(x), r.earns(y)
        above = a - b > (ea * ea + eb * eb) ** 0.5
        return Claim(text, SOURCE, (above == more,), exactly=f"{a:.2f} ± {ea:.2f} against {b:.2f} ± {eb:.2f}")

    yield from (earning(f"{x} earns more than {y}", x, y, True) for x, y in ((DYNAMIC, BASE), (ALL, BASE), (ALL, EACH)))
    yield earning(f"{EACH} earns no more than {BASE}", EACH, BASE, False)
    for name in NAMES[:-1]:
        mean, error = r.against(FINEST, name)
        yield Claim(
            f"the finest strategy beats {name}", SOURCE, (mean > error,), exactly=f"by {mean:.2f} ± {error:.2f}"
        )
    if r.exact:
        within = [abs(mean - r.exact[pair]) <= error for pair, (mean, error) in r.won.items()]
        yield Claim("at least 8 of 10 matches have the exact figure in their 95% interval", OURS, (sum(within) >= 8,),
                    exactly=f"{sum(within)} of {len(within)}")  # fmt: skip
    yield from _of_exploitability(r)


def _of_exploitability(r: Results) -> Iterator[Claim]:
    """Of strategies whose best responses are known."""

    def least(text: str, x: str, others: Sequence[str]) -> Iterator[Claim]:
        if all(name in r.exploit for name in (x, *others)):
            mine, lowest = _exploit(r, x), min(_exploit(r, name) for name in others)
            yield Claim(text, SOURCE, (mine < lowest,), exactly=f"{mine:.2f} against {lowest:.2f}")

    for x in (DYNAMIC, EACH, ALL):
        yield from least(f"{x} is less exploitable than {BASE}", x, [BASE])
    yield from least(f"{ALL} is the least exploitable of those of one size", ALL, [BASE, DYNAMIC, EACH])
    yield from least("the finest strategy is the least exploitable", FINEST, NAMES[:-1])
    if BASE in r.exploit:
        ours, theirs = _exploit(r, BASE), PAPER[BASE][2]
        yield Claim(f"{BASE} is no more exploitable than the paper's", OURS, (ours <= theirs,),
                    exactly=f"{ours:.2f} against {theirs:.2f}")  # fmt: skip


def _exploit(r: Results, name: str) -> float:
    return float(r.exploit[name]["exploitability"])


def table(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        earns, error = r.earns(name)
        rows.append((
            name, f"{earns:.2f} ± {error:.2f}", *([f"{r.earns_exactly(name):.2f}"] if r.exact else []),
            f"{PAPER[name][0]:.2f} ± {PAPER[name][1]:.2f}",
            f"{_exploit(r, name):.2f}" if name in r.exploit else "not measured", f"{PAPER[name][2]:.2f}",
        ))  # fmt: skip
    exactly = ["exactly"] if r.exact else []
    return Sheet(
        "Table 2, two players: milli-big-blinds a hand",
        ("strategy", "earns", *exactly, "paper", "exploitability", "paper"), rows,
        f"Earnings: the mean over matches against each of the others, {r.setting.deals:,} duplicate deals each, with "
        f"the 95% interval{'; exactly: over all boards' if r.exact else ''}. Exploitability: the mean of what best "
        "responses of both seats win in the whole game, exactly. The paper's last row has 797 million infosets, ours "
        f"{r.strategies[FINEST]['infosets']:,}.",
        table=2,
    )  # fmt: skip


def sizes(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        facts = r.strategies[name]
        rows.append((
            name, str(facts["buckets"]), f"{facts['infosets']:,}", f"{facts['largest']:,}" if facts["largest"] else "",
            f"{min(facts['iterations']):,}", f"{r.gaps[name]:.2f}" if name in r.gaps else "",
        ))  # fmt: skip
    return Sheet(
        "Sizes", ("strategy", "buckets", "infosets", "of the largest computation", "iterations of each", "gap"), rows,
        "A stitched strategy has the infosets of its base and of all experts. The gap is what best responses "
        "within the buckets win, the mean of both seats in milli-big-blinds a hand; it is known where there is one set "
        "of buckets that never forget.",
    )  # fmt: skip


def experts(r: Results) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (f"{name}: {part}", ", ".join(map(str, seats)), str(buckets), f"{size:,}")
        for name in (EACH, ALL) for part, seats, buckets, size in r.strategies[name]["experts"]
    ]  # fmt: skip
    return Sheet("Experts", ("part", "seats", "buckets: of the base, and in the part", "infosets that move"), rows)


def page(plan: Plan, r: Results, claims: Sequence[Claim]) -> Page:
    sizes_of(r.setting.game, r.setting.limit, r.setting.finest)
    makers = sorted({each["by"] for each in r.exploit.values()})
    missing = [name for name in NAMES if name not in r.exploit]
    measured = f"Exploitability was measured exactly, over all boards, by {' and '.join(makers)}. " if makers else ""
    if missing:
        measured += (
            f"That of {', '.join(missing)} was not measured: without a GPU a strategy takes a night. The same command "
            "with --exact does it and can be stopped and gone on with; or `kibitz evaluate "
            f"{Path(r.setting.folder) / (FILES[missing[0]] + '.profile')} --whole --device gpu` where there is one, "
            "whose cache of tables this command then takes."
        )
    means = [r.earns(name)[0] for name in NAMES]
    matrix = [[0.0 if x == y else r.against(x, y)[0] for y in NAMES] for x in NAMES]
    return Page(
        about=(
            f"{r.setting.game}, stitched from percentile E[HS^2] buckets with perfect recall. Every computation has at "
            f"most {r.setting.limit:,} infosets, with buckets spread over the rounds as evenly as it goes, and "
            f"{r.setting.iterations:,} iterations of public chance sampling: one board, all hands of both seats. "
            f"{measured}"
        ),
        departs=(
            "The paper ran 720 million iterations of chance-sampled CFR, one deal each, for every computation.",
            "How the dynamic strategy divides its infosets between the base and the r-expert is not in the paper: here "
            "the rest of the game has one bucket a round less than Base, and the expert has what is left.",
        ),
        sheets=(table(r), sizes(r), experts(r)),
        pictures=(
            Heat("holdem", "What the row wins from the column, milli-big-blinds a hand", NAMES, matrix, "mbb/h",
                 (("earns", means),)),
        ),
        figures={
            "unit": "milli-big-blinds a hand",
            "strategies": r.strategies,
            "gaps": r.gaps,
            "matches": [{"one": a, "other": b, "mean": m, "error": e} for (a, b), (m, e) in r.won.items()],
            "earnings": {name: r.earns(name) for name in NAMES},
            "exact": [{"one": a, "other": b, "mean": m} for (a, b), m in r.exact.items()],
            "exploitability": r.exploit,
            "paper": {name: list(row) for name, row in PAPER.items()},
        },
        summary=_summary(claims),
    )  # fmt: skip


def _summary(claims: Sequence[Claim]) -> str:
    own = [claim for claim in claims if claim.source != OURS]
    held = sum(all(claim.held) for claim in own)
    return f"Of {len(own)} claims about it {held} hold here and {len(own) - held} do not."


EXPERIMENT = Experiment(
    "gibson2011", TITLE, Plan(starts=1, iterations=ITERATIONS), Plan(starts=1, iterations=20), runs, gather, claims,
    page, unit="run", tables=("2",),
)  # fmt: skip
