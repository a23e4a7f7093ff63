"""Static and dynamic experts, and what joins them [Gibson & Szafron 2011, Def. 3.2, 3.3; Waugh et al. 2009, Def. 8].

A static expert for part j and seats S lets only part j of the seats in S move and freezes their other decisions at the
base; seats outside S are free everywhere. S={i} is grafting, S=N Gibson's preferred choice, anything between is the
hybrid that the papers leave open. A dynamic expert strategy gives each part an abstraction and solves them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.core.resources import cores
from kibitz.evaluate import nash_conv
from kibitz.forms.abstraction import AbstractGame, Abstraction, abstract_game, abstraction
from kibitz.forms.profile import SUM_TOLERANCE, Profile
from kibitz.forms.protocol import FreezableForm, FrozenRows
from kibitz.forms.sequence import normalise
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import Tree
from kibitz.solvers.run import solve_through, whole
from kibitz.stitch.compact import lifted_rows, solve_rows
from kibitz.stitch.ground import AnyGame, begin, checked, ground_of, parts_of, rules_of, seen, tree_for
from kibitz.stitch.partition import Partition

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
AnyAbstraction = Any  # a name, a function, a table or an Abstraction
DEFAULT_UNTIL = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Expert:
    """One computation: part j solved for seats S. `size` is what it takes: its infosets that may move."""

    part: int
    name: str
    seats: tuple[int, ...]  # S
    keeps: tuple[int, ...]  # the seats whose part j the stitched profile takes from here
    game: AbstractGame | FrozenRows  # on a tree, or on a form without one

    def __repr__(self) -> str:
        return f"<Expert {self.part} ({self.name}) for seats {self.seats}: {self.size:,} infosets>"

    @property
    def size(self) -> int:
        if isinstance(self.game, AbstractGame):
            return len(self.game.tree.infosets.labels)
        return int(self.game.moves.sum())


def experts(
    game: AnyGame,
    base: Profile,
    partition: Partition | str | Callable[[int, str], int],
    seats: str | Sequence[Any] = "each",
    inside: AnyAbstraction = "null",
    outside: AnyAbstraction = None,
    opponents: AnyAbstraction = None,
) -> list[Expert]:
    """The computations that `static` will run, with their sizes: nothing is solved yet.

    inside     the abstraction of part j for the seats in S
    outside    the abstraction of seats not in S outside part j; default: the base's, "null" if it has none
    opponents  the abstraction of seats not in S inside part j; default: as `inside` (Gibson & Szafron); Waugh et al.
               use the base's

    Of the seats that are to be kept some may decide nothing in a part; if none does, that is an error.
    """
    game = rules_of(game)
    ground, sets = begin(game, base, partition, seats, inside, outside, opponents)
    parts = parts_of(game, ground, partition)
    base = checked(game, ground, base)
    views = _views(game, base, sets, inside, outside, opponents) if isinstance(ground, Tree) else None
    found: list[Expert] = []
    for part in range(1, parts.parts + 1):
        deciding = parts.seats_in(part)
        kept = [(group, tuple(s for s in keep if s in deciding)) for group, keep in sets]
        if not isinstance(seats, str) and not any(keep for _, keep in kept):
            raise _nothing_there(sets[0][1][0], parts, part)
        for group, keep in kept:
            if keep:
                derived = _expert_game(ground, base, parts, part, group, views)
                found.append(Expert(part, parts.names[part], group, keep, derived))
    return found


@dataclass(frozen=True)
class Views:
    """What is seen in an expert's game: inside, and by seats not in S outside the part and in it, if there are any."""

    inside: Abstraction
    outside: Abstraction | None
    opponents: Abstraction | None

    def names(self) -> dict[str, str | None]:
        seen = {"inside": self.inside, "outside": self.outside, "opponents": self.opponents}
        return {what: None if view is None else view.name for what, view in seen.items()}


def _views(
    game: AnyGame, base: Profile, sets: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    inside: AnyAbstraction, outside: AnyAbstraction, opponents: AnyAbstraction,
) -> Views:  # fmt: skip
    within = abstraction(game, inside)
    facing = within if opponents is None else abstraction(game, opponents)
    if all(len(group) == base.seats for group, _ in sets):
        return Views(within, None, None)  # nobody is free, and the base's abstraction may be unknown
    return Views(within, _outside(game, base, outside), facing)


