"""Results of strategies along their training (`holdem_course`), as pages read them from ledgers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.papers.claims import START, Claim, Comparison
from kibitz.papers.earnings import Winnings, freedom_of, widened
from kibitz.papers.holdem_course import DRAWN, OPENINGS, PAIR, POINT, TRAIN, WHOLE
from kibitz.papers.ledger import results_in
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread

LARGEST_GAP = 400.0  # mbb/h: a picture of exploitability against gaps leaves out what is hardly trained
FEW = 3  # figures that a sentence names one by one
FLAT, FLAT_VALUE = 2.0, 0.5  # most that exploitability and value change over the last doubling of a converged strategy


@dataclass(frozen=True)
class CourseResults:
    """By strategy and seed; thousandths of a big blind a hand."""

    points: dict[tuple[str, int], list[dict[str, Any]]]  # by growing training
    exact: dict[tuple[str, int], dict[str, Any]]
    openings: dict[tuple[str, int], dict[str, Any]]
    pairs: dict[tuple[str, str, int], dict[str, Any]]  # exact
    drawn: dict[tuple[str, str, int], dict[str, Any]]  # estimated on drawn boards: `last_looks`
    seconds: float  # of all steps
    made_on: tuple[str, ...]
    others: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by name of a run: what is not of courses
    before: CourseResults | None = None  # of the same strategies, when they were trained less
    estimates: Sequence[dict[str, Any]] = ()  # all that there are on drawn boards

    @property
    def where(self) -> str:
        """What points were measured on."""
        every = max((int(each.get("every", 16)) for of in self.points.values() for each in of), default=1)
        return "over all boards" if every == 1 else "on sampled flops"

    def seeds(self, *names: str) -> list[int]:
        """Seeds for which the exact exploitability of all of these is known."""
        known = [{seed for name, seed in self.exact if name == wanted} for wanted in names]
        return sorted(set.intersection(*known)) if known else []

    def exploitability(self, name: str, seed: int) -> float:
        return float(self.exact[name, seed]["exploitability"])

    def spread(self, name: str) -> Spread | None:
        values = tuple(self.exploitability(name, seed) for seed in self.seeds(name))
        return Spread(values) if values else None

    def change(self, name: str, seed: int, what: str = "exploitability") -> float | None:
        """What changed over the last doubling of the training; of the first seed if this one has a single look."""
        for each in dict.fromkeys((seed, *(s for n, s in self.points if n == name))):
            moved = self.own_change(name, each, what)
            if moved is not None:
                return moved
        return None

    def own_change(self, name: str, seed: int, what: str = "exploitability") -> float | None:
        """The same of this seed, below 0 where it fell."""
        return over_last_doubling({trained(point): float(point[what]) for point in self.points.get((name, seed), [])})

    def won(self, one: str, other: str) -> list[Winnings]:
        """What one strategy wins from another, by seed: exactly where that is known, else on drawn boards."""
        every = []
        for seed in sorted({seed for a, b, seed in (*self.pairs, *self.drawn) if {a, b} == {one, other}}):
            known = self._known(one, other, seed)
            sign = 1 if known["one"] == one else -1
            every.append(Winnings(seed, sign * float(known["mean"]), known.get("error"), known.get("moved", 0.0),
                                  freedom_of(known.get("by_draw"))))  # fmt: skip
        return every

    def _known(self, one: str, other: str, seed: int) -> dict[str, Any]:
        """The exact figure of a pair, or else the estimate on most boards."""
        both = [(one, other, seed), (other, one, seed)]
        exact = [self.pairs[key] for key in both if key in self.pairs]
        return exact[0] if exact else max((self.drawn[key] for key in both if key in self.drawn),
                                          key=lambda each: int(each["boards"]))  # fmt: skip

    def again(self) -> Iterator[str]:
        """Of pairs that were measured after several trainings: what each found, of which one counts."""
        every: dict[tuple[frozenset[str], int], list[dict[str, Any]]] = {}
        for each in (*self.pairs.values(), *self.estimates):
            every.setdefault((frozenset((each["one"], each["other"])), each["seed"]), []).append(each)
        told = []
        for (_, seed), of in every.items():
            longest = max(sum(each["steps"]) for each in of)
            last = [each for each in of if sum(each["steps"]) == longest]
            if len({each["by"].get("sources") for each in last}) > 1:
                one, other = last[0]["one"], last[0]["other"]
                if last[0]["mean"] < 0.0:
                    one, other = other, one
                said = [Winnings(seed, each["mean"] * (1 if each["one"] == one else -1), each.get("error")).text()
                        + (f" on {each['boards']:,} boards" if "boards" in each else " exactly")
                        for each in last]  # fmt: skip
                told.append(f"{one} wins {', '.join(said)} from {other}")
        if told:
            yield ("Strategies were trained anew in later sessions, from the same seeds. Pairs that were measured "
                   f"after several trainings: {'; '.join(told)}. Exact figures count, then those on most boards. "
                   "Intervals are 95% for each alone here, and do not include by how much two trainings differ.")

    @property
    def first(self) -> int:
        """The first seed of which any winnings are known."""
        return min((seed for *_, seed in (*self.pairs, *self.drawn)), default=0)

    def won_in(self, seed: int, one: str, other: str) -> Winnings | None:
        """The same of one seed, for tables."""
        return next((each for each in self.won(one, other) if each.seed == seed), None)

    def gap(self, name: str, seed: int) -> float | None:
        points = self.points.get((name, seed), [])
        return None if not points or points[-1]["gap"] is None else float(points[-1]["gap"])

    def converged(self, name: str, seed: int) -> bool | None:
        """By the rule of the plan; None: it was not looked at twice."""
        points, gap = self.points.get((name, seed), []), self.gap(name, seed)
        if points and not points[-1]["solver"].startswith("pcs") and gap is not None:
            return gap < 1.0
        moved, value = self.change(name, seed), self.change(name, seed, "value")
        return None if moved is None or value is None else abs(moved) < FLAT and abs(value) < FLAT_VALUE

    def margin(self, *names: str, seed: int) -> float:
        """What exact exploitabilities are unsure by, as their strategies still changed; of those never looked at twice
        the least that counts as converged."""
        moved = [self.change(name, seed) for name in names]
        return sum(FLAT if each is None else abs(each) for each in moved)

    def _off(self, one: str, other: str, seed: int) -> float:
        """By how much a difference on the sampled flops is off."""
        mine, theirs = self.sampled(one, seed), self.sampled(other, seed)
        right = self.exploitability(one, seed) - self.exploitability(other, seed)
        return math.inf if mine is None or theirs is None else abs(mine - theirs - right)

    def sampled(self, name: str, seed: int) -> float | None:
        """The exploitability on the sampled flops, at the end of the training."""
        points = self.points.get((name, seed), [])
        return float(points[-1]["exploitability"]) if points else None

    def compared(self, one: str, other: str) -> Iterator[tuple[int, float, float, float]]:
        """(seed, exploitability of both, margin): exact where both are known so; else on the sampled flops, if
        something says how far such a difference is off: the same two strategies in another seed, or when they were
        trained less, or any two."""
        exact = self.seeds(one, other)
        for seed in exact:
            yield (seed, self.exploitability(one, seed), self.exploitability(other, seed),
                   self.margin(one, other, seed=seed))  # fmt: skip
        off = [self._off(one, other, seed) for seed in exact]
        if not exact and self.before is not None:
            off = [self.before._off(one, other, seed) for seed in self.before.seeds(one, other)]
        if not off:
            off = [self._off(a, b, seed) for (a, seed), (b, same) in combinations(self.exact, 2) if seed == same]
        for seed in sorted({seed for name, seed in self.points if name == one} - set(exact)) if off else ():
            mine, theirs = self.sampled(one, seed), self.sampled(other, seed)
            if mine is not None and theirs is not None:
                yield seed, mine, theirs, self.margin(one, other, seed=seed) + max(off)


def without_draws(pair: dict[str, Any]) -> dict[str, Any]:
    """An estimate without what it was in each draw, for readers of data.json."""
    return {key: value for key, value in pair.items() if key != "by_draw" and value != math.inf}


def over_last_doubling(figures: Mapping[int, float]) -> float | None:
    """What a figure changed from half of the iterations that were made to all; figures: by iterations. Between looks it
    is interpolated, linearly in the logarithm of the iterations; before the first nothing is known."""
    if len(figures) < 2:
        return None
    looks = sorted(figures)
    half = max(looks[0], looks[-1] / 2)
    before = float(np.interp(math.log2(half), np.log2(looks), [figures[each] for each in looks]))
    return figures[looks[-1]] - before


def trained(point: dict[str, Any]) -> int:
    """Iterations of the longest computation."""
    return max(map(int, point.get("done") or [point["steps"]]))


def keyed_points(every: Iterable[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """By strategy and seed, in the order of their training. What was measured twice, such as on two machines, counts
    once: a change over the last doubling is between two lengths of training."""
    points: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for each in every:
        points.setdefault((each["name"], each["seed"]), {})[int(each["steps"])] = each
    return {key: [of[steps] for steps in sorted(of)] for key, of in points.items()}


def last_looks(every: Iterable[dict[str, Any]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Pairs at the end of the training, with what their winnings changed over its last doubling, as "moved". Of
    estimates after the same training the one on most boards counts."""
    looks: dict[tuple[str, str, int], dict[int, dict[str, Any]]] = {}
    for each in sorted(every, key=lambda each: each["boards"]):
        looks.setdefault((each["one"], each["other"], each["seed"]), {})[sum(each["steps"])] = each
    ends = {}
    for key, of in looks.items():
        last, *earlier = sorted(of.values(), key=lambda each: sum(each["steps"]), reverse=True)
        half = [each for each in earlier if all(a in (b, 2 * b) for a, b in zip(last["steps"], each["steps"],
                                                                                  strict=True))]  # fmt: skip
        ends[key] = {**last, "moved": last["mean"] - half[0]["mean"]} if half else last
    return ends


