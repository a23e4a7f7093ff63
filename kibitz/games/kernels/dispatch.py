"""Functions that are picked by the class of their first argument, compiled or not.

A *stub* is a name with a list of arguments. `register` says which function a class of NamedTuples has for it; when
Numba compiles a call, it picks that function by the class, which is part of the type and so of what is cached. What
does not work: closures over dispatchers (never cached), and functions as arguments (not specialised).

Interpreted, a stub runs the function as it is written, and asks an object of any other class for a method of that
name. `interpreted` runs a compiled function and all that it calls in the same way, so that rules in plain Python go
through the very code that compiled ones do, and every compiled walk has a slow twin.
"""

from __future__ import annotations

import dis
import types as python
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numba.core.dispatcher import Dispatcher

from kibitz.core import closure
from kibitz.core.devices import overloaded

Function = Callable[..., Any]

_FUNCTIONS: dict[tuple[str, type], Function] = {}
_DEFAULTS: dict[str, Function] = {}


def stub(function: Function) -> Function:
    """Make a function a stub: every class must have a function of its own for it."""
    name = function.__name__

    def called(first: Any, *rest: Any) -> Any:
        return picked(name, first)(first, *rest)

    def on_gpu(first: Any, *rest: Any) -> Any:
        return picked(name, first, True)(first, *rest)

    called.__name__, called.__doc__, called.__module__ = name, function.__doc__, function.__module__
    called.on_gpu = on_gpu  # type: ignore[attr-defined]  # as a simulated GPU runs it

    def pick(first: Any, *rest: Any) -> Function | None:
        kind = getattr(first, "instance_class", None)
        return None if kind is None else _FUNCTIONS.get((name, kind)) or _DEFAULTS.get(name)

    overloaded(called, pick)
    return called


def optional(function: Function) -> Function:
    """As `stub`; the function itself is what a class means that has none of its own."""
    _DEFAULTS[function.__name__] = function
    return stub(function)


def register(kind: type, *functions: Function, **named: Function) -> None:
    """The functions that a class has, each under the name of a stub. They call their arguments as the stub does."""
    for name, function in [*((each.__name__, each) for each in functions), *named.items()]:
        _FUNCTIONS[name, kind] = function
        closure.register(kind, function)


def picked(name: str, first: Any, gpu: bool = False) -> Function:
    """What a stub runs where it is interpreted. gpu: as a GPU runs it."""
    kind = type(first)
    function = _FUNCTIONS.get((name, kind))
    if function is not None:
        return interpreted(function, gpu)
    method = getattr(kind, name, None) or _DEFAULTS.get(name)
    if method is None:
        raise TypeError(f"{kind.__name__} has no {name}")
    return method  # type: ignore[no-any-return]


@lru_cache(None)
def interpreted(function: Any, gpu: bool = False) -> Function:
    """A function as it is written: it and all it calls by name run as Python. `slow_twin`: what runs instead of it.

    gpu: functions of two bodies (`kibitz.core.devices.by_device`) have that for GPUs. Compiled parts have no entry from
    Python, so they are called by name and never as a module's attribute.
    """
    twin = getattr(function, "slow_twin", None)
    if twin is not None:
        return twin  # type: ignore[no-any-return]
    if hasattr(function, "bodies"):
        return interpreted(function.bodies[gpu], gpu)
    source = getattr(function, "py_func", function)
    scope = dict(source.__globals__)
    for name in {step.argval for step in dis.get_instructions(source) if step.opname == "LOAD_GLOBAL"}:
        here = scope.get(name)
        if here is not function and (isinstance(here, Dispatcher) or hasattr(here, "slow_twin")
                                     or hasattr(here, "bodies")):  # fmt: skip
            scope[name] = interpreted(here, gpu)
        elif gpu and hasattr(here, "on_gpu"):
            scope[name] = here.on_gpu
    return python.FunctionType(source.__code__, scope, source.__name__, source.__defaults__, source.__closure__)
