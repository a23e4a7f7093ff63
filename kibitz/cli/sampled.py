"""kibitz show and kibitz evaluate for blueprints: exactly where the game can be laid out, else by self-play."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.cli.common import console, print_json, print_pairs, with_interval
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.evaluate.sampled import Decision, Sample
    from kibitz.solvers.blueprint import Blueprint


def evaluate_sampled(
    blueprint: Blueprint, path: Path, seconds: float, local: int | None, json: bool, watch: Watch, why: str,
    device: str = "cpu",
) -> None:  # fmt: skip
    """Print the value of each player in self-play, and what a trained responder wins. why: it is not exact."""
    from kibitz.commands import evaluate_sampled as measured

    data = {"blueprint": str(path), **measured(blueprint, seconds, local, why, watch.phase, device)}
    watch.phase("")
    if json:
        print_json(data)
        return
    from kibitz.report.text import plain

    responder = data["responder"]
    rows = [(f"value of player {seat}", with_interval(each["mean"], each["interval"]))
            for seat, each in enumerate(data["value"])]  # fmt: skip
    rows += [
        ("self-play", f"{data['deals']:,} deals"),
        ("exploitability", at_least(data["exploitability_at_least"], responder["mean"], responder["interval"])),
        ("", f"by a responder that learned against it for {seconds:g} s ({responder['abstraction']}, "
             f"{responder['iterations']:,} iterations); a longer one may win more"),
    ]  # fmt: skip
    if local is not None:
        near = data["local_best_response"]
        known = near["interval"][0] is not None
        wins = f"wins {with_interval(near['mean'], near['interval'])}" if known else "too early to say"
        until = ", stopped by Ctrl-C" if near["stopped"] == "interrupted" else ""
        rows.append(("local best response", f"{wins} in {near['deals']:,} deals{until}"))
    console().print(plain(repr(blueprint)), markup=False)
    print_pairs([*rows, ("sampled", plain(why))])


def at_least(least: float, mean: float, interval: tuple[float, float]) -> str:
    """A lower bound in words; a responder that found nothing says so."""
    if least > 0.0:
        return f"at least {least:.4f}: the responder wins {with_interval(mean, interval)}"
    return f"at least 0: the responder found no gain ({mean:+.4f} \u00b1 {interval[1] - mean:.4f})"


def show_sampled(
    blueprint: Blueprint, path: Path, player: int | None, infoset: str | None, filter: str | None, top: int, json: bool,
    watch: Watch,
) -> None:  # fmt: skip
    """The decisions that self-play comes to most often."""
    from kibitz.commands import SELF_PLAY
    from kibitz.evaluate.sampled import self_play
    from kibitz.play.agents import blueprint_agent

    if player is not None and not 0 <= player < blueprint.machine.players:
        raise GameError(f"there is no player {player}: players are 0 to {blueprint.machine.players - 1}")
    watch.phase(f"playing {SELF_PLAY:,} deals against itself")
    agent = blueprint_agent(blueprint, blueprint.machine, str(path))
    sample = self_play(blueprint.machine, agent, SELF_PLAY)
    watch.phase("")

    def wanted(each: Decision) -> bool:
        named = infoset is None or each.infoset == infoset
        return named and (player is None or each.seat == player) and (filter is None or filter in each.infoset)

    chosen = [each for each in sample.decisions if wanted(each)]
    by_seat = {s: [each for each in chosen if each.seat == s] for s in sorted({each.seat for each in chosen})}
    if not chosen:
        raise GameError(
            f"{sample.deals:,} deals of self-play came to no such infoset; try another --filter, or train it longer"
        )
    if json:
        print_json(_data(blueprint, path, sample, [each for of in by_seat.values() for each in of[: top or None]]))
        return
    page = console()
    page.print(f"{blueprint!r}", markup=False)
    page.print(
        f"{len(sample.decisions):,} infosets came up in {sample.deals:,} deals of self-play; reach and values are of "
        "these deals, and '-' is an action that was never taken.",
        markup=False,
    )
    for s, decisions in by_seat.items():
        page.print(f"\nPlayer {s}", style="bold")
        for each in decisions[: top or None]:
            page.print(f"{each.infoset}   reach {100 * sample.reach(each):.2f}%", markup=False, highlight=False)
            for action, p, value in zip(each.actions, each.probabilities, each.values, strict=True):
                worth = "-" if value is None else f"{value:+.3f}"
                page.print(f"    {action:<12} {100 * p:6.2f}%  {worth}", markup=False, highlight=False)
        if top and len(decisions) > top:
            page.print(f"... and {len(decisions) - top:,} more: --top 0 for all", markup=False)


def _data(blueprint: Blueprint, path: Path, sample: Sample, decisions: list[Decision]) -> dict[str, Any]:
    return {
        "blueprint": str(path), "game": blueprint.machine.spec, "sampled": True, "deals": sample.deals,
        "infosets": [
            {
                "seat": each.seat, "infoset": each.infoset, "reach": sample.reach(each),
                "actions": dict(zip(each.actions, each.probabilities, strict=True)),
                "values": dict(zip(each.actions, each.values, strict=True)),
            }
            for each in decisions
        ],
    }  # fmt: skip
