"""Artefacts on disk: the only code that reads or writes them.

An artefact is a directory:

    manifest.json                   what is here; an artefact without it does not exist
    NAME-<16 hex digits>.bin        one array: its bytes, little-endian, C order, nothing else

    {"format": "kibitz", "version": 1, "kind": "profile",
     "meta":   {...any JSON...},
     "arrays": {NAME: {"file": "NAME-<first 16 digits of sha256>.bin", "dtype": "<f8", "shape": [3, 2],
                       "bytes": 48, "sha256": <of the file>}},
     "digest": <sha256 of the canonical JSON of {"arrays": {NAME: {dtype, shape, sha256}}, "meta": meta}>}

JSON is canonical: keys sorted, no spaces, ASCII, no NaN, no key twice. There is no pickle anywhere.

Writing survives kill -9 and power loss at any moment. A new artefact is built in a sibling directory
.NAME.tmp-PID-RANDOM and renamed into place. An old one is overwritten in place: array files are named by
their content, so the new ones lie beside the old; replacing manifest.json is the commit; only then are
files that nothing refers to deleted. A writer holds flock on the directory, so a second one waits.

Reading treats the directory as hostile: every size is checked before anything is allocated, and whatever
is wrong is an ArtefactError. POSIX only (flock, O_NOFOLLOW, fsync of directories).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import itertools
import json
import math
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from mmap import ACCESS_READ
from mmap import mmap as Map
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.core.shipped import resolved

Array = NDArray[Any]
AnyPath = str | os.PathLike[str]

VERSION = 1
DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
MAX_MANIFEST = 16 << 20  # bytes; parsed JSON can take 25 times its text
MAX_ARRAYS = 400  # each is an open file while loading, and stays one when mapped
MAX_NESTING = 64  # of meta; far below where Python's JSON reader gives up
CHUNK = 1 << 20  # bytes hashed at a time: stays in cache
_KIND = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_NAME = re.compile(r"[a-z0-9_.]{1,200}")
_HEX = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"[a-z0-9_.]{1,200}-[0-9a-f]{16}\.bin")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True)
class Artefact:
    """What `load` returns. Arrays are fresh and writable, or read-only views of the files when mapped."""

    kind: str
    arrays: dict[str, Array]
    meta: dict[str, Any]
    path: Path


class Occupied(ArtefactError):
    """Another artefact exists at this path and must not be replaced."""


def save(
    path: AnyPath,
    kind: str,
    arrays: Mapping[str, Array],
    meta: Mapping[str, Any],
    over: Callable[[dict[str, Any]], bool] | None = None,
) -> None:
    """Write an artefact, whole or not at all; it may replace another artefact, but nothing else.

    over: whether the artefact with some meta may be replaced, asked while nobody else can write; else it is Occupied.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ArtefactError(f"{kind!r:.80} cannot name a kind: use up to 64 letters, digits, '_', '.', '-'")
    plain, flat = _plain("meta", meta), _flat(arrays)
    entries = {name: _entry(name, array) for name, array in flat.items()}
    head = {"format": "kibitz", "version": VERSION, "kind": kind, "digest": _digest(entries, plain)}
    text = _canonical({**head, "meta": plain, "arrays": entries})
    if len(text) > MAX_MANIFEST:
        raise ArtefactError(
            f"cannot write {path}: its meta makes a manifest of {len(text):,} bytes, over the limit of "
            f"{MAX_MANIFEST:,}; put what is long into an array (pack_strings helps)"
        )
    files = {entry["file"]: flat[name] for name, entry in entries.items()}
    with _writing(path) as target:
        if _occupied(target) or not _create(target, files, text):
            _overwrite(target, files, text, over)


def load(path: AnyPath, kind: str | None = None, *, mmap: bool = False, max_bytes: int | None = None) -> Artefact:
    """Read an artefact and verify all of it; `mmap` maps the arrays read-only instead of copying them.

    More than `max_bytes` of arrays are refused; None means physical memory, or no limit when mapping.
    Whatever goes wrong is an ArtefactError.
    """
    if max_bytes is None:
        max_bytes = 1 << 63 if mmap else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    path = resolved(path)
    with _opened(path, kind) as folder, contextlib.ExitStack() as stack:
        try:
            manifest, files = _open(folder, path, kind, max_bytes, stack)
        except FileNotFoundError:
            # A writer may have replaced the artefact between our look at the manifest and at its files.
            # Once it has let go of the lock, a file that is still missing is damage.
            with _lock(folder, fcntl.LOCK_SH):
                manifest, files = _open(folder, path, kind, max_bytes, stack)
        arrays = {name: _read(files[name], name, manifest["arrays"][name], mmap) for name in files}
        return Artefact(manifest["kind"], arrays, manifest["meta"], Path(path))


