"""Spots with several players: against a tree in plain Python on shrunken decks, and against the engine for two."""

from __future__ import annotations

import numpy as np
import pytest

import kibitz
from kibitz.cards.deck import names
from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import tree_of
from kibitz.poker.multiway import solving
from kibitz.poker.multiway.machine import RangedMachine, SpotDeals, size_of, strategy_of
from kibitz.poker.multiway.question import accepted, multiway
from kibitz.poker.multiway.rivers import is_countable, river_measure
from kibitz.poker.multiway.solving import played_gains, solve_multiway
from kibitz.poker.preflop.measuring import measured
from kibitz.poker.preflop.nodes import nodes_of
from kibitz.poker.rules.rules import strength, winnings

RIVER = "Ks Kc Qs Jd Td"
THREE = ["AsAc, QdQc, JsTs", "AdKd, QcJc, 9s9c:0.5", "QcTc, AsJs, 9d9c"]


def river(**options):
    fields = {"bets": "50%", "raises": "allin", **options}
    return multiway(RIVER, THREE, 30, "40, 25, 60", **fields)


class MultiwayGame:
    """A spot as a game in plain Python. State: (betting node, hands or None, board)."""

    spec = ""

    def __init__(self, question):
        self.question, self.betting, self.players = question, question.betting, question.players
        self.deck = question.definition.deck
        self.cards = hand_cards().tolist()
        deals = [((), (), 1.0)]
        for weights in question.live:
            deals = [((*hands, hand), (*gone, *self.cards[hand]), chance * weights[hand])
                     for hands, gone, chance in deals
                     for hand in np.flatnonzero(weights).tolist() if not {*gone} & {*self.cards[hand]}]  # fmt: skip
        total = sum(chance for *_, chance in deals)
        self.deals = [(hands, chance / total) for hands, _, chance in deals]
        self.below = {node: np.flatnonzero(self.betting.parent == node).tolist() for node in range(len(self.betting))}

    def root(self):
        return (1, None, self.question.board)  # after the cards of the board

    def turn(self, state):
        return CHANCE if state[1] is None else int(self.betting.turn[state[0]])

    def actions(self, state):
        return self.betting.actions[self.betting.actions_of[state[0]]]

    def chance(self, state):
        _, hands, board = state
        if hands is None:
            return [(k, chance) for k, (_, chance) in enumerate(self.deals)]
        gone = {*board, *(card for hand in hands for card in self.cards[hand])}
        left = [card for card in self.deck if card not in gone]
        return [(card, 1.0 / len(left)) for card in left]

    def after(self, state, action):
        node, hands, board = state
        if hands is None:
            return (node, self.deals[action][0], board)
        if self.turn(state) == CHANCE:
            return (self.below[node][0], hands, (*board, action))
        return (self.below[node][self.actions(state).index(action)], hands, board)

    def infoset(self, state):
        node, hands, board = state
        return f"{names(self.cards[hands[self.turn(state)]])} {names(board)}: {node}"

    def payoff(self, state):
        node, hands, board = state
        values = [int(strength(np.array((*self.cards[hand], *board[:5]), np.uint8))) for hand in hands]
        paid = self.betting.paid[node].tolist()
        won = winnings(paid, self.betting.folded[node].tolist(), values)
        return [a - b for a, b in zip(won, paid, strict=True)]


class Played:
    """A strategy by infosets of MultiwayGame, from the rows of an agent or from a function."""

    def __init__(self, tree, rows):
        from kibitz.forms.profile import Profile

        infosets = tree.infosets
        seats = np.repeat(np.arange(infosets.seats), np.diff(infosets.seat_start)).tolist()
        probabilities = [rows(seat, label) for seat, label in zip(seats, infosets.labels, strict=True)]
        self.profile = Profile(infosets, np.concatenate(probabilities), {"game": ""})


def parsed(label):
    cards, _, node = label.partition(": ")
    words = cards.split()
    numbers = [kibitz.cards.parse(word)[0] for word in words]
    return numbers[:2], numbers[2:], int(node)


def hand_number(pair):
    low, high = sorted(int(card) for card in pair)
    return high * (high - 1) // 2 + low


