"""[Gibson & Szafron 2011, Table 1]: sizes exactly, the claims that hold from every start, and the command's reports.

Abstract equilibria are not unique, so no earnings are asserted, nor that S=N earns more than S={i} or
Pre-flop than All.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

import kibitz
from kibitz.cli import app
from kibitz.evaluate.crosstable import mix
from kibitz.forms.profile import Profile
from kibitz.games.tree import tree_of
from kibitz.papers import PaperPlan, gibson2011, gibson2011_sampled, recompute, stitching
from kibitz.papers import gibson2011_runs as leduc
from kibitz.papers.claims import WEIGHT
from kibitz.papers.gibson2011_runs import (
    ALL,
    ALL_COLD,
    AS_THE_PAPER,
    BASE,
    BASES,
    COARSE,
    DYNAMIC,
    EACH,
    HYBRID,
    PAPER_ROWS,
    PREFLOP,
    PREFLOP_COLD,
    READINGS,
    SAMPLED,
)
from kibitz.papers.gibson2011_sampled import EARNS, EXPLOIT
from kibitz.papers.runs import carry_out
from kibitz.papers.stitching import Builder, SampledBuilder, by_weight, over_starts, weight_sheet
from kibitz.report.figures import Spread

FEW = (0.0, 0.01, WEIGHT)  # without the weight that takes longest


@pytest.fixture(scope="module")
def weighed():
    plan = PaperPlan(starts=3, weights=FEW)
    answers = carry_out([over_starts("2 players", leduc.one_start, plan, 2)], jobs=1)["2 players"]
    return {w: leduc.results(2, leduc.sizes(2), starts) for w, starts in by_weight(plan, answers).items()}


@pytest.fixture(scope="module")
def rough():
    """The same from fewer starts to a larger gap: enough to see what is made of figures, not what they are."""
    plan = PaperPlan(starts=2, weights=FEW, until=1e-2)
    answers = carry_out([over_starts("2 players", leduc.one_start, plan, 2)], jobs=1)["2 players"]
    return {w: leduc.results(2, leduc.sizes(2), starts) for w, starts in by_weight(plan, answers).items()}


@pytest.fixture(scope="module")
def two(weighed):
    return weighed[WEIGHT]


@pytest.fixture(scope="module")
def three():
    return leduc.results(3, leduc.sizes(3), [leduc.one_start(3, 1e-4, 60, WEIGHT, 0)])


@pytest.fixture(scope="module")
def answers():
    """The paper's own method, far too short, and the sizes."""
    plan = PaperPlan(sampled=20_000, sampled_seeds=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leduc, "SHORTER_SEEDS", 1)
        asked = [run for run in leduc.runs(plan) if run.name.startswith(SAMPLED)]
    return plan, carry_out(asked, jobs=1) | {"sizes": [leduc.sizes(2)]}


@pytest.fixture(scope="module")
def sampled(answers):
    return gibson2011_sampled.gather_sampled(*answers)


def assert_robust(r, claims):
    """The claims of shared experience: they held from every start that anybody tried."""
    for base in COARSE:
        for better in (DYNAMIC, EACH):
            assert claims[f"2p {base}: {better} earns more than {BASE}"].count == len(r.earns[base][BASE].values)
            assert all(claims[f"2p {base}: {better} is less exploitable than {BASE}"].truths)
    assert all(claims[f"2p JQ-K: {PREFLOP} earns more than {BASE}"].truths)
    assert all(claims[f"2p JQ-K: {PREFLOP} is less exploitable than {BASE}"].truths)
    for worse in (ALL, PREFLOP):
        assert all(claims[f"2p JQ-K: {DYNAMIC} is less exploitable than {worse}"].truths)


@pytest.mark.slow
def test_sizes_of_two_players(two):
    ours = [two.size["JQ-K"][name] for name in PAPER_ROWS]
    assert ours == [132, 444, 226, 186, 186] == [gibson2011.PAPER[2][name][0] for name in PAPER_ROWS]
    assert ours == [two.size["J-QK"][name] for name in PAPER_ROWS]
    assert {two.size["null"][name] for name in PAPER_ROWS} == {6 * 3 + 30 * 15}


