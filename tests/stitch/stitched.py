"""Games, random profiles and comparisons for tests of stitching."""

from __future__ import annotations

import naive
import numpy as np

import kibitz
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import normalise

KUHN, KUHN3 = kibitz.game("kuhn"), kibitz.game("kuhn(players=3)")
LEDUC, PLAIN = kibitz.game("leduc"), kibitz.game("leduc(suit_isomorphism=true)")
PREFIXES = "prefix(r,cr,ccr,cccr)"
PREFIXES3 = "prefix(r,cr,ccr,cccr,ccccr,cccccr)"


def keys_of(infosets):
    return [
        (seat, infosets.labels[i])
        for seat in range(infosets.seats)
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1])
    ]


def parts_of(found):
    """A Partition as {key: part}."""
    return dict(zip(keys_of(found.infosets), found.part.tolist(), strict=True))


def from_dict(plain):
    """{key: anything} as a function (seat, infoset), for `partition` and `abstraction`."""
    return lambda seat, infoset: plain[seat, infoset]


def random_profile(tree, rng, pure=0.0):
    """A random profile; a share of its rows plays one action only."""
    weights, first = rng.random(int(tree.infosets.first[-1])), tree.infosets.first
    for i in np.flatnonzero(rng.random(len(first) - 1) < pure):
        weights[first[i] : first[i + 1]] = np.eye(int(first[i + 1] - first[i]))[rng.integers(first[i + 1] - first[i])]
    return Profile(tree.infosets, normalise(weights, tree.infosets), {"tree": tree.digest, "abstraction": "null"})


def same(one, other):
    return one.probabilities.tobytes() == other.probabilities.tobytes()


def close(profile, plain, tolerance=1e-9):
    """A Profile against a naive one."""
    found = naive.as_dict(profile)
    assert found.keys() == plain.keys()
    worst = max((abs(found[key][a] - p) for key, row in plain.items() for a, p in row.items()), default=0.0)
    assert worst <= tolerance, worst


def kuhn_buckets(game, groups):
    """key -> bucket of Kuhn poker from the cards."""
    found, ranks = {}, "JQKA"
    for _, state in naive.walk(game):
        if game.turn(state) >= 0:
            rank = ranks[state.cards[game.turn(state)]]
            found[game.turn(state), game.infoset(state)] = (next(g for g in groups if rank in g), state.done)
    return found.__getitem__
