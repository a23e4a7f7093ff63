"""What pages about strategies of limit hold'em share: the runs that measure them, their results, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.papers.claims import OURS, Claim
from kibitz.papers.experiment import Plan
from kibitz.papers.figures import Sheet
from kibitz.papers.holdem import (
    Files,
    Setting,
    arguments,
    earned,
    exploited,
    exploited_within,
    is_earned,
    is_exploited,
    matched,
    pairs,
)  # fmt: skip
from kibitz.papers.runs import Answers, Run

SOLVING, MATCHES, EXPLOITED = "strategies of hold'em", "matches", "exploitability"
WITHIN = "exploitability in the abstract game"
EXACT = "exact earnings"


@dataclass(frozen=True)
class Results:
    """All that was found, thousandths of a big blind a hand."""

    setting: Setting
    files: Files
    strategies: dict[str, dict[str, Any]]
    within: dict[str, float]  # exploitability in their abstract games, of those that are known
    won: dict[tuple[str, str], tuple[float, float]]  # (one, other) -> what the one wins, and the 95% interval
    exploit: dict[str, dict[str, Any]]  # of those that are known
    exact: dict[tuple[str, str], float]  # (one, other) -> what the one wins over all boards, if it is known
    course: tuple[dict[str, Any], ...] = ()  # what iterations bring, where that was looked at

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def earns(self, name: str) -> tuple[float, float]:
        """The mean over all others, and its 95% interval; matches are independent."""
        found = [self.against(name, other) for other in self.names if other != name]
        return sum(m for m, _ in found) / len(found), sum(e * e for _, e in found) ** 0.5 / len(found)

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

    def exactly(self, one: str, other: str) -> float:
        return self.exact[one, other] if (one, other) in self.exact else -self.exact[other, one]

    def exploitability(self, name: str) -> float:
        return float(self.exploit[name]["exploitability"])

    @property
    def matrix(self) -> list[list[float]]:
        return [[0.0 if x == y else self.against(x, y)[0] for y in self.names] for x in self.names]

    def data(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "strategies": self.strategies,
            "abstract_exploitability": self.within,
            "matches": [{"one": a, "other": b, "mean": m, "error": e} for (a, b), (m, e) in self.won.items()],
            "earnings": {name: self.earns(name) for name in self.names},
            "exact": [{"one": a, "other": b, "mean": m} for (a, b), m in self.exact.items()],
            "exploitability": self.exploit,
        }


def measuring(
    plan: Plan, setting: Setting, files: Files, tiny: str, device: str, within: dict[str, str]
) -> list[Run]:  # fmt: skip
    """Matches; exploitability of some strategies in their abstract games; and best responses in the whole game where
    they are quick, were asked for, or are in the cache. tiny: the game in which all is quick."""
    given = arguments(setting)
    found = [
        Run(MATCHES, matched, [(files, *given)]),
        Run(WITHIN, exploited_within, [(name, files[name], spec, device, *given) for name, spec in within.items()]),
    ]
    asked = device == "gpu" or plan.exact or setting.game == tiny
    measured = [name for name, file in files.items() if asked or is_exploited(file, setting)]
    found.append(Run(EXPLOITED, exploited, [(name, files[name], device, *given) for name in measured]))
    every = plan.exact or setting.game == tiny
    known = [pair for pair in pairs(files) if every or is_earned(*pair, files, setting)]
    found.append(Run(EXACT, earned, [(one, other, files, device, *given) for one, other in known]))
    return found


def gathered(setting: Setting, files: Files, found: Answers) -> Results:
    won = {(each["one"], each["other"]): (each["mean"], each["error"]) for each in found[MATCHES][0]}
    exploit = {each["name"]: each for each in found.get(EXPLOITED, [])}
    strategies = [each for run, answers in found.items() if run.startswith(SOLVING) for each in answers]
    within = {each["name"]: float(each["exploitability"]) for each in found[WITHIN]}
    exact = {(each["one"], each["other"]): float(each["mean"]) for each in found.get(EXACT, [])}
    return Results(setting, files, {each["name"]: each for each in strategies}, within, won, exploit, exact)


def beats(text: str, source: str, r: Results, one: str, other: str) -> Claim:
    """That one strategy wins from another, by more than the noise of their match."""
    mean, error = r.against(one, other)
    return Claim(text, source, (mean > error,), exactly=f"by {mean:.2f} ± {error:.2f}")


def matches_agree(r: Results) -> Claim:
    """That matches have the exact figures in their intervals, as often as they should."""
    within = [abs(mean - r.exact[pair]) <= error for pair, (mean, error) in r.won.items() if pair in r.exact]
    least = len(within) * 4 // 5
    return Claim(f"at least {least} of {len(within)} matches have the exact figure in their 95% interval", OURS,
                 (sum(within) >= least,), exactly=f"{sum(within)} of {len(within)}")  # fmt: skip


def exact_sheet(r: Results) -> Sheet:
    """What is known exactly, beside the matches."""
    rows: list[tuple[str, ...]] = [
        (f"{one} from {other}", f"{r.exact[one, other]:.3f}", f"{mean:.2f} ± {error:.2f}")
        for (one, other), (mean, error) in r.won.items() if (one, other) in r.exact
    ]  # fmt: skip
    missing = len(r.won) - len(rows)
    return Sheet(
        "What one wins from another, exactly", ("who", "over all boards", "by match"), rows,
        "Milli-big-blinds a hand, the mean of both seats. Over all boards there is no noise."
        + (f" {missing} pairs were not worked out: each takes a GPU five minutes (--exact)." if missing else ""),
    )  # fmt: skip


def how_measured(r: Results) -> str:
    """Who found best responses, and how those that are missing can be found."""
    makers = sorted({each["by"] for each in r.exploit.values()})
    missing = [name for name in r.names if name not in r.exploit]
    text = f"Exploitability was measured exactly, over all boards, by {' and '.join(makers)}. " if makers else ""
    if missing:
        text += (
            f"That of {', '.join(missing)} was not measured: without a GPU a strategy takes a night. The same command "
            "with --exact does it and can be stopped and gone on with; or `kibitz evaluate "
            f"{_seen(r.setting.path(r.files[missing[0]]))} --whole --device gpu` where there is one, "
            "whose cache of tables this command then takes."
        )
    return text


def _seen(path: Path) -> str:
    """A path as a reader can type it, whatever folder it was made in."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else Path(*path.parts[-3:]))


def summary(claims: Sequence[Claim]) -> str:
    own = [claim for claim in claims if claim.source != OURS]
    held = sum(all(claim.held) for claim in own)
    return f"Of {len(own)} claims about it {held} hold here and {len(own) - held} do not."
