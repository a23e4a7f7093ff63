"""Artefacts: what is saved comes back, and neither kill -9 nor a hostile directory gets anything else out."""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import os
import random
import re
import signal
import socket
import string
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from examples import examples
from kibitz.core import store
from kibitz.core.errors import ArtefactError

ARRAYS: dict[str, np.ndarray] = {
    "regret": np.array([[1.5, -2.0, np.nan], [0.0, np.inf, -0.0]]),
    "row": np.arange(7, dtype=np.int32),
    "mask": np.array([True, False, True, True]),
    "empty": np.zeros((0, 3), np.uint8),
    "scalar": np.array(2.5, np.float32),
}
META: dict[str, Any] = {
    "game": "kuhn",
    "seed": 7,
    "log": [[1, 0.25], [2, 0.125]],
    "more": {"a": None, "b": True},
}
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # fsync costs nothing there


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    return list(found) == sorted(wanted) and all(
        found[k].dtype == wanted[k].dtype
        and found[k].shape == wanted[k].shape
        and found[k].tobytes() == wanted[k].tobytes()
        for k in wanted
    )


def leftovers(path: Path) -> list[str]:
    """Everything in and beside the artefact that has no business there."""
    wanted = {"manifest.json"}
    if path.exists():
        manifest = json.loads((path / "manifest.json").read_text())
        wanted |= {entry["file"] for entry in manifest["arrays"].values()}
    inside = os.listdir(path) if path.exists() else []
    return [n for n in inside if n not in wanted] + [n for n in os.listdir(path.parent) if ".tmp-" in n]


def refused(call: Callable[[], Any], *words: str) -> str:
    with pytest.raises(ArtefactError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message and len(message) < 1000
    for word in words:
        assert word in message, message
    return message


# Round trips


names = st.text(string.ascii_lowercase + string.digits + "_.", min_size=1, max_size=40)
dtypes = st.sampled_from([*store.DTYPES, ">f8", ">i4", ">u2"])
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(names, arrays, max_size=4), st.dictionaries(st.text(), values, max_size=4), st.booleans())
def test_round_trip(found: dict[str, np.ndarray], meta: dict[str, Any], mmap: bool) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder) / "a"
        store.save(path, "thing", found, meta)
        back = store.load(path, "thing", mmap=mmap)
        assert same(back.arrays, {k: a.astype(a.dtype.newbyteorder("<")) for k, a in found.items()})
        assert json.dumps(back.meta, sort_keys=True) == json.dumps(meta, sort_keys=True)
        assert (back.kind, back.path) == ("thing", path)
        assert all(a.flags.writeable is not mmap for a in back.arrays.values())
        assert json.loads((path / "manifest.json").read_text())["digest"] == store.digest(found, meta)
        assert store.digest(back.arrays, back.meta) == store.digest(found, meta)
        assert leftovers(path) == []


def test_strange_layouts(tmp_path: Path) -> None:
    grid = np.arange(24.0).reshape(2, 3, 4)
    wild = {"t": grid.T, "step": grid[:, ::2, ::-1], "f": np.asfortranarray(grid)}
    wild["all"] = np.broadcast_to(1, (3, 2))
    wild["b"] = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)  # bools that are not 0 or 1
    store.save(tmp_path / "a", "x", wild, {"t": (1, (2, 3))})
    back = store.load(tmp_path / "a")
    for name in ("t", "step", "all", "f"):
        np.testing.assert_array_equal(back.arrays[name], wild[name], strict=True)
    assert back.arrays["b"].view(np.uint8).tolist() == [0, 1, 1, 1]
    assert back.meta == {"t": [1, [2, 3]]}


def test_longest_name_and_most_arrays(tmp_path: Path) -> None:
    many = {f"{i:0200}": np.array(i) for i in range(store.MAX_ARRAYS)}
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        store.save(Path(folder) / "a", "x", many, {})
        assert same(store.load(Path(folder) / "a", mmap=True).arrays, many)
    refused(lambda: store.save(tmp_path / "a", "x", {**many, "more": np.array(1)}, {}), "at most 400")


