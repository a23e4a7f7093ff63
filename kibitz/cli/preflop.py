"""kibitz poker preflop: which hands to open, call and raise with before the flop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_artefact, check_file, console, print_json, print_table
from kibitz.cli.options import Device, Iterations, Seconds, Seed, Threads, argument, flag, number, option
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.preflop.solution import PreflopNode, PreflopSolution
    from kibitz.poker.preflop.solving import PreflopProgress

SHOWN = 12  # other decisions in a list
RARE = 0.0005  # a decision that is reached less often is not listed
SELDOM = 0.005  # an action that is taken less often has no grid


def preflop(
    saved: Annotated[Path | None, argument("[DIR]", "A solution that --save wrote; or give --stacks.")] = None,
    stacks: Annotated[
        str | None, option("--stacks", "A,B,C", "In big blinds: one number for two players, or one for each.")
    ] = None,
    blinds: Annotated[str | None, option("--blinds", "S/B", "Blinds, if stacks are in chips. Default: 0.5/1.")] = None,
    ante: Annotated[str | None, option("--ante", "CHIPS", "What each player pays before the cards.")] = None,
    opens: Annotated[
        str | None, option("--opens", "SIZES", "First raises: '2.5bb', '75%', allin. Default: 2.5bb, allin.")
    ] = None,
    threebets: Annotated[
        str | None, option("--threebets", "SIZES", "Raises of those: '3x', '9bb'. Default: 3x, allin.")
    ] = None,
    fourbets: Annotated[
        str | None, option("--fourbets", "SIZES", "Raises of those. Default: 2.3x, allin. Later ones are all in.")
    ] = None,
    no_limps: Annotated[bool, flag("--no-limps", "Nobody calls before somebody has raised.")] = False,
    postflop: Annotated[
        str | None, option("--postflop", "WHAT", "buckets (default), or none: hands are shown down without more bets.")
    ] = None,
    bets: Annotated[str | None, option("--bets", "SIZES", "Bets after the flop. Default: 50%, allin.")] = None,
    raises: Annotated[str | None, option("--raises", "SIZES", "Raises after the flop. Default: 60%, allin.")] = None,
    max_raises: Annotated[
        str | None, option("--max-raises", "N", "Bets and raises on a street after the flop. Default: 2.")
    ] = None,
    force_allin: Annotated[
        str | None, option("--force-allin", "SHARE", "A bet is all in if a call leaves less of the pot. Default: 15%.")
    ] = None,
    abstraction: Annotated[
        str | None, option("--abstraction", "NAME", "Buckets: 'percentile([169, 50, 50, 50], recall=false)'.")
    ] = None,
    target: Annotated[
        str | None,
        option("--target", "SHARE", "--postflop none: stop once both gain no more of a big blind. Default: 0.02%."),
    ] = None,
    seconds: Seconds = None,
    iterations: Iterations = None,
    runs: Annotated[int, number("--runs", "N", "Runs of training, 1 or 2: two show how much is chance.")] = 2,
    deals: Annotated[
        int | None, number("--deals", "N", "Measure a sampled answer on so many. Default: 200000.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "cpu",
    at: Annotated[str, option("--at", "LINE", "The decision to show: 'raise 2.5, raise 7.5'.")] = "",
    detail: Annotated[
        str | None, option("--detail", "RANGE", "Show what each action of these hands wins: 'AA, K2s'.")
    ] = None,
    out: Annotated[
        Path | None, option("--out", "FILE", "Draw grids of all decisions, or of --at: .png, .svg, .pdf.")
    ] = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write strategies and values of all hands.")] = None,
    save: Annotated[Path | None, option("--save", "DIR", "Save the solution; DIR as argument shows it again.")] = None,
    estimate: Annotated[bool, flag("--estimate", "Print size and memory, and do not solve.")] = False,
    json: Json = False,
) -> None:
    """Solve play before the flop: which hands to open, call and raise with.

    Players act in the order of --stacks: with two the small blind, who has the button, then the big blind. After the
    flop there are a few bet sizes and buckets of hands (--postflop buckets), trained by sampling for --seconds; or no
    betting at all (--postflop none), which is solved over all cards for two players. The command prints grids of 13 x
    13 hands, values in big blinds, ranges as text for `kibitz poker spot`, and what is known about the answer.

    \b
    Examples:
      kibitz poker preflop --stacks 10 --postflop none --no-limps --opens allin
      kibitz poker preflop --stacks 20 --seconds 300 --save hu20.preflop
      kibitz poker preflop --stacks 100 --bets 75% --raises 60% --max-raises 1 \\
          --estimate
      kibitz poker preflop --stacks 15,15,15 --postflop none --seconds 2 \\
          --deals 2000 --runs 1 --at 'fold, call'
    """
    from kibitz.report.ranges import ENDINGS

    check_file(out, "--out", ENDINGS)
    check_file(csv, "--csv", (".csv",))
    check_artefact(save, "--save", "preflop")
    if detail is not None:
        from kibitz.cards.ranges import parse_items

        parse_items(detail)  # before the work
    options: dict[str, Any] = {
        "stacks": stacks, "blinds": blinds, "ante": ante, "opens": opens, "threebets": threebets, "fourbets": fourbets,
        "postflop": postflop, "bets": bets, "raises": raises, "max_raises": max_raises, "force_allin": force_allin,
        "abstraction": abstraction, "limps": False if no_limps else None,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    with Watch(not json) as watch:
        if saved is not None:
            if options:
                raise GameError(f"{saved} is solved: leave --{next(iter(options)).replace('_', '-')} out")
            from kibitz.poker.preflop.tables import load_preflop

            solution = load_preflop(saved)
        else:
            from kibitz.poker.preflop.question import preflop as question_of
            from kibitz.poker.preflop.solving import DEALS, solve_preflop
            from kibitz.poker.spots.reading import share_of

            if stacks is None:
                raise GameError("give --stacks in big blinds, such as --stacks 20, or a saved solution")
            until = None if target is None else share_of("--target", target)
            question = question_of(**options)
            if estimate:
                _print_size(question, json)
                return
            nodes_at(question, at)
            watch.phase("solving")
            solution = solve_preflop(
                question, until=until, iterations=iterations, seconds=seconds, deals=deals or DEALS,
                seeds=range(seed, seed + runs), threads=threads, device=device,
                on_progress=lambda now: watch.phase(_said(now)),
            )  # fmt: skip
    node = solution.at(at)
    if save is not None:
        from kibitz.poker.preflop.tables import save_preflop

        save_preflop(solution, save)
    if csv is not None:
        from kibitz.core.store import write_text
        from kibitz.poker.preflop.tables import csv_lines

        csv.parent.mkdir(parents=True, exist_ok=True)
        write_text(csv, "".join(csv_lines(solution)))
    if out is not None:
        from kibitz.report.ranges import draw

        drawn = sorted(solution.decisions, key=lambda each: -each.reach)
        draw([node] if at and node.player else drawn, _heading(solution), out)
    if json:
        from kibitz.poker.preflop.tables import node_data, solution_data

        print_json({**solution_data(solution), "node": node_data(node)})
        return
    _print(solution, node)
    if detail is not None:
        _print_hands(node, detail)
    for path in (out, csv, save):
        if path is not None:
            say(f"written to {path}")


def nodes_at(question: Any, line: str) -> int:
    """The node of a line: a wrong one is refused before the work."""
    from kibitz.poker.preflop.nodes import nodes_of

    return nodes_of(question).at(line)


def _said(now: PreflopProgress) -> str:
    if now.exploitability is not None:
        return f"solving: {now.iterations:,} iterations, exploitability {now.exploitability:.2g} big blinds"
    if now.share is not None:
        return f"measuring on fresh deals: {100 * now.share:.0f}%"
    return f"{now.phase}: {now.iterations:,} iterations" if now.iterations else now.phase


def _print_size(question: Any, json: bool) -> None:
    from dataclasses import asdict

    from kibitz.poker.preflop.sampled import size_of

    if question.is_exact:
        data = {"nodes": len(question.betting), "exact": True}
        text = f"{len(question.betting):,} betting nodes; all cards are counted, which takes seconds"
    else:
        size = size_of(question)
        data = {**asdict(size), "exact": False}
        text = (f"{size.nodes:,} betting nodes, {size.before:,} decisions before the flop; {size.rows:,} rows of "
                f"the abstract game; about {size.bytes / 1e6:,.0f} MB. Training takes as long as --seconds says."
                )  # fmt: skip
    if json:
        print_json(data)
    else:
        typer.echo(text)


def _heading(solution: PreflopSolution) -> str:
    question = solution.question
    stacks = ", ".join(f"{name} {stack:g}" for name, stack in zip(question.names, question.stacks, strict=True))
    ante = f", antes {question.ante:g}" if question.ante else ""
    after = "no betting after the flop" if question.postflop == "none" else "buckets after the flop"
    return f"{stacks}; blinds {question.blinds[0]:g}/{question.blinds[1]:g}{ante}; {after}"


def _print(solution: PreflopSolution, node: PreflopNode) -> None:
    from kibitz.report.text import duration

    question, trust = solution.question, solution.trust
    typer.echo(_heading(solution))
    typer.echo(f"{solution.iterations:,} iterations in {duration(solution.seconds)}\n")
    errors = (0.0,) * question.players if trust is None else trust.gain_errors
    cells = [(name, _with_error(value, error, True), _with_error(gain, more, False))
             for name, value, error, gain, more in zip(question.names, solution.values, solution.value_errors,
                                                       solution.gains, errors, strict=True)]  # fmt: skip
    gains = "can still gain" if trust is None else "gains preflop"
    print_table(("player", "wins, bb", gains), cells)
    console().print(solution.knowledge)
    _print_node(node)
    others = [each for each in solution.decisions if each.node != node.node and each.reach >= RARE]
    if others:
        typer.echo("\nOther decisions, the most frequent first (--at LINE):")
    for each in sorted(others, key=lambda each: -each.reach)[:SHOWN]:
        pairs = zip(each.actions, each.frequencies, strict=True)
        does = ", ".join(f"{action} {_share(share)}" for action, share in pairs)
        console().print(f"  {each.line or '(the first)'}: {each.player}, reached {_share(each.reach)}: {does}")


def _print_node(node: PreflopNode) -> None:
    line = f"After {node.line}" if node.line else "First"
    typer.echo(f"\n{line}: pot {node.pot:g}, reached {_share(node.reach)} of the time")
    if node.player is None:
        _print_end(node)
        return
    typer.echo(f"{node.player} to act:")
    print_table(("action", "how often", "wins, bb"),
                [(action, _share(share), _with_error(mean, None, True)) for action, share, mean in
                 zip(node.actions, node.frequencies, node.means, strict=True)])  # fmt: skip
    for k, action in enumerate(node.actions):
        if action != "fold" and node.frequencies[k] >= SELDOM:
            _print_grid(node, k)
            console().print(f"  {action}: {node.action_range(action)}")


def _print_grid(node: PreflopNode, k: int) -> None:
    from kibitz.cards.deck import RANKS
    from kibitz.poker.tournaments.ranges import grid

    own = node.solution.reaches[node.node, node.turn]
    typer.echo(f"\nHow often {node.player} plays {node.actions[k]}, in percent; a dot: the hand does not come here.")
    typer.echo("   " + "".join(f"{rank:>4}" for rank in RANKS[::-1]))
    for rank, row in zip(RANKS[::-1], grid(), strict=True):
        cells = ("   ." if own[hand] < 1e-6 else f"{100 * node.strategy[k, hand]:4.0f}" for hand in row)
        typer.echo(f"  {rank}" + "".join(cells))


def _print_end(node: PreflopNode) -> None:
    seats = node.seats_inside
    if len(seats) == 1:
        typer.echo(f"{node.question.names[seats[0]]} wins the pot.")
        return
    typer.echo("The flop comes." if node.is_flop else "All cards come, and hands are shown down.")
    for seat in seats:
        console().print(f"\n{node.question.names[seat]}: {node.range(seat)}")
    if node.is_flop and len(seats) == 2:
        typer.echo("\nSolve a flop with these ranges:\n"
                   f"  kibitz poker spot --board 'Qs Jh 2h' --pot {node.pot:g} --stacks {min(node.behind):g} "
                   f"--chip {node.question.unit:g} \\\n"
                   f"    --ranges '{node.range(seats[0])}' '{node.range(seats[1])}'")  # fmt: skip


def _print_hands(node: PreflopNode, text: str) -> None:
    from kibitz.cards.holdem import class_names
    from kibitz.cards.ranges import parse_range
    from kibitz.cards.recipes import class_of
    from kibitz.poker.preflop.tables import class_rows

    if node.player is None:
        return
    wanted = {class_names()[k] for k in class_of()[parse_range(text).weights > 0].tolist()}
    rows = [row for row in class_rows(node) if row["hand"] in wanted]
    typer.echo("")
    print_table(("hand", *node.actions), [
        (row["hand"], *(f"{_share(cell['share'])} ({_with_error(cell['value'], cell['error'], True)})"
                        for cell in row["actions"].values())) for row in rows])  # fmt: skip
    typer.echo("In brackets: what the action wins from here on, in big blinds; a fold wins 0.")


def _with_error(value: float | None, error: float | None, signed: bool) -> str:
    if value is None or value != value:
        return "-"
    value = 0.0 if abs(value) < 1e-12 else value
    text = f"{value:+.3f}" if signed else f"{value:.3f}" if abs(value) >= 0.0005 else f"{value:.1g}"
    return text if not error else f"{text} ± {error:.3f}"


def _share(number: float) -> str:
    return f"{100 * number:.1f}%"
