"""Play before the flop: betting, exact solutions against push/fold and a tree, sampled measures, files."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import kibitz
from kibitz.cards.deck import names
from kibitz.cards.holdem import class_names, class_sizes
from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.preflop.exact import ClassGame, ExactPreflop, whole_deck
from kibitz.poker.preflop.measuring import backed_up, measured, sampled_gains
from kibitz.poker.preflop.nodes import nodes_of, reaches
from kibitz.poker.preflop.question import data_of, preflop, question_of
from kibitz.poker.preflop.sampled import PreflopDeals, machine_for, size_of
from kibitz.poker.preflop.solving import solve_classes, solve_preflop
from kibitz.poker.rules.betting import betting_tree
from kibitz.poker.rules.rules import strength
from kibitz.poker.tournaments import pushfold


def names_at(question, line):
    nodes = nodes_of(question)
    return nodes.names[nodes.at(line)]


# The betting


def test_sizes_are_those_of_a_table():
    question = preflop(100, "2.5bb", "3x, 75%", "22bb, allin", force_allin=0)
    assert names_at(question, "") == ("fold", "call", "raise 2.5")
    assert names_at(question, "raise 2.5") == ("fold", "call", "raise 6.25", "raise 7.5")  # 2.5 + 75% of 5
    assert names_at(question, "raise 2.5, raise 7.5") == ("fold", "call", "raise 22", "allin 100")
    assert names_at(question, "raise 2.5, raise 7.5, raise 22") == ("fold", "call", "allin 100")
    assert names_at(question, "raise, raise 7.5, allin") == ("fold", "call")
    assert names_at(preflop(100, "2.5bb", limps=False), "") == ("fold", "raise 2.5")
    assert names_at(preflop(100, "1.2bb"), "")[2] == "raise 2"  # the least raise


def test_antes_are_in_the_pot_and_not_in_the_bets():
    question = preflop(20, "100%, allin", ante=0.5)
    assert names_at(question, "")[2] == "raise 4"  # 1 + a pot of 2 blinds and 2 antes after the call
    nodes = nodes_of(question)
    assert nodes.paid[0].tolist() == [100, 150]
    assert names_at(question, "")[3] == "allin 19.5"
    assert nodes.paid[nodes.at("allin, call")].tolist() == [2000, 2000]


def test_no_raise_goes_beyond_what_can_be_answered():
    question = preflop("8, 30", "allin")
    assert names_at(question, "call")[1] == "allin 8"  # the big blind has 30
    three = preflop("30, 8, 20", "allin", postflop="none")
    assert names_at(three, "fold")[2] == "allin 8"
    assert names_at(three, "")[2] == "allin 20"


def test_the_tree_is_that_of_the_rules_with_the_same_sizes():
    """The rules with an action abstraction are another way to the same tree."""
    question = preflop(30, "100%, allin", "100%, allin", "100%, allin", bets="100%, allin", raises="100%, allin",
                       max_raises=2, force_allin=0)  # fmt: skip
    whole = question.definition
    rules = type(whole)(**{**vars(whole), "bets": (1.0, np.inf), "max_raises": (4, 2, 2, 2)})
    other, tree = betting_tree(rules), question.betting
    early = [k for k, text in enumerate(other.text) if text.count("r") <= 3]  # a fourth raise is all in here
    assert set(tree.text) >= {other.text[k] for k in early if "/" not in other.text[k]}
    shared = {text: k for k, text in enumerate(other.text)}
    for k, text in enumerate(tree.text):
        if text in shared:
            assert tree.turn[k] == other.turn[shared[text]] and (tree.paid[k] == other.paid[shared[text]]).all()


@pytest.mark.parametrize(("options", "sentence"), [
    ({"stacks": "20, x"}, "'x' is not a number of big blinds"),
    ({"stacks": 20, "opens": "2.5"}, "'2.5' has no unit"),
    ({"stacks": 20, "opens": "2.5bb, 3q"}, "'3q' is not a bet size"),
    ({"stacks": 20, "postflop": "some"}, "postflop is buckets or none"),
    ({"stacks": 20, "blinds": "1"}, "blinds are two numbers"),
    ({"stacks": 0.5}, "a stack is 1 to 10,000"),
    ({"stacks": 20, "ante": 2}, "an ante is 0 to one"),
    ({"stacks": 20, "raises": "2.5x"}, "shares of the pot"),
    ({"stacks": "1,2,3,4,5,6,7"}, "2 to 6 players"),
    ({"stacks": "20,20,20", "bets": "OOP: 50%"}, "players of a pot for two"),
    ({"stacks": 20.001}, "hundredths"),
])  # fmt: skip
def test_bad_questions_get_a_sentence(options, sentence):
    with pytest.raises(GameError, match=sentence):
        preflop(**options)


def test_a_size_in_big_blinds_is_for_play_before_the_flop():
    with pytest.raises(GameError, match="raise before the flop"):
        kibitz.spot("Qs Jh 2h", ["AA", "KK"], 10, 10, bets="2.5bb")
    with pytest.raises(GameError, match="kibitz poker preflop"):
        kibitz.spot("", ["AA", "KK"], 10, 10)


def test_wrong_lines_point_at_the_word():
    with pytest.raises(GameError, match=r"choose fold, call, raise 2\.5") as error:
        nodes_of(preflop(20)).at("bet 3")
    assert "^^^^^" in str(error.value)


def test_a_question_is_written_and_read_again():
    question = preflop("20,25", "2.2bb", ante=0.1, bets="33%; river IP: allin", limps=False)
    assert question_of(data_of(question)) == question


# All cards


def test_push_or_fold_is_the_exact_push_or_fold_solution():
    solution = solve_preflop(preflop(10, "allin", limps=False, postflop="none"), until=2e-5)
    other = pushfold([10, 10])
    assert solution.values == pytest.approx(other.values, abs=5e-5)
    for node, chart in zip(solution.decisions, other.charts, strict=True):
        sure = np.abs(chart.gain) > 0.02  # where it matters both do the same
        assert sure.sum() > 130
        assert np.abs(node.strategy[1] - chart.jams)[sure].max() < 0.02
        assert np.abs(node.values[1] - node.values[0] - chart.gain).max() < 0.03  # other hands mix a little
        assert node.reach == pytest.approx(chart.reach, abs=0.01)


def test_unequal_stacks_with_antes_are_the_push_or_fold_solution():
    solution = solve_preflop(preflop("6, 9", "allin", limps=False, postflop="none", ante=0.1), until=5e-5)
    other = pushfold([6, 9], ante="0.1")
    assert solution.values == pytest.approx(other.values, abs=2e-4)


class PreflopGame:
    """Two players without betting after the flop, with all hands of a small deck: what the engine of classes is
    compared with. State: (node, deal or None)."""

    players = 2
    spec = ""

    def __init__(self, question, deck, net):
        self.nodes, self.net = nodes_of(question), net
        hands = list(combinations(deck, 2))
        self.hands = hands
        self.deals = [(i, j) for i in range(len(hands)) for j in range(len(hands)) if not {*hands[i]} & {*hands[j]}]

    def root(self):
        return (0, None)

    def turn(self, state):
        return CHANCE if state[1] is None else int(self.nodes.turn[state[0]])

    def actions(self, state):
        return self.nodes.names[state[0]]

    def chance(self, state):
        return [(k, 1 / len(self.deals)) for k in range(len(self.deals))]

    def after(self, state, action):
        node, deal = state
        if deal is None:
            return (0, self.deals[action])
        return (self.nodes.children[node][self.actions(state).index(action)], deal)

    def infoset(self, state):
        return f"{names(self.hands[state[1][self.turn(state)]])}: {self.nodes.lines[state[0]]}"

    def payoff(self, state):
        node, deal = state
        paid = self.nodes.paid[node]
        if self.nodes.is_fold(node):
            loser = int(np.flatnonzero(self.nodes.folded[node])[0])
            won = [float(paid[loser])] * 2
            won[loser] *= -1
            return won
        first = float(paid.min()) * self.net[deal]
        return [first, -first]


@pytest.fixture(scope="module")
def small():
    """(question, classes, game) of a deck of ten cards: each hand is a class of its own."""
    deck = [4 * rank + suit for rank in range(8, 13) for suit in (0, 1)]
    hands = list(combinations(deck, 2))
    net, chance = {}, np.zeros((len(hands), len(hands)))
    matrix = np.zeros_like(chance)
    for i, one in enumerate(hands):
        for j, two in enumerate(hands):
            if {*one} & {*two}:
                continue
            left = [card for card in deck if card not in (*one, *two)]
            won = 0.0
            boards = list(combinations(left, 5))
            for board in boards:
                a, b = (int(strength(np.array((*hand, *board), np.uint8))) for hand in (one, two))
                won += (a > b) - (a < b)
            net[i, j] = won / len(boards)
            chance[i, j], matrix[i, j] = 1.0, net[i, j]
    total = chance.sum()
    question = preflop(8, "2.5bb, allin", "allin", "none", postflop="none", deck=(5, 2))
    return question, ClassGame(chance / total, matrix / total), PreflopGame(question, deck, net)


def test_the_exact_engine_is_a_tree_solved_by_a_linear_program(small):
    question, classes, game = small
    tree = kibitz.games.tree.tree_of(game)
    profile = kibitz.solve(tree, "lp")
    value = float(kibitz.value(tree, profile)[0])
    engine = ExactPreflop(nodes_of(question), classes)
    strategy = [np.zeros((len(each), len(game.hands))) for each in engine.nodes.names]
    for node in engine.nodes.decisions:
        seat, line = int(engine.nodes.turn[node]), engine.nodes.lines[node]
        for hand, cards in enumerate(game.hands):
            played = profile[seat, f"{names(cards)}: {line}"]
            strategy[node][:, hand] = [played[action] for action in engine.nodes.names[node]]
    measure = engine.measure(strategy)
    assert measure.values[0] == pytest.approx(value, abs=1e-6)
    assert measure.gains == pytest.approx([0, 0], abs=1e-6)
    solution = solve_classes(question, classes, until=1e-4)
    assert abs(solution.values[0] - value / 100) <= solution.gains.max() + 1e-9 < 3e-4


def test_values_of_actions_are_those_of_the_tree(small):
    question, classes, game = small
    nodes, draw = nodes_of(question), np.random.default_rng(5)
    strategy = [draw.dirichlet(np.ones(len(each)), len(game.hands)).T if each else np.empty((0, len(game.hands)))
                for each in nodes.names]  # fmt: skip
    measure = ExactPreflop(nodes, classes).measure(strategy)

    def value(node, deal, seat):
        if nodes.turn[node] == TERMINAL:
            return game.payoff((node, deal))[seat]
        shares = strategy[node][:, deal[nodes.turn[node]]]
        return sum(share * value(child, deal, seat) for share, child in zip(shares, nodes.children[node], strict=True))

    reach = reaches(nodes, strategy)
    for node in (nodes.at("call, raise"), nodes.at("allin")):
        seat = int(nodes.turn[node])
        hand, total, weight = 7, np.zeros(len(nodes.names[node])), 0.0
        for deal in game.deals:
            if deal[seat] == hand:
                chance = reach[node, 1 - seat, deal[1 - seat]]
                total += chance * np.array([value(child, deal, seat) for child in nodes.children[node]])
                weight += chance
        assert measure.actions[node][:, hand] == pytest.approx(total / weight, abs=1e-9)


def test_two_players_without_betting_after_the_flop():
    solution = solve_preflop(preflop(20, postflop="none"), until=1e-3)
    assert solution.trust is None and solution.exploitability <= 1e-3
    assert solution.values.sum() == pytest.approx(0, abs=1e-9)
    node = solution.at("raise 2.5")
    assert node.player == "BB" and node.strategy.shape == (4, 169)
    assert np.abs(node.values[0]).max() < 1e-9  # a fold wins nothing from here on
    assert node.frequencies.sum() == pytest.approx(1)
    assert solution.at("call").reach == pytest.approx(solution.at().frequencies[1])
    aces = class_names().index("AA")
    assert solution.at().strategy[0, aces] < 0.01
    first = solution.at()
    assert first.means @ first.frequencies == pytest.approx(solution.values[0] + 0.5, abs=1e-9)  # the blind is paid


def test_ranges_go_into_a_spot(tmp_path):
    solution = solve_preflop(preflop(20, postflop="none"), iterations=64)
    spot = solution.spot("raise 2.5, call", "Qs Jh 2h", bets="50%", raises="none")
    assert (spot.pot, spot.stacks) == (5.0, (17.5, 17.5))
    end = solution.at("raise 2.5, call")
    assert end.seats_inside == [1, 0]  # the big blind is out of position
    text = kibitz.cards.parse_range(end.range(0)).weights
    assert np.abs(text - spot.ranges[1]).max() < 0.011  # texts have two digits
    with pytest.raises(GameError, match="no flop comes"):
        solution.spot("allin, call", "Qs Jh 2h")


def test_files(tmp_path):
    solution = solve_preflop(preflop(12, postflop="none"), iterations=64)
    kibitz.save_preflop(solution, tmp_path / "a.preflop")
    again = kibitz.load_preflop(tmp_path / "a.preflop")
    assert again.question == solution.question and again.trust is None
    assert np.array_equal(again.at("call").means, solution.at("call").means)
    for one, other in zip((*again.strategy, *again.won), (*solution.strategy, *solution.won), strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    assert again.at("call").action_range("check") == solution.at("call").action_range("check")
    with pytest.raises(ArtefactError):
        kibitz.load_spot(tmp_path / "a.preflop")


# Sampling


def playing(question, seed=3):
    """Fresh deals of a question without betting after the flop, for which no strategy is needed there."""
    from kibitz.play.compiled import Compiled
    from kibitz.solvers.blueprint import player
    from kibitz.solvers.kernels.players import UNIFORM

    machine = machine_for(question)
    agent = Compiled(machine, player(machine, UNIFORM, machine.view("isomorphic")), "x")
    return PreflopDeals(agent, nodes_of(question), seed)


def test_sampled_values_are_the_exact_ones_within_their_errors():
    question = preflop(12, "2.5bb, allin", postflop="none")
    solution = solve_preflop(question, iterations=200)
    measure = measured(playing(question), solution.strategy, 30_000, lambda done: False)
    assert np.abs(measure.values / 100 - solution.values).max() < 2 * measure.value_errors.max() / 100 < 0.1
    assert np.abs(measure.reach - solution.reach).max() < 0.02
    outside = total = 0
    for node in solution.nodes.decisions:
        known = np.isfinite(solution.won[node]) & (measure.errors[node] > 0)
        far = np.abs(measure.actions[node] / 100 - solution.won[node])[known] > measure.errors[node][known] / 100
        outside, total = outside + int(far.sum()), total + far.size
    assert total > 1000 and outside < 0.12 * total  # 5% but for ties of few deals


def test_the_luck_of_the_board_is_taken_out_of_all_in_hands():
    question = preflop(12, "allin", limps=False, postflop="none")
    deals = playing(question)
    won, classes = deals.block(0, 2000)
    show = deals.nodes.ends.index(deals.nodes.at("allin, call"))
    exact = whole_deck()
    expected = 1200 * (exact.net / exact.chance)[classes[:, 0], classes[:, 1]]
    assert np.abs(won[:, show, 0] - expected).mean() < 60  # instead of some 1000


def test_values_are_backed_up_as_defined():
    question = preflop("15,15,15", "allin", limps=False, postflop="none")
    nodes, draw = nodes_of(question), np.random.default_rng(1)
    strategy = [draw.dirichlet(np.ones(len(each)), 169).T if each else np.empty((0, 169)) for each in nodes.names]
    won, classes = draw.normal(size=(3, len(nodes.ends), 3)), draw.integers(0, 169, (3, 3))

    def value(node, deal):
        if nodes.turn[node] < 0:
            return won[deal, nodes.ends.index(node)]
        shares = strategy[node][:, classes[deal, nodes.turn[node]]]
        return sum(share * value(child, deal) for share, child in zip(shares, nodes.children[node], strict=True))

    fast = backed_up(nodes, strategy, won, classes)[0]
    assert fast == pytest.approx(np.array([value(0, deal) for deal in range(3)]))


def test_gains_before_the_flop_find_a_mistake():
    """A small blind that always folds could gain a lot; what it gains is measured on other deals."""
    question = preflop(8, "allin", limps=False, postflop="none")
    solution = solve_preflop(question, iterations=200)
    strategy = list(solution.strategy)
    strategy[0] = np.repeat([[1.0], [0.0]], 169, axis=1)
    exact = ExactPreflop(solution.nodes, whole_deck()).measure(strategy).gains / 100
    gain = sampled_gains(playing(question), strategy, 20_000, lambda done: False)[0]
    assert abs(gain.gain / 100 - exact[0]) < 0.05 and gain.gain / 100 > 0.3


def test_three_players_without_betting_after_the_flop_are_trained_by_walks():
    question = preflop("8,8,8", "allin", limps=False, postflop="none")
    solution = solve_preflop(question, iterations=150_000, deals=4096, seeds=[0], threads=1)
    assert solution.values.sum() == pytest.approx(0, abs=1e-6)
    assert solution.trust is not None and solution.trust.runs == 1
    assert solution.exploitability is None
    first, aces, worst = solution.at(), class_names().index("AA"), class_names().index("72o")
    assert first.player == "BTN" and first.strategy[1, aces] > 0.9 and first.strategy[0, worst] > 0.8
    other = pushfold([8, 8, 8], deals=5_000)
    share = float(class_sizes() @ first.strategy[1]) / 1326
    assert share == pytest.approx(other.charts[0].share, abs=0.08)


def test_limits_are_checked():
    with pytest.raises(SolverError, match="until is for two players"):
        solve_preflop(preflop(20), until=0.1)
    with pytest.raises(SolverError, match="one seed or two"):
        solve_preflop(preflop(20), seeds=(0, 1, 2))
    with pytest.raises(GameError, match="stay apart"):
        size_of(preflop(20, abstraction="percentile(8)"))
    with pytest.raises(GameError, match="fewer buckets"):
        size_of(preflop(200, abstraction="percentile([169, 3000000, 3000000, 3000000], recall=false)"))
    assert size_of(preflop(20)).rows == sum(
        n * k for n, k in zip(np.bincount(preflop(20).betting.round[preflop(20).betting.turn >= 0]), (169, 20, 20, 20),
                              strict=True))  # fmt: skip


@pytest.mark.slow
def test_two_players_in_buckets():
    solution = solve_preflop(preflop(20), iterations=200, deals=20_000)
    assert solution.trust is not None and solution.trust.difference < 0.5
    assert solution.trust.bound_interval[0] < 0.2
    aces = class_names().index("AA")
    assert solution.at().strategy[0, aces] < 0.05
    assert solution.at("raise 2.5, call").is_flop


def test_a_person_stops_the_training():
    """What on_progress says ends all runs; the answer is measured even so."""
    question = preflop("4,4,4", "allin", postflop="none", limps=False)
    phases = []

    def say(now):
        phases.append(now.phase)
        return True

    solution = solve_preflop(question, iterations=10**9, deals=1024, threads=1, on_progress=say)
    assert solution.iterations > 0 and solution.trust.deals >= 1024 and "responding" in phases
    exact = solve_preflop(preflop(10, postflop="none"), until=1e-9, on_progress=lambda now: True)
    assert exact.iterations == 64 and exact.exploitability > 1e-9
