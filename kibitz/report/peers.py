"""The peers' half of the benchmark: OpenSpiel, LiteEFG, NoRegret and Gambit, measured as we measure ourselves.

    measure("OpenSpiel", "cfr+", "leduc")                     from the bench
    python -m kibitz.report.peers OpenSpiel cfr+ leduc        the same, in this process: JSON on stdout

A measurement runs in a process of its own, so that a peer's threads, output, memory and crashes stay there.
That process may be another Python (`python=`), in whose environment the peers are installed: this file needs
the standard library only, and imports a peer when it is measured, never before.

Every figure is a `Work`: prepared outside the clock (the game is laid out, the solver made), then stepped.
`rate` and `race` time a Work; time our own solvers with them too, and both halves are measured alike.

What makes the comparison fair:
- One thread each: the child's environment caps the BLAS and OpenMP pools, Gurobi and LiteEFG are told.
  `cpu_share` is processor time over wall time: above 1 something ran in parallel, below 1 others had the core.
- Each peer runs the fastest of its own solvers that does the job; `solver` names it.
- NashConv is the sum over players of what a best response gains. OpenSpiel calls half of it exploitability
  (two players), so does NoRegret, whose nash_gap is the whole; LiteEFG gives one gain per player.
- One CFR+ or MCCFR iteration updates every player once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from importlib import metadata
from typing import Any

FIGURES: Mapping[str, str] = {
    "cfr+": "CFR+ iterations per second",
    "nash_conv": "seconds for the NashConv of the uniform profile",
    "mccfr": "external-sampling MCCFR iterations per second",
    "target": "seconds to NashConv 1e-4, by the peer's fastest solver of any kind",
    "regret": "seconds to NashConv 1e-4, by the peer's fastest regret minimiser",
    "lp": "seconds to an exact equilibrium by linear programming",
}
RATES = ("cfr+", "mccfr")  # per second, more is better; the other figures are seconds
TARGETS: Mapping[str, float] = {"target": 1e-4, "regret": 1e-4, "lp": 1e-6}  # the NashConv a race runs to

# Our names for the games, and OpenSpiel's, from which every peer here reads its rules.
GAMES: Mapping[str, str] = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "leduc3": "leduc_poker(players=3,suit_isomorphism=True)",
    "goofspiel5": "turn_based_simultaneous_game("
    "game=goofspiel(num_cards=5,imp_info=True,points_order=descending))",
    "liars_dice6": "liars_dice(numdice=1,dice_sides=6)",
}
TWO_PLAYERS = ("kuhn", "leduc", "goofspiel5", "liars_dice6")
SETUP_LIMIT = 600.0  # seconds a child may spend before its clock starts: peers lay games out in Python
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Work:
    """Something to time: `step(n)` does n units (iterations, calls, solves); `nash_conv()` judges the result."""

    solver: str
    step: Callable[[int], object]
    nash_conv: Callable[[], float]


@dataclass(frozen=True)
class Measurement:
    """One figure of one peer on one game, or, in `note`, why there is none."""

    peer: str
    figure: str
    game: str
    value: float | None = None  # in the unit FIGURES gives; None: see note
    note: str = ""  # "skipped: ...", "> 60 s", "failed: ..."
    version: str | None = None
    solver: str = ""
    units: int = 0  # iterations, calls or solves timed
    seconds: float = 0.0  # the time they took
    cpu_share: float | None = None
    setup_seconds: float = 0.0  # importing the peer, laying out the game: not timed
    nash_conv: float | None = None  # of the profile at the end


# --- timing ------------------------------------------------------------------------------------------------


def rate(work: Work, seconds: float, batches: int = 5) -> dict[str, Any]:
    """Units per second: the best of `batches` equal batches that together take about `seconds`.

    The best, because on a shared machine whatever else runs can only slow a batch down.
    """
    per_batch, n = seconds / batches, 1
    work.step(1)  # warm up
    while (taken := _clock(work.step, n)[0]) < per_batch / 2:
        n = max(n + 1, min(10 * n, int(n * per_batch / max(taken, 1e-9))))
    timed = [_clock(work.step, n) for _ in range(batches)]
    wall = sum(t for t, _ in timed)
    return {
        "value": n / min(t for t, _ in timed),
        "units": n * batches,
        "seconds": wall,
        "cpu_share": sum(c for _, c in timed) / wall,
        "nash_conv": work.nash_conv(),
    }


def race(work: Work, target: float, limit: float) -> dict[str, Any]:
    """Seconds of stepping until NashConv falls below `target`; no value if that takes more than `limit`.

    NashConv is checked about every twenty times the seconds a check costs; checks are off the clock.
    """
    wall = cpu = check = 0.0
    units, n, reached = 0, 1, float("inf")
    while reached >= target and wall < limit:
        taken, used = _clock(work.step, n)
        wall, cpu, units = wall + taken, cpu + used, units + n
        start = time.perf_counter()
        reached = work.nash_conv()
        check = time.perf_counter() - start
        n = max(1, min(4 * n, int(n * 20 * check / max(taken, 1e-9))))
    found = reached < target
    return {
        "value": wall if found else None,
        "note": "" if found else f"> {limit:g} s",
        "units": units,
        "seconds": wall,
        "cpu_share": cpu / wall,
        "nash_conv": reached,
    }


def _clock(step: Callable[[int], object], n: int) -> tuple[float, float]:
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


# --- OpenSpiel ---------------------------------------------------------------------------------------------


def _spiel_nash_conv(game: Any) -> Callable[[Any], float]:
    """NashConv of a policy, with the best responders' trees kept from call to call.

    Twice as fast as pyspiel.nash_conv, which lays them out anew and computes the profile's value as well;
    in a zero-sum game the best-response values already sum to NashConv.
    """
    import pyspiel

    root = game.new_initial_state()
    uniform = pyspiel.UniformRandomPolicy(game)
    responders = [pyspiel.TabularBestResponse(game, player, uniform) for player in range(game.num_players())]

    def nash_conv(policy: Any) -> float:
        total = 0.0
        for responder in responders:
            responder.set_policy(policy)
            total += responder.value_from_state(root)
        return total

    return nash_conv


def spiel_cfr_plus(game: str) -> Work:
    import pyspiel

    rules = pyspiel.load_game(GAMES[game])
    solver, nash_conv = pyspiel.CFRPlusSolver(rules), _spiel_nash_conv(rules)
    return Work(
        "C++ CFRPlusSolver",
        repeat(solver.evaluate_and_update_policy),
        lambda: nash_conv(solver.tabular_average_policy()),
    )


def spiel_nash_conv(game: str) -> Work:
    import pyspiel

    rules = pyspiel.load_game(GAMES[game])
    nash_conv, uniform = _spiel_nash_conv(rules), pyspiel.UniformRandomPolicy(rules)
    return Work("C++ TabularBestResponse", repeat(lambda: nash_conv(uniform)), lambda: nash_conv(uniform))


def spiel_mccfr(game: str) -> Work:
    import pyspiel

    rules = pyspiel.load_game(GAMES[game])
    solver, nash_conv = pyspiel.ExternalSamplingMCCFRSolver(rules, 1), _spiel_nash_conv(rules)
    return Work(
        "C++ ExternalSamplingMCCFRSolver",
        repeat(solver.run_iteration),
        lambda: nash_conv(solver.average_policy()),
    )


def spiel_lp(game: str) -> Work:
    """OpenSpiel's sequence-form LP by HiGHS. Its time includes laying the game out: one call does both."""
    import pyspiel
    from open_spiel.python.algorithms import lp_solver, sequence_form_lp

    rules = pyspiel.load_game(GAMES[game])
    nash_conv = _spiel_nash_conv(rules)
    lp_solver.DEFAULT_SOLVER_KWARGS.clear()  # options of ECOS, which HiGHS, exact and faster here, refuses
    plans: list[Any] = []

    def solve() -> None:
        plans[:] = sequence_form_lp.solve_zero_sum_game(rules, solver="HIGHS")[2:]

    def judge() -> float:  # best responders refuse 1 + 1e-16 as a probability, so scale each row
        policy = {}
        for player, plan in enumerate(plans):
            for infoset in plan.states_per_player[player]:
                row = plan.policy_for_key(infoset).clip(0)
                policy[infoset] = [(a, float(p)) for a, p in enumerate(row / row.sum()) if p > 0]
        return nash_conv(pyspiel.TabularPolicy(policy))

    return Work("sequence-form LP (cvxpy, HiGHS)", repeat(solve), judge)


