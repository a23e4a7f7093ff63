"""The server: addresses, and what is answered there. Everything under /api/ is JSON; the rest is one page.

GET    /api/library                        strategies, and games that can be played
GET    /api/look/ID?step=..&with=ID&deal=N a strategy after some public steps, perhaps beside another
GET    /api/diff/ID?with=ID                where two strategies differ most, with NashConv of both
GET    /api/infosets/ID?seat=&text=&page=  its infosets as a list
POST   /api/tables                         {"opponents": [ID, ...]}: sit down
GET    /api/tables/T                       how the table stands
POST   /api/tables/T/act                   {"hand": 0, "decision": 0, "action": "call"}
POST   /api/tables/T/next                  {"hand": 0}
GET    /api/tables/T/review                after a hand: what the profile would have done, and what it believed
DELETE /api/tables/T                       leave
GET    /api/runs, /api/runs/ID             runs, matches and crosstables
GET    /api/crosstable?id=..&id=..         an exact round robin of saved profiles
"""

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
from kibitz.web import look, runs
from kibitz.web.guard import MOST_BODY, Guard, TooLong
from kibitz.web.library import Library, Missing
from kibitz.web.tables import Busy, Stale, Tables

Answer = Callable[[Request], Awaitable[Response]]
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_SHOWN = 600  # characters of an error


class Wrong(KibitzError):
    """A message that says nothing we know."""


def files() -> dict[str, tuple[bytes, str]]:
    """The page, its style and its scripts, by name: all that can be asked for as a file."""
    found = {}
    for each in resources.files("kibitz.web").joinpath("static").iterdir():
        ending = each.name[each.name.rfind(".") :]
        if ending in KINDS:
            found[each.name] = each.read_bytes(), f"{KINDS[ending]}; charset=utf-8"
    return found


def app_of(
    library: Library, token: str, port: int | None = None, hosts: tuple[str, ...] = (),
    seeds: Callable[[], int | None] = lambda: None, tables: Tables | None = None,
) -> Guard:  # fmt: skip
    """The whole server as an ASGI app. seeds: what tables are dealt from, for tests; by chance else."""
    held, static = Server(library, Tables(library) if tables is None else tables, seeds), files()

    async def page(request: Request) -> Response:
        body, kind = static["index.html"]
        return Response(body, media_type=kind)

    async def file(request: Request) -> Response:
        found = static.get(request.path_params["name"])
        if found is None:
            raise Missing("there is no such file")
        return Response(found[0], media_type=found[1])

    routes = [
        Route("/static/{name}", told(file)),
        *(Route(path, told(page)) for path in ("/", "/look", "/look/{rest:path}", "/play", "/play/{rest:path}",
                                               "/runs", "/runs/{rest:path}")),
        *held.routes(),
    ]  # fmt: skip
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _refusal, Exception: _fault})
    return Guard(inner, token, port, hosts)


def plain(value: Any) -> Response:
    """Plain data as JSON; numbers that JSON does not have are null."""
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


def refused(status: int, sentence: str) -> Response:
    said = " ".join(sentence.split())[:MOST_SHOWN]
    return Response(json.dumps({"error": said}), status, media_type="application/json")


def told(answer: Answer) -> Answer:
    """What a user can mend is a sentence with a status of its own."""

    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except Missing as error:
            return refused(404, str(error))
        except Stale as error:
            return refused(409, str(error))
        except Busy as error:
            return refused(503, str(error))
        except KibitzError as error:
            return refused(400, str(error))
        except TooLong:
            return refused(413, f"a message has at most {MOST_BODY:,} bytes")
        except MemoryError:
            return refused(507, "that does not fit into memory")

    return answering


