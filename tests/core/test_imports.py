"""Imports point one way, importing kibitz is cheap, and nothing here runs text as code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import kibitz

ROOT = Path(kibitz.__file__).parent
# Packages, lowest first: a module imports from its own package and from those before it.
LAYERS = (
    "core", "cards", "games", "forms", "solvers", "evaluate", "stitch", "play", "poker", "toepen", "report", "commands",
    "papers", "bench", "web", "cli", "__main__",
)  # fmt: skip
# Tables of what lies above: what a name of a game or a plug-in stands for, imported when it is first asked for.
SEAM = {"games", "games.plugins", "solvers"}  # GAMES, PLUGINS, SOLVERS
# Modules that import what a table says. Nobody else imports by a name that is put together.
RESOLVERS = {"", "games", "games.plugins", "solvers", "papers", "cli.names", "bench.api"}
LEVEL = {name: level for level, name in enumerate(LAYERS)}


def modules():
    """(name without "kibitz.", path) of every module of ours."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@cache
def nodes(path):
    """All nodes of a module's syntax tree; several tests read them."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(name, path):
    """What a module imports of kibitz, anywhere in it: in functions and under TYPE_CHECKING too."""
    package = ["kibitz", *name.split(".")] if path.name == "__init__.py" else ["kibitz", *name.split(".")[:-1]]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = [p for p in package if p][: len(package) - node.level + 1] if node.level else []
            base = ".".join([*home, *([node.module] if node.module else [])])
            # From a package one may import a module of it, or a name that its __init__ has.
            inside = [f"{base}.{alias.name}" for alias in node.names]
            found = [name if base == "kibitz" or is_module(name) else base for name in inside]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found = texts
        else:
            continue
        for each in found:
            if each.split(".")[0] == "kibitz" and each != "kibitz":
                yield each.removeprefix("kibitz."), node.lineno


@cache
def arrows():
    return [
        (name, target, f"{path.relative_to(ROOT.parent)}:{line}")
        for name, path in modules()
        for target, line in imports(name, path)
    ]


def home_of(name):
    return name.split(".")[0]


def test_every_module_has_a_layer():
    tops = {home_of(name) for name, _ in modules() if name}
    assert tops == set(LAYERS), f"give {sorted(tops ^ set(LAYERS))} a place in LAYERS"


def test_imports_point_one_way():
    wrong = []
    for name, target, where in arrows():
        mine, other = home_of(name), home_of(target)
        if name == "" or mine == other or other not in LEVEL:  # the front door reaches everything, by name
            continue
        if LEVEL[mine] < LEVEL[other]:
            wrong.append(f"{where}: {mine} imports {other}")
    assert not wrong, "\n".join(wrong)


def texts(path):
    """(text, line) of each string in a module that names a module of ours, or something in one."""
    for node in nodes(path):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"kibitz(\.\w+)+(:\w+)?", text):
            yield text, node.lineno


def test_tables_of_names_point_one_way():
    """Names in quotes count as imports; the seam alone may name what lies above it."""
    wrong, seen = [], 0
    for name, path in modules():
        for text, line in texts(path):
            target = text.removeprefix("kibitz.").partition(":")[0]
            seen += 1
            assert is_module(text.partition(":")[0]), f"{path}:{line} names {text}, which is not there"
            if text == "kibitz.cli":  # a command that is run as a process of its own
                continue
            if name and name not in SEAM and LEVEL[home_of(name)] < LEVEL[home_of(target)]:
                wrong.append(f"{path.relative_to(ROOT.parent)}:{line} names {text}")
    assert seen > 40 and not wrong, "\n".join(wrong)


def test_modules_are_imported_by_tables_alone():
    """import_module takes a name that is written out, or one of a table in a module of RESOLVERS."""
    found = set()
    for name, path in modules():
        for node in nodes(path):
            function = node.func if isinstance(node, ast.Call) else None
            calls = "import_module" in (getattr(function, "attr", ""), getattr(function, "id", ""))
            if calls and not isinstance(node.args[0], ast.Constant):
                found.add(name)
    assert found == RESOLVERS


# Packages where nobody imports a game's rules by name.
GENERAL = ("forms", "solvers", "evaluate", "stitch", "play")
RULES = ("games.kuhn", "games.leduc", "games.liars_dice", "games.goofspiel", "games.matrix")


def test_general_code_imports_no_game_by_name():
    wrong = [where for name, target, where in arrows() if home_of(name) in GENERAL and target in RULES]
    assert not wrong, "\n".join(wrong)


# Files that still import each other.
CIRCLES: list[list[str]] = []


def circles(graph):
    """The strongly connected parts of a graph {node: its followers} that have more than one node, each sorted."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph[node]:
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def test_no_files_import_each_other():
    """Nor in a circle, be it in a function or for types alone. A package is its file __init__.py."""
    graph = {name: set() for name, _ in modules()}
    for name, target, _ in arrows():
        while target not in graph:
            target = target.rpartition(".")[0]
        if target != name:
            graph[name].add(target)
    found = circles(graph)
    assert [part for part in found if part not in CIRCLES] == []
    assert [part for part in CIRCLES if part not in found] == [], "no circle any more: take it off the list"


