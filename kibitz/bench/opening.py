"""How each page of results opens: a heading, a summary, and reasons why its claims hold, fail or are undecided.

A reason belongs to claims with one verdict. A summary belongs to certain numbers of claims that hold, fail and are
undecided. If another run gives other verdicts, they no longer apply and are not printed: write them again. A reason
that is not measured on the page begins with "Likely".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kibitz.papers.claims import FAILS, HOLDS, UNDECIDED, Claim


@dataclass(frozen=True)
class Reason:
    """Why some claims have their verdict. Reasons with a label are rows of the table at the top of the page."""

    pattern: str  # of the texts of claims, a regular expression
    verdict: str
    why: str
    limits: str = ""
    label: str = ""  # the common statement of these claims

    def of(self, claim: Claim) -> bool:
        return claim.verdict == self.verdict and re.search(self.pattern, claim.text) is not None

    def row(self, claims: Sequence[Claim]) -> tuple[str, ...] | None:
        """A row of the opening table: claim, measured, verdict, why, limits."""
        its = [claim for claim in claims if self.of(claim)]
        if not self.label or not its:
            return None
        its = [claim for claim in its if claim.of_the_paper] or its
        return self.label, together(its), self.verdict, self.why, self.limits


def together(claims: Sequence[Claim]) -> str:
    """What was measured for several claims with one verdict."""
    if len(claims) == 1:
        return claims[0].measured_text
    if len(claims) <= 3 and all(claim.detail for claim in claims):
        several = len({_subject(claim) for claim in claims}) > 1
        return "; ".join(dict.fromkeys(_whose(claim) if several else claim.detail for claim in claims))
    groups = [truths for claim in claims for truths in claim.tried.values()]
    counts, sizes, units = [sum(each is True for each in truths) for truths in groups], {*map(len, groups)}, {
        claim.unit for claim in claims}  # fmt: skip
    if len(sizes) == len(units) == 1 and sizes != {1}:
        true = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        return f"{len(claims)} claims, each true in {true} of {max(sizes)} {claims[0].unit}s"
    verbs = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "are undecided"}
    return f"all {len(claims)} claims {verbs[claims[0].verdict]}"


def _whose(claim: Claim) -> str:
    """What was measured, and of what if figures alone do not say it."""
    return f"{_subject(claim)}: {claim.detail}" if re.match(r"[-+]?\d", claim.detail) else claim.detail


def _subject(claim: Claim) -> str:
    return claim.text.partition(" is ")[0]


@dataclass(frozen=True)
class Opening:
    """The top of a page."""

    heading: str
    verdicts: tuple[int, int, int] = (0, 0, 0)  # numbers that hold, fail, are undecided, if the summary is true
    summary: str = ""
    game: str = ""  # the game of the claims, for the list of all claims
    reasons: tuple[Reason, ...] = ()
    more: str = ""  # what the summary has no room for, a paragraph below the main claims; if the verdicts are those
    terms: str = ""  # what the words of the page mean

    def summary_of(self, claims: Sequence[Claim]) -> str:
        """The summary, if it was written for such verdicts."""
        return self.summary if self._fits(claims) else ""

    def below(self, claims: Sequence[Claim]) -> list[str]:
        """Paragraphs below the main claims."""
        return [text for text in (self.more if self._fits(claims) else "", self.terms) if text]

    def _fits(self, claims: Sequence[Claim]) -> bool:
        return self.verdicts == tuple(sum(claim.verdict == each for claim in claims)
                                      for each in (HOLDS, FAILS, UNDECIDED))  # fmt: skip

    def why(self, claim: Claim) -> str:
        return next((reason.why for reason in self.reasons if reason.of(claim)), "")
