"""What rules give, held to what they may give: numbers that are numbers, lists that are lists, states that stay.

A game whose `after` changes the state it is given, instead of returning a new one, looks like a game to whoever walks
it once: histories simply come out wrong. So a walk asks some of its questions twice (`Recheck`).
"""

from __future__ import annotations

import numbers
from array import array
from collections.abc import Sequence
from typing import Any

from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game

# Payoffs beyond these sizes overflow or vanish in products with probabilities, and in squares.
MOST_PAYOFF, LEAST_PAYOFF = 1e100, 1e-100
MOST_ACTIONS = 1 << 20  # of one history
_NO_LISTS = (str, bytes, bytearray, dict, set, frozenset)


def real_numbers(values: Any, what: object) -> list[float]:
    """Numbers out of a list, a tuple or an array of them; an error says `what` anything else should have been."""
    if isinstance(values, _NO_LISTS) or not (isinstance(values, Sequence | array) or hasattr(values, "__array__")):
        raise GameError(f"{what} is {_short(values)}: it must be a list with a number for each seat")
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) != 1:
        raise GameError(f"{what} is an array of shape {shape}: it must be a list with a number for each seat")
    return [real_number(value, what) for value in values]


def real_number(value: Any, what: object) -> float:
    """A finite number as a float: whole numbers, floats, fractions and decimals, Python's or NumPy's."""
    real = isinstance(value, numbers.Real) or (hasattr(value, "as_tuple") and hasattr(value, "__float__"))  # Decimal
    if not real or getattr(value, "shape", ()) != ():
        raise GameError(f"{what} contains {_short(value)}: each entry must be a real number")
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError) as error:
        raise GameError(f"{what} contains {_short(value)}, which cannot be used as a number: {error}") from None


def action_list(answer: Any, what: object) -> tuple[Action, ...]:
    """Actions out of what `actions` gave, if it has an order and is no text."""
    if isinstance(answer, str | bytes | set | frozenset):
        kind = "a text, which would be read letter by letter" if isinstance(answer, str | bytes) else \
               "a set, which has no order"  # fmt: skip
        raise GameError(f"{what} is {_short(answer)}, {kind}: it must be a list of actions")
    try:
        return tuple(answer)
    except TypeError:
        raise GameError(f"{what} is {_short(answer)}: it must be a list of actions") from None


def outcome_list(answer: Any, what: object) -> list[tuple[Action, float]]:
    """Pairs (outcome, probability) out of what `chance` gave."""
    if isinstance(answer, _NO_LISTS):
        hint = "; of a dict give items()" if isinstance(answer, dict) else ""
        raise GameError(f"{what} is {_short(answer)}: it must be a list of pairs (outcome, probability){hint}")
    try:
        pairs = [(outcome, p) for outcome, p in answer]
    except (TypeError, ValueError) as error:
        raise GameError(f"{what} is {_short(answer)}: it must be pairs (outcome, probability) ({error})") from None
    if len(pairs) > MOST_ACTIONS:
        raise GameError(f"{what} has {len(pairs):,} outcomes, and the limit is {MOST_ACTIONS:,}")
    return [(outcome, p if p.__class__ is float else real_number(p, what)) for outcome, p in pairs]


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a repr of a user's own, or of a number with too many digits
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:76]} ..."


class Recheck:
    """Asks rules the same question again: of a state after `after` was given it, of a history from the root on."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.asked = 0  # answers so far, each action of a list counted

    def affordable(self, node: int) -> bool:
        """Whether to ask at this history: a game with long lists of actions is asked less often."""
        return self.asked <= 20_000 + node

    def state(self, state: Any, turn: int, moves: Sequence[Any], key: Any, action: Any) -> str:
        """What a state answers otherwise than before `after(state, action)`; empty if nothing."""
        game = self.game
        self.asked += 3 + len(moves)
        try:
            now = game.turn(state)
            if now != turn:
                return f"turn was {turn} and is {_short(now)} after {action!r} was played"
            if turn == CHANCE:
                if [(a, float(p)) for a, p in game.chance(state)] != list(moves):
                    return f"chance is another once {action!r} has come"
                return ""
            if tuple(game.actions(state)) != tuple(moves):
                return f"actions were {_short(list(moves))} and are {_short(game.actions(state))} after {action!r}"
            again = game.infoset(state)
            if again != key:
                return f"infoset was {_short(key)} and is {_short(again)} after {action!r} was played"
        except Exception as error:  # what could be answered before
            return f"it could answer before {action!r} was played, and now there is {type(error).__name__}: {error}"
        return ""

    def history(self, steps: Sequence[int], turns: Sequence[int], payoff: Sequence[float]) -> str:
        """What a history says otherwise when it is played again from the root; empty if nothing."""
        game, state = self.game, self.game.root()
        played: list[str] = []
        try:
            for step, turn in zip(steps, turns, strict=True):
                now = game.turn(state)
                if now != turn:
                    return f"after {_words(played)} turn was {turn} and then {_short(now)}"
                moves = [a for a, _ in game.chance(state)] if turn == CHANCE else list(game.actions(state))
                self.asked += 2 + len(moves)
                played.append(str(moves[step]))
                state = game.after(state, moves[step])
            now, again = game.turn(state), []
            if now == TERMINAL:
                again = [float(x) for x in game.payoff(state)]
        except Exception as error:
            return f"after {_words(played)} there was no error and then {type(error).__name__}: {error}"
        if now != TERMINAL or repr(again) != repr(list(payoff)):  # NaN is not equal to itself
            return f"after {_words(played)} payoff was {list(payoff)} and then {again or 'none, as play goes on'}"
        return ""


def _words(played: list[str]) -> str:
    return " ".join(played if len(played) <= 24 else [*played[:20], "...", played[-1]]) or "the root"


def changed(where: str, what: str) -> GameError:
    """The error for a state that does not stay as it was."""
    return GameError(
        f"the state of {where} does not stay as it is: {what}. `after` must return a new state and leave the one it is "
        "given alone: copy a list before changing it, or use tuples"
    )


def unsteady(what: str) -> GameError:
    """The error for a history that is another the second time."""
    return GameError(
        f"the same history does not give the same twice: {what}. `after` must return a new state and leave the one it "
        "is given, and all that is in it, alone; and rules must not draw at random themselves: chance does that"
    )
