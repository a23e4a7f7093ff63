"""CUDA source of sweeps that does not depend on the shape of the betting; `cuda.py` fills it in."""

from __future__ import annotations

# What the code of sampled boards (`poker/sampled/cuda.py`) begins with too
HEAD = """typedef {real} real;
typedef {real}2 vec;
#define HANDS {hands}
#define FILLED {filled}
#define ABOVE {above}
#define GROUPS {groups}
#define NODES {nodes}
#define AFTER {after}
#define TERM {term}
#define WIDE {wide}
#define PAIRS {pairs}
#define WARP {warp}
#define EXTRA {extra}
__device__ __forceinline__ vec two(real a, real b) {{ vec v; v.x = a; v.y = b; return v; }}
__device__ __forceinline__ vec operator+(vec a, vec b) {{ return two(a.x + b.x, a.y + b.y); }}
__device__ __forceinline__ vec operator-(vec a, vec b) {{ return two(a.x - b.x, a.y - b.y); }}
__device__ __forceinline__ vec operator*(vec a, vec b) {{ return two(a.x * b.x, a.y * b.y); }}
__device__ __forceinline__ vec load(const real* at) {{ return *(const vec*)at; }}
"""

PRELUDE = (
    "\n"
    + HEAD
    + """__device__ __forceinline__ real ratio(real a, real b) {{ return b != 0 ? a / b : 0; }}
#ifdef __CUDACC__  // a compiler for GPUs; OPAQUE: one multiplication and addition makes an address, not three of them
#define OPAQUE(pointer) asm("" : "+l"(pointer))
__device__ __forceinline__ vec fetch(const real* at) {{ return __ldg((const vec*)at); }}
__device__ __forceinline__ vec larger(vec a, vec b) {{ return two(fmax(a.x, b.x), fmax(a.y, b.y)); }}
#else
#define OPAQUE(pointer)
__device__ __forceinline__ vec fetch(const real* at) {{ return load(at); }}
__device__ __forceinline__ vec larger(vec a, vec b) {{ return two(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y); }}
#endif
"""
)

# A hand is four words: bytes of shared memory to its cards (16 bits each), the hand on the board before, two rows; more
# rows, of those sources that few nodes go by, are in `extra`.
PART = """
extern "C" __global__ void __launch_bounds__(WARP, {blocks}) {name}(
    const uint4* __restrict__ hands, const unsigned int* __restrict__ extra, const unsigned short* __restrict__ ends,
    const int* __restrict__ sizes,
    const int* __restrict__ board_above, const real* __restrict__ roots, const real* __restrict__ his,
    const real* __restrict__ mine, const long long* __restrict__ his_begin, const long long* __restrict__ my_begin,
    const real* __restrict__ stake, const int* __restrict__ groups, const int first, const int places,
    real* slots, const long long slot, const real* __restrict__ after, const int* __restrict__ exits) {{
  extern __shared__ vec room[];
  const int x = threadIdx.x, lane = 2 * x;
  const int g = groups[blockIdx.y], board = first + blockIdx.x, size = sizes[board];
  const uint4* const hand = hands + (long long)board * places;
  const unsigned int* const more = extra + (long long)board * places * EXTRA;
  const real* root = roots + ((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane;
  const real* his_rows = his + his_begin[g] * WIDE + lane;
  const real* my_rows = mine + my_begin[g] * WIDE + lane;
  OPAQUE(root);
  OPAQUE(his_rows);
  OPAQUE(my_rows);
  real* const out = slots + (((long long)blockIdx.x * GROUPS + g) * places) * WIDE + lane;
{prologue}
  char* const sums = (char*)(room + x);
  for (int i = 0; i < {terms} * TERM; i += {card_bytes}) *(vec*)(sums + i) = two(0, 0);
  const unsigned short* const end = ends + (long long)board * (places / {step});
  int low = 0, high = 0, next = end[0];
  uint4 h[{span}];
  {{
    const int next_at = 0, next_second = {step} < size ? {step} : size;
{read}
  }}
  {{
{begin_first}
    for (int at = 0; at < size; at += {span}) {{
      STEPS(size, 0, next)
{load_first}
{add_first}
    }}
{end_first}
  }}
{body}
}}
"""

