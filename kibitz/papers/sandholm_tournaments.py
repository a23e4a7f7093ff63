"""Tournaments of jam or fold [Ganzfried & Sandholm 2008, 2009; Miltersen & Sorensen 2007], as in Sandholm's slides.

The slides' tournament has three players, 13,500 chips, blinds of 300 and 600 and prizes of 50, 30 and 20: 946 states.
Figures of the papers stand beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.papers.claims import OURS, RUN, Claim, Comparison
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.poker.tournaments import check, pushfold, solve, tournament
from kibitz.poker.tournaments.equilibrium import ALGORITHMS, engine_of
from kibitz.poker.tournaments.fictitious import JamFoldPlay
from kibitz.poker.tournaments.hand import JamFoldHand
from kibitz.poker.tournaments.saved import load, save
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet

SLIDES, SINGLE = "slides", "published chart"
RULES, TINY = "tournament", "tournament(players=3, chips=1800)"
# By all four algorithms: fictitious play of the whole tournament needs too many rounds for 946 states.
SMALLER = "tournament(players=3, chips=4500)"
HEADS_UP = "tournament(players=2, chips=8000, unit=100, prizes=1/0)"
FEW_DEALS = 1000  # of a quick look
# Stack in big blinds: the small blind jams, the big blind calls, of all hands in percent; the small blind wins.
CHARTS = {3: (77.7, 92.8, 0.052), 5: (71.4, 62.1, 0.056), 10: (58.3, 37.5, -0.045), 15: (45.7, 28.2, -0.127),
          20: (40.2, 21.7, -0.183)}  # fmt: skip
THREE = (32.9, 57.6, 18.1, 36.6, 24.2, 13.3)  # three players with 10 big blinds each, a single source
EPSILON, ICM_MEAN, ICM_MOST = 0.0488, 0.37, 2.99  # of the papers
LAST = (0.021, 0.197)  # big blind after two jams: in the tournament, in a single hand
SLOWER = {"fp-pi": 8, "fp-vi": 8}  # their tolerance, times that of the others: mixing gets slower as it goes on
QUICKEST = ALGORITHMS[:2]  # the slides' tournament is solved by these
MIXED = 0.05  # a hand mixes if it is played more often than this, and less often than always less this


def solved(algorithm: str, text: str, deals: int, folder: str, until: float) -> dict[str, Any]:
    """A tournament solved by one algorithm, and its check; a solution that was begun is resumed."""
    rules = tournament(text)
    path = Path(folder) / f"{algorithm}.tournament"
    start = load(path) if (path / "manifest.json").exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    solution = solve(rules, algorithm, until, deals=deals, start=start, on_step=lambda now, _: save(now, path))
    save(solution, path)
    proof = check(rules, solution.jams, deals)
    level = rules.levels[-1]
    off = np.abs(proof.values - rules.icm)[level.values]
    steps = [step for step in solution.steps if step.players == level.players]
    return {
        "algorithm": algorithm, "states": level.count, "iterations": len(steps), "seconds": solution.seconds,
        "epsilon": proof.epsilon, "mean_gain": float(proof.gains[-1].mean()), "icm_mean": float(off.mean()),
        "icm_most": float(off.max()), "values": proof.values[level.values].tolist(),
        "course": [[step.seconds, step.change] for step in steps],
    }  # fmt: skip


def played(algorithm: str, text: str, deals: int, folder: str) -> dict[str, Any]:
    """How often seats jam: in the tournament, in single hands by the chip model, and with chips for money."""
    rules = tournament(text)
    solution = load(Path(folder) / f"{algorithm}.tournament")
    level = rules.levels[-1]
    engine = engine_of(level.players, deals)
    play = JamFoldPlay(engine, level.forced, solution.jams[-1])
    play.run(level.payoffs(rules.icm), 60, 1e-4 * rules.prizes[0])
    prior = engine.tables.prior
    whole, single = solution.jams[-1] @ prior, play.jams @ prior  # [states, nodes]
    free = ~level.forced
    equal = int(level.number([rules.units // 3] * 3)) if rules.units % 3 == 0 else 0
    gap = np.where(free, np.abs(whole - single), 0.0)
    state, node = np.unravel_index(int(gap.argmax()), gap.shape)
    chips = pushfold(level.stacks[equal].tolist(), (rules.small, rules.big), deals=deals or None)
    return {
        "equal": level.stacks[equal].tolist(), "tournament": whole[equal].tolist(), "icm": single[equal].tolist(),
        "chips": [chart.share for chart in chips.charts], "mean": float(gap[free].mean()),
        "most": float(gap[state, node]), "where": level.stacks[state].tolist(), "node": int(node),
        "there": [float(whole[state, node]), float(single[state, node])],
    }  # fmt: skip


def charts(deals: int) -> dict[str, Any]:
    """Two players with chips for money, and three with ten big blinds."""
    two = {}
    for blinds in CHARTS:
        one = pushfold([2 * blinds] * 2, (1, 2), rounds=500)
        two[str(blinds)] = [100 * one.charts[0].share, 100 * one.charts[1].share, one.values[0], one.epsilon]
    three = pushfold([20, 20, 20], (1, 2), rounds=100, deals=deals or None)
    return {"two": two, "three": [100 * chart.share for chart in three.charts], "deals": three.deals}


def heads_up(until: float) -> dict[str, Any]:
    """The setting of Miltersen & Sorensen."""
    rules = tournament(HEADS_UP)
    solution = solve(rules, "pi-fp", until)
    proof = check(rules, solution.jams)
    mixed = ((solution.jams[0] > MIXED) & (solution.jams[0] < 1 - MIXED)).sum(axis=-1)  # [states, nodes]
    own = proof.values.reshape(-1, 2)
    stacks = rules.levels[0].stacks
    half = int(rules.levels[0].number([rules.units // 2] * 2))
    return {
        "states": rules.levels[0].count, "epsilon": proof.epsilon, "seconds": solution.seconds,
        "most_mixed": int(mixed.max()), "states_mixed": int((mixed.max(axis=1) > 0).sum()),
        "even": float(own[half, 0]), "off": float(np.abs(own - stacks / rules.units).max()),
    }  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    quick = plan.quick
    text, deals, until = (TINY, FEW_DEALS, 5e-3) if quick else (RULES, 0, 1e-4)
    folder = str(Path(plan.folder) / ("tournaments-quick" if quick else "tournaments"))
    slower, small = ({}, TINY) if quick else (SLOWER, SMALLER)
    four = [(a, small, deals, f"{folder}-small", until * slower.get(a, 1)) for a in ALGORITHMS]
    return [
        Run("charts", charts, [(deals,)]), Run("heads up", heads_up, [(until,)]),
        Run("tournaments", solved, [(a, text, deals, folder, until) for a in QUICKEST]),
        Run("strategies", played, [(QUICKEST[1], text, deals, folder)]), Run("four algorithms", solved, four),
    ]


@dataclass(frozen=True)
class TournamentResults:
    charts: dict[str, Any]
    heads_up: dict[str, Any]
    solved: list[dict[str, Any]]
    played: dict[str, Any]
    small: list[dict[str, Any]]  # the smaller one, by all four

    @property
    def rules(self) -> Any:
        return tournament(TINY if self.solved[0]["states"] < 900 else RULES)

    @property
    def smaller(self) -> Any:
        return tournament(TINY if self.solved[0]["states"] < 900 else SMALLER)

    @property
    def apart(self) -> float:
        """How far values of the algorithms are from each other, at most."""
        tables = [np.array([each["values"] for each in of]) for of in (self.solved, self.small)]
        return max(float((values.max(axis=0) - values.min(axis=0)).max()) for values in tables)


def gather(plan: PaperPlan, answers: Answers) -> TournamentResults:
    return TournamentResults(answers["charts"][0], answers["heads up"][0], answers["tournaments"],
                             answers["strategies"][0], answers["four algorithms"])  # fmt: skip


def claims(r: TournamentResults) -> Iterator[Claim]:
    first = r.rules.prizes[0]
    for each in {(of["algorithm"], of["states"]): of for of in (*r.solved, *r.small)}.values():
        where = f", {each['states']:,} states"
        yield Claim(f"{each['algorithm']}{where}: nobody gains more than 0.1% of the highest prize", SLIDES,
                    [Comparison(each["epsilon"], "<", 1e-3 * first)], unit=RUN,
                    detail=f"at most {each['epsilon']:.4f}")  # fmt: skip
    values = r.solved[1]
    yield Claim("the chip model is off", SLIDES, [Comparison(values["icm_most"], ">", 10 * values["epsilon"])],
                unit=RUN,
                detail=f"by {values['icm_mean']:.2f} in the mean and {values['icm_most']:.2f} at most")  # fmt: skip
    now, chips = r.played["tournament"][-1], r.played["chips"][-1]
    yield Claim("tournament and single-hand strategies differ: the big blind after two jams", SLIDES,
                [Comparison(now, "<", chips / 2)], unit=RUN,
                detail=f"jams {now:.3f} of hands in the tournament, {chips:.3f} in a single hand")  # fmt: skip
    yield Claim("all algorithms come to the same values", OURS, [Comparison(r.apart, "<", 1e-2 * first)], unit=RUN,
                detail=f"to {r.apart:.3f} of {first:g}")  # fmt: skip
    for blinds, (jams, calls, worth) in CHARTS.items():
        ours = r.charts["two"][str(blinds)]
        most = zip(ours[:3], (jams, calls, worth), (0.5, 0.5, 0.002), strict=True)
        near = tuple(Comparison(abs(x - stated), "<=", off) for x, stated, off in most)
        yield Claim(f"two players, {blinds} big blinds: jam {jams}%, call {calls}%, worth {worth:+.3f}", SINGLE,
                    [near], unit=RUN, detail=f"{ours[0]:.1f}%, {ours[1]:.1f}%, {ours[2]:+.4f}")  # fmt: skip
    yield Claim("heads up at most one hand of a state mixes", "Miltersen & Sorensen 2007",
                [Comparison(r.heads_up["most_mixed"], "<=", 1)], unit=RUN,
                detail=f"{r.heads_up['most_mixed']} at most")  # fmt: skip


def algorithms(r: TournamentResults, of: list[dict[str, Any]], rules: Any) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (each["algorithm"], f"{each['states']:,}", str(each["iterations"]), f"{each['seconds']:.0f}",
         f"{each['epsilon']:.5f}", f"{100 * each['epsilon'] / rules.prizes[0]:.4f}%", f"{each['icm_mean']:.3f}",
         f"{each['icm_most']:.3f}")
        for each in of
    ]  # fmt: skip
    if of is r.solved:
        rows.append(("papers", "946", "-", "-", f"{EPSILON} at most", "below 0.1%", f"{ICM_MEAN}", f"{ICM_MOST}"))
    return Sheet(
        f"{rules}", ("algorithm", "states", "iterations", "seconds", "epsilon", "of the first prize",
                       "chip model off, mean", "at most"), rows,
        "Epsilon: what a player could win more in the whole tournament, from the worst state and seat for that, if the "
        "others stay with their strategies; all cards are counted for two and three players (a quick look samples "
        "deals and measures it on fresh ones). The chip model is off by: the distance of its values from those of the "
        "profile, over all states and seats.",
    )  # fmt: skip


def strategies(r: TournamentResults) -> Sheet:
    hand, p = JamFoldHand(3), r.played
    rows = [(hand.decision(*node), *(f"{p[how][k]:.3f}" for how in ("tournament", "icm", "chips")))
            for k, node in enumerate(hand.nodes)]  # fmt: skip
    unit = r.rules.unit
    stacks = ", ".join(str(each * unit) for each in p["equal"])
    where = ", ".join(str(each * unit) for each in p["where"])
    return Sheet(
        f"Hands that jam, with stacks of {stacks}",
        ("decision", "in the tournament", "a single hand, chip model", "a single hand, chips"), rows,
        f"Of all hands, as shares. The papers have {LAST[0]} in the tournament and {LAST[1]} in a single hand for the "
        "big blind after two jams, at stacks that the text does not name. Over all states and decisions, tournament "
        f"play and hands by the chip model differ by {p['mean']:.4f} of hands in the mean, most with stacks of {where}:"
        f" {hand.decision(*hand.nodes[p['node']])}, {p['there'][0]:.3f} against {p['there'][1]:.3f}.",
    )  # fmt: skip


def single(r: TournamentResults) -> Sheet:
    two = {blinds: r.charts["two"][str(blinds)] for blinds in CHARTS}
    rows = [(str(blinds), f"{ours[0]:.1f}", f"{jams}", f"{ours[1]:.1f}", f"{calls}", f"{ours[2]:+.4f}", f"{wins:+.3f}",
             f"{ours[3]:.1e}") for (blinds, ours), (jams, calls, wins) in zip(two.items(), CHARTS.values(), strict=True)
            ]  # fmt: skip
    names = ("button", "small blind first", "small blind calls", "big blind calls SB", "calls BTN", "calls both")
    three = ", ".join(f"{name} {a:.1f} ({b})" for name, a, b in zip(names, r.charts["three"], THREE, strict=True))
    return Sheet(
        "Single hands of two players, chips for money",
        ("big blinds each", "jams, %", "published", "calls, %", "published", "small blind wins", "published",
         "could win more"), rows,
        f"Three players with ten big blinds each, in percent, with those of a single source behind: {three}.",
    )  # fmt: skip


def page(plan: PaperPlan, r: TournamentResults, claims: Sequence[Claim]) -> Page:
    first, up = r.rules.prizes[0], r.heads_up
    lines = []
    for each in r.small:
        at = np.cumsum([seconds for seconds, _ in each["course"]])
        change = tuple(max(change / first, 1e-7) for _, change in each["course"])
        lines.append(Line(each["algorithm"], tuple(at.tolist()), change, (0.0,) * len(change)))
    panel = FigurePanel(f"three players, {r.small[0]['states']:,} states", tuple(lines), (("0.1%", 1e-3),))
    return Page(
        about="Before the flop everybody jams or folds. A state is the stacks in the order of acting; three hands that "
        "are all in end in one of 13 orders, counted over all boards and all cards, and a hand that was folded cannot "
        "lie on the board either. The big blind goes on to the next player who has chips; pots are shared in units of "
        "chips, with odd ones to whoever sits first after the button; who is put out in the same hand is placed by the "
        "chips he began it with, and equals share. Heads up with 8,000 chips, blinds of 300 and 600 and stacks in "
        f"hundreds ({up['states']} states), a player could win {up['epsilon']:.1e} more, the first to act with half of "
        f"the chips wins {up['even']:.4f}, and shares of chips are off by at most {up['off']:.4f}; in "
        f"{up['states_mixed']} states some hand mixes.",
        departs=(
            "Later rounds of fictitious play count more than early ones, and strategies go on from those of the last "
            "values: the papers' rounds count alike.",
            "`fp-pi` and `fp-vi` solve a smaller tournament: they mix one whole best response an iteration, and each "
            "iteration costs as much as a round of fictitious play at all states.",
            "What the papers do about who pays which blind after somebody is out, and about odd chips, is not in them.",
        ),
        sheets=(algorithms(r, r.solved, r.rules), algorithms(r, r.small, r.smaller), strategies(r), single(r)),
        pictures=(
            Curves("tournaments", "Four algorithms: what moves, or could be won, by time", "share of the first prize",
                   (panel,), log_x=True, log_y=True, across="seconds", floor=1e-7),
        ),
        figures={"charts": r.charts, "heads_up": up, "played": r.played,
                 "solved": [{k: v for k, v in each.items() if k != "values"} for each in (*r.solved, *r.small)]},
    )  # fmt: skip


PART = Experiment(
    "tournaments", "Tournaments of jam or fold", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
    ignores=("iterations", "until"), instead="--quick",
)
