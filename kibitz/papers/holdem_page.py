"""What pages about strategies of limit hold'em share: the runs that measure them, their results and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.papers import holdem
from kibitz.papers.claims import OURS, RUN, Claim, Comparison, measured
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.holdem import Files, HoldemSetting
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import Heat, Sheet

GAME, TINY, DEALS = "poker(file=holdem.limit.2p)", "poker(file=holdem.limit.2p, ranks=4)", 5_000_000
SOLVING, MATCHES, EXPLOITED = "strategies of hold'em", "matches", "exploitability"
WITHIN = "exploitability in the abstract game"
EXACT = "exact earnings"
QUICK = PaperPlan(starts=1, iterations=200, quick=True)


@dataclass(frozen=True)
class HoldemResults:
    """All figures of a paper's strategies, in thousandths of a big blind a hand."""

    setting: HoldemSetting
    files: Files
    strategies: dict[str, dict[str, Any]]
    within: dict[str, float]  # exploitability in their abstract games, of those that are known
    won: dict[tuple[str, str], tuple[float, float]]  # (one, other) -> what the one wins, and the 95% interval
    exploit: dict[str, dict[str, Any]]  # of those that are known
    exact: dict[tuple[str, str], float]  # (one, other) -> what the one wins over all boards, if it is known

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def earns(self, name: str) -> tuple[float, float]:
        """The mean over all others, and its 95% interval; matches are independent."""
        matches = [self.against(name, other) for other in self.names if other != name]
        return sum(m for m, _ in matches) / len(matches), sum(e * e for _, e in matches) ** 0.5 / len(matches)

    def earns_exactly(self, name: str) -> float | None:
        """The mean over all others, if all of these are known."""
        if sum(name in pair for pair in self.exact) < len(self.names) - 1:
            return None
        return sum(x * ((name == a) - (name == b)) for (a, b), x in self.exact.items()) / (len(self.names) - 1)

    def against(self, one: str, other: str) -> tuple[float, float]:
        if (one, other) in self.won:
            return self.won[one, other]
        mean, error = self.won[other, one]
        return -mean, error

    def exactly(self, one: str, other: str) -> float | None:
        """What one wins from another over all boards, if it is known."""
        if (one, other) in self.exact:
            return self.exact[one, other]
        return -self.exact[other, one] if (other, one) in self.exact else None

    def earns_more(self, one: str, other: str) -> tuple[float, float]:
        """By how much the earnings of one are above those of another, and its 95% interval. Their own match counts
        twice, once on each side; all others are independent."""
        rest = [name for name in self.names if name not in (one, other)]
        mean = self.earns(one)[0] - self.earns(other)[0]
        errors = [2 * self.against(one, other)[1]]
        errors += [self.against(name, third)[1] for name in (one, other) for third in rest]
        return mean, sum(e * e for e in errors) ** 0.5 / (len(self.names) - 1)

    def exploitability(self, name: str) -> float:
        return float(self.exploit[name]["exploitability"])

    def exploitability_text(self, name: str) -> str:
        return f"{self.exploitability(name):.2f}" if name in self.exploit else "not measured"

    @property
    def matrix(self) -> list[list[float]]:
        return [[0.0 if x == y else self.against(x, y)[0] for y in self.names] for x in self.names]

    def data(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "strategies": self.strategies, "abstract_exploitability": self.within,
            "matches": [{"one": a, "other": b, "mean": m, "error": e} for (a, b), (m, e) in self.won.items()],
            "earnings": {name: self.earns(name) for name in self.names},
            "exact": [{"one": a, "other": b, "mean": m} for (a, b), m in self.exact.items()],
            "exploitability": self.exploit,
        }


def setting_for(plan: PaperPlan, limits: tuple[int, ...], tiny_limits: tuple[int, ...]) -> HoldemSetting:
    """The whole game, or a deck of 16 cards for a quick look. limits: infosets of computations in either."""
    folder = str(Path(plan.folder) / "holdem")
    if plan.quick:
        return HoldemSetting(TINY, tiny_limits, plan.iterations, 20_000, f"{folder}-quick")
    return HoldemSetting(GAME, limits, plan.iterations, DEALS, folder)


def measuring(plan: PaperPlan, setting: HoldemSetting, files: Files, device: str, within: dict[str, str]) -> list[Run]:
    """Matches; exploitability of some strategies in their abstract games; and best responses in the whole game where
    they are quick, were asked for, or are in the cache."""
    of = holdem.arguments(setting)
    every = plan.exact or setting.game == TINY
    measured = [name for name, file in files.items() if every or device == "gpu" or holdem.is_exploited(file, setting)]
    known = [pair for pair in holdem.pairs(files) if every or holdem.is_earned(*pair, files, setting)]
    return [
        Run(MATCHES, holdem.matched, [(files, *of)]),
        Run(WITHIN, holdem.exploited_within, [(name, files[name], spec, device, *of) for name, spec in within.items()]),
        Run(EXPLOITED, holdem.exploited, [(name, files[name], device, *of) for name in measured]),
        Run(EXACT, holdem.earned, [(one, other, files, device, *of) for one, other in known]),
    ]


