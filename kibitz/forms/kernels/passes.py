"""Passes over a sequence form: gradient, values up, plans down, best response.

The arrays of a form (`FormArrays`) hold all seats one after another.

Points (decision points) of one seat are cut into *chunks* that fit the cache and touch nothing of each other, so
chunks are the unit of parallel work; the first chunk of a seat, its *crown*, holds the empty sequence and the
points above all other chunks. Inside a chunk points are sorted by depth and then by width into *runs*: in a run
every point has the same number of actions and sequence numbers go up by that width, so the inner loops have no
surprises for the processor.

Payoffs are a matrix with a row for each own sequence that ends in leaves and a column for each combination of the
others' sequences. Rows with nearly the same columns (the same betting with another hand, in poker) are *bundled* in
fours or twos that share one list of columns: a column's plan is then fetched once for four rows. Bundles of the
same height and length form *batches*, the unit of parallel work in the gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import FOUR, ONE, THREE, TWO, U64, fused_part, part


class FormArrays(NamedTuple):
    """The arrays of a sequence form: S sequences, P points, R runs, C chunks, B batches, n seats,
    H hanging points, E bare sequences, G payoff rows, Z columns of bundles, W entries of bundles.

    What has an entry per point or sequence is uint32, the rest int64: one type each, so each pass compiles once.
    """

    parent: np.ndarray  # uint32[P]    the sequence that leads to a point
    run_width: np.ndarray  # [R]    actions of each point of the run
    run_point: np.ndarray  # [R+1]  first point of the run
    run_first: np.ndarray  # [R]    first sequence of the run
    run_rooted: np.ndarray  # [R]    bool, the run's points hang from another chunk
    chunk_run: np.ndarray  # [C+1]  first run of the chunk
    chunk_seq: np.ndarray  # [C+1]  first sequence of the chunk
    chunk_bare: np.ndarray  # [C+1]  first bare sequence of the chunk
    bare: np.ndarray  # uint32[E]    sequences without leaves of their own
    seat_chunk: np.ndarray  # [n+1]  first chunk (the crown) of the seat
    seat_hang: np.ndarray  # [n+1]  first hanging point of the seat
    hang: np.ndarray  # uint32[H]    points whose parent lies in the crown while they do not
    seat_batch: np.ndarray  # [n+1]  first batch of the seat
    batch_height: np.ndarray  # [B]    rows of each bundle: 4, 2 or 1
    batch_length: np.ndarray  # [B]    columns of each bundle
    batch_bundles: np.ndarray  # [B]    number of bundles
    batch_row: np.ndarray  # [B]    first row
    batch_column: np.ndarray  # [B]    first column
    batch_entry: np.ndarray  # [B]    first entry
    row_seq: np.ndarray  # uint32[G]    payoff row -> its sequence
    other: np.ndarray  # uint32[n-1, Z]  the other seats' sequences of a column, by seat
    payoff: np.ndarray  # float64[W]  chance times payoff to the row's seat: by bundle, by column, by row


class Packed(NamedTuple):
    """A FormArrays in three arrays: a call from Python pays for each array that it hands over."""

    numbers: np.ndarray  # int64: where each field begins and ends, then the int64 fields
    words: np.ndarray  # uint32: the uint32 fields
    payoff: np.ndarray  # float64


def pack(form: FormArrays) -> Packed:
    """Lay the fields of a form end to end; `unpack` makes views of them again."""
    bounds = np.zeros(2 * len(form), np.int64)
    numbers: list[np.ndarray] = [bounds]
    words: list[np.ndarray] = []
    for k, field in enumerate(form[:-1]):
        into = words if field.dtype == np.uint32 else numbers
        bounds[2 * k] = sum(map(len, into))
        into.append(field.ravel().astype(np.uint32 if field.dtype == np.uint32 else np.int64))
        bounds[2 * k + 1] = sum(map(len, into))
    return Packed(np.concatenate(numbers), np.concatenate(words), form.payoff)


@part
def unpack(packed):
    b = packed.numbers
    n = packed.numbers
    w = packed.words
    others = max(b[19] - b[18] - 2, 1)  # a lone seat has its own empty sequence for company
    return FormArrays(
        w[b[0] : b[1]], n[b[2] : b[3]], n[b[4] : b[5]], n[b[6] : b[7]], n[b[8] : b[9]], n[b[10] : b[11]],
        n[b[12] : b[13]], n[b[14] : b[15]], w[b[16] : b[17]], n[b[18] : b[19]], n[b[20] : b[21]], w[b[22] : b[23]],
        n[b[24] : b[25]], n[b[26] : b[27]], n[b[28] : b[29]], n[b[30] : b[31]], n[b[32] : b[33]], n[b[34] : b[35]],
        n[b[36] : b[37]], w[b[38] : b[39]], w[b[40] : b[41]].reshape(others, (b[41] - b[40]) // others),
        packed.payoff,
    )  # fmt: skip


@fused_part
def reach_of(other, k, plan):
    """Probability that the other seats play the sequences of column k."""
    if other.shape[0] == 1:
        return plan[other[0, k]]
    reach = plan[other[0, k]] * plan[other[1, k]]
    for j in range(2, other.shape[0]):
        reach *= plan[other[j, k]]
    return reach


@fused_part
def gradient(form, batch, plan, worth):
    """worth[s] for the sequences of a batch: their value at their own leaves, against the others' plans."""
    other = form.other
    payoff = form.payoff
    row_seq = form.row_seq
    height = form.batch_height[batch]
    length = U64(form.batch_length[batch])
    row = U64(form.batch_row[batch])
    column = U64(form.batch_column[batch])
    entry = U64(form.batch_entry[batch])
    if height == 4:
        for _ in range(form.batch_bundles[batch]):
            a = 0.0
            b = 0.0
            c = 0.0
            d = 0.0
            for k in range(column, column + length):
                reach = reach_of(other, k, plan)
                a += payoff[entry] * reach
                b += payoff[entry + ONE] * reach
                c += payoff[entry + TWO] * reach
                d += payoff[entry + THREE] * reach
                entry += FOUR
            column += length
            worth[row_seq[row]] = a
            worth[row_seq[row + ONE]] = b
            worth[row_seq[row + TWO]] = c
            worth[row_seq[row + THREE]] = d
            row += FOUR
    elif height == 2:
        for _ in range(form.batch_bundles[batch]):
            a = 0.0
            b = 0.0
            for k in range(column, column + length):
                reach = reach_of(other, k, plan)
                a += payoff[entry] * reach
                b += payoff[entry + ONE] * reach
                entry += TWO
            column += length
            worth[row_seq[row]] = a
            worth[row_seq[row + ONE]] = b
            row += TWO
    else:
        for _ in range(form.batch_bundles[batch]):
            a = 0.0
            for k in range(column, column + length):
                a += payoff[entry] * reach_of(other, k, plan)
                entry += ONE
            column += length
            worth[row_seq[row]] = a
            row += ONE


