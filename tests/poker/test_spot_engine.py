"""The engine of spots beside its definition: the same walk with a matrix of showdowns, without any merging."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kibitz.cards import parse
from kibitz.cards.ranges import HANDS, hand_cards
from kibitz.cards.ranking import evaluate
from kibitz.games.protocol import CHANCE
from kibitz.poker.spots.engine_boards import SAME, renamed_hands, symmetries
from kibitz.poker.spots.engine_cpu import COARSE, GAMMA, MergedEngine, MergedRows, SpotCfr, coded, decoded
from kibitz.poker.spots.engine_layout import SpotLayout
from kibitz.poker.spots.locks import lock
from kibitz.poker.spots.sizes import SizeList, sizes_of
from kibitz.poker.spots.spot import Spot, betting_of, in_deck, live, meeting, met
from tests.poker.endgame_engine import EndgameEngine

DECKS = {"Tc Qd Kd": (5, 3), "Tc Qd Kd As": (6, 4), "Tc Qd Kd As Ac": (13, 4)}
CARDS = hand_cards()
ALPHA, LEAST = 1.5, 2.0**-32


def spot_of(board, ranges=None, deck=None, bets="50%, allin", pot=20.0, stack=45.0, **options):
    sizes = SizeList(sizes_of(bets), sizes_of("60%", True))
    weights = np.ones((2, HANDS)) if ranges is None else ranges
    return Spot(tuple(parse(board).tolist()), weights, pot, (stack, stack), ((sizes, sizes),) * 3,
                deck=deck or DECKS[board], **options)  # fmt: skip


def uneven(random, share=0.4):
    """Ranges with some hands at random weights; some are in one range alone."""
    return random.random((2, HANDS)) * (random.random((2, HANDS)) < share)


def class_ranges(random):
    """Ranges that do not know suits: weights by ranks, and by whether a hand is suited."""
    ranks, suited = CARDS // 4, CARDS[:, 0] % 4 == CARDS[:, 1] % 4
    kind = ranks[:, 0] * 13 + ranks[:, 1] + 169 * suited
    weights = random.random((2, 338)) * (random.random((2, 338)) < 0.7)
    return weights[:, kind]


class Naive:
    """dcfr+ and values by definition: a vector over all hands of the deck, every board, a matrix for every showdown."""

    def __init__(self, spot, tree):
        self.spot, self.tree = spot, tree
        self.hands = np.flatnonzero(~met(spot.board) & in_deck(spot.deck))
        self.cards = CARDS[self.hands]
        self.ranges = (live(spot) / live(spot).max(axis=1, keepdims=True))[:, self.hands]
        self.deck = [card for card in range(52) if card // 4 >= 13 - spot.deck[0] and card % 4 < spot.deck[1]]
        self.apart = ~(self.cards[:, None, :, None] == self.cards[None, :, None, :]).any(axis=(2, 3))
        self.regret, self.average, self.shows = {}, {}, {}
        self.chips = np.abs(tree.pays).max()  # the most that is paid counts as 1
        self.children = [tree.children(node) for node in range(len(tree))]

    def showdown(self, board):
        """[hands, hands]  1, 0 or -1 as a hand beats another."""
        if board not in self.shows:
            alive = ~np.isin(self.cards, board).any(axis=1)
            value = np.zeros(len(self.hands), np.int64)
            value[alive] = evaluate(np.array([[*hand, *board] for hand in self.cards[alive].tolist()]))
            self.shows = {**self.shows, board: np.sign(value[:, None] - value[None, :])}
        return self.shows[board]

    def walk(self, seat, node, board, reach, mode, t=0):
        """[hands]  values of a seat's hands against the other's reach. mode: learn, mean or best."""
        turn, children = int(self.tree.betting.turn[node]), self.children[node]
        if turn == CHANCE:
            left = [card for card in self.deck if card not in board]
            total = np.zeros(len(self.hands))
            for card in left:
                alive = ~(self.cards == card).any(axis=1)
                total += alive * self.walk(seat, children[0], (*board, card), reach * alive, mode, t)
            return total / (len(left) - 4)
        if not children:
            win, tie, lose = self.tree.pays[node, seat] / self.chips
            if self.tree.betting.folded[node].any():
                return win * (self.apart @ reach)
            sign = self.showdown(tuple(board))
            return (np.where(sign > 0, win, np.where(sign < 0, lose, tie)) * self.apart) @ reach
        key, width = (node, board), len(children)
        least = np.full((width, len(self.hands)), LEAST)  # no number is smaller: what is not reached is nearly not
        weights = (self.regret if mode == "learn" else self.average).get(key, least)
        rows = weights / weights.sum(axis=0)
        if turn != seat:
            plans = rows * reach
            k = t - 1 if seat == 0 else t
            if mode == "learn" and k > 0:
                before = self.average.get(key, least) * ((k - 1) / k) ** GAMMA
                self.average[key] = np.maximum(before + plans, LEAST)
            return sum(self.walk(seat, child, board, plan, mode, t)
                       for child, plan in zip(children, plans, strict=True))  # fmt: skip
        values = np.stack([self.walk(seat, child, board, reach, mode, t) for child in children])
        if mode == "best":
            return values.max(axis=0)
        mean = (rows * values).sum(axis=0)
        if mode == "learn":
            power = (t - 1) ** ALPHA
            self.regret[key] = np.maximum(weights * (power / (power + 1)) + values - mean, LEAST)
        return mean

    def root(self, seat, mode, t=0):
        """[1326]  values at the root."""
        return self.chips * self.spread(self.walk(seat, 0, self.spot.board, self.ranges[1 - seat], mode, t))

    def spread(self, numbers):
        """[..., hands] -> [..., 1326]"""
        whole = np.zeros((*numbers.shape[:-1], HANDS))
        whole[..., self.hands] = numbers
        return whole


def boards_of(spot, tree, node, random, count=3):
    """Some boards that a node may be met on."""
    more = len(spot.board) + int(tree.betting.round[node]) - len(spot.board)
    deck = [card for card in range(52) if card // 4 >= 13 - spot.deck[0] and card % 4 < spot.deck[1]]
    left = [card for card in deck if card not in spot.board]
    return [(*spot.board, *random.permutation(left)[:more].tolist()) for _ in range(count)]


@pytest.mark.parametrize(("board", "rake"), [("Tc Qd Kd", 0.0), ("Tc Qd Kd As", 0.05), ("Tc Qd Kd As Ac", 0.05)])
def test_iterations_are_those_of_the_definition(board, rake):
    random = np.random.default_rng(1)
    deck = {3: (4, 3), 4: (5, 3), 5: (13, 4)}[len(board.split())]
    board = board if len(board.split()) == 5 else board.replace("Tc", "Jc").replace("As", "Ah")
    options = {"bets": "50%", "stack": 20.0} if len(board.split()) == 3 else {}
    spot = spot_of(board, uneven(random, 0.5), deck, rake=rake, **options)
    tree = betting_of(spot)
    naive, state = Naive(spot, tree), SpotCfr(SpotLayout(spot, tree), np.float64, np.float64)
    for t in range(1, 4):
        for seat in (0, 1):
            naive.root(seat, "learn", t)
    state.iterate(0, 2, 2)
    state.iterate(2, 1, 1)
    answer, compared = MergedRows(state.layout, state), 0
    for node in np.flatnonzero(tree.betting.turn >= 0)[::7].tolist():
        seat = int(tree.betting.turn[node])
        for cards in boards_of(spot, tree, node, random):
            weights = naive.spread(naive.average[node, cards])
            live_hands = np.flatnonzero((spot.ranges[seat] > 0) & (weights.sum(axis=0) > 1e-4) & ~met(cards))
            expected = weights[:, live_hands] / weights[:, live_hands].sum(axis=0)
            assert np.allclose(answer.rows(node, cards)[:, live_hands], expected, atol=1e-6)
            compared += len(live_hands)
    assert compared > 100
    for seat in (0, 1):
        hands = state.layout.hands(seat, 0)
        for best in (True, False):
            expected = naive.root(seat, "best" if best else "mean")[hands]
            assert np.allclose(state.values(seat, best, 1), expected, atol=1e-6 * state.layout.chips)


def merged_and_not(spot, kind, work, iterations=5):
    tree = betting_of(spot)
    states = [SpotCfr(SpotLayout(spot, tree, merged), kind, work) for merged in (None, (SAME,))]
    for state in states:
        state.iterate(0, iterations, 1)
    return tree, *states


@pytest.mark.parametrize("board", ["Tc Qd Kd", "Tc Qc Kc", "Tc Qd Kd Ac"])
def test_merged_suits_change_nothing(board):
    random = np.random.default_rng(2)
    deck = {"Tc Qd Kd Ac": (6, 4)}.get(board, (5, 4))
    spot = spot_of(board, class_ranges(random), deck, bets="allin")
    tree, merged, plain = merged_and_not(spot, np.float64, np.float64)
    assert merged.layout.sequences < plain.layout.sequences
    both = [MergedRows(state.layout, state) for state in (merged, plain)]
    for node in np.flatnonzero(tree.betting.turn >= 0).tolist():
        for cards in boards_of(spot, tree, node, random):
            one, other = (answer.rows(node, cards) for answer in both)
            assert np.allclose(one, other, atol=1e-6)
    for seat in (0, 1):
        for best in (True, False):
            assert np.allclose(merged.values(seat, best, 1), plain.values(seat, best, 1), atol=1e-8)


def test_boards_of_one_kind_have_their_number_as_weight():
    spot = spot_of("Td 9d 6h", None, (13, 4))
    layout = SpotLayout(spot, betting_of(spot))
    assert symmetries(spot.board, spot.ranges, 4) == ((0, 1, 2, 3), (3, 1, 2, 0))  # clubs and spades
    turns = layout.boards[1 : layout.level_board[2]]
    assert len(turns) == 36 and round(sum(board.weight for board in turns) * 45, 9) == 49
    lop_sided = np.ones((2, HANDS))
    lop_sided[0, 5] = 0.5
    assert symmetries(spot.board, lop_sided, 4) == ((0, 1, 2, 3),)


def test_renamed_hands_are_a_permutation_that_cards_agree_with():
    change = renamed_hands((2, 0, 1, 3))
    assert np.array_equal(np.sort(change), np.arange(HANDS))
    for number in (0, 7, 900):
        cards = sorted(card // 4 * 4 + (2, 0, 1, 3)[card % 4] for card in CARDS[number].tolist())
        assert CARDS[change[number]].tolist() == cards


def test_codes_are_near_the_numbers_and_small_ones_are_nothing():
    random = np.random.default_rng(3)
    spot = spot_of("Tc Qd Kd As Ac", uneven(random), bets="allin")
    tree = betting_of(spot)
    states = [SpotCfr(SpotLayout(spot, tree)), SpotCfr(SpotLayout(spot, tree), np.float64, np.float64)]
    for state in states:
        state.iterate(0, 1, 1)
    codes, plain = (decoded(state.learned.regret) for state in states)
    large = plain > 1e-6
    assert large.any() and np.allclose(codes[large], plain[large], rtol=2.0**-10)
    assert (codes[~large] < 2e-6).all()


@pytest.mark.parametrize("board", ["Tc Qd Kd As", "Tc Qd Kd As Ac"])
def test_sixteen_bits_come_as_near_as_sixty_four(board):
    spot = spot_of(board, uneven(np.random.default_rng(4)), (13, 4))
    tree = betting_of(spot)
    gains = []
    for state in (SpotCfr(SpotLayout(spot, tree)), SpotCfr(SpotLayout(spot, tree), np.float64, np.float64)):
        engine = MergedEngine(spot, tree, 2)
        engine.state = state
        engine.iterate(0, 150)
        gains.append(engine.gains())
    both = sum(gain.exploitability for gain in gains)
    assert both < 2 * 0.005 * spot.pot
    assert abs(gains[0].value[0] - gains[1].value[0]) < both
    assert gains[0].exploitability < 1.5 * gains[1].exploitability + 1e-4 * spot.pot


@pytest.mark.parametrize("board", ["Tc Qd Kd", "Tc Qd Kd As"])
def test_results_do_not_depend_on_threads(board):
    spot = spot_of(board, uneven(np.random.default_rng(5)))
    tree = betting_of(spot)
    states = [SpotCfr(SpotLayout(spot, tree)) for _ in range(3)]
    for threads, state in enumerate(states, 1):
        state.iterate(0, 4, threads)
        state.iterate(4, 3, 1)
    for state in states[1:]:
        assert np.array_equal(state.learned.regret, states[0].learned.regret)
        assert np.array_equal(state.learned.average, states[0].learned.average)
        assert np.array_equal(state.values(1, True, 2), states[0].values(1, True, 1))


@pytest.mark.parametrize("board", ["Tc Qd Kd", "Tc Qd Kd As", "Tc Qd Kd As Ac"])
def test_it_agrees_with_the_engine_on_endgames(board):
    """Both solve to a small gap: values differ by no more than both gaps; and values of hands where a street begins
    are those of the other engine's form for this engine's strategy."""
    spot = spot_of(board, class_ranges(np.random.default_rng(6)), DECKS[board])
    tree = betting_of(spot)
    engines = [EndgameEngine(spot, tree, 1), MergedEngine(spot, tree, 1)]
    for engine in engines:
        engine.iterate(0, 200)
    one, other = (engine.gains() for engine in engines)
    gap = one.exploitability + other.exploitability
    assert gap < 0.01 * spot.pot
    assert abs(one.value[0] - other.value[0]) < gap + 1e-5 * spot.pot
    assert other.value.sum() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("board", ["Tc Qd Kd", "Tc Qd Kd As", "Tc Qd Kd As Ac"])
def test_values_where_a_street_begins(board):
    random = np.random.default_rng(7)
    deck = {3: (4, 3), 4: (5, 4), 5: (13, 4)}[len(board.split())]
    board = board.replace("Tc", "Jc") if deck[0] < 6 else board
    spot = spot_of(board, class_ranges(random) * 0.5, deck, bets="50%", stack=30.0)
    tree = betting_of(spot)
    engine = MergedEngine(spot, tree, 1)
    engine.iterate(0, 3)
    answer = engine.answer()
    roots = [0] + [child for node in np.flatnonzero(tree.betting.turn == CHANCE) for child in tree.children(node)]
    for node in roots[:: max(1, len(roots) // 4)]:
        if tree.betting.turn[node] == CHANCE:
            continue
        for cards in boards_of(spot, tree, node, random, 2):
            for seat in (0, 1):
                reach = live(spot)[1 - seat].copy()
                path, at = [], node
                while tree.betting.parent[at] >= 0:
                    path.append((int(tree.betting.parent[at]), at))
                    at = int(tree.betting.parent[at])
                for above, child in reversed(path):
                    if tree.betting.turn[above] == 1 - seat:
                        seen = cards[: len(spot.board) + int(tree.betting.round[above])]
                        reach *= answer.rows(above, seen)[tree.children(above).index(child)]
                reach[met(cards)] = 0.0
                naive = Naive(spot, tree)
                naive.average = Answers(answer, naive.hands)
                for best in (True, False):
                    expected = naive.walk(seat, node, cards, reach[naive.hands], "best" if best else "mean")
                    expected = naive.chips * naive.spread(expected)
                    hands = np.flatnonzero((live(spot)[seat] > 0) & ~met(cards))
                    values = answer.root_values(seat, node, cards, best)
                    assert np.allclose(values[hands], expected[hands], atol=2e-4 * spot.pot)


class Answers:
    """Rows of an answer as a dict of weights."""

    def __init__(self, answer, hands):
        self.answer, self.hands = answer, hands

    def get(self, key, _):
        return np.maximum(self.answer.rows(*key)[:, self.hands], LEAST)  # dead hands have none


def test_locked_nodes_keep_their_strategy():
    random = np.random.default_rng(8)
    spot = spot_of("Tc Qd Kd As Ac", uneven(random))
    tree = betting_of(spot)
    rows = random.random((len(tree.actions(0)), HANDS))
    rows /= rows.sum(axis=0)
    hands = random.random(HANDS) < 0.5
    engine = MergedEngine(spot, tree, 1, [lock(tree, "", rows, hands)], np.float64, np.float64)
    engine.iterate(0, 200)
    layout, state = engine.layout, engine.state
    # The other cannot gain against what is locked and solved around it.
    mass = layout.ranges[0] @ meeting(layout.ranges[1])
    mean, best = (layout.ranges[1, layout.hands(1, 0)] @ state.values(1, best, 1) / mass for best in (False, True))
    assert mean <= best + 1e-6 and best - mean < 0.002 * spot.pot
    answer = engine.answer().rows(0, spot.board)
    inside = live(spot)[0] > 0
    assert np.allclose(answer[:, inside & hands], rows[:, inside & hands], atol=1e-9)
    assert not np.allclose(answer[:, inside & ~hands], rows[:, inside & ~hands], atol=1e-2)


def test_pairs_of_hands_that_cannot_meet_are_not_counted():
    aces = np.zeros((2, HANDS))
    hands = {tuple(hand): k for k, hand in enumerate(CARDS.tolist())}
    for a, b in combinations(parse("Ah Ad As").tolist(), 2):
        aces[:, hands[tuple(sorted((a, b)))]] = 1.0
    aces[1, hands[tuple(sorted(parse("2c 3d").tolist()))]] = 1.0
    spot = spot_of("Tc Qd Kd 7s 7c", aces, (13, 4))
    engine = MergedEngine(spot, betting_of(spot), 1)
    engine.iterate(0, 100)
    gains = engine.gains()
    assert gains.value[0] > 0.45 * spot.pot  # aces meet no aces: three of them are shared by two players
    assert gains.exploitability < 0.01 * spot.pot


def test_after_many_iterations_numbers_have_thirty_two_bits():
    """In sixteen the exploitability does not fall below some thousandths of the pot."""
    spot = spot_of("Tc Qd Kd As Ac", uneven(np.random.default_rng(9), 0.1))
    engine = MergedEngine(spot, betting_of(spot), 1)
    engine.iterate(0, COARSE - 1)
    assert engine.state.learned.regret.dtype == np.uint16
    before = decoded(engine.state.learned.average)
    engine.state.widen()
    assert np.array_equal(engine.state.learned.average, before.astype(np.float32))
    assert np.array_equal(coded(engine.state.learned.average), coded(before))
    engine.iterate(COARSE - 1, 3_000)
    assert engine.gains().exploitability < 2e-4 * spot.pot
