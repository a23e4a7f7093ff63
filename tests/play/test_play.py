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
from kibitz.core.errors import ArtefactError, GameError, KibitzError, SpecError
from kibitz.evaluate.match import match
from kibitz.games.views import View
from kibitz.play import AGENTS, agent
from kibitz.play.agents import parsed
from kibitz.play.renderer import WIDTH, Renderer
from kibitz.play.table import Session, opponents_of
from kibitz.play.transcript import replayed
from kibitz.solvers.machines import machine_of
from kibitz.toepen.renderer import ToepenRenderer, belief_text, beliefs, card_text
from kibitz.toepen.states import NAMES, events, hand_text

SMALL = "toepen(suits=2, ranks=3, hand=2)"
OWN_GAME = """
class Nests:
    \"\"\"The hen hides in a nest, the fox looks into one.\"\"\"

    players = 2

    def root(self): return ()
    def turn(self, state): return (0, -1, 1, -2)[len(state)]
    def actions(self, state): return ["left nest", "right nest"]
    def chance(self, state): return [("twig", 0.5), ("owl", 0.5)]
    def after(self, state, action): return (*state, action)
    def infoset(self, state): return "hen" if not state else f"fox heard {state[1]}"
    def payoff(self, state): return [1, -1] if state[0] != state[2] else [-1.5, 1.5]
"""


@pytest.fixture(scope="module")
def blueprint(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("play") / "small", SMALL)


# Names


def test_names_of_players(blueprint):
    assert agent("uniform", SMALL).name == "uniform"
    assert agent(" rule ", SMALL).player is not None
    assert agent(blueprint, SMALL).name == blueprint
    assert agent(f"search({blueprint}, iterations=3)", SMALL).limit["iterations"] == 3
    assert agent(f'search("{blueprint}", iterations=3)', SMALL).trick == 0
    assert agent(f"exploit({blueprint}, bound=0.3, over=range)", SMALL).bound == 0.3
    assert set(AGENTS) == {"uniform", "rule", "always-call", "shipped", "PATH", "search(PATH, seconds=1)"}


