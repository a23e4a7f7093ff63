"""What a responder gains at the decisions of sampled hands, decision by decision.

All seats play a strategy s. At each decision of a seat the hand is also played to its end with the responder b in that
seat from there on, by the same cards and the same random numbers. What the seat wins by b from one of its decisions on,
less what it wins by b from its next one on (after the last: by s), is the gain of the decision. The gains of a seat
sum to what b wins more than s, and where b acts as s does the gain is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import U64, kernel
from kibitz.core.random import choose, mix, next_unit, seed_of
from kibitz.games.kernels.machine import CHANCE, END, after, deal, draw, payoff, turn, width
from kibitz.poker.rules.kernels.machine import place_of
from kibitz.solvers.kernels.players import LUCK, play_out, strategy

NOBODY = -1  # after the last decision of a hand


class HandDecisions(NamedTuple):
    """Of some hands: who decides, where in the betting, and what b gains there."""

    mover: np.ndarray  # int64[hands, decisions]
    place: np.ndarray  # int64[hands, decisions]
    gain: np.ndarray  # float64[hands, decisions]


@kernel
def deviations(game, players, seatings, seed, first, out, random, luck, probability):
    """Hands first, first + 1, ... players: (s, b); seatings[i, k] is 1 for k = i and 0 for other seats."""
    mover, place, gain = out
    for i in range(len(place)):
        luck[0] = seed_of(seed, first + i)
        state = deal(game, luck)
        random[0] = luck[0]
        luck[0] = mix(random[0] ^ LUCK)
        count = 0
        while True:
            seat = turn(game, state)
            if seat == END:
                break
            if seat == CHANCE:
                state = draw(game, state, luck)
                continue
            numbers, cards = random[0], luck[0]
            end = play_out(game, state, players, seatings[seat], random, luck, probability)
            random[0], luck[0] = numbers, cards
            mover[i, count] = seat
            place[i, count] = np.int64(place_of(game, state.node))
            gain[i, count] = payoff(game, end, U64(seat))
            count += 1
            actions = U64(width(game, state))
            strategy(players[0], game, state, actions, probability)
            state = after(game, state, choose(probability, actions, next_unit(random)))
        for k in range(count):  # from what is won by b from here on to the difference to the seat's next decision
            later = payoff(game, state, U64(mover[i, k]))
            for more in range(k + 1, count):
                if mover[i, more] == mover[i, k]:
                    later = gain[i, more]
                    break
            gain[i, k] -= later
        for k in range(count, mover.shape[1]):
            mover[i, k] = NOBODY
