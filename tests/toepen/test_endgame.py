"""The endgame solver against explicit trees of the same endgames, built from the rules alone."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.games.tree import lay_out
from kibitz.toepen.endgame import ToepenEndgame
from kibitz.toepen.endgame_rows import ANSWER, PLAY, PLAY_RAISED
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NAMES


class Naive:
    """The rules from the start of a trick on, straight from the book; chance deals hands by the ranges.

    A state is (hands, history, done) where history is the list of public actions and everything else is replayed.
    """

    players = 2

    def __init__(self, hands, ranges, leader, ante, last, betting, follow):
        self.deals = [
            (a, b, float(ranges[0][i] * ranges[1][j]))
            for i, a in enumerate(hands)
            for j, b in enumerate(hands)
            if not a & b and ranges[0][i] * ranges[1][j] > 0
        ]
        total = sum(x[2] for x in self.deals)
        self.deals = [(a, b, p / total) for a, b, p in self.deals]
        self.start = leader, ante, last
        self.betting, self.follow = betting, follow

    def root(self):
        return None

    def replay(self, state):
        """Who moves, what is due, the cards held, and the payoff of seat 0 if it is over."""
        (a, b), history = state
        held = [a, b]
        leader, ante, last = self.start
        turn, led = leader, None
        due = "bet" if self.betting and last != turn else "card"
        for act in history:
            if act == "check":
                due = "card"
            elif act == "bet":
                last, turn, due = turn, 1 - turn, "answer"
            elif act == "call":
                ante, turn, due = ante + 1, 1 - turn, "card"
            elif act == "fold":
                return None, "over", held, ante if turn == 1 else -ante, led
            else:
                card = NAMES.index(act)
                held[turn] &= ~(1 << card)
                if led is None:
                    led, turn = card, 1 - turn
                else:
                    if not (card // 8 == led // 8 and card > led):
                        turn = 1 - turn
                    led = None
                    if not held[0]:
                        return None, "over", held, ante if turn == 0 else -ante, led
                due = "bet" if self.betting and last != turn else "card"
        return turn, due, held, 0, led

    def turn(self, state):
        if state is None:
            return kibitz.CHANCE
        turn, due, *_ = self.replay(state)
        return kibitz.TERMINAL if due == "over" else turn

    def chance(self, state):
        return [(i, p) for i, (_, _, p) in enumerate(self.deals)]

    def actions(self, state):
        turn, due, held, _, led = self.replay(state)
        if due == "bet":
            return ("check", "bet")
        if due == "answer":
            return ("fold", "call")
        mine = [c for c in range(32) if held[turn] >> c & 1]
        if led is not None and self.follow and any(c // 8 == led // 8 for c in mine):
            mine = [c for c in mine if c // 8 == led // 8]
        return tuple(NAMES[c] for c in mine)

    def after(self, state, action):
        if state is None:
            return self.deals[action][:2], ()
        return state[0], (*state[1], action)

    def infoset(self, state):
        turn = self.replay(state)[0]
        return (state[0][turn], state[1])

    def payoff(self, state):
        x = float(self.replay(state)[3])
        return [x, -x]


def cards_of(suits, ranks):
    return [8 * s + r for s in range(suits) for r in range(8 - ranks, 8)]


def random_endgame(rng, k, cards, **given):
    """An endgame, ranges (some weights are 0) and the same as explicit rules."""
    unplayed = sum(1 << int(c) for c in rng.choice(cards, given.pop("count"), replace=False))
    leader, ante, last = int(rng.integers(2)), int(rng.integers(1, 4)), int(rng.integers(-1, 2))
    betting, follow = bool(rng.random() < 0.8), bool(rng.random() < 0.7)
    leader, betting = given.get("leader", leader), given.get("betting", betting)
    endgame = ToepenEndgame(unplayed, k, leader, ante, last, rules=Toepen(betting=betting, follow_suit=follow))
    share = 0.8 if k < 3 else 0.4  # explicit trees of three tricks are large
    while True:
        ranges = rng.random((2, len(endgame.hands))) ** 2 * (rng.random((2, len(endgame.hands))) < share)
        if ranges.any(axis=1).all() and ranges[0] @ endgame.compatible(ranges[1]) > 0:
            break
    ranges = endgame.ranges(*ranges)
    return endgame, ranges, Naive(endgame.hands.tolist(), ranges, leader, ante, last, betting, follow)


def profile_from(endgame, strategy, tree):
    """A strategy of the endgame as a profile of the explicit tree."""
    infosets = tree.infosets
    found = np.zeros(int(infosets.first[-1]))
    for i, label in enumerate(infosets.labels):
        hand, public = eval_label(label)
        first, last = infosets.first[i : i + 2]
        names = infosets.actions[infosets.actions_of[i]]
        columns = endgame.locate(public).columns(hand)
        assert sorted(columns) == sorted(names)
        found[first:last] = [1.0 if columns[name] < 0 else strategy[columns[name]] for name in names]
    return Profile(infosets, found, {"tree": tree.digest})


def eval_label(label):
    """(hand, public) back from the text that lay_out makes of a tuple."""
    text = label.strip("()")
    hand, _, rest = text.partition(",")
    return int(hand), [x.strip().strip("'") for x in rest.strip(" ()").split(",") if x.strip()]


SHAPES = [
    (1, (2, 3), 4), (1, (3, 3), 6), (2, (2, 3), 6), (2, (2, 4), 6), (2, (3, 3), 7), (2, (4, 2), 6), (3, (2, 3), 6),
]  # fmt: skip


def check(seed, k, deck, count, iterations, tolerance, **given):
    rng = np.random.default_rng(seed)
    endgame, ranges, rules = random_endgame(rng, k, cards_of(*deck), count=count, **given)
    tree = lay_out(rules)
    solution = endgame.solve(*ranges, iterations=iterations, seconds=None, floor=0.0)
    profile = profile_from(endgame, solution.probabilities, tree)
    assert kibitz.value(tree, profile)[0] == pytest.approx(solution.expected, abs=1e-9)
    assert kibitz.nash_conv(tree, profile) == pytest.approx(solution.nash_conv, abs=1e-9)
    assert -1e-9 <= solution.nash_conv <= tolerance
    exact = kibitz.value(tree, kibitz.solve(tree, "lp"))[0]
    assert abs(solution.expected - exact) <= min(solution.nash_conv, tolerance) + 1e-7
    # Any other strategies, too, are worth what the explicit tree says.
    strategy = random_strategy(rng, endgame)
    profile = profile_from(endgame, strategy, tree)
    found = endgame.evaluate(strategy, *ranges)
    assert found.value == pytest.approx(kibitz.value(tree, profile)[0], abs=1e-9)
    mass = [endgame.compatible(ranges[1]) * ranges[0], endgame.compatible(ranges[0]) * ranges[1]]
    for seat in range(2):
        sign = 1 - 2 * seat
        assert found.by_hand[seat] @ mass[seat] / mass[seat].sum() == pytest.approx(sign * found.value, abs=1e-9)
        response = endgame.respond(strategy, seat, ranges[1 - seat])
        best = kibitz.best_response(tree, profile, seat).value
        assert response.by_hand @ mass[seat] / mass[seat].sum() == pytest.approx(best, abs=1e-9)
        again = endgame.evaluate(response.strategy, *ranges)
        np.testing.assert_allclose(again.by_hand[seat], response.by_hand, atol=1e-9)


def random_strategy(rng, endgame):
    """Random probabilities at every row."""
    strategy = endgame.uniform()
    rows = endgame.rows()
    weights = rng.random((3, len(rows.seat))) * [(a < rows.actions) & (rows.legal >> a & 1) for a in range(3)]
    weights /= weights.sum(axis=0)
    for a in range(3):
        some = a < rows.actions
        strategy[rows.column[some] + a * rows.stride[some]] = weights[a][some]
    return strategy


@pytest.mark.parametrize("seed", range(13))
@pytest.mark.some(5)
def test_small_endgames_against_explicit_trees(seed):
    check(seed, *SHAPES[seed % len(SHAPES)], 1000, 5e-3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.some(3)
def test_what_one_seat_wins_the_other_loses(seed):
    """In many shapes of suits, and against the bounds on memory."""
    rng = np.random.default_rng(seed)
    for k, deck, count in [*SHAPES, (2, (2, 4), 8), (2, (2, 4), 5), (1, (2, 4), 5), (2, (1, 8), 7), (2, (4, 3), 9)]:
        endgame, ranges, _ = random_endgame(rng, k, cards_of(*deck), count=count)
        found = endgame.evaluate(random_strategy(rng, endgame), *ranges)
        mass = ranges[1] * endgame.compatible(ranges[0])
        assert found.by_hand[1] @ mass / mass.sum() == pytest.approx(-found.value, abs=1e-9)
        tree = endgame._tree
        for most, used in zip(endgame._bounds, (tree.node, tree.batch, tree.kids, tree.member), strict=True):
            assert len(used) <= most


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 240))
def test_many_small_endgames(seed):
    check(seed, *[*SHAPES, (2, (3, 3), 8), (2, (2, 4), 8)][seed % 9], 4000, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_three_tricks_with_a_stock(seed):
    check(seed, 3, (3, 3), 7, 3000, 1e-3)


@pytest.mark.parametrize(
    ("suits", "ranks", "hand", "value"),
    [
        (2, 2, 2, Fraction(2, 3)), (2, 3, 2, Fraction(17, 45)), (3, 2, 2, Fraction(13, 30)),
        (3, 3, 2, Fraction(95, 252)), (3, 3, 3, Fraction(33, 140)),
    ],
)  # fmt: skip
def test_whole_games_without_betting(suits, ranks, hand, value):
    rules = Toepen(suits, ranks, hand, betting=False)
    endgame = ToepenEndgame(sum(1 << c for c in rules.deck), hand, 0, rules=rules)
    even = np.ones(len(endgame.hands))
    solution = endgame.solve(even, even, iterations=300, seconds=None)
    assert solution.expected == pytest.approx(float(value), abs=2e-3)
    assert solution.nash_conv < 4e-3


def test_a_whole_game_with_betting():
    rules = Toepen(3, 3, 3)
    endgame = ToepenEndgame(sum(1 << c for c in rules.deck), 3, 0, rules=rules)
    even = np.ones(len(endgame.hands))
    solution = endgame.solve(even, even, iterations=25, seconds=None, threads=2)
    low, high = solution.expected - solution.nash_conv, solution.expected + solution.nash_conv
    assert low <= 0.308663 and high >= 0.308269
    assert solution.nash_conv < 0.2


def full(seed, **given):
    """Two tricks left in the full game: 28 cards, 378 hands."""
    rng = np.random.default_rng(seed)
    played = sum(1 << int(c) for c in rng.choice(32, 4, replace=False))
    endgame = ToepenEndgame(2**32 - 1 & ~played, 2, int(rng.integers(2)), **given)
    return endgame, rng.random((2, len(endgame.hands)))


def test_the_full_game_in_time(monkeypatch):
    """By a clock that goes on by a hundredth of a second with each iteration."""
    endgame, ranges = full(0)
    assert len(endgame.hands) == 378
    now, real = [0.0], ToepenEndgame._passes

    def passes(self, tables, weights, *others):
        now[0] += 0.01 * len(weights)
        return real(self, tables, weights, *others)

    with monkeypatch.context() as patch:
        patch.setattr("kibitz.toepen.endgame.time", SimpleNamespace(perf_counter=lambda: now[0]))
        patch.setattr(ToepenEndgame, "_passes", passes)
        solution = endgame.solve(*ranges, seconds=0.5)
    assert 0.3 < solution.seconds < 0.6
    assert solution.iterations > 5
    assert 0 <= solution.nash_conv < 0.5
    more = endgame.solve(*ranges, iterations=200, seconds=None)
    assert more.iterations == 200
    assert more.nash_conv < min(solution.nash_conv, 0.01)


def test_threads_do_not_change_the_answer():
    endgame, ranges = full(1, last_bettor=1)
    answers = [endgame.solve(*ranges, iterations=12, seconds=None, threads=n).probabilities for n in (1, 2, 3)]
    assert answers[0].tobytes() == answers[1].tobytes() == answers[2].tobytes()


def test_rows_say_where_columns_are():
    rng = np.random.default_rng(7)
    for k, deck, count in SHAPES:
        endgame, _, _ = random_endgame(rng, k, cards_of(*deck), count=count)
        rows = endgame.rows()
        for i in rng.permutation(len(rows.seat))[:300]:
            public, history = [], int(rows.history[i])
            for _ in range(rows.plays[i]):
                public += ["bet", "call"] if history & 1 else ["check"]
                public.append(history >> 1 & 31)
                history >>= 6
            assert history == 0
            public += {ANSWER: ["bet"], PLAY: ["check"], PLAY_RAISED: ["bet", "call"]}.get(int(rows.phase[i]), [])
            state = endgame.locate(public)
            assert state.seat == rows.seat[i]
            cards = [NAMES[c] for a, c in enumerate(rows.cards[i]) if c >= 0 and rows.legal[i] >> a & 1]
            members = int(rows.members[i])
            for hand in [1 << c for c in range(32) if members >> c & 1] or [int(rows.hand[i])]:
                found = state.columns(hand)
                names = cards or (["fold", "call"] if rows.phase[i] == ANSWER else ["check", "bet"])
                assert list(found) == names
                legal = [a for a in range(rows.actions[i]) if rows.legal[i] >> a & 1]
                assert list(found.values()) == [rows.column[i] + a * rows.stride[i] for a in legal]


def test_a_solution_answers_questions():
    endgame = ToepenEndgame(0xFFFF, 2, 1, ante=2, last_bettor=1)
    even = np.ones(len(endgame.hands))
    solution = endgame.solve(even, even, iterations=20, seconds=None)
    hand = 1 << 3 | 1 << 12
    cards = solution.strategy(1, ["check"], hand)
    assert sorted(cards) == sorted([NAMES[3], NAMES[12]]) and sum(cards.values()) == pytest.approx(1)
    assert solution.strategy(1, [], hand) == cards  # who bet last only checks: it need not be said
    asked = solution.strategy(0, ["check", NAMES[3]], 1 << 5 | 1 << 9)
    assert list(asked) == ["check", "bet"] and sum(asked.values()) == pytest.approx(1)
    assert solution.strategy(0, ["check", NAMES[3], "check"], 1 << 5 | 1 << 9) == {NAMES[5]: 1.0}  # follows suit
    assert list(solution.strategy(1, ["check", 3, "bet"], hand)) == ["fold", "call"]
    after = ["check", 3, "bet", "call", 5]  # seat 0 takes the trick, and has bet last
    assert solution.strategy(0, after, 1 << 9) == {NAMES[9]: 1.0}
    assert list(solution.strategy(1, [*after, "check", 9], 1 << 12)) == ["check", "bet"]
    assert solution.strategy(1, [*after, "check", 9], 1 << 12)["bet"] == 1.0  # the card that wins
    for seat, public, held in (
        (0, [], hand), (1, ["bet"], hand), (1, ["check", 3, "call"], hand), (1, ["check"], 7), (1, ["check", 30], hand),
        (1, ["check", 3, "bet", "fold"], hand), (1, ["check", 3, "check", 3], hand), (1, ["check", "nothing"], hand),
    ):  # fmt: skip
        with pytest.raises(GameError):
            solution.strategy(seat, public, held)


def test_ranges_that_cannot_be():
    endgame = ToepenEndgame(0b111100000011110000, 2, 0)
    n = len(endgame.hands)
    zero, even = np.zeros(n), np.ones(n)
    np.testing.assert_allclose(endgame.ranges(zero, even), 1 / n)
    one = np.eye(n)[0]  # both hold the same hand: no deal
    np.testing.assert_allclose(endgame.ranges(one, one, possible=(even, even)), 1 / n)
    np.testing.assert_allclose(endgame.ranges(one, one), 1 / n)
    some = np.arange(n) < 4
    mixed = endgame.ranges(one, even, 0.1, (some, None))
    np.testing.assert_allclose(mixed[0][:5], [0.925, 0.025, 0.025, 0.025, 0])
    solution = endgame.solve(zero, one, iterations=10, seconds=None)
    assert np.isfinite(solution.value(0)).all() and np.isfinite(solution.nash_conv)
    for bad in (even[:-1], -even, even * np.nan):
        with pytest.raises(SolverError):
            endgame.solve(bad, even)


def test_what_is_refused():
    with pytest.raises(SolverError, match=r"3 cards a hand and 30 unplayed needs about .* GiB"):
        ToepenEndgame(2**30 - 1, 3, 0)
    with pytest.raises(GameError, match="do not make two hands"):
        ToepenEndgame(0b111, 2, 0)
    with pytest.raises(GameError, match="1 to 3 cards"):
        ToepenEndgame(2**32 - 1, 4, 0)
    with pytest.raises(GameError, match="does not have"):
        ToepenEndgame(0b111111, 2, 0, rules=Toepen(2, 3, 2))
    with pytest.raises(SolverError, match="when to stop"):
        ToepenEndgame(0b1111, 1, 0).solve([1] * 4, [1] * 4, seconds=None)


def test_a_blend_is_worth_the_mean_of_what_it_mixes():
    rng = np.random.default_rng(3)
    endgame, ranges, _ = random_endgame(rng, 2, cards_of(3, 3), count=7, betting=True)
    first, second, other = (random_strategy(rng, endgame) for _ in range(3))
    rows = endgame.rows()
    for seat in range(2):
        for a in range(3):  # the other seat plays the same in both
            mine = (rows.seat != seat) & (rows.actions > a)
            at = rows.column[mine] + a * rows.stride[mine]
            first[at] = second[at] = other[at]
        mixed = endgame.blend(first, second, 0.3, seat, ranges[seat])
        values = [endgame.evaluate(x, *ranges).value for x in (first, second, mixed)]
        assert values[2] == pytest.approx(0.7 * values[0] + 0.3 * values[1], abs=1e-9)
