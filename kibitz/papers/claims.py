"""Claims, and the rule by which they are judged: it is written down here, before anything is run.

A claim is a sentence that is true or false of each start by itself. At a weight of the start, or in a set of rules, it
holds if it is true of most starts, fails if it is true of few, and is open in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kibitz.papers.figures import Spread

# What is said of a claim that was tried at one weight, and of one that was tried at several.
VERDICTS = (
    "holds in every start", "holds in most starts", "holds in some starts", "holds in few starts", "holds in no start",
)  # fmt: skip
ACROSS = (
    "holds at every weight", "depends on the weight of the start", "stays open at every weight",
    "fails at every weight",
)  # fmt: skip
# The shares of starts that a verdict calls most and few. At a weight a claim holds in most starts, fails in all but
# few, or is open; it depends on the weight if its share moves from weight to weight by as much as lies between the two.
MOST, FEW = 0.75, 0.25
# Chips of regret behind each row of a random start. 0: the solver forgets the start after an iteration; 1: the ante,
# as much as a hand is played for; and two between. WEIGHT is the one of tables and pictures, no better than the others.
WEIGHTS, WEIGHT = (0.0, 0.01, 0.1, 1.0), 0.1
OURS, FUTURE = "not in the paper", "(future work)"  # sources of claims that the paper does not make


def share_of(held: Sequence[bool]) -> float:
    return sum(held) / len(held)


def stands(shares: Sequence[float]) -> bool | None:
    """Whether a claim holds wherever it was tried; None if that is open, or not the same everywhere."""
    if min(shares) >= MOST or max(shares) <= FEW:
        return min(shares) >= MOST
    return None


def word(held: Sequence[bool], unit: str) -> str:
    """holds in most starts"""
    every, most, some, few, none = (text.replace("start", unit) for text in VERDICTS)
    share = share_of(held)
    if share in (0.0, 1.0):
        return every if share else none
    return most if share >= MOST else few if share <= FEW else some


@dataclass(frozen=True)
class Claim:
    """A sentence and the starts in which it is true."""

    text: str
    source: str  # where the sentence comes from
    held: tuple[bool, ...]
    at: Mapping[float, tuple[bool, ...]] = field(default_factory=dict)  # the same for each weight, if that was varied
    modes: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)  # and by sets of rules; `held` is in the first
    exactly: str = ""  # how it is, where that needs no starts
    unit: str = "start"  # what it is held against

    @property
    def count(self) -> int:
        return sum(self.held)

    @property
    def shares(self) -> list[float]:
        """The share of starts in which it is true, at each weight."""
        return [share_of(held) for held in self.at.values() or [self.held]]

    @property
    def stands(self) -> bool | None:
        return stands(self.shares)

    @property
    def verdict(self) -> str:
        if self.exactly:
            return f"{'true' if all(self.held) else 'false'}: {self.exactly}"
        if self.modes:
            (_, first), *others = [(mode, word(held, self.unit)) for mode, held in self.modes.items()]
            return "; ".join([first, *(f"in {mode} it {told}" for mode, told in others if told != first)])
        if len(self.at) > 1:
            holds, depends, is_open, fails = ACROSS
            if self.stands is not None:
                return holds if self.stands else fails
            return depends if max(self.shares) - min(self.shares) >= MOST - FEW else is_open
        return word(next(iter(self.at.values()), self.held), self.unit)

    def cell(self, held: Sequence[bool]) -> str:
        """What a column of counts says of some starts."""
        if self.exactly and held:
            return "true" if all(held) else "false"
        return f"{sum(held)} of {len(held)}" if held else ""

    @property
    def of_the_paper(self) -> bool:
        return self.source != OURS and not self.source.endswith(FUTURE)

    def data(self) -> dict[str, Any]:
        data = {"claim": self.text, "source": self.source, "held": self.count, "of": len(self.held),
                "verdict": self.verdict}  # fmt: skip
        if self.modes:
            return {**data, "modes": {mode: list(held) for mode, held in self.modes.items()}}
        at = {f"{weight:g}": list(held) for weight, held in self.at.items()}
        return {**data, "starts": list(self.held), "weights": at}


def compare(text: str, source: str, more: Sequence[float] | Spread, less: Sequence[float] | Spread) -> Claim:
    """The claim that one figure is above another, start by start."""
    a, b = (x.values if isinstance(x, Spread) else x for x in (more, less))
    return Claim(text, source, tuple(bool(x > y) for x, y in zip(a, b, strict=True)))


def across(claims: Iterable[Claim], others: Mapping[float, Iterable[Claim]]) -> Iterator[Claim]:
    """Claims at WEIGHT, each with its starts at all weights at which it was tried."""
    tried = {each: {claim.text: claim.held for claim in found} for each, found in sorted(others.items())}
    for claim in claims:
        at = {each: held[claim.text] for each, held in tried.items() if claim.text in held}
        yield replace(claim, at=at or {WEIGHT: claim.held})
