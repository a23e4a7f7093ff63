"""Reports over flops, on decks of twelve cards."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from here_executor import Here

from kibitz.cards import evaluate
from kibitz.cards.boards import deck_of
from kibitz.cards.ranges import hand_cards, parse_range
from kibitz.core.errors import ArtefactError, GameError
from kibitz.core.executor import executing
from kibitz.poker.spots import flop_report as reports
from kibitz.poker.spots.estimates import estimate_of
from kibitz.poker.spots.flop_report import chosen_flops, errors, flop_report
from kibitz.poker.spots.flops import flops_of
from kibitz.poker.spots.reading import spot
from kibitz.poker.spots.solving import solve_spot
from kibitz.poker.spots.spot import betting_of

DECK = (4, 3)
RANGES = ["AA, KQs, AJs:0.5", "KK, QJs, AQs"]
QUESTION = {"ranges": RANGES, "pot": 100, "stacks": 100, "bets": "50%", "raises": "none", "deck": DECK}


@pytest.fixture
def here():
    executor = Here()
    with executing(executor):
        yield executor


def test_without_bets_it_is_the_equity_before_the_flop(here):
    """By listing all deals: what OOP wins on average over flops is its share of the pot."""
    question = {**QUESTION, "bets": "none"}
    report = flop_report(**question, subset=None, iterations=1)
    ranges = np.stack([parse_range(text).weights for text in RANGES])
    deck, cards = [int(card) for card in deck_of(*DECK)], hand_cards()
    within = np.isin(cards, deck).all(axis=1)
    wins = total = 0.0
    for a in np.flatnonzero(ranges[0] * within):
        for b in np.flatnonzero(ranges[1] * within):
            taken = {*cards[a].tolist(), *cards[b].tolist()}
            if len(taken) < 4:
                continue
            for board in combinations([card for card in deck if card not in taken], 5):
                mine, theirs = (int(evaluate([*cards[h].tolist(), *board])) for h in (a, b))
                weight = ranges[0, a] * ranges[1, b]
                wins, total = wins + weight * ((mine > theirs) + (mine == theirs) / 2), total + weight
    means = report.means()
    assert means["equity OOP"] == pytest.approx(wins / total)
    assert means["EV OOP"] == pytest.approx(100 * wins / total, abs=1e-3)
    assert means["OOP check"] == 1.0


def test_flops_are_solved_as_spots_and_put_together(here, tmp_path):
    report = flop_report(**QUESTION, subset=None, iterations=40, out=tmp_path / "report")
    flops = flops_of(DECK)
    assert [flop.name for flop in report.flops] == [flop.name for flop in flops]
    k = len(flops) // 3
    solution = solve_spot(spot(board=flops[k].cards, **QUESTION), iterations=40)
    result = report.results[k]
    assert result.values == pytest.approx(solution.values, abs=1e-4)
    for shares, line in ((result.first, ""), (result.after_check, "check")):
        assert list(shares) == ["check", "bet 50"]
        assert list(shares.values()) == pytest.approx(solution.at(line).frequencies, abs=1e-5)
    means = report.means()
    assert means["EV OOP"] == pytest.approx(report.weights @ [each.values[0] for each in report.results])
    for kind in reports.CLASSES:
        table = report.by_class(kind)
        assert sum(row["share"] for row in table.values()) == pytest.approx(1.0)
        assert sum(row["share"] * row["IP bet 50"] for row in table.values()) == pytest.approx(means["IP bet 50"])
    assert list(report.by_class("high")) == ["A", "K", "Q", "J"]
    assert report.rows()[k]["flop"] == flops[k].name and report.rows()[k]["OOP check"] == result.first["check"]

    # It continues: nothing is solved twice, and what is damaged is solved again.
    done = here.done
    again = flop_report(**QUESTION, subset=None, iterations=40, out=tmp_path / "report")
    assert here.done == done == len(flops) and again.results == report.results
    (tmp_path / "report" / f"{flops[0].name}.json").write_text('{"flop": "x"}')
    (tmp_path / "report" / f"{flops[1].name}.json").unlink()
    flop_report(**QUESTION, subset=None, iterations=40, out=tmp_path / "report")
    assert here.done == done + 2
    with pytest.raises(ArtefactError, match="another question: pot differs"):
        flop_report(**{**QUESTION, "pot": 50}, subset=None, iterations=40, out=tmp_path / "report")

    # Subsets of it: more flops, smaller errors than random ones of the same size.
    sizes = (4, len(flops))
    few, every = (errors(report, size) for size in sizes)
    assert max(abs(each.error) for each in every) < 1e-9
    assert {each.quantity for each in few} == set(report.quantities())
    ratios = [(each.error / each.random) ** 2 for each in few if each.random > 1e-9]
    assert np.mean(ratios) < 1.0


def test_a_subset_is_solved_with_its_weights(here, tmp_path):
    report = flop_report(**QUESTION, subset=3, iterations=5, out=tmp_path)
    choice = chosen_flops(QUESTION, 3)
    assert report.flops == choice.flops and np.array_equal(report.weights, choice.weights) and here.done == 3
    assert [result.equity for result in report.results] == pytest.approx(choice.equities)
    (error,) = choice.errors
    assert error.estimate == pytest.approx(report.means()["equity OOP"])
    saved = json.loads((tmp_path / "equities.json").read_text())
    assert len(saved) == len(flops_of(DECK))
    assert "3 flops" in report.chosen


def test_flops_by_name(here):
    report = flop_report(**QUESTION, subset=["AcKdQh", "AhKcQd", "JcJdJh"], iterations=2)
    assert len(report.flops) == 2 and report.weights.sum() == pytest.approx(1.0)  # two names are of one class
    with pytest.raises(GameError, match="not in the deck"):
        flop_report(**QUESTION, subset=["2c3c4c"], iterations=2)


def test_wrong_questions(here, tmp_path):
    with pytest.raises(GameError, match="some suits"):
        flop_report(**{**QUESTION, "ranges": ["AcAd", "KK"]}, subset=2)
    with pytest.raises(GameError, match="choose 3 to 13 ranks"):
        flop_report(**{**QUESTION, "deck": (2, 4)}, subset=2)
    with pytest.raises(GameError, match="choose 1 to"):
        flop_report(**QUESTION, subset=1000)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArtefactError, match="not empty"):
        flop_report(**QUESTION, subset=2, out=tmp_path)


def test_the_picture(here, tmp_path):
    from kibitz.report.flops import flops_plot
    from kibitz.report.plot import save

    report = flop_report(**QUESTION, subset=3, iterations=2)
    figure = flops_plot(report)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[0] == "all flops" and "A high" in labels
    save(figure, tmp_path / "flops.png")
    assert (tmp_path / "flops.png").stat().st_size > 5_000


def test_flops_that_leave_a_range_no_hand_are_left_out(here):
    report = flop_report(**{**QUESTION, "ranges": ["AA", "KK"]}, subset=None, iterations=1)
    names = {flop.name for flop in report.flops}
    assert names < {flop.name for flop in flops_of(DECK)}
    for flop in set(flops_of(DECK)) - set(report.flops):  # of three aces two are gone, or of three kings
        ranks = [card // 4 for card in flop.cards]
        assert ranks.count(12) >= 2 or ranks.count(11) >= 2


def test_pieces_say_how_much_memory_they_need(monkeypatch):
    """As much as the estimate of their spot, or a little more: flops of one class leave about as many hands."""
    flops = flops_of(DECK)
    pieces = []

    class Listening(Here):
        def map(self, function, work, *arguments, **options):
            pieces.extend(work)
            return super().map(function, work, *arguments, **options)

    names = [flop.name for flop in flops[:: len(flops) // 6]]
    with executing(Listening()):
        flop_report(**QUESTION, subset=names, iterations=1)
    assert len(pieces) == len(names)
    for piece in pieces:
        question = spot(board=piece.arguments[0], **QUESTION)
        needed = estimate_of(question, betting_of(question)).bytes
        assert 0 < needed <= 1.05 * piece.memory and piece.memory < 2 * needed
    assert len({piece.memory for piece in pieces}) > 1
