"""Strength of hold'em hands: against twins that deal every card, and tables that survive being killed or damaged."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz import cards
from kibitz.cards import holdem, recipes, tables
from kibitz.cards.kernels import strength as kernels
from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError

HANDS = np.array([(a, b) for b in range(52) for a in range(b)])
DRAWN = np.random.default_rng(0)


# Twins: from the definition, card by card


def met(hand, board):
    """(wins, ties) against every other hand on a board."""
    others = HANDS[~np.isin(HANDS, [*hand, *board]).any(axis=1)]
    values = cards.evaluate(np.hstack([others, np.tile(board, (len(others), 1))]))
    mine = int(cards.evaluate([*hand, *board]))
    return int((values < mine).sum()), int((values == mine).sum())


def rolled_out(hand, board, bins):
    """(wins, ties, squares, histogram) over every way to complete a board."""
    wins = ties = squares = 0
    histogram = [0] * bins
    rest = [card for card in range(52) if card not in {*hand, *board}]
    for more in combinations(rest, 5 - len(board)):
        won, tied = met(hand, [*board, *more])
        wins, ties, squares = wins + won, ties + tied, squares + (2 * won + tied) ** 2
        strength = (won + tied / 2) / 990
        histogram[min(int(strength * bins + 1e-9), bins - 1)] += 1
    return wins, ties, squares, histogram


def boards_with_flushes(size, count):
    """Boards, of which every other one has three or more cards of a suit."""
    for k in range(count):
        deck = DRAWN.permutation(52)
        suited = [card for card in deck if card % 4 == 1]
        yield (suited[: 3 + k % 3] + [c for c in deck if c % 4 != 1] if k % 2 else list(deck))[:size]


def board_of(board, size):
    """The board that stands for a board in the tables, and the hands on it."""
    indexer = cards.Indexer([size])
    stands = indexer.unindex(indexer.index(board))
    return stands, HANDS[~np.isin(HANDS, stands).any(axis=1)]


# One hand


@pytest.mark.parametrize(("size", "count"), [(5, 30), (4, 6), (3, 2)])
def test_single_hands_against_the_twin(size, count):
    for board in boards_with_flushes(size, count):
        hand = DRAWN.permutation([card for card in range(52) if card not in board])[:2].tolist()
        wins, ties, squares, histogram = rolled_out(hand, board, 30)
        boards = sum(histogram)
        assert tuple(map(int, cards.counts(hand, board))) == (wins, ties, 990 * boards - wins - ties)
        found = cards.strength(hand, board)
        now = met(hand, board)
        assert float(found.hs) == (2 * now[0] + now[1]) / (2 * len(list(combinations(range(50 - size), 2))))
        assert float(found.ehs) == (2 * wins + ties) / (1980 * boards)
        assert float(found.ehs2) == squares / (1980**2 * boards)
        assert cards.histogram(hand, board, bins=30).tolist() == histogram


@settings(max_examples=examples(60), deadline=None)
@given(st.permutations(range(52)), st.sampled_from([6, 7]), st.permutations(range(4)))
def test_strengths_are_chances(deck, seen, suits):
    spot = np.array(deck[:seen])
    found, ends = cards.strength(spot), cards.histogram(spot, bins=25)
    assert 0 <= found.hs <= 1 and found.ehs**2 <= found.ehs2 + 1e-15 and found.ehs2 <= found.ehs
    assert ends.sum() == (46 if seen == 6 else 1)
    low, high = (float((ends * (np.arange(25) + k) / 25).sum() / ends.sum()) for k in (0, 1))
    assert low - 1e-12 <= found.ehs <= high + 1e-12
    renamed = spot // 4 * 4 + np.array(suits)[spot % 4]
    renamed[:2] = renamed[1::-1]
    assert [float(x) for x in cards.strength(renamed)] == [float(x) for x in found]
    assert np.array_equal(cards.histogram(renamed, bins=25), ends)


def test_on_any_board_all_hands_together_win_half():
    for board in boards_with_flushes(5, 4):
        found = cards.strength(HANDS[~np.isin(HANDS, board).any(axis=1)], board)
        assert found.hs.shape == (1081,) and np.rint(found.hs * 1980).sum() == 990 * 1081
        assert np.array_equal(found.hs, found.ehs) and np.allclose(found.hs**2, found.ehs2, atol=1e-15)
    board = next(boards_with_flushes(4, 1))
    hands = HANDS[~np.isin(HANDS, board).any(axis=1)]
    parts = [cards.strength(hands[k : k + 400], board) for k in range(0, len(hands), 400)]  # few: without a table
    assert sum(part.hs.sum() for part in parts) == pytest.approx(len(hands) / 2, abs=1e-9)
    assert sum(part.ehs.sum() for part in parts) == pytest.approx(len(hands) / 2, abs=1e-9)


def test_finer_bins_sum_to_coarse_ones():
    spot = cards.parse("Ah Kd Qs 7c 2d 2h")
    fine, coarse = cards.histogram(spot), cards.histogram(spot, bins=10)
    assert np.array_equal(fine.reshape(10, 5).sum(axis=1), coarse)
    assert np.array_equal(holdem._worked_out(spot[None].astype(np.uint8), 10)[4][0], coarse)


def test_the_nuts_and_shapes():
    assert float(cards.strength("Ah Kh", "Qh Jh Th 2c 2d").hs) == 1.0
    assert cards.histogram("Ah Kh", "Qh Jh Th 2c 2d").tolist() == [0] * 49 + [1]
    assert [int(n) for n in cards.counts("2c 2d", "Ah Kh Qh Jh Th")] == [0, 990, 0]
    several = np.stack([cards.parse("Ah Kd Qs 7c 2d 2h"), cards.parse("9h 8d Qs 7c 2d 2h")])
    assert cards.strength(several.reshape(1, 2, 6)).ehs.shape == (1, 2)
    assert cards.histogram(several, bins=10).shape == (2, 10)
    apart = cards.strength(several[:, :2], several[0, 2:])
    assert np.array_equal(apart.ehs, cards.strength(several).ehs)
    assert cards.strength(np.zeros((0, 7), int)).ehs.shape == (0,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cards.strength("Ah", "Qs 7c 2d"), "a hand has 2 cards, not 1"),
        (lambda: cards.strength("Ah Kd", "Qs 7c"), "so 4 cards together are not possible"),
        (lambda: cards.strength("Ah Kd", "Ah 7c 2d"), "there is the card Ah twice: Ah Kd Ah 7c 2d"),
        (lambda: cards.strength([[0.5, 1]]), "whole numbers"),
        (lambda: cards.strength([0, 1, 2, 3, 52]), "52 is not a card"),
        (lambda: cards.histogram("Ah Kd", "Qs 7c 2d", bins=0), "bins=0 should be"),
        (lambda: cards.equity("Ah Kd", "Ah Qs"), "the card Ah twice"),
        (lambda: cards.equity("Ah Kd", "Qs"), "a hand of two cards, and one or several"),
        (lambda: cards.equity("Ah Kd", "Qs Qc", "2c 3c 4c 5c 6c 7c"), "at most 5 cards, not 6"),
        (lambda: cards.equity("Ah Kd", "Qs Qc", samples=0), "samples=0 should be 1 or more"),
        (lambda: cards.class_equity("AKx", "QQ"), "'AKx' is not a hand up to suit isomorphism"),
        (lambda: recipes.recipe("flush"), "there is no table 'flush'"),
        (lambda: recipes.recipe("river-histogram-50"), "histograms exist for preflop, flop and turn"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(call, words):
    with pytest.raises(GameError, match=words):
        call()


# Hands against each other


def slow_equity(hand, other, board):
    rest = [card for card in range(52) if card not in {*hand, *other, *board}]
    more = np.array(list(combinations(rest, 5 - len(board))), np.int64)
    one, two = (cards.evaluate(np.hstack([np.tile([*held, *board], (len(more), 1)), more])) for held in (hand, other))
    return int((one > two).sum()), int((one == two).sum()), int((one < two).sum())


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_equity_against_the_twin(size):
    for _ in range(4):
        deck = DRAWN.permutation(52).tolist()
        hand, other, third, board = deck[:2], deck[2:4], deck[4:6], deck[6 : 6 + size]
        found = cards.equity(hand, other, board)
        assert found == slow_equity(hand, other, board)
        assert cards.equity(other, hand, board) == (found.losses, found.ties, found.wins)
        both = cards.equity(hand, [other, third], board)
        assert both == tuple(np.add(found, slow_equity(hand, third, board)).tolist())
        assert both.equity == pytest.approx((both.wins + both.ties / 2) / both.met, abs=0)


def test_equity_before_the_flop():
    found = cards.equity("Ah Ad", "Kc Ks")
    assert found.met == 1_712_304
    deck = [card for card in range(52) if card not in cards.parse("Ah Ad Kc Ks")]
    drawn = np.array([DRAWN.choice(deck, 5, replace=False) for _ in range(4000)])
    one, two = (cards.evaluate(np.hstack([np.tile(cards.parse(h), (4000, 1)), drawn])) for h in ("Ah Ad", "Kc Ks"))
    assert abs(found.equity - float(((one > two) + (one == two) / 2).mean())) < 5 * 0.4 / 4000**0.5


def test_samples_tend_to_the_equity():
    others = cards.class_hands("QQ")
    exact = cards.equity("Ah Kd", others, "7c 2d").equity
    found = cards.equity("Ah Kd", others, "7c 2d", samples=200_000, seed=1)
    assert found.met == 200_000 and abs(found.equity - exact) < 5 * 0.5 / 200_000**0.5
    assert found == cards.equity("Ah Kd", others, "7c 2d", samples=200_000, seed=1)
    assert found != cards.equity("Ah Kd", others, "7c 2d", samples=200_000, seed=2)


def test_names_of_classes():
    names = cards.class_names()
    assert len(set(names)) == 169 and {"AA", "AKs", "AKo", "72o", "32s"} <= set(names)
    numbers = cards.Indexer([2])
    for text, hand in (("AKs", "Ah Kh"), ("kao", "Ah Kd"), ("10 10".replace(" ", ""), "Td Tc")):
        assert holdem.class_number(text) == int(numbers.index(cards.parse(hand)))
    assert [len(cards.class_hands(text)) for text in ("AA", "AKs", "AKo")] == [6, 4, 12]
    pairs = holdem.pairs_of_classes()
    free = ~(HANDS[:, None, :, None] == HANDS[None, :, None, :]).any(axis=(2, 3))
    slow = np.zeros((169, 169), np.int64)
    at = recipes.class_of().astype(np.int64)
    np.add.at(slow, (np.broadcast_to(at[:, None], free.shape)[free], np.broadcast_to(at, free.shape)[free]), 1)
    assert np.array_equal(pairs, slow)


# Pieces of tables


def fill(boards, plan, **arrays):
    figures = kernels.figures_of(arrays)
    counts = np.zeros((1326, figures.histogram.shape[1]), np.uint16)
    kernels.fill_figures(boards, plan, figures, counts, np.zeros(0, np.uint64), kernels.workspace())


def test_every_hand_on_a_board_of_five():
    indexer = cards.Indexer([2, 5])
    ahead = np.zeros(indexer.size, np.uint16)
    for board in boards_with_flushes(5, 4):
        stands, hands = board_of(board, 5)
        fill(stands[None].astype(np.uint8), indexer._plan, ahead=ahead)
        spots = np.hstack([hands, np.tile(stands, (len(hands), 1))])
        found = ahead[indexer.index(spots)].astype(np.int64)
        values = cards.evaluate(spots)
        clash = (hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
        beats, even = (values[:, None] > values) & ~clash, (values[:, None] == values) & ~clash
        assert np.array_equal(found, (2 * beats + even).sum(axis=1))


@pytest.mark.parametrize("size", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_hands_on_boards_of_three_and_four(size):
    indexer = cards.Indexer([2, size])
    wide = np.uint32 if size == 3 else np.uint16
    ahead, wins, ties, squares = (np.zeros(indexer.size, t) for t in (np.uint16, wide, wide, np.uint32))
    histogram = np.zeros((indexer.size, 20), np.uint16 if size == 3 else np.uint8)
    for board in boards_with_flushes(size, 2):
        stands, hands = board_of(board, size)
        part = stands[None].astype(np.uint8)
        fill(part, indexer._plan, ahead=ahead, wins=wins, ties=ties, squares=squares)
        fill(part, indexer._plan, histogram=histogram)
        for hand in DRAWN.permutation(hands)[: 1 if size == 3 else 6].tolist():
            at = int(indexer.index([*hand, *stands]))
            slow = rolled_out(hand, stands.tolist(), 20)
            assert (wins[at], ties[at], squares[at], histogram[at].tolist()) == slow
            won, tied = met(hand, stands.tolist())
            assert ahead[at] == 2 * won + tied
        every = indexer.index(np.hstack([hands, np.tile(stands, (len(hands), 1))]))
        boards = 1176 if size == 3 else 48
        assert (2 * wins[every].astype(np.int64) + ties[every]).sum() == boards * 1081 * 990
        assert np.unique(histogram[every].sum(axis=1)).tolist() == [1081 if size == 3 else 46]
        assert np.count_nonzero(histogram.sum(axis=1)) == np.count_nonzero(squares)


def test_classes_against_each_other_on_a_board():
    at = recipes.class_of()
    for board in boards_with_flushes(5, 4):
        hands = np.flatnonzero(~np.isin(HANDS, board).any(axis=1))
        values = cards.evaluate(np.hstack([HANDS[hands], np.tile(board, (len(hands), 1))]))
        clash = (HANDS[hands][:, None, :, None] == HANDS[hands][None, :, None, :]).any(axis=(2, 3))
        won = (values[:, None] > values) & ~clash
        slow = np.zeros((169, 169), np.int64)
        kind = at[hands].astype(np.int64)
        np.add.at(slow, (np.broadcast_to(kind[:, None], won.shape)[won], np.broadcast_to(kind, won.shape)[won]), 12)
        found = np.zeros((169, 169), np.int32)
        room = np.zeros((53, 169), np.int16), np.zeros((2, 1326), np.uint64), kernels.workspace()
        kernels.add_classes(np.array([board], np.uint8), np.array([12], np.int32), at, found, *room)
        assert np.array_equal(found, slow)


def test_weights_of_boards():
    weights = recipes.board_weights()
    assert weights.sum() == 2_598_960 and set(weights.tolist()) <= {4, 6, 12, 24}
    boards = cards.Indexer([5]).unindex(np.arange(0, len(weights), 5003))
    for board, weight in zip(boards, weights[::5003].tolist(), strict=True):
        renamed = {frozenset((board // 4 * 4 + np.array(s)[board % 4]).tolist()) for s in permutations(range(4))}
        assert len(renamed) == weight


# Before the flop: a whole table


@pytest.fixture(scope="module")
def preflop(tmp_path_factory):
    """A cache with the tables of hands before the flop."""
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KIBITZ_CACHE", str(path))
        assert tables.build(recipes.recipe("preflop"), threads=2, tell=quiet)
        yield path


def quiet(recipe, done, pieces):
    pass


def test_hands_before_the_flop(preflop, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(preflop))
    aces = cards.strength("Ah Ad")
    assert np.isnan(aces.hs) and round(float(aces.ehs), 6) == 0.852037
    every = cards.strength(HANDS)
    assert every.ehs.argmax() in [k for k, hand in enumerate(HANDS) if (hand // 4 == 12).all()]
    worst = HANDS[every.ehs == every.ehs.min()]
    assert sorted(map(tuple, np.sort(worst // 4))) == [(0, 1)] * 12 and (worst % 4).std(axis=1).min() > 0  # 32o
    assert ((every.ehs**2 < every.ehs2) & (every.ehs2 < every.ehs)).all()
    count = cards.counts(HANDS)
    assert (count.wins + count.ties + count.losses == 990 * 2_118_760).all()
    assert int((2 * count.wins + count.ties).sum()) == 1326 * 990 * 2_118_760, "all hands together win half"
    table = tables.opened(recipes.recipe("preflop"))
    for name in ("wins", "ties", "squares"):
        assert not (table[name] % holdem.class_sizes()).any()


def test_a_hand_before_the_flop_is_the_mean_of_its_flops(preflop, monkeypatch):
    """On a sample of flops, by the other kernel."""
    monkeypatch.setenv("KIBITZ_CACHE", str(preflop))
    hand = cards.parse("Jh Td")
    rest = [card for card in range(52) if card not in hand]
    boards = np.array([DRAWN.choice(rest, 5, replace=False) for _ in range(4000)])
    river = cards.strength(np.tile(hand, (4000, 1)), boards)
    exact = cards.strength(hand)
    spread = float(np.sqrt(exact.ehs2 - exact.ehs**2))
    assert abs(river.ehs.mean() - exact.ehs) < 5 * spread / 4000**0.5
    assert abs(river.ehs2.mean() - exact.ehs2) < 5 * 0.5 / 4000**0.5


# Making and keeping tables


SIZE = 40


def counting(pieces=SIZE, log=None, wait=0.0, fails=None, version=1, name="counting", sums=False):
    """A small table: piece k writes k + 1, and adds it to a sum."""

    def make(arrays: tables.Arrays, lock: threading.Lock) -> tables.Fill:
        def add(piece: int) -> None:
            arrays["each"][piece] = piece + 1
            arrays["sum"] += piece + 1
            if log is not None:
                log.append(piece)

        def fill(piece: int) -> Callable[[], None] | None:
            if piece == fails:
                raise RuntimeError("out of paper")
            time.sleep(wait)
            if sums:
                return partial(add, piece)
            with lock:
                add(piece)
            return None

        return fill

    shapes = {"each": ("<u2", (SIZE,)), "sum": ("<i8", (1,))}
    return tables.Recipe(name, "numbers", version, shapes, pieces, make, sums=sums)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_told", set())  # whichever tests came before
    monkeypatch.setattr(tables, "SAID", 0.0)  # of small tables too
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    return tmp_path / "cards"


def right(arrays):
    return arrays["each"].tolist() == list(range(1, SIZE + 1)) and arrays["sum"].tolist() == [SIZE * (SIZE + 1) // 2]


def test_a_table_is_made_once_and_opened_read_only(cache, capsys):
    log: list[int] = []
    assert tables.state(counting()) == "missing"
    arrays = tables.opened(counting(log=log))
    assert right(arrays) and sorted(log) == list(range(SIZE))
    assert not arrays["each"].flags.writeable
    assert "making the table counting" in capsys.readouterr().err
    assert tables.opened(counting(log=log)) is arrays and not tables.build(counting(log=log), tell=quiet)
    assert len(log) == SIZE and tables.state(counting()) == "made" and tables.is_open(counting())
    assert sorted(os.listdir(cache)) == ["counting", "counting.lock"]
    assert tables.build(counting(log=log), tell=quiet, anew=True) and len(log) == 2 * SIZE


def test_the_same_bytes_for_any_number_of_threads(preflop, cache):
    for threads in (1, 2, 5):
        tables.build(counting(name=f"with-{threads}"), threads=threads, tell=quiet)
    tables.build(recipes.recipe("preflop"), threads=1, tell=quiet)
    files = {tuple(sorted(file.name for file in path.glob("*.bin"))) for path in cache.glob("with-?")}
    assert len(files) == 1  # they are named by their content
    one, two = (sorted(f.name for f in (path / "preflop").glob("*.bin")) for path in (cache, preflop / "cards"))
    assert one == two and len(one) == 3


def damage_bytes(table):
    file = next(table.glob("each-*.bin"))
    content = bytearray(file.read_bytes())
    content[7] ^= 1
    file.write_bytes(content)


def cut(table):
    file = next(table.glob("each-*.bin"))
    file.write_bytes(file.read_bytes()[:-2])


def other_manifest(table):
    (table / "manifest.json").write_text("{}")


def no_file(table):
    next(table.glob("sum-*.bin")).unlink()


def a_file_instead(table):
    shutil.rmtree(table)
    table.write_text("what")


@pytest.mark.parametrize("harm", [damage_bytes, cut, other_manifest, no_file, a_file_instead])
def test_a_damaged_table_is_made_anew_and_never_used(cache, harm):
    tables.build(counting(), tell=quiet)
    harm(cache / "counting")
    assert tables.state(counting()) == "damaged" and tables.whole(counting()) is None
    log: list[int] = []
    assert right(tables.opened(counting(log=log), quiet)) and len(log) == SIZE
    assert tables.state(counting()) == "made"


def test_a_table_of_another_version_or_shape_is_built_again(cache):
    tables.build(counting(), tell=quiet)
    assert tables.whole(counting(version=2)) is None
    assert tables.build(counting(version=2), tell=quiet) and tables.whole(counting(version=2)) is not None
    store.save(cache / "counting", tables.KIND, {"each": np.zeros(3, np.uint16)}, counting().meta)
    assert tables.whole(counting()) is None


@pytest.mark.parametrize("sums", [False, True])
def test_a_run_goes_on_from_its_last_part(cache, sums):
    with pytest.raises(RuntimeError, match="out of paper"):
        tables.build(counting(fails=SIZE - 1, wait=0.03, sums=sums), threads=2, tell=quiet, every=0.05)
    assert tables.state(counting()) == "part"
    log: list[int] = []
    assert tables.build(counting(log=log, sums=sums), tell=quiet)
    assert right(tables.opened(counting())) and 1 <= len(log) < SIZE
    assert not (cache / "counting.part").exists()


def test_a_damaged_part_is_started_again(cache):
    with pytest.raises(RuntimeError):
        tables.build(counting(fails=SIZE - 1, wait=0.01), threads=2, tell=quiet, every=0.05)
    damage_bytes(cache / "counting.part")
    log: list[int] = []
    assert tables.build(counting(log=log), tell=quiet) and len(log) == SIZE
    assert right(tables.opened(counting()))


CHILD = """
import os, sys, time
import kibitz.core.jit
sys.path[:0] = [{tests!r}, {tests!r} + "/.."]
os.environ["KIBITZ_CACHE"] = {cache!r}
from kibitz.cards import tables
from test_strength_tables import counting