# --- LiteEFG -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _home() -> Iterator[None]:
    """LiteEFG writes each game as a file under the home directory: give it one that goes away."""
    kept = os.environ.get("HOME")
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        try:
            yield
        finally:
            if kept is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = kept


def _lite(game: str, graph: str, traverse: str = "Enumerate") -> tuple[Any, Any, int]:
    """The environment, one of LiteEFG's own baseline graphs set in it, and the number of players."""
    import LiteEFG
    import pyspiel
    from LiteEFG import baselines

    LiteEFG.set_threads(1)
    LiteEFG.set_seed(1)
    rules = pyspiel.load_game(GAMES[game])
    with _home():
        env = LiteEFG.OpenSpielEnv(rules, traverse_type=traverse)
    solver = getattr(baselines, graph).graph()
    env.set_graph(solver)
    return env, solver, rules.num_players()


def lite_cfr_plus(game: str) -> Work:
    env, graph, players = _lite(game, "CFRplus")
    strategy = graph.current_strategy()

    def once() -> None:
        for player in range(1, players + 1):  # its own update_graph, which stops at two players
            env.update(strategy, upd_player=player)
        env.update_strategy(strategy)  # the averages

    return Work("CFRplus", repeat(once), lambda: sum(env.exploitability(strategy, "linear-avg-iterate")))


