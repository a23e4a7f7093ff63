"""Chance-sampled CFR as [Zinkevich et al. 2007, Sec. 4] has it, for games of two in which a deal can be drawn first.

An iteration draws the outcomes of chance once, for the whole game, and walks all actions of both seats, which move at
once: both play what their regrets say at its beginning. `mccfr(sampling=chance)` draws anew wherever a walk comes to
chance, and walks once for each seat with a deal of its own, the second seat after the regrets of the first have moved;
it takes any tree. The two have the same expected regrets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.sequence import normalise
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import Tree

Floats = NDArray[np.float64]
ALIKE = 1e-12  # by how much probabilities of an outcome may differ where it is drawn in several histories


class DealCfr:
    """Sampled regrets from a uniform start, average strategy; the same bytes for the same seed.

    frozen       [N] histories whose moves of chance are a base's. They are walked in the proportion of their
                 probabilities, as a seat's are, or with sample=True drawn as cards are
    alternating  a deal is walked for one seat and then, with its new regrets, for the other
    linear       iteration t counts t times in the average
    """

    def __init__(
        self, tree: Tree, seed: int = 0, frozen: NDArray[np.bool_] | None = None, sample: bool = False,
        alternating: bool = False, linear: bool = False,
    ) -> None:  # fmt: skip
        from kibitz.solvers.kernels.deals import Manner, deal_workspace

        if tree.players != 2 or not tree.zero_sum:
            raise SolverError("chance-sampled CFR by deals is for two players and zero-sum games")
        self.tree, self.frozen, self.iteration = tree, frozen, 0
        self.deals = lay_deals(tree, frozen)
        self.regret = np.zeros(int(tree.infosets.first[-1]))
        self.average = np.zeros_like(self.regret)
        self._manner = Manner(sample, alternating, linear)
        self._workspace = deal_workspace(self.deals)
        self._random = np.random.SeedSequence(seed).generate_state(1, np.uint64)

    def step(self, count: int) -> None:
        from kibitz.solvers.kernels.deals import walk_deals

        until = self.iteration + count
        walk_deals(
            self.deals, self.regret, self.average, self._manner, self.iteration, until, self._random, self._workspace
        )
        self.iteration = until

    def probabilities(self) -> Floats:
        """The average strategy by infoset column; a row that was never played to is uniform."""
        return normalise(self.average, self.tree.infosets)


def lay_deals(tree: Tree, frozen: NDArray[np.bool_] | None = None) -> Any:
    """The decisions of each deal in preorder, as `kibitz.solvers.kernels.deals.Deals`."""
    from kibitz.solvers.kernels.deals import CHILD, END, FROZEN, Deals

    base = np.zeros(tree.histories, bool) if frozen is None else frozen
    start, child = tree.children
    leaf = np.cumsum(tree.turn == TERMINAL) - 1
    inner = (tree.turn >= 0) | base
    most = int(np.diff(start)[inner].max(initial=1))
    lines, first, begin = list[list[int]](), [0], [0]
    value, fixed = list[float](), list[float]()

    def following(at: int, level: int, outcome: tuple[int, ...]) -> tuple[int, int]:
        """Past what chance does: the next decision, or the end."""
        while not inner[at] and tree.turn[at] == CHANCE:
            at, level = int(child[start[at] + outcome[level]]), level + 1
        return at, level

    def lay(at: int, level: int, outcome: tuple[int, ...], ends: list[float]) -> int:
        """A decision and all that follows it; its place. Ends are numbered from -1 down until all decisions are."""
        if not inner[at]:
            ends.append(float(tree.payoff[leaf[at], 0]))
            return -len(ends)
        after, place = child[start[at] : start[at + 1]].tolist(), len(lines) - first[-1]
        if base[at]:
            line = [FROZEN, len(after), len(fixed)]
            fixed.extend(tree.chance[after].tolist())
        else:
            line = [int(tree.turn[at]), len(after), int(tree.infosets.first[tree.infoset[at]])]
        line += [0] * (1 + most)
        lines.append(line)
        line[int(CHILD) : int(CHILD) + len(after)] = [
            lay(*following(to, level, outcome), outcome, ends) for to in after
        ]
        line[int(END)] = len(lines) - first[-1]
        return place

    drawn = _outcomes(tree, base)
    for outcome in drawn:
        ends = list[float]()
        lay(*following(0, 0, outcome), outcome, ends)
        many = len(lines) - first[-1]
        for line in lines[first[-1] :]:
            line[int(CHILD) :] = [many - 1 - place if place < 0 else place for place in line[int(CHILD) :]]
        value += [0.0] * many + ends
        first.append(len(lines))
        begin.append(len(value))
    return Deals(
        np.array(first, np.int64), *_alias(np.array(list(drawn.values()))),
        np.array(lines, np.int32).reshape(-1, int(CHILD) + most), np.array(begin[:-1], np.int64), np.array(value),
        np.array(fixed, np.float64),
    )  # fmt: skip


def _outcomes(tree: Tree, base: NDArray[np.bool_]) -> dict[tuple[int, ...], float]:
    """What chance may do in all of a game, with its probability: an outcome for each of its events, in turn.

    Whatever the seats do, the k-th event must have the same outcomes with the same probabilities.
    """
    start, child = tree.children
    whole: dict[tuple[int, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], float, list[int]]] = [((), 1.0, [0])]
    while waiting:
        outcome, probability, open_at = waiting.pop()
        events = []
        while open_at:
            at = open_at.pop()
            if tree.turn[at] == CHANCE and not base[at]:
                events.append(at)
            else:
                open_at += child[start[at] : start[at + 1]].tolist()
        if not events:
            whole[outcome] = probability
            continue
        steps = [tree.chance[child[start[at] : start[at + 1]]] for at in events]
        if any(len(each) != len(steps[0]) or np.abs(each - steps[0]).max() > ALIKE for each in steps):
            raise SolverError("what chance may do depends on what the seats do: a deal cannot be drawn first")
        for k, step in enumerate(steps[0].tolist()):
            if step > 0.0:
                waiting.append(((*outcome, k), probability * step, [int(child[start[at] + k]) for at in events]))
    return dict(sorted(whole.items()))


def _alias(chances: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Walker's table: a cell for each deal, filled up with a part of another, so that all cells are equally likely."""
    share = chances / chances.sum() * len(chances)
    keep, other = np.ones(len(share)), np.arange(len(share))
    small = [k for k in range(len(share)) if share[k] < 1.0]
    large = [k for k in range(len(share)) if share[k] >= 1.0]
    while small and large:
        little, much = small.pop(), large[-1]
        keep[little], other[little] = share[little], much
        share[much] -= 1.0 - share[little]
        if share[much] < 1.0:
            small.append(large.pop())
    return keep, other
