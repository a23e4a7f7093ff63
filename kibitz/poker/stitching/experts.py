"""Stitching at the size of hold'em: experts use buckets of hands of their own and are solved on sampled boards, or with
dcfr+ over all boards at once (`part_form.py`).

The same partitions and frozen decisions as on a tree, by node of the betting: a static expert for part j and seats S
learns in part j, as do seats outside S everywhere; what S decides elsewhere is frozen at the base. Seats outside S see
part j through the expert's buckets, or through the base's, as a graft's opponent does [Waugh et al. 2009].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.core.spec import parse
from kibitz.forms.choice import has_compact_form, needs_tree
from kibitz.forms.profile import Profile
from kibitz.games import game as make_game
from kibitz.poker.bucketed.device import Device
from kibitz.poker.buckets.buckets import hand_buckets, is_bucket_name
from kibitz.poker.exact.factored import nodes_by_actions
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.layout import ViewLayout, viewed
from kibitz.poker.stitching.part_form import PartForm
from kibitz.solvers import RunOptions
from kibitz.solvers.run import samples, solve_through
from kibitz.stitch.folder import solved
from kibitz.stitch.partition import read, steps_of
from kibitz.stitch.targets import Expert, Solving, Stitching, Target, by_part

Ints = NDArray[np.int64]
OVER_BOARDS = ("dcfr+", "dcfr", "lcfr", "cfr")  # not cfr+, the default of commands: then boards are sampled
OPPONENTS = ("inside", "base")  # whose buckets seats outside S see the part through: the expert's, or the base's


class BettingParts(NamedTuple):
    """Parts of a game by its betting."""

    names: tuple[str, ...]  # names[0] is "base"
    part: Ints  # [betting nodes]


def betting_parts(game: Poker, source: str) -> BettingParts:
    """The parts of "prefix(r, cr)": by the players' first actions."""
    words = prefixes(source)
    known = {str(action) for offer in game.betting.actions for action in offer}
    part = nodes_by_actions(game.betting, steps_of(words, known, source))
    for j, word in enumerate(words, 1):
        if not ((part == j) & (game.betting.turn >= 0)).any():
            raise SolverError(f"there is no decision after {word!r}, so its expert would have no decisions")
    return BettingParts(("base", *words), part)


def prefixes(source: Any) -> list[str]:
    """r and cr of "prefix(r, cr)"."""
    kind, words = read(source) if isinstance(source, str) else ("", [])
    if kind != "prefix":
        raise SolverError(f"{source}: with sampled hands, parts must be given by betting: write prefix(r, cr)")
    return words


def poker_of(game: Any) -> Poker:
    rules = make_game(game)
    if not isinstance(rules, Poker) or rules.definition.players != 2:
        raise SolverError("experts with their own buckets, on sampled boards, are for two-player poker games")
    return rules


@dataclass(frozen=True, eq=False)
class BucketedBase:
    """A base in buckets of hands, as experts read it."""

    profile: Profile
    layout: ViewLayout
    buckets: tuple[Any, ...]

    def played(self, node: int) -> NDArray[Any]:
        return self.layout.at(self.profile.probabilities, node)

    @cached_property
    def digest(self) -> str:
        """Of what is played; worked out once, as that takes a second where a strategy is large."""
        return self.profile.sha256


class ExpertRows(NamedTuple):
    """What is played at some nodes of the betting, instead of a base."""

    node: NDArray[np.bool_]  # [betting nodes]
    buckets: Any  # that number its rows
    rows: Callable[[int], NDArray[Any]]  # node -> [buckets, actions]


def placed(rules: Poker, onto: BucketedBase, pieces: Sequence[ExpertRows], meta: Mapping[str, Any]) -> BucketedBase:
    """A base with pieces in its place; of those that overlap the last counts. The result is a base again."""
    buckets, of_node = list(onto.buckets), onto.layout.of_node.copy()
    source = np.full(len(of_node), -1)
    for number, piece in enumerate(pieces):
        of_node[piece.node], source[piece.node] = len(buckets), number
        buckets.append(piece.buckets)
    form = ViewForm(rules, buckets, of_node)
    probabilities = np.empty(form.columns)
    for node in form.order.tolist():
        number = int(source[node])
        form.at(probabilities, node)[:] = onto.played(node) if number < 0 else pieces[number].rows(node)
    about = {"game": rules.spec, "tree": form.tree_digest, "solver": "stitch", "abstraction": form.abstraction}
    return BucketedBase(Profile(form.infosets, probabilities, {**about, **meta}), form, tuple(form.buckets))


def base_of(game: Poker, base: Profile) -> BucketedBase:
    """A base in buckets of hands, or one that is stitched of such."""
    compact = base.infosets.compact if isinstance(base, Profile) else None
    layout = None if compact is None else viewed(compact.form)
    if layout is None:
        raise GameError("the base must be a profile in buckets of hands: solve one with --abstraction percentile(8)")
    if acpc.write(layout.definition) != acpc.write(game.definition):
        raise GameError(f"the base was made for another game ({base.game or 'without a name'})")
    every = tuple(hand_buckets(game.definition, view.name) for view in layout.views)
    for view, buckets in zip(layout.views, every, strict=True):
        if view.digest != buckets.digest:
            raise GameError(f"the base was solved in other buckets than {view.name} makes now: solve it again")
    return BucketedBase(base, layout, every)


