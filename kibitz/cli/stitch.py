"""kibitz stitch: finer experts joined to a base strategy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.cli.common import (
    GameText,
    Json,
    check_artefact,
    console,
    game_and_tree,
    named_again,
    print_json,
    rules_of,
    save_or_rescue,
    told_by_line,
)
from kibitz.cli.options import Iterations, On, Seconds, Seed, Solver, StitchDevice, Until, counted, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.stitch.targets import Expert, Target

KINDS = ("static", "dynamic")


def seen(name: str, help: str) -> Any:
    """An option that names an abstraction."""
    return option(name, "ABSTRACTION", help, complete.abstractions)


def stitch(
    game: GameText,
    base: Annotated[str, option("--base", "BASE", "A saved strategy, or an abstraction to solve one in: JQ.K.")],
    partition: Annotated[
        str, option("--partition", "PARTS", "'prefix(r, cr)': by the first actions. 'private(J, Q)': by the hand.")
    ],
    kind: Annotated[str, option("--kind", "KIND", "static or dynamic.")] = "static",
    seats: Annotated[
        str,
        option(
            "--seats", "SEATS",
            "Players that are frozen outside the part of an expert: each (S={i}), all (S=N), 0,2, or groups such as "
            "'0,1; 1,2; 2,0': one expert a group, used by the first player in it.",
        ),
    ] = "each",
    inside: Annotated[str, seen("--inside", "Abstraction of experts, in their part.")] = "null",
    outside: Annotated[
        str | None, seen("--outside", "Abstraction of free opponents elsewhere. Default: the base's.")
    ] = None,
    opponents: Annotated[
        str | None,
        seen("--opponents", "Abstraction of free opponents in the part. With pcs: inside or base. Default: --inside."),
    ] = None,
    solver: Solver = "cfr+",
    iterations: Iterations = None,
    until: Until = None,
    seed: Seed = 0,
    random: Annotated[bool, typer.Option("--random", help="Start each solve from a random profile.")] = False,
    out: Annotated[Path | None, option("--out", "DIR", "Save the strategy here, such as stitched.profile.")] = None,
    work: Annotated[
        Path | None,
        option(
            "--work", "DIR",
            "With --solver pcs, or a blueprint as --base: save each expert here. The same command then continues; with "
            "pcs also on several machines that share the directory.",
        ),
    ] = None,
    max_infosets: Annotated[
        str | None,
        option(
            "--max-infosets", "N",
            "With a blueprint as --base, in place of --inside: the finest percentile buckets with at most this many "
            "infosets, such as 20M.",
        ),
    ] = None,
    seconds: Seconds = None,
    device: StitchDevice = "cpu",
    on: On = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the sizes of all solves, then stop.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Refine a base strategy with experts for parts of the game.

    This is for games that are too large to solve at once. Static experts are solved one by one, with the base strategy
    frozen outside their part. Dynamic experts give each part an abstraction of its own, and all parts are solved
    together; --base is then the abstraction of the rest. Each solve stops at --iterations, --until or --seconds;
    without them, at a NashConv of 1e-5 or after 20,000 iterations.

    If --base is a blueprint of three-player limit poker (kibitz train holdem.limit.3p), experts are trained on sampled
    hands, for --seconds or --iterations each.

    With --solver pcs, and in larger games, experts of two-player poker have hand buckets of their own (--inside) and
    are solved on sampled boards, for --iterations or --seconds each. In larger games --solver dcfr+ solves them over
    all boards at once, to a NashConv (--until) per hand that enters the part; this needs perfect recall.

    \b
    Examples:
      kibitz stitch leduc --base JQ.K --partition 'prefix(r, cr)' --seats all \\
          --inside suits --dry-run
      kibitz stitch leduc --base base.profile \\
          --partition 'prefix(r, cr, ccr, cccr)' --inside suits --out each.profile
      kibitz stitch leduc --base JQ.K --partition 'prefix(r, cr)' \\
          --kind dynamic --inside suits --out dynamic.profile
      kibitz stitch leduc --base J.QK --partition 'private(J, Q, K)' \\
          --inside suits --opponents J.QK --until 1e-4
      kibitz stitch rhode_island --base 'percentile(3)' \\
          --partition 'prefix(r)' --inside 'percentile(4)' --solver pcs
      kibitz stitch rhode_island --base ri.profile --partition 'prefix(r)' \\
          --seats all --until 0.1 --out ri2.profile
      kibitz stitch holdem.limit.3p --base h3.blueprint \\
          --partition 'prefix(f, rf)' --seats all --max-infosets 9M --seconds 300
    """
    from kibitz.solvers.run import samples
    from kibitz.stitch.columns import target_of
    from kibitz.stitch.experts import run
    from kibitz.stitch.targets import MaxInfosets, Solving, Stitching

    if kind not in KINDS:
        raise SolverError(f"--kind {kind} should be static or dynamic")
    check_artefact(out, "--out", "profile")
    view = inside if max_infosets is None else MaxInfosets(counted(max_infosets))
    plan = Stitching(kind, partition, parsed(seats), view, outside, opponents)
    with by_option(), Watch(not json) as watch:
        progress = _Progress(watch, seconds)
        how = Solving(solver, iterations, until, seconds, seed, "random" if random else None, keep=work,
                      device=device, on_start=progress.start, on_progress=progress.trained)  # fmt: skip
        if dry_run:  # sizes do not depend on what the base plays
            how = replace(how, solver=solver if samples(solver) else "cfr+", iterations=0, until=None, seconds=None)
        start = base_of(base, game, watch)
        if kind == "dynamic":
            if not isinstance(start, str):
                hint = f"; see kibitz train {shlex.quote(game)} --dynamic f,rf" if hasattr(start, "machine") else ""
                raise SolverError(
                    f"--kind dynamic solves the base too: --base must be an abstraction, not a saved strategy{hint}"
                )
            plan, start = Stitching(kind, partition, inside=[base, inside]), None
        watch.phase(f"building the game {game}, its parts and its abstractions")
        with told_by_line(game):
            target = target_of(rules_of(game), start, plan, how, lambda rules: game_and_tree(game, watch)[1])
        if start is base:
            watch.phase(f"solving the base in {base}")
        data = _sizes(target, plan.kind, partition)
        if not json:
            _print_sizes(data)
        strategy = None
        if not dry_run:
            strategy = run(target)
            watch.phase("measuring")
            data |= _figures(target, strategy)
    if strategy is not None and out is not None:
        save_or_rescue(strategy.save, out)
    if json:
        print_json({**data, "out": None if strategy is None or out is None else str(out)})
    elif strategy is None:
        typer.echo("Nothing was solved: leave out --dry-run to solve.")
    else:
        _print_figures(data, out, base)


