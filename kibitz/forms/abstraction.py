"""Abstractions: which row a decision reads [Waugh et al. 2009b, Def. 2.2 in Gibson & Szafron 2011].

An abstraction is a pair <information, actions>: a map from infosets to coarser rows, and actions that are dropped.
`abstraction(game, ...)` makes one from a name, a function or a table; `abstract_tree` is the abstract game itself, an
ordinary Tree, so every solver and every measure works on it as on any game.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import html
from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.forms.cards import card_buckets, rank_groups
from kibitz.forms.profile import Profile
from kibitz.forms.rows import check_rows
from kibitz.games import Game
from kibitz.games.plugins import all_plugins, plugin_of
from kibitz.games.protocol import Action, Buckets
from kibitz.games.tree import Infosets, Tree, tree_of

__all__ = ["NAMES", "Abstraction", "abstraction", "offered"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bucket = Callable[[int, str], Hashable]  # (seat, infoset label) -> bucket

# name -> one line for the command line; names of ranks with dots, such as JQ.K, are read as groups of ranks
NAMES: dict[str, str] = {
    "null": "each infoset has a row of its own",
    "suits": "lossless: hands that differ only by a renaming of suits share a row",
    "JQ.K": "groups of ranks, any such name: the group of the private card, then whether the board pairs it",
}


@dataclass(frozen=True, eq=False, repr=False)
class Abstraction:
    """A map from the infosets of a game to rows, and the actions that are dropped. I infosets, K columns."""

    name: str
    infosets: Infosets  # of the real game
    row: Ints  # [I]  infoset -> row, numbered from 0 in order of first appearance, seat by seat
    closed: NDArray[np.bool_]  # [K]  dropped actions
    by_position: bool = False  # rows match actions by their place in the list, whatever their names
    ties: Ints | None = None  # [K]  for each column the first of its infoset that is the same to the seat

    @property
    def rows(self) -> int:
        """The number of abstract infosets: the size of the abstract game, as papers count it."""
        return int(self.row.max(initial=-1)) + 1

    def rows_of(self, seat: int) -> int:
        start = self.infosets.seat_start
        return len(np.unique(self.row[start[seat] : start[seat + 1]]))

    def even_out(self, probabilities: Floats) -> Floats:
        """Probabilities in the real game, with actions that are the same to a seat equally likely.

        If a seat cannot distinguish two actions, its row may prefer either; opponents who distinguish them can exploit
        that.
        """
        if self.ties is None:
            return probabilities
        total = np.bincount(self.ties, probabilities, minlength=len(probabilities))
        count = np.bincount(self.ties, minlength=len(probabilities))
        shared: Floats = (total / np.maximum(count, 1))[self.ties]
        return shared

    def __str__(self) -> str:
        return f"{self.name} ({self.rows:,} rows for {len(self.row):,} infosets)"

    def __repr__(self) -> str:
        return f"<Abstraction {self}>"

    def _repr_html_(self) -> str:
        start = self.infosets.seat_start
        rows = [(str(s), f"{start[s + 1] - start[s]:,}", f"{self.rows_of(s):,}") for s in range(self.infosets.seats)]
        return html.table(("seat", "infosets", "rows"), rows, repr(self))


def abstraction(
    game: Game | Tree | str,
    source: str | Bucket | Mapping[Any, Hashable] | Abstraction | Any = "null",
    without: Sequence[Action] | Callable[[int, str, tuple[Action, ...]], Sequence[Action]] = (),
) -> Abstraction:
    """An abstraction of a game.

    source   a name: "null", "suits", "JQ.K", "J.Q.K(recall=false)", or one that the game brings (its method buckets());
             or a function (seat, infoset) -> bucket; or a table {(seat, infoset): bucket} or {infoset: bucket}, where
             infosets that are missing keep their own row. Infosets of a seat with the same bucket share a row; they
             must have the same actions, unless the game says of its abstraction that it goes by position. For poker
             also buckets of hands: "percentile(8)", the folder where some were saved, or HandBuckets
    without  actions to drop: a list of names, dropped wherever another action is left; or a function
             (seat, infoset, actions) -> the actions to drop there.

    A name that begins with "own:" belongs to a function or a table: it describes what was used, but the abstraction
    cannot be rebuilt from it.
    """
    from kibitz.games import game as make_game

    rules = None if isinstance(game, Tree) else make_game(game)
    tree = game if isinstance(game, Tree) else tree_of(make_game(game) if rules is None else rules)
    infosets, by_position = tree.infosets, False
    bucket: Bucket | None = None
    keys: NDArray[Any] | None = None
    ties: Ints | None = None
    if isinstance(source, Abstraction):
        if not source.infosets.same(infosets):
            raise GameError(f"the abstraction {source.name} was made for another game")
        if callable(without) or len(without):
            raise SpecError("this Abstraction already has its list of dropped actions: give without= when you "
                            "create it")
        return source
    if isinstance(source, str):
        source = _saved(source) or source
    if isinstance(source, str):
        spec = specs.parse(source, "buckets")
        args = dict(spec.args)
        if "without" in args and (callable(without) or len(without)):
            raise SpecError(f"the actions to drop are given twice: in {source!r} and as without=")
        without = args.pop("without", without)
        if not callable(without) and not all(isinstance(action, str | int) for action in _listed(without)):
            raise SpecError(f"without={specs.brief(without)} should be an action, or a list of actions such as [raise]")
        buckets = _from_name(specs.Spec(spec.name, args), tree, rules)
        if buckets is not None:
            bucket, by_position = buckets.of, buckets.by_position
            keys = None if buckets.keys is None else buckets.keys(infosets.labels)
            ties = _ties(infosets, buckets)
        if callable(without):
            name = f"own:{spec.name}"
        else:
            without = _listed(without)
            name = str(specs.Spec(spec.name, {**args, **({"without": without} if without else {})}))
    elif any(each.reads(source) for each in all_plugins()):
        name, keys = str(getattr(source, "name", "own")), _from_plugin(source, tree, rules)
    elif isinstance(source, Mapping):
        name, bucket = "own:table", _from_table(source, infosets)
    elif callable(source):
        name, bucket = f"own:{getattr(source, '__name__', 'function')}", source
    else:
        raise SpecError("an abstraction is a name, a function (seat, infoset) -> bucket, or a table")
    row = _rows(infosets, bucket) if keys is None else numbered(infosets, keys)
    closed = _closed(infosets, without)
    check_rows(infosets, row, closed, by_position)
    return Abstraction(name, infosets, row, closed, by_position, ties)


def offered(game: Game | Tree | str) -> list[Abstraction]:
    """The abstractions that a game has names for, from the coarsest on; the last loses nothing.

    Games whose infosets have no other names offer the null abstraction alone.
    """
    from kibitz.games import game as make_game

    tree = game if isinstance(game, Tree) else tree_of(make_game(game))
    rules = make_game(game) if not isinstance(game, Tree) else make_game(tree.spec) if tree.spec else None
    groups = rank_groups(tree, rules)
    names = [*getattr(rules, "buckets", dict)(), *groups]
    source = tree if rules is None else rules
    whole = abstraction(source, "null")
    if groups and (suits := abstraction(source, "suits")).rows < whole.rows:
        whole = suits
    every = [each for name in names if (each := abstraction(source, name)).rows < whole.rows]
    return [*sorted(every, key=lambda each: each.rows), whole]


def _listed(without: Any) -> list[Any]:
    """Actions to drop, given as one or as a list."""
    return list(without) if isinstance(without, list | tuple | set | frozenset) else [without]


def numbered(infosets: Infosets, keys: NDArray[Any]) -> Ints:
    """Rows from a key for each infoset: numbered in order of first appearance, those of different seats apart."""
    row = np.empty(len(keys), np.int64)
    rows = 0
    for seat in range(infosets.seats):
        here = slice(infosets.seat_start[seat], infosets.seat_start[seat + 1])
        _, first, number = np.unique(keys[here], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        row[here] = rows + rank[number]
        rows += len(first)
    return row


def _ties(infosets: Infosets, buckets: Buckets) -> Ints | None:
    """For each column the first of its infoset that is the same to the seat; None if all differ."""
    first, row_of = infosets.first[:-1], infosets.row_of_column
    if buckets.all_ties is not None and (every := buckets.all_ties(infosets.labels)) is not None:
        within: Ints = every[row_of, np.arange(len(row_of)) - first[row_of]]
    elif buckets.ties is not None:
        seats = np.repeat(np.arange(infosets.seats), np.diff(infosets.seat_start)).tolist()
        each = [buckets.ties(seat, label) for seat, label in zip(seats, infosets.labels, strict=True)]
        within = np.array([a for actions in each for a in actions], np.int64)
    else:
        return None
    return within + first[row_of]


def _rows(infosets: Infosets, bucket: Bucket | None) -> Ints:
    """The same from a function; None: each infoset has a row of its own."""
    if bucket is None:
        return np.arange(len(infosets.labels))
    numbers: dict[tuple[int, Hashable], int] = {}
    row = np.empty(len(infosets.labels), np.int64)
    for seat in range(infosets.seats):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            key = bucket(seat, infosets.labels[i])
            try:
                row[i] = numbers.setdefault((seat, key), len(numbers))
            except TypeError:
                raise SpecError(
                    f"infoset {infosets.labels[i]!r} has the bucket {key!r}: a bucket must be hashable, "
                    "such as a number, a text or a tuple of them"
                ) from None
    return row


def _from_name(spec: specs.Spec, tree: Tree, rules: Game | None) -> Buckets | None:
    """What a name stands for, None for the null abstraction: the game's own names come first."""
    from kibitz.games import game as make_game

    if rules is None and tree.spec:
        rules = make_game(tree.spec)
    table: Mapping[str, Buckets] = getattr(rules, "buckets", dict)()
    if spec.name in table:
        return specs.call(lambda: table[spec.name], spec)
    if hasattr(rules, "buckets") and spec.name != "null" and not callable(getattr(rules, "hand", None)):
        raise specs.unknown("abstraction", spec.name, ["null", *table])
    keys = plugin_of(rules).keys(rules, tree.infosets, spec)
    if keys is not None:
        return Buckets(lambda seat, label: label, keys=lambda labels: keys)
    bucket = card_buckets(spec, tree, rules)
    return None if bucket is None else Buckets(bucket)


