"""CUDA source of the engine of spots: the passes of `kernels/` for a GPU.

A pass of a seat goes down with the other's reach and up with the seat's values, as on cores. A block has one board and
one *line* (one way to come to a street). What a line consists of, kernels read from tables (`gpu_lines.py`).

- `down`: the other's reach in all lines of a street that is not the last, and its averages.
- `last`: a line of the last street whole: reach, ends of betting, values and regrets; only its regrets and averages are
  read from and written to the memory of the GPU, if the vectors of the line fit into the shared memory of a block.
- `take` and `share`: what a street is worth where the one before leads to it; hands that differ by names of suits alone
  have their mean.
- `up`: values and regrets of a street that is not the last.
- `lists`, `ranks` and `lower` write tables, once; `widen` turns codes of 16 bits into numbers (`cuda_tables.py`).

A *slot* is a vector for a node to which the other has just bet its way, and for all nodes after it until the other acts
again: first of the other's reach, then of the seat's values. So the slots of a line are all that it needs.

At an end a hand meets no hand that shares a card with it. Running sums of reach, over all hands in order of strength
and over the hands with each card, tell how much is weaker and how much is not stronger. Lists of 64 hands are summed by
GROUP threads each; `place_in` leaves a gap after each 8 numbers, so that threads find theirs in different banks.

Threads keep nothing over a barrier but what is in memory, so that a block may have any number of threads: one, where
tests compile the source as C++, with a GROUP of one. Every sum has a fixed order: the same GPU gives the same bits.
"""

from __future__ import annotations

from functools import lru_cache

from kibitz.poker.spots.cuda_tables import TABLES

LIST = 64  # numbers of a running sum; a card is in 51 hands at most
ROOM = LIST + LIST // 8  # with gaps
GROUP = 8  # threads of a list
FOLD, SHOWDOWN, EXIT, SUM = range(4)  # kinds of items: ends of betting, the next street, actions of the other
SUMS, BOTH = 1, 2  # what a group needs: running sums; the other's reach with the same two cards
LEARN, KEEP, AVERAGED, BEST = 1, 2, 4, 8  # what a pass does: as SpotJob

# The arrays of a spot, in the order of `Spot` below.
ARRAYS = (
    ("regret", "kept*"), ("average", "kept*"),
    ("count", "const int*"), ("size", "const int*"), ("state_base", "const wide_int*"), ("hand_first", "const int*"),
    ("above", "const int*"), ("board_child", "const int*"), ("weight", "const real*"),
    ("up", "const unsigned short*"), ("same", "const unsigned short*"), ("card", "const unsigned short*"),
    ("live", "const unsigned char*"), ("tie_first", "const int*"), ("tie_stop", "const int*"),
    ("with_card", "unsigned short*"), ("ranked", "uint2*"), ("lower", "unsigned short*"),
    ("class_board", "const int*"), ("class_first", "const int*"), ("members", "const unsigned short*"),
    ("lines", "const Line*"), ("downs", "const int4*"), ("groups", "const int4*"), ("items", "const int4*"),
    ("pays", "const Pay*"), ("ranges", "const real*"),
)  # fmt: skip

