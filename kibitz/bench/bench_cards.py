"""Cards in figures of speed, for `kibitz bench --only cards`: us and other evaluators of poker hands, on one thread.

    python bench_cards.py eval7 evaluate        in this process, which may be a Python without kibitz: a line of JSON

The peers evaluate a hand a call; eval7 also has loops in C, over random boards and over the hands of a range. All are
given the same hands; what a peer ranks otherwise than we do is reported and not compared. As in `peers.py`, a peer is
measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module, metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

try:
    from kibitz.bench.peers import THREADS, TimedWork, rate, repeat
except ImportError:  # in a peer's Python, beside peers.py
    sys.path.insert(0, str(Path(__file__).parent))
    from peers import THREADS, TimedWork, rate, repeat  # type: ignore[import-not-found,no-redef]

FIGURES: Mapping[str, str] = {
    "evaluate": "hands, from Python",
    "random": "a hand against all others on random boards",
    "range": "a hand against all others on a board of five",
}
# figure, our way, peer -> the ratio that we set out to reach; "best" is the fastest peer
GOALS: dict[tuple[str, str, str], float] = {
    ("evaluate", "a batch", "best"): 20,
    ("random", "equity", "eval7"): 1,
    ("range", "equity", "eval7"): 1,
}
HANDS, BOARDS = 100_000, 1_000_000
HAND, BOARD = ("Ah", "Kd"), ("Qs", "7c", "2d", "3h", "9s")
RANKS, SUITS = "23456789TJQKA", "cdhs"
NAMES = [rank + suit for rank in RANKS for suit in SUITS]


@dataclass(frozen=True)
class EvaluatorFigure:
    """A figure of one evaluator, or, in `note`, why there is none. `judged`: what has to agree between evaluators."""

    who: str
    figure: str
    value: float | None = None
    judged: float | None = None
    version: str | None = None
    cpu_share: float | None = None
    note: str = ""


def hands() -> list[list[int]]:
    """The same hands of seven cards for all, numbered 0 (2c) to 51 (As)."""
    drawn = random.Random(1)
    return [drawn.sample(range(52), 7) for _ in range(HANDS)]


def in_order(values: list[int], larger_is_better: bool) -> float:
    """Of each hand and the next: how often the first is better, and half of how often they are even."""
    sign = 1 if larger_is_better else -1
    return sum((sign * a > sign * b) + (a == b) / 2 for a, b in pairwise(values))


def timed(who: str, figure: str, work: TimedWork, units: int, judged: float, seconds: float) -> EvaluatorFigure:
    """Units per second of a work of which a step has `units`."""
    rates = rate(work, seconds)
    return EvaluatorFigure(who, figure, rates["value"] * units, judged, cpu_share=rates["cpu_share"])


def _calls(
    who: str, figure: str, once: Callable[[], list[int]], larger_is_better: bool, seconds: float
) -> EvaluatorFigure:
    """All hands, a call each."""
    return timed(who, figure, _work(once), HANDS, in_order(once(), larger_is_better), seconds)


# --- peers -------------------------------------------------------------------------------------------------
def phevaluator_calls(figure: str, seconds: float) -> EvaluatorFigure:
    evaluate_cards = import_module("phevaluator").evaluate_cards
    deals = hands()

    return _calls("phevaluator", figure, lambda: [evaluate_cards(*hand) for hand in deals], False, seconds)


def treys_calls(figure: str, seconds: float) -> EvaluatorFigure:
    treys = import_module("treys")
    card = [treys.Card.new(name) for name in NAMES]
    deals = [([card[c] for c in hand[:5]], [card[c] for c in hand[5:]]) for hand in hands()]
    evaluate = treys.Evaluator().evaluate

    return _calls("treys", figure, lambda: [evaluate(board, hand) for board, hand in deals], False, seconds)


def eval7_calls(figure: str, seconds: float) -> EvaluatorFigure:
    eval7 = import_module("eval7")
    card = [eval7.Card(name) for name in NAMES]
    own, board = [eval7.Card(name) for name in HAND], [eval7.Card(name) for name in BOARD]
    others = [((card[a], card[b]), 1.0) for b in range(52) for a in range(b)]
    if figure == "random":
        loop = partial(eval7.py_hand_vs_range_monte_carlo, own, others, [], BOARDS)
        return timed("eval7", figure, _work(loop), 2 * BOARDS, loop(), seconds)
    if figure == "range":
        exact = partial(eval7.py_hand_vs_range_exact, own, others, board)
        return timed("eval7", figure, _work(exact), 991, exact(), seconds)
    deals = [[card[c] for c in hand] for hand in hands()]

    return _calls("eval7", figure, lambda: [eval7.evaluate(hand) for hand in deals], True, seconds)


PEERS: Mapping[str, tuple[Callable[[str, float], EvaluatorFigure], tuple[str, ...]]] = {
    "phevaluator": (phevaluator_calls, ("evaluate",)),
    "eval7": (eval7_calls, ("evaluate", "random", "range")),
    "treys": (treys_calls, ("evaluate",)),
}


def _work(once: Callable[[], Any]) -> TimedWork:
    return TimedWork("", repeat(once), lambda: 0.0)


def measure(peer: str, figure: str, seconds: float, python: str) -> EvaluatorFigure:
    """One figure of a peer, in a fresh process of `python`. Nothing a peer does raises here: see `note`."""
    order = [python, "-P", __file__, peer, figure, f"--seconds={seconds}"]
    env = os.environ | dict.fromkeys(THREADS, "1")
    try:
        child = subprocess.run(order, env=env, capture_output=True, text=True, timeout=300 + 20 * seconds)
        return EvaluatorFigure(**json.loads(child.stdout.splitlines()[-1]))
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError, TypeError) as error:
        said = child.stderr.strip().splitlines()[-1:] if isinstance(error, IndexError) else [str(error)]
        return EvaluatorFigure(peer, figure, note=f"failed: {said[0] if said else error}")


# --- ours --------------------------------------------------------------------------------------------------
def ours(seconds: float, whole: bool) -> list[EvaluatorFigure]:
    """Our figures: the ways a user has, and the loop inside."""
    import numpy as np

    from kibitz import cards
    from kibitz.cards.kernels.ranking import categories

    deals = hands()
    judged = in_order(cards.evaluate(deals).tolist(), True)
    batch = np.array(deals, np.uint8)
    figures = [timed("a batch", "evaluate", _work(lambda: cards.evaluate(batch)), HANDS, judged, seconds)]
    one = deals[0]
    figures.append(timed("a hand a call", "evaluate", _work(lambda: cards.evaluate(one)), 1, judged, seconds))
    deck, count = np.arange(52, dtype=np.uint8), np.zeros(9, np.int64)
    last = 46 if whole else 1  # lowest cards that hands are enumerated for
    categories(0, last, deck, 7, count)
    inner = partial(categories, 0, last, deck, 7, np.zeros(9, np.int64))
    figures.append(timed("one after another", "inner", _work(inner), int(count.sum()), float(count.sum()), seconds))
    own, shown = cards.parse(" ".join(HAND)), cards.parse(" ".join(BOARD))
    others = np.array([(a, b) for b in range(52) for a in range(b)])
    others = others[~np.isin(others, own).any(axis=1)]
    sample = partial(cards.equity, own, others, samples=BOARDS)
    figures.append(timed("equity", "random", _work(sample), 2 * BOARDS, sample().equity, seconds))
    left = others[~np.isin(others, shown).any(axis=1)]
    exact = partial(cards.equity, own, left, shown)
    figures.append(timed("equity", "range", _work(exact), 991, exact().equity, seconds))
    return figures


def cards_figure(seconds: float, quick: bool, python: str) -> dict[str, Any]:
    """All figures and all comparisons, as plain data."""
    mine = ours(seconds, not quick)
    asked = [(peer, figure) for figure in FIGURES for peer, (_, figures) in PEERS.items() if figure in figures]
    theirs = [_agreeing(measure(peer, figure, seconds, python), mine) for peer, figure in asked]
    rows = []
    for our in mine:
        peers = [peer for peer in theirs if peer.figure == our.figure]
        best = max((peer for peer in peers if peer.value), key=lambda peer: peer.value or 0.0, default=None)
        for peer in peers:
            goal = GOALS.get((our.figure, our.who, peer.who))
            if peer is best and goal is None:
                goal = GOALS.get((our.figure, our.who, "best"))
            ratio = our.value / peer.value if our.value and peer.value else None
            verdict = "" if goal is None or ratio is None else "met" if ratio >= goal else "not met"
            rows.append({
                "figure": our.figure, "way": our.who, "ours": our.value, "peer": peer.who, "theirs": peer.value,
                "ratio": ratio, "goal": goal, "verdict": verdict, "note": peer.note,
            })  # fmt: skip
    versions = {peer.who: peer.version or "not installed" for peer in theirs}
    return {"ours": [asdict(our) for our in mine], "peers": versions, "rows": rows}


def _agreeing(peer: EvaluatorFigure, mine: list[EvaluatorFigure]) -> EvaluatorFigure:
    """A peer's figure, if it judges hands as we do; random boards may differ by their noise."""
    our = next(each for each in mine if each.figure == peer.figure)
    if peer.judged is None or our.judged is None:
        return peer
    noise = {"evaluate": 0.0, "random": 5 * 0.5 / BOARDS**0.5, "range": 1e-6}[peer.figure]
    if abs(peer.judged - our.judged) <= noise:
        return peer
    return EvaluatorFigure(peer.who, peer.figure, version=peer.version, note=f"it says {peer.judged}, not {our.judged}")


