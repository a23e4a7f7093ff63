"""PokerForm: what solvers see of a two-player poker game, without tree and payoff matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import needs_tree
from kibitz.forms.protocol import InfosetValues
from kibitz.forms.treeplex import Points, Treeplex
from kibitz.poker.exact import programme, values
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.deal import least_classes
from kibitz.poker.exact.decisions import Decisions
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.exact.layout import BYTES_PER_SEQUENCE
from kibitz.poker.exact.operator import PokerOperator
from kibitz.poker.exact.rows import PokerRows
from kibitz.poker.exact.table import Buckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import betting_tree
from kibitz.poker.rules.rules import Poker

if TYPE_CHECKING:
    from kibitz.poker.exact.gpu_state import GpuPokerCfrState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PokerForm(PokerOperator):
    """A two-player poker game for solvers: see `kibitz.forms.protocol` for the interface."""

    rehearsal = "poker(file=kuhn)"
    abstraction = ""

    def __repr__(self) -> str:
        return f"<PokerForm of {self.spec or 'a game without a name'}: {self.sequences:,} sequences>"

    # Buckets.

    def bucketed(self, buckets: Buckets | list[Ints]) -> PokerForm:
        """The same game where classes of a bucket share rows: for each round, class -> bucket."""
        return PokerForm(self.game, buckets=buckets, cards=self.cards)

    def lift(self, small: Any, weights: NDArray[Any], classes: Buckets | None = None) -> NDArray[Any]:
        """Weights by sequence of a form with buckets -> of this one: each class reads its bucket's row.

        classes: by seat and round, class -> bucket, where the other form does not know of classes.
        """
        classes = classes or small.buckets
        assert self.buckets is None and classes is not None
        lifted = np.ones(self.sequences, weights.dtype)
        for segment, level in enumerate(self.levels.tolist()):
            for seat in (0, 1):
                of_class = classes[seat][level]
                lifted[self.sequences_of(seat, segment)] = weights[small.sequences_of(seat, segment)][:, of_class]
        return lifted

    def infoset_values(self, probabilities: Floats) -> InfosetValues:
        """How likely play reaches each infoset, and what each action is worth there."""
        return values.infoset_values(self, self.infosets.first, probabilities)

    # What solvers are made of.

    def cfr_state(self, rows: Any, start: Floats | None) -> PokerCfrState:
        """Where CFR keeps its numbers."""
        if rows is not None and not isinstance(rows, PokerRows):
            raise SolverError("a poker form does not support row maps: give it buckets, or solve the game's tree")
        return PokerCfrState(self, start, rows=rows)

    def gpu_cfr_state(self, rows: Any, start: Floats | None) -> GpuPokerCfrState:
        """The same on a GPU. What runs there is compiled here, before the clock of a run."""
        from kibitz.poker.exact.gpu import warm_up
        from kibitz.poker.exact.gpu_state import GpuPokerCfrState as OnGpu

        if rows is not None and not isinstance(rows, PokerRows):
            raise SolverError("a poker form does not support row maps: give it buckets, or solve the game's tree")
        warm_up(self)
        return OnGpu(self, start, rows=rows)

    def treeplex(self, seat: int) -> Treeplex:
        self._remember()
        return super().treeplex(seat)

    def points_of(self, seat: int) -> Points:
        return Decisions(self, seat).points()

    def payoff_matrix(self) -> Any:
        """The payoffs to seat 0, own sequences by the other's: all that the form avoids, for small games."""
        return programme.payoff_matrix(self)

    # Parts of it.

    def freeze(self, moves: NDArray[np.bool_], base: Floats) -> PokerRows:
        """The form with some infosets frozen at a base."""
        return PokerRows(self, moves, base)

    def parts_by_private(self) -> tuple[list[str], Ints, Ints]:
        """(what seats can hold, [I] which of it, [I] betting round from 1)."""
        nodes, classes = self.infosets.order()
        level = self.betting.round[nodes].astype(np.int64)
        texts = [self.cards.text(0, int(self.cards.rounds[0].board_of_class[c]), hand)
                for c, hand in enumerate(self.cards.rounds[0].hand)]  # fmt: skip
        names, of_first = np.unique([self.game.private(f"{cards}:")[0] for cards in texts], return_inverse=True)
        of_class = [of_first.astype(np.int64)]
        for cards in self.cards.rounds[1:]:
            of_class.append(of_class[-1][cards.up])
        what = np.empty(len(nodes), np.int64)
        for at, of in enumerate(of_class):
            what[level == at] = of[classes[level == at]]
        return [str(name) for name in names], what, level + 1

    # For a person.

    def facts(self) -> dict[str, Any]:
        """Sizes, as plain data."""
        return {
            "game": self.spec,
            "players": self.players,
            "histories": self.histories,
            "betting": len(self.betting),
            "boards": [len(r.boards) for r in self.cards.rounds],
            "classes": [r.classes for r in self.cards.rounds],
            "infosets": np.diff(self.infosets.seat_start).tolist(),
            "sequences": np.diff(self.seat_sequence).tolist(),
            "programme": self.programme_size,
            "payoff": self.scale,
            "bytes": {"solve": BYTES_PER_SEQUENCE * self.sequences},
        }

    def describe(self) -> list[tuple[str, str]]:
        """The same as (name, sentence)."""
        data = self.facts()

        def rounds(counts: list[int]) -> str:
            return " / ".join(f"{count:,}" for count in counts)

        whole, within = data["programme"]
        return [
            ("histories", f"{data['histories']:,} in the game tree, which is not built: betting and cards are kept "
                          "apart"),
            ("betting", f"{data['betting']:,} betting histories"),
            ("boards", f"{rounds(data['boards'])} by round, up to suit isomorphism"),
            ("hands on boards", f"{rounds(data['classes'])} by round, up to suit isomorphism"),
            ("infosets", f"{sum(data['infosets']):,} up to suit isomorphism"),
            ("sequences", f"{sum(data['sequences']):,} up to suit isomorphism"),
            ("linear program", f"{whole:,} rows for the whole game, {within:,} up to suit isomorphism"),
            ("payoffs", f"up to {data['payoff']:g} chips"),
        ]  # fmt: skip


