"""What the fuzz reads: small good examples of each kind, how they are harmed, and what is done with them.

| target | share | what is run |
|---|---|---|
| profile | 25% | `Profile.load`, and of one that loads what it is worth, what `show` prints, the name of its game |
| poker | 1% | the same for a profile of a poker form |
| checkpoint | 15% | `checkpoint_meta`, what `kibitz solve --resume` takes from it, and its state into a solver |
| blueprint | 10% | `load_blueprint` |
| table | 9% | `store.load`, mapped, and `Recipe.fits` |
| efg | 15% | `read_efg` of the text, and a layout of at most 3,000 histories |
| game | 10% | `acpc.parse` of the text |
| spec | 15% | `specs.parse`, the name as of a file (`recalled`), the game or solver that it builds |

Artefacts are harmed as bytes, as JSON or as arrays; the last two with checksums made anew, so that what is harmed gets
past them.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzz import EXTREMES, mutated, mutated_json

import kibitz
from kibitz.cards.tables import Recipe
from kibitz.cli.solve import SolveOrder, resumed
from kibitz.commands import show
from kibitz.core import spec as specs
from kibitz.core import store
from kibitz.core.errors import KibitzError
from kibitz.evaluate import report
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games import game
from kibitz.games.efg import read_efg, write_efg
from kibitz.games.tree import lay_out, tree_of
from kibitz.games.trusted import recalled
from kibitz.poker.rules import acpc
from kibitz.report.text import head
from kibitz.solvers import SOLVERS, RunOptions, Task, make
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.checkpoints import SolverRun, checkpoint_meta
from kibitz.solvers.progress import RunState
from kibitz.solvers.run import SolveRequest
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.tables import LEAST_ROWS, row_bytes

DEFINITIONS = Path(kibitz.__file__).parent / "poker" / "rules" / "definitions"
SPECS = [
    "kuhn", "kuhn(players=3)", "leduc(players=3, ranks=4, bets=[2, 4], suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3, points_order=descending, returns_type=win_loss)",
    "matrix(payoffs=[[1, -1], [-1, 1]], names=[a, b])",
    "matrix(payoffs=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]])", "rhode_island(ranks=3, suits=2)", "poker(file=kuhn)",
    'poker(file="leduc")', "toepen(suits=2, ranks=2, hand=2)", "openspiel:kuhn_poker(players=2)",
    "openspiel:goofspiel(num_cards=3,points_order=random)", "my_game.py:Class(size=3)", "a/b.efg",
    "c.game", "cfr+", "dcfr(alpha=1.5, beta=0)",
    "mccfr(sampling=outcome, explore=0.6)", "cfr(updates=simultaneous, averaging=linear, delay=3)",
    "lp", "pdcfr+(gamma=5)",
]  # fmt: skip
EFG = r"""EFG 2 R "An \"odd\" game" { "Ann" "Bob" }
"a comment
of two lines"
c "ROOT" 1 "weather" { "rain" 1/4 "sun" 0.75 } 0
p "" 1 1 "Ann, either way" { "stay" "go" } 0
t "" 1 "home" { 10, 2.5 }
p "" 2 7 "Bob" { "l" "r" } 2 "fare" { -1 0 }
t "" 1
t "" 0
p "" 1 1
  0
