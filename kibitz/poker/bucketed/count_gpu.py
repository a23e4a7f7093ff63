"""Joint weights counted on a GPU: a block of threads takes a board and adds all pairs of its hands at once.

Hands are put into order and buckets on the cores, as `weights.py` does; the pairs, three million million of them in
hold'em, are left to the GPU: a minute, where two cores take ten or more. Wins and meetings are counted in one word of
64 bits and taken out before they can meet, so the counts are those of `poker/buckets/kernels/joint.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.resources import cores
from kibitz.poker.bucketed.device import Device

# (boards [S], bucket [S, H] of the hands in order of strength, level [S, H] the first as strong, cards [S, H, 2])
Settled = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int16], NDArray[np.uint8], int]
MOST = 1 << 31  # what a count of either kind may come to before it is taken out
THREADS = 256

_SOURCE = r"""
extern "C" __global__ void count(const long long* weight, const unsigned int* bucket, const short* level,
                                 const unsigned char* cards, int hands, int hole, long long size,
                                 unsigned long long* out) {
  extern __shared__ unsigned int room[];
  unsigned int* b = room;
  unsigned int* c = room + hands;
  const long long board = blockIdx.x;
  for (int k = threadIdx.x; k < hands; k += blockDim.x) {
    b[k] = bucket[board * hands + k];
    const unsigned char* held = cards + (board * hands + k) * 2;
    c[k] = held[0] | (held[1] << 8) | ((unsigned int)(unsigned short)level[board * hands + k] << 16);
  }
  __syncthreads();
  const unsigned long long w = weight[board];
  for (int x = 1; x < hands; x++) {
    const unsigned int mine = b[x], first = c[x] & 255, second = (c[x] >> 8) & 255;
    const int equal = c[x] >> 16;
    for (int y = threadIdx.x; y < x; y += blockDim.x) {
      const unsigned int his = b[y], one = c[y] & 255, other = (c[y] >> 8) & 255;
      if (hole == 2 && (one == first || one == second || other == first || other == second)) continue;
      unsigned long long add = w << 32;
      unsigned int row = mine, column = his;
      if (mine == his) add += add;
      else if (y < equal) { if (mine > his) add += w; else add -= w; }
      if (row < column) { row = his; column = mine; }
      atomicAdd(out + row * size + column, add);
    }
  }
}
"""


def counted(
    settle: Callable[[int], Settled], pieces: int, size: int, hole: int, device: Device, tell: Callable[[int], None]
) -> tuple[Any, Any]:
    """(meets, wins) of the last round on the GPU, as whole numbers in double precision: lower halves."""
    xp = device.xp
    kernel = xp.RawKernel(_SOURCE, "count")
    out = xp.zeros((size, size), xp.uint64)
    meets, wins = xp.zeros((size, size), xp.float64), xp.zeros((size, size), xp.float64)
    bound = 0
    for done, (weight, bucket, level, cards, largest) in enumerate(_ahead(settle, pieces)):
        most = 2 * int(weight.sum()) * largest**2
        if bound + most >= MOST:
            _take_out(xp, out, meets, wins)
            bound = 0
        bound += most
        for part in _within(weight, largest):
            boards, hands = bucket[part].shape
            arrays = [xp.asarray(each) for each in (weight[part], bucket[part], level[part], cards[part])]
            kernel((boards,), (THREADS,), (*arrays, np.int32(hands), np.int32(hole), np.int64(size), out),
                   shared_mem=8 * hands)  # fmt: skip
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
