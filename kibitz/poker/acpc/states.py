"""The lines of the ACPC protocol, read and written: pure functions, which know nothing of sockets.

    MATCHSTATE:1:31:rrc/c:|AhKd/Qd7c2s          what a dealer sends: position, hand, betting, cards
    MATCHSTATE:1:31:rrc/c:|AhKd/Qd7c2s:r        what a client answers: the same and its action
    STATE:31:rrc/crf:Ts9s|AhKd/Qd7c2s:-30|30:alice|bob       a hand in a log: betting, cards, values, names by seat
    SCORE:120|-120:alice|bob                    the end of a log: totals by player

Betting is f, c, r (without limit r300: all that the seat has put in), "/" where a round ended. Cards are those of the
seats, "|" between them, nothing where they are unknown; then those of the board, "/" before each round but the first.
Whatever is read here is legal by the rules: a betting that cannot be, cards that are not in the deck or come twice, and
numbers out of range are a ProtocolError. `written(parse(rules, line)) == line`, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kibitz import cards as playing
from kibitz.core.errors import GameError, KibitzError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules.rules import Poker

MOST_LINE = 1 << 15  # characters: more than any betting of 255 raises a round needs
MOST_HAND = (1 << 32) - 1  # number of a hand, as the reference dealer keeps it
MOST_NAME = 64

VERSION = "VERSION:2.0.0"
LETTERS = {"fold": "f", "call": "c", "raise": "r"}
WORDS = {letter: word for word, letter in LETTERS.items()}
NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
ACTION = re.compile(r"[fc]|r(?:[1-9][0-9]{0,9})?")
BETTING = re.compile(rf"(?:{ACTION.pattern}|/)*")
NAME = re.compile(rf"[A-Za-z0-9_.+@-]{{1,{MOST_NAME}}}")  # no colon, bar, comma, equals sign or space

Cards: TypeAlias = tuple[int, ...]  # rank * 4 + suit, in the order of the line


class ProtocolError(KibitzError):
    """A message that breaks the ACPC protocol, or a match that cannot go on because of one."""


@dataclass(frozen=True)
class MatchState:
    """The state of a hand as a dealer sends it to a seat."""

    position: int  # the seat
    hand: int
    betting: tuple[tuple[str, ...], ...]  # by round: fold, call, raise or r300
    hole: tuple[Cards, ...]  # by seat; () is unknown
    board: tuple[Cards, ...]  # by round; () where a round brings none


@dataclass(frozen=True)
class LoggedHand:
    """A hand that is over, as a log has it."""

    hand: int
    betting: tuple[tuple[str, ...], ...]
    hole: tuple[Cards, ...]
    board: tuple[Cards, ...]
    values: tuple[float, ...]  # chips won, by seat
    names: tuple[str, ...]  # by seat


# Reading


def parse(rules: Poker, line: str) -> MatchState:
    """What a line MATCHSTATE:... says; a ProtocolError if it says nothing that can be."""
    position, hand, betting, cards = _fields(line, "a dealer's line", "MATCHSTATE:position:hand:betting:cards")
    seat = _number(position, rules.players - 1, "the position")
    number = _number(hand, MOST_HAND, "the number of the hand")
    hole, board = _cards(rules, betting, cards)
    state = _played(rules, betting, hole, board)
    if not hole[seat]:
        raise ProtocolError(f"the cards of seat {seat}, to which the line is sent, are missing in {_shown(cards)}")
    if rules.turn(state) != TERMINAL and sum(map(bool, hole)) > 1:
        raise ProtocolError(f"cards of others are shown in {_shown(cards)} before the hand is over")
    return MatchState(seat, number, _by_round(betting), hole, board)


def parse_reply(rules: Poker, line: str) -> tuple[MatchState, str]:
    """(the state that a client answers to, its action), of a line MATCHSTATE:...:action."""
    sent, _, said = line.rpartition(":")
    state = parse(rules, sent)
    return state, parse_action(rules, state_of(rules, state), said, state.position)


def parse_action(rules: Poker, state: Any, said: str, seat: int) -> str:
    """The action that a client's letters mean for a seat, if it may do that."""
    if rules.turn(state) != seat:
        raise ProtocolError(f"seat {seat} is not to act there")
    if len(said) > 11 or not ACTION.fullmatch(said):
        raise ProtocolError(f"an action is f, c, r or r with a number, not {_shown(said)}")
    return _legal(rules, state, said)


