"""Games for tests: written out as nested tuples, at random from a seed or by hand, plain and degenerate.

A node is one of

    ("end", (payoff of seat 0, payoff of seat 1, ...))
    ("chance", ((outcome, probability, node), ...))
    (seat, infoset, ((action, node), ...))
"""

from __future__ import annotations

import random
import string

from kibitz.games.protocol import CHANCE, TERMINAL


class Nested:
    """A game whose tree is written out; a state is a node."""

    def __init__(self, players, root, name="nested"):
        self.players, self._root, self.name = players, root, name

    def __repr__(self):
        return self.name

    def root(self):
        return self._root

    def turn(self, node):
        return {"end": TERMINAL, "chance": CHANCE}.get(node[0], node[0])

    def actions(self, node):
        return [action for action, _ in node[2]]

    def chance(self, node):
        return [(outcome, p) for outcome, p, _ in node[1]]

    def after(self, node, step):
        if node[0] == "chance":
            return next(child for outcome, _, child in node[1] if outcome == step)
        return next(child for action, child in node[2] if action == step)

    def infoset(self, node):
        return node[1]

    def payoff(self, node):
        return node[1]


class RandomGame(Nested):
    """A random tree.

    recall   "perfect": an infoset is the seat's own past infosets and actions, a random signal and the number of
             actions, so histories that differ in chance and in others' moves merge. "past": the own past is
             forgotten, the depth is not. "nothing": signal and number of actions are all, and a seat may meet
             the same infoset twice in one history.
    payoffs  "zero-sum", "general", or "whole" (small whole numbers, many of them zero, zero-sum)
    chance   how often a node is chance's
    """

    def __init__(
        self, seed, players=2, depth=4, widest=4, recall="perfect", payoffs="zero-sum", chance=0.25, signals=2,
        most=400, stop=0.15,
    ):  # fmt: skip
        self._rng = random.Random(f"game {seed} {players} {depth} {widest} {recall} {payoffs} {chance} {signals}")
        self._set = (players, widest, recall, payoffs, chance, signals, stop)
        self._left = most
        super().__init__(players, self._node(depth, ("",) * players), f"RandomGame({seed}, {players}, {recall})")

    def _node(self, depth, pasts):
        players, widest, recall, _, chance, signals, stop = self._set
        rng = self._rng
        self._left -= 1
        if depth == 0 or self._left < 0 or (rng.random() < stop and pasts != ("",) * players):
            return ("end", self._payoff())
        if rng.random() < chance:
            weights = [rng.random() + 0.05 for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.1:
                weights.append(0.0)
            outcomes = [(f"{i}", w / sum(weights)) for i, w in enumerate(weights)]
            return ("chance", tuple((o, p, self._node(depth - 1, pasts)) for o, p in outcomes))
        seat, width, signal = rng.randrange(players), rng.randint(1, widest), rng.randrange(signals)
        past = {"perfect": pasts[seat], "past": f"{depth}", "nothing": ""}[recall]
        infoset = f"{past}[{signal}/{width}]"
        children = []
        for action in string.ascii_lowercase[:width]:
            after = (*pasts[:seat], f"{pasts[seat]}[{signal}/{width}]{action}", *pasts[seat + 1 :])
            children.append((action, self._node(depth - 1, after)))
        return (seat, infoset, tuple(children))

    def _payoff(self):
        players, _, _, payoffs, _, _, _ = self._set
        rng = self._rng
        if payoffs == "general":
            return tuple(rng.uniform(-3, 3) for _ in range(players))
        if payoffs == "zero-sum":
            numbers = [rng.uniform(-3, 3) for _ in range(players - 1)]
        else:
            numbers = [rng.choice([-2, -1, 0, 0, 1]) for _ in range(players - 1)]
        return (*numbers, -sum(numbers))


class Without(Nested):
    """Another game in which some actions do not exist: pairs ((seat, infoset), action) are left out."""

    def __init__(self, game, closed):
        def cut(node):
            if node[0] == "end":
                return node
            if node[0] == "chance":
                return ("chance", tuple((o, p, cut(child)) for o, p, child in node[1]))
            seat, infoset, children = node
            return (seat, infoset, tuple((a, cut(c)) for a, c in children if ((seat, infoset), a) not in closed))

        super().__init__(game.players, cut(written_out(game)), f"{game} without {len(closed)}")


def written_out(game, state=None):
    """Any game as nested tuples."""
    state = game.root() if state is None else state
    turn = game.turn(state)
    if turn == TERMINAL:
        return ("end", tuple(game.payoff(state)))
    if turn == CHANCE:
        return ("chance", tuple((o, p, written_out(game, game.after(state, o))) for o, p in game.chance(state)))
    return (
        turn, game.infoset(state), tuple((a, written_out(game, game.after(state, a))) for a in game.actions(state)),
    )  # fmt: skip


def end(*payoff):
    return ("end", tuple(float(x) for x in payoff))


def choice(seat, infoset, *children):
    """A decision with actions a, b, c, ..."""
    return (seat, infoset, tuple(zip(string.ascii_letters, children, strict=False)))


def edge_cases():
    """Small games at the borders of the protocol, by name."""
    coin = ("chance", (("heads", 0.25, end(1, -1)), ("tails", 0.75, end(2, -2))))
    pennies = choice(0, "even", *(choice(1, "odd", *(end(x, -x) for x in row)) for row in [(1, -1), (-1, 1)]))
    lottery = ("chance", (("1", 0.5, end(9)), ("2", 0.5, end(0))))
    lonely = choice(0, "x", end(1), choice(0, "y", end(5), end(2)), lottery)
    table = [[(7 * i + 3 * j) % 11 - 5 for j in range(11)] for i in range(10)]
    wide = choice(0, "ten", *(choice(1, "eleven", *(end(x, -x) for x in row)) for row in table))
    forced = choice(0, "one", choice(1, "only", choice(0, "two", choice(1, "last", end(3, -3), end(-1, 1)))))
    never = ("chance", (("0", 0.0, choice(0, "dream", end(100, -100), end(50, -50))), ("1", 1.0, pennies)))

    def fourth(a, b, c):
        return choice(3, "s", *(end(a - b, b + c, a * d, d - c) for d in range(2)))

    def third(a, b):
        return choice(2, "r", *(fourth(a, b, c) for c in range(2)))

    four = choice(0, "p", *(choice(1, "q", *(third(a, b) for b in range(3))) for a in range(2)))
    idle = choice(2, "x", end(1, 2, 3), end(0, 1, 5))
    return {
        "one terminal": Nested(2, end(1.5, -1.5)),
        "one terminal, all zero": Nested(3, end(0, 0, 0)),
        "only chance": Nested(2, coin),
        "matching pennies": Nested(2, pennies),
        "depth one": Nested(2, choice(1, "x", end(1, -1), end(3, -3), end(2, -2))),
        "one player": Nested(1, lonely),
        "ten by eleven": Nested(2, wide),
        "single actions": Nested(2, forced),
        "chance that never happens": Nested(2, never),
        "four players": Nested(4, four),
        "seats that never move": Nested(3, idle),
        "zero everywhere": Nested(2, choice(0, "x", choice(1, "y", end(0, 0), end(0, 0)), end(0, 0))),
        "zero for one seat": Nested(2, choice(0, "x", choice(1, "y", end(0, 3), end(0, 1)), end(0, 2))),
        "huge payoffs": Nested(2, choice(0, "x", choice(1, "y", end(3e9, -3e9), end(-1e9, 1e9)), end(1e9, -1e9))),
        "tiny payoffs": Nested(2, choice(0, "x", choice(1, "y", end(3e-9, -3e-9), end(-1e-9, 1e-9)), end(1e-9, -1e-9))),
    }
