"""kill -9 at any moment of anything that saves: what is on disk is whole, and what goes on ends at the same bytes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kills import in_a_child, kill_again_and_again
from test_strength_tables import counting, quiet, right

import kibitz
from kibitz.cards import tables
from kibitz.cli import app
from kibitz.core import store
from kibitz.forms.profile import Profile
from kibitz.solvers import RunOptions
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.checkpoints import checkpoint_meta
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import BlueprintOptions, BlueprintRequest, new_blueprint
from kibitz.solvers.run import solve
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.training import train
from kibitz.stitch import static

SMALL = "toepen(suits=2, ranks=3, hand=2)"
SOLVERS = ("cfr+", "mccfr", "fp", "mccfr(sampling=outcome)", "pcfr+")
KILLS, MANY = 6, 60  # of each case, in the normal suite and in the long one


class Case:
    """What to run, what it leaves on disk, and when that is the whole result."""

    def __init__(self, name: str, place: Path) -> None:
        self.place, self.kinds = place, {}
        getattr(self, name.partition(" ")[0])(*name.split(" ")[1:])

    def command(self, *words: object) -> None:
        app([str(word) for word in words], prog_name="kibitz")

    def solve(self, spec: str) -> None:
        """The function, saving at every block."""
        path = self.place / "c"
        self.kinds = {path: "checkpoint"}
        order = {"iterations": 400, "seed": 1, "threads": 1}
        whole = solve("kuhn", spec, iterations=400, seed=1)

        def body() -> None:
            solve("kuhn", spec, **order, run=RunOptions(path, every=0.0, resume=(path / "manifest.json").exists()))

        self.body = body
        self.finished = lambda: solve("kuhn", spec, **order, run=RunOptions(path, resume=True)).sha256 == whole.sha256

    def solving(self) -> None:
        """The command, with a profile that replaces an older one."""
        path, out = self.place / "c", self.place / "p.profile"
        self.kinds = {path: "checkpoint", out: "profile"}
        whole = solve("leduc", "cfr+", iterations=60)
        options = ("--every", "0.000001", "--out", out, "--quiet")

        def body() -> None:
            if (path / "manifest.json").exists():
                self.command("solve", "--resume", path, *options)
            else:
                self.command("solve", "leduc", "--solver", "cfr+", "--iterations", "60", "--checkpoint", path, *options)

        self.body = body
        self.finished = lambda: Profile.load(out).sha256 == whole.sha256

    def poker(self) -> None:
        """The same on a poker form."""
        path = self.place / "c"
        self.kinds = {path: "checkpoint"}
        game = kibitz.game("poker(file=leduc)")
        whole = solve(game, "dcfr+", iterations=60)

        def going(resume):
            return solve(game, "dcfr+", iterations=60, run=RunOptions(path, every=0.0, resume=resume))

        self.body = lambda: going((path / "manifest.json").exists())
        self.finished = lambda: going(True).sha256 == whole.sha256

    def train(self) -> None:
        path = self.place / "b"
        self.kinds = {path: "blueprint"}
        whole = Blueprint.empty(SMALL, "maximal", 1_000_000)
        whole.train(iterations=1500)
        options = ("--iterations", "1500", "--threads", "1", "--checkpoint-every", "0.000001", "--quiet")

        def body() -> None:
            if (path / "manifest.json").exists():
                self.command("train", "--resume", path, *options)
            else:
                self.command("train", SMALL, "--abstraction", "maximal", "--memory", "1MB", "--out", path, *options)

        self.body = body
        self.finished = lambda: load_blueprint(path).sha256 == whole.sha256

    def rows(self) -> None:
        """Rows by place, and an expert on top of them."""
        path, of = self.place / "b", self.place / "e"
        self.kinds = {path: "blueprint", of: "blueprint"}
        machine = machine_of("poker(file=leduc)", how="rounds")
        whole = new_blueprint(machine, BlueprintRequest(limit=200))
        whole.train(iterations=1500)
        onto = new_blueprint(machine, BlueprintRequest(limit=400, part="cr"), whole)
        onto.train(iterations=1500)
        options = {"iterations": 1500, "threads": 1}

        def body() -> None:
            begun = {file: (file / "manifest.json").exists() for file in (path, of)}
            run = {file: RunOptions(file, every=1e-6, resume=begun[file]) for file in (path, of)}
            train(machine, options=BlueprintOptions(limit=200), run=run[path], **options)
            more = {} if begun[of] else {"options": BlueprintOptions(limit=400), "part": "cr"}
            train(machine, base=str(path), run=run[of], **more, **options)

        self.body = body
        self.finished = lambda: load_blueprint(of, game=machine).sha256 == onto.sha256

    def stitch(self) -> None:
        """Nothing to go on from: it is begun again."""
        out = self.place / "s.profile"
        self.kinds = {out: "profile"}
        words = ("stitch", "kuhn", "--base", "null", "--partition", "prefix(b)", "--iterations", "20", "--json")
        self.command_here(*words, "--out", self.place / "whole.profile")
        whole = Profile.load(self.place / "whole.profile").sha256
        self.body = lambda: self.command(*words, "--out", out)
        self.finished = lambda: Profile.load(out).sha256 == whole

    def sampled(self) -> None:
        """Boards that are sampled, within buckets."""
        path = self.place / "c"
        self.kinds = {path: "checkpoint"}
        order = {"iterations": 40, "seed": 1, "abstraction": "percentile(2)"}
        whole = solve("poker(file=leduc)", "pcs", **order)

        def go_on() -> Profile:
            resume = (path / "manifest.json").exists()
            return solve("poker(file=leduc)", "pcs", **order, run=RunOptions(path, every=0.0, resume=resume))

        self.body = go_on
        self.finished = lambda: go_on().sha256 == whole.sha256

    def experts(self) -> None:
        """Experts in a folder: those that are there are not solved again."""
        keep = self.place / "work"
        self.kinds = {keep / "r-01.profile": "profile", keep / "r-01.checkpoint": "checkpoint"}
        base = solve("poker(file=leduc)", "pcs", iterations=10, abstraction="percentile(2)")
        given = ("poker(file=leduc)", base, "prefix(r, cr)", "all", "percentile(3)")
        how: dict[str, Any] = {"solver": "pcs", "iterations": 10}
        whole = static(*given, **how)
        self.body = lambda: static(*given, **how, keep=keep)
        self.finished = lambda: static(*given, **how, keep=keep).sha256 == whole.sha256

    def command_here(self, *words: object) -> None:
        with pytest.raises(SystemExit):
            self.command(*words)

    def table(self) -> None:
        """A card table, begun, gone on with, and made anew over a good one."""
        home = tables.home()
        self.kinds = {home / "counting": tables.KIND}
        self.body = lambda: tables.build(counting(), threads=2, tell=quiet, every=0.0)
        self.finished = lambda: tables.state(counting()) == "made" and right(tables.whole(counting()))

    def anew(self) -> None:
        home = tables.home()
        tables.build(counting(), tell=quiet)
        self.kinds = {home / "counting": tables.KIND}
        self.body = lambda: tables.build(counting(), threads=2, tell=quiet, every=0.0, anew=True)
        self.finished = lambda: tables.state(counting()) == "made" and right(tables.whole(counting()))

    def store(self) -> None:
        """Versions of one artefact, again and again."""
        path = self.place / "a"
        self.kinds = {path: "x"}

        def body() -> None:
            for v in (1, 2, 1, 2, 3):
                arrays = {"a": np.full(60_000, float(v)), "b": np.full(100_000, v, np.int32), "n": np.array(v)}
                store.save(path, "x", arrays, {"v": v})

        def finished() -> bool:
            held = store.load(path, "x")
            return held.meta["v"] == 3 and (held.arrays["a"] == 3.0).all() and (held.arrays["b"] == 3).all()

        self.body, self.finished = body, finished


CASES = [*(f"solve {spec}" for spec in SOLVERS), "solving", "poker", "sampled", "experts", "train", "rows", "stitch",
         "table", "anew", "store"]  # fmt: skip


def check(name: str, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    case = Case(name, tmp_path)
    assert kill_again_and_again(case.body, case.finished, case.kinds, kills, random.Random(name)) == kills


@pytest.mark.parametrize("name", CASES)
@pytest.mark.some(5)
def test_kill_9_at_any_moment(name, tmp_path, monkeypatch):
    check(name, KILLS, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_kill_9_often(name, tmp_path, monkeypatch):
    check(name, MANY, tmp_path, monkeypatch)


def test_a_good_table_is_there_at_every_moment_of_making_it_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    tables.build(counting(pieces=2), tell=quiet)

    def body() -> None:
        tables.build(counting(pieces=2), threads=1, tell=quiet, every=0.0, anew=True)

    _, moments = in_a_child(body, None)
    for at in range(1, moments + 1, 3):
        in_a_child(body, at)
        assert tables.state(counting(pieces=2)) == "made", at


def test_leftovers_of_the_dead_are_cleared_away(tmp_path):
    """At some moments something is left behind; the next save removes it."""
    path, dirty = tmp_path / "a", 0
    save = lambda v: store.save(path, "x", {"a": np.full(10, v)}, {"v": v})  # noqa: E731
    _, moments = in_a_child(lambda: save(1), None)
    store._remove(path)
    for at in range(1, moments + 1):
        in_a_child(lambda: save(1), at)
        dirty += any(".tmp-" in name for name in os.listdir(tmp_path))
        save(2)
        assert os.listdir(tmp_path) == ["a"] and store.load(path, "x").meta["v"] == 2
        store._remove(path)
    assert dirty > 2


def test_kill_9_of_a_fresh_process(tmp_path):
    """A Python of its own, killed by another once it has printed so many evaluations."""
    code = (
        "import sys; from kibitz.solvers.run import solve; from kibitz.solvers import RunOptions\n"
        "say = lambda now: print(now.iteration, flush=True)\n"
        "run = RunOptions(sys.argv[1], 0.0, sys.argv[2] == '1', progress=say)\n"
        "p = solve('kuhn', 'dcfr', iterations=3000, run=run)\n"
        "print(p.sha256)\n"
    )
    path = tmp_path / "c"
    for evaluations in (20, 15):
        command = [sys.executable, "-c", code, str(path), str(int(path.exists()))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for _ in range(evaluations):
                assert child.stdout.readline()
            child.kill()
    assert 0 < json.loads((path / "manifest.json").read_text())["meta"]["iteration"] < 3000
    done = subprocess.run([sys.executable, "-c", code, str(path), "1"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == solve("kuhn", "dcfr", iterations=3000).sha256
    assert checkpoint_meta(path)["iteration"] == 3000
