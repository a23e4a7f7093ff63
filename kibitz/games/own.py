"""Games in a user's own Python file: "path/to/file.py:Class(key=value)".

The file is run once for each call, under a name of its own, with its folder on sys.path while it runs, so that it can
import its neighbours. Afterwards the folder is taken off again and the neighbours are forgotten: two files of the same
name, or two neighbours of the same name in two folders, do not meet.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from kibitz.core import closure
from kibitz.core import spec as specs
from kibitz.core.errors import SpecError

METHODS = ("root", "turn", "actions", "chance", "after", "infoset", "payoff")
MOST_LISTED = 8  # names in a sentence


def is_own(text: str) -> bool:
    """Whether a text names a Python file, with or without a class."""
    name = text.partition("(")[0].rstrip()
    return ".py:" in name or name.endswith(".py")


def own_game(text: str) -> Any:
    """The object that "path/to/file.py:Class(key=value)" makes; it remembers the text as its `spec`."""
    name = text.partition("(")[0].rstrip()
    path, _, rest = text.partition(".py:") if ".py:" in name else (name.removesuffix(".py"), "", "")
    file = Path(path + ".py")
    if not file.is_file():
        raise SpecError(f"there is no file {str(file)!r} to take a game from")
    spec = specs.parse(rest) if rest.strip() else None
    module = _run(file)
    build = getattr(module, spec.name, None) if spec else None
    if spec is None or not callable(build):
        raise SpecError(_advice(file, spec.name if spec else "", games_in(module)))
    game = specs.call(build, spec)
    if not getattr(game, "spec", ""):
        with contextlib.suppress(AttributeError, TypeError):  # a class with slots; the command line names its tree
            object.__setattr__(game, "spec", f"{file}:{specs.canonical(build, spec)}")
    return game


def games_in(module: ModuleType) -> list[str]:
    """The names of what looks like a game in a module: classes with the protocol's methods, and functions that are
    annotated to return a game. Nothing is called."""
    here = {name: each for name, each in vars(module).items() if not name.startswith("_")}
    mine = {name: each for name, each in here.items() if getattr(each, "__module__", None) == module.__name__}
    classes = [name for name, each in mine.items() if inspect.isclass(each) and _plays(each)]
    returned = {*(name for name, each in here.items() if inspect.isclass(each) and _plays(each)), "Game"}
    functions = [
        name
        for name, each in mine.items()
        if inspect.isfunction(each) and _last_name(each.__annotations__.get("return")) in returned
    ]
    return [*classes, *functions]


def _plays(each: type) -> bool:
    return all(callable(getattr(each, name, None)) for name in METHODS)


def _last_name(annotation: Any) -> str:
    """Game of kibitz.games.Game, whether it is a class or, postponed, a text."""
    return str(getattr(annotation, "__name__", annotation)).strip("'\" ").rpartition(".")[2]


def _advice(file: Path, wrong: str, names: list[str]) -> str:
    missing = f"{file} has no class or function {wrong!r:.80}"
    said = missing if wrong else f"{file} is a file, and a game is a class in it"
    if not names:
        return f"{said}, nor any class with the methods {', '.join(METHODS)}: see docs/own_game.md"
    calls = [f"{file}:{name}" for name in names[:MOST_LISTED]]
    more = f" (and {len(names) - MOST_LISTED} more)" if len(names) > MOST_LISTED else ""
    return f"{said}: name a class, as in {' or '.join(calls)}{more}"


def _run(file: Path) -> ModuleType:
    """Run a file as a module.

    It is named by what it says and imports, not by its path, so that code compiled for it serves a copy too.
    """
    folder = file.resolve().parent
    with _neighbours(folder):
        content = closure.digest([closure.ModuleSource(file.stem, str(file))])
    spec = importlib.util.spec_from_file_location(f"kibitz_own_{file.stem}_{content}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the types of their fields
    try:
        with _neighbours(folder):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SpecError(f"{file} cannot be read as Python: {type(error).__name__}: {error}") from error
    return module


@contextlib.contextmanager
def _neighbours(folder: Path) -> Iterator[None]:
    """A folder whose files can be imported for a while; neighbours of another folder step aside meanwhile."""
    names = {each.stem for each in folder.glob("*.py")} | {each.parent.name for each in folder.glob("*/__init__.py")}
    aside = {
        name: module
        for name, module in list(sys.modules.items())
        if (top := name.partition(".")[0]) in names and _foreign(top, folder)
    }
    for name in aside:
        del sys.modules[name]
    before, path = set(sys.modules), str(folder)
    sys.path.insert(0, path)
    importlib.invalidate_caches()  # a file that was written a moment ago is seen
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(path)
        for name in set(sys.modules) - before:
            if (top := name.partition(".")[0]) not in before and _lies_in(sys.modules.get(top), folder):
                del sys.modules[name]
        sys.modules.update(aside)


def _foreign(top: str, folder: Path) -> bool:
    """Whether a module that is loaded under a neighbour's name is another file of the user's, not a library."""
    module = sys.modules.get(top)
    if module is None or top == "kibitz" or top in sys.stdlib_module_names or _lies_in(module, folder):
        return False
    file = getattr(module, "__file__", None)
    return bool(file) and "site-packages" not in Path(str(file)).parts


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module is a file of a folder, or a package there."""
    file = getattr(module, "__file__", None)
    return bool(file) and folder in Path(str(file)).resolve().parents
