"""A client of the server's app without a socket: requests go in as ASGI, bytes come out."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from kibitz.web.app import app_of
from kibitz.web.library import Library
from kibitz.web.tables import WebTables

TOKEN = "a-token-of-tests"
HOST = "127.0.0.1:8000"


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends what a browser of ours would send, unless told otherwise."""

    def __init__(self, library: Library, seeds: Any = lambda: 1, most: int = 200, clock: Any = None) -> None:
        self.library = library
        more = {} if clock is None else {"clock": clock}
        self.tables = WebTables(library, most, **more)
        self.app = app_of(library, TOKEN, 8000, seeds=seeds, tables=self.tables)
        self.runner = asyncio.Runner()
        self.heard: list[Answer] = []

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, query: Any = (),
        token: str | None = TOKEN, kind: str = "http",
    ) -> Answer:  # fmt: skip
        given = {"host": HOST, **({"cookie": f"{self.app.cookie}={token}"} if token else {})}
        if method in ("POST", "DELETE"):
            given |= {"origin": f"http://{HOST}", "content-type": "application/json", "content-length": str(len(body))}
        given |= headers or {}
        scope = {
            "type": kind, "method": method, "path": path, "raw_path": quote(path).encode(), "scheme": "http",
            "query_string": urlencode(query).encode(), "http_version": "1.1", "client": ("127.0.0.1", 5),
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in given.items() if v is not None], "root_path": "",
            "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        sent: list[Any] = []
        pieces = [body[k : k + 4096] for k in range(0, len(body), 4096)] or [b""]

        async def receive() -> Any:
            if not pieces:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message: Any) -> None:
            sent.append(message)

        try:
            self.runner.run(self.app(scope, receive, send))
        finally:
            if sent:
                self.heard.append(self._answer(sent))
        return self.heard[-1] if sent else Answer(0, {}, b"")

    def _answer(self, sent: list[Any]) -> Answer:
        said = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
        return Answer(sent[0]["status"], said, b"".join(each.get("body", b"") for each in sent[1:]))

    def get(self, path: str, **query: Any) -> Answer:
        pairs = [(k, v) for k, value in query.items() for v in (value if isinstance(value, list) else [value])]
        return self.ask("GET", path, query=[("with" if k == "with_" else k, v) for k, v in pairs])

    def post(self, path: str, data: Any) -> Answer:
        return self.ask("POST", path, json.dumps(data).encode())

    def close(self) -> None:
        self.runner.close()
        self.library.pool.shutdown()


@contextmanager
def client(folder: Any = None, **options: Any) -> Iterator[Client]:
    made = Client(Library(folder), **options)
    try:
        yield made
    finally:
        made.close()


def wait(site: Client, spot: str) -> Any:
    """What a spot says once it is solved or has failed."""
    for _ in range(1500):
        data = site.get(f"/api/spots/{spot}").data
        if data["state"] in ("solved", "failed"):
            return data
        time.sleep(0.1)
    raise AssertionError("it takes too long")
