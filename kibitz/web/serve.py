"""The server as a process: a socket on this machine, a token, and uvicorn."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError, SpecError
from kibitz.web.app import app_of
from kibitz.web.library import Library

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_CONNECTIONS = 300
WAITING = 64  # connections in the backlog
IDLE = 30  # seconds that a connection may be idle
PATIENCE = 10.0  # seconds between checks for incomplete requests
LAST = 3  # seconds for open requests when the server stops


def bound(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ArtefactError if the port cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ArtefactError(
            f"cannot listen on port {port} of {host} ({error.strerror or error}): choose another with --port"
        ) from None
    listening.listen(WAITING)
    return listening


def settings(app: Any) -> Any:
    """The configuration of uvicorn: a limited number of connections, short timeouts, no server headers."""
    import uvicorn

    return uvicorn.Config(
        app, log_level="warning", access_log=False, limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=LAST, server_header=False, date_header=False, ws="none", lifespan="off",
        http=patient(), h11_max_incomplete_event_size=16 << 10, proxy_headers=False,
    )  # fmt: skip


def patient() -> Any:
    """The HTTP protocol class of uvicorn with a timeout: by default it waits forever for the rest of a request."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._seen: Any = self  # no request: a client that says nothing at all
            self.loop.call_later(PATIENCE, self._look_after)

        def _look_after(self) -> None:
            """Close the connection if its request is still incomplete since the last check."""
            if self.transport is None or self.transport.is_closing():
                return
            cycle = self.cycle
            owing = cycle is None or cycle.response_complete or cycle.more_body
            if owing and self._seen is (cycle or self):
                self.transport.close()
                return
            self._seen = cycle if owing else None
            self.loop.call_later(PATIENCE, self._look_after)

    return Patient


def _open(address: str, tell: Callable[[str], None]) -> None:
    import webbrowser

    try:
        opened = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        tell("No browser was found. Open the address yourself.")


def ui(
    folder: str | Path = ".", host: str = "127.0.0.1", port: int = 8000, show: bool = True, games: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Serve the web interface for the strategies and runs in a folder, until Ctrl-C.

    host: 127.0.0.1, localhost or ::1; other machines cannot reach the server. port: 0 takes any free port. show: open
    the address in a browser. games: further games, such as my_game.py:MyGame. tell: prints a line.
    """
    import uvicorn

    if host not in LOOPBACK:
        raise SpecError(
            f"host {host!r:.80} is not allowed: the web interface is for this machine only. Use {', '.join(LOOPBACK)}"
        )
    folder = Path(folder)
    library = Library(folder, games)
    listening = bound(host, port)
    port = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(24)
    name = f"[{host}]" if ":" in host else host
    count, spots = sum(entry.path is not None for entry in library.strategies()), library.spots()
    alone = next((entry for entry in spots if entry.path == library.folder), None)  # the folder is a saved spot itself
    address = f"http://{name}:{port}/{f'spots/{alone.id}' if alone else ''}?token={token}"
    app = app_of(library, token, port)
    some = f" and {len(spots)} saved spot{'' if len(spots) == 1 else 's'}" if spots else ""
    tell(f"{count} saved strateg{'y' if count == 1 else 'ies'}{some} in {folder.resolve()}")
    tell(f"Open  {address}\nStop with Ctrl-C.")
    if show:
        # A browser that runs in the terminal does not return until it is left: the server does not wait for it.
        threading.Thread(target=_open, args=(address, tell), daemon=True).start()
    try:
        uvicorn.Server(settings(app)).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has closed what was open
        pass
    finally:
        tell("Stopped.")
        listening.close()
        library.pool.shutdown(wait=False, cancel_futures=True)
