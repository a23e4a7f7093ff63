"""The crosstable: what profiles of one game win against each other, exactly, averaged over all seats.

A profile is a *strategy* here: it has a way to play every seat. Figures are expected values in chips; nothing is
sampled. Bankroll and run-off are the two ways in which the Computer Poker Competition ranks a field
[Waugh et al. 2009a, Sec. 4.2].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import html
from kibitz.core.errors import GameError
from kibitz.core.executor import current
from kibitz.evaluate import Strategy, measure
from kibitz.evaluate.field_on_nodes import worked_out
from kibitz.evaluate.seatings import Seatings, form_of_all
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Tree

__all__ = ["Crosstable", "Seatings", "crosstable", "mix", "units"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EVEN = 1e-9  # chips: a difference below this is rounding, and nobody's win


def mix(by_seat: Sequence[Profile]) -> Profile:
    """The profile in which seat i plays as by_seat[i] does in that seat."""
    if not by_seat:
        raise GameError("mix needs a profile for each seat")
    first = by_seat[0]
    if len(by_seat) != first.seats:
        raise GameError(f"the game has {first.seats} seats, so mix needs as many profiles, not {len(by_seat)}")
    probabilities = np.empty_like(first.probabilities)
    infosets = first.infosets
    for seat, profile in enumerate(by_seat):
        if not _alike(profile, first):
            raise GameError(
                f"the profile for seat {seat} was made for another game ({profile.game or 'without a name'}) "
                f"than that for seat 0 ({first.game or 'without a name'})"
            )
        mine = slice(*infosets.first[infosets.seat_start[seat : seat + 2]])
        probabilities[mine] = profile.probabilities[mine]
    meta = {key: first.meta[key] for key in ("game", "tree") if key in first.meta}
    return Profile(infosets, probabilities, {**meta, "mix": [profile.sha256[:16] for profile in by_seat]})


def _alike(one: Profile, other: Profile) -> bool:
    """Were the two made for one game, in one form?"""
    if one.infosets is other.infosets:
        return True
    if one.infosets.compact is not None:  # the definition says all
        return one.infosets.same(other.infosets)
    return (
        one.meta.get("tree") == other.meta.get("tree")
        and one.infosets.labels == other.infosets.labels
        and np.array_equal(one.infosets.first, other.infosets.first)
    )


@dataclass(frozen=True, eq=False, repr=False)
class Crosstable:
    """A crosstable of m strategies, in chips per hand."""

    game: str
    names: tuple[str, ...]
    seats: int
    matrix: Floats  # [m, m]  row against column, averaged over the row's seat; the column sits in all other seats
    field: Floats  # [m]  mean over all combinations of `seats` different strategies and all their orders
    exploitability: Floats  # [m]  NashConv / seats, in the real game
    plays: Seatings = dataclasses.field(repr=False)

    def __repr__(self) -> str:
        return f"<Crosstable of {self.game or 'a game without a name'}: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        head = ["in chips a hand", *self.names, "field", "exploitability"]
        rows = []
        for k, name in enumerate(self.names):
            against = ["" if k == j else f"{x:+.4f}" for j, x in enumerate(self.matrix[k].tolist())]
            rows.append([name, *against, f"{self.field[k]:+.4f}", f"{self.exploitability[k]:.4g}"])
        return html.table(head, rows, f"row against column, {self.game}")

    def beats(self, row: int, column: int) -> bool:
        """Whether the row gets more from the column than the column from the row; in a two-player zero-sum game that is
        a positive entry."""
        return bool(self.matrix[row, column] - self.matrix[column, row] > 2 * EVEN)

    @property
    def wins(self) -> Ints:
        """[m] how many others a strategy beats."""
        m = range(len(self.names))
        return np.array([sum(self.beats(a, b) for b in m) for a in m], np.int64)

    @property
    def losses(self) -> Ints:
        """[m] how many others beat it."""
        m = range(len(self.names))
        return np.array([sum(self.beats(b, a) for b in m) for a in m], np.int64)

    @property
    def bankroll(self) -> list[int]:
        """Strategies by average earnings, best first; ties in the order given."""
        return _ranked(range(len(self.names)), self.field)

    @property
    def runoff(self) -> list[int]:
        """Strategies, best first: the last by bankroll leaves, the field is averaged without it, and so on."""
        left, out = list(range(len(self.names))), []
        while left:
            last = _ranked(left, _field(self.plays, self.matrix, left, self.seats))[-1]
            left.remove(last)
            out.append(last)
        return out[::-1]

    def data(self) -> dict[str, Any]:
        """All of it as plain data, in chips."""
        return {
            "game": self.game,
            "seats": self.seats,
            "names": list(self.names),
            "matrix": self.matrix.tolist(),
            "average": self.field.tolist(),
            "wins": self.wins.tolist(),
            "losses": self.losses.tolist(),
            "exploitability": self.exploitability.tolist(),
            "bankroll": [self.names[k] for k in self.bankroll],
            "runoff": [self.names[k] for k in self.runoff],
        }


def crosstable(game: Game | Tree | Form | str, strategies: Mapping[str, Strategy]) -> Crosstable:
    """Play every strategy, a profile or a blueprint, against every other: exactly, on the form that they were made on
    (`form_of_all`).

    matrix  two players: 1/2 (u_0(row, column) + u_1(column, row)). More: the row in one seat against the column in all
            the others, averaged over the seats.
    field   each strategy's mean over all combinations of n different strategies and all n! orders of them; with
            fewer than n strategies, the mean of its row without the diagonal.
    """
    if not strategies:
        raise GameError("a crosstable needs at least one strategy")
    form, each = form_of_all(game, strategies.values())
    plays = Seatings(form, each)
    m, n, executor = len(strategies), form.seats, current()
    gaps = worked_out(plays, executor) / n if executor.elsewhere and form.spec else None
    matrix = np.array([[_entry(plays, a, b, n) for b in range(m)] for a in range(m)])
    average = np.array(_field(plays, matrix, range(m), n))
    if gaps is None:
        gaps = np.array([measure(form, p).nash_conv / n for p in plays.probabilities])
    return Crosstable(form.spec, tuple(strategies), n, matrix, average, gaps, plays)


def _entry(plays: Seatings, row: int, column: int, seats: int) -> float:
    around = [column] * (seats - 1)
    return float(np.mean([plays[(*around[:s], row, *around[s:])][s] for s in range(seats)]))


def _field(plays: Seatings, matrix: Floats, among: Iterable[int], seats: int) -> list[float]:
    """The average earnings of each of some strategies when only they play."""
    among = list(among)
    if seats == 2 or len(among) < seats:
        return [float(np.mean([matrix[a, b] for b in among if b != a])) if len(among) > 1 else 0.0 for a in among]
    total = dict.fromkeys(among, 0.0)
    count = dict.fromkeys(among, 0)
    for group in combinations(among, seats):
        for who in permutations(group):
            for seat, w in enumerate(who):
                total[w] += float(plays[who][seat])
                count[w] += 1
    return [total[a] / count[a] for a in among]


def _ranked(among: Iterable[int], earnings: Sequence[float] | Floats) -> list[int]:
    return [k for _, k in sorted(zip(earnings, among, strict=True), key=lambda pair: (-pair[0], pair[1]))]


def units(game: Game | str) -> dict[str, float]:
    """Units for a game's figures, and the value of a chip in each.

    Games with an `ante` have milli-antes, games with `bets` millibets: thousandths of the first bet.
    """
    rules = make_game(game) if isinstance(game, str) else game
    scales = {"chips": 1.0}
    ante, bets = getattr(rules, "ante", None), getattr(rules, "bets", None)
    if isinstance(ante, int) and ante > 0:
        scales["milli-antes"] = 1000.0 / ante
    if isinstance(bets, tuple | list) and bets and isinstance(bets[0], int) and bets[0] > 0:
        scales["millibets"] = 1000.0 / bets[0]
    return scales