def parse_played(rules: Poker, line: str) -> LoggedHand:
    """A line STATE:... of a log: a hand that is over, whose values are what the rules pay."""
    hand, betting, cards, values, names = _fields(line, "a hand in a log", "STATE:hand:betting:cards:values:names")
    number = _number(hand, MOST_HAND, "the number of the hand")
    hole, board = _cards(rules, betting, cards)
    state = _played(rules, betting, hole, board)
    if rules.turn(state) != TERMINAL:
        raise ProtocolError(f"the hand is not over after {_shown(betting)}")
    if not all(hole):
        raise ProtocolError(f"a log has the cards of all seats, which {_shown(cards)} has not")
    paid = tuple(float(each) for each in rules.payoff(state))
    if values != _values(paid):
        raise ProtocolError(f"the values should be {_values(paid)}, not {_shown(values)}")
    return LoggedHand(number, _by_round(betting), hole, board, paid, parse_names(names, rules.players))


def parse_score(line: str, players: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(totals as they are written, names) of a line SCORE:..."""
    values, names = _fields(line, "a score", "SCORE:values:names")
    totals = tuple(values.split("|"))
    if len(totals) != players or not all(re.fullmatch(r"-?[0-9]{1,20}(\.[0-9]{1,6})?", each) for each in totals):
        raise ProtocolError(f"a score has {players} numbers, which {_shown(values)} are not")
    return totals, parse_names(names, players)


def parse_names(text: str, players: int, apart: str = "|") -> tuple[str, ...]:
    """The names of all players, each another one."""
    names = tuple(text.split(apart, players))
    for name in names:
        if not NAME.fullmatch(name):
            raise ProtocolError(f"a name has 1 to {MOST_NAME} letters, digits and _.+@-, which {_shown(name)} has not")
    if len(names) != players or len(set(names)) != players:
        raise ProtocolError(f"{players} names are needed, each another one, not {_shown(text)}")
    return names


def line_of(data: bytes) -> str:
    """The text of a line as it came over the wire, without its end."""
    if len(data) > MOST_LINE:
        raise ProtocolError(f"a line has more than {MOST_LINE:,} bytes")
    body = data.removesuffix(b"\n").removesuffix(b"\r")
    if not body.isascii() or any(byte < 32 or byte == 127 for byte in body):
        raise ProtocolError(f"a line has bytes that are no text: {_shown(body.decode('latin-1'))}")
    return body.decode("ascii")


# Writing


def written(state: MatchState) -> str:
    """The line that says it."""
    return f"MATCHSTATE:{state.position}:{state.hand}:{_letters(state.betting)}:{_dealt(state.hole, state.board)}"


def written_reply(state: MatchState, action: str) -> str:
    return f"{written(state)}:{LETTERS.get(action, action)}"


def written_played(hand: LoggedHand) -> str:
    cards, names = _dealt(hand.hole, hand.board), "|".join(hand.names)
    return f"STATE:{hand.hand}:{_letters(hand.betting)}:{cards}:{_values(hand.values)}:{names}"


def written_score(totals: Sequence[float], names: Sequence[str]) -> str:
    return f"SCORE:{_values(totals)}:{'|'.join(names)}"


def chips(value: float) -> str:
    """A number of chips, with at most six digits behind the point, as the reference dealer writes it."""
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


# Between lines and the states of the rules


def state_of(rules: Poker, line: MatchState | LoggedHand) -> Any:
    """The state of the rules; cards that are unknown are none."""
    return _played(rules, _letters(line.betting), line.hole, line.board)


def match_state(rules: Poker, state: Any, seat: int, hand: int) -> MatchState:
    """A state as a seat sees it: its own cards, and at a showdown those of all who are in."""
    folded = state.bets.folded
    showdown = rules.turn(state) == TERMINAL and sum(folded) < rules.players - 1
    hole = tuple(
        tuple(cards) if each == seat or (showdown and not folded[each]) else () for each, cards in enumerate(state.hole)
    )
    return MatchState(seat, hand, _by_round(state.done), hole, _board(rules, state))


def logged_hand(rules: Poker, state: Any, hand: int, names: Sequence[str]) -> LoggedHand:
    """A hand that is over, for the log."""
    values = tuple(float(each) for each in rules.payoff(state))
    return LoggedHand(hand, _by_round(state.done), tuple(state.hole), _board(rules, state), values, tuple(names))


# Pieces


def _fields(line: str, what: str, form: str) -> list[str]:
    """The fields of a line of a form, after the word that it begins with."""
    if len(line) > MOST_LINE:
        raise ProtocolError(f"a line has more than {MOST_LINE:,} characters")
    (kind, *names), (word, *fields) = form.split(":"), line.split(":", form.count(":") + 1)
    if len(fields) != len(names):
        raise ProtocolError(f"a line reads {form}, not {_shown(line)}")
    if word != kind:
        raise ProtocolError(f"{what} begins with {kind}, not with {_shown(word)}")
    return fields


def _number(text: str, most: int, what: str) -> int:
    if not NUMBER.fullmatch(text) or int(text) > most:
        raise ProtocolError(f"{what} is a number from 0 to {most}, not {_shown(text)}")
    return int(text)


def _cards(rules: Poker, betting: str, text: str) -> tuple[tuple[Cards, ...], tuple[Cards, ...]]:
    """(cards by seat, cards of the board by round) for as many rounds as the betting has."""
    game = rules.definition
    if not BETTING.fullmatch(betting):
        raise ProtocolError(f"betting is written with f, c, r, numbers and /, not {_shown(betting)}")
    rounds = betting.count("/") + 1
    if rounds > game.rounds:
        raise ProtocolError(f"there are {game.rounds} rounds of betting, fewer than in {_shown(betting)}")
    groups = text.split("/", rounds)
    hands = groups[0].split("|", game.players)
    if len(groups) != rounds or len(hands) != game.players:
        raise ProtocolError(
            f"cards are those of {game.players} seats and of {rounds} rounds, not {_shown(text)} after "
            f"{_shown(betting)}"
        )
    # Cards of the board that come before the first round follow the last seat's without a sign between them.
    cut = len(hands[-1]) - 2 * game.board[0]
    hands[-1], groups[0] = hands[-1][: max(0, cut)], hands[-1][max(0, cut) :]
    hole = tuple(_named(each, game.hole) if each else () for each in hands)
    board = tuple(_named(each, count) for each, count in zip(groups, game.board, strict=False))
    every = [card for cards in (*hole, *board) for card in cards]
    if len({*every} & {*game.deck}) < len(every):
        raise ProtocolError(f"a card in {_shown(text)} is not in the deck, or there twice")
    return hole, board


def _named(text: str, count: int) -> Cards:
    numbers = [playing.NUMBERS.get(text[k : k + 2], -1) for k in range(0, 2 * count, 2)]
    if len(text) != 2 * count or -1 in numbers:
        raise ProtocolError(f"{_shown(text)} should be {count} card{'s' * (count != 1)}, as Ah")
    return tuple(numbers)


def _played(rules: Poker, betting: str, hole: Sequence[Cards], board: Sequence[Cards]) -> Any:
    """The state after some betting, each action of which is legal."""
    state = rules.root()
    for cards in hole:
        state = rules.after(state, _sorted(cards))
    for number, said in enumerate(betting.split("/")):
        if rules.definition.board[number]:
            if rules.turn(state) != CHANCE:
                raise ProtocolError(f"round {number} is not over in {_shown(betting)}")
            state = rules.after(state, _sorted(board[number]))
        for letters in ACTION.findall(said):
            if rules.turn(state) < 0:
                raise ProtocolError(f"nobody is to act at {_shown(letters)} in {_shown(betting)}")
            state = rules.after(state, _legal(rules, state, letters))
    if state.done != betting or rules.turn(state) == CHANCE:
        raise ProtocolError(f"a round ends elsewhere than {_shown(betting)} says, where each / is the end of one")
    return state


def _legal(rules: Poker, state: Any, letters: str) -> str:
    """An action by its letters, if it is legal there."""
    action = WORDS.get(letters, letters)
    try:
        offered = rules.actions(state)
    except GameError as error:  # raises of more sizes than are listed
        raise ProtocolError(str(error)) from None
    if action not in offered:
        raise ProtocolError(f"{_shown(letters)} is illegal after {_shown(state.done)}")
    return action


def _by_round(betting: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(WORDS.get(word, word) for word in ACTION.findall(said)) for said in betting.split("/"))


def _letters(betting: Sequence[Sequence[str]]) -> str:
    return "/".join("".join(LETTERS.get(action, action) for action in said) for said in betting)


def _board(rules: Poker, state: Any) -> tuple[Cards, ...]:
    """By round, with () for rounds that bring no cards, which states leave out."""
    dealt = iter(state.board)
    rounds = state.done.count("/") + 1
    return tuple(tuple(next(dealt)) if count else () for count in rules.definition.board[:rounds])


def _dealt(hole: Sequence[Cards], board: Sequence[Cards]) -> str:
    return "|".join(map(_text, hole)) + "/".join(map(_text, board))


def _text(cards: Cards) -> str:
    return "".join(playing.NAMES[card] for card in cards)


def _sorted(cards: Cards) -> str:
    """High to low, as states of the rules have them."""
    return _text(tuple(sorted(cards, reverse=True)))


def _values(values: Sequence[float]) -> str:
    return "|".join(map(chips, values))


def _shown(text: str) -> str:
    """A piece of a message for a sentence: short, and nothing that a terminal would obey."""
    return ascii(text if len(text) <= 60 else text[:60] + "...")
