"""The first half of the CUDA source of CFR (`source.py`): forms, sums of leaves, and regret matching."""

from __future__ import annotations

PARTS = r"""
#ifdef CORES
#include <math.h>
#define LANES 32
#define AT lane
#define EACH_LANE for (int lane = 0; lane < 32; ++lane)
#define GLOBAL extern "C" void
#define PART static inline
#define WARPS 3
#define STEP(call) for (long long warp = 0, warps = WARPS; warp < WARPS; ++warp) { call; }
#define CREW 1
#define MEMBER 0
#else
#define LANES 1
#define AT 0
#define EACH_LANE for (int lane = threadIdx.x & 31, once = 1; once; once = 0)
#define GLOBAL extern "C" __global__ void __launch_bounds__(THREADS, 1)
#define PART static __device__ __forceinline__
#define STEP(call) { call; }
#define CREW (blockDim.x >> 5)  // warps of a block
#define MEMBER (threadIdx.x >> 5)  // which of them this is
#endif

// The work of a warp at a time. Of bundles and of rows, `size` is the height or width, and `shift` the log2 of lanes of
// each; of points, `size` is the width, and `shift` has the log2 of lanes of an action, that of actions, and whether
// nothing follows: 5 + 5 + 1 bits.
struct alignas(16) Piece { unsigned first, count, size, shift; };
struct alignas(16) Bundle { unsigned row, column, length, entry; };
struct alignas(16) Spot { unsigned first, slot, row, path; };  // of a point: first sequence, where its value goes, ...

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
  const unsigned *other, *target;
  const Bundle *bundle;
  const Spot *spot;
  const unsigned *place, *child, *path;
  const unsigned *start, *member, *row_first;
  const Piece *piece;
  const unsigned *seat_gradient, *seat_level, *seat_crown, *seat_chunk, *chunk_level, *level_piece, *seat_share;
  const unsigned *seat_sequence;
  long long seats, sequences, columns, codes;
  double unit, noise_unit;
};

struct Rule { double grow, keep, weight, floor, prediction; };

#define LEAST -1.7e308
#define AHEAD 4                             // numbers that are read before the first is used
#define COLUMNS_AHEAD (CODED ? 4 : 2)

// What `gradient` is for.
#define PLAIN 0
#define ABSOLUTE 1   // magnitudes
#define RESPONSES 2  // what is cut from long rows goes to values of best responses too

// What `ascend` does with the worth of actions.
#define MATCH 0    // regrets and a new strategy
#define REGRETS 1  // regrets into `worth`, for rows
#define LEVELS 2   // levels of noise from magnitudes
#define WORTHS 3   // magnitudes into `worth`, for rows
#define RESPOND 4  // values of a strategy and of best responses

PART void fold(double *x, int low, int high) {
  // The sum over lanes that differ in bits low to high - 1 of their numbers, for each of them.
#ifdef CORES
  for (int apart = 1 << low; apart < 1 << high; apart <<= 1) {
    double y[32];
    for (int lane = 0; lane < 32; ++lane) y[lane] = x[lane] + x[lane ^ apart];
    for (int lane = 0; lane < 32; ++lane) x[lane] = y[lane];
  }
#else
  for (int apart = 1 << low; apart < 1 << high; apart <<= 1) x[0] += __shfl_xor_sync(0xffffffffu, x[0], apart);
#endif
}

PART void fold_max(double *x, int low, int high) {
#ifdef CORES
  for (int apart = 1 << low; apart < 1 << high; apart <<= 1) {
    double y[32];
    for (int lane = 0; lane < 32; ++lane) y[lane] = fmax(x[lane], x[lane ^ apart]);
    for (int lane = 0; lane < 32; ++lane) x[lane] = y[lane];
  }
#else
  for (int apart = 1 << low; apart < 1 << high; apart <<= 1)
    x[0] = fmax(x[0], __shfl_xor_sync(0xffffffffu, x[0], apart));
#endif
}

PART void wait_for_block() {
#ifndef CORES
  __syncthreads();
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

PART double payoff_of(Number number, const double *table, int what) {
#if CODED
  double x = table[number];
#else
  double x = number;
#endif
  return what == ABSOLUTE ? fabs(x) : x;
}

template <int H>
PART void bundles(const Form &f, const Piece &piece, const double *table, const double *plan, int what) {
  const unsigned wide = 1u << piece.shift;
  double sum[H][LANES];
  unsigned base[LANES];
  EACH_LANE {
    base[AT] = 0;
    for (int h = 0; h < H; ++h) sum[h][AT] = 0.0;
    const unsigned mine = (unsigned)lane >> piece.shift;
    if (mine < piece.count) {
      const Bundle bundle = f.bundle[piece.first + mine];
      const unsigned length = bundle.length, *other = f.other + bundle.column;
      const Entries<H> *entries = (const Entries<H> *)f.payoff + bundle.entry;
      for (unsigned k = lane & (wide - 1); k < length; k += COLUMNS_AHEAD * wide) {
        unsigned at[OTHERS][COLUMNS_AHEAD];
        Entries<H> entry[COLUMNS_AHEAD];
        double reach[COLUMNS_AHEAD];
#pragma unroll
        for (int n = 0; n < COLUMNS_AHEAD; ++n) {
          const unsigned column = k + n * wide < length ? k + n * wide : k;
          for (int j = 0; j < OTHERS; ++j) at[j][n] = other[j * f.columns + column];
          entry[n] = entries[column];
        }
#pragma unroll
        for (int n = 0; n < COLUMNS_AHEAD; ++n) {
          reach[n] = plan[at[0][n]];
          for (int j = 1; j < OTHERS; ++j) reach[n] *= plan[at[j][n]];
          if (k + n * wide >= length) reach[n] = 0.0;
        }
#pragma unroll
        for (int n = 0; n < COLUMNS_AHEAD; ++n)
          for (int h = 0; h < H; ++h) sum[h][AT] += payoff_of(entry[n].of[h], table, what) * reach[n];
      }
    }
  }
  // Half of the lanes add up half of the rows, as long as there are rows and lanes to share.
  int left = H, top = piece.shift;
#pragma unroll
  for (int half = H / 2; half; half /= 2)
    if (top) {
      left = half;
      --top;
#ifdef CORES
      double kept[H / 2 ? H / 2 : 1][32];
      for (int lane = 0; lane < 32; ++lane)
        for (int h = 0; h < half; ++h) {
          const int from = h + (lane >> top & 1) * half;
          kept[h][lane] = sum[from][lane] + sum[from][lane ^ 1 << top];
        }
      for (int lane = 0; lane < 32; ++lane) {
        base[lane] += (lane >> top & 1) * half;
        for (int h = 0; h < half; ++h) sum[h][lane] = kept[h][lane];
      }
#else
      const bool upper = threadIdx.x >> top & 1;
      for (int h = 0; h < half; ++h) {
        const double given = upper ? sum[h][0] : sum[h + half][0], kept = upper ? sum[h + half][0] : sum[h][0];
        sum[h][0] = kept + __shfl_xor_sync(0xffffffffu, given, 1 << top);
      }
      base[0] += upper * half;
#endif
    }
#pragma unroll
  for (int h = 0; h < H; ++h)
    if (h < left) fold(sum[h], 0, top);
  EACH_LANE {
    const unsigned mine = (unsigned)lane >> piece.shift;
    if (mine < piece.count && !(lane & ((1u << top) - 1))) {
      const unsigned *target = f.target + f.bundle[piece.first + mine].row + base[AT];
#pragma unroll
      for (int h = 0; h < H; ++h)
        if (h < left) {
          f.leaf[target[h]] = sum[h][AT];
          if (what == RESPONSES && target[h] >= f.sequences) f.best[target[h] - f.sequences] = sum[h][AT];
        }
    }
  }
}

PART void gradient(const Form &f, const double *table, int low, int high, const double *plan, int what,
                   long long warp, long long warps) {
  for (long long at = f.seat_gradient[low] + warp; at < f.seat_gradient[high]; at += warps) {
    const Piece piece = f.piece[at];
    if (piece.size == 4) bundles<4>(f, piece, table, plan, what);
    else if (piece.size == 2) bundles<2>(f, piece, table, plan, what);
    else bundles<1>(f, piece, table, plan, what);
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

"""
