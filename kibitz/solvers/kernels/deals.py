"""Chance-sampled CFR deal by deal [Zinkevich et al. 2007, Sec. 4]: an iteration draws what chance does once for all of
the game, and walks every action of both seats in what is left.

`solvers/kernels/walk.py` samples chance anew wherever it comes to it and walks once for each seat, on any machine. Here
each deal is a list of decisions in preorder that is laid out beforehand, which takes a seventh of the time in Leduc:
down the list for strategies and reaches, and up again for values and regrets. Nothing below a decision that neither
seat plays to is looked at: there all that would be added is zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, small_part
from kibitz.core.random import NONE, SHIFT_32, next_unit, next_word

FROZEN = 2  # in the place of a seat: a decision that a base plays
SEAT, WIDTH, COLUMN, END, CHILD = U64(0), U64(1), U64(2), U64(3), U64(4)  # columns of `node`


class Deals(NamedTuple):
    """All deals of a two-player game. D deals, N decisions in all of them, W actions.

    The decisions of a deal have the places 0, 1, 2, ... in preorder; its ends have the places behind them.
    """

    first: np.ndarray  # int64[D + 1]  first decision of a deal
    keep: np.ndarray  # float64[D]  Walker's alias: of a cell of the draw, how much is its own deal's
    other: np.ndarray  # int64[D]  and whose the rest is
    node: np.ndarray  # int32[N, 4 + W]  seat, number of actions, first column of the row (of a frozen decision: first
    #   place in `fixed`), the place behind all that follows, and the places of its children
    begin: np.ndarray  # int64[D]  where the values of a deal begin
    value: np.ndarray  # float64[*]  what seat 0 gets, by place: written at decisions, only read at ends
    fixed: np.ndarray  # float64[F]  probabilities of frozen decisions


class Manner(NamedTuple):
    """How to walk."""

    sample: bool  # frozen decisions are drawn as chance is, not walked in the proportion of their probabilities
    alternating: bool  # a deal is walked for seat 0 and then for seat 1, not for both at once
    linear: bool  # iteration t counts t times in the average


class DealWorkspace(NamedTuple):
    """What a walk writes to. M places of the longest deal."""

    probability: np.ndarray  # float64[M, W]
    reach: np.ndarray  # float64[M, 3]  of seat 0, of seat 1, of frozen decisions
    met: np.ndarray  # uint64[M]  decisions that were walked
    lanes: tuple[int, ...]  # [W]  zeros: their number, which the compiler knows, is that of the most actions


@small_part
def fixed_play(fixed, at, width, sample, random, room, place):
    """What a base plays: all of it, or one action that is drawn."""
    probability = room.probability
    for a in range(U64(len(room.lanes))):
        if a >= width:
            break
        probability[place, a] = fixed[at + a]
    if sample:
        left = next_unit(random)
        chosen = NONE
        for a in range(U64(len(room.lanes))):
            if a >= width:
                break
            if fixed[at + a] > 0.0:
                chosen = U64(a)
                left -= fixed[at + a]
                if left < 0.0:
                    break
        for a in range(U64(len(room.lanes))):
            if a >= width:
                break
            probability[place, a] = 1.0 if a == chosen else 0.0


@small_part
def walk_deal(deals, regret, average, deal, who, weight, sample, random, room):
    """Walk one deal and update the seats of `who`: 1, 2, or 3 for both."""
    first, begin = U64(deals.first[deal]), U64(deals.begin[deal])
    end = U64(deals.first[deal + 1]) - first
    node, value = deals.node, deals.value
    reach, probability, met = room.reach, room.probability, room.met
    reach[0, 0] = 1.0
    reach[0, 1] = 1.0
    reach[0, 2] = 1.0
    count = NONE
    n = NONE
    while n < end:
        zero, one, base = reach[n, 0], reach[n, 1], reach[n, 2]
        at = first + n
        if zero == 0.0 and one == 0.0:  # nothing is learnt from here on
            value[begin + n] = 0.0
            n = U64(node[at, END])
            continue
        met[count] = n
        count += ONE
        seat, width, column = node[at, SEAT], U64(node[at, WIDTH]), U64(node[at, COLUMN])
        if seat == FROZEN:
            fixed_play(deals.fixed, column, width, sample, random, room, n)
            for a in range(U64(len(room.lanes))):
                if a >= width:
                    break
                p, child = probability[n, a], U64(node[at, CHILD + a])
                reach[child, 0] = zero if p > 0.0 else 0.0
                reach[child, 1] = one if p > 0.0 else 0.0
                reach[child, 2] = base * p
            n += ONE
            continue
        total = 0.0  # regret matching; uniform where nothing is regretted
        for a in range(U64(len(room.lanes))):
            if a >= width:
                break
            total += max(regret[column + a], 0.0)
        scale = 1.0 / total if total > 0.0 else 0.0
        least = 0.0 if total > 0.0 else 1.0 / width
        own = U64(seat)
        mine, theirs = (zero, one) if seat == 0 else (one, zero)
        counted = weight * mine if (who >> seat) & 1 else 0.0
        for a in range(U64(len(room.lanes))):
            if a >= width:
                break
            child = U64(node[at, CHILD + a])
            p = max(regret[column + a], 0.0) * scale + least
            probability[n, a] = p
            average[column + a] += counted * p
            reach[child, own] = mine * p
            reach[child, ONE - own] = theirs
            reach[child, 2] = base
        n += ONE
    while count > NONE:
        count -= ONE
        n = met[count]
        at = first + n
        seat, width, column = node[at, SEAT], U64(node[at, WIDTH]), U64(node[at, COLUMN])
        total = 0.0
        for a in range(U64(len(room.lanes))):
            if a >= width:
                break
            total += probability[n, a] * value[begin + U64(node[at, CHILD + a])]
        value[begin + n] = total
        if seat != FROZEN and (who >> seat) & 1:
            others = reach[n, 2] * (reach[n, 1] if seat == 0 else -reach[n, 0])
            for a in range(U64(len(room.lanes))):
                if a >= width:
                    break
                regret[column + a] += others * (value[begin + U64(node[at, CHILD + a])] - total)


@kernel
def walk_deals(deals, regret, average, manner, first, last, random, room):
    """Iterations first..last - 1; random[0] says where the random numbers go on."""
    many = U64(len(deals.keep))
    for t in range(first, last):
        cell = ((next_word(random) >> SHIFT_32) * many) >> SHIFT_32
        deal = np.int64(cell)
        if next_unit(random) >= deals.keep[cell]:
            deal = deals.other[cell]
        weight = float(t + 1) if manner.linear else 1.0
        for k in range(2 if manner.alternating else 1):
            who = 1 << k if manner.alternating else 3
            walk_deal(deals, regret, average, deal, who, weight, manner.sample, random, room)


def deal_workspace(deals: Deals) -> DealWorkspace:
    """Arrays for walks of these deals."""
    most, actions = int(np.diff(np.append(deals.begin, len(deals.value))).max()), deals.node.shape[1] - int(CHILD)
    return DealWorkspace(np.zeros((most, actions)), np.zeros((most, 3)), np.zeros(most, np.uint64), (0,) * actions)
