"""Potential-aware buckets, as of GS3 [Gilpin, Sandholm & Sørensen 2007]: hands are similar if they lead to similar
hands.

    potential([20, 800, 4800, 28800])                       # buckets of each round, in all
    potential([13, 100, 500], metric=emd, inner=64, seed=1)
    potential([169, 900, 100, 25], recall=false)            # a bucket says nothing of those before it

A hand of a round is the distribution of what it is in the next: a histogram over buckets there. For the first round a
*bottom-up pass* makes these: hands of the last round are clustered by their chance to win, hands of the round before by
their histograms over those clusters, and so on up to the first round, whose hands are clustered into as many buckets
as it may have. For round 2, a bottom-up pass is made for each bucket of round 1, of hands that are compatible with it,
and the hands of round 2 are clustered into 1, 2, ... buckets; an integer programme (`allocate.py`) decides how many
children each bucket of round 1 has. Its error is the sum of the distances of hands from the centres of their buckets,
weighted by the chance to be dealt them. (With recall=false all hands of a round are clustered together.) Later rounds
likewise; in the last one there is no potential left, and hands
are clustered on a line by strength, exactly.

The clusters of bottom-up passes are `inner` for each parent, and are forgotten once the round above has its buckets.
Too many of them make all histograms far from each other, whatever their hands: as a rule they are twice as many as the
children that a parent has in the mean, from FEWEST to MOST.
Clusters among histograms are k-means++ with restarts, from a seed, with means as centres; the distance between
histograms is their L2 distance, their L1 distance, or the earth mover's distance on a line, where buckets lie by their
mean strength (a hand's own order among buckets; one dimension is enough for that, as strength is one).

Departs from the paper: centres are found from a sample of at most SAMPLE hands for each parent (all if they are fewer),
and then all hands go to the nearest; errors for the integer programme are those of the sample. Above EVERY children
not each number is tried but a ladder of them, and errors between are interpolated.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import HandStrengths, Tell, each, each_call, heard_as, run
from kibitz.core import store
from kibitz.core.errors import ArtefactError
from kibitz.poker.buckets.cuts import context_of, number_type, points_in_histogram, whole_parents, with_classes
from kibitz.poker.buckets.expectation import allocate, check_budget, clustered_round, line_clusters, most_children
from kibitz.poker.buckets.hand_buckets import RoundBuckets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Table = NDArray[Any]

KIND = "stage"
DISTANCES = ("l2", "l1", "emd")
SAMPLE, SAMPLES = 4096, 65_536  # hands of a parent that centres come from, and of all parents if they are few
EVERY, LADDER = 16, 1.2  # numbers of children that are all tried, and the steps above
ITERATIONS = 30  # of k-means at most
RESTARTS = 2
FEWEST, MOST = 8, 128  # clusters of bottom-up passes


class Stages:
    """Stages of a long computation, stored on disk as artefacts: a killed run resumes from the last finished one.

    Each is a named result in one folder; without a folder nothing is stored.
    """

    def __init__(self, folder: Path | None = None, name: str = "") -> None:
        self.folder, self.name = folder, name

    def read(self, stage: str) -> tuple[dict[str, Table], dict[str, Any]] | None:
        """What a stage held, if it was done and every byte is what was written."""
        if self.folder is None:
            return None
        try:
            artefact = store.load(self.folder / stage, KIND)
        except ArtefactError:
            return None
        facts = artefact.meta.get("facts")
        return (artefact.arrays, facts) if artefact.meta.get("of") == self.name and isinstance(facts, dict) else None

    def write(self, stage: str, arrays: dict[str, Table], facts: dict[str, Any]) -> None:
        if self.folder is not None:
            assert re.fullmatch(r"[a-z0-9-]+", stage)
            self.folder.mkdir(parents=True, exist_ok=True)
            store.save(self.folder / stage, KIND, {k: np.ascontiguousarray(a) for k, a in arrays.items()},
                       {"of": self.name, "facts": facts})  # fmt: skip

    def clear(self) -> None:
        """Remove all of them, once the whole is kept elsewhere."""
        if self.folder is not None and self.folder.is_dir() and not self.folder.is_symlink():
            shutil.rmtree(self.folder)


@dataclass(frozen=True, eq=False)
class Clustering:
    """The parameters of a potential-aware abstraction."""

    metric: str
    inner: int  # clusters of a parent in bottom-up passes; 0: by rule
    seed: int
    recall: bool = True  # whether a bucket tells the one before it

    @property
    def norm(self) -> int:
        return 2 if self.metric == "l2" else 1

    @property
    def moved(self) -> bool:
        return self.metric == "emd"


@dataclass(frozen=True, eq=False)
class Futures:
    """The buckets that the hands of a round lead to, context by context. P contexts, m buckets in the next round."""

    counts: Table  # [B, H, m]  how many cards that can come lead to each
    context: Table  # [B, H]
    strength: Floats  # [P, m]  how strong hands of a bucket are; -1: there is no such bucket
    order: Ints  # [P, m]  buckets by strength, for the earth mover's distance
    gap: NDArray[np.float32]  # [P, m]  how far the next one in this order is


def potential_rounds(
    hands: HandStrengths, buckets: Sequence[int], setting: Clustering, stages: Stages, tell: Tell | None = None
) -> tuple[list[RoundBuckets], list[dict[str, Any]]]:
    """The buckets of all rounds, and for each the mean distance of hands from the centres of their buckets."""
    rounds: list[RoundBuckets] = []
    facts: list[dict[str, Any]] = []
    for level, budget in enumerate(buckets):
        above = rounds[-1] if rounds and setting.recall else None
        check_budget("potential", level, budget, above.count if above is not None else 1)
        kept = stages.read(f"round{level}")
        if kept is not None and _fits(hands, level, kept[0], above):
            rounds.append(RoundBuckets(len(kept[0]["parent"]), kept[0]["parent"], kept[0].get("table"),
                                       kept[0].get("least")))  # fmt: skip
            facts.append(kept[1])
            continue
        if level == hands.last:  # clusters on a line
            heard = heard_as(tell, f"round {level}: strengths")
            of, fact = clustered_round(hands, level, "ehs", above, budget, heard)
        else:
            of, fact = _round(hands, level, budget, above, setting, stages, tell)
        if rounds and above is None:
            of = replace(of, parent=np.full(of.count, -1, np.int64))
        arrays = {"parent": of.parent, "table": of.table, "least": of.least}
        stages.write(f"round{level}", {name: each for name, each in arrays.items() if each is not None}, fact)
        rounds.append(of)
        facts.append(fact)
    return rounds, facts


def _fits(hands: HandStrengths, level: int, arrays: dict[str, Table], above: RoundBuckets | None) -> bool:
    """Whether what a stage holds are buckets of a round."""
    table, parent = arrays.get("table"), arrays.get("parent")
    shape = table is None or (table.shape == hands.shape(level) and int(table.max(initial=0)) < len(arrays["parent"]))
    last = above.count - 1 if above is not None else -1 if level else 0
    return parent is not None and len(parent) > 0 and shape and int(parent.max()) == last


def _round(
    hands: HandStrengths, level: int, budget: int, above: RoundBuckets | None, setting: Clustering, stages: Stages,
    tell: Tell | None,
) -> tuple[RoundBuckets, dict[str, Any]]:  # fmt: skip
    """A round before the last: by histograms, from a bottom-up pass for each bucket of the round before."""
    parents = above.count if above is not None else 1
    context = context_of(hands, level, above)
    whole, number = whole_parents(
        hands, level, context, parents, lambda classes: np.full(len(classes), classes.sum() <= budget)
    )
    if whole.all():
        table, parent = with_classes(np.zeros(context.shape, np.uint16), context, whole, number)
        return RoundBuckets(len(parent), parent, table), {"error": 0.0}
    if not setting.inner:
        setting = replace(setting, inner=min(MOST, max(FEWEST, 2 * -(-budget // parents))))
    futures = _bottom_up(hands, level, context, parents, setting, stages, tell)
    wanted = most_children(parents, budget, 1 << 62)
    samples = _samples(hands, level, futures, parents, setting)
    share = np.array([weight.sum() for _, weight in samples])

    salts = [_salt(setting.seed, level, p) for p in range(parents)]
    if setting.recall or not level:
        heard = heard_as(tell, f"round {level}: clusters of each parent")
        calls = [(*samples[p], wanted, setting, salts[p]) for p in range(parents)]
        chosen = allocate([each / share.sum() for each in each_call(_distances, calls, heard)], budget)
    else:  # nobody to share with
        chosen = np.array([min(budget, len(samples[0][0]))])

    clusters = [(*samples[p], int(chosen[p]), setting, salts[p]) for p in range(parents)]
    unsorted = each_call(_clustered, clusters, heard_as(tell, f"round {level}: centres"))
    centres = [_sorted(unsorted[p][1], futures, p, setting)[0] for p in range(parents)]
    local, error = _assigned(hands, level, futures, centres, setting, number_type(int(chosen.max())))
    first = np.concatenate(([0], np.cumsum([len(each) for each in centres])))
    table = first[context] + local
    used, table = np.unique(table, return_inverse=True)  # centres of a sample may be nobody's
    parent = np.searchsorted(first, used, "right") - 1
    table = table.reshape(context.shape).astype(number_type(len(used)))
    return RoundBuckets(len(used), parent.astype(np.int64), table), {"error": error, "inner": setting.inner}


def _bottom_up(
    hands: HandStrengths, level: int, context: Table, parents: int, setting: Clustering, stages: Stages,
    tell: Tell | None,
) -> Futures:  # fmt: skip
    """What hands of a round turn into, by bottom-up passes for each context of them."""
    contexts = [context]
    for at in range(level + 1, hands.last):
        contexts.append(hands.lifted(at, contexts[-1]))
    what = f"round {level}, bottom up"
    # The last round: cuts by strength for each context.
    kept = stages.read(f"round{level}-ahead")
    shape = (parents, hands.top + 1)
    if kept is not None and kept[0]["histogram"].shape == shape:
        histogram = kept[0]["histogram"]
    else:
        histogram = hands.histogram(contexts[-1], parents, heard_as(tell, f"{what}: strengths"))
        stages.write(f"round{level}-ahead", {"histogram": histogram}, {})
    cut, strength = _last_clusters(histogram, hands.top, setting.inner)
    codes: Table | None = None
    for at in range(hands.last - 1, level - 1, -1):
        here = contexts[at - level]
        counts = _counts(hands, at, codes, here, cut, strength.shape[1], heard_as(tell, f"{what}: round {at}"))
        futures = _view(counts, here, strength)
        if at == level:
            return futures
        kept = stages.read(f"round{level}-{at}")
        if kept is not None and kept[0]["codes"].shape == here.shape:
            codes, strength = kept[0]["codes"], kept[0]["strength"]
        else:
            codes, strength = _inner(hands, at, futures, parents, setting)
            stages.write(f"round{level}-{at}", {"codes": codes, "strength": strength}, {})
        cut = np.broadcast_to(np.arange(strength.shape[1], dtype=cut.dtype), strength.shape).copy()
    raise AssertionError("the loop ends at the round itself")


def _last_clusters(histogram: Ints, top: int, inner: int) -> tuple[Table, Floats]:
    """(bucket of the last round for each context and strength, mean strength of each bucket or -1)."""
    points = points_in_histogram(histogram)
    cut = np.zeros(histogram.shape, np.uint16)
    strength = np.full((len(histogram), min(inner, top + 1)), -1.0)

    def fill(p: int) -> None:
        value, weight = points.of(p)
        x = value / top
        group = line_clusters(x, weight.astype(np.float64), inner)
        cut[p] = group[np.minimum(np.searchsorted(value, np.arange(top + 1)), len(value) - 1)]
        strength[p, : group[-1] + 1] = np.bincount(group, weight * x) / np.bincount(group, weight)

    each(fill, len(histogram))
    width = int((strength >= 0).sum(axis=1).max())
    return cut, strength[:, :width]


def _counts(
    hands: HandStrengths, level: int, codes: Table | None, context: Table, cut: Table, width: int,
    heard: Callable[[int, int], None] | None,
) -> Table:  # fmt: skip
    """[B, H, width]  how many of the cards that can come lead to each bucket of the next round. codes: what hands of
    the next round are; None: how far ahead."""
    from kibitz.cards.kernels.hands import add_counts

    ways = hands.run_outs(level) // hands.run_outs(level + 1)
    dtype = np.uint8 if ways < 1 << 8 else np.uint16 if ways < 1 << 16 else np.uint32
    out = np.zeros((*hands.shape(level), width), dtype)

    def add(part: slice) -> None:
        inside = hands.children(level, part)
        below = hands.ahead(inside) if codes is None else codes[inside]
        add_counts(hands.family(level, part), below, context[part], cut, hands.boards.tables(hands.hole), out[part])

    run(add, hands.pieces(level), heard)
    return out


def _view(counts: Table, context: Table, strength: Floats) -> Futures:
    """With the order of buckets by strength, for the earth mover's distance; buckets that are not there come last."""
    shown = np.where(strength < 0, 2.0, strength)
    order = np.argsort(shown, axis=1, kind="stable").astype(np.int64)
    lined = np.take_along_axis(np.where(strength < 0, np.nan, strength), order, axis=1)
    gap = np.nan_to_num(np.diff(lined, axis=1, append=np.nan))
    return Futures(counts, context, strength, order, gap.astype(np.float32))


