"""A poker form as the kernels for a GPU read it (`cuda.py`): numbers within a round, and lists instead of searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.exact.cuda import ENDS, THREADS
from kibitz.poker.exact.deal import DealRound
from kibitz.poker.exact.table import ties_of

if TYPE_CHECKING:
    from kibitz.poker.exact.operator import PokerOperator

Ints = NDArray[np.int64]
Array = NDArray[Any]


@dataclass(frozen=True)
class RoundArrays:
    """A round. B boards, C classes, G groups; numbers count from the round's first, nodes from their group's."""

    classes: int
    boards: int
    hands: int  # on a board, of two cards; else 0
    live: int  # cards that are not on a board
    merged: bool  # whether a class may have several hands
    blocks: int  # of threads for all classes and lanes
    exit_blocks: int  # the same for all exits
    lines: int  # numbers for the values of all nodes
    arrays: dict[str, Array]  # by name, as kernels take them
    by_seat: tuple[dict[str, Array], dict[str, Array]]  # what differs by the seat whose values or plans are asked for
    reals: dict[str, Array]  # float64, which kernels have in their own precision

    @property
    def groups(self) -> int:
        return len(self.arrays["shapes"])

    @property
    def exits(self) -> int:
        return len(self.arrays["exits"])


def round_arrays(form: PokerOperator, level: int) -> RoundArrays:
    """The tables of a round."""
    from kibitz.poker.exact.kernels.passes import EXIT, FOLD, SHOWDOWN

    table, cards = form.table, form.cards.rounds[level]
    groups = range(*table.round_group[level : level + 2].tolist())
    lanes = np.diff(table.group_lane)
    most = table.children.shape[1]
    classes, two = cards.classes, len(table.hand_card) > 0
    node_counts = np.diff(table.group_node)
    sizes = classes * lanes[groups.start : groups.stop] * node_counts[groups.start : groups.stop]
    places = np.zeros((len(groups), 4), np.int64)
    shapes = np.zeros((len(groups), 4), np.int32)
    places[:, 3] = np.cumsum(sizes) - sizes
    node_at: list[int] = [0]
    nodes: list[list[int]] = []
    exits: list[list[int]] = []
    exit_to: list[list[int]] = []
    decision_at: tuple[list[int], list[int]] = ([0], [0])
    decisions: tuple[list[list[int]], list[list[int]]] = ([], [])
    units: tuple[list[list[int]], list[list[int]]] = ([], [])
    ends: tuple[list[list[int]], list[list[int]]] = ([], [])
    for g, group in enumerate(groups):
        first, behind = table.group_node[group : group + 2].tolist()
        places[g, :3] = table.group_root[group], table.base[0, group], table.base[1, group]
        shapes[g, :3] = lanes[group], table.width[0, group], table.width[1, group]
        turn, count = table.turn[first:behind].tolist(), table.count[first:behind].tolist()
        action, slot = table.action[first:behind].tolist(), table.slot[:, first:behind].tolist()
        children = table.children[first:behind].tolist()
        for k in range(behind - first):
            if turn[k] < FOLD:
                begin, seat = action[children[k][0]], turn[k]
                above = slot[seat][k]
                decisions[seat].append([begin, count[k], action[above] if above else -1])
        for k in range(behind - first - 1, -1, -1):
            if turn[k] < FOLD:
                offered = children[k][: count[k]]
                nodes.append([k, turn[k], count[k], action[children[k][0]], *offered, *[0] * (most - count[k])])
            elif turn[k] == EXIT:
                exits.append([g, k, len(exit_to)])
                exit_to += _leads(form, group, k, int(lanes[group]))
        node_at.append(len(nodes))
        for seat in (0, 1):
            decision_at[seat].append(len(decisions[seat]))
            met: dict[int, list[int]] = {}  # what the other has done last -> ends
            for k in range(behind - first):
                if turn[k] in (FOLD, SHOWDOWN):
                    met.setdefault(slot[1 - seat][k], []).append(k)
            for above, all_ended in met.items():
                for low in range(0, len(all_ended), ENDS):
                    ended, begin = all_ended[low : low + ENDS], len(ends[seat])
                    ends[seat].extend([k, int(turn[k] == SHOWDOWN), int(table.node_lane[first + k])] for k in ended)
                    led = action[above] if above else -1
                    units[seat].extend([g, lane, led, begin, len(ended)] for lane in range(int(lanes[group])))
    board_tie, tie_class = ties_of(cards)
    of_exits = _table(exits, 3)
    block_at, exit_block_at = (_blocks(classes * shapes[of, 0].astype(np.int64)) for of in (..., of_exits[:, 0]))
    arrays: dict[str, Array] = {
        "class_board": cards.board_of_class.astype(np.int32), "board_first": cards.board_class.astype(np.int32),
        "places": places, "shapes": shapes, "up": cards.up.astype(np.int32),
        "node_at": np.array(node_at, np.int32), "nodes": _table(nodes, 4 + most),
        "exits": of_exits,
        "block_at": block_at, "exit_block_at": exit_block_at, "exit_to": np.array(exit_to, np.int64).reshape(-1, 3),
        "board_tie": board_tie.astype(np.int32), "tie_class": tie_class.astype(np.int32), **_from(form, groups),
    }  # fmt: skip
    if two:
        arrays |= hands_by_card(cards)
    reals = {"size": cards.size}
    if level + 1 < len(form.cards.rounds):
        below = form.cards.rounds[level + 1]
        order = np.argsort(below.up, kind="stable")
        arrays["down"] = order.astype(np.int32)
        arrays["down_at"] = np.searchsorted(below.up[order], np.arange(classes + 1)).astype(np.int32)
        reals["carry"] = (below.share / cards.share[below.up])[order]
    by_seat = [
        {"decision_at": np.array(decision_at[seat], np.int32), "decisions": _table(decisions[seat], 3),
         "units": _table(units[seat], 5), "ends": _table(ends[seat], 3)}
        for seat in (0, 1)
    ]  # fmt: skip
    deck = form.definition.ranks * form.definition.suits
    return RoundArrays(
        classes, len(cards.boards), int(cards.board_hand[1]) if two else 0, deck - cards.boards.shape[1],
        len(cards.hands) > classes,
        int(block_at[-1]), int(exit_block_at[-1]), int(sizes.sum()), arrays, (by_seat[0], by_seat[1]), reals,
    )  # fmt: skip


def _blocks(sizes: Ints) -> Array:
    """Where the blocks of threads begin that go over so many numbers each."""
    return np.concatenate(([0], np.cumsum(-(-sizes // THREADS)))).astype(np.int32)


def _table(rows: list[list[int]], width: int) -> Array:
    return np.array(rows, np.int32).reshape(-1, width)


def _leads(form: PokerOperator, group: int, node: int, lanes: int) -> list[list[int]]:
    """Where an exit leads, lane by lane: the roots of a group, its lanes, the lane there."""
    table, there = form.table, np.zeros((lanes, 3), np.int64)
    for link in range(*table.group_link[group : group + 2].tolist()):
        if table.link_node[link] == node:
            first, count, to = int(table.link_lane[link]), int(table.link_count[link]), int(table.link_group[link])
            there[first : first + count, 0] = table.group_root[to]
            there[first : first + count, 1] = table.group_lane[to + 1] - table.group_lane[to]
            there[first : first + count, 2] = int(table.link_first[link]) + np.arange(count)
    listed: list[list[int]] = there.tolist()
    return listed


def _from(form: PokerOperator, groups: range) -> dict[str, Array]:
    """By lane of a round: the group and the lane before, and by seat the action that it came by there, -1 for none."""
    table = form.table
    first = int(table.group_lane[groups.start])
    come = np.full((int(table.group_lane[groups.stop]) - first, 4), -1, np.int32)
    level = int(np.searchsorted(table.round_group, groups.start, side="right")) - 1
    if level:
        before = range(*table.round_group[level - 1 : level + 1].tolist())
        for number, group in enumerate(before):
            node = int(table.group_node[group])
            for link in range(*table.group_link[group : group + 2].tolist()):
                there = int(table.group_lane[table.link_group[link]]) + int(table.link_first[link]) - first
                rows = slice(there, there + int(table.link_count[link]))
                come[rows, 0] = number
                come[rows, 1] = int(table.link_lane[link]) + np.arange(int(table.link_count[link]))
                for seat in (0, 1):
                    above = int(table.slot[seat, node + table.link_node[link]])
                    come[rows, 2 + seat] = int(table.action[node + above]) if above else -1
    lane_at = table.group_lane[groups.start : groups.stop] - first
    return {"lane_at": lane_at.astype(np.int32), "lane_from": come}


def hands_by_card(cards: DealRound) -> dict[str, Array]:
    """Hands of two cards as `ends_two` reads them: hand_class uint16[H], card_hands uint16[B, cards that are not on the
    board, as many less 1] and ranked uint32[C, 4], as `kernels.packed.rank_hands` makes them."""
    from kibitz.poker.exact.kernels.packed import rank_hands

    boards, hands = len(cards.boards), int(cards.board_hand[1])
    live = len(np.unique(cards.hands[:hands]))
    class_of = np.empty(len(cards.hands), np.uint16)
    card_hands = np.empty((boards, live, live - 1), np.uint16)
    ranked = np.zeros((cards.classes, 4), np.uint32)
    rank_hands(cards.hands, cards.hand_class, cards.board_class, cards.hand_low, cards.hand_high, hands, class_of,
               card_hands, ranked, *np.zeros((2, 52), np.int64), np.zeros((hands, 2), np.int64))  # fmt: skip
    return {"hand_class": class_of, "card_hands": card_hands, "ranked": ranked}