COURSES = (POINT, TRAIN, WHOLE, OPENINGS, PAIR, DRAWN)  # names of runs


def results_of(folder: Path, paper: str = "") -> CourseResults:
    """What the ledgers of a folder hold. paper: only strategies of this one; empty: of all."""

    def wanted(entry: dict[str, Any]) -> bool:
        return not paper or entry["run"] not in COURSES or paper in entry["arguments"]

    return results_among(results_in(folder, wanted))


def results_among(answers: Mapping[str, list[dict[str, Any]]], begins: str = "") -> CourseResults:
    """The same of answers by name of a run. begins: with which the names of these runs begin."""
    points = keyed_points(answers.get(begins + POINT, []))

    def keyed(run: str, *keys: str) -> dict[Any, dict[str, Any]]:
        return {tuple(each[key] for key in keys): each for each in answers.get(begins + run, [])}

    courses = {begins + run for run in COURSES}
    every = [each for run, of in answers.items() for each in of if run in courses]
    others = {run: of for run, of in answers.items() if run not in courses}
    return CourseResults(
        points, keyed(WHOLE, "name", "seed"), keyed(OPENINGS, "name", "seed"),
        keyed(PAIR, "one", "other", "seed"), last_looks(answers.get(begins + DRAWN, [])),
        sum(each["step_seconds"] for each in every), tuple(sorted({each["by"].get("device", "") for each in every})),
        others, None, answers.get(begins + DRAWN, []),
    )  # fmt: skip


