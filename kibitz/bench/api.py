"""docs/api.md: the public names of kibitz, with the signatures and texts that they have in the code."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

HEAD = """# Python API

The public names of kibitz, by module. The names of the first section come with `import kibitz`; import the others from
their modules. The [README](../README.md#from-python) has a first example, and the [glossary](glossary.md) explains the
terms. This page is generated from the docstrings by `python -m kibitz.bench.docs`; a test compares it with the code.
"""

# Module -> names; None: its __all__. A name that was shown in a section before is not shown again.
PARTS: dict[str, tuple[str, ...] | None] = {
    "kibitz": None,
    "kibitz.commands": ("evaluate", "SolvedTournament"),
    "kibitz.core.errors": (
        "KibitzError", "SpecError", "GameError", "SolverError", "ArtefactError", "MissingExtra", "RunWarning",
    ),
    "kibitz.games": None,
    "kibitz.games.protocol": (),
    "kibitz.games.tree": ("Tree", "Infosets", "tree_of", "lay_out"),
    "kibitz.solvers.result": None,
    "kibitz.solvers": None,
    "kibitz.evaluate": None,
    "kibitz.evaluate.crosstable": None,
    "kibitz.forms.abstraction": None,
    "kibitz.poker.buckets.gameshrink": ("shrink", "Shrunk"),
    "kibitz.poker.buckets.buckets": ("hand_buckets",),
    "kibitz.poker.buckets.hand_buckets": ("HandBuckets", "RoundBuckets"),
    "kibitz.stitch": None,
    "kibitz.stitch.auto": ("Limits", "Effort", "Auto", "Round", "ExactJudge", "MatchJudge", "losses"),
    "kibitz.play.table": ("Session",),
    "kibitz.poker.spots.reading": (),
    "kibitz.poker.spots.sizes": (),
    "kibitz.poker.spots.solution": ("SpotSolution", "SpotNode"),
    "kibitz.poker.spots.flop_report": ("FlopReport", "FlopResult"),
    "kibitz.poker.spots.importing": (),
    "kibitz.poker.nolimit.response": ("local_response", "Responded"),
    "kibitz.poker.nolimit.sizes": ("next_size", "NextSize", "Candidate"),
    "kibitz.poker.tournaments": None,
    "kibitz.poker.acpc.dealer": ("Dealer",),
    "kibitz.poker.acpc.client": ("Client",),
    "kibitz.papers": ("reproduce",),
    "kibitz.bench.bench": ("bench",),
    "kibitz.cards": None,
}  # fmt: skip
# command -> its Python function, or the table or class that the command prints or runs
TWINS: dict[str, str] = {
    "demo": "kibitz:solve",
    "games": "kibitz.games:GAMES",
    "solvers": "kibitz.solvers:SOLVERS",
    "info": "kibitz:info",
    "check": "kibitz:check",
    "abstract": "kibitz:abstract",
    "solve": "kibitz:solve",
    "train": "kibitz:train",
    "stitch": "kibitz.stitch:static",
    "stitch auto": "kibitz:stitch_auto",
    "show": "kibitz:show",
    "evaluate": "kibitz.commands:evaluate",
    "diff": "kibitz:diff",
    "crosstable": "kibitz:crosstable",
    "match": "kibitz:match",
    "export": "kibitz:export",
    "import": "kibitz:profile_from",
    "play": "kibitz.play.table:Session",
    "ui": "kibitz:ui",
    "acpc serve": "kibitz.poker.acpc.dealer:Dealer",
    "acpc join": "kibitz.poker.acpc.client:Client",
    "poker spot": "kibitz:solve_spot",
    "poker preflop": "kibitz:solve_preflop",
    "poker flops": "kibitz:flop_report",
    "poker respond": "kibitz.poker.nolimit.response:local_response",
    "poker sizes": "kibitz.poker.nolimit.sizes:next_size",
    "poker icm": "kibitz:icm",
    "poker pushfold": "kibitz:pushfold",
    "poker tournament": "kibitz:tournament",
    "poker phases": "kibitz:phases",
    "poker cards": "kibitz.cards",
    "sweep": "kibitz:executing",
    "reproduce": "kibitz.papers:reproduce",
    "bench": "kibitz.bench.bench:bench",
}
WIDE = 100  # characters of a signature on one line
LONGEST = 200  # characters of a constant


def page() -> str:
    """The whole page."""
    seen: set[int | str] = set()
    parts = [HEAD, _twins()]
    for name, names in PARTS.items():
        module = importlib.import_module(name)
        parts.append(f"## {name}\n")
        if name != "kibitz":
            parts.append(_text(inspect.getdoc(module)))
        for each in module.__all__ if names is None else names:
            member = getattr(module, each)
            known = id(member) if callable(member) else each
            if isinstance(member, ModuleType) or known in seen:
                continue
            seen.add(known)
            parts.append(_entry(f"{name}.{each}", member))
    return "\n".join(part for part in parts if part)


def _twins() -> str:
    """The table of commands and their Python functions."""
    rows = [f"| `kibitz {command}` | `{twin.replace(':', '.')}` |" for command, twin in TWINS.items()]
    return "\n".join(["## Commands", "", "What a command computes, a Python function returns.", "",
                      "| command | in Python |", "|---|---|", *rows, ""])  # fmt: skip


def _entry(name: str, member: Any) -> str:
    if not callable(member):
        return f"### {name}\n\n{_code(_constant(name.rpartition('.')[2], member))}"
    short = name.rpartition(".")[2]
    if not inspect.isclass(member):
        return f"### {name}\n\n{_code(signature(short, member))}\n{_text(inspect.getdoc(member))}"
    if issubclass(member, BaseException):
        (base,) = member.__bases__
        return f"### {name}({base.__name__})\n\n{_text(member.__doc__)}"
    lines = [f"class {line}" if k == 0 else line for k, line in enumerate(_made(short, member).splitlines())]
    methods = "\n\n".join(_members(member))
    said = f"### {name}\n\n{_code(chr(10).join(lines))}\n{_text(_own_doc(member))}"
    return f"{said}\n{_code(methods)}" if methods else said


def _made(name: str, kind: type) -> str:
    """How an object of a class is created; only the name for classes that users do not create, such as protocols."""
    if getattr(kind, "_is_protocol", False):
        return name
    try:
        return signature(name, kind).removesuffix(" -> None")
    except (TypeError, ValueError):
        return name


def _own_doc(kind: type) -> str:
    doc = kind.__doc__ or ""
    return "" if doc.startswith(f"{kind.__name__}(") else inspect.cleandoc(doc)  # what dataclasses write by themselves


def _members(kind: type) -> Iterator[str]:
    """Public methods and properties that a class defines, with their texts as comments."""
    for name, each in vars(kind).items():
        if name.startswith("_"):
            continue
        plain = each.__func__ if isinstance(each, staticmethod | classmethod) else each
        if inspect.isfunction(plain):
            yield _commented(signature(name, plain), plain.__doc__)
        elif isinstance(each, property) or type(each).__name__ == "cached_property":
            get: Any = getattr(each, "fget", None) or each.func
            returns = get.__annotations__.get("return", "")
            yield _commented(f"{name}: {_annotation(returns)}" if returns else name, get.__doc__)


def _commented(line: str, doc: str | None) -> str:
    text = inspect.cleandoc(doc or "")
    return "\n".join([line, *(f"    {each}".rstrip() for each in text.splitlines())])


def signature(name: str, member: Any) -> str:
    """A signature with annotations as they are written, one parameter a line where it is long."""
    signed = inspect.signature(member)
    words: list[str] = []
    starred = False
    for key, parameter in signed.parameters.items():
        if key == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else "*" * (parameter.kind is parameter.VAR_POSITIONAL)
        typed = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f"{' = ' if typed else '='}{_default(parameter)}"
        words.append(f"{stars}{key}{typed}{default}")
    returns = "" if signed.return_annotation is signed.empty else f" -> {_annotation(signed.return_annotation)}"
    line = f"{name}({', '.join(words)}){returns}"
    return line if len(line) <= WIDE else "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){returns}"])


def _annotation(what: Any) -> str:
    if isinstance(what, str):
        return what
    return str(getattr(what, "__forward_arg__", None) or getattr(what, "__name__", what))


def _default(parameter: inspect.Parameter) -> str:
    text = repr(parameter.default)
    return "..." if text.startswith("<") else text


def _constant(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{name}: {len(value)} names: {', '.join(map(str, value))}"
    text = repr(value)
    return f"{name} = {text if len(text) <= LONGEST else text[:LONGEST] + '...'}"


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _text(doc: str | None) -> str:
    """A docstring: paragraphs as such, and what is laid out in columns as it stands."""
    parts = [part.strip("\n") for part in (doc or "").split("\n\n") if part.strip()]
    return "\n".join(_code(textwrap.dedent(part)) if "  " in part else f"{' '.join(part.split())}\n" for part in parts)
