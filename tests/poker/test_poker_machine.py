"""Poker as a machine: compiled rules against those that a person reads, keys against infosets, and what comes of it."""

from __future__ import annotations

import random
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from poker_games import GAMES, LARGER, NO_CAP, coarse, limit, pair, random_probabilities

import kibitz
from kibitz.core.errors import GameError, KibitzError
from kibitz.games.kernels import machine as walk
from kibitz.games.kernels.dispatch import interpreted
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import tree_of
from kibitz.poker.exact.as_table import VIEW, hand_rows
from kibitz.poker.rules import acpc
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint, blueprint_profile, player
from kibitz.solvers.kernels.hash import hash_store, look_up
from kibitz.solvers.kernels.players import ALL_PARTS, AVERAGE, FREE, UNIFORM, Mask, Player, play_deals
from kibitz.solvers.kernels.walk import EXTERNAL, OUTCOME, WalkOrder, walk_all, workspace
from kibitz.solvers.saved_blueprints import load_blueprint

U64 = np.uint64
SUITS = "cdhs"


def many(players, stacks, blinds, suits, ranks, hole, board, first=0, raises=NO_CAP):
    """No-limit for many seats."""
    n = len(board)
    return Definition(False, players, n, stacks, blinds, (), (first,) * n, (raises,) * n, suits, ranks, hole, board)


PLAYED = {
    **GAMES,
    "rhode island": acpc.read("rhode_island"),
    "hold'em": acpc.read("holdem.limit.2p"),
    "three, side pots": many(3, (3, 5, 8), (1, 2, 0), 4, 3, 1, (0, 1, 1), first=2),
    "four, hold'em of a few chips": many(4, (2, 3, 4, 4), (1, 2, 0, 0), 4, 13, 2, (0, 3, 1, 1), first=2),
    "five cards each": limit(4, 13, 5, (0,), raises=2),
    "ten seats": many(10, (1, 2, 1, 2, 1, 2, 1, 2, 1, 2), (1,) + (0,) * 9, 4, 13, 4, (1, 0), raises=1),
    "seven cards each": many(7, (1, 2) * 3 + (2,), (1,) * 7, 4, 13, 7, (0,), raises=1),
    "cards in each of four rounds": limit(4, 4, 1, (1, 1, 1, 1), raises=1),
}


@cache
def machine_of(name):
    return Poker(PLAYED[name]).machine()


@pytest.fixture(autouse=True)
def _words():
    """Interpreted, words of 64 bits overflow as they should."""
    with np.errstate(over="ignore"):
        yield


