"""The server: its handlers and their responses. /api/ returns JSON; every other address is one page."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kibitz import __version__
from kibitz.core.errors import KibitzError
from kibitz.core.pointing import PointedError
from kibitz.web import look, plans, runs
from kibitz.web.errors import Busy, Missing, Stale, Wrong
from kibitz.web.guard import MOST_BODY, RequestGuard, TooLong
from kibitz.web.library import Library
from kibitz.web.spot_server import SpotServer
from kibitz.web.tables import WebTable, WebTables

Answer = Callable[[Request], Awaitable[Response]]
Message = dict[str, Any]  # the JSON object that a client sent
Handler = Callable[[Request, Message], dict[str, Any]]
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_SHOWN = 600  # characters of an error
STATUS = {Missing: 404, Stale: 409, Busy: 503, KibitzError: 400}  # of errors that a user can correct


def files() -> dict[str, tuple[bytes, str]]:
    """The static files that the server offers, by name: the page, its style sheet and its scripts."""
    by_name = {}
    for each in resources.files("kibitz.web").joinpath("static").iterdir():
        ending = each.name[each.name.rfind(".") :]
        if ending in KINDS:
            by_name[each.name] = each.read_bytes(), f"{KINDS[ending]}; charset=utf-8"
    return by_name


def app_of(
    library: Library, token: str, port: int | None = None, hosts: tuple[str, ...] = (),
    seeds: Callable[[], int | None] = lambda: None, tables: WebTables | None = None,
) -> RequestGuard:  # fmt: skip
    """The whole server as an ASGI app. seeds: the random seeds of tables, for tests; by default they are random."""
    server, static = Server(library, WebTables(library) if tables is None else tables, seeds), files()

    async def page(request: Request) -> Response:
        body, kind = static["index.html"]
        return Response(body, media_type=kind)

    async def file(request: Request) -> Response:
        if request.path_params["name"] not in static:
            raise Missing("there is no such file")
        body, kind = static[request.path_params["name"]]
        return Response(body, media_type=kind)

    routes = [
        Route("/static/{name}", refusing(file)),
        *(Route(path, refusing(page)) for path in ("/", "/look", "/look/{rest:path}", "/play", "/play/{rest:path}",
                                               "/runs", "/runs/{rest:path}", "/spots", "/spots/{rest:path}")),
        *(Route(path, refusing(in_thread(handler)), methods=[method])
          for method, path, handler in (*server.handlers(), *SpotServer(library).handlers())),
    ]  # fmt: skip
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _refusal, Exception: _fault})
    return RequestGuard(inner, token, port, hosts)


def plain(value: Any) -> Response:
    """A JSON response. Numbers that JSON cannot express (infinity, NaN) become null."""
    try:
        body = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        body = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return Response(body, media_type="application/json")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def refused(status: int, sentence: str, pointed: dict[str, Any] | None = None) -> Response:
    """pointed: the text that is wrong, and where."""
    said = " ".join(sentence.split())[:MOST_SHOWN]
    return Response(json.dumps({"error": said, **(pointed or {})}), status, media_type="application/json")


def refusing(answer: Answer) -> Answer:
    """Turn errors that a user can correct into a response with a status and a sentence."""

    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except PointedError as error:
            return refused(400, error.sentence, {"carets": "\n".join(error.lines)})
        except KibitzError as error:
            return refused(next(status for kind, status in STATUS.items() if isinstance(error, kind)), str(error))
        except TooLong:
            return refused(413, f"the request body is too long: the limit is {MOST_BODY:,} bytes")
        except MemoryError:
            return refused(507, "there is not enough memory for this request")

    return answering


async def _refusal(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    unknown = "there is nothing at this address"
    return refused(status, unknown if status == 404 else "the server does not support this request")


async def _fault(request: Request, error: Exception) -> Response:
    return refused(500, "the server failed to answer; the terminal where it runs shows the error")


class Server:
    """The handlers of all addresses under /api/."""

    def __init__(self, library: Library, tables: WebTables, seeds: Callable[[], int | None]) -> None:
        self.library, self.tables, self.seeds = library, tables, seeds

    def handlers(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/api/library", self.shelf),  # strategies, and games that can be played
            ("GET", "/api/look/{id}", self.look),  # ?step=..&with=ID&deal=N: a strategy after public steps
            ("GET", "/api/diff/{id}", self.diff),  # ?with=ID: where two strategies differ most, with NashConv of both
            ("GET", "/api/infosets/{id}", self.infosets),  # ?seat=&text=&page=: its infosets as a list
            ("GET", "/api/plan/{id}", self.plan),  # where automatic stitching put experts: parts as boxes
            ("POST", "/api/tables", self.sit),  # {"opponents": [ID, ...]}: open a table
            ("GET", "/api/tables/{table}", self.table),  # the state of the table
            ("DELETE", "/api/tables/{table}", self.leave),  # leave the table
            ("POST", "/api/tables/{table}/act", self.act),  # {"hand": 0, "decision": 0, "action": "call"}
            ("POST", "/api/tables/{table}/next", self.next),  # {"hand": 0}: deal the next hand
            ("GET", "/api/tables/{table}/review", self.review),  # what the strategy would have done, and its belief
            ("GET", "/api/runs", self.runs),  # runs, matches and crosstables
            ("GET", "/api/runs/{id}", self.run),  # one of them
            ("GET", "/api/crosstable", self.crosstable),  # ?id=..&id=..: an exact round robin of saved profiles
        ]

    def shelf(self, request: Request, message: Message) -> dict[str, Any]:
        entries = self.library.strategies()
        strategies = [{**entry.data(), "searches": self.library.searches(entry)} for entry in entries]
        games = list(dict.fromkeys(entry.game for entry in entries if entry.game))
        folder = self.library.folder
        return {"version": __version__, "strategies": strategies, "games": games,
                "folder": "" if folder is None else folder.name, "tables": len(self.tables)}  # fmt: skip

    # Look

    def look(self, request: Request, message: Message) -> dict[str, Any]:
        steps, other = request.query_params.getlist("step"), request.query_params.get("with")
        deal = whole(request, "deal", None, 1 << 31)
        node = look.node(self.library.strategy(request.path_params["id"]), steps, self.library.pool, deal)
        if other is None:
            return node
        beside = look.node(self.library.strategy(other), steps, self.library.pool, deal)
        return {**node, "other": beside, "difference": look.difference(node, beside)}

    def diff(self, request: Request, message: Message) -> dict[str, Any]:
        id, other = request.path_params["id"], request.query_params.get("with", "")
        return look.most_different(self.library.strategy(id), self.library.strategy(other))

    def infosets(self, request: Request, message: Message) -> dict[str, Any]:
        seat, page = whole(request, "seat", 0, 99) or 0, whole(request, "page", 0, 10_000) or 0
        strategy = self.library.strategy(request.path_params["id"])
        return look.infosets(strategy, self.library.pool, seat, request.query_params.get("text", "")[:80], page)

    def plan(self, request: Request, message: Message) -> dict[str, Any]:
        return plans.plan_of(self.library.entry(request.path_params["id"]))

    # Play

    def sit(self, request: Request, message: Message) -> dict[str, Any]:
        opponents: Any = message.get("opponents")
        seconds = message.get("seconds", 1.0)
        named = isinstance(opponents, list) and all(isinstance(each, str) for each in opponents)
        if not named or len(opponents) > 9:
            raise Wrong("opponents must be a list of at most nine ids of strategies")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.05 <= seconds <= 10:
            raise Wrong("seconds must be a number from 0.05 to 10: the time for one search")
        return self.tables.open(opponents, self.seeds(), float(seconds)).data()

    def table(self, request: Request, message: Message) -> dict[str, Any]:
        return self._at(request, lambda table: None)

    def act(self, request: Request, message: Message) -> dict[str, Any]:
        hand, decision, action = message.get("hand"), message.get("decision"), message.get("action")
        if type(hand) is not int or type(decision) is not int or not isinstance(action, str):
            raise Wrong("the request must have the whole numbers hand and decision, and the name of an action")
        return self._at(request, lambda table: table.act(hand, decision, action))

    def next(self, request: Request, message: Message) -> dict[str, Any]:
        hand = message.get("hand")
        if type(hand) is not int:
            raise Wrong("the request must have the whole number hand: the hand that is over")
        return self._at(request, lambda table: table.next(hand))

    def _at(self, request: Request, do: Callable[[WebTable], None]) -> dict[str, Any]:
        """Change a table, one request at a time, and return its new state."""
        table = self.tables.table(request.path_params["table"])
        with table.lock:
            do(table)
            return table.data()

    def review(self, request: Request, message: Message) -> dict[str, Any]:
        table = self.tables.table(request.path_params["table"])
        with table.lock:
            return table.review()

    def leave(self, request: Request, message: Message) -> dict[str, Any]:
        self.tables.close(request.path_params["table"])
        return {}

    # Runs

    def runs(self, request: Request, message: Message) -> dict[str, Any]:
        return {"runs": runs.listed(self.library)}

    def run(self, request: Request, message: Message) -> dict[str, Any]:
        return runs.run(self.library.entry(request.path_params["id"]))

    def crosstable(self, request: Request, message: Message) -> dict[str, Any]:
        return runs.crosstable(self.library, request.query_params.getlist("id"))


def in_thread(handler: Handler) -> Answer:
    """Run a handler in a thread and return its result as JSON. For POST requests it gets the request body."""

    async def answering(request: Request) -> Response:
        message = await message_of(request) if request.method == "POST" else {}
        return plain(await run_in_threadpool(handler, request, message))

    return answering


async def message_of(request: Request) -> Message:
    """The JSON object that a client sent."""
    try:
        message = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Wrong("the request body is not JSON") from None
    if not isinstance(message, dict):
        raise Wrong("the request body is not a JSON object")
    return message


def whole(request: Request, name: str, default: int | None, most: int) -> int | None:
    """A whole number from 0 up, given in the address."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 12 or int(text) > most:
        raise Wrong(f"{name} must be a whole number from 0 to {most:,}")
    return int(text)
