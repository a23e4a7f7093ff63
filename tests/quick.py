"""`make quick`: the tests that a change touches, the nearest first, for at most a minute.

A change is what git says about the working tree and, on a branch, about the commits that main does not have. A test
file is touched if its imports lead to a changed module, over as many modules as it takes; imports in functions count,
and so do names in quotes that a table of modules has: "leduc" stands for kibitz.games.leduc. A file that is not Python
counts as part of those that name it. What does not fit into the minute is printed, never left out in silence.

    python tests/quick.py [--since REF] [--seconds N] [arguments of pytest]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS = 50.0  # what is under way then may end
FROM = re.compile(r"^\s*from (\.*)([\w.]*) import (?:([^(\n]+)|\(([^)]*)\))", re.MULTILINE)
IMPORT = re.compile(r"^\s*import ([\w., ]+)", re.MULTILINE)
NAMED = re.compile(r"\bkibitz(?:\.\w+)+")
BESIDE = re.compile(r"\{__package__\}(\.\w+)")
QUOTED = re.compile(r"[\"']([\w+-]+)")
ENTRY = re.compile(r"\"([\w+-]+)\":\s*\(?\s*\"(kibitz(?:\.\w+)+)(?::\w+)?\"")  # "leduc": ("kibitz.games.leduc:Leduc"


def changed(since: str | None, root: Path = ROOT) -> list[str]:
    """Paths that differ from a commit, by default from where this branch left main; files git does not know too."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"error: git {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.splitlines()

    if since is None:
        names = set(git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes"))
        main = next((name for name in ("main", "origin/main", "master", "origin/master") if name in names), "HEAD")
        (since,) = git("merge-base", "HEAD", main)
    return sorted({*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")})


class Sources:
    """Modules of kibitz and of the tests under a root, and which of them each one leads to.

    They are read as text: a parser would take a quarter of the minute, and what it does not see here (an import in a
    docstring) costs no more than a test that need not have been run.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.path: dict[str, Path] = {}
        for path in sorted(root.glob("kibitz/**/*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            self.path[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self.tests = sorted((root / "tests").rglob("test_*.py"))
        helpers = [path for path in (root / "tests").rglob("*.py") if path not in self.tests]
        self.path |= {path.stem: path for path in sorted(helpers)}
        self.path |= {path.relative_to(root).as_posix(): path for path in self.tests}
        self.text = {name: path.read_text(encoding="utf-8") for name, path in self.path.items()}
        entries = [entry for text in self.text.values() for entry in ENTRY.findall(text)]
        self.table = {key: module for key, module in entries if module in self.path}
        self.leads = {name: set(self._leads(name)) - {name} for name in self.path}

    def _leads(self, name: str) -> Iterator[str]:
        text = self.text[name]
        inside = name if self.path[name].name == "__init__.py" else name.rpartition(".")[0]
        for dots, base, one, several in FROM.findall(text):
            home = inside.split(".")[: len(inside.split(".")) - len(dots) + 1] if dots else []
            base = ".".join([*home, *([base] if base else [])])
            yield from self._modules(f"{base}.{word}" for word in re.findall(r"\w+", one + several))
        for names in IMPORT.findall(text):
            yield from self._modules(re.findall(r"[\w.]+", names))
        yield from self._modules(NAMED.findall(text))
        yield from self._modules(inside + word for word in BESIDE.findall(text))
        if not name.startswith("kibitz"):  # a game or a solver by its name
            yield from (self.table[word] for word in QUOTED.findall(text) if word in self.table)

    def _modules(self, names: Iterable[str]) -> Iterator[str]:
        """The modules that dotted names reach. A name of the front door stands for the module that has it."""
        for name in names:
            front, _, own = name.partition(".")
            if front == "kibitz" and own in self.table:
                name = self.table[own]
            while name and name not in self.path:
                name = name.rpartition(".")[0]
            if name and name != "kibitz":  # the front door imports nothing by itself
                yield name

    def of(self, path: str) -> set[str]:
        """The modules that a changed path is. What is not Python is part of those that name it, else its folder."""
        found = {name for name, each in self.path.items() if each == self.root / path}
        if found or path.endswith(".py"):
            return found
        top = Path(path).parts[:2]
        near = [name for name in self.path if top[0] != "kibitz" or name.split(".")[:2] == list(top)]
        for word, names in ((Path(path).name, self.path), (Path(path).parent.name, near)):
            quoted = re.compile(rf"[\"'/]{re.escape(word)}[\"'/]")
            found = {name for name in names if word and quoted.search(self.text[name])}
            if found:
                return found
        return set()

    def nearest(self, modules: set[str]) -> list[tuple[int, Path]]:
        """(steps, test file) of all test files that lead to one of the modules, the nearest first.

        Of those as near, those that bear or write out a module's name come first, then those that lead to few modules.
        """
        comes_from = defaultdict(set)
        for name, targets in self.leads.items():
            for target in targets:
                comes_from[target].add(name)
        steps, queue = dict.fromkeys(modules, 0), deque(modules)
        while queue:
            here = queue.popleft()
            for name in comes_from[here] - steps.keys():
                steps[name] = steps[here] + 1
                queue.append(name)
        stems = {module.rpartition(".")[2] for module in modules}

        def order(path: Path) -> tuple[int, bool, int, str]:
            name = path.relative_to(self.root).as_posix()
            named = any(stem in path.stem for stem in stems) or any(module in self.text[name] for module in modules)
            return steps[name], not named, len(self.leads[name]), name

        touched = [path for path in self.tests if path.relative_to(self.root).as_posix() in steps]
        return [(steps[path.relative_to(self.root).as_posix()], path) for path in sorted(touched, key=order)]


class Limit:
    """A plugin of pytest: no test begins after a moment. `left` has those that did not, by file."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.left: dict[str, int] = defaultdict(int)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() < self.until:
            return None
        self.left[item.nodeid.partition("::")[0]] += 1
        return True  # as good as done


def main(words: list[str], root: Path = ROOT) -> int:
    begun = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", metavar="REF", help="compare with this commit, not with where the branch left main")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="no test begins later (default %(default)g)")
    options, rest = parser.parse_known_args(words)
    paths = changed(options.since, root)
    sources = Sources(root)
    found = sources.nearest(set().union(*map(sources.of, paths)))
    print(f"{len(paths)} changed files touch {len(found)} of {len(sources.tests)} test files")
    if not found:
        return 0
    begins, code, after = Limit(begun + options.seconds), 0, deque(found)
    while after and time.monotonic() < begins.until:  # a few files at a time, since importing them takes time as well
        few = [str(after.popleft()[1]) for _ in range(min(8, len(after)))]
        code = max(code, pytest.main(["-m", "not slow", *rest, *few], plugins=[begins]) % 5)  # 5: nothing to run
    if begins.left or after:
        print(f"After {options.seconds:g} seconds these were left out, farther from the change; `make test` runs all:")
        print("".join(f"  {name} ({number} tests)\n" for name, number in begins.left.items()), end="")
        print("".join(f"  {path.relative_to(root)} ({steps} imports away)\n" for steps, path in after), end="")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
