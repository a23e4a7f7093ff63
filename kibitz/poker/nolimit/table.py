"""NoLimitMachine: a table with all bets as compiled matches play it, and who can sit down at it.

A betting tree of every chip amount does not fit in any memory, so nothing is trained here. Strategies of action
abstractions are: each keeps its own betting tree, and reads what others bet as bets of its own game
(`kibitz.poker.nolimit.translation`). In compiled matches it draws one reading of each bet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent, seatings_of, won_on
from kibitz.games.machine import Hand, Machine, RowKeys, Words
from kibitz.play.always import Always
from kibitz.poker.nolimit.translation import Translated
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.rules.machine import DIGEST, WORDS, PokerHand, PokerMachine
from kibitz.poker.rules.rules import Poker
from kibitz.poker.rules.views import plain_view

if TYPE_CHECKING:
    from kibitz.poker.nolimit.kernels.betting import Table
    from kibitz.poker.nolimit.kernels.translation import Reader

Ints = NDArray[np.int64]
TreeBets = tuple[Ints, Ints, Ints, Ints]
COUNTED = 1000  # deals of a match that are played again to count decisions without a row
DEPTH = 1000  # decisions of a hand, at most: of interest to walks alone
ALWAYS = ("always-call", "always-fold")  # in the order of the kernels' numbers


class NoLimitMachine(Machine):
    """A poker game without limit, its betting by rules and not by a tree: it is played on, and not trained on."""

    words, depth = WORDS, DEPTH

    def __init__(self, rules: Poker, actions: int = 2) -> None:
        from kibitz.poker.nolimit.kernels.match import duel

        self.rules, self.definition = rules, rules.definition
        self.game, self.duel, self.train = table_of(rules.definition), duel, self._refuse
        self.actions = actions  # most of a decision of one who meets others here

    def hand(self, seed: int, number: int) -> Hand:
        return PokerHand(self.rules, self.definition, seed, number)

    def view(self, abstraction: Any = "null", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        from kibitz.poker.rules.kernels.buckets import RAW

        return RowKeys(self.known(abstraction), plain_view(RAW))

    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        self._refuse()
        return np.zeros(0, np.uint64)

    def silence(self, players: Sequence[Any], seed: int, deals: int) -> list[tuple[int, int] | None]:
        from kibitz.poker.nolimit.kernels.translation import ROWS

        counted = tuple(reader._replace(count=np.zeros(2, np.int64)) for reader in players)
        won_on(self, counted, seatings_of(len(players)), seed, 0, min(deals, COUNTED))
        return [
            (int(reader.count[0]), int(reader.count[1])) if int(reader.kind) == ROWS else None for reader in counted
        ]

    def _refuse(self, *arguments: Any) -> None:
        raise GameError(
            f"{self.spec} has too many bets for rows of its own: name an action abstraction, as poker(file=..., "
            "bets=[0.5, 1, allin])"
        )


def table_of(definition: Definition) -> Table:
    """A definition as kernels take it."""
    from kibitz.poker.nolimit.kernels.betting import Table

    if definition.limit or definition.stacks is None:
        raise GameError(f"{definition.name or 'this poker game'} has a limit: only games without one have this table")
    return Table(
        np.array(definition.stacks, np.int64), np.array(definition.blinds, np.int64),
        np.array(definition.first_player, np.int64), np.array(definition.max_raises, np.int64),
        np.array(definition.bets, np.float64), np.int64(max(definition.blinds)),
        np.array(definition.deck, np.uint8), np.cumsum([0, *definition.board]).astype(np.uint64),
        np.uint64(definition.players), np.uint64(definition.hole), np.uint64(0),
    )  # fmt: skip


def meeting_at(machine: Machine, agents: Sequence[Agent]) -> tuple[Machine, tuple[Reader, ...]] | None:
    """(the table, readers) for a compiled match; None where somebody does not play in compiled code, or where a
    betting tree serves all."""
    rules: Any = machine.rules
    if rules.definition.limit or not (
        isinstance(machine, NoLimitMachine) or any(isinstance(each, Translated) for each in agents)
    ):
        return None
    readers = [reader_of(agent) for agent in agents]
    if any(reader is None for reader in readers):
        return None
    seated = _with_one_view(agents, [reader for reader in readers if reader is not None])
    widest = [int(each.game.node[each.game.node[:, 0] >= 0, 2].max(initial=2)) for each in seated]
    return NoLimitMachine(rules, max(widest)), seated


def _with_one_view(agents: Sequence[Any], readers: Sequence[Reader]) -> tuple[Reader, ...]:
    """Readers who see hands through the same buckets look them up through one view: its memo then serves them all,
    as they hold each other's cards in the next seating."""
    views: dict[bytes, Any] = {}
    shared = []
    for agent, reader in zip(agents, readers, strict=True):
        table: Any = getattr(getattr(agent, "base", agent), "table", None)
        digest = getattr(getattr(table, "view", None), "arrays", {}).get(DIGEST)
        if digest is not None and table.base is None:
            keys = views.setdefault(bytes(digest), reader.player.keys)
            reader = reader._replace(player=reader.player._replace(keys=keys, base_keys=keys))
        shared.append(reader)
    return tuple(shared)


