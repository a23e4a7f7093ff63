"""Toepen's compiled state machine against the rules that a person reads: play, trees, counts and keys."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kibitz.core.jit import kernel
from kibitz.games.tree import Infosets, Tree, lay_out
from kibitz.toepen.arrays import arrays_of, deals_of, label_texts, rules_of
from kibitz.toepen.kernels.keys import NAMES as KINDS
from kibitz.toepen.kernels.keys import STRENGTH, STRENGTH_HISTORY, plain
from kibitz.toepen.kernels.lay import count_rows, keys_at
from kibitz.toepen.kernels.machine import action_of, options
from kibitz.toepen.kernels.rules import END, PackedState, act, deal, payoff, phase_of, player_of
from kibitz.toepen.keys import KEYS
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NAMES, SUITS, deal_text

READABLE = {"null": None, **{name: key for name, (key, _) in KEYS.items()}}
SHARED = [name for name in KINDS if name in READABLE]


# The machine, one move at a time


@kernel
def begin(one, two, rules, words):
    """The first decision of a deal, as five words."""
    state = deal(one, two, rules)
    for k in range(5):
        words[k] = state[k]


@kernel
def seen(words, rules, out):
    """out: phase, player, number of actions, cards a byte each; returns seat 0's payoff at the end."""
    state = PackedState(words[0], words[1], words[2], words[3], words[4])
    if phase_of(state) == END:
        out[0] = END
        return payoff(state)
    phase, width, cards = options(state, rules)
    out[0] = phase
    out[1] = player_of(state)
    out[2] = width
    out[3] = cards
    return 0.0


@kernel
def take(words, a, rules):
    """Take the a-th action."""
    state = PackedState(words[0], words[1], words[2], words[3], words[4])
    phase, _, cards = options(state, rules)
    after = act(state, phase, action_of(phase, cards, np.uint64(a)), rules)
    for k in range(5):
        words[k] = after[k]


class Machine:
    """The compiled rules with the names of the readable ones."""

    def __init__(self, game):
        self.game, self.rules, self.words = game, rules_of(game), np.zeros(5, np.uint64)

    def deal(self, one, two):
        masks = [np.uint64(sum(1 << card for card in hand)) for hand in (one, two)]
        begin(*masks, self.rules, self.words)

    def look(self):
        """(turn, actions, payoff of seat 0)."""
        out = np.zeros(4, np.uint64)
        value = seen(self.words, self.rules, out)
        phase, player, width, cards = (int(x) for x in out)
        if phase == 3:
            return -2, (), value
        if phase == 2:
            return player, tuple(NAMES[cards >> 8 * a & 255] for a in range(width)), value
        return player, (("check", "bet"), ("call", "fold"))[phase], value

    def label(self):
        return next(label_texts(self.words[None, :], self.game.betting))


def random_game(rng):
    while True:
        suits, ranks, hand = rng.randint(1, 4), rng.randint(1, 8), rng.randint(1, 4)
        if 2 * hand <= suits * ranks:
            return Toepen(suits, ranks, hand, rng.random() < 0.7, rng.random() < 0.7)


def random_hands(game, rng):
    cards = rng.sample(game.deck, 2 * game.hand)
    return tuple(sorted(cards[: game.hand])), tuple(sorted(cards[game.hand :]))


def random_play(game, machine, hands, rng):
    """Play one deal in both; yields (state, machine) at each decision and at the end, before the next move."""
    state = game.after(game.root(), deal_text(*hands))
    machine.deal(*hands)
    while True:
        yield state
        actions = () if state.turn < 0 else game.actions(state)
        if not actions:
            return
        a = rng.randrange(len(actions))
        if actions == ("call", "fold") and rng.random() < 0.6:
            a = 0  # else few hands come to their last trick
        state = game.after(state, actions[a])
        take(machine.words, a, machine.rules)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.some(4)
def test_random_play_is_the_same(seed):
    rng = random.Random(seed)
    ends = 0
    for _ in range(100):
        game = random_game(rng)
        machine = Machine(game)
        for _ in range(3):
            for state in random_play(game, machine, random_hands(game, rng), rng):
                turn, actions, value = machine.look()
                where = f"{game.spec}: {state.done}"
                assert turn == game.turn(state), where
                if turn < 0:
                    assert value == game.payoff(state)[0] == -game.payoff(state)[1], where
                    ends += 1
                    continue
                assert actions == game.actions(state), where
                assert machine.label() == game.infoset(state), where
    assert ends == 300