@pytest.mark.slow
def test_sizes_of_three_players(three):
    """The paper has 3017 where we count 3021."""
    for base in COARSE:
        assert [three.size[base][name] for name in PAPER_ROWS] == [1890, 6903, 3021, 2145, 2145]
        assert 2145 < three.size[base][HYBRID] < 3021
    assert three.size["null"][BASE] == 33 * 3 + 456 * 15


@pytest.mark.slow
def test_bases_are_as_exploitable_as_they_must_be(two):
    """Smallest exploitability of any equilibrium of the abstract game: JQ-K 489.76, J-QK 738.92 milli-antes. An
    approximate equilibrium may stay a little below."""
    assert two.exploit["JQ-K"][BASE].low > 489.76 - 1.0
    assert two.exploit["J-QK"][BASE].low > 738.92 - 1.0
    assert two.exploit["null"][BASE].high <= 0.1 and two.gap <= 0.1 + 1e-9


@pytest.mark.slow
def test_claims_that_hold_from_every_start(weighed, two, three, sampled):
    found = {claim.text: claim for claim in gibson2011.claims((weighed, three, sampled))}
    assert_robust(two, found)
    for base in COARSE:  # and at every weight
        for better in (DYNAMIC, EACH):
            for what in ("earns more", "is less exploitable"):
                told = found[f"2p {base}: {better} {what} than {BASE}"].verdict_text
                assert told.startswith("holds at every weight: true in 3 of 3")
    for base in COARSE:  # three players: no theory, but by far
        assert three.earns[base][DYNAMIC].mean > three.earns[base][BASE].mean


def test_every_claim_is_counted(rough, sampled):
    """Three players take a minute to be laid out: their figures are drawn here."""
    two, rng = rough[WEIGHT], np.random.default_rng(3)
    size = {base: dict.fromkeys([*rows, HYBRID, ALL_COLD, PREFLOP_COLD], 1) for base, rows in two.size.items()}
    drawn = {base: {name: rng.random() for name in rows} for base, rows in size.items()}
    three = leduc.results(3, size, [{"earnings": drawn, "exploitability": drawn, "gap": 0.0, "games": 0}])
    found = list(gibson2011.claims((rough, three, sampled)))
    assert len({claim.text for claim in found}) == len(found)
    for claim in found:
        assert len(claim.truths) == (2 if claim.text.startswith("2p") else 1)
    (claim,) = [claim for claim in found if claim.text == f"3p J-QK: {DYNAMIC} earns more than {BASE}"]
    assert claim.truths == (drawn["J-QK"][DYNAMIC] > drawn["J-QK"][BASE],)
    text = f"2p JQ-K: {PREFLOP} earns more than {ALL}"
    claim = next(claim for claim in found if claim.text == text)
    pairs = zip(two.earns["JQ-K"][PREFLOP].values, two.earns["JQ-K"][ALL].values, strict=True)
    assert claim.truths == tuple(a > b for a, b in pairs) and claim.source == gibson2011.SOURCE
    for claim in found:
        paper = claim.text.startswith("2p") and not claim.source.endswith("(future work)")
        weights = [f"{weight:g}" for weight in (FEW if paper else [WEIGHT])]
        assert list(claim.tried) == weights and claim.tried[f"{WEIGHT:g}"] == claim.truths
    claim = next(claim for claim in found if claim.text == text)
    for weight, r in rough.items():
        pairs = zip(r.earns["JQ-K"][PREFLOP].values, r.earns["JQ-K"][ALL].values, strict=True)
        assert claim.tried[f"{weight:g}"] == tuple(a > b for a, b in pairs)


