"""GS2: the first rounds are solved in advance, the last rounds during play for the cards that were dealt.

On Leduc and Rhode Island every endgame is solved, so exploitability is known exactly, in the real game. In hold'em with
a small deck strategies play duplicate matches. In full hold'em a strategy with buckets plays against itself with its
last rounds solved during play.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.forms.choice import compact_form
from kibitz.forms.profile import Profile
from kibitz.papers.claims import COMPARISON, OURS, Claim, Comparison, measured
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.holdem import form_within, score_in, unit_of
from kibitz.papers.runs import Answers, Run
from kibitz.poker.endgames.phases import ROLLOUT, phase_one
from kibitz.poker.endgames.refined import refined, with_all_hands
from kibitz.poker.stitching.experts import poker_of
from kibitz.report.figures import Sheet
from kibitz.solvers.run import solve_through

SLIDES, LEARNED, WHOLE = "slides", "learned", "no phases"
# (name, game, buckets, whether endgames of the last round are solved too: Rhode Island with all its cards has 15,925)
EXACT = (
    ("Leduc", "poker(file=leduc)", "percentile(2)", True),
    ("Rhode Island of 16 cards", "rhode_island(ranks=4)", "percentile(3)", True),
    ("Rhode Island", "rhode_island", "percentile(5)", False),
)
DECK, DECK_BUCKETS = "poker(file=holdem.limit.2p, ranks=4)", "percentile(3)"
FULL, FULL_BUCKETS, FULL_ITERATIONS = "poker(file=holdem.limit.2p)", "percentile(5)", 300
DEALS, FULL_DEALS, WEIGHED = 2_000, 12_000, 300
FEWEST = 2  # rounds of phase I in matches: endgames from the flop on take seconds each
SOLVED, AT_TABLE = 100, 40  # iterations of an endgame: where it is measured, and at the table
SMALL_DECKS = tuple(name for name, *_ in EXACT[:2])
BEFORE, PLAIN, SAFE = "within buckets", "plain", "safe"


def first_phases(game: str, buckets: str, until: float, fewest: int = 1) -> dict[str, Profile]:
    """What is played before the endgame: all rounds at once, or phase I of some rounds with something behind it."""
    rules = poker_of(game)
    whole = solve_through(form_within(rules, buckets), "dcfr+", until=until)
    profiles: dict[str, Profile] = {WHOLE: whole}
    for rounds in range(fewest, rules.definition.rounds):
        for leaves, continuation in ((ROLLOUT, ROLLOUT), (LEARNED, whole)):
            profiles[f"{rounds} {leaves}"] = phase_one(rules, buckets, rounds, continuation, until=until)
    return profiles


def exactly(name: str, game: str, buckets: str, late: bool, until: float, iterations: int) -> list[dict[str, Any]]:
    """Every way: what it loses to best responses in the real game, before and after endgames are solved."""
    rules = poker_of(game)
    form, rows = compact_form(rules), []
    for way, profile in first_phases(game, buckets, until).items():
        played = with_all_hands(rules, profile)
        before = float(form.measure(played.probabilities).nash_conv) / 2
        last = int(way.split()[0]) if way != WHOLE else rules.definition.rounds
        for begin in range(2, (min(rules.definition.rounds, last + 1) if late else 2) + 1):
            after = {
                how: float(form.measure(refined(rules, played, begin, safe=how == SAFE,
                                                iterations=iterations).probabilities).nash_conv) / 2
                for how in (PLAIN, SAFE)
            }  # fmt: skip
            rows.append({"name": name, "game": game, "buckets": buckets, "way": way, "begin": begin,
                         BEFORE: before, **after})  # fmt: skip
    return rows


def met(game: str, buckets: str, until: float, deals: int, iterations: int) -> list[dict[str, Any]]:
    """Phase I with endgames at the table, against all rounds solved at once within the same buckets."""
    from kibitz.evaluate.match import match
    from kibitz.play.agents import profile_agent
    from kibitz.poker.endgames.agents import PokerSearch
    from kibitz.solvers.machines import machine_of

    machine, rows = machine_of(game), []
    unit = unit_of(game)
    profiles = first_phases(game, buckets, until, FEWEST)
    agents = {way: profile_agent(profile, machine, way) for way, profile in profiles.items()}
    for way, agent in agents.items():
        begin = 3 if way == WHOLE else min(poker_of(game).definition.rounds, int(way.split()[0]) + 1)
        for how, player in ((BEFORE, agent), (PLAIN, PokerSearch(agent, from_round=begin, iterations=iterations))):
            if way == WHOLE and how == BEFORE:
                continue
            score = match(machine, player, agents[WHOLE], deals=deals, seed=1).scores[0]
            rows.append({"way": way, "begin": begin, "how": how, **score_in(unit, score)})
    return rows


def full_size(game: str, buckets: str, trained: int, deals: int, weighed: int, folder: str) -> dict[str, Any]:
    """A strategy of hold'em by sampled boards, against itself with its river solved at the table."""
    import kibitz
    from kibitz.evaluate.match import match
    from kibitz.play.agents import profile_agent
    from kibitz.poker.endgames.agents import PokerSearch, gain
    from kibitz.solvers.machines import machine_of

    path = Path(folder) / f"gs2-{trained}.profile"
    if not (path / "manifest.json").exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        kibitz.solve(game, "pcs", abstraction=buckets, iterations=trained).save(path)
    machine = machine_of(game)
    agent = profile_agent(Profile.load(path), machine, "strategy")
    search = PokerSearch(agent, iterations=AT_TABLE)
    unit, worth = unit_of(game), gain(search, weighed, seed=2)
    gained = score_in(unit, worth.score)
    score = match(machine, search, agent, deals=deals, seed=1).scores[0]
    return {
        "game": game, "buckets": buckets, "iterations": trained, "deals": deals, **score_in(unit, score),
        "gain": gained["mean"], "gain_error": gained["error"], "hands": weighed,
        "endgames": worth.endgames, "seconds": worth.seconds / max(1, worth.endgames),
    }  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    quick = plan.quick
    until = 0.3 if quick else 0.02
    exact = [(*each, until, 30 if quick else SOLVED) for each in (EXACT[:1] if quick else EXACT)]
    larger = [
        Run("matches", met, [(DECK, DECK_BUCKETS, until, DEALS, AT_TABLE)]),
        Run("hold'em", full_size, [(FULL, FULL_BUCKETS, FULL_ITERATIONS, FULL_DEALS, WEIGHED,
                                    str(Path(plan.folder) / "gs2"))]),
    ]  # fmt: skip
    return [Run("exactly", exactly, exact), *([] if quick else larger)]


