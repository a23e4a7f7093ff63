"""Dynamic experts and experts of blueprints as nodes solve them: the bytes of this machine."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from elsewhere import Elsewhere
from test_row_experts import TINY

import kibitz
from kibitz.core.executor import executing
from kibitz.core.pieces import size_of
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.blueprints.rows import base_buckets
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers.machines import machine_of
from kibitz.stitch import MaxInfosets, dynamic, static
from kibitz.stitch.nodes import _frozen, _target, _thawed


@pytest.mark.parametrize(("game", "how"), [
    ("leduc", {"iterations": 30}), ("kuhn(players=3)", {"iterations": 12}),
])  # fmt: skip
def test_dynamic_experts(game, how):
    parts = ("prefix(r, cr)", ["JQ.K", "suits", "null"]) if game == "leduc" else ("prefix(b, pb)", ["null"] * 3)
    here, pool = dynamic(game, *parts, **how), Elsewhere()
    with executing(pool):
        there = dynamic(game, *parts, **how)
    assert there == here and there.sha256 == here.sha256 and pool.calls == [("expert_on_node", 1)]


def test_experts_of_a_blueprint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.game").write_text(TINY)
    machine = machine_of("poker(file=tiny.game)", how="rounds")
    base = placed_blueprint(machine, RowPlan((base_buckets(machine, 600),)))
    base.train(iterations=200, threads=1)
    how = {"iterations": 300, "seed": 3, "threads": 1}
    for inside in ("percentile([4, 3], forget=1)", MaxInfosets(2000)):
        here, pool = static(machine.rules, base, "prefix(f, r)", "all", inside, **how), Elsewhere()
        with executing(pool):
            there = static(machine.rules, base, "prefix(f, r)", "all", inside, **how)
        assert there.sha256 == here.sha256 and pool.calls == [("expert_on_node", 2)]


def test_plans_as_plain_values():
    for value in (None, "x", 3, ["a", {"b": [1, 2]}], MaxInfosets(7, 3), {"c": MaxInfosets(9)}):
        plain = _frozen(value)
        hash(plain)
        assert _thawed(plain) == value and type(_thawed(plain)) is type(value)


def mapped(array):
    """Whether an array is a view of a file that is mapped: all processes of a node that have it share its pages."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(getattr(array, "obj", None), mmap.mmap)


@pytest.mark.parametrize("seats", ["each", "all"])
def test_experts_map_their_base(seats):
    """Eight experts on a node have one copy of the base, which is in none of the pieces."""
    base = kibitz.solve("leduc", "cfr+", abstraction="JQ.K", iterations=5)
    parts, pool = "prefix(r, cr, ccr, cccr)", Elsewhere()
    with executing(pool):
        static("leduc", base, parts, seats, inside="suits", iterations=2)
    assert len(pool.pieces) == (8 if seats == "each" else 4)
    assert all(size_of(piece.arguments) < 1000 < base.probabilities.nbytes for piece in pool.pieces)
    (order,) = {piece.arguments[0] for piece in pool.pieces}
    target = _target(order)
    assert mapped(target.base.probabilities) and (target.base.probabilities == base.probabilities).all()
    assert not mapped(base.probabilities)