def test_what_is_in_the_brackets():
    assert parsed("search(a b/c.d, seconds=2, from=3)") == ("search", "a b/c.d", {"seconds": 2, "from": 3})
    assert parsed('exploit("a,b", bound=1)') == ("exploit", "a,b", {"bound": 1})
    assert parsed("search(blueprint=x, from=4)") == ("search", "x", {"from": 4})
    assert parsed("runs/x.blueprint") == ("path", "runs/x.blueprint", {})
    assert parsed("rule") == ("rule", None, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody", "no saved strategy at nobody"),
        ("rule(strength=3)", "no parameters"),
        ("search", "needs a saved strategy"),
        ("search(nowhere)", "no saved strategy at nowhere"),
        ("exploit(bound=1)", "needs a saved strategy"),
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
    with pytest.raises(ArtefactError, match="blueprint of toepen"):
        agent(blueprint, "toepen")


def test_a_view_has_nothing_of_the_other_hand():
    fields = set(View.__dataclass_fields__)
    assert fields == {"seat", "private", "public", "actions", "infoset", "choices"}


# The table


def test_what_a_person_types_is_understood():
    cards, actions = ToepenRenderer(kibitz.game(SMALL)), ("check", "bet")
    for renderer in (cards, Renderer(kibitz.game("kuhn"))):
        for text, action in (("1", "check"), (" 2 ", "bet"), ("b", "bet"), ("CHECK", "check"), ("c", "check")):
            assert renderer.understood(text, actions) == action
        for text in ("", "3", "0", "x", "fold", "-1", "\u00b2"):
            assert renderer.understood(text, actions) is None
    held = ("Tc", "9d", "9h")
    for text, action in (("10c", "Tc"), ("tc", "Tc"), ("t", "Tc"), ("9d", "9d"), ("9\u2665", "9h"), ("10", "Tc")):
        assert cards.understood(text, held) == action
    assert cards.understood("9", held) is None  # two of them
    assert (card_text("Th", False), card_text("Th", True)) == ("10h", "10\u2665")


def test_actions_that_are_numbers_stand_for_themselves():
    renderer = Renderer(kibitz.game("goofspiel"))
    assert renderer.listed(("2", "4")) == ["  2    4"]
    assert renderer.understood("2", ("2", "4")) == "2" and renderer.understood("1", ("2", "4")) is None
    bids = Renderer(kibitz.game("liars_dice"))
    assert bids.listed(("1-2", "liar")) == ["  1 1-2    2 liar"]
    assert bids.understood("2", ("1-2", "liar")) == "liar" and bids.understood("1-2", ("1-2", "liar")) == "1-2"
    many = renderer.listed([f"r{size}" for size in range(200, 20_000)])
    assert len(many) <= 2 and many[-1].endswith("...    19800 r19999")


def test_who_did_what():
    history = ["bet", "call", "8c", "check", "Tc", "check", "9d", "check", "8d"]
    seats = [event.seat for event in events(history)]
    assert seats == [0, 1, 0, 1, 1, 1, 1, 0, 0]
    assert [event.taken for event in events(history)] == [-1, -1, -1, -1, 1, -1, -1, -1, 1]


def sit_down(lines, game=SMALL, against="rule", seed=4, most=None, **options):
    """A session with scripted answers: (what was said, transcript, the session)."""
    said, written, lines = [], [], iter(lines)

    def ask(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    rules = kibitz.game(game)
    players = [against] if isinstance(against, str) else against
    session = Session(rules, opponents_of(rules, players), ask, said.append, seed, write=written.append, **options)
    session.play(most)
    return "\n".join(said), "".join(written), session


def test_a_session_keeps_the_score_and_ends_politely():
    said, transcript, session = sit_down(["1"] * 40)
    assert session.hands >= 4 and said.splitlines()[-1] == f"{session.hands} hands played, score {session.score:+g}."
    assert "Hand 1. You lead the first trick." in said and "Hand 2. The opponent leads the first trick." in said
    assert transcript.count("\nhand ") == session.hands
    assert transcript.rstrip().endswith(f"score    {session.score:+g}")
    said, transcript, session = sit_down([])
    assert said.splitlines()[-1] == "No hand was finished." and transcript.count("\n") == 5
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
    for wrong in ("", "something else\n", transcript.replace("transcript", "transcription")):
        with pytest.raises(ArtefactError, match="not a transcript"):
            list(replayed(wrong))
    with pytest.raises(ArtefactError, match="version 3"):
        list(replayed(transcript.replace("transcript 2", "transcript 3")))
    for old, new in (("seed 4", "seed"), ("player 1 rule\n", ""), ("player 1", "player 2"), ("rule", "ru\x1ble")):
        assert old in transcript
        with pytest.raises(ArtefactError, match="head of"):
            list(replayed(transcript.replace(old, new, 1)))
    for old, new in (
        ("hand 2", "hand 3"), ("seats    0 1", "seats    1 0"), ("seats    0 1", "seats    0 0"), ("check", "bet"),
        ("check", "fold"), ("8c", "9c"), ("8c", "Jx"), ("score    ", "score    1"), ("payoffs  ", "payoffs  1"),
        ("  seat 0", "  seat 1"), ("  chance ", "  seat 0 "), ("seat 0   check\n", ""),
    ):  # fmt: skip
        assert old in transcript
        with pytest.raises(ArtefactError, match="hand"):
            list(replayed(transcript.replace(old, new, 1)))
    with pytest.raises(ArtefactError, match="hand"):
        list(replayed(transcript[:-5]))
    with pytest.raises(ArtefactError, match=r"is of toepen.* not of kuhn"):
        list(replayed(transcript, "kuhn"))


def test_transcripts_of_other_versions_are_refused():
    for version in (1, 3):
        text = f"kibitz transcript {version}\ngame {SMALL}\nseed 4\nopponent rule\n"
        with pytest.raises(ArtefactError, match=f"of version {version}; this version of kibitz reads only version 2"):
            list(replayed(text))


def test_hands_are_dealt_as_before():
    """The deals and the talk of a seed are what they were when there was Toepen alone."""
    said, transcript, _ = sit_down(["1"] * 6, seed=4)
    assert "chance   8c 9d|9c Td" in transcript and "chance   8c 9c|Tc 9d" in transcript
    assert said.splitlines()[:6] == [
        f"You play {SMALL} against rule. ? for help, q to leave.",
        "",
        "Hand 1. You lead the first trick.",
        "  you hold   8c  9d    (the hand is worth 1)",
        "  1 check    2 bet",
        "  you hold   8c  9d    (the hand is worth 1)",
    ]


# Other games


def test_kuhn_at_the_table():
    said, transcript, session = sit_down(["bet", "p", "?", "2"] * 4, "kuhn", "uniform", seed=3, most=3, reveal=True)
    assert session.hands == 3 and "".join(replayed(transcript)) == transcript
    assert "Hand 1. You are in seat 0." in said and "Hand 2. You are in seat 1." in said
    assert "The opponent held K." in said and "    at K:b  pass 50%, bet 50%" in said
    assert "Each antes one chip" in said and "seat 0 shows J, seat 1 shows K" in said
    rules = kibitz.game("kuhn")
    for block in transcript.split("\nhand ")[1:]:
        state = rules.root()
        for line in block.splitlines()[2:-2]:
            state = rules.after(state, line.split()[-1])
        assert block.splitlines()[-2].split()[1:] == [f"{payoff:+g}" for payoff in rules.payoff(state)]


def test_three_seats():
    said, transcript, session = sit_down(
        ["call"] * 60, "leduc(players=3)", ["uniform", "uniform"], most=6, reveal=True, seed=1
    )
    assert session.hands == 6 and "".join(replayed(transcript)) == transcript
    assert [session.seating(number) for number in range(3)] == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    assert "Hand 2. You are in seat 1, uniform in seat 0, uniform in seat 2." in said
    for text in ("Seat 0: ", "Seat 1: ", "Seat 2: ", "Chance: ", "Seat 1 held ", "Seat 2 held "):
        assert text in said
    payoffs = [line.split()[1:] for line in transcript.splitlines() if line.startswith("  payoffs")]
    mine = [float(payoffs[hand][session.seating(hand).index(0)]) for hand in range(6)]
    assert session.score == pytest.approx(sum(mine))
    with pytest.raises(SpecError, match="2 opponents, or one for all seats, not 3"):
        opponents_of(kibitz.game("leduc(players=3)"), ["uniform"] * 3)
    assert [each.name for each in opponents_of(kibitz.game("leduc(players=3)"), ["uniform"])] == ["uniform"] * 2


@pytest.mark.parametrize(
    ("game", "line"),
    [
        ("goofspiel", "3"),
        ("liars_dice", "1"),
        ("rhode_island", "c"),
        ("poker(file=holdem.nolimit.2p)", "c"),
        ("matrix(payoffs=[[1, 2]])", "0"),
    ],
)
def test_other_games_are_played_and_replayed(game, line):
    said, transcript, session = sit_down(["1", line, "4", "2", line] * 8, game, "uniform", most=3, reveal=True)
    assert session.hands >= 1 and "".join(replayed(transcript)) == transcript
    assert all(len(text) <= WIDTH for text in said.splitlines())


def test_nobody_waits_for_hands_without_an_end():
    """A game that never asks the person is stopped at from time to time."""
    game = "matrix(payoffs=[[1]])"
    said, _, session = sit_down(["", "q"], game, "uniform")
    assert session.hands == 4 and "you can only 0" in said


def test_saved_strategies_sit_down(tmp_path):
    kibitz.solve("kuhn", "cfr+", iterations=50).save(tmp_path / "kuhn.profile")
    path = str(tmp_path / "kuhn.profile")
    said, transcript, _ = sit_down(["1", "2"] * 10, "kuhn", path, reveal=True)
    assert path in transcript and "at K:pb  bet 100%" in said and "".join(replayed(transcript)) == transcript
    with pytest.raises(GameError, match="profile for kuhn, not for leduc"):
        opponents_of(kibitz.game("leduc(ranks=2, cap=1)"), [path])


def test_a_game_in_a_file_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nests.py").write_text(OWN_GAME)
    text = "nests.py:Nests"
    said, transcript, session = sit_down(["?", "left", "2"] * 4, text, "uniform", name=text, most=4, reveal=True)
    assert session.hands == 4 and f"\ngame {text}\n" in transcript
    assert "  you know   hen" in said and "  1 left nest    2 right nest" in said and "The hen hides" in said
    assert "    at fox heard " in said and "left nest 50%, right nest 50%" in said
    with pytest.raises(ArtefactError, match=r"opened only if you name it.*kibitz play GAME --replay FILE"):
        list(replayed(transcript))
    assert "".join(replayed(transcript, text)) == transcript
    with pytest.raises(ArtefactError, match="not possible"):
        list(replayed(transcript.replace("owl", "cat").replace("twig", "cat"), text))


# What opponents think


def test_the_opponents_mind_is_shown(blueprint):
    for against in (blueprint, f"search({blueprint}, iterations=5)", f"exploit({blueprint}, iterations=5)"):
        said, _, session = sit_down(["1"] * 12, against=against, reveal=True)
        assert session.hands >= 1 and "The opponent held" in said and "it thought you held" in said


def test_beliefs_are_those_of_the_blueprint(blueprint):
    rules, base = kibitz.game(SMALL), agent(blueprint, SMALL)
    dealt = machine_of(rules).hand(0, 0).start().dealt
    view = seen(1, dealt[1], ("bet",), ("call", "fold"))
    found = beliefs(base, view, rules)
    assert sum(p for _, p in found) == pytest.approx(1.0) and len(found) <= 6
    assert all(not set(hand) & set(dealt[1]) for hand, _ in found)
    raw = {hand: base.act(seen(0, hand, (), ("check", "bet")))[1] for hand, _ in found}
    total = sum(raw.values())
    for hand, p in found:
        assert p == pytest.approx(raw[hand] / total)
    search = agent(f"search({blueprint}, iterations=50, from=2)", SMALL)
    assert beliefs(search, view, rules) == found  # before its endgame it plays the blueprint
    anything = beliefs(Thoughtless(), view, rules)
    assert len(anything) == 6 and belief_text(anything, False) == "any of 6 hands, all alike"


def seen(seat, cards, public, actions):
    """What a seat of a table of Toepen knows before it has played a card."""
    infoset = f"{hand_text(cards)} | {' '.join(public)}".rstrip()
    return View(seat, tuple(NAMES[card] for card in cards), public, actions, infoset)


class Thoughtless:
    name = "thoughtless"


def test_beliefs_in_the_endgame_are_those_of_the_solution(blueprint):
    rules = kibitz.game(SMALL)
    search = agent(f"search({blueprint}, iterations=50, floor=0)", SMALL)  # from the first trick on
    view = seen(1, (5, 14), ("bet",), ("call", "fold"))
    found = dict(beliefs(search, view, rules))
    raw = {hand: search.act(seen(0, hand, (), ("check", "bet")))[1] for hand in found}
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
    code, out, err = call("match", "rule", "uniform", "--game", "toepen", "--deals", 3000)
    assert (code, err) == (0, "") and "rule wins" in out and "3,000, each played twice" in out
    code, out, _ = call("match", "rule", "uniform", "--game", "toepen", "--deals", 3000, "--json")
    data = json.loads(out)
    assert data["deals"] == 3000 and data["hands"] == 6000 and len(data["by_seat"]) == 2
    result = match("toepen", agent("rule", "toepen"), agent("uniform", "toepen"), deals=3000)
    assert data["mean"] == result.mean and data["interval"] == list(result.interval)
    assert json.loads(call("match", "rule", "rule", "--game", "toepen", "--deals", 1, "--json")[1])["interval"] is None
    assert "no difference" in call("match", "rule", "rule", "--game", "toepen", "--deals", 50)[1]
    assert "clear who wins" in call("match", "rule", "uniform", "--game", "toepen", "--decided")[1]


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
        ("match", "rule", "uniform"),
        ("match", "rule", "uniform", "--game", "toepen", "--deals", "0"),
        ("match", "rule", "uniform", "--game", "toepen", "--precision", "0"),
        ("match", "rule", "uniform", "--game", "toepen", "--threads", "0"),
        ("match", "rule", "uniform", "--game", "leduc"),
        ("match", "rule", "uniform", "--game", "toepen", "--gain"),
        ("match", "always-call", "uniform", "--game", "toepen", "--deals", "3"),
        ("play",),
        ("play", "--against", "uniform"),
        ("play", "leduc", "--against", "rule"),
        ("play", "leduc", "--against", "uniform", "--against", "uniform"),
        ("play", "toepen", "--against", "nobody"),
        ("play", "toepen", "--hands", "0"),
        ("play", "toepen", "--seed", "-1"),
        ("play", "--replay", "nothing.txt"),
        ("play", "toepen", "--transcript", "."),
    ],
)
def test_mistakes_at_the_command_line_are_sentences(call, arguments):
    code, out, err = call(*arguments)
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (out, err)


