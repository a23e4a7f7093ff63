"""What solvers see of a game: treeplexes, rows, and a payoff operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from kibitz.form.poker.form import PokerForm
    from kibitz.form.sequence import SequenceForm

    Form: TypeAlias = SequenceForm | PokerForm

__all__ = ["Form", "PokerForm", "SequenceForm"]


def __getattr__(name: str) -> Any:
    """Forms are imported when they are asked for."""
    if name == "PokerForm":
        from kibitz.form.poker.form import PokerForm

        return PokerForm
    if name == "SequenceForm":
        from kibitz.form.sequence import SequenceForm

        return SequenceForm
    raise AttributeError(name)
