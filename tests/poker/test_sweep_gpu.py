"""Sweeps on a GPU against those on cores. Where there is no GPU the same source runs as plain C++, thread by thread."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess

import numpy as np
import pytest
from bucketed import FOUR_ROUNDS, SMALL, random_probabilities, rules, two_views
from cuda_on_cores import COMPILER, THERE
from test_sweep import random_profile
from typer.testing import CliRunner

from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.games import game
from kibitz.poker.bucketed.device import Device
from kibitz.poker.sampled.hands import hands_on
from kibitz.poker.whole import plan
from kibitz.poker.whole.cuda import STEP
from kibitz.poker.whole.gpu import Shards, batches, fitting
from kibitz.poker.whole.kernels.boards import BEST, PLAYED
from kibitz.poker.whole.packed import BoardPacker
from kibitz.poker.whole.plan import EXIT, FOLD, SHOWDOWN, plan_of, shapes_of
from kibitz.poker.whole.strategy import always, within_views
from kibitz.poker.whole.walk import Sweep

GAMES = [name for name in (*SMALL, *FOUR_ROUNDS) if name != "kuhn"]  # which has no board
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


class PackerOnCores(BoardPacker):
    """Boards stay in memory, and work is done as it comes."""

    def sending(self):
        return contextlib.nullcontext()

    def queued(self, work):
        return work()


def packer_on_cores(sweeps):
    sources = [source for sweep in sweeps for source in sweep.sources]
    first = sweeps[0]
    levels = range(first.begin, first.last + 1)
    return PackerOnCores(first.boards, first.hole, levels, sources, Device("cpu"), first.dtype.itemsize, first.shards)


class OnCores(Shards):
    """Shards by the source for a GPU, compiled for a core: threads of a block never wait for one another."""

    def __init__(self, sweep, folder, packer=None):
        self.folder = folder
        super().__init__(sweep, Device("cpu"), packer or packer_on_cores([sweep]))
        if packer is None:
            fitting([self])

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


def checked(sweep, there, mode, rtol):
    """Every shard, both seats: as `Sweep.shard` on cores."""
    seats = (0, 1)
    roots = [sweep.roots(seat)[-1] for seat in seats]
    for number in range(len(sweep.shards)):
        for mine, his in zip(sweep.shard(number, seats, mode, roots), there(number, seats, mode, roots), strict=True):
            assert np.abs(mine).max() > 0
            np.testing.assert_allclose(his, mine, rtol=rtol, atol=rtol * np.abs(mine).max())


def walked(shape, seat, parts):
    """Nodes by part, as often as it visits them; the roots of parts below are left to these."""
    found = []
    for part in parts:
        stack = [part.root]
        while stack:
            node = stack.pop()
            found.append(node)
            stack += [child for child in shape.children[node] if child not in part.reads]
    return found


@pytest.mark.parametrize("most", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.some(4)
def test_parts_visit_every_node_once(seat, most):
    rules_of_limit = game("poker(file=holdem.limit.2p)")
    played = always(rules_of_limit.betting, ("call",))
    sweep = Sweep(rules_of_limit, (played, played))
    for level, betting in enumerate(sweep._laid[0]):
        shapes = shapes_of(betting, [1])
        assert sorted(group for groups in shapes.values() for group in groups) == list(range(sweep.groups(level)))
        for shape in shapes:
            parts = plan_of(shape, seat, most)
            assert sorted(walked(shape, seat, parts)) == list(range(len(shape.turn)))
            ends = [end for part in parts for term in part.terms.values() for end in (*term.folds, *term.shows)]
            assert sorted(ends) == [node for node, turn in enumerate(shape.turn) if FOLD <= turn < EXIT]
            assert all(len(part.terms) <= most for part in parts)
            written = {}  # what stands in each slot
            for part in parts:
                assert all(written[slot] == root for root, slot in part.reads.items())
                written[part.slot] = part.root
            assert parts[-1].root == 0 and parts[-1].slot == 0
            for term in (term for part in parts for term in part.terms.values() if len(term.folds + term.shows) > 1):
                above = {shape.parent[end] for end in term.folds + term.shows}
                assert len(above) == 1 and shape.turn[above.pop()] == 1 - seat  # whose values are added
                assert all(shape.turn[end] == SHOWDOWN for end in term.shows)


def test_batches_cover_all_boards():
    below = [0, 3, 4, 10, 12, 20]
    assert list(batches(below, 100)) == [(0, 5)]
    assert list(batches(below, 10)) == [(0, 3), (3, 5)]
    assert list(batches(below, 4)) == [(0, 2), (2, 3), (3, 4), (4, 5)]  # one board before at least


@pytest.mark.parametrize("name", ["turn hold'em of 10 cards", "river hold'em of 10 cards"])
@pytest.mark.some(1)
def test_hands_come_in_strips_strength_by_strength(name):
    seats, _, _ = random_profile(name, 7)
    sweep = Sweep(rules(name), seats)
    level, scale = sweep.last, 2 * 32 * 4
    for number in range(0, len(sweep.shards), 3):
        made = packer_on_cores([sweep]).packed(number, level)
        whole = hands_on(sweep.boards, 2, level, sweep.shards[number], sweep.sources)
        for board, size in enumerate(made.sizes.tolist()):
            words, up = made.hands[board, :size, 0], made.hands[board, :size, 1]
            held = up < sweep.hands(level - 1)
            ends = made.ends[board][: made.ends[board].argmax() + 1].astype(int)
            assert ends[-1] == size and not (ends % STEP).any()
            begin = 0
            for first, end in zip(np.unique(whole.last[board], return_index=True)[1], ends, strict=True):
                here = slice(begin, end)
                same = slice(int(first), int(whole.last[board][first]))
                cards = np.stack([(words[here] & 65534) // scale, (words[here] >> 16) // scale], 1)[held[here]]
                order = np.lexsort(np.sort(cards, 1).T[::-1])
                np.testing.assert_array_equal(np.sort(cards, 1)[order], np.sort(whole.card[board][same].astype(int), 1)[
                    natural := np.lexsort(np.sort(whole.card[board][same], 1).T[::-1])])
                np.testing.assert_array_equal(up[here][held[here]][order], whole.up[board][same][natural])
                np.testing.assert_array_equal(made.rows[0, board, here][held[here]][order],
                                              whole.row[0, board][same][natural])
                begin = end
            np.testing.assert_array_equal(made.where[board][up[held]], np.flatnonzero(held))
            rows, columns = (words & 65534).reshape(-1, STEP), (words >> 16).reshape(-1, STEP)
            assert (columns == columns[:, :1]).all()  # a step shares one card
            fresh = (words & 1).reshape(-1, STEP)
            assert fresh[0, 0] and not fresh[:, 1:].any()
            assert (fresh[:, 0] | (rows == np.roll(rows, 1, 0)).all(1)).all()  # and a strip four rows
            strips = np.cumsum(fresh[:, 0])
            for strip in range(1, strips[-1] + 1):
                assert not set(rows[strips == strip].ravel()) & set(columns[strips == strip].ravel())


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_without_a_gpu_there_is_a_sentence():
    told = CliRunner().invoke(
        app, ["evaluate", "always-call", "--game", "rhode_island(ranks=4)", "--whole", "--device", "gpu"]
    )
    assert told.exit_code == 2 and "leave out --device" in " ".join(told.output.split())


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_too_little_memory_is_said_before_the_start(tmp_path, monkeypatch):
    seats, _, _ = random_profile("leduc", 8)
    monkeypatch.setattr(Device, "free", lambda self: 1000)
    with pytest.raises(SolverError, match=r"of the GPU's memory, and 0.0 GB may be used"):
        OnCores(Sweep(rules("leduc"), seats), tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_a_shard_in_batches_gives_the_same(tmp_path):
    name = "turn hold'em of 10 cards"
    seats, _, _ = random_profile(name, 9)
    sweep = Sweep(rules(name), seats, np.float64)
    shards = OnCores(sweep, tmp_path)
    shards.packer.room = 1
    checked(sweep, shards.shard, BEST, 1e-12)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.startswith("river") else name for name in GAMES]
)
@pytest.mark.some(2)
def test_the_source_does_as_the_kernels_do(name, mode, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "MOST_TERMS", 2)
    seats, _, _ = random_profile(name, 4)
    sweep = Sweep(rules(name), seats, np.float64)
    checked(sweep, OnCores(sweep, tmp_path).shard, mode, 1e-12)


def of_views(name, dtype, device="cpu"):
    """Two strategies of which each node has one of two lists of buckets: four sources of row numbers in all."""
    seats = []
    for seed in (1, 4):
        form = two_views(name, seed)[0]
        seats.append(within_views(form, form.buckets, random_probabilities(form, seed), f"views {seed}"))
    return Sweep(rules(name), (seats[0], seats[1]), dtype, device)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
@pytest.mark.parametrize("name", ["leduc", pytest.param("turn hold'em of 10 cards", marks=pytest.mark.slow)])
@pytest.mark.some(1)
def test_hands_seen_through_several_views(name, mode, tmp_path):
    sweep = of_views(name, np.float64)
    assert len(sweep.sources) == 4
    checked(sweep, OnCores(sweep, tmp_path).shard, mode, 1e-12)


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
def test_a_gpu_sees_hands_through_several_views(mode):
    name = "turn hold'em of 10 cards"
    checked(of_views(name, np.float64), of_views(name, np.float64, "gpu").shard, mode, 1e-12)


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
@pytest.mark.parametrize("name", GAMES)
def test_a_gpu_gives_the_same(name, mode):
    seats, _, _ = random_profile(name, 5)
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-6)):
        checked(Sweep(rules(name), seats, dtype), Sweep(rules(name), seats, dtype, "gpu").shard, mode, rtol)


@pytest.mark.slow
@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
def test_always_call_in_limit_holdem():
    poker = game("poker(file=holdem.limit.2p)")
    played = always(poker.betting, ("call",))
    best = Sweep(poker, (played, played), device="gpu").best()
    np.testing.assert_allclose(100 * best, 1163.476, atol=5e-4)  # mbb/h


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", GAMES)
def test_a_gpu_equals_the_poker_form(name):
    seats, whole, lifted = random_profile(name, 6)
    found, sweep = whole.measure(lifted), Sweep(rules(name), seats, device="gpu")
    np.testing.assert_allclose(sweep.best(), found.best, rtol=1e-5, atol=1e-5)
    assert sweep.value() == pytest.approx(found.value[0], abs=1e-5)
