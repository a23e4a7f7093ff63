"""Betting by rounds against betting trees, and machines of both against each other."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from poker_games import limit

from kibitz.core.errors import GameError
from kibitz.games.kernels import machine as walk
from kibitz.games.protocol import TERMINAL
from kibitz.play.conformance import CHECKS, Subject, run_check
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import betting_tree
from kibitz.poker.rules.machine import PokerMachine
from kibitz.poker.rules.rounds import rounds_of
from kibitz.poker.rules.rows import parts_of
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.machines import machine_of

U64 = np.uint64
THREE = replace(limit(1, 5, 1, (0, 1), raises=2), players=3, blinds=(1, 1, 1), name="")
DEFINITIONS = {
    "kuhn": acpc.read("kuhn"),
    "leduc": acpc.read("leduc"),
    "rhode island": acpc.read("rhode_island"),
    "hold'em": acpc.read("holdem.limit.2p"),
    "three": THREE,
    "three, with blinds": replace(THREE, blinds=(1, 2, 0), first_player=(2, 0), board=(0, 2)),
    "four": replace(THREE, players=4, blinds=(1, 1, 1, 1), max_raises=(1, 1)),
    "rounds without cards": limit(2, 3, 1, (0, 0, 1), raises=2),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_tree_is_the_same(name):
    definition = DEFINITIONS[name]
    tree, rounds = betting_tree(definition), rounds_of(definition)
    assert rounds.nodes == len(tree)
    decisions = np.bincount(tree.round[tree.turn >= 0], minlength=definition.rounds)
    np.testing.assert_array_equal(rounds.decisions, decisions)
    words = set()
    for node in np.flatnonzero(tree.turn >= 0)[:: max(1, len(tree) // 3000)].tolist():
        word = rounds.word(tree.text[node])
        at, instance = word & 0xFFFFFFFF, word >> 32
        assert rounds.turn[at] == tree.turn[node] and rounds.round[at] == tree.round[node]
        assert rounds.actions[rounds.actions_of[at]] == tree.actions[tree.actions_of[node]]
        np.testing.assert_array_equal(rounds.paid[at] + rounds.carried[instance], tree.paid[node])
        words.add(word)
    assert len(words) == len(range(0, int((tree.turn >= 0).sum()), max(1, len(tree) // 3000)))


def test_holdem_for_three():
    rounds = rounds_of(acpc.read("holdem.limit.3p"))
    assert rounds.nodes == 24_142_345
    assert rounds.decisions.tolist() == [90, 4412, 205_962, 9_501_342]
    assert len(rounds.root) == 205_038 and len(rounds) == 1238
    parts = parts_of(rounds, ["f", "rf", "rrf", "rcf"])
    expected = {"f": 1, "fc": 1, "fcc/": 1, "rf": 2, "rrf": 3, "rrfc/c": 3, "rcf/": 4, "rcf/cr": 4, "rrr": 0}
    assert {text: int(parts[place_of(rounds, text)]) for text in expected} == expected


def place_of(rounds, text):
    word = rounds.word(text)
    return rounds.early + (word >> 32) - 1 if word >> 32 else word


@pytest.fixture(autouse=True)
def _words():
    """Interpreted, words of 64 bits overflow as they should."""
    with np.errstate(over="ignore"):
        yield


@pytest.mark.parametrize("name", DEFINITIONS)
def test_machines_play_alike(name):
    """The same deal and the same actions, by the tree and by rounds."""
    rules = Poker(DEFINITIONS[name])
    both = rules.machine(), rules.machine_by_rounds()
    rng = random.Random(name)
    assert both[0].actions == both[1].actions and both[0].depth <= both[1].depth
    for seed in range(30):
        states = [walk.deal(machine.game, np.array([seed], U64)) for machine in both]
        length = 0
        while (turn := walk.turn(both[0].game, states[0])) != TERMINAL:
            assert walk.turn(both[1].game, states[1]) == turn
            widths = [int(walk.width(machine.game, state)) for machine, state in zip(both, states, strict=True)]
            assert widths[0] == widths[1]
            action = U64(rng.randrange(widths[0]) if rng.random() < 0.5 else widths[0] // 2)
            states = [walk.after(machine.game, state, action) for machine, state in zip(both, states, strict=True)]
            length += 1
        assert walk.turn(both[1].game, states[1]) == TERMINAL and length <= both[1].depth
        for seat in range(rules.players):
            one, two = (walk.payoff(m.game, state, U64(seat)) for m, state in zip(both, states, strict=True))
            assert one == two


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check):
    found = run_check(check, Subject(machine_of(Poker(THREE), how="rounds"), abstraction="isomorphic"))
    assert found.holds is not False, found.detail


def test_it_is_for_limit_without_stacks():
    with pytest.raises(GameError, match="needs a betting tree"):
        rounds_of(acpc.read("holdem.nolimit.2p"))
    with pytest.raises(GameError, match="is not poker"):
        machine_of("kuhn", how="rounds")
    assert isinstance(machine_of("poker(file=leduc)", how="rounds"), PokerMachine)


@pytest.mark.parametrize("part", ["", "x", "ff", "rff", "fcc/c", "rrrr"])
def test_parts_begin_in_the_first_round(part):
    with pytest.raises(GameError, match="of the first round"):
        parts_of(rounds_of(acpc.read("holdem.limit.3p")), [part])
