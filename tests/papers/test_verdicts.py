"""Verdicts: the rule against a slow twin, and every page against its own figures.

Pages are made by hours of computing, and keep the figures that their claims are judged by in docs/NAME/data.json. Here
each verdict is worked out again from these, by a rule that is written a second time, and compared with what the data
and the page say.
"""

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.bench.docs import main
from kibitz.bench.verdicts import data_of, judged_again, section, text_of
from kibitz.papers.claims import (
    COMPARISON,
    FACT,
    OURS,
    RUN,
    START,
    UNITS,
    Claim,
    Comparison,
    claim_of,
    compare,
    counts,
    fact,
    judged,
    measured,
    summary,
    truth,
    within,
)

DOCS = Path(__file__).parents[2] / "docs"
CLAIMS = re.compile(r"^\| claim \|.*\| verdict \|", re.MULTILINE)
PAGES = [path for path in sorted(DOCS.glob("*.md")) if CLAIMS.search(path.read_text("utf-8"))]


# The slow twin


def slow_truth(case):
    """Whether a case of a data file is true; None: undecided."""
    if isinstance(case, list):
        found = [slow_truth(each) for each in case]
        return all(found) if None not in found or False in found else None
    if not isinstance(case, dict):
        return case
    middle = Fraction(case["exact"]) if "exact" in case else Fraction(case["left"]) - Fraction(case["right"])
    half = Fraction(0) if "exact" in case else Fraction(case.get("error", 0))
    low, high = middle - half, middle + half
    signs = {1 if low > 0 else -1 if high < 0 else 0}  # 0: zero is possible
    if signs == {0} and (low, high) != (0, 0):
        return None  # the interval contains zero, and more
    (sign,) = signs
    allowed = {"<": {-1}, "<=": {-1, 0}, "=": {0}, ">=": {0, 1}, ">": {1}}[case["relation"]]
    return None if sign == 0 and 0 not in allowed else sign in allowed


def slow_verdict(claim):
    """The verdict on a claim of a data file."""
    groups = list(claim["variants"].values()) if "variants" in claim else [claim["cases"]]
    verdicts = []
    for cases in groups:
        tally = Counter(map(slow_truth, cases))
        most = [name for name, side in (("holds", True), ("fails", False)) if 4 * tally[side] >= 3 * len(cases)]
        verdicts.append(most[0] if most else "undecided")
    if claim.get("leading"):
        return verdicts[0]
    return verdicts[0] if len(set(verdicts)) == 1 else "undecided"


# The rule

quarters = st.integers(-20, 20).map(lambda n: n / 4)
errors = st.none() | st.integers(0, 20).map(lambda n: n / 4)
comparisons = st.builds(
    Comparison, quarters, st.sampled_from(["<", "<=", "=", ">=", ">"]), quarters, errors, st.none() | quarters
)
cases = st.one_of(comparisons, st.lists(comparisons, min_size=1, max_size=3).map(tuple), st.booleans(), st.none())
lists = st.lists(cases, min_size=1, max_size=8)
claims = st.builds(
    Claim, st.just("x"), st.sampled_from([OURS, "the paper"]), lists,
    st.dictionaries(st.sampled_from("abc"), lists, max_size=3), st.sampled_from(["", "weight"]), st.just("figures"),
    st.sampled_from(UNITS), st.booleans(),
)  # fmt: skip


@given(claims)
def test_the_rule_is_the_slow_twin_s(claim):
    data = json.loads(json.dumps(claim.data()))
    groups = claim.variants or {"": claim.cases}
    read = data.get("variants") or {"": data["cases"]}
    assert {name: [slow_truth(case) for case in of] for name, of in read.items()} == {
        name: [truth(case) for case in of] for name, of in groups.items()
    }
    assert claim.verdict == data["verdict"] == slow_verdict(data)
    again = claim_of(data)
    assert (again.data(), again.verdict_text, again.tried) == (claim.data(), claim.verdict_text, claim.tried)


@given(claims)
def test_a_verdict_says_how_often_it_was_tried(claim):
    told, sizes = claim.verdict_text, {len(truths) for truths in claim.tried.values()}
    assert told.startswith(claim.verdict)
    if sizes == {1} and claim.unit != FACT and not (claim.across and len(claim.tried) > 1):
        assert "in the one run made" in told
    for size in sizes - {1}:
        assert str(size) in told or claim.across
    first = len(next(iter(claim.tried.values())))
    assert "every start" not in told and claim.n == {FACT: 0, COMPARISON: 1}.get(claim.unit, first)


