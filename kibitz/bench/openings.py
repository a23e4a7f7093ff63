"""How each page of results opens, by its name. Pages of stitching are in `openings_stitching.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kibitz.bench.opening import Opening, Reason
from kibitz.bench.openings_grafting import GRAFTING
from kibitz.bench.openings_stitching import STITCHING
from kibitz.papers.claims import FAILS, HOLDS, UNDECIDED


def opening_of(data: Mapping[str, Any]) -> Opening:
    """The opening of a page; just the titles of its papers if the page is not in OPENINGS."""
    known = OPENINGS.get(Path(data.get("page", "")).stem)
    return known or Opening("; ".join(paper["title"] for paper in data["papers"]))


WRONG_GAME = (
    "Likely: the thesis' program played another game. Its payoff has the wrong sign, and nobody has to follow suit."
)
WRONG_UPDATE = (
    "Likely: the thesis' updates weight regrets by reach a second time, so its curves are not those of MCCFR."
)

OPENINGS: dict[str, Opening] = STITCHING | GRAFTING | {
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
    "champions": Opening(
        "Champions of limit hold'em in one table",
        (2, 8, 0),
        "In the whole game GS3, with seven times as many buckets on the river as Base, loses to all strategies of "
        "stitching, though its exact exploitability (302.39) is lower than that of most; the finest strategy wins from "
        "all others. With 12 cards GS2 beats GS1 in matches, as in Sandholm's slides.",
        "limit hold'em",
        (
            Reason(r"^GS2 beats GS1", HOLDS,
                   "Not explained: GS2 has another kind of buckets and a longer first phase. What follows that phase "
                   "is worth to GS2 what an equilibrium of its abstract game gives, and to GS1 what hands win if "
                   "nobody bets any more (roll-outs).",
                   "One run, with a deck of 12 cards; thousandths of a big blind per hand.",
                   "GS2 beats GS1"),
            Reason(r"^GS3 beats", FAILS,
                   "Not explained. With 20 cards a strategy like GS3 wins from Base, so neither the kind of its "
                   "buckets nor their shape is worse everywhere.",
                   "One random initialisation; on drawn boards.",
                   "GS3 beats Base, and strategies that are stitched onto it"),
            Reason(r"^with 20 cards, the strategy like GS3", FAILS,
                   "Likely: with so few cards its many buckets separate most hands.",
                   "One random initialisation; exact.", "With 20 cards, too, a strategy like GS3 loses to Base"),
            Reason(r"^with 20 cards, percentiles", FAILS,
                   "In the shape of Base percentiles win; in that of GS3, which has more buckets, potential-aware "
                   "ones do.",
                   "One random initialisation; exact.",
                   "With 20 cards, percentiles beat potential-aware buckets of the same shape"),
            Reason(r"^with 20 cards, GS3's shape", FAILS, "It has more buckets.", "One random initialisation; exact.",
                   "With 20 cards, GS3's shape loses to that of Base"),
            Reason(r"^Finest beats GS3", HOLDS, "Finest wins from all others too.",
                   "One random initialisation; on drawn boards.", "Finest beats GS3"),
        ),
        "With 12 cards percentile(4), which has fewer buckets and solves all rounds at once, beats GS1 too, and loses "
        "to GS2 by little more than the interval of their match. Most exploitabilities in the whole game differ by "
        "less than the margins that [another page](stitching_large.md) explains, because they still rose in the last "
        "doubling of training.",
        "Words: GS1, GS2 and GS3 are programs of Sandholm's group. GS1 has GameShrink classes of hands, GS2 clusters "
        "by expected strength, GS3 clusters by how strength may develop. GS1 and GS2 solve the first rounds beforehand "
        "(phase I) and the rest at the table, with all hands. *Base*, *Dynamic*, *S={i}*, *S=N*, *conditional* "
        "and *Finest* are explained on [another page](stitching_large.md). The *gap* is NashConv in the abstract "
        "game. *Exploitability* is the mean of what best responses of both players win in the unabstracted game. More "
        "is in the [glossary](glossary.md).",
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
        "Means over chosen subsets of 25, 49 and 95 flops are compared with means over 600 random flops that were "
        "solved, for one pair of ranges and one bet size. Values and frequencies of all three are nearer than those of "
        "random subsets of the same size.",
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