def less_exploitable(text: str, source: str, r: CourseResults, name: str, others: Sequence[str]) -> Claim | None:
    """That a strategy is less exploitable than each of some others, seed by seed, beyond what they still changed."""
    by_seed: dict[int, list[tuple[float, float, float]]] = {}
    for other in others:
        for seed, *figures in r.compared(name, other):
            by_seed.setdefault(seed, []).append((figures[0], figures[1], figures[2]))
    cases, pairs, where = [], [], []
    for seed, every in sorted(by_seed.items()):
        if len(every) == len(others):
            mine, theirs, margin = min(every, key=lambda each: each[1])
            cases.append(Comparison(mine, "<", theirs, margin))
            pairs.append((mine, theirs))
            where.append("" if seed in r.seeds(name, *others) else " on sampled flops")
    return Claim(text, source, cases, unit=START, detail=pairs_text(pairs, where)) if cases else None


def margins_sheet(claims: Iterable[Claim]) -> Sheet:
    """By how much strategies differ in each seed, and what that is compared with; of several rules by the first."""
    rows = []
    for claim in claims:
        every = claim.cases or next(iter(claim.variants.values()), ())
        cases = [case for case in every if isinstance(case, Comparison) and case.relation == "<" and case.error]
        if "exploitable" in claim.text and cases:
            rows.append((claim.text, "; ".join(f"{case.left - case.right:+.2f}" for case in cases),
                         "; ".join(f"{case.error:.2f}" for case in cases)))  # fmt: skip
    return Sheet("Differences of exploitability and their margins", ("claim", "difference by seed", "margin by seed"),
                 rows, "The first strategy less the other, or less the lowest of the others. A difference below 0 by "
                 "more than the margin makes the claim true in that seed, one above 0 by more makes it false, and any "
                 "other is undecided. Margins: what both strategies changed in the last doubling of their training, "
                 "and the sampling error on sampled flops.")  # fmt: skip


