"""A spot with several players as a machine: hands come from ranges, and each hand on each board has its own row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN, free_memory
from kibitz.play.agents import blueprint_agent
from kibitz.play.compiled import Compiled
from kibitz.poker.multiway.question import Dealt, Multiway
from kibitz.poker.preflop.nodes import FirstNodes, acting_nodes
from kibitz.poker.rules.machine import PokerMachine
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.table_strategy import looked_up
from kibitz.solvers.tables import HashedRows, packed, row_bytes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HANDS = 1326
SPREAD = 3.0  # places of a hash table for each row: it grows by steps
MOST_SHARE = 65_535  # of a row that is kept


class RangedMachine(PokerMachine):
    """Poker from a board and ranges on."""

    default = "null"

    def __init__(self, question: Multiway) -> None:
        from kibitz.poker.multiway.kernels.machine import RangedGame, duel, train

        rules = Poker(question.definition)
        rules.__dict__["betting"] = question.betting
        super().__init__(rules, question.betting)
        poker: Any = self.game
        self.game: Any = RangedGame(**poker._asdict(), **_deck_of(question), rake=np.float64(question.rake),
                                    most_rake=np.float64(question.rake_cap / question.unit))  # fmt: skip
        self.train, self.duel = train, duel

    def game_at(self, dealt: Dealt) -> Any:
        """The game with other hands and a longer board, for deals that go on from a later node."""
        return self.game._replace(**_deck_of(dealt))


def _deck_of(dealt: Dealt) -> dict[str, Any]:
    """The board and the hands of all seats, as kernels take them."""
    hands = [dealt.hands(seat) for seat in range(len(dealt.live))]
    sums = [np.cumsum(weights[own]) for weights, own in zip(dealt.live, hands, strict=True)]
    cards = hand_cards()[np.concatenate(hands)].astype(np.uint8)
    return {"shown": np.array(dealt.board, np.uint8),
            "first": np.concatenate(([0], np.cumsum([len(own) for own in hands]))).astype(np.uint64),
            "below": np.concatenate([each / each[-1] for each in sums]),
            "low": cards[:, 0].copy(), "high": cards[:, 1].copy()}  # fmt: skip


@dataclass(frozen=True)
class MultiwaySize:
    """The size of a spot with several players."""

    nodes: int  # of the betting tree
    rows: int  # decisions of hands on boards
    bytes: int


def size_of(question: Multiway, most_bytes: int | None = None) -> MultiwaySize:
    """How many rows there are at most. Refuses a spot that does not fit into memory, with what makes it smaller."""
    tree = question.betting
    left, boards, rows = question.deck[0] * question.deck[1] - len(question.board), 1, 0
    hands = [len(question.hands(seat)) for seat in range(question.players)]
    for level in range(3 - question.street):
        for seat, own in enumerate(hands):
            rows += int(((tree.round == level) & (tree.turn == seat)).sum()) * own * boards
        boards *= left - level
    needed = int(SPREAD * rows * row_bytes(max(map(len, tree.actions)))) + 200 * len(tree)
    free = max(0, free_memory() - MARGIN) if most_bytes is None else most_bytes
    if needed > free:
        street = ("flop", "turn", "river")[question.street]
        later = ", or begin on a later street" if question.street < 2 else ""
        raise GameError(f"on the {street} there are {rows:,} decisions of hands on boards, which take about "
                        f"{needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free: give fewer sizes (bets, raises), "
                        f"a lower max_raises, a larger force_allin, smaller ranges{later}")  # fmt: skip
    return MultiwaySize(len(tree), rows, needed)


def strategy_of(agent: Any, nodes: FirstNodes, dealt: Dealt) -> list[Floats]:
    """What an agent plays on a street: of each node [actions, 1326], even for hands outside of the range."""
    from kibitz.poker.rules.kernels.machine import keys

    machine, rows = agent.machine, agent.table
    strategy: list[Floats] = [np.empty((0, HANDS))] * len(nodes)
    board = np.array(dealt.board, np.uint8)
    for node in nodes.decisions:
        seat, width = int(nodes.turn[node]), len(nodes.names[node])
        own = dealt.hands(seat)
        states = machine.states(np.repeat(board[None], len(own), axis=0), hand_cards()[own].astype(np.uint8), seat)
        states[:, 0] = nodes.number[node]
        of_row = np.zeros(len(own), np.uint64)
        keys(machine.game, rows.view.keys, states, of_row)
        strategy[node] = np.full((width, HANDS), 1.0 / width)
        strategy[node][:, own] = looked_up(rows.table, of_row, width, machine.actions)[:, :width].T
    return strategy


class SpotDeals:
    """Fresh deals, played out by an agent from the ends of a street; classes are hands by number."""

    def __init__(self, agent: Any, nodes: FirstNodes, seed: int, dealt: Dealt) -> None:
        from kibitz.poker.preflop.kernels.rolls import scratch

        self.game, self.nodes, self.seed, self.player = agent.machine.game_at(dealt), nodes, seed, agent.player
        self.ends = acting_nodes(nodes).astype(np.uint64)
        self.scratch = scratch(agent.machine.actions)

    def block(self, first: int, count: int) -> tuple[Floats, Ints]:
        """([count, ends, players] what seats win, [count, players] their hands)."""
        from kibitz.poker.preflop.kernels.rolls import roll_out

        players = self.nodes.question.players
        won, hands = np.empty((count, len(self.ends), players)), np.empty((count, players), np.int64)
        roll_out(self.game, self.player, self.ends, np.arange(HANDS), (np.int64(self.seed), np.int64(first)),
                 won, hands, np.empty(count, np.int64), self.scratch)  # fmt: skip
        return won, hands


# Rows that are kept: 16 bits for each action


def packed_rows(key: NDArray[np.uint64], value: NDArray[np.float32]) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """(keys, [rows, actions] probabilities times 65,535) of rows in the order of their keys: of averages, or of regrets
    where nothing was averaged. Rows without either are left out: they play all actions alike. Threads may have made a
    row twice; the first is played."""
    half = value.shape[1] // 2
    regret, average = np.maximum(value[:, :half], 0.0), value[:, half:]
    weights = np.where(average.sum(axis=1, keepdims=True) > 0.0, average, regret).astype(np.float64)
    total = weights.sum(axis=1)
    kept = (total > 0.0) & np.append(True, key[1:] != key[:-1])[: len(key)]
    return key[kept], np.rint(MOST_SHARE * weights[kept] / total[kept, None]).astype(np.uint16)


def packed_blueprint(machine: RangedMachine, key: NDArray[np.uint64], share: NDArray[np.uint16]) -> Blueprint:
    """A blueprint that plays from packed rows."""
    value = np.zeros((len(key), 2 * machine.actions), np.float32)
    value[:, machine.actions :] = share
    return Blueprint(machine, machine.view("null"), HashedRows(packed(key, value)))


def packed_agent(machine: RangedMachine, key: NDArray[np.uint64], share: NDArray[np.uint16]) -> Compiled:
    """An agent that does."""
    return blueprint_agent(packed_blueprint(machine, key, share), machine, "the answer")
