"""MultiwaySolution: strategies of a spot with several players, and what they win at every decision.

    node = solution.at("check, check, check, 5c, bet 20")     # a line: actions and cards, with commas between them
    node.player, node.actions, node.board
    node.strategy      [actions, 1326]  what each hand does
    node.values        [actions, 1326]  what each hand wins from here on by each action, in chips; a fold wins 0
    node.weights(seat) [1326]           with what a player comes here

Hands are in the order of `kibitz.cards.ranges`. Values of a street are measured when it is first asked for.
"""

from __future__ import annotations

import csv
import io
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import name, names
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE
from kibitz.poker.multiway.machine import RangedMachine, packed_agent
from kibitz.poker.multiway.question import Multiway
from kibitz.poker.multiway.streets import Street, first_street
from kibitz.poker.preflop.nodes import LineNode, acting_node
from kibitz.poker.preflop.solution import mean_values
from kibitz.poker.spots.lines import card_number, followed
from kibitz.poker.spots.tables import hand_names

Floats = NDArray[np.float64]
MOST_STREETS = 64  # that are remembered


@dataclass(frozen=True, eq=False)
class MultiwaySolution:
    """Chips; without rake players together win the pot."""

    question: Multiway
    first: Street
    values: Floats  # [players]
    value_errors: Floats
    gains: Floats  # [players]  what a player wins more by a best response, or by a trained one
    gain_errors: Floats
    exact: bool  # whether all hands were counted, and gains are those of best responses
    rows: int  # trained
    iterations: int
    deals: int  # fresh ones that values were measured on; 0: all hands were counted
    seconds: float
    _streets: OrderedDict[str, Street] = field(default_factory=OrderedDict)

    def at(self, line: str = "") -> MultiwayNode:
        """The node after a line of actions and cards; "" is the first decision."""
        return followed(MultiwayNode(self, self.first, 0), line, MultiwayNode.after)

    @property
    def decisions(self) -> list[MultiwayNode]:
        """Of the first street."""
        return self.street_of(self.at())

    def street_of(self, node: MultiwayNode) -> list[MultiwayNode]:
        """All decisions of the street of a node."""
        return [MultiwayNode(self, node.street, each) for each in node.street.nodes.decisions]

    def street_after(self, node: MultiwayNode, card: int) -> Street:
        line = node.joined(name(card))
        if line not in self._streets:
            self._streets[line] = node.street.after(node.node, card, line)
            while len(self._streets) > MOST_STREETS:
                self._streets.popitem(last=False)
        self._streets.move_to_end(line)
        return self._streets[line]

    @property
    def knowledge(self) -> str:
        """What is known about the answer, in sentences."""
        if self.exact:
            measure = ("All hands are counted: what a player can still gain is its best response against the averages "
                       "of the others.")  # fmt: skip
        else:
            measure = (f"Measured on {self.deals:,} fresh deals, with 95% intervals. A responder was trained against "
                       "the averages of the others: a best response gains at least as much, perhaps more.")  # fmt: skip
        rake = f" Rake of {100 * self.question.rake:g}% is taken off." if self.question.rake else ""
        return (f"{measure}{rake} With three players CFR need not converge to an equilibrium, and one equilibrium need "
                "not have the values of another.")  # fmt: skip

    def data(self) -> dict[str, Any]:
        """Plain data about the whole spot."""
        question = self.question
        return {
            "board": names(question.board), "pot": question.pot, "stacks": list(question.stacks),
            "rake": question.rake, "players": list(question.names), "ranges": list(question.texts),
            "values": self.values.tolist(), "value_errors": self.value_errors.tolist(), "gains": self.gains.tolist(),
            "gain_errors": self.gain_errors.tolist(), "exact": self.exact, "rows": self.rows,
            "iterations": self.iterations, "deals": self.deals, "seconds": self.seconds,
        }  # fmt: skip

    def csv_lines(self, line: str | None = None) -> Iterator[str]:
        """A line for each hand and action: at one decision, or at all of the first street."""
        page = io.StringIO()
        writer = csv.writer(page, lineterminator="\n")
        writer.writerow(("line", "player", "hand", "weight", "action", "share", "value", "error"))
        for node in self.decisions if line is None else [self.at(line)]:
            for row in node.rows() if node.player is not None else ():
                for action, cell in row["actions"].items():
                    writer.writerow((node.line, node.player, row["hand"], f"{row['weight']:.6g}", action,
                                     *("" if cell[key] is None else f"{cell[key]:.6g}"
                                       for key in ("share", "value", "error"))))  # fmt: skip
            yield page.getvalue()
            page.seek(0)
            page.truncate()