def test_four_of_four_in_the_real_game():
    """The longest histories: all eight cards played, with a bet before each that may be one."""
    game = Toepen()
    machine, rng = Machine(game), random.Random(1)
    most = 0
    for _ in range(300):
        hands = random_hands(game, rng)
        state = game.after(game.root(), deal_text(*hands))
        machine.deal(*hands)
        while state.turn >= 0:
            turn, actions, _ = machine.look()
            assert (turn, actions) == (state.turn, game.actions(state))
            assert machine.label() == game.infoset(state)
            # Bet and call all that can be.
            a = actions.index("bet") if "bet" in actions else 0 if "call" in actions else rng.randrange(len(actions))
            state = game.after(state, actions[a])
            take(machine.words, a, machine.rules)
        assert machine.look()[2] == game.payoff(state)[0]
        most = max(most, state.ante)
    assert most == 9, "one and a call before each of eight cards"


# Trees


class Rules:
    """A game without its compiled arrays: `lay_out` walks its rules."""

    def __init__(self, game):
        self._game = game

    def __getattr__(self, name):
        if name == "arrays":
            raise AttributeError(name)
        return getattr(self._game, name)


def compiled_tree(game):
    arrays = arrays_of(game)
    assert arrays is not None
    widths = np.array([len(a) for a in arrays["actions"]], np.int64)[arrays["actions_of"]]
    first = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    infosets = Infosets(arrays["seat_start"], first, arrays["labels"], arrays["actions"], arrays["actions_of"])
    fields = {name: arrays[name] for name in ("parent", "turn", "action", "infoset", "chance", "payoff")}
    return Tree(2, **fields, infosets=infosets, spec=game.spec)


@pytest.mark.parametrize(
    "game",
    [
        Toepen(2, 2, 2), Toepen(2, 2, 2, follow_suit=False), Toepen(2, 3, 2), Toepen(3, 2, 2, follow_suit=False),
        Toepen(1, 4, 2), Toepen(1, 8, 1), Toepen(4, 1, 2), Toepen(4, 2, 1), Toepen(3, 3, 2),
        Toepen(2, 4, 3, betting=False), Toepen(3, 3, 3, betting=False), Toepen(1, 2, 1, betting=False),
        Toepen(2, 3, 3, betting=False, follow_suit=False),
    ],
    ids=lambda game: game.spec,
)  # fmt: skip
@pytest.mark.some(5)
def test_trees_are_the_same(game):
    slow, fast = lay_out(Rules(game)), compiled_tree(game)
    for name in ("parent", "turn", "action", "infoset", "chance", "payoff"):
        assert np.array_equal(getattr(slow, name), getattr(fast, name)), name
        assert getattr(slow, name).dtype == getattr(fast, name).dtype, name
    assert list(slow.infosets.labels) == list(fast.infosets.labels)
    assert slow.digest == fast.digest
    assert lay_out(game).digest == slow.digest, "what kibitz uses"


def test_deals_are_in_the_order_of_the_rules():
    for game in (Toepen(2, 3, 2), Toepen(3, 3, 3), Toepen(1, 2, 1)):
        listed = [name for name, _ in game.chance(game.root())]
        masks = deals_of(game).tolist()
        texts = [deal_text(*(tuple(c for c in range(32) if mask >> c & 1) for mask in pair)) for pair in masks]
        assert texts == listed


def test_what_the_machine_does_not_play_is_left_to_the_rules():
    assert arrays_of(Toepen(2, 5, 5, betting=False)) is None
    assert arrays_of(Toepen(2, 2, 2, symmetric=True)) is None
    assert arrays_of(Toepen()) is None
    assert arrays_of(Toepen(2, 3, 2), limit=100) is None


# Counts: the tables of [Le 2021], all entries reproduced by full enumeration, and the same with suit followed


def rows(game, kind):
    """Distinct keys of each seat over the whole game."""
    for bits in (16, 22):
        count = np.zeros(2, np.int64)
        stack = np.zeros((512, 7), np.uint64)
        if count_rows(deals_of(game), rules_of(game), plain(KINDS[kind]), stack, np.zeros(1 << bits, np.uint64), count):
            return tuple(count.tolist())
    raise AssertionError("more rows than places")


THESIS = [  # suits, ranks, hand, betting: Table 3.1, Table 3.2, maximal
    ((2, 2, 2, False), (6, 4), (4, 2), 6),
    ((2, 2, 2, True), (230, 266), (153, 177), 252),
    ((2, 3, 2, False), (15, 24), (9, 12), 21),
    ((2, 3, 2, True), (1281, 2271), (774, 1356), 1782),
    ((3, 2, 2, False), (15, 36), (4, 10), 12),
    ((3, 2, 2, True), (1173, 2403), (311, 643), 616),
    ((3, 3, 2, False), (36, 144), (9, 39), 39),
    ((3, 3, 2, True), (5796, 16542), (1431, 4155), 3807),
    ((3, 3, 3, False), (1920, 2664), (517, 656), 788),
    ((3, 3, 3, True), (472554, 893784), (131763, 245195), 228065),
]
FOLLOWED = [  # with betting and suit followed: all, isomorphic, maximal
    ((2, 2, 2), 336, 210, 172),
    ((2, 3, 2), 2760, 1602, 1386),
    ((3, 2, 2), 3048, 822, 528),
    ((3, 3, 2), 18342, 4698, 3141),
    ((3, 3, 3), 749442, 195862, 125213),
]


