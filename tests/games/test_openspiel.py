"""OpenSpiel: the built-in games agree with it node for node, its games come in, and strategies go out."""

from __future__ import annotations

import os
import random
import signal
import sys

import naive
import pytest

from kibitz.core.errors import GameError, KibitzError, MissingExtra, SpecError
from kibitz.games import CHANCE, TERMINAL, Game, game
from kibitz.games.goofspiel import Goofspiel
from kibitz.games.kuhn import Kuhn
from kibitz.games.leduc import Leduc
from kibitz.games.liars_dice import LiarsDice
from kibitz.games.matrix import Matrix
from kibitz.games.openspiel import OpenSpielGame, align, openspiel_policy
from kibitz.games.tree import lay_out
from kibitz.games.trial import try_first

pyspiel = pytest.importorskip("pyspiel")


def near(mine, yours):
    return len(mine) == len(yours) and max(abs(a - b) for a, b in zip(mine, yours, strict=True)) < 1e-12


class Twins:
    """Compares a game with OpenSpiel's, by a plain parallel walk that shares no code with `align`."""

    def __init__(self, rules):
        self.rules = rules
        self.histories = 0
        self.ours, self.theirs = {}, {}  # (seat, infoset) -> the infosets of the other side

    def compare(self, state, spiel):
        """Compare one node; return the pairs of children."""
        rules = self.rules
        self.histories += 1
        turn = rules.turn(state)
        if turn == TERMINAL:
            assert spiel.is_terminal()
            assert near(rules.payoff(state), spiel.returns())
            return []
        if turn == CHANCE:
            assert spiel.is_chance_node()
            outcomes = spiel.chance_outcomes()
            assert near([p for _, p in rules.chance(state)], [p for _, p in outcomes])
            numbers = [number for number, _ in outcomes]
        else:
            assert spiel.current_player() == turn
            numbers = spiel.legal_actions()
            mine, yours = (turn, rules.infoset(state)), (turn, spiel.information_state_string(turn))
            self.ours.setdefault(mine, set()).add(yours)
            self.theirs.setdefault(yours, set()).add(mine)
        actions = [action for action, _ in naive.steps(rules, state)]
        assert len(actions) == len(numbers)
        return [(rules.after(state, a), spiel.child(n)) for a, n in zip(actions, numbers, strict=True)]

    def walk(self, spiel_game):
        stack = [(self.rules.root(), spiel_game.new_initial_state())]
        while stack:
            stack.extend(self.compare(*stack.pop()))
        return self

    def one_to_one(self):
        return all(len(other) == 1 for other in [*self.ours.values(), *self.theirs.values()])


@pytest.mark.parametrize(
    ("rules", "histories", "infosets"),
    [
        (Kuhn(2), 58, 12),
        (Kuhn(3), 617, 48),
        (Kuhn(4), 7886, 160),
        (Leduc(), 9457, 936),
        (Leduc(suit_isomorphism=True), 1939, 288),
        pytest.param(Leduc(players=3, ranks=4, suit_isomorphism=True), 223881, 7428, marks=pytest.mark.slow),
        *[(LiarsDice(dice_sides=s), None, s * 2 ** (2 * s)) for s in (2, 3, 4, 5)],
        pytest.param(LiarsDice(), 294883, 24576, marks=pytest.mark.slow),
        (LiarsDice(numdice=2, dice_sides=2), 8191, 768),
        pytest.param(LiarsDice(numdice=3, dice_sides=2), None, None, marks=pytest.mark.slow),
        (Goofspiel(num_cards=3), 418, 114),
        (Goofspiel(num_cards=3, points_order="ascending", returns_type="total_points"), None, None),
        (Goofspiel(num_cards=4, imp_info=True), 26773, 3608),
        (Goofspiel(num_cards=4, points_order="ascending", imp_info=True), 1077, 162),
        (Goofspiel(2, 4, "descending", imp_info=True, returns_type="total_points"), 1077, 162),
        (Goofspiel(num_cards=5, points_order="descending", imp_info=True), 26931, 2124),
        (Goofspiel(2, 5, "ascending", imp_info=True, returns_type="point_difference"), 26931, None),
        (Goofspiel(players=3, num_cards=3, imp_info=True), 2551, 171),
        (Goofspiel(players=3, num_cards=4, points_order="descending", imp_info=True), None, None),
        (
            Goofspiel(players=3, num_cards=3, points_order="ascending", returns_type="point_difference"),
            None,
            None,
        ),
    ],
    ids=lambda value: getattr(value, "spec", ""),
)
@pytest.mark.some(8)
def test_same_tree_and_infosets(rules, histories, infosets):
    twins = Twins(rules).walk(pyspiel.load_game(rules.openspiel()))
    assert twins.one_to_one()
    assert histories in (None, twins.histories)
    assert infosets in (None, len(twins.ours))