def test_the_river_is_counted_as_the_tree_is():
    question = river()
    nodes, draw = nodes_of(question), np.random.default_rng(2)
    strategy = [draw.dirichlet(np.ones(len(each)), 1326).T if each else np.empty((0, 1326)) for each in nodes.names]
    place = {int(number): k for k, number in enumerate(nodes.number)}

    def rows(seat, label):
        hand, _, node = parsed(label)
        return strategy[place[node]][:, hand_number(hand)]

    tree = tree_of(MultiwayGame(question))
    profile = Played(tree, rows).profile
    measure = river_measure(question, nodes, strategy)
    values = np.array(kibitz.value(tree, profile), np.float64)
    assert measure.values == pytest.approx(values, abs=1e-9)
    best = [float(kibitz.best_response(tree, profile, seat)[0]) for seat in range(3)]
    assert measure.values + measure.gains == pytest.approx(best, abs=1e-9)
    assert measure.gains.min() > 0.1  # a random strategy
    assert measure.reach[0] == pytest.approx(1)
    # what an action wins with a hand, by the definition
    sample = measured(SpotDeals(agent_of(question), nodes, 5, question), strategy, 40_960, lambda done: False)
    node = nodes.at("check, bet 15")
    both = np.isfinite(measure.actions[node]) & np.isfinite(sample.actions[node])
    assert both.any()
    far = np.abs(measure.actions[node] - sample.actions[node])[both]
    assert (far <= 2 * sample.errors[node][both] + 1e-9).all()
    assert np.abs(sample.values - measure.values).max() < 2 * sample.value_errors.max()


def agent_of(question, iterations=0):
    """One who has been trained for some iterations."""
    from kibitz.play.agents import blueprint_agent
    from kibitz.solvers.blueprint import Blueprint

    machine = RangedMachine(question)
    blueprint = Blueprint.empty(machine, "null", 1 << 24, 0)
    if iterations:
        blueprint.train(iterations=iterations)
    return blueprint_agent(blueprint, machine, "x")


def test_three_players_on_a_river_come_near_an_equilibrium():
    question = river()
    solution = solve_multiway(question, iterations=40_000, threads=1)
    assert solution.exact and solution.deals == 0
    assert solution.values.sum() == pytest.approx(30, abs=1e-6)  # the pot
    assert solution.gains.min() >= -1e-9 and solution.gains.max() < 1.5  # of 30
    node = solution.at("check")
    assert node.player == "MID" and node.frequencies.sum() == pytest.approx(1)
    hand = np.flatnonzero(question.live[1])[0]
    facing = solution.at("check, bet 15, fold")
    assert facing.actions[0] == "fold" and abs(facing.values[0][np.isfinite(facing.values[0])]).max() < 1e-9
    assert np.isfinite(node.values[:, hand]).all()
    first = solution.at()
    assert first.means @ first.frequencies == pytest.approx(solution.values[0], abs=1e-6)
    again = solve_multiway(question, iterations=40_000, threads=1)
    assert all(np.array_equal(a, b) for a, b in zip(solution.first.strategy, again.first.strategy, strict=True))


def test_side_pots_follow_from_the_stacks():
    """A player who is all in for 25 wins no more than 25 of each other: the tree's ends say so, by the rules."""
    question = river()
    nodes = nodes_of(question)
    end = nodes.at("bet 15, allin 25, call, call")
    paid = nodes.paid[end] * question.unit
    assert paid.tolist() == [35, 35, 35]
    assert nodes.names[nodes.at("bet 15, call")] == ("fold", "call", "allin 40")  # the largest stack that can answer
    end = nodes.at("bet 15, call, allin 40, call, call")
    assert (nodes.paid[end] * question.unit).tolist() == [50, 35, 50]
    won = winnings(nodes.paid[end].tolist(), nodes.folded[end].tolist(), [1, 2, 0])
    assert (np.array(won) * question.unit).tolist() == [30, 105, 0]