class EndgameResults(NamedTuple):
    exactly: list[dict[str, Any]]
    matches: list[dict[str, Any]]
    full: dict[str, Any] | None


def gather(plan: PaperPlan, answers: Answers) -> EndgameResults:
    exact = [each for of_game in answers["exactly"] for each in of_game]
    return EndgameResults(exact, answers.get("matches", [[]])[0], answers.get("hold'em", [None])[0])


def claims(r: EndgameResults) -> Iterator[Claim]:
    def either(text: str, source: str, pairs: Callable[[str], Sequence[tuple[float, float]]]) -> Claim:
        """The same of plain and of safe endgames, each by itself."""
        variants = {f"{how} endgames": [Comparison(a, "<", b) for a, b in pairs(how)] for how in (PLAIN, SAFE)}
        return Claim(text, source, variants=variants, unit=COMPARISON)

    yield either("endgame solving lowers exploitability", SLIDES,
                 lambda how: [(each[how], each[BEFORE]) for each in r.exactly])  # fmt: skip
    small = {name: [each for each in r.exactly if each["name"] == name] for name in SMALL_DECKS}
    yield Claim("on small decks plain endgame solving raises exploitability", OURS, unit=COMPARISON, variants={
        name: [Comparison(each[PLAIN], ">", each[BEFORE]) for each in rows] for name, rows in small.items() if rows
    })  # fmt: skip
    by = {(each["game"], each["way"], each["begin"]): each for each in r.exactly}
    yield either("learned values at the end of phase I are better than roll-outs", SLIDES, lambda how: [
        (each[how], by[each["game"], each["way"].replace(LEARNED, ROLLOUT), each["begin"]][how])
        for each in r.exactly if LEARNED in each["way"]
    ])  # fmt: skip
    later = [each for each in r.exactly if (each["game"], each["way"], each["begin"] + 1) in by]
    if later:
        yield either("endgames that begin a round earlier are better", SLIDES, lambda how: [
            (each[how], by[each["game"], each["way"], each["begin"] + 1][how]) for each in later
        ])  # fmt: skip
    if r.full is not None:
        beaten = measured("in limit hold'em, river endgame solving beats the same strategy without it", SLIDES,
                          (r.full["mean"], r.full["error"]), digits=1)  # fmt: skip
        yield replace(beaten, detail=f"{beaten.detail} mbb/h in duplicate deals")


