"""What `kibitz.solve` returns: the profile, and how the run went."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kibitz.core import html
from kibitz.forms.profile import Profile

__all__ = ["Evaluation", "History", "Result"]


@dataclass(frozen=True)
class Evaluation:
    """An exact measurement of the strategy that a run has come to."""

    iteration: int
    seconds: float  # of solving so far
    nash_conv: float  # the sum over players of what a best response gains
    value: list[float]  # by player
    best: list[float] = field(default_factory=list)  # what best responses get: with two players and zero sum the game's
    #   value for player 0 lies between -best[1] and best[0]


class History(list[Evaluation]):
    """The evaluations of a run, in the order in which they were made; a notebook shows them as a table."""

    def __repr__(self) -> str:
        if not self:
            return "<no evaluations>"
        last = self[-1]
        return f"<{len(self):,} evaluations: iteration {last.iteration:,}, NashConv {last.nash_conv:.3g}>"

    def _repr_html_(self) -> str:
        rows = [(f"{x.iteration:,}", f"{x.seconds:.3g}", f"{x.nash_conv:.4g}", f"{x.value[0]:+.6f}") for x in self]
        return html.table(("iteration", "seconds", "NashConv", "value of seat 0"), rows, repr(self))


@dataclass(frozen=True, eq=False, repr=False)
class Result(Profile):
    """The profile that `kibitz.solve` computed, and how the run went. It is used and saved as any other profile."""

    history: History = field(default_factory=History)  # of the abstract game where one was solved; with what was
    #   evaluated before a resume
    seconds: float = 0.0  # of solving, likewise
    evaluation_seconds: float = 0.0  # the share of them that evaluations took, since a resume
    checkpoint: Path | None = None  # where the run is saved and can be resumed from
    interrupted: bool = False  # by Ctrl-C
    exact: bool = False  # the solver's answer is exact: it has no iterations

    @property
    def profile(self) -> Profile:
        """The profile alone."""
        return Profile(self.infosets, self.probabilities, self.meta)

    @property
    def nash_conv(self) -> float | None:
        """NashConv at the last evaluation, in the game that was solved; None if there was none."""
        return self.history[-1].nash_conv if self.history else None
