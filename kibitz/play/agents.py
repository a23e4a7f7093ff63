"""Agents by name, in any game.

    uniform          every legal action is as likely as the others
    rule the game's rule-based player, if it has one
    always-call      and always-fold, always-raise: the same action in every hand of poker
    shipped          the strategy of the game that comes with kibitz, if there is one (`kibitz.core.shipped`)
    PATH             a saved strategy: a blueprint or a profile, by its path; one of poker under an action abstraction
                     plays the game with all bets too (`kibitz.poker.nolimit.translation`)
    search(PATH)     that strategy, and from some point on a solution of what is left, where the game offers it
    ...              players that a game brings itself (`kibitz.toepen.agents`)

kibitz.evaluate.match says what an agent is (`Agent`), kibitz.games.views what it gets to see (`View`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core import shipped, store
from kibitz.core import spec as specs
from kibitz.core.errors import ArtefactError, GameError, SpecError
from kibitz.evaluate.match import Agent
from kibitz.forms.profile import Profile
from kibitz.games.machine import Machine
from kibitz.games.plugins import plugin_of
from kibitz.games.trusted import recalled, same_game
from kibitz.play.always import PLAIN, Always
from kibitz.play.compiled import Compiled
from kibitz.play.search import Search, offered
from kibitz.solvers import tables
from kibitz.solvers.blueprint import KIND, Blueprint, player
from kibitz.solvers.machines import machine_of
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.table_strategy import TableStrategy

SHIPPED = "shipped"
WITHOUT_PATH = ("uniform", "rule", SHIPPED, *PLAIN)  # names of players that need no saved strategy
# name -> one line of help
AGENTS: dict[str, str] = {
    "uniform": "every legal action is as likely as the others",
    "rule": "the game's rule-based player, if it has one (toepen)",
    "always-call": "always the same action, in poker; also always-fold and always-raise",
    SHIPPED: "the strategy that comes with kibitz, of limit hold'em for two or three",
    "PATH": "a saved strategy: a blueprint or a profile, by its path",
    "search(PATH, seconds=1)": "that strategy, and solutions of what is left of a hand",
}


def agent(source: Any, game: Any, at_once: bool = False) -> Agent:
    """The agent of a name, a saved strategy, a Profile, a Blueprint, or an agent as it is; see the top of the file.

    at_once: for a person's table, where a hand is played at a time and nobody wants to wait for tables.
    """
    machine = machine_of(game)
    if isinstance(source, Profile):
        return _translated(source.meta.get("game"), machine, lambda own: profile_agent(source, own, "profile"))
    if isinstance(source, Blueprint):
        return _translated(source.machine.spec, machine, lambda own: blueprint_agent(source, own, "blueprint"))
    if not isinstance(source, str | Path):
        if not callable(getattr(source, "act", None)):
            raise SpecError(f"{type(source).__name__} is not a player: it has no method `act`")
        return source  # type: ignore[no-any-return]
    own = agents_of(machine)
    name, path, options = parsed(str(source), own)
    if name in ("uniform", "rule") and path is None:
        from kibitz.solvers.kernels.players import RULE, UNIFORM

        specs.call(lambda: None, specs.Spec(name, options))
        if name == "rule" and not machine.advises:
            raise SpecError(f"{machine.spec} has no rule-based player: choose uniform, or the path of a saved "
                            "strategy")
        return _compiled_of(machine, player(machine, RULE if name == "rule" else UNIFORM), name)
    if name in (SHIPPED, *PLAIN):
        specs.call(lambda: None, specs.Spec(name, options))
        return saved_agent(name, machine, at_once) if name == SHIPPED else Always(name, machine.spec)
    if name in own:
        if path is None:
            raise SpecError(f"{name} needs a saved strategy: {name}(PATH, ...)")
        base = saved_agent(path, machine)
        if not isinstance(base, Compiled):
            raise SpecError(f"{name} searches in the game of {path}: leave out --game, or give {path} without search")
        return _built(own[name][0], base, options, str(source).strip())
    if name != "path" or path is None:
        raise SpecError(f"unknown player {str(source).strip()!r}: choose {', '.join(names_of(machine))}")
    return saved_agent(path, machine, at_once)


def agents_of(machine: Machine) -> Mapping[str, tuple[Callable[..., Agent], str]]:
    """Players that need a strategy to play from: those of the game, and search where it is offered."""
    own = getattr(machine.rules, "agents", None)
    agents: dict[str, tuple[Callable[..., Agent], str]] = dict(own()) if own is not None else {}
    if "search" not in agents and offered(machine):
        agents["search"] = (Search, "the strategy, and from some point on a solution of what is left")
    return agents


def names_of(machine: Machine) -> dict[str, str]:
    """All players of a game by name, with a line of help."""
    names = ["uniform", "PATH", *["rule"] * machine.advises, *["always-call"] * hasattr(machine.rules, "definition")]
    names += [SHIPPED] * (shipped_for(machine.spec) is not None)
    agents = {name: AGENTS[name] for name in names}
    return {**agents, **{f"{name}(PATH, ...)": about for name, (_, about) in agents_of(machine).items()}}


def parsed(text: str, names: Any = ("search", "exploit")) -> tuple[str, str | None, dict[str, Any]]:
    """(name, path of a strategy, options) of a text; a text that is no name is a path."""
    text = text.strip()
    known = "|".join(map(re.escape, [*WITHOUT_PATH, *names]))
    match = re.fullmatch(rf"({known})\s*(\((.*)\))?", text, re.S)
    if not match:
        return "path", str(shipped.resolved(text)), {}
    name, inside = match[1], (match[3] or "").strip()
    path = None
    first = re.match(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,="]+))\s*(?:,|$)', inside)
    if first and name not in WITHOUT_PATH:
        path = re.sub(r"\\(.)", r"\1", first[1]) if first[1] is not None else first[2].strip()
        inside = inside[first.end() :]
    options = dict(specs.parse(f"{name}({inside})").args)
    return name, str(options.pop("blueprint", path)) if path or "blueprint" in options else None, options


def check_saved(players: Sequence[str]) -> None:
    """Refuse players that are neither names nor saved strategies: before a game is asked for."""
    paths = dict.fromkeys(path for text in players if (path := parsed(text)[1]) not in (None, SHIPPED))
    missing = [path for path in paths if path is not None and not Path(path).exists()]
    if missing:
        raise ArtefactError(
            f"no saved strategy at {', '.join(missing):.400}: a player is {', '.join(AGENTS)}, where PATH is what "
            "`kibitz solve` or `kibitz train` wrote"
        )


def game_of(players: Sequence[str]) -> str | None:
    """The game of the first saved strategy among some players, if a file may name it."""
    check_saved(players)
    for text in players:
        path = parsed(text)[1]
        if path is not None and store.kind_at(path) in (KIND, "profile"):
            return recalled(store.load(path, mmap=True).meta.get("game"), path, "--game GAME")
    return None


# Saved strategies


def shipped_for(game: str) -> str | None:
    """The folder of the strategy of a game that comes with kibitz."""
    for name in shipped.names():
        said = store.said_at(shipped.HOME / name)
        if said is not None and same_game(str(said[1].get("game")), game):
            return str(shipped.HOME / name)
    return None


def saved_agent(path: str, machine: Machine, at_once: bool = False) -> Agent:
    """The agent that plays a saved strategy, if it is one of this game, or of an action abstraction of it."""
    name = path
    if path == SHIPPED:
        folder = shipped_for(machine.spec)
        if folder is None:
            raise SpecError(f"no strategy of {machine.spec} comes with kibitz: those of {', '.join(shipped.names())} "
                            "do")
        path = folder
    path = str(shipped.resolved(path))
    if not Path(path).is_dir():
        raise ArtefactError(
            f"no saved strategy at {path}: players are {', '.join(names_of(machine))}, where PATH is what `kibitz "
            "solve` or `kibitz train` wrote"
        )
    where = str(Path(path).resolve())
    if store.kind_at(path) == KIND:
        artefact = store.load(path, mmap=True)
        said = artefact.meta.get("game")
        quick = _at_once(artefact, machine, name) if at_once and same_game(str(said), machine.spec) else None
        if quick is not None:
            return quick
        return _translated(said, machine, lambda own: blueprint_agent(_loaded(where, own), own, name))
    profile = Profile.load(path)
    return _translated(profile.meta.get("game"), machine, lambda own: profile_agent(profile, own, name))


def _translated(said: Any, machine: Machine, seat: Callable[[Machine], Compiled]) -> Agent:
    """A strategy of the game that a file names, in `machine`: as it is, or translated from its action abstraction.

    What the file says of bets is put on the game that the user named: no game is opened because a file names it.
    """
    fewer = getattr(machine.rules, "fewer", None)
    few = fewer(said) if fewer is not None and isinstance(said, str) and not same_game(said, machine.spec) else None
    if few is None:
        return seat(machine)
    translated: Agent | None = plugin_of(machine.rules).translated(seat(_machine_of(few, few.spec)), few, machine)
    return seat(machine) if translated is None else translated


def _at_once(artefact: store.Artefact, machine: Machine, name: str) -> Agent | None:
    """The agent that needs no tables, if the file has what it takes."""
    try:
        quick: Agent | None = plugin_of(machine.rules).at_once(artefact, machine.rules, name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtefactError(f"{artefact.path} is not a complete blueprint ({error}); train it again") from None
    return quick


@lru_cache(8)
def _machine_of(rules: Any, spec: str) -> Machine:
    """Made once; rules are equal if their definitions are, whatever they are called."""
    return machine_of(rules)


@lru_cache(8)
def _loaded(path: str, machine: Machine) -> Blueprint:
    return load_blueprint(path, compact=True, game=machine)


def _compiled_of(machine: Machine, player: Any, name: str, table: TableStrategy | None = None) -> Compiled:
    """An agent of the kind that the machine has; Toepen's answer more questions."""
    kind = getattr(machine, "agent_class", None)
    return (Compiled if kind is None else kind())(machine, player, name, table)


