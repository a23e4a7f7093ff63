"""Best responses to average plans, again and again: fictitious play."""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import maker, part
from kibitz.forms.kernels.evaluate import gradient_of
from kibitz.forms.kernels.passes import descend, gather_hanging, respond, unpack


@maker
def best_plans(packed, plan, first, done, count, fixed_step):
    """plan += step * (best response - plan), all seats at once, `count` times; step = 1/(t+1), or fixed_step if > 0.

    first: int32[P], the first sequence of each point.
    """
    rooms = np.empty((3, plan.shape[0]))
    root_value = np.empty(first.shape[0])
    play(packed, plan, first, done, count, fixed_step, rooms, root_value, np.empty(first.shape[0], np.int32))


@part
def play(packed, plan, first, done, count, fixed_step, rooms, root_value, choice):
    form = unpack(packed)
    seats = form.seat_chunk.shape[0] - 1
    worth, pure, answer = rooms[0], rooms[1], rooms[2]
    for t in range(done + 1, done + count + 1):
        step = fixed_step if fixed_step > 0.0 else 1.0 / (t + 1.0)
        pure[:] = 0.0
        for seat in range(seats):
            crown = form.seat_chunk[seat]
            end = form.seat_chunk[seat + 1]
            gradient_of(form, seat, plan, worth)
            for chunk in range(crown + 1, end):
                respond(form, chunk, worth, root_value, choice)
            gather_hanging(form, seat, worth, root_value)
            respond(form, crown, worth, root_value, choice)
        for p in range(first.shape[0]):
            pure[first[p] + choice[p]] = 1.0
        for seat in range(seats):
            answer[form.chunk_seq[form.seat_chunk[seat]]] = 1.0
        for chunk in range(form.chunk_seq.shape[0] - 1):
            descend(form, chunk, pure, answer)
        for s in range(plan.shape[0]):
            plan[s] += step * (answer[s] - plan[s])
