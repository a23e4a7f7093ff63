"""Transcripts of a table, and replays of them.

    kibitz transcript 2
    game kuhn
    seed 1
    player 0 you
    player 1 uniform

    hand 1
      seats    0 1                the player in each seat
      chance   K
      chance   J
      seat 0   bet
      seat 1   pass
      payoffs  +1 -1              by seat
      score    +1                 of player 0, the person

All moves are there in order, those of chance too. `replayed` plays them again by the rules and writes the text anew:
the same, byte for byte, if it was one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kibitz.core.errors import ArtefactError, GameError
from kibitz.games import game as make_game
from kibitz.games.protocol import CHANCE, TERMINAL, Action, Game
from kibitz.games.trusted import recalled

NAME = "kibitz transcript"
VERSION = 2
HEAD = re.compile(rf"{NAME} (\d{{1,9}})\ngame ([^\n]*)\n")
REST = re.compile(r"seed (\d{1,19})\n((?:player \d{1,3} [^\n]*\n)+)")
BLOCK = re.compile(
    r"\nhand (\d{1,18})\n  seats    ([\d ]{1,999})\n((?:  (?:chance|seat \d{1,3}) [^\n]*\n)*)"
    r"  payoffs  [^\n]*\n  score    [^\n]*\n"
)
ASK = "the game: kibitz play GAME --replay FILE"


def line_of(text: Any) -> str:
    """A name on one line: what a terminal would not print is written with a backslash."""
    said = str(text)
    return said if said.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in said)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode() if ord(char) < 0xD800 or ord(char) > 0xDFFF else "?"


def number(value: float) -> str:
    """Chips with a sign: +3, -0.5, +0."""
    return f"{value + 0.0:+.10g}"


def heading(spec: str, seed: int, players: Sequence[str]) -> str:
    """The first lines."""
    named = "".join(f"player {k} {line_of(' '.join(name.split()))}\n" for k, name in enumerate(players))
    return f"{NAME} {VERSION}\ngame {line_of(spec)}\nseed {seed}\n{named}"


def written(
    hand: int, seating: Sequence[int], moves: Sequence[tuple[int, Action]], payoffs: Sequence[float], score: float
) -> str:
    """One hand. seating: the player in each seat."""
    lines = [f"  {'chance' if turn == CHANCE else f'seat {turn}':8} {line_of(action)}\n" for turn, action in moves]
    won = " ".join(number(payoff) for payoff in payoffs)
    return (
        f"\nhand {hand}\n  seats    {' '.join(map(str, seating))}\n{''.join(lines)}"
        f"  payoffs  {won}\n  score    {number(score)}\n"
    )


# Replays


def replayed(text: str, game: Any = None, where: object = "the transcript") -> Iterator[str]:
    """A transcript once more, piece by piece, all hands played again by the rules.

    game: a game that the user names; without one the game that the transcript names is called, if a file may call it.
    """
    head = HEAD.match(text)
    if not head:
        said = text.splitlines()[0][:40] if text else "nothing"
        raise ArtefactError(f"{where} is not a transcript of kibitz: it starts with {said!r}, not with '{NAME}'")
    version, said = int(head[1]), head[2]
    if version != VERSION:
        raise ArtefactError(f"{where} is a transcript of version {version}; this version of kibitz reads only "
                            f"version {VERSION}")
    rules = rules_of(said, game, where)
    rest = REST.match(text, head.end())
    names = [line.split(" ", 2)[2] for line in rest[2].splitlines()] if rest else []
    if not rest or heading(said, int(rest[1]), names) != text[: rest.end()] or len(names) != rules.players:
        raise ArtefactError(
            f"the head of {where} cannot be read: after the game there must be 'seed N' and a line for each of the "
            f"{rules.players} players"
        )
    yield text[: rest.end()]
    at, hand, score = rest.end(), 0, 0.0
    while at < len(text):
        hand += 1
        block = BLOCK.match(text, at)
        if not block:
            line = text.count("\n", 0, at) + 2
            raise ArtefactError(f"hand {hand} of {where} cannot be read (line {line})")
        seating = [int(word) for word in block[2].split()]
        if sorted(seating) != list(range(rules.players)):
            raise ArtefactError(f"hand {hand} of {where}: 'seats {block[2]:.80}' should name each player once")
        moves, payoffs = again(rules, block[3].splitlines(), f"hand {hand} of {where}")
        score += payoffs[seating.index(0)]
        piece = written(hand, seating, moves, payoffs, score)
        if piece != block[0]:
            raise ArtefactError(f"hand {hand} of {where} is inconsistent: {_difference(block[0], piece)}")
        yield piece
        at = block.end()


def rules_of(said: str, game: Any, where: object) -> Game:
    """The game of a transcript: the one that the user names, or the one it names, if a file may call it."""
    if game is None:
        return make_game(recalled(said, where, ASK))
    rules = make_game(game)
    known = getattr(rules, "spec", "")
    try:
        other = recalled(said, where, ASK)
    except ArtefactError:
        return rules  # a path, which may be another one by now: the rules decide
    if known and getattr(make_game(other), "spec", known) != known:
        raise ArtefactError(f"{where} is of {other}, not of {known}")
    return rules


def again(rules: Game, lines: Sequence[str], where: str) -> tuple[list[tuple[int, Action]], list[float]]:
    """The moves of a hand and its payoffs by seat, if it was played by the rules."""
    state, moves = rules.root(), []
    for line in lines:
        turn = rules.turn(state)
        if turn == TERMINAL:
            raise ArtefactError(f"{where} continues after its end: {line.strip():.80}")
        mover = f"  {'chance' if turn == CHANCE else f'seat {turn}':8} "
        if not line.startswith(mover):
            raise ArtefactError(f"{where}: {line.strip():.80} is not possible, {mover.strip()} moves")
        action = _meant(rules, state, turn, line[len(mover) :])
        if action is None:
            raise ArtefactError(f"{where}: {line.strip():.80} is not possible by the rules")
        state = rules.after(state, action)
        moves.append((turn, action))
    if rules.turn(state) != TERMINAL:
        raise ArtefactError(f"{where} ends too early")
    return moves, [float(payoff) for payoff in rules.payoff(state)]


def _meant(rules: Game, state: Any, turn: int, text: str) -> Action | None:
    """The action or outcome of a text; None: there is none."""
    if turn != CHANCE:
        return next((action for action in rules.actions(state) if line_of(action) == text), None)
    possible = getattr(rules, "is_outcome", None)
    if possible is not None:
        return text if possible(state, text) else None
    try:
        listed = rules.chance(state)
    except GameError as error:  # too many
        raise ArtefactError(f"the game needs a method is_outcome(state, outcome) for replays: {error}") from None
    return next((outcome for outcome, _ in listed if line_of(outcome) == text), None)


def _difference(one: str, other: str) -> str:
    """The first line that is not as it should be."""
    pairs = zip(one.splitlines(), other.splitlines(), strict=False)
    said, wanted = next(((a, b) for a, b in pairs if a != b), (one, other))
    return f"'{' '.join(said.split()):.80}' should be '{' '.join(wanted.split()):.80}'"
