"""Spots in the web interface: forms, progress, decisions, run-outs, and hands whose cards stay on the server."""

from __future__ import annotations

import os
import re
import time

import numpy as np
import pytest
from web_client import client, wait

import kibitz
from kibitz.cards.ranges import hand_cards, parse_range
from kibitz.games.protocol import CHANCE
from kibitz.poker.spots.spot import live
from kibitz.poker.spots.tables import grid_of_hands, hand_names
from kibitz.web.spot_hands import SpotHand
from kibitz.web.spot_nodes import KINDS, kinds_of, runouts, two_data

RIVER = {"board": "Qs Jh 2h 5c 5d", "ranges": ["AA, QJs, T9s:0.5, 65s", "KK, AQ, AJs:0.5, 76s"], "pot": 100,
         "stacks": 200, "bets": "50%, allin", "until": 0.002}  # fmt: skip
TURN = {"board": "Qs Jh 2h 5c", "ranges": ["AA, QJs", "KK, AQs"], "pot": 100, "stacks": 60, "bets": "allin",
        "until": 0.01}  # fmt: skip

ENDLESS = {"board": "Qs Jh 2h 5c", "ranges": ["top 30%", "top 40%"], "pot": 100, "stacks": 400, "bets": "50%, allin"}


@pytest.fixture(scope="module")
def site():
    with client() as each:
        yield each


@pytest.fixture(scope="module")
def river(site):
    """The id of a solved spot."""
    answer = site.post("/api/spots", RIVER)
    assert answer.status == 200, answer.body
    data = wait(site, answer.data["id"])
    assert data["state"] == "solved" and data["points"][-1][2] <= RIVER["until"]
    return data["id"]


@pytest.fixture(scope="module")
def solution():
    question = {key: value for key, value in RIVER.items() if key != "until"}
    return kibitz.solve_spot(kibitz.spot(**question), until=RIVER["until"])


@pytest.fixture(scope="module")
def turn():
    return kibitz.solve_spot(kibitz.spot(**{k: v for k, v in TURN.items() if k != "until"}), until=TURN["until"])


def test_a_spot_is_answered_as_in_python(site, river, solution):
    listed = site.get("/api/spots").data["spots"]
    assert any(each["id"] == river and each["state"] == "solved" for each in listed)
    for line in ("", "check", "check, bet 50"):
        node = solution.at(line)
        answer = site.get(f"/api/spots/{river}/node", line=line).data
        assert answer["player"] == node.player and [a["name"] for a in answer["actions"]] == list(node.actions)
        assert np.allclose([a["share"] for a in answer["actions"]], node.frequencies, atol=1e-4)
        assert np.allclose(answer["values"], node.mean_values, atol=1e-3)
        own = answer["players"][node.turn]
        number = {text: hand for hand, text in enumerate(hand_names())}
        here = [number[text] for text in own["hands"]]
        assert np.allclose(own["strategy"], node.strategy[:, here], atol=1e-4)
        assert abs(sum(own["shares"]) - 1) < 1e-3
    steps = site.get(f"/api/spots/{river}/node", line="check, bet 50").data["steps"]
    assert [(step["word"], step["seat"]) for step in steps] == [("check", 0), ("bet 50", 1)]


def test_mistakes_are_pointed_at(site):
    answer = site.post("/api/spots", {**RIVER, "ranges": ["AA, QX", "KK"]})
    assert answer.status == 400
    line, carets = answer.data["carets"].split("\n")
    assert line.strip() == "AA, QX" and line[carets.index("^")] in "QX"
    answer = site.post("/api/range", {"text": "TT+, ZZ"})
    assert answer.status == 400 and "ZZ" in answer.data["carets"]
    assert site.get("/api/spots/none").status == 404


@pytest.mark.parametrize("change", [
    {"ranges": "AA"}, {"ranges": ["AA", 3]}, {"pot": True}, {"pot": None}, {"pot": -5}, {"board": ["Qs"]}, {"bets": {}},
    {"until": 0}, {"until": "x"}, {"seconds": 1e9}, {"deck": [4, 2]}, {"unknown": 1}, {"board": "Qs Qs 2h"},
    {"stacks": "nan"}, {"prizes": "50, 30", "others": "x"},
])  # fmt: skip
def test_fields_of_a_wrong_kind_are_refused(site, change):
    answer = site.post("/api/spots", {**RIVER, **change})
    assert answer.status == 400 and answer.data["error"]


