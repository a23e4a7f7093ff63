"""The competition's own dealer (project_acpc_server, in C): matches of its example player and of our client.

tests/acpc_reference has its logs. What it deals and pays must be what our rules say, hand by hand. To play against it
anew, compile it and name its folder: KIBITZ_ACPC_SERVER=folder pytest tests/poker/test_acpc_reference.py
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.poker.acpc.seats import poker_game
from kibitz.poker.acpc.states import ProtocolError, logged_hand, parse_played, parse_score, state_of, written_played
from kibitz.poker.acpc.states import written_score as score_of

LOGS = Path(__file__).parents[1] / "acpc_reference"
SERVER = os.environ.get("KIBITZ_ACPC_SERVER")
NO_LIMIT_3 = """GAMEDEF
nolimit
numPlayers = 3
numRounds = 4
stack = 20000 20000 20000
blind = 50 100 0
firstPlayer = 3 1 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""
# Names of games, and of the reference's definitions
GAMES = {
    "holdem.limit.2p": "holdem.limit.2p.reverse_blinds.game", "holdem.limit.3p": "holdem.limit.3p.game",
    "holdem.nolimit.2p": "holdem.nolimit.2p.reverse_blinds.game", "holdem.nolimit.3p": "holdem.nolimit.3p.game",
}  # fmt: skip


def source_of(game: str, folder: Path) -> str:
    """What `--game` is given."""
    if game != "holdem.nolimit.3p":
        return game
    path = folder / f"{game}.game"
    path.write_text(NO_LIMIT_3, encoding="utf-8")
    return str(path)


def by_card(line: str) -> str:
    """Cards that are dealt together in an order of their own: we write them by rank, the reference as they came."""
    return re.sub(r"([2-9TJQKA][cdhs]){2,}", lambda cards: "".join(sorted(re.findall("..", cards[0]))), line)


def check_log(path: Path, source: str) -> int:
    rules, totals, hands = poker_game(source), {}, 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("STATE:"):
            hand = parse_played(rules, line)
            again = written_played(logged_hand(rules, state_of(rules, hand), hands, hand.names))
            assert by_card(again) == by_card(line)
            hands += 1
            for name, value in zip(hand.names, line.split(":")[4].split("|"), strict=True):
                totals[name] = totals.get(name, 0.0) + float(value)
        elif line.startswith("SCORE:"):
            _, names = parse_score(line, len(totals))
            assert score_of([totals[name] for name in names], names) == line
    return hands


@pytest.mark.parametrize("game, hands", [
    ("holdem.limit.2p", 200), ("holdem.limit.3p", 120), ("holdem.nolimit.2p", 80), ("holdem.nolimit.3p", 80),
])  # fmt: skip
@pytest.mark.some(4)
def test_what_it_deals_and_pays_is_what_our_rules_say(game, hands, tmp_path):
    assert check_log(LOGS / f"{game}.log", source_of(game, tmp_path)) == hands


def test_a_wrong_payoff_would_be_found(tmp_path):
    text = (LOGS / "holdem.limit.3p.log").read_text(encoding="utf-8")
    first = next(line for line in text.splitlines() if line.startswith("STATE:0:"))
    paid = first.split(":")[4]
    wrong = "|".join(str(2 * float(value)) for value in paid.split("|"))
    (tmp_path / "wrong.log").write_text(text.replace(paid, wrong, 1), encoding="utf-8")
    with pytest.raises((AssertionError, ProtocolError)):
        check_log(tmp_path / "wrong.log", "holdem.limit.3p")


def free_ports(count: int) -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in found]
    for each in found:
        each.close()
    return ports


@pytest.mark.skipif(SERVER is None, reason="KIBITZ_ACPC_SERVER names no folder with the reference's programs")
@pytest.mark.parametrize("game", GAMES)
def test_our_client_at_its_table_and_its_player_at_ours(game, tmp_path):
    server = Path(str(SERVER)).resolve()
    seats, source, definition = int(game[-2]), source_of(game, tmp_path), str(server / GAMES[game])
    ports, names = free_ports(seats), ["kibitz", "example", "other"][:seats]
    kibitz = [sys.executable, "-m", "kibitz.cli"]
    dealer = [str(server / "dealer"), "match", definition, "60", "5", *names, "-p", ",".join(map(str, ports))]
    with subprocess.Popen([*dealer, "-q", "--start_timeout", "120000"], cwd=tmp_path, stdout=subprocess.PIPE) as dealt:
        assert dealt.stdout is not None
        dealt.stdout.readline()  # the ports: it listens
        client = [*kibitz, "acpc-client", "uniform", "127.0.0.1", str(ports[0]), "--game", source]
        players = [subprocess.Popen(client, cwd=tmp_path)]
        players += [
            subprocess.Popen(
                [str(server / "example_player"), definition, "127.0.0.1", str(port)], stderr=subprocess.DEVNULL
            )
            for port in ports[1:]
        ]
        assert players[0].wait(300) == 0 and dealt.wait(300) == 0
        assert all(player.wait(60) is not None for player in players)
    assert check_log(tmp_path / "match.log", source) == 60

    port = free_ports(1)[0]
    ours = [*kibitz, "dealer", source, "--hands", "60", "--seed", "5", "--log", "ours.log", "--port", str(port)]
    with subprocess.Popen(ours, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as dealt:
        assert dealt.stdout is not None
        next(line for line in dealt.stdout if str(port) in line)
        players = [
            subprocess.Popen(
                [str(server / "example_player"), definition, "127.0.0.1", str(port)], stderr=subprocess.DEVNULL
            )
            for _ in range(seats)
        ]
        dealt.communicate(timeout=300)
        assert dealt.returncode == 0 and all(player.wait(60) is not None for player in players)
    assert check_log(tmp_path / "ours.log", source) == 60
