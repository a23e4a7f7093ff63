"""Saved artefacts: what is saved comes back, and a hostile directory gets nothing else out."""

from __future__ import annotations

import hashlib
import json
import os
import string
import tempfile
import tracemalloc
from collections.abc import Callable
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