def _saved(path: str) -> Any:
    """The abstraction that a folder holds; None if it holds none."""
    return next((saved for each in all_plugins() if (saved := each.saved(path)) is not None), None)


def _from_plugin(buckets: Any, tree: Tree, rules: Game | None) -> Ints:
    """For each infoset of a game's tree what it shares a row by, in an abstraction of the game's plug-in."""
    from kibitz.games import game as make_game

    rules = make_game(tree.spec) if rules is None and tree.spec else rules
    keys: Ints | None = plugin_of(rules).keys(rules, tree.infosets, buckets)
    if keys is None:
        raise GameError(f"the buckets {buckets.name} group poker hands: they are only for two-player poker games "
                        "that are defined by an ACPC file")
    return keys


def _from_table(table: Mapping[Any, Hashable], infosets: Infosets) -> Bucket:
    for key in table:
        seat, label = key if isinstance(key, tuple) and len(key) == 2 else (None, key)
        seats = [s for s in range(infosets.seats) if seat is None or s == seat]
        if not any(label in infosets.number[s] for s in seats):
            raise GameError(f"the table names infoset {key!r}, which the game does not have")

    def bucket(seat: int, label: str) -> Hashable:
        for key in ((seat, label), label):
            if key in table:
                return ("bucket", table[key])
        return ("own", label)

    return bucket


