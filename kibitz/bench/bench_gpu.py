"""kibitz bench --only gpu: all that runs on a GPU, checked against the CPU first, and only then timed.

    python -m kibitz.bench.bench_gpu --stages walks,trees --seconds 5 --json gpu.json    some stages alone

Stages that are left out keep the figures that the JSON file already has, if it was written on the same kind of GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kibitz.bench.bench_gpu_boards import bench_boards, boards_markdown
from kibitz.bench.bench_gpu_holdem import bench_holdem, holdem_markdown
from kibitz.bench.bench_gpu_poker import bench_poker, poker_markdown
from kibitz.bench.bench_gpu_trees import bench_trees, trees_markdown
from kibitz.bench.bench_gpu_walks import GpuBench, bench_walks, walks_checks, walks_markdown
from kibitz.bench.bench_gpu_whole import bench_whole, whole_markdown
from kibitz.core.errors import KibitzError
from kibitz.report.tables import section

WAIT = 600.0  # seconds for all checks of walks
QUICK = 5.0  # seconds a figure: below, others are taken of fewer endgames and iterations too
VISITS = 10_000  # of an infoset, in the arithmetic of what to rent
PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"
DATA = PAGE.with_suffix(".json")
HEAD = """# Kibitz on a GPU

With `--device gpu` these commands run on one NVIDIA GPU: `kibitz train` (Monte Carlo CFR), `kibitz solve` (CFR on a
game's tree, poker with all hands, public chance sampling, poker with hand buckets), `kibitz stitch` with the solver
`pcs`, and `kibitz evaluate` with `--whole`. A run that began on one device can be resumed on the other. Install
`kibitz[gpu13]`, or `kibitz[gpu12]` for CUDA 12.

This page is generated from docs/gpu.json, which `kibitz bench --only gpu --out docs/gpu.json` writes on a machine with
a GPU.
"""


def _boards(bench: GpuBench) -> None:
    bench.result["boards"] = bench_boards(bench.seconds, bench.keep, bench.compared)


def _trees(bench: GpuBench) -> None:
    bench_trees(bench.seconds / 10, bench.keep, compared=bench.compared, into=bench.result.setdefault("trees", {}))


def _poker(bench: GpuBench) -> None:
    bench_poker(bench.keep, bench.result.setdefault("poker", {}), bench.seconds < QUICK)


def _whole(bench: GpuBench) -> None:
    bench.result["whole"] = bench_whole(bench.keep)


def _holdem(bench: GpuBench) -> None:
    bench.result["holdem"] = bench_holdem(6 * bench.seconds, bench.keep)


STAGES: dict[str, Callable[[GpuBench], None]] = {
    "walks": bench_walks, "boards": _boards, "trees": _trees, "poker": _poker, "whole": _whole,
    "holdem": _holdem,
}  # fmt: skip


def bench_gpu(
    seconds: float = 20.0,
    out: str | Path | None = None,
    say: Callable[[str], None] | None = None,
    *,
    stages: Sequence[str] = tuple(STAGES),
    compared: bool = True,
    wait: float = WAIT,
) -> dict[str, Any]:
    """Check, then measure, stage by stage; returns what the JSON file holds. One stage that fails does not end the
    others.

    compared: whether the processor is timed too. wait: seconds after which a check that is not done counts as late.
    """
    from kibitz.solvers.gpu import gpu

    unknown = [name for name in stages if name not in STAGES]
    if unknown:
        raise KibitzError(f"--stages {unknown[0]}: choose of {', '.join(STAGES)}")
    bench = GpuBench(seconds, compared, wait, None if out is None else Path(out), say or partial(print, flush=True))
    machine = _device(gpu())
    if bench.out is not None and bench.out.exists() and len(stages) < len(STAGES):
        before = json.loads(bench.out.read_text(encoding="utf-8"))
        bench.result |= before if before.get("machine", {}).get("gpu") == machine["gpu"] else {}
    bench.result["machine"] = machine
    bench.keep(f"on {machine['gpu']}")
    failed = []
    for name in stages:
        try:
            STAGES[name](bench)
            bench.keep(f"{name}: done")
        except KibitzError as error:
            failed.append(f"{name}: {error}")
            bench.keep(f"{name} failed: {error}")
    if failed:
        raise KibitzError("; ".join(failed))
    return bench.result


def gpu_markdown(result: dict[str, Any]) -> list[str]:
    """The tables of all stages that were measured."""
    boards = boards_markdown(result["boards"]) if "boards" in result else []
    return [
        *walks_markdown(result), *boards, *holdem_markdown(result.get("holdem")), *trees_markdown(result),
        *poker_markdown(result.get("poker")), *whole_markdown(result),
    ]  # fmt: skip


def rent_markdown(result: dict[str, Any]) -> list[str]:
    """How long a GPU is needed, worked out from the figures of the stages."""
    rows = []
    if "three" in result.get("rates", {}):
        of = result["rates"]["three"]
        rows.append(_rent(f"train `holdem.limit.3p` at {of['rows']:,} infosets, {VISITS:,} visits each on average",
                          VISITS * of["rows"] / of["decisions"], of["bytes"]))  # fmt: skip
    if "boards" in result:
        of = next(iter(result["boards"]["rates"].values()))
        rows.append(_rent(f"train `holdem.limit.2p` at {of['infosets']:,} infosets on a million boards",
                          1e6 / of["boards"]))  # fmt: skip
    if result.get("holdem"):
        rows.append(_rent("best responses of both players to a strategy of that size over all boards",
                          result["holdem"]["seconds"]))  # fmt: skip
    if result.get("poker", {}).get("flop"):
        of = result["poker"]["flop"]
        rows.append(_rent(f"solve the flop below to {100 * of['gap']:.2f}% of the pot, all hands",
                          of["made"] + of["iteration"] * of["iterations"]))  # fmt: skip
    if not rows:
        return []
    return section(
        "What to rent", f"GPU time on one {result['machine']['gpu']}, worked out from the rates below, and the memory "
        "that regrets and average strategy take where it was measured. "
        "Other GPUs by NVIDIA with enough memory and CUDA 12 or 13 run the same code; "
        "none was measured. A run takes one GPU. Several GPUs of a machine can take an expert or a seed each, by "
        "one process each (CUDA_VISIBLE_DEVICES); one strategy is not trained on several.",
        ["| work | GPU minutes | memory |", "|---|---:|---:|", *rows],
    )  # fmt: skip


def _rent(work: str, seconds: float, size: float | None = None) -> str:
    return f"| {work} | {seconds / 60:,.1f} | {'-' if size is None else f'{size / 1e9:.1f} GB'} |"


def page() -> str:
    """docs/gpu.md, from the data beside it."""
    result = json.loads(DATA.read_text(encoding="utf-8"))
    machine = result["machine"]
    return "\n".join([
        HEAD, f"Machine: one {machine['gpu']}, {machine['multiprocessors']} multiprocessors; Numba {machine['numba']}; "
        f"{machine['date']}.", "", *rent_markdown(result), *gpu_markdown(result), *walks_checks(result),
    ])  # fmt: skip


def _device(cuda: Any) -> dict[str, Any]:
    from numba import __version__

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    return {"gpu": name, "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
            "bytes": int(cuda.current_context().get_memory_info().total), "numba": __version__,
            "date": time.strftime("%Y-%m-%d")}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m kibitz.bench.bench_gpu")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each rate")
    parser.add_argument("--json")
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--alone", action="store_true", help="do not time the processor")
    parser.add_argument("--wait", type=float, default=WAIT, help="seconds after which a check counts as late")
    of = parser.parse_args(arguments)
    try:
        bench_gpu(of.seconds, of.json, stages=[name for name in of.stages.split(",") if name], compared=not of.alone,
                  wait=of.wait)  # fmt: skip
    except KibitzError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
