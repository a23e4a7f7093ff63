"""Two phases, as of GS1 and GS2: what is lost by solving the first rounds by themselves, and what the slides say helps.

Games are small enough to be solved whole within the same buckets, so that what phases cost is seen: the gap of the
strategy that comes out, in the game within the buckets. The slides have matches against other programs instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

from kibitz.forms.profile import Profile
from kibitz.papers.claims import COMPARISON, OURS, Claim, Comparison
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.endgames.phases import ROLLOUT, phase_one, phase_two
from kibitz.poker.stitching.experts import poker_of
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet
from kibitz.solvers.run import solve_through

SLIDES = "slides"
# (game, buckets, NashConv to which all is solved, in chips)
MODELS = (
    ("rhode_island", "percentile(4)", 0.02), ("rhode_island", "percentile(8)", 0.02),
    ("poker(file=holdem.limit.2p, ranks=6)", "percentile(3)", 0.02),
)
QUICK = (("rhode_island", "percentile(3)", 0.2),)
STATISTICS, AGAIN = "statistics of an equilibrium", "statistics of the phases with roll-outs"
SHORT = {ROLLOUT: "roll-outs", STATISTICS: "statistics", AGAIN: "own statistics"}  # in the picture


@dataclass(frozen=True)
class Phased:
    """One way of going in phases."""

    game: str
    buckets: str
    rounds: int  # of phase I
    begin: int  # where phase II begins, from 1
    leaves: str
    gap: float  # NashConv of the whole strategy in the abstract game, chips

    @property
    def overlaps(self) -> bool:
        return self.begin <= self.rounds


def phased(name: str, buckets: str, until: float) -> PhasedModel:
    """All ways: how many rounds phase I has, with what behind it, and where phase II begins."""
    rules = poker_of(name)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    whole = solve_through(form, "dcfr+", until=until)
    ways: list[Phased] = []
    for rounds in range(1, rules.definition.rounds):
        # Phases with roll-outs, and an overlap where there can be one: what their play says of later rounds.
        begins = sorted({max(2, rounds), rounds + 1})
        rolled = phase_two(rules, phase_one(rules, buckets, rounds, until=until), begins[0], until=until)
        behind: dict[str, str | Profile] = {ROLLOUT: ROLLOUT, STATISTICS: whole, AGAIN: rolled}
        for leaves, continuation in behind.items():
            first = phase_one(rules, buckets, rounds, continuation, until=until)
            for begin in begins:
                joined = phase_two(rules, first, begin, until=until)
                gap = float(form.measure(joined.probabilities).nash_conv)
                ways.append(Phased(name, buckets, rounds, begin, leaves, gap))
    return PhasedModel(float(form.measure(whole.probabilities).nash_conv), int(form.points), tuple(ways))


def runs(plan: PaperPlan) -> list[Run]:
    return [Run("phases", phased, QUICK if plan.quick else MODELS, reads=PhasedModel)]


@dataclass(frozen=True)
class PhasedModel:
    """An abstract game of buckets, and all ways of solving it in phases."""

    whole: float  # NashConv if all rounds are solved at once
    infosets: int
    ways: tuple[Phased, ...]


def gather(plan: PaperPlan, answers: Answers) -> list[PhasedModel]:
    return [replace(model, ways=tuple(Phased(**way) for way in model.ways)) for model in answers["phases"]]


def claims(models: Sequence[PhasedModel]) -> Iterator[Claim]:
    """Tried in each pair of ways to go in phases that differ in one thing alone."""
    ways = [way for model in models for way in model.ways]
    by = {(w.game, w.buckets, w.rounds, w.begin, w.leaves): w.gap for w in ways}

    def one(text: str, source: str, pairs: Sequence[tuple[float, float]]) -> Claim:
        return Claim(text, source, [Comparison(a, "<", b) for a, b in pairs], unit=COMPARISON)

    for leaves, said in ((STATISTICS, "an equilibrium"), (AGAIN, "the phases with roll-outs")):
        pairs = [(w.gap, by[w.game, w.buckets, w.rounds, w.begin, ROLLOUT]) for w in ways if w.leaves == leaves]
        yield one(f"statistics of {said} behind phase I are better than roll-outs", SLIDES, pairs)
    pairs = [(w.gap, by[w.game, w.buckets, w.rounds, w.rounds + 1, w.leaves]) for w in ways if w.overlaps]
    yield one("phases that overlap are better than phases that do not", SLIDES, pairs)
    pairs = [
        (w.gap, by[w.game, w.buckets, w.rounds - 1, w.begin, w.leaves])
        for w in ways if (w.game, w.buckets, w.rounds - 1, w.begin, w.leaves) in by
    ]  # fmt: skip
    yield one("phase I with one round more is better, where phase II begins in the same round", OURS, pairs)


def page(plan: PaperPlan, models: list[PhasedModel], claims: Sequence[Claim]) -> Page:
    rows = [(f"{way.game}, {way.buckets}", str(way.rounds), str(way.begin), "yes" if way.overlaps else "no", way.leaves,
             f"{way.gap:.3f}", f"{model.whole:.3f}") for model in models for way in model.ways]  # fmt: skip
    return Page(
        about="The first rounds are solved by themselves (phase I), and the rest with them as they are (phase II). "
        "Behind phase I hands are rolled out, or go on as statistics say: how often each action was taken in a betting "
        "situation of a round with a bucket. Phase II is solved offline over all boards, where the slides' programs "
        "solved it at the table for the cards that came; where phase I never goes, hands are as likely as if it "
        "trembled once in a hundred decisions.",
        departs=(
            "The slides' statistics are of hundreds of thousands of hands of SparBot; here of endless many of a "
            "strategy that is known: an equilibrium within the buckets, or what phases with roll-outs gave.",
        ),
        sheets=(
            Sheet(
                "Gaps of strategies solved in phases, chips",
                ("game", "rounds of phase I", "phase II begins in", "overlap", "behind phase I", "gap", "solved whole"),
                rows,
                "The gap is nash_conv within the buckets, both seats together. Solved whole: all rounds at once, to "
                "the gap at which each phase stopped too.",
            ),
        ),
        pictures=(_picture(models),), figures={"models": [asdict(model) for model in models]},
    )


def _picture(models: Sequence[PhasedModel]) -> Curves:
    panels = []
    for model in models:
        lines = []
        for (leaves, name), overlap in product(SHORT.items(), (False, True)):
            ways = [way for way in model.ways if way.leaves == leaves and way.overlaps == overlap]
            at, gaps = tuple(float(way.rounds) for way in ways), tuple(way.gap for way in ways)
            like = name if overlap else ""
            lines.append(Line(name + " " * overlap, at, gaps, (0.0,) * len(at), dashed=overlap, like=like))
        title = f"{model.ways[0].game}, {model.ways[0].buckets}".replace("poker(file=", "").replace("), ", ", ")
        panels.append(FigurePanel(title, tuple(line for line in lines if line.at), (("solved whole", model.whole),)))
    return Curves(
        "phases", "Solved in phases: gap within the buckets", "gap, chips", tuple(panels), log_x=False, log_y=True,
        palette=tuple(SHORT.values()), note="dashed, or a ring: the phases overlap by a round",
        across="rounds of phase I", floor=1e-3,
    )  # fmt: skip


PART = Experiment("phases", "Two phases", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
