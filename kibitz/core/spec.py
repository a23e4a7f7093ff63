"""Specs: the strings "name(key=value, ...)" by which games, solvers and abstractions are called.

Saved artefacts carry them, the command line reads them. A value is a number, true/false, a bare word,
a "quoted string", or a [list] of values:

    leduc                      kuhn(players=3)
    dcfr(alpha=1.5, beta=0)    matrix(payoffs=[[1, -1], [-1, 1]])

Grammar:  spec = name [ "(" [ key "=" value { "," key "=" value } ] ")" ]
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from kibitz.core.errors import SpecError

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.+\-]*")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(?=[\s,\)\]]|$)")
_WORD = re.compile(r"[^\s,()\[\]=\"]+")
MAX_LENGTH = 100_000
MAX_NESTING = 16
MAX_DIGITS = 40
MOST_WHOLE = 10**12  # of a parameter that is a whole number; games and solvers say what is too much for them
MOST = 1e100  # of any number: products of a few of them are still finite


@dataclass(frozen=True)
class Spec:
    """A parsed spec: a name and its arguments. `str()` gives a text back that parses to it."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.args:
            return self.name
        return f"{self.name}({', '.join(f'{k}={show(v)}' for k, v in self.args.items())})"


def show(value: Any) -> str:
    """A value as it is written in a spec."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(v) for v in value) + "]"
    if isinstance(value, str):
        bare = _WORD.fullmatch(value) and not _NUMBER.fullmatch(value) and value.lower() not in ("true", "false")
        return value if bare else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def parse(text: str, first: str = "") -> Spec:
    """Parse "name(key=value, ...)"; a mistake is reported with the column it stands at.

    first: a parameter whose name may be left out before a number or a list that stands first, as in percentile(8).
    """
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a spec of {len(text):,} characters is too long; the limit is {MAX_LENGTH:,}")
    return _Parser(text).spec(first)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, expected: str) -> SpecError:
        here = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        text = self.text if len(self.text) <= 200 else self.text[:200] + "..."
        return SpecError(
            f"cannot read {text!r}: expected {expected} at column {self.at + 1}, found {here}; "
            "the form is name(key=value, ...)"
        )

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, char: str) -> bool:
        self.space()
        if self.text.startswith(char, self.at):
            self.at += len(char)
            return True
        return False

    def match(self, pattern: re.Pattern[str], expected: str) -> str:
        self.space()
        token = pattern.match(self.text, self.at)
        if not token:
            raise self.fail(expected)
        self.at = token.end()
        return token.group()

    def spec(self, first: str) -> Spec:
        name = self.match(_NAME, "a name")
        args: dict[str, Any] = {}
        if self.take("(") and not self.take(")"):
            while True:
                self.space()
                if first and not args and self.text[self.at : self.at + 1] in tuple("[0123456789+-"):
                    key = first
                else:
                    key = self.match(_NAME, "a parameter's name")
                    if key in args:
                        raise SpecError(f"parameter {key!r:.80} is given twice in {self.text!r:.200}")
                    if not self.take("="):
                        raise self.fail("'='")
                args[key] = self.value(0)
                if self.take(")"):
                    break
                if not self.take(","):
                    raise self.fail("',' or ')'")
        self.space()
        if self.at != len(self.text):
            raise self.fail("the end")
        return Spec(name, args)

    def value(self, depth: int) -> Any:
        if depth > MAX_NESTING:
            raise SpecError(f"lists in a spec nest at most {MAX_NESTING} deep")
        if self.take("["):
            items: list[Any] = []
            if self.take("]"):
                return items
            while True:
                items.append(self.value(depth + 1))
                if self.take("]"):
                    return items
                if not self.take(","):
                    raise self.fail("',' or ']'")
        if self.take('"'):
            return self.quoted()
        self.space()
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            text = number.group()
            if len(text) > MAX_DIGITS or math.isinf(float(text)):
                raise SpecError(f"the number {text[:20]}... in a spec is too large")
            return float(text) if re.search(r"[.eE]", text) else int(text)
        word = self.match(_WORD, "a value")
        return {"true": True, "True": True, "false": False, "False": False}.get(word, word)

    def quoted(self) -> str:
        out: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(out)
            if char == "\\" and self.at < len(self.text):
                char = self.text[self.at]
                self.at += 1
            out.append(char)
        raise self.fail("a closing quote")


def unknown(kind: str, name: str, known: Iterable[str]) -> SpecError:
    """The error for a name that is not in a table, with the nearest one that is."""
    known = sorted(known)
    asked = name[:80]  # the time of a comparison grows with the product of lengths
    near = difflib.get_close_matches(asked.lower().replace("plus", "+"), known, n=1)  # cfrplus is cfr+
    near = near or difflib.get_close_matches(asked, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return SpecError(f"unknown {kind} {name!r:.80}: {hint}known are {', '.join(known)}")


def call(build: Callable[..., T], spec: Spec) -> T:
    """Call `build` with a spec's arguments; a wrong name or type becomes a SpecError that lists the right ones."""
    parameters = inspect.signature(build).parameters
    for key, value in spec.args.items():
        if key not in parameters:
            raise (
                unknown(f"parameter of {spec.name}:", key, parameters)
                if parameters
                else SpecError(f"{spec.name:.80} takes no parameters, but {key!r:.80} was given")
            )
        _check(spec.name, key, value, parameters[key])
    for key, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and key not in spec.args:
            raise SpecError(f"{spec.name} needs a value for {key!r}: {spec.name}({key}=...)")
    return build(**spec.args)


def canonical(build: Callable[..., Any], spec: Spec) -> Spec:
    """The one spelling of a spec: arguments in the order of the parameters, and none that is the default anyway."""
    args = {}
    for key, parameter in inspect.signature(build).parameters.items():
        if key in spec.args and not _same(spec.args[key], parameter.default):
            args[key] = spec.args[key]
    return Spec(spec.name, args)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return len(value) == len(default) and all(map(_same, value, default))
    return isinstance(value, bool) == isinstance(default, bool) and bool(value == default)


def _check(name: str, key: str, value: Any, parameter: inspect.Parameter) -> None:
    """Refuse a value of another type than the parameter's, or one that no kernel, file or float can hold.

    The type is that of the default; without one it is the annotation, where that is a plain type.
    """
    default = parameter.default
    if default is inspect.Parameter.empty or default is None:
        example, like = _EXAMPLES.get(str(parameter.annotation).removesuffix(" | None")), ""
    else:
        example, like = default, f", such as {key}={show(default)}"
    if example is not None and not _fits(value, example):
        raise SpecError(f"{name}: {key}={brief(value)} should be {_kind(example)}{like}")
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, list | tuple):
            todo.extend(each)
        elif isinstance(each, int | float) and not abs(each) <= (MOST_WHOLE if type(example) is int else MOST):
            raise SpecError(f"{name}: {key}={brief(value)} is too large a number")


_EXAMPLES: dict[str, Any] = {"int": 0, "float": 0.0, "bool": False, "str": ""}


def brief(value: Any) -> str:
    """A value as it is written in a spec, or the beginning of a long one."""
    text = show(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, list | tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, type(default))


def _kind(default: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a word", tuple: "a list"}
    return names.get(type(default), f"a {type(default).__name__}")


def of(thing: Any, name: str) -> Spec:
    """The spec of a dataclass built from one: its fields that differ from their defaults."""
    if not is_dataclass(thing):
        return Spec(name)
    changed = {f.name: getattr(thing, f.name) for f in fields(thing) if f.init and getattr(thing, f.name) != f.default}
    return Spec(name, changed)