def lite_dcfr(game: str) -> Work:
    env, graph, _ = _lite(game, "DCFR")
    average = graph.current_strategy("average-iterate")
    return Work("DCFR", repeat(lambda: graph.update_graph(env)), lambda: sum(env.exploitability(average)))


def lite_nash_conv(game: str) -> Work:
    env, graph, _ = _lite(game, "CFRplus")
    uniform = graph.current_strategy()  # before the first update
    return Work(
        "exploitability", repeat(lambda: env.exploitability(uniform)), lambda: sum(env.exploitability(uniform))
    )


def lite_mccfr(game: str) -> Work:
    """Iterations alone: averaging, a pass over all rows after each, would make them about four times slower."""
    env, graph, _ = _lite(game, "CFR", "External")
    strategy = graph.current_strategy()
    return Work(
        "CFR, traverse External, no average",
        repeat(lambda: graph.update_graph(env)),
        lambda: sum(env.exploitability(strategy)),
    )


# --- NoRegret ----------------------------------------------------------------------------------------------


def _noregret(game: str) -> tuple[Any, Any, Any]:
    import noregret

    kernel = noregret.FPKer()
    return noregret, kernel, noregret.to_efg(kernel, noregret.OpenSpielGame(kernel, GAMES[game]))


def noregret_cfr_plus(game: str, gamma: int = 1) -> Work:
    """Alternating CFR+ on SciPy sparse matrices; iteration t weighs t ** gamma in the average."""
    noregret, kernel, form = _noregret(game)
    players = [noregret.CFR_plus(kernel, space, gamma=gamma) for space in form.sequence_form_polytopes]

    def step(n: int) -> None:
        for player in players:  # rm begins by asking for a strategy: take back the one a last call left open
            player.next_strategy = player.next_behavioral_strategy = None
        noregret.rm(
            form, *players, alternation=True, iteration_count=n, checkpoints=(-1,), progress_bar=False
        )

    return Work(
        f"CFR_plus(gamma={gamma})",
        step,
        lambda: float(form.nash_gap(*(player.average_strategy for player in players))),
    )


