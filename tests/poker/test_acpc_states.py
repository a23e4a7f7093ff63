"""The lines of the ACPC protocol: what is written is read again, and nothing else is read."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz import cards
from kibitz.games import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.poker.acpc import states
from kibitz.poker.acpc.states import MOST_LINE, MatchState, ProtocolError
from kibitz.poker.rules.acpc import read
from kibitz.poker.rules.rules import Poker

NO_LIMIT = read("holdem.nolimit.2p")
THREE = read("holdem.limit.3p")
GAMES = {
    **{name: read(name) for name in ("kuhn", "leduc", "rhode_island", "holdem.limit.2p", "holdem.limit.3p")},
    "leduc for three": replace(read("leduc"), players=3, blinds=(1, 1, 1), ranks=4),
    "no limit, short": replace(NO_LIMIT, stacks=(18, 31), blinds=(2, 1)),
    "no limit, three": replace(
        NO_LIMIT, players=3, blinds=(1, 2, 0), first_player=(2, 0, 0, 0), stacks=(9, 30, 21), max_raises=(3,) * 4
    ),
    "a board at once": replace(read("leduc"), board=(1, 1), ranks=5),
    "no board": replace(THREE, rounds=3, board=(0, 0, 0), hole=2, raise_size=(1, 2, 3), max_raises=(1, 2, 1),
                        first_player=(2, 0, 0)),
}  # fmt: skip


@cache
def rules_of(name: str) -> Poker:
    return Poker(GAMES[name])


def histories(rules: Poker, dice: random.Random) -> Iterator[Any]:
    """All states at which somebody acts on one random history, and its end."""
    state = rules.root()
    while (turn := rules.turn(state)) != TERMINAL:
        if turn == CHANCE:
            state = rules.after(state, rules.sample(state, dice))
            continue
        yield state
        offered = rules.actions(state)
        at = dice.randrange(len(offered)) if dice.random() < 0.6 else offered.index("call")
        state = rules.after(state, offered[at])
    yield state


def some(count: int, dice: random.Random) -> Iterator[tuple[Poker, Any, int, int]]:
    """(rules, a random history, a seat, the number of a hand), again and again."""
    while count:
        rules = rules_of(dice.choice(list(GAMES)))
        met = list(histories(rules, dice))
        for state in dice.sample(met, min(4, len(met), count)):
            count -= 1
            yield rules, state, dice.randrange(rules.players), dice.choice((0, 1, 99, 2**32 - 1))


def round_trips(count: int, seed: int) -> None:
    dice = random.Random(seed)
    ends = 0
    for rules, state, seat, hand in some(count, dice):
        told = states.match_state(rules, state, seat, hand)
        line = states.written(told)
        found = states.parse(rules, line)
        assert found == told and states.written(found) == line
        again = states.state_of(rules, told)
        assert again.bets == state.bets and again.done == state.done and again.board == state.board
        turn = rules.turn(state)
        if turn == TERMINAL:
            ends += 1
            over = states.logged_hand(rules, state, hand, [f"p{k}" for k in range(rules.players)])
            text = states.written_played(over)
            assert states.parse_played(rules, text) == over
            assert states.state_of(rules, over) == state
            assert abs(sum(over.values)) < 1e-9
        elif turn == seat:
            assert view_of(rules, again, seat) == view_of(rules, state, seat)
            action = dice.choice(rules.actions(state))
            reply = states.written_reply(told, action)
            assert states.parse_reply(rules, reply) == (told, action)
    assert ends > count // 20


def mutated(line: str, dice: random.Random) -> str:
    """A line with some of its characters changed, put in, taken out, doubled or cut off."""
    for _ in range(dice.randint(1, 4)):
        at, to = dice.randrange(len(line) + 1), dice.randrange(len(line) + 1)
        sign = dice.choice(":|/rfc0123456789AKQJThdcs- " + string.printable + "é\u0664\u2028")
        line = dice.choice((
            line[:at] + sign + line[at:], line[:at] + sign + line[at + 1 :], line[:at] + line[at + 1 :],
            line[:at] + line[at:to] * 2 + line[max(at, to) :], line[:at],
            line[:at] + "9" * dice.choice((3, 12, 40)) + line[at:],
        ))  # fmt: skip
    return line


def mutations(count: int, seed: int) -> None:
    dice = random.Random(seed)
    refused = 0
    for rules, state, seat, hand in some(count, dice):
        told = states.match_state(rules, state, seat, hand)
        lines = [(states.parse, states.written(told), states.written)]
        if rules.turn(state) == TERMINAL:
            over = states.logged_hand(rules, state, hand, [f"p{k}" for k in range(rules.players)])
            lines.append((states.parse_played, states.written_played(over), states.written_played))
        elif rules.turn(state) == seat:
            action = dice.choice(rules.actions(state))
            lines.append(
                (states.parse_reply, states.written_reply(told, action), lambda found: states.written_reply(*found))
            )
        read_by, line, write_by = dice.choice(lines)
        wrong = mutated(line, dice)
        try:
            found = read_by(rules, wrong)
        except ProtocolError as error:
            refused += 1
            assert 0 < len(str(error)) < 600 and "\n" not in str(error) and str(error).isprintable()
            continue
        assert write_by(found) == wrong  # what is read is canonical, so it is a line that could have been sent
    assert refused > count // 2


def test_lines_of_random_histories() -> None:
    round_trips(4_000, 1)


@pytest.mark.slow
def test_lines_of_very_many_random_histories() -> None:
    round_trips(1_000_000, 2)


def test_mutated_lines_are_refused_by_a_sentence() -> None:
    mutations(20_000, 3)


@pytest.mark.slow
def test_very_many_mutated_lines_are_refused_by_a_sentence() -> None:
    mutations(1_000_000, 4)


@settings(deadline=None, max_examples=examples(300))
@given(text=st.text(max_size=60), name=st.sampled_from(list(GAMES)))
def test_any_text(text: str, name: str) -> None:
    rules = rules_of(name)
    for line in (text, f"MATCHSTATE:0:0:{text}", f"MATCHSTATE:{text}:c:", f"STATE:0:{text}", f"SCORE:{text}"):
        for read_by in (states.parse, states.parse_reply, states.parse_played):
            with pytest.raises(ProtocolError):
                read_by(rules, line)
        with pytest.raises(ProtocolError):
            states.parse_score("x" + line, 2)


@settings(deadline=None, max_examples=examples(300))
@given(data=st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    try:
        line = states.line_of(data)
    except ProtocolError:
        return
    assert line.isascii() and line.isprintable() and data.startswith(line.encode())


def test_examples_of_the_specification() -> None:
    """Lines of the competition's own text, of limit hold'em for two and three."""
    two, three = rules_of("holdem.limit.2p"), rules_of("holdem.limit.3p")
    told = states.parse(two, "MATCHSTATE:1:31:rrc/rc/crc/:|JdTc/6dJc9c/Kh/Qc".replace("1:31", "0:30", 1).replace(
        "|JdTc", "JdTc|"))  # fmt: skip
    assert told == MatchState(
        0, 30, (("raise", "raise", "call"), ("raise", "call"), ("call", "raise", "call"), ()),
        ((cards.card("Jd"), cards.card("Tc")), ()),
        ((), tuple(map(cards.card, ("6d", "Jc", "9c"))), (cards.card("Kh"),), (cards.card("Qc"),)),
    )  # fmt: skip
    for line in (
        "MATCHSTATE:0:0::TdAs|", "MATCHSTATE:0:0:rrc/:TdAs|/2c8c3h", "MATCHSTATE:0:0:rrc/r:TdAs|/2c8c3h",
        "MATCHSTATE:0:0:rrc/rc/crrc/crc:TdAs|8hTc/2c8c3h/9c/Kh", "MATCHSTATE:1:1::|Qd7c", "MATCHSTATE:1:1:rf:|Qd7c",
        "MATCHSTATE:0:2::9d7s|",
    ):  # fmt: skip
        assert states.written(states.parse(two, line)) == line
    for line in ("MATCHSTATE:2:99:ccc/:||7d7s/2c8c3h", "MATCHSTATE:2:0:rcf:||7d7s".replace("rcf", "rff")):
        assert states.written(states.parse(three, line)) == line


@pytest.mark.parametrize(
    "line",
    [
        "MATCHSTATE:2:0::TdAs|", "MATCHSTATE:01:0::|TdAs", "MATCHSTATE:0:00::TdAs|", "MATCHSTATE:0:4294967296::TdAs|",
        "MATCHSTATE:0:0::TdAs", "MATCHSTATE:0:0::Td|", "MATCHSTATE:0:0::TdTd|", "MATCHSTATE:0:0::TdAs|2c3c",
        "MATCHSTATE:0:0::|", "MATCHSTATE:0:0::|TdAs", "MATCHSTATE:0:0:rrrr:TdAs|", "MATCHSTATE:0:0:r20:TdAs|",
        "MATCHSTATE:0:0:cc:TdAs|", "MATCHSTATE:0:0:c/c:TdAs|/2c8c3h", "MATCHSTATE:0:0:cc/:TdAs|/2c8c",
        "MATCHSTATE:0:0:ccf:TdAs|", "MATCHSTATE:0:0:cf:TdAs|", "MATCHSTATE:0:0:fc:TdAs|",
        "MATCHSTATE:0:0:cc/:TdAs|/2c8cTd", "MATCHSTATE:0:0:cc//:TdAs|/2c8c3h/4h", "matchstate:0:0::TdAs|",
        "MATCHSTATE:0:0:x:TdAs|", "MATCHSTATE:0:0::TdAs| ", "MATCHSTATE:0:0:/:TdAs|/2c8c3h", "",
        "MATCHSTATE:0:0:" + "c" * MOST_LINE + ":TdAs|", "MATCHSTATE:0:0:rf/:TdAs|/2c8c3h",
    ],
)  # fmt: skip
def test_wrong_lines(line: str) -> None:
    with pytest.raises(ProtocolError):
        states.parse(rules_of("holdem.limit.2p"), line)


def test_replies() -> None:
    rules = rules_of("holdem.limit.2p")
    for good, action in (("c", "call"), ("f", "fold"), ("r", "raise")):
        assert states.parse_reply(rules, f"MATCHSTATE:1:0::|TdAs:{good}")[1] == action
    for bad in ("", "x", "r20", "cc", "C", "call", "r" + "9" * 100):
        with pytest.raises(ProtocolError):
            states.parse_reply(rules, f"MATCHSTATE:1:0::|TdAs:{bad}")
    with pytest.raises(ProtocolError, match="not to act"):
        states.parse_reply(rules, "MATCHSTATE:0:0::TdAs|:c")
    with pytest.raises(ProtocolError, match="illegal"):  # a check is free
        states.parse_reply(rules, "MATCHSTATE:0:0:c:TdAs|:f")
    big = Poker(NO_LIMIT)
    assert states.parse_reply(big, "MATCHSTATE:1:0::|TdAs:r300")[1] == "r300"
    for bad in ("r", "r0", "r0300", "r150", "r20001", "r99999999999"):
        with pytest.raises(ProtocolError):
            states.parse_reply(big, f"MATCHSTATE:1:0::|TdAs:{bad}")


def test_logs() -> None:
    rules = rules_of("leduc")
    line = "STATE:7:rc/cc:Ac|Qd/Qc:-3|3:alice|bob"
    assert states.written_played(states.parse_played(rules, line)) == line
    for bad in (
        "STATE:7:rc/cc:Ac|Qd/Qc:3|-3:alice|bob", "STATE:7:rc/c:Ac|Qd/Qc:-3|3:alice|bob",
        "STATE:7:rc/cc:Ac|/Qc:-3|3:alice|bob", "STATE:7:rc/cc:Ac|Qd/Qc:-3|3:alice|alice",
        "STATE:7:rc/cc:Ac|Qd/Qc:-3|3:alice", "STATE:7:rc/cc:Ac|Qd/Qc:-3.0|3:alice|bob",
        "STATE:7:rc/cc:Ac|Qd/Qc:-3|3:al ice|bob",
    ):  # fmt: skip
        with pytest.raises(ProtocolError):
            states.parse_played(rules, bad)
    assert states.parse_score("SCORE:-12|12:alice|bob", 2) == (("-12", "12"), ("alice", "bob"))
    assert states.written_score((-12.0, 12.0), ("alice", "bob")) == "SCORE:-12|12:alice|bob"
    with pytest.raises(ProtocolError):
        states.parse_score("SCORE:1e9|0:alice|bob", 2)
    assert [states.chips(x) for x in (0.0, -0.0, -0.5, 10.0, 100 / 3, -1e-9)] == ["0", "0", "-0.5", "10", "33.333333",
                                                                                 "0"]  # fmt: skip


def test_lines_with_their_ends() -> None:
    for data in (b"abc\r\n", b"abc\n", b"abc"):
        assert states.line_of(data) == "abc"
    for bad in (b"a\x00b\n", b"\xff\n", b"a\rb\n", b"x" * (MOST_LINE + 1)):
        with pytest.raises(ProtocolError):
            states.line_of(bad)


@pytest.mark.parametrize("variant", ["limit", "no limit"])
def test_against_pokerkit(variant: str) -> None:
    """Whole hands as PokerKit writes them: what a seat is told before each action, and what it answers."""
    kit = pytest.importorskip("pokerkit")
    limit = variant == "limit"
    rules = Poker(read("holdem.limit.2p") if limit else NO_LIMIT)
    each = kit.Automation
    automatic = (
        each.ANTE_POSTING, each.BET_COLLECTION, each.BLIND_OR_STRADDLE_POSTING, each.HAND_KILLING, each.CHIPS_PUSHING,
        each.CHIPS_PULLING, each.HOLE_CARDS_SHOWING_OR_MUCKING,
    )  # fmt: skip
    # For two PokerKit swaps the blinds itself: seat 0 pays the big one.
    named = {"mode": kit.Mode.TOURNAMENT}
    game = (
        kit.FixedLimitTexasHoldem(automatic, True, 0, (5, 10), 10, 20, **named)
        if limit
        else kit.NoLimitTexasHoldem(automatic, True, 0, (50, 100), 100, **named)
    )
    dice, compared = random.Random(5), 0
    for hand in range(60 if limit else 20):
        other, state, told, seat = game((20_000, 20_000), 2), rules.root(), [], hand % 2
        while (turn := rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                dealt = rules.sample(state, dice)
                if len(state.hole) < 2:
                    other.deal_hole(dealt)
                else:
                    other.burn_card("??")
                    other.deal_board(dealt)
                state = rules.after(state, dealt)
                continue
            assert other.actor_index == turn
            here = states.match_state(rules, state, seat, hand)
            told.append(("S->", states.written(here) + "\r\n"))
            offered = rules.actions(state)[:12]  # without limit small raises, so that hands go on
            action = dice.choice([*offered, "call", "call"])
            if turn == seat:
                told.append(("<-C", states.written_reply(here, action) + "\r\n"))
            before = state.bets.paid[turn] - other.bets[turn]  # in earlier rounds: PokerKit counts from there
            state = rules.after(state, action)
            if action == "fold":
                other.fold()
            elif action == "call":
                other.check_or_call()
            else:
                other.complete_bet_or_raise_to(state.bets.paid[turn] - before)
        theirs = list(kit.HandHistory.from_game_state(game, other).to_acpc_protocol(seat, hand))
        assert theirs[: len(told)] == told
        compared += len(told)
    assert compared > 100
