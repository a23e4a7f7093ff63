"""How much a strategy of Toepen can lose in endgames, from below.

Endgames can be answered exactly. One who plays like the strategy until there, and then a best response to it, wins what
`endgame_bound` measures, deal by deal and without the luck of the last tricks: a lower bound on its exploitability.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kibitz.evaluate.score import Score, scored
from kibitz.toepen.agents import ToepenPlayer
from kibitz.toepen.search import Search, spot_of, written
from kibitz.toepen.words import text_of


def endgame_bound(
    target: ToepenPlayer,
    deals: int = 100,
    seed: int = 0,
    threads: int = 1,
    on_deal: Callable[[int], None] | None = None,
) -> Score:
    """What best responses in endgames alone win from a strategy, per hand over both seats; nothing in other hands."""
    from kibitz.toepen.kernels.play import MOST_WORDS, until_trick

    search = Search(target, iterations=1, threads=threads)
    words, space = np.zeros(MOST_WORDS, np.uint64), np.zeros(64, np.uint64)
    won = np.zeros(deals)
    for number in range(deals):
        count, _, _ = until_trick(target.rules, target.player, target.player, seed, number, search.trick, words, space)
        if count >= 0:
            spot, _ = spot_of(target.game, [text_of(int(word)) for word in words[:count]], search.trick)
            endgame = search.endgame(spot)
            ranges = np.stack([search.ranges(spot, endgame, seat) for seat in range(2)])
            plain = written(target, spot, endgame, endgame.rows(), ranges, threads=threads)
            for seat in range(2):
                mass = ranges[seat] * endgame.compatible(ranges[1 - seat])
                best = endgame.respond(plain, seat, ranges[1 - seat]).by_hand
                won[number] += 0.5 * float(mass @ best / mass.sum())  # values of both seats cancel
        if on_deal is not None:
            on_deal(number + 1)
    return scored(deals, float(won.sum()), float((won * won).sum()))
