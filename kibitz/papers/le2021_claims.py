"""What [Le 2021] concludes from its figures, tried in each repetition in the real rules and in thesis mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.papers.claims import FACT, MOST, OURS, REPETITION, VERDICTS, Claim, Comparison
from kibitz.papers.le2021_course import ABSTRACTIONS, BASELINE, BY_STRENGTH, THESIS
from kibitz.papers.le2021_runs import GAMES, MODES, OTHER, REAL, ConvergenceCurves, ThesisResults, ToepenSize

Floats = NDArray[np.float64]
Tried = tuple[Floats, str, Floats | float]  # figures of all repetitions, and how they stand to others
# Infosets in the thesis' tables, in the order of GAMES.
TABLES = {
    "3.1": (10, 496, 39, 3_552, 51, 3_576, 180, 22_338, 4_584, 1_366_338),
    "3.2": (6, 330, 21, 2_130, 14, 954, 48, 5_586, 1_173, 376_958),
}
WIDE, TALL, SQUARE = (ToepenSize(*size, False).deck for size in ((3, 2, 2), (2, 3, 2), (3, 3, 2)))
DECKS = (TALL, WIDE, SQUARE)
SMALL_RANGE = 0.25  # two figures are called similar if they differ by less than this share of the larger
LEVEL = 0.9  # a curve is called level if its second half keeps at least this share
SLOW = 0.5  # chips: how long a run takes to come below this says how fast it converges
REPORTED, NEAR = 0.914, 0.1  # the NashConv that the thesis gives, and what share off is still about that


def _claim(text: str, source: str, tried: Callable[[bool], Tried], modes: Iterable[bool] = MODES) -> Claim:
    """A claim about figures of each repetition. The real rules are the game, so that they are what is judged."""

    def cases(mode: bool) -> list[Comparison]:
        left, relation, right = tried(mode)
        both = np.broadcast_arrays(left, right)
        return [Comparison(float(a), relation, float(b)) for a, b in zip(*both, strict=True)]

    variants = {REAL if mode else OTHER: cases(mode) for mode in modes}
    return Claim(text, source, variants[REAL], variants, unit=REPETITION, leading=True)


def _fact(text: str, source: str, cases: Callable[[bool], Comparison | tuple[Comparison, ...]], detail: str) -> Claim:
    variants = {REAL if mode else OTHER: [cases(mode)] for mode in MODES}
    return Claim(text, source, variants[REAL], variants, detail=detail, unit=FACT, leading=True)


def claims(r: ThesisResults) -> Iterator[Claim]:
    for about in (about_counts, about_no_betting, about_betting, about_scores, about_sizes, about_ours):
        yield from about(r)


def about_counts(r: ThesisResults) -> Iterator[Claim]:
    for table, kind in (("3.1", "null"), ("3.2", BASELINE)):
        counts = [r.counted[str(game)][kind] for game in GAMES]
        rows, of = list(zip(counts, GAMES, TABLES[table], strict=True)), len(GAMES)
        met = {True: sum(sum(count[True]) == n for count, _, n in rows),
               False: sum(sum(count[not game.betting]) == n for count, game, n in rows)}  # fmt: skip
        yield _fact(f"the counts of Table {table}", f"Table {table}",
                    {mode: Comparison(count, "=", of) for mode, count in met.items()}.__getitem__,
                    f"{met[True]} of {of} are those of the real rules, {met[False]} of {of} those of thesis mode where "
                    "there is betting")  # fmt: skip


def about_no_betting(r: ThesisResults) -> Iterator[Claim]:
    games = r.small[False, True]
    end = {deck: games[deck].real.values[:, -1] for deck in DECKS}

    def said(text: str, *tried: Any) -> Claim:
        return _claim(text, "Fig. 4.1", lambda mode: tried, (True,))

    yield said(f"NashConv from high to low: {WIDE}; {SQUARE}; {TALL}",
               np.minimum(end[WIDE] - end[SQUARE], end[SQUARE] - end[TALL]), ">", 0.0)  # fmt: skip
    yield said(f"{TALL} reach the lowest NashConv", end[TALL], "<", np.minimum(end[WIDE], end[SQUARE]))
    yield said(f"a larger deck is not harder: {SQUARE} end lower than {WIDE}", end[SQUARE], "<", end[WIDE])
    middle = max(0, len(games[TALL].real.at) - 6)  # half of the iterations
    level = np.min([end[deck] / games[deck].real.values[:, middle] for deck in DECKS], axis=0)
    yield said("each deck converges to a certain NashConv and does not improve much from there", level, ">", LEVEL)


def about_betting(r: ThesisResults) -> Iterator[Claim]:
    source = "Fig. 4.2"

    def end(mode: bool) -> tuple[Floats, Floats, Floats]:
        """NashConv at the end: of TALL, WIDE and SQUARE."""
        tall, wide, square = (r.small[True, mode][deck].real.values[:, -1] for deck in DECKS)
        return tall, wide, square

    def tried(compare: Callable[[Floats, Floats, Floats], Tried]) -> Callable[[bool], Tried]:
        return lambda mode: compare(*end(mode))

    uniform = {mode: [r.small[True, mode][deck].uniform for deck in DECKS] for mode in MODES}
    yield _fact("uniform play has a NashConv of about 2 for all deck sizes", source,
                lambda mode: tuple(Comparison(round(x), "=", 2) for x in uniform[mode]),
                f"{_list(uniform[True])} for {'; '.join(DECKS)}, in thesis mode {_list(uniform[False])}")  # fmt: skip
    yield _fact("the highest ante with hand size 2 is 4", source, lambda mode: Comparison(_most(2), "=", 4),
                f"it is {_most(2):.0f}: a call before each of the four cards, so utilities range over "
                f"{2 * _most(2):.0f}")  # fmt: skip
    yield _claim(f"{TALL} are the most exploitable", source,
                 tried(lambda tall, wide, square: (tall, ">", np.maximum(wide, square))))  # fmt: skip
    yield _claim(f"{TALL} converge slowest: they take the most iterations to come below {SLOW:g} chips", source,
                 lambda m: (_below(r, m, TALL), ">", np.maximum(_below(r, m, WIDE), _below(r, m, SQUARE))))  # fmt: skip
    yield _claim(f"{WIDE} and {SQUARE} are very similar (by less than {SMALL_RANGE:.0%} at the end)", source,
                 tried(lambda tall, wide, square: (np.abs(wide - square), "<",
                                                   SMALL_RANGE * np.maximum(wide, square))))  # fmt: skip
    yield _claim(f"a larger deck is not harder: {SQUARE} end lower than {TALL}", source,
                 tried(lambda tall, wide, square: (square, "<", tall)))  # fmt: skip


def _below(r: ThesisResults, mode: bool, deck: str) -> Floats:
    """Iterations until a run is below SLOW, by evaluations; beyond the last where it never is."""
    curve = r.small[True, mode][deck].real
    under = curve.values < SLOW
    at = np.array([*curve.at, 2 * curve.at[-1]], float)
    return at[np.where(under.any(axis=1), under.argmax(axis=1), len(curve.at))]


def _most(hand: int) -> float:
    """The largest payoff with betting, found in the smallest game of a hand size."""
    from kibitz.games.tree import tree_of

    return float(tree_of(ToepenSize(2, hand, hand, True).rules()).payoff.max())


def _least_of(figures: Iterable[Floats]) -> Floats:
    return np.asarray(np.min(list(figures), axis=0))


def _most_of(figures: Iterable[Floats]) -> Floats:
    return np.asarray(np.max(list(figures), axis=0))


def about_scores(r: ThesisResults) -> Iterator[Claim]:
    def score(mode: bool, name: str, k: int = -1) -> Floats:
        return r.trained[mode].score[name].values[:, k]

    coarse, source = THESIS[:3], "Fig. 4.3"
    at = r.trained[True].score[BASELINE].at
    yield _claim(f"naive, simple history and simple hand all do well at first: ahead after {at[0]:,} iterations",
                 source, lambda m: (_least_of(score(m, name, 0) for name in coarse), ">", 0.0))  # fmt: skip
    yield _claim("naive, simple history and simple hand fall off: all three are behind at the end", source,
                 lambda m: (_most_of(score(m, name) for name in coarse), "<", 0.0))  # fmt: skip
    for name in ("naive", "simple-history"):
        ahead: dict[bool, Tried] = {m: (score(m, name), ">", score(m, "simple-hand")) for m in MODES}
        yield _claim(f"{name} does better than simple-hand, which has far more rows", source, ahead.__getitem__)
    source, history, combined = "Fig. 4.4", "advanced-history", "advanced-combined"
    rest = [name for name in THESIS if name != history]
    yield _claim("advanced-history is the best of the six", source,
                 lambda m: (score(m, history), ">", _most_of(score(m, name) for name in rest)))  # fmt: skip
    yield _claim("advanced-hand is the worst of the advanced abstractions", source,
                 lambda m: (score(m, "advanced-hand"), "<",
                            _least_of(score(m, n) for n in (history, combined))))  # fmt: skip
    late = [k for k, n in enumerate(at) if n >= r.iterations // 10]
    yield _claim("after the first tenth of the iterations advanced-combined stays behind advanced-history", source,
                 lambda m: (_most_of(score(m, combined, k) - score(m, history, k) for k in late), "<",
                            0.0))  # fmt: skip
    yield _claim("before that advanced-combined is ahead of it", source,
                 lambda m: (score(m, combined, 0), ">", score(m, history, 0)))  # fmt: skip
    yield _claim("abstracting the hand is worse than abstracting the history, simple or advanced", source,
                 lambda m: (_most_of(score(m, f"{k}-hand") - score(m, f"{k}-history")
                                     for k in ("simple", "advanced")), "<", 0.0))  # fmt: skip


def about_sizes(r: ThesisResults) -> Iterator[Claim]:
    source = "Fig. 4.5"
    sizes = {mode: r.trained[mode].sizes for mode in MODES}
    real, other = sizes[True], sizes[False]
    yield _fact("naive and simple history have 4 and 166 infosets", source,
                lambda m: (Comparison(sizes[m]["naive"], "=", 4), Comparison(sizes[m]["simple-history"], "=", 166)),
                f"{real['naive']} and {real['simple-history']} in the real rules, {other['naive']} and "
                f"{other['simple-history']} in thesis mode")  # fmt: skip
    yield _fact("simple hand converges to about 200,000 infosets", source,
                lambda m: Comparison(round(sizes[m]["simple-hand"], -5), "=", 200_000),
                f"it has {real['simple-hand']:,}, in thesis mode {other['simple-hand']:,}")  # fmt: skip
    share = {m: sizes[m]["advanced-history"] / sizes[m][BASELINE] for m in MODES}
    yield _fact("advanced history halves the number of infosets", source,
                lambda m: (Comparison(share[m], ">=", 0.45), Comparison(share[m], "<=", 0.55)),
                f"it has {share[True]:.0%} of them, in thesis mode {share[False]:.0%}")  # fmt: skip
    times = {m: sizes[m]["advanced-hand"] / sizes[m]["advanced-combined"] for m in MODES}
    yield _fact("advanced hand has about twice as many infosets as combined", source,
                lambda m: Comparison(round(times[m]), "=", 2),
                f"{times[True]:.2f} times, in thesis mode {times[False]:.2f}")  # fmt: skip
    yield _claim(f"the non-abstracted method does not reach all infosets in {r.iterations:,} iterations", source,
                 lambda m: (r.trained[m].reached[BASELINE].values[:, -1], "<", float(sizes[m][BASELINE])))  # fmt: skip
    yield _claim(f"its NashConv is then about {REPORTED} (within {NEAR:.0%})", "Sec. 4.2.3",
                 lambda m: (np.abs(r.trained[m].gap[BASELINE].values[:, -1] - REPORTED), "<",
                            NEAR * REPORTED))  # fmt: skip
    yield _fact("the range of rewards is 8 with hand size 3", "Sec. 4.2.4",
                lambda m: Comparison(2 * _most(3), "=", 8),
                f"it is {2 * _most(3):.0f}: the ante rises to {_most(3):.0f}")  # fmt: skip


def about_ours(r: ThesisResults) -> Iterator[Claim]:
    def score(mode: bool, names: Sequence[str]) -> list[Floats]:
        return [r.trained[mode].score[name].values[:, -1] for name in names]

    def gap(mode: bool, names: Sequence[str]) -> list[Floats]:
        return [r.trained[mode].gap[name].values[:, -1] for name in names]

    for name in BY_STRENGTH:
        ahead: dict[bool, Tried] = {m: (score(m, [name])[0], ">", _most_of(score(m, THESIS))) for m in MODES}
        yield _claim(f"{name} scores more than each of the thesis' six", OURS, ahead.__getitem__)
    yield _claim("at the end some abstraction scores above the non-abstracted strategy", OURS,
                 lambda m: (_most_of(score(m, ABSTRACTIONS)), ">", 0.0))  # fmt: skip
    yield _claim("the non-abstracted strategy is the least exploitable", OURS,
                 lambda m: (gap(m, [BASELINE])[0], "<", _least_of(gap(m, ABSTRACTIONS))))  # fmt: skip
    yield _claim("the abstraction with the best score is also the least exploitable abstraction", OURS,
                 lambda m: (np.argmax(score(m, ABSTRACTIONS), axis=0).astype(float), "=",
                            np.argmin(gap(m, ABSTRACTIONS), axis=0).astype(float)))  # fmt: skip

    def beyond_exact(mode: bool) -> Tried:
        curves = [c for betting in (False, True) for c in r.small[betting, mode or not betting].values()]
        return _most_of((c.approximate.values - c.real_then.values).max(axis=1) for c in curves), "<=", 1e-9

    yield _claim("the thesis' best response finds less than the exact one, in all six games at every look", OURS,
                 beyond_exact)  # fmt: skip


# In words


def _list(numbers: Iterable[float]) -> str:
    return ", ".join(f"{x:.2f}" for x in numbers)


def summary(claims: Sequence[Claim]) -> str:
    """How the thesis' claims fared, in a sentence or two."""
    here = Counter(c.verdicts[OTHER] for c in claims if c.of_the_paper and OTHER in c.verdicts)
    hold, fail, neither = (here[verdict] for verdict in VERDICTS)
    return (
        f"These are verdicts for the real rules. In thesis mode, of {here.total()} claims of the thesis {hold} hold, "
        f"{fail} fail and {neither} are undecided. A claim holds if it is true of at least {MOST:.0%} of the "
        "repetitions, and fails if it is false of as many."
    )


