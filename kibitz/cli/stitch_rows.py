"""kibitz stitch, where the base is a blueprint of limit poker for three: experts are trained, one after another."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from kibitz.cli.common import console, named_again, print_json, save_or_rescue
from kibitz.cli.options import counted
from kibitz.cli.watch import Watch
from kibitz.core.errors import SolverError


def is_trained(base: str) -> bool:
    """Whether a base is a blueprint."""
    from kibitz.core.store import kind_at

    return Path(base).is_dir() and kind_at(base) == "blueprint"


def stitch_rows(order: Any, game: str, limit: str | None, seconds: float | None, out: Path | None, work: Path | None,
                dry_run: bool, json: bool) -> None:  # fmt: skip
    """Train experts and stitch them on."""
    from kibitz.poker.blueprints.placed_rows import is_placed, layout_of
    from kibitz.poker.stitching.row_experts import RowExpert, row_experts, stitched_rows
    from kibitz.report.text import duration
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.saved_blueprints import load_blueprint

    if order.kind != "static":
        how = f"kibitz train {shlex.quote(game)} --dynamic f,rf --limit 162M --seconds 600 --out NAME.blueprint"
        raise SolverError(f"dynamic experts are trained with their base: {how}")
    if order.outside is not None or order.opponents is not None:
        raise SolverError("free opponents see what the base sees: leave --outside and --opponents out")
    inside = None if limit is not None else order.inside
    if inside == "null":
        raise SolverError("say how experts see hands: --inside 'percentile([169, 9, 9, 9], forget=1)', or --limit 20M")
    iterations = order.options["iterations"]
    if seconds is None and iterations is None and not dry_run:
        raise SolverError("say how long each expert is trained: --seconds 300, or --iterations 1000000")
    with Watch(not json) as watch:
        watch.phase(f"reading {order.base}")
        base = load_blueprint(order.base, compact=True, game=machine_of(game))
        if not is_placed(base):
            raise SolverError(f"{order.base} has hashed rows: experts are stitched onto blueprints within buckets")
        parts = parts_named(order.partition)
        experts = row_experts(base, parts, order.seats, inside, None if limit is None else counted(limit))
        data: dict[str, Any] = {"game": base.machine.spec, "players": base.machine.players, "experts": [
            {"part": each.part, "seats": list(each.seats), "keeps": list(each.keeps), "buckets": each.buckets}
            for each in experts
        ]}  # fmt: skip
        if not dry_run:
            at = [""]

            def told(each: RowExpert, number: int, of: int) -> None:
                at[0] = f"expert {number + 1} of {of}: {each.part}, {each.buckets}"
                watch.phase(at[0])

            def moved(now: Any) -> None:
                left = "" if seconds is None else f", about {duration(max(0.0, seconds - now.seconds))} left"
                rate = now.visited / max(now.seconds, 1e-9)
                watch.phase(f"{at[0]}: iteration {now.iteration:,}, {rate:,.0f} decisions/s{left}")

            made = stitched_rows(
                base, parts, order.seats, inside, None if limit is None else counted(limit), keep=work, on_expert=told,
                seconds=seconds, iterations=iterations, seed=order.options["seed"], on_progress=moved,
            )  # fmt: skip
            data |= {"infosets": layout_of(made).size, "sha256": made.sha256}
            if out is not None:
                watch.phase(f"saving {out}")
                save_or_rescue(made.save, out)
    if json:
        print_json({**data, "out": str(out) if out is not None and not dry_run else None})
        return
    _print(data, order.base, out, dry_run)


def parts_named(partition: str) -> tuple[str, ...]:
    """f, rf of 'prefix(f, rf)'."""
    import re

    found = re.fullmatch(r"\s*prefix\((.*)\)\s*", partition)
    if found is None:
        raise SolverError(f"--partition {partition}: parts follow some betting, 'prefix(f, rf, rrf, rcf)'")
    return tuple(part.strip().strip("\"'") for part in found[1].split(","))


def _print(data: dict[str, Any], base: str, out: Path | None, dry_run: bool) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import plain

    page = console()
    page.print(f"{plain(data['game'])}, static experts", style="bold", markup=False)
    rows = [
        [each["part"], ", ".join(map(str, each["seats"])), ", ".join(map(str, each["keeps"])), each["buckets"]]
        for each in data["experts"]
    ]
    for made in tables(["part", "seats frozen", "seats kept", "buckets"], rows, page.width, (0, 1, 2, 3)):
        page.print(made)
    if dry_run:
        typer.echo("Nothing was trained: leave out --dry-run to train.")
    elif out is None:
        typer.echo("Not saved: --out NAME.blueprint keeps the strategy.")
    else:
        players = shlex.join([str(out), *[base] * (data["players"] - 1)])
        game = named_again(data["game"])
        typer.echo(f"{data['infosets']:,} infosets. Let it play: kibitz match {players}{game} --deals 100000")
