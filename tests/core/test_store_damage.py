"""Saved artefacts with random damage: each is refused by a sentence, or reads as it was written."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import socket
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_store import ARRAYS, MEMORY, META, same, seal

from kibitz.core import store
from kibitz.core.errors import ArtefactError

HOSTILE: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 1 << 31, 1 << 62, 1 << 63, 1 << 64, 10 << 40, 10**400, 0.0, 1.0, 1e300,
    "", "kibitz", "x", "..", "/", "../x", "/etc/passwd", "<f8", "|O", "<i4", "|b1", "\0", "\ud800", "0" * 64,
    [], {}, [0], [-1], [1 << 62] * 2, [0] * 70, [[[[]]]], {"": {}}, {"a": 1},
]  # fmt: skip
TOKENS = [
    b"[",
    b"{",
    b"}",
    b"]",
    b",",
    b":",
    b'"',
    b"\\",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-",
    b"0",
    b"\xff",
    b"\0",
]
TOKENS += [b"[" * 5000, b"9" * 5000, b"true", b'"version":1,', b'"meta":{},', b"\\ud800", b" ", b"\n"]


class Fuzz:
    """One small artefact on disk; `round` damages it, loads it and mends it again."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path, self.aside = folder / "a", folder / "aside"
        store.save(self.path, "fuzz", ARRAYS, META)
        store.save(folder / "other", "fuzz", {"row": np.arange(7, dtype=np.int32)[::-1]}, META)
        self.aside.mkdir()
        self.files = {n: (self.path / n).read_bytes() for n in sorted(os.listdir(self.path))}
        for name, data in self.files.items():
            (self.aside / name).write_bytes(data)
        self.manifest = json.loads(self.files["manifest.json"])
        self.steps = [
            self.flip,
            self.cut,
            self.extend,
            self.swap,
            self.delete,
            self.odd,
            self.tokens,
            self.twice,
        ]
        self.steps += [self.edit] * 6
        self.loaded = 0

    def round(self) -> None:
        self.now: dict[str, bytes | None] = dict(self.files)
        self.touched: set[str] = set()
        self.odd_ones: dict[str, int] = {}
        self.sealed = False
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self.random.choice(self.steps)()
        for name in self.touched:
            self.clear(name)
            if name in self.odd_ones:
                self.make_odd(name, self.odd_ones[name])
            elif self.now.get(name) is not None:
                (self.path / name).write_bytes(self.now[name] or b"")
        mmap, kind = self.random.random() < 0.5, self.random.choice((None, "fuzz"))
        if self.random.random() < 0.25:  # measuring takes longer than loading
            tracemalloc.start()
        try:
            found = store.load(self.path, kind, mmap=mmap, max_bytes=1 << 30)
        except ArtefactError as error:
            assert "\n" not in str(error)
        else:
            self.loaded += 1
            if not self.sealed:
                assert same(found.arrays, ARRAYS) and found.meta == META
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 4 << 20
        for name in self.touched:
            self.clear(name)
            if name in self.files:
                (self.path / name).write_bytes(self.files[name])

    def clear(self, name: str) -> None:
        path = self.path / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def pick(self) -> tuple[str, bytes]:
        name = self.random.choice([n for n, data in self.now.items() if data is not None] or ["spare"])
        self.touched.add(name)
        return name, self.now.get(name) or b""

    def flip(self) -> None:
        name, data = self.pick()
        out = bytearray(data or b"x")
        for _ in range(self.random.choice((1, 1, 4))):
            out[self.random.randrange(len(out))] ^= 1 << self.random.randrange(8)
        self.now[name] = bytes(out)

    def cut(self) -> None:
        name, data = self.pick()
        self.now[name] = data[: self.random.randrange(len(data) + 1)]

    def extend(self) -> None:
        name, data = self.pick()
        self.now[name] = data + self.random.choice((b"\0", b"x", b" ", b"\n", data, bytes(4096)))

    def swap(self) -> None:
        (a, first), (b, second) = self.pick(), self.pick()
        self.now[a], self.now[b] = second, first

    def delete(self) -> None:
        self.now[self.pick()[0]] = None

    def odd(self) -> None:
        """Not a file: a link to the right bytes or to nothing, a directory, a pipe, a socket."""
        name, _ = self.pick()
        self.now[name] = None
        if name in self.files:
            self.odd_ones[name] = self.random.randrange(6)

    def make_odd(self, name: str, what: int) -> None:
        path = self.path / name
        if what == 0:
            path.symlink_to(self.aside / name)
        elif what == 1:
            path.symlink_to(self.random.choice(("nowhere", name, "/dev/zero", ".")))
        elif what == 2:
            path.mkdir()
        elif what == 3:
            os.mkfifo(path)
        elif what == 4:
            os.link(self.aside / name, path)  # a second name of the same bytes does no harm
        else:
            here = os.getcwd()
            os.chdir(self.path)  # the address of a socket must be short
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(name[:100])
            os.chdir(here)

    def tokens(self) -> None:
        text = self.now["manifest.json"] or self.files["manifest.json"]
        at = self.random.randrange(len(text) + 1)
        gone = self.random.choice((0, 0, 1, 5))
        self.now["manifest.json"] = text[:at] + self.random.choice(TOKENS) + text[at + gone :]
        self.touched.add("manifest.json")

    def twice(self) -> None:
        """A key given twice, with the same or another value."""
        text = self.now["manifest.json"] or self.files["manifest.json"]
        found = list(re.finditer(rb'[{,]("\w+":)("[^"]*"|\d+|\[\d*\])', text))
        if found:
            match = self.random.choice(found)
            value = self.random.choice((match[2], b"0", b'"x"', b"{}"))
            more = match[1] + value + b","
            self.now["manifest.json"] = text[: match.start() + 1] + more + text[match.start() + 1 :]
        self.touched.add("manifest.json")

    def edit(self) -> None:
        """Values replaced, keys removed, added and exchanged; half the time with a true digest."""
        manifest = copy.deepcopy(self.manifest)
        for _ in range(self.random.choice((1, 1, 2))):
            tables: list[Any] = []

            def walk(value: Any, tables: list[Any] = tables) -> None:
                if isinstance(value, dict | list) and value:
                    tables.append(value)
                    for item in value.values() if isinstance(value, dict) else value:
                        walk(item)

            walk(manifest)
            if not tables:
                break
            table = self.random.choice(tables)
            keys = list(table) if isinstance(table, dict) else list(range(len(table)))
            key, other = self.random.choice(keys), self.random.choice(keys)
            what = self.random.randrange(8)
            if what == 0:
                del table[key]
            elif what == 1:
                table[key], table[other] = table[other], table[key]
            elif what == 2 and isinstance(table, dict):
                table[self.random.choice(("", "x", "..", "../x", "file", "é", "a\0"))] = copy.deepcopy(table[key])
            elif what == 3 and type(table[key]) in (int, float):
                table[key] += self.random.choice((-1, 1, 0.5, 1 << 32, 1 << 64, -(1 << 63)))
            else:
                table[key] = copy.deepcopy(self.random.choice(HOSTILE))
        sealed = self.random.random() < 0.5
        self.sealed |= sealed
        self.now["manifest.json"] = seal(manifest) if sealed else json.dumps(manifest).encode()
        self.touched.add("manifest.json")


def fuzz(count: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        damage(Fuzz(Path(folder), seed), count)


def damage(rounds: Fuzz, count: int) -> None:
    open_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(count):
        rounds.round()
    assert 0 < rounds.loaded < count / 2  # the damage is neither always fatal nor mostly harmless
    if open_before:
        assert len(os.listdir("/proc/self/fd")) <= open_before + 5
    assert same(store.load(rounds.path).arrays, ARRAYS)


def test_damaged_artefacts() -> None:
    fuzz(3_000, seed=1)


@pytest.mark.slow
def test_damaged_artefacts_at_length() -> None:
    fuzz(100_000, seed=2)
