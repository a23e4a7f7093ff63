"""CUDA source of the tables of hands that the kernels of spots read, written once before the first pass (`cuda.py`)."""

from __future__ import annotations

TABLES = r"""
// The hands of a seat with each card of a board, in the order of its list. A block has a board and a seat.
extern "C" __global__ void __launch_bounds__(BLOCK) lists(const Spot* spot) {
  const int at = blockIdx.x, board = at % spot->boards, count = spot->count[at], first = spot->hand_first[at];
  const unsigned char* const live = spot->live + 52 * board;
  for (int c = threadIdx.x; c < 52; c += blockDim.x) {
    if (live[c] == 255) continue;
    unsigned short* const list = spot->with_card + ((wide_int)at * spot->cards + live[c]) * LIST;
    int n = 0;
    for (int h = 0; h < count; h++)
      if (spot->card[first + h] == 16 * c || spot->card[spot->hands + first + h] == 16 * c) list[n++] = h;
    while (n < LIST) list[n++] = NONE;
  }
}

// Of each hand: how many of the other's hands it beats, and how many do not beat it, 11 bits each; its two cards; and
// the same two numbers among the hands with its first and with its second card, 6 bits each.
extern "C" __global__ void __launch_bounds__(BLOCK) ranks(const Spot* spot) {
  const int at = blockIdx.x, board = at % spot->boards, seat = at / spot->boards;
  const int count = spot->count[at], first = spot->hand_first[at];
  const int ties = spot->tie_first[board + 1] - spot->tie_first[board];
  const int* const own = spot->tie_stop + seat * spot->ties + spot->tie_first[board];
  const int* const others = spot->tie_stop + (1 - seat) * spot->ties + spot->tie_first[board];
  const wide_int list = (wide_int)((1 - seat) * spot->boards + board) * spot->cards * LIST;
  for (int h = threadIdx.x; h < count; h += blockDim.x) {
    int t = 0, end = ties;
    while (t < end) {  // the first group that ends behind the hand
      const int middle = (t + end) / 2;
      if (own[middle] > h) end = middle;
      else t = middle + 1;
    }
    const unsigned int low = ties && t ? others[t - 1] : 0, high = ties ? others[t] : 0;
    unsigned int card[2], numbers[2][2];
    for (int i = 0; i < 2; i++) {
      card[i] = spot->live[52 * board + spot->card[i * spot->hands + first + h] / 16];
      const unsigned short* const hands = spot->with_card + list + card[i] * LIST;
      unsigned int lower = 0, upto = 0;
      while (lower < LIST - 1 && hands[lower] != NONE && hands[lower] < low) lower++;
      while (upto < LIST - 1 && hands[upto] != NONE && hands[upto] < high) upto++;
      numbers[i][0] = lower;
      numbers[i][1] = upto;
    }
    uint2 of;
    of.x = low | high << 11 | card[0] << 22;
    of.y = numbers[0][0] | numbers[0][1] << 6 | numbers[1][0] << 12 | numbers[1][1] << 18 | card[1] << 24;
    spot->ranked[first + h] = of;
  }
}

// Where the hands of a board are on each board below it.
extern "C" __global__ void __launch_bounds__(BLOCK) lower(const Spot* spot) {
  const int at = blockIdx.x, count = spot->count[at], first = spot->hand_first[at];
  unsigned short* const out = spot->lower + (wide_int)at * spot->first_stride;
  for (int h = threadIdx.x; h < spot->first_stride; h += blockDim.x) out[h] = NONE;
  __syncthreads();
  for (int h = threadIdx.x; h < count; h += blockDim.x) out[spot->up[first + h]] = h;
}

extern "C" __global__ void __launch_bounds__(BLOCK) widen(
    const unsigned short* codes, float* numbers, const wide_int count) {
  const wide_int step = (wide_int)gridDim.x * blockDim.x;
  for (wide_int i = (wide_int)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    numbers[i] = __uint_as_float(((unsigned int)codes[i] << 13) + (95u << 23));
}
"""