def paragraph(figure: str, r: ThesisResults, claims: Sequence[Claim]) -> str:
    """What stands beside a figure: which of the thesis' conclusions hold in the correct game."""
    here = [claim for claim in claims if claim.source == figure]
    if figure == "nash_conv":
        return _exploited(r, claims)
    conclusions: list[str] = []
    for word, kept in (("hold", True), ("do not hold", False), ("are undecided", None)):
        texts = [f"“{c.text}” ({_counts(c)})" for c in here if c.stands is kept]
        if texts:
            conclusions.append(f"{'these ' * (not conclusions)}{word}: {'; '.join(texts)}")
    text = f"Of the thesis' conclusions from {figure}, in the correct game {'. Others '.join(conclusions)}."
    here = [c for c in here if OTHER in c.verdicts]
    other = [f"“{c.text}”" for c in here if c.verdicts[OTHER] != c.verdict]
    if here:
        verdicts = f"the verdict is another on {'; '.join(other)}" if other else "all verdicts are the same"
        text += f" In thesis mode {verdicts}."
    return text + _more(figure, r)


def _counts(claim: Claim) -> str:
    """11 of 15, in thesis mode 0 of 15; or how it is, where that needs no repetitions."""
    return claim.detail or ", in thesis mode ".join(map(claim.cell, claim.tried.values()))