class _Progress:
    """Which expert is solved, on the line that is shown."""

    def __init__(self, watch: Watch, seconds: float | None) -> None:
        self.watch, self.seconds, self.text = watch, seconds, ""

    def start(self, expert: Expert, number: int, of: int) -> None:
        much = expert.buckets if "buckets" in expert.facts else f"{expert.size:,} infosets"
        self.text = f"expert {number + 1} of {of}: {expert.name}, {much}"
        self.watch.phase(self.text)

    def trained(self, now: Any) -> None:
        from kibitz.report.text import duration

        left = "" if self.seconds is None else f", about {duration(max(0.0, self.seconds - now.seconds))} left"
        rate = now.visited / max(now.seconds, 1e-9)
        self.watch.phase(f"{self.text}: iteration {now.iteration:,}, {rate:,.0f} decisions/s{left}")


@contextmanager
def by_option() -> Iterator[None]:
    """Messages of the library speak of arguments, seats=[0, 5]; here they speak of options, --seats [0, 5]."""
    try:
        yield
    except KibitzError as error:
        sentence = re.sub(r"(?<![\w(,-])(seats|inside|outside|opponents)=", r"--\1 ", str(error))
        raise type(error)(sentence) from None


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


def base_of(text: str, game: str, watch: Watch) -> Any:
    """The strategy that --base names; the text itself if it names an abstraction."""
    from kibitz.core.store import kind_at
    from kibitz.forms.profile import Profile

    path = Path(text)
    if not (path.is_dir() or text.rstrip("/").endswith(".profile")):
        if path.exists():
            raise ArtefactError(f"--base {text} is a file; a saved profile is a directory")
        return text
    watch.phase(f"reading {text}")
    if not path.is_dir() or kind_at(text) != "blueprint":
        return Profile.load(path)
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.saved_blueprints import load_blueprint

    return load_blueprint(text, compact=True, game=machine_of(game))


