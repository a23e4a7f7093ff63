"""Pictures of buckets of hands: the 169 hands before the flop, and hands by strength and potential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kibitz.cards.deck import RANKS
from kibitz.cards.strengths import HandStrengths
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.report.plot import GREY, empty_figure, save

MOST_DOTS = 6000
SIDE, BETWEEN, EDGE = 5.2, 0.95, 0.75  # inches of a panel, between panels, and around them
TITLE = 0.2


def draw_buckets(buckets: HandBuckets, path: Path) -> None:
    """Draw the hands of each round but the last, coloured by bucket, and save that to `path`."""
    save(buckets_plot(buckets), path, facecolor="white")


def buckets_plot(buckets: HandBuckets) -> Any:
    """The figure itself. The last round is cut by strength alone, so it is shown only if there is no other."""
    from kibitz.poker.rules.rules import strength

    levels = range(max(1, len(buckets.rounds) - 1))
    width = len(levels) * SIDE + (len(levels) - 1) * BETWEEN + 2 * EDGE
    height = SIDE + 2 * EDGE + TITLE
    figure = empty_figure(width, height)
    hands = HandStrengths(buckets.boards, buckets.hole, strength)
    for level in levels:
        left = EDGE + level * (SIDE + BETWEEN)
        axes = figure.add_axes((left / width, EDGE / height, SIDE / width, SIDE / height))
        if level == 0 and buckets.hole == 2 and not buckets.boards.board[0]:
            _grid(axes, buckets)
        else:
            _dots(axes, buckets, hands, level)
        axes.set_title(f"round {level}: {buckets.rounds[level].count:,} buckets", fontsize=11, loc="left", pad=8)
    figure.text(EDGE / width, 1 - 0.42 / height, buckets.name, fontsize=13, fontweight="bold", parse_math=False)
    return figure


def _colours(bucket: Any, count: int) -> Any:
    """Colours of buckets from weak (dark) to strong; where they are many, neighbours get different ones."""
    from matplotlib import colormaps

    if count <= 24:
        return colormaps["viridis"](np.asarray(bucket) / max(1, count - 1))
    return colormaps["tab20"](np.asarray(bucket) % 20)


def _grid(axes: Any, buckets: HandBuckets) -> None:
    """Hands of two cards up to names of suits: suited above the diagonal, offsuit below."""
    n = buckets.boards.ranks
    ranks = np.arange(12, 12 - n, -1)
    cards = np.array([[4 * max(a, b), 4 * min(a, b) + (0 if j > i else 1)]
                      for i, a in enumerate(ranks) for j, b in enumerate(ranks)])  # fmt: skip
    known = (buckets.boards.place[cards] >= 0).all(axis=1) & (cards[:, 0] != cards[:, 1])
    bucket = np.zeros(len(cards), np.int64)
    bucket[known] = buckets.of(0, cards[known])
    shown = _colours(bucket, buckets.rounds[0].count).reshape(n, n, 4)
    shown[~known.reshape(n, n)] = 1.0
    axes.imshow(shown, interpolation="nearest", aspect="equal")
    for k, each in enumerate(bucket):
        if known[k]:
            i, j = divmod(k, n)
            a, b = RANKS[max(ranks[i], ranks[j])], RANKS[min(ranks[i], ranks[j])]
            red, green, blue = shown[i, j, :3]
            ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"
            axes.text(j, i - 0.14, f"{a}{b}", ha="center", va="center", fontsize=6.5, color=ink)
            axes.text(j, i + 0.24, str(each), ha="center", va="center", fontsize=5.5, color=ink)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("suited above the diagonal, offsuit below; the small figure is the bucket", fontsize=9, color=GREY)
    axes.spines[:].set_visible(False)


def _dots(axes: Any, buckets: HandBuckets, hands: HandStrengths, level: int) -> None:
    """Hands by the mean and the spread of their strength in the last round; a sample where they are many."""
    table = buckets.rounds[level].table
    mean, square = (hands.metric(level, name) for name in ("ehs", "ehs2"))
    rng = np.random.default_rng(0)
    at = np.arange(mean.size) if mean.size <= MOST_DOTS else np.sort(rng.choice(mean.size, MOST_DOTS, replace=False))
    x = mean.ravel()[at] / hands.scale(level, "ehs")
    spread = np.sqrt(np.maximum(square.ravel()[at] / hands.scale(level, "ehs2") - x**2, 0.0))
    rows = table if table is not None else buckets._rows(level, slice(0, len(mean)))
    bucket = np.asarray(rows).ravel()[at].astype(np.int64)
    axes.scatter(x, spread, s=7 if len(at) > 500 else 26, c=_colours(bucket, buckets.rounds[level].count), linewidths=0)
    axes.set_xlabel("strength: mean of the chance to win at the end, E[HS]", fontsize=9)
    axes.set_ylabel("potential: its standard deviation", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if mean.size > len(at):
        axes.text(1.0, 1.01, f"{len(at):,} of {mean.size:,} hands on boards", transform=axes.transAxes, ha="right",
                  fontsize=8, color=GREY)  # fmt: skip