def view_target(game: Any, base: Any, plan: Stitching, how: Solving) -> ViewTarget | None:
    """The target on sampled boards, if the solver samples them or the game has no other form; else None."""
    if plan.kind == "rebuilt base" or not (samples(how.solver) or _too_large(game, plan.inside)):
        return None
    rules = poker_of(game)
    if not over_boards(how.solver) and (how.until is not None or how.start is not None):
        raise SolverError("boards are sampled, so NashConv is unknown and the initial strategy is uniform: give "
                          "--iterations, or solve over all boards with --solver dcfr+")
    Device(how.device)  # refused at once where there is none
    if plan.outside is not None:
        raise SolverError("on sampled boards, free opponents use the buckets of the base outside a part: leave "
                          "outside= out")
    if plan.opponents not in (None, *OPPONENTS):
        raise SolverError(f"opponents={plan.opponents!r}: on sampled boards choose {' or '.join(OPPONENTS)}")
    parts = betting_parts(rules, plan.partition)
    return ViewTarget(plan, how, base, rules.spec, 2, parts.names, rules, parts.part)


def over_boards(solver: str) -> bool:
    """Whether experts of a game that is too large for another form are solved over all boards at once."""
    return parse(solver).name in OVER_BOARDS


def _too_large(game: Any, inside: Any) -> bool:
    """Whether experts use buckets of hands, in a game that is too large for another form."""
    names = inside.values() if isinstance(inside, Mapping) else [inside] if isinstance(inside, str) else inside
    if not isinstance(names, Iterable) or not any(is_bucket_name(name) for name in names) or needs_tree(game):
        return False
    return not has_compact_form(game)


@dataclass(frozen=True, eq=False)
class ViewTarget(Target):
    """Two-player poker on sampled boards. An expert's game is a `ViewForm`: each node of the betting has buckets."""

    rules: Poker
    part: Ints  # [betting nodes]

    def solve_base(self, abstraction: str) -> Profile:
        run = RunOptions(progress=False, device=self.how.device)
        return solve_through(self.rules, abstraction=abstraction, **self._solving, seed=self.how.seed, run=run)

    @cached_property
    def bucketed(self) -> BucketedBase:
        return base_of(self.rules, self.base)

    @property
    def _solving(self) -> dict[str, Any]:
        if over_boards(self.how.solver):
            return {"solver": self.how.solver, "start": self.how.start, **self.how.stops}
        stops = {name: x for name, x in self.how.stops.items() if name != "until"}
        return {"solver": self.how.solver if samples(self.how.solver) else "pcs", **stops}

    def together(self) -> tuple[ViewForm, int]:
        buckets = [hand_buckets(self.rules.definition, name) for name in by_part(self.names, self.plan.inside)]
        form = ViewForm(self.rules, buckets, self.part, device=self.how.device)
        return form, form.size

    def deciding(self, part: int) -> Sequence[int]:
        return [s for s in (0, 1) if ((self.part == part) & (self.rules.betting.turn == s)).any()]

    def expert(self, part: int, seats: tuple[int, ...], keeps: tuple[int, ...]) -> Expert:
        onto, here, mine = self.bucketed, self.part == part, np.isin(self.rules.betting.turn, seats)
        buckets = hand_buckets(self.rules.definition, inside_of(self.plan.inside, self.names[part]))
        finer = here & mine if self.plan.opponents == "base" else here
        of_node = np.where(finer, len(onto.buckets), onto.layout.of_node)
        frozen = Frozen(~here & mine, onto.played, self.base.sha256)
        form = ViewForm(self.rules, [*onto.buckets, buckets], of_node, frozen, self.how.device)
        file = f"{self.names[part]}-{''.join(map(str, keeps))}"
        return Expert(part, self.names[part], seats, keeps, form, form.size, file, buckets.name)

    def solve(self, expert: Expert, number: int) -> Profile | None:
        folder = self.how.keep
        keep = None if folder is None else Path(folder) / expert.file
        form: Any = expert.game
        if over_boards(self.how.solver):
            form = PartForm(form, self.how.device, conditional=True)  # so seldom entered parts are solved, too
        answer = solved(form, keep=keep, seed=self.how.seed + number, **self._solving)
        if answer is None and self.plan.kind == "dynamic":
            raise SolverError(f"another run is using {folder}: wait for it, or choose another folder")
        return answer

    def join(self, experts: Sequence[Expert], answers: Sequence[Profile]) -> Profile:
        if self.plan.kind == "dynamic":
            return answers[0]
        rules = self.rules
        pieces = [
            ExpertRows((self.part == expert.part) & np.isin(rules.betting.turn, expert.keeps),
                       hand_buckets(rules.definition, expert.buckets),
                       partial(expert.game.at, answer.probabilities))
            for expert, answer in zip(experts, answers, strict=True)
        ]  # fmt: skip
        about = {
            "kind": "static", "partition": self.plan.partition, "seats": str(self.plan.seats),
            "size": max(e.size for e in experts),
            "experts": [[e.name, list(e.keeps), e.game.abstraction, e.size] for e in experts],
            "iterations": [int(a.meta.get("iterations", 0)) for a in answers],
        }  # fmt: skip
        return placed(rules, self.bucketed, pieces, {"stitch": about, "base": {"sha256": self.base.sha256}}).profile


def inside_of(inside: str | Mapping[str, str], part: str) -> str:
    """The buckets of a part, where there are some for all parts or for each by its name."""
    if not isinstance(inside, Mapping):
        return inside
    if part not in inside:
        raise SolverError(f"there is no abstraction for part {part!r}: give one for each part")
    return inside[part]