def noregret_regret(game: str) -> Work:
    return noregret_cfr_plus(game, gamma=2)


def noregret_nash_conv(game: str) -> Work:
    _, _, form = _noregret(game)
    plans = [s.to_sequence_form(s.behavioral_form_uniform_strategy) for s in form.sequence_form_polytopes]
    return Work("nash_gap", repeat(lambda: form.nash_gap(*plans)), lambda: float(form.nash_gap(*plans)))


def noregret_mccfr(game: str) -> Work:
    import noregret

    rules = noregret.OpenSpielGame(noregret.FPKer(), GAMES[game])
    solver = noregret.MCCFR(noregret.FPKer(), rules)

    def step(n: int) -> None:
        noregret.stochastic_rm(rules, solver, alternation=True, sample_count=n, progress_bar=False)

    return Work("MCCFR", step, lambda: 2 * float(rules.exploitability(solver.average_action_probabilities)))


def noregret_lp(game: str) -> Work:
    """Gurobi, whose licence from PyPI ends at 2,000 variables: Kuhn and Leduc, nothing larger here."""
    noregret, _, form = _noregret(game)
    plans: list[Any] = []

    def solve() -> None:
        plans[:] = noregret.lp(form, {"OutputFlag": 0, "Threads": 1})

    return Work("sequence-form LP (Gurobi)", repeat(solve), lambda: float(form.nash_gap(*plans)))


# --- Gambit ------------------------------------------------------------------------------------------------


def _efg(rules: Any) -> tuple[str, dict[tuple[int, str], str]]:
    """OpenSpiel's rules as Gambit .efg text, and the label there of each player's infosets.

    OpenSpiel has an exporter, but Gambit refuses its rounded probabilities: they do not sum to one.
    """
    lines = ['EFG 2 R "" { ' + " ".join(f'"{player}"' for player in range(rules.num_players())) + " }"]
    labels: dict[tuple[int, str], str] = {}
    stack = [rules.new_initial_state()]
    while stack:  # nodes in prefix order
        state = stack.pop()
        number = len(lines)
        if state.is_terminal():
            payoffs = " ".join(str(Fraction(u).limit_denominator(10**6)) for u in state.returns())
            lines.append(f't "" {number} "" {{ {payoffs} }}')
            continue
        actions = state.legal_actions()
        if state.is_chance_node():
            odds = [f'"{a}" {Fraction(p).limit_denominator(10**6)}' for a, p in state.chance_outcomes()]
            lines.append(f'c "" {number} "" {{ {" ".join(odds)} }} 0')
        else:
            player = state.current_player()
            label = labels.setdefault((player, state.information_state_string()), str(len(labels) + 1))
            moves = " ".join(f'"{a}"' for a in actions)
            lines.append(f'p "" {player + 1} {label} "{label}" {{ {moves} }} 0')
        stack.extend(state.child(action) for action in reversed(actions))
    return "\n".join(lines) + "\n", labels


def gambit_lp(game: str) -> Work:
    """lp_solve in floating point; rationals, its default, are slower still."""
    import io

    import pygambit
    import pyspiel

    rules = pyspiel.load_game(GAMES[game])
    text, labels = _efg(rules)
    tree = pygambit.read_efg(io.StringIO(text))
    nash_conv = _spiel_nash_conv(rules)
    found: list[Any] = []

    def solve() -> None:
        found[:] = pygambit.nash.lp_solve(tree, rational=False).equilibria

    def judge() -> float:
        rows = {i.label: {a.label: float(found[0][a]) for a in i.actions} for p in tree.players for i in p.infosets}
        policy = {}
        for (_, infoset), label in labels.items():
            total = sum(max(p, 0.0) for p in rows[label].values())
            policy[infoset] = [(int(a), max(p, 0.0) / total) for a, p in rows[label].items()]
        return nash_conv(pyspiel.TabularPolicy(policy))

    return Work("lp_solve, floating point", repeat(solve), judge)
