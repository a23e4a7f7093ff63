"""The poker form on a GPU against cores. Where there is no GPU the same source runs as plain C++."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_on_cores import THERE
from poker_form_on_cores import COMPILER, OnCores
from poker_games import GAMES, pair, random_probabilities
from typer.testing import CliRunner

import kibitz
from kibitz.bench import bench_gpu_poker
from kibitz.cli import app
from kibitz.core.errors import ArtefactError, SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.poker.endgames.endgames import Safe, solved
from kibitz.poker.endgames.subgame import Endgame
from kibitz.poker.exact import cuda, gpu, gpu_state
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.gpu import GpuPasses, GpuQueue
from kibitz.poker.exact.gpu_state import GpuPokerCfrState
from kibitz.poker.exact.gpu_tables import hands_by_card
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import RunOptions, run

INF = np.inf
RULES = {
    "dcfr+": Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True),
    "dcfr": Rule(1.5, 0.0, 2.0, 0.0, -INF, 0.0, True),
    "pcfr+": Rule(INF, INF, 2.0, 1.0, 0.0, 1.0, True),
    "cfr": Rule(INF, INF, 0.0, 2.0, -INF, 0.0, False),
}
NO_LIMIT = """GAMEDEF
nolimit
numPlayers = 2
numRounds = 4
stack = 100 100
blind = 10 10
firstPlayer = 1 1 1 1
numSuits = 3
numRanks = 4
numHoleCards = 2
numBoardCards = 0 3 1 1
betSizes = 0.6 allin
END GAMEDEF
"""
LIMIT = "poker(file=holdem.limit.2p, ranks=3)"
ENDGAMES = {  # the game, the betting before, cards on the board
    "river": (LIMIT, "crc/crc/crrc/", 5),
    "turn": (LIMIT, "crc/crc/", 4),
    "flop": (LIMIT, "crc/", 3),
    "turn without limit": (NO_LIMIT, "cc/cc/", 4),
    "flop without limit": (NO_LIMIT, "cc/", 3),
}
compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


def endgame(name, seed=1):
    text, betting, cards = ENDGAMES[name]
    rules = Poker(acpc.parse(text, "spot"), "") if text.startswith("GAMEDEF") else kibitz.game(text)
    rng = np.random.default_rng(seed)
    board = [int(card) for card in rng.permutation(rules.definition.deck)[:cards]]
    made = Endgame(rules, rules.betting.text.index(betting), board)
    made.ranges = rng.random(made.ranges.shape) ** 2
    return made


def form_named(name):
    return endgame(name) if name in ENDGAMES else pair(name).form


def iterated(form, rule, passes, dtype, counts=(1, 3)):
    """The state of a processor and that of a GPU after some iterations, in two parts."""
    here, there = PokerCfrState(form, None, dtype), GpuPokerCfrState(form, None, dtype, passes=passes)
    np.testing.assert_array_equal(there.state["strategy"], here.strategy)
    done = 0
    for count in counts:
        here.iterate(rule, done, count, 1)
        there.iterate(rule, done, count)
        done += count
    return here, there


def compare(here, there, rtol):
    mine = there.state
    assert mine.keys() == here.state.keys()
    for name in ("regret", "strategy", "average"):
        most = np.abs(here.state[name]).max()
        assert most > 0 or here.form.sequences < 50  # nobody has a choice
        np.testing.assert_allclose(mine[name], here.state[name], rtol=rtol, atol=rtol * most, err_msg=name)
    one, two = here.measure(True), there.measure(True)
    np.testing.assert_allclose(two.best, one.best, rtol=rtol)
    np.testing.assert_allclose(two.value, one.value, rtol=rtol, atol=rtol)


# The source, as C++


@compiled
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["leduc", "river", "turn"])
@pytest.mark.some(4)
def test_iterations_are_those_of_cores(name, rule, folder):
    form = form_named(name)
    compare(*iterated(form, RULES[rule], GpuPasses(form, OnCores(folder), np.float64), np.float64), 1e-10)


@compiled
@pytest.mark.parametrize(
    "name", ["flop", "turn without limit", pytest.param("flop without limit", marks=pytest.mark.slow)]
)
def test_of_several_rounds_and_of_bets_all_in(name, folder):
    form = form_named(name)
    passes = GpuPasses(form, OnCores(folder), np.float64)
    compare(*iterated(form, RULES["dcfr+"], passes, np.float64, (2,)), 1e-10)


@compiled
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(5)
def test_of_hands_that_are_merged_by_suits(name, folder):
    form = form_named(name)
    passes = GpuPasses(form, OnCores(folder), np.float64)
    compare(*iterated(form, RULES["dcfr+"], passes, np.float64, (2,)), 1e-10)


@compiled
@pytest.mark.parametrize("threads", [3, 7])
def test_threads_that_meet_give_the_same_bits(threads, folder):
    form = endgame("turn")
    alone = iterated(form, RULES["dcfr+"], GpuPasses(form, OnCores(folder), np.float64), np.float64)[1]
    several = GpuPasses(form, OnCores(folder, threads), np.float64)
    together = iterated(form, RULES["dcfr+"], several, np.float64)[1]
    for name, array in alone.state.items():
        np.testing.assert_array_equal(together.state[name], array)


@compiled
def test_single_precision_is_as_good_as_on_cores(folder):
    form = endgame("turn")
    rule = RULES["dcfr+"]
    exact = PokerCfrState(form, None, np.float64)
    exact.iterate(rule, 0, 5, 1)
    here, there = iterated(form, rule, GpuPasses(form, OnCores(folder)), np.float32, (5,))
    wanted = exact.measure(True).nash_conv
    assert [state.measure(True).nash_conv for state in (here, there)] == pytest.approx([wanted, wanted], rel=0.1)
    off = [np.abs(state["average"].astype(np.float64) - exact.average).mean() for state in (here.state, there.state)]
    assert off[1] <= 3 * off[0] + 1e-7


@compiled
@pytest.mark.parametrize("name", ["leduc", "turn"])
def test_values_of_a_strategy(name, folder):
    form = form_named(name)
    weights = form.to_strategy(random_probabilities(form, 5)).astype(np.float32)
    passes = GpuPasses(form, OnCores(folder))
    for seat in (0, 1):
        for mean in (False, True):
            first = form.cards.rounds[0].classes
            np.testing.assert_allclose(passes.look(seat, weights, mean), form.look(seat, weights, mean)[:first],
                                       rtol=1e-11, atol=1e-11)  # fmt: skip


@compiled
def test_a_run_is_the_same_however_it_is_cut(folder, monkeypatch):
    monkeypatch.setattr(gpu_state, "AHEAD", 3)
    form = endgame("river")
    for rule in ("dcfr+", "cfr"):
        whole, cut = (GpuPokerCfrState(form, None, passes=GpuPasses(form, OnCores(folder))) for _ in range(2))
        whole.iterate(RULES[rule], 0, 10)
        for done, count in ((0, 1), (1, 2), (3, 7)):
            cut.iterate(RULES[rule], done, count)
            cut.measure(True)  # which uses the same room
        for name, array in whole.state.items():
            np.testing.assert_array_equal(cut.state[name], array)


@compiled
def test_either_device_resumes_what_the_other_began(folder):
    form, rule = endgame("turn"), RULES["dcfr+"]
    here = PokerCfrState(form, None, np.float64)
    here.iterate(rule, 0, 4, 1)
    there = GpuPokerCfrState(form, None, np.float64, passes=GpuPasses(form, OnCores(folder), np.float64))
    for name, array in there.state.items():  # as a checkpoint does
        array[...] = here.state[name]
    there.restore()
    here.iterate(rule, 4, 2, 1)
    there.iterate(rule, 4, 2)
    np.testing.assert_allclose(there.state["average"], here.average, atol=1e-9)
    assert there.measure(True).nash_conv == pytest.approx(here.measure(True).nash_conv, rel=1e-9)
    there._host["lanes"] = there._host["lanes"] + 1
    with pytest.raises(ArtefactError, match="another layout"):
        there.restore()


@compiled
def test_frozen_rows_stay(folder):
    form = pair("leduc").form
    rng = np.random.default_rng(3)
    rows = form.freeze(rng.random(form.points) < 0.5, random_probabilities(form, 3))
    rule = RULES["dcfr+"]
    here = PokerCfrState(form, None, np.float64, rows)
    there = GpuPokerCfrState(form, None, np.float64, rows, GpuPasses(form, OnCores(folder), np.float64))
    here.iterate(rule, 0, 20, 1)
    there.iterate(rule, 0, 20)
    np.testing.assert_allclose(there.probabilities(True), here.probabilities(True), atol=1e-9)
    assert there.measure(True).nash_conv == pytest.approx(here.measure(True).nash_conv, rel=1e-9)


@compiled
def test_a_start_is_taken(folder):
    form = pair("leduc").form
    start = random_probabilities(form, 9)
    there = GpuPokerCfrState(form, start, passes=GpuPasses(form, OnCores(folder)))
    np.testing.assert_allclose(there.probabilities(False), start, atol=1e-7)
    assert there.measure(False).nash_conv == pytest.approx(form.measure(start).nash_conv, rel=1e-5)


@compiled
def test_endgames_are_solved_there(folder, monkeypatch):
    monkeypatch.setattr(gpu, "on_gpu", lambda: OnCores(folder))
    monkeypatch.setattr(gpu, "warm_up", lambda form, device: None)
    made = endgame("turn")
    here, there = solved(made, gap=0.01), solved(made, gap=0.01, device="gpu")
    assert there.gap <= 0.01 and there.iterations == pytest.approx(here.iterations, rel=0.25)
    gap = sum(made.looked(seat, there.strategy) for seat in (0, 1)) / (made.mass * made.pot)
    assert there.gap == pytest.approx(gap, rel=1e-4)
    rows = made.rows_at(there.strategy, 0, made.root_node)
    np.testing.assert_allclose(rows.sum(axis=0), 1.0, atol=1e-6)
    values = made.response(1, here.strategy)
    safe = [solved(made, iterations=30, safe=Safe(0, values), device=device) for device in ("cpu", "gpu")]
    most = [made.response(1, each.strategy) for each in safe]
    np.testing.assert_allclose(most[1], most[0], atol=2e-2 * np.abs(values).max())


@compiled
def test_solve_runs_there_and_either_device_continues(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "on_gpu", lambda: OnCores(folder))
    monkeypatch.setattr(gpu, "warm_up", lambda form: None)
    monkeypatch.setattr(run, "require", lambda device: None)
    game, kept = "rhode_island(ranks=3)", tmp_path / "a.checkpoint"
    found = kibitz.solve(game, solver="dcfr+", iterations=40, run=RunOptions(device="gpu", checkpoint=kept))
    assert found.nash_conv == pytest.approx(kibitz.solve(game, solver="dcfr+", iterations=40).nash_conv, rel=0.05)
    assert found.nash_conv == pytest.approx(kibitz.nash_conv(game, found), rel=1e-6)
    for device in ("cpu", "gpu", "cpu"):
        options = RunOptions(device=device, checkpoint=kept, resume=True)
        later = kibitz.solve(game, solver="dcfr+", iterations=found.history[-1].iteration + 40, run=options)
        assert later.nash_conv < found.nash_conv
        found = later


@compiled
def test_the_check_of_the_benchmark_can_fail(folder, monkeypatch):
    monkeypatch.setattr(gpu, "on_gpu", lambda: OnCores(folder))
    form = endgame("turn")
    assert bench_gpu_poker.check(form)["right"]
    stakes = form.table.stake.copy()
    there = GpuPasses.__init__

    def wrong(self, *arguments, **options):
        form.table.stake[:, -1] *= 1.01
        there(self, *arguments, **options)
        form.table.stake[:] = stakes

    monkeypatch.setattr(GpuPasses, "__init__", wrong)
    assert not bench_gpu_poker.check(form)["right"]


def test_the_table_of_the_benchmark():
    of = {"sequences": 1000, "iterations": 20, "median": 0.03, "made": 0.01, "most": 0.05, "gap": 0.002,
          "iteration": 0.02, "seconds": 0.25}  # fmt: skip
    figures = {"checks": {bench_gpu_poker.RHODE: of}, "endgames": {"river": of}, "rhode": of, "flop": of}
    text = "\n".join(bench_gpu_poker.poker_markdown(figures))
    assert "30 ms, 10 of them set-up" in text and "0.25 s" in text and "20.0 ms an iteration" in text
    assert bench_gpu_poker.poker_markdown(None) == []
    assert "|---" in "\n".join(bench_gpu_poker.poker_markdown({"checks": {}}))


class There:
    """An array as CuPy has it, as far as a copy in memory needs it."""

    def __init__(self, content):
        self.content, self.shape, self.dtype = content, content.shape, content.dtype
        self.size, self.nbytes = content.size, content.nbytes

    def ravel(self):
        return There(self.content.ravel())

    def __getitem__(self, at):
        return There(self.content[at])

    def get(self, stream, out):
        out[...] = self.content


@pytest.mark.parametrize("count", [0, 5, 100, 1024, 1025, 5000])
def test_large_arrays_come_back_in_pieces(count, monkeypatch):
    monkeypatch.setattr(gpu, "SMALL", 64)
    monkeypatch.setattr(gpu, "PIECE", 4096)
    queue = GpuQueue.__new__(GpuQueue)
    queue._lock, queue.stream = threading.RLock(), SimpleNamespace(synchronize=lambda: None)
    queue.__dict__["_pinned"] = np.zeros(4096, np.uint8)
    content = np.random.default_rng(1).random((count, 1), np.float32)
    np.testing.assert_array_equal(queue.host(There(content)), content)


# Tables, and refusals


@pytest.mark.parametrize("name", ["river", "turn without limit"])
def test_hands_by_card_are_counted(name):
    form = endgame(name)
    cards = form.cards.rounds[-1]
    tables = hands_by_card(cards)
    for board in range(0, len(cards.boards), 7):
        lo, hi = cards.board_hand[board : board + 2]
        hands, low, high = cards.hands[lo:hi], cards.hand_low[lo:hi], cards.hand_high[lo:hi]
        live = np.unique(hands)
        for number, card in enumerate(live):
            held = np.flatnonzero((hands == card).any(axis=1))
            np.testing.assert_array_equal(tables["card_hands"][board, number], held)
        for hand in range(0, len(hands), 5):
            words = tables["ranked"][cards.hand_class[lo + hand]]
            assert (words[0] & 65535, words[0] >> 16) == (low[hand], high[hand])
            for side, shift in ((0, 0), (1, 16)):
                with_card = np.flatnonzero((hands == hands[hand, side]).any(axis=1))
                below, upto = words[1] >> shift & 255, words[1] >> shift + 8 & 255
                assert (below, upto) == ((with_card < low[hand]).sum(), (with_card < high[hand]).sum())
                assert live[words[2] >> 8 * side & 255] == hands[hand, side]
            assert words[2] >> 16 == hand


def test_shared_memory_of_a_block_is_enough():
    """The largest: 1,326 hands before the flop, in double precision; every GPU gives a block 48 KB, most a lot more."""
    assert cuda.shared_bytes(1326, 52, 4) <= 48 << 10 and cuda.shared_bytes(1326, 52, 8) <= 96 << 10


def test_too_little_memory_is_said_before_the_start(folder):
    form = endgame("turn")
    launcher = OnCores(folder)
    launcher.device.free = lambda: 1_000_000
    with pytest.raises(SolverError, match=r"of the GPU's memory with [\d,]+ sequences"):
        GpuPasses(form, launcher)
    assert not launcher.launches


def test_buckets_are_refused():
    form = pair("leduc").form
    small = form.bucketed([np.zeros(r.classes, np.int64) for r in form.cards.rounds])
    with pytest.raises(SolverError, match="abstraction"):
        GpuPasses(small, OnCores(None))


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_without_a_gpu_there_is_a_sentence():
    with pytest.raises(SolverError, match="CuPy"):
        solved(endgame("river"), iterations=2, device="gpu")
    told = CliRunner().invoke(app, ["solve", "rhode_island(ranks=3)", "--device", "gpu", "--iterations", "1"])
    assert told.exit_code == 2 and "leave out --device" in " ".join(told.output.split())
    with pytest.raises(SolverError, match="choose cpu or gpu"):
        solved(endgame("river"), iterations=2, device="tpu")


# On a GPU


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["leduc", *ENDGAMES])
def test_a_gpu_gives_the_same(name, rule):
    form = form_named(name)
    compare(*iterated(form, RULES[rule], GpuPasses(form, dtype=np.float64), np.float64), 1e-10)
