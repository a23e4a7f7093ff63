"""The betting rules of poker without limit, compiled: every chip amount, minimum raises, all in, side pots.

The readable rules are in `kibitz.poker.rules.betting`, and these do the same (tests/poker/test_nolimit_table.py). What
differs is how a hand is kept: one array `bets` is changed by each action, and cards of the board take no step of their
own. An action is a whole number: FOLD, CALL, or all that the seat has put in after a raise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, part, small_part
from kibitz.core.random import NONE
from kibitz.games.kernels.dispatch import register
from kibitz.games.kernels.machine import END
from kibitz.poker.rules.kernels.machine import deal, hole_of, value_at, with_cards

FOLD, CALL = -1, 0
TURN, ROUND, RAISES, WAITING, LEAST, FOLDED, PAID = (U64(k) for k in range(7))  # places in `bets`
MOST_SEATS = 10
BETS = int(PAID) + MOST_SEATS  # numbers of a hand's betting


class Table(NamedTuple):
    """A definition of n seats and R rounds, as kernels take it."""

    stacks: np.ndarray  # int64[n]
    blinds: np.ndarray  # int64[n]
    first: np.ndarray  # int64[R]  the seat that acts first, if it can
    most: np.ndarray  # int64[R]  bets and raises of a round, at most
    sizes: np.ndarray  # float64[K]  the only sizes of bets in pots, ascending; none: every size
    big: np.int64  # the largest blind
    deck: np.ndarray  # uint8[D]  from here on as in `PokerGame`
    board: np.ndarray  # uint64[R + 1]
    seats: np.uint64
    hole: np.uint64
    root: np.uint64


@small_part
def is_able(table, bets, seat):
    """Whether a seat is still in and has chips left."""
    return not (bets[FOLDED] >> np.int64(seat)) & 1 and bets[PAID + seat] < table.stacks[seat]


@small_part
def count_able(table, bets):
    count = 0
    for seat in range(table.seats):
        if is_able(table, bets, seat):
            count += 1
    return count


@small_part
def next_able(table, bets, seat):
    """The next seat, clockwise, that can act; some seat can."""
    while True:
        seat += ONE
        if seat >= table.seats:
            seat = NONE
        if is_able(table, bets, seat):
            return np.int64(seat)


@small_part
def top_of(table, bets):
    """What a seat must have put in to call."""
    top = bets[PAID]
    for seat in range(ONE, table.seats):
        top = max(top, bets[PAID + seat])
    return top


@small_part
def pot_of(table, bets):
    """The pot after a call of the seat to act; a pot without a chip counts as one."""
    total = top_of(table, bets) - bets[PAID + U64(bets[TURN])]
    for seat in range(table.seats):
        total += bets[PAID + seat]
    return max(total, 1)


@part
def begin(table, bets):
    """The blinds, and whose turn it is."""
    for seat in range(table.seats):
        bets[PAID + seat] = table.blinds[seat]
    bets[ROUND] = bets[FOLDED] = 0
    bets[LEAST] = max(2 * table.big, 1)
    open_round(table, bets)


@part
def open_round(table, bets):
    """A round begins; rounds in which nobody can bet are passed over."""
    while True:
        count = count_able(table, bets)
        # Before the first round a single seat is asked even so, as the reference dealer does.
        if count > (1 if bets[ROUND] else 0):
            first = U64(table.first[U64(bets[ROUND])])
            bets[TURN] = np.int64(first) if is_able(table, bets, first) else next_able(table, bets, first)
            bets[RAISES] = 0
            bets[WAITING] = count
            return
        if close_round(table, bets):
            return


@part
def close_round(table, bets):
    """After a round: True at the end of the hand."""
    if U64(bets[ROUND]) + ONE == U64(len(table.first)):
        bets[TURN] = END
        return True
    bets[ROUND] += 1
    bets[LEAST] = top_of(table, bets) + max(table.big, 1)
    return False


@small_part
def highest(table, bets):
    """The most that the seat to act may have put in after a raise; 0 where it may not raise."""
    stack = table.stacks[U64(bets[TURN])]
    if bets[RAISES] >= table.most[U64(bets[ROUND])] or stack <= top_of(table, bets) or count_able(table, bets) < 2:
        return 0
    return stack


@small_part
def lowest(table, bets):
    """The least that the seat to act may have put in after a raise, where it may raise."""
    return min(bets[LEAST], table.stacks[U64(bets[TURN])])


@small_part
def faces_bet(table, bets):
    return bets[PAID + U64(bets[TURN])] < top_of(table, bets)


@part
def total_of(table, bets, size):
    """What a seat has put in after a raise of so many pots, or the nearest legal one; only where it may raise."""
    high = highest(table, bets)
    if size == np.inf:
        return high
    wanted = np.floor(size * pot_of(table, bets) + 0.5)
    if wanted >= high:  # before it becomes a whole number: sizes may be as large as one likes
        return high
    return min(max(top_of(table, bets) + np.int64(wanted), lowest(table, bets)), high)


@part
def offered(table, bets, wanted):
    """The raise that is offered nearest to a total; the lower one of two. Only where the seat may raise."""
    if not len(table.sizes):
        return min(max(wanted, lowest(table, bets)), highest(table, bets))
    best = total_of(table, bets, table.sizes[0])
    for k in range(U64(len(table.sizes))):
        total = total_of(table, bets, table.sizes[k])
        if abs(total - wanted) < abs(best - wanted):
            best = total
    return best


@part
def count_actions(table, bets):
    """How many actions there are: perhaps a fold, a call, and raises."""
    count = 2 if faces_bet(table, bets) else 1
    high = highest(table, bets)
    if not high:
        return count
    if not len(table.sizes):
        return count + high - lowest(table, bets) + 1
    before = 0
    for k in range(U64(len(table.sizes))):
        total = total_of(table, bets, table.sizes[k])
        count += 1 if total > before else 0
        before = total
    return count


@part
def action_at(table, bets, number):
    """The action of a number, in the order of the readable rules."""
    if faces_bet(table, bets):
        if number == 0:
            return FOLD
        number -= 1
    if number == 0:
        return CALL
    number -= 1
    if not len(table.sizes):
        return lowest(table, bets) + number
    before = 0
    for k in range(U64(len(table.sizes))):
        total = total_of(table, bets, table.sizes[k])
        if total > before:
            if number == 0:
                return total
            number -= 1
        before = total
    return before


@part
def act(table, bets, action):
    """The betting after a legal action of the seat to act."""
    seat = U64(bets[TURN])
    top = top_of(table, bets)
    bets[WAITING] -= 1
    if action == FOLD:
        bets[FOLDED] |= 1 << np.int64(seat)
        if one_left(table, bets):
            bets[TURN] = END
            return
    elif action == CALL:
        bets[PAID + seat] = min(top, table.stacks[seat])
    else:
        bets[PAID + seat] = action
        bets[LEAST] = max(bets[LEAST], 2 * action - top)
        bets[RAISES] += 1
        bets[WAITING] = count_able(table, bets) - (1 if is_able(table, bets, seat) else 0)
    if bets[WAITING]:
        bets[TURN] = next_able(table, bets, seat)
    elif not close_round(table, bets):
        open_round(table, bets)


@small_part
def one_left(table, bets):
    """Whether all but one have folded."""
    left = 0
    for seat in range(table.seats):
        left += 0 if (bets[FOLDED] >> np.int64(seat)) & 1 else 1
    return left == 1


@part
def settle(table, state, bets, won):
    """won[seat]: what each seat takes out of the pots, less what it put in; pots as in `rules.winnings`.

    state: the cards. won has room for twice as many numbers as there are seats.
    """
    seats = table.seats
    showdown = not one_left(table, bets)
    board = NONE
    if showdown:
        board = with_cards(NONE, state, NONE, hole_of(table, NONE))
    for seat in range(seats):
        won[seat] = -np.float64(bets[PAID + seat])
        live = not (bets[FOLDED] >> np.int64(seat)) & 1
        won[seats + seat] = -1.0
        if live:
            won[seats + seat] = np.float64(value_at(table, state, board, seat)) if showdown else 0.0
    below = np.int64(0)
    while True:
        level = np.int64(0)  # of the lowest pot that is left
        for seat in range(seats):
            paid = bets[PAID + seat]
            if paid > below and (level == 0 or paid < level):
                level = paid
        if level == 0:
            return
        inside, winners, best = 0, 0, -1.0
        for seat in range(seats):
            if bets[PAID + seat] >= level:
                inside += 1
                if won[seats + seat] > best:
                    best = won[seats + seat]
                    winners = 0
                winners += 1 if best >= 0.0 and won[seats + seat] == best else 0
        for seat in range(seats):
            if bets[PAID + seat] >= level and won[seats + seat] == best:
                won[seat] += np.float64((level - below) * inside) / winners
        below = level


register(Table, deal)


@kernel
def play_actions(table, bets, actions):
    """A hand of some actions from its beginning, for tests: the betting after them."""
    begin(table, bets)
    for action in actions:
        act(table, bets, action)


@kernel
def list_actions(table, bets, out):
    """All actions of the seat to act, and how many; out: int64[], of which as many are written as fit."""
    count = count_actions(table, bets)
    for k in range(min(count, len(out))):
        out[k] = action_at(table, bets, k)
    return count


@kernel
def settle_cards(table, state, bets, won):
    """What each seat wins at the end of a hand; state: its cards."""
    settle(table, state, bets, won)
