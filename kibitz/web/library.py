"""What the server offers: the strategies and runs in one folder, and some strategies that it computes itself.

Clients refer to everything by id, never by path. Ids are looked up among the files that a scan of the folder found.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kibitz.core import store
from kibitz.core.errors import KibitzError, SpecError
from kibitz.evaluate.match import Agent
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import InfosetValues
from kibitz.forms.strategy import Strategy, probabilities_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.machine import Machine
from kibitz.games.trusted import recalled
from kibitz.play.agents import SHIPPED, agents_of, shipped_for
from kibitz.play.agents import agent as agent_of
from kibitz.play.table import Uniform, compiled
from kibitz.solvers.machines import machine_of
from kibitz.web.errors import Missing

STRATEGIES = ("profile", "blueprint")
RUNS = ("checkpoint", "tournament")
SPOTS = ("spot", "multiway", "preflop")
FILES = (".jsonl", ".json", ".log")
DEEPEST, MOST_FOLDERS, MOST_FOUND = 5, 5_000, 1_000  # of a scan
FRESH = 2.0  # seconds for which a scan is good
OPEN = 6  # strategies that stay in memory
MOST_COLUMNS = 30_000_000  # of a profile whose infosets are valued
MOST_SAID = 200  # characters of what a file says of itself
AT_ONCE = 300_000  # the same, for one that is valued while a client waits
# Strategies that need no file of the user's: (id, name, game, player). Those marked solved are solved on the first
# request, and those marked shipped come with kibitz.
MADE = (
    ("made-leduc", "Leduc, solved on demand", "leduc", "solved"),
    ("made-kuhn", "Kuhn, solved on demand", "kuhn", "solved"),
    ("shipped-limit-2", "Heads-up limit hold'em, trained", "poker(file=holdem.limit.2p)", SHIPPED),
    ("shipped-limit-3", "Three-player limit hold'em, trained", "poker(file=holdem.limit.3p)", SHIPPED),
    ("rule-toepen", "Toepen, rule-based", "toepen", "rule"),
    ("uniform-leduc", "Leduc, uniform random", "leduc", "uniform"),
    ("uniform-rhode-island", "Rhode Island, uniform random", "rhode_island", "uniform"),
    ("uniform-limit-2", "Heads-up limit hold'em, uniform random", "poker(file=holdem.limit.2p)", "uniform"),
    ("uniform-limit-3", "Three-player limit hold'em, uniform random", "poker(file=holdem.limit.3p)", "uniform"),
    ("uniform-no-limit-2", "Heads-up no-limit hold'em, uniform random", "poker(file=holdem.nolimit.2p)", "uniform"),
    ("uniform-toepen", "Toepen, uniform random", "toepen", "uniform"),
    ("uniform-liars-dice", "Liar's Dice, uniform random", "liars_dice", "uniform"),
)


@dataclass(frozen=True)
class Entry:
    """A strategy or run that clients can refer to."""

    id: str
    name: str
    kind: str  # a kind of artefact, the ending of a file, or "made"
    game: str = ""
    path: Path | None = field(default=None, repr=False)
    player: str = ""  # of those that are made: solved, shipped, rule, uniform
    meta: dict[str, Any] = field(default_factory=dict, repr=False)
    changed: float = 0.0  # when it was last written

    def data(self) -> dict[str, Any]:
        """What clients learn about it. The path is not included."""
        known = {key: self.meta.get(key) for key in ("solver", "iterations", "nash_conv", "abstraction")}
        said = {key: _short(value) for key, value in known.items()}
        stitched = isinstance(self.meta.get("stitch"), dict) or bool(_parts(self.meta))
        return {"id": self.id, "name": self.name, "kind": self.kind, "game": self.game, "stitched": stitched,
                "planned": planned(self.meta) is not None, **said}  # fmt: skip


def _short(value: Any) -> Any:
    """A text or a number from a file, shortened. The file is not trusted."""
    if isinstance(value, str):
        return value[:MOST_SAID]
    return value if isinstance(value, int | float) else None


def planned(meta: dict[str, Any]) -> dict[str, Any] | None:
    """What a saved strategy says of the plan that it was stitched by, unchecked; None if nothing."""
    how = meta.get("stitch")
    picture = how.get("picture") if isinstance(how, dict) else None
    return picture if isinstance(picture, dict) else None


def _parts(meta: dict[str, Any]) -> Sequence[str]:
    rows = meta.get("rows")
    parts = rows.get("parts") if isinstance(rows, dict) else None
    return parts if isinstance(parts, list) else []


@dataclass
class LibraryStrategy:
    """A loaded strategy, with the rules of its game."""

    entry: Entry
    rules: Game
    machine: Machine | None  # none where the game is too large for one
    agent: Agent
    saved: Profile | None = None
    _valuing: Future[InfosetValues] | None = None

    @property
    def spec(self) -> str:
        return getattr(self.rules, "spec", "") or self.entry.game

    @cached_property
    def profile(self) -> Profile | None:
        """The strategy as a profile of the whole game, if there is one or it can be computed."""
        if self.saved is not None:
            return self.saved
        tree, agent = getattr(self.machine, "tree", None), self.agent
        if tree is None or not isinstance(agent, Strategy) or tree.infosets.columns > AT_ONCE:
            return None
        return Profile(tree.infosets, probabilities_of(agent, tree.infosets), {"game": self.spec, "tree": tree.digest})

    def values(self, pool: ThreadPoolExecutor) -> tuple[InfosetValues | None, str]:
        """The values of the infosets, or None and the reason."""
        profile = self.profile
        if profile is None:
            return None, "not computed: the game is too large"
        compact = profile.infosets.compact
        if compact is not None and not compact.of_game(self.rules):
            return None, "not computed: the strategy is defined for buckets of an abstraction, not for single hands"
        if profile.infosets.columns > MOST_COLUMNS:
            return None, "not computed: the strategy is too large"
        if self._valuing is None:
            from kibitz.evaluate.infosets import infoset_values

            self._valuing = pool.submit(infoset_values, self.rules, profile)
        if not self._valuing.done() and profile.infosets.columns > AT_ONCE:
            return None, "being computed: it appears in a moment"
        try:
            return self._valuing.result(), ""
        except KibitzError as error:
            return None, f"not computed: {error}"

    @property
    def stitching(self) -> str:
        """The partition of a stitched strategy, as prefix(...) or private(...); empty for others."""
        meta = self.entry.meta
        how = meta.get("stitch")
        if isinstance(how, dict):
            return str(how.get("partition", ""))
        return f"prefix({', '.join(map(str, parts))})" if (parts := _parts(meta)) else ""


class Library:
    """Everything that the server offers. games: further games, such as my_game.py:MyGame."""

    def __init__(
        self, folder: Path | None, games: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder = None if folder is None else folder.resolve()
        self.clock, self.pool = clock, ThreadPoolExecutor(1, "kibitz-values")
        self._own = {text: make_game(text) for text in games}
        self._lock, self._opening = threading.Lock(), threading.RLock()
        self._found: dict[str, Entry] = {}
        self._until = -1.0
        self.read: dict[str, tuple[Any, dict[str, Any] | None]] = {}  # runs by id, as `runs.listed` found them
        self._open: OrderedDict[str, LibraryStrategy] = OrderedDict()
        self._games: dict[str, tuple[Game, Machine | None]] = {}
        built = [Entry(id, name, "made", game, player=player) for id, name, game, player in MADE]
        self._made = [each for each in built if each.player != SHIPPED or shipped_for(each.game) is not None]
        for number, text in enumerate(games):
            self._made.append(Entry(f"own-{number}", f"{text}, uniform random", "made", text, player="uniform"))

    # What there is

    def entries(self) -> dict[str, Entry]:
        """Everything by id. The folder is scanned again if the last scan is old."""
        with self._lock:
            if self.clock() >= self._until:
                self._found = {entry.id: entry for entry in self._scan()}
                self._until = self.clock() + FRESH
            return {**self._found, **{entry.id: entry for entry in self._made}}

    def strategies(self) -> list[Entry]:
        """All strategies, saved ones first."""
        return [entry for entry in self.entries().values() if entry.kind in (*STRATEGIES, "made")]

    def runs(self) -> list[Entry]:
        return [entry for entry in self.entries().values() if entry.kind in (*RUNS, *FILES)]

    def spots(self) -> list[Entry]:
        """Saved solutions of spots, for two players or three, and of play before the flop."""
        return [entry for entry in self.entries().values() if entry.kind in SPOTS]

    def entry(self, id: str) -> Entry:
        entries = self.entries()
        if id not in entries:
            raise Missing("this entry no longer exists: reload the page")
        return entries[id]

    def _scan(self) -> Iterator[Entry]:
        if self.folder is None or not self.folder.is_dir():
            return
        artefacts = read = 0  # files are counted apart: a folder of other people's JSON hides no strategy
        for seen, (top, folders, files) in enumerate(os.walk(self.folder)):
            here = Path(top)
            below = here.relative_to(self.folder)
            said = store.said_at(here) if "manifest.json" in files else None
            if said is not None or len(below.parts) >= DEEPEST or seen > MOST_FOLDERS:
                folders.clear()
            else:
                folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            if said is not None:
                kind, meta = said
                if kind in (*STRATEGIES, *RUNS, *SPOTS):
                    artefacts += 1
                    yield self._entry(here, kind, meta)
            else:
                for name in sorted(files) if read < MOST_FOUND else ():
                    if name.endswith(FILES) and not name.startswith(".") and not (here / name).is_symlink():
                        read += 1
                        if read > MOST_FOUND:
                            break
                        yield self._entry(here / name, Path(name).suffix, {})
            if artefacts >= MOST_FOUND:
                return

    def _entry(self, path: Path, kind: str, meta: dict[str, Any]) -> Entry:
        assert self.folder is not None
        below = path.relative_to(self.folder)
        name = os.fsencode(below if below.parts else path.name).decode("utf-8", "replace")  # a name may be any bytes
        for ending in (".profile", ".blueprint", ".checkpoint", ".spot", ".preflop"):
            name = name.removesuffix(ending)
        said = meta.get("game")
        try:
            changed = (path / "manifest.json" if path.is_dir() else path).stat().st_mtime
        except OSError:
            changed = 0.0
        id = hashlib.sha256(kind.encode() + b"\0" + os.fsencode(below)).hexdigest()[:12]
        return Entry(id, name, kind, said if isinstance(said, str) else "", path, meta=meta, changed=changed)

    # Games and strategies

    def game(self, spec: str) -> tuple[Game, Machine | None]:
        """The rules of a game and its machine, by spec."""
        with self._opening:
            if spec not in self._games:
                own = next((g for t, g in self._own.items() if spec in (t, getattr(g, "spec", ""))), None)
                rules = own if own is not None else make_game(recalled(spec, "the strategy", "--game GAME"))
                machine = compiled(rules)
                if machine is None and not hasattr(rules, "machine"):
                    machine = machine_of(rules)
                self._games[spec] = rules, machine
            return self._games[spec]

    def strategy(self, id: str) -> LibraryStrategy:
        """The strategy with an id, loaded. The last few stay in memory."""
        entry = self.entry(id)
        with self._opening:
            opened = self._open.get(id)
            if opened is None or opened.entry.changed != entry.changed:
                if entry.kind not in (*STRATEGIES, "made"):
                    raise Missing("this entry is not a strategy")
                opened = self._opened(entry)
                self._open[id] = opened
                while len(self._open) > OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(id)
            return opened

    def _opened(self, entry: Entry) -> LibraryStrategy:
        rules, machine = self.game(entry.game)
        if entry.path is None:
            if machine is None:
                if entry.player != "uniform":
                    raise SpecError(f"{entry.game} is too large for the {entry.player} player")
                return LibraryStrategy(entry, rules, None, Uniform())
            if entry.player != "solved":
                player = agent_of(entry.player, machine, at_once=True)
                player = _named(player, entry.name) if entry.player == SHIPPED else player
                return LibraryStrategy(entry, rules, machine, player)
            from kibitz.solvers.run import solve_through

            profile: Profile = solve_through(rules, "cfr+", until=1e-3)
            return LibraryStrategy(entry, rules, machine, _named(agent_of(profile, machine), entry.name), profile)
        if machine is None:
            raise SpecError(f"{entry.game} is too large: its saved strategies cannot be opened")
        if entry.kind == "profile":
            profile = Profile.load(entry.path)
            return LibraryStrategy(entry, rules, machine, _named(agent_of(profile, machine), entry.name), profile)
        return LibraryStrategy(entry, rules, machine, _named(agent_of(str(entry.path), machine), entry.name))

    def searches(self, entry: Entry) -> bool:
        """Whether a strategy can also be played with search."""
        machine = self._games.get(entry.game, (None, None))[1]
        return entry.path is not None and machine is not None and "search" in agents_of(machine)

    def searcher(self, id: str, seconds: float) -> Agent:
        """A new agent for one table that searches with a saved strategy as its blueprint."""
        strategy = self.strategy(id)
        if strategy.machine is None or strategy.entry.path is None or "search" not in agents_of(strategy.machine):
            raise SpecError("this strategy cannot be played with search: choose it without search")
        build = agents_of(strategy.machine)["search"][0]
        return build(base=strategy.agent, name=f"{strategy.entry.name} with search", seconds=seconds)


def _named(agent: Any, name: str) -> Agent:
    agent.name = name
    return agent  # type: ignore[no-any-return]
