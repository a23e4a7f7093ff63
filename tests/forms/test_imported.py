"""Strategies that come in: what went out comes back to the bit, and what is wrong is one clear sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from random_games import Nested, choice, edge_cases, end

import kibitz
from kibitz.cli import app
from kibitz.commands import as_csv, as_json
from kibitz.core.errors import ArtefactError, GameError, KibitzError
from kibitz.games.tree import tree_of
from kibitz.solvers.run import solve

NAMES = ["=1+1", "-2", "+3", "@x", "'quoted", "''", "a,b", 'say "so"', "two\nlines", "\r", " ", "日本", "\t"]


def odd_names():
    """A game whose infosets and actions have names that a CSV file must quote."""
    node = end(1, -1)
    for name in NAMES:
        node = (0, name, tuple((action, node if k == 0 else end(k, -k)) for k, action in enumerate(NAMES)))
    return Nested(2, node)


def games():
    yield "kuhn", kibitz.game("kuhn")
    yield "leduc", kibitz.game("leduc")
    yield "three seats", kibitz.game("kuhn(players=3)")
    yield "both seats know the same", kibitz.game("goofspiel(num_cards=3)")
    yield "poker form", kibitz.game("poker(file=leduc)")
    yield "odd names", odd_names()
    yield "numbers", Nested(2, (0, "numbers", ((3, end(1, -1)), (-1, end(0, 0)))))
    yield from edge_cases().items()


@pytest.mark.parametrize(("name", "game"), [pytest.param(*each, id=each[0]) for each in games()])
def test_what_goes_out_comes_back_to_the_bit(name, game, tmp_path):
    profile = solve(game, "cfr+", iterations=7)
    for ending, text in ((".csv", as_csv(profile)), (".json", as_json(profile))):
        path = tmp_path / f"strategy{ending}"
        path.write_bytes(text.encode())
        back = kibitz.profile_from(game, path)
        assert back == profile and back.probabilities.tobytes() == profile.probabilities.tobytes()
        assert kibitz.value(game, back).tolist() == kibitz.value(game, profile).tolist()
        assert ("nash_conv" in back.meta) == (ending == ".json")  # it is that very strategy
    table = {(s, label): row for s in range(profile.seats) for label, row in profile.items(s)}
    assert kibitz.profile_from(game, table) == profile


def test_poker_told_apart_by_suits_is_a_profile_of_the_tree(tmp_path):
    game = kibitz.game("poker(file=leduc)")
    tree = tree_of(game)
    profile = solve(tree, "cfr+", iterations=2)
    (tmp_path / "p.csv").write_text(as_csv(profile))
    assert kibitz.profile_from(game, tmp_path / "p.csv") == profile


def test_a_changed_file_does_not_keep_what_was_measured(tmp_path):
    data = json.loads(as_json(solve("kuhn", "cfr+", iterations=7)))
    data["strategy"][0]["actions"] = {"pass": 0.25, "bet": 0.75}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data))
    back = kibitz.profile_from("kuhn", path)
    assert back[0, "J:"] == {"pass": 0.25, "bet": 0.75} and back.meta["solver"] == "import"
    assert "nash_conv" not in back.meta and "iterations" not in back.meta


def test_a_dict(tmp_path):
    table = {label: dict(row) for s in (0, 1) for label, row in solve("kuhn", "lp").items(s)}
    table["K:pb"] = {"bet": np.float32(1)}  # what is left out has probability 0
    profile = kibitz.profile_from("kuhn", table)
    assert profile[0, "K:pb"] == {"pass": 0.0, "bet": 1.0} and profile.game == "kuhn"
    table["Q:pb"] = {"pass": 1 / 3 + 1e-7, "bet": 2 / 3}
    assert sum(kibitz.profile_from("kuhn", table)[0, "Q:pb"].values()) == pytest.approx(1, abs=1e-12)
    table["Q:pb"] = {"pass": 1 / 3, "bet": 2 / 3}
    (tmp_path / "plain.json").write_text(json.dumps({**table, "K:pb": {"bet": 1}}))
    assert kibitz.profile_from("kuhn", tmp_path / "plain.json") == kibitz.profile_from("kuhn", table)
    part = kibitz.profile_from("kuhn", {"J:": {"bet": 1.0}}, missing="uniform")
    assert part[0, "J:"] == {"pass": 0.0, "bet": 1.0} and part[1, "K:b"] == {"pass": 0.5, "bet": 0.5}


WRONG = {
    "unknown infoset": ({"J:x": {"bet": 1}}, "no seat has an infoset 'J:x'; near ones are "),
    "unknown with a seat": ({(1, "J:"): {"bet": 1}}, "seat 1 has no infoset 'J:'; near ones are "),
    "no such seat": ({(2, "J:"): {"bet": 1}}, "there is no seat 2: seats are 0 to 1"),
    "unknown action": ({"J:": {"fold": 1}}, "infoset 'J:' of seat 0 has no action 'fold': it has pass, bet"),
    "too little": ({"J:": {"pass": 0.5, "bet": 0.4}}, "of infoset 'J:' of seat 0 sum to 0.9, not to 1"),
    "too much": ({"J:": {"pass": 0.5, "bet": 0.6}}, "sum to 1.1, not to 1"),
    "nothing": ({"J:": {}}, "sum to 0, not to 1"),
    "no number": ({"J:": {"pass": math.nan, "bet": 1}}, "of 'pass' at infoset 'J:' of seat 0 is nan, not from 0 to 1"),
    "infinity": ({"J:": {"pass": math.inf}}, "is inf, not from 0 to 1"),
    "negative": ({"J:": {"pass": -0.5, "bet": 1.5}}, "is -0.5, not from 0 to 1"),
    "a word": ({"J:": {"pass": "half", "bet": 0.5}}, "is 'half', not a number"),
    "true": ({"J:": {"pass": True}}, "is True, not a number"),
    "a list": ({"J:": [0.5, 0.5]}, "infoset 'J:' should have a table {action: probability}"),
    "twice": ({"J:": {"bet": 1}, (0, "J:"): {"bet": 1}}, "infoset 'J:' of seat 0 is given twice"),
    "missing": ({"J:": {"bet": 1}}, "11 of 12 infosets are missing, such as 'J:pb' of seat 0, "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(name):
    table, sentence = WRONG[name]
    with pytest.raises(GameError) as told:
        kibitz.profile_from("kuhn", table, missing="error" if name == "missing" else "uniform")
    assert sentence in str(told.value) and "\n" not in str(told.value)


def test_more_that_is_wrong():
    both = Nested(2, choice(0, "same", choice(1, "same", end(1, -1), end(0, 0)), end(0, 0)))
    with pytest.raises(GameError, match=r"seats 0 and 1 both have an infoset 'same': say the seat, as in \(0, ...\)"):
        kibitz.profile_from(both, {"same": {"a": 1}})
    with pytest.raises(GameError, match="missing='no' must be 'error' or 'uniform'"):
        kibitz.profile_from("kuhn", {}, missing="no")
    with pytest.raises(GameError, match="not from 'int'"):
        kibitz.profile_from("kuhn", 3)


HEAD = "seat,infoset,action,probability\n"
FILES = {
    "no head": ("a.csv", "0,J:,bet,1\n", "the first line should be seat,infoset,action,probability"),
    "empty": ("a.csv", "", "the first line should be seat"),
    "few fields": ("a.csv", HEAD + "0,J:,bet\n", "line 2 has 3 fields, and the first line 4"),
    "no number": ("a.csv", HEAD + "0,J:,bet,all\n", "line 2: the probability 'all' is not a number"),
    "no seat": ("a.csv", HEAD + "first,J:,bet,1\n", "line 2: the seat 'first' is not a whole number"),
    "once more": ("a.csv", HEAD + "0,J:,bet,1\n0,J:,bet,1\n", "line 3 gives action 'bet' of infoset 'J:' once more"),
    "open quote": ("a.csv", HEAD + '0,"J:,bet,1\n', "is not CSV"),
    "not text": ("a.csv", b"\xff\xfe\x00", "is not text in UTF-8"),
    "not JSON": ("a.json", "{", "it is not JSON (line 1"),
    "deep": ("a.json", "[" * 100_000, "it nests too deep"),
    "a number": ("a.json", "3", "it should hold {infoset: {action: probability}}"),
    "digits": ("a.json", '{"J:": {"bet": ' + "9" * 5000 + "}}", "it is not JSON"),
    "key twice": ("a.json", '{"J:": {"bet": 1}, "J:": {"bet": 0}}', "'J:' is given twice"),
    "entries": ("a.json", '{"strategy": [{"seat": 0}]}', "entry 0 of its strategy should have seat, infoset"),
    "NaN": ("a.json", '{"J:": {"bet": NaN}}', "is nan, not from 0 to 1"),
    "ending": ("a.txt", "", "should end in .csv or .json"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_wrong(name, tmp_path):
    file, text, sentence = FILES[name]
    (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(KibitzError) as told:
        kibitz.profile_from("kuhn", tmp_path / file)
    assert sentence in str(told.value) and "\n" not in str(told.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ArtefactError, match="cannot read"):
        kibitz.profile_from("kuhn", tmp_path / "none.csv")


# The command


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        with pytest.raises(SystemExit) as done:
            app([str(word) for word in words], prog_name="kibitz")
        out, err = capsys.readouterr()
        return done.value.code or 0, out + err

    return run


def test_the_command(call):
    solve("kuhn", "lp").save("kuhn.profile")
    for ending in ("csv", "json"):
        assert call("export", "kuhn.profile", f"kuhn.{ending}")[0] == 0
    assert call("import", "kuhn.json", "back") == (0, "wrote back: 12 infosets of kuhn\n")
    assert call("import", "kuhn.csv", "again", "--game", "kuhn")[0] == 0
    whole = kibitz.load("kuhn.profile")
    assert kibitz.load("back") == kibitz.load("again") == whole and kibitz.load("back").meta == whole.meta
    for words, sentence in (
        (("kuhn.csv", "new"), "does not say which game it is for: add --game GAME"),
        (("kuhn.csv", "new", "--game", "leduc"), "has no infoset"),
        (("kuhn.csv", "new", "--missing", "perhaps"), "--missing perhaps must be error or uniform"),
        (("kuhn.json", "new", "--missing", "uniform"), "--missing uniform needs --game"),
        (("none.csv", "new", "--game", "kuhn"), "cannot read none.csv"),
        (("kuhn.csv", "kuhn.csv", "--game", "kuhn"), "is not a directory"),
    ):
        code, said = call("import", *words)
        assert code == 2 and sentence in said and said.count("\n") == 1
    assert not Path("new").exists()
    Path("part.csv").write_text("infoset,action,probability\nJ:,bet,1\n")
    assert call("import", "part.csv", "part", "--game", "kuhn", "--missing", "uniform")[0] == 0
    assert kibitz.load("part")[0, "J:"]["bet"] == 1.0
    evil = json.loads(Path("kuhn.json").read_text())
    evil["game"] = "/etc/passwd.py:Game"
    Path("evil.json").write_text(json.dumps(evil))
    code, said = call("import", "evil.json", "new")
    assert code == 2 and "opened only if you name it" in said
    evil["game"] = "leduc(ranks=12, players=3)"
    Path("evil.json").write_text(json.dumps(evil))
    assert call("import", "evil.json", "new")[0] == 2


# OpenSpiel


def test_policies_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    python = pytest.importorskip("open_spiel.python.policy")
    kuhn = solve("kuhn", "cfr+", iterations=5)
    policy = kuhn.to_openspiel("kuhn_poker")
    assert kibitz.profile_from("kuhn", policy) == kuhn
    assert kibitz.profile_from(kibitz.game("openspiel:kuhn_poker"), policy).seats == 2
    game = pyspiel.load_game("leduc_poker")
    table = python.TabularPolicy(game)
    rng = np.random.default_rng(0)
    table.action_probability_array[:] = rng.random(table.action_probability_array.shape) * table.legal_actions_mask
    table.action_probability_array /= table.action_probability_array.sum(axis=1, keepdims=True)
    leduc = kibitz.profile_from("leduc", table)
    twin = python.python_policy_to_pyspiel_policy(table)
    assert kibitz.nash_conv("leduc", leduc) == pytest.approx(pyspiel.nash_conv(game, twin))
    with pytest.raises(GameError, match="12 of 12 infosets are missing"):
        kibitz.profile_from("kuhn", pyspiel.TabularPolicy({}))
    with pytest.raises(GameError, match=r"the two games disagree|has 2 players"):
        kibitz.profile_from("kuhn", table)
    with pytest.raises(GameError, match="needs the game itself"):
        kibitz.profile_from(tree_of(kibitz.game("kuhn")), policy)


def test_harmed_files_are_read_or_refused_with_a_sentence(tmp_path):
    rng = np.random.default_rng(3)
    profile = solve("kuhn", "cfr+", iterations=3)
    pieces = [b'"', b"{", b"]", b",", b"\n", b"'", b"nan", b"-1", b"1e999", b"null", b"[[", b"\xff", b"\0", b"true"]
    refused = 0
    for ending, text in ((".csv", as_csv(profile)), (".json", as_json(profile))):
        for _ in range(150):
            harmed = bytearray(text.encode())
            for _ in range(int(rng.integers(1, 4))):
                at, gone = int(rng.integers(len(harmed))), int(rng.integers(0, 12))
                harmed[at : at + gone] = pieces[int(rng.integers(len(pieces)))]
            path = tmp_path / f"harmed{ending}"
            path.write_bytes(bytes(harmed))
            try:
                back = kibitz.profile_from("kuhn", path)
            except KibitzError as error:
                refused += 1
                assert "\n" not in str(error)
            else:
                assert np.isfinite(back.probabilities).all() and kibitz.nash_conv("kuhn", back) >= 0
                back.save(tmp_path / "back")
    assert 100 < refused < 300
