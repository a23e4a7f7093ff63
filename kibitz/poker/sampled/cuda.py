"""Public chance sampling as CUDA source: the pieces that `writer.py` puts together.

A thread has two lanes of betting on one board and goes through all hands, as a thread of a sweep does
(`poker/whole/cuda.py`): with sums by card in shared memory, one for each term of a part (`poker/whole/plan.py`).

Where it works out what the hands of a seat are worth, it adds what each action is worth more than the strategy, and the
seat's own reach, to the *gains* of the hand's row: [rows, actions + 1] at a node, the reach behind the actions. Many
boards are gone through by one strategy; then `learn` adds gains to regrets and averages, and works the strategy out
anew. Gains are kept apart, as regrets grow with the square of the iterations, and what one hand of one board adds would
be lost in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass

from kibitz.poker.whole.plan import Part
from kibitz.poker.whole.templates import HEAD

WARP, WIDE = 32, 16  # threads, and lanes of a group
PAIRS = WIDE // 2  # threads of a group: each has two lanes
STEP = 4  # hands that are read at a time: those of a strength are filled up to a multiple of it
BLOCKS = 8  # on a multiprocessor at least: so few that the compiler may keep what many loads bring
C_NAMES = {4: "float", 8: "double"}


@dataclass(frozen=True)
class LearningRound:
    """What the code of a round knows beforehand."""

    hands: int  # on a board
    above: int  # hands on the board before
    groups: int
    nodes: int  # of a group at most
    after: int  # groups of the next round
    cards: int  # that are not on a board
    two: bool  # cards of a hand
    sources: int  # of row numbers
    itemsize: int  # bytes of a number

    @property
    def card_bytes(self) -> int:
        """Of shared memory, from card to card."""
        return 2 * WARP * self.itemsize

    def shared_bytes(self, part: Part) -> int:
        """Shared memory of a block. Behind the cards is room for hands that only fill up."""
        return max(1, len(part.terms)) * (self.cards + 1) * self.card_bytes

    @property
    def extra(self) -> int:
        """Sources whose rows lie beside the hands."""
        return max(0, self.sources - 2)

    def row(self, source: int, place: str) -> str:
        """The row of a hand, in code. place: of the hand."""
        return ("h[u].z", "h[u].w")[source] if source < 2 else f"more[({place}) * EXTRA + {source - 2}]"

    def prelude(self) -> str:
        return PRELUDE.format(
            real=C_NAMES[self.itemsize], single=int(self.itemsize == 4), hands=self.hands, filled=filled(self.hands),
            above=self.above, groups=self.groups, nodes=self.nodes, after=self.after,
            term=(self.cards + 1) * self.card_bytes, wide=WIDE, pairs=PAIRS, warp=WARP, extra=self.extra,
        )  # fmt: skip


def filled(hands: int) -> int:
    """Hands with those that fill up."""
    return -(-hands // STEP) * STEP


PRELUDE = "\n#define SINGLE {single}\n" + HEAD

# A hand is four words: bytes of shared memory to its cards (16 bits each), the hand on the board before, two rows; more
# rows, of those sources that few nodes go by, are in `extra`. Parts that do not wait for one another are functions of
# one kernel, a wave.
PARAMETERS = """(
    const uint4* __restrict__ hands, const unsigned int* __restrict__ extra, const unsigned short* __restrict__ ends,
    const int* __restrict__ sizes, const int* __restrict__ board_above, const real* __restrict__ roots,
    const real* __restrict__ own_roots, const real* __restrict__ fixed_roots, const real* __restrict__ his,
    const real* __restrict__ mine, const long long* __restrict__ his_begin, const long long* __restrict__ my_begin,
    const real* __restrict__ stake, const int* __restrict__ groups, const int count, const int places, real* slots,
    const long long slot, const real* __restrict__ after, const int* __restrict__ exits,
    const real* __restrict__ weights, const long long* __restrict__ gain_begin, const int* __restrict__ lanes,
    real* gains)"""
WAVE = """
extern "C" __global__ void __launch_bounds__(WARP, {blocks}) {name}{parameters} {{
{calls}
}}
"""
PART = """
__device__ __forceinline__ void {name}{parameters} {{
  extern __shared__ vec room[];
  const int x = threadIdx.x, lane = x % PAIRS * 2, number = blockIdx.y * (WARP / PAIRS) + x / PAIRS;
  const bool live = number < count;
  const int g = groups[live ? number : count - 1], board = blockIdx.x, size = sizes[board];
  const bool learns = live && lane < lanes[g];
  const uint4* const hand = hands + (long long)board * places;
  const unsigned int* const more = extra + (long long)board * places * EXTRA;
  const long long above = ((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane;
  const real* const root = roots + above;
  const real* const own_root = own_roots + above;
  const real* const fixed_root = fixed_roots + above;
  const real* const his_rows = his + his_begin[g] * WIDE + lane;
  const real* const my_rows = mine + my_begin[g] * WIDE + lane;
  real* const out = slots + (((long long)board * GROUPS + g) * places) * WIDE + lane;
  real* const gained = gains + gain_begin[g] * WIDE + lane;
  const vec weight = two(weights[board], weights[board]);
{prologue}
  char* const sums = (char*)(room + x);
  for (int i = 0; i < {terms} * TERM; i += {card_bytes}) *(vec*)(sums + i) = two(0, 0);
  uint4 h[{step}];
  _Pragma("unroll")
  for (int u = 0; u < {step}; u++) h[u] = hand[u];
  for (int at = 0; at < size; at += {step}) {{
    const int next_at = at + {step} < size ? at + {step} : 0;
{load_first}
{add_first}
  }}
{body}
}}
"""

# Before any hand is seen a sum holds folds less showdowns; a hand is added where hands that tie with it are looked at,
# and once more behind them.
RUNNING = """
  const unsigned short* const end = ends + (long long)board * (places / {step});
  int low = 0, next = end[0];
  for (int tie = 1; low < size; tie++) {{
    const int high = next;
    if (high < size) next = end[tie];
    for (int at = low; at < high; at += {step}) {{
      const int next_at = at + {step} < high ? at + {step} : low;
{load_step}
{add_step}
    }}
    for (int at = low; at < high; at += {step}) {{
      const int next_at = at + {step} < high ? at + {step} : low;
{load_value}
{value}
    }}
    for (int at = low; at < high; at += {step}) {{
      const int next_at = at + {step};
{load_step}
{add_step}
    }}
    low = high;
  }}
"""

STANDING = """
  for (int at = 0; at < size; at += {step}) {{
    const int next_at = at + {step};
{load_value}
{value}
  }}
"""

DOWN = """
extern "C" __global__ void {name}(
    const uint4* __restrict__ hands, const unsigned int* __restrict__ extra, const int* __restrict__ board_above,
    const int places, const real* __restrict__ roots, const real* __restrict__ own_roots,
    const real* __restrict__ fixed_roots, const real* __restrict__ his, const real* __restrict__ mine,
    const long long* __restrict__ his_begin, const long long* __restrict__ my_begin, const int* __restrict__ groups,
    const int* __restrict__ exits, real* onto, real* own_onto, real* fixed_onto) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / PAIRS, lane = at % PAIRS * 2;
  const int g = groups[blockIdx.y], board = blockIdx.z;
  if (i >= HANDS) return;
  const long long above = ((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane;
  const real* const root = roots + above;
  const real* const own_root = own_roots + above;
  const real* const fixed_root = fixed_roots + above;
  const real* const his_rows = his + his_begin[g] * WIDE + lane;
  const real* const my_rows = mine + my_begin[g] * WIDE + lane;
  const uint4 h[1] = {{hands[(long long)board * places + i]}};
  const unsigned int* const more = extra + (long long)board * places * EXTRA;
  const int u = 0;
  const long long there = (long long)board * AFTER * (HANDS + 1) * WIDE;
{body}
}}
"""
# What hands are worth on the board before. One of the boards that may come stands for `times` of them; boards that
# continue the same one are weighed.
LIFT = """
extern "C" __global__ void lift(
    const unsigned short* __restrict__ where, const real* __restrict__ values, const int places, const int filled,
    const real times, real* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE;
  const int g = blockIdx.y, board = blockIdx.z;
  if (i >= ABOVE) return;
  const unsigned int place = where[(long long)board * ABOVE + i];
  const long long group = (long long)board * GROUPS + g;
  out[(group * filled + i) * WIDE + lane] =
      place == 65535u ? 0 : times * values[(group * places + place) * WIDE + lane];
}

extern "C" __global__ void lift_weighed(
    const unsigned short* __restrict__ where, const real* __restrict__ values, const int places, const int filled,
    const real times, const real* __restrict__ weights, const real* __restrict__ whole, const int boards, real* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE, g = blockIdx.y;
  if (i >= ABOVE) return;
  real sum = 0;
  _Pragma("unroll 8")
  for (int board = 0; board < boards; board++) {
    const unsigned int place = where[(long long)board * ABOVE + i];
    const long long group = (long long)board * GROUPS + g;
    if (place != 65535u) sum += weights[board] * values[(group * places + place) * WIDE + lane];
  }
  out[((long long)g * filled + i) * WIDE + lane] = times * sum / whole[0];
}
"""

# Two numbers are added at once where the GPU can (compute capability 9.0).
ADD = """
__device__ __forceinline__ void add_to(real* at, vec amount) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && SINGLE
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(at), "f"(amount.x), "f"(amount.y));
#else
  atomicAdd(at, amount.x);
  atomicAdd(at + 1, amount.y);
#endif
}
"""

LEARN = """
typedef {real} real;
#define WIDE {wide}
extern "C" __global__ void learn(
    const long long* __restrict__ begin, const long long* __restrict__ gain_begin, const int* __restrict__ rows,
    const int* __restrict__ counts, real* __restrict__ regret, real* __restrict__ average, real* __restrict__ strategy,
    real* __restrict__ gains, const int threads, const int all) {{
  const int node = blockIdx.x, count = counts[node];
  const long long size = (long long)rows[node] * WIDE;
  for (long long at = (long long)blockIdx.y * blockDim.x + threadIdx.x; at < size; at += threads) {{
    const long long row = at / WIDE, lane = at % WIDE;
    const long long first = (begin[node] + row * count) * WIDE + lane;
    real* const gain = gains + (gain_begin[node] + row * (count + 1)) * WIDE + lane;
    const real reach = gain[count * WIDE];
    bool seen = all || reach != 0;
    for (int a = 0; a < count; a++) seen = seen || gain[a * WIDE] != 0;
    if (!seen) continue;  // the row of no hand on a board of the batch
    gain[count * WIDE] = 0;
    real whole = 0;
    for (int a = 0; a < count; a++) {{
      const long long here = first + a * WIDE;
      const real mine = regret[here] + gain[a * WIDE];
      gain[a * WIDE] = 0;
      regret[here] = mine;
      average[here] += reach * strategy[here];
      whole += mine > 0 ? mine : 0;
    }}
    const real times = whole > 0 ? 1 / whole : 0, rest = whole > 0 ? 0 : (real)1 / count;
    for (int a = 0; a < count; a++) {{
      const real mine = regret[first + a * WIDE];
      strategy[first + a * WIDE] = (mine > 0 ? mine : 0) * times + rest;
    }}
  }}
}}
"""
