"""The server as a process: a socket on this machine, a token, and uvicorn."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from kibitz.errors import ArtefactError
from kibitz.web.app import app_of
from kibitz.web.library import Library

MOST_CONNECTIONS = 300
WAITING = 64  # connections that wait to be taken
IDLE = 30  # seconds that a connection may say nothing
LAST = 3  # seconds that requests have when the server stops


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; a port that is taken is said in a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise ArtefactError(
            f"port {port} of {host} cannot be used ({error.strerror or error}): choose another with --port"
        ) from None
    made.listen(WAITING)
    return made


def serve(folder: Path, host: str, port: int, show: bool, games: Sequence[str], tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. show: open the page in a browser; games: that the user names."""
    import uvicorn

    library = Library(folder, games)
    listening = bound(host, port)
    port = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(24)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}/?token={token}"
    app = app_of(library, token, port)
    count = sum(entry.path is not None for entry in library.strategies())
    tell(f"{count} saved strateg{'y' if count == 1 else 'ies'} in {folder}.")
    tell(f"Open  {address}\nStop with Ctrl-C.")
    if show:
        import webbrowser

        webbrowser.open(address)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=LAST, server_header=False, date_header=False, ws="none", lifespan="off",
        h11_max_incomplete_event_size=16 << 10, proxy_headers=False,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has closed what was open
        pass
    finally:
        listening.close()
        library.pool.shutdown(wait=False, cancel_futures=True)