def test_larger_than_a_chunk(tmp_path: Path) -> None:
    big = {"big": np.arange(3 * store.CHUNK // 8 + 1), "b": np.ones(3 * store.CHUNK, bool)}
    store.save(tmp_path / "a", "x", big, {})
    assert same(store.load(tmp_path / "a").arrays, big)
    assert same(store.load(tmp_path / "a", mmap=True).arrays, big)


def test_mapped_arrays_survive_overwriting(tmp_path: Path) -> None:
    store.save(tmp_path / "a", "x", ARRAYS, META)
    mapped = store.load(tmp_path / "a", mmap=True).arrays
    store.save(tmp_path / "a", "x", {"row": np.zeros(7, np.int32)}, {})
    assert same(mapped, ARRAYS)
    with pytest.raises(ValueError, match="read-only"):
        mapped["row"][0] = 1


def test_overwriting(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "a"  # parents are made
    for kind, wanted, meta in [("x", ARRAYS, META), ("x", ARRAYS, META), ("y", {}, {}), ("x", ARRAYS, {})]:
        store.save(path, kind, wanted, meta)
        back = store.load(path)
        assert back.kind == kind and same(back.arrays, wanted) and back.meta == meta
        assert leftovers(path) == []
    (path / "notes.txt").write_text("mine")
    store.save(path, "x", {}, {})
    assert (path / "notes.txt").read_text() == "mine"  # only our own files are tidied away


def test_empty_directory_and_links_to_directories(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to("real")
    store.save(tmp_path / "latest", "x", ARRAYS, META)
    assert (tmp_path / "latest").is_symlink()
    for name in ("real", "latest"):
        assert same(store.load(tmp_path / name).arrays, ARRAYS)


def test_format_is_as_documented(tmp_path: Path) -> None:
    """An artefact written from the description at the top of core/store.py alone."""
    data = np.array([[1, 2, 3]], "<i8").tobytes()
    sha = hashlib.sha256(data).hexdigest()
    entry = {"dtype": "<i8", "shape": [1, 3], "sha256": sha}
    text = json.dumps({"arrays": {"a.b": entry}, "meta": {"k": 1}}, sort_keys=True, separators=(",", ":"))
    full = {**entry, "file": f"a.b-{sha[:16]}.bin", "bytes": 24}
    manifest = {"format": "kibitz", "version": 1, "kind": "t", "meta": {"k": 1}, "arrays": {"a.b": full}}
    (tmp_path / full["file"]).write_bytes(data)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "digest": digest}, indent=2))
    assert store.load(tmp_path, "t").arrays["a.b"].tolist() == [[1, 2, 3]]
    store.save(tmp_path, "t", {"a.b": np.array([[1, 2, 3]])}, {"k": 1})
    canonical = json.dumps({**manifest, "digest": digest}, sort_keys=True, separators=(",", ":"))
    assert (tmp_path / "manifest.json").read_text() == canonical


# Digest


def test_digest() -> None:
    base = store.digest(ARRAYS, META)
    assert base == "bc39821dec0afa26693ff717625e1ebf4b361a75c8a0a9f3f42d866d5382e33d"
    assert base == store.digest(dict(reversed(ARRAYS.items())), dict(reversed(META.items())))
    assert base == store.digest({**ARRAYS, "row": ARRAYS["row"].astype(">i4")}, META)
    assert base == store.digest({**ARRAYS, "regret": np.asfortranarray(ARRAYS["regret"])}, META)
    others = [
        store.digest({**ARRAYS, "row": ARRAYS["row"].astype(np.int64)}, META),
        store.digest({**ARRAYS, "row": ARRAYS["row"].view(np.uint32)}, META),
        store.digest({**ARRAYS, "row": ARRAYS["row"][:, None]}, META),
        store.digest({**ARRAYS, "row": ARRAYS["row"][::-1]}, META),
        store.digest({**ARRAYS, "empty": np.zeros((3, 0), np.uint8)}, META),
        store.digest({**ARRAYS, "extra": np.zeros(0)}, META),
        store.digest({("line" if k == "row" else k): a for k, a in ARRAYS.items()}, META),
        store.digest(ARRAYS, {**META, "seed": 8}),
        store.digest(ARRAYS, {**META, "seed": 7.0}),
        store.digest({}, {}),
    ]
    assert len({base, *others}) == 1 + len(others)


# Refusals


@pytest.mark.parametrize(
    "meta",
    [
        {"a": float("nan")}, {"a": [float("inf")]}, {"a": {1: 2}}, {1: 2}, {"a": {1, 2}}, {"a": b"x"},
        {"a": object()}, {"a": np.int64(1)}, {"a": np.zeros(2)}, {"a": 10**5000}, {"a": -(10**5000)},
        [], None, "text", 3,
    ],
)  # fmt: skip
def test_meta_must_be_json(tmp_path: Path, meta: Any) -> None:
    refused(lambda: store.save(tmp_path / "a", "x", ARRAYS, meta), "meta", "JSON")
    refused(lambda: store.digest(ARRAYS, meta), "meta")
    assert os.listdir(tmp_path) == []


def test_meta_too_deep_or_too_long(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1
    for _ in range(store.MAX_NESTING - 1):
        deep = [deep]
    store.save(tmp_path / "a", "x", {}, {"deep": deep})
    assert store.load(tmp_path / "a").meta == {"deep": deep}
    refused(lambda: store.save(tmp_path / "b", "x", {}, {"deep": [[deep]]}), "deep")
    refused(lambda: store.save(tmp_path / "b", "x", {}, {"loop": loop}), "deep")
    refused(lambda: store.save(tmp_path / "b", "x", {}, {"long": "x" * (16 << 20)}), "limit", "pack_strings")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["", "A", "a/b", "..\\x", "a b", "é", "a-b", "x" * 201, "a\n", 3, None])
def test_forbidden_names(tmp_path: Path, name: Any) -> None:
    refused(lambda: store.save(tmp_path / "a", "x", {name: np.zeros(1)}, {}), "cannot name an array")
    if name not in ("A", "a-b"):
        refused(lambda: store.save(tmp_path / "a", name if name != "x" * 201 else "k" * 65, {}, {}), "kind")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, np.float16), np.zeros(2, complex), np.array(["a"]), np.array([None]),
        np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f8")]), np.zeros(2, np.longdouble), [1, 2], 3.0, None,
    ],
)  # fmt: skip
def test_forbidden_dtypes(tmp_path: Path, array: Any) -> None:
    refused(lambda: store.save(tmp_path / "a", "x", {"q": array}, {}), "'q'", "convert")
    assert os.listdir(tmp_path) == []


