import sys, time, threading
t0 = time.time()
def say(*a): print(f"{time.time()-t0:7.2f}", *a, flush=True)
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from collections import defaultdict
from kibitz.games import game
from kibitz.bench.bench_gpu_whole import *
from kibitz.poker.whole import plan, cuda
from kibitz.poker.whole.gpu import Shards
from kibitz.poker.whole.walk import Sweep
g = game(GAME)
b = stand_in_buckets(g.definition); say("buckets")
s = random_strategy(g.betting, b, 1)
sweep = Sweep(g, (s, s), device="gpu"); sweep._laid; say("laid", sweep.device.label)
sh = sweep.gpu
for level in sh._levels:
    for seat in (0, 1):
        t = time.time(); sh.tables(level, seat, 0); say("compile", level, seat, round(time.time()-t, 2))
t = time.time(); sh._strategies; say("strategies", round(time.time()-t, 2))
numbers = list(range(0, 1755, 40))
boards = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in numbers)
say("shards", len(numbers), "boards", boards, "of", len(b.boards.rounds[3].cards))
t = time.time(); p0 = [sh.packed(numbers[0], level) for level in sh._levels]; say("first packed (compiles)", round(time.time()-t, 2))
pk = {}
def prep(n): pk[n] = [sh.packed(n, level) for level in sh._levels]
for threads in (1, 16):
    some = numbers[:4] if threads == 1 else numbers
    t = time.time()
    with ThreadPoolExecutor(threads) as pool: list(pool.map(prep, some))
    dt = time.time()-t
    bd = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in some)
    say(f"packed with {threads} threads: {dt:.2f} s, {bd/dt:,.0f} boards/s, all boards {len(b.boards.rounds[3].cards)/(bd/dt):.1f} s")
import cProfile
roots = [sweep.roots(seat)[-1] for seat in (0, 1)]
t = time.time(); sh.shard(numbers[0], (0, 1), 0, roots); say("first shard", round(time.time()-t, 2))
t = time.time()
with ThreadPoolExecutor(16) as pool: vals = list(pool.map(lambda n: sh.shard(n, (0, 1), 0, roots), numbers))
dt = time.time()-t
say(f"16 threads end to end both seats: {dt:.2f} s, {boards/dt:,.0f} boards/s; all {len(b.boards.rounds[3].cards)/(boards/dt):.1f} s")
xp = sh.xp
sent = {n: [e.sent(xp) for e in pk[n]] for n in numbers}
starts = [xp.asarray(np.pad(r, ((0,0),(0,1),(0,0))).ravel()) for r in roots]
xp.cuda.Device().synchronize()
def gpu_only(who, which=None, seats=(0,1)):
    xp.cuda.Device().synchronize(); t = time.time()
    for n in which or numbers:
        with who._stream:
            for seat in seats: who._run(pk[n], sent[n], seat, 0, starts[seat])
    who._stream.synchronize()
    dt = time.time()-t
    bd = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in (which or numbers))
    return dt, bd/dt
dt, rate = gpu_only(sh); say(f"GPU alone both seats: {dt:.2f} s, {rate:,.0f} boards/s; all {len(b.boards.rounds[3].cards)/rate:.1f} s")
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
some = numbers[5:15]
dt, rate = gpu_only(sh, some)
bd = sum(sweep.shards[n][3].stop - sweep.shards[n][3].start for n in some)
for k, v in sorted(spent.items()): say("kernel", k, f"{v:9.1f} ms, {1e3*v/bd:.2f} us a board, both seats")
Shards._function = plain
say("sum", sum(spent.values()), "boards", bd)
for (h, name) in [(1081, f"b0_{k}") for k in range(5)]:
    f = sh.tables(3, 0, 0).functions[name]
    say(name, "regs", f.num_regs, "local", f.local_size_bytes, "shared", f.shared_size_bytes)
# all rows 0: no traffic for strategies
keep = {n: sent[n][2].hands.copy() for n in some}
for n in some: sent[n][2].hands[:, :, 2:] = 0
dt, rate = gpu_only(sh, some); say(f"rows all 0: {dt:.2f} s, {rate:,.0f} boards/s")
for n in some: sent[n][2].hands[...] = keep[n]
dt, rate = gpu_only(sh, some); say(f"again: {dt:.2f} s, {rate:,.0f} boards/s")
for most, blocks in ((2, 8), (4, 4), (3, 4), (1, 12), (13, 1)):
    plan.MOST_TERMS, cuda.BLOCKS = most, blocks
    try:
        other = Shards(sweep, sweep.device)
        t = time.time()
        for level in other._levels: other.tables(level, 0, 0)
        c = time.time() - t
        gpu_only(other, some[:1], (0,))
        dt, rate = gpu_only(other, some, (0,)); say(f"terms {most} blocks {blocks}: compile {c:.1f}, one seat {dt:.2f} s, {rate/2:,.0f} boards/s for both")
        del other
        xp.get_default_memory_pool().free_all_blocks()
    except Exception as error:
        say("failed", most, blocks, repr(error)[:300])
