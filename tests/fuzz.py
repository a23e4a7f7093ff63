"""A fuzz of everything that is read: mutated artefacts, .efg, .game and specs, watched while they are read.

    python tests/fuzz.py --cases 1000000 --jobs 2          all of it, about a quarter of an hour on two cores
    python tests/fuzz.py --seed 0 --case 1234              one case again, with its traceback

A case is made from its seed and number alone. It may end well or with an error of kibitz's own; anything else fails,
and so do more than 2 seconds of processor time, a gigabyte of memory beyond what the process had, and any file outside
the case's own folder that is opened or written. `fuzz_targets.py` says what is run in each.

What the watch sees is what Python's audit hooks see: files opened, made, moved or removed, programs and sockets, by
Python itself and by NumPy through it. It does not see what compiled code opens by itself, so no OpenSpiel game is
loaded in a case. Memory is held by a limit of address space on the process; time is measured by its own clock. A case
that never comes back, or crashes, ends its process: the one that started it says which case it was.
"""

from __future__ import annotations

import argparse
import json
import math
import mmap
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 2.0  # of processor time that a case may take
BYTES = 1 << 30  # of memory
PATIENCE = 120.0  # seconds of the clock in which a process must get to its next case
EXTREMES: list[Any] = [
    0, -1, 1, 2, 255, 256, -(1 << 31), (1 << 31) - 1, 1 << 31, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, 1 << 64, 10**30,
    10**400, 0.0, -0.0, 0.5, 1.5, -1.5, 1e-320, 1e308, -1e308, 1e300, True, False, None, "", "x", "\u202e", "é" * 50,
    "x" * 3000, "../x", "/etc/passwd", "a\x00b", [], {}, [[]], [0], {"a": 1}, [None] * 20, "1e999", "NaN",
]  # fmt: skip
ROOM = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # files in memory, where there are such
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
TOKEN = re.compile(rb"[A-Za-z0-9_.]+|\s+|.", re.DOTALL)


# Mutators


