"""CUDA source of the passes over betting times cards: the kernels of `poker/exact/kernels/` for a GPU.

Nothing of a game is in the source but the most actions that a decision has, so it is compiled once and serves all
betting; what a game is, kernels read from tables (`gpu_tables.py`). A round is a launch: of all its boards, groups and
lanes at once.

- `reach`: the plan of a seat, for one class of hands and lane a thread, and its place in the average. Kept by sequence.
- `ends_one`, `ends_two`: what folds and showdowns are worth, with hands of one card and of two.
- `take_back`: what betting that goes on is worth, from the roots of the boards that follow.
- `learn`: values from the ends to the root and regret matching on the way; `look`: values against weights, at most or
  by the seat's own.

With hands of two cards a block has one board and one lane, and the ends that the other has come to in one way. Sums
over hands and over the hands with each card run over pieces of CHUNK hands side by side, and then over the pieces: a
running sum is the one of its piece and the one of all pieces before. Threads meet between the steps, and keep nothing
over them but what is in shared memory, so a block may have any number of threads.

Every sum has a fixed order: the same GPU gives the same bits. Against cores they differ by rounding.
"""

from __future__ import annotations

from functools import lru_cache

CHUNK = 9  # hands that a thread adds up; odd, so that threads find their numbers in different banks of shared memory
SPAN = 11  # pieces that one adds up
ENDS = 16  # of a block at most
BLOCK = 256  # threads of a block that adds up over hands of two cards
THREADS = 256  # of any other block

# What kernels that go over the classes of hands and lanes of a round know of it.
ROUND = """const int* __restrict__ block_at, const int groups, const int seat, const int classes,
    const int* __restrict__ class_board, const int* __restrict__ board_first, const wide_int* __restrict__ places,
    const int* __restrict__ shapes"""

