"""kibitz tournament: an equilibrium of a whole tournament of jam or fold, and what could be gained against it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import INTERRUPTED, Json, check_artefact, console, open_triples, print_json
from kibitz.cli.options import number
from kibitz.cli.watch import Watch, say

if TYPE_CHECKING:
    from kibitz.poker.tournaments import Check, Tournament, TournamentSolution

# Seconds of a core that a state takes until the tolerance is met, by players: aarch64, two cores. Of four, over a
# sample of deals, until values move by some tenths of a percent of the first prize (x86_64, 84 states).
SECONDS = {2: 0.05, 3: 0.5, 4: 6.0}


def tournament(
    rules: Annotated[
        str,
        typer.Argument(metavar="TOURNAMENT", help="The rules, such as 'tournament(players=3, chips=13500, "
                       "blinds=300/600, unit=300, prizes=50/30/20, ante=0)'. What is left out is as here."),
    ] = "tournament",
    algorithm: Annotated[
        str,
        typer.Option("--algorithm", metavar="NAME", help="vi-fp, pi-fp (values, and fictitious play of hands inside), "
                     "fp-pi or fp-vi (fictitious play of the tournament)."),
    ] = "pi-fp",
    until: Annotated[
        float, number("--until", metavar="GAP", help="Stop when values move less, as a share of the first prize.")
    ] = 1e-4,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep the solution here, after every iteration; what is there goes "
                     "on."),
    ] = None,
    deals: Annotated[
        int | None,
        number("--deals", metavar="N", help="Sample so many deals for three players and more, instead of counting all "
               "cards for three."),
    ] = None,
    threads: Annotated[int | None, number("--threads", metavar="N", help="Cores to use. Default: all.")] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Solve a tournament of jam or fold for two to four players, and check the solution.

    The state of a tournament is its stacks; a hand leads from one to another until one player has all chips. Values are
    those of the tournament, not of the Independent Chip Model, which they start from. In the end the check takes each
    player by himself: what could he win more if the others stay with their strategies?

    Ctrl-C keeps what is done, and the same command goes on from there. Three players need the table of three hands,
    which is made first (some minutes, once). Four players go by a sample of deals, and their values settle to some
    tenths of a percent of the first prize only: --until 0.003; their check is on deals of its own.
    `kibitz pushfold --tournament DIR --stacks ...` shows the charts.

    \b
    Examples:
      kibitz tournament 'tournament(players=2, chips=8000, unit=100, prizes=1/0)' --out two.tournament
      kibitz tournament 'tournament(players=3, chips=4500)' --out three.tournament
      kibitz tournament --algorithm vi-fp --out slides.tournament
    """
    from kibitz.poker.tournaments import check, solve
    from kibitz.poker.tournaments import tournament as read
    from kibitz.poker.tournaments.sampled import check_deals
    from kibitz.poker.tournaments.saved import KIND, load, save
    from kibitz.report.text import duration

    check_artefact(out, "--out", KIND)
    wanted = read(rules)
    if deals is not None:
        check_deals(deals)
    start = load(out) if out is not None and (out / "manifest.json").exists() else None
    if not json:
        _announce(wanted, start)

    def keep(found: TournamentSolution, step: Any) -> None:
        watch.phase(f"{step.players} players, iteration {step.iteration}: {_change(found, step)}, {step.active:,} "
                    f"states played on, {duration(found.seconds)} used")  # fmt: skip
        if out is not None:
            save(found, out)

    def round_by_round(players: int, iteration: int, number: int, active: int) -> None:
        watch.phase(f"{players} players, iteration {iteration}, round {number} of fictitious play: {active:,} states "
                    "go on")  # fmt: skip

    try:
        with Watch(not json) as watch:
            if wanted.players >= 3 and deals is None:
                open_triples(watch)
            watch.phase("solving")
            found = solve(wanted, algorithm, until, deals=deals or 0, start=start, on_step=keep,
                          on_round=round_by_round, threads=threads)  # fmt: skip
            if out is not None:
                save(found, out)
            watch.phase("checking: a best response in the whole tournament")
            proof = check(wanted, found.jams, found.deals, threads)
    except KeyboardInterrupt:
        where = f"what is done is in {out}: the same command goes on" if out else "nothing is kept: --out would"
        say(f"stopped; {where}")
        raise typer.Exit(INTERRUPTED) from None
    data = summary(found, proof)
    if json:
        print_json({**data, "out": None if out is None else str(out)})
    else:
        _print(data, out)


