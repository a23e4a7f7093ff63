"""The cache of compiled code: never stale, and a damaged or unusable one costs time alone.

Each case runs in a process of its own, for what goes wrong here is a crash. The kernel is a small one in a file of its
own; its callee is in a second file, which Numba's own cache does not look at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

KERNEL = """
import sys
from kibitz.core import jit
from callee import twice

@jit.kernel
def doubled(x):
    return twice(x) + 1.0

print(doubled(20.0), sum(doubled.stats.cache_hits.values()), sum(doubled.stats.cache_misses.values()))
if "two" in sys.argv:
    print(doubled(20))
"""
CALLEE = """
from kibitz.core import jit

@jit.part
def twice(x):
    return x * {factor}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text(KERNEL)
    (tmp_path / "code" / "callee.py").write_text(CALLEE.format(factor=2))
    return tmp_path


def run(home: Path, *words: str, **environment: str) -> tuple[str, str]:
    """(stdout, stderr) of a process that calls the kernel; it must end well."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("NUMBA", "KIBITZ", "XDG"))}
    done = subprocess.run(
        [sys.executable, str(home / "code" / "main.py"), *words], capture_output=True, text=True, timeout=120,
        env={**kept, "KIBITZ_CACHE": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


COMPILED, LOADED = "41.0 0 1", "41.0 1 0"


def files(home: Path, ending: str = "nb?") -> list[Path]:
    return sorted((home / "cache").rglob(f"*.{ending}"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    """A bit here and there: code, and what Python unpickles."""
    content = bytearray(path.read_bytes())
    for at in range(7, len(content), 997):
        content[at] ^= 4
    path.write_bytes(content)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def test_a_second_process_loads_what_the_first_compiled(home: Path) -> None:
    assert run(home) == (COMPILED, "")
    assert [path.suffix for path in files(home)] == [".nbc", ".nbi"]
    assert run(home) == (LOADED, "")
    assert run(home, "two") == (LOADED + "\n41.0", ""), "another type of argument is compiled beside it"
    assert len(files(home, "nbc")) == 2 and run(home, "two") == (LOADED + "\n41.0", "")


HARMS: list[Callable[[Path], None]] = [cut, empty, flip, zero, lengthen, folder, pipe]


@pytest.mark.slow
def test_damaged_files_are_compiled_anew_without_a_word(home: Path) -> None:
    """A kernel for each way of damage, to its code or to its index; all in one process, for starting one is slow."""
    cases = [(f"{harm.__name__}_{ending}", harm, ending) for harm in HARMS for ending in ("nbc", "nbi")]
    for name, _, _ in cases:
        kernel = KERNEL.replace("doubled", name).replace("print(", f"print({name!r}, ")
        (home / "code" / f"{name}.py").write_text(kernel)
    (home / "code" / "main.py").write_text("".join(f"import {name}\n" for name, _, _ in cases))
    want = {how: ("\n".join(f"{name} {how}" for name, _, _ in cases), "") for how in (COMPILED, LOADED)}
    assert run(home) == want[COMPILED]
    for name, harm, ending in cases:
        harm(*(path for path in files(home, ending) if path.name.startswith(f"{name}-")))
    assert run(home) == want[COMPILED]
    assert run(home) == want[LOADED], "and they are whole again"


def test_two_processes_that_compile_at_once_do_not_take_each_others_code(home: Path) -> None:
    """Each writes an index of its own, and one of them wins: the other's code may not lie under the name it gives."""
    run(home)
    (floats,) = files(home, "nbc")
    for path in files(home):
        path.unlink()  # the second process has seen an empty directory too
    (home / "code" / "main.py").write_text(KERNEL.replace("20.0", "20"))
    run(home)
    (whole,) = files(home, "nbc")
    assert floats.name != whole.name, "named by what they are compiled for"


@pytest.mark.parametrize("harm", ["readonly", "full"])
def test_a_cache_that_cannot_be_used_costs_the_caching_and_one_sentence(home: Path, harm: str) -> None:
    cache, main = home / "cache", home / "code" / "main.py"
    if harm == "readonly":  # to root too: a process cannot make files in /proc
        cache.symlink_to("/proc/self/fd")
    else:
        broken = "import builtins, errno, io\ndef full(self, *a):\n    raise OSError(errno.ENOSPC, 'No space left')\n"
        broken += "from kibitz.core import cache\ncache._Files._save_data = full\n"
        main.write_text(broken + KERNEL)
    out, err = run(home, "two")
    assert out.splitlines()[0] == COMPILED
    assert err.startswith("note: compiled code cannot be kept in ") and err.count("\n") == 0
    assert "KIBITZ_CACHE" in err
    assert not list((home / "code").rglob("*.nb?")), "Numba's own fallback knows no digest of the sources"


