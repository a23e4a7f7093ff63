"""Matches over the ACPC protocol: they are kibitz's own matches, whoever sits at the other end.

Nothing here depends on how fast the machine is: a client that shall be late never answers, or answers when it has seen
that nobody waits for it any more; all others have minutes.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acpc_tables import (
    HOST,
    LEDUC,
    LONG,
    Listener,
    client,
    dropping,
    hands_of,
    in_process,
    in_threads,
    joined,
    machine_of,
    over_the_wire,
    profiles,
    table,
    whole,
)

import kibitz
from kibitz.cli import app
from kibitz.evaluate.match import seatings_of
from kibitz.poker.acpc import seats, states, wire
from kibitz.poker.acpc.client import Client
from kibitz.poker.acpc.dealer import Dealer
from kibitz.poker.acpc.log import MatchPlan
from kibitz.poker.acpc.states import ProtocolError
from kibitz.poker.acpc.wire import connected

# Matches are kibitz's own


def equal_hands(hands: int, tmp_path: Path, duplicate: bool) -> None:
    log = tmp_path / "match.log"
    dealer = Dealer(LEDUC, hands, 5, "alice,bob", duplicate=duplicate, log=log, timeout=LONG)
    outcome, tallies = over_the_wire(dealer, LEDUC, profiles(), 5)
    wanted = list(in_process(LEDUC, profiles(), dealer.plan))
    assert [list(hand.values) for hand in hands_of(log)] == wanted
    whole(log, outcome)
    assert not outcome.gone and not outcome.late and not outcome.invalid
    assert [tally.hands for tally in tallies] == [hands] * 2 and all(tally.ended for tally in tallies)
    assert tuple(tally.total for tally in tallies) == outcome.totals
    if duplicate:
        result = kibitz.match(LEDUC, *profiles(), deals=hands // 2, seed=5)
        assert outcome.totals[0] == pytest.approx(hands * result.mean)


@pytest.mark.parametrize("duplicate", [False, True])
@pytest.mark.some(1)
def test_a_match_over_the_wire_is_the_match_in_one_process(tmp_path: Path, duplicate: bool) -> None:
    equal_hands(300, tmp_path, duplicate)


@pytest.mark.slow
@pytest.mark.parametrize("duplicate", [False, True])
def test_a_long_match_over_the_wire_is_the_match_in_one_process(tmp_path: Path, duplicate: bool) -> None:
    equal_hands(3000, tmp_path, duplicate)


@pytest.mark.parametrize("game", ["kuhn", "rhode_island", "holdem.limit.2p", "holdem.limit.3p"])
def test_agents_at_the_dealer_and_clients_are_the_same(game: str, tmp_path: Path) -> None:
    """All in one process, all over the wire, and as plain matches: the same hands."""
    rules, _ = machine_of(game)
    count = rules.players
    names = [f"p{k}" for k in range(count)]
    logs = tmp_path / "local.log", tmp_path / "wire.log"
    here = table(game, 24, 7, names, dict.fromkeys(names, "uniform"), True, logs[0])
    assert here.open() == [] and here.awaited == []
    local = here.play()
    there = table(game, 24, 7, names, {names[0]: "uniform"}, True, logs[1], timeout=LONG)
    ports = there.open()
    threads, tallies = in_threads(*(client(game, "uniform", port, 7, True) for _, port in ports))
    remote = there.play()
    joined(threads)
    assert logs[0].read_bytes() == logs[1].read_bytes()
    assert local.totals == remote.totals == (0.0,) * count  # who meets himself in all seatings wins nothing
    assert [tally.total for tally in tallies] == [0.0] * (count - 1)
    wanted = list(in_process(game, ("uniform",) * count, here.plan))
    assert [list(hand.values) for hand in hands_of(logs[0], game)] == wanted
    whole(logs[1], remote, game)


def test_no_limit(tmp_path: Path) -> None:
    small = tmp_path / "small.game"
    small.write_text(
        "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 2\nstack = 300 300\nblind = 2 1\nfirstPlayer = 2 1\n"
        "numSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 0 3\nEND GAMEDEF\n"
    )
    game = str(small)
    dealer = Dealer(game, 20, 1, "a,b", log=tmp_path / "log", timeout=LONG)
    outcome, tallies = over_the_wire(dealer, game, ("uniform", "uniform"), 1)
    whole(tmp_path / "log", outcome, game)
    assert [list(hand.values) for hand in hands_of(tmp_path / "log", game)] == list(
        in_process(game, ("uniform",) * 2, dealer.plan)
    )
    assert tuple(tally.total for tally in tallies) == outcome.totals


def test_places_of_players() -> None:
    duplicate = MatchPlan(LEDUC, 12, 0, ("a", "b", "c"), True)
    assert [duplicate.place(hand) for hand in range(6, 12)] == [(1, row) for row in seatings_of(3).tolist()]
    rotating = MatchPlan(LEDUC, 12, 0, ("a", "b", "c"))
    assert [rotating.place(hand) for hand in range(3)] == [(0, [0, 1, 2]), (1, [2, 0, 1]), (2, [1, 2, 0])]
    with pytest.raises(ProtocolError, match="choose 12"):
        MatchPlan(LEDUC, 7, 0, ("a", "b", "c"), True)


@pytest.mark.parametrize("game", [LEDUC, "holdem.limit.3p"])
def test_an_agent_elsewhere_hears_what_it_hears_here(game: str) -> None:
    rules, _ = machine_of(game)
    names = ["a", "b", "c"][: rules.players]
    others = dict.fromkeys(names[1:], "uniform")
    here, there = Listener(), Listener()
    table(game, 30, 3, names, {"a": here, **others}).play()
    dealer = table(game, 30, 3, names, others, timeout=LONG)
    ((_, port),) = dealer.open()
    threads, _ = in_threads(client(game, there, port))
    dealer.play()
    joined(threads)
    assert here.heard == there.heard and len(here.heard) > 90


def test_a_strategy_without_an_answer_calls_and_says_so_once() -> None:
    rules, machine = machine_of(LEDUC)
    said: list[str] = []
    dealer = Dealer(LEDUC, 20, 3, "a,b", {"b": Listener(True)}, timeout=LONG, note=said.append)
    ((_, port),) = dealer.open()
    told: list[str] = []
    made = Client(rules, machine, Listener(True), 3, note=told.append)
    threads, results = in_threads(lambda: made.play(connected(HOST, port, LONG), LONG))
    outcome = dealer.play()
    joined(threads)
    assert not outcome.invalid and results[0].hands == 20
    assert len(said) == len(told) == 1 and "no row of that name" in told[0] and "calls" in told[0]


# A match that is killed goes on from its log


def killed_at(hand: int, log: Path, resume: bool, torn: int, remote: bool = False) -> list[int]:
    """Play in a fork of this process, which is killed in the middle of writing a hand; the ports, if any."""
    agents = {} if remote else dict(zip(("a", "b"), profiles(), strict=True))
    dealer = Dealer(LEDUC, 40, 11, "a,b", agents, True, log, resume, timeout=LONG)
    ports = [port for _, port in dealer.open()]
    child = os.fork()
    if child == 0:  # nothing of pytest's may run here
        try:
            played = dealer._log.__class__.hand

            def write(self: Any, over: states.LoggedHand) -> None:
                if over.hand == hand:
                    if torn:
                        self._file.write(states.written_played(over).encode()[:torn])
                        self._file.flush()
                    os.kill(os.getpid(), signal.SIGKILL)
                played(self, over)

            dealer._log.__class__.hand = write  # type: ignore[method-assign]
            dealer.play()
        finally:
            os._exit(1)
    for door in dealer._doors:
        door.listener.close()
    if not remote:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return [child, *ports]


def test_a_killed_match_goes_on_with_the_same_total(tmp_path: Path) -> None:
    agents = dict(zip(("a", "b"), profiles(), strict=True))
    whole_log, log = tmp_path / "whole.log", tmp_path / "killed.log"
    wanted = Dealer(LEDUC, 40, 11, "a,b", agents, True, whole_log).play()
    dice = random.Random(1)
    for number, hand in enumerate((0, 1, 7, 8, 23, 39)):
        killed_at(hand, log, number > 0, dice.choice((0, 5, 30)))
        assert log.read_text().count(":a|b\n") + log.read_text().count(":b|a\n") == hand
    outcome = Dealer(LEDUC, 40, None, "a,b", agents, True, log, True).play()
    assert outcome.totals == wanted.totals and outcome.resumed == 39
    assert log.read_bytes() == whole_log.read_bytes()
    again = Dealer(LEDUC, 40, 11, "a,b", {}, True, log, True)
    assert again.awaited == [] and again.open() == [] and again.play().totals == wanted.totals


def test_a_killed_match_of_clients_goes_on(tmp_path: Path) -> None:
    agents = dict(zip(("a", "b"), profiles(), strict=True))
    wanted = Dealer(LEDUC, 40, 11, "a,b", agents, True, tmp_path / "whole.log").play()
    log = tmp_path / "killed.log"
    child, *ports = killed_at(17, log, False, 9, remote=True)
    works = [client(LEDUC, player, port, 11, True) for player, port in zip(profiles(), ports, strict=True)]
    threads, results = in_threads(*works)
    os.waitpid(child, 0)
    joined(threads)
    assert [tally.hands for tally in results] == [18, 18]  # the end of the last was told, and not yet written
    dealer = Dealer(LEDUC, 40, 11, "a,b", {}, True, log, True, timeout=LONG)
    outcome, _ = over_the_wire(dealer, LEDUC, profiles(), 11)
    assert outcome.totals == wanted.totals and outcome.resumed == 17
    assert log.read_bytes() == (tmp_path / "whole.log").read_bytes()


def test_faults_are_remembered(tmp_path: Path) -> None:
    log = tmp_path / "log"
    dealer = Dealer(LEDUC, 12, 1, "bad,good", {"good": Listener()}, log=log, timeout=LONG)
    ((_, port),) = dealer.open()
    threads, _ = in_threads(lambda: dropping(9)(port))
    wanted = dealer.play()
    joined(threads)
    assert wanted.gone
    text = log.read_text().splitlines(keepends=True)
    at = next(k for k, line in enumerate(text) if line.startswith("# forfeit"))
    log.write_text("".join(text[: at + 3]))  # the rest is lost
    again = Dealer(LEDUC, 12, 1, "bad,good", {"good": Listener()}, log=log, resume=True)
    assert again.awaited == []
    outcome = again.play()
    assert outcome.totals == wanted.totals and outcome.gone == wanted.gone
    assert log.read_text() == "".join(text)


def test_a_log_that_was_changed_is_refused(tmp_path: Path) -> None:
    agents = dict(zip(("a", "b"), profiles(), strict=True))
    log = tmp_path / "log"
    Dealer(LEDUC, 10, 11, "a,b", agents, True, log).play()
    text = log.read_text()
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("STATE:"))

    def changed(*new: str, hands: int = 10, seed: int | None = 11, why: str) -> None:
        log.write_text("\n".join(new) + "\n")
        before = log.read_text()
        with pytest.raises(ProtocolError, match=why):
            Dealer(LEDUC, hands, seed, "a,b", agents, True, log, True)
        assert log.read_text() == before

    changed(*lines, hands=12, why="of another match.*hands 10")
    changed(*lines, seed=12, why="of another match.*seed 11")
    changed(*[line.replace("seed 11", "seed 12") for line in lines], seed=None, why="other cards than seed 12")
    changed(*lines[:first], *lines[first + 1 :], why=f"line {first + 1}: hand 0")
    changed(*lines[:first], lines[first + 1], *lines[first + 1 :], why="hand 0 of")
    changed(*lines[:first], lines[first].replace("|", "|-", 3), *lines[first + 1 :], why=f"line {first + 1}")
    changed(*lines[:first], "", *lines[first:], why=f"line {first + 1}")
    changed(*lines[:-1], "SCORE:1|-1:a|b", why="the score after 10 hands should be")
    changed(*lines, lines[first], why="more after the score")
    changed(*lines[:-1], lines[-2], why="more than 10 hands")
    changed(*lines[:first], "x" * 50_000, why="more than 32,768")
    swapped = lines[first].rpartition(":")
    changed(*lines[:first], f"{swapped[0]}:b|a", *lines[first + 1 :], why="hand 0 of a|b".replace("|", r"\|"))
    dice = random.Random(3)
    for _ in range(120):  # damage anywhere is refused by a sentence, or cuts off nothing but the end
        at = dice.randrange(len(text))
        log.write_text(text[:at] + dice.choice("x:|/0r\n") + text[at + 1 :])
        before = log.read_text()
        try:
            Dealer(LEDUC, 10, 11, "a,b", agents, True, log, True).close()
        except ProtocolError:
            assert log.read_text() == before


# The commands


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words], prog_name="kibitz")
    return int(end.value.code or 0)


def test_the_commands_play_a_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dealer in a process of its own, an agent there, and the client here."""
    log, plan = tmp_path / "match.log", MatchPlan(LEDUC, 20, 5, ("me", "other"))
    code = "import sys; from kibitz.cli import main; sys.argv[0] = 'kibitz'; main()"
    words = ["dealer", "leduc", "--hands", "20", "--seed", "5", "--players", "me,other", "--agent", "other=uniform"]
    words += ["--port", "0", "--log", str(log), "--timeout", "300"]
    there = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert there.stdout is not None
        found = re.match(r"a player: kibitz acpc-client PROFILE 127\.0\.0\.1 (\d+)\n", there.stdout.readline())
        assert found is not None
        assert run("acpc-client", "uniform", HOST, found[1], "--seed", "5", "--game", "leduc") == 0
        said, _ = there.communicate(timeout=LONG)
    finally:
        there.kill()
    told = capsys.readouterr().out
    played = enumerate(in_process(LEDUC, ("uniform", "uniform"), plan))
    wanted = sum(values[plan.place(hand)[1].index(0)] for hand, values in played)
    assert wanted and f"{wanted:+g} chips" in told and f"{wanted:+g} chips" in said and there.returncode == 0
    text = log.read_text()
    assert text.startswith("# kibitz dealer 1\n# game poker(file=leduc)\n# hands 20\n# seed 5\n# players me other\n")
    assert "# rule an invalid or late answer counts as a call" in text


