"""The door of the server: tokens, hosts, origins, lengths, and headers on every answer."""

from __future__ import annotations

import json
import re

import pytest
from web_client import HOST, TOKEN, client

from kibitz.web import guard
from kibitz.web.app import files

PATHS = ["/", "/look", "/play/table/x", "/runs", "/static/style.css", "/static/app.js", "/api/library", "/api/runs"]


@pytest.fixture(scope="module")
def door():
    with client() as made:
        yield made


@pytest.mark.parametrize("path", PATHS)
def test_nothing_without_the_token(door, path):
    assert door.ask("GET", path, token=None).status == 403
    assert door.ask("GET", path, token=TOKEN[:-1]).status == 403
    assert door.ask("GET", path, token=None, query=[("token", TOKEN + "x")]).status == 403
    assert door.ask("GET", path, token=None, headers={"cookie": "kibitz=1; ;;=,"}).status == 403
    assert door.ask("GET", path).status == 200


def test_the_token_moves_from_the_address_into_a_cookie(door):
    answer = door.ask("GET", "/look", token=None, query=[("token", TOKEN), ("with", "a b")])
    assert answer.status == 303 and answer.headers["location"] == "/look?with=a+b"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{door.app.cookie}={TOKEN};")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert door.ask("GET", "/api/library", token=None, query=[("token", TOKEN)]).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8000", "127.0.0.1:9", "", "192.168.0.1:8000", "0.0.0.0"]
)
def test_other_hosts_get_nothing(door, host):
    assert door.ask("GET", "/api/library", headers={"host": host}).status == 421


def test_this_machine_by_its_names(door):
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        assert door.ask("GET", "/api/library", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1:8001"]
)
def test_changes_come_from_our_page(door, origin):
    body = json.dumps({"opponents": ["uniform-leduc"]}).encode()
    assert door.ask("POST", "/api/tables", body, {"origin": origin}).status == 403
    assert door.ask("DELETE", "/api/tables/x", headers={"origin": origin}).status == 403


def test_other_pages_may_not_read(door):
    assert door.ask("GET", "/api/library", headers={"origin": "http://evil.example"}).status == 403
    assert door.ask("GET", "/api/library", headers={"sec-fetch-site": "cross-site"}).status == 403
    assert door.ask("GET", "/api/library", headers={"sec-fetch-site": "same-origin"}).status == 200


def test_lengths(door):
    long = b"[" + b"1," * guard.MOST_BODY + b"1]"
    assert door.ask("POST", "/api/tables", long).status == 413
    assert door.ask("POST", "/api/tables", long, {"content-length": "5"}).status == 413  # whatever it says
    assert door.ask("POST", "/api/tables", b"{}", {"content-length": "9" * 30}).status == 413
    assert door.ask("GET", "/api/library", query=[("x", "y" * 5000)]).status == 414
    assert door.ask("PUT", "/api/library").status == 405
    assert door.ask("POST", "/api/tables", b"{}", {"content-type": "text/plain"}).status == 415
    assert door.ask("GET", "/", kind="websocket").status == 0


def test_too_many_at_once(door):
    door.app.inside = guard.MOST_AT_ONCE
    assert door.get("/api/library").status == 503
    door.app.inside = 0
    assert door.get("/api/library").status == 200 and door.app.inside == 0


def test_headers_on_every_answer(door):
    for answer in (
        door.get("/"),
        door.get("/api/nothing"),
        door.ask("GET", "/", token=None),
        door.get("/static/app.js"),
    ):
        assert answer.headers["content-security-policy"] == guard.POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in guard.POLICY and "unsafe" not in guard.POLICY


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..", "/etc/passwd",
     "/api/look/../../x", "/api/look/%2fetc%2fpasswd", "/api/runs/..%2f..%2fx", "/api/nothing", "/kibitz/web/app.py"],
)  # fmt: skip
def test_paths_lead_nowhere(door, path):
    answer = door.get(path)
    assert answer.status == 404 and set(answer.data) == {"error"}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'"x"', b"{}", b'{"opponents": 1}', b'{"opponents": [1]}',
                                  b'{"opponents": []}', b'{"opponents": ["/etc/passwd"]}', b'{"opponents": ["../x"]}',
                                  b'{"opponents": ["uniform-leduc"], "seconds": 1e9}', b"[" * 9000,
                                  b"\xff\xfe"])  # fmt: skip
def test_errors_are_sentences(door, body):
    answer = door.ask("POST", "/api/tables", body)
    assert answer.status in (400, 404) and set(answer.data) == {"error"}
    assert "Traceback" not in answer.data["error"] and "/work" not in answer.data["error"]


def test_faults_say_nothing_of_the_server(door, monkeypatch):
    def broken(*given):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(door.library, "strategies", broken)
    with pytest.raises(RuntimeError):  # the terminal hears of it
        door.get("/api/library")
    assert door.heard[-1].status == 500 and b"secret" not in door.heard[-1].body


def test_the_page_asks_nobody_else():
    for name, (body, _) in files().items():
        text = body.decode()
        found = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) - {"http://www.w3.org"}
        assert not found, f"{name} names {found}"
        assert "innerHTML" not in text and "eval(" not in text
    assert HOST
