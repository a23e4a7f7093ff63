"""kibitz stitch: finer experts joined to a base strategy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.cli.common import (
    GameText,
    Json,
    check_artefact,
    console,
    named_again,
    print_json,
    rules_of,
    save_or_rescue,
    subject_of,
    told_by_line,
    tree_of_text,
)
from kibitz.cli.options import number
from kibitz.cli.solve import compiled
from kibitz.cli.stitch_rows import is_trained, stitch_rows
from kibitz.cli.stitch_views import stitch_views, wanted
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError, GameError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import CompactForm
    from kibitz.games.tree import Tree
    from kibitz.stitch.experts import Expert
    from kibitz.stitch.partition import Partition

KINDS = ("static", "dynamic")


@dataclass(frozen=True)
class Order:
    """What was asked for."""

    base: str
    partition: str
    kind: str
    seats: Any
    inside: str
    outside: str | None
    opponents: str | None
    options: dict[str, Any]  # of the solver


def stitch(
    game: GameText,
    base: Annotated[
        str,
        typer.Option("--base", metavar="BASE", help="A saved profile, or an abstraction to solve one in: JQ.K."),
    ],
    partition: Annotated[
        str,
        typer.Option(
            "--partition",
            metavar="PARTS",
            help="'prefix(r, cr)': by the first actions. 'private(J, Q, K)': by the private card.",
        ),
    ],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="static or dynamic.")] = "static",
    seats: Annotated[
        str,
        typer.Option(
            "--seats",
            metavar="S",
            help="Seats that an expert freezes outside its part: each (S={i}), all (S=N), 0,2, or '0,1; 1,2; 2,0', of "
            "which the first of each group is kept.",
        ),
    ] = "each",
    inside: Annotated[
        str,
        typer.Option(
            "--inside",
            metavar="ABSTRACTION",
            help="Abstraction of experts, in their part.",
            autocompletion=complete.abstractions,
        ),
    ] = "null",
    outside: Annotated[
        str | None,
        typer.Option(
            "--outside",
            metavar="ABSTRACTION",
            help="Abstraction of free opponents elsewhere. Default: the base's.",
            autocompletion=complete.abstractions,
        ),
    ] = None,
    opponents: Annotated[
        str | None,
        typer.Option(
            "--opponents",
            metavar="ABSTRACTION",
            help="Abstraction of free opponents in the part. Default: as --inside.",
            autocompletion=complete.abstractions,
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option("--solver", metavar="SOLVER", help="See `kibitz solvers`.", autocompletion=complete.solvers),
    ] = "cfr+",
    iterations: Annotated[
        int | None, number("--iterations", metavar="N", help="Stop each solve after this many iterations.")
    ] = None,
    until: Annotated[
        float | None, number("--until", metavar="GAP", help="Stop each solve once its NashConv is at most this.")
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="Seed of --random and of solvers that sample.")] = 0,
    random: Annotated[bool, typer.Option("--random", help="Start each solve from a random profile.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Save the profile here, such as stitched.profile.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(
            "--work",
            metavar="DIR",
            help="With --solver pcs, and with a blueprint as --base: keep experts here as they are made. The same "
            "command goes on; with pcs also on several machines that share the folder.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="With a --base that is a blueprint: the finest percentile buckets with at most so many infosets, such "
            "as 20M, in place of --inside.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, number("--seconds", metavar="S", help="With such a --base: train each expert for so long.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the size of each computation, and solve nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Refine a base strategy: stitch on experts for parts of a game that is too large to solve whole.

    Static experts are solved one by one, with the base frozen outside their part. A dynamic expert strategy gives each
    part an abstraction of its own and solves all parts together; --base is then the abstraction of the rest. Without
    --iterations or --until, each solve stops at a gap of 1e-5 or after 20,000 iterations.

    Where --base is a blueprint of limit poker for three (kibitz train holdem.limit.3p), experts are trained on sampled
    hands, for --seconds or --iterations each.

    With --solver pcs, and in games that are too large otherwise, experts of poker for two see hands through buckets of
    their own (--inside) and are solved on sampled boards, for --iterations each.

    \b
    Examples:
      kibitz stitch leduc --base JQ.K --partition 'prefix(r, cr)' --seats all --inside suits --dry-run
      kibitz stitch leduc --base base.profile --partition 'prefix(r, cr, ccr, cccr)' --inside suits --out each.profile
      kibitz stitch leduc --base JQ.K --partition 'prefix(r, cr)' --kind dynamic --inside suits --out dynamic.profile
      kibitz stitch leduc --base J.QK --partition 'private(J, Q, K)' --inside suits --opponents J.QK --until 1e-4
      kibitz stitch rhode_island --base 'percentile(3)' --partition 'prefix(r)' --inside 'percentile(4)' --solver pcs
      kibitz stitch rhode_island --base ri.profile --partition 'prefix(r)' --seats all --until 0.1 --out ri2.profile
      kibitz stitch holdem.limit.3p --base h3.blueprint --partition 'prefix(f, rf)' --seats all --limit 9M --seconds 300
    """
    if kind not in KINDS:
        raise SolverError(f"--kind {kind} should be static or dynamic")
    check_artefact(out, "--out", "profile")
    if is_trained(base):
        if until is not None or random:
            raise SolverError("hands are sampled, so NashConv is unknown, and starts are uniform: give --seconds alone")
        trained = {"iterations": iterations, "seed": seed}
        with by_option():
            stitch_rows(Order(base, partition, kind, parsed(seats), inside, outside, opponents, trained), game, limit,
                        seconds, out, work, dry_run, json)  # fmt: skip
        return
    if limit is not None or seconds is not None:
        raise SolverError("--limit and --seconds are for a --base that is a blueprint; see --inside and --iterations")
    until_given = until is not None
    if iterations is None and until is None:
        iterations, until = 20_000, 1e-5
    options = {"solver": solver, "iterations": iterations, "until": until, "seed": seed,
               "start": "random" if random else None}  # fmt: skip
    order = Order(base, partition, kind, parsed(seats), inside, outside, opponents, options)
    if wanted(game, solver, inside):
        if until_given or random:
            raise SolverError("boards are sampled, so NashConv is unknown, and starts are uniform: give --iterations")
        with by_option():
            stitch_views(order, _given(base), game, out, work, dry_run, json)
        return
    if work is not None:
        raise SolverError("--work keeps experts that are solved with --solver pcs: leave it out")
    with by_option(), Watch(not json) as watch:
        given = _given(base)
        tree = _ground(order, given, game, watch)
        if not dry_run:
            compiled(solver, watch, tree)
        watch.phase("finding the parts of the game")
        task = _task(order, given, tree)
        if not json:
            _print_sizes(task)
        data, profile = task.sizes, None
        if not dry_run:
            figures, profile = (_dynamic if kind == "dynamic" else _static)(task, watch)
            data = {**data, **figures, "sha256": profile.sha256}
    if profile is not None and out is not None:
        save_or_rescue(profile.save, out)
    if json:
        print_json({**data, "out": str(out) if out is not None and profile is not None else None})
    elif profile is not None:
        _print_figures(data, out)
    else:
        typer.echo("Nothing was solved: leave out --dry-run to solve.")