@pytest.mark.parametrize(
    "rules",
    [
        Goofspiel(num_cards=4),
        Goofspiel(num_cards=4, points_order="descending", returns_type="point_difference"),
        Goofspiel(num_cards=5, points_order="ascending"),
    ],
    ids=lambda rules: rules.spec,
)
def test_goofspiel_recalls_more_than_openspiel(rules):
    """With open bids OpenSpiel forgets in which round a card was bid; ours splits infosets, merges none."""
    twins = Twins(rules).walk(pyspiel.load_game(rules.openspiel()))
    assert all(len(yours) == 1 for yours in twins.ours.values())
    assert len(twins.ours) > len(twins.theirs)
    with pytest.raises(GameError, match="disagree on what seat"):
        align(rules, rules.openspiel())


def test_leduc_for_three_with_suits_at_random():
    """Too many histories to walk: 3,000 random ones, compared at every step."""
    rules = Leduc(players=3, ranks=4)
    twins, spiel_game, rng = Twins(rules), pyspiel.load_game(rules.openspiel()), random.Random(7)
    for _ in range(3000):
        children = [(rules.root(), spiel_game.new_initial_state())]
        while children:
            children = twins.compare(*rng.choice(children))
    assert twins.one_to_one() and len(twins.ours) > 3000


def test_twins_and_align_find_differences():
    kuhn = Kuhn()

    class Generous(Kuhn):
        def payoff(self, state):
            return [1.5 * p for p in super().payoff(state)]

    class Blind(Kuhn):
        def infoset(self, state):
            return state.done

    class Sharp(Kuhn):
        def infoset(self, state):
            return f"{state.cards}{state.done}"

    class Backwards(Kuhn):
        def actions(self, state):
            return super().actions(state)[::-1]

    class Loaded(Kuhn):
        def chance(self, state):
            return [(card, 0.5 if len(state.cards) else p) for card, p in super().chance(state)][:2]

    for broken, says in [
        (Generous(), "payoffs"),
        (Blind(), "what seat"),
        (Sharp(), "what seat"),
        (Backwards(), "disagree"),
        (Loaded(), "chance"),
        (Kuhn(3), "3 players"),
        (Leduc(), "who moves|chance"),
        (Leduc(cap=3), "disagree"),
    ]:
        other = "leduc_poker" if broken == Leduc(cap=3) else "kuhn_poker"
        with pytest.raises(GameError, match=says):
            align(broken, other)
    for blind in (Blind(), Sharp()):
        assert not Twins(blind).walk(pyspiel.load_game("kuhn_poker")).one_to_one()
    assert Twins(kuhn).walk(pyspiel.load_game("kuhn_poker")).one_to_one()


# The adapter


@pytest.mark.parametrize(
    "text",
    [
        "kuhn_poker(players=3)",
        "leduc_poker(suit_isomorphism=true)",
        "tiny_hanabi",
        "goofspiel(num_cards=3,imp_info=true,points_order=descending)",  # simultaneous
        "matrix_rps",  # one shot
        "first_sealed_auction(max_value=3)",
        "pig(players=2,winscore=3,diceoutcomes=2,horizon=6)",  # perfect information, no strings of its own
        "tic_tac_toe()",
    ],
)
def test_openspiel_games_satisfy_the_protocol(text):
    rules = game(f"openspiel:{text}")
    assert isinstance(rules, Game) and rules.spec.startswith(f"openspiel:{text.partition('(')[0]}")
    assert game(rules.spec).spec == rules.spec
    offers = {}
    for number, (_, state) in enumerate(naive.walk(rules)):
        turn = rules.turn(state)
        if turn >= 0:
            actions = list(rules.actions(state))
            assert actions and len(set(actions)) == len(actions)
            assert offers.setdefault((turn, rules.infoset(state)), actions) == actions
        elif turn == CHANCE:
            assert sum(p for _, p in rules.chance(state)) == pytest.approx(1, abs=1e-12)
        else:
            assert len(rules.payoff(state)) == rules.players
        if number > 20_000:
            break
    assert offers


