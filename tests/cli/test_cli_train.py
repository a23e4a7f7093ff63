"""kibitz train: what it prints and keeps, resuming after Ctrl-C, and errors in one line."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from commands import PATIENCE, Call, bad, child, data, good
from terminal import shown_until

from kibitz.cli.train import TrainOrder, bytes_of, continuation
from kibitz.core.errors import SolverError
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.shards import Sharding, rounds

SMALL = "toepen(suits=2, ranks=3, hand=2)"
FEW = ("--memory", "1MB", "--abstraction", "maximal", "--threads", "1")


def test_it_says_what_came_of_it(call: Call) -> None:
    out = good(call, "train", SMALL, *FEW, "--iterations", "300", "--out", "deep/s.blueprint")
    assert out.startswith(f"{SMALL} by maximal: 300 iterations")
    assert re.search(r"decisions +[\d,]+ visited, [\d,]+ a second", out)
    assert re.search(r"rows +[\d,]+ in a table of 1\.0 MB, with room for 25,000", out)
    assert "kibitz train --resume deep/s.blueprint" in out
    held = load_blueprint("deep/s.blueprint")
    assert held.iteration == 300 and held.abstraction == "maximal" and held.capacity == 25_000
    assert held.seed == 0 and held.full == "evict"


def test_json_and_the_same_bytes(call: Call) -> None:
    options = (*FEW, "--iterations", "1200", "--seed", "3", "--full", "refuse")
    one = data(call, "train", SMALL, *options, "--out", "one")
    two = data(call, "train", SMALL, *options, "--out", "two", "--checkpoint-every", "0.001")
    assert one["sha256"] == two["sha256"] == load_blueprint("two").sha256
    assert one["game"] == SMALL and one["seed"] == 3 and one["full"] == "refuse" and one["threads"] == 1
    assert one["iterations"] == 1200 and one["visited"] > 10_000 and one["visited_per_second"] > 0
    assert 0 < one["rows"] <= one["capacity"] == 25_000 and one["bytes"] <= 1_000_040
    assert one["evicted"] == one["refused"] == 0
    assert one["out"] == "one" and not one["interrupted"] and one["continue"] is None
    third = data(call, "train", SMALL, *FEW, "--iterations", "1200", "--seed", "4", "--out", "three")
    assert third["sha256"] != one["sha256"]


def test_quiet_and_many_threads(call: Call) -> None:
    out = good(call, "train", SMALL, "--memory", "1MB", "--seconds", "0.3", "--threads", "3", "--quiet", "--out", "q")
    held = load_blueprint("q")
    assert out == "" and held.iteration > 0 and held.abstraction == "outlook"


def test_resume_goes_on_with_what_it_was(call: Call) -> None:
    whole = data(call, "train", SMALL, *FEW, "--iterations", "2100", "--seed", "9", "--out", "whole")
    good(call, "train", SMALL, *FEW, "--iterations", "700", "--seed", "9", "--out", "part")
    on = data(call, "train", "--resume", "part", "--iterations", "1500", "--threads", "1")
    assert on["seed"] == 9 and on["abstraction"] == "maximal" and on["out"] == "part"
    on = data(call, "train", SMALL, "--resume", "part", *FEW, "--iterations", "2100", "--out", "copy")
    assert on["sha256"] == whole["sha256"] and on["out"] == "copy"
    assert load_blueprint("part").iteration == 1500, "what was gone on from stays, if it goes on elsewhere"
    out = good(call, "train", "--resume", "copy", "--iterations", "2100")
    assert "there already" in out and load_blueprint("copy").sha256 == whole["sha256"]
    on = data(call, "train", "--resume", "copy", "--seconds", "0.2", "--threads", "1")
    assert on["iterations"] > 2100


def test_a_full_table_is_told(call: Call) -> None:
    game = "toepen(suits=3, ranks=3, hand=3)"
    options = ("--memory", "50KB", "--abstraction", "null", "--iterations", "300", "--threads", "1")
    assert "gave way to others" in good(call, "train", game, *options, "--out", "e")
    assert "were refused" in good(call, "train", game, *options, "--full", "refuse", "--out", "r")


def test_ctrl_c_and_going_on_give_the_same_bytes(tmp_path: Path) -> None:
    """A separate process is interrupted, and resumed with the command that it printed."""
    options = ("--iterations", "1000000000", "--threads", "1", "--memory", "2MB", "--abstraction", "maximal")
    first = child("train", SMALL, *options, "--out", "b", "--checkpoint-every", "0.1", cwd=tmp_path)
    while not (tmp_path / "b" / "manifest.json").exists() and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=PATIENCE)
    assert (first.returncode, err) == (130, "")
    command = out.splitlines()[-1].strip()
    assert command == "kibitz train --resume b --threads 1 --iterations 1000000000 --checkpoint-every 0.1"
    at = load_blueprint(tmp_path / "b").iteration
    assert at > 0
    last = str(at + 500)
    second = child(*command.replace("1000000000", last).split()[1:], "--json", cwd=tmp_path)
    out, err = second.communicate(timeout=PATIENCE)
    assert (second.returncode, err) == (0, "")
    whole = Blueprint.empty(SMALL, "maximal", 2_000_000)
    whole.train(iterations=at + 500)
    assert json.loads(out)["sha256"] == whole.sha256 == load_blueprint(tmp_path / "b").sha256


def test_the_command_that_goes_on() -> None:
    order = TrainOrder(None, 411.6, 2, 30.0, Path("my runs/b"))
    assert continuation(order, "toepen") == "kibitz train --resume 'my runs/b' --threads 2 --seconds 412"
    order = TrainOrder(500, None, 2, 30.0, Path("b"), "gpu")
    assert continuation(order, "toepen") == "kibitz train --resume b --threads 2 --iterations 500 --device gpu"


def test_shards_give_the_same_bytes_on_any_number_of_cores(call: Call) -> None:
    words = ("--memory", "1MB", "--abstraction", "maximal", "--shards", "3", "--merge-every", "20")
    one = data(call, "train", SMALL, *words, "--iterations", "1500", "--on", "local:1", "--out", "one")
    two = data(call, "train", SMALL, *words, "--iterations", "600", "--on", "local:2", "--out", "two")
    assert (two["shards"], two["merge_every"], two["iterations"]) == (3, 20, 600)
    two = data(call, "train", "--resume", "two", "--shards", "3", "--merge-every", "20", "--iterations", "1500")
    assert one["sha256"] == two["sha256"] == load_blueprint("two").sha256


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_shards_that_are_stopped_go_on_from_a_merge(tmp_path: Path, number: signal.Signals) -> None:
    """A separate process is interrupted or killed, and what is saved is trained further."""
    words = ("--memory", "2MB", "--abstraction", "maximal", "--shards", "2", "--merge-every", "50", "--on", "local:2")
    first = child("train", SMALL, *words, "--iterations", "1000000000", "--out", "b", "--checkpoint-every", "0.1",
                  cwd=tmp_path)  # fmt: skip
    while not (tmp_path / "b" / "manifest.json").exists() and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(number)
    out, _ = first.communicate(timeout=PATIENCE)
    if number == signal.SIGINT:
        assert first.returncode == 130
        assert out.splitlines()[-1].strip() == (
            "kibitz train --resume b --shards 2 --merge-every 50 --on local:2 --iterations 1000000000 "
            "--checkpoint-every 0.1"
        )
    at = load_blueprint(tmp_path / "b").iteration
    assert at > 0 and at % 100 == 0
    again = ("--shards", "2", "--merge-every", "50", "--iterations", str(at + 200), "--json")
    out, err = child("train", "--resume", "b", *again, cwd=tmp_path).communicate(timeout=PATIENCE)
    assert not err
    whole = Blueprint.empty(SMALL, "maximal", 2_000_000)
    assert list(rounds(whole, Sharding(2, 50), at + 200))
    assert json.loads(out)["sha256"] == whole.sha256


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    line = (
        r"training toepen: iteration [\d,]+, [\d,]+ decisions/s, [\d,]+ of 1,250,000 rows, \d+ evicted, about [\d.:]+ "
    )
    words = ["train", "toepen", "--memory", "50MB", "--seconds", "100000", "--out", "b"]
    code, out, _ = shown_until(line, words, tmp_path, 180)
    assert code == 130 and out.startswith("toepen by outlook: ") and "\x1b" not in out


def test_sizes_in_words() -> None:
    sizes = ["500KB", "1MB", "2GB", "1.5 gb", ".5GiB", "3 MiB", "12B"]
    assert [bytes_of(text) for text in sizes] == [
        500_000, 10**6, 2 * 10**9, 1_500_000_000, 1 << 29, 3 << 20, 12
    ]  # fmt: skip
    for text in ("", "5", "GB", "-1GB", "1 TB", "1GB free", "1e9B", "one GB", "1,5GB"):
        with pytest.raises(SolverError, match="with its unit"):
            bytes_of(text)


STOP = ("--iterations", "10", "--out", "new")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--out"),
        (("toepen", "--out", "new"), "when to stop"),
        (STOP, "name the GAME"),
        (("topen", *STOP), "did you mean 'toepen'"),
        (("toepen", "--abstraction", "outlok", *STOP), "did you mean 'outlook'"),
        (("toepen", "--memory", "lots", *STOP), "500MB"),
        (("toepen", "--memory", "5", *STOP), "500MB"),
        (("toepen", "--memory", "10KB", *STOP), "too little"),
        (("toepen", "--memory", "100000GB", *STOP), "GB are free"),
        (("toepen", "--full", "grow", *STOP), "evict"),
        (("toepen", "--seed", "-1", *STOP), "seed"),
        (("toepen", "--threads", "0", *STOP), "--threads"),
        (("toepen", "--shards", "0", *STOP), "--shards 0 should be 1 or more"),
        (("toepen", "--merge-every", "5", *STOP), "give --shards"),
        (("toepen", "--on", "local:2", *STOP), "--on is for training in shards"),
        (("toepen", "--shards", "2", "--threads", "2", *STOP), "leave --threads out"),
        (("toepen", "--shards", "2", "--device", "gpu", *STOP), "leave --shards out, or --device gpu"),
        (("toepen", "--iterations", "-1", "--out", "new"), "0 or more"),
        (("toepen", "--seconds", "0", "--out", "new"), "above 0"),
        (("toepen", "--checkpoint-every", "0", *STOP), "--checkpoint-every"),
        (("toepen", "--iterations", "10", "--out", "file"), "not a directory"),
        (("toepen", "--iterations", "10", "--out", "folder"), "something else"),
        (("toepen", "--iterations", "10", "--out", "b"), "kibitz train --resume b"),
        (("--resume", "nothing", "--seconds", "1"), "no saved blueprint"),
        (("--resume", "b"), "when to stop"),
        (("toepen", "--resume", "b", "--seconds", "1"), f"a blueprint of {SMALL}, not of toepen"),
        (("--resume", "b", "--abstraction", "null", "--seconds", "1"), "--abstraction maximal, not null"),
        (("--resume", "b", "--full", "refuse", "--seconds", "1"), "--full evict, not refuse"),
        (("--resume", "b", "--seed", "1", "--seconds", "1"), "--seed 0, not 1"),
        (("--resume", "b", "--memory", "2MB", "--seconds", "1"), "which stays"),
        (("--resume", "damaged", "--seconds", "1"), "damaged"),
    ],
)  # fmt: skip
def test_bad_input(call: Call, saved: Path, arguments: tuple[str, ...], words: str) -> None:
    Path("file").write_text("in the way")
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("mine")
    for name in ("b", "damaged"):
        shutil.copytree(saved, name)
    target = next(Path("damaged").glob("key-*.bin"))
    target.write_bytes(target.read_bytes()[:-1] + b"?")
    assert words in bad(call, "train", *arguments)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blueprints") / "b"
    small = Blueprint.empty(SMALL, "maximal", 1_000_000)
    small.train(iterations=50)
    small.save(path)
    return path


def test_buckets_by_strength(call: Call) -> None:
    base = ("train", SMALL, "--memory", "1MB", "--threads", "1")
    good(call, *base, "--iterations", "300", "--out", "solved")
    named = ("--abstraction", "strength", "--strength", "solved")
    good(call, *base, *named, "--iterations", "50", "--out", "made")
    made = load_blueprint("made")
    assert made.abstraction == "strength" and made.keys.bucket.max() > 0
    assert "needs a trained strategy" in bad(
        call, *base, "--abstraction", "strength", "--iterations", "5", "--out", "x"
    )
    assert "goes with --abstraction strength" in bad(
        call, *base, "--strength", "solved", "--iterations", "5", "--out", "x"
    )
    other = ("train", "toepen(suits=3, ranks=2, hand=2)", "--memory", "1MB", *named, "--iterations", "5", "--out", "x")
    assert "is a blueprint of" in bad(call, *other)
    again = ("train", "--resume", "made", "--strength", "solved", "--iterations", "60")
    assert "leave --strength out" in bad(call, *again)
