"""The fuzz (`fuzz.py`): a small part of it in the normal suite, a million cases in the long one; it sees faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fuzz
import pytest

TARGETS = {"profile", "poker", "checkpoint", "blueprint", "table", "efg", "game", "spec"}


def told(found: dict) -> str:
    return "\n".join(f"{each['target']}: {each['wrong']} (case {each['case']})" for each in found["failures"][:20])


def test_some_cases() -> None:
    found = fuzz.campaign(600, seed=1)
    assert not found["failures"], told(found)
    assert sum(found["counts"].values()) == 600 and set(found["counts"]) == TARGETS
    assert found["slowest"] < fuzz.SECONDS


@pytest.mark.slow
def test_many_cases() -> None:
    """FUZZ_CASES=1000000 in the environment tries a million: half an hour on two cores."""
    number = int(os.environ.get("FUZZ_CASES", "100_000"))
    found = fuzz.campaign(number, seed=int(os.environ.get("FUZZ_SEED", "0")), jobs=2)
    assert not found["failures"], told(found)
    assert sum(found["counts"].values()) == number


PLANTED = """
import fuzz, json, os, random, resource, signal, sys, time
from pathlib import Path
from kibitz.core.errors import KibitzError

fuzz.SECONDS = 0.1
folder = Path(sys.argv[1])

def error(case): raise KibitzError("as it should be")
def fault(case): return 1 // 0
def passwd(case): open("/etc/passwd").close()
def above(case): open("../out").close()
def outside(case): open(folder.parent / "new", "w").close()
def removes(case): (folder.parent / "kept").unlink()
def moves(case): os.rename(folder / "mine", folder.parent / "yours")
def starts(case): __import__("subprocess").run(["true"])
def calls(case): __import__("socket").socket()
def busy(case):
    began = time.process_time()
    while time.process_time() - began < 0.2: pass
def endless(case):
    while True: pass
def memory(case): bytearray(2 << 30)
def mine(case): (folder / "mine").write_text("fine")
def reads(case): Path("/proc/meminfo").read_text()

class World:
    def __init__(self, read): self.read = read
    def pick(self, rng): return self.read.__name__, self
    def make(self, rng): return None

(folder.parent / "kept").touch()
limit = fuzz._address_space() + fuzz.BYTES
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
def late(number, frame): raise fuzz.Late
signal.signal(signal.SIGPROF, late)
watch = fuzz.Watch()
watch.start(folder)
os.chdir(folder)
names = (mine, reads, error, fault, passwd, above, outside, removes, moves, starts, calls, busy, endless, memory)
print(json.dumps({read.__name__: fuzz.run_case(0, 0, World(read), watch)[1] for read in names}))
"""


def test_the_fuzz_sees_what_it_should(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    words = [sys.executable, "-c", PLANTED, str(folder)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    wrong = json.loads(done.stdout)
    assert [wrong.pop(name) for name in ("mine", "reads", "error")] == ["", "", ""]
    parts = {
        "fault": "ZeroDivisionError", "passwd": "open '/etc/passwd'", "above": "open '../out'", "outside": "to write",
        "removes": "os.remove", "moves": "os.rename", "starts": "subprocess.Popen", "calls": "socket.",
        "busy": "seconds", "endless": "it does not end", "memory": "MemoryError",
    }  # fmt: skip
    assert wrong.keys() == parts.keys()
    for name, part in parts.items():
        assert part in wrong[name] or (name == "above" and "FileNotFoundError" in wrong[name]), (name, wrong[name])


def test_a_case_is_the_same_again(tmp_path: Path) -> None:
    import random

    data = (Path(__file__).parents[1] / "naive.py").read_bytes()
    one, two = (fuzz.mutated(data, random.Random("0:7")) for _ in range(2))
    assert one == two != data
    many = {fuzz.mutated(b'{"a": 12, "b": [1, 2.5]}', random.Random(k)) for k in range(300)}
    assert len(many) > 200
    table = {"a": 12, "b": [1, {"c": None}]}
    assert len({json.dumps(fuzz.mutated_json(table, random.Random(k))) for k in range(200)}) > 80
    assert table == {"a": 12, "b": [1, {"c": None}]}, "what is given stays as it is"


def test_a_process_that_dies_is_a_failure_of_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness with targets of which one kills its process, in place of those that are read."""
    (tmp_path / "fuzz_targets.py").write_text(
        "import os\n"
        "class World:\n"
        "    def __init__(self, folder): pass\n"
        "    def warm_up(self): pass\n"
        "    def pick(self, rng): return 'dies', self\n"
        "    def make(self, rng): return rng.random()\n"
        "    def read(self, case):\n"
        "        if case < 0.1: os._exit(9)\n"
        "        if case < 0.3: raise ZeroDivisionError\n"
    )
    (tmp_path / "fuzz.py").write_text((Path(__file__).parents[1] / "fuzz.py").read_text())
    code = "import fuzz, json; print(json.dumps(fuzz.campaign(60, seed=3, jobs=2)))"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    found = json.loads(done.stdout)
    import random

    drawn = [random.Random(f"3:{number}").random() for number in range(60)]
    want = {k: "exit code 9" if x < 0.1 else "ZeroDivisionError" for k, x in enumerate(drawn) if x < 0.3}
    assert {each["case"] for each in found["failures"]} == want.keys() and "exit code 9" in want.values()
    assert all(want[each["case"]] in each["wrong"] for each in found["failures"])
    assert sum(found["counts"].values()) == 60
