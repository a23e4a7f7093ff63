"""Commands that read profiles: evaluate, show, export; and demo and bench."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import Call, bad, data, good

import kibitz
from kibitz.forms.profile import Profile

ROOT = Path(__file__).parents[2]

# Profiles


def test_evaluate(call: Call, kuhn: Path) -> None:
    out = good(call, "evaluate", kuhn)
    assert "best response" in out and "exploitability" in out and "-0.055556" in out
    found = data(call, "evaluate", kuhn)
    assert found["value"] == pytest.approx([-1 / 18, 1 / 18]) and found["nash_conv"] == pytest.approx(0, abs=1e-12)
    assert found["game"] == "kuhn" and len(found["best_response"]) == 2
    assert "another game" in bad(call, "evaluate", kuhn, "--game", "leduc")


def test_show(call: Call, kuhn: Path) -> None:
    out = good(call, "show", kuhn)
    assert "player 0: 6 infosets" in out and "player 1: 6 infosets" in out
    assert "pass" in out and "100%" in out and "█" in out
    assert out.index("J:") < out.index("Q:") < out.index("K:")
    one = good(call, "show", kuhn, "--player", "1", "--filter", "K", "--top", "1")
    assert "seat 0" not in one and "K:p" in one and "K:b" not in one and "and 1 more" in one
    whole = data(call, "show", kuhn)
    assert len(whole["strategy"]) == 12 and whole["seats"] == 2
    row = data(call, "show", kuhn, "--infoset", "J:b")["strategy"]
    assert row == [
        {"seat": 1, "infoset": "J:b", "actions": {"pass": 1.0, "bet": 0.0}, "reach": 0.0,
         "values": {"pass": None, "bet": None}}
    ]  # fmt: skip
    assert len(data(call, "show", kuhn, "--top", "2")["strategy"]) == 4
    assert "no player 2" in bad(call, "show", kuhn, "--player", "2")
    assert "near ones" in bad(call, "show", kuhn, "--infoset", "J:bb")
    assert "contains 'Z'" in bad(call, "show", kuhn, "--filter", "Z")
    assert "--top" in bad(call, "show", kuhn, "--top", "-1")


def test_show_without_bars_and_with_many_actions(call: Call, kuhn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert "█" not in good(call, "show", kuhn)
    kibitz.solve("liars_dice(dice_sides=4)", "cfr+", iterations=30).save("dice.profile")
    out = good(call, "show", "dice.profile", "--top", "3")
    assert "others below 0.1%" in out


def test_what_a_profile_says_does_not_steer_the_terminal(call: Call, kuhn: Path) -> None:
    profile = kibitz.load(str(kuhn))
    labels = ["\x1b[2J[red]J:", *profile.infosets.labels[1:]]
    actions = [("pass\x07", "bet\n")]
    infosets = replace(profile.infosets, labels=labels, actions=actions)
    Profile(infosets, np.array(profile.probabilities), {"game": "\x1b]0;x\x07", "solver": "[bold]"}).save("p.profile")
    out = good(call, "show", "p.profile")
    assert "\x1b" not in out and "\x07" not in out and "\\x1b[2J[red]J:" in out and "[bold]" in out
    _, _, err = call("evaluate", "p.profile")
    assert "\x1b" not in err


def test_export(call: Call, kuhn: Path) -> None:
    assert "58 histories" in good(call, "export", "kuhn", "kuhn.efg")
    assert data(call, "solve", "kuhn.efg")["value"][0] == pytest.approx(-1 / 18)
    good(call, "export", kuhn, "kuhn.csv")
    lines = Path("kuhn.csv").read_text().splitlines()
    assert lines[0] == "seat,infoset,action,probability" and len(lines) == 25
    good(call, "export", kuhn, "sub/kuhn.json")
    assert json.loads(Path("sub/kuhn.json").read_text()) == data(call, "show", kuhn, "--no-values")
    assert ".efg" in bad(call, "export", "kuhn", "kuhn.txt")
    assert ".csv or .json" in bad(call, "export", kuhn, "kuhn2.efg")


def assert_sample(out: str) -> None:
    """What the README shows of the demo is what it prints: words to the letter, figures but for times and last bits."""
    (sample,) = re.findall(r"```text\n(game .*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    printed = [figures_apart(line) for line in out.splitlines()]
    for words, figures in map(figures_apart, filter(str.strip, sample.splitlines())):
        assert any(words == those and figures == pytest.approx(like, rel=0.02) for those, like in printed), words


def figures_apart(line: str) -> tuple[str, list[float]]:
    line = re.sub(r"[\d.]+ (ms|s|min)\b", "TIME", re.sub(r"[\u2500-\u259f]", " ", line))
    figure = r"-?\d[\d,]*\.?\d*(?:e-?\d+)?"
    return " ".join(re.sub(figure, "#", line).split()), [float(x.replace(",", "")) for x in re.findall(figure, line)]


def test_demo(call: Call) -> None:
    out = good(call, "demo")
    assert_sample(out)
    assert "-0.085606" in out and "compiles" in out and "Try next" in out and "raise" in out
    assert Path("runs/demo/leduc.png").read_bytes().startswith(b"\x89PNG")
    assert kibitz.load("runs/demo/leduc.profile").meta["nash_conv"] <= 1e-4


def test_bench_hands_its_options_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr("kibitz.bench.bench.bench", lambda **options: given.update(options))
    good(call, "bench", "--quick", "--seconds", "3", "--out", "b.json", "--only", "lp")
    assert callable(given.pop("show")) and callable(given.pop("say"))
    assert given == {
        "seconds": 3.0, "quick": True, "out": Path("b.json"), "markdown": None, "only": "lp",
        "peers_python": None,
    }  # fmt: skip
    assert "--seconds" in bad(call, "bench", "--seconds", "0")
    assert ".md" in bad(call, "bench", "--markdown", "b.txt")