def tell(recipe, done, pieces):
    print(done, flush=True)

tables.build(counting(wait={wait!r}, sums={sums!r}), threads=2, tell=tell, every=0.0)
"""


def child(cache: Path, sums: bool = False) -> subprocess.Popen[str]:
    code = CHILD.format(tests=str(Path(__file__).parent), cache=str(cache.parent), sums=sums,
                        wait=0.1 if sums else 0.01)  # fmt: skip
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE)  # fmt: skip


def wait_for(run, pieces):
    assert run.stdout is not None
    for line in run.stdout:
        if int(line) >= pieces:
            return
    raise AssertionError(run.stderr.read())


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.some(2)
def test_a_run_that_is_killed_or_stopped_goes_on(cache, how, sums):
    run = child(cache, sums)
    wait_for(run, 16)
    run.send_signal(how)
    _, err = run.communicate(timeout=600)
    assert run.returncode == -how if how == signal.SIGKILL else "KeyboardInterrupt" in err
    assert tables.state(counting()) == "part"
    log: list[int] = []
    assert tables.build(counting(log=log, sums=sums), tell=quiet)
    assert right(tables.opened(counting())) and 1 <= len(log) <= SIZE - (12 if how == signal.SIGKILL else 16)


def test_two_that_make_a_table_at_once_make_it_once(cache):
    run = child(cache)
    wait_for(run, 1)
    log: list[int] = []
    assert not tables.build(counting(log=log), tell=quiet), "it waits, and then the table is there"
    assert run.wait(600) == 0 and not log
    assert right(tables.opened(counting()))
    run.communicate()


def test_no_room_is_refused_with_the_estimate(cache, monkeypatch):
    made = recipes.recipe("river")
    monkeypatch.setattr(tables, "free_memory", lambda: 10**8)
    with pytest.raises(ArtefactError, match=r"river takes 0.25 GB of memory while it is made, and 0.10 GB are free"):
        tables.build(made, tell=quiet)
    monkeypatch.setattr(tables, "free_memory", lambda: 10**12)
    monkeypatch.setattr(tables.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(ArtefactError, match=r"river needs 0.49 GB on disk while it is made, and .* has 0.10 GB"):
        tables.build(made, tell=quiet)
    assert tables.state(made) == "missing"


def test_recipes():
    every = recipes.all_recipes()
    assert [made.name for made in every] == [
        "preflop", "classes", "flop", "turn", "river", "preflop-histogram-50", "flop-histogram-50", "turn-histogram-50",
    ]  # fmt: skip
    assert recipes.recipe("river").bytes == 2 * 123_156_254
    assert 1.1e9 < sum(made.bytes for made in every) < 1.3e9
    assert all(recipes.recipe(made.name).arrays == made.arrays for made in every)


# Whole tables


@pytest.mark.slow
def test_all_tables(tmp_path, monkeypatch):
    """Made for real, the flop killed on its way: looked up they are what is worked out on the spot."""
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    code = f"""
import os
import kibitz.core.jit
os.environ["KIBITZ_CACHE"] = {str(tmp_path)!r}
from kibitz.cards import recipes, tables
tables.build(recipes.recipe("flop"), tell=lambda made, done, pieces: print(done, flush=True), every=2.0)
"""
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(run, 40)
    run.kill()
    run.communicate()
    assert tables.state(recipes.recipe("flop")) == "part"
    for made in recipes.all_recipes():
        tables.build(made, tell=quiet)
    monkeypatch.setattr(holdem, "ON_THE_SPOT", dict.fromkeys((2, 5, 6, 7), -1))
    for seen, count in ((7, 3000), (6, 300), (5, 30)):
        spots = np.argsort(DRAWN.random((count, 52)), axis=1)[:, :seen]
        ahead, wins, ties, squares, histogram = holdem._worked_out(spots.astype(np.uint8), 50)
        boards = holdem.RUN_OUTS[seen]
        found = cards.strength(spots)
        assert np.array_equal(found.hs, ahead / (2 * holdem.HANDS_MET[seen]))
        assert np.array_equal(found.ehs, (2 * wins + ties) / (1980 * boards))
        assert np.array_equal(found.ehs2, squares / (1980**2 * boards))
        assert np.array_equal(cards.histogram(spots), histogram)
        if seen < 7:
            assert np.array_equal(cards.counts(spots).wins, wins) and np.array_equal(cards.counts(spots).ties, ties)
        for board in boards_with_flushes(seen - 2, 20):
            hands = HANDS[~np.isin(HANDS, board).any(axis=1)]
            assert round(float(cards.strength(hands, board).ehs.sum()), 9) == len(hands) / 2
    for made in recipes.all_recipes():
        for name, array in tables.opened(made).items():
            if name in ("ahead", "squares", "histogram") and len(array) > 169:
                assert (array if array.ndim == 1 else array.sum(axis=1)).min() > 0 or name == "ahead"
    # Before the flop: from flops, and from hands against each other.
    hand = cards.parse("Jh Td")
    flops = np.array(list(combinations([card for card in range(52) if card not in hand], 3)))
    assert float(cards.strength(np.tile(hand, (len(flops), 1)), flops).ehs.mean()) == pytest.approx(
        float(cards.strength(hand).ehs), abs=1e-12
    )
    whole = cards.histogram(np.tile(hand, (len(flops), 1)), flops).sum(axis=0)
    assert np.array_equal(whole, 10 * cards.histogram(hand))
    found, table = cards.classes(), tables.opened(recipes.recipe("preflop"))
    assert np.array_equal(found.wins.sum(axis=1), table["wins"])
    assert np.array_equal(found.ties.sum(axis=1), table["ties"])
    one, other = cards.class_hands("AKs"), cards.class_hands("QQ")
    slow = np.zeros(3, np.int64)
    for held in one:
        slow += cards.equity(held, other[~np.isin(other, held).any(axis=1)])
    assert tuple(slow.tolist()) == cards.class_equity("AKs", "QQ")
    shutil.rmtree(tmp_path / "cards")  # over a gigabyte, which pytest would keep