def page(plan: PaperPlan, r: EndgameResults, claims: Sequence[Claim]) -> Page:
    rows: list[tuple[str, ...]] = [
        (f"{each['name']}, {each['buckets']}", in_words(each["way"]), str(each["begin"]), f"{each[BEFORE]:.4f}",
         f"{each[PLAIN]:.4f}", f"{each[SAFE]:.4f}")
        for each in r.exactly
    ]  # fmt: skip
    sheets = [
        Sheet(
            "Exploitability in the unabstracted game, chips per hand",
            ("game", "strategy before the endgame", "endgames begin in round", "without endgame solving", "plain",
             "safe"), rows,
            "Exact: all endgames are solved with all hands, and best responses see every card. Without endgame "
            "solving: phase I followed by what it assumed, or all rounds at once in the abstract game. Plain "
            "endgame solving treats the ranges as fixed; in safe endgame solving the opponent has an opt-out value "
            "(the CFR-D gadget).",
        )
    ]  # fmt: skip
    if r.matches:
        sheets.append(Sheet(
            "Winnings against the strategy of all rounds in the abstract game, mbb/h", ("who", "endgames", "wins"),
            [(in_words(each["way"]), f"from round {each['begin']}" if each["how"] == PLAIN else "none",
              f"{each['mean']:.1f} ± {each['error']:.1f}") for each in r.matches],
            f"{DECK}, {DECK_BUCKETS}: {DEALS:,} duplicate deals, plain endgame solving with {AT_TABLE} iterations.",
        ))  # fmt: skip
    if r.full is not None:
        f = r.full
        sheets.append(Sheet(
            "Limit hold'em: river endgame solving against the same strategy without it", ("how it was measured",
                                                                                          "mbb/h"),
            [(f"{f['deals']:,} duplicate deals", f"{f['mean']:.1f} ± {f['error']:.1f}"),
             (f"all hands weighted, {f['hands']:,} hands, {f['endgames']:,} endgames",
              f"{f['gain']:.1f} ± {f['gain_error']:.1f}")],
            f"{f['game']}, {f['buckets']}, {f['iterations']:,} iterations on sampled boards. An endgame took "
            f"{1e3 * f['seconds']:.0f} ms for {AT_TABLE} iterations.",
        ))  # fmt: skip
    return Page(
        about="GS2 solved the first rounds in advance and the last rounds during play, for the ranges that its "
        "own strategy led to. Here phase I uses abstraction buckets, with roll-outs at its end or with "
        "values learned from an equilibrium of the abstract game (learned). Endgames are solved with all hands, "
        "without abstraction.",
        departs=(
            "GS2 solved abstract endgames by linear programming, and played against other programs. Here "
            "the opponents are best responses, and the equilibrium of the same abstract game.",
        ),
        sheets=tuple(sheets), pictures=(),
        figures={"exactly": r.exactly, "matches": r.matches, "full": r.full},
    )  # fmt: skip


def in_words(way: str) -> str:
    """A way in words."""
    if way == WHOLE:
        return "all rounds at once"
    rounds, leaves = way.split()
    after = "roll-outs" if leaves == ROLLOUT else "learned values"
    return f"round{'s' * (rounds != '1')} 1{f' to {rounds}' * (rounds != '1')}, then {after}"


PART = Experiment("gs2", "Endgame solving", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
