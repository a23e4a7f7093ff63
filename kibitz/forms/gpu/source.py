"""The CUDA source of CFR on a sequence form.

One launch does many iterations. An iteration is a few *steps* for each seat, and between two steps all blocks wait for
one another at `meet`:

    gradient    leaf[s] of the seat's sequences that end in leaves, by warps: a bundle of rows has 1 to 32 lanes. Long
                rows are cut, and the sums of all but the first part are added up as values of children are
    climb       chunks of the seat's points, a block each: from the deepest level up the values of points, regrets and
                the new strategy, a lane for each action; then plans and averages, if no crown is above the chunks
    ascend      each level of the crown, the points above all chunks of a game that would be too much for blocks
    share       where points share rows (abstractions, imperfect recall, frozen rows): regret matching by row
    descend     plans and averages, where `climb` did not do them. A point multiplies the strategies on its path from
                the root, so that all levels are one step

Sums have a fixed order (no atomic additions), which depends neither on the number of blocks nor on their threads: the
same GPU gives the same bytes. All numbers are doubles.

A step is written for a warp. Where CORES is defined the source is C++: lanes of a warp are a loop (`EACH_LANE`), what
a lane keeps is an array of 32, and a block is one warp. Tests run it in this way.

Loops read some numbers before they use the first: a thread waits for all of them once.

OTHERS: seats but one. SHARED: points share rows. CODED: payoffs are bytes, numbers of a table of at most 256.
"""

from __future__ import annotations

from kibitz.forms.gpu.parts import PARTS

