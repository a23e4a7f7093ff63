"""What a hostile client, a strange folder or a failing opponent does to the server: nothing, or a sentence."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from web_client import TOKEN, client

import kibitz
from kibitz.core import store
from kibitz.web import library as shelf
from kibitz.web import poker, runs, serve
from kibitz.web.app import app_of
from kibitz.web.library import Library
from kibitz.web.tables import WebTables

HTML = "<img src=x onerror=alert(1)>"


# The door


@pytest.mark.parametrize("port", ["\xb2", "9" * 5000, "08000", "8000x", ""])
def test_ports_that_are_no_numbers(port):
    with client() as made:
        assert made.ask("GET", "/api/library", headers={"host": f"127.0.0.1:{port}"}).status == 421


@pytest.mark.parametrize(
    "path", ["//evil.example", "/\\evil.example", "\\\\evil.example", "/look/a\r\nset-cookie: x=y", "/look/é?x#y"]
)
def test_the_first_visit_leads_to_this_server(path):
    with client() as made:
        answer = made.ask("GET", path, token=None, query=[("token", TOKEN)])
    where = answer.headers["location"]
    assert answer.status == 303 and re.fullmatch(r"/(?![/\\])[\x21-\x7e]*", where)
    assert "?" not in where and "#" not in where


@contextmanager
def listening(folder=None):
    """A server as `kibitz serve` starts it; gives its port."""
    import uvicorn

    library, at = Library(folder), serve.bound("127.0.0.1", 0)
    port = at.getsockname()[1]
    server = uvicorn.Server(serve.settings(app_of(library, TOKEN, port)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    yield port
    server.should_exit = True
    thread.join(30)
    at.close()
    library.pool.shutdown()


def heard(sock):
    """All that comes until the server hangs up."""
    found = b""
    while piece := sock.recv(4096):
        found += piece
    return found


def test_who_does_not_finish_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(serve, "PATIENCE", 0.2)
    head = b"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\n"
    with listening() as port:
        cookie = b"Cookie: %s=%s\r\n" % (app_of(Library(None), TOKEN).cookie.encode(), TOKEN.encode())
        begun = head % (port, port) + cookie + b"Content-Type: application/json\r\n"
        for said in (b"", b"GET / HTTP/1.1\r\n", begun + b"Content-Length: 50\r\n\r\n{",
                     begun + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):  # fmt: skip
            with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
                sock.sendall(said)
                heard(sock)  # comes back at all


def test_a_long_body_in_chunks_is_refused():
    with listening() as port, socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        cookie = app_of(Library(None), TOKEN).cookie
        sock.sendall(
            f"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nCookie: "
            f"{cookie}={TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        sock.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n" + b"10\r\n" + b" " * 16 + b"\r\n0\r\n\r\n")
        assert b" 413 " in sock.recv(4096)


# Strange folders


def bad_manifest(folder, kind, meta):
    folder.mkdir()
    said = {"format": "kibitz", "version": 1, "kind": kind, "meta": meta, "arrays": {}}
    (folder / "manifest.json").write_text(json.dumps(said), encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_names_that_are_no_text(tmp_path):
    for name in (b"\xff.jsonl", "Łódź ♠.jsonl".encode(), HTML.replace("/", "").encode() + b".jsonl"):
        with open(os.path.join(os.fsencode(tmp_path), name), "w", encoding="utf-8") as file:
            file.write('{"iteration": 1, "seconds": 1, "gap": 0.5}\n')
    with client(tmp_path) as made:
        assert made.get("/api/library").status == 200
        found = made.get("/api/runs").data["runs"]
        assert {run["name"] for run in found} == {"\ufffd.jsonl", "Łódź ♠.jsonl", f"{HTML}.jsonl"}
        assert all(made.get(f"/api/runs/{run['id']}").status == 200 for run in found)


def test_files_that_say_anything(tmp_path):
    huge = 10**400
    (tmp_path / "good.jsonl").write_text('{"iteration": 1, "seconds": 1, "gap": 0.5}\n', encoding="utf-8")
    line = json.dumps({"iteration": huge, "seconds": 1, "gap": 1})
    (tmp_path / "huge.jsonl").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "match.json").write_text(json.dumps({"players": [{"mean": huge}], "deals": huge}), encoding="utf-8")
    bad = {"solver": {"a": [HTML]}, "iterations": [1], "nash_conv": "x" * 10_000, "game": HTML, "looks": [[huge] * 3]}
    bad_manifest(tmp_path / "bad.profile", "profile", bad)
    bad_manifest(tmp_path / "bad.checkpoint", "checkpoint", bad | {"stop": {"until": huge}})
    bad_manifest(tmp_path / "bad.tournament", "tournament", {"steps": [[huge] * 5], "tolerance": huge})
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    (tmp_path / "elsewhere.json").symlink_to("/etc/hostname")
    (tmp_path / "up").symlink_to("..")
    with client(tmp_path) as made:
        strategies = made.get("/api/library").data["strategies"]
        entry = next(each for each in strategies if each["name"] == "bad")
        assert entry["solver"] is None and entry["iterations"] is None and len(entry["nash_conv"]) == 200
        answer = made.get(f"/api/look/{entry['id']}")
        assert answer.status == 400 and "error" in answer.data
        assert made.post("/api/tables", {"opponents": [entry["id"]]}).status == 400
        assert "good.jsonl" in {run["name"] for run in made.get("/api/runs").data["runs"]}


def test_a_game_in_a_file_is_not_opened_on_a_files_word(tmp_path):
    (tmp_path / "own.py").write_text("raise SystemExit('this ran')\n", encoding="utf-8")
    for number, spec in enumerate([f"{tmp_path}/own.py:Game", "poker(file=/etc/passwd)", "leduc(ranks=99999999)"]):
        bad_manifest(tmp_path / f"{number}.profile", "profile", {"game": spec})
    with client(tmp_path) as made:
        for entry in made.get("/api/library").data["strategies"]:
            if entry["kind"] == "profile":
                assert made.get(f"/api/look/{entry['id']}").status == 400


def test_a_strategy_that_goes_or_breaks_while_it_is_served(tmp_path):
    now = [0.0]
    kibitz.solve("kuhn", "cfr+", iterations=5).save(tmp_path / "kuhn.profile")
    with client(tmp_path) as made:
        made.library.clock = lambda: now[0]
        id = next(e["id"] for e in made.get("/api/library").data["strategies"] if e["name"] == "kuhn")
        data = made.post("/api/tables", {"opponents": [id]}).data
        (tmp_path / "kuhn.profile").rename(tmp_path / "kept")
        now[0] += 10
        assert made.get(f"/api/look/{id}").status == 404
        body = {"hand": 0, "decision": 0, "action": data["actions"][0]["name"]}
        assert made.post(f"/api/tables/{data['id']}/act", body).status == 200  # who sits may go on
        (tmp_path / "kept").rename(tmp_path / "kuhn.profile")
        for part in (tmp_path / "kuhn.profile").iterdir():
            if part.name != "manifest.json":
                part.write_bytes(b"no array")
        os.utime(tmp_path / "kuhn.profile" / "manifest.json", (1, 1))
        now[0] += 10
        answer = made.get(f"/api/look/{id}")
        assert answer.status == 400 and "error" in answer.data


def test_what_has_not_changed_is_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text('{"iteration": 1, "seconds": 1, "gap": 0.5}\n', encoding="utf-8")
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    read, real = [], store.read_bytes
    monkeypatch.setattr(runs.store, "read_bytes", lambda at, most: read.append(at.name) or real(at, most))
    with client(tmp_path) as made:
        assert made.get("/api/runs").data == made.get("/api/runs").data
        assert sorted(read) == ["a.jsonl", "other.json"]
        with path.open("a", encoding="utf-8") as file:
            file.write('{"iteration": 2, "seconds": 2, "gap": 0.25}\n')
        assert made.get("/api/runs").data["runs"][0]["last"]["gap"] == 0.25
        assert sorted(read) == ["a.jsonl", "a.jsonl", "other.json"]


def test_a_folder_of_thousands_has_an_end(tmp_path):
    for number in range(shelf.MOST_FOUND + 50):
        (tmp_path / f"{number}.json").write_text("{}", encoding="utf-8")
    bad_manifest(tmp_path / "last.profile", "profile", {"game": "kuhn"})
    with client(tmp_path) as made:
        assert [run["name"] for run in made.get("/api/runs").data["runs"]] == ["last"], "other JSON is no run"
        assert len(made.library.runs()) == shelf.MOST_FOUND
        assert "last" in {entry.name for entry in made.library.strategies()}


# Tables


def test_seeds_are_too_many_to_try():
    library = Library(None)
    seeds = {WebTables(library).open(["uniform-leduc"]).seed for _ in range(20)}
    assert len(seeds) == 20 and max(seeds) >= 1 << 60
    library.pool.shutdown()


class Failing:
    """An opponent that answers nonsense."""

    name = "failing"

    def begin(self, seat):
        pass

    def act(self, view):
        return [2.0] * len(view.actions)

    def end(self, view, payoff):
        pass


def test_nobody_acts_for_an_opponent_that_failed():
    with client() as made:
        data = made.post("/api/tables", {"opponents": ["uniform-leduc"]}).data
        table = made.tables.table(data["id"])
        table.opponents = [Failing()]
        path = f"/api/tables/{data['id']}"
        body = {"hand": 0, "decision": data["decision"], "action": "call"}
        assert made.post(f"{path}/act", body).status == 400
        after = made.get(path).data
        assert after["actions"] == [] and not after["over"]
        again = made.post(f"{path}/act", body | {"decision": after["decision"]})
        assert again.status == 400 and "open another" in again.data["error"]
        assert made.post(f"{path}/next", {"hand": 0}).status in (400, 409)


def test_a_decision_is_taken_once_whoever_comes_together():
    library = Library(None)
    for seed in range(20):
        table = WebTables(library).open(["uniform-leduc"], seed=seed)
        name = table.data()["actions"][-1]["name"]

        def act(table=table, name=name):
            with table.lock:
                try:
                    table.act(0, 0, name)
                except kibitz.KibitzError:
                    return 0
                return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(lambda _: act(), range(8))) == 1
    library.pool.shutdown()


def test_rows_are_remembered_by_many_at_once(monkeypatch):
    monkeypatch.setattr(poker, "KEPT", 1)
    library = Library(None)
    strategy = library.strategy("uniform-limit-2")
    told = poker.poker_strategy(strategy)
    paths = [["call"], ["raise"], ["call", "raise"], ["raise", "raise"]] * 25
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(told.ranges, paths))) == 100
    library.pool.shutdown()


# The process


def test_ctrl_c_ends_with_a_sentence(tmp_path):
    command = [sys.executable, "-m", "kibitz.cli", "serve", str(tmp_path), "--no-open", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    line = next(line for line in process.stdout if "http://" in line)
    port = int(re.search(r":(\d+)/", line)[1])
    until = time.monotonic() + 60
    while time.monotonic() < until:  # it answers: so it hears signals too
        with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            if heard(sock):
                break
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert out.endswith("Stopped.\n") and error == "" and process.returncode in (0, 130)


def test_a_port_that_is_none(tmp_path):
    command = [sys.executable, "-m", "kibitz.cli", "serve", str(tmp_path), "--no-open", "--port", "99999"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr and "at most 65535" in done.stderr


def test_without_a_browser(monkeypatch):
    import webbrowser

    said = []
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    serve._open("http://127.0.0.1/", said.append)
    assert said == ["No browser was found here: open the address in one."]
