"""How the pages about grafting open: what is claimed, what was measured, and why."""

from __future__ import annotations

from kibitz.bench.opening import Opening, Reason
from kibitz.papers.claims import FAILS, HOLDS

SHORT = (
    "Likely: grafts have many buckets and had too few iterations. With 16 cards and more training the grafted strategy "
    "beats all others."
)
GRAFTED = (
    "Words: a *graft* is a strategy for one player and one part of the game, with finer buckets, and takes the place "
    "of the base there. Parts are named by how the betting begins: r is a raise, c a call, so *cr* is a call and then "
    "a raise. 20x8, 20x7 and 20x32 are the paper's names of strategies with imperfect recall, 12 and 14 of strategies "
    "with perfect recall; 20x8 is the base. *Exploitability* is the mean of what best responses win against the "
    "strategy in the unabstracted game. More is in the [glossary](glossary.md)."
)

GRAFTING: dict[str, Opening] = {
    "grafting_large": Opening(
        "Strategy grafting in limit hold'em, on a GPU",
        (4, 3, 0),
        "What Waugh, Bard & Bowling (2009) say of their Table 3 is tested in limit hold'em with the whole deck: as "
        "in the paper, the grafted strategy beats its base and even the largest single strategy with "
        "imperfect recall. Against the paper, 12 and 14, which have perfect recall, beat it and all others.",
        "limit hold'em, on a GPU",
        (
            Reason(r"^the grafted strategy beats 20x8", HOLDS,
                   "Likely: grafts are finer than the base in their part.",
                   "One seed; exact. No strategy is converged. The grafted strategy is more exploitable than its "
                   "base on every 16th flop, but by less than either changed in the second half of the training.",
                   "The grafted strategy beats its base"),
            Reason(r"^the grafted strategy beats (20x7|even)", HOLDS,
                   "Likely: grafts are finer in their part than these two.",
                   "One seed; on drawn boards. The interval includes what the last doubling of the training of grafts "
                   "changed.",
                   "The grafted strategy beats 20x7, and even the largest single strategy, 20x32"),
            Reason(r"^the grafted strategy beats 1[24]", FAILS,
                   "Not explained. 12 and 14 were solved over all boards and the others on sampled boards; and the "
                   "buckets with imperfect recall are one-dimensional here, while the paper describes its own "
                   "elsewhere. Twice the training of grafts changed these figures by much less than the grafted "
                   "strategy loses.",
                   "One seed; on drawn boards. The single strategies were played after one length of training only.",
                   "The grafted strategy beats 12 and 14"),
            Reason(r"^20x7 beats 14", FAILS,
                   "Not explained, as above; and 20x7 is not converged.",
                   "One seed; on drawn boards. 20x7 was played after one length of training only.",
                   "20x7 beats 14"),
            Reason(r"^20x32 beats 20x8", HOLDS, "Likely: it has more buckets.", "One seed; on drawn boards.",
                   "20x32 beats 20x8"),
        ),
        "With a hundredth of this training the grafted strategy [had lost to its base](grafting_holdem.md). With 16 "
        "cards, where all pairs are exact, it [beats all five others](grafting_small.md), 12 and 14 included.",
        GRAFTED,
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
        (8, 2, 0),
        "What Waugh, Bard & Bowling (2009) say of their Table 3 is tested with a deck of 16 cards, where all figures "
        "are exact. As in the paper, the grafted strategy beats all five single strategies, even the largest one.",
        "limit hold'em, 16 cards",
        (
            Reason(r"^the grafted strategy beats even", HOLDS,
                   "Likely: grafts have more buckets than the largest single strategy in their part. After 1,024 "
                   "boards they lose this match.",
                   "Four seeds, exact. All computations of the grafted strategy together have 338,484 infosets, 20x32 "
                   "has 147,338.",
                   "The grafted strategy beats even the largest single strategy, 20x32"),
            Reason(r"^the grafted strategy beats (20x8|20x7|14|12)$", HOLDS,
                   "Likely: grafts have more buckets in their part.", "Four seeds, exact.",
                   "The grafted strategy beats 20x7, 14, 12 and its base, 20x8"),
            Reason(r"^20x7 beats 14", HOLDS,
                   "Likely: imperfect recall separates more hands in the first rounds, with fewer information sets "
                   "to train. They were also trained in different ways.",
                   "Four seeds, exact. The paper says that 20x7 superseded 14.", "20x7 beats 14"),
            Reason(r"^20x32 beats 20x8", HOLDS,
                   "Likely: it has many more buckets. Small differences do not decide: 20x7 beats 20x8 as well.",
                   "Four seeds, exact.", "20x32 beats 20x8"),
            Reason(r"wins most on average", HOLDS, "It beats every other strategy, and most of them by more than "
                   "20x32 does.", "Four seeds, exact.", "The grafted strategy wins most on average"),
            Reason(r"^after 1,024 boards", FAILS,
                   "After so few boards grafts are about as good as the base, or a little better.",
                   "Four seeds, exact; judged without a margin.",
                   "After 1,024 boards of each graft it loses to its base"),
            Reason(r"less exploitable than 20x8", FAILS,
                   "Not explained. Theorem 1 of the paper bounds only the result against the opponent's base strategy, "
                   "not the worst case of several grafts together.", "Four seeds, exact.",
                   "The grafted strategy is less exploitable than its base"),
        ),
        "In an earlier run, with 990 boards for each computation, the grafted strategy lost to 20x7 and 20x32; this "
        "page said that its grafts likely needed more training. With 65,536 boards it wins. The second picture shows "
        "winnings along the training of grafts, against opponents that are trained to the end.",
        GRAFTED,
    ),
}
