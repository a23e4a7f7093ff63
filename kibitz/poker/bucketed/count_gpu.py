"""Joint weights counted on a GPU: a block of threads takes a board and goes through all pairs of its hands.

Hands are put into order and buckets on the cores, as `weights.py` does; the pairs, three million million of them in
hold'em, are left to the GPU. A board has some 200 to 300 different buckets, so all pairs of hands of two buckets are
added at once: atomic additions were what took longest. Wins and meetings are counted in one word of
64 bits and taken out before they can meet, so the counts are those of `poker/buckets/kernels/joint.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.poker.bucketed.device import Device
from kibitz.poker.buckets.kernels.joint import HAND_BITS

# (weights [S] of boards, buckets [S, H] of hands, hands [S, H] in order of strength, the first there as strong [S, H],
# most hands in a bucket)
Settled = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int16], NDArray[np.int16], int]
MOST = 1 << 31  # what a count of either kind may come to before it is taken out
THREADS = 256

_SOURCE = f"""
#define HAND_BITS {HAND_BITS}
#define HAND {(1 << HAND_BITS) - 1}
""" + r"""
// A block takes a board. Hands are sorted by bucket, so that those of a bucket lie side by side: a run. A thread goes
// through all pairs of hands of two runs, and adds them at once.
extern "C" __global__ void count(const long long* weight, const unsigned int* bucket, const short* order,
                                 const short* tie, const unsigned char* cards, int hands, int wide, int hole,
                                 long long size, unsigned long long* out) {
  extern __shared__ unsigned int room[];
  unsigned int* key = room;                         // [wide]  bucket and hand
  unsigned int* held = key + wide;                  // [hands] cards, and the first hand in order that is as strong
  unsigned short* begin = (unsigned short*)(held + hands);  // [hands + 1] of runs
  __shared__ int runs;
  const long long board = blockIdx.x, at = board * hands;
  for (int k = threadIdx.x; k < wide; k += blockDim.x)
    key[k] = k < hands ? bucket[at + k] << HAND_BITS | k : 0xffffffffu;
  for (int k = threadIdx.x; k < hands; k += blockDim.x) {
    const int h = order[at + k];
    held[h] = cards[2 * h] | cards[2 * h + 1] << 8 | (unsigned int)(unsigned short)tie[at + k] << 16;
  }
  __syncthreads();
  for (int length = 2; length <= wide; length <<= 1)  // bitonic
    for (int step = length >> 1; step; step >>= 1) {
      for (int i = threadIdx.x; i < wide >> 1; i += blockDim.x) {
        const int low = 2 * step * (i / step) + i % step, high = low + step;
        const unsigned int one = key[low], other = key[high];
        if ((one > other) == ((low & length) == 0)) { key[low] = other; key[high] = one; }
      }
      __syncthreads();
    }
  if (threadIdx.x < 32) {
    const int warp = blockDim.x < 32 ? blockDim.x : 32;
    int before = 0;
    for (int k = threadIdx.x; k - (int)threadIdx.x < hands; k += warp) {
      const bool starts = k < hands && (k == 0 || key[k] >> HAND_BITS != key[k - 1] >> HAND_BITS);
      const unsigned int every = __ballot_sync(0xffffffffu, starts);
      if (starts) begin[before + __popc(every & ((1u << threadIdx.x) - 1))] = k;
      before += __popc(every);
    }
    if (threadIdx.x == 0) { runs = before; begin[before] = hands; }
  }
  __syncthreads();
  const long long w = weight[board];
  for (int p = 0; p < runs; p++)
    for (int q = threadIdx.x; q <= p; q += blockDim.x) {
      int met = 0, won = 0;
      for (int x = begin[p]; x < begin[p + 1]; x++) {
        const unsigned int mine = held[key[x] & HAND], first = mine & 255, second = (mine >> 8) & 255;
        const int last = p == q ? x : begin[q + 1];
        for (int y = begin[q]; y < last; y++) {
          const unsigned int his = held[key[y] & HAND], one = his & 255, other = (his >> 8) & 255;
          if (hole == 2 && (one == first || one == second || other == first || other == second)) continue;
          met += 1;
          won += (int)(mine >> 16 > his >> 16) - (int)(mine >> 16 < his >> 16);
        }
      }
      if (!met) continue;
      if (p == q) { met *= 2; won = 0; }
      const long long row = key[begin[p]] >> HAND_BITS, column = key[begin[q]] >> HAND_BITS;
      atomicAdd(out + row * size + column, ((unsigned long long)(met * w) << 32) + (unsigned long long)(won * w));
    }
}
"""


def counted(
    settle: Callable[[int], Settled], pieces: int, size: int, cards: NDArray[np.uint8], hole: int, device: Device,
    tell: Callable[[int], None],
) -> tuple[Any, Any]:  # fmt: skip
    """(meets, wins) of the last round on the GPU, as whole numbers in double precision: lower halves. cards: [hands, 2]
    by place among those that are not on the board."""
    xp, hands = device.xp, len(cards)
    wide = 1 << max(1, (hands - 1).bit_length())
    assert hands <= 1 << HAND_BITS
    if size >= 1 << (32 - HAND_BITS):
        raise SolverError(
            f"a GPU counts pairs of fewer than {1 << (32 - HAND_BITS):,} buckets, and these are {size:,}: take "
            "fewer in the last round"
        )
    table = xp.asarray(cards)
    kernel = xp.RawKernel(_SOURCE, "count")
    out = xp.zeros((size, size), xp.uint64)
    meets, wins = xp.zeros((size, size), xp.float64), xp.zeros((size, size), xp.float64)
    bound = 0
    for done, (weight, bucket, order, tie, largest) in enumerate(_ahead(settle, pieces)):
        most = 2 * int(weight.sum()) * largest**2
        if bound + most >= MOST:
            _take_out(xp, out, meets, wins)
            bound = 0
        bound += most
        for part in _within(weight, largest):
            arrays = [xp.asarray(each[part]) for each in (weight, bucket, order, tie)]
            kernel((len(arrays[0]),), (THREADS,),
                   (*arrays, table, np.int32(hands), np.int32(wide), np.int32(hole), np.int64(size), out),
                   shared_mem=4 * wide + 4 * hands + 2 * (hands + 2))  # fmt: skip
            if most >= MOST:
                _take_out(xp, out, meets, wins)
        tell(done + 1)
    _take_out(xp, out, meets, wins)
    return meets, wins


def _within(weight: NDArray[np.int64], largest: int) -> Iterator[slice]:
    """Boards of a piece, so many at a time that no count overflows."""
    step = max(1, (MOST - 1) // (2 * int(weight.max(initial=1)) * largest**2))
    for at in range(0, len(weight), step):
        yield slice(at, at + step)


def _ahead(settle: Callable[[int], Settled], pieces: int) -> Iterator[Settled]:
    """Pieces in order, worked out on all cores a little ahead of the GPU."""
    with ThreadPoolExecutor(cores()) as pool:
        left = iter(range(pieces))
        waiting = [pool.submit(settle, piece) for piece in islice(left, 2 * cores())]
        while waiting:
            first = waiting.pop(0)
            settled = first.result()
            waiting += [pool.submit(settle, piece) for piece in islice(left, 1)]
            yield settled


def _take_out(xp: Any, out: Any, meets: Any, wins: Any) -> None:
    """Add what was counted to the sums: meetings above, wins less losses below, both in one word."""
    step = max(1, (1 << 27) // len(out))
    for at in range(0, len(out), step):
        here = out[at : at + step].view(xp.int64)
        below = here.astype(xp.int32).astype(xp.int64)  # the lower half with its sign
        wins[at : at + step] += below
        meets[at : at + step] += (here - below) >> 32
        here[...] = 0
