"""Spots of three players and play before the flop in the web interface: forms, progress, decisions, saved ones."""

from __future__ import annotations

import time

import numpy as np
import pytest
from web_client import client, wait

import kibitz
from kibitz.cards.holdem import class_names, class_sizes
from kibitz.poker.spots.tables import hand_names

RIVER = {"kind": "three", "board": "Qs Jh 2h 5c 5d", "ranges": ["AA, T9s", "KK, AQs", "QQ, KJs"], "pot": 90,
         "stacks": "200, 60, 150", "bets": "50%", "raises": "allin", "rake": "5%", "seconds": 1}  # fmt: skip
TURN = {**RIVER, "board": "Qs Jh 2h 5c", "stacks": 60, "raises": "none", "rake": ""}
PUSH = {"kind": "preflop", "stacks": "10", "opens": "allin", "threebets": "allin", "limps": False, "postflop": "none",
        "until": 0.001, "seconds": 60}  # fmt: skip


def solved(site, message):
    answer = site.post("/api/spots", message)
    assert answer.status == 200, answer.body
    data = wait(site, answer.data["id"])
    assert data["state"] == "solved", data["why"]
    return data


@pytest.fixture(scope="module")
def site():
    with client() as each:
        yield each


@pytest.fixture(scope="module")
def three(site):
    return solved(site, RIVER)


@pytest.fixture(scope="module")
def push(site):
    return solved(site, PUSH)


def test_three_players_are_solved_and_measured(site, three):
    assert three["players"] == ["OOP", "MID", "IP"] and three["exploitability"] is None and not three["target"]
    assert three["exact"] and "CFR need not converge" in three["knowledge"] and "Rake of 5%" in three["knowledge"]
    assert sum(three["values"]) < 90 and min(three["gains"]) > -1e-6
    node = site.get(f"/api/spots/{three['id']}/node", line="check, check").data
    assert node["player"] == "IP" and node["seat"] == 2 and node["values"] is None and node["equities"] is None
    assert [step["word"] for step in node["steps"]] == ["check", "check"]
    assert [step["seat"] for step in node["steps"]] == [0, 1]
    assert [player["player"] for player in node["players"]] == ["OOP", "MID", "IP"]
    own = node["players"][2]
    assert np.allclose(np.sum(own["strategy"], axis=0), 1, atol=1e-4)
    assert sum(own["shares"]) == pytest.approx(1, abs=1e-4)
    assert set(own["hands"]) <= set(hand_names()) and "strategy" not in node["players"][0]
    values, means = np.array(own["action_values"], np.float64), np.array(own["values"], np.float64)
    known = np.isfinite(values).all(axis=0)  # a hand that meets nobody here wins nobody knows what
    assert known.any() and np.allclose(means[known], (np.array(own["strategy"]) * values).sum(axis=0)[known], atol=1e-3)
    assert sum(action["share"] for action in node["actions"]) == pytest.approx(1, abs=1e-6)
    after = site.get(f"/api/spots/{three['id']}/node", line="check, bet 45, fold").data
    assert [player["player"] for player in after["players"]] == ["OOP", "MID"]  # IP has folded
    assert sum(action["share"] for action in after["actions"]) == pytest.approx(1)  # even if nobody ever comes there
    over = site.get(f"/api/spots/{three['id']}/node", line="check, check, check").data
    assert over["kind"] == "end" and over["actions"] == []


def test_later_streets_of_three_players(site):
    id = solved(site, TURN)["id"]
    node = site.get(f"/api/spots/{id}/node", line="check, check, check").data
    assert node["kind"] == "chance" and len(node["cards"]) == 48
    cells = site.get(f"/api/spots/{id}/runouts", line="check, check, check").data["cards"]
    assert [cell["card"] for cell in cells] == node["cards"] and cells[0]["values"] is None
    river = site.get(f"/api/spots/{id}/node", line="check, check, check, 5d, check").data
    assert "By a best response on this street" in river["knowledge"]
    assert river["player"] == "MID" and river["board"][-1] == "5d" and river["steps"][3]["seat"] == -1


def test_before_the_flop_all_cards_are_counted(site, push):
    exact = kibitz.solve_preflop(kibitz.preflop(10, "allin", "allin", postflop="none", limps=False), until=0.001)
    assert push["target"] and push["exploitability"] <= 0.001 and push["players"] == ["SB", "BB"]
    assert push["values"] == pytest.approx(exact.values.tolist(), abs=2e-3)
    for line in ("", "allin 10"):
        node, data = exact.at(line), site.get(f"/api/spots/{push['id']}/node", line=line).data
        assert data["player"] == node.player and data["board"] == [] and data["kind"] == "decision"
        shares = {action["name"]: action["share"] for action in data["actions"]}
        assert list(shares) == list(node.actions)
        assert list(shares.values()) == pytest.approx(node.frequencies.tolist(), abs=1e-6)
        own = next(each for each in data["players"] if each["seat"] == node.turn)
        place = [class_names().index(text) for text in own["hands"]]
        assert own["counts"] == [int(class_sizes()[k]) for k in place]
        assert np.allclose(own["strategy"], node.strategy[:, place], atol=1e-4)


def test_a_flop_that_comes_can_be_asked_about(site):
    message = {"kind": "preflop", "stacks": 12, "postflop": "none", "until": 0.01}
    data = solved(site, message)
    flop = site.get(f"/api/spots/{data['id']}/node", line="raise 2.5, call").data["flop"]
    assert flop["pot"] == 5 and flop["stacks"] == [9.5, 9.5] and len(flop["ranges"]) == 2
    answer = site.post("/api/spots", {"board": "Qs Jh 2h 5c 5d", "ranges": flop["ranges"], "pot": flop["pot"],
                                      "stacks": min(flop["stacks"]), "chip": flop["chip"], "until": 0.1})  # fmt: skip
    assert answer.status == 200 and wait(site, answer.data["id"])["state"] == "solved"
    shown = site.get(f"/api/spots/{data['id']}/node", line="allin, call").data
    assert "flop" not in shown  # nobody can bet on it


