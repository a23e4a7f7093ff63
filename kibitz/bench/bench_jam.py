"""Hands of jam or fold, for `kibitz bench --only jam`: charts, sums over ranges, and boards of the table of three."""

from __future__ import annotations

import time
from typing import Any

from kibitz.report.page import section

SWEPT = 300  # states of the slides' tournament that are gone over at once
BOARDS = 200
GOAL = 2.0  # seconds for a chart of three players, after set-up


def jam_figure(seconds: float, quick: bool) -> dict[str, Any]:
    """How long a chart takes once tables are read, how fast ranges are summed by threads, and boards of three hands."""
    import numpy as np

    from kibitz.cards.kernels import three
    from kibitz.cards.recipes import board_weights, class_of, triples_recipe
    from kibitz.cards.tables import state
    from kibitz.core.resources import cores
    from kibitz.poker.tournaments import pushfold, tournament
    from kibitz.poker.tournaments.exact import ExactHand
    from kibitz.poker.tournaments.fictitious import FictitiousPlay

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
        play = FictitiousPlay(ExactHand(3), level.forced[:SWEPT])
        play.run(level.payoffs(tournament().icm)[:SWEPT], 5)
        for threads in sorted({1, cores()}):
            began = time.perf_counter()
            play.engine.moments(play.jams, threads)
            sweeps[str(threads)] = (time.perf_counter() - began) / SWEPT * level.count
    boards = np.array([np.random.default_rng(k).permutation(52)[:5] for k in range(5 if quick else BOARDS)], np.uint8)
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
        f"All charts of a hand, after set-up: {'; '.join(said)}. A board of the table of three hands takes "
        f"{1000 * figure['board']:.1f} ms of a core, all 134,459 some {figure['board'] * 134_459 / 60:.0f} minutes."
    )
    if figure["sweeps"]:
        each = ", ".join(
            f"{took:.1f} s on {threads} thread{'s' * (int(threads) > 1)}" for threads, took in figure["sweeps"].items()
        )
        text += f" One round of fictitious play at all 946 states of the slides' tournament: {each}."
    return section("Jam or fold", text)