@contextmanager
def by_option() -> Iterator[None]:
    """Messages of the library speak of arguments, seats=[0, 5]; here they speak of options, --seats [0, 5]."""
    try:
        yield
    except KibitzError as error:
        said = re.sub(r"(?<![\w(,-])(seats|inside|outside|opponents)=", r"--\1 ", str(error))
        raise type(error)(said) from None


def parsed(seats: str) -> Any:
    """each, all, [0, 2] or [[0, 1], [1, 2]]."""
    if seats in ("each", "all"):
        return seats
    try:
        groups = [[int(seat) for seat in group.split(",")] for group in seats.split(";")]
    except ValueError:
        raise SolverError(
            f"--seats {seats} should be each, all, seats such as 0,2, or groups such as '0,1; 1,2'"
        ) from None
    return groups[0] if len(groups) == 1 else groups


def _ground(order: Order, given: Profile | None, text: str, watch: Watch) -> Tree | CompactForm:
    """What is stitched on: a form without a tree where base and abstractions allow it, else the game's tree."""
    from kibitz.forms.choice import needs_tree
    from kibitz.forms.protocol import FreezableForm
    from kibitz.games.plugins import plugin_of
    from kibitz.stitch.compact import HINT, WHOLE, whole

    with told_by_line(text):
        rules = rules_of(text)
    if needs_tree(rules):
        return tree_of_text(text, watch)
    name = order.base.partition("(")[0].strip()
    if given is None:
        fits = name in WHOLE or plugin_of(rules).on_form(order.base)
    else:
        fits = given.infosets.compact is not None
    mine = order.base if given is None else given.meta.get("abstraction", "null")
    views = (
        [order.inside]
        if order.seats == "all"
        else [order.inside, order.opponents or order.inside, order.outside or mine]
    )
    if fits and order.kind == "static" and whole(*views):
        form = subject_of(text, watch)
        if isinstance(form, FreezableForm):
            return form
    try:
        return tree_of_text(text, watch)
    except GameError as error:
        raise GameError(f"{error}{HINT}") from None


