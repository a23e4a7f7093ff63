"""Boards up to the names of suits, round after round, and where a hand on any board is found among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import kernel, part

MOST_NEW = 7  # cards of one round, at six bits each


class NewBoards(NamedTuple):
    """The boards of a round, as `BoardRound` has them, or as many as fit."""

    cards: np.ndarray  # uint8[B, k]
    above: np.ndarray  # int64[B]  the board that each continues
    group: np.ndarray  # int64[B]  bits of the renamings that leave it alone
    copies: np.ndarray  # int64[B]  boards that it stands for, of those that continue the same


class BoardKeys(NamedTuple):
    """Where boards are found, by round."""

    starts: np.ndarray  # int64[rounds + 1]  cards of the board before each round
    keys: tuple[np.ndarray, ...]  # the new cards of each board as one number
    below: tuple[np.ndarray, ...]  # as of `BoardRound`


@part
def packed(cards, count, scratch):
    """A set of cards as one number that compares as the sorted cards do."""
    for i in range(count):
        card = cards[i]
        j = i
        while j > 0 and scratch[j - 1] > card:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = card
    key = 0
    for i in range(count):
        key = key * 64 + scratch[i]
    return key


@part
def list_free(board, deck, free):
    """List the cards of a deck that are not on a board, in order; returns how many."""
    left = 0
    for d in range(deck.shape[0]):
        out = True
        for k in range(board.shape[0]):
            if board[k] == deck[d]:
                out = False
        if out:
            free[left] = deck[d]
            left += 1
    return left


@part
def advance(at, size, left):
    """The next set of `size` places among `left`, in lexicographic order; False after the last."""
    k = size - 1
    while k >= 0 and at[k] == left - size + k:
        k -= 1
    if k < 0:
        return False
    at[k] += 1
    for j in range(k + 1, size):
        at[j] = at[j - 1] + 1
    return True


@part
def last_at_most(values, x, low, high):
    """The last place from low to high - 1 whose value is at most x, in ascending order; low if there is none."""
    while low + 1 < high:
        middle = (low + high) // 2
        if values[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@kernel
def continue_boards(boards, group, rename, deck, scratch, out):
    """The boards that continue boards, one of each kind. Returns how many; writes as many as fit into `out`.

    boards [B, k], group [B] bits of the renamings that leave a board alone, rename [renamings, 52], deck sorted.
    Of all sets of new cards that those renamings turn into one another the first is kept, with the number of them and
    the renamings that leave it alone too. scratch [4, at least new and the deck].
    """
    live, pick, image, sorting = scratch[0], scratch[1], scratch[2], scratch[3]
    count = 0
    length = boards.shape[1]
    most, new = out.cards.shape[0], out.cards.shape[1] - length
    for b in range(boards.shape[0]):
        left = list_free(boards[b], deck, live)
        members = 0
        for p in range(rename.shape[0]):
            members += (group[b] >> p) & 1
        for i in range(new):
            pick[i] = i
        more = new <= left
        while more:
            for i in range(new):
                image[i] = live[pick[i]]
            key = packed(image, new, sorting)
            keeps, kept, first = 0, 0, True
            for p in range(rename.shape[0]):
                if (group[b] >> p) & 1:
                    for i in range(new):
                        image[i] = rename[p, live[pick[i]]]
                    other = packed(image, new, sorting)
                    if other < key:
                        first = False
                        break
                    if other == key:
                        keeps |= 1 << p
                        kept += 1
            if first:
                if count < most:
                    for k in range(length):
                        out.cards[count, k] = boards[b, k]
                    for i in range(new):
                        out.cards[count, length + i] = live[pick[i]]
                    out.above[count] = b
                    out.group[count] = keeps
                    out.copies[count] = members // kept
                count += 1
            more = advance(pick, new, left)
    return count


@part
def place_of(low, high, live):
    """The number of a pair among all pairs i < j of so many cards, in order."""
    return low * (2 * live - low - 1) // 2 + high - low - 1


@kernel
def find(cards, rounds, tables, board, hand):
    """The numbers of boards and of hands on them, by whatever names of suits. cards [n, private cards, board so far].

    Round by round, of the renamings that lead to the board so far those are left that make the new cards least. There
    are one or two private cards.
    """
    starts, keys, below = rounds
    rename, place, hole = tables.rename, tables.place, tables.hole
    image, sorting, mine = tables.scratch[0], tables.scratch[1], tables.scratch[2]
    for n in range(cards.shape[0]):
        left, at = (1 << rename.shape[0]) - 1, 0
        for r in range(len(keys)):
            new = starts[r + 1] - starts[r]
            if new == 0:
                continue
            least, keeps = -1, 0
            for p in range(rename.shape[0]):
                if (left >> p) & 1:
                    for i in range(new):
                        image[i] = rename[p, cards[n, hole + starts[r] + i]]
                    key = packed(image, new, sorting)
                    if least < 0 or key < least:
                        least, keeps = key, 1 << p
                    elif key == least:
                        keeps |= 1 << p
            left = keeps
            at = last_at_most(keys[r], least, below[r][at], below[r][at + 1])
        p = 0
        while not (left >> p) & 1:
            p += 1
        for i in range(hole):
            rank = place[rename[p, cards[n, i]]]
            for k in range(hole, cards.shape[1]):
                rank -= place[rename[p, cards[n, k]]] < place[rename[p, cards[n, i]]]
            mine[i] = rank
        board[n] = at
        if hole == 1:
            hand[n] = mine[0]
        else:
            hand[n] = place_of(min(mine[0], mine[1]), max(mine[0], mine[1]),
                               len(tables.deck) - (cards.shape[1] - hole))  # fmt: skip