def _nothing_there(seat: int, parts: Partition, part: int) -> GameError:
    return GameError(f"seat {seat} decides nothing in part {parts.names[part]!r}: no expert can be built for it")


def _outside(
    game: AnyGame, base: Profile, outside: AnyAbstraction, whose: str = "that free opponents play in"
) -> Abstraction:
    if outside is not None:
        return abstraction(game, outside)
    name = base.meta.get("abstraction", "null")  # a base that was solved without one has seen the whole game
    if not isinstance(name, str) or name.startswith("own:"):
        raise SolverError(
            f"the base was solved in an abstraction that has no name: give outside=NAME, the abstraction {whose}"
        )
    return abstraction(game, name)


def _expert_game(
    tree: Tree | FreezableForm, base: Profile, parts: Partition, part: int, group: tuple[int, ...], views: Views | None
) -> AbstractGame | FrozenRows:
    infosets = tree.infosets
    seat = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
    moving = np.isin(seat, group)
    here = parts.part == part
    if not isinstance(tree, Tree):
        return tree.freeze(here | ~moving, base.probabilities)
    assert views is not None
    within = views.inside
    choice = np.select([moving & here, ~moving & here, ~moving], [0, 1, 2], 3)  # 3: frozen
    row, closed = mixed([within, views.opponents or within, views.outside or within, within], choice, infosets)
    return abstract_game(tree, row, closed, choice == 3, base)


def mixed(of: Sequence[Abstraction], choice: Ints, infosets: Any) -> tuple[Ints, NDArray[np.bool_]]:
    """Rows and closed actions where infoset i is abstracted by of[choice[i]]; different abstractions share no rows.

    Equal ones do, however they were given: a bucket that reaches from one part into another stays one row.
    """
    span = max((a.rows for a in of), default=0) + 1
    keys = [(a.row.tobytes(), a.closed.tobytes()) for a in of]
    tag = np.array([keys.index(key) for key in keys], np.int64)
    row = np.stack([a.row for a in of])[choice, np.arange(len(choice))] + tag[choice] * span
    closed = np.stack([a.closed for a in of])[choice[infosets.row_of_column], np.arange(int(infosets.first[-1]))]
    return row, closed


def static(
    game: AnyGame,
    base: Profile,
    partition: Partition | str | Callable[[int, str], int],
    seats: str | Sequence[Any] = "each",
    inside: AnyAbstraction = "null",
    outside: AnyAbstraction = None,
    opponents: AnyAbstraction = None,
    *,
    solver: str = "cfr+",
    iterations: int | None = None,
    until: float | None = None,
    seed: int = 0,
    start: str | None = None,
    jobs: int | None = None,
    on_expert: Callable[[Expert, Profile], None] | None = None,
) -> Profile:
    """Build a static expert for each part and stitch them onto the base; the first seven arguments are as in `experts`.

    Each expert is solved in its own game until `iterations` or until its gap there is at most `until`; experts run side
    by side on `jobs` cores. start="random" starts each from a random profile of its own, drawn from `seed`.
    Where frozen moves never let play come an expert learns nothing: there it plays as the base does (see `lifted`).
    """
    game, seed = rules_of(game), whole(seed)
    ground, sets = begin(game, base, partition, seats, inside, outside, opponents)
    parts = parts_of(game, ground, partition)
    base = checked(game, ground, base)
    if not isinstance(ground, Tree):  # one after the other, each on all cores: their arrays are large
        free = None if all(len(group) == ground.seats for group, _ in sets) else "null"
        names, jobs = {"inside": "null", "outside": free, "opponents": free}, 1
        built = experts(ground, base, parts, seats, "null", "null", "null")
    else:
        views = _views(game, base, sets, inside, outside, opponents)
        names = views.names()
        built = experts(game, base, parts, seats, views.inside, views.outside, views.opponents)
    if iterations is None and until is None:
        iterations, until = 20_000, DEFAULT_UNTIL

    def work(numbered: tuple[int, Expert]) -> Profile:
        number, expert = numbered
        each: Any = solve_abstract if isinstance(expert.game, AbstractGame) else solve_rows
        answer: Profile = each(expert.game, solver, iterations, until, seed_of(seed, number), start)
        if on_expert is not None:
            on_expert(expert, answer)
        return answer

    answers = side_by_side(work, list(enumerate(built)), jobs)
    result = base.probabilities.copy()
    for expert, answer in zip(built, answers, strict=True):
        where = columns_of(parts, expert.part, expert.keeps)
        play = (
            lifted(expert.game, answer.probabilities, base)
            if isinstance(expert.game, AbstractGame)
            else lifted_rows(expert.game, answer.probabilities)
        )
        result[where] = play[where]
    kind = (
        seats
        if isinstance(seats, str)
        else [[int(x) for x in s] if isinstance(s, list | tuple) else int(s) for s in seats]
    )
    return _stitched(ground, base, result, {
        "kind": "static", "partition": parts.name, "seats": kind, **names,
        "experts": len(built), "size": max((e.size for e in built), default=0),
        **_solving(solver, iterations, until, seed, start),
    })  # fmt: skip


