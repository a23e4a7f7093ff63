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
from kibitz.cli.options import Device, number
from kibitz.cli.stitch import option
from kibitz.cli.watch import Watch
from kibitz.core.errors import SolverError

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
    from kibitz.forms.choice import needs_tree
    from kibitz.forms.profile import Profile
    from kibitz.poker.bucketed.build import bucket_form
    from kibitz.poker.buckets.buckets import hand_buckets
    from kibitz.poker.endgames.phases import ROLLOUT, phase_one, phase_two
    from kibitz.poker.stitching.experts import poker_of

    check_artefact(out, "--out", "profile")
    rules = rules_of(game)
    if needs_tree(rules):
        raise SolverError(f"phases are for two-player poker: {game} is none")
    if begin is not None and begin > rounds + 1:
        raise SolverError(f"--begin {begin}: phase I ends with round {rounds}, so phase II begins by {rounds + 1}")
    after = leaves if leaves == ROLLOUT else Profile.load(Path(leaves))
    options: dict[str, Any] = {"iterations": iterations, "until": until, "seconds": seconds, "device": device}
    with Watch(not json) as watch:
        watch.phase(f"phase I: rounds 1 to {rounds}")
        first = last = phase_one(rules, abstraction, rounds, after, solver, **options)
        if begin is not None:
            watch.phase(f"phase II: from round {begin} on")
            last = phase_two(rules, first, begin, solver, **options)
        watch.phase("measuring the whole in its buckets")
        poker = poker_of(rules)
        form = bucket_form(poker, hand_buckets(poker.definition, abstraction), device)
        nash_conv = float(form.measure(last.probabilities).nash_conv)
    if out is not None:
        save_or_rescue(last.save, out)
    data = {
        "game": first.meta["game"], "abstraction": first.meta["abstraction"], "rounds": rounds,
        "leaves": first.meta["leaves"], "begin": begin,
        "phases": [_facts(each) for each in ([first] if begin is None else [first, last])],
        "abstract_nash_conv": nash_conv, "sha256": last.sha256, "out": None if out is None else str(out),
    }  # fmt: skip
    if json:
        print_json(data)
    else:
        _print(data, out)


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
