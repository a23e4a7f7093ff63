"""Ranges of hands, from the definitions, and their equities: against brute force, other code, and each other."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from kibitz import cards
from kibitz.cards import showdowns
from kibitz.core.errors import GameError

T, J, Q, K, A = range(8, 13)
# What an item means, of a hand's higher rank, its lower rank, and whether it is suited.
MEANT = {
    "AA": lambda h, low, s: h == low == A,
    "AKs": lambda h, low, s: (h, low) == (A, K) and s,
    "kAo": lambda h, low, s: (h, low) == (A, K) and not s,
    "AK": lambda h, low, s: (h, low) == (A, K),
    "1010+": lambda h, low, s: h == low >= T,
    "A2s+": lambda h, low, s: h == A > low and s,
    "KTo+": lambda h, low, s: h == K > low >= T and not s,
    "QJs+": lambda h, low, s: (h, low) == (Q, J) and s,
    "22-66": lambda h, low, s: h == low <= 4,
    "66 - 22": lambda h, low, s: h == low <= 4,
    "KTs-K7s": lambda h, low, s: h == K and 5 <= low <= T and s,
    "A2-A5": lambda h, low, s: h == A and low <= 3,
    "JTs-76s": lambda h, low, s: h == low + 1 and 5 <= h <= J and s,
    "random": lambda h, low, s: True,
    "AA, KK;AKs 22": lambda h, low, s: h == low in (A, K, 0) or ((h, low) == (A, K) and s),
}


def shape(hand):
    low, high = sorted(hand)
    return high // 4, low // 4, high % 4 == low % 4


@pytest.mark.parametrize("text", MEANT)
def test_what_an_item_means(text):
    hands = {frozenset(hand) for hand in combinations(range(52), 2) if MEANT[text](*shape(hand))}
    found = cards.parse_range(text)
    assert {frozenset(hand) for hand in found.hands.tolist()} == hands and len(found.hands) == len(hands)
    assert set(found.weights.tolist()) <= {0.0, 1.0}


def weight(found, hand):
    a, b = sorted(cards.parse(hand).tolist())
    return found.weights[b * (b - 1) // 2 + a]


def test_weights_and_cards():
    found = cards.parse_range("QQ+:0.5, AhAd:0, AKs@25%, KsAs")
    assert [weight(found, hand) for hand in ("QcQd", "AhAd", "AhAs", "AhKh", "AsKs", "JcJd")] == [
        0.5,
        0,
        0.5,
        0.25,
        1,
        0,
    ]
    assert cards.parse_range("kd ah").name == "Kd Ah" and cards.parse_range("AhKd").size == 1
    known = cards.parse("Ah Kd")
    left = cards.parse_range("random").without(known)
    assert left.size == 1225 and not np.isin(left.hands, known).any()


def test_top(monkeypatch):
    order = np.random.default_rng(0).permutation(169)
    monkeypatch.setattr("kibitz.cards.ranges.ranking", lambda: order)
    names = cards.class_names()
    for share in (0.1, 5.0, 15.0, 99.9, 100.0):
        want = 0
        for k in range(1, 170):  # whole classes until the share is reached
            want = sum({"s": 4, "o": 12}.get(names[c][2:], 6) for c in order[:k])
            if want >= share / 100 * 1326 - 1e-9:
                break
        found = cards.parse_range(f"top {share}%")
        assert found.size == want and np.array_equal(found.weights, cards.parse_range(f"{share} %").weights)
    best = cards.parse_range("top 0.01%").hands.tolist()
    assert sorted(best) == sorted(sorted(hand) for hand in cards.class_hands(names[order[0]]).tolist())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("AXs", "'X' in 'AXs' is not a rank"),
        ("AhXd", "'X' in 'AhXd' is not a rank"),
        ("AhKx", "'x' in 'AhKx' is not a suit"),
        ("AhAh", "'AhAh' holds the same card twice"),
        ("AhKdQs", "'AhKdQs' has 3"),
        ("AAs", "is a pair, which is neither suited"),
        ("KTs-Q7s", "should share their higher card"),
        ("KTs-K7o", "both be suited"),
        ("AK-KK", "should share their higher card"),
        ("AA:5", "should be from 0 to 1"),
        ("top 0%", "above 0%"),
        ("101%", "at most 100%"),
        ("AA:0", "holds no hand"),
        ("AKs50%", "is not a hand or range"),
        ("\x1b[3m", "brackets are for weights"),
    ],
)
def test_bad_ranges(text, words):
    with pytest.raises(GameError, match=words):
        cards.parse_range(text)


# Equities


def brute(seats, board):
    """Wins, ties and shares of each seat over all deals and boards, by weight, one showdown at a time."""
    found = np.zeros((len(seats), 3))
    held = [
        [
            (hand.tolist(), seat.weights[n] / seat.weights.max())
            for hand, n in zip(seat.hands, seat.numbers, strict=True)
        ]
        for seat in seats
    ]
    for deal in product(*held):
        known = [card for hand, _ in deal for card in hand] + list(board)
        if len(set(known)) < len(known):
            continue
        rest = [card for card in range(52) if card not in known]
        more = np.array(list(combinations(rest, 5 - len(board))), np.int64)
        boards = np.hstack([np.tile(np.array(board, np.int64), (len(more), 1)), more])
        hands = [np.hstack([boards, np.tile(np.array(hand), (len(boards), 1))]) for hand, _ in deal]
        values = np.stack([cards.evaluate(each) for each in hands])
        best = values == values.max(axis=0)
        alone = best.sum(axis=0) == 1
        chance = np.prod([weight for _, weight in deal])
        for s in range(len(seats)):
            found[s] += chance * np.array(
                [(best[s] & alone).sum(), (best[s] & ~alone).sum(), (best[s] / best.sum(axis=0)).sum()]
            )
    return found


SPOTS = [
    (["AhKd", "QsQc"], "Qd 7c 2d 3h"),
    (["TT+,AKs", "88,QJs:0.5,AhKh"], "Qd 7c 2d 3h"),
    (["99+:0.25,KQo", "TT,A5s", "JTs-98s:0.5"], "9d Tc 2d 8h"),
    (["AA,KK", "AA", "AK", "22"], "2c 3c 4c Kd"),
    (["AKs", "QQ"], "2c 7c 9c"),
    (["AhKh", "QsQc,JJ"], "2c 7c 9c"),
    (["AA", "5h5d"], "5c 5s Kc Kd Ks"),
]


@pytest.mark.parametrize(("hands", "board"), SPOTS)
@pytest.mark.parametrize("sorting", [0.0, 1.0])
@pytest.mark.some(6)
def test_equities_are_those_of_all_showdowns(hands, board, sorting, monkeypatch):
    """Both ways to count, with what suits leave out and without."""
    monkeypatch.setattr(showdowns, "SORTING", sorting)
    shown = cards.parse(board).tolist()
    slow = brute([cards.parse_range(text) for text in hands], shown)
    fast = cards.equities(hands, board)
    assert fast.exact and fast.showdowns == pytest.approx(slow[:, 2].sum(), rel=1e-12)
    for seat, (wins, ties, share) in zip(fast.seats, slow, strict=True):
        assert (seat.wins, seat.ties) == pytest.approx((wins, ties), rel=1e-12)
        assert seat.equity == pytest.approx(share / slow[:, 2].sum(), rel=1e-12) and seat.error == 0
    assert sum(seat.equity for seat in fast.seats) == pytest.approx(1, abs=1e-12)


def test_before_the_flop():
    """Whole classes at once against hand by hand with the other kernel, and known figures."""
    found = cards.equities(["AKs", "QQ"])
    queens = cards.class_hands("QQ")
    one = cards.equity("AhKh", queens)  # each of the four suits fares the same
    first = found.seats[0]
    assert (first.wins, first.ties, first.losses) == tuple(4 * count for count in one)
    assert found.whole and found.showdowns == 4 * 6 * 1_712_304
    aces, kings = cards.equities(["AA", "KK"]).seats
    assert round(aces.equity, 4) == 0.8195 and (aces.wins, aces.losses) == (kings.losses, kings.wins)
    single = cards.equities(["AhKd", "QsQc"]).seats[0]
    assert (single.wins, single.ties, single.losses) == tuple(cards.equity("AhKd", "QsQc"))


def test_against_a_random_hand():
    found = cards.equities(["AhKd", "random"], "Qs 7c 2d").seats[0]
    assert (found.wins, found.ties, found.losses) == tuple(int(n) for n in cards.counts("AhKd", "Qs 7c 2d"))


def test_the_same_ranges_have_the_same_equity():
    text = "TT+,A9s+:0.3,AhKd,76s"
    assert [seat.equity for seat in cards.equities([text, text], "Qs 7c 2d").seats] == pytest.approx([0.5, 0.5])
    three = cards.equities(["AA,KQs", "AA,KQs", "AA,KQs"], "Qs 7c 2d 2h")
    assert [seat.equity for seat in three.seats] == pytest.approx([1 / 3] * 3) and three.exact


@pytest.mark.parametrize(("hands", "board"), [*SPOTS[1:4], (["AhKd", "AA", "AA,QQ:0.3", "random"], "Ks Kh 7c 2d")])
def test_samples_are_near(hands, board):
    """Narrow ranges, in which the cards of one seat say much about another."""
    exact = cards.equities(hands, board, exact=True)
    some = cards.equities(hands, board, samples=100_000, seed=3)
    assert not some.exact and some.showdowns == 100_000
    for one, other in zip(exact.seats, some.seats, strict=True):
        assert abs(one.equity - other.equity) <= 4.5 * other.error + 1e-12
        assert abs(one.wins / exact.showdowns - other.wins / 100_000) < 0.01
        assert other.error < 0.01
    assert sum(seat.equity for seat in some.seats) == pytest.approx(1, abs=1e-9)


def test_errors_are_standard_errors():
    """Of many small samples, the spread of equities is what each of them says."""
    given = ["AhKd,77", "AA,KQs:0.5", "AK,77"], "Ks Qh 7c"
    runs = [cards.equities(*given, samples=400, seed=seed).seats for seed in range(300)]
    for s in range(3):
        spread = np.std([run[s].equity for run in runs])
        assert spread == pytest.approx(np.mean([run[s].error for run in runs]), rel=0.2)


def test_seeds_and_threads():
    given = ["TT+,A9s:0.3", "88+,AhKd:0.7", "random"], "Qs 7c 2d"
    one = cards.equities(*given, samples=200_000, seed=1, threads=1)
    assert one == cards.equities(*given, samples=200_000, seed=1, threads=3)
    assert one != cards.equities(*given, samples=200_000, seed=2, threads=1)
    pair = ["TT+,A9s:0.3", "88+,AhKd:0.7"], "Qs 7c"
    assert cards.equities(*pair, threads=1) == cards.equities(*pair, threads=3)
    old = cards.equity("AhKd", "QsQc", "", 1000, 3)  # as a hand against another was always sampled
    new = cards.equities(["QsQc", "AhKd"], samples=1000, seed=3).seats[1]
    assert tuple(cards.equity("QsQc", "AhKd", "", 1000, 3)) == (new.losses, new.ties, new.wins) and old.met == 1000


def test_what_is_too_much_is_sampled():
    found = cards.equities(["random"] * 9, samples=20_000)
    assert all(abs(seat.equity - 1 / 9) < 5 * seat.error for seat in found.seats)
    wide = cards.equities(["AhKh,22+,QTs+", "random", "88+,A2s+"], board="", samples=None)
    assert not wide.exact and max(seat.error for seat in wide.seats) < 0.001


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((["AA"],), "two or more players"),
        (("AhKd",), "two or more players"),
        ((["AhKd", [0, 0]],), "the card 2c appears twice in a hand"),
        ((["AhKd", [0, 52]],), "52 is not a card"),
        ((["AhKd", [0.5, 1]],), "two cards as whole numbers"),
        ((["AhKd", "QQ"], "2c 3c 4c 5c 6c 7c"), "at most 5 cards"),
        ((["AhKd", "QQ"], "", 0), "samples=0"),
        ((["AhKd", "QQ"], "", None, -1), "seed=-1"),
    ],
)
def test_bad_seats(given, words):
    with pytest.raises(GameError, match=words):
        cards.equities(*given)


def test_pokerkit_says_the_same():
    """Ranges, and equities by its own hands and its hand evaluator."""
    kit = pytest.importorskip("pokerkit")
    for text in ("AKs", "AKo", "AK", "TT+", "A2s+", "QT+", "KTo+", "22-66", "JTs-76s", "AhKh"):
        theirs = {frozenset(map(repr, hand)) for hand in kit.parse_range(text)}
        assert theirs == {frozenset(map(cards.name, hand)) for hand in cards.parse_range(text).hands.tolist()}
    board, hands = "9dTc2d8h", ("AhAd", "JhTh", "9s9c")
    rivers = [card for card in range(52) if card not in cards.parse(board + "".join(hands))]
    shares = np.zeros(3)
    for river in rivers:
        values = [kit.StandardHighHand.from_game(hand, board + cards.name(river)) for hand in hands]
        best = [value == max(values) for value in values]
        shares += np.array(best) / sum(best)
    found = cards.equities(hands, "9d Tc 2d 8h")
    assert [seat.equity for seat in found.seats] == pytest.approx((shares / len(rivers)).tolist())
