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
from kibitz.bench.opening import Opening, Reason
from kibitz.bench.openings import OPENINGS
from kibitz.bench.page import page_text
from kibitz.bench.verdicts import data_of, judged_again, text_of, tried
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
SECTION = re.compile(r"^## (?:Claims|Appendix: claims).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
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
    told = claim.verdict_text
    tried = list(claim.tried.values())[: 1 if claim.leading else None]  # of other rules the verdict alone is said
    sizes = {len(truths) for truths in tried}
    assert told.startswith(claim.verdict)
    if claim.leading:
        others = list(claim.verdicts.items())[1:]
        assert told.endswith("".join(f"; {verdict} ({name})" for name, verdict in others))
    if sizes == {1} and claim.unit != FACT and not (claim.across and len(tried) > 1):
        assert "in one run" in told
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
        "holds in one run: 4.812 exactly (by match 0.22 ± 21.01)"
    )
    assert measured("a", "b", (-15.05, 23.15), 13.823).verdict == "holds"
    assert measured("a", "b", (0.55, 0.96)).verdict_text == "undecided in one run: 0.55 ± 0.96"
    assert measured("a", "b", (-17.07, 1.18)).verdict_text == "fails in one run: -17.07 ± 1.18"


def test_verdicts_in_words():
    def of(*truths, **more):
        return Claim("x", "y", truths, **more).verdict_text

    assert of(*[True] * 16) == "holds in all 16 random initialisations"
    assert of(*[True] * 12, *[False] * 4) == "holds in 12 of 16 random initialisations"
    assert of(*[True] * 4, *[False] * 12) == "fails: true in 4 of 16 random initialisations"
    assert of(True, False) == "undecided: true in 1 of 2 random initialisations"
    assert of(True, None, None, None) == "undecided: true in 1 of 4 random initialisations, undecided in 3"
    assert of(True, True, unit=COMPARISON) == "holds in all 2 comparisons, one run each"
    assert of(True) == of(True, unit=RUN) == of(True, unit=COMPARISON) == "holds in one run"
    both = {"plain": (True, True, True), "safe": (False, False, False)}
    assert of(variants=both, unit=COMPARISON) == (
        "undecided overall: holds in all 3 comparisons, one run each (plain); "
        "fails: true in 0 of 3 comparisons, one run each (safe)"
    )
    weights = {"0": (True,) * 4, "1": (True, True, True, False)}
    assert of(variants=weights, across="weight") == "holds at every weight: true in 3 to 4 of 4 random initialisations"
    weights["1"] = (True, False, False, False)
    assert of(variants=weights, across="weight") == (
        "undecided overall, because it depends on the weight: true in 1 to 4 of 4 random initialisations"
    )


def test_claims_of_all_kinds():
    assert compare("a", "b", [2.0, 3.0], [1.0, 3.0]).truths == (True, None)
    assert fact("a", "b", 5, 4, "it is 5").verdict_text == "fails (exact): it is 5"
    assert within("a", "b", 0.1, 0.2, None, 60.0).verdict_text == "fails in one run: it reached 0.2000"
    assert within("a", "b", 0.1, 0.05, (7, 61.0), 60.0).verdict_text == "fails in one run: 61.0 s"
    assert within("a", "b", 0.1, 0.05, (7, 61.0)).verdict == "holds"
    three = [Claim("x", "paper", (side,)) for side in (True, False, None)]
    assert counts(three) == {"holds": 1, "fails": 1, "undecided": 1}
    assert summary(three) == "Of the paper's 3 claims, 1 holds, 1 fails and 1 is undecided."
    assert summary([replace(three[0], source=OURS)], "So.") == (
        "Of our own 1 claim, 1 holds, 0 fail and 0 are undecided. So."
    )
    one = Comparison(1.0, ">", 0.0, float("inf"))  # a single deal has no interval
    assert one.true is None and claim_of(Claim("a", "b", (one,)).data()).cases == (one,)
    for wrong in ({"relation": "!"}, {"error": -1.0}, {"left": float("nan")}, {"exact": float("inf")}):
        with pytest.raises(ValueError, match=r"relation|finite"):
            Comparison(**{"left": 1.0, "relation": ">", "right": 0.0, **wrong})
    with pytest.raises(ValueError, match="choose"):
        Claim("x", "y", (True,), unit="start")


# Pages

BY_STAGES = ("stitching_large", "stitching_small", "stitching_why", "stitching_three_large", "stitching_three_small",
             "champions", "auto_stitching_holdem3")  # fmt: skip


