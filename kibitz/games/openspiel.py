"""Games from OpenSpiel, and strategies back to it.

`OpenSpielGame("liars_dice(numdice=1)")` is any OpenSpiel game as a kibitz Game; simultaneous moves become
hidden moves in turn. `align` walks one of our games and an OpenSpiel game side by side and pairs their
infosets; `openspiel_policy` uses the pairs to hand a strategy to OpenSpiel, whose own measures can then judge
it. OpenSpiel is an optional package, and is imported only when it is needed.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kibitz.core import spec as specs
from kibitz.core.errors import GameError, MissingExtra, SpecError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game
from kibitz.games.trial import try_first

# Who moves, in OpenSpiel: a seat, or this for chance; any other number, once moves are in turns, is the end.
SPIEL_CHANCE = -1
# OpenSpiel gives probabilities and payoffs that are rounded: they agree with ours within this.
TOLERANCE = 1e-9
TRIED_MOVES, TRIED_SECONDS = 500, 0.2  # of a game, before it is let into this process
_NO_MOVES: tuple[list[int], dict[Action, int]] = ([], {})


class Position(NamedTuple):
    """A state: OpenSpiel's own, with what a walk will ask of it."""

    state: Any
    turn: int
    infoset: str
    moves: dict[Action, int]  # our action -> OpenSpiel's number, in OpenSpiel's order


def _spelled(name: str) -> str:
    """The one spelling of a load string: parameters by name, no defaults, and no spaces, which OpenSpiel minds."""
    try:
        spec = specs.parse(name)
        known = {kind.short_name: kind.parameter_specification for kind in _pyspiel().registered_games()}[spec.name]
    except (SpecError, KeyError):  # a game within a game, or one that is not registered
        return name
    others = {key: value for key, value in sorted(spec.args.items()) if known.get(key) != value}
    arguments = ",".join(f"{key}={specs.show(value)}" for key, value in others.items())
    return f"{spec.name}({arguments})" if arguments else spec.name


class OpenSpielGame:
    """An OpenSpiel game, given by its load string or as a pyspiel.Game, as a kibitz Game."""

    def __init__(self, game: Any) -> None:
        pyspiel = _pyspiel()
        self.name = game.strip() if isinstance(game, str) else str(game)
        loaded = _load(self.name) if isinstance(game, str) else game
        self.game = _in_turns(loaded, self.name)
        kind = self.game.get_type()
        self._strings = bool(kind.provides_information_state_string)
        if not self._strings and kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
            raise GameError(
                f"OpenSpiel's {self.name} does not say what a player knows (no information state strings), "
                "so its infosets cannot be laid out"
            )
        self.players = int(self.game.num_players())
        # By seat and infoset, the legal actions and their names: naming them is slow.
        self._moves: dict[tuple[int, str], tuple[list[int], dict[Action, int]]] = {}

    def __repr__(self) -> str:
        return f"OpenSpielGame({self.name!r})"

    @property
    def spec(self) -> str:
        return f"openspiel:{_spelled(self.name)}"

    def root(self) -> Position:
        return self._position(_told(self.game.new_initial_state, self.name))

    def _position(self, state: Any) -> Position:
        try:
            return self._seen(state)
        except MemoryError:
            raise
        except Exception as error:  # of OpenSpiel's rules, or of names that are no text
            raise self._failed(state, error) from error

    def _failed(self, state: Any, error: Exception) -> GameError:
        reason = _reason(error) or type(error).__name__
        return GameError(f"the rules of OpenSpiel's {self.name} fail at history {_short(state)}: {reason}")

    def _seen(self, state: Any) -> Position:
        turn = state.current_player()
        if turn >= 0:
            # With perfect information and no string of its own, what a player knows is the history.
            infoset = state.information_state_string(turn) if self._strings else state.history_str()
            legal = state.legal_actions()
            known, moves = self._moves.get((turn, infoset), _NO_MOVES)
            if known != legal:
                moves = _named(state, legal)
                self._moves[turn, infoset] = legal, moves
            return Position(state, turn, infoset, moves)
        if turn == SPIEL_CHANCE:
            moves = _named(state, [number for number, p in state.chance_outcomes() if p > 0])
            return Position(state, CHANCE, "", moves)
        return Position(state, TERMINAL, "", {})

    def turn(self, state: Position) -> int:
        return state.turn

    def actions(self, state: Position) -> tuple[Action, ...]:
        return tuple(state.moves)

    def chance(self, state: Position) -> list[tuple[Action, float]]:
        try:
            chances = [p for _, p in state.state.chance_outcomes() if p > 0]
        except Exception as error:
            raise self._failed(state.state, error) from error
        total = sum(chances)
        if abs(total - 1) > 1e-6:
            raise GameError(f"chance in OpenSpiel's {self.name} sums to {total!r}, not 1, at {_where(state)}")
        return [(name, p / total) for name, p in zip(state.moves, chances, strict=True)]

    def after(self, state: Position, action: Action) -> Position:
        try:
            child = state.state.child(state.moves[action])
        except Exception as error:
            raise self._failed(state.state, error) from error
        return self._position(child)

    def infoset(self, state: Position) -> str:
        return state.infoset

    def payoff(self, state: Position) -> Sequence[float]:
        try:
            returns: list[float] = state.state.returns()
        except Exception as error:
            raise self._failed(state.state, error) from error
        return returns


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ImportError:
        raise MissingExtra(
            "OpenSpiel games need the package open_spiel, which is not installed: pip install 'kibitz[openspiel]'"
        ) from None
    return pyspiel


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep OpenSpiel's C++ from printing to stderr what it also raises."""
    try:
        kept = os.dup(2)
    except OSError:  # no stderr at all
        yield
        return
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _reason(error: BaseException) -> str:
    """OpenSpiel's words in one line, without the list of all its games, and not too many of them."""
    words = "; ".join(str(error).split("Available games are", 1)[0].strip().splitlines())
    return words if len(words) <= 400 else f"{words[:396]} ..."


