"""The tables of Texas hold'em: their content, and how their pieces are computed (`tables.py` builds and stores them).

Up to suit isomorphism a hand and board belong to one board, so the work is cut into pieces by boards:
1,755 of three cards, 16,432 of four, 134,459 of five. On each, all hands meet all others at once, for every way to
complete it (`cards/kernels/strength.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import permutations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.isomorphism import Indexer
from kibitz.cards.tables import Arrays, Fill, NodePieces, Recipe
from kibitz.core.errors import GameError

Ints = NDArray[np.int64]

BINS = 50
MOST_BINS = 990
STREETS = {"preflop": 2, "flop": 5, "turn": 6, "river": 7}  # cards seen
WHEN = {"preflop": "before the flop", "flop": "on the flop", "turn": "on the turn", "river": "on the river"}
# Boards in a piece, so that one takes most of a second: by cards seen. Before the flop, boards of five are cut.
SLICE = {2: 4096, 5: 32, 6: 512, 7: 4096}
COPIES, ROOM = 3, 60 << 20  # of a piece's answer while it is sent; bytes of boards, their weights and what they need
TRIPLES = 512  # boards in a piece of the table of three hands, which has larger ones


def recipe(name: str) -> Recipe:
    """The recipe of a table: preflop, flop, turn, river, classes, triples, or a histogram as turn-histogram-50."""
    street, _, bins = name.partition("-histogram-")
    if bins.isdecimal():
        return histogram_recipe(street, int(bins))
    known = {**_RECIPES, "triples": triples_recipe}
    if name not in known:
        raise GameError(f"there is no table {name!r}: choose one of {', '.join([*known, 'turn-histogram-50'])}")
    return known[name]()


def histogram_recipe(street: str, bins: int = BINS) -> Recipe:
    """The recipe of a table of histograms, of HS on the river, for all hands on a street."""
    bins = checked_bins(bins)
    if street not in ("preflop", "flop", "turn"):
        raise GameError(f"histograms exist for preflop, flop and turn, not for {street!r}")
    seen = STREETS[street]
    dtype, work = {2: ("<i8", 5.0), 5: ("<u2", 50.0), 6: ("|u1", 26.0)}[seen]
    arrays = {"histogram": (dtype, (_numbers(seen), bins))}
    make = partial(_preflop_pieces, bins) if seen == 2 else partial(_board_pieces, seen)
    about = f"where the strengths of hands {WHEN[street]} end on the river, in {bins} bins"
    name = f"{street}-histogram-{bins}"
    return Recipe(name, about, 1, arrays, _pieces(seen), make, work, far=_on_nodes(name, seen))


def all_recipes(bins: int = BINS) -> list[Recipe]:
    """Every table of hand strength, the small ones first. That of three hands takes longer than all of them and is
    for tournaments alone."""
    streets = ("preflop", "flop", "turn")
    return [*(recipe(name) for name in _RECIPES), *(histogram_recipe(street, bins) for street in streets)]


def _numbers(seen: int) -> int:
    return Indexer([2] if seen == 2 else [2, seen - 2]).size


def _pieces(seen: int) -> int:
    return -(-Indexer([5 if seen == 2 else seen - 2]).size // SLICE[seen])


def _street(street: str) -> Recipe:
    """How strong hands are on a street."""
    seen = STREETS[street]
    dtypes, work = {
        2: ({"wins": "<i8", "ties": "<i8", "squares": "<i8"}, 4.0),
        5: ({"ahead": "<u2", "wins": "<u4", "ties": "<u4", "squares": "<u4"}, 45.0),
        6: ({"ahead": "<u2", "wins": "<u2", "ties": "<u2", "squares": "<u4"}, 23.0),
        7: ({"ahead": "<u2"}, 46.0),
    }[seen]
    arrays = {name: (dtype, (_numbers(seen),)) for name, dtype in dtypes.items()}
    make = partial(_preflop_pieces, 0) if seen == 2 else partial(_board_pieces, seen)
    about = f"how strong hands are {WHEN[street]}"
    return Recipe(street, about, 1, arrays, _pieces(seen), make, work, far=_on_nodes(street, seen))


def _classes() -> Recipe:
    arrays = {"wins": ("<i4", (169, 169))}
    about = "the 169 hands before the flop against each other"
    return Recipe("classes", about, 1, arrays, _pieces(2), _class_pieces, 22.0, far=_on_nodes("classes"))


def triples_recipe() -> Recipe:
    """Three hands before the flop: [best, middle, worst] without ties; [two that tie, the other] for the best two, and
    for the others. Two classes a <= b are number b (b + 1) / 2 + a."""
    pairs = 169 * 170 // 2
    arrays = {"strict": ("<i8", (169, 169, 169)), "top": ("<i8", (pairs, 169)), "bottom": ("<i8", (pairs, 169))}
    pieces = -(-Indexer([5]).size // TRIPLES)
    return Recipe("triples", "in which order three hands end", 1, arrays, pieces, _triple_pieces, 600.0, sums=True,
                  far=_on_nodes("triples"))  # fmt: skip


_RECIPES: dict[str, Callable[[], Recipe]] = {
    "preflop": partial(_street, "preflop"), "classes": _classes, "flop": partial(_street, "flop"),
    "turn": partial(_street, "turn"), "river": partial(_street, "river"),
}  # fmt: skip


def _board_pieces(seen: int, arrays: Arrays, lock: threading.Lock) -> Fill:
    """Boards up to suit isomorphism, a slice for each piece; a hand and board belong to one of them."""
    from kibitz.cards.kernels.strength import HANDS, figures_of, fill_figures, workspace

    boards, plan = _boards(seen - 2), Indexer([2, seen - 2])._plan
    figures = figures_of(arrays)

    def fill(piece: int) -> None:
        part = boards[piece * SLICE[seen] : (piece + 1) * SLICE[seen]]
        counts = np.zeros((HANDS, figures.histogram.shape[1]), np.uint16)
        fill_figures(part, plan, figures, counts, np.zeros(0, np.uint64), workspace())

    return fill


def _preflop_pieces(bins: int, arrays: Arrays, lock: threading.Lock) -> Fill:
    """Sums over all hands of a class: each of its hands has had the same when all boards are done."""
    from kibitz.cards.kernels.strength import add_preflop, figures_of, workspace

    boards, weight, known = _boards(5), board_weights(), class_of()

    def fill(piece: int) -> None:
        part = slice(piece * SLICE[2], (piece + 1) * SLICE[2])
        sums = {name: np.zeros(169, np.int64) for name in ("wins", "ties", "squares")}
        sums["histogram"] = np.zeros((169, bins), np.int64)
        add_preflop(boards[part], weight[part], known, figures_of(sums), workspace())
        with lock:
            for name, array in arrays.items():
                array += sums[name]

    return fill


def _class_pieces(arrays: Arrays, lock: threading.Lock) -> Fill:
    from kibitz.cards.kernels.strength import HANDS, add_classes, workspace

    boards, weight, known = _boards(5), board_weights().astype(np.int32), class_of()

    def fill(piece: int) -> None:
        part = slice(piece * SLICE[2], (piece + 1) * SLICE[2])
        wins = np.zeros((169, 169), np.int32)
        room = np.zeros((53, 169), np.int16), np.zeros((2, HANDS), np.uint64)
        add_classes(boards[part], weight[part], known, wins, *room, workspace())
        with lock:
            arrays["wins"] += wins

    return fill


def _triple_pieces(arrays: Arrays, lock: threading.Lock) -> Fill:
    from kibitz.cards.kernels.three import add_boards, add_up, empty

    boards, weight, known = _boards(5), board_weights(), class_of()

    def fill(piece: int) -> Callable[[], None]:
        part = slice(piece * TRIPLES, (piece + 1) * TRIPLES)
        counts = empty()
        add_boards(boards[part], weight[part], known, counts)
        return lambda: add_up(counts, arrays["strict"], arrays["top"], arrays["bottom"])

    return fill


@lru_cache(4)
def _boards(cards: int) -> NDArray[np.uint8]:
    """A board of each number of Indexer([cards])."""
    indexer = Indexer([cards])
    return indexer.unindex(np.arange(indexer.size)).astype(np.uint8)


# Pieces on other machines


def _on_nodes(name: str, seen: int = 2) -> NodePieces:
    """Tables by boards get rows of their own from each piece; the others are sums."""
    if seen == 2:
        return NodePieces(sums_of_piece, lambda executor: (name,), _add, lambda: COPIES * recipe(name).bytes + ROOM)

    def memory() -> int:
        width = sum(np.dtype(dtype).itemsize * int(np.prod(shape[1:])) for dtype, shape in recipe(name).arrays.values())
        return COPIES * SLICE[seen] * comb(54 - seen, 2) * (8 + width) + ROOM

    return NodePieces(rows_of_piece, lambda executor: (name,), _put, memory, write=write_piece)


def sums_of_piece(name: str, piece: int) -> Arrays:
    """What a piece adds to a table of sums."""
    table = recipe(name)
    arrays = {each: np.zeros(shape, dtype) for each, (dtype, shape) in table.arrays.items()}
    add = table.make(arrays, threading.Lock())(piece)
    if add is not None:
        add()
    return arrays


def rows_of_piece(name: str, piece: int) -> tuple[NDArray[np.uint64], Arrays]:
    """The rows of a table that a piece writes, and what is in them. Some come twice, with the same content."""
    from kibitz.cards.kernels.strength import HANDS, figures_of, fill_figures, workspace

    table, seen = recipe(name), STREETS[name.partition("-histogram-")[0]]
    boards = _boards(seen - 2)[piece * SLICE[seen] : (piece + 1) * SLICE[seen]]
    rows = np.zeros(len(boards) * comb(52 - boards.shape[1], 2), np.uint64)
    arrays = {each: np.zeros((len(rows), *shape[1:]), dtype) for each, (dtype, shape) in table.arrays.items()}
    figures = figures_of(arrays)
    counts = np.zeros((HANDS, figures.histogram.shape[1]), np.uint16)
    fill_figures(boards, Indexer([2, seen - 2])._plan, figures, counts, rows, workspace())
    return rows, arrays


def write_piece(arrays: Arrays, name: str, piece: int) -> None:
    """The rows of a table that a piece writes, in their places."""
    recipe(name).make(arrays, threading.Lock())(piece)


def _add(arrays: Arrays, sums: Any) -> None:
    for name, array in arrays.items():
        array += sums[name]


def _put(arrays: Arrays, answer: Any) -> None:
    rows, values = answer
    rows = rows.view(np.int64)  # NumPy would make a copy of others, piece by piece
    for name, array in arrays.items():
        array[rows] = values[name]


@lru_cache(1)  # pieces on other machines ask for it one by one
def board_weights() -> Ints:
    """How many boards of five each number of Indexer([5]) stands for: renamings of suits that differ."""
    boards = _boards(5).astype(np.uint64)
    bits = [
        np.bitwise_or.reduce(np.uint64(1) << (boards // 4 * 4 + np.array(suits, np.uint64)[boards % 4]), axis=1)
        for suits in permutations(range(4))
    ]
    same = sum((each == bits[0]).astype(np.int64) for each in bits)
    return np.asarray(24 // same, np.int64)


@lru_cache(1)
def class_of() -> NDArray[np.uint64]:
    """[1326]  the class of each hand in the kernels' order."""
    return Indexer([2]).index([(a, b) for b in range(52) for a in range(b)]).astype(np.uint64)


def checked_bins(bins: int) -> int:
    if isinstance(bins, bool) or int(bins) != bins or not 1 <= bins <= MOST_BINS:
        raise GameError(f"bins={bins} should be a whole number from 1 to {MOST_BINS}")
    return int(bins)
