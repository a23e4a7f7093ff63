"""solve_multiway: from a spot with several players to strategies of its first street, and what is known about them.

External sampling [Lanctot et al. 2009] on exact hands. With three players CFR has no guarantee: what its average
strategies come to need not be near an equilibrium. So it is measured: what each player could gain against the averages
of the others. On a river with ranges that are not too large all hands are counted; elsewhere a responder is trained
against the averages, and plays fresh deals. What it gains is a lower bound.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import name, names
from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import SolverError
from kibitz.core.loop import interruptible
from kibitz.core.resources import cores
from kibitz.play.agents import blueprint_agent
from kibitz.play.lower_bound import respond
from kibitz.poker.multiway.machine import RangedMachine, SpotDeals, size_of, strategy_of
from kibitz.poker.multiway.question import Multiway
from kibitz.poker.multiway.rivers import is_countable, river_measure
from kibitz.poker.preflop.measuring import CONFIDENCE, measured
from kibitz.poker.preflop.nodes import FirstNodes, LineNode, nodes_of, reaches
from kibitz.poker.preflop.solution import mean_values
from kibitz.solvers.blueprint import Blueprint

Floats = NDArray[np.float64]
SECONDS, DEALS = 30.0, 100_000
RESPONSE = 0.5  # of the seconds of training, for a responder
LEAST_RESPONSE = 2.0  # seconds; all that it has after Ctrl-C
BLOCK = 4096  # deals that a responder plays at a time


@dataclass(frozen=True)
class MultiwayProgress:
    """Where a run stands."""

    phase: str
    iterations: int


@dataclass(frozen=True, eq=False)
class MultiwaySolution:
    """Strategies of the first street, and what they win. Chips; players together win the pot."""

    question: Multiway
    nodes: FirstNodes
    strategy: list[Floats]  # of each node [actions, 1326]; empty at ends
    won: list[Floats]  # of each node [actions, 1326]: what the player to act wins from the root on
    errors: list[Floats]  # halves of 95% intervals of these
    met: list[Floats]  # of each node [1326]: how likely the player to act has a hand and the others come here; relative
    reach: Floats  # [P]
    values: Floats  # [players]
    value_errors: Floats
    gains: Floats  # [players]  what a player wins more by a best response, or by a trained one
    gain_errors: Floats
    exact: bool  # whether all hands were counted, and gains are those of best responses
    rows: int  # trained
    iterations: int
    deals: int  # fresh ones that values were measured on; 0: all hands were counted
    seconds: float

    def at(self, line: str = "") -> MultiwayNode:
        """The decision that a line of actions on the first street leads to: "check, bet 50"."""
        return MultiwayNode(self, self.nodes.at(line))

    @property
    def decisions(self) -> list[MultiwayNode]:
        return [MultiwayNode(self, node) for node in self.nodes.decisions]

    def data(self) -> dict[str, Any]:
        """Plain data about the whole spot."""
        question = self.question
        return {
            "board": names(question.board), "pot": question.pot, "stacks": list(question.stacks),
            "players": list(question.names), "ranges": list(question.texts), "values": self.values.tolist(),
            "value_errors": self.value_errors.tolist(), "gains": self.gains.tolist(),
            "gain_errors": self.gain_errors.tolist(), "exact": self.exact, "rows": self.rows,
            "iterations": self.iterations, "deals": self.deals, "seconds": self.seconds,
        }  # fmt: skip

    def csv_lines(self) -> Iterator[str]:
        """All decisions of the first street, a line for each hand and action."""
        page = io.StringIO()
        writer = csv.writer(page, lineterminator="\n")
        writer.writerow(("line", "player", "hand", "weight", "action", "share", "value", "error"))
        for node in self.decisions:
            for row in node.rows():
                for action, cell in row["actions"].items():
                    writer.writerow((node.line, node.player, row["hand"], f"{row['weight']:.6g}", action,
                                     *("" if cell[key] is None else f"{cell[key]:.6g}"
                                       for key in ("share", "value", "error"))))  # fmt: skip
            yield page.getvalue()
            page.seek(0)
            page.truncate()


class MultiwayNode(LineNode):
    """A decision on the first street, or an end of it."""

    def __init__(self, solution: MultiwaySolution, node: int) -> None:
        super().__init__(solution, node)
        self.solution = solution

    @property
    def strategy(self) -> Floats:
        """[actions, 1326]"""
        return self.solution.strategy[self.node]

    @property
    def values(self) -> Floats:
        """[actions, 1326]  chips that an action wins from here on: a fold wins 0."""
        paid = float(self.nodes.paid[self.node, self.turn]) * self.solution.question.unit
        return np.asarray(self.solution.won[self.node] + paid)

    @property
    def reach(self) -> float:
        return float(self.solution.reach[self.node])

    @property
    def frequencies(self) -> Floats:
        """[actions]"""
        return np.asarray(self.solution.reach[self.nodes.children[self.node]] / max(self.reach, 1e-300))

    @property
    def pot(self) -> float:
        return float(self.nodes.paid[self.node].sum()) * self.solution.question.unit

    def weights(self, seat: int) -> Floats:
        """[1326]  the range with which a player comes here."""
        return np.asarray(self.solution.question.live[seat] * self._reach(seat))

    def _reach(self, seat: int) -> Floats:
        return np.asarray(reaches(self.nodes, self.solution.strategy)[self.node, seat])

    @property
    def means(self) -> Floats:
        """[actions]  what each wins, over the hands that take it."""
        return mean_values(self.strategy * self.solution.met[self.node] * self._reach(self.turn), self.values)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each hand that comes to a decision, the highest cards first."""
        weights, rows = self.weights(self.turn), []
        values, errors = self.values, self.solution.errors[self.node]
        for hand in np.flatnonzero(weights > 1e-9).tolist()[::-1]:
            low, high = hand_cards()[hand].tolist()
            cells = {action: {"share": float(self.strategy[k, hand]), "value": _plain(values[k, hand]),
                              "error": _plain(errors[k, hand])} for k, action in enumerate(self.actions)}  # fmt: skip
            rows.append({"hand": name(high) + name(low), "weight": float(weights[hand]), "actions": cells})
        return rows

    def data(self) -> dict[str, Any]:
        head = {"line": self.line, "player": self.player, "reach": self.reach, "pot": self.pot}
        if self.player is None:
            return head
        frequencies = dict(zip(self.actions, map(float, self.frequencies), strict=True))
        return {**head, "frequencies": frequencies, "hands": self.rows()}


