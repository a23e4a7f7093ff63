"""Players by name, and a person at the table: what is said, what is understood, transcripts and replays."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from seats import trained

import kibitz
from kibitz.cli import app
from kibitz.errors import ArtefactError, GameError, KibitzError, SpecError
from kibitz.evaluate.match import View, dealt, match
from kibitz.play import AGENTS, agent
from kibitz.play.agents import parsed
from kibitz.play.table import Human, Session, belief_text, beliefs, card_text, events, replayed, understood

SMALL = "toepen(suits=2, ranks=3, hand=2)"


@pytest.fixture(scope="module")
def blueprint(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("play") / "small", SMALL)


# Names


def test_names_of_players(blueprint):
    assert agent("uniform", SMALL).name == "uniform"
    assert agent(" rule ", SMALL).player is not None
    assert agent(blueprint, SMALL).name == blueprint
    assert agent(f"search({blueprint}, iterations=3)", SMALL).iterations == 3
    assert agent(f'search("{blueprint}", iterations=3)', SMALL).trick == 0
    assert agent(f"exploit({blueprint}, bound=0.3, over=range)", SMALL).bound == 0.3
    assert len(AGENTS) == 5


def test_what_is_in_the_brackets():
    assert parsed("search(a b/c.d, seconds=2, from=3)") == ("search", "a b/c.d", {"seconds": 2, "from": 3})
    assert parsed('exploit("a,b", bound=1)') == ("exploit", "a,b", {"bound": 1})
    assert parsed("search(blueprint=x, from=4)") == ("search", "x", {"from": 4})
    assert parsed("runs/x.blueprint") == ("path", "runs/x.blueprint", {})
    assert parsed("rule") == ("rule", None, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody", "there is no blueprint at nobody"),
        ("rule(strength=3)", "no parameters"),
        ("search", "needs a blueprint"),
        ("search(nowhere)", "there is no blueprint at nowhere"),
        ("exploit(bound=1)", "needs a blueprint"),
        ("search(x, seconds)", "expected '='"),
    ],
)
def test_wrong_names_are_told(text, said):
    with pytest.raises(KibitzError, match=said):
        agent(text, SMALL)


def test_options_are_checked(blueprint):
    with pytest.raises(SpecError, match="did you mean 'seconds'"):
        agent(f"search({blueprint}, second=1)", SMALL)
    with pytest.raises(SpecError, match="should be a number"):
        agent(f"search({blueprint}, seconds=soon)", SMALL)
    with pytest.raises(GameError, match="blueprint of toepen"):
        agent(blueprint, "toepen")


def test_a_view_has_nothing_of_the_other_hand():
    fields = set(View.__dataclass_fields__)
    assert fields == {"seat", "dealt", "history", "actions"}
    view = View(0, (5, 6), ("check", "8c"), ("check", "bet"))
    assert view.plays == (5,) and view.held == (6,)


# The table


def test_what_a_person_types_is_understood():
    actions = ("check", "bet")
    for text, action in (("1", "check"), (" 2 ", "bet"), ("b", "bet"), ("CHECK", "check"), ("c", "check")):
        assert understood(text, actions) == action
    for text in ("", "3", "0", "x", "fold", "-1", "\u00b2"):
        assert understood(text, actions) is None
    cards = ("Tc", "9d", "9h")
    for text, action in (("10c", "Tc"), ("tc", "Tc"), ("t", "Tc"), ("9d", "9d"), ("9\u2665", "9h"), ("10", "Tc")):
        assert understood(text, cards) == action
    assert understood("9", cards) is None  # two of them
    assert (card_text("Th", False), card_text("Th", True)) == ("10h", "10\u2665")


def test_who_did_what():
    history = ["bet", "call", "8c", "check", "Tc", "check", "9d", "check", "8d"]
    seats = [event.seat for event in events(history)]
    assert seats == [0, 1, 0, 1, 1, 1, 1, 0, 0]
    assert [event.taken for event in events(history)] == [-1, -1, -1, -1, 1, -1, -1, -1, 1]


def sit_down(lines, game=SMALL, against="rule", seed=4, **options):
    """A session with scripted answers: (what was said, transcript, the session)."""
    said, written, lines = [], [], iter(lines)

    def ask(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    rules = kibitz.game(game)
    session = Session(rules, agent(against, rules), Human(ask, said.append), seed, write=written.append, **options)
    session.play(options.get("most"))
    return "\n".join(said), "".join(written), session


def test_a_session_keeps_the_score_and_ends_politely():
    said, transcript, session = sit_down(["1"] * 40)
    assert session.hands >= 4 and said.splitlines()[-1] == f"{session.hands} hands played, score {session.score:+g}."
    assert "Hand 1. You lead the first trick." in said and "Hand 2. The opponent leads the first trick." in said
    assert transcript.count("\nhand ") == session.hands
    assert transcript.rstrip().endswith(f"score {session.score:+g}")
    said, transcript, session = sit_down([])
    assert said.splitlines()[-1] == "No hand was finished." and transcript.count("\n") == 4
    for leave in ("q", "quit"):
        assert sit_down([leave])[2].hands == 0


def test_the_same_seed_and_answers_give_the_same_session():
    lines = ["2", "1", "1", "2", "1", "1"] * 6
    assert sit_down(lines)[:2] == sit_down(lines)[:2]
    assert sit_down(lines)[1] != sit_down(lines, seed=5)[1]


def test_help_and_nonsense_are_answered():
    said, _, _ = sit_down(["?", "nonsense", "q"])
    assert "2 cards each" in said and "that is none of" in said


def test_a_transcript_is_replayed_byte_for_byte(blueprint):
    for against in ("rule", "uniform", blueprint, f"search({blueprint}, iterations=3)"):
        _, transcript, session = sit_down(["1", "2", "1"] * 8, against=against)
        assert session.hands > 1
        assert "".join(replayed(transcript)) == transcript


def test_a_transcript_that_is_wrong_is_told():
    _, transcript, _ = sit_down(["1"] * 20)
    for wrong in ("", "something else\n", transcript.replace("transcript 1", "transcript 2")):
        with pytest.raises(ArtefactError, match="not a transcript"):
            list(replayed(wrong))
    for old, new in (
        ("hand 2, you", "hand 3, you"), ("seat 0", "seat 1"), ("check", "bet"), ("lose", "win"), ("win", "lose"),
        ("8c", "9c"), ("8c", "Jx"), ("score +", "score -"),
    ):  # fmt: skip
        if old in transcript:
            with pytest.raises(ArtefactError, match="hand"):
                list(replayed(transcript.replace(old, new, 1)))
    with pytest.raises(ArtefactError, match="hand"):
        list(replayed(transcript[:-5]))


def test_the_opponents_mind_is_shown(blueprint):
    for against in (blueprint, f"search({blueprint}, iterations=5)", f"exploit({blueprint}, iterations=5)"):
        said, _, session = sit_down(["1"] * 12, against=against, reveal=True)
        assert session.hands >= 1 and "The opponent held" in said and "it thought you held" in said


def test_beliefs_are_those_of_the_blueprint(blueprint):
    rules, base = kibitz.game(SMALL), agent(blueprint, SMALL)
    hands, _ = dealt(rules, 0, 0)
    view = View(1, hands[1], ("bet",), ("call", "fold"))
    found = beliefs(base, view, rules)
    assert sum(p for _, p in found) == pytest.approx(1.0) and len(found) <= 6
    assert all(not set(hand) & set(hands[1]) for hand, _ in found)
    raw = {hand: base.act(View(0, hand, (), ("check", "bet")))[1] for hand, _ in found}
    total = sum(raw.values())
    for hand, p in found:
        assert p == pytest.approx(raw[hand] / total)
    search = agent(f"search({blueprint}, iterations=50, from=2)", SMALL)
    assert beliefs(search, view, rules) == found  # before its endgame it plays the blueprint
    anything = beliefs(Thoughtless(), view, rules)
    assert len(anything) == 6 and belief_text(anything, False) == "any of 6 hands, all alike"


class Thoughtless:
    name = "thoughtless"


def test_beliefs_in_the_endgame_are_those_of_the_solution(blueprint):
    rules = kibitz.game(SMALL)
    search = agent(f"search({blueprint}, iterations=50, floor=0)", SMALL)  # from the first trick on
    view = View(1, (5, 14), ("bet",), ("call", "fold"))
    found = dict(beliefs(search, view, rules))
    raw = {hand: search.act(View(0, hand, (), ("check", "bet")))[1] for hand in found}
    for hand, p in found.items():
        assert p == pytest.approx(raw[hand] / sum(raw.values()))


# The commands


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments, typed=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return run


def test_kibitz_match_prints_what_was_won(call):
    code, out, err = call("match", "rule", "uniform", "--deals", 3000)
    assert (code, err) == (0, "") and "rule wins" in out and "3,000, each played twice" in out
    code, out, _ = call("match", "rule", "uniform", "--deals", 3000, "--json")
    data = json.loads(out)
    assert data["deals"] == 3000 and data["hands"] == 6000 and len(data["by_seat"]) == 2
    result = match("toepen", agent("rule", "toepen"), agent("uniform", "toepen"), 3000)
    assert data["mean"] == result.mean and data["interval"] == list(result.interval)
    assert json.loads(call("match", "rule", "rule", "--deals", 1, "--json")[1])["interval"] is None
    assert "no difference" in call("match", "rule", "rule", "--deals", 50)[1]
    assert "clear who wins" in call("match", "rule", "uniform", "--until", "decided")[1]


def test_kibitz_match_with_players_that_think(call, blueprint):
    search = f"search({blueprint}, iterations=3, from=2)"
    code, out, _ = call("match", search, blueprint, "--game", SMALL, "--deals", 5, "--json")
    assert code == 0 and json.loads(out)["deals"] == 5
    code, out, _ = call("match", search, blueprint, "--game", SMALL, "--deals", 30, "--gain", "--json")
    data = json.loads(out)
    assert code == 0 and data["deals"] == 30 and 0 < data["endgames"] <= 30
    code, out, _ = call("match", search, blueprint, "--game", SMALL, "--deals", 30, "--gain")
    assert code == 0 and "more than its blueprint" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("match", "rule", "nobody"),
        ("match", "rule", "uniform", "--deals", "0"),
        ("match", "rule", "uniform", "--until", "later"),
        ("match", "rule", "uniform", "--threads", "0"),
        ("match", "rule", "uniform", "--game", "leduc"),
        ("match", "rule", "uniform", "--gain"),
        ("play", "leduc"),
        ("play", "toepen", "--against", "nobody"),
        ("play", "toepen", "--hands", "0"),
        ("play", "toepen", "--seed", "-1"),
        ("play", "toepen", "--against", "rule", "--blueprint", "x"),
        ("play", "--replay", "nothing.txt"),
        ("play", "toepen", "--transcript", "."),
    ],
)
def test_mistakes_at_the_command_line_are_sentences(call, arguments):
    code, out, err = call(*arguments)
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (out, err)


def test_kibitz_play_writes_a_transcript_that_replays(call, blueprint):
    code, out, err = call(
        "play", SMALL, "--against", blueprint, "--seed", 3, "--transcript", "deep/t.txt", "--reveal", "--ascii",
        typed="1\n" * 14,
    )  # fmt: skip
    assert (code, err) == (0, "") and "played, score" in out and "it thought you held" in out
    text = Path("deep/t.txt").read_text()
    code, again, _ = call("play", "--replay", "deep/t.txt")
    assert code == 0 and again == text
    Path("bad.txt").write_bytes(b"\xff\xfe\x00")
    code, _, err = call("play", "--replay", "bad.txt")
    assert code == 2 and "not text" in err


def test_kibitz_play_without_a_blueprint_tells_how_to_get_one(call):
    code, out, _ = call("play", SMALL, "--seed", 1, "--hands", 1, typed="1\n" * 20)
    assert code == 0 and "kibitz train" in out and "1 hand played" in out
    code, out, _ = call("play", SMALL, typed="")
    assert code == 0 and "No hand was finished." in out


def test_suits_are_letters_where_the_terminal_has_no_signs(tmp_path):
    words = [sys.executable, "-m", "kibitz.cli", "play", SMALL, "--seed", "1", "--hands", "1"]
    for encoding, sign in (("utf-8", "\u2663"), ("ascii", "c")):
        run = subprocess.run(
            words, input=b"1\n" * 20, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, timeout=300
        )
        assert run.returncode == 0, run.stderr
        assert sign in run.stdout.decode(encoding)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_at_the_table_tells_the_score(tmp_path):
    words = [sys.executable, "-m", "kibitz.cli", "play", SMALL, "--seed", "1"]
    run = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdin is not None and run.stdout is not None
    said = ""
    while not ("you hold" in said and said.endswith("> ")):  # it asks
        letter = run.stdout.read(1)
        assert letter, run.stderr.read()
        said += letter
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=600)
    assert run.returncode == 0 and "No hand was finished." in out and err == ""
