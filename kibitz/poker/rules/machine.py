"""Poker as a machine: the betting tree as arrays, and what a seat sees of the cards as hashes of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.spec import unknown
from kibitz.games.machine import Hand, Machine, RowKeys, Words
from kibitz.games.protocol import CHANCE, TERMINAL, Game
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.rules.cards import Cards, cards_of, text_of
from kibitz.poker.rules.rounds import EXIT, HALF, Rounds
from kibitz.poker.rules.rows import RowLayout, RowPlan
from kibitz.poker.rules.views import bucket_view, dealt_view, mixed_view, plain_view

if TYPE_CHECKING:
    from kibitz.poker.rules.kernels.buckets import PokerView
    from kibitz.poker.rules.kernels.machine import PokerGame

Ints = NDArray[np.int64]
WORDS = 8  # of a state
LOWER = (1 << HALF) - 1
ABOUT = {
    "isomorphic": "suits, up to isomorphism; lossless",
    "ranks": "suits",
    "null": "nothing is merged",
}
DIGEST = "buckets_digest"  # a view of buckets is saved by the name that makes them again, and by their fingerprint
VIEWS_HELD = 4  # views of buckets that a machine keeps: hold'em's take some 200 MB


class PokerMachine(Machine):
    """Poker by a definition, for any number of seats."""

    words = WORDS
    changing = 1  # the betting
    default = "isomorphic"
    abstractions = ABOUT

    def __init__(self, rules: Game, betting: BettingTree | Rounds) -> None:
        from kibitz.poker.rules.kernels.machine import duel, train

        self.rules, self.betting, self.definition = rules, betting, betting.definition
        self.train, self.duel = train, duel
        self.by_rounds = isinstance(betting, Rounds)
        self.game, self.depth = game_of(betting)
        self.actions = max([1, *map(len, betting.actions)])
        self._views: dict[str, RowKeys] = {}  # of buckets, by fingerprint
        self.parts = [f"round {k}" for k in range(1, self.definition.rounds + 1)]

    def view(self, abstraction: Any = "isomorphic", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        """By name: one of `abstractions`, or buckets of hands as percentile(8); also the folder of saved buckets.

        Blueprints name buckets by the spec that makes them again and by their fingerprint, whatever they came from.
        """
        from kibitz.poker.rules.kernels.machine import NAMES

        if isinstance(abstraction, str) and abstraction in NAMES:
            return RowKeys(abstraction, plain_view(NAMES[abstraction]))
        from kibitz.poker.buckets.buckets import NAMES as BUCKETS
        from kibitz.poker.buckets.buckets import hand_buckets, is_bucket_name

        if hasattr(abstraction, "of_node"):  # a layout of several views
            return self._mixed(abstraction)
        makers = *BUCKETS, "gameshrink"
        named = isinstance(abstraction, str) and abstraction.partition("(")[0].strip() in makers
        if not named and (arrays is not None or not is_bucket_name(abstraction)):  # a file may not name a path
            raise unknown(f"abstraction of {self.spec}", str(abstraction), [*self.abstractions, *makers])
        buckets = hand_buckets(self.definition, abstraction)
        if not named:
            self._check_again(buckets)
        if arrays is not None and bytes(arrays.get(DIGEST, b"")).hex() != buckets.digest:
            raise GameError(f"{buckets.name} now makes other buckets than those of the training")
        if buckets.digest not in self._views:
            while len(self._views) >= VIEWS_HELD:
                self._views.pop(next(iter(self._views)))
            fingerprint = np.frombuffer(bytes.fromhex(buckets.digest), np.uint8)
            self._views[buckets.digest] = RowKeys(buckets.name, bucket_view(buckets), {DIGEST: fingerprint})
        return self._views[buckets.digest]

    def dealt(self, keys: PokerView) -> Any:
        return dealt_view(keys, self.game)

    def row_view(self, rows: RowPlan, digests: Sequence[str] | None = None) -> tuple[RowLayout, RowKeys]:
        """Rows that lie where their place and bucket say. digests: of the buckets that they were trained within."""
        from kibitz.poker.buckets.buckets import hand_buckets

        if not isinstance(self.betting, Rounds):
            raise GameError(f"{self.spec} has a betting tree, but rows by place need betting by rounds")
        every = [hand_buckets(self.definition, name) if name else None for name in rows.buckets]
        now = ["" if buckets is None else buckets.digest for buckets in every]
        if digests is not None and now != list(digests):
            changed = next(name for name, a, b in zip(rows.buckets, now, digests, strict=False) if a != b)
            raise GameError(f"{changed} now makes other buckets than those of the training")
        layout = RowLayout(self.betting, rows, [None if buckets is None else buckets.counts for buckets in every])
        present = [buckets for buckets in every if buckets is not None]
        number = np.cumsum([buckets is not None for buckets in every]) - 1
        keys = mixed_view(present, np.maximum(number, 0)[layout.part], layout.column)
        named = [name for name in rows.buckets if name]
        name = named[0] if len(named) == 1 else ", ".join(
            f"{part or 'elsewhere'}: {name}" for part, name in zip(("", *rows.parts), rows.buckets, strict=True) if name
        )  # fmt: skip
        return layout, RowKeys(name, keys, {DIGEST: np.frombuffer(bytes.fromhex("".join(now)), np.uint8)})

    def _mixed(self, layout: Any) -> RowKeys:
        """Buckets that change from node to node of the betting."""
        from kibitz.poker.buckets.buckets import hand_buckets

        every = [hand_buckets(self.definition, view.name) for view in layout.views]
        for view, buckets in zip(layout.views, every, strict=True):
            if view.digest != buckets.digest:
                raise GameError(
                    f"the profile was solved with other buckets than {view.name} makes now: solve it again"
                )
        return RowKeys(layout.abstraction, mixed_view(every, layout.of_node))

    def _check_again(self, buckets: Any) -> None:
        """Refuse buckets that their name does not make again: a saved strategy could not be read."""
        from kibitz.poker.buckets.buckets import NAMES as BUCKETS
        from kibitz.poker.buckets.buckets import hand_buckets

        name = buckets.name
        if name.partition("(")[0].strip() not in (*BUCKETS, "gameshrink"):
            raise GameError(f"the buckets {name!r} cannot be rebuilt from their name: choose {', '.join(BUCKETS)}")
        if hand_buckets(self.definition, name).digest != buckets.digest:
            raise GameError(f"the buckets differ from those that {name} makes now, so a saved strategy could not be "
                            "loaded")

    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        from kibitz.poker.rules.kernels.machine import keys

        states = np.zeros((len(infosets), WORDS), np.uint64)
        dealt: dict[tuple[str, int], Words] = {}
        for i, text in enumerate(infosets):
            cards, _, done = str(text).partition(":")
            node = self.node_of(seat, done, str(text))
            level = int(self.betting.round[node & LOWER])
            if (cards, level) not in dealt:
                dealt[cards, level] = self._dealt(seat, level, cards, str(text))
            states[i] = dealt[cards, level]
            states[i, 0] = node
        of_row = np.zeros(len(states), np.uint64)
        keys(self.game, view.keys, states, of_row)
        return of_row

    def part_of(self, seat: int, infoset: str) -> int:
        """The betting round."""
        return int(self.betting.round[self.node_of(seat, infoset.partition(":")[2], infoset) & LOWER])

    def hand(self, seed: int, number: int) -> Hand:
        return PokerHand(self.rules, self.definition, seed, number)

    def states(self, board: NDArray[np.uint8], hands: NDArray[np.uint8], seat: int = 0) -> Words:
        """States in which a seat holds some cards and the board has some, and all others are left open.

        board: [N, cards so far]; hands: [N, private cards].
        """
        states = np.zeros((len(hands), WORDS), np.uint64)
        for first, cards in ((0, board), (sum(self.definition.board) + seat * self.definition.hole, hands)):
            for k in range(cards.shape[1]):
                word, place = divmod(first + k, 10)
                states[:, 1 + word] |= cards[:, k].astype(np.uint64) << np.uint64(6 * place)
        return states

    def _dealt(self, seat: int, level: int, text: str, infoset: str) -> Words:
        """The words of the cards that an infoset names."""
        try:
            groups = [cards_of(word) for word in text.split(" ")]
        except KeyError:
            groups = []
        sizes = [self.definition.hole, *(count for count in self.definition.board[: level + 1] if count)]
        cards: Cards = tuple(card for group in groups for card in group)
        if [len(group) for group in groups] != sizes or len({*cards} & {*self.definition.deck}) < sum(sizes):
            names = " and ".join(str(size) for size in sizes)
            raise GameError(f"{infoset!r} is not an infoset of {self.spec}: it should have groups of {names} cards")
        every = np.array(cards, np.uint8)[None]
        return np.asarray(self.states(every[:, self.definition.hole :], every[:, : self.definition.hole], seat)[0])

    def node_of(self, seat: int, done: str, infoset: str = "") -> int:
        """The betting node at which a seat acts after some betting, as a word; infoset: where that was read."""
        try:
            node = self.betting.word(done) if isinstance(self.betting, Rounds) else self._nodes[done]
        except KeyError:
            node = -1
        if node < 0 or self.betting.turn[node & LOWER] != seat:
            what = infoset or done
            raise GameError(f"{what!r} is not an infoset of seat {seat} in {self.spec}: that player does not act "
                            f"after {done!r}")
        return node

    @property
    def _nodes(self) -> dict[str, int]:
        """Betting nodes of a tree by their text."""
        if not hasattr(self, "_by_text"):
            assert isinstance(self.betting, BettingTree)
            text = self.betting.text
            self._by_text = {text[node]: node for node in np.flatnonzero(self.betting.turn >= 0).tolist()}
        return self._by_text


class PokerHand(Hand):
    """A deal: all cards are drawn at its beginning, the board's before the seats', as the compiled rules draw them."""

    def __init__(self, rules: Game, definition: Definition, seed: int, number: int) -> None:
        self.definition = definition
        super().__init__(rules, seed, number)

    def begin(self) -> Any:
        definition, state = self.definition, self.rules.root()
        deck, self.cards = definition.deck, list[int]()
        board, hole = sum(definition.board), definition.hole
        while len(self.cards) < board + definition.players * hole:
            card = deck[(self.word() >> 32) * len(deck) >> 32]
            if card not in self.cards:
                self.cards.append(card)
        for seat in range(definition.players):
            state = self.rules.after(state, text_of(self.cards[board + seat * hole : board + (seat + 1) * hole]))
        return state

    def draw(self, state: Any) -> Any:
        number = state.bets.round
        first = sum(self.definition.board[:number])
        return self.rules.after(state, text_of(self.cards[first : first + self.definition.board[number]]))


def children_of(betting: BettingTree) -> tuple[Ints, Ints]:
    """(where each node's children begin, all children by parent): those at which only cards come are passed over."""
    turn = betting.turn
    to = np.arange(len(betting), dtype=np.int64)
    while (waiting := turn[to] == CHANCE).any():
        to += waiting  # in preorder the only child is the next node
    parent = betting.parent.astype(np.int64)
    counts = np.bincount(parent[1:], minlength=len(betting))
    below = 1 + np.argsort(parent[1:], kind="stable")  # in preorder the children of a node are in order
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), to[below]


