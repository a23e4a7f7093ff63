"""GS3's model of limit Texas hold'em: 20 / 800 / 4,800 / 28,800 buckets, solved whole.

The slides: abstraction by potential, 30 GB, a better solution every 2.5 days, and six months on four processors
to a gap of 0.028 small bets a hand. Here the same sizes are solved on one GPU, and percentile buckets that a small
machine can hold on its cores. A gap is nash_conv within the buckets, both seats together, in double precision.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kibitz.cards.tables import made_in, state
from kibitz.games import game
from kibitz.papers.claims import OURS, RUN, Claim, Comparison, within
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.papers.sandholm_rhode_island import SolverCourse
from kibitz.poker.bucketed.build import bucket_form, layout_of
from kibitz.poker.bucketed.device import Device, best_device
from kibitz.poker.bucketed.weights import recipe_of
from kibitz.poker.buckets.buckets import hand_buckets, is_kept
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet

GAME = "poker(file=holdem.limit.2p)"
SMALL_BET = 10
GS3 = "potential([20, 800, 4800, 28800])"
SLIDES_GAP, FINE_GAP = 0.028, 0.003  # small bets a hand
SLIDES_MONTHS, SLIDES_BYTES = 6, 30e9
# Seconds of solving at most, and the model that cores have in place of GS3's own.
PATIENCE = {"gpu": 700.0, "cpu": 2400.0}
CORES = "percentile(8)"
TINY, TINY_MODEL = "poker(file=holdem.limit.2p, ranks=5)", "percentile(4)"


@dataclass(frozen=True)
class SolvedModel(SolverCourse):
    """How a model was built and solved."""

    game: str
    abstraction: str
    device: str  # in words
    buckets: tuple[int, ...]
    infosets: int
    operations: int  # of an iteration
    # How long it took to build buckets and joint weights, None if that was not recorded; and whether this run took them
    # from the cache.
    bucket_seconds: float | None
    weight_seconds: float | None
    buckets_cached: bool
    weights_cached: bool
    solver: str
    iteration: tuple[int, ...]
    seconds: tuple[float, ...]  # of solving, evaluations included
    stepping: float  # seconds of solving without evaluations
    gap: tuple[float, ...]  # small bets
    value: float  # small bets, of seat 0
    memory: int  # bytes: of the GPU, or of the process

    @property
    def per_iteration(self) -> float:
        """Seconds, on average, without evaluations."""
        return self.stepping / self.iteration[-1]


def solved(name: str, abstraction: str, device: str, until: float, seconds: float) -> SolvedModel:
    """Make the buckets, count their joint weights, and solve; each timed."""
    from kibitz.core.resources import peak_memory
    from kibitz.solvers.run import solve_through

    rules: Any = game(name)
    kept = is_kept(rules.definition, abstraction)
    buckets = hand_buckets(rules.definition, abstraction)
    recipe = recipe_of(buckets)
    counted = device == "cpu" and state(recipe) == "made"  # a GPU counts them each time
    began = time.perf_counter()
    form = bucket_form(rules, buckets, device)
    weighing = made_in(recipe) if counted else time.perf_counter() - began
    result = solve_through(form, "dcfr+", until=until * SMALL_BET, seconds=seconds)
    history = [each for each in result.history if each.iteration]
    layout = layout_of(rules, buckets)
    return SolvedModel(
        rules.spec, buckets.name, Device(device).label, tuple(layout.rows.tolist()), form.points, 4 * layout.products,
        buckets.meta.get("seconds"), weighing, kept, counted, "dcfr+", tuple(each.iteration for each in history),
        tuple(each.seconds for each in history), result.seconds - result.evaluation_seconds,
        tuple(each.nash_conv / SMALL_BET for each in history), history[-1].value[0] / SMALL_BET,
        int(form.device.xp.get_default_memory_pool().total_bytes()) if device == "gpu" else peak_memory(),
    )  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    """On a GPU GS3's own sizes and percentile buckets, else the latter; a quick plan has a deck of 20 cards."""
    device = best_device()
    if plan.quick:
        pieces = [(TINY, TINY_MODEL, device, 10 * FINE_GAP, 60.0)]
    elif device == "gpu":
        pieces = [(GAME, each, device, FINE_GAP, PATIENCE[device]) for each in (CORES, GS3)]
    else:
        pieces = [(GAME, CORES, device, SLIDES_GAP, PATIENCE[device])]
    return [Run("solving hold'em within buckets", solved, pieces, reads=SolvedModel)]


def gather(plan: PaperPlan, answers: Answers) -> list[SolvedModel]:
    return answers["solving hold'em within buckets"]


