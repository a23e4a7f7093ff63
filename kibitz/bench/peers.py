"""The peers' half of the benchmark: OpenSpiel, LiteEFG, NoRegret and Gambit, measured as we measure us.

    measure("OpenSpiel", "cfr+", "leduc")                     in a process of its own, for the bench
    python -m kibitz.bench.peers OpenSpiel cfr+ leduc        in this process: JSON lines, the last one counts

A process each, so that a peer's threads, output, memory and crashes stay there. It may be another Python
(`python=`) that has the peers: this file needs the standard library only, and no peer before it is measured.

A figure is a `TimedWork`, prepared off the clock (game laid out, solver made) and then stepped. `rate` and `race`
time a TimedWork; time our own solvers with them too, and both halves are measured alike. To keep it fair:
- One thread each: the child's environment caps BLAS and OpenMP pools, LiteEFG is told.
  `cpu_share` is processor over wall time: above 1 something ran in parallel, below 1 others had the core.
- Each peer runs the fastest of its own solvers that does the job; `solver` names it.
- NashConv is the sum over players of what a best response gains. OpenSpiel and NoRegret call half of that
  (two players) exploitability, NoRegret's nash_gap is the whole; LiteEFG gives one gain per player.
- One CFR+ or MCCFR iteration updates every player once.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import metadata
from typing import Any
from unittest.mock import patch

FIGURES: Mapping[str, str] = {
    "cfr+": "CFR+ iterations per second",
    "nash_conv": "seconds for the NashConv of the uniform profile",
    "kept": "the same, OpenSpiel's best responders made once and kept between calls",
    "mccfr": "external-sampling MCCFR iterations per second",
    "target": "seconds to NashConv 1e-4 by the fastest solver of any kind",
    "regret": "seconds to NashConv 1e-4 by the fastest regret minimiser",
    "lp": "seconds to an exact equilibrium by linear programming",
}
TARGETS: Mapping[str, float] = {"target": 1e-4, "regret": 1e-4, "lp": 1e-6}  # the NashConv a race runs to

# Our names for the games, and OpenSpiel's, from which every peer here reads the rules.
GAMES: Mapping[str, str] = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "goofspiel5": "turn_based_simultaneous_game(game=goofspiel(num_cards=5,imp_info=True,points_order=descending))",
    "liars_dice5": "liars_dice(numdice=1,dice_sides=5)",
    "liars_dice6": "liars_dice(numdice=1,dice_sides=6)",
    "leduc3": "leduc_poker(players=3,suit_isomorphism=True)",
}
ALL, TWO, SMALL = tuple(GAMES), tuple(GAMES)[:5], tuple(GAMES)[:2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class TimedWork:
    """Something to time: `step(n)` does n iterations, calls or solves; `nash_conv()` judges the result."""

    solver: str
    step: Callable[[int], object]
    nash_conv: Callable[[], float]
    anew: bool = False  # each step solves from scratch, as an LP does


@dataclass(frozen=True)
class Measurement:
    """One figure of one peer on one game, or, in `note`, why there is none."""

    peer: str
    figure: str
    game: str
    value: float | None = None  # in the unit that FIGURES gives; None: see note
    note: str = ""  # "skipped: ...", "> 60 s", "failed: ..."
    version: str | None = None
    solver: str = ""
    units: int = 0  # iterations, calls or solves timed
    seconds: float = 0.0  # the time they took
    cpu_share: float | None = None
    setup_seconds: float = 0.0  # importing the peer, laying out the game: not in `seconds`
    nash_conv: float | None = None  # of the profile at the end


# --- timing ------------------------------------------------------------------------------------------------
def rate(work: TimedWork, seconds: float, batches: int = 5) -> dict[str, Any]:
    """Units per second: the best of `batches` equal batches that together take about `seconds`.

    The best, because on a shared machine whatever else runs can only slow a batch down.
    """
    work.step(n := 1)  # warm up
    while (taken := clock(work.step, n)[0]) < seconds / batches / 2:
        n = max(n + 1, min(10 * n, int(n * seconds / batches / max(taken, 1e-9))))
    timed = [clock(work.step, n) for _ in range(batches)]
    wall, cpu = (sum(column) for column in zip(*timed, strict=True))
    figures = {"value": n / min(timed)[0], "units": n * batches, "seconds": wall, "cpu_share": cpu / wall}
    return figures | {"nash_conv": work.nash_conv()}


def race(work: TimedWork, target: float, limit: float, seconds: float = 0.0) -> dict[str, Any]:
    """Seconds of stepping until NashConv is below `target`; no value if that takes more than `limit`.

    NashConv is checked about every twenty times the seconds a check costs; checks are off the clock.
    A solver that starts anew at each step is run for `seconds` and the best time taken, as in `rate`.
    """
    wall, cpu, units, n, reached = 0.0, 0.0, 0, 1, float("inf")
    while reached >= target and wall < limit:
        taken, used = clock(work.step, n)
        wall, cpu, units = wall + taken, cpu + used, units + n
        start = time.perf_counter()
        reached = work.nash_conv()
        n = max(1, min(4 * n, int(20 * n * (time.perf_counter() - start) / max(taken, 1e-9))))
    figures = {"units": units, "seconds": wall, "cpu_share": cpu / wall, "nash_conv": reached}
    if reached >= target:
        return figures | {"value": None, "note": f"> {limit:g} s"}
    best, stop = wall, time.perf_counter() + seconds
    while work.anew and time.perf_counter() + best < stop:
        best = min(best, clock(work.step, 1)[0])
    return figures | {"value": best, "seconds": best}


def clock(step: Callable[[int], object], n: int) -> tuple[float, float]:
    """Wall and processor seconds of step(n)."""
    wall, cpu = time.perf_counter(), time.process_time()
    step(n)
    return time.perf_counter() - wall, time.process_time() - cpu


def repeat(once: Callable[[], object]) -> Callable[[int], None]:
    """step(n) for what is called once at a time."""

    def step(n: int) -> None:
        for _ in range(n):
            once()

    return step


def anew(solver: str, solve: Callable[[], Any], judge: Callable[[Any], float]) -> TimedWork:
    """The TimedWork of a solver that starts from scratch at each step; its last answer is judged."""
    answers: list[Any] = []

    def step(n: int) -> None:
        answers[:] = [solve() for _ in range(n)]

    return TimedWork(solver, step, lambda: judge(answers[-1]), anew=True)


# --- OpenSpiel ---------------------------------------------------------------------------------------------
def _spiel(game: str) -> tuple[Any, Any, Callable[[Any], float]]:
    """pyspiel, the game, and the NashConv of a policy with the best responders' trees kept between calls.

    Twice as fast as pyspiel.nash_conv, which lays the trees out anew and computes the policy's value as well:
    in a zero-sum game the best-response values already sum to NashConv.
    """
    import pyspiel

    rules = pyspiel.load_game(GAMES[game])
    root, uniform = rules.new_initial_state(), pyspiel.UniformRandomPolicy(rules)
    responders = [pyspiel.TabularBestResponse(rules, i, uniform) for i in range(rules.num_players())]

    def nash_conv(policy: Any) -> float:
        for responder in responders:
            responder.set_policy(policy)
        return float(sum(responder.value_from_state(root) for responder in responders))

    return pyspiel, rules, nash_conv


def spiel_cfr_plus(game: str) -> TimedWork:
    pyspiel, rules, nash_conv = _spiel(game)
    solver = pyspiel.CFRPlusSolver(rules)
    step = repeat(solver.evaluate_and_update_policy)
    return TimedWork("C++ CFRPlusSolver", step, lambda: nash_conv(solver.tabular_average_policy()))


def spiel_nash_conv(game: str) -> TimedWork:
    """pyspiel.nash_conv, as its users call it."""
    pyspiel, rules, _ = _spiel(game)
    uniform = pyspiel.UniformRandomPolicy(rules)
    once = partial(pyspiel.nash_conv, rules, uniform)
    return TimedWork("C++ nash_conv", repeat(once), once)


def spiel_kept(game: str) -> TimedWork:
    pyspiel, rules, nash_conv = _spiel(game)
    uniform = pyspiel.UniformRandomPolicy(rules)
    return TimedWork("C++ TabularBestResponse", repeat(lambda: nash_conv(uniform)), lambda: nash_conv(uniform))


def spiel_mccfr(game: str) -> TimedWork:
    pyspiel, rules, nash_conv = _spiel(game)
    solver = pyspiel.ExternalSamplingMCCFRSolver(rules, 1)
    step = repeat(solver.run_iteration)
    return TimedWork("C++ ExternalSamplingMCCFRSolver", step, lambda: nash_conv(solver.average_policy()))


def spiel_lp(game: str) -> TimedWork:
    """OpenSpiel's sequence-form LP. The time includes laying the game out: one call does both."""
    from open_spiel.python.algorithms import lp_solver, sequence_form_lp

    pyspiel, rules, nash_conv = _spiel(game)
    lp_solver.DEFAULT_SOLVER_KWARGS.clear()  # meant for ECOS; HiGHS, faster and more exact here, refuses them

    def judge(policies: Any) -> float:  # scale the rows: best responders refuse 1 + 1e-16 as a probability
        rows: dict[str, list[tuple[int, float]]] = {}
        for player, policy in enumerate(policies):
            for infoset in policy.states_per_player[player]:
                row = policy.policy_for_key(infoset).clip(0)
                legal = policy.legal_actions_mask[policy.state_lookup[infoset]].nonzero()[0]
                rows[infoset] = [(int(a), float(row[a] / row.sum())) for a in legal]
        return nash_conv(pyspiel.TabularPolicy(rows))

    solve = partial(sequence_form_lp.solve_zero_sum_game, rules, solver="HIGHS")
    return anew("sequence-form LP (cvxpy, HiGHS)", lambda: solve()[2:], judge)


