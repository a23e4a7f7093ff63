"""Transcripts of version 1, which knew Toepen alone: replayed as they were written, for those who kept some.

A hand has both deals and the public history on a line each; kibitz.play.transcript has what is written today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.games.protocol import TERMINAL
from kibitz.toepen.states import NUMBERS, Cards, deal_text, hand_text

HEAD = re.compile(r"kibitz transcript 1\ngame ([^\n]*)\nseed (\d{1,19})\nopponent ([^\n]*)\n")
BLOCK = re.compile(
    r"\nhand (\d+), you in seat ([01])\n  you      ([^\n]*)\n  opponent ([^\n]*)\n  play     ([^\n]*)\n"
    r"  you (win|lose) (\S+), score (\S+)\n"
)


def heading(game: Any, seed: int, opponent: str) -> str:
    """The first lines."""
    return f"kibitz transcript 1\ngame {game.spec}\nseed {seed}\nopponent {' '.join(opponent.split())}\n"


def hand_block(
    number: int, seat: int, hands: Sequence[Cards], history: Sequence[str], payoff: float, score: float
) -> str:  # fmt: skip
    """One hand: the person was in `seat`."""
    mine, theirs = hand_text(hands[seat]), hand_text(hands[1 - seat])
    return (
        f"\nhand {number}, you in seat {seat}\n  you      {mine}\n  opponent {theirs}\n"
        f"  play     {' '.join(history)}\n  you {'win' if payoff > 0 else 'lose'} {abs(payoff):g}, score {score:+g}\n"
    )


def replayed(game: Any, text: str) -> Iterator[str]:
    """A transcript once more, piece by piece, all hands played again by the rules."""
    head = HEAD.match(text)
    if not head or not (head[1] + head[3]).isprintable():
        raise ArtefactError("the head of the transcript cannot be read: it has the game, the seed and the opponent")
    yield heading(game, int(head[2]), head[3])
    at, number, score = head.end(), 0, 0.0
    while at < len(text):
        block = BLOCK.match(text, at)
        number += 1
        if not block:
            line = text.count("\n", 0, at) + 2
            raise ArtefactError(f"hand {number} of the transcript cannot be read (line {line})")
        seat = int(block[2])
        hands = _cards(block[3], number), _cards(block[4], number)
        by_seat = hands if seat == 0 else (hands[1], hands[0])
        payoff = _again(game, by_seat, block[5].split(), number) * (1 if seat == 0 else -1)
        score += payoff
        piece = hand_block(number, seat, by_seat, block[5].split(), payoff, score)
        if piece != block[0]:
            raise ArtefactError(f"hand {number} of the transcript does not add up: by the rules it is {piece.split()}")
        yield piece
        at = block.end()


def _cards(text: str, number: int) -> Cards:
    cards = tuple(NUMBERS.get(name, -1) for name in text.split())
    if -1 in cards or len(set(cards)) < len(cards):
        raise ArtefactError(f"hand {number} of the transcript has cards that do not exist, or twice: {text}")
    return tuple(sorted(cards))


def _again(game: Any, hands: tuple[Cards, Cards], history: Sequence[str], number: int) -> float:
    """Seat 0's payoff of a hand, if it was played by the rules."""
    if game.symmetric or not game.is_outcome(game.root(), deal_text(*hands)):
        raise ArtefactError(f"hand {number} of the transcript is no deal of {game.spec}")
    state = game.after(game.root(), deal_text(*hands))
    while state.turn != TERMINAL:
        done = state.done.split()
        here = f"hand {number} of the transcript, after {state.done or 'the deal'}"
        if list(history[: len(done)]) != done or len(history) <= len(done):
            raise ArtefactError(f"{here}: it breaks off or goes against the rules")
        word = history[len(done)]
        if word not in game.actions(state):
            raise ArtefactError(f"{here}: {word} is not possible")
        state = game.after(state, word)
    if list(history) != state.done.split():
        raise ArtefactError(f"hand {number} of the transcript goes on after its end")
    return float(game.payoff(state)[0])
