"""kibitz sweep: values of options, results in order, and runs that continue."""

from __future__ import annotations

import json

import pytest

from kibitz.cli.sweep import figures, options_of, values_of, words_of
from kibitz.core.errors import KibitzError, SpecError


def test_values():
    assert values_of("--seed", "3..6") == ["3", "4", "5", "6"]
    assert values_of("--until", "1e-2, 1e-3") == ["1e-2", "1e-3"]
    assert values_of("--solver", "cfr+,mccfr(sampling=chance,x=[1,2])") == ["cfr+", "mccfr(sampling=chance,x=[1,2])"]


@pytest.mark.parametrize(
    "words", [[], ["--seed"], ["seed", "1"], ["--seed", "5..1"], ["--seed", "1,,2"], ["--a", "1", "--a", "2"],
              ["--a", "0..9999", "--b", "0..99"]],
)  # fmt: skip
def test_other_words_are_refused(words):
    with pytest.raises(KibitzError):
        options_of(words)


def test_options_stand_in_the_command():
    assert words_of("solve 'leduc' --out {seed}-{solver}", {"seed": "3", "solver": "lp"}) == (
        "solve", "leduc", "--out", "3-lp", "--seed", "3", "--solver", "lp", "--json",
    )  # fmt: skip
    for command in ("", "sweep x", "'a"):
        with pytest.raises(SpecError):
            words_of(command, {"seed": "1"})


def test_figures_that_differ_and_their_means():
    results = [{"options": {"seed": str(k)}, "result": {"gap": k / 2, "same": 1, "text": "x"}} for k in range(3)]
    assert figures(results) == (["seed", "gap"], [("0", "0"), ("1", "0.5"), ("2", "1"), ("mean", "0.5")])


def test_runs_are_kept_and_continue(call, tmp_path):
    words = ["sweep", "solve kuhn --solver mccfr", "--iterations", "50,100", "--seed=0..1", "--json", "--out", "kept"]
    code, out, err = call(*words)
    assert code == 0, err
    data = json.loads(out)
    assert [run["options"] for run in data["runs"]] == [
        {"iterations": n, "seed": s} for n in ("50", "100") for s in ("0", "1")
    ]
    assert [run["result"]["iterations"] for run in data["runs"]] == [50, 50, 100, 100]
    again = json.loads(call(*words)[1])
    assert again["runs"] == data["runs"] and again["done_before"] == 4


def test_a_run_that_is_refused_is_named(call):
    code, _, err = call("sweep", "solve nothing", "--seed", "0..1")
    assert code == 2 and "kibitz solve nothing --seed" in err