def _ends(games: Mapping[str, ConvergenceCurves], what: str) -> str:
    return ", ".join(f"{getattr(c, what).values[:, -1].mean():.4f} for {deck}" for deck, c in games.items())


def _more(figure: str, r: ThesisResults) -> str:
    """Figures in words, where there is more to be said."""
    none, real, other = (r.small[key] for key in ((False, True), (True, True), (True, False)))
    if figure == "Fig. 4.1":
        return (
            f" At the end the mean NashConv is {_ends(none, 'real')}, and still falling. The thesis' best response "
            f"puts it at {_ends(none, 'approximate')}."
        )
    if figure in ("Fig. 4.4", "Fig. 4.5"):
        return _scores(r) if figure == "Fig. 4.4" else _reached(r)
    return "" if figure != "Fig. 4.2" else (
        f" At the end the mean NashConv is {_ends(real, 'real')}; in thesis mode {_ends(other, 'real')}. The "
        f"thesis' best response, with its iterations, puts them at {_ends(real, 'approximate')}; "
        f"{_ends(other, 'approximate')}: where a strategy is good it says more about the search than about the "
        "strategy."
    )


def _scores(r: ThesisResults) -> str:
    parts = []
    for mode, word in ((True, "in the real rules"), (False, "in thesis mode")):
        score = {n: r.trained[mode].score[n].values[:, -1].mean() for n in ABSTRACTIONS}
        order = sorted(score, key=lambda n: -score[n])
        parts.append(f"{word} {', '.join(f'{n} {score[n]:+.3f}' for n in order)}")
    return f" Mean scores at the end, best first: {'; '.join(parts)}."


