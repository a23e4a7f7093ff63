"""What solvers see of a game: treeplexes, rows, and a payoff operator."""

from __future__ import annotations

from typing import TypeAlias

from kibitz.form.poker import PokerForm
from kibitz.form.sequence import SequenceForm

__all__ = ["Form", "PokerForm", "SequenceForm"]

Form: TypeAlias = SequenceForm | PokerForm