def test_a_range_by_class(site):
    answer = site.post("/api/range", {"text": "TT+, AKs:0.5, AhQh"}).data
    weights = parse_range("TT+, AKs:0.5, AhQh").weights
    cell, texts = grid_of_hands()
    for k, text in enumerate(texts):
        assert answer["weights"][text] == pytest.approx(weights[cell == k].mean(), abs=1e-4)
    assert answer["mixed"] == ["AQs"] and answer["hands"] == pytest.approx(weights.sum())


def test_what_hands_make():
    kinds = dict(zip(hand_names(), kinds_of(tuple(kibitz.cards.parse("Qs Jh 2h").tolist())).tolist(), strict=True))
    assert kinds["AhKh"] == "flush draw" and kinds["QhQd"] == "three of a kind" and kinds["QsJd"] == ""
    assert kinds["QdJd"] == "two pairs" and kinds["AdKd"] == "high card" and kinds["Qh7h"] == "flush draw"
    assert set(kinds.values()) <= {*KINDS, "", "flush draw"}


def test_run_outs_are_the_decisions_after_each_card(turn):
    node = turn.at("check, check")
    assert node.turn == CHANCE
    cells = runouts(node)
    assert len(cells) == 48
    for cell in cells[::9]:
        after = node.after(cell["card"])
        assert np.allclose(cell["values"], after.mean_values, atol=1e-3)  # first_values against a walk of the street
        assert np.allclose(cell["shares"], after.frequencies, atol=1e-4)
    assert two_data(node)["kind"] == "chance"


def test_a_solve_can_be_stopped(site):
    wide = {"board": "Qs Jh 2h", "ranges": ["top 40%", "top 40%"], "pot": 100, "stacks": 400, "until": 1e-5,
            "seconds": 5}
    id = site.post("/api/spots", wide).data["id"]
    assert site.get(f"/api/spots/{id}/node").status == 400  # not solved yet
    assert site.ask("DELETE", f"/api/spots/{id}").status == 200
    assert site.get(f"/api/spots/{id}").status == 404


def test_what_a_stopped_solve_has_is_kept(site):
    """The answer is that of a run with so many iterations."""
    id = site.post("/api/spots", {**ENDLESS, "until": 1e-6, "seconds": 3600}).data["id"]
    while site.get(f"/api/spots/{id}").data["state"] == "waiting":
        time.sleep(0.05)
    assert site.post(f"/api/spots/{id}/stop", {}).status == 200
    data = wait(site, id)
    assert data["state"] == "solved" and data["stopped"] and data["exploitability"] > 1e-6
    done = int(data["points"][-1][0])
    again = kibitz.solve_spot(kibitz.spot(**ENDLESS), iterations=done)
    assert data["exploitability"] == pytest.approx(again.exploitability, rel=1e-3)
    answer = site.get(f"/api/spots/{id}/node", line="").data
    assert [action["share"] for action in answer["actions"]] == pytest.approx(again.at().frequencies.tolist(), abs=1e-3)
    assert site.post(f"/api/spots/{id}/stop", {}).data["stopped"]  # nothing happens to a solved one


def test_a_solve_that_waits_is_stopped_before_it_begins(site):
    first = site.post("/api/spots", {**ENDLESS, "until": 1e-6, "seconds": 3600}).data["id"]
    second = site.post("/api/spots", {**TURN, "until": 1e-6}).data["id"]
    site.post(f"/api/spots/{second}/stop", {})
    site.post(f"/api/spots/{first}/stop", {})
    assert wait(site, first)["state"] == "solved"
    assert wait(site, second)["why"] == "it was stopped before it began"


