"""One suite for every game and every way to walk it: see kibitz/play/conformance.py."""

from __future__ import annotations

from pathlib import Path

import pytest

import kibitz
from kibitz.play import conformance
from kibitz.play.conformance import CHECKS, Subject, run_check
from kibitz.solvers.machines import machine_of

SMALL_TOEPEN = "toepen(suits=2, ranks=3, hand=2)"
EXAMPLES = Path(__file__).parents[2] / "examples"
ROYAL = f"{EXAMPLES / 'royal.py'}:Royal"
TRICKS = f"{EXAMPLES / 'tricks.py'}:Tricks"
# (game, how): trees, compiled rules, and rules in plain Python.
SUBJECTS = [
    ("kuhn", "tree"), ("goofspiel(num_cards=4)", "tree"), ("poker(file=leduc)", "compiled"), ("kuhn", "plain"),
    (ROYAL, "plain"),
]  # fmt: skip
# Each compiles walks of its own, for a minute.
MORE = [
    (SMALL_TOEPEN, "compiled"), (TRICKS, "compiled"),
    ("leduc", "tree"), ("leduc(players=3)", "tree"), ("liars_dice(dice_sides=3)", "tree"),
    ("matrix(payoffs=[[1, -1], [-1, 1]])", "tree"),
    (SMALL_TOEPEN, "tree"), ("rhode_island(ranks=3, suits=2)", "compiled"), ("leduc(players=3)", "plain"),
    (ROYAL, "tree"),
]  # fmt: skip
_MADE: dict[tuple[str, str], Subject] = {}


def subject(game: str, how: str) -> Subject:
    if (game, how) not in _MADE:
        plain = how == "plain"
        _MADE[game, how] = Subject(
            machine_of(game, how), plays=40 if plain else 100, deals=4 if plain else 12, iterations=8 if plain else 40,
            interpreted=1,
        )  # fmt: skip
    return _MADE[game, how]


def marked(game: str, how: str, slow: bool):
    return pytest.param(game, how, marks=[pytest.mark.slow] if slow else [], id=f"{game.rpartition('/')[2]}-{how}")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("game", "how"), [*(marked(*each, False) for each in SUBJECTS), *(marked(*each, True) for each in MORE)]
)
def test_conformance(game, how, check):
    found = run_check(check, subject(game, how))
    assert found.holds is not False, str(found)


class Forgetful:
    """Matching pennies whose infoset shows the other's coin in its actions: two lists for one infoset."""

    players = 2
    spec = "forgetful"

    def root(self):
        return ()

    def turn(self, state):
        return len(state) if len(state) < 2 else kibitz.TERMINAL

    def actions(self, state):
        return ("heads", "tails") if not state or state[0] == "heads" else ("tails", "heads")

    def chance(self, state):
        return []

    def after(self, state, action):
        return (*state, action)

    def infoset(self, state):
        return f"seat {len(state)}"

    def payoff(self, state):
        won = 1.0 if state[0] == state[1] else -1.0
        return [won, -won]

    def view(self, state, seat):
        return ((), state)


def test_the_suite_finds_what_is_broken():
    broken = Subject(machine_of(Forgetful(), "plain"), plays=20, deals=2, iterations=2)
    found = run_check(conformance.infosets_have_the_same_actions, broken)
    assert found.holds is False and "seat 1" in found.detail
    found = run_check(conformance.views_tell_no_secrets, broken)
    assert found.holds is False and "a seat is shown" in found.detail


def test_every_check_of_a_game_is_run():
    findings = list(kibitz.check("kuhn", "plain", plays=10, deals=2, iterations=4, interpreted=1))
    assert len(findings) == len(CHECKS) and all(found.holds is not False for found in findings)
    assert any(found.holds is None for found in findings) and str(findings[0]).startswith("ok")
