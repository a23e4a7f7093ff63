"""Betting tree and cards -> the arrays that the poker kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.exact.deal import Deal, DealRound
from kibitz.poker.rules.betting import BettingTree

if TYPE_CHECKING:
    from kibitz.poker.exact.kernels.passes import PokerTable

Ints = NDArray[np.int64]
# Lanes of a group at most: enough for long vectors, few enough that a block's working space stays in the cache.
MOST_LANES = 64
Buckets = tuple[list[Ints], list[Ints]]  # for each seat and round: class -> bucket


@dataclass(frozen=True)
class Segments:
    """The betting tree cut into segments: the betting of one round after one way of coming to it."""

    round_segment: Ints  # [R + 1]  first segment of a round
    node: list[Ints]  # by segment: its nodes of the betting tree in preorder, exits and ends among them
    exit: dict[int, int]  # node of the betting tree -> the segment that begins after it

    @property
    def levels(self) -> Ints:
        """The round of each segment."""
        return np.repeat(np.arange(len(self.round_segment) - 1), np.diff(self.round_segment))


def segments_of(betting: BettingTree, rounds: int) -> Segments:
    """Cut where cards of the board come."""
    children: list[list[int]] = [[] for _ in range(len(betting.parent))]
    for node, parent in enumerate(betting.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
    root = 0
    while betting.turn[root] == CHANCE and betting.round[root] == 0:  # cards of the board before the first round
        root = children[root][0]
    level, first, subtrees = [root], [0], []
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
            subtrees.append(np.array(nodes, np.int64))
        first.append(len(subtrees))
        for node in exits:
            if betting.round[node] == len(first) - 1:
                exits[node] += len(subtrees)
        level = upcoming
    return Segments(np.array(first, np.int64), subtrees, exits)


@dataclass(frozen=True)
class Groups:
    """Segments of a round whose betting has the same shape, as the lanes of a group."""

    round_group: Ints  # [R + 1]  first group of a round
    lanes: list[list[int]]  # by group: its segments
    group: Ints  # [segments]  the group of a segment; -1 if it is left out
    lane: Ints  # [segments]  and its place there


def groups_of(
    betting: BettingTree, segments: Segments, most: int = MOST_LANES, kind: Ints | None = None,
    wanted: NDArray[np.bool_] | None = None,
) -> Groups:  # fmt: skip
    """Segments with the same shape, in groups of about the same size of at most `most` lanes.

    In a round they are taken exit by exit of the groups before, so that lanes side by side lead to lanes side by side.
    kind: [betting nodes] what nodes side by side have in common too; wanted: [segments] the others are left out.
    """
    lanes: list[list[int]] = []
    first, upcoming = [0], [0]
    for _ in range(len(segments.round_segment) - 1):
        shapes: dict[bytes, list[int]] = {}
        for segment in upcoming:
            nodes = segments.node[segment]
            shape = _shape(betting, nodes) + (b"" if kind is None else kind[nodes].tobytes())
            shapes.setdefault(shape, []).append(segment)
        for alike in shapes.values():
            pieces = -(-len(alike) // most)
            cuts = [len(alike) * k // pieces for k in range(pieces + 1)]
            lanes.extend(alike[low:high] for low, high in pairwise(cuts))
        upcoming = [
            segments.exit[int(segments.node[segment][k])]
            for of_group in lanes[first[-1] :]
            for k in np.flatnonzero(betting.turn[segments.node[of_group[0]]] == CHANCE).tolist()
            for segment in of_group
        ]
        if wanted is not None:
            upcoming = [segment for segment in upcoming if wanted[segment]]
        first.append(len(lanes))
    group, lane = (np.full(int(segments.round_segment[-1]), -1, np.int64) for _ in range(2))
    for number, of_group in enumerate(lanes):
        group[of_group] = number
        lane[of_group] = np.arange(len(of_group))
    return Groups(np.array(first, np.int64), lanes, group, lane)


def _shape(betting: BettingTree, nodes: Ints) -> bytes:
    """What segments of a group have in common: by node who acts or how betting ends, the node above, the action."""
    order = np.argsort(nodes)
    ended = betting.folded[nodes].any(axis=1) & (betting.turn[nodes] == TERMINAL)
    above = np.zeros(len(nodes), np.int64)
    above[1:] = order[np.searchsorted(nodes, betting.parent[nodes[1:]], sorter=order)]
    action = betting.action[nodes].astype(np.int64)
    action[0] = -1
    return np.stack((betting.turn[nodes].astype(np.int64), ended.astype(np.int64), above, action)).tobytes()


class TableSizes(NamedTuple):
    """How long arrays over a table are."""

    sequences: int  # of both seats, their empty ones with them
    second: int  # the empty sequence of seat 1: seat 0's are before it
    roots: int  # vectors over all classes (or buckets) at the roots of all segments
    wide: int  # the longest vector over classes of a board and lanes
    rows: int  # the longest vector over buckets and lanes


def table_of(
    betting: BettingTree, segments: Segments, groups: Groups, deal: Deal, buckets: Buckets | None = None
) -> tuple[PokerTable, TableSizes]:
    """The arrays that kernels read."""
    from kibitz.poker.exact.kernels.passes import PokerTable

    cards, nodes = _cards(deal, buckets), nodes_of(betting, segments, groups, deal.chance)
    level = np.repeat(np.arange(deal.definition.rounds), np.diff(groups.round_group))  # of each group
    lanes = np.diff(nodes["group_lane"])
    # Sequences of seat 0, then of seat 1, group by group; each seat's empty one comes first.
    lengths = nodes["width"] * cards["rows"][:, level] * lanes
    base = np.ones(lengths.shape, np.int64)
    base[:, 1:] += np.cumsum(lengths, axis=1)[:, :-1]
    second = 1 + int(lengths[0].sum())
    base[1] += second
    # At the root of a group there is a vector over the classes of its round, times lanes.
    wide = np.maximum(cards["rows"].max(axis=0), [r.classes for r in deal.rounds])[level] * lanes
    # Infoset columns go segment by segment.
    of_segment = (nodes["width"] * cards["rows"][:, level])[:, groups.group]
    column = np.cumsum(of_segment, axis=1) - of_segment
    column[1] += int(of_segment[0].sum())
    table = PokerTable(
        **cards, **nodes, round_group=groups.round_group, group_root=(np.cumsum(wide) - wide).astype(np.int64),
        base=base, lane_column=np.ascontiguousarray(column[:, np.concatenate(groups.lanes)]),
    )  # fmt: skip
    most = np.array([int(np.diff(r.board_class).max()) for r in deal.rounds])[level] * lanes
    rows = cards["rows"].max(axis=0)[level] * lanes
    sequences = second + 1 + int(lengths[1].sum())
    return table, TableSizes(sequences, second, int(wide.sum()), int(most.max()), int(rows.max()))


def nodes_of(betting: BettingTree, segments: Segments, groups: Groups, chance: NDArray[np.float64]) -> dict[str, Any]:
    """Nodes of all groups, numbered on; within a group they are counted from its first.

    chance: by round, what payoffs are multiplied by.
    """
    from kibitz.poker.exact.kernels.passes import EXIT, FOLD, SHOWDOWN

    shapes = [segments.node[of_group[0]] for of_group in groups.lanes]
    counts, lanes = [len(nodes) for nodes in shapes], [len(of_group) for of_group in groups.lanes]
    total, most = sum(counts), max([2, *(len(names) for names in betting.actions)])
    turn = np.empty(total, np.int8)
    parent, action, count = (np.full(total, -1, np.int32) for _ in range(3))
    children, slot = np.zeros((total, most), np.int32), np.zeros((2, total), np.int32)
    width = np.zeros((2, len(counts)), np.int64)
    of_node = np.repeat(lanes, counts)
    node_lane = np.cumsum(of_node) - of_node
    stake = np.zeros((2, int(of_node.sum())))
    at = 0
    for group, nodes in enumerate(shapes):
        local = {int(node): k for k, node in enumerate(nodes)}
        for here, node in enumerate(nodes.tolist(), at):
            if here > at:
                above = local[int(betting.parent[node])]
                parent[here] = above
                children[at + above, betting.action[node]] = here - at
                slot[:, here] = slot[:, at + above]
                slot[turn[at + above], here] = here - at
            if betting.turn[node] == CHANCE:
                turn[here] = EXIT
            elif betting.turn[node] == TERMINAL:
                turn[here] = FOLD if betting.folded[node].any() else SHOWDOWN
                for lane, segment in enumerate(groups.lanes[group]):
                    there = int(segments.node[segment][here - at])
                    stake[:, node_lane[here] + lane] = _stakes(betting, there) * chance[betting.round[there]]
            else:
                turn[here], count[here] = betting.turn[node], len(betting.actions[betting.actions_of[node]])
        # Actions of a seat are numbered node by node, so those of one node follow one another.
        for here in range(at, at + len(nodes)):
            seat = int(turn[here])
            if seat < 2:
                offered = int(count[here])
                action[at + children[here, :offered]] = width[seat, group] + np.arange(offered)
                width[seat, group] += offered
        at += len(nodes)
    return {
        "group_node": np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        "group_lane": np.concatenate(([0], np.cumsum(lanes))).astype(np.int64), "turn": turn, "parent": parent,
        "action": action, "children": children, "count": count, "stake": stake, "slot": slot, "width": width,
        "node_lane": node_lane.astype(np.int64), **_links(betting, segments, groups),
    }  # fmt: skip


def _links(betting: BettingTree, segments: Segments, groups: Groups) -> dict[str, Any]:
    """Where exits lead: lanes side by side that go to lanes side by side are one link."""
    links: list[list[int]] = []
    first = [0]
    for of_group in groups.lanes:
        for k, node in enumerate(segments.node[of_group[0]].tolist()):
            if betting.turn[node] != CHANCE:
                continue
            fresh = True
            for lane, segment in enumerate(of_group):
                there = segments.exit[int(segments.node[segment][k])]
                group, place = int(groups.group[there]), int(groups.lane[there])
                if group < 0:
                    fresh = True
                    continue
                if not fresh and links[-1][3] == group and links[-1][4] + links[-1][2] == place:
                    links[-1][2] += 1
                else:
                    links.append([k, lane, 1, group, place])
                fresh = False
        first.append(len(links))
    columns = np.array(links, np.int32).reshape(-1, 5).T
    names = ("link_node", "link_lane", "link_count", "link_group", "link_first")
    return {"group_link": np.array(first, np.int64), **{n: c.copy() for n, c in zip(names, columns, strict=True)}}


def _stakes(betting: BettingTree, node: int) -> NDArray[np.float64]:
    """What an end is worth to each seat: after a fold to have won or lost, at a showdown to win."""
    paid, folded = betting.paid[node], betting.folded[node]
    if not folded.any():
        return np.full(2, float(paid.min()))  # what one paid above the other comes back
    loser = int(folded.argmax())
    stakes = np.full(2, float(paid[loser]))
    stakes[loser] *= -1.0
    return stakes


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
    arrays: dict[str, Any] = {
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
            [[int(b.max()) + 1 for b in of_seat] for of_seat in buckets]
            if buckets
            else [[r.classes for r in rounds]] * 2,
            np.int64,
        ),
    }
    if deal.definition.hole == 1:
        hands = {"board_hand": np.zeros(1, np.int64), "hand_class": none, "hand_card": np.zeros((0, 2), np.uint8)}
        return {**arrays, **hands, "hand_high": none, "class_hand": none}
    return {
        **arrays,
        "board_hand": _joined([r.board_hand for r in rounds], hand_start),
        "hand_class": np.concatenate(
            [r.hand_class - np.repeat(r.board_class[:-1], np.diff(r.board_hand)) for r in rounds]
        ).astype(np.uint32),
        "hand_card": np.concatenate([r.hands for r in rounds]),
        "hand_high": np.concatenate([r.hand_high for r in rounds]).astype(np.uint32),
        "class_hand": np.concatenate([_first_hands(r) for r in rounds]).astype(np.uint32),
    }


def _first_hands(round_: DealRound) -> Ints:
    """[classes]  the first hand of each class, counted from the first of its board."""
    _, first = np.unique(round_.hand_class, return_index=True)
    hands: Ints = first - round_.board_hand[round_.board_of_class]
    return hands


def _ties(rounds: tuple[DealRound, ...]) -> dict[str, Any]:
    """Strengths on each board: before the last round there is one, which nobody asks for."""
    of_rounds = [ties_of(round_) for round_ in rounds]
    first = np.concatenate(([0], np.cumsum([len(tie_class) for _, tie_class in of_rounds])))
    return {
        "board_tie": _joined([board_tie for board_tie, _ in of_rounds], first).astype(np.int64),
        "tie_class": np.concatenate([tie_class for _, tie_class in of_rounds]).astype(np.uint32),
    }


def ties_of(round_: DealRound) -> tuple[Ints, Ints]:
    """(first strength of each board and behind the last, first class of each strength, on its board, and behind a
    board's last strength all its classes) of a round."""
    place = np.arange(round_.classes) - round_.board_class[round_.board_of_class]
    begins = np.flatnonzero(round_.low == place)
    if not round_.high.any():  # before the last round
        begins = round_.board_class[:-1]
    board = round_.board_of_class[begins]
    starts = np.concatenate(([0], np.cumsum(np.bincount(board, minlength=len(round_.boards)) + 1)))
    tie_class = np.empty(starts[-1], np.int64)
    tie_class[np.arange(len(begins)) + board] = place[begins]
    tie_class[starts[1:] - 1] = np.diff(round_.board_class)
    return starts, tie_class


def _joined(starts: list[Ints], first: Ints) -> Ints:
    """Where things begin, round by round -> in all rounds, numbered on."""
    return np.concatenate([start[:-1] + first[i] for i, start in enumerate(starts)] + [first[-1:]])