def test_weights_start_from_the_same_profiles(rough, monkeypatch):
    given, starts = leduc.layout(2), {}
    real = stitching.make
    for weight in FEW:
        seen = starts[weight] = []
        monkeypatch.setattr(
            stitching, "make", lambda name, task, seen=seen: seen.append(task.start) or real(name, task)
        )
        maker = Builder(given.tree, PaperPlan(until=10.0), 7, weight)
        leduc.build(given, "JQ-K", maker)
        leduc.build(given, "J-QK", maker)
    assert len(starts[WEIGHT]) == 28 and not np.array_equal(starts[WEIGHT][0], starts[WEIGHT][14])
    for seen in starts.values():
        assert all(np.array_equal(one, other) for one, other in zip(seen, starts[WEIGHT], strict=True))
    # What comes of them is not the same, except for equilibria of the game itself.
    assert rough[0.0].exploit["null"][BASE].high <= 10.0
    assert rough[0.0].earns["JQ-K"][ALL] != rough[WEIGHT].earns["JQ-K"][ALL]
    assert set(rough[0.0].earns["JQ-K"]) == set(PAPER_ROWS) < set(rough[WEIGHT].earns["JQ-K"])


def test_the_sheet_of_weights(rough):
    light, heavy = {"a": Spread((1.0, 3.0)), "b": Spread((5.0, 5.0))}, {"a": Spread((2.0,)), "b": Spread((7.0,))}
    found = {0.0: light, WEIGHT: heavy}
    sheet = weight_sheet("x", found, 1, {"a": 2.5})
    assert sheet.head == ("strategy", "weight 0", "weight 0.1", "paper")
    assert sheet.rows == [
        ("a", "2.0 ± 1.4", "2.0 ± 0.0", "2.50"), ("b", "5.0 ± 0.0", "7.0 ± 0.0", ""),
        ("the paper's figures in the range of the starts", "1 of 1", "0 of 1", ""),
    ]  # fmt: skip
    assert weight_sheet("x", found, 1).head == ("strategy", "weight 0", "weight 0.1")
    text = gibson2011.reproduced(rough)
    assert "all 10 of the paper's figures" in text and " at 0, " in text


@pytest.mark.parametrize("players", [2, 3])
def test_earnings_are_all_combinations_and_orders(players):
    """By the definition, with random profiles for strategies."""
    tree = tree_of(kibitz.game(f"kuhn(players={players})"))
    rng = np.random.default_rng(players)

    def anyone():
        p = rng.random(len(tree.infosets.labels))
        return Profile(tree.infosets, np.stack([p, 1 - p], 1).ravel(), {"tree": tree.digest})

    built = {base: {name: anyone() for name in PAPER_ROWS} for base in BASES}
    built["JQ-K"][HYBRID] = anyone()
    found = leduc.earnings(tree, built)
    for name in (EACH, HYBRID):
        others = [[built[base][row] for row in PAPER_ROWS] for base in BASES if base != "JQ-K"]
        groups = [(x,) for group in others for x in group] if players == 2 else list(product(*others))
        mine, gets = built["JQ-K"][name], []
        for group in groups:
            for order in permutations((mine, *group)):
                gets.append(kibitz.value(tree, mix(order))[[p is mine for p in order].index(True)])
        assert found["JQ-K"][name] == pytest.approx(np.mean(gets), abs=1e-12)


def test_nothing_is_lost_without_suits():
    """A strategy for cards without suits is worth the same in the game with suits, best responses and all."""
    given, suited = leduc.layout(2), leduc.layout(2, suits=True).tree
    plain = Builder(given.tree, PaperPlan(until=1e-2), 5).solve(given.game("JQ-K"))
    rows = []
    for seat in range(2):
        start = suited.infosets.seat_start
        for label in suited.infosets.labels[start[seat] : start[seat + 1]]:
            cards, _, betting = label.partition(":")
            rows += plain[seat, f"{cards[::2]}:{betting}"].values()
    lifted = Profile(suited.infosets, np.array(rows), {"tree": suited.digest})
    assert kibitz.value(suited, lifted) == pytest.approx(kibitz.value(given.tree, plain), abs=1e-12)
    assert kibitz.nash_conv(suited, lifted) == pytest.approx(kibitz.nash_conv(given.tree, plain), abs=1e-12)