SOURCE = """
typedef {real} real;  // of plans and values
typedef {kept} kept;  // of regrets, strategies and averages
#define MOST {most}
#define CHUNK {chunk}
#define SPAN {span}
#define ENDS {ends}
#define BLOCK {block}
typedef long long wide_int;

// The class of hands, board and lane of a thread, and where the seat's sequences are.
struct Place {{
  int lanes, lane, size, first, here;
  wide_int start, stride;
}};

__device__ __forceinline__ Place place_of(
    const int g, const unsigned int e, const int seat, const int* class_board, const int* board_first,
    const wide_int* places, const int* shapes) {{
  Place at;
  at.lanes = shapes[4 * g];
  at.here = (int)(e / (unsigned int)at.lanes);
  at.lane = (int)e - at.here * at.lanes;
  const int board = class_board[at.here];
  at.first = board_first[board];
  at.size = board_first[board + 1] - at.first;
  at.stride = (wide_int)at.size * at.lanes;
  const wide_int width = shapes[4 * g + 1 + seat];
  at.start = places[4 * g + 1 + seat] + (width * at.first + (at.here - at.first)) * at.lanes + at.lane;
  return at;
}}

// The last of `count` things whose first block is not behind this one: blocks are dealt out to groups or exits.
__device__ __forceinline__ int owner_of(const int* block_at, const int count) {{
  int low = 0, high = count - 1;
  while (low < high) {{
    const int middle = (low + high + 1) / 2;
    if (block_at[middle] <= (int)blockIdx.x) low = middle;
    else high = middle - 1;
  }}
  return low;
}}

// What changes from iteration to iteration: what is left of positive regrets and of others, the floor, the weight of
// the prediction, what is noise, and what is left of the average (below 0: it is not kept).
extern "C" __global__ void next_iteration(const real* __restrict__ schedule, int* at, real* now) {{
  if (threadIdx.x == 0 && blockIdx.x == 0) {{
    for (int i = 0; i < 6; i++) now[i] = schedule[(wide_int)at[0] * 6 + i];
    at[0] = at[0] + 1;
  }}
}}

extern "C" __global__ void reach(
    {round}, const int below, const int weighed,
    const int* __restrict__ decision_at, const int* __restrict__ decisions, const int* __restrict__ up,
    const int* __restrict__ lane_at, const int* __restrict__ lane_from, const int* __restrict__ above_board,
    const int* __restrict__ above_first, const wide_int* __restrict__ above_places,
    const int* __restrict__ above_shapes, const kept* __restrict__ strategy, real* plan, real* roots, kept* average,
    const real* __restrict__ now, const int averaged) {{
  const int g = owner_of(block_at, groups);
  const unsigned int e = (blockIdx.x - block_at[g]) * blockDim.x + threadIdx.x;
  if (e >= (unsigned int)classes * (unsigned int)shapes[4 * g]) return;
  const Place at = place_of(g, e, seat, class_board, board_first, places, shapes);
  real* const root = roots + places[4 * g] + e;
  real comes = 0;
  if (below) {{
    const int* const from = lane_from + 4 * (lane_at[g] + at.lane);
    const int group = from[0], action = from[2 + seat], before = up[at.here];
    const unsigned int there = (unsigned int)before * above_shapes[4 * group] + from[1];
    if (action < 0) {{
      comes = roots[above_places[4 * group] + there];
    }} else {{
      const Place high = place_of(group, there, seat, above_board, above_first, above_places, above_shapes);
      comes = plan[high.start + action * high.stride];
    }}
    *root = comes;
  }} else {{
    comes = *root;
  }}
  const kept decay = averaged ? (kept)now[5] : (kept)-1;
  for (int d = decision_at[g]; d < decision_at[g + 1]; d++) {{
    const int action = decisions[3 * d], width = decisions[3 * d + 1], above = decisions[3 * d + 2];
    const real led = above < 0 ? comes : plan[at.start + above * at.stride];
    const wide_int first = at.start + action * at.stride;
    kept share[MOST];
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++)
      if (a < width) share[a] = strategy[first + a * at.stride];
    real all = 0, scale = 0;
    if (weighed) {{
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (a < width) all += (real)share[a];
      scale = all > 0 ? led / all : led / width;
    }}
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++) {{
      if (a < width) {{
        const wide_int s = first + a * at.stride;
        const real goes = !weighed ? led * (real)share[a] : all > 0 ? (real)share[a] * scale : scale;
        plan[s] = goes;
        if (decay >= 0) average[s] = average[s] * decay + (kept)goes;
      }}
    }}
  }}
}}

extern "C" __global__ void even(
    {round},
    const int* __restrict__ decision_at, const int* __restrict__ decisions, const kept* weights, kept* strategy) {{
  const int g = owner_of(block_at, groups);
  const unsigned int e = (blockIdx.x - block_at[g]) * blockDim.x + threadIdx.x;
  if (e >= (unsigned int)classes * (unsigned int)shapes[4 * g]) return;
  const Place at = place_of(g, e, seat, class_board, board_first, places, shapes);
  for (int d = decision_at[g]; d < decision_at[g + 1]; d++) {{
    const int width = decisions[3 * d + 1];
    const wide_int first = at.start + decisions[3 * d] * at.stride;
    double all = 0;
    for (int a = 0; a < width; a++) all += (double)weights[first + a * at.stride];
    for (int a = 0; a < width; a++)
      strategy[first + a * at.stride] = (kept)(all > 0 ? (double)weights[first + a * at.stride] / all : 1.0 / width);
  }}
}}

// The worth of an end is the stake times the other's reach that is met, at a showdown that of weaker hands less that of
// stronger ones. A hand meets none that shares a card with it. A class has four words: the hands that it beats and
// those that do not beat it, 16 bits each; the same among the hands with its first and its second card, 8 bits each;
// its two cards, 8 bits each, and the place of its first hand.
extern "C" __global__ void __launch_bounds__(BLOCK) ends_two(
    const int classes, const int hands, const int live, const int merged, const int* __restrict__ board_first,
    const unsigned short* __restrict__ hand_class, const unsigned short* __restrict__ card_hands,
    const uint4* __restrict__ ranked, const wide_int* __restrict__ places, const int* __restrict__ shapes,
    const int other, const int* __restrict__ units, const int* __restrict__ ends, const real* __restrict__ stake,
    const real* __restrict__ plan, const real* __restrict__ roots, real* values) {{
  extern __shared__ double room[];
  const int held = live - 1, chunks = hands / CHUNK + 1, spans = (chunks - 1) / SPAN + 1;
  const int card_chunks = held / CHUNK + 1, card_room = card_chunks * CHUNK;
  wide_int* const line = (wide_int*)room;           // [ENDS]  where the values of an end are
  real* const chips = (real*)(line + ENDS);         // [ENDS]
  real* const hand = chips + ENDS;                  // [hands]
  real* const sum = hand + hands;                   // [chunks][CHUNK]  within a piece
  real* const chunk = sum + chunks * CHUNK;         // [spans][SPAN]  before a piece, within its span
  real* const span = chunk + spans * SPAN;          // [spans]  of a span
  real* const before = span + spans;                // [spans + 1]  before a span; behind the last, all
  real* const card = before + spans + 1;            // [live][card_chunks][CHUNK]
  real* const card_chunk = card + live * card_room; // [live][card_chunks]
  real* const card_all = card_chunk + live * card_chunks;  // [live]
  const int thread = threadIdx.x, threads = blockDim.x, board = blockIdx.x;
  const int* const unit = units + 5 * blockIdx.y;
  const int g = unit[0], lane = unit[1], action = unit[2], count = unit[4], lanes = shapes[4 * g];
  const int first = board_first[board], size = board_first[board + 1] - first;
  const real* source;
  if (action < 0) source = roots + places[4 * g] + (wide_int)first * lanes + lane;
  else source = plan + places[4 * g + 1 + other] + ((wide_int)shapes[4 * g + 1 + other] * first
                + (wide_int)action * size) * lanes + lane;
  const unsigned short* const class_of = hand_class + (wide_int)board * hands;
  for (int i = thread; i < hands; i += threads) hand[i] = source[(merged ? (int)class_of[i] : i) * lanes];
  for (int k = thread; k < count; k += threads) {{
    const int* const end = ends + 3 * (unit[3] + k);
    line[k] = 2 * (places[4 * g + 3] + ((wide_int)end[0] * classes + first) * lanes + lane) + end[1];
    chips[k] = stake[end[2] + lane];
  }}
  __syncthreads();
  const unsigned short* const with_card = card_hands + (wide_int)board * live * held;
  for (int j = thread; j < chunks + live * card_chunks; j += threads) {{
    const bool whole = j < chunks;
    const int c = whole ? 0 : (j - chunks) / card_chunks, begin = (whole ? j : j - chunks - c * card_chunks) * CHUNK;
    const int end = whole ? hands : held;
    real part[CHUNK];
    _Pragma("unroll")
    for (int i = 0; i < CHUNK; i++) {{
      part[i] = 0;
      if (begin + i < end) part[i] = hand[whole ? begin + i : (int)with_card[c * held + begin + i]];
    }}
    real* const out = whole ? sum + begin : card + c * card_room + begin;
    real all = 0;
    _Pragma("unroll")
    for (int i = 0; i < CHUNK; i++) {{
      out[i] = all;
      all += part[i];
    }}
    (whole ? chunk + j : card_chunk + (j - chunks))[0] = all;
  }}
  for (int j = chunks + thread; j < spans * SPAN; j += threads) chunk[j] = 0;
  __syncthreads();
  for (int j = thread; j < spans + live; j += threads) {{
    const bool whole = j < spans;
    real* const out = whole ? chunk + j * SPAN : card_chunk + (j - spans) * card_chunks;
    const int end = whole ? SPAN : card_chunks;
    real part[SPAN], all = 0;
    _Pragma("unroll")
    for (int i = 0; i < SPAN; i++)
      if (i < end) part[i] = out[i];
    _Pragma("unroll")
    for (int i = 0; i < SPAN; i++) {{
      if (i < end) {{
        out[i] = all;
        all += part[i];
      }}
    }}
    (whole ? span + j : card_all + (j - spans))[0] = all;
  }}
  __syncthreads();
  for (int j = thread; j <= spans; j += threads) {{
    real all = 0;
    for (int i = 0; i < j; i++) all += span[i];
    before[j] = all;
  }}
  __syncthreads();
  const real all = before[spans];
  uint4 next = ranked[first + (thread < size ? thread : 0)];
  for (int c = thread; c < size; c += threads) {{
    const uint4 of = next;
    next = ranked[first + (c + threads < size ? c + threads : c)];
    const int one = of.z & 255u, two = (of.z >> 8) & 255u;
    const int low = of.x & 65535u, high = of.x >> 16, p = low / CHUNK, q = high / CHUNK;
    const int one_low = of.y & 255u, one_high = (of.y >> 8) & 255u;
    const int two_low = (of.y >> 16) & 255u, two_high = of.y >> 24;
    const real all_one = card_all[one], all_two = card_all[two];
    const real* const ones = card + one * card_room;
    const real* const twos = card + two * card_room;
    const real* const piece_one = card_chunk + one * card_chunks;
    const real* const piece_two = card_chunk + two * card_chunks;
    const real met = all - all_one - all_two + hand[of.z >> 16];
    real shown = (sum[low] + chunk[p] + before[p / SPAN]) + (sum[high] + chunk[q] + before[q / SPAN]) - all;
    shown -= (ones[one_low] + piece_one[one_low / CHUNK]) + (ones[one_high] + piece_one[one_high / CHUNK]) - all_one;
    shown -= (twos[two_low] + piece_two[two_low / CHUNK]) + (twos[two_high] + piece_two[two_high / CHUNK]) - all_two;
    for (int k = 0; k < count; k++) {{
      const wide_int to = line[k];
      values[(to >> 1) + (wide_int)c * lanes] = chips[k] * (to & 1 ? shown : met);
    }}
  }}
}}

extern "C" __global__ void ends_one(
    const int classes, const int boards, const int count, const int* __restrict__ board_first,
    const real* __restrict__ sizes, const int* __restrict__ board_tie, const int* __restrict__ tie_class,
    const wide_int* __restrict__ places, const int* __restrict__ shapes, const int other,
    const int* __restrict__ units, const int* __restrict__ ends, const real* __restrict__ stake,
    const real* __restrict__ plan, const real* __restrict__ roots, real* values) {{
  const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (unsigned int)boards * (unsigned int)count) return;
  const int board = (int)(at / (unsigned int)count);
  const int* const unit = units + 5 * ((int)at - board * count);
  const int g = unit[0], lane = unit[1], action = unit[2], lanes = shapes[4 * g];
  const int first = board_first[board], size = board_first[board + 1] - first;
  const real* source;
  if (action < 0) source = roots + places[4 * g] + (wide_int)first * lanes + lane;
  else source = plan + places[4 * g + 1 + other] + ((wide_int)shapes[4 * g + 1 + other] * first
                + (wide_int)action * size) * lanes + lane;
  real* const out = values + places[4 * g + 3] + (wide_int)first * lanes + lane;
  const wide_int line = (wide_int)classes * lanes;
  const int* const begin = tie_class + board_tie[board];
  const int ties = board_tie[board + 1] - board_tie[board] - 1;
  real all = 0;
  for (int c = 0; c < size; c++) all += sizes[first + c] * source[(wide_int)c * lanes];
  real below = 0;
  for (int t = 0; t < ties; t++) {{
    real upto = below;
    for (int c = begin[t]; c < begin[t + 1]; c++) upto += sizes[first + c] * source[(wide_int)c * lanes];
    for (int c = begin[t]; c < begin[t + 1]; c++) {{
      const real met = all - source[(wide_int)c * lanes];
      for (int k = unit[3]; k < unit[3] + unit[4]; k++)
        out[ends[3 * k] * line + (wide_int)c * lanes] =
            stake[ends[3 * k + 2] + lane] * (ends[3 * k + 1] ? below + upto - all : met);
    }}
    below = upto;
  }}
}}

extern "C" __global__ void take_back(
    const int* __restrict__ block_at, const int count, const int classes, const int* __restrict__ exits,
    const wide_int* __restrict__ exit_to, const int* __restrict__ down_at, const int* __restrict__ down,
    const real* __restrict__ carry, const wide_int* __restrict__ places, const int* __restrict__ shapes,
    const real* __restrict__ root_value, real* values) {{
  const int number = owner_of(block_at, count);
  const int* const exit = exits + 3 * number;
  const int g = exit[0], lanes = shapes[4 * g];
  const unsigned int e = (blockIdx.x - block_at[number]) * blockDim.x + threadIdx.x;
  if (e >= (unsigned int)classes * (unsigned int)lanes) return;
  const int c = (int)(e / (unsigned int)lanes), lane = (int)e - c * lanes;
  const wide_int* const to = exit_to + 3 * (exit[2] + lane);
  const real* const from = root_value + to[0] + to[2];
  const wide_int there = to[1];
  real all = 0;
  const int end = down_at[c + 1];
  _Pragma("unroll 4")
  for (int i = down_at[c]; i < end; i++) all += carry[i] * from[down[i] * there];
  values[places[4 * g + 3] + (wide_int)exit[1] * classes * lanes + e] = all;
}}

extern "C" __global__ void learn(
    {round},
    const int* __restrict__ node_at, const int* __restrict__ nodes, real* values, real* root_value, kept* regret,
    kept* strategy, const real* __restrict__ now) {{
  const int g = owner_of(block_at, groups);
  const unsigned int e = (blockIdx.x - block_at[g]) * blockDim.x + threadIdx.x;
  if (e >= (unsigned int)classes * (unsigned int)shapes[4 * g]) return;
  const Place at = place_of(g, e, seat, class_board, board_first, places, shapes);
  const wide_int line = (wide_int)classes * at.lanes;
  real* const value = values + places[4 * g + 3] + e;
  const kept grow = (kept)now[0], keep = (kept)now[1], least = (kept)now[2], prediction = (kept)now[3];
  const kept tiny = (kept)now[4];
  for (int i = node_at[g]; i < node_at[g + 1]; i++) {{
    const int* const node = nodes + (4 + MOST) * i;
    const int width = node[2];
    real worth[MOST], mean = 0;
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++)
      if (a < width) worth[a] = value[node[4 + a] * line];
    if (node[1] != seat) {{
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (a < width) mean += worth[a];
      value[node[0] * line] = mean;
      continue;
    }}
    const wide_int first = at.start + node[3] * at.stride;
    kept share[MOST], old[MOST], all = 0;
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++) {{
      if (a < width) {{
        share[a] = strategy[first + a * at.stride];
        old[a] = regret[first + a * at.stride];
        mean += (real)share[a] * worth[a];
      }}
    }}
    value[node[0] * line] = mean;
    if (width < 2) continue;
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++) {{
      if (a < width) {{
        const kept delta = (kept)(worth[a] - mean);
        kept r = old[a] * (old[a] > 0 ? grow : keep) + delta;
        r = r > least ? r : least;
        regret[first + a * at.stride] = r;
        r += prediction * delta;
        share[a] = r > 0 ? r : (kept)0;
        all += share[a];
      }}
    }}
    const kept scale = (kept)1 / (all > tiny ? all : tiny), uniform = (kept)1 / (kept)width;
    _Pragma("unroll")
    for (int a = 0; a < MOST; a++)
      if (a < width) strategy[first + a * at.stride] = all > tiny ? share[a] * scale : uniform;
  }}
  root_value[places[4 * g] + e] = value[0];
}}

extern "C" __global__ void look(
    {round},
    const int* __restrict__ node_at, const int* __restrict__ nodes, real* values, real* root_value,
    const kept* __restrict__ weights, const int played) {{
  const int g = owner_of(block_at, groups);
  const unsigned int e = (blockIdx.x - block_at[g]) * blockDim.x + threadIdx.x;
  if (e >= (unsigned int)classes * (unsigned int)shapes[4 * g]) return;
  const Place at = place_of(g, e, seat, class_board, board_first, places, shapes);
  const wide_int line = (wide_int)classes * at.lanes;
  real* const value = values + places[4 * g + 3] + e;
  for (int i = node_at[g]; i < node_at[g + 1]; i++) {{
    const int* const node = nodes + (4 + MOST) * i;
    const int width = node[2];
    const wide_int first = at.start + node[3] * at.stride;
    const bool mine = node[1] == seat;
    real worth = mine && !played ? value[node[4] * line] : (real)0, all = 0;
    if (mine && played)
      for (int a = 0; a < width; a++) all += (real)weights[first + a * at.stride];
    for (int a = 0; a < width; a++) {{
      const real after = value[node[4 + a] * line];
      if (!mine) worth += after;
      else if (!played) worth = after > worth ? after : worth;
      else worth += (all > 0 ? (real)weights[first + a * at.stride] / all : (real)1 / width) * after;
    }}
    value[node[0] * line] = worth;
  }}
  root_value[places[4 * g] + e] = value[0];
}}
"""


@lru_cache(32)
def source(real: str, kept: str, most: int) -> str:
    """All kernels. real, kept: float or double; most: actions of a decision."""
    return SOURCE.format(real=real, kept=kept, most=most, chunk=CHUNK, span=SPAN, ends=ENDS, block=BLOCK, round=ROUND)


def shared_bytes(hands: int, live: int, itemsize: int) -> int:
    """Shared memory of a block of `ends_two`."""
    chunks, card_chunks = hands // CHUNK + 1, (live - 1) // CHUNK + 1
    spans = (chunks - 1) // SPAN + 1
    numbers = ENDS + hands + chunks * CHUNK + spans * SPAN + 2 * spans + 1 + live * (card_chunks * (CHUNK + 1) + 1)
    return 8 * ENDS + itemsize * numbers