def papers_of(page):
    """The data of a page, and for each of its papers the sections of the page with claims."""
    assert data_of(page).is_file(), f"{page.name} has claims, and no data beside it"
    data, text = json.loads(data_of(page).read_text("utf-8")), page.read_text("utf-8")
    sections = re.split(r"^(?=## Claims)", "".join(SECTION.findall(text)), flags=re.MULTILINE)[1:]
    assert data["page"] == page.name and len(data["papers"]) == len(sections)
    return list(zip(data["papers"], sections, strict=True))


def test_pages_are_found():
    names = {path.stem for path in PAGES}
    assert {"stitching", "stitching_holdem", "stitching_large", "stitching_why", "stitching_three", "grafting_small",
            "grafting_holdem", "toepen", "toepen_full", "sandholm", "sandholm_gs2",
            "sandholm_phases"} <= names  # fmt: skip
    assert {path.parent.name for path in DOCS.glob("*/data.json")} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_verdicts_follow_from_the_page_s_own_figures(page):
    for paper, text in papers_of(page):
        lines = [line for line in text.replace("\\|", "\0").splitlines() if line.startswith("| ")]
        rows = {row[0]: row for row in (line.split(" | ") for line in lines if not line.startswith("| claim |"))}
        assert len(rows) == len(paper["claims"]) > 0
        for claim in paper["claims"]:
            row = rows["| " + claim["claim"].replace("|", "\0")]
            verdict = slow_verdict(claim)
            assert claim["verdict"] == verdict, claim["claim"]
            assert row[0].removeprefix("| ").replace("\0", "|") == claim["claim"]
            assert row[-2].replace("\0", "|") == claim["verdict_text"] and claim["verdict_text"].startswith(verdict)
            assert row[-1].removesuffix(" |") == claim["source"]
        for whose, said in (("paper", "the paper's"), ("ours", "our own")):
            own = [claim for claim in paper["claims"] if (claim["source"] == OURS or "(future" in claim["source"])
                   == (whose == "ours")]  # fmt: skip
            tally = Counter(map(slow_verdict, own))
            assert paper["verdicts"][whose] == {name: tally[name] for name in ("holds", "fails", "undecided")}
            if own:
                told = re.search(rf"Of {said} (\d+) claims?, (\d+) holds?, (\d+) fails? and (\d+) (is|are) un", text)
                assert [int(n) for n in told.groups()[:4]] == [len(own), *paper["verdicts"][whose].values()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_verdicts_say_how_many_random_initialisations_they_have(page):
    for paper, _ in papers_of(page):
        for claim in paper["claims"]:
            sizes = {len(of) for of in claim.get("variants", {"": claim.get("cases")}).values()}
            if claim["unit"] == RUN:
                assert claim["n"] == 1 and sizes == {1} and "in one run" in claim["verdict_text"]
            elif claim["unit"] in (COMPARISON, FACT):
                assert claim["n"] == (claim["unit"] == COMPARISON)
            else:
                # Strategies that are run in stages, or trained for longer, may have fewer seeds; a small game has more.
                assert sizes == {claim["n"]} and (claim["n"] == len(paper["seeds"]) or page.stem in BY_STAGES)
                said = "in one run" if claim["n"] == 1 else f"{claim['n']} {claim['unit']}"
                assert said in claim["verdict_text"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_exact_figures_of_a_page_are_what_its_claims_are_judged_by(page):
    """Who wins from whom over all boards stands in a table of the page: no claim about it goes by a match."""
    text = page.read_text("utf-8")
    rows = re.findall(r"^\| (.+?) from (.+?) \| (-?\d+\.\d{3}) \| -?[\d.]+ ± [\d.]+ \|$", text, re.MULTILINE)
    exact = {(one, other): float(figure) for one, other, figure in rows}
    assert bool(exact) == ("Exact winnings of each pair" in text)
    names = {name for pair in exact for name in pair}
    for claim in (claim for paper, _ in papers_of(page) for claim in paper["claims"] if names):
        whom = r"(?:even the largest single strategy, )?([^,]+)(?:,.*)?"
        said = re.fullmatch(rf"(?:the )?(.+?)(?: strategy)? beats {whom}", claim["claim"])
        if said is None or "once it is trained" in claim["claim"]:
            continue
        one = next((name for name in names if name == said[1] or name.endswith(f" {said[1]}")), said[1])
        known = exact.get((one, said[2]), -exact[said[2], one] if (said[2], one) in exact else None)
        assert claim["cases"][0].get("exact") == known


@pytest.mark.parametrize("name", ["grafting_holdem", "stitching_three", "toepen_full", "sandholm_phases",
                                  "sandholm_gs2"])  # fmt: skip
def test_figures_of_claims_stand_in_the_tables_of_their_page(name):
    """Where the page prints what its claims compare: thresholds and what is worked out from figures are elsewhere."""
    page = DOCS / f"{name}.md"
    tables = page.read_text("utf-8").partition("## Appendix: tables")[2]
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
    """By the exact winnings of each seed, which stand in a table of the page."""
    page = DOCS / "grafting_small.md"
    ((paper, _),) = papers_of(page)
    assert paper["verdicts"]["paper"] == {"holds": 6, "fails": 0, "undecided": 0} and len(paper["seeds"]) == 4
    rows = re.findall(r"^\| (.+?) from (.+?), seed (\d) \| (\d+\.\d{3}) \|$", page.read_text("utf-8"), re.MULTILINE)
    won = {(one, other, int(seed)): float(figure) for one, other, seed, figure in rows}
    for claim in (claim for claim in paper["claims"] if claim["claim"].startswith("the grafted strategy beats")):
        other = claim["claim"].split()[-1]
        assert [round(case["left"], 3) for case in claim["cases"]] == [won["20x8 grafted", other, k] for k in range(4)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_as_the_present_rule_makes_them(page):
    """A page is made from its data alone."""
    data = json.loads(data_of(page).read_text("utf-8"))
    assert judged_again(data) == data and text_of(data) == data_of(page).read_text("utf-8")
    assert page.read_text("utf-8") == page_text(data)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_open_with_what_they_are_about(page):
    """A heading of its own, two sentences, and a short table of the main claims; raw tables are appendices."""
    head, about, *_ = page.read_text("utf-8").split("\n\n")
    opening = OPENINGS[page.stem]
    assert head == f"# {opening.heading}" and about == opening.summary
    assert len({each.heading for each in OPENINGS.values()}) == len(OPENINGS) == len(PAGES)
    assert len(re.findall(r"[.] (?=[A-Z])", about)) == 1, "two sentences"
    table = page.read_text("utf-8").partition("| claim | measured | verdict | why | limits |")[2].partition("\n\n")[0]
    assert 1 <= table.count("\n| ") <= 9
    levels = re.findall(r"^## (.*)$", page.read_text("utf-8"), re.MULTILINE)
    assert levels[0].startswith("Claims and verdicts") and any(level.startswith("Appendix: tables") for level in levels)


@pytest.mark.parametrize("name", OPENINGS)
def test_reasons_are_about_claims_of_their_page(name):
    claims = [claim_of(claim) for paper, _ in papers_of(DOCS / f"{name}.md") for claim in paper["claims"]]
    for reason in OPENINGS[name].reasons:
        assert any(map(reason.of, claims)), reason.pattern
    for claim in claims:
        if claim.of_the_paper and claim.verdict != "holds":
            assert OPENINGS[name].why(claim), claim.text


@pytest.mark.parametrize("name", OPENINGS)
def test_figures_of_an_opening_are_those_of_its_data(name):
    """Years, in brackets, are those of papers; millions are written out in the data."""
    data, opening = (DOCS / name / "data.json").read_text("utf-8"), OPENINGS[name]
    texts = [opening.summary, *(text for each in opening.reasons for text in (each.why, each.limits, each.label))]
    for text in texts:
        text = re.sub(r"(?<=\d) million", ",000,000", re.sub(r"\([\d, ]+\)", "", text))
        for figure in re.findall(r"\d[\d,.]*\d|\d", text):
            assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d|[.,]\d)", data), (figure, text)


def test_claims_with_one_rule_stand_in_the_column_of_the_rule_that_counts():
    rules = Claim("a", "paper", variants={"now": (True, True), "before": (True, None)}, leading=True)
    heads, cells = tried([rules, Claim("b", "paper", (True, False))])
    assert heads == ["now", "before"] and cells == [["2 of 2", "1 of 2, 1 undecided"], ["1 of 2", ""]]
    both = Claim("c", "paper", variants={"x": (True,), "y": (False,)})  # no rule counts more: one column for all
    assert tried([both, Claim("b", "paper", (True,))]) == (["true in"], [["1 of 1; 0 of 1"], ["1 of 1"]])


def test_a_summary_belongs_to_its_verdicts():
    claims = [measured("a", "paper", (3.0, 1.0)), measured("b", "paper", (-3.0, 1.0))]
    opening = Opening("A page", (1, 1, 0), "One of two.")
    assert [claim.verdict for claim in claims] == ["holds", "fails"]
    assert opening.summary_of(claims) == "One of two."
    assert opening.summary_of(claims[:1]) == opening.summary_of([*claims, claims[0]]) == ""


def test_a_reason_belongs_to_its_verdict():
    reason = Reason("^a", "holds", "Because.", "Here.", "A")
    here, there = (measured("a", "paper", (mean, 1.0)) for mean in (3.0, -3.0))
    assert reason.row([here, measured("b", "paper", (1.0, 2.0))]) == ("A", "3.00 ± 1.00", "holds", "Because.", "Here.")
    assert reason.row([there]) is None and not reason.of(there)
    many = [compare(f"a{k}", "paper", [2.0, 3.0], [1.0, float(k)]) for k in (1, 2)]
    assert reason.row(many)[1] == "2 claims, each true in 2 of 2 random initialisations"


def test_a_page_is_judged_again():
    paper = {"about": "Text.", "departs": ["Other."], "title": "T", "seeds": [0], "seconds": 1.0, "paper": "p"}
    on = {"date": "d", "processor": "p", "cores": "2", "system": "s", "kibitz": "k", "python": "3", "numpy": "2",
          "numba": "1"}  # fmt: skip
    data = {"page": "p.md", "machine": on, "papers": [
        {**paper, "claims": [measured("a", "paper", (1.0, 2.0)).data(), Claim("o", OURS, (True,)).data()],
         "summary": "More.", "provenance": "Measured earlier."},
        {**paper, "claims": [Claim("b | c", OURS, (True, True), unit=START).data()], "summary": ""},
    ]}  # fmt: skip
    made = judged_again(data)
    text = page_text(made)
    assert text.startswith("# T; T\n\n1 run, seed 0. d, p, 2 cores")
    assert "## Claims and verdicts: p\n\nOf the paper's 1 claim, 0 hold, 0 fail and 1 is undecided." in text
    assert "More.\n\nMeasured earlier.\n\n| claim |" in text and "Differences from the paper:\n\n- Other.\n" in text
    assert "| b \\| c | 2 of 2 | holds in all 2 random initialisations | not in the paper |" in text
    assert text.count("## Appendix: claims that are not in the paper") == 1
    data["papers"][0]["claims"][0]["cases"][0]["exact"] = 0.5
    made = judged_again(data)
    assert made["papers"][0]["verdicts"]["paper"] == {"holds": 1, "fails": 0, "undecided": 0}
    assert "| a | 1 of 1 | holds in one run" in page_text(made)
    assert json.loads(text_of(made)) == made and '{ "left": 1.0, "relation": ">", "right": 0.0,' in text_of(made)


def test_the_index_has_every_claim_of_the_papers_once():
    """docs/results/index.md: one row a claim of the source documents, with its verdict, n, reason and command."""
    text = (DOCS / "results" / "index.md").read_text("utf-8").replace("\\|", "\0")
    lines = [line for line in text.splitlines() if line.startswith("| [") and "`kibitz " in line]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    wanted = Counter()
    for page in PAGES:
        for claim in (claim for paper, _ in papers_of(page) for claim in paper["claims"]):
            if claim["source"] != OURS and "(future" not in claim["source"]:
                wanted[page.name, claim["claim"].replace("|", "\0"), claim["verdict"]] += 1
    listed = Counter()
    for source, said, _, verdict, n, _, command in rows:
        name = re.search(r"\.\./(\w+\.md)", source)[1]
        listed[name, said.partition(": ")[2], verdict] += 1
        assert (n == "exact" or int(n) >= 1) and re.fullmatch(r"`kibitz (reproduce|bench) [^`]+`", command)
        assert "--markdown" not in command and "--out" not in command
    assert listed == wanted and wanted.total() > 100
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (DOCS / "results" / target).exists(), target


def test_documents_are_checked_with_their_verdicts(monkeypatch, tmp_path, capsys):
    """python -m kibitz.bench.docs judges pages again."""
    from kibitz.bench import docs

    page = tmp_path / "p.md"
    monkeypatch.setattr(docs, "PAGE", tmp_path / "cli.md")
    monkeypatch.setattr(docs, "API", tmp_path / "api.md")
    monkeypatch.setattr(docs, "page", lambda: "")
    monkeypatch.setattr(docs.api, "page", lambda: "")
    monkeypatch.setattr(docs.readme, "PAGE", tmp_path / "README")
    monkeypatch.setattr(docs.readme, "page", lambda: "")
    page.write_text("# One\n\nold\n")
    data_of(page).parent.mkdir()
    on = dict.fromkeys(("date", "processor", "cores", "system", "kibitz", "python", "numpy", "numba"), "x")
    paper = {"paper": "sandholm", "claims": [measured("a", "paper", (3.0, 2.0)).data()], "summary": "", "title": "T",
             "about": "", "departs": [], "seeds": [0], "seconds": 1.0}  # fmt: skip
    data = {"page": "p.md", "command": "kibitz reproduce sandholm", "machine": on, "papers": [paper]}
    data_of(page).write_text(text_of(data))
    assert main(["--check"]) == 1 and f"{page} is stale" in capsys.readouterr().out
    assert main([]) == 0 and main(["--check"]) == 0 and "holds in one run: 3.00 ± 2.00" in page.read_text()
