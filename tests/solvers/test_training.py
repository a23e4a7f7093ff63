"""kibitz.train: what it takes, saves, goes on from and grafts."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import ArtefactError, SolverError
from kibitz.games.tree import tree_of
from kibitz.solvers import RunOptions
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.solvers.new_blueprints import BlueprintOptions

TINY = BlueprintOptions("1MB")
SMALL = "toepen(suits=2, ranks=3, hand=2)"


def test_train_saves_and_goes_on(tmp_path):
    whole = kibitz.train("kuhn", iterations=1200, threads=1, seed=4, options=TINY)
    part = kibitz.train("kuhn", iterations=500, threads=1, seed=4, options=TINY, run=RunOptions(tmp_path / "b"))
    again = kibitz.train(run=RunOptions(tmp_path / "b", resume=True), iterations=1200, threads=1)
    assert part.iteration == 500 and again.sha256 == whole.sha256 == kibitz.load(tmp_path / "b").sha256
    with pytest.raises(ArtefactError, match="holds a strategy already"):
        kibitz.train("kuhn", iterations=5, options=TINY, run=RunOptions(tmp_path / "b"))
    for wrong in ({}, {"game": "kuhn"}, {"game": "kuhn", "iterations": 5, "options": BlueprintOptions("much")}):
        with pytest.raises(SolverError):
            kibitz.train(**wrong)


def test_ctrl_c_raises_after_saving(tmp_path):
    def interrupt(now):
        if now.iteration > 100:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(kibitz.Interrupted, match="saved in") as stop:
        run = RunOptions(tmp_path / "b", progress=interrupt)
        kibitz.train("kuhn", iterations=10**9, options=TINY, threads=1, run=run)
    assert isinstance(stop.value.profile, Blueprint)
    assert kibitz.load(stop.value.saved).iteration == stop.value.profile.iteration > 100


def test_a_graft_is_saved_with_its_base_and_is_no_worse_in_its_part(tmp_path):
    """A coarse base of Toepen, and a fine expert for the last trick."""
    base = kibitz.train(SMALL, abstraction="naive", iterations=3000, threads=1, options=TINY)
    graft = kibitz.train(
        SMALL, abstraction="null", base=base, part="trick 1", iterations=20_000, threads=1,
        options=BlueprintOptions("2MB"), run=RunOptions(tmp_path / "g"),
    )  # fmt: skip
    held = kibitz.load(tmp_path / "g")
    assert held.sha256 == graft.sha256 and held.base is not None and held.base.sha256 == base.sha256
    tree = tree_of(kibitz.game(SMALL))
    coarse, fine = (blueprint_profile(each, tree) for each in (base, held))
    assert kibitz.nash_conv(tree, fine) < kibitz.nash_conv(tree, coarse)
    outside = held.machine.parts_at(tree.infosets)[tree.infosets.row_of_column] != held.part
    assert outside.any() and np.array_equal(fine.probabilities[outside], coarse.probabilities[outside])
    on = kibitz.train(run=RunOptions(tmp_path / "g", resume=True), iterations=20_100, threads=1)
    assert on.base is not None and on.part == held.part
    with pytest.raises(SolverError, match="needs both"):
        Blueprint.empty(SMALL, base=base)
    with pytest.raises(kibitz.KibitzError, match="trick"):
        kibitz.train(SMALL, base=base, part="trick 9", iterations=1, options=TINY)


def test_names_at_the_table():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = kibitz.train("leduc", iterations=2000, threads=1, options=BlueprintOptions("5MB"))
        result = kibitz.match("leduc", made, "uniform", deals=2000)
    assert result.mean > 0 and "blueprint wins" in repr(result) and "<table>" in result._repr_html_()
    assert kibitz.agent(made, "leduc").name == "blueprint"
    with pytest.raises(kibitz.KibitzError, match="has 2 seats"):
        kibitz.match("leduc", made)
    with pytest.raises(kibitz.KibitzError, match="no rule of thumb"):
        kibitz.match("leduc", made, "rule")
    search = kibitz.play.agents.agent(made, "leduc")
    from kibitz.play.search import Search

    found = kibitz.match("leduc", Search(search, iterations=50), made, deals=3)
    assert found.deals == 3
