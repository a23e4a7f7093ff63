"""Poker by a definition: pots, rankings, infosets, and the rules against the reference dealer and the native games."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_acpc import GOOD, definitions

import kibitz
from examples import examples
from kibitz import cards
from kibitz.core.errors import GameError, KibitzError, SpecError
from kibitz.games import CHANCE, TERMINAL, Game, game
from kibitz.games.kuhn import Kuhn
from kibitz.games.leduc import Leduc
from kibitz.games.tree import tree_of
from kibitz.poker.rules import betting
from kibitz.poker.rules.acpc import Definition, read
from kibitz.poker.rules.rules import Poker, cards_of, strength, text_of, winnings


def play(rules, text):
    """The state after some words: outcomes and actions."""
    state = rules.root()
    for word in text.split():
        if rules.turn(state) >= 0:
            assert word in rules.actions(state)
        state = rules.after(state, word)
    return state


def random_hand(rules, rng):
    """States of a random hand, the last one terminal."""
    states = [rules.root()]
    while (turn := rules.turn(states[-1])) != TERMINAL:
        state = states[-1]
        action = rules.sample(state, rng) if turn == CHANCE else rng.choice(rules.actions(state))
        states.append(rules.after(state, action))
    return states


# Pots


def chip_by_chip(paid, folded, values):
    """The k-th chips of all who paid k or more go to the best hand among those of them that did not fold."""
    won = [Fraction(0)] * len(paid)
    for height in range(1, max(paid) + 1):
        inside = [seat for seat in range(len(paid)) if paid[seat] >= height]
        best = max(values[seat] for seat in inside if not folded[seat])
        winners = [seat for seat in inside if not folded[seat] and values[seat] == best]
        for seat in winners:
            won[seat] += Fraction(len(inside), len(winners))
    return won


@settings(max_examples=examples(400), deadline=None, database=None)
@given(st.data())
def test_pots_are_those_of_single_chips(data):
    players = data.draw(st.integers(2, 6))
    paid = data.draw(st.lists(st.integers(0, 12), min_size=players, max_size=players))
    folded = data.draw(st.lists(st.booleans(), min_size=players, max_size=players))
    values = data.draw(st.lists(st.integers(0, 3), min_size=players, max_size=players))
    folded[paid.index(max(paid))] = False  # who paid the most has not folded
    won = winnings(paid, folded, values)
    assert won == pytest.approx([float(chips) for chips in chip_by_chip(paid, folded, values)], abs=1e-12)
    assert sum(won) == pytest.approx(sum(paid), abs=1e-12)


@pytest.mark.parametrize(
    ("paid", "folded", "values", "won"),
    [
        ([10, 10], "", [1, 2], [0, 20]),
        ([10, 10], "", [2, 2], [10, 10]),
        ([10, 30], "", [2, 1], [20, 20]),  # what nobody called goes back
        ([10, 30, 30], "", [3, 2, 1], [30, 40, 0]),  # a side pot for the second best
        ([10, 30, 30, 20], "3", [3, 2, 1, 9], [40, 50, 0, 0]),  # a folded hand wins nothing, its chips stay
        ([10, 10, 10], "", [5, 5, 5], [10, 10, 10]),
        ([5, 20, 20, 0], "", [7, 7, 1, 9], [7.5, 37.5, 0, 0]),  # tied for the first pot, alone in the second
        ([10, 10, 5], "2", [5, 5, 5], [12.5, 12.5, 0]),
        ([0, 0], "", [1, 2], [0, 0]),
    ],
)
def test_pots_by_hand(paid, folded, values, won):
    assert winnings(paid, [str(seat) in folded for seat in range(len(paid))], values) == won


# Rankings


def test_strength_of_one_and_two():
    assert strength([[0], [3], [4], [51]]).tolist() == [0, 0, 1, 12]
    deck = range(52)
    hands = np.array(list(combinations(deck, 2)))
    values = strength(hands)
    assert (values == strength(hands[:, ::-1])).all()
    paired = hands[:, 0] // 4 == hands[:, 1] // 4
    assert values[paired].min() > values[~paired].max()
    assert (np.diff(values[paired]) >= 0).all()
    # On a shared board the private card decides, as in Leduc.
    for board in (0, 20, 51):
        private = np.array([card for card in deck if card != board])
        values = strength(np.stack([private, np.full_like(private, board)], -1))
        rule = np.where(private // 4 == board // 4, 100, private // 4)
        assert (np.sign(values[:, None] - values) == np.sign(rule[:, None] - rule)).all()


def test_strength_of_more():
    three = np.array([[0, 4, 8], [0, 1, 2], [0, 20, 50]])
    assert (strength(three) == cards.evaluate_three(three)).all()
    seven = cards.parse("AhKhQhJhTh2c2d")
    for size in (5, 6, 7):
        assert strength(seven[:size]) == cards.evaluate(seven[:size])
    assert strength(np.zeros((2, 0, 7), np.int64)).shape == (2, 0)
    for size in (0, 4, 8):
        with pytest.raises(GameError, match=f"hands of {size} cards cannot be ranked"):
            strength(np.arange(size))


# The rules


def test_infosets():
    holdem = game("poker(file=holdem.limit.2p)")
    state = play(holdem, "KsAh 2c2d raise call")
    assert holdem.turn(state) == CHANCE
    state = play(holdem, "AhKs 2d2c raise call Qd7c2s call call Th raise")
    assert (holdem.turn(state), holdem.infoset(state)) == (1, "2d2c Qd7c2s Th:rc/cc/r")
    state = play(holdem, "AhKs 2d2c raise call Qd7c2s call call Th call")
    assert holdem.infoset(state) == "2d2c Qd7c2s Th:rc/cc/c"
    assert holdem.infoset(play(holdem, "AhKs 2d2c")) == "2d2c:"  # seat 1 acts first
    assert game("rhode_island").infoset(play(game("rhode_island"), "Ah Kd call raise call 7c")) == "Ah 7c:crc/"
    big = game("poker(file=holdem.nolimit.2p)")
    assert big.infoset(play(big, "AhKs 2d2c r300 call Qd7c2s r500")) == "2d2c Qd7c2s:r300c/r500"


def test_what_is_held():
    holdem = game("poker(file=holdem.limit.3p)")
    assert holdem.private("AhKh:cr") == ("AKs", 1)
    assert holdem.private("AhKs Qd7c2s:rcc/c") == ("AKo", 2)
    assert holdem.private("AhAs Qd7c2s Th:rcc/ccc/") == ("AA", 3)
    assert game("rhode_island").private("Th 7c:rc/") == ("T", 2)
    leduc = game("poker(file=leduc)")
    assert leduc.hand("Ac:cr") == ("Ac", "", "cr") and leduc.hand("Ac Kd:cc/r") == ("Ac", "Kd", "cc/r")
    for rules in (holdem, game("rhode_island")):
        with pytest.raises(GameError, match="need one card of each, as in leduc"):
            rules.hand("Ah Kd:cc/")


@pytest.mark.parametrize(
    ("file", "moves", "payoff"),
    [
        ("kuhn", "Qc Ac raise call", [-2, 2]),
        ("leduc", "Qc Ad call call Qd raise call", [5, -5]),  # a pair of queens
        ("rhode_island", "2c 3d raise raise raise call 2d call call 2h call call", [35, -35]),
        ("rhode_island", "Ah 9c call call 2c call call 3c raise call", [25, -25]),  # ace low: a straight beats a flush
        ("holdem.limit.2p", "AhKs 2d2c fold", [5, -5]),
        ("holdem.limit.2p", "AhKs 2d2c call raise fold", [10, -10]),
        ("holdem.limit.2p", "AhKs AdKc raise call Qd7c2s call call Th call call 3h call call", [0, 0]),
        ("holdem.limit.3p", "AhKs 2d2c 7h7d call fold call AdQcJs raise call 2s call call 3c call call", [-5, 25, -20]),
        ("holdem.nolimit.2p", "AhAs 7d2c r20000 call KdKcJs 9h 3s", [20000, -20000]),
    ],
)
def test_payoffs_by_hand(file, moves, payoff):
    rules = game(f"poker(file={file})")
    state = play(rules, moves)
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == payoff


def test_side_pots_in_play():
    three = Definition(False, 3, 1, (10, 30, 50), (1, 2, 0), (), (2,), (255,), 4, 13, 1, (0,))
    rules = Poker(three)
    state = play(rules, "Ah Kh Qh r50 call call")
    assert state.bets.paid == (10, 30, 50) and rules.payoff(state) == [20, 10, -30]
    assert rules.payoff(play(rules, "Qh Ah Kh r50 call call")) == [-10, 40, -30]
    assert rules.payoff(play(rules, "Ah As Qh r50 call call")) == [5, 25, -30]


def test_chance_deals_what_is_left():
    rules = game("poker(file=holdem.limit.2p)")
    first = rules.chance(rules.root())
    assert len(first) == 1326 and first[0] == ("2d2c", 1 / 1326)
    state = play(rules, "AhKs 2d2c raise call")
    flops = dict(rules.chance(state))
    assert len(flops) == 17296 and "Qd7c2s" in flops and "Qd7c2c" not in flops
    rng = random.Random(1)
    assert all(rules.sample(state, rng) in flops for _ in range(200))
    small = game("rhode_island(ranks=3, suits=2)")
    dealt = play(small, "Ac")
    seen = [small.sample(dealt, rng) for _ in range(5000)]
    counts = [seen.count(name) for name, _ in small.chance(dealt)]
    assert len(counts) == 5 == len(set(seen)) and min(counts) > 850  # 1000 each, give or take 28


def test_text_of_cards():
    assert text_of([0, 51, 50]) == "AsAh2c" and cards_of("AsAh2c") == (51, 50, 0)
    for pair in combinations(range(52), 2):
        assert sorted(cards_of(text_of(pair))) == list(pair)


@settings(max_examples=examples(150), deadline=None, database=None)
@given(definitions(), st.integers(0, 2**32))
def test_chips_are_kept(definition, seed):
    """No chip is made or lost, nobody loses more than it paid; and the way is that of the betting tree."""
    rules, rng = Poker(definition), random.Random(seed)
    state = random_hand(rules, rng)[-1]
    payoff = rules.payoff(state)
    paid, folded = state.bets.paid, state.bets.folded
    assert sum(payoff) == pytest.approx(0, abs=1e-9)
    assert all(won >= -chips for won, chips in zip(payoff, paid, strict=True))
    assert all(won == -chips for won, chips, gone in zip(payoff, paid, folded, strict=True) if gone)
    dealt = [card for hand in (*state.hole, *state.board) for card in hand]
    assert len(set(dealt)) == len(dealt) and set(dealt) <= set(definition.deck)
    if sum(folded) < definition.players - 1:
        assert sum(map(len, state.board)) == sum(definition.board)
        board = [card for hand in state.board for card in hand]
        values = [int(strength([*hand, *board])) for hand in state.hole]
        won = [float(chips) for chips in chip_by_chip(paid, folded, values)]
        assert payoff == pytest.approx([w - p for w, p in zip(won, paid, strict=True)], abs=1e-9)


@settings(max_examples=examples(60), deadline=None, database=None)
@given(definitions(chips=20, cap=2), st.integers(0, 2**32))
def test_play_goes_along_the_betting_tree(definition, seed):
    rules = Poker(definition)
    try:
        tree = rules.betting
    except GameError:
        return
    place = {(text, turn != CHANCE): node for node, (text, turn) in enumerate(zip(tree.text, tree.turn, strict=True))}
    for state in random_hand(rules, random.Random(seed)):
        if len(state.hole) < definition.players or state.turn == CHANCE:
            continue
        node = place[state.done, True]
        assert tree.turn[node] == state.turn and tree.round[node] == state.bets.round
        assert tuple(tree.paid[node]) == state.bets.paid and tuple(tree.folded[node]) == state.bets.folded
        if state.turn >= 0:
            assert tree.actions[tree.actions_of[node]] == rules.actions(state)


def test_protocol():
    for text in ["poker(file=kuhn)", "rhode_island(ranks=2, suits=2)"]:
        rules = game(text)
        assert isinstance(rules, Game) and not naive.forgets(rules)
    one = Poker(replace(read("leduc"), board=(0, 0)))  # a round without cards begins at once
    assert naive.count(one)["chance"] == 1 + 6
    assert one.infoset(play(one, "Ac Kc call call call")) == "Kc:cc/c"


def in_step(one, other):
    """Both trees node by node, in the order of their actions; infosets must be the same up to their labels."""
    labels: dict[object, object] = {}
    back: dict[object, object] = {}
    stack = [(one.root(), other.root())]
    nodes = 0
    while stack:
        a, b = stack.pop()
        nodes += 1
        turn = one.turn(a)
        assert turn == other.turn(b)
        if turn == TERMINAL:
            assert one.payoff(a) == pytest.approx(other.payoff(b), abs=1e-12)
            continue
        steps, others = naive.steps(one, a), naive.steps(other, b)
        assert [p for _, p in steps] == pytest.approx([p for _, p in others])
        if turn >= 0:
            label, same = (turn, one.infoset(a)), (turn, other.infoset(b))
            assert labels.setdefault(label, same) == same and back.setdefault(same, label) == label
        stack += [(one.after(a, x), other.after(b, y)) for (x, _), (y, _) in zip(steps, others, strict=True)]
    return nodes


def test_kuhn_and_leduc_are_the_native_ones():
    kuhn, leduc = read("kuhn"), read("leduc")
    assert in_step(Poker(kuhn), Kuhn()) == 58
    assert in_step(Poker(leduc), Leduc()) == naive.count(Leduc())["histories"] == 9457
    assert in_step(Poker(replace(kuhn, players=3, ranks=4, blinds=(1, 1, 1))), Kuhn(3)) == 617
    three = replace(leduc, players=3, ranks=2, blinds=(2, 2, 2), raise_size=(3, 5), max_raises=(1, 2))
    assert in_step(Poker(replace(three, max_raises=(1, 1))), Leduc(3, 2, 2, 2, (3, 5), 1)) > 1000
    with pytest.raises(AssertionError):
        in_step(Poker(three), Leduc(3, 2, 2, 2, (3, 5), 1))


def test_values():
    for name, value in [("kuhn", -1 / 18), ("leduc", -0.0856064)]:
        rules = f"poker(file={name})"
        profile = kibitz.solve(rules, "lp")
        assert kibitz.value(rules, profile)[0] == pytest.approx(value, abs=1e-7)
        assert kibitz.nash_conv(rules, profile) < 1e-9
    assert kibitz.value("leduc", kibitz.solve("leduc", "lp"))[0] == pytest.approx(-0.0856064, abs=1e-7)


# The reference dealer, which OpenSpiel's universal_poker is built on


def reference(pyspiel, definition):
    """The same game there. Stacks go with no-limit only; without them, limit games have at most four players."""

    def row(numbers):
        return " ".join(map(str, numbers))

    keys = {
        "betting": "limit" if definition.limit else "nolimit",
        "bettingAbstraction": "fcpa" if definition.limit else "fullgame",
        "numPlayers": definition.players,
        "numRounds": definition.rounds,
        "blind": row(definition.blinds),
        "firstPlayer": row(seat + 1 for seat in definition.first_player),
        "maxRaises": row(definition.max_raises),
        "numSuits": 4,
        "numRanks": 13,
        "numHoleCards": definition.hole,
        "numBoardCards": row(definition.board),
    }
    more = {"raiseSize": row(definition.raise_size)} if definition.limit else {"stack": row(definition.stacks)}
    return pyspiel.load_game("universal_poker", keys | more)


def random_holdem(rng):
    """Hold'em of one to four rounds with any blinds, stacks and caps."""
    limit, rounds = rng.random() < 0.5, rng.randint(1, 4)
    players = rng.randint(2, 4 if limit else 6)
    stacks = None if limit else tuple(rng.randint(1, rng.choice([12, 120])) for _ in range(players))
    blinds = [rng.choice([0, 1, 2, 5, 10]) for _ in range(players)]
    blinds[rng.randrange(players)] += 1
    return Definition(
        limit, players, rounds, stacks,
        tuple(blinds) if stacks is None else tuple(map(min, blinds, stacks)),
        tuple(rng.randint(1, 20) for _ in range(rounds)) if limit else (),
        tuple(rng.randrange(players) for _ in range(rounds)),
        tuple(rng.randint(0, 4) for _ in range(rounds)),
        4, 13, 2, (5,) if rounds == 1 else (0, 3, 1, 1)[:rounds],
    )  # fmt: skip


