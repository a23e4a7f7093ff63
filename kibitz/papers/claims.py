"""Claims, and the one rule by which they are judged. The rule was fixed before the runs.

A claim is a sentence. It is tried in *cases*: one for each random initialisation (or repetition, or pair of variants
that are compared). A case is a comparison of two figures, or several that must all be true.

    a comparison  is judged by the exact difference where there is one, otherwise by the 95% interval of the measured
                  difference. It is true, false, or undecided: if the interval contains zero, or at an exact tie.
    a claim       **holds** if at least 75% of its cases are true, **fails** if at least 75% are false, and is
                  **undecided** otherwise.
    variants      (weights of a random initialisation, kinds of endgames): a claim that is tried in several holds if
                  it holds in each, fails if it fails in each, and is undecided otherwise.

A verdict says how many random initialisations are behind it. With one of them it says "in one run".
Every page prints verdicts by this rule, and keeps the figures of all comparisons in its data file (`Claim.data`), from
which `claim_of` makes the claim again and tests/papers/test_verdicts.py recomputes the verdict.

    from kibitz.papers.claims import COMPARISON, FACT, RUN, Claim, Comparison, summary

    Claim("A beats B", SOURCE, [Comparison(0.22, ">", 0.0, error=21.01, exact=4.812)], unit=RUN, detail="by 4.812")
    Claim("A is better than B", SOURCE, variants={
        "plain endgames": [Comparison(a, "<", b) for a, b in plain],
        "safe endgames": [Comparison(a, "<", b) for a, b in safe],
    }, unit=COMPARISON)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kibitz.report.figures import Spread

HOLDS, FAILS, UNDECIDED = VERDICTS = ("holds", "fails", "undecided")
# The share of cases that must agree.
MOST = 0.75
# Chips of regret behind each row of a random start. 0: the solver forgets the start after an iteration; 1: the ante,
# as much as a hand is played for; and two between. WEIGHT is the one of tables and pictures, no better than the others.
WEIGHTS, WEIGHT = (0.0, 0.01, 0.1, 1.0), 0.1
OURS, FUTURE = "not in the paper", "(future work)"  # sources of claims that the paper does not make
# What a claim's cases are. Of the first three, each case has a random initialisation of its own; comparisons of
# variants were made once, with one initialisation; facts, such as sizes of a game, have nothing random in them.
START, REPETITION, RUN, COMPARISON, FACT = "random initialisation", "repetition", "run", "comparison", "fact"
UNITS = (START, REPETITION, RUN, COMPARISON, FACT)


@dataclass(frozen=True)
class Comparison:
    """Two figures, and a relation between them that a claim states."""

    left: float
    relation: str  # < <= = >= >
    right: float
    error: float | None = None  # half of the 95% interval of left - right, inf of one deal; None: figures are exact
    exact: float | None = None  # left - right exactly, where left is measured and this is known too

    def __post_init__(self) -> None:
        if self.relation not in ("<", "<=", "=", ">=", ">"):
            raise ValueError(f"{self.relation!r} is not a relation of two figures")
        figures = [x for x in (self.left, self.right, self.exact) if x is not None]
        if not all(map(math.isfinite, figures)) or (self.error is not None and not self.error >= 0):
            raise ValueError(f"{self} needs finite figures, and an error of 0 or more")

    @property
    def true(self) -> bool | None:
        """Whether it is so; None: undecided."""
        difference, error = self.left - self.right, self.error or 0.0
        if self.exact is not None:
            difference, error = self.exact, 0.0
        if self.relation == "=":
            return False if abs(difference) > error else None if error else True
        if abs(difference) <= error:
            return True if difference == error == 0.0 and self.relation in ("<=", ">=") else None
        return (difference > 0.0) == (self.relation in (">", ">="))

    def data(self) -> dict[str, Any]:
        known = {"error": "inf" if self.error == math.inf else self.error, "exact": self.exact}  # JSON has no infinity
        return {"left": self.left, "relation": self.relation, "right": self.right,
                **{name: figure for name, figure in known.items() if figure is not None}}  # fmt: skip


Truth: TypeAlias = bool | None
# A case: a comparison; several, which must all be true; or, read from a page that printed no more, whether it was true.
Case: TypeAlias = Comparison | tuple[Comparison, ...] | Truth


def truth(case: Case) -> Truth:
    """Whether a case is true; None: undecided."""
    if case is None or isinstance(case, bool):
        return case
    truths = [case.true] if isinstance(case, Comparison) else [each.true for each in case]
    return False if False in truths else None if None in truths else True


def judged(truths: Sequence[Truth]) -> str:
    """The verdict on a claim that was tried so often."""
    for verdict, side in ((HOLDS, True), (FAILS, False)):
        if truths and sum(each is side for each in truths) >= MOST * len(truths):
            return verdict
    return UNDECIDED


@dataclass(frozen=True)
class Claim:
    """A statement, and the cases in which it was tested."""

    text: str
    source: str  # where the sentence comes from
    cases: Sequence[Case] = ()
    variants: Mapping[str, Sequence[Case]] = field(default_factory=dict)  # the cases of each, if several were tried
    across: str = ""  # what variants are, where that is one word for all of them: weight
    detail: str = ""  # the figures, in words
    unit: str = START  # what the cases are
    leading: bool = False  # only the first variant is judged; the others, such as other rules, are listed

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"a claim has no cases of the kind {self.unit!r}: choose {', '.join(UNITS)}")

    @property
    def tried(self) -> dict[str, tuple[Truth, ...]]:
        """Whether it is true in each case, by variant; one without a name if there are none."""
        groups = self.variants or {"": self.cases}
        return {name: tuple(map(truth, cases)) for name, cases in groups.items()}

    @property
    def truths(self) -> tuple[Truth, ...]:
        """Whether it is true in each of its own cases, or in those of the first variant."""
        return tuple(map(truth, self.cases)) if self.cases else next(iter(self.tried.values()))

    @property
    def count(self) -> int:
        return sum(each is True for each in self.truths)

    @property
    def n(self) -> int:
        """Random initialisations behind the verdict."""
        return 0 if self.unit == FACT else 1 if self.unit == COMPARISON else len(next(iter(self.tried.values())))

    @property
    def verdicts(self) -> dict[str, str]:
        """By variant."""
        return {name: judged(truths) for name, truths in self.tried.items()}

    @property
    def verdict(self) -> str:
        """holds, fails or undecided"""
        first, *others = self.verdicts.values()
        return first if self.leading or all(each == first for each in others) else UNDECIDED

    @property
    def stands(self) -> bool | None:
        return {HOLDS: True, FAILS: False, UNDECIDED: None}[self.verdict]

    @property
    def verdict_text(self) -> str:
        """The verdict in words, with its number of random initialisations and its figures."""
        detail = f": {self.detail}" if self.detail else ""
        first = next(iter(self.tried.values()))
        if len(self.tried) == 1:
            return f"{self._said(first)}{detail}"
        parts = [f"{self._said(truths)} ({name})" for name, truths in self.tried.items()]
        if self.leading:
            _, *others = self.verdicts.items()
            return "; ".join([f"{self._said(first)}{detail}", *(f"{verdict} ({name})" for name, verdict in others)])
        if self.across:
            counts = [sum(each is True for each in truths) for truths in self.tried.values()]
            true = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
            of = max(map(len, self.tried.values()))
            where = f"at every {self.across}" if self._agree else f"overall, because it depends on the {self.across}"
            return f"{self.verdict} {where}: true in {true} of {self._many(of)}{detail}"
        return f"{'' if self._agree else f'{self.verdict} overall: '}{'; '.join(parts)}{detail}"

    @property
    def measured_text(self) -> str:
        """The figures, without the verdict: what was compared, or in how many cases it is true."""
        if self.detail:
            return self.detail
        if self.unit == FACT and len(self.tried) == 1 and len(self.truths) == 1:
            return f"exact: {self.cell(self.truths)}"
        if self.across:
            counts = [sum(each is True for each in truths) for truths in self.tried.values()]
            of = max(map(len, self.tried.values()))
            true = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
            where = f", at every {self.across}" if min(counts) == max(counts) else f", by {self.across}"
            return f"true in {true} of {self._many(of)}" + where * (len(self.tried) > 1)
        parts = [f"true in {self.cell(truths)}" + f" ({name})" * bool(name) for name, truths in self.tried.items()]
        neither = sum(each is None for each in self.truths)
        also = f", undecided in {neither}" if neither else ""
        return "; ".join(parts) if len(parts) > 1 else f"true in {self.count} of {self._many(len(self.truths))}{also}"

    @property
    def _agree(self) -> bool:
        """Whether all variants have the same verdict."""
        return len(set(self.verdicts.values())) == 1

    def _said(self, truths: Sequence[Truth]) -> str:
        """holds in 14 of 16 random initialisations"""
        verdict, of = judged(truths), len(truths)
        if of == 1:
            return f"{verdict} (exact)" if self.unit == FACT else f"{verdict} in one run"
        true, neither = sum(each is True for each in truths), sum(each is None for each in truths)
        also = f", undecided in {neither}" if neither else ""
        share = f"all {self._many(of)}" if true == of else f"{true} of {self._many(of)}"
        runs = {COMPARISON: ", one run each", FACT: " (exact)"}.get(self.unit, "")
        return f"{verdict} in {share}{also}{runs}" if verdict == HOLDS else f"{verdict}: true in {share}{also}{runs}"

    def _many(self, count: int) -> str:
        unit = COMPARISON if self.unit == FACT else self.unit
        return f"{count} {unit}{'s' * (count != 1)}"

    def cell(self, truths: Sequence[Truth]) -> str:
        """What a column of counts says of some cases."""
        if len(truths) == 1 and (self.unit == FACT or truths[0] is None):
            return {True: "true", False: "false", None: "undecided"}[truths[0]]
        neither = sum(each is None for each in truths)
        also = f", {neither} undecided" if neither else ""
        return f"{sum(each is True for each in truths)} of {len(truths)}{also}" if truths else ""

    @property
    def of_the_paper(self) -> bool:
        return self.source != OURS and not self.source.endswith(FUTURE)

    def data(self) -> dict[str, Any]:
        """All of it as plain data: what it was judged by, and how."""

        def listed(cases: Sequence[Case]) -> list[Any]:
            return [each if each is None or isinstance(each, bool) else each.data() if isinstance(each, Comparison)
                    else [one.data() for one in each] for each in cases]  # fmt: skip

        names = {name: listed(cases) for name, cases in self.variants.items()}
        return {
            "claim": self.text, "source": self.source, "unit": self.unit, "n": self.n,
            **({"variants": names} if names else {"cases": listed(self.cases)}),
            **({"across": self.across} if self.across else {}), **({"leading": True} if self.leading else {}),
            **({"detail": self.detail} if self.detail else {}),
            "verdict": self.verdict, "verdict_text": self.verdict_text,
        }  # fmt: skip


def claim_of(data: Mapping[str, Any]) -> Claim:
    """The claim that `Claim.data` stored, judged again."""

    def one(each: Mapping[str, Any]) -> Comparison:
        figures: dict[str, Any] = {key: math.inf if value == "inf" else value for key, value in each.items()}
        return Comparison(**figures)

    def read(cases: Sequence[Any]) -> tuple[Case, ...]:
        return tuple(each if each is None or isinstance(each, bool) else one(each) if isinstance(each, Mapping)
                     else tuple(map(one, each)) for each in cases)  # fmt: skip

    variants = {name: read(cases) for name, cases in data.get("variants", {}).items()}
    return Claim(data["claim"], data["source"], read(data.get("cases", ())), variants, data.get("across", ""),
                 data.get("detail", ""), data["unit"], data.get("leading", False))  # fmt: skip


# Making claims


def compare(
    text: str, source: str, more: Sequence[float] | Spread, less: Sequence[float] | Spread, unit: str = START
) -> Claim:  # fmt: skip
    """The claim that one figure is above another, random initialisation by random initialisation."""
    a, b = (x.values if isinstance(x, Spread) else x for x in (more, less))
    return Claim(text, source, [Comparison(float(x), ">", float(y)) for x, y in zip(a, b, strict=True)], unit=unit)


def fact(text: str, source: str, figure: float, stated: float, detail: str = "", relation: str = "=") -> Claim:
    """A claim about a figure in which nothing is random."""
    return Claim(text, source, [Comparison(figure, relation, stated)], unit=FACT, detail=detail)


def measured(
    text: str, source: str, match: tuple[float, float], exact: float | None = None, relation: str = ">", digits: int = 2
) -> Claim:  # fmt: skip
    """The claim that what was measured is above zero, by the exact figure where there is one.

    match: the mean, and half of its 95% interval.
    """
    mean, error = match
    by_match = f"{mean:.{digits}f} ± {error:.{digits}f}"
    detail = by_match if exact is None else f"{exact:.{digits + 1}f} exactly (by match {by_match})"
    return Claim(text, source, [Comparison(mean, relation, 0.0, error, exact)], unit=RUN, detail=detail)


def within(
    text: str, source: str, target: float, least: float, at: tuple[int, float] | None, seconds: float | None = None
) -> Claim:  # fmt: skip
    """The claim that a solver came down to a target, in so many seconds.

    least: the smallest figure that it came to; at: (iterations, seconds) when it came to the target.
    """
    case = [Comparison(least, "<=", target)]
    if at is not None and seconds is not None:
        case.append(Comparison(at[1], "<=", seconds))
    detail = f"it reached {least:.4f}" if at is None else f"{at[1]:.1f} s"
    return Claim(text, source, [tuple(case)], unit=RUN, detail=detail)


def across(claims: Iterable[Claim], others: Mapping[float, Iterable[Claim]]) -> Iterator[Claim]:
    """Claims at WEIGHT, each with its cases at all weights at which it was tried."""
    tried = {each: {claim.text: claim.cases for claim in of} for each, of in sorted(others.items())}
    for claim in claims:
        at = {f"{each:g}": cases[claim.text] for each, cases in tried.items() if claim.text in cases}
        yield replace(claim, variants=at or {f"{WEIGHT:g}": claim.cases}, across="weight")


# Counting them


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many hold, fail and are undecided."""
    tally = Counter(claim.verdict for claim in claims)
    return {verdict: tally[verdict] for verdict in VERDICTS}