@given(quarters, quarters, errors, errors)
def test_an_interval_can_only_hide_a_difference(left, right, error, more):
    here = Comparison(left, ">", right, error).true
    wider = Comparison(left, ">", right, (error or 0.0) + (more or 0.0)).true
    assert wider in (here, None)
    assert here == {True: False, False: True, None: None}[Comparison(right, ">", left, error).true]
    assert Comparison(left, ">", right, error, 0.25).true is True, "the exact figure is what counts"
    assert Comparison(left, "<", right, error, 0.25).true is False
    assert Comparison(left, ">", right, error, 0.0).true is None, "a tie"
    assert Comparison(left, ">=", right, error, 0.0).true is True


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=20), st.data())
def test_a_better_case_is_never_worse_for_a_claim(truths, data):
    at = data.draw(st.integers(0, len(truths) - 1))
    better = [*truths[:at], True, *truths[at + 1 :]]
    order = ["fails", "undecided", "holds"]
    assert order.index(judged(better)) >= order.index(judged(truths))
    mirrored = [None if each is None else not each for each in truths]
    assert judged(mirrored) == {"holds": "fails", "fails": "holds", "undecided": "undecided"}[judged(truths)]


def test_what_was_wrong():
    """Differences within their intervals were called false, also where the exact figure was known."""
    assert measured("a", "b", (0.22, 21.01), 4.812).verdict_text == (
        "holds in the one run made: 4.812 exactly (by match 0.22 ± 21.01)"
    )
    assert measured("a", "b", (-15.05, 23.15), 13.823).verdict == "holds"
    assert measured("a", "b", (0.55, 0.96)).verdict_text == "undecided in the one run made: 0.55 ± 0.96"
    assert measured("a", "b", (-17.07, 1.18)).verdict_text == "fails in the one run made: -17.07 ± 1.18"


def test_verdicts_in_words():
    def of(*truths, **more):
        return Claim("x", "y", truths, **more).verdict_text

    assert of(*[True] * 16) == "holds in all 16 random initialisations"
    assert of(*[True] * 12, *[False] * 4) == "holds in 12 of 16 random initialisations"
    assert of(*[True] * 4, *[False] * 12) == "fails: true in 4 of 16 random initialisations"
    assert of(True, False) == "undecided: true in 1 of 2 random initialisations"
    assert of(True, None, None, None) == "undecided: true in 1 of 4 random initialisations, undecided in 3"
    assert of(True, True, unit=COMPARISON) == "holds in all 2 comparisons, one run each"
    assert of(True) == of(True, unit=RUN) == of(True, unit=COMPARISON) == "holds in the one run made"
    both = {"plain": (True, True, True), "safe": (False, False, False)}
    assert of(variants=both, unit=COMPARISON) == (
        "undecided over all: holds in all 3 comparisons, one run each (plain); "
        "fails: true in 0 of 3 comparisons, one run each (safe)"
    )
    weights = {"0": (True,) * 4, "1": (True, True, True, False)}
    assert of(variants=weights, across="weight") == "holds at every weight: true in 3 to 4 of 4 random initialisations"
    weights["1"] = (True, False, False, False)
    assert of(variants=weights, across="weight") == (
        "undecided over all, as it depends on the weight: true in 1 to 4 of 4 random initialisations"
    )


def test_claims_of_all_kinds():
    assert compare("a", "b", [2.0, 3.0], [1.0, 3.0]).truths == (True, None)
    assert fact("a", "b", 5, 4, "it is 5").verdict_text == "fails, nothing is random: it is 5"
    assert within("a", "b", 0.1, 0.2, None, 60.0).verdict_text == "fails in the one run made: it came to 0.2000"
    assert within("a", "b", 0.1, 0.05, (7, 61.0), 60.0).verdict_text == "fails in the one run made: 61.0 s"
    assert within("a", "b", 0.1, 0.05, (7, 61.0)).verdict == "holds"
    three = [Claim("x", "paper", (side,)) for side in (True, False, None)]
    assert counts(three) == {"holds": 1, "fails": 1, "undecided": 1}
    assert summary(three) == "Of 3 claims of the paper 1 holds, 1 fails and 1 is undecided."
    assert summary([replace(three[0], source=OURS)], "So.") == (
        "Of 1 claims of our own 1 holds, 0 fail and 0 are undecided. So."
    )
    one = Comparison(1.0, ">", 0.0, float("inf"))  # a single deal has no interval
    assert one.true is None and claim_of(Claim("a", "b", (one,)).data()).cases == (one,)
    for wrong in ({"relation": "!"}, {"error": -1.0}, {"left": float("nan")}, {"exact": float("inf")}):
        with pytest.raises(ValueError, match=r"relation|finite"):
            Comparison(**{"left": 1.0, "relation": ">", "right": 0.0, **wrong})
    with pytest.raises(ValueError, match="choose"):
        Claim("x", "y", (True,), unit="start")