def poker_form(game: Any, columns: int | None = None) -> PokerForm:
    """The poker form of a game, kept as long as the game lives.

    columns: of the file that it is made for, if there is one; a game with more is refused before it is built.
    """
    if needs_tree(game):
        raise GameError(f"{getattr(game, 'spec', '') or 'this game'} has no poker form: it is not a two-player poker "
                        "game")
    if columns is not None:
        _check_columns(game, columns)
    form: PokerForm | None = game.__dict__.get("_poker_form")
    if form is None:
        form = PokerForm(game)
        game.__dict__["_poker_form"] = form
    return form


def infosets_of(definition: str, spec: str, columns: int) -> PokerInfosets:
    """The infosets of the game of a .game file's text, which has a name or none; a file holds so many columns of it."""
    return poker_form(Poker(acpc.parse(definition, "the profile's definition"), spec), columns).infosets


def _check_columns(game: Poker, columns: int) -> None:
    """Refuse a poker game that has more infoset columns than a file holds, before anything of its size is made."""
    # An action leads to a node, and perhaps from there to one where cards are dealt: each has its column.
    tree = betting_tree(game.definition, 2 * columns + 2)
    deciding = tree.turn >= 0
    actions = np.bincount(tree.round[deciding], tree.widths[deciding], minlength=game.definition.rounds)
    least = sum(int(a) * c for a, c in zip(actions, least_classes(game.definition), strict=True))
    if least > columns:
        raise GameError(f"the game has at least {least:,} infoset columns, and the file has {columns:,}")