def page(plan: PaperPlan, models: list[SolvedModel], claims: Sequence[Claim]) -> Page:
    last = models[-1]
    at = last.reached(SLIDES_GAP)
    reached = f"a gap of {SLIDES_GAP:g} small bets after {at[1]:,.0f} s" if at else "not yet at the slides' gap"
    return Page(
        about="Limit Texas hold'em for two is solved within buckets of hands that name their path: betting tree times "
        "the joint weights of buckets, all folds and showdowns of a round as one matrix product (BucketForm), by dcfr+ "
        "in single precision. Gaps are nash_conv within the buckets, both seats together, in small bets a hand, by "
        "exact best responses in double precision; what a strategy loses in the real game is another question.",
        departs=(
            "The slides' solver was their excessive gap technique. GS3's buckets are made by our reading of "
            "potential-aware abstraction, in its sizes; percentile buckets are those of other programs of its time.",
        ),
        sheets=(_sizes(models), _times(models)), pictures=(_curves(models),),
        figures={"models": [asdict(model) for model in models]},
        summary=f"{last.abstraction} of {last.game} on {last.device}: {last.per_iteration:.3g} s an iteration, "
        f"{reached}, {last.gap[-1]:.4f} after {last.seconds[-1]:,.0f} s; the slides: {SLIDES_GAP:g} after "
        f"{SLIDES_MONTHS} months on four processors.",
    )


def _sizes(models: list[SolvedModel]) -> Sheet:
    slides = ("GS3, the slides", "20 / 800 / 4,800 / 28,800", "", "", f"{SLIDES_BYTES / 1e9:g} GB", "", "")
    rows = [(
        f"{model.abstraction}, {model.device}", " / ".join(f"{count:,}" for count in model.buckets),
        f"{model.infosets:,}", f"{model.operations / 1e12:.3g} T", f"{model.memory / 1e9:.1f} GB",
        _took(model.bucket_seconds, model.buckets_cached), _took(model.weight_seconds, model.weights_cached),
    ) for model in models]  # fmt: skip
    return Sheet(
        "Sizes, memory, and what comes before solving",
        ("model", "buckets by round", "infosets", "operations an iteration", "memory", "buckets", "joint weights"),
        [slides, *rows],
        "Memory is what the GPU's pool held at most, or the process. Buckets and joint weights: how long they took "
        "when they were made; cached: that was before this run, and where no time is given it was not recorded. An "
        "iteration updates both seats.",
    )


def _took(seconds: float | None, cached: bool) -> str:
    """28 s; 28 s, cached; cached."""
    return ", ".join([*([] if seconds is None else [f"{seconds:,.0f} s"]), *(["cached"] if cached else [])])


def _times(models: list[SolvedModel]) -> Sheet:
    rows: list[tuple[str, ...]] = [("GS3, the slides (four processors)", "", f"{SLIDES_MONTHS} months", "", "", "")]
    for model in models:
        at = [model.reached(target) for target in (SLIDES_GAP, FINE_GAP)]
        cells = [f"{each[1]:,.0f} s ({each[0]:,})" if each else "" for each in at]
        rows.append((f"{model.abstraction}, {model.device}", f"{model.per_iteration:.3g}", *cells,
                     f"{model.gap[-1]:.5f}", f"{model.value:.4f}"))  # fmt: skip
    head = ("model", "seconds an iteration", *(f"to {gap:g}" for gap in (SLIDES_GAP, FINE_GAP)), "last gap", "value")
    return Sheet(
        "Time to a gap in small bets a hand (iterations)", head, rows,
        "Times to a gap have all looks at it in them, seconds an iteration none. The value "
        "is that of the first seat, the big blind, within the buckets.",
    )  # fmt: skip


def _curves(models: list[SolvedModel]) -> Curves:
    lines = tuple(Line(f"{each.abstraction}, {each.device}", each.seconds, each.gap, (0.0,) * len(each.gap))
                  for each in models)  # fmt: skip
    levels = ((f"the slides, {SLIDES_MONTHS} months", SLIDES_GAP), (f"{FINE_GAP:g}", FINE_GAP))
    return Curves(
        "gs3", "Limit hold'em within buckets: gap against time", "gap within the buckets (small bets a hand)",
        (FigurePanel("", lines, levels),), log_y=True, across="seconds",
        note="Each line is one run of dcfr+; looks at the gap are included in the time.",
    )  # fmt: skip


def claims(models: list[SolvedModel]) -> list[Claim]:
    result = []
    for model in models:
        if model.buckets == (20, 800, 4800, 28800):
            text = f"GS3's sizes to {SLIDES_GAP:g} small bets within ten minutes of solving"
            result.append(within(text, OURS, SLIDES_GAP, min(model.gap), model.reached(SLIDES_GAP), 600.0))
        elif " cores of " in model.device and model.game == GAME:
            text, step = f"{model.abstraction} on cores to {SLIDES_GAP:g} small bets", model.per_iteration
            result.append(within(text, OURS, SLIDES_GAP, min(model.gap), model.reached(SLIDES_GAP)))
            result.append(Claim(f"{model.abstraction} on cores at 10 s an iteration or less", OURS,
                                [Comparison(step, "<=", 10.0)], unit=RUN, detail=f"{step:.2f} s"))  # fmt: skip
    return result


PART = Experiment("gs3", "GS3's four-round model", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
