"""Solutions of tournaments on disk, and what they say of one state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, KibitzError
from kibitz.poker.tournaments.equilibrium import ALGORITHMS, Step, TournamentSolution, engine_of
from kibitz.poker.tournaments.fictitious import JamFoldPlay
from kibitz.poker.tournaments.fresh import epsilon_of
from kibitz.poker.tournaments.single import PushFold, charts_of
from kibitz.poker.tournaments.states import Tournament, tournament

KIND = "tournament"
AnyPath = str | os.PathLike[str]


def save(solution: TournamentSolution, path: AnyPath) -> None:
    """Write a solution, or how far it is."""
    arrays: dict[str, Any] = {f"jams{k}": jams for k, jams in enumerate(solution.jams)}
    meta = {
        "tournament": str(solution.rules), "algorithm": solution.algorithm, "tolerance": solution.tolerance,
        "done": solution.done, "deals": solution.deals,
        "steps": [[s.players, s.iteration, s.change, s.active, s.seconds] for s in solution.steps],
    }  # fmt: skip
    store.save(
        path, KIND, {**arrays, "worth": solution.worth}, meta, lambda old: old.get("tournament") == str(solution.rules)
    )


def load(path: AnyPath) -> TournamentSolution:
    artefact = store.load(path, KIND)
    meta, arrays = artefact.meta, artefact.arrays
    try:
        rules = tournament(str(meta["tournament"]))
        steps = [Step(int(p), int(i), float(c), int(a), float(s)) for p, i, c, a, s in meta["steps"]]
        solution = TournamentSolution(
            rules, str(meta["algorithm"]), float(meta["tolerance"]), int(meta["deals"]), [], arrays["worth"], steps,
            int(meta["done"]),
        )  # fmt: skip
        for k, level in enumerate(rules.levels):
            if f"jams{k}" in arrays:
                solution.jams.append(arrays[f"jams{k}"])
                if solution.jams[-1].shape != (level.count, len(level.hand.nodes), 169):
                    raise ValueError
        good = solution.algorithm in ALGORITHMS and solution.done <= len(solution.jams)
        good = good and solution.worth.shape == (rules.size,)
    except (KeyError, TypeError, ValueError, KibitzError):
        good = False
    if not good:
        raise ArtefactError(f"{path} is damaged: it does not hold what a tournament needs")
    return solution


def at_state(solution: TournamentSolution, stacks: Sequence[Any], path: Path | None = None) -> PushFold:
    """What a solved tournament plays at some stacks, in chips, in the order of acting."""
    rules = solution.rules
    chips = [_chips(rules, each) for each in stacks]
    if not 2 <= len(chips) <= rules.players:
        raise GameError(f"{len(chips)} stacks: {rules} is for 2 to {rules.players} players")
    number = len(chips) - 2
    if solution.done <= number:
        raise GameError(f"{path or 'this solution'} is not done for {len(chips)} players yet: go on with solving it")
    level = rules.levels[number]
    state = int(level.number(chips))
    engine = engine_of(level.players, solution.deals)
    play = JamFoldPlay(engine, level.forced[[state]], solution.jams[number][[state]])
    payoffs = level.payoffs(solution.worth)[[state]]
    played = play.run(payoffs, 0)
    before = rules.icm[level.values].reshape(-1, level.players)[state]
    unit = rules.unit
    return PushFold(
        level.hand, tuple(float(c * unit) for c in chips), (float(rules.small * unit), float(rules.big * unit)),
        float(rules.ante * unit), rules.prizes[: level.players], charts_of(play, payoffs),
        tuple(played.values[0].tolist()), tuple(before.tolist()),
        epsilon_of(engine, play.jams, payoffs, play.forced), len(solution.steps),
    )  # fmt: skip


def _chips(rules: Tournament, stack: Any) -> int:
    try:
        chips = float(stack)
    except (TypeError, ValueError):
        raise GameError(f"a stack should be a number of chips, not {stack!r}") from None
    if chips <= 0 or chips % rules.unit or not np.isfinite(chips):
        raise GameError(f"a stack of {stack} should be a multiple of {rules.unit} chips, above zero")
    return int(chips) // rules.unit