# --- LiteEFG -----------------------------------------------------------------------------------------------
def _lite(game: str, graph: str, traverse: str = "Enumerate") -> tuple[Any, Any, int]:
    """An environment, one of LiteEFG's own baselines set in it, and the number of players."""
    import LiteEFG
    import pyspiel

    LiteEFG.set_threads(1)
    LiteEFG.set_seed(1)
    rules = pyspiel.load_game(GAMES[game])
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, HOME=home):  # it writes the game there
        env = LiteEFG.OpenSpielEnv(rules, traverse_type=traverse)
    solver = getattr(LiteEFG.baselines, graph).graph()
    env.set_graph(solver)
    return env, solver, rules.num_players()


def lite_cfr_plus(game: str) -> TimedWork:
    env, graph, players = _lite(game, "CFRplus")
    strategy = graph.current_strategy()

    def once() -> None:
        # Its own update alternates and stops at two players; three move at once, as in its CFR.
        graph.update_graph(env) if players == 2 else env.update(strategy)
        env.update_strategy(strategy)  # the averages

    return TimedWork("CFRplus", repeat(once), lambda: sum(env.exploitability(strategy, "linear-avg-iterate")))


def lite_nash_conv(game: str) -> TimedWork:
    env, graph, _ = _lite(game, "CFRplus")
    uniform = graph.current_strategy()  # before the first update
    step = repeat(lambda: env.exploitability(uniform))
    return TimedWork("exploitability", step, lambda: sum(env.exploitability(uniform)))


