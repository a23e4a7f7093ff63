"""What recomputed papers share: the plan of a run, spreads over starts, claims with counts, tables and figures as data.

Abstract equilibria are not unique, so a stitched strategy depends on where its solvers start. Every figure is therefore
a spread over random starts, and a claim is held against each start by itself. How much regret stands behind a start is
a choice too, so claims are held against starts of several weights.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kibitz.errors import SolverError, SpecError
from kibitz.papers.curves import Curves

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
OnStart = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Plan:
    """How a paper is recomputed."""

    starts: int = 16
    seed: int = 0  # of the first start; start s draws everything from seed + s
    until: float = 1e-4  # two players: gap (nash_conv, both seats together, in chips) of every game that is solved
    iterations: int = 1000  # three players: iterations of CFR+ for every game that is solved
    jobs: int | None = None  # processes that work on starts side by side; default: a core each, 1: none of their own
    weights: tuple[float, ...] = WEIGHTS  # of starts, for two players; three players have WEIGHT alone
    part: str = ""  # of a paper that has several; empty: all of them

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise SpecError(f"starts={self.starts} must be 1 or more")
        if not self.until > 0 or self.iterations < 1:
            raise SpecError(f"until={self.until:g} must be above 0 and iterations={self.iterations} 1 or more")
        if self.seed < 0 or (self.jobs is not None and self.jobs < 1):
            raise SpecError(f"seed={self.seed} must be 0 or more and jobs={self.jobs} 1 or more")
        if WEIGHT not in self.weights or len(set(self.weights)) < len(self.weights) or not min(self.weights) >= 0:
            raise SpecError(f"weights={self.weights} must be different numbers of chips, 0 or more, with {WEIGHT:g}")

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.starts)


QUICK = Plan(starts=3, until=1e-3, iterations=200)


@dataclass(frozen=True)
class Spread:
    """A figure over all starts."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def sd(self) -> float:
        """The standard deviation of the starts as a sample; 0 for one start."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def data(self) -> dict[str, Any]:
        return {"mean": self.mean, "sd": self.sd, "min": self.low, "max": self.high, "starts": list(self.values)}


@dataclass(frozen=True)
class Claim:
    """A sentence and the starts in which it is true."""

    text: str
    source: str  # where the sentence comes from
    held: tuple[bool, ...]
    at: Mapping[float, tuple[bool, ...]] = field(default_factory=dict)  # the same for each weight, if that was varied
    modes: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)  # and for each set of rules, by its name

    @property
    def count(self) -> int:
        return sum(self.held)

    @property
    def shares(self) -> list[float]:
        """The share of starts in which it is true, at each weight."""
        return [sum(held) / len(held) for held in self.at.values() or [self.held]]

    @property
    def stands(self) -> bool | None:
        """Whether it holds at every weight; None if that is open, or not the same at every weight."""
        if min(self.shares) >= MOST or max(self.shares) <= FEW:
            return min(self.shares) >= MOST
        return None

    @property
    def verdict(self) -> str:
        if len(self.at) > 1:
            holds, depends, is_open, fails = ACROSS
            if self.stands is not None:
                return holds if self.stands else fails
            return depends if max(self.shares) - min(self.shares) >= MOST - FEW else is_open
        share = self.shares[0]
        every, most, some, few, none = VERDICTS
        if share in (0.0, 1.0):
            return every if share else none
        return most if share >= MOST else few if share <= FEW else some

    def cell(self, held: Sequence[bool]) -> str:
        """What a column of counts says of some starts."""
        return f"{sum(held)} of {len(held)}" if held else ""

    @property
    def of_the_paper(self) -> bool:
        return self.source != OURS and not self.source.endswith(FUTURE)

    def data(self) -> dict[str, Any]:
        return {"claim": self.text, "source": self.source, "held": self.count, "of": len(self.held),
                "verdict": self.verdict, "starts": list(self.held),
                "weights": {f"{weight:g}": list(held) for weight, held in self.at.items()}}  # fmt: skip


@dataclass(frozen=True)
class Sheet:
    """A table to be read. The first column is text, the others are figures."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""
    table: int | str | None = None  # the number of the paper's table that it recomputes


@dataclass(frozen=True)
class Heat:
    """A crosstable to be drawn: rows against columns."""

    name: str  # of the file
    title: str
    names: tuple[str, ...]
    matrix: list[list[float]]
    unit: str
    side: tuple[tuple[str, list[float]], ...] = ()  # columns of figures beside it
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class Dot:
    """A strategy in a figure of sizes: its mean over starts, with the range."""

    name: str
    group: str
    size: int
    spread: Spread
    paper: tuple[int, float] | None = None  # the paper's size and figure
    beyond: bool = False  # a strategy that the paper does not have


@dataclass(frozen=True)
class Scatter:
    """A figure against the size of the largest computation, a dot for each strategy."""

    name: str
    title: str
    label: str
    dots: tuple[Dot, ...]
    text: str = ""  # a paragraph beside it


