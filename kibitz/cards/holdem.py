"""How strong hands of Texas hold'em are, exactly: against a random hand, and against each other.

    from kibitz import cards
    cards.strength("Ah Kd", "Qs 7c 2d")         # Strength(hs, ehs, ehs2)
    cards.histogram("Ah Kd", "Qs 7c 2d")        # how its strength is distributed on the river
    cards.equity("Ah Kd", "Qs Qc")              # Equity(wins, ties, losses)

The opponent holds any two cards that are not in the hand or on the board, all equally likely. The strength of a hand on
the river, HS, is the chance to beat it, ties counting half. Before the river the rest of the board is any of the cards
that are not in the hand or on the board; E[HS] and E[HS²] are means over all of them, so E[HS] is the equity against a
random hand. All figures come from whole numbers: wins and ties are counted, and HS on the river is a number of 1,980.

A few hands on a board are worked out on the spot. Many are looked up in tables (`recipes.py`), which are made when they
are first needed, in four minutes of a core for all of them, and lie in the order of `Indexer`: of [2], [2, 3], [2, 4]
and [2, 5]. They are what [Gilpin & Sandholm 2007] keep in databases: `flop` is db5; `classes` and `equity` are what is
needed of db223; handval, a table of all hands of seven cards, is not needed, as a hand is evaluated sooner than its
place is found.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.cards.deck import RANKS, flat_hands, parse
from kibitz.cards.isomorphism import Indexer
from kibitz.cards.ranges import hand_cards
from kibitz.cards.recipes import BINS, STREETS, checked_bins, class_of, histogram_recipe, recipe
from kibitz.cards.tables import Recipe, is_open, opened
from kibitz.core.errors import GameError

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

HANDS_MET = {5: 1081, 6: 1035, 7: 990}  # opponents' hands by cards seen
RUN_OUTS = {2: 2_118_760, 5: 1081, 6: 46, 7: 1}  # ways to complete the board
BOARDS_OF_TWO = 1_712_304  # boards of five when two hands are known
BEST = 2 * HANDS_MET[7]  # of a hand on the river that beats all: 2 for a win, 1 for a tie
ON_THE_SPOT = {2: -1, 5: 25, 6: 500, 7: 12_000}  # hands for which half a second is enough, without a table
STREET_OF = {cards: street for street, cards in STREETS.items()}


class Strength(NamedTuple):
    """Chances against a random hand, ties counting half."""

    hs: Floats  # on the board as it is; nan before the flop
    ehs: Floats  # on the river, the mean over the rest of the board
    ehs2: Floats  # the mean of the square


class ShowdownCounts(NamedTuple):
    """Against every hand, over every board that can still come: how often a hand wins, ties and loses."""

    wins: Ints
    ties: Ints
    losses: Ints


class Equity(NamedTuple):
    """A hand against another, or several, over all boards or a sample."""

    wins: int
    ties: int
    losses: int

    @property
    def met(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def equity(self) -> float:
        """The share of the pot, ties counting half."""
        return (self.wins + self.ties / 2) / self.met


class Classes(NamedTuple):
    """Hands before the flop up to names of suits, and how they fare against each other.

    Counts are over all pairs of hands of two classes that share no card, and all boards; [i, j] is i against j.
    """

    names: tuple[str, ...]  # "AKs", "AKo", "QQ", in the order of Indexer([2])
    hands: Ints  # [169]  how many hands each class has: 4, 12 or 6
    wins: Ints  # [169, 169]
    ties: Ints  # [169, 169]
    losses: Ints  # [169, 169]


# Hands against a random one


def strength(hands: ArrayLike | str, board: ArrayLike | str | None = None) -> Strength:
    """HS, E[HS] and E[HS²]. hands: [..., 2] and a board of 0, 3, 4 or 5 cards; or both in one array, [..., 2 to 7].

    Hands and boards may be text, "Ah Kd". One board does for many hands; an array of them goes with an array of hands.
    """
    cards, shape = _read(hands, board)
    seen = cards.shape[1]
    hs = np.full(len(cards), np.nan)
    if seen == 7:
        (twice,) = _figures(cards, "ahead")
        squares, hs = twice**2, twice / BEST
    elif seen == 2:
        wins, ties, squares = _figures(cards, "wins", "ties", "squares")
        twice = 2 * wins + ties
    else:
        ahead, wins, ties, squares = _figures(cards, "ahead", "wins", "ties", "squares")
        twice, hs = 2 * wins + ties, ahead / (2 * HANDS_MET[seen])
    ehs, ehs2 = twice / (BEST * RUN_OUTS[seen]), squares / (BEST**2 * RUN_OUTS[seen])
    return Strength(hs.reshape(shape), ehs.reshape(shape), ehs2.reshape(shape))


def counts(hands: ArrayLike | str, board: ArrayLike | str | None = None) -> ShowdownCounts:
    """Wins, ties and losses against every hand over every board that can still come; arguments as of `strength`.

    On the river they are always worked out on the spot, 40 us a hand: the table has them in one number.
    """
    cards, shape = _read(hands, board)
    wins, ties = _worked_out(cards)[1:3] if cards.shape[1] == 7 else _figures(cards, "wins", "ties")
    losses = HANDS_MET[7] * RUN_OUTS[cards.shape[1]] - wins - ties
    return ShowdownCounts(wins.reshape(shape), ties.reshape(shape), losses.reshape(shape))


def histogram(hands: ArrayLike | str, board: ArrayLike | str | None = None, bins: int = BINS) -> Ints:
    """How often a hand ends on the river in each bin of HS: [..., bins], which sums to the boards that can still come.

    Bin k holds strengths from k / bins to below (k + 1) / bins; the last one also holds 1. Arguments as of `strength`.
    """
    bins = checked_bins(bins)
    if bins < BINS and not BINS % bins:  # bins of bins, so that one table serves
        fine = histogram(hands, board)
        return np.asarray(fine.reshape(*fine.shape[:-1], bins, BINS // bins).sum(axis=-1), np.int64)
    cards, shape = _read(hands, board)
    seen = cards.shape[1]
    if seen == 7:
        counted = np.zeros((len(cards), bins), np.int64)
        (ahead,) = _figures(cards, "ahead")
        counted[np.arange(len(cards)), np.minimum(ahead * bins // BEST, bins - 1)] = 1
    elif _in_a_table(cards, table := histogram_recipe(STREET_OF[seen], bins)):
        at = _index(cards)
        counted = opened(table)["histogram"][at].astype(np.int64)
        if seen == 2:
            counted //= class_sizes()[at][:, None]
    else:
        counted = _worked_out(cards, bins).histogram
    return counted.reshape(*shape, bins)


def check(hands: ArrayLike | str, board: ArrayLike | str | None = None) -> None:
    """Refuse, before any work, cards that `strength` would refuse: a card twice, too many or too few of them."""
    _read(hands, board)


def _figures(cards: Bytes, *names: str) -> tuple[Ints, ...]:
    """Figures by name. ahead: twice the wins plus the ties on the board as it is; wins, ties, squares (of twice the
    wins plus the ties): sums over the rest of the board."""
    seen = cards.shape[1]
    street = recipe(STREET_OF[seen])
    if not _in_a_table(cards, street):
        figures = _worked_out(cards)
        return tuple(getattr(figures, name) for name in names)
    table, at = opened(street), _index(cards)
    size = class_sizes()[at] if seen == 2 else 1  # before the flop, sums are over all hands of a class
    return tuple(table[name][at].astype(np.int64) // size for name in names)


def _in_a_table(cards: Bytes, table: Recipe) -> bool:
    """Whether to look hands up, and not to work them out."""
    return len(cards) > ON_THE_SPOT[cards.shape[1]] or is_open(table)


def _worked_out(cards: Bytes, bins: int = 0) -> Any:
    """Figures without a table."""
    from kibitz.cards.kernels.strength import Figures, add_hands, workspace

    ahead, wins, ties, squares = np.zeros((4, len(cards)), np.int64)
    figures = Figures(ahead, wins, ties, squares, np.zeros((len(cards), bins), np.int64))
    add_hands(cards, figures, workspace())
    return figures


def _index(cards: Bytes) -> Ints:
    seen = cards.shape[1]
    return Indexer([2] if seen == 2 else [2, seen - 2]).index(cards)


def _read(hands: ArrayLike | str, board: ArrayLike | str | None) -> tuple[Bytes, tuple[int, ...]]:
    """Hands and boards as bytes, [n, 2 or 5 to 7], after a look at each; and the shape that the answer has."""
    cards = _numbers(hands)
    if board is not None:
        shown = _numbers(board)
        if cards.shape[-1] != 2:
            raise GameError(f"a hand has 2 cards, not {cards.shape[-1]}")
        lead = np.broadcast_shapes(cards.shape[:-1], shown.shape[:-1])
        cards = np.concatenate([np.broadcast_to(c, (*lead, c.shape[-1])) for c in (cards, shown)], axis=-1)
    if cards.shape[-1] not in RUN_OUTS:
        raise GameError(f"a hand has 2 cards and a board 0, 3, 4 or 5, which is not {cards.shape[-1]} together")
    return flat_hands(cards, tuple(RUN_OUTS)), cards.shape[:-1]


def _numbers(cards: ArrayLike | str) -> NDArray[Any]:
    numbers = parse(cards) if isinstance(cards, str) else np.asarray(cards)
    numbers = numbers.astype(np.int64) if not numbers.size else numbers  # NumPy takes [] for floats
    if numbers.dtype.kind not in "iu" or not numbers.ndim:
        raise GameError("cards are text, or whole numbers, 0 (2c) to 51 (As), with those of a hand along the last axis")
    return numbers


# Hands against each other


def equity(
    hand: ArrayLike | str, other: ArrayLike | str, board: ArrayLike | str = "", samples: int | None = None,
    seed: int = 0,
) -> Equity:  # fmt: skip
    """How a hand fares against another over all boards that can still come, or over a sample of random ones.

    `other` may be several hands, [m, 2]: each is met on every board that it can be held beside (of a sample: they take
    turns), and counts are summed. The board may have any number of cards up to five.
    """
    from kibitz.cards.kernels.ranges import count_showdowns, sample_boards

    mine, others, shown = _numbers(hand), np.atleast_2d(_numbers(other)), _numbers(board)
    if mine.shape != (2,) or others.ndim != 2 or others.shape[1] != 2 or not len(others):
        raise GameError("equity is of a hand of two cards against another, or against several of two cards each")
    if shown.ndim != 1 or len(shown) > 5:
        raise GameError(f"a board has at most 5 cards, not {shown.size}")
    if samples is not None and samples < 1:
        raise GameError(f"samples={samples} should be 1 or more")
    known = np.broadcast_to(np.concatenate([mine, shown]), (len(others), 2 + len(shown)))
    cards = flat_hands(np.concatenate([others, known], axis=1), (4 + len(shown),))
    counted, each = np.zeros(3, np.int64), (cards[0, 2:4], cards[:, :2], cards[0, 4:])
    if samples is None:
        count_showdowns(*each, counted, np.zeros(len(others), np.uint64), *board_path(5 - len(shown)))
    else:
        sample_boards(*each, samples, seed, counted)
    return Equity(*counted.tolist())


def board_path(left: int) -> tuple[NDArray[np.uint64], Ints, NDArray[np.uint64]]:
    """The workspace in which kernels deal boards of `left` more cards."""
    return np.zeros(52, np.uint64), np.zeros(left + 1, np.int64), np.zeros(left + 1, np.uint64)


@lru_cache(1)
def classes() -> Classes:
    """The 169 hands before the flop against each other, exactly."""
    wins = opened(recipe("classes"))["wins"].astype(np.int64)
    ties = BOARDS_OF_TWO * pairs_of_classes() - wins - wins.T
    wins.setflags(write=False)
    ties.setflags(write=False)
    return Classes(class_names(), class_sizes(), wins, ties, wins.T)


def pairs_of_classes(gone: ArrayLike = ()) -> Ints:
    """[169, 169]  how many pairs of hands of two classes share no card, nor one with the cards that are gone."""
    left = ~np.isin(hand_cards(), gone).any(axis=1)
    number = class_of().astype(np.int64)[left]
    holds = np.zeros((169, 52), np.int64)  # hands of a class that hold a card
    np.add.at(holds, (number[:, None], hand_cards()[left]), 1)
    size = np.bincount(number, minlength=169)
    # All pairs, less those with a card in common, which a hand and itself have twice.
    return np.outer(size, size) - holds @ holds.T + np.diag(size)


@lru_cache(1)
def class_names() -> tuple[str, ...]:
    """Names of hands before the flop up to names of suits, in the order of Indexer([2]): "AKs", "AKo", "QQ"."""
    names = []
    for low, high in np.sort(Indexer([2]).unindex(np.arange(169)), axis=1).tolist():
        kind = "" if low // 4 == high // 4 else "s" if low % 4 == high % 4 else "o"
        names.append(RANKS[high // 4] + RANKS[low // 4] + kind)
    return tuple(names)


@lru_cache(1)
def class_sizes() -> Ints:
    """[169]  how many hands each class has: 4, 12 or 6."""
    sizes = np.bincount(class_of().astype(np.int64), minlength=169)
    sizes.setflags(write=False)
    return sizes


def class_hands(text: str) -> Ints:
    """All hands of a class, [4, 12 or 6, 2]: class_hands("QQ")."""
    return np.asarray(hand_cards()[class_of() == class_number(text)], np.int64)


def class_equity(one: str, other: str) -> Equity:
    """How hands before the flop fare against each other, both up to names of suits: class_equity("AKs", "QQ")."""
    i, j, every = class_number(one), class_number(other), classes()
    return Equity(int(every.wins[i, j]), int(every.ties[i, j]), int(every.losses[i, j]))


def class_number(text: str) -> int:
    """The number, as of Indexer([2]), of "AKs", "AKo" or "QQ"."""
    plain = text.strip().replace("10", "T")
    plain = plain[:2].upper() + plain[2:].lower()
    for name in (plain, plain[1::-1] + plain[2:]):
        if name in class_names():
            return class_names().index(name)
    raise GameError(f"{text!r} is not a hand up to names of suits: those are AA, AKs (suited), AKo (not) and so on")