def mutated(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Some bytes, harmed in one to four ways. other: a text to take pieces from."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATORS)(data, rng, other or data)
    return data[:200_000]


def _flip(data: bytes, rng: random.Random, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 10)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _drop(data: bytes, rng: random.Random, other: bytes) -> bytes:
    a = rng.randrange(len(data) + 1)
    return data[:a] + data[a + rng.choice((1, 2, 5, 50)) :]


def _insert(data: bytes, rng: random.Random, other: bytes) -> bytes:
    a, b = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    return data[:a] + other[b : b + rng.choice((1, 3, 10, 100))] + data[a:]


def _repeat(data: bytes, rng: random.Random, other: bytes) -> bytes:
    a = rng.randrange(len(data) + 1)
    piece = data[a : a + rng.choice((1, 1, 4, 30))]
    return data[:a] + piece * rng.choice((2, 3, 20, 1000)) + data[a:]


def _number(data: bytes, rng: random.Random, other: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    at, new = rng.choice(found), rng.choice(EXTREMES)
    text = b"9" * rng.choice((20, 400, 5000)) if rng.random() < 0.05 else str(new).encode("utf-8", "replace")
    return data[: at.start()] + text + data[at.end() :]


def _token(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Swap, double or drop a word."""
    words = TOKEN.findall(data)
    if len(words) < 2:
        return data
    a, b = rng.randrange(len(words)), rng.randrange(len(words))
    how = rng.randrange(3)
    if how == 0:
        words[a], words[b] = words[b], words[a]
    elif how == 1:
        words.insert(a, words[b])
    else:
        del words[a]
    return b"".join(words)


def _strange(data: bytes, rng: random.Random, other: bytes) -> bytes:
    a = rng.randrange(len(data) + 1)
    piece = b"\xff\xfe" if rng.random() < 0.1 else rng.choice("\x00\ufeff\u202e½\U0001f0a1\\\"{}[()=#'\n\r").encode()
    return data[:a] + piece * rng.choice((1, 1, 2, 200)) + data[a:]


MUTATORS: list[Callable[[bytes, random.Random, bytes], bytes]] = [
    _flip, _cut, _drop, _insert, _repeat, _number, _token, _strange,
]  # fmt: skip


def mutated_json(value: Any, rng: random.Random) -> Any:
    """JSON with one or two places in it changed: a value, a key, an entry more or less, a level more."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 2))):
        places: list[tuple[Any, Any]] = []
        todo = [value]
        while todo:
            each = todo.pop()
            for key in list(each) if isinstance(each, dict) else range(len(each)):
                places.append((each, key))
                if isinstance(each[key], dict | list):
                    todo.append(each[key])
        if not places:
            return value
        holder, key = rng.choice(places)
        how = rng.randrange(8)
        if how <= 3:
            old = holder[key]
            holder[key] = json.loads(json.dumps(rng.choice(EXTREMES)))
            if how == 3 and isinstance(old, int | float) and not isinstance(old, bool):
                holder[key] = rng.choice((old + 1, -old, old * 2, float(min(old, 1e300)), str(old), [old]))
        elif how == 4:
            del holder[key]
        elif how == 5:
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
        elif how == 6 and isinstance(holder, dict):
            holder[rng.choice(("x", "", "game", "../x", str(key) + "x"))] = holder[key]
        elif isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            other, there = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[there], default=str)) if other is not holder[key] else None
    return value


# The watch


class Watch:
    """What Python opens and writes while a case runs. Hooks cannot be taken away, so there is one for a process."""

    READ_ONLY = ("/proc/", "/sys/fs/cgroup/", "/dev/null", "/dev/urandom")
    # Events by which something is written, moved, removed or started; "open" is looked at by its path.
    WRITES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
              "os.chown", "os.utime", "os.mkfifo", "os.mknod", "shutil.", "tempfile.")  # fmt: skip
    NEVER = ("subprocess.", "socket.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile",
             "os.kill", "ctypes.dlopen", "webbrowser.", "urllib.", "ftplib.", "smtplib.")  # fmt: skip

    def __init__(self) -> None:
        self.folder, self.own = "", ()
        self.seen: list[str] = []
        self.on = False

    def start(self, folder: Path) -> None:
        import kibitz

        self.folder = str(folder)
        self.own = (str(Path(kibitz.__file__).parent), sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or event.startswith(("object.", "import", "compile", "exec", "marshal.", "sys.", "code.")):
            return
        if event == "open":
            path, mode, flags = args
            writes = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or (mode or "r")[0] in "wax"
            if not self.allowed(path, writes):
                self.seen.append(f"open {path!r:.200}{' to write' * writes}")
        elif event.startswith(self.NEVER) or (event.startswith(self.WRITES) and not self.inside(args)):
            self.seen.append(f"{event} {args!r:.200}")

    def inside(self, args: tuple[Any, ...]) -> bool:
        return all(self.allowed(path, True) for path in args if isinstance(path, str | bytes))

    def allowed(self, path: Any, writes: bool) -> bool:
        if isinstance(path, int):
            return True
        text = os.fsdecode(path)
        if "/" not in text:  # a name in a folder that was opened before; the current folder is the case's own
            return text not in ("", "..")
        real = os.path.realpath(text)
        if real.startswith(self.folder):
            return True
        return not writes and real.startswith((*self.READ_ONLY, *self.own))


class Late(BaseException):
    """A case that took far longer than it may, and still hears signals."""


# Running


def run_case(seed: int, number: int, world: Any, watch: Watch | None = None) -> tuple[str, str]:
    """(which target, what was wrong): one case, made from its seed and number."""
    from kibitz.core.errors import KibitzError

    rng = random.Random(f"{seed}:{number}")
    name, target = world.pick(rng)
    began = time.process_time()
    wrong = ""
    if watch is not None:
        watch.seen.clear()
        signal.setitimer(signal.ITIMER_PROF, 10 * SECONDS)
    try:
        case = target.make(rng)
        if watch is not None:
            watch.on = True
        target.read(case)
    except KibitzError as error:
        if len(str(error)) > 100_000:
            wrong = f"an error of {len(str(error)):,} characters"
    except Late:
        wrong = "it does not end"
    except BaseException as error:
        if watch is None or isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        wrong = f"{type(error).__name__}: {error!s:.200} ({Path(place.filename).name}:{place.lineno})"
    finally:
        if watch is not None:
            watch.on = False
            signal.setitimer(signal.ITIMER_PROF, 0)
    spent = time.process_time() - began
    if spent > SECONDS:
        wrong = wrong or f"{spent:.1f} seconds"
    if watch is not None and watch.seen:
        wrong = wrong or "; ".join(watch.seen[:3])
    return name, wrong


def work(seed: int, first: int, last: int, step: int, folder: Path, at: Path) -> None:
    """The cases first, first + step, ... below last, in this process; prints a line of JSON a failure, and a sum."""
    import fuzz_targets

    os.chdir(folder)
    world = fuzz_targets.World(folder)
    world.warm_up()
    limit = _address_space() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def late(number: int, frame: Any) -> None:
        raise Late

    signal.signal(signal.SIGPROF, late)
    watch = Watch()
    watch.start(folder)
    counts: Counter[str] = Counter()
    failures, slowest, began = 0, 0.0, time.process_time()
    with open(at, "r+b") as file, mmap.mmap(file.fileno(), 8) as place:
        for number in range(first, last, step):
            place[:8] = number.to_bytes(8, "little")
            before = time.process_time()
            name, wrong = run_case(seed, number, world, watch)
            slowest = max(slowest, time.process_time() - before)
            counts[name] += 1
            if wrong:
                print(json.dumps({"case": number, "target": name, "wrong": wrong}), flush=True)
                failures += 1
                if failures >= 200:
                    break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu = time.process_time() - began
    print(json.dumps({"counts": counts, "slowest": slowest, "peak_mb": peak // 1024, "cpu": cpu}), flush=True)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def campaign(cases: int, seed: int = 0, jobs: int = 1, first: int = 0) -> dict[str, Any]:
    """All cases in some processes. One that dies or hangs is a failure of the case it was at, and is started again."""
    with tempfile.TemporaryDirectory(prefix="kibitz-fuzz-", dir=ROOM) as room:
        running: dict[int, subprocess.Popen[bytes]] = {}
        begun: dict[int, int] = {}
        total: dict[str, Any] = {"counts": Counter(), "failures": [], "slowest": 0.0, "peak_mb": 0, "cpu": 0.0}
        seen: dict[int, tuple[int, float]] = {}

        def begin(job: int, start: int) -> None:
            folder, at = Path(room, f"job{job}"), Path(room, f"at{job}")
            folder.mkdir(exist_ok=True)
            at.write_bytes(bytes(8))
            words = [sys.executable, __file__, "--seed", seed, "--work", start, first + cases, jobs, folder, at]
            with open(Path(room, f"out{job}"), "w") as out, open(Path(room, f"err{job}"), "w") as err:
                running[job] = subprocess.Popen([str(word) for word in words], stdout=out, stderr=err)
            begun[job], seen[job] = start, (-1, time.monotonic())

        for job in range(jobs):
            begin(job, first + job)
        while running:
            time.sleep(0.2)
            for job, process in list(running.items()):
                number = int.from_bytes(Path(room, f"at{job}").read_bytes()[:8], "little")
                if number != seen[job][0]:
                    seen[job] = (number, time.monotonic())
                hung = time.monotonic() - seen[job][1] > PATIENCE
                if process.poll() is None and not hung:
                    continue
                if hung:
                    process.kill()
                process.wait()
                del running[job]
                said = [json.loads(line) for line in Path(room, f"out{job}").read_text().splitlines()]
                total["failures"] += [each for each in said if "case" in each]
                if process.returncode == 0:
                    found = said[-1]
                    total["counts"].update(found["counts"])
                    total["cpu"] += found["cpu"]
                    total |= {key: max(total[key], found[key]) for key in ("slowest", "peak_mb")}
                else:
                    err = Path(room, f"err{job}").read_text().strip()[-300:]
                    why = "it hangs" if hung else f"exit code {process.returncode}: {err}"
                    total["failures"].append({"case": number, "target": "?", "wrong": why})
                    total["counts"]["before that"] += max(0, number - begun[job]) // jobs + 1
                    if len(total["failures"]) < 50 and number + jobs < first + cases:
                        begin(job, number + jobs)
        return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        first, last, step = map(int, given.work[:3])
        work(given.seed, first, last, step, Path(given.work[3]), Path(given.work[4]))
        return
    if given.case is not None:
        import fuzz_targets

        with tempfile.TemporaryDirectory(prefix="kibitz-fuzz-", dir=ROOM) as room:
            os.chdir(room)
            world = fuzz_targets.World(Path(room))
            print(*run_case(given.seed, given.case, world), flush=True)
        return
    began = time.monotonic()
    found = campaign(given.cases, given.seed, given.jobs, given.first)
    for failure in found["failures"]:
        print(f"{failure['target']}: {failure['wrong']}")
        print(f"  again: python tests/fuzz.py --seed {given.seed} --case {failure['case']}")
    done = sum(found["counts"].values())
    spent = f"{time.monotonic() - began:.0f} s ({found['cpu']:.0f} s of processor time)"
    worst = f"slowest {found['slowest']:.2f} s, peak {found['peak_mb']:,} MB"
    print(f"{done:,} cases in {spent}, {len(found['failures'])} failures; {worst}")
    for name, count in sorted(found["counts"].items()):
        print(f"  {name:<12}{count:>10,}")
    sys.exit(bool(found["failures"]) or not math.isclose(done, given.cases))


if __name__ == "__main__":
    main()