@contextlib.contextmanager
def _opened(path: AnyPath, kind: str | None = None) -> Iterator[int]:
    """The directory of an artefact, to be read. Whatever goes wrong is an ArtefactError."""
    try:
        folder = os.open(path, _FOLDER)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ArtefactError(f"{_nothing(kind, path)} ({why}); check the path") from None
    try:
        yield folder
    except (_Damage, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, ArtefactError):
            raise
        cure = "it is damaged: recompute it or restore a copy"
        raise ArtefactError(f"cannot load {path!s}: {str(error)[:200]}; {cure}") from None
    except (OSError, MemoryError) as error:
        if isinstance(error, FileNotFoundError) and error.filename == "manifest.json":
            why = "it is a directory without manifest.json"
            raise ArtefactError(f"{_nothing(kind, path)} ({why}); check the path") from None
        cure = "make it readable, recompute it or restore a copy"
        raise ArtefactError(f"cannot load {path!s}: {str(error)[:200]}; {cure}") from None
    finally:
        os.close(folder)


def _nothing(kind: str | None, path: AnyPath) -> str:
    return f"no saved {kind or 'profile, checkpoint or blueprint'} at {str(path)!r}"


def sizes(path: AnyPath, kind: str | None = None) -> dict[str, int]:
    """How many numbers each array of an artefact has, by its manifest and the lengths of its files alone."""
    with _opened(path, kind) as folder, contextlib.ExitStack() as stack:
        manifest, _ = _open(folder, path, kind, 1 << 63, stack)
    return {name: math.prod(entry["shape"]) for name, entry in manifest["arrays"].items()}


def check_place(path: AnyPath) -> None:
    """Refuse a place that `save` would refuse, before any work is done for it."""
    with _writing(path) as target:
        _occupied(target)


