"""Buckets of hands: every hand is in one, whatever the names of its suits, and what is saved is what is read."""

from __future__ import annotations

import json
import math
import random
from itertools import combinations

import numpy as np
import pytest
from kills import kill_again_and_again

import kibitz
from kibitz.cards import strengths as strengths_module
from kibitz.cards.strengths import METRICS, HandStrengths, strengths_of
from kibitz.core.errors import ArtefactError, GameError, SpecError
from kibitz.games import game
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.buckets.percentile import percentiles
from kibitz.poker.exact.deal import deal
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.rules import Poker, strength


def definition(ranks: int, suits: int, board: tuple[int, ...], hole: int) -> Definition:
    rounds = len(board)
    return Definition(
        True, 2, rounds, None, (1, 1), (1,) * rounds, (0,) * rounds, (1,) * rounds, suits, ranks, hole, board
    )


def cards(known: Definition) -> str:
    return f"{known.ranks}x{known.suits} {known.hole} {known.board}"


SMALL = [
    definition(3, 2, (0, 1), 1), definition(13, 4, (0, 1, 1), 1), definition(4, 3, (0, 1, 1), 1),
    definition(4, 4, (0, 3, 1), 2), definition(4, 3, (3, 1, 1), 2), definition(5, 2, (0, 1), 2),
    definition(5, 2, (0, 2, 1, 1), 2), definition(5, 2, (1, 0, 1), 1),
]  # fmt: skip
NAMES = [
    "percentile(3)",
    "percentile(4, metric=ehs, recall=false)",
    "expectation(BUDGETS)",
    "potential(BUDGETS)",
    "potential(BUDGETS, metric=emd, inner=5)",
    "potential(BUDGETS, recall=false)",
]


def named(name: str, known: Definition, budgets: tuple[int, ...] = (3, 9, 20, 50)) -> str:
    return name.replace("BUDGETS", str(list(budgets[: known.rounds])))


def hands_of(known: Definition) -> HandStrengths:
    return strengths_of(known.ranks, known.suits, known.board, known.hole, strength)


def naive_metric(known: Definition, cards: list[int], level: int, power: int) -> tuple[int, int]:
    """By the definition: (the sum over run-outs of what a hand has against all others, run-outs)."""
    deck, seen, later = set(known.deck), cards, known.board[level + 1 :]
    runs: list[list[int]] = [[]]
    for new in later:
        runs = [run + list(more) for run in runs for more in combinations(sorted(deck - set(seen) - set(run)), new)]
    total = 0
    for run in runs:
        board = cards[known.hole :] + run
        mine = int(strength(cards[: known.hole] + board))
        others = [int(strength([*o, *board])) for o in combinations(sorted(deck - set(seen) - set(run)), known.hole)]
        total += sum(2 * (mine > o) + (mine == o) for o in others) ** power
    return total, len(runs)


@pytest.mark.parametrize("known", [SMALL[0], SMALL[2], definition(4, 2, (0, 3, 1), 2), SMALL[5], SMALL[7]], ids=cards)
def test_strengths_are_those_of_the_definition(known: Definition) -> None:
    hands = hands_of(known)
    rng = np.random.default_rng(3)
    for level in range(known.rounds):
        for name, power in METRICS.items():
            metric = hands.metric(level, name)
            for _ in range(3):
                board = int(rng.integers(len(metric)))
                hand = int(rng.integers(metric.shape[1]))
                held = hands.boards.hands_on(level, board, known.hole)[hand].tolist()
                cards = held + hands.boards.rounds[level].cards[board].tolist()
                found, runs = naive_metric(known, cards, level, power)
                assert int(metric[board, hand]) == found
                assert hands.scale(level, name) == runs * hands.top**power


def test_tables_of_hold_em_give_what_board_by_board_work_gives() -> None:
    hands = strengths_of(13, 4, (0, 3, 1, 1), 2, strength)
    assert hands.metric(0, "ehs2").shape == (1, 1326)
    aces = hands.boards.find(0, np.array([[51, 50]]), 2)[1][0]
    assert abs(hands.metric(0, "ehs")[0, aces] / hands.scale(0, "ehs") - 0.85203) < 1e-5


@pytest.mark.parametrize("known", SMALL, ids=cards)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.some(16)
def test_every_hand_is_in_one_bucket_whatever_its_suits_are_called(known: Definition, name: str) -> None:
    made = hand_buckets(known, named(name, known))
    hands = hands_of(known)
    for level, of in enumerate(made.rounds):
        assert of.table is not None
        assert sorted(np.unique(of.table).tolist()) == list(range(of.count))
        assert math.isclose(made.weights(level).sum(), 1.0)
        count, number = hands.classes(level)
        bucket = np.zeros(count, np.int64)
        bucket[number.ravel()] = of.table.ravel()
        assert (bucket[number] == of.table).all()  # classes are not parted
        if level and made.perfect_recall:
            assert (hands.lifted(level, made.rounds[level - 1].table) == of.parent[of.table]).all()