SOURCE = r"""
#define NONE 65535
#define ROOM (LIST + LIST / 8)
#define PART (LIST / GROUP)
typedef long long wide_int;
typedef REAL real;  // of vectors

#if NARROW
typedef unsigned short kept;
__device__ __forceinline__ real number_of(const kept code) {
  return __uint_as_float(((unsigned int)code << 13) + (95u << 23));
}
__device__ __forceinline__ kept kept_of(const real number) {
  return (kept)((__float_as_uint((float)(number > LEAST ? number : LEAST)) + ((1u << 12) - (95u << 23))) >> 13);
}
#else
typedef real kept;
__device__ __forceinline__ real number_of(const kept number) { return number; }
__device__ __forceinline__ kept kept_of(const real number) { return number > LEAST ? number : LEAST; }
#endif

struct alignas(sizeof(kept) * V) Kepts { kept x[V]; };
struct alignas(sizeof(real) * V) Reals { real x[V]; };
struct alignas(16) Hands { unsigned short x[PART]; };
struct alignas(16) Pay { real x, y, z, w; };

// A line for the passes of one seat: what the other does, the groups of its slots, the reach it begins with (its row on
// the street before; -1: the range), and where its slots are in the memory of its street.
struct Line { int down_first, downs, group_first, slots, enter_row, row_first, entry, unused; };

struct Spot {
ARRAYS
  int boards, cards, line_count, hands, ties, first_stride;  // of all streets; cards, stride: of the first board
};

// A street: boards and lines from a first one on, numbers of a vector, slots of a board, lines of the next street.
struct Street { int board_first, boards, line_first, lines, stride, rows, exits, unused; };

struct Pass { int seat, mode; real grow, decay; };

__device__ __forceinline__ int place_in(const int k) { return k + (k >> 3); }

__device__ __forceinline__ void enter(
    const Spot* spot, const Line& line, const int other, const int board, const real* reach_above,
    const Street& above, real* slots) {
  const int at = other * spot->boards + board, count = spot->count[at], size = spot->size[at];
  if (line.enter_row < 0) {
    const real* const range = spot->ranges + other * spot->first_stride;
    for (int h = threadIdx.x; h < size; h += blockDim.x) slots[h] = range[h];
    return;
  }
  const real* const source = reach_above
      + ((wide_int)(spot->above[board] - above.board_first) * above.rows + line.enter_row) * above.stride;
  const unsigned short* const up = spot->up + spot->hand_first[at];
  for (int h = threadIdx.x; h < size; h += blockDim.x) slots[h] = h < count ? source[up[h]] : 0;
}

// The other's reach in all slots of a line, from that in the first; averages on the way.
__device__ __forceinline__ void go_down(
    const Spot* spot, const Line& line, const int other, const int board, const Pass& pass, real* slots,
    const int stride) {
  const int at = other * spot->boards + board, size = spot->size[at];
  const wide_int base = spot->state_base[at];
  const kept* const weights = (pass.mode & AVERAGED ? spot->average : spot->regret) + base;
  kept* const average = spot->average + base;
  const int4* const downs = spot->downs + line.down_first;
  const bool keep = pass.mode & KEEP;
  for (int h = V * threadIdx.x; h < size; h += V * blockDim.x) {
    for (int d = 0; d < line.downs; d++) {
      const int4 of = downs[d];  // the slot it is in, the slot of the first action, actions, their first row
      const int width = of.z;
      const int row = of.w * size + h;
      Kepts number[MOST], old[MOST];
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (a < width) {
          number[a] = *(const Kepts*)(weights + row + a * size);
          if (keep) old[a] = *(const Kepts*)(average + row + a * size);
        }
      const Reals led = *(const Reals*)(slots + of.x * stride + h);
      real share[V];
      _Pragma("unroll")
      for (int v = 0; v < V; v++) {
        real all = 0;
        _Pragma("unroll")
        for (int a = 0; a < MOST; a++)
          if (a < width) all += number_of(number[a].x[v]);
        share[v] = led.x[v] / all;
      }
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (a < width) {
          Reals plan;
          Kepts now;
          _Pragma("unroll")
          for (int v = 0; v < V; v++) {
            plan.x[v] = share[v] * number_of(number[a].x[v]);
            if (keep) now.x[v] = kept_of(number_of(old[a].x[v]) * pass.decay + plan.x[v]);
          }
          *(Reals*)(slots + (of.y + a) * stride + h) = plan;
          if (keep) *(Kepts*)(average + row + a * size) = now;
        }
    }
  }
}

// Running sums of a slot: [cards][ROOM] of the hands with a card, then of all hands in pieces of LIST; what is before
// each piece, and behind the last one, all; a copy of the slot, if it is asked for.
struct Sums { real *list, *all, *before, *total, *copy; };

__device__ __forceinline__ Sums sums_in(real* room, const int cards, const int stride) {
  const int pieces = stride / LIST + 1;
  Sums sums;
  sums.list = room;
  sums.all = room + cards * ROOM;
  sums.total = sums.all + pieces * ROOM;
  sums.before = sums.total + pieces;
  sums.copy = sums.before + pieces + 1;
  return sums;
}

__device__ __forceinline__ void sum_up(
    const Sums& sums, const real* reach, const unsigned short* with_card, const int cards, const int count,
    const bool copied) {
  const int pieces = count / LIST + 1, lists = cards + pieces;
  const int most = (lists * GROUP + WARP - 1) / WARP * WARP;
  for (int j = threadIdx.x; j < most; j += blockDim.x) {
    const int list = j / GROUP, part = j % GROUP;
    real before[PART], all = 0;
    if (list < cards) {
      const Hands hands = *(const Hands*)(with_card + list * LIST + part * PART);
      _Pragma("unroll")
      for (int i = 0; i < PART; i++) {
        const int hand = hands.x[i];
        before[i] = all;
        all += hand == NONE ? 0 : reach[hand];
      }
    } else {
      const int first = (list - cards) * LIST + part * PART;
      _Pragma("unroll")
      for (int i = 0; i < PART; i++) {
        const real r = list < lists && first + i < count ? reach[first + i] : 0;
        if (copied && list < lists && first + i < count) sums.copy[first + i] = r;
        before[i] = all;
        all += r;
      }
    }
    real upto = all;
    _Pragma("unroll")
    for (int d = 1; d < GROUP; d *= 2) {
      const real more = __shfl_up_sync(~0u, upto, d, GROUP);
      if (part >= d) upto += more;
    }
    const real left = __shfl_up_sync(~0u, upto, 1, GROUP), base = part ? left : 0;
    if (list < lists) {
      real* const out = sums.list + list * ROOM;
      _Pragma("unroll")
      for (int i = 0; i < PART; i++) out[place_in(part * PART + i)] = base + before[i];
      if (list >= cards && part == GROUP - 1) sums.total[list - cards] = upto;
    }
  }
  __syncthreads();
  for (int j = threadIdx.x; j <= pieces; j += blockDim.x) {
    real all = 0;
    for (int i = 0; i < j; i++) all += sums.total[i];
    sums.before[j] = all;
  }
  __syncthreads();
}

// The seat's values in all slots of a line, from the last to the first, and its new regrets. exits: values where the
// next street begins; out: those of the first slot. ends: there is no next street.
__device__ __forceinline__ void go_up(
    const Spot* spot, const Line& line, const int board, const Pass& pass, const int stride, const int cards,
    real* slots, real* room, const real* exits, real* out, const bool ends) {
  const int seat = pass.seat, own = seat * spot->boards + board, others = (1 - seat) * spot->boards + board;
  const int size = spot->size[own], count = spot->count[own], met_count = spot->count[others];
  const wide_int base = spot->state_base[own];
  kept* const regret = spot->regret + base;
  const kept* const weights = pass.mode & AVERAGED ? spot->average + base : regret;
  const int4* const groups = spot->groups + line.group_first;
  const int4* const all_items = spot->items;
  const Pay* const all_pays = spot->pays;
  const unsigned short* const same = spot->same + spot->hand_first[own];
  const uint2* const ranked = spot->ranked + spot->hand_first[own];
  const unsigned short* const with_card = spot->with_card + (wide_int)others * spot->cards * LIST;
  const Sums sums = sums_in(room, cards, stride);
  const int last = place_in(LIST - 1), pieces = met_count / LIST + 1;
  for (int s = line.slots - 1; s >= 0; s--) {
    const int4 group = groups[s];  // the first row or -1, items, the first item, needs
    real* const here = slots + s * stride;
    const bool needs_sums = group.w & SUMS, needs_both = group.w & BOTH;
    if (needs_sums) sum_up(sums, here, with_card, cards, met_count, needs_both);
    const int width = group.y;
    const int4* const items = all_items + group.z;
    const Pay* const pays = all_pays + group.z;
    real* const target = s ? here : out;
    for (int h = V * threadIdx.x; h < size; h += V * blockDim.x) {
      real below[V], level[V], met[V], both[V];
      const int row = group.x * size + h;  // rows of a board and a seat are fewer than 2^31 numbers
      Kepts number[MOST];
      const bool plays = group.x >= 0 && !(pass.mode & BEST);
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (plays && a < width) number[a] = *(const Kepts*)(weights + row + a * size);
      if (needs_sums) {
        const real all = sums.before[pieces];
        _Pragma("unroll")
        for (int v = 0; v < V; v++) {
          const uint2 of = ranked[h + v];
          const int low = of.x & 2047u, high = (of.x >> 11) & 2047u;
          const real* const one = sums.list + (of.x >> 22) * ROOM;
          const real* const two = sums.list + (of.y >> 24) * ROOM;
          below[v] = sums.all[place_in(low)] + sums.before[low / LIST] - one[place_in(of.y & 63u)]
                     - two[place_in((of.y >> 12) & 63u)];
          level[v] = sums.all[place_in(high)] + sums.before[high / LIST] - one[place_in((of.y >> 6) & 63u)]
                     - two[place_in((of.y >> 18) & 63u)];
          met[v] = all - one[last] - two[last];
          const int there = needs_both ? same[h + v] : met_count;
          both[v] = there < met_count ? sums.copy[there] : 0;
        }
      }
      real value[MOST][V];
      _Pragma("unroll")
      for (int a = 0; a < MOST; a++)
        if (a < width) {
          const int4 item = items[a];
          if (!ends && item.x == EXIT) {
            const Reals from = *(const Reals*)(exits + (wide_int)item.y * stride + h);
            _Pragma("unroll")
            for (int v = 0; v < V; v++) value[a][v] = from.x[v];
          } else if (item.x == SUM) {
            _Pragma("unroll")
            for (int v = 0; v < V; v++) value[a][v] = 0;
            for (int k = item.y; k < item.y + item.z; k++) {
              const Reals from = *(const Reals*)(slots + k * stride + h);
              _Pragma("unroll")
              for (int v = 0; v < V; v++) value[a][v] += from.x[v];
            }
          } else {
            const Pay pay = pays[a];  // a showdown: win - tie, tie - lose, lose, tie; a fold: what it pays, last
            _Pragma("unroll")
            for (int v = 0; v < V; v++) {
              const real shown = pay.x * below[v] + pay.y * level[v] + pay.z * met[v] + pay.w * both[v];
              const real ended = item.x == SHOWDOWN ? shown : pay.w * (met[v] + both[v]);
              value[a][v] = h + v < count ? ended : 0;
            }
          }
        }
      Reals mean;
      _Pragma("unroll")
      for (int v = 0; v < V; v++) mean.x[v] = value[0][v];
      if (group.x >= 0 && !plays) {
        _Pragma("unroll")
        for (int a = 1; a < MOST; a++)
          if (a < width)
            for (int v = 0; v < V; v++) mean.x[v] = value[a][v] > mean.x[v] ? value[a][v] : mean.x[v];
      } else if (plays) {
        _Pragma("unroll")
        for (int v = 0; v < V; v++) {
          real all = 0, sum = 0;
          _Pragma("unroll")
          for (int a = 0; a < MOST; a++)
            if (a < width) {
              const real weight = number_of(number[a].x[v]);
              all += weight;
              sum += weight * value[a][v];
            }
          mean.x[v] = sum / all;
        }
        if (pass.mode & LEARN) {
          _Pragma("unroll")
          for (int a = 0; a < MOST; a++)
            if (a < width) {
              Kepts now;
              _Pragma("unroll")
              for (int v = 0; v < V; v++)
                now.x[v] = kept_of(number_of(number[a].x[v]) * pass.grow + (value[a][v] - mean.x[v]));
              *(Kepts*)(regret + row + a * size) = now;
            }
        }
      }
      *(Reals*)(target + h) = mean;
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK) down(
    const Spot* spot, const Street* streets, const int level, const int seat, const int mode, const real decay,
    const real* reach_above, real* reach) {
  const Street street = streets[level], above = streets[level > 0 ? level - 1 : 0];
  const int k = blockIdx.x / street.lines;
  const Line line = spot->lines[seat * spot->line_count + street.line_first + (int)blockIdx.x - k * street.lines];
  real* const slots = reach + ((wide_int)k * street.rows + line.row_first) * street.stride;
  Pass pass;
  pass.seat = seat; pass.mode = mode; pass.grow = 0; pass.decay = decay;
  enter(spot, line, 1 - seat, street.board_first + k, reach_above, above, slots);
  __syncthreads();
  go_down(spot, line, 1 - seat, street.board_first + k, pass, slots, street.stride);
}

extern "C" __global__ void __launch_bounds__(BLOCK) up(
    const Spot* spot, const Street* streets, const int level, const int seat, const int mode, const real grow,
    const int cards, real* reach, const real* exits, real* out) {
  extern __shared__ real room[];
  const Street street = streets[level];
  const int k = blockIdx.x / street.lines;
  const Line line = spot->lines[seat * spot->line_count + street.line_first + (int)blockIdx.x - k * street.lines];
  real* const slots = reach + ((wide_int)k * street.rows + line.row_first) * street.stride;
  Pass pass;
  pass.seat = seat; pass.mode = mode; pass.grow = grow; pass.decay = 0;
  go_up(spot, line, street.board_first + k, pass, street.stride, cards, slots, room,
        exits + (wide_int)k * street.exits * street.stride,
        out + ((wide_int)k * street.lines + line.entry) * street.stride, false);
}

// A line of the last street on its board k.
__device__ __forceinline__ void whole_line(
    const Spot* spot, const Street* streets, const int level, const Pass& pass, const int cards, const int number,
    const int k, real* slots, real* room, const real* reach_above, real* out) {
  const Street street = streets[level], above = streets[level > 0 ? level - 1 : 0];
  const Line line = spot->lines[pass.seat * spot->line_count + number];
  const int board = street.board_first + k;
  enter(spot, line, 1 - pass.seat, board, reach_above, above, slots);
  __syncthreads();
  go_down(spot, line, 1 - pass.seat, board, pass, slots, street.stride);
  __syncthreads();
  go_up(spot, line, board, pass, street.stride, cards, slots, room, (const real*)0,
        out + ((wide_int)k * street.lines + line.entry) * street.stride, true);
}

// Some lines on all boards of the last street: a block has a board and a line, and its slots in shared memory.
extern "C" __global__ void __launch_bounds__(BLOCK) last(
    const Spot* spot, const Street* streets, const int level, const int seat, const int mode, const real grow,
    const real decay, const int cards, const int* some, const int count, const real* reach_above, real* out) {
  extern __shared__ real room[];
  const int stride = streets[level].stride, pieces = stride / LIST + 1, k = blockIdx.x / count;
  const int taken = ((cards + pieces) * ROOM + 2 * pieces + 1 + stride + 3) / 4 * 4;
  Pass pass;
  pass.seat = seat; pass.mode = mode; pass.grow = grow; pass.decay = decay;
  whole_line(spot, streets, level, pass, cards, some[(int)blockIdx.x - k * count], k, room + taken, room, reach_above,
             out);
}

// The same with slots elsewhere: as many of each block, and few blocks that go through all the work.
extern "C" __global__ void __launch_bounds__(BLOCK) last_far(
    const Spot* spot, const Street* streets, const int level, const int seat, const int mode, const real grow,
    const real decay, const int cards, const int* some, const int count, const real* reach_above, real* out,
    const int far_slots, real* far) {
  extern __shared__ real room[];
  const Street street = streets[level];
  Pass pass;
  pass.seat = seat; pass.mode = mode; pass.grow = grow; pass.decay = decay;
  for (int work = blockIdx.x; work < street.boards * count; work += gridDim.x)
    whole_line(spot, streets, level, pass, cards, some[work % count], work / count,
               far + (wide_int)blockIdx.x * far_slots * street.stride, room, reach_above, out);
}

// What the boards below a board are worth at an exit, by their weights. A block has a board and an exit.
extern "C" __global__ void __launch_bounds__(BLOCK) take(
    const Spot* spot, const Street* streets, const int level, const int seat, const real* below, real* exits) {
  const Street street = streets[level], next = streets[level + 1];
  const int k = blockIdx.x / street.exits, e = (int)blockIdx.x - k * street.exits, board = street.board_first + k;
  const int count = spot->count[seat * spot->boards + board], size = spot->size[seat * spot->boards + board];
  const int first = spot->board_child[board], stop = spot->board_child[board + 1];
  for (int h = threadIdx.x; h < size; h += blockDim.x) {
    real all = 0;
    if (h < count) {
      _Pragma("unroll 4")
      for (int b = first; b < stop; b++) {
        const int there = spot->lower[((wide_int)seat * spot->boards + b) * spot->first_stride + h];
        const real* const from = below + ((wide_int)(b - next.board_first) * next.lines + e) * next.stride;
        if (there != NONE) all += spot->weight[b] * from[there];
      }
    }
    exits[((wide_int)k * street.exits + e) * street.stride + h] = all;
  }
}

// The mean of hands that are alike, on one of the boards that have any.
extern "C" __global__ void __launch_bounds__(BLOCK) share(
    const Spot* spot, const Street* streets, const int level, const int seat, const int first_merged, real* exits) {
  const Street street = streets[level];
  const int n = first_merged + (int)blockIdx.x / street.exits, e = (int)blockIdx.x % street.exits;
  const int* const of = spot->class_board + 5 * n;  // the board, and by seat the first class and their number
  real* const values = exits + ((wide_int)(of[0] - street.board_first) * street.exits + e) * street.stride;
  for (int c = threadIdx.x; c < of[2 + 2 * seat]; c += blockDim.x) {
    const int* const begin = spot->class_first + of[1 + 2 * seat] + c;
    real all = 0;
    for (int i = begin[0]; i < begin[1]; i++) all += values[spot->members[i]];
    all /= (real)(begin[1] - begin[0]);
    for (int i = begin[0]; i < begin[1]; i++) values[spot->members[i]] = all;
  }
}
"""