@dataclass(frozen=True)
class Task:
    """What is to be solved, and how large it is."""

    order: Order
    tree: Tree | CompactForm
    parts: Partition
    given: Profile | None  # the base, if it is not to be solved
    coarse: Any  # the abstraction of free opponents outside the part
    sizes: dict[str, Any]


def _task(order: Order, given: Profile | None, tree: Tree | CompactForm) -> Task:
    from kibitz.forms.problem import on_tree
    from kibitz.games.tree import Tree
    from kibitz.stitch import experts, size_of_dynamic
    from kibitz.stitch.partition import partition

    parts = partition(tree, order.partition)
    if given is not None and isinstance(tree, Tree):
        given = on_tree(tree, given)
    sizes: dict[str, Any] = {
        "game": tree.spec, "kind": order.kind, "partition": parts.name, "infosets": len(tree.infosets.labels),
        "experts": [],
    }  # fmt: skip
    if order.kind == "dynamic":
        if given is not None:
            raise SolverError("--kind dynamic solves the base too: --base must be an abstraction, not a profile")
        coarse, sizes["base_size"] = _coarse(order, None, tree)
        sizes["size"] = size_of_dynamic(tree, parts, [order.base, order.inside])
        return Task(order, tree, parts, None, coarse, sizes)
    coarse, sizes["base_size"] = _coarse(order, given, tree)
    base = _anything(tree) if given is None else given
    found = experts(tree, base, parts, order.seats, order.inside, coarse, order.opponents)
    sizes["experts"] = [{"part": e.name, "seats": list(e.seats), "keeps": list(e.keeps), "size": e.size} for e in found]
    sizes["size"] = max([sizes["base_size"] or 0, *(e.size for e in found)])
    return Task(order, tree, parts, given, coarse, sizes)


def _static(task: Task, watch: Watch) -> tuple[dict[str, Any], Profile]:
    from kibitz.evaluate import report
    from kibitz.games.tree import Tree
    from kibitz.solvers.run import solve_through
    from kibitz.stitch import static
    from kibitz.stitch.compact import whole

    order, tree, base = task.order, task.tree, task.given
    if base is None:
        watch.phase(f"solving the base in {order.base}: {task.sizes['base_size']:,} infosets")
        plain = not isinstance(tree, Tree) and whole(order.base)
        threads = 1 if isinstance(tree, Tree) else None
        base = solve_through(tree, abstraction=None if plain else order.base, threads=threads, **order.options)
    done, count = 0, len(task.sizes["experts"])

    def told(expert: Expert, answer: Profile) -> None:
        nonlocal done
        done += 1
        watch.phase(f"{done} of {count} experts solved")

    watch.phase(f"solving {count} experts")
    result = static(
        tree, base, task.parts, order.seats, order.inside, task.coarse, order.opponents, on_expert=told, **order.options
    )
    watch.phase("measuring")
    return {"base": report(tree, base), "stitched": report(tree, result)}, result


