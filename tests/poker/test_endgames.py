"""Endgames of poker: what is left of a game, solved for ranges, plain and safe."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import compact_form
from kibitz.poker.endgames.endgames import Safe, solved
from kibitz.poker.endgames.refined import Refinement, refined
from kibitz.poker.endgames.subgame import Endgame
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import Poker, strength

LEDUC, SMALL = "poker(file=leduc)", "poker(file=holdem.limit.2p, ranks=3)"
RHODE = "poker(file=rhode_island, ranks=3)"
PLACES = [(LEDUC, "crc/"), (LEDUC, "rrc/"), (SMALL, "crc/cc/crc/"), (SMALL, "cc/crc/cc/")]


def rules_of(game: str) -> Poker:
    found = kibitz.game(game)
    assert isinstance(found, Poker)
    return found


def some_board(rules: Poker, node: int, rng: np.random.Generator) -> list[int]:
    level = int(rules.betting.round[node])
    cards = rng.choice(rules.definition.deck, sum(rules.definition.board[: level + 1]), replace=False)
    return [int(card) for card in cards]


def by_definition(endgame: Endgame, strategy: np.ndarray) -> np.ndarray:
    """What both seats win, card by card and action by action; weighted by ranges, over all pairs of hands that meet."""
    rules, betting = endgame.whole, endgame.betting
    definition, tree = rules.definition, rules.betting
    deck = list(definition.deck)
    hands = [tuple(hand) for hand in endgame.hands.tolist()]
    children: dict[int, list[int]] = {}
    for node in range(1, len(betting)):
        children.setdefault(int(betting.parent[node]), []).append(node)

    def worth(node: int, board: tuple[int, ...], held: tuple[tuple[int, ...], ...]) -> float:
        turn = int(betting.turn[node])
        if turn == -1:  # the board goes on
            count = definition.board[int(tree.round[node + endgame.root_node])]
            left = [card for card in deck if card not in (*board, *held[0], *held[1])]
            every = list(itertools.combinations(left, count))
            return sum(worth(children[node][0], (*board, *cards), held) for cards in every) / len(every)
        if turn < -1:
            paid, folded = betting.paid[node], betting.folded[node]
            if folded.any():
                return float(-paid[0] if folded[0] else paid[1])
            own, other = (int(strength(np.array((*cards, *board)))) for cards in held)
            return float(paid.min()) * ((own > other) - (own < other))
        rows = endgame.rows_at(strategy, turn, node + endgame.root_node)[:, endgame.class_of(board, held[turn])]
        return sum(float(p) * worth(child, board, held) for p, child in zip(rows, children[node], strict=True))

    board = tuple(endgame.cards.rounds[0].boards[0].tolist())
    total = pairs = 0.0
    for (i, one), (j, two) in itertools.product(enumerate(hands), repeat=2):
        if not {*one} & {*two}:
            weight = float(endgame.ranges[0, i] * endgame.ranges[1, j])
            total, pairs = total + weight * worth(0, board, (one, two)), pairs + 1
    return np.array([total / pairs, -total / pairs])


@pytest.mark.parametrize(
    "game, text", [(LEDUC, "crc/"), (LEDUC, "rrc/"), (SMALL, "crc/cc/crc/"), (SMALL, "cc/crc/cc/")]
)
def test_values_are_those_of_the_rules(game, text):
    rules, rng = rules_of(game), np.random.default_rng(5)
    node = rules.betting.text.index(text)
    endgame = Endgame(rules, node, some_board(rules, node, rng))
    endgame.ranges = rng.random(endgame.ranges.shape)
    weights = rng.random(endgame.sequences)
    strategy = np.empty(endgame.sequences)
    endgame._normalise(weights, strategy)
    found = endgame.measure_weights(weights)
    assert found.value == pytest.approx(by_definition(endgame, strategy), abs=1e-9)
    for seat in (0, 1):  # a best response is the best of what hands win, each by itself
        share = endgame.cards.rounds[0].share
        assert found.best[seat] == pytest.approx((endgame.ranges[seat] * share) @ endgame.response(seat, strategy))
        assert found.best[seat] >= found.value[seat] - 1e-12


@pytest.mark.parametrize("game, text", [(LEDUC, "crc/"), (RHODE, "crc/"), (RHODE, "cc/crc/")])
@pytest.mark.some(2)
def test_responses_are_those_of_the_whole_game(game, text):
    """Leaving values come out of one pass over the whole game, and out of the endgame itself."""
    rules, rng = rules_of(game), np.random.default_rng(3)
    form = compact_form(rules)
    strategy = np.empty(form.sequences)
    form._normalise(rng.random(form.sequences), strategy)
    node = rules.betting.text.index(text)
    work = Refinement(rules, form, strategy, int(rules.betting.round[node]), 0.0)
    segment = work.first[node]
    for root in range(min(2, len(form.cards.rounds[work.level].boards))):
        spot = work.root(segment, root)
        inside = np.ones(spot.endgame.sequences)
        for seg, k, at in spot.endgame.decisions():
            seat, level = int(form.betting.turn[at]), int(spot.endgame.levels[seg])
            here = spot.endgame.cards.rounds[level]
            mine = form.sequences_at(seat, work.first[int(spot.endgame.segments.node[seg][0]) + node], k)
            labels = [
                label(rules, hand, here.boards[board].tolist())
                for board, hand in zip(here.board_of_class.tolist(), here.hand.tolist(), strict=True)
            ]
            of = np.array([form.cards.find(work.level + level, text) for text in labels])
            inside[spot.endgame.sequences_at(seat, seg, k)] = strategy[mine[:, of]]
        for seat in (0, 1):
            assert work.leaving(spot, seat) == pytest.approx(spot.endgame.response(1 - seat, inside), abs=1e-9)


def label(rules: Poker, hand: list[int], board: list[int]) -> str:
    """Cards as infosets name them: those that came together in one group."""
    groups, at = [text_of(hand)], 0
    for count in rules.definition.board:
        if count and at < len(board):
            groups.append(text_of(board[at : at + count]))
            at += count
    return " ".join(groups)


def test_a_solution_is_an_equilibrium_of_what_is_left():
    rules, rng = rules_of(LEDUC), np.random.default_rng(2)
    node = rules.betting.text.index("crc/")
    endgame = Endgame(rules, node, some_board(rules, node, rng), rng.random((2, 5)))
    found = solved(endgame, gap=1e-4)
    again = endgame.measure_weights(found.strategy).nash_conv / (endgame.mass * endgame.pot)
    assert found.gap == pytest.approx(again, rel=1e-3) and again <= 1e-4
    assert solved(endgame, iterations=50).iterations == 50
    assert solved(endgame, seconds=0.05).iterations >= 1


@pytest.fixture(scope="module")
def blueprints():
    return {count: kibitz.solve(LEDUC, "cfr", iterations=count) for count in (5, 200)}


@pytest.mark.parametrize("count", [5, 200])
def test_safe_solutions_are_never_worse(blueprints, count):
    """And plain ones may be: for a good blueprint they are."""
    form = compact_form(rules_of(LEDUC))
    before = form.measure(blueprints[count].probabilities).nash_conv
    plain, safe = (
        form.measure(refined(LEDUC, blueprints[count], 2, safe=how, iterations=150).probabilities).nash_conv
        for how in (False, True)
    )
    assert safe < before
    assert plain < before if count == 5 else plain > before


def test_rounds_before_are_left_alone(blueprints):
    before, after = blueprints[5], refined(LEDUC, blueprints[5], 2, iterations=20)
    labels = before.infosets.labels
    first = [k for k in range(len(labels)) if "/" not in labels[k]]
    assert first and all(before.at(k) == pytest.approx(after.at(k)) for k in first)
    assert any(before.at(k) != pytest.approx(after.at(k)) for k in range(len(labels)) if k not in first)


@pytest.mark.parametrize("safe", [False, True])
def test_rows_of_refined_profiles_add_up_in_double(blueprints, safe):
    """Endgames are solved in single precision; what is measured of a profile must not see that in its sums."""
    profile = refined(LEDUC, blueprints[5], 2, safe=safe, iterations=20)
    first, p = profile.infosets.first, profile.probabilities
    total = np.repeat(np.add.reduceat(p, first[: len(profile.infosets.width)]), profile.infosets.width)
    np.testing.assert_allclose(total, 1.0, rtol=0.0, atol=4e-16)
    again = profile.replaced(p / total)
    assert kibitz.nash_conv(LEDUC, profile) == pytest.approx(kibitz.nash_conv(LEDUC, again), rel=0.0, abs=1e-13)


def test_a_safe_solution_gives_no_hand_more():
    """The gadget's promise, hand by hand, where it can be kept: the strategy before is one way to keep it."""
    rules, rng = rules_of(LEDUC), np.random.default_rng(8)
    node = rules.betting.text.index("rc/")
    endgame = Endgame(rules, node, some_board(rules, node, rng), 0.2 + rng.random((2, 5)))
    strategy = np.empty(endgame.sequences)
    endgame._normalise(rng.random(endgame.sequences), strategy)
    for seat in (0, 1):
        values = endgame.response(1 - seat, strategy)
        found = solved(endgame, iterations=2000, safe=Safe(seat, values))
        assert (endgame.response(1 - seat, found.strategy) <= values + 1e-3 * endgame.pot).all()


def test_what_is_refused():
    rules = rules_of(LEDUC)
    tree = rules.betting
    with pytest.raises(GameError, match="begins where a round does"):
        Endgame(rules, tree.text.index("cr"), [])
    node = tree.text.index("cc/")
    with pytest.raises(GameError, match="has 1 of the deck"):
        Endgame(rules, node, [50, 51])
    endgame = Endgame(rules, node, [rules.definition.deck[0]])
    with pytest.raises(GameError, match="a weight, 0 or more"):
        Endgame(rules, node, [rules.definition.deck[0]], -np.ones((2, 5)))
    with pytest.raises(SolverError, match="when to stop"):
        solved(endgame)
    with pytest.raises(SolverError, match="no NashConv"):
        solved(endgame, gap=0.1, safe=Safe(0, np.zeros(5)))
    with pytest.raises(GameError, match="does not go on"):
        endgame.class_of([rules.definition.deck[1]], [rules.definition.deck[2]])
    with pytest.raises(SolverError, match="rounds 2 to 2"):
        refined(LEDUC, kibitz.solve(LEDUC, "cfr", iterations=1), 3)