def seed_of(seed: int, number: int) -> int:
    """The seed of an expert: experts of one run, and of runs with other seeds, start apart, however many they are."""
    key = np.random.SeedSequence(2 * abs(seed) + (seed < 0), spawn_key=(number,))
    return int(key.generate_state(1, np.uint64)[0] >> np.uint64(1))  # 63 bits, which fit everywhere


def lifted(game: AbstractGame, answer: Floats, base: Profile) -> Floats:
    """An expert's answer as probabilities of the real game.

    In rows to which frozen moves of probability zero are the only way nothing is learnt, so the base's own play is kept
    there: its mean over the infosets of the row, without the actions that the expert's abstraction drops.
    """
    never = _never_reached(game.tree)
    if not never.any():
        return game.lift(answer)
    infosets = game.tree.infosets
    own = game.lower(base.probabilities)
    sums = np.bincount(infosets.row_of_column, own, minlength=len(infosets.labels))
    short = np.abs(sums - 1.0) > SUM_TOLERANCE  # the others stay what they are to the last bit
    own = np.where(short[infosets.row_of_column], normalise(own, infosets), own)
    return game.lift(np.where(never[infosets.row_of_column], own, answer))


def _never_reached(tree: Tree) -> NDArray[np.bool_]:
    """[I] infosets all of whose histories have a move of chance of probability zero on the way."""
    from kibitz.forms.kernels.layout import drop_below

    never = np.zeros(len(tree.infosets.labels), bool)
    barred = (tree.parent >= 0) & (tree.turn[np.maximum(tree.parent, 0)] == CHANCE) & (tree.chance == 0.0)
    if barred.any():
        drop_below(tree.parent, barred)
        never[:] = True
        never[tree.infoset[(tree.turn >= 0) & ~barred]] = False
    return never


def _solving(solver: str, iterations: int | None, until: float | None, seed: int, start: str | None) -> dict[str, Any]:
    """How the games were solved, so that a reader can do it again."""
    stops = {"iterations": iterations, "until": until}
    asked = {name: float(x) if name == "until" else int(x) for name, x in stops.items() if x is not None}
    return {"solver": solver, "stop": asked, "seed": seed, "start": start}


def _stitched(
    ground: Tree | FreezableForm, base: Profile | None, probabilities: NDArray[np.float64], how: Mapping[str, Any]
) -> Profile:
    """A profile of the real game that remembers what it was stitched from."""
    digest = ground.digest if isinstance(ground, Tree) else ground.tree_digest
    meta: dict[str, Any] = {"game": ground.spec, "tree": digest, "solver": "stitch", "stitch": dict(how)}
    return Profile(ground.infosets, probabilities, {**meta, **({} if base is None else _from_base(base))})


def _from_base(base: Profile) -> dict[str, Any]:
    """What a stitched profile says of its base."""
    said = {"sha256": base.sha256, "abstraction": base.meta.get("abstraction", "")}
    if "stitch" in base.meta:
        said["stitch"] = base.meta["stitch"]
    return {"base": said, **({"abstraction": base.meta["abstraction"]} if "abstraction" in base.meta else {})}


