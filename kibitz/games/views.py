"""What a seat knows, in the words of its game: all that an agent gets to see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kibitz.games.protocol import Action, Game


@dataclass(frozen=True)
class View:
    """What a seat knows when it is to move, or at the end of a hand: nothing that others hold and have not shown."""

    seat: int
    private: tuple[str, ...]  # what it alone knows, such as its cards
    public: tuple[str, ...]  # what all know: what was said, played and turned, in order
    actions: tuple[str, ...] = ()  # what it may do
    infoset: str = ""  # the infoset, as saved strategies name it
    choices: tuple[Action, ...] = field(default=(), repr=False)  # the actions as the rules have them


def view_of(rules: Game, state: Any, seat: int) -> View:
    """What a seat knows.

    A game may have a method `view(state, seat)` that gives (private words, public words). Without one an infoset is
    all private, and at the end of a hand nothing is known but the payoff.
    """
    turn = rules.turn(state)
    actions: tuple[Action, ...] = tuple(rules.actions(state)) if turn == seat else ()
    infoset = str(rules.infoset(state)) if turn == seat else ""
    own = getattr(rules, "view", None)
    private, public = own(state, seat) if own is not None else ((infoset,) if infoset else (), ())
    return View(seat, tuple(private), tuple(public), tuple(map(str, actions)), infoset, actions)
