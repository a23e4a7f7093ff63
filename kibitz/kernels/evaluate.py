"""What plans are worth: values of all seats, gradients and best responses. One call does all seats."""

from __future__ import annotations

from kibitz.kernels.jit import kernel
from kibitz.kernels.sequence import clear_bare, descend, gather_hanging, gradient, respond


@kernel
def all_plans(form, strategy, plan):
    """plan[s] of every seat from strategy[s]; a seat's crown comes first, so parents are ready."""
    for seat in range(form.seat_chunk.shape[0] - 1):
        plan[form.chunk_seq[form.seat_chunk[seat]]] = 1.0
    for chunk in range(form.chunk_seq.shape[0] - 1):
        descend(form, chunk, strategy, plan)


@kernel
def seat_gradient(form, seat, plan, worth):
    """worth[s] of all sequences of a seat at their own leaves."""
    for batch in range(form.seat_batch[seat], form.seat_batch[seat + 1]):
        gradient(form, batch, plan, worth)
    for chunk in range(form.seat_chunk[seat], form.seat_chunk[seat + 1]):
        clear_bare(form, chunk, worth)


@kernel
def measure(form, strategy, plan, worth, root_value, choice, value, best):
    """value[i]: what seat i gets when all play `strategy`; best[i]: what it could get against the others.

    choice[p] is the best response's action at each point; plan, worth and root_value are working space.
    """
    all_plans(form, strategy, plan)
    for seat in range(form.seat_chunk.shape[0] - 1):
        crown = form.seat_chunk[seat]
        end = form.seat_chunk[seat + 1]
        seat_gradient(form, seat, plan, worth)
        total = 0.0
        for s in range(form.chunk_seq[crown], form.chunk_seq[end]):
            total += plan[s] * worth[s]
        value[seat] = total
        for chunk in range(crown + 1, end):
            respond(form, chunk, worth, root_value, choice)
        gather_hanging(form, seat, worth, root_value)
        respond(form, crown, worth, root_value, choice)
        best[seat] = worth[form.chunk_seq[crown]]


@kernel
def expected(form, strategy, plan, worth, value):
    """value[i] alone, without best responses."""
    all_plans(form, strategy, plan)
    for seat in range(form.seat_chunk.shape[0] - 1):
        seat_gradient(form, seat, plan, worth)
        total = 0.0
        for s in range(form.chunk_seq[form.seat_chunk[seat]], form.chunk_seq[form.seat_chunk[seat + 1]]):
            total += plan[s] * worth[s]
        value[seat] = total
