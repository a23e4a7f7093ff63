"""A class name means one thing, functions take few arguments, and variables are nouns."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import kibitz

ROOT = Path(kibitz.__file__).parent
MOST_ARGUMENTS = 9
EMPTY = {"found", "held", "made", "given"}  # they say that something is there, not what
# Public functions of ten arguments, all but one or two by name.
PUBLIC = {("solvers/run.py", "solve"), ("solvers/training.py", "train"), ("toepen/exploit.py", "__init__")}
# Inner loops, which are given each array by itself: whether named tuples are as fast there has not been measured.
HOT = {
    "forms/kernels/cfr.py", "forms/kernels/prox.py", "poker/exact/kernels/best_response.py",
    "poker/exact/kernels/ends.py", "poker/exact/kernels/packed.py", "poker/sampled/kernels.py", "poker/whole/gpu.py",
    "poker/whole/kernels/boards.py", "poker/exact/kernels/drawn.py", "solvers/gpu.py", "solvers/kernels/walk.py",
}  # fmt: skip
UNTOUCHED = {"core/jit.py"}  # all compiled code depends on it


@cache
def modules():
    """(path below kibitz/, syntax tree) of every module."""
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))) for path in ROOT.rglob("*.py")]


def test_no_class_name_means_two_things():
    homes = defaultdict(list)
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_few_arguments():
    """Commands are left out: their arguments are their options."""
    wide = set()
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not name.startswith("cli/"):
                arguments = node.args
                count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
                if count > MOST_ARGUMENTS and name not in HOT:
                    wide.add((name, node.name))
    assert wide == PUBLIC


def test_variables_are_nouns():
    empty = set()
    for name, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or name in UNTOUCHED:
                continue
            arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            names = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
            words = EMPTY & (arguments | {each.id for each in names} | {node.name})
            empty |= {f"{name}:{node.lineno} {word}" for word in words}
    assert not empty
