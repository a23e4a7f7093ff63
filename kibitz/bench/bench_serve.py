"""Load of the server, for `kibitz bench --only serve`: many tables at once for a minute, errors and latencies.

The server is a process of its own; the people are tasks of one event loop, each with a connection that stays open, who
act as soon as they are asked. Latencies are those of a client: from the first byte sent to the last one read.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from kibitz.bench.screens import served
from kibitz.report.tables import section

TABLES, SECONDS = 50, 60.0
OPPONENTS = ("uniform-leduc", "made-leduc", "uniform-rhode-island", "uniform-limit-2", "uniform-limit-3",
             "uniform-toepen")  # fmt: skip
THOUGHT = 0.5  # seconds that a person thinks at most, drawn evenly from 0


class Person:
    """One who plays by HTTP, over one connection."""

    def __init__(self, address: str, opponent: str, number: int, thought: float) -> None:
        parts = urlparse(address)
        self.host, self.port, self.token = parts.hostname or "", parts.port or 0, parts.query.removeprefix("token=")
        self.opponent, self.thought, self.drawn = opponent, thought, random.Random(number)
        self.times: dict[str, list[float]] = {}
        self.errors: list[str] = []
        self.hands = 0

    async def ask(self, what: str, method: str, path: str, data: Any = None) -> Any:
        body = b"" if data is None else json.dumps(data).encode()
        head = (
            f"{method} {path}?token={self.token} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Origin: http://{self.host}:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        began = time.perf_counter()
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        answer = await self.reader.readuntil(b"\r\n\r\n")
        lines = answer.decode("latin-1").split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
        said = await self.reader.readexactly(length)
        self.times.setdefault(what, []).append(time.perf_counter() - began)
        status = int(lines[0].split(" ")[1])
        if status != 200:
            self.errors.append(f"{what}: {status} {said[:200].decode('utf-8', 'replace')}")
            raise ConnectionError(self.errors[-1])
        return json.loads(said)

    async def play(self, until: float) -> None:
        try:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
            table = await self.ask("sit down", "POST", "/api/tables", {"opponents": [self.opponent]})
            at = f"/api/tables/{table['id']}"
            while time.perf_counter() < until:
                await asyncio.sleep(self.thought * self.drawn.random())
                if table["over"]:
                    self.hands += 1
                    await self.ask("review", "GET", f"{at}/review")
                    table = await self.ask("next", "POST", f"{at}/next", {"hand": table["hand"]})
                    continue
                action = self.drawn.choice(table["actions"])["name"]
                body = {"hand": table["hand"], "decision": table["decision"], "action": action}
                table = await self.ask("act", "POST", f"{at}/act", body)
            self.writer.close()
        except (OSError, EOFError, ValueError, KeyError) as error:
            if not self.errors:
                self.errors.append(f"{type(error).__name__}: {error}")


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else 0.0


def load(address: str, tables: int, seconds: float, thought: float = THOUGHT) -> dict[str, Any]:
    """Let people play on a server; what they saw of it."""
    people = [Person(address, OPPONENTS[k % len(OPPONENTS)], k, thought) for k in range(tables)]

    async def everybody() -> None:
        warm = [Person(address, opponent, 0, 0.0) for opponent in OPPONENTS]
        for each in warm:  # strategies are opened and code is compiled off the clock
            await each.play(time.perf_counter() + 0.3)
        until = time.perf_counter() + seconds
        await asyncio.gather(*(person.play(until) for person in people))

    asyncio.run(everybody())
    asked = {}
    for what in ("sit down", "act", "next", "review"):
        times = [x for person in people for x in person.times.get(what, [])]
        asked[what] = {"count": len(times), **{f"p{round(100 * q)}": quantile(times, q) for q in (0.5, 0.95, 0.99)},
                       "most": max(times, default=0.0)}  # fmt: skip
    errors = [error for person in people for error in person.errors]
    return {"tables": tables, "seconds": seconds, "hands": sum(person.hands for person in people), "asked": asked,
            "requests": sum(each["count"] for each in asked.values()), "errors": len(errors),
            "first_error": errors[:1]}  # fmt: skip


def serve_figure(quick: bool) -> dict[str, Any]:
    """Fifty tables for a minute; quick: ten for two seconds."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as address:
        return load(address, 10 if quick else TABLES, 2.0 if quick else SECONDS)


def serve_markdown(figure: dict[str, Any]) -> list[str]:
    rows = [
        f"| {what} | {each['count']:,} | {1000 * each['p50']:.1f} | {1000 * each['p95']:.1f} | "
        f"{1000 * each['p99']:.1f} | {1000 * each['most']:.0f} |"
        for what, each in figure["asked"].items()
    ]
    return section(
        "The page",
        f"`kibitz serve` with {figure['tables']} tables at once for {figure['seconds']:.0f} s (Leduc, Rhode Island, "
        f"limit hold'em for two and three, Toepen; a person thinks up to {THOUGHT:g} s): {figure['hands']:,} hands, "
        f"{figure['requests']:,} requests, {figure['errors']} errors. Milliseconds until the whole answer is there, "
        "with server and clients on this machine:",
        ["| request | count | p50 | p95 | p99 | most |", "|---|---:|---:|---:|---:|---:|", *rows],
    )