def verdicts_of(claims: Sequence[Claim]) -> dict[str, dict[str, int]]:
    """The same of the paper's claims, and of our own."""
    paper, ours = ([claim for claim in claims if claim.of_the_paper is its] for its in (True, False))
    return {"paper": counts(paper), "ours": counts(ours)}


def summary(claims: Sequence[Claim], more: str = "") -> str:
    """Of the paper's 6 claims, 4 hold, 1 fails and 1 is undecided. more: sentences after that."""
    own = [claim for claim in claims if not claim.of_the_paper]
    paper = [claim for claim in claims if claim.of_the_paper]
    parts = [f"Of the paper's {_many(paper)}, {_counted(paper)}."] if paper else []
    parts += [f"Of our own {_many(own)}, {_counted(own)}."] if own else []
    return " ".join([*parts, *([more] if more else [])])


def _many(claims: Sequence[Claim]) -> str:
    return f"{len(claims)} claim{'s' * (len(claims) != 1)}"


def _counted(claims: Sequence[Claim]) -> str:
    tally = counts(claims)
    verbs = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail"), UNDECIDED: ("is undecided", "are undecided")}
    parts = [f"{tally[verdict]} {verbs[verdict][tally[verdict] != 1]}" for verdict in VERDICTS]
    return f"{parts[0]}, {parts[1]} and {parts[2]}"


def sign_test(differences: Sequence[float]) -> float:
    """The two-sided p-value: how often fair coins fall as unequally as the signs do. Ties are left out."""
    from scipy.stats import binomtest

    positive, negative = sum(d > 0.0 for d in differences), sum(d < 0.0 for d in differences)
    return float(binomtest(positive, positive + negative).pvalue) if positive + negative else 1.0