class MultiwayNode(LineNode):
    """A decision, or the place where a street's betting is over."""

    def __init__(self, solution: MultiwaySolution, street: Street, node: int) -> None:
        super().__init__(street, node)
        self.solution, self.street = solution, street

    @property
    def line(self) -> str:
        here = str(self.nodes.lines[self.node])
        return ", ".join(part for part in (self.street.line, here) if part)

    def joined(self, word: str) -> str:
        """The line with one more word."""
        return f"{self.line}, {word}" if self.line else word

    @property
    def board(self) -> tuple[int, ...]:
        return self.street.board

    @property
    def cards(self) -> list[int]:
        """The cards that may come next, where one does and betting goes on."""
        turn, number = self.question.betting.turn, int(self.nodes.number[self.node])
        if turn[number] != CHANCE or turn[acting_node(turn, number)] < 0:
            return []
        return [card for card in self.question.definition.deck if card not in self.board]

    @property
    def is_over(self) -> bool:
        """Whether nobody decides anything any more."""
        return self.player is None and not self.cards

    def after(self, word: str) -> MultiwayNode:
        """The node after an action, or after a card where one comes."""
        if self.player is not None:
            return MultiwayNode(self.solution, self.street, self.nodes.after(self.node, word))
        if self.is_over:
            raise GameError("nobody decides anything after this")
        card = card_number(word)
        if card not in self.cards:
            raise GameError(f"{word!r:.40} cannot come on the board {names(self.board)}")
        return MultiwayNode(self.solution, self.solution.street_after(self, card), 0)

    @property
    def strategy(self) -> Floats:
        """[actions, 1326]"""
        return self.street.strategy[self.node]

    @property
    def values(self) -> Floats:
        """[actions, 1326]  chips that an action wins from here on: a fold wins 0. NaN: nobody has measured it."""
        unit = self.question.unit
        return np.asarray((self.street.measure.won[self.node] + float(self.nodes.paid[self.node, self.turn])) * unit)

    @property
    def errors(self) -> Floats:
        """[actions, 1326]  halves of 95% intervals of the values."""
        return np.asarray(self.street.measure.errors[self.node] * self.question.unit)

    @property
    def reach(self) -> float:
        """How likely play comes here."""
        return self.street.reach * float(self.street.measure.reach[self.node])

    @property
    def frequencies(self) -> Floats:
        """[actions]  where nobody ever comes, over the hands of the player to act as likely as they were at first."""
        reach = self.street.measure.reach
        if reach[self.node] > 0:
            return np.asarray(reach[self.nodes.children[self.node]] / float(reach[self.node]))
        weights = self.question.live[self.turn]
        return np.asarray(self.strategy @ weights / weights.sum())

    @property
    def knowledge(self) -> str:
        """What is known about the values of this street, in sentences."""
        measure = self.street.measure
        if measure.deals:
            return f"Values of this street are measured on {measure.deals:,} fresh deals of the ranges that come here."
        if measure.gains is None:
            return "The strategies never come here."
        gains = zip(self.question.names, measure.gains * self.question.unit, strict=True)
        each = ", ".join(f"{name} {max(gain, 0.0):.2f}" for name, gain in gains)
        return f"All hands that come here are counted. By a best response on this street a player would gain: {each}."

    @property
    def pot(self) -> float:
        return float(self.nodes.paid[self.node].sum() * self.question.unit)

    def weights(self, seat: int) -> Floats:
        """[1326]  the range with which a player comes here."""
        return np.asarray(self.street.live[seat] * self.street.reaches[self.node, seat])

    @property
    def means(self) -> Floats:
        """[actions]  what each wins, over the hands that take it."""
        met, own = self.street.measure.met[self.node], self.street.reaches[self.node, self.turn]
        return mean_values(self.strategy * met * own, self.values)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each hand that comes to a decision, the highest cards first."""
        weights, rows, texts = self.weights(self.turn), [], hand_names()
        values, errors = self.values, self.errors
        for hand in np.flatnonzero(weights > 1e-9 * max(float(weights.max()), 1e-300)).tolist()[::-1]:
            cells = {action: {"share": float(self.strategy[k, hand]), "value": _plain(values[k, hand]),
                              "error": _plain(errors[k, hand])} for k, action in enumerate(self.actions)}  # fmt: skip
            rows.append({"hand": texts[hand], "weight": float(weights[hand]), "actions": cells})
        return rows

    def data(self) -> dict[str, Any]:
        measure = self.street.measure
        head = {"line": self.line, "board": names(self.board), "player": self.player, "reach": self.reach,
                "pot": self.pot, "cards": [name(card) for card in self.cards], "deals": measure.deals,
                "knowledge": self.knowledge}  # fmt: skip
        if self.player is None:
            return head
        frequencies = dict(zip(self.actions, map(float, self.frequencies), strict=True))
        return {**head, "frequencies": frequencies, "hands": self.rows()}


def check_line(question: Multiway, line: str) -> None:
    """Refuse a line that leads nowhere, before anything is trained."""
    machine = RangedMachine(question)
    nothing = packed_agent(machine, np.zeros(0, np.uint64), np.zeros((0, machine.actions), np.uint16))
    zero, street = np.zeros(question.players), first_street(question, nothing, 1, 0)
    MultiwaySolution(question, street, zero, zero, zero, zero, False, 0, 0, 0, 0.0).at(line)


def _plain(number: float) -> float | None:
    return None if number != number else float(number)
