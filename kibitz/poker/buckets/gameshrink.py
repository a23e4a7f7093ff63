"""GameShrink: which signals may be merged, found bottom up and applied top down [Gilpin & Sandholm 2006, 2007].

    from kibitz.poker.buckets.gameshrink import shrink
    from kibitz.poker.buckets.signals import Cards
    small = shrink(Cards(deck=range(52), hole=1, board=(0, 1, 1)))      # Rhode Island hold'em
    small.classes                                                       # [13, 325, 7969]
    small.of(2, [[50, 3, 20]])                                          # the class of a hand on the last round

It works on the signal tree (`kibitz.poker.buckets.signals`), which knows nothing of suits or ranks: symmetries are
found, not given. A *kind* is a number that isomorphic nodes share. A *class* is what a player can still distinguish:
the kind together with the class of the node before. So classes of a round refine those of the round before it, and a
player who sees classes only has perfect recall.

Bottom up, two nodes are of one kind if their children can be matched one to one with children of the same kind, as
likely to come. Top down, nodes of one kind whose parents have been merged are merged. It remains to define when two
nodes of the last round are of one kind. There are two readings.

**"win-count"** merges two nodes if they have the same numbers of wins, ties and losses against the opponent's hands.
This is the recursion of the paper on a tree whose *last* signal is the opponent's cards. On Rhode Island hold'em it
gives 13, 205 and 1,774 classes, and a linear program with 1,237,238 rows, the published number. We do not judge whether
the theorem of the paper covers such a tree. **It is not lossless.** The opponent's cards are dealt and bet on before
the board. On two boards the same number of hands may win, but different ones. The betting tells these hands apart, so a
matching of the opponent's hands must not depend on the board.
Leduc hold'em shows it. A king on a board queen and a king on a board jack both win 2, tie 1 and lose 1; but on the
one it is the queen that has paired, on the other the jack. Within these classes (3 and 7) the value of Leduc is
-0.0687 and not -0.0856, so no equilibrium of this abstract game is one of the game; and a player who sees only classes
cannot guarantee more than -0.1260 as the first, 0.0427 as the second, against an opponent who sees cards.

**"strict"** merges them if these numbers are the same within every class of the opponent. Classes of
the opponent are classes by this same definition, so it is a fixed point, and the coarsest is meant: start with one
class for all that an opponent may hold, shrink, and shrink again with the classes of the last pass until nothing
changes. The first pass is the win-count reading; each pass refines the one before; and any classes that fulfil the
definition refine every pass.

Why strict classes are lossless. Let o be what a player has seen by round r, C(o) its class, and D the opponent's
class on the last round, which says the classes on all rounds. By construction (1) the chances of the classes of round
r + 1, given o, depend on C(o) alone, and (2) so do those of (D, who wins) on the last round. Let the opponent play
any strategy that sees classes only. What an action on the last round is worth, weighted with the chance that the
opponent comes there, depends on o through the chances of (D, who wins), as bets are public and the opponent bets by
D: by (2) it is a function of C(o) and the betting. Before that, a decision is worth an average over the next round's
signals by the chances of (1), and what folding brings, which depends on the chances of D: again a function of C(o)
and the betting, and so is a best choice. Hence a best response in the whole game is found among strategies that see
classes only, and an equilibrium of the abstract game is one of the whole game. What is paid depends on the betting and
on the order of the hands alone. With more players the classes of all opponents stand for D. Who wins must not be
settled before the last round, except by folding.

Renaming suits fulfils (1) and (2), so strict classes are never finer than hands up to suit isomorphism. They can be
coarser: 7,969 and not 9,997 on the last round of Rhode Island hold'em, because on a board of two suits no flush is
left and nothing but the ranks and the flop's class matters.

Lossy: with a threshold, nodes are merged that match up to a *penalty*, the number of deals that a best matching gets
wrong. On the last round that is how many of the opponent's hands have no partner of the same outcome (and class, in
the strict reading, where lossless classes stand for the opponent's); before, it is the least sum of penalties over
all one-to-one matchings of children. Merged is what a chain of pairs within the threshold connects. Penalties do not
depend on thresholds, so larger ones merge more; 0 merges what is isomorphic.

Departs from the paper: the signals of a round are one step, not a level for each card; and where the paper tests
pairs of siblings, nodes are numbered here, which is equivalent (see `_kinds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import boards_of
from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.poker.buckets.cuts import number_type
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.buckets.signals import Cards, OrderedGame, Signals, SignalTree, signals_of

READINGS = ("strict", "win-count")
MOST_KINDS = 8192  # of a round in lossy shrinking, which holds a penalty for each two

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Shrunk:
    """Classes of what a seat can have seen, by round; C classes, N nodes."""

    reading: str
    threshold: tuple[int, ...]  # by round; 0 merges isomorphic nodes only
    signals: Signals
    number: tuple[Ints, ...]  # by round: [N]  node -> class, numbered from 0 in order of first appearance
    parent: tuple[Ints, ...]  # by round: [C]  class -> class of the round before; in the first round its root
    passes: int  # how often the tree was gone through until nothing changed; 1 for win-count

    def __repr__(self) -> str:
        return f"<Shrunk by GameShrink, {self.reading}: {self.classes} classes by round>"

    @property
    def classes(self) -> list[int]:
        """How many there are in each round."""
        return [len(parent) for parent in self.parent]

    def of(self, round: int, seen: Any) -> Ints:
        """The classes of hands. For cards: [n, private cards and board so far] -> [n]; else see `Walked.nodes`."""
        return self.number[round][self.signals.nodes(round, seen)]

    def lp_size(self, sequences: Sequence[int], infosets: Sequence[int]) -> int:
        """`lp_size` of the abstract game with these classes."""
        return lp_size(self.classes, sequences, infosets)


def lp_size(hands: Sequence[int], sequences: Sequence[int], infosets: Sequence[int]) -> int:
    """Rows of the sequence-form linear program of a two-player game, and as many columns if seats bet alike.

    By round: how many hands (or classes) a seat distinguishes, and for each hand how many sequences one seat has and
    how many infosets the other has in that round's betting, over all ways of coming to it. Each seat's empty sequence
    is one more: the programme has a variable for each sequence of a seat and a price for each infoset of the other.
    """
    if not len(hands) == len(sequences) == len(infosets):
        raise GameError(
            f"{len(hands)} rounds of hands, {len(sequences)} of sequences and {len(infosets)} of infosets: give one "
            "number of each for each round"
        )
    return 2 + sum(n * (s + i) for n, s, i in zip(hands, sequences, infosets, strict=True))


def shrink(source: Signals | OrderedGame, reading: str = "strict", threshold: int | Sequence[int] = 0) -> Shrunk:
    """The classes of a signal tree.

    source     `Cards`, or any ordered game (`kibitz.poker.buckets.signals`)
    reading    "strict", which is lossless, or "win-count", which is not
    threshold  0: only what is isomorphic is merged; above: also what differs in as many deals or fewer. One number, or
               one for each round
    """
    if reading not in READINGS:
        raise SpecError(f"unknown reading {reading!r}: use {' or '.join(READINGS)}")
    signals = signals_of(source)
    tree = signals.tree
    thresholds = _thresholds(threshold, tree.rounds)
    number: tuple[Ints, ...] = tuple(np.zeros(size, np.int64) for size in tree.sizes)
    passes, last = 0, 0
    while True:
        leaves = _leaves(tree, number[-1])
        kinds = _kinds(tree, leaves.number)
        number, parent = _classes(tree, kinds)
        passes += 1
        # A pass refines the one before it, so as many classes are the same classes.
        if reading == "win-count" or len(parent[-1]) == last:
            break
        last = len(parent[-1])
    if any(thresholds):
        number, parent = _classes(tree, kinds, thresholds, _penalties(tree, leaves, kinds, thresholds))
    return Shrunk(reading, thresholds, signals, number, parent, passes)


MOST_THRESHOLD = (1 << 31) - 2  # kernels count deals in 32 bits, up to one more than the threshold


def _thresholds(threshold: int | Sequence[int], rounds: int) -> tuple[int, ...]:
    each = tuple(threshold) if isinstance(threshold, Sequence | np.ndarray) else (threshold,) * rounds
    plain = all(isinstance(t, int | float | np.number) and not isinstance(t, bool) for t in each)
    whole = plain and all(t == t // 1 and 0 <= t <= MOST_THRESHOLD for t in each)
    if len(each) != rounds or not whole:
        raise SpecError(
            f"threshold={threshold!r} should be a whole number from 0 (the number of deals that a matching may get "
            f"wrong), or {rounds} of them, one for each round"
        )
    return tuple(int(t) for t in each)


@dataclass(frozen=True, eq=False)
class _Distributions:
    """Rows of codes with shares, sorted, and the same number for rows that are the same distribution."""

    first: Ints
    code: Ints
    share: Ints
    length: Ints  # codes of a row that are left, from its first
    number: Ints


def _distributions(first: Ints, code: Ints, weight: Ints) -> _Distributions:
    from kibitz.poker.buckets.kernels.gameshrink import number_distributions

    share = np.empty(len(code), np.int64)
    length, number = np.empty(len(first) - 1, np.int64), np.empty(len(first) - 1, np.int64)
    number_distributions(first, code, weight, share, length, number)
    return _Distributions(first, code, share, length, number)


def _leaves(tree: SignalTree, classes: Ints) -> _Distributions:
    """The nodes of the last round by the chances of (the opponents' classes, outcome)."""
    count = int(classes.max()) + 1
    if count ** tree.other.shape[1] * 128 >= 2**63:
        raise GameError(f"{count:,} classes for each of {tree.other.shape[1]} opponents are too many to index")
    code = tree.outcome.astype(np.int64)
    for seat in range(tree.other.shape[1]):
        code += 128 * count**seat * classes[tree.other[:, seat]]
    return _distributions(tree.first, code, tree.weight)


def _kinds(tree: SignalTree, last: Ints) -> tuple[Ints, ...]:
    """Bottom up: by round, the kind of each node.

    Two nodes are isomorphic if the bipartite graph of their children, joined where they are isomorphic, has a perfect
    matching. Being isomorphic is an equivalence on the children (they have numbers), so the graph falls apart into
    complete bipartite graphs, one for each kind; it has a perfect matching if and only if each of them has one, that
    is, if each kind is as frequent on both sides. So no matching is searched for: nodes are the same if the multisets
    of their children's kinds are, and having the same multiset is an equivalence again. With weights in place of
    counts, and in lowest terms, that is the distribution of kinds: two children of one kind, which are merged, are then
    the same as one child that is twice as likely.
    """
    kinds = [last]
    for round in range(tree.rounds - 2, -1, -1):
        first, weights = tree.children(round), tree.weights[round + 1]
        kinds.append(_distributions(first, kinds[-1].copy(), weights).number)
    return tuple(reversed(kinds))


def _classes(
    tree: SignalTree, kinds: tuple[Ints, ...], thresholds: Sequence[int] = (),
    penalties: Sequence[NDArray[np.int32]] = (),
) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:  # fmt: skip
    """Top down: by round the class of each node, and the class before of each class."""
    from kibitz.poker.buckets.kernels.gameshrink import unite

    above = np.arange(tree.roots)
    numbers, parents = [], []
    for round, kind in enumerate(kinds):
        family = above[tree.parent[round]]
        # Siblings, after the merging above, that are isomorphic: those with the same family and kind.
        keys, item = np.unique(family * (int(kind.max()) + 1) + kind, return_inverse=True)
        item = item.ravel()
        families, item_kind = np.divmod(keys, int(kind.max()) + 1)
        if len(thresholds):
            start = np.searchsorted(families, np.arange(int(families.max()) + 2)).astype(np.int64)
            link = np.empty(len(keys), np.int64)
            unite(start, item_kind, penalties[round], thresholds[round], link)
            item = link[item]
        _, at, number = np.unique(item, return_index=True, return_inverse=True)
        rank = np.empty(len(at), np.int64)
        rank[np.argsort(at)] = np.arange(len(at))
        above = rank[number.ravel()]
        numbers.append(above)
        parents.append(family[np.sort(at)])
    return tuple(numbers), tuple(parents)


def _penalties(
    tree: SignalTree, leaves: _Distributions, kinds: tuple[Ints, ...], thresholds: Sequence[int]
) -> list[NDArray[np.int32]]:
    """By round: how many deals a best matching of two kinds gets wrong, [kinds, kinds].

    A penalty above all thresholds that ask for it, its round's and those of the rounds above, may be any number above
    them: it is cut off there.
    """
    from scipy.optimize import linear_sum_assignment

    from kibitz.poker.buckets.kernels.gameshrink import differences

    if len(tree.weight) or any(len(set(weights.tolist())) > 1 for weights in tree.weights):
        raise GameError("lossy shrinking counts deals, so it needs a game in which all signals are equally likely")
    wins = np.zeros((len(kinds[-1]), int(tree.outcome.max()) + 1), np.int64)  # [N, outcomes]  deals by outcome
    np.add.at(wins, (np.repeat(np.arange(len(wins)), np.diff(tree.first)), tree.outcome), 1)
    penalties: list[NDArray[np.int32]] = []
    for round in range(tree.rounds - 1, -1, -1):
        most = max(thresholds[: round + 1]) + 1
        _, example = np.unique(kinds[round], return_index=True)
        if len(example) > MOST_KINDS:
            raise GameError(
                f"round {round} has {len(example):,} kinds of nodes; lossy shrinking compares all pairs, so the "
                f"limit is {MOST_KINDS:,}"
            )
        penalty = np.full((len(example), len(example)), most, np.int32)
        if round == tree.rounds - 1:
            differences(example, leaves.first, leaves.code, leaves.share, leaves.length, most, penalty)
        else:
            below, first = penalties[-1], tree.children(round)
            children = [kinds[round + 1][first[node] : first[node + 1]] for node in example]
            above = np.zeros((len(first) - 1, wins.shape[1]), np.int64)
            np.add.at(above, tree.parent[round + 1], wins)
            wins = above
            histogram = wins[example]
            for i in range(len(example)):
                penalty[i, i] = 0
                # A matching can not do better than the totals of wins, ties and losses differ.
                near = np.abs(histogram[:i] - histogram[i]).sum(axis=1) < 2 * most
                for j in np.flatnonzero(near):
                    cost = below[np.ix_(children[i], children[j])]
                    if cost.min(axis=1).sum() >= most or cost.min(axis=0).sum() >= most:
                        continue
                    total = int(cost[linear_sum_assignment(cost)].sum())
                    penalty[i, j] = penalty[j, i] = min(total, most)
        penalties.append(penalty)
    return penalties[::-1]


# As buckets of hands, so that whoever takes buckets takes one kind of thing


def name_of(shrunk: Shrunk) -> str:
    """The spec that makes these classes again."""
    lossy = f", threshold={specs.show(shrunk.threshold)}" if any(shrunk.threshold) else ""
    return f"gameshrink(reading={shrunk.reading}{lossy})"


def shrunk_by_name(definition: Any, spec: specs.Spec) -> Shrunk:
    """The classes that gameshrink(reading=..., threshold=...) names."""

    def gameshrink(reading: str = "strict", threshold: Any = None) -> Shrunk:
        return shrink(Cards.of(definition), reading, 0 if threshold is None else threshold)

    return specs.call(gameshrink, spec)


def shrunk_hands(definition: Any, shrunk: Shrunk) -> HandBuckets:
    """The classes of GameShrink as buckets: those of a parent follow one another."""
    boards = boards_of(definition.ranks, definition.suits, tuple(definition.board))
    hole = definition.hole
    rounds: list[RoundBuckets] = []
    renamed = np.zeros(1, np.int64)  # class of the round before -> bucket
    for level, here in enumerate(boards.rounds):
        each = boards.hands(level, hole)
        private = np.stack([boards.hands_on(level, board, hole) for board in range(len(here.cards))])
        shown = np.broadcast_to(here.cards[:, None], (len(here.cards), each, here.cards.shape[1]))
        cards = np.concatenate((private, shown), axis=2).reshape(len(here.cards) * each, -1).astype(np.int64)
        parent = renamed[shrunk.parent[level]] if level else np.zeros(len(shrunk.parent[0]), np.int64)
        order = np.argsort(parent, kind="stable")
        renamed = np.empty(len(order), np.int64)
        renamed[order] = np.arange(len(order))
        table = renamed[shrunk.of(level, cards)].reshape(len(here.cards), each)
        rounds.append(RoundBuckets(len(order), parent[order], table.astype(number_type(len(order)))))
    return HandBuckets(name_of(shrunk), boards, hole, tuple(rounds), {"rounds": [{} for _ in rounds]})
