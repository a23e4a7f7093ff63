"""What solve returns: a profile, and how the run went."""

from __future__ import annotations

import pytest

import kibitz
from kibitz.forms.profile import Profile
from kibitz.solvers import RunOptions
from kibitz.solvers.result import Evaluation, Result


def test_a_result_is_the_profile_and_knows_its_run(tmp_path):
    seen = []
    run = RunOptions(checkpoint=tmp_path / "c", progress=seen.append)
    result = kibitz.solve("kuhn", "cfr+", iterations=50, run=run)
    assert isinstance(result, Profile) and isinstance(result, Result) and kibitz.Result is Result
    assert result.history == seen and isinstance(result.history[0], Evaluation)
    assert result.history[0].iteration == 0 and result.history[-1].iteration == 50
    assert result.nash_conv == result.history[-1].nash_conv == result.meta["nash_conv"]
    assert result.nash_conv == pytest.approx(kibitz.nash_conv("kuhn", result), abs=1e-14)
    assert 0 < result.evaluation_seconds < result.seconds and result.checkpoint == tmp_path / "c"
    assert not result.interrupted and not result.exact and kibitz.solve("kuhn", "lp").exact


def test_a_result_is_used_as_a_profile(tmp_path):
    result = kibitz.solve("kuhn", "cfr+", iterations=50)
    plain = result.profile
    assert type(plain) is Profile and plain == result and hash(plain) == hash(result) and repr(plain) == repr(result)
    result.save(tmp_path / "r.profile")
    plain.save(tmp_path / "p.profile")
    back = kibitz.load(tmp_path / "r.profile")
    assert type(back) is Profile and back == result and back.sha256 == result.sha256
    assert (tmp_path / "r.profile" / "manifest.json").read_text() == (
        tmp_path / "p.profile" / "manifest.json"
    ).read_text()
    assert type(result.rounded()) is Profile and kibitz.solve("kuhn", "br", start=result).exact
    assert kibitz.value("kuhn", result).tolist() == kibitz.value("kuhn", plain).tolist()


def test_an_abstract_run_measures_the_abstract_game():
    result = kibitz.solve("leduc", "cfr+", iterations=20, abstraction="JQ.K")
    assert result.nash_conv == result.meta["abstract_nash_conv"] < kibitz.nash_conv("leduc", result)
    assert "nash_conv" in result.history._repr_html_().lower().replace("nashconv", "nash_conv")


def test_a_run_that_is_never_measured_has_no_history():
    result = kibitz.solve("poker(file=leduc)", "pcs", iterations=5, abstraction="percentile(2)")
    assert result.history == [] and result.nash_conv is None