def reader_of(agent: Any) -> Reader | None:
    """An agent as kernels take it at a table; None for one who thinks in Python."""
    from kibitz.poker.nolimit.kernels import translation as kernels
    from kibitz.solvers.kernels.players import UNIFORM

    name = getattr(agent, "name", "")
    if isinstance(agent, Always) and name in ALWAYS:
        return _plain(kernels.ALWAYS_CALL + ALWAYS.index(name))
    base = agent.base if isinstance(agent, Translated) else agent
    player, machine = getattr(base, "player", None), getattr(base, "machine", None)
    if player is None:
        return None
    if int(player.kind) == UNIFORM and base is agent:
        return _plain(kernels.ANY_ACTION)
    if not isinstance(machine, PokerMachine) or not isinstance(machine.betting, BettingTree):
        return None
    return kernels.Reader(np.int64(kernels.ROWS), player, machine.game, *tree_bets(machine), np.zeros(0, np.int64))


def tree_bets(machine: PokerMachine) -> TreeBets:
    """What readers know of a betting tree: (totals by child, what a call comes to, the pot after it, stacks)."""
    from kibitz.poker.nolimit.kernels.betting import CALL, FOLD

    if not hasattr(machine, "_tree_bets"):
        tree = machine.betting
        assert isinstance(tree, BettingTree) and tree.definition.stacks is not None
        named = {"fold": FOLD, "call": CALL}
        offers = [[named.get(action) if action in named else int(action[1:]) for action in offer]
                  for offer in tree.actions]  # fmt: skip
        flat = np.array([total for offer in offers for total in offer] or [0], np.int64)
        begin = np.concatenate([[0], np.cumsum([len(offer) for offer in offers])]).astype(np.int64)
        total = np.zeros(len(machine.game.child), np.int64)
        acting = np.flatnonzero(tree.turn >= 0)
        counts = tree.widths[acting]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        total[np.repeat(machine.game.node[acting, 1].astype(np.int64), counts) + within] = flat[
            np.repeat(begin[tree.actions_of[acting]], counts) + within
        ]
        top = tree.paid.max(axis=1)
        own = tree.paid[np.arange(len(tree)), np.maximum(tree.turn, 0)]
        pot = np.maximum(tree.paid.sum(axis=1) + top - own, 1)
        machine._tree_bets = (total, top, pot, np.array(tree.definition.stacks, np.int64))  # type: ignore[attr-defined]
    bets: TreeBets = machine._tree_bets  # type: ignore[attr-defined]
    return bets


def _plain(kind: int) -> Reader:
    """A reader without rows, in the type of all others."""
    from kibitz.poker.nolimit.kernels.translation import Reader
    from kibitz.poker.rules.kernels.buckets import RAW
    from kibitz.solvers import tables
    from kibitz.solvers.kernels.players import UNIFORM, Player

    keys, store = plain_view(RAW), tables.table_of(tables.LEAST_ROWS, 2)
    player = Player(np.int64(UNIFORM), keys, store, np.int64(-1), keys, store)
    nothing = np.zeros(1, np.int64)
    return Reader(np.int64(kind), player, _no_tree(), nothing, nothing, nothing, nothing, np.zeros(0, np.int64))


def _no_tree() -> Any:
    """The betting tree of nobody, in the type of all others."""
    from kibitz.poker.rules.kernels.machine import PokerGame

    none, chips, zero = np.zeros((1, 6), np.int32), np.zeros((1, 1), np.float64), np.uint64(0)
    return PokerGame(
        none, np.zeros(1, np.uint32), chips, np.zeros((1, 2), np.uint32), chips, np.zeros(1, np.uint8), zero,
        np.zeros(1, np.uint8), np.zeros(1, np.uint64), np.zeros(1, np.uint64), zero, zero, zero,
    )  # fmt: skip