def test_saved_spots_are_opened(tmp_path, solution):
    kibitz.save_spot(solution, tmp_path / "river.spot")
    (tmp_path / "bad.spot").mkdir()
    manifest = (tmp_path / "river.spot" / "manifest.json").read_text(encoding="utf-8")
    (tmp_path / "bad.spot" / "manifest.json").write_text(manifest.replace("Qs", "Zz"), encoding="utf-8")
    with client(tmp_path) as site:
        listed = {each["name"]: each for each in site.get("/api/spots").data["saved"]}
        assert listed["river"]["board"].replace(" ", "") == "QsJh2h5c5d"
        id = listed["river"]["id"]
        data = site.get(f"/api/spots/{id}").data
        assert data["state"] == "solved" and not data["stopped"]
        assert data["exploitability"] == pytest.approx(solution.exploitability)
        answer = site.get(f"/api/spots/{id}/node", line="check").data
        assert np.allclose([a["share"] for a in answer["actions"]], solution.at("check").frequencies, atol=1e-3)
        assert site.post(f"/api/spots/{id}/hands", {"seat": 0}).status == 200  # it can be played
        assert all(each["id"] != id for each in site.get("/api/spots").data["spots"])  # not one of this session
        kibitz.save_spot(kibitz.solve_spot(solution.spot, iterations=1), tmp_path / "river.spot")
        os.utime(tmp_path / "river.spot" / "manifest.json", (1, 1))
        site.library._until = -1.0  # scan again
        assert site.get(f"/api/spots/{id}").data["points"][0][0] == 1.0
        if "bad" in listed:
            assert site.get(f"/api/spots/{listed['bad']['id']}").status == 400
    with client(tmp_path / "river.spot") as site:  # the folder is a saved spot itself
        assert [each["name"] for each in site.get("/api/spots").data["saved"]] == ["river"]


def test_the_address_of_a_saved_spot_is_printed(tmp_path, solution, monkeypatch):
    import uvicorn

    from kibitz.web.serve import ui

    kibitz.save_spot(solution, tmp_path / "river.spot")
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    lines: list[str] = []
    ui(tmp_path / "river.spot", port=0, show=False, tell=lines.append)
    assert lines[0].startswith("0 saved strategies and 1 saved spot in ")
    with client(tmp_path / "river.spot") as site:
        (saved,) = site.get("/api/spots").data["saved"]
    assert f"/spots/{saved['id']}?token=" in lines[1]


# Hands against a solution


def test_cards_of_the_solution_stay_on_the_server(site, river):
    for _ in range(30):
        data = site.post(f"/api/spots/{river}/hands", {"seat": 1}).data
        while not data["over"]:
            assert "other" not in data and "payoff" not in data and data["choices"] == []
            message = {"hand": data["hand"], "decision": data["decision"], "action": data["actions"][-1]}
            answer = site.post(f"/api/spots/{river}/act", message)
            again = site.post(f"/api/spots/{river}/act", message)
            assert answer.status == 200 and again.status == 409
            data = site.get(f"/api/spots/{river}/hands").data
        assert re.fullmatch("([2-9TJQKA][shdc]){2}", data["other"])
    assert data["score"]["hands"] == 30


def test_scores_are_what_actions_lose(solution):
    """The mean of what is lost by always checking or calling is what that player wins less than by the solution."""
    hand, lost, won = None, [], []
    for _ in range(800):
        hand = SpotHand.dealt(solution, 0, hand, seed=1 if hand is None else None)
        before = hand.score.lost
        while hand.payoff is None:
            calm = [action for action in hand.node.actions if action in ("check", "call")]
            hand.act(hand.score.hands, len(hand.choices), calm[0])
        lost.append(hand.score.lost - before)
        won.append(hand.payoff)
    assert hand.score.hands == 800 and hand.score.lost == pytest.approx(sum(lost))
    difference = np.mean(won) + np.mean(lost) - np.nan_to_num(solution.at().best_values[0]) @ first_weights(solution)
    spread = np.std(np.array(won) + np.array(lost)) / np.sqrt(len(won))
    assert abs(difference) < 5 * spread + RIVER["until"] * 2 * RIVER["pot"]


def first_weights(solution):
    node = solution.at()
    weights = np.where(np.isfinite(node.best_values[0]), node.weights[0], 0.0)
    return weights / weights.sum()


def test_hands_are_dealt_as_the_ranges_say(solution):
    hand, count = None, np.zeros(1326)
    for _ in range(1500):
        hand = SpotHand.dealt(solution, 1, hand, seed=2 if hand is None else None)
        hand.payoff = 0.0  # not played
        count[hand.holdings[0]] += 1
        cards = hand_cards()[list(hand.holdings)].ravel()
        assert len(set(cards.tolist())) == 4
    assert (count[live(solution.spot)[0] == 0] == 0).all()
    expected = 1500 * first_weights(solution)
    used = expected > 0
    chi = float((((count - expected) ** 2)[used] / expected[used]).sum())
    assert chi < 2.5 * used.sum()