def test_the_check_sees_circles():
    assert circles({1: {2}, 2: {3}, 3: {1, 4}, 4: set(), 5: {6}, 6: {5, 4}}) == [[1, 2, 3], [5, 6]]
    assert circles({1: {2, 3}, 2: {4}, 3: {4}, 4: set()}) == []


def test_kernels_import_kernels_alone():
    """And what compiles them: so a change of other code recompiles nothing."""
    compiler = ("core.barrier", "core.devices", "core.jit", "core.random", "core.vectors", "core.closure", "core.parts")
    wrong = [
        where for name, target, where in arrows()
        if "kernels" in name.split(".") and "kernels" not in target.split(".") and target not in compiler
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_arrows():
    """The parser finds plain, aliased, lazy and type-checking imports."""
    found = {(name, target) for name, target, _ in arrows()}
    assert ("evaluate", "forms.problem") in found
    assert ("solvers.cfr", "forms.kernels.cfr") in found  # in a function, and under TYPE_CHECKING
    assert ("forms.profile", "core.store") in found  # from kibitz.core import store
    assert ("games.leduc", "core.spec") in found  # from kibitz.core import spec as specs


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = ("numba", "matplotlib", "scipy", "llvmlite", "pyspiel", "open_spiel", "pygambit")


@pytest.mark.parametrize(
    "code",
    [
        "import kibitz",
        "import kibitz; kibitz.KibitzError",
        "import kibitz; kibitz.game('leduc'); kibitz.Game",
        "import kibitz; kibitz.Profile",
        "from kibitz.solvers import SOLVERS; from kibitz.games import GAMES",
    ],
)
def test_heavy_packages_wait_until_they_are_needed(code):
    heavy = run(f"{code}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])")
    assert heavy.strip() == "[]"


def test_importing_kibitz_imports_nothing_else_of_ours():
    assert run("import kibitz, sys; print([m for m in sys.modules if m.startswith('kibitz.')])").strip() == "[]"


def test_every_public_name_is_there():
    for name in kibitz.__all__:
        assert getattr(kibitz, name) is not None
    with pytest.raises(AttributeError, match="kibitz has no 'nothing'"):
        kibitz.nothing  # noqa: B018


def dangerous(node):
    """Why a piece of code may not be here; empty if it may."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
        bad = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"} & {n.split(".")[0] for n in names}
        return f"imports {', '.join(bad)}" if bad else ""
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if isinstance(node.func, ast.Name) and name in ("eval", "exec", "compile", "__import__"):
            return f"calls {name}"
        module = getattr(getattr(node.func, "value", None), "id", "")
        if f"{module}.{name}" in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"):
            return f"calls {name}"
        for keyword in node.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else True
            if keyword.arg in ("shell", "allow_pickle") and value:
                return f"calls {name} with {keyword.arg}"
    return ""


def test_nothing_runs_text_as_code():
    wrong = []
    for _, path in modules():
        for node in nodes(path):
            if why := dangerous(node):
                wrong.append(f"{path.relative_to(ROOT.parent)}:{node.lineno} {why}")
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_danger():
    for code in (
        "import pickle", "from pickle import loads", "eval('1')", "exec(x)", "run(c, shell=True)", "os.system('x')",
        "np.load(p, allow_pickle=True)", "subprocess.getoutput(c)",
    ):  # fmt: skip
        assert any(dangerous(node) for node in ast.walk(ast.parse(code))), code
    for code in ("re.compile(x)", "platform.system()", "run(c, shell=False)", "model.eval()", "import json"):
        assert not any(dangerous(node) for node in ast.walk(ast.parse(code))), code
