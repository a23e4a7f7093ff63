"""What plans are worth: values of all seats, gradients and best responses. One call does all seats."""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import U64, kernel, maker, part
from kibitz.forms.kernels.passes import clear_bare, descend, gather_hanging, gradient, respond, unpack


@part
def plans_of(form, strategy, plan):
    """plan[s] of every seat from strategy[s]; a seat's crown comes first, so parents are ready."""
    for seat in range(form.seat_chunk.shape[0] - 1):
        plan[form.chunk_seq[form.seat_chunk[seat]]] = 1.0
    for chunk in range(form.chunk_seq.shape[0] - 1):
        descend(form, chunk, strategy, plan)


@part
def gradient_of(form, seat, plan, worth):
    """worth[s] of all sequences of a seat at their own leaves."""
    for batch in range(form.seat_batch[seat], form.seat_batch[seat + 1]):
        gradient(form, batch, plan, worth)
    for chunk in range(form.seat_chunk[seat], form.seat_chunk[seat + 1]):
        clear_bare(form, chunk, worth)


@part
def strategy_of(form, column, probability, strategy):
    """Probabilities by infoset column -> by sequence; empty sequences get 1."""
    if probability.shape[0] > 0:  # else nobody ever moves
        for s in range(U64(column.shape[0])):
            strategy[s] = probability[column[s]]
    for seat in range(form.seat_chunk.shape[0] - 1):
        strategy[form.chunk_seq[form.seat_chunk[seat]]] = 1.0


@kernel
def all_plans(packed, strategy, plan):
    plans_of(unpack(packed), strategy, plan)


@kernel
def seat_gradient(packed, seat, plan, worth):
    gradient_of(unpack(packed), seat, plan, worth)


@kernel
def magnitudes(packed, strategy, plan, worth, root_value):
    """worth[s]: what the sequence and all that follows would be worth if no payoff were taken from another.

    packed has the absolute values of payoffs. Rounding errors of real worths are in proportion to these.
    """
    form = unpack(packed)
    for seat in range(form.seat_chunk.shape[0] - 1):
        crown = form.seat_chunk[seat]
        gradient_of(form, seat, plan, worth)
        for chunk in range(crown + 1, form.seat_chunk[seat + 1]):
            add_up(form, chunk, strategy, worth, root_value)
        gather_hanging(form, seat, worth, root_value)
        add_up(form, crown, strategy, worth, root_value)


@part
def add_up(form, chunk, strategy, worth, root_value):
    """Add the mean worth of each point's actions to the sequence before it, from the last points up."""
    for run in range(form.chunk_run[chunk + 1], form.chunk_run[chunk], -1):
        width = U64(form.run_width[run - 1])
        s = U64(form.run_first[run - 1])
        for p in range(U64(form.run_point[run - 1]), U64(form.run_point[run])):
            v = 0.0
            for a in range(s, s + width):
                v += strategy[a] * worth[a]
            if form.run_rooted[run - 1]:
                root_value[p] = v
            else:
                worth[form.parent[p]] += v
            s += width


@maker
def measure(packed, column, probability, choice, result):
    """result[0, i]: what seat i gets from the probabilities; result[1, i]: what it could get against the others.

    Returns nash_conv, the sum of the differences; rounding below zero is zero.

    column: uint32[S], the infoset column that a sequence reads; probability: by infoset column;
    choice: int32[P], the best response's action at each point.
    """
    rooms = np.empty((3, column.shape[0]))
    return measure_in(packed, column, probability, choice, result, rooms, np.empty(choice.shape[0]))


@part
def measure_in(packed, column, probability, choice, result, rooms, root_value):
    form = unpack(packed)
    strategy, plan, worth = rooms[0], rooms[1], rooms[2]
    strategy_of(form, column, probability, strategy)
    plans_of(form, strategy, plan)
    for seat in range(form.seat_chunk.shape[0] - 1):
        crown = form.seat_chunk[seat]
        end = form.seat_chunk[seat + 1]
        gradient_of(form, seat, plan, worth)
        total = 0.0
        for s in range(U64(form.chunk_seq[crown]), U64(form.chunk_seq[end])):
            total += plan[s] * worth[s]
        result[0, seat] = total
        for chunk in range(crown + 1, end):
            respond(form, chunk, worth, root_value, choice)
        gather_hanging(form, seat, worth, root_value)
        respond(form, crown, worth, root_value, choice)
        result[1, seat] = worth[form.chunk_seq[crown]]
    gap = 0.0
    for seat in range(result.shape[1]):
        gap += result[1, seat] - result[0, seat]
    return max(gap, 0.0)


@maker
def expected(packed, column, probability, value):
    """value[i] alone, without best responses."""
    expected_in(packed, column, probability, value, np.empty((3, column.shape[0])))


@part
def expected_in(packed, column, probability, value, rooms):
    form = unpack(packed)
    strategy, plan, worth = rooms[0], rooms[1], rooms[2]
    strategy_of(form, column, probability, strategy)
    plans_of(form, strategy, plan)
    for seat in range(form.seat_chunk.shape[0] - 1):
        gradient_of(form, seat, plan, worth)
        total = 0.0
        for s in range(U64(form.chunk_seq[form.seat_chunk[seat]]), U64(form.chunk_seq[form.seat_chunk[seat + 1]])):
            total += plan[s] * worth[s]
        value[seat] = total