def test_code_is_never_stale_where_the_cache_cannot_be_used(home: Path) -> None:
    (home / "cache").write_text("something else")
    out, err = run(home)
    assert out == COMPILED and err.startswith("note: compiled code cannot be kept in ") and err.count("\n") == 0
    (home / "code" / "callee.py").write_text(CALLEE.format(factor=3))
    assert run(home)[0].startswith("61.0 ")


def test_numbas_own_settings_do_not_move_the_cache(home: Path) -> None:
    elsewhere = {"NUMBA_CACHE_DIR": str(home / "numba"), "NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    run(home, **elsewhere)
    assert len(files(home)) == 2 and not (home / "numba").exists() and not list((home / "code").rglob("*.nb?"))


def test_a_user_without_a_home_gets_a_private_directory_that_goes_away(home: Path) -> None:
    main, rooms = home / "code" / "main.py", home / "tmp"
    rooms.mkdir()
    homeless = "import pathlib\ndef no(cls):\n    raise RuntimeError('no home')\npathlib.Path.home = classmethod(no)\n"
    main.write_text(homeless + KERNEL)
    assert run(home, KIBITZ_CACHE="", TMPDIR=str(rooms)) == (COMPILED, "")
    assert not list(rooms.iterdir())


def test_a_changed_callee_is_compiled_anew_and_a_changed_neighbour_is_not(home: Path) -> None:
    (home / "code" / "neighbour.py").write_text("FACTOR = 2")
    assert run(home)[0] == COMPILED
    (home / "code" / "neighbour.py").write_text("FACTOR = 3")
    assert run(home)[0] == LOADED
    (home / "code" / "callee.py").write_text(CALLEE.format(factor=3))
    assert run(home)[0] == "61.0 0 1"
    (home / "code" / "callee.py").write_text(CALLEE.format(factor=2))
    assert run(home)[0] == LOADED, "what was compiled for the former sources is still there"


def test_a_copy_in_another_folder_starts_warm(home: Path) -> None:
    assert run(home)[0] == COMPILED
    (home / "code").rename(home / "elsewhere")
    (home / "code").symlink_to(home / "elsewhere")
    assert run(home)[0] == LOADED
    (home / "code").unlink()
    shutil.copytree(home / "elsewhere", home / "code")
    assert run(home)[0] == LOADED


GAME = """
from typing import NamedTuple

class Game(NamedTuple):
    size: float
"""
RULES = """
from kibitz.core.jit import small_part
from kibitz.games.kernels.dispatch import register
from game import Game
from constant import FACTOR

def width(game, state):
    return game.size * FACTOR

register(Game, width)
"""
WALK = """
from kibitz.core.jit import kernel
from kibitz.games.kernels.machine import width
import rules, game

@kernel
def walked(game):
    return width(game, 0)

print(walked(game.Game(20.0)), sum(walked.stats.cache_hits.values()))
"""


def test_functions_that_are_picked_by_a_class_are_dependencies(home: Path) -> None:
    """The kernel's module does not import the constant, nor does the module of the class; the registered rules do."""
    for name, text in (("game", GAME), ("rules", RULES), ("walk", WALK), ("constant", "FACTOR = 2.0")):
        (home / "code" / f"{name}.py").write_text(text)
    (home / "code" / "rules.py").write_text(RULES)
    (home / "code" / "main.py").write_text("import rules\nimport walk\n")
    (home / "code" / "walk.py").write_text(WALK.replace("import rules, game", "import game"))
    assert run(home)[0] == "40.0 0"
    assert run(home)[0] == "40.0 1"
    (home / "code" / "constant.py").write_text("FACTOR = 3.0")
    assert run(home)[0] == "60.0 0"


def test_what_was_not_used_for_a_month_is_removed(home: Path) -> None:
    run(home)
    old = files(home)
    for path in old:
        os.utime(path, (0, 0))
    assert run(home)[0] == LOADED, "it is there as long as nobody compiles"
    assert all(path.stat().st_mtime > 0 for path in old), "and now it was used"
    for path in old:
        os.utime(path, (0, 0))
    (home / "code" / "callee.py").write_text(CALLEE.format(factor=3))
    run(home)
    assert len(files(home)) == 2 and not set(old) & set(files(home))