def test_something_else_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "thesis.tex").write_text("mine")
    for name, text in [
        ("json", '{"format": "else"}'),
        ("list", "[]"),
        ("cut", '{"format": "kib'),
        ("bad", "\xff"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text, "latin-1")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    for name in ("file", "dir", "json", "list", "cut", "bad"):
        refused(lambda name=name: store.save(tmp_path / name, "x", ARRAYS, META), "nothing was written", name)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_impossible_paths(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in [tmp_path / "file" / "a", "a\0b", tmp_path / ("n" * 300), "/proc/self/nowhere/a"]:
        refused(lambda path=path: store.save(path, "x", {}, {}), "cannot write")
        refused(lambda path=path: store.write_text(path, "x"), "cannot write")
        refused(lambda path=path: store.load(path), "no saved profile")
    refused(lambda: store.write_text(tmp_path, "x"), "cannot write")
    refused(lambda: store.write_text(tmp_path / "t", "\ud800"), "cannot write")
    assert os.listdir(tmp_path) == ["file"]


def test_load_says_what_is_wrong(tmp_path: Path) -> None:
    refused(lambda: store.load(tmp_path / "none"), "no saved profile, checkpoint or blueprint at", "none")
    refused(lambda: store.load(tmp_path), "no saved profile, checkpoint or blueprint at", "manifest.json")
    path = tmp_path / "a"
    store.save(path, "profile", ARRAYS, META)
    refused(lambda: store.load(path, "tree"), "profile", "tree", str(path))
    refused(lambda: store.load(path, max_bytes=10), "limit of 10", str(path))
    refused(lambda: store.load(path, mmap=True, max_bytes=10), "limit of 10")
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "version": 2, "new": 1}))
    refused(lambda: store.load(path), "newer", "upgrade", str(path))
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "manifest.json").write_text('{"version":1,' + json.dumps(manifest)[1:])
    refused(lambda: store.load(path), "twice", "recompute it or restore a copy")
    (path / "manifest.json").write_text(json.dumps({**manifest, "meta": {"a": float("nan")}}))
    refused(lambda: store.load(path), "recompute it or restore a copy")
    (path / "manifest.json").write_text(json.dumps(manifest))
    file = path / manifest["arrays"]["row"]["file"]
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"\xff")
    refused(lambda: store.load(path), "sha256", "recompute it or restore a copy", str(path))
    refused(lambda: store.load(path, mmap=True), "sha256")
    file.unlink()
    refused(lambda: store.load(path), file.name, "recompute it or restore a copy")
    (tmp_path / "elsewhere").write_bytes(data)
    file.symlink_to(tmp_path / "elsewhere")
    refused(lambda: store.load(path), "symbolic link")
    file.unlink()
    os.mkfifo(file)
    refused(lambda: store.load(path), "plain file")


