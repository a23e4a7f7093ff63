"""A player of Toepen written into the rows of an endgame, as a strategy that can be measured and answered.

A row (`kibitz.toepen.endgame_rows.EndgameRows`) has a public history in six bits a card. It is spelled out in words
(`toepen/kernels/play.py`) and replayed once for all hands that share it, then the player is asked hand by hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, TWO, U64, kernel, part
from kibitz.core.random import NONE
from kibitz.toepen.kernels.keys import by_labels
from kibitz.toepen.kernels.machine import options
from kibitz.toepen.kernels.play import (
    ALL_CARDS,
    SAYS_BET,
    SAYS_CALL,
    SAYS_CHECK,
    begin,
    dealt_to,
    index_of,
    likelihood,
    modelled,
    ready,
    shown_by,
    watched,
)
from kibitz.toepen.kernels.rules import EIGHT, HALF, LABELS, M8, PackedState, labels_of, put


@part
def spell(words, count, history, plays, phase, betting):
    """Append the words of an endgame's row, forced checks too, to `count` words; returns how many there are."""
    for t in range(plays):
        code = U64(history >> (6 * t)) & U64(63)
        if betting:
            if code & ONE:
                words[count] = SAYS_BET
                words[count + ONE] = SAYS_CALL
                count += TWO
            else:
                words[count] = SAYS_CHECK
                count += ONE
        words[count] = code >> ONE
        count += ONE
    if phase == 1:
        words[count] = SAYS_BET
        count += ONE
    elif phase == 2 and betting:
        words[count] = SAYS_CHECK
        count += ONE
    elif phase == 3:
        words[count] = SAYS_BET
        words[count + ONE] = SAYS_CALL
        count += TWO
    return count


@part
def weight_of(hand, hands, weights):
    """The weight of a hand in a list sorted by hand."""
    low = 0
    high = len(hands)
    while low < high:
        middle = (low + high) // 2
        if hands[middle] < hand:
            low = middle + 1
        else:
            high = middle
    return weights[low] if low < len(hands) and hands[low] == hand else 0.0


@part
def holding(state, seat, hand, mine, other, labels):
    """A state seen by nobody, as a seat that holds `hand`, has played `mine` and has seen `other` sees it."""
    start = hand | mine
    meta = state.meta
    if labels:
        meta = put(meta, LABELS + EIGHT * seat, M8, labels_of(start))
    if seat:
        return PackedState(other | (start << HALF), hand << HALF, state.low, state.high, meta)
    return PackedState(start | (other << HALF), hand, state.low, state.high, meta)


class HandWeights(NamedTuple):
    """The hands at the beginning of an endgame, ascending, and the weights that they have for each seat."""

    hands: np.ndarray  # uint64[n]
    weights: np.ndarray  # float64[2, n]


class RowScratch(NamedTuple):
    """A workspace of `write_rows`."""

    probability: np.ndarray  # float64[4]  of actions
    mean: np.ndarray  # float64[4]  of these probabilities
    weights: np.ndarray  # float64[32]  of the cards that share a row, by card; -1: not known yet
    words: np.ndarray  # uint64[MOST_WORDS]


@kernel
def write_rows(rules, model, prefix, ranges, rows, begin_at, end_at, strategy_of, scratch):
    """Write a player's strategy into the columns of rows begin_at..end_at - 1 of an endgame.

    prefix    uint64[w]  the public history before the endgame
    ranges    HandWeights: cards that share a row are averaged by how likely the player comes there with each
    rows      kibitz.toepen.endgame_rows.EndgameRows, best in its own order; strategy_of: float64[columns]
    """
    probability, mean, weights, words = scratch
    first = U64(len(prefix))
    for k in range(first):
        words[k] = prefix[k]
    labels = by_labels(model.player.keys.kind)
    nobody = ready(PackedState(ALL_CARDS, ALL_CARDS, NONE, NONE, begin(NONE, NONE).meta), rules)
    nobody = watched(words, NONE, first, nobody, rules)
    before = shown_by(words, first, rules)
    state = nobody
    count = first
    mine = NONE
    other = NONE
    for i in range(begin_at, end_at):
        seat = U64(rows.seat[i])
        same = i > begin_at and (
            rows.history[i] == rows.history[i - 1] and rows.plays[i] == rows.plays[i - 1]
            and rows.phase[i] == rows.phase[i - 1] and rows.seat[i] == rows.seat[i - 1]
        )  # fmt: skip
        merged = rows.members[i] != 0
        if not same:
            count = spell(words, first, rows.history[i], rows.plays[i], rows.phase[i], rules.betting)
            state = watched(words, first, count, nobody, rules)
            shown = shown_by(words, count, rules)
            mine, other = (shown[1], shown[0]) if seat else (shown[0], shown[1])
            if merged:
                # Its own moves all come before the last card led: rows that differ by that card have the same weights.
                last = 6 * (rows.plays[i] - 1)
                stem = ~(np.int64(62) << last)
                if (
                    i == begin_at or rows.members[i - 1] == 0 or rows.seat[i] != rows.seat[i - 1]
                    or rows.history[i] & stem != rows.history[i - 1] & stem
                ):  # fmt: skip
                    weights[:] = -1.0
        mean[:] = 0.0
        total = 0.0
        left = U64(rows.members[i]) if merged else ONE
        for attempt in range(2):  # the second one, unweighted, only where no card is ever in the hand
            for card in range(HALF):
                if not (left >> card) & ONE:
                    continue
                hand = ONE << card if merged else U64(rows.hand[i])
                weight = 1.0
                if merged and attempt == 0:
                    if weights[card] < 0.0:
                        earlier = before[1] if seat else before[0]
                        weights[card] = weight_of((hand | mine) & ~earlier, ranges.hands, ranges.weights[seat])
                        if weights[card] > 0.0:
                            start = watched(words, NONE, first, dealt_to(seat, hand | mine, other, rules), rules)
                            weights[card] *= likelihood(model, start, rules, seat, words, first, count, probability)
                    weight = weights[card]
                if weight <= 0.0:
                    continue
                here = holding(state, seat, hand, mine, other, labels)
                phase, width, cards = options(here, rules)
                modelled(model, here, rules, width, cards, probability)
                total += weight
                if rows.phase[i] < 2:
                    for a in range(2):
                        mean[a] += weight * probability[a]
                else:
                    for a in range(rows.actions[i]):
                        if (rows.legal[i] >> a) & 1:
                            mean[a] += weight * probability[index_of(U64(rows.cards[i, a]), phase, width, cards)]
            if total > 0.0:
                break
        scale = 1.0 / total if total > 0.0 else 0.0
        answer = rows.phase[i] == 1  # an endgame has fold before call
        for a in range(rows.actions[i]):
            strategy_of[rows.column[i] + a * rows.stride[i]] = scale * mean[1 - a if answer else a]
