"""Equities of hands and ranges of Texas hold'em against each other: two seats or more, all boards or a sample.

    from kibitz import cards
    answer = cards.equities(["AhKh", "QQ+, AKs", "random"], board="Qs 7c 2d")
    [seat.equity for seat in answer.seats]       # they sum to one

Each seat draws a hand from its range; deals in which no card is there twice are as likely as the product of their
weights says, and the rest of the board is any of the cards that are left. A seat's equity is its mean share of the pot:
one for the best hand, an equal part where several are best.

All deals and boards are enumerated where that is a matter of seconds. Otherwise they are sampled (by importance: a seat
draws of the hands that others leave), with a standard error. Two ranges meet at once on a board, by running
sums over hands in order of strength; where hands are few, and for three seats or more, deals are listed. What differs
by a renaming of suits that leaves the ranges as they are is done once. One range may be averaged over the renamings
that the others allow, which changes no equity: so AhKh against ranges without single suits is AKs against them, and
there are 134,459 boards instead of 2,598,960. The largest weight of each range counts as 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.cards.ranges import HANDS, Floats, Ints, Range, hand_cards, parse_range
from kibitz.cards.strengths import over
from kibitz.core.errors import GameError

Words = NDArray[np.uint64]

MOST_SEATS = 23  # two cards each and a board of five
SAMPLES = 2_000_000  # by default
MOST_SAMPLES = 1 << 53
SECONDS = 10.0  # of one core, about: what takes longer is sampled
MOST_DEALS = 20_000_000  # that are listed
STEPS, SHORT = 100_000_000, 10_000_000  # of a search for all deals, and for one
# Seconds: to list a board, to sort the hands on one, to evaluate a hand, and to compare a seat of a deal.
LISTING, SORTING, EVALUATING, COMPARING = 1e-7, 2.2e-5, 1.2e-8, 2.0e-9
PIECE, SAMPLE_PIECE = 2_048, 65_536  # boards and samples that a thread takes at a time
PIECE_SECONDS = 0.1  # that it takes for them at most, about
NEVER = "the seats cannot all hold a hand of their range at once: there are too few cards for them"


class Seat(NamedTuple):
    """How a seat fares. Counts are of showdowns, each as often as the weights of its hands say."""

    name: str
    hands: int  # that it may hold beside the cards that are known
    wins: float
    ties: float  # the best hand, and not alone
    losses: float
    equity: float
    error: float  # the standard error of the equity; 0 if all showdowns were counted


class Equities(NamedTuple):
    """What `equities` gives."""

    seats: tuple[Seat, ...]
    exact: bool
    showdowns: float  # how many were counted, each as often as the weights of its hands say; or samples

    @property
    def whole(self) -> bool:
        """Whether counts are whole numbers: a showdown was counted or not."""
        return all(float(count).is_integer() for seat in self.seats for count in (seat.wins, seat.ties, seat.losses))


def equities(
    hands: Sequence[str | Range | ArrayLike], board: ArrayLike | str = "", samples: int | None = None, seed: int = 0,
    exact: bool = False, threads: int | None = None,
) -> Equities:  # fmt: skip
    """The equity of each seat. hands: for each a text as of `parse_range`, a Range, or two cards as numbers.

    samples: so many random deals instead of all, with random numbers from `seed`; without it they are enumerated if
    that takes some seconds, or if `exact` insists. Results are the same for any number of threads.
    """
    if samples is not None and not 1 <= samples <= MOST_SAMPLES:
        raise GameError(f"samples={samples} should be 1 or more")
    if samples is not None and exact:
        raise GameError("all deals are counted with exact, and some of them with samples: give one of the two")
    if not 0 <= seed < 1 << 63:
        raise GameError(f"seed={seed} should be 0 or more, and below 2^63")
    whole, shown = read_seats(hands, board)
    seats = _parted(whole, shown)
    if samples is None:
        # With the cards of others in them ranges have more symmetry, and without them fewer hands.
        plan = min(_plan(seats, shown), _plan(whole, shown), key=lambda plan: plan.seconds)
        if exact or plan.seconds <= SECONDS:
            sums = _enumerated(plan, shown, threads, insist=exact)
            if sums is not None:
                return _answer(seats, sums)
        samples = SAMPLES
    turns = _in_turns(seats, shown, samples, seed)
    return turns or _sampled(seats, shown, samples, seed, threads)


# Seats


def read_seats(hands: Sequence[str | Range | ArrayLike], board: ArrayLike | str = "") -> tuple[list[Range], Ints]:
    """The range of each seat beside the board, and the board, after a look at them."""
    from kibitz.cards.holdem import _numbers

    if isinstance(hands, str) or len(hands) < 2:
        raise GameError("equity is of two seats or more: give a hand or a range for each, or random")
    if len(hands) > MOST_SEATS:
        raise GameError(
            f"{len(hands)} seats and a board of 5 need {2 * len(hands) + 5} cards, and the deck has 52: "
            f"{MOST_SEATS} seats at most"
        )
    shown = _numbers(board)
    if shown.ndim != 1 or len(shown) > 5:
        raise GameError(f"a board has at most 5 cards, not {shown.size}")
    _check_cards(shown, "on the board")
    shown = shown.astype(np.int64)
    seats = [_range(each) for each in hands]
    _parted(seats, shown)  # looks for cards that are there twice, and ranges without a hand
    return [seat.without(shown) for seat in seats], shown


def _range(source: str | Range | ArrayLike) -> Range:
    from kibitz.cards.deck import names

    if isinstance(source, Range):
        weights = np.asarray(source.weights, np.float64)
        if weights.shape != (HANDS,) or not (weights >= 0).all() or not 0 < weights.max() < math.inf:
            raise GameError(f"the weights of a range are {HANDS} numbers, 0 or more and not all 0")
        seat = source
    elif isinstance(source, str):
        seat = parse_range(source)
    else:
        cards = np.asarray(source)
        if cards.shape != (2,) or cards.dtype.kind not in "iu":
            raise GameError("a hand is text, a Range, or two cards as whole numbers, 0 (2c) to 51 (As)")
        _check_cards(cards, "in a hand")
        seat = Range(names(cards), (hand_cards() == np.sort(cards)).all(axis=1).astype(np.float64))
    return Range(seat.name, seat.weights / seat.weights.max())


def _check_cards(cards: NDArray[Any], where: str) -> None:
    from kibitz.cards.deck import name

    text = [name(card) for card in cards.tolist()]
    for k, card in enumerate(text):
        if card in text[:k]:
            raise GameError(f"the card {card} is twice {where}: {' '.join(text)}")


def _parted(seats: list[Range], shown: Ints) -> list[Range]:
    """Ranges without the cards of the board, and of seats whose hand is known."""
    from kibitz.cards.deck import name, names

    where = dict.fromkeys(shown.tolist(), "on the board")
    known: set[int] = set()
    parted = list(seats)
    while True:
        single = [s for s, seat in enumerate(parted) if seat.size == 1 and s not in known]
        if known and not single:
            return parted
        for s in single:
            for card in parted[s].hands[0].tolist():
                if card in where:
                    raise GameError(f"the card {name(card)} is {where[card]} and in the hand of seat {s + 1}")
                where[card] = f"in the hand of seat {s + 1}"
            known.add(s)
        for s in set(range(len(parted))) - known:
            parted[s] = seats[s].without(list(where))
            if not parted[s].size:
                raise GameError(
                    f"seat {s + 1} has no hand left: each of {seats[s].name!r} holds one of the known cards "
                    f"{names(sorted(where, reverse=True))}"
                )
        if not single:
            return parted


# All showdowns


@dataclass
class EnumerationPlan:
    """How to enumerate: weights of the seats, one of them perhaps averaged, and the renamings of suits."""

    weights: list[Floats]
    group: Words
    scale: float  # how often each showdown is then counted
    boards: int  # about
    by_sorting: bool
    seconds: float  # of one core, about
    flat: bool  # whether all weights of a seat are the same, so that showdowns are counted


def _plan(seats: list[Range], shown: Ints) -> EnumerationPlan:
    """The cheapest way."""
    moved = _moved_hands()
    same = [(seat.weights[moved] == seat.weights).all(axis=1) for seat in seats]
    table = np.isin(shown[None, :] // 4 * 4 + _renamings()[:, shown % 4], shown).all(axis=1)
    plans = []
    for freed in (None, *range(len(seats))):
        kept = table.copy()
        for s, each in enumerate(same):
            if s != freed:
                kept &= each
        weights = [seat.weights for seat in seats]
        scale = 1.0
        if freed is not None:
            weights[freed] = weights[freed][moved[kept]].sum(axis=0)
            scale = float(kept.sum())
        flat = all(seat.is_flat for seat in seats)
        plans.append(_costed(weights, _renamings()[kept].astype(np.uint64), scale, shown, flat))
    return min(plans, key=lambda plan: plan.seconds)


def _costed(weights: list[Floats], group: Words, scale: float, shown: Ints, flat: bool) -> EnumerationPlan:
    sizes = [int(np.count_nonzero(each)) for each in weights]
    every = math.comb(52 - len(shown) - 2 * sizes.count(1), 5 - len(shown))
    boards = max(1, every // len(group))
    deals = math.prod(float(size) for size in sizes)
    listed = boards * (sum(sizes) * EVALUATING + deals * len(sizes) * COMPARING)
    by_sorting = len(sizes) == 2 and boards * SORTING < listed
    seconds = every * LISTING + (boards * SORTING if by_sorting else listed)
    return EnumerationPlan(weights, group, scale, boards, by_sorting, seconds, flat)


class ShowdownSums(NamedTuple):
    """Of each seat, [seats]: showdowns by weight, shares of pots summed, and standard errors of equities."""

    wins: Floats
    ties: Floats
    shares: Floats
    error: Floats
    met: float
    exact: bool


def _enumerated(plan: EnumerationPlan, shown: Ints, threads: int | None, insist: bool) -> ShowdownSums | None:
    """All showdowns; None if there are too many deals to list."""
    from kibitz.cards.kernels.ranges import meet_listed, meet_sorted
    from kibitz.cards.kernels.strength import CARD_MASK, KINDS, MASK_OF, WIDE, workspace

    numbers = [np.flatnonzero(each) for each in plan.weights]
    table = _union(CARD_MASK[shown])
    common = [np.bitwise_and.reduce(MASK_OF[hands]) for hands in numbers]  # cards that a seat holds for certain
    listed = None if plan.by_sorting else _deals(plan.weights, numbers, insist)
    if not plan.by_sorting and listed is None:
        return None
    boards, times = _boards(table, table | _union(np.array(common)), 5 - len(shown), plan.group)
    step = max(1, min(PIECE, int(PIECE_SECONDS * plan.boards / plan.seconds)))
    seats = len(plan.weights)

    def piece(part: slice) -> Floats:
        out = np.zeros((seats, 3))
        if listed is None:
            room = np.zeros((KINDS, WIDE)), np.zeros((KINDS + 1, WIDE)), workspace()
            meet_sorted(boards[part], times[part], *plan.weights, out[0], *room)
        else:
            values = np.zeros(len(listed[0]), np.uint32)
            meet_listed(boards[part], times[part], *listed, out, values, np.zeros_like(out))
        return out

    sums = _in_pieces(piece, len(boards), step, (seats, 3), threads) / plan.scale
    if plan.by_sorting:
        wins, ties, met = sums[0].tolist()
        sums = np.array([[wins, ties, wins + ties / 2], [met - wins - ties, ties, met - wins - ties / 2]])
    met = float(sums[:, 2].sum())
    if met <= 0.0:
        raise GameError(NEVER)
    if plan.flat:  # whole numbers, of which thirds were added up
        sums[:, :2] = np.rint(sums[:, :2])
        met = round(met)
    return ShowdownSums(sums[:, 0], sums[:, 1], sums[:, 2], np.zeros(seats), met, True)


def _union(masks: Words) -> int:
    return int(np.bitwise_or.reduce(masks, initial=np.uint64(0)))


def _boards(table: int, dead: int, left: int, group: Words) -> tuple[Words, NDArray[np.uint8]]:
    """Boards with `left` more cards up to a group of renamings, and how many each stands for."""
    from kibitz.cards.holdem import board_path
    from kibitz.cards.kernels.ranges import list_boards

    most = math.comb(52 - dead.bit_count(), left)
    boards, times = np.empty(most, np.uint64), np.empty(most, np.uint8)
    count = int(list_boards(table, dead, group, boards, times, *board_path(left)))
    return boards[:count], times[:count]


def _deals(weights: list[Floats], numbers: list[Ints], insist: bool) -> tuple[Words, Any] | None:
    """The hands of all seats, and all deals; None, or an error if they have to be, if there are too many."""
    chances = [each[hands] for each, hands in zip(weights, numbers, strict=True)]
    size = 0
    while True:
        count, masks, deals = _walked(numbers, chances, size, MOST_DEALS + 1, STEPS)
        if not 0 < count <= MOST_DEALS:
            if insist:
                raise GameError(
                    f"these ranges have more than {MOST_DEALS:,} deals, too many to count exactly; "
                    "give narrower ranges, or samples instead"
                )
            return None
        if size:
            return masks, deals
        size = count


def _walked(numbers: list[Ints], chances: list[Floats], size: int, most: int, steps: int) -> tuple[int, Words, Any]:
    """(how many deals, the hands of all seats, a list of the first `size` deals); an error if there is none."""
    from kibitz.cards.kernels.ranges import DealList, RangeHands, walk_deals
    from kibitz.cards.kernels.strength import MASK_OF

    seats = len(numbers)
    hands = RangeHands(MASK_OF[np.concatenate(numbers)], np.concatenate(chances), _firsts(numbers))
    deals = DealList(np.empty((size, seats), np.int32), np.empty(size, np.uint64), np.empty(size))
    count = int(walk_deals(hands, most, steps, deals, np.zeros(seats, np.int64), np.zeros(seats + 1, np.uint64)))
    if count == 0:
        raise GameError(NEVER)
    return count, hands.masks, deals


def _firsts(numbers: list[Ints]) -> Ints:
    return np.concatenate(([0], np.cumsum([len(hands) for hands in numbers]))).astype(np.int64)


# Samples


def _in_turns(seats: list[Range], shown: Ints, samples: int, seed: int) -> Equities | None:
    """A hand against another, or against all of one class, as `equity` samples it; None for anything else."""
    from kibitz.cards.holdem import equity
    from kibitz.cards.recipes import class_of

    if len(seats) != 2 or min(seat.size for seat in seats) > 1 or not all(seat.is_flat for seat in seats):
        return None
    mine, other = seats if seats[0].size == 1 else seats[::-1]
    if other.size > 12 or len(set(class_of()[other.numbers].tolist())) > 1:
        return None
    wins, ties, losses = equity(mine.hands[0], other.hands, shown, samples, seed)
    if mine is not seats[0]:
        wins, losses = losses, wins
    counts = np.array([[wins, ties], [losses, ties]], np.float64)
    shares = counts[:, 0] + counts[:, 1] / 2
    variance = (counts[:, 0] + counts[:, 1] / 4) / samples - (shares / samples) ** 2
    errors = np.asarray(np.sqrt(np.maximum(0.0, variance) / samples), np.float64)  # standard errors of means of shares
    return _answer(seats, ShowdownSums(counts[:, 0], counts[:, 1], shares, errors, samples, False))


def _sampled(seats: list[Range], shown: Ints, samples: int, seed: int, threads: int | None) -> Equities:
    """Random deals on random boards, with weights; the narrowest range draws first."""
    from kibitz.cards.kernels.ranges import DrawTables, sample_deals

    count = len(seats)
    most = math.comb(52 - len(shown) - 2 * sum(seat.size == 1 for seat in seats), 2)  # hands beside the known cards
    flat = [seat.is_flat and seat.size == most for seat in seats]
    order = [int(s) for s in np.argsort([seat.size for seat in seats], kind="stable") if not flat[s]]
    drawn = [seats[s].weights / seats[s].weights.sum() for s in order]
    order += [s for s in range(count) if flat[s]]
    numbers = [np.flatnonzero(weights) for weights in drawn]
    if numbers:  # refuse ranges that can never be held together, as far as a short search finds out
        if len(np.unique(hand_cards()[np.concatenate(numbers)])) < 2 * len(numbers):
            raise GameError(NEVER)
        _walked(numbers, [np.ones(len(hands)) for hands in numbers], 0, 1, SHORT)
    weights = np.array(drawn).reshape(-1, HANDS)
    holds = (hand_cards()[:, :, None] == np.arange(52)).any(axis=1)
    edges = np.concatenate([np.zeros(0), *(_edges(each) for each in drawn)])
    places = np.concatenate([np.zeros(0, np.int64), *numbers]).astype(np.uint64)
    tables = DrawTables(places, edges, _firsts(numbers), weights, weights @ holds.astype(np.float64))

    def piece(part: slice) -> Floats:
        out = np.zeros((count + 1, 5))
        room = np.zeros(count, np.uint64), np.zeros(count, np.uint32), np.zeros(52, np.uint64)
        sample_deals(tables, shown.astype(np.uint8), seed, part.start, part.stop, out, *room)
        return out

    sums = _in_pieces(piece, samples, SAMPLE_PIECE, (count + 1, 5), threads)
    total, squares = sums[count, :2].tolist()
    if total <= 0.0:
        raise GameError(
            "the ranges share so many cards that no sample had a hand for each seat; give wider ranges, or fewer seats"
        )
    each = np.empty((count, 5))
    each[order] = sums[:count]
    wins, ties, shares = each[:, :3].T / total
    errors = np.sqrt(np.maximum(0.0, each[:, 4] - 2 * shares * each[:, 3] + shares**2 * squares)) / total
    return _answer(seats, ShowdownSums(wins * samples, ties * samples, shares * samples, errors, samples, False))


def _edges(weights: Floats) -> Floats:
    sums = np.cumsum(weights[weights > 0.0])
    return np.asarray(sums / sums[-1], np.float64)


# Small things


def _answer(seats: list[Range], sums: ShowdownSums) -> Equities:
    losses = np.maximum(0.0, sums.met - sums.wins - sums.ties)
    each = zip(seats, sums.wins, sums.ties, losses, sums.shares / sums.met, sums.error, strict=True)
    by_seat = tuple(Seat(seat.name, seat.size, *map(float, numbers)) for seat, *numbers in each)
    return Equities(by_seat, sums.exact, sums.met)


def _in_pieces(
    work: Callable[[slice], Floats], count: int, step: int, shape: tuple[int, ...], threads: int | None
) -> Floats:
    """Sums over pieces of `step` of `count`, on some threads, in an order that does not depend on them."""
    pieces = (slice(at, min(at + step, count)) for at in range(0, count, step))
    return sum(over(work, list(pieces), threads=threads), np.zeros(shape))


@lru_cache(1)
def _renamings() -> Ints:
    """[24, 4]  what each suit is called; the identity first."""
    return np.array(list(permutations(range(4))), np.int64)


@lru_cache(1)
def _moved_hands() -> Ints:
    """[24, 1326]  which hand each becomes by a renaming."""
    cards = hand_cards()
    moved = np.sort(cards[None] // 4 * 4 + _renamings()[:, cards % 4], axis=2)
    return np.asarray(moved[..., 1] * (moved[..., 1] - 1) // 2 + moved[..., 0], np.int64)
