"""Public chance sampling on limit Texas hold'em, for `kibitz bench --only pcs`, beside OpenSpiel's MCCFR."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

GAME, BUCKETS = "poker(file=holdem.limit.2p)", "percentile(8)"
SMALL, FEW = "poker(file=holdem.limit.2p, ranks=4)", "percentile(3)"

# External sampling, in C++; a decision is one visit to a state where a player acts. Hardly any infoset of the whole
# game is met twice, so players stay uniform, and a walk under uniform play counts what an iteration visits.
PEER = """
import json, random, sys, time
try:
    import pyspiel
except ImportError:
    print("{}")
    sys.exit()
game = pyspiel.load_game("universal_poker(betting=limit,numPlayers=2,numRounds=4,blind=10 5,raiseSize=10 10 20 20,"
                         "firstPlayer=2 1 1 1,maxRaises=3 4 4 4,numSuits=4,numRanks=13,numHoleCards=2,"
                         "numBoardCards=0 3 1 1)")
def walk(state, player):
    if state.is_terminal():
        return 0
    if state.is_chance_node():
        state.apply_action(random.choices(*zip(*state.chance_outcomes()))[0])
        return walk(state, player)
    if state.current_player() == player:
        return 1 + sum(walk(state.child(action), player) for action in state.legal_actions())
    state.apply_action(random.choice(state.legal_actions()))
    return 1 + walk(state, player)
random.seed(0)
walks = 400
decisions = sum(walk(game.new_initial_state(), player) for _ in range(walks) for player in (0, 1)) / walks
solver, best = pyspiel.ExternalSamplingMCCFRSolver(game, seed=0), 0.0
for _ in range(4):
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < float(sys.argv[1]) / 4:
        solver.run_iteration()
        done += 1
    best = max(best, done / (time.perf_counter() - began))
print(json.dumps({"decisions": decisions, "rate": best, "version": getattr(pyspiel, "__version__", "")}))
"""


def decisions_of(form: Any, boards: Any, hole: int) -> int:
    """Decisions whose rows learn in an iteration: hands on the board, at every node of the betting."""
    betting = form.betting
    return sum(
        int(((betting.turn >= 0) & (betting.round == level)).sum()) * boards.hands(level, hole)
        for level in range(form.definition.rounds)
    )


def holdem_figure(seconds: float, quick: bool, python: str) -> dict[str, Any]:
    """Decisions a second of public chance sampling on one thread and on two, and of OpenSpiel's MCCFR on one."""
    from kibitz.games import game
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.sampled.form import ViewForm
    from kibitz.solvers import Task, make

    name, buckets = (SMALL, FEW) if quick else (GAME, BUCKETS)
    rules: Any = game(name)
    form = ViewForm(rules, [hand_buckets(rules.definition, buckets)])
    rates = []
    for threads in (1, 2):
        solver: Any = make("pcs", Task(None, form, threads=threads))
        solver.step(2)
        best, until = 0.0, time.perf_counter() + 2 * seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            solver.step(8)
            best = max(best, 8 / (time.perf_counter() - began))
        rates.append(best)
    decisions = decisions_of(form, solver.boards, solver.hole)
    told = subprocess.run([python, "-c", PEER, str(4 * seconds)], capture_output=True, text=True, check=False)
    peer = json.loads(told.stdout or "{}")
    theirs = peer["rate"] * peer["decisions"] if peer else None
    return {
        "game": name, "buckets": buckets, "infosets": form.points, "decisions": decisions,
        "one": rates[0], "two": rates[1],
        "peer": {"name": "OpenSpiel, external sampling", **peer} if peer else None,
        "ratio": rates[0] * decisions / theirs if theirs else None,
    }  # fmt: skip


def holdem_markdown(figure: dict[str, Any]) -> list[str]:
    peer, each = figure["peer"], figure["decisions"]
    lines = [
        "## Limit hold'em by public chance sampling",
        "",
        f"`{figure['game']}` within {figure['buckets']}: {figure['infosets']:,} infosets. An iteration samples a board "
        f"and teaches all hands on it, {each:,} decisions of a hand: {1e3 / figure['one']:.0f} ms on one thread, "
        f"{1e3 / figure['two']:.0f} ms on two ({figure['two'] / figure['one']:.2f}x), "
        f"{figure['one'] * each / 1e6:.0f} million decisions a second on one.",
        "",
    ]
    if peer:
        lines += [
            f"{peer['name']} on universal_poker, the same betting without buckets: {peer['rate']:,.0f} iterations a "
            f"second of {peer['decisions']:.0f} decisions, {peer['rate'] * peer['decisions'] / 1e3:,.0f} thousand "
            f"decisions a second on one thread. Ratio: {figure['ratio']:,.0f}.",
            "",
        ]
    return lines