def _change(found: TournamentSolution, step: Any) -> str:
    if found.algorithm in ("vi-fp", "pi-fp"):
        return f"values moved {step.change:.2g}"
    return f"{step.change:.2g} to be won"


def _announce(rules: Tournament, start: TournamentSolution | None) -> None:
    from kibitz.core.resources import cores
    from kibitz.report.text import duration

    counts = ", ".join(f"{count:,} states of {k} players" for k, count in enumerate(rules.states, 2))
    took = sum(SECONDS[k] * count for k, count in enumerate(rules.states, 2)) / cores()
    typer.echo(f"{rules}\n{counts}; about {duration(max(took, 5.0))} on {cores()} cores")
    if start is not None:
        typer.echo(f"going on after {len(start.steps):,} iterations, {duration(start.seconds)}")


def summary(found: TournamentSolution, proof: Check) -> dict[str, Any]:
    """What a solution is worth, as plain data."""
    import numpy as np

    rules = found.rules
    levels = []
    for level, gains in zip(rules.levels, proof.gains, strict=True):
        off = np.abs(proof.values - rules.icm)[level.values]
        steps = [step for step in found.steps if step.players == level.players]
        levels.append({
            "players": level.players, "states": level.count, "iterations": len(steps),
            "seconds": sum(step.seconds for step in steps), "epsilon": float(gains.max()),
            "above": float(proof.above[level.players - 2].max()),
            "mean_gain": float(gains.mean()), "worst": _worst(rules, level, proof.above[level.players - 2]),
            "icm_mean": float(off.mean()), "icm_most": float(off.max()),
        })  # fmt: skip
    return {
        "tournament": str(rules), "algorithm": found.algorithm, "levels": levels, "epsilon": proof.epsilon,
        "epsilon_share": proof.epsilon / rules.prizes[0], "seconds": found.seconds,
        "epsilon_interval": list(proof.interval), "epsilon_above": proof.highest,
        "sampled": bool(any(each.any() for each in proof.errors)),
    }  # fmt: skip


def _worst(rules: Tournament, level: Any, gains: Any) -> dict[str, Any]:
    """Where most could be won, and by whom."""
    state, seat = divmod(int(gains.argmax()), level.players)
    return {"stacks": (level.stacks[state] * rules.unit).tolist(), "seat": level.hand.names[seat]}


def _print(data: dict[str, Any], out: Path | None) -> None:
    from rich import box
    from rich.table import Table

    from kibitz.report.text import duration

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("players", "states", "iterations", "time", "could win more", "ICM off by", "at most"):
        table.add_column(name, justify="right")
    for level in data["levels"]:
        table.add_row(str(level["players"]), f"{level['states']:,}", str(level["iterations"]),
                      duration(level["seconds"]), f"{level['epsilon']:.2g}", f"{level['icm_mean']:.3g}",
                      f"{level['icm_most']:.3g}")  # fmt: skip
    page = console()
    worst = max(data["levels"], key=lambda level: float(level["above"]))["worst"]
    page.print(table)
    where = f"{worst['seat']} with stacks of {', '.join(map(str, worst['stacks']))}"
    if data["sampled"]:
        low, high = data["epsilon_interval"]
        page.print(
            f"\nChecked on fresh deals, as these strategies go by a sample: a responder chosen on some gained "
            f"{data['epsilon']:.2g} in the whole tournament on others (95%: {low:.2g} to {high:.2g}), "
            f"{100 * data['epsilon_share']:.2g}% of the first prize, from the state and seat where it seemed to gain "
            f"most, {where}. There it seemed to gain {data['epsilon_above']:.2g}, which on average is not below what "
            "the best one could gain."
        )
    else:
        page.print(
            f"\nChecked with all cards: nobody could win more than {data['epsilon']:.2g} in the whole tournament by "
            f"another strategy, {100 * data['epsilon_share']:.2g}% of the first prize, from any state and seat (most: "
            f"{where})."
        )
    if out is not None:
        stacks = ",".join(map(str, worst["stacks"]))
        typer.echo(f"Its charts: kibitz pushfold --tournament {shlex.quote(str(out))} --stacks {stacks}")
