"""The README's table of other programs: its figures come from docs/results.json and docs/gpu.json, its facts from their
own documents.

`python -m kibitz.bench.docs` writes the table between two comments in README.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from kibitz.bench.bench_spots import PEER, TWO
from kibitz.bench.results import Result, read

PAGE = Path(__file__).parents[2] / "README.md"
RESULTS = PAGE.parent / "docs" / "results.json"
GPU = PAGE.parent / "docs" / "gpu.json"
SPOT_DATA = PAGE.parent / "docs" / "spots.json"
SPOTS = "spots"
BEGIN = "<!-- written by python -m kibitz.bench.docs -->\n"
END = "<!-- end -->\n"
BLOCK = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
# Each row: name and address, what the program has that kibitz does not (as its documents say), the key of its figures.
PROGRAMS = [
    ("[OpenSpiel](https://github.com/google-deepmind/open_spiel)",
     "many more games; algorithms for reinforcement learning and planning", "OpenSpiel"),
    ("[LiteEFG](https://github.com/liumy2010/LiteEFG)",
     "update rules that you write in Python and that run in C++", "LiteEFG"),
    ("[Gambit](https://www.gambit-project.org)",
     "all equilibria of small games, quantal response equilibria, a graphical editor", "Gambit"),
    ("[TexasSolver](https://github.com/bupticybee/TexasSolver)", "a desktop program; short-deck hold'em", ""),
    ("[postflop-solver](https://github.com/b-inary/postflop-solver)", "a library for Rust and WebAssembly", SPOTS),
    ("[HRC](https://www.holdemresources.net)",
     "play before the flop with up to ten players, ICM of several tables (commercial)", ""),
]  # fmt: skip


def page() -> str:
    """The README with a new table."""
    text = PAGE.read_text(encoding="utf-8")
    return BLOCK.sub(lambda _: BEGIN + table(read(RESULTS)) + END, text)


def spots_speed() -> str:
    """Spots beside postflop-solver, from the data of docs/spots.md."""
    rows = [row["measured"] for row in json.loads(SPOT_DATA.read_text(encoding="utf-8"))["rows"]]
    times = [row[PEER]["seconds"] / row[TWO]["seconds"] for row in rows if PEER in row and "seconds" in row[TWO]]
    return (f"Time to 0.5% of the pot, two threads each, x86_64: **{min(times):.1f}x to {max(times):.1f}x** on "
            f"{len(times)} flops, turns and rivers ([spots](docs/spots.md))")  # fmt: skip


def table(results: dict[str, Result]) -> str:
    """One row for each program, and a line on how the figures were measured."""
    main = max(results, key=lambda name: sum(row["ratio"] is not None for row in results[name]["rows"]))
    lines = ["| program | what it has that kibitz lacks | speed of kibitz against it, one thread each |"]
    lines.append("|---|---|---|")
    for name, lacking, peer in PROGRAMS:
        speed = spots_speed() if peer == SPOTS else _speed(results, main, peer) if peer else "not measured here"
        lines.append(f"| {name} | {lacking} | {speed} |")
    note = (
        f"Times in the table exclude compiling and loading, and are from {main} ([the benchmark](docs/results.md)). "
        "Ranges span all games and machines there. The picture was measured on the machine that it names."
    )
    return "\n".join(lines) + f"\n\n{note}\n\n{gpu_note()}\n"


def gpu_note() -> str:
    """What a GPU brings, from docs/gpu.json."""
    result = json.loads(GPU.read_text(encoding="utf-8"))
    trees = [of | {"game": game} for game, of in result["trees"]["rates"].items() if "times_openspiel" in of]
    of, three = max(trees, key=lambda of: of["histories"]), result["rates"]["three"]
    return (
        f"On one {result['machine']['gpu']}, CFR+ on a game of {of['histories']:,} histories (`{of['game']}`) does "
        f"**{of['times_openspiel']:,.0f}x** as many iterations per second as OpenSpiel's C++, and training of "
        f"three-player limit hold'em is **{three['ratio']:,.0f}x** as fast as on two cores ([GPU](docs/gpu.md))."
    )


def _speed(results: dict[str, Result], main: str, peer: str) -> str:
    if peer == "Gambit":
        row = _row(results[main], "lp", "leduc", peer)
        if row["theirs"] is None:
            return f"Leduc by linear programming: {row['ours']:.2f} s; Gambit was stopped after {row['note'][2:]}"
        return f"Leduc by linear programming: **{row['ratio']:,.0f}x** faster"
    rows = [row for result in results.values() for row in result["rows"] if row["peer"] == peer and row["ratio"]]
    iterations = [row for row in rows if row["figure"] == "cfr+"]
    ratios = [row["ratio"] for row in iterations if row["game"] != "kuhn"]
    kuhn = [row["ratio"] for row in iterations if row["game"] == "kuhn"]
    text = f"CFR+ iterations per second, against its C++: {_span(kuhn)} on Kuhn poker"
    text += f", {_span(ratios)} on five larger games"
    regret, best = (_row(results[main], figure, "leduc", peer) for figure in ("regret", "target"))
    text += f". Leduc to NashConv 1e-4 by CFR+: {regret['ours']:.2f} s against {regret['theirs']:.0f} s"
    if "LP" in best["solver"]:
        exact = _row(results[main], "lp", "leduc", peer)
        text += f". Its fastest way there is its linear program, {best['theirs']:.1f} s: **{best['ratio']:,.0f}x**"
        text += f", against CFR+ of kibitz. Exact, both by linear programming: **{exact['ratio']:,.0f}x**"
    small = _row(results[main], "nash_conv", "kuhn", peer)["ratio"]
    return text + (f". Computing NashConv on Kuhn poker: {peer} is {1 / small:.0f}x faster" if small < 1 else "")


def _span(ratios: list[float]) -> str:
    low, high = (f"{end(ratios):,.0f}x" for end in (min, max))
    return f"**{low}**" if low == high else f"**{low} to {high}**"


def _row(result: Result, figure: str, game: str, peer: str) -> Result:
    return next(row for row in result["rows"] if (row["figure"], row["game"], row["peer"]) == (figure, game, peer))
