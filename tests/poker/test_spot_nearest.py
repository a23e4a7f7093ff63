"""The nearest equilibrium to a strategy: distances from the definition, and beside the exact program on small decks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix, vstack
from typer.testing import CliRunner

from kibitz.cards.ranges import parse_range
from kibitz.cli import app
from kibitz.core.errors import GameError, SolverError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.spots.locks import lock, lock_player, read_lock
from kibitz.poker.spots.nearest import nearest_spot, read_near
from kibitz.poker.spots.reading import spot
from kibitz.poker.spots.saved import save_spot
from kibitz.poker.spots.solving import solve_spot
from kibitz.poker.spots.spot import betting_of
from tests.poker.spot_game import SpotGame
from tests.poker.test_spots import small

RIVER = {"cards": 5, "deck": (4, 3), "seed": 3}
TURN = {"cards": 4, "deck": (5, 2), "seed": 4, "bets": "allin", "raises": "none"}
NEAR = {"river": ["check: check = 50%; bet 10 = 50%", ": check = 30%; bet 10 = 40%; allin = 30%",
                  "allin: fold = 20%"],
        "turn": [": check = 30%", "check, check, *: check = 50%", "check: check = 80%"]}  # fmt: skip


class Program:
    """A spot in sequence form, written down from its game; and what a target says of its information sets."""

    def __init__(self, question, near):
        self.game = SpotGame(question)
        self.locks = [read_lock(text, self.game.tree) for text in near]
        self.own = len(question.board)
        self.sets = [{}, {}]  # infoset -> (sequence before, sequences of its actions)
        self.weight, self.target = [{}, {}], [{}, {}]
        self.count, self.pays = [1, 1], {}
        self.walk(self.game.root(), [0, 0], [1.0, 1.0], 1.0)

    def walk(self, state, at, ways, chance):
        game, turn = self.game, self.game.turn(state)
        if turn == TERMINAL:
            worth = chance * game.payoff(state)[0]
            self.pays[tuple(at)] = self.pays.get(tuple(at), 0.0) + worth
        elif turn == CHANCE:
            for outcome, share in game.chance(state):
                self.walk(game.after(state, outcome), at, ways, chance * share)
        else:
            label, actions = game.infoset(state), game.actions(state)
            if label not in self.sets[turn]:
                first = self.count[turn]
                self.count[turn] += len(actions)
                self.sets[turn][label] = at[turn], list(range(first, first + len(actions)))
                self.weight[turn][label] = 0.0
                for each in self.locks:
                    rows = each.rows_on(state[0], state[2], self.own)
                    if rows is not None:
                        self.target[turn][label] = rows[0][:, state[1][turn]]
            self.weight[turn][label] += chance * ways[1 - turn]  # the other takes each action alike
            for action, number in zip(actions, self.sets[turn][label][1], strict=True):
                after, other = list(at), list(ways)
                after[turn] = number
                other[turn] = ways[turn] / len(actions)
                self.walk(game.after(state, action), after, other, chance)

    def distance(self, seat, table):
        """Of a strategy {infoset: {action: probability}}, by the definition."""
        reach, total = {0: 1.0}, 0.0
        for label, (before, after) in self.sets[seat].items():  # sets come after those above them
            row = list(table[label].values())
            for number, share in zip(after, row, strict=True):
                reach[number] = reach[before] * share
            if label in self.target[seat]:
                apart = sum((share - aim) ** 2 for share, aim in zip(row, self.target[seat][label], strict=True))
                total += self.weight[seat][label] * reach[before] * apart / 2
        return total

    def nearest(self, seat, steps, loss=0.0):
        """(the least distance of a plan that is sure to win all but `loss` of the value, the value).

        u^2 / v is at least 2 r u - r^2 v for every r, and exactly that for one: with `steps` values of r the program is
        no more than the least distance, and nearly that."""
        n, sets = self.count[seat], list(self.sets[seat].items())
        others = {label: k for k, label in enumerate(self.sets[1 - seat])}
        sign = 1.0 if seat == 0 else -1.0
        aims = [(label, a) for label, (_, after) in sets if label in self.target[seat] for a in range(len(after))]
        size = n + len(others) + len(aims)  # plan, values of the other's information sets, distances
        plan = lil_matrix((1 + len(sets), size))
        plan[0, 0] = 1.0
        for k, (_, (before, after)) in enumerate(sets, 1):
            plan[k, before] = -1.0
            plan[k, after] = 1.0
        # q_J <= pays of the sequence + values after it; the root's row says what the plan is worth
        of = {number: label for label, (_, after) in self.sets[1 - seat].items() for number in after}
        worth = lil_matrix((self.count[1 - seat], size))
        for (own, other), pay in self.pays.items():
            pair = (own, other) if seat == 0 else (other, own)
            worth[pair[1], pair[0]] = worth[pair[1], pair[0]] - sign * pay
        for label, (before, _) in self.sets[1 - seat].items():
            worth[before, n + others[label]] = worth[before, n + others[label]] - 1.0
        for number, label in of.items():
            worth[number, n + others[label]] = worth[number, n + others[label]] + 1.0
        side = np.zeros(1 + len(sets))
        side[0] = 1.0
        bounds = [(0, None)] * n + [(None, None)] * len(others) + [(0, None)] * len(aims)
        below = worth.tocsr()
        best = linprog(below[0].toarray().ravel(), below[1:], np.zeros(below.shape[0] - 1), plan.tocsr(), side, bounds)
        assert best.status == 0
        cuts = []
        for r in np.linspace(-1, 1, steps):
            cut = lil_matrix((len(aims), size))
            for k, (label, a) in enumerate(aims):
                before, after = self.sets[seat][label]
                aim = self.target[seat][label][a]
                cut[k, after[a]], cut[k, before], cut[k, n + len(others) + k] = 2 * r, -2 * r * aim - r * r, -1.0
            cuts.append(cut)
        upper = vstack([below, *cuts]).tocsr()
        least = np.zeros(upper.shape[0])
        least[0] = best.fun + 1e-9 + loss
        cost = np.concatenate([np.zeros(n + len(others)), [self.weight[seat][label] / 2 for label, _ in aims]])
        answer = linprog(cost, upper, least, plan.tocsr(), side, bounds)
        assert answer.status == 0
        return float(answer.fun), -float(best.fun)


@pytest.mark.parametrize(("name", "options", "steps"), [("river", RIVER, 81), ("turn", TURN, 41)])
def test_it_is_as_near_as_the_exact_program_says(name, options, steps):
    question = small(**options)
    program = Program(question, NEAR[name])
    exact = sum(program.nearest(seat, steps)[0] for seat in (0, 1))
    for until in (0.01, 1e-3, 2e-5):
        near = nearest_spot(question, NEAR[name], until=until, threads=1)
        assert near.solution.exploitability <= until and near.plain.exploitability <= until
        assert near.distances[0].sum() < near.distances[1].sum()
        assert near.distances[0].sum() <= exact + 0.003  # what is not quite an equilibrium is nearer than one
        table = program.game.table(near.solution)
        by_hand = [program.distance(seat, table) for seat in (0, 1)]
        assert near.distances[0] == pytest.approx(by_hand, abs=1e-5)
        for seat in (0, 1):  # no strategy that is sure to win as much is nearer
            _, value = program.nearest(seat, steps)
            loss = value + near.solution.gains.best[1 - seat]
            assert -1e-4 <= loss <= 2 * until * question.pot + 1e-4
            least, _ = program.nearest(seat, steps, max(0.0, loss))
            assert near.distances[0, seat] == pytest.approx(least, abs=0.008)


def test_a_strategy_that_is_an_equilibrium_is_kept():
    """All hands tie: whoever never folds may bet as it likes."""
    question = spot("Ts Js Qs Ks As", ["22+, AK", "33+, AQ"], 100, 100, "50%", "none")
    near = nearest_spot(question, [": bet 50 = 37%", "bet 50: call = 100%"], until=1e-4, threads=1)
    assert near.solution.at().frequencies[1] == pytest.approx(0.37, abs=5e-3)
    assert near.distances[0].sum() < 1e-4 and near.solution.exploitability <= 1e-4
    assert near.distances[1, 0] > 1e-3


def test_locks_hold_beside_a_target():
    question = spot("2c 2d 7h 8s Kc", ["AhAc, 5c4c, QQ", "AdKd, JJ, TT"], 100, 100, "allin", "none", rake="5%")
    near = nearest_spot(question, ["allin: call = 90%"], locks=["check: check = 100%"], until=0.01, threads=1)
    assert near.solution.at("check").frequencies[0] == pytest.approx(1.0, abs=1e-6)
    assert near.distances[0, 1] < near.distances[1, 1]
    plain = solve_spot(question, locks=["check: check = 100%"], until=0.01, threads=1)
    assert near.plain.values == pytest.approx(plain.values, abs=1.0)


def test_near_a_saved_solution(tmp_path):
    question = small(5, seed=6)
    save_spot(solve_spot(question, until=1e-4, threads=1), tmp_path / "a.spot")
    near = nearest_spot(question, [str(tmp_path / "a.spot")], until=1e-3, threads=1)
    assert near.distances[0].sum() < 1e-3 < near.distances[1].sum()
    assert len(read_near(str(tmp_path / "a.spot"), betting_of(question))) == 2
    (one,) = read_near(f"IP = {tmp_path / 'a.spot'}", betting_of(question))
    assert one.seat == lock_player(near.solution, "IP", betting_of(question)).seat
    with pytest.raises(GameError, match="a lock reads"):
        nearest_spot(question, ["nowhere.spot"])
    with pytest.raises(SolverError, match="at least one"):
        nearest_spot(question, [])


def test_the_command(tmp_path):
    words = ["poker", "spot", "--board", "Qs Jh 2h 5c 5d", "--ranges", "AA, QJs, T9s, 65s", "KK, AQ", "--pot", "100",
             "--stacks", "200", "--near", ": check = 50%; bet 50 = 50%", "--threads", "1"]  # fmt: skip
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert "distance" in answer.output and "nearest" in answer.output and "plain" in answer.output
    data = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert sum(data["near"]["distances"]["nearest"]) < sum(data["near"]["distances"]["plain"])
    assert data["exploitability"] == data["near"]["exploitability"]["nearest"] <= 0.005
    wrong = CliRunner().invoke(app, [*words[:-4], "--near", "chek: fold = 10%"])
    assert wrong.exit_code != 0 and "not an action here" in wrong.output
    refused = CliRunner().invoke(app, [*words, "--without", "allin"])
    assert refused.exit_code != 0 and "--without" in refused.output


def test_hands_outside_the_target_are_free():
    question = spot("2c 2d 7h 8s Kc", ["AhAc, 5c4c, QQ", "AdKd, JJ, TT"], 100, 100, "allin", "none")
    tree = betting_of(question)
    hands = np.zeros(1326, bool)
    hands[parse_range("AhAc").numbers] = True
    aim = lock(tree, "", np.array([1.0, 0.0]), hands)
    near = nearest_spot(question, [aim], until=0.005, threads=1)
    shares = near.solution.at().strategy[0]
    assert shares[parse_range("AhAc").numbers][0] > near.plain.at().strategy[0][parse_range("AhAc").numbers][0]
