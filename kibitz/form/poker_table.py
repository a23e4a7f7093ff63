"""Betting tree and cards -> the arrays that the poker kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.form.deal import Deal, Round
from kibitz.games.betting import BettingTree
from kibitz.games.protocol import CHANCE, TERMINAL

if TYPE_CHECKING:
    from kibitz.kernels.poker import Table

Ints = NDArray[np.int64]
Buckets = tuple[list[Ints], list[Ints]]  # for each seat and round: class -> bucket


@dataclass(frozen=True)
class Segments:
    """The betting tree cut into segments: the betting of one round after one way of coming to it."""

    round_segment: Ints  # [R + 1]  first segment of a round
    node: list[Ints]  # by segment: its nodes of the betting tree in preorder, exits and ends among them
    exit: dict[int, int]  # node of the betting tree -> the segment that begins after it


def segments_of(betting: BettingTree, rounds: int) -> Segments:
    """Cut where cards of the board come."""
    children: list[list[int]] = [[] for _ in range(len(betting.parent))]
    for node, parent in enumerate(betting.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
    root = 0
    while betting.turn[root] == CHANCE and betting.round[root] == 0:  # cards of the board before the first round
        root = children[root][0]
    level, first, found = [root], [0], []
    exits: dict[int, int] = {}
    for _ in range(rounds):
        upcoming: list[int] = []
        for begin in level:
            stack, nodes = [begin], []
            while stack:
                node = stack.pop()
                nodes.append(node)
                if betting.turn[node] == CHANCE:
                    upcoming.append(children[node][0])
                    exits[node] = len(upcoming) - 1
                else:
                    stack.extend(reversed(children[node]))
            found.append(np.array(nodes, np.int64))
        first.append(len(found))
        for node in exits:
            if betting.round[node] == len(first) - 1:
                exits[node] += len(found)
        level = upcoming
    return Segments(np.array(first, np.int64), found, exits)


def table_of(
    betting: BettingTree, segments: Segments, deal: Deal, buckets: Buckets | None = None
) -> tuple[Table, dict[str, int]]:
    """(the arrays, sizes: "sequences" of both seats, "roots" of vectors over all classes at segments' roots)."""
    from kibitz.kernels.poker import EXIT, FOLD, SHOWDOWN, Table

    cards = _cards(deal, buckets)
    counts = [len(nodes) for nodes in segments.node]
    total, most = sum(counts), max(2, *(len(names) for names in betting.actions)) if betting.actions else 2
    turn = np.empty(total, np.int8)
    parent, action, count = (np.full(total, -1, np.int32) for _ in range(3))
    children = np.zeros((total, most), np.int32)
    stake, exit_ = np.zeros((2, total)), np.full(total, -1, np.int64)
    slot = np.zeros((2, total), np.int32)
    base, width = (np.zeros((2, len(counts)), np.int64) for _ in range(2))
    root = np.zeros(len(counts), np.int64)
    next_sequence, next_root = [1, 0], 0
    at = 0
    rows = cards["rows"]
    per_seat: list[list[int]] = [[], []]
    for segment, nodes in enumerate(segments.node):
        level = int(np.searchsorted(segments.round_segment, segment, side="right") - 1)
        local = {int(node): k for k, node in enumerate(nodes)}
        made = [0, 0]
        for k, node in enumerate(nodes.tolist()):
            here = at + k
            above = local.get(int(betting.parent[node]), -1) if k else -1
            parent[here] = above
            if above >= 0:
                mover = int(turn[at + above])
                children[at + above, betting.action[node]] = k
                slot[:, here] = slot[:, at + above]
                slot[mover, here] = k
            if betting.turn[node] == CHANCE:
                turn[here], exit_[here] = EXIT, segments.exit[node]
            elif betting.turn[node] == TERMINAL:
                folded = betting.folded[node]
                turn[here] = FOLD if folded.any() else SHOWDOWN
                # At a showdown the larger payment comes back to whoever made it; the loser of a fold leaves his own.
                paid = betting.paid[node]
                amount = float(paid[int(folded.argmax())] if folded.any() else paid.min())
                amount *= float(deal.chance[level])
                lost = int(folded.argmax()) if folded.any() else -1
                stake[:, here] = [-amount if seat == lost else amount for seat in (0, 1)]
            else:
                turn[here] = betting.turn[node]
                count[here] = len(betting.actions[betting.actions_of[node]])
        # Actions of a seat are numbered node by node, so those of one node follow one another.
        for k in range(len(nodes)):
            seat = int(turn[at + k])
            if seat < 2:
                for a in range(int(count[at + k])):
                    action[at + children[at + k, a]] = made[seat] + a
                made[seat] += int(count[at + k])
        for seat in (0, 1):
            width[seat, segment] = made[seat]
            base[seat, segment] = next_sequence[0] if seat == 0 else 0
            per_seat[seat].append(made[seat] * int(rows[seat, level]))
        next_sequence[0] += made[0] * int(rows[0, level])
        first_class = int(cards["board_class"][cards["round_board"][level]])
        root[segment] = next_root - first_class
        next_root += max(int(rows[:, level].max()), deal.rounds[level].classes)
        at += len(nodes)
    # Seat 1's sequences come after seat 0's, its empty one first.
    base[1] = next_sequence[0] + 1 + np.concatenate(([0], np.cumsum(per_seat[1])))[:-1]
    sequences = next_sequence[0] + 1 + sum(per_seat[1])
    table = Table(
        **cards,
        round_segment=segments.round_segment,
        segment_node=np.concatenate(([0], np.cumsum(counts))).astype(np.int64), segment_root=root, base=base,
        width=width, turn=turn, parent=parent, action=action, children=children, count=count, stake=stake,
        exit=exit_, slot=slot,
    )  # fmt: skip
    return table, {"sequences": sequences, "roots": next_root, "second": next_sequence[0]}


def _cards(deal: Deal, buckets: Buckets | None) -> dict[str, Any]:
    """Boards, classes and hands of all rounds, numbered on."""
    rounds = deal.rounds
    board_start = np.concatenate(([0], np.cumsum([len(r.boards) for r in rounds]))).astype(np.int64)
    class_start = np.concatenate(([0], np.cumsum([r.classes for r in rounds]))).astype(np.int64)
    hand_start = np.concatenate(([0], np.cumsum([len(r.hands) for r in rounds]))).astype(np.int64)
    child = [
        board_start[i + 1] + np.searchsorted(rounds[i + 1].above, np.arange(len(r.boards)))
        for i, r in enumerate(rounds[:-1])
    ]
    child.append(np.full(len(rounds[-1].boards) + 1, board_start[-1]))
    up = [np.zeros(rounds[0].classes, np.int64)]
    carry = [np.ones(rounds[0].classes)]
    for i, r in enumerate(rounds[1:]):
        up.append(r.up + class_start[i])
        carry.append(r.share / rounds[i].share[r.up])
    none = np.zeros(0, np.uint32)
    found: dict[str, Any] = {
        "round_board": board_start,
        "board_class": _joined([r.board_class for r in rounds], class_start),
        "board_child": np.concatenate(child).astype(np.int64),
        "up": np.concatenate(up).astype(np.uint32),
        "carry": np.concatenate(carry),
        "size": np.concatenate([r.size for r in rounds]).astype(np.float32),
        "share": np.concatenate([r.share for r in rounds]),
        **_ties(rounds),
        "row": np.stack([np.concatenate(b) for b in buckets] if buckets else [none, none]).astype(np.uint32),
        "rows": np.array(
            [[int(b.max()) + 1 for b in of_seat] for of_seat in buckets] if buckets
            else [[r.classes for r in rounds]] * 2, np.int64,
        ),
    }
    if deal.definition.hole == 1:
        hands = {"board_hand": np.zeros(1, np.int64), "hand_class": none, "hand_card": np.zeros((0, 2), np.uint8)}
        return {**found, **hands, "hand_low": none, "hand_high": none}
    return {
        **found,
        "board_hand": _joined([r.board_hand for r in rounds], hand_start),
        "hand_class": np.concatenate(
            [r.hand_class - np.repeat(r.board_class[:-1], np.diff(r.board_hand)) for r in rounds]
        ).astype(np.uint32),
        "hand_card": np.concatenate([r.hands for r in rounds]),
        "hand_low": np.concatenate([r.hand_low for r in rounds]).astype(np.uint32),
        "hand_high": np.concatenate([r.hand_high for r in rounds]).astype(np.uint32),
    }


def _ties(rounds: tuple[Round, ...]) -> dict[str, Any]:
    """Strengths on each board: before the last round there is one, which nobody asks for."""
    tie, first, starts = [], [], [0]
    for round_ in rounds:
        for board in range(len(round_.boards)):
            low = round_.low[round_.board_class[board] : round_.board_class[board + 1]]
            strengths, of = np.unique(low, return_inverse=True)
            tie.append(of)
            first.append(np.append(strengths, len(low)))
            starts.append(starts[-1] + len(strengths) + 1)
    return {
        "tie": np.concatenate(tie).astype(np.uint32),
        "board_tie": np.array(starts, np.int64),
        "tie_class": np.concatenate(first).astype(np.uint32),
    }


def _joined(starts: list[Ints], first: Ints) -> Ints:
    """Where things begin, round by round -> in all rounds, numbered on."""
    return np.concatenate([start[:-1] + first[i] for i, start in enumerate(starts)] + [first[-1:]])