def test_match_and_play_say_which_file_is_missing(call, tmp_path):
    """They take their game from the files, and there is no game for a file that is not there."""
    uniform = kibitz.solve("kuhn", iterations=1)
    uniform.save(tmp_path / "kuhn.profile")
    for words in (("match", "A", "B", "C"), ("match", "kuhn.profile", "A", "B", "C", "--game", "leduc"),
                  ("match", "search(A, seconds=1)", "uniform"), ("play", "--against", "A"),
                  ("play", "leduc", "--against", "A", "--against", "B")):  # fmt: skip
        code, _, err = call(*words)
        assert code == 2 and "no saved strategy at A" in err and "seats" not in err, (words, err)
        assert "at A, B" in err if "B" in words else "at A:" in err
    code, _, err = call("match", "uniform", "uniform")
    assert code == 2 and "--game leduc" in err
    code, _, err = call("play")
    assert code == 2 and "kibitz play leduc" in err
    code, out, _ = call("match", "kuhn.profile", "uniform", "--deals", 20, "--json")
    assert code == 0 and json.loads(out)["game"] == "kuhn"
    code, out, _ = call("play", "--against", "kuhn.profile", "--hands", 1, "--seed", 1, typed="1\n" * 5)
    assert code == 0 and "You play kuhn against kuhn.profile" in out


