"""How each page of results opens: a heading, a summary, and reasons why its claims hold, fail or are undecided.

A reason belongs to claims with one verdict. A summary belongs to certain numbers of claims that hold, fail and are
undecided. If another run gives other verdicts, they no longer apply and are not printed: write them again. A reason
that is not measured on the page begins with "Likely".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.papers.claims import FAILS, HOLDS, UNDECIDED, Claim


@dataclass(frozen=True)
class Reason:
    """Why some claims have their verdict. Reasons with a label are rows of the table at the top of the page."""

    pattern: str  # of the texts of claims, a regular expression
    verdict: str
    why: str
    limits: str = ""
    label: str = ""  # the common statement of these claims

    def of(self, claim: Claim) -> bool:
        return claim.verdict == self.verdict and re.search(self.pattern, claim.text) is not None

    def row(self, claims: Sequence[Claim]) -> tuple[str, ...] | None:
        """A row of the opening table: claim, measured, verdict, why, limits."""
        its = [claim for claim in claims if self.of(claim)]
        if not self.label or not its:
            return None
        its = [claim for claim in its if claim.of_the_paper] or its
        return self.label, together(its), self.verdict, self.why, self.limits


def together(claims: Sequence[Claim]) -> str:
    """What was measured for several claims with one verdict."""
    if len(claims) == 1:
        return claims[0].measured_text
    if len(claims) <= 3 and all(claim.detail for claim in claims):
        return "; ".join(dict.fromkeys(claim.detail for claim in claims))
    groups = [truths for claim in claims for truths in claim.tried.values()]
    counts, sizes, units = [sum(each is True for each in truths) for truths in groups], {*map(len, groups)}, {
        claim.unit for claim in claims}  # fmt: skip
    if len(sizes) == len(units) == 1 and sizes != {1}:
        true = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        return f"{len(claims)} claims, each true in {true} of {max(sizes)} {claims[0].unit}s"
    verbs = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "are undecided"}
    return f"all {len(claims)} claims {verbs[claims[0].verdict]}"


@dataclass(frozen=True)
class Opening:
    """The top of a page."""

    heading: str
    verdicts: tuple[int, int, int] = (0, 0, 0)  # numbers that hold, fail, are undecided, if the summary is true
    summary: str = ""
    game: str = ""  # the game of the claims, for the list of all claims
    reasons: tuple[Reason, ...] = ()

    def summary_of(self, claims: Sequence[Claim]) -> str:
        """The summary, if it was written for such verdicts."""
        counts = tuple(sum(claim.verdict == each for claim in claims) for each in (HOLDS, FAILS, UNDECIDED))
        return self.summary if counts == self.verdicts else ""

    def why(self, claim: Claim) -> str:
        return next((reason.why for reason in self.reasons if reason.of(claim)), "")


def opening_of(data: Mapping[str, Any]) -> Opening:
    """The opening of a page; just the titles of its papers if the page is not in OPENINGS."""
    known = OPENINGS.get(Path(data.get("page", "")).stem)
    return known or Opening("; ".join(paper["title"] for paper in data["papers"]))


OVERLAP = "The 95% intervals overlap."
ZERO = "The 95% interval of the match contains zero."
WEIGHT = "The result depends on the weight of the random initialisation."
NOT_UNIQUE = "Likely: abstract equilibria are not unique, and the paper used another solver (chance-sampled CFR)."
CCR = (
    "The base almost never reaches the ccr part. There the expert keeps its random initial strategy, so the result "
    "depends on the weight of the initialisation."
)
SHORT = (
    "Likely: grafts have many buckets and had too few iterations. With 16 cards they lose to their base at first and "
    "beat it after more iterations."
)
WRONG_GAME = (
    "Likely: the thesis' program played another game. Its payoff has the wrong sign, and nobody has to follow suit."
)
WRONG_UPDATE = (
    "Likely: the thesis' updates weight regrets by reach a second time, so its curves are not those of MCCFR."
)
MINUTES = "Likely: all training took less than an hour, and fine strategies need longer training than coarse ones."

OPENINGS: dict[str, Opening] = {
    "stitching": Opening(
        "Strategy stitching and grafting in Leduc hold'em",
        (79, 38, 18),
        "Table 1 of Gibson & Szafron (2011) and Tables 1 and 2 of Waugh, Bard & Bowling (2009) are recomputed over "
        "16 random initialisations. Most claims hold, though few of the paper's figures are reproduced exactly; "
        "claims about static experts with S=N depend on how the solver is initialised.",
        "Leduc",
        (
            Reason(r"^2 players, JQ-K: (Dynamic|Static S=\{i\}|Static S=N Pre-flop) earns more than Base", HOLDS,
                   "Likely: experts use a finer abstraction than the base in their part of the game.",
                   "Leduc; earnings against strategies from other base abstractions.",
                   "Two players: Dynamic, S={i} and S=N Pre-flop earn more than Base"),
            Reason(r"^2 players, JQ-K: Static S=N All (earns|is less)", UNDECIDED, CCR, "Four weights were tried.",
                   "Two players: Static S=N All beats Base and S={i}"),
            Reason(r"^2 players, JQ-K: Static S=N Pre-flop (earns more|is less exploitable) than Static S=N All",
                   UNDECIDED,
                   f"It is compared with Static S=N All. {CCR}"),
            Reason(r"^2 players, JQ-K: Static S=N Pre-flop earns more than Static S=\{i\}", UNDECIDED,
                   "The difference is smaller than the spread over random initialisations."),
            Reason(r"^2 players, JQ-K: (Dynamic|Static S=\{i\}) is less exploitable than (Static|Base)", HOLDS,
                   "Likely: their experts are trained against opponents that are free to adapt outside the part.",
                   "NashConv / 2 in the unabstracted game.",
                   "Two players: Dynamic and S={i} are less exploitable than S=N and Base"),
            Reason(r"^3 players, J-QK: .* earns more than Base$", HOLDS,
                   "Likely: experts use a finer abstraction than the base in their part of the game.",
                   "1,000 iterations of CFR+ per game, one weight.",
                   "Three players: all stitched strategies earn more than Base"),
            Reason(r"^3 players, J-QK: Static S=N \S+ earns more than (Static S=\{i\}|Dynamic)", FAILS,
                   "The experts with S=N depend on the random initialisation. Without initial regret they earn far "
                   "more, but in most initialisations still less than Dynamic and S={i}.",
                   "1,000 iterations of CFR+ per game, one weight; the paper used chance-sampled CFR.",
                   "Three players: Static S=N earns more than Dynamic and S={i}"),
            Reason(r"grafts beat .* head to head", HOLDS,
                   "Theorem 1 of the paper covers this case: the opponent plays the strategy that the base was "
                   "solved with.", "Leduc.", "Grafted strategies beat their base"),
            Reason(r"grafts win more on average than J\S+$", HOLDS,
                   "Likely: grafts use a finer abstraction than the base.", "Leduc, nine strategies.",
                   "Grafted strategies win more on average than their base"),
            Reason(r"^JQ\.K flop grafts have more wins", FAILS, NOT_UNIQUE, "The paper's tables are not in our copy.",
                   "JQ.K: flop grafts win more matches than preflop grafts"),
            Reason(r"^J\.Q\.K preflop grafts are more exploitable", FAILS,
                   "Likely: this base distinguishes all private cards, so its grafts have little to overfit to."),
            Reason(r"flop grafts are more exploitable", UNDECIDED, WEIGHT),
            Reason(r"^\d players, .*: Dynamic earns more than Static", HOLDS,
                   "Likely: its base and its experts are solved together."),
            Reason(r"^2 players, JQ-K: Static S=N Pre-flop is less exploitable than Base", HOLDS,
                   "Likely: experts use a finer abstraction than the base in their part of the game."),
            Reason(r"(^bases by|in the order of their bases)", HOLDS, "Likely: J.Q.K is the finest base abstraction."),
            Reason(r"grafts are more exploitable", HOLDS,
                   "Likely: a graft is solved against an opponent who plays the base's abstraction."),
            Reason(r"always folding", UNDECIDED,
                   "The exploitability of grafted strategies varies over random initialisations; some exceed 500 "
                   "mb/h."),
        ),
    ),
    "stitching_holdem": Opening(
        "Strategy stitching in two-player limit hold'em",
        (8, 4, 2),
        "Table 2 of Gibson & Szafron (2011) is recomputed for two players, with computations of up to 24 million "
        "information sets. Static experts with S=N earn the most among strategies of their size, as in the paper, "
        "but no stitched strategy is less exploitable than its base.",
        "limit hold'em",
        (
            Reason(r"^Static\.S=N earns more than", HOLDS,
                   "Likely: S=N experts have finer buckets than Base in their part.",
                   "One run; mbb/h; 4,000 iterations of public chance sampling.",
                   "Static S=N earns more than Base and than S={i}"),
            Reason(r"^Static\.S=\{i\} earns no more", HOLDS,
                   "Likely: an S={i} expert has to solve the whole game for the opponent, and was trained too "
                   "little.", "One run.", "Static S={i} earns no more than Base"),
            Reason(r"^Dynamic earns more than Base", UNDECIDED, OVERLAP, "One run; mbb/h.",
                   "Dynamic earns more than Base"),
            Reason(r"^the finest strategy beats Static\.S=N", UNDECIDED, ZERO, "One run; mbb/h.",
                   "The finest single strategy beats Static S=N"),
            Reason(r"^the finest strategy beats", HOLDS, "Likely: it has more information sets than any other."),
            Reason(r"exploitable", FAILS,
                   "Likely: the strategies are compared before they converge; 4,000 sampled boards are too few.",
                   "Exact, over all boards, on a GPU; one run of each strategy.",
                   "Stitching lowers exploitability"),
        ),
    ),
    "stitching_large": Opening(
        "Strategy stitching in two-player limit hold'em, converged",
        (2, 1, 2),
        "Table 2 of Gibson & Szafron (2011) is recomputed for two players, with Base and S=N solved over all boards "
        "until they are converged; Dynamic is not, and S={i} and the finest strategy were not run. Base is as "
        "exploitable as the paper's, and static experts with S=N win from it, but they are more exploitable: one of "
        "them plays a part of the game that Base almost never enters.",
        "limit hold'em, converged",
        (
            Reason(r"^Static\.S=N is less exploitable", FAILS,
                   "Base almost never enters the part cr. This adds nothing to the gap, so training "
                   "ended before the cr-expert had learnt anything; a best response calls before the flop and plays "
                   "against it.",
                   "Exact in seed 0; every 16th flop in seeds 1 and 2.",
                   "Static S=N is less exploitable than Base"),
            Reason(r"conditional, is less", UNDECIDED,
                   "The difference is within the margin. Most of the excess of S=N is gone: its experts are solved per "
                   "hand that enters their part.", "Three seeds, every 16th flop.",
                   "The same, with both experts solved"),
            Reason(r"^Dynamic is less", UNDECIDED, "Dynamic is not converged: its exploitability still rises with "
                   "training.", "One seed, every 16th flop.", "Dynamic is less exploitable than Base"),
            Reason(r"wins from Base", HOLDS, "Likely: the r-expert has finer buckets than Base in the part that is "
                   "played.", "One seed, exact.", "Static S=N wins from Base"),
        ),
    ),
    "stitching_why": Opening(
        "Why stitched strategies are more or less exploitable",
        (3, 2, 0),
        "A converged base avoids some parts of limit hold'em; experts of these parts learn little, and a best response "
        "goes there: solved per hand that enters its part, such an expert loses most of the difference, in all three "
        "seeds. In Leduc hold'em experts also do more harm if the base avoids their part, but solving them further "
        "does not help.",
        "limit hold'em and Leduc, causes",
        (
            Reason(r"^equilibria of one abstraction", FAILS, "Equilibria of Base differ much less.",
                   "Three random initialisations, every 16th flop.",
                   "Equilibria of one abstraction explain the difference"),
            Reason(r"^experts that are solved per hand", HOLDS,
                   "Base almost never enters the part cr, so a gap over all hands ends the training of its expert at "
                   "once.", "Three random initialisations, every 16th flop.",
                   "Experts that are solved per hand that enters their part halve the difference"),
            Reason(r"^more training makes", HOLDS,
                   "Likely: the average of early iterations mixes more, and gives a best response less to exploit.",
                   "One seed, every 16th flop.", "More training makes Base more exploitable"),
            Reason(r"^Leduc: experts raise", HOLDS,
                   "Likely: a base that avoids a part does not defend it, and its expert is not tested by "
                   "the base's play.", "Exact; the avoidance is made by hand.",
                   "Leduc: experts do more harm in a part that the base avoids"),
            Reason(r"^Leduc: they raise it less", FAILS,
                   "As with Base: a solved expert is more exploitable than one that has hardly been trained.",
                   "Exact.", "Leduc: solving such experts further helps"),
        ),
    ),
    "auto_stitching": Opening(
        "Automatic stitching against hand-made partitions",
        (12, 1, 0),
        "A search chooses the parts and the experts in two-player Leduc hold'em, with the memory of each hand-made "
        "strategy of the stitching papers. It is always less exploitable, and earns more than all of them but one: "
        "dynamic experts, which take twice the memory of the base.",
        "Leduc, automatic stitching",
        (
            Reason(r"is less exploitable", HOLDS,
                   "Likely: the search measures exploitability, and cuts again where most is lost.",
                   "Exact; equal memory, but the search takes more computation.",
                   "With the memory of a hand-made strategy, automatic is less exploitable"),
            Reason(r"earns more", HOLDS, "Likely: most hand-made strategies are far more exploitable.",
                   "Exact; against strategies of the other bases.",
                   "With the memory of a hand-made strategy other than Dynamic, automatic earns more"),
            Reason(r"the first plan achieves", HOLDS, "A prediction is an exact measure of the short runs, together.",
                   "Short runs are kept where they are better, so a plan can hardly achieve less.",
                   "A first plan achieves 80% of its predicted gain"),
            Reason(r"memory of Dynamic earns more", FAILS,
                   "Likely: the search judges by exploitability alone; with this much memory it comes closest to an "
                   "equilibrium, which does not exploit weak opponents.",
                   "Exact; ten random initialisations.", "With the memory of Dynamic, automatic earns more"),
        ),
    ),
    "auto_stitching_three": Opening(
        "Automatic stitching against hand-made partitions: three players",
        (7, 1, 3),
        "In three-player Leduc hold'em the same search, with the memory of each hand-made strategy, is less "
        "exploitable: in every seed than static experts, and in most than dynamic experts. It does not earn more than "
        "most of them: S={i} wins far more from the same opponents.",
        "three-player Leduc, automatic stitching",
        (
            Reason(r"memory of Static .* is less exploitable", HOLDS,
                   "Likely: the search measures NashConv, and cuts where most is lost.",
                   "Exact; the search takes more computation.",
                   "With the memory of static experts, automatic is less exploitable"),
            Reason(r"memory of Dynamic is less exploitable", HOLDS,
                   "Likely: one of its two lines starts from dynamic experts of the same size; there is little left to "
                   "gain.", "Exact; the sign test of ten seeds does not reject chance.",
                   "With the memory of Dynamic, automatic is less exploitable"),
            Reason(r"earns more", FAILS,
                   "Likely: the search minimises NashConv, which promises nothing against two other players. In all "
                   "seeds where it earns less it is less exploitable.",
                   "Exact; against strategies of the other bases.", "With the memory of S={i}, automatic earns more"),
            Reason(r"earns more", HOLDS, "Means differ little compared with their spread.",
                   "Exact; the sign test of ten seeds does not reject chance.",
                   "With the memory of S=N All, automatic earns more"),
            Reason(r"memory of Dynamic earns more", UNDECIDED, "Means differ less than their spread.",
                   "Exact; ten seeds.", "With the memory of Dynamic, automatic earns more"),
            Reason(r"memory of Static .* earns more", UNDECIDED, "Means differ less than their spread.",
                   "Exact; ten seeds.", "With the memory of S=N Pre-flop or |S|=2, automatic earns more"),
            Reason(r"the first plan achieves", HOLDS, "A prediction is an exact measure of the short runs, together.",
                   "Short runs are kept where they are better, so a plan can hardly achieve less.",
                   "A first plan achieves 80% of its predicted gain"),
        ),
    ),
    "auto_stitching_rhode": Opening(
        "Automatic stitching against hand-made partitions: Rhode Island hold'em",
        (12, 1, 0),
        "A search chooses the parts and the buckets of experts in Rhode Island hold'em; it is less exploitable than a "
        "single abstraction of the same memory, which needs several times as much to be as good, and than "
        "parts that were chosen by hand. It loses once: with the most memory, to experts for all seven ways through "
        "the first round.",
        "Rhode Island hold'em, automatic stitching",
        (
            Reason(r"than a single abstraction", HOLDS,
                   "An expert has the memory for itself, so its buckets are finer where most is lost.",
                   "Exact; the search starts from the single abstraction and keeps only what helps.",
                   "Automatic is less exploitable than a single abstraction of the same memory"),
            Reason(r"than parts by hand", HOLDS,
                   "Likely: the search measures which parts lose most, and trains experts on those before them.",
                   "Exact; S=N; the search takes more computation.",
                   "Automatic is less exploitable than parts chosen by hand"),
            Reason(r"than parts by hand", FAILS,
                   "Likely: the search was stopped too early. After its two rounds it has experts for four parts, and "
                   "its last round still gained several times what it lacks. The hand-made partition has seven experts "
                   "in the finest buckets.",
                   "Exact; two rounds, as planned.",
                   "With 12.3 MB, automatic is less exploitable than experts for all ways through the first round"),
            Reason(r"the first plan achieves", HOLDS, "A prediction is an exact measure of the short runs, together.",
                   "Short runs are kept where they are better, so a plan can hardly achieve less.",
                   "A first plan achieves 80% of its predicted gain"),
        ),
    ),
    "stitching_three": Opening(
        "Strategy stitching in three-player limit hold'em",
        (6, 5, 0),
        "Table 2 of Gibson & Szafron (2011) is recomputed for three players, after less than an hour of training. "
        "Static experts with S=N win more than Base, Dynamic and S={i}, as in the paper; the ranking of the larger "
        "strategies is not reproduced.",
        "three-player limit hold'em",
        (
            Reason(r"^Static\.S=N (earns more than (Base|Dynamic|Static\.S=\{i\})|wins money)", HOLDS,
                   "Likely: S=N experts learn faster. S={i} experts also have to learn how the other players act in "
                   "the whole game.", "One run; the second size of experts that was tried.",
                   "Static S=N wins money, and earns more than Base, Dynamic and S={i}"),
            Reason(r"^Base, Dynamic and Static", FAILS, f"Base wins too. {MINUTES}", "One run; mbb/h.",
                   "Base, Dynamic and S={i} do not win money"),
            Reason(r"ACPC", FAILS, MINUTES, "One run; mbb/h. The strategies follow the paper's description.",
                   "The strategy like ACPC-10 earns most, the one like ACPC-09 less than Base"),
        ),
    ),
    "grafting_holdem": Opening(
        "Strategy grafting in limit hold'em",
        (1, 6, 0),
        "Table 3 of Waugh, Bard & Bowling (2009) is recomputed in limit hold'em with imperfect-recall buckets. With "
        "2,000 iterations per computation the grafted strategy loses to every single strategy.",
        "limit hold'em",
        (
            Reason(r"^the grafted strategy beats", FAILS, SHORT,
                   "One run; mb/h; 2,000 iterations of public chance sampling.",
                   "The grafted strategy beats every single strategy"),
            Reason(r"^20x7 beats 14", HOLDS,
                   "Likely: imperfect recall separates more hands in the first rounds, with fewer information sets "
                   "to train.", "One run.", "20x7 beats 14"),
        ),
    ),
    "grafting_small": Opening(
        "Strategy grafting in limit hold'em with 16 cards",
        (6, 5, 0),
        "Table 3 of Waugh, Bard & Bowling (2009) is recomputed with a deck of 16 cards, where all results are "
        "exact. The grafted strategy beats its base and both perfect-recall strategies, and loses to 20x7 and to "
        "the largest single strategy.",
        "limit hold'em, 16 cards",
        (
            Reason(r"^the grafted strategy beats (20x8|14|12)", HOLDS,
                   "Likely: grafts are finer than the base in their part.", "One run; mb/h, exact over all boards.",
                   "The grafted strategy beats its base, 14 and 12"),
            Reason(r"^the grafted strategy beats (20x7|even)", FAILS,
                   "Likely: grafts need more iterations. They lose to 20x32 at every number of iterations that was "
                   "tried.", "One run; mb/h, exact over all boards.", "The grafted strategy beats 20x7 and 20x32"),
            Reason(r"^20x7 beats 14", HOLDS,
                   "Likely: imperfect recall separates more hands in the first rounds, with fewer information sets "
                   "to train.", "One run.", "20x7 beats 14"),
            Reason(r"^on a small deck the grafted strategy beats its base", HOLDS,
                   "Likely: after few iterations many buckets of the grafts are hardly trained.",
                   "One run at each number of iterations.", "It beats its base once it is trained"),
            Reason(r"less exploitable than its base", FAILS,
                   "Likely: the theory bounds only the result against the opponent's base strategy. It does not "
                   "bound the worst case of several grafts together.", "One run; exact.",
                   "The grafted strategy is less exploitable than its base"),
        ),
    ),
    "sandholm": Opening(
        "GameShrink and Rhode Island hold'em",
        (9, 1, 0),
        "GameShrink's published size is reproduced exactly if hands are merged by their numbers of wins; these classes "
        "are not lossless. A stricter definition is lossless, and the unabstracted game is solved to a small NashConv.",
        "Rhode Island hold'em",
        (
            Reason(r"^after GameShrink the linear", HOLDS, "Hands are merged by numbers of wins and losses.",
                   "That these are the published classes is inferred from the size.",
                   "The linear program after GameShrink has the published size"),
            Reason(r"^GameShrink runs in one second", HOLDS, "All signals of a round are merged in one pass.",
                   "One run.", "GameShrink runs in one second"),
            Reason(r"^an equilibrium of the abstract game", FAILS,
                   "Numbers of wins do not tell which hands are beaten. An opponent who sees all cards gains from "
                   "that.", "Proved by exact best responses.", "GameShrink is lossless (win-count classes)"),
            Reason(r"^an equilibrium with strict classes", HOLDS,
                   "Hands of a class also meet equal classes of the opponent's hands. The proof is in "
                   "`kibitz/poker/buckets/gameshrink.py`.", "Not in the slides.", "Strict classes are lossless"),
            Reason(r"^without abstraction the linear", HOLDS, "It is the same game; the rows are counted.", "",
                   "The unabstracted linear program has 91,224,226 rows"),
        ),
    ),
    "sandholm_abstraction": Opening(
        "Expectation-based and potential-aware abstraction",
        (17, 8, 2),
        "Three abstraction methods of the slides are compared on Rhode Island hold'em at five sizes, exactly, over "
        "eight random initialisations. Expectation-based buckets win when there are few and potential-aware buckets "
        "when there are many, as in the slides; about half of the single comparisons are not confirmed.",
        "Rhode Island hold'em",
        (
            Reason(r"^EB² wins from PA at 13 / 25|^EB wins from PA at 13 / 25", HOLDS,
                   "Likely: with few buckets the histograms of PA are too coarse.",
                   "The slides do not name their sizes; rows are matched in order.",
                   "With few buckets, expectation-based abstraction beats potential-aware"),
            Reason(r"^PA wins from EB.? at 13 / (75|100)", HOLDS,
                   "Likely: histograms separate hands of equal strength.", "Sizes are matched in order.",
                   "With many buckets, potential-aware abstraction beats EB"),
            Reason(r"^PA wins from EB.? at 13 / (50|75)", FAILS,
                   "The point where PA becomes better lies at more buckets here; the slides' sizes are unknown.",
                   "Sizes are matched in order.", "Potential-aware abstraction beats EB and EB² in the middle"),
            Reason(r"^EB wins from EB² at", FAILS,
                   "Likely: the slides' EB² is another quantity (the square of the mean)."),
            Reason(r"^PA wins from EB.? at 13 / 205", UNDECIDED,
                   "The difference is below the NashConv of the solutions."),
            Reason(r"^PA is lossless", FAILS,
                   "Hands with equal histograms share a bucket, and some of them are not equivalent.",
                   "13 / 205 / 1,774 buckets.", "Potential-aware abstraction is lossless at the finest size"),
            Reason(r"(is not|are never) lossless", HOLDS,
                   "With fewer buckets than lossless classes, hands of equal strength always share a bucket.", "",
                   "Expectation-based abstraction is not lossless"),
        ),
    ),
    "sandholm_egt": Opening(
        "First-order methods: EGT, iterated smoothing and CFR",
        (2, 2, 0),
        "The excessive gap technique and iterated smoothing are compared with CFR variants on four games, with the "
        "same gradients and the same time. CFR variants reach almost every target first; aggressive steps help EGT "
        "as the slides say.",
        "Leduc, Rhode Island hold'em",
        (
            Reason(r"^aggressive steps", HOLDS,
                   "They shrink the smoothing faster, as long as the excessive gap condition holds.",
                   "Leduc, one run each.", "Aggressive steps beat conservative steps at equal time"),
            Reason(r"^the Euclidean prox", FAILS, "Both prox functions reach a NashConv of the same order.",
                   "Leduc, one run each.", "The Euclidean prox function is ten times better than entropy"),
            Reason(r"^threads speed", FAILS, "On two cores the speed-up is just below the threshold of 1.6.",
                   "Two cores only.", "Threads speed up a step almost in proportion"),
            Reason(r"^the operator needs", HOLDS, "The payoff operator is never written out as a matrix.",
                   "Counted, not measured.", "The payoff operator needs a hundredth of the matrix's memory"),
        ),
    ),
    "sandholm_gs2": Opening(
        "Endgame solving",
        (2, 0, 3),
        "As in GS2, the first rounds are solved in advance and the last rounds when they are reached, and the "
        "result is measured by exact best responses. Safe endgame solving lowers exploitability in every "
        "comparison; plain endgame solving does so only in some games.",
        "Leduc, Rhode Island and limit hold'em",
        (
            Reason(r"^endgame solving lowers", UNDECIDED,
                   "Plain endgame solving treats the ranges as fixed. Safe endgame solving gives the opponent an "
                   "opt-out value, and helps in every comparison.", "One run of each game.",
                   "Endgame solving lowers exploitability"),
            Reason(r"^learned values", HOLDS, "Likely: roll-outs assume that nobody bets after phase I.",
                   "One run of each game.", "Values learned from an equilibrium beat roll-outs"),
            Reason(r"^endgames that begin a round earlier", UNDECIDED,
                   "It is true for plain and false for safe endgame solving.", "One run of each game.",
                   "Endgames that begin a round earlier are better"),
            Reason(r"^in limit hold'em, river", HOLDS, "Likely: the endgame is solved without card abstraction.",
                   "One run; duplicate deals.",
                   "In limit hold'em, river endgame solving beats the same strategy without it"),
        ),
    ),
    "sandholm_gs3": Opening(
        "GS3's four-round abstraction of limit hold'em on a GPU",
        (1, 0, 0),
        "Limit hold'em is solved with potential-aware buckets of GS3's sizes, on one GPU. It reaches the NashConv "
        "that the slides report after six months on four processors.",
        "limit hold'em",
        (
            Reason(r"^GS3's sizes", HOLDS,
                   "Likely: newer hardware, another solver (DCFR+), and one matrix product for each round on a GPU.",
                   "NashConv in the abstract game; hardware is many years newer.",
                   "GS3's sizes are solved to 0.028 small bets within ten minutes"),
        ),
    ),
    "sandholm_gs3_cores": Opening(
        "A four-round abstraction of limit hold'em on two cores",
        (2, 0, 0),
        "The same program without a GPU: limit hold'em with percentile buckets, smaller than GS3's. Two cores are "
        "enough to reach the NashConv of the slides.",
        "limit hold'em",
        (
            Reason(r"to 0\.028 small bets", HOLDS,
                   "Likely: newer hardware, another solver, and one matrix product for each round.",
                   "Smaller abstraction than GS3's; NashConv in the abstract game.",
                   "percentile(8) is solved to 0.028 small bets on two cores"),
            Reason(r"per iteration or less", HOLDS, "", "One run.", "An iteration takes ten seconds or less"),
        ),
    ),
    "sandholm_phases": Opening(
        "Two-phase solving: the first rounds, then the rest",
        (4, 0, 0),
        "The first rounds of a game are solved alone and the remaining rounds afterwards, in all combinations of "
        "the slides. Overlapping phases are better in every comparison, and statistics beat roll-outs in most.",
        "Rhode Island and limit hold'em",
        (
            Reason(r"^overlapping phases", HOLDS,
                   "Likely: the overlapping round is solved again, together with the later rounds.",
                   "NashConv in the abstract game; one run each.", "Overlapping phases are better"),
            Reason(r"^statistics of", HOLDS, "Likely: roll-outs assume that nobody bets after phase I.",
                   "Statistics of a known strategy, not of an opponent's hands.",
                   "Statistics at the end of phase I are better than roll-outs"),
            Reason(r"^a phase I with one more", HOLDS, "Likely: fewer rounds are estimated.", "Not in the slides.",
                   "A longer phase I is better"),
        ),
    ),
    "sandholm_tournaments": Opening(
        "Push/fold poker tournaments",
        (14, 1, 0),
        "The three-player tournament of Ganzfried & Sandholm (2008, 2009), the heads-up tournament of Miltersen & "
        "Sørensen (2007) and published single-hand charts are recomputed, and all cards are taken into account. All "
        "algorithms end below the published epsilon; only the claim that at most one hand per state mixes fails.",
        "push/fold hold'em",
        (
            Reason(r"no player gains more", HOLDS, "Every state is solved until the best deviation is small.",
                   "Ex-post check over all states; `fp-pi` and `fp-vi` on 91 states only.",
                   "Nobody gains more than 0.1% of the first prize by deviating"),
            Reason(r"Independent Chip Model", HOLDS,
                   "Likely: the Independent Chip Model ignores position and blinds.", "One tournament.",
                   "The Independent Chip Model is inaccurate"),
            Reason(r"^tournament and single-hand", HOLDS,
                   "Likely: prizes are not proportional to chips. With equal stacks, single hands valued by the "
                   "chip model are close to tournament play.", "The papers do not name the stacks.",
                   "Tournament strategies differ from single-hand strategies"),
            Reason(r"^two players, ", HOLDS, "It is the same game; all cards are taken into account.", "",
                   "The published heads-up charts are correct"),
            Reason(r"at most one hand", FAILS,
                   "Likely: fictitious play stops while several hands are close to indifferent.",
                   "Approximate equilibrium.", "At most one hand per state mixes heads-up"),
        ),
    ),
    "toepen": Opening(
        "Toepen with small decks: the thesis of Le (2021)",
        (13, 19, 2),
        "The tables and figures of the thesis are recomputed with exact best responses, in the real rules and in "
        "the thesis' variant, where nobody has to follow suit. All counts agree with the variant; most conclusions "
        "about convergence do not hold with MCCFR as it is defined.",
        "Toepen, small decks",
        (
            Reason(r"^the counts of Table", FAILS,
                   "The thesis counted the variant in which nobody has to follow suit. There all counts agree.",
                   "Counted exactly.", "Tables 3.1 and 3.2 count the infosets of the real rules"),
            Reason(r"^(NashConv from high|a larger deck|each deck converges)", FAILS, WRONG_UPDATE,
                   "15 repetitions, exact NashConv.", "A larger deck is not harder, and each deck stops improving"),
            Reason(r"^(uniform play|2 suits, 3 ranks (are the most|converge))", FAILS, WRONG_GAME),
            Reason(r"^(the highest ante|the range of rewards)", FAILS,
                   "A call is possible before every card, so the ante can rise further."),
            Reason(r"all do well at first", UNDECIDED, "Early strategies differ between repetitions."),
            Reason(r"fall off", HOLDS, "Likely: coarse abstractions stop improving early.", "15 repetitions.",
                   "Naive and simple abstractions end behind the unabstracted strategy"),
            Reason(r"which has far more rows", FAILS, f"{WRONG_GAME} The finer abstraction is better here."),
            Reason(r"^advanced-history is the best", HOLDS,
                   "Likely: it merges histories that hardly matter, and keeps the whole hand.",
                   "15 repetitions, exact scores.", "advanced-history is the best of the six abstractions"),
            Reason(r"^advanced-hand is the worst", UNDECIDED,
                   "advanced-hand and advanced-combined score almost the same; their order depends on the rules."),
            Reason(r"advanced-combined", HOLDS,
                   "Likely: it has fewer rows, so it learns faster and ends with a lower score."),
            Reason(r"^abstracting the hand is worse", FAILS, "For the simple abstractions the opposite is true.",
                   "15 repetitions.", "Abstracting the hand is worse than abstracting the history"),
            Reason(r"(have 4 and 166|converges to about 200,000)", FAILS,
                   "The thesis' numbers are those of the variant in which nobody has to follow suit."),
            Reason(r"about 0\.914", FAILS, f"The thesis gives a lower bound. {WRONG_GAME}", "15 repetitions.",
                   "The NashConv of the unabstracted strategy is about 0.914"),
        ),
    ),
    "toepen_full": Opening(
        "The full game of Toepen: blueprint, search and exploitation",
        (16, 0, 0),
        "The thesis leaves the full game open: 32 cards, with betting. A blueprint trained by MCCFR beats a rule-based "
        "player, and strategies with the thesis' abstractions that had a tenth of its iterations; real-time search "
        "improves it further.",
        "Toepen, 32 cards",
        (
            Reason(r"^the blueprint beats the rule", HOLDS,
                   "A trained responder wins far more against the rule of thumb than against the blueprint.",
                   "One training run; duplicate deals.", "The blueprint beats a rule of thumb"),
            Reason(r"^search gains over its blueprint", HOLDS, "Likely: endgames are solved without abstraction.",
                   "Exact in each of the endgames that were sampled.", "Search improves on the blueprint"),
            Reason(r"^exploit\(", HOLDS, "It plays a best response, with a bound on its risk.",
                   "One opponent, few deals.", "Exploitation gains more than search from a weak opponent"),
            Reason(r"loses to the blueprint$", HOLDS,
                   "Likely: they had a tenth of its iterations, and most have far more rows.",
                   "Training time differs.", "The other abstractions lose to the blueprint"),
        ),
    ),
    "flops": Opening(
        "Flops: how wrong a subset is",
        (9, 0, 0),
        "Means over chosen subsets of 25, 49 and 95 flops are compared with means over 600 random flops that were solved, "
        "for one pair of ranges and one bet size. Values and frequencies of all three are nearer than those of random "
        "subsets of the same size.",
        "subsets of flops",
        (
            Reason(r"the mean of EV", HOLDS, "Subsets are chosen by equities, which explain most of the value.",
                   "One pair of ranges; 600 flops.", "The value is nearer than that of random subsets"),
            Reason(r"the mean of (OOP|IP) bet", HOLDS, "Equities explain less of how often players bet.",
                   "One pair of ranges; 600 flops.", "Betting frequencies are nearer than those of random subsets"),
        ),
    ),
    "nolimit": Opening(
        "No-limit hold'em: two action abstractions at one table",
        (7, 0, 0),
        "Two blueprints for short lists of bets play no-limit hold'em with 200 big blinds, where every chip amount may "
        "be bet, in compiled matches. Both beat a player of random bets, and both lose much to a local best response, "
        "as strategies after minutes of training do.",
        "No-limit hold'em, 200 big blinds",
        (
            Reason(r"^a compiled match", HOLDS,
                   "Betting is by rules and not by a tree, and each strategy reads its own rows.",
                   "Per second of processor time.", "A compiled match plays 100,000 deals in a second of one core"),
            Reason(r"^matches between action abstractions", HOLDS, "The deals of a match are divided among the cores.",
                   "Two cores of a quiet machine.", "Matches play 200,000 deals in a second on all cores"),
            Reason(r"beats a player of random bets$", HOLDS, "", "One training run each.",
                   "Both strategies beat random bets"),
            Reason(r"^a local best response beats", HOLDS, "Likely: training was short, and hands share few buckets.",
                   "A lower bound on what a best response wins.", "A local best response beats both strategies"),
        ),
    ),
}