def _closed(
    infosets: Infosets, without: Sequence[Action] | Callable[[int, str, tuple[Action, ...]], Sequence[Action]]
) -> NDArray[np.bool_]:
    closed = np.zeros(int(infosets.first[-1]), bool)
    if not callable(without):
        names: set[Action] = {without} if isinstance(without, str) else set(without)
        known = {a for actions in infosets.actions for a in actions}
        if names - known:
            raise SpecError(
                f"the game has no action {sorted(map(str, names - known))[0]!r}; "
                f"it has {', '.join(sorted(map(str, known)))}"
            )
        if not names:
            return closed
    for seat in range(infosets.seats):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            actions = infosets.actions[infosets.actions_of[i]]
            if callable(without):
                drop = set(without(seat, infosets.labels[i], actions))
                if drop - set(actions):
                    raise SpecError(
                        f"without drops {min(map(str, drop - set(actions)))!r} at infoset {infosets.labels[i]!r}, "
                        f"which has {', '.join(map(str, actions))}"
                    )
            else:
                drop = names if not set(actions) <= names else set()
            for k, action in enumerate(actions):
                closed[infosets.first[i] + k] = action in drop
    return closed


@dataclass(frozen=True, eq=False, repr=False)
class AbstractGame:
    """An abstract game as a Tree, with the way back: probabilities of its infosets -> of the real game's."""

    tree: Tree
    real: Infosets
    column: Ints  # [K]  real infoset column -> column of `tree`, -1 where the probability is fixed
    fixed: Floats  # [K]  probabilities where it is: of frozen infosets, 0 at dropped actions, uniform where dropped
    #                       actions have left no history of the row

    def __repr__(self) -> str:
        return f"<AbstractGame: {len(self.tree.infosets.labels):,} infosets for {len(self.real.labels):,}>"

    def lift(self, probabilities: Floats) -> Floats:
        """Probabilities by column of the abstract game -> by infoset column of the real game."""
        if not len(probabilities):
            return self.fixed.copy()
        return np.where(self.column >= 0, probabilities[np.maximum(self.column, 0)], self.fixed)

    def lower(self, probabilities: Floats) -> Floats:
        """The other way: a column gets the mean of the real columns that read it, to the bit if they agree."""
        inner = np.flatnonzero(self.column >= 0)
        at, size = self.column[inner], int(self.tree.infosets.first[-1])
        one = np.zeros(size)
        one[at] = probabilities[inner]
        off: Floats = np.bincount(at, probabilities[inner] - one[at], minlength=size) / np.bincount(at, minlength=size)
        return one + off