def blueprint_agent(blueprint: Blueprint, machine: Machine, name: str) -> Compiled:
    if not same_game(blueprint.machine.spec, machine.spec):
        raise GameError(f"{name} is a blueprint of {blueprint.machine.spec}, not of {machine.spec}")
    blueprint = blueprint.played()
    return _compiled_of(blueprint.machine, blueprint.player(), name, blueprint.strategy)


def profile_agent(profile: Profile, machine: Machine, name: str) -> Compiled:
    """One who plays a profile: its rows go into a hash table."""
    from kibitz.solvers.kernels.players import AVERAGE

    compact = profile.infosets.compact
    if compact is not None and machine.compiled:
        if not hasattr(machine, "definition"):
            raise GameError(f"{name} is a profile of {profile.meta.get('game') or 'poker'}, not of {machine.spec}")
        kind, keys, value = compact.as_table(machine, profile.probabilities)
        view = machine.view(kind)
    else:
        view, keys = machine.profile_keys(profile, name)
        value = np.zeros((len(keys), 2 * machine.actions), np.float32)
        filled = np.arange(machine.actions) < np.asarray(profile.infosets.width)[:, None]
        value[:, machine.actions :][filled] = profile.probabilities
    ordered = np.sort(keys)  # of hold'em there are a hundred million: which comes first is asked only if it matters
    if (ordered[1:] == ordered[:-1]).any():
        _, first = np.unique(keys, return_index=True)
        keys, value = keys[first], value[first]
    del ordered
    table = tables.packed(keys, value)
    rows = TableStrategy(machine, view, table)
    return _compiled_of(machine, player(machine, AVERAGE, view, table), name, rows)


def _built(build: Callable[..., Agent], base: Compiled, options: dict[str, Any], name: str) -> Agent:
    """Call with options by name; `from` is a word of Python, so a parameter of that meaning is called from_..."""
    known = inspect.signature(build).parameters
    begin = next((key for key in known if key.startswith("from_")), "")
    if "from" in options and begin:
        options[begin] = options.pop("from")
    spec = specs.Spec(name.partition("(")[0], {"base": base, "name": name, **options})
    for key in options:
        if key not in known or key in ("base", "name"):
            shown = ["from" if k == begin else k for k in known if k not in ("base", "name")]
            raise specs.unknown(f"option of {spec.name}:", key, shown)
    return specs.call(build, spec)