@pytest.mark.parametrize("change", [
    {"kind": "four"}, {"kind": 3}, {"ranges": ["AA", "KK"]}, {"ranges": ["AA", "KK", 3]}, {"prizes": "50, 30"},
    {"stacks": "10, 20"}, {"rake": True}, {"rake": "x"}, {"donks": "50%"}, {"bets": "OOP: 50%"}, {"deck": [5, 4]},
    {"board": ""}, {"seconds": 1e9},
])  # fmt: skip
def test_wrong_fields_of_three_players_are_refused(site, change):
    answer = site.post("/api/spots", {**RIVER, **change})
    assert answer.status == 400 and answer.data["error"]


@pytest.mark.parametrize("change", [
    {"limps": 1}, {"postflop": "some"}, {"opens": "2.5"}, {"stacks": ""}, {"abstraction": "null"},
    {"board": "Qs Jh 2h"}, {"blinds": 3}, {"until": 0},
])  # fmt: skip
def test_wrong_fields_before_the_flop_are_refused(site, change):
    answer = site.post("/api/spots", {**PUSH, **change})
    assert answer.status == 400 and answer.data["error"]


def test_only_two_play(site, three, push):
    for data in (three, push):
        answer = site.post(f"/api/spots/{data['id']}/hands", {"seat": 0})
        assert answer.status == 400 and "two players" in answer.data["error"]


def test_training_is_stopped_and_kept(site):
    id = site.post("/api/spots", {**TURN, "seconds": 3000}).data["id"]
    while site.get(f"/api/spots/{id}").data["phase"] != "training":
        time.sleep(0.05)
    assert site.post(f"/api/spots/{id}/stop", {}).status == 200
    data = wait(site, id)
    assert data["state"] == "solved" and data["stopped"] and data["points"][-1][0] > 0


def test_saved_ones_are_opened(tmp_path, push):
    question = kibitz.multiway("Qs Jh 2h 5c 5d", RIVER["ranges"], 90, 100, "50%", "none")
    solution = kibitz.solve_multiway(question, iterations=500, threads=1)
    kibitz.save_multiway(solution, tmp_path / "three.spot")
    before = kibitz.solve_preflop(kibitz.preflop(10, "allin", postflop="none"), until=0.01)
    kibitz.save_preflop(before, tmp_path / "push.preflop")
    (tmp_path / "bad").mkdir()
    manifest = (tmp_path / "three.spot" / "manifest.json").read_text(encoding="utf-8")
    (tmp_path / "bad" / "manifest.json").write_text(manifest, encoding="utf-8")
    with client(tmp_path) as site:
        listed = {each["name"]: each for each in site.get("/api/spots").data["saved"]}
        assert listed["three"]["kind"] == "multiway" and listed["push"]["kind"] == "preflop"
        data = site.get(f"/api/spots/{listed['three']['id']}").data
        assert data["values"] == pytest.approx(solution.values.tolist()) and data["kind"] == "three"
        node = site.get(f"/api/spots/{listed['three']['id']}/node", line="check").data
        assert [a["share"] for a in node["actions"]] == pytest.approx(solution.at("check").frequencies.tolist())
        data = site.get(f"/api/spots/{listed['push']['id']}").data
        assert data["state"] == "solved" and data["values"] == pytest.approx(before.values.tolist())
        assert site.get(f"/api/spots/{listed['bad']['id']}").status == 400


def test_a_gpu_is_offered_where_there_is_one(site, monkeypatch):
    from kibitz.core.errors import SolverError
    from kibitz.web import spot_kinds

    two = {"board": "Qs Jh 2h 5c 5d", "ranges": ["AA, QJs", "KK, AQ"], "pot": 100, "stacks": 200, "until": 0.01}
    used = []

    def without():
        raise SolverError("device gpu needs CuPy")

    monkeypatch.setattr(spot_kinds, "cupy_module", without)
    spot_kinds.has_gpu.cache_clear()
    assert site.get("/api/spots").data["gpu"] is False
    monkeypatch.setattr(spot_kinds, "require", lambda device: without() if device == "gpu" else None)
    answer = site.post("/api/spots", {**two, "device": "gpu"})
    assert answer.status == 400 and "needs CuPy" in answer.data["error"]

    monkeypatch.setattr(spot_kinds, "cupy_module", lambda: None)
    monkeypatch.setattr(spot_kinds, "require", lambda device: used.append(device))
    check, solve = spot_kinds.check_size, spot_kinds.solve_spot
    monkeypatch.setattr(spot_kinds, "check_size", lambda *args, device: used.append(device) or check(*args))

    def solving(*args, device, **more):
        used.append(device)
        return solve(*args, **more)  # on cores

    monkeypatch.setattr(spot_kinds, "solve_spot", solving)
    spot_kinds.has_gpu.cache_clear()
    assert site.get("/api/spots").data["gpu"] is True
    solved(site, {**two, "device": "gpu"})
    assert used == ["gpu"] * 3
    spot_kinds.has_gpu.cache_clear()
    for wrong in ({**RIVER, "device": "gpu"}, {**PUSH, "device": "gpu"}, {**two, "device": 3}):
        assert site.post("/api/spots", wrong).status == 400
