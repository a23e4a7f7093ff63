"""What kind of thing something is, without importing what it would be: poker takes a twentieth of a second to import.

A thing can only be of a class whose module has been imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from kibitz.form import Form, PokerForm
    from kibitz.form.poker.infosets import PokerInfosets
    from kibitz.games.poker.rules import Poker


def _is(thing: Any, module: str, name: str) -> bool:
    return module in sys.modules and isinstance(thing, getattr(sys.modules[module], name))


def is_poker(game: Any) -> TypeGuard[Poker]:
    """Whether a game has a poker form: poker by a definition, for two, with hands of one card or two."""
    return _is(game, "kibitz.games.poker.rules", "Poker") and game.players == 2 and game.definition.hole <= 2


def is_poker_form(form: Any) -> TypeGuard[PokerForm]:
    return _is(form, "kibitz.form.poker.form", "PokerForm")


def is_poker_infosets(infosets: Any) -> TypeGuard[PokerInfosets]:
    return _is(infosets, "kibitz.form.poker.infosets", "PokerInfosets")


def is_form(thing: Any) -> TypeGuard[Form]:
    return _is(thing, "kibitz.form.sequence", "SequenceForm") or is_poker_form(thing)
