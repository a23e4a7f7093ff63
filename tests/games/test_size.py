"""Layouts that would take all memory or time are stopped soon; limits of containers and processes are seen."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

import kibitz
from kibitz.core import resources as host
from kibitz.core.errors import GameError
from kibitz.games import size
from kibitz.games.size import SizeGuard, estimated_histories
from kibitz.games.tree import lay_out

GB = 1 << 30


# Estimates


@pytest.mark.parametrize(
    ("text", "histories"),
    [("leduc", 9457), ("liars_dice", 294_883), ("goofspiel(num_cards=4)", 26_773), ("kuhn(players=3)", 617)],
)
def test_estimates_are_right_on_average(text, histories):
    game = kibitz.game(text)
    runs = [estimated_histories(game, 1e18, seed) for seed in range(300)]
    assert sum(runs) / len(runs) == pytest.approx(histories, rel=0.2)


class Endless:
    """Two moves for ever, each by another state; rules like these have no tree."""

    players = 2

    def root(self):
        return 1

    def turn(self, state):
        return state & 1

    def actions(self, state):
        return ("left", "right")

    def chance(self, state):
        return []

    def after(self, state, action):
        return 2 * state + (action == "right")

    def infoset(self, state):
        return state

    def payoff(self, state):
        return [0, 0]


class Wide(Endless):
    """Ten levels of forty moves: 1.05e16 histories, none of them long."""

    def root(self):
        return (0, 0)

    def turn(self, state):
        return state[0] % 2 if state[0] < 10 else -2

    def actions(self, state):
        return tuple(range(40))

    def after(self, state, action):
        return (state[0] + 1, 40 * state[1] + action)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now


def guard(game, *, free=16 * GB, held=lambda: 0, limit=None, clock=None):
    return SizeGuard(game, limit, clock=clock or Clock(), memory=held, free=lambda: free)


def test_an_estimate_is_made_once_a_second_has_gone_or_many_histories():
    clock = Clock()
    slow = guard(Wide(), clock=clock)
    slow.check(10)
    clock.now = size.FIRST_SECONDS
    with pytest.raises(GameError, match=r"has some [\d.]+e\+\d+ histories or more, by an estimate"):
        slow.check(11)
    fast = guard(Wide())
    fast.check(size.FIRST_HISTORIES - 1)
    with pytest.raises(GameError, match=f"set {size.MOST_HISTORIES}=N"):
        fast.check(size.FIRST_HISTORIES)


def test_what_is_asked_for_is_laid_out_without_an_estimate(monkeypatch):
    told = guard(Wide(), limit=10**6)
    told.check(10**6)
    with pytest.raises(GameError, match="more than 1,000,000 histories, which is the limit"):
        told.check(10**6 + 1)
    monkeypatch.setenv(size.MOST_HISTORIES, "70000")
    guard(Wide()).check(70_000)
    with pytest.raises(GameError, match="more than 70,000 histories"):
        lay_out(Wide())
    for text in ("many", "0", "-5", "1e9", "9" * 30):
        monkeypatch.setenv(size.MOST_HISTORIES, text)
        with pytest.raises(GameError, match="should be a whole number above 0"):
            lay_out(Wide())


def test_memory_is_measured_not_believed():
    """300 bytes a history would do; 30,000 do not."""
    game = kibitz.game("goofspiel(num_cards=5)")  # 3.3 million histories
    guard(game, free=2 * GB, held=lambda: 0).check(size.FIRST_HISTORIES)
    now = 0
    heavy = guard(game, free=2 * GB, held=lambda: 10**9 + 30_000 * now)  # a gigabyte at once does not count
    for now in (1 << 10, 1 << 12):
        heavy.check(now)
    now = size.FIRST_HISTORIES
    with pytest.raises(GameError, match=r"\(30,220 bytes each, as measured so far\), and 1\.9 GB are free"):
        heavy.check(size.FIRST_HISTORIES)


def test_memory_that_runs_out_ends_the_walk_even_if_it_was_asked_for():
    left = [8 * GB, 8 * GB, host.MARGIN + 10**6]
    told = SizeGuard(Wide(), 10**9, clock=Clock(), memory=lambda: 0, free=lambda: left.pop(0))
    told.check(1 << 14)
    with pytest.raises(GameError, match=r"more than 32,768 histories, and no more fit into memory .* 1 MB are left"):
        told.check(1 << 15)


def test_time_is_estimated():
    clock = Clock()
    slow = guard(kibitz.game("goofspiel(num_cards=5)"), free=1 << 50, clock=clock)  # 3.3 million histories
    clock.now = 1.0
    slow.check(1 << 16)
    slow = guard(kibitz.game("goofspiel(num_cards=5)"), free=1 << 50, clock=clock)
    clock.now = 61.0
    with pytest.raises(GameError, match=r"take about 5\d minutes \(1,092 a second so far\)"):
        slow.check(1 << 16)


def test_rules_that_take_their_time_at_first_are_not_slow():
    clock = Clock()
    late = guard(kibitz.game("leduc"), clock=clock)
    for histories, clock.now in ((1, 1.0), (20, 4.0), (1 << 10, 4.2)):
        late.check(histories)
    slow = Clock()
    stuck = guard(kibitz.game("leduc(ranks=6)"), clock=slow)
    slow.now = 20.0
    with pytest.raises(GameError, match="minutes"):
        stuck.check(10)


def test_what_fits_is_not_refused():
    for text in ("liars_dice", "leduc(ranks=5)", "goofspiel(num_cards=4)"):
        careful = guard(kibitz.game(text), free=GB)
        for histories in (1 << 16, 1 << 18):
            careful.check(histories)


def test_a_tree_without_end_is_stopped():
    with pytest.raises(GameError, match=r"cycle|by an estimate"):
        lay_out(Endless())


def test_one_history_with_very_many_actions():
    game = Wide()
    game.actions = lambda state: tuple(range((1 << 20) + 1))
    with pytest.raises(GameError, match="1,048,577 actions"):
        lay_out(game)


@pytest.mark.parametrize(
    "text",
    ["openspiel:chess", "openspiel:phantom_ttt", "openspiel:sheriff(max_items=100000)", "goofspiel(num_cards=7)"],
)
@pytest.mark.some(2)
def test_games_of_others_without_end_are_refused_in_little_memory(text):
    if text.startswith("openspiel:"):
        pytest.importorskip("pyspiel")
    done = limited("from kibitz.games.tree import lay_out\nimport kibitz\nlay_out(kibitz.game(sys.argv[1]))", text)
    assert "by an estimate" in done.stdout, (done.stdout + done.stderr)[-500:]


def limited(code, *arguments, most=GB):
    """Run code in a process that may take a gigabyte of addresses; an error of ours is printed."""
    lines = [f"    {line}" for line in code.splitlines()]
    whole = "import sys\nfrom kibitz.core.errors import KibitzError\ntry:\n" + "\n".join(lines)
    whole += "\nexcept KibitzError as error:\n    print(error)\n"
    return subprocess.run(
        [sys.executable, "-c", whole, *arguments], capture_output=True, text=True, timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip


# The machine


def test_limits_of_a_process_are_seen():
    code = "from kibitz.core.resources import free_memory\nprint(free_memory())"
    assert 100 << 20 < int(limited(code).stdout) < GB
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (GB, GB)),
    )  # fmt: skip
    assert 100 << 20 < int(done.stdout) < GB


def test_a_game_that_does_not_fit_a_process_is_refused_before_memory_runs_out():
    done = limited(
        "from kibitz.games.tree import lay_out\nimport kibitz\nlay_out(kibitz.game('liars_dice(dice_sides=8)'))"
    )
    assert "by an estimate" in done.stdout and not done.stderr


def written(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def proc(tmp_path, lines):
    written(tmp_path / "proc", meminfo="MemTotal: 99000000 kB\nMemAvailable:   16000000 kB")
    written(tmp_path / "proc" / "self", cgroup=lines, status="VmSize: 1000 kB\nVmRSS: 500 kB")
    return tmp_path / "proc", tmp_path / "cgroup"


def test_the_machine_alone(tmp_path):
    assert host.free_memory(*proc(tmp_path, "0::/")) == 16_000_000 * 1024


def test_containers_of_version_2(tmp_path):
    where = proc(tmp_path, "0::/pod/box")
    box = tmp_path / "cgroup" / "pod" / "box"
    written(box, memory__max="max", memory__current="123")
    assert host.free_memory(*where) == 16_000_000 * 1024
    written(box, memory__max=str(GB), memory__current=str(GB // 2), memory__stat="anon 5\ninactive_file 1000\nfile 7")
    assert host.free_memory(*where) == GB // 2 + 1000
    written(box, memory__high=str(GB // 4 * 3))
    assert host.free_memory(*where) == GB // 4 + 1000
    written(box.parent, memory__max=str(GB), memory__current=str(GB - 77))  # shared with others
    assert host.free_memory(*where) == 77
    written(box.parent, memory__current=str(2 * GB))
    assert host.free_memory(*where) == 0


def test_containers_of_version_1(tmp_path):
    where = proc(tmp_path, "5:cpu:/x\n4:memory:/docker/abc\n0::/")
    top = tmp_path / "cgroup" / "memory"
    # Within the container only its own group is to be seen, as the root.
    written(top, memory__limit_in_bytes=str(2 * GB), memory__usage_in_bytes=str(GB))
    written(top, memory__stat="total_inactive_file 9")
    assert host.free_memory(*where) == GB + 9
    written(top / "docker" / "abc", memory__limit_in_bytes=str(GB), memory__usage_in_bytes=str(1000))
    assert host.free_memory(*where) == GB - 1000
    written(top / "docker" / "abc", memory__limit_in_bytes="9223372036854771712")
    assert host.free_memory(*where) == GB + 9


def test_nonsense_in_those_files_is_passed_over(tmp_path):
    where = proc(tmp_path, "what\n:::\n0::/../../etc\n4:memory:/")
    written(tmp_path / "cgroup", memory__max="soon", memory__current="")
    assert host.free_memory(*where) == 16_000_000 * 1024
    assert host.free_memory(tmp_path / "nothing", tmp_path / "nothing") > 0


def test_memory_held():
    assert 0 < host.held_memory() <= host.peak_memory() + (1 << 20)
    assert host.cores() >= 1


@pytest.mark.parametrize(("given", "found"), [("1", 1), ("0", 1), ("100000", 0), ("", 0), ("-3", 0), ("many", 0)])
def test_no_more_cores_than_given(given, found, monkeypatch):
    have = host.cores()
    monkeypatch.setenv("KIBITZ_CORES", given)
    assert host.cores() == (found or have)
