"""A strategy with all its endgames solved again: the exact value of solving endgames in real time.

    better = refined(game, profile, 2)               # every endgame from round 2 on, plain
    better = refined(game, profile, 2, safe=True)

For games whose poker form fits: there the whole profile can be measured. At the table only the endgames that come up
are solved (`kibitz.poker.endgames.agents`), from the same ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import compact_form
from kibitz.forms.profile import Profile
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.endgames.endgames import EndgameStrategy, Safe, solved
from kibitz.poker.endgames.subgame import Endgame
from kibitz.poker.exact.deal import DealRound
from kibitz.poker.exact.decisions import Decisions
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.resolve import form_of_profile
from kibitz.poker.rules.rules import Poker
from kibitz.poker.stitching.experts import poker_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TREMBLE = 1e-3  # how often a strategy is thought to do anything else than it does, each action as likely
ITERATIONS = 200


def refined(
    game: Any, profile: Profile, begin: int, *, safe: bool = False, iterations: int = ITERATIONS,
    tremble: float = TREMBLE, on_endgame: Callable[[int, int], None] | None = None, device: str = "cpu",
) -> Profile:  # fmt: skip
    """The profile until round `begin` (counted from 1), and solutions of all endgames from there on.

    Ranges are those of the profile with a tremble: where it never goes there would be none. Of a safe solution both
    seats have one of their own. on_endgame: called with how many are done, and how many there are. device: cpu or gpu.
    """
    rules = poker_of(game)
    form = compact_form(rules)
    if not isinstance(form, PokerForm) or profile.probabilities.shape != (form.columns,):
        raise GameError("the profile must be for the unabstracted game: lift it first")
    if not 2 <= begin <= rules.definition.rounds:
        raise SolverError(f"endgames must start in one of the rounds 2 to {rules.definition.rounds}, not {begin}")
    work = Refinement(rules, form, form.to_strategy(profile.probabilities), begin - 1, tremble)
    strategy, places = work.strategy.copy(), list(work.places())
    for number, (segment, board) in enumerate(places):
        root = work.root(segment, board)
        if safe:
            for seat in (0, 1):
                safely = Safe(seat, work.leaving(root, seat))
                answer = solved(root.endgame, iterations=iterations, safe=safely, device=device)
                work.write(strategy, root, answer, (seat,))
        else:
            work.write(strategy, root, solved(root.endgame, iterations=iterations, device=device), (0, 1))
        if on_endgame is not None:
            on_endgame(number + 1, len(places))
    meta = {"endgames_from": begin, "safe": safe, "iterations": iterations, "tremble": tremble, "base": profile.sha256}
    kept = {name: profile.meta[name] for name in ("game", "tree") if name in profile.meta}
    return Profile(profile.infosets, form.by_column(strategy), {**kept, **meta})


def with_all_hands(game: Any, profile: Profile) -> Profile:
    """A profile of perfect-recall buckets, as one of the game as it is: hands play as their buckets do."""
    rules = poker_of(game)
    form, small = compact_form(rules), form_of_profile(rules, profile)
    if small is None:
        return profile
    assert isinstance(form, PokerForm)
    of_class = hand_buckets(rules.definition, small.abstraction).classes(form.cards)
    weights = form.lift(small, small.to_strategy(profile.probabilities), (of_class, of_class))
    meta = {**profile.meta, "tree": form.tree_digest}
    return Profile(form.infosets, form.to_probabilities(weights), meta)


@dataclass(frozen=True)
class SubgameRoot:
    """An endgame of a whole game: where it begins, and what its hands are there."""

    endgame: Endgame
    segment: int
    board: int
    classes: Ints  # [H]  of its hands, in the whole game
    scale: Floats  # [2]  what its ranges are to be multiplied by, to be reaches of the whole game


class Refinement:
    """A strategy (by sequence) of a whole game, whose endgames begin in the round `level`, counted from 0."""

    def __init__(self, rules: Poker, form: PokerForm, strategy: Floats, level: int, tremble: float) -> None:
        self.rules, self.form, self.strategy, self.level = rules, form, strategy, level
        early = np.zeros(form.sequences, bool)
        for segment in np.flatnonzero(form.levels < level).tolist():
            for seat in (0, 1):
                early[form.sequences_of(seat, segment)] = True
        even = form.to_strategy(form.uniform())
        trembling = np.where(early, (1.0 - tremble) * strategy + tremble * even, strategy)
        self.plan = form.plan(trembling)
        self.before = [Decisions(form, seat).root for seat in (0, 1)]  # the last sequence before a segment, by class
        self.responses = [form.look(seat, trembling) for seat in (0, 1)]
        self.first = {int(nodes[0]): segment for segment, nodes in enumerate(form.segments.node)}

    def places(self) -> Iterator[tuple[int, int]]:
        """(segment, board) of all endgames."""
        for segment in np.flatnonzero(self.form.levels == self.level).tolist():
            if self.rules.betting.turn[self.form.segments.node[segment][0]] >= 0:  # else all are in, and cards come
                yield from ((segment, board) for board in range(len(self.form.cards.rounds[self.level].boards)))

    def root(self, segment: int, board: int) -> SubgameRoot:
        here = self.form.cards.rounds[self.level]
        endgame = Endgame(self.rules, int(self.form.segments.node[segment][0]), here.boards[board].tolist())
        classes = _number(here, board)[tuple(endgame.hands.T)]
        ranges = np.stack([self.plan[before[segment][classes]] for before in self.before])
        scale = ranges.max(axis=1)
        endgame.ranges = ranges / scale[:, None]
        return SubgameRoot(endgame, segment, board, classes, scale)

    def leaving(self, root: SubgameRoot, seat: int) -> Floats:
        """[H]  what hands of the other seat win at most against the strategy from there on, as the endgame counts."""
        whole = self.responses[1 - seat][self.form.root_places(root.segment)][root.classes]
        factor = root.endgame.cards.chance[0] / self.form.cards.chance[self.level]
        return np.asarray(whole * factor / root.scale[seat])

    def write(self, strategy: Floats, root: SubgameRoot, answer: EndgameStrategy, seats: tuple[int, ...]) -> None:
        """Put a solution where it belongs."""
        endgame, form = root.endgame, self.form
        reps = self._reps(endgame, root.board)
        for inside, k, node in endgame.decisions():
            seat = int(form.betting.turn[node])
            if seat in seats:
                own, theirs = reps[int(endgame.levels[inside])]
                there = self.first[int(endgame.segments.node[inside][0]) + endgame.root_node]
                mine = form.sequences_at(seat, there, k)[:, own]
                rows = answer.strategy[endgame.sequences_at(seat, inside, k)[:, theirs]].astype(np.float64)
                strategy[mine] = rows / rows.sum(axis=0)  # single precision adds up to 1 to seven digits only

    def _reps(self, endgame: Endgame, board: int) -> list[tuple[Ints, Ints]]:
        """By round: (classes of the whole game on boards that extend this one, their classes in the endgame)."""
        rounds, boards = [], np.array([board])
        for level in range(self.level, self.form.definition.rounds):
            here = self.form.cards.rounds[level]
            if level > self.level:
                boards = np.flatnonzero(np.isin(here.above, boards))
            own = np.concatenate([np.arange(here.board_class[b], here.board_class[b + 1]) for b in boards])
            inside = endgame.cards.rounds[level - self.level]
            key = {tuple(cards): b for b, cards in enumerate(inside.boards.tolist())}
            theirs = []
            for b in boards.tolist():
                at = key[tuple(here.boards[b].tolist())]
                hands = here.hand[here.board_class[b] : here.board_class[b + 1]]
                theirs.append(_number(inside, at)[tuple(hands.T)])
            rounds.append((own, np.concatenate(theirs)))
        return rounds


def _number(here: DealRound, board: int) -> Ints:
    """[52] or [52, 52]  the class of a hand by its cards, the lower first, on a board; -1 where it meets the board."""
    low, high = here.board_hand[board], here.board_hand[board + 1]
    number = np.full((52,) * here.hands.shape[1], -1, np.int64)
    number[tuple(here.hands[low:high].T)] = here.hand_class[low:high]
    return number
