"""kibitz poker: what only poker has."""

from __future__ import annotations

import typer

from kibitz.cli.cards import cards
from kibitz.cli.common import CommandGroup
from kibitz.cli.flops import flops
from kibitz.cli.nolimit import respond, sizes
from kibitz.cli.phases import phases
from kibitz.cli.preflop import preflop
from kibitz.cli.pushfold import icm, pushfold
from kibitz.cli.spot import spot
from kibitz.cli.tournament import tournament

poker = typer.Typer(name="poker", cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None)
poker.add_typer(cards)
for command in (spot, preflop, flops, respond, sizes, icm, pushfold, tournament, phases):
    poker.command(command.__name__)(command)


@poker.callback()
def about() -> None:
    """Solve spots and ranges; compute equities, push/fold charts, tournaments and responses.

    Poker games are solved, trained, evaluated and played by the same commands as other games: kibitz solve leduc. Here
    are the commands that only poker has.

    \b
    Examples:
      kibitz poker cards equity AhKd QsQc
      kibitz poker icm --stacks 10,7,13 --prizes 50,30,20
      kibitz poker pushfold --stacks 10,10
    """
