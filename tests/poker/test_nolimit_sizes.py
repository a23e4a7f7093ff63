"""Which bet size to add next: paired differences, simultaneous intervals, and the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from no_limit import small_file

import kibitz
from kibitz.cli import app
from kibitz.core.errors import KibitzError
from kibitz.evaluate.score import LEVEL, Score
from kibitz.poker.nolimit.response import SeatedStrategy, score_of
from kibitz.poker.nolimit.sizes import Candidate, NextSize, _at_level, _with_bets, next_size
from kibitz.solvers.new_blueprints import BlueprintOptions

ALL_IN = float("inf")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("sizes")
    game = small_file(folder)
    path = str(folder / "few.profile")
    kibitz.solve(f'poker(file="{game}", bets=[1, allin])', "cfr+", iterations=200).save(path)
    return game, path


def test_losses_are_differences_on_the_same_deals(saved: tuple[str, str]) -> None:
    game, path = saved
    deals, tried = 1500, (0.25, 0.5, 2)
    result = next_size(path, game, candidates=(*tried, 1), deals=deals, seed=3)
    target = SeatedStrategy(path, game)
    base = target.won(target.response((1.0, ALL_IN)), 3, 0, deals).mean(axis=1)
    assert result.sizes == (1.0, ALL_IN) and result.base == score_of(base)
    assert {each.size for each in result.candidates} == set(tried)  # 1 is there already
    for each in result.candidates:
        sizes = tuple(sorted((1.0, ALL_IN, each.size)))
        more = target.won(target.response(sizes), 3, 0, deals).mean(axis=1) - base
        assert each.loss == score_of(more, LEVEL / len(tried))
        low, high = score_of(more).interval  # each by itself: narrower than all together
        assert each.loss.interval[0] < low and each.loss.interval[1] > high
    means = [each.loss.mean for each in result.candidates]
    assert means == sorted(means, reverse=True) and result.best == result.candidates[0].size


def test_a_size_is_named_only_beyond_doubt() -> None:
    def result(*found: tuple[float, float, float]) -> NextSize:
        candidates = tuple(Candidate(size, Score(mean, 1.0, (low, 2 * mean - low))) for size, mean, low in found)
        return NextSize("game", "name", (1.0,), Score(0, 1, (-2, 2)), candidates, 10, 2, 1.0)

    assert result((0.5, 3.0, -0.1), (2.0, 1.0, 0.5)).best == 2.0
    assert result((0.5, 3.0, -0.1)).best is None and result((0.5, 3.0, -0.1)).best_match is None
    score = Score(1.0, 0.5, (0.0, 2.0))
    assert _at_level(score, 1000, 0.05).interval == pytest.approx((1 - 0.5 * 1.9623, 1 + 0.5 * 1.9623), abs=1e-3)
    assert _with_bets("poker(file=x.game, bets=[1], raises=2)", (0.5, ALL_IN)) == str(
        kibitz.core.spec.parse("poker(file=x.game, bets=[0.5, allin], raises=2)")
    )


def test_candidates_are_trained_and_matched(saved: tuple[str, str]) -> None:
    game, _ = saved
    few = kibitz.train(f'poker(file="{game}", bets=[1, allin])', iterations=200, threads=1,
                       options=BlueprintOptions(memory="5MB"))  # fmt: skip
    result = next_size(few, game, candidates=(0.5,), deals=50, seconds=0.2, threads=1)
    score = result.candidates[0].match
    assert score is not None and score.interval[0] < score.mean < score.interval[1]
    assert result.data()["candidates"][0]["match"]["mean"] == score.mean


def test_what_has_no_answer_is_refused(saved: tuple[str, str]) -> None:
    game, path = saved
    whole = kibitz.solve(game, "cfr+", iterations=2)
    for arguments, why in (
        ((path, game, {"candidates": [1, "allin"]}), "has all candidates already"),
        ((path, game, {"candidates": ["half"]}), "not a bet size"),
        ((whole, game, {}), "has every bet size already"),
    ):
        with pytest.raises(KibitzError, match=why):
            next_size(*arguments[:2], **arguments[2])


def run(capsys: Any, *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        app(list(words), prog_name="kibitz")
    assert not end.value.code
    return str(capsys.readouterr().out)


def test_commands(saved: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    game, path = saved
    said = json.loads(run(capsys, "poker", "respond", path, "--game", game, "--deals", "200", "--json"))
    assert said["deals"] == 200 and said["interval"][0] < said["mean"] < said["interval"][1]
    assert said["sizes"] == [0.5, 1.0, 2.0, "allin"] and said["milli_blinds"]["mean"] == 1000 * said["mean"]
    text = run(capsys, "poker", "respond", path, "--game", game, "--deals", "200", "--sizes", "1,allin")
    assert "wins per hand" in text and "mbb per hand" in text
    found = json.loads(run(capsys, "poker", "sizes", path, "--game", game, "--deals", "200", "--candidates", "0.5",
                           "--json"))  # fmt: skip
    assert [each["size"] for each in found["candidates"]] == [0.5] and found["best"] in (0.5, None)
    text = run(capsys, "poker", "sizes", path, "--game", game, "--deals", "60", "--candidates", "0.5,2")
    assert "next size" in text and "and with 0.5" in text
