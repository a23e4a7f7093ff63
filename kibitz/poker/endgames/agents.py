"""Search in two-player poker: play a strategy, and from some round on solve endgames when they are reached.

    search(PATH)                          the last round, for a second each
    search(PATH, from=3, seconds=2)       from the third round on
    search(PATH, safe=true)               so that nobody can win more from it than from the strategy itself
    search(PATH, from=3, device=gpu)      by a GPU: the turn and the river of hold'em in a fraction of a second

When the round begins the ranges of both seats follow from the strategy by Bayes' rule: how likely a seat does all that
it did, by the hand that it holds. The strategy is thought to tremble: with TREMBLE it does anything, each action as
likely. So no history is impossible, and where the strategy never goes ranges are those of whoever trembles there least.
The endgame is solved with all hands (`endgames.py`), once for both seats or, where it is safe, for each, and
then played from its solution; what was solved does not depend on the cards that one holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SpecError
from kibitz.core.gpu import require
from kibitz.evaluate.match import chosen, draws
from kibitz.evaluate.score import Score, scored
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import View, view_of
from kibitz.play.compiled import Compiled
from kibitz.play.search import Search
from kibitz.poker.endgames.endgames import EndgameStrategy, Safe, solved
from kibitz.poker.endgames.hand_rows import HandRows
from kibitz.poker.endgames.subgame import Endgame, betting_below
from kibitz.poker.rules import betting
from kibitz.poker.rules.cards import cards_of
from kibitz.poker.rules.rules import Poker

Floats = NDArray[np.float64]
TREMBLE = 1e-3
MOST_SEQUENCES = 20_000_000  # of an endgame: the turn and the river of hold'em have 12 million


class PokerSearch(Search):
    """search(PATH, seconds=1, from=0, iterations=0, safe=false, device=cpu): solve what is left once a round begins.

    from        the round, counted from 1; 0: the last. iterations, if given, instead of seconds: the same everywhere
    safe        the opponent may leave every endgame at what its hand wins from the strategy
    device      gpu: endgames are solved on a GPU
    """

    kept = 64

    def __init__(
        self,
        base: Compiled,
        seconds: float = 1.0,
        from_round: int = 0,
        iterations: int = 0,
        safe: bool = False,
        name: str = "search",
        device: str = "cpu",
    ) -> None:
        subgames = PokerSubgames(base, from_round, seconds, iterations, safe, device)
        super().__init__(base, seconds, 0, iterations, name, subgames)


class PokerSubgames:
    """Where endgames begin, and their solutions."""

    def __init__(
        self, base: Compiled, from_round: int, seconds: float, iterations: int, safe: bool, device: str = "cpu"
    ) -> None:
        require(device)
        rules = base.machine.rules
        if not isinstance(rules, Poker) or rules.players != 2 or rules.definition.hole > 2:
            raise SpecError("search supports two-player poker with hands of one or two cards")
        last = rules.definition.rounds
        begin = from_round or last
        if not 2 <= begin <= last:
            raise SpecError(f"search: from is a round, 2 to {last}, not {from_round}")
        if not isinstance(safe, bool):
            raise SpecError("search: safe must be true or false")
        self.rules, self.base, self.hand_rows, self.level = rules, base, HandRows(base), begin - 1
        self.limit: dict[str, Any] = {"iterations": iterations} if iterations else {"seconds": seconds}
        self.limit["device"] = device
        self.safe = safe
        self._check_size()

    def _check_size(self) -> None:
        d, tree = self.rules.definition, self.rules.betting
        left, boards, most = d.ranks * d.suits - sum(d.board[: self.level + 1]), 1, 0
        node = next(k for k in range(len(tree)) if tree.round[k] == self.level and tree.turn[k] >= 0)
        below = betting_below(tree, node)
        for level in range(self.level, d.rounds):
            if level > self.level:
                boards *= comb(left, d.board[level])
                left -= d.board[level]
            most += boards * comb(left, d.hole) * int(below.widths[below.round == level - self.level].sum())
        if most > MOST_SEQUENCES:
            raise SpecError(
                f"search: from={self.level + 1} has endgames of about {most:,} sequences; the limit during play is "
                f"{MOST_SEQUENCES:,}. Start in a later round"
            )

    def root(self, public: Sequence[str]) -> tuple[str, ...] | None:
        """The public history up to the cards of the round; a round without cards begins after what ended the last."""
        begun = self.begun(public)
        return None if begun is None else tuple(public[: begun[0]])

    def begun(self, public: Sequence[str]) -> tuple[int, str, list[tuple[int, ...]]] | None:
        """(words before the round begins, the betting in them in letters, their cards by round) of a public history;
        None if it does not come to the round."""
        definition = self.rules.definition
        board: list[tuple[int, ...]] = [()] * definition.rounds
        bets, at, done = betting.start(definition), 0, ""
        while True:
            while bets.turn == CHANCE:
                if definition.board[bets.round]:
                    if at == len(public):
                        return None
                    board[bets.round], at = tuple(cards_of(public[at])), at + 1
                done += "/" * (bets.round > 0)
                bets = betting.deal(definition, bets)
            if bets.turn != TERMINAL and bets.round == self.level:
                return at, done, board
            if bets.turn == TERMINAL or at == len(public):
                return None
            bets, done, at = betting.act(definition, bets, public[at]), done + betting.letters(public[at]), at + 1

    def solve(self, root: tuple[str, ...]) -> PokerSolution:
        return PokerSolution(self, root)

    # What the strategy leads to

    def ranges(self, node: int, board: list[tuple[int, ...]], hands: NDArray[np.uint8]) -> Floats:
        """[2, H]  how likely each seat does what it did, by hand, up to a factor: the likeliest has 1."""
        tree = self.rules.betting
        reach, text = np.ones((2, len(hands))), tree.text
        while tree.parent[node] >= 0:
            above = int(tree.parent[node])
            seat = int(tree.turn[above])
            if seat >= 0:
                shown = tuple(card for cards in board[: int(tree.round[above]) + 1] for card in cards)
                played = self.hand_rows.on_board(seat, text[above], shown, hands)
                reach[seat] *= (1.0 - TREMBLE) * played[:, int(tree.action[node])] + TREMBLE / played.shape[1]
            node = above
        return np.asarray(reach / reach.max(axis=1, keepdims=True))

    def within(self, endgame: Endgame, seat: int) -> Floats:
        """The strategy of a seat from the endgame on, by sequence; the other's is uniform."""
        strategy, text = np.ones(endgame.sequences), self.rules.betting.text
        for segment, k, node in endgame.decisions():
            if self.rules.betting.turn[node] == seat:
                here = endgame.cards.rounds[int(endgame.levels[segment])]
                rows = self.hand_rows.rows(seat, text[node], here.boards[here.board_of_class], here.hand)
                strategy[endgame.sequences_at(seat, segment, k)] = rows.T
        endgame._normalise(strategy, strategy)
        return strategy