def seal(manifest: dict[str, Any]) -> bytes:
    """The manifest with a true digest: what a malicious author would write, and damage would not."""
    try:
        manifest["digest"] = store._digest(manifest["arrays"], manifest["meta"])
    except Exception:
        manifest["digest"] = "0" * 64
    return json.dumps(manifest).encode()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    ("shape", "dtype", "size", "actual"),
    [
        ([10 << 37], "<f8", 10 << 40, 8),  # 10 TB said, 8 bytes there
        ([1 << 27], "<f8", 1 << 30, 8),  # fits in memory, but is not there
        ([8], "|u1", 8, 9),
        ([10 << 37], "<f8", 10 << 40, 10 << 40),  # 10 TB there, in a file without blocks
        ([1 << 62, 1 << 62], "|u1", 8, 8),
        ([1 << 32, 1 << 32], "|u1", 0, 0),  # 0 in 64 bits
        ([1 << 61], "<f8", 0, 0),
        ([0, 1 << 62, 1 << 62], "<f8", 0, 0),
        ([0] * 65, "<f8", 0, 0),
        ([0, 10**4000], "<f8", 0, 0),
        ([-1, -1], "<f8", 8, 8),
        ([1.0], "<f8", 8, 8),
        ([True], "<f8", 8, 8),
        (["1"], "<f8", 8, 8),
        ([1], "|O", 8, 8),
        ([1], "<f8,<f8", 16, 16),
        ([8], "|S1", 8, 8),
        ([1], ">f8", 8, 8),
        ([1], "<f8", 8.0, 8),
        ([8], "|b1", 8, 8),  # filled with 7s
    ],
)
def test_lies_about_size_allocate_nothing(
    tmp_path: Path, shape: list[Any], dtype: str, size: Any, actual: int, mmap: bool
) -> None:
    path = tmp_path / "a"
    store.save(path, "x", {"a": np.full(8, 7, np.uint8)}, {})
    manifest = json.loads((path / "manifest.json").read_text())
    entry = manifest["arrays"]["a"]
    if actual > 1 << 30:
        try:
            os.truncate(path / entry["file"], actual)
        except OSError:
            pytest.skip("this file system does not take a sparse file of 10 TB")
    else:
        data = b"\7" * actual
        entry["sha256"] = hashlib.sha256(data[:8]).hexdigest()
        entry["file"] = f"a-{entry['sha256'][:16]}.bin"
        (path / entry["file"]).write_bytes(data)
    entry |= {"shape": shape, "dtype": dtype, "bytes": size}
    (path / "manifest.json").write_bytes(seal(manifest))
    limit = 1 << 40 if mmap else None  # mapping has no limit of its own, and would hash for hours
    tracemalloc.start()
    try:
        refused(lambda: store.load(path, mmap=mmap, max_bytes=limit), str(path))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"[]", b"3", b'"x"', b"\xff\xfe", b"{", b"[" * 10**6, b'{"a":' * 10**5, b"9" * 10**6,
        b"-" * 100, b'{"format":"kibitz","version":' + b"9" * 4000 + b"}", b"\xef\xbb\xbf{}", b"\0" * 1000,
        b'{"format":"kibitz","version":1e999}', b'{"format":"kibitz","version":NaN}', b'{"format":"kibitz"}',
        b'{"format":"kibitz","version":true}', b'{"format":"kibitz","version":1}', b'{"format":"\\ud800"}',
        b'{"format":"kibitz","version":0}', b" " * ((16 << 20) + 1),
    ],
    ids=range(22),
)  # fmt: skip
def test_hostile_manifests(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    refused(lambda: store.load(tmp_path))


# Fuzzing: a valid artefact with random damage


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


# Crashes


OLD = {"a": np.arange(100.0), "same": np.arange(5)}
NEW = {"a": np.arange(100.0)[::-1].copy(), "same": np.arange(5), "b": np.ones(3)}


class Dead(BaseException):
    """The process ended here."""


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch, dead_pid: int) -> Iterator[Callable[..., bool]]:
    """crash(call, k, after): run `call` and end the "process" before or after its k-th step.

    With `error`, the step fails instead (a full disk), and the code after it does run.
    False: there were fewer than k steps.
    """

    def run(call: Callable[[], None], k: int, after: bool = False, error: int = 0) -> bool:
        count, dead = 0, False

        def step(real: Callable[..., Any]) -> Callable[..., Any]:
            def stepped(*args: Any, **named: Any) -> Any:
                nonlocal count, dead
                if dead:
                    return None  # what the except and finally clauses of a dead process would have done
                count += 1
                if count == k and error:
                    raise OSError(error, os.strerror(error))
                mine = count == k
                try:
                    return real(*args, **named) if after or not mine else None
                finally:
                    if mine:
                        dead = True
                        raise Dead

            return stepped

        with monkeypatch.context() as patch:
            for module, name in [
                (os, "replace"),
                (os, "rename"),
                (os, "fsync"),
                (store, "_remove"),
                (os, "mkdir"),
            ]:
                if not (error and name == "_remove"):
                    patch.setattr(module, name, step(getattr(module, name)))
            if not error:
                patch.setattr(os, "getpid", lambda: dead_pid)
            try:
                call()
            except Dead:
                pass
            except ArtefactError:
                assert error
        return count >= k

    yield run


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_death_at_every_step(tmp_path: Path, crash: Callable[..., bool], first: bool, after: bool) -> None:
    seen = []
    for k in range(1, 100):
        path = tmp_path / f"case{k}" / "a"
        path.parent.mkdir()
        if not first:
            store.save(path, "x", OLD, {"v": 1})
        if not crash(lambda path=path: store.save(path, "x", NEW, {"v": 2}), k, after):
            break
        if first and not path.exists():
            seen.append(0)
            refused(lambda path=path: store.load(path), "no saved profile")
        else:
            back = store.load(path, "x")
            assert same(back.arrays, OLD if back.meta["v"] == 1 else NEW)
            seen.append(back.meta["v"])
        store.save(path, "x", OLD, {"v": 3})
        assert same(store.load(path).arrays, OLD) and leftovers(path) == []
    assert len(seen) > 8 and seen == sorted(seen)  # never back from the new to the old
    assert seen[0] == (0 if first else 1) and seen[-1] == 2