def gathered(setting: HoldemSetting, files: Files, answers: Answers) -> HoldemResults:
    strategies = [each for run, of in answers.items() if run.startswith(SOLVING) for each in of]
    return HoldemResults(
        setting, files, {each["name"]: each for each in strategies},
        {each["name"]: float(each["exploitability"]) for each in answers[WITHIN]},
        {(each["one"], each["other"]): (each["mean"], each["error"]) for each in answers[MATCHES][0]},
        {each["name"]: each for each in answers.get(EXPLOITED, [])},
        {(each["one"], each["other"]): float(each["mean"]) for each in answers.get(EXACT, [])},
    )  # fmt: skip


def beats(text: str, source: str, r: HoldemResults, one: str, other: str) -> Claim:
    """That one strategy wins from another: over all boards if that is known, otherwise by their match."""
    return measured(text, source, r.against(one, other), r.exactly(one, other))


def earns(text: str, source: str, r: HoldemResults, one: str, other: str, relation: str = ">") -> Claim:
    """That one strategy earns more than another, or no more (<=), in the mean over all others."""
    (a, ea), (b, eb) = r.earns(one), r.earns(other)
    mine, theirs, (_, error) = r.earns_exactly(one), r.earns_exactly(other), r.earns_more(one, other)
    exact = None if mine is None or theirs is None else mine - theirs
    detail = f"{a:.2f} ± {ea:.2f} against {b:.2f} ± {eb:.2f}"
    if exact is not None:
        detail = f"{mine:.3f} against {theirs:.3f} exactly (by match {detail})"
    return Claim(text, source, [Comparison(a, relation, b, error, exact)], unit=RUN, detail=detail)


def less_exploitable(text: str, source: str, mine: float, other: float, relation: str = "<") -> Claim:
    """That one strategy's exploitability is below another's, which are both exact."""
    return Claim(text, source, [Comparison(mine, relation, other)], unit=RUN, detail=f"{mine:.2f} against {other:.2f}")


def matches_agree(r: HoldemResults) -> Claim:
    """That matches have the exact figures in their intervals, as often as they should."""
    within = [abs(mean - r.exact[pair]) <= error for pair, (mean, error) in r.won.items() if pair in r.exact]
    least = len(within) * 4 // 5
    text = f"at least {least} of {len(within)} matches have the exact figure in their 95% interval"
    detail = f"{sum(within)} of {len(within)}"
    return Claim(text, OURS, [Comparison(sum(within), ">=", least)], unit=RUN, detail=detail)


def exact_sheet(r: HoldemResults) -> Sheet:
    """What is known exactly, beside the matches."""
    rows: list[tuple[str, ...]] = [
        (f"{one} from {other}", f"{r.exact[one, other]:.3f}", f"{mean:.2f} ± {error:.2f}")
        for (one, other), (mean, error) in r.won.items() if (one, other) in r.exact
    ]  # fmt: skip
    missing = len(r.won) - len(rows)
    return Sheet(
        "Exact winnings of each pair", ("who", "over all boards", "by match"), rows,
        "Milli-big-blinds per hand, the mean over both seats, exactly over all boards."
        + (f" {missing} pairs were not computed: each takes five minutes on a GPU (--exact)." if missing else ""),
    )  # fmt: skip


def sizes_sheet(r: HoldemResults, what: str, figure: Callable[[str], str], note: str, hidden: str = "") -> Sheet:
    """Sizes of all strategies. what: the column beside the infosets, with a figure of each; hidden: the strategy whose
    buckets are too many to be listed here."""
    rows: list[tuple[str, ...]] = []
    for name in r.names:
        facts = r.strategies[name]
        rows.append((
            name, "" if name == hidden else str(facts["buckets"]), f"{facts['infosets']:,}", figure(name),
            f"{min(facts['iterations']):,}", f"{r.within[name]:.2f}" if name in r.within else "",
        ))  # fmt: skip
    return Sheet("Sizes", ("strategy", "buckets", "infosets", what, "iterations of each", WITHIN), rows, note)


def experts_sheet(r: HoldemResults, title: str, seats_head: str, names: Sequence[str]) -> Sheet:
    """The experts of some stitched strategies."""
    rows: list[tuple[str, ...]] = [
        (f"{name}: {part}" if len(names) > 1 else str(part), ", ".join(map(str, seats)), str(buckets), f"{size:,}")
        for name in names for part, seats, buckets, size in r.strategies[name]["experts"]
    ]  # fmt: skip
    return Sheet(title, ("part", seats_head, "buckets: base + part", "trainable infosets"), rows)


def heat(r: HoldemResults, title: str, unit: str, means: str) -> Heat:
    """What rows win from columns. means: the name of the column with the means over all others."""
    return Heat("holdem", title, r.names, r.matrix, unit, ((means, [r.earns(name)[0] for name in r.names]),))


def how_measured(r: HoldemResults) -> str:
    """How exploitability was measured, and how to measure what is missing."""
    makers = sorted({each["by"] for each in r.exploit.values()})
    missing = [name for name in r.names if name not in r.exploit]
    text = f"Exploitability was measured exactly, over all boards, on {' and '.join(makers)}. " if makers else ""
    if missing:
        path = r.setting.path(r.files[missing[0]])  # as a reader can type it, whatever folder it was made in
        seen = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else Path(*path.parts[-3:])
        text += (
            f"The exploitability of {', '.join(missing)} was not measured: without a GPU it takes hours per strategy. "
            "The same command with --exact measures it, and can be interrupted and resumed; or use `kibitz evaluate "
            f"{seen} --whole --device gpu` with a GPU: this command then reuses its cache."
        )
    return text
