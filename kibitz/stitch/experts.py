"""Static and dynamic experts, and what joins them [Gibson & Szafron 2011, Def. 3.2, 3.3; Waugh et al. 2009, Def. 8].

A static expert for part j and seats S is trained in part j alone: other decisions of the seats in S are frozen at the
base, and seats outside S are free everywhere. S={i} is grafting, S=N Gibson's preferred choice, anything between is the
hybrid that the papers leave open. A dynamic expert strategy gives each part an abstraction and solves them together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kibitz.core.errors import GameError, SolverError
from kibitz.core.executor import current
from kibitz.core.pieces import Piece
from kibitz.core.pools import LocalPool
from kibitz.core.resources import cores
from kibitz.evaluate import nash_conv
from kibitz.forms.profile import Profile
from kibitz.stitch.columns import AnyGame, column_target, columns_of, rules_of, target_of
from kibitz.stitch.nodes import can_spread, solved_on_nodes
from kibitz.stitch.partition import Partition
from kibitz.stitch.targets import Expert, Solving, Stitching, Target, from_base, nothing_there

AnyPartition = Partition | str | Callable[[int, str], int]
AnyAbstraction = Any  # a name, a function, a table or an Abstraction
WAIT = 2.0  # seconds between looks at experts that other processes solve


def experts(
    game: AnyGame, base: Any, partition: AnyPartition, seats: str | Sequence[Any] = "each",
    inside: AnyAbstraction = "null", outside: AnyAbstraction = None, opponents: AnyAbstraction = None, **how: Any,
) -> list[Expert]:  # fmt: skip
    """The computations that `static` will run, with their sizes: nothing is solved yet. how: as of `static`.

    base       a profile; or a blueprint of limit poker for three and more players; or the name of an abstraction, and
               the base is solved in it
    seats      the seats S that an expert freezes outside its part: "each" for S={i}, "all" for S=N, [0, 2], or a list
               of such lists, of which the first seat of each is kept
    inside     the abstraction of part j for the seats in S. For poker on sampled boards also {part: abstraction}; for a
               blueprint also MaxInfosets(infosets), the finest buckets for so many
    outside    the abstraction of seats not in S outside part j; default: the base's, "null" if it has none
    opponents  the abstraction of seats not in S inside part j; default: as `inside` (Gibson & Szafron); Waugh et al.
               use the base's. For poker on sampled boards: "inside" or "base"

    With solver="pcs", and in two-player poker games that are too large otherwise, experts have their own buckets and
    are solved on sampled boards; those of a blueprint are trained on sampled hands.
    """
    plan = Stitching("static", partition, seats, inside, outside, opponents)
    return target_of(game, base, plan, Solving(**how)).experts()


def static(
    game: AnyGame, base: Any, partition: AnyPartition, seats: str | Sequence[Any] = "each",
    inside: AnyAbstraction = "null", outside: AnyAbstraction = None, opponents: AnyAbstraction = None, **how: Any,
) -> Any:  # fmt: skip
    """Build a static expert for each part and stitch them onto the base; the first seven arguments are as in `experts`.

    how: solver, iterations, until, seconds, seed, start, jobs, keep, on_expert and others, as in `Solving`. An expert
    learns nothing where frozen players never go: there it plays like the base. The result is a profile, or a blueprint
    if the base is one.
    """
    plan = Stitching("static", partition, seats, inside, outside, opponents)
    return run(target_of(game, base, plan, Solving(**how)))


def dynamic(
    game: AnyGame, partition: AnyPartition, abstractions: Sequence[AnyAbstraction] | Mapping[str, AnyAbstraction],
    **how: Any,
) -> Profile:  # fmt: skip
    """A dynamic expert strategy: each part in its own abstraction, all solved together. how: as in `Solving`.

    abstractions  one for each part 0..p; or two, of part 0 and of all the others; or {part's name: abstraction}, where
                  part 0 is "base" and parts that are not named keep the null abstraction
    """
    profile: Profile = run(target_of(game, None, Stitching("dynamic", partition, inside=abstractions), Solving(**how)))
    return profile


def size_of_dynamic(game: AnyGame, partition: AnyPartition, abstractions: Any) -> int:
    """The number of infosets of a dynamic expert computation, before running it."""
    return target_of(game, None, Stitching("dynamic", partition, inside=abstractions)).experts()[0].size


def rebuild_base(
    game: AnyGame, stitched: Profile, partition: AnyPartition, outside: AnyAbstraction = None, **how: Any
) -> Profile:
    """Solve the base again while the experts are frozen, so that the two fit each other ("cohesion").

    Part 0 of all seats is trained, in the abstraction `outside` (default: the base's, or "null"); parts 1..p stay as
    they are. So does part 0 where the experts' play never arrives. how: as in `Solving`.
    """
    plan = Stitching("rebuilt base", partition, outside=outside)
    profile: Profile = run(column_target(rules_of(game), stitched, plan, Solving(**how)))
    return profile


def cohere(
    game: AnyGame, base: Profile, partition: AnyPartition, rounds: int = 10,
    on_round: Callable[[int, float], None] | None = None, **options: Any,
) -> Profile:  # fmt: skip
    """Alternate between experts for the base and a new base for the experts while NashConv falls; returns the best
    strategy.

    That is the base itself if nothing was better. `options` go to `static`.
    """
    rules = rules_of(game)
    views = {name: options[name] for name in ("inside", "outside", "opponents") if name in options}
    target = column_target(rules, base, Stitching("static", partition, "each", **views), Solving())
    subject, parts, base = target.subject, target.parts, target.base  # experts and base in turns: one form for both
    rebuild = {k: v for k, v in options.items() if k in ("solver", "iterations", "until", "seed", "start")}
    best, least, before = base, nash_conv(subject, base), float("inf")
    current = base
    for number in range(rounds):
        refined = static(rules, current, parts, **options)
        current = rebuild_base(rules, refined, parts, options.get("outside"), **rebuild)
        gap = min(nash_conv(subject, refined), nash_conv(subject, current))
        if on_round is not None:
            on_round(number, gap)
        if gap < least:
            least, best = gap, min((refined, current), key=lambda p: nash_conv(subject, p))
        if gap >= before:
            break
        before = gap
    return best


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
            raise nothing_there(seat, parts.names[part])
        result[where] = profile.probabilities[where]
    same = {key: base.meta[key] for key in ("game", "tree") if key in base.meta}
    how = {"kind": "join", "partition": parts.name}
    return Profile(base.infosets, result, {**same, "solver": "stitch", "stitch": how, **from_base(base)})


def run(target: Target) -> Any:
    """Solve all computations of a target and join them to its base.

    Experts know nothing of each other. Those that are kept in a folder are solved by whoever comes first, so the same
    call on several machines that share the folder shares the work.
    """
    how, built, executor = target.how, target.experts(), current()
    answers: dict[int, Any] = {}
    spread = executor.elsewhere and how.jobs is None and can_spread(target)

    def work(number: int) -> Any:
        if how.on_start is not None:
            how.on_start(built[number], number, len(built))
        answer = target.solve(built[number], number)
        if how.on_expert is not None and answer is not None:
            how.on_expert(built[number], answer)
        return answer

    while len(answers) < len(built):
        left = [number for number in range(len(built)) if number not in answers]
        if spread:
            more = solved_on_nodes(target, built, left, executor)
        else:
            solved = zip(left, side_by_side(work, left, target.jobs or how.jobs), strict=True)
            more = {number: answer for number, answer in solved if answer is not None}
        answers |= more
        if not more:
            time.sleep(WAIT)  # others are at work on what is left
    return target.join(built, [answers[number] for number in range(len(built))])


def side_by_side(work: Callable[[Any], Any], items: Sequence[Any], jobs: int | None = None) -> list[Any]:
    """work(item) for each, on all cores: compiled code lets go of the interpreter, so threads do run together."""
    if jobs is not None and jobs < 1:
        raise SolverError(f"jobs={jobs} must be 1 or more")
    count = min(jobs or cores(), len(items))
    if count <= 1:  # in this thread, where Ctrl-C ends a run after the step in hand
        return [work(item) for item in items]
    answers = dict(LocalPool(count).map(work, [Piece((item,)) for item in items], "threads"))
    return [answers[number] for number in range(len(items))]