def digest(arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> str:
    """A sha256 of names, dtypes, shapes, bytes and meta; it knows nothing of paths, dates and kind."""
    return _digest({name: _entry(name, array) for name, array in _flat(arrays).items()}, _plain("meta", meta))


def write_text(path: AnyPath, text: str) -> None:
    """Write a small file (a log, a report): a reader sees the old text or the new, never a part of it."""
    with _writing(path) as target:
        _replace(target, text.encode(), _temporary(target))
        _sync(target.parent)


def read_bytes(path: AnyPath, most: int) -> bytes:
    """A whole file that a user named; one that is no plain file (a pipe would block) or too long is refused."""
    try:
        with _regular(str(path), follow=True) as file:
            return _limited(file, most, "it")
    except (_Damage, ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ArtefactError(f"cannot read {path!s}: {why}; check the path") from None


def kind_at(path: AnyPath) -> str | None:
    """Which kind of artefact lies there, by its manifest; None if there is none that can be read."""
    said = said_at(path)
    return None if said is None else said[0]


def said_at(path: AnyPath) -> tuple[str, dict[str, Any]] | None:
    """(kind, meta) of the artefact that lies there, by its manifest alone: its arrays are not read."""
    unreadable = contextlib.suppress(_Damage, OSError, ValueError, RecursionError)
    with unreadable, _regular(os.path.join(resolved(path), "manifest.json")) as file:
        manifest = _parse(file)
        kind, meta = manifest.get("kind"), manifest.get("meta")
        if manifest.get("format") == "kibitz" and isinstance(kind, str):
            return kind, meta if isinstance(meta, dict) else {}
    return None


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as arrays: UTF-8 end to end, and n + 1 offsets; string i is blob[offsets[i]:offsets[i + 1]]."""
    try:
        parts = [text.encode() for text in strings]
    except UnicodeEncodeError as error:
        raise ArtefactError(f"cannot save {error.object!a:.80}: it has a lone surrogate; remove it") from None
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.frombuffer(bytearray().join(parts), np.uint8), offsets


def unpack_strings(blob: Array, offsets: Array) -> list[str]:
    """The strings that `pack_strings` packed; anything it could not have made is an ArtefactError."""
    try:
        flat = blob.dtype == np.uint8 and offsets.dtype == np.int64 and blob.ndim == offsets.ndim == 1
        _need(flat, "they are not a flat uint8 blob with flat int64 offsets")
        _need(offsets.size > 0 and offsets[0] == 0 and offsets[-1] == blob.size, "the offsets miss an end")
        _need(not (offsets[1:] < offsets[:-1]).any(), "the offsets fall")
        text = blob.tobytes()
        return [text[a:b].decode() for a, b in itertools.pairwise(offsets.tolist())]
    except (_Damage, UnicodeDecodeError) as error:
        cure = "recompute the artefact or restore a copy"
        raise ArtefactError(f"packed strings are damaged: {error}; {cure}") from None


# What is saved


def _flat(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays in name order, as they lie on disk: little-endian, C order."""
    if len(arrays) > MAX_ARRAYS:
        raise ArtefactError(f"an artefact holds at most {MAX_ARRAYS} arrays, not {len(arrays)}; join some")
    for name, array in arrays.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArtefactError(f"{name!r:.80} cannot name an array: use up to 200 of a-z, 0-9, '_' and '.'")
        if not isinstance(array, np.ndarray) or array.dtype.newbyteorder("<").str not in DTYPES:
            what = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            cure = f"convert it to a NumPy array of one of {', '.join(DTYPES)}"
            raise ArtefactError(f"array {name!r} cannot be saved as {what!s:.80}; {cure}")
    flat = {k: np.asarray(arrays[k], arrays[k].dtype.newbyteorder("<"), order="C") for k in sorted(arrays)}
    # A bool made with view() can hold any byte; the loader accepts 0 and 1 only.
    return {k: np.asarray(a.view(np.uint8) != 0) if a.dtype == np.bool_ else a for k, a in flat.items()}


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _entry(name: str, array: Array) -> dict[str, Any]:
    sha, size, shape = hashlib.sha256(_bytes(array)).hexdigest(), array.nbytes, list(array.shape)
    return {"file": _file(name, sha), "dtype": array.dtype.str, "shape": shape, "bytes": size, "sha256": sha}


def _file(name: str, sha: str) -> str:
    return f"{name}-{sha[:16]}.bin"


def _digest(entries: Mapping[str, Mapping[str, Any]], meta: dict[str, Any]) -> str:
    # The hash of each array stands for its bytes, so that loading a verified array need not hash it twice.
    arrays = {name: {key: e[key] for key in ("dtype", "shape", "sha256")} for name, e in entries.items()}
    return hashlib.sha256(_canonical({"arrays": arrays, "meta": meta})).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(where: str, value: Any, depth: int = 0) -> Any:
    """The value as JSON gives it back: tuples become lists; what JSON would bend or refuse is an error."""
    if depth <= MAX_NESTING:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: _plain(f"{where}[{key!r:.40}]", item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple) and depth:
            return [_plain(f"{where}[{i}]", item, depth + 1) for i, item in enumerate(value)]
        short = value.bit_length() < 4096 if isinstance(value, int) else True  # Python parses no longer ones
        finite = math.isfinite(value) if isinstance(value, float) else True
        if depth and short and finite and (value is None or isinstance(value, str | int | float)):
            return value
    what = value if isinstance(value, float) else f"a {type(value).__name__}"
    raise ArtefactError(
        f"{where:.200} is {what}, which cannot be written as JSON; use finite numbers, strings, lists, and dicts "
        f"with keys that are strings, at most {MAX_NESTING} deep"
    )


# Writing


@contextlib.contextmanager
def _writing(path: AnyPath) -> Iterator[Path]:
    """Where to write: links followed, parents made, leftovers of dead writers gone. Errors as sentences."""
    try:
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        yield target
    except (OSError, ValueError) as error:
        if isinstance(error, ArtefactError):
            raise
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise ArtefactError(f"cannot write {path!s}: {why}; fix this and try again") from error


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")


def _sweep(target: Path) -> None:
    """Delete what writers of this very target left beside it when they were killed."""
    pattern = re.compile(re.escape(f".{target.name}.tmp-") + r"([0-9]{1,9})-[0-9a-f]{8}")
    for name in os.listdir(target.parent):
        if match := pattern.fullmatch(name):
            try:
                os.kill(int(match[1]), 0)
            except ProcessLookupError:
                _remove(target.with_name(name))
            except PermissionError:  # alive, another user's
                pass


def _remove(path: Path) -> None:
    """Best effort: a leftover costs only space."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _occupied(target: Path) -> bool:
    """True for an artefact, False for nothing or an empty directory; anything else is refused."""
    if not os.path.lexists(target):
        return False
    cure = "nothing was written; choose another path or move it away"
    if not target.is_dir():
        raise ArtefactError(f"{target} exists and is not a directory, so {cure}")
    if not os.listdir(target):
        return False
    if kind_at(target) is not None:
        return True
    raise ArtefactError(f"{target} is a directory without a readable kibitz manifest, so {cure}")


def _create(target: Path, files: Mapping[str, Array], text: bytes) -> bool:
    """Build beside and rename into place; False if another writer was there first."""
    temporary = _temporary(target)
    try:
        temporary.mkdir()
        _fill(temporary, files, text)
        os.rename(temporary, target)
    except BaseException as error:
        _remove(temporary)
        beaten = isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)
        if beaten and _occupied(target):
            return False
        raise
    _sync(target.parent)
    return True


def _overwrite(
    target: Path, files: Mapping[str, Array], text: bytes, over: Callable[[dict[str, Any]], bool] | None
) -> None:
    folder = os.open(target, _FOLDER)
    try:
        with _lock(folder, fcntl.LOCK_EX):
            manifest = target / "manifest.json"
            if over is not None:
                with _regular(str(manifest)) as file:
                    meta = _parse(file).get("meta")
                if not over(meta if isinstance(meta, dict) else {}):
                    raise Occupied(f"{target} holds other work, so nothing was written; choose another path")
            before, old = set(os.listdir(target)), read_bytes(manifest, MAX_MANIFEST)
            try:
                _fill(target, files, text)
            except BaseException:
                # A full disk must not fill further with each attempt. After the commit (an interrupt, or a
                # directory that cannot be synced) either version may be what survives: leave both.
                if read_bytes(manifest, MAX_MANIFEST) == old:
                    _prune(target, before)
                raise
            _prune(target, files)
            _sweep(manifest)
    finally:
        os.close(folder)


def _fill(folder: Path, files: Mapping[str, Array], text: bytes) -> None:
    """The arrays, and their names on disk, before a manifest that refers to them."""
    manifest = folder / "manifest.json"
    for name, array in files.items():
        _replace(folder / name, _bytes(array), _temporary(manifest))
    _sync(folder)
    _replace(manifest, text, _temporary(manifest))
    _sync(folder)


def _replace(target: Path, data: bytes | memoryview, temporary: Path) -> None:
    try:
        with open(temporary, "xb", buffering=0) as file:
            view = memoryview(data)
            while view:  # one write takes at most 2 GB on Linux
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise


def _prune(folder: Path, keep: Container[str]) -> None:
    for name in os.listdir(folder):
        if _FILE.fullmatch(name) and name not in keep:
            _remove(folder / name)


def _sync(folder: Path) -> None:
    """Make what was renamed in a directory last."""
    descriptor = os.open(folder, _FOLDER)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """One process at a time is in here; others wait. path: of a file that stands for what is being made."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # goes with the process, however that ends
        yield


@contextlib.contextmanager
def _lock(folder: int, how: int) -> Iterator[None]:
    # The kernel drops the lock of a killed process. Where locks are not supported we go on without: then two
    # writers at once are the user's to avoid, and a reader's second look is merely likely to work.
    with contextlib.suppress(OSError):
        fcntl.flock(folder, how)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)  # closing is not enough if a forked child holds it open


# Reading


class _Damage(Exception):
    """What is wrong with an artefact, without the path and the advice, which `load` adds."""


def _need(true: bool, otherwise: str) -> None:
    if not true:
        raise _Damage(otherwise)


def _open(
    folder: int, path: AnyPath, kind: str | None, max_bytes: int, stack: contextlib.ExitStack
) -> tuple[dict[str, Any], dict[str, FileIO]]:
    """The checked manifest, and its files open and of the right size: from here a writer cannot hurt us."""
    with _regular("manifest.json", folder) as file:
        manifest = _parse(file)
    _need(manifest.get("format") == "kibitz", "its manifest is not one of kibitz")
    version = manifest.get("version", 0)
    _need(type(version) is int and version >= 1, "its format version is not a number from 1")
    if version > VERSION:
        raise ArtefactError(f"{path!s} was written by a newer kibitz; upgrade kibitz to load it")
    keys = {"format", "version", "kind", "meta", "arrays", "digest"}
    _need(set(manifest) == keys, "its manifest has the wrong keys")
    stored_kind, meta, arrays = manifest["kind"], manifest["meta"], manifest["arrays"]
    _need(isinstance(stored_kind, str) and bool(_KIND.fullmatch(stored_kind)), "its kind is not a name")
    if kind is not None and stored_kind != kind:
        raise ArtefactError(f"{path!s} holds a {stored_kind}, not a {kind}; give the path of a {kind}")
    _need(isinstance(meta, dict) and isinstance(arrays, dict), "its meta or arrays is not a table")
    _need(len(arrays) <= MAX_ARRAYS, f"it lists more than {MAX_ARRAYS} arrays")
    for name, entry in arrays.items():
        _check(name, entry)
    _need(manifest["digest"] == _digest(arrays, meta), "its manifest does not match its digest")
    total = sum(entry["bytes"] for entry in arrays.values())
    if total > max_bytes:
        cure = "map it instead (mmap) or raise max_bytes"
        raise ArtefactError(f"{path!s} has {total:,} bytes, over the limit of {max_bytes:,}; {cure}")
    files = {name: stack.enter_context(_regular(entry["file"], folder)) for name, entry in arrays.items()}
    for name, file in files.items():
        size = os.fstat(file.fileno()).st_size
        _need(size == arrays[name]["bytes"], f"array {name!r} has {size:,} bytes, not those of the manifest")
    return manifest, files


def _regular(name: str, folder: int | None = None, follow: bool = False) -> FileIO:
    """Open a plain file in the folder. Links are refused unless followed, and a pipe must not make us wait."""
    link = 0 if follow else os.O_NOFOLLOW
    try:
        file = os.open(name, os.O_RDONLY | link | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        _need(error.errno != errno.ELOOP, f"{name} is a symbolic link")
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _Damage(f"{name} is not a plain file")
    return FileIO(file)


def _limited(file: FileIO, most: int, what: str) -> bytes:
    """All of a file. Its length is checked before it is read, and while: some that say they are empty never end."""
    size = os.fstat(file.fileno()).st_size
    text = (file.read(min(most, size + CHUNK) + 1) or b"") if size <= most else b""
    _need(size <= most >= len(text), f"{what} is longer than {most:,} bytes")
    return text


def _parse(file: FileIO) -> dict[str, Any]:
    """The manifest as JSON that says nothing twice."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        _need(len(entries) == len(pairs), "its manifest gives a key twice")
        return entries

    text = _limited(file, MAX_MANIFEST, "its manifest")
    manifest = json.loads(text.decode(), object_pairs_hook=table)
    _need(isinstance(manifest, dict), "its manifest is not a table")
    nested: list[Any] = [manifest]
    for _ in range(MAX_NESTING + 2):  # meta is one deep already
        nested = [
            item
            for each in nested
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
    _need(not nested, f"its manifest nests more than {MAX_NESTING} deep")
    return dict(manifest)


def _check(name: str, entry: Any) -> None:
    """The entry of one array agrees with itself. Python's integers do not overflow."""
    _need(bool(_NAME.fullmatch(name)), "an array has a forbidden name")
    keys = {"file", "dtype", "shape", "bytes", "sha256"}
    _need(isinstance(entry, dict) and set(entry) == keys, f"array {name!r} has other keys than it should")
    sha, dtype, shape, size = entry["sha256"], entry["dtype"], entry["shape"], entry["bytes"]
    _need(isinstance(sha, str) and bool(_HEX.fullmatch(sha)), f"array {name!r} has no valid sha256")
    # Only the one file that name and hash give: no path can be smuggled in.
    _need(entry["file"] == _file(name, sha), f"array {name!r} has a wrong file name")
    _need(isinstance(dtype, str) and dtype in DTYPES, f"array {name!r} has a dtype that is not allowed")
    _need(isinstance(shape, list) and len(shape) <= 64, f"array {name!r} has no valid shape")
    _need(all(type(n) is int and 0 <= n < 1 << 63 for n in shape), f"array {name!r} has no valid shape")
    true = math.prod(shape) * np.dtype(dtype).itemsize
    _need(type(size) is int and size == true < 1 << 63, f"array {name!r} has a wrong number of bytes")


def _read(file: FileIO, name: str, entry: dict[str, Any], mapped: bool) -> Array:
    """One array, verified. The hash reads the file, not the map: there a file cut short would be a SIGBUS."""
    dtype, shape, size = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["bytes"]
    mapped_size = size if mapped else 0  # an empty file cannot be mapped
    array = np.empty(0 if mapped_size else shape, dtype)
    whole, scratch = _bytes(array), memoryview(bytearray(min(mapped_size, CHUNK)))
    sha, done = hashlib.sha256(), 0
    while done < size:
        chunk = scratch[: size - done] if mapped_size else whole[done : done + CHUNK]
        got = chunk[: file.readinto(chunk)]
        _need(len(got) > 0, f"array {name!r} ends too early")
        sha.update(got)
        if dtype == np.bool_:  # NumPy goes wrong on a bool of any other byte
            _need(int(np.frombuffer(got, np.uint8).max()) <= 1, f"array {name!r} has bools beyond 0 and 1")
        done += len(got)
    _need(sha.hexdigest() == entry["sha256"], f"the bytes of array {name!r} do not match their sha256")
    if mapped_size:
        return np.frombuffer(Map(file.fileno(), size, access=ACCESS_READ), dtype).reshape(shape)
    array.setflags(write=not mapped)
    return array
