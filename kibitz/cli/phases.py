"""kibitz phases: solve poker in two phases, the first rounds with something assumed of the later ones."""

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
    print_json,
    rules_of,
    save_or_rescue,
)
from kibitz.cli.options import Device, number, option
from kibitz.cli.watch import Watch

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile


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
            "What comes after phase I: rollout (nobody bets any more), or a profile in the same buckets, for "
            "statistics of its play.",
        ),
    ] = "rollout",
    begin: Annotated[
        int | None,
        number(
            "--begin", metavar="N",
            help="Solve phase II too, from round N on, with the rounds before as phase I plays them. At most one round "
            "behind phase I; less, and the phases overlap.",
        ),
    ] = None,
    solver: Annotated[str, option("--solver", "SOLVER", "Of both phases.", complete.solvers)] = "dcfr+",
    iterations: Annotated[
        int | None, number("--iterations", metavar="N", help="Of each phase. Default, without the others: 1,000.")
    ] = None,
    until: Annotated[float | None, number("--until", metavar="NASHCONV", help="Stop a phase at this NashConv.")] = None,
    seconds: Annotated[float | None, number("--seconds", metavar="S", help="Stop a phase after so long.")] = None,
    device: Device = "cpu",
    out: Annotated[Path | None, option("--out", "DIR", "Save the profile of the whole game here.")] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Solve two-player poker in two phases, as GS1 and GS2 did.

    Phase I is a game of the first rounds. At its end hands are rolled out, or they go on as statistics of a strategy's
    play say. Phase II is the game after phase I, which stays as it is. The result is a profile in buckets. Its NashConv
    in the abstract game tells what was lost against solving all rounds at once.

    \b
    Examples:
      kibitz phases rhode_island --rounds 2 --begin 2 --until 0.1 --out one.profile
      kibitz phases rhode_island --rounds 2 --begin 2 --until 0.1 --leaves one.profile --out two.profile
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
        "begin": begin, "phases": [_facts(each) for each in profiles], "abstract_nash_conv": gap,
        "sha256": profiles[-1].sha256, "out": None if out is None else str(out),
    }  # fmt: skip
    if json:
        print_json(data)
    else:
        _print(data, out)


def _gap(game: Any, abstraction: str, profile: Profile, device: str) -> float:
    from kibitz.poker.bucketed.build import bucket_form
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.stitching.experts import poker_of

    rules = poker_of(game)
    form = bucket_form(rules, hand_buckets(rules.definition, abstraction), device)
    return float(form.measure(profile.probabilities).nash_conv)


def _facts(profile: Profile) -> dict[str, Any]:
    names = ("solver", "iterations", "phase_nash_conv", "phase_value")
    return {name: profile.meta[name] for name in names if name in profile.meta}


def _print(data: dict[str, Any], out: Path | None) -> None:
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
    if out is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy.")
    else:
        typer.echo(f"Read it: kibitz show {shlex.quote(str(out))}{named_again(data['game'])}")
