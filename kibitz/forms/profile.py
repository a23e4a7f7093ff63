"""Profile: one strategy per seat, as readable probabilities that can be saved."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import html, store
from kibitz.core.errors import ArtefactError, GameError
from kibitz.forms.choice import stored_infosets
from kibitz.forms.protocol import ProfileInfosets
from kibitz.games.protocol import Action, Game
from kibitz.games.trusted import recalled

KIND = "profile"
STEPS = 255  # of rounded probabilities: what a byte holds
CHUNK = 1 << 18  # rows that are rounded at a time
SUM_TOLERANCE = 1e-9
WIDEST = 8  # actions that a table has columns for
MOST_DRAWN = 20_000  # infosets in a picture


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """One strategy per seat. `probabilities` has an entry for each infoset and action, in the order of `infosets`.

    Two profiles are equal if they have the same infosets, actions and probabilities.
    """

    infosets: ProfileInfosets
    probabilities: NDArray[np.float64]
    meta: Mapping[str, Any] = field(default_factory=dict)  # game, tree (digest), solver, iterations, seed, ...

    def __post_init__(self) -> None:
        columns = self.infosets.columns
        if self.probabilities.shape != (columns,) or self.probabilities.dtype != np.float64:
            raise GameError(f"a profile of these infosets has {columns:,} probabilities: one for each action of each")
        self.probabilities.flags.writeable = False

    @property
    def seats(self) -> int:
        return self.infosets.seats

    @property
    def game(self) -> str:
        """The spec of the game that the profile plays, empty if it has none."""
        return str(self.meta.get("game", ""))

    def __getitem__(self, key: tuple[int, str]) -> dict[Action, float]:
        """profile[seat, infoset]: probability by action name."""
        try:
            seat, label = key
            seat = operator.index(seat)
        except (TypeError, ValueError):
            raise GameError("a profile is read as profile[seat, infoset], such as profile[0, 'Q']") from None
        return self.at(self.infosets.find(seat, str(label)))

    def at(self, infoset: int) -> dict[Action, float]:
        """Probability by action name of an infoset by number."""
        first, last = self.infosets.first[infoset : infoset + 2]
        names = self.infosets.actions[self.infosets.actions_of[infoset]]
        return dict(zip(names, self.probabilities[first:last].tolist(), strict=True))

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[Action]) -> NDArray[np.float64]:
        """[infosets, actions]  the probabilities of some infosets; see `kibitz.forms.strategy.Strategy`."""
        numbers = [self.infosets.find(player, label) for label in infosets]
        first = np.asarray(self.infosets.first)[np.array(numbers, np.int64)]
        return np.asarray(self.probabilities[first[:, None] + np.arange(len(actions))])

    def items(self, seat: int) -> Iterator[tuple[str, dict[Action, float]]]:
        """(infoset, probabilities) for all infosets of a seat, in the order in which the game meets them."""
        start = self.infosets.seat_start
        if not 0 <= seat < self.seats:
            raise GameError(f"there is no seat {seat}: seats are 0 to {self.seats - 1}")
        for i in range(start[seat], start[seat + 1]):
            yield self.infosets.labels[i], self.at(i)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self.infosets.same(other.infosets)

    def __hash__(self) -> int:
        return hash((self.probabilities + 0.0).tobytes())  # adding 0.0 turns -0 into 0

    # What a notebook shows

    def __repr__(self) -> str:
        meta = self.meta
        parts = [f"{len(self.infosets.labels):,} infosets"]
        if isinstance(meta.get("solver"), str):
            parts.append(f"by {_short(meta['solver'])}")
        if isinstance(meta.get("iterations"), int):
            parts.append(f"{meta['iterations']:,} iteration{'s' * (meta['iterations'] != 1)}")
        if isinstance(meta.get("nash_conv"), float):
            parts.append(f"NashConv {meta['nash_conv']:.3g}")
        if meta.get("interrupted") is True:
            parts.append("interrupted")
        return f"<Profile of {_short(self.game) or 'a game without a name'}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        shown, actions = self._some(html.MOST_ROWS // self.seats)
        names = [str(a) for a in actions]
        head, rows = ["seat", "infoset", *names], []
        for i in shown:
            row = self.at(i)
            cells = [f"{100 * row[a]:.1f}%" if a in row else "" for a in actions]
            if len(actions) > WIDEST:  # one column that lists them
                cells = [", ".join(f"{a} {100 * p:.1f}%" for a, p in row.items() if p >= 0.0005)]
            rows.append([str(self.infosets.seat_of(i)), self.infosets.labels[i], *cells])
        wide = len(actions) > WIDEST
        head = ["seat", "infoset", "actions"] if wide else head
        return html.table(head, rows, repr(self), 3 if wide else 2, len(self.infosets.labels))

    def _some(self, most: int) -> tuple[list[int], list[Action]]:
        """The first infosets of each seat, and their actions."""
        start = self.infosets.seat_start.tolist()
        shown = [i for s in range(self.seats) for i in range(start[s], min(start[s + 1], start[s] + max(1, most)))]
        return shown, actions_in(self.infosets, shown)

    def plot(self, seat: int | None = None, filter: str = "", most: int = 40) -> Any:
        """A matplotlib figure of the strategy: bars for up to `most` infosets of a seat. For more it is
        a grid, cards down and betting across, where names of infosets have these parts; else a heat map.

        seat    only this seat
        filter  only infosets whose name contains this
        """
        from kibitz.core.draw import StrategyPanel, strategy_figure

        if seat is not None and not 0 <= seat < self.seats:
            raise GameError(f"there is no seat {seat}: seats are 0 to {self.seats - 1}")
        labels, start = self.infosets.labels, self.infosets.seat_start.tolist()
        chosen = {
            s: [i for i in range(start[s], start[s + 1]) if not filter or filter in labels[i]]
            for s in (range(self.seats) if seat is None else [seat])
        }
        total = sum(map(len, chosen.values()))
        if not 0 < total <= MOST_DRAWN:
            many = f"{total:,} infosets are too many for a picture" if total else "there is no such infoset"
            raise GameError(f"{many}: choose some with plot(seat=..., filter=...)")
        actions = actions_in(self.infosets, [i for numbers in chosen.values() for i in numbers])
        panels = []
        for s, numbers in chosen.items():
            shares = np.full((len(numbers), len(actions)), np.nan)
            for k, i in enumerate(numbers):
                row = self.at(i)
                shares[k, [actions.index(a) for a in row]] = list(row.values())
            panels.append(StrategyPanel(f"seat {s}", [labels[i] for i in numbers], shares))
        return strategy_figure(self.game or "a game without a name", [str(a) for a in actions], panels, most)

    def replaced(self, probabilities: NDArray[np.float64], **meta: Any) -> Profile:
        """The same infosets with other probabilities; measured figures of the old ones are dropped."""
        kept = {key: x for key, x in self.meta.items() if key not in ("nash_conv", "value", "steps")}
        return Profile(self.infosets, probabilities, {**kept, **meta})

    def rounded(self, steps: int = STEPS) -> Profile:
        """The same with probabilities that are whole numbers of 1 / steps, which a file holds in a byte each: an eighth
        of the size. Of each row those that were nearest to the next number are rounded up."""
        if not 1 <= steps <= STEPS:
            raise GameError(f"steps={steps} should be from 1 to {STEPS}")
        first, rounded = np.asarray(self.infosets.first), np.empty_like(self.probabilities)
        width = np.diff(first)
        for wide in np.unique(width).tolist():
            rows = np.flatnonzero(width == wide)
            for at in range(0, len(rows), CHUNK):
                place = first[rows[at : at + CHUNK], None] + np.arange(wide)
                exact = self.probabilities[place] * steps
                whole = np.floor(exact + 1e-9)
                left = np.rint(steps - whole.sum(axis=1)).astype(np.int64)  # to give out, largest remainders first
                rank = np.argsort(np.argsort(whole - exact, axis=1, kind="stable"), axis=1, kind="stable")
                rounded[place] = (whole + (rank < left[:, None])) / steps
        return self.replaced(rounded, steps=steps)

    # Artefacts

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"probabilities": self._stored(), **self.infosets.stored_arrays()}

    def _stored(self) -> NDArray[Any]:
        """Probabilities, or whole numbers of steps if that is what they are."""
        steps = self.meta.get("steps")
        if not isinstance(steps, int) or not 1 <= steps <= STEPS:
            return self.probabilities
        whole = np.rint(self.probabilities * steps).astype(np.uint8)
        return whole if (whole / steps == self.probabilities).all() else self.probabilities

    def _meta(self) -> dict[str, Any]:
        return {**self.meta, **self.infosets.stored_meta()}

    @property
    def sha256(self) -> str:
        """Digest of the infosets, actions and probabilities."""
        return store.digest(self._arrays(), self.infosets.stored_meta())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile to a directory, by convention NAME.profile; an older one there is replaced at once."""
        if not self.infosets.plain:
            raise GameError(
                "a profile of an abstract game cannot be saved, because its buckets would be lost: lift it to the "
                "game first, or solve with kibitz.solve(game, abstraction=...), which does"
            )
        store.save(Path(path), KIND, self._arrays(), self._meta())

    @staticmethod
    def load(path: str | PathLike[str], mmap: bool = False) -> Profile:
        """Read a profile; raises ArtefactError if it is damaged. mmap: processes that read it share its memory."""
        artefact = store.load(Path(path), KIND, mmap=mmap)
        try:
            return _from_artefact(artefact)
        except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
            raise ArtefactError(f"{path} is not a complete profile ({error}); solve the game again") from None

    # Other programs

    def to_openspiel(self, pyspiel_game: Any, game: Game | None = None) -> Any:
        """An OpenSpiel policy with the same probabilities, for the same game there (a pyspiel game or load string).

        The two games must have the same tree. `game` is needed only if the profile's game has no name.
        """
        from kibitz.games import game as make_game
        from kibitz.games.openspiel import openspiel_policy

        if game is None and not self.game:
            raise GameError("the profile's game has no name: give it with to_openspiel(pyspiel_game, game=...)")
        if game is None:
            game = make_game(recalled(self.game, "the profile", "game=... to to_openspiel"))
        return openspiel_policy(pyspiel_game, lambda seat, infoset: self[seat, str(infoset)], game)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def actions_in(infosets: ProfileInfosets, numbers: Sequence[int]) -> list[Action]:
    """All actions of some infosets. The longest lists first: where fold is not legal, it still comes before call."""
    of = infosets.actions_of[np.asarray(numbers, np.int64)]
    lists = sorted((infosets.actions[k] for k in dict.fromkeys(of.tolist())), key=lambda names: -len(names))
    return list(dict.fromkeys(action for names in lists for action in names))


def _from_artefact(artefact: store.Artefact) -> Profile:
    arrays, meta = artefact.arrays, dict(artefact.meta)
    probabilities, steps = arrays["probabilities"], meta.get("steps")
    if probabilities.dtype == np.uint8 and isinstance(steps, int) and 1 <= steps <= STEPS:
        probabilities = probabilities / steps
    if probabilities.dtype != np.float64:
        raise ValueError("its array 'probabilities' is of another type")
    infosets = stored_infosets(arrays, meta, probabilities.size)
    _check(infosets, probabilities)
    return Profile(infosets, probabilities, meta)


def _check(infosets: ProfileInfosets, probabilities: NDArray[np.float64]) -> None:
    """Refuse what are no distributions over the actions of the infosets."""
    if probabilities.shape != (infosets.columns,):
        raise ValueError("infosets and actions do not fit together")
    if not (np.isfinite(probabilities).all() and (probabilities >= 0.0).all()):
        raise ValueError("probabilities are not numbers from 0 to 1")
    sums = np.add.reduceat(probabilities, infosets.first[:-1]) if len(probabilities) else np.zeros(0)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(f"the probabilities of infoset {infosets.labels[i]!r} sum to {sums[i]:.9g}, not to 1")