def pairs_text(pairs: Sequence[tuple[float, float]], where: Sequence[str] = (), digits: int = 2) -> str:
    """Each pair of figures; of more than FEW the means, and how far apart they are."""
    if len(pairs) <= FEW:
        places = where or [""] * len(pairs)
        return "; ".join(f"{one:.{digits}f} against {other:.{digits}f}{place}"
                         for (one, other), place in zip(pairs, places, strict=True))  # fmt: skip
    one, other = (Spread(figures) for figures in zip(*pairs, strict=True))
    apart = Spread(tuple(a - b for a, b in pairs))
    return (f"{one.mean:.{digits}f} against {other.mean:.{digits}f} on average; differences from "
            f"{apart.low:+.{digits}f} to {apart.high:+.{digits}f}")  # fmt: skip


def figures_text(figures: Sequence[float], digits: int = 2) -> str:
    """Each of some figures; of more than FEW the mean and the range."""
    if len(figures) <= FEW:
        return ", ".join(f"{each:.{digits}f}" for each in figures)
    of = Spread(tuple(figures))
    return f"{of.mean:.{digits}f} on average, from {of.low:.{digits}f} to {of.high:.{digits}f}"


def wins(text: str, source: str, r: CourseResults, one: str, other: str, together: int = 1) -> Claim | None:
    """That one strategy wins from another, in each seed: exactly where that is known, else on drawn boards. together:
    many claims are judged together."""
    every = r.won(one, other)
    cases = [Comparison(each.mean, ">", 0.0, each.error_of(together)) for each in every]
    exact, lost = all(each.error is None for each in every), all(each.mean < 0.0 for each in every)
    told = [each._replace(mean=-each.mean) for each in every] if lost else every
    said = figures_text([each.mean for each in told], 3) if exact else ", ".join(each.text(together) for each in told)
    detail = f"{one} {'loses' if lost else 'wins'} {said}"
    return Claim(text, source, cases, unit=START, detail=detail) if every else None


def crosstable_sheet(
    r: CourseResults, names: Sequence[str], unit: str, together: int, seed: int | None = None
) -> Sheet:  # fmt: skip
    """What the row wins from the column. seed: None for the first."""
    of, called = (r.first, "") if seed is None else (seed, f", seed {seed}")
    rows: list[tuple[str, ...]] = []
    for one in names:
        cells = [r.won_in(of, one, other) for other in names]
        if any(cells):
            rows.append((one, *("" if each is None else each.text(together) for each in cells)))
    note = crosstable_note(r, unit, together, of)
    return Sheet(f"Winnings of the row against the column{called}", ("strategy", *names), rows, note)


def crosstable_note(r: CourseResults, unit: str, together: int, seed: int) -> str:
    """What is to be said below such a table."""
    drawn = [each for (one, other, at), each in r.drawn.items()
             if at == seed and not {(one, other, at), (other, one, at)} & {*r.pairs}]  # fmt: skip
    counts = Counter(int(each["boards"]) for each in drawn)
    how = "Exactly, over all boards."
    if counts:
        ((most, _),) = counts.most_common(1)
        others = "".join(f"; {each['one']} and {each['other']} on {each['boards']:,}"
                         for each in drawn if each["boards"] != most)  # fmt: skip
        how = (f"With ±: on {most:,} drawn boards{others}. These are every flop, with turns and rivers that are drawn "
               f"at random; all hands play all hands on each. The interval is 95% for {together} comparisons "
               "together. Without: exactly, over all boards. Earnings are of the drawn boards alone, so they are not "
               "the means of such rows.")  # fmt: skip
    return f"{unit}, the mean over both seats, seed {seed}. {how} Empty: not measured."