@lru_cache(32)
def source(
    narrow: bool, real: str, most: int, group: int = GROUP, v: int = 2, bounds: tuple[int, int] = (576, 2)
) -> str:
    """All kernels. narrow: regrets and averages are codes; real: float or double; most: actions of a decision. group: 1
    where a block has one thread; v: hands that a thread has side by side; bounds: threads of a block, at most, and
    such blocks that a multiprocessor should hold."""
    names = {"NARROW": int(narrow), "REAL": real, "MOST": most, "GROUP": group, "WARP": 32 if group > 1 else 1,
             "V": v, "LIST": LIST, "BLOCK": f"{bounds[0]}, {bounds[1]}", "LEAST": f"{2.0**-32!r}f",
             "FOLD": FOLD, "SHOWDOWN": SHOWDOWN, "EXIT": EXIT, "SUM": SUM, "SUMS": SUMS, "BOTH": BOTH,
             "LEARN": LEARN, "KEEP": KEEP, "AVERAGED": AVERAGED, "BEST": BEST}  # fmt: skip
    head = "".join(f"#define {name} {value}\n" for name, value in names.items())
    fields = "".join(f"  {kind} {name};\n" for name, kind in ARRAYS)
    return head + SOURCE.replace("ARRAYS\n", fields) + TABLES


def shared_bytes(cards: int, stride: int, slots: int, itemsize: int = 4) -> int:
    """Of a block with so many slots of numbers of a size."""
    pieces = stride // LIST + 1
    taken = ((cards + pieces) * ROOM + 2 * pieces + 1 + stride + 3) // 4 * 4
    return itemsize * (taken + slots * stride)