def _short(state: Any) -> str:
    try:
        text = str(state.history())
    except Exception:
        return "unknown"
    return text if len(text) <= 80 else f"{text[:76]} ..."


def _told(call: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """Call OpenSpiel; what it objects to becomes a SpecError with its reason."""
    try:
        with _quiet():
            return call(*arguments)
    except MemoryError:
        raise SpecError(f"OpenSpiel's {name!r} does not fit into memory: choose smaller parameters") from None
    except Exception as error:
        raise SpecError(f"OpenSpiel rejects {name!r}: {_reason(error) or type(error).__name__}") from None


def _load(text: str) -> Any:
    pyspiel = _pyspiel()
    name = text.partition("(")[0].strip()
    known = pyspiel.registered_names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "pyspiel.registered_names() lists those it has"
        raise SpecError(f"unknown OpenSpiel game {name!r}: {hint}")
    try_first(lambda: _try(text), f"OpenSpiel's {text!r}")
    return _told(pyspiel.load_game, text, text)


def _try(text: str) -> None:
    """What a walk will do first with a game: the beginning of its tree. Any of it may crash for odd parameters."""
    game = OpenSpielGame(_told(_pyspiel().load_game, text, text))
    began, rng = time.process_time(), random.Random(0)
    waiting = [game.root()]
    for _ in range(TRIED_MOVES):
        if not waiting or time.process_time() - began > TRIED_SECONDS:
            return
        state = waiting.pop()
        if state.turn == TERMINAL:
            game.payoff(state)
        elif state.turn == CHANCE:
            game.chance(state)
        moves = list(state.moves)
        for move in rng.sample(moves, min(3, len(moves))):  # not the first ones alone
            waiting.append(game.after(state, move))


def _in_turns(game: Any, name: str) -> Any:
    """The game with its moves made one at a time; kinds of game that have no finite tree are refused."""
    pyspiel = _pyspiel()
    kind = game.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameError(f"OpenSpiel's {name} is a mean field game: it has no game tree to lay out")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(f"OpenSpiel's {name} samples its chance instead of listing the outcomes: it has no tree")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return _told(pyspiel.convert_to_turn_based, name, game)
    return game


def _named(state: Any, numbers: Sequence[int]) -> dict[Action, int]:
    """OpenSpiel's names of actions -> their numbers; the numbers stand for themselves where names repeat."""
    moves: dict[Action, int] = {state.action_to_string(number): number for number in numbers}
    return moves if len(moves) == len(numbers) else {number: number for number in numbers}


class Pair(NamedTuple):
    """One infoset of our game and the same infoset in OpenSpiel; actions are in the same order."""

    seat: int
    infoset: Any
    openspiel_infoset: str
    actions: tuple[Action, ...]
    openspiel_actions: tuple[int, ...]


def align(game: Game, pyspiel_game: Any, visit: Callable[[Pair, Position], None] | None = None) -> list[Pair]:
    """Walk both games side by side and pair their infosets, in order of first visit.

    `pyspiel_game` is a pyspiel.Game or a load string. The trees must agree node for node: who moves, how many
    children in which order, chance, payoffs; and two histories must share an infoset in both or in neither.
    Where they do not, GameError says where. `visit` is called with each pair and a position of it, as they are found.
    """
    other = OpenSpielGame(pyspiel_game)
    if game.players != other.players:
        raise GameError(f"the game has {game.players} players, OpenSpiel's {other.name} has {other.players}")
    ours: dict[tuple[int, Any], Pair] = {}
    theirs: dict[tuple[int, str], Pair] = {}
    stack: list[tuple[Any, Position]] = [(game.root(), other.root())]
    while stack:
        state, position = stack.pop()
        turn = game.turn(state)
        _agree("who moves", turn, position.turn, position)
        if turn == TERMINAL:
            _close("payoffs", game.payoff(state), other.payoff(position), position)
            continue
        actions: Sequence[Action]
        if turn == CHANCE:
            outcomes, others = game.chance(state), other.chance(position)
            _close("chance", [p for _, p in outcomes], [p for _, p in others], position)
            actions = [outcome for outcome, _ in outcomes]
        else:
            actions = game.actions(state)
            _agree("how many actions there are", len(actions), len(position.moves), position)
            infoset = game.infoset(state)
            pair = Pair(turn, infoset, position.infoset, tuple(actions), tuple(position.moves.values()))
            if visit is not None and (turn, infoset) not in ours:
                visit(pair, position)
            mine = ours.setdefault((turn, infoset), pair)
            yours = theirs.setdefault((turn, position.infoset), pair)
            if mine != pair or yours != pair:
                raise GameError(_split(mine if mine != pair else yours, pair))
        children = zip(actions, position.moves, strict=True)
        stack.extend(reversed([(game.after(state, a), other.after(position, b)) for a, b in children]))
    return list(ours.values())


def _agree(what: str, mine: Any, yours: Any, position: Position) -> None:
    if mine != yours:
        where = _where(position)
        raise GameError(f"the two games disagree on {what} at {where}: {mine} here, {yours} in OpenSpiel")


def _close(what: str, mine: Sequence[float], yours: Sequence[float], position: Position) -> None:
    if len(mine) != len(yours) or any(abs(a - b) > TOLERANCE for a, b in zip(mine, yours, strict=True)):
        _agree(what, list(mine), list(yours), position)


def _split(first: Pair, second: Pair) -> str:
    """Say how two pairs that share one side disagree on the other."""
    if first.infoset != second.infoset:
        return (
            f"the two games disagree on what seat {second.seat} knows: OpenSpiel's infoset "
            f"{second.openspiel_infoset!r} is both {first.infoset!r} and {second.infoset!r} here"
        )
    if first.openspiel_infoset != second.openspiel_infoset:
        return (
            f"the two games disagree on what seat {second.seat} knows: infoset {second.infoset!r} is both "
            f"{first.openspiel_infoset!r} and {second.openspiel_infoset!r} in OpenSpiel"
        )
    return f"the actions of infoset {second.infoset!r} change from one history to another"


def _where(position: Position) -> str:
    return f"OpenSpiel's history {position.state.history()}"


def policy_rows(game: Game, pyspiel_game: Any, policy: Any) -> list[tuple[int, Any, dict[Action, Any]]]:
    """(seat, infoset, {action: probability}) of an OpenSpiel policy, in the words of `game`.

    The policy is one of pyspiel's, or one of open_spiel.python.policy. An infoset that it does not have gets an empty
    table.
    """
    rows: list[tuple[int, Any, dict[Action, Any]]] = []

    def visit(pair: Pair, position: Position) -> None:
        try:
            with _quiet():
                chosen = dict(policy.action_probabilities(position.state))
        except Exception as error:
            why = _reason(error) or type(error).__name__
            raise GameError(f"OpenSpiel's policy gives no probabilities at {_where(position)}: {why}") from None
        names = dict(zip(pair.openspiel_actions, pair.actions, strict=True))
        foreign = [number for number, p in chosen.items() if number not in names and p != 0.0]
        if foreign:
            raise GameError(f"OpenSpiel's policy takes action {foreign[0]} at {_where(position)}, which is not legal")
        rows.append((pair.seat, pair.infoset, {names[n]: p for n, p in chosen.items() if n in names}))

    align(game, pyspiel_game, visit)
    return rows


def openspiel_policy(
    pyspiel_game: Any,
    lookup: Callable[[int, Any], Mapping[Action, float]],
    game: Game | None = None,
) -> Any:
    """A strategy for all seats as a pyspiel.TabularPolicy, which pyspiel.nash_conv(game, policy) and
    open_spiel.python.algorithms.exploitability take.

    `lookup(seat, infoset)` gives {action: probability}. It is asked in the words of `game`, one of ours with
    the same tree, when that is given, and in those of OpenSpielGame(pyspiel_game) otherwise. For a
    simultaneous game the policy is for pyspiel.convert_to_turn_based(game).
    """
    pairs = align(OpenSpielGame(pyspiel_game) if game is None else game, pyspiel_game)
    table: dict[str, list[tuple[int, float]]] = {}
    for pair in pairs:
        chosen = lookup(pair.seat, pair.infoset)
        foreign = [action for action in chosen if action not in pair.actions]
        if foreign or abs(sum(chosen.values()) - 1) > 1e-6:
            raise GameError(
                f"the strategy at infoset {pair.infoset!r} of seat {pair.seat} is {dict(chosen)!r}, "
                f"not a distribution over {list(pair.actions)!r}"
            )
        row = [
            (number, float(chosen.get(action, 0.0)))
            for action, number in zip(pair.actions, pair.openspiel_actions, strict=True)
        ]
        if table.setdefault(pair.openspiel_infoset, row) != row:
            raise GameError(
                f"two seats have the infoset {pair.openspiel_infoset!r} in OpenSpiel, whose tables "
                "of strategies do not tell seats apart"
            )
    return _pyspiel().TabularPolicy(table)