def test_a_turn_is_measured_as_the_tree_is():
    """On a small deck: values by fresh deals within their intervals, and the responder below the best response."""
    question = multiway("Ks Kc Qs Jc", ["AsAc, QcJs", "AsKd, TcTs", "AcQd, JdTd"], 30, 20, bets="50%", raises="none",
                        max_raises=1, deck=(5, 4))  # fmt: skip
    agent = agent_of(question, 3_000)
    tree, machine = tree_of(MultiwayGame(question)), agent.machine
    from kibitz.poker.rules.kernels.machine import keys
    from kibitz.solvers.table_strategy import looked_up

    def rows(seat, label):
        hand, board, node = parsed(label)
        states = machine.states(np.array([board], np.uint8), np.array([hand], np.uint8), seat)
        states[:, 0] = node
        key = np.zeros(1, np.uint64)
        keys(machine.game, agent.table.view.keys, states, key)
        width = int(question.betting.widths[node])
        return looked_up(agent.table.table, key, width, machine.actions)[0, :width]

    profile = Played(tree, rows).profile
    exact = np.array(kibitz.value(tree, profile), np.float64)
    nodes = nodes_of(question)
    assert not is_countable(question, nodes)
    deals = SpotDeals(agent, nodes, 11, question)
    sample = measured(deals, strategy_of(agent, nodes, question), 60_000, lambda done: False)
    assert np.abs(sample.values - exact).max() < 2 * sample.value_errors.max()
    best = np.array([float(kibitz.best_response(tree, profile, seat)[0]) for seat in range(3)]) - exact
    answer = solving.respond(agent, "null", iterations=20_000, seed=1)
    gains, errors = played_gains(machine, agent, answer, 60_000, 99)
    assert (gains <= best + 2 * errors).all()
    assert (gains >= 0.5 * best - 2 * errors).all()  # the game is small: the responder finds most of it


def test_two_players_agree_with_the_engine_for_two():
    board, ranges = "Qs Jh 2h 5c 5d", ["AA, QJs, T9s, 65s", "KK, AQ, AJs:0.5"]
    exact = kibitz.solve_spot(kibitz.spot(board, ranges, 100, 200, "50%", "allin", max_raises=2), until=5e-4)
    solution = solve_multiway(multiway(board, ranges, 100, 200, "50%", "allin"), iterations=60_000, deals=60_000)
    assert not solution.exact
    gap = solution.gains.sum() + 2 * solution.value_errors.max() + 0.1
    assert np.abs(solution.values - exact.values).max() < max(gap, 1.5)
    assert solution.values.sum() == pytest.approx(100, abs=1e-6)


def test_deals_have_the_weights_of_the_ranges():
    question = river()
    _, hands = SpotDeals(agent_of(question), nodes_of(question), 1, question).block(0, 40_000)
    for deal, chance in MultiwayGame(question).deals:
        share = (hands == deal).all(axis=1).mean()
        assert share == pytest.approx(chance, abs=4 * np.sqrt(chance / 40_000) + 1e-3)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"ranges": ["AA"]}, "2 to 6 players"),
    ({"ranges": ["AA", "KK", "QQx"]}, "the range of IP"),
    ({"board": "Qs Jh"}, "a flop has three cards"),
    ({"stacks": "10, 20"}, "one for each of 3 players"),
    ({"bets": "OOP: 50%"}, "the same for all"),
    ({"raises": "2.5x"}, "shares of the pot"),
    ({"ranges": ["AsAh", "AsAd", "KK"]}, "hardly any hands"),
    ({"pot": 0}, "the pot should be above 0"),
    ({"rake": 1.5}, "rake is a share"),
    ({"donks": "50%"}, "no option 'donks'"),
])  # fmt: skip
def test_bad_questions_get_a_sentence(change, sentence):
    fields = {"board": "Qs Jh 2h", "ranges": ["AA", "KK", "TT"], "pot": 30, "stacks": 100, **change}
    with pytest.raises(GameError, match=sentence):
        multiway(**fields)


def test_what_does_not_fit_is_refused_with_the_option_that_helps():
    question = multiway("Qs Jh 2h", ["AA", "KK", "TT"], 30, 100)
    assert size_of(question).rows > 0 and accepted(question.live) == 1.0
    with pytest.raises(GameError, match="begin on a later street"):
        size_of(question, 1000)
    with pytest.raises(GameError, match=r"smaller ranges$"):
        size_of(river(), 1000)
