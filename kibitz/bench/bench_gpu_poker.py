"""A stage of `kibitz bench --only gpu`: poker with all hands, checked against the processor first, and then timed.

    python -m kibitz.bench.bench_gpu_poker --json poker.json     this stage alone

Endgames of limit hold'em, a flop of no-limit hold'em, and Rhode Island hold'em.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import KibitzError, SolverError
from kibitz.report.tables import section

HOLDEM = "poker(file=holdem.limit.2p)"
# The flop that other programs are timed on: Td 9d 6h, 200 in the pot, 900 behind, bets of 60% of the pot and all in.
SPOT = """GAMEDEF
nolimit
numPlayers = 2
numRounds = 4
stack = 1000 1000
blind = 100 100
firstPlayer = 1 1 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
betSizes = 0.6 allin
END GAMEDEF
"""
BOARD = "Td 9d 6h Qc"
CLOSE = 1e-8  # of results in double precision
CHECKED = 10  # iterations that are compared
GAP = 0.01  # NashConv as a share of the pot that endgames are solved to
ENDGAMES = (  # what, betting before, how many, goal in seconds
    ("river", ("crc/crc/crrc/", "rc/cc/crc/", "crc/rc/rrc/"), 12, 0.05),
    ("turn and river", ("crc/crc/", "rc/cc/"), 6, 0.05),
)
RHODE, RHODE_GAP, RHODE_GOAL = "rhode_island", 0.01, 3.0
FLOP_ITERATIONS, FLOP_GOAL = 100, 0.05


def spot(cards: int) -> Any:
    """The endgame of the spot on so many cards of its board."""
    from kibitz.poker.endgames.subgame import Endgame
    from kibitz.poker.rules import acpc
    from kibitz.poker.rules.cards import cards_of
    from kibitz.poker.rules.rules import Poker

    rules = Poker(acpc.parse(SPOT, "the spot"), "")
    board = [int(card) for word in BOARD.split() for card in cards_of(word)][:cards]
    return Endgame(rules, rules.betting.text.index("cc/" if cards == 3 else "cc/cc/"), board)


def holdem_endgame(betting: str, rng: Any) -> Any:
    """An endgame of limit hold'em on a random board, with ranges that leave a seat a third of its hands or so."""
    from kibitz.poker.endgames.subgame import Endgame

    rules = _holdem()
    node = rules.betting.text.index(betting)
    shown = sum(rules.definition.board[: int(rules.betting.round[node]) + 1])
    endgame = Endgame(rules, node, rng.permutation(52)[:shown].tolist())
    endgame.ranges = rng.random(endgame.ranges.shape) ** 3
    return endgame


@cache
def _holdem() -> Any:
    from kibitz.games import game as make_game

    return make_game(HOLDEM)


def check(form: Any) -> dict[str, Any]:
    """How far some iterations of dcfr+ in double precision are from those of cores, and an evaluation from theirs."""
    from kibitz.core.resources import cores
    from kibitz.forms.kernels.cfr import Rule
    from kibitz.poker.endgames.endgames import ALPHA, GAMMA
    from kibitz.poker.exact.cfr_state import PokerCfrState
    from kibitz.poker.exact.gpu import GpuPasses
    from kibitz.poker.exact.gpu_state import GpuPokerCfrState

    rule = Rule(ALPHA, ALPHA, GAMMA, 0.0, 0.0, 0.0, True)
    here = PokerCfrState(form, None, np.float64)
    there = GpuPokerCfrState(form, None, np.float64, passes=GpuPasses(form, dtype=np.float64))
    here.iterate(rule, 0, CHECKED, cores())
    there.iterate(rule, 0, CHECKED)
    one, two = here.measure(True), there.measure(True)
    apart = float(np.abs(two.best - one.best).max() / np.abs(one.best).max())
    average = float(np.abs(there.state["average"] - here.average).max())
    return {"sequences": int(form.sequences), "nash_conv": float(two.nash_conv), "apart": apart, "average": average,
            "right": apart <= CLOSE}  # fmt: skip


def endgames_figure(bettings: tuple[str, ...], count: int, rng: Any) -> dict[str, Any]:
    """Milliseconds of set-up and of solving, one endgame after the other."""
    from kibitz.poker.endgames.endgames import solved

    each = []
    for number in range(-1, count):  # the first compiles
        began = time.perf_counter()
        endgame = holdem_endgame(bettings[number % len(bettings)], rng)
        set_up = time.perf_counter() - began
        answer = solved(endgame, gap=GAP, device="gpu")
        each.append((time.perf_counter() - began, set_up, answer.iterations, answer.gap or 0.0, endgame.sequences))
    table = np.array(each[1:])
    return {
        "count": count, "median": float(np.median(table[:, 0])), "most": float(table[:, 0].max()),
        "made": float(np.median(table[:, 1])), "iterations": float(table[:, 2].mean()),
        "gap": float(table[:, 3].max()), "sequences": int(table[0, 4]),
    }  # fmt: skip