def join(base: Profile, parts: Partition, chosen: Mapping[tuple[int, int], Profile]) -> Profile:
    """The base with part j of seat i taken from chosen[i, j]: probabilities are copied, nothing is solved."""
    for what, infosets in [("partition", parts.infosets), *(("expert", p.infosets) for p in chosen.values())]:
        if not infosets.same(base.infosets):
            raise GameError(f"the {what} was made for another game than the base")
    result = base.probabilities.copy()
    for (seat, part), profile in chosen.items():
        if not 0 <= part <= parts.parts:
            raise GameError(f"there is no part {part}: parts are 0 to {parts.parts} ({', '.join(parts.names)})")
        where = columns_of(parts, part, (seat,))
        if not where.any():
            raise _nothing_there(seat, parts, part)
        result[where] = profile.probabilities[where]
    same = {key: base.meta[key] for key in ("game", "tree") if key in base.meta}
    how = {"kind": "join", "partition": parts.name}
    return Profile(base.infosets, result, {**same, "solver": "stitch", "stitch": how, **_from_base(base)})


def columns_of(parts: Partition, part: int, seats: Sequence[int]) -> NDArray[np.bool_]:
    """[K] the infoset columns of some seats in a part."""
    infosets = parts.infosets
    seat = np.searchsorted(infosets.seat_start, np.arange(len(infosets.labels)), side="right") - 1
    where: NDArray[np.bool_] = ((parts.part == part) & np.isin(seat, list(seats)))[infosets.row_of_column]
    return where


def solve_abstract(
    game: AbstractGame, solver: str, iterations: int | None, until: float | None, seed: int, start: str | None
) -> Profile:
    """Solve a derived game on one core; a game in which nobody decides anything has nothing to solve."""
    if not game.tree.infosets.labels:
        return Profile(game.tree.infosets, np.zeros(0), {"tree": game.tree.digest})
    return solve_through(game.tree, solver, iterations=iterations, until=until, seed=seed, threads=1, start=start)


def side_by_side(work: Callable[[Any], Any], items: Sequence[Any], jobs: int | None = None) -> list[Any]:
    """work(item) for each, on all cores: compiled code lets go of the interpreter, so threads do run together."""
    if jobs is not None and jobs < 1:
        raise SolverError(f"jobs={jobs} must be 1 or more")
    pool = ThreadPoolExecutor(max(1, min(jobs or cores(), len(items) or 1)))
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C or an error what has not begun is left


def _by_part(game: AnyGame, parts: Partition, abstractions: Any) -> list[Abstraction]:
    """An abstraction for each part 0..p."""
    if isinstance(abstractions, Mapping):
        unknown = set(abstractions) - set(parts.names)
        if unknown:
            raise SolverError(f"there is no part {sorted(unknown)[0]!r}: parts are {', '.join(parts.names)}")
        return [abstraction(game, abstractions.get(name, "null")) for name in parts.names]
    if isinstance(abstractions, str) or not isinstance(abstractions, Iterable):
        raise SolverError(f"abstractions={abstractions!r}: give a list with one for each of {', '.join(parts.names)}")
    given = list(abstractions)
    if len(given) == 2 and parts.parts > 1:
        given = [given[0]] + [given[1]] * parts.parts
    if len(given) != parts.parts + 1:
        raise SolverError(
            f"{parts.parts + 1} parts need as many abstractions, or two (base and all experts), not {len(given)}"
        )
    made: dict[int, Abstraction] = {}
    return [made.setdefault(id(a) if not isinstance(a, str) else hash(a), abstraction(game, a)) for a in given]


def dynamic_game(game: AnyGame, parts: Partition, abstractions: Any) -> AbstractGame:
    """The game Γ' of Def. 3.3: part j abstracted by abstractions[j]."""
    tree = tree_for(game)
    row, closed = mixed(_by_part(game, parts, abstractions), parts.part, tree.infosets)
    return abstract_game(tree, row, closed)


def size_of_dynamic(game: AnyGame, partition: Any, abstractions: Any) -> int:
    """The number of infosets of a dynamic expert computation, before running it."""
    game = rules_of(game)
    return len(dynamic_game(game, parts_of(game, tree_for(game), partition), abstractions).tree.infosets.labels)


