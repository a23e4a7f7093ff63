"""What one player could win in a tournament if the others stay with their strategies: a Markov decision process.

The profile is the same for all players, so one process serves: its states are the values of the tournament, a state and
the seat that the player has in it. It is undiscounted, and a policy under which nobody is ever put out has no unique
value. So the equations are solved for the *minimal* solution: states from which the tournament never ends have
value zero; and a policy keeps what it did last where two actions have the same value [Ganzfried & Sandholm 2009].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.tournaments.fictitious import Engine, best, values_of
from kibitz.poker.tournaments.hand import FOLD, JAM
from kibitz.poker.tournaments.states import Level

Floats = NDArray[np.float64]
PATIENCE = 5_000  # hands that are gone on with before equations are solved directly
EXACT = 1e-13
STILL = 1e-7  # of the first prize


@dataclass
class Induced:
    """The process of one level that strategies of the others induce."""

    level: Level
    engine: Engine
    moments: Any  # of the others' strategies

    def value(self, jams: NDArray[Any], worth: Floats) -> Floats:
        """[states, seats]  the values of a policy. worth: values of all levels, of which those below are used."""
        level = self.level
        chance = self.engine.outcomes(self.moments, jams)  # [states, seats, outcomes]
        link = level.link.transpose(0, 2, 1)
        inside = (link >= level.values.start) & (link < level.values.stop)
        fixed = np.where(inside.transpose(0, 2, 1), 0.0, level.payoffs(worth))
        constant = values_of(chance, fixed).ravel()
        size = level.count * level.players
        row = np.repeat(np.arange(size), chance.shape[-1]).reshape(chance.shape)
        keep = inside & (chance > 0)
        solved = minimal(row[keep], link[keep] - level.first, chance[keep], constant, size)
        return solved.reshape(level.count, level.players)

    def improved(self, jams: NDArray[np.bool_], worth: Floats) -> NDArray[np.bool_]:
        """The policy that is best for one hand, by values of all levels."""
        payoffs = self.level.payoffs(worth)
        return best(self.engine.worth(self.moments, payoffs), self.level.forced, jams)

    def policy_iteration(self, jams: NDArray[Any], worth: Floats, most: int = 100) -> tuple[Floats, NDArray[np.bool_]]:
        """(the values of the best policy, and that policy), from a strategy on. It is over when values stand still:
        hands with the same value either way may change sides for ever, by rounding."""
        values = worth.copy()
        mine, still = self.level.values, STILL * self.level.rules.prizes[0]
        now: Any = jams
        policy = jams >= 0.5
        for step in range(most):
            before = values[mine].copy()
            values[mine] = self.value(now, values).ravel()
            if step > 1 and float((values[mine] - before).max()) <= still:
                break
            now = policy = self.improved(policy, values)
        return values[mine].reshape(-1, self.level.players), policy

    def value_iteration(self, worth: Floats, tolerance: float, most: int = 10_000) -> tuple[Floats, NDArray[np.bool_]]:
        """The same by going over all states again and again, from values that are too low."""
        values, mine, level = worth.copy(), self.level.values, self.level
        policy = np.zeros((level.count, len(level.hand.nodes), 169), bool)
        nobody = self.engine.outcomes(self.moments, policy)[:, -1, 0]  # jams, and the big blind has won
        for _ in range(most):
            payoffs = level.payoffs(values)
            worths = self.engine.worth(self.moments, payoffs)
            policy = best(worths, level.forced, policy)
            after = np.zeros((level.count, level.players))
            after[:, -1] = nobody * payoffs[:, 0, -1]
            chosen = np.where(policy, worths[:, :, JAM], worths[:, :, FOLD]).sum(axis=-1)
            for k, (seat, _) in enumerate(level.hand.nodes):
                after[:, seat] += chosen[:, k]
            moved = float(np.abs(after.ravel() - values[mine]).max())
            values[mine] = after.ravel()
            if moved <= tolerance:
                break
        return values[mine].reshape(-1, level.players), policy


def minimal(row: Any, column: Any, weight: Any, constant: Floats, size: int) -> Floats:
    """The least solution, zero or more, of v = A v + c, for A of rows that sum to one at most."""
    from scipy.sparse import csr_matrix, identity
    from scipy.sparse.linalg import splu

    matrix = csr_matrix((weight, (row, column)), shape=(size, size))
    leaves = np.asarray(matrix.sum(axis=1)).ravel() < 1 - 1e-9
    while True:  # states from which the end can be come to
        more = leaves | (np.asarray(matrix @ leaves.astype(float)).ravel() > 0)
        if (more == leaves).all():
            break
        leaves = more
    solution = np.zeros(size)
    some = np.flatnonzero(leaves)
    inner, gain = matrix[some][:, some], constant[some]
    # Tournaments are short, so going on hand by hand is over soon; where players only wait for each other it is not.
    here, top = gain.copy(), float(np.abs(constant).max(initial=0.0))
    for _ in range(PATIENCE):
        after = inner @ here + gain
        moved = float(np.abs(after - here).max(initial=0.0))
        here = after
        if moved <= EXACT * top:
            break
    else:
        here = splu((identity(len(some)) - inner).tocsc()).solve(gain)
    solution[some] = here
    return solution
