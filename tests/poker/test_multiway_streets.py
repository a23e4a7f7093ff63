"""Later streets of spots with several players, rake and files: against plain Python on shrunken decks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_multiway import MultiwayGame, hand_number

import kibitz
from kibitz.cards.deck import name
from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import ArtefactError, GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.multiway.machine import packed_rows
from kibitz.poker.multiway.question import multiway, raked, weight_of_deals, written
from kibitz.poker.multiway.saved import load_multiway, save_multiway
from kibitz.poker.multiway.solving import solve_multiway
from kibitz.poker.rules.rules import winnings
from kibitz.poker.spots.solving import solve_spot

TURN = ("Ks Kc Qs Jc", ["AsAc, QcJs:0.5", "AsKd, TcTs", "AcQd, JdTd"], 30, "40, 12, 40")
SMALL = {"bets": "50%", "raises": "none", "max_raises": 1, "deck": (5, 4)}


class SlowSpot(MultiwayGame):
    """What a strategy does and wins at a node, by going through all deals one by one."""

    def __init__(self, solution):
        super().__init__(solution.question)
        self.rows_of = {}
        self.solution = solution

    def row(self, state):
        """What the player to act does: looked up by the name of its node, hand and board."""
        from kibitz.poker.rules.kernels.machine import keys
        from kibitz.solvers.table_strategy import looked_up

        node, hands, board = state
        seat = self.turn(state)
        key = (node, hands[seat], board)
        if key not in self.rows_of:
            agent = self.solution.first.agent
            cards = np.array([hand_cards()[hands[seat]]], np.uint8)
            states = agent.machine.states(np.array([board], np.uint8), cards, seat)
            states[:, 0] = node
            number, width = np.zeros(1, np.uint64), int(self.betting.widths[node])
            keys(agent.machine.game, agent.table.view.keys, states, number)
            self.rows_of[key] = looked_up(agent.table.table, number, width, agent.machine.actions)[0, :width]
        return self.rows_of[key]

    def payoff(self, state):
        won = np.array(super().payoff(state))
        paid, question = self.betting.paid[state[0]].tolist(), self.question
        takes = slow_rake(paid, (won + paid).tolist(), question.rake, question.rake_cap / question.unit)
        return np.array(takes) - paid

    def value(self, state):
        """[players]  what all win from a state on."""
        turn = self.turn(state)
        if turn == TERMINAL:
            return self.payoff(state)
        if turn == CHANCE:
            return sum(share * self.value(self.after(state, card)) for card, share in self.chance(state))
        actions = self.actions(state)
        return sum(p * self.value(self.after(state, a)) for p, a in zip(self.row(state), actions, strict=True))

    def at(self, betting, cards):
        """Of the deals that come to a betting node with some cards: (hands, probability by seat, state)."""
        path = [betting]
        while path[-1] > 1:
            path.append(int(self.betting.parent[path[-1]]))
        for hands, chance in self.deals:
            state, by_seat, luck, left = (1, hands, self.question.board), np.ones(self.players), chance, list(cards)
            for node in path[-2::-1]:
                if self.turn(state) == CHANCE:
                    card = left.pop(0)
                    shares = dict(self.chance(state))
                    luck *= shares.get(card, 0.0)
                    state = self.after(state, card)
                    continue
                action = int(self.betting.action[node])
                by_seat[self.turn(state)] *= self.row(state)[action]
                state = self.after(state, self.actions(state)[action])
            if luck > 0:
                yield hands, luck, by_seat, state


def slow_rake(paid, takes, rake, cap):
    """What seats take after rake, pot by pot, from the definition."""
    levels = sorted(set(paid))
    pots = [(high - low) * sum(chips >= high for chips in paid)
            for low, high in zip([0, *levels], levels, strict=False)]  # fmt: skip
    called = [pot for pot, high in zip(pots, levels, strict=True) if sum(chips >= high for chips in paid) > 1]
    back = sum(pots) - sum(called)
    toll = min(rake * sum(called), cap)
    top = paid.index(max(paid))
    return [chips - toll / sum(called) * (chips - (back if seat == top else 0)) for seat, chips in enumerate(takes)]


def test_rake_is_taken_pot_by_pot():
    draw = np.random.default_rng(7)
    for _ in range(300):
        players = int(draw.integers(2, 5))
        paid = draw.integers(1, 6, players).tolist()
        folded = [bool(draw.integers(2)) and chips < max(paid) for chips in paid]
        won = winnings(paid, folded, draw.integers(0, 3, players).tolist())
        rake, cap = float(draw.uniform(0, 0.5)), float(draw.choice([1.0, 0.3, np.inf]))
        takes = raked(paid, won, rake, cap)
        assert takes == pytest.approx(slow_rake(paid, won, rake, cap))
        called = sum(paid) - (sorted(paid)[-1] - sorted(paid)[-2])
        assert sum(paid) - sum(takes) == pytest.approx(min(rake * called, cap))


@pytest.mark.parametrize("rake", [{}, {"rake": 0.05, "rake_cap": 2}])
def test_a_later_street_is_counted_as_all_deals_are(rake):
    question = multiway(*TURN, **SMALL, **rake)
    solution = solve_multiway(question, iterations=4_000, deals=8_192, threads=1)
    slow = SlowSpot(solution)
    compared = 0
    for line in ("check, check, check", "check, check, bet 15, call, fold", "bet 15, call, call"):
        end = solution.at(line)
        for card in end.cards[::3]:
            for node in solution.street_of(end.after(name(card))):
                deals = list(slow.at(int(node.nodes.number[node.node]), [card]))
                assert node.reach == pytest.approx(sum(luck * by.prod() for _, luck, by, _ in deals), abs=1e-12)
                sums = np.zeros((1 + len(node.actions), 1326))
                for hands, luck, by, state in deals:
                    assert state[0] == node.nodes.number[node.node]
                    weight = luck * np.delete(by, node.turn).prod()
                    sums[0, hands[node.turn]] += weight
                    for k, action in enumerate(slow.actions(state)):
                        paid = question.betting.paid[state[0], node.turn]
                        won = slow.value(slow.after(state, action))[node.turn] + paid
                        sums[1 + k, hands[node.turn]] += weight * won * question.unit
                here = np.isfinite(node.values[0]) & (node.weights(node.turn) > 0)
                assert node.values[:, here] == pytest.approx(sums[1:, here] / sums[0, here], abs=1e-9)
                compared += int(here.sum())
    assert compared > 40
    # the whole spot, by fresh deals
    exact = sum(luck * slow.value((1, hands, question.board)) for hands, luck in slow.deals)
    error = solution.value_errors + 1e-9
    assert (np.abs(solution.values - question.pot / 3 - np.array(exact) * question.unit) <= 2.5 * error).all()


def test_from_a_flop_two_streets_follow():
    question = multiway("Kh Kc Qh", ["AhAc, AdAh", "QdKd, TcTh", "JdTd, AcJc"], 30, 12, bets="50%", raises="none",
                        max_raises=1, deck=(5, 3))  # fmt: skip
    solution = solve_multiway(question, iterations=3_000, deals=20_000, threads=1)
    slow = SlowSpot(solution)
    line = "check, check, check"
    never = solution.at(f"{line}, Ah")  # OOP always holds it
    assert never.reach == 0 and not never.rows() and np.isnan(never.values).all()
    turn = solution.at(f"{line}, Jh")
    card = turn.board[-1]
    assert turn.street.measure.deals == 20_000 and len(turn.board) == 4
    deals = list(slow.at(int(turn.nodes.number[0]), [card]))
    assert turn.reach == pytest.approx(sum(luck * by.prod() for _, luck, by, _ in deals), abs=1e-12)
    seat = turn.turn
    for hand in np.flatnonzero(turn.weights(seat)).tolist():
        mine = [(luck * np.delete(by, seat).prod(), state) for hands, luck, by, state in deals if hands[seat] == hand]
        for k, action in enumerate(slow.actions(mine[0][1])):
            paid = question.betting.paid[mine[0][1][0], seat]
            sums = sum(weight * (slow.value(slow.after(state, action))[seat] + paid) for weight, state in mine)
            worth = sums * question.unit / sum(weight for weight, _ in mine)
            assert abs(turn.values[k, hand] - worth) <= 2.5 * turn.errors[k, hand] + 1e-9
    river = turn.after("check").after("check").after("check")
    last = next(each for each in map(river.after, map(name, river.cards)) if each.reach > 0)
    assert last.street.measure.deals == 0 and len(last.board) == 5  # counted
    assert "All hands that come here are counted" in last.knowledge and "never come here" in never.knowledge
    assert "20,000 fresh deals" in turn.knowledge
    assert last.reach == pytest.approx(
        sum(luck * by.prod() for _, luck, by, _ in slow.at(int(last.nodes.number[0]), last.board[3:])))


def test_names_on_a_later_street_count_from_its_beginning():
    solution = solve_multiway(multiway(*TURN, **{**SMALL, "raises": "allin", "max_raises": 2}), iterations=50,
                              deals=1024, threads=1)  # fmt: skip
    node = solution.at("bet 15, call, call, As")  # MID is all in for 12
    assert node.player == "OOP" and node.actions == ("check", "allin 25")
    assert node.pot == 72 and node.after("check").player == "IP"
    assert solution.at("check, check, check, As").actions == ("check", "bet 15")
    with pytest.raises(GameError, match="cannot come on the board"):
        solution.at("check, check, check, Ks")
    with pytest.raises(GameError, match="nobody decides"):
        solution.at("bet 15, fold, allin 40, call, As")
    with pytest.raises(GameError, match="a card comes here"):
        solution.at("check, check, check, bet 10")


def test_deals_of_ranges_are_weighed_exactly():
    draw = np.random.default_rng(3)
    for players in (2, 3):
        ranges = np.zeros((players, 1326))
        for weights in ranges:
            weights[draw.choice(200, 25, replace=False)] = draw.uniform(0.1, 1, 25)
        total = 0.0
        masks = [1 << int(low) | 1 << int(high) for low, high in hand_cards().tolist()]
        stack = [(0, 0, 1.0)]
        while stack:
            seat, gone, weight = stack.pop()
            if seat == players:
                total += weight
                continue
            stack += [(seat + 1, gone | masks[hand], weight * ranges[seat, hand])
                      for hand in np.flatnonzero(ranges[seat]).tolist() if not gone & masks[hand]]  # fmt: skip
        assert weight_of_deals(ranges) == pytest.approx(total)
    assert weight_of_deals(np.zeros((3, 1326))) == 0


def test_two_players_pay_the_rake_of_a_spot_for_two():
    """Strategies of the engine for two, counted by hand: payoffs are those of `kibitz.spot` with the same rake."""
    board, ranges = "Qs Jh 2h 5c 5d", ["AA, QJs, T9s, 65s", "KK, AQ, AJs:0.5"]
    taken = {"rake": 0.05, "rake_cap": 8}
    exact = solve_spot(kibitz.spot(board, ranges, 100, 200, "50%", "allin", max_raises=2, **taken), until=5e-4)
    solution = solve_multiway(multiway(board, ranges, 100, 200, "50%", "allin", **taken), iterations=60_000,
                              deals=60_000)  # fmt: skip
    assert solution.values.sum() < 99 and exact.values.sum() < 99
    gap = solution.gains.sum() + 2 * solution.value_errors.max() + 0.1
    assert np.abs(solution.values - exact.values).max() < max(gap, 1.5)


# Files


def small_solution(**options):
    return solve_multiway(multiway(*TURN, **SMALL, **options), iterations=500, deals=2048, threads=1)


def test_a_solution_is_saved_and_read_again(tmp_path):
    solution = small_solution(rake="5%", rake_cap=3)
    save_multiway(solution, tmp_path / "three")
    again = load_multiway(tmp_path / "three")
    assert written(again.question) == written(solution.question)
    assert again.question.texts == solution.question.texts and again.question.rake_cap == 3
    assert json.dumps(again.data()) == json.dumps(solution.data())
    for line in ("", "check", "check, check, check, As", "check, check, bet 15, call, fold, Ad, check"):
        assert json.dumps(again.at(line).data()) == json.dumps(solution.at(line).data())
    assert "".join(again.csv_lines()) == "".join(solution.csv_lines())
    lines = "".join(solution.csv_lines("check, check, check, As")).splitlines()
    assert lines[1].startswith('"check, check, check, As",OOP,')
    save_multiway(again, tmp_path / "three")  # it may be replaced, by the same bytes
    assert json.dumps(load_multiway(tmp_path / "three").data()) == json.dumps(solution.data())


def damaged(**change):
    """A file in which something was changed after it was solved."""
    def hit(arrays, meta):
        arrays |= {name: value(arrays[name]) for name, value in change.items() if name in arrays}
        meta |= {name: value for name, value in change.items() if name in meta}

    return hit


@pytest.mark.parametrize("hit", [
    damaged(key=lambda key: key[::-1].copy()), damaged(key=lambda key: key[:-1]),
    damaged(key=lambda key: np.zeros_like(key)), damaged(share=lambda share: share * 0),
    damaged(share=lambda share: share[:, :-1]), damaged(won=lambda won: won[:-1]), damaged(reach=lambda own: own[1:]),
    damaged(ranges=lambda ranges: ranges[:2]), damaged(ranges=lambda ranges: -ranges), damaged(values=[1.0, 2.0]),
    damaged(values=[1.0, 2.0, "x"]), damaged(sample=[1 << 60, 1]), damaged(sample=3), damaged(rows=-1),
    damaged(spot={"board": "Ks"}), damaged(spot=7), damaged(met=lambda met: met.astype(np.float32)),
])  # fmt: skip
def test_damaged_files_get_a_sentence(hit, tmp_path):
    from kibitz.core import store

    save_multiway(small_solution(), tmp_path / "a")
    artefact = store.load(tmp_path / "a")
    arrays, meta = dict(artefact.arrays), dict(artefact.meta)
    hit(arrays, meta)
    store.save(tmp_path / "b", "multiway", arrays, meta)
    with pytest.raises(ArtefactError, match="is no solved spot"):
        load_multiway(tmp_path / "b")


def test_rows_are_packed_as_they_play():
    value = np.array([[0, 0, 3, 1], [2, 6, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [5, 5, 0, 9]], np.float32)
    key, share = packed_rows(np.array([1, 2, 3, 4, 4], np.uint64), value)
    assert key.tolist() == [1, 2, 4]  # the third has nothing to say, the fifth is there twice
    assert (share / 65_535).tolist() == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75], [1, 0]]), abs=1e-5)
    assert hand_number((0, 1)) == 0


def test_a_person_stops_the_training():
    asked = []

    def say(now):
        asked.append(now.phase)
        return asked.count("training") > 2

    solution = solve_multiway(multiway(*TURN, **SMALL), iterations=10**9, deals=1024, threads=1, on_progress=say)
    assert asked.count("training") == 3 and 0 < solution.iterations < 10**6