def _reached(r: ThesisResults) -> str:
    parts = []
    for mode, word in ((True, "In the real rules"), (False, "In thesis mode")):
        t = r.trained[mode]
        reached = t.reached[BASELINE].values[:, -1].mean()
        of = t.sizes[BASELINE]
        parts.append(f" {word} the non-abstracted runs reach {reached:,.0f} of {of:,} ({reached / of:.1%}).")
    return "".join(parts)


def _exploited(r: ThesisResults, claims: Sequence[Claim]) -> str:
    parts = []
    for mode, word in ((True, "in the real rules"), (False, "in thesis mode")):
        t = r.trained[mode]
        exact = t.gap[BASELINE].values[:, -1]
        text = f"{word} {exact.mean():.3f} ± {exact.std(ddof=1) if len(exact) > 1 else 0.0:.3f}"
        if t.approximate:
            first = exact[: len(t.approximate)]
            text += (
                f", of which the thesis' best response of {r.iterations:,} iterations finds "
                f"{np.mean(t.approximate):.3f} where {first.mean():.3f} is exact"
            )
        parts.append(text)
    ours = [f"“{c.text}” ({_counts(c)})" for c in claims if c.source == OURS]
    return (
        f"The thesis gives {REPORTED} for the non-abstracted strategy, a lower bound found in another game. Exactly "
        f"it is {'; '.join(parts)}. Lifted to the real game every abstraction has a NashConv too, which the thesis "
        f"left open. Beyond the thesis: {'; '.join(ours)}."
    )


def tied_suits(r: ThesisResults) -> str:
    """Why the real game sees more than the thesis' names do."""
    games = r.small[True, True]

    def price(deck: str, k: int) -> float:
        return float((games[deck].real.values - games[deck].seen.values)[:, k].mean())

    tenth = max(-10, -len(games[WIDE].real.at))  # a tenth of the iterations
    early = games[WIDE].real.at[tenth]
    prices = "; ".join(f"{deck}: {price(deck, tenth):.3f} and {price(deck, -1):.3f}" for deck in DECKS)
    return (
        "The thesis' renaming of suits is lossless for the value, but not for a strategy that sampling has made: of "
        "two cards in suits that look alike to a player it may prefer the one that comes first by name, which the "
        "player's rows cannot tell and an opponent can. Best responses in the real game find that; those of an "
        "opponent who is given the thesis' names do not. With betting, in the real rules, the difference after "
        f"{early:,} iterations and at the end is {prices}. If tied cards are played equally often instead, the "
        f"NashConv at the end is {_ends(games, 'even')}."
    )
