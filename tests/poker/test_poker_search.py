"""search(PATH) in poker: endgames that are solved when they come up."""

from __future__ import annotations

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import SpecError
from kibitz.evaluate.match import match
from kibitz.forms.choice import compact_form
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.play.agents import agent, profile_agent
from kibitz.poker.endgames.agents import TREMBLE, PokerSearch, gain
from kibitz.poker.endgames.refined import Refinement
from kibitz.solvers.machines import machine_of

LEDUC, RHODE = "poker(file=leduc)", "poker(file=rhode_island, ranks=3)"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    found = {}
    for name, game in (("leduc", LEDUC), ("rhode", RHODE)):
        profile = kibitz.solve(game, "cfr", iterations=10)
        profile.save(folder / f"{name}.profile")
        found[name] = (game, profile, str(folder / f"{name}.profile"))
    return found


def views_of(rules, seed, hands):
    """Decisions of hands that are played at random."""
    machine, rng = machine_of(rules), np.random.default_rng(seed)
    for number in range(hands):
        hand = machine.hand(seed, number)
        state = hand.start()
        while (turn := rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = hand.draw(state)
                continue
            view = view_of(rules, state, turn)
            yield view
            state = rules.after(state, view.choices[rng.integers(len(view.choices))])


@pytest.mark.parametrize("name, begin", [("leduc", 2), ("rhode", 2), ("rhode", 3)])
def test_endgames_at_the_table_are_those_that_are_measured(saved, name, begin):
    """Ranges, and what hands win that leave: by looking rows up hand by hand, and by plans of the whole game. (What
    is solved then is one thing, but the last digit may decide between equilibria.)"""
    game, profile, _ = saved[name]
    rules = kibitz.game(game)
    form = compact_form(rules)
    work = Refinement(rules, form, form.to_strategy(profile.probabilities), begin - 1, TREMBLE)
    of = PokerSearch(profile_agent(profile, machine_of(game), "p"), from_round=begin, iterations=1, safe=True).subgames
    spots = list(work.places())
    for segment, board in spots[:: max(1, len(spots) // 20)]:
        spot = work.root(segment, board)
        solution = of.solve(words_of(rules, spot.endgame))
        there = solution.endgame
        assert (there.hands == spot.endgame.hands).all()
        assert there.ranges == pytest.approx(spot.endgame.ranges, rel=1e-5)
        for seat in (0, 1):
            leaves = there.response(1 - seat, of.within(there, seat))
            assert leaves == pytest.approx(work.leaving(spot, seat), abs=1e-4)


def words_of(rules, endgame):
    """The public history before an endgame."""
    done = rules.betting.text[endgame.root_node]
    cards = [kibitz.cards.NAMES[card] for card in endgame.cards.rounds[0].boards[0]]
    found = []
    for number, said in enumerate(done.split("/")):
        count = rules.definition.board[number]
        found += ["".join(cards[:count])] if count else []
        cards = cards[count:]
        found += [{"c": "call", "r": "raise"}[letter] for letter in said]
    return tuple(found)


@pytest.mark.parametrize("safe", [False, True])
def test_what_is_played_is_the_solution(saved, safe):
    game, _, path = saved["rhode"]
    player = agent(f"search({path}, from=3, iterations=25, safe={str(safe).lower()})", game)
    base, looked = agent(path, game), 0
    for view in views_of(kibitz.game(game), 5, 40):
        found = player.act(view)
        assert sum(found) == pytest.approx(1) and min(found) >= 0
        root = player.subgames.root(view.public)
        if view.infoset.count("/") < 2:
            assert root is None and found == base.act(view)
            continue
        cards, _, done = view.infoset.partition(":")
        answer = player.solved(root).solution(view.seat)
        node = kibitz.game(game).betting.text.index(done)
        hand, *board = (kibitz.cards.NUMBERS[word] for word in cards.split())
        assert found == pytest.approx(answer.row(view.seat, node, board, [hand]).tolist())
        looked += 1
    assert looked > 20


def test_ranges_are_what_hands_do(saved):
    """By Bayes' rule, hand by hand: the product of what the strategy does, with its tremble."""
    game, profile, _ = saved["rhode"]
    machine = machine_of(game)
    search = PokerSearch(profile_agent(profile, machine, "p"), from_round=3, iterations=1)
    of = search.subgames
    rules = machine.rules
    board = ["Kc", "Qd"]
    solution = of.solve(("call", "raise", "call", "Kc", "raise", "call", "Qd"))
    deck = rules.definition.deck
    for k, (card,) in enumerate(solution.endgame.hands.tolist()):
        name = kibitz.cards.NAMES[card]
        steps = [(0, ":", "call"), (1, ":c", "raise"), (0, ":cr", "call"), (0, f" {board[0]}:crc/", "raise"),
                 (1, f" {board[0]}:crc/r", "call")]  # fmt: skip
        wanted = np.ones(2)
        for seat, at, action in steps:
            row = profile[seat, f"{name}{at}"]
            wanted[seat] *= (1 - TREMBLE) * row[action] + TREMBLE / len(row)
        reach = of.ranges(solution.endgame.root_node, solution.board, solution.endgame.hands)
        assert len(deck) - 2 == reach.shape[1]
        most = solution_most(profile, steps, deck, board)
        assert reach[:, k] == pytest.approx(wanted / most, rel=1e-5)


def solution_most(profile, steps, deck, board):
    """What the likeliest hand of each seat has, of those that the board leaves."""
    found = []
    for card in deck:
        name = kibitz.cards.NAMES[card]
        if name in "".join(board):
            continue
        wanted = np.ones(2)
        for seat, at, action in steps:
            row = profile[seat, f"{name}{at}"]
            wanted[seat] *= (1 - TREMBLE) * row[action] + TREMBLE / len(row)
        found.append(wanted)
    return np.max(found, axis=0)


def test_it_beats_its_own_strategy(saved):
    """In duplicate deals, and with the luck of cards left out: both tell the same, and the second is closer."""
    game, _, path = saved["leduc"]
    machine = machine_of(game)
    search = agent(f"search({path}, iterations=60)", machine)
    worth = gain(search, 150, seed=2)
    score = match(machine, search, agent(path, machine), deals=1000, seed=3).scores[0]
    assert score.interval[0] > 0 and worth.score.interval[0] > 0
    low, high = max(score.interval[0], worth.score.interval[0]), min(score.interval[1], worth.score.interval[1])
    assert low < high, "the intervals meet"
    assert worth.score.error < score.error and 40 < worth.endgames <= 150


def test_what_is_refused(saved):
    path = saved["leduc"][2]
    for said, why in (("from=3", "from is a round, 2 to 2"), ("safe=3", "true or false"), ("seconds=0", "above 0"),
                      ("fro=2", "from")):  # fmt: skip
        with pytest.raises(SpecError, match=why):
            agent(f"search({path}, {said})", LEDUC)
    assert "search" not in agent_names("poker(file=holdem.limit.3p)") and "search" in agent_names(LEDUC)


def agent_names(game):
    rules = kibitz.game(game)
    return rules.agents()
