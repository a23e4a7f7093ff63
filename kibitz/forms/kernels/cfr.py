"""Counterfactual regret minimisation over a sequence form: one loop for all variants.

A variant is a `Rule`, a handful of numbers [Zinkevich et al. 2007; Tammelin 2014; Brown & Sandholm 2019;
Farina et al. 2021]. In iteration t, with d the counterfactual regrets of the iteration:

    R        <-  max(R * (t-1)^alpha / ((t-1)^alpha + 1) + d, floor)      (beta instead of alpha where R < 0)
    strategy <-  positive part of (R + prediction * d), normalised
    average  <-  average + max(t - delay, 0)^gamma * plan

cfr has alpha = beta = infinity (no discount), floor = -infinity; cfr+ floor = 0; lcfr alpha = beta = gamma = 1;
pcfr+ prediction = 1. The average is taken of the plan that the iteration arrives at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import ONE, THREE, TWO, U64, kernel, part
from kibitz.forms.kernels.passes import ascend, clear_bare, descend, gather_hanging, gradient, unpack

BAND_PIECE = 256  # rows that a thread takes at a time


class Rule(NamedTuple):
    """What distinguishes one CFR variant from another."""

    alpha: float  # discount exponent of positive regrets; inf: none
    beta: float  # discount exponent of negative regrets; inf: none, -inf: they are forgotten
    gamma: float  # exponent of the averaging weight
    delay: float  # iterations without averaging at the start
    floor: float  # 0 (regret matching+) or -inf
    prediction: float  # weight of the last regrets as a forecast of the next
    alternating: bool  # a seat answers to what the seats before it have just become


class RowArrays(NamedTuple):
    """A map from sequences to the columns of rows, for abstractions and frozen rows. K columns, B bands.

    Sequences of frozen rows and of closed actions have column -1: their strategy never changes.
    """

    column: np.ndarray  # int32[S]    sequence -> column, or -1
    start: np.ndarray  # int64[K+1]  column -> where its members begin
    member: np.ndarray  # int32[M]    the sequences that read the column
    share: np.ndarray  # float64[M]  probability that frozen rows of the same seat let play come here
    frozen_reach: np.ndarray  # float64[S]  the same for the sequence itself, its own frozen action included
    band_seat: np.ndarray  # int32[B]    bands: rows of one seat and one width, side by side
    band_width: np.ndarray  # int32[B]
    band_first: np.ndarray  # int32[B]    first column
    band_rows: np.ndarray  # int32[B]


class CfrArrays(NamedTuple):
    """What the solver remembers, and its working space. K = S when each infoset has a row of its own."""

    regret: np.ndarray  # float64[K]
    average: np.ndarray  # float64[S]  sum of weighted plans (of own choices alone where rows are frozen)
    strategy: np.ndarray  # float64[S]  probability of a sequence's last action
    noise: np.ndarray  # float32[rows]  a sum of regrets up to so many units is rounding noise, not a preference
    unit: float  # the largest payoff
    plan: np.ndarray  # float64[S]  probability that the seat plays the whole sequence
    worth: np.ndarray  # float64[S]
    root_value: np.ndarray  # float64[P]
    delta: np.ndarray  # float64[K]  worth gathered by column; only with RowArrays
    matched: np.ndarray  # float64[K]  strategy by column; only with RowArrays
    chosen: np.ndarray  # float64[S]  strategy with frozen actions counted as 1; only with RowArrays
    own: np.ndarray  # float64[S]  the plan that `chosen` makes; only with RowArrays


@part
def match(width, first, count, delta, regret, strategy, grow, keep, rule, noise, unit, row):
    """Regret matching for `count` rows of `width` columns from column `first` on.

    A row without positive regret, as far as that is not rounding noise (noise[row] units), plays uniformly.
    """
    floor = rule.floor
    prediction = rule.prediction
    s = U64(first)
    row = U64(row)
    if width == 2:
        for r in range(row, row + U64(count)):
            tiny = noise[r] * unit
            da = delta[s]
            db = delta[s + ONE]
            ra = regret[s]
            rb = regret[s + ONE]
            ra = max(ra * (grow if ra > 0.0 else keep) + da, floor)
            rb = max(rb * (grow if rb > 0.0 else keep) + db, floor)
            regret[s] = ra
            regret[s + ONE] = rb
            ra = max(ra + prediction * da, 0.0)
            rb = max(rb + prediction * db, 0.0)
            total = ra + rb
            scale = 1.0 / max(total, tiny)
            strategy[s] = ra * scale if total > tiny else 0.5
            strategy[s + ONE] = rb * scale if total > tiny else 0.5
            s += TWO
    elif width == 3:
        third = 1.0 / 3.0
        for r in range(row, row + U64(count)):
            tiny = noise[r] * unit
            da = delta[s]
            db = delta[s + ONE]
            dc = delta[s + TWO]
            ra = regret[s]
            rb = regret[s + ONE]
            rc = regret[s + TWO]
            ra = max(ra * (grow if ra > 0.0 else keep) + da, floor)
            rb = max(rb * (grow if rb > 0.0 else keep) + db, floor)
            rc = max(rc * (grow if rc > 0.0 else keep) + dc, floor)
            regret[s] = ra
            regret[s + ONE] = rb
            regret[s + TWO] = rc
            ra = max(ra + prediction * da, 0.0)
            rb = max(rb + prediction * db, 0.0)
            rc = max(rc + prediction * dc, 0.0)
            total = ra + rb + rc
            scale = 1.0 / max(total, tiny)
            strategy[s] = ra * scale if total > tiny else third
            strategy[s + ONE] = rb * scale if total > tiny else third
            strategy[s + TWO] = rc * scale if total > tiny else third
            s += THREE
    elif width == 1:
        strategy[first : first + count] = 1.0
    else:
        step = U64(width)
        for i in range(row, row + U64(count)):
            total = 0.0
            for a in range(s, s + step):
                r = regret[a]
                r = max(r * (grow if r > 0.0 else keep) + delta[a], floor)
                regret[a] = r
                r = max(r + prediction * delta[a], 0.0)
                strategy[a] = r
                total += r
            if total > noise[i] * unit:
                scale = 1.0 / total
                for a in range(s, s + step):
                    strategy[a] *= scale
            else:
                for a in range(s, s + step):
                    strategy[a] = 1.0 / width
            s += step


@part
def revise(form, chunk, state, grow, keep, rule):
    """Regret matching in each point of a chunk, where each point has a row of its own."""
    for run in range(form.chunk_run[chunk], form.chunk_run[chunk + 1]):
        count = form.run_point[run + 1] - form.run_point[run]
        match(
            form.run_width[run], form.run_first[run], count, state.worth, state.regret, state.strategy,
            grow, keep, rule, state.noise, state.unit, form.run_point[run],
        )  # fmt: skip


@part
def accumulate(form, chunk, plan, average, weight):
    for s in range(U64(form.chunk_seq[chunk]), U64(form.chunk_seq[chunk + 1])):
        average[s] += weight * plan[s]


@part
def discount(exponent, t):
    """t^exponent / (t^exponent + 1), the share of old regrets that is kept, so written that infinities do not meet."""
    if np.isinf(exponent):
        return 1.0 if exponent > 0.0 else 0.0
    return 1.0 / (1.0 + float(t) ** -exponent)


@kernel
def iterate(packed, rule, state, done, count, thread, threads, gate):
    """`count` iterations after `done`, each infoset with a row of its own; the same bytes for any `threads`."""
    form = unpack(packed)
    seats = form.seat_chunk.shape[0] - 1
    for t in range(done + 1, done + count + 1):
        grow = discount(rule.alpha, t - 1)
        keep = discount(rule.beta, t - 1)
        weight = (t - rule.delay) ** rule.gamma if t > rule.delay else 0.0  # 0 ** 0 is 1
        for seat in range(seats):
            crown = form.seat_chunk[seat]
            chunks = form.seat_chunk[seat + 1] - crown - 1
            crowned = form.chunk_run[crown + 1] > form.chunk_run[crown]
            batches = form.seat_batch[seat + 1] - form.seat_batch[seat]
            i = claim(gate, thread, threads, -1, batches)
            while i < batches:
                gradient(form, form.seat_batch[seat] + i, state.plan, state.worth)
                i = claim(gate, thread, threads, i, batches)
            meet(gate, threads)
            i = claim(gate, thread, threads, -1, chunks)
            while i < chunks:
                chunk = crown + 1 + i
                clear_bare(form, chunk, state.worth)
                ascend(form, chunk, state.strategy, state.worth, state.root_value)
                revise(form, chunk, state, grow, keep, rule)
                if rule.alternating and not crowned:
                    descend(form, chunk, state.strategy, state.plan)
                    accumulate(form, chunk, state.plan, state.average, weight)
                i = claim(gate, thread, threads, i, chunks)
            meet(gate, threads)
            if crowned:
                if claim(gate, thread, threads, -1, 1) == 0:
                    clear_bare(form, crown, state.worth)
                    gather_hanging(form, seat, state.worth, state.root_value)
                    ascend(form, crown, state.strategy, state.worth, state.root_value)
                    revise(form, crown, state, grow, keep, rule)
                    if rule.alternating:
                        descend(form, crown, state.strategy, state.plan)
                        accumulate(form, crown, state.plan, state.average, weight)
                meet(gate, threads)
                if rule.alternating:
                    follow(form, crown, chunks, state, weight, thread, threads, gate)
        if not rule.alternating:
            for seat in range(seats):
                crown = form.seat_chunk[seat]
                if claim(gate, thread, threads, -1, 1) == 0:
                    descend(form, crown, state.strategy, state.plan)
                    accumulate(form, crown, state.plan, state.average, weight)
                meet(gate, threads)
                follow(form, crown, form.seat_chunk[seat + 1] - crown - 1, state, weight, thread, threads, gate)


@part
def follow(form, crown, chunks, state, weight, thread, threads, gate):
    """New plans of the chunks below a crown."""
    i = claim(gate, thread, threads, -1, chunks)
    while i < chunks:
        descend(form, crown + 1 + i, state.strategy, state.plan)
        accumulate(form, crown + 1 + i, state.plan, state.average, weight)
        i = claim(gate, thread, threads, i, chunks)
    meet(gate, threads)


@part
def gather_columns(rows, band, low, high, worth, delta):
    """delta of each column: the regrets of its member sequences, weighted by what frozen rows let through."""
    width = rows.band_width[band]
    first = rows.band_first[band]
    for column in range(first + low * width, first + high * width):
        total = 0.0
        for k in range(rows.start[column], rows.start[column + 1]):
            total += rows.share[k] * worth[rows.member[k]]
        delta[column] = total


@part
def scatter_columns(rows, band, low, high, state):
    """Write the strategy of each column to the sequences that read it."""
    width = rows.band_width[band]
    first = rows.band_first[band]
    for column in range(first + low * width, first + high * width):
        for k in range(rows.start[column], rows.start[column + 1]):
            state.strategy[rows.member[k]] = state.matched[column]
            state.chosen[rows.member[k]] = state.matched[column]


@part
def replan(form, rows, chunk, state, weight):
    """New plans of a chunk: own choices times what frozen rows let through; the average is of own choices alone."""
    descend(form, chunk, state.chosen, state.own)
    for s in range(form.chunk_seq[chunk], form.chunk_seq[chunk + 1]):
        state.plan[s] = state.own[s] * rows.frozen_reach[s]
    accumulate(form, chunk, state.own, state.average, weight)


@kernel
def iterate_rows(packed, rows, rule, state, done, count, thread, threads, gate):
    """As `iterate`, for points that share rows and rows that do not move."""
    form = unpack(packed)
    seats = form.seat_chunk.shape[0] - 1
    for t in range(done + 1, done + count + 1):
        grow = discount(rule.alpha, t - 1)
        keep = discount(rule.beta, t - 1)
        weight = (t - rule.delay) ** rule.gamma if t > rule.delay else 0.0  # 0 ** 0 is 1
        for phase in range(seats if rule.alternating else 1):
            low_seat = phase if rule.alternating else 0
            high_seat = phase + 1 if rule.alternating else seats
            for seat in range(low_seat, high_seat):
                crown = form.seat_chunk[seat]
                batches = form.seat_batch[seat + 1] - form.seat_batch[seat]
                chunks = form.seat_chunk[seat + 1] - crown - 1
                i = claim(gate, thread, threads, -1, batches)
                while i < batches:
                    gradient(form, form.seat_batch[seat] + i, state.plan, state.worth)
                    i = claim(gate, thread, threads, i, batches)
                meet(gate, threads)
                i = claim(gate, thread, threads, -1, chunks)
                while i < chunks:
                    clear_bare(form, crown + 1 + i, state.worth)
                    ascend(form, crown + 1 + i, state.strategy, state.worth, state.root_value)
                    i = claim(gate, thread, threads, i, chunks)
                meet(gate, threads)
                if claim(gate, thread, threads, -1, 1) == 0:
                    clear_bare(form, crown, state.worth)
                    gather_hanging(form, seat, state.worth, state.root_value)
                    ascend(form, crown, state.strategy, state.worth, state.root_value)
                meet(gate, threads)
            first_row = 0
            for band in range(rows.band_seat.shape[0]):
                if low_seat <= rows.band_seat[band] < high_seat:
                    share_band(rows, band, first_row, state, grow, keep, rule, thread, threads, gate)
                first_row += rows.band_rows[band]
            for seat in range(low_seat, high_seat):
                crown = form.seat_chunk[seat]
                chunks = form.seat_chunk[seat + 1] - crown - 1
                if claim(gate, thread, threads, -1, 1) == 0:
                    replan(form, rows, crown, state, weight)
                meet(gate, threads)
                i = claim(gate, thread, threads, -1, chunks)
                while i < chunks:
                    replan(form, rows, crown + 1 + i, state, weight)
                    i = claim(gate, thread, threads, i, chunks)
                meet(gate, threads)


@part
def share_band(rows, band, first_row, state, grow, keep, rule, thread, threads, gate):
    """Regret matching in the rows of a band, some hundred at a time."""
    width = rows.band_width[band]
    count = rows.band_rows[band]
    pieces = (count + BAND_PIECE - 1) // BAND_PIECE
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        low = i * BAND_PIECE
        high = min(low + BAND_PIECE, count)
        gather_columns(rows, band, low, high, state.worth, state.delta)
        match(
            width, rows.band_first[band] + low * width, high - low, state.delta, state.regret, state.matched,
            grow, keep, rule, state.noise, state.unit, first_row + low,
        )  # fmt: skip
        scatter_columns(rows, band, low, high, state)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)
