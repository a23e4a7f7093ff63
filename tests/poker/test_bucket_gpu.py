"""Bucket forms on a GPU give what they give in memory; without one there is a sentence."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from bucketed import random_buckets, rules
from cuda_on_cores import COMPILER, THERE, OnCores, compiled, launcher

from kibitz.core.errors import SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.poker.bucketed import weights as joint
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.bucketed.device import PLAIN, TF32, Device, may_round
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.gpu import BucketKernels, RegretStep
from kibitz.poker.bucketed.passes import Passes
from kibitz.poker.bucketed.weights import joint_weights
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve, solve_through


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_without_a_gpu_there_is_a_sentence() -> None:
    with pytest.raises(SolverError, match="leave out --device"):
        Device("gpu")
    with pytest.raises(SolverError, match="leave out --device"):
        solve("rhode_island", abstraction="percentile(2)", run=RunOptions(device="gpu"))


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
def test_a_gpu_gives_the_same(name: str) -> None:
    poker = rules(name)
    buckets, _ = random_buckets(poker, 3, 0)
    parents, weights = [of.parent for of in buckets.rounds], joint_weights(buckets)
    here, there = (BucketForm(poker, "random", buckets.digest, parents, weights, d) for d in ("cpu", "gpu"))
    played = here.to_probabilities(np.random.default_rng(0).random(here.sequences))
    plan = here.plan(here.to_strategy(played))
    np.testing.assert_allclose(there.plan(there.to_strategy(played)), plan, atol=1e-12)
    for seat in (0, 1):
        np.testing.assert_allclose(there.gradient(seat, plan), here.gradient(seat, plan), atol=1e-12)
    np.testing.assert_allclose(there.measure(played).best, here.measure(played).best, atol=1e-12)
    np.testing.assert_allclose(there.best_response(0, played)[0], here.best_response(0, played)[0], atol=1e-12)
    rule = Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True)
    spaces = [BucketCfrState(form, None, np.float64) for form in (here, there)]
    for space in spaces:
        space.iterate(rule, 0, 20, 1)
    assert spaces[0].measure(True).nash_conv == pytest.approx(spaces[1].measure(True).nash_conv, rel=1e-6)
    state = {key: array.copy() for key, array in spaces[1].state.items()}
    other = BucketCfrState(there, None, np.float64)
    for key, array in other.state.items():
        array[...] = state[key]
    other.restore()
    np.testing.assert_allclose(other.probabilities(True), spaces[1].probabilities(True))
    frozen = there.freeze(np.arange(there.points) % 2 == 0, played)
    fixed = solve_through(there, "dcfr+", iterations=30, rows=frozen)
    held = np.repeat(~frozen.moves, there.infosets.width)
    np.testing.assert_array_equal(fixed.probabilities[held], played[held])


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", ["leduc", "rhode island of 4 ranks", "turn hold'em of 10 cards"])
@pytest.mark.parametrize("most", [1 << 31, 5000])
def test_a_gpu_counts_the_same_weights(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from kibitz.poker.bucketed import count_gpu

    monkeypatch.setattr(count_gpu, "MOST", most)
    buckets, _ = random_buckets(rules(name), 3, 4)
    here, there = joint_weights(buckets), joint_weights(buckets, device="gpu")
    gpu = Device("gpu")
    for of in ("meets", "wins"):
        for mine, theirs in zip(getattr(here, of), getattr(there, of), strict=True):
            np.testing.assert_allclose(gpu.to_host(theirs), mine, atol=1e-16, rtol=1e-12)


class Core:
    """What CuPy remembers of how it multiplies."""

    type = 1

    def get_compute_type(self, dtype: np.dtype) -> int:
        return self.type

    def set_compute_type(self, dtype: np.dtype, to: int) -> None:
        self.type = to


def test_products_are_rounded_where_the_result_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, rounds in (("0", (False, False)), ("1", (True, True))):
        monkeypatch.setenv("CUPY_TF32", said)
        assert (may_round(True), may_round(False)) == rounds
    monkeypatch.setenv("CUPY_TF32", "yes")
    with pytest.raises(SolverError, match="CUPY_TF32='yes': 0"):
        may_round(True)
    monkeypatch.delenv("CUPY_TF32")
    assert may_round(True) and not may_round(False)
    device, core = Device(), Core()
    device.name, device.xp = "gpu", SimpleNamespace(_core=core)
    during = []

    class Lines:
        def __init__(self, dtype: type) -> None:
            self.dtype = np.dtype(dtype)

        def __matmul__(self, other: int) -> int:
            during.append(core.type)
            if other < 0:
                raise MemoryError
            return other

    for dtype, tf32, how in ((np.float32, True, TF32), (np.float32, False, PLAIN), (np.float64, True, 5)):
        core.type = 5
        assert device.product(Lines(dtype), 3, tf32) == 3 and during[-1] == how and core.type == 5
        with pytest.raises(MemoryError):
            device.product(Lines(dtype), -1, tf32)
        assert core.type == 5


@pytest.mark.parametrize("watched", [True, False])
def test_passes_say_whether_their_products_are_rounded(watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUPY_TF32")
    asked = []

    class Asked(Device):
        def product(self, lines: np.ndarray, matrix: np.ndarray, tf32: bool) -> np.ndarray:
            asked.append(tf32)
            return super().product(lines, matrix, tf32)

    poker = rules("leduc")
    buckets, _ = random_buckets(poker, 3, 0)
    form = BucketForm(poker, "random", buckets.digest, [of.parent for of in buckets.rounds], joint_weights(buckets))
    form.watched = watched
    state = BucketCfrState(form, None)
    state.passes.device = Asked()
    state.iterate(Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True), 0, 1, 1)
    assert asked and set(asked) == {watched}


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
def test_tf32_is_on_and_off_by_product() -> None:
    gpu, rng = Device("gpu"), np.random.default_rng(0)
    one, other = (gpu.xp.asarray(rng.random((512, 512)), np.float32) for _ in range(2))
    exact = gpu.to_host(one).astype(np.float64) @ gpu.to_host(other).astype(np.float64)
    off = [float(abs(gpu.to_host(gpu.product(one, other, tf32)) / exact - 1.0).max()) for tf32 in (True, False, True)]
    assert off[1] < 2e-6 and off[0] == off[2] > 5e-6


# The kernels' source on a core


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.parametrize("name", ["leduc", "rhode island of 4 ranks", "turn hold'em of 10 cards"])
@pytest.mark.parametrize("most", [1 << 31, 5000])
def test_a_block_of_one_thread_counts_the_same_weights(name, most, tmp_path, monkeypatch):
    from kibitz.poker.bucketed import count_gpu

    words = """