async def _refusal(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return refused(status, "there is nothing at this address" if status == 404 else "this is not answered here")


async def _fault(request: Request, error: Exception) -> Response:
    return refused(500, "something went wrong on the server; its terminal says more")


class Server:
    """What addresses under /api/ answer."""

    def __init__(self, library: Library, tables: Tables, seeds: Callable[[], int | None]) -> None:
        self.library, self.tables, self.seeds = library, tables, seeds

    def routes(self) -> list[Route]:
        every: list[tuple[str, str, Answer]] = [
            ("GET", "/api/library", self.shelf),
            ("GET", "/api/look/{id}", self.look),
            ("GET", "/api/diff/{id}", self.diff),
            ("GET", "/api/infosets/{id}", self.infosets),
            ("POST", "/api/tables", self.sit),
            ("GET", "/api/tables/{table}", self.table),
            ("DELETE", "/api/tables/{table}", self.leave),
            ("POST", "/api/tables/{table}/act", self.act),
            ("POST", "/api/tables/{table}/next", self.next),
            ("GET", "/api/tables/{table}/review", self.review),
            ("GET", "/api/runs", self.runs),
            ("GET", "/api/runs/{id}", self.run),
            ("GET", "/api/crosstable", self.crosstable),
        ]
        return [Route(path, told(answer), methods=[method]) for method, path, answer in every]

    async def shelf(self, request: Request) -> Response:
        return plain(await run_in_threadpool(self._shelf))

    def _shelf(self) -> dict[str, Any]:
        entries = self.library.strategies()
        found = [{**entry.data(), "searches": self.library.searches(entry)} for entry in entries]
        games = list(dict.fromkeys(entry.game for entry in entries if entry.game))
        folder = self.library.folder
        return {"version": __version__, "strategies": found, "games": games,
                "folder": "" if folder is None else folder.name, "tables": len(self.tables)}  # fmt: skip

    # Look

    async def look(self, request: Request) -> Response:
        steps = request.query_params.getlist("step")
        deal = whole(request, "deal", None, 1 << 31)
        other = request.query_params.get("with")
        return plain(await run_in_threadpool(self._look, request.path_params["id"], steps, deal, other))

    def _look(self, id: str, steps: list[str], deal: int | None, other: str | None) -> dict[str, Any]:
        pool = self.library.pool
        found = look.node(self.library.strategy(id), steps, pool, deal)
        if other is not None:
            beside = look.node(self.library.strategy(other), steps, pool, deal)
            found = {**found, "other": beside, "difference": look.difference(found, beside)}
        return found

    async def diff(self, request: Request) -> Response:
        id, other = request.path_params["id"], request.query_params.get("with", "")
        return plain(await run_in_threadpool(lambda: look.most_different(*map(self.library.strategy, (id, other)))))

    async def infosets(self, request: Request) -> Response:
        seat, page = whole(request, "seat", 0, 99) or 0, whole(request, "page", 0, 10_000) or 0
        text = request.query_params.get("text", "")[:80]

        def listed() -> dict[str, Any]:
            held = self.library.strategy(request.path_params["id"])
            return look.infosets(held, self.library.pool, seat, text, page)

        return plain(await run_in_threadpool(listed))

    # Play

    async def sit(self, request: Request) -> Response:
        given = await message(request)
        opponents = given.get("opponents")
        if (
            not isinstance(opponents, list)
            or not all(isinstance(each, str) for each in opponents)
            or len(opponents) > 9
        ):
            raise Wrong("name opponents by their ids")
        seconds = given.get("seconds", 1.0)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.05 <= seconds <= 10:
            raise Wrong("a search takes from 0.05 to 10 seconds")
        table = await run_in_threadpool(self.tables.open, opponents, self.seeds(), float(seconds))
        return plain(table.data())

    async def table(self, request: Request) -> Response:
        return await self._at(request, lambda table: None)

    async def act(self, request: Request) -> Response:
        given = await message(request)
        hand, decision, action = given.get("hand"), given.get("decision"), given.get("action")
        if type(hand) is not int or type(decision) is not int or not isinstance(action, str):
            raise Wrong("say the hand, the decision and the action")
        return await self._at(request, lambda table: table.act(hand, decision, action))

    async def next(self, request: Request) -> Response:
        hand = (await message(request)).get("hand")
        if type(hand) is not int:
            raise Wrong("say which hand is over")
        return await self._at(request, lambda table: table.next(hand))

    async def _at(self, request: Request, do: Callable[[Any], None]) -> Response:
        """Do something at a table, one request at a time, and say how it stands."""
        held = self.tables.table(request.path_params["table"])

        def done() -> dict[str, Any]:
            with held.lock:
                do(held)
                return held.data()

        return plain(await run_in_threadpool(done))

    async def review(self, request: Request) -> Response:
        held = self.tables.table(request.path_params["table"])

        def reviewed() -> dict[str, Any]:
            with held.lock:
                return held.review()

        return plain(await run_in_threadpool(reviewed))

    async def leave(self, request: Request) -> Response:
        self.tables.close(request.path_params["table"])
        return plain({})

    # Runs

    async def runs(self, request: Request) -> Response:
        return plain({"runs": await run_in_threadpool(runs.listed, self.library)})

    async def run(self, request: Request) -> Response:
        return plain(await run_in_threadpool(lambda: runs.run(self.library.entry(request.path_params["id"]))))

    async def crosstable(self, request: Request) -> Response:
        ids = request.query_params.getlist("id")
        return plain(await run_in_threadpool(runs.crosstable, self.library, ids))


async def message(request: Request) -> dict[str, Any]:
    """The JSON object that a client sent."""
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Wrong("the message is no JSON") from None
    if not isinstance(found, dict):
        raise Wrong("the message is no JSON object")
    return found


def whole(request: Request, name: str, default: int | None, most: int) -> int | None:
    """A whole number from 0 of the address."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 12 or int(text) > most:
        raise Wrong(f"{name} is a whole number from 0 to {most:,}")
    return int(text)
