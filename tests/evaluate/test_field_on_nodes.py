"""Crosstables on other machines: the figures of this one, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from elsewhere import Elsewhere

import kibitz
from kibitz.core.executor import executing
from kibitz.evaluate.crosstable import crosstable
from kibitz.evaluate.field_on_nodes import asked_for
from kibitz.evaluate.seatings import Seatings, form_of_all


def field(game, count):
    return {f"p{n}": kibitz.solve(game, "cfr+", iterations=n) for n in range(1, count + 1)}


@pytest.mark.parametrize(("game", "count"), [("leduc", 4), ("kuhn(players=3)", 4), ("kuhn(players=3)", 2)])
def test_a_crosstable(game, count, monkeypatch):
    strategies, pool = field(game, count), Elsewhere()
    here = crosstable(game, strategies)
    with executing(pool), monkeypatch.context() as patch:
        patch.setattr(Seatings, "__getitem__", _known_only)
        there = crosstable(game, strategies)
        assert there.data() == here.data()
    assert pool.calls == [("seated_on_node", pool.calls[0][1])] and pool.calls[0][1] > count


_original = Seatings.__getitem__


def _known_only(self, who):
    """On this machine nothing is left to work out: nodes have the seatings of their own."""
    from kibitz.evaluate import field_on_nodes

    caches = field_on_nodes._plays.cache_info()
    assert who in self._known or caches.currsize, who
    return _original(self, who)


def test_what_is_asked_for():
    class Asked(Seatings):
        def __init__(self):
            self.asked = set()

        def __getitem__(self, who):
            self.asked.add(who)
            return np.zeros(len(who))

    from kibitz.evaluate.crosstable import _entry, _field

    for m, n in ((1, 2), (3, 2), (2, 3), (4, 3)):
        plays = Asked()
        matrix = np.array([[_entry(plays, a, b, n) for b in range(m)] for a in range(m)])
        _field(plays, matrix, range(m), n)
        assert asked_for(m, n) == sorted(plays.asked)


def test_a_game_without_a_name_stays_here():
    from kibitz.games.tree import lay_out

    strategies, pool = field("kuhn", 2), Elsewhere()
    form, profiles = form_of_all(lay_out(kibitz.game("kuhn")), strategies.values())
    with executing(pool):
        crosstable(replace(form, spec=""), dict(zip(strategies, profiles, strict=True)))
    assert not pool.calls
