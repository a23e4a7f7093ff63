"""The README's picture: NashConv of Leduc hold'em over time, by kibitz, OpenSpiel and LiteEFG.

    python -m kibitz.bench.pictures --peers-python .venv-peers/bin/python    measure all, store the curves and draw them
    python -m kibitz.bench.pictures --draw                                   draw the stored curves again

The curves are stored in docs/leduc.json, with the machine and the versions; docs/leduc.png is drawn from that file.
Every solver has one thread and a process of its own. Times are those of iterations: laying out the game, compiling and
best-response evaluation are not counted, for any program. Each peer runs its fastest regret minimiser on this game
(`kibitz.bench.peers`) and, if it has one, its linear program. OpenSpiel's linear program lays the game out in the same
call, so its time includes that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kibitz.bench import peers
from kibitz.bench.verdicts import machine
from kibitz.core import store
from kibitz.core.errors import KibitzError
from kibitz.report.figures import Curves, FigurePanel, Line
from kibitz.report.heat import draw

PICTURE = Path("docs/leduc.png")
GAME, TITLE = "leduc", "Leduc hold'em: NashConv over time"
REPEATS = 2  # of each solver: at each point the fastest counts, since other work on the machine can only slow it down
LIMIT, TARGET = 45.0, 1e-9  # a curve ends after so many seconds, or at this NashConv
SHORTER = 4  # our curves are so many times shorter: they are at the end of the picture long before
# program, figure of `peers` or solver of kibitz, name in the picture
CURVES = (("kibitz", "cfr+", "CFR+"), ("kibitz", "pcfr+", "PCFR+"), ("OpenSpiel", "cfr+", "CFR+"),
          ("LiteEFG", "cfr+", "CFR+"))  # fmt: skip
EXACT = (("kibitz", "lp", "LP"), ("OpenSpiel", "lp", "LP"))
Point = tuple[int, float, float, float]  # iterations, wall seconds, processor seconds, NashConv


def measure(python: str, say: Callable[[str], None], limit: float = LIMIT) -> dict[str, Any]:
    """All curves and exact solvers, the one after the other, `REPEATS` times."""
    versions: dict[str, str] = {}
    runs: dict[tuple[str, str, str], list[list[Point]]] = {each: [] for each in (*CURVES, *EXACT)}
    names: dict[tuple[str, str, str], str] = {}
    for _ in range(REPEATS):
        for each in runs:
            program, figure, _ = each
            measured = _child(program, figure, python, limit)
            if measured["note"].startswith(("skipped", "failed")):
                raise KibitzError(f"{program}, {figure}: {measured['note']}: `make peers` installs the other programs")
            points = measured["curve"]
            runs[each].append([(int(n), float(wall), float(cpu), float(gap)) for n, wall, cpu, gap in points])
            versions[program], names[each] = measured["version"], measured["solver"]
            say(f"{program} {measured['solver']}: {measured['note'] or runs[each][-1][-1]}")
    curves = [{"program": each[0], "name": each[2], "solver": names[each], "exact": each in EXACT,
               "points": fastest(runs[each])} for each in runs]  # fmt: skip
    return {"game": GAME, "machine": machine(), "versions": versions, "repeats": REPEATS, "curves": curves}


def fastest(runs: Sequence[Sequence[Point]]) -> list[Point]:
    """The least time at each point of some runs, which were evaluated after the same iterations."""
    shared = min(map(len, runs))
    return [(runs[0][k][0], min(run[k][1] for run in runs), min(run[k][2] for run in runs), runs[0][k][3])
            for k in range(shared)]  # fmt: skip


def _child(program: str, figure: str, python: str, limit: float) -> dict[str, Any]:
    """One run of a program in a process of its own, as a Measurement."""
    if program != "kibitz":
        return vars(peers.measure(program, figure, GAME, limit=limit, python=python, curve=TARGET))
    order = [sys.executable, "-m", "kibitz.bench.pictures", "--own", figure, "--limit", str(limit / SHORTER)]
    child = subprocess.run(order, env=os.environ | dict.fromkeys(peers.THREADS, "1"), capture_output=True, text=True)
    if child.returncode:
        raise KibitzError(f"kibitz, {figure}: {child.stderr.strip()[-300:]}")
    return dict(json.loads(child.stdout.splitlines()[-1]))


def own(solver: str, limit: float) -> dict[str, Any]:
    """kibitz's part, in this process: the same kind of work that the peers are timed by."""
    from kibitz.bench.bench import exact, stepping

    prepare = exact if solver == "lp" else lambda game: stepping(solver, game)
    work = prepare(GAME)
    work.step(1)  # compiled code is loaded off the clock
    work.nash_conv()
    version = machine()["kibitz"]
    return {"solver": solver, "version": version, "note": "", "curve": peers.curve(prepare(GAME), limit, TARGET)}


def picture(data: Mapping[str, Any]) -> Curves:
    """The picture of stored curves. Its times are of the processor: those of a core without other work."""
    lines, marks = [], []
    for each in data["curves"]:
        name = f"{each['program']}, {each['name']}"
        points = [point for point in each["points"] if point[3] > 0 or each["exact"]]
        if each["exact"]:
            marks.append((f"exact: {name}", points[-1][2]))
        else:
            lines.append(Line(name, tuple(point[2] for point in points), tuple(point[3] for point in points),
                              (0.0,) * len(points)))  # fmt: skip
    on, versions = data["machine"], ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    return Curves(
        "leduc", TITLE, "NashConv, chips", (FigurePanel("", tuple(lines), marks=tuple(marks)),), log_y=True,
        across="seconds of processor time", floor=TARGET / 10,
        note="One thread each. Times are of iterations: compiling and best-response evaluation are not counted, nor is "
        "layout (but in OpenSpiel's LP, where one call does both). LP: linear programming. "
        f"{versions}; {on['architecture']}, {on['processor']}.",
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.pictures", description="The README's picture.")
    parser.add_argument("picture", nargs="?", type=Path, default=PICTURE, help="its data stand beside it as .json")
    parser.add_argument("--draw", action="store_true", help="draw the stored data; measure nothing")
    parser.add_argument("--peers-python", default=sys.executable, help="a Python that has OpenSpiel and LiteEFG")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of each curve")
    parser.add_argument("--own", metavar="SOLVER", help="measure one solver of kibitz in this process; prints JSON")
    asked = parser.parse_args(arguments)
    if asked.own:
        print(json.dumps(own(asked.own, asked.limit)))
        return 0
    data = asked.picture.with_suffix(".json")
    if not asked.draw:
        measured = measure(asked.peers_python, lambda text: print(text, flush=True), asked.limit)
        store.write_text(data, json.dumps(measured, indent=1) + "\n")
    draw(picture(json.loads(data.read_text(encoding="utf-8"))), asked.picture)
    print(f"drew {asked.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