def test_openspiel_words():
    rules = OpenSpielGame("kuhn_poker")
    state = rules.after(rules.after(rules.root(), "Deal:2"), "Deal:0")
    assert rules.actions(state) == ("Pass", "Bet") and rules.infoset(state) == "2"
    assert naive.count(rules) == naive.count(Kuhn())
    same = OpenSpielGame(pyspiel.load_game("kuhn_poker(players=3)"))
    assert same.players == 3 and same.spec == "openspiel:kuhn_poker(players=3)"


def test_actions_with_one_name_become_numbers():
    class Mumbling:
        def action_to_string(self, number):
            return "hm" if number < 2 else "aha"

    from kibitz.games.openspiel import _named

    assert _named(Mumbling(), [0, 1, 2]) == {0: 0, 1: 1, 2: 2}
    assert _named(Mumbling(), [1, 2]) == {"hm": 1, "aha": 2}


def test_actions_are_kept_by_seat_and_checked():
    """The same string for two seats, or with other actions, is not taken for a known infoset."""

    class Fake:
        def __init__(self, seat, legal):
            self.seat, self.legal = seat, legal

        def current_player(self):
            return self.seat

        def information_state_string(self, seat):
            return "same"

        def legal_actions(self):
            return self.legal

        def action_to_string(self, number):
            return f"{self.seat} does {number}"

    rules = OpenSpielGame("kuhn_poker")
    for seat, legal in [(0, [0, 1]), (1, [0, 1]), (0, [1, 2]), (0, [0, 1])]:
        position = rules._position(Fake(seat, legal))
        assert position.moves == {f"{seat} does {number}": number for number in legal}


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("khun_poker", SpecError, "did you mean 'kuhn_poker'"),
        ("xyzzy", SpecError, "unknown OpenSpiel game 'xyzzy'"),
        ("", SpecError, "unknown OpenSpiel game"),
        ("kuhn_poker(seats=3)", SpecError, "Unknown parameter 'seats'"),
        ("kuhn_poker(players=99)", SpecError, "max_num_players = 10"),
        ("kuhn_poker(players=two)", SpecError, "Wrong type for parameter players"),
        ("kuhn_poker(players=2", SpecError, "bracket"),
        ("goofspiel(points_order=sideways)", SpecError, "sideways"),
        ("nfg_game", SpecError, "nfg_game"),
        ("mfg_crowd_modelling", GameError, "mean field"),
        ("stones_and_gems", GameError, "samples its chance"),
        ("dark_chess", GameError, "no information state strings"),
    ],
)
def test_what_openspiel_refuses_is_told_and_quietly(text, error, says, capfd):
    with pytest.raises(error, match=says) as caught:
        game(f"openspiel:{text}")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_without_openspiel(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(MissingExtra, match=r"pip install 'kibitz\[openspiel\]'"):
        game("openspiel:kuhn_poker")


# Strategies back to OpenSpiel


@pytest.mark.parametrize(("rules", "nash_conv"), [(Kuhn(), 11 / 12), (Leduc(), 4.747222)])
def test_uniform_play_is_judged_the_same(rules, nash_conv):
    exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")
    spiel_game = pyspiel.load_game(rules.openspiel())
    for mine in (rules, OpenSpielGame(spiel_game)):
        offers = {mine.infoset(s): mine.actions(s) for _, s in naive.walk(mine) if mine.turn(s) >= 0}

        def uniform(seat, infoset, offers=offers):
            return {action: 1 / len(offers[infoset]) for action in offers[infoset]}

        policy = openspiel_policy(spiel_game, uniform, mine)
        assert pyspiel.nash_conv(spiel_game, policy) == pytest.approx(nash_conv, abs=1e-6)
    if nash_conv < 1:
        assert exploitability.nash_conv(spiel_game, policy) == pytest.approx(nash_conv, abs=1e-6)
    # Without a game of ours, the words are OpenSpiel's.
    policy = openspiel_policy(spiel_game, uniform)
    assert pyspiel.exploitability(spiel_game, policy) == pytest.approx(nash_conv / 2, abs=1e-6)


def test_an_equilibrium_of_kuhn_by_hand_is_one_for_openspiel():
    """[Kuhn 1950] with alpha = 1/3: this fails if infosets or actions are crossed on the way."""
    bets = {
        "J:": 1 / 3, "Q:": 0, "K:": 1, "J:pb": 0, "Q:pb": 2 / 3, "K:pb": 1,
        "J:p": 1 / 3, "Q:p": 0, "K:p": 1, "J:b": 0, "Q:b": 1 / 3, "K:b": 1,
    }  # fmt: skip

    def lookup(seat, infoset):
        return {"pass": 1 - bets[infoset], "bet": bets[infoset]}

    spiel_game = pyspiel.load_game("kuhn_poker")
    policy = openspiel_policy(spiel_game, lookup, Kuhn())
    assert pyspiel.nash_conv(spiel_game, policy) == pytest.approx(0, abs=1e-9)


def test_simultaneous_games_take_a_strategy_too():
    rps = Matrix([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    policy = openspiel_policy("matrix_rps", lambda seat, infoset: {0: 1.0, 1: 0.0}, rps)
    in_turns = pyspiel.convert_to_turn_based(pyspiel.load_game("matrix_rps"))
    assert pyspiel.nash_conv(in_turns, policy) == pytest.approx(2)
    hidden = Goofspiel(num_cards=3, points_order="descending", imp_info=True)
    pairs = align(hidden, "goofspiel(num_cards=3,points_order=descending,imp_info=true)")
    # Per seat: the first bid, and after it 1 can lose or tie, 2 also win, 3 win or tie.
    assert len(pairs) == 2 * (1 + 2 + 3 + 2)


@pytest.mark.parametrize("chosen", [{"pass": 1.0, "fold": 0.0}, {"pass": 0.5}, {}])
def test_a_strategy_that_is_none_is_refused(chosen):
    with pytest.raises(GameError, match="not a distribution over \\['pass', 'bet'\\]"):
        openspiel_policy("kuhn_poker", lambda seat, infoset: chosen, Kuhn())


# Parameters that OpenSpiel does not check: it crashes, takes all memory or never comes back


@pytest.mark.parametrize(
    "text",
    [
        "goofspiel(num_cards=-1)", "goofspiel(num_cards=0)", "goofspiel(num_cards=2147483647)", "hanabi(players=50)",
        "goofspiel(num_cards=100000000)", "universal_poker(numPlayers=50)", "universal_poker(numRounds=100000)",
        "turn_based_simultaneous_game(game=goofspiel(num_cards=-1))",
        "trade_comm(num_items=-1)", "trade_comm(num_items=10000)", "deep_sea(size=1000000)",
        "dark_hex(board_size=1000)", "kuhn_poker(players=1e9)", "kuhn_poker(players=-3)",
        "liars_dice(dice_sides=1000000000)", "leduc_poker(players=two)",
        "blotto(coins=1000,fields=50)", "kuhn_poker(players=3", "efg_game", "misere",
    ],
)  # fmt: skip
@pytest.mark.some(8)
def test_odd_parameters_end_in_a_sentence(text, capfd):
    with pytest.raises(KibitzError) as caught:
        lay_out(OpenSpielGame(text))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 700
    assert capfd.readouterr().err == ""


def test_what_is_tried_first_harms_nobody():
    try_first(lambda: None, "nothing")
    with pytest.raises(SpecError, match=r"the code of it crashed with these parameters \(SIGSEGV\)"):
        try_first(lambda: os.kill(os.getpid(), signal.SIGSEGV), "it")
    with pytest.raises(SpecError, match="it fails: KeyError: 'x'"):
        try_first(lambda: {}["x"], "it")
    with pytest.raises(SpecError, match="it does not fit into memory"):
        try_first(lambda: bytearray(1 << 40), "it")
    with pytest.raises(SpecError, match="it does not start within"):
        try_first(lambda: os.kill(os.getpid(), signal.SIGXCPU), "it")
    with pytest.raises(GameError, match="as it is"):
        try_first(lambda: (_ for _ in ()).throw(GameError("as it is")), "it")


def test_rules_that_fail_later_are_told_with_their_history():
    rules = OpenSpielGame("kuhn_poker")

    class Broken:
        def history(self):
            return [1, 2]

        def current_player(self):
            raise RuntimeError("SpielFatalError\nof two lines")

    with pytest.raises(GameError, match=r"kuhn_poker fail at history \[1, 2\]: SpielFatalError; of two lines"):
        rules._position(Broken())
