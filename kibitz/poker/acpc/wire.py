"""Lines over a socket, with limits: on what is kept, and on how long is waited, by a clock that never goes back.

A deadline is for a whole line: whoever drips its bytes gets no more time than who says nothing. What the other side
does not read is kept for it up to a limit, so nobody who does not read holds up the others.
"""

from __future__ import annotations

import selectors
import socket
import time

from kibitz.poker.acpc.states import MOST_LINE, ProtocolError, line_of

PIECE = 1 << 14  # bytes that are read at a time
MOST_UNSENT = 1 << 18  # bytes that wait for one who does not read
MOST_WAIT = 3600.0  # seconds of one wait for the system, which takes no number without end


class Closed(ProtocolError):
    """The connection is lost, or was given up."""


class Late(ProtocolError):
    """No line came in time."""


class Connection:
    """One side of a connection, line by line."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self._selector = selectors.DefaultSelector()
        self._selector.register(connected, selectors.EVENT_READ)
        self._in, self._out = bytearray(), bytearray()
        self._seen = 0  # bytes of _in without an end of line
        self._ended = False  # the other side sends no more
        self.closed = False

    def send(self, line: str) -> None:
        """Send a line; what the other side does not take yet is kept."""
        if self.closed:
            raise Closed("the connection is closed")
        self._out += line.encode("ascii") + b"\r\n"
        self.flush()
        if len(self._out) > MOST_UNSENT:
            self.close()
            raise Closed(f"more than {MOST_UNSENT:,} bytes were not read")

    def flush(self) -> None:
        """Send as much as can be sent now."""
        try:
            while self._out:
                del self._out[: self.socket.send(self._out[:PIECE])]
        except BlockingIOError:
            pass
        except OSError as error:
            self.close()
            raise Closed(f"the connection is lost ({error.strerror or error})") from None
        if not self.closed:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
            self._selector.modify(self.socket, wanted)

    def receive(self) -> None:
        """Take in what has come, without waiting."""
        if self._ended or self.closed or len(self._in) > MOST_LINE:
            return
        try:
            piece = self.socket.recv(PIECE)
        except BlockingIOError:
            return
        except OSError as error:
            self.close()
            raise Closed(f"the connection is lost ({error.strerror or error})") from None
        self._in += piece
        self._ended = not piece

    def taken(self) -> str | None:
        """The next line, if it has come whole; a ProtocolError if it is no text."""
        end = self._in.find(b"\n", self._seen)
        if end >= 0:
            data = bytes(self._in[: end + 1])
            del self._in[: end + 1]
            self._seen = 0
            return line_of(data)
        self._seen = len(self._in)
        if len(self._in) > MOST_LINE:
            self.close()
            raise Closed(f"a line has more than {MOST_LINE:,} bytes")
        if self._ended or self.closed:
            self.close()
            raise Closed("the other side has left")
        return None

    def line(self, deadline: float) -> str:
        """The next line, if all of it comes before a moment of time.monotonic()."""
        while True:
            line = self.taken()
            if line is not None:
                return line
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late("no whole line came in time")
            for _, events in self._selector.select(min(left, MOST_WAIT)):
                if events & selectors.EVENT_WRITE:
                    self.flush()
                if events & selectors.EVENT_READ:
                    self.receive()

    def finish(self, deadline: float) -> None:
        """Send what is left, as far as it is read before a moment, and close."""
        try:
            while self._out and not self.closed and (left := deadline - time.monotonic()) > 0:
                self._selector.modify(self.socket, selectors.EVENT_WRITE)
                self._selector.select(min(left, MOST_WAIT))
                self.flush()
            if not self.closed:
                self.socket.shutdown(socket.SHUT_WR)
        except (Closed, OSError):
            pass
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._selector.close()
            self.socket.close()


def connected(host: str, port: int, seconds: float) -> Connection:
    """A connection to a dealer."""
    try:
        return Connection(socket.create_connection((host, port), timeout=seconds))
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ProtocolError(f"no dealer answers at {host:.200}, port {port}: {why}; is it listening there?") from None


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. port: 0 is any."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=16)
    except (OSError, UnicodeError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ProtocolError(f"{host:.200}, port {port}, cannot be listened at: {why}; choose others") from None
    listener.setblocking(False)
    return listener
