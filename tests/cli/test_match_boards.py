"""kibitz match --boards."""

from __future__ import annotations

import json

import pytest
from commands import good

import kibitz
from kibitz.poker.stitching.experts import poker_of
from kibitz.poker.whole.profiles import against

GAME = "poker(file=holdem.limit.2p, ranks=4, suits=3)"


@pytest.fixture
def strategies(call):
    for name, buckets in (("fine", "percentile(4)"), ("coarse", "percentile(1)")):
        good(call, "solve", GAME, "--abstraction", buckets, "--iterations", "200", "--out", f"{name}.profile")


@pytest.mark.usefixtures("strategies")
def test_the_estimate_is_the_exact_figure(call):
    data = json.loads(good(call, "match", "fine.profile", "coarse.profile", "--boards", "9", "--json"))
    mean = sum(against(poker_of(kibitz.game(GAME)), *map(kibitz.load, ("fine.profile", "coarse.profile")))) / 2
    low, high = data["interval"]
    assert low < data["mean"] < high and abs(data["mean"] - mean) < 2 * (high - low) and mean > 0
    assert data["mbb"] == pytest.approx(100 * data["mean"]) and data["boards"] > 500
    text = good(call, "match", "fine.profile", "coarse.profile", "--boards", "9")
    assert "fine.profile wins" in text and "mbb" in text


@pytest.mark.parametrize(("arguments", "said"), [
    (("always-call", "always-raise", "--game", "leduc", "--boards", "4"), "--boards is for two-player poker"),
    (("always-call", "always-raise", "--game", "toepen", "--boards", "4"), "--boards is for two-player poker"),
    (("always-call",) * 3 + ("--game", "holdem.limit.3p", "--boards", "4"), "for two players, not 3"),
    (("always-call", "always-raise", "--game", GAME, "--boards", "4", "--deals", "9"), "plays no deals"),
    (("always-call", "always-raise", "--game", GAME, "--boards", "0"), "should be 1 or more"),
    (("always-call", "always-raise", "--game", GAME, "--device", "gpu"), "--device is for --boards"),
    (("always-call", "always-raise", "--game", "poker(file=leduc)", "--boards", "4"), "sweep it whole"),
])  # fmt: skip
def test_refused(call, arguments, said):
    code, _, err = call("match", *arguments)
    assert code == 2 and said in " ".join(err.split())
