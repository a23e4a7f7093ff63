"""Reports over flops: one pair of ranges and one betting tree, solved on all flops, or on a subset that stands for all.

    report = flop_report(["TT+, AQs+", "22+, A2s+, KTs+"], pot=100, stacks=400, bets="33%", subset=25, out="report")
    report.means()                      # EV, equity, and how often each action is taken first
    report.by_class("suits")            # the same for rainbow, two-tone and monotone flops
    errors(all_flops, 25)               # how wrong means over a subset are, if all flops have been solved

Flops are solved on the executor in force, a piece of work each. With a folder each flop is a file there, and a report
that was stopped continues. The folder knows its question, and refuses another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.core.executor import current
from kibitz.core.pieces import Piece
from kibitz.poker.spots.estimates import estimate_of
from kibitz.poker.spots.flop_subsets import FlopSubset, SubsetError, choose, errors_of, points_of
from kibitz.poker.spots.flops import Flop, chances, check_suits, equities_of, flops_of, texture_of
from kibitz.poker.spots.spot import PLAYERS, Spot, betting_of, in_deck, met

Floats = NDArray[np.float64]
UNTIL = 0.01  # of the pot
CLASSES = ("suits", "ranks", "high")
AT_ONCE = 45  # flops whose equities are one piece of work
MOST_BYTES = 1 << 24  # of a file in the folder
FORMAT = "kibitz flops 1"
OnFlops = Callable[[str, int, int], None]  # what is done, how many flops, of how many


@dataclass(frozen=True)
class FlopResult:
    """One flop, solved."""

    flop: str
    values: tuple[float, float]  # what each player wins, in chips: without rake they add up to the pot
    equity: float  # of OOP
    first: dict[str, float]  # how often OOP takes each of its first actions
    after_check: dict[str, float]  # how often IP takes each of its actions after a check
    exploitability: float  # the mean of what both can still gain, as a share of the pot
    iterations: int


@dataclass(frozen=True, eq=False)
class FlopReport:
    """Flops that were solved, what each counts, and what came of it."""

    question: dict[str, Any]
    flops: tuple[Flop, ...]
    weights: Floats  # [n]  which sum to 1
    results: tuple[FlopResult, ...]
    chosen: str  # how the flops were chosen, in words
    equities: Floats | None = None  # [flops of the deck, 39], where a subset was chosen: `equities_of`

    def quantities(self) -> dict[str, Floats]:
        """[n] numbers by name: EV and equity of OOP, and how often each action is taken."""
        columns = {
            "EV OOP": [result.values[0] for result in self.results],
            "equity OOP": [result.equity for result in self.results],
            **{f"OOP {action}": [result.first[action] for result in self.results] for action in self.results[0].first},
            **{f"IP {action}": [result.after_check[action] for result in self.results]
               for action in self.results[0].after_check},
        }  # fmt: skip
        return {name: np.array(column, np.float64) for name, column in columns.items()}

    def means(self) -> dict[str, float]:
        """Over all flops, as likely as they are."""
        return {name: float(self.weights @ column) for name, column in self.quantities().items()}

    def by_class(self, kind: str) -> dict[str, dict[str, float]]:
        """Means by a class of flops: suits, ranks or high. `share`: how likely a flop is of the class."""
        words = [getattr(texture_of(flop), kind) for flop in self.flops]
        table: dict[str, dict[str, float]] = {}
        for word in sorted(set(words), key=_order):
            here = np.array([each == word for each in words]) * self.weights
            total = float(here.sum())
            if total > 0:
                means = {name: float(here @ column) / total for name, column in self.quantities().items()}
                table[word] = {"share": total, **means}
        return table

    def rows(self) -> list[dict[str, Any]]:
        """A row for each flop: for tables and files."""
        quantities = self.quantities()
        rows = []
        for k, (flop, result) in enumerate(zip(self.flops, self.results, strict=True)):
            rows.append({"flop": flop.name, "weight": float(self.weights[k]), **texture_of(flop)._asdict(),
                         **{name: float(column[k]) for name, column in quantities.items()},
                         "exploitability": result.exploitability, "iterations": result.iterations})  # fmt: skip
        return rows


def flop_report(
    ranges: Any, pot: float, stacks: Any, *, subset: int | Sequence[str] | None = 25,
    out: str | Path | None = None, until: float | None = None, iterations: int | None = None,
    on_progress: OnFlops | None = None, **options: Any,
) -> FlopReport:  # fmt: skip
    """Solve a spot on many flops.

    ranges, pot, stacks and other options are those of `spot`, without a board.
    subset: how many flops stand for all; None: all flops; or flops by name, such as ["AsKd2h", "7c6c2d"].
    until: a share of the pot, as of `solve`; without it and iterations it is 0.01.
    """
    tell = on_progress or (lambda what, done, of: None)
    if until is None and iterations is None:
        until = UNTIL
    question = {"ranges": [_plain(each) for each in ranges], "pot": pot, "stacks": stacks, **options}
    deck, ranges, flops, chance = _dealt(question)
    folder = None if out is None else FlopFolder(Path(out), question, until, iterations)
    equities: Floats | None = None
    if subset is None:
        part, chosen = FlopSubset(np.arange(len(flops)), chance), f"all {len(flops):,} flops"
    elif isinstance(subset, int):
        equities = all_equities(flops, ranges, deck, folder, tell)
        part = choose(points_of(flops, equities, chance), chance, subset)
        chosen = f"{subset:,} flops that stand for all {len(flops):,}, by weighted k-medoids"
    else:
        numbers = np.array(sorted({_number(name, flops, deck) for name in subset}), np.int64)
        part = FlopSubset(numbers, chance[numbers] / max(1e-300, float(chance[numbers].sum())))
        chosen = "flops by name"
    some = tuple(flops[k] for k in part.numbers)
    results = _solved(some, question, ranges, (until, iterations), folder, tell)
    return FlopReport(question, some, part.weights, tuple(results), chosen, equities)


class FlopChoice(NamedTuple):
    """A subset that was chosen, and how wrong the mean of the equity over it is."""

    flops: tuple[Flop, ...]
    weights: Floats  # [n]
    equities: Floats  # [n]  of OOP
    errors: list[SubsetError]


def chosen_flops(question: Mapping[str, Any], size: int, on_progress: OnFlops | None = None) -> FlopChoice:
    """The subset that `flop_report` would solve, without solving it. question: its arguments."""
    deck, ranges, flops, chance = _dealt(question)
    equities = all_equities(flops, ranges, deck, None, on_progress)
    subset = choose(points_of(flops, equities, chance), chance, size)
    wrong = errors_of(subset, chance, {"equity OOP": equities[:, 0]})
    return FlopChoice(tuple(flops[k] for k in subset.numbers), subset.weights, equities[subset.numbers, 0], wrong)


def _dealt(question: Mapping[str, Any]) -> tuple[tuple[int, int], Floats, list[Flop], Floats]:
    """(deck, ranges, flops that can come, how likely each is); a question that cannot be is refused."""
    from kibitz.poker.spots.reading import range_of

    deck = _deck(question)
    if isinstance(question["ranges"], str) or len(question["ranges"]) != 2:
        raise GameError("there are two ranges: out of position (OOP) first, then in position (IP)")
    weights = [range_of(source, player, ())[0] for source, player in zip(question["ranges"], PLAYERS, strict=True)]
    ranges = np.where(in_deck(deck), np.stack(weights), 0.0)
    check_suits(ranges, deck)
    flops = flops_of(deck)
    chance = chances(flops, ranges)
    _spot(question, flops[int(chance.argmax())])  # refuses sizes, pots and stacks that cannot be
    some = chance > 0
    return deck, ranges, [flop for flop, here in zip(flops, some, strict=True) if here], chance[some]


def _deck(question: Mapping[str, Any]) -> tuple[int, int]:
    ranks, suits = question.get("deck", (13, 4))
    if not (3 <= int(ranks) <= 13 and 2 <= int(suits) <= 4 and int(ranks) * int(suits) >= 9):
        raise GameError(f"a deck of {ranks} ranks and {suits} suits: choose 3 to 13 ranks, 2 to 4 suits, nine cards")
    return int(ranks), int(suits)


def all_equities(
    flops: Sequence[Flop], ranges: Floats, deck: tuple[int, int] = (13, 4), folder: FlopFolder | None = None,
    on_progress: OnFlops | None = None,
) -> Floats:  # fmt: skip
    """[flops, 39]  exact equities of both ranges on all flops: about two minutes of a core for 1,755."""
    saved = None if folder is None else folder.read("equities")
    if isinstance(saved, list) and len(saved) == len(flops):
        table = np.array(saved, np.float64)
        if table.ndim == 2 and np.isfinite(table).all():
            return table
    pieces = [flops[at : at + AT_ONCE] for at in range(0, len(flops), AT_ONCE)]
    rows: dict[int, list[Floats]] = {}
    work = [Piece(([flop.cards for flop in piece],)) for piece in pieces]
    for number, answer in current().map(_equities, work, "threads", shared=(ranges[0], ranges[1], deck)):
        rows[number] = answer
        if on_progress is not None:
            on_progress("equities", min(len(flops), AT_ONCE * len(rows)), len(flops))
    table = np.array([row for number in range(len(pieces)) for row in rows[number]])
    if folder is not None:
        folder.write("equities", table.tolist())
    return table


def equities_in(report: FlopReport) -> Floats:
    """[flops of the report, 39]  as of `all_equities`: computed once, they serve subsets of all sizes."""
    deck, ranges, _, _ = _dealt(report.question)
    return all_equities(report.flops, ranges, deck)


def errors(report: FlopReport, size: int, equities: Floats | None = None) -> list[SubsetError]:
    """How wrong the means of a report over all flops would have been over a subset. equities: as of `equities_in`."""
    flops, chance = report.flops, report.weights
    if equities is None:
        equities = equities_in(report)
    return errors_of(choose(points_of(flops, equities, chance), chance, size), chance, report.quantities())


class FlopFolder:
    """The folder of a report: its question, and a file for each flop."""

    def __init__(self, path: Path, question: Mapping[str, Any], until: float | None, iterations: int | None) -> None:
        self.path = path
        asked = json.loads(json.dumps({"format": FORMAT, "until": until, "iterations": iterations, **question}))
        before = self.read("question")
        if before is None:
            if path.is_dir() and any(path.iterdir()):
                raise ArtefactError(f"{path} is not empty and not a report over flops: choose another folder")
            self.write("question", asked)
        elif before != asked:
            differs = sorted(key for key in {*before, *asked} if before.get(key) != asked.get(key))
            raise ArtefactError(f"{path} is a report about another question: {', '.join(differs)} differs. Choose "
                                "another folder")  # fmt: skip

    def read(self, name: str) -> Any:
        """What a file says; None if there is none, or it is damaged."""
        place = self.path / f"{name}.json"
        if not place.exists():
            return None
        try:
            return json.loads(store.read_bytes(place, MOST_BYTES))
        except (ArtefactError, OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, data: Any) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        store.write_text(self.path / f"{name}.json", json.dumps(data) + "\n")


def solve_flop(
    question: str, until: float | None, iterations: int | None, flop: tuple[int, int, int]
) -> dict[str, Any]:
    """Solve one flop: a piece of work of an executor. question: as JSON."""
    from kibitz.poker.spots.solving import solve_spot

    spot = _spot(json.loads(question), Flop(flop, 1))
    solution = solve_spot(spot, until=until, iterations=iterations)
    root = solution.at()
    after = root.after("check")
    return asdict(FlopResult(
        Flop(flop, 1).name, (float(solution.values[0]), float(solution.values[1])), float(root.mean_equities[0]),
        dict(zip(root.actions, root.frequencies.tolist(), strict=True)),
        dict(zip(after.actions, after.frequencies.tolist(), strict=True)),
        float(solution.exploitability), solution.iterations,
    ))  # fmt: skip


def _solved(
    flops: Sequence[Flop], question: Mapping[str, Any], ranges: Floats, limits: tuple[float | None, int | None],
    folder: FlopFolder | None, tell: OnFlops,
) -> list[FlopResult]:  # fmt: skip
    results: dict[int, FlopResult] = {}
    for k, flop in enumerate(flops):
        if folder is not None and (saved := _result(folder.read(flop.name))) is not None:
            results[k] = saved
    missing = [k for k in range(len(flops)) if k not in results]
    tell("flops", len(results), len(flops))
    memory = memory_of([flops[k] for k in missing], question, ranges)
    work = [Piece((flops[k].cards,), cost=size, memory=size) for k, size in zip(missing, memory, strict=True)]
    shared = json.dumps(question), *limits
    for number, answer in current().map(solve_flop, work, "cores", shared=shared):
        k = missing[number]
        result = _result(answer)
        if result is None:
            raise SolverError(f"the flop {flops[k].name} has no result")
        results[k] = result
        if folder is not None:
            folder.write(flops[k].name, answer)
        tell("flops", len(results), len(flops))
    return [results[k] for k in range(len(flops))]


def memory_of(flops: Sequence[Flop], question: Mapping[str, Any], ranges: Floats) -> list[int]:
    """[n]  about how many bytes it takes to solve each flop, which a node must have free. Flops of a class of suits and
    pairs have as many boards, so each class is estimated once, on a flop that leaves most hands."""
    most: dict[tuple[str, str], tuple[int, Flop]] = {}
    for flop in flops:
        texture, count = texture_of(flop), int((ranges > 0)[:, ~met(flop.cards)].sum())
        kind = texture.suits, texture.ranks
        if kind not in most or count > most[kind][0]:
            most[kind] = count, flop
    needed = {}
    for kind, (_, flop) in most.items():
        spot = _spot(question, flop)
        needed[kind] = estimate_of(spot, betting_of(spot)).bytes
    return [needed[texture.suits, texture.ranks] for texture in map(texture_of, flops)]


def _result(saved: Any) -> FlopResult | None:
    """A result that was read; None if it is not one."""
    try:
        values = (float(saved["values"][0]), float(saved["values"][1]))
        tables = [{str(name): float(share) for name, share in saved[key].items()} for key in ("first", "after_check")]
        result = FlopResult(str(saved["flop"]), values, float(saved["equity"]), tables[0], tables[1],
                            float(saved["exploitability"]), int(saved["iterations"]))  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None
    numbers = [*values, result.equity, result.exploitability, *_all(tables)]
    return result if all(map(math.isfinite, numbers)) and result.first else None


def _all(tables: Iterable[Mapping[str, float]]) -> list[float]:
    return [share for table in tables for share in table.values()]


def _equities(first: Floats, second: Floats, deck: tuple[int, int], flops: Sequence[Sequence[int]]) -> list[Floats]:
    return equities_of(flops, first, second, deck)


def _spot(question: Mapping[str, Any], flop: Flop) -> Spot:
    from kibitz.poker.spots.reading import spot

    return spot(board=flop.cards, **question)


def _plain(source: Any) -> Any:
    """A range as it is written down: its text, or its weights."""
    if isinstance(source, str):
        return source
    return np.asarray(getattr(source, "weights", source), np.float64).tolist()


def _number(name: str, flops: Sequence[Flop], deck: tuple[int, int]) -> int:
    """Which flop a name stands for, under any renaming of suits."""
    from kibitz.poker.spots.engine_boards import renamed
    from kibitz.poker.spots.reading import board_of

    cards = board_of(name)
    if len(cards) != 3:
        raise GameError(f"{name!r} is not a flop: write three cards, such as AsKd2h")
    by_cards = {frozenset(flop.cards): k for k, flop in enumerate(flops)}
    for renaming in _renamings(deck[1]):
        number = by_cards.get(frozenset(renamed(card, renaming) for card in cards))
        if number is not None:
            return number
    raise GameError(f"{name!r} has a card that is not in the deck")


def _renamings(suits: int) -> list[tuple[int, ...]]:
    from itertools import permutations

    return [(*order, *range(suits, 4)) for order in permutations(range(suits))]


def _order(word: str) -> tuple[int, str]:
    """Classes in the order of play: suits and pairs as they are listed, ranks from the ace down."""
    from kibitz.cards.deck import RANKS
    from kibitz.poker.spots.flops import RANK_CLASSES, SUIT_CLASSES

    words = [*SUIT_CLASSES.values(), *RANK_CLASSES.values(), *reversed(RANKS)]
    return words.index(word), word