def hand_with_the_reference(rules, there, rng):
    state, other = rules.root(), there.new_initial_state()
    numbers = {"fold": 0, "call": 1, "raise": 2}
    while (turn := rules.turn(state)) != TERMINAL:
        if turn == CHANCE:
            outcome = rules.sample(state, rng)
            for card in cards_of(outcome):
                assert other.is_chance_node()
                other.apply_action(card)
            state = rules.after(state, outcome)
            continue
        actions = rules.actions(state)
        mine = [numbers[action] if action in numbers else int(action[1:]) for action in actions]
        assert (other.current_player(), other.legal_actions()) == (turn, mine)
        chosen = rng.randrange(len(mine) if rng.random() < 0.4 else min(2, len(mine)))
        state = rules.after(state, actions[chosen])
        other.apply_action(mine[chosen])
    assert other.is_terminal()
    assert rules.payoff(state) == pytest.approx(other.returns(), abs=1e-6)
    return state


def hands_with_the_reference(games, seed):
    pyspiel = pytest.importorskip("pyspiel")
    rng = random.Random(seed)
    pots = hands = 0
    for _ in range(games):
        definition = random_holdem(rng)
        if definition.stacks and definition.blinds == definition.stacks:
            continue  # all in by the blinds: the reference never ends
        rules, there = Poker(definition), reference(pyspiel, definition)
        for _ in range(8):
            state = hand_with_the_reference(rules, there, rng)
            live = [chips for chips, gone in zip(state.bets.paid, state.bets.folded, strict=True) if not gone]
            hands += 1
            pots += len(live) > 2 and len(set(live)) > 1
    return hands, pots