def test_a_saved_profile_takes_a_seat(tmp_path: Path) -> None:
    profiles()[0].save(tmp_path / "one.profile")
    agents = {"a": str(tmp_path / "one.profile"), "b": profiles()[1]}
    wanted = Dealer(LEDUC, 20, 5, "a,b", agents | {"a": profiles()[0]}).play().totals
    assert Dealer(LEDUC, 20, 5, "a,b", agents).play().totals == wanted


def test_the_commands_refuse_by_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--agent", "player1=uniform", "--agent", "player2=uniform"]
    for words, why in (
        (["dealer", "leduc", "--hands", "0"], "--hands 0"), (["dealer", "leduc", "--port", "70000"], "--port 70000"),
        (["dealer", "leduc", "--agent", "x"], "NAME=PROFILE"),
        (["dealer", "leduc", "--agent", "x=uniform"], "no player x"),
        (["dealer", "leduc", *both[:2] * 2], "given twice"), (["dealer", "toepen"], "poker by a definition"),
        (["dealer", "leduc", "--timeout", "0"], "--timeout 0"), (["dealer", "leduc", "--resume"], "--log FILE"),
        (["dealer", "leduc", "--log", str(tmp_path)], "is a directory"),
        (["dealer", "leduc", "--host", "256.1.1.1", "--hands", "2"], "cannot be listened at"),
        (["acpc-client", "uniform", HOST, "1"], "--game"), (["acpc-client", "uniform", HOST, "x"], "1 to 65535"),
        (["acpc-client", "uniform", HOST, "99999", "--game", "leduc"], "65535"),
        (["acpc-client", "uniform", HOST, "1", "--game", "leduc"], "no dealer answers"),
        (["acpc-client", "nobody", HOST, "1", "--game", "leduc"], "no saved strategy"),
        (["acpc-client", "uniform", HOST, "1", "--game", "toepen"], "poker by a definition"),
    ):  # fmt: skip
        assert run(*words) == 2, words
        assert why in capsys.readouterr().err, words
    assert run("dealer", "kuhn", "--hands", "10", "--seed", "1", *both, "--json") == 0
    assert '"total": ' in capsys.readouterr().out


def test_limits_are_as_told() -> None:
    """Numbers that other tests and texts rely on."""
    assert wire.MOST_UNSENT < 1 << 20 and states.MOST_LINE < 1 << 16 and seats.MOST_STRAYS < seats.MOST_STRAYS_IN_ALL