def abstract_game(
    tree: Tree,
    row: Ints,
    closed: NDArray[np.bool_] | None = None,
    frozen: NDArray[np.bool_] | None = None,
    base: Profile | None = None,
) -> AbstractGame:
    """The game in which infosets with the same row are one, closed actions do not exist and frozen infosets are chance.

    That is the abstract game of Def. 2.2 and, with frozen infosets, the game of a static expert [Gibson & Szafron 2011,
    Def. 3.2]: P(h) = C and f_C(a|h) = base(h, a). row: [I], read where not frozen; closed: [K]; frozen: [I].
    """
    from kibitz.forms.kernels.layout import drop_below

    infosets = tree.infosets
    count, columns = len(infosets.labels), int(infosets.first[-1])
    closed = np.zeros(columns, bool) if closed is None else closed
    frozen = np.zeros(count, bool) if frozen is None else frozen
    is_fixed = frozen[infosets.row_of_column]
    fixed = np.zeros(columns)
    if frozen.any():
        assert base is not None
        fixed[is_fixed] = base.probabilities[is_fixed]
    closed = closed & ~is_fixed

    # Histories that are left: closed actions go with all that follows them.
    parent, above = tree.parent, np.maximum(tree.parent, 0)
    edge = np.where(tree.turn[above] >= 0, infosets.first[np.maximum(tree.infoset[above], 0)] + tree.action, -1)
    edge[0] = -1
    by_frozen = (edge >= 0) & is_fixed[np.maximum(edge, 0)]
    by_seat = (edge >= 0) & ~by_frozen
    dropped = by_seat & closed[np.maximum(edge, 0)]
    gone = np.zeros(count, bool)
    if dropped.any():
        drop_below(parent, dropped)
        met = np.zeros(count, bool)
        met[tree.infoset[(tree.turn >= 0) & ~dropped]] = True
        gone = ~frozen & ~np.isin(row, row[met & ~frozen])
        left = np.bincount(infosets.row_of_column, ~closed, minlength=count)[infosets.row_of_column]
        nowhere = gone[infosets.row_of_column]
        fixed, is_fixed = np.where(nowhere, ~closed / left, fixed), is_fixed | nowhere

    # Rows that are left, numbered by seat and first appearance, each with its open actions.
    live = np.flatnonzero(~frozen & ~gone)
    seat = np.searchsorted(infosets.seat_start, np.arange(count), side="right") - 1
    rows, first_at, number = np.unique(row[live], return_index=True, return_inverse=True)
    order = np.argsort(first_at)
    rank = np.empty(len(rows), np.int64)
    rank[order] = np.arange(len(rows))
    new_row = np.full(count, -1, np.int64)
    new_row[live] = rank[number]
    speaker = live[first_at[order]]  # the infoset that names each row
    names: dict[tuple[Action, ...], int] = {}
    actions_of = np.empty(len(rows), np.int32)
    widths = np.empty(len(rows), np.int64)
    some_closed = bool(closed.any())
    for r, i in enumerate(speaker):
        kept = infosets.actions[infosets.actions_of[i]]
        if some_closed:
            shut = closed[infosets.first[i] : infosets.first[i + 1]]
            kept = tuple(a for a, s in zip(kept, shut, strict=True) if not s)
        actions_of[r] = names.setdefault(kept, len(names))
        widths[r] = len(kept)
    first = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    position = np.cumsum(~closed) - 1
    position -= (position[infosets.first[:-1]] + closed[infosets.first[:-1]])[infosets.row_of_column]
    of_column = new_row[infosets.row_of_column]
    column = np.where(is_fixed | closed, -1, first[np.maximum(of_column, 0)] + position)
    seat_start = np.concatenate(([0], np.cumsum(np.bincount(seat[speaker], minlength=tree.players)))).astype(np.int32)
    table = Infosets(seat_start, first, [infosets.labels[i] for i in speaker], list(names), actions_of)

    # The tree: frozen infosets become chance.
    turn, infoset, chance, action = tree.turn.copy(), tree.infoset.copy(), tree.chance.copy(), tree.action.copy()
    deciding = np.flatnonzero(turn >= 0)
    chance[by_frozen] = fixed[edge[by_frozen]]
    action[by_seat] = position[edge[by_seat]]
    turn[deciding[frozen[infoset[deciding]]]] = -1
    infoset[deciding] = new_row[infoset[deciding]]
    if dropped.any():
        keep = ~dropped
        renumber = (np.cumsum(keep) - 1).astype(np.int32)
        ends = np.flatnonzero(tree.turn == -2)
        payoff = tree.payoff[keep[ends]]
        parent = np.where(parent >= 0, renumber[above], -1)[keep].astype(np.int32)
        turn, infoset, chance, action = turn[keep], infoset[keep], chance[keep], action[keep]
    else:
        payoff = tree.payoff
    derived = Tree(tree.players, parent, turn, action, infoset.astype(np.int32), chance, payoff, table)
    return AbstractGame(derived, infosets, column, fixed)