# Pages


def papers_of(page):
    """The data of a page, and for each of its papers the section of the page."""
    assert data_of(page).is_file(), f"{page.name} has claims, and no data beside it"
    data, text = json.loads(data_of(page).read_text("utf-8")), page.read_text("utf-8")
    sections = re.findall(r"^### Claims.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert data["page"] == page.name and len(data["papers"]) == len(sections)
    return list(zip(data["papers"], sections, strict=True))


def test_pages_are_found():
    names = {path.stem for path in PAGES}
    assert {"stitching", "stitching_holdem", "stitching_three", "grafting_small", "grafting_holdem", "toepen",
            "toepen_full", "sandholm", "sandholm_gs2", "sandholm_phases"} <= names  # fmt: skip
    assert {path.parent.name for path in DOCS.glob("*/data.json")} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_verdicts_follow_from_the_page_s_own_figures(page):
    for paper, text in papers_of(page):
        rows = [line.split(" | ") for line in text.replace("\\|", "\0").splitlines() if line.startswith("| ")][1:]
        assert len(rows) == len(paper["claims"]) > 0
        for claim, row in zip(paper["claims"], rows, strict=True):
            verdict = slow_verdict(claim)
            assert claim["verdict"] == verdict, claim["claim"]
            assert row[0].removeprefix("| ").replace("\0", "|") == claim["claim"]
            assert row[-2].replace("\0", "|") == claim["told"] and claim["told"].startswith(verdict)
            assert row[-1].removesuffix(" |") == claim["source"]
        for whose, said in (("paper", "of the paper"), ("ours", "of our own")):
            own = [claim for claim in paper["claims"] if (claim["source"] == OURS or "(future" in claim["source"])
                   == (whose == "ours")]  # fmt: skip
            tally = Counter(map(slow_verdict, own))
            assert paper["verdicts"][whose] == {name: tally[name] for name in ("holds", "fails", "undecided")}
            if own:
                told = re.search(rf"Of (\d+)(?: claims)? {said} (\d+) holds?, (\d+) fails? and (\d+) (is|are) un", text)
                assert [int(n) for n in told.groups()[:4]] == [len(own), *paper["verdicts"][whose].values()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_verdicts_say_how_many_random_initialisations_they_have(page):
    for paper, _ in papers_of(page):
        for claim in paper["claims"]:
            sizes = {len(of) for of in claim.get("variants", {"": claim.get("cases")}).values()}
            if claim["unit"] == RUN:
                assert claim["n"] == 1 and sizes == {1} and "in the one run made" in claim["told"]
            elif claim["unit"] in (COMPARISON, FACT):
                assert claim["n"] == (claim["unit"] == COMPARISON)
            else:
                assert sizes == {claim["n"]} == {len(paper["seeds"])}
                assert f"{claim['n']} {claim['unit']}" in claim["told"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_exact_figures_of_a_page_are_what_its_claims_are_judged_by(page):
    """Who wins from whom over all boards stands in a table of the page: no claim about it goes by a match."""
    text = page.read_text("utf-8")
    rows = re.findall(r"^\| (.+?) from (.+?) \| (-?\d+\.\d{3}) \| -?[\d.]+ ± [\d.]+ \|$", text, re.MULTILINE)
    exact = {(one, other): float(figure) for one, other, figure in rows}
    assert bool(exact) == ("What one wins from another, exactly" in text)
    names = {name for pair in exact for name in pair}
    for claim in (claim for paper, _ in papers_of(page) for claim in paper["claims"] if names):
        whom = r"(?:even the largest single strategy, )?([^,]+)(?:,.*)?"
        said = re.fullmatch(rf"(?:the )?(.+?)(?: strategy)? beats {whom}", claim["claim"])
        if said is None or "once it is trained" in claim["claim"]:
            continue
        one = next((name for name in names if name == said[1] or name.endswith(f" {said[1]}")), said[1])
        known = exact.get((one, said[2]), -exact[said[2], one] if (said[2], one) in exact else None)
        assert claim["cases"][0].get("exact") == known


@pytest.mark.parametrize("name", ["grafting_small", "grafting_holdem", "stitching_three",
                                  "toepen_full", "sandholm_phases", "sandholm_gs2"])  # fmt: skip
def test_figures_of_claims_stand_in_the_tables_of_their_page(name):
    """Where the page prints what its claims compare: thresholds and what is worked out from figures are elsewhere."""
    page = DOCS / f"{name}.md"
    tables = page.read_text("utf-8").partition("### Claims")[0]
    printed = {abs(float(figure)) for figure in re.findall(r"\d+\.\d+", tables.replace(",", ""))}
    checked = 0
    for claim in (claim for paper, _ in papers_of(page) for claim in paper["claims"]):
        for case in [*claim.get("cases", ()), *(case for of in claim.get("variants", {}).values() for case in of)]:
            for each in case if isinstance(case, list) else [case]:
                figures = [abs(each[side]) for side in ("left", "right") if each[side] % 1]
                assert all(printed & {round(x, digits) for digits in (1, 2, 3, 4)} for x in figures), claim["claim"]
                checked += len(figures)
    assert checked > 5


def test_grafts_on_a_small_deck_are_judged_exactly():
    ((paper, _),) = papers_of(DOCS / "grafting_small.md")
    assert paper["verdicts"]["paper"] == {"holds": 4, "fails": 2, "undecided": 0}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_as_the_present_rule_makes_them(page):
    text, data = page.read_text("utf-8"), json.loads(data_of(page).read_text("utf-8"))
    again = judged_again(text, data)
    assert again == (text, data) and text_of(data) == data_of(page).read_text("utf-8")


def test_a_page_is_judged_again():
    data = {"page": "p.md", "papers": [
        {"claims": [measured("a", "paper", (1.0, 2.0)).data()], "summary": "More.", "provenance": "Measured earlier."},
        {"claims": [Claim("b | c", OURS, (True, True), unit=START).data()], "summary": ""},
    ]}  # fmt: skip
    old = "## One\n\nText.\n\n### Claims, and more\n\n| claim | verdict |\n\n## Two\n\n### Claims\n\nold\n"
    text, made = judged_again(old, data)
    assert text.startswith("## One\n\nText.\n\n### Claims and verdicts\n\nOf 1 claims of the paper 0 hold, 0 fail and")
    assert "More.\n\nMeasured earlier.\n\n| claim |" in text and "\n\n## Two\n\n### Claims and verdicts\n\n" in text
    assert "| b \\| c | 2 of 2 | holds in all 2 random initialisations | not in the paper |" in text
    assert "\nold" not in text
    assert judged_again(text, made) == (text, made)
    data["papers"][0]["claims"][0]["cases"][0]["exact"] = 0.5
    text, made = judged_again(text, data)
    assert made["papers"][0]["verdicts"]["paper"] == {"holds": 1, "fails": 0, "undecided": 0}
    assert "| a | 1 of 1 | holds in the one run made" in text
    assert json.loads(text_of(made)) == made and '{ "left": 1.0, "relation": ">", "right": 0.0,' in text_of(made)
    assert section([Claim("a", "b", (True,))], "", "About.")[:3] == ["### Claims and verdicts", "", "About."]


def test_the_list_of_papers_has_the_counts_of_the_pages():
    """docs/papers.md is written by hand, and says of each page how many claims of the paper hold."""
    table = (DOCS / "papers.md").read_text("utf-8").partition("## Recomputed")[2]
    linked = set()
    for row in (line for line in table.splitlines() if line.startswith("|")):
        for name, said in re.findall(r"\[(\w+)\.md\]\(\1\.md\)( \([^)]*\))?", row):
            linked.add(name)
            papers = [paper for paper, _ in papers_of(DOCS / f"{name}.md")]
            (paper,) = [each for each in papers if len(papers) == 1 or f"`kibitz paper {each['paper']} " in row]
            whose = "paper" if any(paper["verdicts"]["paper"].values()) else "ours"
            holds, fails, undecided = paper["verdicts"][whose].values()
            own = "" if whose == "paper" else "of our own claims "
            assert said == f" ({own}{holds} hold, {fails} fail, {undecided} undecided)", name
    assert linked == {path.stem for path in PAGES}


def test_documents_are_checked_with_their_verdicts(monkeypatch, tmp_path, capsys):
    """python -m kibitz.bench.docs judges pages again."""
    from kibitz.bench import docs

    page = tmp_path / "p.md"
    monkeypatch.setattr(docs, "PAGE", tmp_path / "cli.md")
    monkeypatch.setattr(docs, "API", tmp_path / "api.md")
    monkeypatch.setattr(docs, "page", lambda: "")
    monkeypatch.setattr(docs.api, "page", lambda: "")
    page.write_text("## One\n\n### Claims\n\nold\n")
    data_of(page).parent.mkdir()
    data = {"page": "p.md", "papers": [{"claims": [measured("a", "paper", (3.0, 2.0)).data()], "summary": ""}]}
    data_of(page).write_text(text_of(data))
    assert main(["--check"]) == 1 and f"{page} is stale" in capsys.readouterr().out
    assert main([]) == 0 and main(["--check"]) == 0 and "holds in the one run made: 3.00 ± 2.00" in page.read_text()
