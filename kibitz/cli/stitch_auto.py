"""kibitz stitch auto: the computer chooses where experts go."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import complete
from kibitz.cli.common import (
    GameText,
    Json,
    check_artefact,
    check_file,
    console,
    named_again,
    print_json,
    print_table,
    rules_of,
    save_or_rescue,
    told_by_line,
)
from kibitz.cli.options import On, Plot, Seed, Solver, counted, number, option
from kibitz.cli.stitch import base_of
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.stitch.auto import Auto, Plan, Round

DEALS = 20_000  # of a match, unless told otherwise
SHOWN = 8  # parts in the table of a plan


def stitch_auto(
    game: GameText,
    base: Annotated[str, option("--base", "BASE", "A saved strategy, or an abstraction to solve one in: JQ.K.")],
    memory: Annotated[
        str | None, option("--memory", "SIZE", "Of one computation, the base's too: 500MB, 4GB. Default: no limit.")
    ] = None,
    max_infosets: Annotated[
        str | None, option("--max-infosets", "N", "The same in infosets, as papers count: 200, 24M.")
    ] = None,
    hours: Annotated[
        float | None, number("--hours", "H", "Stop after this many hours of solving. Default: when nothing helps.")
    ] = None,
    rounds: Annotated[int, number("--rounds", "N", "Plans that are carried out one after another, at most.")] = 8,
    inside: Annotated[
        str | None,
        option("--inside", "ABSTRACTION", "Abstractions of experts to try, divided by ';'. Default: those of the game.",
               complete.abstractions),
    ] = None,
    seats: Annotated[
        str, option("--seats", "SEATS", "S of experts to try: all (S=N), each (S={i}), pairs (|S|=2).")
    ] = "all, each, pairs",
    solver: Solver = "cfr+",
    iterations: Annotated[
        int | None,
        number("--iterations", "N", "Iterations of an expert that is trained. Default: 1000. Of a blueprint: of all."),
    ] = None,
    seconds: Annotated[
        float | None, number("--seconds", "S", "A blueprint as --base: training of all experts of a plan together.")
    ] = None,
    device: Annotated[
        str, option("--device", "DEVICE", "A blueprint, or a profile in buckets of hold'em as --base: cpu or gpu.")
    ] = "cpu",
    flops: Annotated[
        int | None,
        number("--flops", "N", "Hold'em in buckets: choose by every N-th flop, report on all. Default: 16."),
    ] = None,
    pilot: Annotated[
        int | None,
        number("--pilot", "N", "Iterations of the first short run; the second has 4 times as many. Default: 25."),
    ] = None,
    cuts: Annotated[int, number("--cuts", "N", "Parts of the game that are tried in a round.")] = 12,
    judge: Annotated[
        str, option("--judge", "JUDGE", "Judge by: exact (exploitability), or matches against the strategy before.")
    ] = "exact",
    deals: Annotated[
        int | None, number("--deals", "N", "With --judge matches: deals of a match, in all seatings. Default: 20000.")
    ] = None,
    seed: Seed = 0,
    plan: Annotated[bool, typer.Option("--plan", help="Show the first plan, with its prediction, then stop.")] = False,
    out: Annotated[Path | None, option("--out", "DIR", "Save the strategy here, such as auto.profile.")] = None,
    work: Annotated[
        Path | None, option("--work", "DIR", "Keep what was solved here: the same command then continues.")
    ] = None,
    plot: Plot = None,
    on: On = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Let the computer choose where experts go, and stitch them onto a base.

    The search measures where a best response wins against the strategy, by part of the game. It tries experts for the
    parts that lose most, in short runs, and chooses among them by an integer programme within --memory. Parts are first
    actions, private cards and rounds; experts differ in S and in their abstraction. In poker with all hands they have
    buckets of their own if the base has buckets, such as --base 'percentile(4)'. A plan is shown with its predicted
    gain before it is carried out. Then the experts are trained, those that help are kept, and the result is cut again.

    Strategies are judged by their exact exploitability, or by --judge matches: the k-th strategy that is tried must win
    with confidence 1 - 0.05 / (k (k + 1)), and what is reported comes from other deals.

    Limit poker of any size is stitched by sampling: --base is a blueprint of `kibitz train --max-infosets`. A trained
    responder then shows where the strategy loses. All experts of a plan divide --seconds, and short runs take
    a third more. --inside names buckets, or finest/8: an eighth of the infosets of the finest that fit --max-infosets.

    Two-player hold'em that is too large for all hands is stitched in buckets: --base is a profile of `kibitz solve
    --abstraction 'percentile(8)'`, and experts are solved over all boards by --solver dcfr+. Of each part the finest
    list of --inside that fits is tried. Short runs are compared on every fourth of the flops of --flops.

    --plot draws the first plan: the betting tree with the loss, the reach and the infosets of each part.

    \b
    Examples:
      kibitz stitch auto leduc --base JQ.K --max-infosets 226 --plan
      kibitz stitch auto leduc --base base.profile --memory 100KB --hours 0.1 \\
          --rounds 2 --work auto --out auto.profile
      kibitz stitch auto 'liars_dice(dice_sides=3)' --base 'null(without=[1-2])' \\
          --rounds 1 --plot plan.png
      kibitz stitch auto leduc --base JQ.K --max-infosets 226 --rounds 1 \\
          --judge matches --deals 5000
      kibitz stitch auto 'poker(file=holdem.limit.2p, ranks=4, suits=3)' \\
          --base 'percentile(2)' --max-infosets 40k --inside 'percentile(3)' \\
          --seats all --solver dcfr+ --iterations 20 --pilot 5 --cuts 2 --plan
      kibitz train 'poker(file=holdem.limit.3p, ranks=4, raises=1)' \\
          --max-infosets 5k --seconds 1 --out base.blueprint
      kibitz stitch auto 'poker(file=holdem.limit.3p, ranks=4, raises=1)' \\
          --base base.blueprint --max-infosets 5k --seconds 2 --seats all \\
          --judge matches --deals 2000 --rounds 1 --cuts 2 --out auto.blueprint
    """
    from kibitz.play.judging import match_judge
    from kibitz.report.plot import ENDINGS
    from kibitz.solvers.new_blueprints import bytes_of
    from kibitz.stitch.auto import Effort, Limits, search_of

    if judge not in ("exact", "matches"):
        raise SolverError(f"--judge {judge}: choose exact or matches")
    if judge == "exact" and deals is not None:
        raise SolverError("--deals is for --judge matches: leave it out")
    check_file(plot, "--plot", ENDINGS)
    with _by_option(), Watch(not json) as watch:
        start = base_of(base, game, watch)
        trained = not isinstance(start, str) and hasattr(start, "machine")
        check_artefact(out, "--out", "blueprint" if trained else "profile")
        if trained and judge == "exact":
            raise SolverError("--base is a blueprint, and its exploitability is not known: give --judge matches")
        if trained and (seconds is None) == (iterations is None):
            raise SolverError("--base is a blueprint: give the training of all experts of a plan by --seconds 300, or "
                              "by --iterations 1000000")
        if seconds is not None and pilot is not None:
            raise SolverError("short runs take a third of --seconds more: leave --pilot out")
        limits = Limits(
            None if max_infosets is None else counted(max_infosets), None if memory is None else bytes_of(memory),
            None if hours is None else 3600.0 * hours, rounds,
        )  # fmt: skip
        effort = Effort(
            tuple(name.strip() for name in (inside or "").split(";") if name.strip()),
            tuple(name.strip() for name in seats.split(",")), solver, iterations or 1000,
            pilot or max(1, (iterations or 1000) // 12 if trained else 25), cuts, seconds=seconds, device=device,
            flops=flops or 16,
        )  # fmt: skip
        watch.phase(f"building the game {game}, and solving the base" if start is base else f"building the game {game}")
        with told_by_line(game):
            by = None if judge == "exact" else match_judge(deals or DEALS, seed)
            rules = None if trained else rules_of(game)
            search, onto = search_of(rules, start, limits, effort, by, seed, work, watch.phase)
        if flops is not None and not search.effort.sparing:
            raise SolverError("--flops is for a base in buckets of hold'em that is too large for all hands: leave it "
                              "out")  # fmt: skip
        strategy = search.setting.begin(onto)
        first = search.plan(strategy)
        watch.phase("drawing" if plot is not None else "measuring")
        if plot is not None:
            from kibitz.report.plans import plan_plot
            from kibitz.report.plot import save

            save(plan_plot(search.setting, strategy, first), plot)
        data = {"game": search.setting.spec, "base": base, "limits": limits.data(), "effort": search.effort.data(),
                "plan": first.data()}  # fmt: skip
        if not json:
            _print_plan(first)
        result = None
        if not plan:
            try:
                result = search.run(strategy, None if json else _print_round, first)
            except KeyboardInterrupt:
                if work is not None:
                    say(f"stopped; the same command goes on with what is in {work}")
                raise
    if result is not None and out is not None:
        save_or_rescue(result.profile.save, out)
    if json:
        outcome = {} if result is None else {"result": {**result.data(), "sha256": result.profile.sha256}}
        print_json({**data, **outcome, "out": None if result is None or out is None else str(out)})
    elif result is None:
        typer.echo("Nothing was trained: leave out --plan to carry it out.")
    else:
        _print_result(result, search.setting.spec, out, search.setting.players if trained else 0)


@contextmanager
def _by_option() -> Iterator[None]:
    """Messages of the library speak of arguments, seats=x; here they speak of options, --seats x."""
    try:
        yield
    except KibitzError as error:
        names = "seats|memory|rounds|iterations|pilot|cuts|deals|flops|device"
        sentence = re.sub(rf"(?<![\w(,-])({names})=", r"--\1 ", str(error))
        raise type(error)(sentence) from None


def _print_plan(plan: Plan) -> None:
    from kibitz.report.text import duration, gap, percent, size

    whole = max((signal.loss for signal in plan.signals), default=0.0)
    rows = [[s.name, gap(s.loss) + (f" ± {gap(1.96 * s.error)}" if s.error else ""), percent(s.reach),
             f"{s.infosets:,}"] for s in plan.signals[:SHOWN]]  # fmt: skip
    if rows and any(signal.error for signal in plan.signals):
        typer.echo("Parts by what a trained responder wins there per hand, in all seats (95%; parts overlap):")
        print_table(["part", "lost", "reached", "infosets"], rows)
    elif rows and whole > 0.0:
        typer.echo("Parts where best responses win most (parts overlap):")
        print_table(["part", "NashConv lost", "reached", "infosets"], rows)
    if not plan.moves:
        typer.echo("No expert that fits the limits gains anything in a short run.")
        return
    chosen = [[p.move.name, gap(p.gain), f"{p.size.infosets:,}", size(p.size.memory), duration(p.seconds)]
              for p in plan.moves]  # fmt: skip
    typer.echo(f"Plan: {len(plan.moves)} of {len(plan.pilots)} experts that were tried in short runs:")
    print_table(["expert", "gain alone", "infosets", "memory", "time"], chosen)
    typer.echo(f"Predicted gain in {plan.unit}: {gap(plan.predicted)} together, {gap(plan.summed)} one by one; "
               f"about {duration(plan.seconds)} of training.")  # fmt: skip


def _print_round(done: Round) -> None:
    from kibitz.report.text import duration, gap

    said = f"{len(done.kept)} experts kept, {len(done.taken_back)} taken back" if done.kept else "nothing kept"
    loss = "" if done.loss is None else f"; {done.plan.unit} {gap(done.loss)}"
    both = f"predicted {gap(done.plan.predicted)}, achieved {gap(done.achieved)}"
    console().print(f"from {done.line}: {both}, {said}{loss} ({duration(done.seconds)})", markup=False)


def _print_result(result: Auto, game: str, saved: Path | None, players: int) -> None:
    """players: of the game of a blueprint; 0: the strategy is a profile."""
    from kibitz.report.text import duration, gap, pairs

    rows = []
    if result.loss is not None:
        every = result.facts.get("every", 1)
        on = f" on one of {every} flops, by which it was chosen" if every > 1 else ""
        rows.append(("exploitability", f"{gap(result.loss[0])} -> {gap(result.loss[1])}{on}"))
    won = result.facts.get("reported")
    if won is not None and "flops" in won:
        rows.append(("reported", f"{gap(won['base'])} -> {gap(won['exploitability'])} on {won['flops']} flops"))
    elif won is not None:
        low, high = won["interval"]
        rows.append(("winnings", f"{won['mean']:+.4f} per hand from the base (95%: {low:+.4f} to {high:+.4f})"))
    rows.append(("size", f"{result.infosets:,} infosets in the largest computation"))
    rows.append(("time", f"{duration(result.facts['solving'])} of solving"))
    if saved is not None:
        rows.append(("blueprint" if players else "profile", str(saved)))
    console().print(pairs(rows))
    if saved is None:
        typer.echo(f"Not saved: --out NAME.{'blueprint' if players else 'profile'} keeps the strategy.")
    elif players:
        words = " ".join(["match", shlex.quote(str(saved)), *["uniform"] * (players - 1)])
        typer.echo(f"Let it play: kibitz {words}{named_again(game)}")
    else:
        typer.echo(f"Read it: kibitz show {shlex.quote(str(saved))}{named_again(game)}")
