"""The public tree of the last tricks of Toepen: its tables, and how they are laid out for `toepen/kernels/endgame.py`.

*Lanes.* A card is a lane, 4 * (its place among the suit's unplayed cards) + suit; suits with fewer cards leave lanes
empty. A higher card of the suit is so many fours further on, so prefix sums by suit are sums of vectors of four.

*Spaces.* Space j holds the hands of j cards: all j-subsets of the unplayed cards; space 1 is the lanes themselves.

*Nodes.* A node is an opportunity to play a card while hands have two cards or more: check or bet, call or fold, then
the card (after check, path 0, and after bet and call, path 1).

*Batches.* Last tricks with the same history but for the last card played, and the same leader, are worked on side by
side (`toepen/kernels/endgame_last.py`).

*Columns.* A column is an action of a row. At a decision with n rows (hands) action a of row h is column
first + a * n + h. Actions of betting are (check, bet) and (fold, call): kernels read only the second column of those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import kernel, part

# What a pass does to the rows of its seat ...
UPDATE, EVALUATE, RESPOND = 0, 1, 2
# ... and to those of the other. FINISH is NORMALISE without the rows that solving takes for granted.
KEEP, AVERAGE, NORMALISE, FINISH = 0, 1, 2, 3

# Columns of PublicTree.node and PublicTree.batch.
ACTOR, ROLE, CARDS, ANTE, MAY, LED, AT, BET, CALL, PLAY0, PLAY1, KIDS0, KIDS1, PLAYED, HISTORY, LAST = range(16)
LEADER, POT, MAY_LEADER, MAY_OTHER, COUNT, PLACE, COLUMN, PARENT, PATH, MEMBER = range(10)
NODE_FIELDS, BATCH_FIELDS = 16, 10
TEMPORARIES = 9


class Deck(NamedTuple):
    """Hands by number of cards j = 1, 2, 3: `size[j]` hands, whose tables begin at `start[j]` (times their width)."""

    lanes: int
    size: np.ndarray  # int64[5]
    start: np.ndarray  # int64[5]  hand h of space j has number start[j] + h in `mask` and `legal`
    wide: np.ndarray  # int64[5]  and begins at wide[j] + h * j in `cards` and `drop`
    cards: np.ndarray  # int32[]  lanes of a hand
    drop: np.ndarray  # int32[]  the hand of space j - 1 that is left without the card
    mask: np.ndarray  # int64[]  lanes of a hand, as bits
    legal: np.ndarray  # uint8[, 5]  cards that may be played on a lead of suit s (4: any), as bits
    holds: np.ndarray  # int32[]  hands of space j that hold lane c, from holds_start[j] + c * holds_count[j] on
    holds_start: np.ndarray  # int64[5]
    holds_count: np.ndarray  # int64[5]
    live: np.ndarray  # bool[lanes]  lanes that are cards


class PublicTree(NamedTuple):
    """The public tree. M nodes, Q batches, C chunks (by the first card led) that share nothing."""

    node: np.ndarray  # int64[M, NODE_FIELDS]
    batch: np.ndarray  # int64[Q, BATCH_FIELDS]
    kids: np.ndarray  # int32[]  by lane: where the child's vector lies, or -1
    member: np.ndarray  # int32[]  by batch: the lanes whose play led to its last tricks
    chunk: np.ndarray  # int64[C+1, 2]  first node and first batch of a chunk


class EndgameStart(NamedTuple):
    """The start of a trick with which an endgame begins."""

    cards: int  # of each hand
    leader: int
    ante: int
    last_bettor: int  # -1: nobody
    betting: bool


class Pass(NamedTuple):
    """What passes do."""

    own: int  # to the rows of the seat: UPDATE, EVALUATE or RESPOND
    other: int  # to those of the other seat: KEEP, AVERAGE, NORMALISE or FINISH
    seats: int  # that have a pass, as bits


class Upper(NamedTuple):
    """Regrets, strategies and averages by column of nodes, and vectors between nodes."""

    regret: np.ndarray  # float64
    strategy: np.ndarray  # float64
    average: np.ndarray  # float64
    x: np.ndarray  # float64: reach by place, value by place, then a workspace for each thread
    values: int  # where values begin in x
    work: int  # where the threads' workspaces begin in x
    width: int  # of a vector in a workspace
    root_range: np.ndarray  # float64[2, size]  of the first space


class Lower(NamedTuple):
    """The same by column of batches. All arrays are of one type: float32 to solve, float64 to measure."""

    regret: np.ndarray
    strategy: np.ndarray
    average: np.ndarray
    x: np.ndarray  # a workspace for each thread
    width: int
    number: np.ndarray  # [64]  0, 1, 2, ...: constants of the right type; the last one is tiny


class PassTables(NamedTuple):
    """What passes read and write."""

    upper: Upper
    fast: Lower  # float32, where a pass solves
    exact: Lower  # float64, where it measures


@part
def new_node(row, top, betting, deck):
    """Give a node its place and columns; returns the first free columns (of nodes, of batches) and place."""
    column, lower, place = top
    k = row[CARDS]
    n, m = deck.size[k], deck.size[k - row[ROLE]]
    row[AT] = place
    row[MAY] = 1 if betting and row[LAST] != row[ACTOR] else 0
    if row[MAY]:
        row[BET], row[CALL] = column, column + 2 * n
        column += 2 * n + 2 * m
    row[PLAY0], row[PLAY1] = column, column + k * n
    return column + (1 + row[MAY]) * k * n, lower, place + max(n, m)


@part
def new_batch(row, leader, ante, last, betting, count, top, lanes):
    """Write a batch of last tricks; returns the first free columns and place."""
    column, lower, place = top
    n = count * lanes
    row[LEADER], row[POT], row[COUNT], row[PLACE], row[COLUMN] = leader, ante, count, place, lower
    row[MAY_LEADER] = 1 if betting and last != leader else 0
    row[MAY_OTHER] = 1 if betting and last != 1 - leader else 0
    return column, lower + 6 * n * row[MAY_OTHER] + 10 * n * row[MAY_LEADER], place + n


@kernel
def lay_out(start, deck, codes, tree):
    """Fill the tables of a public tree, which are large enough; returns how much of each was used, and columns and
    places.

    codes: int64[lanes], the card of a lane, for histories: six bits a play, card * 2 + (1 if bet and called).
    """
    k, leader, ante, last, betting = start
    node, batch, kids, member, chunk = tree
    lanes = deck.lanes
    nodes = batches = kid = members = chunks = begun = 0
    top = (0, 0, 0)
    row = node[0]
    row[ACTOR], row[ROLE], row[CARDS], row[ANTE], row[LED] = leader, 0, k, ante, -1
    row[PLAYED], row[HISTORY], row[LAST] = 0, 0, last
    if k > 1:
        top = new_node(row, top, betting, deck)
        nodes = 1
    else:
        batch[0, PARENT] = -1
        member[0] = -1
        top = new_batch(batch[0], leader, ante, last, betting, 1, top, lanes)
        batches = members = 1
    # Nodes from `begun` on wait for their children. Those of the root come card by card, and all that is below a card
    # comes before the next card: a chunk.
    led = -1
    while True:
        at = begun
        if begun == nodes or led < 0:
            led += 1
            at = 0
            while led < lanes and not deck.live[led]:
                led += 1
            if led >= lanes or k == 1:
                break
            chunk[chunks, 0], chunk[chunks, 1] = nodes, batches
            chunks += 1
            begun = max(begun, 1)
        else:
            begun += 1
        row = node[at]
        j = row[CARDS]
        plays = 2 * (k - j) + row[ROLE]
        for path in range(1 + row[MAY]):
            if at > 0 or chunks == 1:
                row[KIDS0 + path] = kid
                for lane in range(lanes):
                    kids[kid + lane] = -1
                kid += lanes
            first = row[KIDS0 + path]
            for side in range(2):  # first the cards that do not take the trick
                begin = members
                for lane in range(lanes):
                    if not deck.live[lane] or row[PLAYED] >> lane & 1 or (at == 0 and lane != led):
                        continue
                    takes = row[ROLE] == 1 and (lane & 3) == (row[LED] & 3) and lane > row[LED]
                    if takes != (side == 1):
                        continue
                    if row[ROLE] == 1 and j == 2:
                        kids[first + lane] = top[2] + (members - begin) * lanes
                        member[members] = lane
                        members += 1
                        continue
                    kids[first + lane] = top[2]
                    child = node[nodes]
                    child[ACTOR] = row[ACTOR] if takes else 1 - row[ACTOR]
                    child[ROLE], child[CARDS] = 1 - row[ROLE], j - row[ROLE]
                    child[LED] = lane if row[ROLE] == 0 else -1
                    child[ANTE], child[LAST] = row[ANTE] + path, row[ACTOR] if path else row[LAST]
                    child[PLAYED] = row[PLAYED] | 1 << lane
                    child[HISTORY] = row[HISTORY] + ((codes[lane] * 2 + path) << (6 * plays))
                    top = new_node(child, top, betting, deck)
                    nodes += 1
                if members > begin:
                    batch[batches, PARENT], batch[batches, PATH], batch[batches, MEMBER] = at, path, begin
                    leads = row[ACTOR] if side == 1 else 1 - row[ACTOR]
                    last_bettor = row[ACTOR] if path else row[LAST]
                    pot = row[ANTE] + path
                    top = new_batch(batch[batches], leads, pot, last_bettor, betting, members - begin, top, lanes)
                    batches += 1
    if k == 1:
        chunks = 1
    chunk[chunks, 0], chunk[chunks, 1] = nodes, batches
    return nodes, batches, kid, members, top[0], top[1], top[2], chunks


@kernel
def uniform(deck, tree, upper, lower):
    """Equal probabilities for all legal actions; winners of the last card bet."""
    for i in range(upper.shape[0]):
        upper[i] = 0.5
    for i in range(lower.shape[0]):
        lower[i] = 0.5
    for i in range(tree.node.shape[0]):
        node = tree.node[i]
        k = node[CARDS]
        n, start = deck.size[k], deck.start[k]
        suit = node[LED] & 3 if node[LED] >= 0 else 4
        for path in range(1 + node[MAY]):
            for h in range(n):
                legal = deck.legal[start + h, suit]
                number = 0
                for i in range(k):
                    number += legal >> i & 1
                for i in range(k):
                    upper[node[PLAY0 + path] + i * n + h] = (legal >> i & 1) / number
    for q in range(tree.batch.shape[0]):
        batch = tree.batch[q]
        n = batch[COUNT] * deck.lanes
        column = batch[COLUMN] + 4 * n * batch[MAY_LEADER]
        for path in range(1 + batch[MAY_LEADER]):
            if path == 1 or batch[MAY_OTHER]:
                for i in range(n):
                    lower[column + i] = 0.0
                    lower[column + n + i] = 1.0
                column += 6 * n
