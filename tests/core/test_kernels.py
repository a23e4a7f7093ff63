"""Reference counts in compiled code: none in kernels, and in makers none inside a loop.

Numba counts references to arrays by atomic operations. In short loops they take most of the time, on x86 above all.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.types import Array, BaseTuple
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import kibitz

ROOT = Path(kibitz.__file__).parent
NAMES = [".".join(("kibitz", *path.relative_to(ROOT).with_suffix("").parts)) for path in sorted(ROOT.rglob("*.py"))]
CORE = tuple(f"kibitz.core.{name}" for name in ("barrier", "jit", "random", "vectors"))
MODULES = [name for name in NAMES if ".kernels" in name or name in CORE]
COUNTS = re.compile(r"\bcall\b.*@NRT_(incref|decref)\b")


def functions():
    """(module, function) of all compiled code, each where it stands."""
    for name in MODULES:
        module = importlib.import_module(name)
        for found in vars(module).values():
            if isinstance(found, Dispatcher) and found.py_func.__module__ == name:
                yield module, found


def counting(dispatcher) -> bool:
    return dispatcher.targetoptions.get("_nrt", True)


def counts_in_loops(llvm: str) -> list[str]:
    """Lines of optimised LLVM code that count references in a block which can be reached from itself."""
    found = []
    for body in re.findall(r"^define [^\n]*\{\n(.*?)^\}", llvm, re.M | re.S):
        blocks, name = {}, "entry"
        for line in body.splitlines():
            label = re.match(r'("?[\w.$-]+"?):', line)
            if label:
                name = label[1]
            blocks.setdefault(name, []).append(line)
        number = {name: i for i, name in enumerate(blocks)}
        edges = [
            (number[name], number[target])
            for name, lines in blocks.items()
            for line in lines
            for target in re.findall(r'label %("?[\w.$-]+"?)', line)
            if target in number
        ]
        if not edges:
            continue
        start, end = np.array(edges).T
        graph = coo_matrix((np.ones(len(edges)), (start, end)), shape=(len(blocks),) * 2)
        _, component = connected_components(graph, connection="strong")
        size = np.bincount(component)
        itself = {a for a, b in edges if a == b}
        for i, lines in enumerate(blocks.values()):
            if size[component[i]] > 1 or i in itself:
                found.extend(line.strip() for line in lines if COUNTS.search(line))
    return found


class Pair(NamedTuple):
    one: np.ndarray
    two: np.ndarray


def _summed(pair, some):
    total = 0.0
    i = 0
    while some[i] < 3:
        one = pair.one
        if some[i] == 1:
            one = pair.two
        total += one[i]
        i += 1
    return total


def test_the_finder_finds_what_it_looks_for():
    """The same loop with and without counts, and counts outside a loop."""
    arrays = Pair(np.ones(4), np.ones(4)), np.arange(4)
    for options, hits in (({}, True), ({"_nrt": False}, False)):
        compiled = numba.njit(**options)(_summed)
        assert compiled(*arrays) == 3.0
        (code,) = compiled.inspect_llvm().values()
        assert bool(counts_in_loops(code)) is hits
        assert bool(COUNTS.search(code)) is hits

    @numba.njit
    def outside(n):
        made = np.zeros(n)
        return made[0]

    assert outside(3) == 0.0
    (code,) = outside.inspect_llvm().values()
    assert COUNTS.search(code) and not counts_in_loops(code)


def test_kernels_and_parts_are_compiled_without_counts():
    """All but those that make arrays, which say so by their decorator."""
    bare, makers = 0, set()
    for module, function in functions():
        makes = re.search(r"^@(maker|making_part)\ndef " + function.__name__ + r"\(", inspect.getsource(module), re.M)
        assert counting(function) == bool(makes), f"{module.__name__}.{function.__name__}"
        bare += not makes
        if makes:
            makers.add(module.__name__.removeprefix("kibitz."))
    assert bare > 200
    # Entries that make their working space and leave the loops to a part; layout and GameShrink, which run once.
    assert makers <= {
        *(f"forms.kernels.{name}" for name in ("layout", "evaluate", "response")), "poker.buckets.kernels.gameshrink",
        "cards.kernels.ranking", "poker.nolimit.kernels.match", "solvers.kernels.hash",
    }  # fmt: skip


def used():
    """Call what users run most, on small games, so that the kernels below know their types."""
    import kibitz
    from kibitz.solvers.blueprint import Blueprint

    game = kibitz.game("kuhn")
    profile = kibitz.solve(game, "cfr+", iterations=2)
    kibitz.value(game, profile)
    kibitz.solve(game, "fp", iterations=2)
    blueprint = Blueprint.empty("toepen(suits=2, ranks=2, hand=2)", "null", 1 << 20)
    blueprint.train(iterations=2)


HOT = [f"kibitz.forms.kernels.{name}" for name in ("evaluate.measure", "evaluate.expected", "response.best_plans")]


def recompiled(function):
    """The same function compiled again, as code from the cache cannot be inspected, for the types it was used with."""
    for signature in function.signatures:
        anew = numba.jit(function.py_func, **function.targetoptions)
        anew.compile(signature)
        yield anew.inspect_llvm(signature), signature


@pytest.mark.slow
def test_makers_of_hot_code_count_nothing_in_loops():
    used()
    for name in HOT:
        module, _, function = name.rpartition(".")
        maker = getattr(importlib.import_module(module), function)
        assert maker.signatures, name
        for code, _ in recompiled(maker):
            assert COUNTS.search(code), f"{name} makes arrays: nothing was looked into"
            assert counts_in_loops(code) == [], name
        for callee in called(maker):
            assert callee.overloads or counting(callee)
            for result in callee.overloads.values():
                assert not holds_arrays(result.signature.return_type), f"{name} calls {callee.__name__}"


def called(maker):
    """Parts without counts that a maker calls, directly or through parts that count."""
    for name in maker.py_func.__code__.co_names:
        callee = maker.py_func.__globals__.get(name)
        if isinstance(callee, Dispatcher):
            if counting(callee):
                yield from called(callee)
            else:
                yield callee


def holds_arrays(kind) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, BaseTuple) and any(map(holds_arrays, kind)))


@pytest.mark.slow
def test_kernels_hold_no_count_at_all():
    """The option does what it says: in the code of CFR's loops there is none."""
    from kibitz.forms.kernels import cfr

    used()
    assert cfr.iterate.signatures
    for code, _ in recompiled(cfr.iterate):
        assert not re.search(r"NRT_(incref|decref|MemInfo|Allocate)", code)


def test_parts_are_linked_into_kernels_and_are_no_machine_code_of_their_own():
    from kibitz.core import jit

    @jit.part
    def cubed(x):
        return x * x * x

    @jit.kernel
    def one_more(x):
        return cubed(x) + 1.0

    assert one_more(3.0) == 28.0
    (compiled,) = cubed.overloads.values()
    engine = compiled.library._codegen._engine
    assert not engine.is_symbol_defined(compiled.fndesc.mangled_name)
    (compiled,) = one_more.overloads.values()
    assert engine.is_symbol_defined(compiled.fndesc.mangled_name)