def flop_figure(iterations: int) -> dict[str, Any]:
    """Seconds an iteration on the flop, and what it comes to."""
    from kibitz.forms.kernels.cfr import Rule
    from kibitz.poker.endgames.endgames import ALPHA, GAMMA
    from kibitz.poker.exact.gpu_state import GpuPokerCfrState

    began = time.perf_counter()
    form, rule = spot(3), Rule(ALPHA, ALPHA, GAMMA, 0.0, 0.0, 0.0, True)
    state = GpuPokerCfrState(form, None)
    state.iterate(rule, 0, 2)
    set_up, began = time.perf_counter() - began, time.perf_counter()
    state.iterate(rule, 2, iterations - 2)
    spent = time.perf_counter() - began
    measure = state.measure(True)
    return {"sequences": int(form.sequences), "made": set_up, "iterations": iterations,
            "iteration": spent / (iterations - 2), "gap": measure.nash_conv / (form.mass * form.pot)}  # fmt: skip


def rhode_figure() -> dict[str, Any]:
    """Rhode Island hold'em to a NashConv of 0.01 chips, as `kibitz solve` does it."""
    from kibitz.solvers import RunOptions
    from kibitz.solvers.run import solve

    answer = solve(RHODE, solver="dcfr+", until=RHODE_GAP, run=RunOptions(device="gpu", progress=False))
    return {"seconds": answer.seconds, "nash_conv": float(answer.meta["nash_conv"]),
            "iterations": int(answer.history[-1].iteration), "value": float(answer.meta["value"][0])}  # fmt: skip


def bench_poker(keep: Callable[[str], None], result: dict[str, Any], quick: bool = False) -> None:
    """Fill `result`; `keep` says a line and saves what there is."""
    from kibitz.forms.choice import compact_form
    from kibitz.games import game as make_game

    rng = np.random.default_rng(7)
    checks: dict[str, Any] = {}
    result["checks"] = checks
    for what, make in (("river", lambda: holdem_endgame("crc/crc/crrc/", rng)), ("turn without limit", lambda: spot(4)),
                       (RHODE, lambda: compact_form(make_game(RHODE)))):  # fmt: skip
        checks[what] = check(make())
        keep(f"poker with all hands, check of {what}: {checks[what]}")
    if not all(each["right"] for each in checks.values()):
        raise SolverError("poker with all hands on the GPU is not what cores find: nothing was timed")
    result["endgames"] = {}
    for what, bettings, count, goal in ENDGAMES:
        result["endgames"][what] = {**endgames_figure(bettings, 2 if quick else count, rng), "goal": goal}
        keep(f"{what}: {result['endgames'][what]}")
    result["rhode"] = {**rhode_figure(), "goal": RHODE_GOAL}
    keep(f"Rhode Island hold'em: {result['rhode']}")
    result["flop"] = {**flop_figure(10 if quick else FLOP_ITERATIONS), "goal": FLOP_GOAL}
    keep(f"flop: {result['flop']}")


def poker_markdown(figures: dict[str, Any] | None) -> list[str]:
    """Nothing where nothing was measured."""
    if not figures:
        return []
    rows = [
        f"| {what}, limit hold'em, to {100 * GAP:g}% of the pot | {each['sequences']:,} | {each['iterations']:.0f} | "
        f"{1e3 * each['median']:.0f} ms, {1e3 * each['made']:.0f} of them set-up |"
        for what, each in figures.get("endgames", {}).items()
    ]  # fmt: skip
    if "rhode" in figures:
        of, sequences = figures["rhode"], figures["checks"][RHODE]["sequences"]
        rows.append(f"| Rhode Island hold'em to {RHODE_GAP:g} chips | {sequences:,} | {of['iterations']:,} | "
                    f"{of['seconds']:.2f} s |")  # fmt: skip
    if "flop" in figures:
        of = figures["flop"]
        rows.append(
            f"| flop, bets of 60% and all in, to {100 * of['gap']:.2f}% of the pot | {of['sequences']:,} | "
            f"{of['iterations']:,} | {1e3 * of['iteration']:.1f} ms an iteration, {of['made']:.1f} s set-up |"
        )
    return section(
        "Poker with all hands", "Two-player poker without buckets, by dcfr+ in single precision. NashConv is measured "
        "on the GPU, in double precision; the times include it. Before anything was timed, iterations in double "
        f"precision were compared with those of the CPU ({len(figures['checks'])} games, to {CLOSE:g}).",
        ["| what | sequences | iterations | time |", "|---|---:|---:|---:|", *rows],
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_gpu_poker")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="few endgames and iterations")
    of, result, began = parser.parse_args(arguments), dict[str, Any](), time.perf_counter()

    def keep(line: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True)
        if of.json:
            Path(of.json).write_text(json.dumps({"poker": result}, indent=1) + "\n")

    try:
        bench_poker(keep, result, of.quick)
    except KibitzError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
