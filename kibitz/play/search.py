"""Search: a strategy until enough of the hand is public, and from there on a solution of what is left.

`Search` asks its *subgames* where play stands: `root(public)` is the public history at which the subgame begins that a
history is in, or None while the strategy itself is played. A subgame is solved once, for the ranges that the strategy
leads to, whatever the seat really holds, and then played from its solution.

    class Subgames:
        def root(self, public) -> tuple[str, ...] | None
        def solve(self, root) -> Solution          # .strategy(view) -> a probability for each action

Games that are laid out have `TreeSubgames`: the subgame is trained, and outside it the strategy is frozen, as in a
static expert [Gibson & Szafron 2011, Def. 3.2] whose part is the subgame. Toepen brings its own, which solves its
last tricks for all hands at once (`kibitz.toepen.search`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kibitz.core.errors import SpecError
from kibitz.evaluate.match import Agent
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of
from kibitz.forms.strategy import Strategy, probabilities_of
from kibitz.games.machine import Machine
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import View, view_of
from kibitz.play.compiled import Compiled
from kibitz.solvers.machines.trees import TreeMachine
from kibitz.solvers.run import solve_through

FLOOR = 0.02  # share of uniform play in the strategy that leads to a subgame, so that nothing in it is unreachable
MOST_HISTORIES = 300_000  # of a game whose public histories are read off its rules


class Solution(Protocol):
    def strategy(self, view: View) -> list[float]: ...


class Subgames(Protocol):
    def root(self, public: Sequence[str]) -> tuple[str, ...] | None: ...
    def solve(self, root: tuple[str, ...]) -> Solution: ...


class Search(Agent):
    """search(PATH, seconds=1, from=0, iterations=0): solve what is left once `from` public words are known.

    from        0: half of the longest public history; iterations, if given, instead of seconds: the same everywhere
    """

    kept = 16  # solutions that are remembered

    def __init__(
        self,
        base: Compiled,
        seconds: float = 1.0,
        from_word: int = 0,
        iterations: int = 0,
        name: str = "search",
        subgames: Subgames | None = None,
    ) -> None:
        if not seconds > 0 or iterations < 0 or from_word < 0:
            raise SpecError("search: seconds are above 0, iterations and from are 0 or more")
        self.base, self.name, self.machine = base, name, base.machine
        self.subgames = TreeSubgames(base, from_word, seconds, iterations) if subgames is None else subgames
        self._kept: OrderedDict[tuple[str, ...], Solution] = OrderedDict()

    def act(self, view: View) -> list[float]:
        root = self.subgames.root(view.public)
        return self.base.act(view) if root is None else self.solved(root).strategy(view)

    def solved(self, root: tuple[str, ...]) -> Solution:
        """The solution of a subgame; it depends on the public history alone."""
        if root not in self._kept:
            self._kept[root] = self.subgames.solve(root)
            while len(self._kept) > self.kept:
                self._kept.popitem(last=False)
        return self._kept[root]


def offered(machine: Machine) -> bool:
    """Whether a game's tree has subgames: it is laid out, small enough, and says what is public."""
    small = isinstance(machine, TreeMachine) and machine.tree.histories <= MOST_HISTORIES
    return small and hasattr(machine.rules, "view")


class TreeSubgames:
    """Subgames of a game that is laid out: all decisions whose public history begins with the same words."""

    def __init__(self, base: Compiled, from_word: int, seconds: float, iterations: int) -> None:
        machine = base.machine
        if not isinstance(machine, TreeMachine) or not offered(machine):
            raise SpecError(f"search needs a game that is laid out and says what is public; {machine.spec} does not")
        self.machine, self.form = machine, form_of(machine.tree)
        self.limit: dict[str, Any] = {"iterations": iterations} if iterations else {"seconds": seconds}
        self.public = public_words(machine)
        longest = max(len(words) for words in self.public)
        self.first = from_word or max(1, longest // 2)
        even = self.form.uniform()
        self.base = (1.0 - FLOOR) * probabilities_of(base, machine.tree.infosets) + FLOOR * even

    def root(self, public: Sequence[str]) -> tuple[str, ...] | None:
        return tuple(public[: self.first]) if len(public) >= self.first else None

    def solve(self, root: tuple[str, ...]) -> TreeSolution:
        moves = np.array([words[: len(root)] == root for words in self.public])
        rows = row_map(self.form, np.arange(len(moves)), moves, self.base)
        return TreeSolution(solve_through(self.machine.tree, "cfr+", rows=rows, **self.limit))


class TreeSolution:
    """A subgame's profile, asked for one decision."""

    def __init__(self, profile: Strategy) -> None:
        self.profile = profile

    def strategy(self, view: View) -> list[float]:
        row: list[float] = self.profile.rows(view.seat, [view.infoset], view.actions)[0].tolist()
        return row


def public_words(machine: TreeMachine) -> list[tuple[str, ...]]:
    """By infoset of the tree: the public history, in the words of the rules."""
    rules, numbers = machine.rules, machine.tree.infosets.number
    public: dict[int, tuple[str, ...]] = {}
    stack, total = [rules.root()], len(machine.tree.infosets.labels)
    while stack and len(public) < total:
        state = stack.pop()
        turn = rules.turn(state)
        if turn == TERMINAL:
            continue
        if turn == CHANCE:
            stack += [rules.after(state, outcome) for outcome, _ in rules.chance(state)]
            continue
        at = numbers[turn][str(rules.infoset(state))]
        if at not in public:
            public[at] = view_of(rules, state, turn).public
        stack += [rules.after(state, action) for action in rules.actions(state)]
    return [public[at] for at in range(total)]
