"""Sweeps on a GPU against those on cores. Where there is no GPU the same source runs as plain C++, thread by thread."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from bucketed import FOUR_ROUNDS, SMALL, rules
from test_sweep import random_profile

from kibitz.errors import SolverError
from kibitz.form.bucket.device import Device
from kibitz.games import game
from kibitz.kernels.poker.sweep import BEST, PLAYED
from kibitz.sweep import plan
from kibitz.sweep.betting import Lanes
from kibitz.sweep.gpu import Shards, batches
from kibitz.sweep.plan import EXIT, FOLD, SHOWDOWN, plan_of, shapes_of
from kibitz.sweep.strategy import Always
from kibitz.sweep.walk import Sweep

GAMES = [name for name in (*SMALL, *FOUR_ROUNDS) if name != "kuhn"]  # which has no board
COMPILER = shutil.which("g++")
CORES = """
struct Place { int x, y, z; };
struct uint4 { unsigned x, y, z, w; };
struct float2 { float x, y; };
struct double2 { double x, y; };
extern "C" { Place threadIdx, blockIdx, blockDim; }
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __launch_bounds__(threads, blocks)
#define __restrict__
"""


def _there():
    try:
        Device("gpu")
    except SolverError:
        return False
    return True


THERE = _there()


class OnCores(Shards):
    """Shards by the source for a GPU, compiled for a core: threads of a block never wait for one another."""

    def __init__(self, sweep, folder):
        self.folder = folder
        super().__init__(sweep, Device("cpu"))

    def _compile(self, source):
        room = f"{CORES}\n{self._round(self.sweep.last).real}2 room[1 << 20];\n"
        path = self.folder / f"{len(list(self.folder.iterdir()))}.cpp"
        path.write_text(room + source.replace("extern __shared__ vec room[];", ""))
        made = path.with_suffix(".so")
        order = [COMPILER, "-O1", "-shared", "-fPIC", "-w", "-ffp-contract=off", str(path), "-o", str(made)]
        subprocess.run(order, check=True)
        return ctypes.CDLL(str(made))

    def _function(self, tables, name, shared=0):
        assert shared <= 4 << 20
        compiled = getattr(tables.module, name)
        thread, block, wide = (
            (ctypes.c_int * 3).in_dll(tables.module, each) for each in ("threadIdx", "blockIdx", "blockDim")
        )

        def launch(grid, threads, args, shared_mem=0):
            given = [
                ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray)
                else (ctypes.c_int if each.dtype == np.int32 else ctypes.c_longlong)(int(each))
                for each in args
            ]  # fmt: skip
            wide[0] = threads[0]
            for at in np.ndindex(*grid):
                block[:] = [*at, 0, 0][:3]
                for k in range(threads[0]):
                    thread[0] = k
                    compiled(*given)

        return launch

    @contextlib.contextmanager
    def _sending(self):
        yield

    def _queued(self, work):
        return work()


def checked(sweep, there, mode, rtol):
    """Every shard, both seats: as `Sweep.shard` on cores."""
    seats = (0, 1)
    roots = [sweep.roots(seat)[-1] for seat in seats]
    for number in range(len(sweep.shards)):
        for mine, his in zip(sweep.shard(number, seats, mode, roots), there(number, seats, mode, roots), strict=True):
            assert np.abs(mine).max() > 0
            np.testing.assert_allclose(his, mine, rtol=rtol, atol=rtol * np.abs(mine).max())


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
@pytest.mark.parametrize("name", GAMES)
def test_the_source_does_as_the_kernels_do(name, mode, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "MOST_TERMS", 2)
    seats, _, _ = random_profile(name, 4)
    sweep = Sweep(rules(name), seats, np.float64)
    checked(sweep, OnCores(sweep, tmp_path).shard, mode, 1e-12)


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
@pytest.mark.parametrize("name", GAMES)
def test_a_gpu_gives_the_same(name, mode):
    seats, _, _ = random_profile(name, 5)
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-6)):
        checked(Sweep(rules(name), seats, dtype), Sweep(rules(name), seats, dtype, "gpu").shard, mode, rtol)


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", GAMES)
def test_a_gpu_equals_the_poker_form(name):
    seats, whole, lifted = random_profile(name, 6)
    found, sweep = whole.measure(lifted), Sweep(rules(name), seats, device="gpu")
    np.testing.assert_allclose(sweep.best(), found.best, rtol=1e-5, atol=1e-5)
    assert sweep.value() == pytest.approx(found.value[0], abs=1e-5)