@pytest.mark.parametrize("name", ["always-call", "always-fold", "always-raise"])
@pytest.mark.parametrize("game", ["leduc(ranks=2, cap=1)", "poker(file=leduc, ranks=2)"])
def test_static_strategies_play_matches(game, name):
    """What they win is what a profile with the same action everywhere wins, hand for hand."""
    wanted = {"always-call": ["call"], "always-fold": ["fold", "call"], "always-raise": ["raise", "call"]}[name]
    some = kibitz.solve(game, "cfr", iterations=20)
    table = {
        (seat, label): {next(a for a in wanted if a in row): 1.0}
        for seat in range(2) for label, row in some.items(seat)
    }  # fmt: skip
    profile = kibitz.profile_from(some.infosets.compact.form if some.infosets.compact else game, table)
    one = kibitz.match(game, name, some, deals=60, seed=4)
    two = kibitz.match(game, profile, some, deals=60, seed=4)
    assert one.names[0] == name and one.mean == pytest.approx(two.mean, abs=1e-12)
    with pytest.raises(KibitzError, match="cannot act in"):
        kibitz.match("kuhn", name, "uniform", deals=1)


def test_a_static_raise_without_limit_is_refused():
    """Raises have many sizes there: none of them is the strategy that was named."""
    game = "poker(file=holdem.nolimit.2p, bets=[1, allin], raises=1)"
    with pytest.raises(KibitzError, match="always-raise cannot act"):
        kibitz.match(game, "always-raise", "always-call", deals=1)
    assert kibitz.match(game, "always-fold", "always-call", deals=3).deals == 3


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


def test_kibitz_play_for_other_games(call):
    code, out, err = call("play", "leduc(ranks=2, cap=1)", "--seed", 1, "--hands", 1, typed="?\n" + "1\n" * 20)
    assert (code, err) == (0, "") and "1 hand played" in out and "uniform random play" in out
    assert "\n  kibitz solve 'leduc(ranks=2, cap=1)' --out leduc.profile\n" in out
    Path("nests.py").write_text(OWN_GAME)
    code, out, err = call("play", "nests.py:Nests", "--transcript", "t.txt", "--hands", 3, "--reveal", typed="1\n" * 9)
    assert (code, err) == (0, "") and "3 hands played" in out and "fox heard" in out
    assert call("play", "nests.py:Nests", "--replay", "t.txt")[1] == Path("t.txt").read_text()
    code, out, err = call("play", "--replay", "t.txt")
    assert code == 2 and out == "" and "opened only if you name it" in err
    Path("broken.py").write_text(OWN_GAME.replace("return (*state, action)", "return [*state, oops]"))
    code, _, err = call("play", "broken.py:Nests", "--against", "uniform", typed="1\n")
    assert code == 2 and err.startswith("error: broken.py, line ") and "oops" in err


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