def convergence(r: CourseResults, names: Iterable[str]) -> Sheet:
    """How far each strategy was trained, and whether that was enough."""
    every = [(name, seed) for name in names for of, seed in sorted(r.points) if of == name]
    sampled, exact = r.where == "on sampled flops", any(key in r.exact for key in every)
    rows: list[tuple[str, ...]] = []
    for name, seed in every:
        last, known = r.points[name, seed][-1], r.exact.get((name, seed))
        moved, value, done = r.own_change(name, seed), r.own_change(name, seed, "value"), r.converged(name, seed)
        rows.append((
            f"{name}, seed {seed}", iterations_text(last["done"]), "" if last["gap"] is None else f"{last['gap']:.2f}",
            *([f"{last['exploitability']:.2f}"] if sampled else []),
            *([f"{known['exploitability']:.2f}" if known else "not measured"] if exact else []),
            "" if moved is None else f"{moved:+.2f}", "" if value is None else f"{value:+.2f}",
            {True: "yes", False: "no", None: "unknown"}[done], f"{last['seconds']:.0f}",
        ))  # fmt: skip
    figures = [*(["exploitability on sampled flops"] if sampled else []), *(["exact exploitability"] if exact else [])]
    return Sheet(
        "Convergence",
        ("strategy", "iterations", "abstract gap", *figures, "its change over the last doubling",
         "change of the value", "gap below 1, or flat", "seconds of training"), rows,
        "Gap below 1, or flat: converged by the plan's rule (docs/plans/large_tables.md). Yes: the gap is below 1. "
        "Without a gap, or if solved on sampled boards: in the last doubling exploitability changed by less than "
        f"{FLAT:g} and the value by less than {FLAT_VALUE:g}. "
        "Exploitability can still change much where the gap is below 1: see its column. Abstract "
        "gap: NashConv in the abstract game, where it can be computed; of experts the largest. Iterations: of each "
        f"computation, in the order of the experts. Changes: from half of the iterations to all, {r.where}. Where "
        "nothing was measured at half, the figure there is interpolated between the measurements before and after; "
        "empty after a single measurement. "
        "Value: of seat 0.",
    )  # fmt: skip


def winnings(r: CourseResults, unit: str) -> Sheet:
    """Exact winnings by seed, so that they are positive."""
    rows: list[tuple[str, ...]] = []
    for (one, other, seed), each in sorted(r.pairs.items()):
        winner, loser = (one, other) if each["mean"] >= 0 else (other, one)
        rows.append((f"{winner} from {loser}, seed {seed}", f"{abs(each['mean']):.3f}"))
    return Sheet("Exact winnings", ("who", "over all boards"), rows, f"{unit}, the mean over both seats.")


def sizes_sheet(r: CourseResults, names: Iterable[str], note: str, planned: Mapping[str, str] | None = None) -> Sheet:
    """The buckets and infosets of strategies. planned: how many infosets a computation was to have, as text."""
    rows: list[tuple[str, ...]] = []
    for name in names:
        last = next((points[-1] for (of, _), points in sorted(r.points.items()) if of == name), None)
        if last is not None:
            rows.append((name, str(last["buckets"]), f"{last['infosets']:,}", f"{last['largest']:,}",
                         *([planned.get(name, "")] if planned is not None else [])))  # fmt: skip
    head = ("strategy", "buckets", "infosets", "of the largest computation", *(["as planned"] if planned else []))
    return Sheet("Sizes", head, rows, note)


def iterations_text(done: Sequence[int]) -> str:
    """Of each computation: 441, 20; or 6 x 400."""
    if len(done) > FEW and len(set(done)) == 1:
        return f"{len(done)} x {done[0]:,}"
    return ", ".join(f"{each:,}" for each in done)


