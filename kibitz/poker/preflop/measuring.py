"""What a strategy wins in a sample of deals: values of all actions of the first round, and what other play would gain.

Each deal is played out once from every end of the first round (`kernels/rolls.py`). Decisions of the first round are
then followed with their exact probabilities. Hands are counted by class: the 169 before the flop, or all 1,326.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.preflop.nodes import FirstNodes, reaches

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCK = 1024  # deals that are played out at a time
CONFIDENCE = 1.96


class FreshDeals(Protocol):
    """Deals that are played out."""

    nodes: FirstNodes

    def block(self, first: int, count: int) -> tuple[Floats, Ints]:
        """([count, ends, players] what seats win if a deal goes on from an end, [count, players] classes of hands)."""


@dataclass
class SampledMeasure:
    """What strategies win in a sample of deals. Chips."""

    deals: int
    values: Floats  # [players]  a hand
    value_errors: Floats  # [players]  half of a 95% interval
    actions: list[Floats]  # of each node [actions, C]: what the seat to act wins in the whole hand
    errors: list[Floats]  # half of a 95% interval of each
    met: list[Floats]  # of each node [C]: how likely the seat to act has a hand and the others reach it, up to a factor
    reach: Floats  # [P]


def measured(deals: FreshDeals, strategy: list[Floats], count: int, on_block: Callable[[int], bool]) -> SampledMeasure:
    """Values of all actions, from `count` deals; on_block may end it early."""
    from kibitz.poker.preflop.kernels.rolls import add_classes

    nodes, players = deals.nodes, deals.nodes.question.players
    reach = reaches(nodes, strategy)
    sums = [np.zeros((len(names), 5, reach.shape[2])) for names in nodes.names]
    total, squares, often, done = np.zeros(players), np.zeros(players), np.zeros(len(nodes)), 0
    while done < count:
        step = min(BLOCK, count - done)
        won, classes = deals.block(done, step)
        # by seat, how likely each player acts so that a node is reached with the hands of a deal
        by_seat = [reach[:, seat, :][:, classes[:, seat]] for seat in range(players)]  # [P, deals]
        values = backed_up(nodes, strategy, won, classes)
        for node in nodes.decisions:
            seat = int(nodes.turn[node])
            weight = np.ones(step)
            for other in range(players):
                if other != seat:
                    weight = weight * by_seat[other][node]
            for a, child in enumerate(nodes.children[node]):
                add_classes(weight, values[child][:, seat], classes[:, seat], sums[node][a])
        often += np.prod(by_seat, axis=0).sum(axis=1)
        total += values[0].sum(axis=0)
        squares += (values[0] ** 2).sum(axis=0)
        done += step
        if on_block(done):
            break
    mean = total / done
    spread = np.sqrt(np.maximum(squares / done - mean**2, 0.0) / done)
    pairs = [_means(each) for each in sums]
    return SampledMeasure(done, mean, CONFIDENCE * spread, [pair[0] for pair in pairs], [pair[1] for pair in pairs],
                          [each[0, 0] if len(each) else np.empty(0) for each in sums], often / done)  # fmt: skip


def backed_up(nodes: FirstNodes, strategy: list[Floats], won: Floats, classes: Ints) -> list[Floats]:
    """Of each node [deals, players]: what seats win from there on by a strategy."""
    values: list[Floats] = [np.empty(0)] * len(nodes)
    for k, end in enumerate(nodes.ends):
        values[end] = won[:, k]
    for node in reversed(nodes.decisions):
        shares = strategy[node][:, classes[:, nodes.turn[node]]]
        below = nodes.children[node]
        value = shares[0][:, None] * values[below[0]]
        for a, child in enumerate(below[1:], 1):
            value += shares[a][:, None] * values[child]
        values[node] = value
    return values


def _means(sums: Floats) -> tuple[Floats, Floats]:
    """(means, halves of 95% intervals) [actions, C] of weighted sums."""
    weight, first, squares, square_first, second = np.moveaxis(sums, 1, 0)
    empty = np.full_like(first, np.nan)
    mean = np.divide(first, weight, out=empty.copy(), where=weight > 0)
    spread = np.maximum(second - 2 * mean * square_first + mean**2 * squares, 0.0)
    return mean, CONFIDENCE * np.divide(np.sqrt(spread), weight, out=empty, where=weight > 0)


# What a player could gain in the first round


@dataclass(frozen=True)
class SampledGain:
    """What other play in the first round would gain, if later play stays: chips a hand, chosen on deals and measured on
    others."""

    gain: float
    error: float  # half of a 95% interval


def sampled_gains(
    deals: FreshDeals, strategy: list[Floats], count: int, on_block: Callable[[int], bool]
) -> list[SampledGain]:
    """By seat. A best response is chosen on `count` deals, and measured on as many others."""
    nodes, players = deals.nodes, deals.nodes.question.players
    reach = reaches(nodes, strategy)
    sums = np.zeros((players, len(nodes.ends), reach.shape[2]))
    done = 0
    while done < count:
        won, classes = deals.block(done, BLOCK)
        weight = _others(nodes, reach, classes)
        for seat in range(players):
            for k in range(len(nodes.ends)):
                sums[seat, k] += np.bincount(classes[:, seat], weight[seat][k] * won[:, k, seat], reach.shape[2])
        done += BLOCK
        if on_block(done):
            break
    chosen = [response(nodes, seat, sums[seat], strategy) for seat in range(players)]
    total, squares, measured_on = np.zeros(players), np.zeros(players), done
    for first in range(done, 2 * done, BLOCK):
        won, classes = deals.block(first, BLOCK)
        weight = _others(nodes, reach, classes)
        for seat in range(players):
            own = reaches(nodes, chosen[seat])[nodes.ends, seat] - reach[nodes.ends, seat]
            more = (weight[seat] * own[:, classes[:, seat]] * won[:, :, seat].T).sum(axis=0)
            total[seat] += more.sum()
            squares[seat] += (more**2).sum()
    mean = total / measured_on
    spread = np.sqrt(np.maximum(squares / measured_on - mean**2, 0.0) / measured_on)
    return [SampledGain(float(a), CONFIDENCE * float(b)) for a, b in zip(mean, spread, strict=True)]


def _others(nodes: FirstNodes, reach: Floats, classes: Ints) -> list[Floats]:
    """By seat [ends, deals]: how likely the others act so that an end is reached."""
    by_seat = [reach[nodes.ends, seat, :][:, classes[:, seat]] for seat in range(classes.shape[1])]
    return [np.prod([each for other, each in enumerate(by_seat) if other != seat], axis=0)
            for seat in range(len(by_seat))]  # fmt: skip


def response(nodes: FirstNodes, seat: int, sums: Floats, strategy: list[Floats]) -> list[Floats]:
    """The strategy with the best response of a seat to what ends are worth. sums: [ends, C]."""
    values: list[Floats] = [np.empty(0)] * len(nodes)
    for k, end in enumerate(nodes.ends):
        values[end] = sums[k]
    answer = list(strategy)
    for node in reversed(nodes.decisions):
        below = np.stack([values[child] for child in nodes.children[node]])
        if nodes.turn[node] != seat:
            values[node] = below.sum(axis=0)
            continue
        values[node] = below.max(axis=0)
        answer[node] = (np.arange(len(below))[:, None] == below.argmax(axis=0)).astype(np.float64)
    return answer