def solve_multiway(
    question: Multiway, *, iterations: int | None = None, seconds: float | None = None, deals: int = DEALS,
    seed: int = 0, threads: int | None = None, on_progress: Callable[[MultiwayProgress], None] | None = None,
) -> MultiwaySolution:  # fmt: skip
    """Train strategies for `seconds` (30 by default) or `iterations`, then measure them.

    deals: fresh ones on which values and responders are measured, where hands are not counted. Ctrl-C ends the
    training; what there is is then measured and returned.
    """
    say = on_progress or (lambda now: None)
    if deals < 1:
        raise SolverError(f"deals should be 1 or more, not {deals}")
    if iterations is None and seconds is None:
        seconds = SECONDS
    size, began = size_of(question), time.perf_counter()
    nodes, machine = nodes_of(question), RangedMachine(question)
    blueprint = Blueprint.empty(machine, "null", max(1 << 22, size.bytes), seed)
    with interruptible() as stopped:
        say(MultiwayProgress("compiling", 0))
        blueprint.warm_up()

        def on_block(now: Any) -> bool:
            say(MultiwayProgress("training", now.iteration))
            return stopped.is_set()

        blueprint.train(iterations, seconds, threads or cores(), on_block)
        if not blueprint.iteration:
            raise SolverError("the training was stopped before its first iteration")
        agent = blueprint_agent(blueprint, machine, "the answer")
        strategy = strategy_of(agent, nodes, question)
        say(MultiwayProgress("measuring", blueprint.iteration))
        unit, share = question.unit, question.pot / question.players
        players, exact = question.players, is_countable(question, nodes)
        if exact:
            counted = river_measure(question, nodes, strategy)
            met = counted.met
            won, reach, values, gains = counted.actions, counted.reach, counted.values, counted.gains
            errors = [np.zeros_like(each) for each in won]
            value_errors, gain_errors, fresh = np.zeros(players), np.zeros(players), 0
        else:
            sample = measured(SpotDeals(agent, nodes, seed + 1_000_003), strategy, deals, lambda done: False)
            won, reach, values, errors = sample.actions, sample.reach, sample.values, sample.errors
            value_errors, met, fresh = sample.value_errors, sample.met, sample.deals
            say(MultiwayProgress("responding", blueprint.iteration))
            hurry = {"seconds": LEAST_RESPONSE} if stopped.is_set() else _response_limits(seconds, iterations)
            answer = respond(agent, "null", **hurry, seed=seed + 7, memory=max(1 << 24, size.bytes))
            gains, gain_errors = played_gains(machine, agent, answer, deals, seed + 2_000_003)
    return MultiwaySolution(
        question, nodes, strategy, [each * unit for each in won], [each * unit for each in errors], met,
        reach, values * unit + share, value_errors * unit, gains * unit, gain_errors * unit, exact,
        blueprint.store.used, blueprint.iteration, fresh, time.perf_counter() - began,
    )  # fmt: skip


def _response_limits(seconds: float | None, iterations: int | None) -> dict[str, Any]:
    if seconds is not None:
        return {"seconds": max(LEAST_RESPONSE, RESPONSE * seconds)}
    return {"iterations": iterations}


def played_gains(
    machine: RangedMachine, target: Any, answer: Blueprint, deals: int, seed: int
) -> tuple[Floats, Floats]:
    """([players] what each wins more as the responder than as the target, against the target, in the same deals;
    halves of 95% intervals)."""
    from kibitz.poker.multiway.kernels.machine import compare
    from kibitz.poker.preflop.kernels.rolls import scratch

    greedy = answer.played(greedy=True).player(greedy=True)
    total, squares, done = np.zeros(machine.players), np.zeros(machine.players), 0
    space = scratch(machine.actions)
    while done < deals:
        count = min(BLOCK, deals - done)
        values, gains = np.empty((count, machine.players)), np.empty((count, machine.players))
        compare(machine.game, target.player, greedy, (np.int64(seed), np.int64(done)), values, gains, space)
        total += gains.sum(axis=0)
        squares += (gains**2).sum(axis=0)
        done += count
    mean = total / done
    return mean, CONFIDENCE * np.sqrt(np.maximum(squares / done - mean**2, 0.0) / done)


def _plain(number: float) -> float | None:
    return None if number != number else float(number)