def curves(
    r: CourseResults, name: str, title: str, groups: Sequence[tuple[str, Sequence[str]]], unit: str = "mbb/h",
    levels: Sequence[tuple[str, float]] = (), palette: Sequence[str] = (),
) -> Curves:  # fmt: skip
    """Exploitability against training: a panel for each group of strategies, the mean of the seeds with most
    measurements, and one standard deviation. levels: of the first panel; palette: names in the order of colours."""
    most = {name: max(map(len, (points for (of, _), points in r.points.items() if of == name)), default=0)
            for _, names in groups for name in names}  # fmt: skip
    followed = {seed for (name, seed), points in r.points.items() if len(points) == most.get(name, 0) > 1}
    shown: list[tuple[int, ...]] = []  # seeds of each line
    panels: list[FigurePanel] = []
    for head, names in groups:
        lines = []
        for each in names:
            courses = {seed: points for (of, seed), points in sorted(r.points.items())
                       if of == each and seed in followed and len(points) == most[each]}  # fmt: skip
            if courses:
                shown.append(tuple(courses))
                looks = list(zip(*courses.values(), strict=True))
                spreads = [Spread(tuple(point["exploitability"] for point in look)) for look in looks]
                iterations = [sum(map(trained, look)) / len(look) for look in looks]
                lines.append(Line(each, tuple(iterations), tuple(s.mean for s in spreads),
                                  tuple(s.sd for s in spreads)))  # fmt: skip
        if any(len(line.at) > 1 for line in lines):
            first = not panels
            panels.append(FigurePanel(head, tuple(lines), tuple(levels) if first else ()))
    where = "Measured on every 16th flop" if r.where == "on sampled flops" else "Measured over all boards"
    counts = sorted({len(seeds) for seeds in shown})
    if counts == [1]:
        where += f", seed {' or '.join(str(seed) for seed in sorted({seeds[0] for seeds in shown}))}."
    elif counts:
        where += f". Means of {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} random initialisations"
        where += ", and one standard deviation to either side."
    return Curves(name, title, f"exploitability, {unit}", tuple(panels), palette=tuple(palette),
                  across="iterations of the longest computation", note=where)  # fmt: skip


def by_gap(
    r: CourseResults, name: str, title: str, lines_of: Sequence[tuple[str, Sequence[str]]], seed: int = 0
) -> Curves:  # fmt: skip
    """Exploitability against NashConv in the abstract game, both of which change with training.

    lines_of: the name of a line, and the strategies whose points are on it.
    """
    lines, left_out = [], False
    for label, names in lines_of:
        known = {point["gap"]: point for each in names for point in r.points.get((each, seed), [])
                 if point["gap"] is not None}  # fmt: skip
        points = [known[gap] for gap in sorted(known, reverse=True) if gap <= LARGEST_GAP]
        left_out |= len(points) < len(known)
        if len(points) > 1:
            lines.append(Line(label, tuple(point["gap"] for point in points),
                              tuple(point["exploitability"] for point in points), (0.0,) * len(points)))  # fmt: skip
    note = f"Measured {'on every 16th flop' if r.where == 'on sampled flops' else 'over all boards'}, seed {seed}."
    note += f" Points with a gap above {LARGEST_GAP:g} are left out." * left_out
    return Curves(name, title, "exploitability, mbb/h", (FigurePanel("", tuple(lines)),) if lines else (),
                  across="NashConv in the abstract game, mbb/h: training goes to the right",
                  falling=True, note=note)  # fmt: skip


def over_seeds(by_seed: Sequence[Sequence[Claim]], together: int) -> Iterator[Claim]:
    """The same claims of several seeds as one each, with intervals for so many claims that are judged together."""

    def wider(case: Any) -> Any:
        if isinstance(case, Comparison):
            return case if case.error is None else replace(case, error=widened(case.error, together))
        return tuple(map(wider, case)) if isinstance(case, tuple) else case

    texts = dict.fromkeys(claim.text for claims in by_seed for claim in claims)
    for text in texts:
        same = [claim for claims in by_seed for claim in claims if claim.text == text]
        yield replace(same[0], cases=[wider(case) for claim in same for case in claim.cases], unit=START,
                      detail="; ".join(claim.detail for claim in same))  # fmt: skip
