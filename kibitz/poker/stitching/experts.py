"""Stitching at the size of hold'em: experts see hands through buckets of their own and are solved on sampled boards.

The same partitions and frozen decisions as on a tree (`kibitz.stitch.experts`), by node of the betting: a static expert
for part j and seats S learns in part j, as do seats outside S everywhere; what S decides elsewhere is frozen at the
base. Seats outside S see part j through the expert's buckets, or through the base's, as a graft's opponent does
[Waugh et al. 2009]. Experts know nothing of each other. Those of a folder (`keep`) are solved one by one, by whoever
comes first: the same command on several machines that share the folder shares the work, and what was done is never
done again.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.games import game as make_game
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact.parts import nodes_by_actions
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.layout import ViewLayout, viewed
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve_through
from kibitz.stitch.ground import seat_sets
from kibitz.stitch.partition import fitting, read, steps_of

Ints = NDArray[np.int64]
Inside = str | Mapping[str, str]  # an abstraction for all parts, or one for each by its name
OPPONENTS = ("inside", "base")  # whose buckets seats outside S see the part through: the expert's, or the base's
WAIT = 2.0  # seconds between looks at experts that others solve


@dataclass(frozen=True, eq=False)
class BettingParts:
    """Parts of a game by its betting."""

    name: str
    names: tuple[str, ...]  # names[0] is "base"
    part: Ints  # [betting nodes]


def betting_parts(game: Poker, source: str) -> BettingParts:
    """The parts of "prefix(r, cr)": by the players' first actions."""
    kind, words = read(source)
    if kind != "prefix":
        raise SolverError(f"{source}: at this size parts go by the betting: write prefix(r, cr)")
    known = {str(action) for offer in game.betting.actions for action in offer}
    lists = [[fitting(step, known) for step in steps] for steps in steps_of(words, known, source)]
    part = nodes_by_actions(game.betting, lists)
    for j, word in enumerate(words, 1):
        if not ((part == j) & (game.betting.turn >= 0)).any():
            raise SolverError(f"there is no decision after {word!r}, so its expert would have nothing to do")
    return BettingParts(source, ("base", *words), part)


@dataclass(frozen=True, eq=False)
class ViewExpert:
    """One computation: part j solved for seats S."""

    part: int
    name: str
    seats: tuple[int, ...]  # S
    keeps: tuple[int, ...]  # the seats whose part the stitched profile takes from here
    form: ViewForm

    @property
    def size(self) -> int:
        return self.form.size

    @property
    def file(self) -> str:
        return f"{self.name}-{''.join(map(str, self.keeps))}"


@dataclass(frozen=True, eq=False)
class Base:
    """A base profile as experts read it."""

    profile: Profile
    layout: ViewLayout
    buckets: tuple[Any, ...]

    def played(self, node: int) -> NDArray[Any]:
        return self.layout.at(self.profile.probabilities, node)


def poker_of(game: Any) -> Poker:
    rules = make_game(game)
    if not isinstance(rules, Poker) or rules.definition.players != 2:
        raise SolverError("experts with buckets of their own, on sampled boards, are for poker games for two")
    return rules


def base_of(game: Poker, base: Profile) -> Base:
    """A base within buckets, or one that is stitched of such."""
    compact = base.infosets.compact
    layout = None if compact is None else viewed(compact.form)
    if layout is None:
        raise GameError(
            "the base must be a profile within buckets of hands: solve one with --abstraction percentile(8)"
        )
    if acpc.write(layout.definition) != acpc.write(game.definition):
        raise GameError(f"the base was made for another game ({base.game or 'without a name'})")
    made = tuple(hand_buckets(game.definition, view.name) for view in layout.views)
    for view, buckets in zip(layout.views, made, strict=True):
        if view.digest != buckets.digest:
            raise GameError(f"the base was solved within other buckets than {view.name} makes now: solve it again")
    return Base(base, layout, made)


def view_experts(
    game: Any, base: Profile, partition: str, seats: str | Sequence[Any] = "each", inside: Inside = "percentile(8)",
    opponents: str = "inside",
) -> list[ViewExpert]:  # fmt: skip
    """The computations that `static_views` will run, with their sizes: nothing is solved yet."""
    if opponents not in OPPONENTS:
        raise SolverError(f"opponents={opponents!r}: choose {' or '.join(OPPONENTS)}")
    rules = poker_of(game)
    parts, held = betting_parts(rules, partition), base_of(rules, base)
    found = []
    for part in range(1, len(parts.names)):
        here, name = parts.part == part, parts.names[part]
        buckets = hand_buckets(rules.definition, _inside(inside, name))
        deciding = [seat for seat in (0, 1) if (here & (rules.betting.turn == seat)).any()]
        for group, keeps in seat_sets(seats, 2):
            kept = tuple(seat for seat in keeps if seat in deciding)
            if kept:
                mine = np.isin(rules.betting.turn, group)
                finer = here & mine if opponents == "base" else here
                of_node = np.where(finer, len(held.buckets), held.layout.of_node)
                frozen = Frozen(~here & mine, held.played, base.sha256)
                form = ViewForm(rules, [*held.buckets, buckets], of_node, frozen)
                found.append(ViewExpert(part, name, group, kept, form))
    return found


