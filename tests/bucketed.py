"""Abstract poker games for tests: small definitions, random perfect-recall buckets, weights by definition."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import boards_of
from kibitz.games import game
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.weights import joint_weights
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.exact.deal import deal
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker, strength
from kibitz.poker.sampled.form import ViewForm

Ints = NDArray[np.int64]

HOLDEM = """GAMEDEF
limit
numPlayers = 2
numRounds = {rounds}
blind = 10 5
raiseSize = {bets}
firstPlayer = 2 {ones}
maxRaises = 2 {ones}
numSuits = {suits}
numRanks = {ranks}
numHoleCards = 2
numBoardCards = {board}
END GAMEDEF
"""
RHODE_ISLAND = """GAMEDEF
limit
numPlayers = 2
numRounds = 3
blind = 5 5
raiseSize = 10 20 20
firstPlayer = 1 1 1
maxRaises = 2 2 2
numSuits = 4
numRanks = {ranks}
numHoleCards = 1
numBoardCards = 0 1 1
END GAMEDEF
"""
THREE_PLAYERS = """GAMEDEF
limit
numPlayers = 3
numRounds = 2
blind = 1 2 0
raiseSize = 2 2
firstPlayer = 3 1
maxRaises = {raises} 1
numSuits = {suits}
numRanks = {ranks}
numHoleCards = 1
numBoardCards = 0 1
END GAMEDEF
"""
SMALL = {
    "kuhn": "", "leduc": "", "rhode island of 4 ranks": RHODE_ISLAND.format(ranks=4),
    "flop hold'em of 12 cards": HOLDEM.format(rounds=2, suits=3, ranks=4, board="0 3", bets="10 10", ones="1"),
    "turn hold'em of 10 cards": HOLDEM.format(rounds=3, suits=2, ranks=5, board="0 3 1", bets="10 10 20", ones="1 1"),
}  # fmt: skip
FOUR_ROUNDS = {
    "river hold'em of 10 cards": HOLDEM.format(
        rounds=4, suits=2, ranks=5, board="0 3 1 1", bets="10 10 20 20", ones="1 1 1"
    )
}


@lru_cache(None)
def rules(name: str) -> Poker:
    text = {**SMALL, **FOUR_ROUNDS}[name]
    if not text:
        found = game(f"poker(file={name})")
        assert isinstance(found, Poker)
        return found
    return Poker(acpc.parse(text, name), "")


def random_buckets(poker: Poker, most: int, seed: int) -> tuple[HandBuckets, list[Ints]]:
    """(buckets, the same as class -> bucket for the poker form): each parent's classes fall into up to `most`."""
    definition = poker.definition
    dealt = deal(definition)
    boards = boards_of(definition.ranks, definition.suits, definition.board)
    draw = np.random.default_rng(seed)
    rounds, classes = [], []
    before: Ints = np.zeros(1, np.int64)
    for level, cards in enumerate(dealt.rounds):
        above = before[cards.up] if level else np.zeros(cards.classes, np.int64)
        names, of = np.unique(above * most + draw.integers(0, most, cards.classes), return_inverse=True)
        table = np.zeros((len(cards.boards), boards.hands(level, definition.hole)), np.uint16)
        shown = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
        places = boards.place[np.sort(cards.hands, axis=1)].astype(np.int64)
        for k, (board, place) in enumerate(zip(shown, places, strict=True)):
            here = boards.hands_on(level, int(board), definition.hole)
            table[board, np.flatnonzero((boards.place[here] == place).all(axis=1))[0]] = of[cards.hand_class[k]]
        rounds.append(RoundBuckets(len(names), (names // most).astype(np.int64), table))
        classes.append(of.astype(np.int64))
        before = classes[-1]
    return HandBuckets(f"random({seed})", boards, definition.hole, tuple(rounds)), classes


def naive_weights(buckets: HandBuckets) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """meets and wins of the last round from the definition: every raw board, every pair of hands."""
    last = len(buckets.rounds) - 1
    of, boards, hole = buckets.rounds[last], buckets.boards, buckets.hole
    meets, wins = np.zeros((of.count, of.count)), np.zeros((of.count, of.count))
    shown = boards.rounds[last].cards.shape[1]
    starts = np.cumsum((0, *boards.board))
    for cards in permutations(boards.deck.tolist(), shown):
        if any(list(cards[a:b]) != sorted(cards[a:b]) for a, b in pairwise(starts)):
            continue  # cards that come together come in one order
        left = np.setdiff1d(boards.deck, cards)
        hands = np.array(list(combinations(left.tolist(), hole)))
        seen = np.concatenate((hands, np.repeat(np.array(cards, int)[None].reshape(1, -1), len(hands), axis=0)), axis=1)
        board, hand = boards.find(last, seen, hole)
        assert of.table is not None
        bucket, worth = of.table[board, hand], strength(seen)
        apart = ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
        order = np.sign(worth[:, None] - worth[None, :]) * apart
        np.add.at(meets, (bucket[:, None], bucket[None, :]), apart)
        np.add.at(wins, (bucket[:, None], bucket[None, :]), order)
    deals = meets.sum()
    return meets / deals, wins / deals


def forms(name: str, most: int = 3, seed: int = 0) -> tuple[BucketForm, PokerForm]:
    """A game within random buckets, in both forms."""
    poker = rules(name)
    buckets, classes = random_buckets(poker, most, seed)
    parents = [of.parent for of in buckets.rounds]
    form = BucketForm(poker, buckets.name, buckets.digest, parents, joint_weights(buckets))
    return form, PokerForm(poker, buckets=classes)


@lru_cache(None)
def two_views(name, seed=1):
    """(a form whose nodes see through one of two random buckets, [classes -> bucket of each], the whole game)."""
    poker = rules(name)
    made = [random_buckets(poker, most, seed + most) for most in (2, 3)]
    draw = np.random.default_rng(seed)
    form = ViewForm(poker, [buckets for buckets, _ in made], draw.integers(0, 2, len(poker.betting)))
    of_view = {buckets.digest: classes for buckets, classes in made}
    return form, [of_view[view.digest] for view in form.views], PokerForm(poker)


def random_probabilities(form, seed):
    found, draw = np.empty(form.columns), np.random.default_rng(seed)
    for node in form.order.tolist():
        here = form.at(found, node)
        here[:] = draw.random(here.shape) + 0.05
        here /= here.sum(axis=1, keepdims=True)
    return found


def lifted(form, classes, whole, probabilities):
    """A profile of views as one of the whole game, and the (node, bucket) of each of its infosets."""
    nodes, held = whole.infosets.order()
    level = form.betting.round[nodes]
    bucket = np.empty(len(nodes), np.int64)
    for view, of in enumerate(classes):
        for at, of_class in enumerate(of):
            mine = (form.of_node[nodes] == view) & (level == at)
            bucket[mine] = of_class[held[mine]]
    found = np.empty(whole.columns)
    for i, (node, row) in enumerate(zip(nodes.tolist(), bucket.tolist(), strict=True)):
        a, b = whole.infosets.first[i : i + 2]
        found[a:b] = form.at(probabilities, node)[row]
    return found, nodes, held, bucket