def dynamic(
    game: AnyGame,
    partition: Partition | str | Callable[[int, str], int],
    abstractions: Sequence[AnyAbstraction] | Mapping[str, AnyAbstraction],
    *,
    solver: str = "cfr+",
    iterations: int | None = None,
    until: float | None = None,
    seed: int = 0,
    start: str | None = None,
) -> Profile:
    """A dynamic expert strategy: each part in its own abstraction, all solved together.

    abstractions  one for each part 0..p; or two, of part 0 and of all the others; or {part's name: abstraction}, where
                  part 0 is "base" and parts that are not named keep the null abstraction
    """
    game = rules_of(game)
    tree, seed = tree_for(game), whole(seed)
    parts = parts_of(game, tree, partition)
    chosen = _by_part(game, parts, abstractions)
    derived = dynamic_game(game, parts, chosen)
    if iterations is None and until is None:
        iterations, until = 20_000, DEFAULT_UNTIL
    answer = solve_abstract(derived, solver, iterations, until, seed, start)
    names = [a.name for a in chosen]
    result = _stitched(tree, None, derived.lift(answer.probabilities), {
        "kind": "dynamic", "partition": parts.name, "abstractions": names,
        "size": len(derived.tree.infosets.labels), **_solving(solver, iterations, until, seed, start),
    })  # fmt: skip
    return result.replaced(result.probabilities, abstraction=names[0], nash_conv_abstract=answer.meta.get("nash_conv"))


def rebuild_base(
    game: AnyGame,
    stitched: Profile,
    partition: Partition | str | Callable[[int, str], int],
    outside: AnyAbstraction = None,
    *,
    solver: str = "cfr+",
    iterations: int | None = None,
    until: float | None = None,
    seed: int = 0,
    start: str | None = None,
) -> Profile:
    """Solve the base anew while the experts are frozen, so that the two fit each other ("cohesion").

    Part 0 of all seats moves, in the abstraction `outside` (default: the base's, or "null"); parts 1..p stay as they
    are. So does part 0 where experts never let play come.
    """
    game = rules_of(game)
    seed = whole(seed)
    ground = ground_of(game, stitched, partition, seen(stitched, "null", outside, None, False)[2])
    parts = parts_of(game, ground, partition)
    stitched = checked(game, ground, stitched)
    if iterations is None and until is None:
        iterations, until = 20_000, DEFAULT_UNTIL
    if not isinstance(ground, Tree):
        rows = ground.freeze(parts.part == 0, stitched.probabilities)
        found = solve_rows(rows, solver, iterations, until, seed, start)
        return _stitched(ground, stitched, lifted_rows(rows, found.probabilities), {
            "kind": "rebuilt base", "partition": parts.name, "outside": "null", "size": int(rows.moves.sum()),
            **_solving(solver, iterations, until, seed, start),
        })  # fmt: skip
    tree = ground
    coarse = _outside(game, stitched, outside, "that part 0 is solved in")
    derived = abstract_game(tree, coarse.row, coarse.closed, parts.part > 0, stitched)
    answer = solve_abstract(derived, solver, iterations, until, seed, start)
    return _stitched(tree, stitched, lifted(derived, answer.probabilities, stitched), {
        "kind": "rebuilt base", "partition": parts.name, "outside": coarse.name,
        "size": len(derived.tree.infosets.labels), **_solving(solver, iterations, until, seed, start),
    })  # fmt: skip


def cohere(
    game: AnyGame,
    base: Profile,
    partition: Partition | str | Callable[[int, str], int],
    rounds: int = 10,
    on_round: Callable[[int, float], None] | None = None,
    **options: Any,
) -> Profile:
    """Experts on the base, the base anew under the experts, and so on while nash_conv falls; the best one is returned.

    That is the base itself if nothing was better. `options` go to `static`.
    """
    game = rules_of(game)
    views = seen(base, options.get("inside", "null"), options.get("outside"), options.get("opponents"), False)
    ground = ground_of(game, base, partition, *views)  # experts and base in turns: one form for both
    parts = parts_of(game, ground, partition)
    base = checked(game, ground, base)
    rebuild = {k: v for k, v in options.items() if k in ("solver", "iterations", "until", "seed", "start")}
    best, least, before = base, nash_conv(ground, base), float("inf")
    current = base
    for number in range(rounds):
        stitched = static(game, current, parts, **options)
        current = rebuild_base(game, stitched, parts, options.get("outside"), **rebuild)
        gap = min(nash_conv(ground, stitched), nash_conv(ground, current))
        if on_round is not None:
            on_round(number, gap)
        if gap < least:
            least, best = gap, min((stitched, current), key=lambda p: nash_conv(ground, p))
        if gap >= before:
            break
        before = gap
    return best
