"""Who may ask, and for how much: the one door of the server, as plain ASGI.

Every request, that for a style sheet too, needs the token, in the address or in the cookie that the first visit sets.
The Host must be this machine's, so that a page elsewhere whose name was bent to 127.0.0.1 gets nothing; what changes
something must come from a page of ours (Origin). Bodies and addresses have a length, and so has the queue.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY = 16 << 10
MOST_ADDRESS = 4 << 10
MOST_AT_ONCE = 150
METHODS = ("GET", "HEAD", "POST", "DELETE")
HERE = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
CLOSED = "Open the address that `kibitz serve` printed: it has a token at its end."


class TooLong(Exception):
    """A body that goes on beyond the limit."""


class RequestGuard:
    """Stands before an app."""

    def __init__(self, app: App, token: str, port: int | None = None, hosts: tuple[str, ...] = ()) -> None:
        """port: that of the server, if it is known; hosts: names of this machine beside 127.0.0.1 and localhost."""
        self.app, self.token, self.port, self.hosts = app, token.encode(), port, {*HERE, *hosts}
        # Cookies of one machine are shared by all its ports: each server has one of its own.
        self.cookie = f"kibitz_{sha256(self.token).hexdigest()[:12]}"
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks another protocol
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await answer(send, *refused)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for key, value in query if key == "token"), None)
        known = self._known(token)
        if not known and not self._known(self._held(headers)):
            await answer(send, 403, CLOSED)
            return
        rest = [(key, value) for key, value in query if key != "token"]
        if known and scope["method"] == "GET" and not scope["path"].startswith("/api/"):
            # The token goes out of the address, and so out of the history of the browser, into a cookie.
            # Two slashes would lead to another host, and so would the backslash that browsers take for one.
            where = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{urlencode(rest)}" if rest else "")
            cookie = f"{self.cookie}={self.token.decode()}; Path=/; HttpOnly; SameSite=Strict"
            await answer(send, 303, "", [(b"location", where.encode()), (b"set-cookie", cookie.encode())])
            return
        scope = {**scope, "query_string": urlencode(rest).encode()}
        if self.inside >= MOST_AT_ONCE:
            await answer(send, 503, "too many requests at once; wait a moment")
            return
        self.inside += 1
        begun = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = {name for name, _ in HEADERS}
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in own]
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        try:
            await self.app(scope, _limited(receive), sending)
        except TooLong:
            if not begun:
                await answer(send, 413, f"a message has at most {MOST_BODY:,} bytes")
        finally:
            self.inside -= 1

    def _known(self, token: str | None) -> bool:
        return token is not None and hmac.compare_digest(token.encode(), self.token)

    def _held(self, headers: dict[str, str]) -> str | None:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return None if cookie is None else cookie.value

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is not let in: (status, sentence)."""
        host = headers.get("host", "")
        name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdecimal() else (host, "", "")
        if name not in self.hosts or (port and self.port is not None and port != str(self.port)):
            return 421, "this server answers on 127.0.0.1 and localhost alone"
        if scope["method"] not in METHODS:
            return 405, "this method is not answered"
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MOST_ADDRESS:
            return 414, "the address is too long"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 9 or int(length) > MOST_BODY:
            return 413, f"a message has at most {MOST_BODY:,} bytes"
        changes = scope["method"] in ("POST", "DELETE")
        origin = headers.get("origin")
        if (changes or origin is not None) and origin != f"{scope.get('scheme', 'http')}://{host}":
            return 403, "the request comes from another page"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"].startswith("/api/"):
            return 403, "the request comes from another page"
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if scope["method"] == "POST" and kind != "application/json":
            return 415, "messages are JSON"
        return None


def _limited(receive: Receive) -> Receive:
    """A body that ends with an error where it is too long, whatever its header said."""
    seen = 0

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BODY:
            raise TooLong
        return message

    return receiving


async def answer(send: Send, status: int, sentence: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    """A whole response of one sentence."""
    body = json.dumps({"error": sentence}).encode() if sentence else b""
    kind = b"application/json"
    if sentence == CLOSED:  # what a person sees who came without the token
        body, kind = f"{sentence}\n".encode(), b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *(more or []), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