t "" 3 "" { 1/3 -1/3 } p "" 2 7 2 t "" 3 t "" 1 "home" { 10 5/2 }
"""


@dataclass
class Target:
    make: Callable[[random.Random], Any]
    read: Callable[[Any], None]


class Artefact:
    """A good artefact on disk and in memory, and its harmed copies."""

    def __init__(self, path: Path, broken: Path) -> None:
        self.broken = broken
        self.manifest = json.loads((path / "manifest.json").read_text())
        self.text = (path / "manifest.json").read_bytes()
        self.bytes = {name: (path / entry["file"]).read_bytes() for name, entry in self.manifest["arrays"].items()}

    def make(self, rng: random.Random) -> Path:
        """A harmed copy in the case's folder."""
        shutil.rmtree(self.broken, ignore_errors=True)
        self.broken.mkdir()
        how = rng.random()
        manifest, content = self.manifest, dict(self.bytes)
        text: bytes | None = None
        if how < 0.25:
            text = mutated(self.text, rng)
        elif how < 0.70:
            manifest = dict(manifest, **{key: mutated_json({key: manifest[key]}, rng).get(key)
                                         for key in [rng.choice(("meta", "meta", "meta", "arrays"))]})  # fmt: skip
        else:
            name = rng.choice(list(content))
            content[name] = self._array(content[name], manifest["arrays"][name]["dtype"], rng)
            manifest = json.loads(self.text)
            entry = manifest["arrays"][name]
            if len(content[name]) != entry["bytes"] or rng.random() < 0.1:
                self._reshape(entry, len(content[name]), rng)
        if text is None:
            with contextlib.suppress(TypeError, AttributeError, KeyError, ValueError):
                manifest = sealed(manifest, content)
            text = json.dumps(manifest).encode()
        (self.broken / "manifest.json").write_bytes(text)
        named = manifest.get("arrays") if isinstance(manifest, dict) else None
        for name, data in content.items():
            entry = named.get(name) if isinstance(named, dict) else None
            file = entry.get("file") if isinstance(entry, dict) else None
            if not isinstance(file, str) or "/" in file or "\0" in file or not 0 < len(file) < 200:
                file = self.manifest["arrays"][name]["file"]
            (self.broken / file).write_bytes(data)
        if how > 0.95:
            self._harm_file(rng)
        return self.broken

    def _array(self, data: bytes, dtype: str, rng: random.Random) -> bytes:
        """The bytes of an array: some numbers extreme, more or fewer of them, or bytes at random."""
        if rng.random() < 0.3:
            return mutated(data, rng)
        array = np.frombuffer(data, dtype).copy()
        for _ in range(rng.choice((1, 1, 3, 20)) if len(array) else 0):
            value = rng.choice(EXTREMES)
            if array.dtype.kind == "f":
                value = rng.choice((np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320, 2.0, 0.3))
            at = rng.randrange(len(array))
            with contextlib.suppress(TypeError, ValueError, OverflowError), np.errstate(all="ignore"):
                array[at] = value if rng.random() < 0.7 else array[at] + 1
        return array.tobytes()

    def _reshape(self, entry: dict[str, Any], size: int, rng: random.Random) -> None:
        dtype = entry["dtype"] if rng.random() < 0.7 else rng.choice(store.DTYPES)
        count = size // np.dtype(dtype).itemsize
        entry["dtype"], entry["bytes"] = dtype, size
        entry["shape"] = rng.choice(([count], [count], [1, count], [count, 1], [], [0, count], [-count], [count] * 2))

    def _harm_file(self, rng: random.Random) -> None:
        """A file that is missing, or is something else."""
        path = self.broken / rng.choice(os.listdir(self.broken))
        path.unlink()
        how = rng.randrange(5)
        if how == 1:
            path.symlink_to("/etc/passwd")
        elif how == 2:
            path.mkdir()
        elif how == 3:
            os.mkfifo(path)
        elif how == 4:
            path.touch()
            os.truncate(path, 1 << 42)


def sealed(manifest: dict[str, Any], content: dict[str, bytes]) -> dict[str, Any]:
    """A manifest whose checksums and file names are those of what it says and of the arrays."""
    made = json.loads(json.dumps(manifest))
    for name, entry in made["arrays"].items():
        if name in content and isinstance(entry, dict):
            entry["sha256"] = hashlib.sha256(content[name]).hexdigest()
            entry["file"] = f"{name}-{entry['sha256'][:16]}.bin"
    made["digest"] = store._digest(made["arrays"], made["meta"])
    return made