def _sizes(target: Any, kind: str, partition: str) -> dict[str, Any]:
    """The computations; a base that is named by its abstraction is solved for them."""
    experts, subject, static = target.experts(), target.subject, kind == "static"
    data: dict[str, Any] = {"game": target.spec, "kind": kind, "partition": partition}
    if subject is not None:
        data["infosets"] = len(subject.infosets.labels)
    data["experts"] = [expert.facts for expert in experts] if static else []
    if hasattr(target.base, "machine"):  # experts of a blueprint are listed by their buckets
        return data | {"players": target.base.machine.players}
    sizes = [expert.size for expert in experts]
    if subject is not None:
        unknown = data["infosets"] if isinstance(target.onto, str) else None
        size = target.base.meta.get("size", unknown) if static else target.views[0].rows
        data["base_size"] = size if isinstance(size, int) else None
        sizes += [data["base_size"] or 0] if static else []
    return data | {"size": max(sizes, default=0)}


def _figures(target: Target, strategy: Any) -> dict[str, Any]:
    """What is known of the strategies that are solved."""
    from kibitz.evaluate import report

    figures: dict[str, Any] = {"infosets": strategy.store.used} if hasattr(strategy, "machine") else {}
    if target.subject is not None:
        profiles = {"base": target.base, "stitched": strategy}
        figures = {name: report(target.subject, profile) for name, profile in profiles.items() if profile is not None}
    return {**figures, "sha256": strategy.sha256}


def _print_sizes(data: dict[str, Any]) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import pairs, plain

    out = console()
    out.print(f"{plain(data['game'])}, {data['kind']} experts for {plain(data['partition'])}", style="bold",
              markup=False)  # fmt: skip
    if data["experts"]:
        last = "infosets" if "size" in data["experts"][0] else "buckets"
        rows = [
            [plain(e["part"]), *(", ".join(map(str, e[k])) for k in ("seats", "keeps")),
             f"{e['size']:,}" if last == "infosets" else e["buckets"]]
            for e in data["experts"]
        ]  # fmt: skip
        words = (0, 1, 2) if last == "infosets" else (0, 1, 2, 3)
        for table in tables(["part", "seats frozen", "seats kept", last], rows, out.width, words):
            out.print(table)
        out.print()
    if "size" in data:
        whole = f"; the game has {data['infosets']:,}" if "infosets" in data else ""
        facts = [("size", f"{data['size']:,} infosets in the largest computation{whole}")]
        if data.get("base_size") is not None:
            facts.append(("base", f"{data['base_size']:,} infosets"))
        out.print(pairs(facts))


def _print_figures(data: dict[str, Any], saved: Path | None, base: str) -> None:
    """What came out, and what can be done with it next."""
    from kibitz.report.text import gap, pairs, signed

    rows = []
    for name in ("base", "stitched"):
        if name in data:
            figures = data[name]
            rows.append((f"{name}: value", ", ".join(signed(x) for x in figures["value"])))
            both = f"{gap(figures['nash_conv'])}; exploitability {gap(figures['exploitability'])}"
            rows.append((f"{name}: NashConv", both))
    if "stitched" in data and saved is not None:
        rows.append(("profile", str(saved)))
    if rows:
        console().print(pairs(rows))
    game = named_again(data["game"])
    if saved is None:
        typer.echo(f"Not saved: --out NAME.{'blueprint' if 'players' in data else 'profile'} keeps the strategy.")
    elif "players" in data:
        players = shlex.join([str(saved), *[base] * (data["players"] - 1)])
        typer.echo(f"{data['infosets']:,} infosets. Let it play: kibitz match {players}{game} --deals 100000")
    elif "stitched" in data:
        typer.echo(f"Compare it with others: kibitz crosstable {shlex.quote(str(saved))} OTHER.profile{game}")
    else:
        typer.echo(f"Measure it in the whole game: kibitz evaluate {shlex.quote(str(saved))}{game} --whole")