def test_the_builder_stitches_as_the_library_does(monkeypatch):
    """From a uniform start instead of a random one both make the same bytes."""
    monkeypatch.setattr(stitching, "normalise", lambda weights, infosets: 1.0 / infosets.width[infosets.row_of_column])
    given, until = leduc.layout(2), 1e-2
    tree, parts, coarse, fine = given.tree, given.everywhere, given.bases["J-QK"], given.expert
    maker = Builder(tree, PaperPlan(until=until), 0, weight=0.0)
    base = maker.solve(given.game("J-QK"))
    assert base.sha256 == kibitz.solve(tree, "cfr+", abstraction=coarse, until=until).sha256
    joint = maker.solve(given.game("J-QK", parts))
    assert joint.sha256 == kibitz.stitch.dynamic(tree, parts, [coarse, fine], until=until).sha256
    for seats in ("each", "all", [0], [[1, 0]]):
        mine = maker.static(base, parts, seats, fine, coarse)
        assert mine.sha256 == kibitz.stitch.static(tree, base, parts, seats, fine, coarse, until=until).sha256
        rebuilt = maker.rebuild(mine, parts, coarse)
        assert rebuilt.sha256 == kibitz.stitch.rebuild_base(tree, mine, parts, coarse, until=until).sha256


# The paper's own method


def test_pieces_of_the_paper_s_method(answers):
    plan, found = answers
    pieces = {run.name: run.pieces for run in leduc.runs(plan)}
    assert pieces[SAMPLED] == [(base, 20_000, AS_THE_PAPER, seed) for seed in range(2) for base in BASES]
    assert pieces[f"{SAMPLED}, seats in turn"][0] == ("null", 400, "seats in turn", 0)
    assert all(piece["games"] == 14 for piece in found[SAMPLED])
    first, other = found[SAMPLED][0]["strategies"], found[SAMPLED][3]["strategies"]
    assert first[BASE] != other[BASE] and first[BASE] != first[DYNAMIC]  # each game has random numbers of its own
    again = leduc.one_sampled("null", 20_000, AS_THE_PAPER, 0)
    assert np.array_equal(again["strategies"][ALL], first[ALL])
    assert PaperPlan().sampled == 100_000_000 and stitching.QUICK.sampled <= 100_000


def test_the_paper_s_method_comes_to_what_the_solver_comes_to():
    """A base of JQ-K, whose game has a value of -0.10743, and an expert's game, to the gap that is left."""
    given = leduc.layout(2)
    maker = SampledBuilder(given.tree, 0, 300_000)
    base = maker.solve(given.game("JQ-K"))
    assert 0.0 < maker.gap < 0.04
    assert kibitz.value(given.tree, base)[0] == pytest.approx(-0.10743, abs=maker.gap)
    assert 450.0 < 1000.0 * kibitz.exploitability(given.tree, base) < 560.0
    for seats in ("all", "each"):
        built = leduc.experts(given.tree, base, given.everywhere, seats, given.expert, given.bases["JQ-K"])
        game = built[0].game
        exact = kibitz.value(game.tree, kibitz.solve(game.tree, "cfr+", until=1e-6))[0]
        for how in ({}, {"sample": False}, {"alternating": True}):
            other = SampledBuilder(given.tree, 1, 300_000, **how)
            answer, gap = other.answer(game, 0.0)
            assert 0.0 < gap < 0.04
            solved = Profile(game.tree.infosets, answer)
            assert kibitz.value(game.tree, solved)[0] == pytest.approx(exact, abs=gap)


def test_an_expert_that_never_came_somewhere_is_uniform_there():
    given = leduc.layout(2)
    maker = SampledBuilder(given.tree, 0, 1000)
    infosets, parts = given.tree.infosets, given.everywhere
    calls = np.zeros(int(infosets.first[-1]))
    calls[infosets.first[:-1] + (infosets.width == 3)] = 1.0  # never folds and never raises: no part is ever come to
    passive = maker.profile(calls)
    every = maker.static(passive, parts, "all", given.expert, given.bases["JQ-K"])
    inside = (parts.part > 0)[infosets.row_of_column]
    assert np.array_equal(every.probabilities[~inside], calls[~inside])
    assert np.allclose(every.probabilities[inside], (1.0 / infosets.width)[infosets.row_of_column][inside])


