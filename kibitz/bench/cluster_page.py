"""docs/cluster.md: what pieces of work cost on a cluster, and what follows for a thousand nodes.

From docs/cluster.json. More nodes help until one of these is the limit: there are no pieces left to begin (a piece is
done by one core), the command itself, which sends pieces and adds their answers up, or the way of the base to nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from kibitz.report.tables import section

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
DATA = PAGE.with_suffix(".json")
NODES = (1, 10, 100, 1000)
HEAD = """# Kibitz on a cluster

What `--on` costs, measured on one machine: the same work on its cores, and on a Ray of the same cores
([how to start a cluster](howto/cluster.md)). This page is generated from docs/cluster.json, which
`kibitz bench --only cluster --out docs/cluster.json` writes.
"""


class PieceCosts(NamedTuple):
    """Work in pieces, and what it costs: seconds of a core for a piece, seconds of the command for a piece, and bytes
    that every node has to have first."""

    name: str
    pieces: int
    seconds: float
    driver: float
    base: int = 0


class TimeOnNodes(NamedTuple):
    """How long an experiment takes on some nodes, and what it waits for."""

    seconds: float
    limit: str


def time_on_nodes(of: PieceCosts, nodes: int, cores: int, rate: float) -> TimeOnNodes:
    """The longest of what has to be done one after the other. rate: bytes a second from the first node to the others,
    together."""
    times = {
        "work": of.pieces * of.seconds / (nodes * cores),
        "a piece": of.seconds,
        "the command": of.pieces * of.driver,
        "the base": nodes * of.base / rate,
    }
    limit = max(times, key=lambda name: times[name])
    return TimeOnNodes(times[limit] + (times["the base"] if limit != "the base" else 0.0), limit)


def overhead(work: dict[str, Any], field: str) -> float:
    """How much more Ray takes than the pool of this machine, of medians: 0.05 is 5%."""
    return float(median(work["ray"][field]) / median(work["local"][field]) - 1.0)


def share_of(result: dict[str, Any]) -> float:
    """The share of the cores that local runs had, of all their seconds."""
    runs = [work["local"] for work in result["works"].values()]
    spent, passed = (sum(sum(run[field]) for run in runs) for field in ("processor", "wall"))
    return float(spent / (passed * result["cores"]))


def costs_of(result: dict[str, Any]) -> list[PieceCosts]:
    """What was measured, at the size that was measured; and limit hold'em over all boards, by one of its flops."""
    dispatch = max(each["driver"] for each in result["dispatch"])
    listed = []
    for name, work in result["works"].items():
        pieces, driver = work["pieces"], median(work["ray"]["driver"])
        seconds = (median(work["ray"]["processor"]) - driver) / pieces
        listed.append(PieceCosts(name, pieces, seconds, driver / pieces + work.get("put", 0.0)))
    if "whole" in result:
        whole = result["whole"]
        seconds = whole["seconds"] * whole["boards"] / whole["boards_timed"] / whole["pieces"]
        sweep = next((each.driver for each in listed if each.name == "sweep"), dispatch)
        listed.append(PieceCosts("whole", whole["pieces"], seconds, max(dispatch, sweep), whole["base"]))
    return listed


def rate_of(result: dict[str, Any]) -> float:
    """Bytes a second that nodes got together, at the most nodes that were tried."""
    most = max(result["broadcast"], key=lambda each: int(each["nodes"]))
    return float(most["nodes"] * most["bytes"] / most["seconds"])


ABOUT = {
    "sweep": "shrunken hold'em over all boards", "table": "a table of hand strength", "match": "a match",
    "whole": "limit hold'em over all boards",
}  # fmt: skip


def cluster_markdown(result: dict[str, Any]) -> list[str]:
    """All sections."""
    return [*_overhead(result), *_costs(result), *_memory(result), *_saturation(result), *_rent(result)]


def _overhead(result: dict[str, Any]) -> list[str]:
    rows = []
    for name, work in result["works"].items():
        figures = [median(work[where][field]) for field in ("wall", "processor") for where in ("local", "ray")]
        local, far, local_cores, far_cores = (f"{each:.1f}" for each in figures)
        more, more_cores = (f"{100 * overhead(work, field):+.1f}%" for field in ("wall", "processor"))
        rows.append(f"| {name} | {local} | {far} | {more} | {local_cores} | {far_cores} | {more_cores} |")
    start, count = result["start"], result["cores"]
    works = "; ".join(f"{name}: {work['about']}" for name, work in result["works"].items())
    return section(
        "Overhead",
        f"{works}. Medians of {result['rounds']} runs each on {count} cores, in turns, after a run that is not "
        f"counted; all answers were the same to the byte. Local runs had {100 * share_of(result):.0f}% of these cores, "
        "other programs the rest: the less it is, the more seconds vary, and core seconds, of the command and all its "
        "processes, on Ray with Ray's own, are the better measure.",
        ["| work | s, local | s, Ray | | core s, local | core s, Ray | |", "|---|" + "---:|" * 6, *rows],
        f"Start-up: the first piece is answered {start['first']:.1f} s after the command asks for Ray, and "
        f"{start['all']:.1f} s after it all {count} workers have answered. The first work of a kind then loads "
        "compiled code in every worker.",
    )


