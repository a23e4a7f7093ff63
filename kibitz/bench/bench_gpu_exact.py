"""What a GPU's training is worth, measured exactly, and what is left of it when its process is killed.

Part of `kibitz bench --only gpu`. In small games the average strategy of as many iterations has the same NashConv
whichever device trained it. With three players it is compared with CFR on the tree too: external sampling then weighs
each visit so that its average is CFR's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 4  # of the CPU
SEEDS = 3  # of a CPU's runs, whose spread a GPU's run is compared with
SPREAD = 4.0  # standard deviations that it may lie above their mean
LEAST = 0.1  # of the mean, counted as one standard deviation at least: three runs may lie close by luck


@dataclass(frozen=True)
class ExactGame:
    """A small game. shape: launches of a GPU, with so few threads that their walks do not all follow one strategy."""

    game: str
    iterations: int
    shape: tuple[int, int] | None = (4, 32)
    cfr: int = 0  # iterations of CFR on the tree beside it
    seconds: float = 0.0  # instead of iterations, for GPU and two CPU cores alike


EXACT = {
    "leduc": ExactGame("leduc", 1_000_000),
    "leduc-3": ExactGame("leduc(players=3)", 500_000, cfr=2_000),
    "rhode_island": ExactGame("rhode_island", 0, shape=None, seconds=6.0),
}


def exactly(name: str) -> dict[str, Any]:
    """NashConv of what the GPU trains, beside that of the CPU."""
    import kibitz
    from kibitz.evaluate import nash_conv
    from kibitz.solvers.blueprint import Blueprint
    from kibitz.solvers.gpu import GpuWalks
    from kibitz.solvers.machines import machine_of

    of, began = EXACT[name], time.perf_counter()
    machine = machine_of(of.game)
    rules = kibitz.game(of.game)

    def trained(seed: int, gpu: bool) -> Any:
        blueprint = Blueprint.empty(machine, None, 1 << 31 if of.seconds else 1 << 26, seed)
        if of.seconds:
            blueprint.train(seconds=of.seconds, threads=1 if gpu else 2, device="gpu" if gpu else "cpu")
        elif gpu:
            with GpuWalks(blueprint, shape=of.shape) as walks:
                while blueprint.iteration < of.iterations:
                    walks.step(min(of.iterations, blueprint.next_halving) - blueprint.iteration)
        else:
            blueprint.train(iterations=of.iterations, threads=THREADS)
        return blueprint

    first = trained(1, True)
    answer = {"game": of.game, "gpu": float(nash_conv(rules, first)), "gpu_iterations": first.iteration}
    others = [trained(seed, False) for seed in range(2, 3 if of.seconds else 2 + SEEDS)]
    cpu = [float(nash_conv(rules, each)) for each in others]
    answer |= {"cpu": cpu, "cpu_iterations": others[0].iteration}
    if of.cfr:
        solved = kibitz.solve(of.game, solver="cfr(updates=simultaneous)", iterations=of.cfr)
        answer |= {"cfr": float(nash_conv(rules, solved.profile)), "cfr_iterations": of.cfr}
    mean = float(np.mean(cpu))
    most = mean if of.seconds else mean + SPREAD * max(LEAST * mean, float(np.std(cpu, ddof=1)))
    return answer | {"right": answer["gpu"] <= most, "seconds": time.perf_counter() - began}


def killed(game: str = "leduc", wait: float = 60.0) -> dict[str, Any]:
    """Kill a training on the GPU with SIGKILL after its first checkpoint, and continue it from there."""
    from kibitz.solvers.saved_blueprints import load_blueprint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.blueprint"
        command = [sys.executable, "-m", "kibitz.cli", "train", "--device", "gpu"]
        child = subprocess.Popen([*command, game, "--seconds", "600", "--checkpoint-every", "1", "--out", str(path)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        began, seen = time.perf_counter(), 0
        while seen < 2 and time.perf_counter() - began < wait and child.poll() is None:
            time.sleep(0.5)
            seen += path.exists()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        left = load_blueprint(path).iteration
        subprocess.run([*command, "--resume", str(path), "--seconds", "3"], capture_output=True, check=True)
        after = load_blueprint(path).iteration
    return {"game": game, "left": left, "continued_to": after, "right": after > left > 0}
