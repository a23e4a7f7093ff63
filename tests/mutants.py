"""Do the tests notice a mistake? Lines of kibitz are changed one at a time, and the nearest tests are run.

A mutant is one small change inside a function: another comparison, another operator, a number that is one larger, a
condition that is turned round, a call that is left out. It is killed if a test fails, and it survives if none does in
the time that it has. Survivors are printed with their lines: each is a test that is missing, or a change that nobody
can notice. Kernels are left out, since each mutant of them would be compiled (tests/naive.py compares those).

    python tests/mutants.py [--package kibitz/solvers] [--number N] [--seed S] [--seconds N] [--workers N] [--out FILE]
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from quick import ROOT, Sources

OTHER: dict[type[ast.AST], ast.AST] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Add(), ast.Div: ast.Mult(), ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(), ast.MatMult: ast.Mult(), ast.BitAnd: ast.BitOr(), ast.And: ast.Or(), ast.Or: ast.And(),
}  # fmt: skip
COMPILED = tuple(f"kibitz.core.{name}" for name in ("barrier", "jit", "random", "vectors"))  # as kernels are
FILES = 24  # test files that a mutant is shown to, the nearest


class Mutant(NamedTuple):
    module: str
    path: str
    line: int
    before: str
    after: str
    source: str  # the whole file


def mutants_of(module: str, path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = path.read_bytes()
    starts = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for node in (node for function in functions for statement in function.body for node in _inside(statement)):
        for changed in _changes(node):
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            after = f"({ast.unparse(changed)})" if isinstance(node, ast.expr) else ast.unparse(changed)
            whole = source[:begin] + after.encode() + source[end:]
            where = path.relative_to(root).as_posix()
            yield Mutant(module, where, node.lineno, source[begin:end].decode(), after, whole.decode())


def _inside(node: ast.AST) -> Iterator[Any]:
    """A statement and what is in it: not functions in it (they come by themselves), messages, types or f-strings."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
        return
    yield node
    for name, child in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for each in child if isinstance(child, list) else [child]:
            if isinstance(each, ast.AST):
                yield from _inside(each)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    def changed(**fields: Any) -> ast.AST:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield changed(ops=[OTHER[type(op)]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield changed(op=OTHER[type(op)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield changed(value=value + 1)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield changed(test=test, body=other, orelse=body)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Return(value=ast.expr()):
            yield changed(value=ast.Constant(None))


def sample(package: str, number: int, seed: int, sources: Sources) -> list[Mutant]:
    """Some mutants of a package, drawn by lines, so that a long file has as many as it has lines."""
    names = [name for name, path in sources.path.items() if path.is_relative_to(ROOT / package)]
    names = [name for name in names if ".kernels" not in name and name not in COMPILED]
    every = [mutant for name in names for mutant in mutants_of(name, sources.path[name])]
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in every:
        by_line.setdefault((mutant.path, mutant.line), []).append(mutant)
    chosen = random.Random(f"{seed} {package}")
    return [chosen.choice(by_line[line]) for line in chosen.sample(sorted(by_line), min(number, len(by_line)))]


def verdict(mutant: Mutant, sources: Sources, seconds: float, tree: Path) -> tuple[str, str]:
    """("killed", by which test), ("survived", ""), or ("survived so far", "") where the time was up.

    tree: a copy of the sources, in which the mutant is put and taken back.
    """
    near = [str(path.relative_to(ROOT)) for _, path in sources.nearest({mutant.module})[:FILES]]
    target = tree / mutant.path
    before = target.read_text(encoding="utf-8")
    target.write_text(mutant.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *near]
    tests = subprocess.Popen(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        printed, _ = tests.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return "survived so far", ""
    finally:
        with suppress(ProcessLookupError):
            os.killpg(tests.pid, signal.SIGKILL)  # and all that the tests have started
        tests.communicate()
        target.write_text(before, encoding="utf-8")
    failed = next((line.split()[1] for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    return ("survived", "") if tests.returncode in (0, 5) else ("killed", failed)


def copies(folder: Path, number: int) -> SimpleQueue[Path]:
    """Copies of the sources, for mutants to stand in."""
    free: SimpleQueue[Path] = SimpleQueue()
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for k in range(number):
        for name in listed.stdout.splitlines():
            target = folder / str(k) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
        free.put(folder / str(k))
    return free


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", action="append", help="a folder of kibitz; all of them by default")
    parser.add_argument("--number", type=int, default=24, help="mutants of each package (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=90, help="time of each mutant (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write a line of JSON for each; what stands there is not done again")
    options = parser.parse_args(words)
    sources = Sources()
    folders = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("kibitz/*/__init__.py"))
    packages = options.package or folders
    rows = []
    if options.out and options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    seen = {(row["path"], row["line"], row["after"]) for row in rows}
    work = [(package, each) for package in packages for each in sample(package, options.number, options.seed, sources)]
    work = [(package, each) for package, each in work if (each.path, each.line, each.after) not in seen]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        free = copies(Path(folder), options.workers)

        def run(one: tuple[str, Mutant]) -> None:
            (package, mutant), tree, begun = one, free.get(), time.monotonic()
            try:
                said, by = verdict(mutant, sources, options.seconds, tree)
            finally:
                free.put(tree)
            row = {name: value for name, value in mutant._asdict().items() if name != "source"}
            row |= {"package": package, "verdict": said, "by": by, "seconds": round(time.monotonic() - begun, 1)}
            rows.append(row)
            change = f"{mutant.before[:60]!r} -> {mutant.after[:60]!r}"
            print(f"{said:15} {mutant.path}:{mutant.line}  {change}  {by}", flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")

        list(pool.map(run, work))
    for package in packages:
        ours = [row for row in rows if row["package"] == package]
        killed = sum(row["verdict"] == "killed" for row in ours)
        print(f"{package}: {killed} of {len(ours)} mutants are killed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