def _costs(result: dict[str, Any]) -> list[str]:
    rows = []
    for of in costs_of(result):
        work = result["works"].get(of.name)
        size = "| - | - |" if work is None else (
            f"| {work['bytes_in'] / of.pieces:,.0f} | {work.get('sent', work['bytes_out'] / of.pieces):,.0f} |"
        )  # fmt: skip
        name = ABOUT.get(of.name, of.name)
        rows.append(f"| {name} | {of.pieces:,} | {of.seconds:.3f} {size} {1e3 * of.driver:.2f} |")
    return section(
        "What a piece costs",
        "Seconds of a core on a node; bytes of its arguments and of its answer; milliseconds of the command, which "
        "sends it and adds its answer up, and saves a table or a sweep in the end. Short pieces are sent together, as "
        "many as take a second. Workers of this machine write a table into the memory of the command; the figures here "
        "are for other machines, whose answers are sent. Limit hold'em is worked out from one of its flops, by the "
        "number of boards.",
        ["| work | pieces | core s | bytes in | bytes out | command ms |", "|---|---:|---:|---:|---:|---:|", *rows],
    )


def _memory(result: dict[str, Any]) -> list[str]:
    base = result.get("shared_base")
    if base is None:
        return []
    size, seen, share, whole = (f"{each / 1e6:,.1f}" for each in (
        base["base"], sum(base["seen"]), sum(base["share"]), sum(base["worker"]) / base["workers"]))  # fmt: skip
    return section(
        "Memory of a node",
        f"{base['workers']} experts of {base['game']} on one node, each in a worker of its own, over one saved base. "
        "What all workers together have in memory of the base is its size once: a page that eight of them see counts "
        "an eighth for each (Pss in /proc). The last column is the memory of a worker, its own and its share.",
        ["| workers | MB of the base | MB that workers see, added up | MB in memory | MB of a worker |",
         "|---:|---:|---:|---:|---:|", f"| {base['workers']} | {size} | {seen} | {share} | {whole} |"],
    )  # fmt: skip


def _saturation(result: dict[str, Any]) -> list[str]:
    empty = [
        f"| {each['under_way']:,} | {1 / each['wall']:,.0f} | {1e3 * each['driver']:.2f} |"
        for each in result["dispatch"]
    ]
    sent = [
        f"| {each['nodes']} | {each['bytes'] / 1e6:,.0f} | {each['seconds']:.2f} | "
        f"{each['nodes'] * each['bytes'] / each['seconds'] / 1e6:,.0f} |"
        for each in result["broadcast"]
    ]
    rate, count, rows = rate_of(result), result["cores"], []
    for of in costs_of(result):
        durations = [time_on_nodes(of, nodes, count, rate) for nodes in NODES]
        cells = " | ".join(f"{_time(each.seconds)} ({each.limit})" for each in durations)
        rows.append(f"| {ABOUT.get(of.name, of.name)} | {of.seconds / of.driver:,.0f} | {cells} |")
    return section(
        "To a thousand nodes",
        "Empty pieces, each sent alone, by how many are under way:",
        ["| under way | pieces/s | command ms a piece |", "|---:|---:|---:|", *empty],
        "An array from the first node to others, which here are processes of one machine, so that no network is in it:",
        ["| nodes | MB | s until all have it | MB/s together |", "|---:|---:|---:|---:|", *sent],
        f"From these: the cores that the command can keep at work (core seconds of a piece over seconds of the command "
        f"for it), and how long the same work takes on nodes of {count} cores like this one, with what it waits for. "
        "Waiting for `a piece` means that there are more cores than pieces; for `the command`, that pieces are too "
        "short; for `the base`, that nodes fetch strategies and buckets from the first one: use a shared disk.",
        [f"| work | cores at most | {' | '.join(f'nodes: {n:,}' for n in NODES)} |",
         "|---|---:|" + "---:|" * len(NODES), *rows],
    )  # fmt: skip


def _rent(result: dict[str, Any]) -> list[str]:
    rate, rows = rate_of(result), []
    for of in costs_of(result):
        total = of.pieces * of.seconds
        useful = min(of.pieces, int(of.seconds / of.driver))
        best = max(of.seconds, of.pieces * of.driver, total / max(1, useful))
        rows.append(f"| {ABOUT.get(of.name, of.name)} | {total / 3600:,.3f} | {useful:,} | {_time(best)} | "
                    f"{_time(of.base / rate)} |")  # fmt: skip
    return section(
        "What to rent for which experiment",
        "Core hours of cores like these; the most cores that have something to do; the shortest time, with so many; "
        "and how long one node fetches the base. The price is that of the core hours, whatever the number of nodes.",
        ["| work | core hours | useful cores | shortest time | base |", "|---|---:|---:|---:|---:|", *rows],
    )


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{seconds:.2f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else (
        f"{seconds / 3600:.1f} h")  # fmt: skip


def page() -> str:
    """docs/cluster.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    machine = result["machine"]
    return "\n".join([
        HEAD, f"Machine: {machine['processor']}, {result['cores']} cores; Ray {machine['ray']}, Numba "
        f"{machine['numba']}; {machine['date']}.", "", *cluster_markdown(result),
    ])  # fmt: skip