def test_hands_are_those_of_the_reference_dealer():
    hands, side_pots = hands_with_the_reference(250, seed=1)
    assert hands > 1900 and side_pots > 100


@pytest.mark.slow
def test_many_hands_are_those_of_the_reference_dealer():
    hands, side_pots = hands_with_the_reference(12_500, seed=2)
    assert hands > 95_000 and side_pots > 5000


# Names


def test_names(tmp_path):
    assert game("rhode_island").spec == "rhode_island"
    assert game("rhode_island(suits=4, ranks=6)").spec == "rhode_island(ranks=6)"
    assert game("rhode_island") == game("poker(file=rhode_island)") == Poker(read("rhode_island"))
    assert game("rhode_island(ranks=6)") != game("rhode_island")
    path = tmp_path / "my game.game"
    path.write_text(GOOD)
    for text in (str(path), path):
        rules = game(text)
        assert rules.spec == f'poker(file="{path}")' and game(rules.spec) == rules
        assert hash(game(rules.spec)) == hash(rules)
    assert Poker(read("leduc")).spec == "poker(file=leduc)"
    assert Poker(replace(read("leduc"), ranks=4)).spec == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("poker", "poker needs a value for 'file'"),
        ("poker(file=3)", "file=3 should be a word"),
        ("poker(file=leduk)", "did you mean 'leduc'"),
        ("poker(game=leduc)", "unknown parameter of poker"),
        ("none.game", "none.game cannot be read"),
        ("rhode_island(ranks=14)", "numRanks should be 1 to 13, not 14"),
        ("rhode_island(suits=1, ranks=3)", "4 cards are dealt, but numSuits and numRanks make a deck of 3"),
        ("rhode_island(ranks=two)", "a whole number"),
    ],
)
def test_mistakes(text, says):
    with pytest.raises(KibitzError) as caught:
        game(text)
    assert says in str(caught.value) and isinstance(caught.value, GameError | SpecError)