def cards_in(state, count):
    """All cards of a state, in the order in which they are numbered."""
    return [int(state[1 + k // 10]) >> 6 * (k % 10) & 63 for k in range(count)]


class Both:
    """A hand in the machine, interpreted, and by the rules, with the same cards."""

    def __init__(self, machine, seed=0, state=None):
        self.machine, self.rules, self.definition = machine, machine.rules, machine.definition
        d = self.definition
        self.state = walk.deal(machine.game, np.array([seed], U64)) if state is None else state
        cards = cards_in(self.state, sum(d.board) + d.players * d.hole)
        assert len(set(cards)) == len(cards) and set(cards) <= set(d.deck)
        board = [cards[sum(d.board[:r]) : sum(d.board[: r + 1])] for r in range(d.rounds)]
        rest = cards[sum(d.board) :]
        self.due = [rest[seat * d.hole :][: d.hole] for seat in range(d.players)] + [each for each in board if each]
        self.hand = self.rules.root()
        self.turn_cards()

    def turn_cards(self):
        while self.rules.turn(self.hand) == CHANCE:
            self.hand = self.rules.after(self.hand, text_of(self.due.pop(0)))

    def act(self, action):
        self.hand = self.rules.after(self.hand, self.rules.actions(self.hand)[action])
        self.state = walk.after(self.machine.game, self.state, U64(action))
        self.turn_cards()

    def key(self, view="isomorphic"):
        return int(walk.key(self.machine.game, self.machine.view(view).keys, self.state))

    def decisions(self, rng):
        """Random play to the end; each decision on the way, before it is made."""
        while self.rules.turn(self.hand) >= 0:
            yield self.rules.turn(self.hand), self.rules.infoset(self.hand)
            count = len(self.rules.actions(self.hand))
            calls = self.rules.actions(self.hand).index("call")
            self.act(calls if rng.random() < 0.3 else rng.randrange(count))  # or few come to the showdown


@pytest.mark.parametrize("name", PLAYED)
def test_play_is_that_of_the_rules(name):
    machine, rng = machine_of(name), random.Random(name)
    game = machine.game
    assert machine.players == machine.definition.players == int(game.seats)
    for seed in range(40):
        both, length = Both(machine, seed), 0
        for seat, infoset in both.decisions(rng):
            assert walk.turn(game, both.state) == seat
            assert int(walk.width(game, both.state)) == len(both.rules.actions(both.hand)) <= machine.actions
            assert walk.part(game, both.state) == infoset.count("/") == both.hand.bets.round
            length += 1
        assert length <= machine.depth
        assert walk.turn(game, both.state) == both.rules.turn(both.hand) == TERMINAL
        found = [walk.payoff(game, both.state, U64(seat)) for seat in range(machine.players)]
        assert found == both.rules.payoff(both.hand)
        assert abs(sum(found)) < 1e-9, "chips come from somebody"


def test_all_deals_are_met():
    """Kuhn's six deals, about as often."""
    machine = machine_of("kuhn")
    seen: dict = {}
    for seed in range(1200):
        cards = tuple(cards_in(walk.deal(machine.game, np.array([seed], U64)), 2))
        seen[cards] = seen.get(cards, 0) + 1
    assert len(seen) == 6 and min(seen.values()) > 140


# Keys


def renamed(cards, names):
    return [card & ~3 | names[card & 3] for card in cards]


def state_of(machine, cards):
    words = [0] * 7
    for k, card in enumerate(cards):
        words[k // 10] |= card << 6 * (k % 10)
    kind = type(walk.deal(machine.game, np.array([0], U64)))
    return kind(machine.game.root, *map(U64, words))


def canonical(infoset, suits, view):
    """An infoset as an abstraction sees it."""
    cards, _, done = infoset.partition(":")
    if view == "null":
        return infoset
    if view == "ranks":
        return " ".join("".join(sorted(group[::2])) for group in cards.split(" ")) + ":" + done
    found = []
    for names in permutations(SUITS[:suits]):
        text = cards.translate(str.maketrans(SUITS[:suits], "".join(names).upper()))
        found.append(" ".join("".join(sorted(g[k : k + 2] for k in range(0, len(g), 2))) for g in text.split(" ")))
    return min(found) + ":" + done


@pytest.mark.parametrize("view", ["null", "isomorphic", "ranks"])
@pytest.mark.parametrize(
    "name",
    ["leduc", "rhode island", "hold'em", "hands of two, flop", "three, side pots", "rounds without cards",
     "cards in each of four rounds", "one suit"],
)  # fmt: skip
@pytest.mark.some(9)
def test_keys_are_those_of_infosets(name, view):
    """Deals with many suit permutations and orders of cards: one key for each infoset, up to what the view merges."""
    machine, rng = machine_of(name), random.Random(3)
    d, there, back, texts = machine.definition, {}, {}, {}
    for seed in range(12):
        cards = cards_in(Both(machine, seed).state, sum(d.board) + d.players * d.hole)
        for moves in range(8):
            other = renamed(cards, [*rng.sample(range(d.suits), d.suits), *range(d.suits, 4)])
            at = 0
            for size in (*d.board, *[d.hole] * d.players):
                other[at : at + size] = rng.sample(other[at : at + size], size)
                at += size
            both = Both(machine, state=state_of(machine, other))
            for seat, infoset in both.decisions(random.Random(moves // 2)):
                key, said = both.key(view), (seat, canonical(infoset, d.suits, view))
                assert key and there.setdefault(key, said) == said, "merges too much"
                assert back.setdefault(said, key) == key, "splits"
                texts[seat, infoset] = key
    for seat in range(d.players):
        mine = [text for of, text in texts if of == seat]
        found = machine.keys_of(machine.view(view), seat, mine, [2] * len(mine))
        assert found.tolist() == [texts[seat, text] for text in mine]
    if d.suits > 1 and view != "null":
        assert len(there) < len(texts)


def test_what_others_hold_does_not_change_a_key():
    machine = machine_of("three, side pots")
    one = state_of(machine, [50, 49, 48, 47, 46])  # two on the board, then a card of each seat
    first = Both(machine, state=one).hand.turn
    cards = [50, 49, 48, 47, 46]
    for seat in range(3):
        if seat != first:
            cards[2 + seat] = 40 + seat
    cards[0] = 44  # nor do cards that are not turned yet
    assert Both(machine, state=state_of(machine, cards)).key() == Both(machine, state=one).key()


@pytest.mark.parametrize(
    ("seat", "infoset"),
    [(0, "As:"), (0, "2c:"), (1, "Ac:"), (0, "AcKc:"), (0, "Ac:x"), (0, "Ac :"), (0, ":"), (0, ""), (0, "Ac Kc:"),
     (0, "Ac Ac:cc/"), (0, "Ac:cc/"), (0, "A:"), (0, "Acx:")],
)  # fmt: skip
def test_a_text_that_is_no_infoset_is_refused(seat, infoset):
    """Leduc has the suits c and d and the ranks Q, K and A."""
    machine = machine_of("leduc")
    assert len(machine.keys_of(machine.view(), 0, ["Ac:", "Ac Ad:cc/"], [2, 2])) == 2
    with pytest.raises(GameError, match="is not an infoset of"):
        machine.keys_of(machine.view(), seat, [infoset], [2])


def test_what_the_machine_is_not():
    with pytest.raises(KibitzError, match="unknown abstraction"):
        machine_of("leduc").view("outlook")
    with pytest.raises(GameError, match=r"the betting of holdem\.nolimit\.2p has .* the limit is"):
        Blueprint.empty("poker(file=holdem.nolimit.2p)", memory=1 << 20)


# The compiled walk and match, and the same interpreted


def order_of(machine, mode=EXTERNAL):
    players = machine.players
    return WalkOrder(np.int64(mode), 0.6, False, True, np.int64(7), U64(players), U64((1 << players) - 1))


def trained_by(train, machine, view, mode, iterations=4):
    store = hash_store(1 << 12, machine.actions)
    work = workspace(machine.depth, machine.words if train is machine.train else 0, machine.actions)
    keys = machine.view(view).keys
    base = Player(np.int64(UNIFORM), keys, store, np.int64(ALL_PARTS), keys, store)
    mask = Mask(np.int64(FREE), U64(0), np.int64(0))
    train(machine.game, keys, store, mask, base, order_of(machine, mode), np.int64(0), np.int64(iterations), work)
    return store, work.count


@pytest.mark.parametrize(("name", "view"), [("leduc", "null"), ("rhode island", "isomorphic"),
                                            ("three, side pots", "isomorphic"), ("hold'em", "ranks")])  # fmt: skip
@pytest.mark.parametrize("mode", [EXTERNAL, OUTCOME])
def test_compiled_and_interpreted_walks_are_the_same(name, view, mode):
    machine = machine_of(name)
    fast, count = trained_by(machine.train, machine, view, mode)
    slow, same = trained_by(interpreted(walk_all), machine, view, mode)
    assert count.tolist() == same.tolist() and count[0] > 0
    assert np.array_equal(fast.key, slow.key) and np.array_equal(fast.value, slow.value)


def seatings_of(players):
    return np.array([[(seat + k) % players for seat in range(players)] for k in range(players)], np.int64)


def dueled(duel, machine, players, deals, seed=5):
    result = np.zeros((deals, machine.players, machine.players))
    room = [np.zeros(96, U64), np.zeros(96, U64), np.zeros(machine.actions)]
    duel(machine.game, players, seatings_of(machine.players), np.int64(seed), np.int64(0), result, *room)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leduc", "three, side pots"])
def test_compiled_and_interpreted_matches_are_the_same(name):
    machine = machine_of(name)
    blueprint = Blueprint.empty(machine.rules, memory=1 << 20)
    blueprint.train(iterations=50)
    one = [blueprint.player(), blueprint.player(greedy=True)]
    players = tuple(one[:1] + one[1:] + [player(machine, UNIFORM)] * (machine.players - 2))
    fast, slow = (dueled(duel, machine, players, 20) for duel in (machine.duel, interpreted(play_deals)))
    assert np.array_equal(fast, slow)
    assert np.abs(fast.sum(axis=2)).max() < 1e-9, "chips are conserved"
    alike = dueled(machine.duel, machine, (one[0],) * machine.players, 20)
    assert np.abs(alike.sum(axis=1)).max() < 1e-9, "all seatings share all luck"


# What comes of it


def test_leduc_comes_near_an_equilibrium():
    rules = Poker(acpc.read("leduc"))
    tree, rows = tree_of(rules), {"null": 936, "isomorphic": 468, "ranks": 288}
    assert set(rows) == set(rules.machine().abstractions)
    for view, count in rows.items():
        blueprint = Blueprint.empty(rules, view, memory=1 << 20, seed=1)
        blueprint.train(iterations=100_000)
        assert blueprint.store.used == count
        assert kibitz.nash_conv(tree, blueprint_profile(blueprint, tree)) < 0.2  # uniform play: 4.7


@pytest.mark.parametrize("spec", ["poker(file=leduc)", "rhode_island(ranks=3, suits=2)"])
def test_a_blueprint_is_saved_and_goes_on(spec, tmp_path):
    whole, first = (Blueprint.empty(spec, memory=1 << 20, seed=3) for _ in range(2))
    whole.train(iterations=600)
    first.train(iterations=200)
    first.save(tmp_path / "b")
    again = load_blueprint(tmp_path / "b")
    assert (again.machine.spec, again.abstraction) == (spec, "isomorphic")
    again.train(iterations=600)
    assert again.sha256 == whole.sha256


def test_a_part_is_a_betting_round():
    rules = Poker(acpc.read("leduc"))
    machine, tree = rules.machine(), tree_of(rules)
    assert machine.parts == ["round 1", "round 2"]
    assert machine.parts_at(tree.infosets).tolist() == [label.count("/") for label in tree.infosets.labels]
    base = Blueprint.empty(rules, memory=1 << 20)
    base.train(iterations=1000)
    graft = Blueprint.empty(rules, "ranks", memory=1 << 20, base=base, part="round 2")
    graft.train(iterations=5000)
    profile, under = (blueprint_profile(each, tree).probabilities for each in (graft, base))
    second = machine.parts_at(tree.infosets)[tree.infosets.row_of_column] == 1
    assert np.array_equal(profile[~second], under[~second]) and not np.array_equal(profile[second], under[second])


@pytest.mark.parametrize("name", ["leduc", "hands of two", "rhode island of 3 by 2", "rounds without cards"])
def test_a_profile_of_the_form_is_seated(name):
    """Its rows play what the profile plays at every infoset of the tree."""
    both = pair(name)
    machine, width = both.game.machine(), both.tree.infosets.width.astype(np.int64)
    probabilities = random_probabilities(both.form, 3)
    keys, values = hand_rows(machine, both.form.infosets, probabilities)
    assert len(np.unique(keys)) == len(keys)
    rows = np.zeros((len(width), machine.actions))
    look_up(tables.packed(keys, values), machine.keys_at(machine.view("isomorphic"), both.tree.infosets), width, rows)
    found = rows[np.arange(machine.actions) < width[:, None]]
    np.testing.assert_allclose(found, both.lift(probabilities), rtol=0, atol=1e-6)
    assert np.array_equal(values[:, : machine.actions], values[:, machine.actions :])


def test_only_a_profile_of_the_game_is_seated():
    form, other = pair("leduc").form, pair("hands of two")
    with pytest.raises(GameError, match=r"the profile is for poker.* not for"):
        hand_rows(other.game.machine(), form.infosets, form.uniform())
    with pytest.raises(GameError, match="a profile of an abstract game"):
        hand_rows(pair("leduc").game.machine(), coarse("leduc").form.infosets, coarse("leduc").form.uniform())


@pytest.mark.slow
def test_a_blueprint_against_a_solved_profile_wins_the_value_of_the_game():
    """Rhode Island hold'em with a smaller deck and one raise in each round."""
    rules = Poker(LARGER["rhode island of 4 by 2"])
    machine, profile = rules.machine(), kibitz.solve(rules, "cfr+", iterations=200)
    value, gap = kibitz.value(rules, profile), kibitz.nash_conv(rules, profile)
    rows = tables.packed(*hand_rows(machine, profile.infosets, profile.probabilities))
    solved = player(machine, AVERAGE, machine.view(VIEW), rows)
    blueprint = Blueprint.empty(rules, memory=1 << 22, seed=1)
    blueprint.train(iterations=100_000)

    def won(one):
        return dueled(machine.duel, machine, (one, solved), 40_000)[:, :, 0]

    itself = won(solved)
    assert np.abs(itself.sum(axis=1)).max() == 0.0
    assert abs(itself[:, 0].mean() - value[0]) < 4 * itself[:, 0].std() / 200
    learned = won(blueprint.player()).mean(axis=1)
    assert -0.5 < learned.mean() < gap + 4 * learned.std() / 200
    assert won(player(machine, UNIFORM)).mean() < -3.0