@pytest.mark.parametrize("known", SMALL, ids=cards)
@pytest.mark.parametrize("name", ["percentile(BUDGETS)", "expectation(BUDGETS)", "potential(BUDGETS)"])
@pytest.mark.some(8)
def test_budgets_of_all_classes_are_lossless(known: Definition, name: str) -> None:
    theirs = deal(known)
    made = hand_buckets(known, named(name, known, tuple(r.classes for r in theirs.rounds)))
    assert made.counts == [r.classes for r in theirs.rounds]
    assert [len(set(of.tolist())) for of in made.classes(theirs)] == made.counts


def some_game(seed: int) -> Definition:
    """A small game: one round or two, some cards of the board before the first, hands of one card or two."""
    rng = random.Random(seed)
    while True:
        ranks, suits, hole = rng.randint(2, 4), rng.randint(1, 4), rng.choice((1, 1, 2))
        board = (rng.randint(0, 2), *(rng.randint(0, 1) for _ in range(rng.randint(0, 1))))
        if hole + sum(board) <= 3 and 2 * hole + sum(board) < ranks * suits <= 9:
            raises = rng.randint(1, 2)
            rounds = len(board)
            return Definition(True, 2, rounds, None, (1, rng.randint(1, 2)), (2,) * rounds, (0,) * rounds,
                              (raises,) * rounds, suits, ranks, hole, board)  # fmt: skip


ONE_ROUND = [definition(4, 2, (1,), 1), definition(2, 4, (2,), 1), definition(3, 3, (1,), 1), definition(4, 2, (2,), 1)]


@pytest.mark.parametrize("known", [*ONE_ROUND, *map(some_game, range(16))], ids=cards)
@pytest.mark.some(8)
def test_a_lossless_budget_has_the_value_of_the_game(known: Definition) -> None:
    """With a bucket for each class an equilibrium of the abstract game is one of the game, as found without buckets."""
    rules = Poker(known)
    whole = kibitz.solve(rules, "lp")
    budgets = [500] * known.rounds
    for name in ("percentile(1000)", f"expectation({budgets})", f"potential({budgets})"):
        found = kibitz.solve(rules, "lp", abstraction=name)
        assert kibitz.nash_conv(rules, found) == pytest.approx(0, abs=1e-9), name
        assert kibitz.value(rules, found)[0] == pytest.approx(kibitz.value(rules, whole)[0], abs=1e-9), name


def test_percentiles_are_equally_likely_and_keep_ties_together() -> None:
    assert percentiles(np.full(12, 7), 4).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert percentiles(np.array([1, 10, 1]), 3).tolist() == [0, 1, 2]
    assert percentiles(np.array([10, 1, 1]), 3).tolist() == [0, 1, 1]  # 5/12, 10.5/12, 11.5/12
    big = percentiles(np.full(10, 1 << 58), 5)
    assert np.bincount(big).tolist() == [2] * 5


def test_cuts_by_strength_are_what_a_table_would_say(monkeypatch: pytest.MonkeyPatch) -> None:
    known = definition(4, 3, (0, 3, 1), 2)
    table = hand_buckets(known, "percentile(3, metric=ehs)")
    from kibitz.poker.buckets import buckets, cuts

    monkeypatch.setattr(cuts, "MOST_TABLE", 0)
    buckets._held.clear()
    made = hand_buckets(known, "percentile(3, metric=ehs)")
    buckets._held.clear()
    assert made.rounds[-1].table is None and made.counts == table.counts
    rng = np.random.default_rng(1)
    cards = np.array([rng.permutation(known.deck)[:6] for _ in range(500)])
    assert (made.of(2, cards) == table.of(2, cards)).all()
    assert np.allclose(made.weights(2), table.weights(2))


def test_what_is_saved_is_read_and_what_is_damaged_is_refused(tmp_path) -> None:
    made = hand_buckets(SMALL[3], "percentile(3)")
    made.save(tmp_path / "kept")
    read = HandBuckets.load(tmp_path / "kept")
    assert read.digest == made.digest and read.name == made.name and read.counts == made.counts
    manifest = tmp_path / "kept" / "manifest.json"
    whole = json.loads(manifest.read_text())
    table = tmp_path / "kept" / whole["arrays"]["table1"]["file"]
    table.write_bytes(b"\xff" * table.stat().st_size)
    with pytest.raises(ArtefactError):
        HandBuckets.load(tmp_path / "kept")
    from kibitz.core import store

    for wrong in ({"ranks": 14}, {"board": [0, 7, 7, 7]}, {"hole": 1}, {"board": "x"}, {"name": 3}):
        game = {"ranks": 4, "suits": 4, "board": [0, 3, 1], "hole": 2, "name": "x", "made": {}}
        arrays = {f"parent{r}": of.parent for r, of in enumerate(made.rounds)}
        arrays |= {f"table{r}": of.table for r, of in enumerate(made.rounds)}
        store.save(tmp_path / "bad", "hand-buckets", arrays, {**game, **wrong})
        with pytest.raises(ArtefactError, match="damaged"):
            HandBuckets.load(tmp_path / "bad")