def test_figures_of_the_paper_s_method(answers, sampled):
    """They are measured as those of the random starts are, seed by seed."""
    _, found = answers
    tree = leduc.plain_layout(2).tree
    assert sampled.seeds == 2 and sampled.results.games == 2 * 3 * 14 and sampled.iterations == 20_000
    assert sampled.results.gap == pytest.approx(1000.0 * max(piece["gap"] for piece in found[SAMPLED]))
    table = gibson2011_sampled.table(sampled.results)
    assert len(table) == 10
    for seed in range(2):
        rows = found[SAMPLED][3 * seed + list(BASES).index("JQ-K")]["strategies"]
        for name in PAPER_ROWS:
            profile = Profile(tree.infosets, np.array(rows[name]), {"tree": tree.digest})
            expected = 1000.0 * kibitz.exploitability(tree, profile)
            assert table[name, EXPLOIT].values[seed] == pytest.approx(expected)


def test_what_an_expert_is_worth(answers, sampled):
    """How often the base comes to a part, and All with the expert of a part replaced, by the definition."""
    _, found = answers
    tree, parts = leduc.plain_layout(2).tree, leduc.plain_layout(2).everywhere
    rows = found[SAMPLED][list(BASES).index("JQ-K")]["strategies"]
    base, every = (Profile(tree.infosets, np.array(rows[name]), {"tree": tree.digest}) for name in (BASE, ALL))
    comes = [each.comes.values[0] for each in sampled.swapped]
    opens = sum(base[0, f"{card}:"]["raise"] for card in "JQK") / 3.0
    assert [each.part for each in sampled.swapped] == list(parts.names[1:])
    assert comes[0] == pytest.approx(opens) and 0.0 < sum(comes) < 1.0
    mixed = every.probabilities.copy()
    where = (parts.part == 3)[tree.infosets.row_of_column]
    mixed[where] = base.probabilities[where]
    expected = 1000.0 * kibitz.exploitability(tree, Profile(tree.infosets, mixed, {"tree": tree.digest}))
    assert sampled.swapped[2].without[ALL, EXPLOIT].values[0] == pytest.approx(expected)
    assert sampled.swapped[0].uniform[ALL, EXPLOIT].mean > 1000.0  # who calls with anything loses much


def test_an_expert_that_is_taught_less(sampled):
    """Nobody is taught more than the expert was; one lesson leaves it all but uniform, and lessons help."""
    rare = min(sampled.swapped, key=lambda each: each.comes.mean)
    lessons = [each.lessons for each in sampled.taught]
    assert lessons == [k for k in gibson2011_sampled.LESSONS if k <= 20_000 * rare.comes.values[0]] and len(lessons) > 3
    figures = [each.figures[ALL, EXPLOIT] for each in sampled.taught]
    assert all(len(each.values) == gibson2011_sampled.LESSON_SEEDS for each in figures)
    assert figures[0].mean == pytest.approx(rare.uniform[ALL, EXPLOIT].values[0], abs=60.0)
    assert figures[-1].mean < figures[0].mean - 20.0


def test_which_figures_come_out():
    paper = gibson2011_sampled.published(gibson2011.PAPER[2])
    assert len(paper) == 10 and paper[BASE, EARNS] == 24.73 and paper[PREFLOP, EXPLOIT] == 214.44
    found = {key: Spread((figure + 4.0, figure + 5.0)) for key, figure in paper.items()}
    assert len(gibson2011_sampled.near(found, paper)) == 10 and stitching.met(found, paper) == 0
    found[ALL, EXPLOIT] = Spread((400.0, 448.0))
    assert (ALL, EXPLOIT) not in gibson2011_sampled.near(found, paper)
    assert (ALL, EXPLOIT) in gibson2011_sampled.near(found, paper, 10.0)
    assert stitching.met(found, paper) == 1


def test_the_sentence_says_whether_figures_come_out(sampled, rough):
    paper = gibson2011_sampled.published(gibson2011.PAPER[2])
    for good, said in ((0, "do not come out"), (5, "come out in part"), (10, "all come out")):
        figures = {key: 1000.0 * (k >= good) + figure for k, (key, figure) in enumerate(paper.items())}
        earns = {name: Spread((figures[name, EARNS],)) for name in PAPER_ROWS}
        exploit = {name: Spread((figures[name, EXPLOIT],)) for name in PAPER_ROWS}
        made = replace(sampled.results, earns={"JQ-K": earns}, exploit={"JQ-K": exploit})
        text = gibson2011_sampled.verdict(replace(sampled, results=made), paper, rough)
        assert said in text and f"brings {good} of 10" in text and "one seed" in text