def most_decisions(betting: BettingTree, first: Ints, child: Ints) -> int:
    """Decisions on a history, at most."""
    level, depth = child[first[0] : first[1]] if betting.turn[0] == CHANCE else np.zeros(1, np.int64), 0
    while len(level := level[betting.turn[level] >= 0]):
        depth += 1
        counts = first[level + 1] - first[level]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        level = child[np.repeat(first[level], counts) + within]
    return max(1, depth)


def most_decisions_of_rounds(rounds: Rounds) -> int:
    """Decisions on a history, at most: of the longest betting of each round."""
    depth = np.zeros(len(rounds) + 1, np.int64)
    for node in range(len(rounds) - 1, -1, -1):  # children come after their parents
        below = rounds.child[rounds.first[node] : rounds.first[node + 1]].astype(np.int64)
        depth[node] = 1 + depth[np.where(below < EXIT, below, -1)].max() if len(below) else 0
    longest = np.zeros(rounds.definition.rounds, np.int64)
    np.maximum.at(longest, rounds.round, depth[:-1])
    return max(1, int(longest.sum()))


def columns_of(rounds: Rounds) -> tuple[Ints, Ints]:
    """([N] columns that the seat of a node has for each bucket at its place, [N] which of them is the node's first).

    A place is a node of the first round, or a whole instance: its seat's decisions lie side by side for each bucket,
    as a walk comes to most of them together.
    """
    widths, turn = np.diff(rounds.first), rounds.turn
    stride, offset = widths.copy(), np.zeros(len(rounds), np.int64)
    for begin, end in pairwise(rounds.begin[1:].tolist()):
        for seat in range(rounds.definition.players):
            own = begin + np.flatnonzero(turn[begin:end] == seat)
            if len(own):
                offset[own] = np.cumsum(widths[own]) - widths[own]
                stride[own] = widths[own].sum()
    return stride, offset


