"""Each command has a Python function, documented, with the same defaults and the same figures."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import kibitz
from kibitz import commands
from kibitz.bench import api
from kibitz.bench.api import TWINS
from kibitz.cli import app

COMMANDS = [*(each.callback.__name__.rstrip("_").replace("_", "-") for each in app.registered_commands), "cards"]


def resolved(name: str) -> object:
    home, _, last = name.partition(":")
    return getattr(importlib.import_module(home), last) if last else importlib.import_module(home)


def test_each_command_has_a_documented_twin() -> None:
    assert list(TWINS) == COMMANDS
    page = api.page()
    for command, name in TWINS.items():
        assert resolved(name) is not None, command
        name = name.replace(":", ".")
        assert re.search(rf"^###? {re.escape(name)}$", page, re.MULTILINE), f"{command}: {name} is not documented"
        assert f"| `kibitz {command}` | `{name}` |" in page


@pytest.mark.parametrize("command", ["info", "phases", "tournament", "shrink", "evaluate", "check", "match", "solve"])
def test_twins_have_the_defaults_of_their_commands(command: str) -> None:
    (cli,) = [each.callback for each in app.registered_commands if each.callback.__name__ == command]
    options = inspect.signature(cli).parameters
    for name, parameter in inspect.signature(resolved(TWINS[command])).parameters.items():
        if name in options and parameter.default not in (inspect.Parameter.empty, None):
            said = options[name].default
            if said is None:  # said in the help
                said = {"solver": "auto", "seed": 0}[name]
            assert str(said) == str(parameter.default), name


def test_info_is_what_the_command_says() -> None:
    assert kibitz.info("kuhn")["histories"]["total"] == 58 and kibitz.info("kuhn")["bytes"]["solve"] > 1000
    assert kibitz.info("poker(file=kuhn)")["players"] == 2
    assert "too_large" in kibitz.info("holdem.limit.2p")
    assert kibitz.info("rhode_island", "percentile(2)")["abstraction"] == "percentile(buckets=2)"


def test_poker_twins() -> None:
    shrunk = kibitz.shrink("leduc")
    assert shrunk.classes == kibitz.shrink("leduc", threshold=[0, 0]).classes
    with pytest.raises(kibitz.KibitzError, match="two-player poker"):
        kibitz.shrink("kuhn")
    assert kibitz.abstract("poker(file=leduc)", "percentile(2)").counts[0] == 2
    with pytest.raises(kibitz.KibitzError, match="poker by a definition"):
        kibitz.abstract("kuhn", "percentile(2)")
    said: list[str] = []
    profiles = kibitz.phases("poker(file=leduc)", "percentile(2)", 1, begin=2, progress=said.append, iterations=5)
    assert len(profiles) == len(said) == 2 and profiles[1].meta["phase"] == 2
    two = kibitz.tournament("tournament(players=2, chips=800, unit=100, blinds=100/200, prizes=1/0)", until=1e-3)
    assert two.solution.done == 1 and two.check.epsilon < 0.01
    assert kibitz.icm([10, 10], [60, 40]).tolist() == [50, 50]


def test_evaluate_and_show_and_export(tmp_path: Path) -> None:
    profile = kibitz.solve("kuhn", "cfr+", iterations=50)
    profile.save(tmp_path / "k.profile")
    data = commands.evaluate(tmp_path / "k.profile")
    assert data == commands.evaluate(profile, "kuhn") and data["nash_conv"] == pytest.approx(profile.nash_conv)
    blueprint = kibitz.train("kuhn", iterations=100, threads=1)
    assert commands.evaluate(blueprint)["nash_conv"] == pytest.approx(kibitz.nash_conv("kuhn", blueprint))
    said: list[str] = []
    large = kibitz.train("toepen", iterations=5, threads=1, options=kibitz.BlueprintOptions("1MB"))
    sampled = commands.evaluate(large, seconds=0.01, progress=said.append)
    assert sampled["sampled"] and sampled["exploitability_at_least"] >= 0.0 and len(said) == 2
    shown = kibitz.show(profile, 0, filter="J", limit=1, values=kibitz.infoset_values("kuhn", profile))
    assert [row["seat"] for row in shown["strategy"]] == [0] and shown["strategy"][0]["reach"] > 0
    kibitz.export("kuhn", tmp_path / "kuhn.efg")
    kibitz.export(profile, tmp_path / "k.csv")
    kibitz.export(tmp_path / "k.profile", tmp_path / "k.json")
    assert kibitz.profile_from("kuhn", tmp_path / "k.csv") == profile
    assert json.loads((tmp_path / "k.json").read_text())["sha256"] == profile.sha256
    assert (tmp_path / "kuhn.efg").read_text().startswith("EFG 2 R")
    with pytest.raises(kibitz.KibitzError, match=r"should end in \.efg"):
        kibitz.export(profile, tmp_path / "k.txt")
