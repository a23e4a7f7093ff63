"""Betting after the flop in buckets, or more than two players: trained and measured by sampling.

For two players boards are sampled, and an iteration goes over all hands on one (public chance sampling,
`kibitz.poker.sampled`). For more, deals are: MCCFR (`kibitz.solvers.blueprint`). What is known of the result comes from
fresh deals.
Each is played out once from every end of the betting before the flop, and the decisions before the flop are then
followed with their exact probabilities: this gives the value of every action of every class of hands, with an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import hand_cards
from kibitz.cards.recipes import class_of
from kibitz.core.errors import GameError
from kibitz.core.loop import in_blocks
from kibitz.core.resources import MARGIN, free_memory
from kibitz.forms.profile import Profile
from kibitz.play.agents import blueprint_agent, profile_agent
from kibitz.play.compiled import Compiled
from kibitz.poker.preflop.measuring import BLOCK
from kibitz.poker.preflop.nodes import FirstNodes, acting_nodes
from kibitz.poker.preflop.question import Preflop, rows_by_round
from kibitz.poker.rules.machine import PokerMachine
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.choice import pcs
from kibitz.poker.sampled.form import ViewForm
from kibitz.solvers import Task
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.table_strategy import looked_up
from kibitz.solvers.tables import row_bytes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CLASSES = 169
BOARDS = 16  # iterations over boards of the first block
SPREAD = 3.0  # places of a hash table for each row: it grows by steps
HELD = 400 << 20  # bytes of the tables that buckets of hold'em are looked up in
PILOT = 1 << 50  # the number of the first deal of those that only control variates are estimated on


@dataclass(frozen=True)
class PreflopSize:
    """The size of a question that is sampled."""

    nodes: int  # of the betting tree
    before: int  # decisions before the flop
    rows: int  # of the abstract game
    bytes: int


def size_of(question: Preflop) -> PreflopSize:
    """How large the abstract game is. Refuses one that does not fit into memory, with what makes it smaller."""
    counts = bucket_counts(question)
    tree = question.betting
    by_round = rows_by_round(question, counts)
    actions = max(map(len, tree.actions))
    needed = int(SPREAD * sum(by_round) * row_bytes(actions)) + 150 * len(tree) + HELD
    free = max(0, free_memory() - MARGIN)
    if needed > free:
        raise GameError(f"the abstract game has {sum(by_round):,} rows, which take about {needed / 1e6:,.0f} MB, and "
                        f"{free / 1e6:,.0f} MB are free: give fewer buckets (abstraction), fewer sizes (bets, raises), "
                        "or a lower max_raises")  # fmt: skip
    return PreflopSize(len(tree), int(((tree.turn >= 0) & (tree.round == 0)).sum()), sum(by_round), needed)


def bucket_counts(question: Preflop) -> list[int]:
    """Buckets of each round, as the name of the abstraction has them: an upper bound."""
    from kibitz.poker.buckets.buckets import budgets, parse

    if question.postflop == "none":
        return [CLASSES, 0, 0, 0]
    spec = parse(question.abstraction)
    if spec.name != "percentile":
        raise GameError(f"abstraction: write percentile buckets, such as percentile([169, 50, 50, 50], recall=false), "
                        f"not {question.abstraction:.60}")  # fmt: skip
    each = budgets("percentile", spec.args.get("buckets"), 4, repeat=True)
    if each[0] < CLASSES:
        raise GameError(f"abstraction: there are {CLASSES} classes of hands before the flop, which stay apart: "
                        f"percentile([{CLASSES}, {', '.join(map(str, each[1:]))}], ...)")  # fmt: skip
    if spec.args.get("recall", True) not in (False,) and not spec.args.get("forget"):
        each = [int(np.prod(each[: k + 1])) for k in range(4)]
    return [CLASSES, *each[1:]]


def machine_for(question: Preflop) -> PokerMachine:
    """The compiled rules, with the betting tree of the question."""
    return PokerMachine(rules_for(question), question.betting)


def rules_for(question: Preflop) -> Poker:
    """The rules. Their betting is the question's, which has fewer sizes than the definition allows."""
    rules = Poker(question.definition)
    rules.__dict__["betting"] = question.betting  # where a cached property keeps it
    return rules


def view_of(question: Preflop) -> str:
    """The abstraction of walks. Without betting after the flop hands are seen as they are, up to suit isomorphism."""
    return "isomorphic" if question.postflop == "none" else question.abstraction


class Trained(NamedTuple):
    """A strategy of the abstract game."""

    agent: Compiled
    iterations: int
    rows: int


@dataclass(frozen=True)
class TrainingLimits:
    """How long and on what a strategy is trained."""

    iterations: int | None
    seconds: float | None
    seed: int
    threads: int
    device: str
    on_block: Callable[[int], bool]  # called with the number of iterations; True ends the training


def train(question: Preflop, machine: PokerMachine, effort: TrainingLimits) -> Trained | None:
    """Train a strategy; None if it was ended before the first iteration."""
    by_boards = question.players == 2 and question.postflop == "buckets"
    return (_by_boards if by_boards else _by_walks)(question, machine, effort)


