"""No-limit betting against OpenSpiel's universal_poker (the ACPC rules in C), state by state over random hands.

Compared are whose turn it is, all amounts that a player may raise to (the minimum raise and all in with them), what
each has put in, and what everybody wins at the end, with side pots. The compiled rules are compared with the readable
ones at each state too (`Both` of test_nolimit_table).
"""

from __future__ import annotations

import random

import pytest
from test_nolimit_table import Both

from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules import betting
from kibitz.poker.rules.acpc import NO_CAP, Definition
from kibitz.poker.rules.cards import cards_of

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.skipif("universal_poker" not in pyspiel.registered_names(), reason="OpenSpiel without ACPC")
FOLD, CALL = 0, 1


def game_of(known: Definition):
    """The same rules in OpenSpiel; it counts players from 1."""
    fields = {"betting": "nolimit", "bettingAbstraction": "fullgame", "numPlayers": known.players,
              "numRounds": known.rounds, "blind": known.blinds, "stack": known.stacks, "numSuits": known.suits,
              "numRanks": known.ranks, "numHoleCards": known.hole, "numBoardCards": known.board,
              "firstPlayer": [seat + 1 for seat in known.first_player]}  # fmt: skip
    words = {key: " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
             for key, value in fields.items()}  # fmt: skip
    return pyspiel.load_game("universal_poker(" + ",".join(f"{key}={value}" for key, value in words.items()) + ")")


def definition(rng: random.Random, players: int) -> Definition:
    """Hold'em with random blinds and stacks, some of them short."""
    big = 2 * rng.randint(1, 5)
    blinds = (big // 2, big) + (0,) * (players - 2)
    if players == 2:
        blinds = (big, big // 2)
    stacks = tuple(rng.choice([big + rng.randint(0, 3), rng.randint(2 * big, 8 * big), 20 * big])
                   for _ in range(players))  # fmt: skip
    first = 1 if players == 2 else 2 % players
    return Definition(False, players, 4, stacks, blinds, (), (first, 0, 0, 0), (NO_CAP,) * 4, 4, 13, 2, (0, 3, 1, 1))


def choose(rng: random.Random, actions: tuple[str, ...]) -> str:
    """An action: all in, the least raise and short all-in bets come more often than by chance alone."""
    raises = [action for action in actions if action[0] == "r"]
    if raises and rng.random() < 0.45:
        return rng.choice([raises[0], raises[-1], rng.choice(raises)])
    plain = [action for action in actions if action[0] != "r"]
    return "call" if "call" in plain and rng.random() < 0.75 else rng.choice(plain)


def play(rng: random.Random, known: Definition):
    """One hand in both. (decisions, all in, how it ended in both)."""
    rules = Both(known)
    mine, theirs = rules.root(), game_of(known).new_initial_state()
    compared = all_in = 0
    while mine.turn != TERMINAL:
        if mine.turn == CHANCE:
            cards = rules.sample(mine, rng)
            mine = rules.after(mine, cards)
            for card in cards_of(cards):
                assert theirs.is_chance_node()
                theirs.apply_action(int(card))
            continue
        assert theirs.current_player() == mine.turn
        actions = rules.actions(mine)
        numbers = [FOLD if action == "fold" else CALL if action == "call" else int(action[1:]) for action in actions]
        assert theirs.legal_actions() == sorted(numbers)
        assert spent(theirs) == list(mine.bets.paid)
        action = choose(rng, actions)
        all_in += action[0] == "r" and int(action[1:]) == known.stacks[mine.turn]
        theirs.apply_action(numbers[actions.index(action)])
        mine = rules.after(mine, action)
        compared += 1
    while theirs.is_chance_node():  # what is left of the board, where all are in
        theirs.apply_action(rng.choice(theirs.legal_actions()))
    assert theirs.is_terminal()
    return compared, all_in, mine, theirs


def spent(state) -> list[int]:
    """What each has put in, as OpenSpiel prints it."""
    line = next(line for line in str(state).splitlines() if line.startswith("Spent:"))
    return [int(part.split(":")[1]) for part in line[line.index("[") + 1 : line.index("]")].split("  ") if part.strip()]


@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_random_hands_are_those_of_universal_poker(players):
    rng = random.Random(players)
    decisions = all_in = shown = 0
    for _ in range(80):
        known = definition(rng, players)
        compared, more, mine, theirs = play(rng, known)
        decisions, all_in = decisions + compared, all_in + more
        assert theirs.returns() == pytest.approx(Both(known).payoff(mine), abs=1e-9)
        assert betting.start(known).paid == known.blinds
        shown += mine.bets.folded.count(False) > 1
    assert decisions > 200 and all_in > 15 and shown > 10
