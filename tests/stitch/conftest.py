"""Fixtures of all tests of stitching."""

from __future__ import annotations

import pytest
from stitched import LEDUC

import kibitz
from kibitz.games.tree import tree_of


@pytest.fixture(scope="module")
def tree3():
    return tree_of(kibitz.game("leduc(players=3)"))


@pytest.fixture(scope="module")
def jq_k():
    """The equilibrium of JQ.K in Leduc that the programme finds."""
    return kibitz.solve(LEDUC, "lp", abstraction="JQ.K")
