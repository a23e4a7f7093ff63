"""kibitz demo: a first look, from a game to a strategy, in under two minutes."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import check_artefact, check_file, console, has_bars, tree_of_text
from kibitz.cli.watch import Watch

GAP = 1e-4


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory of the plot and the profile.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Solve Leduc hold'em and show the strategy.

    The game is solved by CFR+ and compared with its exact value; a part of the strategy is printed, and the gap over
    time is plotted. This takes seconds. The very first run also compiles, for about a minute.

    \b
    Example:
      kibitz demo --out /tmp/demo
    """
    from kibitz.cli.solve import compiled
    from kibitz.report.plot import convergence
    from kibitz.report.strategy import Row, print_strategy
    from kibitz.report.text import duration, gap, pairs, signed
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
        profile = carry_out(SolveRequest(tree, "cfr+", until=GAP), state)
        if state.interrupted:
            raise KeyboardInterrupt
        watch.phase("solving leduc exactly, by linear programming")
        exact = solve_through(tree, "lp").meta["value"][0]
    last = profile.history[-1]
    profile.save(profile_path)
    convergence(profile.history, plot_path, "leduc", "cfr+", GAP, exact)
    counts = f"{tree.histories:,} histories, {len(tree.infosets.labels):,} infosets"
    page.print(
        pairs(
            [
                ("game", f"{counts}; ready after {duration(ready)}"),
                ("solved", f"by CFR+, {last.iteration:,} iterations in {duration(profile.seconds)}"),
                ("NashConv", f"{gap(last.nash_conv)} chips: what best responses gain, both seats together"),
                ("value", f"{signed(last.value[0])} chips a hand for seat 0"),
                ("exact value", f"{signed(exact)}, by linear programming"),
            ]
        )
    )
    rows = [Row(label, profile[seat, label]) for seat, label in [(0, "Js:"), (0, "Qs:"), (0, "Ks:")]]
    page.print("\nThe first move, by seat 0's card (s is spades):")
    print_strategy(page, rows, has_bars(page))
    rows = [Row(label, profile[1, label]) for label in ("Js:r", "Qs:r", "Ks:r")]
    page.print("\nThe answer of seat 1 to a raise, by its card:")
    print_strategy(page, rows, has_bars(page))
    typer.echo(f"\nSaved:\n  {plot_path}: NashConv over time\n  {profile_path}: the strategy\n\nTry next:")
    for command in (
        f"kibitz show {shlex.quote(str(profile_path))} --seat 0 --filter Ks",
        f"kibitz evaluate {shlex.quote(str(profile_path))}",
        "kibitz serve",
        "kibitz solve 'leduc(players=3, ranks=4)' --seconds 30",
        "kibitz games",
    ):
        typer.echo(f"  {command}")