def _inside(inside: Inside, part: str) -> str:
    if isinstance(inside, str):
        return inside
    if part not in inside:
        raise SolverError(f"no abstraction is given for part {part!r}: give one for each of the parts")
    return inside[part]


def static_views(
    game: Any, base: Profile, partition: str, seats: str | Sequence[Any] = "each", inside: Inside = "percentile(8)",
    *,
    opponents: str = "inside",
    solver: str = "pcs",
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    keep: Path | None = None,
    on_expert: Callable[[ViewExpert, int, int], None] | None = None,
) -> Profile:  # fmt: skip
    """Build a static expert for each part and stitch them onto the base.

    opponents: what seats outside S see parts through, "inside" for the experts' buckets or "base" for the base's.
    iterations, seconds: of each expert. keep: a folder where experts are kept; what is there is not solved again, and
    one that was stopped goes on. on_expert: is told the next one, its number and how many there are.
    """
    experts = view_experts(game, base, partition, seats, inside, opponents)
    found: dict[int, Profile] = {}
    while len(found) < len(experts):
        progress = len(found)
        for number, expert in enumerate(experts):
            if number in found:
                continue
            options = {"iterations": iterations, "seconds": seconds, "seed": seed + number}
            tell = None if on_expert is None else lambda e=expert, n=number: on_expert(e, n, len(experts))
            answer = solved(expert.form, solver, None if keep is None else keep / expert.file, tell, **options)
            if answer is not None:
                found[number] = answer
        if len(found) == progress:
            time.sleep(WAIT)  # others are at work on what is left
    return stitched(base, partition, experts, [found[k] for k in range(len(experts))], seats)


def solved(
    form: ViewForm, solver: str, keep: Path | None, tell: Callable[[], None] | None = None, **options: Any
) -> Profile | None:
    """The answer of a form: from its file, or solved now and kept there; None while somebody else solves it."""
    if keep is None:
        if tell is not None:
            tell()
        return solve_through(form, solver, **options)
    path, checkpoint = keep.with_name(f"{keep.name}.profile"), keep.with_name(f"{keep.name}.checkpoint")
    with _taken(keep.with_name(f"{keep.name}.lock")) as mine:
        if not mine:
            return None
        if path.exists():
            kept = _kept(path, form)
            if int(kept.meta.get("iterations", 0)) >= (options.get("iterations") or 0):
                return kept  # else the checkpoint goes on
        if tell is not None:
            tell()
        resume = (checkpoint / "manifest.json").exists()
        run = RunOptions(checkpoint, every=120.0, resume=resume, progress=False)
        answer = solve_through(form, solver, run=run, **options)
        answer.save(path)
    return answer


def _kept(path: Path, form: ViewForm) -> Profile:
    found = Profile.load(path)
    if found.meta.get("tree") != form.tree_digest:
        raise GameError(f"{path} was made of another base, or within other buckets: choose another folder")
    return Profile(form.infosets, found.probabilities, found.meta)


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[bool]:
    """Whether this process holds a lock file; it goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def stitched(
    base: Profile, partition: str, experts: Sequence[ViewExpert], answers: Sequence[Profile], seats: Any
) -> Profile:
    """The base with the experts' parts in place of its own."""
    rules = experts[0].form.game
    held, part = base_of(rules, base), betting_parts(rules, partition).part
    buckets, of_node, source = list(held.buckets), held.layout.of_node.copy(), np.full(len(part), -1)
    for number, expert in enumerate(experts):
        here = (part == expert.part) & np.isin(rules.betting.turn, expert.keeps)
        of_node[here], source[here] = len(buckets), number
        buckets.append(hand_buckets(rules.definition, expert.form.views[_view_at(expert, here)].name))
    form = ViewForm(rules, buckets, of_node)
    probabilities = np.empty(form.columns)
    for node in form.order.tolist():
        number = int(source[node])
        here = held.played(node) if number < 0 else experts[number].form.at(answers[number].probabilities, node)
        form.at(probabilities, node)[:] = here
    how = {"kind": "static", "partition": partition, "seats": str(seats), "size": max(e.size for e in experts),
           "experts": [[e.name, list(e.keeps), e.form.abstraction, e.size] for e in experts],
           "iterations": [int(a.meta.get("iterations", 0)) for a in answers]}  # fmt: skip
    meta = {"game": rules.spec, "tree": form.tree_digest, "solver": "stitch", "stitch": how,
            "abstraction": form.abstraction, "base": {"sha256": base.sha256}}  # fmt: skip
    return Profile(form.infosets, probabilities, meta)


def _view_at(expert: ViewExpert, here: NDArray[np.bool_]) -> int:
    return int(expert.form.of_node[np.flatnonzero(here & expert.form.deciding)[0]])


def dynamic_form(game: Any, partition: str, outside: str, inside: Inside) -> ViewForm:
    """The game of a dynamic expert strategy [Gibson & Szafron 2011, Def. 3.3]: each part within its own buckets."""
    rules = poker_of(game)
    parts = betting_parts(rules, partition)
    names = [outside, *(_inside(inside, name) for name in parts.names[1:])]
    return ViewForm(rules, [hand_buckets(rules.definition, name) for name in names], parts.part)
