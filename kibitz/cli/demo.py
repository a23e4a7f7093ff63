"""kibitz demo: from a game to a strategy, in under two minutes."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import check_artefact, check_file, console, has_bars, print_pairs, tree_of_text
from kibitz.cli.options import option
from kibitz.cli.watch import Watch

NASH_CONV = 1e-4
FOLDER = Path("runs/demo")


def demo(out: Annotated[Path, option("--out", "DIR", "Directory of the plot and the profile.")] = FOLDER) -> None:
    """Solve Leduc hold'em and show the strategy.

    It solves the game by CFR+, compares the value with the exact one, prints a part of the strategy, and plots NashConv
    over time. This takes seconds. The very first run also compiles, for about a minute.

    \b
    Example:
      kibitz demo --out /tmp/demo
    """
    from kibitz.cli.solve import compiled
    from kibitz.report.plot import convergence
    from kibitz.report.strategy import InfosetRow, print_strategy
    from kibitz.report.text import duration, gap, signed
    from kibitz.solvers.progress import RunState
    from kibitz.solvers.run import SolveRequest, carry_out, solve_through

    profile_path, plot_path = out / "leduc.profile", out / "leduc.png"
    check_artefact(profile_path, "--out", "profile")
    check_file(plot_path, "--out", (".png",))
    page = console()
    typer.echo("Leduc hold'em: six cards of three ranks; a card each, a bet, a card on the board, and a bet again.")
    typer.echo("(The first run compiles the solvers: up to a minute, once.)")
    state, began = RunState(), time.perf_counter()
    with Watch() as watch:
        compiled("cfr+", watch)
        tree = tree_of_text("leduc", watch)
        ready = time.perf_counter() - began
        watch.solving("solving leduc by cfr+", state)
        profile = carry_out(SolveRequest(tree, "cfr+", until=NASH_CONV), state)
        if state.interrupted:
            raise KeyboardInterrupt
        watch.phase("solving leduc exactly, by linear programming")
        exact = solve_through(tree, "lp").meta["value"][0]
    last = profile.history[-1]
    profile.save(profile_path)
    convergence(profile.history, plot_path, "leduc", "cfr+", NASH_CONV, exact)
    counts = f"{tree.histories:,} histories, {len(tree.infosets.labels):,} infosets"
    print_pairs([
        ("game", f"{counts}; ready after {duration(ready)}"),
        ("solved", f"by CFR+, {last.iteration:,} iterations in {duration(profile.seconds)}"),
        ("NashConv", f"{gap(last.nash_conv)} chips: what best responses gain, both players together"),
        ("value", f"{signed(last.value[0])} chips a hand for player 0"),
        ("exact value", f"{signed(exact)}, by linear programming"),
    ])  # fmt: skip
    for title, player, labels in (
        ("The first move, by the card of player 0 (s is spades):", 0, ("Js:", "Qs:", "Ks:")),
        ("The answer of player 1 to a raise, by its card:", 1, ("Js:r", "Qs:r", "Ks:r")),
    ):
        page.print(f"\n{title}")
        print_strategy(page, [InfosetRow(label, profile[player, label]) for label in labels], has_bars(page))
    typer.echo(f"\nSaved:\n  {plot_path}: NashConv over time\n  {profile_path}: the strategy\n\nTry next:")
    for command in (
        f"kibitz show {shlex.quote(str(profile_path))} --seat 0 --filter Ks",
        f"kibitz evaluate {shlex.quote(str(profile_path))}",
        "kibitz serve",
        "kibitz solve 'leduc(players=3, ranks=4)' --seconds 30",
        "kibitz games",
    ):
        typer.echo(f"  {command}")