class PokerSolution:
    """An endgame, solved for the seat that asks, or for both."""

    def __init__(self, of: PokerSubgames, root: tuple[str, ...]) -> None:
        self.of = of
        begun = of.begun(root)
        assert begun is not None
        _, self.done, self.board = begun
        self._solved: dict[int, EndgameStrategy] = {}

    @cached_property
    def endgame(self) -> Endgame:
        rules = self.of.rules
        node = rules.betting.text.index(self.done)
        while rules.betting.turn[node] < 0:  # the text of a node where cards come is that of the next
            node += 1
        shown = [card for cards in self.board[: self.of.level + 1] for card in cards]
        endgame = Endgame(rules, node, shown)
        endgame.ranges = self.of.ranges(node, self.board, endgame.hands)
        return endgame

    @cached_property
    def _nodes(self) -> dict[str, int]:
        text = self.of.rules.betting.text
        return {text[node]: node for _, _, node in self.endgame.decisions()}

    def solution(self, seat: int) -> EndgameStrategy:
        key = seat if self.of.safe else 0
        if key not in self._solved:
            safe = None
            if self.of.safe:
                own = self.of.within(self.endgame, seat)
                safe = Safe(seat, self.endgame.response(1 - seat, own))
            self._solved[key] = solved(self.endgame, safe=safe, **self.of.limit)
        return self._solved[key]

    def strategy(self, view: View) -> list[float]:
        cards, _, done = view.infoset.partition(":")
        hand, *board = (cards_of(word) for word in cards.split(" "))
        node = self._nodes[done]
        shown = [card for cards in board for card in cards]
        first = [card for cards in self.board[: self.of.level + 1] for card in cards]
        row = self.solution(view.seat).row(view.seat, node, [*first, *shown[len(first) :]], hand)
        return list(map(float, row / row.sum()))


# Its value


@dataclass(frozen=True)
class PokerSearchGain:
    """What search wins against its own blueprint, in chips per hand."""

    score: Score
    endgames: int  # that hands came to
    seconds: float  # of solving, in all


def gain(search: PokerSearch, hands: int, seed: int = 0) -> PokerSearchGain:
    """What search wins from its own strategy, the luck of cards left out.

    Hands are played by the strategy alone until an endgame begins. There all hands that both may hold are weighed: what
    either seat wins with its solution against the strategy, less what it would win with the strategy. A match between
    the two has the same mean, up to the tremble.
    """
    of, base = search.subgames, search.base
    assert isinstance(of, PokerSubgames)
    rules, machine, won, endgames, seconds = of.rules, base.machine, list[float](), 0, 0.0
    for number in range(hands):
        hand = machine.hand(seed, number)
        state, numbers, root = hand.start(), draws(hand.after), None
        while root is None and (turn := rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = hand.draw(state)
                continue
            view = view_of(rules, state, turn)
            root = of.root(view.public)
            if root is None:
                state = rules.after(state, view.choices[chosen(base.act(view), next(numbers))])
        if root is None:
            won.append(0.0)
            continue
        endgames += 1
        solution = of.solve(root)
        endgame, cut = solution.endgame, solution.endgame.seat_sequence
        before = np.empty(endgame.sequences)
        for seat in (0, 1):
            before[cut[seat] : cut[seat + 1]] = of.within(endgame, seat)[cut[seat] : cut[seat + 1]]
        value, gained = endgame.measure_weights(before).value, 0.0
        for seat in (0, 1):
            answer, after = solution.solution(seat), before.copy()
            seconds += answer.seconds / (1 if of.safe else 2)
            after[cut[seat] : cut[seat + 1]] = answer.strategy[cut[seat] : cut[seat + 1]]
            gained += float(endgame.measure_weights(after).value[seat] - value[seat]) / 2
        won.append(gained / endgame.mass)
    return PokerSearchGain(scored(hands, sum(won), sum(each * each for each in won)), endgames, seconds)


AGENTS = {"search": (PokerSearch, "the strategy, and from a round on solutions of what is left, with all hands")}
