"""GS2: the first rounds by themselves, and what is left solved at the table for the cards that came.

On Leduc and Rhode Island every endgame is solved, so that what a choice is worth is known exactly, in the real game. In
hold'em with a small deck strategies meet in duplicate matches, and in hold'em as it is a strategy within buckets meets
itself with its last rounds solved at the table.
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
from kibitz.papers.holdem import score_in, unit_of
from kibitz.papers.runs import Answers, Run
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
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
    """What is played before endgames: all rounds at once, or phase I of some rounds with something behind it."""
    rules = poker_of(game)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    whole = solve_through(form, "dcfr+", until=until)
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

    yield either("solved at the table, endgames make a strategy harder to exploit", SLIDES,
                 lambda how: [(each[how], each[BEFORE]) for each in r.exactly])  # fmt: skip
    small = {name: [each for each in r.exactly if each["name"] == name] for name in SMALL_DECKS}
    yield Claim("on small decks plain endgames make a strategy easier to exploit", OURS, unit=COMPARISON, variants={
        name: [Comparison(each[PLAIN], ">", each[BEFORE]) for each in rows] for name, rows in small.items() if rows
    })  # fmt: skip
    by = {(each["game"], each["way"], each["begin"]): each for each in r.exactly}
    yield either("what was learned behind phase I is better than roll-outs", SLIDES, lambda how: [
        (each[how], by[each["game"], each["way"].replace(LEARNED, ROLLOUT), each["begin"]][how])
        for each in r.exactly if LEARNED in each["way"]
    ])  # fmt: skip
    later = [each for each in r.exactly if (each["game"], each["way"], each["begin"] + 1) in by]
    if later:
        yield either("endgames that begin a round earlier are better", SLIDES, lambda how: [
            (each[how], by[each["game"], each["way"], each["begin"] + 1][how]) for each in later
        ])  # fmt: skip
    if r.full is not None:
        beaten = measured("in hold'em a strategy with its river solved at the table beats itself", SLIDES,
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
            "Exploitability in the real game, chips a hand",
            ("game", "before endgames", "endgames begin in round", "as it is", "solved, plain", "solved, safe"), rows,
            "Exactly: all endgames are solved with all hands, and best responses see every card. As it is: phase I, "
            "and behind it what it took for granted; or all rounds at once, within the buckets. Plain endgames take "
            "the ranges for granted; in safe ones the opponent may leave at what its hand wins from the strategy.",
        )
    ]  # fmt: skip
    if r.matches:
        sheets.append(Sheet(
            "Against all rounds solved at once within the buckets, mbb/h", ("who", "endgames", "wins"),
            [(in_words(each["way"]), f"from round {each['begin']}" if each["how"] == PLAIN else "none",
              f"{each['mean']:.1f} ± {each['error']:.1f}") for each in r.matches],
            f"{DECK}, {DECK_BUCKETS}: {DEALS:,} duplicate deals, plain endgames of {AT_TABLE} iterations at the table.",
        ))  # fmt: skip
    if r.full is not None:
        f = r.full
        sheets.append(Sheet(
            "Hold'em: the river at the table, against the strategy itself", ("how it was measured", "mbb/h"),
            [(f"{f['deals']:,} duplicate deals", f"{f['mean']:.1f} ± {f['error']:.1f}"),
             (f"all hands weighed, {f['hands']:,} hands, {f['endgames']:,} endgames",
              f"{f['gain']:.1f} ± {f['gain_error']:.1f}")],
            f"{f['game']}, {f['buckets']}, {f['iterations']:,} iterations on sampled boards. An endgame took "
            f"{1e3 * f['seconds']:.0f} ms for {AT_TABLE} iterations.",
        ))  # fmt: skip
    return Page(
        about="GS2 solved the first rounds before the game and the last ones at the table, for the ranges that its own "
        "play led to. Here phase I is within buckets, with roll-outs behind it or with what an equilibrium within the "
        "buckets was seen to do (learned), and endgames are solved with all hands, without buckets.",
        departs=(
            "GS2 solved its endgames within buckets, by linear programmes; its opponents were other programs. Here "
            "they are best responses, and the equilibrium within the same buckets.",
        ),
        sheets=tuple(sheets), pictures=(),
        figures={"exactly": r.exactly, "matches": r.matches, "full": r.full},
    )  # fmt: skip


def in_words(way: str) -> str:
    """A way in words."""
    if way == WHOLE:
        return "all rounds at once"
    rounds, leaves = way.split()
    return f"round{'s' * (rounds != '1')} 1{f' to {rounds}' * (rounds != '1')}, {leaves} behind"


PART = Experiment("gs2", "Endgames at the table", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
