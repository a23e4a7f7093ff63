"""Runs, matches and crosstables as the page reads them, from files that anybody may have written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from web_client import client

import kibitz
from kibitz.core import store
from kibitz.evaluate.crosstable import crosstable
from kibitz.solvers import RunOptions
from kibitz.web import runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("runs")
    one = kibitz.solve("kuhn", "cfr+", iterations=60, run=RunOptions(made / "kuhn.checkpoint"))
    other = kibitz.solve("kuhn", "cfr+", iterations=3)
    one.save(made / "one.profile")
    other.save(made / "deep" / "other.profile")
    lines = [json.dumps({"iteration": x.iteration, "seconds": x.seconds, "gap": x.nash_conv}) for x in one.history]
    (made / "log.jsonl").write_text("\n".join([*lines, '{"iteration": 61, "sec']), encoding="utf-8")
    table = crosstable("kuhn", {"one": one, "other": other})
    (made / "cross.json").write_text(json.dumps({**table.data(), "unit": "chips"}), encoding="utf-8")
    match = kibitz.match("kuhn", kibitz.agent(one, "kuhn"), kibitz.agent(other, "kuhn"), deals=50)
    (made / "match.json").write_text(json.dumps(match.data()), encoding="utf-8")
    (made / "dealer.log").write_text(
        "# kibitz dealer 1\n# game poker(file=kuhn)\nSTATE:0:cc:Qs|Ks:-1|1:alice|bob\nSTATE:1:rf:Js|Ks:1|-1:bob|alice\n"
        "# late 1 bob\nSTATE:broken\nSTATE:2:rc:Ks|Qs:nan|1:alice|bob\n", encoding="utf-8",
    )  # fmt: skip
    for name, text in {"other.json": "[1, 2]", "bad.json": "{", "deep.json": "[" * 100_000, "bad.log": "hello",
                       "bad.jsonl": "\x00\n[]\n"}.items():  # fmt: skip
        (made / name).write_text(text, encoding="utf-8")
    store.save(
        made / "odd.checkpoint", "checkpoint", {"x": np.zeros(1)}, {"looks": [[1], "x", [1, 2, None]], "stop": 3}
    )
    cup = {"tournament": "tournament(players=2)", "algorithm": "vi", "steps": [[2, 1, 0.5, 3, 0.1]], "tolerance": 0.01}
    store.save(made / "cup", "tournament", {"x": np.zeros(1)}, cup)
    return made, (one, other)


def test_all_that_is_one_is_listed(folder):
    with client(folder[0]) as made:
        listed = {run["name"]: run for run in made.get("/api/runs").data["runs"]}
        assert set(listed) == {
            "kuhn",
            "log.jsonl",
            "cross.json",
            "match.json",
            "dealer.log",
            "odd",
            "cup",
            "one",
            "deep/other",
        }
        strategy = listed["one"]
        assert strategy["kind"] == "strategy" and strategy["about"] == "profile, cfr+, 60 iterations"
        assert strategy["last"]["gap"] == folder[1][0].meta["nash_conv"] and strategy["game"] == "kuhn"
        assert made.get(f"/api/runs/{strategy['id']}").data["about"] == strategy["about"]
        assert str(folder[0]) not in json.dumps(listed)
        run = made.get(f"/api/runs/{listed['kuhn']['id']}").data
        wanted = [[look.iteration, look.seconds, look.nash_conv] for look in folder[1][0].history]
        assert run["points"] == wanted and run["last"]["gap"] == wanted[-1][2] and run["game"] == "kuhn"
        assert made.get(f"/api/runs/{listed['log.jsonl']['id']}").data["points"] == wanted
        assert made.get(f"/api/runs/{listed['odd']['id']}").data["points"] == []
        assert made.get(f"/api/runs/{listed['cup']['id']}").data["points"] == [[1.0, 0.1, 0.5]]
        match = made.get(f"/api/runs/{listed['match.json']['id']}").data
        assert match["kind"] == "match" and len(match["rows"]) == 2 and match["deals"] == 50
        dealt = made.get(f"/api/runs/{listed['dealer.log']['id']}").data
        assert {row["name"]: row["mean"] for row in dealt["rows"]} == {"alice": -1.0, "bob": 1.0} and dealt[
            "deals"
        ] == 2
        assert made.get("/api/runs/nothing").status == 404


def test_crosstables(folder):
    table = crosstable("kuhn", dict(zip("ab", folder[1], strict=True)))
    with client(folder[0]) as made:
        ids = {each["name"]: each["id"] for each in made.get("/api/library").data["strategies"]}
        found = made.get("/api/crosstable", id=[ids["one"], ids["deep/other"]]).data
        np.testing.assert_allclose(found["matrix"], table.matrix)
        np.testing.assert_allclose(found["exploitability"], table.exploitability)
        assert made.get("/api/crosstable", id=[ids["one"]]).status == 400
        assert made.get("/api/crosstable", id=[ids["one"], "uniform-leduc"]).status == 400
        listed = {run["name"]: run["id"] for run in made.get("/api/runs").data["runs"]}
        saved = made.get(f"/api/runs/{listed['cross.json']}").data
        np.testing.assert_allclose(saved["matrix"], table.matrix)


def test_a_run_is_followed(folder, tmp_path):
    now = [0.0]
    from web_client import Client

    from kibitz.web.library import Library

    made = Client(Library(tmp_path, clock=lambda: now[0]))
    assert made.get("/api/runs").data["runs"] == []
    (tmp_path / "run.jsonl").write_text('{"iteration": 1, "seconds": 0.5, "gap": 0.25}\n', encoding="utf-8")
    now[0] = 5.0
    id = made.get("/api/runs").data["runs"][0]["id"]
    with open(tmp_path / "run.jsonl", "a", encoding="utf-8") as file:
        file.write('{"iteration": 2, "seconds": 0.75, "gap": 0.125}\n')
    assert len(made.get(f"/api/runs/{id}").data["points"]) == 2
    made.close()


def test_long_curves_are_thinned():
    points = [[float(k), float(k), 1.0] for k in range(5000)]
    kept = runs.thinned(points)
    assert len(kept) == runs.MOST_POINTS and kept[0] == points[0] and kept[-1] == points[-1]


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    kibitz.solve("kuhn", "cfr+", iterations=3).save(outside / "secret.profile")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    (outside / "log.jsonl").write_text('{"iteration": 1, "seconds": 0.5, "gap": 0.25}\n', encoding="utf-8")
    (inside / "file.jsonl").symlink_to(outside / "log.jsonl")
    with client(inside) as made:
        assert all(each["kind"] == "made" for each in made.get("/api/library").data["strategies"])
        assert made.get("/api/runs").data["runs"] == []