def cards_markdown(figure: dict[str, Any]) -> list[str]:
    """The figures as a section of docs/results.md."""
    from kibitz.report.tables import section

    inner = next(our["value"] for our in figure["ours"] if our["figure"] == "inner")
    text = (
        "Peers: " + ", ".join(f"{k} {v}" for k, v in figure["peers"].items()) + ". "
        f"Our loop over hands one after another, without a batch in memory: {inner:,.0f} a second."
    )
    lines = ["| what | kibitz | peer | theirs | ratio | goal | |", "|---|---|---|---|---|---|---|"]
    for row in figure["rows"]:
        theirs = f"{row['theirs']:,.0f}" if row["theirs"] else row["note"]
        ratio = f"{row['ratio']:,.2f}x" if row["ratio"] else "-"
        goal = f"{row['goal']:g}x" if row["goal"] else ""
        what = f"{FIGURES[row['figure']]}: {row['way']}"
        lines.append(
            f"| {what} | {row['ours']:,.0f} | {row['peer']} | {theirs} | {ratio} | {goal} | {row['verdict']} |"
        )
    return section("Cards: evaluations of hands of seven cards a second", text, lines)


def main() -> None:
    """Measure one peer in this process; a line of JSON on stdout."""
    parser = argparse.ArgumentParser(description="Measure one evaluator of poker hands.")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long it is timed")
    asked = parser.parse_args()
    try:
        version = metadata.version(asked.peer)
    except metadata.PackageNotFoundError:
        result = EvaluatorFigure(asked.peer, asked.figure, note="skipped: not installed")
    else:
        result = PEERS[asked.peer][0](asked.figure, asked.seconds)
        result = EvaluatorFigure(**asdict(result) | {"version": version})
    print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
