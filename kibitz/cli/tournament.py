"""kibitz poker tournament: an equilibrium of a whole tournament of jam or fold, and its exploitability."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import INTERRUPTED, Json, check_artefact, console, open_triples, print_data, print_table
from kibitz.cli.options import Deals, On, Threads, number, option
from kibitz.cli.watch import Watch, say

if TYPE_CHECKING:
    from kibitz.poker.tournaments import Check, Tournament, TournamentSolution

# Seconds of a core that a state takes until the tolerance is met, by players: aarch64, two cores. Of four, over a
# sample of deals, until values move by some tenths of a percent of the first prize (x86_64, 84 states).
SECONDS = {2: 0.05, 3: 0.5, 4: 6.0}


RULES_HELP = (
    "The rules, such as 'tournament(players=3, chips=13500, blinds=300/600, unit=300, prizes=50/30/20, ante=0)'. These "
    "are the defaults."
)
ALGORITHM_HELP = "vi-fp, pi-fp: value or policy iteration over fictitious play of hands; fp-pi, fp-vi: the reverse."


def tournament(
    rules: Annotated[str, typer.Argument(metavar="TOURNAMENT", help=RULES_HELP)] = "tournament",
    algorithm: Annotated[str, option("--algorithm", "NAME", ALGORITHM_HELP)] = "pi-fp",
    tolerance: Annotated[
        float, number("--tolerance", "X", "Stop when values change less than this share of the first prize.")
    ] = 1e-4,
    out: Annotated[
        Path | None, option("--out", "DIR", "Save the solution here after each iteration; the one there is continued.")
    ] = None,
    deals: Deals = None,
    threads: Threads = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Solve a push/fold tournament.

    The tournament has two to four players, who jam or fold. Its states are the stacks of the players; each hand leads
    from one state to another, until one player has all chips. States are valued by the tournament itself; the
    Independent Chip Model (ICM) is only the starting point. At the end a best response of each player is computed. The
    command prints the number of states, what a best response gains, and the errors of the ICM.

    After Ctrl-C the same command continues. Three players need a table of three hands, which is computed once, in some
    minutes. Four players are solved on a sample of deals, and best responses are measured on other deals; values then
    settle only to some tenths of a percent of the first prize (--tolerance 0.003). `kibitz poker pushfold --tournament
    DIR --stacks ...` shows the charts.

    \b
    Examples:
      kibitz poker tournament \\
          'tournament(players=2, chips=8000, unit=100, prizes=1/0)' \\
          --out two.tournament
      kibitz poker tournament 'tournament(players=3, chips=4500)' \\
          --out three.tournament
      kibitz poker tournament --algorithm vi-fp --out slides.tournament
    """
    from kibitz.commands import tournament as solve
    from kibitz.poker.tournaments import tournament as read
    from kibitz.poker.tournaments.sampled import check_deals
    from kibitz.poker.tournaments.saved import KIND, load
    from kibitz.report.text import duration

    check_artefact(out, "--out", KIND)
    wanted = read(rules)
    if deals is not None:
        check_deals(deals)
    if not json:
        _announce(wanted, load(out) if out is not None and (out / "manifest.json").exists() else None)

    def step_by_step(solution: TournamentSolution, step: Any) -> None:
        what = "values changed by" if solution.algorithm in ("vi-fp", "pi-fp") else "best responses gain"
        watch.phase(f"{step.players} players, iteration {step.iteration}: {what} {step.change:.2g}, {step.active:,} "
                    f"states left, {duration(solution.seconds)} used")  # fmt: skip

    def round_by_round(players: int, iteration: int, number: int, active: int) -> None:
        watch.phase(f"{players} players, iteration {iteration}, round {number} of fictitious play: {active:,} states "
                    "left")  # fmt: skip

    try:
        with Watch(not json) as watch:
            if wanted.players >= 3 and deals is None:
                open_triples(watch)
            watch.phase("solving")
            solution, proof = solve(rules, algorithm, tolerance, out=out, deals=deals, threads=threads,
                                    on_step=step_by_step, on_round=round_by_round)  # fmt: skip
    except KeyboardInterrupt:
        where = f"what is done is in {out}: the same command continues" if out else "nothing is kept: --out would"
        say(f"stopped; {where}")
        raise typer.Exit(INTERRUPTED) from None
    print_data({**summary(solution, proof), "out": None if out is None else str(out)}, json, _print)