def _samples(
    hands: HandStrengths, level: int, futures: Futures, parents: int, setting: Clustering
) -> list[tuple[NDArray[np.float32], Floats]]:
    """For each context the points of a sample of its hands, all different, and their weights.

    Weights are scaled such that those of a context sum to its deals.
    """
    from kibitz.cards.kernels.hands import count_parents
    from kibitz.poker.buckets.kernels.cluster import features, pick

    counts = np.zeros(parents, np.int64)
    count_parents(futures.context, counts)
    size = max(SAMPLE, SAMPLES // parents)
    limit = np.array([(1 << 64) - 1 if n <= size else ((1 << 64) - 1) * size // int(n) for n in counts], np.uint64)
    salt = np.uint64(_salt(setting.seed, level, 0))
    chosen = np.zeros(parents, np.int64)
    pick(futures.context, 0, salt, limit, chosen, np.empty(0, np.int64))
    begin = np.concatenate(([0], np.cumsum(chosen)))
    out = np.empty(int(begin[-1]), np.int64)
    pick(futures.context, 0, salt, limit, begin[:-1].copy(), out)
    total, of_board = hands.boards.rounds[level].total, hands.shape(level)[1]
    whole = np.bincount(futures.context.ravel(), np.repeat(total, of_board).astype(np.float64), parents)

    def gather(p: int) -> tuple[NDArray[np.float32], Floats]:
        mine = out[begin[p] : begin[p + 1]]
        if not len(mine):  # a large context always has some; a tiny one is taken whole
            raise AssertionError("a context without a sample")
        points = np.empty((len(mine), futures.counts.shape[2]), np.float32)
        features(futures.counts, mine, p, futures.order, futures.gap, setting.moved, points)
        kinds, number = np.unique(points, axis=0, return_inverse=True)
        weight = np.bincount(number.ravel(), total[mine // of_board].astype(np.float64))
        return np.ascontiguousarray(kinds), np.asarray(weight * (whole[p] / weight.sum()))

    return each(gather, parents)


def _ladder(most: int) -> list[int]:
    """Numbers of children that are tried: all up to EVERY, then fewer and fewer."""
    steps, k = [], 1
    while k < most:
        steps.append(k)
        k = k + 1 if k < EVERY else max(k + 1, int(k * LADDER))
    return [*steps, most]


def _salt(seed: int, level: int, parent: int) -> int:
    """Where the random numbers of a parent begin."""
    return ((seed * 1_000_003 + level) * 1_000_003 + parent) & ((1 << 64) - 1)


def _distances(
    points: NDArray[np.float32], weight: Floats, wanted: int, setting: Clustering, salt: int
) -> Floats:
    """The sums of distances for 1, 2, ... clusters: of some numbers by k-means, between them on a line."""
    most = max(1, min(wanted, len(points)))
    distances = np.full(most, np.nan)
    for k in _ladder(most):
        distances[k - 1] = _clustered(points, weight, k, setting, salt)[0]
    tried = np.flatnonzero(~np.isnan(distances))
    return np.asarray(np.interp(np.arange(most), tried, distances[tried]))


def _clustered(
    points: NDArray[np.float32], weight: Floats, count: int, setting: Clustering, salt: int
) -> tuple[float, NDArray[np.float32]]:
    """(the sum of distances, centres) of the best of some k-means; of as many points as centres, the points."""
    from kibitz.poker.buckets.kernels.cluster import k_means

    n, width = points.shape
    if count >= n:
        return 0.0, points
    best: tuple[float, NDArray[np.float32]] | None = None
    near, label = np.empty(n), np.empty(n, np.int64)
    for again in range(RESTARTS if count > 1 else 1):
        state = np.array([(salt + again * 0x9E3779B97F4A7C15 + count) & ((1 << 64) - 1)], np.uint64)
        centre, total = np.empty((count, width), np.float32), np.empty((count, width + 1))
        error = float(k_means(points, weight, setting.norm, ITERATIONS, state, near, label, centre, total))
        if best is None or error < best[0]:
            best = error, centre
    assert best is not None
    return best


def _sorted(
    centre: NDArray[np.float32], futures: Futures, context: int, setting: Clustering
) -> tuple[NDArray[np.float32], Floats]:
    """Centres from weak to strong, and how strong hands there are in the mean."""
    if setting.moved:
        # Chances up to each bucket times gaps: a mean strength is that of the last bucket less their sum.
        here = futures.strength[context]
        strong = float(here.max()) - centre.astype(np.float64).sum(axis=1)
    else:
        strong = centre.astype(np.float64) @ np.maximum(futures.strength[context], 0.0)
    order = np.argsort(strong, kind="stable")
    return np.ascontiguousarray(centre[order]), np.asarray(strong[order])


def _assigned(
    hands: HandStrengths, level: int, futures: Futures, centres: list[Table], setting: Clustering, dtype: Any
) -> tuple[Table, float]:
    """(the centre of each hand, counted from the first of its context; the mean distance from it)."""
    from kibitz.poker.buckets.kernels.cluster import CentreTables, assign

    begin = np.concatenate(([0], np.cumsum([len(each) for each in centres]))).astype(np.int64)
    tables = CentreTables(np.concatenate(centres), begin, futures.order, futures.gap)
    out = np.empty(hands.shape(level), dtype)
    parts = [slice(at, min(at + 256, len(out))) for at in range(0, len(out), 256)]
    sums = np.zeros((len(parts), len(centres)))
    total = hands.boards.rounds[level].total

    def fill(part: slice) -> None:
        point = np.empty((1, tables.centre.shape[1]), np.float32)
        assign(futures.counts[part], futures.context[part], total[part], tables, setting.moved, setting.norm, point,
               out[part], sums[part.start // 256])  # fmt: skip

    run(fill, parts)
    return out, float(sums.sum() / (total.sum() * out.shape[1]))


def _inner(
    hands: HandStrengths, level: int, futures: Futures, parents: int, setting: Clustering
) -> tuple[Table, Floats]:
    """The clusters of a round of a bottom-up pass: (the cluster of each hand in its context, mean strengths or -1)."""
    samples = _samples(hands, level, futures, parents, setting)
    strength = np.full((parents, setting.inner), -1.0)

    salts = [_salt(setting.seed, level + 1000, p) for p in range(parents)]
    unsorted = each_call(_clustered, [(*samples[p], setting.inner, setting, salts[p]) for p in range(parents)])
    centres = []
    for p in range(parents):
        centre, strong = _sorted(unsorted[p][1], futures, p, setting)
        strength[p, : len(strong)] = strong
        centres.append(centre)
    width = max(len(each) for each in centres)
    strength = strength[:, :width] if width <= setting.inner else strength
    return _assigned(hands, level, futures, centres, setting, np.uint8 if width <= 256 else np.uint16)[0], strength
