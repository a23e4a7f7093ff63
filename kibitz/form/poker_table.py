"""Betting tree and cards -> the arrays that the poker kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Sizes(NamedTuple):
    """How long arrays over a table are."""

    sequences: int  # of both seats, their empty ones with them
    second: int  # the empty sequence of seat 1: seat 0's are before it
    roots: int  # vectors over all classes (or buckets) at the roots of all segments


def table_of(
    betting: BettingTree, segments: Segments, deal: Deal, buckets: Buckets | None = None
) -> tuple[Table, Sizes]:
    """The arrays that kernels read."""
    from kibitz.kernels.poker import Table

    cards, nodes = _cards(deal, buckets), _nodes(betting, segments, deal)
    level = np.repeat(np.arange(deal.definition.rounds), np.diff(segments.round_segment))  # of each segment
    # Sequences of seat 0, then of seat 1, segment by segment; each seat's empty one comes first.
    lengths = nodes["width"] * cards["rows"][:, level]
    base = np.ones(lengths.shape, np.int64)
    base[:, 1:] += np.cumsum(lengths, axis=1)[:, :-1]
    second = 1 + int(lengths[0].sum())
    base[1] += second
    # At the root of a segment there is a vector over the classes of its round, which are numbered through all rounds.
    wide = np.maximum(cards["rows"].max(axis=0), [r.classes for r in deal.rounds])[level]
    first = cards["board_class"][cards["round_board"][level]]
    root = np.cumsum(wide) - wide - first
    table = Table(
        **cards, **nodes, round_segment=segments.round_segment, segment_root=root.astype(np.int64), base=base
    )
    return table, Sizes(second + 1 + int(lengths[1].sum()), second, int(wide.sum()))


def _nodes(betting: BettingTree, segments: Segments, deal: Deal) -> dict[str, Any]:
    """Nodes of all segments, numbered on; within a segment they are counted from its first."""
    from kibitz.kernels.poker import EXIT, FOLD, SHOWDOWN

    counts = [len(nodes) for nodes in segments.node]
    total, most = sum(counts), max([2, *(len(names) for names in betting.actions)])
    turn, exit_ = np.empty(total, np.int8), np.full(total, -1, np.int64)
    parent, action, count = (np.full(total, -1, np.int32) for _ in range(3))
    children, slot = np.zeros((total, most), np.int32), np.zeros((2, total), np.int32)
    stake, width = np.zeros((2, total)), np.zeros((2, len(counts)), np.int64)
    at = 0
    for segment, nodes in enumerate(segments.node):
        local = {int(node): k for k, node in enumerate(nodes)}
        for here, node in enumerate(nodes.tolist(), at):
            if here > at:
                above = local[int(betting.parent[node])]
                parent[here] = above
                children[at + above, betting.action[node]] = here - at
                slot[:, here] = slot[:, at + above]
                slot[turn[at + above], here] = here - at
            if betting.turn[node] == CHANCE:
                turn[here], exit_[here] = EXIT, segments.exit[node]
            elif betting.turn[node] == TERMINAL:
                turn[here] = FOLD if betting.folded[node].any() else SHOWDOWN
                stake[:, here] = _stakes(betting, node) * deal.chance[betting.round[node]]
            else:
                turn[here], count[here] = betting.turn[node], len(betting.actions[betting.actions_of[node]])
        # Actions of a seat are numbered node by node, so those of one node follow one another.
        for here in range(at, at + len(nodes)):
            seat = int(turn[here])
            if seat < 2:
                offered = int(count[here])
                action[at + children[here, :offered]] = width[seat, segment] + np.arange(offered)
                width[seat, segment] += offered
        at += len(nodes)
    return {
        "segment_node": np.concatenate(([0], np.cumsum(counts))).astype(np.int64), "turn": turn, "parent": parent,
        "action": action, "children": children, "count": count, "stake": stake, "exit": exit_, "slot": slot,
        "width": width,
    }  # fmt: skip


def _stakes(betting: BettingTree, node: int) -> NDArray[np.float64]:
    """What an end is worth to each seat: after a fold to have won or lost, at a showdown to win."""
    paid, folded = betting.paid[node], betting.folded[node]
    if not folded.any():
        return np.full(2, float(paid.min()))  # what one paid above the other comes back
    loser = int(folded.argmax())
    found = np.full(2, float(paid[loser]))
    found[loser] *= -1.0
    return found


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
