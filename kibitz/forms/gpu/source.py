"""The CUDA source of CFR on a sequence form.

One launch does many iterations. An iteration is a few *steps* for each seat, and between two steps all blocks wait for
one another at `meet`:

    gradient    leaf[s] of the seat's sequences that end in leaves, by warps: a bundle of rows has 1 to 32 lanes
    ascend      from the deepest level of points up: values of points, regrets, and the new strategy of each point
    share       where points share rows (abstractions, imperfect recall, frozen rows): regret matching by row
    descend     plans and averages. A point multiplies the strategies on its path from the root, so that all levels are
                one step

Sums have a fixed order (no atomic additions), which depends neither on the number of blocks nor on their threads: the
same GPU gives the same bytes. All numbers are doubles.

A step is written for a warp. Where CORES is defined the source is C++: lanes of a warp are a loop (`EACH_LANE`), what
a lane keeps is an array of 32, and steps run warp by warp. Tests run it in this way.

OTHERS: seats but one. SHARED: points share rows. CODED: payoffs are bytes, numbers of a table of at most 256.
"""

from __future__ import annotations

SOURCE = r"""
#ifdef CORES
#include <math.h>
#define LANES 32
#define AT lane
#define EACH_LANE for (int lane = 0; lane < 32; ++lane)
#define GLOBAL extern "C" void
#define PART static inline
#define SHARED_MEMORY static
#define WARPS 3
#define STEP(call) for (long long warp = 0, warps = WARPS; warp < WARPS; ++warp) { call; }
#else
#define LANES 1
#define AT 0
#define EACH_LANE for (int lane = threadIdx.x & 31, once = 1; once; once = 0)
#define GLOBAL extern "C" __global__ void __launch_bounds__(THREADS, 1)
#define PART static __device__ __forceinline__
#define SHARED_MEMORY __shared__
#define STEP(call) { call; }
#endif

struct Piece { unsigned first, count, size, shift; };  // of work for a warp: `count` groups of 1 << shift lanes each

#if CODED
typedef unsigned char Number;
#else
typedef double Number;
#endif
template <int H> struct alignas(H * sizeof(Number) < 16 ? H * sizeof(Number) : 16) Entries { Number of[H]; };

struct Form {  // as `layout.FIELDS`
  double *regret, *average, *strategy, *plan, *chosen, *own, *trial, *trial_plan;
  double *leaf, *value, *best, *worth, *delta, *matched, *result;
  const double *frozen_reach, *share, *table;
  float *noise;
  const Number *payoff;
  const unsigned *other, *bundle_row, *bundle_column, *bundle_length, *bundle_entry, *row_seq;
  const unsigned *first, *width, *slot, *point, *child, *path_first, *path;
  const unsigned *start, *member, *row_first;
  const Piece *piece;
  const unsigned *seat_gradient, *seat_level, *level_piece, *seat_share, *seat_point, *seat_sequence;
  long long seats, columns, codes;
  double unit, noise_unit;
};

struct Rule { double grow, keep, weight, floor, prediction; };

// What `ascend` does with the worth of actions.
#define MATCH 0    // regrets and a new strategy
#define REGRETS 1  // regrets into `worth`, for rows
#define LEVELS 2   // levels of noise from magnitudes
#define WORTHS 3   // magnitudes into `worth`, for rows
#define RESPOND 4  // values of a strategy and of best responses

PART void fold(double *x, int shift) {
  // The sum over the 1 << shift lanes of a group, for each of them.
#ifdef CORES
  for (int apart = 1; apart < 1 << shift; apart <<= 1) {
    double y[32];
    for (int lane = 0; lane < 32; ++lane) y[lane] = x[lane] + x[lane ^ apart];
    for (int lane = 0; lane < 32; ++lane) x[lane] = y[lane];
  }
#else
  for (int apart = 1; apart < 1 << shift; apart <<= 1) x[0] += __shfl_xor_sync(0xffffffffu, x[0], apart);
#endif
}

PART void meet(unsigned *gate, unsigned &target) {
#ifndef CORES
  __syncthreads();
  if (gridDim.x > 1) {
    target += gridDim.x;
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(gate, 1u);
      while ((int)(*(volatile unsigned *)gate - target) < 0) {}
      __threadfence();
    }
    __syncthreads();
  }
#endif
}

// gradient

PART double payoff_of(Number number, const double *table, int absolute) {
#if CODED
  double x = table[number];
#else
  double x = number;
#endif
  return absolute ? fabs(x) : x;
}

template <int H>
PART void bundles(const Form &f, const Piece &piece, const double *table, const double *plan, int absolute) {
  const unsigned wide = 1u << piece.shift;
  double sum[H][LANES];
  EACH_LANE {
    for (int h = 0; h < H; ++h) sum[h][AT] = 0.0;
    const unsigned mine = (unsigned)lane >> piece.shift;
    if (mine < piece.count) {
      const unsigned bundle = piece.first + mine, length = f.bundle_length[bundle];
      const unsigned *other = f.other + f.bundle_column[bundle];
      const Entries<H> *entries = (const Entries<H> *)f.payoff + f.bundle_entry[bundle];
#ifndef CORES
#pragma unroll 4
#endif
      for (unsigned k = lane & (wide - 1); k < length; k += wide) {
        double reach = plan[other[k]];
        for (int j = 1; j < OTHERS; ++j) reach *= plan[other[j * f.columns + k]];
        const Entries<H> entry = entries[k];
        for (int h = 0; h < H; ++h) sum[h][AT] += payoff_of(entry.of[h], table, absolute) * reach;
      }
    }
  }
  for (int h = 0; h < H; ++h) fold(sum[h], piece.shift);
  EACH_LANE {
    const unsigned mine = (unsigned)lane >> piece.shift;
    if (mine < piece.count && !(lane & (wide - 1))) {
      const unsigned *sequence = f.row_seq + f.bundle_row[piece.first + mine];
      for (int h = 0; h < H; ++h) f.leaf[sequence[h]] = sum[h][AT];
    }
  }
}

PART void gradient(const Form &f, const double *table, int low, int high, const double *plan, int absolute,
                   long long warp, long long warps) {
  for (long long at = f.seat_gradient[low] + warp; at < f.seat_gradient[high]; at += warps) {
    const Piece piece = f.piece[at];
    if (piece.size == 4) bundles<4>(f, piece, table, plan, absolute);
    else if (piece.size == 2) bundles<2>(f, piece, table, plan, absolute);
    else bundles<1>(f, piece, table, plan, absolute);
  }
}

// regret matching

PART double regretted(double *regret, unsigned s, double delta, const Rule &rule) {
  // The new regret of an action goes to memory; what is returned is what its strategy is in proportion to.
  double r = regret[s];
  r = fmax(r * (r > 0.0 ? rule.grow : rule.keep) + delta, rule.floor);
  regret[s] = r;
  return fmax(r + rule.prediction * delta, 0.0);
}

template <int W>
PART void match(const Form &f, const double *delta, const Rule &rule, unsigned s, unsigned width, double less,
                double *strategy, unsigned row) {
  // delta[a] - less is the regret of action a in this iteration; delta is by action.
  if (width == 1) { strategy[s] = 1.0; return; }
  double total = 0.0, tiny = f.noise[row] * f.unit, r[W ? W : 1];
  if (W) {
    for (int a = 0; a < W; ++a) { r[a] = regretted(f.regret, s + a, delta[a] - less, rule); total += r[a]; }
    const double scale = 1.0 / fmax(total, tiny);
    for (int a = 0; a < W; ++a) strategy[s + a] = total > tiny ? r[a] * scale : 1.0 / W;
  } else {
    for (unsigned a = 0; a < width; ++a) {
      const double x = regretted(f.regret, s + a, delta[a] - less, rule);
      strategy[s + a] = x;
      total += x;
    }
    const double scale = 1.0 / total;
    for (unsigned a = 0; a < width; ++a) strategy[s + a] = total > tiny ? strategy[s + a] * scale : 1.0 / width;
  }
}

// ascend

template <int W, int MODE>
PART void points(const Form &f, const Piece &piece, const Rule &rule, const double *strategy) {
  const unsigned width = W ? W : piece.size, shift = piece.shift & 31u, wide = 1u << shift;
  const bool bottom = piece.shift >> 5;  // nothing follows
  double q[W ? W : 1][LANES], v[LANES], best[LANES];
  EACH_LANE { v[AT] = 0.0; best[AT] = 0.0; }
  for (unsigned a = 0; a < width; ++a) {
    double below[LANES], above[LANES];
    EACH_LANE {
      below[AT] = above[AT] = 0.0;
      const unsigned mine = (unsigned)lane >> shift;
      if (!bottom && mine < piece.count) {
        const unsigned s = f.first[piece.first + mine] + a, end = f.child[s + 1];
        for (unsigned c = f.child[s] + (lane & (wide - 1)); c < end; c += wide) {
          below[AT] += f.value[c];
          if (MODE == RESPOND) above[AT] += f.best[c];
        }
      }
    }
    if (!bottom) {
      fold(below, shift);
      if (MODE == RESPOND) fold(above, shift);
    }
    EACH_LANE {
      const unsigned mine = (unsigned)lane >> shift;
      if (mine < piece.count && !(lane & (wide - 1))) {
        const unsigned s = f.first[piece.first + mine] + a;
        const double leaf = f.leaf[s], x = leaf + below[AT];
        if (W) q[W ? a : 0][AT] = x;
        else if (MODE != RESPOND) f.worth[s] = x;
        v[AT] += strategy[s] * x;
        if (MODE == RESPOND) best[AT] = a ? fmax(best[AT], leaf + above[AT]) : leaf + above[AT];
      }
    }
  }
  EACH_LANE {
    const unsigned mine = (unsigned)lane >> shift;
    if (mine < piece.count && !(lane & (wide - 1))) {
      const unsigned i = piece.first + mine, s = f.first[i];
      f.value[f.slot[i]] = v[AT];
      if (MODE == RESPOND) f.best[f.slot[i]] = best[AT];
      if (MODE == MATCH) {
        double mine_q[W ? W : 1];
        if (W) for (int a = 0; a < W; ++a) mine_q[a] = q[a][AT];
        match<W>(f, W ? mine_q : f.worth + s, rule, s, width, v[AT], f.strategy, f.point[i]);
      }
      if (MODE == REGRETS || MODE == WORTHS)
        for (unsigned a = 0; a < width; ++a)
          f.worth[s + a] = (W ? q[W ? a : 0][AT] : f.worth[s + a]) - (MODE == REGRETS ? v[AT] : 0.0);
      if (MODE == LEVELS) {
        double most = 0.0;
        for (unsigned a = 0; a < width; ++a) most = fmax(most, W ? q[W ? a : 0][AT] : f.worth[s + a]);
        f.noise[f.point[i]] = fmaxf(f.noise[f.point[i]], (float)(f.noise_unit * most));
      }
    }
  }
}

template <int MODE>
PART void ascend(const Form &f, int level, const Rule &rule, const double *strategy, long long warp, long long warps) {
  for (long long at = f.level_piece[level] + warp; at < f.level_piece[level + 1]; at += warps) {
    const Piece piece = f.piece[at];
    if (piece.size == 2) points<2, MODE>(f, piece, rule, strategy);
    else if (piece.size == 3) points<3, MODE>(f, piece, rule, strategy);
    else points<0, MODE>(f, piece, rule, strategy);
  }
}

PART int depth_of(const Form &f, int low, int high) {
  int depth = 0;
  for (int seat = low; seat < high; ++seat) {
    const int levels = f.seat_level[seat + 1] - f.seat_level[seat];
    depth = levels > depth ? levels : depth;
  }
  return depth;
}

// All levels of some seats, the deepest first. (A macro, as lambdas would be: STEP is a loop on cores.)
#define ASCEND(mode, low, high, rule, strategy)                                                  \
  for (int depth = depth_of(f, low, high) - 1; depth >= 0; --depth) {                            \
    STEP(for (int seat = low; seat < high; ++seat)                                               \
           if (depth < (int)(f.seat_level[seat + 1] - f.seat_level[seat]))                       \
             ascend<mode>(f, f.seat_level[seat] + depth, rule, strategy, warp, warps))           \
    meet(gate, target);                                                                          \
  }

// share: rows that several points read

template <int MODE>
PART void share(const Form &f, int low, int high, const Rule &rule, long long warp, long long warps) {
  for (long long at = f.seat_share[low] + warp; at < f.seat_share[high]; at += warps) {
    const Piece piece = f.piece[at];
    const unsigned width = piece.size, shift = piece.shift, wide = 1u << shift;
    for (unsigned a = 0; a < width; ++a) {
      double total[LANES];
      EACH_LANE {
        total[AT] = 0.0;
        const unsigned mine = (unsigned)lane >> shift;
        if (mine < piece.count) {
          const unsigned column = f.row_first[piece.first + mine] + a, end = f.start[column + 1];
          for (unsigned k = f.start[column] + (lane & (wide - 1)); k < end; k += wide)
            total[AT] += f.share[k] * f.worth[f.member[k]];
        }
      }
      fold(total, shift);
      EACH_LANE {
        const unsigned mine = (unsigned)lane >> shift;
        if (mine < piece.count && !(lane & (wide - 1))) f.delta[f.row_first[piece.first + mine] + a] = total[AT];
      }
    }
    EACH_LANE {
      const unsigned mine = (unsigned)lane >> shift;
      if (mine < piece.count && !(lane & (wide - 1))) {
        const unsigned row = piece.first + mine, s = f.row_first[row];
        if (MODE == MATCH) match<0>(f, f.delta + s, rule, s, width, 0.0, f.matched, row);
        else {
          double most = 0.0;
          for (unsigned a = 0; a < width; ++a) most = fmax(most, f.delta[s + a]);
          f.noise[row] = fmaxf(f.noise[row], (float)(f.noise_unit * most));
        }
      }
    }
    if (MODE == MATCH) {
#ifndef CORES
      __syncwarp();
#endif
      EACH_LANE {
        const unsigned mine = (unsigned)lane >> shift;
        if (mine < piece.count)
          for (unsigned a = 0; a < width; ++a) {
            const unsigned column = f.row_first[piece.first + mine] + a, end = f.start[column + 1];
            const double x = f.matched[column];
            for (unsigned k = f.start[column] + (lane & (wide - 1)); k < end; k += wide)
              f.strategy[f.member[k]] = f.chosen[f.member[k]] = x;
          }
      }
    }
  }
}

// descend

PART double reach_of(const Form &f, const double *strategy, unsigned i) {
  double reach = 1.0;
  for (unsigned k = f.path_first[i]; k < f.path_first[i + 1]; ++k) reach *= strategy[f.path[k]];
  return reach;
}

PART void descend(const Form &f, int low, int high, double weight, long long warp, long long warps) {
  for (long long base = f.seat_point[low] + 32 * warp; base < f.seat_point[high]; base += 32 * warps) EACH_LANE {
    const unsigned i = base + lane;
    if (i < f.seat_point[high]) {
      const unsigned first = f.first[i], end = first + f.width[i];
#if SHARED
      const double reach = reach_of(f, f.chosen, i);
      for (unsigned s = first; s < end; ++s) {
        const double own = reach * f.chosen[s];
        f.own[s] = own;
        f.plan[s] = own * f.frozen_reach[s];
        f.average[s] += weight * own;
      }
#else
      const double reach = reach_of(f, f.strategy, i);
      for (unsigned s = first; s < end; ++s) {
        const double plan = reach * f.strategy[s];
        f.plan[s] = plan;
        f.average[s] += weight * plan;
      }
#endif
    }
  }
}

// kernels

#ifdef CORES
#define OPEN                                                                       \
  Form f = *given; static double table[256];                                      \
  for (int k = 0; k < f.codes; ++k) table[k] = f.table[k];                         \
  unsigned target = 0;
#else
#define OPEN                                                                       \
  __shared__ Form f; __shared__ double table[CODED ? 256 : 1];                     \
  for (int k = threadIdx.x; k < (int)(sizeof(Form) / 8); k += blockDim.x)          \
    ((long long *)&f)[k] = ((const long long *)given)[k];                          \
  __syncthreads();                                                                 \
  for (int k = threadIdx.x; k < f.codes; k += blockDim.x) table[k] = f.table[k];   \
  __syncthreads();                                                                 \
  unsigned target = 0;                                                             \
  const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) >> 5;  \
  const long long warps = ((long long)gridDim.x * blockDim.x) >> 5;
#endif

// `count` iterations; pace has three numbers for each: the shares of positive and of negative regrets that are kept,
// and the weight of its plan in the average.
GLOBAL iterate(const Form *given, const double *pace, long long count, double floor, double prediction,
               long long alternating, unsigned *gate) {
  OPEN
  for (long long t = 0; t < count; ++t) {
    const Rule rule = {pace[3 * t], pace[3 * t + 1], pace[3 * t + 2], floor, prediction};
    for (int phase = 0; phase < (alternating ? (int)f.seats : 1); ++phase) {
      const int low = alternating ? phase : 0, high = alternating ? phase + 1 : (int)f.seats;
      STEP(gradient(f, table, low, high, f.plan, 0, warp, warps))
      meet(gate, target);
      ASCEND(SHARED ? REGRETS : MATCH, low, high, rule, f.strategy)
#if SHARED
      STEP(share<MATCH>(f, low, high, rule, warp, warps))
      meet(gate, target);
#endif
      STEP(descend(f, low, high, rule.weight, warp, warps))
      meet(gate, target);
    }
  }
}

// Levels of noise rise to what rounding can make of the iteration to come.
GLOBAL listen(const Form *given, unsigned *gate) {
  OPEN
  const Rule rule = {1.0, 1.0, 0.0, 0.0, 0.0};
  STEP(gradient(f, table, 0, (int)f.seats, f.plan, 1, warp, warps))
  meet(gate, target);
  ASCEND(SHARED ? WORTHS : LEVELS, 0, (int)f.seats, rule, f.strategy)
#if SHARED
  STEP(share<LEVELS>(f, 0, (int)f.seats, rule, warp, warps))
#endif
}

PART void weigh(const Form &f, const double *weights, long long warp, long long warps) {
  // The strategy that weights by sequence are of; uniform where they are zero.
  for (long long base = 32 * warp; base < f.seat_point[f.seats]; base += 32 * warps) EACH_LANE {
    const unsigned i = base + lane;
    if (i < f.seat_point[f.seats]) {
      const unsigned first = f.first[i], width = f.width[i];
      double total = 0.0;
      for (unsigned s = first; s < first + width; ++s) total += weights[s];
      for (unsigned s = first; s < first + width; ++s) f.trial[s] = total > 0.0 ? weights[s] / total : 1.0 / width;
    }
  }
}

PART void trial_plans(const Form &f, long long warp, long long warps) {
  for (long long base = 32 * warp; base < f.seat_point[f.seats]; base += 32 * warps) EACH_LANE {
    const unsigned i = base + lane;
    if (i < f.seat_point[f.seats]) {
      const unsigned first = f.first[i];
      const double reach = reach_of(f, f.trial, i);
      for (unsigned s = first; s < first + f.width[i]; ++s) f.trial_plan[s] = reach * f.trial[s];
    }
  }
}

PART void roots(const Form &f, long long warp, long long warps) {
  for (long long seat = warp; seat < f.seats; seat += warps) {
    const unsigned s = f.seat_sequence[seat], end = f.child[s + 1];
    double value[LANES], best[LANES];
    EACH_LANE {
      value[AT] = best[AT] = 0.0;
      for (unsigned c = f.child[s] + lane; c < end; c += 32) { value[AT] += f.value[c]; best[AT] += f.best[c]; }
    }
    fold(value, 5);
    fold(best, 5);
    EACH_LANE if (lane == 0) {
      f.result[seat] = f.leaf[s] + value[AT];
      f.result[f.seats + seat] = f.leaf[s] + best[AT];
    }
  }
}

// What a strategy is worth to each seat, and what its best response would be: of `weights`, or where these are null of
// the strategy in f.trial.
GLOBAL measure(const Form *given, const double *weights, unsigned *gate) {
  OPEN
  const Rule rule = {1.0, 1.0, 0.0, 0.0, 0.0};
  if (weights) {
    STEP(weigh(f, weights, warp, warps))
    meet(gate, target);
  }
  STEP(trial_plans(f, warp, warps))
  meet(gate, target);
  STEP(gradient(f, table, 0, (int)f.seats, f.trial_plan, 0, warp, warps))
  meet(gate, target);
  ASCEND(RESPOND, 0, (int)f.seats, rule, f.trial)
  STEP(roots(f, warp, warps))
}
"""