@dataclass(frozen=True)
class Outcome:
    """A paper, recomputed."""

    name: str
    title: str
    about: str  # what was done, in a paragraph
    departs: tuple[str, ...]  # where that is not what the paper did
    plan: Plan
    sheets: tuple[Sheet, ...]
    claims: tuple[Claim, ...]
    pictures: tuple[Heat | Scatter | Curves, ...]
    figures: dict[str, Any]  # all numbers as plain data
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    unit: str = "start"  # what figures are a spread over, and claims are held against
    summary: str = ""  # the verdict, where it is not a count of verdicts

    @property
    def verdict(self) -> str:
        """The paper's claims, counted by how they fared."""
        if self.summary:
            return self.summary
        claims = [claim for claim in self.claims if claim.of_the_paper]
        told = []
        for verdicts, tried in ((ACROSS, "tried at several weights of the start"), (VERDICTS, "tried at one weight")):
            counts = Counter(claim.verdict for claim in claims if claim.verdict in verdicts)
            parts = [_counted(counts[verdict], verdict) for verdict in verdicts if counts[verdict]]
            whole = counts.total() == len(claims)
            about = "of these" if whole else f"of the {counts.total()} that were {tried}"
            told += [f"{about} {', '.join(parts)}"] if parts else []
        return f"The paper makes {len(claims)} claims about it: {'; '.join(told)}."

    def data(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "paper": self.name,
            "title": self.title,
            "starts": plan.starts,
            "seeds": list(plan.seeds),
            "until": plan.until,
            "iterations": plan.iterations,
            **({"weights": list(plan.weights), "weight_of_tables": WEIGHT} if any(c.at for c in self.claims) else {}),
            "seconds": self.seconds,
            "figures": self.figures,
            "claims": [claim.data() for claim in self.claims],
            "departs": list(self.departs),
        }


def _counted(count: int, verdict: str) -> str:
    """3 hold at every weight; 1 holds."""
    verb, _, rest = verdict.partition(" ")
    return f"{count} {verb if count == 1 else verb.removesuffix('s')} {rest}"


def over_starts(work: Callable[[int], Any], plan: Plan, what: str, on_start: OnStart | None) -> list[Any]:
    """work(seed) for each start, side by side in processes of their own; answers are in the order of the seeds.

    Threads would wait for one another: laying out the games of experts is mostly Python's work. `work` is a function of
    a module, or a functools.partial of one, since it is sent to the processes.
    """
    told = on_start or (lambda what, done, of: None)
    told(what, 0, plan.starts)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = min(plan.jobs or cores, plan.starts)
    if jobs == 1:
        answers = []
        for done, seed in enumerate(plan.seeds, 1):
            answers.append(work(seed))
            told(what, done, plan.starts)
        return answers
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _follow_the_parent)
    try:
        waiting = [pool.submit(work, seed) for seed in plan.seeds]
        for done, future in enumerate(as_completed(waiting), 1):
            future.result()
            told(what, done, plan.starts)
        return [future.result() for future in waiting]
    except BaseException as error:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            raise SolverError(
                "a process that worked on a start ended early; in a script of your own, call this under "
                "if __name__ == '__main__', or with jobs=1"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_the_parent() -> None:
    """A process for starts leaves Ctrl-C to its parent, and ends when the parent does, however that came."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def compare(text: str, source: str, more: Sequence[float] | Spread, less: Sequence[float] | Spread) -> Claim:
    """The claim that one figure is above another, start by start."""
    a, b = (x.values if isinstance(x, Spread) else x for x in (more, less))
    return Claim(text, source, tuple(bool(x > y) for x, y in zip(a, b, strict=True)))


def across(claims: Iterable[Claim], others: Mapping[float, Iterable[Claim]]) -> Iterator[Claim]:
    """Claims at WEIGHT, each with its starts at all weights at which it was tried."""
    tried = {weight: {claim.text: claim.held for claim in found} for weight, found in sorted(others.items())}
    for claim in claims:
        at = {weight: held[claim.text] for weight, held in tried.items() if claim.text in held}
        yield replace(claim, at=at or {WEIGHT: claim.held})


def weighing(plan: Plan) -> str:
    """What a report says of the weights of its starts."""
    each = ", ".join(f"{weight:g}" for weight in sorted(plan.weights))
    return (
        "Every game is solved from a random profile with some regret behind each of its rows: the weight of the start, "
        "in chips. At weight 0 the solver forgets the profile after an iteration; a weight of 1 is the ante, as much "
        f"as a hand is played for. Tables and pictures are at {WEIGHT:g}, one of {len(plan.weights)} weights ({each}) "
        "and no better founded than the others. The paper's strategies for two players are built at each weight, from "
        "the same random profiles, and a claim about them is tried at each: at a weight it holds if it is true of at "
        f"least {MOST:.0%} of the starts and fails if it is true of at most {FEW:.0%}; it depends on the weight if "
        f"that share changes by {MOST - FEW:.0%} or more from one weight to another."
    )


def weight_sheet(
    title: str, found: Mapping[float, Mapping[str, Spread]], table: int, paper: Mapping[str, float] | None = None
) -> Sheet:
    """A figure of each strategy by the weight of the start, beside the paper's where that is known."""
    weights = sorted(found)
    rows = []
    for name in found[WEIGHT]:
        cells = [f"{found[w][name].mean:.1f} ± {found[w][name].sd:.1f}" for w in weights]
        rows.append((name, *cells, *([f"{paper[name]:.2f}" if name in paper else ""] if paper else [])))
    if paper:
        counts = [f"{met(found[w], paper)} of {len(paper)}" for w in weights]
        rows.append(("the paper's figures in the range of the starts", *counts, ""))
    head = ("strategy", *(f"weight {w:g}" for w in weights), *(["paper"] if paper else []))
    return Sheet(f"What the weight of a start does: {title}", head, rows, "Mean ± sd over the same starts.", table)


def met(found: Mapping[str, Spread], paper: Mapping[str, float]) -> int:
    """How many of a paper's figures lie between the least and the greatest of the starts."""
    return sum(found[name].low <= figure <= found[name].high for name, figure in paper.items())


def mean_range(spread: Spread, digits: int = 1) -> str:
    """44.2 ± 5.6 [35.0, 52.1]: mean, standard deviation, least and greatest."""
    return (f"{spread.mean:.{digits}f} ± {spread.sd:.{digits}f} "
            f"[{spread.low:.{digits}f}, {spread.high:.{digits}f}]")  # fmt: skip