def _by_boards(question: Preflop, machine: PokerMachine, effort: TrainingLimits) -> Trained | None:
    from kibitz.poker.buckets.buckets import hand_buckets

    buckets = hand_buckets(question.definition, question.abstraction)
    form = ViewForm(rules_for(question), [buckets], device=effort.device)
    solver = pcs()(Task(None, form, seed=effort.seed, threads=effort.threads), "pcs")
    if effort.on_block(0):
        return None
    if effort.device == "cpu":  # compile outside of the clock
        solver.step(1)
    blocks = in_blocks(solver, solver.step, effort.iterations, effort.seconds, lambda: 1 << 62, first=BOARDS)
    for _ in blocks:
        if effort.on_block(solver.iteration):
            break
    profile = Profile(form.infosets, solver.probabilities(), {"game": form.spec})
    return Trained(profile_agent(profile, machine, "the answer"), solver.iteration, form.points)


def _by_walks(question: Preflop, machine: PokerMachine, effort: TrainingLimits) -> Trained | None:
    size = size_of(question)
    blueprint = Blueprint.empty(machine, view_of(question), max(1 << 20, size.bytes - HELD), effort.seed)
    if effort.on_block(0):
        return None
    blueprint.warm_up(effort.device)
    blueprint.train(effort.iterations, effort.seconds, effort.threads, lambda now: effort.on_block(now.iteration),
                    effort.device)  # fmt: skip
    agent = blueprint_agent(blueprint, machine, "the answer")
    return Trained(agent, blueprint.iteration, blueprint.store.used)


def strategy_of(agent: Compiled, nodes: FirstNodes) -> list[Floats]:
    """What an agent plays before the flop: of each node [actions, 169], empty at ends."""
    from kibitz.poker.rules.kernels.machine import keys

    machine: Any = agent.machine
    rows = agent.table
    assert rows is not None
    hands = hand_cards()[np.unique(class_of(), return_index=True)[1]].astype(np.uint8)
    strategy: list[Floats] = [np.empty((0, CLASSES))] * len(nodes)
    for node in nodes.decisions:
        width = len(nodes.names[node])
        states = machine.states(np.zeros((CLASSES, 0), np.uint8), hands, int(nodes.turn[node]))
        states[:, 0] = nodes.number[node]
        of_row = np.zeros(CLASSES, np.uint64)
        keys(machine.game, rows.view.keys, states, of_row)
        strategy[node] = looked_up(rows.table, of_row, width, machine.actions)[:, :width].T.copy()
    return strategy


class PreflopDeals:
    """Fresh deals, played out by an agent from the ends of the betting before the flop."""

    def __init__(self, agent: Compiled, nodes: FirstNodes, seed: int) -> None:
        from kibitz.poker.preflop.kernels.rolls import scratch

        self.machine, self.nodes, self.seed, self.player = agent.machine, nodes, seed, agent.player
        self.ends = acting_nodes(nodes).astype(np.uint64)
        self.class_of = class_of().astype(np.int64)
        self.scratch = scratch(agent.machine.actions)
        self.slope: Floats | None = None  # [ends, players]  chips that the luck of the board brings
        if nodes.question.players == 2:
            self._expected = _mean_showdowns()
            won, _, luck = self._played(PILOT, BLOCK)
            spread = float((luck**2).sum())
            slope = np.einsum("d,dks->ks", luck, won) / spread if spread > 0 else np.zeros(won.shape[1:])
            self.slope = np.where([nodes.is_fold(end) for end in nodes.ends], 0.0, slope.T).T

    def block(self, first: int, count: int) -> tuple[Floats, Ints]:
        """([count, ends, players] what seats win, [count, players] their classes).

        With two players the luck of the board is taken out as a control variate: whose hand wins at the showdown, less
        what that is on average for the two classes, is 0 on average whatever the players do. How much of it an end
        takes was estimated on other deals.
        """
        won, classes, luck = self._played(first, count)
        return (won if self.slope is None else won - luck[:, None, None] * self.slope), classes

    def _played(self, first: int, count: int) -> tuple[Floats, Ints, Floats]:
        from kibitz.poker.preflop.kernels.rolls import roll_out

        players = self.nodes.question.players
        won, classes = np.empty((count, len(self.ends), players)), np.empty((count, players), np.int64)
        shown = np.empty(count, np.int64)
        roll_out(self.machine.game, self.player, self.ends, self.class_of, (np.int64(self.seed), np.int64(first)), won,
                 classes, shown, self.scratch)  # fmt: skip
        luck = shown - self._expected[classes[:, 0], classes[:, 1]] if players == 2 else shown.astype(np.float64)
        return won, classes, luck


def _mean_showdowns() -> Floats:
    """[169, 169]  the chance that the first of two hands wins less that it loses, by class."""
    from kibitz.poker.preflop.exact import whole_deck

    game = whole_deck()
    return np.divide(game.net, game.chance, out=np.zeros_like(game.net), where=game.chance > 0)
