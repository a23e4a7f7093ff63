"""GS3's model of limit Texas hold'em: 20 / 800 / 4,800 / 28,800 buckets, all rounds solved at once.

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
from kibitz.report.figures import Duration, Sheet, Times
from kibitz.report.text import by_round
from kibitz.report.times import MONTH

GAME = "poker(file=holdem.limit.2p)"
SMALL_BET = 10
GS3 = "potential([20, 800, 4800, 28800])"
SLIDES_GAP, FINE_GAP = 0.028, 0.003  # small bets a hand
SLIDES_MONTHS, SLIDES_BYTES = 6, 30e9
UNITS = {"s": 1.0, "months": MONTH}  # seconds of what the sheet of times names
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
    return [Run("solving hold'em in the abstract game", solved, pieces, reads=SolvedModel)]


def gather(plan: PaperPlan, answers: Answers) -> list[SolvedModel]:
    return answers["solving hold'em in the abstract game"]


def page(plan: PaperPlan, models: list[SolvedModel], claims: Sequence[Claim]) -> Page:
    last, times = models[-1], _times(models)
    at = last.reached(SLIDES_GAP)
    reached = "the slides' NashConv was not reached"
    if at:
        reached = f"a NashConv of {SLIDES_GAP:g} small bets after {at[1]:,.0f} s"
    return Page(
        about="Two-player limit Texas hold'em is solved with perfect-recall buckets: betting tree times joint "
              "weights of "
        "buckets, all folds and showdowns of a round as one matrix product (BucketForm), by dcfr+ "
        "in single precision. NashConv is in the abstract game, in small bets per hand, by "
        "exact best responses in double precision. Exploitability in the unabstracted game is not measured here.",
        departs=(
            "The slides used the excessive gap technique. GS3's sizes are filled by our implementation "
            "of potential-aware abstraction. Percentile buckets were used by other programs of the time.",
        ),
        sheets=(_sizes(models), times), pictures=(times_picture(times.rows),),
        figures={"models": [asdict(model) for model in models]},
        summary=f"{last.abstraction} of {last.game} on {last.device}: {last.per_iteration:.3g} s per iteration, "
        f"{reached}, {last.gap[-1]:.4f} after {last.seconds[-1]:,.0f} s; the slides: {SLIDES_GAP:g} after "
        f"{SLIDES_MONTHS} months on four processors.",
    )


def _sizes(models: list[SolvedModel]) -> Sheet:
    slides = ("GS3, the slides", "20 / 800 / 4,800 / 28,800", "", "", f"{SLIDES_BYTES / 1e9:g} GB", "", "")
    rows = [(
        f"{model.abstraction}, {model.device}", by_round(model.buckets),
        f"{model.infosets:,}", f"{model.operations / 1e12:.3g} T", f"{model.memory / 1e9:.1f} GB",
        _took(model.bucket_seconds, model.buckets_cached), _took(model.weight_seconds, model.weights_cached),
    ) for model in models]  # fmt: skip
    return Sheet(
        "Sizes, memory and preparation",
        ("model", "buckets by round", "infosets", "operations per iteration", "memory", "buckets", "joint weights"),
        [slides, *rows],
        "Memory is the peak of the GPU's memory pool or of the "
        "process. Buckets and joint weights: the time to build them; \"cached\" means "
        "that they were built before this run. An iteration updates both players.",
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
    head = ("model", "seconds per iteration", *(f"to {gap:g}" for gap in (SLIDES_GAP, FINE_GAP)), "last NashConv",
            "value")
    return Sheet(
        "Time to a target NashConv in small bets per hand (iterations)", head, rows,
        "Times to a target include best-response evaluation; seconds per iteration do not. The value "
        "is that of the first player, the big blind, in the abstract game.",
    )  # fmt: skip


def times_picture(rows: Sequence[Sequence[str]]) -> Times:
    """The sheet of times to a target as a picture."""
    durations = []
    for model, _, *cells, _, _ in rows:
        for gap, cell in zip((SLIDES_GAP, FINE_GAP), cells, strict=True):
            if cell:
                number, unit = cell.split()[:2]
                seconds = float(number.replace(",", "")) * UNITS[unit]
                durations.append(Duration(model, f"NashConv {gap:g}", seconds, f"{number} {unit}"))
    return Times(
        "gs3", "Limit hold'em in an abstract game: time to a target NashConv", "time", tuple(durations),
        note="NashConv in the abstract game, in small bets per hand. Times include best-response evaluation. The "
        "models differ in size, and the machines in age: see the tables.",
    )  # fmt: skip


def claims(models: list[SolvedModel]) -> list[Claim]:
    result = []
    for model in models:
        if model.buckets == (20, 800, 4800, 28800):
            text = f"GS3's sizes are solved to {SLIDES_GAP:g} small bets within ten minutes"
            result.append(within(text, OURS, SLIDES_GAP, min(model.gap), model.reached(SLIDES_GAP), 600.0))
        elif " cores of " in model.device and model.game == GAME:
            text, step = f"{model.abstraction} is solved to {SLIDES_GAP:g} small bets on CPU cores", model.per_iteration
            result.append(within(text, OURS, SLIDES_GAP, min(model.gap), model.reached(SLIDES_GAP)))
            result.append(Claim(f"{model.abstraction} takes 10 s per iteration or less on CPU cores", OURS,
                                [Comparison(step, "<=", 10.0)], unit=RUN, detail=f"{step:.2f} s"))  # fmt: skip
    return result


PART = Experiment("gs3", "GS3's four-round model", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
