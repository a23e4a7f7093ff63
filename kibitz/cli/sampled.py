"""kibitz show and kibitz evaluate for blueprints: exactly where the game can be laid out, else by self-play."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.cli.common import console, print_json
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.evaluate.sampled import Decision, Sample
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import Form
    from kibitz.play.lower_bound import LowerBound
    from kibitz.solvers.blueprint import Blueprint

DEALS = 2_000  # of self-play
MATCH_DEALS = 100_000  # that the responder plays


def is_blueprint(path: Path) -> bool:
    from kibitz.core.store import kind_at

    return kind_at(path) == "blueprint"


def as_profile(path: Path, game: str | None, watch: Watch) -> tuple[Blueprint, Profile | None]:
    """A saved blueprint, and what it plays in each infoset if its game can be laid out."""
    from kibitz.games.size import MOST_LAID, fits
    from kibitz.games.tree import tree_of
    from kibitz.solvers.blueprint import blueprint_profile
    from kibitz.solvers.saved_blueprints import load_blueprint

    watch.phase(f"reading {path}")
    held = load_blueprint(path, compact=True, game=game)
    if not fits(held.game, MOST_LAID):
        return held, None
    watch.phase(f"building the game {held.machine.spec}")
    return held, blueprint_profile(held, tree_of(held.game))


def exactly(path: Path, game: str | None, watch: Watch) -> tuple[Blueprint, tuple[Form, Profile] | str]:
    """A saved blueprint, and what it plays on a form of its game; in words why, if there is none that fits."""
    from kibitz.evaluate.blueprints import laid_out
    from kibitz.solvers.saved_blueprints import load_blueprint

    watch.phase(f"reading {path}")
    held = load_blueprint(path, compact=True, game=game)
    watch.phase(f"building the game {held.machine.spec}")
    try:
        return held, laid_out(held)
    except GameError as error:
        return held, str(error)


def sample_of(held: Blueprint, path: Path, watch: Watch, deals: int = DEALS) -> Sample:
    from kibitz.evaluate.sampled import self_play
    from kibitz.play.agents import blueprint_agent

    watch.phase(f"playing {deals:,} deals against itself")
    return self_play(held.machine, blueprint_agent(held, held.machine, str(path)), deals)


def evaluate_sampled(
    held: Blueprint, path: Path, seconds: float, local: int | None, json: bool, watch: Watch, why: str
) -> None:
    """The value of each seat in self-play, and what a trained responder wins: a lower bound on exploitability.

    why: it is not measured exactly.
    """
    from kibitz.play.agents import blueprint_agent
    from kibitz.play.lower_bound import lower_bound

    sample = sample_of(held, path, watch)
    watch.phase(f"training a responder for {seconds:g} s")
    deals = MATCH_DEALS if held.machine.compiled else 100
    bound = lower_bound(blueprint_agent(held, held.machine, str(path)), seconds=seconds, deals=deals)
    near = None
    if local is not None:
        from kibitz.poker.whole.local_response import local_bound

        watch.phase(f"local best response: {local:,} deals")
        near = local_bound(blueprint_agent(held, held.machine, str(path)), deals=local)
    value = [score.data() for score in sample.value]
    data = {
        "blueprint": str(path), "game": held.machine.spec, "sha256": held.sha256, "sampled": True, "why": why,
        "deals": sample.deals, "value": value,
        "exploitability_at_least": bound.least,
        "responder": {**bound.result.scores[0].data(), "abstraction": bound.abstraction,
                      "iterations": bound.iterations, "seconds": seconds},
        **({} if near is None else {"local_best_response": {**near.scores[0].data(), "deals": near.deals}}),
    }  # fmt: skip
    watch.phase("")
    if json:
        print_json(data)
        return
    from kibitz.report.text import pairs, plain

    rows = [
        (f"value of seat {seat}", f"{score.mean:+.4f}  (95%: {score.interval[0]:+.4f} to {score.interval[1]:+.4f})")
        for seat, score in enumerate(sample.value)
    ]
    rows += [
        ("self-play", f"{sample.deals:,} deals"),
        ("exploitability", at_least(bound)),
        ("", f"by a responder that learned against it for {seconds:g} s ({bound.abstraction}, {bound.iterations:,} "
             "iterations); a longer one may win more"),
    ]  # fmt: skip
    if near is not None:
        low, high = near.interval
        wins = f"wins {near.mean:+.4f}  (95%: {low:+.4f} to {high:+.4f}) in {near.deals:,} deals"
        rows.append(("local best response", wins))
    rows.append(("sampled", plain(why)))
    console().print(plain(repr(held)), markup=False)
    console().print(pairs(rows))


def at_least(bound: LowerBound) -> str:
    """A lower bound in words; a responder that found nothing says so."""
    low, high = bound.result.interval
    mean = bound.result.mean
    if bound.least > 0.0:
        return f"at least {bound.least:.4f}: the responder wins {mean:+.4f}  (95%: {low:+.4f} to {high:+.4f})"
    return f"at least 0: the responder found no gain ({mean:+.4f} \u00b1 {high - mean:.4f})"


def show_sampled(
    held: Blueprint, path: Path, seat: int | None, infoset: str | None, filter: str | None, limit: int, json: bool,
    watch: Watch,
) -> None:  # fmt: skip
    """The decisions that self-play comes to most often."""
    if seat is not None and not 0 <= seat < held.machine.players:
        raise GameError(f"there is no seat {seat}: seats are 0 to {held.machine.players - 1}")
    sample = sample_of(held, path, watch)
    watch.phase("")

    def wanted(each: Decision) -> bool:
        named = infoset is None or each.infoset == infoset
        return named and (seat is None or each.seat == seat) and (filter is None or filter in each.infoset)

    found = [each for each in sample.decisions if wanted(each)]
    by_seat = {s: [each for each in found if each.seat == s] for s in sorted({each.seat for each in found})}
    if not found:
        raise GameError(
            f"{sample.deals:,} deals of self-play came to no such infoset; try another --filter, or train it longer"
        )
    if json:
        print_json(_data(held, path, sample, [each for of in by_seat.values() for each in of[: limit or None]]))
        return
    page = console()
    page.print(f"{held!r}", markup=False)
    page.print(
        f"{len(sample.decisions):,} infosets came up in {sample.deals:,} deals of self-play; reach and values are of "
        "these deals, and '-' is an action that was never taken.",
        markup=False,
    )
    for s, decisions in by_seat.items():
        page.print(f"\nSeat {s}", style="bold")
        for each in decisions[: limit or None]:
            page.print(f"{each.infoset}   reach {100 * sample.reach(each):.2f}%", markup=False, highlight=False)
            for action, p, value in zip(each.actions, each.probabilities, each.values, strict=True):
                worth = "-" if value is None else f"{value:+.3f}"
                page.print(f"    {action:<12} {100 * p:6.2f}%  {worth}", markup=False, highlight=False)
        if limit and len(decisions) > limit:
            page.print(f"... and {len(decisions) - limit:,} more: --limit 0 for all", markup=False)


def _data(held: Blueprint, path: Path, sample: Sample, decisions: list[Decision]) -> dict[str, Any]:
    return {
        "blueprint": str(path), "game": held.machine.spec, "sampled": True, "deals": sample.deals,
        "infosets": [
            {
                "seat": each.seat, "infoset": each.infoset, "reach": sample.reach(each),
                "actions": dict(zip(each.actions, each.probabilities, strict=True)),
                "values": dict(zip(each.actions, each.values, strict=True)),
            }
            for each in decisions
        ],
    }  # fmt: skip
