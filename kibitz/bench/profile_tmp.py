import sys, time, threading
t0 = time.time()
def say(*a): print(f"{time.time()-t0:7.2f}", *a, flush=True)
import numpy as np
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from collections import defaultdict
from kibitz.games import game
from kibitz.bench.bench_gpu_whole import *
from kibitz.poker.whole import plan, cuda
from kibitz.poker.whole.gpu import Shards
from kibitz.poker.whole.walk import Sweep
ref = np.load(Path(__file__).with_name("tmp_ref.npz"))
def check():
    g = game("poker(file=holdem.limit.2p, ranks=6)")
    b = stand_in_buckets(g.definition)
    s = [random_strategy(g.betting, b, k) for k in (1, 2)]
    sw = Sweep(g, (s[0], s[1]), device="gpu")
    worst = 0
    for key in ref:
        mode, n = int(key[1]), int(key[3:])
        roots = [sw.roots_ if 0 else r for r in starts6]
        got = np.stack(sw.shard(n, (0, 1), mode, roots))
        worst = max(worst, np.abs(got - ref[key]).max() / np.abs(ref[key]).max())
    return worst
g6 = game("poker(file=holdem.limit.2p, ranks=6)")
b6 = stand_in_buckets(g6.definition)
s6 = [random_strategy(g6.betting, b6, k) for k in (1, 2)]
sw6 = Sweep(g6, (s6[0], s6[1]))
starts6 = [sw6.roots(k)[-1] for k in (0, 1)]; say("roots")
say("check: worst relative difference to the CPU", check())
g = game(GAME)
b = stand_in_buckets(g.definition); say("buckets")
s = random_strategy(g.betting, b, 1)
sweep = Sweep(g, (s, s), device="gpu"); sweep._laid; say("laid", sweep.device.label)
sh = sweep.gpu
numbers = list(range(0, 1755, 120))
boards = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in numbers)
allb = len(b.boards.rounds[3].cards)
pk = {}
def prep(n): pk[n] = [sh.packer.packed(n, level) for level in sh._levels]
t = time.time()
with ThreadPoolExecutor(16) as pool: list(pool.map(prep, numbers))
dt = time.time()-t
say(f"packed with 16 threads: {dt:.2f} s, {boards/dt:,.0f} boards/s, all boards {allb/(boards/dt):.1f} s")
roots = [sweep.roots(seat)[-1] for seat in (0, 1)]
t = time.time(); sh.shard(numbers[0], (0, 1), 0, roots); say("first shard", round(time.time()-t, 2))
xp = sh.xp
sent = {n: [sh.packer.ready(e.sent(xp), sh.row_numbers) for e in pk[n]] for n in numbers}
starts = sh.starts(roots)
xp.cuda.Device().synchronize()
def gpu_only(who, which=None, seats=(0,1), mode=0):
    xp.cuda.Device().synchronize(); t = time.time()
    for n in which or numbers:
        with sh.packer._stream:
            for seat in seats: who.run(pk[n], sent[n], seat, mode, starts[seat])
    sh.packer._stream.synchronize()
    dt = time.time()-t
    bd = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in (which or numbers))
    return dt, bd/dt
dt, rate = gpu_only(sh); say(f"GPU alone both seats: {dt:.2f} s, {rate:,.0f} boards/s; all {allb/rate:.1f} s")
some = numbers
gpu_only(sh, some[:1], (0,), 1)
dt, rate = gpu_only(sh, some, (0,), 1); say(f"GPU alone value, one seat: {dt:.2f} s, {rate:,.0f} boards/s; all {allb/rate:.1f} s")
# by kernel
spent = defaultdict(float)
plain = Shards._function
def timed(self, tables, name, shared=0):
    f = plain(self, tables, name, shared)
    def call(grid, block, args, **k):
        a, z = xp.cuda.Event(), xp.cuda.Event()
        a.record(); f(grid, block, args, **k); z.record(); z.synchronize()
        spent[tables.of.hands, name] += xp.cuda.get_elapsed_time(a, z)
    return call
Shards._function = timed
dt, rate = gpu_only(sh, some)
bd = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in some)
for k, v in sorted(spent.items()): say("kernel", k, f"{v:9.1f} ms, {1e3*v/bd:.2f} us a board, both seats")
Shards._function = plain
say("sum", sum(spent.values()), "boards", bd)
for name in [f"b0_{k}" for k in range(5)]:
    f = sh.tables(3, 0, 0).functions[name]
    say(name, "regs", f.num_regs, "local", f.local_size_bytes)
for most, blocks in ((2, 8), (3, 6), (4, 4)):
    plan.MOST_TERMS, cuda.BLOCKS = most, blocks
    other = Shards(sweep, sweep.device)
    other.packer._stream = sh.packer._stream
    gpu_only(other, some[:1], (0,))
    dt, rate = gpu_only(other, some, (0,)); say(f"terms {most} blocks {blocks}: one seat {dt:.2f} s, {rate/2:,.0f} boards/s for both")
    del other
    xp.get_default_memory_pool().free_all_blocks()
