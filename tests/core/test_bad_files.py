"""Files and streams under bad conditions: each is a sentence, and nothing is lost."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.cli import app
from kibitz.commands import cell
from kibitz.core import store
from kibitz.core.errors import ArtefactError, RunWarning
from kibitz.forms.choice import form_for
from kibitz.forms.profile import Profile
from kibitz.games.efg import read_efg, write_efg
from kibitz.games.tree import tree_of
from kibitz.solvers import RunOptions, run
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.checkpoints import Keeper, SolverRun, beside, checkpoint_meta
from kibitz.solvers.progress import RunState
from kibitz.solvers.run import SolveRequest, carry_out, solve
from kibitz.solvers.saved_blueprints import load_blueprint

SMALL = "toepen(suits=2, ranks=3, hand=2)"
FEW = ("--memory", "1MB", "--threads", "1")


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()

    def calling(*arguments):
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return calling


@pytest.fixture
def bad(call):
    def calling(*arguments):
        before = sorted(Path().rglob("*"))
        code, out, err = call(*arguments)
        assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (out, err)
        assert sorted(Path().rglob("*")) == before, "nothing is written"
        return err

    return calling


@pytest.fixture
def full_disk(monkeypatch):
    """full_disk(path): from now on there is no room for files below the path; full_disk(None): there is again."""
    real, where = store._replace, [None]

    def replacing(target, data, temporary):
        if where[0] is not None and str(target).startswith(str(Path(where[0]).absolute())):
            temporary.write_bytes(bytes(data)[: len(data) // 2])  # as far as it went
            temporary.unlink()
            raise OSError(errno.ENOSPC, "No space left on device", str(temporary))
        real(target, data, temporary)

    monkeypatch.setattr(store, "_replace", replacing)

    def fill(path):
        where[0] = path

    return fill


# Runs are not written over one another


def test_two_runs_with_one_checkpoint_are_both_kept(tmp_path):
    """The second process passes all checks before the first has saved anything."""
    path, said = tmp_path / "c.checkpoint", []

    def keeper_after(iterations):
        state = RunState()
        carry_out(SolveRequest("kuhn", "cfr+", iterations), state)
        return Keeper(SolverRun(state.solver, form_for("kuhn"), state), path, message=said.append)

    first, second = keeper_after(10), keeper_after(20)
    first.save()
    assert first.path == path and not said
    second.save()
    assert second.path == tmp_path / "c-2.checkpoint" and len(said) == 1 and "c-2" in said[0]
    for keeper, iteration in ((first, 10), (second, 20)):
        assert checkpoint_meta(keeper.path)["iteration"] == iteration
    second.save()  # its own it may replace
    assert len(said) == 1 and sorted(os.listdir(tmp_path)) == ["c-2.checkpoint", "c.checkpoint"]
    third = keeper_after(20)
    third.save()
    assert third.path == tmp_path / "c-3.checkpoint"


def test_two_runs_that_go_on_from_one_checkpoint_are_both_kept(tmp_path):
    path = tmp_path / "c"
    solve("kuhn", "cfr+", iterations=10, run=RunOptions(path))

    def other(look):
        """In the midst of it another process goes on from the same checkpoint, and ends."""
        if look.iteration == 20 and checkpoint_meta(path)["iteration"] == 10:
            solve("kuhn", "cfr+", iterations=50, run=RunOptions(path, resume=True))

    with pytest.warns(RunWarning, match=r"taken by another run in the meantime: this one is saved as .*c-2"):
        late = solve("kuhn", "cfr+", iterations=20, run=RunOptions(path, resume=True, progress=other))
    assert checkpoint_meta(path)["iteration"] == 50 and checkpoint_meta(tmp_path / "c-2")["iteration"] == 20
    assert late.meta["iterations"] == 20


def test_a_run_is_not_begun_over_another(tmp_path):
    solve("kuhn", "cfr+", iterations=10, run=RunOptions(tmp_path / "c"))
    with pytest.raises(ArtefactError, match="holds a run already: continue it with resume=True"):
        solve("kuhn", "cfr+", iterations=5, run=RunOptions(tmp_path / "c"))
    assert checkpoint_meta(tmp_path / "c")["iteration"] == 10


def test_names_beside_others(tmp_path):
    assert beside(tmp_path / "a.checkpoint").name == "a-2.checkpoint"
    (tmp_path / "a-2.checkpoint").symlink_to("nowhere")
    assert beside(tmp_path / "a.checkpoint").name == "a-3.checkpoint"


def test_two_trainings_at_one_place_are_both_kept(call, monkeypatch):
    real, came = Blueprint.train, []

    def training(self, *arguments, **options):
        if not came:  # while this one trains, another begins and ends
            came.append(True)
            call("train", SMALL, *FEW, "--iterations", "100", "--out", "b", "--seed", "7")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Blueprint, "train", training)
    code, out, err = call("train", SMALL, *FEW, "--iterations", "200", "--out", "b", "--json")
    assert code == 0 and err == "note: b was taken by another run in the meantime: this one is saved as b-2\n"
    assert json.loads(out)["out"] == "b-2"
    assert load_blueprint("b").seed == 7 and load_blueprint("b-2").iteration == 200


# Ctrl-C from Python


def test_an_interrupted_solve_says_so(tmp_path):
    def stop(look):
        if look.iteration >= 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(kibitz.Interrupted, match=r"after [34] iterations; the run is not saved") as part:
        solve("kuhn", "cfr+", iterations=400, run=RunOptions(progress=stop))
    assert part.value.saved is None and isinstance(part.value, KeyboardInterrupt)
    assert part.value.profile.meta["interrupted"] is True and 3 <= part.value.profile.meta["iterations"] <= 4
    options = {"abstraction": "JQ.K", "iterations": 400}
    with pytest.raises(kibitz.Interrupted, match=r"saved in .*c, go on with resume=True") as small:
        solve("leduc", "cfr+", run=RunOptions(tmp_path / "c", progress=stop), **options)
    lifted = small.value.profile
    assert small.value.saved == tmp_path / "c" and lifted.meta["interrupted"] is True
    assert lifted[0, "Js:"] == lifted[0, "Qs:"] and lifted.meta["abstraction"] == "JQ.K"
    again = solve("leduc", "cfr+", run=RunOptions(tmp_path / "c", resume=True), **options)
    assert again.sha256 == solve("leduc", "cfr+", abstraction="JQ.K", iterations=400).sha256
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = solve("kuhn", "cfr+", iterations=10)
    assert "interrupted" not in whole.meta
    with pytest.raises(KeyboardInterrupt):
        run.solve_through("kuhn", "cfr+", iterations=400, run=RunOptions(progress=stop))


# Full disks


def test_a_checkpoint_that_cannot_be_saved_ends_nothing(tmp_path, full_disk):
    path = tmp_path / "c"
    solve("kuhn", "cfr+", iterations=10, run=RunOptions(path))
    full_disk(path)
    with pytest.warns(RunWarning, match="the run is not saved: .*No space left on device") as told:
        more = solve("kuhn", "cfr+", iterations=60, run=RunOptions(path, resume=True, every=1e-9))
    assert len(told) == 1, "once"
    assert more.sha256 == solve("kuhn", "cfr+", iterations=60).sha256
    assert checkpoint_meta(path)["iteration"] == 10, "the older one is whole"
    full_disk(None)
    again = solve("kuhn", "cfr+", iterations=60, run=RunOptions(path, resume=True))
    assert again.sha256 == more.sha256 and checkpoint_meta(path)["iteration"] == 60


def test_what_is_solved_is_kept_elsewhere(call, full_disk, tmp_path):
    full_disk(tmp_path / "p.profile")
    full_disk(tmp_path / ".p.profile")
    stitch = ("stitch", "kuhn", "--base", "null", "--partition", "prefix(b)", "--iterations", "9")
    for order in (("solve", "kuhn"), stitch):
        code, _, err = call(*order, "--out", "p.profile")
        assert code == 2 and "No space left on device" in err and "it was saved in" in err
        assert Profile.load(err.rpartition("it was saved in ")[2].strip().removesuffix(" instead")).game == "kuhn"
        assert not Path("p.profile").exists()


def test_what_is_trained_is_kept_elsewhere(call, full_disk, tmp_path):
    order = ("train", SMALL, *FEW, "--iterations", "3000", "--out", "b")
    full_disk(tmp_path / ".b")
    code, _, err = call(*order, "--checkpoint-every", "0.000001")
    lines = err.splitlines()
    assert code == 2 and len(lines) == 2, "one note on the way, one error at the end"
    assert lines[0].startswith("note: the run is not saved: ") and "No space left" in lines[1]
    assert load_blueprint(err.rpartition("it was saved in ")[2].strip().removesuffix(" instead")).iteration == 3000


def test_an_interrupted_run_is_kept_where_there_is_room(call, full_disk, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "interruptible", _stopped_at_once)
    monkeypatch.setattr(sys.modules["kibitz.cli.solve"], "compiled", lambda solver, *others: solver)
    full_disk(tmp_path / "runs")
    code, out, err = call("solve", "kuhn", "--solver", "cfr", "--iterations", "100")
    place = tmp_path / "tmp" / "kibitz" / "kuhn.checkpoint"
    assert code == 130 and "No space left" in err and f"kibitz solve --resume {place}" in out.replace("\n", "")
    assert checkpoint_meta(place)["stop"] == {"iterations": 100.0}


class _stopped_at_once:
    def __enter__(self):
        import threading

        stop = threading.Event()
        stop.set()
        return stop

    def __exit__(self, *error):
        pass


class FullFile(io.StringIO):
    """A file on a disk that is full after some characters."""

    def flush(self):
        if len(self.getvalue()) > 300:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_that_cannot_be_written_ends_nothing(call, monkeypatch):
    module = sys.modules["kibitz.cli.solve"]
    monkeypatch.setattr(module, "open", lambda *arguments, **options: FullFile(), raising=False)
    code, out, err = call("solve", "kuhn", "--solver", "cfr", "--iterations", "50", "--log", "l.jsonl", "--out", "p",
                          "--json")  # fmt: skip
    assert code == 0 and json.loads(out)["iterations"] == 50
    assert err == "note: --log l.jsonl cannot be written: No space left on device; the run continues without it\n"
    assert Profile.load("p").meta["iterations"] == 50


def test_a_log_is_not_cut_by_a_run_that_does_not_begin(call):
    Path("l.jsonl").write_text("older\n")
    code, _, err = call("solve", "kuhn", "--resume", "nothing", "--log", "l.jsonl")
    assert code == 2 and "no saved checkpoint" in err and Path("l.jsonl").read_text() == "older\n"


def test_a_table_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    from test_strength_tables import SIZE, counting, quiet

    from kibitz.cards import tables

    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    assert tables.build(counting(), tell=quiet)
    with pytest.raises(RuntimeError, match="out of paper"):
        tables.build(counting(fails=SIZE - 1), threads=1, tell=quiet, anew=True)
    assert tables.state(counting()) == "made" and not tables.build(counting(), tell=quiet)
    with pytest.raises(RuntimeError, match="out of paper"):
        tables.build(counting(fails=SIZE - 1), threads=1, tell=quiet, every=0.0, anew=True)
    assert (tmp_path / "cards" / "counting.part").exists()
    log: list[int] = []
    assert tables.build(counting(log=log), tell=quiet, anew=True) and 0 < len(log) < SIZE, "it goes on"
    assert sorted(os.listdir(tmp_path / "cards")) == ["counting", "counting.lock"]


# Places that are none


def test_one_place_for_two_things_is_refused(bad):
    assert "--checkpoint and --out name the same path" in bad("solve", "kuhn", "--checkpoint", "x", "--out", "./x")
    assert "--checkpoint and --out name" in bad("solve", "kuhn", "--checkpoint", "x", "--out", "x/y")
    assert "--out and --log name" in bad("solve", "kuhn", "--out", "a.jsonl", "--log", "a.jsonl")
    solve("kuhn", "cfr+", iterations=3, run=RunOptions("c"))
    assert "--out c is a checkpoint" in bad("solve", "--resume", "c", "--out", "c")
    assert "--resume and --out name the same path" in bad("solve", "--resume", "c", "--out", "c/d")


@pytest.mark.parametrize("kind", ["pipe", "device", "file", "folder", "below a file"])
def test_places_that_are_something_else_are_refused(bad, kind, tmp_path):
    place = {"device": Path("/dev/null"), "below a file": tmp_path / "x" / "y"}.get(kind, tmp_path / "x")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind in ("file", "below a file"):
        (tmp_path / "x").write_text("mine")
    elif kind == "folder":
        place.mkdir()
        (place / "letter.txt").write_text("mine")
    for option in ("--out", "--checkpoint"):
        assert f"{option} {place}" in bad("solve", "kuhn", option, place)
    assert "--out" in bad("stitch", "kuhn", "--base", "null", "--partition", "prefix(b)", "--out", place)
    assert "--out" in bad("train", SMALL, "--iterations", "5", "--out", place)
    with pytest.raises(ArtefactError):
        solve("kuhn", "cfr+", iterations=2, run=RunOptions(place))
    with pytest.raises(ArtefactError):
        solve("kuhn", "cfr+", iterations=2).save(place)


@pytest.mark.parametrize("ending", [".efg", ".csv", ".png", ".jsonl", ".txt"])
def test_pipes_are_not_waited_for(bad, ending, tmp_path):
    pipe = tmp_path / f"x{ending}"
    os.mkfifo(pipe)
    if ending == ".csv":
        solve("kuhn", "cfr+", iterations=2).save("k")
    order = {".efg": ("export", "kuhn", pipe), ".csv": ("export", "k", pipe), ".png": ("solve", "kuhn", "--plot", pipe),
             ".jsonl": ("solve", "kuhn", "--log", pipe), ".txt": ("play", SMALL, "--transcript", pipe)}  # fmt: skip
    assert "is a pipe or a device; give the name of a plain file" in bad(*order[ending])


# Export


def test_export_follows_no_link_of_another(tmp_path):
    """Whoever can write to the folder cannot make us write elsewhere."""
    game, victim = kibitz.game("kuhn"), tmp_path / "victim"
    victim.write_text("mine")
    for name in (f".k.efg.{os.getpid()}.part", ".k.efg.part", "k.efg.part"):
        (tmp_path / name).symlink_to(victim)
    write_efg(game, tmp_path / "k.efg")
    assert victim.read_text() == "mine" and tree_of(read_efg(tmp_path / "k.efg")).histories == tree_of(game).histories
    assert len(os.listdir(tmp_path)) == 5
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "k.efg").stat().st_mode & 0o777 == 0o666 & ~mask
    with pytest.raises(kibitz.core.errors.GameError, match="cannot write"):
        write_efg(game, victim / "x.efg")


NAMES = ["=1+1", "+2", "-3", "@SUM(A1)", "\t=1", "\r=1", "'quoted", "plain", "a=b", "", " =x", "=cmd|' /C calc'!A0"]


def test_csv_runs_in_no_spreadsheet_and_reads_back(call):
    class Names:
        players = 1
        spec = "names"

        def root(self):
            return None

        def turn(self, state):
            return 0 if state is None else -2

        def actions(self, state):
            return tuple(NAMES)

        def after(self, state, action):
            return action

        def chance(self, state):
            return []

        def infoset(self, state):
            return "=HYPERLINK(1)"

        def payoff(self, state):
            return [float(len(str(state)))]

    kibitz.solve(Names(), "cfr+", iterations=3).save("n")
    assert call("export", "n", "n.csv")[0] == 0
    with open("n.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for _, infoset, action, probability in rows:
        for text in (infoset, action, probability):
            assert text[:1] not in tuple("=+-@\t\r")
    assert [row[2].removeprefix("'") for row in rows] == NAMES
    assert {row[1].removeprefix("'") for row in rows} == {"=HYPERLINK(1)"}
    assert len({cell(name) for name in NAMES}) == len(NAMES) and cell("raise") == "raise"


# Streams


def run_shell(words, tmp_path, timeout=300):
    line = words.replace("KIBITZ", f"{sys.executable} -m kibitz.cli")
    env = {**os.environ, "PYTHONPATH": str(Path(kibitz.__file__).parents[1])}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=timeout, env=env)


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        ("KIBITZ solve kuhn --out p 2>&-", 0, "kuhn by", ""),
        ("KIBITZ solve whist 2>&-", 2, "", ""),
        ("KIBITZ solve whist 2>/dev/full", 2, "", ""),
        ("KIBITZ solve kuhn --out p <&- >&- 2>&-", 0, "", ""),
        ("KIBITZ games >/dev/full", 2, "", "error: No space left on device\n"),
        ("KIBITZ --version >/dev/full", 2, "", "error: No space left on device\n"),
        ("KIBITZ games | head -1", 0, None, ""),
        (f"KIBITZ play '{SMALL}' <&-", 0, "No hand was finished", ""),
        (f"KIBITZ play '{SMALL}' </dev/null", 0, "No hand was finished", ""),
    ],
)
@pytest.mark.some(4)
def test_closed_and_full_streams(words, code, out, err, tmp_path):
    if "/dev/full" in words and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = run_shell(words, tmp_path)
    assert (done.returncode, done.stderr) == (code, err)
    assert out is None or (out in done.stdout if out else done.stdout == "")
    if "--out p" in words:
        assert Profile.load(tmp_path / "p").game == "kuhn"


# Forged bases


def forged(name):
    """A profile that claims to be Leduc's, with something wrong."""
    leduc, kuhn = solve("leduc", "cfr+", iterations=2), solve("kuhn", "cfr+", iterations=2)
    meta = dict(leduc.meta)
    arrays, head = leduc._arrays(), leduc._meta()
    p = arrays["probabilities"].copy()
    match name:
        case "infosets of another game":
            return kuhn._arrays(), {**kuhn._meta(), "tree": meta["tree"], "game": "leduc"}
        case "labels of another game":
            infosets = replace(leduc.infosets, labels=[f"{label}x" for label in leduc.infosets.labels])
            other = Profile(infosets, leduc.probabilities, meta)
            return other._arrays(), other._meta()
        case "actions of another game":
            return arrays, {**head, "actions": [[f"{a}x" for a in names] for names in head["actions"]]}
        case "seats cut elsewhere":
            return {**arrays, "seat_start": arrays["seat_start"] + np.array([0, 1, 0], np.int32)}, head
        case "nan":
            p[3] = np.nan
        case "sums":
            p[3] += 0.5
        case "negative":
            p[0], p[1] = 2.0, -1.0
        case "short":
            p = p[:-2]
        case "two-dimensional":
            p = p[:, None]
        case "abstraction":
            return arrays, {**head, "abstraction": {"a": 1}}
        case "no abstraction there is":
            return arrays, {**head, "abstraction": "QQ.K(("}
    return {**arrays, "probabilities": p}, head


FORGED = ["infosets of another game", "labels of another game", "actions of another game", "seats cut elsewhere", "nan",
          "sums", "negative", "short", "two-dimensional", "abstraction", "no abstraction there is"]  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.some(5)
def test_a_forged_base_is_refused_in_a_sentence(bad, name):
    arrays, meta = forged(name)
    store.save("f.profile", "profile", arrays, meta)
    for seats in ("each", "all"):
        if seats == "all" and "abstraction" in name:
            continue  # it is not read then
        bad("stitch", "leduc", "--base", "f.profile", "--partition", "prefix(r)", "--seats", seats, "--iterations", "1")
