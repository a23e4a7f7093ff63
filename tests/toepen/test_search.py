"""Search: ranges by the blueprint, the endgame solved and played, and what that gains, measured exactly."""

from __future__ import annotations

import numpy as np
import pytest
from seats import laid_out, profile_of, trained

import kibitz
from kibitz.core.errors import KibitzError
from kibitz.evaluate.match import match
from kibitz.games.views import view_of
from kibitz.play import agent
from kibitz.solvers.machines import machine_of
from kibitz.toepen.endgame_root import root_of
from kibitz.toepen.search import ToepenSearch, allowed, joined, search_gain, written
from kibitz.toepen.states import NUMBERS, deal_text, events, mask_of

SMALL = "toepen(suits=2, ranks=3, hand=2)"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return agent(trained(tmp_path_factory.mktemp("search") / "small", SMALL), SMALL)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("search") / "full", "toepen", 100)


def history_of(game, number, words, start=0):
    """A public history of random legal moves, up to so many words."""
    rules = kibitz.game(game)
    rng = np.random.default_rng(number)
    while True:
        hand = machine_of(rules).hand(0, start + int(rng.integers(1 << 30)))
        state = hand.start()
        while rules.turn(state) >= 0 and len(state.done.split()) < words:
            actions = [a for a in rules.actions(state) if a != "fold"]
            state = rules.after(state, actions[rng.integers(len(actions))])
        if rules.turn(state) >= 0:
            return rules, state


@pytest.mark.parametrize("number", range(4))
def test_ranges_are_products_of_the_blueprints_probabilities(full, number):
    rules, state = history_of("toepen", number, 12)
    history = tuple(state.done.split())
    search = ToepenSearch(agent(full, rules), iterations=1)
    root = root_of(rules, history, 2)
    endgame = root.endgame(rules)
    assert root.history == history[: len(root.history)] and endgame.cards_each == 2
    assert sum(word in NUMBERS for word in root.history) == 4
    for seat in range(2):
        found = search.ranges(root, endgame, seat)
        possible = allowed(search.base, root, endgame, seat)
        assert (possible | (found == 0)).all() and possible.any()
        for i in np.random.default_rng(number).choice(len(found), 40, replace=False):
            hand = int(endgame.hands[i]) | root.shown[seat]
            expected, legal = naive_range(rules, search.base, seat, hand, root.history)
            assert found[i] == pytest.approx(expected, abs=1e-12) and possible[i] == legal


def naive_range(rules, base, seat, hand, history):
    """By the readable rules: the probability of a seat's moves, and whether they are legal."""
    mine = tuple(card for card in range(32) if hand >> card & 1)
    gone = {NUMBERS[word] for word in history if word in NUMBERS}
    theirs = [NUMBERS[e.word] for e in events(history) if e.seat != seat and e.word in NUMBERS]
    rest = [card for card in rules.deck if card not in mine and card not in gone]
    # The other may hold anything that makes its own moves legal: what it played, and cards of suits it need not follow.
    product = 1.0
    for at, event in enumerate(events(history)):
        if event.seat != seat:
            continue
        past = history[:at]
        state = rules.read(seat, f"{' '.join(name(c) for c in mine if name(c) not in past)} | {' '.join(past)}")
        actions = rules.actions(state)
        if event.word not in actions:
            return 0.0, False
        if len(actions) > 1:
            product *= base.act(view_of(rules, state, seat))[actions.index(event.word)]
    assert len(theirs) + len(rest) >= rules.hand
    return product, True


def name(card):
    from kibitz.toepen.states import NAMES

    return NAMES[card]


def test_a_blueprint_written_into_an_endgame_is_worth_what_it_is_worth(base):
    """The whole game as an endgame: values of all pairs are those of the laid-out tree."""
    _, tree = laid_out(SMALL)
    search = ToepenSearch(base, iterations=50, from_trick=1, floor=0.0)
    solved = search.at(())
    assert np.ptp(solved.ranges) == 0.0
    rows = solved.endgame.rows()
    plain = written(base, solved.root, solved.endgame, rows, solved.ranges)
    found = solved.solution.probabilities
    for seats, strategy in (
        ((base, base), plain),
        ((search, base), joined(rows, found, plain)),
        ((base, search), joined(rows, plain, found)),
    ):
        value = solved.endgame.evaluate(strategy, *solved.ranges).value
        assert value == pytest.approx(kibitz.value(tree, profile_of(SMALL, seats))[0], abs=1e-9)


def test_a_model_is_written_like_a_blueprint(base):
    from kibitz.toepen.kernels.play import FEATURES

    counts = np.random.default_rng(3).integers(0, 9, (FEATURES, 4)).astype(float)
    bent = Bent(base, counts, 7.0)
    _, tree = laid_out(SMALL)
    search = ToepenSearch(base, iterations=1, from_trick=1, floor=0.0)
    solved = search.at(())
    strategy = written(base, solved.root, solved.endgame, solved.endgame.rows(), solved.ranges, counts, 7.0)
    value = solved.endgame.evaluate(strategy, *solved.ranges).value
    assert value == pytest.approx(kibitz.value(tree, profile_of(SMALL, (bent, bent)))[0], abs=1e-9)
    assert value != pytest.approx(kibitz.value(tree, profile_of(SMALL, (base, base)))[0], abs=1e-3)


class Bent:
    """A blueprint bent by counts, as an agent."""

    def __init__(self, base, counts, prior):
        self.base, self.counts, self.prior = base, counts, prior

    def act(self, view):
        hand = np.array([mask_of(NUMBERS[name] for name in view.private)], np.uint64)
        histories = [view.public, *((*view.public, action) for action in view.actions)]
        before, *after = (self.base.likelihoods(view.seat, h, hand, self.counts, self.prior)[0] for h in histories)
        assert sum(after) == pytest.approx(before)
        return [each / before for each in after] if before > 0 else [1.0 / len(after)] * len(after)