class World:
    """All targets, with their good examples in a folder."""

    def __init__(self, folder: Path) -> None:
        good, broken = folder / "good", folder / "broken"
        kibitz.solve("kuhn", "cfr", iterations=3).save(good / "profile")
        kibitz.solve("kuhn", "lp").save(good / "profile2")
        kibitz.solve("poker(file=kuhn)", "cfr", iterations=2).save(good / "poker")
        kibitz.solve("kuhn", "cfr+", iterations=5, run=RunOptions(good / "checkpoint"))
        made = Blueprint.empty("toepen(suits=2, ranks=2, hand=2)", "null", LEAST_ROWS * row_bytes(4))
        made.train(iterations=50)
        made.save(good / "blueprint")
        shapes = {"each": ("<u2", (4, 3)), "all": ("<f8", (5,))}
        self.recipe = Recipe("table", "", 1, shapes, 1, lambda arrays, lock: void)
        tables = {name: np.arange(np.prod(shape)).reshape(shape).astype(dtype)
                  for name, (dtype, shape) in self.recipe.arrays.items()}  # fmt: skip
        store.save(good / "table", "card-table", tables, self.recipe.meta)
        self.form = form_of(tree_of(game("kuhn")))
        write_efg(game("kuhn"), good / "kuhn.efg")
        self.efg = [EFG.encode(), (good / "kuhn.efg").read_bytes()]
        self.games = [path.read_bytes() for path in sorted(DEFINITIONS.glob("*.game"))]

        def artefact(name: str, read: Callable[[Path], None]) -> Target:
            return Target(Artefact(good / name, broken).make, read)

        self.targets: list[tuple[float, str, Target]] = [
            (13, "profile", artefact("profile", self.profile)),
            (12, "profile", artefact("profile2", self.profile)),
            (1, "poker", artefact("poker", self.profile)),
            (15, "checkpoint", artefact("checkpoint", self.checkpoint)),
            (10, "blueprint", artefact("blueprint", lambda path: void(load_blueprint(path, compact=True)))),
            (9, "table", artefact("table", self.table)),
            (15, "efg", Target(lambda rng: self.text(self.efg, rng), self.read_efg)),
            (10, "game", Target(lambda rng: self.text(self.games, rng), lambda text: void(acpc.parse(text, "a.game")))),
            (15, "spec", Target(lambda rng: self.text([text.encode() for text in SPECS], rng), self.spec)),
        ]
        self.weights = [weight for weight, _, _ in self.targets]

    def pick(self, rng: random.Random) -> tuple[str, Target]:
        return rng.choices([(name, target) for _, name, target in self.targets], self.weights)[0]

    def warm_up(self) -> None:
        """Everything once, unharmed and harmed, so that compiling and importing are not counted."""
        for _, _, target in self.targets:
            for k in range(30):
                with contextlib.suppress(KibitzError, Exception):
                    target.read(target.make(random.Random(k)))

    @staticmethod
    def text(good: list[bytes], rng: random.Random) -> str:
        return mutated(rng.choice(good), rng, rng.choice(good)).decode("utf-8", "replace")

    def profile(self, path: Path) -> None:
        held = Profile.load(path)
        with contextlib.suppress(KibitzError):
            if recalled(held.game, path, "--game") == "kuhn":
                report(self.form, held)
        head(held)
        json.dumps(show(held, limit=3), allow_nan=False)

    def checkpoint(self, path: Path) -> None:
        meta = checkpoint_meta(path)
        order = SolveOrder(SolveRequest(""))
        with contextlib.suppress(KibitzError):
            resumed(order, path, None, None)
        solver = make(meta["solver"], Task(None, self.form, seed=meta["seed"]))
        SolverRun(solver, self.form, RunState()).restore(path, meta["seed"])

    def table(self, path: Path) -> None:
        found = store.load(path, "card-table", mmap=True)
        self.recipe.fits(found.arrays, found.meta)
        del found

    @staticmethod
    def read_efg(text: str) -> None:
        if text.lstrip().startswith("EFG"):  # anything else would be the name of a file
            lay_out(read_efg(text), limit=3_000)

    @staticmethod
    def spec(text: str) -> None:
        with contextlib.suppress(KibitzError):
            again = recalled(text, "a file", "--game")
            if not again.startswith("openspiel:"):
                game(again)
        parsed = specs.parse(text)
        if parsed.name in SOLVERS:
            module, _, inner = SOLVERS[parsed.name][0].partition(":")
            specs.call(getattr(importlib.import_module(module), inner), parsed)


def void(_: Any) -> None:
    """What a target makes is not kept."""
