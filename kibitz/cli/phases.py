"""kibitz poker phases: solve poker in two phases, the first rounds with something assumed of the later ones."""

from __future__ import annotations

import shlex
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
    print_data,
    rules_of,
    save_or_rescue,
)
from kibitz.cli.options import Device, Iterations, Seconds, Solver, Until, number, option
from kibitz.cli.watch import Watch

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile

FACTS = ("solver", "iterations", "phase_nash_conv", "phase_value")  # of each phase


def phases(
    game: GameText,
    abstraction: Annotated[
        str,
        option(
            "--abstraction", "NAME",
            "Perfect-recall buckets, such as percentile(6) or expectation([15, 225, 900, 3600]).",
            complete.abstractions,
        ),
    ] = "percentile(4)",
    rounds: Annotated[int, number("--rounds", metavar="N", help="Phase I: the first N rounds.")] = 2,
    leaves: Annotated[
        str,
        option(
            "--leaves", "WHAT",
            "Values of the leaves of phase I: rollout (no more bets), or a profile in the same buckets, for "
            "statistics of its play.",
        ),
    ] = "rollout",
    begin: Annotated[
        int | None,
        number(
            "--begin", metavar="N",
            help="Also solve phase II, from round N on. Earlier rounds are played as in phase I. N is at most "
            "--rounds + 1; with a smaller N the phases overlap.",
        ),
    ] = None,
    solver: Solver = "dcfr+",
    iterations: Iterations = None,
    until: Until = None,
    seconds: Seconds = None,
    device: Device = "cpu",
    out: Annotated[Path | None, option("--out", "DIR", "Save the profile of the whole game here.")] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Solve two-player poker in two phases, as GS1 and GS2 did.

    Phase I solves the first rounds. Its leaves are rollouts, or statistics of how a strategy plays on. Phase II solves
    the later rounds, with phase I frozen. The result is a profile in buckets. Its NashConv in the abstract game shows
    what is lost against solving all rounds at once. Each phase stops at --iterations, --until or --seconds; without
    them, after 1,000 iterations.

    \b
    Examples:
      kibitz poker phases rhode_island --rounds 2 --begin 2 --until 0.1 \\
          --out one.profile
      kibitz poker phases rhode_island --rounds 2 --begin 2 --until 0.1 \\
          --leaves one.profile --out two.profile
    """
    from kibitz.commands import phases as solved

    check_artefact(out, "--out", "profile")
    rules = rules_of(game)
    with Watch(not json) as watch:
        profiles = solved(rules, abstraction, rounds, leaves, begin, solver, device=device, progress=watch.phase,
                          iterations=iterations, until=until, seconds=seconds)  # fmt: skip
        watch.phase("measuring the profile in the abstract game")
        gap = _gap(rules, abstraction, profiles[-1], device)
    if out is not None:
        save_or_rescue(profiles[-1].save, out)
    meta = profiles[0].meta
    data = {
        "game": meta["game"], "abstraction": meta["abstraction"], "rounds": rounds, "leaves": meta["leaves"],
        "begin": begin, "phases": [{name: x.meta[name] for name in FACTS if name in x.meta} for x in profiles],
        "abstract_nash_conv": gap, "sha256": profiles[-1].sha256, "out": out,
    }  # fmt: skip
    print_data(data, json, _print)


def _gap(game: Any, abstraction: str, profile: Profile, device: str) -> float:
    from kibitz.poker.bucketed.build import bucket_form
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.stitching.experts import poker_of

    rules = poker_of(game)
    form = bucket_form(rules, hand_buckets(rules.definition, abstraction), device)
    return float(form.measure(profile.probabilities).nash_conv)


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import gap, pairs, plain

    page = console()
    page.print(f"{plain(data['game'])} in {data['abstraction']}, in phases", style="bold", markup=False)
    after = {"rollout": "roll-outs", "statistics": "statistics of play"}[data["leaves"]]
    spans = [f"rounds 1 to {data['rounds']}, with {after} behind them", f"from round {data['begin']} on"]
    rows = [
        (f"phase {'I' * (k + 1)}", f"{spans[k]}: {each['iterations']:,} iterations of {each['solver']}"
         + (f", NashConv {gap(each['phase_nash_conv'])} in it" if "phase_nash_conv" in each else ""))
        for k, each in enumerate(data["phases"])
    ]  # fmt: skip
    rows.append(("NashConv of the whole", f"{gap(data['abstract_nash_conv'])} in the abstract game"))
    page.print(pairs(rows))
    if data["out"] is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy.")
    else:
        typer.echo(f"Read it: kibitz show {shlex.quote(str(data['out']))}{named_again(data['game'])}")
