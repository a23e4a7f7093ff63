"""kibitz stitch, where games are too large for a tree: experts with buckets of their own, on sampled boards."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kibitz.cli.common import console, named_again, print_json, rules_of, save_or_rescue
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.poker.stitching.experts import ViewExpert


def wanted(game: str, solver: str, inside: str) -> bool:
    """Whether experts are solved on sampled boards: if the solver says so, or the game has no other form."""
    from kibitz.forms.choice import compact_form, needs_tree
    from kibitz.poker.buckets.buckets import is_bucket_name
    from kibitz.solvers.run import samples

    if samples(solver):
        return True
    if not is_bucket_name(inside):
        return False
    rules = rules_of(game)
    if needs_tree(rules):
        return False
    try:
        compact_form(rules)
    except GameError:
        return True
    return False


def stitch_views(order: Any, given: Profile | None, game: str, out: Path | None, work: Path | None, dry_run: bool,
                 json: bool) -> None:  # fmt: skip
    """Static experts one after another, or a dynamic strategy. work: where experts are kept."""
    from kibitz.solvers.run import samples

    if order.opponents is not None or order.outside is not None:
        raise SolverError(
            "on sampled boards free opponents see what the base sees outside a part and --inside within it: leave "
            "--outside and --opponents out"
        )
    options = {name: order.options[name] for name in ("iterations", "seed")}
    options["solver"] = order.options["solver"] if samples(order.options["solver"]) else "pcs"
    with Watch(not json) as watch:
        watch.phase("making buckets (hold'em: two minutes, once)")
        made = (_dynamic if order.kind == "dynamic" else _static)(order, given, game, work, options, dry_run, watch)
    data, profile = made
    if profile is not None and out is not None:
        save_or_rescue(profile.save, out)
    if json:
        print_json({**data, "out": None if profile is None or out is None else str(out)})
        return
    _print(data)
    if profile is None:
        typer.echo("Nothing was solved: leave out --dry-run to solve.")
    elif out is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy.")
    else:
        game = named_again(data["game"])
        typer.echo(f"Measure it in the whole game: kibitz evaluate {shlex.quote(str(out))}{game} --whole")


def _static(order: Any, given: Profile | None, game: str, work: Path | None, options: dict[str, Any], dry_run: bool,
            watch: Watch) -> tuple[dict[str, Any], Profile | None]:  # fmt: skip
    from kibitz.poker.stitching.experts import static_views, view_experts
    from kibitz.solvers.run import solve_through

    if given is None and dry_run:
        raise SolverError("--dry-run counts the experts of a saved base: solve one and give --base FILE.profile")
    if given is None:
        watch.phase(f"solving the base in {order.base}")
        given = solve_through(game, abstraction=order.base, **options)
    experts = view_experts(game, given, order.partition, order.seats, order.inside)
    data = {
        "game": experts[0].form.spec, "kind": "static", "partition": order.partition,
        "experts": [{"part": e.name, "seats": list(e.seats), "keeps": list(e.keeps), "size": e.size} for e in experts],
        "size": max(e.size for e in experts),
    }  # fmt: skip
    if dry_run:
        return data, None

    def told(expert: ViewExpert, number: int, of: int) -> None:
        watch.phase(f"expert {number + 1} of {of}: {expert.name}, {expert.size:,} infosets")

    found = static_views(game, given, order.partition, order.seats, order.inside, keep=work, on_expert=told, **options)
    return {**data, "sha256": found.sha256}, found


def _dynamic(order: Any, given: Profile | None, game: str, work: Path | None, options: dict[str, Any], dry_run: bool,
             watch: Watch) -> tuple[dict[str, Any], Profile | None]:  # fmt: skip
    from kibitz.poker.stitching.experts import dynamic_form, solved

    if given is not None:
        raise SolverError("--kind dynamic solves the base too: --base must be an abstraction, not a profile")
    form = dynamic_form(game, order.partition, order.base, order.inside)
    data: dict[str, Any] = {"game": form.spec, "kind": "dynamic", "partition": order.partition, "experts": [],
                            "size": form.size}  # fmt: skip
    if dry_run:
        return data, None
    watch.phase(f"solving all parts together: {form.size:,} infosets")
    found = solved(form, keep=None if work is None else work / "dynamic", **options)
    if found is None:
        raise SolverError(f"another run is at work on {work}: wait for it, or choose another folder")
    return {**data, "sha256": found.sha256}, found


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import pairs, plain

    out = console()
    out.print(f"{plain(data['game'])}, {data['kind']} experts for {plain(data['partition'])}", style="bold",
              markup=False)  # fmt: skip
    if data["experts"]:
        rows = [
            [plain(e["part"]), *(", ".join(map(str, e[k])) for k in ("seats", "keeps")), f"{e['size']:,}"]
            for e in data["experts"]
        ]
        for made in tables(["part", "seats frozen", "seats kept", "infosets"], rows, out.width, (0, 1, 2)):
            out.print(made)
        out.print()
    out.print(pairs([("size", f"{data['size']:,} infosets in the largest computation")]))
