"""Tables: hands that replay, scores, reviews; and what the opponents hold stays on the server."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from web_client import client

import kibitz
from kibitz.evaluate.match import play
from kibitz.evaluate.score import scored
from kibitz.games.views import view_of
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.machine import PokerMachine
from kibitz.web import tables as module
from kibitz.web.library import Library
from kibitz.web.tables import WebTables

ROOT = Path(__file__).parents[2]
HANDS = {"uniform-leduc": 420, "uniform-rhode-island": 200, "uniform-limit-2": 200, "uniform-limit-3": 100,
         "uniform-toepen": 80}  # fmt: skip


@pytest.fixture(scope="module")
def library():
    made = Library(None)
    yield made
    made.pool.shutdown()


@pytest.fixture(scope="module")
def made():
    with client() as each:
        yield each


def hidden(table):
    """Words that only others know: their cards that were not shown or played."""
    now = table.now
    public = " ".join(view_of(table.rules, now.state, now.seat).public)
    found = []
    for seat in range(table.players):
        if seat != now.seat:
            found += [w for w in view_of(table.rules, now.state, seat).private if w not in public]
    return found


def says(body, word):
    """Whether an answer has a card in it, alone or among others that came together."""
    cards = rb"(?:[2-9TJQKA][shdc])*"
    return (
        word.encode() in body
        and re.search(rb"(?<![A-Za-z0-9])" + cards + word.encode() + cards + rb"(?![A-Za-z0-9])", body) is not None
    )


def one_hand(made, id, choose, search=True):
    """Play a hand by the addresses; every byte of what comes is searched for what the others hold."""
    searched = 0
    answer = made.get(f"/api/tables/{id}")
    while True:
        table = made.tables.table(id)
        if search:
            rules = json.dumps(table.help).encode()  # which name cards of their own
            assert rules in answer.body or not table.spec.startswith("toepen")
            body = answer.body.replace(rules, b"")
            for word in hidden(table):
                assert not says(body, word), f"{word} left the server in {answer.body[:300]!r}"
                searched += 1
        data = answer.data
        assert "seed" not in data
        if data["over"]:
            return data, searched
        body = {"hand": data["hand"], "decision": data["decision"], "action": choose(data["actions"])["name"]}
        answer = made.post(f"/api/tables/{id}/act", body)
        assert answer.status == 200, answer.body


@pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_every_byte_of_a_thousand_hands(made, part):
    """Of every fifth of them; `make test-all` plays all."""
    assert sum(HANDS.values()) == 1000
    drawn, searched, folds = random.Random(1), 0, 0
    for opponent, hands in HANDS.items():
        id = made.post("/api/tables", {"opponents": [opponent]}).data["id"]
        for _ in range(hands // part):
            data, seen = one_hand(made, id, lambda actions: drawn.choice(actions))
            searched += seen
            folds += bool(hidden(made.tables.table(id)))
            assert made.post(f"/api/tables/{id}/next", {"hand": data["hand"]}).status == 200
    assert searched > 4000 // part
    assert folds > 300 // part  # hands that ended without a showdown were searched to their end


def test_the_search_would_find_cards():
    assert says(b'{"private":["Kh"]}', "Kh") and says(b'"AsKhTd"', "Kh") and says(b'"seat 1 shows KhQd"', "Qd")
    assert not says(b"The best hand wins", "Th") and not says(b'"KhQd"', "Qh")


def swapped(rules, definition, hand, person, shift):
    """The same deal with other cards for everybody but a person."""
    board, hole = sum(definition.board), definition.hole
    free = [card for card in definition.deck if card not in hand.cards]
    random.Random(shift).shuffle(free)
    for seat in range(definition.players):
        if seat != person:
            hand.cards[board + seat * hole : board + (seat + 1) * hole] = [free.pop() for _ in range(hole)]
    state = rules.root()
    for seat in range(definition.players):
        state = rules.after(state, text_of(hand.cards[board + seat * hole : board + (seat + 1) * hole]))
    hand.state = state
    return hand


@pytest.mark.parametrize("opponent", ["uniform-rhode-island", "uniform-limit-2", "uniform-limit-3"])
def test_nothing_depends_on_cards_that_are_not_shown(made, opponent, monkeypatch):
    """Other cards for an opponent whose play does not depend on them: the same bytes, reviews too, until they show."""
    real, state = PokerMachine.hand, {"shift": 0}

    def hand(self, seed, number):
        deal = real(self, seed, number)
        return deal if not state["shift"] else swapped(self.rules, self.definition, deal, 0, state["shift"])

    monkeypatch.setattr(PokerMachine, "hand", hand)
    same = shown = 0
    for seed in range(8 if opponent.endswith("3") else 25):
        heard = []
        for shift in (0, seed + 1):
            state["shift"] = shift
            monkeypatch.setattr(module.secrets, "token_urlsafe", lambda size: "the-table")
            table = made.tables.open([opponent], seed=seed)
            drawn, before = random.Random(seed), len(made.heard)
            data, _ = one_hand(made, table.id, lambda actions: drawn.choice(actions))  # noqa: B023
            made.get(f"/api/tables/{table.id}/review")
            heard.append([each.body for each in made.heard[before:]])
            ended = any(" shows " in event["word"] for event in data["events"])
        cut = -2 if ended else len(heard[0])
        assert heard[0][:cut] == heard[1][:cut]
        same += not ended
        shown += ended
    assert same > 3 and (shown >= 1 or opponent.endswith("3"))


@pytest.mark.parametrize("opponent", ["shipped-limit-2", "shipped-limit-3"])
def test_trained_opponents_of_holdem(made, opponent):
    """They are offered, begin without tables of hands, and the page of their strategy shows ranges."""
    shelf = {each["id"]: each for each in made.get("/api/library").data["strategies"]}
    assert "trained" in shelf[opponent]["name"]
    table = made.tables.open([opponent], seed=3)
    for _ in range(2):
        data, _ = one_hand(made, table.id, lambda actions: next(a for a in actions if a["name"] == "call"))
    assert "shipped/" not in json.dumps(data)  # no path
    node = made.get(f"/api/look/{opponent}", step=["raise"]).data
    assert sum(cell["count"] for cell in node["cells"]) == 1326
    folds = {cell["name"]: cell["p"][0] for cell in node["cells"]}
    assert folds["AA"] < 0.05 < folds["72o"]


def test_hands_are_those_of_a_match(library):
    """What a table deals and draws is what `play` would, with the person as an agent of the same mind."""
    for id in ("made-kuhn", "uniform-leduc", "uniform-limit-3"):
        table = WebTables(library).open([id], seed=7)
        rules, machine = table.rules, table.machine

        class Person:
            name = "person"

            def begin(self, seat):
                pass

            def act(self, view):
                return [1.0] + [0.0] * (len(view.actions) - 1)

            def end(self, view, payoff):
                pass

        for number in range(12):
            while table.now.payoffs is None:
                data = table.data()
                table.act(data["hand"], data["decision"], data["actions"][0]["name"])
            seating = table.seating(number)
            agents = [Person() if p == 0 else table.opponents[p - 1] for p in seating]
            assert table.now.payoffs == play(rules, agents, machine.hand(7, number))
            table.next(number)


def test_score_and_interval(made):
    id = made.post("/api/tables", {"opponents": ["made-kuhn"]}).data["id"]
    won = []
    for _ in range(20):
        data, _ = one_hand(made, id, lambda actions: actions[-1], search=False)
        won.append(data["payoff"])
        made.post(f"/api/tables/{id}/next", {"hand": data["hand"]})
    score, wanted = data["score"], scored(len(won), sum(won), sum(x * x for x in won))
    assert score["hands"] == 20 and score["total"] == sum(won)
    assert score["mean"] == pytest.approx(wanted.mean) and score["interval"] == pytest.approx(list(wanted.interval))


def test_what_the_profile_would_have_done_and_believed(made):
    id = made.post("/api/tables", {"opponents": ["made-leduc"]}).data["id"]
    assert made.get(f"/api/tables/{id}/review").status == 409
    data, _ = one_hand(made, id, lambda actions: next(a for a in actions if a["name"] == "call"))
    review = made.get(f"/api/tables/{id}/review").data
    profile, table = made.library.strategy("made-leduc").profile, made.tables.table(id)
    assert len(review["would"]) == len(table.now.choices) >= 2
    for row, choice in zip(review["would"], table.now.choices, strict=True):
        assert row["p"] == pytest.approx(list(profile[data["seat"], choice.view.infoset].values()), abs=1e-6)
        assert row["names"][row["chosen"]] == "call"
    cells = {cell["name"]: cell["weight"] for cell in review["belief"]["cells"]}
    assert sum(cells.values()) == pytest.approx(1) and review["belief"]["own"] == data["private"][0]
    # By Bayes' rule from the profile, over all deals.
    rules, wanted = table.rules, {}
    for mine in ("Js", "Jh", "Qs", "Qh", "Ks", "Kh"):
        for other in ("Js", "Jh", "Qs", "Qh", "Ks", "Kh"):
            cards = [mine, other] if data["seat"] == 0 else [other, mine]
            board = [e["word"] for e in data["events"] if e["seat"] == -1 and len(e["word"]) == 2]
            if len({mine, other, *board}) < 2 + len(board):
                continue
            state, weight = rules.root(), 1.0
            for card in cards:
                state = rules.after(state, card)
            for event in (e for e in data["events"] if not e["word"].startswith("seat")):
                turn = rules.turn(state)
                if turn >= 0:
                    weight *= profile[turn, rules.infoset(state)][event["word"]]
                state = rules.after(state, event["word"])
            wanted[mine] = wanted.get(mine, 0.0) + weight
    for mine, weight in wanted.items():
        assert cells[mine] == pytest.approx(weight / sum(wanted.values()), abs=1e-6)


@pytest.mark.parametrize("id", ["rule-toepen", "uniform-no-limit-2",
                                pytest.param("uniform-liars-dice", marks=pytest.mark.slow),
                                "made-kuhn"])  # fmt: skip
def test_other_games(made, id):
    opened = made.post("/api/tables", {"opponents": [id]}).data
    for _ in range(3):
        data, _ = one_hand(made, opened["id"], lambda actions: actions[0], search=id[-4:] not in ("dice", "kuhn"))
        assert made.get(f"/api/tables/{opened['id']}/review").status == 200
        assert made.post(f"/api/tables/{opened['id']}/next", {"hand": data["hand"]}).status == 200


def test_moves_without_a_choice_have_a_mover(made):
    """In Toepen these are made at once: the log, the trick and the cards that are left go by who made them."""
    drawn = random.Random(2)
    for seed in range(12):
        table = made.tables.open(["uniform-toepen"], seed=seed)
        data, _ = one_hand(made, table.id, lambda actions: drawn.choice(actions))
        dealt = [view_of(table.rules, table.now.state, seat).private for seat in (0, 1)]
        for event in data["events"]:
            assert event["seat"] in (0, 1)
            assert event["word"] in ("check", "bet", "call", "fold") or event["word"] in dealt[event["seat"]]
        review = made.get(f"/api/tables/{table.id}/review").data
        assert not any("held none" in line for line in review["belief"]["text"])


def test_sizes_without_limit(made):
    data = made.post("/api/tables", {"opponents": ["uniform-no-limit-2"]}).data
    path = f"/api/tables/{data['id']}/act"
    while not data["sizes"] and not data["over"]:
        data = made.post(path, {"hand": data["hand"], "decision": data["decision"], "action": "call"}).data
    low, high = data["sizes"]
    assert low < high and all(not re.fullmatch(r"r\d+", a["name"]) for a in data["actions"])
    body = {"hand": data["hand"], "decision": data["decision"]}
    assert made.post(path, {**body, "action": f"r{high + 1}"}).status == 400
    assert made.post(path, {**body, "action": f"r{low}"}).status == 200


def test_a_game_of_ones_own(tmp_path):
    text = re.search(r"```python\n(.*?)```", (ROOT / "docs/own_game.md").read_text(encoding="utf-8"), re.S)[1]
    (tmp_path / "own.py").write_text(text, encoding="utf-8")
    name = re.search(r"class (\w+)", text)[1]
    library = Library(None, [f"{tmp_path}/own.py:{name}"])
    table = WebTables(library).open(["own-0"], seed=1)
    for _ in range(3):
        while table.now.payoffs is None:
            data = table.data()
            table.act(data["hand"], data["decision"], data["actions"][0]["name"])
        assert table.review()["would"]
        table.next(table.now.number)
    library.pool.shutdown()


def test_three_seats_with_two_minds(made):
    assert made.post("/api/tables", {"opponents": ["uniform-limit-3", "uniform-limit-3"]}).status == 200
    assert made.post("/api/tables", {"opponents": ["uniform-limit-3"] * 3}).status == 400
    assert made.post("/api/tables", {"opponents": ["uniform-limit-3", "uniform-leduc"]}).status == 400


def test_a_decision_is_taken_once(made):
    data = made.post("/api/tables", {"opponents": ["uniform-leduc"]}).data
    body = {"hand": data["hand"], "decision": data["decision"], "action": data["actions"][0]["name"]}
    path = f"/api/tables/{data['id']}/act"
    assert made.post(path, {**body, "action": "jump"}).status == 400
    assert made.post(path, {**body, "hand": True}).status == 400
    assert made.post(path, body).status == 200
    assert made.post(path, body).status == 409
    assert made.post(f"/api/tables/{data['id']}/next", {"hand": 99}).status == 409
    assert made.ask("DELETE", f"/api/tables/{data['id']}").status == 200
    assert made.get(f"/api/tables/{data['id']}").status == 404


def test_tables_are_limited_and_idle_ones_go():
    now = [0.0]
    with client(most=3, clock=lambda: now[0]) as made:
        ids = [made.post("/api/tables", {"opponents": ["made-kuhn"]}).data["id"] for _ in range(3)]
        assert made.post("/api/tables", {"opponents": ["made-kuhn"]}).status == 503
        now[0] = 1000.0
        made.get(f"/api/tables/{ids[0]}")
        now[0] = 2000.0
        assert made.post("/api/tables", {"opponents": ["made-kuhn"]}).status == 200
        assert made.get(f"/api/tables/{ids[0]}").status == 200 and made.get(f"/api/tables/{ids[1]}").status == 404


def test_search_from_a_saved_strategy(tmp_path):
    kibitz.solve("kuhn", "cfr+", iterations=20).save(tmp_path / "kuhn.profile")
    with client(tmp_path) as made:
        entry = next(each for each in made.get("/api/library").data["strategies"] if each["name"] == "kuhn")
        answer = made.post("/api/tables", {"opponents": [f"search:{entry['id']}"], "seconds": 0.05})
        assert answer.status == 200 and answer.data["names"][1].endswith("with search")
        one_hand(made, answer.data["id"], lambda actions: actions[0], search=False)
