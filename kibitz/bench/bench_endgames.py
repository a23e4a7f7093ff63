"""Endgames of limit hold'em, for `kibitz bench --only endgames`: how long until the gap is 1% of the pot."""

from __future__ import annotations

import time
from typing import Any

from kibitz.report.page import section

GAME, GAP = "poker(file=holdem.limit.2p)", 0.01
# (what, betting, endgames, most seconds that are asked for): pots of 6 to 14 big bets.
KINDS = (
    ("river", ("crc/crc/crrc/", "rc/cc/crc/", "crc/rc/rrc/"), 12, 0.1),
    ("turn and river", ("crc/crc/", "rc/cc/"), 6, 2.0),
)


def endgames_figure(quick: bool) -> dict[str, Any]:
    """Random boards, ranges that leave a seat a third of its hands or so."""
    import numpy as np

    from kibitz.games import game as make_game
    from kibitz.poker.endgames.endgames import solved
    from kibitz.poker.endgames.subgame import Endgame

    rules: Any = make_game(GAME)
    tree, rng, figure = rules.betting, np.random.default_rng(7), {}
    for what, bettings, count, goal in KINDS[:1] if quick else KINDS:
        each = []
        for number in range(-1, 2 if quick else count):  # the first compiles
            node = tree.text.index(bettings[number % len(bettings)])
            shown = sum(rules.definition.board[: int(tree.round[node]) + 1])
            began = time.perf_counter()
            endgame = Endgame(rules, node, rng.permutation(52)[:shown].tolist())
            endgame.ranges = rng.random(endgame.ranges.shape) ** 3
            setup = time.perf_counter() - began
            answer = solved(endgame, gap=GAP)
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
        f"{1e3 * each['median']:.0f} | {1e3 * each['most']:.0f} | {1e3 * each['goal']:.0f} |"
        for what, each in figure.items()
    ]
    return section(
        "Endgames at the table",
        f"Limit hold'em with all hands, until NashConv is {100 * GAP:g}% of the pot, evaluations included; random "
        "boards and ranges, milliseconds:",
        ["| from | sequences | endgames | iterations | to set up | median | most | goal |",
         "|---|---:|---:|---:|---:|---:|---:|---:|", *rows],
    )  # fmt: skip