SOURCE = (
    PARTS
    + r"""// points

template <int MODE>
PART void wide_points(const Form &f, const Piece &piece, const Rule &rule, const double *strategy) {
  // A point of more than 32 actions: a warp goes through them several times.
  const Spot spot = f.spot[piece.first];
  const unsigned first = spot.first, end = first + piece.size;
  double v[LANES], best[LANES], total[LANES];
  EACH_LANE {
    v[AT] = total[AT] = 0.0;
    best[AT] = LEAST;
    for (unsigned s = first + lane; s < end; s += 32) {
      double q = f.leaf[s], b = q;
      for (unsigned c = f.child[s]; c < f.child[s + 1]; ++c) {
        q += f.value[c];
        if (MODE == RESPOND) b += f.best[c];
      }
      if (MODE != RESPOND) f.worth[s] = q;
      v[AT] += strategy[s] * q;
      best[AT] = fmax(best[AT], MODE == RESPOND ? b : q);
    }
  }
  fold(v, 0, 5);
  if (MODE == RESPOND || MODE == LEVELS) fold_max(best, 0, 5);
  EACH_LANE {
    if (lane == 0) {
      f.value[spot.slot] = v[AT];
      if (MODE == RESPOND) f.best[spot.slot] = best[AT];
      if (MODE == LEVELS) f.noise[spot.row] = fmaxf(f.noise[spot.row], (float)(f.noise_unit * best[AT]));
    }
    if (MODE == REGRETS)
      for (unsigned s = first + lane; s < end; s += 32) f.worth[s] -= v[AT];
    if (MODE == MATCH)
      for (unsigned s = first + lane; s < end; s += 32) {
        const double x = regretted(f.regret, s, f.worth[s] - v[AT], rule);
        f.strategy[s] = x;
        total[AT] += x;
      }
  }
  if (MODE == MATCH) {
    const double tiny = f.noise[spot.row] * f.unit;
    fold(total, 0, 5);
    EACH_LANE for (unsigned s = first + lane; s < end; s += 32)
      f.strategy[s] = total[AT] > tiny ? f.strategy[s] * (1.0 / total[AT]) : 1.0 / piece.size;
  }
}

PART double children(const double *value, unsigned begin, unsigned end, unsigned step) {
  double sum = 0.0;
  for (unsigned c = begin; c < end; c += AHEAD * step) {
    double x[AHEAD];
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) x[n] = c + n * step < end ? value[c + n * step] : 0.0;
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) sum += x[n];
  }
  return sum;
}

template <int MODE>
PART void points(const Form &f, const Piece &piece, const Rule &rule, const double *strategy) {
  const unsigned width = piece.size, low = piece.shift & 31u, high = low + (piece.shift >> 5 & 31u);
  const bool bottom = piece.shift >> 10;  // nothing follows
  if (width > 32) { wide_points<MODE>(f, piece, rule, strategy); return; }
  double q[LANES], v[LANES], best[LANES], total[LANES], leaf[LANES], played[LANES], old[LANES], tiny[LANES];
  Spot spot[LANES];
  unsigned sequence[LANES];
  bool taken[LANES];
  EACH_LANE {
    const unsigned group = (unsigned)lane >> high, action = ((unsigned)lane >> low) & ((1u << (high - low)) - 1);
    taken[AT] = group < piece.count && action < width;
    spot[AT] = f.spot[piece.first + (group < piece.count ? group : 0)];
    const unsigned s = sequence[AT] = spot[AT].first + (action < width ? action : 0);
    leaf[AT] = f.leaf[s];
    played[AT] = strategy[s];
    if (MODE == MATCH) {
      old[AT] = f.regret[s];
      tiny[AT] = f.noise[spot[AT].row] * f.unit;
    }
    q[AT] = best[AT] = 0.0;
    if (!bottom && taken[AT]) {
      const unsigned begin = f.child[s] + (lane & ((1u << low) - 1)), end = f.child[s + 1];
      q[AT] = children(f.value, begin, end, 1u << low);
      if (MODE == RESPOND) best[AT] = children(f.best, begin, end, 1u << low);
    }
  }
  if (!bottom) {
    fold(q, 0, low);
    if (MODE == RESPOND) fold(best, 0, low);
  }
  EACH_LANE {
    q[AT] += leaf[AT];
    v[AT] = taken[AT] ? played[AT] * q[AT] : 0.0;
    best[AT] = taken[AT] ? (MODE == RESPOND ? best[AT] + leaf[AT] : q[AT]) : LEAST;
  }
  fold(v, low, high);
  if (MODE == RESPOND || MODE == LEVELS) fold_max(best, low, high);
  if (MODE == MATCH) {
    EACH_LANE {
      const double delta = q[AT] - v[AT];
      old[AT] = fmax(old[AT] * (old[AT] > 0.0 ? rule.grow : rule.keep) + delta, rule.floor);
      q[AT] = fmax(old[AT] + rule.prediction * delta, 0.0);
      total[AT] = taken[AT] ? q[AT] : 0.0;
    }
    fold(total, low, high);
  }
  EACH_LANE {
    const unsigned s = sequence[AT];
    if (taken[AT] && !(lane & ((1u << low) - 1))) {
      if (s == spot[AT].first) {
        f.value[spot[AT].slot] = v[AT];
        if (MODE == RESPOND) f.best[spot[AT].slot] = best[AT];
        if (MODE == LEVELS) f.noise[spot[AT].row] = fmaxf(f.noise[spot[AT].row], (float)(f.noise_unit * best[AT]));
      }
      if (MODE == MATCH) {
        if (width > 1) f.regret[s] = old[AT];
        f.strategy[s] = width == 1 ? 1.0 : total[AT] > tiny[AT] ? q[AT] * (1.0 / total[AT]) : 1.0 / width;
      }
      if (MODE == REGRETS) f.worth[s] = q[AT] - v[AT];
      if (MODE == WORTHS) f.worth[s] = q[AT];
    }
  }
}

PART double reach_of(const Form &f, const double *strategy, unsigned begin, unsigned end) {
  // The product of the strategies on a path.
  double reach = 1.0;
  for (unsigned k = begin; k < end; k += AHEAD) {
    double x[AHEAD];
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) x[n] = k + n < end ? strategy[f.path[k + n]] : 1.0;
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) reach *= x[n];
  }
  return reach;
}

PART void plans(const Form &f, const Piece &piece, double weight) {
  // The plans of the points of a piece, from the strategies on their paths.
  const unsigned low = piece.shift & 31u, high = low + (piece.shift >> 5 & 31u);
  EACH_LANE {
    const unsigned group = (unsigned)lane >> high, action = ((unsigned)lane >> low) & ((1u << (high - low)) - 1);
    if (group < piece.count && !(lane & ((1u << low) - 1))) {
      const Spot spot = f.spot[piece.first + group];
      const unsigned path_end = f.spot[piece.first + group + 1].path, end = spot.first + piece.size;
      const double *strategy = SHARED ? f.chosen : f.strategy;
      for (unsigned s = spot.first + action; s < end; s += 32) {
        const unsigned place = f.place[s];
        const double played = strategy[s], average = f.average[s];
        const double own = reach_of(f, strategy, spot.path, path_end) * played;
#if SHARED
        f.own[s] = own;
        f.plan[place] = own * f.frozen_reach[s];
#else
        f.plan[place] = own;
#endif
        f.average[s] = average + weight * own;
      }
    }
  }
}

// climb, ascend and descend

template <int MODE>
PART void climb(const Form &f, int low, int high, const Rule &rule, const double *strategy, bool planned,
                long long block, long long blocks) {
  for (int seat = low; seat < high; ++seat) {
    const bool whole = planned && !f.seat_crown[seat];
    for (long long chunk = f.seat_chunk[seat] + block; chunk + 1 < f.seat_chunk[seat + 1]; chunk += blocks) {
      const long long top = f.chunk_level[chunk], end = f.chunk_level[chunk + 1];
      for (long long level = end - 1; level >= top; --level) {
        for (unsigned at = f.level_piece[level] + MEMBER; at < f.level_piece[level + 1]; at += CREW)
          points<MODE>(f, f.piece[at], rule, strategy);
        wait_for_block();
      }
      if (whole)
        for (unsigned at = f.level_piece[top] + MEMBER; at < f.level_piece[end]; at += CREW)
          plans(f, f.piece[at], rule.weight);
    }
  }
}

template <int MODE>
PART void ascend(const Form &f, int low, int high, int depth, const Rule &rule, const double *strategy,
                 long long warp, long long warps) {
  for (int seat = low; seat < high; ++seat) {
    const long long level = f.seat_level[seat] + depth;
    if (depth < (int)f.seat_crown[seat])
      for (long long at = f.level_piece[level] + warp; at < f.level_piece[level + 1]; at += warps)
        points<MODE>(f, f.piece[at], rule, strategy);
  }
}

PART int crown_of(const Form &f, int low, int high) {
  int most = 0;
  for (int seat = low; seat < high; ++seat)
    most = (int)f.seat_crown[seat] > most ? (int)f.seat_crown[seat] : most;
  return most;
}

// All levels of some seats, the deepest first. On cores a block is a warp.
#ifdef CORES
#define BLOCK warp, warps
#else
#define BLOCK blockIdx.x, gridDim.x
#endif
#define RISE(mode, low, high, rule, strategy, planned)                                 \
  STEP(climb<mode>(f, low, high, rule, strategy, planned, BLOCK))                      \
  meet(gate, target);                                                                  \
  for (int depth = crown_of(f, low, high) - 1; depth >= 0; --depth) {                  \
    STEP(ascend<mode>(f, low, high, depth, rule, strategy, warp, warps))               \
    meet(gate, target);                                                                \
  }

PART void descend(const Form &f, int low, int high, bool planned, double weight, long long warp, long long warps) {
  for (int seat = low; seat < high; ++seat)
    if (!planned || f.seat_crown[seat]) {
      const long long end = f.level_piece[f.seat_level[seat + 1]];
      for (long long at = f.level_piece[f.seat_level[seat]] + warp; at < end; at += warps)
        plans(f, f.piece[at], weight);
    }
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
      fold(total, 0, shift);
      EACH_LANE {
        const unsigned mine = (unsigned)lane >> shift;
        if (mine < piece.count && !(lane & (wide - 1))) f.delta[f.row_first[piece.first + mine] + a] = total[AT];
      }
    }
    EACH_LANE {
      const unsigned mine = (unsigned)lane >> shift;
      if (mine < piece.count && !(lane & (wide - 1))) {
        const unsigned row = piece.first + mine, s = f.row_first[row];
        if (MODE == MATCH) {
          const double tiny = f.noise[row] * f.unit;
          double sum = 0.0;
          for (unsigned a = s; a < s + width; ++a) {
            f.matched[a] = width == 1 ? 1.0 : regretted(f.regret, a, f.delta[a], rule);
            sum += f.matched[a];
          }
          for (unsigned a = s; a < s + width; ++a)
            f.matched[a] = width == 1 ? 1.0 : sum > tiny ? f.matched[a] * (1.0 / sum) : 1.0 / width;
        } else {
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
  const bool planned = alternating && !SHARED;  // chunks without a crown make their plans at once
  for (long long t = 0; t < count; ++t) {
    const Rule rule = {pace[3 * t], pace[3 * t + 1], pace[3 * t + 2], floor, prediction};
    for (int phase = 0; phase < (alternating ? (int)f.seats : 1); ++phase) {
      const int low = alternating ? phase : 0, high = alternating ? phase + 1 : (int)f.seats;
      STEP(gradient(f, table, low, high, f.plan, PLAIN, warp, warps))
      meet(gate, target);
      RISE(SHARED ? REGRETS : MATCH, low, high, rule, f.strategy, planned)
#if SHARED
      STEP(share<MATCH>(f, low, high, rule, warp, warps))
      meet(gate, target);
#endif
      if (!planned || crown_of(f, low, high)) {
        STEP(descend(f, low, high, planned, rule.weight, warp, warps))
        meet(gate, target);
      }
    }
  }
}

// Levels of noise rise to what rounding can make of the iteration to come.
GLOBAL listen(const Form *given, unsigned *gate) {
  OPEN
  const Rule rule = {1.0, 1.0, 0.0, 0.0, 0.0};
  STEP(gradient(f, table, 0, (int)f.seats, f.plan, ABSOLUTE, warp, warps))
  meet(gate, target);
  RISE(SHARED ? WORTHS : LEVELS, 0, (int)f.seats, rule, f.strategy, false)
#if SHARED
  STEP(share<LEVELS>(f, 0, (int)f.seats, rule, warp, warps))
#endif
}

PART void weigh(const Form &f, const double *weights, long long warp, long long warps) {
  // The strategy that weights by sequence are of; uniform where they are zero.
  for (long long at = f.level_piece[0] + warp; at < f.level_piece[f.seat_level[f.seats]]; at += warps) {
    const Piece piece = f.piece[at];
    EACH_LANE if ((unsigned)lane < piece.count) {
      const unsigned first = f.spot[piece.first + lane].first, end = first + piece.size;
      double total = 0.0;
      for (unsigned s = first; s < end; ++s) total += weights[s];
      for (unsigned s = first; s < end; ++s) f.trial[s] = total > 0.0 ? weights[s] / total : 1.0 / piece.size;
    }
  }
}

PART void trial_plans(const Form &f, long long warp, long long warps) {
  for (long long at = f.level_piece[0] + warp; at < f.level_piece[f.seat_level[f.seats]]; at += warps) {
    const Piece piece = f.piece[at];
    EACH_LANE if ((unsigned)lane < piece.count) {
      const Spot spot = f.spot[piece.first + lane];
      const unsigned first = spot.first, end = first + piece.size;
      const double reach = reach_of(f, f.trial, spot.path, f.spot[piece.first + lane + 1].path);
      for (unsigned s = first; s < end; ++s) f.trial_plan[f.place[s]] = reach * f.trial[s];
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
    fold(value, 0, 5);
    fold(best, 0, 5);
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
  STEP(gradient(f, table, 0, (int)f.seats, f.trial_plan, RESPONSES, warp, warps))
  meet(gate, target);
  RISE(RESPOND, 0, (int)f.seats, rule, f.trial, false)
  STEP(roots(f, warp, warps))
}
"""
)
