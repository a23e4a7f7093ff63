"""Where a strategy loses: the gain of best responses by infoset and by part, and how often a part is reached.

What seat i's best response b gains over its strategy s is a sum over the infosets I of the seat
(the performance difference lemma [Kakade & Langford 2002], with counterfactual values in place of values of states):

    u(b) - u(s) = sum over I of  reach_s(I) * (max over a of Q_b(I, a)  -  sum over a of s(I, a) Q_b(I, a))

reach_s(I): the seat's own probability of playing towards I; Q_b(I, a): the counterfactual value of an action if the
seat goes on as b does. No term is negative, so the losses of parts are shares of a whole: they sum to NashConv.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.protocol import GradientForm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class PartSignal(NamedTuple):
    """Figures of one part of a game under a strategy."""

    name: str
    loss: float  # of NashConv, what best responses win by decisions of the part
    reach: float  # the probability that a seat decides in the part: of the seat that does so most often
    infosets: int
    error: float = 0.0  # standard error of the loss; 0: exact
    by_seat: tuple[float, ...] = ()  # the loss of each seat's strategy, where it is known by seat

    def data(self) -> dict[str, Any]:
        return self._asdict()


def losses(form: GradientForm, probabilities: Floats) -> Floats:
    """[I] what best responses gain at each infoset; the sum over infosets is NashConv. For perfect recall."""
    infosets = form.infosets
    lost = np.zeros(len(infosets.labels))
    strategy = form.to_strategy(probabilities)
    plan = form.plan(strategy)
    of_sequence = _infoset_of_sequence(form)
    for seat in range(form.seats):
        plex = form.treeplex(seat)
        begin, end = (int(each) for each in form.seat_sequence[seat : seat + 2])
        own, mine, at = plan[begin:end], strategy[begin:end], of_sequence[begin:end]
        value = np.array(form.gradient(seat, plan), np.float64)
        for level in range(len(plex.level) - 2, -1, -1):
            here = slice(int(plex.chunk[plex.level[level]]), int(plex.chunk[plex.level[level + 1]]))
            first, stride, width, parent = (
                np.asarray(each[here], np.int64) for each in (plex.first, plex.stride, plex.width, plex.parent)
            )
            best, mean = np.full(len(first), -np.inf), np.zeros(len(first))
            for action in range(int(width.max(initial=0))):
                wide = np.flatnonzero(width > action)
                sequence = first[wide] + action * stride[wide]
                best[wide] = np.maximum(best[wide], value[sequence])
                mean[wide] += mine[sequence] * value[sequence]
            np.add.at(lost, at[first], own[parent] * np.maximum(best - mean, 0.0))
            np.add.at(value, parent, best)
    return lost


def _infoset_of_sequence(form: GradientForm) -> Ints:
    """[S] the infoset that a sequence's last action belongs to; 0 for empty sequences."""
    numbers = np.arange(form.columns, dtype=np.float64)  # exact below 2^53
    if not len(numbers):
        return np.zeros(form.sequences, np.int64)
    columns = form.to_strategy(numbers).astype(np.int64)
    columns[np.asarray(form.seat_sequence[:-1], np.int64)] = 0
    return np.asarray(form.infosets.row_of_column, np.int64)[columns]


def by_part(lost: Floats, part: Ints, parts: int) -> Floats:
    """[parts] the losses of parts: they sum to the whole."""
    return np.bincount(part, lost, minlength=parts).astype(np.float64)


def part_reach(form: GradientForm, reach: Floats, here: Bools) -> float:
    """The probability that a seat decides in a part: of the seat that does so most often.

    reach: [I] the probability that play comes to each infoset. A play that comes to a part of a betting tree comes to
    its first decision, so there this is the probability of the part itself.
    """
    of_sequence, most = _infoset_of_sequence(form), 0.0
    for seat in range(form.seats):
        plex = form.treeplex(seat)
        begin, end = (int(each) for each in form.seat_sequence[seat : seat + 2])
        entered, at, total = np.zeros(end - begin, bool), of_sequence[begin:end], 0.0
        for level in range(len(plex.level) - 1):
            points = slice(int(plex.chunk[plex.level[level]]), int(plex.chunk[plex.level[level + 1]]))
            first, stride, width, parent = (
                np.asarray(each[points], np.int64) for each in (plex.first, plex.stride, plex.width, plex.parent)
            )
            inside, before = here[at[first]], entered[parent]
            total += float(reach[np.unique(at[first[inside & ~before]])].sum())
            for action in range(int(width.max(initial=0))):
                wide = np.flatnonzero(width > action)
                entered[first[wide] + action * stride[wide]] = inside[wide] | before[wide]
        most = max(most, total)
    return most