def game_of(betting: BettingTree | Rounds) -> tuple[PokerGame, int]:
    """(what kernels take, decisions of a history at most). All games have one type, so kernels are compiled once."""
    from kibitz.poker.rules.kernels.machine import PokerGame

    definition, players = betting.definition, betting.definition.players
    ends = np.flatnonzero(betting.turn == TERMINAL)
    node = np.zeros((len(betting), 6), np.int32)
    root = 0
    if isinstance(betting, Rounds):
        if len(betting) * len(betting.root) >= 1 << 32:
            raise GameError(f"the betting of {definition.name or 'this poker game'} has too many sequences: allow "
                            "fewer raises")
        first, child = betting.first, betting.child.astype(np.int64)
        instance = np.stack([betting.root, betting.next], axis=1)
        carried, early = betting.carried, betting.early
        node[:, 4:] = np.stack(columns_of(betting), axis=1)
        depth = most_decisions_of_rounds(betting)
    else:
        first, child = children_of(betting)
        instance, carried, early = np.zeros((1, 2), np.uint32), np.zeros((1, players), np.int64), len(betting)
        depth = most_decisions(betting, first, child)
        root = int(child[0]) if betting.turn[0] == CHANCE else 0
    node[:, 0] = betting.turn
    node[:, 1] = first[:-1]
    node[:, 2] = np.diff(first)
    node[ends, 1] = np.arange(len(ends))
    node[ends, 2] = betting.folded[ends] @ (1 << np.arange(players))
    node[:, 3] = betting.round
    mark = np.ones(sum(definition.board) + players * definition.hole, np.uint64)
    mark[: sum(definition.board)] = np.repeat(np.arange(definition.rounds) + 2, definition.board)
    game = PokerGame(
        node, child.astype(np.uint32), betting.paid[ends].astype(np.float64), instance, carried.astype(np.float64),
        np.zeros(1, np.uint8), np.uint64(early), np.array(definition.deck, np.uint8),
        np.cumsum([0, *definition.board]).astype(np.uint64), mark, np.uint64(players), np.uint64(definition.hole),
        np.uint64(root),
    )  # fmt: skip
    return game, depth