def test_the_gain_is_unbiased(base, monkeypatch):
    """Sampled public histories with exact endgames give what the laid-out tree says; and so does a match."""
    monkeypatch.setattr(ToepenSearch, "kept", 10_000)
    _, tree = laid_out(SMALL)
    search = ToepenSearch(base, iterations=30, from_trick=2, floor=0.0)
    plain = kibitz.value(tree, profile_of(SMALL, (base, base)))
    truth = [
        kibitz.value(tree, profile_of(SMALL, (search, base)))[0] - plain[0],
        kibitz.value(tree, profile_of(SMALL, (base, search)))[1] - plain[1],
    ]
    found = search_gain(search, deals=200)
    assert abs(found.mean - np.mean(truth)) < 4 * found.error
    for seat in range(2):
        assert abs(found.by_seat[seat].mean - truth[seat]) < 4 * found.by_seat[seat].error
    assert 0 < found.endgames <= found.deals == 200
    assert found.nash_conv < 0.05 < found.base_nash_conv
    played = match(SMALL, search, base, deals=800)
    assert abs(played.mean - np.mean(truth)) < 4 * played.error
    assert found.error * np.sqrt(200) < 0.5 * played.error * np.sqrt(800), "less noise for each deal"


def test_search_answers_the_same_whatever_the_other_holds(full):
    """Hidden cards are changed for others of the stock: no agent notices."""
    agents = [agent(text, "toepen") for text in ("rule", full, f"search({full}, iterations=2)")]
    agents.append(agent(f"exploit({full}, iterations=2)", "toepen"))
    tried = 0
    for number, words in ((1, 3), (2, 8), (3, 10), (4, 13), (5, 15)):
        rules, state = history_of("toepen", number, words)
        seat, other = state.turn, 1 - state.turn
        history = state.done.split()
        rng = np.random.default_rng(number)
        stock = [c for c in rules.deck if c not in state.dealt[0] and c not in state.dealt[1]]
        played = [c for c in state.dealt[other] if c in state.plays]
        for _ in range(50):
            hidden = rng.choice(stock, len(state.held[other]), replace=False).tolist()
            hands = [tuple(sorted(played + hidden))] * 2
            hands[seat] = state.dealt[seat]
            again = rules.after(rules.root(), deal_text(*hands))
            while len(again.done.split()) < len(history) and history[: len(again.done.split())] == again.done.split():
                word = history[len(again.done.split())]
                if word not in rules.actions(again):
                    break
                again = rules.after(again, word)
            if again.done == state.done and again.turn == seat and again.dealt != state.dealt:
                break
        else:
            continue
        tried += 1
        one, two = view_of(rules, state, seat), view_of(rules, again, seat)
        assert one == two
        for player in agents:
            answers = []
            for view in (one, two):
                if hasattr(player, "_kept"):
                    player._kept.clear()
                player.begin(seat)
                answers.append(player.act(view))
            assert answers[0] == answers[1] and sum(answers[0]) == pytest.approx(1.0)
    assert tried >= 3


def test_ranges_that_nobody_reaches_are_even_over_what_the_rules_allow(base):
    """A blueprint that never bets arrives nowhere after a bet."""
    rules, _ = laid_out(SMALL)
    search = ToepenSearch(base, iterations=5, from_trick=2)
    history = ("bet", "call", "8c", "check", "Tc")
    root = root_of(rules, history, 1)
    assert (root.leader, root.ante, root.last_bettor) == (1, 2, 0)
    search.ranges = lambda root, endgame, seat, *rest: np.zeros(len(endgame.hands))
    solved = search.at(history)
    for seat in range(2):
        used = solved.solution.ranges[seat]
        assert np.allclose(used[solved.possible[seat]], 1 / solved.possible[seat].sum())
        assert not used[~solved.possible[seat]].any()


def test_solving_again_at_the_next_trick(full):
    once = agent(f"search({full}, iterations=30)", "toepen")
    again = agent(f"search({full}, iterations=30, again=true)", "toepen")
    rules, state = history_of("toepen", 11, 13)
    while len(state.plays) < 6:
        actions = [a for a in rules.actions(state) if a != "fold"]
        state = rules.after(state, actions[0])
    view = view_of(rules, state, state.turn)
    for player in (once, again):
        assert sum(player.act(view)) == pytest.approx(1.0)
    first, second = once.at(view.public), again.at(view.public)
    assert (first.endgame.cards_each, second.endgame.cards_each) == (2, 1)
    rest, later = first.since(view.public), second.since(view.public)
    assert (*second.root.history, *later) == view.public == (*first.root.history, *rest)
    # The range it starts from is what the first solution leads to.
    found = np.array(list(first.reaches(0, view.public).values()))
    assert found.sum() > 0 and (found <= first.solution.ranges[0] + 1e-12).all()


def test_options_of_search(full):
    search = agent(f"search({full}, seconds=0.5, from=4)", "toepen")
    assert (search.limit, search.trick) == ({"seconds": 0.5}, 3)
    assert agent(f"search({full})", "toepen").trick == 2
    for wrong in ("seconds=0", "from=1", "from=5", "depth=3", "floor=2", "threads=0"):
        with pytest.raises(KibitzError):
            agent(f"search({full}, {wrong})", "toepen")
    with pytest.raises(KibitzError, match="needs a saved strategy"):
        agent("search(seconds=1)", "toepen")