def test_the_rules_need_no_compiler():
    code = (
        "import sys, kibitz; rules = kibitz.game('rhode_island'); state = rules.root()\n"
        "for word in 'Ah Kd raise fold'.split(): state = rules.after(state, word)\n"
        "assert rules.payoff(state) == [5, -5] and len(rules.betting) == 1197\n"
        "print([m for m in ('numba', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_betting_of_a_fold():
    """The rules of betting on their own: a seat that folds keeps what it paid in the pot."""
    three = read("holdem.limit.3p")
    bets = betting.act(three, betting.start(three), "fold")
    assert (bets.turn, bets.paid, bets.folded) == (0, (5, 10, 0), (False, False, True))
    bets = betting.act(three, bets, "fold")
    assert (bets.turn, bets.paid) == (TERMINAL, (5, 10, 0))


@pytest.mark.parametrize("text", ["poker(file=kuhn)", "poker(file=leduc)", "rhode_island(ranks=2, suits=2)"])
def test_histories_are_counted_without_a_tree(text):
    game = kibitz.game(text)
    assert game.least_histories == tree_of(game).histories


def test_the_histories_of_large_games():
    assert kibitz.game("rhode_island").least_histories == 6_705_372_545
    deals = 1326 * 1225 * 1128 * 15_180 * 43 * 42  # at least one a deal where the betting is not counted
    assert kibitz.game("poker(file=holdem.limit.3p)").least_histories == deals
    with pytest.raises(GameError, match="at least"):
        tree_of(kibitz.game("poker(file=holdem.limit.3p)"))
