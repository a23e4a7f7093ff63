"""Where a strategy is silent: one rule for `act` and compiled matches, and how often it was asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.cli import app
from kibitz.evaluate.match import match
from kibitz.games.tree import tree_of
from kibitz.games.views import View
from kibitz.play.agents import agent
from kibitz.play.compiled import Compiled
from kibitz.play.fallback import SAMPLED, Silence, call_of, fold_of, sampled_silence, silence_of
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import BlueprintOptions
from kibitz.solvers.table_strategy import is_blank

GAME = "poker(file=leduc)"


@cache
def blueprint() -> kibitz.Blueprint:
    """So short a training that most rows are not there."""
    return kibitz.train(GAME, iterations=3, options=BlueprintOptions(1 << 20), threads=1, seed=4)


def seated() -> Compiled:
    found = agent(blueprint(), machine_of(GAME))
    assert isinstance(found, Compiled)
    return found


def test_rows_that_are_not_there_are_told_apart_and_played_uniformly() -> None:
    mine, infosets = seated(), tree_of(kibitz.game(GAME)).infosets
    table, machine = mine.player.store, mine.machine
    held = {int(key): table.value[at] for at, key in enumerate(table.key) if key}
    silent = answered = 0
    for seat in range(2):
        for at in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            label, actions = str(infosets.labels[at]), tuple(map(str, infosets.actions[infosets.actions_of[at]]))
            key = int(machine.keys_of(mine.table.view, seat, [label], [len(actions)])[0])  # type: ignore[union-attr]
            row = held.get(key)
            blank = row is None or not (row > 0).any()
            assert (mine.answer(seat, label, actions) is None) == blank
            assert is_blank(table, key, len(actions), machine.actions) == blank
            before = mine.unanswered
            answer = mine.act(View(seat, (), (), actions, label))
            assert mine.unanswered - before == blank and sum(answer) == pytest.approx(1.0)
            if blank:
                assert answer == pytest.approx([1.0 / len(actions)] * len(actions))
            silent, answered = silent + blank, answered + (not blank)
    assert silent > 50 and answered > 20
    assert silence_of(mine) == Silence(silent + answered, silent)


def test_compiled_matches_do_what_act_does_where_rows_are_missing() -> None:
    class Slow:
        name = "slow"

        def __init__(self, one: Compiled) -> None:
            self.begin, self.act, self.end = one.begin, one.act, one.end

    mine, machine = seated(), machine_of(GAME)
    others = agent("uniform", machine)
    fast = match(machine, mine, others, deals=300, seed=2)
    slow = match(machine, Slow(mine), others, deals=300, seed=2)
    np.testing.assert_allclose(fast.mean, slow.mean, atol=1e-12)
    assert 0 < mine.unanswered < (mine.asked or 0)


def test_a_compiled_match_is_sampled_for_it() -> None:
    machine = machine_of(GAME)
    mine, other = seated(), agent("uniform", machine)
    one, two = sampled_silence(machine, [mine, other], 2, 1000)
    assert two is None and one is not None and 0 < one.unanswered < one.asked <= SAMPLED * 2 * 8
    assert sampled_silence(machine, [mine, other], 2, 1000)[0] == one  # the same deals, and only what is new


def test_a_profile_has_all_rows() -> None:
    machine = machine_of(GAME)
    mine = agent(kibitz.solve(GAME, "cfr+", iterations=2), machine)
    kibitz.match(machine, mine, "uniform", deals=5)
    assert sampled_silence(machine, [mine, agent("uniform", machine)], 1, 20)[0].unanswered == 0  # type: ignore[union-attr]


def test_words_for_those_who_say_nothing() -> None:
    assert call_of(["fold", "call", "raise"]) == "call" and fold_of(["fold", "call"]) == "fold"
    assert call_of(["fold"]) == "fold" and fold_of(["call", "raise"]) == "call" and call_of(["x", "y"]) == "x"


def test_the_command_says_how_often(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint().save(tmp_path / "few.blueprint")
    words = ["match", str(tmp_path / "few.blueprint"), "uniform", "--deals", "200"]
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as end:
            app([*words, *more], prog_name="kibitz")
        assert not end.value.code
        told = capsys.readouterr().out
        if more:
            found = json.loads(told)["silence"]
            assert found[1] is None and 0 < found[0]["unanswered"] < found[0]["asked"]
        else:
            assert "silent in" in " ".join(told.split())
