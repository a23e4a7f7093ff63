"""The walk on a GPU, on Numba's simulator of one (gpu_simulated.py), and what is said where there is no GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import SolverError
from kibitz.solvers import RunOptions
from kibitz.solvers.kernels.hash import WINDOW, hash_store
from kibitz.solvers.tables import apart

ROOT = Path(__file__).parents[2]
SIMULATED = Path(__file__).with_name("gpu_simulated.py")
TESTS = re.findall(r"^def (test_\w+)", SIMULATED.read_text(), re.M)


@cache
def simulated():
    """What pytest says of the simulated tests: (lines, all of it)."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--no-header", "-p", "no:cacheprovider", str(SIMULATED)]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True, check=False
    )
    return re.findall(r"^(\w+) \S+?::(test_\w+)", run.stdout, re.M), run.stdout[-5000:] + run.stderr[-2000:]


@pytest.mark.parametrize("name", TESTS)
def test_simulated(name):
    lines, text = simulated()
    verdicts = {verdict for verdict, test in lines if test == name}
    assert verdicts == {"PASSED"}, text


def test_without_a_gpu_it_says_what_to_install():
    try:
        from kibitz.solvers.gpu import gpu

        gpu()
    except SolverError:
        pass
    else:
        pytest.skip("there is a GPU")
    with pytest.raises(SolverError, match=r"GPU.*kibitz\[gpu13\].*kibitz\[gpu12\].*leave out --device"):
        kibitz.train("kuhn", iterations=1, run=RunOptions(device="gpu"))
    with pytest.raises(SolverError, match="choose cpu or gpu"):
        kibitz.train("kuhn", iterations=1, run=RunOptions(device="tpu"))


def test_keys_that_stand_twice_are_set_apart():
    """Their sums are those of the first, and all keys differ."""
    table = hash_store(1024, 2)
    rng = np.random.default_rng(3)
    key = rng.integers(1, 1 << 63, 1024 - int(WINDOW)).astype(np.uint64)
    home = ((key >> np.uint64(32)) * table.span) >> np.uint64(32)
    for k, at in zip(key, home.tolist(), strict=True):
        free = [place for place in range(at, at + int(WINDOW)) if not table.key[place]]
        if free:
            table.key[free[0]] = k
            table.value[free[0]] = rng.random(4)
    table.value[5] += 1.0
    before = table.value.sum(axis=0)
    table.key[[6, 9]] = table.key[5]
    assert apart(table) and not apart(table)
    used = table.key[table.key != 0]
    assert len(np.unique(used)) == len(used)
    np.testing.assert_allclose(table.value.sum(axis=0), before, rtol=1e-5)
    assert not table.value[[6, 9]].any()
    assert ((table.key[[6, 9]] >> np.uint64(32)) == (table.key[5] >> np.uint64(32))).all()