@pytest.mark.parametrize("first", [False, True])
def test_failure_at_every_step(tmp_path: Path, crash: Callable[..., bool], first: bool) -> None:
    path = tmp_path / "a"
    for k in range(1, 100):
        if not first:
            store.save(path, "x", OLD, {"v": 1})
        if not crash(lambda: store.save(path, "x", NEW, {"v": 2}), k, error=errno.ENOSPC):
            break
        if first and not path.exists():
            assert os.listdir(tmp_path) == []
            continue
        back = store.load(path)
        assert same(back.arrays, OLD if back.meta["v"] == 1 else NEW)
        if back.meta["v"] == 1 or first:
            assert leftovers(path) == []
        if first:
            path.rename(tmp_path.parent / f"{tmp_path.name}-{k}")
    assert k > 8
    assert store.load(path).meta["v"] == 2 and leftovers(path) == []


def test_failure_is_a_sentence(tmp_path: Path, crash: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused(lambda: store.save(tmp_path / "a", "x", OLD, {}), "cannot write", "No space left on device")
    refused(lambda: store.write_text(tmp_path / "t", "x"), "cannot write", "No space left on device")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("after", [False, True])
def test_text_is_old_or_new(tmp_path: Path, crash: Callable[..., bool], after: bool) -> None:
    path = tmp_path / "log.json"
    store.write_text(path, "old")
    k = 1
    while crash(lambda: store.write_text(path, "new"), k, after):
        assert path.read_text() in ("old", "new")
        store.write_text(path, "old")
        assert os.listdir(tmp_path) == ["log.json"]
        k += 1
    assert k > 3 and path.read_text() == "new"
    (tmp_path / "link").symlink_to("log.json")
    store.write_text(tmp_path / "link", "é\n")
    assert (tmp_path / "link").is_symlink() and path.read_bytes() == "é\n".encode()


def test_only_own_leftovers_of_the_dead_are_swept(tmp_path: Path, dead_pid: int) -> None:
    path = tmp_path / "a"
    ours = [f".a.tmp-{dead_pid}-01234567"]
    others = [
        f".a.tmp-{os.getpid()}-01234567",
        f".ab.tmp-{dead_pid}-01234567",
        f".a.tmp-{dead_pid}-xyz",
        ".a.tmp-1-0",
    ]
    others += [".a.tmp-1-01234567", ".a.tmp-99999999999-01234567", ".a.tmp--1-01234567", ".a.tmp-0-01234567"]
    for name in ours + others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    (tmp_path / f".a.tmp-{dead_pid}-0000000a").symlink_to(tmp_path / others[0])
    store.save(path, "x", {}, {})
    assert sorted(os.listdir(tmp_path)) == sorted(["a", *others])
    assert all((tmp_path / name / "x").exists() for name in others)


# Real processes


WORKER = """
import os, signal, sys
import numpy as np
from kibitz.core import store
def version(v):
    return {"a": np.full(60_000, float(v)), "b": np.full(100_000, v, np.int32), "n": np.array(v)}
for line in sys.stdin:  # each line: a child that saves until it is killed
    pid = os.fork()
    if not pid:
        signal.alarm(300)  # should nobody be left to kill it
        print(os.getpid(), flush=True)
        while True:
            for v in (1, 2):
                store.save(sys.argv[1], "x", version(v), {"v": v})
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


def version(v: int) -> dict[str, np.ndarray]:
    return {"a": np.full(60_000, float(v)), "b": np.full(100_000, v, np.int32), "n": np.array(v)}


class Worker:
    """A process whose children save versions 1 and 2 to a path for ever."""

    def __init__(self, path: Path) -> None:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        root = str(Path(store.__file__).parents[2])
        command = [sys.executable, "-c", WORKER, str(path)]
        self.process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": root}, **pipes)
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.pid = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            self.kill()
        self.stdin.close()
        assert self.process.wait(30) == 0
        self.stdout.close()

    def start(self) -> None:
        self.stdin.write("go\n")
        self.pid = int(self.stdout.readline())

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.pid = 0
        assert self.stdout.readline() == "ended\n"  # and waited for: a zombie would count as alive


def whole(path: Path, mmap: bool = False) -> int:
    """The version of the artefact that WORKER writes, which must be whole."""
    back = store.load(path, "x", mmap=mmap)
    v = int(back.meta["v"])
    assert same(back.arrays, version(v))
    return v


def test_readers_beside_two_writers(tmp_path: Path) -> None:
    path, seen = tmp_path / "a", [0]
    with Worker(path) as one, Worker(path) as two:
        one.start()
        two.start()
        while len(seen) < 300 or (len(set(seen)) < 3 and len(seen) < 1_000_000):
            if path.exists():
                seen.append(whole(path, mmap=len(seen) % 2 == 0))
    assert set(seen) == {0, 1, 2}
    assert whole(path) in (1, 2)
    store.save(path, "x", {}, {})
    assert leftovers(path) == []


def test_reader_looks_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The artefact is overwritten after the reader has read the manifest."""
    path, real = tmp_path / "a", store._regular
    store.save(path, "x", OLD, {})

    def late(name: str, folder: int | None = None) -> Any:
        if name.startswith("a-"):
            monkeypatch.setattr(store, "_regular", real)
            store.save(path, "x", NEW, {})
        return real(name, folder)

    monkeypatch.setattr(store, "_regular", late)
    assert same(store.load(path).arrays, NEW)


# Strings


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings(strings: list[str]) -> None:
    blob, offsets = store.pack_strings(strings)
    assert (blob.dtype, offsets.dtype, offsets.size) == (np.uint8, np.int64, len(strings) + 1)
    assert store.unpack_strings(blob, offsets) == strings


def test_damaged_strings(tmp_path: Path) -> None:
    blob, offsets = store.pack_strings(["ab", "", "é"])
    big = np.iinfo(np.int64)
    for bad in [
        [], [0], [0, 2, 2, 5], [1, 2, 2, 4], [0, 3, 2, 4], [0, -1, 2, 4], [0, 2, 3, 4],
        [0, big.max, big.min, 4],
    ]:  # fmt: skip
        refused(lambda bad=bad: store.unpack_strings(blob, np.array(bad, np.int64)), "damaged")
    refused(lambda: store.unpack_strings(blob, offsets.astype(np.int32)), "damaged")
    refused(lambda: store.unpack_strings(blob.astype(np.int8), offsets), "damaged")
    refused(lambda: store.unpack_strings(blob[None], offsets), "damaged")
    refused(lambda: store.unpack_strings(blob, np.array(4)), "damaged")
    refused(lambda: store.unpack_strings(np.array([255, 255, 255, 255], np.uint8), offsets), "damaged")
    refused(lambda: store.pack_strings(["\ud800"]), "surrogate")
    store.save(tmp_path / "a", "x", {"blob": blob, "offsets": offsets}, {})
    back = store.load(tmp_path / "a", mmap=True).arrays
    assert store.unpack_strings(back["blob"], back["offsets"]) == ["ab", "", "é"]


# What a user names, and what lies there


def test_a_manifest_that_nests_deeper_than_any_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    deepest: Any = 1
    for _ in range(store.MAX_NESTING - 1):
        deepest = [deepest]
    store.save(path, "x", {}, {"deep": deepest})
    assert store.load(path).meta == {"deep": deepest}
    manifest = json.loads((path / "manifest.json").read_text())
    for levels in (3, 400):  # Python's own JSON reader takes four hundred, and its writer does not
        deep = deepest
        for _ in range(levels):
            deep = [deep]
        manifest["meta"] = {"deep": deep}
        (path / "manifest.json").write_bytes(seal(manifest))
        refused(lambda: store.load(path), "nests more than 64 deep")


def test_which_kind_lies_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    store.save(path, "profile", {"n": np.zeros((2, 3))}, {})
    assert store.kind_at(path) == "profile" and store.sizes(path, "profile") == {"n": 6}
    refused(lambda: store.sizes(path, "checkpoint"), "holds a profile, not a checkpoint")
    refused(lambda: store.sizes(tmp_path / "nothing"), "no saved profile")
    manifest = path / "manifest.json"
    others = b'{"format": "kibitz", "kind": 3}', b'{"format": "x", "kind": "y"}'
    for text in (b"", b"[" * 100_000, b"\xff", b"[]", *others):
        manifest.write_bytes(text)
        assert store.kind_at(path) is None
    os.truncate(manifest, 1 << 40)
    assert store.kind_at(path) is None, "and it was not read"
    manifest.unlink()
    os.mkfifo(manifest)
    assert store.kind_at(path) is None, "a pipe does not block"
    assert store.kind_at(tmp_path / "nothing") is None and store.kind_at("a\0b") is None


def test_files_that_a_user_names_are_plain_and_no_longer_than_they_may_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(file)
    assert store.read_bytes(file, 5) == store.read_bytes(tmp_path / "link", 5) == b"12345"
    refused(lambda: store.read_bytes(file, 4), "longer than 4 bytes")
    os.mkfifo(tmp_path / "pipe")
    os.truncate(file, 1 << 40)
    for path, words in ((tmp_path / "pipe", "plain file"), (tmp_path, "plain file"), ("/dev/zero", "plain file"),
                        (file, "longer than"), (tmp_path / "none", "No such file"), ("a\0b", "null")):  # fmt: skip
        refused(lambda path=path: store.read_bytes(path, 1 << 20), words)  # type: ignore[misc]