@part
def clear_bare(form, chunk, worth):
    """worth = 0 for the chunk's sequences that the gradient does not write."""
    for k in range(U64(form.chunk_bare[chunk]), U64(form.chunk_bare[chunk + 1])):
        worth[form.bare[k]] = 0.0


@part
def ascend(form, chunk, strategy, worth, root_value):
    """Turn worth at leaves into what each action gains over its point's value, from the last points up.

    worth[s] becomes q(s) - v(point of s), with q(s) the worth of s and all that follows, v = sum of strategy * q:
    the counterfactual regret of one iteration. root_value[p] is set for points that hang from another chunk.
    Before this, `gradient` has written the chunk's rows and `clear_bare` the rest.
    """
    parent = form.parent
    for run in range(form.chunk_run[chunk + 1], form.chunk_run[chunk], -1):
        width = U64(form.run_width[run - 1])
        low = U64(form.run_point[run - 1])
        high = U64(form.run_point[run])
        s = U64(form.run_first[run - 1])
        rooted = form.run_rooted[run - 1]
        if width == TWO:
            for p in range(low, high):
                a = worth[s]
                b = worth[s + ONE]
                v = strategy[s] * a + strategy[s + ONE] * b
                worth[s] = a - v
                worth[s + ONE] = b - v
                if rooted:
                    root_value[p] = v
                else:
                    worth[parent[p]] += v
                s += TWO
        elif width == THREE:
            for p in range(low, high):
                a = worth[s]
                b = worth[s + ONE]
                c = worth[s + TWO]
                v = strategy[s] * a + strategy[s + ONE] * b + strategy[s + TWO] * c
                worth[s] = a - v
                worth[s + ONE] = b - v
                worth[s + TWO] = c - v
                if rooted:
                    root_value[p] = v
                else:
                    worth[parent[p]] += v
                s += THREE
        else:
            for p in range(low, high):
                v = 0.0
                for a in range(s, s + width):
                    v += strategy[a] * worth[a]
                for a in range(s, s + width):
                    worth[a] -= v
                if rooted:
                    root_value[p] = v
                else:
                    worth[parent[p]] += v
                s += width


@part
def gather_hanging(form, seat, worth, root_value):
    """Add the values of points that hang from the crown to the crown's sequences."""
    for k in range(form.seat_hang[seat], form.seat_hang[seat + 1]):
        p = form.hang[k]
        worth[form.parent[p]] += root_value[p]


@part
def descend(form, chunk, strategy, plan):
    """plan[s] = plan[parent] * strategy[s] for the chunk; the plan of the empty sequence is 1."""
    parent = form.parent
    for run in range(form.chunk_run[chunk], form.chunk_run[chunk + 1]):
        width = U64(form.run_width[run])
        low = U64(form.run_point[run])
        high = U64(form.run_point[run + 1])
        s = U64(form.run_first[run])
        if width == TWO:
            for p in range(low, high):
                reach = plan[parent[p]]
                plan[s] = reach * strategy[s]
                plan[s + ONE] = reach * strategy[s + ONE]
                s += TWO
        elif width == THREE:
            for p in range(low, high):
                reach = plan[parent[p]]
                plan[s] = reach * strategy[s]
                plan[s + ONE] = reach * strategy[s + ONE]
                plan[s + TWO] = reach * strategy[s + TWO]
                s += THREE
        else:
            for p in range(low, high):
                reach = plan[parent[p]]
                for a in range(s, s + width):
                    plan[a] = reach * strategy[a]
                s += width


@part
def respond(form, chunk, worth, root_value, choice):
    """As `ascend` for a best response: v is the greatest q of a point; choice[p] is the first action with it."""
    parent = form.parent
    for run in range(form.chunk_run[chunk + 1], form.chunk_run[chunk], -1):
        width = U64(form.run_width[run - 1])
        s = U64(form.run_first[run - 1])
        rooted = form.run_rooted[run - 1]
        for p in range(U64(form.run_point[run - 1]), U64(form.run_point[run])):
            v = worth[s]
            best = s
            for a in range(s + ONE, s + width):
                if worth[a] > v:
                    v = worth[a]
                    best = a
            choice[p] = best - s
            if rooted:
                root_value[p] = v
            else:
                worth[parent[p]] += v
            s += width