@pytest.mark.slow
def test_solve_takes_names_and_folders(tmp_path) -> None:
    name = "rhode_island(ranks=3, suits=2)"
    found = kibitz.solve(name, "cfr+", iterations=20, abstraction="percentile(2)")
    assert found.meta["abstraction"] == "percentile(buckets=2)"
    made = hand_buckets(game(name).definition, "percentile(2)")
    made.save(tmp_path / "two")
    again = kibitz.solve(name, "cfr+", iterations=20, abstraction=str(tmp_path / "two"))
    assert again.meta["abstract_nash_conv"] == found.meta["abstract_nash_conv"]
    with pytest.raises(GameError, match="other cards"):
        kibitz.solve("rhode_island(ranks=4, suits=2)", "cfr+", abstraction=str(tmp_path / "two"))
    rows = kibitz.abstraction(name, str(tmp_path / "two"))
    assert rows.rows == kibitz.abstraction(name, "percentile(2)").rows == found.meta["size"]


def test_potential_finds_the_classes_that_win_counts_give() -> None:
    """Hands of Rhode Island hold'em that turn into the same with the same chances: 205, as GameShrink has them."""
    definition = game("rhode_island").definition  # type: ignore[attr-defined]
    made = hand_buckets(definition, "potential([13, 205, 400], inner=128)")
    shrunk = hand_buckets(definition, "gameshrink(reading=win-count)")
    assert made.counts == [13, 205, 400] and shrunk.counts == [13, 205, 1774]
    pairs = set(zip(made.rounds[1].table.ravel().tolist(), shrunk.rounds[1].table.ravel().tolist(), strict=True))
    assert len(pairs) == 205
    assert shrunk.perfect_recall and math.isclose(shrunk.weights(2).sum(), 1.0)


@pytest.mark.parametrize("metric", ["l2", "l1", "emd"])
def test_the_same_seed_gives_the_same_buckets_on_any_number_of_threads(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kibitz.poker.buckets import buckets

    found = []
    for threads, seed in ((1, 3), (3, 3), (2, 4)):
        buckets._held.clear()
        monkeypatch.setattr(strengths_module, "cores", lambda threads=threads: threads)
        found.append(hand_buckets(SMALL[3], f"potential([4, 30, 100], metric={metric}, seed={seed})").digest)
    assert found[0] == found[1] != found[2]


def test_a_killed_build_goes_on_where_it_was(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets of large games are kept, stage by stage: killed at random moments they come out the same."""
    from kibitz.core import jit
    from kibitz.poker.buckets import buckets

    name, known = "potential([4, 30, 100], inner=6)", SMALL[3]
    whole = hand_buckets(known, name).digest
    monkeypatch.setattr(jit, "cache_home", lambda: tmp_path)
    monkeypatch.setattr(buckets, "KEPT", 0)
    path = buckets._cache((known.ranks, known.suits, known.board, known.hole, str(buckets.parse(name))))

    def body() -> None:
        buckets._held.clear()
        hand_buckets(known, name)

    def finished() -> bool:
        return HandBuckets.load(path).digest == whole and not path.with_name(f"{path.name}.part").exists()

    monkeypatch.setattr(strengths_module, "cores", lambda: 1)  # forks and threads do not mix
    assert kill_again_and_again(body, finished, {path: "hand-buckets"}, 6, random.Random(5)) == 6


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("percentile(0)", "whole numbers, 1 or more"),
        ("percentile([2, 2])", "the game has 3 rounds"),
        ("percentile(2, metric=best)", "use ehs or ehs2"),
        ("percentile", "needs a value for 'buckets'"),
        ("potential([2, 8, 8], metric=l3)", "use l2 or l1 or emd"),
        ("potential([2, 8, 8], inner=1)", "from 2 to"),
        ("expectation(3)", "the game has 3 rounds"),
        ("expectation([3, 2, 9])", "use more buckets in this round"),
        ("percentil(2)", "did you mean"),
    ],
)
def test_wrong_names_are_sentences(name: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        hand_buckets(game("rhode_island(ranks=4, suits=2)").definition, name)