def _announce(rules: Tournament, start: TournamentSolution | None) -> None:
    from kibitz.core.resources import cores
    from kibitz.report.text import duration

    counts = ", ".join(f"{count:,} states of {k} players" for k, count in enumerate(rules.states, 2))
    took = sum(SECONDS[k] * count for k, count in enumerate(rules.states, 2)) / cores()
    typer.echo(f"{rules}\n{counts}; about {duration(max(took, 5.0))} on {cores()} cores")
    if start is not None:
        typer.echo(f"continuing after {len(start.steps):,} iterations, {duration(start.seconds)}")


def summary(solution: TournamentSolution, proof: Check) -> dict[str, Any]:
    """The figures of a solution, as plain data."""
    import numpy as np

    rules = solution.rules
    levels = []
    for level, gains in zip(rules.levels, proof.gains, strict=True):
        off = np.abs(proof.values - rules.icm)[level.values]
        steps = [step for step in solution.steps if step.players == level.players]
        levels.append({
            "players": level.players, "states": level.count, "iterations": len(steps),
            "seconds": sum(step.seconds for step in steps), "epsilon": float(gains.max()),
            "above": float(proof.above[level.players - 2].max()),
            "mean_gain": float(gains.mean()), "worst": _worst(rules, level, proof.above[level.players - 2]),
            "icm_mean": float(off.mean()), "icm_most": float(off.max()),
        })  # fmt: skip
    return {
        "tournament": str(rules), "algorithm": solution.algorithm, "levels": levels, "epsilon": proof.epsilon,
        "epsilon_share": proof.epsilon / rules.prizes[0], "seconds": solution.seconds,
        "epsilon_interval": list(proof.interval), "epsilon_above": proof.highest,
        "sampled": bool(any(each.any() for each in proof.errors)),
    }  # fmt: skip


def _worst(rules: Tournament, level: Any, gains: Any) -> dict[str, Any]:
    """The stacks and the seat where a best response gains most."""
    state, seat = divmod(int(gains.argmax()), level.players)
    return {"stacks": (level.stacks[state] * rules.unit).tolist(), "seat": level.hand.names[seat]}


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration

    head = ("players", "states", "iterations", "time", "best response gains", "ICM error", "at most")
    print_table(head, [
        (str(level["players"]), f"{level['states']:,}", str(level["iterations"]), duration(level["seconds"]),
         f"{level['epsilon']:.2g}", f"{level['icm_mean']:.3g}", f"{level['icm_most']:.3g}")
        for level in data["levels"]
    ], ())  # fmt: skip
    page = console()
    worst = max(data["levels"], key=lambda level: float(level["above"]))["worst"]
    where = f"{worst['seat']} with stacks of {', '.join(map(str, worst['stacks']))}"
    if data["sampled"]:
        low, high = data["epsilon_interval"]
        page.print(
            f"\nMeasured on fresh deals: a best response to some of them gained {data['epsilon']:.2g} in the whole "
            f"tournament on others (95%: {low:.2g} to {high:.2g}), {100 * data['epsilon_share']:.2g}% of the first "
            f"prize, from the state and seat where it gained most, {where}. On the deals that it was chosen on it "
            f"gained {data['epsilon_above']:.2g}, which on average is an upper bound."
        )
    else:
        page.print(
            f"\nMeasured with all cards: no best response gains over {data['epsilon']:.2g} in the whole tournament, "
            f"{100 * data['epsilon_share']:.2g}% of the first prize, from any state and seat (most: {where})."
        )
    if data["out"] is not None:
        stacks = ",".join(map(str, worst["stacks"]))
        typer.echo(f"Its charts: kibitz poker pushfold --tournament {shlex.quote(data['out'])} --stacks {stacks}")
