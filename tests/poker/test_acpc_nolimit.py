"""No-limit matches over the ACPC protocol: strategies of action abstractions against players of any bet size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acpc_tables import HOST, LONG, hands_of, in_process, in_threads, joined, over_the_wire, whole
from no_limit import AnySize, small_file

import kibitz
from kibitz.cli import app
from kibitz.play.agents import agent
from kibitz.poker.acpc.client import Client
from kibitz.poker.acpc.dealer import Dealer, DealerOutcome
from kibitz.poker.acpc.seats import poker_game
from kibitz.poker.acpc.wire import connected
from kibitz.poker.nolimit.translation import Translated
from kibitz.solvers.machines import playable
from kibitz.solvers.new_blueprints import BlueprintOptions


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """(a small unabstracted game, two profiles of action abstractions)."""
    folder = tmp_path_factory.mktemp("fewer")
    game = small_file(folder)
    paths = str(folder / "one.profile"), str(folder / "two.profile")
    for path, bets in zip(paths, ("[0.5, 1, allin]", "[1, 2], raises=2"), strict=True):
        kibitz.solve(f'poker(file="{game}", bets={bets})', "cfr+", iterations=20).save(path)
    return game, *paths


def clean(outcome: DealerOutcome) -> None:
    assert not outcome.invalid and not outcome.late and not outcome.gone
    assert sum(outcome.totals) == pytest.approx(0.0)


@pytest.mark.parametrize("duplicate", [False, True])
def test_two_strategies_of_fewer_bets_over_the_wire(
    saved: tuple[str, str, str], tmp_path: Path, duplicate: bool
) -> None:
    """Hand for hand the match that is played in one process."""
    game, *players = saved
    log = tmp_path / "match.log"
    dealer = Dealer(game, 120, 5, "one,two", duplicate=duplicate, log=log, timeout=LONG)
    outcome, tallies = over_the_wire(dealer, game, tuple(players), 5)
    clean(outcome)
    whole(log, outcome, game)
    assert [list(hand.values) for hand in hands_of(log, game)] == list(in_process(game, tuple(players), dealer.plan))
    assert tuple(tally.total for tally in tallies) == outcome.totals
    sizes = {action for hand in hands_of(log, game) for said in hand.betting for action in said if action[0] == "r"}
    assert len(sizes) > 5


def test_against_one_who_bets_any_size(saved: tuple[str, str, str], tmp_path: Path) -> None:
    game, path, _ = saved
    rules = poker_game(game)
    machine = playable(rules)
    mine = agent(path, machine)
    assert isinstance(mine, Translated)
    log = tmp_path / "match.log"
    dealer = Dealer(game, 150, 3, "me,you", timeout=LONG, log=log)
    ports = dict(dealer.open())
    said: list[str] = []
    clients = {"me": Client(rules, machine, mine, 3, note=said.append), "you": Client(rules, machine, AnySize(1), 3)}
    threads, tallies = in_threads(
        *(lambda name=name: clients[name].play(connected(HOST, ports[name], LONG), LONG) for name in ("me", "you"))
    )
    outcome = dealer.play()
    joined(threads)
    clean(outcome)
    whole(log, outcome, game)
    assert not said and [tally.hands for tally in tallies] == [150, 150]
    assert mine.asked > 150 and mine.unanswered < mine.asked


def test_a_match_of_the_dealer_goes_on_with_the_same_total(saved: tuple[str, str, str], tmp_path: Path) -> None:
    """Answers depend on the infoset alone, so a match that is resumed is the match."""
    game, *paths = saved
    agents = dict(zip(("one", "two"), paths, strict=True))
    wanted = Dealer(game, 30, 9, "one,two", agents, log=tmp_path / "whole.log").play()
    text = (tmp_path / "whole.log").read_text().splitlines(keepends=True)
    (tmp_path / "cut.log").write_text("".join(text[:25]))
    again = Dealer(game, 30, 9, "one,two", agents, log=tmp_path / "cut.log", resume=True).play()
    assert again.totals == wanted.totals and 0 < again.resumed < 30
    assert (tmp_path / "cut.log").read_bytes() == (tmp_path / "whole.log").read_bytes()
    assert all(found.asked > 0 for found in wanted.silence.values()) and len(wanted.silence) == 2


# The commands


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words], prog_name="kibitz")
    return int(end.value.code or 0)


def test_the_client_plays_the_game_of_all_bets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hold'em of the competition, 200 big blinds: the game follows from the blueprint's."""
    few = "poker(file=holdem.nolimit.2p, bets=[1, allin], raises=2)"
    kibitz.train(few, iterations=20, options=BlueprintOptions(1 << 24), threads=1).save(tmp_path / "nl.blueprint")
    log = tmp_path / "match.log"
    dealer = Dealer("holdem.nolimit.2p", 3, 1, "me,you", {"you": AnySize(2)}, log=log, timeout=LONG)
    ((_, port),) = dealer.open()
    threads, found = in_threads(dealer.play)
    assert run("acpc", "join", str(tmp_path / "nl.blueprint"), HOST, str(port), "--seed", "1", "--json") == 0
    joined(threads)
    told = json.loads(capsys.readouterr().out)
    clean(found[0])
    whole(log, found[0], "holdem.nolimit.2p")
    assert told["game"] == "poker(file=holdem.nolimit.2p)" and told["hands"] == 3 and told["silence"]["asked"] > 0
    assert told["total"] == found[0].totals[0]


def test_a_game_in_a_file_is_named(saved: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    game, one, two = saved
    assert run("acpc", "join", one, HOST, "1") == 2
    assert "add --game" in capsys.readouterr().err
    assert run("match", one, two, "--game", game, "--deals", "20", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["hands"] == 40 and [each["asked"] > 20 for each in told["silence"]] == [True, True]
    assert run("match", f"search({one})", two, "--game", game) == 2
    assert "search searches in the game of" in capsys.readouterr().err
