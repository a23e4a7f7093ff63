"""The resources of this machine: cores and memory.

Free memory is the least of what the machine, the container (a cgroup of version 1 or 2) and the limits of the process
(`ulimit -v`, `ulimit -d`) leave: whoever asks for more is killed without a word, or fails in the middle of something.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
CORES = "KIBITZ_CORES"  # in the environment: take no more than so many
ON = "KIBITZ_ON"  # in the environment: where work in pieces is done (`executor.py`)
MARGIN = 200 << 20  # bytes to leave free: compiling (LLVM) takes about this
# Files of a cgroup, by version: its limits, what it holds, and what of that the system takes back when it is needed.
_FILES = {
    2: (("memory.max", "memory.high"), "memory.current", "inactive_file"),
    1: (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"),
}


def cores() -> int:
    """Cores that this process may use: those that it has, and at most $KIBITZ_CORES."""
    have = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get(CORES, "")
    return max(1, min(have, int(limit))) if limit.isdecimal() and len(limit) < 10 else have


def free_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Bytes that this process may still take."""
    return max(0, min([_of_machine(proc), *_of_cgroups(proc, cgroups), *_of_process(proc)]))


def _of_machine(proc: Path) -> int:
    """Bytes that a program may take without others being swapped."""
    available = _lines(proc / "meminfo").get("MemAvailable")
    if available is not None:
        return 1024 * available
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30


def _of_cgroups(proc: Path, cgroups: Path) -> Iterator[int]:
    """What each cgroup with a limit leaves, from the process's own up to the root."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except (OSError, ValueError):
        lines = ["0::/"]
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            version, top = 2, cgroups
        elif "memory" in controllers.split(","):
            version, top = 1, cgroups / "memory"
        else:
            continue
        # Within a container the path may be that of the host, of which only the end is to be seen, or nothing.
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for depth in range(len(parts), -1, -1):
            yield from _left(top.joinpath(*parts[:depth]), version)


def _left(group: Path, version: int) -> Iterator[int]:
    limits, usage, reclaimed = _FILES[version]
    for name in limits:
        try:
            limit, used = int((group / name).read_text()), int((group / usage).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        yield limit - used + _lines(group / "memory.stat").get(reclaimed, 0)


def _of_process(proc: Path) -> Iterator[int]:
    """What the limits on the address space and on data leave."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    sizes = _lines(proc / "self" / "status")
    for name, limit in (("VmSize", resource.RLIMIT_AS), ("VmData", resource.RLIMIT_DATA)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - 1024 * sizes.get(name, 0)


def _lines(path: Path) -> dict[str, int]:
    """The numbers of a file with lines like "VmRSS:  1234 kB" or "inactive_file 1234"."""
    numbers: dict[str, int] = {}
    try:
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) > 1 and words[1].isdigit():
                numbers[words[0].rstrip(":")] = int(words[1])
    except (OSError, ValueError):
        pass
    return numbers


def held_memory() -> int:
    """Bytes that this process holds in memory now."""
    resident = _lines(PROC / "self" / "status").get("VmRSS")
    return 1024 * resident if resident is not None else peak_memory()


def peak_memory() -> int:
    """The most bytes that this process has held in memory at once."""
    # What the system counts for getrusage begins with the memory of whoever started the process.
    peak = _lines(PROC / "self" / "status").get("VmHWM")
    if peak is not None:
        return 1024 * peak
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