#define __syncthreads()
#define __ballot_sync(threads, is) ((unsigned)(is))
#define __popc __builtin_popcount
"""

    class OneThread:
        """NumPy, and kernels in blocks of one thread."""

        def __getattr__(self, name):
            return getattr(np, name)

        def RawKernel(self, source, name):
            room = "unsigned int* const room = (unsigned int*)shared_room;"
            source = source.replace("extern __shared__ unsigned int room[];", room)
            launch = launcher(compiled(words + source, tmp_path), name)
            return lambda grid, threads, arguments, shared_mem: launch(grid, (1,), arguments, shared_mem)

    class OneThreadDevice:
        xp = OneThread()

        def __init__(self, name="gpu"):
            pass

    buckets, _ = random_buckets(rules(name), 3, 4)
    recipe = joint.recipe_of(buckets)
    expected = joint.looked_up(recipe)
    monkeypatch.setattr(joint, "Device", OneThreadDevice)
    monkeypatch.setattr(count_gpu, "MOST", most)
    meets, wins = joint._on_gpu(buckets, recipe, None)
    np.testing.assert_array_equal(np.tril(meets), np.tril(expected["meets"]))
    np.testing.assert_array_equal(np.tril(wins), np.tril(expected["wins"]))
    assert np.abs(wins).sum() > 0


@pytest.fixture
def on_cores(tmp_path, monkeypatch):
    """Bucket forms in memory go through the kernels of a GPU, by matrices that are filled up. Returns how often each
    kernel ran."""
    if COMPILER is None:
        pytest.skip("needs g++")
    ran: dict[str, int] = {}

    class Kernels(OnCores, BucketKernels):
        folder = tmp_path

        def _function(self, tables, name, shared=0):
            ran[name] = ran.get(name, 0) + 1
            return super()._function(tables, name, shared)

    made = {}

    def kernels(passes):
        kind = passes.dtype.str
        if kind not in made:
            made[kind] = Kernels(np, passes.dtype)
        return made[kind]

    def filled(matrix, device, dtype):
        wide = len(matrix) + 3
        onto = np.zeros((wide, wide), dtype)
        onto[: len(matrix), : len(matrix)] = matrix
        return onto

    monkeypatch.setattr(Passes, "kernels", property(kernels))
    monkeypatch.setattr(joint, "filled", filled)
    return ran


RULES = {
    "cfr": Rule(np.inf, np.inf, 0.0, -np.inf, 0.0, 0.0, False),
    "dcfr+": Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True),
    "predictive, negative regrets kept": Rule(1.5, 0.0, 2.0, -np.inf, 1.0, 3.0, True),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
def test_kernels_do_what_whole_arrays_do(name, rule, request):
    poker = rules(name)
    buckets, _ = random_buckets(poker, 3, 0)
    parents = [of.parent for of in buckets.rounds]

    def trained():
        form = BucketForm(poker, "random", buckets.digest, parents, joint_weights(buckets), "cpu")
        state = BucketCfrState(form, None, np.float64)
        state.iterate(RULES[rule], 0, 12, 1)
        return form, state

    form, plain = trained()
    played = plain.probabilities(True)
    expected = form.infoset_values(played)  # before kernels are there
    ran = request.getfixturevalue("on_cores")
    other_form, other = trained()
    for mine, theirs in zip(plain.state.values(), other.state.values(), strict=True):
        np.testing.assert_allclose(theirs, mine, atol=1e-12)
    assert min(ran[kernel] for kernel in ("mean", "learn", "add_end", "add_plan")) > 20
    for one, two in zip(expected, other_form.infoset_values(played), strict=True):
        np.testing.assert_allclose(two, one, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_pool_is_the_sum_over_an_infoset(on_cores, kind):
    from kibitz.poker.stitching.part_form import SharedRows

    random = np.random.default_rng(3)
    row = random.permutation(np.repeat(np.arange(5), [1, 4, 2, 2, 1]))
    row = np.unique(row, return_inverse=True)[1]
    shared = SharedRows(row, np)
    values = random.standard_normal((3, 7, len(row))).astype(kind)
    own = random.random((7, len(row))).astype(np.float32)
    passes = type("PassesOf", (), {"dtype": np.dtype(kind)})()
    kernels = Passes.kernels.fget(passes)
    for weights in (None, own):
        expected = np.zeros(values.shape)
        weighed = values if weights is None else values * weights
        for b, of in enumerate(row):
            expected[:, :, b] = weighed[:, :, row == of].sum(axis=2)
        tolerance = 1e-5 if kind == np.float32 else 1e-12
        np.testing.assert_allclose(kernels.pooled(values, weights, shared.members, shared.counts), expected,
                                   atol=tolerance)  # fmt: skip
        np.testing.assert_allclose(shared.summed(values, weights), expected, atol=tolerance)


def test_regrets_below_rounding_are_no_preference(on_cores):
    passes = type("PassesOf", (), {"dtype": np.dtype(np.float64)})()
    kernels = Passes.kernels.fget(passes)
    gain, regret = np.array([[[1e-9, 2.0]], [[-1.0, 1.0]]]), np.zeros((2, 1, 2))
    strategy = np.full((2, 1, 2), np.nan)
    kernels.learn(gain, regret, strategy, RegretStep(1.0, 1.0, 0.0, 0.0, 1e-6))
    np.testing.assert_allclose(strategy, [[[0.5, 2 / 3]], [[0.5, 1 / 3]]])
    np.testing.assert_allclose(regret, [[[1e-9, 2.0]], [[0.0, 1.0]]])
