"""Spots with three players: what `kibitz poker spot` does with three ranges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from kibitz.cli.common import check_artefact, console, print_json, print_table
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.multiway.solution import MultiwayNode, MultiwaySolution
    from kibitz.poker.multiway.solving import MultiwayProgress

FILES = (".toml", ".json", ".txt", ".spot")
NOT_HERE = "with three players leave {} out: a spot for two has it"
SHOWN = 8  # other decisions in a list


class Show(NamedTuple):
    """What a person wants to see, and where it goes."""

    line: str
    detail: str | None
    csv: Path | None
    save: Path | None
    estimate: bool
    json: bool


def third_range(file: Path | None) -> str | None:
    """The third of three ranges: what stands after two of them, where a file may."""
    if file is None or file.exists() or file.suffix.lower() in FILES:
        return None
    return str(file)


def is_solved(file: Path | None) -> bool:
    """Whether a saved solution of a spot with three players is there."""
    from kibitz.core.store import kind_at
    from kibitz.poker.multiway.saved import KIND

    return file is not None and file.is_dir() and kind_at(file) == KIND


def solved_three(file: Path, options: dict[str, Any], show: Show) -> None:
    """Print a saved solution. options: none may be there."""
    from kibitz.poker.multiway.saved import load_multiway

    for name, value in options.items():
        if value:
            raise GameError(f"{file} is solved: leave --{name.replace('_', '-')} out")
    check_artefact(show.save, "--save", "multiway")
    with Watch(not show.json) as watch:
        solution = load_multiway(file)
        watch.phase("measuring")
        node = solution.at(show.line)
        _ = node.street.measure
    _answer(solution, node, show)


def solve_three(options: dict[str, Any], limits: dict[str, Any], others: dict[str, Any], show: Show) -> None:
    """Solve and print a spot with three players. others: options that are for two players alone."""
    from kibitz.poker.multiway.machine import size_of
    from kibitz.poker.multiway.question import OPTIONS, multiway

    known = ("board", "ranges", "pot", "stacks", "bets", "raises", *OPTIONS)
    wrong = [name for name, value in {**options, **others}.items() if name not in known and value]
    if wrong:
        raise GameError(NOT_HERE.format(f"--{wrong[0].replace('_', '-')}"))
    for name in ("board", "pot", "stacks"):
        if name not in options:
            raise GameError(f"give --{name}")
    check_artefact(show.save, "--save", "multiway")
    question = multiway(**options)
    size = size_of(question)
    if show.estimate:
        data = {"nodes": size.nodes, "rows": size.rows, "bytes": size.bytes}
        text = (f"{size.nodes:,} betting nodes, {size.rows:,} decisions of hands on boards at most; about "
                f"{size.bytes / 1e6:,.0f} MB. Training takes as long as --seconds says.")  # fmt: skip
        print_json(data) if show.json else typer.echo(text)
        return
    from kibitz.poker.multiway.locks import Locks
    from kibitz.poker.multiway.solution import check_line
    from kibitz.poker.multiway.solving import solve_multiway

    check_line(question, show.line)  # before the work
    Locks(question, limits["locks"])
    with Watch(not show.json) as watch:
        solution = solve_multiway(question, **limits, on_progress=lambda now: watch.phase(_said(now)))
        watch.phase("measuring")
        node = solution.at(show.line)
        _ = node.street.measure
    _answer(solution, node, show)
    if limits["locks"] and not show.json:
        typer.echo("\nWhat a player could gain counts other play where it is locked too.")


def _answer(solution: MultiwaySolution, node: MultiwayNode, show: Show) -> None:
    if show.save is not None:
        from kibitz.poker.multiway.saved import save_multiway

        save_multiway(solution, show.save)
    if show.csv is not None:
        from kibitz.core.store import write_text

        show.csv.parent.mkdir(parents=True, exist_ok=True)
        write_text(show.csv, "".join(solution.csv_lines(show.line or None)))
    if show.json:
        print_json({**solution.data(), "node": node.data()})
        return
    _print(solution, node)
    if show.detail is not None and node.player is not None:
        _print_hands(node, show.detail)
    for path in (show.csv, show.save):
        if path is not None:
            say(f"written to {path}")


def _said(now: MultiwayProgress) -> str:
    return f"{now.phase}: {now.iterations:,} iterations" if now.iterations else now.phase


def _print(solution: MultiwaySolution, node: MultiwayNode) -> None:
    from kibitz.cards.deck import names
    from kibitz.report.text import duration

    question = solution.question
    holds = ", ".join(f"{name} has {len(question.hands(seat)):,} hands and {question.stacks[seat]:g} behind"
                      for seat, name in enumerate(question.names))  # fmt: skip
    console().print(f"{names(question.board)}: pot {question.pot:g}; {holds}")
    typer.echo(f"{solution.iterations:,} iterations of external sampling, {solution.rows:,} rows, in "
               f"{duration(solution.seconds)}\n")  # fmt: skip
    print_table(("player", "wins, chips", "can still gain" if solution.exact else "a responder gains"),
                [(name, _with_error(value, error), _with_error(gain, more)) for name, value, error, gain, more in
                 zip(question.names, solution.values, solution.value_errors, solution.gains, solution.gain_errors,
                     strict=True)])  # fmt: skip
    console().print(solution.knowledge)
    line = f"After {node.line}" if node.line else "First"
    board = f", board {names(node.board)}" if node.street.line else ""
    console().print(f"\n{line}: pot {node.pot:g}{board}, reached {100 * node.reach:.3g}% of the time")
    if node.player is None:
        typer.echo("The hand is over here." if node.is_over else "A card comes here: name it in --at.")
        return
    if node.reach == 0:
        typer.echo("The strategies never come here.")
        return
    if node.street.line:
        console().print(node.knowledge)
    typer.echo(f"{node.player} to act:")
    print_table(("action", "how often", "wins, chips"),
                [(action, _share(share), "-" if mean != mean else f"{mean:.2f}") for action, share, mean in
                 zip(node.actions, node.frequencies, node.means, strict=True)])  # fmt: skip
    _print_grid(node)
    street = solution.street_of(node)
    others = sorted((each for each in street if each.node != node.node), key=lambda each: -each.reach)
    if others:
        typer.echo("\nOther decisions of this street, the most frequent first (--at LINE):")
    for each in others[:SHOWN]:
        does = ", ".join(f"{a} {_share(share)}" for a, share in zip(each.actions, each.frequencies, strict=True))
        console().print(f"  {each.line or '(the first)'}: {each.player}, reached {100 * each.reach:.3g}%: {does}")


def _print_grid(node: MultiwayNode) -> None:
    """How often each class of hands bets or raises, or calls where it cannot."""
    import numpy as np

    from kibitz.cards.deck import RANKS
    from kibitz.poker.spots.tables import grid_of_hands

    active = [k for k, action in enumerate(node.actions) if " " in action]
    word = "bets or raises"
    if not active:
        active, word = [len(node.actions) - 1], f"{node.actions[-1]}s"
    weights, cell = node.weights(node.turn), grid_of_hands()[0]
    total = np.bincount(cell, weights, 169)
    plays = np.bincount(cell, weights * node.strategy[active].sum(axis=0), 169)
    typer.echo(f"\nHow often {node.player} {word} with a hand, in percent: suited hands above the\n"
               "pairs, offsuit hands below; a dot is a hand that it does not hold.\n")  # fmt: skip
    typer.echo("   " + "".join(f"{rank:>4}" for rank in RANKS[::-1]))
    for y, rank in enumerate(RANKS[::-1]):
        cells = range(13 * y, 13 * y + 13)
        shares = ("   ." if total[k] <= 0 else f"{100 * plays[k] / total[k]:4.0f}" for k in cells)
        typer.echo(f"  {rank}" + "".join(shares))


def _print_hands(node: MultiwayNode, text: str) -> None:
    from kibitz.cards.ranges import parse_range
    from kibitz.poker.spots.tables import hand_names

    wanted = {name for name, weight in zip(hand_names(), parse_range(text).weights, strict=True) if weight > 0}
    rows = [row for row in node.rows() if row["hand"] in wanted]
    typer.echo("")
    print_table(("hand", *node.actions), [
        (row["hand"], *(f"{_share(cell['share'])} ({_with_error(cell['value'], cell['error'])})"
                        for cell in row["actions"].values())) for row in rows])  # fmt: skip
    typer.echo("In brackets: what the action wins from here on, in chips.")


def _with_error(value: float | None, error: float | None) -> str:
    if value is None or value != value:
        return "-"
    value = 0.0 if abs(value) < 1e-9 else value
    return f"{value:.2f} ± {error:.2f}" if error else f"{value:.2f}"


def _share(number: float) -> str:
    return f"{100 * number:.1f}%"