# Behind the hands of a strength, which are looked at after they were added, they are added again; and then the next.
RUNNING = """
  for (int tie = 1; high < size; tie++) {{
    {{
{begin_step}
      for (int at = low; at < next; at += {span}) {{
        STEPS(next, high, next)
{load_step}
{add_step}
      }}
{end_step}
    }}
    low = high;
    high = next;
    if (high < size) next = end[tie];
{begin_value}
    for (int at = low; at < high; at += {span}) {{
      STEPS(high, low, next)
{load_value}
{value}
    }}
  }}
"""

STANDING = """
  {{
{begin_value}
    for (int at = 0; at < size; at += {span}) {{
      STEPS(size, 0, size)
{load_value}
{value}
    }}
  }}
"""

# Where the steps are that are worked on, and those after them. to: where this loop ends; from, until: the next one.
STEPS = """
#define STEPS(to, from, until) \\
  const int second = at + {step} < to ? at + {step} : size; \\
  const int next_at = at + {span} < to ? at + {span} : from; \\
  const int next_second = next_at + {step} < (at + {span} < to ? to : until) ? next_at + {step} : size;
"""

OPEN = """
extern "C" __global__ void {name}(
    const uint4* __restrict__ hands, const unsigned int* __restrict__ extra, const int* __restrict__ board_above,
    const real* __restrict__ roots, const real* __restrict__ his, const long long* __restrict__ his_begin,
    const int* __restrict__ groups, const int* __restrict__ exits, real* onto) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / PAIRS, lane = at % PAIRS * 2;
  const int g = groups[blockIdx.y], board = blockIdx.z;
  if (i >= HANDS) return;
  const real* const root = roots + ((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane;
  const real* const his_rows = his + his_begin[g] * WIDE + lane;
  const uint4 h[1] = {{hands[(long long)board * (FILLED + {step}) + i]}};
  const unsigned int* const more = extra + (long long)board * (FILLED + {step}) * EXTRA;
  const int u = 0;
  real* const there = onto + (long long)board * AFTER * (HANDS + 1) * WIDE;
{body}
}}
"""

# Sums over boards, and their means over the renamings that leave the board before alone.
GATHER = """
extern "C" __global__ void gather(
    const unsigned short* __restrict__ where, const int* __restrict__ below, const double* __restrict__ copies,
    const real* __restrict__ values, const int places, const int first, const int first_above, double* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / PAIRS, lane = at % PAIRS * 2;
  const int g = blockIdx.y, board = first_above + blockIdx.z;
  if (i >= ABOVE) return;
  double one = 0, other = 0;
  for (int b = below[board]; b < below[board + 1]; b++) {
    const unsigned int place = where[(long long)b * ABOVE + i];
    if (place == 65535u) continue;
    const vec value = load(values + (((long long)(b - first) * GROUPS + g) * places + place) * WIDE + lane);
    one += copies[b] * (double)value.x;
    other += copies[b] * (double)value.y;
  }
  double* const there = out + (((long long)board * GROUPS + g) * ABOVE + i) * WIDE + lane;
  there[0] = one;
  there[1] = other;
}

extern "C" __global__ void even(
    const double* __restrict__ sums, const unsigned short* __restrict__ names, const int* __restrict__ name_at,
    const int filled, real* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE;
  const int g = blockIdx.y, board = blockIdx.z;
  if (i >= ABOVE) return;
  const double* const from = sums + ((long long)board * GROUPS + g) * ABOVE * WIDE + lane;
  double mean = 0;
  const int low = name_at[board], high = name_at[board + 1];
  for (int p = low; p < high; p++) mean += from[names[(long long)p * ABOVE + i] * WIDE];
  if (low == high) mean = from[i * WIDE];
  else mean /= high - low;
  out[(((long long)board * GROUPS + g) * filled + i) * WIDE + lane] = (real)mean;
}
"""