def lite_mccfr(game: str) -> TimedWork:
    """Iterations alone: averaging, a pass over all rows after each, would make them four times slower."""
    env, graph, _ = _lite(game, "CFR", "External")
    strategy, step = graph.current_strategy(), repeat(lambda: graph.update_graph(env))
    return TimedWork("CFR, traverse External, no average", step, lambda: sum(env.exploitability(strategy)))


# --- NoRegret ----------------------------------------------------------------------------------------------
def _noregret(game: str) -> tuple[Any, Any, Any]:
    import noregret

    kernel = noregret.FPKer()
    return noregret, kernel, noregret.to_efg(kernel, noregret.OpenSpielGame(kernel, GAMES[game]))


def noregret_cfr_plus(game: str) -> TimedWork:
    """Alternating CFR+ on SciPy's sparse matrices. Of the averages it offers t² is the best on Leduc."""
    noregret, kernel, form = _noregret(game)
    seats = [noregret.CFR_plus(kernel, space, gamma=2) for space in form.sequence_form_polytopes]

    def step(n: int) -> None:
        for seat in seats:  # rm begins by asking for strategies: take back those the last call left
            seat.next_strategy = seat.next_behavioral_strategy = None
        noregret.rm(form, *seats, alternation=True, iteration_count=n, checkpoints=[-1], progress_bar=False)

    return TimedWork("CFR_plus(gamma=2)", step, lambda: float(form.nash_gap(*(s.average_strategy for s in seats))))


def noregret_nash_conv(game: str) -> TimedWork:
    form = _noregret(game)[2]
    plans = [s.to_sequence_form(s.behavioral_form_uniform_strategy) for s in form.sequence_form_polytopes]
    return TimedWork("nash_gap", repeat(lambda: form.nash_gap(*plans)), lambda: float(form.nash_gap(*plans)))


# --- Gambit ------------------------------------------------------------------------------------------------
def gambit_lp(game: str) -> TimedWork:
    """lp_solve in floating point; in rationals, its default, it is slower still.

    Gambit gives the largest gain of any player, max_regret; twice that bounds NashConv.
    """
    import pygambit
    import pyspiel
    from open_spiel.python.algorithms.gambit import export_gambit

    text = export_gambit(pyspiel.load_game(GAMES[game]))
    # Gambit wants probabilities that sum to one exactly: 0.1666666666666667 becomes 1/6.
    text = re.sub(r"\b0\.\d{16}\b", lambda match: str(Fraction(match[0]).limit_denominator(1000)), text)
    tree = pygambit.read_efg(io.StringIO(text))
    solve = partial(pygambit.nash.lp_solve, tree, rational=False)
    return anew("lp_solve, floating point", solve, lambda result: 2 * float(result.equilibria[0].max_regret()))