def _dynamic(task: Task, watch: Watch) -> tuple[dict[str, Any], Profile]:
    from kibitz.evaluate import report
    from kibitz.stitch import dynamic

    order = task.order
    watch.phase(f"solving all parts together: {task.sizes['size']:,} infosets")
    result = dynamic(task.tree, task.parts, [order.base, order.inside], **order.options)
    return {"stitched": report(task.tree, result)}, result


def _given(base: str) -> Profile | None:
    """The profile that --base names; None if it names an abstraction."""
    from kibitz.forms.profile import Profile

    path = Path(base)
    if not (path.is_dir() or base.rstrip("/").endswith(".profile")):
        if path.exists():
            raise ArtefactError(f"--base {base} is a file; a saved profile is a directory")
        return None
    return Profile.load(path)


def _coarse(order: Order, given: Profile | None, tree: Tree | CompactForm) -> tuple[Any, int | None]:
    """(the abstraction of free opponents outside the part, the size of the base's computation if it is known)."""
    from kibitz.forms.abstraction import abstraction
    from kibitz.games.tree import Tree

    if given is None and not isinstance(tree, Tree):
        from kibitz.poker.resolve import abstracted_form
        from kibitz.stitch.compact import whole

        size = tree.points if whole(order.base) else abstracted_form(tree, order.base).size
        return order.outside or order.base, size
    if given is None and isinstance(tree, Tree):
        base = abstraction(tree, order.base)
        return (abstraction(tree, order.outside) if order.outside else base), base.rows
    assert given is not None
    said = given.meta.get("size")
    return order.outside, said if isinstance(said, int) else None


def _anything(tree: Tree | CompactForm) -> Profile:
    """Some profile: sizes do not depend on which."""
    from kibitz.forms.profile import Profile
    from kibitz.forms.sequence import form_of
    from kibitz.games.tree import Tree

    if not isinstance(tree, Tree):
        return Profile(tree.infosets, tree.uniform(), {"tree": tree.tree_digest})
    return Profile(tree.infosets, form_of(tree).uniform(), {"tree": tree.digest})


def _print_sizes(task: Task) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import pairs, plain

    out, data = console(), task.sizes
    name = f"{plain(data['game'])}, {data['kind']} experts for {plain(data['partition'])}"
    out.print(name, style="bold", markup=False)
    if data["experts"]:
        rows = [
            [plain(e["part"]), *(", ".join(map(str, e[k])) for k in ("seats", "keeps")), f"{e['size']:,}"]
            for e in data["experts"]
        ]
        for made in tables(["part", "seats frozen", "seats kept", "infosets"], rows, out.width, (0, 1, 2)):
            out.print(made)
        out.print()
    facts = [("size", f"{data['size']:,} infosets in the largest computation; the game has {data['infosets']:,}")]
    if data["base_size"] is not None:
        facts.append(("base", f"{data['base_size']:,} infosets"))
    out.print(pairs(facts))


def _print_figures(data: dict[str, Any], saved: Path | None) -> None:
    from kibitz.report.text import gap, pairs, signed

    rows = []
    for name in ("base", "stitched"):
        if name in data:
            found = data[name]
            rows.append((f"{name}: value", ", ".join(signed(x) for x in found["value"])))
            figures = f"{gap(found['nash_conv'])}; exploitability {gap(found['exploitability'])}"
            rows.append((f"{name}: NashConv", figures))
    if saved is not None:
        rows.append(("profile", str(saved)))
    console().print(pairs(rows))
    if saved is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy.")
    else:
        game = named_again(data["game"])
        typer.echo(f"Compare it with others: kibitz crosstable {shlex.quote(str(saved))} OTHER.profile{game}")