@pytest.mark.parametrize(("shape", "null", "isomorphic", "maximal"), THESIS, ids=lambda x: str(x))
@pytest.mark.some(7)
def test_counts_of_the_thesis(shape, null, isomorphic, maximal):
    game = Toepen(*shape, follow_suit=not shape[3])
    assert rows(game, "null") == null
    assert rows(game, "isomorphic") == isomorphic
    assert sum(rows(game, "maximal")) == maximal


@pytest.mark.parametrize(("shape", "null", "isomorphic", "maximal"), FOLLOWED, ids=lambda x: str(x))
def test_counts_with_suit_followed(shape, null, isomorphic, maximal):
    game = Toepen(*shape)
    assert [sum(rows(game, kind)) for kind in ("null", "isomorphic", "maximal")] == [null, isomorphic, maximal]


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("naive", 4), ("simple-history", 166), ("simple-hand", 209829), ("advanced-hand", 333449),
        ("advanced-history", 176448), ("advanced-combined", 155586),
    ],
)  # fmt: skip
@pytest.mark.some(3)
def test_sizes_of_the_abstractions_of_the_thesis(kind, count):
    assert sum(rows(Toepen(3, 3, 3, follow_suit=False), kind)) == count


def test_a_table_of_keys_that_is_too_small_says_so():
    game, count = Toepen(2, 3, 2), np.zeros(2, np.int64)
    stack = np.zeros((512, 7), np.uint64)
    assert not count_rows(deals_of(game), rules_of(game), plain(KINDS["null"]), stack, np.zeros(256, np.uint64), count)


# Keys


def assert_same_partition(name, games, states, words):
    """Two decisions have the same compiled key exactly if they have the same readable key and seat."""
    key = READABLE[name]
    ours = np.zeros(len(words), np.uint64)
    keys_at(np.array(words), rules_of(games[0]), plain(KINDS[name]), ours)
    theirs = [
        (state.turn, game.infoset(state) if key is None else key(game, state))
        for game, state in zip(games, states, strict=True)
    ]
    there: dict = {}
    back: dict = {}
    for mine, yours, state in zip(ours.tolist(), theirs, states, strict=True):
        assert there.setdefault(mine, yours) == yours, f"{name} merges {there[mine]} and {yours}"
        assert back.setdefault(yours, mine) == mine, f"{name} splits {yours}, at {state.done}"
    return len(there)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("game", [Toepen(2, 3, 2), Toepen(3, 2, 2, follow_suit=False)], ids=lambda game: game.spec)
@pytest.mark.some(7)
def test_keys_of_all_infosets(game, name):
    arrays = arrays_of(game)
    labels, start = arrays["labels"], arrays["seat_start"]
    states = [game.read(0 if i < start[1] else 1, label) for i, label in enumerate(labels)]
    count = assert_same_partition(name, [game] * len(states), states, labels.examples)
    assert count == sum(rows(game, name))


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.some(4)
def test_keys_in_the_real_game(name):
    """Random deals, each played with several names of suits, so that keys which ignore them have something to merge."""
    rng = random.Random(7)
    for game in (Toepen(), Toepen(3, 4, 3, follow_suit=False), Toepen(4, 3, 4, betting=False)):
        machine, states, words = Machine(game), [], []
        for _ in range(40):
            hands, moves = random_hands(game, rng), rng.random()
            for _ in range(6):
                order = rng.sample(range(game.suits), game.suits)
                renamed = [tuple(sorted(8 * order[c // 8] + c % 8 for c in hand)) for hand in hands]
                for state in random_play(game, machine, renamed, random.Random(moves)):
                    if state.turn >= 0:
                        states.append(state)
                        words.append(machine.words.copy())
        count = assert_same_partition(name, [game] * len(states), states, words)
        assert name == "naive" or count > 20
        if name == "maximal":
            assert count < len({game.infoset(state) for state in states}) / 2, "names of suits are merged"


def test_all_names_but_those_by_strength_have_a_readable_twin_or_none_was_promised():
    assert set(READABLE) <= set(KINDS)
    alone = {name for name in KINDS if name not in READABLE}
    assert alone <= {"outlook", *(n for n, kind in KINDS.items() if kind in (STRENGTH, STRENGTH_HISTORY))}


def test_suits_of_cards_are_bytes_of_masks():
    assert len(NAMES) == 8 * len(SUITS) == 32
