"""The speed and memory of poker: `kibitz bench --only poker`, `pcs`, `three`, `endgames` and `jam`."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kibitz.bench.peers import TimedWork
from kibitz.report.tables import section

# Rhode Island hold'em: nobody else solves it whole

GAME, SMALL = "rhode_island", "rhode_island(ranks=4, suits=2)"
SOLVER = "dcfr+"
# Bytes by sequence of the seat that moves: regrets and strategies read and written, and by one of the other: its
# strategy read, its average read and written; in float32, for each seat in turn.
BYTES = 4 * (4 + 3)


def poker_figure(quick: bool = False) -> dict[str, Any]:
    """Milliseconds an iteration on one thread and on two; seconds and memory to a small NashConv in the whole game."""
    from kibitz.games import game
    from kibitz.papers.sandholm_rhode_island import run_solver
    from kibitz.poker.exact.form import poker_form
    from kibitz.solvers import Task, make

    name, until = (SMALL, 1.0) if quick else (GAME, 1e-3)
    form = poker_form(game(name))
    solvers = [make(SOLVER, Task(None, form, threads=k)) for k in (1, 2)]
    rates = [float("inf")] * 2
    for _ in range(3):
        for k, solver in enumerate(solvers):
            solver.step(1)
            began = time.perf_counter()
            solver.step(4)
            rates[k] = min(rates[k], (time.perf_counter() - began) / 4)
    moved = BYTES * form.sequences
    run = run_solver(SOLVER, until, 600.0, name)
    reached = {f"{gap:g}": run.reached(gap) for gap in (1.0, 0.1, 0.01, 0.001)}
    return {
        "game": name, "histories": form.histories, "sequences": form.sequences, "solver": SOLVER,
        "one": rates[0], "two": rates[1], "ratio": rates[0] / rates[1],
        "bytes": moved, "bandwidth": [moved / rate for rate in rates], "copy": copying(),
        "reached": {gap: at for gap, at in reached.items() if at}, "gap": run.gap[-1],
        "interval": list(run.interval), "peak_gb": run.rss / 1e9,
    }  # fmt: skip


def copying() -> list[float]:
    """Bytes a second that one core and two move between arrays beyond the caches, each read and each written byte."""
    import numpy as np

    from kibitz.core.threads import together

    size = 1 << 25
    arrays = [(np.ones(size, np.float32), np.zeros(size, np.float32)) for _ in range(2)]
    rates = []
    for threads in (1, 2):
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            together(lambda i: np.copyto(arrays[i][1], arrays[i][0]), threads)
            best = min(best, time.perf_counter() - began)
        rates.append(threads * 2 * 4 * size / best)
    return rates


def poker_markdown(figure: dict[str, Any]) -> list[str]:
    reached = "; ".join(
        f"{gap} chips after {seconds:.1f} s ({iterations:,} iterations)"
        for gap, (iterations, seconds) in figure["reached"].items()
    )
    low, high = figure["interval"]
    one, two = (bandwidth / copy for bandwidth, copy in zip(figure["bandwidth"], figure["copy"], strict=True))
    return section(
        "Rhode Island hold'em",
        f"`{figure['game']}` without abstraction: {figure['histories']:,} histories, {figure['sequences']:,} sequences "
        f"up to suit isomorphism. An iteration of {figure['solver']}: {1e3 * figure['one']:.0f} ms on one thread, "
        f"{1e3 * figure['two']:.0f} ms on two ({figure['ratio']:.2f}x). It moves at least "
        f"{figure['bytes'] / 1e6:.0f} MB: {one:.0%} of the memory bandwidth of a copy on one core, {two:.0%} on two.",
        f"NashConv by exact best responses, on two threads: {reached}. The value for the "
        f"first player is {low:.5f} to {high:.5f} chips. Peak memory {figure['peak_gb']:.2f} GB.",
    )


# Public chance sampling on limit hold'em, beside OpenSpiel's MCCFR

HOLDEM, HOLDEM_BUCKETS = "poker(file=holdem.limit.2p)", "percentile(8)"
SMALL_HOLDEM, SMALL_HOLDEM_BUCKETS = "poker(file=holdem.limit.2p, ranks=4)", "percentile(3)"

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
solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed=0)
done, began = 0, time.perf_counter()
while time.perf_counter() - began < float(sys.argv[1]):
    solver.run_iteration()
    done += 1
rate = done / (time.perf_counter() - began)
print(json.dumps({"decisions": decisions, "rate": rate, "version": getattr(pyspiel, "__version__", "")}))
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

    name, buckets = (SMALL_HOLDEM, SMALL_HOLDEM_BUCKETS) if quick else (HOLDEM, HOLDEM_BUCKETS)
    rules: Any = game(name)
    form = ViewForm(rules, [hand_buckets(rules.definition, buckets)])
    rates = []
    for threads in (1, 2):
        solver: Any = make("pcs", Task(None, form, threads=threads))
        solver.step(16)
        done, began = solver.iteration, time.perf_counter()
        while time.perf_counter() < began + 2 * seconds:
            solver.step(16)
        rates.append((solver.iteration - done) / (time.perf_counter() - began))
    decisions = decisions_of(form, solver.boards, solver.hole)
    child = subprocess.run([python, "-c", PEER, str(4 * seconds)], capture_output=True, text=True, check=False)
    peer = json.loads(child.stdout or "{}")
    theirs = peer["rate"] * peer["decisions"] if peer else None
    return {
        "game": name, "buckets": buckets, "infosets": form.points, "decisions": decisions,
        "one": rates[0], "two": rates[1],
        "peer": {"name": "OpenSpiel, external sampling", **peer} if peer else None,
        "ratio": rates[0] * decisions / theirs if theirs else None,
    }  # fmt: skip


# Sampled boards on one thread and on two: games and their buckets
SAMPLED = {"poker(file=leduc)": "percentile(3)", "poker(file=holdem.limit.2p, ranks=4)": "percentile(4)",
           "poker(file=holdem.limit.2p, ranks=5)": "percentile(4)",
           "poker(file=holdem.limit.2p)": "percentile(8)"}  # fmt: skip


def stepping_on_boards(spec: str, game: str, threads: int = 1) -> TimedWork:
    """Iterations of public chance sampling."""
    from kibitz.games import game as game_of
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.sampled.form import ViewForm
    from kibitz.solvers import Task, make

    rules: Any = game_of(game)
    form = ViewForm(rules, [hand_buckets(rules.definition, SAMPLED[game])])
    return TimedWork(spec, make(spec, Task(None, form, threads=threads)).step, lambda: 0.0)


def holdem_markdown(figure: dict[str, Any]) -> list[str]:
    peer, each = figure["peer"], figure["decisions"]
    blocks = [
        f"`{figure['game']}` with {figure['buckets']}: {figure['infosets']:,} infosets. An iteration samples a board "
        f"and updates all hands on it, {each:,} decisions: {1e3 / figure['one']:.0f} ms on one thread, "
        f"{1e3 / figure['two']:.0f} ms on two ({figure['two'] / figure['one']:.2f}x), "
        f"{figure['one'] * each / 1e6:.0f} million decisions per second on one."
    ]
    if peer:
        blocks.append(
            f"{peer['name']} on universal_poker, the same betting without buckets: {peer['rate']:,.0f} iterations per "
            f"second of {peer['decisions']:.0f} decisions, {peer['rate'] * peer['decisions'] / 1e3:,.0f} thousand "
            f"decisions per second on one thread. Ratio: {figure['ratio']:,.0f}."
        )
    return section("Limit hold'em by public chance sampling", *blocks)


# Three-player limit hold'em by sampling: training and matches, by number of threads

HOLDEM_3, LIMIT_3 = "poker(file=holdem.limit.3p)", 162_000_000
SMALL_HOLDEM_3, SMALL_LIMIT_3 = "poker(file=holdem.limit.3p, ranks=4)", 12_000_000
DEALS_3 = 20_000
WARM_UP, BLOCK = 20_000, 2_000  # iterations before it is timed, and of each piece


def three_figure(seconds: float, quick: bool) -> dict[str, Any]:
    """Decisions a second of external sampling, with all memory touched first and without the halvings of the first
    minutes, and hands a minute of a match."""
    import numpy as np

    from kibitz.core.resources import cores
    from kibitz.evaluate.match import match
    from kibitz.play.agents import blueprint_agent
    from kibitz.solvers.blueprint import walked
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.new_blueprints import BlueprintRequest, new_blueprint

    machine = machine_of(SMALL_HOLDEM_3 if quick else HOLDEM_3)
    blueprint: Any = new_blueprint(machine, BlueprintRequest(max_infosets=SMALL_LIMIT_3 if quick else LIMIT_3))
    blueprint.warm_up()
    blueprint.table.regret[:] = np.float32(0.0)
    blueprint.table.average[:] = np.float32(0.0)
    blueprint.train(iterations=2_000 if quick else WARM_UP, threads=cores())
    rates = {}
    for threads in sorted({1, 2, cores()}):
        with ThreadPoolExecutor(threads) as pool:
            done, began = 0, time.perf_counter()
            while time.perf_counter() - began < 4 * seconds:
                at = blueprint.iteration
                mask, player = blueprint.mask(), blueprint.base_player()
                done += int(walked(blueprint, mask, player, at, at + BLOCK, threads, pool)[0])
                blueprint.iteration = at + BLOCK
            rates[threads] = done / (time.perf_counter() - began)
    agent = blueprint_agent(blueprint, machine, "base")
    match(machine, agent, agent, agent, deals=10)
    deals = DEALS_3 // 20 if quick else DEALS_3
    began = time.perf_counter()
    result = match(machine, agent, agent, agent, deals=deals)
    minute = 60 * result.deals * result.seatings / (time.perf_counter() - began)
    return {
        "game": machine.spec, "buckets": blueprint.abstraction, "infosets": blueprint.capacity,
        "columns": len(blueprint.table.regret), "bytes": blueprint.nbytes,
        "rates": {str(k): rate for k, rate in rates.items()}, "hands_a_minute": minute,
    }  # fmt: skip


def three_markdown(figure: dict[str, Any]) -> list[str]:
    rates = {int(k): rate for k, rate in figure["rates"].items()}
    said = "; ".join(
        f"{rate / 1e6:.2f} million on {threads} thread{'s' * (threads > 1)}"
        + f" ({rate / rates[1]:.2f}x)" * (threads > 1)
        for threads, rate in rates.items()
    )
    return section(
        "Three-player limit hold'em",
        f"`{figure['game']}` with {figure['buckets']}: {figure['infosets']:,} infosets, {figure['columns']:,} "
        f"columns, {figure['bytes'] / 1e9:.1f} GB of regrets and averages. Decisions per second of external sampling: "
        f"{said}. A match of three players, six seatings per deal: {figure['hands_a_minute'] / 1e6:.1f} million "
        "hands per minute.",
    )


# Endgames of limit hold'em: how long until NashConv is 1% of the pot

ENDGAME_GAP = 0.01
# (what, betting, endgames, most seconds that are asked for): pots of 6 to 14 big bets.
ENDGAMES = (
    ("river", ("crc/crc/crrc/", "rc/cc/crc/", "crc/rc/rrc/"), 12, 0.1),
    ("turn and river", ("crc/crc/", "rc/cc/"), 6, 2.0),
)


def endgames_figure(quick: bool) -> dict[str, Any]:
    """Random boards, ranges that leave a seat a third of its hands or so."""
    import numpy as np

    from kibitz.games import game as make_game
    from kibitz.poker.endgames.endgames import solved
    from kibitz.poker.endgames.subgame import Endgame

    rules: Any = make_game(HOLDEM)
    tree, rng, figure = rules.betting, np.random.default_rng(7), {}
    for what, bettings, count, goal in ENDGAMES[:1] if quick else ENDGAMES:
        each = []
        for number in range(-1, 2 if quick else count):  # the first compiles
            node = tree.text.index(bettings[number % len(bettings)])
            shown = sum(rules.definition.board[: int(tree.round[node]) + 1])
            began = time.perf_counter()
            endgame = Endgame(rules, node, rng.permutation(52)[:shown].tolist())
            endgame.ranges = rng.random(endgame.ranges.shape) ** 3
            setup = time.perf_counter() - began
            answer = solved(endgame, gap=ENDGAME_GAP)
            each.append((time.perf_counter() - began, setup, answer.iterations, answer.gap or 0.0, endgame.sequences))
        table = np.array(each[1:])
        figure[what] = {
            "count": len(table), "median": float(np.median(table[:, 0])), "most": float(table[:, 0].max()),
            "made": float(np.median(table[:, 1])), "iterations": float(table[:, 2].mean()),
            "gap": float(table[:, 3].max()), "sequences": int(table[0, 4]), "goal": goal,
        }  # fmt: skip
    return figure


def endgames_markdown(figure: dict[str, Any]) -> list[str]:
    rows = [
        f"| {what} | {each['sequences']:,} | {each['count']} | {each['iterations']:.0f} | {1e3 * each['made']:.0f} | "
        f"{1e3 * each['median']:.0f} | {1e3 * each['most']:.0f} |"
        for what, each in figure.items()
    ]
    return section(
        "Endgame solving",
        f"Limit hold'em with all hands, until NashConv is {100 * ENDGAME_GAP:g}% of the pot, including best-response "
        "evaluation; random boards and ranges, in milliseconds:",
        ["| from | sequences | endgames | iterations | set-up | median | maximum |",
         "|---|---:|---:|---:|---:|---:|---:|", *rows],
    )  # fmt: skip


# Jam or fold: charts, sums over ranges, and boards of the table of three

SWEPT = 300  # states of the slides' tournament that are gone over at once
JAM_BOARDS = 200
JAM_GOAL = 2.0  # seconds for a chart of three players, after set-up


def jam_figure(seconds: float, quick: bool) -> dict[str, Any]:
    """How long a chart takes once tables are read, how fast ranges are summed by threads, and boards of three hands."""
    import numpy as np

    from kibitz.cards.kernels import three
    from kibitz.cards.recipes import board_weights, class_of, triples_recipe
    from kibitz.cards.tables import state
    from kibitz.core.resources import cores
    from kibitz.poker.tournaments import pushfold, tournament
    from kibitz.poker.tournaments.exact import ExactHand
    from kibitz.poker.tournaments.fictitious import JamFoldPlay

    exact = state(triples_recipe()) == "made" and not quick
    charts = {}
    for stacks in ([20, 20], [10, 7, 13], *([[12, 8, 20, 9], [20] * 6] if not quick else [])):
        deals = None if len(stacks) == 2 or (len(stacks) == 3 and exact) else 5_000 if quick else 100_000
        times = []
        for _ in range(2):  # the first reads tables and compiles
            began = time.perf_counter()
            chart = pushfold(stacks, (1, 2), [50, 30, 20], deals=deals)
            times.append(time.perf_counter() - began)
        charts[str(len(stacks))] = {"seconds": times[1], "first": times[0], "deals": chart.deals,
                                    "rounds": chart.rounds, "epsilon": chart.epsilon}  # fmt: skip
    sweeps: dict[str, float] = {}
    if exact:
        level = tournament().levels[1]
        play = JamFoldPlay(ExactHand(3), level.forced[:SWEPT])
        play.run(level.payoffs(tournament().icm)[:SWEPT], 5)
        for threads in sorted({1, cores()}):
            began = time.perf_counter()
            play.engine.moments(play.jams, threads)
            sweeps[str(threads)] = (time.perf_counter() - began) / SWEPT * level.count
    count = 5 if quick else JAM_BOARDS
    boards = np.array([np.random.default_rng(k).permutation(52)[:5] for k in range(count)], np.uint8)
    new = three.empty()
    three.add_boards(boards[:1], board_weights()[:1], class_of(), new)
    began = time.perf_counter()
    three.add_boards(boards, np.ones(len(boards), np.int64), class_of(), new)
    return {"charts": charts, "sweeps": sweeps, "board": (time.perf_counter() - began) / len(boards)}


def jam_markdown(figure: dict[str, Any]) -> list[str]:
    said = []
    for players, chart in figure["charts"].items():
        how = f"over {chart['deals']:,} sampled deals" if chart["deals"] else "all cards counted"
        said.append(f"{players} players {chart['seconds']:.2f} s ({how}, {chart['rounds']} rounds, epsilon "
                    f"{chart['epsilon']:.1e} of prizes 50/30/20)")  # fmt: skip
    text = (
        f"All charts of a hand, after set-up: {'; '.join(said)}. One board of the three-hand table takes "
        f"{1000 * figure['board']:.1f} ms of a core, all 134,459 some {figure['board'] * 134_459 / 60:.0f} minutes."
    )
    if figure["sweeps"]:
        each = ", ".join(
            f"{took:.1f} s on {threads} thread{'s' * (int(threads) > 1)}" for threads, took in figure["sweeps"].items()
        )
        text += f" One round of fictitious play at all 946 states of the slides' tournament: {each}."
    return section("Jam or fold", text)