# The command


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        app([str(w) for w in words], prog_name="kibitz")
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return int(end.value.code or 0), out, err


@pytest.mark.slow
def test_the_report(tmp_path, monkeypatch, capsys, weighed, three, sampled):
    """The command's output, without doing the work again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    ready = replace(gibson2011.EXPERIMENT, runs=lambda plan: [], gather=lambda plan, found: (weighed, three, sampled))
    monkeypatch.setattr(gibson2011, "EXPERIMENT", ready)
    code, out, err = call(capsys, "paper", "gibson2011", "--table", "1", "--starts", "3", "--markdown", "all.md")
    assert (code, err) == (0, "")
    for text in ("Static S=N Pre-flop", "3017", "496.31", "3 of 3", "weight 0.01", "holds at every weight",
                 "What the weight of a start does", "Table 1 by the paper's own method", "seats in turn",
                 "What Static S=N All owes to each of its experts", "runs/papers/gibson2011/report.html"):  # fmt: skip
        assert text in out, text
    place = tmp_path / "runs/papers/gibson2011"
    html = (place / "report.html").read_text()
    assert html.count("data:image/png;base64,") == 3 and "src='http" not in html and "holds at every weight" in html
    markdown = (place / "report.md").read_text()
    assert "![" in markdown and "seeds 0 to 2" in markdown and "Departs from the paper:" in markdown
    assert "| + Static \\|S\\|=2 | 2589 |" in markdown
    for name in ("exploitability", "earnings", "crosstable"):
        assert (place / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / "all" / f"gibson2011-{name}.png").exists() and f"all/gibson2011-{name}.png" in (
            tmp_path / "all.md"
        ).read_text()
    data = json.loads((place / "report.json").read_text())
    assert "Tables and pictures are at 0.1, one of 4 weights" in markdown and "No weight reproduces all 10" in markdown
    assert "| claim | weight 0 | weight 0.01 | weight 0.1 | verdict | source |" in markdown
    assert "| 3p J-QK: Dynamic earns more than Base |  |  | 1 of 1 | holds in the one run made |" in markdown
    assert data["figures"]["two_players_by_weight"].keys() == {"0", "0.01", "0.1"}
    assert data["weight_of_tables"] == WEIGHT
    told = data["figures"]["chance_sampled"]
    assert told["iterations"] == 20_000 and told["readings"].keys() == READINGS.keys()
    assert len(told["two_players"]["JQ-K"][ALL]["exploitability"]["starts"]) == 2
    assert "By the paper's own method its figures for two players" in markdown
    row = data["figures"]["two_players"]["JQ-K"][DYNAMIC]
    assert row["size"] == row["paper"]["size"] == 444 and len(row["earnings"]["starts"]) == 3
    code, out, err = call(capsys, "paper", "gibson2011", "--json", "--out", "elsewhere")
    assert (code, err) == (0, "") and json.loads(out)["paper"] == "gibson2011"


def test_mistakes_are_sentences(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for words, part in (
        (("nobody",), "choose gibson2011, waugh2009"),
        (("gibson2011", "--table", "3"), "gibson2011 has 1 and 2"),
        (("all", "--table", "1"), "--table 1 does not fit"),
        (("waugh2009", "--starts", "0"), "--starts 0 should be 1 or more"),
        (("waugh2009", "--out", "file"), "is not a directory"),
        (("waugh2009", "--markdown", "page.txt"), "should end in .md"),
    ):
        code, out, err = call(capsys, "paper", *words)
        assert code == 2 and out == "" and err.startswith("error: ") and part in err, err
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.slow
def test_the_whole_table():
    """Sixteen starts, both halves, as the command does it."""
    outcome = recompute("gibson2011", PaperPlan(starts=16))
    claims = {claim.text: claim for claim in outcome.claims}
    two = type("two", (), {"earns": {b: {BASE: Spread((0.0,) * 16)} for b in COARSE}})
    assert_robust(two, claims)
    for base in COARSE:
        assert claims[f"3p {base}: {DYNAMIC} earns more than {BASE}"].count >= 14