# --- the table, and one measurement ------------------------------------------------------------------------
@dataclass(frozen=True)
class Peer:
    """A peer: its package on PyPI and, for each figure, what prepares the work and on which games."""

    name: str
    package: str
    figures: Mapping[str, tuple[Callable[[str], TimedWork], tuple[str, ...]]]

    def version(self) -> str | None:
        """The version installed beside this interpreter; None if there is none."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    def measures(self, figure: str, game: str) -> bool:
        return figure in self.figures and game in self.figures[figure][1]


_SPIEL = {"cfr+": (spiel_cfr_plus, ALL), "nash_conv": (spiel_nash_conv, ALL), "mccfr": (spiel_mccfr, ALL),
          "kept": (spiel_kept, ALL)}  # fmt: skip
_SPIEL |= {"target": (spiel_lp, SMALL), "regret": (spiel_cfr_plus, TWO), "lp": (spiel_lp, SMALL)}
_LITE = {"cfr+": (lite_cfr_plus, ALL), "nash_conv": (lite_nash_conv, ALL), "mccfr": (lite_mccfr, ALL)}
_LITE |= {"target": (lite_cfr_plus, TWO), "regret": (lite_cfr_plus, TWO)}
_NOREGRET = {"cfr+": (noregret_cfr_plus, TWO), "nash_conv": (noregret_nash_conv, TWO)}
# Its LP goes to Gurobi, a commercial program whose licence from PyPI stops at 2,000 variables: not measured here.
_NOREGRET |= {"target": (noregret_cfr_plus, TWO), "regret": (noregret_cfr_plus, TWO)}
_GAMBIT = {"target": (gambit_lp, SMALL), "lp": (gambit_lp, SMALL)}
PEERS: Mapping[str, Peer] = {
    "OpenSpiel": Peer("OpenSpiel", "open_spiel", _SPIEL),
    "LiteEFG": Peer("LiteEFG", "LiteEFG", _LITE),
    "NoRegret": Peer("NoRegret", "noregret", _NOREGRET),
    "Gambit": Peer("Gambit", "pygambit", _GAMBIT),
}


def measure(
    peer: str, figure: str, game: str, seconds: float = 2.0, limit: float = 60.0, python: str = sys.executable
) -> Measurement:
    """One figure, in a fresh process of `python`, one thread. Nothing a peer does raises here: see `note`.

    `seconds`: about how long a rate is timed. `limit`: after how many a race is given up.
    """
    nothing = Measurement(peer, figure, game)
    order = [python, "-P", __file__, peer, figure, game, f"--seconds={seconds}", f"--limit={limit}"]
    env = os.environ | dict.fromkeys(THREADS, "1")
    patience = 900 + 2 * limit + 20 * seconds  # peers lay games out in Python: that alone can take minutes
    try:
        child = subprocess.run(order, env=env, capture_output=True, text=True, timeout=patience)
    except (OSError, subprocess.TimeoutExpired) as error:
        return replace(nothing, note=f"failed: {error}")
    lines = child.stdout.splitlines()
    if child.returncode not in (0, -signal.SIGALRM) or not lines:
        said = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
        return replace(nothing, note=f"failed: {said[-1]}")
    return Measurement(**json.loads(lines[-1]))


def main() -> None:
    """Measure in this process; JSON lines on stdout, of which the last counts."""
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.peers", description="Measure one peer.")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("figure", choices=FIGURES, help="; ".join(f"{k}: {v}" for k, v in FIGURES.items()))
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long a rate is timed")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a race is given up")
    asked = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # peers print, some of them from C

    def tell(**changes: Any) -> None:
        print(json.dumps(asdict(replace(result, **changes))), file=out, flush=True)

    peer = PEERS[asked.peer]
    result = Measurement(asked.peer, asked.figure, asked.game, version=peer.version())
    if result.version is None:
        return tell(note="skipped: not installed")
    if not peer.measures(asked.figure, asked.game):
        return tell(note="skipped: not among what it does")
    start = time.perf_counter()
    work = peer.figures[asked.figure][0](asked.game)
    result = replace(result, solver=work.solver, setup_seconds=time.perf_counter() - start)
    if asked.figure in TARGETS:
        tell(note=f"> {asked.limit:g} s")  # this stands if the alarm ends the process, be it inside C code
        signal.setitimer(signal.ITIMER_REAL, 1.5 * asked.limit)
        return tell(**race(work, TARGETS[asked.figure], asked.limit, asked.seconds))
    figures = rate(work, asked.seconds)
    tell(**figures | ({"value": 1 / figures["value"]} if asked.figure in ("nash_conv", "kept") else {}))


if __name__ == "__main__":
    main()
